"""What a decision can ask for on AWS beside plain machines: Kubernetes, fleets, shared storage, budget, hard end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi_aws import get_caller_identity_output

from sizewell.components import lustre, shared_program
from sizewell.components.aws.args import pool_args
from sizewell.components.facts import has_queues, lasting_args, owned_args
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.launch.target import Target, beside
from sizewell.launch.volumes import DATA
from sizewell.sizing.billing import standing
from sizewell.sizing.records.decision import Decision, Pool, Workload

if TYPE_CHECKING:
    from sizewell.components.aws.eks.volumes import LustreVolume
    from sizewell.components.aws.storage.shared import SharedStorage

Pair = tuple[Workload, Pool]
Subnets = Callable[[Sequence[str]], dict[str, Any]]  # zones -> the argument `subnet_ids`
Files = dict[str, "SharedStorage"]  # by the workload that reads from it
MOUNTING = (*standing.ON_EKS, "machines", "fleet")  # whose machines or pods mount a file system


def target_of(workload: Workload, pool: Pool) -> str:
    """Who runs the pool: sagemaker, hyperpod, kubernetes, fleet or machines."""
    return standing.target_of(pool.managed, workload.scheduler, cloud="aws", fleet=pool.provision == "fleet")


def has_lustre(workload: Workload) -> bool:
    return workload.storage is not None and workload.storage.kind == "fsx-lustre"


def endpoint_services(pools: Sequence[Pair]) -> list[str]:
    """Interface endpoints that the pools need."""
    return list(standing.endpoint_services([target_of(workload, pool) for workload, pool in pools]))


def network_zones(region: str, zones: Sequence[str], pools: Sequence[Pair]) -> list[str]:
    """The pools' zones, and more where Kubernetes or SageMaker wants two that are no Local Zones.

    >>> network_zones("us-east-1", ["us-east-1b"], [])
    ['us-east-1b']
    """
    chosen = list(dict.fromkeys(zones))
    if not {target_of(workload, pool) for workload, pool in pools} & {*standing.ON_EKS, "sagemaker"}:
        return chosen
    regular = control_zones(chosen)
    spare = [f"{region}{letter}" for letter in "abc"]
    if by_id := [zone for zone in regular if "-az" in zone]:  # ids and names are not told apart without asking AWS
        head = by_id[0].partition("-az")[0]
        spare = [f"{head}-az{number}" for number in (1, 2, 4)]
    return [*chosen, *[zone for zone in spare if zone not in chosen][: max(0, 2 - len(regular))]]


def control_zones(zones: Sequence[str]) -> list[str]:
    """Where a control plane can stand: every zone that is no Local Zone.

    >>> control_zones(["us-east-1a", "use1-atl2-az1", "us-east-1-dfw-2a", "us-east-1b"])
    ['us-east-1a', 'us-east-1b']
    """
    return [zone for zone in zones if not standing.is_local_zone(zone)]


def key_named(region: str, settings: Settings) -> dict[str, str]:
    """How the key of a network that we build is called; what is adopted names its key itself."""
    from sizewell.components.aws.network import key_alias

    return {} if settings.network else {"kms_key_alias": key_alias(f"network-{region}")}


def build_fleet(
    decision: Decision,
    pair: Pair,
    settings: Settings,
    *,
    files: Files,
    place: dict[str, Any],
    subnets: Subnets,
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """Spot machines of several types and zones, each of which works for itself."""
    from sizewell.components.aws import launching
    from sizewell.components.aws.fleets.spot import SpotFleet

    args = {**fleet_args(decision, *pair, settings), **launching.boot(decision, *pair, settings)}
    args |= mounts(pair[0], files)
    name = pool_name(*pair)
    fleet = SpotFleet.of(name, args, place, subnets(args["zones"]), opts=options)
    return {"fleet": fleet.fleet_id, "role": fleet.role_arn, "queue": fleet.queue_url}


FLEET_KEYS = (
    "environment", "owner", "cost_center", "expires", "facts", "region", "zones", "nodes_initial", "nodes_max",
    "disk_gib", "image", "start_script", "writer", "guard",
)  # fmt: skip


def fleet_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, object]:
    """A fleet as a decision says it: its own type first, then the fallbacks of its region."""
    args = pool_args(decision, workload, pool, settings)
    others = [fallback.instance_type for fallback in pool.fallbacks if fallback.region == pool.region]
    types = list(dict.fromkeys([pool.instance_type, *others]))
    kept = {key: value for key, value in args.items() if key in FLEET_KEYS}
    return {**kept, "instance_types": types}


def build_kubernetes(
    decision: Decision,
    region: str,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    files: Files,
    place: dict[str, Any],
    zones: Sequence[str],
    subnets: Subnets,
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """The one EKS cluster of a region, a node group for each pool, device plugins and autoscaler."""
    from sizewell.components.aws.eks.args import (
        autoscaler_args,
        eks_cluster_args,
        eks_pool_args,
        plugin_args,
        version_args,
    )
    from sizewell.components.aws.eks.cluster import EksCluster
    from sizewell.components.aws.eks.nodes import EksNodeGroup
    from sizewell.components.aws.eks.plugins import EksDevicePlugins
    from sizewell.components.aws.launching import target
    from sizewell.components.kubernetes.program import build_runs, namespaces, queues_of

    name, two = f"cluster-{region}", control_zones(zones)[:2]
    args = eks_cluster_args(decision, region, two, [workload for workload, _ in pairs], settings.access)
    args["deletion_protection"] = decision.environment == "prod" and settings.deletion_protection
    args |= version_args(pairs, settings)
    cluster = EksCluster.of(name, args, place, subnets(two), opts=options)
    outputs: dict[str, object] = {name: {"cluster": cluster.cluster_name}}
    modes: dict[str, str] = {}
    resilient = [pair for pair in pairs if target_of(*pair) == "hyperpod"]
    if resilient:
        build = shared_program.service("aws.hyperpod")
        there: dict[str, Any] = {"place": place, "subnets": subnets, "options": options}
        outputs |= build(decision, region, resilient, settings, cluster, **there)
    for workload, pool in pairs:
        if (workload, pool) in resilient:
            continue
        pool_here = eks_pool_args(decision, workload, pool, settings)
        pool_here |= {**place, **subnets(pool_here["zones"]), "cluster": cluster.cluster_name}
        pool_here["cluster_security_group_id"] = cluster.cluster_security_group_id
        modes[pool_name(workload, pool)] = pool_here["capacity_mode"]
        group = EksNodeGroup.of(pool_name(workload, pool), pool_here, opts=options)
        outputs[pool_name(workload, pool)] = {"nodeGroup": group.node_group_name, "role": group.role_arn}
    movable = {pool: mode for pool, mode in modes.items() if mode != "capacity-block"}
    registry = registry_here(decision, region, settings, options)
    if not settings.network:
        _say_what_cannot_be_pulled(pairs, settings)
    mirror = {"registry": registry} if registry != "" else {}
    plugins: Any = {**plugin_args(decision, pairs), "kubeconfig": cluster.kubeconfig, "region": region, **mirror}
    plugins |= {"hyperpod": True} if resilient else {}
    if plugins["runtimes"]:
        EksDevicePlugins(f"plugins-{region}", plugins)
    if movable:
        from sizewell.components.aws.eks.autoscaler import EksAutoscaler

        scaler: Any = {**autoscaler_args(decision, region, movable), "kubeconfig": cluster.kubeconfig, **mirror}
        scaler |= {"cluster": cluster.cluster_name, "version": cluster.version}
        EksAutoscaler(f"autoscaler-{region}", scaler, options)
    flavors = _flavors(decision, pairs, settings)
    inside = namespaces(pairs, settings, where=region, kubeconfig=cluster.kubeconfig)
    claims = build_volumes(decision, pairs, settings, files, kubeconfig=cluster.kubeconfig, options=inside)
    outputs |= {f"{workload}-claim": {"claim": volume.claim_name} for workload, volume in claims.items()}
    reach: dict[str, Any] = {"kubeconfig": cluster.kubeconfig, "registry": registry, "options": inside}
    queues = queues_of(decision, region, pairs, settings, flavors, **reach)
    queued = {flavor["name"] for flavor in flavors if queues}

    def target_here(workload: Workload, pool: Pool) -> Target:
        name = pool_name(workload, pool)
        return target(decision, workload, pool, settings, queue=name if name in queued else "")

    return (
        outputs
        | queues
        | build_runs(
            decision,
            pairs,
            settings,
            where=region,
            target=target_here,
            queued=bool(queues),
            volumes=claims,
            **reach,
        )
    )


def _flavors(decision: Decision, pairs: Sequence[Pair], settings: Settings) -> list[dict[str, object]]:
    """A queue for each pool where jobs of several machines need all of them or none; else none at all."""
    from sizewell.components.aws.eks.args import eks_pool_args
    from sizewell.components.aws.eks.node_config import queue_flavor
    from sizewell.components.aws.launching import target

    if not has_queues(pairs):
        return []
    return [
        queue_flavor(
            eks_pool_args(decision, workload, pool, settings),
            shape,
            queue=pool_name(workload, pool),
            beside=beside(target(decision, workload, pool, settings)),
        )
        for workload, pool in pairs
        if (shape := find_shape("aws", pool.instance_type)) is not None
    ]


def registry_here(
    decision: Decision, region: str, settings: Settings, options: pulumi.ResourceOptions
) -> pulumi.Input[str]:
    """Where the public images of a region's cluster lie: in the mirror of the stack `images-<stack>`, since the network
    that we build has no internet access; "" in an adopted network, which may have one.

    `sizewell:registry` names another mirror, in either case.
    """
    from sizewell.components.aws.eks.images import prefix_of, registry_of

    if given := pulumi.Config("sizewell").get("registry"):
        return given
    if settings.network:
        return ""
    prefix = prefix_of(f"images-{decision.stack}", f"images-{region}")
    if len(settings.accounts) == 1:
        return registry_of(settings.accounts[0], region, prefix)
    provider = options.provider if isinstance(options.provider, pulumi.ProviderResource) else None
    account = get_caller_identity_output(opts=pulumi.InvokeOptions(provider=provider)).account_id
    registry: pulumi.Output[str] = account.apply(lambda number: registry_of(number, region, prefix))
    return registry


def _say_what_cannot_be_pulled(pairs: Sequence[Pair], settings: Settings) -> None:
    """Images of runs that lie outside of ECR, which is all that a network without internet access reaches."""
    for workload in dict.fromkeys(workload.spec.name for workload, _ in pairs):
        run = settings.runs.get(workload)
        if run is not None and ".dkr.ecr." not in run.image:
            pulumi.log.warn(
                f"{workload}: the network has no internet access, so its machines cannot pull {run.image}: push it "
                f"to ECR and name it there (sizewell:run.{workload}.image)"
            )


def build_mirror(
    decision: Decision,
    region: str,
    pairs: Sequence[Pair],
    *,
    settings: Settings,
    account: dict[str, str],
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """The mirror of the public images that a region's EKS cluster runs."""
    from sizewell.components.aws.eks.args import built_version
    from sizewell.components.aws.eks.images import ImageMirror
    from sizewell.components.aws.eks.mirrored import images_of

    owned = lasting_args(decision)  # it outlives its cluster
    images = images_of(decision, pairs, built_version(pairs, settings))
    args: Any = {**owned, **account, "region": region, "images": images}
    made = ImageMirror(f"images-{region}", args, options)
    return {f"images-{region}": {"registry": made.registry, "copies": made.copies}}


