"""How Google Cloud resources say what machines they start. Read by prices and facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.values import (
    Count,
    Flag,
    Text,
    canonical,
    contains_unknown,
    count,
    either,
    flag,
    get,
    items,
    place_in,
    text,
)

NODE_POOL: Final = "gcp:container/nodePool:NodePool"
CLUSTER: Final = "gcp:container/cluster:Cluster"
TEMPLATES: Final = (
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
)
AUTOSCALERS: Final = ("gcp:compute/autoscaler:Autoscaler", "gcp:compute/regionAutoscaler:RegionAutoscaler")
ZONES_OF_A_REGION: Final = 3  # a regional pool without nodeLocations runs in three zones


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One kind of machine: type, market, extra accelerators and the boot disk."""

    kind: Text
    market: Text
    attached: tuple[Any, ...] | Unknown  # guest accelerators added to a general machine
    disk: object  # the boot disk as stated, with what is provisioned beside its gigabytes
    disk_gigabytes: object
    disk_type: Text
    local_disks: Count  # local SSDs that are added to it, of `local_gigabytes` each
    system: str = ""  # what of its operating system is billed beside it: "Windows", "Red Hat"; "" for nothing
    more_disks: tuple[Any, ...] | Unknown = ()  # of a template, beside the boot disk: made with each machine
    local_gigabytes: object = 375
    public: Flag | None = None  # whether it has a public address that is not billed as itself; None where it is silent
    addresses: int = 1  # how many it has, where it has one
    image: object = None  # that it boots from
    own_disk: bool = False  # whether it boots from a disk that is a resource of its own, or in a storage pool
    on_nodes: bool = False  # whether it stands on sole-tenant nodes, which are billed whole
    stops: bool = False  # after a time of its own, and is not deleted
    keeps_disks: bool = False  # whether its disks stay, and bill, while it does not run
    runs: bool = True  # False where it is to be stopped
    interfaces: tuple[str, ...] | Unknown = ()  # of its local SSDs, "NVME" or "SCSI" each, sorted
    platform: Text = ""  # the least CPU platform that it asks for
    affinity: Text = "ANY_RESERVATION"  # which reservations it takes


def run_size(inputs: Mapping[str, Any]) -> Size:
    """Instances of a Cloud Run service: what its revision states and what the service states, whichever is narrower.

    >>> run_size({"scaling": {"minInstanceCount": 3}, "template": {"scaling": {"maxInstanceCount": 5}}})
    Size(least=3, wanted=3, most=5)
    >>> run_size({"scaling": {"scalingMode": "MANUAL", "manualInstanceCount": 2}})
    Size(least=2, wanted=2, most=2)
    """
    service, revision = inputs.get("scaling"), get(inputs, "template", "scaling")
    by_hand = count(get(service, "manualInstanceCount"))
    if by_hand is not None:
        return fixed(by_hand)
    least = _narrowest([count(get(each, "minInstanceCount")) for each in (service, revision)], max)
    most = _narrowest([count(get(each, "maxInstanceCount")) for each in (service, revision)], min)
    least = 0 if least is None else least
    return Size(least=least, wanted=least, most=most)


def _narrowest(counts: list[Count], choose: Callable[[list[int]], int]) -> Count:
    known = [each for each in counts if isinstance(each, int)]
    if UNKNOWN in counts:
        return UNKNOWN
    return choose(known) if known else None


def node_machine(config: object, *, flex_start: Flag = False, queued: Flag = False) -> Machine:
    """The machine that a GKE `nodeConfig` describes."""
    spot = either(flag(get(config, "spot")), flag(get(config, "preemptible")))
    flexible = either(flex_start, flag(get(config, "flexStart")), queued)
    return Machine(
        kind=text(get(config, "machineType"), "e2-medium"),
        market=_market(spot, flexible),
        attached=items(get(config, "guestAccelerators")),
        system="Windows" if str(get(config, "imageType")).upper().startswith("WINDOWS") else "",
        disk=get(config, "bootDisk"),
        disk_gigabytes=get(config, "bootDisk", "sizeGb", default=get(config, "diskSizeGb", default=100)),
        disk_type=text(get(config, "bootDisk", "diskType", default=get(config, "diskType")), "pd-balanced"),
        own_disk=_in_pool(config, "storagePools"),
        local_disks=_added(
            get(config, "localSsdCount"),
            get(config, "localNvmeSsdBlockConfig", "localSsdCount"),
            get(config, "ephemeralStorageConfig", "localSsdCount"),
            get(config, "ephemeralStorageLocalSsdConfig", "localSsdCount"),
        ),
        interfaces=_node_interfaces(config),
        platform=_platform(config),
        # takes none where it does not ask for them, unlike an instance
        affinity=text(get(config, "reservationAffinity", "consumeReservationType"), "NO_RESERVATION"),
    )


