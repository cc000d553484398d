"""Quantities of a bill: how many hours, gigabytes and pieces, and which fee of the catalog prices each.

`charges` makes of them what is billed, `tariff` gives that a price. A decision (`choose.bill`) and a preview
(`resources`) do both alike.

Gigabytes here are what clouds bill and what a resource states: 2**30 bytes, printed "GB" on every invoice.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.money import HOURS_PER_MONTH, WEEKS_PER_MONTH, Interval
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.sizing.catalog.records import Shape
    from sizewell.sizing.providers.cloud import SystemPool

HOURS_PER_WEEK: Final = Decimal(168)
BILLED_GIGABYTE: Final = 2**30
_STEP = Decimal("0.0001")

PREMIUM_DISK: Final = "disk.premium_lrs"
# Azure's disks with a price for each size class: how each kind is called, and the letter of its classes. Source,
# read 2026-11-28: azure.github.io/PSRule.Rules.Azure/en/rules/Azure.VM.DiskSizeAlignment.
CLASSED_DISKS: Final = {
    PREMIUM_DISK: ("premium SSD", "p"),
    "disk.premium_zrs": ("premium SSD over zones", "p"),
    "disk.standardssd_lrs": ("standard SSD", "e"),
    "disk.standardssd_zrs": ("standard SSD over zones", "e"),
    "disk.standard_lrs": ("standard HDD", "s"),
}
# By how many GiB each holds. A class without a price in the catalog is here as well: no other stands for it.
_SIZE_CLASSES: Final = {
    4: 1, 8: 2, 16: 3, 32: 4, 64: 6, 128: 10, 256: 15, 512: 20,
    1024: 30, 2048: 40, 4096: 50, 8192: 60, 16384: 70, 32767: 80,
}  # fmt: skip
_LEAST_CLASSES: Final = {"s": 4}  # the smallest class of a letter, where it is not the first
_ULTRA_DISK: Final = "disk.ultrassd_lrs"  # bills by the gigabyte, of the next size that is sold
_TERABYTE: Final = 1024


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


def classed_disk(key: str, gigabytes: Decimal) -> str:
    """The fee of an Azure disk that bills by size class: of the class that holds it, whole.

    >>> classed_disk(PREMIUM_DISK, Decimal(200)), classed_disk("disk.standard_lrs", Decimal(8))
    ('disk.premium_lrs.p15', 'disk.standard_lrs.s4')
    """
    letter = CLASSED_DISKS[key][1]
    held = (number for bound, number in _SIZE_CLASSES.items() if bound >= gigabytes)
    number = next(held, None)
    return f"{key}.larger" if number is None else f"{key}.{letter}{max(number, _LEAST_CLASSES.get(letter, 1))}"


def sold_gigabytes(key: str, gigabytes: Decimal) -> Decimal:
    """The gigabytes that a disk bills: of an ultra disk those of the next size, in whole terabytes from one on.

    >>> [sold_gigabytes("disk.ultrassd_lrs", Decimal(size)) for size in (200, 600, 1500)]
    [Decimal('256'), Decimal('1024'), Decimal('2048')]
    >>> sold_gigabytes("disk.premium_ssd_v2", Decimal(200))
    Decimal('200')
    """
    if key != _ULTRA_DISK:
        return gigabytes
    whole = (gigabytes / _TERABYTE).to_integral_value(ROUND_CEILING) * _TERABYTE
    return next((Decimal(bound) for bound in _SIZE_CLASSES if gigabytes <= bound < _TERABYTE), whole)
