"""What services, clusters and networks refuse of any program, and what a program looks up."""

import json
from dataclasses import replace
from datetime import date

import pytest

from sizewell.launch import images
from sizewell.recording.evaluate import evaluate
from sizewell.resources.ages import aging, pressing
from sizewell.resources.controlled import CLOUD_CONTROL
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.unfit import unfit
from sizewell.sizing import catalog
from sizewell.sizing.catalog import lifetimes

CATALOG, KNOWN, ON = catalog.load(), lifetimes.load(), date(2026, 11, 27)
RUN, JOB = "gcp:cloudrunv2/service:Service", "gcp:cloudrunv2/job:Job"
AKS, AGENTS = (f"azure-native:containerservice:{kind}" for kind in ("ManagedCluster", "AgentPool"))
EKS, GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
VNET, SUBNET = "azure-native:network:VirtualNetwork", "azure-native:network:Subnet"
AMI, BLOCK = "aws:ec2/getAmi:getAmi", "aws:ec2/getCapacityBlockOffering:getCapacityBlockOffering"
INSTANCE = "aws:ec2/instance:Instance"


def made(type_, as_="x", **inputs):
    return RecordedResource(urn=f"urn:{as_}", type=type_, name=as_, inputs=inputs)


def linked(resource, **to):
    return replace(resource, property_dependencies={key: tuple(each.urn for each in of) for key, of in to.items()})


def said(*resources, lookups=()):
    graph = Graph(Plan(project="p", stack="", resources=resources, lookups=tuple(lookups)))
    return [f"{each.detail}; {each.fix}" for each in unfit(graph, CATALOG, KNOWN, images, ON)]


def service(image, type_=RUN):
    containers = {"containers": [{"image": image}]}
    return made(type_, template=containers if type_ == RUN else {"template": containers})


def deployed(model, kind, capacity):
    return made("azure-native:cognitiveservices:Deployment", sku={"name": kind, "capacity": capacity},
                properties={"model": {"name": model, "version": "1"}})  # fmt: skip


def reserved(start, end, size=8):
    return made("azure-native:compute:CapacityReservation", scheduleProfile={"start": start, "end": end},
                sku={"name": "Standard_ND96isr_H100_v5", "capacity": size})  # fmt: skip


def vnet(*subnets, space=("10.0.0.0/16",)):
    inside = [{"name": f"s{place}", "addressPrefix": cidr} for place, cidr in enumerate(subnets)]
    return made(VNET, "v", addressSpace={"addressPrefixes": list(space)}, subnets=inside)


def own_subnet(cidr, name="own"):
    return linked(made(SUBNET, name, virtualNetworkName=UNKNOWN, addressPrefix=cidr), virtualNetworkName=(vnet(),))


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (service("quay.io/team/app:1"), "image quay.io/team/app:1 is refused: Cloud Run pulls from Artifact Registry"),
        (service("nvcr.io/nvidia/pytorch:25.10-py3", JOB), "read it through a remote repository"),
        (service("team.azurecr.io/app:1"), "is refused"),
        (made("gcp:cloudrun/service:Service", template={"spec": {"containers": [{"image": "public.ecr.aws/a/b:1"}]}}),
         "is refused"),
        (made("aws:lambda/function:Function", packageType="Image", imageUri="public.ecr.aws/lambda/python:3.13"),
         "Lambda pulls from private repositories of Amazon ECR"),
        (deployed("gpt-4.1", "ProvisionedManaged", 25), "50 units at least, and more in steps of 50; state capacity 50"),
        (deployed("gpt-4o", "GlobalProvisionedManaged", 17), "15 units at least, and more in steps of 5; state capacity 20"),
        (deployed("o1", "ProvisionedManaged", 60), "state capacity 75"),
        (made("azure:cognitive/deployment:Deployment", model={"name": "gpt-5-mini"},
              sku={"name": "DataZoneProvisionedManaged", "capacity": 10}), "state capacity 15"),
        (reserved("2027-03-01", "2027-03-08"), "2027-03-01 is 94 days ahead: blocks start within 56 days"),
        (reserved("2026-12-01", "2026-12-17"), "a block of 16 days is not sold"),
        (reserved("2026-12-01", "2026-12-08", 3), "capacity 3 is refused"),
        (made(AGENTS, mode="System", scaleSetPriority="Spot"), "a pool of mode System is refused on spot"),
        (made(AGENTS, mode="System", osType="Windows", agentPoolName="win"), "is refused on Windows"),
        (made(AGENTS, mode="System", vmSize="Standard_B4ms"), "is not supported on Standard_B4ms"),
        (made(AGENTS, mode="System", enableAutoScaling=True, minCount=0), "cannot have 0 machines"),
        (made("azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool", mode="System",
              priority="Spot"), "is refused on spot"),
        (made(AKS, agentPoolProfiles=[{"name": "gpu", "mode": "User"}]), "AKS asks for a system pool"),
        (made(AKS, agentPoolProfiles=[{"name": "sys", "mode": "System", "scaleSetPriority": "Spot"}]), "pool sys: a pool"),
        (made(AKS, networkProfile={"serviceCidr": "10.1.0.0/16", "dnsServiceIP": "10.0.0.10"}), "take 10.1.0.10"),
        (made(AGENTS, vmSize="Standard_NC24ads_A100_v4", osSKU="Flatcar"), "and takes none: it is billed in vain"),
        (made(AGENTS, vmSize="Standard_NC4as_T4_v3", osSKU="AzureLinuxOSGuard"), "AzureLinuxOSGuard has no driver"),
        (made(AGENTS, vmSize="Standard_NC4as_T4_v3", gpuProfile={"driverType": "CUDA"}), "driverType CUDA is refused"),
        (made(EKS, kubernetesNetworkConfig={"serviceIpv4Cidr": "100.64.0.0/16"}), "a private range between /24 and /12"),
        (made(EKS, kubernetesNetworkConfig={"serviceIpv4Cidr": "10.0.0.0/8"}), "a private range between /24 and /12"),
        (made(GKE, privateClusterConfig={"masterIpv4CidrBlock": "172.16.0.0/24"}), "take 172.16.0.0/28"),
        (vnet("10.0.0.0/24", "10.0.0.128/25"), "addressPrefix 10.0.0.128/25 of s1 overlaps 10.0.0.0/24 of s0"),
        (vnet("10.1.0.0/24"), "addressPrefix 10.1.0.0/24 of s0 is outside of its network's 10.0.0.0/16"),
        (made("azure:network/virtualNetwork:VirtualNetwork", addressSpaces=["10.0.0.0/16"],
              subnets=[{"name": "a", "addressPrefixes": ["10.2.0.0/24"]}]), "10.2.0.0/24 of a is outside"),
        (made("gcp:compute/subnetwork:Subnetwork", network="n", ipCidrRange="10.0.0.0/20",
              secondaryIpRanges=[{"rangeName": "pods", "ipCidrRange": "10.0.8.0/21"}]), "10.0.8.0/21 overlaps 10.0.0.0/20"),
    ],
)  # fmt: skip
def test_what_a_service_refuses_is_said(resource, words):
    (line,) = said(resource)
    assert words in line


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ((vnet("10.0.0.0/24"), own_subnet("10.0.0.64/26")), "overlaps 10.0.0.64/26 of own"),
        ((vnet(), own_subnet("10.9.0.0/24")), "addressPrefix 10.9.0.0/24 is outside of its network's 10.0.0.0/16"),
        ((own_subnet("10.0.1.0/24", "a"), own_subnet("10.0.1.0/25", "b"), vnet()), "overlaps 10.0.1.0/24 of a"),
        ((vnet(), own_subnet("10.0.1.0/24"),
          linked(made(AKS, agentPoolProfiles=[{"vnetSubnetID": UNKNOWN}], networkProfile={"serviceCidr": "10.0.0.0/16"}),
                 agentPoolProfiles=(own_subnet("10.0.1.0/24"),))), "service_cidr 10.0.0.0/16 (the default) overlaps its subnet's"),
    ],
)  # fmt: skip
def test_subnets_inside_of_a_network_and_those_that_stand_for_themselves_are_compared(resources, words):
    (line,) = said(*resources)
    assert words in line


