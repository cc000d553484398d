"""From states and metrics to a plan, and from a plan to acts: on moto's groups and metrics, in a folder as journal."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.cloudwatch.models import CloudWatchBackend

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError, Deadline
from sizewell.launch.scripts.manifest import Manifest, Part
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.teardown import act, acting, gather, render, run, saves, writing
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.aws import reads as aws_reads
from sizewell.teardown.backend import LEASE_TAG
from sizewell.teardown.config import TeardownConfig, parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import HeldError, Journal, connect
from sizewell.teardown.outcomes import Result
from sizewell.teardown.planning import must_be_own, to_json
from sizewell.teardown.queues import queue_of
from sizewell.teardown.records import Job
from sizewell.teardown.report import monthly_report
from sizewell.teardown.telemetry import cloudwatch
from sizewell.teardown.timeline import parse_timeline, read_timeline, recorded, replay
from sizewell.teardown.units import Unit
from tests.teardown import world
from tests.teardown.world import Shelf, ShelfBackend

REGION = "us-east-1"
CATALOG = load()


@functools.cache
def client(service: str, region: str) -> Any:
    """One client of each service for all tests: making one takes longer than a test does."""
    return boto3.Session("testing", "testing").client(service, region)


@functools.cache
def shared() -> Aws:
    return Aws(Deadline(3600.0))


@dataclass
class Evening:
    """A backend, moto's account, and what looks and acts."""

    shelf: Shelf
    folder: Path
    settings: dict[str, Any]
    now: datetime
    client: Aws | None = None  # None: moto's, as it is
    statuses: list[gather.StackStatus] = field(default_factory=list)

    @property
    def config(self) -> TeardownConfig:
        return parse_config(
            {
                "schema": "sizewell.teardown/1",
                "journal": f"file://{self.folder}/journal",
                "mode": "act",
                **self.settings,
            }
        )

    @property
    def journal(self) -> Journal:
        return Journal(connect(self.config.journal)).read()

    def reader(self, accounts: tuple[str, ...] = (world.ACCOUNT,)) -> StatusReader:
        return StatusReader(
            backend=ShelfBackend(root=self.folder, shelf=self.shelf),
            config=self.config,
            accounts=lambda _: accounts,
            catalog=CATALOG,
            journal=self.journal,
        )

    def plan(self, **more: Any) -> Any:
        """The plan; and each of its verdicts is that of a replay of what was seen."""
        plan, self.statuses = make_plan(self.reader(**more), "sizewell", self.now)
        for status in self.statuses:
            if status.facts is not None and status.verdict.clause != "nothing":
                seen = json.loads(json.dumps(recorded(status.facts, self.now)))
                ((_, verdict, pools),) = replay(parse_timeline(seen, status.name), self.config.limits())
                assert verdict == status.verdict
                worded = {"reason": ""}  # of a pool without a guard the plan says so
                again = [replace(pool.verdict, **worded) for pool in status.pools]
                assert [replace(pool, **worded) for pool in pools] == again
        return plan

    def pool(self, stack: str = "dev-aws") -> Any:
        return next(one for one in self.plan().stacks if one.stack == stack).pools[0]

    def runner(self, **more: Any) -> run.Runner:
        return run.Runner(
            backend=ShelfBackend(root=self.folder, shelf=self.shelf),
            config=self.config,
            journal=self.journal,
            fresh=self.reader,
            exports=self.folder / "exports",
            project="sizewell",
            **{"now": lambda: self.now, "yes": True, "send": lambda url, body: None, **more},
        )

    def run(self, chosen: Any = None, **more: Any) -> list[Result]:
        plan = self.plan()
        return self.runner(**{"statuses": self.statuses, **more}).run(plan, chosen)

    def outcomes(self, **more: Any) -> list[tuple[str, str, str]]:
        return [(result.stack, result.action, result.outcome) for result in self.run(**more)]

    def told(
        self, about: str = "idle", minutes: float = 15, stack: str = "dev-aws", subject: str = "train", **more: str
    ) -> None:
        at = self.now - timedelta(minutes=minutes)
        self.journal.write(
            "notice",
            at,
            stack=stack,
            subject=subject,
            about=about,
            action="warn",
            why="idle",
            owner="",
            heard=["webhook 0"],
            **more,
        )


def group(name: str, size: int = 1) -> list[str]:
    """An Auto Scaling group of moto; the ids of its machines."""
    ec2, scaling = client("ec2", REGION), client("autoscaling", REGION)
    template = ec2.create_launch_template(
        LaunchTemplateName=name, LaunchTemplateData={"ImageId": "ami-12c6146b", "InstanceType": "g6.12xlarge"}
    )["LaunchTemplate"]["LaunchTemplateId"]
    scaling.create_auto_scaling_group(
        AutoScalingGroupName=name,
        MinSize=0,
        MaxSize=2,
        DesiredCapacity=size,
        AvailabilityZones=[f"{REGION}a"],
        LaunchTemplate={"LaunchTemplateId": template, "Version": "$Latest"},
    )
    return [machine["InstanceId"] for machine in described(name)["Instances"]]


def described(name: str) -> dict[str, Any]:
    groups = client("autoscaling", REGION).describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    return groups["AutoScalingGroups"][0]  # type: ignore[no-any-return]


def measured(machine: str, physical: str, now: datetime, values: dict[int, Any], minutes: int = 55) -> None:
    data = world.samples(machine, physical, now, values, minutes)
    cloud = client("cloudwatch", REGION)
    for first in range(0, len(data), 500):
        cloud.put_metric_data(Namespace="Sizewell", MetricData=data[first : first + 500])


IDLE = dict.fromkeys(range(4), 0.0)


@pytest.fixture
def evening(tmp_path, monkeypatch):
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")  # sixteen thousand of them, for each test
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setattr(run, "must_be_right", lambda *_, **__: 0.0)  # moto has no clock of its own
    with mock_aws():
        made = Evening(shelf=Shelf(), folder=tmp_path, settings={}, now=world.whole_minute())
        monkeypatch.setattr(cloudwatch, "HISTORY_S", 8 * 3600.0)  # moto makes up each period, however far back
        monkeypatch.setattr(CloudWatchBackend, "get_metric_data", by_series)
        monkeypatch.setattr(CloudWatchBackend, "get_filtered_metrics", listed_once)
        monkeypatch.setattr(aws_reads, "aws_client", lambda *_, **__: made.client or shared())
        monkeypatch.setattr(writing, "Boto", Hand)
        backdated(monkeypatch, made.now - timedelta(hours=3))
        yield made


GET_METRIC_DATA = CloudWatchBackend.get_metric_data
FILTERED_METRICS = CloudWatchBackend.get_filtered_metrics


def listed_once(backend: CloudWatchBackend, *asked: Any) -> list[Any]:
    """moto's own answer, each metric once, as CloudWatch lists it: moto lists it for each of its samples."""
    return list({series_of(each): each for each in FILTERED_METRICS(backend, *asked)}.values())


def series_of(sample: Any) -> tuple[Any, ...]:
    return (sample.name, *sorted((each.name, each.value) for each in sample.dimensions))


def by_series(backend: CloudWatchBackend, queries: list[dict[str, Any]], **span: Any) -> list[dict[str, Any]]:
    """moto's own answers, each from the samples of its query alone: moto looks at all of them for every period."""
    samples: dict[tuple[Any, ...], list[Any]] = {}
    for sample in backend.get_all_metrics():
        samples.setdefault(series_of(sample), []).append(sample)
    answers = []
    for query in queries:
        metric = query["MetricStat"]["Metric"]
        series = (metric["MetricName"], *sorted((each["Name"], each["Value"]) for each in metric["Dimensions"]))
        narrowed = SimpleNamespace(get_all_metrics=functools.partial(samples.get, series, []))
        answers += GET_METRIC_DATA(narrowed, [query], **span)
    return answers


