"""The table: each way's total and cash flow, where two change places, and where each is the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, pairwise
from typing import Final

from sizewell.economics.demand import Demand
from sizewell.economics.own import OWN
from sizewell.economics.payments import Payment, cash_flow, last_month, total_usd
from sizewell.economics.ways import ELSEWHERE, Way, Work, own_with, ways_of, without_price
from sizewell.sizing.billing.owning import ESTIMATE, Figure
from sizewell.sizing.billing.tariff import weakness
from sizewell.sizing.catalog.rates import OWN_RATE
from sizewell.sizing.money import Priced

ALL: Final = Decimal(1)
POINTS: Final = 20  # of the plot over utilization, beside those where a line bends
MOVED: Final = (Decimal("0.8"), Decimal("1.2"))  # times an input, for the sensitivity
_PLACES: Final = Decimal("0.0001")
Curve = Callable[[Decimal], Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One way over all months, in US dollars; None where it has no price."""

    way: Way
    usd: Decimal | None = None
    upfront_usd: Decimal | None = None
    by_month: tuple[Decimal, ...] = ()  # before the first month, and each
    usd_per_hour: Decimal | None = None  # of use of a machine
    usd_per_run: Decimal | None = None
    usd_per_million_tokens: Decimal | None = None
    halved_usd: Decimal | None = None  # if half the hours are needed
    wins: tuple[tuple[Decimal, Decimal], ...] = ()  # utilizations between which no other way is cheaper


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """Where two ways change places: `below` is cheaper under that utilization, `above` over it."""

    below: str
    above: str
    utilization: Decimal | None  # None: `below` is cheaper at every utilization

    @property
    def hours_per_day(self) -> Decimal | None:
        return None if self.utilization is None else 24 * self.utilization


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The break-even of owning against renting on demand where one input is a fifth less or more."""

    name: str
    figure: Figure
    less: Decimal | None  # None: renting is cheaper at every utilization
    more: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All of it."""

    work: Work
    rows: tuple[Row, ...]
    break_evens: tuple[BreakEven, ...]
    own: BreakEven | None  # own hardware against on demand
    effects: tuple[Effect, ...]
    # Utilization, and the total of each way with a price, but for another cloud: a part of that is in no figure.
    curves: tuple[tuple[Decimal, tuple[Decimal, ...]], ...]
    unpriced: tuple[str, ...]

    @property
    def owning_from(self) -> Decimal | None:
        """The utilization from which on own hardware is cheaper than on demand; None where it never is."""
        if self.own is None or (self.own.above != OWN and self.own.utilization is not None):
            return None
        if self.own.utilization is None:
            return Decimal(0) if self.own.below == OWN else None
        return self.own.utilization

    @property
    def priced(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.usd is not None)

    @property
    def cheapest(self) -> Row | None:
        """Of the ways that `size` would take for the spec."""
        return min((row for row in self.priced if not row.way.left_out), key=lambda row: row.usd or 0, default=None)


def compare(work: Work) -> Comparison:
    """Every way to pay for some work."""
    ways = ways_of(work)
    bends = work.bends
    curves = {way.key: curve_of(way, work.demand, bends) for way in ways if way.pay and way.key != ELSEWHERE}
    ranges = _cheapest(curves, bends)
    shown = sorted({*bends, *(Decimal(i) / POINTS for i in range(POINTS + 1)), work.demand.utilization})
    between = [each for a, b in combinations(curves, 2) for each in _changes(curves[a], curves[b], a, b, bends)]
    own = next((each for each in between if {each.below, each.above} == {OWN, "on-demand"}), None)
    return Comparison(
        work=work,
        rows=tuple(_row(way, work, ranges.get(way.key, ())) for way in ways),
        break_evens=tuple(between),
        own=own,
        effects=tuple(_effects(work, ways[0], bends)) if own else (),
        curves=tuple((at, tuple(curve(at) for curve in curves.values())) for at in shown),
        unpriced=without_price(work, ways),
    )


def curve_of(way: Way, demand: Demand, bends: Sequence[Decimal]) -> Curve:
    """What a way costs in all at a utilization; between two bends it is a straight line."""
    assert way.pay is not None  # noqa: S101 - only ways with a price have a curve
    ends = [(at, total_usd(way.pay(demand.at(at)))) for at in bends]

    def usd(utilization: Decimal) -> Decimal:
        for (low, less), (high, more) in pairwise(ends):
            if utilization <= high:
                return less + (more - less) * (utilization - low) / (high - low)
        return ends[-1][1]

    return usd


def _row(way: Way, work: Work, wins: tuple[tuple[Decimal, Decimal], ...]) -> Row:
    if way.pay is None:
        return Row(way=way)
    payments, demand = way.pay(work.demand), work.demand
    by_month = cash_flow(payments, max(work.months, last_month(payments)))
    usd = sum(by_month, Decimal(0))

    def per(quantity: Decimal | None) -> Decimal | None:
        return usd / (quantity * work.lasts_months) if quantity else None

    return Row(
        way=way,
        usd=usd,
        upfront_usd=by_month[0],
        by_month=by_month,
        usd_per_hour=per(demand.hours),
        usd_per_run=per(work.runs),
        usd_per_million_tokens=per(work.tokens and work.tokens / 1_000_000),
        halved_usd=total_usd(way.pay(demand.at(demand.utilization / 2))),
        wins=wins,
    )


