"""The Kubernetes resources of a recorded plan as the manifests that Checkov reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from sizewell.resources.recorded import Plan, RecordedResource, Unknown

NOT_KNOWN = "known-after-apply"


def manifests(plan: Plan) -> str | None:
    """One document for each resource that is a manifest (charts are none); None without any."""
    made = [_document(one) for one in plan.resources if one.custom and one.type.startswith("kubernetes:")]
    documents = [document for document in made if document is not None]
    return yaml.safe_dump_all(documents, sort_keys=False) if documents else None


def _document(resource: RecordedResource) -> dict[str, Any] | None:
    """What stands in a manifest; its kind and version are in the type's token where the inputs leave them out."""
    _, group, kind = resource.type.split(":")
    if group.startswith("helm.sh/"):
        return None
    inputs = {key: _plain(value) for key, value in resource.inputs.items() if not key.startswith("__")}
    version = group.removeprefix("core/")
    metadata = {"name": resource.name, **(inputs.get("metadata") or {})}
    return {"apiVersion": version, "kind": kind, **inputs, "metadata": metadata}


def _plain(value: Any) -> Any:
    if isinstance(value, Unknown):
        return NOT_KNOWN
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items() if part is not None}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
