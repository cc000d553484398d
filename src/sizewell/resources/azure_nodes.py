"""How Azure resources say what machines they start. Read by prices and facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import MIXED, Mix, Size, fixed
from sizewell.resources.values import Count, Flag, Text, contains_unknown, count, either, flag, get, items, number, text

SCALE_SET: Final = "azure-native:compute:VirtualMachineScaleSet"
MANAGED_CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
AGENT_POOL: Final = "azure-native:containerservice:AgentPool"
STANDBY_POOL: Final = "azure-native:standbypool:StandbyVirtualMachinePool"
AUTOSCALE: Final = ("azure-native:monitor:AutoscaleSetting",)


REGIONAL: Final = "no zone"  # of what Azure places in a region as it likes


def zones(stated: object) -> tuple[str, ...] | Unknown:
    """The zones that a resource states."""
    listed = items(stated)
    if isinstance(listed, Unknown) or contains_unknown(listed):
        return UNKNOWN
    return tuple(map(str, listed)) or (REGIONAL,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One kind of machine: type, market and the OS disk; an ephemeral disk costs nothing."""

    kind: Text
    market: Text
    disk_gigabytes: object
    disk_type: Text
    ephemeral: bool | Unknown
    system: str  # what of its operating system is billed beside it: "Windows", "Red Hat"; "" for nothing
    public: Flag  # whether each machine has a public address that no resource of its own stands for
    mix: Mix | None = None  # of a market that is MIXED
    on_host: bool = False  # whether it stands on a dedicated host, which is billed whole
    zones: tuple[str, ...] | Unknown = (REGIONAL,)  # that it stands in one of


def _stated(reference: object) -> bool:
    """Whether a reference is given; its identifier may be known only after deployment."""
    return isinstance(reference, Mapping) and reference.get("id") is not None


def spot_market(priority: object) -> Text:
    stated = text(priority, "Regular")
    if isinstance(stated, Unknown):
        return UNKNOWN
    return "spot" if stated.lower() in {"spot", "low", "lowpriority"} else "on-demand"


def profile_machine(kind: Text, profile: object) -> Machine:
    """A virtual machine's or scale set's `storageProfile` and priority beside its size."""
    disk = get(profile, "storageProfile", "osDisk")
    option = get(disk, "diffDiskSettings", "option")
    return Machine(
        kind=kind,
        market=spot_market(get(profile, "priority")),
        disk_gigabytes=get(disk, "diskSizeGB"),
        disk_type=text(get(disk, "managedDisk", "storageAccountType"), "Premium_LRS"),
        ephemeral=UNKNOWN if option is UNKNOWN else option == "Local",
        system=system_of(profile),
        public=_public(get(profile, "networkProfile", "networkInterfaceConfigurations")),
        on_host=_stated(get(profile, "host")) or _stated(get(profile, "hostGroup")),
        zones=zones(get(profile, "zones")),
    )


_PUBLISHERS: Final = {"redhat": "Red Hat", "suse": "SUSE"}
_LICENSED: Final = ("windows_server", "windows_client")  # licences of one's own: Azure Hybrid Benefit
# Licence types of a subscription that is billed, whatever the image. Source, from memory:
# learn.microsoft.com/azure/virtual-machines/linux/azure-hybrid-benefit-linux
_SUBSCRIPTIONS: Final = {"rhel": "Red Hat", "sles": "SUSE", "ubuntu_pro": "Ubuntu Pro"}


