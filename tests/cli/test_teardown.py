"""`sizewell teardown replay`: what a person reads, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from sizewell.cli import teardown as command
from sizewell.teardown.run import waiting

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


def test_the_settings_decide_in_a_folder_that_has_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizewell: Sizewell
) -> None:
    settings = tmp_path / "stacks/config/teardown.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        "schema: sizewell.teardown/1\njournal: file:///tmp/j\n"
        'closed: [{dates: ["2026-11-20..2026-11-22"], time_zone: UTC, reason: freeze}]\n'
    )
    monkeypatch.chdir(tmp_path)
    done = sizewell("teardown", "replay", str(EXAMPLE), "--json")
    assert done.code == 0, done.err
    assert "decided by the defaults" not in done.err
    assert "empty" not in [step["pools"][0]["action"] for step in json.loads(done.out)]
    settings.write_text("mode: acts\n")
    assert "stacks/config/teardown.yaml" in sizewell("teardown", "replay", str(EXAMPLE)).err


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


DAY = "2026-11-20T"
POOL = "pools[0]"
CONTRADICTIONS = {
    "a step twice": (
        "steps",
        [f"{DAY}12:00:00Z", f"{DAY}13:00:00+01:00"],
        "steps[1]: 2026-11-20T12:00:00+00:00 is sta",
    ),
    "a step before the stack": ("created", "2027-01-01T00:00:00Z", "steps[0]: 2026-11-20T12:00:00+00:00 is before the"),
    "no name": ("stack", "", "stack: must be a name"),
    "a stack that no run takes by itself": ("stack", "checkpoints-dev-aws", "such as dev-aws, beside which it is"),
    "a name that moves the cursor": ("stack", "dev\x1b[2J", r"'dev\x1b[2J'"),
    "two pools of a name": ("pools", 2, "pools[1].name: 'train' is the name of two pools (first of pools[0])"),
    "a run that ends before it begins": (
        f"{POOL}.utilization_percent",
        {"gpu-0/0": [[f"{DAY}09:00:00Z", f"{DAY}08:00:00Z", 50]]},
        "gpu-0/0[0]: [2026",
    ),
    "a run of no length": (
        f"{POOL}.requests_per_s",
        [[f"{DAY}09:00:00Z", f"{DAY}09:00:00Z", 50]],
        "requests_per_s[0]: [2026",
    ),
    "a count that ends before it begins": (
        f"{POOL}.counted",
        [{"start": f"{DAY}09:00:00Z", "end": f"{DAY}08:00:00Z", "machines": []}],
        "counted[0].end: 2",
    ),
    "two counts of one time": (
        f"{POOL}.counted",
        [
            {"start": f"{DAY}08:00:00Z", "end": f"{DAY}12:00:00Z", "machines": ["gpu-0"]},
            {"start": f"{DAY}09:00:00Z", "end": f"{DAY}11:00:00Z", "machines": []},
        ],
        "counted[1]: counts other machines than counted[0] from 2026-11-20T09:00:00",
    ),
    "idle until before": (
        f"{POOL}.episodes",
        [{"since": f"{DAY}09:00:00Z", "until": f"{DAY}08:00:00Z"}],
        "episodes[0].until: 2026",
    ),
    "a job in two states": (
        f"{POOL}.jobs",
        [{"name": "j", "state": state, "since": f"{DAY}09:00:00Z"} for state in ("running", "ended")],
        "jobs[1]: j is in two states",
    ),
    "an update that ends before it begins": (
        "updates",
        [{"by": "ana", "since": f"{DAY}09:00:00Z", "until": f"{DAY}08:00:00Z"}],
        "updates[0].until: 2026",
    ),
    "a lease that ends before it is given": (
        "leases",
        [{"until": "2026-11-18", "reason": "x", "since": f"{DAY}08:00:00Z"}],
        "leases[0].until: 2026-11-19",
    ),
    "a protection that ends before it is known": (
        "protected",
        {"until": "2026-11-18", "reason": "x", "since": f"{DAY}08:00:00Z"},
        "protected.until: 2026-11-19",
    ),
}


@pytest.mark.parametrize("how", CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_before_anything_is_replayed(
    tmp_path: Path, sizewell: Sizewell, how: str
) -> None:
    key, value, says = CONTRADICTIONS[how]
    data = json.loads(EXAMPLE.read_text())
    if key == "pools":
        data["pools"] *= value
    else:
        (data["pools"][0] if key.startswith(POOL) else data)[key.removeprefix(f"{POOL}.")] = value
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps(data))
    done = sizewell("teardown", "replay", str(path))
    assert (done.code, done.out) == (64, ""), done.out
    assert says in done.err


def test_a_key_that_is_stated_twice_is_refused(tmp_path: Path, sizewell: Sizewell) -> None:
    path = tmp_path / "timeline.json"
    path.write_text(
        EXAMPLE.read_text().replace('"accelerators_per_machine"', '"name": "x", "accelerators_per_machine"', 1)
    )
    done = sizewell("teardown", "replay", str(path))
    assert (done.code, "pools[0].name: the key is stated twice" in done.err) == (64, True), done.err


def test_what_comes_after_the_last_step_is_said(tmp_path: Path, sizewell: Sizewell) -> None:
    data = json.loads(EXAMPLE.read_text())
    data["pools"][0]["saves"] = ["2027-11-20T12:00:00Z"]
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps(data))
    done = sizewell("teardown", "replay", str(path))
    assert done.code == 0
    assert "pools[0].saves[0]: 2027-11-20T12:00:00+00:00 is after the last step" in done.err


@pytest.mark.parametrize(("environment", "stopped"), [("dev", 2), ("qa", 0)])
def test_outside_of_a_project_the_defaults_decide_and_that_is_said(
    environment: str, stopped: int, tmp_path: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({**json.loads(EXAMPLE.read_text()), "environment": environment}))
    done = sizewell("teardown", "replay", "timeline.json")
    assert "no stacks/config/teardown.yaml here: decided by the defaults (environments dev, staging, prod" in done.err
    assert f"; {stopped} decisions would" in done.out


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


def test_a_run_names_what_nobody_can_tell() -> None:
    rows = [
        SimpleNamespace(
            stack="dev", pool=name, action=action, clause=clause, next_step="", next_at=None, why="AccessDenied"
        )
        for name, action, clause in (("a", "unknown", "uncounted"), ("b", "keep", "used"))
    ]
    plan: Any = SimpleNamespace(stacks=[SimpleNamespace(rows=rows, pools=rows)])
    assert command._unknown(plan) == "kept, as nobody can tell: dev/a; `sizewell teardown plan` says why"
    waits = [(row.pool, outcome, detail) for row, outcome, detail in waiting(plan, ())]
    assert waits == [("a", "held back", "AccessDenied")]
    plan.stacks = []
    assert command._unknown(plan) == ""


@pytest.mark.parametrize(
    ("action", "clause", "due", "outcome"),
    [
        ("warn", "depended_on", False, "held back"),
        ("warn", "spared", False, "held back"),  # production that nobody named, an environment that is not there
        ("warn", "expired", False, "held back"),  # nobody was notified
        ("warn", "expired", True, "not due"),
        ("warn", "window", True, "held back"),
        ("keep", "leased", False, "held back"),
        ("unknown", "unproved", False, "held back"),
        ("warn", "expires", True, ""),
        ("unknown", "uncounted", False, ""),
        ("keep", "in_use", False, ""),
    ],
)
def test_what_is_held_of_a_stack_that_was_named_is_said(action: str, clause: str, due: bool, outcome: str) -> None:
    at = datetime(2026, 11, 27, 18, tzinfo=UTC) if due else None
    row = SimpleNamespace(stack="dev", pool="", action=action, clause=clause, next_step="destroy", next_at=at, why="so")
    plan: Any = SimpleNamespace(stacks=[SimpleNamespace(rows=[row], pools=[])])
    said = [(outcome, detail) for _, outcome, detail in waiting(plan, ())]
    assert said == ([(outcome, "so; from 2026-11-27 18:00 UTC" if due else "so")] if outcome else [])
