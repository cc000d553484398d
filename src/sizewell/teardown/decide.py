"""Keep, warn, empty, destroy or unknown: one verdict for each pool, one for the stack.

A pool is idle when every clause of `IDLE_CLAUSES` lets it pass; the first that does not, says what it is instead. What
nobody can tell is unknown: reported, and kept. The owner of an idle pool is notified first; it is emptied after the
grace, at a new look. A stack goes after its end, or after days without a machine, when every clause of `STACK_CLAUSES`
lets it pass, and none of them does while a pool is in use or nobody knows whether it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

import numpy as np

from sizewell.teardown.records import DAY_S, PREPAID, Action, Device, Limits, Pool, Protection, Series, Stack, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at one pool."""

    stack: Stack
    pool: Pool
    limits: Limits
    at: datetime

    @property
    def at_s(self) -> float:
        return self.at.timestamp()

    @property
    def seen_s(self) -> float:
        """Until when samples can be expected."""
        return self.at_s - self.pool.late_s

    @property
    def machines(self) -> frozenset[str]:
        return self.pool.machines_at(self.at_s) or frozenset()

    @property
    def devices(self) -> tuple[Device, ...]:
        count = range(self.pool.accelerators_per_machine)
        return tuple((machine, number) for machine in sorted(self.machines) for number in count)

    def verdict(self, action: Action, clause: str, reason: str) -> Verdict:
        return Verdict(subject=self.pool.name, action=action, clause=clause, reason=reason)


def decide(stack: Stack, limits: Limits, at: datetime) -> tuple[Verdict, tuple[Verdict, ...]]:
    """The verdict on a stack, and those on its pools, at a time. Pure: it reads no clock."""
    at = at.astimezone(UTC)  # days of leases are days in UTC, in whichever zone the time was written
    looks = tuple(Look(stack=stack, pool=pool, limits=limits, at=at) for pool in stack.pools)
    return decide_stack(StackLook(stack, looks, limits, at)), tuple(map(decide_pool, looks))


def decide_pool(look: Look) -> Verdict:
    """The verdict on one pool: the first clause that says it is not idle, or what idleness leads to."""
    for clause in IDLE_CLAUSES:
        verdict = clause(look)
        if verdict is not None:
            return verdict
    return _idle(look)


# What keeps a pool ------------------------------------------------------------------------------------------------


def nothing_to_take(look: Look) -> Verdict | None:
    """A pool without machines has nothing to take away; whether its stack goes is another question."""
    counted = look.pool.machines_at(look.at_s)
    if counted is None:
        return look.verdict("unknown", "nothing_to_take", "its machines were not counted")
    return None if counted else look.verdict("keep", "nothing_to_take", "it has no machines")


def protected(look: Look) -> Verdict | None:
    """teardown.yaml protects the stack, through the last day that it names."""
    held = _held(look.stack.protected, look.at.date())
    return look.verdict("keep", "protected", held) if held else None


def leased(look: Look) -> Verdict | None:
    """A lease holds through the whole of its last day."""
    for lease in look.stack.leases:
        held = _held(lease, look.at.date())
        if held:
            return look.verdict("keep", "leased", held)
    return None


def job_queued(look: Look) -> Verdict | None:
    """A job waits for the pool. One that has waited for a day waits for something that does not come."""
    queued = [job for job in look.pool.jobs if job.state == "queued"]
    if not queued:
        return None
    oldest = min(queued, key=lambda job: job.since_s)
    waited_s = look.at_s - max(job.since_s for job in queued)
    if waited_s <= look.limits.queued_max_s:
        return look.verdict("keep", "job_queued", f"job {oldest.name} is queued")
    days = (look.at_s - oldest.since_s) / DAY_S
    return look.verdict("unknown", "job_queued", f"job {oldest.name} has been queued for {days:.1f} days")


def queue_unasked(look: Look) -> Verdict | None:
    """A scheduler feeds the pool and did not respond: a job may wait for it."""
    if look.pool.queue != "unanswered":
        return None
    return look.verdict("unknown", "queue_unasked", "its scheduler did not report which jobs run or wait")


