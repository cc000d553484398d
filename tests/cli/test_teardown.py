"""`sizewell teardown replay`: what a person reads, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from .conftest import ROOT, Sizewell

EXAMPLE = ROOT / "examples/timelines/weekend.json"


def test_an_evening_is_replayed(sizewell: Sizewell) -> None:
    done = sizewell("teardown", "replay", str(EXAMPLE))
    assert done.code == 0, done.err
    assert "empty from 11-20 20:00" in done.out
    assert "6 steps; 2 decisions would scale down or destroy something" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    steps = json.loads(sizewell("teardown", "replay", str(EXAMPLE), "--json").out)
    assert [step["pools"][0]["action"] for step in steps] == ["keep", "keep", "warn", "warn", "empty", "empty"]


def test_the_example_matches_the_published_schema() -> None:
    schema = json.loads((ROOT / "src/sizewell/schemas/timeline.schema.json").read_text())
    jsonschema.validate(json.loads(EXAMPLE.read_text()), schema)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "must be a JSON object, found a list"),
        ('{"schema": "sizewell.timeline/2"}', "sizewell.timeline/1"),
        ("time", "a time needs a time zone"),
        ("device", "must be machine/number, such as a/0, got 'gpu-0'"),
        ("unknown", "polls: unknown key\n  fix: did you mean pools?"),
    ],
)
def test_what_is_no_timeline_is_refused(tmp_path: Path, sizewell: Sizewell, text: str, says: str) -> None:
    data = json.loads(EXAMPLE.read_text())
    if text == "time":
        data["steps"] = ["2026-11-20T12:00:00"]
    if text == "device":
        data["pools"][0]["utilization_percent"]["gpu-0"] = []
    if text == "unknown":
        data["polls"] = []
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps(data) if text in ("time", "device", "unknown") else text)
    done = sizewell("teardown", "replay", str(path))
    assert done.code == 64
    assert says in done.err
    assert "Traceback" not in done.err


def test_a_file_that_is_not_there_and_an_action_that_is_missing(sizewell: Sizewell) -> None:
    assert sizewell("teardown", "replay", "nowhere.json").code == 64
    assert sizewell("teardown").code == 64


def test_a_report_says_below_its_figures_why_something_stayed(
    tmp_path: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences wrap in no column: each stands on a line of its own."""
    about = {"owner": "ml-platform", "stack": "dev-aws", "action": "destroy", "at": "2026-11-04T12:00:00+00:00"}
    why = "holds data: file system scratch (no backup is made), disk notebook; --data dev-aws lets it go"
    records = [
        {"kind": "held", **about, "detail": why},
        {"kind": "failed", **about, "detail": "x"},
        {"kind": "left", **about, "left": ["disk vol-1 (8.00 USD per month)"], "usd_per_month": "8.00"},
    ]
    journal = type("Journal", (), {"records": records, "unread": {}})()
    monkeypatch.setattr("sizewell.cli.teardown.opened", lambda _: (None, journal, None))
    done = sizewell("teardown", "report")
    assert done.code == 0, done.err
    assert f"dev-aws, 2026-11: held back: {why}\n" in done.out
    assert "dev-aws, 2026-11: left over: disk vol-1 (8.00 USD per month)\n" in done.out
    row = next(line for line in done.out.splitlines() if line.startswith("2026-11"))
    assert row.split()[3:] == ["0", "0", "1", "1", "0.00", "8.00"]


def test_a_report_lists_what_observe_mode_would_have_stopped_and_what_came_after(
    sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {"owner": "ml-platform", "stack": "dev-aws", "subject": "train", "action": "empty"}
    records = [
        {"kind": "would", **about, "at": "2026-11-04T12:00:00+00:00", "why": "idle", "saves_usd_per_month": "730"},
        {"kind": "ended", **about, "at": "2026-11-04T18:00:00+00:00", "why": "accelerator 0 reached 90 %", "acted": False},
    ]  # fmt: skip
    journal = type("Journal", (), {"records": records, "unread": {}})()
    monkeypatch.setattr("sizewell.cli.teardown.opened", lambda _: (None, journal, None))
    done = sizewell("teardown", "report", "--at", "2026-11-05T12:00:00Z")
    assert done.code == 0, done.err
    assert "dev-aws, 2026-11: would have saved 6.00 USD" in done.out
    assert "dev-aws/train: would have been emptied on 2026-11-04 12:00 UTC: idle" in done.out
    assert "6.0 hours later: accelerator 0 reached 90 %" in done.out
    assert "Was one of these wrong?" in done.out
