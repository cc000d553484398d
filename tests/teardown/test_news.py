"""What people hear besides notices: what was stopped, what failed, what is held back or not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act, announcing, clauses, decide, news, processes, savings
from sizewell.teardown.timeline import read_timeline, replay
from tests.teardown import world
from tests.teardown.test_run import IDLE, Evening, evening, expired, stack

__all__ = ["evening"]


def heard(evening: Evening, **more: Any) -> list[str]:
    """The texts that a run sends."""
    texts: list[str] = []
    evening.run(send=lambda url, body: texts.append(body["text"]), **more)
    return texts


def test_what_was_stopped_is_said_once_with_what_it_saves_and_how_to_wake_it(evening):
    stack(evening)
    evening.told()
    (text,) = heard(evening)
    assert text.startswith("pool train of dev-aws was emptied on ")
    assert "idle: under 5 %" in text
    assert "USD for each hour that it does not run" in text
    assert text.endswith("To start it again: sizewell wake dev-aws train")
    assert heard(evening) == []


def test_a_destroyed_stack_is_said_with_the_way_back(evening):
    expired(evening)
    evening.told(f"end {evening.now.date() - timedelta(days=2)} 0 days", minutes=1500, subject="")
    evening.told(minutes=1500)
    (text,) = [text for text in heard(evening) if "was destroyed" in text]
    assert [name for name, _ in evening.shelf.destroyed] == ["dev-aws"]
    assert text.endswith("To build it again: pulumi up -s dev-aws")


@pytest.mark.parametrize(
    ("a_month", "said"),
    [
        ("730", "That saves 1.00 USD for each hour that it does not run."),
        ("0", "Nothing of it that is priced was running."),
        ("?", "What that saves is not known."),
    ],
)
def test_what_a_stop_saves(a_month, said):
    assert news._saves(a_month) == said


def test_data_that_holds_a_destroy_is_said_at_once_whatever_held_it_before(evening):
    expired(evening, world.resource("dev-aws", "aws:ebs/volume:Volume", "disk", "vol-1"))
    (text,) = heard(evening, outdated=lambda: "the settings changed")
    assert "the settings changed" in text
    assert any("--data dev-aws" in text for text in heard(evening))


def test_a_notice_has_the_machines_of_which_it_was_sent(evening):
    (machine,) = stack(evening)
    heard(evening)
    (told,) = [record for record in evening.journal.read().records if record["kind"] == "notice"]
    assert told["machines"] == [f"train/{machine}"]
    (notice,) = evening.journal.told("dev-aws", "train")
    assert notice.machines == {f"train/{machine}"}


def test_what_is_announced_of_a_stack_without_accounts_has_no_time(evening):
    stack(evening, expires=str(evening.now.date() - timedelta(days=3)))
    (planned,) = evening.plan().stacks
    row = replace(planned.row, next_step="destroy", next_at=evening.now)
    assert " is destroyed from 20" in announcing.notice(planned, row)
    text = announcing.notice(replace(planned, accounts=()), row)
    assert ": it expired on " in text
    assert "stack dev-aws (" in text
    assert "would be destroyed: " in text
    assert "sizewell:accounts is not set, so the login cannot be checked" in text


@pytest.mark.parametrize("named", [[], ["dev-aws"]])
def test_what_is_announced_of_a_stack_says_the_data_that_will_hold_it(evening, named):
    """Its owner was told that it is destroyed at a time, and at that time that it is not."""
    end = str(evening.now.date() - timedelta(days=3))
    stack(evening, expires=end)
    disk = world.resource("dev-aws", "aws:ebs/volume:Volume", "disk", "vol-1")
    evening.shelf.put("dev-aws", *evening.shelf.states["dev-aws"][1:], disk)
    texts = heard(evening, data=named)
    (text,) = [text for text in texts if text.startswith("stack dev-aws")]
    held = "data would be destroyed: disk disk (vol-1; no backup is kept); save it, then sizewell teardown run dev-aws"
    assert (held in text, "would be destroyed from" in text) == (not named, not named)
    assert ("in a run with --data its data goes too: disk disk (vol-1; no backup is kept)" in text) is bool(named)
    rows = [each for each in evening.run(only=["dev-aws"], data=named) if each.outcome == "not due"]
    assert [held in each.detail for each in rows if each.action == "destroy"] == [not named]


def test_the_limit_of_a_run_does_not_hide_the_data_that_no_later_run_destroys(evening):
    expired(evening, world.resource("dev-aws", "aws:ebs/volume:Volume", "disk", "vol-1"))
    evening.settings = {"at_most_percent": 0}
    (text,) = heard(evening)
    (line,) = [line for line in text.splitlines() if "destroy: held back" in line]
    assert "data would be destroyed" in line
    assert "--data dev-aws" in line


def test_a_run_that_was_killed_after_its_act_leaves_it_to_the_next_to_say(evening):
    stack(evening)
    evening.told()

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evening.run(send=dies)
    assert evening.journal.records[-1]["kind"] == "done"
    (text,) = heard(evening)
    assert "was emptied" in text
    assert heard(evening) == []


def test_an_act_whose_end_nobody_noted_is_said(evening, monkeypatch):
    stack(evening)
    evening.told()

    def dies(*_: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(act, "empty", dies)
    with pytest.raises(KeyboardInterrupt):
        evening.run()
    records = evening.journal.records
    assert [each["kind"] for each in records][-1] == "begin"
    assert news.happened(records, evening.now + timedelta(hours=1)) == []  # it may be under way
    (said,) = news.happened(records, evening.now + timedelta(hours=4))
    assert "was killed before it noted" in said.text
    assert "sizewell wake dev-aws train" in said.text


def test_what_a_killed_run_emptied_is_said_and_counted_by_the_next(evening, monkeypatch):
    """The cloud carries a call out whose caller is gone."""
    stack(evening)
    evening.told()
    real = act.empty

    def dies(cloud: Any, unit: Any) -> str:
        real(cloud, unit)
        raise KeyboardInterrupt

    monkeypatch.setattr(act, "empty", dies)
    monkeypatch.setattr(processes, "this", dict)
    with pytest.raises(KeyboardInterrupt):
        evening.run()
    assert evening.journal.records[-1]["kind"] == "begin"
    monkeypatch.setattr(act, "empty", real)
    assert heard(evening) == []  # it may be under way
    monkeypatch.setattr(processes, "gone", lambda _: True)
    (text,) = heard(evening)
    assert "was emptied" in text
    assert "To start it again: sizewell wake dev-aws train" in text
    (stop,) = savings.stops(evening.journal.records)
    assert stop.acted
    assert stop.usd_per_hour is not None
    assert heard(evening) == []


def test_a_failed_act_is_said_once_and_then_daily_with_its_way_out(evening, monkeypatch):
    stack(evening)
    evening.told()

    def fails(*_: Any) -> str:
        raise ServiceError("autoscaling: AccessDenied\n  fix: grant autoscaling:SetDesiredCapacity")

    monkeypatch.setattr(act, "empty", fails)
    (text,) = heard(evening)
    assert "emptying pool train of dev-aws failed" in text
    assert "Next: grant autoscaling:SetDesiredCapacity" in text
    assert heard(evening) == []
    later = evening.now + timedelta(hours=25)
    again = news.unsaid(news.happened(evening.journal.records, later), evening.journal.records, later)
    assert list(again) == []  # no newer failure: nothing is said of an old one
    evening.now += timedelta(hours=25)
    evening.journal.write("failed", evening.now, stack="dev-aws", subject="train", action="empty", why="", detail="no")
    at, records = evening.now, evening.journal.records
    ((whose, own),) = news.unsaid(news.happened(records, at), records, at)
    assert (whose, [each.kind for each in own]) == ("dev-aws", ["failed"])


def test_what_is_unknown_is_said_once_and_then_daily_with_the_next_step(evening):
    stack(evening, values={0: 0.0})
    (text,) = heard(evening)
    assert "nobody can tell, so it is kept: accelerator 1 of" in text
    assert "Next: repair the agent or exporter" in text
    assert heard(evening) == []
    records = evening.journal.records
    plan = evening.plan()
    assert list(news.unsaid(news.stands(plan, ()), records, evening.now + timedelta(hours=23))) == []
    assert len(list(news.unsaid(news.stands(plan, ()), records, evening.now + timedelta(hours=24)))) == 1


def test_a_warning_names_the_next_step_in_the_plan_and_to_its_owner(evening):
    stack(evening, nodesMin=1)
    row = evening.pool()
    assert (row.clause, bool(row.advice)) == ("spared", True)
    (text,) = heard(evening)
    assert "smallest size" in text
    assert text.endswith(row.advice)


def test_what_its_pools_say_is_not_said_of_the_stack_again(evening):
    stack(evening, capacityMode="capacity-block")
    evening.told()
    plan = evening.plan()
    assert {row.clause for row in plan.stacks[0].rows} >= {"prepaid"}
    assert [each.key for each in news.stands(plan, ())] == ["dev-aws/train prepaid"]


def test_what_is_held_back_is_said_with_the_reason(evening):
    evening.settings = {"at_most_stacks": 0}
    stack(evening)
    evening.told()
    (text,) = heard(evening)
    assert "0 stacks at most in one run" in text
    assert heard(evening) == []


def test_each_verdict_that_stops_nothing_has_a_next_step():
    unknown = {clause.__name__ for clause in clauses.UNKNOWN} | {"unread", "updating", "killed", "unproved", "unknown"}
    warned = {"prepaid", "spared", "window"}
    assert unknown | warned | {"gone", "unheard"} == set(news.ADVICE)
    assert news.advice("gone", "unknown", "dev", "train").startswith("`pulumi refresh --stack dev`, then `pulumi up`")
    assert {hold.__name__ for hold in decide.HOLDS} >= {"updating", "unproved", "prepaid", "unknown", "spared"}


def test_without_receivers_the_operators_hear(evening, monkeypatch):
    monkeypatch.setenv("OPERATORS_HOOK", "https://hooks.example/operators")
    evening.settings = {"operators": {"webhooks_env": ["OPERATORS_HOOK"]}}
    evening.shelf.configurations["dev-aws"] = {}
    stack(evening, values={0: 0.0})
    posted: list[str] = []
    evening.run(send=lambda url, body: posted.append(url))
    assert posted == ["https://hooks.example/operators"]
    (record,) = evening.journal.records
    assert (record["kind"], record["heard"]) == ("message", ["operators: webhook 0"])


def test_an_operator_whose_address_is_not_set_is_a_failure(evening, monkeypatch):
    monkeypatch.delenv("OPERATORS_HOOK", raising=False)
    evening.settings = {"operators": {"webhooks_env": ["OPERATORS_HOOK"]}}
    evening.shelf.configurations["dev-aws"] = {}
    stack(evening, values={0: 0.0})
    (result,) = evening.run()
    assert (result.action, result.outcome) == ("message", "failed")
    assert "OPERATORS_HOOK is not set" in result.detail
    assert [each for each in evening.run() if each.action == "message"] == []  # red once a day, tried in each run
    evening.now += timedelta(hours=25)
    assert ("message", "failed") in [(each.action, each.outcome) for each in evening.run()]


def test_an_operator_whose_address_is_not_set_is_said_beside_a_receiver_that_fails(evening, monkeypatch):
    monkeypatch.delenv("OPERATORS_HOOK", raising=False)
    evening.settings = {"operators": {"webhooks_env": ["OPERATORS_HOOK"]}}
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": {"webhooks": ["https://hooks.example/a"]}}
    stack(evening, values={0: 0.0})

    def refuses(url: str, body: object) -> None:
        raise ServiceError("it does not respond")

    (result,) = evening.run(send=refuses)
    assert "it does not respond" in result.detail
    assert "OPERATORS_HOOK is not set" in result.detail


def test_a_schedule_that_holds_everything_back_for_a_day_is_noticed(evening):
    evening.settings = {"at_most_stacks": 0}
    stack(evening)
    evening.journal.write(
        "held", evening.now - timedelta(hours=21), stack="dev-aws", subject="train", action="empty", why="", detail="no"
    )
    evening.told()
    results = evening.run()
    stuck = [each for each in results if each.action == "message"]
    assert [(each.stack, each.outcome) for each in stuck] == [("", "failed")]  # no operators: the schedule turns red
    assert "for a day teardown has held back everything" in stuck[0].detail
    assert [each for each in evening.run() if each.action == "message"] == []  # once a day


def test_a_schedule_that_stops_something_is_not_stuck(evening):
    at = evening.now
    held = {"kind": "held", "stack": "a", "subject": "", "action": "empty", "detail": "no"}
    done = {"kind": "done", "stack": "b", "subject": "", "action": "empty"}
    records = [{**held, "at": (at - timedelta(hours=hours)).isoformat()} for hours in (30, 2)]
    assert news.stuck(records, at) is not None
    assert news.stuck(records[1:], at) is None
    assert news.stuck(records[:1], at) is None
    assert news.stuck([*records, {**done, "at": (at - timedelta(hours=3)).isoformat()}], at) is None


def test_a_halted_run_is_told_to_the_operators(evening, monkeypatch):
    monkeypatch.setenv("OPERATORS_HOOK", "https://hooks.example/operators")
    evening.settings = {"operators": {"webhooks_env": ["OPERATORS_HOOK"]}, "halt_missing_pools": 1}
    stack(evening, values={})
    texts: list[str] = []
    with pytest.raises(ServiceError, match="halted"):
        evening.run(yes=False, send=lambda url, body: texts.append(body["text"]))
    assert (texts, evening.journal.records) == ([], [])  # what only prints tells nobody
    with pytest.raises(ServiceError, match="halted"):
        evening.run(send=lambda url, body: texts.append(body["text"]))
    assert len(texts) == 1
    assert "telemetry of 100 % of the pools is missing" in texts[0]


def test_when_it_runs_again_its_owner_hears_what_was_saved(evening):
    stack(evening)
    evening.told()
    heard(evening)
    at = evening.now + timedelta(hours=10)
    about = {"stack": "dev-aws", "subject": "train", "owner": "", "action": "empty"}
    evening.journal.write("ended", at, **about, why="", acted=True, clause="busy")
    records = evening.journal.records
    ((_, own),) = news.unsaid(news.happened(records, at), records, at)
    assert "it was emptied for 10.0 hours, which saved" in own[0].text


def test_a_stack_whose_topic_went_with_it_turns_no_run_red(evening):
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": {"emails": ["ana@example.com"]}}
    stack(evening, values=IDLE)
    evening.told()
    results = evening.run()
    assert [(each.action, each.outcome) for each in results] == [("empty", "done"), ("message", "unheard")]
    assert [each for each in evening.run() if each.action == "message"] == []  # tried again, and printed daily
    told: list[Any] = []
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": {"webhooks": ["https://hooks.example/x"]}}
    evening.run(only=["dev-b"], send=lambda *sent: told.append(sent))
    assert told == []  # of a stack that was not named
    evening.run(send=lambda *sent: told.append(sent))
    assert "was emptied" in told[0][1]["text"]


def test_what_a_notice_rests_on_is_kept_for_replay(evening):
    stack(evening)
    evening.run()
    (path,) = (evening.folder / "timelines").glob("dev-aws-*.json")
    ((_, _, (pool,)),) = replay(read_timeline(path), evening.config.limits())
    assert (pool.clause, pool.tell) == ("told", True)
