"""The fleet of a decision under requests one by one: what each waits, whether that holds, and the fewest that hold.

`deployed(option)` is what a decision would run; `judged` simulates so many replicas of it; `fewest` finds the smallest
number that holds. The simulation is `sizing.predict.simulation`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Final

from sizewell.sizing.choose.candidates import Cause, Rejection, machine_of, rejected
from sizewell.sizing.choose.choice import Sizing, size
from sizewell.sizing.choose.fleets import alike_of, job_on
from sizewell.sizing.choose.requirements import Alike, Simulated
from sizewell.sizing.choose.start_up import start_up_s
from sizewell.sizing.predict.memory import room_bytes, serving_parts
from sizewell.sizing.predict.memory.serving import batched_tokens
from sizewell.sizing.predict.performance.serving import is_language_model
from sizewell.sizing.predict.performance.serving_constants import constants
from sizewell.sizing.predict.performance.serving_level import ServiceLevel
from sizewell.sizing.predict.performance.serving_replica import Replica, replica
from sizewell.sizing.predict.simulation.fleet import Promise, ReplicaLimits, Scaling, Served, no_better, simulate
from sizewell.sizing.predict.simulation.requests import SPREAD, Lengths, Requests, arriving, circulating, over_hours
from sizewell.sizing.records.launching import TARGET_LOAD, in_flight_target, sequences_at_once
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from sizewell.sizing.choose.pricing import Option
    from sizewell.sizing.choose.requirements import Arrivals
    from sizewell.sizing.choose.setting import Setting
    from sizewell.sizing.records.jobs import Cluster, ServingJob
    from sizewell.sizing.workload.daily import Week
    from sizewell.sizing.workload.read import WorkloadSpec

PERCENTILES: Final = (0.5, 0.9, 0.95, 0.99)
REPLICAS_MAX: Final = 1024
SECONDS: Final = 600.0  # of a generated load, at least
REQUESTS: Final = 3000  # of a generated load, at least: below, its 95th percentile moves from seed to seed
BURSTS: Final = 6.0  # times as many requests, for a load of so high a burstiness or more: few bursts have most of it
RECORDED_MAX: Final = 50_000  # consecutive requests of a log that a fleet is chosen by: those that come fastest
MINUTES: Final = 24 * 60
WARM_UP: Final = 0.1  # of a generated load, that fills the empty fleet and is not judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """The replicas that a decision runs."""

    job: ServingJob
    cluster: Cluster
    tensor: int
    replicas: int
    per_node: int  # replicas of a machine
    replica: Replica
    limits: ReplicaLimits
    level: ServiceLevel
    arrivals: Arrivals
    scaling: Scaling
    by_hour: tuple[int, ...]  # replicas of each hour of the week that the decision counts with; (): as many in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What arrives: requests by their times, or clients that wait for their answers."""

    requests: Requests
    clients: int = 0
    think_s: float = 0.0  # at the mean
    warm_up: float = 0.0  # share of the requests that is not judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """So many replicas under a load; seconds by percentile, and what of the service level they miss."""

    replicas: int
    ttft_s: dict[float, float]
    tpot_s: dict[float, float]
    e2e_s: dict[float, float]
    e2e_mean_s: float
    missed: tuple[str, ...]
    served: Served

    @property
    def holds(self) -> bool:
        return not self.missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A day on replicas that the autoscaler adds and takes away."""

    judged: Judged  # all requests of the day
    at_s: tuple[float, ...]  # first token of each hour's requests, at the level's percentile; NaN without any
    machines: tuple[int, ...]  # of each minute, those that are no longer needed and still stand as well; 0 where closed
    open_hours: float  # in which the service runs

    @property
    def machine_hours(self) -> float:
        return sum(self.machines) / 60


def size_for_bursts(spec: WorkloadSpec, setting: Setting, *, apart: bool, clouds: Sequence[str]) -> Sizing:
    """As `choice.size`, for a load that states more than means: what is chosen has been simulated under it.

    The search takes each kind of replica at its count for random arrivals of equal lengths, which bursts and spread
    lengths can only raise. From the cheapest on each kind is simulated until none is left that would be cheaper than
    what holds; the search is repeated with what that says, until what it chooses was simulated. The load is that of the
    closed form, a quarter more than stated. `apart`: for the best of each of the `clouds` as well.
    """
    search = _Search()
    while True:
        need = replace(setting.need, simulated=dict(search.known))
        sizing = size(spec, replace(setting, need=need), apart=apart)
        for cloud in (None, *(clouds if apart else ())):
            search.from_the_best(sizing, cloud)
        if search.known == need.simulated:
            # Beside what was simulated stands nothing that was not.
            exact = {kind for kind, simulated in search.known.items() if not simulated.at_least}
            kept = tuple(option for option in sizing.options if _kind(option) in exact)
            return replace(sizing, options=kept, rejections=(*sizing.rejections, *_passed_over(sizing.options, kept)))


def _passed_over(options: Sequence[Option], kept: Sequence[Option]) -> Iterator[Rejection]:
    """The machine types that were not simulated to the end: what holds is ahead of the fewest that they could need."""
    named = {(option.cloud, option.instance_type) for option in kept}
    for option in options:
        name = (option.cloud, option.instance_type)
        if name not in named:
            named.add(name)
            least = f"{plural(option.fleet.nodes, 'machine')} at least, which even random arrivals need"
            yield rejected(option.candidate.shape, Cause.DEARER, f"{least}, come after what was simulated and holds")


class _Search:
    """What simulations say of each kind of replica; a simulation ends where it is known to fail."""

    def __init__(self) -> None:
        self.known: dict[Alike, Simulated] = {}
        self._loads: dict[tuple[float, ...], Load] = {}
        self._failed: list[tuple[tuple[Replica, ReplicaLimits], int]] = []
        self._judged: dict[tuple[Replica, ReplicaLimits, int, int], Judged] = {}

    def from_the_best(self, sizing: Sizing, cloud: str | None) -> None:
        """Simulate what is not known yet, from the best option on; where the cheapest is asked for, no further than
        where all others cost more than one that holds.
        """
        options = [each for each in sizing.options if each.candidate.buildable and cloud in (None, each.cloud)]
        cheapest = sizing.need.objective == "cost"
        least = min(map(self._usd, options), default=math.inf) if cheapest else math.inf
        for option in options:
            if option.rank_usd >= least:
                return
            kind = _kind(option)
            simulated = self.known.get(kind)
            if simulated is None or (simulated.at_least and _usd_at_least(option, _nodes(option, simulated)) < least):
                self.known[kind] = self._simulated(option, least)
            usd = self._usd(option)
            if math.isfinite(usd) and not cheapest:
                return  # what comes next by another objective is asked by the next search
            least = min(least, usd)

    def _usd(self, option: Option) -> float:
        """A month with as many as hold: what stands beside the machines is counted with each of them, so it is no less
        than it will cost. Infinite where the number is not known or there is none.
        """
        simulated = self.known.get(_kind(option))
        if simulated is None or simulated.at_least or not simulated.replicas:
            return math.inf
        return option.rank_usd * _nodes(option, simulated) / option.fleet.nodes

    def _simulated(self, option: Option, usd: float) -> Simulated:
        """The fewest that hold; or only as many as cost more than `usd`, where one fewer does not hold."""
        of = _deployed(option)
        load = self._load(of)
        holds = None
        if math.isfinite(usd):
            nodes = option.fleet.nodes + math.floor((usd - option.rank_usd) / _machine_usd(option))
            within = (nodes - of.arrivals.spare) * of.per_node
            if within >= of.replicas:
                holds = self._holding(of, load, within)
                if holds is None:
                    return Simulated(replicas=within + 1, at_least=True)
        elif not judged(of, _alone(load), 1, early=True).holds:
            return Simulated(replicas=0)
        first = self._early(of, load, of.replicas)
        holds, fails = fewest(of, load, first, lambda _: None, holds=holds, judge=self._early)
        return Simulated(replicas=0) if holds is None else _as_known(of, load, holds, fails)

    def _early(self, of: Deployed, load: Load, replicas: int) -> Judged:
        """As `judged`; kinds of machines whose links play no part have replicas that are alike."""
        key = (of.replica, of.limits, id(load), replicas)
        if key not in self._judged:
            tried = judged(of, load, replicas, early=True)
            # Nobody reads here what single requests waited, which is megabytes.
            served = replace(tried.served, ttft_s=(), end_s=(), e2e_s=(), tpot_s=(), arrived_s=(), waiting=())
            self._judged[key] = replace(tried, served=served)
        return self._judged[key]

    def _holding(self, of: Deployed, load: Load, replicas: int) -> Judged | None:
        """So many replicas where they hold. Those that are nowhere better than as many that do not hold, do not."""
        for failed, count in self._failed:
            if replicas <= count and no_better(of.replica, of.limits, *failed):
                return None
        tried = self._early(of, load, replicas)
        if not tried.holds:
            self._failed.append(((of.replica, of.limits), replicas))
        return tried if tried.holds else None

    def _load(self, of: Deployed) -> Load:
        key = (of.job.input_tokens, of.job.output_tokens, of.job.prefix)
        if key not in self._loads:
            self._loads[key] = _bursts(of)
        return self._loads[key]


def _alone(load: Load) -> Load:
    """Its requests one after the other: none waits less on any fleet."""
    return replace(load, requests=replace(load.requests.all_kept(), think_s=()), clients=1, think_s=0.0)


def _as_known(of: Deployed, load: Load, holds: Judged, fails: Judged | None) -> Simulated:
    percentile = of.level.percentile
    what = [] if of.arrivals.burstiness is None else [f"arrivals of burstiness {of.arrivals.burstiness:g}"]
    what += ["spread lengths"] if of.arrivals.input_spread or of.arrivals.output_spread else []
    if of.arrivals.log is not None:
        what = [f"{plural(len(load.requests), 'recorded request')} that come {1 / TARGET_LOAD:g} times as fast"]
    says = f"simulated with {' and '.join(what)}: {plural(holds.replicas, 'replica')} hold"
    says += "s" if holds.replicas == 1 else ""
    if fails is not None:
        says += f", {fails.replicas} {'does' if fails.replicas == 1 else 'do'} not ({'; '.join(fails.missed)})"
    return Simulated(
        replicas=holds.replicas,
        ttft_s=holds.ttft_s[percentile],
        tpot_s=holds.tpot_s.get(percentile, 0.0),
        e2e_s=holds.e2e_s[percentile],
        # Little's law: each user sends once in what they think and wait.
        requests_per_s=load.clients / (load.think_s + holds.e2e_mean_s) / holds.replicas if load.clients else math.inf,
        says=says,
    )


def _deployed(option: Option) -> Deployed:
    of = deployed(option)
    assert of is not None  # noqa: S101 - the spec states its bursts or lengths, which others are refused for
    return of


def _nodes(option: Option, simulated: Simulated) -> int:
    of = _deployed(option)
    return max(option.fleet.nodes, math.ceil(simulated.replicas / of.per_node) + of.arrivals.spare)


def _usd_at_least(option: Option, nodes: int) -> float:
    """A month with so many machines in place of the option's own, without what else they bring."""
    return option.rank_usd + (nodes - option.fleet.nodes) * _machine_usd(option)