def test_services_of_eks_do_not_have_the_addresses_of_its_vpc():
    vpc = made("aws:ec2/vpc:Vpc", "v", cidrBlock="172.20.0.0/16")
    subnets = [
        linked(made("aws:ec2/subnet:Subnet", f"s{n}", vpcId=UNKNOWN, cidrBlock=f"172.20.{n}.0/24",
                    availabilityZone=f"us-east-1{zone}"), vpcId=(vpc,))
        for n, zone in enumerate("ab")
    ]  # fmt: skip
    cluster = made(EKS, "c", vpcConfig={"subnetIds": [UNKNOWN] * 2},
                   kubernetesNetworkConfig={"serviceIpv4Cidr": "172.20.0.0/16"})  # fmt: skip
    (line,) = said(vpc, *subnets, linked(cluster, vpcConfig=subnets))
    assert "service_ipv4_cidr 172.20.0.0/16 overlaps its VPC's 172.20.0.0/16" in line


VM, SET = (f"azure-native:compute:{kind}" for kind in ("VirtualMachine", "VirtualMachineScaleSet"))
UBUNTU = {
    "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server", "version": "latest"}
}
HPC = {"imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}}
ROCM = {"imageReference": {**HPC["imageReference"], "sku": "2204-rocm"}}
DLAMI = "resolve:ssm:/aws/service/deeplearning/ami/{}/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
A100, GCE = {"vmSize": "Standard_NC24ads_A100_v4"}, "gcp:compute/instance:Instance"


def gce(machine_type, image, **more):
    stays = {"onHostMaintenance": "TERMINATE"}
    return made(
        GCE, machineType=machine_type, bootDisk={"initializeParams": {"image": image}}, scheduling=stays, **more
    )


T4 = {"guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}]}


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (made(VM, hardwareProfile=A100, storageProfile=UBUNTU), "Canonical:ubuntu-24_04-lts:server has no driver for the A100"),
        (made(SET, sku={"name": "Standard_NC4as_T4_v3"}, virtualMachineProfile={"storageProfile": UBUNTU}), "for the T4"),
        (made("azure:compute/linuxVirtualMachine:LinuxVirtualMachine", size="Standard_NC4as_T4_v3",
              sourceImageReference=UBUNTU["imageReference"]), "for the T4"),
        (gce("g2-standard-8", "debian-cloud/debian-12"), "debian-cloud/debian-12 has no driver for the L4"),
        (gce("n1-standard-8", "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64", **T4), "for the T4"),
        (made("gcp:compute/instanceTemplate:InstanceTemplate", machineType="g2-standard-8", disks=[{"sourceImage": "debian-cloud/debian-12"}],
              scheduling={"onHostMaintenance": "TERMINATE"}), "for the L4"),
        (made("gcp:compute/regionInstanceTemplate:RegionInstanceTemplate", machineType="g2-standard-8",
              disks=[{"sourceImage": "windows-cloud/windows-2022"}], scheduling={"onHostMaintenance": "TERMINATE"}), "for the L4"),
        (gce("g2-standard-8", "deeplearning-platform-release/common-cpu-v20260101-debian-12"), "for the L4"),
        (made("azure:compute/linuxVirtualMachineScaleSet:LinuxVirtualMachineScaleSet", sku="Standard_NC4as_T4_v3",
              sourceImageReference=UBUNTU["imageReference"]), "for the T4"),
        (made("azure:compute/orchestratedVirtualMachineScaleSet:OrchestratedVirtualMachineScaleSet", skuName="Standard_NC4as_T4_v3",
              sourceImageReference=UBUNTU["imageReference"]), "for the T4"),
        (made("azure:compute/windowsVirtualMachine:WindowsVirtualMachine", size="Standard_NC4as_T4_v3", sourceImageReference={
              "publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter-g2", "version": "latest"}), "for the T4"),
        (made("aws:ec2/spotInstanceRequest:SpotInstanceRequest", instanceType="g6.xlarge",
              ami="/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id"), "has no driver for the L4"),
        (made("aws:ec2/launchConfiguration:LaunchConfiguration", instanceType="inf2.xlarge",
              imageId="/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"), "of NVIDIA"),
        (made("aws:ec2/launchTemplate:LaunchTemplate", instanceType="g5g.xlarge", imageId=DLAMI.format("x86_64")), "is for x86_64"),
        (made("aws:ec2/instance:Instance", instanceType="g6.xlarge", ami=DLAMI.format("arm64")), "is for arm64"),
        (made(SET, sku={"name": "Standard_ND96isr_MI300X_v5"}, virtualMachineProfile={"storageProfile": HPC}), "driver of NVIDIA, which"),
        (made(VM, hardwareProfile={"vmSize": "Standard_ND96isr_H100_v5"}, storageProfile=ROCM), "driver of AMD, which"),
        (made(VM, location="westus", zones=["1"]), "zones 1 are refused: westus has no zones"),
        (made(AKS, location="westus", agentPoolProfiles=[{"mode": "System", "availabilityZones": ["1", "2"]}]), "westus"),
        (made(VM, location="westus2", zones=["4"]), "westus2 has 1, 2, 3; name one of these"),
        (made("azure-native:storage:StorageAccount", "trainingcheckpointsx"), "has 28 characters: its cloud takes 24"),
        (made("aws:lb/loadBalancer:LoadBalancer", "inference-of-the-whole-team"), "has 35 characters"),
        (made("aws:iam/role:Role", name="r" * 65), "1 to 64"),
        (made("gcp:storage/bucket:Bucket", name="goog-data"), "not beginning with goog"),
        (made("gcp:serviceaccount/account:Account", accountId="a" * 31), "6 to 30"),
    ],
)  # fmt: skip
def test_machines_without_drivers_zones_that_are_none_and_names_that_are_made_are_said(resource, words):
    (line,) = said(resource)
    assert words in line


