"""Values that say how they came about: a program that runs with them shows which output goes into which input.

In place of what a cloud would answer, a program gets a text that is a marker, and the marker stands for an expression
(`sdk.expressions`). What is done with such a value makes another one. Where it is formatted into other text, the marker
goes along. What cannot be followed (the length of a text, a loop over it) loses the way, and is told.
"""

from __future__ import annotations

import base64
import inspect
import json
import re
import sys
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final, Self, get_args, get_origin

import pulumi
import yaml
from pulumi import _types
from pulumi.output import UNKNOWN, contains_unknowns
from pulumi.runtime import rpc as pulumi_rpc
from pulumi.runtime import settings

from sizewell.sdk import stand_ins
from sizewell.sdk.expressions import Answer, Attr, Call, Expr, Func, Item, Lit, Lost, Map, Ref, Seq, Setting, Text, walk
from sizewell.sdk.undecided import Anything, of_program

# Two forms of a marker: what treats the text of a marker as if it were the value's own does not treat both alike.
_FORMS: Final = (
    ("zq7x{:05d}xq7z", re.compile(r"zq7x(\d{5})xq7z")),
    ("Zq/7:{:07d}-x.Q_9", re.compile(r"Zq/7:(\d{7})-x\.Q_9")),
)
_ITSELF: Final = "the program does with it what needs the value itself, which is known only after deployment"
UNSECRET: Final = "pulumi.Output.unsecret"
_NO: Final = object()  # no sample
_SCOPE: Final = "/subscriptions/"  # how an id of Azure begins
_EXAMPLES: Final = {
    "id": "/subscriptions/0/resourceGroups/group/providers/Microsoft.Example/kind/name",
    "subscription_id": "0",
}
_TEXTS: Final[Mapping[str, Any]] = {
    "split": list[str],
    "rsplit": list[str],
    "splitlines": list[str],
    "partition": tuple[str, ...],
    "rpartition": tuple[str, ...],
    "encode": bytes,
    **dict.fromkeys(("count", "find", "rfind", "index", "rindex"), int),
    **dict.fromkeys(
        (
            *("startswith", "endswith", "isdigit", "isalnum", "isalpha", "isascii", "isdecimal", "isidentifier"),
            *("islower", "isnumeric", "isprintable", "isspace", "istitle", "isupper"),
        ),
        bool,
    ),
}


class Untraceable(Exception):  # noqa: N818 - turned into `Lost`
    """What is done with a value cannot be written down."""


@dataclass(eq=False)
class Tracer:
    """One traced run: its markers, the registrations as the program asked for them, and what it decided by."""

    form: int = 0
    settings: bool = True  # whether plain values of the configuration are traced too
    expressions: list[tuple[Expr, Any]] = field(default_factory=list)
    samples: dict[int, Any] = field(default_factory=dict)  # by place in expressions
    registered: list[tuple[Any, Any]] = field(default_factory=list)  # the resource, the SDK's class of its inputs
    decisions: list[tuple[str, str]] = field(default_factory=list)  # what was asked of, where
    organizations: list[str] = field(default_factory=list)  # where the stack's organization was asked for
    stated: dict[str, Any] = field(default_factory=dict)  # urn -> outputs that a deployment had

    def marker(self, expression: Expr, kind: Any) -> str:
        self.expressions.append((expression, kind))
        return _FORMS[self.form][0].format(len(self.expressions) - 1)

    def id_of(self, urn: str, stated: str) -> str:
        """The marker of a resource's id. An id of Azure has the same parts wherever it is from: what looks for a
        group or a subscription in it gets one of that form.
        """
        if stated or "azure-native:" in urn.split("::")[2].rpartition("$")[2]:
            self.samples[len(self.expressions)] = stated or _EXAMPLES["id"]
        return self.marker(Attr(Ref(urn), "id"), str)

    def read(self, text: str) -> Expr:
        """The expression of a text: markers in it, if any, and what is between."""
        parts: list[Expr] = []
        end = 0
        for match in _FORMS[self.form][1].finditer(text):
            if match.start() > end:
                parts.append(Lit(text[end : match.start()]))
            parts.append(self.expressions[int(match.group(1))][0])
            end = match.end()
        if not parts:
            return Lit(text)
        if end < len(text):
            parts.append(Lit(text[end:]))
        return parts[0] if len(parts) == 1 else Text(tuple(parts))

    def sampled(self, text: str) -> str:
        """A text with the values that are known in place of their markers: a name is one, whatever it is made of."""
        of = self.samples
        return _FORMS[self.form][1].sub(lambda match: str(of.get(int(match.group(1)), match.group())), text)

    def marked(self, text: str) -> bool:
        return _FORMS[self.form][1].search(text) is not None

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """With the SDK's outputs, answers and settings replaced; within `quick`."""
        earlier = [(module, name, getattr(module, name)) for module, name, _ in _INSTEAD]
        _current.append(self)
        for module, name, ours in _INSTEAD:
            setattr(module, name, ours)
        try:
            yield
        finally:
            for module, name, theirs in earlier:
                setattr(module, name, theirs)
            _current.pop()


