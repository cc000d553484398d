"""Scale sets and AKS pools: Azure Resource Manager counts the machines; Azure Monitor or Prometheus has their samples.

No metric of Azure's counts machines. Whether a pool that is empty now was so all the time says the activity log, which
keeps each operation on a scale set for 90 days: without one its number of machines has not changed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError
from sizewell.teardown.records import Counted, Device, Series
from sizewell.teardown.telemetry.observation import HISTORY_S, Observation, counted_none, counted_now, series
from sizewell.teardown.units import Unit

LATE_S: Final = 300.0
COMPUTE: Final = "2024-11-01"
AKS: Final = "2025-05-01"
METRICS: Final = "2023-10-01"
ACTIVITY: Final = "2015-04-01"  # learn.microsoft.com/rest/api/monitor/activitylogs/list
_RESIZES: Final = "microsoft.compute/virtualmachinescalesets/"  # operations; audits of policies are others


def machines(azure: Azure, unit: Unit) -> dict[str, float]:
    """Machines by the name that their metrics carry, and since when. CloudError where Azure does not respond."""
    reader = azure.reader()
    started: dict[str, float] = {}
    for scale_set in _scale_sets(azure, unit):
        for machine in reader.pages(f"{scale_set}/virtualMachines", items="value", **{"api-version": COMPUTE}):
            properties = machine.get("properties") or {}
            name = str(machine["name"])
            if unit.sized_by == "aks-pool":  # exporters name a node as its host does
                name = str((properties.get("osProfile") or {}).get("computerName") or name)
            created = properties.get("timeCreated")
            if not created:
                raise CloudError("azure", "unanswered", f"{scale_set}: no creation time for {name}")
            started[name] = datetime.fromisoformat(created).timestamp()
    return started


def observe(azure: Azure, unit: Unit, at: datetime, seconds: float) -> Observation:
    """The machines of a scale set, and their samples of the last `seconds`."""
    started = machines(azure, unit)
    return Observation(
        source=f"Azure Monitor {unit.measured.get('namespace', '')}/{unit.measured.get('metric', '')}",
        counted=counted(azure, unit, started, at),
        utilization_percent=_samples(azure, unit, at, seconds) if unit.measured and started else {},
        period_s=60.0,
        late_s=LATE_S,
        per="machine",
    )


def counted(azure: Azure, unit: Unit, started: dict[str, float], at: datetime) -> tuple[Counted, ...]:
    """The machines of now; of a pool without any, since when its scale sets had none."""
    if started:
        return tuple(counted_now(started, at.timestamp()))
    begins_s = at.timestamp() - HISTORY_S
    for scale_set in _scale_sets(azure, unit):
        begins_s = max(begins_s, _changed_s(azure, scale_set, at))
    return counted_none(begins_s, at.timestamp())


def _changed_s(azure: Azure, scale_set: str, at: datetime) -> float:
    """When something was done to a scale set last; the beginning of the period where nothing was."""
    begins = at - timedelta(seconds=HISTORY_S)
    events = azure.reader().pages(
        f"/subscriptions/{scale_set.split('/')[2]}/providers/Microsoft.Insights/eventtypes/management/values",
        items="value",
        **{
            "api-version": ACTIVITY,
            "$filter": f"eventTimestamp ge '{begins:%Y-%m-%dT%H:%M:%SZ}' and eventTimestamp le "
            f"'{at:%Y-%m-%dT%H:%M:%SZ}' and resourceUri eq '{scale_set}'",
            "$select": "eventTimestamp,operationName",
        },
    )
    done = [
        datetime.fromisoformat(event["eventTimestamp"]).timestamp()
        for event in events
        if str((event.get("operationName") or {}).get("value", "")).lower().startswith(_RESIZES)
    ]
    return max(done, default=begins.timestamp())


def _scale_sets(azure: Azure, unit: Unit) -> list[str]:
    """Ids of the scale sets of a pool: itself, or those that AKS made for it."""
    resource = unit.resources[0]
    if unit.sized_by == "scale-set":
        return [resource.id]
    reader = azure.reader()
    cluster, _, pool = resource.id.partition("/agentPools/")
    held = reader.get(cluster, **{"api-version": AKS})
    subscription = resource.id.split("/")[2]
    group = f"/subscriptions/{subscription}/resourceGroups/{held['properties']['nodeResourceGroup']}"
    path = f"{group}/providers/Microsoft.Compute/virtualMachineScaleSets"
    sets = reader.pages(path, items="value", **{"api-version": COMPUTE})
    own = [str(each["id"]) for each in sets if (each.get("tags") or {}).get("aks-managed-poolName") == pool]
    if not own:
        raise CloudError("azure", "missing", f"no scale set of pool {pool} in {group}", code="404")
    return own


def _samples(azure: Azure, unit: Unit, at: datetime, seconds: float) -> dict[Device, Series]:
    """The samples of every machine that reports under the scale set, those that left too."""
    begins = at - timedelta(seconds=seconds + LATE_S)
    dimension = unit.measured["machine"]
    answer = azure.reader().get(
        f"{unit.resources[0].id}/providers/Microsoft.Insights/metrics",
        **{
            "top": "1000",
            "api-version": METRICS,
            "metricnamespace": unit.measured["namespace"],
            "metricnames": unit.measured["metric"],
            "aggregation": "Maximum",
            "interval": "PT1M",
            "timespan": f"{begins:%Y-%m-%dT%H:%M:%SZ}/{at:%Y-%m-%dT%H:%M:%SZ}",
            "$filter": f"{dimension} eq '*'",
        },
    )
    points: dict[Device, list[tuple[float, float]]] = {}
    for metric in answer.get("value") or []:
        for each in metric.get("timeseries") or []:
            labels = {label["name"]["value"].lower(): label["value"] for label in each.get("metadatavalues") or []}
            machine = str(labels.get(dimension, ""))
            if machine:
                points.setdefault((machine, 0), []).extend(points_of(each))
    return {device: series(samples) for device, samples in points.items()}


def points_of(answer: dict[str, Any]) -> list[tuple[float, float]]:
    """Samples; a minute without one is in the answer, without a value."""
    return [
        (datetime.fromisoformat(point["timeStamp"]).astimezone(UTC).timestamp(), float(point["maximum"]))
        for point in answer.get("data") or []
        if point.get("maximum") is not None
    ]
