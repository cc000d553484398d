"""Arguments of the EKS components, and how a decision becomes them. Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

import pulumi

from sizewell.components.access import Access
from sizewell.components.aws.args import (
    AccountArgs,
    MachineGroupArgs,
    SubnetsArgs,
    pool_args,
)
from sizewell.components.aws.instances import runtime_of
from sizewell.components.facts import is_gang, owned_args
from sizewell.components.forms import SYSTEM_NODES, InsideArgs, PlaceArgs, PodsArgs, VolumeArgs
from sizewell.components.kubernetes_versions import SUPPORT, default_version
from sizewell.components.machines import find_shape
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Pool, Workload


class EksClusterArgs(PlaceArgs, SubnetsArgs):
    """An EKS control plane, private unless ranges are named, with its system pool."""

    zones: list[str]
    """Subnets; EKS requires at least two."""
    version: NotRequired[str]
    """Kubernetes version, a change of which upgrades the cluster. Without one the cluster is built with 1.36 and keeps
    what AWS upgrades it to."""
    support: NotRequired[Annotated[str, SUPPORT]]
    """extended: AWS keeps a version for twelve months more, at six times the fee of the cluster once its standard
    support has ended; default standard: AWS upgrades the cluster by itself then."""
    hyperpod: NotRequired[bool]
    """Whether machines of HyperPod join it, which takes fewer versions: without `version` it is built with 1.35."""
    public_cidrs: NotRequired[list[str]]
    """IPv4 ranges that may reach the API over the internet; the API is private unless some are given."""
    api_cidrs: NotRequired[list[str]]
    """Private IPv4 ranges, such as the runners', that may reach the API's private address, besides the machines."""
    admin_arns: NotRequired[list[str]]
    """IAM roles that administer the cluster; default the role that creates it."""
    system_type: NotRequired[str]
    """Instance type of the system pool, without accelerators; m7i.large by default."""
    system_nodes: NotRequired[Annotated[int, SYSTEM_NODES]]
    """Machines of the system pool; default 2. On demand: so that schedulers are not reclaimed."""
    deletion_protection: NotRequired[bool]
    """AWS refuses to delete the cluster; default on in prod."""
    addon_versions: NotRequired[dict[str, str]]
    """Versions of add-ons by name, as vpc-cni: v1.21.1-eksbuild.8; EKS's default for the others."""
    lustre: NotRequired[bool]
    """Whether pods mount FSx for Lustre."""
    disks: NotRequired[bool]
    """Whether pods claim disks, as a notebook does: the EBS driver is an add-on."""


class EksNodeGroupArgs(MachineGroupArgs, SubnetsArgs, PodsArgs):
    """Equal machines with GPUs, Trainium or Inferentia that an EKS cluster manages."""

    cluster: pulumi.Input[str]
    """Name of the cluster."""
    cluster_security_group_id: pulumi.Input[str]
    """Security group that EKS made for the cluster; machines need it to join."""
    lustre: NotRequired[bool]
    """Whether pods mount FSx for Lustre."""


class EksDevicePluginsArgs(InsideArgs):
    """What lets pods ask for accelerators and EFA: pinned Helm charts."""

    runtimes: list[str]
    """Kinds of accelerator in the cluster: cuda, neuron."""
    efa: NotRequired[bool]
    """Whether machines have EFA."""
    hyperpod: NotRequired[bool]
    """Whether machines are HyperPod's, which tests them while nothing else runs."""
    region: NotRequired[str]
    """AWS region, whose own registry then has EFA's plug-in."""
    registry: NotRequired[pulumi.Input[str]]
    """Mirror of the public images for a network without internet access: the output of an ImageMirror."""


