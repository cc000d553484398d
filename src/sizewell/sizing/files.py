"""Files that people keep in git: written whole or not at all, and read where a merge has left its marks."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Where a command keeps what it has read, so as not to ask for it again: below XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sizewell"


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all: a temporary file beside it, synced, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def conflict_line(text: str) -> int:
    r"""The first line with a conflict marker of a merge, from 1; 0 where there is none.

    >>> conflict_line("name: chat\n<<<<<<< HEAD\n"), conflict_line("name: chat\n")
    (2, 0)
    """
    marker = re.search(r"^(?:<{7}|>{7}) ", text, re.MULTILINE)
    return text.count("\n", 0, marker.start()) + 1 if marker else 0
