"""What a cloud refuses or runs in vain is said of any program, and nothing is said of what it takes."""

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
EKS, GROUP = "aws:eks/cluster:Cluster", "aws:eks/nodeGroup:NodeGroup"
TEMPLATE, VPC, SUBNET = "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
MORE = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"
GKE, POOL, VM = (
    "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool", "gcp:compute/instance:Instance",
)  # fmt: skip
AKS, AGENTS = (f"azure-native:containerservice:{kind}" for kind in ("ManagedCluster", "AgentPool"))
RELEASE = "kubernetes:helm.sh/v3:Release"


def made(type_, as_="x", **inputs):
    return RecordedResource(urn=f"urn:{as_}", type=type_, name=as_, inputs=inputs)


def said(*resources):
    graph = Graph(Plan(project="p", stack="", resources=resources))
    return [f"{each.detail}; {each.fix}" for each in unfit(graph, CATALOG, KNOWN, images, ON)]


def nodes(machine, ami, **more):
    return made(GROUP, instanceTypes=[machine], amiType=ami, **more)


def ssm(kind, machine, arch="x86_64"):
    path = f"resolve:ssm:/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/{arch}/{kind}/recommended/image_id"
    return made(TEMPLATE, imageId=path, instanceType=machine)


OPERATOR = made(RELEASE, "operator", chart="gpu-operator")


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ([nodes("trn1.2xlarge", "AL2023_x86_64_NVIDIA")], "the driver of NVIDIA, which does not drive the Trainium"),
        ([nodes("g4ad.xlarge", "AL2023_x86_64_NVIDIA")], "an image of your own"),
        ([nodes("g6.xlarge", "AL2023_x86_64_NEURON")], "the image for NVIDIA"),
        ([nodes("g6.xlarge", "AL2023_x86_64_STANDARD")], "no driver for the L4"),
        ([nodes("g5g.xlarge", "AL2023_x86_64_NVIDIA")], "is for x86_64, and g5g.xlarge is arm64"),
        ([nodes("g6.xlarge", "AL2023_ARM_64_NVIDIA")], "is for arm64"),
        ([nodes("g6.xlarge", "AL2023_x86_64_STANDARD"), made(RELEASE, "k", chart="keda")], "no driver"),
        ([ssm("neuron", "g6.xlarge")], "the driver of Neuron"),
        ([ssm("nvidia", "g6.xlarge", "arm64")], "is for arm64"),
        ([nodes("g6.xlarge", "AL2023_x86_64_NVIDIA", capacityType="spot")], "one of ON_DEMAND, SPOT"),
    ],
)
def test_an_image_without_the_machine_s_driver_is_said(resources, words):
    (line,) = said(*resources)
    assert words in line


DLAMI = "/aws/service/deeplearning/ami/{}/base-{}-nvidia-driver-gpu-{}/latest/ami-id"
AMI, PARAMETER = "aws:ec2/instance:Instance", "aws:ssm/getParameter:getParameter"


def dlami(machine, modules, system="al2023", arch="x86_64"):
    return made(TEMPLATE, imageId="resolve:ssm:" + DLAMI.format(arch, modules, system), instanceType=machine)


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (dlami("p3.8xlarge", "oss", "ubuntu-22.04"), "v100-16gb needs NVIDIA's proprietary kernel modules"),
        (dlami("p3dn.24xlarge", "oss"), "v100-32gb needs NVIDIA's proprietary kernel modules"),
        (dlami("p6-b200.48xlarge", "proprietary", "ubuntu-22.04"), "b200 needs NVIDIA's open kernel modules"),
        (made(AMI, ami="Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.7 (Ubuntu 22.04) 20250602",
              instanceType="p3.2xlarge"), "proprietary kernel modules"),
        (nodes("g7.8xlarge", "AL2023_x86_64_NVIDIA"), "needs NVIDIA's driver 595 or later, and it has 580"),
        (ssm("nvidia", "g7.8xlarge"), "needs NVIDIA's driver 595 or later, and it has 580"),
    ],
)  # fmt: skip
def test_an_image_whose_nvidia_driver_does_not_know_the_gpu_is_said(resource, words):
    (line,) = said(resource)
    assert words in line
    assert "it is billed in vain" in line