_current: list[Tracer] = []


class Traced(str):
    """A value that knows its expression; its text is a marker, or has markers in it."""

    __slots__ = ("_expr", "_kind", "_sample")
    _expr: Expr
    _kind: Any
    _sample: Any

    def __new__(cls, expression: Expr, kind: Any = None, sample: Any = _NO, text: str | None = None) -> Self:
        tracer = _current[-1]
        if text is None and sample is not _NO:
            tracer.samples[len(tracer.expressions)] = sample
        made = super().__new__(cls, tracer.marker(expression, kind) if text is None else text)
        made._expr, made._kind, made._sample = expression, _types.unwrap_optional_type(kind), sample
        return made

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return object.__getattribute__(self, name)
        kind, sample = self._kind, self._sample
        if isinstance(kind, type) and _types.is_output_type(kind):
            inner: Any = next((hint for key, hint in _fields(kind) if key == name), None)
            if inner is None:
                raise AttributeError(name)
        else:
            inner = ("method", name) if kind in (str, bytes) else kind if name == "get" else None
        made = Attr(self._expr, name)
        if _is_example(made) and isinstance(made.of, Answer):
            return Traced(made, inner, _EXAMPLES[name])
        return Traced(made, inner, _NO if sample is _NO else getattr(sample, name, None))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        made = self._expr
        assert isinstance(made, Attr)  # noqa: S101 - nothing else is a method
        if made.name == "get" and self._sample is _NO and len(arguments) + len(named) > 1:
            raise Untraceable("a default for what may be absent from what is known only after deployment")
        if made.name == "get" and arguments and isinstance(arguments[0], str):  # of a mapping
            return Traced(Item(made.of, str(arguments[0])), _inner(self._kind))
        given = tuple(expression_of(each) for each in arguments)
        by_name = tuple((key, expression_of(each)) for key, each in named.items())
        if any(not isinstance(each, Lit) for each in (*given, *(value for _, value in by_name))):
            raise Untraceable(f".{made.name}() takes what is known only after deployment")
        sample = self._sample
        known = _NO if sample is _NO else sample(*arguments, **named)
        kind = _TEXTS.get(made.name, str) if self._kind == ("method", made.name) else None
        if made.name == "decode":
            kind = str
        return Traced(Call(made, given, by_name), kind, known)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, Traced):
            raise Untraceable("a part of what is known only after deployment, by an unknown place")
        sample = self._sample
        kind = self._kind if isinstance(place, slice) else _inner(self._kind)
        return Traced(Item(self._expr, place), kind, _NO if sample is _NO else sample[place])

    def __str__(self) -> str:
        return self if self._kind is str else Traced(Func("str", self._expr), str, _known(str, self))

    def __format__(self, spec: str) -> str:
        if spec:
            raise Untraceable(f"{spec!r} formats what is known only after deployment")
        return str(self)

    def __repr__(self) -> str:
        if not of_program(sys._getframe(1)):  # noqa: SLF001 - what is said of an error that the program made with it
            return "what is known only after deployment"
        raise Untraceable("repr() of what is known only after deployment")

    def __add__(self, other: Any) -> Any:
        return _joined(self, other)

    def __radd__(self, other: Any) -> Any:
        return _joined(other, self)

    def __mod__(self, other: Any) -> Any:
        raise Untraceable("% of what is known only after deployment")

    __mul__ = __rmul__ = __mod__

    def __bool__(self) -> bool:
        frame = sys._getframe(1)  # noqa: SLF001
        if frame.f_code.co_name == "__init__" and str(frame.f_globals.get("__name__", "")).startswith("pulumi_"):
            return False  # a class of an SDK, which would ask next whether this is of the type that it has
        if self._kind is bool:  # a text or an object that there will be is true; of a truth, nobody knows which
            return bool(self._by(bool, True))
        return True if self._sample is _NO else bool(self._sample)

    def __eq__(self, other: object) -> bool:
        return bool(self._by(lambda mine: mine == _plain(other), False))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return bool(self._by(lambda mine: mine < _plain(other), False))

    def __gt__(self, other: Any) -> bool:
        return bool(self._by(lambda mine: mine > _plain(other), True))

    def __le__(self, other: Any) -> bool:
        return bool(self._by(lambda mine: mine <= _plain(other), False))

    def __ge__(self, other: Any) -> bool:
        return bool(self._by(lambda mine: mine >= _plain(other), True))

    def __contains__(self, part: object) -> bool:
        return bool(self._by(lambda mine: _plain(part) in mine, False))

    def __hash__(self) -> int:
        self._by(hash, False) if self._sample is _NO else None  # a table is looked up by it
        return hash(self._sample) if self._sample is not _NO and not isinstance(self._sample, list | dict) else 0

    def __len__(self) -> int:
        return int(self._must(len)) if self._sample is _NO else int(self._by(len, False))

    def __iter__(self) -> Iterator[Any]:
        if self._sample is _NO or isinstance(self._sample, Mapping):
            raise Untraceable("a loop over what is known only after deployment")
        return iter([self[number] for number in range(len(self._sample))])

    def __int__(self) -> int:
        return int(self._must(int))

    def __float__(self) -> float:
        return float(self._must(float))

    __index__ = __int__

    def _by(self, decide: Callable[[Any], Any], otherwise: bool) -> Any:
        frame = sys._getframe(2)  # noqa: SLF001
        if of_program(frame) and (self._sample is _NO or _is_example(self._expr)):
            _current[-1].decisions.append((_named(self._expr), f"{frame.f_code.co_filename}:{frame.f_lineno}"))
        return otherwise if self._sample is _NO else decide(self._sample)

    def _must(self, make: Callable[[Any], Any]) -> Any:
        raise Untraceable(f"{make.__name__}() of what is known only after deployment")


