"""SageMaker: the service counts the machines of endpoints, notebooks and HyperPod clusters, CloudWatch has samples.

CloudWatch has no sample of requests for a minute without any. What every machine of an endpoint publishes each minute
tells a minute without requests from one that nobody reported: only a minute with such a sample counts as one without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError
from sizewell.teardown.records import Device, Series
from sizewell.teardown.telemetry.cloudwatch import LATE_S, PERIOD_S, data_of
from sizewell.teardown.telemetry.cloudwatch import samples as samples_of
from sizewell.teardown.telemetry.observation import Observation, counted_now, series
from sizewell.teardown.units import Unit

ENDPOINT: Final = "aws:sagemaker/endpoint:Endpoint"
COMPONENT: Final = "AWS::SageMaker::InferenceComponent"
# docs.aws.amazon.com/sagemaker/latest/dg/monitoring-cloudwatch.html: of the machines of a variant, percent, GPUs added
# up; of requests, by variant, by inference component, and of the queue before an asynchronous endpoint.
_USE: Final = {"Namespace": "/aws/sagemaker/Endpoints", "MetricName": "GPUUtilization"}
_REQUESTS: Final = (
    "Invocations",
    "InvocationsProcessed",
    "ApproximateBacklogSize",
    "NoCapacityInvocationFailures",
    "HasBacklogWithoutCapacity",
)


def observe(aws: Aws, unit: Unit, at: datetime, seconds: float) -> Observation:
    """The machines of an endpoint, how busy the busiest was, and its requests. CloudError where AWS does not respond,
    and where the endpoint has no machines of its own.
    """
    endpoint = _endpoint(unit)
    described = aws.call("sagemaker", unit.region, "describe_endpoint", EndpointName=endpoint)
    started: dict[str, float] = {}
    variant_of: dict[str, str] = {}
    for variant in described.get("ProductionVariants") or []:
        name = str(variant["VariantName"])
        if variant.get("CurrentServerlessConfig") or "CurrentInstanceCount" not in variant:
            raise CloudError(
                "sagemaker", "missing", f"{endpoint} is serverless: it is billed by request, not by machine"
            )
        for number in range(int(variant["CurrentInstanceCount"])):
            started[f"{name} {number + 1}"] = described["CreationTime"].timestamp()
            variant_of[f"{name} {number + 1}"] = name
    window: dict[str, Any] = {"at": at, "seconds": seconds}
    use = {
        name: _points(
            aws, unit.region, {**_USE, "Dimensions": _dimensions(endpoint, name)}, statistic="Maximum", **window
        )
        for name in sorted(set(variant_of.values()))
    }
    utilization: dict[Device, Series] = {
        # the sum of a machine's GPUs is at least what its busiest does: at worst the endpoint is kept
        (machine, 0): series((at_s, min(value, 100.0)) for at_s, value in use[name])
        for machine, name in variant_of.items()
    }
    requests = {at_s: 0.0 for samples in use.values() for at_s, _ in samples}
    for dimensions in _counters(unit, endpoint):
        for metric in _REQUESTS:
            named = {"Namespace": "AWS/SageMaker", "MetricName": metric, "Dimensions": dimensions}
            for at_s, count in _points(aws, unit.region, named, statistic="Sum", **window):
                requests[at_s] = requests.get(at_s, 0.0) + count / PERIOD_S
    return Observation(
        source="CloudWatch AWS/SageMaker Invocations",
        counted=tuple(counted_now(started, at.timestamp())),
        utilization_percent=utilization,
        requests_per_s=series(requests.items()),
        period_s=PERIOD_S,
        late_s=LATE_S,
        per="machine",
    )


def notebook(aws: Aws, unit: Unit, at: datetime) -> Observation | None:
    """A notebook that is stopped has no machine now; None for any other: nobody publishes what its accelerators do."""
    name = str(unit.managed[0].outputs.get("name") or unit.managed[0].id)
    described = aws.call("sagemaker", unit.region, "describe_notebook_instance", NotebookInstanceName=name)
    if described["NotebookInstanceStatus"] != "Stopped":
        return None
    return Observation(source="SageMaker", counted=tuple(counted_now({}, at.timestamp())))


def hyperpod(aws: Aws, unit: Unit, at: datetime, seconds: float) -> Observation:
    """The machines of a HyperPod cluster, and what Container Insights has of each in the EKS cluster that schedules its
    work. CloudError where AWS does not respond, and where groups of several kinds of machines have some.
    """
    stated = json.loads(str(unit.managed[0].inputs["desiredState"]))
    nodes = aws.pages(
        *("sagemaker", unit.region, "list_cluster_nodes", "ClusterNodeSummaries"), ClusterName=stated["ClusterName"]
    )
    started = {  # one that is on its way has no id yet
        str(node.get("InstanceId") or f"machine {number}"): node["LaunchTime"].timestamp()
        for number, node in enumerate(nodes)
        if node["InstanceStatus"]["Status"] not in ("ShuttingDown", "NotFound")
    }
    if started and len(stated["InstanceGroups"]) > 1:
        raise CloudError("sagemaker", "missing", "a HyperPod cluster of several groups: they are not measured apart")
    use: Mapping[Device, Series] = {}
    if started and unit.measured:
        cluster = str(stated["Orchestrator"]["Eks"]["ClusterArn"]).rpartition("/")[2]
        measured = replace(unit, measured={**unit.measured, "value": cluster})
        use = samples_of(aws, measured, "", machines=set(started), at=at, seconds=seconds)
    return Observation(
        source=f"CloudWatch {unit.measured.get('namespace', '')}/{unit.measured.get('metric', '')}",
        counted=tuple(counted_now(started, at.timestamp())),
        utilization_percent=use,
        period_s=PERIOD_S,
        late_s=LATE_S,
    )


def _endpoint(unit: Unit) -> str:
    """The name of the endpoint. CloudError where the state has none, or several."""
    names = {str(resource.outputs.get("name") or resource.id) for resource in unit.serving if resource.type == ENDPOINT}
    if len(names) != 1:
        raise CloudError("sagemaker", "missing", f"the state has {len(names)} endpoints of {unit.name}")
    return names.pop()


def _dimensions(endpoint: str, variant: str) -> list[dict[str, str]]:
    return [{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": variant}]


def _counters(unit: Unit, endpoint: str) -> list[list[dict[str, str]]]:
    """Under which names the requests of an endpoint are counted: its own, and those of its inference components."""
    named = [[{"Name": "EndpointName", "Value": endpoint}]]
    for resource in unit.serving:
        if resource.inputs.get("typeName") == COMPONENT:
            component = json.loads(str(resource.inputs.get("desiredState") or "{}"))["InferenceComponentName"]
            named.append([{"Name": "InferenceComponentName", "Value": str(component)}])
    return named


def _points(
    aws: Aws, region: str, metric: Mapping[str, Any], *, at: datetime, seconds: float, statistic: str
) -> list[tuple[float, float]]:
    """Samples of every series of a metric with such dimensions, by minute."""
    listed = aws.pages("cloudwatch", region, "list_metrics", "Metrics", **metric)
    queries: list[dict[str, Any]] = [
        {"Id": f"m{number}", "MetricStat": {"Metric": each, "Period": PERIOD_S, "Stat": statistic}}
        for number, each in enumerate(listed)
    ]
    samples = data_of(aws, region, queries, at, seconds + LATE_S)
    return [point for points in samples.values() for point in points]
