"""Rent, commit or buy: what the machines of a stack cost together by the end of each of 36 months.

Rented machines cost their expected hours. Committed machines cost every hour of the month, used or not. Bought ones
cost their price at the start and power while they run; staff, space and what they fetch afterwards are left out, and
said to be. Prices are the catalog's; a way that has no price for one of the machines is not drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from preview import records
from sizing.decision import Decision, Pool
from sizing.money import HOURS_PER_MONTH, Priced

if TYPE_CHECKING:
    from sizing.catalog import Catalog
    from sizing.catalog.records import Shape

MONTHS: Final = 36
RENTED: Final = (("rent on demand", "on-demand"), ("rent spot", "spot"))
COMMITTED: Final = (("commit 1 year", "reserved-1y"), ("commit 3 years", "reserved-3y"))
BUY: Final = "buy"
USD_PER_KWH: Final = Decimal("0.12")  # estimate: an industrial tariff
POWER_OVERHEAD: Final = Decimal("1.4")  # estimate: cooling and conversion, per unit of power at the machine
NOTE: Final = (
    "Rent: the expected hours. Commit: the initial size, every hour. Buy: the middle of street prices at the start, "
    "power at 0.12 USD/kWh with 40 % for cooling; staff, space and resale are not counted (estimate)."
)


def ownership_of(decision: Decision, catalog: Catalog, on: date) -> tuple[records.OwnershipMonth, ...]:
    """One record per month from 0 to 36; empty where no machine of the stack bills by the month."""
    pools = [
        pool
        for workload in decision.workloads
        for pool in workload.pools
        if pool.accelerators_per_node and pool.capacity.mode != "capacity-block"
    ]
    if not pools:
        return ()
    ways: dict[str, tuple[Decimal, Decimal]] = {}  # at the start, per month
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
            month=month, usd={name: (at + month * rate).quantize(cent) for name, (at, rate) in ways.items()}
        )
        for month in range(MONTHS + 1)
    )


def _hourly(catalog: Catalog, pool: Pool, market: str, on: date, hours: Decimal) -> Decimal | None:
    price = catalog.price(pool.cloud, pool.instance_type, pool.region, market, on)
    return price.amount * hours if isinstance(price, Priced) else None


def _bought(catalog: Catalog, pool: Pool) -> tuple[Decimal, Decimal] | None:
    """What servers with as many of the same accelerator cost to buy, and per month to power for the expected hours."""
    servers = [
        shape
        for shape in catalog.shapes
        if shape.cloud == "on-premises" and shape.accelerator == pool.accelerator and _price_of(shape)
    ]
    if not servers:
        return None
    wanted = max(pool.nodes_initial, 1) * pool.accelerators_per_node
    server = min(servers, key=lambda shape: (-(-wanted // shape.accelerators) * _price_of(shape), shape.instance_type))
    count = -(-wanted // server.accelerators)
    watts = Decimal(str(getattr(server, "power_w", None) or 0))
    share = pool.node_hours_per_month.expected / max(pool.nodes_initial, 1)
    power = count * watts / 1000 * POWER_OVERHEAD * share * USD_PER_KWH
    return count * _price_of(server), power


def _price_of(shape: Shape) -> Decimal:
    bounds = getattr(shape, "purchase_usd", None)
    return Decimal(bounds[0] + bounds[1]) / 2 if bounds else Decimal(0)


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    total = Decimal(0)
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total