def system_of(profile: object, plan: object = None) -> str:
    """What of a machine's software is billed beside it, as far as its disk, image or settings say; "" for nothing, or
    for a licence of one's own. `plan`: of a marketplace image, where it stands beside the profile.
    """
    image = get(profile, "storageProfile", "imageReference")
    publisher, offer = str(get(image, "publisher")).lower(), str(get(image, "offer")).lower()
    own = str(get(profile, "licenseType")).lower()
    says = str(get(profile, "storageProfile", "osDisk", "osType")).lower() == "windows"
    settings = get(profile, "osProfile", "windowsConfiguration") is not None
    if publisher == "microsoftsqlserver":
        return "Windows with SQL Server"
    if says or settings or publisher.startswith("microsoftwindows"):
        return "" if own in _LICENSED else "Windows"
    if own.endswith("_byos"):
        return ""
    for begins, system in _SUBSCRIPTIONS.items():
        if own.startswith(begins):
            return system
    if publisher in _PUBLISHERS:
        return "" if "byos" in offer else _PUBLISHERS[publisher]
    sku = str(get(image, "sku")).lower()
    if publisher == "canonical" and "pro" in f"{offer} {sku}".replace("-", " ").replace("_", " ").split():
        return "Ubuntu Pro"
    return "marketplace image" if get(profile, "plan", default=plan) is not None else ""


def _public(configurations: object) -> Flag:
    interfaces = items(configurations)
    if isinstance(interfaces, Unknown):
        return UNKNOWN
    flags: list[Flag] = []
    for interface in interfaces:
        addresses = items(get(interface, "ipConfigurations"))
        if isinstance(addresses, Unknown):
            return UNKNOWN
        for address in addresses:
            stated = get(address, "publicIPAddressConfiguration")
            flags.append(UNKNOWN if stated is UNKNOWN else stated is not None)
    return either(*flags)


def scale_set_machine(resource: RecordedResource) -> Machine:
    """A scale set's machine; one on spot may keep a base and a share of regular machines (`priorityMixPolicy`)."""
    machine = profile_machine(text(get(resource.inputs, "sku", "name")), resource.inputs.get("virtualMachineProfile"))
    placed = zones(resource.inputs.get("zones"))
    system = system_of(resource.inputs.get("virtualMachineProfile"), resource.inputs.get("plan"))
    machine = replace(machine, on_host=_stated(resource.inputs.get("hostGroup")), zones=placed, system=system)
    policy = resource.inputs.get("priorityMixPolicy")
    if machine.market != "spot" or policy is None:
        return machine
    base = number(get(policy, "baseRegularPriorityCount", default=0))
    above = number(get(policy, "regularPriorityPercentageAboveBase", default=0))
    if not isinstance(base, Decimal) or not isinstance(above, Decimal):
        return replace(machine, market=UNKNOWN)
    if base == 0 and above == 0:
        return machine
    if above == 100:
        return replace(machine, market="on-demand")
    return replace(machine, market=MIXED, mix=Mix(base=base, percent_above=above))


def vm_machine(resource: RecordedResource) -> Machine:
    return profile_machine(text(get(resource.inputs, "hardwareProfile", "vmSize")), resource.inputs)


def agent_machine(profile: object, cluster: object = None) -> Machine:
    """An AKS agent pool, standing alone or inside a cluster, whose inputs may state a licence for its machines."""
    disk_kind = get(profile, "osDiskType")
    windows = "windows" in (
        str(get(profile, "osType")).lower(),
        str(get(profile, "osSKU")).lower().rstrip("0123456789"),
    )
    own = str(get(cluster, "windowsProfile", "licenseType")).lower() in _LICENSED
    return Machine(
        kind=text(get(profile, "vmSize"), "Standard_D2s_v3"),
        market=spot_market(get(profile, "scaleSetPriority")),
        disk_gigabytes=get(profile, "osDiskSizeGB"),
        disk_type="Premium_LRS",
        ephemeral=UNKNOWN if disk_kind is UNKNOWN else disk_kind == "Ephemeral",
        system="Windows" if windows and not own else "",
        public=flag(get(profile, "enableNodePublicIP")),
        on_host=isinstance(get(profile, "hostGroupID"), str),
        zones=zones(get(profile, "availabilityZones")),
    )


def is_system(profile: object) -> bool:
    """Whether an AKS pool is for the cluster's own pods: such a pool has a machine at least.

    Source: Microsoft Learn, "Manage system node pools in Azure Kubernetes Service", from memory.
    """
    return str(get(profile, "mode")).lower() == "system"