def _is_example(expression: Expr) -> bool:
    """Whether a value is of an id of Azure that only has the form of one."""
    for each in walk(expression):
        if isinstance(each, Text) and isinstance(each.parts[0], Lit) and str(each.parts[0].value).startswith(_SCOPE):
            return True
        if isinstance(each, Attr) and each.name in _EXAMPLES:
            if isinstance(each.of, Ref) and each.of.urn not in _current[-1].stated:
                return "azure-native:" in each.of.urn
            return isinstance(each.of, Answer) and each.of.token.startswith("azure-native:")
    return False


def _known(make: Callable[[Any], Any], value: Traced) -> Any:
    return _NO if value._sample is _NO else make(value._sample)  # noqa: SLF001


def _plain(value: Any) -> Any:
    return value._sample if isinstance(value, Traced) and value._sample is not _NO else value  # noqa: SLF001


def _named(expression: Expr) -> str:
    """An expression in a few words, such as `vpc.id`."""
    match expression:
        case Ref(urn):
            return urn.rpartition("::")[2]
        case Attr(of, name):
            return f"{_named(of)}.{name}"
        case Item(of, key):
            return f"{_named(of)}[{key!r}]"
        case Call(of):
            return f"{_named(of)}()"
        case Func(name, of):
            return f"{name}({_named(of)})"
        case Setting(key):
            return f"the setting {key}"
        case Answer(token):
            return f"the answer of {token}"
    return "a value"


def _joined(left: Any, right: Any) -> Any:
    if not (isinstance(left, str) and isinstance(right, str)):
        raise Untraceable("arithmetic with what is known only after deployment")
    return _of_text("".join((left, right)))  # noqa: FLY002 - a format would ask for texts of numbers


