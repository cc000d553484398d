"""Subnets, zones and maintenance windows that a cloud refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, get, items
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.catalog.records import NO_ZONES
from sizewell.sizing.providers.aws import WITHOUT_CONTROL_PLANE

Network = IPv4Network | IPv6Network

SUBNET: Final = "aws:ec2/subnet:Subnet"
VPC: Final = "aws:ec2/vpc:Vpc"
MORE_ADDRESSES: Final = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"
VNET: Final = "azure-native:network:VirtualNetwork"
CLASSIC_VNET: Final = "azure:network/virtualNetwork:VirtualNetwork"
# Type of a subnet -> (input that names its network, types of that).
SUBNETS: Final = {
    SUBNET: ("vpcId", (VPC, "aws:ec2/defaultVpc:DefaultVpc")),
    "gcp:compute/subnetwork:Subnetwork": ("network", ("gcp:compute/network:Network",)),
    "gcp:compute/globalAddress:GlobalAddress": ("network", ("gcp:compute/network:Network",)),  # a range for peering
    "azure-native:network:Subnet": ("virtualNetworkName", (VNET,)),
    "azure:network/subnet:Subnet": ("virtualNetworkName", (CLASSIC_VNET,)),
}
ADDRESSES: Final = tuple(SUBNETS)
# Type of a network -> path of its addresses; it may have subnets of its own in the input `subnets`.
NETWORKS: Final = {
    VPC: ("cidrBlock",),
    VNET: ("addressSpace", "addressPrefixes"),
    CLASSIC_VNET: ("addressSpaces",),
}
KEYS: Final = ("cidrBlock", "ipCidrRange", "addressPrefix", "addressPrefixes")
LOCAL_ZONE: Final = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d-[a-z]{3}-\d[a-z]|[a-z]+\d-[a-z]{3}\d-az\d")
"""Names and ids of Local Zones, where no control plane runs (docs.aws.amazon.com/eks/latest/userguide/local-zones.html,
read on 2026-11-27).
"""


def of_cluster(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """An EKS cluster all of whose subnets are in one zone (docs.aws.amazon.com/eks/latest/userguide/network-reqs.html:
    at least two).
    """
    if canonical(resource.type) != "aws:eks/cluster:Cluster" or resource.inputs.get("outpostConfig") is not None:
        return
    listed = items(get(resource.inputs, "vpcConfig", "subnetIds"))
    subnets = graph.referenced(resource, "vpcConfig", SUBNET)
    if isinstance(listed, Unknown) or isinstance(subnets, Unknown) or not listed or len(listed) != len(subnets):
        return
    for subnet in subnets:
        zone = get(subnet.inputs, "availabilityZoneId", default=get(subnet.inputs, "availabilityZone"))
        if zone in WITHOUT_CONTROL_PLANE or (isinstance(zone, str) and LOCAL_ZONE.fullmatch(zone)):
            said = f"EKS refuses subnet {subnet.name} for a control plane: {zone} takes none"
            yield said, "name subnets of other zones for the cluster; nodes of their own may stand there"
    zones = {get(each.inputs, "availabilityZone", default=get(each.inputs, "availabilityZoneId")) for each in subnets}
    if len(zones) == 1 and (len(subnets) == 1 or isinstance(next(iter(zones)), str)):
        where = f"all in {next(iter(zones))}" if len(subnets) > 1 else "one alone"
        yield f"EKS needs subnets in two zones and refuses these: {where}", "give it a subnet in another zone"


# Type of a subnet -> longest prefix that its cloud takes (docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html,
# vpc-cidr-blocks.html; cloud.google.com/vpc/docs/subnets; learn.microsoft.com/azure/virtual-network, from memory).
SMALLEST: Final = {
    SUBNET: 28, "gcp:compute/subnetwork:Subnetwork": 29, "azure-native:network:Subnet": 29,
    "azure:network/subnet:Subnet": 29, VNET: 29, CLASSIC_VNET: 29, VPC: 28,
}  # fmt: skip
LARGEST: Final = {VPC: 16, SUBNET: 16}
# Name of a subnet of Azure -> longest prefix that the service in it takes (azure-skills' networking-core.md and
# learn.microsoft.com/azure/expressroute: a gateway needs /27, and Basic ones take /29).
NAMED: Final = {"AzureBastionSubnet": 26, "AzureFirewallSubnet": 26, "GatewaySubnet": 29}


def of_sizes(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Ranges that are smaller or larger than a cloud takes, or than the service that a subnet is named for."""
    type_ = canonical(resource.type)
    if type_ not in SMALLEST:
        return
    if type_ in (VNET, CLASSIC_VNET):
        plots = list(plots_of(graph, resource))
    else:
        plots = [Plot(name=resource.name, key=key, network=of, home="") for key, of in _stated(resource.inputs)]
    stated = get(resource.inputs, "subnetName", default=get(resource.inputs, "name"))
    for plot in plots:
        name = stated if plot.name == resource.name and isinstance(stated, str) else plot.name
        longest = NAMED.get(name, SMALLEST[type_])
        size = plot.network.prefixlen
        if plot.network.version != 4 or LARGEST.get(type_, 0) <= size <= longest:
            continue
        whose = f"{plot.key} {plot.network}" + (f" of {name}" if name != resource.name else "")
        if size > longest:
            yield f"{whose} is too small: its cloud takes /{longest} or larger there", f"take a /{longest} or larger"
        else:
            most = LARGEST[type_]
            yield f"{whose} is too large: its cloud takes /{most} or smaller", f"take a /{most} or smaller"


