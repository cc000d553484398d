"""How a program writes an alias, from the SDK's own message."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pulumi.runtime.proto import alias_pb2


def alias_of(message: bytes, *, quoted: Callable[[str], str], own: Collection[str]) -> str | None:
    """An alias as a program writes it; None for a type that the class of the resource says by itself, one of `own`."""
    alias = alias_pb2.Alias.FromString(message)
    if alias.urn:
        return quoted(alias.urn)
    spec = alias.spec
    given = [
        f"{ours}={quoted(value)}"
        for ours, value in (
            ("name", spec.name),
            ("stack", spec.stack),
            ("project", spec.project),
            ("parent", spec.parentUrn),
        )
        if value
    ]
    if spec.noParent:
        given.append("parent=None")
    if not given and spec.type in own:
        return None
    if spec.type:
        given.insert(0, f"type_={quoted(spec.type)}")
    return f"pulumi.Alias({', '.join(given)})"