@pytest.mark.parametrize(
    "resources",
    [
        [made(VM, hardwareProfile=A100, storageProfile=HPC)],
        [made(SET, sku={"name": "Standard_ND96isr_MI300X_v5"}, virtualMachineProfile={"storageProfile": ROCM})],
        [made("aws:ec2/instance:Instance", instanceType="g5g.xlarge", ami=DLAMI.format("arm64"))],
        [made(VM, hardwareProfile=A100, storageProfile=UBUNTU, userData=UNKNOWN)],
        [made(VM, hardwareProfile=A100, storageProfile=UBUNTU), made("azure-native:compute:VirtualMachineExtension", "e")],
        [made(VM, hardwareProfile={"vmSize": "Standard_D4s_v5"}, storageProfile=UBUNTU)],
        [made(SET, sku={"name": "Standard_NC4as_T4_v3"}, virtualMachineProfile={"storageProfile": UBUNTU, "extensionProfile": {}})],
        [gce("g2-standard-8", "debian-cloud/debian-12", metadataStartupScript="apt-get install nvidia-driver")],
        [gce("g2-standard-8", "deeplearning-platform-release/common-cu129")],
        [gce("n1-standard-8", "debian-cloud/debian-12")],
        [gce("g2-standard-8", "ubuntu-os-accelerator-images/ubuntu-accelerator-2204-amd64-with-nvidia-550")],
        [made(VM, hardwareProfile=A100, storageProfile={"imageReference": {
            "publisher": "almalinux", "offer": "almalinux-hpc", "sku": "8_10-hpc-gen2", "version": "latest"}})],
        [made(VM, location="westus2", zones=["1", "3"]), made(VM, location=UNKNOWN, zones=["9"])],
        [made("azure-native:storage:StorageAccount", "checkpoints"), made("aws:iam/role:Role", namePrefix="r" * 30)],
        [replace(made("aws:lb/loadBalancer:LoadBalancer", "l" * 40), outputs={"name": "of-a-state"})],
    ],
)  # fmt: skip
def test_nothing_is_said_of_machines_zones_and_names_that_are_taken(resources):
    assert said(*(replace(each, urn=f"{each.urn}{place}") for place, each in enumerate(resources))) == []


@pytest.mark.parametrize("place", [{"availabilityZoneId": "use1-az3"}, {"availabilityZone": "us-east-1-bos-1a"}])
def test_a_control_plane_of_eks_is_in_no_zone_without_one(place):
    subnets = [
        made("aws:ec2/subnet:Subnet", "a", availabilityZone="us-east-1a"),
        made("aws:ec2/subnet:Subnet", "b", **place),
    ]
    cluster = linked(made(EKS, vpcConfig={"subnetIds": [UNKNOWN] * 2}), vpcConfig=subnets)
    (line,) = said(*subnets, cluster)
    assert "EKS refuses subnet b for a control plane" in line


@pytest.mark.parametrize(
    ("version", "refused"), [("v1.29.0-eksbuild.1", True), ("v1.37.1-eksbuild.1", True), ("v1.33.0-eksbuild.2", False)]
)
def test_kube_proxy_goes_with_its_cluster(version, refused):
    cluster = made(EKS, "c", version="1.36")
    addon = linked(made("aws:eks/addon:Addon", addonName="kube-proxy", addonVersion=version), clusterName=(cluster,))
    assert [f"kube-proxy {version} does not go with Kubernetes 1.36" in line for line in said(cluster, addon)] == [
        True
    ] * refused


