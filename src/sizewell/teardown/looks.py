"""One look at one pool: which machines and accelerators it has, what their samples say, since when it has been idle."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sizewell.sizing.units import plural
from sizewell.teardown.records import DAY_S, Contradiction, Device, Episode, Limits, Pool, Series, Stack

Values = NDArray[np.float64]


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
        """Until when samples can be expected. A source that says it is hours late tells nothing of now."""
        return self.at_s - min(self.pool.late_s, self.limits.late_s_max)

    @property
    def counted(self) -> bool:
        return self.pool.machines_at(self.at_s) is not None

    @property
    def machines(self) -> frozenset[str]:
        return self.pool.machines_at(self.at_s) or frozenset()

    @property
    def devices(self) -> tuple[Device, ...]:
        count = range(self.pool.accelerators_per_machine)
        return tuple((machine, number) for machine in sorted(self.machines) for number in count)

    @property
    def needed_s(self) -> float:
        """For how long a pool has to be idle before its stack goes, or its owner's grace is over."""
        return self.pool.guard.window_s + self.pool.guard.grace_s

    def window(self, series: Series | None) -> Values:
        """The values of the guard's window, up to now."""
        return np.empty(0) if series is None else series.between(self.seen_s - self.pool.guard.window_s, self.at_s + 1)

    def fresh(self, series: Series) -> bool:
        return self.seen_s - series.newest_s <= self.limits.fresh_periods * self.pool.period_s

    def coverage(self, series: Series, seconds: float) -> float:
        """Share of the last seconds that samples stand for: time, since so many samples may come of half of it."""
        if seconds <= 0:
            return 1.0
        start_s = self.seen_s - seconds
        _, covered = self._covered(series, start_s)
        return min(1.0, float(covered.sum()) / seconds)

    def seen_since(self, series: Series) -> float:
        """Since when an accelerator has been seen nearly all of the time, up to now, and never unseen for its window: a
        use as long as that may have come and gone, however long it was idle before.
        """
        times, covered = self._covered(series, -math.inf)
        if not len(times):
            return self.seen_s
        unseen_s = np.diff(times, prepend=times[0]) - self.pool.period_s
        last = int(np.flatnonzero(unseen_s >= self.pool.guard.window_s).max(initial=0))
        times, covered = times[last:], covered[last:]
        begins = times - covered
        total = np.cumsum(covered[::-1])[::-1]  # seen from each sample on
        enough = total >= self.limits.coverage * (self.seen_s - begins)
        return float(begins[enough][0]) if enough.any() else self.seen_s

    def _covered(self, series: Series, start_s: float) -> tuple[Values, Values]:
        """The samples' times from a time until now, and for how many seconds before it each of them stands."""
        kept = (series.at_s > start_s) & (series.at_s < self.seen_s + self.pool.period_s)
        times = np.unique(np.minimum(series.at_s[kept], self.seen_s))
        if not len(times):
            return times, np.empty(0)
        # The first one stands for its own period alone, the newest for the time until now where it is no older.
        before = np.diff(times, prepend=max(times[0] - self.pool.period_s, start_s))
        covered = np.minimum(before, self.pool.period_s)
        covered[-1] += min(max(self.seen_s - times[-1], 0.0), self.pool.period_s)
        return times, covered

    def joined_s(self, machine: str) -> float:
        """Since when a machine has been counted without a gap."""
        since_s = self.at_s
        for counted in reversed(self.pool.counted):
            if counted.start_s > self.at_s:
                continue
            if machine not in counted.machines or counted.end_s < since_s - self.pool.period_s:
                break
            since_s = counted.start_s
        return since_s

    def left_s(self) -> float:
        """When a machine that is no longer there was counted last; minus infinity where none left. One that a teardown
        took away was idle, and no work waits for it.
        """
        now = self.machines
        left = [span.end_s for span in self.pool.counted if span.machines - now]
        taken = [at_s for at_s in self.pool.emptied_s if at_s <= self.at_s]
        return max(
            (
                end_s
                for end_s in left
                if not any(0 <= end_s - at_s + self.pool.period_s <= SHUT_DOWN_S for at_s in taken)
            ),
            default=-math.inf,
        )

    def used_for(self, seconds: float) -> bool:
        """Whether an accelerator was not under the limit within so long; of machines that left too."""
        return any(not self.idle_values(values).all() for _, values in self.within(seconds))

    def within(self, seconds: float) -> Iterator[tuple[Device, Values]]:
        """The utilization of each accelerator within so long. Not only of today's machines: a spot replacement is idle
        while it loads what its busy predecessor worked on.
        """
        start_s = self.seen_s - seconds
        for device, series in self.pool.utilization_percent.items():
            yield device, series.between(start_s, self.at_s + 1)

    def seen_for(self, seconds: float) -> bool:
        """Whether every accelerator was seen for so long, or since its machine joined; requests too, where counted."""
        return min(self._shares_seen(seconds), default=1.0) >= self.limits.coverage

    def _shares_seen(self, seconds: float) -> Iterator[float]:
        """The share of so long for which each accelerator was seen, and requests were counted: since it joined."""
        start_s = self.seen_s - seconds
        joined_s = {machine: max(start_s, self.joined_s(machine)) for machine in self.machines}
        for device in self.devices:
            series = self.pool.utilization_percent.get(device)
            yield 0.0 if series is None else self.coverage(series, self.seen_s - joined_s[device[0]])
        if self.pool.requests_per_s is not None and joined_s:
            yield self.coverage(self.pool.requests_per_s, self.seen_s - min(joined_s.values()))

    def reporting(self) -> bool:
        """Whether the newest sample of every accelerator is fresh."""
        use = self.pool.utilization_percent
        return all(device in use and len(use[device].at_s) and self.fresh(use[device]) for device in self.devices)

    def _worked(self, series: Series, watts: float) -> NDArray[np.bool_]:
        """Which samples of power are above idleness like a tenth of the window before them: shorter is no work, and
        ends no time of idleness either (an accelerator wakes up whenever it is polled).
        """
        over = series.values > watts
        first = np.searchsorted(series.at_s, series.at_s - self.pool.guard.window_s, side="right")
        number = np.arange(1, len(over) + 1)
        seen = np.concatenate([[0], np.cumsum(over)])
        expected = self.pool.guard.window_s / self.pool.period_s / 2  # half of a window may be lost
        worked: NDArray[np.bool_] = over & (
            (seen[number] - seen[first]) / np.maximum(number - first, expected) >= WORKING
        )
        return worked

    def unready(self) -> str:
        """Why a pool cannot be emptied yet that is idle for its window; "" where it was for its grace before, too."""
        if self.used_for(self.needed_s):
            return f"used within {minutes(self.pool.guard.grace_s)} before"
        if self.seen_for(self.needed_s):
            return ""
        share = min(self._shares_seen(self.needed_s), default=0.0)
        return f"seen for {share:.0%} of the last {minutes(self.needed_s)}"

    def idle_values(self, percent: Values) -> NDArray[np.bool_]:
        """Which samples say idle: one that is no number or below 0 does not, and says nothing about use."""
        return (percent >= 0) & (percent < self.pool.guard.min_utilization_percent)

    def episode(self) -> Episode:
        """The time of idleness in which this look falls. Asked where nothing says that the pool is in use.

        It began with the last thing that is no idleness, or where the samples of this look begin; what earlier looks
        saw counts for as long as no time between them and this one went unseen.
        """
        last_s = max(self.interrupted_s(), self.left_s(), *map(self.joined_s, self.machines))
        seen_s = max((self._seen_from(device) for device in self.devices), default=self._counted_from())
        if self.devices and self.pool.requests_per_s is not None:  # a notice outlives no time in which nobody counted
            seen_s = max(seen_s, self.seen_since(self.pool.requests_per_s))
        since_s = max(last_s, seen_s)
        for earlier in sorted(self.pool.episodes, key=lambda each: each.until_s, reverse=True):
            if earlier.until_s < since_s - self.pool.period_s or earlier.since_s < last_s:
                break
            since_s = min(since_s, earlier.since_s)
        return Episode(since_s=since_s, until_s=max(self.seen_s, since_s))

    def _seen_from(self, device: Device) -> float:
        series = self.pool.utilization_percent.get(device)
        return self.at_s if series is None else max(self.seen_since(series), self.joined_s(device[0]))

    def _until(self, series: Series, which: NDArray[np.bool_]) -> Iterator[float]:
        """When the last of some samples ended: each stands for its period, in which a notice may have been sent."""
        yield from (min(at_s + self.pool.period_s, self.at_s) for at_s in _last(series, which))

    def unseen_until(self, known_s: float) -> float:
        """When the last time ended in which an accelerator went unseen, or requests uncounted, for the guard's window:
        a use may have come and gone. Of the time since `known_s`, or else since what was read begins; minus infinity
        where none did.
        """
        pool, joined_s = self.pool, {machine: self.joined_s(machine) for machine in self.machines}
        read = [(pool.utilization_percent.get(device), joined_s[device[0]]) for device in self.devices]
        if joined_s and pool.requests_per_s is not None:
            read.append((pool.requests_per_s, min(joined_s.values())))
        ends = [(self.at_s if series is None else self.seen_since(series), series, from_s) for series, from_s in read]
        if not joined_s and pool.counted:
            ends.append((pool.counted[0].start_s, None, -math.inf))
        return max(
            (
                seen_s
                for seen_s, series, from_s in ends
                if seen_s - max(known_s if math.isfinite(known_s) else _first(series, seen_s), from_s)
                > pool.guard.window_s
            ),
            default=-math.inf,
        )

    def _counted_from(self) -> float:
        """Since when somebody has counted that a pool has no machine."""
        since_s = self.at_s
        for span in reversed(self.pool.counted):
            if span.start_s > self.at_s:
                continue
            if span.machines or span.end_s < since_s - self.pool.period_s:
                break
            since_s = span.start_s
        return since_s

    def contradictions(self) -> tuple[Contradiction, ...]:
        """Signals that showed work where utilization showed none, when they were read last: those of this look, and
        those of earlier ones that were not read since, on machines that are still there.
        """
        stands: dict[tuple[str, Device], float] = {}
        read: set[tuple[str, Device]] = set()
        for signal, device, series in self._signals():
            window_s = (series.newest_s - self.pool.guard.window_s, series.newest_s + 1)
            used = self.pool.utilization_percent.get(device)
            read.add((signal, device))
            agrees = (
                used is not None and signal != REGISTERED and bool((~self.idle_values(used.between(*window_s))).any())
            )
            if not agrees and self._works(signal, series, series.between(*window_s)):
                stands[signal, device] = series.newest_s
        for earlier in self.pool.contradictions:
            if (earlier.signal, earlier.device) not in read and self._may_stand(earlier.device):
                stands[earlier.signal, earlier.device] = earlier.at_s
        return tuple(
            Contradiction(device=device, signal=signal, at_s=at_s) for (signal, device), at_s in stands.items()
        )

    def _may_stand(self, device: Device) -> bool:
        return not self.counted or device[0] in self.machines

    def _signals(self) -> Iterator[tuple[str, Device, Series]]:
        """What is read beside the utilization of registered accelerators, of machines that are there."""
        pool, registered = self.pool, set(self.devices)
        kinds = {"power": pool.power_w, "activity": pool.sm_percent, "memory": pool.memory_percent}
        for signal, samples in {**kinds, "processes": pool.processes, REGISTERED: pool.utilization_percent}.items():
            for device, series in samples.items():
                if len(series.at_s) and self._may_stand(device) and (signal != REGISTERED or device not in registered):
                    yield signal, device, series

    def _works(self, signal: str, series: Series, values: Values) -> bool:
        """Whether the newest values of a signal show work."""
        pool = self.pool
        if signal == "power":
            return pool.idle_power_w is not None and works_by_power(values, pool.idle_power_w, self.limits)
        if signal == "memory":
            return bool(filling(series, pool.guard.window_s)[-len(values) :].any())
        if signal == "processes":
            return bool((np.diff(values) > 0).any())
        return bool(((values >= pool.guard.min_utilization_percent) & (values <= 100)).any())

    def interrupted_s(self) -> float:
        """When something was seen last that is no idleness."""
        return max(self._interruptions(), default=-math.inf)

    def _interruptions(self) -> Iterator[float]:
        pool = self.pool
        for series in (*pool.utilization_percent.values(), *pool.sm_percent.values()):
            yield from self._until(series, ~self.idle_values(series.values))
        if pool.requests_per_s is not None:
            yield from self._until(pool.requests_per_s, ~(pool.requests_per_s.values == 0))
        if pool.idle_power_w is not None:
            for series in pool.power_w.values():
                yield from _last(series, self._worked(series, self.limits.idle_power_factor * pool.idle_power_w))
        for series in pool.processes.values():
            yield from _last(series, np.diff(series.values, prepend=series.values[:1]) > 0)
        for series in pool.memory_percent.values():
            yield from _last(series, filling(series, pool.guard.window_s))
        yield from (at_s for at_s in (*pool.wakes_s, *pool.saves_s, *pool.parts_s) if at_s <= self.at_s)
        yield from (job.since_s for job in pool.jobs if job.state == "ended")
        for machine in self.machines:  # that came while others, or none, were counted: not one that was there before
            joined_s = self.joined_s(machine)
            if any(span.start_s < joined_s for span in pool.counted):
                yield joined_s
        # One that has left again worked, or loaded what it was to work on, whether it ever reported or not.
        spans = [span for span in pool.counted if span.start_s <= self.at_s]
        for before, span in pairwise(spans):
            # One may have come and gone while nobody counted.
            if span.machines - before.machines or span.start_s > before.end_s + pool.period_s:
                yield span.start_s
        yield from (at_s for at_s in pool.uncounted_s if at_s <= self.at_s and pool.machines_at(at_s) is None)
        yield from interruptions(self.stack, self.at_s)