def just_started(look: Look) -> Verdict | None:
    """Machines younger than the grace are set up, or load what they work on."""
    joined = [_joined_s(look.pool, machine, look.at_s) for machine in look.machines]
    youngest_s = look.at_s - max(joined)
    if youngest_s > look.pool.guard.grace_s:
        return None
    return look.verdict("keep", "just_started", f"a machine was started {_minutes(youngest_s)} ago")


def saved(look: Look) -> Verdict | None:
    """A checkpoint, or a part of one, younger than two intervals: something is alive."""
    newest_s = max((*look.pool.saves_s, *look.pool.parts_s), default=-math.inf)
    age_s = look.at_s - newest_s
    if age_s >= look.limits.checkpoint_intervals * look.pool.checkpoint_interval_s:
        return None
    return look.verdict("keep", "saved", f"a checkpoint was written {_minutes(age_s)} ago")


def impossible(look: Look) -> Verdict | None:
    """Utilization below 0 or above 100 percent: the exporter is broken, and says nothing about use."""
    for device in look.devices:
        values = _window(look, look.pool.utilization_percent.get(device))
        if len(values) and (values.min() < 0 or values.max() > 100 or np.isnan(values).any()):
            return look.verdict("unknown", "impossible", f"{_named(device)} reports {_odd(values):g} % utilization")
    return None


def latched(look: Look) -> Verdict | None:
    """100 percent all the time, at idle power and without a process: the counter hangs (seen on Blackwell)."""
    for device in look.devices:
        values = _window(look, look.pool.utilization_percent.get(device))
        if len(values) and values.min() >= 100 and _powerless(look, device) and not _has_process(look, device):
            seen = device in look.pool.processes
            processes = "without a process" if seen else "and its processes are not counted"
            reason = f"{_named(device)} reports 100 % all the time, at idle power {'and ' if seen else ''}{processes}"
            return look.verdict("unknown", "latched", reason)
    return None


def in_use(look: Look) -> Verdict | None:
    """One accelerator that reached the limit within the window keeps the whole pool."""
    limit = look.pool.guard.min_utilization_percent
    for device in look.devices:
        series = look.pool.utilization_percent.get(device)
        values = _window(look, series)
        if series is not None and len(values) and values.max() >= limit and _fresh(look, series):
            reason = f"{_named(device)} reached {values.max():.0f} % within {_minutes(look.pool.guard.window_s)}"
            return look.verdict("keep", "in_use", reason)
    return None


def asked(look: Look) -> Verdict | None:
    """A service that answers requests is in use at any load; where nobody counts requests nobody can tell."""
    if look.pool.guard.signal != "requests":
        return None
    series = look.pool.requests_per_s
    if series is None or not _covered(look, series, look.pool.guard.window_s):
        return look.verdict("unknown", "asked", "its requests were not counted, or not all the time")
    return requests_came(look)


def requests_came(look: Look) -> Verdict | None:
    """Requests within the window, however complete their count is."""
    rate = _window(look, look.pool.requests_per_s)
    if not (rate >= 0).all():  # also where it is no number
        return look.verdict("unknown", "asked", f"its requests are counted as {rate[~(rate >= 0)][0]:g} per second")
    if rate.max(initial=0.0) > 0:
        return look.verdict("keep", "asked", f"it had up to {rate.max():.2g} requests per second")
    return None


def unseen(look: Look) -> Verdict | None:
    """Each accelerator of each machine has to be seen, in 95 % of its samples and now: no data is not idleness."""
    for device in look.devices:
        series = look.pool.utilization_percent.get(device)
        if series is None or not len(series.at_s):
            return look.verdict("unknown", "unseen", f"{_named(device)} reports nothing")
        if not _fresh(look, series):
            age = _minutes(look.at_s - series.newest_s)
            return look.verdict("unknown", "unseen", f"the newest sample of {_named(device)} is {age} old")
        if not _covered(look, series, look.pool.guard.window_s):
            share = _coverage(look, series, look.pool.guard.window_s)
            return look.verdict("unknown", "unseen", f"{share:.0%} of the samples of {_named(device)} arrived")
    return None


