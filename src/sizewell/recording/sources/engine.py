"""Plans from the real engine, where it is on PATH: `pulumi preview --json --show-sames`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from sizewell.recording.sources import PreviewFile, read_preview
from sizewell.sizing.errors import ServiceError


def available() -> bool:
    return shutil.which("pulumi") is not None


def preview_with_engine(root: Path, stack: str, *, timeout_s: float = 1800) -> PreviewFile:
    """What the engine would do to `stack`: nothing is changed. ServiceError with the engine's own last words."""
    if not available():
        raise ServiceError("pulumi is not on PATH\n  fix: install it, or use --engine offline")
    with tempfile.TemporaryDirectory(prefix="sizewell-preview-") as folder:
        output = Path(folder) / "preview.json"
        with output.open("w", encoding="utf-8") as file:
            try:
                done = subprocess.run(
                    ["pulumi", "preview", "--stack", stack, "--json", "--show-sames", "--non-interactive"],
                    cwd=root,
                    stdout=file,
                    stderr=subprocess.PIPE,
                    text=True,
                    check=False,
                    timeout=timeout_s,
                    env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true", "PULUMI_OPTION_COLOR": "never"},
                )
            except subprocess.TimeoutExpired:
                raise ServiceError(f"stack {stack}: the engine did not finish in {timeout_s:g} s") from None
        if done.returncode != 0:
            raise ServiceError(
                f"stack {stack}: the engine failed: {_words(done.stderr, output)}\n"
                f"  fix: make `pulumi preview -s {stack}` succeed in {root} (`pulumi login`, `pulumi install`, its "
                "configuration), then run this again"
            )
        return read_preview(output)


def _words(errors: str, output: Path) -> str:
    """What the engine says went wrong: its error stream, and the diagnostics of its JSON but for warnings."""
    import json

    lines = [line.strip() for line in errors.splitlines() if line.strip() and not line.startswith("warning:")]
    try:
        diagnostics = json.loads(output.read_text(encoding="utf-8")).get("diagnostics") or []
        lines += [str(each.get("message", "")).strip() for each in diagnostics if each.get("severity") in _SAID]
    except (ValueError, AttributeError):
        pass
    lines = [_COLOR.sub("", line) for line in lines]
    first = next((number for number, line in enumerate(lines) if line.lower().startswith("error")), 0)
    text = " ".join(" ".join(lines[first:]).split())  # warnings of a language's process come before its error
    return (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...") or "no reason given"


_SAID: Final = ("error", "info#err")  # the latter is what a language's own process prints
_COLOR: Final = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST: Final = 600
