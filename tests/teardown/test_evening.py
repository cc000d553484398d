"""One evening: stacks in each state that an owner leaves one in, from the plan to the audit record."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from typing import Any

from sizewell.cli.teardown import _page
from sizewell.teardown import act, render
from sizewell.teardown.aws.reads import in_aws
from sizewell.teardown.orphans import unknown_to
from sizewell.teardown.report import monthly_report
from sizewell.teardown.things import Thing
from sizewell.teardown.timeline import read_timeline, replay
from tests.teardown import world
from tests.teardown.test_run import REGION, client, described, group, shared, sizes, stack

BUSY, FULL = dict.fromkeys(range(4), 80.0), dict.fromkeys(range(4), 100.0)
EXPECTED = {  # stack -> what the plan says of its pool, or of itself
    "dev-used": ("keep", "busy"),
    "dev-idle": ("empty", "idle"),
    "dev-empty": ("destroy", "empty"),
    "dev-ghost": ("unknown", "latched"),
    "dev-prepaid": ("warn", "prepaid"),
    "dev-protected": ("keep", "protected"),
    "dev-leased": ("keep", "leased"),
    "dev-expired": ("destroy", "expired"),
    "dev-woken": ("keep", "just_started"),
}


def set_up(evening: Any) -> str:
    """The stacks of the evening; the machine that no state names."""
    now = evening.now
    evening.settings = {
        "environments": {"dev": {"empty_days": 0.25}},
        "protected": {"dev-protected": {"until": "2099-12-31", "reason": "audit"}},
        "idle_power_w": {"g6.12xlarge": 16.0},
        "stack_grace_hours": 2,
        "at_most_percent": 50,
    }
    stack(evening, "dev-used", values=BUSY)
    for name in ("dev-idle", "dev-protected", "dev-leased"):
        stack(evening, name)
        evening.told(stack=name)
    evening.shelf.tags["dev-leased"] = {"sizewell:keep": "2099-12-31 demo on Friday"}
    (ghost,) = stack(evening, "dev-ghost", values=FULL)
    power = [
        {**sample, "MetricName": "nvidia_smi_power_draw"}
        for sample in world.samples(ghost, "sizewell-dev-ghost-train", now, dict.fromkeys(range(4), 15.0), 55)
    ]
    client("cloudwatch", REGION).put_metric_data(Namespace="Sizewell", MetricData=power)
    stack(evening, "dev-prepaid", capacityMode="capacity-block")
    group("sizewell-dev-empty-train", 0)
    sizes("sizewell-dev-empty-train", now, hours=7)
    parts = (world.component("dev-empty", "train"), world.group("dev-empty", "train", "sizewell-dev-empty-train"))
    evening.shelf.put("dev-empty", *parts)
    evening.told("empty", minutes=200, stack="dev-empty", subject="")
    ends = now.date() - timedelta(days=2)
    network = world.resource("dev-expired", "aws:ec2/vpc:Vpc", "network", "vpc-1")
    evening.shelf.put("dev-expired", world.component("dev-expired", "net", kind="network", expires=str(ends)), network)
    evening.told(f"end {ends} 0 days", minutes=1500, stack="dev-expired", subject="")
    stack(evening, "dev-woken", size=0)
    launched = client("ec2", REGION).run_instances(
        ImageId="ami-12c6146b",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "sizewell-stack", "Value": "dev-idle"}]}],
    )
    return str(launched["Instances"][0]["InstanceId"])


def verdicts(plan: Any) -> dict[str, tuple[str, str]]:
    """Of each stack what is due of it, else what is said of its pool."""
    said = {}
    for each in plan.stacks:
        row = each.row if each.row.action == "destroy" or not each.pools else each.pools[0]
        said[each.stack] = (row.action, row.clause)
    return said


def test_one_evening_from_the_plan_to_the_audit_record(evening, monkeypatch, capsys):
    lost = set_up(evening)
    reader = evening.reader()
    woken = reader.one({each.name: each for each in reader.backend.stacks()}, "dev-woken", evening.now)
    act.wake(reader.cloud("aws", "dev-woken"), woken.pools[0].unit)
    (machine,) = [each["InstanceId"] for each in described("sizewell-dev-woken-train")["Instances"]]
    _started_at(monkeypatch, machine, evening.now.timestamp() - 120)

    plan = evening.plan()
    assert verdicts(plan) == EXPECTED
    ghost = next(each for each in plan.stacks if each.stack == "dev-ghost").pools[0]
    assert "reports 100 % all the time at idle power" in ghost.why
    page = _page(plan)
    assert (
        page.count('<svg class="timeline"') == sum(bool(row.spans) for each in plan.stacks for row in each.pools) >= 8
    )
    table = render.markdown(plan)
    assert all(f"| {name} |" in re.sub(r"\\", "", table) for name in EXPECTED)

    said = [result for result in evening.run(yes=False) if result.outcome == "would"]
    assert {result.stack for result in said} == {"dev-idle", "dev-empty", "dev-expired"}
    assert (evening.shelf.destroyed, described("sizewell-dev-idle-train")["DesiredCapacity"]) == ([], 1)

    done = {result.stack: (result.action, result.outcome) for result in evening.run()}
    assert done == {
        "dev-idle": ("empty", "done"),
        "dev-empty": ("destroy", "done"),
        "dev-expired": ("destroy", "done"),
    }
    assert described("sizewell-dev-idle-train")["DesiredCapacity"] == 0
    assert sorted(name for name, _ in evening.shelf.destroyed) == ["dev-empty", "dev-expired"]
    for name in ("used", "ghost", "prepaid", "protected", "leased", "woken"):
        assert described(f"sizewell-dev-{name}-train")["DesiredCapacity"] == 1

    orphans = _orphans(evening, "dev-idle")
    assert [thing.identity.rpartition("/")[2] for thing in orphans] == [lost]

    records = evening.journal.records
    acts = [
        (each["kind"], each["action"], each["stack"]) for each in records if each["kind"] not in ("notice", "message")
    ]
    assert Counter(acts) == Counter(
        (kind, action, name) for name, (action, _) in done.items() for kind in ("begin", "done")
    )
    rows = {row.stack: row for row in monthly_report(records, evening.now + timedelta(hours=2))}
    assert (rows["dev-idle"].emptied, rows["dev-empty"].destroyed, rows["dev-expired"].destroyed) == (1, 1, 1)
    assert (rows["dev-idle"].hours_not_run, rows["dev-idle"].saved_usd > 0) == (2.0, True)
    timeline = next((evening.folder / "timelines").glob("dev-idle-*.json"))
    *_, (_, _, (verdict,)) = replay(read_timeline(timeline), evening.config.limits())
    assert verdict.action == "empty"
    with capsys.disabled():
        print(f"\n{table.partition('**')[0]}")


def _started_at(monkeypatch: Any, machine: str, at_s: float) -> None:
    """One machine is younger than all others."""
    from sizewell.teardown.telemetry import cloudwatch

    before = cloudwatch._machines

    def machines(*arguments: Any) -> dict[str, float]:
        return {name: at_s if name == machine else since for name, since in before(*arguments).items()}

    monkeypatch.setattr(cloudwatch, "_machines", machines)


def _orphans(evening: Any, name: str) -> list[Thing]:
    listed = {each.name: each for each in evening.reader().backend.stacks()}
    return unknown_to(list(in_aws(shared(), [REGION], name)), evening.reader().state(listed[name]))
