"""What a cloud's resources are to teardown, by their Pulumi types and by the cloud's own tags. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sizewell.recording.sources.state import StateResource


@dataclass(frozen=True, slots=True, kw_only=True)
class Types:
    """Of one cloud; `teardown/<cloud>/types.py` fills it."""

    sized: Mapping[str, str]  # what a pool registers as `sizedBy` -> the type whose size is moved
    scheduled: tuple[str, ...]  # of these, where pods wait for machines
    serving: tuple[str, ...]  # types whose requests the cloud counts
    managed: Mapping[str, tuple[str, ...]]  # kind of unit -> types whose service runs the machines and counts them
    # How a type begins that holds data which no program makes again, and what it is. A bucket stands here although ours
    # are protected: one that is not, is a person's.
    stateful: Mapping[str, str]
    clusters: Mapping[str, str]  # type of a Kubernetes cluster -> what its inputs call its name
    store_uri: Callable[[StateResource], str]  # of a checkpoint store, as `store.connect` names it; "" for other types
    made_by: Mapping[str, str]  # tag that the cloud puts on what something else made -> the type of that
    imported_by_tag: tuple[str, ...]  # of these types, what its provider imports by the value of that tag alone
    parts: tuple[str, ...]  # kinds that groups and clusters make, with their tags: none of them is the group
