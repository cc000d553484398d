"""What the GPU operator installs is held against the GPUs of the program's pools, and networks against their peers."""

import pytest
from test_unfit import AGENTS, EKS, GKE, made, nodes, pool, said

from sizewell.resources.recorded import UNKNOWN

V3, V4 = "kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v4:Chart"
OFF = {"gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"}}
B200 = nodes("p6-b200.48xlarge", "AL2023_x86_64_STANDARD", as_="b")
V100 = nodes("p3.2xlarge", "AL2023_x86_64_STANDARD", as_="v")
A4 = made("gcp:container/nodePool:NodePool", "a4", nodeConfig={
    "machineType": "a4-highgpu-8g", "guestAccelerators": [{"type": "nvidia-b200", "count": 8, **OFF}]})  # fmt: skip
AKS_H100 = made(AGENTS, vmSize="Standard_ND96isr_H100_v5", gpuProfile={"driver": "None"})


def operator(type_=V3, **driver):
    return made(type_, "op", chart="gpu-operator", values={"driver": driver})


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ([B200, operator(version="535.104.05")], "b200 needs NVIDIA's driver 570 or later; name a driver of branch 580"),
        ([A4, operator(V4, version="550.144.03")], "550.144.03 does not drive the B200"),
        ([AKS_H100, operator(version="470.82.01")], "needs NVIDIA's driver 525 or later"),
        ([V100, operator(version="595.64")], "580 is the last branch of NVIDIA's driver for v100-16gb"),
        ([V100, operator(kernelModuleType="open")], "set it to proprietary, or to auto"),
        ([B200, made("kubernetes:nvidia.com/v1:ClusterPolicy", "p", spec={"driver": {"version": "535.1"}})], "driver 535.1"),
        ([B200, made("kubernetes:nvidia.com/v1alpha1:NVIDIADriver", "d", spec={"version": "550.90.07"})], "driver 550.90"),
    ],
)  # fmt: skip
def test_a_driver_of_the_operator_that_does_not_know_the_gpu_is_said(resources, words):
    (line,) = [each for each in said(*resources) if "no driver for the" not in each]
    assert words in line


@pytest.mark.parametrize(
    "resources",
    [
        [B200, operator(version="580.173.02")],
        [B200, operator(version="535.104.05", enabled=False)],
        [B200, operator(version=UNKNOWN)],
        [B200, operator()],
        [V100, operator(kernelModuleType="auto")],
        [nodes("p6-b200.48xlarge", "AL2023_x86_64_NVIDIA"), operator(version="535.104.05")],  # whose image has one
        [B200, made(EKS, "one"), made(EKS, "two"), operator(version="535.104.05")],  # of one of two clusters
        [pool("g2-standard-8", [("nvidia-l4", 1)]), operator(version="470.1")],  # GKE installs its own
    ],
)
def test_nothing_is_said_of_a_driver_that_knows_the_gpu(resources):
    assert [each for each in said(*resources) if "driver 5" in each or "does not drive" in each] == []


def learning(family, machine, accelerators=()):
    guests = [{"type": of, "count": 1} for of in accelerators]
    image = f"projects/deeplearning-platform-release/global/images/family/{family}"
    return made("gcp:compute/instance:Instance", machineType=machine, guestAccelerators=guests,
                bootDisk={"initializeParams": {"image": image}}, scheduling={"onHostMaintenance": "TERMINATE"})  # fmt: skip


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (learning("pytorch-1-13-cu113-notebooks", "g2-standard-8"), "l4 needs CUDA 11.8 or later, and the image has 11.3"),
        (learning("tf2-2-11-cu113", "a3-highgpu-8g"), "needs CUDA 11.8 or later"),
        (learning("common-cu128-ubuntu-2204-nvidia-550", "a4-highgpu-8g"), "needs NVIDIA's driver 570 or later"),
        (learning("common-cu130-ubuntu-2404-nvidia-580", "n1-standard-8", ["nvidia-tesla-v100"]), "CUDA 12 is the last"),
    ],
)  # fmt: skip
def test_a_deep_learning_vm_for_other_gpus_is_said(resource, words):
    (line,) = [each for each in said(resource) if "is not for the" in each]
    assert words in line


@pytest.mark.parametrize(
    "resource",
    [
        learning("common-cu128-ubuntu-2204-nvidia-570", "g2-standard-8"),
        learning("pytorch-1-13-cu113-notebooks", "n1-standard-8", ["nvidia-tesla-t4"]),
        learning("common-cpu", "n1-standard-8"),
    ],
)
def test_nothing_is_said_of_a_deep_learning_vm_for_the_gpu(resource):
    assert [each for each in said(resource) if "is not for the" in each] == []


VPC, PEERING = "aws:ec2/vpc:Vpc", "aws:ec2/vpcPeeringConnection:VpcPeeringConnection"
NETWORK, SUBNETWORK = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"


def linked(type_, as_="x", **links):
    """A resource that refers to others by inputs that are known only later."""
    from dataclasses import replace

    own = made(type_, as_, **dict.fromkeys(links, UNKNOWN))
    return replace(own, property_dependencies={key: (f"urn:{of}",) for key, of in links.items()})


def vpcs(*cidrs):
    ours = [made(VPC, f"v{n}", cidrBlock=cidr) for n, cidr in enumerate(cidrs)]
    return [*ours, linked(PEERING, "p", vpcId="v0", peerVpcId="v1")]


def test_networks_of_the_same_addresses_are_not_peered():
    (line,) = said(*vpcs("10.0.0.0/16", "10.0.128.0/17"))
    assert "10.0.0.0/16 of v0 overlaps 10.0.128.0/17 of v1: the cloud refuses to peer them" in line
    assert said(*vpcs("10.0.0.0/16", "10.1.0.0/16")) == []
    assert said(*vpcs("10.0.0.0/16", UNKNOWN)) == []


def test_a_range_that_the_subnetwork_has_not_is_said():
    ranges = [{"rangeName": name, "ipCidrRange": f"10.{n}.0.0/16"} for n, name in ((96, "pods"), (97, "svc"))]
    subnet = made(SUBNETWORK, "s", ipCidrRange="10.10.0.0/20", secondaryIpRanges=ranges)

    def cluster(**policy):
        from dataclasses import replace

        own = made(GKE, "c", location="us-central1", subnetwork=UNKNOWN, ipAllocationPolicy=policy)
        return replace(own, property_dependencies={"subnetwork": ("urn:s",)})

    (line,) = said(subnet, cluster(clusterSecondaryRangeName="pod", servicesSecondaryRangeName="svc"))
    assert "clusterSecondaryRangeName 'pod' is no range of subnetwork s" in line
    assert "name one that it has (pods, svc)" in line
    assert said(subnet, cluster(clusterSecondaryRangeName="pods", servicesSecondaryRangeName="svc")) == []


@pytest.mark.parametrize(("home", "refused"), [
    ({"publicAccessCidrs": ["10.0.0.0/8"]}, True),
    ({"publicAccessCidrs": ["203.0.113.0/24", "100.64.1.0/24"]}, True),
    ({"publicAccessCidrs": ["203.0.113.0/24"]}, False),
    ({"publicAccessCidrs": ["10.0.0.0/8"], "endpointPublicAccess": False, "endpointPrivateAccess": True}, False),
])  # fmt: skip
def test_private_ranges_are_said_of_a_public_endpoint_of_eks(home, refused):
    found = [each for each in said(made(EKS, vpcConfig=home)) if "public_access_cidrs" in each]
    assert bool(found) is refused
