"""Azure's own definitions of its resource types (github.com/Azure/bicep-types-az, MIT), where somebody has them.

A template's resource is held against the type of its name and API version: required and read-only properties, names,
enumerations, patterns, lengths and bounds. What Pulumi's SDK writes in a form of its own is put back first: properties that
stand a level higher, names in camel case, identities as a list, names that the SDK changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

REQUIRED, READ_ONLY = 1, 2  # flags of a property (bicep-types: ObjectTypePropertyFlags)
NO_BODY = ("apiVersion", "type", "dependsOn", "scope", "resourceUri")  # said in the address of the resource
# What the SDK calls otherwise (Pulumi's azure-native schema, `x-ms-client-name`).
RENAMED = {
    "roleType": "type",
    "networkAcls": "networkRuleSet",
    "encryptionIdentity": "identity",
    "encryptionUserAssignedIdentity": "userAssignedIdentity",
}


class Definitions:
    """The definitions below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, list[dict[str, Any]]] = {}

    def faults(self, resource: Mapping[str, Any]) -> list[str] | None:
        """What Azure would refuse in a resource of a template; None where the definitions do not know its type."""
        provider, version = resource["type"].partition("/")[0].lower(), resource["apiVersion"]
        for path in sorted(self._folder.glob(f"generated/*/{provider}/{version.lower()}/types.json")):
            if path not in self._files:
                self._files[path] = json.loads(path.read_text(encoding="utf-8"))
            types = self._files[path]
            name = f"{resource['type']}@{version}".lower()
            for entry in types:
                if entry["$type"] == "ResourceType" and entry["name"].lower() == name:
                    given = {key: value for key, value in resource.items() if key not in NO_BODY and value != {}}
                    given["name"] = given["name"].rpartition("/")[2]
                    if "properties" in given:
                        given["properties"] = {k: v for k, v in given["properties"].items() if k not in NO_BODY}
                    return [f"{resource['type']} {fault}" for fault in _faults(types, entry["body"], given, "")]
        return None


def _faults(types: list[dict[str, Any]], reference: Mapping[str, str], value: Any, at: str) -> Iterator[str]:
    if _unknown(value):
        return
    entry = types[int(reference["$ref"].rpartition("/")[2])]
    kind = entry["$type"]
    if kind in ("ObjectType", "DiscriminatedObjectType"):
        if isinstance(value, list) and at.endswith("userAssignedIdentities"):
            value = {name: {} for name in value}
        if not isinstance(value, Mapping):
            yield f"{at}: must be an object, got {value!r}"
            return
        yield from _object(types, entry, value, at)
    elif kind == "ArrayType":
        if not isinstance(value, list):
            yield f"{at}: must be a list, got {value!r}"
            return
        for number, item in enumerate(value):
            yield from _faults(types, entry["itemType"], item, f"{at}[{number}]")
        yield from _length(entry, value, at)
    elif kind == "UnionType":
        several = [list(_faults(types, member, value, at)) for member in entry["elements"]]
        if all(several):
            allowed = [types[int(member["$ref"].rpartition("/")[2])].get("value") for member in entry["elements"]]
            yield f"{at}: must be one of {allowed}, got {value!r}" if any(allowed) else min(several, key=len)[0]
    elif kind == "StringLiteralType" and value != entry["value"]:
        yield f"{at}: must be {entry['value']!r}, got {value!r}"
    elif kind == "StringType":
        if not isinstance(value, str | bool):  # the template has "true" of a map of texts as a boolean
            yield f"{at}: must be a text, got {value!r}"
        elif isinstance(value, str) and entry.get("pattern") and not re.search(entry["pattern"], value):
            yield f"{at}: must match {entry['pattern']}, got {value!r}"
        elif isinstance(value, str):
            yield from _length(entry, value, at)
    elif kind == "BooleanType" and not isinstance(value, bool):
        yield f"{at}: must be true or false, got {value!r}"
    elif kind == "IntegerType":
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield f"{at}: must be a number, got {value!r}"
        elif not entry.get("minValue", value) <= value <= entry.get("maxValue", value):
            yield f"{at}: must be {entry.get('minValue')} to {entry.get('maxValue')}, got {value}"


def _object(types: list[dict[str, Any]], entry: Mapping[str, Any], value: Mapping[str, Any], at: str) -> Iterator[str]:
    properties = dict(entry.get("properties") or entry.get("baseProperties") or {})
    if "discriminator" in entry:
        value = _placed(types, {entry["discriminator"]: {}}, value)
        told = value.get(entry["discriminator"])
        if told not in entry["elements"]:
            yield f"{at}.{entry['discriminator']}: must be one of {sorted(entry['elements'])}, got {told!r}"
            return
        properties |= types[int(entry["elements"][told]["$ref"].rpartition("/")[2])]["properties"]
    value = _placed(types, properties, value)
    for name, row in properties.items():
        flags = row.get("flags", 0)
        if flags & REQUIRED and not flags & READ_ONLY and name not in value:
            yield f"{at}.{name}: is missing".removeprefix(".")
    for name, item in value.items():
        row = properties.get(name)
        if row is None and "additionalProperties" in entry:
            yield from _faults(types, entry["additionalProperties"], item, f"{at}.{name}".removeprefix("."))
        elif row is None:
            yield f"{at}.{name}: is no property".removeprefix(".")
        elif row.get("flags", 0) & READ_ONLY and name not in ("name", "type"):
            yield f"{at}.{name}: may only be read".removeprefix(".")
        else:
            yield from _faults(types, row["type"], item, f"{at}.{name}".removeprefix("."))


def _placed(types: list[dict[str, Any]], properties: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """The value's properties under Azure's names, and below `properties` where the definition has them there."""
    known = {_folded(name): name for name in properties}
    row = properties.get("properties", {}).get("type")
    inner = types[int(row["$ref"].rpartition("/")[2])] if row else {}
    below = {_folded(name) for name in inner.get("properties") or inner.get("baseProperties") or {}}
    placed: dict[str, Any] = {}
    moved: dict[str, Any] = {}
    for key, item in value.items():
        name = key if key in properties else RENAMED.get(key, key)
        if _folded(name) in known:
            placed[known[_folded(name)]] = item
        elif _folded(name) in below:
            moved[name] = item
        else:
            placed[key] = item
    if moved:
        placed["properties"] = {**moved, **placed.get("properties", {})}
    return placed


def _folded(name: str) -> str:
    """A name without its spelling: skip-nodes-with-system-pods, skipNodesWithSystemPods."""
    return re.sub(r"[-_.]", "", name).lower()


def _length(entry: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:
    least, most = entry.get("minLength", 0), entry.get("maxLength", len(value))
    if not least <= len(value) <= most:
        yield f"{at}: must have {least} to {most} items or characters, got {len(value)}"


def _unknown(value: Any) -> bool:
    """A value that only the cloud knows: an expression of the template."""
    return value is None or (isinstance(value, str) and value.startswith("["))
