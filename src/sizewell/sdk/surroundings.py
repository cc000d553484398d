"""What a program asks of the machine it runs on: variables that are not set here, and what commands answer.

Both may be otherwise where it is deployed. A default and a command's answer are values that tell where the program
decides by them; a copy of the whole environment is reported where it is taken, because it says nothing of
what it lacks.
"""

from __future__ import annotations

import ast
import linecache
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from sizewell.sdk.undecided import LocalBytes, LocalNumber, LocalText, asked_by, decides, of_program, tells

VARIABLE: Final = "the environment variable"  # how what is reported of one begins
_WHOLE: Final = f"{VARIABLE}s, of which others may be set elsewhere"
_PASS_ON: Final = frozenset(
    ("os", "posixpath", "ntpath", "string", "collections", "collections.abc", "configparser", "copy", "functools")
)
_SETTINGS: Final = (  # modules that read a program's settings from the environment, by how their names begin
    *("pydantic_settings", "pydantic.env_settings", "pydantic.v1.env_settings", "dynaconf", "decouple", "environs"),
    *("environ", "everett", "omegaconf", "starlette.config", "typed_settings", "confuse", "configargparse", "envparse"),
)


def _passes_on(module: str) -> bool:
    return module in _PASS_ON or module.startswith(_SETTINGS)


def _tell(about: str, depth: int = 2) -> None:
    """Tell of the program's line that asks, where only modules that pass its question on lie between."""
    frame = asked_by(sys._getframe(depth), _passes_on)  # noqa: SLF001
    if frame is not None and not (about is _WHOLE and _handed_on(frame)):
        tells(about, f"{frame.f_code.co_filename}:{frame.f_lineno}")


def _handed_on(frame: FrameType) -> bool:
    """Whether the copy is the environment of a command, `run(..., env={**os.environ, "A": "b"})`, and nothing else."""
    spans = list(frame.f_code.co_positions())
    line, end, column, _ = spans[frame.f_lasti // 2]
    lines = linecache.getlines(frame.f_code.co_filename)
    if line is None or end is None or column is None or not lines:
        return False
    with suppress(SyntaxError):
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.keyword) and node.arg in ("env", "environment"):
                value = node.value
                begins, ends = (value.lineno, value.col_offset), value.end_lineno or value.lineno
                if begins <= (line, column) and end <= ends:
                    return True
    return False


def _variable(name: object) -> str:
    return f"{VARIABLE} {os.fsdecode(name) if isinstance(name, bytes) else name}, which is not set here"


# -- variables --------------------------------------------------------------------------------------------------------


def _get(self: Any, name: Any, default: Any = None) -> Any:
    """`os.environ.get` and `os.getenv`: the default is the program's answer here, and may not be elsewhere."""
    try:
        return _item_of(self)(self, name)
    except KeyError:
        frame = sys._getframe(1)  # noqa: SLF001
        if isinstance(default, str) and of_program(frame):
            return LocalText(_variable(name), default, f"{frame.f_code.co_filename}:{frame.f_lineno}")
        _tell(_variable(name))
        return default


def getenv(name: str, default: Any = None) -> Any:
    try:
        return _ITEM(os.environ, name)
    except KeyError:
        frame = sys._getframe(1)  # noqa: SLF001
        if isinstance(default, str) and of_program(frame):
            return LocalText(_variable(name), default, f"{frame.f_code.co_filename}:{frame.f_lineno}")
        _tell(_variable(name))
        return default


def _item(self: Any, name: Any) -> Any:
    try:
        return _ITEM(self, name)
    except KeyError:
        _tell(_variable(name))
        raise KeyError(name) from None


def _has(self: Any, name: object) -> bool:
    found: bool = dict.__contains__(self, name) if isinstance(self, dict) else _HAS(self, name)
    if not found:
        _tell(_variable(name))
    return found


def _each(self: Any) -> Iterator[Any]:
    _tell(_WHOLE)
    each: Iterator[Any] = _EACH(self)
    return each


def _copy(self: Any) -> Any:
    return _Copy({key: _ITEM(self, key) for key in _EACH(self)})


def _with(self: Any, other: Any) -> Any:
    return _Copy({**_plain(self), **_plain(other)}) if isinstance(other, Mapping) else NotImplemented


def _within(self: Any, other: Any) -> Any:
    if not isinstance(other, Mapping):
        return NotImplemented
    _tell(_WHOLE)  # the defaults are in it
    return _Copy({**_plain(other), **_plain(self)})


