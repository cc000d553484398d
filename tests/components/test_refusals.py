"""Machines that do not exist and settings that no cloud honours are refused at construction, each with its sentence."""

import pytest

from sizewell.components.aws import checks as aws
from sizewell.components.aws.eks import checks as eks_checks
from sizewell.components.aws.fleets import documents as fleet_documents
from sizewell.components.aws.limits import expiry as aws_limits
from sizewell.components.azure import checks as azure
from sizewell.components.azure.aks import checks as aks_checks
from sizewell.components.azure.limits import expiry
from sizewell.components.azure.ml import checks as ml_checks
from sizewell.components.azure.storage import args as storage_args
from sizewell.components.gcp import checks as gcp
from sizewell.components.gcp.limits import expiry as gcp_limits
from sizewell.components.gcp.services import checks as service_checks
from sizewell.components.gcp.storage.args import check_storage
from sizewell.components.kubernetes import run_args, run_checks
from sizewell.components.machines import find_shape, find_slices
from sizewell.sizing.errors import ArgsError

OWNED = {"environment": "dev", "owner": "ml-platform"}
COUNTS = {"nodes_min": 0, "nodes_initial": 2, "nodes_max": 2}
GUARD = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5,
    "window_s": 2700,
    "grace_s": 3600,
    "action": "scale-to-zero",
}
HOURS = {"time_zone": "Europe/London", "windows": [{"days": "mon-fri", "start": "07:00", "end": "21:00"}]}
BLOCK = {"purchase": "confirmed", "duration_hours": 72, "max_price_usd": 9100.0}
NETWORKS = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Network"
SUBNET = f"{NETWORKS}/virtualNetworks/v/subnets/s"
GROUP = "/subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/capacityReservationGroups/g"

KEY = "arn:aws:kms:{}:123456789012:key/1"
GOOGLE_KEY = "projects/p/locations/{}/keyRings/r/cryptoKeys/k"
ENDED = {
    "capacity_mode": "capacity-block",
    "capacity_block": {"id": "cr-0a1b2c3d4e5f60718", "starts": "2026-10-10T11:30:00Z", "ends": "2026-10-17T11:30:00Z"},
}
SPOT = {"instance_type": "g6.8xlarge", "capacity_mode": "spot", "gang": False}
ONE_BY_ONE = {"gang": False, "nodes_max": 2}

AWS = {
    **OWNED,
    **COUNTS,
    "region": "us-east-1",
    "zones": ["us-east-1a"],
    "vpc_id": "vpc-1",
    "vpc_cidr": "10.40.0.0/16",
    "subnet_ids": ["subnet-1"],
    "instance_type": "p5.48xlarge",
    "capacity_mode": "on-demand",
    "gang": True,
    "disk_gib": 200,
}
SCARCE = {"instance_type": "p5.48xlarge", "capacity_mode": "spot"}
H200 = {"instance_type": "p5en.48xlarge", "capacity_mode": "on-demand"}
DLAMI = "resolve:ssm:/aws/service/deeplearning/ami/x86_64/oss-nvidia-driver-gpu-pytorch-{}-ubuntu-22.04/latest/ami-id"
AWS_NETWORK = {**OWNED, "region": "us-east-1", "zones": ["us-east-1a"]}
AWS_STORE = {**OWNED, "region": "us-east-1", "bucket": "checkpoints-1"}
GCP = {
    **OWNED,
    **COUNTS,
    "region": "us-central1",
    "zones": ["us-central1-a"],
    "project": "p",
    "cluster": "c",
    "service_account": "a@p",
    "machine_type": "a3-megagpu-8g",
    "capacity_mode": "on-demand",
    "gang": True,
    "disk_gib": 200,
}
TPU = {
    **GCP,
    "zones": ["us-central1-b"],
    "machine_type": "ct6e-standard-4t",
    "tpu_topology": "2x4",
    "capacity_mode": "spot",
}
GCP_NETWORK = {**OWNED, "region": "us-central1"}
GCP_CLUSTER = {
    **OWNED,
    "region": "us-central1",
    "zones": ["us-central1-a"],
    "project": "p",
    "network": "n",
    "subnetwork": "s",
    "pods_range": "pods",
    "services_range": "services",
}
GCP_STORE = {**OWNED, "region": "us-central1", "bucket": "checkpoints-1", "writer_account": "writer-1"}
AZURE = {
    **OWNED,
    **COUNTS,
    "region": "eastus",
    "zones": ["1"],
    "resource_group": "r",
    "subnet_id": SUBNET,
    "security_group_id": f"{NETWORKS}/networkSecurityGroups/g",
    "vm_size": "Standard_ND96isr_H100_v5",
    "capacity_mode": "on-demand",
    "gang": True,
    "disk_gib": 200,
}
AZURE_NETWORK = {**OWNED, "region": "eastus"}
AZURE_STORE = {
    **OWNED,
    "region": "eastus",
    "account": "checkpoints1",
    "resource_group": "r",
    "role": "e4d4544f-3999-5926-b3f4-6dc756d2d2a4",
}


EKS_CLUSTER = {
    **OWNED,
    "region": "us-east-1",
    "zones": ["us-east-1a", "us-east-1b"],
    "vpc_id": "vpc-1",
    "vpc_cidr": "10.40.0.0/16",
    "subnet_ids": ["subnet-1", "subnet-2"],
}
EKS = {
    **OWNED,
    **COUNTS,
    "region": "us-east-1",
    "zones": ["us-east-1a"],
    "cluster": "c",
    "cluster_security_group_id": "sg-1",
    "vpc_id": "vpc-1",
    "vpc_cidr": "10.40.0.0/16",
    "subnet_ids": ["subnet-1"],
    "instance_type": "p5.48xlarge",
    "capacity_mode": "on-demand",
    "gang": True,
    "disk_gib": 200,
}
FLEET = {
    **EKS_CLUSTER,
    "instance_types": ["g6.xlarge", "g6.2xlarge"],
    "nodes_initial": 1,
    "nodes_max": 4,
    "disk_gib": 100,
}
AWS_TTL = {**OWNED, "region": "us-east-1", "stack": "dev-aws", "ends": "2026-12-31"}
GCP_TTL = {**OWNED, "region": "us-central1", "project": "p", "stack": "dev-gcp", "ends": "2026-12-31"}
AZURE_TTL = {**OWNED, "region": "eastus", "stack": "dev-azure", "target": "machines", "ends": "2026-12-31"}
IMAGE = f"us-docker.pkg.dev/p/r/serve@sha256:{'a' * 64}"
RUN = {**OWNED, "region": "us-central1", "project": "p", "image": IMAGE, "instances_max": 3}
VERTEX = {
    **OWNED,
    "region": "us-central1",
    "project": "p",
    "image": IMAGE,
    "machine_type": "a2-highgpu-8g",
    "nodes": 2,
    "capacity_mode": "spot",
    "max_run_hours": 24,
    "bucket": "checkpoints-1",
    "writer_account": "writer-1",
}
FILES = {
    **OWNED,
    "region": "us-central1",
    "zone": "us-central1-a",
    "project": "p",
    "network": "n",
    "cidr": "10.80.0.0/16",
    "bytes_needed": 10**12,
}
AKS_CLUSTER = {**OWNED, "region": "eastus", "zones": ["1"], "resource_group": "r", "subnet_id": SUBNET}
AKS = {
    **OWNED,
    **COUNTS,
    "region": "eastus",
    "zones": ["1"],
    "resource_group": "r",
    "cluster": "c",
    "subnet_id": SUBNET,
    "vm_size": "Standard_ND96isr_H100_v5",
    "capacity_mode": "on-demand",
    "gang": True,
    "disk_gib": 200,
}
OPERATORS = {**OWNED, "kubeconfig": "k", "runtimes": ["cuda"], "infiniband": True}
AML = {
    **OWNED,
    "region": "eastus",
    "resource_group": "r",
    "workspace": "w",
    "vm_size": "Standard_NC24ads_A100_v4",
    "nodes_max": 2,
    "capacity_mode": "spot",
}
LUSTRE = {
    **OWNED,
    "region": "eastus",
    "resource_group": "r",
    "zone": "1",
    "subnet_id": SUBNET,
    "bytes_needed": 10**13,
}


