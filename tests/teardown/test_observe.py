"""Observe mode: everything is said and noted, nothing is changed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sizewell.sizing.errors import ConfigError
from sizewell.teardown.config import parse_config
from sizewell.teardown.savings import stops
from tests.teardown.test_run import IDLE, Evening, described, evening, expired, measured, stack

__all__ = ["evening"]
BASE = {"schema": "sizewell.teardown/1", "journal": "file:///tmp/journal"}


def noted(evening: Evening) -> list[tuple[str, str, str]]:
    return [
        (each["kind"], each["action"], each["stack"]) for each in evening.journal.records if each["kind"] != "notice"
    ]


def test_a_file_without_a_mode_observes():
    config = parse_config(BASE)
    assert not config.acts("dev", "empty")
    assert not config.acts("dev", "destroy")


@pytest.mark.parametrize(
    ("mode", "empty", "destroy"),
    [
        ("act", True, True),
        ("observe", False, False),
        ({"empty": "act"}, True, False),
        ({"destroy": "act"}, False, True),
    ],
)
def test_each_environment_and_act_has_a_mode(mode, empty, destroy):
    config = parse_config({**BASE, "environments": {"dev": {"mode": mode}, "staging": {}}})
    assert (config.acts("development", "empty"), config.acts("dev", "destroy")) == (empty, destroy)
    assert not config.acts("staging", "empty")


def test_a_mode_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="mode"):
        parse_config({**BASE, "mode": "dry"})


def test_nothing_is_changed_and_each_stop_is_noted_once(evening):
    evening.settings = {"mode": "observe"}
    stack(evening)
    texts: list[str] = []
    evening.run(send=lambda url, body: texts.append(body["text"]))
    assert ["would be emptied" in text and "not done" in text for text in texts] == [True]
    evening.told()
    for _ in range(2):  # an hour later it is still the same time of idleness
        (result,) = evening.run()
        assert (result.action, result.outcome) == ("empty", "observed")
    assert noted(evening) == [("would", "empty", "dev-aws")]
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1
    (stop,) = stops(evening.journal.records)
    assert (stop.acted, stop.ended, stop.usd_per_hour > 3) == (False, None, True)
    (plan,) = evening.plan().stacks
    assert "mode is observe: empty would be noted, and nothing changed" in plan.notes


def test_a_notice_that_nothing_changes_announces_no_act(evening):
    evening.settings = {"mode": "observe"}
    stack(evening)
    evening.told(observed="empty")
    (result,) = evening.run()
    assert (result.action, result.outcome) == ("empty", "observed")
    evening.settings = {"mode": "act"}
    texts: list[str] = []
    evening.run(send=lambda url, body: texts.append(body["text"]))
    assert "is emptied from" in texts[-1]
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1
    assert "observed" not in evening.journal.records[-1]


def test_what_a_notice_announces_is_noted_where_it_is_only_observed(evening):
    evening.settings = {"mode": "observe"}
    stack(evening)
    evening.run(send=lambda url, body: None)
    assert evening.journal.records[-1]["observed"] == "empty"


def test_a_stack_past_its_end_is_noted_and_its_pools_are_emptied_where_that_acts(evening):
    evening.settings = {"environments": {"dev": {"mode": {"empty": "act", "destroy": "observe"}}}}
    expired(evening)
    evening.told()
    done = {(result.action, result.outcome) for result in evening.run()}
    assert done == {("destroy", "observed"), ("empty", "done")}
    assert evening.shelf.destroyed == []
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 0


def test_what_was_used_again_says_so_in_the_report(evening):
    evening.settings = {"mode": "observe"}
    (machine,) = stack(evening)
    evening.told()
    evening.run()
    measured(machine, "sizewell-dev-aws-train", evening.now, {**IDLE, 0: 90.0}, minutes=3)
    evening.run()
    (stop,) = stops(evening.journal.records)
    assert stop.clause == "busy"
    assert "accelerator 0" in stop.after
    assert stop.hours(f"{evening.now:%Y-%m}", evening.now + timedelta(days=1)) < 1


def test_an_emptied_pool_that_runs_again_saves_no_more(evening):
    stack(evening)
    evening.told()
    assert evening.outcomes() == [("dev-aws", "empty", "done")]
    assert evening.outcomes() == []
    (stop,) = stops(evening.journal.records)
    assert stop.ended is None
    from tests.teardown.test_run import REGION, client

    client("autoscaling", REGION).set_desired_capacity(AutoScalingGroupName="sizewell-dev-aws-train", DesiredCapacity=1)
    evening.run()
    (stop,) = stops(evening.journal.records)
    assert stop.ended is not None


def test_more_stacks_than_one_run_may_touch_are_noted(evening):
    evening.settings = {"mode": "observe", "at_most_stacks": 1}
    for name in ("dev-a", "dev-b"):
        stack(evening, name)
        evening.told(stack=name)
    assert [result.outcome for result in evening.run()] == ["observed", "observed"]


@pytest.mark.parametrize("whose", ["dev-aws", ""])
def test_a_pause_holds_from_the_next_look_on_past_the_end_too(evening, whose):
    expired(evening)
    plan = evening.plan()
    assert plan.due
    until = (evening.now + timedelta(hours=4)).isoformat()
    evening.journal.write("pause", evening.now, stack=whose, subject="", until=until, reason="an incident")
    results = evening.runner(statuses=evening.statuses).run(plan)  # it was planned before the pause
    assert [(result.action, result.outcome) for result in results] == [("destroy", "held back")]
    assert "teardown is paused: an incident" in results[0].detail
    assert evening.shelf.destroyed == []
    (one,) = evening.plan().stacks
    assert {row.clause for row in one.rows} == {"leased"}
