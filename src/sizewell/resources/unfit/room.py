"""Subnets in one zone where a service asks for two, and addresses that are too few for the machines of a pool.

Sources: docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBSubnetGroup.html
(DBSubnetGroupDoesNotCoverEnoughAZs), and DocumentDB's and Neptune's alike; docs.aws.amazon.com/elasticloadbalancing/
latest/application/application-load-balancers.html (two zones at least); docs.aws.amazon.com/msk/1.0/apireference/
clusters.html (clientSubnets); docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html (five addresses that AWS
keeps); cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr (a node has a range of twice its pods): all
these from memory. github.com/MicrosoftDocs/azure-aks-docs fb060ab (articles/aks/
concepts-network-ip-address-planning.md: addresses of nodes and pods, with one node more for upgrades) and
github.com/Azure/AKS/issues/456 and 3653 (InsufficientSubnetSize), read on 2026-11-27.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.unfit.networks import ADDRESSES, LOCAL_ZONE, SUBNET, network_of, plots_of
from sizewell.resources.values import canonical, get, items, number

Said = tuple[str, str]

# Type -> input that says which subnets, path of their list, and whose.
_TWO_ZONES: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "aws:rds/subnetGroup:SubnetGroup": (("subnetIds",), "RDS"),
    "aws:docdb/subnetGroup:SubnetGroup": (("subnetIds",), "DocumentDB"),
    "aws:neptune/subnetGroup:SubnetGroup": (("subnetIds",), "Neptune"),
    "aws:lb/loadBalancer:LoadBalancer": (("subnets",), "an application load balancer"),
    "aws:alb/loadBalancer:LoadBalancer": (("subnets",), "an application load balancer"),
    "aws:msk/cluster:Cluster": (("brokerNodeGroupInfo", "clientSubnets"), "MSK"),
}


def of_one_zone(graph: Graph, resource: RecordedResource) -> Iterator[Said]:
    """Subnets that are all in one zone, where a service spreads over two."""
    if (row := _TWO_ZONES.get(canonical(resource.type))) is None:
        return
    path, whose = row
    if get(resource.inputs, "loadBalancerType", default="application") != "application":
        return
    listed = items(get(resource.inputs, *path))
    if isinstance(listed, Unknown) or not listed:
        return
    if len(listed) == 1:
        yield f"{whose} needs subnets in two zones and refuses one alone", "add a subnet in another zone"
        return
    subnets = graph.referenced(resource, path[0], SUBNET)
    if isinstance(subnets, Unknown) or len(listed) != len(subnets):
        return
    zones = {get(each.inputs, "availabilityZone", default=get(each.inputs, "availabilityZoneId")) for each in subnets}
    zone = next(iter(zones))
    if (
        any(each.inputs.get("outpostArn") is not None for each in subnets)
        or not isinstance(zone, str)
        or LOCAL_ZONE.fullmatch(zone)
    ):
        return
    if len(zones) == 1:
        said = f"{whose} needs subnets in two zones and refuses these: all in {zone}"
        yield said, "give one of them another zone"
    elif whose == "MSK" and len(zones) < len(subnets):
        yield "MSK takes one subnet of each zone, and two of these share one", "give each a zone of its own"


GKE, GKE_NODES = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
SUBNETWORK: Final = "gcp:compute/subnetwork:Subnetwork"
PODS_OF_GKE: Final = 110
"""Pods of a node where nothing is stated (as in GKE's Standard clusters)."""
ZONES_OF_REGION: Final = 3
"""Zones over which a regional cluster spreads its nodes where nothing names them."""


def of_pods_range(graph: Graph, resource: RecordedResource) -> Iterator[Said]:
    """A range of pods that holds fewer nodes of GKE than its pools may have."""
    if canonical(resource.type) != GKE or get(resource.inputs, "enableAutopilot") is True:
        return
    range_ = _pods_range(graph, resource)
    if range_ is None or get(resource.inputs, "ipAllocationPolicy", "additionalPodRangesConfig") is not None:
        return
    pods = _whole(get(resource.inputs, "defaultMaxPodsPerNode", default=PODS_OF_GKE))
    pools = graph.referring(resource, GKE_NODES, "cluster")
    if pods is None or isinstance(pools, Unknown) or not range_:
        return
    size = 2 ** (32 - range_)
    begins = _whole(get(resource.inputs, "initialNodeCount", default=0)) or 0
    first, fit = begins * _spread(resource, resource), size // _addresses(pods)
    wanted = 0 if get(resource.inputs, "removeDefaultNodePool") is True else first * _addresses(pods)
    most = 0 if get(resource.inputs, "removeDefaultNodePool") is True else first
    for pool in pools:
        own = _whole(get(pool.inputs, "maxPodsPerNode", default=pods))
        nodes = _most(pool, resource)
        if own is None or nodes is None or get(pool.inputs, "networkConfig", "podRange") is not None:
            return
        wanted, most = wanted + nodes * _addresses(own), most + nodes
    if fit < first or wanted > size:
        takes = f"each node takes {_addresses(pods)} addresses, for {pods} pods"
        said = f"the pods' range /{range_} holds {fit} node{'' if fit == 1 else 's'} ({takes})"
        needs = f"the pools may have {most}" if wanted > size else f"the cluster begins with {first}"
        length = 32 - (max(wanted, first * _addresses(pods)) - 1).bit_length()
        yield f"{said}, and {needs}: GKE starts no more", f"take a /{length} for pods, or fewer pods for each node"


def _pods_range(graph: Graph, cluster: RecordedResource) -> int | None:
    """The prefix of a cluster's range of pods; None where it is not known."""
    policy = get(cluster.inputs, "ipAllocationPolicy")
    stated, name = get(policy, "clusterIpv4CidrBlock"), get(policy, "clusterSecondaryRangeName")
    if isinstance(stated, str) and stated:
        prefix = stated.rpartition("/")[2]
        return int(prefix) if prefix.isdigit() else None
    subnets = graph.referenced(cluster, "subnetwork", SUBNETWORK)
    if not isinstance(name, str) or isinstance(subnets, Unknown) or len(subnets) != 1:
        return None
    ranges = items(get(subnets[0].inputs, "secondaryIpRanges"))
    for each in () if isinstance(ranges, Unknown) else ranges:
        if get(each, "rangeName") == name and (network := network_of(get(each, "ipCidrRange"))) is not None:
            return network.prefixlen
    return None


def _addresses(pods: int) -> int:
    """Addresses that GKE gives to a node: the power of two that is twice its pods at least.

    >>> _addresses(110), _addresses(64), _addresses(65), _addresses(8)
    (256, 128, 256, 16)
    """
    return 1 << (2 * pods - 1).bit_length()


def _most(pool: RecordedResource, cluster: RecordedResource) -> int | None:
    """Nodes that a pool may have, in all its zones; None where that is not known."""
    total = _whole(get(pool.inputs, "autoscaling", "totalMaxNodeCount"))
    if total:
        return total
    each = get(pool.inputs, "autoscaling", "maxNodeCount")
    if each is None:
        each = get(pool.inputs, "nodeCount", default=get(pool.inputs, "initialNodeCount", default=0))
    nodes = _whole(each)
    return None if nodes is None else nodes * _spread(pool, cluster)


def _spread(resource: RecordedResource, cluster: RecordedResource) -> int:
    zones = items(get(resource.inputs, "nodeLocations", default=get(cluster.inputs, "nodeLocations")))
    if isinstance(zones, Unknown):
        return 1
    place = get(cluster.inputs, "location")
    regional = isinstance(place, str) and place.count("-") == 1
    return len(zones) or (ZONES_OF_REGION if regional else 1)


AKS, AGENTS = "azure-native:containerservice:ManagedCluster", "azure-native:containerservice:AgentPool"
KEPT: Final = 5
"""Addresses of each subnet that AWS keeps, and as many that Azure does."""
PODS_OF_AKS: Final = 30
"""Pods of a node with Azure's CNI where nothing is stated."""


def of_nodes_subnet(graph: Graph, resource: RecordedResource) -> Iterator[Said]:
    """A subnet with fewer addresses than the nodes of a pool, and their pods where those have addresses of it."""
    type_ = canonical(resource.type)
    if type_ == AKS:
        yield from _of_aks(graph, resource)
    elif type_ in _MACHINES:
        link, path = _MACHINES[type_]
        most = _whole(get(resource.inputs, *path))
        listed = items(get(resource.inputs, link))
        subnets = graph.referenced(resource, link, SUBNET)
        if most is None or isinstance(listed, Unknown) or isinstance(subnets, Unknown) or len(listed) != len(subnets):
            return
        rooms = [_room(graph, subnet) for subnet in subnets]
        if rooms and None not in rooms and (free := sum(room or 0 for room in rooms)) < most:
            where = ", ".join(sorted(subnet.name for subnet in subnets))
            said = f"{most} machines do not fit into {where}, which has {free} addresses: AWS starts no more"
            yield said, f"take a subnet of /{_prefix(most)}, or fewer machines"


# Type -> its subnets, its most machines: each takes one address at least.
_MACHINES: Final = {
    "aws:eks/nodeGroup:NodeGroup": ("subnetIds", ("scalingConfig", "maxSize")),
    "aws:autoscaling/group:Group": ("vpcZoneIdentifiers", ("maxSize",)),
}


def _of_aks(graph: Graph, cluster: RecordedResource) -> Iterator[Said]:
    """With Azure's CNI and no overlay, each pod has an address of the nodes' subnet."""
    network = cluster.inputs.get("networkProfile")
    plugin = get(network, "networkPlugin")
    if not isinstance(plugin, str) or plugin in ("kubenet", "none") or get(network, "networkPluginMode") is not None:
        return
    profiles = items(cluster.inputs.get("agentPoolProfiles"))
    more = graph.referring(cluster, AGENTS, "resourceName")
    inside = graph.referenced(cluster, "agentPoolProfiles", *ADDRESSES)
    if isinstance(profiles, Unknown) or isinstance(more, Unknown) or isinstance(inside, Unknown) or len(inside) != 1:
        return
    outside = []
    for pool in more:
        own = graph.referenced(pool, "vnetSubnetID", *ADDRESSES)
        if isinstance(own, Unknown) or len(own) != 1:
            return
        outside += [pool.inputs] if own[0].urn == inside[0].urn else []
    needed = 0
    for pool in (*profiles, *outside):
        nodes = _whole(get(pool, "maxCount", default=get(pool, "count", default=1)))
        pods = _whole(get(pool, "maxPods", default=PODS_OF_AKS))
        if nodes is None or pods is None or get(pool, "podSubnetID") is not None:
            return
        needed += (nodes + 1) * (pods + 1) if nodes else 0
    free = _room(graph, inside[0])
    if free is not None and needed > free:
        said = f"its pools may take {needed} addresses (nodes, one more of each pool for upgrades, and their pods)"
        fix = f"take a subnet of /{_prefix(needed)}, fewer nodes or pods, or network_plugin_mode overlay"
        yield f"{said}, and subnet {inside[0].name} has {free}: AKS refuses it (InsufficientSubnetSize)", fix


def _room(graph: Graph, subnet: RecordedResource) -> int | None:
    """Addresses that machines may have in a subnet."""
    networks: Iterable[Any] = (plot.network for plot in plots_of(graph, subnet))
    sizes = [each.num_addresses - KEPT for each in networks if isinstance(each, IPv4Network)]
    return sum(sizes) if sizes else None


def _prefix(addresses: int) -> int:
    """The longest prefix of a subnet with room for so many.

    >>> _prefix(20), _prefix(27), _prefix(28), _prefix(561)
    (27, 27, 26, 22)
    """
    return 32 - (addresses + KEPT - 1).bit_length()


def _whole(value: Any) -> int | None:
    stated = number(value)
    return None if stated is None or isinstance(stated, Unknown) else int(stated)
