"""SageMaker endpoints: the service counts the machines, CloudWatch has their samples and their requests.

CloudWatch has no sample of requests for a minute without any. What every machine of an endpoint publishes each minute
tells a minute without requests from one that nobody reported: only a minute with such a sample counts as one without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError
from sizewell.teardown.records import Device, Series
from sizewell.teardown.telemetry.cloudwatch import LATE_S, PERIOD_S, data_of
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
    """The machines of an endpoint, how busy the busiest was, and its requests. CloudError where AWS does not answer,
    and where the endpoint has no machines of its own.
    """
    endpoint = _endpoint(unit)
    described = aws.call("sagemaker", unit.region, "describe_endpoint", EndpointName=endpoint)
    started: dict[str, float] = {}
    variant_of: dict[str, str] = {}
    for variant in described.get("ProductionVariants") or []:
        name = str(variant["VariantName"])
        if variant.get("CurrentServerlessConfig") or "CurrentInstanceCount" not in variant:
            raise CloudError("sagemaker", "missing", f"{endpoint} is serverless: it bills by request, not by machine")
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
