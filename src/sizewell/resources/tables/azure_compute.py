"""Prices of Azure machines: scale sets, virtual machines, AKS clusters and pools, machine-learning compute."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from sizewell.resources import azure_nodes, pools
from sizewell.resources.azure_nodes import Machine
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.tables import disks
from sizewell.resources.values import Text, count, get, items, number, text
from sizewell.sizing.money import Interval, LineItem


def disk_key(kind: Text) -> Text:
    """The catalog's key of a managed disk SKU: "Premium_LRS" is "disk.premium_lrs"."""
    if isinstance(kind, Unknown):
        return UNKNOWN
    return "disk.premium_ssd_v2" if kind.startswith("PremiumV2") else f"disk.{kind.lower()}"


def managed_disk(
    resource: RecordedResource,
    context: Context,
    *,
    gigabytes: object,
    kind: Text,
    hours: tuple[Interval, str] | None,
    what: str,
) -> LineItem:
    """A managed disk: premium SSDs bill by the size class that holds them, whole, all others by the gigabyte."""
    key, size = disk_key(kind), number(gigabytes)
    if isinstance(key, Unknown):
        return context.unpriced(resource, what, "the disk type is known only after deployment")
    return pools.disk(resource, context, gigabytes=size, key=key, hours=hours, what=what)


def _machines(
    resource: RecordedResource, context: Context, machine: Machine, size: Size, premium: str = ""
) -> list[LineItem]:
    markets = ("on-demand", "spot") if machine.mix is not None else (machine.market,)
    lines = [
        pools.machines(resource, context, instance_type=machine.kind, market=market, size=size, premium=premium)
        for market in markets
    ]
    if machine.mix is not None:
        lines = pools.shares(lines[0], lines[1], machine.mix, size)
    hours = pools.pool_hours(resource, context, size, machine.kind if isinstance(machine.kind, str) else "")
    lines += pools.addresses(resource, context, public=machine.public, hours=hours)
    lines += pools.licences(resource, context, instance_type=machine.kind, system=machine.system, hours=hours)
    if machine.ephemeral is True:
        return lines
    if machine.ephemeral is UNKNOWN:
        lines.append(context.unpriced(resource, "OS disks", "the disk is known only after deployment"))
    elif machine.disk_gigabytes is None:
        context.outside.append(f"{context.graph.component(resource)}: OS disk of the image, size not stated")
    else:
        lines.append(
            managed_disk(
                resource,
                context,
                gigabytes=machine.disk_gigabytes,
                kind=machine.disk_type,
                hours=hours,
                what="OS disks",
            )
        )
    return lines


def _scale_set(resource: RecordedResource, context: Context) -> Outcome:
    machine = azure_nodes.scale_set_machine(resource)
    size = azure_nodes.scale_set_size(context.graph, resource)
    lines = _machines(resource, context, machine, size)
    data = items(get(resource.inputs, "virtualMachineProfile", "storageProfile", "dataDisks"))
    lines.extend(_data_disks(resource, context, data, size, machine))
    return tuple(lines)


def _standby(resource: RecordedResource, context: Context) -> Outcome:
    """Machines of a scale set that wait; without running they are billed for their disks."""
    scale_set = azure_nodes.standby_set(context.graph, resource)
    runs = azure_nodes.standby_runs(resource)
    if not isinstance(scale_set, RecordedResource) or runs is UNKNOWN:
        return (context.unpriced(resource, "standby machines", "the scale set or its state is not known in this plan"),)
    machine = azure_nodes.scale_set_machine(scale_set)
    size = azure_nodes.standby_size(context.graph, resource)
    lines = _machines(resource, context, machine, size)
    data = items(get(scale_set.inputs, "virtualMachineProfile", "storageProfile", "dataDisks"))
    lines.extend(_data_disks(resource, context, data, size, machine))
    if runs is not True:
        lines = [line for line in lines if line.what in ("OS disks", "data disks")]
    return tuple(lines) or Free("its machines do not run, and their disks are not stated")


def _data_disks(
    resource: RecordedResource, context: Context, disks: Any, size: Size, machine: Machine
) -> list[LineItem]:
    if isinstance(disks, Unknown):
        return [context.unpriced(resource, "data disks", "the disks are known only after deployment")]
    hours = pools.pool_hours(resource, context, size, machine.kind if isinstance(machine.kind, str) else "")
    return [
        managed_disk(
            resource,
            context,
            gigabytes=get(disk, "diskSizeGB"),
            kind=text(get(disk, "managedDisk", "storageAccountType"), "Premium_LRS"),
            hours=hours,
            what="data disks",
        )
        for disk in disks
    ]


def _vm(resource: RecordedResource, context: Context) -> Outcome:
    machine = azure_nodes.vm_machine(resource)
    lines = _machines(resource, context, machine, fixed(1))
    data = items(get(resource.inputs, "storageProfile", "dataDisks"))
    lines.extend(_data_disks(resource, context, data, fixed(1), machine))
    return tuple(lines)


