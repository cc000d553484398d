"""HyperPod: arguments, refusals, policies and the state that Cloud Control is asked for. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

import pulumi

from sizewell.components.aws import policies
from sizewell.components.aws.args import SubnetsArgs, WriterArgs, pool_args
from sizewell.components.aws.checks import check_place, check_region, check_sold
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.bounds import Pattern
from sizewell.components.facts import guard_args
from sizewell.components.faults import Faults, check_guard, check_labels
from sizewell.components.forms import InsideArgs, PlaceArgs, PodsArgs
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.owned import GuardArgs
from sizewell.components.settings import Settings
from sizewell.components.tags import legal
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.records.decision import Decision, Pool, Workload

DEEP_CHECKS = ("InstanceStress", "InstanceConnectivity")
_GROUP = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
_PLAN = re.compile(r"arn:aws[\w-]*:sagemaker:[\w-]+:\d{12}:training-plan/[\w-]+")
_SCRIPTS = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/[^\s]*)?")
CHART = Pattern(
    r"oci://[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)+|\S+\.tgz",
    "an oci:// address or a .tgz file",
    fix="pack helm_chart/HyperPodHelmChart of github.com/aws/sagemaker-hyperpod-cli and push it to ECR",
)


class HyperPodGroupArgs(TypedDict):
    """Equal machines of a HyperPod cluster, in one zone."""

    name: str
    """Name of the group."""
    instance_type: str
    """EC2 instance type that the catalog knows and HyperPod offers; written without ml."""
    instances: int
    """Machines; HyperPod keeps that number and replaces those that fail."""
    zone: str
    """One of the cluster's zones: all machines of a job are in one."""
    labels: NotRequired[dict[str, str]]
    """Kubernetes labels of the machines."""
    taints: NotRequired[list[str]]
    """Keys of taints that keep other pods off the machines, as nvidia.com/gpu."""
    training_plan_arn: NotRequired[str]
    """Training plan, already purchased, that provides the machines."""
    deep_health_checks: NotRequired[list[str]]
    """Tests before a machine joins: InstanceStress, InstanceConnectivity; default both on accelerators."""
    disk_gib: NotRequired[int]
    """Additional disk of each machine, mounted at /opt/sagemaker; default 500."""


class HyperPodClusterArgs(PlaceArgs, SubnetsArgs, PodsArgs):
    """A HyperPod cluster whose work EKS schedules."""

    zones: list[str]
    """Where the subnets lie."""
    kms_key_alias: NotRequired[str]
    """Alias of that key, as alias/name: so that its users can be checked before the key exists."""
    eks_cluster_arn: pulumi.Input[str]
    """EKS cluster that schedules the work; it needs HyperPod's Helm chart."""
    cluster_security_group_id: pulumi.Input[str]
    """Security group that EKS made for the cluster; machines need it to join."""
    groups: list[HyperPodGroupArgs]
    """Groups of machines."""
    lifecycle_scripts: NotRequired[str]
    """s3:// folder of scripts that run on each new machine; default none."""
    first_script: NotRequired[Annotated[str, Pattern(r"[\w.-]+\.sh", "the name of a shell script")]]
    """Script in that folder that runs first; on_create.sh by default."""
    continuous: NotRequired[bool]
    """Start with the available machines and add the others later; default on."""
    writer: NotRequired[WriterArgs]
    """Checkpoint store of the workload; pods of the service account may write to it."""
    guard: NotRequired[GuardArgs]
    """Idle guard; it notifies only, as HyperPod keeps the number of machines."""


class HyperPodAgentsArgs(InsideArgs):
    """AWS's own Helm chart for HyperPod, in an EKS cluster."""

    region: str
    """AWS region."""
    chart: Annotated[str, CHART]
    """The packed chart, as oci://ACCOUNT.dkr.ecr.REGION.amazonaws.com/hyperpod-helm-chart, or a .tgz file."""
    version: NotRequired[str]
    """Version of the chart in its registry."""


def check_agents(name: str, args: HyperPodAgentsArgs) -> None:
    faults = Faults.of(name, args, HyperPodAgentsArgs)
    check_region(faults, args)
    chart = str(args.get("chart", ""))
    faults.must(
        not chart.startswith("oci://") or bool(args.get("version")),
        "version",
        "is missing: without it every update would use the newest chart in the registry",
    )
    faults.done()


