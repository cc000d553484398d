"""Expiries and idle stops on AWS, played through: what they end, what they leave, with which rights, and what then."""

import json

import pytest
from aws_policies import rights
from aws_standin import PROJECT, Account, DeniedError, arn, run, tags

from sizewell.components.aws.eks import scaling
from sizewell.components.aws.fleets import plans as fleet_plans
from sizewell.components.aws.limits import plans as limits_plans

STACK, OTHER = "dev-aws", "prod-aws"
POLICY = json.loads(limits_plans.end_policy(region="us-east-1", project=PROJECT, stack=STACK))


def stand(account, stack, *, tag=None):
    """One of everything that bills, as a stack's; `tag` "" leaves the tag out."""
    tag = stack if tag is None else tag
    sizes = {"least": 1, "size": 2, "most": 4}
    group = f"autoScalingGroup:uuid:autoScalingGroupName/{stack}-group"
    cluster = f"sizewell-{stack}-cluster"
    entry = account.add("eks", f"access-entry/{cluster}/role/123456789012/hyperpod/uuid")
    account.add("autoscaling", group, tag, suspended=[], **sizes)
    account.add("ec2", f"fleet/fleet-{stack}", tag, size=3)
    account.add("ec2", f"instance/i-{stack}", tag, status="running")
    account.add("ec2", f"volume/vol-{stack}", tag)
    account.add("eks", f"nodegroup/{cluster}/gpu/uuid", tag, **sizes)
    account.add("sagemaker", f"cluster/{stack}", tag, status="InService", entry=entry)
    account.add("sagemaker", f"endpoint/{stack}-chat", tag)
    account.add("sagemaker", f"endpoint/{stack}-zero", tag)
    account.add("sagemaker", f"inference-component/{stack}-zero", tag, status="InService", endpoint=f"{stack}-zero")
    for number, (of, what) in enumerate(
        (
            (f"endpoint/{stack}-chat/variant/all", "sagemaker:variant:DesiredInstanceCount"),
            (f"inference-component/{stack}-zero", "sagemaker:inference-component:DesiredCopyCount"),
        )
    ):
        account.add("application-autoscaling", f"scalable-target/{stack}{number}", tag, of=of, dim=what)
    account.add("sagemaker", f"notebook-instance/{stack}-lab", tag, status="InService")
    account.add("sagemaker", f"training-job/{stack}-tune", tag, status="InProgress")
    account.add("sagemaker", f"domain/d-{stack}", tag)
    account.add("sagemaker", f"app/d-{stack}/ana/JupyterLab/default", tag, status="InService")
    account.things[f"arn:aws:s3:::{stack}-checkpoints"] = {"tags": tags(tag)}


def bills(account, stack):
    """What of a stack still bills as a machine, by its ARN."""
    left = []
    for name, thing in account.things.items():
        if stack not in name:
            continue
        running = thing.get("size", 0) > 0 or thing.get("status") in ("running", "InService", "InProgress")
        if running or ":endpoint/" in name:
            left.append(name)
    return left


def play(account):
    return run(limits_plans.end_document(), account, {"Role": "role", "Project": PROJECT, "Stack": STACK})


@pytest.fixture
def account():
    made = Account([POLICY])
    stand(made, STACK)
    stand(made, OTHER)
    stand(made, "somebody", tag="")
    stand(made, "namesake", tag=f"theirs/{STACK}")  # another project's stack of the same name
    return made


def test_an_expiry_ends_what_bills_and_nothing_of_others(account, capsys):
    others = (OTHER, "somebody", "namesake")
    before = {stack: bills(account, stack) for stack in others}
    assert len(bills(account, STACK)) == 11
    report = play(account)
    assert bills(account, STACK) == []
    assert {stack: bills(account, stack) for stack in others} == before
    assert report["failed"] == []
    with capsys.disabled():
        print(f"\nAWS expiry called: {', '.join(sorted(set(account.calls)))}")
    assert {one.split(":")[2] for one in report["kept"]} == {"ec2", "s3"}


def test_endpoints_go_after_what_hangs_on_them(account):
    play(account)
    order = [call.partition(":")[2] for call in account.calls]
    last = len(order) - 1 - order[::-1].index("DeleteInferenceComponent")
    assert order.index("DeregisterScalableTarget") < order.index("DeleteInferenceComponent") <= last
    assert last < order.index("DeleteEndpoint")


