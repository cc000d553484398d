"""Settings that exclude each other, numbers out of order, subnets in one zone, and addresses that are too few."""

from dataclasses import replace
from datetime import date

import pytest

from sizewell.launch import images
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.unfit import unfit
from sizewell.sizing import catalog
from sizewell.sizing.catalog import lifetimes

CATALOG, KNOWN, ON = catalog.load(), lifetimes.load(), date(2026, 11, 27)
EKS, NODES, SUBNET = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup", "aws:ec2/subnet:Subnet"
ON = {"enabled": True}
AUTO = {
    "computeConfig": ON,
    "kubernetesNetworkConfig": {"elasticLoadBalancing": ON},
    "storageConfig": {"blockStorage": ON},
}
AKS, AGENTS = (f"azure-native:containerservice:{kind}" for kind in ("ManagedCluster", "AgentPool"))
CLASSIC = "azure:containerservice/kubernetesCluster:KubernetesCluster"
GKE, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
SUBNETWORK, GCE = "gcp:compute/subnetwork:Subnetwork", "gcp:compute/instance:Instance"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"
VM = "azure-native:compute:VirtualMachine"
LOCAL = {"networkPlugin": "azure", "networkPluginMode": "overlay", "serviceCidr": "172.16.0.0/16"}


def made(type_, as_="x", **inputs):
    return RecordedResource(urn=f"urn:{as_}", type=type_, name=as_, inputs=inputs)


def linked(resource, **to):
    links = {key: tuple(each.urn for each in targets) for key, targets in to.items()}
    return replace(resource, property_dependencies=links)


def said(*resources):
    graph = Graph(Plan(project="p", stack="", resources=resources))
    return [f"{each.detail}; {each.fix}" for each in unfit(graph, CATALOG, KNOWN, images, ON)]


def eks(**network):
    return made(EKS, kubernetesNetworkConfig=network)


def group(**inputs):
    return made(NODES, instanceTypes=["g6.2xlarge"], amiType="AL2023_x86_64_NVIDIA", **inputs)


def aks(network=LOCAL, **more):
    return made(AKS, networkProfile=network, **more)


PRIVATE = {"enablePrivateCluster": True, "authorizedIPRanges": ["203.0.113.0/24"]}


