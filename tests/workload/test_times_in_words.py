"""Times as people write them (of the clock, in words, with a city's name) are mended by one message."""

from __future__ import annotations

import pytest
import yaml

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.text import load_mapping


def mended(text: str) -> dict[str, object]:
    """The spec with all fixes of its one message done, which is then read."""
    raw = load_mapping(text, "x.yaml")
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    for fault in refused.value.faults:
        changed = repaired(raw, fault)
        assert changed is not None, fault
        raw = changed
    parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    return raw


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ('start: "01:00", end: "05:00"', "4h"),
        ('from: "22:00", to: "04:00"', "6h"),
        ("begin: 10pm, finish: 6am", "8h"),
        ('start_time: "20:00", end_time: "06:30"', "10h30m"),
        ('not_before: "20:00", done_by: "06:30"', "10h30m"),
        ("hours: 01:00-05:00", "4h"),
        ("between: 1am and 5am", "4h"),
        ('window: "22:00-06:00"', "8h"),
        ('window: {start: "22:00", end: "06:00"}', "8h"),
        ("start_date: 2026-12-01, end_date: 2026-12-03", "2d"),
    ],
)
def test_times_of_the_clock_are_a_window(written: str, window: str) -> None:
    batch = f"batch: {{records: 60k, tokens_per_record: 500, {written}}}"
    made = mended(f"name: tags\nkind: batch-inference\nmodel: BAAI/bge-m3\n{batch}\n")
    assert made["batch"] == {"records": "60k", "tokens_per_record": 500, "window": window}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("weekdays 9:00-18:00 Paris", "Mon-Fri 09:00-18:00 Europe/Paris"),
        ("weekdays 9:00-18:00 Europe/Paris", "Mon-Fri 09:00-18:00 Europe/Paris"),
        ("every weekday 8am-6pm London", "Mon-Fri 08:00-18:00 Europe/London"),
        ("work days 8:00-20:00 Tokyo time", "Mon-Fri 08:00-20:00 Asia/Tokyo"),
        ("M-F 9-5 New York", "Mon-Fri 09:00-17:00 America/New_York"),
        ("9-18 weekdays (Berlin)", "Mon-Fri 09:00-18:00 Europe/Berlin"),
        ("Mon, Wed and Fri 9h-12h Vienna", "Mon,Wed,Fri 09:00-12:00 Europe/Vienna"),
        ("weekends 10:00-16:00 Madrid", "Sat,Sun 10:00-16:00 Europe/Madrid"),
        ("every day 22-6 Warsaw", "daily 22:00-06:00 Europe/Warsaw"),
        ("business hours, Paris", "Mon-Fri 09:00-17:00 Europe/Paris"),
    ],
)
def test_hours_in_words_have_a_line_to_write(written: str, read: str) -> None:
    made = mended(f'name: lab\nkind: notebook\nresources: {{gpu: 24GB..}}\nschedule: {{on: "{written}"}}\n')
    assert made["schedule"] == {"on": read}
