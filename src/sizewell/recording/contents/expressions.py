"""Expressions of Azure's resource manager, worked out as far as a template and its parameters say; the rest is UNKNOWN.

Their functions are those of learn.microsoft.com/azure/azure-resource-manager/templates/template-functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sizewell.recording.contents.unread import Unread
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.values import contains_unknown, either, every, negated

_TOKEN: Final = re.compile(r"""\s*(?:'((?:[^']|'')*)'|"([^"]*)"|(-?\d+)|([A-Za-z_]\w*)|(.))""")
_COPIES_MAX: Final = 800  # learn.microsoft.com/azure/azure-resource-manager/templates/copy-resources, "Limits"
Loops = Mapping[str, int]  # by the name of each loop, the number of its turn; "" for the innermost


class Names:
    """Parameters or variables: each is worked out when it is first asked for, and may name others in any order.

    >>> names = Names({"Size": lambda _: 4, "twice": lambda scope: scope.value("[mul(parameters('size'), 2)]")})
    >>> names.get("TWICE", Scope(parameters=names)), names.get("other", Scope())
    (8, UNKNOWN)
    """

    def __init__(self, written: Mapping[str, Callable[[Scope], Any]]) -> None:
        self._written = {name.lower(): value for name, value in written.items()}
        self._known: dict[str, Any] = {}

    def get(self, name: str, scope: Scope) -> Any:
        if (name := name.lower()) not in self._known:
            self._known[name] = UNKNOWN  # for one that names itself
            self._known[name] = self._written[name](scope) if name in self._written else UNKNOWN
        return self._known[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What an expression may name."""

    parameters: Names = field(default_factory=lambda: Names({}))
    variables: Names = field(default_factory=lambda: Names({}))
    places: Mapping[str, Any] = field(default_factory=dict)  # by the function that answers: its `location`
    loops: Loops = field(default_factory=dict)

    def turn(self, name: str, number: int) -> Scope:
        """The same within one turn of a loop."""
        return replace(self, loops={**self.loops, name.lower(): number, "": number})

    def value(self, written: Any) -> Any:
        """What a value of the template comes to."""
        if isinstance(written, str):
            if not written.startswith("[") or not written.endswith("]"):
                return written
            return written[1:] if written.startswith("[[") else _Expression(written[1:-1], self).result()
        if isinstance(written, Mapping):
            made = {key: self.value(each) for key, each in written.items() if not _loops(key, each)}
            for loop in (each for key, value in written.items() if _loops(key, value) for each in value):
                made[loop["name"]] = self.repeated(loop)
            return made
        return [self.value(each) for each in written] if isinstance(written, list) else written

    def repeated(self, loop: Mapping[str, Any]) -> Any:
        """The values that a loop of a property or variable makes."""
        times = self.times(loop)
        if isinstance(times, Unknown):
            return UNKNOWN
        return [self.turn(str(loop["name"]), number).value(loop.get("input")) for number in range(times)]

    def times(self, loop: Mapping[str, Any]) -> int | Unknown:
        """How often a loop turns."""
        times: int | Unknown = _whole(self.value(loop.get("count", UNKNOWN)))
        if isinstance(times, int) and not 0 <= times <= _COPIES_MAX:
            raise Unread(f"a loop of its template turns {times:,} times, of at most {_COPIES_MAX}")
        return times


def _loops(key: Any, value: Any) -> bool:
    return key == "copy" and isinstance(value, list) and all(isinstance(e, Mapping) and "name" in e for e in value)


def _token(single: str | None, double: str | None, *others: str | None) -> tuple[str | None, ...]:
    return (double if single is None else single.replace("''", "'"), *others)


class _Expression:
    """One expression, read from left to right."""

    def __init__(self, text: str, scope: Scope) -> None:
        self._tokens = [_token(*match.groups()) for match in _TOKEN.finditer(text.strip())]
        self._scope, self._at = scope, 0

    def result(self) -> Any:
        try:
            value = self._operand()
        except (IndexError, TypeError, ValueError, KeyError, AttributeError, ZeroDivisionError):
            return UNKNOWN  # the cloud refuses it, or takes it in a way that is not read
        return value if self._at == len(self._tokens) else UNKNOWN

    def _next(self, sign: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at][3] == sign
        self._at += found
        return found

    def _operand(self) -> Any:
        text, number, name, _ = self._tokens[self._at]
        self._at += 1
        if text is not None:
            value: Any = text
        elif number is not None:
            value = int(number)
        elif name is not None:
            value = self._call(name)
        else:
            raise ValueError
        while True:
            if self._next("."):
                value = _member(value, self._tokens[self._at][2])
                self._at += 1
                if self._next("("):  # a function of one's own, in a namespace
                    self._arguments()
                    value = UNKNOWN
            elif self._next("["):
                value = _member(value, self._operand())
                if not self._next("]"):
                    raise ValueError
            else:
                return value

    def _call(self, name: str) -> Any:
        if not self._next("("):
            return UNKNOWN
        given, key, scope = self._arguments(), name.lower(), self._scope
        if key in ("parameters", "variables") and len(given) == 1 and isinstance(given[0], str):
            return (scope.parameters if key == "parameters" else scope.variables).get(given[0], scope)
        if key in scope.places and not given:
            return {"location": scope.places[key]}
        if key == "copyindex":
            loop = given.pop(0).lower() if given and isinstance(given[0], str) else ""
            return scope.loops[loop] + (given[0] if given else 0)
        if key in _PARTIAL:
            return _PARTIAL[key](*given)
        function = _FUNCTIONS.get(key)
        return UNKNOWN if function is None or any(map(contains_unknown, given)) else function(*given)

    def _arguments(self) -> list[Any]:
        given: list[Any] = []
        while not self._next(")"):
            given.append(self._operand())
            self._next(",")
        return given


def _member(value: Any, key: Any) -> Any:
    if _unknown(key):
        return UNKNOWN
    if isinstance(value, Mapping):
        return next((each for name, each in value.items() if str(name).lower() == str(key).lower()), UNKNOWN)
    return value[key] if isinstance(value, list) else UNKNOWN


def _unknown(value: Any) -> bool:
    return isinstance(value, Unknown)


def _whole(value: Any) -> Any:
    return value if isinstance(value, int) else int(value) if str(value).isdecimal() else UNKNOWN


def _if(test: Any, then: Any, other: Any) -> Any:
    if _unknown(test):
        return then if then == other else UNKNOWN
    return then if _flag(test) else other


def _flag(value: Any) -> Any:
    return value if _unknown(value) or isinstance(value, bool) else str(value).lower() in ("true", "1")


def _text(value: Any) -> str:
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, separators=(",", ":"))
    return "" if value is None else str(value)


def _concat(*parts: Any) -> Any:
    if parts and isinstance(parts[0], list):
        return [each for part in parts for each in part]
    return "".join(map(_text, parts))


def _format(text: str, *parts: Any) -> Any:
    """A text with its places filled; a place that is laid out, as `{0:D2}`, for whole numbers alone."""

    def filled(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        value, digits = parts[int(match[1])], match[2]
        if match[3] is not None:
            raise ValueError
        return f"{value:0{int(digits or 0)}d}" if digits is not None else _text(value)

    return re.sub(r"\{\{|\}\}|\{(\d+)(?::[dD](\d*)|([,:][^}]*))?\}", filled, text)


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, Mapping):
        return str(part).lower() in {str(key).lower() for key in whole}
    return part in whole if isinstance(whole, list) else _text(part) in whole


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right


def _union(*parts: Any) -> Any:
    if isinstance(parts[0], Mapping):
        return {key: value for part in parts for key, value in part.items()}
    every_one = [each for part in parts for each in part]
    return [each for number, each in enumerate(every_one) if each not in every_one[:number]]


def _known_to_the_end(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that stops at the first argument that is not known."""
    return lambda *given: UNKNOWN if any(map(_unknown, given)) else function(*given)


_PARTIAL: Final[Mapping[str, Callable[..., Any]]] = {  # that may answer although a part is not known
    "if": _if,
    "and": lambda *given: every(*map(_flag, given)),
    "or": lambda *given: either(*map(_flag, given)),
    "not": lambda value: negated(_flag(value)),
    "createarray": lambda *given: list(given),
    "createobject": lambda *given: dict(zip(given[::2], given[1::2], strict=True)),
    "length": _known_to_the_end(len),
    "first": _known_to_the_end(lambda value: value[0]),
    "last": _known_to_the_end(lambda value: value[-1]),
    "empty": _known_to_the_end(lambda value: not value),
    "coalesce": lambda *given: next((each for each in given if each is not None), None),
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "concat": _concat,
    "format": _format,
    "equals": _equal,
    "less": lambda a, b: a < b,
    "lessorequals": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greaterorequals": lambda a, b: a >= b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "mod": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "min": lambda *given: min(given[0] if isinstance(given[0], list) else given),
    "max": lambda *given: max(given[0] if isinstance(given[0], list) else given),
    "range": lambda start, count: list(range(start, start + count)),
    "int": int,
    "string": _text,
    "bool": _flag,
    "true": lambda: True,
    "false": lambda: False,
    "null": lambda: None,
    "json": json.loads,
    "tolower": lambda value: value.lower(),
    "toupper": lambda value: value.upper(),
    "trim": lambda value: value.strip(),
    "replace": lambda value, old, new: value.replace(old, new),
    "split": lambda value, sign: re.split("|".join(map(re.escape, [sign] if isinstance(sign, str) else sign)), value),
    "join": lambda listed, sign: sign.join(map(_text, listed)),
    "startswith": lambda value, part: value.lower().startswith(part.lower()),
    "endswith": lambda value, part: value.lower().endswith(part.lower()),
    "substring": lambda value, start, count=None: value[start:] if count is None else value[start : start + count],
    "skip": lambda value, count: value[max(count, 0) :],
    "take": lambda value, count: value[: max(count, 0)],
    "padleft": lambda value, width, sign=" ": _text(value).rjust(width, sign),
    "array": lambda value: value if isinstance(value, list) else [value],
    "contains": _contains,
    "union": _union,
}
