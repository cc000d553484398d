"""Whether the terminal gets colour and remarks: set once, from the arguments of the line; and how it shows an error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TextIO

Color = Literal["auto", "always", "never"]
COLORS: Final[tuple[Color, ...]] = ("auto", "always", "never")
DENIED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)  # a folder that cannot be written, a file of somebody else
FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EIO)  # what a disk answers that takes no more
_RED, _GREEN, _PLAIN = "\x1b[1;31m", "\x1b[32m", "\x1b[0m"


@dataclass(slots=True)
class _Options:
    """What the options of every command say."""

    color: Color = "auto"
    quiet: bool = False


_current = _Options()


def choose(*, color: Color = "auto", quiet: bool = False) -> None:
    """From here on."""
    _current.color, _current.quiet = color, quiet


def color_of(words: Sequence[str]) -> Color:
    """What a line that is not parsed yet says of colour.

    >>> color_of(["size", "--no-color"]), color_of(["--color", "always", "-h"]), color_of(["--color=never"])
    ('never', 'always', 'never')
    """
    if "--no-color" in words:
        return "never"
    line = " ".join(words).replace("--color=", "--color ")
    return next((color for color in COLORS if f"--color {color}" in line), "auto")


def is_quiet() -> bool:
    """Whether remarks and progress are left out."""
    return _current.quiet


def is_forced() -> bool:
    """Whether colour was asked for even where nothing is a terminal."""
    return _current.color == "always"


def is_plain() -> bool:
    """Whether the environment asks for no colour."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def in_color(stream: TextIO) -> bool:
    """Whether what is written to a stream is coloured."""
    if _current.color != "auto":
        return _current.color == "always"
    return stream.isatty() and not is_plain()


def error(text: str) -> None:
    """An error on stderr: what is wrong, and on lines of their own what to do."""
    shown = f"sizewell: {text}"
    if in_color(sys.stderr):
        shown = f"{_RED}sizewell:{_PLAIN} {text}".replace("\n  fix:", f"\n  {_GREEN}fix:{_PLAIN}")
    print(shown, file=sys.stderr)
