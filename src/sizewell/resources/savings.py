"""What is bought already and covers machines of several types: savings plans, flexible reservations, vCPUs and memory.

What is committed is compared over a month, as the machines of a program are counted: in an hour in which more runs than
in others, the part above the commitment bills on demand, and an hour with less loses what it does not use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.resources import gcp_nodes, sustained
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import cloud_of, get, items, number, text
from sizewell.sizing.billing.tariff import Tariff
from sizewell.sizing.catalog.rates import (
    GB_HOURS,
    GPU_HOURS,
    UNITS,
    USD,
    VCPU_HOURS,
    ResourceCommitment,
    SavingsPlan,
    SharedOut,
    takes,
)
from sizewell.sizing.catalog.series import committed_machines, resources
from sizewell.sizing.money import Interval, LineItem, Priced, Terms

if TYPE_CHECKING:
    from sizewell.resources.context import Context
    from sizewell.sizing.catalog import Catalog

Amounts = Mapping[str, Decimal]  # so much of each thing that is bought: dollars, units of size, vCPU-hours, GB-hours
_COMMITTED: Final = ("own savings plan", "own commitment")  # what is paid already takes no further discount
_COMMITMENT: Final = "gcp:compute/regionCommitment:RegionCommitment"
_NOTHING: Final = Decimal(0)
_LEAST_HOURS: Final = Decimal("0.0001")  # a month
_PARTS: Final = ((VCPU_HOURS, "vCPU-hour", "vCPUs"), (GB_HOURS, "GB-hour", "memory"))


def of_program(context: Context) -> Iterator[tuple[RecordedResource, ResourceCommitment]]:
    """Resource-based commitments that a program makes. What they are to is billed with them, and its machines of that
    series do not bill it again. One of which something is not known covers nothing.
    """
    for resource in context.graph.of(_COMMITMENT):
        region, kind = context.region(resource), text(resource.inputs.get("type"), "GENERAL_PURPOSE")
        listed = items(resource.inputs.get("resources"))
        if isinstance(region, Unknown) or isinstance(kind, Unknown) or isinstance(listed, Unknown):
            continue
        amounts = {"VCPU": _NOTHING, "MEMORY": _NOTHING, "ACCELERATOR": _NOTHING}
        attached = ""
        for each in listed:
            named, many = text(get(each, "type")), number(get(each, "amount"))
            if named in amounts and isinstance(many, Decimal):
                amounts[named] += many
            if isinstance(accelerator := text(get(each, "acceleratorType")), str) and accelerator:
                attached = f"n1.gpu.{gcp_nodes.accelerator_name(accelerator)}.hour"
        if machines := committed_machines(kind):
            yield (
                resource,
                ResourceCommitment(
                    cloud=cloud_of(resource.type),
                    region=region,
                    machines=machines,
                    vcpus=amounts["VCPU"],
                    memory_gb=amounts["MEMORY"] / 1024,
                    usd_per_vcpu_hour=_NOTHING,
                    usd_per_gb_hour=_NOTHING,
                    gpus=amounts["ACCELERATOR"],
                    gpu_fee=attached,
                    until=date.max,
                    name=resource.name,
                ),
            )


def with_program(context: Context, lines: list[LineItem]) -> list[LineItem]:
    """The lines with the program's own commitments used, and how much of each its machines use."""
    for resource, each in of_program(context):
        lines, used = with_plan(each, lines, each.bought, context.catalog)
        if any(used.values()):
            share = " and ".join(f"{used[name]:,.0f} of {all_:,.0f} {name}" for name, all_ in each.bought.items())
            lines = [
                replace(line, how=f"{line.how}; machines here use {share}") if line.resource == resource.urn else line
                for line in lines
            ]
    return lines


def uses(plan: SharedOut, line: LineItem, catalog: Catalog) -> dict[str, Decimal] | None:
    """What an hour of a line's machine takes of a plan; None where it does not cover the line."""
    asked, price = line.asked, line.price
    if asked is None or not isinstance(price, Priced) or price.terms in _COMMITTED:
        return None
    if isinstance(plan, ResourceCommitment) and plan.gpu_fee and asked.fee == plan.gpu_fee:
        return {GPU_HOURS: Decimal(1)} if (asked.cloud, asked.region) == (plan.cloud, plan.region) else None
    if not line.is_on_demand:
        return None
    shape = catalog.shapes_by_type.get((asked.cloud, asked.machine))
    return takes(plan, asked, sustained.without(price).amount, shape)


def needed(plan: SharedOut, lines: Iterable[LineItem], catalog: Catalog) -> dict[str, Decimal]:
    """What the lines could use of a plan in a month."""
    sums: dict[str, Decimal] = {}
    for line in lines:
        for name, each in (uses(plan, line, catalog) or {}).items():
            sums[name] = sums.get(name, _NOTHING) + line.quantity.expected * each
    return sums


def spent(plan: SharedOut, lines: Iterable[LineItem]) -> Decimal:
    """US dollars a month of a plan that the lines use."""
    ours = (line for line in lines if is_covered(plan, line))
    return sum(
        (line.quantity.expected * line.price.amount for line in ours if isinstance(line.price, Priced)), _NOTHING
    )


def is_covered(plan: SharedOut, line: LineItem) -> bool:
    """Whether a line is what a plan covers."""
    return isinstance(line.price, Priced) and line.price.terms in _COMMITTED and line.price.source == _source(plan)


