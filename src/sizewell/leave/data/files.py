"""Scripts, documents and manifests beside the program. `@name@` in one stands for a value of a resource."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pulumi
import yaml

FOLDER = Path(__file__).parent.parent


def text(path: str, **values: Any) -> pulumi.Input[str]:
    """A file's text."""
    content = read(path)
    return pulumi.Output.all(**values).apply(lambda known: filled(content, known)) if values else content


def document(path: str, *, separators: tuple[str, str] | None = None, **options: Any) -> pulumi.Input[str]:
    """A file of JSON in one text; options are values, and how `json.dumps` writes it."""
    style = {key: options.pop(key) for key in ("indent", "sort_keys", "ensure_ascii") if key in options}
    content = json.loads(read(path))

    def written(known: dict[str, Any]) -> str:
        return json.dumps(settled(content, known), separators=separators, **style)

    return pulumi.Output.all(**options).apply(written) if options else written({})


def content(path: str, **values: Any) -> dict[str, Any]:
    """A file of JSON as it is."""
    return placed(json.loads(read(path)), values)  # type: ignore[no-any-return]


def manifest(path: str, **values: Any) -> dict[str, Any]:
    """The arguments of an object of Kubernetes, but for what its class says by itself."""
    content = placed(yaml.safe_load(read(path)), values)
    return {key: value for key, value in content.items() if key not in ("apiVersion", "kind")}


def encoded(content: pulumi.Input[str]) -> pulumi.Input[str]:
    """A text in base64."""
    if isinstance(content, str):
        return base64.b64encode(content.encode()).decode()
    return pulumi.Output.all(content).apply(lambda known: base64.b64encode(known[0].encode()).decode())


def secret(value: Any) -> pulumi.Output[Any]:
    """A value that the state and the output of the engine hide."""
    return pulumi.Output.secret(value)


def read(path: str) -> str:
    with (FOLDER / path).open(encoding="utf-8", newline="") as file:
        return file.read()


def filled(content: str, values: dict[str, Any]) -> str:
    for name, value in values.items():
        content = content.replace(f"@{name}@", value)
    return content


def settled(content: Any, known: dict[str, Any]) -> Any:
    """A document with values that are known where their names stand, in keys too."""
    if isinstance(content, dict):
        return {filled(key, known): settled(value, known) for key, value in content.items()}
    if isinstance(content, list):
        return [settled(value, known) for value in content]
    if not isinstance(content, str):
        return content
    name = content[1:-1]
    return known[name] if content == f"@{name}@" and name in known else filled(content, known)


def placed(content: Any, values: dict[str, Any]) -> Any:
    """A document with the values where their names stand."""
    if isinstance(content, dict):
        return {key: placed(value, values) for key, value in content.items()}
    if isinstance(content, list):
        return [placed(value, values) for value in content]
    if not isinstance(content, str):
        return content
    inside = {name: value for name, value in values.items() if f"@{name}@" in content}
    if len(inside) == 1 and content == f"@{next(iter(inside))}@":
        return next(iter(inside.values()))
    return pulumi.Output.all(**inside).apply(lambda known: filled(content, known)) if inside else content
