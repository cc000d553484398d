"""Quantities of a bill: how many hours, gigabytes and pieces, and which fee of the catalog prices each.

`charges` makes of them what is billed, `tariff` gives that a price. A decision (`choose.bill`) and a preview
(`resources`) do both alike.

Gigabytes here are what clouds bill and what a resource states: 2**30 bytes, printed "GB" on every invoice.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.money import HOURS_PER_MONTH, WEEKS_PER_MONTH, Interval
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.sizing.catalog.records import Shape
    from sizewell.sizing.providers.cloud import SystemPool

HOURS_PER_WEEK: Final = Decimal(168)
BILLED_GIGABYTE: Final = 2**30
_STEP = Decimal("0.0001")

PREMIUM_DISK: Final = "disk.premium_lrs"  # bills by size class, whole
# By how many GiB each holds. A class without a price in the catalog is here as well: no other stands for it.
PREMIUM_TIERS: Final = {
    4: "p1", 8: "p2", 16: "p3", 32: "p4", 64: "p6", 128: "p10", 256: "p15", 512: "p20",
    1024: "p30", 2048: "p40", 4096: "p50", 8192: "p60", 16384: "p70", 32767: "p80",
}  # fmt: skip


def system_pool(cloud: str, environment: str) -> SystemPool | None:
    """The system machines of a cluster of our own; development on Google Cloud takes smaller ones."""
    if cloud not in CLOUDS:
        return None
    cluster = CLOUDS[cloud].cluster
    return (cluster.system_pool_dev if environment == "dev" else None) or cluster.system_pool


def boot_disk(shape: Shape) -> str:
    """The fee of a machine's boot disk; "" where the machine boots from its own.

    >>> from sizewell.sizing.catalog import load
    >>> machines = (("gcp", "g2-standard-4"), ("gcp", "g4-standard-6"), ("azure", "Standard_NC4as_T4_v3"))
    >>> [boot_disk(load().shape(*machine)) for machine in machines]
    ['pd.balanced', 'hyperdisk.balanced', '']
    """
    return shape.boot_disk.replace("-", ".", 1) or (CLOUDS[shape.cloud].fees.boot_disk if shape.cloud in CLOUDS else "")


def amount(value: float | Decimal) -> Decimal:
    """A quantity as a decimal of four places, so that sums do not depend on how a float was reached.

    >>> amount(303.3333333)
    Decimal('303.3333')
    """
    exact = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    return exact.quantize(_STEP, rounding=ROUND_HALF_EVEN)


def node_hours(
    *,
    nodes_min: int,
    nodes_initial: int,
    nodes_max: int,
    hours_per_week: Decimal = HOURS_PER_WEEK,
    utilization: Decimal = Decimal(1),
) -> Interval:
    """Machine-hours per month of a pool that its autoscaler, schedule and guard move between minimum and maximum.

    Floor: the minimum, only in the scheduled hours. Ceiling: the maximum, 24x7 (nobody keeps the schedule).
    Expected: the initial size for the scheduled hours that are used, never under the floor.

    >>> node_hours(nodes_min=0, nodes_initial=1, nodes_max=2, hours_per_week=Decimal(70))
    Interval(floor=Decimal('0.0000'), expected=Decimal('303.3333'), ceiling=Decimal('1460.0000'))
    """
    scheduled = HOURS_PER_MONTH if hours_per_week >= HOURS_PER_WEEK else hours_per_week * WEEKS_PER_MONTH
    scheduled = min(scheduled, HOURS_PER_MONTH)
    floor = amount(nodes_min * scheduled)
    ceiling = amount(nodes_max * HOURS_PER_MONTH)
    expected = amount(nodes_initial * scheduled * utilization)
    return Interval(floor, min(max(expected, floor), ceiling), ceiling)


def gigabyte_months(gigabytes: Decimal, hours: Interval) -> Interval:
    """What disks of `gigabytes` each bill that live as long as their machines, from the pool's machine-hours."""
    factor = gigabytes / HOURS_PER_MONTH
    return Interval(amount(hours.floor * factor), amount(hours.expected * factor), amount(hours.ceiling * factor))


def object_key(cloud: str, environment: str) -> str:
    """The fee of a checkpoint store: in production on Azure it is spread over zones.

    >>> object_key("azure", "prod"), object_key("azure", "dev")
    ('blob.hot_zrs', 'blob.hot_lrs')
    """
    if cloud not in CLOUDS:
        return "object"
    fees = CLOUDS[cloud].fees
    return fees.object_storage_prod if environment == "prod" else fees.object_storage


def premium_disk(gigabytes: Decimal) -> str:
    """The fee of an Azure premium disk: by the size class that holds it, whole.

    >>> premium_disk(Decimal(200))
    'disk.premium_lrs.p15'
    """
    return f"{PREMIUM_DISK}.{next((name for bound, name in PREMIUM_TIERS.items() if bound >= gigabytes), 'larger')}"
