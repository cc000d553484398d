"""What a cloud has, as its lists show it, and the tags by which a stack's is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from sizewell.clouds.calls import CloudError

TAG: Final = "sizewell-stack"
PROJECT_TAG: Final = "sizewell-project"
ID_TAG: Final = "sizewell-id"
Stored = tuple[str, Decimal]  # the fee of a month, and how many of its units


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """Something that a cloud has: its name in the cloud, its kind, its tags."""

    identity: str
    kind: str
    region: str = ""
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A stack and its project, as tags spell them: two projects may have a stack of one name in one account."""

    project: str
    stack: str


def stored_each(things: Iterable[Thing], read: Callable[[Thing], Stored | None]) -> dict[str, Stored]:
    """What is stored in each, asked one by one; what went since it was listed is left out."""
    stored = {}
    for thing in things:
        try:
            held = read(thing)
        except CloudError as error:
            if error.reason != "missing":
                raise
            continue
        if held is not None:
            stored[thing.identity] = held
    return stored