REFUSED = [
        (eks(ipFamily="ipv6", serviceIpv4Cidr="172.20.0.0/16"), "refused beside ip_family ipv6"),
        (made(EKS, vpcConfig={"endpointPublicAccess": False}), "neither public nor private"),
        (made(EKS, computeConfig=ON), "compute_config.enabled is true and kubernetes_network_config.elastic_load_balancing"),
        (made(EKS, computeConfig=ON, storageConfig={"blockStorage": ON}), "and storage_config.block_storage.enabled is true and"),
        (made(EKS, **AUTO), "Auto Mode and bootstrap_self_managed_addons"),
        (made(EKS, **AUTO, bootstrapSelfManagedAddons=True), "Auto Mode and bootstrap_self_managed_addons"),
        (made(EKS, vpcConfig={"endpointPublicAccess": False, "endpointPrivateAccess": False}), "neither"),
        (group(launchTemplate={"id": "lt-1"}, diskSize=200), "diskSize is refused beside a launch template"),
        (group(launchTemplate={"id": "lt-1"}, remoteAccess={"ec2SshKey": "k"}), "remoteAccess is refused"),
        (group(updateConfig={"maxUnavailable": 1, "maxUnavailablePercentage": 50}), "refused together"),
        (group(scalingConfig={"minSize": 2, "desiredSize": 1, "maxSize": 4}), "desiredSize 1 is below minSize 2"),
        (group(scalingConfig={"minSize": 0, "desiredSize": 5, "maxSize": 4}), "desiredSize 5 is above maxSize 4"),
        (made("aws:autoscaling/group:Group", minSize=3, maxSize=2), "minSize 3 is above maxSize 2"),
        (made("aws-native:autoscaling:AutoScalingGroup", minSize="3", maxSize="2"), "minSize 3 is above maxSize 2"),
        (made(POOL, autoscaling={"minNodeCount": 5, "maxNodeCount": 2}), "minNodeCount 5 is above maxNodeCount 2"),
        (made(POOL, autoscaling={"totalMinNodeCount": 5, "totalMaxNodeCount": 2}), "is above totalMaxNodeCount"),
        (made(AGENTS, minCount=4, maxCount=3, count=4), "minCount 4 is above maxCount 3"),
        (aks(agentPoolProfiles=[{"name": "a", "mode": "System", "minCount": 4, "maxCount": 3}]), "pool a: minCount 4"),
        (aks({**LOCAL, "networkPlugin": "kubenet"}), "overlay is refused with network_plugin kubenet"),
        (aks(apiServerAccessProfile=PRIVATE), "authorized IP ranges on a private cluster"),
        (made(CLASSIC, privateClusterEnabled=True, apiServerAccessProfile={"authorizedIpRanges": ["203.0.113.0/24"]}),
         "authorized IP ranges on a private cluster"),
        (aks(disableLocalAccounts=True), "without Entra ID"),
        (made(AGENTS, spotMaxPrice=1.5), "spot_max_price 1.5 is refused on a pool that is not spot"),
        (made(AGENTS, scaleSetEvictionPolicy="Delete"), "scaleSetEvictionPolicy is refused"),
        (made(AGENTS, maxPods=300), "maxPods 300 is refused: a node of AKS has 10 to 250; state 250"),
        (made(AGENTS, osDiskType="Ephemeral", vmSize="Standard_D4s_v5"), "or take Standard_D4ds_v5"),
        (made(GKE, enableAutopilot=True, removeDefaultNodePool=True), "refused beside enable_autopilot"),
        (made(GCE, scheduling={"provisioningModel": "SPOT", "preemptible": True, "automaticRestart": True}),
         "automatic_restart is refused on a spot machine"),
        (made(TEMPLATE, scheduling={"preemptible": True, "onHostMaintenance": "MIGRATE"}), "MIGRATE is refused"),
        (made(GCE, machineType="n1-standard-8", guestAccelerators=[{"type": "nvidia-tesla-t4", "count": 1}]),
         "set scheduling.on_host_maintenance to TERMINATE"),
        (made(TEMPLATE, machineType="g2-standard-8"), "refused without on_host_maintenance, which is MIGRATE then"),
        (made(GCE, machineType="a2-highgpu-1g", scheduling={"automaticRestart": True}), "which is MIGRATE then"),
    ]  # fmt: skip


@pytest.mark.parametrize(("resource", "words"), REFUSED)
def test_settings_that_exclude_each_other_are_said(resource, words):
    (line,) = said(resource)
    assert words in line


