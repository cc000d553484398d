"""Azure Machine Learning: endpoints by their requests; notebooks and clusters by what the service says of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError
from sizewell.recording.sources.state import StateResource
from sizewell.teardown.records import Device
from sizewell.teardown.telemetry.azure import LATE_S, METRICS, points_of
from sizewell.teardown.telemetry.observation import Observation, counted_none, counted_now, series
from sizewell.teardown.units import Unit

ML: Final = "2024-10-01"
PERIOD_S: Final = 60.0
# learn.microsoft.com/azure/azure-monitor/reference/supported-metrics, of onlineEndpoints and their deployments
_ENDPOINTS: Final = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints"
_USE: Final = (f"{_ENDPOINTS}/deployments", "GpuUtilizationPercentage")
_REQUESTS: Final = (_ENDPOINTS, "RequestsPerMinute")


def endpoint(azure: Azure, unit: Unit, at: datetime, seconds: float) -> Observation:
    """The machines of a managed online endpoint, how busy each was, and its requests. CloudError where Azure does not
    respond.

    Azure has no sample of requests for a minute without any. What a machine publishes each minute tells a minute
    without requests from one that nobody reported.
    """
    wanted, use = 0, dict[Device, list[tuple[float, float]]]()
    for deployment in _of(unit, "OnlineDeployment"):
        held = azure.reader().get(deployment.id, **{"api-version": ML})
        wanted += int((held.get("sku") or {}).get("capacity") or 0)
        for each in _series(azure, deployment, _USE, at, seconds, split="instanceId"):
            labels = {label["name"]["value"].lower(): label["value"] for label in each.get("metadatavalues") or []}
            if points := points_of(each):
                use.setdefault((str(labels.get("instanceid", "")), 0), []).extend(points)
    begun_s = at.timestamp() - seconds - LATE_S
    newest_s = max((at_s for points in use.values() for at_s, _ in points), default=0.0)
    use = {each: points for each, points in use.items() if max(at_s for at_s, _ in points) >= newest_s - LATE_S}
    started = {machine: min(at_s for at_s, _ in points) for (machine, _), points in use.items()}
    started |= {f"machine {number + 1} reports nothing": begun_s for number in range(len(started), wanted)}
    requests = {at_s: 0.0 for points in use.values() for at_s, _ in points}
    for resource in _of(unit, "OnlineEndpoint"):
        for each in _series(azure, resource, _REQUESTS, at, seconds):
            requests |= {at_s: value / PERIOD_S for at_s, value in points_of(each)}
    return Observation(
        source=f"Azure Monitor {'/'.join(_REQUESTS)}",
        counted=tuple(counted_now(started, at.timestamp())),
        utilization_percent={device: series(points) for device, points in use.items()},
        requests_per_s=series(requests.items()),
        period_s=PERIOD_S,
        late_s=LATE_S,
        per="machine",
    )


def compute(azure: Azure, unit: Unit, at: datetime) -> Observation | None:
    """A notebook that is stopped, or a cluster without machines, has none; None for any other: what a notebook's
    accelerators do is not published, and a cluster ends its machines itself after each job.
    """
    held = azure.reader().get(unit.managed[0].id, **{"api-version": ML}).get("properties") or {}
    own: dict[str, Any] = held.get("properties") or {}
    if held.get("computeType") == "ComputeInstance":
        if own.get("state") != "Stopped":
            return None
        last = own.get("lastOperation") or {}
        stopped = last.get("operationName") == "Stop" and last.get("operationStatus") == "Succeeded"
        since_s = datetime.fromisoformat(last["operationTime"]).timestamp() if stopped else at.timestamp()
        return Observation(source="Azure Machine Learning", counted=counted_none(since_s, at.timestamp()))
    if own.get("currentNodeCount") != 0 or own.get("targetNodeCount") != 0:
        return None
    return Observation(source="Azure Machine Learning", counted=tuple(counted_now({}, at.timestamp())))


def _of(unit: Unit, kind: str) -> list[StateResource]:
    """The unit's resources of a type. CloudError where the state has none."""
    own = [resource for resource in unit.serving if resource.type.endswith(f":{kind}")]
    if not own:
        raise CloudError("azure", "missing", f"the state has no {kind} of {unit.name}")
    return own


def _series(
    azure: Azure, resource: StateResource, metric: tuple[str, str], at: datetime, seconds: float, *, split: str = ""
) -> list[dict[str, Any]]:
    """Series of a resource's metric (namespace, name), a sample a minute: one, or one for each value of a dimension."""
    begins = at - timedelta(seconds=seconds + LATE_S)
    answer = azure.reader().get(
        f"{resource.id}/providers/Microsoft.Insights/metrics",
        **{
            "api-version": METRICS,
            "metricnamespace": metric[0],
            "metricnames": metric[1],
            "aggregation": "Maximum",
            "interval": "PT1M",
            "timespan": f"{begins:%Y-%m-%dT%H:%M:%SZ}/{at:%Y-%m-%dT%H:%M:%SZ}",
            **({"$filter": f"{split} eq '*'", "top": "1000"} if split else {}),
        },
    )
    return [each for found in answer.get("value") or [] for each in found.get("timeseries") or []]
