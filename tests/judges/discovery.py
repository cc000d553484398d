"""Google's calls against the discovery documents that google-api-python-client bundles: method, path, query, body."""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
# Where google-api-python-client is installed; it shares no environment with Pulumi.
SITE = Path(os.environ.get("SIZEWELL_DISCOVERY", ROOT / ".venv-checkov"))


@functools.cache
def folder() -> Path | None:
    """The documents; None where the package is not there."""
    return next(iter(SITE.glob("lib/python*/site-packages/googleapiclient/discovery_cache/documents")), None)


@functools.cache
def document(service: str, version: str) -> dict[str, Any]:
    place = folder()
    assert place is not None
    loaded: dict[str, Any] = json.loads((place / f"{service}.{version}.json").read_text(encoding="utf-8"))
    return loaded


def faults(method: str, url: str, query: Any = None, body: Any = None) -> list[str]:
    """What the document of the called API says against a call."""
    parts = urlsplit(url)
    service = parts.netloc.partition(".")[0].rpartition("-")[2]
    version = parts.path.split("/")[1]
    whole = document(service, version)
    found = [one for one in _methods(whole) if one["httpMethod"] == method.upper() and _fits(one, parts.path)]
    if len(found) != 1:
        return [f"{method} {url}: {len(found)} methods of {service} {version}"]
    allowed = {*found[0].get("parameters", {}), *whole.get("parameters", {})}
    wrong = [f"{method} {url}: no parameter {name}" for name in query or {} if name not in allowed]
    for name, value in (query or {}).items():
        values = found[0].get("parameters", {}).get(name, {}).get("enum")
        if values and value not in values:
            wrong.append(f"{method} {url}: {name} is {value}, which is none of {', '.join(values)}")
    if body is not None:
        wrong += _body(body, found[0].get("request", {}).get("$ref", ""), whole["schemas"], f"{method} {url}")
    return wrong


def _methods(node: dict[str, Any]) -> list[dict[str, Any]]:
    found = list(node.get("methods", {}).values())
    for resource in node.get("resources", {}).values():
        found += _methods(resource)
    return found


def _fits(method: dict[str, Any], path: str) -> bool:
    """Whether a path is of this method; where the document has two spellings, by the flat one."""
    template = method.get("flatPath", method["path"])
    pattern = "".join(
        re.escape(part) if number % 2 == 0 else "[^/:]+"
        for number, part in enumerate(re.split(r"\{([^}]*)\}", template))
    )
    return re.fullmatch("/" + pattern, path) is not None


def _body(value: Any, name: str, schemas: dict[str, Any], path: str) -> list[str]:
    schema = schemas.get(name)
    if schema is None:
        return [f"{path}: takes no body"]
    wrong = []
    for key, item in value.items():
        rule = schema.get("properties", {}).get(key)
        if rule is None:
            wrong.append(f"{path}: {name} has no field {key}")
        else:
            wrong += _value(item, rule, schemas, f"{path}.{key}")
    return wrong


def _value(value: Any, rule: dict[str, Any], schemas: dict[str, Any], path: str) -> list[str]:
    if reference := rule.get("$ref"):
        return _body(value, reference, schemas, path) if isinstance(value, dict) else [f"{path}: is no {reference}"]
    if rule.get("type") == "array":
        items = value if isinstance(value, list) else []
        wrong = [] if isinstance(value, list) else [f"{path}: is no list"]
        return wrong + [fault for item in items for fault in _value(item, rule["items"], schemas, f"{path}[]")]
    if "enum" in rule and value not in rule["enum"]:
        return [f"{path}: {value!r} is none of {', '.join(rule['enum'])}"]
    return []