class Hand:
    """The hand of `act`, with the clients of all tests."""

    def __init__(self, _: Aws) -> None:
        pass

    def call(self, service: str, region: str, operation: str, **parameters: Any) -> Any:
        return getattr(client(service, region), operation)(**parameters)


def backdated(monkeypatch, launched: datetime) -> None:
    """Machines of moto were launched just now; here they were launched at `launched`."""
    real = cloudwatch._machines

    def machines(*arguments: Any) -> dict[str, float]:
        return dict.fromkeys(real(*arguments), launched.timestamp())

    monkeypatch.setattr(cloudwatch, "_machines", machines)


def stack(evening: Evening, name: str = "dev-aws", *, values: Any = IDLE, size: int = 1, **record: Any) -> list[str]:
    """A stack with one pool, whose machines did what `values` say."""
    physical = f"sizewell-{name}-train"
    machines = group(physical, size)
    for machine in machines:
        measured(machine, physical, evening.now, values)
    evening.shelf.put(name, world.component(name, "train", **record), world.group(name, "train", physical))
    return machines


def test_a_signal_that_contradicted_is_not_forgotten_by_the_next_run(evening, monkeypatch):
    """Its exporter dies: the samples of the next look have nothing of it any more."""
    stack(evening)
    evening.settings = {"idle_power_w": {"g6.12xlarge": 16}}
    evening.told()
    assert evening.pool().action == "empty"
    watts: float | None = 60.0
    real = StatusReader.observe

    def observe(reader: StatusReader, unit: Unit, name: str, at: datetime) -> Any:
        seen = real(reader, unit, name, at)
        power = seen.utilization_percent if watts is not None else {}
        return replace(seen, power_w={of: replace(each, values=each.values * 0 + watts) for of, each in power.items()})

    monkeypatch.setattr(StatusReader, "observe", observe)
    assert evening.pool().clause == "powered"
    assert evening.outcomes() == []
    watts = None
    evening.now += timedelta(minutes=5)
    assert (evening.pool().action, evening.pool().clause) == ("unknown", "contradicted")
    assert evening.outcomes() == []
    assert evening.pool().clause == "contradicted"  # after a run that read nothing of it, too
    watts = 16.0
    assert (evening.pool().action, evening.pool().tell) == ("warn", True)  # the last word was that it stays


def test_a_run_that_could_not_count_machines_is_remembered(evening, monkeypatch):
    stack(evening)
    real = StatusReader.observe

    def refused(*_: Any) -> Any:
        raise CloudError("ec2", "failed", "it does not respond")

    monkeypatch.setattr(StatusReader, "observe", refused)
    evening.run()
    monkeypatch.setattr(StatusReader, "observe", real)
    evening.plan()
    ((pool,),) = [status.pools for status in evening.statuses]
    assert pool.pool.uncounted_s == (evening.now.timestamp(),)


# Looking ----------------------------------------------------------------------------------------------------------


def test_an_idle_pool_is_told_then_emptied(evening):
    stack(evening)
    row = evening.pool()
    assert (row.action, row.next_step, row.machines) == ("warn", "empty", 1)
    assert row.samples_received >= row.samples_due * 0.95 > 0
    assert row.saves_usd_per_month > 1000
    assert evening.outcomes() == [("dev-aws", "notice", "told")]
    assert evening.outcomes() == []  # once a step
    evening.told()
    assert evening.pool().action == "empty"
    ticks = count()  # no two looks at a clock say the same
    now = lambda: evening.now + timedelta(milliseconds=next(ticks))  # noqa: E731
    assert evening.outcomes(now=now) == [("dev-aws", "empty", "done")]
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 0
    assert described("sizewell-dev-aws-train")["MaxSize"] == 2  # Pulumi's, and not touched
    kinds = [record["kind"] for record in evening.journal.records]
    assert kinds == ["notice", "notice", "begin", "done", "message"]
    (path,) = (evening.folder / "timelines").glob("dev-aws-*.json")
    ((_, _, (again,)),) = replay(read_timeline(path), evening.config.limits())
    assert again.action == "empty"


@pytest.mark.parametrize(
    ("values", "action", "clause"),
    [
        ({0: 0, 1: 0, 2: 0, 3: 80}, "keep", "busy"),
        ({0: 0, 1: 0, 2: 0}, "unknown", "unseen"),
        ({}, "unknown", "unseen"),
        ({0: 0, 1: 0, 2: 0, 3: lambda minute: None if minute < 12 else 0}, "unknown", "unseen"),
        ({0: 0, 1: 0, 2: 0, 3: lambda minute: None if minute % 2 else 0}, "unknown", "unseen"),
        ({0: 0, 1: 0, 2: 0, 3: lambda minute: 90 if minute == 2 else 0}, "keep", "busy"),
        ({0: 0, 1: 0, 2: 0, 3: 130}, "unknown", "impossible"),
    ],
)
def test_what_is_not_idle_is_kept(evening, values, action, clause):
    stack(evening, values=values)
    evening.told()
    row = evening.pool()
    assert (row.action, row.clause) == (action, clause)
    assert not evening.plan().due


def test_a_machine_that_reports_nothing_is_not_hidden_by_the_others(evening):
    physical = "sizewell-dev-aws-train"
    first, _second = group(physical, 2)
    measured(first, physical, evening.now, IDLE)
    evening.shelf.put("dev-aws", world.component("dev-aws", "train"), world.group("dev-aws", "train", physical))
    evening.told()
    assert evening.pool().clause == "unseen"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"guard": None}, "no guard"),
        ({"guard": {**world.GUARD, "action": "notify"}}, "only notifies"),
        ({"environment": "prod"}, "production"),
        ({"capacityMode": "capacity-block"}, "is prepaid: stopping it saves nothing"),
        ({"capacityMode": "flex-start"}, "stopping it saves its rate"),
        ({"capacityMode": "something new"}, "not known: it counts as prepaid"),
        ({"nodesMin": 1}, "smallest size"),
    ],
)
def test_what_is_spared_is_told_with_the_reason(evening, record, says):
    stack(evening, **record)
    evening.told()
    row = evening.pool()
    assert (row.action, row.clause) == ("warn", "prepaid" if "capacityMode" in record else "spared")
    assert says in row.why


@pytest.mark.parametrize("record", [{"measured": None}, {"sizedBy": None}, {"kind": "endpoint"}])
def test_what_nobody_can_read_is_unknown(evening, record):
    stack(evening, **record)
    evening.told()
    assert evening.pool().action == "unknown"


def test_a_lease_and_a_protection_hold(evening):
    stack(evening)
    evening.told()
    today = evening.now.date()
    evening.shelf.tags["dev-aws"] = {LEASE_TAG: f"{today} demo tonight"}
    assert evening.pool().clause == "leased"
    ended = today - timedelta(days=2)  # not yesterday: soon after midnight its end is no older than the grace
    evening.shelf.tags["dev-aws"] = {LEASE_TAG: f"{ended} demo yesterday"}
    assert evening.pool().action == "empty"
    evening.settings = {"protected": {"dev-aws": {"until": str(today), "reason": "audit"}}}
    assert evening.pool().clause == "protected"


