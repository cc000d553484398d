"""Values in place of what only a cloud could answer, so that a program goes on; what it decides by them is told.

An output that is not known yet is the SDK's own business: what is done with it is not run. A plain call
(`aws.ec2.get_ami(...)`), an output that is awaited and a secret of the configuration have to be something, and what a
program makes inside `apply` of an unknown value is never made at a preview. In these places the program gets the values
of `undecided`. A host that cannot be reached from here is reported where a program goes on without its answer; what it
asks of the machine it runs on is the business of `surroundings`.
"""

from __future__ import annotations

import dis
import json
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final, get_args, get_origin

import pulumi
import yaml
from pulumi import _types
from pulumi.output import UNKNOWN, Unknown, contains_unknowns
from pulumi.runtime import rpc as pulumi_rpc

from sizewell.sdk import surroundings
from sizewell.sdk.surroundings import VARIABLE
from sizewell.sdk.undecided import (
    ENTRIES,
    MANY,
    MARK,
    Anything,
    LocalText,
    UnknownList,
    UnknownMapping,
    UnknownNumber,
    UnknownText,
    decides,
    of_program,
    own,
    tell_to,
    tells,
)

__all__ = ["INSTEAD", "VARIABLE", "stand_in", "tell_to"]

pulumi_invoke: Any = import_module("pulumi.runtime.invoke")  # the package has a function of that name
RENDERERS: Final = ("kubernetes:yaml:decode", "kubernetes:helm:template", "kubernetes:kustomize:directory")
_LATER: Final = "a value that is known only after deployment"


def stand_in(kind: Any, about: str, text: str = MARK) -> Any:
    """A value of an annotated type of the SDK."""
    kind = _types.unwrap_optional_type(kind)
    if isinstance(kind, type) and _types.is_output_type(kind):
        fields = _types.output_type_types(kind).items()
        return _types.output_type_from_dict(kind, {name: stand_in(inner, about, text) for name, inner in fields})
    origin = get_origin(kind) or kind
    if origin in (int, bool, float):
        return UnknownNumber(about, origin)
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
        if _always_raises(func):
            tells(f"a function that raises an error whatever {_LATER} turns out to be", _place(func))
        return _APPLY(self, func, run_with_unknowns)

    def tried(value: Any) -> Any:
        if not contains_unknowns(value):
            return func(value)
        try:
            func(_replaced(value, _LATER))
        except Exception as error:  # noqa: BLE001 - of the program, on a value that it never gets
            tells(f"{_LATER} ({type(error).__name__}: {error})", _place(func))
        return UNKNOWN

    return _APPLY(self, tried, True)


def _place(func: Any) -> str:
    return f"{func.__code__.co_filename}:{func.__code__.co_firstlineno}"


def _always_raises(func: Any) -> bool:
    """Whether a function of the program ends in an error on every way: nothing is made after it."""
    code = getattr(func, "__code__", None)
    if not isinstance(code, CodeType) or not own(code.co_filename) or code.co_flags & _GENERATES:
        return False
    if code not in _raising:
        names = {step.opname for step in dis.get_instructions(code)}
        _raising[code] = "RAISE_VARARGS" in names and not any(name.startswith("RETURN_") for name in names)
    return _raising[code]


_raising: dict[CodeType, bool] = {}
_GENERATES: Final = 0x20 | 0x80 | 0x200  # inspect.CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


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
    if not isinstance(code, CodeType) or not own(code.co_filename):
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


# -- what a program waits for -----------------------------------------------------------------------------------------


def future(self: Any, with_unknowns: bool | None = None) -> Awaitable[Any]:
    """The SDK's own, with a stand-in where the program awaits what is not known: the SDK answers None."""
    awaited: Any = _FUTURE(self, with_unknowns)
    if with_unknowns or not of_program(sys._getframe(1)):  # noqa: SLF001
        return awaited  # type: ignore[no-any-return]
    awaited.close()

    async def known() -> Any:
        value = await _FUTURE(self, True)
        if value is None and not await _IS_KNOWN(self):
            return Anything(_LATER)
        return _replaced(value, _LATER) if contains_unknowns(value) else value

    return known()


def is_known(self: Any) -> Awaitable[bool]:
    """The SDK's own; a program that asks goes another way at a preview than at the update."""
    decides("whether a value is known before deployment")
    known: Awaitable[bool] = _IS_KNOWN(self)
    return known


def is_dry_run() -> bool:
    """The SDK's own; a program that asks goes another way at the update than here."""
    decides("whether this is a preview or the update")
    return _IS_DRY_RUN()


def get_output_details(self: Any, name: str) -> Awaitable[Any]:
    """The SDK's own, with a stand-in for an output of another stack: the SDK answers with nothing at all."""

    async def details() -> Any:
        found = await _DETAILS(self, name)
        if found.value is None and found.secret_value is None and not await _IS_KNOWN(self.outputs):
            found.value = Anything(f"the output {name} of another stack")
        return found

    return details()


# -- configuration ----------------------------------------------------------------------------------------------------


