"""What is decided about pools and stacks, against labels that stood before the code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from timelines import CASES, NOON, document

from sizewell.teardown import decide as rules
from sizewell.teardown import timeline as module
from sizewell.teardown.clauses import UNKNOWN, UNKNOWN_WITHOUT_MACHINES, USE, USE_WITHOUT_MACHINES
from sizewell.teardown.decide import HOLDS, decide
from sizewell.teardown.records import Limits, Pool, Rules
from sizewell.teardown.timeline import facts_at, parse_timeline, recorded, replay

LIMITS = Limits()
FIRM = replace(LIMITS, environments={name: Rules(firm=True) for name in ("dev", "staging", "prod")})


@dataclass(frozen=True)
class Hours:
    """A window that is open or not, and opens at a time."""

    opens: datetime | None

    def open_at(self, at: datetime) -> bool:
        return self.opens == at

    def next_open(self, at: datetime) -> datetime | None:
        return self.opens


def limits_of(case: dict[str, Any]) -> Limits:
    """The limits that a case names, else the defaults."""
    window = case.get("window")
    if window is not None:
        hours = Hours(NOON if window == "open" else NOON + timedelta(hours=8))
        return replace(LIMITS, environments={"dev": Rules(windows=(hours,))})
    return replace(FIRM if case.get("expiry") == "firm" else LIMITS, production=frozenset(case.get("production", ())))


STOPS = ("empty", "destroy")


def verdicts(case: dict[str, Any], at: datetime = NOON) -> tuple[str, str]:
    """The action on the stack, and on its pool, of a case."""
    stack, (pool,) = decide(facts_at(parse_timeline(document(case), "timeline"), at), limits_of(case), at)
    return stack.action, pool.action


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_labels(case: dict[str, Any]) -> None:
    assert {"label", "stack", "tell"} & set(case)  # one that says nothing of these cannot fail
    timeline = parse_timeline(document(case), case["name"])
    ((_, stack, (pool,)),) = replay(timeline, limits_of(case))
    if "label" in case:
        assert pool.action == case["label"], pool
        assert pool.reason
    if "stack" in case:
        assert stack.action == case["stack"], stack
    if "tell" in case:
        assert stack.tell == case["tell"], stack
        assert stack.reason


def test_no_label_that_holds_is_stopped_and_at_most_3_percent_of_those_that_stop_are_held() -> None:
    pairs = []
    for case in CASES:
        ((_, stack, (pool,)),) = replay(parse_timeline(document(case), case["name"]), limits_of(case))
        pairs += [(case[key], given.action) for key, given in (("label", pool), ("stack", stack)) if key in case]
    live = [(label, action) for label, action in pairs if label not in STOPS and action in STOPS]
    stops = [action for label, action in pairs if label in STOPS]
    lax = [action for action in stops if action not in STOPS]
    print(f"{len(pairs) - len(stops)} that hold: {len(live)} stopped; {len(stops)} that stop: {len(lax)} held")
    assert live == []
    assert len(lax) <= 0.03 * len(stops)


def test_there_are_labels_of_every_kind() -> None:
    kinds = [case.get("label", case.get("stack")) for case in CASES]
    assert len(CASES) >= 60
    assert {kind: kinds.count(kind) >= 3 for kind in ("keep", "warn", "empty", "destroy", "unknown")} == {
        "keep": True, "warn": True, "empty": True, "destroy": True, "unknown": True,
    }  # fmt: skip


FACTS = [facts_at(parse_timeline(document(case), case["name"]), NOON) for case in CASES]


def said() -> Iterator[list[tuple[str, str]]]:
    """What is done with the stack and the pool of each labelled timeline, and what their owner is told of."""
    for case, facts in zip(CASES, FACTS, strict=True):
        stack, pools = decide(facts, limits_of(case), NOON)
        yield [(verdict.action, verdict.about) for verdict in (stack, *pools)]


SAID = list(said())


def otherwise() -> bool:
    """Whether some timeline is decided otherwise than with every rule in place: the first one answers."""
    return any(now != before for now, before in zip(said(), SAID, strict=True))


@pytest.mark.parametrize("hold", HOLDS, ids=lambda hold: hold.__name__)
def test_each_reason_of_the_order_is_needed(hold: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one reason taken away some timeline is decided otherwise."""
    monkeypatch.setattr(rules, "HOLDS", tuple(other for other in HOLDS if other is not hold))
    assert otherwise()