@pytest.mark.parametrize(
    ("name", "version", "cluster", "old"),
    [
        ("vpc-cni", "v1.12.0-eksbuild.1", "1.35", True),
        ("vpc-cni", "v1.20.4-eksbuild.2", "1.35", False),
        ("vpc-cni", "v9.0.0-eksbuild.1", "1.35", False),
        ("aws-ebs-csi-driver", "v1.13.0-eksbuild.1", "1.35", True),
        ("aws-ebs-csi-driver", "v1.50.1-eksbuild.1", "1.35", False),
        ("coredns", "v1.8.7-eksbuild.1", "1.35", True),
        ("coredns", "v1.11.4-eksbuild.24", "1.32", False),  # the newest that EKS lists for 1.32
        ("aws-efs-csi-driver", "v1.4.0-eksbuild.1", "1.35", True),
        ("snapshot-controller", "v6.3.2-eksbuild.1", "1.36", True),
        ("unheard-of", "v0.1.0", "1.36", False),
        ("vpc-cni", "v1.12.0-eksbuild.1", "1.99", False),  # when EKS has it, nobody knows
    ],
)
def test_a_release_of_an_addon_that_was_old_before_the_cluster_s_version_is_said(name, version, cluster, old):
    eks = made(EKS, "c", version=cluster)
    addon = linked(made("aws:eks/addon:Addon", addonName=name, addonVersion=version), clusterName=(eks,))
    listed = f"aws eks describe-addon-versions --addon-name {name} --kubernetes-version {cluster}"
    found = [(age.detail, age.fix) for age in pressing(unfit(Graph(Plan(project="", stack="", resources=(eks, addon))),
             CATALOG, KNOWN, images, ON))]  # fmt: skip
    assert [f"{name} {version} is not known to go with Kubernetes {cluster}" in detail for detail, _ in found] == (
        [True] * old
    )
    assert [fix for _, fix in found] == [listed] * old


def test_a_revision_of_aks_s_mesh_goes_with_its_cluster():
    def mesh(version, revision):
        return made(AKS, "c", kubernetesVersion=version, agentPoolProfiles=[{"name": "s", "mode": "System", "count": 2}],
                    serviceMeshProfile={"mode": "Istio", "istio": {"revisions": [revision]}})  # fmt: skip

    (line,) = said(mesh("1.36", "asm-1-25"))
    assert "Istio's revision asm-1-25 goes with Kubernetes 1.28 to 1.33, not with 1.36" in line
    assert said(mesh("1.36", "asm-1-30")) == said(mesh("1.36", "asm-9-99")) == []
    ended = [age for age in aging([mesh("1.35", "asm-1-27")], KNOWN, ON) if age.kind == "runtime"]
    assert [(age.what, age.until, age.fix) for age in ended] == [
        ("runtime aks/istio asm-1-27", "2026-05-31", "az aks mesh get-revisions --location REGION")
    ]


def test_the_cuda_of_an_endpoint_s_image_is_held_against_its_gpu():
    dlc = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-inference:1.13.1-gpu-py39-{}-ubuntu20.04-sagemaker"
    for tag, count in (("cu117", 1), ("cu121", 0)):
        model = made("aws:sagemaker/model:Model", "m", primaryContainer={"image": dlc.format(tag)})
        config = made("aws:sagemaker/endpointConfiguration:EndpointConfiguration", "e",
                      productionVariants=[{"instanceType": "ml.p5.48xlarge", "modelName": UNKNOWN}])  # fmt: skip
        assert len(said(model, linked(config, productionVariants=(model,)))) == count


def test_the_control_plane_of_gke_has_addresses_of_its_own():
    subnet = made("gcp:compute/subnetwork:Subnetwork", "s", network="n", ipCidrRange="10.0.0.0/16")
    cluster = made(GKE, subnetwork=UNKNOWN, privateClusterConfig={"masterIpv4CidrBlock": "10.0.8.0/28"})
    (line,) = said(subnet, linked(cluster, subnetwork=(subnet,)))
    assert "master_ipv4_cidr_block 10.0.8.0/28 overlaps its subnet's 10.0.0.0/16" in line


def test_aks_without_a_service_range_has_one_that_its_network_may_have_too():
    network = vnet("10.0.0.0/24")
    cluster = made(AKS, agentPoolProfiles=[{"mode": "System", "vnetSubnetID": UNKNOWN}],
                   networkProfile={"networkPlugin": "azure", "serviceCidr": "10.0.0.0/16", "dnsServiceIP": "10.0.0.10"})  # fmt: skip
    for one in (cluster, replace(cluster, inputs={**cluster.inputs, "networkProfile": None})):
        (line,) = said(network, linked(one, agentPoolProfiles=(network,)))
        assert "service_cidr 10.0.0.0/16 (the default) overlaps its subnet's 10.0.0.0/24" in line
        assert "state another service_cidr" in line


def hyperpod(machine="ml.p5.48xlarge", version="1.35", **access):
    cluster = made(EKS, "eks", version=version, **({"accessConfig": access} if access else {}))
    pod = made("aws-native:sagemaker:Cluster", "pod", instanceGroups=[{"instanceType": machine}],
               orchestrator={"eks": {"clusterArn": UNKNOWN}})  # fmt: skip
    return cluster, linked(pod, orchestrator=(cluster,))


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (hyperpod(version="1.36", authenticationMode="API"), "EKS 1.36 of eks is newer than HyperPod takes"),
        (hyperpod(), "authentication mode CONFIG_MAP, which is EKS's default"),
        (hyperpod(machine="p5.48xlarge", authenticationMode="API"), "p5.48xlarge is no machine of SageMaker"),
    ],
)
def test_what_hyperpod_refuses_of_a_cluster_is_said(resources, words):
    (line,) = said(*resources)
    assert words in line


def test_the_machines_of_a_component_are_named_for_sagemaker_by_the_component():
    pod = made("sizewell-aws:index:HyperPodCluster", "pod", groups=[{"instanceType": "p5.48xlarge"}])
    text = made(CLOUD_CONTROL, "c", typeName="AWS::SageMaker::Cluster", desiredState=UNKNOWN)
    assert said(pod, replace(text, parent=pod.urn)) == []


