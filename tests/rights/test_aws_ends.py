"""Expiries and idle stops on AWS, played through: what they end, what they leave, with which rights, and what then."""

import json

import pytest
from aws_policies import allows, rights
from aws_standin import PROJECT, Account, DeniedError, arn, run, tags

from sizewell.components.aws import instances
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.aws.eks import scaling
from sizewell.components.aws.fleets import documents as fleet_documents
from sizewell.components.aws.limits import expiry, idle
from sizewell.components.machines import find_shape

pytestmark = pytest.mark.scan

STACK, OTHER = "dev-aws", "prod-aws"
POLICY = json.loads(expiry.end_policy(region="us-east-1", project=PROJECT, stack=STACK))


def stand(account, stack, *, tag=None):
    """One of everything that is billed, as a stack's; `tag` "" leaves the tag out."""
    tag = stack if tag is None else tag
    sizes = {"least": 1, "size": 2, "most": 4}
    group = f"autoScalingGroup:uuid:autoScalingGroupName/{stack}-group"
    cluster = f"sizewell-{stack}-cluster-us-east-1"
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
    """What of a stack is still billed as a machine, by its ARN."""
    left = []
    for name, thing in account.things.items():
        if stack not in name:
            continue
        running = thing.get("size", 0) > 0 or thing.get("status") in ("running", "InService", "InProgress")
        if running or ":endpoint/" in name:
            left.append(name)
    return left


def play(account):
    return run(expiry.end_document(), account, {"Role": "role", "Project": PROJECT, "Stack": STACK})


def test_an_end_that_is_not_firm_says_what_runs_and_stops_nothing():
    policy = json.loads(expiry.end_policy(region="us-east-1", project=PROJECT, stack=STACK, firm=False))
    account = Account([policy])
    parameters = {"Role": "role", "Project": PROJECT, "Stack": STACK}
    assert run(expiry.end_document(firm=False), account, parameters)["runs"] == []
    stand(account, STACK)
    stand(account, OTHER)
    before = bills(account, STACK)
    with pytest.raises(
        RuntimeError, match=r"dev-aws is past its end and still runs, nothing was stopped: .*fleet-dev-aws"
    ):
        run(expiry.end_document(firm=False), account, parameters)
    assert bills(account, STACK) == before
    assert {call.partition(":")[2][:4] for call in account.calls} <= {"Desc", "List", "GetR"}


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


def test_an_expiry_reaches_entries_of_its_own_cluster_alone():
    """Neither those of a stack whose name goes on after its own, nor those of a cluster that somebody else made."""
    for cluster, may in (
        (f"sizewell-{STACK}-cluster-us-east-1", True),
        (f"sizewell-{STACK}-2-cluster-us-east-1", False),
        (f"sizewell-{STACK}-cluster-us-east-1-old", False),
    ):
        entry = arn("eks", f"access-entry/{cluster}/role/123456789012/hyperpod/uuid")
        assert allows([POLICY], "eks:DeleteAccessEntry", entry, {}) == may


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


GUARD = {"window_s": 1800, "grace_s": 1800, "min_utilization_percent": 5, "action": "scale-to-zero"}
PERIODS = 11  # of five minutes, whole ones in window and grace
FLEET = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": "ec2:ModifyFleet",
            "Resource": arn("ec2", "fleet/*"),
            "Condition": {"StringEquals": {"aws:ResourceTag/sizewell-stack": STACK}},
        }
    ],
}
UUID = "12345678-90ab-cdef-1234-567890abcdef"
MANAGED = f"eks-{STACK}-chat-{UUID}"


def watched(shape_type, dimension="", *, least=0):
    shape = find_shape("aws", shape_type)
    stated = instances.measured(shape, dimension=dimension) if dimension else eks_node_config.measured(shape)
    return idle.watched(stated["measured"], accelerators=shape.accelerators, guard=GUARD, seconds=3600, least=least)


def group_may(name):
    return json.loads(idle.group_policy(region="us-east-1", group=name))


# By kind: the automation, its role's right, the pool with its parameter, the value of its metric's dimension, the size
# that stays, and whether one series is a machine's ("") or an accelerator's.
STOPS = {
    "fleet": (
        fleet_documents.stop_document(watched("g6e.12xlarge", "Fleet")),
        FLEET,
        ("Fleet", f"fleet-{STACK}"),
        ("Fleet", "batch"),
        0,
        "index",
    ),
    "group": (
        idle.group_document(watched("g6e.12xlarge", "AutoScalingGroupName", least=1), pattern="^dev$"),
        group_may(f"{STACK}-lab"),
        ("Group", f"{STACK}-lab"),
        ("AutoScalingGroupName", f"{STACK}-lab"),
        1,
        "index",
    ),
    "group of Trainium": (
        idle.group_document(watched("trn1.2xlarge", "AutoScalingGroupName"), pattern="^dev$"),
        group_may(f"{STACK}-lab"),
        ("Group", f"{STACK}-lab"),
        ("AutoScalingGroupName", f"{STACK}-lab"),
        0,
        "",
    ),
    "eks": (
        idle.group_document(watched("g6e.12xlarge"), pattern=scaling.GROUP_NAME, held=True),
        group_may(scaling.managed_group(f"{STACK}-chat")),
        ("Group", MANAGED),
        ("ClusterName", "cluster"),
        0,
        "GpuDevice",
    ),
}


@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize("state", ["ALARM", "OK", "INSUFFICIENT_DATA"])
def test_an_idle_stop_works_while_its_alarm_stands_and_not_otherwise(kind, state):
    stop = Stop(kind, state)
    stop.play()
    assert stop.size == (stop.least if state == "ALARM" else 3)


