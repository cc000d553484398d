"""Pools and addresses of managed clusters that a cloud refuses.

Sources: learn.microsoft.com/azure/aks/use-system-pools (github.com/MicrosoftDocs/azure-aks-docs, of 2026-04-30); the
descriptions of dnsServiceIP and serviceCidr in pulumi_azure_native 3.29.0 and of masterIpv4CidrBlock in pulumi_gcp
10.2.0; docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html; all read on 2026-11-27.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from ipaddress import IPv4Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.resources.ages import OLDEST_NODES
from sizewell.resources.graph import Graph
from sizewell.resources.readers.offers import MESH
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.unfit.networks import (
    ADDRESSES,
    CLASSIC_VNET,
    VNET,
    Network,
    home_of,
    network_of,
    plots_of,
    ranges_of,
)
from sizewell.resources.values import canonical, cloud_of, get, items
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.lifetimes import Lifetimes, minor, number

AKS: Final = "azure-native:containerservice:ManagedCluster"
POOL: Final = "azure-native:containerservice:AgentPool"
CLASSIC: Final = "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool"
EKS: Final = "aws:eks/cluster:Cluster"
GKE: Final = "gcp:container/cluster:Cluster"
RESERVED: Final = tuple(
    ip_network(each) for each in ("169.254.0.0/16", "172.30.0.0/16", "172.31.0.0/16", "192.0.2.0/24")
)
"""Ranges that AKS takes for no services, pods and nodes, as it takes not the first address of the services' for its DNS
(github.com/MicrosoftDocs/azure-aks-docs, prerequisites of Azure CNI Node Subnet; of the DNS from memory).
"""
# What NetworkProfile of pulumi_azure_native 3.29.0 sets by itself.
SERVICES_OF_AKS: Final = "10.0.0.0/16"
PODS_OF_AKS: Final = "10.244.0.0/16"
LARGEST_OF_AKS: Final = 12
"""Services of AKS have a smaller range than /12 (learn.microsoft.com/azure/aks/configure-azure-cni)."""
STANDARD_MONTHS: Final = 14
"""For how long EKS supports a minor version from the day on which it has it (docs.aws.amazon.com/eks/latest/userguide/
kubernetes-versions.html), so when that day was."""
REPLACED_DAYS: Final = 365
"""An estimate: EKS publishes no rule for which releases of an add-on it lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonRelease:
    """A row of addon_releases.csv: a minor release of what an add-on of EKS installs, and since when it is out."""

    addon: str
    release: str
    since: csvtables.Day
    source: str


_RELEASES: Final = csvtables.read(AddonRelease, Path(__file__).parents[1] / "data/addon_releases.csv")
PRIVATE: Final = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))


