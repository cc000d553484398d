"""Values that nobody knows before deployment, as a program under evaluation holds them: decisions by them are reported.

They format into text that is recorded as unknown, and go on through what is done with them. Whoever compares one, asks
whether it is true or how long it is, looks something up by it or makes a plain number of it decides by what nobody
knows: that line of the program is reported, and goes on with an answer that makes more rather than less.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

from pulumi.runtime import rpc as pulumi_rpc

MARK: Final = f"?{pulumi_rpc.UNKNOWN}?"  # not the mark itself: the SDK would turn that into None
MANY: Final = f"{MARK}["  # how an entry of a list of unknown length begins
ENTRIES: Final = 2  # of such a list, and what a number is where it has to be one

Tell = Callable[[str, str], None]  # (what is not known, where the program decides by it)
_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)

_INSTALLED: Final = tuple(
    sorted({str(Path(path)) for key in ("stdlib", "purelib", "platlib") if (path := sysconfig.get_path(key))})
)


def tell_to(tell: Tell) -> None:
    """Whom to tell, of everything that runs in this thread's context from now on."""
    _tell.set(tell)


def own(file: str) -> bool:
    """Whether a file is the program's own, and neither installed nor Python's."""
    return not file.startswith((*_INSTALLED, "<frozen")) and "site-packages" not in file


def of_program(frame: FrameType) -> bool:
    """Whether a line of the program runs in a frame, and none of the SDK's or of ours."""
    return own(frame.f_code.co_filename) and not str(frame.f_globals.get("__name__", "")).startswith("sizewell.")


def asked_by(frame: FrameType | None, through: Callable[[str], bool]) -> FrameType | None:
    """The program's frame that asks, directly or through modules that only pass its question on."""
    while frame is not None and not of_program(frame):
        if not through(str(frame.f_globals.get("__name__", ""))):
            return None
        frame = frame.f_back
    return frame


def tells(about: str, where: str) -> None:
    """Tell of a place of the program, by its file and line."""
    if (tell := _tell.get()) is not None:
        tell(about, where)


def decides(about: str, depth: int = 2) -> None:
    """Tell that the program's own line, and not the SDK's, asks what is not known; `depth` frames above."""
    frame = sys._getframe(depth)  # noqa: SLF001
    if of_program(frame):
        tells(about, f"{frame.f_code.co_filename}:{frame.f_lineno}")


class UnknownText(str):
    """Any text."""

    __slots__ = ("_about",)
    _about: str

    def __new__(cls, about: str, text: str = MARK) -> Self:
        made = super().__new__(cls, text)
        made._about = about
        return made

    def __str__(self) -> str:
        return self

    def __format__(self, spec: str) -> str:
        return self

    def __bool__(self) -> bool:
        decides(self._about)
        return True

    def __eq__(self, other: object) -> bool:
        decides(self._about)
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        decides(self._about)
        return str.__ne__(self, other)

    def __lt__(self, other: object) -> bool:
        decides(self._about)
        return False

    __le__ = __lt__

    def __gt__(self, other: object) -> bool:
        decides(self._about)
        return True

    __ge__ = __gt__

    def __hash__(self) -> int:
        decides(self._about)
        return str.__hash__(self)

    def __contains__(self, part: object) -> bool:
        decides(self._about)
        return isinstance(part, str) and str.__contains__(self, part)

    def __len__(self) -> int:
        decides(self._about)
        return ENTRIES

    def __int__(self) -> int:
        decides(self._about)
        return ENTRIES

    def __float__(self) -> float:
        decides(self._about)
        return float(ENTRIES)

    def __getitem__(self, place: Any) -> Any:
        return self

    def _same(self, *_: Any, **__: Any) -> Self:
        return self

    __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = _same
    strip = lstrip = rstrip = lower = upper = title = capitalize = casefold = swapcase = _same
    replace = removeprefix = removesuffix = zfill = ljust = rjust = center = expandtabs = translate = _same

    def _is(self, *_: Any) -> bool:
        decides(self._about)
        return True

    startswith = endswith = isdigit = isnumeric = isdecimal = isalpha = isalnum = islower = isupper = _is

    def _at(self, *_: Any) -> int:
        decides(self._about)
        return 0

    find = rfind = index = rindex = _at

    def _parts(self, *_: Any, **__: Any) -> list[Any]:
        return UnknownList(self._about, [type(self)(self._about, f"{MANY}{i}]") for i in range(ENTRIES)])

    split = rsplit = splitlines = _parts

    def partition(self, _: str) -> tuple[Any, Any, Any]:
        return self, self, self

    rpartition = partition