def crossings(one: Curve, other: Curve, bends: Sequence[Decimal]) -> Iterator[Decimal]:
    """The utilizations at which two ways cost the same and change places."""
    before = Decimal(0)  # the sign of the last difference that was not 0
    for low, high in pairwise(bends):
        start, end = one(low) - other(low), one(high) - other(high)
        if start and before and (start > 0) != (before > 0):
            yield low
        before = start or before
        if end and start and (start > 0) != (end > 0):
            yield low + (high - low) * start / (start - end)
        before = end or before


def _changes(one: Curve, other: Curve, a: str, b: str, bends: Sequence[Decimal]) -> Iterator[BreakEven]:
    """Each place where two ways change; one record without a place where one of them is always cheaper."""
    points = list(crossings(one, other, bends))
    edges = [Decimal(0), *points, ALL]
    for number, point in enumerate(points, start=1):
        middle = (edges[number - 1] + point) / 2
        cheaper, dearer = (a, b) if one(middle) < other(middle) else (b, a)
        yield BreakEven(below=cheaper, above=dearer, utilization=point)
    if not points:
        cheaper, dearer = (a, b) if one(ALL / 2) <= other(ALL / 2) else (b, a)
        yield BreakEven(below=cheaper, above=dearer, utilization=None)


def _cheapest(curves: dict[str, Curve], bends: Sequence[Decimal]) -> dict[str, tuple[tuple[Decimal, Decimal], ...]]:
    """The utilizations between which each way is the cheapest of all."""
    points = {*bends}
    for one, other in combinations(curves.values(), 2):
        points.update(crossings(one, other, bends))
    ranges: dict[str, list[tuple[Decimal, Decimal]]] = {}
    for low, high in pairwise(sorted(points) if curves else ()):
        middle = (low + high) / 2
        best = min(curves, key=lambda key: curves[key](middle))
        mine = ranges.setdefault(best, [])
        if mine and mine[-1][1] == low:
            mine[-1] = (mine[-1][0], high)
        else:
            mine.append((low, high))
    return {key: tuple(each) for key, each in ranges.items()}


def _effects(work: Work, rented: Way, bends: Sequence[Decimal]) -> Iterator[Effect]:
    """How far each input moves the utilization from which on owning is cheaper, of those that move it."""
    price = work.line("on-demand", ALL).price
    if isinstance(price, Priced):
        moved = [(curve_of(_at_times(rented, work, times), work.demand, bends), work.figures) for times in MOVED]
        source = OWN_RATE if price.terms == OWN_RATE else ESTIMATE if weakness(price) else "list price"
        yield from _effect(work, "on demand", Figure(price.amount, "USD/hour", "", source), moved, bends)
    renting = curve_of(rented, work.demand, bends)
    for name, figure in work.figures.items():
        values = (max(figure.low, min(figure.high, figure.value * times)) for times in MOVED)
        whole = (Decimal(round(value)) if figure.unit == "months" else value for value in values)
        moved = [(renting, {**work.figures, name: figure._replace(value=value)}) for value in whole]
        if name != "accelerators":
            yield from _effect(work, name, figure, moved, bends)


def _effect(
    work: Work, name: str, figure: Figure, moved: Sequence[tuple[Curve, Mapping[str, Figure]]], bends: Sequence[Decimal]
) -> Iterator[Effect]:
    less, more = (
        owning_from(renting, curve_of(own_with(work, figures), work.demand, bends), bends) for renting, figures in moved
    )
    if less != more:
        yield Effect(name=name, figure=figure, less=less, more=more)


def _at_times(rented: Way, work: Work, times: Decimal) -> Way:
    """Renting with the price of its machines so many times as high."""

    def pay(demand: Demand) -> tuple[Payment, ...]:
        assert rented.pay is not None  # noqa: S101 - it has a price
        return tuple(
            each._replace(item=replace(each.item, quantity=each.item.quantity.times(times)))
            if work.runs_it(each.item)
            else each
            for each in rented.pay(demand)
        )

    return replace(rented, pay=pay)


def owning_from(rented: Curve, owning: Curve, bends: Sequence[Decimal]) -> Decimal | None:
    """The utilization from which on owning is cheaper up to all hours; None where it never is, 0 where it always is."""
    if owning(ALL) >= rented(ALL):
        return None
    return max(crossings(rented, owning, bends), default=Decimal(0))


def rounded(value: Decimal | None) -> Decimal | None:
    """A figure of four places, as JSON has it."""
    return None if value is None else value.quantize(_PLACES)


def best_first(rows: Iterable[Row]) -> list[Row]:
    """Rows with the least total first, those without a price last."""
    return sorted(rows, key=lambda row: (row.usd is None, row.usd or 0))
