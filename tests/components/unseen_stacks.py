"""Forty programs that were written from docs/reference/components.md alone, before a look at the components.

Existing networks, two clusters in one, shared VPCs, private endpoints, keys of one's own, other regions, names at their
length limits, IPv6, tags of one's own. Each imports what it builds, so that it stands as a program would.
"""

import inspect

A = {"environment": "dev", "owner": "team-vision", "region": "eu-central-1", "account": "123456789012"}
GUARD = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5,
    "window_s": 2700,
    "grace_s": 3600,
    "action": "scale-to-zero",
}
NOTIFY = {**GUARD, "action": "notify"}
HOURS = {"time_zone": "Europe/Berlin", "windows": [{"days": "mon-fri", "start": "07:30", "end": "19:00"}]}
KEY = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
OLD = {
    "vpc_id": "vpc-0123456789abcdef0",
    "vpc_cidr": "172.31.0.0/16",
    "subnet_ids": ["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"],
}
LONG = "a" * 20 + "-" + "b" * 20


def kms(region):
    return KEY.replace("eu-central-1", region)


STACKS = {}  # name -> what it is, the function that builds it, the stack that it is built in


def stack(cloud, what):
    """Register a program: in the cloud's stack of development, or of production where it builds for that."""

    def put(build):
        environment = "prod" if '"prod"' in inspect.getsource(build) else "dev"
        place = "aws" if cloud == "kubernetes" else cloud
        STACKS[f"{cloud} {build.__name__}"] = (what, build, f"{environment}-{place}")
        return build

    return put