def ami(*names, **more):
    return made(AMI, "getAmi", filters=[{"name": "name", "values": list(names)}], owners=["amazon"], **more)


@pytest.mark.parametrize(
    ("lookup", "words"),
    [
        (ami("amzn2-ami-hvm-*-x86_64-gp2"), "Amazon Linux 2 (amzn2-ami-hvm-*-x86_64-gp2): support ended on 2026-06-30"),
        (ami("ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server-*"), "Ubuntu 20.04"),
        (made(AMI, "getAmi", nameRegex="^amzn-ami-hvm-"), "Amazon Linux 1"),
        (made("aws:ssm/getParameter:getParameter", "p",
              name="/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id"), "Amazon Linux 2"),
        (made("gcp:compute/getImage:getImage", "i", project="debian-cloud", family="debian-10"), "Debian 10"),
        (made("gcp:container/getEngineVersions:getEngineVersions", "v", versionPrefix="1.32."), "Kubernetes 1.32 on gke"),
    ],
)  # fmt: skip
def test_ended_systems_and_versions_that_are_looked_up_are_named(lookup, words):
    (found,) = pressing(aging([lookup], KNOWN, ON))
    assert (found.when, words in found.detail) == ("ended", True), found


def test_what_is_looked_up_and_lasts_is_not_named():
    calls = [
        ami("al2023-ami-2023*-x86_64"),
        made("aws:ssm/getParameter:getParameter", "p", name="/team/amzn2-ami-of-ours"),
        made("gcp:compute/getImage:getImage", "i", project="debian-cloud", family="debian-12"),
        made("gcp:container/getEngineVersions:getEngineVersions", "v", versionPrefix=UNKNOWN),
    ]
    assert pressing(aging(calls, KNOWN, ON)) == ()


def machine(type_="g6.xlarge", **more):
    return made(INSTANCE, "m", ami=UNKNOWN, instanceType=type_, **more)


@pytest.mark.parametrize(
    ("lookup", "instance", "words"),
    [
        (ami("al2023-ami-2023*-x86_64"), machine(), "has no driver for the L4 of g6.xlarge"),
        (ami("al2023-ami-2023*-arm64"), machine(), "is for arm64, and g6.xlarge is x86_64"),
        (ami("Deep Learning Base Neuron AMI (Amazon Linux 2023)*"), machine(), "has the driver of Neuron"),
    ],
)
def test_the_image_that_a_program_looks_up_is_held_against_its_machine(lookup, instance, words):
    (line,) = said(instance, lookups=[lookup])
    assert words in line


@pytest.mark.parametrize(
    ("lookups", "instance"),
    [
        ([ami("al2023-ami-2023*-x86_64")], machine(userData="#!/bin/bash\ndnf install -y nvidia-driver")),
        ([ami("al2023-ami-2023*-x86_64")], machine(userData=UNKNOWN)),
        ([ami("al2023-ami-2023*-x86_64")], machine("m7i.large")),
        ([ami("al2023-ami-2023*-x86_64"), ami("team-gpu-*")], machine()),
        ([ami("Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04)*")], machine()),
        ([ami("team-gpu-*")], machine()),
        ([ami("al2023-ami-2023*-x86_64")], linked(machine(), ami=(made("aws:ec2/ami:Ami", "own"),))),
    ],
)
def test_nothing_is_said_where_the_machine_may_have_its_driver(lookups, instance):
    assert said(instance, lookups=lookups) == []


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"startDateRange": "2027-04-01T00:00:00Z"}, "2027-04-01 is 125 days ahead: blocks start within 56 days"),
        ({"startDateRange": "2026-01-01T00:00:00Z"}, "2026-01-01 is past"),
        ({"capacityDurationHours": 36}, "state 48"),
        ({"capacityDurationHours": 400}, "state 504"),
        ({"instanceCount": 100}, "a block has up to 64"),
    ],
)
def test_a_capacity_block_that_is_not_sold_so_is_said(inputs, words):
    (line,) = said(lookups=[made(BLOCK, "getCapacityBlockOffering", instanceType="p5.48xlarge", **inputs)])
    assert words in line


