"""Programs of first boot: bash files of `scripts/`, used as they are, below a header of variables. Pure."""

from __future__ import annotations

import re
import shlex
from typing import Final

from sizewell.launch import files

STORES: Final = ("s3", "az", "gs")  # by a store's scheme, whose commands are in store_SCHEME.sh


def variables(**values: str | int) -> list[str]:
    """Assignments, one each.

    >>> variables(NODES=4, PATTERN="/dev/nvidia[0-9]*")
    ['NODES=4', "PATTERN='/dev/nvidia[0-9]*'"]
    """
    return [f"{name}={shlex.quote(str(value))}" for name, value in values.items()]


def program(name: str) -> str:
    """The file without its comments, which would take a fifth of it: user data is short, and explained here."""
    return re.sub(r"^ *# .*\n", "", files.script(name), flags=re.MULTILINE).rstrip("\n")


def store(uri: str, folder: str, *, region: str) -> list[str]:
    """Functions over a folder of the checkpoint store: `put NAME FILE`, once and never again; `get NAME FILE`."""
    scheme, _, place = uri.partition("://")
    first, _, rest = place.partition("/")
    return [
        *([f"export AWS_DEFAULT_REGION={shlex.quote(region)}"] if scheme == "s3" else []),
        *variables(PLACE=first, FOLDER=f"{rest}/{folder}/".lstrip("/")),
        program(f"store_{scheme}.sh"),
    ]
