"""What is known of a stack when somebody asks whether it should come down. Times in seconds are since 1970, UTC."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sizewell.sizing.records.stackname import normal_environment

Action = Literal["keep", "warn", "empty", "destroy", "unknown"]
Capacity = Literal["on-demand", "spot", "block", "reservation", "queued", "prepaid"]
PREPAID: Final[frozenset[str]] = frozenset({"block", "reservation", "queued", "prepaid"})
Queue = Literal["none", "asked", "unanswered"]
Device = tuple[str, int]  # name of a machine, number of its accelerator

DAY_S: Final = 86_400.0
KEPT: Final = "kept"  # what the word is about that something stays, though no use, lease or protection of it is known
DAILY_S: Final = DAY_S - 600.0  # after which what is told daily is told again: runs do not begin on the second
OPEN: Final = datetime(9999, 1, 1, tzinfo=UTC)  # the end of a word that holds until somebody ends it


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Samples of one thing, oldest first: when each was taken (seconds since 1970) and its value."""

    at_s: NDArray[np.float64]
    values: NDArray[np.float64]

    def between(self, start_s: float, end_s: float) -> NDArray[np.float64]:
        """The values of start <= time < end."""
        first, last = np.searchsorted(self.at_s, (start_s, end_s), side="left")
        return self.values[first:last]

    def until(self, at_s: float) -> Series:
        """The samples of up to a time, and at it."""
        last = int(np.searchsorted(self.at_s, at_s, side="right"))
        return Series(at_s=self.at_s[:last], values=self.values[:last])

    @property
    def newest_s(self) -> float:
        """When the last sample was taken; minus infinity where there is none."""
        return float(self.at_s[-1]) if len(self.at_s) else -np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardLimits:
    """When a pool counts as idle, as its spec says: the same limit, window and grace as the guard in its stack."""

    signal: Literal["accelerator_utilization", "requests"] = "accelerator_utilization"
    min_utilization_percent: float = 5.0
    window_s: float = 2700.0
    grace_s: float = 3600.0
    action: Literal["scale-to-zero", "notify"] = "scale-to-zero"


class Hours(Protocol):
    """When something may be stopped: a window of teardown.yaml."""

    def open_at(self, at: datetime) -> bool: ...

    def next_open(self, at: datetime) -> datetime | None: ...


