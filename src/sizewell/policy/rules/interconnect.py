"""What the machines of one job need between them: a fast network, one zone, whole TPU slices, a file system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.policy.rule import Parameters, StackVerdicts, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Opening, Pool, StackFacts
from sizewell.resources.values import count, either, every, get, items, text


@rule(
    "efa-interfaces",
    area="correctness",
    subject="pools",
    prevents="slow collectives, or machines that do not start",
    clouds=("aws",),
)
def efa_interfaces(pool: Pool, _: Parameters) -> Verdict:
    """A gang on EFA has one interface per network card: index 0 on card 0, index 1 on all others.

    >>> from sizewell.policy.examples import pool
    >>> efa = {"networkInterfaces": [{"interfaceType": "efa", "deviceIndex": 0, "networkCardIndex": 0}]}
    >>> efa_interfaces(pool(kinds=("p5en.48xlarge",), efa_cards=16, gang=True, machine=efa), {}).message
    '1 of 16 network cards have EFA: collectives run at a fraction of the speed that is paid for'
    """
    if pool.gang is False:
        return None
    if pool.gang is UNKNOWN or isinstance(pool.kinds, Unknown):
        return Undetermined("machine type and network interfaces")
    cards = pool.efa_cards
    interfaces = items(get(pool.machine, "networkInterfaces"))
    if not cards:
        return None
    if isinstance(interfaces, Unknown):
        return Undetermined("the network interfaces")
    fast = [entry for entry in interfaces if str(get(entry, "interfaceType", default="")).startswith("efa")]
    numbers = {count(get(entry, "networkCardIndex", default=0)) for entry in fast}
    fix = f"declare {cards} interfaces, one per network card: efa on card 0, efa-only on the rest"
    if len(numbers) != cards:
        message = (
            f"{len(numbers)} of {cards} network cards have EFA: collectives run at a fraction of the speed "
            "that is paid for"
        )
        return Violation(message, fix)
    for entry in fast:
        wanted = 0 if count(get(entry, "networkCardIndex", default=0)) == 0 or pool.first_card_apart else 1
        if count(get(entry, "deviceIndex", default=0)) != wanted:
            return Violation("the machines do not start: device index 0 belongs to card 0, index 1 to all others", fix)
    return None


@rule(
    "efa-security-group",
    area="correctness",
    subject="stack",
    prevents="jobs that hang while their machines are billed",
    clouds=("aws",),
)
def efa_security_group(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """EFA needs all protocols between the machines in both directions: one self rule each way.

    >>> from sizewell.policy.examples import pool, stack
    >>> efa_security_group(stack(pools=(pool(gang=True),)), {})[0][1].fix
    'allow all protocols from and to the security group itself'
    """
    verdicts: list[tuple[str, Verdict]] = []
    own = [o for o in facts.openings if o.cloud == "aws" and o.self_reference is not False]
    for pool in facts.pools:
        if pool.cloud != "aws" or pool.gang is False:
            continue
        if pool.gang is UNKNOWN:
            verdicts.append((pool.urn, Undetermined("the network interfaces")))
            continue
        ways = [
            either(*(o.self_reference for o in own if o.direction == way and o.ports in ("all", UNKNOWN)), False)
            for way in ("ingress", "egress")
        ]
        verdict = require(
            every(*ways),
            message="EFA traffic between the machines is dropped: the job hangs at its first collective",
            fix="allow all protocols from and to the security group itself",
            unknown="the security group's rules",
        )
        verdicts.append((pool.urn, verdict))
    return verdicts


@rule(
    "infiniband-size",
    area="correctness",
    subject="pools",
    prevents="collectives over Ethernet at the price of InfiniBand",
    debatable=True,  # not stated whether machines work on one job
    clouds=("azure",),
)
def infiniband_size(pool: Pool, _: Parameters) -> Verdict:
    """Machines that work on one job have RDMA: on Azure only sizes with an r, in a single placement group.

    >>> from sizewell.policy.examples import pool
    >>> set_, size = "azure-native:compute:VirtualMachineScaleSet", "Standard_ND96isr_H100_v5"
    >>> rdma = frozenset({"clustered", "infiniband"})
    >>> cut = pool(type=set_, cloud="azure", kinds=(size,), traits=rdma, nodes_max=4, gang=False)
    >>> infiniband_size(cut, {}).fix
    'set singlePlacementGroup to true'
    """
    if isinstance(pool.kinds, Unknown) or isinstance(pool.nodes_max, Unknown) or pool.gang is UNKNOWN:
        return Undetermined("size and placement")
    if (
        "clustered" not in pool.traits
        or (pool.nodes_max or 0) < 2
        or pool.workload_kind in ("inference", "batch-inference", "notebook")
    ):
        return None
    if "infiniband" not in pool.traits:
        message = f"{pool.kinds[0]} has no InfiniBand: collectives run over Ethernet"
        return Violation(message, "use the size with an r, such as Standard_ND96isr_H100_v5")
    if pool.gang is not True and pool.type == "azure-native:compute:VirtualMachineScaleSet":
        message = "without a single placement group the machines may be in different InfiniBand partitions"
        return Violation(message, "set singlePlacementGroup to true")
    return None


_ONE_ZONE: Final[Mapping[str, str]] = {
    "aws": "give the pool one subnet, in a zone that offers the type",
    "gcp": "name one zone that offers the type (zone, or one of nodeLocations)",
    "azure": "name one zone that offers the type (zones, availabilityZones in AKS)",
}


@rule(
    "gang-in-one-zone",
    area="correctness",
    subject="pools",
    prevents="collectives across zones",
)
def gang_in_one_zone(pool: Pool, _: Parameters) -> Verdict:
    """The machines of one job are in one zone: between zones there is no fast fabric, and traffic is billed.

    >>> from sizewell.policy.examples import pool
    >>> gang_in_one_zone(pool(gang=True, zones=3), {}).fix
    'give the pool one subnet, in a zone that offers the type'
    >>> gang_in_one_zone(pool(gang=True, zones=1), {}) is None
    True
    """
    if either(pool.gang, pool.placement) is False or pool.zones is None:
        return None
    if isinstance(pool.zones, Unknown) or UNKNOWN in (pool.gang, pool.placement):
        return Undetermined("the zones")
    if pool.zones == 1:
        return None
    return Violation(
        f"one job is spread over {pool.zones} zones: no fast interconnect between zones, and the traffic is billed",
        _ONE_ZONE.get(pool.cloud, "keep the pool in one zone that offers the type"),
    )


@rule(
    "gke-compact-placement",
    area="correctness",
    subject="pools",
    prevents="pools that the cloud rejects",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def gke_compact_placement(pool: Pool, _: Parameters) -> Verdict:
    """Compact placement requires exactly one zone and no blue-green upgrade.

    >>> from sizewell.policy.examples import pool
    >>> compact = {"placementPolicy": {"type": "COMPACT"}, "upgradeSettings": {"strategy": "BLUE_GREEN"}}
    >>> node_pool = "gcp:container/nodePool:NodePool"
    >>> gke_compact_placement(pool(type=node_pool, placement=True, zones=1, inputs=compact), {}).fix
    'use SURGE upgrades'
    >>> gke_compact_placement(pool(type=node_pool, placement=True, zones=3), {}).fix
    'name one zone in nodeLocations'
    """
    if pool.placement is not True:
        return Undetermined("the placement policy") if pool.placement is UNKNOWN else None
    strategy = get(pool.inputs, "upgradeSettings", "strategy")
    if isinstance(pool.zones, Unknown) or strategy is UNKNOWN:
        return Undetermined("zones and upgrade strategy")
    if (pool.zones or 1) > 1:
        message = f"compact placement over {pool.zones} zones is rejected"
        return Violation(message, "name one zone in nodeLocations")
    if strategy == "BLUE_GREEN":
        return Violation("compact placement with blue-green upgrades is rejected", "use SURGE upgrades")
    return None


@rule(
    "tpu-topology",
    area="correctness",
    subject="pools",
    prevents="TPU nodes that are billed but do not form a slice",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def tpu_topology(pool: Pool, _: Parameters) -> Verdict:
    """A TPU slice has the number of machines that its topology needs, all or none.

    >>> from sizewell.policy.examples import pool
    >>> slice_ = {"placementPolicy": {"tpuTopology": "4x4", "type": "COMPACT"}, "nodeCount": 3}
    >>> tpu = pool(kinds=("ct6e-standard-4t",), tpu_chips=4, inputs=slice_, nodes_min=3, nodes_max=3)
    >>> tpu_topology(tpu, {}).fix
    'set the number of nodes to 4'
    """
    if isinstance(pool.kinds, Unknown):
        return Undetermined("the machine type")
    chips = pool.tpu_chips
    topology = text(get(pool.inputs, "placementPolicy", "tpuTopology"))
    if not chips or topology == "":
        return None
    if isinstance(topology, Unknown) or isinstance(pool.nodes_max, Unknown) or isinstance(pool.nodes_min, Unknown):
        return Undetermined("topology and size")
    total = 1
    for side in topology.split("x"):
        if not side.isdigit():
            return Violation(f"{topology} is not a topology: the pool is rejected", "write it as 2x4 or 4x4x4")
        total *= int(side)
    machines = total // chips
    if total % chips:
        return Violation(
            f"{topology} is not a whole number of {pool.kinds[0]} machines: the pool is rejected",
            "use a valid topology",
        )
    if machines <= 1:
        return None
    if pool.nodes_max != machines or pool.nodes_min not in (0, machines):
        return Violation(
            f"{topology} needs {machines} nodes, all or none: {pool.nodes_min} to {pool.nodes_max} do not form a slice",
            f"set the number of nodes to {machines}",
        )
    return None


@rule(
    "tpu-single-host",
    area="correctness",
    subject="pools",
    prevents="single TPU machines that cannot scale",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def tpu_single_host(pool: Pool, _: Parameters) -> Verdict:
    """A single-host TPU pool states no topology: with one, GKE treats it as a slice that cannot scale.

    >>> from sizewell.policy.examples import pool
    >>> single = {"placementPolicy": {"tpuTopology": "2x2", "type": "COMPACT"}}
    >>> tpu_single_host(pool(kinds=("ct6e-standard-4t",), tpu_chips=4, inputs=single), {}).fix
    'drop placementPolicy.tpuTopology'
    """
    if isinstance(pool.kinds, Unknown):
        return Undetermined("the machine type")
    if not pool.tpu_chips:
        return None
    topology = text(get(pool.inputs, "placementPolicy", "tpuTopology"))
    if isinstance(topology, Unknown):
        return Undetermined("the topology")
    sides = [int(side) for side in topology.split("x") if side.isdigit()]
    chips = 1
    for side in sides:
        chips *= side
    if not sides or chips > pool.tpu_chips:
        return None
    return Violation(
        f"{topology} fits one machine: as a slice the pool cannot be scaled machine by machine",
        "drop placementPolicy.tpuTopology",
    )


@rule(
    "file-system-zone",
    area="correctness",
    subject="stack",
    prevents="accelerators that wait for data from another zone",
)
def file_system_zone(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A parallel file system is in the zone of the machines that read it.

    >>> from sizewell.policy.examples import disk, pool, stack
    >>> far = disk(type="gcp:lustre/instance:Instance", kind="file-system", zone="us-central1-b", cloud="gcp")
    >>> near = pool(accelerator="l4", cloud="gcp", inputs={"zone": "us-central1-a"})
    >>> file_system_zone(stack(disks=(far,), pools=(near,)), {})[0][1].fix
    'create the file system in us-central1-a'
    """
    zones: set[str] = set()
    unsure = False
    for pool in facts.pools:
        if pool.accelerated is False:
            continue
        listed = items(pool.inputs.get("nodeLocations"))
        places = [pool.inputs.get(key) for key in ("zone", "location", "availabilityZone")]
        places += [UNKNOWN] if isinstance(listed, Unknown) else listed
        zones.update(place for place in places if isinstance(place, str) and place.count("-") == 2)
        unsure |= UNKNOWN in places or pool.accelerated is UNKNOWN
    verdicts: list[tuple[str, Verdict]] = []
    for disk in facts.disks:
        if disk.kind != "file-system" or not (zones or unsure):
            continue
        if isinstance(disk.zone, Unknown) or (unsure and disk.zone not in zones):
            verdicts.append((disk.urn, Undetermined("the zones of the file system and its readers")))
        elif disk.zone.count("-") != 2:
            continue
        elif disk.zone in zones:
            verdicts.append((disk.urn, None))
        else:
            message = (
                f"it is in {disk.zone}, its readers in {', '.join(sorted(zones))}: reads are slow and "
                "traffic between zones is billed"
            )
            verdicts.append((disk.urn, Violation(message, f"create the file system in {min(zones)}")))
    return verdicts


