"""What to commit to over stacks: the hours of all that run on one machine type in a region, and what to buy for them.

A commitment covers whatever runs at the moment, so machines of several stacks share it hour by hour, where it is known
when they run. Machines of which it is not known are counted as if they all ran at once: no sharing is made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise, takewhile
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from sizewell.economics.already import Left, beyond_bought
from sizewell.economics.baseline import Purchase, baseline, cost_usd, held
from sizewell.economics.demand import Demand, Step, mixed, sorted_demand
from sizewell.economics.place import Place
from sizewell.economics.ways import Work
from sizewell.sizing.choose.pricing import standing
from sizewell.sizing.money import HOURS_PER_MONTH

HOURS: Final = 168  # of a week
SLOTS: Final = 12  # of an hour: schedules and the waits of an autoscaler end between hours
ALIKE: Final = Decimal("0.01")  # by which the hours of use may be beside those of the schedule
ZERO: Final = Decimal(0)


class Used(NamedTuple):
    """Work of a stack."""

    stack: str
    work: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Machines of one type in a region over all stacks, and the purchases that cost least for them over some months."""

    place: Place
    users: tuple[Used, ...]
    demand: Demand  # of the first month, of all of them
    owned: int  # the most machines that are committed already in a month, which are left out of all figures
    taken: Left  # with what else is bought already that covers them, and is left out too
    covered_already: Decimal | None  # of the hours of all months, by all that is bought already
    plan: tuple[Purchase, ...]
    on_demand_usd: Decimal | None  # over all months; None where it has no price
    usd: Decimal | None  # with the plan
    halved_on_demand_usd: Decimal | None  # if demand halves
    halved_usd: Decimal | None
    coverage: Decimal | None  # of the hours, by the plan
    utilization: Decimal | None  # of the plan; None where nothing is to be bought

    @property
    def is_known(self) -> bool:
        """Whether it is known how much of its hours is bought already: nothing is advised before that."""
        return not self.taken.unknown or not self.plan


def shared(uses: Iterable[Used], months: int) -> tuple[Shared, ...]:
    """Each machine type and region that runs by the hour or on a commitment, the largest saving first."""
    groups: dict[tuple[str, str, str], list[Used]] = {}
    for use in uses:
        work = use.work
        if work.is_covered:
            key = (work.option.cloud, work.option.deal.region, work.instance_type)
            groups.setdefault(key, []).append(use)
    return _rows([_needed(tuple(users), months) for users in groups.values()])


def measured(profiles: Iterable[tuple[Place, Demand]], *, net: bool) -> tuple[Shared, ...]:
    """The same for machines of which it is known how many ran when; `net` of what is committed already."""
    return _rows(
        [Needed(place, [demand] * place.months, () if net else place.committed) for place, demand in profiles], net=net
    )


class Needed(NamedTuple):
    """The machines of a type that are needed in each month, and those that are committed: from and before which."""

    place: Place
    months: Sequence[Demand]
    committed: tuple[tuple[int, int, int], ...]
    users: tuple[Used, ...] = ()


def _rows(needed: Sequence[Needed], *, net: bool = False) -> tuple[Shared, ...]:
    """What to buy for each; `net` of all that is bought already."""
    left = []
    for each in needed:
        owned = [_owned(each, month) for month in range(len(each.months))]
        rest = [demand.beyond(machines) for demand, machines in zip(each.months, owned, strict=True)]
        left.append(Left(each.place, rest))
    if not net:
        beyond_bought(left)
    rows = [_shared(each, rest) for each, rest in zip(needed, left, strict=True)]
    return tuple(sorted(rows, key=lambda row: (row.usd or ZERO) - (row.on_demand_usd or ZERO)))


def _owned(each: Needed, month: int) -> int:
    return sum(count for count, first, end in each.committed if first <= month < end)


def _needed(users: tuple[Used, ...], months: int) -> Needed:
    place = replace(users[0].work.place, months=months)
    # Stacks that end are counted until then, to the day: a whole month more would pay for a term that loses.
    ends = sorted({min(use.work.lasts_months, Decimal(months)) for use in users} | {Decimal(months)})
    demands = {end: joint([use.work for use in users if use.work.lasts_months >= end]) for end in ends}
    own = [(work.demand.machines, 0, work.own_term_months) for _, work in users]
    each_month = []
    for month in range(months):
        cuts = [Decimal(month), *(end for end in ends if month < end < month + 1), Decimal(month + 1)]
        shares = [(b - a, demands[next(end for end in ends if a < end)]) for a, b in pairwise(cuts)]
        each_month.append(shares[0][1] if len(shares) == 1 else mixed(shares))
    return Needed(place, each_month, (*place.committed, *own), users)


