"""The program of every stack; a project's own is two lines: `from sizewell import stacks` and `stacks.run()`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["run"]


def run(folder: Path | None = None) -> None:
    """Register the resources of the stack that Pulumi is running, as its committed decision says.

    `folder` holds `decisions/<stack>.json`; without it the working directory does, which the engine sets to the
    program's own folder. Raises DecisionError or ConfigError for a decision or configuration that is wrong.
    """
    from sizewell.stacks.program import run as program

    program(Path.cwd() if folder is None else folder)