def test_a_program_s_own_calls_are_recorded(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(
        "import pulumi_aws as aws\n"
        'found = aws.ec2.get_ami_output(filters=[{"name": "name", "values": ["amzn2-ami-hvm-*"]}], owners=["amazon"])\n'
        'aws.ec2.Instance("m", ami=found.id, instance_type="g6.xlarge")\n'
    )
    plan = evaluate(tmp_path, "dev", config={"aws:region": "us-east-1"})
    (call,) = plan.lookups
    assert (call.type, call.inputs["filters"]) == (AMI, [{"name": "name", "values": ["amzn2-ami-hvm-*"]}])
    assert [each.resource for each in pressing(aging((*plan.resources, *plan.lookups), KNOWN, ON))] == ["getAmi"]


@pytest.mark.parametrize(
    "resources",
    [
        [service("vllm/vllm-openai:v0.11.0"), service("us-docker.pkg.dev/p/r/app:1", JOB), service("ghcr.io/a/b:1")],
        [service("gcr.io/p/app"), service("europe-west4-docker.pkg.dev/p/r/a@sha256:0"), service(UNKNOWN)],
        [made("aws:lambda/function:Function", imageUri="123456789012.dkr.ecr.us-east-1.amazonaws.com/f:1")],
        [deployed("gpt-4.1", "ProvisionedManaged", 100), deployed("gpt-4.1", "GlobalStandard", 1)],
        [deployed("gpt-9", "ProvisionedManaged", 1), deployed("gpt-4o", "GlobalProvisionedManaged", UNKNOWN)],
        [reserved("2026-12-01", "2026-12-15"), reserved("2026-12-01", "2027-01-05"), reserved(UNKNOWN, UNKNOWN)],
        [made("azure-native:compute:CapacityReservation", sku={"name": "Standard_D4s_v5", "capacity": 5})],
        [made(AGENTS, mode="User", scaleSetPriority="Spot", minCount=0), made(AGENTS, mode="System", minCount=2)],
        [made(AKS, agentPoolProfiles=[{"name": "sys", "mode": "System", "count": 3, "vmSize": "Standard_D4s_v5"}])],
        [made(AKS, agentPoolProfiles=[{"name": "sys"}, {"name": "gpu", "mode": "User"}])],
        [made(AKS, networkProfile={"serviceCidr": "10.1.0.0/16", "dnsServiceIP": "10.1.0.10"}), made(AKS, agentPoolProfiles=UNKNOWN)],
        [made(AGENTS, vmSize="Standard_NC24ads_A100_v4", osSKU="AzureLinux", gpuProfile={"driver": "None"})],
        [made(AGENTS, vmSize="Standard_D4s_v5", osSKU="Flatcar")],
        [made(AGENTS, agentPoolName="win", vmSize="Standard_NC4as_T4_v3", osType="Windows", gpuProfile={"driverType": "GRID"})],
        [made(EKS, kubernetesNetworkConfig={"serviceIpv4Cidr": "172.20.0.0/16"})],
        [made(GKE, privateClusterConfig={"masterIpv4CidrBlock": "172.16.0.0/28"})],
        [vnet("10.0.0.0/24", "10.0.1.0/24"), own_subnet("10.0.2.0/24")],
        [vnet("10.0.0.0/24", UNKNOWN, space=(UNKNOWN,))],
        [vnet("10.0.0.0/24"), own_subnet("10.0.0.0/24", "s0")],  # one subnet, said twice
        [made("gcp:compute/subnetwork:Subnetwork", network="n", ipCidrRange="10.0.0.0/20",
              secondaryIpRanges=[{"rangeName": "pods", "ipCidrRange": "10.64.0.0/14"}])],
        hyperpod(authenticationMode="API_AND_CONFIG_MAP"),
        hyperpod(version=UNKNOWN, authenticationMode=UNKNOWN),
    ],
)  # fmt: skip
def test_nothing_is_said_of_what_services_take(resources):
    assert said(*(replace(each, urn=f"{each.urn}{place}") if each.name == "x" else each
                  for place, each in enumerate(resources))) == []  # fmt: skip


def test_a_block_within_eight_weeks_is_let_through():
    call = made(BLOCK, "b", instanceType="p5.48xlarge", startDateRange="2027-01-15T00:00:00Z", instanceCount=64,
                endDateRange="2027-06-01T00:00:00Z", capacityDurationHours=504)  # fmt: skip
    assert said(lookups=[call]) == []


def pod(image, asks="nvidia.com/gpu", **selector):
    container = {"image": image, "resources": {"limits": {asks: 1}}}
    return made("kubernetes:core/v1:Pod", spec={"nodeSelector": selector, "containers": [container]})


ARM = {"kubernetes.io/arch": "arm64"}
G5G, MI300X = {"node.kubernetes.io/instance-type": "g5g.2xlarge"}, "Standard_ND96isr_MI300X_v5"


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (pod("vllm/vllm-openai:v0.6.3", **G5G), "has no build for arm64, and g5g.2xlarge has no other processor"),
        (pod("docker.io/rocm/vllm:rocm6.4.1", **ARM), "no build for arm64"),
        (pod("rocm/vllm:rocm6.4.1"), "made for AMD's GPUs, and asks for nvidia.com/gpu"),
        (pod("vllm/vllm-openai:v0.11.0", "amd.com/gpu"), "take the image for AMD's GPUs"),
        (pod("public.ecr.aws/neuron/pytorch-inference:2", "nvidia.com/gpu"), "made for AWS Neuron"),
    ],
)
def test_a_container_for_another_processor_or_accelerator_is_said(resource, words):
    (line,) = said(resource)
    assert words in line


def test_nothing_is_said_of_containers_where_they_belong():
    """The newest vLLM has builds for arm64; of images of one's own nothing is known."""
    placed = [
        pod("vllm/vllm-openai:v0.11.0", **G5G),
        pod("rocm/vllm:rocm6.4.1", "amd.com/gpu"),
        pod("a.b/own:1", **ARM),
    ]
    assert said(*placed) == []


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (made("aws:ec2/vpc:Vpc", cidrBlock="10.0.0.0/8"), "is too large: its cloud takes /16 or smaller"),
        (made("aws:ec2/subnet:Subnet", vpcId="vpc-1", cidrBlock="10.0.0.0/29"), "take a /28 or larger"),
        (made("gcp:compute/subnetwork:Subnetwork", network="n", ipCidrRange="10.0.0.0/30"), "take a /29 or larger"),
        (vnet("10.0.0.0/30"), "of s0 is too small"),
        (own_subnet("10.0.8.0/28", name="AzureBastionSubnet"), "take a /26 or larger"),
    ],
)
def test_a_range_of_a_size_that_no_cloud_takes_is_said(resource, words):
    (line,) = said(resource)
    assert words in line


def test_a_range_for_peering_over_a_subnet_s_is_said():
    network = made("gcp:compute/network:Network", "n")
    subnet = linked(
        made("gcp:compute/subnetwork:Subnetwork", "s", network=UNKNOWN, ipCidrRange="10.0.0.0/20"), network=(network,)
    )
    taken = made(
        "gcp:compute/globalAddress:GlobalAddress",
        "r",
        network=UNKNOWN,
        purpose="VPC_PEERING",
        address="10.0.0.0",
        prefixLength=16,
    )
    (line,) = said(network, subnet, linked(taken, network=(network,)))
    assert "address 10.0.0.0/16 overlaps 10.0.0.0/20 of s" in line
    free = made(
        "gcp:compute/globalAddress:GlobalAddress",
        "r",
        network=UNKNOWN,
        purpose="VPC_PEERING",
        address="10.8.0.0",
        prefixLength=16,
    )
    assert said(network, subnet, linked(free, network=(network,))) == []