def powered(look: Look) -> Verdict | None:
    """No utilization at far more than idle power: the metric is wrong."""
    for device in look.devices:
        values = _window(look, look.pool.power_w.get(device))
        idle_w = look.pool.idle_power_w
        if idle_w is not None and len(values) and float(np.median(values)) > look.limits.idle_power_factor * idle_w:
            reason = f"{_named(device)} draws {np.median(values):.0f} W and reports no utilization"
            return look.verdict("unknown", "powered", reason)
    return None


def job_running(look: Look) -> Verdict | None:
    """A job runs and no accelerator works: a hang holds the machines, and a person has to look."""
    for job in look.pool.jobs:
        if job.state == "running":
            return look.verdict("unknown", "job_running", f"job {job.name} runs, but no accelerator is busy")
    return None


# The order is part of the meaning, and test_each_clause_is_needed does not see it. A counter that hangs reads 100 %, so
# what is broken comes before `in_use`; one busy accelerator is enough, so `in_use` comes before `unseen`, which asks
# for all of them. Where no accelerator works, what a person has to look at comes last: it must not hide plain use.
IDLE_CLAUSES: Final[tuple[Callable[[Look], Verdict | None], ...]] = (
    nothing_to_take,
    protected,
    leased,
    job_queued,
    just_started,
    saved,
    impossible,
    latched,
    in_use,
    asked,
    unseen,
    powered,
    job_running,
    queue_unasked,
)


# What idleness leads to -------------------------------------------------------------------------------------------


def _idle(look: Look) -> Verdict:
    pool, guard = look.pool, look.pool.guard
    idle = f"idle: under {guard.min_utilization_percent:g} % on every accelerator for {_minutes(guard.window_s)}"
    spared = _spared(look)
    if spared:
        return look.verdict("warn", "spared", f"{idle}; {spared}")
    # Not "idle now, and notified at some time": somebody may have used the pool since, and left it idle again. Every
    # sample between the notice and now has to be there and low, else the owner is notified anew. So whoever gathers
    # has to ask for samples as far back as the notice (StatusReader.observe).
    told_s = max((notice for notice in pool.notices_s if look.at_s - notice >= guard.grace_s), default=None)
    since_s = guard.window_s + guard.grace_s if told_s is None else look.seen_s - told_s
    if told_s is None or not _idle_for(look, max(guard.window_s + guard.grace_s, since_s)):
        last_s = max(pool.notices_s, default=look.at_s)
        due = datetime.fromtimestamp(max(last_s, look.at_s - guard.grace_s) + guard.grace_s, UTC)
        return Verdict(
            subject=pool.name,
            action="warn",
            clause="told",
            reason=idle,
            next_step="empty",
            next_at=max(due, look.at),
            saves_usd_per_hour=pool.usd_per_hour,
        )
    return Verdict(
        subject=pool.name,
        action="empty",
        clause="idle",
        reason=f"{idle}, and for {_minutes(guard.grace_s)} before; notified {_minutes(look.at_s - told_s)} ago",
        saves_usd_per_hour=pool.usd_per_hour,
    )


def _spared(look: Look) -> str:
    """Why an idle pool is reported and not emptied; "" where it is."""
    if look.pool.guard.action == "notify":
        return "its guard only notifies"
    if look.stack.environment == "prod":
        return "production is only reported, not stopped"
    if look.pool.capacity in PREPAID:
        return f"capacity ({look.pool.capacity}) is prepaid or was queued for: stopping it saves nothing"
    if len(look.machines) <= look.pool.nodes_min:
        return f"it is at its smallest size, {look.pool.nodes_min}"
    return ""


def _idle_for(look: Look, seconds: float) -> bool:
    """Whether every accelerator was under the limit, and seen, for so long; those of machines that left included."""
    start_s = look.seen_s - seconds
    limit = look.pool.guard.min_utilization_percent
    # Not only of today's machines: a spot replacement is idle while it loads what its busy predecessor worked on.
    samples = (series.between(start_s, look.at_s + 1) for series in look.pool.utilization_percent.values())
    if not all(_idle_values(values, limit) for values in samples):
        return False
    for device in look.devices:
        series = look.pool.utilization_percent[device]
        joined_s = max(start_s, _joined_s(look.pool, device[0], look.at_s))
        if not _covered(look, series, look.seen_s - joined_s):
            return False
    return True