def test_a_lease_that_cannot_be_read_stops_everything_of_its_stack(evening):
    stack(evening)
    evening.told()
    evening.shelf.tags["dev-aws"] = {LEASE_TAG: "until friday please"}
    (one,) = evening.plan().stacks
    assert one.row.action == "unknown"
    assert "sizewell:keep" in one.row.why


def test_a_save_keeps_and_a_store_that_does_not_answer_does_too(evening):
    stack(evening)
    evening.told()
    assert evening.pool().action == "empty"
    bucket = "sizewell-dev-aws-train-1"
    evening.shelf.put("checkpoints-dev-aws", world.bucket("checkpoints-dev-aws", "train", bucket))
    assert evening.pool().clause == "saved"  # there is no such bucket
    s3 = client("s3", REGION)
    s3.create_bucket(Bucket=bucket)
    assert evening.pool().action == "empty"
    s3.put_object(Bucket=bucket, Key="run/parts/000000000007-aa/00000-0000.safetensors", Body=b"x")
    assert evening.pool().clause == "saved"


def test_a_scheduler_that_nobody_can_ask_makes_a_pool_unknown(evening):
    stack(evening)
    evening.told()
    assert evening.pool().action == "empty"
    evening.settings = {
        "prometheus": {"dev-aws": {"url": "http://127.0.0.1:9", "queued": "sum(pending)", "running": "sum(running)"}}
    }
    assert evening.pool().clause == "queue_unasked"


@pytest.mark.parametrize(
    ("sized_by", "queue"),
    [
        ("gke-node-pools", "unanswered"),
        ("aks-pool", "unanswered"),
        ("eks-node-group", "unanswered"),
        ("scale-set", "none"),
    ],
)
def test_a_pool_of_kubernetes_has_a_queue_whether_somebody_names_it_or_not(evening, sized_by, queue):
    unit = Unit(name="train", urn="u", cloud="gcp", region="us-central1", sized_by=sized_by)
    assert queue_of(unit, evening.config.prometheus.get("dev-gcp"), evening.now) == (queue, ())
    mute = {"dev-gcp": {"url": "http://127.0.0.1:9", "queued": "sum(pending)", "running": "sum(active)"}}
    evening.settings = {"prometheus": mute}
    assert queue_of(unit, evening.config.prometheus.get("dev-gcp"), evening.now)[0] == "unanswered"


@pytest.mark.parametrize("accounts", [(), ("999999999999",)])
def test_an_account_that_is_not_named_or_another_one_is_refused(evening, accounts):
    stack(evening)
    evening.told()
    plan = evening.plan(accounts=accounts)
    assert plan.stacks[0].pools[0].action == "unknown"
    assert "account" in plan.stacks[0].pools[0].why


def test_emptiness_needs_a_count_of_all_the_time(evening):
    physical = "sizewell-dev-aws-train"
    group(physical, 0)
    evening.shelf.put("dev-aws", world.component("dev-aws", "train"), world.group("dev-aws", "train", physical))
    assert evening.plan().stacks[0].row.clause == "uncounted"
    evening.settings = {"environments": {"dev": {"empty_days": 0.25}}, "stack_grace_hours": 2}
    sizes(physical, evening.now, hours=7)
    assert evening.plan().stacks[0].row.clause == "empty"
    sizes(physical, evening.now - timedelta(hours=3), hours=0.1, size=1)
    assert evening.plan().stacks[0].row.clause == "machines"


def test_a_notice_of_an_earlier_emptiness_is_given_again(evening):
    """It no longer counts for a destroy; without another the stack would stand, and nobody would hear of it."""
    physical = "sizewell-dev-aws-train"
    group(physical, 0)
    evening.shelf.put("dev-aws", world.component("dev-aws", "train"), world.group("dev-aws", "train", physical))
    evening.settings = {"environments": {"dev": {"empty_days": 0.25}}, "stack_grace_hours": 2}
    sizes(physical, evening.now, hours=7)
    evening.told("empty", minutes=600, subject="")
    row = evening.plan().stacks[0].row
    assert (row.action, row.next_step, row.next_at) == ("warn", "destroy", evening.now + timedelta(hours=2))
    assert evening.outcomes() == [("dev-aws", "notice", "told")]
    assert evening.outcomes() == []


def sizes(physical: str, now: datetime, *, hours: float, size: float = 0.0) -> None:
    data = [
        {
            "MetricName": "GroupTotalInstances",
            "Dimensions": [{"Name": "AutoScalingGroupName", "Value": physical}],
            "Timestamp": now - timedelta(minutes=minute),
            "Value": size,
        }
        for minute in range(1, int(hours * 60))
    ]
    cloud = client("cloudwatch", REGION)
    for first in range(0, len(data), 500):
        cloud.put_metric_data(Namespace="AWS/AutoScaling", MetricData=data[first : first + 500])


def test_a_stack_without_pools_is_never_empty(evening):
    """Such as one of another kind in the same project: nobody says what it is used for."""
    network = world.resource("dev-net", "aws:ec2/vpc:Vpc", "network", "vpc-1")
    evening.shelf.put("dev-net", world.component("dev-net", "network", kind="network"), network)
    evening.told("empty", minutes=3000, stack="dev-net", subject="")
    assert evening.plan().stacks[0].row.clause == "poolless"
    assert evening.run() == []


def test_another_login_destroys_nothing_of_a_stack_without_pools(evening, monkeypatch):
    ends = evening.now.date() - timedelta(days=3)
    network = world.resource("dev-net", "aws:ec2/vpc:Vpc", "network", "vpc-1")
    evening.shelf.put("dev-net", world.component("dev-net", "net", kind="network", expires=str(ends)), network)
    evening.told(f"end {ends} 7 days", minutes=14_000, stack="dev-net", subject="")
    other = evening.reader
    monkeypatch.setattr(Evening, "reader", lambda _: other(("999999999999",)))
    (result,) = evening.run()
    assert (result.action, result.outcome, evening.shelf.destroyed) == ("destroy", "failed", [])
    assert "is logged in" in result.detail


# Acting ---------------------------------------------------------------------------------------------------------------


def test_without_yes_nothing_is_changed(evening):
    stack(evening)
    evening.told()
    before = len(evening.journal.records)
    assert evening.outcomes(yes=False) == [("dev-aws", "empty", "would")]
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1
    assert len(evening.journal.records) == before


def test_it_is_read_again_before_the_act(evening):
    (machine,) = stack(evening)
    evening.told()
    plan = evening.plan()
    assert [row.action for row in plan.due] == ["empty"]
    measured(machine, "sizewell-dev-aws-train", evening.now, {2: 70}, minutes=2)  # somebody came back
    (result,) = evening.runner().run(plan)
    assert (result.outcome, "in_use" in result.detail or "reached" in result.detail) == ("held back", True)
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1


def test_a_notice_of_an_earlier_idleness_is_none(evening):
    stack(evening, values={**IDLE, 1: lambda minute: 80 if 30 <= minute <= 35 else 0})
    evening.told(minutes=50)
    assert evening.pool().action == "warn"
    evening.told(minutes=15)
    assert evening.pool().action == "empty"


def test_two_runners_never_work_one_stack(evening):
    stack(evening)
    evening.told()
    lock = evening.journal.lock("dev-aws", evening.now, holder="the other")
    assert evening.outcomes() == [("dev-aws", "empty", "held back")]
    lock.release()
    assert evening.outcomes() == [("dev-aws", "empty", "done")]


def test_a_runner_whose_time_is_over_stops_before_its_act(evening):
    lock = evening.journal.lock("dev-aws", evening.now - timedelta(hours=4))
    evening.journal.lock("dev-aws", evening.now)
    with pytest.raises(HeldError, match="another runner"):
        lock.must_hold(evening.now)
    stale = evening.journal.lock("dev-gcp", evening.now - timedelta(hours=4))
    with pytest.raises(HeldError, match="too long"):
        stale.must_hold(evening.now)


