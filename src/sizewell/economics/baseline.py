"""How much to commit to: the purchases of several terms that cost least together with the hours above them.

A commitment covers the machines that are needed longest, so the hours above it are those of the sorted demand: each
machine less costs the hours of one step more than the one before. Every machine of the peak is then a way through the
months, on commitments or on hours above them, whose price rises with the number that take it: a flow of least cost,
found exactly by the shortest ways one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from sizewell.economics.demand import Demand
from sizewell.sizing.money import HOURS_PER_MONTH


class Term(NamedTuple):
    """What is sold for a time: around the clock, whether it is used or not."""

    market: str
    months: int
    usd_per_month: Decimal  # of a machine


class Purchase(NamedTuple):
    """So many machines committed from the beginning of a month on, the first being 0."""

    month: int
    term: Term
    machines: int

    @property
    def end(self) -> int:
        """The month that its term ends before."""
        return self.month + self.term.months


_PARTS: Final = 10**9


class _Way(NamedTuple):
    """An edge of the flow, and what a machine on it costs."""

    start: int
    end: int
    cost: int  # of a machine, in _PARTS of a dollar: sums of whole numbers are exact, and the search ends
    room: int
    kind: str  # "above", or the market of a term
    back: bool


def baseline(months: Sequence[Demand], terms: Sequence[Term], usd_per_hour: Decimal) -> tuple[Purchase, ...]:
    """The purchases that cost least over some months with what is above them at `usd_per_hour`.

    A term that goes on after the last month is paid whole. Of purchases that cost the same, those begin first that
    leave no more machines idle.

    >>> from sizewell.economics.demand import Step
    >>> day = Demand((Step(1, Decimal(730)), Step(1, Decimal(200))))
    >>> [(p.month, p.machines) for p in baseline([day] * 12, [Term("reserved-1y", 12, Decimal(438))], Decimal(1))]
    [(0, 1)]
    """
    peak = max((demand.machines for demand in months), default=0)
    # What one more machine above the commitments costs in each month: the machine that is needed least comes first.
    above = [
        [(peak - demand.machines, 0), *((s.machines, _cost(s.hours * usd_per_hour)) for s in reversed(demand.steps))]
        for demand in months
    ]
    taken = [0] * len(months)
    bought: dict[tuple[int, Term], int] = {}
    left = peak
    while left:
        path = _cheapest(above, taken, bought, terms)
        machines = min(left, *(edge.room for edge in path))
        for edge in path:
            change = -machines if edge.back else machines
            if edge.kind == "above":
                taken[min(edge.start, edge.end)] += change
                continue
            term = next(term for term in terms if term.market == edge.kind)
            key = (edge.end if edge.back else edge.start, term)
            bought[key] = bought.get(key, 0) + change
        left -= machines
    plan = tuple(Purchase(month, term, count) for (month, term), count in sorted(bought.items()) if count)
    return _begun(months, plan, usd_per_hour)


def _begun(months: Sequence[Demand], plan: tuple[Purchase, ...], usd_per_hour: Decimal) -> tuple[Purchase, ...]:
    """The same purchases earlier, where that costs nothing and leaves no more idle."""

    def worth(of: Sequence[Purchase]) -> tuple[Decimal, Decimal]:
        covered = sum((d.hours - d.hours_beyond(held(of, month)) for month, d in enumerate(months)), Decimal(0))
        idle = sum(held(of, month) for month in range(len(months))) * HOURS_PER_MONTH - covered
        return round(cost_usd(months, of, usd_per_hour), 6), round(idle, 6)

    best = worth(plan)
    for place, each in enumerate(plan):
        for month in range(each.month):
            moved = (*plan[:place], each._replace(month=month), *plan[place + 1 :])
            cost, idle = worth(moved)
            if cost <= best[0] and idle <= best[1]:
                plan, best = moved, (cost, idle)
                break
    return tuple(sorted(plan, key=lambda each: each.month))


def cost_usd(months: Sequence[Demand], purchases: Sequence[Purchase], usd_per_hour: Decimal) -> Decimal:
    """What purchases cost together with the hours above them."""
    committed = sum((each.machines * each.term.months * each.term.usd_per_month for each in purchases), Decimal(0))
    beyond = (demand.hours_beyond(held(purchases, month)) for month, demand in enumerate(months))
    return committed + sum(beyond, Decimal(0)) * usd_per_hour


def held(purchases: Sequence[Purchase], month: int) -> int:
    """Machines that are committed in a month."""
    return sum(each.machines for each in purchases if each.month <= month < each.end)


def _cost(usd: Decimal) -> int:
    return int((usd * _PARTS).to_integral_value())


def _cheapest(
    above: Sequence[Sequence[tuple[int, int]]],
    taken: Sequence[int],
    bought: dict[tuple[int, Term], int],
    terms: Sequence[Term],
) -> list[_Way]:
    """The cheapest way for one machine more from the first month to the end, other machines moved where that helps."""
    last = len(above)
    edges: list[_Way] = []
    for month, steps in enumerate(above):
        edges += _above(month, steps, taken[month])
        edges += [
            _Way(
                month,
                min(month + term.months, last),
                _cost(term.months * term.usd_per_month) - month,
                1 << 30,
                term.market,
                False,
            )
            for term in terms
        ]
    edges += [
        _Way(
            min(month + term.months, last),
            month,
            month - _cost(term.months * term.usd_per_month),
            count,
            term.market,
            True,
        )
        for (month, term), count in bought.items()
        if count
    ]
    edges.sort(key=lambda edge: (edge.back, edge.start))
    cost: list[int | None] = [0, *[None] * last]
    by: list[_Way | None] = [None] * (last + 1)
    moved = True
    while moved:  # no way round costs less than nothing, so this ends
        moved = False
        for edge in edges:
            so_far, known = cost[edge.start], cost[edge.end]
            if so_far is not None and (known is None or so_far + edge.cost < known):
                cost[edge.end], by[edge.end], moved = so_far + edge.cost, edge, True
    path, at = [], last
    while at:
        step = by[at]
        assert step is not None  # noqa: S101 - every month has hours above the commitments
        path.append(step)
        at = step.start
    return path


def _above(month: int, steps: Sequence[tuple[int, int]], taken: int) -> list[_Way]:
    """The next machine above the commitments, and the last one back, in one month."""
    edges, reached = [], 0
    for machines, cost in steps:
        before, reached = reached, reached + machines
        if before <= taken < reached:
            edges.append(_Way(month, month + 1, cost, reached - taken, "above", False))
        if before < taken <= reached:
            edges.append(_Way(month + 1, month, -cost, taken - before, "above", True))
    return edges
