"""What says that a pool is in use, and what says that nobody can tell: one function for each, by what it reads.

`decide.py` has the order in which the two groups come. Within a group the order only decides which reason is printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from sizewell.teardown.looks import FILLED, Look, filling, minutes, works_by_power
from sizewell.teardown.records import DAY_S, Device, Pool, Series

Clause = Callable[[Look], str | None]  # why the pool is in use, or why nobody can tell; None: it does not say so


# In use -----------------------------------------------------------------------------------------------------------


def job_queued(look: Look) -> str | None:
    """A job waits for the pool. One that has waited for a day waits for something that does not come."""
    queued = [job for job in look.pool.jobs if job.state == "queued"]
    if not queued or look.at_s - max(job.since_s for job in queued) > look.limits.queued_max_s:
        return None
    return f"job {min(queued, key=lambda job: job.since_s).name} is queued"


def just_started(look: Look) -> str | None:
    """Machines younger than the grace are set up, or load what they work on. Nor is one idle that reported from its
    start on, and not yet for the window: samples come late.
    """
    joined_s = max((look.joined_s(machine) for machine in look.machines), default=-math.inf)
    began = f"a machine was started {minutes(look.at_s - joined_s)} ago" if look.machines else ""
    if look.at_s - joined_s <= look.pool.guard.grace_s:
        return began
    young = look.seen_s - joined_s < look.pool.guard.window_s
    return began if young and look.reporting() and look.seen_for(look.pool.guard.window_s) else None


def woken(look: Look) -> str | None:
    """A person gave it machines within window and grace, whether they have come already or not."""
    age_s = look.at_s - max((at_s for at_s in look.pool.wakes_s if at_s <= look.at_s), default=-math.inf)
    return None if age_s > look.needed_s else f"somebody woke it {minutes(age_s)} ago"


def saved(look: Look) -> str | None:
    """A checkpoint, or a part of one, younger than two intervals: something is alive."""
    age_s = look.at_s - max((*look.pool.saves_s, *look.pool.parts_s), default=-math.inf)
    if age_s >= look.limits.checkpoint_intervals * look.pool.checkpoint_interval_s:
        return None
    return f"a checkpoint was written {minutes(age_s)} ago"


def busy(look: Look) -> str | None:
    """One accelerator that reached the limit within the window keeps the whole pool."""
    limit, window = look.pool.guard.min_utilization_percent, minutes(look.pool.guard.window_s)
    for kind, samples in (("", look.pool.utilization_percent), (" of its multiprocessors", look.pool.sm_percent)):
        for device, series in (*_of(look, samples), *_of_left(look, samples)):
            values = look.window(series)
            values = values[(values >= limit) & (values <= 100)]  # others say that the exporter is broken
            if len(values) and (look.fresh(series) or device not in look.devices) and not _hangs(look, device):
                gone = "" if device in look.devices else ", which is not counted now,"
                return f"{named(device)}{gone} reached {values.max():.0f} %{kind} within {window}"
    return None


def requests_came(look: Look) -> str | None:
    """Requests within the window, however complete their count is: a service is in use at any load."""
    rate = look.window(look.pool.requests_per_s)
    most = rate[rate > 0].max(initial=0.0)
    return f"it had up to {most:.2g} requests per second" if most > 0 else None


def process_began(look: Look) -> str | None:
    """A process that began within the window, on whichever accelerator: somebody set it to work."""
    for device, series in _of(look, look.pool.processes):
        if (np.diff(look.window(series)) > 0).any():
            return f"a process began on {named(device)} within {minutes(look.pool.guard.window_s)}"
    return None


def memory_fills(look: Look) -> str | None:
    """Memory that fills within the window: a model or a data set is loaded, at no utilization."""
    for device, series in _of(look, look.pool.memory_percent):
        values = look.window(series)
        if len(values) and float(values[-1] - values.min()) > FILLED:
            return f"memory of {named(device)} filled from {values.min():.0f} to {values[-1]:.0f} %"
    return None


def unregistered(look: Look) -> str | None:
    """What reports and is in no registration: an accelerator beyond the registered ones, or a machine outside of its
    group. Whoever added it uses it, until somebody explains it.
    """
    known = set(look.devices)
    for device, series in sorted(look.pool.utilization_percent.items()):
        if device in known or not len(look.window(series)) or not look.fresh(series):
            continue
        if device[0] in look.machines:
            count = look.pool.accelerators_per_machine
            return f"{named(device)} reports, but only {count} per machine are registered"
        if look.machines:
            return f"{named(device)} reports, but its machine is not counted in the pool"
    return None


USE: Final[tuple[Clause, ...]] = (
    job_queued,
    just_started,
    woken,
    saved,
    unregistered,
    busy,
    requests_came,
    process_began,
    memory_fills,
)


def machines_left(look: Look) -> str | None:
    """A machine that left just now may have been taken away under its work (spot), which comes back on another.

    What stands in its place may be idle until then, so it counts whether others remain or not.
    """
    age_s = look.at_s - look.left_s()
    if age_s > look.needed_s:
        return None
    return f"{'a machine left' if look.machines else 'it had machines until'} {minutes(age_s)} ago"


def used_before(look: Look) -> str | None:
    """Idle for its window and not yet for its grace: a destroy takes more than an emptying does."""
    pool, start_s = look.pool, look.seen_s - look.needed_s
    idle, before = f"idle for {minutes(pool.guard.window_s)}, but", f"within {minutes(pool.guard.grace_s)} before"
    for device, values in look.within(look.needed_s):
        used = (values >= pool.guard.min_utilization_percent) & (values <= 100)
        if used.any() and not _hangs(look, device):
            return f"{idle} used {before}"
    if pool.requests_per_s is not None and (pool.requests_per_s.between(start_s, look.at_s + 1) > 0).any():
        return f"{idle} it had requests {before}"
    for device, series in _of(look, pool.processes):
        if (np.diff(series.between(start_s, look.at_s + 1)) > 0).any():
            return f"{idle} a process began on {named(device)} {before}"
    for device, series in _of(look, pool.memory_percent):
        values = series.between(start_s, look.at_s + 1)
        if len(values) and filling(series, pool.guard.window_s)[-len(values) :].any():
            return f"{idle} memory of {named(device)} filled {before}"
    return None


# Nobody can tell --------------------------------------------------------------------------------------------------


def uncounted(look: Look) -> str | None:
    """Nobody counted its machines."""
    return None if look.counted else "its machines were not counted"


def impossible(look: Look) -> str | None:
    """Less than nothing, more than 100 percent, or no number: the exporter is broken, and says nothing about use."""
    pool = look.pool
    for samples, most, unit in (
        (pool.utilization_percent, 100.0, "% utilization"),
        (pool.sm_percent, 100.0, "% utilization"),
        (pool.power_w, math.inf, "W"),
        (pool.memory_percent, 100.0, "% of its memory"),
        (pool.processes, math.inf, "processes"),
    ):
        for device, series in _of(look, samples):
            values = look.window(series)
            odd = values[~((values >= 0) & (values <= most))]
            if len(odd):
                return f"{named(device)} reports {odd[0]:g} {unit}"
    return None


def latched(look: Look) -> str | None:
    """100 percent all the time at idle power: the counter hangs (seen on Blackwell), or a job does."""
    for device in look.devices:
        if _hangs(look, device):
            watts = look.window(look.pool.power_w[device]).max()
            return f"{named(device)} reports 100 % all the time at idle power, {watts:.0f} W at most"
    return None


def unseen(look: Look) -> str | None:
    """Each accelerator of each machine has to be seen, for 95 % of the time and now: no data is not idleness."""
    for device in look.devices:
        series = look.pool.utilization_percent.get(device)
        if series is None or not len(series.at_s):
            return f"{named(device)} reports nothing"
        if not look.fresh(series):
            return f"the newest sample of {named(device)} is {minutes(look.at_s - series.newest_s)} old"
        share = look.coverage(series, look.pool.guard.window_s)
        if share < look.limits.coverage:
            return f"{named(device)} was seen for {share:.0%} of the last {minutes(look.pool.guard.window_s)}"
    return None


def powered(look: Look) -> str | None:
    """No utilization at far more than idle power: the metric is wrong."""
    idle_w = look.pool.idle_power_w
    for device, series in _of(look, look.pool.power_w):
        values = look.window(series)
        if idle_w is not None and works_by_power(values, idle_w, look.limits):
            return f"{named(device)} draws up to {values.max():.0f} W and reports no utilization"
    return None


def contradicted(look: Look) -> str | None:
    """A signal that showed work, and is not read any more: its silence settles nothing."""
    for each in look.contradictions():
        late_s = look.seen_s - each.at_s
        if each in look.pool.contradictions or late_s > look.limits.fresh_periods * look.pool.period_s:
            return (
                f"{each.signal} of {named(each.device)} showed work when it was last read, "
                f"{minutes(look.at_s - each.at_s)} ago, and has not been read since"
            )
    return None


def job_running(look: Look) -> str | None:
    """A job runs and no accelerator works: a hang holds the machines, and a person has to look."""
    running = next((job for job in look.pool.jobs if job.state == "running"), None)
    return None if running is None else f"job {running.name} runs, but no accelerator is busy"


def queued_long(look: Look) -> str | None:
    """A job has waited for so long that it is no sign of use, and none of disuse either."""
    oldest_s = min((job.since_s for job in look.pool.jobs if job.state == "queued"), default=None)
    if oldest_s is None:
        return None
    name = next(job.name for job in look.pool.jobs if job.state == "queued" and job.since_s == oldest_s)
    return f"job {name} has been queued for {(look.at_s - oldest_s) / DAY_S:.1f} days"


def requests_wrong(look: Look) -> str | None:
    """Requests counted as less than none, or as no number."""
    rate = look.window(look.pool.requests_per_s)
    wrong = rate[~(rate >= 0)]
    return f"its requests are counted as {wrong[0]:g} per second" if len(wrong) else None


def requests_uncounted(look: Look) -> str | None:
    """A service that answers requests: where nobody counts them, or not all the time, nobody can tell."""
    series = look.pool.requests_per_s
    if series is None and look.pool.guard.signal != "requests":
        return None
    if series is not None and look.coverage(series, look.pool.guard.window_s) >= look.limits.coverage:
        return None
    return "its requests were not counted, or not all the time"


def queue_unasked(look: Look) -> str | None:
    """A scheduler feeds the pool and did not respond: a job may wait for it."""
    if look.pool.queue != "unanswered":
        return None
    return "its scheduler did not report which jobs run or wait"


def unseen_before(look: Look) -> str | None:
    """Seen for its window and not for its grace, or wrong there: as `used_before`, of a stack."""
    if look.seen_for(look.needed_s) and not look.used_for(look.needed_s):
        return None
    grace = minutes(look.pool.guard.grace_s)
    return f"idle for {minutes(look.pool.guard.window_s)}, but not seen, or not rightly, within {grace} before"


UNKNOWN: Final[tuple[Clause, ...]] = (
    uncounted,
    impossible,
    latched,
    requests_wrong,
    requests_uncounted,
    unseen,
    powered,
    contradicted,
    job_running,
    queued_long,
    queue_unasked,
)


def used_uncounted(look: Look) -> str | None:
    """Use although no machine is counted: the count lags behind, or a machine works on outside of its group."""
    start_s = look.seen_s - look.needed_s
    for device, series in sorted(look.pool.utilization_percent.items()):
        values = series.between(start_s, look.at_s + 1)
        if not look.idle_values(values).all():
            return f"{named(device)} reports up to {np.nanmax(values):g} % although no machine is counted"
    return None


# Of a pool without machines it does not matter that its requests or its queue were not counted: nothing is there that
# could be in use. It is asked only where its stack would go.
USE_WITHOUT_MACHINES: Final[tuple[Clause, ...]] = (job_queued, woken, saved, requests_came, machines_left)
UNKNOWN_WITHOUT_MACHINES: Final[tuple[Clause, ...]] = (job_running, queued_long, requests_wrong, used_uncounted)


def first(clauses: tuple[Clause, ...], look: Look) -> tuple[str, str] | None:
    """The name and the reason of the first clause that says so; None where none does."""
    for clause in clauses:
        if (reason := clause(look)) is not None:
            return clause.__name__, reason
    return None


def unwatched(pool: Pool) -> tuple[str, ...]:
    """What nothing was read of: the clauses on it say nothing of this pool."""
    read = {
        "utilization": bool(pool.utilization_percent),
        "power": bool(pool.power_w) and pool.idle_power_w is not None,
        "processes": bool(pool.processes),
        "memory": bool(pool.memory_percent),
        "SM activity": bool(pool.sm_percent),
        "requests": pool.requests_per_s is not None,
        "jobs": pool.queue == "asked",
    }
    return tuple(what for what, has in read.items() if not has)


def named(device: Device) -> str:
    return f"accelerator {device[1]} of {device[0]}"


def _of(look: Look, samples: Mapping[Device, Series]) -> Iterator[tuple[Device, Series]]:
    """The samples of the registered accelerators of today's machines."""
    for device in look.devices:
        series = samples.get(device)
        if series is not None:
            yield device, series


def _of_left(look: Look, samples: Mapping[Device, Series]) -> Iterator[tuple[Device, Series]]:
    """The samples of what is not in today's pool: of machines that have left, and of what nobody ever registered."""
    known = set(look.devices)
    yield from ((device, series) for device, series in sorted(samples.items()) if device not in known)


def _hangs(look: Look, device: Device) -> bool:
    """Whether it reports 100 % all the time and never draws more than idleness: by `powered`'s limit, so that there is
    no power between the two at which neither says anything.
    """
    values, power = (look.window(samples.get(device)) for samples in (look.pool.utilization_percent, look.pool.power_w))
    if look.pool.idle_power_w is None or not len(values) or not len(power):
        return False
    return bool(values.min() >= 100 and power.max() <= look.limits.idle_power_factor * look.pool.idle_power_w)