@pytest.mark.parametrize(
    "resource",
    [
        eks(ipFamily="ipv6"), eks(serviceIpv4Cidr="172.20.0.0/16"), eks(ipFamily=UNKNOWN, serviceIpv4Cidr="172.20.0.0/16"),
        made(EKS, vpcConfig={"endpointPublicAccess": False, "endpointPrivateAccess": True}),
        made(EKS, **AUTO, bootstrapSelfManagedAddons=False),
        made(EKS, **AUTO, bootstrapSelfManagedAddons=UNKNOWN),
        made(EKS, **(AUTO | {"storageConfig": UNKNOWN}), bootstrapSelfManagedAddons=False),
        made(EKS, computeConfig={"enabled": False}, bootstrapSelfManagedAddons=True),
        made(EKS, vpcConfig={"endpointPublicAccess": False, "endpointPrivateAccess": UNKNOWN}),
        made(EKS, vpcConfig={"subnetIds": ["subnet-1", "subnet-2"]}), group(diskSize=200), group(launchTemplate={"id": "lt-1"}),
        group(scalingConfig={"minSize": 0, "desiredSize": 0, "maxSize": 4}),
        group(scalingConfig={"minSize": UNKNOWN, "desiredSize": 0, "maxSize": 4}),
        replace(group(scalingConfig={"minSize": 2, "desiredSize": 1, "maxSize": 4}),
                ignore_changes=("scalingConfig.desiredSize",)),
        made(AGENTS, minCount=0, maxCount=3, count=0, scaleSetPriority="Spot", spotMaxPrice=1.5, maxPods=250),
        made(AGENTS, spotMaxPrice=-1, osDiskType="Ephemeral", vmSize="Standard_NC24ads_A100_v4"),
        made(AGENTS, scaleSetPriority=UNKNOWN, scaleSetEvictionPolicy="Delete"),
        aks(apiServerAccessProfile={"enablePrivateCluster": True}), aks(disableLocalAccounts=True, aadProfile={"managed": True}),
        aks(apiServerAccessProfile={"enablePrivateCluster": UNKNOWN, "authorizedIPRanges": ["203.0.113.0/24"]}),
        made(GKE, enableAutopilot=True), made(POOL, autoscaling={"minNodeCount": 0, "maxNodeCount": 2}),
        made(GCE, machineType="g2-standard-8", scheduling={"onHostMaintenance": "TERMINATE", "automaticRestart": True}),
        made(GCE, machineType="g2-standard-8", scheduling={"provisioningModel": "SPOT", "preemptible": True,
                                                            "automaticRestart": False}),
        made(GCE, machineType="g2-standard-8", scheduling=UNKNOWN), made(GCE, machineType="n2-standard-8"),
    ],
)  # fmt: skip
def test_nothing_is_said_of_settings_that_go_together(resource):
    assert said(resource) == []


def masked(value):
    """A value with each part of it unknown, one at a time."""
    yield UNKNOWN
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: each} for each in masked(inner))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ([*value[:place], each, *value[place + 1 :]] for each in masked(inner))


@pytest.mark.parametrize(("resource", "words"), REFUSED)
def test_what_is_not_known_yet_is_passed_over(resource, words):
    for inputs in masked(dict(resource.inputs)):
        if inputs is not UNKNOWN:
            said(replace(resource, inputs=inputs))


def test_an_ipv6_cluster_asks_for_subnets_with_ipv6():
    plain = made(SUBNET, "a", vpcId="vpc-1", cidrBlock="10.0.0.0/24", availabilityZone="us-east-1a")
    dual = made(SUBNET, "b", vpcId="vpc-1", ipv6CidrBlock=UNKNOWN, availabilityZone="us-east-1b")
    cluster = made(EKS, "c", vpcConfig={"subnetIds": [UNKNOWN] * 2}, kubernetesNetworkConfig={"ipFamily": "ipv6"})
    (line,) = said(plain, dual, linked(cluster, vpcConfig=(plain, dual)))
    assert "subnet a has no IPv6 range" in line


def test_an_autopilot_cluster_has_no_node_pools():
    cluster = made(GKE, "auto", enableAutopilot=True)
    (line,) = said(cluster, linked(made(POOL, cluster=UNKNOWN), cluster=(cluster,)))
    assert "auto is an Autopilot cluster" in line


def subnets(*zones, cidr="10.20.{}.0/24"):
    return tuple(
        made(SUBNET, f"s{place}", vpcId="vpc-1", cidrBlock=cidr.format(place), availabilityZone=f"us-east-1{zone}")
        for place, zone in enumerate(zones)
    )


SPREAD = [
    ("aws:rds/subnetGroup:SubnetGroup", ("subnetIds",)),
    ("aws:docdb/subnetGroup:SubnetGroup", ("subnetIds",)),
    ("aws:neptune/subnetGroup:SubnetGroup", ("subnetIds",)),
    ("aws:lb/loadBalancer:LoadBalancer", ("subnets",)),
    ("aws:msk/cluster:Cluster", ("brokerNodeGroupInfo", "clientSubnets")),
]


