"""Hours of pools that run by a schedule of the plan's own: cron, windows, recurring profiles, and what cannot be read."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.resources import UNKNOWN, Plan, RecordedResource, facts, price
from sizewell.resources.readers.guards import stopped_instance
from sizewell.resources.schedules import Event, Schedule, Window, weekly
from sizewell.resources.sizes import Size
from sizewell.sizing.catalog import load
from sizewell.sizing.money import Interval

OFFICE = Decimal(70) * 52 / 12  # Mon-Fri, 07:00 to 21:00
ASG, MIG, VMSS = (
    "aws:autoscaling/group:Group",
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "azure-native:compute:VirtualMachineScaleSet",
)


def make(kind: str, name: str, inputs: dict[str, Any], **depends: RecordedResource) -> RecordedResource:
    refs = {key: (other.urn,) for key, other in depends.items()}
    return RecordedResource(
        urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs=inputs, property_dependencies=refs
    )


TEMPLATE = make("aws:ec2/launchTemplate:LaunchTemplate", "lt", {"instanceType": "g6.xlarge"})


def machine_hours(*resources: RecordedResource) -> tuple[Interval, str]:
    config = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}
    plan = Plan(project="t", stack="dev", resources=(TEMPLATE, *resources), config=config)
    items = price(plan, load(), on=date(2026, 11, 21)).items
    line = next(line for line in items if line.unit == "machine-hour")
    return line.quantity, line.confidence


def group(**sizes: int) -> RecordedResource:
    inputs = {"minSize": 0, "maxSize": 4, "desiredCapacity": 0, **sizes, "launchTemplate": {"id": UNKNOWN}}
    return make(ASG, "g", inputs, launchTemplate=TEMPLATE)


def action(of: RecordedResource, name: str, **inputs: Any) -> RecordedResource:
    kind = "aws:autoscaling/schedule:Schedule"
    stated = {"autoscalingGroupName": UNKNOWN, "scheduledActionName": name, **inputs}
    return make(kind, name, stated, autoscalingGroupName=of)


def office(of: RecordedResource, size: int = 2, **more: Any) -> tuple[RecordedResource, ...]:
    return (
        action(of, "on", recurrence="0 7 * * MON-FRI", minSize=size, maxSize=4, desiredCapacity=size, **more),
        action(of, "off", recurrence="0 21 * * 1-5", minSize=0, maxSize=4, desiredCapacity=0, **more),
    )


def test_an_auto_scaling_group_bills_the_hours_of_its_scheduled_actions() -> None:
    pool = group()
    hours, weak = machine_hours(pool, *office(pool))
    both = (2 * OFFICE).quantize(Decimal("0.0001"))
    assert hours == Interval(both, both, Decimal(4 * 730))
    assert weak == ""


def test_an_action_below_the_groups_minimum_stops_nothing() -> None:
    """AWS sets no size below the minimum: what asks for one is neither a guard nor a saving."""
    of = group(minSize=1, desiredCapacity=2)
    whole = machine_hours(of)[0]
    night = {"recurrence": "0 20 * * *", "desiredCapacity": 0}
    assert machine_hours(of, action(of, "night", **night))[0] == whole
    assert machine_hours(of, action(of, "night", minSize=1, **night))[0] == whole
    assert machine_hours(of, action(of, "night", minSize=0, **night))[0].expected < whole.expected
    (pool,) = facts(stack(of, action(of, "night", **night)), load()).pools
    assert pool.scheduled is False
    (pool,) = facts(stack(of, action(of, "night", minSize=0, **night)), load()).pools
    assert pool.scheduled is True


def test_what_runs_between_the_actions_bills_the_whole_month() -> None:
    pool = group(minSize=1, desiredCapacity=1)
    on = action(pool, "on", recurrence="0 7 * * MON-FRI", minSize=-1, desiredCapacity=3)
    off = action(pool, "off", recurrence="0 21 * * MON-FRI", desiredCapacity=1)
    hours, _ = machine_hours(pool, on, off)
    assert hours == Interval(Decimal(730), (730 + 2 * OFFICE).quantize(Decimal("0.0001")), Decimal(4 * 730))


@pytest.mark.parametrize(
    "wrong",
    [
        {"recurrence": UNKNOWN},
        {"recurrence": "0 7 1 * *"},
        {"recurrence": None, "startTime": "2026-12-01T00:00:00Z"},
        {"timeZone": "Europe/London"},  # the other one has none
    ],
)
def test_a_schedule_that_is_not_understood_may_switch_all_off(wrong: dict[str, Any]) -> None:
    pool = group(minSize=1, desiredCapacity=2)
    on, off = office(pool, size=3)
    broken = make(on.type, on.name, {**on.inputs, "maxSize": 6, **wrong}, autoscalingGroupName=pool)
    hours, weak = machine_hours(pool, broken, off)
    assert hours == Interval(Decimal(0), Decimal(2 * 730), Decimal(6 * 730))
    assert weak.startswith("not in the hours: ")


def pool_of(*resources: RecordedResource) -> tuple[object, object, object]:
    """What rules see of the pool: its smallest size, its wanted one, whether a schedule stops it."""
    plan = Plan(project="t", stack="dev", resources=(TEMPLATE, *resources), config={"aws:region": "us-east-1"})
    (pool,) = facts(plan, load(), on=date(2026, 11, 21)).pools
    return pool.nodes_min, pool.nodes_wanted, pool.scheduled


def test_a_schedule_that_only_starts_machines_leaves_none_at_zero() -> None:
    pool = group()
    assert pool_of(pool, *office(pool)) == (0, 0, True)
    assert pool_of(pool, office(pool)[0]) == (2, 2, False)
    evening = action(pool, "less", recurrence="0 21 * * MON-FRI", desiredCapacity=1, minSize=0)
    assert pool_of(pool, office(pool)[0], evening) == (0, 1, False)
    assert pool_of(pool, action(pool, "on", recurrence="0 7 1 * *", desiredCapacity=3)) == (0, 0, False)


@pytest.mark.parametrize(("seconds", "least"), [(86_400, 2), (36_000, 0)])
def test_windows_of_an_autoscaler_that_never_end_are_a_size(seconds: int, least: int) -> None:
    pool = make(MIG, "g", {"targetSize": 0, "versions": [{"instanceTemplate": UNKNOWN}]})
    window = {"name": "up", "minRequiredReplicas": 2, "schedule": "0 0 * * *", "durationSec": seconds}
    policy = {"minReplicas": 0, "maxReplicas": 4, "scalingSchedules": [window]}
    scaler = make(
        "gcp:compute/autoscaler:Autoscaler", "a", {"target": UNKNOWN, "autoscalingPolicy": policy}, target=pool
    )
    plan = Plan(project="t", stack="dev", resources=(pool, scaler), config={"gcp:region": "us-central1"})
    (seen,) = facts(plan, load(), on=date(2026, 11, 21)).pools
    assert seen.nodes_min == least


@pytest.mark.parametrize(
    ("schedules", "stops"),
    [
        ([{"action": "Start", "cron": {"expression": "0 7 * * *"}}], False),
        ([{"action": "Stop", "cron": {"expression": "0 19 * * *"}}], True),
        ([{"action": "Stop", "cron": {"expression": "0 19 * * *"}, "status": "Disabled"}], False),
        ([{"action": "Stop", "cron": {"expression": "0 19 1 1 *"}}], False),
        ([{"action": "Stop", "recurrence": {"frequency": "Day", "interval": 1}}], True),
        ([{"action": UNKNOWN, "cron": {"expression": "0 19 * * *"}}], UNKNOWN),
        (None, False),
    ],
)
def test_a_compute_instance_is_stopped_by_what_stops_it(schedules: object, stops: object) -> None:
    assert stopped_instance({"schedules": {"computeStartStop": schedules}}) is stops


def test_a_size_that_no_schedule_states_yet_has_no_bound() -> None:
    pool = group()
    assert Schedule(unread="x", most=UNKNOWN).hours(Size(least=0, wanted=0, most=4)) is None
    hours, weak = machine_hours(pool, *office(pool)[1:], action(pool, "on", recurrence=UNKNOWN, desiredCapacity=9))
    assert (hours.floor, weak != "") == (0, True)


def test_a_managed_instance_group_runs_in_its_autoscalers_windows() -> None:
    template = make("gcp:compute/instanceTemplate:InstanceTemplate", "t", {"machineType": "g2-standard-4"})
    versions = [{"instanceTemplate": UNKNOWN}]
    pool = make(MIG, "g", {"zone": "us-central1-a", "versions": versions}, versions=template)
    window = {"name": "day", "minRequiredReplicas": 2, "schedule": "0 7 * * MON-FRI", "durationSec": 14 * 3600}
    policy = {"minReplicas": 0, "maxReplicas": 3, "scalingSchedules": [window, {**window, "disabled": True}]}
    scaler = make(
        "gcp:compute/autoscaler:Autoscaler", "a", {"target": UNKNOWN, "autoscalingPolicy": policy}, target=pool
    )
    hours, _ = machine_hours(template, pool, scaler)
    both = (2 * OFFICE).quantize(Decimal("0.0001"))
    assert hours == Interval(both, both, Decimal(3 * 730))


def test_an_instance_stops_and_starts_by_its_policy() -> None:
    on, off = {"schedule": "0 7 * * 1-5"}, {"schedule": "0 21 * * 1-5"}
    schedule = {"vmStartSchedule": on, "vmStopSchedule": off, "timeZone": "Europe/London"}
    policy = make("gcp:compute/resourcePolicy:ResourcePolicy", "p", {"instanceSchedulePolicy": schedule})
    inputs = {"machineType": "g2-standard-4", "zone": "us-central1-a", "resourcePolicies": UNKNOWN}
    vm = make("gcp:compute/instance:Instance", "vm", inputs, resourcePolicies=policy)
    hours, _ = machine_hours(policy, vm)
    day = OFFICE.quantize(Decimal("0.0001"))
    assert hours == Interval(day, day, Decimal(730))


def test_a_scale_set_follows_the_recurring_profiles() -> None:
    pool = make(VMSS, "g", {"location": "eastus", "sku": {"name": "Standard_NC24ads_A100_v4", "capacity": 0}})

    def profile(name: str, hour: int | None, size: int) -> dict[str, Any]:
        days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
        when = {"days": days, "hours": [hour], "minutes": [0], "timeZone": "GMT Standard Time"}
        capacity = {"minimum": str(size), "default": str(size), "maximum": "4"}
        recurrence = {} if hour is None else {"recurrence": {"frequency": "Week", "schedule": when}}
        return {"name": name, "capacity": capacity, **recurrence}

    profiles = [profile("always", None, 0), profile("day", 7, 2), profile("night", 21, 0)]
    setting = make(
        "azure-native:monitor:AutoscaleSetting", "a",
        {"location": "eastus", "targetResourceUri": UNKNOWN, "profiles": profiles}, targetResourceUri=pool,
    )  # fmt: skip
    both = (2 * OFFICE).quantize(Decimal("0.0001"))
    assert machine_hours(pool, setting)[0] == Interval(both, both, Decimal(4 * 730))
    off = replace(setting, inputs={**setting.inputs, "enabled": False})
    assert machine_hours(pool, off)[0] == machine_hours(pool)[0], "one that is switched off moves nothing"


def test_an_endpoint_follows_application_auto_scaling() -> None:
    kind = "aws:appautoscaling/scheduledAction:ScheduledAction"
    variants = [{"variantName": "a", "instanceType": "ml.g5.xlarge", "initialInstanceCount": 1}]
    config = make("aws:sagemaker/endpointConfiguration:EndpointConfiguration", "c", {"productionVariants": variants})
    endpoint = make(
        "aws:sagemaker/endpoint:Endpoint", "e", {"name": "chat", "endpointConfigName": UNKNOWN}, endpointConfigName=config
    )  # fmt: skip

    def at(name: str, when: str, size: int) -> RecordedResource:
        sizes = {"minCapacity": size, "maxCapacity": max(size, 1)}
        stated = {"serviceNamespace": "sagemaker", "resourceId": "endpoint/chat/variant/a", "schedule": when}
        return make(kind, name, {**stated, "scalableTargetAction": sizes})

    day = at("on", "cron(0 7 ? * MON-FRI *)", 3), at("off", "cron(0 21 ? * 2-6 *)", 1)
    hours, _ = machine_hours(config, endpoint, *day)
    assert hours == Interval(*[(730 + 2 * OFFICE).quantize(Decimal("0.0001"))] * 2, Decimal(3 * 730))


@pytest.mark.parametrize(
    ("expression", "first", "times"),
    [
        ("0 7 * * MON-FRI", 420, 5),
        ("0 0 * * 0", 6 * 1440, 1),
        ("0 0 * * 7", 6 * 1440, 1),
        ("30 */6 * * SAT,SUN", 5 * 1440 + 30, 8),
        ("15 22 * * FRI-MON", 1335, 4),
        ("cron(0 7 ? * 2 *)", 420, 1),  # AWS counts Sunday as 1
        ("0 8/4 * * 1", 480, 4),
    ],
)
def test_cron(expression: str, first: int, times: int) -> None:
    found = weekly(expression)
    assert found is not None
    assert (found[0], len(found)) == (first, times)


@pytest.mark.parametrize("expression", ["", "at(2026-12-01T00:00:00)", "rate(5 minutes)", "0 7 1 * *", "0 7 * 6 *", "0 25 * * *", "x x * * *", "0 7 * * 1#2", "*/0 * * * *"])  # fmt: skip
def test_what_does_not_go_by_the_week_is_not_read(expression: str) -> None:
    assert weekly(expression) is None


SIZE = st.integers(0, 5)
EVENT = st.builds(Event, st.integers(0, 10_079), st.none() | SIZE, st.none() | SIZE, st.none() | SIZE)
WINDOW = st.builds(Window, st.integers(0, 10_079), st.integers(0, 20_000), SIZE)


@given(st.lists(EVENT, max_size=4), st.lists(WINDOW, max_size=2), SIZE, SIZE, SIZE)
def test_floor_expected_ceiling(events: list[Event], windows: list[Window], least: int, wanted: int, most: int) -> None:
    schedule = Schedule(events=tuple(events), windows=tuple(windows))
    found = schedule.hours(Size(least=least, wanted=wanted, most=max(least, most)))
    assert found is not None
    hours = found[0]  # the order of its bounds is checked as it is built
    reached = [least, wanted, most, *(e.least or 0 for e in events), *(e.most or 0 for e in events)]
    assert hours.ceiling <= 730 * max([*reached, *(w.least for w in windows)])
    assert hours.floor >= 0


OVER = {"startTime": "2025-01-01T20:00:00Z", "endTime": "2025-02-01T20:00:00Z"}


@pytest.mark.parametrize(
    ("times", "counts"),
    [
        ({}, True),
        (OVER, False),
        ({"endTime": "2026-11-25T00:00:00Z"}, False),
        ({"startTime": "2031-01-01T00:00:00Z"}, False),
        ({"endTime": UNKNOWN}, UNKNOWN),
        ({"endTime": "2028-01-01T00:00:00Z"}, True),
    ],
)
def test_a_schedule_that_is_over_or_years_away_stops_nothing_and_saves_nothing(
    times: dict[str, object], counts: object
) -> None:
    pool = group(minSize=2, desiredCapacity=2)
    off = action(pool, "off", recurrence="0 20 * * *", minSize=0, maxSize=0, desiredCapacity=0, **times)
    (seen,) = facts(stack(TEMPLATE, pool, off), load(), on=date(2026, 11, 21)).pools
    assert seen.scheduled is counts
    hours, _ = machine_hours(pool, off)
    assert (hours.expected == 2 * 730) is (counts is not True)


@pytest.mark.parametrize(("day", "counts"), [("2025-01-01", False), ("2026-12-01", True), ("2027-06-01", False)])
def test_a_single_stop_counts_where_it_comes_within_a_month(day: str, counts: bool) -> None:
    pool = group(minSize=2, desiredCapacity=2)
    off = action(pool, "off", startTime=f"{day}T20:00:00Z", minSize=0, maxSize=0, desiredCapacity=0)
    assert facts(stack(TEMPLATE, pool, off), load(), on=date(2026, 11, 21)).pools[0].scheduled is counts


@pytest.mark.parametrize(("until", "counts"), [(None, True), ("2025-06-01T00:00:00Z", False)])
def test_an_instance_schedule_that_is_over_stops_nothing(until: str | None, counts: bool) -> None:
    hours = {"vmStartSchedule": {"schedule": "0 7 * * 1-5"}, "vmStopSchedule": {"schedule": "0 21 * * 1-5"}}
    stated = {**hours, "timeZone": "UTC", **({} if until is None else {"expirationTime": until})}
    policy = make("gcp:compute/resourcePolicy:ResourcePolicy", "p", {"instanceSchedulePolicy": stated})
    inputs = {"machineType": "g2-standard-4", "zone": "us-central1-a", "resourcePolicies": UNKNOWN}
    vm = make("gcp:compute/instance:Instance", "vm", inputs, resourcePolicies=policy)
    assert facts(stack(policy, vm), load(), on=date(2026, 11, 21)).pools[0].scheduled is counts
    assert (machine_hours(policy, vm)[0].expected == 730) is not counts


@pytest.mark.parametrize(
    "kind",
    ["azure-native:devtestlab:GlobalSchedule", "azure:devtest/globalVMShutdownSchedule:GlobalVMShutdownSchedule"],
)
def test_the_shutdown_of_an_azure_machine_costs_nothing(kind: str) -> None:
    priced = price(stack(make(kind, "off", {"location": "eastus"})), load(), on=date(2026, 11, 21))
    assert not priced.items


def stack(*resources: RecordedResource) -> Plan:
    return Plan(project="t", stack="prod", resources=resources)


EC2 = make("aws:ec2/instance:Instance", "box", {"instanceType": "g6.xlarge", "ami": "ami-1"})
NOTEBOOK = make("aws:sagemaker/notebookInstance:NotebookInstance", "nb", {"instanceType": "ml.g5.xlarge"})
GCE = make(
    "gcp:compute/instance:Instance", "box", {"name": "box", "machineType": "g2-standard-8", "zone": "us-central1-a"}
)
AZURE_VM = make(
    "azure-native:compute:VirtualMachine", "box", {"hardwareProfile": {"vmSize": "Standard_NC24ads_A100_v4"}}
)
FULL = Decimal(730)


def schedule(of: RecordedResource, name: str, when: str, call: str, **more: Any) -> RecordedResource:
    target = {"arn": f"arn:aws:scheduler:::aws-sdk:{call}", "input": UNKNOWN, **more.pop("target", {})}
    return make(
        "aws:scheduler/schedule:Schedule", name, {"scheduleExpression": when, "target": target, **more}, target=of
    )


def event(of: RecordedResource, name: str, when: str, document: str) -> tuple[RecordedResource, ...]:
    rule = make("aws:cloudwatch/eventRule:EventRule", name, {"scheduleExpression": when})
    arn = f"arn:aws:ssm:us-east-1::automation-definition/{document}:$DEFAULT"
    inputs = {"rule": UNKNOWN, "arn": arn, "input": UNKNOWN}
    return rule, make("aws:cloudwatch/eventTarget:EventTarget", name, inputs, rule=rule, input=of)


def job(name: str, when: str, ending: str) -> RecordedResource:
    uri = f"https://compute.googleapis.com/compute/v1/projects/p/zones/us-central1-a/{ending}"
    return make("gcp:cloudscheduler/job:Job", name, {"schedule": when, "httpTarget": {"uri": uri}})


EVENING, MORNING = "cron(0 21 ? * MON-FRI *)", "cron(0 7 ? * MON-FRI *)"


@pytest.mark.parametrize(
    "resources",
    [
        (EC2, schedule(EC2, "off", EVENING, "ec2:stopInstances"), schedule(EC2, "on", MORNING, "ec2:startInstances")),
        (EC2, *event(EC2, "off", EVENING, "AWS-StopEC2Instance"), *event(EC2, "on", MORNING, "AWS-StartEC2Instance")),
        (
            NOTEBOOK,
            schedule(NOTEBOOK, "off", EVENING, "sagemaker:stopNotebookInstance"),
            schedule(NOTEBOOK, "on", MORNING, "sagemaker:startNotebookInstance"),
        ),
        (GCE, job("off", "0 21 * * 1-5", "instances/box/stop"), job("on", "0 7 * * 1-5", "instances/box/start")),
    ],
)
def test_what_policies_take_for_a_stop_by_the_clock_counts_in_the_hours(
    resources: tuple[RecordedResource, ...],
) -> None:
    hours, confidence = machine_hours(*resources)
    assert hours.expected.quantize(Decimal("0.01")) == OFFICE.quantize(Decimal("0.01")), confidence
    assert hours.floor <= hours.expected < hours.ceiling == FULL


def test_a_call_of_eventbridge_resizes_a_group() -> None:
    of = group(minSize=0, desiredCapacity=1)
    sizes = [
        schedule(
            of, name, when, "autoscaling:updateAutoScalingGroup", target={"input": f'{{"DesiredCapacity": {size}}}'}
        )
        for name, when, size in (("off", EVENING, 0), ("on", MORNING, 2))
    ]
    assert machine_hours(of, *sizes)[0].expected == (2 * OFFICE).quantize(Decimal("0.0001"))


@pytest.mark.parametrize(
    "resources",
    [
        (EC2, schedule(EC2, "off", EVENING, "ec2:stopInstances")),
        (EC2, *event(EC2, "off", EVENING, "AWS-StopEC2Instance")),
        (EC2, make("aws:ssm/association:Association", "off", {
            "name": "AWS-StopEC2Instance", "scheduleExpression": EVENING, "parameters": UNKNOWN}, parameters=EC2)),
        (AZURE_VM, make("azure-native:devtestlab:GlobalSchedule", "off", {
            "status": "Enabled", "taskType": "ComputeVmShutdownTask", "dailyRecurrence": {"time": "1900"},
            "targetResourceId": UNKNOWN}, targetResourceId=AZURE_VM)),
    ],
)  # fmt: skip
def test_a_machine_that_is_only_stopped_has_no_floor(resources: tuple[RecordedResource, ...]) -> None:
    hours, confidence = machine_hours(*resources)
    assert (hours.floor, hours.expected, hours.ceiling) == (0, FULL, FULL)
    assert "when it starts again is not stated" in confidence


@pytest.mark.parametrize(
    "more", [{"state": "DISABLED"}, {"endDate": "2025-01-01T00:00:00Z"}, {"scheduleExpression": "cron(0 21 1 * ? *)"}]
)
def test_a_schedule_that_does_not_go_on_stops_nothing(more: dict[str, Any]) -> None:
    hours, _ = machine_hours(EC2, schedule(EC2, "off", EVENING, "ec2:stopInstances", **more))
    assert hours.expected == FULL
