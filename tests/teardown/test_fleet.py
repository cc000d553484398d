"""The fleet at a look: states, what was seen in two weeks, the next act, leases and costs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest

from sizewell.cli import fleet as shown
from sizewell.teardown.fleet import HOURS, StackState, fleet, plot
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.records import OPEN, Protection, Update
from sizewell.teardown.usage import Hour, PoolUsage, kept
from tests.teardown import world
from tests.teardown.test_run import Evening, evening, group, stack

__all__ = ["evening"]
SMALLEST = Decimal("73.00")


def looked(evening: Evening) -> tuple[Any, dict[str, StackState]]:
    plan = evening.plan()
    reader = evening.reader()
    usages = {status.name: reader.usage(status.name, evening.now) for status in evening.statuses}
    costs = {status.name: SMALLEST for status in evening.statuses}
    return plan, {each.plan.stack: each for each in fleet(plan, evening.statuses, usages, costs, evening.config)}


def worked(evening: Evening, name: str, means: dict[int, float]) -> None:
    """An earlier run that saw how busy the pool was, by hours before now."""
    now = evening.now.replace(minute=0, second=0)
    hours = tuple(
        Hour(start=now - timedelta(hours=ago), mean_percent=mean, samples=240, machines=1)
        for ago, mean in sorted(means.items(), reverse=True)
    )
    row = {"stack": name, "pool": "train", "cloud": "aws", "region": "us-east-1", "instance_type": "g6.12xlarge"}
    nothing: Any = {key: {} for key in ("empty", "idle", "updating", "contradictions", "uncounted")}
    data = json.dumps(kept([PoolUsage(**row, hours=hours)], **nothing))
    run_at = evening.now - timedelta(hours=1, seconds=sum(map(ord, name)) % 60)
    evening.journal.keep(f"usage/{run_at:%Y%m%dT%H%M%SZ}.json", data.encode())


def set_up(evening: Evening) -> None:
    stack(evening, "dev-used", values=dict.fromkeys(range(4), 80.0))
    worked(evening, "dev-used", {ago: 90.0 if 30 < ago < 200 else 20.0 for ago in range(2, 400)})
    stack(evening, "dev-idle")
    worked(evening, "dev-idle", {ago: 0.0 if ago < 60 else 55.0 for ago in range(2, 300) if ago % 50 > 12})
    evening.told(stack="dev-idle")
    stack(evening, "dev-blind", values={0: 0.0})
    stack(evening, "dev-kept")
    until = (evening.now + timedelta(days=2)).isoformat()
    evening.journal.write("lease", evening.now, stack="dev-kept", subject="", until=until, reason="a <demo>")
    group("sizewell-dev-empty-train", 0)
    parts = (world.component("dev-empty", "train"), world.group("dev-empty", "train", "sizewell-dev-empty-train"))
    evening.shelf.put("dev-empty", *parts)


def test_each_stack_has_its_state_next_act_lease_and_cost(evening):
    set_up(evening)
    _, stacks = looked(evening)
    assert {name: each.state for name, each in stacks.items()} == {
        "dev-blind": "not known",
        "dev-empty": "without machines",
        "dev-idle": "pool to be emptied",
        "dev-kept": "kept",
        "dev-used": "in use",
    }
    idle, kept_, empty = stacks["dev-idle"], stacks["dev-kept"], stacks["dev-empty"]
    assert idle.next == "empty train at the next run"
    assert re.fullmatch(r"until \d{4}-\d\d-\d\d \d\d:\d\d UTC: a <demo>", kept_.held[0])
    assert (idle.machines, empty.machines, empty.usd_per_month) == (1, 0, Decimal(0))
    assert idle.usd_per_month is not None
    assert idle.usd_per_month > 1000
    assert idle.smallest_usd_per_month == SMALLEST


def test_the_next_act_of_a_stack_that_observes_says_so(evening):
    evening.settings = {"mode": "observe"}
    stack(evening)
    _, stacks = looked(evening)
    assert re.fullmatch(r"empty train from .* UTC, observed only", stacks["dev-aws"].next)


def test_a_stack_that_holds_data_is_not_said_to_go_at_the_next_run(evening):
    """Each run holds it back until somebody names it."""
    stack(evening, values=dict.fromkeys(range(4), 0.0))
    plan = evening.plan()
    (before,) = plan.stacks
    due = replace(before.row, action="destroy", clause="expired")
    for data, state, next_ in (
        ((), "to be destroyed", "destroy at the next run"),
        (
            ("disk a",),
            "past its end, holds data",
            "destroy by `sizewell teardown run dev-aws --data dev-aws --yes`, once its data is saved",
        ),
    ):
        own = replace(plan, stacks=(replace(before, row=due, data=data),))
        (shown_,) = fleet(own, evening.statuses, {}, {"dev-aws": SMALLEST}, evening.config)
        assert (shown_.state, shown_.next) == (state, next_)
    pool = replace(before.pools[0], action="empty")
    own = replace(plan, stacks=(replace(before, row=due, data=("disk a",), pools=(pool,)),))
    (shown_,) = fleet(own, evening.statuses, {}, {"dev-aws": SMALLEST}, evening.config)
    assert shown_.next == "empty train at the next run"


@pytest.mark.parametrize(
    ("update", "state", "why"),
    [
        ({"hours": 0.1}, "being updated", "an update of it has been running"),
        ({"hours": 0.1, "own": True}, "being destroyed", "a teardown has been destroying it"),
        ({"hours": 240}, "not known", "pulumi cancel --stack dev-aws"),
    ],
)
def test_a_stack_on_which_an_engine_works_says_what_is_done_to_it(evening, monkeypatch, update, state, why):
    since_s = evening.now.timestamp() - update["hours"] * 3600
    lock = Update(by="ann@desk", since_s=since_s, own=update.get("own", False))
    monkeypatch.setattr(StatusReader, "_update", lambda *_: lock)
    stack(evening)
    plan, stacks = looked(evening)
    assert stacks["dev-aws"].state == state
    assert why in plan.stacks[0].row.why


def test_what_is_protected_and_left_is_named_with_its_price(evening):
    kind = "aws:efs/fileSystem:FileSystem"
    evening.shelf.put("dev-aws", world.resource("dev-aws", kind, "files", "fs-1", protect=True))
    plan, stacks = looked(evening)
    assert stacks["dev-aws"].state == "protected alone"
    assert plan.stacks[0].row.why == f"1 protected resource remains: files ({kind})"
    assert "protected resources" in plan.stacks[0].bills_on[0]


def test_what_a_bucket_stores_is_no_nought(evening):
    bucket = world.bucket("dev-aws", "checkpoints", "dev-aws-checkpoints")
    evening.shelf.put("dev-aws", bucket)
    plan, _ = looked(evening)
    assert plan.stacks[0].bills_on_usd_per_month is None
    assert "billed by use, such as what is stored: checkpoints" in "; ".join(plan.stacks[0].bills_on)


def test_what_holds_until_somebody_ends_it_has_no_date(evening):
    stack(evening)
    plan = evening.plan()
    gap = Protection(until=OPEN, reason="the journal has a gap")
    statuses = [replace(each, facts=replace(each.facts, leases=(gap,))) for each in evening.statuses]
    (shown_,) = fleet(plan, statuses, {}, {"dev-aws": SMALLEST}, evening.config)
    assert shown_.held == ("the journal has a gap",)


def test_a_stack_that_cannot_be_read_costs_nobody_knows_what(evening):
    stack(evening)
    evening.shelf.tags["dev-aws"] = {"sizewell:keep": "sometime"}
    _, stacks = looked(evening)
    assert (stacks["dev-aws"].state, stacks["dev-aws"].machines) == ("not known", None)
    assert stacks["dev-aws"].usd_per_month is None


def test_the_hours_of_two_weeks_are_those_of_all_runs_and_of_now(evening):
    set_up(evening)
    _, stacks = looked(evening)
    (pool,) = stacks["dev-used"].pools
    assert len(pool.hours) == HOURS - 1 or len(pool.hours) == HOURS
    assert pool.hours[-1].mean_percent == 80.0  # of this look
    assert pool.seen.startswith("busy ")
    picture = plot(pool, evening.now)
    assert picture.count("M") >= HOURS - 2
    (unseen,) = stacks["dev-empty"].pools
    assert unseen.seen == "no use of its accelerators was seen in 14 days"
    assert f"M0 0h{HOURS}v" in plot(unseen, evening.now)  # all of it is a gap, none of it a zero


class Page(HTMLParser):
    """What a reader without eyes needs: headings in order, names of pictures, no script, no outside address."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.pictures: list[str] = []
        self.outside: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if given.get("role") == "img":
            self.pictures.append(given.get("aria-label") or "")
        if tag in ("script", "iframe", "img") or "://" in str(given.get("src") or given.get("href") or ""):
            self.outside.append(tag)
        if tag == "a":
            self.links.append(str(given.get("href")).removeprefix("#"))
        if given.get("id"):
            self.ids.append(str(given["id"]))


