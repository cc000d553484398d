"""A recorded timeline: what was seen of a stack by time, as a documented JSON file; what is decided at each step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from sizewell.sizing.errors import ConfigError, Fault, UsageError
from sizewell.sizing.records.stackname import cluster_of
from sizewell.sizing.validating import faults_of, read_json
from sizewell.sizing.versions import content
from sizewell.teardown.decide import decide
from sizewell.teardown.records import (
    DAILY_S,
    KEPT,
    Capacity,
    Contradiction,
    Counted,
    Device,
    Episode,
    GuardLimits,
    Job,
    Limits,
    Pool,
    Protection,
    Series,
    Stack,
    Told,
    Update,
    Verdict,
    ends_notice,
    machines_of,
    printable,
    unannounced,
    until_of,
)

SCHEMA = "sizewell.timeline/1"
_SAMPLES = ("utilization_percent", "power_w", "processes", "memory_percent", "sm_percent")
DESCRIBED = "see sizewell/schemas/timeline.schema.json in the installed package"


def _in_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs a time zone, such as 2026-11-20T12:00:00Z")
    return value.astimezone(UTC)


Time = Annotated[datetime, AfterValidator(_in_utc)]
Value = Annotated[float, Field(allow_inf_nan=True)]  # an exporter may send what is no number, and a run records that
Run = tuple[Time, Time, Value]  # a sample each period, from a time until another, all of one value
Sample = tuple[Time, Value]
Samples = tuple[
    Annotated[
        Annotated[Run, Tag("run")] | Annotated[Sample, Tag("sample")],
        Discriminator(
            lambda value: {3: "run", 2: "sample"}.get(len(value)) if isinstance(value, list | tuple) else None,
            custom_error_type="sample_form",
            custom_error_message="must be [TIME, VALUE] or [FROM, UNTIL, VALUE]",
        ),
    ],
    ...,
]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _instant(text: str) -> str:
    until_of(text)
    return text


def _name(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(f"must be a name of printable characters, got {text!r}")
    return text


Name = Annotated[str, AfterValidator(_name)]
Line = Annotated[str, AfterValidator(printable)]


class KeptUntil(_Part):
    """A person's word that a stack stays until a time, or through a day; `since`: known from then on."""

    until: Annotated[str, AfterValidator(_instant)]
    reason: Line
    since: Time | None = None
    unclear: Line = ""  # what the word left open


class RecordedNotice(_Part):
    """A notice to the owner. A time alone is one that somebody heard."""

    at: Time
    about: str = ""
    heard: bool = True
    due: Time | None = None  # when it says that the step is taken, at the earliest
    machines: tuple[str, ...] | None = None  # those that there were, as POOL/MACHINE; null: not recorded

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string", "format": "date-time"}, handler.resolve_ref_schema(handler(core))]}

    @model_validator(mode="before")
    @classmethod
    def _time_alone(cls, data: Any) -> Any:
        return data if isinstance(data, Mapping | cls) else {"at": data}


class RecordedEpisode(_Part):
    """A time of idleness, as an earlier look saw it."""

    since: Time
    until: Time


class RecordedContradiction(_Part):
    """A signal that showed work on an accelerator (`machine/number`) that reported none, when it was read last."""

    device: str = Field(pattern=r"^.+/\d+$", examples=["gpu-0/0"])
    signal: Literal["power", "activity", "memory", "processes", "utilization"]  # the last: of one not registered
    at: Time


class RecordedUpdate(_Part):
    """The engine's lock on the stack, and how it is known that its engine no longer runs."""

    by: Line
    since: Time
    until: Time | None = None  # when the lock was gone
    over: Line = ""
    own: bool = False  # of an engine that a teardown started


class CountedMachines(_Part):
    """The machines that the cloud counted, from a time until another."""

    start: Time
    end: Time
    machines: tuple[Name, ...]


class RecordedJob(_Part):
    """A job of a scheduler, in the state that it reached at `since`."""

    name: Name
    state: Literal["queued", "running", "ended"]
    since: Time


class RecordedGuard(_Part):
    """The pool's own limits."""

    signal: Literal["accelerator_utilization", "requests"] = "accelerator_utilization"
    min_utilization_percent: float = Field(default=5.0, ge=0, le=100)
    window_s: float = Field(default=2700.0, gt=0)
    grace_s: float = Field(default=3600.0, ge=0)
    action: Literal["scale-to-zero", "notify"] = "scale-to-zero"


