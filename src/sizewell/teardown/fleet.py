"""The fleet at a look: each stack with its state, what was seen of it in two weeks, what comes next, what keeps it, and
what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from html import escape
from typing import Final

from sizewell.sizing.units import plural
from sizewell.teardown.config import TeardownConfig
from sizewell.teardown.gather import StackStatus
from sizewell.teardown.planning import Plan, Row, StackPlan, monthly
from sizewell.teardown.records import OPEN, Stack, Update
from sizewell.teardown.usage import Hour, PoolUsage, usage_of

DAYS: Final = 14
HOURS: Final = DAYS * 24
# What a stack is, by the first of these that one of its rows says; in the order of what a person looks for.
STATES: Final[Mapping[str, str]] = {
    "destroy": "to be destroyed",
    "empty": "pool to be emptied",
    "unknown": "not known",
    "warn": "warned",
    "keep": "kept",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """One pool: its row of the plan, and the hours of two weeks in which its accelerators were seen."""

    row: Row
    hours: tuple[Hour, ...]
    limit_percent: float  # under which it is idle

    @property
    def seen(self) -> str:
        """What the hours say, in a sentence."""
        if not self.hours:
            return f"no use of its accelerators was seen in {DAYS} days"
        mean = sum(hour.mean_percent for hour in self.hours) / len(self.hours)
        used = [hour.start for hour in self.hours if hour.mean_percent >= self.limit_percent]
        last = (
            f"last at {self.limit_percent:g} % or more on {max(used):%Y-%m-%d %H:00} UTC"
            if used
            else (f"no hour reached {self.limit_percent:g} %")
        )
        return f"busy {mean:.0f} % in {plural(len(self.hours), 'hour')} seen of {HOURS}; {last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """One stack of the fleet."""

    plan: StackPlan
    pools: tuple[PoolState, ...]
    state: str
    held: tuple[str, ...]  # leases, pauses and protections that hold it now
    machines: int | None  # None: not all were counted
    usd_per_month: Decimal | None  # of its machines as they stand; None: not known
    next: str = ""  # the next act and when; "": none is foreseen
    smallest_usd_per_month: Decimal | None = (
        None  # of everything else, with each pool at its smallest size; None: not known
    )


def fleet(
    plan: Plan,
    statuses: Sequence[StackStatus],
    usages: Mapping[str, Iterable[PoolUsage]],
    smallest: Mapping[str, Decimal | None],
    config: TeardownConfig,
) -> list[StackState]:
    """The stacks of a plan, by name; `usages`: what runs have kept; `smallest`: what goes on billing, by stack."""
    by_name = {status.name: status for status in statuses}
    return [
        replace(
            _state(each, by_name[each.stack], usages.get(each.stack, ()), plan.at),
            next=_next(each, config),
            smallest_usd_per_month=smallest.get(each.stack),
        )
        for each in plan.stacks
    ]


def _state(plan: StackPlan, status: StackStatus, usages: Iterable[PoolUsage], at: datetime) -> StackState:
    kept = {usage.pool: usage.hours for usage in usages}
    pools = []
    for row, each in zip(plan.pools, status.pools, strict=True):
        now = usage_of(plan.stack, each.unit, each.pool)
        hours = {hour.start: hour for hour in (*kept.get(row.pool, ()), *(now.hours if now else ()))}
        recent = tuple(hours[start] for start in sorted(hours) if start > at - timedelta(days=DAYS))
        pools.append(PoolState(row=row, hours=recent, limit_percent=each.pool.guard.min_utilization_percent))
    counts = [row.machines for row in plan.pools]
    known = [count for count in counts if count is not None]
    hourly = [each.pool.usd_per_hour for each in status.pools]
    priced = [usd for usd in hourly if usd is not None]
    whole = len(priced) == len(hourly) and len(known) == len(counts) and not status.fault
    return StackState(
        plan=plan,
        pools=tuple(pools),
        state=_word(plan, status.facts.update if status.facts else None),
        held=_held(status.facts, at) if status.facts else (),
        machines=sum(known) if len(known) == len(counts) and not status.fault else None,
        usd_per_month=monthly(sum(priced)) if whole else None,
    )


def _word(plan: StackPlan, update: Update | None) -> str:
    if update is not None and (plan.row.action, plan.row.clause) == ("keep", "updating"):
        return "being destroyed" if update.own else "being updated"
    if plan.row.clause == "nothing":
        return "protected alone" if "protected" in plan.row.why else "nothing stands"  # destroyed, or never built
    # Of a stack "uncounted" says that runs have not counted for long enough to call it empty: its pools say what it is.
    actions = {row.action for row in plan.rows if row.pool or row.clause != "uncounted"} or {"keep"}
    action = next(each for each in STATES if each in actions)
    if action == "destroy" and plan.data:
        return "past its end, holds data"  # each run holds it back
    if action != "keep":
        return STATES[action]
    if plan.pools and all(row.clause == "nothing_to_take" for row in plan.pools):
        return "without machines"
    held = {row.clause for row in plan.rows} & {"protected", "leased", "depended_on"}
    return "kept" if held or not plan.pools else "in use"


def _next(plan: StackPlan, config: TeardownConfig) -> str:
    """The first act that comes, and when."""
    coming: list[tuple[datetime | None, Row, str]] = []
    due = plan.taken() or tuple(row for row in plan.rows if row.action == "destroy")
    for row in plan.rows:
        if row in due:
            coming.append((None, row, row.action))
        elif row.next_step:
            coming.append((row.next_at, row, row.next_step))
    if not coming:
        return ""

    def order(each: tuple[datetime | None, Row, str]) -> tuple[bool, float]:
        at, row, _ = each
        return row.action not in ("empty", "destroy"), at.timestamp() if at else math.inf

    at, row, step = min(coming, key=order)
    what = f"{step} {row.pool}" if row.pool else step
    when = "at the next run" if row.action in ("empty", "destroy") else "once nothing holds it"
    if row.action == "destroy" and plan.data:
        when = f"by `sizewell teardown run {plan.stack} --data {plan.stack} --yes`, once its data is saved"
    when = f"from {at:%Y-%m-%d %H:%M} UTC" if at else when
    return f"{what} {when}" + ("" if config.acts(plan.environment, step) else ", observed only")


def _held(facts: Stack, at: datetime) -> tuple[str, ...]:
    words = [*facts.leases, *([facts.protected] if facts.protected else [])]
    return tuple(
        word.reason if word.until == OPEN else f"until {word.until:%Y-%m-%d %H:%M} UTC: {word.reason}"
        for word in words
        if at < word.until
    )


# Plot -----------------------------------------------------------------------------------------------------------------

HEIGHT: Final = 48  # of 100 %
_STRIP: Final = 8  # machines, below


def plot(pool: PoolState, at: datetime) -> str:
    """The use of two weeks as SVG without any outside part: a bar for each hour, hatched where nothing was seen; below
    it a line where machines were counted, thin where there were none.
    """
    begins = at.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    means = {round((hour.start - begins).total_seconds() / 3600): hour.mean_percent for hour in pool.hours}
    bars: list[str] = []
    gaps: list[list[int]] = []
    for place in range(HOURS):
        if place in means:
            height = max(min(means[place], 100.0) / 100 * HEIGHT, 0.6)
            bars.append(f"M{place} {HEIGHT}v-{height:.1f}h1v{height:.1f}z")
        elif gaps and gaps[-1][1] == place:
            gaps[-1][1] = place + 1
        else:
            gaps.append([place, place + 1])
    shapes = [f'<path class="gap" d="M{first} 0h{last - first}v{HEIGHT}h-{last - first}z"/>' for first, last in gaps]
    shapes.append(f'<path class="bar" d="{"".join(bars)}"/>')
    for span in pool.row.spans:
        first = max((span.start - begins).total_seconds() / 3600, 0.0)
        last = min((span.end - begins).total_seconds() / 3600, float(HOURS))
        if last <= first or span.machines is None:
            continue
        thick = 5 if span.machines else 1
        shapes.append(
            f'<rect class="machines" x="{first:.2f}" y="{HEIGHT + _STRIP - thick - 1}" '
            f'width="{max(last - first, 0.5):.2f}" height="{thick}"/>'
        )
    label = escape(f"pool {pool.row.pool}, use in the {DAYS} days before {at:%Y-%m-%d %H:%M} UTC: {pool.seen}")
    return (
        f'<svg class="use" viewBox="0 0 {HOURS} {HEIGHT + _STRIP}" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}">{"".join(shapes)}</svg>'
    )