def _of_text(text: str) -> Any:
    """A text as a traced value, where it has markers."""
    tracer = _current[-1]
    if not tracer.marked(text):
        return text
    expression = tracer.read(text)
    if isinstance(expression, Text):
        places = [int(match.group(1)) for match in _FORMS[tracer.form][1].finditer(text)]
        sample: Any = _NO
        if all(place in tracer.samples for place in places) or text.startswith(_SCOPE):
            sample = _FORMS[tracer.form][1].sub(lambda match: str(tracer.samples.get(int(match.group(1)), "0")), text)
        return Traced(expression, str, sample, text)
    place = next(int(match.group(1)) for match in _FORMS[tracer.form][1].finditer(text))
    return Traced(expression, tracer.expressions[place][1], tracer.samples.get(place, _NO), text)


def expression_of(value: Any) -> Expr:
    """How a plain value with traced ones in it came about."""
    if isinstance(value, Traced):
        return value._expr  # noqa: SLF001
    if isinstance(value, str):
        return _current[-1].read(value)
    if isinstance(value, Mapping):
        return Map(tuple((str(key), expression_of(each)) for key, each in value.items()))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return Seq(tuple(expression_of(each) for each in value))
    if value is None or isinstance(value, bool | int | float):
        return Lit(value)
    raise Untraceable(f"a {type(value).__name__} beside what is known only after deployment")


def _fields(kind: Any) -> Iterator[tuple[str, Any]]:
    types = _types.output_type_types(kind)
    for name, wire, _ in _types._py_properties(kind):  # noqa: SLF001
        yield name, types.get(wire)


def _inner(kind: Any) -> Any:
    """What an entry is, of a list or a mapping."""
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Sequence | Mapping):
        return get_args(kind)[-1] if get_args(kind)[-1] is not ... else get_args(kind)[0]
    return str if kind is str else None