def test_the_page_is_one_file_that_can_be_read_without_eyes(evening, tmp_path):
    set_up(evening)
    plan, stacks = looked(evening)
    text = shown.page(plan, list(stacks.values()))
    page = Page()
    page.feed(text)
    assert page.outside == []
    assert page.levels[0] == 1
    assert all(after - before <= 1 for before, after in zip(page.levels, page.levels[1:], strict=False))
    assert len(page.pictures) == 5
    assert all("use in the 14 days before" in label for label in page.pictures)
    assert set(page.links) <= set(page.ids)
    assert "a &lt;demo&gt;" in text
    (tmp_path / "fleet.html").write_text(text)


@pytest.mark.parametrize("columns", ["80", "100"])
def test_the_document_and_the_table_have_each_stack(evening, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    set_up(evening)
    plan, stacks = looked(evening)
    document = json.loads(json.dumps(shown.document(plan, list(stacks.values()))))
    assert [row["stack"] for row in document["stacks"]] == sorted(stacks)
    assert document["stacks"][0]["usd_per_month"] is not None
    shown.table(plan, list(stacks.values()))
    printed = capsys.readouterr().out
    assert all(name in printed for name in stacks)
    assert "5 stacks: " in printed


@pytest.mark.parametrize("hours", [0, 3])
def test_an_idle_pool_that_was_never_busy_says_so(evening, hours):
    stack(evening)
    worked(evening, "dev-aws", dict.fromkeys(range(2, 2 + hours), 1.0))
    _, stacks = looked(evening)
    (pool,) = stacks["dev-aws"].pools
    assert pool.seen.endswith("no hour reached 5 %")