def test_a_launch_configuration_takes_no_type_of_today():
    of = "aws:ec2/launchConfiguration:LaunchConfiguration"
    (line,) = said(made(of, instanceType="g6.xlarge", imageId="ami-1"))
    assert "make an ec2.LaunchTemplate" in line
    assert said(made(of, instanceType="g5.xlarge", imageId="ami-1"), made(of, instanceType="c7g.large")) == []


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (made("aws:elasticache/replicationGroup:ReplicationGroup", replicationGroupId="a" * 45), "1 to 40 letters"),
        (made("aws:sqs/queue:Queue", name="jobs.fifo-prod"), ".fifo at the end"),
        (made("aws:rds/instance:Instance", identifier="9-models"), "a letter first"),
        (
            made(
                "azure-native:compute:VirtualMachine",
                osProfile={"computerName": "training-gateway1", "windowsConfiguration": {}},
            ),
            "at most 15",
        ),
    ],
)
def test_more_names_that_no_cloud_takes_are_said(resource, words):
    (line,) = said(resource)
    assert words in line


RDS, AURORA, DOCDB = "aws:rds/instance:Instance", "aws:rds/cluster:Cluster", "aws:docdb/cluster:Cluster"
FLEXIBLE, MYSQL, SQL = (
    "azure-native:dbforpostgresql:Server",
    "azure-native:dbformysql:Server",
    "azure-native:sql:Server",
)
MACHINE, MACHINES = (f"azure-native:compute:{kind}" for kind in ("VirtualMachine", "VirtualMachineScaleSet"))
LINUX = "azure:compute/linuxVirtualMachine:LinuxVirtualMachine"


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (made(RDS, engine="postgres", username="admin"), "admin"),
        (made(RDS, engine="postgres", username="pg_owner"), "pg_owner"),
        (made(RDS, engine="mysql", username="rdsadmin"), "rdsadmin"),
        (made(AURORA, engine="aurora-postgresql", masterUsername="Admin"), "Admin"),
        (made("aws-native:rds:DbInstance", engine="postgres", masterUsername="rdsadmin"), "rdsadmin"),
        (made(DOCDB, masterUsername="admin"), "admin"),
        (made(SQL, administratorLogin="sa"), "sa"),
        (made(FLEXIBLE, administratorLogin="azure_pg_admin"), "azure_pg_admin"),
        (made(FLEXIBLE, administratorLogin="root"), "root"),
        (made(MYSQL, administratorLogin="guest"), "guest"),
        (made(MACHINE, osProfile={"adminUsername": "admin"}), "admin"),
        (made(MACHINES, virtualMachineProfile={"osProfile": {"adminUsername": "root"}}), "root"),
        (made(LINUX, adminUsername="test"), "test"),
        (made(RDS, engine="mysql", username="admin"), ""),
        (made(RDS, engine="postgres", username="postgres"), ""),
        (made(RDS, engine=UNKNOWN, username="admin"), ""),
        (made(AURORA, engine="aurora-mysql", masterUsername="admin"), ""),
        (made(DOCDB, masterUsername="docadmin"), ""),
        (made(SQL, administratorLogin="sqladmin"), ""),
        (made(FLEXIBLE, administratorLogin="pgadmin"), ""),
        (made(MYSQL, administratorLogin="azure_pg_admin"), ""),
        (made(MACHINE, osProfile={"adminUsername": "azureuser"}), ""),
        (made(LINUX, adminUsername=UNKNOWN), ""),
    ],
)
def test_a_user_s_name_that_a_cloud_keeps_for_itself_is_said(resource, name):
    lines = said(resource)
    assert (len(lines), f"{name!r} is refused" in "".join(lines)) == ((1, True) if name else (0, False))


def test_names_that_fit_are_not_named():
    fit = [made("aws:elasticache/replicationGroup:ReplicationGroup", replicationGroupId="a" * 40),
           made("aws:sqs/queue:Queue", name="jobs.fifo"), made("aws:rds/instance:Instance", identifier="models-prod"),
           made("azure-native:compute:VirtualMachine", osProfile={"computerName": "training-gateway1"})]  # fmt: skip
    assert said(*fit) == []


def aged(type_, **inputs):
    return [f"{each.detail}; {each.fix}" for each in pressing(aging([made(type_, **inputs)], KNOWN, ON))]


@pytest.mark.parametrize(
    ("type_", "inputs", "words"),
    [
        ("aws:lex/bot:Bot", {}, "take Amazon Lex V2"),
        ("gcp:appengine/standardAppVersion:StandardAppVersion", {"runtime": "python37"}, "older than 3.9"),
        ("aws:rds/instance:Instance", {"caCertIdentifier": "rds-ca-2019"}, "take rds-ca-rsa2048-g1"),
        ("kubernetes:core/v1:Pod", {"spec": {"image": "gcr.io/kubebuilder/kube-rbac-proxy:v0.15.0"}}, "quay.io/brancz"),
        ("kubernetes:helm.sh/v3:Release", {"chart": "prometheus", "version": "11.12.1", "repositoryOpts": {"repo": "https://charts.helm.sh/stable"}},
         "an archive without updates"),
        ("kubernetes:karpenter.sh/v1beta1:NodePool", {}, "Karpenter 1.0 was the last that served it; use karpenter.sh/v1"),
        ("aws:rds/instance:Instance", {"engine": "mysql", "engineVersion": "5.7.44", "engineLifecycleSupport": "open-source-rds-extended-support-disabled"},
         "with extended support disabled AWS builds none"),
    ],
)  # fmt: skip
def test_more_that_has_ended_is_said(type_, inputs, words):
    (line,) = aged(type_, **inputs)
    assert words in line