def eks_cluster(args):
    eks_checks.check_eks_cluster("x", args)


def eks_pool(args):
    eks_checks.check_eks_pool(args.get("_name", "x"), without_name(args), find_shape("aws", args.get("instance_type")))


def without_name(args):
    return {key: value for key, value in args.items() if key != "_name"}


def fleet(args):
    fleet_documents.check_fleet("x", args, [find_shape("aws", one) for one in args.get("instance_types") or []])


def aks_cluster(args):
    aks_checks.check_aks_cluster("x", args)


def aks_pool(args):
    aks_checks.check_aks_pool(args.get("_name", "x"), without_name(args), find_shape("azure", args.get("vm_size")))


def aml(args):
    ml_checks.check_compute("x", args, find_shape("azure", args.get("vm_size")))


def vertex(args):
    service_checks.check_training("x", args, find_shape("gcp", args.get("machine_type")))


def ends(check, own):
    return lambda args: check("x", args, own_stack=own)


def aws_pool(args):
    aws.check_pool("x", args, find_shape("aws", args.get("instance_type")))


def gcp_pool(args):
    gcp.check_pool("x", args, find_shape("gcp", args.get("machine_type")), find_slices(args.get("machine_type")))


def azure_pool(args):
    azure.check_pool("x", args, find_shape("azure", args.get("vm_size")))


def named(check):
    return lambda args: check("x", args)


def pods(args):
    """What runs on a cluster; `args` are its machines alone."""
    whole = {**OWNED, "kubeconfig": "{}", "machines": args, "container": {"image": "train:2.8"}}
    run_checks.check_run("TrainingRun", "x", whole, run_args.TrainingRunArgs)


PODS = {
    "cloud": "gcp",
    "instance_type": "a3-megagpu-8g",
    "nodes": 2,
    "selector": {"sizewell-workload": "train"},
    "fabric": "gpudirect-tcpxo",
}
CHECKS = {
    "aws pool": (aws_pool, AWS),
    "aws network": (named(aws.check_network), AWS_NETWORK),
    "aws store": (named(aws.check_checkpoint_store), AWS_STORE),
    "gcp pool": (gcp_pool, GCP),
    "gcp tpu": (gcp_pool, TPU),
    "gcp network": (named(gcp.check_network), GCP_NETWORK),
    "gcp cluster": (named(gcp.check_cluster), GCP_CLUSTER),
    "gcp store": (named(gcp.check_checkpoint_store), GCP_STORE),
    "azure pool": (azure_pool, AZURE),
    "azure network": (named(azure.check_network), AZURE_NETWORK),
    "azure store": (named(azure.check_checkpoint_store), AZURE_STORE),
}
CHECKS |= {
    "eks cluster": (eks_cluster, EKS_CLUSTER),
    "eks pool": (eks_pool, EKS),
    "fleet": (fleet, FLEET),
    "aws end": (ends(aws_limits.check_ttl, "ttl-dev-aws"), AWS_TTL),
    "gcp end": (ends(gcp_limits.check_ttl, "ttl-dev-gcp"), GCP_TTL),
    "azure end": (ends(expiry.check_ttl, "ttl-dev-azure"), AZURE_TTL),
    "run": (named(service_checks.check_run), RUN),
    "vertex": (vertex, VERTEX),
    "files": (named(check_storage), FILES),
    "aks cluster": (aks_cluster, AKS_CLUSTER),
    "aks pool": (aks_pool, AKS),
    "operators": (named(aks_checks.check_operators), OPERATORS),
    "aml": (aml, AML),
    "lustre": (named(storage_args.check_storage), LUSTRE),
    "pods": (pods, PODS),
}
ALONE = {"machine_type": "g2-standard-4", "gang": False, "zones": ["us-central1-a", "us-central1-b"]}
BLOCKED = {"capacity_mode": "capacity-block", "capacity_block": BLOCK}


def windows(**changes):
    return {"schedule": {**HOURS, "windows": [{**HOURS["windows"][0], **changes}]}}


