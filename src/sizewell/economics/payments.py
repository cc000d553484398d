"""What is paid when: line items over months, added up by the arithmetic of every other bill."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from sizewell.sizing.money import Interval, LineItem, Priced, Unpriced


class Payment(NamedTuple):
    """A line item, of each month from `first` to `last` or once at the end of `first`; month 0 is before the first."""

    item: LineItem
    first: int
    last: int


def once(item: LineItem, month: int = 0) -> Payment:
    """A payment at the end of a month; by default before the first."""
    return Payment(replace(item, cadence="once"), month, month)


def monthly(items: Iterable[LineItem], months: Decimal | int) -> tuple[Payment, ...]:
    """The lines of a bill, month by month; of a part of the last month, so much of each."""
    items, whole = tuple(items), int(months)
    rest = Decimal(months) - whole
    paid = [Payment(item, 1, whole) for item in items if whole]
    if rest:
        paid += [Payment(replace(item, quantity=item.quantity.times(rest)), whole + 1, whole + 1) for item in items]
    return tuple(paid)


def paid_by(payments: Iterable[Payment], month: int) -> Decimal:
    """What is paid by the end of a month, in US dollars to the cent; lines without a price are left out.

    >>> from sizewell.sizing.money import Priced
    >>> third = LineItem(component="a", what="", unit="", quantity=Interval.exactly(Decimal(1)), price=Priced(
    ...     Decimal(100) / 3, "", ""))
    >>> [str(paid_by(monthly([third], 3), month)) for month in range(4)]
    ['0.00', '33.33', '66.67', '100.00']
    """
    usd = Decimal("0.00")
    for item, first, last in payments:
        times = min(month, last) - first + 1
        if times > 0 and isinstance(item.price, Priced):
            cost = replace(item, quantity=Interval.exactly(item.quantity.expected * times)).cost()
            usd += Decimal(0) if isinstance(cost, Unpriced) else cost.expected
    return usd


def last_month(payments: Sequence[Payment]) -> int:
    """The last month in which something is paid."""
    return max((payment.last for payment in payments), default=0)


def cash_flow(payments: Sequence[Payment], months: int) -> tuple[Decimal, ...]:
    """What is paid before the first month and in each; the sum is the total, as each is what a month adds to it."""
    ends = [paid_by(payments, month) for month in range(max(months, last_month(payments)) + 1)]
    return (ends[0], *(now - before for before, now in itertools.pairwise(ends)))


def total_usd(payments: Sequence[Payment]) -> Decimal:
    """All of it."""
    return paid_by(payments, last_month(payments))


def unpriced(payments: Iterable[Payment]) -> tuple[str, ...]:
    """The lines without a price, with the reason, each once."""
    reasons = (f"{each.item.what}: {each.item.price.reason}" for each in payments
               if isinstance(each.item.price, Unpriced))  # fmt: skip
    return tuple(dict.fromkeys(reasons))