class Anything(UnknownText):
    """Any value: a text, a number, a mapping, an object, a list of unknown length."""

    __slots__ = ()

    __hash__ = UnknownText.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Anything(self._about)

    def __getitem__(self, place: Any) -> Any:
        return Anything(self._about)

    def __iter__(self) -> Iterator[Any]:
        decides(self._about)
        return iter([Anything(self._about, f"{MANY}{i}]") for i in range(ENTRIES)])

    def __index__(self) -> int:
        decides(self._about)
        return ENTRIES

    def _number(self, *_: Any) -> Any:
        return self

    __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __neg__ = _number

    def get(self, key: Any, default: Any = None) -> Any:  # noqa: ARG002 - as of a mapping
        return Anything(self._about)

    def items(self) -> list[tuple[Any, Any]]:
        decides(self._about)
        return [(Anything(self._about, f"{MANY}{i}]"), Anything(self._about)) for i in range(ENTRIES)]

    def keys(self) -> list[Any]:
        decides(self._about)
        return [Anything(self._about, f"{MANY}{i}]") for i in range(ENTRIES)]

    values = keys


class UnknownNumber:
    """Any number, which calls itself what its annotation says: a plain one would be taken for what it shows.

    A subclass of int does not do: `range` and the like read the number of one without asking it.
    """

    __slots__ = ("_about", "_kind")

    def __init__(self, about: str, kind: type = int) -> None:
        self._about, self._kind = about, kind

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._kind

    def __repr__(self) -> str:
        return MARK

    def __format__(self, spec: str) -> str:
        return MARK

    def _same(self, *_: Any) -> Any:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _same
    __mod__ = __rmod__ = __pow__ = __neg__ = __abs__ = __round__ = __ceil__ = __floor__ = __and__ = __or__ = _same

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, list | tuple | str):
            return self
        decides(self._about)
        return other * ENTRIES

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        decides(self._about)
        return True

    def __eq__(self, other: object) -> bool:
        decides(self._about)
        return self is other

    def __ne__(self, other: object) -> bool:
        decides(self._about)
        return self is not other

    def _more(self, _: object) -> bool:
        decides(self._about)
        return True

    def _less(self, _: object) -> bool:
        decides(self._about)
        return False

    __gt__ = __ge__ = _more
    __lt__ = __le__ = _less

    def __hash__(self) -> int:
        decides(self._about)
        return id(self)

    def __index__(self) -> int:
        decides(self._about)
        return ENTRIES

    __int__ = __index__

    def __float__(self) -> float:
        decides(self._about)
        return float(ENTRIES)


class UnknownList(list[Any]):
    """A list of unknown length."""

    _about: str

    def __init__(self, about: str, entries: Sequence[Any]) -> None:
        super().__init__(entries)
        self._about = about

    def __iter__(self) -> Iterator[Any]:
        decides(self._about)
        return super().__iter__()

    def __len__(self) -> int:
        decides(self._about)
        return super().__len__()

    def __bool__(self) -> bool:
        decides(self._about)
        return True

    def __contains__(self, entry: object) -> bool:
        decides(self._about)
        return super().__contains__(entry)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self
        plain = list.__len__(self)
        return super().__getitem__(place if isinstance(place, int) and -plain <= place < plain else 0)