# what, changes to arguments that are right, path of the fault, words of its sentence
CASES = [
    # places that never existed
    ("aws pool", {"zones": ["us-east-1q"]}, "zones[0]", "does not exist in us-east-1, as far as is known: us-east-1q"),
    ("aws pool", {"zones": ["use1-az9"]}, "zones[0]", "does not exist in us-east-1, as far as is known: use1-az9"),
    ("aws network", {"zones": ["us-east-1a", "us-east-1z"]}, "zones[1]", "does not exist in us-east-1"),
    ("gcp pool", {"zones": ["us-central1-z"]}, "zones[0]", "does not exist in us-central1"),
    *(
        (
            "gcp pool",
            {"machine_type": machine, "zones": ["us-central1-f"], "gang": False, **slices},
            "zones[0]",
            f"does not offer {machine}, as far as is known: us-central1-f",
        )
        for machine, slices in (
            ("g2-standard-8", {}),
            ("ct6e-standard-4t", {"tpu_topology": "4x4", "nodes_max": 4}),
            ("a3-ultragpu-8g", {"capacity_mode": "spot"}),
        )
    ),
    (
        "run",
        {"image": f"quay.io/team/serve@sha256:{'0' * 64}"},
        "image",
        "is on quay.io, from which Cloud Run takes no",
    ),
    ("azure pool", {"vm_size": "Standard_NV12s_v3"}, "vm_size", "is retired since 2026-09-30, as was known on"),
    *(
        ("aws pool", {"instance_type": machine, "gang": False, "image": DLAMI.format("2.4")}, "image", "12.4")
        for machine in ("p6-b200.48xlarge", "g7e.2xlarge")
    ),
    ("gcp cluster", {"zones": ["us-central1-d"]}, "zones[0]", "does not exist in us-central1"),
    ("gcp pool", {"region": "us-central9", "zones": ["us-central9-a"]}, "region", "does not exist on Google Cloud"),
    ("azure pool", {"region": "eastus9"}, "region", "does not exist on Azure: eastus9"),
    ("azure pool", {"region": "northcentralus"}, "zones[0]", "northcentralus has no availability zones"),
    ("aks cluster", {"region": "westus"}, "zones[0]", "westus has no availability zones"),
    ("lustre", {"region": "westus", "zone": "1"}, "zone", "westus has no availability zones"),
    # things of another kind, or of another region
    ("aws pool", {"kms_key_arn": f"{KEY.format('eu-west-1')}"}, "kms_key_arn", "is in eu-west-1, and everything here"),
    ("aws pool", {"kms_key_arn": "alias/mine"}, "kms_key_arn", "must be the ARN of a KMS key"),
    ("aws pool", {"kms_key_arn": "https://v.vault.azure.net/keys/k/1"}, "kms_key_arn", "must be the ARN of a KMS key"),
    ("aws pool", {"subnet_ids": ["vpc-1"]}, "subnet_ids[0]", "must be the id of a subnet"),
    ("aws pool", {"vpc_id": SUBNET}, "vpc_id", "must be the id of a VPC"),
    ("aws network", {"zones": ["us-east-1a", "us-east-1a"]}, "zones", "names a zone twice"),
    (
        "gcp cluster",
        {"subnetwork": "projects/p/regions/europe-west1/subnetworks/n"},
        "subnetwork",
        "is in europe-west1",
    ),
    ("gcp cluster", {"network": "vpc_1"}, "network", "must be a network's name"),
    ("gcp cluster", {"kms_key_name": GOOGLE_KEY.format("europe-west1")}, "kms_key_name", "is in europe-west1"),
    ("gcp cluster", {"kms_key_name": KEY.format("us-east-1")}, "kms_key_name", "must be a key's name"),
    ("aks cluster", {"subnet_id": "subnet-1"}, "subnet_id", "must be the id of a subnet, as /subscriptions/"),
    (
        "aks cluster",
        {"disk_encryption_set_id": "https://v.vault.azure.net/keys/k/1"},
        "disk_encryption_set_id",
        "must be",
    ),
    ("aks cluster", {"secrets_key": {"key_url": KEY, "vault_id": SUBNET}}, "secrets_key.vault_id", "must be the id of"),
    # arguments that only a cloud's answer would have spoken of
    ("aws pool", {"vpc_cidr": "10.60.0.1/16"}, "vpc_cidr", "must be the VPC's IPv4 range"),
    ("fleet", {"subnet_ids": ["subnet-1"]}, "subnet_ids", "must be one for each zone, in the order of zones, got 1"),
    ("gcp cluster", {"maintenance_from": "tomorrow"}, "maintenance_from", "must be an ISO date"),
    ("gcp cluster", {"maintenance_from": "2026-13-40"}, "maintenance_from", "must be an ISO date"),
    ("gcp cluster", {"maintenance_from": "2099-01-01"}, "maintenance_from", "must be before"),
    ("aks cluster", {"upgrades_held": {"start": "2025-01-01", "end": "2025-01-10"}}, "upgrades_held.end", "has passed"),
    (
        "aks cluster",
        {"upgrades_held": {"start": "2026-12-01", "end": "2099-01-10"}},
        "upgrades_held.end",
        "must be by 20",
    ),
    ("aws pool", {**ENDED, "nodes_min": 0}, "capacity_block.ends", "has passed: 2026-10-17T11:30:00Z"),
    ("eks pool", {**ENDED, "nodes_min": 0}, "capacity_block.ends", "has passed: 2026-10-17T11:30:00Z"),
    # fallbacks, and types that the image has no driver for
    ("aws pool", {**SPOT, "fallback_types": ["inf2.xlarge"]}, "fallback_types[0]", "start from one image"),
    ("aws pool", {**SPOT, "fallback_types": ["m7i.large"]}, "fallback_types[0]", "no accelerator, and g6.8xlarge has"),
    ("eks pool", {**SPOT, "fallback_types": ["g5g.xlarge"]}, "fallback_types[0]", "g5g.xlarge has Arm processors"),
    ("eks pool", {**SPOT, "fallback_types": ["g7.2xlarge"]}, "fallback_types[0]", "needs NVIDIA's driver 595 or later"),
    ("eks pool", {**SPOT, "fallback_types": ["g5.48xlarg"]}, "fallback_types[0]", "is not in the catalog"),
    ("eks pool", {**SPOT, "fallback_types": ["g6.8xlarge"]}, "fallback_types[0]", "names a type twice"),
    ("aws pool", {**SPOT, "fallback_types": ["g6f.xlarge"]}, "fallback_types[0]", "needs the GRID driver"),
    (
        "aws pool",
        {**ONE_BY_ONE, "instance_type": "p3.2xlarge"},
        "instance_type",
        "580 is the last branch of NVIDIA's driver",
    ),
    ("fleet", {"instance_types": ["g6.xlarge", "g6f.xlarge"]}, "instance_types[1]", "needs the GRID driver"),
    ("azure pool", {**ONE_BY_ONE, "vm_size": "Standard_NV36ads_A10_v5"}, "vm_size", "needs the GRID driver"),
    # who owns it, and what is no argument at all
    ("aws pool", {"enviroment": "dev"}, "enviroment", "is an unknown argument; did you mean environment?"),
    ("aws pool", {"environment": "test"}, "environment", "one of dev, staging, prod"),
    ("aws pool", {"owner": ""}, "owner", "is empty"),
    ("aws pool", {"expires": "next week"}, "expires", "must be an ISO date"),
    ("gcp pool", {"machine_typ": "g2-standard-4"}, "machine_typ", "did you mean machine_type?"),
    ("azure pool", {"vm_size": None}, "vm_size", "is not in the catalog"),
    ("aws store", {"expires": "2026-12-31"}, "expires", "checkpoints outlive their cluster"),
    # counts are plain numbers, in order
    ("aws pool", {"nodes_min": -1}, "nodes_min", "a whole number, 0 to 1000"),
    ("aws pool", {"nodes_max": 0}, "nodes_max", "1 to 1000, got 0"),
    ("aws pool", {"nodes_max": 2.0}, "nodes_max", "a whole number"),
    ("aws pool", {"nodes_max": True}, "nodes_max", "a whole number"),
    ("aws pool", {"nodes_initial": 5}, "nodes_initial", "between nodes_min and nodes_max, got 0 <= 5 <= 2"),
    ("aws pool", {"disk_gib": 8}, "disk_gib", "30 to 16384"),
    # places
    ("aws pool", {"region": "us-east1"}, "region", "must be an AWS region such as us-east-1"),
    ("aws pool", {"region": "us-east-9"}, "region", "does not exist on AWS: us-east-9"),
    ("aws network", {"region": "eu-west-9"}, "region", "did you mean eu-west-"),
    ("aws store", {"region": "us-north-1"}, "region", "does not exist on AWS"),
    ("aws pool", {"region": "eu-west-1", "zones": ["eu-west-1a"]}, "region", "does not sell p5.48xlarge: eu-west-1"),
    ("eks pool", {"region": "sa-east-1", "zones": ["sa-east-1a"], **H200}, "region", "does not sell p5en.48xlarge"),
    ("aws pool", {**SCARCE, "region": "ca-central-1"}, "capacity_mode", "not sold as spot in ca-central-1, there as"),
    ("eks pool", {**SCARCE, "region": "ca-central-1"}, "capacity_mode", "as spot it is in ap-northeast-1"),
    ("aws pool", {**SCARCE, "zones": ["use1-az1"]}, "zones[0]", "has no p5.48xlarge as spot: use1-az1"),
    (
        "aws pool",
        {**BLOCKED, "instance_type": "p5en.48xlarge", "zones": ["use1-az4"]},
        "zones[0]",
        "does not offer p5en.48xlarge, as far as is known: use1-az4",
    ),
    (
        "eks pool",
        {**H200, "zones": ["use1-az4"]},
        "zones[0]",
        "does not offer p5en.48xlarge, as far as is known: use1-az4",
    ),
    ("aws pool", {"zones": ["usw2-az1"]}, "zones[0]", "is in a region other than us-east-1: 'usw2-az1'"),
    (
        "aws pool",
        {**BLOCKED, "region": "us-west-1", "instance_type": "p6-b200.48xlarge"},
        "region",
        "eu-west-3, us-east-1, us-east-2, us-west-2",
    ),
    ("fleet", {"region": "eu-central-1", "instance_types": ["p5.48xlarge", "p5en.48xlarge"]}, "region", "p5en"),
    ("aws pool", {"zones": []}, "zones", "is empty"),
    ("aws pool", {"zones": ["us-west-2a"]}, "zones[0]", "is in a region other than us-east-1"),
    ("aws pool", {"zones": ["a"]}, "zones[0]", "must be a zone as us-east-1a or use1-az4"),
    ("aws pool", {"zones": ["us-east-1a", "us-east-1b"]}, "zones", "EFA does not cross zones"),
    ("aws network", {"zones": ["us-east-1a", "us-east-1a"]}, "zones", "names a zone twice"),
    ("aws network", {"cidr": "8.8.0.0/16"}, "cidr", "must be a private range"),
    ("aws network", {"cidr": "10.0.0.0/28"}, "cidr", "from /16 to /20"),
    ("aws network", {"cidr": "ten"}, "cidr", "must be an IPv4 range"),
    ("aws network", {"cidr": "fd00::/16"}, "cidr", "must be an IPv4 range"),
    ("aws pool", {"vpc_cidr": "2001:db8::/56"}, "vpc_cidr", "must be the VPC's IPv4 range"),
    ("azure network", {"cidr": "fd00::/16"}, "cidr", "must be an IPv4 range"),
    ("gcp network", {"services_cidr": "fd20::/48"}, "services_cidr", "must be an IPv4 range"),
    ("gcp pool", {"zones": ["europe-west4-a"]}, "zones[0]", "is in a region other than us-central1"),
    ("gcp pool", {"zones": ["us-central1"]}, "zones[0]", "must be a zone as us-central1-a"),
    ("gcp pool", {"zones": ["us-central1-a", "us-central1-b"]}, "zones", "compact placement does not cross zones"),
    ("gcp network", {"pods_cidr": "10.96.0.0/36"}, "pods_cidr", "must be an IPv4 range"),
    ("gcp network", {"cidr": "10.96.0.0/16"}, "pods_cidr", "overlaps cidr"),
    ("gcp network", {"fabric": "infiniband"}, "fabric", "one of gpudirect-tcpx"),
    ("gcp network", {"fabric": "gpudirect-rdma"}, "fabric_zone", "must be a zone of us-central1"),
    (
        "gcp cluster",
        {"authorized_cidrs": ["0.0.0.0/0"]},
        "authorized_cidrs[0]",
        "opens the control plane to the internet",
    ),
    ("azure pool", {"zones": ["eastus-1"]}, "zones[0]", 'must be "1", "2" or "3"'),
    ("azure pool", {"zones": ["1", "2"]}, "zones", "InfiniBand does not cross zones"),
    ("azure network", {"region": "East US"}, "region", "must be an Azure region as eastus"),
    # machines that exist
    ("aws pool", {"instance_type": "p5.47xlarge"}, "instance_type", "is not in the catalog: 'p5.47xlarge'"),
    ("gcp pool", {"machine_type": "a3-megagpu-16g"}, "machine_type", "is not in the catalog"),
    ("azure pool", {"vm_size": "Standard_NC24ads_A100_v4"}, "vm_size", "has no InfiniBand"),
    ("azure pool", {"nodes_max": 101}, "nodes_max", "a placement group holds no more"),
    ("gcp pool", {"tpu_topology": "4x4"}, "tpu_topology", "is only for TPU machines"),
    ("gcp pool", {"fabric_networks": ["n"] * 4, "fabric_subnetworks": ["s"] * 4}, "fabric_networks", "must be 8"),
    ("gcp pool", {"fabric_networks": ["n"] * 8}, "fabric_subnetworks", "must be as many as fabric_networks"),
    ("gcp tpu", {"tpu_topology": "3x3"}, "tpu_topology", "does not exist on ct6e-standard-4t: 3x3"),
    ("gcp tpu", {"tpu_topology": "2x2x2"}, "tpu_topology", "does not exist on ct6e-standard-4t"),
    ("gcp tpu", {"nodes_max": 3}, "nodes_max", "must be a multiple of 2 for 2x4"),
    ("gcp tpu", {"nodes_initial": 1}, "nodes_initial", "has all of its machines or none, got 1"),
    ("gcp tpu", {"zones": ["us-central1-a", "us-central1-b"]}, "zones", "exactly one for a slice of 2 machines"),
    ("gcp tpu", {"machine_type": "ct4p-hightpu-4t", "tpu_topology": "4x4"}, "tpu_topology", "does not exist on ct4p"),
    ("gcp tpu", {"machine_type": "ct5p-hightpu-4t", "tpu_topology": "2x2x3"}, "tpu_topology", "does not exist on ct5p"),
    ("gcp tpu", {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "4x2"}, "tpu_topology", "does not exist on ct5lp"),
    (
        "gcp tpu",
        {"machine_type": "tpu7x-standard-4t", "tpu_topology": "2x2"},
        "tpu_topology",
        "does not exist on tpu7x",
    ),
    ("gcp tpu", {"machine_type": "ct6e-standard-1t", "tpu_topology": "2x2"}, "tpu_topology", "allowed are 1x1"),
    (
        "gcp tpu",
        {"machine_type": "ct5p-hightpu-4t", "tpu_topology": "2x2x2", "nodes_max": 3},
        "nodes_max",
        "must be a multiple of 2 for 2x2x2",
    ),
    (
        "gcp pool",
        {"machine_type": "a3-highgpu-8g", "fabric_networks": ["n"] * 8, "fabric_subnetworks": ["s"] * 8},
        "fabric_networks",
        "must be 4 for a3-highgpu-8g (gpudirect-tcpx), got 8",
    ),
    (
        "gcp pool",
        {"machine_type": "a3-ultragpu-8g", "fabric_networks": ["n"] * 8, "fabric_subnetworks": ["s"] * 8},
        "fabric_networks",
        "must be 9 for a3-ultragpu-8g (gpudirect-rdma), got 8",
    ),
    (
        "gcp pool",
        {"machine_type": "g2-standard-4", "fabric_networks": ["n"], "fabric_subnetworks": ["s"]},
        "fabric_networks",
        "must be 0 for g2-standard-4 (no GPUDirect), got 1",
    ),
    (
        "gcp pool",
        {**ALONE, "nodes_max": 4, "nodes_initial": 3},
        "nodes_initial",
        "must divide by the 2 zones, got 3: zones get equal numbers",
    ),
    (
        "gcp pool",
        {**ALONE, "nodes_min": 3, "nodes_initial": 3, "nodes_max": 3},
        "nodes_max",
        "must divide by the 2 zones, got 3",
    ),
    # capacity: exactly one way
    ("aws pool", {"capacity_mode": "reserved"}, "capacity_mode", "one of on-demand, spot, reservation, capacity-block"),
    ("aws pool", {"capacity_mode": "reservation"}, "reservation", "must be a capacity reservation"),
    ("aws pool", {"reservation": "cr-0123456789abcdef0"}, "reservation", "exactly one way to get machines"),
    ("aws pool", {"capacity_block": BLOCK}, "capacity_block", "exactly one way to get machines"),
    ("aws pool", {"fallback_types": ["p5en.48xlarge"]}, "fallback_types", "are only for spot pools"),
    (
        "aws pool",
        {"capacity_mode": "spot", "fallback_types": ["p5en.48xlarge"]},
        "fallback_types",
        "network cards differ by type",
    ),
    ("aws pool", {**BLOCKED, "instance_type": "g6.xlarge"}, "capacity_mode", "is not sold as capacity-block"),
    ("aws pool", {**BLOCKED, "nodes_min": 1}, "nodes_min", "must be 0 with a capacity block"),
    (
        "aws pool",
        {**BLOCKED, "capacity_block": {**BLOCK, "purchase": "unconfirmed"}},
        "capacity_block.purchase",
        "is paid upfront and not refundable",
    ),
    (
        "aws pool",
        {**BLOCKED, "capacity_block": {**BLOCK, "max_price_usd": None}},
        "capacity_block.max_price_usd",
        "a purchase needs a price limit",
    ),
    (
        "aws pool",
        {**BLOCKED, "capacity_block": {**BLOCK, "duration_hours": 30}},
        "capacity_block.duration_hours",
        "must be whole days",
    ),
    (
        "aws pool",
        {**BLOCKED, "capacity_block": {"id": "block-7"}},
        "capacity_block.id",
        "must be a capacity reservation id",
    ),
    ("gcp pool", {"capacity_mode": "capacity-block"}, "capacity_mode", "one of on-demand, reservation, spot"),
    ("gcp pool", {"capacity_mode": "reservation"}, "reservation", "must be exactly one reservation's name"),
    ("gcp pool", {"capacity_mode": "reservation", "reservation": "a,b"}, "reservation", "exactly one reservation"),
    (
        "gcp pool",
        {**ALONE, "capacity_mode": "reservation", "reservation": "r"},
        "zones",
        "must be exactly one with a reservation, got 2: a reservation is in one zone",
    ),
    ("gcp pool", {"capacity_mode": "spot", "reservation": "r"}, "reservation", "but capacity_mode is spot"),
    ("gcp pool", {"capacity_mode": "on-demand", "reservation": "r"}, "reservation", "but capacity_mode is on-demand"),
    ("gcp pool", {"capacity_mode": "queued", "reservation": "r"}, "reservation", "but capacity_mode is queued"),
    ("gcp pool", {"capacity_mode": "flex-start", "reservation": "r"}, "reservation", "but capacity_mode is flex-start"),
    ("gcp pool", {"capacity_mode": "queued", "nodes_min": 1}, "nodes_min", "must be 0 with queued, got 1"),
    ("gcp pool", {"capacity_mode": "spot", "max_run_hours": 24}, "max_run_hours", "capacity_mode is spot"),
    ("gcp pool", {"capacity_mode": "queued", "max_run_hours": 0}, "max_run_hours", "must be 1 to 168 with queued"),
    ("gcp tpu", {"capacity_mode": "flex-start", "nodes_min": 2}, "nodes_min", "must be 0 with flex-start, got 2"),
    ("gcp pool", {"capacity_mode": "flex-start", "nodes_min": 1}, "nodes_min", "must be 0 with flex-start"),
    ("gcp pool", {"capacity_mode": "flex-start", "max_run_hours": 200}, "max_run_hours", "at most 7 days"),
    ("gcp pool", {"max_run_hours": 24}, "max_run_hours", "is only for flex-start and queued"),
    ("gcp pool", {"capacity_mode": "queued"}, "nodes_initial", "must be 0 with queued, got 2"),
    (
        "gcp pool",
        {"machine_type": "a3-highgpu-1g", "gang": False},
        "capacity_mode",
        "is not sold as on-demand",
    ),
    ("azure pool", {"capacity_mode": "low-priority"}, "capacity_mode", "one of on-demand, spot, reservation"),
    ("azure pool", {"capacity_mode": "reservation"}, "reservation", "must be the id of a capacity reservation group"),
    ("azure pool", {"reservation": GROUP}, "reservation", "exactly one way to get machines"),
    # guard and schedule
    ("aws pool", {"guard": {**GUARD, "action": "delete"}}, "guard.action", "must be scale-to-zero or notify"),
    ("aws pool", {"guard": {**GUARD, "min_utilization_percent": 0}}, "guard.min_utilization_percent", "over 0"),
    ("aws pool", {"guard": {**GUARD, "min_utilization_percent": 90}}, "guard.min_utilization_percent", "busy machines"),
    ("gcp pool", {"guard": {**GUARD, "window_s": 60}}, "guard.window_s", "600 to 43200"),
    ("azure pool", {"guard": {**GUARD, "grace_s": -1}}, "guard.grace_s", "0 to 43200"),
    (
        "aws pool",
        {"schedule": {**HOURS, "time_zone": "Mars/Phobos"}},
        "schedule.time_zone",
        "must be an IANA time zone",
    ),
    ("aws pool", {"schedule": {**HOURS, "windows": []}}, "schedule.windows", "machines would never start"),
    ("aws pool", windows(days="mo-fr"), "schedule.windows[0].days", "must be days mon to sun"),
    ("aws pool", windows(start="7am"), "schedule.windows[0].start", "must be a time as 07:00"),
    ("aws pool", windows(start="22:00", end="22:00"), "schedule.windows[0]", "must end at another time than it starts"),
    ("aws pool", {"schedule": HOURS, "nodes_min": 1}, "nodes_min", "must be 0 with a schedule"),
    (
        "azure pool",
        {"schedule": {**HOURS, "time_zone": "Asia/Yerevan"}},
        "schedule.time_zone",
        "has no Windows time-zone name",
    ),
    # secrets and images
    ("aws pool", {"start_script": "export AWS_SECRET_ACCESS_KEY=abc"}, "start_script", "looks like a secret"),
    ("aws pool", {"start_script": "x" * 61000}, "start_script", "a document holds up to 60,000"),
    (
        "aws pool",
        {"start_script": "echo {{ a }}"},
        "start_script",
        "which is a parameter in a Systems Manager document",
    ),
    ("azure pool", {"start_script": "x" * 61000}, "start_script", "custom data allows 60,000"),
    ("aws pool", {"image": "latest"}, "image", "must be an AMI id or resolve:ssm:PARAMETER"),
    ("azure pool", {"start_script": "AccountKey=abc"}, "start_script", "looks like a secret"),
    ("azure pool", {"ssh_public_key": "-----BEGIN PRIVATE KEY"}, "ssh_public_key", "must be a public key"),
    # stores
    ("aws store", {"bucket": "my.bucket"}, "bucket", "dots break TLS"),
    *(
        ("aws store", {"bucket": name}, "bucket", "that S3 keeps for itself")
        for name in ("team--x-s3", "team-s3alias", "sthree-team", "xn--team", "amzn-s3-demo-team", "team--ol-s3")
    ),
    *(
        (
            "aws pool",
            {"image": f"resolve:ssm:/aws/service/{path}"},
            "image",
            f"is Ubuntu {version}, whose support ended",
        )
        for path, version in (
            ("deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-20.04/latest/ami-id", "20.04"),
            ("canonical/ubuntu/server/20.04/stable/current/amd64/hvm/ebs-gp2/ami-id", "20.04"),
            ("canonical/ubuntu/server/focal/stable/current/amd64/hvm/ebs-gp2/ami-id", "20.04"),
            ("canonical/ubuntu/server/18.04/stable/current/amd64/hvm/ebs-gp2/ami-id", "18.04"),
        )
    ),
    ("aws store", {"retention_days": 0}, "retention_days", "1 to 365"),
    ("aws store", {"retention_days": 60}, "versions_days", "a locked version cannot expire"),
    ("gcp store", {"bucket": "google-1"}, "bucket", "not starting with goog"),
    ("gcp store", {"writer_account": "w"}, "writer_account", "6 to 30"),
    ("gcp store", {"soft_delete_days": 0}, "soft_delete_days", "less than a week is too short to notice"),
    ("azure store", {"account": "My-Store"}, "account", "3 to 24 lower-case letters and digits"),
    ("azure store", {"role": "writer"}, "role", "must be a GUID"),
    ("azure store", {"immutable_days": 60}, "versions_days", "an immutable version cannot expire"),
    # clusters and what runs under them
    ("eks cluster", {"version": "1.20"}, "version", "1.20"),
    ("eks cluster", {"system_type": "g6.xlarge"}, "system_type", "without accelerators"),
    (
        "eks cluster",
        {"addon_versions": {"vpc-cni": "v1.16.0-eksbuild.1"}},
        "addon_versions.vpc-cni",
        "EFA-only interfaces",
    ),
    ("eks pool", {"instance_type": "m7i.large", "guard": GUARD}, "guard", "the machines have no accelerator"),
    ("eks pool", {"instance_type": "p6e-gb200.36xlarge"}, "instance_type", "is a machine of an NVLink rack"),
    ("eks pool", {"zones": ["us-east-1a", "us-east-1b"]}, "zones", "EFA does not cross zones"),
    ("eks pool", {"capacity_mode": "reservation"}, "reservation", "must be a capacity reservation"),
    ("eks pool", {"reservation": "cr-0123456789abcdef0"}, "reservation", "exactly one way to get machines"),
    ("eks pool", {**BLOCKED}, "capacity_block.id", "adopts a block and does not buy one"),
    ("eks pool", {"capacity_mode": "capacity-block"}, "capacity_block.id", "is missing"),
    ("eks pool", {"nodes_max": 451}, "nodes_max", "1 to 450"),
    ("eks pool", {"gpus_per_node": 4}, "gpus_per_node", "is an unknown argument"),
    ("eks pool", {"_name": "x" * 64}, "name", "must be 1 to 63 letters"),
    ("eks pool", {"_name": "chat pool"}, "name", "got 'chat pool'"),
    ("eks pool", {"instance_type": "trn2.48xlarge", "capacity_mode": "spot"}, "capacity_mode", "is not sold as spot"),
    ("aws pool", {"instance_type": "p6e-gb200.36xlarge"}, "instance_type", "its 17 network cards are of two kinds"),
    ("aws pool", {"instance_type": "p5e.48xlarge"}, "capacity_mode", "is not sold as on-demand"),
    ("aws pool", {"instance_type": "trn2.48xlarge", "capacity_mode": "spot"}, "capacity_mode", "is not sold as spot"),
    ("aws pool", {"efa_interfaces": 33}, "efa_interfaces", "is an unknown argument"),
    ("aws pool", {"placement_group": "pg"}, "placement_group", "is an unknown argument"),
    ("aws pool", {**BLOCKED, "reservation": "cr-0123456789abcdef0"}, "reservation", "exactly one way"),
    ("aws network", {"zones": [f"us-east-1{one}" for one in "abcde"]}, "zones", "are more than 4"),
    ("fleet", {"zones": ["us-east-1a"]}, "zones", "spot capacity runs out by zone"),
    ("fleet", {"instance_types": ["g6.xlarge"]}, "instance_types", "spot capacity runs out by type"),
    ("fleet", {"instance_types": ["g6.xlarge", "inf2.xlarge"]}, "instance_types", "need different images"),
    ("fleet", {"instance_types": ["g6.xlarge", "trn2.48xlarge"]}, "instance_types[1]", "is not sold as spot"),
    ("fleet", {"nodes_initial": 5}, "nodes_initial", "must be at most nodes_max (4), got 5"),
    ("fleet", {"max_usd_per_hour": 0}, "max_usd_per_hour", "must be over 0"),
    (
        "gcp pool",
        {"region": "europe-west1", "zones": ["europe-west1-b"], "machine_type": "a4-highgpu-8g"},
        "region",
        "does not sell a4-highgpu-8g: europe-west1; those that do are asia-south1, us-central1",
    ),
    ("gcp pool", {"machine_type": "a4x-highgpu-4g"}, "machine_type", "is an Arm machine of an NVLink rack"),
    ("gcp pool", {"gpu_partition_size": "1g.5gb"}, "gpu_partition_size", "is an unknown argument"),
    ("gcp pool", {"placement_policy": "COMPACT"}, "placement_policy", "is an unknown argument"),
    (
        "gcp tpu",
        {
            "region": "us-east4",
            "zones": ["us-east4-a"],
            "machine_type": "tpu7x-standard-4t",
            "tpu_topology": "2x2x2",
            "capacity_mode": "on-demand",
        },
        "region",
        "does not sell tpu7x-standard-4t",
    ),
    ("gcp tpu", {"machine_type": "tpu7x-standard-4t", "tpu_topology": "2x2x2", "nodes_max": 3}, "nodes_max", "of 2"),
    ("gcp tpu", {"capacity_mode": "queued"}, "nodes_initial", "the queue admits the machines"),
    (
        "gcp tpu",
        {"capacity_mode": "reservation", "reservation": "a b"},
        "reservation",
        "exactly one reservation's name",
    ),
    ("gcp cluster", {"zones": ["us-central1-a", "us-central1-a"]}, "zones", "names a zone twice"),
    ("gcp end", {"stack": "ttl-dev-gcp"}, "stack", "must be a stack other than the guard's own"),
    ("aws end", {"ends": "soon"}, "ends", "must be an ISO date"),
    ("aws end", {"expires": "2026-12-31"}, "expires", "the guard has to outlive its stack"),
    ("azure end", {"target": ""}, "target", "is empty"),
    ("run", {"region": "us-east1"}, "region", "has no Cloud Run GPUs"),
    ("run", {"cpus": 2}, "cpus", "must be 4 or 8 with an L4"),
    ("run", {"image": "serve:latest"}, "image", "must be an image by digest"),
    ("run", {"invokers": ["allUsers"]}, "invokers[0]", "anyone could use the models at your cost"),
    ("run", {"environment_variables": {"HF_TOKEN": "x"}}, "environment_variables.HF_TOKEN", "looks like a secret"),
    ("vertex", {"capacity_mode": "queued"}, "capacity_mode", "one of on-demand, spot, flex-start"),
    ("vertex", {"machine_type": "ct6e-standard-4t"}, "machine_type", "has no GPU that Vertex AI offers"),
    ("vertex", {"machine_type": "a3-ultragpu-8g", "capacity_mode": "on-demand"}, "machine_type", "is not sold as"),
    ("vertex", {"max_run_hours": 169}, "max_run_hours", "1 to 168, got 169"),
    ("files", {"zone": "us-east1-b"}, "zone", "must be one zone of us-central1"),
    ("files", {"cidr": "8.8.8.0/24"}, "cidr", "must be a private range"),
    ("files", {"admins": ["10.80.0.7"]}, "admins[0]", "Filestore accepts each address once"),
    ("files", {"admins": ["8.8.8.8"]}, "admins[0]", "must be a private range"),
    ("files", {"bytes_needed": 2**60}, "bytes_needed", "zonal Filestore ends at"),
    ("azure pool", {"vm_size": "Standard_ND128isr_NDR_GB200_v6"}, "vm_size", "is an Arm machine of an NVLink rack"),
    ("azure pool", {"vm_size": "Standard_ND96isr_MI300X_v5"}, "region", "does not sell Standard_ND96isr_MI300X_v5"),
    ("azure pool", {"capacity_mode": "flex-start"}, "capacity_mode", "one of on-demand, spot, reservation"),
    ("azure pool", {"image": "ubuntu"}, "image", "must be the id of an image"),
    ("azure pool", {"disk_gib": 8}, "disk_gib", "64 to 4095"),
    ("azure store", {"soft_delete_days": 3}, "soft_delete_days", "less than a week is too short to notice"),
    ("aks cluster", {"reservations": ["h100"]}, "reservations[0]", "must be the id of a capacity reservation group"),
    (
        "azure pool",
        {"capacity_mode": "reservation", "reservation": "h100"},
        "reservation",
        "must be the id of a capacity",
    ),
    ("aks cluster", {"version": "1.28"}, "version", "one of 1.34"),
    (
        "aks cluster",
        {"authorized_ranges": ["0.0.0.0/0"]},
        "authorized_ranges[0]",
        "a wider one is close to the whole internet",
    ),
    ("aks cluster", {"system_nodes": 1}, "system_nodes", "2 to 20"),
    ("aks pool", {"vm_size": "Standard_NC24ads_A100_v4"}, "vm_size", "has no InfiniBand"),
    ("aks pool", {"zones": ["1", "2"]}, "zones", "InfiniBand does not cross zones"),
    ("aks pool", {"driver": "aks"}, "driver", "lacks nvidia-peermem"),
    (
        "aks pool",
        {"vm_size": "Standard_NV36ads_A10_v5", "driver": "operator", "gang": False},
        "driver",
        "needs the GRID driver that AKS installs",
    ),
    ("aks pool", {"driver": "both"}, "driver", "the driver is installed by exactly one of them"),
    ("aks pool", {"capacity_mode": "spot", "eviction": "Deallocate"}, "eviction", "must be Delete"),
    ("aks pool", {"capacity_mode": "spot", "max_price": 3.0}, "max_price", "must be -1"),
    ("aks pool", {"eviction": "Delete"}, "eviction", "only spot machines are evicted"),
    ("aks pool", {"disk_gib": 4096}, "disk_gib", "64 to 2048"),
    ("aks pool", {"guard": GUARD}, "metrics", "the guard reads the GPU exporter's metrics and would have no data"),
    ("aks pool", {"vm_size": "Standard_D4s_v5", "guard": GUARD}, "guard", "the machines have no accelerator"),
    ("operators", {"driver": "aks"}, "driver", "must be operator with infiniband"),
    ("operators", {"runtimes": ["rocm"]}, "amd_driver_image", "AMD's operator builds its driver there"),
    ("aml", {"nodes_min": 1}, "nodes_min", "machines above it are billed between jobs"),
    ("aml", {"idle_s": 7200}, "idle_s", "must be 60 to 1800"),
    ("aml", {"capacity_mode": "reservation"}, "capacity_mode", "Azure ML does not support reservations"),
    # names and ranges that a cloud refuses
    ("eks cluster", {"subnet_ids": ["subnet-1", "subnet-1"]}, "subnet_ids", "names one twice: subnet-1"),
    ("eks cluster", {"zones": ["use1-az3", "use1-az1"]}, "zones[0]", "takes no control plane of EKS"),
    ("eks cluster", {"system_type": "m7z.large"}, "system_type", "is not in the catalog"),
    ("eks cluster", {"system_type": "m7i.lage"}, "system_type", "is not in the catalog"),
    ("eks cluster", {"system_type": "p9.48xlarge"}, "system_type", "without accelerators"),
    ("eks cluster", {"system_type": "m7gd.large"}, "system_type", "has Arm processors"),
    ("aks cluster", {"system_size": "Standard_D4ps_v6"}, "system_size", "has Arm processors"),
    ("aks cluster", {"system_size": "Standard_NC8as_T9_v9"}, "system_size", "without accelerators"),
    ("aks cluster", {"system_size": "D4s_v6"}, "system_size", "is not in the catalog"),
    (
        "eks cluster",
        {"addon_versions": {"vpc_cni": "v1.21.1-eksbuild.8"}},
        "addon_versions.vpc_cni",
        "did you mean vpc-cni",
    ),
    ("aws network", {"endpoint_services": ["ssm", "ecr.dkrr"]}, "endpoint_services[1]", "did you mean ecr.dkr"),
    (
        "aws network",
        {"endpoint_services": ["com.amazonaws.us-east-1.ssm"]},
        "endpoint_services[0]",
        "without the region",
    ),
    (
        "aws pool",
        {"writer": {"bucket": "Team_Runs", "key_alias": "alias/x"}},
        "writer.bucket",
        "must be the name of a bucket",
    ),
    (
        "aws pool",
        {"writer": {"bucket": "a..b", "key_alias": "alias/x"}},
        "writer.bucket",
        "must be the name of a bucket",
    ),
    ("aws pool", {"writer": {"bucket": "runs", "key_alias": "x"}}, "writer.key_alias", "must be alias/NAME"),
    ("aws pool", {"image": "resolve:ssm:/aws/service/x/arm64/latest"}, "image", "for other processors (arm64)"),
    (
        "aws pool",
        {"image": "resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2"},
        "image",
        "Amazon Linux 2, whose support ended on 2026-06-30",
    ),
    *(
        ("aws pool", {"image": f"resolve:ssm:/aws/service/{image}"}, "image", "Amazon Linux 2, whose support ended")
        for image in (
            "eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id",
            "deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2/latest/ami-id",
        )
    ),
    (
        "aws pool",
        {
            "capacity_mode": "capacity-block",
            "nodes_min": 0,
            "capacity_block": {
                "purchase": "confirmed",
                "duration_hours": 48,
                "start": "2026-01-01T00:00:00Z",
                "max_price_usd": 9,
            },
        },
        "capacity_block.start",
        "no block that has begun is sold",
    ),
    ("gcp store", {"bucket": "team-g00gle-runs"}, "bucket", "must neither begin with goog nor contain google"),
    ("gcp pool", {"writer": {"bucket": "Team Runs"}}, "writer.bucket", "must be the name of a bucket"),
    ("run", {"cpus": 4, "memory_gib": 24}, "memory_gib", "must be at most 16 with 4 CPUs"),
    ("azure network", {"cidr": "10.244.0.0/16", "kubernetes": True}, "cidr", "overlaps 10.244.0.0/16"),
    ("azure network", {"cidr": "10.240.0.0/12", "kubernetes": True}, "cidr", "overlaps 10.245.0.0/16"),
    ("aks cluster", {"api_subnet_id": SUBNET}, "api_subnet_id", "must be a subnet of its own"),
    ("azure pool", {"writer": {"account": "Team-Runs"}}, "writer.account", "must be the name of a storage account"),
    ("lustre", {"zone": ""}, "zone", "zone"),
    # pods speak the protocol that their machines have, and that alone
    (
        "pods",
        {"fabric": "gpudirect-tcpx"},
        "machines.fabric",
        "the machines' own (gpudirect-tcpxo), got 'gpudirect-tcpx'",
    ),
    ("pods", {"instance_type": "a3-ultragpu-8g"}, "machines.fabric", "(gpudirect-rdma), got 'gpudirect-tcpxo'"),
    ("pods", {"instance_type": "a4-highgpu-8g"}, "machines.fabric", "(gpudirect-rdma)"),
    ("pods", {"instance_type": "a3-highgpu-8g"}, "machines.fabric", "(gpudirect-tcpx), got 'gpudirect-tcpxo'"),
    ("pods", {"instance_type": "a3-highgpu-4g"}, "machines.fabric", "(they have no GPUDirect)"),
    ("pods", {"instance_type": "a2-highgpu-8g"}, "machines.fabric", "(they have no GPUDirect)"),
    ("pods", {"cloud": "aws", "instance_type": "p5.48xlarge", "fabric": "efa"}, "machines.fabric", "no GPUDirect"),
    (
        "pods",
        {"cloud": "azure", "instance_type": "Standard_ND96isr_H100_v5", "fabric": "infiniband"},
        "machines.fabric",
        "no GPUDirect",
    ),
    ("pods", {"rdma_resource": "rdma/ib", "rdma_count": 8}, "machines.rdma_resource", "not used with fabric"),
]