def _machine_usd(option: Option) -> float:
    return max(0.01, option.usd_per_hour * float(option.hours.expected) / option.fleet.nodes)


def _kind(option: Option) -> Alike:
    machine = machine_of(option.candidate.shape, option.candidate.accelerator, (), option.setting.need)
    return alike_of(machine.cluster(1), option.fleet.devices_per_replica)


def _bursts(of: Deployed) -> Load:
    if of.arrivals.log is not None and of.arrivals.requests_per_s is not None:
        return _recorded(of.arrivals.log, of.arrivals.requests_per_s / TARGET_LOAD)
    burstiness = 1.0 if of.arrivals.burstiness is None else of.arrivals.burstiness
    return stated_load(of, burstiness=burstiness, more=1 / TARGET_LOAD)


def _recorded(log: Requests, rate: float) -> Load:
    """The log at so many requests per second: as they came, faster or slower. Of a long one, its busiest part."""
    faster = rate * log.seconds / len(log)
    first, last = 0, len(log)
    if len(log) > RECORDED_MAX:
        spans = (log.at_s[at + RECORDED_MAX - 1] - log.at_s[at] for at in range(len(log) - RECORDED_MAX + 1))
        first = min(enumerate(spans), key=lambda span: span[1])[0]
        last = first + RECORDED_MAX
    start = log.at_s[first]
    return Load(
        requests=Requests(
            [(at - start) / faster for at in log.at_s[first:last]],
            log.prompt_tokens[first:last],
            log.output_tokens[first:last],
            log.cached_tokens[first:last],
            blocks=log.blocks[first:last],
            block_tokens=log.block_tokens,
        )
    )