def test_what_goes_on_is_not_named():
    assert aged("aws:lex/v2modelsBot:V2modelsBot") == aged("aws-native:lex:Bot") == []
    assert aged("kubernetes:karpenter.sh/v1:NodePool") == []


VM, MACHINE = "gcp:compute/instance:Instance", "azure-native:compute:VirtualMachine"


def booted(machine, image):
    return made(VM, machineType=machine, bootDisk={"initializeParams": {"image": image}})


def canonical_image(machine, sku):
    image = {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": sku, "version": "latest"}
    return made(MACHINE, hardwareProfile={"vmSize": machine}, storageProfile={"imageReference": image})


def task(image, processor):
    containers = json.dumps([{"name": "m", "image": image}])
    return made(
        "aws:ecs/taskDefinition:TaskDefinition",
        runtimePlatform={"cpuArchitecture": processor},
        containerDefinitions=containers,
    )


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (booted("c4a-standard-4", "ubuntu-os-cloud/ubuntu-2404-lts-amd64"), "take an image for arm64"),
        (booted("c4a-standard-4", "debian-cloud/debian-12"), "take an image for arm64"),
        (booted("n2-standard-4", "debian-cloud/debian-12-arm64"), "take an image for x86_64"),
        (canonical_image("Standard_D4ps_v6", "server"), "Standard_D4ps_v6 is arm64"),
        (task("vllm/vllm-openai:v0.6.3", "ARM64"), "or cpu_architecture X86_64"),
        (task("amd64/python:3.13", "ARM64"), "no build for arm64"),
        (
            made("aws:eks/nodeGroup:NodeGroup", instanceTypes=["m7g.large"], amiType="AL2023_x86_64_STANDARD"),
            "m7g.large is arm64",
        ),
    ],
)
def test_an_image_for_another_processor_is_said_of_any_machine(resource, words):
    (line,) = said(resource)
    assert words in line


@pytest.mark.parametrize(
    "resource",
    [booted("c4a-standard-4", "debian-cloud/debian-12-arm64"), booted("c4a-standard-4", "own/image"),
     canonical_image("Standard_D4ps_v6", "server-arm64"), canonical_image("Standard_D4s_v5", "server"),
     task("vllm/vllm-openai:v0.6.3", "X86_64"), task("python:3.13", "ARM64")],
)  # fmt: skip
def test_nothing_is_said_of_an_image_for_the_machine_s_processor(resource):
    assert said(resource) == []


@pytest.mark.parametrize(("looked_for", "lines"), [("x86_64", 1), ("arm64", 0)])
def test_the_architecture_that_an_image_is_looked_up_for_counts(looked_for, lines):
    call = made(
        AMI,
        filters=[{"name": "name", "values": ["al2023-ami-2023.*"]}, {"name": "architecture", "values": [looked_for]}],
    )
    machine = made(INSTANCE, ami=UNKNOWN, instanceType="m7g.large")
    assert len(said(machine, lookups=[call])) == lines


def aks(**profile):
    return made(AKS, networkProfile=profile)


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ({"serviceCidr": "172.30.0.0/16", "dnsServiceIP": "172.30.0.10"}, "AKS keeps 169.254.0.0/16"),
        ({"serviceCidr": "172.16.0.0/16", "dnsServiceIP": "172.16.0.1"}, "is the first address of service_cidr"),
        ({"serviceCidr": "172.16.0.0/16", "dnsServiceIP": "172.16.0.10"}, ""),
        ({"serviceCidr": "172.16.0.0/16", "podCidr": "172.31.0.0/16"}, "pod_cidr 172.31.0.0/16 is refused"),
        ({"serviceCidr": "172.16.0.0/11"}, "service_cidr 172.0.0.0/11 is too large"),
        ({"serviceCidr": "10.245.0.0/16", "podCidr": "10.244.0.0/15"}, "overlaps its pods' 10.244.0.0/15"),
        (
            {"serviceCidr": "10.244.8.0/24", "networkPlugin": "azure", "networkPluginMode": "overlay"},
            "overlaps its pods'",
        ),
        ({"serviceCidr": "10.244.8.0/24", "networkPlugin": "azure"}, ""),
        ({"serviceCidr": "10.128.0.0/12", "podCidr": "10.0.0.0/16"}, ""),
        ({"serviceCidr": "10.0.0.0/16", "podCidr": "10.244.0.0/16", "networkPluginMode": "overlay"}, ""),
    ],
)
def test_ranges_that_aks_keeps_are_said(profile, words):
    lines = said(aks(**profile))
    assert lines == [] if not words else any(words in line for line in lines)


@pytest.mark.parametrize(("cidr", "lines"), [("192.0.2.0/24", 1), ("10.1.0.0/24", 0)])
def test_nodes_of_aks_stand_in_no_range_that_it_keeps(cidr, lines):
    cluster = made(AKS, "k", agentPoolProfiles=[{"name": "a", "mode": "System", "vnetSubnetID": UNKNOWN}],
                   networkProfile={"serviceCidr": "172.16.0.0/16"})  # fmt: skip
    network = made(VNET, "n", addressSpace={"addressPrefixes": [cidr]})
    subnet = linked(made(SUBNET, "s", virtualNetworkName=UNKNOWN, addressPrefix=cidr), virtualNetworkName=(network,))
    found = said(network, subnet, linked(cluster, agentPoolProfiles=(subnet,)))
    assert len([line for line in found if "the nodes' subnet" in line]) == lines


@pytest.mark.parametrize(("name", "lines"), [("bastion", 1), ("AzureBastionSubnet", 0)])
def test_a_bastion_stands_in_the_subnet_of_its_name(name, lines):
    subnet = made(SUBNET, "s", subnetName=name, addressPrefix="10.0.8.0/26")
    host = linked(
        made("azure-native:network:BastionHost", "b", ipConfigurations=[{"subnet": {"id": UNKNOWN}}]),
        ipConfigurations=(subnet,),
    )
    assert len([each for each in said(subnet, host) if "AzureBastionSubnet" in each]) == lines
