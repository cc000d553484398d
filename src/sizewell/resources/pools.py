"""Machine-hours of a pool, whatever the cloud: sizes as recorded, hours as registered, markets as they really are."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.schedules import schedule_of
from sizewell.resources.sizes import UNSIZED, Mix, Size
from sizewell.resources.values import Count, Flag, Text, cloud_of, count, get, number, text
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.billing.tariff import COMMITTED
from sizewell.sizing.catalog.machine_prices import vcpus_by_name
from sizewell.sizing.money import HOURS_PER_MONTH, ZERO, Interval, LineItem, Priced

if TYPE_CHECKING:
    from sizewell.resources.context import Context

SURCHARGED: Final = ("sagemaker", "vertex")  # services whose surcharge a line names; Azure ML's is nothing


def pool_hours(
    resource: RecordedResource, context: Context, size: Size, instance_type: str
) -> tuple[Interval, str] | None:
    """Hours from the usage file, else as the component registered them for this machine type, else by the schedule
    that the plan gives the pool, else from the sizes; and why they are weak.
    """
    stated = context.usage.of(resource, "machine_hours")
    if stated is not None:
        return stated, "assumed usage"
    registration = context.graph.registration(resource)
    # A component registers the hours of one machine type. Other machines that it makes (the system nodes of a cluster)
    # have the same registration above them, and go by their own sizes.
    if registration is not None and registration.get("instanceType") == instance_type:
        hours = registration.get("nodeHoursPerMonth")
        if hours is UNKNOWN:
            return None
        bounds = [number(get(hours, key)) for key in ("floor", "expected", "ceiling")]
        if all(isinstance(bound, Decimal) for bound in bounds):
            floor, expected, ceiling = (amount(bound) for bound in bounds if isinstance(bound, Decimal))
            return Interval(floor, expected, ceiling), ""
    schedule = schedule_of(context.graph, resource)
    return size.hours() if schedule is None else schedule.hours(size)


def kept_hours(
    resource: RecordedResource, context: Context, size: Size, instance_type: str
) -> tuple[Interval, str] | None:
    """Hours of what one machine keeps while it is stopped, as its disks: a schedule of the plan saves none of them."""
    if context.usage.of(resource, "machine_hours") is None and context.graph.registration(resource) is None:
        return size.hours()
    return pool_hours(resource, context, size, instance_type)


def machines(
    resource: RecordedResource,
    context: Context,
    *,
    instance_type: Text,
    market: Text,
    size: Size,
    label: str = "",
    premium: str = "",
    region: Text | None = None,
) -> LineItem:
    """One pool's machine-hours. `premium` names a managed service whose surcharge is part of the hour."""
    shown = label or (instance_type if isinstance(instance_type, str) and instance_type else "machine")
    if isinstance(instance_type, Unknown) or instance_type == "":
        return context.unpriced(resource, shown, "the machine type is known only after deployment")
    if isinstance(market, Unknown):
        return context.unpriced(resource, shown, "the market is known only after deployment")
    where = context.region(resource) if region is None else region
    if isinstance(where, Unknown) or where == "":
        return context.unpriced(resource, shown, "the region is not known")
    bounded = pool_hours(resource, context, size, instance_type)
    if bounded is None:
        return context.unpriced(resource, f"{instance_type}, {market}, {where}", size.unbounded())
    hours, why = bounded
    registration = context.graph.registration(resource)
    if market == "on-demand" and registration is not None and registration.get("instanceType") == instance_type:
        declared = registration.get("market")
        if declared in COMMITTED:
            market = str(declared)
    component = context.graph.component(resource)
    charge = charges.machines(component, instance_type, hours, market=market)
    if why:
        charge = charge._replace(confidence=why)
    if premium:
        named = f"{premium} surcharge" if premium in SURCHARGED else ""
        charge = charge._replace(service=premium, premium=named)
    return context.line(resource, charge, where)


def shares(whole: LineItem, spot: LineItem, mix: Mix, size: Size) -> list[LineItem]:
    """The line of each market of a pool that mixes them, from the line of all its machines in either market: a share
    without a price hides none of the other's.
    """
    if "?" in (whole.unit, spot.unit):  # how many machines there are is not known either
        return [whole if whole.unit == "?" else spot]
    firm = [
        mix.on_demand(machines, _running(machines, wanted, size)) * HOURS_PER_MONTH
        for machines, wanted in zip(
            (hours / HOURS_PER_MONTH for hours in _bounds(whole)), (size.least, size.wanted, size.most), strict=True
        )
    ]
    rest = [max(hours - share, Decimal(0)) for hours, share in zip(_bounds(spot), firm, strict=True)]
    return [
        replace(line, quantity=Interval(*map(amount, sorted(hours))), how=f"{line.how}; its share of the mix")
        for line, hours in ((whole, firm), (spot, rest))
        if max(hours) > 0
    ]


def _running(machines: Decimal, wanted: Count, size: Size) -> int:
    """How many machines run at a time, of which the month has `machines` on average; 0 where no size says so."""
    known = [each for each in (wanted, size.wanted, size.most) if isinstance(each, int) and each >= machines]
    return known[0] if known else 0


def _bounds(line: LineItem) -> tuple[Decimal, Decimal, Decimal]:
    return line.quantity.floor, line.quantity.expected, line.quantity.ceiling