@pytest.mark.parametrize(("type_", "path"), SPREAD)
def test_a_service_that_spreads_over_zones_is_not_in_one(type_, path):
    def over(*zones):
        listed = subnets(*zones)
        ids = [UNKNOWN] * len(listed)
        inputs = {path[0]: {path[1]: ids} if len(path) > 1 else ids}
        return said(*listed, linked(made(type_, "group", **inputs), **{path[0]: listed}))

    (line,) = over("a", "a")
    assert "refuses these: all in us-east-1a" in line
    assert over("a", "b") == []
    (line,) = over("a")
    assert "refuses one alone" in line
    assert said(made(type_, **{path[0]: UNKNOWN})) == []


def test_a_network_load_balancer_may_stand_in_one_zone():
    assert said(made("aws:lb/loadBalancer:LoadBalancer", loadBalancerType="network", subnets=["subnet-1"])) == []


def test_msk_has_one_subnet_of_each_zone():
    listed = subnets("a", "b", "b")
    cluster = made("aws:msk/cluster:Cluster", "m", brokerNodeGroupInfo={"clientSubnets": [UNKNOWN] * 3})
    (line,) = said(*listed, linked(cluster, brokerNodeGroupInfo=listed))
    assert "one subnet of each zone" in line


def gke(pods, *pools, location="us-central1", begins=1, **more):
    subnet = made(SUBNETWORK, "s", secondaryIpRanges=[{"rangeName": "pods", "ipCidrRange": pods}])
    cluster = made(GKE, "c", location=location, subnetwork=UNKNOWN, initialNodeCount=begins,
                   ipAllocationPolicy={"clusterSecondaryRangeName": "pods"}, **more)  # fmt: skip
    cluster = linked(cluster, subnetwork=(subnet,))
    made_of = [
        linked(made(POOL, f"p{place}", cluster=UNKNOWN, **pool), cluster=(cluster,)) for place, pool in enumerate(pools)
    ]
    return said(subnet, cluster, *made_of)


TO_EIGHT = {"nodeLocations": ["us-central1-a"], "autoscaling": {"minNodeCount": 0, "maxNodeCount": 8}}


def test_a_range_of_pods_holds_the_nodes_that_its_pools_may_have():
    (line,) = gke("10.4.0.0/24", TO_EIGHT, removeDefaultNodePool=True)
    assert "range /24 holds 1 node (each node takes 256 addresses, for 110 pods), and the pools may have 8" in line
    assert "take a /21" in line
    assert gke("10.4.0.0/21", TO_EIGHT, location="us-central1-a", removeDefaultNodePool=True) == []
    assert gke("10.4.0.0/24", TO_EIGHT, location="us-central1-a", removeDefaultNodePool=True,
               defaultMaxPodsPerNode=16) == []  # fmt: skip
    assert gke("10.4.0.0/24", {**TO_EIGHT, "networkConfig": {"podRange": "more"}}, location="us-central1-a") == []
    (line,) = gke("10.4.0.0/24")  # three nodes of a region before the pool is removed
    assert "the pools may have 3" in line


def test_a_range_of_pods_that_is_not_known_is_passed_over():
    policy = {"clusterSecondaryRangeName": "elsewhere"}
    assert said(made(GKE, location="us-central1", initialNodeCount=9, ipAllocationPolicy=policy)) == []
    (line,) = said(
        made(GKE, location="us-central1", initialNodeCount=2, ipAllocationPolicy={"clusterIpv4CidrBlock": "/23"})
    )
    assert "range /23 holds 2 nodes" in line


def cni(count, cidr, network=None, **pool):
    subnet = made(
        "azure-native:network:Subnet", "s", virtualNetworkName="v", resourceGroupName="rg", addressPrefix=cidr
    )
    network = network or {"networkPlugin": "azure", "serviceCidr": "172.16.0.0/16"}
    profile = {"name": "system", "mode": "System", "count": count, "vnetSubnetID": UNKNOWN, **pool}
    cluster = linked(made(AKS, "c", networkProfile=network, agentPoolProfiles=[profile]), agentPoolProfiles=(subnet,))
    return said(subnet, cluster)