@stack("aws", "existing network, own key")
def eks_existing():
    from sizewell.components.aws import EksCluster, EksDevicePlugins, EksNodeGroup

    place = {**A, **OLD, "kms_key_arn": KEY, "zones": ["eu-central-1a", "eu-central-1b"]}
    c = EksCluster(
        "shared", {**place, "admin_arns": ["arn:aws:iam::123456789012:role/platform"], "api_cidrs": ["172.31.240.0/24"]}
    )
    EksNodeGroup(
        "serve",
        {
            **A,
            **OLD,
            "kms_key_arn": KEY,
            "zones": ["eu-central-1a", "eu-central-1b"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 3,
            "capacity_mode": "on-demand",
            "disk_gib": 200,
            "instance_type": "g6.2xlarge",
            "cluster": c.cluster_name,
            "cluster_security_group_id": c.cluster_security_group_id,
            "guard": GUARD,
            "schedule": HOURS,
        },
    )
    EksDevicePlugins(
        "plugins",
        {
            **{k: A[k] for k in ("environment", "owner")},
            "kubeconfig": c.kubeconfig,
            "runtimes": ["cuda"],
            "region": "eu-central-1",
        },
    )


@stack("aws", "two clusters in one network")
def two_clusters():
    from sizewell.components.aws import EksCluster, EksNodeGroup, Network

    a = {**A, "region": "us-west-2"}
    n = Network("hall", {**a, "zones": ["us-west-2a", "us-west-2b"], "cidr": "10.200.0.0/16"})
    for name, kind in (("red", "g5.xlarge"), ("blue", "inf2.xlarge")):
        at = {
            **a,
            "vpc_id": n.vpc_id,
            "vpc_cidr": "10.200.0.0/16",
            "subnet_ids": n.subnet_ids,
            "s3_prefix_list_id": n.s3_prefix_list_id,
            "kms_key_arn": n.kms_key_arn,
            "zones": ["us-west-2a", "us-west-2b"],
        }
        c = EksCluster(name, at)
        EksNodeGroup(
            f"{name}-pool",
            {
                **at,
                "nodes_min": 0,
                "nodes_initial": 0,
                "nodes_max": 2,
                "capacity_mode": "spot",
                "fallback_types": ["g5.2xlarge"] if name == "red" else ["inf2.8xlarge"],
                "disk_gib": 150,
                "instance_type": kind,
                "cluster": c.cluster_name,
                "cluster_security_group_id": c.cluster_security_group_id,
                "guard": GUARD,
                "writer": {"bucket": f"ckpt-{name}", "key_alias": f"alias/ckpt-{name}"},
            },
        )


@stack("aws", "gang in one zone of an output's subnets")
def gang():
    from sizewell.components.aws import EksCluster, EksNodeGroup, Network

    a = {**A, "environment": "prod", "region": "us-east-2", "cost_center": "cc-1"}
    n = Network("net", {**a, "zones": ["us-east-2a", "us-east-2b", "us-east-2c"]})
    at = {
        **a,
        "vpc_id": n.vpc_id,
        "vpc_cidr": "10.40.0.0/16",
        "s3_prefix_list_id": n.s3_prefix_list_id,
        "kms_key_arn": n.kms_key_arn,
    }
    c = EksCluster("train", {**at, "zones": ["us-east-2a", "us-east-2b", "us-east-2c"], "subnet_ids": n.subnet_ids})
    EksNodeGroup(
        "p5",
        {
            **at,
            "zones": ["us-east-2b"],
            "subnet_ids": n.subnet_ids.apply(lambda s: [s[1]]),
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 4,
            "capacity_mode": "reservation",
            "reservation": "cr-0123456789abcdef0",
            "gang": True,
            "disk_gib": 500,
            "instance_type": "p5.48xlarge",
            "cluster": c.cluster_name,
            "cluster_security_group_id": c.cluster_security_group_id,
            "guard": NOTIFY,
            "writer": {"bucket": "petsnap-ckpt", "key_alias": "alias/petsnap-ckpt"},
            "lustre": True,
        },
    )


@stack("aws", "machines, names at their limit")
def long_names():
    from sizewell.components.aws import GpuNodeGroup, Network, SharedStorage

    a = {**A, "region": "ap-northeast-1", "cost_center": "c" * 60, "owner": "o" * 60}
    n = Network("n" * 30, {**a, "zones": ["ap-northeast-1a"], "cidr": "192.168.0.0/20"})
    GpuNodeGroup(
        LONG,
        {
            **a,
            "zones": ["ap-northeast-1a"],
            "vpc_id": n.vpc_id,
            "vpc_cidr": "192.168.0.0/20",
            "subnet_ids": n.subnet_ids,
            "s3_prefix_list_id": n.s3_prefix_list_id,
            "kms_key_arn": n.kms_key_arn,
            "nodes_min": 0,
            "nodes_initial": 1,
            "nodes_max": 1,
            "capacity_mode": "on-demand",
            "disk_gib": 100,
            "instance_type": "g5.xlarge",
            "guard": GUARD,
            "schedule": HOURS,
        },
    )
    SharedStorage(
        "s" * 40,
        {
            **a,
            "bytes_needed": 5 * 10**12,
            "zone": "ap-northeast-1a",
            "vpc_id": n.vpc_id,
            "vpc_cidr": "192.168.0.0/20",
            "subnet_id": n.subnet_ids.apply(lambda s: s[0]),
            "kms_key_arn": n.kms_key_arn,
        },
    )


@stack("aws", "spot fleet over three zones with a store")
def fleet():
    from sizewell.components.aws import SpotFleet

    a = {**A, "region": "eu-west-1"}
    SpotFleet(
        "frames",
        {
            **a,
            "vpc_id": "vpc-1",
            "vpc_cidr": "10.8.0.0/16",
            "subnet_ids": ["subnet-1", "subnet-2", "subnet-3"],
            "zones": ["eu-west-1a", "eu-west-1b", "eu-west-1c"],
            "instance_types": ["g5.xlarge", "g5.2xlarge"],
            "nodes_initial": 2,
            "nodes_max": 20,
            "disk_gib": 100,
            "kms_key_arn": kms("eu-west-1"),
            "max_usd_per_hour": 12,
            "writer": {"bucket": "frames-out", "key_alias": "alias/frames"},
            "guard": GUARD,
            "expires": "2027-01-31",
        },
    )


@stack("aws", "SageMaker endpoint, private, own key and alias")
def endpoint():
    from sizewell.components.aws import RealtimeEndpoint

    a = {**A, "region": "eu-west-1", "environment": "prod"}
    RealtimeEndpoint(
        "rank",
        {
            **a,
            "vpc_id": "vpc-1",
            "vpc_cidr": "10.8.0.0/16",
            "subnet_ids": ["subnet-1", "subnet-2"],
            "zones": ["eu-west-1a", "eu-west-1b"],
            "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/rank:1.2",
            "instance_type": "g5.xlarge",
            "nodes_min": 1,
            "nodes_initial": 1,
            "nodes_max": 4,
            "concurrency": 8,
            "model_data": "s3://petsnap-models/rank.tar.gz",
            "kms_key_arn": kms("eu-west-1"),
            "kms_key_alias": "alias/rank",
        },
    )


@stack("aws", "asynchronous endpoint without a key")
def asynchronous():
    from sizewell.components.aws import AsyncEndpoint

    a = {**A, "region": "us-east-1"}
    AsyncEndpoint(
        "ocr",
        {
            **a,
            "vpc_id": "vpc-1",
            "vpc_cidr": "10.8.0.0/16",
            "subnet_ids": ["subnet-1", "subnet-2"],
            "zones": ["us-east-1a", "us-east-1b"],
            "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/ocr@sha256:" + "a" * 64,
            "instance_type": "g4dn.xlarge",
            "nodes_max": 3,
            "concurrency": 4,
            "results": {"bucket": "ocr-results", "key_alias": "alias/ocr"},
        },
    )


@stack("aws", "HyperPod in two zones")
def hyperpod():
    from sizewell.components.aws import EksCluster, HyperPodCluster, Network

    a = {**A, "region": "us-east-1", "environment": "prod"}
    z = ["us-east-1a", "us-east-1b"]
    n = Network("pod", {**a, "zones": z})
    at = {
        **a,
        "vpc_id": n.vpc_id,
        "vpc_cidr": "10.40.0.0/16",
        "subnet_ids": n.subnet_ids,
        "zones": z,
        "kms_key_arn": n.kms_key_arn,
        "s3_prefix_list_id": n.s3_prefix_list_id,
    }
    c = EksCluster("pod", {**at, "hyperpod": True})
    HyperPodCluster(
        "pod-machines",
        {
            **at,
            "kms_key_alias": "alias/pod",
            "eks_cluster_arn": c.cluster_arn,
            "cluster_security_group_id": c.cluster_security_group_id,
            "groups": [
                {
                    "name": "train",
                    "instance_type": "p5.48xlarge",
                    "instances": 2,
                    "zone": z[0],
                    "training_plan_arn": "arn:aws:sagemaker:us-east-1:123456789012:training-plan/tp-1",
                    "taints": ["nvidia.com/gpu"],
                },
                {
                    "name": "eval",
                    "instance_type": "g6.12xlarge",
                    "instances": 0,
                    "zone": z[1],
                    "labels": {"role": "eval"},
                },
            ],
        },
    )


@stack("aws", "Studio")
def studio():
    from sizewell.components.aws import StudioDomain

    a = {**A, "region": "us-west-2"}
    at = {
        **a,
        "vpc_id": "vpc-1",
        "vpc_cidr": "10.8.0.0/16",
        "subnet_ids": ["subnet-1", "subnet-2"],
        "zones": ["us-west-2a", "us-west-2b"],
    }
    StudioDomain("research", {**at, "users": ["ada", "grace-h"], "reads": ["petsnap-images"], "idle_minutes": 90})


@stack("aws", "training pipeline on spot")
def pipeline():
    from sizewell.components.aws import TrainingPipeline

    a = {**A, "region": "us-west-2"}
    TrainingPipeline(
        "tune",
        {
            **a,
            "vpc_id": "vpc-1",
            "vpc_cidr": "10.8.0.0/16",
            "subnet_ids": ["subnet-1"],
            "zones": ["us-west-2a"],
            "instance_type": "g5.2xlarge",
            "nodes": 1,
            "capacity_mode": "spot",
            "image": "123456789012.dkr.ecr.us-west-2.amazonaws.com/tune:3",
            "max_run_s": 7200,
            "writer": {"bucket": "ckpt", "key_alias": "alias/ckpt"},
            "disk_gib": 100,
            "channels": {"train": "s3://petsnap-images/train"},
            "hyperparameters": {"lr": "1e-4"},
        },
    )


@stack("aws", "teardown and expiry with an own key")
def teardown():
    from sizewell.components.aws import TeardownSchedule, TtlGuard

    a = {**A, "region": "eu-central-1"}
    TeardownSchedule(
        "teardown",
        {
            **a,
            **OLD,
            "image": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/sizewell@sha256:" + "b" * 64,
            "state": "s3://petsnap-states",
            "journal": "s3://petsnap-journal/records",
            "environments": ["dev", "staging"],
            "kms_key_arn": KEY,
            "secrets_key_arn": KEY,
        },
    )
    TtlGuard("ends", {**a, "stack": "staging-aws", "ends": "2027-02-01"})


@stack("aws", "capacity block under EKS, custom facts")
def block():
    from sizewell.components.aws import EksNodeGroup

    a = {**A, "region": "us-east-2", "environment": "prod", "facts": {"expected_hours": 72}, "expires": "2027-03-01"}
    EksNodeGroup(
        "block",
        {
            **a,
            "zones": ["us-east-2b"],
            "vpc_id": "vpc-1",
            "vpc_cidr": "10.8.0.0/16",
            "subnet_ids": ["subnet-1"],
            "kms_key_arn": kms("us-east-2"),
            "nodes_min": 0,
            "nodes_initial": 2,
            "nodes_max": 2,
            "capacity_mode": "capacity-block",
            "capacity_block": {
                "id": "cr-0123456789abcdef0",
                "starts": "2027-01-10T11:30:00Z",
                "ends": "2027-01-13T11:30:00Z",
            },
            "gang": True,
            "disk_gib": 500,
            "instance_type": "p5.48xlarge",
            "cluster": "train",
            "cluster_security_group_id": "sg-1",
            "writer": {"bucket": "petsnap-ckpt", "key_alias": "alias/petsnap-ckpt"},
        },
    )


@stack("aws", "mirror, plug-ins and agents without internet")
def mirrored():
    from sizewell.components.aws import EksDevicePlugins, ImageMirror

    m = ImageMirror(
        "images",
        {
            **A,
            "environment": "prod",
            "images": ["nvcr.io/nvidia/k8s-device-plugin:v0.17.4", "registry.k8s.io/kueue/kueue:v0.19.4"],
            "kms_key_arn": KEY,
        },
    )
    EksDevicePlugins(
        "plugins",
        {
            "environment": "prod",
            "owner": "x",
            "kubeconfig": "{}",
            "runtimes": ["cuda", "neuron"],
            "efa": True,
            "region": "eu-central-1",
            "registry": m.registry,
        },
    )


@stack("aws", "zone ids, IPv6 not asked, many endpoints")
def endpoints():
    from sizewell.components.aws import Network

    Network(
        "wide",
        {
            **A,
            "region": "eu-north-1",
            "zones": ["eun1-az1", "eun1-az2", "eun1-az3"],
            "cidr": "100.64.0.0/16",
            "endpoint_services": [
                "ssm",
                "ssmmessages",
                "ec2messages",
                "ecr.api",
                "ecr.dkr",
                "logs",
                "sts",
                "eks",
                "sagemaker.api",
                "sagemaker.runtime",
            ],
        },
    )


G = {"environment": "dev", "owner": "team-vision", "region": "europe-west4"}


@stack("gcp", "shared VPC, host project")
def shared_vpc():
    from sizewell.components.gcp import AcceleratorPool, GkeCluster

    host = "projects/host-project/global/networks/shared"
    sub = "projects/host-project/regions/europe-west4/subnetworks/nodes"
    c = GkeCluster(
        "hall",
        {
            **G,
            "project": "service-project",
            "network": host,
            "subnetwork": sub,
            "pods_range": "pods-ml",
            "services_range": "services-ml",
            "zones": ["europe-west4-a"],
        },
    )
    AcceleratorPool(
        "l4",
        {
            **G,
            "zones": ["europe-west4-a", "europe-west4-b"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 4,
            "capacity_mode": "spot",
            "disk_gib": 200,
            "machine_type": "g2-standard-12",
            "project": "service-project",
            "cluster": c.cluster_name,
            "service_account": c.node_service_account,
            "guard": GUARD,
            "schedule": HOURS,
            "writer": {
                "bucket": "petsnap-ckpt",
                "account": "ckpt-writer",
                "service_account": "serve",
                "namespace": "default",
            },
        },
    )


@stack("gcp", "fabric networks of an output")
def fabric():
    from sizewell.components.gcp import AcceleratorPool, GkeCluster, GpuDirect, Network

    g = {**G, "region": "us-central1", "environment": "prod"}
    n = Network(
        "fabric",
        {
            **g,
            "fabric": "gpudirect-tcpxo",
            "cidr": "10.0.0.0/20",
            "pods_cidr": "10.32.0.0/14",
            "services_cidr": "10.36.0.0/20",
        },
    )
    c = GkeCluster(
        "fabric",
        {
            **g,
            "project": "petsnap",
            "network": n.network,
            "subnetwork": n.subnetwork,
            "pods_range": "pods",
            "services_range": "services",
            "zones": ["us-central1-a"],
        },
    )
    AcceleratorPool(
        "h100",
        {
            **g,
            "zones": ["us-central1-a"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 4,
            "capacity_mode": "reservation",
            "reservation": "a3mega",
            "gang": True,
            "disk_gib": 500,
            "machine_type": "a3-megagpu-8g",
            "project": "petsnap",
            "cluster": c.cluster_name,
            "service_account": c.node_service_account,
            "fabric_networks": n.fabric_networks,
            "fabric_subnetworks": n.fabric_subnetworks,
            "guard": NOTIFY,
            "writer": {
                "bucket": "petsnap-ckpt",
                "account": "ckpt-writer",
                "service_account": "train",
                "namespace": "default",
            },
        },
    )
    GpuDirect(
        "nccl",
        {
            "environment": "prod",
            "owner": "x",
            "kubeconfig": c.kubeconfig,
            "fabric": "gpudirect-tcpxo",
            "networks": n.fabric_networks,
            "subnetworks": n.fabric_subnetworks,
        },
    )


@stack("gcp", "flex-start and guard")
def flex():
    from sizewell.components.gcp import AcceleratorPool

    g = {**G, "region": "us-east5"}
    AcceleratorPool(
        "flex",
        {
            **g,
            "zones": ["us-east5-a"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 8,
            "capacity_mode": "flex-start",
            "max_run_hours": 24,
            "disk_gib": 300,
            "machine_type": "a3-highgpu-8g",
            "project": "petsnap",
            "cluster": "c",
            "service_account": "nodes@petsnap.iam.gserviceaccount.com",
            "guard": GUARD,
            "expires": "2027-01-31",
        },
    )


@stack("gcp", "TPU multi-host, long names")
def tpu():
    from sizewell.components.gcp import AcceleratorPool

    g = {**G, "region": "us-east5", "owner": "o" * 60, "cost_center": "c" * 60}
    AcceleratorPool(
        "t" * 25,
        {
            **g,
            "zones": ["us-east5-b"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 4,
            "capacity_mode": "spot",
            "gang": True,
            "disk_gib": 100,
            "machine_type": "ct6e-standard-4t",
            "tpu_topology": "4x4",
            "project": "petsnap",
            "cluster": "c",
            "service_account": "nodes@petsnap.iam.gserviceaccount.com",
            "writer": {
                "bucket": "petsnap-ckpt",
                "account": "ckpt-writer",
                "service_account": "train",
                "namespace": "ml",
            },
            "labels": {"team": "vision"},
        },
    )


@stack("gcp", "Cloud Run in a shared subnetwork")
def run():
    from sizewell.components.gcp import CloudRunGpu

    CloudRunGpu(
        "captions",
        {
            **G,
            "region": "europe-west1",
            "project": "petsnap",
            "image": "europe-docker.pkg.dev/petsnap/serve/vllm@sha256:" + "0" * 64,
            "instances_max": 4,
            "cpus": 4,
            "memory_gib": 16,
            "subnetwork": "projects/host-project/regions/europe-west1/subnetworks/run",
            "invokers": ["serviceAccount:app@petsnap.iam.gserviceaccount.com", "group:ml@example.com"],
            "environment_variables": {"MODEL": "x"},
            "kms_key_name": "projects/petsnap/locations/europe-west1/keyRings/r/cryptoKeys/k",
        },
    )


@stack("gcp", "checkpoint store and Filestore, own key")
def stores():
    from sizewell.components.gcp import CheckpointStore, SharedStorage

    CheckpointStore(
        "ckpt",
        {
            **G,
            "environment": "prod",
            "bucket": "b" * 63,
            "writer_account": "w" * 30,
            "soft_delete_days": 90,
            "versions_days": 3650,
        },
    )
    SharedStorage(
        "files",
        {
            **G,
            "environment": "prod",
            "bytes_needed": 3 * 10**12,
            "project": "petsnap",
            "zone": "europe-west4-b",
            "network": "projects/host/global/networks/n",
            "cidr": "10.8.0.0/20",
            "admins": ["10.9.0.5"],
            "kms_key_name": "projects/petsnap/locations/europe-west4/keyRings/r/cryptoKeys/k",
        },
    )


@stack("gcp", "Vertex training and endpoint")
def vertex():
    from sizewell.components.gcp import VertexEndpoint, VertexTraining

    VertexTraining(
        "tune",
        {
            **G,
            "project": "petsnap",
            "image": "europe-docker.pkg.dev/petsnap/t/train@sha256:" + "1" * 64,
            "machine_type": "a2-highgpu-1g",
            "nodes": 2,
            "capacity_mode": "spot",
            "max_run_hours": 12,
            "bucket": "petsnap-ckpt",
            "writer_account": "ckpt-writer",
            "subnetwork": "projects/host/regions/europe-west4/subnetworks/s",
            "command": ["python", "-m", "train"],
            "kms_key_name": "projects/petsnap/locations/europe-west4/keyRings/r/cryptoKeys/k",
        },
    )
    VertexEndpoint(
        "gemma",
        {
            **G,
            "project": "petsnap",
            "model": "google/gemma-3-27b-it",
            "machine_type": "a2-highgpu-2g",
            "replicas_min": 1,
            "replicas_max": 3,
            "accept_eula": True,
        },
    )


@stack("gcp", "two clusters in one network")
def two_gke():
    from sizewell.components.gcp import GkeCluster, Network

    n = Network("both", {**G, "cidr": "10.20.0.0/20", "pods_cidr": "10.64.0.0/12", "services_cidr": "10.24.0.0/20"})
    for name in ("red", "blue"):
        GkeCluster(
            name,
            {
                **G,
                "project": "petsnap",
                "network": n.network,
                "subnetwork": n.subnetwork,
                "pods_range": "pods",
                "services_range": "services",
                "zones": ["europe-west4-a"],
            },
        )


@stack("gcp", "expiry and budget")
def ttl():
    from sizewell.components.gcp import BudgetAlarms, TtlGuard

    TtlGuard("ends", {**G, "stack": "staging-gcp", "ends": "2027-01-31", "project": "petsnap"})
    BudgetAlarms(
        "budget",
        {
            **G,
            "stack": "dev-gcp",
            "monthly_usd": 2500,
            "project": "petsnap",
            "billing_account": "01ABCD-234567-89EF01",
            "emails": ["a@example.com", "b@example.com"],
        },
    )


Z = {"environment": "dev", "owner": "team-vision", "region": "westeurope"}
SUB = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/hub/subnets"
DES = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/des"
ZONE = (
    "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones"
)


@stack("azure", "AKS in an existing hub network, own keys")
def aks_existing():
    from sizewell.components.azure import AksCluster, AksGpuPool

    c = AksCluster(
        "hub",
        {
            **Z,
            "environment": "prod",
            "resource_group": "rg-ml",
            "zones": ["1", "2", "3"],
            "subnet_id": f"{SUB}/aks",
            "api_subnet_id": f"{SUB}/api",
            "admin_groups": ["11111111-1111-1111-1111-111111111111"],
            "disk_encryption_set_id": DES,
            "secrets_key": {
                "key_url": "https://v.vault.azure.net/keys/s/0123456789abcdef0123456789abcdef",
                "vault_id": "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/keys/providers/Microsoft.KeyVault/vaults/v",
            },
            "upgrades_held": {"start": "2026-12-01", "end": "2027-03-31"},
            "defender": True,
            "log_days": 365,
        },
    )
    AksGpuPool(
        "a100",
        {
            **Z,
            "environment": "prod",
            "zones": ["1"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 4,
            "capacity_mode": "on-demand",
            "disk_gib": 256,
            "vm_size": "Standard_NC24ads_A100_v4",
            "resource_group": "rg-ml",
            "cluster": c.cluster_name,
            "subnet_id": f"{SUB}/aks",
            "guard": NOTIFY,
            "driver": "aks",
            "metrics": {"workspace_id": c.metrics_workspace_id, "query_url": c.metrics_query_url},
            "notify": ["a@example.com"],
            "oidc_issuer_url": c.oidc_issuer_url,
            "writer": {
                "account": "petsnapckpt",
                "resource_group": "ckpt",
                "role": "22222222-2222-2222-2222-222222222222",
            },
            "private_dns_zone_ids": {"blob": f"{ZONE}/privatelink.blob.core.windows.net"},
        },
    )


@stack("azure", "two clusters in one network")
def two_aks():
    from sizewell.components.azure import AksCluster, AksGpuPool, Network

    n = Network("both", {**Z, "kubernetes": True, "cidr": "10.150.0.0/16", "private_services": ["file", "registry"]})
    for name in ("red", "blue"):
        c = AksCluster(
            name, {**Z, "resource_group": n.resource_group, "zones": [], "subnet_id": n.kubernetes_subnet_id}
        )
        AksGpuPool(
            f"{name}t4",
            {
                **Z,
                "zones": [],
                "nodes_min": 0,
                "nodes_initial": 0,
                "nodes_max": 2,
                "capacity_mode": "spot",
                "disk_gib": 128,
                "vm_size": "Standard_NC4as_T4_v3",
                "resource_group": n.resource_group,
                "cluster": c.cluster_name,
                "subnet_id": n.kubernetes_subnet_id,
                "guard": GUARD,
                "schedule": HOURS,
                "metrics": {"workspace_id": c.metrics_workspace_id, "query_url": c.metrics_query_url},
                "driver": "aks",
                "oidc_issuer_url": c.oidc_issuer_url,
                "writer": {
                    "account": "petsnapckpt",
                    "resource_group": "ckpt",
                    "role": "22222222-2222-2222-2222-222222222222",
                },
            },
        )


@stack("azure", "scale set, long names, spot with a store")
def scale_set():
    from sizewell.components.azure import CustomerKeys, GpuScaleSet, Network

    z = {**Z, "region": "swedencentral", "owner": "o" * 60, "cost_center": "c" * 60}
    n = Network("n" * 30, {**z, "cidr": "10.9.0.0/16", "files": True})
    k = CustomerKeys("keys", {**z, "salt": "abc123"})
    GpuScaleSet(
        LONG,
        {
            **z,
            "zones": ["2"],
            "nodes_min": 0,
            "nodes_initial": 1,
            "nodes_max": 3,
            "capacity_mode": "spot",
            "disk_gib": 256,
            "vm_size": "Standard_NC40ads_H100_v5",
            "resource_group": n.resource_group,
            "subnet_id": n.subnet_id,
            "security_group_id": n.security_group_id,
            "guard": GUARD,
            "schedule": HOURS,
            "writer": {
                "account": "petsnapckpt",
                "resource_group": "ckpt",
                "role": "22222222-2222-2222-2222-222222222222",
            },
            "private_dns_zone_id": n.private_dns_zone_id,
            "disk_encryption_set_id": k.disk_encryption_set_id,
            "notify": ["a@example.com"],
        },
    )


@stack("azure", "InfiniBand gang, capacity reservation")
def infiniband():
    from sizewell.components.azure import EndRights, GpuScaleSet

    z = {**Z, "region": "southcentralus", "environment": "prod"}
    e = EndRights(
        "rights", {**z, "resource_group": "rg-hpc", "ender": {"resource_group": "rg-ttl", "identity": "ender"}}
    )
    GpuScaleSet(
        "ib",
        {
            **z,
            "zones": ["3"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 4,
            "capacity_mode": "on-demand",
            "gang": True,
            "disk_gib": 512,
            "vm_size": "Standard_ND96isr_H100_v5",
            "resource_group": e.resource_group,
            "subnet_id": f"{SUB}/hpc",
            "security_group_id": "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.Network/networkSecurityGroups/own",
            "guard": NOTIFY,
            "ssh_public_key": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 team",
        },
    )


@stack("azure", "AML workspace, compute and endpoint, private DNS")
def aml():
    from sizewell.components.azure import AmlComputeCluster, AmlComputeInstance, AmlWorkspace

    zones = {s: f"{ZONE}/{s}" for s in ("blob", "file", "registry", "workspace", "notebooks")}
    w = AmlWorkspace(
        "lab",
        {
            **Z,
            "resource_group": "rg-aml",
            "subnet_id": f"{SUB}/pe",
            "salt": "x1y2z3",
            "private_dns_zone_ids": zones,
            "outbound_hosts": ["huggingface.co", "*.hf.co"],
        },
    )
    AmlComputeCluster(
        "gpu",
        {
            **Z,
            "resource_group": "rg-aml",
            "workspace": w.workspace_name,
            "vm_size": "Standard_NC24ads_A100_v4",
            "nodes_max": 4,
            "capacity_mode": "spot",
            "idle_s": 600,
            "storage_id": w.storage_id,
            "registry_id": w.registry_id,
            "subnet_id": f"{SUB}/pe",
            "private_dns_zone_ids": {"blob": zones["blob"]},
            "writer": {
                "account": "petsnapckpt",
                "resource_group": "ckpt",
                "role": "22222222-2222-2222-2222-222222222222",
            },
        },
    )
    AmlComputeInstance(
        "ada",
        {
            **Z,
            "resource_group": "rg-aml",
            "workspace": w.workspace_name,
            "vm_size": "Standard_NC4as_T4_v3",
            "user": "11111111-1111-1111-1111-111111111111",
            "user_tenant": "33333333-3333-3333-3333-333333333333",
            "schedule": HOURS,
        },
    )


@stack("azure", "checkpoints, files and expiry")
def az_stores():
    from sizewell.components.azure import BudgetAlarms, CheckpointStore, SharedStorage, TtlGuard

    CheckpointStore(
        "ckpt",
        {
            **Z,
            "environment": "prod",
            "account": "a" * 24,
            "resource_group": "r" * 60,
            "role": "22222222-2222-2222-2222-222222222222",
            "immutable_days": 30,
            "soft_delete_days": 365,
        },
    )
    SharedStorage(
        "files",
        {
            **Z,
            "environment": "prod",
            "bytes_needed": 16 * 10**12,
            "resource_group": "rg",
            "zone": "1",
            "subnet_id": f"{SUB}/lustre",
            "throughput_mb_per_s_per_tib": 250,
        },
    )
    TtlGuard(
        "ends",
        {
            **Z,
            "environment": "prod",
            "stack": "staging-azure",
            "ends": "2027-01-31",
            "target": "rg-ml",
            "emails": ["a@example.com"],
        },
    )
    BudgetAlarms(
        "budget",
        {
            **Z,
            "environment": "prod",
            "stack": "dev-azure",
            "monthly_usd": 1000,
            "starts": "2026-12-01",
            "emails": ["a@example.com"],
            "subscription": "00000000-0000-0000-0000-000000000001",
        },
    )


@stack("azure", "OpenAI by token and provisioned, own key")
def openai():
    from sizewell.components.azure import OpenAiAccount

    OpenAiAccount(
        "gpt",
        {
            **Z,
            "region": "swedencentral",
            "environment": "prod",
            "resource_group": "rg",
            "subnet_id": f"{SUB}/pe",
            "account": "petsnap-" + "g" * 50,
            "deployments": [
                {
                    "name": "mini",
                    "model": "gpt-4.1-mini",
                    "version": "2025-04-14",
                    "sku": "DataZoneStandard",
                    "capacity": 50,
                },
                {
                    "name": "big",
                    "model": "gpt-4.1",
                    "version": "2025-04-14",
                    "sku": "ProvisionedManaged",
                    "capacity": 50,
                    "purchase": "confirmed",
                    "max_price_usd": 60,
                    "ends": "2027-01-31",
                },
            ],
            "private_dns_zone_ids": {"openai": f"{ZONE}/o"},
            "users": ["11111111-1111-1111-1111-111111111111"],
            "key": {
                "key_url": "https://v.vault.azure.net/keys/k/0123456789abcdef0123456789abcdef",
                "vault_id": "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.KeyVault/vaults/own",
                "identity_id": "/i",
                "client_id": "44444444-4444-4444-4444-444444444444",
            },
        },
    )


@stack("azure", "AKS with public ranges and AMD")
def amd():
    from sizewell.components.azure import AksCluster, AksGpuPool, AksOperators

    z = {**Z, "region": "francecentral"}
    c = AksCluster(
        "amd",
        {
            **z,
            "resource_group": "rg",
            "zones": ["1"],
            "subnet_id": f"{SUB}/aks",
            "api_subnet_id": f"{SUB}/api",
            "authorized_ranges": ["203.0.113.0/24"],
            "version": "1.35",
            "maintenance_day": "Saturday",
            "maintenance_start": "22:30",
            "registries": [
                "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/r/providers/Microsoft.ContainerRegistry/registries/petsnap"
            ],
        },
    )
    AksGpuPool(
        "mi300",
        {
            **z,
            "zones": ["1"],
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 2,
            "capacity_mode": "on-demand",
            "disk_gib": 512,
            "vm_size": "Standard_ND96isr_MI300X_v5",
            "resource_group": "rg",
            "cluster": c.cluster_name,
            "subnet_id": f"{SUB}/aks",
            "gang": True,
            "driver": "operator",
            "guard": NOTIFY,
            "metrics": {"workspace_id": c.metrics_workspace_id, "query_url": c.metrics_query_url},
        },
    )
    AksOperators(
        "operators",
        {
            "environment": "dev",
            "owner": "x",
            "kubeconfig": c.kubeconfig,
            "runtimes": ["rocm"],
            "infiniband": True,
            "registry": "petsnap.azurecr.io/nvcr",
            "amd_driver_image": "petsnap.azurecr.io/amdgpu-driver",
            "version": c.version,
        },
    )


K = {"environment": "dev", "owner": "team-vision", "kubeconfig": "{}"}
MACHINE = {
    "cloud": "aws",
    "instance_type": "g6.12xlarge",
    "nodes": 1,
    "nodes_max": 2,
    "selector": {"pool": "serve"},
    "taints": {"nvidia.com/gpu": "NoSchedule"},
}


@stack("kubernetes", "operators and queues of two pools that share one")
def queues():
    from sizewell.components.kubernetes import Operators, Queueing

    Operators("operators", {**K, "operators": ["lws", "keda"]})
    base = {
        "resource": "nvidia.com/gpu",
        "accelerators_per_machine": 8,
        "cpus_per_machine": 190,
        "memory_gib_per_machine": 1900,
    }
    Queueing(
        "queues",
        {
            **K,
            "flavors": [
                {
                    "name": "reserved",
                    "node_labels": {"pool": "reserved"},
                    **base,
                    "machines": 4,
                    "queue": "train",
                    "beside_per_machine": {"vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "5120Mi"},
                },
                {
                    "name": "burst",
                    "node_labels": {"pool": "burst"},
                    **base,
                    "machines": 8,
                    "queue": "train",
                    "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
                    "beside_per_machine": {"vpc.amazonaws.com/efa": "32", "hugepages-2Mi": "5120Mi"},
                },
            ],
            "namespaces": ["ml-team", "research"],
        },
    )


@stack("kubernetes", "training of an adopted cluster")
def training():
    from sizewell.components.kubernetes import TrainingRun

    TrainingRun(
        "pretrain",
        {
            **K,
            "container": {
                "image": "ghcr.io/petsnap/train:2.4",
                "namespace": "ml",
                "secrets": ["hf"],
                "prefix": "run-1",
            },
            "machines": {
                "cloud": "aws",
                "instance_type": "p5.48xlarge",
                "nodes": 2,
                "selector": {"pool": "p5"},
                "taints": {"nvidia.com/gpu": "NoSchedule"},
                "rdma_resource": "vpc.amazonaws.com/efa",
                "rdma_count": 32,
                "queue": "train",
            },
            "task": {
                "model": "meta-llama/Llama-3.1-8B",
                "family": "decoder",
                "precision": "bf16",
                "method": "pretrain",
                "optimizer": "adamw",
                "sequence_length": 8192,
                "samples_per_step": 512,
                "steps": 1000,
            },
            "parallelism": {
                "data": 16,
                "zero_stage": 3,
                "micro_batch": 1,
                "gradient_accumulation": 32,
                "checkpointing": "full",
            },
            "identity": {"account": "train", "annotations": {}},
            "store": "s3://petsnap-ckpt",
            "data": "s3://petsnap-data/tokens",
            "figures": {"run_time_s": 86400, "run_time_s_at_most": 172800},
        },
    )


@stack("kubernetes", "served model")
def served():
    from sizewell.components.kubernetes import ServedModel

    ServedModel(
        "chat",
        {
            **K,
            "container": {
                "image": "vllm/vllm-openai:v0.11.0",
                "model": "meta-llama/Llama-3.1-8B",
                "namespace": "serve",
                "callers": ["gateway"],
            },
            "machines": MACHINE,
            "task": {
                "model": "meta-llama/Llama-3.1-8B",
                "family": "decoder",
                "weights": "bf16",
                "input_tokens": 1500,
                "output_tokens": 300,
            },
            "replicas": {"min": 1, "initial": 1, "max": 2, "devices_per_replica": 4, "concurrency_per_replica": 16},
            "identity": {"account": "chat"},
        },
    )


@stack("kubernetes", "machines of an adopted cluster")
def adopted():
    from sizewell.components.kubernetes import AdoptedPool

    AdoptedPool(
        "dc",
        {
            "environment": "prod",
            "owner": "x",
            "place": "coreweave",
            "region": "us-east-04",
            "instance_type": "gd-8xh100ib-i128",
            "market": "on-demand",
            "nodes_min": 0,
            "nodes_initial": 2,
            "nodes_max": 2,
        },
    )


@stack("aws", "a key of its own and a network that is looked up")
def key_output():
    import pulumi_aws as aws

    from sizewell.components.aws import GpuNodeGroup

    k = aws.kms.Key("own", description="own", enable_key_rotation=True, deletion_window_in_days=30, tags={"team": "x"})
    vpc = aws.ec2.get_vpc_output(default=True)
    GpuNodeGroup(
        "render",
        {
            **A,
            "region": "ca-central-1",
            "zones": ["ca-central-1a"],
            "vpc_id": vpc.id,
            "vpc_cidr": "172.31.0.0/16",
            "subnet_ids": ["subnet-1"],
            "kms_key_arn": k.arn,
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 2,
            "capacity_mode": "spot",
            "fallback_types": ["g5.2xlarge"],
            "disk_gib": 100,
            "instance_type": "g5.xlarge",
            "guard": GUARD,
            "writer": {"bucket": "renders", "key_alias": "alias/renders"},
            "start_script": "echo hello",
            "image": "resolve:ssm:/golden/ami",
        },
    )


@stack("aws", "pods mount Lustre, autoscaler")
def lustre():
    from sizewell.components.aws import EksCluster, LustreVolume, SharedStorage

    at = {**A, **OLD, "kms_key_arn": KEY, "zones": ["eu-central-1a", "eu-central-1b"]}
    c = EksCluster("lustre", {**at, "lustre": True, "disks": True, "public_cidrs": ["198.51.100.0/24"]})
    s = SharedStorage(
        "data",
        {
            **A,
            "bytes_needed": 20 * 10**12,
            "zone": "eu-central-1a",
            "vpc_id": OLD["vpc_id"],
            "vpc_cidr": OLD["vpc_cidr"],
            "subnet_id": "subnet-0aaaaaaaaaaaaaaa1",
            "kms_key_arn": KEY,
            "throughput_mb_per_s_per_tib": 500,
            "data_location": "s3://petsnap-images/train",
            "write_back": True,
        },
    )
    LustreVolume(
        "data",
        {
            "environment": "dev",
            "owner": "x",
            "kubeconfig": c.kubeconfig,
            "capacity_gib": 21600,
            "file_system_id": s.file_system_id,
            "dns_name": s.dns_name,
            "mount_name": s.mount_name,
            "read_only": True,
        },
    )


@stack("azure", "two regions in one stack")
def two_regions():
    from sizewell.components.azure import GpuScaleSet, Network

    for region in ("eastus2", "westus3"):
        z = {**Z, "region": region}
        n = Network(f"net-{region}", z)
        GpuScaleSet(
            f"t4-{region}",
            {
                **z,
                "zones": ["1"],
                "nodes_min": 0,
                "nodes_initial": 0,
                "nodes_max": 2,
                "capacity_mode": "on-demand",
                "disk_gib": 128,
                "vm_size": "Standard_NC24ads_A100_v4",
                "resource_group": n.resource_group,
                "subnet_id": n.subnet_id,
                "security_group_id": n.security_group_id,
                "guard": GUARD,
            },
        )


@stack("gcp", "two regions, one project as an output")
def two_regions_gcp():
    from sizewell.components.gcp import AcceleratorPool, GkeCluster, Network

    for region, zone in (("us-central1", "us-central1-a"), ("europe-west4", "europe-west4-a")):
        g = {**G, "region": region}
        n = Network(f"net-{region}", g)
        c = GkeCluster(
            f"c-{region}",
            {
                **g,
                "project": n.project,
                "network": n.network,
                "subnetwork": n.subnetwork,
                "pods_range": "pods",
                "services_range": "services",
                "zones": [zone],
            },
        )
        AcceleratorPool(
            f"l4-{region}",
            {
                **g,
                "zones": [zone],
                "nodes_min": 0,
                "nodes_initial": 0,
                "nodes_max": 2,
                "capacity_mode": "on-demand",
                "disk_gib": 100,
                "machine_type": "g2-standard-8",
                "project": n.project,
                "cluster": c.cluster_name,
                "service_account": c.node_service_account,
                "guard": GUARD,
            },
        )


@stack("aws", "a network of one's own with IPv6, tags of one's own")
def dual_stack():
    import pulumi_aws as aws

    from sizewell.components.aws import EksCluster, EksNodeGroup

    tags = {"Team": "vision", "Cost Center": "4711"}
    v = aws.ec2.Vpc(
        "dual", cidr_block="10.77.0.0/16", assign_generated_ipv6_cidr_block=True, enable_dns_hostnames=True, tags=tags
    )
    zones = ["eu-south-1a", "eu-south-1b"]
    subnets = [
        aws.ec2.Subnet(
            f"dual-{i}",
            vpc_id=v.id,
            cidr_block=f"10.77.{i}.0/24",
            ipv6_cidr_block=v.ipv6_cidr_block.apply(
                lambda c, i=i: (c or "2001:db8::/56").replace("00::/56", f"0{i}::/64")
            ),
            availability_zone=z,
            tags=tags,
        )
        for i, z in enumerate(zones)
    ]
    at = {
        **A,
        "region": "eu-south-1",
        "vpc_id": v.id,
        "vpc_cidr": "10.77.0.0/16",
        "subnet_ids": [s.id for s in subnets],
        "zones": zones,
    }
    c = EksCluster("dual", {**at, "facts": {"note": "custom"}})
    EksNodeGroup(
        "dual-pool",
        {
            **at,
            "nodes_min": 0,
            "nodes_initial": 0,
            "nodes_max": 1,
            "capacity_mode": "on-demand",
            "disk_gib": 100,
            "instance_type": "g4dn.xlarge",
            "cluster": c.cluster_name,
            "cluster_security_group_id": c.cluster_security_group_id,
            "guard": GUARD,
        },
    )
