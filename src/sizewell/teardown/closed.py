"""Days on which nothing is stopped: public holidays of a country, the events of an ICS file, or dates.

Holidays are those of the library `holidays`, events those of `icalendar` and `recurring-ical-events`: both are the
optional extra `calendars`. Without it, or with a calendar that cannot be read, nothing is decided by the file at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from sizewell import source
from sizewell.sizing.errors import Fault

_RANGE: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?")
NATIONWIDE: Final = "nationwide"  # said in place of a part of a country, whose own holidays are not wanted
Span = tuple[datetime, datetime, str]  # from, until, why


def instants(wall: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """The first and the last instant that a time on a zone's clocks may mean: two in an hour that comes twice. Of one
    that is left out, those of the clocks before and after the change.

    >>> [at.isoformat() for at in instants(datetime(2026, 10, 25, 1, 30), ZoneInfo("Europe/London"))]
    ['2026-10-25T00:30:00+00:00', '2026-10-25T01:30:00+00:00']
    """
    first, last = sorted(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return first, last


def midnight(day: date, zone: str) -> datetime:
    """When a day begins by the clock of a zone; where the clocks leave midnight out, when that is over."""
    at = datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)
    while at.astimezone(ZoneInfo(zone)).date() < day:  # read before the change: on the day before
        at += timedelta(minutes=15)
    return at


def days_of(text: str) -> tuple[date, date]:
    """First and last day of `2026-12-24` or `2026-12-24..2027-01-02`. ValueError where it is neither.

    >>> days_of("2026-12-24..2027-01-02")
    (datetime.date(2026, 12, 24), datetime.date(2027, 1, 2))
    """
    match = _RANGE.fullmatch(text)
    try:
        first, last = (date.fromisoformat(part) for part in (match[1], match[2] or match[1])) if match else (None, None)
    except ValueError:
        first = last = None
    if first is not None and last is not None and last < first:
        raise ValueError(f"{text!r} ends before it begins; write {last}..{first}")
    if first is None or last is None:
        raise ValueError(f"{text!r} is neither a day such as 2026-12-24 nor days such as 2026-12-24..2027-01-02")
    return first, last


def of_dates(dates: tuple[str, ...], zone: str, reason: str) -> list[Span]:
    """The spans of days that the file names."""
    days = (days_of(text) for text in dates)
    return [(midnight(first, zone), midnight(last + timedelta(days=1), zone), reason) for first, last in days]


@lru_cache(maxsize=64)
def of_country(country: str, subdivision: str, zone: str, year: int) -> list[Span]:
    """The public holidays of a year; without a part of the country, those of all of it alone."""
    import holidays

    part = None if subdivision in ("", NATIONWIDE) else subdivision
    days = holidays.country_holidays(country, subdiv=part, years=year)
    return [
        (midnight(day, zone), midnight(day + timedelta(days=1), zone), f"{name} ({country})")
        for day, name in sorted(days.items())
    ]


def parts_with_more(country: str, year: int) -> list[str]:
    """The parts of a country that have public holidays which are not those of all of it."""
    import holidays

    everywhere = set(holidays.country_holidays(country, years=year))
    parts = holidays.list_supported_countries().get(country, [])
    return [part for part in parts if set(holidays.country_holidays(country, subdiv=part, years=year)) - everywhere]


@lru_cache(maxsize=64)
def of_events(text: str, zone: str, year: int) -> list[Span]:
    """The events of a calendar that touch a year, each time that they recur. ValueError where it cannot be read."""
    import recurring_ical_events

    first, last = date(year, 1, 1) - timedelta(days=1), date(year + 1, 1, 2)
    events = recurring_ical_events.of(_calendar(text)).between(first, last)
    spans = [_span(event, zone) for event in events if str(event.get("STATUS", "")).upper() != "CANCELLED"]
    return sorted(spans)


def _calendar(text: str) -> Any:
    import icalendar

    return icalendar.Calendar.from_ical(text)


def _span(event: Any, zone: str) -> Span:
    """From when until when an event lasts. A day is one of the zone, and so is a time without one of its own. Where the
    clocks leave open what a time means, it is the first for a beginning and the last for an end. An event of no length
    closes its day: nobody enters a freeze that is none.
    """
    start, end = event.start, event.end
    name = str(event.get("SUMMARY") or "an event without a title")
    if not isinstance(start, datetime):
        return midnight(start, zone), midnight(max(end, start + timedelta(days=1)), zone), name
    if end <= start:
        day = (start if start.tzinfo is None else start.astimezone(ZoneInfo(zone))).date()
        return midnight(day, zone), midnight(day + timedelta(days=1), zone), name
    opens, _ = instants(start, start.tzinfo or ZoneInfo(zone))
    _, closes = instants(end, end.tzinfo or ZoneInfo(zone))
    return opens, closes, name


# What is wrong with a calendar ----------------------------------------------------------------------------------------


def country_faults(path: str, country: str, subdivision: str) -> Iterator[Fault]:
    """Why a country's holidays are not known."""
    try:
        import holidays
    except ImportError:
        yield _missing(f"{path}.country", "holidays")
        return
    known = holidays.list_supported_countries()
    if country not in known:
        close = get_close_matches(country.upper(), known, n=1)
        fix = f"did you mean {close[0]}?" if close else "a code of ISO 3166 in capital letters, such as GB or DE"
        yield Fault(path=f"{path}.country", message=f"{country!r}: no holidays are known of it", fix=fix)
    elif subdivision not in ("", NATIONWIDE, *known[country]):
        named = getattr(getattr(holidays, country, None), "subdivisions_aliases", {})  # Texas: TX
        near = (
            [named[subdivision]]
            if subdivision in named
            else get_close_matches(subdivision.upper(), known[country], n=1)
        )
        parts = ", ".join(known[country]) or "none: leave it out"
        fix = f"did you mean {near[0]}?" if near else ""
        yield Fault(path=f"{path}.subdivision", found=subdivision, allowed=f"one of {country}: {parts}", fix=fix)


