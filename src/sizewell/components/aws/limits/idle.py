"""Automations that stop what is idle: what they ask for before they act, what they may, and what they do. Pure.

An alarm looks at a whole pool, and its maximum hides a machine that reports nothing behind others that are idle. So an
alarm only starts the automation, which counts the machines itself and looks at the samples of each: one that was not
seen all the time, or just came, is no idle one.

The alarm takes missing samples for work, so that it stops nothing by mistake; what no agent measures would then run on
unheard. So the automation looks every hour whether the alarm stands or not, and fails where a machine that stood all
the time has no sample at all: a failed run is told to the pool's receivers.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sizewell.components.aws import policies
from sizewell.components.owned import GuardArgs

POOLS = {"Group": "autoscaling:DescribeAutoScalingGroups", "Fleet": "ec2:DescribeFleetInstances"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Where the use of a pool's machines is published, and what counts as idle there."""

    namespace: str
    metric: str
    dimension: str
    """Name of the dimension that selects this pool's series; its value is the parameter Value."""
    accelerators: int
    """Accelerators per machine that publish a series each; 0 where a machine publishes one for all it has."""
    seconds: int
    """How long every accelerator has to report, and be idle."""
    limit_percent: float
    least: int = 0
    """Minimum number of machines."""


def watched(names: Mapping[str, str], *, accelerators: int, guard: GuardArgs, seconds: int, least: int = 0) -> Watched:
    """What a pool registers of its metric (`measured`), as an automation looks at it."""
    return Watched(
        namespace=names["namespace"],
        metric=names["metric"],
        dimension=names["dimension"],
        accelerators=0 if names["per"] == "machine" else accelerators,
        seconds=seconds,
        limit_percent=float(guard["min_utilization_percent"]),
        least=least,
    )


def look_policy(*, alarm_arn: str, region: str, pool: str) -> str:
    """Ask whether one alarm stands, which machines a pool (`Group` or `Fleet`) has, and for their samples."""
    asked = {"StringEquals": {"aws:RequestedRegion": region}}
    look = ["cloudwatch:GetMetricData", "cloudwatch:ListMetrics", POOLS[pool]]
    return policies.policy(
        [
            {"Effect": "Allow", "Action": "cloudwatch:DescribeAlarms", "Resource": alarm_arn},
            {"Effect": "Allow", "Action": look, "Resource": "*", "Condition": asked},
        ]
    )


def automation(
    description: str,
    *,
    pool: str,
    parameter: Mapping[str, object],
    watched: Watched,
    steps: Sequence[Mapping[str, Any]],
) -> str:
    """An automation that takes `steps` while its alarm stands and every machine was seen idle, and nothing otherwise.

    It fails where a machine is measured by nobody.

    `pool` is the parameter that names the machines: Group (an Auto Scaling group) or Fleet.
    """
    look: list[Mapping[str, object]] = [
        {
            "name": "LookAtEachMachine",
            "action": "aws:executeScript",
            "nextStep": "WhetherAllAreIdle",
            "timeoutSeconds": 300,
            "inputs": {
                "Runtime": "python3.11",
                "Handler": "look",
                "InputPayload": {
                    pool: f"{{{{ {pool} }}}}",
                    "Value": "{{ Value }}",
                    "Namespace": watched.namespace,
                    "Metric": watched.metric,
                    "Dimension": watched.dimension,
                    "Accelerators": watched.accelerators,
                    "Seconds": watched.seconds,
                    "Limit": watched.limit_percent,
                    "Least": watched.least,
                },
                "Script": LOOK_SCRIPT,
            },
            "outputs": [
                {"Name": "Verdict", "Selector": "$.Payload.Verdict", "Type": "String"},
                {"Name": "Because", "Selector": "$.Payload.Because", "Type": "String"},
            ],
        },
        _branch("WhetherAllAreIdle", "LookAtEachMachine.Verdict", "idle", "LookAtTheAlarm"),
        {
            "name": "LookAtTheAlarm",
            "action": "aws:executeAwsApi",
            "nextStep": "WhetherItStands",
            "inputs": {"Service": "cloudwatch", "Api": "DescribeAlarms", "AlarmNames": ["{{ Alarm }}"]},
            "outputs": [{"Name": "State", "Selector": "$.MetricAlarms[0].StateValue", "Type": "String"}],
        },
        _branch("WhetherItStands", "LookAtTheAlarm.State", "ALARM", steps[0]["name"]),
    ]
    return json.dumps(
        {
            "schemaVersion": "0.3",
            "description": description,
            "assumeRole": "{{ Role }}",
            "parameters": {
                "Role": {"type": "AWS::IAM::Role::Arn", "description": "Role that measures and stops"},
                "Alarm": {"type": "String", "description": "Name of the alarm that has to be active"},
                "Value": {"type": "String", "description": f"Value of the metric's dimension {watched.dimension}"},
                pool: dict(parameter),
            },
            "mainSteps": [*look, *steps],
        },
        indent=1,
    )


