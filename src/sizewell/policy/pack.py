"""The folder of the policy pack, for any Pulumi project: `pulumi up --policy-pack DIR` finds all it needs in it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sizewell.sizing.errors import UsageError

CONFIG: Final = """\
profile: standard  # accelerators: only stacks with accelerators; strict: each rule at its own level
"""
FILES: Final = {
    "PulumiPolicy.yaml": """\
description: Prevents idle-accelerator spend, lost checkpoints, open access and clusters that cannot start
version: 0.1.0
runtime:
  name: python
  options:
    toolchain: pip
    virtualenv: start
""",
    "__main__.py": """\
\"\"\"The policy pack as the engine starts it: `pulumi preview --policy-pack policy`.\"\"\"

import gc
import sys
from pathlib import Path

gc.disable()  # what is imported stays: looking for garbage among it takes a tenth of the start

try:
    from sizewell.policy.adapter import serve
except ModuleNotFoundError as error:
    fix = "run `pulumi install` in the project, or set SIZEWELL_PYTHON to a Python that has sizewell"
    raise SystemExit(f"policy pack sizewell: {error} ({sys.prefix})\\n  fix: {fix}") from None

HERE = Path(__file__).resolve().parent
serve(config=HERE / "config.yaml", decisions=HERE.parent / "stacks" / "decisions")
""",
    "start/bin/python": """\
#!/bin/sh
# What the engine's language host takes for the pack's virtual environment (PulumiPolicy.yaml): the project's own
# Python, or the one that SIZEWELL_PYTHON names, without the two imports of the whole Pulumi SDK, a second each, that
# the language host makes before a pack starts.
# It asks whether `pulumi.run.plugin` can be imported, and then runs the pack inside `pulumi.policy`; this pack
# speaks the protocol itself and needs neither (docs/adr/0009). Anything else is left as it is.
here="${0%/*}"
python="${SIZEWELL_PYTHON:-$here/../../../.venv/bin/python}"
if [ ! -x "$python" ] && [ -n "$VIRTUAL_ENV" ]; then
  python="$VIRTUAL_ENV/bin/python"
fi
if [ ! -x "$python" ]; then
  echo "policy pack sizewell: no .venv beside the pack's folder and none active; set SIZEWELL_PYTHON" >&2
  exit 64
fi
case "$*" in
  "-c import pulumi.run.plugin") exit 0 ;;
  "-u -m pulumi.policy "*) exec "$python" -u "$5" "$4" ;;
esac
exec "$python" "$@"
""",
}


def write_pack(folder: Path) -> tuple[Path, ...]:
    """Write the pack into `folder`; a configuration that stands there stays. UsageError where it cannot be written.

    The pack runs in `.venv` beside the folder, in the active virtual environment, or as SIZEWELL_PYTHON says.
    """
    files = {**FILES, **({} if (folder / "config.yaml").exists() else {"config.yaml": CONFIG})}
    written = []
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if name.startswith("start/"):
                path.chmod(0o755)
            written.append(path)
    except OSError as error:
        raise UsageError(f"{folder}: cannot write the policy pack there: {error.strerror}") from None
    return tuple(written)
