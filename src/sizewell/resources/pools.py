"""Machine-hours of a pool, whatever the cloud: sizes as recorded, hours as registered, markets as they really are."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.schedules import schedule_of
from sizewell.resources.sizes import Size
from sizewell.resources.values import Text, cloud_of, count, get, number, text
from sizewell.sizing.billing.costing import amount, gigabyte_months, hours_in_words
from sizewell.sizing.money import Cadence, Interval, LineItem, Price, Priced, Unpriced

if TYPE_CHECKING:
    from sizewell.resources.context import Context

FINANCIAL_MARKETS: Final = (
    "reserved-1y",
    "reserved-3y",
)  # terms that no resource states: an on-demand machine has them
PREPAID: Final = ("capacity-block", "purchase")


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
        return context.unpriced(resource, shown, "the machine type is known only after the cloud has answered")
    if isinstance(market, Unknown):
        return context.unpriced(resource, shown, "the market is known only after the cloud has answered")
    where = context.region(resource) if region is None else region
    if isinstance(where, Unknown) or where == "":
        return context.unpriced(resource, shown, "the region is not known")
    found = pool_hours(resource, context, size, instance_type)
    if found is None:
        return context.unpriced(
            resource, f"{instance_type}, {market}, {where}", "nothing bounds the number of machines"
        )
    hours, why = found
    registration = context.graph.registration(resource)
    if market == "on-demand" and registration is not None and registration.get("instanceType") == instance_type:
        declared = registration.get("market")
        if declared in FINANCIAL_MARKETS:
            market = str(declared)
    rate = context.catalog.price(cloud_of(resource.type), instance_type, where, market, context.on)
    how = ""
    if premium:
        rate, how = with_premium(rate, instance_type, premium, context, where)
    cadence: Cadence = "once" if market in PREPAID else "monthly"
    confidence = why or ("estimated price" if isinstance(rate, Priced) and rate.source.startswith("estimate") else "")
    return LineItem(
        component=context.graph.component(resource),
        what=f"{instance_type}, {market}, {where}" + (f", {premium}" if premium else ""),
        unit="machine-hour",
        cadence=cadence,
        quantity=hours,
        price=rate,
        resource=resource.urn,
        how=hours_in_words(hours, rate) + how,
        confidence=confidence,
    )


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


def with_premium(rate: Price, instance_type: str, service: str, context: Context, region: str) -> tuple[Price, str]:
    """A machine's price under a managed service: SageMaker by type, Vertex AI in percent, Azure ML nothing."""
    if service == "sagemaker":
        percent: Price = context.catalog.sagemaker_premium(instance_type)
    elif service == "vertex":
        percent = context.catalog.fee("gcp", "vertex.training", region, context.on)
    else:
        return rate, ""
    if isinstance(percent, Unpriced):
        return percent, ""
    if isinstance(rate, Unpriced):
        return rate, ""
    raised = Priced(rate.amount * (100 + percent.amount) / 100, f"{rate.source}; {percent.source}", rate.date)
    return raised, f", {percent.amount.normalize():f} % {service} surcharge included"


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
        reason = "the size is known only after the cloud has answered" if gigabytes is UNKNOWN else "no size is stated"
        return context.unpriced(resource, shown, reason)
    if hours is None:
        return context.unpriced(resource, shown, "nothing bounds the number of machines")
    shown = f"{what} of {gigabytes.normalize():f} GB, {key}"
    return context.fee(
        resource,
        what=shown,
        key=key,
        unit="GB-month",
        quantity=gigabyte_months(gigabytes, hours[0]),
        how=f"{gigabytes.normalize():f} GB for each machine-hour, deleted with the machine",
    )


def standing_disk(resource: RecordedResource, context: Context, *, gigabytes: Any, key: str, what: str) -> LineItem:
    """Storage that bills around the clock, machines or not."""
    size = number(gigabytes)
    if not isinstance(size, Decimal):
        reason = "the size is known only after the cloud has answered" if size is UNKNOWN else "no size is stated"
        return context.unpriced(resource, f"{what}, {key}", reason)
    return context.fee(
        resource,
        what=f"{what}, {size.normalize():f} GB, {key}",
        key=key,
        unit="GB-month",
        quantity=Interval.exactly(amount(size)),
        how="bills also at zero machines",
    )
