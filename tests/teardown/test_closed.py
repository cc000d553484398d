"""Days on which nothing is stopped: holidays, calendars, dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sizewell.sizing.errors import ConfigError
from sizewell.teardown import closed
from sizewell.teardown.config import TeardownConfig, parse_config, read_config
from tests.teardown.test_run import described, evening, stack

__all__ = ["evening"]
BASE = {"schema": "sizewell.teardown/1", "journal": "file:///tmp/journal"}
LONDON, BERLIN, AUCKLAND = "Europe/London", "Europe/Berlin", "Pacific/Auckland"


def closing(*stated: dict[str, Any], root: Path = Path(), **more: Any) -> TeardownConfig:
    return parse_config({**BASE, "environments": {"dev": {"closed": list(stated), **more}}}, root)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def calendar(root: Path, *events: str, name: str = "freeze.ics") -> Path:
    folder = root / "stacks/config"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//petsnap//freeze//EN"]
    for number, event in enumerate(events):
        lines += ["BEGIN:VEVENT", f"UID:{number}@petsnap", "DTSTAMP:20260101T000000Z", *event.split("|"), "END:VEVENT"]
    (folder / name).write_text("\r\n".join([*lines, "END:VCALENDAR", ""]))
    return root


@pytest.mark.parametrize(
    ("stated", "time", "open_"),
    [
        ({"country": "GB", "subdivision": "ENG", "time_zone": LONDON}, "2026-12-25T12:00+00:00", False),
        ({"country": "GB", "subdivision": "ENG", "time_zone": LONDON}, "2026-12-24T23:59+00:00", True),
        ({"country": "GB", "subdivision": "ENG", "time_zone": LONDON}, "2026-12-25T00:00+00:00", False),
        # 26 December 2026 is a Saturday: the Monday after it is its substitute
        ({"country": "GB", "subdivision": "ENG", "time_zone": LONDON}, "2026-12-28T12:00+00:00", False),
        # St Andrew's Day: in Scotland alone
        ({"country": "GB", "subdivision": "ENG", "time_zone": LONDON}, "2026-11-30T12:00+00:00", True),
        ({"country": "GB", "subdivision": "SCT", "time_zone": LONDON}, "2026-11-30T12:00+00:00", False),
        # 1 January in Auckland begins at 11:00 UTC on the day before, in another year
        ({"country": "NZ", "time_zone": AUCKLAND}, "2026-12-31T10:59+00:00", True),
        ({"country": "NZ", "time_zone": AUCKLAND}, "2026-12-31T11:00+00:00", False),
        ({"dates": ["2026-12-18..2027-01-04"], "time_zone": BERLIN}, "2026-12-17T22:59+00:00", True),
        ({"dates": ["2026-12-18..2027-01-04"], "time_zone": BERLIN}, "2026-12-17T23:00+00:00", False),
        ({"dates": ["2026-12-18..2027-01-04"], "time_zone": BERLIN}, "2027-01-04T22:59+00:00", False),
        ({"dates": ["2026-12-18..2027-01-04"], "time_zone": BERLIN}, "2027-01-04T23:00+00:00", True),
    ],
)
def test_a_day_is_closed_by_the_clock_of_its_zone(stated, time, open_):
    assert closing(stated).open_at("dev", at(time)) is open_


@pytest.mark.parametrize(
    ("event", "time", "open_"),
    [
        ("SUMMARY:launch|DTSTART;VALUE=DATE:20261201|DTEND;VALUE=DATE:20261203", "2026-12-02T23:30+01:00", False),
        ("SUMMARY:launch|DTSTART;VALUE=DATE:20261201|DTEND;VALUE=DATE:20261203", "2026-12-03T00:30+01:00", True),
        ("SUMMARY:one day|DTSTART;VALUE=DATE:20261201", "2026-12-01T12:00+01:00", False),
        (
            "SUMMARY:closing the books|DTSTART;VALUE=DATE:20260131|RRULE:FREQ=MONTHLY;BYMONTHDAY=-1",
            "2027-02-28T12:00Z",
            False,
        ),
        (
            "SUMMARY:closing the books|DTSTART;VALUE=DATE:20260131|RRULE:FREQ=MONTHLY;BYMONTHDAY=-1",
            "2027-02-27T12:00Z",
            True,
        ),
        ("SUMMARY:hours|DTSTART:20261201T090000Z|DTEND:20261201T110000Z", "2026-12-01T10:59Z", False),
        ("SUMMARY:hours|DTSTART:20261201T090000Z|DTEND:20261201T110000Z", "2026-12-01T11:00Z", True),
        ("SUMMARY:no zone|DTSTART:20261201T090000|DTEND:20261201T110000", "2026-12-01T08:30Z", False),
        # 02:00 to 03:00 comes twice that night: closed from the first 02:00 until the second 02:30
        ("SUMMARY:at night|DTSTART:20261025T020000|DTEND:20261025T023000", "2026-10-25T00:00Z", False),
        ("SUMMARY:at night|DTSTART:20261025T020000|DTEND:20261025T023000", "2026-10-25T01:29Z", False),
        ("SUMMARY:at night|DTSTART:20261025T020000|DTEND:20261025T023000", "2026-10-25T01:30Z", True),
        # 02:00 to 03:00 is left out
        ("SUMMARY:in spring|DTSTART:20270328T023000|DTEND:20270328T040000", "2027-03-28T00:30Z", False),
        ("SUMMARY:no end|DTSTART:20261201T090000Z", "2026-12-01T20:00Z", False),
        ("SUMMARY:over the year|DTSTART;VALUE=DATE:20261224|DTEND;VALUE=DATE:20270103", "2027-01-02T12:00Z", False),
        ("SUMMARY:off|STATUS:CANCELLED|DTSTART;VALUE=DATE:20261201", "2026-12-01T12:00Z", True),
    ],
)
def test_the_events_of_a_calendar_close_their_days(tmp_path, event, time, open_):
    config = closing({"ics": "freeze.ics", "time_zone": BERLIN}, root=calendar(tmp_path, event))
    assert config.open_at("dev", at(time)) is open_


def test_a_calendar_with_a_byte_order_mark_is_read(tmp_path):
    """As Windows writes it; the mark would be invisible in a message."""
    root = calendar(tmp_path, "SUMMARY:x|DTSTART;VALUE=DATE:20261201")
    file = root / "stacks/config/freeze.ics"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    read = closing({"ics": "freeze.ics", "time_zone": BERLIN}, root=root)
    assert not read.open_at("dev", at("2026-12-01T12:00Z"))


def test_what_is_closed_everywhere_is_closed_in_each_environment():
    every = {"closed": [{"dates": ["2026-12-24"], "time_zone": BERLIN}]}
    config = parse_config({**BASE, **every})
    assert [config.open_at(name, at("2026-12-24T12:00Z")) for name in ("dev", "staging")] == [False, False]
    assert config.open_at("dev", at("2026-12-25T12:00Z"))


def test_it_opens_next_in_a_window_on_a_day_that_is_not_closed():
    windows = [{"days": ["thu", "fri"], "start": "07:00", "end": "21:00", "time_zone": LONDON}]
    rules = closing({"country": "GB", "subdivision": "ENG", "time_zone": LONDON}, windows=windows).limits().rules("dev")
    # Christmas Day is a Friday, the next window is that of New Year's Eve, and New Year's Day is closed again
    assert rules.opens(at("2026-12-25T12:00Z")) == at("2026-12-31T07:00Z")
    assert rules.opens(at("2026-12-31T21:00Z")) == at("2027-01-07T07:00Z")


def test_windows_that_only_lie_on_closed_days_never_open():
    windows = [{"days": ["fri"], "start": "07:00", "end": "21:00", "time_zone": LONDON}]
    rules = closing({"dates": ["2026-01-01..2060-12-31"], "time_zone": LONDON}, windows=windows).limits().rules("dev")
    assert rules.opens(at("2026-12-25T12:00Z")) == at("2061-01-07T07:00Z")


@pytest.mark.parametrize(
    ("stated", "path", "says"),
    [
        ({"country": "XX"}, "country", "'XX': no holidays are known of it"),
        ({"country": "gb"}, "country", "did you mean GB?"),
        ({"country": "GB", "subdivision": "QQ"}, "subdivision", "ENG"),
        ({"country": "US", "subdivision": "ENG"}, "subdivision", "WY"),
        ({"country": "US", "subdivision": "Texas"}, "subdivision", "did you mean TX?"),
        ({"subdivision": "BY", "dates": ["2026-12-24"]}, "subdivision", "is part of a country, and none is named"),
        ({"country": "GB", "dates": ["2026-12-24"]}, "", "must have one of country, ics and dates"),
        ({}, "", "must have one of country, ics and dates"),
        ({"dates": ["24.12.2026"]}, "dates", "is neither a day such as 2026-12-24"),
        ({"dates": ["2026-12-24..2026-12-20"]}, "dates", "ends before it begins; write 2026-12-20..2026-12-24"),
        ({"country": False}, "country", "must be text, got False\n  fix: put it in quotes"),  # NO, Norway
        ({"country": "CA", "subdivision": True}, "subdivision", "must be text, got True"),  # ON, Ontario
        ({"dates": ["2026-02-30"]}, "dates", "is neither a day"),
        ({"ics": "missing.ics"}, "ics", "missing.ics: No such file"),
        ({"ics": "../freeze.ics"}, "ics", "ics"),
        ({"ics": "broken.ics"}, "ics", "broken.ics: is no calendar"),
        ({"ics": "empty.ics"}, "ics", "empty.ics: has no events"),
        ({"ics": "rule.ics"}, "ics", "rule.ics: is no calendar"),
        ({"country": "GB", "time_zone": "London"}, "time_zone", "is not an IANA time zone"),
    ],
)
def test_a_calendar_that_cannot_be_read_is_one_error(tmp_path, stated, path, says):
    calendar(tmp_path, name="empty.ics")
    calendar(tmp_path, "SUMMARY:x|DTSTART;VALUE=DATE:20261201|RRULE:FREQ=SOMETIMES", name="rule.ics")
    (tmp_path / "stacks/config/broken.ics").write_text("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:nine\r\n")
    with pytest.raises(ConfigError) as error:
        closing({"time_zone": LONDON, **stated}, root=tmp_path)
    assert says in str(error.value)
    assert path in str(error.value)
    assert len(error.value.faults) == 1


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("DTSTART:20261228T220000|DTEND:20261228T020000", "ends before it begins: 2026-12-28T02:00:00"),
        ("DTSTART;VALUE=DATE:20261228|DTEND;VALUE=DATE:20261227", "ends before it begins: 2026-12-27"),
        ("DTSTART:20261228T180000|DURATION:-PT6H", "ends before it begins"),
        ("DTSTART;VALUE=DATE:20261228|DTEND:20261229T020000", "give both ends the same form"),
        ("DTSTART;VALUE=DATE:20261228|RRULE:FREQ=DAILY;UNTIL=20251231", "recurs until 2025-12-31, before it begins"),
        (
            "DTSTART;TZID=America/New_Yrok:20261228T180000|DTEND;TZID=America/New_Yrok:20261228T200000",
            "the time zone 'America/New_Yrok' of its DTSTART is not known",
        ),
        (
            "DTSTART;TZID=Europe/London:20261228T200000|DURATION:PT2H|RRULE:FREQ=DAILY;UNTIL=20261228T100000Z",
            "recurs until 2026-12-28T10:00:00+00:00, before it begins",
        ),
        ("DTSTART:20261228T200000|DURATION:PT2H|RRULE:FREQ=DAILY;COUNT=1|EXDATE:20261228T200000", "left out by EXDATE"),
        ("DTSTART;VALUE=DATE:20261228|EXDATE;VALUE=DATE:20261228", "left out by EXDATE"),
        ("DTSTART;VALUE=DATE:20261228|DURATION:P2D|RRULE:FREQ=SECONDLY", "recurs SECONDLY: no days are closed so"),
        (
            "DTSTART:20261228T180000|DURATION:PT2H|RRULE:FREQ=DAILY|EXDATE;TZID=Amerika/Berlin:20261229T180000",
            "the time zone 'Amerika/Berlin' of its EXDATE is not known",
        ),
    ],
)
def test_an_event_that_says_no_time_is_one_error_unless_it_is_cancelled(tmp_path, event, says):
    calendar(tmp_path, f"SUMMARY:freeze|{event}")
    with pytest.raises(ConfigError) as error:
        closing({"ics": "freeze.ics", "time_zone": LONDON}, root=tmp_path)
    assert "freeze.ics: freeze, 2026-12-28" in str(error.value)
    assert says in str(error.value)
    assert len(error.value.faults) == 1
    if "same form" in says:
        return  # which the library reads of no event
    calendar(tmp_path, f"STATUS:CANCELLED|{event}", "SUMMARY:x|DTSTART;VALUE=DATE:20261201")
    assert closing({"ics": "freeze.ics", "time_zone": LONDON}, root=tmp_path).open_at(
        "dev", at("2026-12-28T19:00+00:00")
    )


@pytest.mark.parametrize(
    "event",
    [
        "DTSTART;TZID=Asia/Tokyo:20261229T050000|DURATION:PT2H|RRULE:FREQ=DAILY;UNTIL=20261228T200000Z",
        "DTSTART:20261228T193000|DURATION:PT2H|RRULE:FREQ=DAILY;COUNT=3|EXDATE:20261229T193000",
        "DTSTART;VALUE=DATE:20261228|RRULE:FREQ=YEARLY|EXDATE;VALUE=DATE:20271228",
    ],
)
def test_an_event_that_takes_place_once_is_held(tmp_path, event):
    calendar(tmp_path, f"SUMMARY:freeze|{event}")
    read = closing({"ics": "freeze.ics", "time_zone": LONDON}, root=tmp_path)
    assert not read.open_at("dev", at("2026-12-28T20:30+00:00"))


def test_without_the_libraries_the_file_is_refused_with_the_command_that_installs_them(tmp_path, monkeypatch):
    import sys

    calendar(tmp_path, "DTSTART;VALUE=DATE:20261201")
    for name in ("holidays", "icalendar"):
        monkeypatch.setitem(sys.modules, name, None)
    for stated in ({"country": "GB"}, {"ics": "freeze.ics"}):
        with pytest.raises(ConfigError, match="sizewell\\[calendars\\]"):
            closing({**stated, "time_zone": LONDON}, root=tmp_path)
    assert not closing({"dates": ["2026-12-24"], "time_zone": LONDON}).open_at("dev", at("2026-12-24T12:00Z"))


def test_the_file_of_a_project_reads_its_calendars(tmp_path):
    calendar(tmp_path, "SUMMARY:launch|DTSTART;VALUE=DATE:20261201")
    text = "schema: sizewell.teardown/1\njournal: file:///j\nclosed:\n  - {ics: freeze.ics, time_zone: Europe/Berlin}\n"
    (tmp_path / "stacks/config/teardown.yaml").write_text(text)
    assert not read_config(tmp_path).open_at("dev", at("2026-12-01T12:00Z"))


def test_nothing_is_stopped_on_a_closed_day_and_that_is_said(evening):
    stack(evening)
    evening.told()
    day = f"{evening.now - timedelta(days=1):%Y-%m-%d}..{evening.now + timedelta(days=1):%Y-%m-%d}"
    evening.settings = {"closed": [{"dates": [day], "time_zone": "UTC", "reason": "year-end freeze"}]}
    row = evening.pool()
    assert (row.action, row.clause, row.next_step) == ("warn", "window", "empty")
    assert "year-end freeze: nothing is stopped" in row.why
    assert row.next_at is not None
    assert row.next_at.date() == (evening.now + timedelta(days=2)).date()
    evening.run()
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1


def test_what_is_announced_is_no_day_on_which_nothing_is_stopped(evening):
    """Neither is the first notice wrong about the day: of a pool that is idle, and of a stack whose end comes."""
    ends = evening.now.date() + timedelta(days=1)
    stack(evening, expires=str(ends))
    freeze = f"{evening.now - timedelta(days=1):%Y-%m-%d}..{evening.now + timedelta(days=5):%Y-%m-%d}"
    evening.settings = {"closed": [{"dates": [freeze], "time_zone": "UTC", "reason": "freeze"}]}
    (one,) = evening.plan().stacks
    opens = evening.now.date() + timedelta(days=6)
    (pool,) = one.pools
    assert (pool.action, pool.clause, pool.next_step, pool.next_at.date()) == ("warn", "told", "empty", opens)
    assert (one.row.clause, one.row.next_step, one.row.next_at.date()) == ("expires", "destroy", opens)


def test_midnight_that_a_clock_leaves_out_is_when_the_day_begins():
    # Cairo goes from 00:00 to 01:00 on the last Friday of April (IANA, since 2023)
    assert closed.midnight(at("2026-04-24T12:00Z").date(), "Africa/Cairo") == at("2026-04-23T22:00Z")