@pytest.mark.parametrize("what", CHECKS)
def test_the_arguments_that_the_cases_change_are_right(what):
    check, args = CHECKS[what]
    check(args)


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("eks cluster", {"zones": ["use1-az4", "use1-az6"], "subnet_ids": ["subnet-1", "subnet-2"]}),
        (
            "aws network",
            {"endpoint_services": ["ssm", "kinesis-streams", "ssm-fips", "sagemaker.api-fips", "ec2messages"]},
        ),
        *(
            ("eks cluster", {"system_type": kind})
            for kind in ("m5.large", "c7i-flex.xlarge", "m5dn.2xlarge", "r7iz.large")
        ),
        *(
            ("aks cluster", {"system_size": size})
            for size in ("Standard_D4ds_v6", "Standard_E8-4as_v5", "Standard_F4s_v2")
        ),
        ("aws pool", {"writer": {"bucket": "team.runs", "key_alias": "alias/team/runs"}}),
        ("aws pool", {"image": "resolve:ssm:/aws/service/x/x86_64/latest"}),
        *(
            (
                "aws pool",
                {
                    "image": f"resolve:ssm:/aws/service/canonical/ubuntu/{which}/stable/current/amd64/hvm/x",
                    "start_script": "/opt/install-driver.sh",
                },
            )
            for which in ("server/24.04", "pro-server/20.04")
        ),
        ("aws store", {"bucket": "team-x-s3-runs"}),
        (
            "aws pool",
            {"image": "resolve:ssm:/aws/service/x/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id"},
        ),
        ("run", {"cpus": 4, "memory_gib": 16}),
        ("azure network", {"cidr": "10.244.0.0/16"}),
        ("azure network", {"cidr": "10.0.0.0/16", "kubernetes": True}),
    ],
)
def test_what_a_cloud_takes_is_taken(what, changes):
    check, args = CHECKS[what]
    check({**args, **changes})


