"""What is decided about pools and stacks, against labels that stood before the code."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from timelines import CASES, NOON, document

from sizewell.teardown import decide as rules
from sizewell.teardown.decide import IDLE_CLAUSES, MACHINELESS_CLAUSES, STACK_CLAUSES, decide, leased, protected
from sizewell.teardown.records import Limits
from sizewell.teardown.timeline import facts_at, parse_timeline, recorded, replay

LIMITS = Limits()
STOPS = ("empty", "destroy")


def verdicts(data: dict[str, Any], at: datetime = NOON) -> tuple[str, str]:
    """The action on the stack, and on its pool."""
    stack, (pool,) = decide(facts_at(parse_timeline(data, "timeline"), at), LIMITS, at)
    return stack.action, pool.action


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_labels(case: dict[str, Any]) -> None:
    timeline = parse_timeline(document(case), case["name"])
    ((_, stack, (pool,)),) = replay(timeline, LIMITS)
    if "label" in case:
        assert pool.action == case["label"], pool
        assert pool.reason
    if "stack" in case:
        assert stack.action == case["stack"], stack
        assert stack.reason


def test_there_are_labels_of_every_kind() -> None:
    kinds = [case.get("label", case.get("stack")) for case in CASES]
    assert len(CASES) >= 60
    assert {kind: kinds.count(kind) >= 3 for kind in ("keep", "warn", "empty", "destroy", "unknown")} == {
        "keep": True, "warn": True, "empty": True, "destroy": True, "unknown": True,
    }  # fmt: skip


@pytest.mark.parametrize("clause", STACK_CLAUSES, ids=lambda clause: clause.__name__)
def test_each_clause_on_stacks_is_needed(clause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one clause taken away some stack is decided otherwise."""
    monkeypatch.setattr(rules, "STACK_CLAUSES", tuple(other for other in STACK_CLAUSES if other is not clause))
    cases = [case for case in CASES if "stack" in case]
    assert [case["name"] for case in cases if verdicts(document(case))[0] != case["stack"]]


