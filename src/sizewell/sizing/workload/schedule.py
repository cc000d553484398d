"""Weekly windows in which something may run: `Mon-Fri 07:00-21:00, Sat 09:00-12:00 Europe/London`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Final

from sizewell.sizing.units import UnitError, show_duration

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FULL_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ALLOWED: Final = "weekly windows and an IANA time zone, such as 'Mon-Fri 07:00-21:00 Europe/London'"

_ALWAYS: Final = ("24/7", "24x7", "always")
_ALL_WEEK: Final = "leave schedule out: without one it is on all week"
_WORDS: Final = {**dict.fromkeys(("m-f", "weekday", "weekdays", "workdays"), "Mon-Fri"), "weekend": "Sat,Sun",
                 "weekends": "Sat,Sun"}  # fmt: skip
# Places where a clock is called so; of those whose clocks differ the one where most people work first.
_ABBREVIATED: Final[dict[str, tuple[str, ...]]] = {
    "ACDT": ("Australia/Adelaide",), "ACST": ("Australia/Adelaide", "Australia/Darwin"), "ADT": ("America/Halifax",),
    "AEDT": ("Australia/Sydney",), "AEST": ("Australia/Sydney", "Australia/Brisbane"), "AKDT": ("America/Anchorage",),
    "AKST": ("America/Anchorage",), "AST": ("America/Halifax", "America/Puerto_Rico"), "AWST": ("Australia/Perth",),
    "BRT": ("America/Sao_Paulo",), "BST": ("Europe/London",), "CAT": ("Africa/Maputo",), "CDT": ("America/Chicago",),
    "CEST": ("Europe/Berlin",), "CST": ("America/Chicago", "Asia/Shanghai", "America/Mexico_City"),
    "CT": ("America/Chicago",), "EAT": ("Africa/Nairobi",), "EDT": ("America/New_York",), "EEST": ("Europe/Athens",),
    "ET": ("America/New_York",), "GST": ("Asia/Dubai",), "HDT": ("America/Adak",), "HKT": ("Asia/Hong_Kong",),
    "ICT": ("Asia/Bangkok",), "IDT": ("Asia/Jerusalem",), "IST": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"),
    "JST": ("Asia/Tokyo",), "KST": ("Asia/Seoul",), "MDT": ("America/Denver",), "MEZ": ("Europe/Berlin",),
    "MESZ": ("Europe/Berlin",), "MSK": ("Europe/Moscow",), "MT": ("America/Denver",), "NDT": ("America/St_Johns",),
    "NST": ("America/St_Johns",), "NZDT": ("Pacific/Auckland",), "NZST": ("Pacific/Auckland",),
    "PDT": ("America/Los_Angeles",), "PKT": ("Asia/Karachi",), "PST": ("America/Los_Angeles",),
    "PT": ("America/Los_Angeles",), "SAST": ("Africa/Johannesburg",), "SGT": ("Asia/Singapore",),
    "SST": ("Pacific/Pago_Pago",), "WAT": ("Africa/Lagos",), "WEST": ("Europe/Lisbon",), "WIB": ("Asia/Jakarta",),
    "WIT": ("Asia/Jayapura",), "WITA": ("Asia/Makassar",),
}  # fmt: skip

_WINDOW = re.compile(r"([A-Za-z]+(?:\s*[-,]\s*[A-Za-z]+)*)\s+(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})")
_DAYS_ALONE = re.compile(r"(?:[A-Za-z]+day|mon|tue|wed|thu|fri|sat|sun|weekdays|workdays|weekends?|daily|everyday)"
                         r"(?:\s*[-,]\s*\w+)*", re.IGNORECASE)  # fmt: skip
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


def end_days(days: str, start: str, end: str) -> str:
    """The days on which a window ends: those after it starts, where it goes over midnight.

    >>> end_days("mon-fri", "22:00", "06:00"), end_days("sat,sun", "08:00", "24:00")
    ('tue-sat', 'sat,sun')
    """
    return next_day(days) if end < start else days


def next_day(days: str) -> str:
    """The days after.

    >>> next_day("mon-fri"), next_day("sat,sun")
    ('tue-sat', 'sun,mon')
    """
    shifted = {day: DAYS[(index + 1) % 7] for index, day in enumerate(DAYS)}
    separator = "," if "," in days else "-"
    return separator.join(shifted[part.strip().lower()] for part in days.split(separator))


WEEK_MINUTES: Final = 7 * 24 * 60


def runs_per_week(schedule: WeeklySchedule | None, every_s: float) -> float:
    """How often a run starts that is due every so many seconds, where it starts only while a schedule is open.

    >>> nights = parse_schedule("Mon-Fri 22:00-06:00 UTC")
    >>> [runs_per_week(nights, hours * 3600) for hours in (24, 4, 168)], runs_per_week(None, 86400)
    ([5.0, 10.0, 1.0], 7.0)
    """
    due = WEEK_MINUTES * 60 / every_s
    covered = set() if schedule is None else _minutes(schedule.windows)
    if not covered or len(covered) == WEEK_MINUTES:
        return due
    starts = sorted(minute for minute in covered if (minute - 1) % WEEK_MINUTES not in covered)
    runs = 0
    for start in starts:
        length = next(past for past in range(WEEK_MINUTES) if (start + past) % WEEK_MINUTES not in covered)
        runs += max(1, int(length * 60 / every_s))
    return min(due, float(runs))


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
    if not _ZONE.fullmatch(zone) or zone.lower() in (*DAYS, *FULL_DAYS, *_WORDS):
        raise UnitError(ALLOWED, _without_zone(value.strip()))
    _check_zone(zone, windows_text)
    windows = []
    rest = windows_text.strip()
    while rest:
        match = _WINDOW.match(rest)
        if not match:
            if windows_text.strip() in _ALWAYS:
                raise UnitError(ALLOWED, _ALL_WEEK)
            hours, said = hours_meant(value)
            raise UnitError(ALLOWED, f'write "{hours}"{said}')
        try:
            windows.append(_window(*match.groups()))
        except UnitError:
            hours, said = hours_meant(value)
            if "days" in said or "hours" in said:  # which are an example
                raise
            raise UnitError(ALLOWED, f'write "{hours}"{said}') from None
        rest = rest[match.end() :].strip()
        if rest and rest[0] not in ",;":
            hours, said = hours_meant(value)
            raise UnitError(ALLOWED, f'write "{hours}"{said}')
        rest = rest[1:].strip()
    if not windows:
        raise UnitError(ALLOWED)
    return WeeklySchedule(value.strip(), zone, tuple(windows))


def hours_meant(text: str) -> tuple[str, str]:
    """Hours and time zone as they are read, of what somebody wrote in words, and what a reader has to know of them.

    >>> hours_meant("weekdays 9-17 CET"), hours_meant("Mon-Fri 9am-5pm")
    (('Mon-Fri 09:00-17:00 CET', ''), ('Mon-Fri 09:00-17:00 UTC', ', with your time zone in place of UTC'))
    >>> hours_meant("lun-ven 9h-18h Europe/Paris")
    ('Mon-Fri 09:00-18:00 Europe/Paris', ', with your days')
    >>> hours_meant("weekdays 9-17 IST")
    ('Mon-Fri 09:00-17:00 Asia/Kolkata', '; IST is also the time of Europe/Dublin and Asia/Jerusalem')
    >>> hours_meant("9-5")
    ('Mon-Fri 09:00-17:00 UTC', ', with your days and time zone')
    """
    before, last, zones = _zone_at_end(text)
    called = zones or (last.isupper() and len(last) <= 6)  # a zone, if one that nobody knows
    written = re.sub(r"[ ,]+(?:in|at)$", "", (before if called else text).strip().rstrip(","))
    asked = []
    if not (hours := _plain(written)):
        times = re.search(r"(?<![\w:])\d{1,2}[:.\dhHapm]*\s*(?:-|–|to|bis|à|a)\s*\d{1,2}[:.\dhHapm]*(?!\w)", written)
        alone = _plain(f"Mon-Fri {_afternoon(written)}") or (_plain(f"Mon-Fri {times[0]}") if times else "")
        hours, asked = alone or "Mon-Fri 09:00-17:00", ["days"] if alone else ["days", "hours"]
    if not zones:
        asked.append("time zone")
    listed = " and ".join(filter(None, (", ".join(asked[:-1]), *asked[-1:])))
    said = f", with your {listed}{' in place of UTC' if asked == ['time zone'] else ''}" if asked else ""
    if len(zones) > 1:
        said += f"; {last} is also the time of {' and '.join(zones[1:])}"
    return f"{hours} {zones[0] if zones else 'UTC'}", said


def _zone_at_end(text: str) -> tuple[str, str, tuple[str, ...]]:
    """What stands before a time zone, the zone as it is written, of up to three words, and the zones that it names.

    >>> _zone_at_end("daily 9-17 New York"), _zone_at_end("daily 9-17")
    (('daily 9-17', 'New York', ('America/New_York',)), ('daily', '9-17', ()))
    >>> _zone_at_end("daily 9-17 (Tokyo time)")
    ('daily 9-17', 'Tokyo', ('Asia/Tokyo',))
    """
    words = re.sub(r"[ ,]*\b(?:local )?time$", "", re.sub(r"[()]|\.$", "", text.strip()), flags=re.IGNORECASE).split()
    for count in (3, 2, 1):
        last = " ".join(words[-count:])
        if zones := _zones(last):
            return " ".join(words[:-count]), last, zones
    return " ".join(words[:-1]), "".join(words[-1:]), ()


@cache
def _zones(word: str) -> tuple[str, ...]:
    """The time zones that a word names, also by a city; () where it is none.

    >>> _zones("CET"), _zones("paris"), _zones("Mon")
    (('CET',), ('Europe/Paris',), ())
    """
    from zoneinfo import available_timezones

    names = available_timezones()
    if word in names:
        return (word,)
    city = word.lower().replace(" ", "_")
    cities = [name for name in names if re.fullmatch(rf"(?!Etc)\w+/(?:\w+/)?{re.escape(city)}", name, re.IGNORECASE)]
    return _ABBREVIATED.get(word, ()) or tuple(sorted(cities)[:1])


def time_between(text: str) -> str:
    """How long it is from one time to another, of the clock or with their dates; "" for what has no two times.

    >>> time_between("22:00 - 04:00"), time_between("between 1am and 5:30am"), time_between("2026-12-01 - 2026-12-03")
    ('6h', '4h30m', '2d')
    >>> time_between("6-8 hours"), time_between("3h"), time_between("22:00")
    ('', '', '')
    """
    dated = re.findall(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?", text)
    if dated:
        first, last = (datetime.fromisoformat(each) for each in (dated[0], dated[-1]))
        return show_duration((last - first).total_seconds()) if len(dated) == 2 and first < last else ""
    form = r"(?<![\d:.])\d{1,2}(?::\d\d)?(?: ?[ap]m)?(?![\d:a-z])"
    times = [each.replace(" ", "") for each in re.findall(form, text, re.IGNORECASE)]
    forms = {(":" in each and "clock") or each[-2:].lower() for each in times}
    if len(times) != 2 or not all(map(_hour, times)) or not (forms <= {"clock"} or forms <= {"am", "pm", "clock"}):
        return ""
    start, end = (_minute(_hour(each)) for each in times)
    return show_duration(((end - start) % 1440 or 1440) * 60)


def _afternoon(text: str) -> str:
    """`9-5`, whose end is one of the afternoon."""
    match = re.fullmatch(r"(\d{1,2})\s*(?:-|to)\s*(\d{1,2})", text)
    return f"{match[1]}-{int(match[2]) + 12}" if match and int(match[2]) <= int(match[1]) <= 12 else text


def _without_zone(text: str) -> str:
    """What to write in place of a text that ends with no zone: its own hours where they can be read."""
    if text in _ALWAYS:
        return _ALL_WEEK
    if len(text.split()) == 5 and not re.search(r"[A-Za-z:]", text):
        return "this is cron: write the days and hours instead, such as Mon-Fri 08:00-18:00 Europe/London"
    hours, said = hours_meant(text)
    return f'write "{hours}"{said}'


def _plain(text: str) -> str:
    """Windows as they are read, of those that somebody wrote in words and hours alone; "" where that is not clear.

    >>> _plain("weekdays 9am-5pm"), _plain("Mon-Fri 9-17"), _plain("Mon-Fri 9am-5"), _plain("0 8 * * 1-5")
    ('Mon-Fri 09:00-17:00', 'Mon-Fri 09:00-17:00', '', '')
    >>> _plain("Mon to Fri, 9am to 6pm"), _plain("Monday through Friday from 8 to 17"), _plain("Mon-Fri, 9-18")
    ('Mon-Fri 09:00-18:00', 'Monday-Friday 08:00-17:00', 'Mon-Fri 09:00-18:00')
    >>> _plain("Monday through Thursday, from 7 am until 8 pm"), _plain("weekdays between 8 and 17")
    ('Monday-Thursday 07:00-20:00', 'Mon-Fri 08:00-17:00')
    >>> _plain("every working day 8am-6pm"), _plain("8-18 Monday to Friday"), _plain("9:00-18:00 on weekdays")
    ('Mon-Fri 08:00-18:00', 'Monday-Friday 08:00-18:00', 'Mon-Fri 09:00-18:00')
    >>> _plain("Mon, Wed and Fri 9-12"), _plain("M-F 9-5"), _plain("daily 22-6")
    ('Mon,Wed,Fri 09:00-12:00', 'Mon-Fri 09:00-17:00', 'daily 22:00-06:00')
    >>> _plain("weekdays"), _plain("Sat,Sun")
    ('Mon-Fri 00:00-24:00', 'Sat,Sun 00:00-24:00')
    """
    text = re.sub(
        r"(?:(?:every|each|on|all) )?(?:work(?:ing)?|business|week)[ -]?days?\b", "weekdays", text, flags=re.IGNORECASE
    )
    text = re.sub(r"(?:every|each) day\b", "daily", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:every|each|on) (?=[A-Za-z])", "", text, flags=re.IGNORECASE)
    a_day = r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
    text = re.sub(rf"({a_day})(?:,? and |, )(?={a_day})", r"\1,", text, flags=re.IGNORECASE)
    text = re.sub(r"^(\d.*?),? ([A-Za-z]{3,}(?:(?: to |[-,] ?)[A-Za-z]{3,})*)$", r"\2 \1", text)  # the hours first
    text = re.sub(r"([A-Za-z]+) (?:to|through|thru|until|till) ([A-Za-z]+)", r"\1-\2", text)
    text = re.sub(r"([A-Za-z]),? (?:(?:from|between|at) )?(?=\d)", r"\1 ", text)
    text = re.sub(r"(?<=\d) (?=[ap]m\b)|(?<=\d) ?(?:h|hrs|hours|uhr)\b", "", text, flags=re.IGNORECASE)
    text = re.sub(r"(\d(?:[ap]m)?) (?:until|till|through|and) (?=\d)", r"\1-", text, flags=re.IGNORECASE)
    windows = []
    if _DAYS_ALONE.fullmatch(text):
        windows.append(f"{_WORDS.get(text.lower(), text)} 00:00-24:00")
    for part in [] if windows else re.split(r"(?<=[\dm])\s*[,;]\s*(?=\S+\s+\d)", text):
        match = re.fullmatch(r"([A-Za-z,-]+)\s+(\d\S*?)\s*(?:-|to)\s*(\d\S*)", part)
        if match is None:
            return ""
        last = _afternoon(f"{match[2]}-{match[3]}").rpartition("-")[2]
        days, ends = _WORDS.get(match[1].lower(), match[1]), (_hour(match[2]), _hour(last))
        halves = [re.search(r"[ap]m$", end, re.IGNORECASE) is not None for end in match.groups()[1:]]
        if not all(ends) or len(set(halves)) > 1:
            return ""
        windows.append(f"{days} {ends[0]}-{ends[1]}")
    read = [_WINDOW.fullmatch(window) for window in windows]
    try:
        for each in read:
            if each is None:
                return ""
            _window(*each.groups())
    except UnitError:
        return ""
    return ", ".join(windows)


def _hour(text: str) -> str:
    match = re.fullmatch(r"(\d{1,2})(?:[:.](\d\d))?(am|pm)?", text, re.IGNORECASE)
    if match is None or (match[3] and not 1 <= int(match[1]) <= 12):
        return ""
    half = {"am": 0, "pm": 12}.get((match[3] or "").lower())
    hour = int(match[1]) if half is None else int(match[1]) % 12 + half
    return f"{hour:02d}:{match[2] or '00'}"


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


def _check_zone(zone: str, windows: str) -> None:
    import difflib
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # By the place alone: abbreviations that look alike are hours apart, and several are used by more than one zone.
        names = available_timezones()
        near = [name for name in names if name.rpartition("/")[2].lower() == zone.lower() and "/" in name]
        near = near or (difflib.get_close_matches(zone, names, 1, 0.8) if "/" in zone else [])
        hint = f"did you mean {min(near)}?" if near else "use an IANA name, such as Europe/London or UTC"
        hours, said = hours_meant(f"{windows} {zone}")
        places = _zone_at_end(f"{windows} {zone}")[2]
        if places:
            raise UnitError(ALLOWED, f'write "{hours}"{said}') from None
        if re.fullmatch(r"(?:UTC|GMT)[+-].*", zone):
            hint = "name a place, whose clock may change in the year, such as Europe/Berlin"
        raise UnitError(ALLOWED, f"'{zone}' is not a time zone; {hint}") from None


def _minutes(windows: tuple[Window, ...]) -> set[int]:
    covered: set[int] = set()
    for window in windows:
        length = (window.end_min - window.start_min) % 1440 or 1440
        for day in window.days:
            start = day * 1440 + window.start_min
            covered.update(minute % 10_080 for minute in range(start, start + length))
    return covered
