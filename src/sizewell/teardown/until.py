"""Until when somebody wants something kept or paused: `4h`, a day, or a time with its zone. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from sizewell.sizing.errors import UsageError
from sizewell.sizing.units import UnitError, duration_s
from sizewell.teardown.closed import instants, midnight
from sizewell.teardown.records import end_of

DAYS_MAX: Final = 90


def forms(now: datetime) -> str:
    """The forms of a time to come.

    >>> forms(datetime(2026, 12, 30, tzinfo=UTC))
    '4h, 3d, 2027-01-01, 2027-01-01T18:00+01:00, or 2027-01-01T18:00 with --zone Europe/London'
    """
    day = soon(now)
    return f"4h, 3d, {day}, {day}T18:00+01:00, or {day}T18:00 with --zone Europe/London"


def soon(now: datetime) -> date:
    """A day that is over nowhere yet, for an example.

    >>> soon(datetime(2026, 12, 30, tzinfo=UTC)).isoformat()
    '2027-01-01'
    """
    return now.date() + timedelta(days=2)


def moment(text: str, now: datetime, *, zone: str = "", option: str = "--until") -> datetime:
    """The instant that a person means. UsageError where it cannot be told, is past, or is too far away.

    A day is over when it is over in the zone that is named, and without one when it is over everywhere. Of an hour that
    comes twice by the clocks of the zone the second counts.

    >>> moment("4h", datetime(2026, 11, 27, 9, tzinfo=UTC)).isoformat()
    '2026-11-27T13:00:00+00:00'
    >>> moment("2026-11-27T18:00", datetime(2026, 11, 27, 9, tzinfo=UTC), zone="Europe/Paris").isoformat()
    '2026-11-27T17:00:00+00:00'
    """
    if zone and zone not in available_timezones():
        raise UsageError(f"--zone: {zone!r} is not an IANA time zone\n  fix: such as Europe/London or America/New_York")
    last = now + timedelta(days=DAYS_MAX)
    try:
        day = _day(text)
        at = _moment(text, now, zone, option) if day is None else _over(day, zone)
        latest = last if day is None else _over(last.date(), zone)
    except OverflowError:
        raise UsageError(f"{option}: {text} is too far away\n  fix: check the year; {forms(now)}") from None
    if at <= now:
        raise UsageError(f"{option}: {text} is past: it is {now:%Y-%m-%d %H:%M} UTC now\n  fix: {forms(now)}")
    if at > latest:
        raise UsageError(
            f"{option}: {text} is too far away: at most {DAYS_MAX} days, through {last.date()}\n"
            "  fix: check the year; what stays longer is named under `protected` in stacks/config/teardown.yaml"
        )
    return at


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _over(day: date, zone: str) -> datetime:
    return midnight(day + timedelta(days=1), zone) if zone else end_of(day)


def _moment(text: str, now: datetime, zone: str, option: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        try:
            return now + timedelta(seconds=duration_s(text))
        except UnitError:
            raise UsageError(
                f"{option}: {text!r} is neither a duration nor a day nor a time\n  fix: {forms(now)}"
            ) from None
    if at.tzinfo is not None:
        return at.astimezone(UTC)
    if not zone:
        fix = f"{text}+01:00, or {option} {text} --zone Europe/London"
        raise UsageError(f"{option}: {text} has no time zone\n  fix: {fix}")
    _, until = instants(at, ZoneInfo(zone))
    reads = until.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    if reads != at:
        raise UsageError(
            f"{option}: {text} does not exist in {zone}: the clocks there are put forward past it\n"
            f"  fix: {reads:%Y-%m-%dT%H:%M}, or a time with its offset"
        )
    return until
