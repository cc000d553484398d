"""Own commitments and purchased blocks over all stacks of a preview: each is used once, and what nobody uses bills on.

A commitment belongs to the account that pays, whatever stacks stand in it. A stack keeps what it had before the change;
what becomes free, or was never used, goes to the others in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from sizewell.resources import aws_nodes, savings
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.resources.values import canonical, get
from sizewell.sizing.catalog.rates import USD, Discounts, SharedOut, committed
from sizewell.sizing.money import HOURS_PER_MONTH, Asked, Interval, LineItem, Priced, Unpriced

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog

Hours = dict[Asked, Decimal]  # machines that a commitment covers -> hours a month
NOTHING = Decimal(0)
Bought = TypeVar("Bought", bound=Hashable)  # what tells apart what is shared out


def granted(rates: Discounts, needs: Sequence[Hours], on: date, kept: Sequence[Hours] = ()) -> list[Hours]:
    """Hours of each commitment for each stack: first those it has already (`kept`), then what is left, in order.

    >>> from sizewell.sizing.catalog.rates import Commitment
    >>> one = Commitment(cloud="aws", instance_type="g6.xlarge", region="us-east-1", count=1, usd_per_hour=Decimal(1),
    ...                  until=date(2027, 1, 1))
    >>> need = {one.asked: Decimal(500)}
    >>> [list(each.values()) for each in granted(Discounts(commitments=(one,)), [need, need], date(2026, 11, 22))]
    [[Decimal('500')], [Decimal('230')]]
    """
    bought = {asked: each.count * HOURS_PER_MONTH for asked, each in rates.standing(on).items()}
    return _shared_out(bought, needs, kept)


def _shared_out(
    bought: Mapping[Bought, Decimal],
    needs: Sequence[Mapping[Bought, Decimal]],
    kept: Sequence[Mapping[Bought, Decimal]],
) -> list[dict[Bought, Decimal]]:
    held: list[Mapping[Bought, Decimal]] = list(kept) or [{} for _ in needs]
    grants = [
        {what: min(had.get(what, NOTHING), need.get(what, NOTHING)) for what in bought}
        for had, need in zip(held, needs, strict=True)
    ]
    for what, hours in bought.items():
        free = hours - sum((grant[what] for grant in grants), NOTHING)
        for grant, need in zip(grants, needs, strict=True):
            more = min(need.get(what, NOTHING) - grant[what], free)
            grant[what] += more
            free -= more
    return grants


def needed(items: Iterable[LineItem]) -> Hours:
    """The most machine-hours a month of each kind that a commitment may cover."""
    hours: Hours = {}
    for item in items:
        if item.asked is not None and item.unit.endswith("hour") and item.cadence == "monthly":
            hours[item.asked] = hours.get(item.asked, NOTHING) + item.quantity.ceiling
    return hours


def unused(
    rates: Discounts, before: Sequence[Sequence[LineItem]], after: Sequence[Sequence[LineItem]], on: date
) -> list[tuple[LineItem, ...]]:
    """Lines of hours that a stack used before the change and none uses after it: they are paid until the term ends."""
    lines: list[list[LineItem]] = [[] for _ in after]
    for asked, commitment in rates.standing(on).items():
        was = [_covered(items, asked) for items in before]
        now = [_covered(items, asked) for items in after]
        rest = [max(_sum(was, bound) - _sum(now, bound), NOTHING) for bound in _BOUNDS]
        for number, (earlier, later) in enumerate(zip(was, now, strict=True)):
            idle = [
                min(max(getattr(earlier, bound) - getattr(later, bound), NOTHING), left)
                for bound, left in zip(_BOUNDS, rest, strict=True)
            ]
            if not any(idle):
                continue
            rest = [left - hours for left, hours in zip(rest, idle, strict=True)]
            line = next(item for item in before[number] if _is_covered(item, asked))
            price = committed(Unpriced(""), commitment.usd_per_hour, on)  # nothing is listed for hours of nobody
            how = f"{commitment.count} committed until {commitment.until.isoformat()}: paid, used or not"
            lines[number].append(
                replace(
                    line, what=commitment.covers + _GIVEN_UP, unit="hour", price=price, how=how,
                    quantity=Interval(*sorted(idle)), cadence="monthly", confidence="", asked=None,
                )
            )  # fmt: skip
    return [tuple(each) for each in lines]


_GIVEN_UP = ", committed but unused"
_BOUNDS = ("floor", "expected", "ceiling")


def _is_covered(item: LineItem, asked: Asked) -> bool:
    return item.asked == asked and isinstance(item.price, Priced) and item.price.terms == "own commitment"


def _covered(items: Iterable[LineItem], asked: Asked) -> Interval:
    covered = [item.quantity for item in items if _is_covered(item, asked)]
    return sum(covered, Interval(NOTHING, NOTHING, NOTHING))


def _sum(intervals: Iterable[Interval], bound: str) -> Decimal:
    return sum((getattr(interval, bound) for interval in intervals), NOTHING)


def in_use(rates: Discounts, needs: Sequence[Hours], after: Sequence[Sequence[LineItem]], on: date) -> dict[Asked, str]:
    """How much of each commitment all stacks use together, which share of their hours it covers, and what is left over.

    `after` has the lines of hours that were given up, which are in the totals.
    """
    said: dict[Asked, str] = {}
    for asked, commitment in rates.standing(on).items():
        what = commitment.covers
        used = _sum([_covered(items, asked) for items in after], "expected")
        running = [item.quantity.expected for items in after for item in items if item.asked == asked]
        needed_hours = sum(running, NOTHING)
        if not any(need.get(asked) for need in needs) or not needed_hours:
            continue
        whole = commitment.count * HOURS_PER_MONTH
        said[asked] = (
            f"the commitment to {commitment.count} x {what} is {100 * used / whole:.0f} % used, {used:,.0f} of "
            f"{whole:,.0f} hours a month, and covers {100 * used / needed_hours:.0f} % of those that run"
        )
        given_up = _sum(
            [item.quantity for items in after for item in items if item.what == what + _GIVEN_UP], "expected"
        )
        if left := max(whole - used - given_up, NOTHING):
            usd = left * commitment.usd_per_hour
            said[asked] += f"; {usd:,.2f} USD a month is left over, is billed all the same and is in no total"
    return said


def elsewhere(rates: Discounts, grants: Sequence[Hours], others: Sequence[str], on: date) -> str:
    """A note where a commitment is used and stacks of the project were not looked at, which may use it as well."""
    standing = rates.standing(on)
    used = {asked for grant in grants for asked, hours in grant.items() if hours}
    names = sorted(each.covers for asked, each in standing.items() if asked in used)
    if not names or not others:
        return ""
    return f"the commitment to {', '.join(names)} is counted here in full: {_named(others)} may use it as well"


def planned(
    plan: SharedOut,
    before: Sequence[Sequence[LineItem]],
    after: Sequence[Sequence[LineItem]],
    others: Sequence[str],
    catalog: Catalog,
) -> tuple[list[tuple[LineItem, ...]], list[tuple[LineItem, ...]], list[dict[str, Decimal]], str]:
    """The lines of all stacks with a plan used, before the change and after it, what each held of it before, and what
    to say of it.

    What was used before and is not after it is paid all the same: a line of the stack that used it.
    """
    needs = [savings.needed(plan, items, catalog) for items in after]
    held = _shared_out(plan.bought, [savings.needed(plan, items, catalog) for items in before], ())
    given = _shared_out(plan.bought, needs, held)
    was, now = (
        [savings.with_plan(plan, items, amounts, catalog) for items, amounts in zip(lines, grants, strict=True)]
        for lines, grants in ((before, held), (after, given))
    )
    earlier, later = ([tuple(items) for items, _ in side] for side in (was, now))
    spent = [[savings.spent(plan, items) for items in side] for side in (earlier, later)]
    rest = max(sum(spent[0], NOTHING) - sum(spent[1], NOTHING), NOTHING)
    for number, (used, uses) in enumerate(zip(*spent, strict=True)):
        idle = min(max(used - uses, NOTHING), rest)
        rest -= idle
        if idle:
            line = next(item for item in earlier[number] if savings.is_covered(plan, item))
            assert isinstance(line.price, Priced)  # noqa: S101 - a plan covers what has a price alone
            price = replace(line.price, amount=idle / HOURS_PER_MONTH, listed=None)  # nothing is listed for no hours
            later[number] += (
                replace(
                    line, what=f"{plan.kind}, committed but unused", unit="hour", price=price, confidence="",
                    how=f"{plan.title}: paid, used or not", quantity=Interval.exactly(HOURS_PER_MONTH), asked=None,
                ),
            )  # fmt: skip
    return earlier, later, held, _use(plan, _together(used for _, used in now), _together(needs), others)


def _together(amounts: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for each in amounts:
        for name, amount in each.items():
            sums[name] = sums.get(name, NOTHING) + amount
    return sums


def _use(plan: SharedOut, used: Mapping[str, Decimal], needs: Mapping[str, Decimal], others: Sequence[str]) -> str:
    """How much of a plan is used, what is left over, and which share of what it may cover it covers."""
    if not any(used.values()):
        return f"the {plan.title} covers nothing here"
    shares = [
        f"{100 * used[name] / whole:.0f} % used, {_shown(name, used[name])} of {_shown(name, whole)} {name} a month"
        for name, whole in plan.bought.items()
        if whole
    ]
    covered = [100 * used[name] / needs[name] for name in plan.bought if needs.get(name)]
    said = f"the {plan.title} is {' and '.join(shares)}, and covers {min(covered):.0f} % of what it may"
    left = sum(((whole - used[name]) * plan.usd_of[name] for name, whole in plan.bought.items()), NOTHING)
    if left > 0:
        said += f"; {left:,.2f} USD a month is left over, is billed all the same and is in no total"
    return f"{said}; {_named(others)} may use it as well" if others else said


def _shown(name: str, amount: Decimal) -> str:
    return f"{amount:,.2f}" if name == USD else f"{amount:,.0f}"


def _named(others: Sequence[str]) -> str:
    return f"{', '.join(others[:3])}{f' and {len(others) - 3} more' if len(others) > 3 else ''}"


def blocks_of(plan: Plan) -> dict[str, str]:
    """URN -> the id of the block that it stands in, of pools that name one which is bought already."""
    graph = Graph(plan)
    named: dict[str, str] = {}
    for resource in plan.resources:
        read = _TEMPLATES.get(canonical(resource.type))
        stated = None if read is None else read(graph, resource)
        block = get(stated, "capacityReservationSpecification", "capacityReservationTarget", "capacityReservationId")
        if isinstance(block, str) and block:
            named[resource.urn] = block
    return named


def once(
    sides: Sequence[tuple[Mapping[str, str], Sequence[LineItem]]], paid: Mapping[str, int]
) -> tuple[list[tuple[LineItem, ...]], dict[str, int]]:
    """Lines of stacks whose pools stand in the same purchased blocks: of each block the purchase counts once.

    `sides` has the blocks and lines of each stack; `paid` says which stack's line counted before the change. Where
    nobody's did, the largest counts. Returns the lines, and which stack's line counts.
    """
    counted = dict(paid)
    for number, (blocks, items) in enumerate(sides):
        for item in _of_blocks(blocks, items):
            block = blocks[item.resource]
            rival = counted.setdefault(block, number)
            if block not in paid and _largest(sides[rival], block) < item.quantity.ceiling:
                counted[block] = number
    lines = []
    for number, (blocks, items) in enumerate(sides):
        prepaid = [item for item in _of_blocks(blocks, items) if counted[blocks[item.resource]] != number]
        lines.append(
            tuple(
                replace(item, quantity=_NONE, how=f"in block {blocks[item.resource]}, which is paid once")
                if item in prepaid
                else item
                for item in items
            )
        )
    return lines, counted


_NONE = Interval(NOTHING, NOTHING, NOTHING)


def _of_blocks(blocks: Mapping[str, str], items: Iterable[LineItem]) -> list[LineItem]:
    return [item for item in items if item.cadence == "once" and item.resource in blocks]


def _largest(side: tuple[Mapping[str, str], Sequence[LineItem]], block: str) -> Decimal:
    sizes = [item.quantity.ceiling for item in _of_blocks(*side) if side[0][item.resource] == block]
    return max(sizes, default=NOTHING)


def _inputs(_: Graph, resource: RecordedResource) -> object:
    return resource.inputs


_TEMPLATES: Mapping[str, Callable[[Graph, RecordedResource], object]] = {
    "aws:autoscaling/group:Group": lambda graph, group: aws_nodes.group_nodes(graph, group).template_inputs,
    "aws:ec2/fleet:Fleet": lambda graph, fleet: aws_nodes.fleet_nodes(graph, fleet).template_inputs,
    "aws:eks/nodeGroup:NodeGroup": lambda graph, group: aws_nodes.node_group_nodes(graph, group).template_inputs,
    "aws:ec2/instance:Instance": _inputs,
}
