"""What stacks cost in the months ahead: the lines of their previews, at the prices and commitments of each day.

A month is 730 hours, as in every estimate; of a month in which a commitment begins or ends, or a stack ends, each part
counts by its days. What is paid once is paid in the month in which it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from sizewell.economics.bill import Charge
from sizewell.sizing.money import Interval, LineItem, Priced, Unpriced

UNUSED: Final = "commitments, unused"
NOTHING: Final = Decimal("0.00")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Whose a stack is, and until when it is."""

    stack: str
    owner: str = ""
    cost_center: str = ""
    environment: str = ""
    ends: date | None = None
    end_unread: str = ""  # what a tag states of an end that is no date
    budget_usd: Decimal | None = None  # a month
    begins: Mapping[str, date] | None = None  # component -> the day on which its block of capacity begins
    failed: bool = False  # its program, so that nobody knows what it costs
    outside: tuple[str, ...] = ()  # what is billed by a use that nobody stated, as its preview says it


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a stack, in US dollars by month."""

    component: str
    what: str
    usd: tuple[Decimal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One stack."""

    about: About
    months: int
    lines: tuple[Line, ...]
    unpriced: tuple[str, ...] = ()

    @property
    def usd(self) -> tuple[Decimal, ...]:
        return tuple(sum((line.usd[number] for line in self.lines), NOTHING) for number in range(self.months))

    def over(self) -> tuple[int, ...]:
        """The months, from 0, in which it costs more than its budget."""
        budget = self.about.budget_usd
        return () if budget is None else tuple(number for number, usd in enumerate(self.usd) if usd > budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """All stacks over some months."""

    months: tuple[date, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def usd(self) -> tuple[Decimal, ...]:
        return tuple(sum((row.usd[number] for row in self.rows), NOTHING) for number in range(len(self.months)))

    def by(self, key: str) -> dict[str, Decimal]:
        """Totals by an attribute of the stacks."""
        sums: dict[str, Decimal] = {}
        for row in self.rows:
            name = getattr(row.about, key)
            sums[name] = sums.get(name, NOTHING) + sum(row.usd, NOTHING)
        return dict(sorted(sums.items()))


def after(month: date) -> date:
    """The first day of the next month."""
    return (month.replace(day=1) + timedelta(days=32)).replace(day=1)


def months_from(on: date, count: int) -> tuple[date, ...]:
    """The first days of whole months, from a day on.

    >>> [day.isoformat() for day in months_from(date(2026, 11, 28), 2)]
    ['2026-12-01', '2027-01-01']
    """
    first = on if on.day == 1 else after(on)
    months = [first]
    while len(months) < count:
        months.append(after(months[-1]))
    return tuple(months)


def days_of(months: Iterable[date], changes: Iterable[date]) -> dict[date, tuple[date, ...]]:
    """The days of each month from which on other prices may hold: its first, and those of `changes` within it."""
    days = sorted(set(changes))
    return {month: (month, *(day for day in days if month < day < after(month))) for month in months}


def share_of(month: date, parts: Sequence[date], part: int, ends: date | None) -> Decimal:
    """The share of a month that one part of it is, until the stack ends."""
    begin = parts[part]
    end = parts[part + 1] if part + 1 < len(parts) else after(month)
    if ends is not None:
        end = min(end, ends)
    return Decimal(max((end - begin).days, 0)) / (after(month) - month).days


def cost_of(charge: Charge, share: Decimal) -> Decimal:
    """US dollars of a share of a line, to the cent."""
    if charge.unpriced or charge.usd_per_unit is None:
        return NOTHING
    item = LineItem(
        component=charge.component,
        what=charge.what,
        unit=charge.unit,
        quantity=Interval.exactly(charge.quantity * share),
        price=Priced(charge.usd_per_unit, "", ""),
    )
    cost = item.cost()
    return NOTHING if isinstance(cost, Unpriced) else cost.expected


def ahead(
    days: Mapping[date, tuple[date, ...]],
    charges: Mapping[date, Sequence[Charge]],
    stacks: Sequence[About],
    paid: Callable[[date], Decimal] | None,
    notes: Sequence[str] = (),
) -> Ahead:
    """`charges` are the lines at each day; `paid` says what is bought already costs a month on a day, None where other
    stacks may use it.
    """
    months = tuple(days)
    about = {each.stack: each for each in stacks}
    sums: dict[tuple[str, str, str], list[Decimal]] = {}
    unpriced: dict[str, dict[str, str]] = {name: {} for name in about}
    unused = [NOTHING] * len(months)
    for number, month in enumerate(months):
        for part, day in enumerate(days[month]):
            used = NOTHING
            for charge in charges[day]:
                own = about[charge.stack]
                if charge.unpriced:
                    # Once, with the first reason, which names a day.
                    unpriced[charge.stack].setdefault(f"{charge.component}: {charge.what}", charge.unpriced)
                if charge.once:
                    begins = (own.begins or {}).get(charge.component, months[0])
                    share = Decimal(part == 0 and begins.replace(day=1) == month)
                else:
                    share = share_of(month, days[month], part, own.ends)
                usd = cost_of(charge, share)
                line = sums.setdefault((charge.stack, charge.component, charge.what), [NOTHING] * len(months))
                line[number] += usd
                used += usd if charge.own_commitment else NOTHING
            if paid is not None:
                share = share_of(month, days[month], part, None)
                unused[number] += max((paid(day) * share).quantize(NOTHING) - used, NOTHING)
    rows = [
        Row(
            about=each,
            months=len(months),
            lines=tuple(
                Line(component=component, what=what, usd=tuple(usd))
                for (stack, component, what), usd in sums.items()
                if stack == each.stack
            ),
            unpriced=tuple(f"{what}: {reason}" for what, reason in unpriced[each.stack].items()),
        )
        for each in stacks
    ]
    if any(unused):
        rest = Line(component="", what="bought, and used by no stack", usd=tuple(unused))
        rows.append(Row(about=About(stack=UNUSED), months=len(months), lines=(rest,)))
    return Ahead(months=months, rows=tuple(rows), notes=tuple(notes))