def of_pools(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """System pools of AKS on spot, on Windows or without a machine; and a cluster without such a pool."""
    for prefix, pool in _pools(resource):
        yield from _pool(prefix, pool)
    profiles = items(resource.inputs.get("agentPoolProfiles")) if canonical(resource.type) == AKS else ()
    modes = [] if isinstance(profiles, Unknown) else [get(profile, "mode") for profile in profiles]
    if modes and all(isinstance(mode, str) and mode != "System" for mode in modes):
        yield "AKS asks for a system pool, and every pool has mode User", "give one of Linux the mode System"


def of_bursting(resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """System pools of AKS on machines that burst, which it does not support and yet may build."""
    for prefix, pool in _pools(resource):
        machine = get(pool, "vmSize")
        if (
            get(pool, "mode") == "System"
            and isinstance(machine, str)
            and load().says(cloud_of(AKS), machine, "burstable")
        ):
            said = f"{prefix}a pool of mode System is not supported on {machine}, of the B series"
            yield said, "take a D series, such as Standard_D4s_v5"


def _pools(resource: RecordedResource) -> Iterator[tuple[str, Any]]:
    """Each pool that a resource is or has, and how to begin what is said of it."""
    type_ = canonical(resource.type)
    if type_ in (POOL, CLASSIC):
        yield "", resource.inputs
    profiles = items(resource.inputs.get("agentPoolProfiles")) if type_ == AKS else ()
    for profile in () if isinstance(profiles, Unknown) else profiles:
        yield f"pool {get(profile, 'name')}: ", profile


def _pool(prefix: str, pool: Any) -> Iterator[tuple[str, str]]:
    if get(pool, "mode") != "System":
        return
    wrong = f"{prefix}a pool of mode System"
    if "Spot" in (get(pool, "scaleSetPriority"), get(pool, "priority")):
        yield f"{wrong} is refused on spot", "give it mode User, and another pool mode System"
    if get(pool, "osType") == "Windows":
        yield f"{wrong} is refused on Windows", "give it mode User, and a pool of Linux mode System"
    least = get(pool, "minCount", default=get(pool, "nodeCount", default=get(pool, "count")))
    if isinstance(least, int | float) and not isinstance(least, bool) and least == 0:
        yield f"{wrong} cannot have 0 machines", "give it 1 machine at least, better 2"


def of_addons(graph: Graph, resource: RecordedResource, known: Lifetimes) -> Iterator[tuple[str, str]]:
    """Add-ons beside the version of their cluster: EKS's by its own rule and by their age, AKS's service mesh by the
    versions that Azure lists for each revision.
    """
    type_, inputs = canonical(resource.type), resource.inputs
    if type_ == AKS:
        yield from _of_mesh(inputs, known)
    if type_ != "aws:eks/addon:Addon":
        return
    clusters = graph.referenced(resource, "clusterName", EKS)
    name, version, runs = inputs.get("addonName"), inputs.get("addonVersion"), None
    if isinstance(clusters, tuple) and len(clusters) == 1:
        runs = clusters[0].outputs.get("version") or clusters[0].inputs.get("version")
    if not isinstance(name, str) or not isinstance(version, str) or not isinstance(runs, str):
        return
    said = _of_proxy(version, runs) if name == "kube-proxy" else _replaced(name, version, runs, known)
    if said:
        yield (
            f"{name} {version} {said}",
            f"aws eks describe-addon-versions --addon-name {name} --kubernetes-version {minor(runs)}",
        )


def _of_proxy(version: str, runs: str) -> str:
    """As nodes, kube-proxy is at most three minor versions older than its cluster, and never newer
    (kubernetes.io/releases/version-skew-policy).
    """
    own, control = number(minor(version)), number(minor(runs))
    outside = own[:1] == control[:1] and not 0 <= control[1] - own[1] <= OLDEST_NODES
    return f"does not go with Kubernetes {runs}: EKS refuses it" if outside else ""


def _replaced(name: str, version: str, runs: str, known: Lifetimes) -> str:
    """That a release of an add-on was old before EKS had the version of Kubernetes; "" where it was not, or nobody
    knows. EKS lists the releases that go with a version, and drops old ones from the list: in April 2025 it refused
    aws-ebs-csi-driver 1.24 of October 2023 (github.com/nebari-dev/nebari/issues/3016).
    """
    row = known.versions("eks").get(minor(runs))
    own = number(minor(version))
    newer = [each for each in _RELEASES if each.addon == name and number(each.release) > own]
    if row is None or not row.supported_until or not own or not newer:
        return ""
    ends = date.fromisoformat(row.supported_until)
    months = ends.year * 12 + ends.month - 1 - STANDARD_MONTHS
    began = date(months // 12, months % 12 + 1, min(ends.day, 28))
    next_ = min(newer, key=lambda each: number(each.release))
    if (began - date.fromisoformat(next_.since)).days <= REPLACED_DAYS:
        return ""
    return (
        f"is not known to go with Kubernetes {runs}: {next_.release} is out since {next_.since}, more than a year "
        "longer than EKS has that version, and EKS refuses a release that it does not list for it"
    )


def _of_mesh(inputs: Mapping[str, Any], known: Lifetimes) -> Iterator[tuple[str, str]]:
    version, revisions = inputs.get("kubernetesVersion"), items(get(inputs, "serviceMeshProfile", "istio", "revisions"))
    if not isinstance(version, str) or isinstance(revisions, Unknown):
        return
    for revision in revisions:
        row = known.release(*MESH, revision) if isinstance(revision, str) else None
        first, _, last = (row.kubernetes if row else "").partition("..")
        if first and not number(first) <= number(minor(version)) <= number(last):
            said = f"Istio's revision {revision} goes with Kubernetes {first} to {last}, not with {version}"
            yield f"{said}: AKS refuses the pair", "az aks mesh get-revisions --location REGION"


def of_services(graph: Graph, resource: RecordedResource) -> Iterator[tuple[str, str]]:
    """Addresses of a cluster's services and control plane that are of the wrong size, or somebody else's."""
    type_, inputs = canonical(resource.type), resource.inputs
    if type_ == EKS:
        own = network_of(get(inputs, "kubernetesNetworkConfig", "serviceIpv4Cidr"))
        if own is None:
            return
        if not 12 <= own.prefixlen <= 24 or not any(
            isinstance(own, IPv4Network) and own.subnet_of(each) for each in PRIVATE
        ):
            said = f"service_ipv4_cidr {own} is refused: EKS takes a private range between /24 and /12"
            yield said, "take one such as 172.20.0.0/16"
        yield from _overlapping("service_ipv4_cidr", own, "its VPC's", _of_vpc(graph, resource))
    elif type_ == AKS:
        profile = inputs.get("networkProfile")
        stated = get(profile, "serviceCidr", default=SERVICES_OF_AKS)
        own = network_of(stated if get(profile, "serviceCidrs") in (None, [], ()) else None)
        if own is None:
            return
        dns = get(profile, "dnsServiceIP")
        address = _address(dns) if isinstance(dns, str) else None
        if address is not None and address not in own:
            yield f"dns_service_ip {dns} is outside of service_cidr {own}: AKS refuses it", f"take {own[10]}"
        elif address is not None and address in (own[0], own[1]):
            said = f"dns_service_ip {dns} is the first address of service_cidr {own}, which is Kubernetes' own"
            yield f"{said}: AKS refuses it", f"take {own[10]}"
        apart = get(profile, "networkPluginMode") == "overlay" or get(profile, "networkPlugin") == "kubenet"
        pods = network_of(get(profile, "podCidr", default=PODS_OF_AKS if apart else None))
        nodes = list(_of(graph, resource, "agentPoolProfiles"))
        for key, taken in (("service_cidr", own), ("pod_cidr", pods), *(("the nodes' subnet", each) for each in nodes)):
            if any(taken is not None and taken.version == each.version and taken.overlaps(each) for each in RESERVED):
                said = f"{key} {taken} is refused: AKS keeps {', '.join(map(str, RESERVED))} for itself"
                yield said, "take another private range, such as 172.16.0.0/16"
        if own.version == 4 and own.prefixlen < LARGEST_OF_AKS:
            said = f"service_cidr {own} is too large: AKS takes less than a /{LARGEST_OF_AKS}"
            yield said, "take one such as 172.16.0.0/16"
        usual = " (the default)" if str(own) == SERVICES_OF_AKS else ""
        yield from _overlapping("service_cidr", own, "its subnet's", nodes, usual)
        if pods is not None:
            yield from _overlapping("service_cidr", own, "its pods'", (pods,), usual)
    elif type_ == GKE:
        own = network_of(get(inputs, "privateClusterConfig", "masterIpv4CidrBlock"))
        if own is not None and own.prefixlen != 28:
            yield f"master_ipv4_cidr_block {own} is refused: GKE takes a /28", f"take {own.network_address}/28"
        elif own is not None:
            yield from _overlapping("master_ipv4_cidr_block", own, "its subnet's", _of(graph, resource, "subnetwork"))


def _of_vpc(graph: Graph, cluster: RecordedResource) -> Iterator[Network]:
    subnets = graph.referenced(cluster, "vpcConfig", *ADDRESSES)
    homes = {home_of(graph, subnet) for subnet in (() if isinstance(subnets, Unknown) else subnets)}
    for home in sorted(home for home in homes if home):
        network = graph.by_urn.get(home)
        yield from ranges_of(graph, network) if network is not None else ()


def _of(graph: Graph, cluster: RecordedResource, link: str) -> Iterator[Network]:
    """Addresses of the subnets that a cluster names."""
    subnets = graph.referenced(cluster, link, *ADDRESSES, VNET, CLASSIC_VNET)
    for subnet in () if isinstance(subnets, Unknown) else subnets:
        yield from (plot.network for plot in plots_of(graph, subnet))


def _overlapping(
    what: str, own: Network, whose: str, others: Iterable[Network], usual: str = ""
) -> Iterator[tuple[str, str]]:
    for other in others:
        if own.version == other.version and own.overlaps(other):
            fix = f"state another {what} that nothing else has"
            yield f"{what} {own}{usual} overlaps {whose} {other}: the cloud refuses it", fix
            return


def _address(stated: str) -> Any:
    try:
        return ip_address(stated)
    except ValueError:
        return None
