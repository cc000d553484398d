"""A disk that is really full: a file system of a few KiB in a mount namespace of a command's own."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

MOUNT = 'mount -t tmpfs -o size="$1"k none "$2" && shift 2 && exec "$@"'


@functools.cache
def not_allowed() -> str:
    """What keeps one from being mounted here, in one line; "" where nothing does."""
    if shutil.which("unshare") is None:
        return "no disk is filled: unshare (util-linux) is not installed"
    alone = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNT, "-", "4", "/mnt", "true"], capture_output=True, check=False
    )
    return "" if alone.returncode == 0 else "no disk is filled: unshare -rm may not mount here"


def line(folder: Path, kib: int) -> list[str]:
    """Words before a command, for which `folder` is a file system of `kib` KiB."""
    return ["unshare", "-rm", "sh", "-c", MOUNT, "-", str(kib), str(folder)]