def spec_machine(spec: object, market: Text) -> Machine:
    """The machine of a `machineSpec` of Vertex AI; one accelerator where it names a kind and no number."""
    kind, each = get(spec, "acceleratorType"), get(spec, "acceleratorCount", default=1)
    return Machine(
        kind=text(get(spec, "machineType")),
        market=market,
        attached=configured_accelerators({"type": kind, "coreCount": each} if kind is not None else None),
        disk=None,
        disk_gigabytes=None,
        disk_type="",
        local_disks=0,
    )


def configured_accelerators(configs: object) -> tuple[Any, ...] | Unknown:
    """Accelerators as notebooks and models state them, as machines do: "NVIDIA_TESLA_T4" is "nvidia-tesla-t4"."""
    listed = items(configs)
    if isinstance(listed, Unknown):
        return UNKNOWN
    kinds = [(text(get(each, "type")), get(each, "coreCount", default=1)) for each in listed]
    return tuple(
        {"type": UNKNOWN if isinstance(kind, Unknown) else kind.lower().replace("_", "-"), "count": many}
        for kind, many in kinds
        if kind is UNKNOWN or not str(kind).endswith("_UNSPECIFIED")
    )


def _node_interfaces(config: object) -> tuple[str, ...] | Unknown:
    nvme = _added(
        get(config, "localNvmeSsdBlockConfig", "localSsdCount"),
        get(config, "ephemeralStorageConfig", "localSsdCount"),
        get(config, "ephemeralStorageLocalSsdConfig", "localSsdCount"),
    )
    scsi = _added(get(config, "localSsdCount"))
    if isinstance(nvme, Unknown) or isinstance(scsi, Unknown):
        return UNKNOWN
    return ("NVME",) * (nvme or 0) + ("SCSI",) * (scsi or 0)


def _platform(inputs: object) -> Text:
    """The least CPU platform that is stated; automatic is none."""
    stated = text(get(inputs, "minCpuPlatform"))
    return "" if isinstance(stated, str) and stated.lower() == "automatic" else stated


def _interfaces(*lists: tuple[Any, ...] | Unknown) -> tuple[str, ...] | Unknown:
    found: list[str] = []
    for listed in lists:
        if isinstance(listed, Unknown) or contains_unknown(listed):
            return UNKNOWN
        found += (str(get(each, "interface", default="SCSI")).upper() for each in listed)
    return tuple(sorted(found))


def reserved_machine(graph: Graph, reservation: RecordedResource) -> Machine:
    """The machine that a reservation holds: as it states, or as its template does."""
    specific = reservation.inputs.get("specificReservation")
    if get(specific, "sourceInstanceTemplate") is not None:
        templates = graph.referenced(reservation, "specificReservation", *TEMPLATES)
        return instance_machine(templates[0].inputs if isinstance(templates, tuple) and templates else UNKNOWN)
    held = get(specific, "instanceProperties")
    local, attached = items(get(held, "localSsds")), items(get(held, "guestAccelerators"))
    if not isinstance(attached, Unknown):
        attached = tuple(
            {"type": get(each, "acceleratorType"), "count": get(each, "acceleratorCount", default=1)}
            for each in attached
        )
    stated = {key: get(held, key) for key in ("machineType", "minCpuPlatform")}
    return instance_machine({**stated, "scratchDisks": local, "guestAccelerators": attached})


def zone(graph: Graph, resource: RecordedResource) -> Text:
    """The zone of a resource, or of its provider; "" where it is the one that a stack's configuration sets."""
    stated, provider = resource.inputs.get("zone"), graph.provider(resource)
    if stated is None and provider is not None:
        stated = provider.inputs.get("zone")
    return last_part(text(stated))


