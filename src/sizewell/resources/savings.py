"""Savings plans over the lines of a bill: machines on demand at the price of the plan, as far as its dollars go.

What is committed is compared over a month, as the machines of a program are counted: in an hour in which more runs than
in others, the part above the commitment bills on demand, and an hour with less loses what it does not use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from sizewell.resources import sustained
from sizewell.sizing.catalog.rates import SavingsPlan
from sizewell.sizing.money import Interval, LineItem, Priced

SOURCE: Final = "own savings plan"  # how the source of a price begins that a plan lowers; the plan follows
_COMMITTED: Final = ("own savings plan", "own commitment")  # what is paid already takes no further discount
_NOTHING: Final = Decimal(0)


def spendable(plan: SavingsPlan, items: Iterable[LineItem]) -> Decimal:
    """US dollars a month, at its prices, that a plan could be used for."""
    each = ((line, rate_of(plan, line)) for line in items)
    return sum((line.quantity.expected * rate for line, rate in each if rate is not None), _NOTHING)


def spent(plan: SavingsPlan, items: Iterable[LineItem]) -> Decimal:
    """US dollars a month of a plan that the lines use."""
    ours = (line for line in items if is_covered(plan, line))
    return sum(
        (line.quantity.expected * line.price.amount for line in ours if isinstance(line.price, Priced)), _NOTHING
    )


def is_covered(plan: SavingsPlan, line: LineItem) -> bool:
    """Whether a line is the part of machines that a plan covers."""
    return isinstance(line.price, Priced) and line.price.source == f"own {plan.shown}"


def rate_of(plan: SavingsPlan, line: LineItem) -> Decimal | None:
    """US dollars an hour that a machine costs under a plan; None where it does not cover the line."""
    if line.asked is None or not line.is_on_demand or not isinstance(line.price, Priced):
        return None
    if line.price.terms in _COMMITTED:
        return None
    percent = plan.percent(line.asked.cloud, line.asked.machine, line.asked.region)
    return None if percent is None else sustained.without(line.price).amount * (100 - percent) / 100


def with_plan(plan: SavingsPlan, items: Iterable[LineItem], usd: Decimal) -> Iterator[LineItem]:
    """The lines with up to `usd` a month of a plan used: what is covered is a line of its own, at the plan's price.

    The expected hours are covered, those with the largest discount first. Above them, up to the ceiling, the price on
    demand stands, which is never too little.
    """
    lines = list(items)
    listed = [sustained.without(line.price) if isinstance(line.price, Priced) else line.price for line in lines]
    rates = {number: rate for number, line in enumerate(lines) if (rate := rate_of(plan, line)) is not None}
    covered: dict[int, Decimal] = {}
    for number in sorted(rates, key=lambda number: rates[number] / listed[number].amount):  # type: ignore[union-attr]
        hours = lines[number].quantity.expected
        if rates[number]:
            hours = min(hours, usd / rates[number])
        covered[number] = hours
        usd -= hours * rates[number]
    for number, line in enumerate(lines):
        hours, whole = covered.get(number, _NOTHING), line.quantity
        if not hours or not isinstance(line.price, Priced):
            yield line
            continue
        floor, before = min(whole.floor, hours), listed[number]
        price = replace(line.price.at(rates[number], "own savings plan", f"own {plan.shown}"), weak="")
        how = f"{rates[number].normalize():f}/h in the savings plan, {before.amount.normalize():f}/h on demand"  # type: ignore[union-attr]
        yield replace(line, quantity=Interval(floor, hours, hours), price=price, how=how)
        rest = Interval(whole.floor - floor, whole.expected - hours, whole.ceiling - hours)
        if rest.ceiling > 0:
            how = f"{line.how}; beyond the savings plan"
            # What is left of a machine has no discount for sustained use: it is not there for the whole month.
            yield from sustained.of_whole_months(replace(line, quantity=rest, how=how))
