"""Values in place of what only a cloud could answer, so that a program goes on; what it decides by them is told.

An output that is not known yet is the SDK's own business: what is done with it is not run. A plain call
(`aws.ec2.get_ami(...)`) has to return something, and what a program makes inside `apply` of an unknown value is never
made at a preview. In both places the program gets stand-ins: they format into text that is recorded as unknown, a
list has two of them, and whoever asks how long it is, or compares one, decides by something that nobody knows.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, Self, get_args, get_origin

import pulumi
from pulumi import _types
from pulumi.output import UNKNOWN, Unknown, contains_unknowns
from pulumi.runtime import rpc as pulumi_rpc

pulumi_invoke: Any = import_module("pulumi.runtime.invoke")  # the package has a function of that name
MARK: Final = f"?{pulumi_rpc.UNKNOWN}?"  # not the mark itself: the SDK would turn that into None
MANY: Final = f"{MARK}["  # how an entry of a list of unknown length begins
ENTRIES: Final = 2  # of such a list
RENDERERS: Final = ("kubernetes:yaml:decode", "kubernetes:helm:template", "kubernetes:kustomize:directory")

Tell = Callable[[str, str], None]  # (what is not known, where the program decides by it)
_tell: ContextVar[Tell | None] = ContextVar("tell", default=None)

_INSTALLED: Final = tuple(
    sorted({str(Path(path)) for key in ("stdlib", "purelib", "platlib") if (path := sysconfig.get_path(key))})
)


def tell_to(tell: Tell) -> None:
    """Whom to tell, of everything that runs in this thread's context from now on."""
    _tell.set(tell)


def _own(file: str) -> bool:
    """Whether a file is the program's own, and neither installed nor Python's."""
    return not (file.startswith((*_INSTALLED, "<frozen")) or "site-packages" in file or file == __file__)


def _decides(about: str) -> None:
    """Tell that the program's own line, and not the SDK's, asks what is not known."""
    frame = sys._getframe(2)  # noqa: SLF001
    if _own(frame.f_code.co_filename) and (tell := _tell.get()) is not None:
        tell(about, f"{frame.f_code.co_filename}:{frame.f_lineno}")


class UnknownText(str):
    """Any text."""

    __slots__ = ("_about",)
    _about: str

    def __new__(cls, about: str, text: str = MARK) -> Self:
        made = super().__new__(cls, text)
        made._about = about
        return made

    def __bool__(self) -> bool:
        _decides(self._about)
        return True

    def __eq__(self, other: object) -> bool:
        _decides(self._about)
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        _decides(self._about)
        return str.__ne__(self, other)

    __hash__ = str.__hash__

    def __contains__(self, part: object) -> bool:
        _decides(self._about)
        return isinstance(part, str) and str.__contains__(self, part)

    def __len__(self) -> int:
        _decides(self._about)
        return ENTRIES

    def __getitem__(self, place: Any) -> Any:
        return self


class Anything(UnknownText):
    """Any value: a text, a mapping, an object, a list of unknown length."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Anything(self._about)

    def __getitem__(self, place: Any) -> Any:
        return Anything(self._about)

    def __iter__(self) -> Iterator[Any]:
        _decides(self._about)
        return iter([Anything(self._about, f"{MANY}{i}]") for i in range(ENTRIES)])

    def __int__(self) -> int:
        _decides(self._about)
        return ENTRIES

    __index__ = __int__

    def get(self, key: Any, default: Any = None) -> Any:  # noqa: ARG002 - as of a mapping
        return Anything(self._about)

    def items(self) -> list[tuple[Any, Any]]:
        _decides(self._about)
        return [(each, each) for each in self]

    def keys(self) -> list[Any]:
        return list(self)

    values = keys


class UnknownCount(int):
    """Any whole number: two where it has to be one."""

    _about: str

    def __new__(cls, about: str) -> Self:
        made = super().__new__(cls, ENTRIES)
        made._about = about
        return made

    def __bool__(self) -> bool:
        _decides(self._about)
        return True

    def _same(self, *_: Any) -> UnknownCount:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = _same

    def __index__(self) -> int:
        _decides(self._about)
        return ENTRIES


class UnknownList(list[Any]):
    """A list of unknown length."""

    _about: str

    def __init__(self, about: str, entries: Sequence[Any]) -> None:
        super().__init__(entries)
        self._about = about

    def __iter__(self) -> Iterator[Any]:
        _decides(self._about)
        return super().__iter__()

    def __len__(self) -> int:
        _decides(self._about)
        return super().__len__()

    def __bool__(self) -> bool:
        _decides(self._about)
        return True


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
        _decides(self._about)
        return super().__iter__()

    def __bool__(self) -> bool:
        _decides(self._about)
        return True

    def __contains__(self, key: object) -> bool:
        _decides(self._about)
        return True


def stand_in(kind: Any, about: str, text: str = MARK) -> Any:
    """A value of an annotated type of the SDK; None for true or false, which has no stand-in."""
    kind = _types.unwrap_optional_type(kind)
    if isinstance(kind, type) and _types.is_output_type(kind):
        fields = _types.output_type_types(kind).items()
        return _types.output_type_from_dict(kind, {name: stand_in(inner, about, text) for name, inner in fields})
    origin = get_origin(kind) or kind
    if origin is int:
        return UnknownCount(about)
    if origin in (bool, float):
        return None
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return UnknownMapping(about)
    if isinstance(origin, type) and issubclass(origin, Sequence) and not issubclass(origin, str):
        inner = next(iter(get_args(kind)), str)
        return UnknownList(about, [stand_in(inner, about, f"{MANY}{i}]") for i in range(ENTRIES)])
    return UnknownText(about, text)


# -- calls of functions -----------------------------------------------------------------------------------------------


def invoke(  # noqa: PLR0917 - as the SDK calls it
    tok: str, props: Any, opts: Any, typ: type | None, package_ref: Any = None, check_dependencies: bool | None = False
) -> Awaitable[Any]:
    """The SDK's own, with a stand-in where a plain call has no answer: its caller reads fields from it at once."""

    async def answered() -> Any:
        result = await _INVOKE(tok, props, opts, typ, package_ref=package_ref, check_dependencies=check_dependencies)
        if result.is_known or check_dependencies or tok in RENDERERS:
            return result
        about = f"the answer to {tok}"
        value = Anything(about) if typ is None else stand_in(typ, about)
        return pulumi_invoke.InvokeResult(value, dependencies=result.dependencies)

    return answered()


