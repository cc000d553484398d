"""What is known of a stack when somebody asks whether it should come down. Times in seconds are since 1970, UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Action = Literal["keep", "warn", "empty", "destroy", "unknown"]
Capacity = Literal["on-demand", "spot", "block", "reservation", "queued", "prepaid"]
PREPAID: Final[frozenset[str]] = frozenset({"block", "reservation", "queued", "prepaid"})
Queue = Literal["none", "asked", "unanswered"]
Device = tuple[str, int]  # name of a machine, number of its accelerator

DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Samples of one thing, oldest first: when each was taken (seconds since 1970) and its value."""

    at_s: NDArray[np.float64]
    values: NDArray[np.float64]

    def between(self, start_s: float, end_s: float) -> NDArray[np.float64]:
        """The values of start <= time < end."""
        first, last = np.searchsorted(self.at_s, (start_s, end_s), side="left")
        return self.values[first:last]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that hold for every stack. The defaults are choices of this project, not measurements."""

    coverage: float = 0.95  # share of the samples due that have to be there
    fresh_periods: float = 2.0  # the newest sample is younger than this many periods
    queued_max_s: float = DAY_S  # a job that waits longer is no sign of use
    checkpoint_intervals: float = 2.0  # a save younger than this many intervals is a sign of use
    idle_power_factor: float = 1.5  # above this much of its idle power an accelerator works
    empty_days: Mapping[str, float] = field(default_factory=lambda: {"dev": 14.0, "staging": 14.0})  # others: reported
    stack_grace_s: float = DAY_S  # between telling that a stack goes, and its going
    expiry_notice_days: tuple[int, ...] = (7, 1)


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
    idle_power_w: float | None = None  # of one accelerator; None: not known
    requests_per_s: Series | None = None  # None: nobody counts them
    jobs: tuple[Job, ...] = ()
    queue: Queue = "asked"  # whether the scheduler that feeds it listed its jobs
    saves_s: tuple[float, ...] = ()  # when a checkpoint's manifest was written
    parts_s: tuple[float, ...] = ()  # when a part of an unfinished save was written
    checkpoint_interval_s: float = 1800.0
    notices_s: tuple[float, ...] = ()  # when its owner was notified that it would be emptied
    usd_per_hour: float | None = None  # of its machines as they stand; None: not known

    def machines_at(self, at_s: float) -> frozenset[str] | None:
        """The machines counted at a time; None where nobody counted."""
        for counted in reversed(self.counted):
            if counted.start_s <= at_s <= counted.end_s:
                return counted.machines
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """A person's word that a stack stays, with the reason, through the whole of a day."""

    until: date
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack, its pools, and what people decided about it."""

    name: str
    environment: str
    created_s: float
    pools: tuple[Pool, ...]
    expires_at: date | None = None  # it ends at 00:00 UTC on this date
    protected: Protection | None = None
    leases: tuple[Protection, ...] = ()
    notices_s: tuple[float, ...] = ()  # when its owner was notified that the stack would go


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