def zones_of(
    graph: Graph, pool: RecordedResource, cluster: RecordedResource | Unknown | None = None
) -> tuple[str, ...] | Unknown:
    """The zones that machines are spread over, evenly; UNKNOWN where a region alone is stated."""
    if pool.type == "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager":
        listed = items(pool.inputs.get("distributionPolicyZones"))
        return UNKNOWN if isinstance(listed, Unknown) or contains_unknown(listed) or not listed else tuple(listed)
    if canonical(pool.type) not in (NODE_POOL, CLUSTER):
        own = zone(graph, pool)
        return UNKNOWN if isinstance(own, Unknown) else (own,)
    for each in (pool, cluster):
        if not isinstance(each, RecordedResource):
            break
        listed, own = items(each.inputs.get("nodeLocations")), text(each.inputs.get("location"))
        if isinstance(listed, Unknown) or isinstance(own, Unknown) or contains_unknown(listed):
            break
        zonal = own.count("-") == 2
        if listed or zonal:
            beside = (own,) if zonal and (canonical(each.type) == CLUSTER or not listed) else ()
            return tuple(dict.fromkeys((*beside, *map(str, listed))))
    return UNKNOWN


def _added(*counts: object) -> Count:
    known = [count(each) for each in counts]
    return UNKNOWN if UNKNOWN in known else sum(each for each in known if isinstance(each, int))


def _market(spot: Flag, flexible: Flag) -> Text:
    if spot is True:
        return "spot"
    if flexible is True:
        return "flex-start"
    return UNKNOWN if UNKNOWN in (spot, flexible) else "on-demand"


def ends_after(inputs: object) -> bool:
    """Whether an instance states how long it runs before the cloud stops or deletes it."""
    return get(inputs, "scheduling", "maxRunDuration") is not None


def instance_machine(inputs: object) -> Machine:
    """The machine of a compute instance or instance template."""
    scheduling = get(inputs, "scheduling")
    model = text(get(scheduling, "provisioningModel"), "STANDARD")
    preemptible = flag(get(scheduling, "preemptible"))
    spot: Flag = UNKNOWN if isinstance(model, Unknown) else model.upper() == "SPOT"
    flexible: Flag = UNKNOWN if isinstance(model, Unknown) else model.upper() == "FLEX_START"
    boot = get(inputs, "bootDisk", "initializeParams")
    size, kind = get(boot, "size"), get(boot, "type")
    disks = items(get(inputs, "disks"))
    if isinstance(disks, tuple):  # the one that it boots from first
        disks = tuple(sorted(disks, key=lambda disk: get(disk, "boot") is not True))
    image = get(boot, "image")
    if boot is None and isinstance(disks, tuple) and disks:
        boot, size, kind = disks[0], get(disks[0], "diskSizeGb"), get(disks[0], "diskType")
        image = get(boot, "sourceImage")
    scratch = items(get(inputs, "scratchDisks"))
    more = disks if isinstance(disks, Unknown) else tuple(disk for disk in disks[1:] if get(disk, "source") is None)
    added = UNKNOWN if isinstance(more, Unknown) else len(_scratch(more))
    return Machine(
        system=licence(image),
        more_disks=more if isinstance(more, Unknown) else tuple(d for d in more if get(d, "type") != "SCRATCH"),
        kind=last_part(text(get(inputs, "machineType"))),
        market=_market(either(spot, preemptible), flexible),
        attached=items(get(inputs, "guestAccelerators")),
        disk=boot,
        disk_gigabytes=size,
        disk_type=text(kind, "pd-standard"),
        own_disk=_in_pool(boot, "storagePool"),
        local_disks=_added(added, UNKNOWN if isinstance(scratch, Unknown) else len(scratch)),
        local_gigabytes=get(inputs, "scratchDisks", 0, "size", default=375),
        public=_public(get(inputs, "networkInterfaces")),
        addresses=max(1, _own_addresses(get(inputs, "networkInterfaces")).count(True)),
        image=image,
        on_nodes=_on_nodes(scheduling),
        keeps_disks=True,
        stops=ends_after(inputs) and str(get(scheduling, "instanceTerminationAction")).upper() != "DELETE",
        runs=text(get(inputs, "desiredStatus")) not in ("TERMINATED", "SUSPENDED"),
        interfaces=_interfaces(scratch, more if isinstance(more, Unknown) else _scratch(more)),
        platform=_platform(inputs),
        affinity=text(get(inputs, "reservationAffinity", "type"), "ANY_RESERVATION"),
    )


def _in_pool(holder: object, key: str) -> bool:
    """Whether a boot disk is made in a storage pool, which is billed as itself; a pool of the same program has no name
    yet.
    """
    return isinstance(holder, Mapping) and holder.get(key) not in (None, "", [], ())