def test_what_it_suspended_can_be_woken(account):
    report = play(account)
    assert account.state(f"{STACK}-group")["suspended"] == ["Launch"]
    command = "aws autoscaling resume-processes --scaling-processes Launch --auto-scaling-group-name dev-aws-group"
    assert report["wake"] == [command]


def test_a_second_run_finds_nothing_to_do(account):
    play(account)
    assert play(account)["ended"] == []


def test_tags_outlive_what_they_were_on_and_stop_nothing(account):
    account.gone = [
        arn("eks", "nodegroup/old/gpu/uuid"),
        arn("sagemaker", "endpoint/old"),
        arn("sagemaker", "inference-component/old"),
        arn("ec2", "instance/i-old"),
    ]
    assert play(account)["failed"] == []
    assert bills(account, STACK) == []


@pytest.mark.parametrize(
    "operation",
    [
        "UpdateAutoScalingGroup",
        "SuspendProcesses",
        "ModifyFleet",
        "TerminateInstances",
        "UpdateNodegroupConfig",
        "DeleteCluster",
        "DeleteInferenceComponent",
        "DeregisterScalableTarget",
        "DeleteEndpoint",
        "StopNotebookInstance",
        "StopTrainingJob",
        "DeleteApp",
        "DescribeScalableTargets",
        "ListApps",
    ],
)
def test_what_failed_is_told_stops_nothing_else_and_goes_in_the_next_hour(account, operation):
    account.failing = [operation]
    with pytest.raises(RuntimeError, match="Rate exceeded"):
        play(account)
    assert len(bills(account, STACK)) <= 2  # an endpoint, and what hangs on it
    for _ in range(2):
        try:
            play(account)
        except RuntimeError:
            continue
    assert bills(account, STACK) == []


def test_without_any_one_right_the_expiry_fails_loudly(capsys):
    removed, failed = [], []
    for right, without in rights([POLICY]):
        account = Account(without)
        stand(account, STACK)
        removed.append(right)
        try:
            play(account)
        except (RuntimeError, DeniedError):
            failed.append(right)
    with capsys.disabled():
        print(f"\nAWS expiry: rights removed {len(removed)}, runs that failed {len(failed)}")
    assert failed == removed


STOPS = {
    "fleet": (
        fleet_plans.stop_document,
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": "ec2:ModifyFleet",
                    "Resource": arn("ec2", "fleet/*"),
                    "Condition": {"StringEquals": {"aws:ResourceTag/sizewell-stack": STACK}},
                }
            ],
        },
        {"Fleet": f"fleet-{STACK}"},
    ),
    "eks": (
        scaling.hold_document,
        json.loads(scaling.hold_policy(region="us-east-1", group=f"{STACK}-chat")),
        {"Group": f"eks-{STACK}-chat-uuid"},
    ),
}


@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize("state", ["ALARM", "OK", "INSUFFICIENT_DATA"])
def test_an_idle_stop_works_while_its_alarm_stands_and_not_otherwise(kind, state):
    account, document, parameters = _stop(kind, state)
    run(document, account, parameters)
    size = 0 if state == "ALARM" else 2
    assert account.state(parameters.get("Fleet", parameters.get("Group")))["size"] == size


@pytest.mark.parametrize("kind", STOPS)
def test_without_any_one_right_an_idle_stop_fails(kind, capsys):
    policies = _stop(kind, "ALARM")[0].policies
    removed, failed = 0, 0
    for _, without in rights(policies):
        account, document, parameters = _stop(kind, "ALARM")
        account.policies = without
        removed += 1
        try:
            run(document, account, parameters)
        except DeniedError:
            failed += 1
    with capsys.disabled():
        print(f"\nAWS idle stop of {kind}: rights removed {removed}, runs that failed {failed}")
    assert failed == removed >= 2


def _stop(kind, state):
    document, policy, parameters = STOPS[kind]
    alarm = limits_plans.look_policy(arn("cloudwatch", "alarm:idle-stop"))
    account = Account([policy, json.loads(alarm)])
    account.alarms = {"idle-stop": state}
    account.add("ec2", f"fleet/fleet-{STACK}", STACK, size=2)
    group = f"autoScalingGroup:uuid:autoScalingGroupName/eks-{STACK}-chat-uuid"
    account.add("autoscaling", group, STACK, suspended=[], least=0, size=2, most=4)
    return account, document(), {"Role": "role", "Alarm": "idle-stop", **parameters}