# Type of what stands in a subnet of Azure of one name alone -> (input that names the subnet, the name).
IN_NAMED: Final = {
    "azure-native:network:BastionHost": ("ipConfigurations", "AzureBastionSubnet"),
    "azure:compute/bastionHost:BastionHost": ("ipConfiguration", "AzureBastionSubnet"),
    "azure-native:network:AzureFirewall": ("ipConfigurations", "AzureFirewallSubnet"),
    "azure:network/firewall:Firewall": ("ipConfigurations", "AzureFirewallSubnet"),
    "azure-native:network:VirtualNetworkGateway": ("ipConfigurations", "GatewaySubnet"),
    "azure:network/virtualNetworkGateway:VirtualNetworkGateway": ("ipConfigurations", "GatewaySubnet"),
}


def of_named(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """What Azure takes in a subnet of one name alone (networking-core.md of github.com/microsoft/azure-skills)."""
    if (row := IN_NAMED.get(canonical(resource.type))) is None:
        return
    link, name = row
    subnets = graph.referenced(resource, link, "azure-native:network:Subnet", "azure:network/subnet:Subnet")
    for subnet in () if isinstance(subnets, Unknown) else subnets:
        has = get(subnet.inputs, "subnetName", default=get(subnet.inputs, "name"))
        has = subnet.name if has is None else has  # azure-native gives a subnet the resource's own name
        if isinstance(has, str) and not isinstance(has, Unknown) and has != name:
            yield f"subnet {has} is refused: Azure puts it into one that is named {name}", f"name the subnet {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Addresses that a subnet takes."""

    name: str
    key: str  # the input that states them
    network: Network
    home: str  # in which network it is: its URN, or its name where it stands elsewhere


def of_subnet(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """A subnet outside of its network's addresses, or over those of another; each pair is said at the later one.

    Subnets inside a network (Azure's `subnets`) count as those that stand for themselves, and so do the secondary
    ranges of Google's.
    """
    if canonical(resource.type) not in (*SUBNETS, VNET, CLASSIC_VNET):
        return
    for own in plots_of(graph, resource):
        parent = graph.by_urn.get(own.home)
        ranges = ranges_of(graph, parent) if parent is not None else []
        if ranges and not any(own.network.version == each.version and own.network.subnet_of(each) for each in ranges):  # type: ignore[arg-type]
            has = ", ".join(map(str, ranges))
            whose = (
                f"{own.key} {own.network} of {own.name}" if own.name != resource.name else f"{own.key} {own.network}"
            )
            yield f"{whose} is outside of its network's {has}: the cloud refuses it", f"take a part of {has}"
    earlier: list[Plot] = []
    for other in graph.of(*SUBNETS, VNET, CLASSIC_VNET):
        for plot in plots_of(graph, other):
            if other.urn == resource.urn:
                yield from _over(plot, resource, earlier)
            earlier.append(plot)
        if other.urn == resource.urn:
            return


def _over(own: Plot, resource: RecordedResource, earlier: Sequence[Plot]) -> Iterator[tuple[str, str]]:
    for other in earlier:
        theirs, same = other.network, other.home == own.home and (other.name, other.network) != (own.name, own.network)
        if same and own.network.version == theirs.version and own.network.overlaps(theirs):
            of = f" of {own.name}" if own.name != resource.name else ""
            said = f"{own.key} {own.network}{of} overlaps {theirs} of {other.name} in the same network"
            yield f"{said}: the cloud refuses the second", "take addresses that no other subnet has"


def plots_of(graph: Graph, resource: RecordedResource) -> Iterator[Plot]:
    """What a resource takes of a network; nothing where that is not known."""
    type_, inputs = canonical(resource.type), resource.inputs
    if type_ in SUBNETS:
        home = home_of(graph, resource)
        for key, network in _stated(inputs) if home is not None else ():
            yield Plot(name=resource.name, key=key, network=network, home=home or "")
    elif type_ in (VNET, CLASSIC_VNET):
        inside = items(inputs.get("subnets"))
        for place, subnet in enumerate(() if isinstance(inside, Unknown) else inside):
            name = get(subnet, "name")
            for key, network in _stated(subnet):
                shown = name if isinstance(name, str) else f"subnets[{place}]"
                yield Plot(name=shown, key=key, network=network, home=resource.urn)


def _stated(subnet: Any) -> Iterator[tuple[str, Network]]:
    for key in KEYS:
        value = get(subnet, key)
        for cidr in (value,) if isinstance(value, str) else value if isinstance(value, list | tuple) else ():
            if (network := network_of(cidr)) is not None:
                yield key, network
    if get(subnet, "purpose") == "VPC_PEERING":
        network = network_of(f"{get(subnet, 'address')}/{get(subnet, 'prefixLength')}")
        if network is not None:
            yield "address", network
    secondary = items(get(subnet, "secondaryIpRanges"))
    for each in () if isinstance(secondary, Unknown) else secondary:
        if (network := network_of(get(each, "ipCidrRange"))) is not None:
            yield "ipCidrRange", network


def home_of(graph: Graph, subnet: RecordedResource) -> str | None:
    """What says in which network a subnet is: its URN, or its name where it stands elsewhere; None where unknown."""
    link, kinds = SUBNETS[canonical(subnet.type)]
    found = graph.referenced(subnet, link, *kinds)
    if not isinstance(found, Unknown) and len(found) == 1:
        return found[0].urn
    stated = subnet.inputs.get(link)
    group = subnet.inputs.get("resourceGroupName", "")
    return f"{group}/{stated}" if isinstance(stated, str) and isinstance(group, str) and not found else None


def ranges_of(graph: Graph, network: RecordedResource) -> list[Network]:
    """All addresses of a network; [] where some are not known."""
    if (type_ := canonical(network.type)) not in NETWORKS:
        return []
    stated = get(network.inputs, *NETWORKS[type_])
    listed = (stated,) if isinstance(stated, str) else items(stated)
    cidrs = [] if isinstance(listed, Unknown) else list(listed)
    more = graph.referring(network, MORE_ADDRESSES, "vpcId") if type_ == VPC else ()
    if isinstance(more, Unknown):
        return []
    ranges = [network_of(each) for each in (*cidrs, *(association.inputs.get("cidrBlock") for association in more))]
    return [each for each in ranges if each is not None] if None not in ranges else []


def network_of(cidr: object) -> Network | None:
    """A range of addresses, None where it is not known or is none."""
    try:
        return ip_network(cidr, strict=False) if isinstance(cidr, str) else None
    except ValueError:
        return None


GOOGLE_NETWORK: Final = "gcp:compute/network:Network"
SUBNETWORK: Final = "gcp:compute/subnetwork:Subnetwork"
# Type of a peering -> the inputs that name its two networks, and the types of those.
PEERINGS: Final = {
    "aws:ec2/vpcPeeringConnection:VpcPeeringConnection": ("vpcId", "peerVpcId", (VPC,)),
    "gcp:compute/networkPeering:NetworkPeering": ("network", "peerNetwork", (GOOGLE_NETWORK,)),
    "azure-native:network:VirtualNetworkPeering": ("virtualNetworkName", "remoteVirtualNetwork", (VNET,)),
    "azure:network/virtualNetworkPeering:VirtualNetworkPeering": (
        "virtualNetworkName", "remoteVirtualNetworkId", (CLASSIC_VNET,),
    ),
}  # fmt: skip


def of_peering(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Two networks whose addresses overlap, which no cloud peers (docs.aws.amazon.com/vpc/latest/peering,
    cloud.google.com/vpc/docs/vpc-peering and learn.microsoft.com/azure/virtual-network, from memory).
    """
    if (row := PEERINGS.get(canonical(resource.type))) is None:
        return
    *links, kinds = row
    ends = [graph.referenced(resource, str(link), *kinds) for link in links]
    if any(isinstance(each, Unknown) or len(each) != 1 for each in ends):
        return
    one, other = (each[0] for each in ends if not isinstance(each, Unknown))
    for own in _taken(graph, one):
        for theirs in _taken(graph, other) if one.urn != other.urn else ():
            if own.version == theirs.version and own.overlaps(theirs):
                said = f"{own} of {one.name} overlaps {theirs} of {other.name}: the cloud refuses to peer them"
                yield said, "give one of the networks addresses that the other has not"
                return


def _taken(graph: Graph, network: RecordedResource) -> list[Network]:
    """The addresses of a network; of one of Google's those of its subnets."""
    if canonical(network.type) != GOOGLE_NETWORK:
        return ranges_of(graph, network)
    plots = (plot for subnet in graph.of(SUBNETWORK) for plot in plots_of(graph, subnet))
    return [plot.network for plot in plots if plot.home == network.urn]


def of_ranges(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Secondary ranges that a cluster of GKE names and its subnetwork has not."""
    if canonical(resource.type) != CLUSTER:
        return
    subnets = graph.referenced(resource, "subnetwork", SUBNETWORK)
    if isinstance(subnets, Unknown) or len(subnets) != 1:
        return
    (subnet,) = subnets
    listed = items(subnet.inputs.get("secondaryIpRanges"))
    names = [UNKNOWN] if isinstance(listed, Unknown) else [get(each, "rangeName") for each in listed]
    if any(not isinstance(each, str) for each in names) or "secondaryIpRanges" in subnet.ignore_changes:
        return
    for key in ("clusterSecondaryRangeName", "servicesSecondaryRangeName"):
        named = get(resource.inputs, "ipAllocationPolicy", key)
        if isinstance(named, str) and named and named not in names:
            has = ", ".join(map(str, names)) or "none"
            said = f"{key} {named!r} is no range of subnetwork {subnet.name}: GKE refuses the cluster"
            yield said, f"name one that it has ({has}), or add the range to it"


POOL: Final = "gcp:container/nodePool:NodePool"
CLUSTER: Final = "gcp:container/cluster:Cluster"


def of_places(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Zones of GKE nodes that are in another region than their cluster."""
    location = _location(graph, resource)
    for zone, region in _node_zones(resource):
        if isinstance(location, str) and re.fullmatch(rf"{region}(-\w+)?", location) is None:
            said = f"nodeLocations has {zone}, outside of its cluster's {location}: GKE refuses it"
            yield said, f"name zones of {location}"


def of_zones(graph: Graph, resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Zones of GKE nodes that there are none of, in the region of their cluster."""
    location = _location(graph, resource)
    for zone, region in _node_zones(resource):
        letters = catalog.zones_of(cloud_of(canonical(resource.type)), region)
        elsewhere = isinstance(location, str) and re.fullmatch(rf"{region}(-\w+)?", location) is None
        if not elsewhere and letters and zone[-1] not in letters:
            allowed = ", ".join(f"{region}-{each}" for each in letters)
            yield f"nodeLocations has {zone}, and no such zone is known in {region}", f"name one of {allowed}"


def _location(graph: Graph, resource: RecordedResource) -> object:
    """Of a cluster of GKE, or of a pool's."""
    location = resource.inputs.get("location")
    clusters = graph.referenced(resource, "cluster", CLUSTER) if canonical(resource.type) == POOL else ()
    if not isinstance(clusters, Unknown) and len(clusters) == 1:
        location = clusters[0].inputs.get("location", location)
    return location


def _node_zones(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Each zone that a cluster or a pool of GKE names, with its region; one of Google's zones for AI is passed over."""
    zones = items(resource.inputs.get("nodeLocations")) if canonical(resource.type) in (POOL, CLUSTER) else ()
    for zone in () if isinstance(zones, Unknown) else zones:
        if isinstance(zone, str) and re.fullmatch(r"[a-z]+-[a-z]+\d+-[a-z]", zone):
            yield zone, zone[:-2]


# Type -> paths of its zones; a cluster's pools state theirs one by one.
ZONED: Final = {
    "azure-native:containerservice:AgentPool": "availabilityZones",
    "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": "zones",
    "azure-native:compute:VirtualMachine": "zones",
    "azure-native:compute:VirtualMachineScaleSet": "zones",
    "azure-native:compute:CapacityReservation": "zones",
    "azure-native:network:PublicIPAddress": "zones",
    "azure:compute/linuxVirtualMachine:LinuxVirtualMachine": "zone",
}
AKS: Final = "azure-native:containerservice:ManagedCluster"


def of_numbered_zones(graph: Graph, resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Zones in a region that has none, or not these: Azure numbers them."""
    type_ = canonical(resource.type)
    region = graph.region(resource)
    if type_ == "azure-native:containerservice:AgentPool" and region in ("", UNKNOWN):
        clusters = graph.referenced(resource, "resourceName", AKS)
        region = graph.region(clusters[0]) if isinstance(clusters, tuple) and len(clusters) == 1 else region
    pools = items(resource.inputs.get("agentPoolProfiles")) if type_ == AKS else ()
    stated = [get(resource.inputs, ZONED[type_])] if type_ in ZONED else []
    stated += [get(pool, "availabilityZones") for pool in (() if isinstance(pools, Unknown) else pools)]
    if not stated or not isinstance(region, str) or not region:
        return
    has = catalog.zones_of(cloud_of(type_), region)
    for zones in stated:
        listed = items(zones)
        wrong = [str(each) for each in (() if isinstance(listed, Unknown) else listed) if isinstance(each, str | int)]
        wrong = [each for each in wrong if has and each not in has]
        if wrong:
            there = "has no zones" if has == NO_ZONES else f"has {', '.join(each for each in has if len(each) == 1)}"
            fix = "leave the zones out, or take a region with zones" if has == NO_ZONES else "name one of these"
            yield f"zones {', '.join(wrong)} are refused: {region} {there}", fix
            return


LEAST_HOURS, LEAST_IN_32_DAYS, MOST_DAYS = 4, 48, 90
"""48 hours in any 32 days, in pieces of at least 4 (cloud.google.com/kubernetes-engine/docs/maintenance-window, read on
2026-11-27). An exclusion of scope NO_UPGRADES lasts 90 days at most: an estimate, from memory of
cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions."""


def of_maintenance(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """A window that leaves GKE too little time, and an exclusion that is longer than GKE takes."""
    if canonical(resource.type) != CLUSTER:
        return
    policy = get(resource.inputs, "maintenancePolicy")
    window = get(policy, "recurringWindow")
    hours, rule = _hours(window), get(window, "recurrence")
    if hours is not None and isinstance(rule, str):
        offered = hours * _times(rule)
        if hours < LEAST_HOURS or offered < LEAST_IN_32_DAYS:
            said = f"a maintenance window of {hours:g} h ({rule}) is too short: GKE asks for 48 h in 32 days"
            yield f"{said}, in pieces of at least 4 h", "make it longer, or add days"
    exclusions = items(get(policy, "maintenanceExclusions"))
    for each in () if isinstance(exclusions, Unknown) else exclusions:
        lasts = _hours(each)
        scope = get(each, "exclusionOptions", "scope", default="NO_UPGRADES")
        if lasts is not None and scope == "NO_UPGRADES" and lasts > MOST_DAYS * 24:
            said = f"the exclusion {get(each, 'exclusionName')} of {lasts / 24:g} days is longer than GKE takes"
            yield f"{said} for NO_UPGRADES", f"end it within {MOST_DAYS} days, or name the scope NO_MINOR_UPGRADES"


def _hours(value: Any) -> float | None:
    start, end = get(value, "startTime"), get(value, "endTime")
    try:
        lasts = datetime.fromisoformat(str(end)) - datetime.fromisoformat(str(start))
    except (ValueError, TypeError):
        return None
    return lasts.total_seconds() / 3600


def _times(rule: str) -> float:
    """How often at most a window opens in 32 days; any number where the rule has another form.

    >>> _times("FREQ=WEEKLY;BYDAY=SA,SU"), _times("FREQ=DAILY"), _times("FREQ=MONTHLY;BYDAY=1SA")
    (10, 32, inf)
    """
    parts = dict(part.partition("=")[::2] for part in rule.upper().split(";"))
    if parts.get("FREQ") == "DAILY" and "BYDAY" not in parts and parts.get("INTERVAL", "1") == "1":
        return 32
    if parts.get("FREQ") == "WEEKLY" and "BYDAY" in parts and parts.get("INTERVAL", "1") == "1":
        return min(5 * len(parts["BYDAY"].split(",")), 32)
    return float("inf")
