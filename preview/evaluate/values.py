"""From the SDK's wire values to plain JSON values with `UNKNOWN`, and back for what the monitor answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2

from preview.evaluate.project import UNKNOWN_MARK
from resources.recorded import UNKNOWN

SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the mark of a secret, not one
_RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_ASSETS = ("c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7")


def plain_fields(fields: struct_pb2.Struct) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A struct as plain values, and the paths (`a.b[0].c`) of the secrets that were unwrapped on the way."""
    secrets: list[str] = []
    values = {key: _plain(value, key, secrets) for key, value in sorted(fields.fields.items())}
    return values, tuple(secrets)


def plain_json(value: Any, path: str, secrets: list[str]) -> Any:
    """The same for values that were read from JSON (`pulumi preview --json`, a stack export)."""
    if isinstance(value, str):
        return UNKNOWN if UNKNOWN_MARK in value else value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [plain_json(item, f"{path}[{i}]", secrets) for i, item in enumerate(value)]
    if isinstance(value, dict):
        kind = value.get(SIGNATURE)
        if kind is not None:
            return _special(kind, value, path, secrets)
        return {key: plain_json(item, f"{path}.{key}", secrets) for key, item in value.items()}
    return value


def _plain(value: struct_pb2.Value, path: str, secrets: list[str]) -> Any:
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
        return [_plain(item, f"{path}[{i}]", secrets) for i, item in enumerate(value.list_value.values)]
    if kind == "struct_value":
        fields = value.struct_value.fields
        if SIGNATURE in fields:
            special = {key: _raw(item) for key, item in fields.items()}
            return _special(special[SIGNATURE], special, path, secrets)
        return {key: _plain(item, f"{path}.{key}", secrets) for key, item in sorted(fields.items())}
    return None


def _special(kind: Any, value: Mapping[str, Any], path: str, secrets: list[str]) -> Any:
    if kind == _SECRET:
        secrets.append(path)
        inner = value.get("value", value.get("plaintext"))
        # State that was not exported with --show-secrets has ciphertext only.
        return UNKNOWN if inner is None else plain_json(inner, path, secrets)
    if kind == _RESOURCE:
        if "id" not in value:
            return value.get("urn")  # a component
        return UNKNOWN if not value["id"] or UNKNOWN_MARK in str(value["id"]) else value["id"]
    if kind == _OUTPUT:
        if value.get("secret"):
            secrets.append(path)
        return plain_json(value["value"], path, secrets) if "value" in value else UNKNOWN
    if kind in _ASSETS:  # the hash is the engine's; what a person wrote is the rest
        return {
            key: plain_json(item, f"{path}.{key}", secrets)
            for key, item in value.items()
            if key not in {SIGNATURE, "hash"} and item not in (None, "", {})
        }
    return {key: plain_json(item, f"{path}.{key}", secrets) for key, item in value.items()}


def _raw(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return {key: _raw(item) for key, item in value.struct_value.fields.items()}
    if kind == "list_value":
        return [_raw(item) for item in value.list_value.values]
    return None if kind in (None, "null_value") else getattr(value, kind)


def echo(fields: struct_pb2.Struct, *, scalars_only: bool) -> struct_pb2.Struct:
    """Inputs as a provider would return them at preview: references to resources become ids (unknown) or URNs.

    `scalars_only` leaves lists and mappings out: some providers' outputs have other types than their inputs.
    """
    answer = struct_pb2.Struct()
    for key, value in fields.fields.items():
        kind = value.WhichOneof("kind")
        if scalars_only and kind in ("struct_value", "list_value") and not _is_special(value):
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
        if SIGNATURE in fields and fields[SIGNATURE].string_value == _RESOURCE:
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
