"""What a resource renders, read where its content is at hand: manifests, charts, templates of CloudFormation and ARM.

The engine's own plan has what the Kubernetes provider renders, and never what a cloud makes of a template. Both are
added to a plan as children of the resource that brings them; what cannot be read is named with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sizewell.recording.contents import kubernetes, templates
from sizewell.recording.contents.unread import Unread
from sizewell.resources.graph import Graph
from sizewell.resources.hidden import of_resource, renders
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.spellings import respelled
from sizewell.resources.values import canonical, contains_unknown

__all__ = ["Unread", "expanded"]


def expanded(plan: Plan, root: Path, reasons: Mapping[str, Unread] | None = None) -> Plan:
    """The plan with what its resources render, as far as that can be read below `root`, the project's directory.

    `reasons` are those for which a renderer has made nothing, by its type, where the program asked it to.
    """
    plan = respelled(plan)
    parents = {resource.parent for resource in plan.resources}
    told = {each.urn: each for each in plan.hidden if each.urn}
    resources: list[RecordedResource] = []
    read: set[str] = set()
    for resource in plan.resources:
        resources.append(resource)
        if resource.urn in parents or not renders(resource):
            continue
        try:
            inner, undecided = _children(plan, resource, root, (reasons or {}).get(resource.type))
        except Unread as error:
            hidden = of_resource(resource, why=str(error))
            told[resource.urn] = replace(hidden, fix=error.fix or hidden.fix)
            continue
        resources += inner
        if undecided:
            told[resource.urn] = replace(of_resource(resource, why=undecided), fix=_UNDECIDED)
        elif inner and contains_unknown(resource.inputs.get("values")):
            told[resource.urn] = of_resource(resource, why="some of its values are known only after deployment")
        elif inner or canonical(resource.type) in (*templates.CLOUDFORMATION, *templates.ARM):
            told.pop(resource.urn, None)
            read.add(resource.urn)
        else:
            told.setdefault(resource.urn, of_resource(resource))
    places = (each for each in plan.hidden if not each.urn)
    return replace(plan, resources=tuple(resources), hidden=(*places, *told.values()), read=frozenset(read))


_UNDECIDED: Final = "state in the program what this follows from, or judge it in the cloud's own change set"


def _children(
    plan: Plan, resource: RecordedResource, root: Path, refused: Unread | None
) -> tuple[tuple[RecordedResource, ...], str]:
    """What a resource brings, and of what else nobody knows whether it does."""
    if refused is not None:
        raise refused
    kind, inputs = canonical(resource.type), resource.inputs
    if kind in templates.CLOUDFORMATION:
        place, own = _region(plan, resource)
        rows, undecided = templates.cloudformation(inputs, place)
        rows = tuple((token, name, {"region": place, **made} if own else made, behind)
                     for token, name, made, behind in rows)  # fmt: skip
        return tuple(_recorded(resource, rows)), undecided
    if kind in templates.ARM:
        rows, undecided = templates.arm(inputs, _group_location(plan, resource))
        return tuple(_recorded(resource, rows)), undecided
    if kind.startswith("kubernetes:"):
        return tuple(_manifests(resource, kubernetes.of_resource(kind, resource.name, inputs, root))), ""
    return (), ""


def _region(plan: Plan, stack: RecordedResource) -> tuple[Any, bool]:
    """Where a stack of CloudFormation stands, and whether that is not where its provider's resources do."""
    place: Any = Graph(plan).region(stack)
    own = stack.inputs.get("region") is not None
    if not own and stack.provider is None and stack.type.startswith("aws-native:"):
        stated = plan.config.get("aws-native:region") or place
        place, own = stated, stated != place
    return UNKNOWN if place == "" else place, own


def _group_location(plan: Plan, deployment: RecordedResource) -> Any:
    """Where the resource group of a deployment is, if that group is in the plan."""
    named, behind = deployment.inputs.get("resourceGroupName"), deployment.property_dependencies
    urns = behind.get("resourceGroupName", ())
    for group in plan.resources:
        if canonical(group.type) == "azure-native:resources:ResourceGroup" and (
            group.urn in urns or (isinstance(named, str) and named == group.inputs.get("resourceGroupName"))
        ):
            return group.inputs.get("location", plan.config.get("azure-native:location", UNKNOWN))
    return UNKNOWN


def _recorded(owner: RecordedResource, listed: Sequence[templates.Row]) -> Iterator[RecordedResource]:
    """Resources below what brings them; those of a template depend on each other by name."""
    urns = {name: _urn(owner, type_, name) for type_, name, *_ in listed}
    for type_, name, inputs, behind in listed:
        depends = {key: tuple(urns[each] for each in names) for key, names in behind.items()}
        whole = tuple(dict.fromkeys(urn for others in depends.values() for urn in others))
        yield RecordedResource(
            urn=_urn(owner, type_, name), type=type_, name=name, inputs=inputs, parent=owner.urn,
            property_dependencies=depends, dependencies=whole,
            protect=owner.protect, retain_on_delete=owner.retain_on_delete, provider=owner.provider,
        )  # fmt: skip


def _manifests(owner: RecordedResource, objects: Iterator[dict[str, Any]]) -> Iterator[RecordedResource]:
    rows: list[templates.Row] = []
    for each in kubernetes.flat(objects):
        version, kind, metadata = each.get("apiVersion"), each.get("kind"), each.get("metadata")
        if not isinstance(version, str) or not isinstance(kind, str):
            raise Unread(f"an object has no apiVersion and kind: {str(each)[:60]}")
        name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
        namespace = str(metadata.get("namespace", "")) if isinstance(metadata, dict) else ""
        group = version if "/" in version else f"core/{version}"
        rows.append((f"kubernetes:{group}:{kind}", "/".join(part for part in (namespace, name) if part), each, {}))
    yield from _recorded(owner, rows)


def _urn(owner: RecordedResource, type_: str, name: str) -> str:
    head = owner.urn.rpartition("::")[0]
    return f"{head}${type_}::{name}" if name else f"{head}${type_}::{owner.name}"
