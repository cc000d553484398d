"""How the size of a pool on Azure is moved. `teardown/act.py` alone calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sizewell.clouds.azure import Azure
from sizewell.teardown.telemetry import azure
from sizewell.teardown.units import Unit
from sizewell.teardown.writing import Writer


def empty(cloud: Azure, unit: Unit) -> str:
    """See `act.empty`."""
    return _empty(Writer(cloud.reader()), unit)


def wake(cloud: Azure, unit: Unit) -> str:
    """See `act.wake`."""
    return _wake(Writer(cloud.reader()), unit)


def _empty(writer: Writer, unit: Unit) -> str:
    resource = unit.resources[0].id
    if unit.sized_by == "aks-pool":
        return _switch(writer, resource, "Stopped")
    body = {"sku": {**(unit.resources[0].inputs.get("sku") or {}), "capacity": unit.nodes_min}}
    writer.call("PATCH", resource, body, **{"api-version": azure.COMPUTE})
    return f"compute PATCH {resource}: capacity {unit.nodes_min}"


def _wake(writer: Writer, unit: Unit) -> str:
    resource = unit.resources[0].id
    if unit.sized_by == "aks-pool":
        cluster = resource.partition("/agentPools/")[0]
        version = {"api-version": azure.AKS}
        held = writer.reader.get(cluster, **version)
        if (held.get("properties") or {}).get("powerState", {}).get("code") == "Stopped":  # by the stack's expiry
            writer.call("POST", f"{cluster}/start", None, **version)
        return _switch(writer, resource, "Running")
    for setting in _autoscale(writer, resource):
        if not setting["properties"].get("enabled"):
            enabled = {"properties": {"enabled": True}}
            writer.call("PATCH", str(setting["id"]), enabled, **{"api-version": "2022-10-01"})
    held = writer.reader.get(resource, **{"api-version": azure.COMPUTE})
    size = max(unit.nodes_initial, int((held.get("sku") or {}).get("capacity") or 0))  # a wake takes no machine away
    body = {"sku": {**(unit.resources[0].inputs.get("sku") or {}), "capacity": size}}
    writer.call("PATCH", resource, body, **{"api-version": azure.COMPUTE})
    return f"compute PATCH {resource}: capacity {size}, autoscaling on"


def _autoscale(writer: Writer, scale_set: str) -> Sequence[Mapping[str, Any]]:
    """The autoscale settings of a scale set."""
    group = scale_set.partition("/providers/")[0]
    path = f"{group}/providers/Microsoft.Insights/autoscaleSettings"
    settings = writer.reader.pages(path, items="value", **{"api-version": "2022-10-01"})
    return [
        setting
        for setting in settings
        if str(setting["properties"].get("targetResourceUri", "")).lower() == scale_set.lower()
    ]


def _switch(writer: Writer, pool: str, code: str) -> str:
    """AKS has no call for a pool's power state; it takes the whole pool back with another one."""
    version = {"api-version": azure.AKS}
    held = writer.reader.get(pool, **version)
    if ((held.get("properties") or {}).get("powerState") or {}).get("code") == code:
        return f"containerservice {pool}: is {code} already"
    body = {**held, "properties": {**held["properties"], "powerState": {"code": code}}}
    writer.call("PUT", pool, body, **version)
    return f"containerservice PUT {pool}: {code}"