def _branch(name: str, output: str, wanted: str, step: str) -> dict[str, object]:
    """Go on with `step` where an output has the wanted value, else end."""
    choice = {"Variable": f"{{{{ {output} }}}}", "StringEquals": wanted, "NextStep": step}
    return {"name": name, "action": "aws:branch", "isEnd": True, "inputs": {"Choices": [choice]}}


def group_document(watched: Watched, *, pattern: str, held: bool = False) -> str:
    """An automation that takes an idle Auto Scaling group to its least size.

    `held`: its largest size becomes none as well, so that nobody who waits for a machine brings one back.
    `pattern` is what the group's name may be.
    """
    sizes = {"DesiredCapacity": watched.least}
    if held:
        sizes |= {"MinSize": 0, "MaxSize": 0}
    group = {"type": "String", "description": "Its Auto Scaling group", "allowedPattern": pattern}
    step = {
        "name": "ToLeast",
        "action": "aws:executeAwsApi",
        "isEnd": True,
        "inputs": {
            "Service": "autoscaling",
            "Api": "UpdateAutoScalingGroup",
            "AutoScalingGroupName": "{{ Group }}",
            **sizes,
        },
    }
    what = "Scales an idle pool to zero and keeps it there" if held else "Scales an idle pool to its minimum size"
    return automation(what, pool="Group", parameter=group, watched=watched, steps=[step])


def group_policy(*, region: str, group: str) -> str:
    """Change the size of the Auto Scaling group whose name is `group`; "?" stands for one character.

    In any account: a role only ever acts in its own, and so the policy is known at preview.
    """
    every = f"arn:{policies.partition(region)}:autoscaling:{region}:*:autoScalingGroup:*"
    own = f"{every}:autoScalingGroupName/{group}"
    return policies.policy([{"Effect": "Allow", "Action": "autoscaling:UpdateAutoScalingGroup", "Resource": own}])