@pytest.mark.parametrize(
    "resource",
    [
        dlami("g6.xlarge", "oss"), dlami("p6-b200.48xlarge", "oss"), dlami("g5g.xlarge", "oss", arch="arm64"),
        dlami("p3.2xlarge", "proprietary", "ubuntu-22.04"), dlami("g4dn.xlarge", "proprietary", "ubuntu-22.04"),
        nodes("p3.2xlarge", "AL2023_x86_64_NVIDIA"), nodes("p5.48xlarge", "AL2023_x86_64_NVIDIA"),
        dlami("g7.8xlarge", "oss"),
    ],
)  # fmt: skip
def test_nothing_is_said_of_an_image_whose_nvidia_driver_knows_the_gpu(resource):
    assert said(resource) == []


def test_of_several_images_that_are_looked_up_none_for_the_machine_is_said():
    calls = [replace(made(PARAMETER, f"c{n}", name=DLAMI.format("x86_64", kind, "al2023")), urn=f"c{n}")
             for n, kind in enumerate(("oss", "proprietary"))]  # fmt: skip
    machines = [made(AMI, "arm", ami=UNKNOWN, instanceType="g5g.xlarge"),
                made(AMI, "l4", ami=UNKNOWN, instanceType="g6.xlarge"),
                made(AMI, "v100", ami=UNKNOWN, instanceType="p3.2xlarge")]  # fmt: skip
    graph = Graph(Plan(project="p", stack="", resources=tuple(machines), lookups=tuple(calls)))
    assert [each.resource for each in unfit(graph, CATALOG, KNOWN, images, ON)] == ["arm"]


def test_the_type_of_a_launch_template_counts_as_the_group_s():
    template = made(TEMPLATE, "t", instanceType="trn1.2xlarge")
    group = made(GROUP, amiType="AL2023_x86_64_NVIDIA", launchTemplate={"id": UNKNOWN})
    (line,) = said(template, replace(group, property_dependencies={"launchTemplate": ("urn:t",)}))
    assert "Trainium" in line


def pool(machine, accelerators=(), **more):
    config = {"machineType": machine, "guestAccelerators": [{"type": of, "count": n} for of, n in accelerators], **more}
    return made(POOL, nodeConfig=config)


def gpu_vm(machine, accelerators=(), maintenance="TERMINATE"):
    guests = [{"type": of, "count": n} for of, n in accelerators]
    return made(VM, machineType=machine, guestAccelerators=guests, scheduling={"onHostMaintenance": maintenance})


def zones(*names, location="us-central1"):
    return [made(GKE, "c", location=location, name="c"), made(POOL, cluster="c", nodeLocations=list(names))]


def window(start, end, rule):
    return {"recurringWindow": {"startTime": start, "endTime": end, "recurrence": rule}}


def excluded(until, scope="NO_UPGRADES"):
    period = {"exclusionName": "freeze", "startTime": "2026-12-01T00:00:00Z", "endTime": until}
    return {"maintenanceExclusions": [{**period, "exclusionOptions": {"scope": scope}}]}


HOUR = window("2026-12-05T02:00:00Z", "2026-12-05T03:00:00Z", "FREQ=WEEKLY;BYDAY=SA")


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ([pool("n1-standard-8", [("nvidia-l4", 1)])], "n1-standard-8 cannot have nvidia-l4"),
        ([pool("n2-standard-8", [("nvidia-tesla-t4", 1)])], "N1 alone takes attached ones"),
        ([pool("a2-highgpu-4g", [("nvidia-tesla-a100", 1)])], "4 x nvidia-tesla-a100, not 1"),
        ([pool("g2-standard-8", [("nvidia-tesla-t4", 1)])], "1 x nvidia-l4 and no nvidia-tesla-t4"),
        ([pool("g2-standard-8", imageType="cos")], "set COS_CONTAINERD"),
        ([gpu_vm("g2-standard-4", maintenance="MIGRATE")], "set it to TERMINATE"),
        ([gpu_vm("n1-standard-4", [("nvidia-tesla-t4", 1)], "MIGRATE")], "accelerators do not migrate"),
        (zones("us-east1-b"), "outside of its cluster's us-central1"),
        (zones("us-central1-e"), "one of us-central1-a, us-central1-b"),
        ([made(GKE, maintenancePolicy=HOUR)], "1 h (FREQ=WEEKLY;BYDAY=SA) is too short"),
        ([made(GKE, maintenancePolicy=window("2026-12-05T02:00:00Z", "2026-12-05T08:00:00Z", "FREQ=WEEKLY;BYDAY=SA"))],
         "48 h in 32 days"),
        ([made(GKE, maintenancePolicy=excluded("2027-06-19T00:00:00Z"))], "of 200 days is longer"),
    ],
)  # fmt: skip
def test_what_google_refuses_is_said(resources, words):
    (line,) = said(*resources)
    assert words in line