def agent_size(profile: object) -> Size:
    if get(profile, "powerState", "code") == "Stopped":
        return fixed(0)
    scaled = flag(get(profile, "enableAutoScaling"))
    wanted = count(get(profile, "count", default=1))
    if scaled is False:
        return fixed(wanted)
    least, most = count(get(profile, "minCount", default=0)), count(get(profile, "maxCount"))
    if is_system(profile):
        least, wanted = (max(each, 1) if isinstance(each, int) else each for each in (least, wanted))
    return Size(least=UNKNOWN if scaled is UNKNOWN else least, wanted=wanted, most=most)


def scale_set_size(graph: Graph, resource: RecordedResource) -> Size:
    """A scale set's bounds: its autoscale setting's, else its capacity."""
    capacity = count(get(resource.inputs, "sku", "capacity"))
    return autoscaled(graph, resource, capacity) or fixed(capacity)


def autoscaled(graph: Graph, resource: RecordedResource, capacity: Count) -> Size | None:
    """The bounds of the autoscale setting that aims at a resource and is on; None where there is none."""
    for kind in AUTOSCALE:
        autoscalers = graph.referring(resource, kind, "targetResourceUri")
        if isinstance(autoscalers, Unknown):
            return Size(least=UNKNOWN, wanted=capacity, most=UNKNOWN)
        for each in autoscalers:
            enabled = flag(each.inputs.get("enabled"), default=True)
            if enabled is UNKNOWN:
                return Size(least=UNKNOWN, wanted=capacity, most=UNKNOWN)
            if enabled:
                return autoscale_size(each, capacity)
    return None


def autoscale_size(setting: RecordedResource, wanted: Any) -> Size:
    """Over all profiles: the smallest minimum, the largest maximum."""
    profiles = items(setting.inputs.get("profiles"))
    if isinstance(profiles, Unknown):
        return Size(least=UNKNOWN, wanted=wanted, most=UNKNOWN)
    least = [count(get(profile, "capacity", "minimum")) for profile in profiles]
    most = [count(get(profile, "capacity", "maximum")) for profile in profiles]
    return Size(
        least=min((v for v in least if isinstance(v, int)), default=None) if UNKNOWN not in least else UNKNOWN,
        wanted=wanted,
        most=max((v for v in most if isinstance(v, int)), default=None) if UNKNOWN not in most else UNKNOWN,
    )


def standby_set(graph: Graph, pool: RecordedResource) -> RecordedResource | Unknown | None:
    """The scale set that a standby pool waits for; None where it stands outside of the plan."""
    sets = graph.referenced(pool, "attachedVirtualMachineScaleSetId", SCALE_SET)
    return UNKNOWN if isinstance(sets, Unknown) else next(iter(sets), None)


def standby_size(graph: Graph, pool: RecordedResource) -> Size:
    """Machines of a standby pool: its maximum less those of the scale set, and never less than its own minimum.

    Source: Microsoft Learn, "Standby pools for Virtual Machine Scale Sets", from memory.
    """
    profile = pool.inputs.get("elasticityProfile")
    least, most = count(get(profile, "minReadyCapacity", default=0)), count(get(profile, "maxReadyCapacity"))
    scale_set = standby_set(graph, pool)
    started = scale_set_size(graph, scale_set).wanted if isinstance(scale_set, RecordedResource) else UNKNOWN
    wanted: Any = most
    if isinstance(least, int) and isinstance(most, int) and isinstance(started, int):
        wanted = max(most - started, least)
    return Size(least=least, wanted=wanted, most=most)


def standby_runs(pool: RecordedResource) -> bool | Unknown:
    """Whether the machines of a standby pool run, and bill: deallocated and hibernated ones keep their disks alone."""
    state = text(pool.inputs.get("virtualMachineState"))
    return UNKNOWN if isinstance(state, Unknown) else state == "Running"
