"""Settings of one resource that exclude each other, and numbers out of order: what the cloud refuses at `pulumi up`.

Sources: docs.aws.amazon.com/eks/latest/APIReference (KubernetesNetworkConfigRequest, VpcConfigRequest, CreateNodegroup,
NodegroupUpdateConfig); the descriptions of NodeGroup in pulumi_aws 7.51.1, of NodePool's autoscaling in pulumi_gcp
10.2.0 and of AgentPool and ManagedCluster in pulumi_azure_native 3.29.0; github.com/aquasecurity/tfsec/issues/571
(AuthorizedIPRanges of a private AKS cluster); github.com/MicrosoftDocs/azure-aks-docs fb060ab
(articles/aks/concepts-network-ip-address-planning.md: pods of a node; concepts-storage.md: ephemeral disks);
github.com/percona/mongo_terraform_ansible/issues/34 (restarts of preemptible machines); all read on 2026-11-27. Of
EKS's Auto Mode:
github.com/kubernetes-sigs/cluster-api-provider-aws/issues/5278 and
github.com/hashicorp/terraform-provider-aws/pull/40483, read on 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from ipaddress import ip_network
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.unfit.networks import SUBNET, network_of
from sizewell.resources.values import canonical, flag, get, items, number
from sizewell.sizing.catalog.machine_prices import with_local_disk

Said = tuple[str, str]  # what is wrong, what to do

EKS: Final = "aws:eks/cluster:Cluster"
NODES: Final = "aws:eks/nodeGroup:NodeGroup"
AKS: Final = "azure-native:containerservice:ManagedCluster"
CLASSIC_AKS: Final = "azure:containerservice/kubernetesCluster:KubernetesCluster"
AGENTS: Final = "azure-native:containerservice:AgentPool"
CLASSIC_AGENTS: Final = "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool"
GKE: Final = "gcp:container/cluster:Cluster"
GKE_NODES: Final = "gcp:container/nodePool:NodePool"

# Type -> where its bounds stand, and the names of the least, the most and, where there is one, the number of today.
_BOUNDS: Final[dict[str, tuple[tuple[tuple[str, ...], str, str, str], ...]]] = {
    NODES: ((("scalingConfig",), "minSize", "maxSize", "desiredSize"),),
    "aws-native:eks:Nodegroup": ((("scalingConfig",), "minSize", "maxSize", "desiredSize"),),
    "aws:autoscaling/group:Group": (((), "minSize", "maxSize", "desiredCapacity"),),
    "aws-native:autoscaling:AutoScalingGroup": (((), "minSize", "maxSize", "desiredCapacity"),),
    "aws:appautoscaling/target:Target": (((), "minCapacity", "maxCapacity", ""),),
    GKE_NODES: (
        (("autoscaling",), "minNodeCount", "maxNodeCount", ""),
        (("autoscaling",), "totalMinNodeCount", "totalMaxNodeCount", ""),
    ),
    "gcp:compute/autoscaler:Autoscaler": ((("autoscalingPolicy",), "minReplicas", "maxReplicas", ""),),
    "gcp:compute/regionAutoscaler:RegionAutoscaler": ((("autoscalingPolicy",), "minReplicas", "maxReplicas", ""),),
    AGENTS: (((), "minCount", "maxCount", "count"),),
    CLASSIC_AGENTS: (((), "minCount", "maxCount", "nodeCount"),),
}


def of(graph: Graph, resource: RecordedResource) -> Iterator[Said]:
    """What excludes each other in a resource; what is not known yet is passed over."""
    type_, inputs = canonical(resource.type), resource.inputs
    for at, *names in _BOUNDS.get(type_, ()):
        least, most, asked = names
        ignored = any(asked and asked in path for path in resource.ignore_changes)
        yield from _order(get(inputs, *at) if at else inputs, least, most, "" if ignored else asked)
    if type_ == EKS:
        yield from _eks(graph, resource)
    elif type_ == NODES:
        yield from _node_group(inputs)
    elif type_ in (AKS, CLASSIC_AKS):
        yield from _aks(inputs)
    elif type_ in (AGENTS, CLASSIC_AGENTS):
        yield from _agents("", inputs)
    elif type_ == GKE and flag(inputs.get("enableAutopilot")) is True:
        if flag(inputs.get("removeDefaultNodePool")) is True:
            said = (
                "remove_default_node_pool is refused beside enable_autopilot: GKE manages the nodes of such a cluster"
            )
            yield said, "leave it out"
    elif type_ == GKE_NODES:
        clusters = graph.referenced(resource, "cluster", GKE)
        for cluster in () if isinstance(clusters, Unknown) else clusters:
            if flag(cluster.inputs.get("enableAutopilot")) is True:
                said = f"{cluster.name} is an Autopilot cluster, whose nodes GKE manages: it refuses a node pool"
                yield said, "leave the pool out, or set enable_autopilot of the cluster to false"
    elif type_.startswith("gcp:compute/"):
        yield from _scheduling(get(inputs, "scheduling"))


def _order(holder: Any, least: str, most: str, asked: str) -> Iterator[Said]:
    low, high = (_number(get(holder, key)) for key in (least, most))
    now = _number(get(holder, asked)) if asked else None
    if low is not None and high is not None and low > high:
        yield f"{least} {low} is above {most} {high}: the cloud refuses it", f"raise {most}, or lower {least}"
    elif now is not None and low is not None and now < low:
        yield f"{asked} {now} is below {least} {low}: the cloud refuses it", f"raise {asked}, or lower {least}"
    elif now is not None and high is not None and now > high:
        yield f"{asked} {now} is above {most} {high}: the cloud refuses it", f"lower {asked}, or raise {most}"


def _number(value: Any) -> Decimal | None:
    stated = number(value)
    return None if isinstance(stated, Unknown) else stated


def _eks(graph: Graph, cluster: RecordedResource) -> Iterator[Said]:
    network, home = (cluster.inputs.get(key) for key in ("kubernetesNetworkConfig", "vpcConfig"))
    if get(network, "ipFamily") == "ipv6":
        own = get(network, "serviceIpv4Cidr")
        if isinstance(own, str):
            yield (
                f"service_ipv4_cidr {own} is refused beside ip_family ipv6",
                "leave it out: EKS gives the services an IPv6 range of its own",
            )
        subnets = graph.referenced(cluster, "vpcConfig", SUBNET)
        for subnet in () if isinstance(subnets, Unknown) else subnets:
            if not any(key.startswith("ipv6") and value is not None for key, value in subnet.inputs.items()):
                said = f"subnet {subnet.name} has no IPv6 range, which EKS asks for with ip_family ipv6"
                yield said, "set its ipv6_cidr_block, or ip_family to ipv4"
    public, private = (get(home, key) for key in ("endpointPublicAccess", "endpointPrivateAccess"))
    if flag(public, default=True) is False and flag(private) is False:
        said = "the endpoint is neither public nor private, and EKS refuses that"
        yield said, "set endpoint_private_access to true"
    listed = items(get(home, "publicAccessCidrs"))
    private_ones = [each for each in (() if isinstance(listed, Unknown) else listed) if _is_private(each)]
    if private_ones and flag(public, default=True) is not False:
        said = f"public_access_cidrs {', '.join(private_ones)} is refused by EKS: private addresses do not reach it"
        yield said, "name public ranges, or set endpoint_private_access, which needs none"
    yield from _auto_mode(cluster)


def _is_private(cidr: object) -> bool:
    """Whether a range is one of RFC 1918, link-local or of carriers.

    >>> [_is_private(each) for each in ("10.0.0.0/8", "203.0.113.0/24", "0.0.0.0/0", "100.64.0.0/10")]
    [True, False, False, True]
    """
    own = network_of(cidr)
    return own is not None and any(own.version == each.version and own.subnet_of(each) for each in _PRIVATE)  # type: ignore[arg-type]


_PRIVATE: Final = tuple(
    ip_network(each)
    for each in ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")
)
# What switches EKS's Auto Mode on: as Python and as the provider spell it.
_AUTO: Final = {
    "compute_config.enabled": ("computeConfig", "enabled"),
    "kubernetes_network_config.elastic_load_balancing.enabled": (
        "kubernetesNetworkConfig", "elasticLoadBalancing", "enabled",
    ),
    "storage_config.block_storage.enabled": ("storageConfig", "blockStorage", "enabled"),
}  # fmt: skip


def _auto_mode(cluster: RecordedResource) -> Iterator[Said]:
    stated = {named: flag(get(cluster.inputs, *path)) for named, path in _AUTO.items()}
    on = [named for named, value in stated.items() if value is True]
    off = [named for named, value in stated.items() if value is False]
    if on and off:
        said = f"{' and '.join(on)} is true and {' and '.join(off)} is not: EKS refuses an Auto Mode that is half on"
        yield said, f"set {' and '.join(off)} to true as well, or all three to false"
    elif (
        on
        and flag(cluster.inputs.get("bootstrapSelfManagedAddons"), default=True) is True
        and "bootstrapSelfManagedAddons" not in cluster.ignore_changes
    ):
        said = "EKS builds no cluster with Auto Mode and bootstrap_self_managed_addons, which is true by default"
        yield said, "set it to false for a new cluster; one that stands keeps it, as a change may replace the cluster"


def _node_group(inputs: Any) -> Iterator[Said]:
    if inputs.get("launchTemplate") is not None:
        for key, where in (("diskSize", "block_device_mappings"), ("remoteAccess", "key_name and security groups")):
            if inputs.get(key) is not None:
                yield f"{key} is refused beside a launch template", f"state it in the template: {where}"
    update = inputs.get("updateConfig")
    if get(update, "maxUnavailable") is not None and get(update, "maxUnavailablePercentage") is not None:
        yield "max_unavailable and max_unavailable_percentage are refused together", "state one of them"


def _aks(inputs: Any) -> Iterator[Said]:
    network = inputs.get("networkProfile")
    if get(network, "networkPlugin") == "kubenet" and get(network, "networkPluginMode") == "overlay":
        yield "network_plugin_mode overlay is refused with network_plugin kubenet", "set network_plugin to azure"
    access = inputs.get("apiServerAccessProfile")
    private = flag(get(access, "enablePrivateCluster", default=inputs.get("privateClusterEnabled")))
    ranges = [get(access, "authorizedIPRanges"), get(access, "authorizedIpRanges")]
    ranges.append(inputs.get("apiServerAuthorizedIpRanges"))
    if private is True and any(not isinstance(each, Unknown) and each for each in ranges):
        said = "AKS refuses authorized IP ranges on a private cluster, whose API server has no public address"
        yield said, "leave the ranges out, or the private cluster"
    accounts = flag(inputs.get("disableLocalAccounts", inputs.get("localAccountDisabled")))
    entra = (inputs.get("aadProfile"), inputs.get("azureActiveDirectoryRoleBasedAccessControl"))
    if accounts is True and not any(each is not None for each in entra):
        said = "AKS refuses to disable local accounts on a cluster without Entra ID: nobody could log in"
        yield said, "add an aad_profile with managed true, or leave the local accounts"
    profiles = items(inputs.get("agentPoolProfiles"))
    for profile in () if isinstance(profiles, Unknown) else profiles:
        name = get(profile, "name")
        prefix = f"pool {name}: " if isinstance(name, str) else ""
        yield from ((prefix + what, fix) for what, fix in _order(profile, "minCount", "maxCount", "count"))
        yield from _agents(prefix, profile)


FEWEST_PODS, MOST_PODS = 10, 250


def _agents(prefix: str, pool: Any) -> Iterator[Said]:
    priority = get(pool, "scaleSetPriority", default=get(pool, "priority", default="Regular"))
    if priority == "Regular":
        price = _number(get(pool, "spotMaxPrice"))
        if price is not None and price > 0:
            yield f"{prefix}spot_max_price {price} is refused on a pool that is not spot", "leave it out"
        for key in ("scaleSetEvictionPolicy", "evictionPolicy"):
            if isinstance(get(pool, key), str):
                yield f"{prefix}{key} is refused on a pool that is not spot", "leave it out"
    pods = _number(get(pool, "maxPods"))
    if pods is not None and not FEWEST_PODS <= pods <= MOST_PODS:
        said = f"{prefix}maxPods {pods} is refused: a node of AKS has {FEWEST_PODS} to {MOST_PODS}"
        yield said, f"state {MOST_PODS if pods > MOST_PODS else FEWEST_PODS}"
    machine = get(pool, "vmSize")
    if get(pool, "osDiskType") == "Ephemeral" and isinstance(machine, str) and (other := with_local_disk(machine)):
        said = f"{prefix}an ephemeral OS disk is refused on {machine}, which has no temporary disk"
        yield said, f"set the OS disk type to Managed, or take {other}"


def _scheduling(scheduling: Any) -> Iterator[Said]:
    reclaimed = get(scheduling, "provisioningModel") == "SPOT" or flag(get(scheduling, "preemptible")) is True
    if reclaimed and flag(get(scheduling, "automaticRestart")) is True:
        said = "automatic_restart is refused on a spot machine"
        yield said, "set automatic_restart to false"
    if reclaimed and get(scheduling, "onHostMaintenance") == "MIGRATE":
        yield "on_host_maintenance MIGRATE is refused on a spot machine", "set it to TERMINATE"
