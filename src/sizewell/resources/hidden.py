"""What a plan does not show: the types that make resources of their own, and the unknowns that a program decides by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.resources.kinds import started_by
from sizewell.resources.recorded import Hidden, Plan, RecordedResource, Unknown
from sizewell.resources.values import canonical

FIX: Final = (
    "judge the engine's plan (--engine pulumi, or --plan FILE of `pulumi preview --json --show-sames`), or give "
    "what stands now (--state FILE of `pulumi stack export`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HidingType:
    """A row of hiding_types.csv: what resources whose type begins so bring about beside themselves."""

    type: str
    what: str
    may_hide: str
    accelerators: bool
    content: tuple[str, ...] = ()  # inputs of which one names or holds what is rendered
    fix: str = ""
    source: str


_ROWS: Final = csvtables.read(HidingType, Path(__file__).parent / "data/hiding_types.csv")


@lru_cache(maxsize=4096)
def _row(kind: str) -> HidingType | None:
    fitting = [row for row in _ROWS if kind.startswith(row.type)]
    return max(fitting, key=lambda row: len(row.type), default=None)


def renders(resource: RecordedResource) -> bool:
    """Whether a resource makes others, which its plan may lack."""
    return _row(canonical(resource.type)) is not None


def of_resource(resource: RecordedResource, *, why: str = "", what: str = "") -> Hidden:
    """What a resource hides, by its type: a component of somebody else's provider where the table has no row."""
    row = _row(canonical(resource.type))
    if row is None:
        return Hidden(
            name=resource.name, urn=resource.urn, what=what or f"component {resource.type}",
            may_hide="all resources of the component", why=why, fix=FIX,
        )  # fmt: skip
    content = next((value for key in row.content if (value := resource.inputs.get(key)) is not None), "")
    shown = "" if isinstance(content, Unknown) else " ".join(str(content).split())[:60]
    return Hidden(
        name=resource.name, urn=resource.urn, what=f"{row.what} {shown}".rstrip(), may_hide=row.may_hide,
        why=why, fix=row.fix or FIX, accelerators=row.accelerators,
    )  # fmt: skip


def hidden_of(plan: Plan) -> tuple[Hidden, ...]:
    """Everything that a plan does not show, each once: what its source says, and resources that render none it has."""
    told = {each.urn: each for each in plan.hidden if each.urn}
    by_urn = plan.by_urn()
    parents = {resource.parent for resource in plan.resources}
    for resource in plan.resources:
        if resource.urn in told or resource.urn in parents:
            continue
        if renders(resource):
            told[resource.urn] = of_resource(resource)
        elif (started := started_by(resource)) is not None:
            told[resource.urn] = started
    ours = {urn for urn in told if urn in by_urn and _of_ours(by_urn[urn], by_urn)}
    places = {(each.name, each.what): each for each in plan.hidden if not each.urn}
    return (*(each for urn, each in told.items() if urn not in ours), *places.values())


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
