"""Whether a commitment to what was decided would pay, in one line: the rest is `sizewell economics`."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.money import HOURS_PER_MONTH, Asked, Priced
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.records.decision import Decision, Pool

TERMS: Final = {"reserved-3y": (3, "three-year"), "reserved-1y": (1, "one-year")}


def worth(catalog: Catalog, pool: Pool, decision: Decision) -> str:
    """What a commitment to all machines of a pool on demand saves at the hours that they are used; "" for nothing.

    Nothing is said of a stack that ends before its term, nor of machines for which something is bought already.
    """
    on, place = decision.decided_on, (pool.cloud, pool.instance_type, pool.region)
    shape = catalog.shapes_by_type.get(place[:2])
    asked = Asked(pool.cloud, pool.region, pool.instance_type, "on-demand")
    owned = any(on <= each.until for each in catalog.rates.covering(asked))
    rented = catalog.price(*place, "on-demand", on)
    hours = pool.nodes_initial * HOURS_PER_MONTH
    stays = pool.market == "on-demand" and pool.managed == "raw" and pool.cloud in CLOUDS and not owned
    if not stays or shape is None or not hours or not isinstance(rented, Priced) or not rented.amount:
        return ""
    used = min(pool.node_hours_per_month.expected / hours, Decimal(1))
    best, said = Decimal(0), ""
    for market, (years, name) in TERMS.items():
        price = catalog.price(*place, market, on)
        ends = decision.expires_at is not None and decision.expires_at < on + timedelta(days=365 * years)
        if ends or market not in shape.markets or not isinstance(price, Priced):
            continue
        saved = hours * (used * rented.amount - price.amount)
        if saved > best:
            share = 100 * saved / (hours * used * rented.amount)
            pays = (
                f"a {name} commitment to its machines pays from {_hours(price.amount / rented.amount)} hours a day on"
            )
            best, said = saved, f"{pays}: {share:.0f} % less for them, {saved:,.2f} USD a month, at {_hours(used)}"
    return said and f"{said}; `sizewell economics` compares"


def _hours(share: Decimal) -> str:
    return f"{24 * share:.1f}".removesuffix(".0")