@pytest.mark.parametrize(("what", "changes", "path", "words"), CASES)
def test_refusal(what, changes, path, words):
    check, args = CHECKS[what]
    with pytest.raises(ArgsError) as caught:
        check({**args, **changes})
    sentences = {fault.path: str(fault) for fault in caught.value.faults}
    assert path in sentences, sentences
    assert any(fault.path == path and words in str(fault) for fault in caught.value.faults), sentences[path]


def test_a_name_of_a_bucket_is_one_fault():
    check, args = CHECKS["gcp store"]
    with pytest.raises(ArgsError) as caught:
        check({**args, "bucket": "google-A"})
    assert [fault.path for fault in caught.value.faults] == ["bucket"]


def test_all_faults_come_at_once():
    with pytest.raises(ArgsError) as caught:
        aws_pool({**AWS, "owner": "", "zones": [], "disk_gib": 1, "capacity_mode": "reserved", "nodes_max": 0})
    assert {fault.path for fault in caught.value.faults} >= {"owner", "zones", "disk_gib", "capacity_mode", "nodes_max"}
    assert "GpuNodeGroup x: 5 faults" in str(caught.value)


@pytest.mark.parametrize(
    ("what", "changes", "paths"),
    [
        (
            "gcp pool",
            {"owner": "", "capacity_mode": "queued", "reservation": "r", "nodes_min": 1, "zones": ["us-east1-b"]},
            {"owner", "reservation", "nodes_min", "nodes_initial", "zones[0]"},
        ),
        (
            "azure pool",
            {"vm_size": "Standard_NC24ads_A100_v4", "zones": ["1", "4"], "reservation": GROUP, "disk_gib": 1},
            {"vm_size", "zones", "zones[1]", "reservation", "disk_gib"},
        ),
        (
            "eks pool",
            {"zones": ["us-west-2a"], "disk_gib": 1, "capacity_mode": "reservation", "namespaces": "chat"},
            {"zones[0]", "disk_gib", "reservation", "namespaces"},
        ),
    ],
)
def test_all_faults_of_one_construction_come_at_once_on_every_cloud(what, changes, paths):
    check, args = CHECKS[what]
    with pytest.raises(ArgsError) as caught:
        check({**args, **changes})
    assert {fault.path for fault in caught.value.faults} >= paths
    text = str(caught.value)
    assert all(path in text for path in paths)


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("gcp pool", {"zones": ["us-central1-f"], "capacity_mode": "reservation", "reservation": "r", "gang": False}),
        ("aws pool", {"instance_type": "p6-b200.48xlarge", "image": DLAMI.format("99.0")}),  # in no row
        ("aws pool", {"image": DLAMI.format("2.4")}),  # an H100 takes CUDA 12.4
        *(
            ("run", {"image": f"{image}@sha256:{'0' * 64}"})
            for image in ("ghcr.io/a/b", "docker.io/a/b", "a/b", "vllm")
        ),
    ],
)
def test_what_the_cloud_takes_or_nobody_knows_is_not_refused(what, changes):
    check, args = CHECKS[what]
    accepted = check({**args, **changes})
    assert accepted is None


def test_a_missing_argument_is_named():
    with pytest.raises(ArgsError) as caught:
        aws_pool({key: value for key, value in AWS.items() if key != "vpc_id"})
    assert "vpc_id: is missing" in str(caught.value)