class RecordedPool(_Part):
    """A pool; samples by accelerator, named `machine/number`."""

    name: Name
    accelerators_per_machine: int = Field(gt=0)
    counted: tuple[CountedMachines, ...]
    nodes_min: int = Field(default=0, ge=0)
    capacity: Capacity = "on-demand"
    guard: RecordedGuard = RecordedGuard()
    period_s: float = Field(default=60.0, gt=0)
    late_s: float = Field(default=0.0, ge=0)
    utilization_percent: Mapping[str, Samples] = {}
    power_w: Mapping[str, Samples] = {}
    processes: Mapping[str, Samples] = {}
    memory_percent: Mapping[str, Samples] = {}
    sm_percent: Mapping[str, Samples] = {}
    idle_power_w: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    requests_per_s: Samples | None = None
    jobs: tuple[RecordedJob, ...] = ()
    queue: Literal["none", "asked", "unanswered"] = "asked"
    saves: tuple[Time, ...] = ()
    parts: tuple[Time, ...] = ()
    checkpoint_interval_s: float = Field(default=1800.0, gt=0)
    notices: tuple[RecordedNotice, ...] = ()
    wakes: tuple[Time, ...] = ()
    emptied: tuple[Time, ...] = Field(default=(), description="when a teardown began to take its machines away")
    episodes: tuple[RecordedEpisode, ...] = ()
    contradictions: tuple[RecordedContradiction, ...] = ()
    uncounted: tuple[Time, ...] = Field(
        default=(), description="when machines could not be counted; a time that `counted` covers was known later"
    )
    usd_per_hour: float | None = None


class Timeline(_Part):
    """What was seen of one stack, and when somebody looks."""

    schema_: Literal["sizewell.timeline/1"] = Field(alias="schema")
    stack: Name
    environment: Line
    created: Time
    expires_at: date | None = None
    protected: KeptUntil | None = None
    leases: tuple[KeptUntil, ...] = ()
    notices: tuple[RecordedNotice, ...] = ()
    receivers: int | None = Field(default=None, ge=0)  # of notices
    updates: tuple[RecordedUpdate, ...] = ()
    updated: tuple[Time, ...] = ()  # when its state was written
    pending: tuple[Line, ...] = ()
    dependents: tuple[Line, ...] = ()
    unproved: Line = ""
    episodes: tuple[RecordedEpisode, ...] = Field(
        default=(), description="since when, and until when, an earlier look found nothing of it in use"
    )
    pools: tuple[RecordedPool, ...]
    steps: tuple[Time, ...] = Field(min_length=1)


def read_timeline(path: Path) -> Timeline:
    """A timeline from its file. ConfigError with every fault, UsageError where there is no such file."""
    return parse_timeline(read_json(path, DESCRIBED), str(path))


def parse_timeline(data: Any, subject: str) -> Timeline:
    """A timeline from its JSON document. ConfigError with every fault, UsageError where it is no JSON object."""
    if not isinstance(data, dict):
        found = type(data).__name__
        raise UsageError(f"{subject}: must be a JSON object, found a {found}\n  fix: {DESCRIBED}")
    content("timeline", data, subject)
    try:
        timeline = Timeline.model_validate(data)
    except ValidationError as error:
        raise ConfigError(faults_of(error, Timeline, hidden=("run", "sample")), subject=subject) from None
    wrong = [
        Fault(path=f"pools[{number}].{kind}", found=name, allowed="machine/number, such as a/0")
        for number, pool in enumerate(timeline.pools)
        for kind in _SAMPLES
        for name in getattr(pool, kind)
        if not name.rpartition("/")[0] or not name.rpartition("/")[2].isdigit()
    ]
    if wrong := [*wrong, *_contradictions(timeline)]:
        raise ConfigError(wrong, subject=subject)
    return timeline


