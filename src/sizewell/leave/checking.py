"""Whether the program that was written asks for the same as the one that it was written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sizewell.leave.reading import Program, Resource
from sizewell.sdk.expressions import Expr, Func, Lit, Secret, Setting, walk


def differences(before: Program, after: Program) -> list[str]:
    """What differs, each with the resource and the path."""
    found = [f"{urn}: is missing" for urn in before.resources.keys() - after.resources.keys()]
    found += [f"{urn}: is new" for urn in after.resources.keys() - before.resources.keys()]
    for urn, resource in before.resources.items():
        if urn in after.resources:
            found += [f"{urn}: {what}" for what in _of_resource(resource, after.resources[urn])]
    found += [f"output {what}" for what in _of_values(before.outputs, after.outputs)]
    return sorted(found)


def _of_resource(before: Resource, after: Resource) -> list[str]:
    parts: tuple[tuple[str, Any, Any], ...] = (
        ("type", before.type, after.type),
        ("name", before.name, after.name),
        ("parent", before.parent, after.parent),
        ("provider", before.provider, after.provider),
        ("read", before.read, after.read),
        ("aliases", set(before.aliases), set(after.aliases)),
    )
    found = [f"{what}: {left!r} is {right!r}" for what, left, right in parts if left != right]
    if not before.is_group and not before.dependencies <= after.dependencies:  # more: what a function had in hand
        found.append(f"dependsOn: {sorted(before.dependencies - after.dependencies)}")
    left, right = dict(before.options), dict(after.options)
    if before.is_group:
        right.pop("ignore_changes", None)
        left.pop("ignore_changes", None)
    changed = (key for key in left.keys() | right.keys() if left.get(key) != right.get(key))
    return [
        *found,
        *(f"{key}: {left.get(key)!r} is {right.get(key)!r}" for key in changed),
        *_of_values(before.written, after.written),
    ]


def _of_values(before: Mapping[str, Expr], after: Mapping[str, Expr]) -> list[str]:
    return [
        f"{key}: {before.get(key)!r} is {after.get(key)!r}"
        for key in sorted(before.keys() | after.keys())
        if _shown(before.get(key)) != _shown(after.get(key)) and _bare(before.get(key)) != after.get(key)
    ]


def _bare(value: Any) -> Any:
    """A value without `str` around what the SDK says to be a text, once it is read where it is from."""
    if isinstance(value, tuple):
        return tuple(map(_bare, value))
    if not isinstance(value, Expr) or isinstance(value, Lit):
        return value
    if isinstance(value, Func) and value.name == "str":
        return _bare(value.of)
    return type(value)(*(_bare(getattr(value, each.name)) for each in fields(value)))


def _shown(value: Expr | None) -> Expr | None:
    """A value, without the mark of a secret where it is one by its setting."""
    if isinstance(value, Secret) and any(isinstance(each, Setting) and each.secret for each in walk(value)):
        return value.of
    return value