def agent_values(region: str) -> dict[str, object]:
    """Resilience, and nothing that other components bring: no device plugins, no operators of jobs."""
    off = {"devicePlugin": {"enabled": False}}
    return {
        "global": {"region": region},
        "health-monitoring-agent": {"enabled": True, "region": region},
        "deep-health-check": {"enabled": True},
        "job-auto-restart": {"enabled": True},
        "hyperpod-patching": {"enabled": True},
        "nvidia-device-plugin": off,
        "neuron-device-plugin": off,
        "aws-efa-k8s-device-plugin": off,
        "trainingOperators": {"enabled": False},
        "mpi-operator": {"enabled": False},
    }


def check_hyperpod(name: str, args: HyperPodClusterArgs) -> None:
    faults = Faults.of(name, args, HyperPodClusterArgs)
    check_place(faults, args)
    scripts = args.get("lifecycle_scripts")
    faults.must(
        scripts is None or bool(_SCRIPTS.fullmatch(str(scripts))),
        "lifecycle_scripts",
        f"must be an s3:// folder, got {scripts!r}: each new machine runs its scripts",
    )
    faults.must(
        scripts is not None or "first_script" not in args,
        "first_script",
        "is given without lifecycle_scripts, its folder",
    )
    check_guard(faults, args)
    faults.must(
        "guard" not in args or args["guard"].get("action") in (None, "notify"),
        "guard.action",
        "must be notify: HyperPod keeps the number of machines",
        fix="let the cluster expire with its stack (ttl in the spec), or use an EksNodeGroup",
    )
    check_labels(faults, args, "namespace", "service_account")
    groups = args.get("groups") or []
    faults.must(bool(groups), "groups", "is empty; name at least one group of machines")
    names = [str(group.get("name")) for group in groups]
    twice = sorted({group_name for group_name in names if names.count(group_name) > 1})
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
        faults.not_in_catalog(f"{at}.instance_type", kind)
    else:
        uses = ", ".join(sorted(shape.managed)) or "nothing"
        faults.must(
            "hyperpod" in shape.managed,
            f"{at}.instance_type",
            f"SageMaker does not offer {kind} for hyperpod; it offers it for {uses}",
        )
        check_sold(faults, {**args, "zones": [group.get("zone")]}, kind)  # the other zones are for other groups
    for key, low, high in (("instances", 0, 6758), ("disk_gib", 1, 16384)):
        value = group.get(key, 500 if key == "disk_gib" else None)
        right = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        faults.must(right, f"{at}.{key}", f"must be a whole number, {low} to {high}, got {value!r}")
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
    there = str(plan).split(":")[3] if plan is not None and str(plan).count(":") > 3 else args.get("region")
    faults.must(
        there == args.get("region"),
        f"{at}.training_plan_arn",
        f"is in {there}, and everything here is in {args.get('region')}: {plan}",
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
        entry: dict[str, object] = {
            "InstanceGroupName": group["name"],
            "InstanceType": f"ml.{group['instance_type']}",
            "InstanceCount": group["instances"],
            "ExecutionRole": role_arn,
            "InstanceStorageConfigs": [
                {"EbsVolumeConfig": {"VolumeSizeInGB": group.get("disk_gib", 500), "VolumeKmsKeyId": key_arn}}
            ],
            "OverrideVpcConfig": {**place, "Subnets": [by_zone[group["zone"]]]},
        }
        if scripts := args.get("lifecycle_scripts"):
            first = args.get("first_script", "on_create.sh")
            entry["LifeCycleConfig"] = {"SourceS3Uri": scripts, "OnCreate": first}
        if marks := _marks(group):
            entry["KubernetesConfig"] = marks
        if checks := deep_checks(group, find_shape("aws", group["instance_type"])):
            entry["OnStartDeepHealthChecks"] = checks
        if "training_plan_arn" in group:
            entry["TrainingPlanArn"] = group["training_plan_arn"]
        groups.append(entry)
    state: dict[str, object] = {
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


def _marks(group: HyperPodGroupArgs) -> dict[str, object]:
    """Labels and taints of a group's machines, where it has some."""
    taints = [{"Key": key, "Value": "present", "Effect": "NoSchedule"} for key in group.get("taints", [])]
    marks = {"Labels": dict(group.get("labels", {})), "Taints": taints}
    return {key: value for key, value in marks.items() if value}


def hyperpod_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
    """Arguments of the one group of a pool, all but the network's and the EKS cluster's ids."""
    known, shape = pool_args(decision, workload, pool, settings), find_shape("aws", pool.instance_type)
    assert shape is not None  # noqa: S101  (a decision names a type of the catalog)
    efa, name = eks_node_config.has_efa(shape, gang=known["gang"]), pool_name(workload, pool)
    group = {
        "name": name,
        "instance_type": pool.instance_type,
        "instances": pool.nodes_max,
        "zone": known["zones"][0],
        "disk_gib": known["disk_gib"],
        "labels": eks_node_config.labels(shape, pool=name, efa=efa),
        "taints": [taint["key"] for taint in eks_node_config.taints(shape)],
    }
    kept = ("environment", "owner", "cost_center", "expires", "facts", "region", "writer")
    held: dict[str, object] = {key: value for key, value in known.items() if key in kept}
    space = settings.namespace(workload.spec.name)
    if space != "default":
        held["namespace"] = space
    return {**held, **guard_args(workload, prepaid=True), "groups": [group]}


def scripts_bucket(location: str) -> str:
    """The bucket of an s3:// location.

    >>> scripts_bucket("s3://sagemaker-lifecycle/hyperpod")
    'sagemaker-lifecycle'
    """
    return location.removeprefix("s3://").partition("/")[0]


def machine_policy(*, region: str, vpc: str, cluster_arn: str, stack: str) -> str:
    """What a HyperPod machine does beside AWS's own policy for it: its pods' addresses, and their identities.

    Interfaces are made and changed in the VPC `vpc` only; where that stands in the same update ("") they are made in
    subnets of the stack only, and nothing of another stack is changed. Identities are those of its EKS cluster, of any
    of this region where its ARN is not known yet (""). The policy is known at preview in either case, and reaches the
    role's own account alone. What AWS lets nobody restrict is reading.
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
        "ec2:CreateNetworkInterfacePermission",
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteNetworkInterfacePermission",
        "ec2:UnassignPrivateIpAddresses",
    ]
    attach, modify = ["ec2:AttachNetworkInterface", "ec2:DetachNetworkInterface"], "ec2:ModifyNetworkInterfaceAttribute"
    make = "ec2:CreateNetworkInterface"
    arn = f"arn:{policies.partition(region)}:ec2:{region}:*"
    pods = cluster_arn or f"arn:{policies.partition(region)}:eks:{region}:*:cluster/*"
    interfaces, subnets, groups = (f"{arn}:{kind}/*" for kind in ("network-interface", "subnet", "security-group"))
    mine = {"aws:ResourceTag/sizewell-stack": legal(stack)}
    own: dict[str, object] = {"ArnLikeIfExists": {"ec2:Vpc": f"{arn}:vpc/{vpc}"}}
    from_ours = own
    if not vpc:  # the cluster's own group and the interfaces have no tag of ours
        own, from_ours = {"StringEqualsIfExists": mine}, {"StringEquals": mine}
    allowed: list[tuple[str, list[str], str, dict[str, object]]] = [
        ("Addresses", [*change, *attach, modify, make], interfaces, own),
        ("Groups", [modify, make], groups, own),
        ("Subnets", [make], subnets, from_ours),
        ("Attach", attach, f"{arn}:instance/*", {}),
    ]
    return policies.policy(
        [
            {"Sid": "Look", "Effect": "Allow", "Action": [*look, "ecr:GetAuthorizationToken"], "Resource": "*"},
            *[
                {
                    "Sid": name,
                    "Effect": "Allow",
                    "Action": actions,
                    "Resource": where,
                    **({"Condition": condition} if condition else {}),
                }
                for name, actions, where, condition in allowed
            ],
            {
                "Sid": "Names",
                "Effect": "Allow",
                "Action": "ec2:CreateTags",
                "Resource": f"{arn}:network-interface/*",
            },
            {"Sid": "Pods", "Effect": "Allow", "Action": "eks-auth:AssumeRoleForPodIdentity", "Resource": pods},
        ]
    )