def _contradictions(timeline: Timeline) -> Iterator[Fault]:
    """What each value allows by itself and nobody can mean together: it would be read as nothing, or as one of two."""
    if (of := cluster_of(timeline.stack)) != timeline.stack:
        yield Fault(
            path="stack", found=timeline.stack, allowed=f"a stack of machines, such as {of}, beside which it is"
        )
    for number, at in enumerate(timeline.steps):
        path = f"steps[{number}]"
        if at in timeline.steps[:number]:
            message = f"{at.isoformat()} is stated twice (first in steps[{timeline.steps.index(at)}])"
            yield Fault(path=path, message=message, fix="keep one of them")
        if at < timeline.created:
            message = f"{at.isoformat()} is before the stack was created ({timeline.created.isoformat()})"
            yield Fault(path=path, message=message, fix="correct one of them")
    words = {f"leases[{number}]": word for number, word in enumerate(timeline.leases)}
    words |= {"protected": timeline.protected} if timeline.protected is not None else {}
    for path, word in words.items():
        if word.since is not None:
            yield from _reversed(path, "since", word.since, "until", until_of(word.until)[0])
    for number, update in enumerate(timeline.updates):
        if update.until is not None:
            yield from _reversed(f"updates[{number}]", "since", update.since, "until", update.until)
    names = [pool.name for pool in timeline.pools]
    yield from _reversed_episodes("episodes", timeline.episodes)
    for number, pool in enumerate(timeline.pools):
        path = f"pools[{number}]"
        if (first := names.index(pool.name)) < number:
            message = f"{pool.name!r} is the name of two pools (first of pools[{first}])"
            yield Fault(path=f"{path}.name", message=message, fix="name each pool once")
        yield from _of_pool(path, pool)


def _of_pool(path: str, pool: RecordedPool) -> Iterator[Fault]:
    for number, span in enumerate(pool.counted):
        yield from _reversed(f"{path}.counted[{number}]", "start", span.start, "end", span.end)
        for earlier, other in enumerate(pool.counted[:number]):
            both = max(span.start, other.start), min(span.end, other.end)
            if both[0] < both[1] and set(span.machines) != set(other.machines):
                message = f"counts other machines than counted[{earlier}] from {both[0].isoformat()} on"
                yield Fault(path=f"{path}.counted[{number}]", message=message, fix="end one where the other begins")
                break
    yield from _reversed_episodes(f"{path}.episodes", pool.episodes)
    series = {
        f"{path}.{kind}.{name}": samples for kind in _SAMPLES for name, samples in getattr(pool, kind).items()
    } | {f"{path}.requests_per_s": pool.requests_per_s or ()}
    for place, samples in series.items():
        for number, sample in enumerate(samples):
            if len(sample) == 3 and sample[0] >= sample[1]:
                run = f"[{sample[0].isoformat()}, {sample[1].isoformat()}, {sample[2]:g}]"
                message = f"{run} has no sample: it does not end after it begins"
                fix = "write [FROM, UNTIL, VALUE] with UNTIL after FROM, or [TIME, VALUE] for one sample"
                yield Fault(path=f"{place}[{number}]", message=message, fix=fix)
    reached = Counter((job.name, job.since) for job in set(pool.jobs))
    for number, job in enumerate(pool.jobs):
        if reached[job.name, job.since] > 1:
            message = f"{job.name} is in two states at {job.since.isoformat()}, {job.state} is one"
            yield Fault(path=f"{path}.jobs[{number}]", message=message, fix="keep the one that it reached then")


def _reversed_episodes(path: str, episodes: Sequence[RecordedEpisode]) -> Iterator[Fault]:
    for number, episode in enumerate(episodes):
        yield from _reversed(f"{path}[{number}]", "since", episode.since, "until", episode.until)


def _reversed(path: str, first: str, start: datetime, last: str, end: datetime) -> Iterator[Fault]:
    if end < start:
        message = f"{end.isoformat()} is before {first}, which is {start.isoformat()}"
        yield Fault(path=f"{path}.{last}", message=message, fix=f"correct {first} or {last}")


def counts_never(timeline: Timeline) -> Iterator[str]:
    """Events after the last step: none of the steps knows of them."""
    last = max(timeline.steps)
    events: dict[str, Sequence[datetime]] = {
        "notices": [each.at for each in timeline.notices],
        "updates": [each.since for each in timeline.updates],
        "updated": timeline.updated,
        "leases": [each.since for each in timeline.leases if each.since is not None],
        "episodes": [each.until for each in timeline.episodes],
    }
    for number, pool in enumerate(timeline.pools):
        events |= {
            f"pools[{number}].notices": [each.at for each in pool.notices],
            f"pools[{number}].jobs": [each.since for each in pool.jobs],
            f"pools[{number}].counted": [each.start for each in pool.counted],
            f"pools[{number}].episodes": [each.until for each in pool.episodes],
            f"pools[{number}].contradictions": [each.at for each in pool.contradictions],
            **{
                f"pools[{number}].{name}": getattr(pool, name)
                for name in ("saves", "parts", "wakes", "emptied", "uncounted")
            },
        }
    for path, times in events.items():
        for place, at in enumerate(times):
            if at > last:
                yield f"{path}[{place}]: {at.isoformat()} is after the last step, {last.isoformat()}: it never counts"