def symbolic(value: Any) -> Any:
    """A value as a function of the program gets it: texts with markers as traced values."""
    if isinstance(value, Traced):
        return value
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, dict) and type(value) is dict:
        return {key: symbolic(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(symbolic(each) for each in value)
    return value


def known(value: Any, expression: Expr, kind: Any = None, *, from_state: bool = False) -> Any:
    """A value that is known, traced: texts in it, and numbers too where they come from a deployment."""
    if isinstance(value, Traced) or (isinstance(value, str) and _current[-1].marked(value)):
        return value
    if type(value) is str:
        return Traced(expression, str, _NO if value == pulumi_rpc.UNKNOWN else value)
    if isinstance(value, list):
        if from_state and not value:
            return Traced(expression, kind, value)
        return [known(each, Item(expression, n), from_state=from_state) for n, each in enumerate(value)]
    if isinstance(value, dict):
        if _types.is_output_type(type(value)):
            return Traced(expression, type(value), value) if from_state else _partly(value, expression)
        return {key: known(each, Item(expression, key), from_state=from_state) for key, each in value.items()}
    return Traced(expression, type(value), value) if from_state and value is not None else value


def _partly(value: Any, expression: Expr) -> Any:
    """What a resource was given, as its output: what the cloud adds to it is known only after deployment."""
    kind: Any = value.__class__
    types, fields = _types.output_type_types(kind), {}
    for name, wire, _ in _types._py_properties(kind):  # noqa: SLF001
        given, of = getattr(value, name, None), Attr(expression, name)
        fields[wire] = Traced(of, types.get(wire)) if given is None else known(given, of)
    return _types.output_type_from_dict(kind, fields)


# -- in place of the SDK's own ----------------------------------------------------------------------------------------


def _apply(self: Any, func: Callable[[Any], Any], run_with_unknowns: bool = False) -> Any:
    def traced(value: Any) -> Any:
        if contains_unknowns(value):
            return func(value) if run_with_unknowns else UNKNOWN
        code = getattr(func, "__code__", None)
        if getattr(func, "__objclass__", None) is str:  # `str.upper`, which would take a marker for the value's text
            return getattr(symbolic(value), func.__name__)()
        if func in (int, float) and isinstance(number := symbolic(value), Traced):
            return Traced(Func(func.__name__, number._expr), func)  # noqa: SLF001
        if code is not None and code.co_varnames == ("__response__",):
            return value  # the SDK would make its own class of it, which takes no values but those of their types
        try:
            return func(symbolic(value))
        except (Untraceable, AttributeError, TypeError, ValueError, LookupError) as error:
            place = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
            return Traced(Lost(f"{error if isinstance(error, Untraceable) else _ITSELF}{place}"))

    return _APPLY(self, traced, run_with_unknowns)


def _named_so(self: Any, t: str, name: str, *more: Any, **named: Any) -> None:
    sampled = _current[-1].sampled
    t, name = (sampled("".join(each)) if isinstance(each, str) else each for each in (t, name))
    _INIT(self, t, name, *more, **named)


def _register(  # noqa: PLR0917 - as the SDK calls it
    res: Any, ty: str, name: str, custom: bool, remote: bool, new: Any, props: Any, *more: Any, **named: Any
) -> Any:
    typ = named.get("typ", more[1] if len(more) > 1 else None)
    _current[-1].registered.append((res, typ))
    return _REGISTER(res, ty, name, custom, remote, new, props, *more, **named)


def _read(res: Any, ty: str, name: str, props: Any, *more: Any, **named: Any) -> Any:
    _current[-1].registered.append((res, named.get("typ", more[1] if len(more) > 1 else None)))
    return _READ(res, ty, name, props, *more, **named)


def _resolve_outputs(res: Any, *arguments: Any, **named: Any) -> None:
    _resolving.append(res)
    try:
        _RESOLVE(res, *arguments, **named)
    finally:
        _resolving.pop()


_resolving: list[Any] = []


def _resolve_properties(
    resolvers: Mapping[str, Any], properties: Mapping[str, Any], deps: Any, custom: bool, _: bool = False
) -> None:
    """Every output is known: as what came back, or by its expression."""
    res = _resolving[-1]
    urn = urn_of(res)
    names, types = _types.resource_py_to_pulumi_names(type(res)), _types.resource_types(type(res))
    stated = _current[-1].stated.get(urn)
    for name, resolve in resolvers.items():
        if name == "urn" or (name == "id" and custom):
            continue
        value, kind = properties.get(name), types.get(names.get(name, name))
        secret = pulumi_rpc.is_rpc_secret(value)
        plain = pulumi_rpc.unwrap_rpc_secret(value) if secret else value
        expression = Attr(Ref(urn), name)
        told = Traced(expression, kind) if plain is None else known(plain, expression, kind, from_state=bool(stated))
        resolve(told, True, secret, deps.get(name), None)


def urn_of(res: Any) -> str:
    """The URN of a resource that is registered."""
    return str(res.urn._data.result().value)  # noqa: SLF001


async def _invoke_traced(  # noqa: PLR0917
    tok: str, props: Any, opts: Any, typ: Any, package_ref: Any, check: bool, called: tuple[str, Any]
) -> Any:
    result = await _INVOKE(tok, props, opts, typ, package_ref=package_ref, check_dependencies=check)
    if tok in stand_ins.RENDERERS:
        return result
    function, named = called
    settled = []
    for key, value in named:
        inner = await pulumi.Output.from_input(value).future() if value is not None else None
        if inner is not None:
            settled.append((key, expression_of(_arguments(inner))))
    provider = await opts.provider.urn.future() if opts is not None and opts.provider is not None else ""
    expression = Answer(tok, function, tuple(settled), provider or "")
    answer: Any = Traced(expression, typ)
    if result.is_known and type(result.value) is not Anything and typ is not None:
        given = {name: getattr(result.value, name) for name, _ in _fields(typ)}
        answer = _Known(
            {
                name: getattr(answer, name) if _holds_unknown(each) else known(each, Attr(expression, name))
                for name, each in given.items()
            }
        )
    deps = result.dependencies
    return import_module("pulumi.runtime.invoke").InvokeResult(answer, is_secret=result.is_secret, dependencies=deps)


def _stack_output(method: str) -> Callable[..., Any]:
    """A method of a reference to a stack, which takes care of what is secret and of what is missing."""

    def asked(self: Any, name: Any) -> Any:
        def call(known: Any) -> Any:
            return Traced(Call(Attr(known[1]._expr.of, method), (expression_of(known[0]),)))  # noqa: SLF001

        return pulumi.Output.all(name, self.outputs).apply(call)

    return asked


async def _details(self: Any, name: str) -> Any:
    value = await self.get_output(name).future()
    return import_module("pulumi.stack_reference").StackReferenceOutputDetails(value=value)


def _organization() -> Any:
    frame: Any = sys._getframe(1)  # noqa: SLF001
    while frame.f_back is not None and not of_program(frame):
        frame = frame.f_back
    _current[-1].organizations.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
    return _ORGANIZATION()


def _get(self: Any, name: str) -> Any:
    """As `pulumi.get`, of an answer too."""
    return getattr(self, name) if isinstance(self, Traced | _Known) else _GET(self, name)


class _Known:
    """An answer of which all fields are known; a field is an attribute or a key."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __getitem__(self, key: str) -> Any:
        return self.__dict__[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.__dict__.get(key, default)


def _holds_unknown(value: Any) -> bool:
    return pulumi_rpc.UNKNOWN in json.dumps(value, default=lambda each: getattr(each, "__dict__", str(each)))


def _arguments(value: Any) -> Any:
    """Arguments of a call, with the SDK's own classes for them as mappings."""
    if _types.is_input_type(value.__class__):
        return {
            name: _arguments(got)
            for name, wire, _ in _types._py_properties(value.__class__)  # noqa: SLF001
            if (got := _types.input_type_to_dict(value).get(wire)) is not None
        }
    if isinstance(value, list):
        return [_arguments(each) for each in value]
    if isinstance(value, dict):
        return {key: _arguments(each) for key, each in value.items()}
    return value


def _invoke(  # noqa: PLR0917 - as the SDK calls it
    tok: str, props: Any, opts: Any, typ: Any, package_ref: Any = None, check_dependencies: bool | None = False
) -> Any:
    called = getattr(opts, "_called", ("", ()))
    return _invoke_traced(tok, props, opts, typ, package_ref, bool(check_dependencies), called)


def _calling(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """A call of the runtime, with the SDK's function that makes it, and what that was given."""

    def call(tok: str, props: Any, opts: Any = None, *more: Any, **named: Any) -> Any:
        frame = sys._getframe(1)  # noqa: SLF001
        opts = pulumi.InvokeOptions() if opts is None else opts
        code = frame.f_code
        given = tuple((key, frame.f_locals.get(key)) for key in code.co_varnames[: code.co_argcount] if key != "opts")
        opts.__dict__["_called"] = (
            f"{frame.f_globals.get('__name__', '')}:{code.co_name.removesuffix('_output')}",
            given,
        )
        return theirs(tok, props, opts, *more, **named)

    return call


def _reads(of: str, kind: Any, read: str) -> Callable[..., Any]:
    theirs = getattr(pulumi.Config, of)
    get = pulumi.Config._get  # noqa: SLF001

    def value(self: Any, key: str, use: Any = None, instead_of: Any = None) -> Any:
        plain = get(self, key, use, instead_of)
        full, secret = self.full_key(key), self.full_key(key) in _secrets()
        if plain == pulumi_rpc.UNKNOWN:
            return Traced(Setting(full, True, read), kind)
        tracer = _current[-1]
        tracing, tracer.settings = tracer.settings, tracer.settings and not read
        try:
            found = theirs(self, key, use, instead_of)
        finally:
            tracer.settings = tracing
        if type(found) is str and not secret and _current[-1].settings and _asked_by_program():
            return Traced(Setting(full, False, read), str, found)
        if secret and found is not None:
            return known(found, Setting(full, True, read), from_state=True)
        return found

    return value


def _secrets() -> frozenset[str]:
    from pulumi.runtime import config

    return frozenset(config._SECRET_KEYS.get() if hasattr(config, "_SECRET_KEYS") else ())  # noqa: SLF001


def _asked_by_program() -> bool:
    frame = sys._getframe(2)  # noqa: SLF001
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(("pulumi.", "sizewell.sdk")):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and of_program(frame)


def _through(name: str, theirs: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    def function(value: Any, *arguments: Any, **named: Any) -> Any:
        given = symbolic(value) if isinstance(value, str) else value
        if isinstance(given, Traced):
            if given._sample is not _NO:  # noqa: SLF001
                return known(theirs(given._sample, *arguments, **named), Func(name, given._expr), from_state=True)  # noqa: SLF001
            return Traced(Func(name, given._expr), kind)  # noqa: SLF001
        return theirs(value, *arguments, **named)

    return function


_INIT: Final[Any] = pulumi.Resource.__init__
_APPLY: Final = inspect.getattr_static(pulumi.Output, "apply")
_REGISTER: Final[Any] = import_module("pulumi.resource").register_resource
_READ: Final[Any] = import_module("pulumi.resource").read_resource
_RESOLVE: Final[Any] = pulumi_rpc.resolve_outputs


def _quote(string: Any, *arguments: Any, **named: Any) -> Any:
    """As `urllib.parse.quote`, of what is between the markers, and of what each of them stands for."""
    if not isinstance(string, str) or not _current[-1].marked(string):
        return _QUOTE(string, *arguments, **named)
    if arguments:
        named["safe"] = arguments[0]
    text = "".join((string, ""))  # noqa: FLY002 - a plain one
    made, end = [], 0
    for match in _FORMS[_current[-1].form][1].finditer(text):
        inner = Func("urllib.parse.quote", _current[-1].expressions[int(match.group(1))][0], tuple(named.items()))
        made += [_QUOTE(text[end : match.start()], **named), Traced(inner, str)]
        end = match.end()
    return "".join([*made, _QUOTE(text[end:], **named)])


_QUOTE: Final[Any] = urllib.parse.quote
_GET: Final[Any] = pulumi.get
_ORGANIZATION: Final[Any] = settings.get_organization
_INVOKE: Final = stand_ins._INVOKE  # noqa: SLF001
_CALLS: Final = ("invoke", "invoke_single", "invoke_output", "invoke_output_single")


def _matching(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """As it is, where it looks at no traced value: what a pattern finds in a marker, it may not find in the value."""

    def matching(pattern: Any, text: Any, *more: Any, **named: Any) -> Any:
        if isinstance(text, Traced):
            text._by(len, False)  # noqa: SLF001
        return theirs(pattern, text, *more, **named)

    return matching


_INSTEAD: Final[tuple[tuple[Any, str, Any], ...]] = (
    *((re, name, _matching(getattr(re, name))) for name in ("match", "search", "fullmatch", "findall", "split")),
    (pulumi.Output, "apply", _apply),
    (pulumi.Resource, "__init__", _named_so),
    (import_module("pulumi.resource"), "register_resource", _register),
    (import_module("pulumi.resource"), "read_resource", _read),
    (pulumi, "get", _get),
    (settings, "get_organization", _organization),
    (pulumi.StackReference, "get_output", _stack_output("get_output")),
    (pulumi.StackReference, "require_output", _stack_output("require_output")),
    (pulumi.StackReference, "get_output_details", _details),
    (urllib.parse, "quote", _quote),
    (pulumi_rpc, "resolve_outputs", _resolve_outputs),
    (pulumi_rpc, "resolve_properties", _resolve_properties),
    (import_module("pulumi.runtime.invoke"), "_invoke", _invoke),
    *((pulumi.runtime, name, _calling(getattr(pulumi.runtime, name))) for name in _CALLS),
    (pulumi.Config, "_get_bool", _reads("_get_bool", bool, "bool")),
    (pulumi.Config, "_get_int", _reads("_get_int", int, "int")),
    (pulumi.Config, "_get_float", _reads("_get_float", float, "float")),
    (pulumi.Config, "_get_object", _reads("_get_object", None, "object")),
    (pulumi.Config, "_get", _reads("_get", str, "")),
    (json, "loads", _through("json.loads", json.loads, None)),
    (base64, "b64decode", _through("base64.b64decode", base64.b64decode, bytes)),
    (base64, "b64encode", _through("base64.b64encode", base64.b64encode, bytes)),
    (yaml, "safe_load", _through("yaml.safe_load", yaml.safe_load, None)),
)