def test_a_run_touches_at_most_so_many_stacks(evening):
    evening.settings = {"at_most_stacks": 1, "at_most_percent": 100}
    for name in ("dev-aws", "dev-b"):
        stack(evening, name)
        evening.told(stack=name)
    assert sorted(outcome for _, _, outcome in evening.outcomes()) == ["done", "held back"]
    evening.settings = {"at_most_stacks": 5, "at_most_percent": 0}
    assert {outcome for _, _, outcome in evening.outcomes()} == {"held back"}


@pytest.mark.parametrize("named", ["dev-aws", "dev-b"])
def test_the_stacks_whose_data_may_go_are_taken_first(evening, named):
    """No later run takes them by itself, so that the limit of a run would hold them for ever."""
    evening.settings = {"at_most_stacks": 1, "at_most_percent": 100}
    for name in ("dev-aws", "dev-b"):
        stack(evening, name)
        evening.told(stack=name)
    outcomes = {name: outcome for name, _, outcome in evening.outcomes(data=[named])}
    assert outcomes == {name: "done" if name == named else "held back" for name in ("dev-aws", "dev-b")}


def test_missing_telemetry_halts_all(evening):
    stack(evening)
    evening.told()
    stack(evening, "dev-b", values={})
    assert not evening.plan().halted  # one pool that nobody sees is kept, and halts no other
    for name in ("dev-c", "dev-d"):
        stack(evening, name, values={})
    assert evening.plan().halted.endswith("is missing (45 % halts): dev-b/train, dev-c/train, dev-d/train")
    with pytest.raises(ServiceError, match="halted"):
        evening.run()
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1
    evening.settings = {"halt_missing_percent": 80}
    assert ("dev-aws", "empty", "done") in evening.outcomes()


def test_outside_of_its_window_nothing_is_stopped(evening):
    stack(evening)
    evening.told()
    closed = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "time_zone": "Etc/UTC"}
    hour = (evening.now.hour + 3) % 24
    closed |= {"start": f"{hour:02}:00", "end": f"{(hour + 1) % 24:02}:00"}
    evening.settings = {"environments": {"dev": {"empty_days": 14, "windows": [closed]}}}
    row = evening.pool()
    assert (row.action, row.clause, row.next_step) == ("warn", "window", "empty")
    assert (row.next_at.hour, row.next_at > evening.now) == (hour, True)
    assert evening.outcomes() == []  # it waits, and nothing went wrong
    evening.settings = {"environments": {"staging": {"empty_days": 14}}}
    assert evening.pool().clause == "spared"  # dev is not named at all
    assert evening.outcomes() == []
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1


def expired(
    evening: Evening, *more: dict[str, Any], name: str = "dev-aws", values: Any = IDLE, size: int = 1, **record: Any
) -> list[str]:
    """A stack that ended three days ago, as its owner was told a week before, with a pool that is idle as they know."""
    end = evening.now.date() - timedelta(days=3)
    machines = stack(evening, name, values=values, size=size, expires=str(end), **record)
    evening.shelf.put(name, *evening.shelf.states[name][1:], *more)
    evening.told(f"end {end} 7 days", minutes=14_000, stack=name, subject="")
    evening.told(stack=name)
    return machines


def test_an_expired_stack_is_destroyed_from_its_state(evening):
    evening.settings = {"identities": {world.ACCOUNT: {"deletes": {"dev": {"AWS_PROFILE": "deletes-dev"}}}}}
    key = world.resource("dev-aws", "aws:kms/key:Key", "key", "k-1", protect=True)
    expired(evening, key)
    (result,) = evening.run()
    assert (result.action, result.outcome) == ("destroy", "done")
    assert evening.shelf.destroyed == [("dev-aws", {"AWS_PROFILE": "deletes-dev"})]
    (export,) = (evening.folder / "exports").glob("dev-aws-*.json")
    assert "autoscaling" in export.read_text()
    assert [each["id"] for each in evening.shelf.states["dev-aws"] if each["custom"]] == ["k-1"]
    (row,) = (row for row in monthly_report(evening.journal.records, evening.now + timedelta(hours=1)) if row.owner)
    assert (row.destroyed, row.unpriced, row.hours_not_run) == (1, 0, 1.0)
    assert 3 < row.saved_usd < 10  # one hour of a g6.12xlarge


BUSY = {**IDLE, 0: 95.0}


@pytest.mark.parametrize(
    ("values", "record", "action", "says"),
    [
        (BUSY, {}, "warn", "pool train: accelerator 0 of i-"),
        (BUSY, {"capacityMode": "capacity-block"}, "warn", "reached 95 % within 10 minutes"),
        (BUSY, {"guard": {**world.GUARD, "action": "notify"}}, "warn", "reached 95 %"),
        (
            {**IDLE, 0: lambda minute: 90 if minute == 16 else 0},  # before the notice of its pool
            {},
            "warn",
            "but used within 10 minutes before",
        ),
        ({}, {}, "unknown", "reports nothing"),
        ({0: 0, 1: 0, 2: 0}, {}, "unknown", "accelerator 3 of i-"),
        (IDLE, {"measured": None}, "unknown", "it is not measured"),
        (IDLE, {"sizedBy": None}, "unknown", "its machines were not counted"),
        (IDLE, {"acceleratorsPerNode": 0, "measured": None}, "unknown", "it is not measured"),
    ],
)
def test_a_stack_past_its_end_stays_while_a_pool_is_in_use_or_unknown(evening, values, record, action, says):
    """Its owner hears of it each day, from the end on, and nothing of it is destroyed."""
    evening.settings = {"halt_missing_percent": 100}
    expired(evening, values=values, **record)
    stack(evening, "dev-b")  # else all telemetry is missing
    row = next(each for each in evening.plan().stacks if each.stack == "dev-aws").row
    assert (row.action, row.next_step, row.next_at) == (action, "destroy", None)
    assert row.why.startswith(f"it expired on {evening.now.date() - timedelta(days=3)} at 00:00 UTC; pool train: ")
    if says != "it is not measured":
        assert says in row.why
    told = [result for result in evening.run() if result.stack == "dev-aws"]
    assert [(each.pool, each.action, each.outcome) for each in told] == [("", "notice", "told")]
    assert "is destroyed once nothing holds it any more: it expired on " in told[0].detail
    assert [result for result in evening.run() if result.stack == "dev-aws"] == []  # once a day
    assert evening.shelf.destroyed == []


def test_the_owner_of_a_stack_in_use_past_its_end_is_told_each_day(evening):
    expired(evening, values=BUSY)
    about = f"end {evening.now.date() - timedelta(days=3)} kept"
    evening.told(about, minutes=25 * 60, subject="")
    assert evening.outcomes() == [("dev-aws", "notice", "told")]
    (evening.folder / "journal" / "journal" / "000000000004.json").unlink()
    evening.told(about, minutes=23 * 60, subject="")
    assert evening.outcomes() == []


@pytest.mark.parametrize(("state", "action"), [("queued", "warn"), ("running", "unknown")])
@pytest.mark.parametrize("size", [1, 0])
def test_a_job_keeps_a_stack_past_its_end_with_machines_and_without(evening, monkeypatch, state, action, size):
    expired(evening, size=size)
    job = Job(name="pretrain", state=state, since_s=evening.now.timestamp() - 600)
    monkeypatch.setattr(gather, "queue_of", lambda *_: ("asked", (job,)))
    row = evening.plan().stacks[0].row
    assert (row.action, "job pretrain" in row.why) == (action, True)
    assert evening.outcomes() == [("dev-aws", "notice", "told")]
    assert evening.shelf.destroyed == []