def with_plan(
    plan: SharedOut, lines: Iterable[LineItem], left: Amounts, catalog: Catalog
) -> tuple[list[LineItem], dict[str, Decimal]]:
    """The lines with as much of a plan used as there is left, and what they use of it.

    What is covered is a line of its own, at the plan's price. The expected hours are covered; above them, up to the
    ceiling, the price on demand stands, which is never too little.
    """
    lines, rest = list(lines), dict(left)
    each = {place: per for place, line in enumerate(lines) if (per := uses(plan, line, catalog)) is not None}
    made: dict[int, list[LineItem]] = {}
    for place in sorted(each, key=lambda place: _order(plan, lines[place], each[place])):
        line, per = lines[place], each[place]
        hours = _hours([line.quantity.expected, *(rest[name] / many for name, many in per.items() if many)])
        rest = {name: amount - hours * per.get(name, _NOTHING) for name, amount in rest.items()}
        covered, beyond = _split(line.quantity, hours)
        made[place] = [_at_plan(plan, line, per, covered)] if hours else []
        beyond = _with_parts(plan, line, per=per, beyond=beyond, rest=rest, made=made[place], catalog=catalog)
        if beyond.ceiling > 0:
            left_over = sustained.of_hours(replace(line, quantity=beyond))
            how = f"{left_over.how}; beyond the {plan.kind}" if made[place] else line.how
            made[place].append(replace(left_over, how=how))
    used = {name: amount - rest[name] for name, amount in left.items()}
    return [each for place, line in enumerate(lines) for each in made.get(place, [line])], used


def _with_parts(
    plan: SharedOut,
    line: LineItem,
    *,
    per: Amounts,
    beyond: Interval,
    rest: dict[str, Decimal],
    made: list[LineItem],
    catalog: Catalog,
) -> Interval:
    """Adds lines of machines of which the commitment has the vCPUs left, or the memory; the hours beyond these."""
    left = [name for name, many in per.items() if many and rest[name] > _LEAST_HOURS]
    price = line.price
    units = _unit_prices(line, per, catalog) if len(per) == len(_PARTS) and len(left) == 1 else None
    if units is None or not isinstance(price, Priced):
        return beyond
    (name,) = left
    hours = _hours([beyond.expected, rest[name] / per[name]])
    covered, beyond = _split(beyond, hours)
    rest[name] -= hours * per[name]
    for part, unit, what in _PARTS if hours else ():
        listed = replace(sustained.without(price), amount=units[part], listed=None)
        beside = sustained.likewise(price, listed)
        paid = _paid(plan, listed, plan.usd_of[part]) if part == name else beside
        off = " less the discount for sustained use" if beside is not listed else ""
        how = f"{per[part].normalize():f} for each machine-hour" + (
            "" if part == name else f"{off}; beyond the commitment"
        )
        made.append(
            replace(
                line, what=f"{line.what}: {what}", unit=unit, quantity=covered.times(per[part]), price=paid, how=how,
                asked=None,
            )
        )  # fmt: skip
    return beyond


def _unit_prices(line: LineItem, per: Amounts, catalog: Catalog) -> dict[str, Decimal] | None:
    """The price of a vCPU and of a gigabyte in a machine's own: from two types of its series with the same vCPUs."""
    if line.asked is None or not isinstance(line.price, Priced):
        return None
    name = line.asked.machine.partition("-")[0].replace("custom", "n1")
    tariff = Tariff(catalog, line.asked.cloud, line.asked.region, date.max)  # the newest of both, for their ratio
    sizes, prices = [], []
    for kind in (f"{name}-standard-8", f"{name}-highmem-8"):
        price = tariff.machine(kind)
        if not isinstance(price, Priced) or (has := resources(kind)) is None:
            return None
        sizes.append(has)
        prices.append(price.at_list().amount)
    gigabyte = (prices[1] - prices[0]) / (sizes[1].memory_gb - sizes[0].memory_gb)
    vcpu = (prices[0] - sizes[0].memory_gb * gigabyte) / sizes[0].vcpus
    whole = per[VCPU_HOURS] * vcpu + per[GB_HOURS] * gigabyte
    share = sustained.without(line.price).amount / whole  # of a price of one's own, in the same parts
    return {VCPU_HOURS: vcpu * share, GB_HOURS: gigabyte * share}


def _at_plan(plan: SharedOut, line: LineItem, per: Amounts, quantity: Interval) -> LineItem:
    assert isinstance(line.price, Priced)  # noqa: S101 - `uses` says so
    before = sustained.without(line.price)
    price = _paid(plan, before, sum((many * plan.usd_of[name] for name, many in per.items()), _NOTHING))
    how = f"{price.amount.normalize():f}/h in the {plan.kind}, {before.amount.normalize():f}/h on demand"
    if isinstance(plan, ResourceCommitment) and plan.name:
        how = f"in {plan.title}, which bills what it is to"
    return replace(line, quantity=quantity, price=price, how=how)


def _paid(plan: SharedOut, price: Priced, usd: Decimal) -> Priced:
    terms: Terms = "own savings plan" if isinstance(plan, SavingsPlan) else "own commitment"
    return replace(price.at(usd, terms, _source(plan)), weak="")


def _source(plan: SharedOut) -> str:
    return f"own {plan.title}"


def _hours(each: Iterable[Decimal]) -> Decimal:
    """The least of them; none where that is what a division leaves."""
    least = min(each)
    return least if least > _LEAST_HOURS else _NOTHING


def _split(whole: Interval, hours: Decimal) -> tuple[Interval, Interval]:
    """So many of the expected hours, and those beyond them."""
    floor = min(whole.floor, hours)
    return Interval(floor, hours, hours), Interval(whole.floor - floor, whole.expected - hours, whole.ceiling - hours)


def _order(plan: SharedOut, line: LineItem, per: Amounts) -> Decimal:
    """Savings plans take the largest discount first, reservations the smallest size."""
    if isinstance(plan, SavingsPlan) and isinstance(line.price, Priced):
        return per[USD] / sustained.without(line.price).amount if line.price.amount else _NOTHING
    return per.get(UNITS, _NOTHING)
