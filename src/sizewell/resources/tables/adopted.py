"""Prices of machines that already exist, in an adopted cluster: their hours at the project's own rate."""

from __future__ import annotations

from typing import Final

from sizewell.resources import pools
from sizewell.resources.context import Context, Outcome, Pricer
from sizewell.resources.recorded import RecordedResource
from sizewell.resources.sizes import Size
from sizewell.resources.values import count, get, text
from sizewell.sizing.billing import charges


def _machines(resource: RecordedResource, context: Context) -> Outcome:
    inputs = resource.inputs
    place, region, kind = (text(get(inputs, key)) for key in ("place", "region", "instanceType"))
    least, wanted, most = (count(get(inputs, key)) for key in ("nodesMin", "nodesInitial", "nodesMax"))
    if not all(isinstance(value, str) and value for value in (place, region, kind)):
        return (context.unpriced(resource, "adopted machines", "their type or location is not known"),)
    assert isinstance(place, str) and isinstance(region, str) and isinstance(kind, str)  # noqa: S101, PT018 - as above
    bounded = pools.pool_hours(resource, context, Size(least=least, wanted=wanted, most=most), kind)
    if bounded is None:
        return (context.unpriced(resource, kind, "the number of machines is unlimited"),)
    market = str(text(get(inputs, "market")) or "on-demand")
    charge = charges.machines(context.graph.component(resource), kind, bounded[0], market=market)
    return (context.tariff(place, region).line(charge, resource.urn),)


TABLE: Final[dict[str, Pricer]] = {"sizewell-kubernetes:index:AdoptedPool": _machines}