GROUPS = {
    "USE": USE,
    "UNKNOWN": UNKNOWN,
    "USE_WITHOUT_MACHINES": USE_WITHOUT_MACHINES,
    "UNKNOWN_WITHOUT_MACHINES": UNKNOWN_WITHOUT_MACHINES,
}


@pytest.mark.parametrize(
    ("group", "clause"),
    [(group, clause) for group, clauses in GROUPS.items() for clause in clauses],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_each_clause_is_needed(group: str, clause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one clause taken away some timeline is decided otherwise."""
    monkeypatch.setattr(rules, group, tuple(other for other in GROUPS[group] if other is not clause))
    assert otherwise(), f"no timeline needs {clause.__name__}"


@pytest.mark.parametrize("clause", ["machines_left", "used_before", "unseen_before"])
def test_each_clause_on_stacks_alone_is_needed(clause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, clause, lambda _: None)
    assert otherwise()


minutes = st.integers(-600, -1)


@st.composite
def timelines(draw: st.DrawFn) -> dict[str, Any]:
    """Pools and stacks with any mixture of use, gaps, machines, notices, jobs, words, ends, updates and odd samples."""
    names = draw(st.sampled_from([["a"], ["a", "b"]]))
    use: dict[str, list[Any]] = {}
    late = draw(st.sampled_from([0, 0, 0, 5, 40]))
    devices = [f"{machine}/{number}" for machine in names for number in range(4)]
    # Of eight accelerators that are each idle or not, all are idle once in thousands: in half of the cases one at most
    # is otherwise.
    calm = set(devices) - {draw(st.sampled_from(["", *devices]))} if draw(st.booleans()) else set()
    for device in devices:
        if device in calm:
            use[device] = [[-600, 0, 0]]
        else:
            start = draw(st.sampled_from([-600, -480, -100, -30]))
            cut = draw(st.integers(start, 0))
            first, second = draw(st.sampled_from([0, 0, 0, 3, 60])), draw(st.sampled_from([0, 0, 0, 4.9, 5, 90]))
            runs = [[start, cut, first], [cut, draw(st.sampled_from([0, 0, 0, -late, -5])), second]]
            use[device] = draw(st.sampled_from([runs, runs, runs[::-1], [*runs, runs[0]]]))
    case: dict[str, Any] = {
        "use": use,
        "late_m": late,
        "counted": [[draw(st.sampled_from([-600, -480, -50])), 0, names]],
        "notices": [
            {"at": at, "heard": draw(st.sampled_from([True, True, True, False]))}
            for at in draw(st.lists(minutes, max_size=3))
        ],
        "environment": draw(st.sampled_from(["dev", "dev", "Dev", "staging", "prod", "Production"])),
        "capacity": draw(st.sampled_from(["on-demand", "spot", "block", "queued"])),
        "action": draw(st.sampled_from(["scale-to-zero", "scale-to-zero", "notify"])),
        "nodes_min": draw(st.integers(0, 2)),
        "saves": draw(st.lists(minutes, max_size=1)),
        "stack_notices": draw(st.sampled_from([[], [-20], [-4000], [-12000, -4000], [{"at": -4000, "heard": False}]])),
    }
    if draw(st.booleans()):
        case["expires_at"] = str((NOON + timedelta(days=draw(st.integers(-4, 2)))).date())
        if draw(st.integers(0, 3)) == 0:
            case["expiry"] = "firm"
            told = draw(st.sampled_from(["last", "last", "0 days"]))  # while it was in use, or while it was not
            case["stack_notices"] = [{"at": draw(st.integers(-3000, -1)), "about": f"end {case['expires_at']} {told}"}]
    start, _, _ = case["counted"][0]
    kind = draw(st.sampled_from(["stays", "stays", "stays", "gone", "replaced"]))
    if kind == "gone":  # its machines were taken away, or it never had one
        case["gone"] = draw(st.sampled_from([at for at in (start, -200, -100, -10) if at >= start]))
        case["counted"] = [[start, case["gone"], names], [case["gone"], 0, []]]
    if kind == "replaced":  # the last machine came instead of another one, which worked or did not
        case["replaced"] = draw(st.integers(start + 1, -1))
        case["counted"] = [[start, case["replaced"], [*names[:-1], "c"]], [case["replaced"], 0, names]]
        case["more"] = {"c/0": [[start, case["replaced"], draw(st.sampled_from([0, 90]))]]}
    if draw(st.integers(0, 4)) == 0:
        case["jobs"] = [{"name": "j", "state": draw(st.sampled_from(["queued", "running"])), "since": draw(minutes)}]
    for what in ("leases", "protected", "updates", "wakes", "updated", "dependents", "unproved"):
        if draw(st.integers(0, 9)) == 0:
            until = (NOON + timedelta(minutes=draw(st.integers(-3000, 600)))).isoformat()
            case[what] = {
                "leases": [{"until": until, "reason": "x"}],
                "protected": {"until": until, "reason": "x"},
                "updates": [{"since": draw(minutes), "over": draw(st.sampled_from(["", "", "gone"]))}],
                "wakes": [draw(minutes)],
                "updated": [draw(minutes)],
                "dependents": ["apps"],
                "unproved": "a part is missing",
            }[what]
    return case


def used_within(case: dict[str, Any], within: int) -> bool:
    """Whether any accelerator worked in the last minutes: by the case's own words, not by the code under test."""
    return any(
        value >= 5 and end > max(start, -within)
        for runs in (*case["use"].values(), *case.get("more", {}).values())
        for start, end, value in runs
        if end > start
    )


def seen_now(case: dict[str, Any]) -> bool:
    """Whether the newest sample of each accelerator is there, as late as they come."""
    return all(
        any(start < end and end >= -min(case["late_m"], 15) for start, end, _ in runs) for runs in case["use"].values()
    )


def held(case: dict[str, Any]) -> bool:
    """The oracle: leased, protected, being updated, woken, saved, waited for: never, whatever else is so."""
    words = [*case.get("leases", ()), *([case["protected"]] if "protected" in case else [])]
    return (
        any(word["until"] > NOON.isoformat() for word in words)
        or any(not update["over"] for update in case.get("updates", ()))
        or any(at > -105 for at in case.get("wakes", ()))
        or any(at > -60 for at in case["saves"])
        or "jobs" in case
        or case["environment"].lower().startswith("prod")
    )


def heard_since(case: dict[str, Any], notices: list[Any], grace: int) -> bool:
    """Whether somebody heard so long ago, and after each lease, wake, update and machine that came."""
    words = [*case.get("leases", ()), *([case["protected"]] if "protected" in case else [])]
    ended = [(datetime.fromisoformat(word["until"]) - NOON).total_seconds() / 60 for word in words]
    last = max([*ended, *case.get("wakes", ()), *case.get("updated", ()), case.get("replaced", -(10**6))])
    told = [notice if isinstance(notice, dict) else {"at": notice} for notice in notices]
    return any(each.get("heard", True) and last <= each["at"] <= -grace for each in told)


def check(case: dict[str, Any]) -> None:
    stack, pool = verdicts(case)
    if stack in STOPS:
        assert case["expires_at"] < str(NOON.date())
        assert not {"dependents", "unproved"} & set(case)
        if case.get("expiry") == "firm":  # passes over use alone: its last notice is of no idleness
            case = {key: value for key, value in case.items() if key not in ("jobs", "wakes", "replaced")} | {
                "saves": []
            }
        assert not held(case)
        assert heard_since(case, case["stack_notices"], 24 * 60)
        if case.get("expiry") == "firm":
            return
        if "gone" in case:
            assert case["gone"] == case["counted"][0][0] or case["gone"] < -105
        else:
            assert not used_within(case, 105)
            assert seen_now(case)
            assert case["capacity"] in ("on-demand", "spot")
    if pool in STOPS:
        assert "gone" not in case
        assert not held(case)
        assert not used_within(case, 105)
        assert seen_now(case)
        assert case["capacity"] in ("on-demand", "spot")
        assert case["action"] == "scale-to-zero"
        assert len(case["counted"][-1][2]) > case["nodes_min"]
        assert heard_since(case, case["notices"], 60)


@settings(max_examples=300, deadline=None)
@given(timelines())
def test_nothing_that_is_used_or_spoken_for_is_stopped(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.soak
@pytest.mark.parametrize(
    "stops",
    [
        lambda case: verdicts(case)[1] == "empty",
        lambda case: verdicts(case)[0] == "destroy" and "expiry" not in case,
        lambda case: verdicts(case)[0] == "destroy" and "expiry" in case and used_within(case, 45),
    ],
    ids=["empty", "destroy", "firm"],
)
def test_what_is_generated_reaches_each_stop(stops: Any) -> None:
    """Within 10,000 examples; the first one is enough, and is not made smaller."""
    rare = settings(max_examples=10_000, deadline=None, derandomize=True, phases=[Phase.generate])
    find(timelines(), stops, settings=rare)


@pytest.mark.soak
@settings(max_examples=10_000, deadline=None)
@given(timelines())
def test_nothing_is_stopped_in_ten_thousand(case: dict[str, Any]) -> None:
    check(case)


@settings(max_examples=150, deadline=None)
@given(timelines(), st.sampled_from(["a/0", "a/3"]), st.integers(-44, -3))
def test_one_more_minute_of_use_never_stops_more(case: dict[str, Any], device: str, minute: int) -> None:
    used = {**case, "use": {**case["use"], device: [*case["use"][device], [minute, minute + 1, 95]]}}
    before, after = verdicts(case)[1], verdicts(used)[1]
    assert after not in STOPS, (before, after)


@settings(max_examples=150, deadline=None)
@given(timelines())
def test_fewer_samples_never_stop_more(case: dict[str, Any]) -> None:
    before = verdicts(case)[1]
    first = next(iter(case["use"]))
    after = verdicts({**case, "use": {**case["use"], first: []}})[1]
    assert after not in STOPS or before in STOPS


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_is_recorded_decides_the_same(case: dict[str, Any]) -> None:
    facts = facts_at(parse_timeline(document(case), case["name"]), NOON)
    again = facts_at(parse_timeline(json.loads(json.dumps(recorded(facts, NOON))), case["name"]), NOON)
    assert decide(again, LIMITS, NOON) == decide(facts, LIMITS, NOON)


def test_what_came_later_is_not_known() -> None:
    """A look at 11:00 sees nothing of the use at 11:30."""
    case = next(case for case in CASES if case["name"] == "never used")
    case = {**case, "use": {"*": [[-480, -30, 0], [-30, 0, 90]]}, "notices": [-200]}
    assert verdicts(case, NOON - timedelta(hours=1))[1] == "empty"
    assert verdicts(case)[1] == "keep"


def test_a_replay_reads_its_samples_once_and_knows_at_each_step_what_a_look_then_knew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At each step again, the time of a replay grows with the square of its length: 60 hourly days took a minute."""
    case = next(case for case in CASES if case["name"] == "never used")
    data = document({**case, "use": {"*": [[-480, -30, 0], [-30, 0, 90]]}, "requests": [[-480, 0, 0]]})
    steps = [NOON - timedelta(minutes=minute) for minute in (120, 90, 60, 30, 15, 0)]
    timeline = parse_timeline({**data, "steps": [at.isoformat() for at in steps]}, "t")
    alone = [facts_at(timeline, at).pools[0] for at in steps]
    known: list[Pool] = []
    read: list[str] = []
    series = module._series
    monkeypatch.setattr(module, "_series", lambda *arguments: read.append("series") or series(*arguments))
    monkeypatch.setattr(module, "decide", lambda stack, *rest: known.extend(stack.pools) or decide(stack, *rest))
    assert len(list(replay(timeline, LIMITS))) == len(steps)
    for then, now in zip(alone, known, strict=True):
        pairs = [(each, now.utilization_percent[device]) for device, each in then.utilization_percent.items()]
        for a, b in [*pairs, (then.requests_per_s, now.requests_per_s)]:
            assert np.array_equal(a.at_s, b.at_s)
            assert np.array_equal(a.values, b.values)
    assert len(read) == len(alone[-1].utilization_percent) + 1


def test_a_replay_tells_first_and_stops_after_the_grace() -> None:
    case = next(case for case in CASES if case["name"] == "never used")
    data = document({**case, "notices": [], "use": {"*": [[-480, 0, 0]]}})
    data["steps"] = [(NOON - timedelta(minutes=minute)).isoformat() for minute in (120, 90, 60, 30, 0)]
    actions = [pool.action for _, _, (pool,) in replay(parse_timeline(data, "t"), LIMITS)]
    assert actions == ["warn", "warn", "empty", "empty", "empty"]


def test_in_a_replay_too_the_word_that_a_pool_stays_ends_its_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in CASES if case["name"] == "never used")
    span = {"use": {"*": [[-480, -136, 0], [-130, 200, 0]]}, "counted": [[-480, 200, ["a", "b"]]]}
    data = document({**case, "notices": [], **span})
    data["steps"] = [(NOON - timedelta(minutes=minute)).isoformat() for minute in (180, 126, 10, -52)]

    def actions() -> list[str]:
        return [pool.action for _, _, (pool,) in replay(parse_timeline(data, "t"), LIMITS)]

    assert actions() == ["warn", "unknown", "warn", "empty"]
    monkeypatch.setattr(module, "ends_notice", lambda _: False)
    assert actions() == ["warn", "unknown", "empty", "empty"]


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


def test_of_several_leases_the_one_that_ends_last_is_named() -> None:
    leases = [
        {"until": f"2026-11-{day}T12:00:00Z", "reason": reason} for day, reason in ((21, "a"), (23, "b"), (22, "c"))
    ]
    facts = facts_at(parse_timeline(document({"use": {}, "expires_at": "2026-11-18", "leases": leases}), "x"), NOON)
    assert decide(facts, LIMITS, NOON)[0].reason.endswith("kept until 2026-11-23 12:00 UTC: b")


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"dependents": ["dev-web"]}, "; other stacks refer to it: dev-web"),
        ({"unproved": "part 3 is missing"}, "; its newest checkpoint is incomplete: part 3 is missing"),
        ({"capacity": "block"}, "; pool train: capacity (block) is prepaid: stopping it saves nothing"),
        ({"pending": ["a group"]}, "; an update was killed, and the state may lack resources that it created"),
        ({}, ""),
    ],
)
def test_a_coming_end_says_what_will_hold_its_stack_and_then_no_time(known: dict[str, Any], says: str) -> None:
    case = {"use": {"*": [[-480, 0, 0]]}, "expires_at": "2026-11-21", **known}
    stack, _ = decide(facts_at(parse_timeline(document(case), "x"), NOON), LIMITS, NOON)
    assert stack.reason.startswith(f"it expires on 2026-11-21 at 00:00 UTC{says}")
    assert (stack.action, stack.next_step, stack.next_at is None) == ("warn", "destroy", bool(says))


@pytest.mark.parametrize(
    ("announced", "action"),
    [(["train/a", "train/b"], "empty"), (["train/a", "train/b", "train/c"], "empty"), (["train/a"], "warn")],
)
def test_a_notice_counts_for_the_machines_that_there_were(announced: list[str], action: str) -> None:
    """One that joined since may look old: attached by hand, or from a warm pool."""
    case = {"use": {"*": [[-480, 0, 0]]}, "notices": [-100]}
    timeline = parse_timeline(document(case), "x")
    pool = timeline.pools[0]
    (notice,) = pool.notices
    assert sorted(facts_at(timeline, NOON).pools[0].machines_at(NOON.timestamp()) or ()) == ["a", "b"]
    told = notice.model_copy(update={"machines": tuple(announced)})
    timeline = timeline.model_copy(update={"pools": (pool.model_copy(update={"notices": (told,)}),)})
    _, (train,) = decide(facts_at(timeline, NOON), LIMITS, NOON)
    assert (train.action, train.tell) == (action, action == "warn")


@pytest.mark.parametrize("expires_at", [None, "2026-11-18"])
def test_what_nobody_took_is_announced_anew_with_its_time_once_somebody_may(expires_at: str | None) -> None:
    """The first notice after a receiver was named said that nobody was notified, and no time; the act followed it."""
    unheard = [{"at": -70, "heard": False, "about": "end 2026-11-18 0 days" if expires_at else "idle"}]
    case = {"use": {"*": [[-480, 0, 0]]}, "expires_at": expires_at}
    case |= {"notices": unheard, "stack_notices": unheard, "receivers": 1}
    stack, (train,) = decide(facts_at(parse_timeline(document(case), "x"), NOON), LIMITS, NOON)
    verdict = stack if expires_at else train
    assert (verdict.action, verdict.tell, verdict.unheard) == ("warn", True, False)
    assert (verdict.next_step, verdict.next_at is not None) == ("destroy" if expires_at else "empty", True)
    assert "nobody was notified" not in verdict.reason


@pytest.mark.parametrize("machines", [False, True])
def test_a_coming_end_names_the_earlier_day_on_which_an_empty_stack_goes(machines: bool) -> None:
    """Its owner was told the day of the end, and it went sooner, as empty; one with machines is not empty by then."""
    start = NOON.replace(hour=0)
    counted = [[-12 * 24 * 60, 6000, ["a"] if machines else []]]
    case = {"use": {}, "created": -12 * 24 * 60, "expires_at": "2026-11-24", "counted": counted}
    timeline = parse_timeline(document(case), "x")
    steps = tuple(start + timedelta(hours=hour) for hour in range(96))
    seen = [(at, stack) for at, stack, _ in replay(timeline.model_copy(update={"steps": steps}), LIMITS)]
    told = [stack.next_at for at, stack in seen if stack.tell]
    due = NOON + timedelta(days=4) - timedelta(hours=12) + timedelta(days=1) if machines else NOON + timedelta(days=3)
    assert set(told) == {due}
    assert ("without machines it counts as empty from" in seen[0][1].reason) is not machines
    if not machines:
        assert next(at for at, stack in seen if stack.action == "destroy") == due


def test_an_empty_stack_that_was_not_counted_for_an_hour_says_since_when_it_is() -> None:
    case = {"use": {}, "counted": [[-60000, -600, []], [-480, 0, []]], "created": -60000}
    stack, _ = decide(facts_at(parse_timeline(document(case), "x"), NOON), LIMITS, NOON)
    assert stack.reason == "machines have been counted without a gap since 2026-11-20 04:00 UTC: not for 14 days"


@pytest.mark.parametrize(
    ("signal", "says"),
    [
        ({"requests": [[-480, -70, 0], [-70, -60, 0.2], [-60, 0, 0]]}, "it had requests"),
        ({"processes": {"a/0": [[-480, -60, 0], [-60, 0, 1]]}}, "a process began on accelerator 0 of a"),
        ({"memory": {"a/0": [[-480, -60, 3], [-60, 0, 60]]}}, "memory of accelerator 0 of a filled"),
        ({"use": {"*": [[-480, -70, 0], [-70, -60, 90], [-60, 0, 0]]}}, "used"),
    ],
)
def test_a_stack_past_its_end_is_held_by_any_use_within_window_and_grace(signal: dict[str, Any], says: str) -> None:
    """However short the grace of its notice is."""
    at = {"stack_notices": [{"at": -55, "about": "end 2026-11-18 0 days"}], "expires_at": "2026-11-18"}
    case = {"use": {"*": [[-480, 0, 0]]}, **at, **signal}
    limits = replace(LIMITS, stack_grace_s=0.0)
    stack, _ = decide(facts_at(parse_timeline(document(case), "x"), NOON), limits, NOON)
    assert (stack.action, stack.clause) == ("warn", "in_use")
    assert f"idle for 45 minutes, but {says} within 60 minutes before" in stack.reason


def test_a_firm_end_says_in_its_last_notice_and_each_day_that_a_broken_checkpoint_holds_it() -> None:
    case = {"use": {"*": [[-480, 6000, 95]]}, "expires_at": "2026-11-20", "unproved": "part 3 is missing"}
    counted = {"counted": [[-480, 6000, ["a", "b"]]], "expiry": "firm"}
    timeline = parse_timeline(document({**case, **counted}), "x")
    steps = tuple(NOON + timedelta(hours=hour) for hour in range(80))
    seen = [stack for _, stack, _ in replay(timeline.model_copy(update={"steps": steps}), FIRM)]
    assert [(each.action, each.next_at) for each in seen] == [("warn", None)] * 24 + [("unknown", None)] * 56
    assert [number for number, each in enumerate(seen) if each.tell] == [0, 24, 48, 72]
    assert all("its newest checkpoint is incomplete: part 3 is missing" in each.reason for each in seen)


@pytest.mark.parametrize("expiry", ["", "firm"])
@pytest.mark.parametrize(("lease", "goes"), [(12, 48), (30, 54), (-10, 48)])
def test_a_coming_end_names_the_time_at_which_its_stack_goes(expiry: str, lease: int, goes: int) -> None:
    """Hours from the first look, the end at 24: past a lease its owner has the whole grace anew."""
    until = (NOON.replace(hour=0) + timedelta(hours=lease)).isoformat()
    case = {"use": {}, "expires_at": "2026-11-21", "leases": [{"until": until, "reason": "x"}], "expiry": expiry}
    timeline = parse_timeline(document({**case, "counted": [[-4800, 6000, []]]}), "x")
    start = NOON.replace(hour=0)
    steps = tuple(start + timedelta(hours=hour) for hour in range(60))
    seen = [(at, stack) for at, stack, _ in replay(timeline.model_copy(update={"steps": steps}), limits_of(case))]
    due = next(at for at, stack in seen if stack.action == "destroy")
    assert (seen[0][1].next_at, due) == (start + timedelta(hours=goes), start + timedelta(hours=goes))


@pytest.mark.parametrize("hours", [-5, 0, 9, 14])
@pytest.mark.parametrize(
    ("until", "ends"),
    [("2026-11-20T23:00+01:00", 10 * 60), ("2026-11-20", 24 * 60), ("2026-11-20T12:00", 12 * 60)],
)
def test_a_lease_ends_at_its_instant_and_its_end_is_no_stop(hours: int, until: str, ends: int) -> None:
    """In whichever zone a look's time is written. A day or a time without a zone is read for where it ends last."""
    lease = {"until": until, "reason": "demo tonight"}
    case = {"use": {}, "expires_at": "2026-11-18", "stack_notices": [-4000]}
    timeline = parse_timeline(document({**case, "leases": [lease], "counted": [[-480, 4000, []]]}), "a lease")
    looks = [(ends - 1, "keep"), (ends, "warn"), (ends + 24 * 60 - 1, "warn"), (ends + 24 * 60, "destroy")]
    zone = timezone(timedelta(hours=hours))
    steps = tuple((NOON + timedelta(minutes=minutes)).astimezone(zone) for minutes, _ in looks)
    seen = [stack.action for _, stack, _ in replay(timeline.model_copy(update={"steps": steps}), LIMITS)]
    assert seen == [action for _, action in looks]


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


def test_a_pool_that_was_not_seen_for_long_enough_names_no_time():
    """It was due at once at each look, and was not taken."""
    case = next(case for case in CASES if case["name"] == "samples were lost within the grace")
    ((_, _, (pool,)),) = replay(parse_timeline(document(case), "x"), Limits())
    assert "seen for 94% of the last 105 minutes" in pool.reason
    assert (pool.next_step, pool.next_at) == ("empty", None)
