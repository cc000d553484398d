"""HyperPod: arguments, refusals, policies and the state that Cloud Control is asked for. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.aws import plans
from components.aws.checks import check_place, check_sold
from components.faults import Faults, check_owned
from components.machines import find_shape
from components.owned import OwnedArgs
from sizing.catalog.records import Shape

DEEP_CHECKS = ("InstanceStress", "InstanceConnectivity")
_GROUP = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
_PLAN = re.compile(r"arn:aws[\w-]*:sagemaker:[\w-]+:\d{12}:training-plan/[\w-]+")
_SCRIPTS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/[^\s]*)?")
_EKS = re.compile(r"arn:aws[\w-]*:eks:[\w-]+:\d{12}:cluster/[\w-]+")


class HyperPodGroupArgs(TypedDict):
    """Equal machines of a HyperPod cluster, in one zone."""

    name: str
    """Name of the group."""
    instance_type: str
    """EC2 instance type that the catalog knows and HyperPod offers; written without ml."""
    instances: int
    """Machines; HyperPod keeps as many, and replaces those that fail."""
    zone: str
    """One of the cluster's zones: machines of one job stand in one."""
    training_plan_arn: NotRequired[str]
    """Training plan that is bought already, whose machines these are."""
    deep_health_checks: NotRequired[list[str]]
    """Tests before a machine joins: InstanceStress, InstanceConnectivity; both on accelerators unless told."""
    disk_gib: NotRequired[int]
    """Further disk of each machine, mounted at /opt/sagemaker; 500 unless told."""


class HyperPodClusterArgs(OwnedArgs):
    """A HyperPod cluster whose work EKS schedules."""

    region: str
    """AWS region."""
    zones: list[str]
    """Where the subnets lie."""
    vpc_id: pulumi.Input[str]
    """VPC of the subnets."""
    vpc_cidr: str
    """IPv4 range of the VPC: HTTPS to the endpoints in it is the only way out, beside S3 and Lustre."""
    subnet_ids: pulumi.Input[list[str]]
    """Private subnets, one for each zone."""
    s3_prefix_list_id: NotRequired[pulumi.Input[str]]
    """Prefix list of the S3 gateway endpoint."""
    account: NotRequired[str]
    """AWS account id, where it is known beforehand: policies can then be read, and judged, before anything is built."""
    kms_key_arn: NotRequired[pulumi.Input[str]]
    """Key for disks; one is made unless given."""
    eks_cluster_arn: pulumi.Input[str]
    """EKS cluster that schedules the work; HyperPod's own Helm chart has to be in it."""
    cluster_security_group_id: pulumi.Input[str]
    """Security group that EKS made for the cluster; without it the machines cannot join."""
    groups: list[HyperPodGroupArgs]
    """Groups of machines."""
    lifecycle_scripts: str
    """s3:// folder of the scripts that run on each new machine."""
    first_script: NotRequired[str]
    """Script in that folder that runs first; on_create.sh unless told."""
    continuous: NotRequired[bool]
    """Start with the machines that there are and add the others as they come; on unless told."""


def check_hyperpod(name: str, args: HyperPodClusterArgs) -> None:
    faults = Faults(f"HyperPodCluster {name}")
    faults.unknown_keys(args, HyperPodClusterArgs)
    check_owned(faults, args)
    check_place(faults, args)
    cluster = args.get("eks_cluster_arn")
    faults.must(
        not isinstance(cluster, str) or bool(_EKS.fullmatch(cluster)),
        "eks_cluster_arn",
        f"must be the ARN of an EKS cluster, got {cluster!r}",
    )
    scripts = str(args.get("lifecycle_scripts", ""))
    faults.must(
        bool(_SCRIPTS.fullmatch(scripts)),
        "lifecycle_scripts",
        f"must be an s3:// folder, got {scripts!r}: each new machine runs its scripts",
    )
    first = str(args.get("first_script", "on_create.sh"))
    faults.must(
        bool(re.fullmatch(r"[\w.-]+\.sh", first)),
        "first_script",
        f"must be the name of a shell script, got {first!r}",
    )
    groups = args.get("groups") or []
    faults.must(bool(groups), "groups", "is empty; name at least one group of machines")
    names = [str(group.get("name")) for group in groups]
    twice = sorted({one for one in names if names.count(one) > 1})
    faults.must(not twice, "groups", f"name a group twice: {', '.join(twice)}")
    for number, group in enumerate(groups):
        _check_group(faults, f"groups[{number}]", group, args)
    faults.done()


def _check_group(faults: Faults, at: str, group: Mapping[str, Any], args: HyperPodClusterArgs) -> None:
    faults.unknown_keys(group, HyperPodGroupArgs, at)
    given = str(group.get("name", ""))
    faults.must(
        bool(_GROUP.fullmatch(given)), f"{at}.name", f"must be letters, digits and -, at most 63, got {given!r}"
    )
    kind = str(group.get("instance_type"))
    shape = find_shape("aws", kind)
    if kind.startswith("ml."):
        faults.add(f"{at}.instance_type", f"is written without ml., got {kind!r}", fix=kind.removeprefix("ml."))
    elif shape is None:
        faults.add(
            f"{at}.instance_type",
            f"is not in the catalog: {kind!r}",
            fix="add it (docs/howto/add-a-machine-type.md) or name a type that `sizewell size` offers",
        )
    else:
        uses = ", ".join(sorted(shape.managed)) or "nothing"
        faults.must(
            "hyperpod" in shape.managed,
            f"{at}.instance_type",
            f"SageMaker does not offer {kind} for hyperpod; it offers it for {uses}",
        )
        check_sold(faults, args, kind)
    for key, low, high in (("instances", 0, 6758), ("disk_gib", 1, 16384)):
        value = group.get(key, 500 if key == "disk_gib" else None)
        right = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        faults.must(right, f"{at}.{key}", f"must be a plain whole number, {low} to {high}, got {value!r}")
    zone = group.get("zone")
    faults.must(
        zone in (args.get("zones") or []),
        f"{at}.zone",
        f"must be one of the cluster's zones, {', '.join(map(str, args.get('zones') or []))}, got {zone!r}",
    )
    plan = group.get("training_plan_arn")
    faults.must(
        plan is None or bool(_PLAN.fullmatch(str(plan))),
        f"{at}.training_plan_arn",
        f"must be the ARN of a training plan that is bought already, got {plan!r}",
    )
    for number, check in enumerate(group.get("deep_health_checks") or []):
        faults.must(
            check in DEEP_CHECKS,
            f"{at}.deep_health_checks[{number}]",
            f"must be one of {', '.join(DEEP_CHECKS)}, got {check!r}",
        )


