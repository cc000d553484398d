"""Everything that a plan does not show: what renders, what its cluster starts, what only its cluster knows."""

from __future__ import annotations

from dataclasses import replace

from sizewell.resources.hidden import of_resource, renders
from sizewell.resources.kinds import started_by
from sizewell.resources.readers import operators, pods
from sizewell.resources.recorded import Hidden, Plan, RecordedResource
from sizewell.resources.stackfacts import Stated


def hidden_of(plan: Plan) -> tuple[Hidden, ...]:
    """Everything that a plan does not show, each once: what its source says, and resources that render none it has."""
    told = {each.urn: each for each in plan.hidden if each.urn}
    by_urn = plan.by_urn()
    parents = {resource.parent for resource in plan.resources} | plan.read
    for resource in plan.resources:
        if resource.urn in told or resource.urn in parents:
            continue
        if renders(resource):
            told[resource.urn] = of_resource(resource)
        elif (started := started_by(resource) or pods.unclear(resource)) is not None:
            machines = operators.stated(resource, plan.resources)
            told[resource.urn] = started if machines is None else _by_operator(started, machines)
    ours = {urn for urn in told if urn in by_urn and _of_ours(by_urn[urn], by_urn)}
    places = {(each.name, each.what): each for each in plan.hidden if not each.urn}
    return (*(each for urn, each in told.items() if urn not in ours), *places.values())


def _by_operator(started: Hidden, machines: Stated) -> Hidden:
    return replace(
        started,
        may_hide=f"{machines.words()}, which it names, and what else its operator starts",
        why="its operator starts them outside this plan",
        fix="waive it with a reason where these machines are what the team wants",
    )


def _of_ours(resource: RecordedResource, by_urn: dict[str, RecordedResource]) -> bool:
    """Whether a component of Sizewell brings a resource: it registers what that costs and runs."""
    seen: set[str] = set()
    parent = resource.parent
    while parent and parent in by_urn and parent not in seen:
        if by_urn[parent].type.startswith("sizewell-"):
            return True
        seen.add(parent)
        parent = by_urn[parent].parent
    return False
