"""Weekly windows in which something may run: `Mon-Fri 07:00-21:00, Sat 09:00-12:00 Europe/London`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from sizewell.sizing.units import UnitError

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FULL_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ALLOWED: Final = "weekly windows and an IANA time zone, such as 'Mon-Fri 07:00-21:00 Europe/London'"

_WINDOW = re.compile(r"([A-Za-z]+(?:\s*[-,]\s*[A-Za-z]+)*)\s+(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")


@dataclass(frozen=True, slots=True)
class Window:
    """Days (Monday is 0), start and end in minutes of the day; an end not after the start is of the next day."""

    days: tuple[int, ...]
    start_min: int
    end_min: int

    def shown(self) -> tuple[str, str, str]:
        """Days, start and end as text: ("mon-fri", "07:00", "21:00")."""
        run = self.days == tuple(range(self.days[0], self.days[-1] + 1)) and len(self.days) > 1
        days = f"{DAYS[self.days[0]]}-{DAYS[self.days[-1]]}" if run else ",".join(DAYS[day] for day in self.days)
        return days, _clock(self.start_min), _clock(self.end_min)


@dataclass(frozen=True, slots=True)
class WeeklySchedule:
    """The windows of one week, in one time zone; `text` as it was written."""

    text: str
    time_zone: str
    windows: tuple[Window, ...]

    @property
    def hours_per_week(self) -> Decimal:
        """Hours covered, overlaps counted once (a week without a change of the clock)."""
        return Decimal(len(_minutes(self.windows))) / 60

    @property
    def open_hours(self) -> tuple[float, ...]:
        """How much of each hour of the week is covered, from Monday 00:00."""
        covered = _minutes(self.windows)
        return tuple(sum(hour * 60 + minute in covered for minute in range(60)) / 60 for hour in range(168))


def parse_schedule(value: object) -> WeeklySchedule:
    """Read windows and time zone.

    >>> plan = parse_schedule("Mon-Fri 07:00-21:00 Europe/London")
    >>> plan.hours_per_week, plan.time_zone, plan.windows[0].shown()
    (Decimal('70'), 'Europe/London', ('mon-fri', '07:00', '21:00'))
    >>> parse_schedule("Sat,Sun 22:00-06:00 UTC").hours_per_week
    Decimal('16')
    """
    if isinstance(value, WeeklySchedule):
        return value
    if not isinstance(value, str) or len(value) > 200:
        raise UnitError(ALLOWED)
    windows_text, _, zone = value.strip().rpartition(" ")
    if not _ZONE.fullmatch(zone):
        raise UnitError(ALLOWED, "end with an IANA time zone, such as Europe/London or UTC")
    _check_zone(zone)
    windows = []
    rest = windows_text.strip()
    while rest:
        match = _WINDOW.match(rest)
        if not match:
            raise UnitError(ALLOWED)
        windows.append(_window(*match.groups()))
        rest = rest[match.end() :].strip()
        if rest and rest[0] not in ",;":
            raise UnitError(ALLOWED)
        rest = rest[1:].strip()
    if not windows:
        raise UnitError(ALLOWED)
    return WeeklySchedule(value.strip(), zone, tuple(windows))


def _window(days_text: str, start: str, end: str) -> Window:
    days: list[int] = []
    for part in re.split(r"\s*,\s*", days_text):
        first, _, last = (piece.strip() for piece in part.partition("-"))
        if first.lower() in ("daily", "everyday") and not last:
            days += range(7)
            continue
        low, high = _day(first), _day(last or first)
        days += range(low, high + 1) if low <= high else [*range(low, 7), *range(high + 1)]
    window = Window(tuple(sorted(set(days))), _minute(start), _minute(end))
    if window.start_min == 1440:
        raise UnitError(ALLOWED, "24:00 may only end a window")
    if window.start_min == window.end_min:
        raise UnitError(ALLOWED, f"the window {start}-{end} is empty; the whole day is 00:00-24:00")
    return window


def _day(text: str) -> int:
    word = text.lower()
    for index, day in enumerate(DAYS):
        if word in (day, FULL_DAYS[index]):
            return index
    raise UnitError(ALLOWED, f"'{text}' is not a day: Mon, Tue, Wed, Thu, Fri, Sat, Sun or daily")


def _minute(text: str) -> int:
    hour, minute = map(int, text.split(":"))
    if minute > 59 or hour * 60 + minute > 1440:
        raise UnitError(ALLOWED, f"'{text}' is not a time of day")
    return hour * 60 + minute


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _check_zone(zone: str) -> None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        import difflib

        near = difflib.get_close_matches(zone, available_timezones(), 1, 0.6)
        hint = f"did you mean {near[0]}?" if near else "use an IANA name, such as Europe/London or UTC"
        raise UnitError(ALLOWED, f"'{zone}' is not a time zone; {hint}") from None


def _minutes(windows: tuple[Window, ...]) -> set[int]:
    covered: set[int] = set()
    for window in windows:
        length = (window.end_min - window.start_min) % 1440 or 1440
        for day in window.days:
            start = day * 1440 + window.start_min
            covered.update(minute % 10_080 for minute in range(start, start + length))
    return covered
