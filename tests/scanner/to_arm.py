"""A recorded plan as the Azure Resource Manager template that Checkov reads.

The versions of the API are those that the SDK speaks. A value that only the cloud knows becomes a reference to the
resource that it comes from, or stands as a parameter; nothing is made up.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import sdk_types
from to_terraform import NAMES, UntranslatedError

from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.values import canonical

ENVELOPE = ("location", "tags", "sku", "identity", "kind", "zones", "extendedLocation", "plan", "scope")
NOT_KNOWN = "[parameters('knownAfterApply')]"
SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"


def arm(plan: Plan) -> str | None:
    """The template of the azure-native resources of a plan; None without any."""
    by_urn = plan.by_urn()
    ours = [one for one in plan.resources if one.custom and one.type.startswith("azure-native:")]
    made = [_resource(one, by_urn) for one in ours]
    parameters = {"knownAfterApply": {"type": "string"}}
    document = {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "parameters": parameters, "resources": made}
    return json.dumps(document, indent=2) if made else None


def _entry(resource: RecordedResource) -> Sequence[str]:
    kind = canonical(resource.type)
    if kind not in NAMES["arm"]:
        raise UntranslatedError(f"{kind}: name its type in tests/scanner/types.yaml")
    found: Sequence[str] = NAMES["arm"][kind]
    return found


@functools.cache
def api_version(token: str) -> str:
    """The version of the API that the SDK speaks for a type, as its documentation says."""
    cls = sdk_types.resource_class(token)
    assert cls is not None, token
    found = re.search(r"Uses Azure REST API version (\d{4}-\d\d-\d\d(?:-preview)?)", inspect.getsource(cls))
    assert found, token
    return found.group(1)


def _resource(resource: RecordedResource, by_urn: Mapping[str, RecordedResource]) -> dict[str, Any]:
    kind, *named = _entry(resource)
    entry: dict[str, Any] = {"type": kind, "apiVersion": api_version(canonical(resource.type))}
    entry["name"] = _name(resource, by_urn)
    inputs = {key: value for key, value in resource.inputs.items() if key not in (*named, "resourceGroupName")}
    plain = {key: _value(value, _sources(resource, key, by_urn), key) for key, value in inputs.items()}
    entry |= {key: plain.pop(key) for key in ENVELOPE if key in plain}
    stated = plain.pop("properties", {})
    entry["properties"] = {NAMES["renamed"].get(key, key): value for key, value in plain.items()} | stated
    return entry


def _sources(resource: RecordedResource, key: str, by_urn: Mapping[str, RecordedResource]) -> list[RecordedResource]:
    found = [by_urn[urn] for urn in resource.property_dependencies.get(key, ()) if urn in by_urn]
    return [one for one in found if one.custom and one.type.startswith("azure-native:")]


def _name(resource: RecordedResource, by_urn: Mapping[str, RecordedResource]) -> str:
    """Its names down from its parent; the resource's own name where the cloud gives one."""
    parts = []
    for key in _entry(resource)[1:]:
        value = resource.inputs.get(key, "default" if key.endswith(("ServicesName", "PolicyName")) else resource.name)
        above = _sources(resource, key, by_urn)
        parts.append(str(value) if value is not UNKNOWN else (_name(above[0], by_urn) if above else NOT_KNOWN))
    if "blobServices/containers" in _entry(resource)[0]:
        parts.insert(1, "default")
    return "/".join(parts)


def _value(value: Any, sources: list[RecordedResource], key: str) -> Any:
    if value is UNKNOWN:
        wanted = key.lower()
        fitting = [one for one in sources if one.type.rsplit(":", 1)[1].lower() in wanted]
        chosen = fitting[:1] or (sources if len(sources) == 1 else [])
        if not chosen:
            return NOT_KNOWN
        return f"[resourceId('{_entry(chosen[0])[0]}', '{chosen[0].name}')]"
    if isinstance(value, Mapping):
        return {
            name: _value(item, sources, key if name == "id" else name)
            for name, item in value.items()
            if item is not None and not name.startswith("__")
        }
    if isinstance(value, (list, tuple)):
        return [_value(item, sources, key) for item in value]
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value  # maps of texts
