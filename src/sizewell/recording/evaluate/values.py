"""From the SDK's wire values to plain JSON values with `UNKNOWN`, and back for what the monitor answers."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf import struct_pb2

from sizewell.recording.wire import MANY, RESOURCE, SIGNATURE, UNKNOWN_MARK, special
from sizewell.resources.recorded import UNKNOWN

_ANY_KEY = f"?{UNKNOWN_MARK}?"  # stands in a mapping for keys that are not known


def plain_fields(fields: struct_pb2.Struct) -> tuple[dict[str, object], tuple[str, ...]]:
    """A struct as plain values, and the paths (`a.b[0].c`) of the secrets that were unwrapped on the way."""
    secrets: list[str] = []
    values = {key: _plain(value, key, secrets) for key, value in sorted(fields.fields.items())}
    return values, tuple(secrets)


def plain(value: struct_pb2.Value) -> object:
    """One value that is not an input, such as that of a resource option; None where it is not set."""
    return _plain(value, "", [])


def _plain(value: struct_pb2.Value, path: str, secrets: list[str]) -> object:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if UNKNOWN_MARK in text else text
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        entries = value.list_value.values
        if any(MANY in item.string_value for item in entries):
            return UNKNOWN
        return [_plain(item, f"{path}[{i}]", secrets) for i, item in enumerate(entries)]
    if kind == "struct_value":
        fields = value.struct_value.fields
        if _ANY_KEY in fields:
            return UNKNOWN
        if SIGNATURE in fields:
            raw = {key: _raw(item) for key, item in fields.items()}
            return special(raw[SIGNATURE], raw, path, secrets)
        return {key: _plain(item, f"{path}.{key}", secrets) for key, item in sorted(fields.items())}
    return None


def _raw(value: struct_pb2.Value) -> object:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return {key: _raw(item) for key, item in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_raw(item) for item in value.list_value.values]
    return None if kind in (None, "null_value") else getattr(value, kind)


def echo(fields: struct_pb2.Struct, *, scalars_only: bool, without: Sequence[str] = ()) -> struct_pb2.Struct:
    """Inputs as a provider would return them at preview: references to resources become ids (unknown) or URNs.

    `scalars_only` leaves lists and mappings out: some providers' outputs have other types than their inputs.
    """
    answer = struct_pb2.Struct()
    for key, value in fields.fields.items():
        kind = value.WhichOneof("kind")
        if key in without or (scalars_only and kind in ("struct_value", "list_value") and not _is_special(value)):
            continue
        _copy(value, answer.fields[key])
    return answer


def _is_special(value: struct_pb2.Value) -> bool:
    return value.WhichOneof("kind") == "struct_value" and SIGNATURE in value.struct_value.fields


def _copy(value: struct_pb2.Value, to: struct_pb2.Value) -> None:
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        to.list_value.SetInParent()
        for item in value.list_value.values:
            _copy(item, to.list_value.values.add())
    elif kind == "struct_value":
        fields = value.struct_value.fields
        if SIGNATURE in fields and fields[SIGNATURE].string_value == RESOURCE:
            to.string_value = (
                (fields["id"].string_value or UNKNOWN_MARK) if "id" in fields else fields["urn"].string_value
            )
        else:
            to.struct_value.SetInParent()
            for key, item in fields.items():
                _copy(item, to.struct_value.fields[key])
    elif kind == "string_value" and UNKNOWN_MARK in value.string_value:
        to.string_value = UNKNOWN_MARK
    else:
        to.CopyFrom(value)
