"""Node pools of GKE: Compute Engine counts the machines, Cloud Monitoring has their samples."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sizewell.clouds.calls import CloudError
from sizewell.clouds.gcp import Google
from sizewell.teardown.records import Device, Series
from sizewell.teardown.telemetry.observation import HISTORY_S, Observation, history, number_of, series, shares
from sizewell.teardown.units import Unit

PERIOD_S: Final = 60.0
LATE_S: Final = (
    300.0  # metrics of the system come up to four minutes late (cloud.google.com/monitoring/api/metrics_gcp)
)
SIZES_PERIOD_S: Final = 300
# docs.cloud.google.com/monitoring/api/metrics_kubernetes: bytes; there is none of power or processes
MEMORY: Final = ("kubernetes.io/node/accelerator/memory_used", "kubernetes.io/node/accelerator/memory_total")
_GONE: Final = frozenset({"TERMINATED", "STOPPED", "SUSPENDED"})


def observe(google: Google, unit: Unit, at: datetime, seconds: float) -> Observation:
    """The machines of a pool, and their samples of the last `seconds`. CloudError where Google does not respond."""
    started: dict[str, float] = {}
    managers: list[tuple[str, str]] = []
    for pool in unit.resources:
        managers += managers_of(google, pool_path(unit, pool.id))
    project = project_of(unit)
    compute = google.reader("compute")
    for zone, name in managers:
        place = f"compute/v1/projects/{project}/zones/{zone}"
        manager = compute.get(f"{place}/instanceGroupManagers/{name}")
        base = str(manager.get("baseInstanceName") or name)
        machines = [
            machine
            for machine in compute.pages(
                f"{place}/instances", items="items", parameter="pageToken", filter=f'name eq "{base}-.*"'
            )
            if machine.get("status") not in _GONE
        ]
        if len(machines) < int(manager.get("targetSize") or 0) and not machines:
            raise CloudError(
                "compute", "unanswered", f"{name} should have {manager['targetSize']} machines, but none is listed"
            )
        for machine in machines:
            started[str(machine["name"])] = datetime.fromisoformat(machine["creationTimestamp"]).timestamp()
    sizes = _sizes(google, project, [name for _, name in managers], at)
    metric = unit.measured.get("metric", "")
    use, memory = {}, {}
    if metric:
        use, used, whole = (_samples(google, unit, project, each, at=at, seconds=seconds) for each in (metric, *MEMORY))
        memory = shares(used, whole)
    return Observation(
        source=f"Cloud Monitoring {unit.measured.get('metric', '')}",
        counted=history(sizes, SIZES_PERIOD_S, started, at.timestamp(), late_s=LATE_S),
        utilization_percent=use,
        memory_percent=memory,
        period_s=PERIOD_S,
        late_s=LATE_S,
    )


def project_of(unit: Unit) -> str:
    resource = (*unit.resources, *unit.serving)[0]
    return str(unit.arguments.get("project") or resource.outputs.get("project") or "")


def pool_path(unit: Unit, identity: str) -> str:
    """The name of a node pool in GKE's API; Pulumi's id is PROJECT/LOCATION/CLUSTER/POOL, or that name."""
    if identity.startswith("projects/"):
        return identity
    parts = identity.split("/")
    if len(parts) != 4:
        resource = next(resource for resource in unit.resources if resource.id == identity)
        held = {**resource.inputs, **resource.outputs}
        cluster = str(held.get("cluster")).rpartition("/")[2]
        parts = [project_of(unit), str(held.get("location")), cluster, str(held.get("name"))]
    project, location, cluster, pool = parts
    return f"projects/{project}/locations/{location}/clusters/{cluster}/nodePools/{pool}"


def managers_of(google: Google, pool: str) -> list[tuple[str, str]]:
    """(zone, name) of the instance groups of a node pool."""
    urls = google.reader("container").get(f"v1/{pool}").get("instanceGroupUrls") or []
    return [(str(url).split("/zones/")[1].partition("/")[0], str(url).rpartition("/")[2]) for url in urls]


def _sizes(google: Google, project: str, managers: list[str], at: datetime) -> list[tuple[float, float]]:
    """How many machines the groups had together, by five minutes; those that a group does not tell are left out."""
    if not managers:
        return []
    names = ",".join(f'"{name}"' for name in managers)
    chosen = (
        'metric.type="compute.googleapis.com/instance_group/size" AND resource.type="instance_group" '
        f"AND resource.labels.instance_group_name=one_of({names})"
    )
    sizes: dict[float, list[float]] = {}
    for answer in series_of(google, project, chosen, at, HISTORY_S, period_s=SIZES_PERIOD_S):
        for at_s, value in points_of(answer):
            sizes.setdefault(at_s - SIZES_PERIOD_S, []).append(value)
    return [(at_s, sum(values)) for at_s, values in sizes.items() if len(values) >= len(managers)]


def _samples(
    google: Google, unit: Unit, project: str, metric: str, *, at: datetime, seconds: float
) -> dict[Device, Series]:
    """The samples of each accelerator of every machine that reports from the node pool, those that left too."""
    pools = sorted({pool_path(unit, pool.id).rpartition("/")[2] for pool in unit.resources})
    cluster = pool_path(unit, unit.resources[0].id).split("/")[5]
    names = ",".join(f'"{pool}"' for pool in pools)
    chosen = (
        f'metric.type="{metric}" AND resource.type="k8s_node" '
        f'AND resource.labels.cluster_name="{cluster}" '
        f'AND metadata.user_labels."cloud.google.com/gke-nodepool"=one_of({names})'
    )
    points: dict[Device, list[tuple[float, float]]] = {}
    seen: dict[str, list[str]] = {}
    for answer in series_of(google, project, chosen, at, seconds + LATE_S):
        machine = str(answer.get("resource", {}).get("labels", {}).get(unit.measured["machine"], ""))
        accelerator = str(answer.get("metric", {}).get("labels", {}).get("accelerator_id", ""))
        known = seen.setdefault(machine, [])
        if accelerator not in known:
            known.append(accelerator)
        number = number_of(accelerator) if accelerator.isdigit() else known.index(accelerator)  # ids may be UUIDs
        points.setdefault((machine, number), []).extend(points_of(answer))
    return {device: series(samples) for device, samples in points.items()}


def series_of(
    google: Google, project: str, chosen: str, at: datetime, seconds: float, *, period_s: int = 0
) -> list[dict[str, Any]]:
    times = {
        "interval.startTime": f"{at - timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}",
        "interval.endTime": f"{at:%Y-%m-%dT%H:%M:%SZ}",
    }
    if period_s:
        times |= {"aggregation.alignmentPeriod": f"{period_s}s", "aggregation.perSeriesAligner": "ALIGN_MAX"}
    reader = google.reader("monitoring")
    path = f"v3/projects/{project}/timeSeries"
    return list(reader.pages(path, items="timeSeries", parameter="pageToken", filter=chosen, **times))


def points_of(answer: dict[str, Any]) -> list[tuple[float, float]]:
    points = []
    for point in answer.get("points") or []:
        value = point["value"]
        at = datetime.fromisoformat(point["interval"]["endTime"]).astimezone(UTC)
        points.append((at.timestamp(), float(value.get("doubleValue", value.get("int64Value", 0)))))
    return points