def silent(stop):
    for series in stop.of("i-2"):
        del stop.account.samples[series]


def silent_for_a_while(stop):
    for series in stop.of("i-2"):
        stop.account.samples[series][4:6] = [-1, -1]


def one_accelerator_silent(stop):
    series = stop.of("i-2")
    if len(series) > 1:
        del stop.account.samples[series[-1]]
    else:
        silent(stop)


def just_came(stop):
    for series in stop.of("i-2"):
        stop.account.samples[series] = [-1] * (PERIODS - 2) + [0, 0]


def coming(stop):
    stop.thing["machines"].append(("i-new", "Pending"))


def busy(stop):
    stop.account.samples[stop.of("i-1")[-1]][3] = 80


def at_its_least(stop):
    stop.thing["machines"] = stop.thing["machines"][: stop.least]


@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize(
    "happens", [silent, silent_for_a_while, one_accelerator_silent, just_came, coming, busy, at_its_least]
)
def test_a_machine_that_was_not_seen_idle_all_the_time_keeps_its_pool(kind, happens):
    """The alarm stands: it sees the busiest that reports, and not who is silent."""
    stop = Stop(kind, "ALARM")
    happens(stop)
    stop.play()
    assert stop.size == 3
    assert not [call for call in stop.account.calls if "Modify" in call or "Update" in call]


@pytest.mark.parametrize("kind", STOPS)
@pytest.mark.parametrize("state", ["ALARM", "OK", "INSUFFICIENT_DATA"])
def test_a_machine_that_nobody_measures_is_heard_of(kind, state):
    """EC2 saw it all the time, and its accelerators nobody: the alarm takes that for work, and the run fails."""
    stop = Stop(kind, state)
    silent(stop)
    stop.account.processors[("InstanceId=i-2",)] = [1.0] * PERIODS
    with pytest.raises(RuntimeError, match=r"i-2: no sample of \S+ in 60 minutes"):
        stop.play()
    assert stop.size == 3


def test_machines_that_go_and_series_of_those_that_are_gone_are_not_asked_for():
    stop = Stop("group", "ALARM")
    stop.thing["machines"].append(("i-going", "Terminating:Wait"))
    stop.account.samples[("InstanceId=i-gone", f"AutoScalingGroupName={STACK}-lab", "index=0")] = [-1] * PERIODS
    stop.account.samples[("AutoScalingGroupName=other", "InstanceId=i-1", "index=0")] = [90] * PERIODS
    stop.play()
    assert stop.size == 1


@pytest.mark.parametrize("kind", STOPS)
def test_without_any_one_right_an_idle_stop_fails(kind, capsys):
    policies = Stop(kind, "ALARM").account.policies
    removed, failed = 0, 0
    for _, without in rights(policies):
        stop = Stop(kind, "ALARM")
        stop.account.policies = without
        removed += 1
        try:
            stop.play()
        except DeniedError:
            failed += 1
    stop = Stop(kind, "ALARM")
    stop.play()
    with capsys.disabled():
        print(f"\nAWS idle stop of {kind}: rights removed {removed}, runs that failed {failed}", end="; called: ")
        print(", ".join(sorted(set(stop.account.calls))))
    assert failed == removed == 5


def test_a_stop_may_change_its_own_group_alone():
    """Neither one whose name goes on after its own, nor that of a node group whose name does."""
    for own, other in ((f"{STACK}-lab", f"{STACK}-lab-2"), (MANAGED, f"eks-{STACK}-chat-2-{UUID}")):
        name = own if own != MANAGED else scaling.managed_group(f"{STACK}-chat")
        policies = [group_may(name)]
        for group, may in ((own, True), (other, False)):
            call = "autoscaling:UpdateAutoScalingGroup"
            assert (
                allows(policies, call, arn("autoscaling", f"autoScalingGroup:u:autoScalingGroupName/{group}"), {})
                == may
            )


class Stop:
    """An idle stop of a kind: three machines in its pool, all of them idle and seen all the time."""

    def __init__(self, kind, state):
        self.document, policy, pool, (dimension, value), self.least, device = STOPS[kind]
        look = idle.look_policy(alarm_arn=arn("cloudwatch", "alarm:idle-stop"), region="us-east-1", pool=pool[0])
        self.account = account = Account([policy, json.loads(look)])
        account.alarms = {"idle-stop": state}
        machines = [(f"i-{number}", "InService") for number in range(3)]
        account.add("ec2", f"fleet/fleet-{STACK}", STACK, size=3, machines=list(machines))
        for group in (MANAGED, f"{STACK}-lab"):
            path = f"autoScalingGroup:uuid:autoScalingGroupName/{group}"
            account.add("autoscaling", path, STACK, suspended=[], least=0, size=3, most=4, machines=list(machines))
        for machine, _ in machines:
            for number in range(4 if device else 1):
                own = (f"{device}={number}",) if device else ()
                account.samples[(f"{dimension}={value}", f"InstanceId={machine}", *own)] = [0.0] * PERIODS
        account.samples[(f"{dimension}={value}",)] = [0.0] * PERIODS  # what the alarm looks at
        self.pool = pool[1]
        self.parameters = {"Role": "role", "Alarm": "idle-stop", pool[0]: pool[1], "Value": value}

    @property
    def thing(self):
        return self.account.state(self.pool)

    @property
    def size(self):
        return self.thing["size"]

    def of(self, machine):
        return [series for series in self.account.samples if f"InstanceId={machine}" in series]

    def play(self):
        run(self.document, self.account, self.parameters)