def deployed(option: Option) -> Deployed | None:
    """What the option runs; None for work that is no online language model."""
    need = option.setting.need
    if need.serving is None or need.arrivals is None or need.level is None:
        return None
    job = job_on(option.candidate.accelerator, need.serving, need.engine)
    if not is_language_model(job):
        return None
    machine = machine_of(option.candidate.shape, option.candidate.accelerator, (), need)
    cluster, tensor = machine.cluster(1), option.fleet.devices_per_replica
    per_node = max(1, machine.count // tensor)
    concurrency = max(1, round(option.fleet.serving.batch)) if option.fleet.serving else 1
    takes = limits(job, cluster, tensor=tensor)
    return Deployed(
        job=job,
        cluster=cluster,
        tensor=tensor,
        replicas=option.fleet.replicas,
        per_node=per_node,
        replica=replica(job, cluster, tensor=tensor),
        limits=replace(takes, sequences=min(takes.sequences, sequences_at_once(concurrency))),  # as launched
        level=need.level,
        arrivals=need.arrivals,
        scaling=Scaling(
            least=max(1, option.counts.minimum * per_node),
            most=option.counts.maximum * per_node,
            target=option.fleet.in_flight_target or in_flight_target(concurrency),
            start_s=start_up_s(job),
            spare=need.arrivals.spare * per_node,
        ),
        by_hour=tuple(nodes * per_node for nodes in option.fleet.by_hour),
    )


def limits(job: ServingJob, cluster: Cluster, *, tensor: int) -> ReplicaLimits:
    """What a replica takes at once, by its memory and its engine's defaults."""
    most = constants().sequences_max
    parts = serving_parts(job, tensor=tensor, accelerator=cluster.accelerator)
    room = room_bytes(job, parts, cluster.accelerator)
    return ReplicaLimits(
        sequences=most.get(job.engine, most["*"]),
        cache_tokens=int(room / (parts.kv_per_token + parts.draft_kv_per_token)),
        step_tokens=batched_tokens(cluster.accelerator),
    )


def _lengths(of: Deployed, cached: float | None) -> Lengths:
    """Lengths as stated; equal ones with a small spread. Answers of exactly one length end together, and within minutes
    all requests come in waves that wait for themselves.
    """
    return Lengths(
        prompt_tokens=of.job.input_tokens,
        output_tokens=of.job.output_tokens,
        prompt_spread=of.arrivals.input_spread or SPREAD,
        output_spread=of.arrivals.output_spread or SPREAD,
        cached=of.job.prefix if cached is None else cached,
        together=of.arrivals.reads,
    )


def stated_load(
    of: Deployed, *, burstiness: float = 1.0, cached: float | None = None, more: float = 1.0, seed: int = 0
) -> Load:
    """The load that the spec states, as requests of its lengths; `more` times as many of them, or of its users."""
    arrivals, lengths = of.arrivals, _lengths(of, cached)
    if arrivals.requests_per_s is None:
        clients = max(1, round((arrivals.users or 1.0) * more))
        count = max(REQUESTS, 10 * clients)
        return Load(
            requests=circulating(clients=clients, count=count, lengths=lengths, think_s=arrivals.think_s, seed=seed),
            clients=clients,
            think_s=arrivals.think_s,
            warm_up=max(WARM_UP, 2 * clients / count),
        )
    rate = arrivals.requests_per_s * more
    seconds = max(SECONDS, REQUESTS * min(BURSTS, max(1.0, burstiness)) / rate)
    requests = arriving(rate=rate, seconds=seconds, lengths=lengths, burstiness=burstiness, seed=seed)
    return Load(requests=requests, warm_up=WARM_UP)


def sent_per_s(of: Deployed, e2e_s: float) -> float:
    """Requests a second in the busiest hour; of users, who each send one in what they think and wait for an answer."""
    arrivals = of.arrivals
    return arrivals.load if arrivals.requests_per_s is not None else arrivals.load / (arrivals.think_s + e2e_s)


def busiest_day(of: Deployed, *, rate: float, burstiness: float = 1.0, cached: float | None = None) -> Load:
    """The day of the week on which most comes, as the spec states its hours; with `rate` in the busiest."""
    arrivals = of.arrivals
    assert arrivals.week is not None  # noqa: S101 - asked only for a load of each hour
    shares, minutes = _hours_of(arrivals.week, _busiest(arrivals.week))
    rates = [rate * share for share in shares]
    closed = len(minutes) < MINUTES
    lengths = _lengths(of, cached)
    return Load(requests=over_hours(rates, lengths=lengths, burstiness=burstiness, minutes=minutes if closed else ()))


def _busiest(week: Week) -> int:
    """The day of the week on which most comes, from Monday."""
    hours = [share * part for share, part in zip(week.shares, week.open, strict=True)]
    return max(range(7), key=lambda day: sum(hours[24 * day : 24 * day + 24]))


def _hours_of(week: Week, day: int) -> tuple[list[float], list[int]]:
    """The load of each hour of a day, and the minutes in which the service runs. A closed hour has the load of the
    nearest open one, so that the load does not begin to rise, or end to fall, within the schedule.
    """
    shares, parts = (list(each[24 * day : 24 * day + 24]) for each in (week.shares, week.open))
    runs = [hour for hour in range(24) if parts[hour]]
    minutes: list[int] = []
    for hour in runs:
        count = round(60 * parts[hour])
        late = hour + 1 in runs and hour - 1 not in runs  # it opens within the hour
        first = 60 * hour + (60 - count if late else 0)
        minutes += range(first, first + count)
    return [shares[min(runs, key=lambda near: (abs(near - hour), near))] for hour in range(24)], minutes


def over_the_day(of: Deployed, load: Load) -> Day:
    """The load of a day on as many replicas as the autoscaler has; by a schedule the first of them are there when it
    begins, and no machine runs outside it.
    """
    week = of.arrivals.week
    assert week is not None  # noqa: S101 - asked only for a load of each hour
    busiest = _busiest(week)
    _, minutes = _hours_of(week, busiest)
    first = of.by_hour[24 * busiest + minutes[0] // 60] if of.by_hour else of.replicas
    scaling = of.scaling
    day = judged(of, load, max(scaling.least, min(scaling.most, first)), scaling)
    hours = [array("d") for _ in range(24)]
    for end, whole, ttft in zip(day.served.end_s, day.served.e2e_s, day.served.ttft_s, strict=True):
        hours[minutes[min(len(minutes) - 1, int((end - whole) / 60))] // 60].append(ttft)
    at = of.level.percentile
    kept = round((of.arrivals.scale_in_s - scaling.wait_s) / 60)
    ordered = list(day.served.ordered)
    needed, count = [], 0
    for minute in range(len(minutes)):
        now = count
        while ordered and ordered[0][0] < (minute + 1) * 60:
            count = ordered.pop(0)[1]
            now = max(now, count)
        needed.append(math.ceil(now / of.per_node))
    machines = [0] * MINUTES
    for index, minute in enumerate(minutes):
        machines[minute] = max(needed[max(0, index - kept) : index + 1])
    return Day(
        judged=day,
        at_s=tuple(percentiles(each).get(at, math.nan) for each in hours),
        machines=tuple(machines),
        open_hours=len(minutes) / 60,
    )


def judged(of: Deployed, load: Load, replicas: int, scaling: Scaling | None = None, *, early: bool = False) -> Judged:
    """So many replicas under the load; with `scaling`, at first. `early`: no further than to where they fail."""
    served = simulate(
        of.replica,
        of.limits,
        load.requests,
        replicas=replicas,
        clients=load.clients,
        scaling=scaling,
        promise=_promise(of.level, load) if early else None,
    )
    first = int(len(served.ttft_s) * load.warm_up)
    figures = [percentiles(values[first:]) for values in (served.ttft_s, served.tpot_s, served.e2e_s)]
    level, names = of.level, ("first token", "each token", "the answer")
    most_s = (level.ttft_s, level.tpot_s, level.e2e_s)
    if served.broken is None:
        missed = [
            f"{name} after {by[level.percentile]:.3g} s, {most:.3g} s allowed"
            for name, by, most in zip(names, figures, most_s, strict=True)
            if most is not None and by and by[level.percentile] > most
        ]
    else:
        share = 100 * (1 - level.percentile)
        missed = [
            f"{names[served.broken]} after more than {most_s[served.broken]:.3g} s for over {share:.3g}% of requests"
        ]
    if served.refused:
        missed.append(f"{served.refused:,} requests are longer than the cache of a replica")
    return Judged(
        replicas=replicas,
        ttft_s=figures[0],
        tpot_s=figures[1],
        e2e_s=figures[2],
        e2e_mean_s=fmean(served.e2e_s[first:]) if served.e2e_s[first:] else 0.0,
        missed=tuple(missed),
        served=served,
    )


def _promise(level: ServiceLevel, load: Load) -> Promise:
    """How many requests are beyond the percentile, by nearest rank as in `percentiles`."""
    first = int(len(load.requests) * load.warm_up)
    outputs = load.requests.output_tokens
    streamed = sum(outputs[index] > 1 for index in range(first, len(outputs)))
    counts = len(outputs) - first, streamed, len(outputs) - first
    most = (level.ttft_s, level.tpot_s, level.e2e_s)
    return Promise(
        most_s=tuple(math.inf if seconds is None else seconds for seconds in most),
        misses=tuple(count - math.ceil(level.percentile * count) for count in counts),
        first=first,
    )


def fewest(
    of: Deployed,
    load: Load,
    known: Judged,
    tell: Callable[[int], None],
    *,
    holds: Judged | None = None,
    judge: Callable[[Deployed, Load, int], Judged] | None = None,
) -> tuple[Judged | None, Judged | None]:
    """The fewest replicas that hold and the most that do not, near `known` first; None where there is none of those.

    More replicas are taken to serve no worse. `known` is a number already tried, `holds` one that does; `tell` hears
    which is tried next, and `judge` tries it.
    """
    holds, fails = (known, None) if known.holds else (holds, known)
    step = max(1, known.replicas // 16)
    while holds is None or ((fails is None or holds.replicas - fails.replicas > 1) and holds.replicas > 1):
        if holds is None:
            assert fails is not None  # noqa: S101 - one of both is known
            if fails.replicas >= REPLICAS_MAX or fails.served.refused:
                return None, fails
            count = min(REPLICAS_MAX, fails.replicas + step)
        elif fails is None:
            count = max(1, holds.replicas - step)
        else:
            count = (holds.replicas + fails.replicas) // 2
        step *= 2
        tell(count)
        tried = judge(of, load, count) if judge else judged(of, load, count, early=True)
        holds, fails = (tried, fails) if tried.holds else (holds, tried)
    return holds, fails


def percentiles(values: Sequence[float]) -> dict[float, float]:
    """Each of `PERCENTILES`, by nearest rank; empty where there is no value. NaN does not count.

    >>> percentiles([3.0, 1.0, 2.0, float("nan")])[0.5]
    2.0
    """
    known = sorted(value for value in values if not math.isnan(value))
    return {share: known[math.ceil(share * len(known)) - 1] for share in PERCENTILES} if known else {}
