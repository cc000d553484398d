"""Azure machines as pools: scale sets, virtual machines, AKS pools, machine-learning compute."""

from __future__ import annotations

from typing import Any, Final

from sizewell.resources import azure_nodes
from sizewell.resources.azure_nodes import Machine
from sizewell.resources.graph import Graph
from sizewell.resources.readers import clocks, guards
from sizewell.resources.readers.common import ONE_MACHINE, decoded, tags_within
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.schedules import least_size
from sizewell.resources.values import Flag, Text, count, either, every, flag, get, items, text

METRIC_AGENTS: Final = ("dcgm", "azuremonitorlinuxagent", "nvidia-smi", "amd-smi", "rocm-smi", "telegraf")


def _kinds(kind: Text) -> tuple[str, ...] | Unknown:
    return UNKNOWN if isinstance(kind, Unknown) else (kind,)


def _profile(profile: object, machine: Machine, extensions: Flag) -> dict[str, object]:
    script = decoded(get(profile, "osProfile", "customData", default=get(profile, "userData")))
    agent: Flag = UNKNOWN if isinstance(script, Unknown) else any(name in script.lower() for name in METRIC_AGENTS)
    host = flag(get(profile, "securityProfile", "encryptionAtHost"))
    disk_key = get(profile, "storageProfile", "osDisk", "managedDisk", "diskEncryptionSet")
    return {
        "machine": profile,
        "kinds": _kinds(machine.kind),
        "market": machine.market,
        "disks_encrypted": host,
        "own_key": disk_key is UNKNOWN or disk_key is not None,
        "start_script": script,
        "metrics": either(agent, extensions),
        "public_address": machine.public,
        "disk_gib": count(machine.disk_gigabytes),
    }


def _answers(configurations: object) -> bool:
    """Whether a load balancer or gateway sends requests to the machines."""
    pools = ("loadBalancerBackendAddressPools", "applicationGatewayBackendAddressPools")
    interfaces = items(configurations)
    addresses = [items(get(each, "ipConfigurations")) for each in interfaces] if isinstance(interfaces, tuple) else []
    stated = [get(each, key) for listed in addresses if isinstance(listed, tuple) for each in listed for key in pools]
    return any(each is not None for each in stated)


def _extensions(profile: object) -> Flag:
    listed = items(get(profile, "extensionProfile", "extensions"))
    if isinstance(listed, Unknown):
        return UNKNOWN
    return any(any(name in str(entry).lower() for name in METRIC_AGENTS) for entry in listed)