def _idle_values(percent: np.ndarray[tuple[int], np.dtype[np.float64]], limit: float) -> bool:
    """Whether each sample says idle: one that is no number or below 0 does not, and says nothing about use."""
    return bool(((percent >= 0) & (percent < limit)).all())


# Stacks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StackLook:
    """One look at one stack and its pools."""

    stack: Stack
    pools: tuple[Look, ...]
    limits: Limits
    at: datetime

    @property
    def end(self) -> datetime | None:
        """When the stack expires; None where it does not."""
        day = self.stack.expires_at
        return None if day is None else datetime.combine(day, time(), UTC)

    @property
    def goes(self) -> datetime:
        """When a stack past its end is destroyed at the earliest: a grace after the end and after the first notice."""
        assert self.end is not None  # noqa: S101  (asked of stacks that expire)
        return max(self.end + timedelta(seconds=self.limits.stack_grace_s), self.after_notice)

    @property
    def notices_s(self) -> tuple[float, ...]:
        """When the owner was notified; what came before the stack was created was about another one of its name."""
        return tuple(notice for notice in self.stack.notices_s if notice >= self.stack.created_s)

    @property
    def after_notice(self) -> datetime:
        """When the grace after the first notice is over; where none was given, one is given now."""
        first_s = min(self.notices_s, default=self.at.timestamp())
        return datetime.fromtimestamp(first_s + self.limits.stack_grace_s, UTC)

    def kept_by(self) -> tuple[Verdict, ...]:
        """A verdict for each pool that keeps the stack; those that are in use first, then those that may be."""
        kept = [verdict for pool in self.pools if (verdict := keeps_its_stack(pool)) is not None]
        return tuple(sorted(kept, key=lambda verdict: verdict.action == "unknown"))

    def verdict(self, action: Action, clause: str, reason: str, goes: datetime | None = None) -> Verdict:
        return Verdict(
            subject=self.stack.name,
            action=action,
            clause=clause,
            reason=reason,
            next_step="destroy" if goes else "",
            next_at=goes,
        )


def keeps_its_stack(look: Look) -> Verdict | None:
    """Why a pool keeps a stack that would go; None where it is idle or has no machines.

    It needs no notice of its own for that, since its stack's owner gets one. But it has to be idle for its window and
    its grace: a destroy takes more than an emptying does.
    """
    counted = look.pool.machines_at(look.at_s)
    for clause in MACHINELESS_CLAUSES if counted == frozenset() else (*IDLE_CLAUSES, requests_came, machines_left):
        verdict = clause(look)
        if verdict is not None:
            return verdict
    guard = look.pool.guard
    if counted and not _idle_for(look, guard.window_s + guard.grace_s):
        reason = f"idle for {_minutes(guard.window_s)}, but used or not seen within {_minutes(guard.grace_s)} before"
        return look.verdict("keep", "not_idle_before", reason)
    return None


def machines_left(look: Look) -> Verdict | None:
    """A machine that left just now may have been taken away under its work (spot), which comes back on another.

    What stands in its place may be idle until then, so it counts whether others remain or not.
    """
    now = look.machines
    last_s = max((span.end_s for span in look.pool.counted if span.machines - now), default=-math.inf)
    age_s = look.at_s - last_s
    if age_s > look.pool.guard.window_s + look.pool.guard.grace_s:
        return None
    left = "a machine left" if now else "it had machines until"
    return look.verdict("keep", "machines_left", f"{left} {_minutes(age_s)} ago")


def used_uncounted(look: Look) -> Verdict | None:
    """Use although no machine is counted: the count lags behind, or a machine works on outside of its group."""
    guard = look.pool.guard
    start_s = look.seen_s - guard.window_s - guard.grace_s
    for device, series in sorted(look.pool.utilization_percent.items()):
        values = series.between(start_s, look.at_s + 1)
        if not _idle_values(values, guard.min_utilization_percent):
            reason = f"{_named(device)} reports up to {np.nanmax(values):g} % although no machine is counted"
            return look.verdict("unknown", "used_uncounted", reason)
    return None


