"""What every call needs, loaded once by the process that calls are forked from: the catalog, and what a preview loads.

A preview of Sizewell's own program with the project's decisions loads the SDKs of its clouds. The project's own
program does not run here: what it does would be seen by every call after it.
"""

from __future__ import annotations

import contextlib
import gc
import shutil
import tempfile
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Final

from sizewell.policy import rules
from sizewell.preview.pipeline import Request, run_preview
from sizewell.sizing.catalog import load
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.workload.read import parse_spec

OURS: Final = ("decisions", "config")


def _previewed() -> None:
    """Preview one stack of each cloud that the project's decisions name."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(Path("stacks/decisions").glob("*.json"))}
    stacks = {cloud: stack for cloud in CLOUDS for stack, text in texts.items() if f'"cloud": "{cloud}"' in text}
    with tempfile.TemporaryDirectory(prefix="sizewell-") as folder:
        root = Path(folder).resolve()
        (root / "Pulumi.yaml").write_text("name: warm\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
        for name in OURS:
            if Path("stacks", name).is_dir():
                shutil.copytree(Path("stacks", name), root / "stacks" / name)
        program = files("sizewell") / "templates/project/stacks/__main__.py"
        (root / "stacks/__main__.py").write_text(program.read_text("utf-8"))
        for stack in stacks.values():
            with contextlib.suppress(Exception):  # the call itself says what is wrong with a stack
                run_preview(Request(root=root, on=date.today(), stacks=(stack,), engine="offline"))  # noqa: DTZ011


with contextlib.suppress(Exception):  # so do calls with what is wrong with the catalog
    parse_spec((files("sizewell") / "templates/examples/chat.yaml").read_text("utf-8"), catalog=load())
    _previewed()
LOADED: Final = len(rules.RULES)  # the policies, which a preview alone does not load
gc.freeze()  # all of this stays: a collection in a call would only copy it