def _shared(needed: Needed, left: Left) -> Shared:
    """What to buy for the demand of each month above what is committed."""
    place, each_month = needed.place, left.months
    whole = sum((each.hours for each in needed.months), ZERO)
    hour_usd = place.usd_per_hour("on-demand")
    plan = baseline(each_month, place.terms, hour_usd) if hour_usd is not None else ()
    halves = [each.at(each.utilization / 2) if each.hours else each for each in each_month]
    bought = [held(plan, month) for month in range(len(each_month))]
    hours = sum((each.hours for each in each_month), ZERO)
    covered = hours - sum((each.hours_beyond(count) for each, count in zip(each_month, bought, strict=True)), ZERO)

    def usd(demands: Sequence[Demand], purchases: Sequence[Purchase]) -> Decimal | None:
        return None if hour_usd is None else cost_usd(demands, purchases, hour_usd)

    return Shared(
        place=place,
        users=needed.users,
        demand=needed.months[0],
        owned=max(_owned(needed, month) for month in range(len(each_month))),
        taken=left,
        covered_already=1 - hours / whole if whole else None,
        plan=plan,
        on_demand_usd=usd(each_month, ()),
        usd=usd(each_month, plan),
        halved_on_demand_usd=usd(halves, ()),
        halved_usd=usd(halves, plan),
        coverage=covered / hours if hours else None,
        utilization=covered / (sum(bought) * HOURS_PER_MONTH) if any(bought) else None,
    )


def joint(works: Sequence[Work]) -> Demand:
    """The demand of several works together."""
    if len(works) == 1:
        return works[0].demand
    total, hours = [0] * (HOURS * SLOTS), ZERO
    steps: list[Step] = []
    for work in works:
        clock = clock_of(work)
        if clock is None:
            steps += work.demand.steps
        else:
            total = [a + b for a, b in zip(total, clock, strict=True)]
            hours += work.demand.hours
    if hours:
        counts = ((Decimal(slots), machines) for machines, slots in Counter(total).items())
        steps += sorted_demand(counts, hours, max(total)).steps
    return Demand(tuple(sorted(steps, key=lambda step: -step.hours)))


def clock_of(work: Work) -> list[int] | None:
    """Machines in each five minutes of a week in UTC, from Monday 00:00; None where nobody knows when."""
    option, schedule, most = work.option, work.spec.schedule, work.demand.machines
    need = option.setting.need
    if option.fleet.by_hour and not option.stands:
        parts = [(part, min(nodes, most)) for part, nodes in standing(need, option.fleet, option.counts)]
        local = list(_slots(zip(parts[::2], parts[1::2], strict=True)))
    else:
        hours = schedule.on.open_hours if schedule else (1.0,) * HOURS
        if abs(work.demand.utilization - Decimal(sum(hours) / HOURS)) > ALIKE:
            hours = _from_opening(work, hours)
            if not hours:
                return None
        local = list(_slots(((part, most),) for part in hours))
    return in_utc(local, schedule.on.time_zone if schedule else "UTC", option.setting.on)


def _from_opening(work: Work, open_hours: Sequence[float]) -> tuple[float, ...]:
    """The hours of a week in which a batch runs that starts each time its schedule opens; () where it says no such.

    A batch that is due as often as the schedule opens has one run in each opening, and it begins with it.
    """
    batch = work.option.setting.need.batch
    if batch is None or not batch.every_s or work.spec.schedule is None:
        return ()
    starts = [at for at, part in enumerate(open_hours) if part and not open_hours[at - 1]]
    share = float(work.demand.utilization) * HOURS / sum(open_hours)
    if len(starts) != round(HOURS * 3600 / batch.every_s) or share > 1:
        return ()
    used = [0.0] * HOURS
    for start in starts:
        opening = list(takewhile(bool, (open_hours[(start + hour) % HOURS] for hour in range(HOURS))))
        left = share * sum(opening)
        for hour, part in enumerate(opening):
            used[(start + hour) % HOURS] = min(part, max(0.0, left))
            left -= part
    return tuple(used)


def _slots(hours: Iterable[Sequence[tuple[float, int]]]) -> Iterator[int]:
    """Machines in each slot, of the (part of an hour, machines) that each hour has one after the other."""
    for parts in hours:
        for slot in range(SLOTS):
            at, until = (slot + 0.5) / SLOTS, 0.0
            for part, machines in parts:
                until += part
                if at < until:
                    yield machines
                    break
            else:
                yield 0


def in_utc(local: Sequence[int], zone: str, on: date) -> list[int]:
    """A week by the clock of a time zone as that of UTC, as they are apart on a day.

    >>> week = in_utc([1] * 12 + [0] * 2004, "Asia/Tokyo", date(2026, 11, 28))
    >>> [slot for slot, machines in enumerate(week) if machines] == list(range(6 * 288 + 180, 6 * 288 + 192))
    True
    """
    offset = datetime.combine(on, time(12), UTC).astimezone(ZoneInfo(zone)).utcoffset() or timedelta()
    ahead = int(offset / timedelta(hours=1) * SLOTS)
    return [local[(slot + ahead) % len(local)] for slot in range(len(local))]
