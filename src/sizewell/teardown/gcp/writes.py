"""How the size of a pool on GKE is moved. `teardown/act.py` alone calls it."""

from __future__ import annotations

from sizewell.clouds.gcp import Google
from sizewell.teardown.telemetry import google
from sizewell.teardown.units import Unit
from sizewell.teardown.writing import Writer


def empty(cloud: Google, unit: Unit) -> str:
    """As the pool's workflow: off the autoscaler, which would bring machines back, then to the smallest size."""
    writer, done = Writer(cloud.reader("container")), []
    zones = {resource.id: len(resource.inputs.get("nodeLocations") or ()) or 1 for resource in unit.resources}
    for resource in unit.resources:
        path = f"v1/{google.pool_path(unit, resource.id)}"
        scaling = resource.inputs.get("autoscaling") or {}
        size = -(-int(scaling.get("totalMinNodeCount") or 0) // zones[resource.id])
        if scaling:
            writer.call("POST", f"{path}:setAutoscaling", {"autoscaling": {"enabled": False}})
        writer.call("POST", f"{path}:setSize", {"nodeCount": size})
        done.append(path.rpartition("/")[2])
    return f"container setSize of {', '.join(done)}"


def wake(cloud: Google, unit: Unit) -> str:
    """See `act.wake`."""
    writer, done = Writer(cloud.reader("container")), []
    for resource in unit.resources:
        path = f"v1/{google.pool_path(unit, resource.id)}"
        inputs = resource.inputs
        size = max(int(inputs.get("nodeCount") or inputs.get("initialNodeCount") or 0), _largest(cloud, unit, path))
        writer.call("POST", f"{path}:setSize", {"nodeCount": size})
        if scaling := inputs.get("autoscaling"):
            keys = ("totalMinNodeCount", "totalMaxNodeCount", "minNodeCount", "maxNodeCount", "locationPolicy")
            stated = {key: scaling[key] for key in keys if key in scaling}
            writer.call("POST", f"{path}:setAutoscaling", {"autoscaling": {"enabled": True, **stated}})
        done.append(f"{path.rpartition('/')[2]}: {size}")
    return f"container setSize and setAutoscaling of {', '.join(done)}"


def _largest(cloud: Google, unit: Unit, path: str) -> int:
    """How many machines a zone of a pool has at most: a wake, which sets one number for each zone, takes none away."""
    compute, place = cloud.reader("compute"), f"compute/v1/projects/{google.project_of(unit)}/zones"
    return max(
        (
            int(compute.get(f"{place}/{zone}/instanceGroupManagers/{name}").get("targetSize") or 0)
            for zone, name in google.managers_of(cloud, path.removeprefix("v1/"))
        ),
        default=0,
    )