class EksAutoscalerArgs(InsideArgs):
    """What brings machines for pods that wait: a pinned Helm chart and its role."""

    region: str
    """AWS region."""
    cluster: pulumi.Input[str]
    """Name of the cluster, as given to its node groups."""
    pools: NotRequired[dict[str, str]]
    """Capacity mode (reservation, spot, on-demand) by name of the stack's EksNodeGroup: which are filled first, in this
    order; without it the one that fits a pod best."""
    registry: NotRequired[pulumi.Input[str]]
    """Mirror of the public images for a network without internet access: the output of an ImageMirror."""
    version: NotRequired[pulumi.Input[str]]
    """The cluster's Kubernetes version, an output of EksCluster, which the autoscaler follows; 1.36 by default."""


class ImageMirrorArgs(PlaceArgs, AccountArgs):
    """Repositories in ECR for public images, which machines without internet access cannot pull."""

    kms_key_arn: NotRequired[pulumi.Input[str]]
    """Key for the images; default AWS's own."""
    images: list[str]
    """Public images with their tags, as nvcr.io/nvidia/k8s-device-plugin:v0.17.4."""


class LustreVolumeArgs(VolumeArgs):
    """A file system of FSx for pods of one namespace."""

    file_system_id: pulumi.Input[str]
    """Id of the file system."""
    dns_name: pulumi.Input[str]
    """Its DNS name."""
    mount_name: pulumi.Input[str]
    """Its name in the mount command."""


def eks_cluster_args(
    decision: Decision, region: str, zones: Sequence[str], workloads: Sequence[Workload], access: Access | None = None
) -> dict[str, object]:
    """Arguments of the one cluster of a region, all but the network's ids."""
    lustre = any(workload.storage is not None and workload.storage.kind == "fsx-lustre" for workload in workloads)
    args: dict[str, object] = {**owned_args(decision), "region": region, "zones": list(zones), "lustre": lustre}
    if any(workload.kind == "notebook" for workload in workloads):
        args["disks"] = True
    if access is not None and access.ranges:
        args["public_cidrs" if access.mode == "public" else "api_cidrs"] = list(access.ranges)
    return args


def eks_pool_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
    """Arguments of one pool, all but the network's and the cluster's ids; as those of a node group without EKS."""
    lustre = workload.storage is not None and workload.storage.kind == "fsx-lustre"
    space = settings.namespace(workload.spec.name)
    args = {**pool_args(decision, workload, pool, settings), "lustre": lustre}
    return args if space == "default" else {**args, "namespace": space}


def plugin_args(decision: Decision, pools: Sequence[tuple[Workload, Pool]]) -> dict[str, Any]:
    """Which device plugins the pools need."""
    shapes = [shape for _, pool in pools if (shape := find_shape("aws", pool.instance_type)) is not None]
    efa = any(
        shape.fabric == "efa" and is_gang(workload, pool)
        for workload, pool in pools
        if (shape := find_shape("aws", pool.instance_type)) is not None
    )
    runtimes = sorted({runtime_of(shape) for shape in shapes} - {""})
    return {**owned_args(decision), "runtimes": runtimes, "efa": efa}


def version_args(pools: Sequence[tuple[Workload, Pool]], settings: Settings) -> dict[str, Any]:
    """The stated version and support of the cluster of these pools, and whether HyperPod has to take it too."""
    stated: dict[str, Any] = settings.kubernetes_args()
    return {**stated, "hyperpod": True} if any(pool.managed == "hyperpod" for _, pool in pools) else stated


def built_version(pools: Sequence[tuple[Workload, Pool]], settings: Settings) -> str:
    """The version that the cluster of these pools is built with."""
    args = version_args(pools, settings)
    return str(args.get("version", default_version(service_of(args)).version))


def service_of(args: Mapping[str, Any]) -> str:
    """Whose table of versions holds for a cluster."""
    return "hyperpod" if args.get("hyperpod") else "eks"


def autoscaler_args(decision: Decision, region: str, pools: dict[str, str]) -> dict[str, Any]:
    """Arguments of the autoscaler, all but the cluster's; `pools`: capacity mode by name of the pool."""
    return {**owned_args(decision), "region": region, "pools": pools}
