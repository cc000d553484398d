"""Money: what goes on billing whatever is emptied or destroyed, and what the machines of a pool cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from sizewell.resources.pricing import price
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.money import Priced, Unpriced
from sizewell.sizing.records.stackname import cluster_of
from sizewell.teardown.backend import Listed
from sizewell.teardown.exports import Exports
from sizewell.teardown.units import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """US dollars per month that go on, whatever is emptied or destroyed."""

    emptied: Decimal  # with every pool at its smallest size
    kept: Decimal  # after a destroy: what is protected
    beside: Mapping[str, Decimal | None]  # the stacks beside it; None: not all of it has a price
    unpriced: tuple[str, ...]
    kept_by_use: tuple[str, ...]  # what is protected and billed by a use that is in no figure, such as what is stored


def standing(exports: Exports, listed: Mapping[str, Listed], name: str, catalog: Catalog, on: date) -> Standing:
    """What a stack and those beside it would go on costing. Lines without a price are named, never nought."""
    own = price(exports.plan(listed[name]), catalog, on=on)
    protected = {resource.urn for resource in exports.state(listed[name]).resources if resource.protect}
    emptied, kept = Decimal(0), Decimal(0)
    unpriced: list[str] = []
    for item in own.items:
        cost = item.cost()
        if isinstance(cost, Unpriced):
            unpriced.append(item.what)
        elif item.cadence == "monthly":
            emptied += cost.floor
            kept += cost.floor if item.resource in protected else Decimal(0)
    beside: dict[str, Decimal | None] = {}
    for other in sorted(listed):
        if other != name and cluster_of(other) == name:
            total = price(exports.plan(listed[other]), catalog, on=on).cost().run_rate
            beside[other] = None if total.unpriced else total.usd_per_month.expected
    by_use = tuple(urn.rpartition("::")[2] for urn, _, _ in own.by_use if urn in protected)
    return Standing(emptied=emptied, kept=kept, beside=beside, unpriced=tuple(unpriced), kept_by_use=by_use)


def usd_per_hour(catalog: Catalog, unit: Unit, machines: int, on: date) -> float | None:
    """What that many machines of a pool cost; None where their type has no price."""
    rate = catalog.price(unit.cloud, unit.instance_type, unit.region, unit.market, on)
    return float(rate.amount) * machines if isinstance(rate, Priced) else None