class UnknownMapping(dict[str, Any]):
    """A mapping of unknown keys."""

    _about: str

    def __init__(self, about: str) -> None:
        super().__init__({MARK: UnknownText(about)})
        self._about = about

    def __missing__(self, key: str) -> Any:
        return UnknownText(self._about)

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ARG002
        return UnknownText(self._about)

    def __iter__(self) -> Iterator[str]:
        decides(self._about)
        return super().__iter__()

    def __len__(self) -> int:
        decides(self._about)
        return super().__len__()

    def __bool__(self) -> bool:
        decides(self._about)
        return True

    def __contains__(self, key: object) -> bool:
        decides(self._about)
        return True

    def items(self) -> Any:
        decides(self._about)
        return super().items()

    def keys(self) -> Any:
        decides(self._about)
        return super().keys()

    def values(self) -> Any:
        decides(self._about)
        return super().values()


def _deciding(base: type[Any], name: str) -> Callable[..., Any]:
    theirs = getattr(base, name, None)

    def answer(self: Any, *arguments: Any, **named: Any) -> Any:
        decides(self._about)
        if theirs is None:  # a conversion of text, which would ask what it reads again
            plain = base.__add__(base(), self)
            return {"__bool__": bool, "__int__": int, "__float__": float}[name](plain)
        return theirs(self, *arguments, **named)

    return answer


def _keeping(base: type[Any], name: str) -> Callable[..., Any]:
    theirs = getattr(base, name)

    def same(self: Any, *arguments: Any, **named: Any) -> Any:
        made = theirs(self, *arguments, **named)
        if not isinstance(made, base):
            return made
        return LocalText(self._about, made, self.where) if base is str else type(self)(self._about, made)

    return same


def _tells(base: type[Any]) -> Callable[[type[Any]], type[Any]]:
    """Let a subclass tell whenever the program decides by it, and go on through what only changes it."""

    def told(kind: type[Any]) -> type[Any]:
        for name in _DECIDING:
            if hasattr(base, name) or (name in _CONVERTING and base is not int):
                setattr(kind, name, _deciding(base, name))
        for name in _KEEPING if base is not int else ():
            if hasattr(base, name):
                setattr(kind, name, _keeping(base, name))
        return kind

    return told


_CONVERTING: Final = ("__bool__", "__int__", "__float__")
_DECIDING: Final = (
    *_CONVERTING,
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__len__", "__iter__", "__contains__"),
    *("startswith", "endswith", "isdigit", "isnumeric", "isdecimal", "isalpha", "isalnum", "islower", "isupper"),
    *("find", "rfind", "index", "rindex", "count", "split", "rsplit", "splitlines", "partition", "rpartition"),
)
_KEEPING: Final = (
    *("__add__", "__getitem__", "lower", "upper", "title", "capitalize", "casefold", "swapcase"),
    *("strip", "lstrip", "rstrip", "replace", "removeprefix", "removesuffix", "zfill"),
)


@_tells(str)
class LocalText(str):
    """A text that is such here and may be another elsewhere: like any other, until the program decides by it.

    `where` is the line that asked for it, where one is known.
    """

    __slots__ = ("_about", "where")
    _about: str
    where: str

    def __new__(cls, about: str, text: str, where: str = "") -> Self:
        made = super().__new__(cls, text)
        made._about, made.where = about, where
        return made

    def __str__(self) -> str:
        return self


@_tells(bytes)
class LocalBytes(bytes):
    """The same of bytes: what a command of this machine prints."""

    _about: str

    def __new__(cls, about: str, content: bytes) -> Self:
        made = super().__new__(cls, content)
        made._about = about
        return made

    def decode(self, *options: Any, **named: Any) -> str:
        return LocalText(self._about, bytes.decode(self, *options, **named))


@_tells(int)
class LocalNumber(int):
    """The same of a whole number: the status with which a command of this machine ends."""

    _about: str

    def __new__(cls, about: str, number: int) -> Self:
        made = super().__new__(cls, number)
        made._about = about
        return made