def started_jobs(resource: RecordedResource, context: Context, *, service: str) -> tuple[LineItem, ...]:
    """Machines of the jobs that a pipeline or workflow starts: as many as its component registered.

    A managed service's spot machines have no list price: they are priced as on-demand, which is never too little.
    """
    registration = context.graph.registration(resource)
    kind = text(get(registration, "instanceType"))
    hours = get(registration, "nodeHoursPerMonth")
    size = Size(least=0, wanted=0, most=count(get(registration, "nodesMax")))
    if kind == "" or (hours is None and size.most is None):
        context.outside.append(
            f"{context.graph.component(resource)}: jobs that {resource.name} starts: not stated, not in totals"
        )
        return ()
    line = machines(resource, context, instance_type=kind, market="on-demand", size=size, premium=service)
    spot = get(registration, "market") == "spot" and isinstance(line.price, Priced)
    return (replace(line, how=f"{line.how}; spot as on-demand", confidence="spot costs less") if spot else line,)


def by_the_hour(
    resource: RecordedResource,
    context: Context,
    *,
    what: str,
    key: str,
    unit: str,
    each: Decimal | Unknown,
    hours: tuple[Interval, str] | None,
) -> LineItem:
    """What each machine of a pool has beside itself and bills by its hours: `each` of it."""
    if hours is None or isinstance(each, Unknown):
        lacks = "how much is known only after deployment" if hours else "the number of machines is unlimited"
        return context.unpriced(resource, what, lacks)
    how = f"{each.normalize():f} for each machine-hour"
    quantity = hours[0].times(each)
    return context.fee(resource, what=what, key=key, unit=unit, quantity=quantity, how=how, confidence=hours[1])


def addresses(
    resource: RecordedResource,
    context: Context,
    *,
    public: Flag,
    hours: tuple[Interval, str] | None,
    key: str = "ipv4.hour",
    each: int = 1,
) -> list[LineItem]:
    """Public IPv4 addresses that each machine of a pool has, by its hours; from none on, where that is not known."""
    if public is False:
        return []
    what = "public IPv4 address"
    if public is UNKNOWN and hours is not None:
        hours = Interval(ZERO.floor, hours[0].expected, hours[0].ceiling), "not known whether its machines have one"
    return [by_the_hour(resource, context, what=what, key=key, unit="hour", each=Decimal(each), hours=hours)]


def licences(
    resource: RecordedResource,
    context: Context,
    *,
    instance_type: Text,
    system: str,
    hours: tuple[Interval, str] | None,
) -> list[LineItem]:
    """The licence of an operating system, "" for one that costs nothing: Windows bills by vCPU-hour.

    Types that pay a rate of their own for it, and other systems, are unpriced.
    """
    if not system:
        return []
    what, cloud = f"{system} licence", cloud_of(resource.type)
    cores = vcpus(context, cloud, str(instance_type))
    other = isinstance(instance_type, Unknown) or context.catalog.says(cloud, instance_type, "own-windows-rate")
    if system != "Windows" or other or cores is None:
        return [context.unpriced(resource, what, f"its rate on {instance_type} is not in the catalog")]
    each = Decimal(cores)
    key, unit = "windows.vcpu_hour", "vCPU-hour"
    return [by_the_hour(resource, context, what=what, key=key, unit=unit, each=each, hours=hours)]


def vcpus(context: Context, cloud: str, instance_type: str) -> int | None:
    """VCPUs of a machine type: of its shape, else as its name states them; None where neither says."""
    shape = context.catalog.shapes_by_type.get((cloud, instance_type))
    return shape.vcpus if shape is not None else vcpus_by_name(instance_type)


def on_host(resource: RecordedResource, context: Context, host: str) -> None:
    """Name beside the totals that machines stand on a host that is billed whole, where the program has none of them."""
    if not context.graph.of(host):
        name = context.graph.component(resource)
        context.outside.append(f"{name}: machine ({resource.name}): on a dedicated host that is not in this program")


def licence_not_known(resource: RecordedResource, context: Context) -> None:
    """Name beside the totals that an image is looked up, and with it whether its operating system is billed."""
    name = context.graph.component(resource)
    why = "its image is known only after deployment: Windows, Red Hat, SUSE and marketplace images bill by the hour"
    context.outside.append(f"{name}: licence ({resource.name}): {why}")


def disk(
    resource: RecordedResource,
    context: Context,
    *,
    gigabytes: Decimal | Unknown | None,
    key: str,
    hours: tuple[Interval, str] | None,
    what: str = "boot disks",
) -> LineItem:
    """Disks that live as long as their machines."""
    shown = f"{what}, {key}"
    if not isinstance(gigabytes, Decimal):
        reason = "the size is known only after deployment" if gigabytes is UNKNOWN else "no size is stated"
        return context.unpriced(resource, shown, reason)
    if hours is None:
        return context.unpriced(resource, shown, "the number of machines is unlimited")
    charge = charges.disks(context.graph.component(resource), gigabytes, key, hours[0], what=what)
    return context.line(resource, charge._replace(confidence=UNSIZED) if hours[1] == UNSIZED else charge)


def standing_disk(resource: RecordedResource, context: Context, *, gigabytes: object, key: str, what: str) -> LineItem:
    """Storage that is billed around the clock, machines or not."""
    size = number(gigabytes)
    if not isinstance(size, Decimal):
        reason = "the size is known only after deployment" if size is UNKNOWN else "no size is stated"
        return context.unpriced(resource, f"{what}, {key}", reason)
    return context.line(resource, charges.storage(context.graph.component(resource), what, size, key))