@pytest.mark.parametrize("clause", MACHINELESS_CLAUSES, ids=lambda clause: clause.__name__)
def test_each_clause_on_pools_without_machines_is_needed(clause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one clause taken away some stack is destroyed under what is in use."""
    clauses = tuple(other for other in MACHINELESS_CLAUSES if other is not clause)
    monkeypatch.setattr(rules, "MACHINELESS_CLAUSES", clauses)
    cases = [case for case in CASES if case.get("stack", "destroy") != "destroy"]
    assert [case["name"] for case in cases if verdicts(document(case))[0] == "destroy"]


@pytest.mark.parametrize("clause", [each for each in IDLE_CLAUSES if each not in (protected, leased)])
def test_each_clause_keeps_a_stack_past_its_end(clause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one clause of idleness taken away a stack past its end is kept for another reason, or not at all."""
    ended = [document(case) for case in CASES if "stack" in case and case["name"].startswith("ended")]

    def said(data: dict[str, Any]) -> Any:
        try:
            return decide(facts_at(parse_timeline(data, "timeline"), NOON), LIMITS, NOON)[0]
        except (KeyError, ValueError):  # what later clauses rely on is not there
            return None

    before = [said(data) for data in ended]
    monkeypatch.setattr(rules, "IDLE_CLAUSES", tuple(other for other in IDLE_CLAUSES if other is not clause))
    assert [said(data) for data in ended] != before, f"no stack needs {clause.__name__}"


@pytest.mark.parametrize("clause", IDLE_CLAUSES, ids=lambda clause: clause.__name__)
def test_each_clause_is_needed(clause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one clause taken away some timeline is decided otherwise."""
    monkeypatch.setattr(rules, "IDLE_CLAUSES", tuple(other for other in IDLE_CLAUSES if other is not clause))
    differing = []
    for case in CASES:
        if "label" in case:
            try:
                action = verdicts(document(case))[1]
            except (KeyError, ValueError):  # what later clauses rely on is not there
                action = "failed"
            differing += [case["name"]] if action != case["label"] else []
    assert differing, f"no timeline needs {clause.__name__}"


minutes = st.integers(-600, -1)


@st.composite
def timelines(draw: st.DrawFn) -> dict[str, Any]:
    """Pools with any mixture of use, gaps, machines, notices, jobs and words."""
    names = draw(st.sampled_from([["a"], ["a", "b"]]))
    use: dict[str, list[Any]] = {}
    for machine in names:
        for number in range(4):
            start = draw(st.sampled_from([-600, -480, -100, -30]))
            cut = draw(st.integers(start, 0))
            first, second = draw(st.sampled_from([0, 0, 0, 3, 60])), draw(st.sampled_from([0, 0, 0, 4.9, 5, 90]))
            use[f"{machine}/{number}"] = [[start, cut, first], [cut, draw(st.sampled_from([0, 0, 0, -5])), second]]
    case: dict[str, Any] = {
        "use": use,
        "counted": [[draw(st.sampled_from([-600, -480, -50])), 0, names]],
        "notices": draw(st.lists(minutes, max_size=3)),
        "environment": draw(st.sampled_from(["dev", "dev", "staging", "prod"])),
        "capacity": draw(st.sampled_from(["on-demand", "spot", "block", "queued"])),
        "action": draw(st.sampled_from(["scale-to-zero", "scale-to-zero", "notify"])),
        "nodes_min": draw(st.integers(0, 2)),
        "saves": draw(st.lists(minutes, max_size=1)),
        "stack_notices": draw(st.sampled_from([[], [-20], [-4000], [-12000, -4000]])),
    }
    if draw(st.booleans()):
        case["expires_at"] = str((NOON + timedelta(days=draw(st.integers(-4, 2)))).date())
    if draw(st.integers(0, 3)) == 0:  # its machines were taken away, or it never had one
        start, _, _ = case["counted"][0]
        case["gone"] = draw(st.sampled_from([start, -200, -100, -10]))
        case["counted"] = [[start, case["gone"], names], [case["gone"], 0, []]]
    if draw(st.integers(0, 4)) == 0:
        case["jobs"] = [{"name": "j", "state": draw(st.sampled_from(["queued", "running"])), "since": draw(minutes)}]
    if draw(st.integers(0, 6)) == 0:
        case["leases"] = [{"until": str((NOON + timedelta(days=draw(st.integers(-2, 2)))).date()), "reason": "x"}]
    return case


def used_within(case: dict[str, Any], within: int) -> bool:
    """Whether any accelerator worked in the last minutes: by the case's own words, not by the code under test."""
    return any(
        value >= 5 and end > max(start, -within)
        for runs in case["use"].values()
        for start, end, value in runs
        if end > start
    )


def seen_now(case: dict[str, Any]) -> bool:
    """Whether the newest sample of each accelerator is there."""
    return all(any(start < end == 0 for start, end, _ in runs) for runs in case["use"].values())


def check(case: dict[str, Any]) -> None:
    stack, pool = verdicts(document(case))
    if stack in STOPS:
        assert case["expires_at"] < str(NOON.date())
        assert any(notice <= -24 * 60 for notice in case["stack_notices"])
        assert case["environment"] != "prod"
        assert "jobs" not in case
        assert all(lease["until"] < str(NOON.date()) for lease in case.get("leases", []))
        assert all(save <= -60 for save in case["saves"])
        if "gone" in case:
            assert case["gone"] == case["counted"][0][0] or case["gone"] < -105
        else:
            assert not used_within(case, 105)
            assert seen_now(case)
    if pool in STOPS:
        assert "gone" not in case
        assert not used_within(case, 105)
        assert seen_now(case)
        assert case["environment"] != "prod"
        assert case["capacity"] in ("on-demand", "spot")
        assert case["action"] == "scale-to-zero"
        assert len(case["counted"][0][2]) > case["nodes_min"]
        assert any(notice <= -60 for notice in case["notices"])
        assert "jobs" not in case
        assert all(lease["until"] < str(NOON.date()) for lease in case.get("leases", []))
        assert all(save <= -60 for save in case["saves"])


@settings(max_examples=300, deadline=None)
@given(timelines())
def test_nothing_that_is_used_or_spoken_for_is_stopped(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.soak
@settings(max_examples=10_000, deadline=None)
@given(timelines())
def test_nothing_is_stopped_in_ten_thousand(case: dict[str, Any]) -> None:
    check(case)


@settings(max_examples=150, deadline=None)
@given(timelines(), st.sampled_from(["a/0", "a/3"]), st.integers(-44, -3))
def test_one_more_minute_of_use_never_stops_more(case: dict[str, Any], device: str, minute: int) -> None:
    used = {**case, "use": {**case["use"], device: [*case["use"][device], [minute, minute + 1, 95]]}}
    before, after = verdicts(document(case))[1], verdicts(document(used))[1]
    assert after not in STOPS, (before, after)


@settings(max_examples=150, deadline=None)
@given(timelines())
def test_fewer_samples_never_stop_more(case: dict[str, Any]) -> None:
    data = document(case)
    before = verdicts(data)[1]
    for device in data["pools"][0]["utilization_percent"]:
        data["pools"][0]["utilization_percent"][device] = []
        break
    after = verdicts(data)[1]
    assert after not in STOPS or before in STOPS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_recorded_decides_the_same(case: dict[str, Any]) -> None:
    facts = facts_at(parse_timeline(document(case), case["name"]), NOON)
    again = facts_at(parse_timeline(json.loads(json.dumps(recorded(facts, NOON))), case["name"]), NOON)
    assert decide(again, LIMITS, NOON) == decide(facts, LIMITS, NOON)


def test_what_came_later_is_not_known() -> None:
    """A look at 11:00 sees nothing of the use at 11:30."""
    case = next(case for case in CASES if case["name"] == "never used")
    data = document({**case, "use": {"*": [[-480, -30, 0], [-30, 0, 90]]}, "notices": [-200]})
    assert verdicts(data, NOON - timedelta(hours=1))[1] == "empty"
    assert verdicts(data)[1] == "keep"


def test_a_replay_tells_first_and_stops_after_the_grace() -> None:
    case = next(case for case in CASES if case["name"] == "never used")
    data = document({**case, "notices": [], "use": {"*": [[-480, 0, 0]]}})
    data["steps"] = [(NOON - timedelta(minutes=minute)).isoformat() for minute in (120, 90, 60, 30, 0)]
    actions = [pool.action for _, _, (pool,) in replay(parse_timeline(data, "t"), LIMITS)]
    assert actions == ["warn", "warn", "empty", "empty", "empty"]


def test_a_step_says_what_comes_next() -> None:
    case = next(case for case in CASES if case["name"] == "idle and told just now")
    ((_, _, (pool,)),) = replay(parse_timeline(document(case), "t"), LIMITS)
    assert (pool.next_step, pool.next_at, pool.saves_usd_per_hour) == ("empty", NOON + timedelta(minutes=40), 31.4)


def test_series_are_cut_by_time() -> None:
    data = document(CASES[0])
    stack = facts_at(parse_timeline(data, "t"), NOON)
    series = stack.pools[0].utilization_percent["a", 0]
    assert len(series.between(NOON.timestamp() - 600, NOON.timestamp())) == 10
    assert np.all(np.diff(series.at_s) > 0)


@pytest.mark.parametrize(
    ("notices", "hours"),
    [([], 24), ([-600], 14), ([-600, -300], 14)],
)
def test_a_stack_past_its_end_goes_a_grace_after_its_first_notice(notices: list[int], hours: int) -> None:
    """What an owner is told is when it goes at the earliest, and not when it was looked at."""
    end = {"expires_at": "2026-11-10", "stack_notices": notices}
    case = {"name": "ended", "use": {"*": [[-480, 1500, 0]]}, "counted": [[-480, 1500, ["a", "b"]]], **end}
    timeline = parse_timeline(document(case), "ended")
    stack, _ = decide(facts_at(timeline, NOON), LIMITS, NOON)
    assert (stack.action, stack.next_at) == ("warn", NOON + timedelta(hours=hours))
    goes = NOON + timedelta(hours=hours)
    if notices:
        assert (
            decide(facts_at(timeline, goes - timedelta(minutes=1)), LIMITS, goes - timedelta(minutes=1))[0].action
            == "warn"
        )
        assert decide(facts_at(timeline, goes), LIMITS, goes)[0].action == "destroy"


@pytest.mark.parametrize("hours", [-5, 0, 9, 14])
@pytest.mark.parametrize(("minutes", "action"), [(11 * 60 + 59, "keep"), (12 * 60, "destroy")])
def test_the_last_day_of_a_lease_is_a_day_in_utc(hours: int, minutes: int, action: str) -> None:
    """In whichever zone a look's time is written: the same instant has the same verdict."""
    lease = {"until": "2026-11-20", "reason": "demo tonight"}
    case = {"use": {}, "expires_at": "2026-11-18", "stack_notices": [-4000]}
    timeline = parse_timeline(document({**case, "leases": [lease], "counted": [[-480, 900, []]]}), "a lease")
    at = (NOON + timedelta(minutes=minutes)).astimezone(timezone(timedelta(hours=hours)))
    stack, _ = decide(facts_at(timeline, at), Limits(), at)
    assert stack.action == action
    again = timeline.model_copy(update={"steps": (at,)})
    assert next(replay(again, Limits()))[1].action == action


@pytest.mark.parametrize("percent", [-1, 90])
def test_an_accelerator_beyond_the_registered_ones_keeps_its_stack(percent: float) -> None:
    case = {"use": {"*": [[-480, 0, 0]]}, "expires_at": "2026-11-18", "stack_notices": [-12000, -4000], "notices": []}
    made = document(case)
    before, _ = decide(facts_at(parse_timeline(made, "registered alone"), NOON), Limits(), NOON)
    assert before.action == "destroy"
    samples = made["pools"][0]["utilization_percent"]
    samples["b/7"] = [[start, end, percent] for start, end, _ in samples["b/3"]]
    stack, _ = decide(facts_at(parse_timeline(made, "one more"), NOON), Limits(), NOON)
    assert stack.action == "warn"