def subnets(*cidrs, zone="us-east-1{}", more=()):
    vpc = made(VPC, "v", cidrBlock="10.0.0.0/16")
    made_of = [
        made(SUBNET, f"s{place}", cidrBlock=cidr, availabilityZone=zone.format("abcdef"[place]), vpcId=UNKNOWN)
        for place, cidr in enumerate(cidrs)
    ]
    extra = [made(MORE, f"m{place}", vpcId=UNKNOWN, cidrBlock=cidr) for place, cidr in enumerate(more)]
    linked = [replace(each, property_dependencies={"vpcId": (vpc.urn,)}) for each in (*made_of, *extra)]
    cluster = made(EKS, "c", vpcConfig={"subnetIds": [UNKNOWN] * len(cidrs)})
    return [
        vpc, *linked,
        replace(cluster, property_dependencies={"vpcConfig": tuple(each.urn for each in made_of)}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (subnets("10.0.0.0/24", "10.0.1.0/24", zone="us-east-1a"), "all in us-east-1a"),
        (subnets("10.0.0.0/24"), "one alone"),
        (subnets("10.0.0.0/24", "10.1.0.0/24"), "10.1.0.0/24 is outside of its network's 10.0.0.0/16"),
        (subnets("10.0.0.0/20", "10.0.8.0/24"), "10.0.8.0/24 overlaps 10.0.0.0/20 of s0"),
    ],
)
def test_subnets_that_are_refused_are_said(resources, words):
    (line,) = said(*resources)
    assert words in line


def job(image, selector=None):
    container = {"image": image, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"containers": [container]} | ({"nodeSelector": selector} if selector else {})
    return made("kubernetes:batch/v1:Job", "j", spec={"template": {"spec": spec}})


V100 = {"cloud.google.com/gke-accelerator": "nvidia-tesla-v100"}
NGC = "nvcr.io/nvidia/pytorch:25.10-py3"


@pytest.mark.parametrize(
    "resources",
    [
        [job(NGC, V100)],
        [job(NGC, {"node.kubernetes.io/instance-type": "p3.2xlarge"})],
        [nodes("p3.2xlarge", "AL2_x86_64_GPU"), job(NGC)],
    ],
)
def test_a_cuda_that_is_too_new_for_the_gpu_is_said(resources):
    (line,) = said(*resources)
    assert "CUDA 12 is the last one for" in line


def test_a_cuda_that_is_too_old_for_the_gpu_is_said_of_an_engine_s_image_too():
    b200 = {"node.kubernetes.io/instance-type": "p6-b200.48xlarge"}
    (line,) = said(job("vllm/vllm-openai:v0.6.3", b200))
    assert "needs CUDA 12.8 or later, and the image has 12.4" in line
    assert said(job("vllm/vllm-openai:v0.10.1", b200)) == []


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        (made(AGENTS, agentPoolName="gpu-pool-a100"), "1 to 12 lower-case letters and digits"),
        (made(AGENTS, agentPoolName="windows1", osType="Windows"), "1 to 6"),
        (made(AKS, agentPoolProfiles=[{"name": "System"}]), "name of a pool 'System'"),
        (made(POOL, name="p" * 41), "1 to 40"),
        (made(EKS, name="c" * 101), "1 to 100"),
        (made("azure-native:storage:StorageAccount", accountName="my-checkpoints"), "3 to 24"),
        (made("aws:s3/bucket:Bucket", bucket="Checkpoints"), "3 to 63"),
    ],
)
def test_a_name_that_no_cloud_takes_is_said(resource, words):
    (line,) = said(resource)
    assert words in line


