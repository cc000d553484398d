"""Budgets and the hard end of a stack: what they make, what they refuse, what the end really does."""

import json
import subprocess
import sys
import types

import pytest
from aws_recording import OWNED, PROD, check_right, golden, only, record, refusals
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.aws.limits import plans as limits_plans
from sizewell.components.aws.limits.guards import BudgetAlarms, TtlGuard
from sizewell.components.tags import legal

BUDGET = {
    **OWNED,
    "region": "us-east-1",
    "stack": "dev-aws",
    "monthly_usd": 12000.0,
    "emails": ["ml-platform@example.com"],
}
PROD_BUDGET = {**PROD, "region": "us-east-1", "stack": "prod-aws", "monthly_usd": 90000, "activate_tag": True}
TTL = {
    "environment": "dev",
    "owner": "ml-platform",
    "region": "us-east-1",
    "stack": "dev-aws",
    "ends": "2026-09-22",
}


@pytest.mark.parametrize(
    ("form", "cls", "args", "stack"),
    [
        ("budget-dev", BudgetAlarms, BUDGET, "dev-aws"),
        ("budget-prod", BudgetAlarms, PROD_BUDGET, "prod-aws"),
        ("ttl-dev", TtlGuard, TTL, "staging-aws"),
        (
            "ttl-prod",
            TtlGuard,
            {**PROD, "region": "us-east-1", "stack": "prod-aws", "ends": "2027-06-30"},
            "ttl-prod-aws",
        ),
    ],
)
def test_makes_what_is_written_down(form, cls, args, stack):
    resources = record(lambda: cls("limits", args), stack=stack)
    check_right(resources)
    golden(form, resources)


def test_costs_are_counted_by_the_stack_s_tag():
    resources = record(lambda: BudgetAlarms("limits", BUDGET))
    budget = only(resources, "aws:budgets/budget:Budget").inputs
    assert budget["costFilters"] == [{"name": "TagKeyValue", "values": ["user:sizewell-stack$dev-aws"]}]
    told = {(one["notificationType"], one["threshold"]) for one in budget["notifications"]}
    assert told == {("ACTUAL", 50.0), ("ACTUAL", 80.0), ("ACTUAL", 100.0), ("FORECASTED", 100.0)}
    monitor = only(resources, "aws:costexplorer/anomalyMonitor:AnomalyMonitor").inputs
    assert json.loads(monitor["monitorSpecification"])["Tags"]["Values"] == ["dev-aws"]


def test_the_end_comes_at_the_date_and_every_hour_after_it():
    schedule = only(record(lambda: TtlGuard("limits", TTL), "staging-aws"), "aws:scheduler/schedule:Schedule").inputs
    assert schedule["startDate"] == "2026-09-22T00:00:00Z"
    assert schedule["scheduleExpression"] == "rate(1 hours)"
    assert "endDate" not in schedule
    assert schedule["target"]["arn"].endswith("aws-sdk:ssm:startAutomationExecution")


@pytest.mark.parametrize(
    ("cls", "args", "change", "path", "sentence"),
    [
        (BudgetAlarms, BUDGET, {"monthly_usd": 0}, "monthly_usd", "must be over 0, got 0"),
        (BudgetAlarms, BUDGET, {"anomaly_usd": -1}, "anomaly_usd", "must be over 0, got -1"),
        (BudgetAlarms, BUDGET, {"emails": ["nobody"]}, "emails[0]", "must be an e-mail address, got 'nobody'"),
        (BudgetAlarms, BUDGET, {"emails": ["a@b.cc"] * 11}, "emails", "are 11; AWS Budgets takes 10"),
        (BudgetAlarms, BUDGET, {"stack": ""}, "stack", "is empty"),
        (TtlGuard, TTL, {"ends": "tomorrow"}, "ends", "must be an ISO date (2026-12-31), got 'tomorrow'"),
        (TtlGuard, TTL, {"expires": "2026-09-22"}, "expires", "the guard outlives what it ends"),
        (TtlGuard, TTL, {"region": "us-east"}, "region", "must be an AWS region"),
        (TtlGuard, TTL, {"ttl": "21d"}, "ttl", "is no argument"),
    ],
)
def test_refuses(cls, args, change, path, sentence):
    found = {(fault[0], fault[1]) for fault in _refused_in("ttl-dev-aws", cls, {**args, **change})}
    assert any(at == path and sentence in text for at, text in found), found