def build_storage(
    decision: Decision,
    workload: Workload,
    zone: str,
    *,
    place: dict[str, Any],
    subnets: Subnets,
    options: pulumi.ResourceOptions,
) -> SharedStorage:
    """The file system of a workload in its machines' zone; those that mount it open their own way to its ports."""
    from sizewell.components.aws.storage.args import storage_args
    from sizewell.components.aws.storage.shared import SharedStorage

    args = {**storage_args(decision, workload, zone), **{key: place[key] for key in PLACED if key in place}}
    ids = {**place, **subnets([zone])}["subnet_ids"]
    args["subnet_id"] = pulumi.Output.from_input(ids).apply(lambda known: known[0])
    return SharedStorage.of(f"{workload.spec.name}-data", args, opts=options)


def mounts(workload: Workload, files: Files) -> dict[str, object]:
    """The argument that has machines of our own mount their workload's file system at first boot; {} without one."""
    if workload.spec.name not in files:
        return {}
    made = files[workload.spec.name]
    return {"mounts": [{"dns_name": made.dns_name, "mount_name": made.mount_name, "path": DATA}]}


def build_volumes(
    decision: Decision,
    pairs: Sequence[Pair],
    settings: Settings,
    files: Files,
    *,
    kubeconfig: pulumi.Output[str],
    options: pulumi.ResourceOptions,
) -> dict[str, LustreVolume]:
    """The file systems of a cluster's workloads as claims in the namespaces of their runs, by workload."""
    from sizewell.components.aws.eks.volumes import LustreVolume
    from sizewell.components.aws.storage.args import capacity_gib, storage_args
    from sizewell.components.kubernetes.program import claim_of

    volumes: dict[str, LustreVolume] = {}
    for workload, made in lustre.stored(pairs, files):
        name = workload.spec.name
        there: dict[str, Any] = {"file_system_id": made.file_system_id, "kubeconfig": kubeconfig}
        there |= {"dns_name": made.dns_name, "mount_name": made.mount_name}
        there |= {"claim": claim_of(workload), "namespace": settings.namespace(name)}
        there["capacity_gib"] = capacity_gib(storage_args(decision, workload, "")["bytes_needed"])
        volumes[name] = LustreVolume.of(f"{name}-data", owned_args(decision), there, opts=options)
    return volumes


PLACED = ("account", "vpc_id", "vpc_cidr", "kms_key_arn")


def build_budget(decision: Decision, region: str, account: dict[str, str], options: pulumi.ResourceOptions) -> None:
    """The budget of the stack, where every workload has one."""
    from sizewell.components.limits import budget_args

    args = budget_args(decision, region)
    if args is not None:
        from sizewell.components.aws.limits.guards import BudgetAlarms

        BudgetAlarms.of("budget", args, account, opts=options)
