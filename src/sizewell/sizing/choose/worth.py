"""Whether a commitment to what was decided would pay, in one line: the rest is `sizewell economics`."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.money import HOURS_PER_MONTH, Asked, Priced
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.records.decision import Decision, Pool

DAY: Final = timedelta(days=1)
TERMS: Final = {"reserved-3y": (3, "three-year"), "reserved-1y": (1, "one-year")}


def worth(catalog: Catalog, pool: Pool, decision: Decision) -> str:
    """What a commitment to all machines of a pool on demand saves at the hours that they are used; "" for nothing.

    What is bought already for the machines counts as all of them, until it ends: a term begins then, and it is told
    where it would pay though it began today. Nothing is said of a stack that ends before its term.
    """
    on, place = decision.decided_on, (pool.cloud, pool.instance_type, pool.region)
    shape = catalog.shapes_by_type.get(place[:2])
    asked = Asked(pool.cloud, pool.region, pool.instance_type, "on-demand")
    held = [each for each in catalog.rates.covering(asked) if on <= each.until]
    start = max((each.until + DAY for each in held if each.until < date.max), default=date.max if held else on)
    rented = catalog.price(*place, "on-demand", on)
    hours = pool.nodes_initial * HOURS_PER_MONTH
    stays = pool.market == "on-demand" and pool.managed == "raw" and pool.cloud in CLOUDS and start < date.max
    if not stays or shape is None or not hours or not isinstance(rented, Priced) or not rented.amount:
        return ""
    used = min(pool.node_hours_per_month.expected / hours, Decimal(1))
    best, said = Decimal(0), ""
    for market, (years, name) in TERMS.items():
        price = catalog.price(*place, market, on)
        days = 365 * years
        ends = decision.expires_at is not None and decision.expires_at < start + timedelta(days=days)
        idle = Decimal((start - on).days) / days
        if ends or market not in shape.markets or not isinstance(price, Priced):
            continue
        saved = hours * (used * rented.amount - price.amount)
        if saved > best and (1 - idle) * used * rented.amount > price.amount:
            share = 100 * saved / (hours * used * rented.amount)
            pays = (
                f"a {name} commitment to its machines pays from {_hours(price.amount / rented.amount)} hours a day on"
            )
            begins = f"from {start} on, when what is bought for them ends, " if held else ""
            best, said = (
                saved,
                f"{begins}{pays}: {share:.0f} % less for them, {saved:,.2f} USD a month, at {_hours(used)}",
            )
    return said and f"{said}; `sizewell economics` compares"


def _hours(share: Decimal) -> str:
    return f"{24 * share:.1f}".removesuffix(".0")