def test_a_guard_never_stands_in_the_stack_that_it_ends():
    found = _refused_in("dev-aws", TtlGuard, TTL)
    assert any(at == "stack" and "must be another stack than the guard's own (dev-aws)" in text for at, text in found)


def _refused_in(stack, cls, args):
    import pulumi

    found = set()
    original = pulumi.get_stack
    pulumi.get_stack = lambda: stack
    try:
        found = refusals(cls, args)
    finally:
        pulumi.get_stack = original
    return found


@given(st.text(min_size=1, max_size=80))
def test_the_hand_reaches_only_what_has_the_stack_s_tag_and_never_data(stack):
    statements = json.loads(limits_plans.end_policy(region="us-east-1", stack=stack))["Statement"]
    by_name = {one["Sid"]: one for one in statements}
    assert by_name["ToZero"]["Condition"] == {"StringEquals": {"aws:ResourceTag/sizewell-stack": legal(stack)}}
    assert {"s3:DeleteObject*", "kms:ScheduleKeyDeletion", "iam:*"} <= set(by_name["NeverData"]["Action"])
    allowed = {action for one in statements if one["Effect"] == "Allow" for action in one["Action"]}
    assert not {action for action in allowed if action.startswith(("s3:", "kms:", "iam:", "fsx:"))}


class Cloud:
    """boto3 as far as the automation calls it: answers by name, and keeps what was asked."""

    def __init__(self, answers, failing=()):
        self.answers, self.failing, self.calls = answers, failing, []

    def client(self, service):
        cloud = self

        class Client:
            def get_paginator(self, operation):
                return types.SimpleNamespace(paginate=lambda **inputs: cloud.answers[service, operation])

            def __getattr__(self, operation):
                def call(**inputs):
                    if operation in cloud.failing:
                        raise RuntimeError("Throttling")
                    if not operation.startswith("describe"):
                        cloud.calls.append((service, operation, inputs))
                    answer = cloud.answers.get((service, operation), {})
                    return answer(**inputs) if callable(answer) else answer

                return call

        return Client()


ARN = "arn:aws:{}:us-east-1:123456789012:{}"