def replay(timeline: Timeline, limits: Limits) -> Iterator[tuple[datetime, Verdict, tuple[Verdict, ...]]]:
    """What is decided at each step by what was known then: the time, the stack's verdict, its pools' verdicts.

    Notices that the verdicts ask for count as given at their step, beside those that the file has, and heard unless the
    stack has no receiver; times of idleness are kept from step to step, as runs keep them.
    """
    told: dict[str, list[Told]] = {}
    words: dict[tuple[str, str], float] = {}  # what is said daily, and when it was last
    seen: dict[str, Verdict] = {}
    quiet: tuple[Episode, ...] = ()
    samples = _samples_until(timeline, max(timeline.steps))  # read once: at each step again, months take minutes
    for at in sorted(timeline.steps):
        stack = facts_at(timeline, at, samples)
        pools = tuple(
            replace(
                pool,
                notices=(*pool.notices, *told.get(pool.name, ())),
                episodes=(*pool.episodes, *([earlier.episode] if earlier is not None and earlier.episode else [])),
                contradictions=earlier.contradictions if earlier is not None else pool.contradictions,
            )
            for pool in stack.pools
            for earlier in [seen.get(pool.name)]
        )
        stack = replace(
            stack, pools=pools, notices=(*stack.notices, *told.get("", ())), episodes=(*stack.episodes, *quiet)
        )
        verdict, of_pools = decide(stack, limits, at)
        yield at, verdict, of_pools
        quiet = (verdict.episode,) if verdict.episode else quiet
        seen = {given.subject: given for given in of_pools}
        heard = stack.receivers != 0
        stands = {
            ("" if each is verdict else each.subject, each.clause): each for each in unannounced(verdict, of_pools)
        }
        if any(at.timestamp() - words.get(key, -math.inf) >= DAILY_S for key in stands):  # all of it in one message
            words |= dict.fromkeys(stands, at.timestamp())
            for (key, _), said in stands.items():
                if ends_notice(said):
                    told.setdefault(key, []).append(Told(at_s=at.timestamp(), about=KEPT, heard=heard))
        for key, given in (("", verdict), *((given.subject, given) for given in of_pools)):
            if given.tell:
                due_s, of = _or_never(given.next_at), [pool for pool in stack.pools if key in ("", pool.name)]
                there = machines_of(of, at.timestamp())
                notice = Told(at_s=at.timestamp(), about=given.about, heard=heard, due_s=due_s, machines=there)
                told.setdefault(key, []).append(notice)


_PoolSamples = Mapping[str, Mapping[Device, Series]]  # by kind of sample, then by accelerator
_REQUESTS = "requests_per_s"


def _samples_until(timeline: Timeline, at: datetime) -> tuple[_PoolSamples, ...]:
    """The samples of each pool, up to a time."""
    at_s = at.timestamp()
    return tuple(
        {
            **{kind: _devices(getattr(pool, kind), pool.period_s, at_s) for kind in _SAMPLES},
            _REQUESTS: {}
            if pool.requests_per_s is None
            else {("", 0): _series(pool.requests_per_s, pool.period_s, at_s)},
        }
        for pool in timeline.pools
    )


def facts_at(timeline: Timeline, at: datetime, samples: Sequence[_PoolSamples] | None = None) -> Stack:
    """What was known at a time: nothing that came later. `samples`: of each pool, up to then or longer, if read."""
    samples = _samples_until(timeline, at) if samples is None else samples
    running = [each for each in timeline.updates if each.since <= at and (each.until is None or at < each.until)]
    written = _until(timeline.updated, at)
    ran = [each.until for each in timeline.updates if each.until is not None and each.until <= at and not each.over]
    return Stack(
        name=timeline.stack,
        environment=timeline.environment,
        created_s=timeline.created.timestamp(),
        pools=tuple(_pool(pool, of_pool, at) for pool, of_pool in zip(timeline.pools, samples, strict=True)),
        expires_at=timeline.expires_at,
        protected=_kept(timeline.protected),
        leases=tuple(
            lease for word in timeline.leases if (word.since is None or word.since <= at) and (lease := _kept(word))
        ),
        notices=_notices(timeline.notices, at),
        receivers=timeline.receivers,
        update=next(
            (Update(by=each.by, since_s=each.since.timestamp(), over=each.over, own=each.own) for each in running), None
        ),
        updated_s=max([*written, *(until.timestamp() for until in ran)], default=None),
        pending=timeline.pending,
        dependents=timeline.dependents,
        unproved=timeline.unproved,
        episodes=_episodes(timeline.episodes, at),
    )


