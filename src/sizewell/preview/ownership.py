"""Rent, commit or buy: what the machines of a stack cost together by the end of each of 36 months.

Rented machines cost their expected hours. Committed machines cost every hour of the month, used or not. Bought ones
cost their price, less what they would fetch if they were sold in that month, and space, staff and power. Prices are the
catalog's; all else is an estimate and said to be. A way that has no price for one of the machines is not drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.preview import records
from sizewell.sizing.billing.owning import USUAL, lost_share, purchase_usd, server_for
from sizewell.sizing.money import HOURS_PER_MONTH, Priced
from sizewell.sizing.records.decision import Decision, Pool

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog

MONTHS: Final = 36
RENTED: Final = (("rent on demand", "on-demand"), ("rent spot", "spot"))
COMMITTED: Final = (("commit 1 year", "reserved-1y"), ("commit 3 years", "reserved-3y"))
BUY: Final = "buy"
NOTE: Final = (
    "Rent: the expected hours. Commit: the initial size, every hour. Buy (estimate): the median of street prices less "
    "resale in that month (70 % at once, 25 % after 36 months), power at 0.12 USD/kWh with 40 % for cooling, space at "
    "60 USD/kW and staff at 400 USD/server per month."
)


def ownership_of(decision: Decision, catalog: Catalog, on: date) -> tuple[records.OwnershipMonth, ...]:
    """One record per month from 0 to 36; empty where no machine of the stack is billed by the month."""
    pools = [
        pool
        for workload in decision.workloads
        for pool in workload.pools
        if pool.accelerators_per_node and pool.capacity.mode != "capacity-block"
    ]
    if not pools:
        return ()
    ways: dict[str, tuple[Decimal, Decimal]] = {}  # paid for machines at the start, per month
    for name, market in RENTED:
        monthly = _sum(_hourly(catalog, pool, market, on, pool.node_hours_per_month.expected) for pool in pools)
        if monthly is not None:
            ways[name] = (Decimal(0), monthly)
    for name, market in COMMITTED:
        hours = [(pool, max(pool.nodes_initial, 1) * HOURS_PER_MONTH) for pool in pools]
        monthly = _sum(_hourly(catalog, pool, market, on, each) for pool, each in hours)
        if monthly is not None:
            ways[name] = (Decimal(0), monthly)
    bought = [_bought(catalog, pool) for pool in pools]
    start, monthly = _sum(b[0] if b else None for b in bought), _sum(b[1] if b else None for b in bought)
    if start is not None and monthly is not None:
        ways[BUY] = (start, monthly)
    if len(ways) < 2:
        return ()
    cent = Decimal("0.01")
    return tuple(
        records.OwnershipMonth(
            month=month,
            usd={
                name: (at * lost_share(Decimal(month)) + month * rate).quantize(cent)
                for name, (at, rate) in ways.items()
            },
        )
        for month in range(MONTHS + 1)
    )


def _hourly(catalog: Catalog, pool: Pool, market: str, on: date, hours: Decimal) -> Decimal | None:
    price = catalog.price(pool.cloud, pool.instance_type, pool.region, market, on)
    return price.amount * hours if isinstance(price, Priced) else None


def _bought(catalog: Catalog, pool: Pool) -> tuple[Decimal, Decimal] | None:
    """What servers with as many of the same accelerator cost to buy, and per month for space, staff and power.

    Space and staff are paid whether the machines work or not, power for the expected hours.
    """
    wanted = max(pool.nodes_initial, 1) * pool.accelerators_per_node
    found = server_for(catalog, pool.accelerator, wanted)
    if found is None:
        return None
    server, count = found
    kilowatts = count * Decimal(str(server.power_w or 0)) / 1000
    share = pool.node_hours_per_month.expected / max(pool.nodes_initial, 1)
    power = kilowatts * USUAL["pue"].value * share * USUAL["usd_per_kwh"].value
    space = kilowatts * USUAL["space_usd_per_kw_month"].value
    staff = count * USUAL["staff_usd_per_server_month"].value
    return count * purchase_usd(server), power + space + staff


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total
