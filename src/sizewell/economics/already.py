"""What is bought already and covers machines of several types, taken off the hours that are left to commit to.

Savings plans, reservations of several sizes, and vCPUs, memory and accelerators cover whatever runs in an hour, so they
are used up hour by hour: by machines of one type after the other, as the seller uses them. All types are counted as if
their busiest hours were the same, and as if nothing else used what is bought.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from math import ceil
from typing import Final

from sizewell.economics.demand import Demand, Step
from sizewell.economics.place import Place
from sizewell.sizing.catalog.rates import UNITS, Commitment, SavingsPlan, SharedOut, takes
from sizewell.sizing.money import HOURS_PER_MONTH

NOTHING: Final = Decimal("1e-9")  # of a machine: what divisions leave
ZERO: Final = Decimal(0)


@dataclass(slots=True)
class Left:
    """Machines of one type that are needed, month by month, and what is left of them."""

    place: Place
    months: list[Demand]
    covered: dict[SharedOut, Decimal] = field(default_factory=dict)  # machine-hours of all months
    unknown: list[SharedOut] = field(default_factory=list)  # of which it is not known how much they cover
    each: list[tuple[SharedOut, dict[str, Decimal]]] = field(default_factory=list, repr=False)  # what a machine takes

    def read(self) -> None:
        """Looks up what an hour of a machine takes of each."""
        usd = self.place.usd_per_hour("on-demand")
        for bought in self.place.several:
            taken = None if usd is None else takes(bought, self.place.asked("on-demand"), usd, self.place.shape)
            if taken and any(taken.values()):
                self.each.append((bought, {name: many for name, many in taken.items() if many}))
            elif taken is None:
                self.unknown.append(bought)


def beyond_bought(groups: Sequence[Left]) -> None:
    """Takes off all groups of one catalog what is bought already and covers machines of several types."""
    for group in groups:
        group.read()
    plans = groups[0].place.catalog.rates.of_several_types if groups else ()
    for month in range(max((len(group.months) for group in groups), default=0)):
        active = [plan for plan in plans if groups[0].place.is_held(plan, month)]
        ours = [group for group in groups if any(plan in active for plan, _ in group.each)]
        if ours:
            _one_month(ours, month, active)


def _one_month(groups: Sequence[Left], month: int, active: Sequence[SharedOut]) -> None:
    edges = sorted({ZERO, *(step.hours for group in groups for step in group.months[month].steps)})
    parts: list[list[tuple[Decimal, Decimal]]] = [[] for _ in groups]
    for low, high in pairwise(edges):  # hours in which the same machines are needed
        hours = high - low
        need = [
            Decimal(sum(step.machines for step in group.months[month].steps if step.hours >= high)) for group in groups
        ]
        for plan in active:
            left = {name: amount / HOURS_PER_MONTH for name, amount in plan.bought.items()}
            for place, taken in _in_order(plan, groups):
                ratios = [max(left.get(name, ZERO), ZERO) / many for name, many in taken.items()]
                machines = min(need[place], *ratios)
                left = {name: amount - machines * taken.get(name, ZERO) for name, amount in left.items()}
                need[place] -= machines
                group = groups[place]
                group.covered[plan] = group.covered.get(plan, ZERO) + machines * hours
                beside = max(ratios) - machines  # a part of it is used up, another is not
                if need[place] > NOTHING and beside >= 1 and plan not in group.unknown:
                    group.unknown.append(plan)
        for part, machines in zip(parts, need, strict=True):
            part.append((hours, machines))
    for group, part in zip(groups, parts, strict=True):
        group.months[month] = layers(part)


def _in_order(plan: SharedOut, groups: Sequence[Left]) -> list[tuple[int, dict[str, Decimal]]]:
    """Savings plans take the largest discount first, reservations the smallest size."""
    ours = [(place, taken) for place, group in enumerate(groups) for bought, taken in group.each if bought == plan]

    def order(each: tuple[int, dict[str, Decimal]]) -> Decimal:
        place = groups[each[0]].place
        if isinstance(plan, SavingsPlan):
            return -(plan.percent(place.cloud, place.instance_type, place.region) or ZERO)
        return each[1].get(UNITS, ZERO) if isinstance(plan, Commitment) else ZERO

    return sorted(ours, key=order)


def layers(parts: Iterable[tuple[Decimal, Decimal]]) -> Demand:
    """The demand of (hours, machines needed), where of a machine a part may be left: it counts for as much of the time.

    >>> left = layers([(Decimal(9), Decimal("2.5")), (Decimal(5), Decimal(1))])
    >>> [(each.machines, str(each.hours)) for each in left.steps]
    [(1, '14'), (1, '9'), (1, '4.5')]
    """
    known = [(hours, machines) for hours, machines in parts if machines > NOTHING]
    most = max((ceil(machines) for _, machines in known), default=0)
    by_layer = (
        sum((hours * min(max(machines - at, ZERO), Decimal(1)) for hours, machines in known), ZERO)
        for at in range(most)
    )
    steps: list[Step] = []
    for hours in by_layer:
        if steps and steps[-1].hours == hours:
            steps[-1] = Step(steps[-1].machines + 1, hours)
        elif hours > NOTHING:
            steps.append(Step(1, hours))
    return Demand(tuple(steps))