# What says that a pool without machines is in use: that its requests or its queue were not counted does not.
MACHINELESS_CLAUSES: Final[tuple[Callable[[Look], Verdict | None], ...]] = (
    job_queued,
    saved,
    requests_came,
    job_running,
    machines_left,
    used_uncounted,
)


def decide_stack(look: StackLook) -> Verdict:
    """Whether a stack as a whole goes: what the first clause says that has something to say, or its emptiness."""
    for clause in STACK_CLAUSES:
        verdict = clause(look)
        if verdict is not None:
            return verdict
    return _emptiness(look)


def stack_protected(look: StackLook) -> Verdict | None:
    """teardown.yaml protects the stack, through the last day that it names."""
    held = _held(look.stack.protected, look.at.date())
    return look.verdict("keep", "protected", held) if held else None


def end_comes(look: StackLook) -> Verdict | None:
    """The stack expires soon. Its owner is notified although a lease holds: `ttl-STACK` ends it and reads no lease."""
    if look.end is None or look.at >= look.end:
        return None
    if look.end - look.at > timedelta(days=max(look.limits.expiry_notice_days)):
        return None
    reason = f"it expires on {look.end:%Y-%m-%d} at 00:00 UTC"
    if look.stack.environment == "prod":
        return look.verdict("warn", "expires", f"{reason}; production is only reported, not destroyed")
    leased = [datetime.combine(lease.until, time(), UTC) + timedelta(days=1) for lease in look.stack.leases]
    due = look.end + timedelta(seconds=look.limits.stack_grace_s)
    return look.verdict("warn", "expires", reason, max([due, *leased]))


def stack_leased(look: StackLook) -> Verdict | None:
    """A lease holds through the whole of its last day, past the end of the stack too."""
    for lease in look.stack.leases:
        held = _held(lease, look.at.date())
        if held:
            return look.verdict("keep", "leased", held)
    return None


def production_ended(look: StackLook) -> Verdict | None:
    """Production past its end is reported: nobody decides by a date alone that a service stops."""
    if look.end is None or look.at < look.end or look.stack.environment != "prod":
        return None
    reason = f"it expired on {look.end:%Y-%m-%d} at 00:00 UTC; production is only reported, not destroyed"
    return look.verdict("warn", "expired", "; ".join([reason, *map(_pool_says, look.kept_by())]))


def ended_in_use(look: StackLook) -> Verdict | None:
    """A stack past its end stays while one of its pools is in use, or nobody can tell; its owner hears daily."""
    if look.end is None or look.at < look.end:
        return None
    kept_by = look.kept_by()
    if not kept_by:
        return None
    reason = "; ".join([f"it expired on {look.end:%Y-%m-%d} at 00:00 UTC", *map(_pool_says, kept_by)])
    known = kept_by[0].action == "keep"
    verdict = look.verdict("warn" if known else "unknown", "pools_in_use" if known else "pools_unknown", reason)
    return replace(verdict, next_step="destroy", next_at=look.goes if look.goes > look.at else None)


def ended(look: StackLook) -> Verdict | None:
    """Past its end, and a grace after both the end and the first notice of it, a stack goes."""
    if look.end is None or look.at < look.end:
        return None
    reason = f"it expired on {look.end:%Y-%m-%d} at 00:00 UTC"
    if look.at >= look.goes and look.notices_s:
        return look.verdict("destroy", "expired", reason)
    return look.verdict("warn", "expired", reason, look.goes)


STACK_CLAUSES: Final[tuple[Callable[[StackLook], Verdict | None], ...]] = (
    stack_protected,
    end_comes,
    stack_leased,
    production_ended,
    ended_in_use,
    ended,
)