def _plain(mapping: Any) -> dict[Any, Any]:
    if isinstance(mapping, _Copy):
        return {key: dict.__getitem__(mapping, key) for key in dict.__iter__(mapping)}
    if isinstance(mapping, _ENVIRON):
        return {key: _ITEM(mapping, key) for key in _EACH(mapping)}
    return dict(mapping)


class _Copy(dict[Any, Any]):
    """A copy of the environment, which answers as the environment does."""

    get = _get
    __contains__ = _has
    __or__ = _with
    __ror__ = _within

    def __missing__(self, name: Any) -> Any:
        _tell(_variable(name))
        raise KeyError(name)

    def pop(self, name: Any, *default: Any) -> Any:
        if not dict.__contains__(self, name):
            _tell(_variable(name))
        return super().pop(name, *default)

    def setdefault(self, name: Any, default: Any = None) -> Any:
        if not dict.__contains__(self, name):
            _tell(_variable(name))
        return super().setdefault(name, default)

    def copy(self) -> _Copy:
        return _Copy(_plain(self))

    def __iter__(self) -> Iterator[Any]:
        _tell(_WHOLE)
        return super().__iter__()

    def keys(self) -> Any:
        _tell(_WHOLE)
        return super().keys()

    def items(self) -> Any:
        _tell(_WHOLE)
        return super().items()

    def values(self) -> Any:
        _tell(_WHOLE)
        return super().values()


def _item_of(mapping: Any) -> Any:
    return _known if isinstance(mapping, _Copy) else _ITEM


def _known(mapping: _Copy, name: Any) -> Any:
    if not dict.__contains__(mapping, name):
        raise KeyError(name)
    return dict.__getitem__(mapping, name)


# -- commands ---------------------------------------------------------------------------------------------------------


def _of_command(arguments: Any) -> str:
    stated = arguments if isinstance(arguments, str | bytes | os.PathLike) else next(iter(arguments), "")
    words = os.fsdecode(stated).split()
    return f"what the command {words[0] if words else ''} answers on this machine"


def communicate(self: Any, *arguments: Any, **named: Any) -> Any:
    """What a command prints is a value of this machine."""
    about = _of_command(self.args)
    return tuple(_local(about, each) for each in _COMMUNICATE(self, *arguments, **named))


def _local(about: str, answer: Any) -> Any:
    if isinstance(answer, str):
        return LocalText(about, answer)
    if isinstance(answer, int):
        return LocalNumber(about, answer)
    return LocalBytes(about, answer) if isinstance(answer, bytes) else answer


def wait(self: Any, *arguments: Any, **named: Any) -> Any:
    return _local(_of_command(self.args), _WAIT(self, *arguments, **named))


def poll(self: Any) -> Any:
    return _local(_of_command(self.args), _POLL(self))


def system(command: Any) -> Any:
    return _local(_of_command(command), _SYSTEM(command))


def popen(command: Any, *arguments: Any, **named: Any) -> Any:
    decides(_of_command(command))  # what it prints is read in many ways
    return _OPEN(command, *arguments, **named)


_ENVIRON: Final[Any] = type(os.environ)
_ITEM: Final[Any] = _ENVIRON.__getitem__
_HAS: Final[Any] = _ENVIRON.__contains__
_EACH: Final[Any] = _ENVIRON.__iter__
_COMMUNICATE: Final[Any] = subprocess.Popen.communicate
_WAIT: Final[Any] = subprocess.Popen.wait
_POLL: Final[Any] = subprocess.Popen.poll
_SYSTEM: Final[Any] = os.system
_OPEN: Final[Any] = os.popen
INSTEAD: Final[tuple[tuple[Any, str, Any], ...]] = (
    (_ENVIRON, "get", _get),
    (_ENVIRON, "__getitem__", _item),
    (_ENVIRON, "__contains__", _has),
    (_ENVIRON, "__iter__", _each),
    (_ENVIRON, "copy", _copy),
    (_ENVIRON, "__or__", _with),
    (_ENVIRON, "__ror__", _within),
    (os, "getenv", getenv),
    (os, "system", system),
    (os, "popen", popen),
    (subprocess.Popen, "communicate", communicate),
    (subprocess.Popen, "wait", wait),
    (subprocess.Popen, "poll", poll),
)
