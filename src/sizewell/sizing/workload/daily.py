"""Load over the week: an hour's share of the busiest one, from the hours that a spec states or from a peak alone.

What the spec states is the mean over the hours in which the service runs; `Week.peak` is how many times as much comes
in the busiest of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sizewell.sizing.units import UnitError

if TYPE_CHECKING:
    from sizewell.sizing.workload.schedule import WeeklySchedule

HOURS: Final = (24, 168)
PEAK_MAX: Final = 12.0
PEAK_HOUR: Final = 15  # of a day of which only the peak is stated (estimate: early afternoon)
ALLOWED: Final = (
    "24 numbers, one for each hour of the day from midnight, or 168 from Monday 00:00, not all 0; or one "
    f"number from 1 to {PEAK_MAX:g}: the busiest hour over the mean"
)


@dataclass(frozen=True, slots=True)
class Week:
    """168 hours from Monday 00:00."""

    shares: tuple[float, ...]  # of the busiest hour's load
    open: tuple[float, ...]  # of each hour, in which the service runs

    @property
    def mean(self) -> float:
        """The mean load of the hours in which the service runs, as a share of the busiest."""
        return math.fsum(s * o for s, o in zip(self.shares, self.open, strict=True)) / math.fsum(self.open)

    @property
    def peak(self) -> float:
        """The busiest hour over the mean."""
        return 1.0 / self.mean


def read_daily(value: object) -> tuple[float, ...]:
    """`traffic.daily` as it is written: hours, or a peak as its only number."""
    values = [value] if isinstance(value, int | float) else value
    if not isinstance(values, list | tuple) or any(isinstance(each, bool | str) for each in values):
        raise UnitError(ALLOWED)
    numbers = tuple(float(each) for each in values if isinstance(each, int | float))
    if len(numbers) != len(values) or not all(math.isfinite(each) and each >= 0 for each in numbers):
        raise UnitError(ALLOWED)
    if len(numbers) == 1 and 1 <= numbers[0] <= PEAK_MAX:
        return numbers
    if len(numbers) not in HOURS:
        raise UnitError(ALLOWED, f"{len(numbers)} are stated" if len(numbers) > 1 else "")
    if not any(numbers):
        raise UnitError(ALLOWED)
    return numbers


def week(daily: tuple[float, ...], schedule: WeeklySchedule | None) -> Week | None:
    """The load of each hour; None where the hours in which the service runs cannot have such a peak, or no load.

    >>> one = week((1.0,) * 12 + (3.0,) * 12, None)
    >>> one.shares[0], one.peak
    (0.3333333333333333, 1.5)
    >>> round(week((2.5,), None).peak, 6)
    2.5
    """
    hours = schedule.open_hours if schedule else (1.0,) * 168
    if len(daily) > 1:
        return _of(daily * (168 // len(daily)), hours)
    low, high = 0.0, 500.0
    made = _of(_bell(high), hours)
    if made is None or made.peak < daily[0]:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        made = _of(_bell(middle), hours)
        assert made is not None  # noqa: S101 - the hours are open
        low, high = (middle, high) if made.peak < daily[0] else (low, middle)
    return made


def _bell(narrow: float) -> tuple[float, ...]:
    """A day that rises to one peak and falls again, the same on all days."""
    day = [math.exp(narrow * (math.cos(2 * math.pi * (hour - PEAK_HOUR) / 24) - 1)) for hour in range(24)]
    return tuple(day) * 7


def _of(loads: tuple[float, ...], hours: tuple[float, ...]) -> Week | None:
    most = max(load if part else 0.0 for load, part in zip(loads, hours, strict=True))
    if not most:
        return None
    return Week(tuple(load / most if part else 0.0 for load, part in zip(loads, hours, strict=True)), hours)