def events_of(path: str, file: Path) -> tuple[str, list[Fault]]:
    """The text of an ICS file, and why it cannot be read."""
    try:
        text = file.read_text(encoding="utf-8-sig")  # as calendars of Windows are written
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "is no text in UTF-8"
        return "", [
            Fault(path=f"{path}.ics", message=f"{file.name}: {why}", fix="put the calendar there, or name another")
        ]
    try:
        import icalendar  # noqa: F401
        import recurring_ical_events  # noqa: F401
    except ImportError:
        return "", [_missing(f"{path}.ics", "icalendar and recurring-ical-events")]
    try:
        events = _calendar(text).walk("VEVENT")
        if wrong := [fault for event in events for fault in _event_faults(f"{path}.ics", file.name, event)]:
            return "", wrong
        for event in events:
            of_events(text, "UTC", event.start.year)
    except Exception as error:  # noqa: BLE001 - of libraries that read what people and programs of others wrote
        reason = str(error).partition("\n")[0] or type(error).__name__
        return "", [Fault(path=f"{path}.ics", message=f"{file.name}: is no calendar: {reason}", fix="export it again")]
    if not events:
        return "", [
            Fault(path=f"{path}.ics", message=f"{file.name}: has no events", fix="export it again, or leave it out")
        ]
    return text, []


_TOO_OFTEN: Final = ("SECONDLY", "MINUTELY", "HOURLY")  # of a year: 8,760 to 31 million times


def _event_faults(path: str, file: str, event: Any) -> Iterator[Fault]:
    """Why an event says no time that can be held: the libraries would turn its ends round, read the time of a zone that
    they do not know by another's clock, or let an event that never takes place pass.
    """
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    start, end, length, rule = (event.get(key) for key in ("DTSTART", "DTEND", "DURATION", "RRULE"))
    begins = start.dt if start is not None else None
    name = f"{file}: {event.get('SUMMARY') or 'an event without a title'}"
    at = f"{name}, {begins.isoformat()}" if begins is not None else name
    for key in ("DTSTART", "DTEND", "EXDATE", "RDATE"):
        listed = event.get(key)
        for each in listed if isinstance(listed, list) else [listed]:
            zone = each.params.get("TZID") if each is not None else None
            moments = [] if each is None else [one.dt for one in getattr(each, "dts", [each])]
            if zone and any(isinstance(moment, datetime) and moment.tzinfo is None for moment in moments):
                fix = "name a zone such as Europe/London, or put its VTIMEZONE into the file"
                yield Fault(path=path, message=f"{at}: the time zone {zone!r} of its {key} is not known", fix=fix)
                return
    if begins is None:
        return
    if end is not None and (isinstance(end.dt, datetime), _is_naive(end.dt)) != (
        isinstance(begins, datetime),
        _is_naive(begins),
    ):
        message = "begins with a day or a time of no zone, and ends otherwise"
        yield Fault(path=path, message=f"{at}: {message}", fix="give both ends the same form")
    elif (end is not None and end.dt < begins) or (length is not None and length.dt < timedelta(0)):
        until = end.dt.isoformat() if end is not None else f"{length.dt} later"
        yield Fault(path=path, message=f"{at}: ends before it begins: {until}", fix="correct one of them")
    often = next((str(each) for each in (rule or {}).get("FREQ", ()) if str(each).upper() in _TOO_OFTEN), "")
    if often:
        fix = "recur DAILY or less often, with a DURATION for the hours"
        yield Fault(path=path, message=f"{at}: recurs {often}: no days are closed so", fix=fix)
        return
    last = (rule or {}).get("UNTIL")
    ended: Any = last[0] if isinstance(last, list) and last else last
    if ended is not None and _is_before(ended, begins):
        message = f"recurs until {ended.isoformat()}, before it begins: no day of it is held"
        yield Fault(path=path, message=f"{at}: {message}", fix="correct UNTIL, or take the event out")
    elif event.get("EXDATE") is not None and event.get("RECURRENCE-ID") is None and not _takes_place(event):
        message = "every time of it is left out by EXDATE: no day of it is held"
        yield Fault(path=path, message=f"{at}: {message}", fix="correct EXDATE, or take the event out")


def _is_naive(moment: date) -> bool:
    return isinstance(moment, datetime) and moment.tzinfo is None


def _is_before(moment: date, other: date) -> bool:
    """By the clock where both have one of their own, else by the day."""
    if isinstance(moment, datetime) and isinstance(other, datetime) and _is_naive(moment) == _is_naive(other):
        return moment < other
    return _day_of(moment) < _day_of(other)


def _day_of(moment: date) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _takes_place(event: Any) -> bool:
    """Whether an event that leaves times out takes place within two years of its beginning."""
    import icalendar
    import recurring_ical_events

    alone = icalendar.Calendar()
    alone.add_component(event)
    first = _day_of(event.start)
    days = recurring_ical_events.of(alone).between(first - timedelta(days=1), first + timedelta(days=731))
    return bool(days)


def _missing(path: str, packages: str) -> Fault:
    return Fault(path=path, message=f"needs {packages}, which are not installed", fix=source.install("calendars"))