def recorded(stack: Stack, at: datetime) -> dict[str, Any]:
    """The document of what was known of a stack at a time: read again, it decides the same."""
    update = stack.update
    return {
        "schema": SCHEMA,
        "stack": stack.name,
        "environment": stack.environment,
        "created": _iso(stack.created_s),
        "expires_at": stack.expires_at.isoformat() if stack.expires_at else None,
        "protected": _word(stack.protected) if stack.protected else None,
        "leases": [_word(lease) for lease in stack.leases],
        "notices": [_notice(notice) for notice in stack.notices],
        "receivers": stack.receivers,
        "updates": []
        if update is None
        else [{"by": update.by, "since": _iso(update.since_s), "over": update.over, "own": update.own}],
        "updated": [] if stack.updated_s is None else [_iso(stack.updated_s)],
        "pending": list(stack.pending),
        "dependents": list(stack.dependents),
        "unproved": stack.unproved,
        "episodes": [_episode(each) for each in stack.episodes],
        "pools": [_recorded_pool(pool) for pool in stack.pools],
        "steps": [at.isoformat()],
    }


def _recorded_pool(pool: Pool) -> dict[str, Any]:
    def devices(series: Mapping[Device, Series]) -> dict[str, Any]:
        return {f"{machine}/{number}": _samples(each, pool.period_s) for (machine, number), each in series.items()}

    return {
        "name": pool.name,
        "accelerators_per_machine": pool.accelerators_per_machine,
        "counted": [
            {"start": _iso(span.start_s), "end": _iso(span.end_s), "machines": sorted(span.machines)}
            for span in pool.counted
        ],
        "nodes_min": pool.nodes_min,
        "capacity": pool.capacity,
        "guard": asdict(pool.guard),
        "period_s": pool.period_s,
        "late_s": pool.late_s,
        **{kind: devices(getattr(pool, kind)) for kind in _SAMPLES},
        "idle_power_w": pool.idle_power_w,
        "requests_per_s": None if pool.requests_per_s is None else _samples(pool.requests_per_s, pool.period_s),
        "jobs": [{"name": job.name, "state": job.state, "since": _iso(job.since_s)} for job in pool.jobs],
        "queue": pool.queue,
        "saves": [_iso(at_s) for at_s in pool.saves_s],
        "parts": [_iso(at_s) for at_s in pool.parts_s],
        "checkpoint_interval_s": pool.checkpoint_interval_s,
        "notices": [_notice(notice) for notice in pool.notices],
        "wakes": [_iso(at_s) for at_s in pool.wakes_s],
        "emptied": [_iso(at_s) for at_s in pool.emptied_s],
        "episodes": [_episode(each) for each in pool.episodes],
        "contradictions": [
            {"device": f"{each.device[0]}/{each.device[1]}", "signal": each.signal, "at": _iso(each.at_s)}
            for each in pool.contradictions
        ],
        "uncounted": [_iso(at_s) for at_s in pool.uncounted_s],
        "usd_per_hour": pool.usd_per_hour,
    }


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()


def _word(word: Protection) -> dict[str, Any]:
    until_s = word.until.timestamp()  # before `since` where a machine with a slower clock ended it
    return {
        "until": word.until.isoformat(),
        "reason": word.reason,
        "since": None if word.since_s is None else _iso(min(word.since_s, until_s)),
        "unclear": word.unclear,
    }


def _episode(episode: Episode) -> dict[str, str]:
    return {"since": _iso(episode.since_s), "until": _iso(episode.until_s)}


def _notice(notice: Told) -> dict[str, Any]:
    due = {"due": _iso(notice.due_s)} if math.isfinite(notice.due_s) else {}
    there = {} if notice.machines is None else {"machines": sorted(notice.machines)}
    return {"at": _iso(notice.at_s), "about": notice.about, "heard": notice.heard, **due, **there}


def _samples(series: Series, period_s: float) -> list[tuple[str, str, float] | tuple[str, float]]:
    """Samples, those of one value that follow each other by whole periods as a run."""
    times, values = series.at_s, series.values
    if not len(times):
        return []
    apart = (np.diff(times) != period_s) | (np.diff(values) != 0)
    first = np.concatenate([[0], np.flatnonzero(apart) + 1])
    last = np.concatenate([first[1:], [len(times)]]) - 1
    return [
        (_iso(float(times[a])), float(values[a]))
        if a == b
        else (_iso(float(times[a])), _iso(float(times[b]) + period_s / 2), float(values[a]))
        for a, b in zip(first, last, strict=True)
    ]