def _config_value(
    self: Any, key: str, use: Callable[..., Any] | None = None, instead_of: Callable[..., Any] | None = None
) -> Any:
    value = _CONFIG(self, key, use, instead_of)
    return UnknownText(_secret(self, key)) if value == pulumi_rpc.UNKNOWN else value


def _typed(of: str, kind: type) -> Callable[..., Any]:
    theirs = getattr(pulumi.Config, of)

    def value(
        self: Any, key: str, use: Callable[..., Any] | None = None, instead_of: Callable[..., Any] | None = None
    ) -> Any:
        if _CONFIG(self, key, use, instead_of) != pulumi_rpc.UNKNOWN:
            return theirs(self, key, use, instead_of)
        return Anything(_secret(self, key)) if kind is object else UnknownNumber(_secret(self, key), kind)

    return value


def _secret(config: Any, key: str) -> str:
    return f"the secret {config.full_key(key)} of the configuration"


# -- the network ------------------------------------------------------------------------------------------------------


def getaddrinfo(host: Any, *arguments: Any, **named: Any) -> Any:
    """Python's own: where a program goes on without the answer of an address that cannot be reached here, that is told.

    An answer that comes is the one that a deployment would have now.
    """
    try:
        return _ADDRESSES(host, *arguments, **named)
    except OSError:
        _unreached(host)
        raise


def create_connection(address: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return _CONNECT(address, *arguments, **named)
    except OSError:
        _unreached(address[0])
        raise


def _unreached(host: Any) -> None:
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001
    while frame is not None and not of_program(frame):
        frame = frame.f_back
    if frame is not None:
        about = f"the answer of {host}, which cannot be reached here"
        tells(about, f"{frame.f_code.co_filename}:{frame.f_lineno}")


# -- values that leave the program ------------------------------------------------------------------------------------


def serialize_property(value: Any, dependencies: Any, key: str | None, *arguments: Any, **named: Any) -> Awaitable[Any]:
    """The SDK's own: a number that nobody knows is recorded as what it is, and a default that is a machine is told."""
    if type(value) is LocalText and value.where and str(key).rpartition(".")[2].lower().replace("_", "") in _MACHINES:
        tells(value._about, value.where)  # noqa: SLF001
    return _SERIALIZE(MARK if type(value) is UnknownNumber else value, dependencies, key, *arguments, **named)


_MACHINES: Final = frozenset(  # inputs that say which machine is rented, as the providers spell them
    ("instancetype", "instancetypes", "machinetype", "vmsize", "size", "instanceclass", "nodetype", "acceleratortype")
)


def _loads(text: Any, *arguments: Any, **named: Any) -> Any:
    if isinstance(text, LocalText):
        decides(text._about)  # noqa: SLF001 - it is read into plain values
    return Anything(text._about) if isinstance(text, UnknownText) else _LOADS(text, *arguments, **named)  # noqa: SLF001


def _safe_load(stream: Any) -> Any:
    """As of JSON: a reader of YAML would look for the end of a text that has none."""
    return Anything(stream._about) if isinstance(stream, UnknownText) else _SAFE_LOAD(stream)  # noqa: SLF001


def _as_json(self: Any, value: Any) -> Any:
    return MARK if type(value) is UnknownNumber else _AS_JSON(self, value)


_APPLY: Final = pulumi.Output.apply
_FUTURE: Final[Any] = pulumi.Output.future
_IS_KNOWN: Final[Any] = pulumi.Output.is_known
_IS_DRY_RUN: Final[Callable[[], bool]] = pulumi.runtime.is_dry_run
_DETAILS: Final[Any] = pulumi.StackReference.get_output_details
_CONFIG: Final[Any] = pulumi.Config._get  # noqa: SLF001
_INVOKE: Final = pulumi_invoke._invoke  # noqa: SLF001
_SERIALIZE: Final = pulumi_rpc.serialize_property
_ADDRESSES: Final = socket.getaddrinfo
_CONNECT: Final = socket.create_connection
_LOADS: Final = json.loads
_SAFE_LOAD: Final[Any] = yaml.safe_load
_AS_JSON: Final[Any] = json.JSONEncoder.default
INSTEAD: Final[tuple[tuple[Any, str, Any], ...]] = (
    (pulumi_invoke, "_invoke", invoke),
    (pulumi_rpc, "serialize_property", serialize_property),
    (pulumi.Output, "apply", apply),
    (pulumi.Output, "future", future),
    (pulumi.Output, "is_known", is_known),
    (pulumi.runtime, "is_dry_run", is_dry_run),
    (pulumi.runtime.settings, "is_dry_run", is_dry_run),
    (pulumi.StackReference, "get_output_details", get_output_details),
    (pulumi.Config, "_get", _config_value),
    (pulumi.Config, "_get_bool", _typed("_get_bool", bool)),
    (pulumi.Config, "_get_int", _typed("_get_int", int)),
    (pulumi.Config, "_get_float", _typed("_get_float", float)),
    (pulumi.Config, "_get_object", _typed("_get_object", object)),
    (socket, "getaddrinfo", getaddrinfo),
    (socket, "create_connection", create_connection),
    *surroundings.INSTEAD,
    (json, "loads", _loads),
    (yaml, "safe_load", _safe_load),
    (json.JSONEncoder, "default", _as_json),
)
