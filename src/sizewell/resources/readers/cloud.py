"""Which readers know a cloud's types: the record that `readers/<cloud>.py` fills; `facts.py` has one for each cloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource
from sizewell.resources.stackfacts import Grant, Opening

# From a resource to the fields of its fact; None where it is none of that kind.
Reader = Callable[[Graph, RecordedResource], "dict[str, Any] | None"]
Readers = Mapping[str, Reader]
StoreReaders = Mapping[str, Callable[[Graph, RecordedResource], dict[str, object]]]
PoolReaders = Mapping[str, Callable[[Graph, RecordedResource], list[dict[str, object]]]]  # several pools in one


@dataclass(frozen=True, slots=True, kw_only=True)
class Types:
    """By canonical type token. An empty mapping says that the cloud has nothing of that kind."""

    pools: PoolReaders
    stores: StoreReaders  # buckets, storage accounts
    disks: Readers  # and file systems
    purchases: Readers  # of capacity
    endpoints: Readers
    notebooks: Readers
    clusters: Readers
    jobs: Readers
    openings: Callable[[Graph, RecordedResource, str], list[Opening]]  # of firewalls; the last is the canonical type
    grants: Callable[[Graph, RecordedResource, str], list[Grant]]