def _kept(word: KeptUntil | None) -> Protection | None:
    if word is None:
        return None
    until, unclear = until_of(word.until)
    since_s = None if word.since is None else word.since.timestamp()
    return Protection(until=until, reason=word.reason, since_s=since_s, unclear=word.unclear or unclear)


def _or_never(at: datetime | None) -> float:
    return -math.inf if at is None else at.timestamp()


def _notices(notices: Sequence[RecordedNotice], at: datetime) -> tuple[Told, ...]:
    return tuple(
        Told(
            at_s=each.at.timestamp(),
            about=each.about,
            heard=each.heard,
            due_s=_or_never(each.due),
            machines=None if each.machines is None else frozenset(each.machines),
        )
        for each in notices
        if each.at <= at
    )


def _episodes(episodes: Sequence[RecordedEpisode], at: datetime) -> tuple[Episode, ...]:
    return tuple(
        Episode(since_s=each.since.timestamp(), until_s=each.until.timestamp()) for each in episodes if each.until <= at
    )


def _until(times: Sequence[datetime], at: datetime) -> tuple[float, ...]:
    return tuple(time.timestamp() for time in times if time <= at)


def _pool(pool: RecordedPool, samples: _PoolSamples, at: datetime) -> Pool:
    at_s = at.timestamp()
    known = {
        kind: {device: series.until(at_s) for device, series in devices.items()} for kind, devices in samples.items()
    }
    requests = known.pop(_REQUESTS).values()
    latest: dict[str, RecordedJob] = {}
    for job in sorted(pool.jobs, key=lambda job: job.since):
        if job.since <= at:
            latest[job.name] = job
    return Pool(
        name=pool.name,
        accelerators_per_machine=pool.accelerators_per_machine,
        counted=tuple(
            Counted(
                start_s=span.start.timestamp(),
                end_s=min(span.end.timestamp(), at_s),
                machines=frozenset(span.machines),
            )
            for span in sorted(pool.counted, key=lambda span: span.start)
            if span.start <= at
        ),
        nodes_min=pool.nodes_min,
        capacity=pool.capacity,
        guard=GuardLimits(**pool.guard.model_dump()),
        period_s=pool.period_s,
        late_s=pool.late_s,
        **known,
        idle_power_w=pool.idle_power_w,
        requests_per_s=next(iter(requests), None),
        jobs=tuple(Job(name=job.name, state=job.state, since_s=job.since.timestamp()) for job in latest.values()),
        queue=pool.queue,
        saves_s=_until(pool.saves, at),
        parts_s=_until(pool.parts, at),
        checkpoint_interval_s=pool.checkpoint_interval_s,
        notices=_notices(pool.notices, at),
        wakes_s=_until(pool.wakes, at),
        emptied_s=_until(pool.emptied, at),
        episodes=_episodes(pool.episodes, at),
        contradictions=tuple(
            Contradiction(device=_device(each.device), signal=each.signal, at_s=each.at.timestamp())
            for each in pool.contradictions
            if each.at <= at
        ),
        uncounted_s=_until(pool.uncounted, at),
        usd_per_hour=pool.usd_per_hour,
    )


def _devices(recorded: Mapping[str, Sequence[Run | Sample]], period_s: float, at_s: float) -> dict[Device, Series]:
    return {_device(name): _series(samples, period_s, at_s) for name, samples in recorded.items()}


def _device(name: str) -> Device:
    machine, _, number = name.rpartition("/")
    return machine, int(number)


def _series(samples: Sequence[Run | Sample], period_s: float, at_s: float) -> Series:
    """Samples in order of time, those after `at_s` left out."""
    times: list[NDArray[np.float64]] = [np.empty(0)]
    values: list[NDArray[np.float64]] = [np.empty(0)]
    for sample in samples:
        run = np.array([sample[0].timestamp()])
        if len(sample) == 3:
            run = np.arange(run[0], min(sample[1].timestamp(), at_s + period_s), period_s)
        times.append(run)
        values.append(np.full(len(run), sample[-1]))
    at, of = np.concatenate(times), np.concatenate(values)
    order = np.argsort(at, kind="stable")
    known = order[at[order] <= at_s]
    return Series(at_s=at[known], values=of[known])