def _emptiness(look: StackLook) -> Verdict:
    """Whether a stack has had no machines for so long that it goes."""
    stack, limits, at = look.stack, look.limits, look.at
    days = limits.empty_days.get(stack.environment)
    most_s = (days if days is not None else max(limits.empty_days.values(), default=14.0)) * DAY_S
    start_s = at.timestamp() - most_s
    if stack.created_s > start_s:
        return look.verdict("keep", "young", "it is too young to be destroyed as empty")
    if not stack.pools:
        reason = "it has no pools that could be empty: only its expiry takes it down"
        return look.verdict("keep", "poolless", reason)
    known = True
    for pool in stack.pools:
        if any(span.machines and span.end_s > start_s for span in pool.counted):
            return look.verdict("keep", "machines", f"{pool.name} had machines within {most_s / DAY_S:g} days")
        known = known and _counted_since(pool, start_s, at.timestamp())
    if not known:
        return look.verdict("unknown", "uncounted", f"machines were not counted for {most_s / DAY_S:g} days")
    reason = f"it has been empty for {most_s / DAY_S:g} days"
    # No machine for two weeks is no proof of disuse: requests, saves and jobs are asked after as for an end.
    for kept in look.kept_by():
        return look.verdict(kept.action, kept.clause, f"{reason}; {_pool_says(kept)}")
    if days is None:
        return look.verdict("warn", "empty", f"{reason}; {stack.environment} is reported, not destroyed")
    if any(at.timestamp() - notice >= limits.stack_grace_s for notice in look.notices_s):
        return look.verdict("destroy", "empty", reason)
    return look.verdict("warn", "empty", reason, look.after_notice)


def _pool_says(kept: Verdict) -> str:
    return f"pool {kept.subject}: {kept.reason}"


# Reading samples --------------------------------------------------------------------------------------------------


def _held(protection: Protection | None, today: date) -> str:
    """Why a protection or lease keeps the stack, through its last day; "" afterwards or without one."""
    return f"kept until {protection.until}: {protection.reason}" if protection and today <= protection.until else ""


def _window(look: Look, series: Series | None) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The values of the guard's window, up to now."""
    if series is None:
        return np.empty(0)
    return series.between(look.seen_s - look.pool.guard.window_s, look.at_s + 1)


def _fresh(look: Look, series: Series) -> bool:
    return look.seen_s - series.newest_s <= look.limits.fresh_periods * look.pool.period_s


def _coverage(look: Look, series: Series, seconds: float) -> float:
    """Share of the samples due within so many seconds that are there."""
    due = max(1, math.floor(seconds / look.pool.period_s))
    return min(1.0, len(series.between(look.seen_s - seconds, look.seen_s + 1)) / due)


def _covered(look: Look, series: Series, seconds: float) -> bool:
    return _coverage(look, series, seconds) >= look.limits.coverage


def _powerless(look: Look, device: Device) -> bool:
    values = _window(look, look.pool.power_w.get(device))
    return look.pool.idle_power_w is not None and len(values) > 0 and bool(values.max() <= look.pool.idle_power_w)


def _has_process(look: Look, device: Device) -> bool:
    values = _window(look, look.pool.processes.get(device))
    return len(values) > 0 and bool(values.max() > 0)


def _joined_s(pool: Pool, machine: str, at_s: float) -> float:
    """Since when a machine has been counted without a gap, up to `at_s`."""
    since_s = at_s
    for counted in reversed(pool.counted):
        if counted.start_s > at_s:
            continue
        if machine not in counted.machines or counted.end_s < since_s - pool.period_s:
            break
        since_s = counted.start_s
    return since_s


def _counted_since(pool: Pool, start_s: float, end_s: float) -> bool:
    """Whether somebody counted the pool's machines all the time between two times."""
    reached_s = start_s
    for counted in pool.counted:
        if counted.start_s > reached_s + pool.period_s:
            return False
        reached_s = max(reached_s, counted.end_s)
    return reached_s >= end_s - pool.period_s


def _odd(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    outside = values[(values < 0) | (values > 100) | np.isnan(values)]
    return float(outside[0])


def _named(device: Device) -> str:
    return f"accelerator {device[1]} of {device[0]}"


def _minutes(seconds: float) -> str:
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 2 * DAY_S else f"{seconds / DAY_S:.1f} days"