class Closed(Protocol):
    """When nothing may be stopped: a calendar of teardown.yaml."""

    def closed_at(self, at: datetime) -> tuple[datetime, str] | None: ...  # until when, and why


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What may be stopped in one environment, and when."""

    windows: tuple[Hours, ...] = ()  # none: at any time
    closed: tuple[Closed, ...] = ()  # stronger than the windows
    firm: bool = False  # an end destroys what is in use too, after a last notice

    def closed_at(self, at: datetime) -> tuple[datetime, str] | None:
        """Until when nothing may be stopped, and why; None on other days."""
        return max((closed for each in self.closed if (closed := each.closed_at(at)) is not None), default=None)

    def opens(self, at: datetime) -> datetime | None:
        """When something may be stopped next: `at` itself inside a window on a day that is not closed; None where that
        is not to be found.
        """
        for _ in range(1000):  # a year of windows that all lie on closed days, and more
            if (closed := self.closed_at(at)) is not None:
                at = closed[0]
            elif not self.windows or any(window.open_at(at) for window in self.windows):
                return at
            else:
                starts = [opens for window in self.windows if (opens := window.next_open(at)) is not None]
                if not starts:
                    return None
                at = min(starts)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that hold for every stack. The defaults are choices of this project, not measurements."""

    coverage: float = 0.95  # share of the time for which samples have to be there
    fresh_periods: float = 2.0  # the newest sample is younger than this many periods
    queued_max_s: float = DAY_S  # a job that waits longer is no sign of use
    checkpoint_intervals: float = 2.0  # a save younger than this many intervals is a sign of use
    idle_power_factor: float = 1.5  # above this much of its idle power an accelerator works
    empty_days: Mapping[str, float] = field(default_factory=lambda: {"dev": 14.0, "staging": 14.0})  # others: reported
    stack_grace_s: float = DAY_S  # between telling that a stack goes, and its going
    expiry_notice_days: tuple[int, ...] = (7, 1)
    update_s_max: float = 6 * 3600.0  # an older lock of the engine is likely that of one that was killed
    late_s_max: float = 900.0  # samples that usually come later than this tell too little of now
    environments: Mapping[str, Rules] | None = None  # nothing is stopped in others; None: at any time in each
    production: frozenset[str] = frozenset()  # production stacks that may be stopped; all others are reported

    def rules(self, environment: str) -> Rules | None:
        """What holds in an environment; None where nothing of it may be stopped."""
        return Rules() if self.environments is None else self.environments.get(environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The machines that the cloud counted in a pool, from one time until another."""

    start_s: float
    end_s: float
    machines: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of a scheduler that would run, runs or ran on the pool."""

    name: str
    state: Literal["queued", "running", "ended"]
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A notice that was sent to an owner."""

    at_s: float
    about: str = ""  # the step; "": not recorded, and taken for the step that is asked for
    heard: bool = True  # whether a channel that a person reads took it
    due_s: float = -math.inf  # when it says that the step is taken, at the earliest
    machines: frozenset[str] | None = None  # those that there were, by pool; None: not recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A time of idleness without an interruption, as a look saw it: until then it had gone on since then."""

    since_s: float
    until_s: float

    @property
    def name(self) -> str:
        """What tells it from every other episode of its pool or stack."""
        return f"idle since {datetime.fromtimestamp(self.since_s, UTC):%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """A signal that showed work on an accelerator that reported none, when it was read last."""

    device: Device
    signal: str  # as `clauses.py` calls it: "power", "memory", …
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A unit that is stopped as a whole, and everything that was seen of it."""

    name: str
    accelerators_per_machine: int
    counted: tuple[Counted, ...]  # oldest first
    nodes_min: int = 0
    capacity: Capacity = "on-demand"
    guard: GuardLimits = field(default_factory=GuardLimits)
    period_s: float = 60.0  # between two samples
    late_s: float = 0.0  # how late samples usually come: so much of the newest time is not expected yet
    utilization_percent: Mapping[Device, Series] = field(default_factory=dict)
    power_w: Mapping[Device, Series] = field(default_factory=dict)
    processes: Mapping[Device, Series] = field(default_factory=dict)
    memory_percent: Mapping[Device, Series] = field(default_factory=dict)
    sm_percent: Mapping[Device, Series] = field(default_factory=dict)  # share of the multiprocessors that had work
    idle_power_w: float | None = None  # of one accelerator; None: not known
    requests_per_s: Series | None = None  # None: nobody counts them
    jobs: tuple[Job, ...] = ()
    queue: Queue = "asked"  # whether the scheduler that feeds it listed its jobs
    saves_s: tuple[float, ...] = ()  # when a checkpoint's manifest was written
    parts_s: tuple[float, ...] = ()  # when a part of an unfinished save was written
    checkpoint_interval_s: float = 1800.0
    notices: tuple[Told, ...] = ()  # that it would be emptied
    wakes_s: tuple[float, ...] = ()  # when a person gave it machines
    emptied_s: tuple[float, ...] = ()  # when a teardown began to take its machines away
    episodes: tuple[Episode, ...] = ()  # what earlier looks saw of its idleness
    contradictions: tuple[Contradiction, ...] = ()  # what earlier looks saw, and not how it ended
    uncounted_s: tuple[float, ...] = ()  # when earlier looks could not count its machines
    usd_per_hour: float | None = None  # of its machines as they stand; None: not known

    def machines_at(self, at_s: float) -> frozenset[str] | None:
        """The machines counted at a time; None where nobody counted."""
        for counted in reversed(self.counted):
            if counted.start_s <= at_s <= counted.end_s:
                return counted.machines
        return None


def machines_of(pools: Iterable[Pool], at_s: float) -> frozenset[str] | None:
    """The machines of pools at a time, as a notice has them; None where that is not known: of no pool, or of one
    that was not counted then.
    """
    counted = {pool.name: pool.machines_at(at_s) for pool in pools}
    if not counted or None in counted.values():
        return None
    return frozenset(f"{name}/{machine}" for name, machines in counted.items() for machine in machines or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """A person's word that a stack stays until an instant, with the reason; `since_s`: when it was given, where known.

    `unclear`: what the word left open, and how it was read.
    """

    until: datetime
    reason: str
    since_s: float | None = None
    unclear: str = ""


def end_of(day: date) -> datetime:
    """When a day is over everywhere: a word that names a day and no time zone is read for the one where it ends last.

    >>> end_of(date(2026, 11, 20)).isoformat()
    '2026-11-21T12:00:00+00:00'
    """
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(hours=36)


def printable(text: str) -> str:
    """A person's words in one line, without what a terminal would obey."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))


def until_of(text: str) -> tuple[datetime, str]:
    """The instant that a word like `2026-12-01T18:00+01:00` or `2026-12-01` names, and what it left open.

    >>> until_of("2026-12-01T18:00+01:00")[0].isoformat(), until_of("2026-12-01")[0].isoformat()
    ('2026-12-01T17:00:00+00:00', '2026-12-02T12:00:00+00:00')
    >>> until_of("2026-12-01T18:00")
    (datetime.datetime(2026, 12, 2, 6, 0, tzinfo=datetime.timezone.utc), 'no time zone given: read as the latest')
    """
    wrong = f"{text!r} is neither a day such as 2026-12-01 nor a time such as 2026-12-01T18:00+01:00"
    try:
        return end_of(date.fromisoformat(text)), ""
    except OverflowError:
        raise ValueError(wrong) from None
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            return at.replace(tzinfo=UTC) + timedelta(hours=12), "no time zone given: read as the latest"
        return at.astimezone(UTC), ""
    except (ValueError, OverflowError):
        raise ValueError(wrong) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The engine's lock on a stack: an update that runs, or one that was killed and left it."""

    by: str
    since_s: float
    over: str = ""  # how it is known that the engine no longer runs; "": it may
    own: bool = False  # a teardown started that engine: it holds the stack for as long, and is nobody's work on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack, its pools, and what people decided about it."""

    name: str
    environment: str  # as people spell it; it is read as dev, staging or prod where it means one of them
    created_s: float
    pools: tuple[Pool, ...]
    expires_at: date | None = None  # it ends at 00:00 UTC on this date
    protected: Protection | None = None
    leases: tuple[Protection, ...] = ()  # those that ended too
    notices: tuple[Told, ...] = ()  # that the stack would go
    receivers: int | None = None  # how many people and channels can be told; None: not known
    update: Update | None = None
    updated_s: float | None = None  # when its state was written last; None: not known
    pending: tuple[str, ...] = ()  # what a killed update had begun
    dependents: tuple[str, ...] = ()  # stacks that stand and read its outputs
    unproved: str = ""  # what is wrong with its newest checkpoint; "": nothing is known to be
    episodes: tuple[Episode, ...] = ()  # since when earlier looks found it quiet

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", normal_environment(self.environment))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a pool or a stack, why, and what comes next."""

    subject: str
    action: Action
    clause: str  # the rule of `decide` that gave it
    reason: str
    next_step: str = ""
    next_at: datetime | None = None
    saves_usd_per_hour: float | None = None
    about: str = ""  # the step that its owner has to know of
    tell: bool = False  # whether the owner is notified of it now
    unheard: bool = False  # whether nothing follows, since nobody could be notified
    episode: Episode | None = None  # of an idle pool, or a stack whose pools are all idle
    contradictions: tuple[Contradiction, ...] = ()  # of a pool: what stands, for the next look


class Said(Protocol):
    """What is said of a pool or stack: a verdict, or its row in a plan."""

    @property
    def action(self) -> Action: ...
    @property
    def clause(self) -> str: ...
    @property
    def about(self) -> str: ...


SaidT = TypeVar("SaidT", bound=Said)


def unannounced(stack: SaidT, pools: Sequence[SaidT]) -> Iterator[SaidT]:
    """What owners hear of once and then daily, since no notice speaks of it: that something is not known, or is not
    stopped for a reason. A pool says for itself what is unknown of it, and its stack no more; that runs have not
    counted for long enough to call a stack empty is no news.
    """
    of_pools = {"unknown" if each.action == "unknown" else each.clause for each in pools}
    for each in (stack, *pools):
        told = each.action not in ("unknown", "warn") or (each.about and each.clause != "window")
        if not told and not (each is stack and (each.clause == "uncounted" or each.clause in of_pools)):
            yield each


def ends_notice(said: Said) -> bool:
    """Whether that word ends an earlier notice: it said that something stays, and named no time at which it goes."""
    return said.clause != "window"
