"""Prices of clusters for data: machines by their type, their disks, and the surcharge of the service on each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from sizewell.resources import gcp_nodes, pools
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size
from sizewell.resources.tables import disks, gcp_compute
from sizewell.resources.values import Count, Text, cloud_of, count, flag, get, items, number, text
from sizewell.sizing.money import Interval, LineItem

EMR: Final = "aws:emr/cluster:Cluster"
EMR_GROUP: Final = "aws:emr/instanceGroup:InstanceGroup"
EMR_FLEET: Final = "aws:emr/instanceFleet:InstanceFleet"
DATAPROC: Final = "gcp:dataproc/cluster:Cluster"
HDINSIGHT: Final = "azure-native:hdinsight:Cluster"
_SCALED: Final = "aws:emr/managedScalingPolicy:ManagedScalingPolicy"
_AUTOSCALING: Final = "gcp:dataproc/autoscalingPolicy:AutoscalingPolicy"


_SERVICES: Final = {"emr": "EMR", "hdinsight": "HDInsight"}


def _surcharge(
    resource: RecordedResource, context: Context, service: str, kind: Text, hours: tuple[Interval, str] | None
) -> LineItem:
    """What a service adds to each hour of a machine type."""
    what = f"{_SERVICES[service]} surcharge"
    if isinstance(kind, Unknown) or not kind:
        return context.unpriced(resource, what, "the machine type is not known")
    key = f"{service}.{kind}.hour".lower()
    one = Decimal(1)
    return pools.by_the_hour(resource, context, what=f"{what}, {kind}", key=key, unit="hour", each=one, hours=hours)


def _sized(wanted: Count, most: Count = None, *, ends: bool = False) -> Size:
    """As many machines as are wanted; none at the least where the cluster ends by itself."""
    return Size(least=0 if ends else wanted, wanted=wanted, most=wanted if most is None else most)


def _emr(resource: RecordedResource, context: Context) -> Outcome:
    inputs, ends = resource.inputs, _emr_ends(resource.inputs)
    most = _most_units(resource, context)
    lines: list[LineItem] = []
    for name, largest in (("masterInstanceGroup", None), ("coreInstanceGroup", most)):
        if inputs.get(name) is not None:
            lines += _group(resource, context, inputs[name], largest, ends=ends)
    for name in ("masterInstanceFleet", "coreInstanceFleet"):
        if (fleet := inputs.get(name)) is not None:
            lines += _fleet(resource, context, fleet, ends=ends)
    return tuple(lines) or (context.unpriced(resource, "machines of the cluster", "no group of them is stated"),)


def _emr_ends(inputs: object) -> bool:
    """Whether a cluster ends by itself: with its last step, or some time after it."""
    return flag(get(inputs, "keepJobFlowAliveWhenNoSteps")) is not True or get(inputs, "autoTerminationPolicy") not in (
        None,
        {},
    )


def _ends_with_cluster(resource: RecordedResource, context: Context) -> bool:
    """Whether a group or fleet of its own goes with a cluster of this program that ends by itself."""
    clusters = context.graph.referenced(resource, "clusterId", EMR)
    return isinstance(clusters, tuple) and bool(clusters) and all(_emr_ends(each.inputs) for each in clusters)


def _most_units(resource: RecordedResource, context: Context) -> Count:
    """The machines that a policy of managed scaling allows, None without one."""
    policies = context.graph.referring(resource, _SCALED, "clusterId")
    if isinstance(policies, Unknown):
        return UNKNOWN
    listed = [limit for policy in policies for limit in _listed(policy.inputs.get("computeLimits"))]
    return count(get(listed[0], "maximumCapacityUnits")) if listed else None


def _group(
    resource: RecordedResource, context: Context, group: object, most: Count = None, *, ends: bool = False
) -> Iterator[LineItem]:
    wanted = count(get(group, "instanceCount", default=1))
    if isinstance(most, int) and isinstance(wanted, int):
        most = max(most, wanted)
    market = "spot" if get(group, "bidPrice") is not None else "on-demand"
    yield from _emr_machines(resource, context, group, market, _sized(wanted, most, ends=ends))


def _emr_machines(
    resource: RecordedResource, context: Context, stated: object, market: str, size: Size
) -> Iterator[LineItem]:
    """Machines of one type, the service's surcharge on them, and the disks that each has."""
    kind = text(get(stated, "instanceType"))
    yield pools.machines(resource, context, instance_type=kind, market=market, size=size)
    hours = pools.pool_hours(resource, context, size, str(kind))
    yield _surcharge(resource, context, "emr", kind, hours)
    root = number(resource.inputs.get("ebsRootVolumeSize"))
    if root is not None:
        key = f"ebs.{_root_type(resource)}.gb_month"
        yield pools.disk(resource, context, gigabytes=root, key=key, hours=hours, what="root disks")
    volumes = items(get(stated, "ebsConfigs"))
    if isinstance(volumes, Unknown):
        yield context.unpriced(resource, "data disks", "the disks are known only after deployment")
        return
    if not volumes:
        name = context.graph.component(resource)
        context.outside.append(f"{name}: disks that EMR attaches by itself ({resource.name}): size not stated")
    for volume in volumes:
        yield from _volumes(resource, context, volume, hours)


def _volumes(
    resource: RecordedResource, context: Context, volume: object, hours: tuple[Interval, str] | None
) -> Iterator[LineItem]:
    each, gigabytes = number(get(volume, "volumesPerInstance", default=1)), number(get(volume, "size"))
    kind = text(get(volume, "type"))
    if not isinstance(each, Decimal) or not isinstance(gigabytes, Decimal) or isinstance(kind, Unknown):
        yield context.unpriced(resource, "data disks", "their size or type is known only after deployment")
        return
    what = "data disks"
    key = f"ebs.{kind}.gb_month"
    yield pools.disk(resource, context, gigabytes=gigabytes * each, key=key, hours=hours, what=what)
    every = None if hours is None else (hours[0].times(each), hours[1])
    yield from disks.performance(
        resource,
        context,
        disk=f"ebs.{kind}",
        iops=get(volume, "iops"),
        throughput=get(volume, "throughput"),
        hours=every,
        what=what,
    )


