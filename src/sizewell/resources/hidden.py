"""The types that make resources of their own, which a plan does not show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.resources.recorded import Hidden, RecordedResource, Unknown
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
