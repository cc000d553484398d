"""Prices of the types of Nimbus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.resources import pools
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import RecordedResource
from sizewell.resources.sizes import Size
from sizewell.resources.values import count, get, text


def _group(resource: RecordedResource, context: Context) -> Outcome:
    sizes = resource.inputs.get("sizes")
    size = Size(least=count(get(sizes, "least")), wanted=count(get(sizes, "wanted")), most=count(get(sizes, "most")))
    kind, market = (text(resource.inputs.get(key)) for key in ("machineType", "market"))
    return (pools.machines(resource, context, instance_type=kind, market=market, size=size),)


def _bucket(resource: RecordedResource, context: Context) -> Outcome:
    del resource, context
    return Free("buckets of Nimbus are free")


TABLE: Final[Mapping[str, Pricer]] = {"nimbus:compute/group:Group": _group, "nimbus:storage/bucket:Bucket": _bucket}