def test_a_save_keeps_a_stack_past_its_end(evening):
    expired(evening)
    bucket = "sizewell-dev-aws-train-1"
    evening.shelf.put("checkpoints-dev-aws", world.bucket("checkpoints-dev-aws", "train", bucket))
    client("s3", REGION).create_bucket(Bucket=bucket)
    saved(f"s3://{bucket}/run", 7)
    assert "a checkpoint was written" in evening.plan().stacks[0].row.why
    assert evening.outcomes() == [("dev-aws", "notice", "told")]
    assert evening.shelf.destroyed == []


@pytest.mark.parametrize("values", [IDLE, BUSY])
def test_production_past_its_end_is_reported(evening, values):
    expired(evening, name="prod-aws", values=values, environment="prod")
    row = evening.plan().stacks[0].row
    assert (row.action, row.next_step) == ("warn", "")
    assert "; production is only reported, not destroyed" in row.why
    assert ("pool train: accelerator 0" in row.why) == (values is BUSY)
    (told,) = evening.run()
    assert (told.action, told.outcome) == ("notice", "told")
    assert told.detail.startswith("stack prod-aws (ml-platform): it expired on ")
    assert "To postpone its end: sizewell keep prod-aws" in told.detail
    assert (evening.run(), evening.shelf.destroyed) == ([], [])  # once


def test_a_lease_holds_past_the_end_until_its_instant(evening):
    """Its end is no stop: the owner is told anew, and has the grace again."""
    evening.settings = {"stack_grace_hours": 2}
    expired(evening)
    end = evening.now.date() - timedelta(days=3)
    evening.shelf.tags["dev-aws"] = {LEASE_TAG: f"{evening.now + timedelta(minutes=1):%Y-%m-%dT%H:%MZ} demo tonight"}
    (one,) = evening.plan().stacks
    assert (one.row.action, one.row.clause, one.pools[0].clause) == ("keep", "leased", "leased")
    assert (evening.run(), evening.shelf.destroyed) == ([], [])
    evening.shelf.tags["dev-aws"] = {LEASE_TAG: f"{evening.now - timedelta(hours=3):%Y-%m-%dT%H:%MZ} demo"}
    assert evening.outcomes() == [("dev-aws", "notice", "told"), ("dev-aws", "empty", "done")]
    assert evening.shelf.destroyed == []
    evening.told(f"end {end} 0 days", minutes=150, subject="")
    assert evening.outcomes() == [("dev-aws", "destroy", "done")]


@pytest.mark.parametrize(
    ("size", "record"),
    [
        (0, {}),
        (1, {"guard": {**world.GUARD, "action": "notify"}}),
        (1, {"nodesMin": 1}),
    ],
)
def test_a_stack_past_its_end_goes_where_its_pools_are_idle_or_have_no_machines(evening, size, record):
    """As their owner knows of the stack: a pool that is spared for itself goes with it."""
    expired(evening, size=size, **record)
    assert evening.outcomes() == [("dev-aws", "destroy", "done")]


def test_somebody_who_comes_back_keeps_a_stack_past_its_end(evening, monkeypatch):
    """Between the plan and the act, and while its checkpoints are read, which may take long."""
    (machine,) = expired(evening)
    plan = evening.plan()
    assert plan.stacks[0].row.action == "destroy"
    bucket = "sizewell-dev-aws-train-1"
    evening.shelf.put("checkpoints-dev-aws", world.bucket("checkpoints-dev-aws", "train", bucket))
    client("s3", REGION).create_bucket(Bucket=bucket)
    saved(f"s3://{bucket}/run", 7)
    monkeypatch.setattr(saves, "written", lambda _: ((), ()))  # long ago
    real = saves.prove

    def prove(uri: str) -> Any:
        measured(machine, "sizewell-dev-aws-train", evening.now, {2: 70}, minutes=2)
        return real(uri)

    monkeypatch.setattr(saves, "prove", prove)
    for _ in range(2):  # it comes back while the first run reads; the second finds it
        (result,) = evening.runner().run(plan)
        assert (result.action, result.outcome, evening.shelf.destroyed) == ("destroy", "held back", [])
        assert "when checked again it is warn: it expired on" in result.detail
        assert "accelerator 2 of" in result.detail


def disk(gib: int, **tags: str) -> str:
    """A volume that a cluster's controller made for a claim."""
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    specification = [{"ResourceType": "volume", "Tags": listed}]
    made = client("ec2", REGION).create_volume(
        AvailabilityZone=f"{REGION}a", Size=gib, VolumeType="gp3", TagSpecifications=specification
    )
    return str(made["VolumeId"])


def test_after_a_destroy_the_cloud_is_asked_and_the_end_goes_last(evening):
    """Claims' disks carry the cluster's tag, and no stack's; while they are billed, the stack that ends it stays."""
    cluster = world.resource("dev-aws", "aws:eks/cluster:Cluster", "cluster", "train", outputs={"name": "train"})
    expired(evening, cluster)
    for other in ("ttl-dev-aws", "images-dev-aws", "checkpoints-dev-aws"):
        evening.shelf.put(other, world.resource(other, "aws:ecr/repository:Repository", "r", f"{other}-r"))
    lost = disk(100, **{"kubernetes.io/cluster/train": "owned"})
    disk(7, **{"kubernetes.io/cluster/another": "owned"})
    results = {(result.stack, result.outcome): result.detail for result in evening.run()}
    assert set(results) == {("dev-aws", "done"), ("ttl-dev-aws", "held back"), ("dev-aws", "left over")}
    assert f"ec2 volume {lost} (8.00 USD per month)" in results["ttl-dev-aws", "held back"]  # 0.08 for each GB
    assert [name for name, _ in evening.shelf.destroyed] == ["dev-aws"]
    left = next(record for record in evening.journal.records if record["kind"] == "left")
    assert left["usd_per_month"] == "8.00"
    client("ec2", REGION).delete_volume(VolumeId=lost)
    assert evening.outcomes(yes=False) == [("ttl-dev-aws", "destroy", "would")]
    assert evening.outcomes() == [("ttl-dev-aws", "destroy", "done")]
    assert evening.outcomes(images=["dev-aws"]) == [("images-dev-aws", "destroy", "done")]
    assert evening.outcomes(images=["dev-aws"]) == []
    assert [name for name, _ in evening.shelf.destroyed] == ["dev-aws", "ttl-dev-aws", "images-dev-aws"]


def test_what_a_destroyed_stack_left_turns_no_run_red_where_its_topic_went_with_it(evening):
    cluster = world.resource("dev-aws", "aws:eks/cluster:Cluster", "cluster", "train", outputs={"name": "train"})
    expired(evening, cluster)
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": {"emails": ["ana@example.com"]}}
    disk(100, **{"kubernetes.io/cluster/train": "owned"})
    results = [(result.action, result.outcome) for result in evening.run()]
    assert ("look", "left over") in results
    assert ("message", "unheard") in results
    assert "failed" not in [outcome for _, outcome in results]


def test_where_nobody_knows_what_is_left_the_end_stays(evening, monkeypatch):
    expired(evening)
    evening.shelf.put("ttl-dev-aws", world.resource("ttl-dev-aws", "aws:ssm/document:Document", "d", "d-1"))

    def refused(*_, **__):
        raise CloudError("tagging", "denied", "GetResources: AccessDenied")

    monkeypatch.setattr(acting, "left_over", refused)
    results = [(result.stack, result.outcome) for result in evening.run()]
    assert results == [("dev-aws", "done"), ("dev-aws", "held back")]
    assert [name for name, _ in evening.shelf.destroyed] == ["dev-aws"]


