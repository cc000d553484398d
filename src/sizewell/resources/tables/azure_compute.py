"""Prices of Azure machines: scale sets, virtual machines, AKS clusters and pools, machine-learning compute."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from sizewell.resources import azure_nodes, pools
from sizewell.resources.azure_nodes import Machine
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.readers import pod_machines, services
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.tables import disks, reserved
from sizewell.resources.values import Text, canonical, count, get, items, number, text
from sizewell.sizing.billing.tariff import ONE
from sizewell.sizing.money import Interval, LineItem

_MACHINE: Final = "azure-native:compute:VirtualMachine"


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
    """A managed disk: most bill by the size class that holds them, whole, premium SSD v2 and ultra by the gigabyte."""
    key, size = disk_key(kind), number(gigabytes)
    if isinstance(key, Unknown):
        return context.unpriced(resource, what, "the disk type is known only after deployment")
    return pools.disk(resource, context, gigabytes=size, key=key, hours=hours, what=what)


def _machines(
    resource: RecordedResource, context: Context, machine: Machine, size: Size, premium: str = ""
) -> list[LineItem]:
    if machine.on_host:
        pools.on_host(resource, context, "azure-native:compute:DedicatedHost")
    markets = ("on-demand", "spot") if machine.mix is not None else (machine.market,)
    lines = [
        pools.machines(resource, context, instance_type=machine.kind, market=market, size=size, premium=premium)
        for market in ((), markets)[not machine.on_host]
    ]
    if machine.mix is not None and not machine.on_host:
        lines = pools.shares(lines[0], lines[1], machine.mix, size)
    held = reserved.azure(resource, context, machine=machine)
    lines = [reserved.beyond(line, context, held) if _is_regular(line) else line for line in lines]
    hours = pools.pool_hours(resource, context, size, machine.kind if isinstance(machine.kind, str) else "")
    lines += pools.addresses(resource, context, public=machine.public, hours=hours)
    lines += licences(resource, context, machine, hours, lines)
    if machine.ephemeral is True:
        return lines
    hours = _disk_hours(resource, context, size, machine)
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


def _is_regular(line: LineItem) -> bool:
    return line.asked is not None and line.asked.market == "on-demand"


def licences(
    resource: RecordedResource,
    context: Context,
    machine: Machine,
    hours: tuple[Interval, str] | None,
    lines: Sequence[LineItem] = (),
) -> list[LineItem]:
    """The licences of machines, whose lines these are. On spot the price falls for machine and licence together, by
    meters of their own. Source, from memory: azure.microsoft.com/pricing/spot.
    """
    if not machine.system or machine.market == "on-demand" or machine.on_host:
        return pools.licences(resource, context, instance_type=machine.kind, system=machine.system, hours=hours)
    own = []
    regular = next(filter(_is_regular, lines), None) if machine.mix is not None else None
    if regular is not None:  # the share that is not on spot
        share = (regular.quantity, regular.confidence)
        own = pools.licences(resource, context, instance_type=machine.kind, system=machine.system, hours=share)
    why = "it is billed with the machine, and spot with it has no price in the catalog"
    if isinstance(machine.market, Unknown):
        why = "the market is known only after deployment"
    return [*own, context.unpriced(resource, f"{machine.system} licence on spot", why)]


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


def _disk_hours(
    resource: RecordedResource, context: Context, size: Size, machine: Machine
) -> tuple[Interval, str] | None:
    """Hours of the disks of machines: a virtual machine keeps its own while it is stopped."""
    hours_of = pools.kept_hours if canonical(resource.type) == _MACHINE else pools.pool_hours
    return hours_of(resource, context, size, machine.kind if isinstance(machine.kind, str) else "")


def _data_disks(
    resource: RecordedResource, context: Context, attached: Any, size: Size, machine: Machine
) -> list[LineItem]:
    if isinstance(attached, Unknown):
        return [context.unpriced(resource, "data disks", "the disks are known only after deployment")]
    hours = _disk_hours(resource, context, size, machine)
    lines: list[LineItem] = []
    for disk in attached:
        owned = get(disk, "managedDisk", "id") is not None or get(disk, "diskSizeGB") is None
        if get(disk, "createOption") == "Attach" and owned:
            continue  # a disk of its own
        kind = text(get(disk, "managedDisk", "storageAccountType"), "Premium_LRS")
        size_of = get(disk, "diskSizeGB")
        lines.append(managed_disk(resource, context, gigabytes=size_of, kind=kind, hours=hours, what="data disks"))
        iops, throughput = (get(disk, key) for key in ("diskIOPSReadWrite", "diskMBpsReadWrite"))
        lines += disks.performance(
            resource,
            context,
            disk=str(disk_key(kind)),
            iops=iops,
            throughput=throughput,
            hours=hours,
            what="data disks",
        )
    return lines


def _vm(resource: RecordedResource, context: Context) -> Outcome:
    machine = azure_nodes.vm_machine(resource)
    lines = _machines(resource, context, machine, fixed(1))
    data = items(get(resource.inputs, "storageProfile", "dataDisks"))
    lines.extend(_data_disks(resource, context, data, fixed(1), machine))
    return tuple(lines) or Free("it runs on a dedicated host or in a reservation, and its disks are not stated")


def _managed_cluster(resource: RecordedResource, context: Context) -> Outcome:
    tier = text(get(resource.inputs, "sku", "tier"), "Free")
    lines: list[LineItem] = []
    automatic = get(resource.inputs, "sku", "name") == "Automatic"
    if isinstance(tier, Unknown):
        lines.append(context.unpriced(resource, "cluster control plane", "the tier is not known yet"))
    elif automatic or tier != "Free":
        sort = "automatic" if automatic else "" if tier == "Standard" else tier.lower()
        key = "aks.control_plane" + (f".{sort}" if sort else "")
        lines.append(context.standing(resource, what=f"cluster control plane, {key}", key=key))
    pools_inside = items(resource.inputs.get("agentPoolProfiles"))
    if isinstance(pools_inside, Unknown):
        lines.append(context.unpriced(resource, "node pools", "the pools are known only after deployment"))
        return tuple(lines)
    lines += _outbound(resource, context)
    if automatic:  # pods decide, not the pools that are stated
        lines.append(
            context.unpriced(resource, "machines of AKS Automatic", "the service starts them as pods need them")
        )
        return tuple(lines)
    for index, profile in enumerate(pools_inside):
        size = pod_machines.raised(context.graph, resource, azure_nodes.agent_size(profile), index)
        lines.extend(_machines(resource, context, azure_nodes.agent_machine(profile, resource.inputs), size))
    return tuple(lines) or Free("the free control plane")


def _outbound(cluster: RecordedResource, context: Context) -> list[LineItem]:
    """What AKS itself makes for a cluster's way out: a balancer with its addresses, or a gateway with its."""
    profile = cluster.inputs.get("networkProfile")
    way = text(get(profile, "outboundType"), "loadBalancer")
    if isinstance(way, Unknown):
        return [context.unpriced(cluster, "outbound network", "its kind is known only after deployment")]
    if way == "managedNATGateway":
        addresses = get(profile, "natGatewayProfile", "managedOutboundIPProfile", "count", default=1)
        lines = [context.standing(cluster, what="NAT gateway of the cluster", key="nat.hour")]
        what = "NAT gateway data"
    elif way == "loadBalancer" and text(get(profile, "loadBalancerSku"), "standard") != "basic":
        balancer = get(profile, "loadBalancerProfile")
        own = get(balancer, "outboundIPs") is not None or get(balancer, "outboundIPPrefixes") is not None
        addresses = get(balancer, "managedOutboundIPs", "count", default=0 if own else 1)
        lines = [
            context.standing(cluster, what="load balancer of the cluster, one to five rules", key="lb.standard.hour")
        ]
        what = "load balancer data, and rules above five"
    else:
        return []
    many = count(addresses)
    if isinstance(many, Unknown):
        lines.append(context.unpriced(cluster, "outbound addresses", "how many is known only after deployment"))
    elif many:
        lines.append(context.standing(cluster, what="outbound public IPv4 addresses", key="ipv4.hour", count=many))
    context.outside.append(f"{context.graph.component(cluster)}: {what} ({cluster.name}): not stated, not in totals")
    return lines