DAILY = window("2026-12-05T02:00:00Z", "2026-12-05T06:00:00Z", "FREQ=DAILY")
WEEKEND = window("2026-12-05T02:00:00Z", "2026-12-05T10:00:00Z", "FREQ=WEEKLY;BYDAY=SA,SU")


@pytest.mark.parametrize(
    "resources",
    [
        [nodes("g6.xlarge", "AL2023_x86_64_NVIDIA"), nodes("g5g.xlarge", "AL2023_ARM_64_NVIDIA", capacityType="SPOT")],
        [nodes("trn2.48xlarge", "AL2023_x86_64_NEURON"), nodes("inf2.xlarge", "AL2_x86_64_GPU")],
        [nodes("g6.xlarge", "AL2023_x86_64_STANDARD"), OPERATOR],
        [nodes("g6.xlarge", "AL2023_x86_64_STANDARD"), made(RELEASE, "r", chart=UNKNOWN)],
        [nodes("g6.xlarge", "CUSTOM"), nodes("m7g.large", "AL2023_ARM_64_STANDARD"), nodes(UNKNOWN, "AL2_ARM_64")],
        [nodes("inf2.xlarge", "BOTTLEROCKET_x86_64"), ssm("nvidia", "p5.48xlarge"), ssm("standard", "g6.xlarge")],
        [pool("n1-standard-8", [("nvidia-tesla-t4", 1)]), pool("g2-standard-24", [("nvidia-l4", 2)])],
        [pool("g2-standard-8", [("nvidia-l4", 1)], imageType="set COS_CONTAINERD"), pool("a3-megagpu-8g"), pool("e2-medium")],
        [pool("ct6e-standard-4t"), pool("g4-standard-48", [("nvidia-rtx-pro-6000", 1)]), pool("x9-new", [("nvidia-x", 1)])],
        [gpu_vm("g2-standard-4"), gpu_vm("e2-standard-4", maintenance="MIGRATE"), gpu_vm("g2-standard-4", [("nvidia-l4-vws", 1)])],
        zones("us-central1-a", "us-central1-f"),
        zones("us-central1-b", location="us-central1-a"),
        zones("us-central1-ai1a", UNKNOWN),
        zones("us-central1-a", location=UNKNOWN),
        [made(GKE, maintenancePolicy=DAILY), made(GKE, "d", maintenancePolicy=WEEKEND)],
        [made(GKE, maintenancePolicy=excluded("2027-06-19T00:00:00Z", "NO_MINOR_UPGRADES"))],
        subnets("10.0.0.0/24", "10.0.1.0/24"),
        subnets("10.0.0.0/24", "100.64.0.0/24", more=("100.64.0.0/16",)),
        subnets("10.0.0.0/24", "100.64.0.0/24", more=(UNKNOWN,)),
        [made(SUBNET, "a", vpcId="vpc-1", cidrBlock="10.0.0.0/24"), made(SUBNET, "b", vpcId="vpc-2", cidrBlock="10.0.0.0/24")],
        [made(EKS, vpcConfig={"subnetIds": ["subnet-1", "subnet-2"]}), made(EKS, "u", vpcConfig={"subnetIds": UNKNOWN})],
        [job("nvcr.io/nvidia/pytorch:24.05-py3", V100), job(NGC, {"cloud.google.com/gke-accelerator": "nvidia-l4"})],
        [nodes("p3.2xlarge", "AL2_x86_64_GPU"), nodes("g6.xlarge", "AL2023_x86_64_NVIDIA"), job(NGC)],
        [job("registry.example/train:1", V100)],
        [made(AGENTS, agentPoolName="gpuspot1"), made(AGENTS, "w", agentPoolName="win01", osType="Windows")],
        [made("azure-native:storage:StorageAccount", accountName="checkpoints42"), made("aws:s3/bucket:Bucket", bucket="a.b-3")],
    ],
)  # fmt: skip
def test_nothing_is_said_of_what_clouds_take(resources):
    assert said(*(replace(each, urn=f"{each.urn}{place}") if each.name == "x" else each
                  for place, each in enumerate(resources))) == []  # fmt: skip