@pytest.mark.parametrize(("skips", "days", "kept"), [(False, 0, True), (True, 7, True), (True, 0, False)])
def test_a_key_that_encrypts_a_backup_stays(evening, skips, days, kept):
    key = world.resource("dev-aws", "aws:kms/key:Key", "key", "k-1", outputs={"arn": "arn:aws:kms:::key/k-1"})
    inputs = {"kmsKeyId": "arn:aws:kms:::key/k-1", "skipFinalBackup": skips, "automaticBackupRetentionDays": days}
    files = world.resource("dev-aws", "aws:fsx/lustreFileSystem:LustreFileSystem", "data", "fs-1", inputs=inputs)
    expired(evening, key, files)
    deleter = {"AWS_PROFILE": "deletes-dev"}
    evening.settings = {"identities": {world.ACCOUNT: {"deletes": {"dev": deleter}}}}
    assert evening.outcomes(data=["dev-aws"])[0] == ("dev-aws", "destroy", "done")
    assert evening.shelf.writers == ([deleter] if kept else [])  # the identity that reads may not write states
    left = [each["id"] for each in evening.shelf.states["dev-aws"] if each["custom"]]
    assert left == (["k-1"] if kept else [])


def test_a_schedule_that_brings_machines_back_is_said_with_its_price(evening):
    stack(evening)
    component = evening.shelf.states["dev-aws"][1]
    windows = [{"days": "mon-fri", "start": "07:00", "end": "21:00"}, {"days": "sat", "start": "22:00", "end": "02:00"}]
    component["inputs"]["schedule"] = {"timeZone": "Europe/London", "windows": windows}
    (plan,) = evening.plan().stacks
    (note,) = plan.notes
    usd = float(plan.pools[0].saves_usd_per_month) * (5 * 14 + 4) / 168
    assert f"train: its schedule starts machines, 74 hours a week, for {usd:,.2f} USD per month" in note


class Endpoints(Aws):
    """moto's CloudWatch, and endpoints as SageMaker describes them."""

    machines: int | None = None

    def call(self, service: str, region: str, operation: str, **parameters: Any) -> Any:
        if operation != "describe_endpoint":
            return super().call(service, region, operation, **parameters)
        counted = {} if self.machines is None else {"CurrentInstanceCount": self.machines}
        variant = {"VariantName": "all", **counted}
        return {"CreationTime": datetime(2026, 1, 1, tzinfo=UTC), "ProductionVariants": [variant]}


ENDPOINT = {"EndpointName": "sizewell-chat", "VariantName": "all"}
IN_A_COMPONENT = {"InferenceComponentName": "sizewell-chat"}
QUEUED = {"EndpointName": "sizewell-chat"}


@pytest.mark.parametrize(
    ("use", "asked", "machines", "verdict"),
    [
        (0.0, {}, 2, ("warn", "spared")),
        (0.0, {"Invocations": ENDPOINT}, 2, ("keep", "requests_came")),
        (0.0, {"Invocations": IN_A_COMPONENT}, 2, ("keep", "requests_came")),
        (0.0, {"ApproximateBacklogSize": QUEUED}, 2, ("keep", "requests_came")),
        (0.0, {"Invocations": {**ENDPOINT, "EndpointName": "another"}}, 2, ("warn", "spared")),
        (400.0, {}, 2, ("keep", "busy")),  # four GPUs, added up
        (None, {}, 2, ("unknown", "requests_uncounted")),
        (lambda minute: 0.0 if minute % 2 else None, {}, 2, ("unknown", "requests_uncounted")),
        (0.0, {}, 0, ("keep", "nothing_to_take")),
        (0.0, {}, None, ("unknown", "uncounted")),  # serverless: it has no machines
    ],
)
def test_an_endpoint_is_idle_by_its_requests_and_told_of_alone(evening, use, asked, machines, verdict):
    Endpoints.machines = machines
    evening.client = Endpoints(Deadline(3600.0))
    component = world.component("dev-aws", "chat", kind="endpoint", sizedBy=None, measured=None, guard=None)
    parent = component["urn"]
    stated = json.dumps({"InferenceComponentName": "sizewell-chat"})
    inputs = {"typeName": "AWS::SageMaker::InferenceComponent", "desiredState": stated}
    evening.shelf.put(
        "dev-aws",
        component,
        world.resource("dev-aws", "aws:sagemaker/endpoint:Endpoint", "chat", "sizewell-chat", parent=parent),
        world.resource("dev-aws", "aws:cloudcontrol/resource:Resource", "chat", "ic", parent=parent, inputs=inputs),
    )
    cloud = client("cloudwatch", REGION)

    def put(namespace: str, metric: str, names: dict[str, str], values: dict[int, float]) -> None:
        dimensions = [{"Name": name, "Value": said} for name, said in names.items()]
        data = [
            {
                "MetricName": metric,
                "Dimensions": dimensions,
                "Value": value,
                "Timestamp": evening.now - timedelta(minutes=minute),
            }
            for minute, value in values.items()
        ]
        cloud.put_metric_data(Namespace=namespace, MetricData=data)

    levels = {minute: use(minute) if callable(use) else use for minute in range(1, 56)}
    if use is not None:
        seen = {minute: level for minute, level in levels.items() if level is not None}
        put("/aws/sagemaker/Endpoints", "GPUUtilization", ENDPOINT, seen)
    for metric, names in asked.items():
        put("AWS/SageMaker", metric, names, {20: 1.0})
    row = evening.pool()
    assert (row.action, row.clause) == verdict, row.why
    assert row.machines == machines
    assert not [result for result in evening.run() if result.outcome == "done"]  # never stopped here
    assert evening.shelf.destroyed == []


def test_a_notice_of_another_end_is_none(evening):
    stack(evening, expires=str(evening.now.date() - timedelta(days=3)))
    evening.told(f"end {evening.now.date() - timedelta(days=30)} 7 days", minutes=60_000, subject="")
    assert evening.plan().stacks[0].row.action == "warn"
    assert evening.shelf.destroyed == []


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("aws:efs/fileSystem:FileSystem", "data would be destroyed"),
        ("aws:ebs/volume:Volume", "data would be destroyed"),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "data would be destroyed"),
        ("aws:sagemaker/notebookInstance:NotebookInstance", "data would be destroyed"),
        ("kubernetes:core/v1:PersistentVolumeClaim", "data would be destroyed"),
    ],
)
def test_data_is_refused_without_a_word(evening, kind, says):
    """As an older release built it: a file system too goes without a backup, and the refusal says so."""
    expired(evening, world.resource("dev-aws", kind, "files", "fs-1"))
    result, *_ = evening.run(yes=False)
    assert (result.action, result.outcome) == ("destroy", "held back")  # as the run that does it
    result, *pools = evening.run()
    assert (result.action, result.outcome) == ("destroy", "held back")
    assert [(each.action, each.outcome) for each in pools] in ([("notice", "told")], [("empty", "done")])
    assert says in result.detail
    assert "files (no backup is kept)" in result.detail
    assert evening.shelf.destroyed == []
    (result,) = evening.run(data=["dev-aws"])
    assert result.outcome == "done"