def test_a_subnet_of_aks_has_an_address_for_each_pod_without_an_overlay():
    (line,) = cni(10, "10.50.0.0/24", maxPods=50)
    assert "may take 561 addresses" in line
    assert "has 251: AKS refuses it" in line
    assert "take a subnet of /22" in line
    assert cni(10, "10.50.0.0/22", maxPods=50) == []
    assert cni(10, "10.50.0.0/24", {**LOCAL}, maxPods=50) == []
    assert cni(10, "10.50.0.0/24", maxPods=50, podSubnetID="pods") == []
    (line,) = cni(1, "10.50.0.0/24", maxCount=20)
    assert "may take 651 addresses" in line


def test_machines_do_not_outgrow_their_subnet():
    (subnet,) = subnets("a", cidr="10.20.0.0/28")

    def pool(most):
        return linked(made(NODES, "gpu", subnetIds=[UNKNOWN], scalingConfig={"maxSize": most}), subnetIds=(subnet,))

    (line,) = said(subnet, pool(20))
    assert "20 machines do not fit into s0, which has 11 addresses" in line
    assert "take a subnet of /27" in line
    assert said(subnet, pool(11)) == []


def vm(size, publisher, offer, sku, **more):
    reference = {"publisher": publisher, "offer": offer, "sku": sku, "version": "latest"}
    profile = {"imageReference": reference}
    return made(VM, hardwareProfile={"vmSize": f"Standard_{size}"}, storageProfile=profile, userData=UNKNOWN, **more)


@pytest.mark.parametrize(
    ("resource", "fix"),
    [
        (vm("NC40ads_H100_v5", "Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts"), "-gen2"),
        (vm("NC24ads_A100_v4", "Debian", "debian-12", "12"), "-gen2"),
        (vm("ND96isr_H200_v5", "Canonical", "ubuntu-24_04-lts", "server-gen1"), "SKU server"),
        (vm("ND96amsr_A100_v4", "RedHat", "RHEL", "9_4"), ""),
        (vm("D4s_v6", "MicrosoftWindowsServer", "WindowsServer", "2019-Datacenter"), "-gensecond"),
        (vm("ND96asr_v4", "MicrosoftWindowsServer", "WindowsServer", "2022-datacenter"), "-g2"),
    ],
)
def test_an_image_of_generation_1_does_not_boot_where_generation_2_alone_does(resource, fix):
    lines = [line for line in said(resource) if "generation" in line]
    if fix:
        assert "is of generation 1" in lines[0]
        assert fix in lines[0]
    else:  # which generation these are is not known
        assert lines == []


@pytest.mark.parametrize(
    "resource",
    [
        vm("NC40ads_H100_v5", "Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2"),
        vm("NC24ads_A100_v4", "Canonical", "ubuntu-24_04-lts", "server"),
        vm("NC24ads_A100_v4", "Debian", "debian-12", "12-gen2"),
        vm("NC24ads_A100_v4", "microsoft-dsvm", "ubuntu-hpc", "2204"),
        vm("NV36ads_A10_v5", "Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts"),
        vm("D4s_v5", "MicrosoftWindowsServer", "WindowsServer", "2019-Datacenter"),
        vm("D4s_v6", "MicrosoftWindowsServer", "WindowsServer", "2022-datacenter-azure-edition"),
    ],
)
def test_images_of_generation_2_and_machines_that_boot_both_are_let_through(resource):
    assert said(resource) == []


def test_microsoft_s_image_has_no_driver_of_a_virtual_gpu():
    def said_of(size, **brings):
        machine = vm(size, "microsoft-dsvm", "ubuntu-hpc", "2204")
        inputs = {key: value for key, value in machine.inputs.items() if key != "userData"}
        return said(replace(machine, inputs={**inputs, **brings}))

    (line,) = said_of("NV36ads_A10_v5")
    assert "has no GRID driver" in line
    assert "NvidiaGpuDriverLinux" in line
    assert said_of("NC24ads_A100_v4") == []
    assert said_of("NV36ads_A10_v5", userData=UNKNOWN) == []