def _scale_set(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    profile = resource.inputs.get("virtualMachineProfile")
    size = least_size(graph, resource, azure_nodes.scale_set_size(graph, resource))
    settings = [graph.referring(resource, kind, "targetResourceUri") for kind in azure_nodes.AUTOSCALE]
    scales = either(*(guards.any_of(of_kind, guards.azure_scales_in) for of_kind in settings))
    scheduled = either(*(_has_schedule(of_kind) for of_kind in settings))
    alone = graph.referring(resource, "azure-native:compute:VirtualMachineScaleSetExtension", "vmScaleSetName")
    apart: Flag = (
        UNKNOWN
        if isinstance(alone, Unknown)
        else any(any(name in str(entry.inputs).lower() for name in METRIC_AGENTS) for entry in alone)
    )
    zones = items(resource.inputs.get("zones"))
    return [
        {
            **_profile(profile, azure_nodes.scale_set_machine(resource), either(_extensions(profile), apart)),
            "nodes_min": size.least,
            "nodes_wanted": size.wanted,
            "nodes_max": size.most,
            "moved": guards.exist(*settings),
            "scales": scales,
            "scheduled": scheduled,
            "zones": UNKNOWN if isinstance(zones, Unknown) else (len(zones) or None),
            "gang": flag(resource.inputs.get("singlePlacementGroup")),
            "serves": _answers(get(profile, "networkProfile", "networkInterfaceConfigurations")),
            "reserved": _reserved(
                graph,
                resource,
                "virtualMachineProfile",
                get(profile, "capacityReservation", "capacityReservationGroup", "id"),
            ),
        }
    ]


def _standby(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    """Machines that wait for a scale set: while they run they are a pool beside it that nothing empties."""
    if azure_nodes.standby_runs(resource) is False:
        return []
    scale_set = azure_nodes.standby_set(graph, resource)
    if not isinstance(scale_set, RecordedResource):
        return [{"kinds": UNKNOWN, "nodes_min": UNKNOWN, "nodes_wanted": UNKNOWN, "nodes_max": UNKNOWN}]
    size = azure_nodes.standby_size(graph, resource)
    profile = scale_set.inputs.get("virtualMachineProfile")
    return [
        {
            **_profile(profile, azure_nodes.scale_set_machine(scale_set), _extensions(profile)),
            "nodes_min": size.least or size.wanted,
            "nodes_wanted": size.wanted,
            "nodes_max": size.most,
        }
    ]


def _reserved(graph: Graph, resource: RecordedResource, prop: str, stated: Any) -> Text:
    """The reservation group; one of this plan by its name, because its id is known only once it stands."""
    if stated is UNKNOWN:
        groups = graph.referenced(resource, prop, "azure-native:compute:CapacityReservationGroup")
        return groups[0].name if isinstance(groups, tuple) and groups else UNKNOWN
    return text(stated)


def _has_schedule(settings: Any) -> Flag:
    if isinstance(settings, Unknown):
        return UNKNOWN
    flags: list[Flag] = []
    for setting in settings:
        profiles = items(setting.inputs.get("profiles"))
        if isinstance(profiles, Unknown):
            return UNKNOWN
        enabled = flag(setting.inputs.get("enabled"), default=True)
        flags.extend(every(enabled, guards.profile_empties(profile)) for profile in profiles)
    return either(*flags) if flags else False


def _vm(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    alone = graph.referring(resource, "azure-native:compute:VirtualMachineExtension", "vmName")
    apart: Flag = (
        UNKNOWN
        if isinstance(alone, Unknown)
        else any(any(name in str(entry.inputs).lower() for name in METRIC_AGENTS) for entry in alone)
    )
    return [
        {
            **_profile(resource.inputs, azure_nodes.vm_machine(resource), apart),
            **ONE_MACHINE,
            "zones": 1,
            "scheduled": clocks.stops(graph, resource),
            "reserved": _reserved(
                graph,
                resource,
                "capacityReservation",
                get(resource.inputs, "capacityReservation", "capacityReservationGroup", "id"),
            ),
        }
    ]


_SYSTEM: Final = (
    "run the accelerators in a node pool of their own, an agent pool with mode User, enableAutoScaling and minCount 0: "
    "a system pool keeps a machine"
)


def _agent(profile: object, resource: RecordedResource, cluster: object) -> dict[str, object]:
    machine = azure_nodes.agent_machine(profile)
    size = azure_nodes.agent_size(profile)
    key = get(cluster, "diskEncryptionSetID")
    metrics = UNKNOWN if cluster is None else flag(get(cluster, "azureMonitorProfile", "metrics", "enabled"))
    zones = items(get(profile, "availabilityZones"))
    del resource
    return {
        "machine": profile,
        "kinds": _kinds(machine.kind),
        "market": machine.market,
        "kubernetes": True,
        "keeps_one": _SYSTEM if azure_nodes.is_system(profile) else "",
        "nodes_min": size.least,
        "nodes_wanted": size.wanted,
        "nodes_max": size.most,
        "scales": flag(get(profile, "enableAutoScaling")),
        "disks_encrypted": flag(get(profile, "enableEncryptionAtHost")),
        "own_key": key is UNKNOWN or key is not None,
        "public_address": machine.public,
        "metrics": metrics,
        "zones": UNKNOWN if isinstance(zones, Unknown) else (len(zones) or None),
        "reserved": text(get(profile, "capacityReservationGroupID")),
        "disk_gib": count(machine.disk_gigabytes),
    }


def _agent_pool(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    clusters = graph.referenced(resource, "resourceName", azure_nodes.MANAGED_CLUSTER)
    cluster: object = clusters[0].inputs if isinstance(clusters, tuple) and clusters else None
    listed = items(get(resource.inputs, "virtualMachinesProfile", "scale", "manual"))
    if isinstance(listed, Unknown):
        return [{"kinds": UNKNOWN, "nodes_min": UNKNOWN, "nodes_wanted": UNKNOWN, "nodes_max": UNKNOWN}]
    if listed:  # a pool of virtual machines names a size and a count for each part
        return [
            _agent({**resource.inputs, "vmSize": get(part, "size"), "count": get(part, "count")}, resource, cluster)
            for part in listed
        ]
    return [_agent(resource.inputs, resource, cluster)]


def _managed_cluster(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    del graph
    profiles = items(resource.inputs.get("agentPoolProfiles"))
    if isinstance(profiles, Unknown):
        return [{"kinds": UNKNOWN, "nodes_min": UNKNOWN, "nodes_wanted": UNKNOWN, "nodes_max": UNKNOWN}]
    return [
        {**_agent(profile, resource, resource.inputs), "tags": tags_within(resource, get(profile, "tags"))}
        for profile in profiles
    ]


def _ml_compute(graph: Graph, resource: RecordedResource) -> list[dict[str, object]]:
    del graph
    outer = resource.inputs.get("properties")
    if get(outer, "computeType") is UNKNOWN:
        return [{"kinds": UNKNOWN, "machine": UNKNOWN, "nodes_min": UNKNOWN, "nodes_max": UNKNOWN, "scales": UNKNOWN}]
    if get(outer, "computeType") != "AmlCompute":
        return []
    inner = get(outer, "properties")
    scale = get(inner, "scaleSettings")
    least = count(get(scale, "minNodeCount", default=0))
    public = get(inner, "enableNodePublicIp", default=True)
    return [
        {
            "machine": inner,
            "kinds": _kinds(text(get(inner, "vmSize"))),
            "market": azure_nodes.spot_market(get(inner, "vmPriority")),
            "nodes_min": least,
            "nodes_wanted": least,
            "nodes_max": count(get(scale, "maxNodeCount")),
            "scales": True,
            "metrics": True,  # GPU utilization is a metric of the workspace
            "public_address": flag(public),
        }
    ]


READERS: Final = {
    azure_nodes.SCALE_SET: _scale_set,
    "azure-native:compute:VirtualMachine": _vm,
    azure_nodes.STANDBY_POOL: _standby,
    azure_nodes.AGENT_POOL: _agent_pool,
    azure_nodes.MANAGED_CLUSTER: _managed_cluster,
    "azure-native:machinelearningservices:Compute": _ml_compute,
}
