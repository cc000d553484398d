"""The shared arithmetic of a bill: what becomes a line item, in which unit, at which price.

A decision (`choose.pricing`) and a preview (`resources`, from recorded resources) call the same functions, so that the
same machine, disk or gateway costs the same in both. Each function takes a catalog, where and when, and a quantity
with its three bounds, and returns one `LineItem`; a price that the catalog does not have makes the line unpriced.

Gigabytes here are what clouds bill and what a resource states: 2**30 bytes, printed "GB" on every invoice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.money import HOURS_PER_MONTH, WEEKS_PER_MONTH, Cadence, Interval, LineItem, Price, Priced, Unpriced

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Shape

HOURS_PER_WEEK: Final = Decimal(168)
BILLED_GIGABYTE: Final = 2**30
_STEP = Decimal("0.0001")

# Which fee of the catalog prices a thing that every cloud has. Only keys: the prices are the catalog's.
BOOT_DISK: Final = {"aws": "ebs.gp3.gb_month", "gcp": "pd.balanced"}  # on Azure it is ephemeral; unless the shape says
PREMIUM_TIERS: Final = {32: "p4", 64: "p6", 128: "p10", 256: "p15", 512: "p20", 1024: "p30", 2048: "p40", 4096: "p50"}
OBJECT_STORAGE_PROD: Final = {"azure": "blob.hot_zrs"}
OBJECT_STORAGE: Final = {"aws": "s3.standard", "gcp": "gcs.standard", "azure": "blob.hot_lrs"}
CONTROL_PLANE: Final = {"aws": "eks.control_plane", "gcp": "gke.control_plane", "azure": "aks.control_plane"}


@dataclass(frozen=True, slots=True)
class SystemPool:
    """What a cluster runs beside the accelerators, around the clock: at least one small machine."""

    instance_type: str
    gigabytes_each: int
    nodes_min: int
    nodes_max: int


SYSTEM_POOL: Final = {
    "gcp": SystemPool("e2-standard-4", 100, 1, 3),
    "aws": SystemPool("m7i.large", 80, 2, 4),
    "azure": SystemPool("Standard_D4s_v5", 128, 2, 4),
}
SYSTEM_POOL_DEV: Final = {"gcp": SystemPool("e2-standard-2", 100, 1, 3)}


def system_pool(cloud: str, environment: str) -> SystemPool | None:
    """The system machines of a cluster of our own; development on Google Cloud takes smaller ones."""
    small = SYSTEM_POOL_DEV.get(cloud) if environment == "dev" else None
    return small or SYSTEM_POOL.get(cloud)


def boot_disk(shape: Shape) -> str:
    """The fee of a machine's boot disk; "" where the machine boots from its own.

    >>> from sizewell.sizing.catalog import load
    >>> machines = (("gcp", "g2-standard-4"), ("gcp", "g4-standard-6"), ("azure", "Standard_NC4as_T4_v3"))
    >>> [boot_disk(load().shape(*machine)) for machine in machines]
    ['pd.balanced', 'hyperdisk.balanced', '']
    """
    return shape.boot_disk.replace("-", ".", 1) or BOOT_DISK.get(shape.cloud, "")


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


def machine_hours(
    catalog: Catalog,
    *,
    component: str,
    cloud: str,
    instance_type: str,
    region: str,
    market: str,
    on: date,
    hours: Interval,
    cadence: Cadence = "monthly",
    resource: str = "",
    how: str = "",
    confidence: str = "",
) -> LineItem:
    """The machines of a pool: whole machine-hours of one type in one market of one region."""
    price = catalog.price(cloud, instance_type, region, market, on)
    return LineItem(
        component=component,
        what=f"{instance_type}, {market}, {region}",
        unit="machine-hour",
        cadence=cadence,
        quantity=hours,
        price=price,
        resource=resource,
        how=how or hours_in_words(hours, price),
        confidence=confidence or _weak(price),
    )


def gigabyte_months(gigabytes: Decimal, hours: Interval) -> Interval:
    """What disks of `gigabytes` each bill that live as long as their machines, from the pool's machine-hours."""
    factor = gigabytes / HOURS_PER_MONTH
    return Interval(amount(hours.floor * factor), amount(hours.expected * factor), amount(hours.ceiling * factor))


def disks(
    catalog: Catalog,
    *,
    component: str,
    cloud: str,
    region: str,
    on: date,
    gigabytes_each: Decimal,
    hours: Interval,
    key: str = "",
    resource: str = "",
) -> LineItem:
    """Boot disks of a pool, `gigabytes_each` per machine, deleted with the machine. `key` names another disk type."""
    key = key or BOOT_DISK.get(cloud, "disk")
    return fee(
        catalog,
        component=component,
        what=f"boot disks of {_plain(gigabytes_each)} GB, {key}",
        cloud=cloud,
        key=key,
        region=region,
        on=on,
        unit="GB-month",
        quantity=gigabyte_months(gigabytes_each, hours),
        resource=resource,
        how=f"{_plain(gigabytes_each)} GB for each machine-hour, deleted with the machine",
    )


