"""The scripts that go into containers and onto machines, by what they are for."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "scripts"
ALONE: Final = (
    "all_reduce.py",
    "all_reduce_jax.py",
    "batch_infer.py",
    "load_test.py",
    "ray_start.py",
    "read_files.py",
    "until_idle.py",
)  # the others train, together


@functools.cache
def script(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@functools.cache
def training() -> dict[str, str]:
    """All scripts that a training run needs, by name."""
    names = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in ALONE)
    return {name: script(name) for name in names}
