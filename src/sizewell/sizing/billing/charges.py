"""What is billed, before it has a price: so much of a fee, or of a machine type in a market, with its words.

A decision knows its charges from its options, a preview from recorded resources; `Tariff.line` prices both.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, NamedTuple

from sizewell.sizing.billing import costing
from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.money import HOURS_PER_MONTH, Interval

MACHINE_HOUR: Final = "machine-hour"
ACCELERATOR_HOUR: Final = "accelerator-hour"  # of those that are attached to a machine and billed beside it
RUNNING: Final = (MACHINE_HOUR, ACCELERATOR_HOUR)  # units of what runs, whether or not it does work
BY_INSTANCES: Final = "from the smallest to the largest number of instances"


class Charge(NamedTuple):
    """One line of a bill without its price: a quantity of a fee, or hours of a machine type in a market.

    A tuple: a preview makes one for every line, and these are made four times as fast as a frozen dataclass.
    """

    component: str  # which pool, store or cluster causes it
    quantity: Interval
    unit: str
    what: str = ""  # in words; "" for machines: type, market and region
    fee: str = ""  # key in the catalog
    beyond: int = 0  # the tier of the fee that starts at this quantity
    machine: str = ""  # instance type, where it is one
    market: str = "on-demand"
    service: str = RAW  # the managed service whose premium is part of a machine's hour
    premium: str = ""  # what the premium is called where the line says how it was got; "": it is not mentioned
    how: str = ""  # "" for machines: hours times price
    confidence: str = ""


def machines(component: str, instance_type: str, hours: Interval, *, market: str = "on-demand") -> Charge:
    """The machines of a pool: whole machine-hours of one type in one market."""
    return Charge(component=component, unit=MACHINE_HOUR, quantity=hours, machine=instance_type, market=market)


def disks(component: str, gigabytes_each: Decimal, key: str, hours: Interval, *, what: str = "boot disks") -> Charge:
    """Disks of `gigabytes_each` that live as long as their machines; most of Azure's bill by size class, whole.

    >>> hours = Interval.exactly(HOURS_PER_MONTH)
    >>> [disks("chat", Decimal(200), key, hours).fee for key in ("pd.balanced", costing.PREMIUM_DISK)]
    ['pd.balanced', 'disk.premium_lrs.p15']
    """
    size = f"{gigabytes_each.normalize():f} GB"
    if key in costing.CLASSED_DISKS:
        tier = costing.classed_disk(key, gigabytes_each)
        return Charge(
            component=component,
            what=f"{what} of {size}, {costing.CLASSED_DISKS[key][0]} {tier.rpartition('.')[2].upper()}",
            unit="disk-month",
            fee=tier,
            quantity=costing.gigabyte_months(Decimal(1), hours),
            how="by size class, as long as the machine exists",
        )
    return Charge(
        component=component,
        what=f"{what} of {size}, {key}",
        unit="GB-month",
        fee=key,
        quantity=costing.gigabyte_months(costing.sold_gigabytes(key, gigabytes_each), hours),
        how=f"{size} for each machine-hour, deleted with the machine",
    )


def storage(component: str, what: str, gigabytes: Decimal, key: str) -> Charge:
    """Storage of a fixed size that is billed around the clock, machines or not."""
    return Charge(
        component=component,
        what=f"{what}, {gigabytes.normalize():f} GB, {key}",
        unit="GB-month",
        fee=key,
        quantity=Interval.exactly(costing.amount(gigabytes)),
        how="billed even at zero machines",
    )


def stored(component: str, what: str, gigabytes: Interval, key: str) -> Charge:
    """What a store holds, per month; what is not written yet is an assumption, and the line says so."""
    return Charge(
        component=component,
        what=what,
        unit="GB-month",
        fee=key,
        quantity=gigabytes,
        how="empty at the floor, full at the ceiling",
        confidence="" if gigabytes.floor == gigabytes.ceiling else "assumed usage",
    )


def as_used(component: str, what: str, key: str, unit: str, quantity: Interval) -> Charge:
    """What is billed by a use that somebody stated in a usage file."""
    return Charge(
        component=component,
        what=what,
        unit=unit,
        fee=key,
        quantity=quantity,
        how="from the usage file",
        confidence="assumed usage",
    )


def around_the_clock(component: str, what: str, key: str, count: int = 1) -> Charge:
    """`count` things billed by the hour even at zero machines: control planes, gateways, balancers, addresses."""
    return Charge(
        component=component,
        what=what,
        unit="hour",
        fee=key,
        quantity=Interval.exactly(costing.amount(count * HOURS_PER_MONTH)),
        how="around the clock, even at zero machines",
    )


def control_plane(component: str, key: str) -> Charge:
    """A cluster's control plane."""
    return around_the_clock(component, f"cluster control plane, {key}", key)


def monthly(component: str, what: str, key: str, count: int = 1) -> Charge:
    """`count` things billed by the month: keys, alarms, scheduled jobs, private DNS zones."""
    return Charge(component=component, what=what, unit="month", fee=key, quantity=Interval.exactly(Decimal(count)))
