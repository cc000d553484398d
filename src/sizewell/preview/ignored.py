"""What stands whatever the program declares: what `ignore_changes` leaves, and what leaves the program and is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sizewell.preview.changes import changed, parts
from sizewell.preview.needs import stays
from sizewell.resources.recorded import Plan, RecordedResource

_RETAINED: Final = " (retained)"
_ABSENT: Final = object()


def as_it_stands(before: Plan | None, after: Plan) -> Plan:
    """`after` with the properties that a resource ignores as they are in `before`, where the resource stands there."""
    if before is None or not any(resource.ignore_changes for resource in after.resources):
        return after
    old = before.by_urn()
    return replace(after, resources=tuple(_kept_of(old, resource) for resource in after.resources))


def with_kept(before: Plan | None, after: Plan) -> Plan:
    """`after` with what leaves the program, is kept, so that it is judged like all that stands.

    The components around it come with it: they register what its machines are.
    """
    if before is None:
        return after
    old, new = before.by_urn(), after.by_urn()
    kept: set[str] = set()
    for urn in kept_urns(before, after):
        resource: RecordedResource | None = old[urn]
        while resource is not None and resource.urn not in new and resource.urn not in kept:
            kept.add(resource.urn)
            resource = old.get(resource.parent or "")
    if not kept:
        return after
    return replace(after, resources=(*after.resources, *(each for each in before.resources if each.urn in kept)))


def with_retained(
    before: Plan | None, after: Plan, replaced: frozenset[str] | None
) -> tuple[Plan | None, Plan, frozenset[str] | None, tuple[str, ...]]:
    """Both sides, and what the engine replaces, where a replacement leaves its predecessor standing: one that is
    retained is not deleted when it is replaced either, so it stands on both sides, and the new one is created. The
    names of those, too.
    """
    if before is None:
        return before, after, replaced, ()
    old = before.by_urn()
    urns = {
        urn
        for urn, change in changed(before, after, replaced).items()
        if change.kind == "replace" and urn in old and old[urn].retain_on_delete
    }
    if not urns:
        return before, after, replaced, ()
    stands = {urn: replace(old[urn], urn=f"{urn}{_RETAINED}", name=f"{old[urn].name}{_RETAINED}") for urn in urns}
    before = replace(before, resources=tuple(stands.get(each.urn, each) for each in before.resources))
    after = replace(after, resources=(*after.resources, *stands.values()))
    names = tuple(sorted(old[urn].name for urn in urns))
    return before, after, None if replaced is None else replaced - urns, names


def with_imported(before: Plan | None, after: Plan) -> tuple[Plan | None, tuple[str, ...]]:
    """`before` with what the program begins to manage, as it will be: it runs and is billed already. Its names, too."""
    if before is None:
        return before, ()
    known = before.by_urn()
    new = [
        each for each in after.resources if each.imported and not any(urn in known for urn in (each.urn, *each.aliases))
    ]
    if not new:
        return before, ()
    return replace(before, resources=(*before.resources, *new)), tuple(sorted(each.name for each in new))


def kept_urns(before: Plan, after: Plan) -> set[str]:
    """What leaves the program and is still billed: retained, protected, or committed to for a term."""
    now = after.by_urn()
    kept = {each.urn for each in before.resources if each.urn not in now and stays(each)}
    # A protected resource with another name is there under its new URN: both would be one machine billed twice.
    return kept - {alias for resource in after.resources for alias in resource.aliases}


def _kept_of(old: Mapping[str, RecordedResource], resource: RecordedResource) -> RecordedResource:
    was = next((old[urn] for urn in (resource.urn, *resource.aliases) if urn in old), None)
    if was is None or not resource.ignore_changes:
        return resource
    inputs: Any = resource.inputs
    depends = dict(resource.property_dependencies)
    for path in resource.ignore_changes:
        steps = parts(path)
        inputs = kept(was.inputs, inputs, steps)
        for prop in depends.keys() | was.property_dependencies.keys() if steps[:1] == ["*"] else steps[:1]:
            depends.pop(prop, None)
            if prop in was.property_dependencies:
                depends[prop] = was.property_dependencies[prop]
    return replace(resource, inputs=inputs, property_dependencies=depends)


def kept(old: Any, new: Any, steps: list[str]) -> Any:
    """`new` with what is at a path as it is in `old`; `*` is every key or place.

    >>> kept({"type": "p4d", "size": 1}, {"type": "t3", "size": 2}, ["type"])
    {'type': 'p4d', 'size': 2}
    >>> kept({"pools": [{"count": 4}]}, {"pools": [{"count": 1, "name": "a"}]}, ["pools", "0", "count"])
    {'pools': [{'count': 4, 'name': 'a'}]}
    >>> kept({"a": 1}, {"b": 2}, ["*"])
    {'a': 1}
    """
    if not steps:
        return old
    part, rest = steps[0], steps[1:]
    if part == "*" and not rest:
        return old
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        made = dict(new)
        for key in {*old, *new} if part == "*" else {part}:
            value = kept(old.get(key, _ABSENT), new.get(key, _ABSENT), rest)
            if value is _ABSENT:
                made.pop(key, None)
            else:
                made[key] = value
        return made
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        places = range(min(len(old), len(new))) if part == "*" else [int(part)] if part.isdigit() else []
        listed = list(new)
        for place in places:
            if place < len(old) and place < len(new):
                listed[place] = kept(old[place], new[place], rest)
        return listed
    return new