def _root_type(resource: RecordedResource) -> str:
    """The type of root disks, which a release sets: gp3 from 6.15 on (docs.aws.amazon.com/emr, from memory)."""
    release = re.match(r"emr-(\d+)\.(\d+)", str(resource.inputs.get("releaseLabel")))
    return "gp2" if release and (int(release[1]), int(release[2])) < (6, 15) else "gp3"


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
        yield from _emr_machines(resource, context, configs[0], market, _sized(wanted, ends=ends))


def _emr_group(resource: RecordedResource, context: Context) -> Outcome:
    return tuple(_group(resource, context, resource.inputs, ends=_ends_with_cluster(resource, context)))


def _emr_fleet(resource: RecordedResource, context: Context) -> Outcome:
    ends = _ends_with_cluster(resource, context)
    return tuple(_fleet(resource, context, resource.inputs, ends=ends)) or Free("no machine of it is ordered")


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
    return tuple(lines) or Free("no machine of it is ordered")


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
        local_disks=count(get(stated, "diskConfig", "numLocalSsds", default=0)),
    )
    lines = gcp_compute.machine_hours(resource, context, machine, size)
    hours = pools.pool_hours(resource, context, size, str(kind))
    lines += _dataproc_disk(resource, context, stated, hours, secondary=secondary)
    return [*lines, _dataproc_surcharge(resource, context, kind, hours)]


def _dataproc_disk(
    resource: RecordedResource,
    context: Context,
    stated: object,
    hours: tuple[Interval, str] | None,
    *,
    secondary: bool,
) -> list[LineItem]:
    """The boot disk of each machine: 500 GB of pd-standard where nothing is stated, of secondary workers 100 at most.

    Source, from memory: cloud.google.com/dataproc/docs/reference/rest/v1/InstanceGroupConfig (DiskConfig).
    """
    config = get(stated, "diskConfig")
    gigabytes, kind = number(get(config, "bootDiskSizeGb")), text(get(config, "bootDiskType"), "pd-standard")
    what, key = "boot disks", gcp_compute.disk_key(kind)
    if isinstance(key, Unknown):
        return [context.unpriced(resource, what, "the disk type is known only after deployment")]
    silent = gigabytes is None
    if silent:
        workers = number(get(resource.inputs, "clusterConfig", "workerConfig", "diskConfig", "bootDiskSizeGb"))
        gigabytes = Decimal(500)
        if secondary:
            gigabytes = min(Decimal(100), workers) if isinstance(workers, Decimal) else Decimal(100)
    line = pools.disk(resource, context, gigabytes=gigabytes, key=key, hours=hours, what=what)
    line = replace(line, confidence=line.confidence or "the service's own size") if silent else line
    iops, throughput = get(config, "bootDiskProvisionedIops"), get(config, "bootDiskProvisionedThroughput")
    stated_of = {"provisionedIops": iops, "provisionedThroughput": throughput}
    return [line, *gcp_compute.provisioned(resource, context, stated_of, key, hours, what=what)]


def _dataproc_surcharge(
    resource: RecordedResource, context: Context, kind: Text, hours: tuple[Interval, str] | None
) -> LineItem:
    """What Dataproc adds to each vCPU-hour."""
    what = "Dataproc surcharge"
    vcpus = None if isinstance(kind, Unknown) else pools.vcpus(context, cloud_of(resource.type), kind)
    if vcpus is None:
        return context.unpriced(resource, what, f"it goes by the vCPUs of {kind}, which are not known")
    tier = text(get(resource.inputs, "clusterConfig", "clusterTier"))
    if isinstance(tier, Unknown):
        return context.unpriced(resource, what, "the tier of the cluster is known only after deployment")
    premium = "premium." if tier.upper() == "CLUSTER_TIER_PREMIUM" else ""
    key, unit = f"dataproc.{premium}vcpu_hour", "vCPU-hour"
    return pools.by_the_hour(
        resource, context, what=f"{what}, {kind}", key=key, unit=unit, each=Decimal(vcpus), hours=hours
    )


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
    lines: list[LineItem] = []
    for role in _listed(get(resource.inputs, "properties", "computeProfile", "roles")):
        kind = text(get(role, "hardwareProfile", "vmSize"))
        most = count(get(role, "autoscale", "capacity", "maxInstanceCount"))
        size = _sized(count(get(role, "targetInstanceCount", default=1)), most)
        lines.append(pools.machines(resource, context, instance_type=kind, market="on-demand", size=size))
        hours = pools.pool_hours(resource, context, size, str(kind))
        lines.append(_surcharge(resource, context, "hdinsight", kind, hours))
        if get(role, "dataDisksGroups") is not None:
            lines.append(context.unpriced(resource, "data disks", "their price on its nodes is not in the catalog"))
    return tuple(lines) or (context.unpriced(resource, "machines of the cluster", "no role of them is stated"),)


def _listed(value: object) -> tuple[Any, ...]:
    listed = items(value)
    return () if isinstance(listed, Unknown) else tuple(listed)


AWS: Final[dict[str, Pricer]] = {EMR: _emr, EMR_GROUP: _emr_group, EMR_FLEET: _emr_fleet}
GCP: Final[dict[str, Pricer]] = {DATAPROC: _dataproc}
AZURE: Final[dict[str, Pricer]] = {HDINSIGHT: _hdinsight}