LOOK_SCRIPT = """\
import time

import boto3

LATE_S, PERIOD_S, SEEN = 120, 300, 0.95  # samples come late; each accelerator is in this share of the periods
QUERIES = 500  # in one GetMetricData
DEVICES = ("index", "GpuDevice", "NeuronDevice")  # dimensions that tell the accelerators of a machine apart
UNSEEN = "%s: no sample of %s in %d minutes: whether it is idle is not known, and it is billed"


def look(events, context):
    machines = machines_of(events)
    if len(machines) <= events["Least"]:
        return kept("%d machines, and %d stay" % (len(machines), events["Least"]))
    # whole periods of the time that the alarm looked at, else what was before it would keep the pool for an hour
    ends = int(time.time() - LATE_S) // PERIOD_S * PERIOD_S
    periods = max(1, (ends - int(time.time()) + events["Seconds"]) // PERIOD_S)
    samples = samples_of(events, machines, ends - periods * PERIOD_S, ends)
    need, devices = max(1, int(periods * SEEN)), max(1, events["Accelerators"])
    for machine in machines:
        seen = [points for (owner, _), points in samples.items() if owner == machine]
        whole = [points for points in seen if len(points) >= need]
        if not seen and stood(machine, periods, need, ends):
            raise RuntimeError(UNSEEN % (machine, events["Metric"], events["Seconds"] // 60))
        if len(whole) < devices or len(whole) < len(seen):
            return kept("%s: %d of %d accelerators were seen all the time" % (machine, len(whole), devices))
        if max(value for points in whole for value in points.values()) >= events["Limit"]:
            return kept("%s is busy" % machine)
    return {"Verdict": "idle", "Because": "%d machines under %s %%" % (len(machines), events["Limit"])}


def kept(why):
    return {"Verdict": "kept", "Because": why}


def stood(machine, periods, need, ends):
    # EC2 itself measures the processor of every machine from its start on
    asked = {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization"}
    metric = {**asked, "Dimensions": [{"Name": "InstanceId", "Value": machine}]}
    query = {"Id": "cpu", "MetricStat": {"Metric": metric, "Period": PERIOD_S, "Stat": "Maximum"}}
    wanted = {"MetricDataQueries": [query], "StartTime": ends - periods * PERIOD_S, "EndTime": ends}
    pages = boto3.client("cloudwatch").get_paginator("get_metric_data").paginate(**wanted)
    return sum(len(one["Values"]) for page in pages for one in page["MetricDataResults"]) >= need


def machines_of(events):
    if "Group" in events:
        named = {"AutoScalingGroupNames": [events["Group"]]}
        (group,) = boto3.client("autoscaling").describe_auto_scaling_groups(**named)["AutoScalingGroups"]
        listed = group["Instances"]
        return [one["InstanceId"] for one in listed if not one["LifecycleState"].startswith("Terminat")]
    ec2, machines, token = boto3.client("ec2"), [], {}
    while True:
        page = ec2.describe_fleet_instances(FleetId=events["Fleet"], **token)
        machines += [one["InstanceId"] for one in page["ActiveInstances"]]
        if not page.get("NextToken"):
            return machines
        token = {"NextToken": page["NextToken"]}


def samples_of(events, machines, begins, ends):
    # the highest value in each period, by machine and accelerator
    cloudwatch, owners, queries = boto3.client("cloudwatch"), {}, []
    asked = {"Namespace": events["Namespace"], "MetricName": events["Metric"]}
    own = [{"Name": events["Dimension"], "Value": events["Value"]}]
    for page in cloudwatch.get_paginator("list_metrics").paginate(Dimensions=own, **asked):
        for metric in page["Metrics"]:
            names = {one["Name"]: one["Value"] for one in metric["Dimensions"]}
            device = next((names[key] for key in DEVICES if key in names), "")
            if names.get("InstanceId") not in machines or bool(device) != bool(events["Accelerators"]):
                continue  # of a machine that is gone, or a sum over several
            identity = "m%d" % len(queries)
            owners[identity] = (names["InstanceId"], device)
            stat = {"Metric": metric, "Period": PERIOD_S, "Stat": "Maximum"}
            queries.append({"Id": identity, "MetricStat": stat})
    samples = {}
    for first in range(0, len(queries), QUERIES):
        wanted = {"MetricDataQueries": queries[first : first + QUERIES], "StartTime": begins, "EndTime": ends}
        for page in cloudwatch.get_paginator("get_metric_data").paginate(**wanted):
            for result in page["MetricDataResults"]:
                points = samples.setdefault(owners[result["Id"]], {})
                for moment, value in zip(result["Timestamps"], result["Values"]):
                    points[moment] = max(value, points.get(moment, value))
    return samples
"""
