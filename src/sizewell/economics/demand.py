"""How many machines the work of a spec needs, sorted: for how many hours of a month at least one, at least two, ..."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from sizewell.sizing.choose.pricing import Option, standing
from sizewell.sizing.money import HOURS_PER_MONTH

ONE = Decimal(1)


class Step(NamedTuple):
    """So many machines that are needed in the same hours of a month."""

    machines: int
    hours: Decimal


@dataclass(frozen=True, slots=True)
class Demand:
    """The steps of a month, those with most hours first."""

    steps: tuple[Step, ...]

    @property
    def machines(self) -> int:
        """The most that are needed at once."""
        return sum(step.machines for step in self.steps)

    @property
    def hours(self) -> Decimal:
        """Machine-hours of a month."""
        return sum((step.machines * step.hours for step in self.steps), Decimal(0))

    @property
    def utilization(self) -> Decimal:
        """The share of all hours of all machines in which they are needed."""
        return self.hours / (self.machines * HOURS_PER_MONTH)

    def hours_at(self, machines: int) -> Decimal:
        """For how many hours of a month more than so many machines are needed."""
        below = 0
        for step in self.steps:
            below += step.machines
            if machines < below:
                return step.hours
        return Decimal(0)

    def beyond(self, machines: int) -> Demand:
        """What so many machines that always run leave over."""
        left, steps = machines, []
        for step in self.steps:
            taken = min(left, step.machines)
            left -= taken
            if taken < step.machines:
                steps.append(Step(step.machines - taken, step.hours))
        return Demand(tuple(steps))

    def hours_beyond(self, machines: int) -> Decimal:
        """Machine-hours of a month that so many machines leave over."""
        return self.beyond(machines).hours

    def at(self, utilization: Decimal) -> Demand:
        """The same profile with more hours or fewer: all in proportion, none above those of a month.

        >>> half = Demand((Step(1, Decimal(730)), Step(1, Decimal(365))))
        >>> [str(round(step.hours, 1)) for step in half.at(Decimal("0.875")).steps]
        ['730.0', '547.5']
        """
        wanted = utilization * self.machines * HOURS_PER_MONTH
        full = [step.machines for step in self.steps]
        if not self.hours:
            return Demand(tuple(Step(each, utilization * HOURS_PER_MONTH) for each in full))
        capped = 0  # of the first steps, that are needed in every hour
        while True:
            rest = sum((step.machines * step.hours for step in self.steps[capped:]), Decimal(0))
            around_the_clock = sum(full[:capped]) * HOURS_PER_MONTH
            times = (wanted - around_the_clock) / rest if rest else ONE
            if capped == len(full) or self.steps[capped].hours * times <= HOURS_PER_MONTH:
                break
            capped += 1
        return Demand(
            tuple(
                Step(step.machines, HOURS_PER_MONTH if number < capped else step.hours * times)
                for number, step in enumerate(self.steps)
            )
        )

    @property
    def bends(self) -> tuple[Decimal, ...]:
        """Utilizations between which all hours grow in proportion: 0, where a machine reaches all of them, and 1."""
        at = {Decimal(0), ONE}
        for step in self.steps:
            if step.hours:
                times = HOURS_PER_MONTH / step.hours
                hours = (each.machines * min(each.hours * times, HOURS_PER_MONTH) for each in self.steps)
                at.add(min(sum(hours, Decimal(0)) / (self.machines * HOURS_PER_MONTH), ONE))
        return tuple(sorted(at))


def mixed(parts: Iterable[tuple[Decimal, Demand]]) -> Demand:
    """The demand of a month that has several in turn, each for a share of it.

    >>> always = Demand((Step(2, Decimal(730)),))
    >>> mixed([(Decimal("0.5"), always), (Decimal("0.5"), Demand((Step(1, Decimal(730)),)))]).steps
    (Step(machines=1, hours=Decimal('730.0')), Step(machines=1, hours=Decimal('365.0')))
    """
    listed = [(share, demand) for share, demand in parts if share and demand.steps]
    edges = sorted({0} | {sum(s.machines for s in d.steps[: n + 1]) for _, d in listed for n in range(len(d.steps))})
    hours = [sum((share * demand.hours_at(edge) for share, demand in listed), Decimal(0)) for edge in edges[:-1]]
    return Demand(tuple(Step(b - a, of) for a, b, of in zip(edges, edges[1:], hours, strict=False) if of))


def sorted_demand(hours: Iterable[tuple[Decimal, int]], whole: Decimal, machines: int) -> Demand:
    """The demand of (hours, machines needed) over some time, as a month of `whole` machine-hours.

    >>> demand = sorted_demand([(Decimal(16), 1), (Decimal(8), 3)], Decimal(730) * 40 / 24, 3)
    >>> [(step.machines, str(round(step.hours, 2))) for step in demand.steps]
    [(1, '730.00'), (2, '243.33')]
    """
    profile = [(part, min(each, machines)) for part, each in hours if part and each]
    total = sum((part * each for part, each in profile), Decimal(0))
    if not total:
        return Demand((Step(machines, whole / machines),))
    steps, below = [], 0
    for level in sorted({each for _, each in profile} | {machines}):
        least = sum((part for part, each in profile if each >= level), Decimal(0))
        steps.append(Step(level - below, min(least * whole / total, HOURS_PER_MONTH)))
        below = level
    return Demand(tuple(steps))


def demand_of(option: Option) -> Demand:
    """What an option that is paid by the hour needs in a month: by the load of each hour where the fleet follows it."""
    fleet, counts, need = option.fleet, option.counts, option.setting.need
    hours = min(option.hours.expected, counts.initial * HOURS_PER_MONTH)
    if not fleet.by_hour or option.stands:
        return sorted_demand((), hours, counts.initial)
    profile = ((Decimal(repr(part)), nodes) for part, nodes in standing(need, fleet, counts))
    return sorted_demand(profile, hours, counts.initial)