def object_key(cloud: str, environment: str) -> str:
    """The fee of a checkpoint store: in production on Azure it is spread over zones.

    >>> object_key("azure", "prod"), object_key("azure", "dev")
    ('blob.hot_zrs', 'blob.hot_lrs')
    """
    own = OBJECT_STORAGE_PROD.get(cloud) if environment == "prod" else None
    return own or OBJECT_STORAGE.get(cloud, "object")


def premium_disk(gigabytes: Decimal) -> str:
    """The fee of an Azure premium disk: by the size class that holds it, whole.

    >>> premium_disk(Decimal(200))
    'disk.premium_lrs.p15'
    """
    return f"disk.premium_lrs.{next((name for bound, name in PREMIUM_TIERS.items() if bound >= gigabytes), 'larger')}"


def object_storage(
    catalog: Catalog,
    *,
    component: str,
    cloud: str,
    region: str,
    on: date,
    gigabytes: Interval,
    key: str = "",
    resource: str = "",
    how: str = "",
) -> LineItem:
    """What a bucket holds, per month; checkpoints that are not written yet make it an assumption, and it says so."""
    key = key or OBJECT_STORAGE.get(cloud, "object")
    return fee(
        catalog,
        component=component,
        what=f"object storage, {key}",
        cloud=cloud,
        key=key,
        region=region,
        on=on,
        unit="GB-month",
        quantity=gigabytes,
        resource=resource,
        how=how or "empty at the floor, full at the ceiling",
        confidence="" if gigabytes.floor == gigabytes.ceiling else "assumed usage",
    )


def control_plane(
    catalog: Catalog, *, component: str, cloud: str, region: str, on: date, key: str = "", resource: str = ""
) -> LineItem:
    """A cluster's control plane: bills around the clock, also when every pool is at zero."""
    key = key or CONTROL_PLANE.get(cloud, "control_plane")
    return standing_fee(
        catalog,
        component=component,
        what=f"cluster control plane, {key}",
        cloud=cloud,
        key=key,
        region=region,
        on=on,
        resource=resource,
    )


def standing_fee(
    catalog: Catalog,
    *,
    component: str,
    what: str,
    cloud: str,
    key: str,
    region: str,
    on: date,
    count: int = 1,
    resource: str = "",
) -> LineItem:
    """`count` things billed by the hour around the clock: control planes, gateways, load balancers, addresses."""
    return fee(
        catalog,
        component=component,
        what=what,
        cloud=cloud,
        key=key,
        region=region,
        on=on,
        unit="hour",
        quantity=Interval.exactly(amount(count * HOURS_PER_MONTH)),
        resource=resource,
        how="around the clock, also at zero machines",
    )


def fee(
    catalog: Catalog,
    *,
    component: str,
    what: str,
    cloud: str,
    key: str,
    region: str,
    on: date,
    unit: str,
    quantity: Interval,
    cadence: Cadence = "monthly",
    resource: str = "",
    how: str = "",
    confidence: str = "",
) -> LineItem:
    """Any fee of the catalog by its key; unpriced, with the reason, where the catalog has none for the region."""
    price = catalog.fee(cloud, key, region, on)
    return LineItem(
        component=component,
        what=what,
        unit=unit,
        cadence=cadence,
        quantity=quantity,
        price=price,
        resource=resource,
        how=how,
        confidence=confidence or _weak(price),
    )


def hours_in_words(hours: Interval, price: Price) -> str:
    """How a machine line was got, as a reviewer reads it.

    >>> hours_in_words(Interval(Decimal(0), Decimal(300), Decimal(730)), Priced(Decimal("0.8048"), "list", ""))
    '0.8048/h x 300 h, 0 to 730'
    """
    rate = f"{price.amount.normalize():f}/h" if isinstance(price, Priced) else "?/h"
    if hours.floor == hours.ceiling:
        return f"{rate} x {_plain(hours.expected)} h"
    return f"{rate} x {_plain(hours.expected)} h, {_plain(hours.floor)} to {_plain(hours.ceiling)}"


def _plain(value: Decimal) -> str:
    return f"{value.quantize(Decimal('0.1')).normalize():f}"


def _weak(price: Price) -> str:
    if isinstance(price, Unpriced):
        return ""
    return "estimated price" if price.source.startswith("estimate") else ""