def _managed_cluster(resource: RecordedResource, context: Context) -> Outcome:
    tier = text(get(resource.inputs, "sku", "tier"), "Free")
    lines: list[LineItem] = []
    if isinstance(tier, Unknown):
        lines.append(context.unpriced(resource, "cluster control plane", "the tier is not known yet"))
    elif tier != "Free":
        key = "aks.control_plane" + ("" if tier == "Standard" else f".{tier.lower()}")
        lines.append(context.standing(resource, what=f"cluster control plane, {key}", key=key))
    pools_inside = items(resource.inputs.get("agentPoolProfiles"))
    if isinstance(pools_inside, Unknown):
        lines.append(context.unpriced(resource, "node pools", "the pools are known only after deployment"))
        return tuple(lines)
    for profile in pools_inside:
        size = azure_nodes.agent_size(profile)
        lines.extend(_machines(resource, context, azure_nodes.agent_machine(profile), size))
    return tuple(lines) or Free("the free control plane")


def _agent_pool(resource: RecordedResource, context: Context) -> Outcome:
    machine = azure_nodes.agent_machine(resource.inputs)
    return tuple(_machines(resource, context, machine, azure_nodes.agent_size(resource.inputs)))


def _ml_compute(resource: RecordedResource, context: Context) -> Outcome:
    outer = resource.inputs.get("properties")
    kind = text(get(outer, "computeType"))
    inner = get(outer, "properties")
    vm = text(get(inner, "vmSize"))
    if isinstance(kind, Unknown):
        return (context.unpriced(resource, "ML compute", "the kind is known only after deployment"),)
    if kind == "AmlCompute":
        scale = get(inner, "scaleSettings")
        least = count(get(scale, "minNodeCount", default=0))
        size = Size(least=least, wanted=least, most=count(get(scale, "maxNodeCount")))
        market = azure_nodes.spot_market(get(inner, "vmPriority"))
        return (pools.machines(resource, context, instance_type=vm, market=market, size=size, premium="azureml"),)
    if kind == "ComputeInstance":
        line = pools.machines(resource, context, instance_type=vm, market="on-demand", size=fixed(1), premium="azureml")
        return (line,)
    return Free("attached compute is priced separately")


def _deployment(resource: RecordedResource, context: Context) -> Outcome:
    details = resource.inputs.get("properties")
    kind = text(get(details, "endpointComputeType"), "Managed")
    if kind == "Kubernetes":
        return Free("runs on a cluster that is priced separately")
    wanted = count(get(resource.inputs, "sku", "capacity", default=1))
    scale = get(details, "scaleSettings")
    size = fixed(wanted)
    if get(scale, "scaleType") == "TargetUtilization":
        size = Size(
            least=count(get(scale, "minInstances", default=1)),
            wanted=wanted,
            most=count(get(scale, "maxInstances", default=wanted)),
        )
    vm = text(get(details, "instanceType"))
    return (pools.machines(resource, context, instance_type=vm, market="on-demand", size=size, premium="azureml"),)


def _disk(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(get(resource.inputs, "sku", "name"), "Standard_LRS")
    gigabytes = resource.inputs.get("diskSizeGB", UNKNOWN if "creationData" in resource.inputs else None)
    iops, throughput = (resource.inputs.get(key) for key in ("diskIOPSReadWrite", "diskMBpsReadWrite"))
    return (
        managed_disk(resource, context, gigabytes=gigabytes, kind=kind, hours=disks.ALWAYS, what="disk"),
        *disks.performance(resource, context, disk=str(disk_key(kind)), iops=iops, throughput=throughput),
    )


def _lustre(resource: RecordedResource, context: Context) -> Outcome:
    sku = text(get(resource.inputs, "sku", "name"))
    terabytes = number(resource.inputs.get("storageCapacityTiB"))
    if isinstance(sku, Unknown):
        return (context.unpriced(resource, "Managed Lustre", "the tier is known only after deployment"),)
    gigabytes = terabytes * 1024 if isinstance(terabytes, Decimal) else terabytes
    key = f"lustre.{sku.rsplit('-', 1)[-1].lower()}"
    return (pools.standing_disk(resource, context, gigabytes=gigabytes, key=key, what="file system"),)


TABLE: Final[dict[str, Pricer]] = {
    "azure-native:compute:VirtualMachineScaleSet": _scale_set,
    "azure-native:compute:VirtualMachine": _vm,
    azure_nodes.STANDBY_POOL: _standby,
    "azure-native:containerservice:ManagedCluster": _managed_cluster,
    "azure-native:containerservice:AgentPool": _agent_pool,
    "azure-native:machinelearningservices:Compute": _ml_compute,
    "azure-native:machinelearningservices:OnlineDeployment": _deployment,
    "azure-native:compute:Disk": _disk,
    "azure-native:storagecache:AmlFilesystem": _lustre,
}
