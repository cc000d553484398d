"""Endpoints of Vertex AI: Cloud Monitoring counts the replicas, and has their samples and their requests.

Metrics and units: docs.cloud.google.com/monitoring/api/metrics_gcp_a_b (aiplatform). Nothing there says whether a
minute without requests has a sample, nor which counter a container behind Private Service Connect feeds: a counter that
reported requests in the last days counts as one that would have reported others; without any, requests are not counted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sizewell.clouds.calls import CloudError
from sizewell.clouds.gcp import Google
from sizewell.teardown.records import Device
from sizewell.teardown.telemetry.google import PERIOD_S, points_of, project_of, series_of
from sizewell.teardown.telemetry.observation import HISTORY_S, Observation, counted_now, series
from sizewell.teardown.units import Unit

ENDPOINT: Final = "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment"
LATE_S: Final = 360.0
_ONLINE: Final = "aiplatform.googleapis.com/prediction/online"
_REQUESTS: Final = ("prediction_count", "response_count", "private/response_count")
_HOUR_S: Final = 3600


def observe(google: Google, unit: Unit, at: datetime, seconds: float) -> Observation:
    """The replicas of an endpoint, how busy each was, and their requests. CloudError where Google does not respond, and
    where nobody counts its replicas.
    """
    project, chosen = project_of(unit), _chosen(unit)
    counted = [
        point
        for answer in series_of(google, project, chosen.format("replicas"), at, seconds + LATE_S)
        for point in points_of(answer)
    ]
    if not counted:
        raise CloudError("monitoring", "missing", f"replicas are not counted of {unit.name}")
    newest_s = max(at_s for at_s, _ in counted)
    replicas = round(sum(value for at_s, value in counted if at_s == newest_s))
    points: dict[Device, list[tuple[float, float]]] = {}
    for answer in series_of(google, project, chosen.format("accelerator/duty_cycle"), at, seconds + LATE_S):
        labels = answer.get("metric", {}).get("labels", {})
        # a fraction, and an average: at most one accelerator did all of it
        share = 100 * max(unit.accelerators_per_machine, 1)
        samples = [(at_s, min(100.0, share * value)) for at_s, value in points_of(answer)]
        if samples and max(at_s for at_s, _ in samples) >= newest_s - LATE_S:  # else of a replica that is gone
            points.setdefault((str(labels.get("replica_id", "")), 0), []).extend(samples)
    begun_s = at.timestamp() - seconds - LATE_S
    started = {machine: min((at_s for at_s, _ in samples), default=begun_s) for (machine, _), samples in points.items()}
    started |= {f"replica {number + 1} reports nothing": begun_s for number in range(len(started), replicas)}
    requests = _requests(google, project, chosen, at, seconds)
    rate = {at_s: 0.0 for samples in points.values() for at_s, _ in samples} | requests
    return Observation(
        source=f"Cloud Monitoring {_ONLINE}/prediction_count",
        counted=tuple(counted_now(started, at.timestamp())),
        utilization_percent={device: series(samples) for device, samples in points.items()},
        requests_per_s=series(rate.items()) if requests or _ever(google, project, chosen, at) else None,
        period_s=PERIOD_S,
        late_s=LATE_S,
        per="machine",
    )


def _chosen(unit: Unit) -> str:
    """The filter of the endpoint's series; CloudError where the state has no endpoint, or several."""
    named = {
        str(resource.outputs.get("endpoint") or resource.id).rpartition("/")[2]
        for resource in unit.serving
        if resource.type == ENDPOINT
    }
    if len(named) != 1:
        raise CloudError("monitoring", "missing", f"the state has {len(named)} endpoints of {unit.name}")
    return (
        f'metric.type="{_ONLINE}/{{}}" AND resource.type="aiplatform.googleapis.com/Endpoint" '
        f'AND resource.labels.endpoint_id="{named.pop()}"'
    )


def _requests(google: Google, project: str, chosen: str, at: datetime, seconds: float) -> dict[float, float]:
    """Requests per second by time, of every counter."""
    rate: dict[float, float] = {}
    for counter in _REQUESTS:
        for answer in series_of(google, project, chosen.format(counter), at, seconds + LATE_S):
            for at_s, count in points_of(answer):
                rate[at_s] = rate.get(at_s, 0.0) + count / PERIOD_S
    return rate


def _ever(google: Google, project: str, chosen: str, at: datetime) -> bool:
    """Whether a counter reported anything in the last days."""
    return any(
        value > 0
        for counter in _REQUESTS
        for answer in series_of(google, project, chosen.format(counter), at, HISTORY_S, period_s=_HOUR_S)
        for _, value in points_of(answer)
    )