_LUSTRE_PORTS: Final = frozenset({988, *range(1018, 1024)})


@rule(
    "lustre-ports",
    area="correctness",
    subject="stack",
    prevents="mounts that hang while machines are billed",
    clouds=("aws",),
)
def lustre_ports(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Lustre clients reach their file system: ports 988 and 1018 to 1023.

    >>> from sizewell.policy.examples import opening, resource, stack
    >>> group = resource("aws:ec2/securityGroup:SecurityGroup", "lustre", {"name": "lustre"})
    >>> disk = resource("aws:fsx/lustreFileSystem:LustreFileSystem", "data", {"securityGroupIds": ["lustre"]})
    >>> only = opening(group=group.urn, ports="988")
    >>> lustre_ports(stack(group, disk, openings=(only,)), {})[0][1].message
    'clients cannot reach the file system on 6 ports: mounts hang while machines are billed'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for disk in facts.graph.of("aws:fsx/lustreFileSystem:LustreFileSystem"):
        groups = facts.graph.referenced(disk, "securityGroupIds", "aws:ec2/securityGroup:SecurityGroup")
        if isinstance(groups, Unknown):
            verdicts.append((disk.urn, Undetermined("its security groups")))
            continue
        if not groups:
            continue
        urns = {group.urn for group in groups}
        inward = [opening for opening in facts.openings if opening.direction == "ingress" and opening.group in urns]
        open_ports = frozenset().union(*(_ports(opening) for opening in inward if opening.ports is not UNKNOWN))
        missing = len(_LUSTRE_PORTS - open_ports)
        if not missing:
            verdicts.append((disk.urn, None))
        elif any(opening.ports is UNKNOWN for opening in inward) or any(
            opening.group == str(UNKNOWN) for opening in facts.openings
        ):
            verdicts.append((disk.urn, Undetermined("the ports that its security group opens")))
        else:
            message = f"clients cannot reach the file system on {missing} ports: mounts hang while machines are billed"
            verdicts.append((disk.urn, Violation(message, "open 988 and 1018-1023 to the machines that mount it")))
    return verdicts


def _ports(opening: Opening) -> frozenset[int]:
    if opening.ports == "all":
        return _LUSTRE_PORTS
    first, _, last = str(opening.ports).partition("-")
    if not first.isdigit() or not (last or first).isdigit():
        return frozenset()
    return _LUSTRE_PORTS & frozenset(range(int(first), int(last or first) + 1))