def test_a_destroy_that_is_held_back_leaves_no_idle_machine_running(evening):
    """The owner was told of the pool too, and its machines are back with `wake`: its data is another matter."""
    expired(evening, world.resource("dev-aws", "aws:ebs/volume:Volume", "disk", "vol-1"))
    evening.told()
    (plan,) = evening.plan().stacks
    destroy, pool = plan.rows
    assert (destroy.action, pool.action, plan.taken(), plan.taken(["dev-aws"])) == (
        "destroy",
        "empty",
        (pool,),
        (destroy,),
    )
    assert f"saves {pool.saves_usd_per_month:,.2f} USD" in render.headline(evening.plan())  # once
    said: list[str] = []
    outcomes = evening.outcomes(send=lambda _, body: said.append(body["text"]))
    assert outcomes == [("dev-aws", "destroy", "held back"), ("dev-aws", "empty", "done")]
    assert any("sizewell keep dev-aws 7d --reason TEXT, then sizewell wake dev-aws train" in text for text in said)
    assert evening.shelf.destroyed == []
    evening.now += timedelta(minutes=2)  # its own act is nobody's use: the way out works at once
    assert evening.plan().stacks[0].row.action == "destroy"
    assert evening.outcomes(data=["dev-aws"]) == [("dev-aws", "destroy", "done")]


def test_a_stack_whose_destroy_failed_has_its_idle_machines_taken(evening, monkeypatch):
    expired(evening)
    evening.told()

    def fails(*_: object, **__: object) -> str:
        raise ServiceError("BucketNotEmpty")

    monkeypatch.setattr(ShelfBackend, "destroy", fails)
    for _ in range(2):  # what failed once is tried again
        assert evening.outcomes() == [("dev-aws", "destroy", "failed")]
    assert evening.outcomes() == [("dev-aws", "empty", "done")]


def test_a_refusal_says_of_which_data_a_backup_stays(evening):
    kept = {"skipFinalBackup": False}
    expired(
        evening, world.resource("dev-aws", "aws:fsx/lustreFileSystem:LustreFileSystem", "data", "fs-1", inputs=kept)
    )
    (plan,) = evening.plan().stacks
    assert plan.data == ("file system data (fs-1; a final backup is kept)",)
    result, *_ = evening.run()
    assert (result.outcome, evening.shelf.destroyed) == ("held back", [])
    assert (
        "file system data (a final backup is kept); save it, then sizewell teardown run dev-aws --data dev-aws --yes"
        in result.detail
    )


def test_what_to_do_about_a_login_that_was_refused_is_its_own_way_out(evening):
    stack(evening)
    for accounts, says in (((), "pulumi config set --path 'sizewell:accounts[0]'"), (("999999999999",), "log in to 9")):
        row = evening.plan(accounts=accounts).stacks[0].pools[0]
        assert row.action == "unknown"
        assert row.advice.startswith(says)


def test_what_is_built_again_after_its_destroy_is_announced_anew(evening):
    """The notice that led to the destroy is over with it, though the stack has its old end and its old machines."""
    expired(evening)
    parts = list(evening.shelf.states["dev-aws"])
    assert evening.outcomes() == [("dev-aws", "destroy", "done")]
    evening.shelf.put("dev-aws", *parts)
    row = evening.plan().stacks[0].row
    assert (row.action, row.tell) == ("warn", True)


def test_where_no_checkpoint_can_be_read_its_stack_stays_and_is_announced_anew(evening, monkeypatch):
    expired(evening)
    evening.shelf.put("checkpoints-dev-aws", world.bucket("checkpoints-dev-aws", "train", "sizewell-dev-aws-train-1"))
    (result,) = evening.run()
    assert (result.action, result.outcome, evening.shelf.destroyed) == ("notice", "told", [])
    monkeypatch.setattr(saves, "written", lambda _: ((), ()))  # long ago
    row = evening.plan().stacks[0].row
    assert (row.action, row.tell) == ("warn", True)  # the last word to its owner was that it stays


def test_the_newest_checkpoint_is_proved_whole_first(evening, monkeypatch):
    expired(evening)
    bucket = "sizewell-dev-aws-train-1"
    evening.shelf.put("checkpoints-dev-aws", world.bucket("checkpoints-dev-aws", "train", bucket))
    monkeypatch.setattr(saves, "written", lambda _: ((), ()))  # long ago
    (result,) = evening.run()
    assert (result.outcome, evening.shelf.destroyed) == ("failed", [])  # it cannot be read
    client("s3", REGION).create_bucket(Bucket=bucket)
    written = saved(f"s3://{bucket}/run", 7)
    client("s3", REGION).put_object(Bucket=bucket, Key=f"run/{written.parts[0].name}", Body=b"something else")
    (result,) = evening.run()
    assert (result.outcome, evening.shelf.destroyed) == ("held back", [])
    assert "incomplete" in result.detail
    saved(f"s3://{bucket}/run", 8)
    (result,) = evening.run()
    assert result.outcome == "done"
    assert "checkpoints-dev-aws" not in [name for name, _ in evening.shelf.destroyed]


def saved(uri: str, step: int) -> Any:
    """A checkpoint as the jobs write it."""
    part_name = f"parts/{step:012d}-aa/00000-0000.safetensors"
    data = b"tensors of step %d" % step
    place = connect(uri)
    place.put(part_name, data)
    part = Part(part_name, len(data), hashlib.sha256(data).hexdigest(), 8)
    manifest = Manifest(
        name=f"manifests/{step:012d}-aa.json", step=step, attempt="aa", world=1, created="2026-01-01", parts=(part,)
    )
    place.put(manifest.name, manifest.to_json())
    return manifest


def test_a_killed_update_is_no_state_to_destroy_from(evening):
    expired(evening)
    lost = world.resource("dev-aws", "aws:ec2/instance:Instance", "lost", "")
    evening.shelf.pending["dev-aws"] = [{"type": "creating", "resource": lost}]
    result, emptied = evening.run()
    assert (result.action, result.outcome, evening.shelf.destroyed) == ("notice", "told", [])
    assert "sizewell reconcile dev-aws lists them" in result.detail
    assert (emptied.action, emptied.outcome) == ("empty", "done")  # a size is in the cloud alone


def test_an_engine_that_fails_is_said_and_tried_again(evening):
    expired(evening)
    evening.shelf.locked = "dev-aws: another update holds the engine's lock"
    assert evening.outcomes() == [("dev-aws", "destroy", "failed")]
    evening.shelf.locked = ""
    assert evening.outcomes() == [("dev-aws", "destroy", "done")]


def test_an_interrupted_run_is_taken_up(evening, monkeypatch):
    stack(evening)
    evening.told()

    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    monkeypatch.setattr(act, "empty", killed)
    with pytest.raises(Killed):
        evening.run()
    monkeypatch.undo()
    assert [record["kind"] for record in evening.journal.records][-1] == "begin"


def test_only_what_the_given_plan_has_is_done(evening):
    for name in ("dev-aws", "dev-b"):
        stack(evening, name)
        evening.told(stack=name)
    document = json.loads(json.dumps(to_json(evening.plan())))
    chosen = must_be_own(document, project="sizewell", at=evening.now, hours_max=4)
    assert set(chosen) == {("dev-aws", "train"), ("dev-b", "train")}
    evening.settings = {"at_most_percent": 100}
    del chosen["dev-b", "train"]
    results = {(result.stack, result.outcome) for result in evening.runner().run(evening.plan(), chosen)}
    assert results == {("dev-aws", "done")}  # of the other the plan says nothing, and neither does the run