# -- what a program makes of a value that is not known ----------------------------------------------------------------


def apply(self: Any, func: Callable[[Any], Any], run_with_unknowns: bool = False) -> Any:
    """The SDK's own, and of what makes resources out of an unknown value the resources, made of a stand-in."""
    if run_with_unknowns or not _makes_resources(func):
        return _APPLY(self, func, run_with_unknowns)

    def tried(value: Any) -> Any:
        if not contains_unknowns(value):
            return func(value)
        code: Any = getattr(func, "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}"
        about = "a value that is known only after deployment"
        try:
            func(_replaced(value, about))
        except Exception as error:  # noqa: BLE001 - of the program, on a value that it never gets
            tell = _tell.get()
            if tell is not None:
                tell(f"{about} ({type(error).__name__}: {error})", where)
        return UNKNOWN

    return _APPLY(self, tried, True)


def _replaced(value: Any, about: str) -> Any:
    """A value with a stand-in for what is not known in it."""
    if isinstance(value, Unknown):
        return Anything(about)
    if isinstance(value, list):
        return [_replaced(each, about) for each in value]
    if isinstance(value, dict):
        return {key: _replaced(each, about) for key, each in value.items()}
    return Anything(about) if contains_unknowns(value) else value


_known: dict[CodeType, bool] = {}


def _makes_resources(func: Any) -> bool:
    """Whether a function of the program, or one that it calls, names a type of resource."""
    code = getattr(func, "__code__", None)
    if not isinstance(code, CodeType) or not _own(code.co_filename):
        return False
    if code not in _known:
        _known[code] = False  # of itself, where it is recursive
        _known[code] = _names_a_resource(code, _names_of(func))
    return _known[code]


def _names_of(func: Any) -> dict[str, Any]:
    """What the free and global names of a function stand for now."""
    names = dict(func.__globals__)
    for name, cell in zip(func.__code__.co_freevars, func.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names


def _names_a_resource(code: CodeType, names: Mapping[str, Any]) -> bool:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    if any(_names_a_resource(each, names) for each in inner):
        return True
    value: Any = None
    for step in dis.get_instructions(code):
        if step.opname.startswith(("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF")):
            value = names.get(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType | type):
            value = getattr(value, step.argval, None)
        elif step.opname == "IMPORT_NAME" and str(step.argval).startswith("pulumi_"):
            return True
        else:
            continue
        if isinstance(value, type) and issubclass(value, pulumi.Resource):
            return True
        if isinstance(value, FunctionType) and _makes_resources(value):
            return True
    return False


def without_counts(value: Any) -> Any:
    """A value of a program as it is recorded: a number that nobody knows is no number."""
    if isinstance(value, UnknownCount):
        return MARK
    if isinstance(value, list):
        return [without_counts(each) for each in value]
    if isinstance(value, dict):
        return {key: without_counts(each) for key, each in value.items()}
    return value


_APPLY: Final = pulumi.Output.apply
_INVOKE: Final = pulumi_invoke._invoke  # noqa: SLF001
INSTEAD: Final[tuple[tuple[Any, str, Any], ...]] = (
    (pulumi_invoke, "_invoke", invoke),
    (pulumi.Output, "apply", apply),
)
