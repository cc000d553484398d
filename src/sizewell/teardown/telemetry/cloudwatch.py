"""Auto Scaling groups, EKS node groups and fleets: EC2 counts the machines, CloudWatch has their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError
from sizewell.teardown.records import Device, Series
from sizewell.teardown.telemetry.observation import (
    HISTORY_S,
    Observation,
    counted_none,
    history,
    number_of,
    series,
    shares,
)
from sizewell.teardown.units import Unit

QUERIES: Final = (
    500  # in one GetMetricData (docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html)
)
PERIOD_S: Final = 60
LATE_S: Final = 300.0  # what the guards' alarms allow for too
SIZES_PERIOD_S: Final = 300
FLEET_EVENTS_S: Final = 47 * 3600.0
ACTIVE_S: Final = 3 * 3600.0  # ListMetrics tells what reported within three hours, or all of two weeks
# What the agent publishes of an accelerator beside its use (components/aws/user_data.py): watts, and mebibytes.
POWER: Final = {"nvidia_smi_utilization_gpu": "nvidia_smi_power_draw"}
MEMORY: Final = {"nvidia_smi_utilization_gpu": ("nvidia_smi_memory_used", "nvidia_smi_memory_total")}
_LIVE: Final = frozenset({"pending", "running", "stopping"})


def observe(aws: Aws, unit: Unit, at: datetime, seconds: float) -> Observation:
    """The machines of a pool, and their samples of the last `seconds`. CloudError where AWS does not respond."""
    group = group_of(unit)
    started = _machines(aws, unit, group)
    sizes = _sizes(aws, unit, group, at) if group else []
    place: dict[str, Any] = {"machines": set(started), "at": at, "seconds": seconds}
    use = samples(aws, unit, group, **place) if unit.measured else {}
    metric = unit.measured.get("metric", "")
    power = samples(aws, unit, group, metric=POWER[metric], **place) if metric in POWER else {}
    memory = {}
    if metric in MEMORY:
        memory = shares(*(samples(aws, unit, group, metric=each, **place) for each in MEMORY[metric]))
    return Observation(
        source=f"CloudWatch {unit.measured.get('namespace', '')}/{unit.measured.get('metric', '')}",
        counted=history(sizes, SIZES_PERIOD_S, started, at.timestamp(), late_s=LATE_S)
        if group or started
        else counted_none(_fleet_changed_s(aws, unit, at), at.timestamp()),
        utilization_percent=use,
        power_w=power,
        memory_percent=memory,
        period_s=PERIOD_S,
        late_s=LATE_S,
        per="machine" if unit.measured.get("per") == "machine" else "accelerator",
    )


def group_of(unit: Unit) -> str:
    """The Auto Scaling group of a pool; "" for a fleet."""
    if not unit.resources:
        return ""
    resource = unit.resources[0]
    if unit.sized_by == "autoscaling-group":
        return str(resource.outputs.get("name") or resource.id)
    if unit.sized_by == "eks-node-group":
        for held in resource.outputs.get("resources") or []:
            for group in held.get("autoscalingGroups") or []:
                return str(group["name"])
        raise CloudError("autoscaling", "refused", f"the state has no Auto Scaling group of node group {resource.id}")
    return ""


def _machines(aws: Aws, unit: Unit, group: str) -> dict[str, float]:
    """Machines that run or come, by id, and since when."""
    if group:
        groups = list(
            aws.pages(
                "autoscaling",
                unit.region,
                "describe_auto_scaling_groups",
                "AutoScalingGroups",
                AutoScalingGroupNames=[group],
            )
        )
        if not groups:
            message = f"there is no group {group} in {unit.region}"
            raise CloudError("autoscaling", "missing", message, code="404")
        wanted = [machine["InstanceId"] for machine in groups[0]["Instances"]]
    else:
        fleet = unit.resources[0].id
        wanted = [
            machine["InstanceId"]
            for machine in aws.pages("ec2", unit.region, "describe_fleet_instances", "ActiveInstances", FleetId=fleet)
        ]
    started: dict[str, float] = {}
    for first in range(0, len(wanted), 200):
        filters = [{"Name": "instance-id", "Values": wanted[first : first + 200]}]
        for reservation in aws.pages("ec2", unit.region, "describe_instances", "Reservations", Filters=filters):
            for machine in reservation["Instances"]:
                if machine["State"]["Name"] in _LIVE:
                    started[machine["InstanceId"]] = machine["LaunchTime"].timestamp()
    return started


def _sizes(aws: Aws, unit: Unit, group: str, at: datetime) -> list[tuple[float, float]]:
    """How many machines the group had, as it recorded itself; a group that does not record has no history."""
    query = {
        "Id": "size",
        "MetricStat": {
            "Metric": {
                "Namespace": "AWS/AutoScaling",
                "MetricName": "GroupTotalInstances",
                "Dimensions": [{"Name": "AutoScalingGroupName", "Value": group}],
            },
            "Period": SIZES_PERIOD_S,
            "Stat": "Maximum",
        },
    }
    return data_of(aws, unit.region, [query], at, HISTORY_S).get("size", [])


def _fleet_changed_s(aws: Aws, unit: Unit, at: datetime) -> float:
    """When a machine of a fleet came or went last; else the beginning of what EC2 says of it.

    Events are available for 48 hours (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeFleetHistory.html).
    """
    begins = at - timedelta(seconds=FLEET_EVENTS_S)
    asked: dict[str, Any] = {"FleetId": unit.resources[0].id, "EventType": "instance-change", "StartTime": begins}
    changed_s: float = begins.timestamp()
    while True:
        page = aws.call("ec2", unit.region, "describe_fleet_history", **asked)
        times = [float(record["Timestamp"].timestamp()) for record in page.get("HistoryRecords") or []]
        changed_s = max(changed_s, *times, 0.0)
        following = str(page.get("NextToken") or "")
        if not following:
            return changed_s
        if following == asked.get("NextToken"):
            raise CloudError("ec2", "unanswered", "sent the same page again")
        asked["NextToken"] = following


def samples(
    aws: Aws, unit: Unit, group: str, *, machines: set[str], at: datetime, seconds: float, metric: str = ""
) -> dict[Device, Series]:
    """The samples of each accelerator of each machine; of another metric beside its use where one is named.

    Of a group those of every machine that reports under its name: one that left worked on what its successor loads,
    and one that EC2 does not count in the group is in use until somebody explains it.
    """
    measured = unit.measured
    dimension = measured["dimension"]
    recent = {"RecentlyActive": "PT3H"} if seconds + LATE_S <= ACTIVE_S else {}
    value = measured.get("value") or (
        str(unit.resources[0].outputs.get("clusterName") or unit.resources[0].inputs.get("clusterName"))
        if dimension == "ClusterName"
        else group
    )
    listed = aws.pages(
        *("cloudwatch", unit.region, "list_metrics", "Metrics"),
        Namespace=measured["namespace"],
        MetricName=metric or measured["metric"],
        Dimensions=[{"Name": dimension, "Value": value}],
        **recent,
    )
    queries: list[dict[str, Any]] = []
    devices: dict[str, Device] = {}
    for each in listed:
        names = {entry["Name"]: entry["Value"] for entry in each["Dimensions"]}
        machine = names.get(measured["machine"], "")
        device = next((names[key] for key in ("index", "GpuDevice", "NeuronDevice") if key in names), None)
        outside = machine not in machines and (not machine or dimension != "AutoScalingGroupName")
        if outside or (device is None) != (measured["per"] == "machine"):
            continue  # of another pool of the cluster, or a sum over several
        identity = f"m{len(queries)}"
        devices[identity] = (machine, 0 if device is None else number_of(device))
        stat = {"Metric": each, "Period": PERIOD_S, "Stat": "Maximum"}
        queries.append({"Id": identity, "MetricStat": stat})
    points: dict[Device, list[tuple[float, float]]] = {}
    for identity, values in data_of(aws, unit.region, queries, at, seconds + LATE_S).items():
        points.setdefault(devices[identity], []).extend(values)
    return {device: series(values) for device, values in points.items()}


def data_of(
    aws: Aws, region: str, queries: Sequence[dict[str, Any]], at: datetime, seconds: float
) -> dict[str, list[tuple[float, float]]]:
    """Samples by query. CloudError where some are missing: partial data that stay partial are no answer."""
    points: dict[str, list[tuple[float, float]]] = {}
    for first in range(0, len(queries), QUERIES):
        for page in _answers(aws, region, queries[first : first + QUERIES], at, seconds):
            for result in page.get("MetricDataResults", []):
                if result.get("StatusCode") in ("InternalError", "Forbidden"):
                    raise CloudError("cloudwatch", "unanswered", f"{result['Label']}: {result['StatusCode']}")
                times = [time.timestamp() for time in result["Timestamps"]]
                points.setdefault(result["Id"], []).extend(zip(times, result["Values"], strict=True))
    return points


def _answers(
    aws: Aws, region: str, queries: Sequence[dict[str, Any]], at: datetime, seconds: float
) -> Iterator[dict[str, Any]]:
    token: dict[str, str] = {}
    seen: set[str] = set()
    begins = at - timedelta(seconds=seconds)
    begins = datetime.fromtimestamp(begins.timestamp() // 300 * 300, UTC)  # whole periods: else CloudWatch shifts them
    while True:
        page = aws.call(
            *("cloudwatch", region, "get_metric_data"),
            MetricDataQueries=list(queries),
            StartTime=begins,
            EndTime=at,
            ScanBy="TimestampAscending",
            MaxDatapoints=100_800,
            **token,
        )
        yield page
        following = page.get("NextToken")
        if not following:
            if any(result.get("StatusCode") == "PartialData" for result in page.get("MetricDataResults", [])):
                raise CloudError("cloudwatch", "unanswered", "partial data, and no further page")
            return
        if following in seen:
            raise CloudError("cloudwatch", "unanswered", "sent the same page again")
        seen.add(following)
        token = {"NextToken": following}