def _agent_pool(resource: RecordedResource, context: Context) -> Outcome:
    clusters = context.graph.referenced(resource, "resourceName", azure_nodes.MANAGED_CLUSTER)
    cluster = clusters[0].inputs if isinstance(clusters, tuple) and clusters else None
    machine = azure_nodes.agent_machine(resource.inputs, cluster)
    size = pod_machines.raised(context.graph, resource, azure_nodes.agent_size(resource.inputs))
    return tuple(_machines(resource, context, machine, size))


_ATTACHED: Final = frozenset(  # kinds of a Compute that stand elsewhere: the API's ComputeType
    {
        "AKS",
        "DataFactory",
        "DataLakeAnalytics",
        "Databricks",
        "HDInsight",
        "Kubernetes",
        "SynapseSpark",
        "VirtualMachine",
    }
)


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
        size = services.notebook_size(context.graph, resource, services.compute_instance)
        return (pools.machines(resource, context, instance_type=vm, market="on-demand", size=size, premium="azureml"),)
    if kind in _ATTACHED:
        return Free("attached compute is priced separately")
    found = f"the kind {kind!r} is not known" if kind else "properties name no computeType that can be read"
    return (context.unpriced(resource, "ML compute", found),)


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


_WITH_TIERS: Final = ("disk.premium_lrs", "disk.premium_zrs")  # disks whose performance tier may be raised


def _disk(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(get(resource.inputs, "sku", "name"), "Standard_LRS")
    gigabytes = resource.inputs.get("diskSizeGB", UNKNOWN if "creationData" in resource.inputs else None)
    tier = text(resource.inputs.get("tier"))
    if isinstance(tier, Unknown):
        return (context.unpriced(resource, "disk", "its performance tier is known only after deployment"),)
    if tier and isinstance(kind, str) and disk_key(kind) in _WITH_TIERS:  # above that of the size: billed as one of it
        what, key = f"disk of the performance tier {tier}", f"{disk_key(kind)}.{tier.lower()}"
        line = context.fee(resource, what=what, key=key, unit="disk-month", quantity=ONE)
        return (line,)
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
    _MACHINE: _vm,
    azure_nodes.STANDBY_POOL: _standby,
    "azure-native:containerservice:ManagedCluster": _managed_cluster,
    "azure-native:containerservice:AgentPool": _agent_pool,
    "azure-native:machinelearningservices:Compute": _ml_compute,
    "azure-native:machinelearningservices:OnlineDeployment": _deployment,
    "azure-native:compute:Disk": _disk,
    "azure-native:storagecache:AmlFilesystem": _lustre,
}
