"""Prices of clusters for data: machines by their type, and beside them the surcharge of the service, unpriced."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from sizewell.resources import gcp_nodes, pools
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size
from sizewell.resources.tables import gaps, gcp_compute
from sizewell.resources.values import Count, count, flag, get, items, number, text
from sizewell.sizing.money import LineItem

EMR: Final = "aws:emr/cluster:Cluster"
EMR_GROUP: Final = "aws:emr/instanceGroup:InstanceGroup"
EMR_FLEET: Final = "aws:emr/instanceFleet:InstanceFleet"
DATAPROC: Final = "gcp:dataproc/cluster:Cluster"
HDINSIGHT: Final = "azure-native:hdinsight:Cluster"
_SCALED: Final = "aws:emr/managedScalingPolicy:ManagedScalingPolicy"
_AUTOSCALING: Final = "gcp:dataproc/autoscalingPolicy:AutoscalingPolicy"


def _with_surcharge(resource: RecordedResource, context: Context, lines: list[LineItem]) -> Outcome:
    fee = gaps.TABLE[resource.type](resource, context)
    return tuple(lines) if isinstance(fee, Free) else (*lines, *fee)


def _sized(wanted: Count, most: Count = None, *, ends: bool = False) -> Size:
    """As many machines as are wanted; none at the least where the cluster ends by itself."""
    return Size(least=0 if ends else wanted, wanted=wanted, most=wanted if most is None else most)


def _emr(resource: RecordedResource, context: Context) -> Outcome:
    inputs = resource.inputs
    ends = flag(inputs.get("keepJobFlowAliveWhenNoSteps")) is not True or bool(get(inputs, "autoTerminationPolicy"))
    most = _most_units(resource, context)
    lines = [
        _group(resource, context, inputs[name], largest, ends=ends)
        for name, largest in (("masterInstanceGroup", None), ("coreInstanceGroup", most))
        if inputs.get(name) is not None
    ]
    for name in ("masterInstanceFleet", "coreInstanceFleet"):
        if (fleet := inputs.get(name)) is not None:
            lines += _fleet(resource, context, fleet, ends=ends)
    return _with_surcharge(resource, context, lines)


def _most_units(resource: RecordedResource, context: Context) -> Count:
    """The machines that a policy of managed scaling allows, None without one."""
    policies = context.graph.referring(resource, _SCALED, "clusterId")
    if isinstance(policies, Unknown):
        return UNKNOWN
    listed = [limit for policy in policies for limit in _listed(policy.inputs.get("computeLimits"))]
    return count(get(listed[0], "maximumCapacityUnits")) if listed else None


def _group(
    resource: RecordedResource, context: Context, group: object, most: Count = None, *, ends: bool = False
) -> LineItem:
    wanted = count(get(group, "instanceCount", default=1))
    if isinstance(most, int) and isinstance(wanted, int):
        most = max(most, wanted)
    return pools.machines(
        resource,
        context,
        instance_type=text(get(group, "instanceType")),
        market="spot" if get(group, "bidPrice") is not None else "on-demand",
        size=_sized(wanted, most, ends=ends),
    )


def _fleet(resource: RecordedResource, context: Context, fleet: object, *, ends: bool = False) -> Iterator[LineItem]:
    """A line for each market of a fleet: as many machines as reach its target, by the weight of their type."""
    configs = _listed(get(fleet, "instanceTypeConfigs"))
    for market, key in (("on-demand", "targetOnDemandCapacity"), ("spot", "targetSpotCapacity")):
        target = number(get(fleet, key, default=0))
        if target == 0:
            continue
        if len(configs) != 1:
            yield context.unpriced(resource, f"machines of the fleet, {market}", "which of several types is not known")
            continue
        weight = number(get(configs[0], "weightedCapacity", default=1))
        known = isinstance(target, Decimal) and isinstance(weight, Decimal) and weight
        wanted = int((target / weight).to_integral_value(ROUND_CEILING)) if known else UNKNOWN  # type: ignore[operator]
        kind = text(get(configs[0], "instanceType"))
        yield pools.machines(resource, context, instance_type=kind, market=market, size=_sized(wanted, ends=ends))


def _emr_group(resource: RecordedResource, context: Context) -> Outcome:
    return _with_surcharge(resource, context, [_group(resource, context, resource.inputs)])


def _emr_fleet(resource: RecordedResource, context: Context) -> Outcome:
    return _with_surcharge(resource, context, list(_fleet(resource, context, resource.inputs)))


def _dataproc(resource: RecordedResource, context: Context) -> Outcome:
    config = get(resource.inputs, "clusterConfig")
    virtual = get(resource.inputs, "virtualClusterConfig")
    if config is None and virtual is not None and not isinstance(virtual, Unknown):
        return Free("runs on a cluster of Kubernetes, which is billed")
    if isinstance(config, Unknown) or isinstance(virtual, Unknown):
        return (context.unpriced(resource, "machines of the cluster", "known only after deployment"),)
    ends = get(config, "lifecycleConfig") is not None
    most, most_spot = _dataproc_most(resource, context, config)
    properties = get(config, "softwareConfig", "overrideProperties")
    workers = 0 if str(get(properties, "dataproc:dataproc.allow.zero.workers")).lower() == "true" else 2
    lines: list[LineItem] = []
    for name, default, allowed in (
        ("masterConfig", 1, None),
        ("workerConfig", workers, most),
        ("preemptibleWorkerConfig", 0, most_spot),
    ):
        stated = get(config, name)
        wanted = count(get(stated, "numInstances", default=default))
        largest = max(allowed, wanted) if isinstance(allowed, int) and isinstance(wanted, int) else allowed
        if wanted == 0 and not largest:
            continue
        lines += _dataproc_machines(
            resource, context, name, stated if stated is not None else {}, _sized(wanted, largest, ends=ends)
        )
    return _with_surcharge(resource, context, lines)


def _dataproc_machines(
    resource: RecordedResource, context: Context, name: str, stated: object, size: Size
) -> list[LineItem]:
    # Secondary workers run on the type of the others, and on spot where nothing says that they do not.
    # Source, from memory: cloud.google.com/dataproc/docs/concepts/compute/secondary-vms.
    secondary = name == "preemptibleWorkerConfig"
    spot = secondary and str(get(stated, "preemptibility", default="PREEMPTIBLE")).upper() != "NON_PREEMPTIBLE"
    workers: Any = get(resource.inputs, "clusterConfig", "workerConfig", default={})
    kind = text(get(workers if secondary else stated, "machineType"))
    attached = items(get(workers if secondary else stated, "accelerators"))
    if kind == "":
        return [context.unpriced(resource, "machines of the cluster", "no machine type is stated")]
    machine = gcp_nodes.Machine(
        kind=kind,
        market="spot" if spot else "on-demand",
        attached=UNKNOWN if isinstance(attached, Unknown) else tuple(map(_accelerator, attached)),
        disk=None,
        disk_gigabytes=None,
        disk_type="",
        local_disks=0,
    )
    return gcp_compute.machine_hours(resource, context, machine, size)


def _accelerator(stated: object) -> dict[str, Any]:
    return {"type": get(stated, "acceleratorType"), "count": get(stated, "acceleratorCount", default=1)}


def _dataproc_most(resource: RecordedResource, context: Context, config: object) -> tuple[Count, Count]:
    """The most workers of either kind that a policy of autoscaling allows."""
    uri = get(config, "autoscalingConfig", "policyUri")
    if uri is None:
        return None, None
    policies = context.graph.referenced(resource, "clusterConfig", _AUTOSCALING)
    if not isinstance(policies, tuple) or len(policies) != 1:
        return UNKNOWN, UNKNOWN
    inputs = policies[0].inputs
    return (
        count(get(inputs, "workerConfig", "maxInstances")),
        count(get(inputs, "secondaryWorkerConfig", "maxInstances", default=0)),
    )


def _hdinsight(resource: RecordedResource, context: Context) -> Outcome:
    lines = [
        pools.machines(
            resource,
            context,
            instance_type=text(get(role, "hardwareProfile", "vmSize")),
            market="on-demand",
            size=_sized(
                count(get(role, "targetInstanceCount", default=1)),
                count(get(role, "autoscale", "capacity", "maxInstanceCount")),
            ),
        )
        for role in _listed(get(resource.inputs, "properties", "computeProfile", "roles"))
    ]
    return _with_surcharge(resource, context, lines)


def _listed(value: object) -> tuple[Any, ...]:
    listed = items(value)
    return () if isinstance(listed, Unknown) else tuple(listed)


AWS: Final[dict[str, Pricer]] = {EMR: _emr, EMR_GROUP: _emr_group, EMR_FLEET: _emr_fleet}
GCP: Final[dict[str, Pricer]] = {DATAPROC: _dataproc}
AZURE: Final[dict[str, Pricer]] = {HDINSIGHT: _hdinsight}