def deep_checks(group: HyperPodGroupArgs, shape: Shape | None) -> list[str]:
    """What a machine is tested for before it joins: stress and connectivity where it has accelerators."""
    default = list(DEEP_CHECKS) if shape is not None and shape.accelerators else []
    return list(group.get("deep_health_checks", default))


def desired_state(
    args: HyperPodClusterArgs,
    *,
    cluster: str,
    role_arn: str,
    key_arn: str,
    eks_arn: str,
    security_groups: Sequence[str],
    subnet_ids: Sequence[str],
    tags: Mapping[str, str],
) -> str:
    """The cluster as Cloud Control takes it (AWS::SageMaker::Cluster); the AWS provider has no type of its own for it.

    A machine that fails is replaced, always. Each group overrides the cluster's network by its own zone's subnet.
    """
    by_zone = dict(zip(args["zones"], subnet_ids, strict=True))
    place = {"SecurityGroupIds": list(security_groups)}
    groups = []
    for group in args["groups"]:
        one: dict[str, Any] = {
            "InstanceGroupName": group["name"],
            "InstanceType": f"ml.{group['instance_type']}",
            "InstanceCount": group["instances"],
            "ExecutionRole": role_arn,
            "LifeCycleConfig": {
                "SourceS3Uri": args["lifecycle_scripts"],
                "OnCreate": args.get("first_script", "on_create.sh"),
            },
            "InstanceStorageConfigs": [
                {"EbsVolumeConfig": {"VolumeSizeInGB": group.get("disk_gib", 500), "VolumeKmsKeyId": key_arn}}
            ],
            "OverrideVpcConfig": {**place, "Subnets": [by_zone[group["zone"]]]},
        }
        if checks := deep_checks(group, find_shape("aws", group["instance_type"])):
            one["OnStartDeepHealthChecks"] = checks
        if "training_plan_arn" in group:
            one["TrainingPlanArn"] = group["training_plan_arn"]
        groups.append(one)
    state: dict[str, Any] = {
        "ClusterName": cluster,
        "NodeRecovery": "Automatic",
        "Orchestrator": {"Eks": {"ClusterArn": eks_arn}},
        "VpcConfig": {**place, "Subnets": list(subnet_ids)},
        "InstanceGroups": groups,
        "Tags": [{"Key": key, "Value": value} for key, value in sorted(tags.items())],
    }
    if args.get("continuous", True):
        state["NodeProvisioningMode"] = "Continuous"
    return json.dumps(state, sort_keys=True)


def scripts_bucket(location: str) -> str:
    """The bucket of an s3:// location.

    >>> scripts_bucket("s3://sagemaker-lifecycle/hyperpod")
    'sagemaker-lifecycle'
    """
    return location.removeprefix("s3://").partition("/")[0]


def machine_policy(*, vpc_arn: str, cluster_arn: str) -> str:
    """What a HyperPod machine does beside AWS's own policy for it: its pods' addresses, and their identities.

    Interfaces are made and changed in the cluster's VPC only, identities are those of its EKS cluster; what AWS lets
    nobody restrict is reading.
    """
    look = [
        "ec2:DescribeDhcpOptions",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeInstances",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeTags",
        "ec2:DescribeVpcs",
    ]
    change = [
        "ec2:AssignPrivateIpAddresses",
        "ec2:AttachNetworkInterface",
        "ec2:CreateNetworkInterface",
        "ec2:CreateNetworkInterfacePermission",
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteNetworkInterfacePermission",
        "ec2:DetachNetworkInterface",
        "ec2:ModifyNetworkInterfaceAttribute",
        "ec2:UnassignPrivateIpAddresses",
    ]
    arn = vpc_arn.partition(":vpc/")[0]
    own = [f"{arn}:{kind}/*" for kind in ("network-interface", "subnet", "security-group")]
    return plans.policy(
        [
            {"Sid": "Look", "Effect": "Allow", "Action": [*look, "ecr:GetAuthorizationToken"], "Resource": "*"},
            {
                "Sid": "Addresses",
                "Effect": "Allow",
                "Action": change,
                "Resource": own,
                "Condition": {"ArnEqualsIfExists": {"ec2:Vpc": vpc_arn}},
            },
            {
                "Sid": "Attach",
                "Effect": "Allow",
                "Action": "ec2:AttachNetworkInterface",
                "Resource": f"{arn}:instance/*",
            },
            {
                "Sid": "Names",
                "Effect": "Allow",
                "Action": "ec2:CreateTags",
                "Resource": f"{arn}:network-interface/*",
            },
            {"Sid": "Pods", "Effect": "Allow", "Action": "eks-auth:AssumeRoleForPodIdentity", "Resource": cluster_arn},
        ]
    )
