"""CloudFormation's functions, worked out as far as a template and its parameters say; the rest is UNKNOWN.

They are those of docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.recording.contents.unread import Unread
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.values import Flag, either, every, negated

_NOTHING: Final = object()  # `AWS::NoValue`: as if its key or entry did not stand there
_NAMED: Final = re.compile(r"\$\{([^!{}][^{}]*)\}")
_LOOP: Final = "Fn::ForEach::"


class Intrinsics:
    """The functions of one template: with its parameters' values, mappings and conditions."""

    def __init__(self, body: Mapping[str, Any], given: Any, region: Any = UNKNOWN) -> None:
        self._names: dict[str, Any] = {"AWS::NoValue": _NOTHING, "AWS::Region": region}
        self._mappings = body.get("Mappings")
        conditions = body.get("Conditions")
        self._conditions = conditions if isinstance(conditions, Mapping) else {}
        self._open: set[str] = set()  # conditions that are being worked out: one that names itself says nothing
        declared = body.get("Parameters")
        for name, one in declared.items() if isinstance(declared, Mapping) else ():
            self._names[name] = _parameter(one if isinstance(one, Mapping) else {}, name, given)

    def value(self, written: Any) -> Any:
        """What a value of the template comes to."""
        result = self._value(written)
        return None if result is _NOTHING else result

    def condition(self, name: str) -> Flag:
        """Whether a condition of the template holds."""
        if name in self._open or name not in self._conditions:
            return UNKNOWN
        self._open.add(name)
        try:
            return self._holds(self._conditions[name])
        finally:
            self._open.discard(name)

    def chosen(self, written: Any) -> Any:
        """The branch of `Fn::If` that is taken where a condition decides it; else what is written."""
        if isinstance(written, Mapping) and len(written) == 1 and isinstance(parts := written.get("Fn::If"), list):
            holds = self.condition(str(parts[0])) if len(parts) == 3 else UNKNOWN
            if not isinstance(holds, Unknown):
                return self.chosen(parts[1 if holds else 2])
        return written

    def looped(self, listed: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Entries of a mapping, those of `Fn::ForEach` once for each of their values."""
        for key, entry in listed.items():
            if not str(key).startswith(_LOOP):
                yield key, entry
                continue
            name, values, made = entry if isinstance(entry, list) and len(entry) == 3 else ("", UNKNOWN, {})
            values = self.value(values)
            if not isinstance(values, list) or not isinstance(made, Mapping) or any(map(_unclear, values)):
                raise Unread(f"what {key} of its template goes through is known only after deployment")
            for value in values:
                yield from self.looped(_replaced(made, str(name), _text(value)))

    def _holds(self, written: Any) -> Flag:
        if isinstance(written, Mapping) and len(written) == 1:
            name, inner = next(iter(written.items()))
            parts = inner if isinstance(inner, list) else [inner]
            if name == "Condition":
                return self.condition(str(inner))
            if name in ("Fn::And", "Fn::Or"):
                return (every if name == "Fn::And" else either)(*map(self._holds, parts))
            if name == "Fn::Not":
                return negated(self._holds(parts[0])) if parts else UNKNOWN
            if name == "Fn::Equals" and len(parts) == 2:
                left, right = map(self._value, parts)
                return UNKNOWN if _unclear(left) or _unclear(right) else _plain(left) == _plain(right)
        return UNKNOWN

    def _value(self, written: Any) -> Any:
        if isinstance(written, list):
            return [each for each in map(self._value, written) if each is not _NOTHING]
        if not isinstance(written, Mapping):
            return written
        if len(written) == 1:
            name, inner = next(iter(written.items()))
            if name == "Ref":
                return self._names.get(inner, UNKNOWN) if isinstance(inner, str) else UNKNOWN
            if name == "Fn::If":
                return self._either(written, inner)
            if str(name).startswith("Fn::"):
                return self._function(name, inner)
        made = ((key, self._value(each)) for key, each in self.looped(written))
        return {key: each for key, each in made if each is not _NOTHING}

    def _either(self, written: Mapping[str, Any], parts: Any) -> Any:
        taken = self.chosen(written)
        if taken is not written:
            return self._value(taken)
        values = [self._value(each) for each in parts[1:]] if isinstance(parts, list) and len(parts) == 3 else []
        return values[0] if values and values[0] == values[1] else UNKNOWN

    def _function(self, name: str, inner: Any) -> Any:
        if name == "Fn::Sub":
            return self._substituted(inner)
        if name == "Fn::FindInMap" and isinstance(inner, list):
            return self._mapped(inner)
        parts = self._value(inner)
        if name == "Fn::Length" and isinstance(parts, list):
            return len(parts)
        if not isinstance(parts, list) or len(parts) != 2:
            return UNKNOWN
        first, second = parts
        if name == "Fn::Split" and isinstance(first, str) and isinstance(second, str) and first:
            return second.split(first)
        if name == "Fn::Select" and isinstance(second, list) and str(first).isdecimal():
            return second[int(first)] if int(first) < len(second) else UNKNOWN
        if name == "Fn::Join" and isinstance(first, str) and isinstance(second, list):
            return UNKNOWN if any(map(_unclear, second)) else first.join(map(_text, second))
        return UNKNOWN

    def _mapped(self, parts: list[Any]) -> Any:
        inner = self._mappings
        for key in parts[:3]:
            step = self._value(key)
            if isinstance(inner, Unknown) or _unclear(step):
                return UNKNOWN
            inner = {str(name): value for name, value in inner.items()} if isinstance(inner, Mapping) else {}
            inner = inner.get(_text(step), _NOTHING)
        if inner is not _NOTHING:
            return self._value(inner)
        fallback = parts[3] if len(parts) > 3 and isinstance(parts[3], Mapping) else {}
        return self._value(fallback.get("DefaultValue", UNKNOWN))

    def _substituted(self, inner: Any) -> Any:
        text, own = (*inner, {})[:2] if isinstance(inner, list) and inner else (inner, {})
        if not isinstance(text, str) or not isinstance(own, Mapping):
            return UNKNOWN
        names = self._names | {key: self._value(value) for key, value in own.items()}
        parts = {name: names.get(name.strip(), UNKNOWN) for name in _NAMED.findall(text)}
        if any(_unclear(value) or isinstance(value, (list, Mapping)) for value in parts.values()):
            return UNKNOWN
        return _NAMED.sub(lambda match: _text(parts[match[1]]), text).replace("${!", "${")


def _parameter(declared: Mapping[str, Any], name: str, given: Any) -> Any:
    kind = str(declared.get("Type", ""))
    if isinstance(given, Unknown) or kind.startswith("AWS::SSM::Parameter::Value"):  # its text names where the value is
        return UNKNOWN
    stated = given.get(name) if isinstance(given, Mapping) else None
    value = declared.get("Default", UNKNOWN) if stated is None else stated
    if (kind == "CommaDelimitedList" or kind.startswith("List<")) and isinstance(value, (str, int)):
        return [each.strip() for each in _text(value).split(",")]
    return _text(value) if isinstance(value, bool) else value


def _unclear(value: Any) -> bool:
    return value is _NOTHING or isinstance(value, Unknown) or (isinstance(value, list) and any(map(_unclear, value)))


def _text(value: Any) -> str:
    """A value as CloudFormation writes it, which knows text alone.

    >>> _text(True), _text(8), _text("a")
    ('true', '8', 'a')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else _text(value)


def _replaced(written: Any, name: str, value: str) -> Any:
    """What a loop writes for one of its values: in `${Name}`, `&{Name}` and `Ref`."""
    if isinstance(written, str):
        plain = written.replace(f"${{{name}}}", value)
        return plain.replace(f"&{{{name}}}", "".join(each for each in value if each.isalnum()))
    if isinstance(written, Mapping):
        if len(written) == 1 and written.get("Ref") == name:
            return value
        return {_replaced(key, name, value): _replaced(each, name, value) for key, each in written.items()}
    return [_replaced(each, name, value) for each in written] if isinstance(written, list) else written