def test_what_the_given_plan_has_and_is_no_longer_there_is_said(evening):
    for name in ("dev-aws", "dev-b"):
        stack(evening, name)
        evening.told(stack=name)
    chosen = must_be_own(to_json(evening.plan()), project="sizewell", at=evening.now, hours_max=4)
    chosen["dev-b", "gone"] = chosen["dev-b", "train"]
    del chosen["dev-b", "train"], evening.shelf.states["dev-aws"]
    results = {(result.stack, result.pool): result for result in evening.runner().run(evening.plan(), chosen)}
    for (stack_, pool), says in (
        (("dev-aws", "train"), "there is no stack dev-aws now"),
        (("dev-b", "gone"), "dev-b has no pool gone now"),
    ):
        found = results[stack_, pool]
        assert (found.action, found.outcome) == ("empty", "held back")
        assert says in found.detail
    assert (
        evening.runner(only=["dev-c"]).run(replace(evening.plan(), stacks=()), chosen) == []
    )  # of others nothing is said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda plan: plan.update(project="other"), "changed after"),
        (lambda plan: plan.update(schema="x"), "is no"),
        (lambda plan: plan["stacks"].clear(), "changed after"),
    ],
)
def test_a_plan_that_was_changed_is_refused(evening, change, says):
    stack(evening)
    document = json.loads(json.dumps(to_json(evening.plan())))
    change(document)
    with pytest.raises(UsageError, match=says):
        must_be_own(document, project="sizewell", at=evening.now, hours_max=4)
    with pytest.raises(UsageError, match=r"^plan\.json: "):
        must_be_own(document, project="sizewell", at=evening.now, hours_max=4, source="plan.json")


def test_an_old_plan_and_one_of_another_project_are_refused(evening):
    stack(evening)
    document = json.loads(json.dumps(to_json(evening.plan())))
    with pytest.raises(UsageError, match="hours old"):
        must_be_own(document, project="sizewell", at=evening.now + timedelta(hours=5), hours_max=4)
    with pytest.raises(UsageError, match="for project sizewell"):
        must_be_own(document, project="other", at=evening.now, hours_max=4)
    with pytest.raises(UsageError, match="future"):
        must_be_own(document, project="sizewell", at=evening.now - timedelta(hours=5), hours_max=4)


def test_a_webhook_that_nobody_answers_is_no_notice(evening):
    stack(evening)
    evening.shelf.configurations["dev-aws"] = {"sizewell:notify": {"webhooks": ["https://hooks.example/secret"]}}
    sent: list[str] = []

    def fails(url: str, body: Any) -> None:
        raise ServiceError("a webhook answered with status 500")

    assert evening.outcomes(send=fails) == [("dev-aws", "notice", "failed")]
    assert evening.outcomes(send=lambda url, body: sent.append(body["text"])) == [("dev-aws", "notice", "told")]
    assert "sizewell keep dev-aws 24h --reason TEXT" in sent[0]
    assert not any("secret" in json.dumps(record) for record in evening.journal.records)


# Waking ---------------------------------------------------------------------------------------------------------------


def test_a_pool_wakes_from_what_an_expiry_does(evening):
    stack(evening)
    scaling = client("autoscaling", REGION)
    name = "sizewell-dev-aws-train"
    scaling.update_auto_scaling_group(AutoScalingGroupName=name, MinSize=0, MaxSize=0, DesiredCapacity=0)
    scaling.suspend_processes(AutoScalingGroupName=name, ScalingProcesses=["Launch"])
    reader = evening.reader()
    looked = reader.all(evening.now)[0]
    unit = looked.pools[0].unit
    act.wake(reader.cloud("aws", "dev-aws"), unit)
    woken = described(name)
    assert (woken["MinSize"], woken["MaxSize"], woken["DesiredCapacity"]) == (0, 2, 1)
    assert woken.get("SuspendedProcesses", []) == []
    scaling.set_desired_capacity(AutoScalingGroupName=name, DesiredCapacity=2)
    act.wake(reader.cloud("aws", "dev-aws"), unit)
    assert described(name)["DesiredCapacity"] == 2  # a wake takes no machine away
    assert datetime.now(UTC) > evening.now - timedelta(minutes=2)


def test_an_update_that_began_after_the_plan_holds_everything_back(evening):
    stack(evening)
    evening.told()
    plan = evening.plan()
    evening.shelf.updating.add("dev-aws")
    (result,) = evening.runner().run(plan)
    assert result.outcome == "held back"
    assert "it is keep: an update of it has been running since" in result.detail
    assert described("sizewell-dev-aws-train")["DesiredCapacity"] == 1


@pytest.mark.parametrize("checks", [0, 1])
def test_a_lock_that_another_runner_took_over_stops_the_act(evening, monkeypatch, checks):
    """Before a pool is emptied it is asked for once, before a stack is destroyed a second time."""
    held = []

    class Lost:
        def must_hold(self, _: datetime) -> None:
            held.append(1)
            if len(held) > checks:
                raise HeldError("another runner holds dev-aws now\n  fix: wait")

        def release(self) -> None:
            held.clear()

    monkeypatch.setattr(Journal, "lock", lambda *_: Lost())
    if checks:
        expired(evening)
    else:
        stack(evening)
        evening.told()
    outcomes = [(result.outcome, result.detail) for result in evening.run()]
    assert ("held back", "another runner holds dev-aws now") in outcomes
    assert not any(record["kind"] in ("begin", "done") for record in evening.journal.records)
    assert evening.shelf.destroyed == []


def test_what_a_destroy_left_unprotected_is_a_failure(evening, monkeypatch):
    """The engine said no fault, and something that it should have destroyed is still in the state."""
    expired(evening)
    monkeypatch.setattr(act, "destroy", lambda *_, **__: "")
    (result,) = [each for each in evening.run() if each.action == "destroy"]
    assert result.outcome == "failed"
    assert "still in its state: 1 resource, such as urn:pulumi:" in result.detail
    assert [record["kind"] for record in evening.journal.records if record["kind"] in ("done", "failed")] == ["failed"]


def test_the_end_of_a_stack_that_a_person_destroyed_stays(evening):
    """No record says where it was, so nobody can ask there what is still billed."""
    expired(evening)
    evening.shelf.put("ttl-dev-aws", world.resource("ttl-dev-aws", "aws:ssm/document:Document", "d", "d-1"))
    evening.shelf.put("dev-aws")
    (result,) = [each for each in evening.run() if each.stack == "ttl-dev-aws"]
    assert result.outcome == "held back"
    assert "there is no record of where dev-aws was deployed" in result.detail
    assert evening.shelf.destroyed == []


def test_a_stack_beside_it_that_holds_data_is_left_to_a_person(evening):
    expired(evening)
    evening.shelf.put("ttl-dev-aws", world.resource("ttl-dev-aws", "aws:efs/fileSystem:FileSystem", "data", "fs-1"))
    results = {result.stack: (result.outcome, result.detail) for result in evening.run()}
    assert results["dev-aws"][0] == "done"
    assert results["ttl-dev-aws"][0] == "held back"
    assert "ttl-dev-aws holds data" in results["ttl-dev-aws"][1]
    assert [name for name, _ in evening.shelf.destroyed] == ["dev-aws"]


def test_a_run_logs_what_it_decides_and_prints_nothing(evening, caplog, capsys):
    expired(evening)
    caplog.set_level("DEBUG", logger="sizewell.teardown")
    assert evening.outcomes() == [("dev-aws", "destroy", "done")]
    assert "1 of 1 stacks have something due; at most 1 in this run" in caplog.text
    assert "dev-aws: locked as number 1 until " in caplog.text
    assert "dev-aws: destroy: done: its state was kept in " in caplog.text
    assert "dev-aws: dev-aws: destroy (expired): it expired on " in caplog.text
    assert capsys.readouterr() == ("", "")