def _scratch(disks: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(disk for disk in disks if get(disk, "type") == "SCRATCH")


# Public images that the provider finds by name alone, after those of one's own project, and others of the same
# families; a name without the version is one's own image. Source, read 2026-11-27: hashicorp/terraform-provider-google
# google/services/compute/image.go (ImageMap), and cloud.google.com/compute/docs/images/os-details, from memory.
_FAMILIES: Final = {
    r"windows-(server-)?\d{4}": "Windows",
    r"sql-(server-)?(\d{4}|std|ent|web|exp)-": "Windows with SQL Server",
    r"rhel-\d": "Red Hat",
    r"sles-\d": "SUSE",
    r"ubuntu-pro-": "Ubuntu Pro",
}
# Projects of public images whose licence is billed with the machine. Source, from memory:
# cloud.google.com/compute/docs/images/os-details
_LICENCES: Final = {
    "windows-cloud": "Windows",
    "windows-sql-cloud": "Windows with SQL Server",
    "rhel-cloud": "Red Hat",
    "rhel-sap-cloud": "Red Hat",
    "suse-cloud": "SUSE",
    "suse-sap-cloud": "SUSE",
    "ubuntu-os-pro-cloud": "Ubuntu Pro",
}


def licence(image: object) -> str:
    """What of a public image's operating system is billed beside the machine, by the image's project, else by its name
    or family; "" for nothing, for an image of a project of one's own, and for an unknown one.

    >>> licence("windows-cloud/windows-2022"), licence("projects/rhel-cloud/global/images/family/rhel-9")
    ('Windows', 'Red Hat')
    >>> licence("windows-2022"), licence("global/images/family/rhel-9"), licence("our-team/rhel-9")
    ('Windows', 'Red Hat', '')
    >>> licence("windows-ci")
    ''
    >>> licence("debian-cloud/debian-12"), licence("windows-team/debian-golden"), licence(UNKNOWN)
    ('', '', '')
    """
    parts = image.split("/") if isinstance(image, str) else []
    named = [part for part in parts if part not in ("global", "images", "family")]
    if len(named) == 1:  # in no project
        return next((system for pattern, system in _FAMILIES.items() if re.match(pattern, named[0])), "")
    return next((_LICENCES[part] for part in parts if part in _LICENCES), "")


def _on_nodes(scheduling: object) -> bool:
    """Whether a machine asks for sole-tenant nodes: by an affinity to a node, a group of them, or a label of theirs."""
    affinities = items(get(scheduling, "nodeAffinities"))
    listed = affinities if isinstance(affinities, tuple) else ()
    return any(get(each, "operator") in ("IN", None) for each in listed)


def _public(interfaces: object) -> Flag:
    """Whether an interface has an address that no resource of its own stands for."""
    listed = items(interfaces)
    if isinstance(listed, Unknown):
        return UNKNOWN
    return either(*_own_addresses(listed))


def _own_addresses(interfaces: object) -> list[Flag]:
    listed = items(interfaces)
    found: list[Flag] = []
    for each in listed if isinstance(listed, tuple) else ():
        configs = items(get(each, "accessConfigs"))
        found += [UNKNOWN] if isinstance(configs, Unknown) else [get(one, "natIp") is None for one in configs]
    return found


FROM_TEMPLATE: Final = "gcp:compute/instanceFromTemplate:InstanceFromTemplate"
FROM_IMAGE: Final = "gcp:compute/instanceFromMachineImage:InstanceFromMachineImage"


def copied_inputs(graph: Graph, resource: RecordedResource) -> object:
    """What an instance from a template or from an image of a machine has: the source's inputs, and above them its own.

    UNKNOWN where the source stands outside of the plan and the resource does not state the machine's type itself.
    """
    templates = graph.referenced(resource, "sourceInstanceTemplate", *TEMPLATES)
    source: Any = templates[0].inputs if isinstance(templates, tuple) and templates else {}
    if not source and resource.inputs.get("machineType") is None:
        return UNKNOWN
    return {**source, **resource.inputs}


def accelerator_name(kind: str) -> str:
    """What fees call an accelerator that is attached to a machine.

    >>> accelerator_name("projects/p/zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4")
    't4'
    """
    return str(last_part(kind)).removeprefix("nvidia-").removeprefix("tesla-")


def last_part(value: Text) -> Text:
    return value if isinstance(value, Unknown) else value.rsplit("/", 1)[-1]


def template_of(graph: Graph, group: RecordedResource) -> RecordedResource | Unknown | None:
    for prop in ("versions", "instanceTemplate", "sourceInstanceTemplate"):
        if group.inputs.get(prop) is None:
            continue
        templates = graph.referenced(group, prop, *TEMPLATES)
        if isinstance(templates, Unknown):
            return UNKNOWN
        if templates:
            return templates[0]
    return None


def group_size(graph: Graph, group: RecordedResource) -> Size:
    """A managed instance group's bounds: its autoscaler's, else its target size."""
    target = count(group.inputs.get("targetSize"))
    for kind in AUTOSCALERS:
        autoscalers = graph.referring(group, kind, "target")
        if isinstance(autoscalers, Unknown):
            return Size(least=UNKNOWN, wanted=target, most=UNKNOWN)
        if autoscalers:
            policy = autoscalers[0].inputs.get("autoscalingPolicy")
            return Size(
                least=count(get(policy, "minReplicas")),
                wanted=target,
                most=count(get(policy, "maxReplicas")),
            )
    return fixed(target)


def pool_zones(pool: RecordedResource, cluster: RecordedResource | Unknown | None = None) -> int | Unknown:
    """How many zones multiply a pool's per-zone counts."""
    locations = items(pool.inputs.get("nodeLocations"))
    if isinstance(locations, Unknown):
        return UNKNOWN
    if locations and canonical(pool.type) == CLUSTER:
        return _zones_of(pool.inputs.get("location"), locations)
    if locations:
        return len(locations)
    source = pool.inputs.get("location")
    if source is None and isinstance(cluster, RecordedResource):
        inherited = items(cluster.inputs.get("nodeLocations"))
        source = cluster.inputs.get("location")
        if isinstance(inherited, tuple) and inherited:
            return _zones_of(source, inherited)
    if source is None:
        source = place_in(pool.inputs.get("cluster"))
    if isinstance(source, Unknown):
        return UNKNOWN
    return 1 if source is None or str(source).count("-") == 2 else ZONES_OF_A_REGION


def _zones_of(location: object, added: tuple[Any, ...]) -> int:
    """Zones of a cluster: the own one of a zonal cluster is beside those that it adds, named again or not."""
    zonal = isinstance(location, str) and location.count("-") == 2
    return len({*map(str, added), str(location)}) if zonal else len(added)


def pool_size(pool: RecordedResource, zones: int | Unknown) -> Size:
    """Machines of a node pool over all its zones."""
    scaling = pool.inputs.get("autoscaling")
    initial = count(pool.inputs.get("initialNodeCount"))
    if scaling is None:
        stated = pool.inputs.get("nodeCount")
        return fixed(_times(count(stated) if stated is not None else (1 if initial is None else initial), zones))
    if scaling is UNKNOWN:
        return Size(least=UNKNOWN, wanted=UNKNOWN, most=UNKNOWN)
    if get(scaling, "totalMaxNodeCount") is not None:
        least, most = count(get(scaling, "totalMinNodeCount", default=0)), count(get(scaling, "totalMaxNodeCount"))
    else:
        least = _times(count(get(scaling, "minNodeCount", default=0)), zones)
        most = _times(count(get(scaling, "maxNodeCount")), zones)
    return Size(least=least, wanted=_times(initial, zones), most=most)


def _times(value: Any, zones: int | Unknown) -> Any:
    if value is UNKNOWN or value is None:
        return value
    if value == 0:
        return 0
    return UNKNOWN if isinstance(zones, Unknown) else value * zones


def private_nodes(pool: RecordedResource, cluster: RecordedResource | Unknown | None) -> Flag:
    """Whether a pool's machines have no public address: its own word goes before its cluster's."""
    own = get(pool.inputs, "networkConfig", "enablePrivateNodes")
    if own is not None or cluster is None:
        return flag(own)
    if isinstance(cluster, Unknown):
        return UNKNOWN
    return flag(get(cluster.inputs, "privateClusterConfig", "enablePrivateNodes"))


def tpu_slice(catalog: Any, kind: str, topology: str) -> tuple[str, int] | None:
    """(machine type, machines) of a Cloud TPU VM type such as "v5litepod-16" or a generation with a topology."""
    generation = kind.lower().replace("_pod", "").removeprefix("v5lite").replace("_", "")
    for entry in catalog.slices:
        if (
            topology
            and entry.topology == topology
            and entry.generation.replace("v5e", "v5litepod") in (kind.lower(), generation)
        ):
            return entry.machine_type, entry.vms
    for entry in catalog.slices:
        if entry.api_type == kind:
            return entry.machine_type, entry.vms
    return None