def run_end(cloud, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", cloud)
    space = {}
    exec(compile(limits_plans.END_SCRIPT, "end", "exec"), space)  # noqa: S102  (our own text)
    return space["end"]({"Stack": "dev-aws"}, None)


@pytest.fixture
def answers():
    group = {"AutoScalingGroupName": "chat", "AutoScalingGroupARN": "arn:chat", "MinSize": 1, "DesiredCapacity": 2}
    asleep = {**group, "AutoScalingGroupName": "tune", "MinSize": 0, "DesiredCapacity": 0}
    ended = {**asleep, "AutoScalingGroupName": "lab", "SuspendedProcesses": [{"ProcessName": "Launch"}]}
    held = [
        ARN.format("ec2", "fleet/fleet-1"),
        ARN.format("eks", "nodegroup/cluster/pool/uuid"),
        ARN.format("sagemaker", "endpoint/chat"),
        ARN.format("sagemaker", "cluster/abcdef123456"),
        ARN.format("sagemaker", "notebook-instance/nb"),
        ARN.format("sagemaker", "training-job/old"),
        ARN.format("ec2", "instance/i-1"),
        ARN.format("ec2", "instance/i-2"),
        ARN.format("ec2", "volume/vol-1"),
        ARN.format("fsx", "file-system/fs-1"),
        ARN.format("kms", "key/1"),
        "arn:aws:s3:::store",
    ]
    states = {"i-1": "running", "i-2": "terminated"}
    return {
        ("autoscaling", "describe_auto_scaling_groups"): [{"AutoScalingGroups": [group, asleep, ended]}],
        ("resourcegroupstaggingapi", "get_resources"): [
            {"ResourceTagMappingList": [{"ResourceARN": arn} for arn in held]}
        ],
        ("eks", "describe_nodegroup"): {"nodegroup": {"scalingConfig": {"minSize": 0, "desiredSize": 3, "maxSize": 4}}},
        ("sagemaker", "describe_cluster"): {"ClusterStatus": "InService"},
        ("sagemaker", "describe_notebook_instance"): {"NotebookInstanceStatus": "InService"},
        ("sagemaker", "describe_training_job"): {"TrainingJobStatus": "Completed"},
        ("ec2", "describe_instances"): lambda InstanceIds: {  # noqa: N803
            "Reservations": [{"Instances": [{"State": {"Name": states[InstanceIds[0]]}}]}]
        },
    }


def test_the_end_takes_machines_to_zero_and_keeps_data(answers, monkeypatch):
    cloud = Cloud(answers)
    report = run_end(cloud, monkeypatch)
    assert {(service, operation) for service, operation, _ in cloud.calls} == {
        ("autoscaling", "suspend_processes"),
        ("autoscaling", "update_auto_scaling_group"),
        ("ec2", "modify_fleet"),
        ("ec2", "terminate_instances"),
        ("eks", "update_nodegroup_config"),
        ("sagemaker", "delete_cluster"),
        ("sagemaker", "delete_endpoint"),
        ("sagemaker", "stop_notebook_instance"),
    }
    asked = {operation: inputs for _, operation, inputs in cloud.calls}
    emptied = [inputs for _, operation, inputs in cloud.calls if operation == "update_auto_scaling_group"]
    assert emptied == [  # also the one that is asleep: an autoscaler would wake it
        {"AutoScalingGroupName": name, "MinSize": 0, "DesiredCapacity": 0} for name in ("chat", "tune")
    ]
    assert asked["terminate_instances"] == {"InstanceIds": ["i-1"]}
    assert asked["update_nodegroup_config"]["scalingConfig"] == {"minSize": 0, "desiredSize": 0, "maxSize": 4}
    assert {arn.split(":")[2] for arn in report["kept"]} == {"ec2", "fsx", "s3"}


def test_one_failure_stops_no_other_and_is_told(answers, monkeypatch):
    cloud = Cloud(answers, failing=("modify_fleet",))
    with pytest.raises(RuntimeError, match="fleet-1: Throttling"):
        run_end(cloud, monkeypatch)
    assert ("sagemaker", "delete_endpoint") in {(service, operation) for service, operation, _ in cloud.calls}


def test_tags_of_what_is_gone_stop_nothing_and_are_no_failure(answers, monkeypatch):
    """Tags outlive their resources by days: the machines behind them in the list end all the same."""

    def gone(**_):
        raise RuntimeError("ResourceNotFoundException: No node group found")

    def denied(**_):
        raise RuntimeError("AccessDeniedException")

    report = run_end(Cloud({**answers, ("eks", "describe_nodegroup"): gone}), monkeypatch)
    assert report["failed"] == []
    assert ARN.format("ec2", "instance/i-1") in report["ended"]
    cloud = Cloud({**answers, ("eks", "describe_nodegroup"): denied})
    with pytest.raises(RuntimeError, match="nodegroup/cluster/pool/uuid: AccessDenied"):
        run_end(cloud, monkeypatch)
    assert "terminate_instances" in {operation for _, operation, _ in cloud.calls}


def test_the_end_calls_only_what_its_policy_allows():
    statements = json.loads(limits_plans.end_policy(region="us-east-1", stack="dev-aws"))["Statement"]
    allowed = {action for one in statements if one["Effect"] == "Allow" for action in one["Action"]}
    for service, operations in {
        "autoscaling": ["suspend_processes", "update_auto_scaling_group"],
        "ec2": ["modify_fleet", "terminate_instances", "describe_instances"],
        "eks": ["update_nodegroup_config", "describe_nodegroup"],
        "sagemaker": [
            "delete_cluster",
            "delete_endpoint",
            "describe_cluster",
            "stop_notebook_instance",
            "stop_training_job",
            "describe_notebook_instance",
            "describe_training_job",
        ],
    }.items():
        for operation in operations:
            assert operation in limits_plans.END_SCRIPT
            assert f"{service}:{''.join(part.title() for part in operation.split('_'))}" in allowed


def test_the_script_is_python_that_the_automation_has():
    done = subprocess.run(
        [sys.executable, "-c", "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 11))"],
        input=limits_plans.END_SCRIPT,
        text=True,
        check=False,
    )
    assert done.returncode == 0
