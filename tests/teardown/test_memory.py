"""A run reads the samples since its last look and remembers the rest: what it decides is what all samples say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sizewell.teardown.decide import decide
from sizewell.teardown.gather import unseen_s
from sizewell.teardown.records import Episode, Limits, Pool, Rules, Series, Told, Verdict
from sizewell.teardown.timeline import Timeline, facts_at, parse_timeline, replay
from tests.teardown.timelines import NOON, document

LIMITS = Limits(environments={"dev": Rules()})
Said = tuple[datetime, Verdict, tuple[Verdict, ...]]


def read_since(pool: Pool, start_s: float) -> Pool:
    """A pool as a source gives it that is asked for the samples since a time."""

    def cut(series: Series) -> Series:
        kept = series.at_s >= start_s
        return Series(at_s=series.at_s[kept], values=series.values[kept])

    use = {device: cut(series) for device, series in pool.utilization_percent.items()}
    asked = None if pool.requests_per_s is None else cut(pool.requests_per_s)
    return replace(
        pool, utilization_percent={key: each for key, each in use.items() if len(each.at_s)}, requests_per_s=asked
    )


def runs(timeline: Timeline) -> Iterator[Said]:
    """What runs decide at each step, each with what the ones before it kept."""
    idle: dict[str, Episode] = {}
    told: dict[str, tuple[Told, ...]] = {}
    for at in sorted(timeline.steps):
        facts = facts_at(timeline, at)
        pools = []
        for pool in facts.pools:
            notices = told.get(pool.name, ())
            known = idle.get(pool.name)
            back_s = max(pool.guard.window_s + pool.guard.grace_s, unseen_s(known, notices, pool.guard, at.timestamp()))
            seen = read_since(pool, at.timestamp() - back_s)
            pools.append(replace(seen, notices=notices, episodes=(known,) if known else ()))
        quiet = (idle[""],) if "" in idle else ()
        stack = replace(facts, pools=tuple(pools), notices=told.get("", ()), episodes=quiet)
        verdict, of_pools = decide(stack, LIMITS, at)
        yield at, verdict, of_pools
        for name, given in (("", verdict), *((each.subject, each) for each in of_pools)):
            if given.episode:
                idle[name] = given.episode
            if given.tell:
                due_s = given.next_at.timestamp() if given.next_at else float("-inf")
                notice = Told(at_s=at.timestamp(), about=given.about, heard=True, due_s=due_s)
                told[name] = (*told.get(name, ()), notice)


def fleet_of_one(seed: int) -> Timeline:
    """A stack over four days past its end: idle, used, unseen and spared by turns, looked at each hour or so."""
    drawn = random.Random(seed)  # noqa: S311  (a timeline, no secret)
    begins, at, runs_ = -96 * 60, -96 * 60, []
    while at < 0:
        lasts = drawn.choice([20, 60, 180, 600, 1800, 2400])
        kind = drawn.choice([0, 0, 0, 0, 80, None, 3])
        if kind is not None:  # None: nobody saw it
            runs_.append([at, min(at + lasts, 0), kind])
        at += lasts
    case: dict[str, Any] = {
        "use": {"*": runs_},
        "counted": [[begins, 0, ["a", "b"]]],
        "notices": [],
        "expires_at": drawn.choice(["2026-11-17", "2026-11-18"]),
        "action": drawn.choice(["scale-to-zero", "notify"]),
        "nodes_min": drawn.choice([0, 2]),
        "created": -60000,
    }
    if drawn.random() < 0.3:
        case["requests"] = [[begins, drawn.choice([-2000, 0]), 0], [-900, 0, drawn.choice([0, 0.5, -3])]]
    apart = drawn.choice([30, 60, 60, 90, 240])
    steps = tuple(NOON + timedelta(minutes=minute) for minute in range(begins + 600, 1, apart))
    return parse_timeline(document(case), f"seed {seed}").model_copy(update={"steps": steps})


def compared(seed: int) -> tuple[set[str], int, int]:
    """What was done; of how many verdicts, how many are other ones: never one that stops what a replay keeps."""
    timeline = fleet_of_one(seed)
    actions, verdicts, others = set(), 0, 0
    for (at, *seen), (_, *whole) in zip(runs(timeline), replay(timeline, LIMITS), strict=True):
        for given, known in zip((seen[0], *seen[1]), (whole[0], *whole[1]), strict=True):
            stops = given.action in ("empty", "destroy")
            assert not stops or given.action == known.action, f"seed {seed} at {at}: {given} where {known}"
            actions.add(given.action)
            verdicts += 1
            others += (given.action, given.clause) != (known.action, known.clause)
    return actions, verdicts, others


def test_runs_that_remember_decide_what_a_replay_of_all_samples_does() -> None:
    """Of a notice of an end that use, or a time unseen, came after: hours later no sample that is read says so."""
    actions, verdicts, others = zip(*map(compared, range(12)), strict=True)
    assert set().union(*actions) == {"destroy", "empty", "warn", "unknown", "keep"}
    assert sum(others) <= 0.01 * sum(verdicts)  # a run is the more careful: fewer samples cover less


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(20))
def test_two_thousand_do(hundred: int) -> None:
    for seed in range(1000 + hundred * 100, 1100 + hundred * 100):
        compared(seed)
