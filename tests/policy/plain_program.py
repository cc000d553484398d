"""Rows of a file, registered as they stand: what a program that uses no component of ours tells the engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulumi

made: dict[str, Any] = {}


def filled(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$ref"}:
            return made[value["$ref"]].id
        return {key: filled(part) for key, part in value.items()}
    return [filled(part) for part in value] if isinstance(value, list) else value


for row in json.loads((Path(__file__).parent / "rows.json").read_text(encoding="utf-8")):
    options = dict(row["options"])
    if "provider" in options:
        options["provider"] = made[options["provider"]]
    if "aliases" in options:
        options["aliases"] = [pulumi.Alias(name=name) for name in options["aliases"]]
    stated, kind, name = filled(row["inputs"]), row["type"], row["name"]
    if kind.startswith("pulumi:providers:"):
        package = kind.rpartition(":")[2]
        made[name] = pulumi.ProviderResource(package, name, stated, pulumi.ResourceOptions(**options))
    else:
        made[name] = pulumi.CustomResource(kind, name, stated, pulumi.ResourceOptions(**options))