def interruptions(stack: Stack, at_s: float) -> Iterator[float]:
    """What ends a time of idleness of every pool: an update, and the end of a lease or a protection."""
    yield stack.created_s
    if stack.updated_s is not None:
        yield stack.updated_s
    for word in (*stack.leases, *([stack.protected] if stack.protected else [])):
        if word.until.timestamp() <= at_s:
            yield word.until.timestamp()


SHUT_DOWN_S: Final = 3600.0  # within which a machine that is taken away is gone: a choice of this project
WORKING: Final = 0.1  # of the readings of power in a window
REGISTERED: Final = "utilization"  # of an accelerator that is not registered: of others it is no further signal


def works_by_power(watts: Values, idle_w: float, limits: Limits) -> bool:
    """Whether an accelerator draws more than idleness in a tenth of the readings: a burst of a minute is none, work of
    five in the window is.
    """
    return bool(len(watts)) and float((watts > limits.idle_power_factor * idle_w).mean()) >= WORKING


FILLED: Final = 1.0  # percent points of an accelerator's memory: less is no model and no data set


def filling(series: Series, window_s: float) -> NDArray[np.bool_]:
    """Which samples are above the least memory of the window before them: something was loaded meanwhile."""
    valid = (series.values >= 0) & (series.values <= 100)
    found = np.zeros(len(series.values), dtype=np.bool_)
    if not valid.any() or np.ptp(series.values[valid]) <= FILLED:
        return found
    lowest: deque[tuple[float, float]] = deque()  # samples of the window that no later one undercuts, rising
    for i, at_s, value in zip(  # one by one, in numbers of Python: reading each from an array takes most of the time
        np.flatnonzero(valid), series.at_s[valid].tolist(), series.values[valid].tolist(), strict=True
    ):
        while lowest and lowest[-1][1] >= value:
            lowest.pop()
        lowest.append((at_s, value))
        while lowest[0][0] < at_s - window_s:
            lowest.popleft()
        found[i] = value - lowest[0][1] > FILLED
    return found


def _last(series: Series, which: NDArray[np.bool_]) -> Iterator[float]:
    times = series.at_s[which]
    if len(times):
        yield float(times[-1])


def _first(series: Series | None, default: float) -> float:
    return float(series.at_s[0]) if series is not None and len(series.at_s) else default


def minutes(seconds: float) -> str:
    """A duration in words.

    >>> minutes(60), minutes(300), minutes(7200), minutes(259200)
    ('1 minute', '5 minutes', '2.0 hours', '3.0 days')
    """
    if seconds < 2 * 3600:
        return plural(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours" if seconds < 2 * DAY_S else f"{seconds / DAY_S:.1f} days"


def when(at_s: float) -> str:
    """An instant in words."""
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"
