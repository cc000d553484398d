"""What nobody knows on either side of a change, and may be another thing after it than before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from sizewell.preview.changes import DYNAMIC, Change
from sizewell.recording.evaluate.slices import Place, Sources
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.resources.sizes import UNSIZED
from sizewell.resources.values import contains_unknown
from sizewell.sizing.money import LineItem, Unpriced

_SAID: Final = "what is not known of it follows from other code or settings than before"


def with_undecided(
    changes: Mapping[str, Change], before: Plan | None, after: Plan, items: Iterable[LineItem]
) -> dict[str, Change]:
    """With what has no price, or none that is one figure, where what decides about it changes in the program."""
    more: dict[str, Change] = {}
    if before is None or not before.root or not after.root:
        return dict(changes)
    old, new = before.by_urn(), after.by_urn()
    sources = [Sources(Path(plan.root), plan.stack) for plan in (before, after)]
    for line in items:
        urn = line.resource
        if urn in changes or urn in more or urn not in new or urn not in old:
            continue
        if not contains_unknown(new[urn].inputs) and not new[urn].type.startswith(DYNAMIC):
            continue
        if isinstance(line.price, Unpriced) or line.confidence == UNSIZED:
            was, now = (each.digest(_places(urn, by_urn)) for each, by_urn in zip(sources, (old, new), strict=True))
            if was and now and was != now:
                more[urn] = Change(urn=urn, kind="update", differences=(_SAID,))
    return {**changes, **more}


def _places(urn: str, by_urn: Mapping[str, RecordedResource]) -> tuple[Place, ...]:
    """Where a resource is made: its own places, else those of what makes it."""
    seen: set[str] = set()
    while urn in by_urn and urn not in seen:
        if by_urn[urn].places:
            return by_urn[urn].places
        seen.add(urn)
        urn = by_urn[urn].parent or ""
    return ()
