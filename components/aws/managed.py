"""What a decision can ask for on AWS beside plain machines: SageMaker, Kubernetes, shared storage, budget, hard end."""

from collections.abc import Callable, Sequence
from typing import Any

import pulumi

from components.aws import plans
from components.aws.args import pool_args
from components.machines import pool_name
from components.settings import Settings
from sizing.decision import Decision, Pool, Workload
from sizing.errors import ConfigError, Fault

Pair = tuple[Workload, Pool]
Subnets = Callable[[Sequence[str]], dict[str, Any]]  # zones -> the argument `subnet_ids`
KUBERNETES_SERVICES = ("eks", "eks-auth", "autoscaling", "elasticloadbalancing", "logs")
SAGEMAKER_SERVICES = ("sagemaker.api", "sagemaker.runtime", "logs")


def target_of(workload: Workload, pool: Pool) -> str:
    """Who runs the pool: sagemaker, kubernetes or machines."""
    if pool.managed == "sagemaker":
        return "sagemaker"
    return "kubernetes" if workload.scheduler == "kubernetes" else "machines"


def has_lustre(workload: Workload) -> bool:
    return workload.storage is not None and workload.storage.kind == "fsx-lustre"


def endpoint_services(pools: Sequence[Pair]) -> list[str]:
    """Interface endpoints that the pools need: those of all machines, and those of who runs them."""
    targets = {target_of(workload, pool) for workload, pool in pools}
    wanted = [*plans.DEFAULT_ENDPOINTS]
    wanted += KUBERNETES_SERVICES if "kubernetes" in targets else ()
    wanted += SAGEMAKER_SERVICES if "sagemaker" in targets else ()
    return list(dict.fromkeys(wanted))


def network_zones(region: str, zones: Sequence[str], pools: Sequence[Pair]) -> list[str]:
    """The pools' zones, and a second one where Kubernetes or SageMaker wants two.

    >>> network_zones("us-east-1", ["us-east-1b"], [])
    ['us-east-1b']
    """
    found = list(dict.fromkeys(zones))
    if all(target_of(workload, pool) == "machines" for workload, pool in pools):
        return found
    by_id = any("-az" in zone for zone in found)
    spare = [f"{region}{letter}" for letter in "abc"]
    if by_id:  # a zone's id and name are not told apart without asking AWS: stay with ids
        head = next(zone for zone in found if "-az" in zone).partition("-az")[0]
        spare = [f"{head}-az{number}" for number in (1, 2, 4)]
    return [*found, *[zone for zone in spare if zone not in found][: max(0, 2 - len(found))]]


def build_sagemaker(
    decision: Decision,
    pair: Pair,
    settings: Settings,
    *,
    place: dict[str, Any],
    zones: Sequence[str],
    subnets: Subnets,
    options: pulumi.ResourceOptions,
) -> dict[str, Any]:
    """One pool on SageMaker; `zones` are those of the network. Which container runs says the configuration."""
    from components.aws import sagemaker_args as to

    workload, pool = pair
    name = pool_name(workload, pool)
    if workload.kind == "notebook":
        from components.aws.sagemaker_notebooks import Notebook

        args = to.notebook_args(decision, workload, pool)
        one = list(zones[:1])
        notebook = Notebook(name, {**args, **place, "zones": one, **subnets(one)}, options)  # type: ignore[typeddict-item]
        return {"notebook": notebook.notebook_name, "role": notebook.role_arn}
    container = container_of(name)
    if workload.kind in ("training", "fine-tuning"):
        from components.aws.sagemaker_training import TrainingPipeline

        args = to.training_args(decision, workload, pool, settings, container["image"])
        args |= {key: value for key, value in container.items() if key != "model_data"}
        one = pool_args(decision, workload, pool, settings)["zones"][:1]
        pipeline = TrainingPipeline(name, {**args, **place, "zones": one, **subnets(one)}, options)  # type: ignore[typeddict-item]
        return {"pipeline": pipeline.pipeline_name, "role": pipeline.role_arn}
    from components.aws.sagemaker_endpoints import RealtimeEndpoint

    args = to.endpoint_args(decision, workload, pool, container["image"]) | container
    two = list(zones[:2])
    endpoint = RealtimeEndpoint(name, {**args, **place, "zones": two, **subnets(two)}, options)  # type: ignore[typeddict-item]
    return {"endpoint": endpoint.endpoint_name, "role": endpoint.role_arn}


CONTAINER_KEYS = ("image", "model_data", "environment_variables", "hyperparameters", "channels")


def container_of(name: str) -> dict[str, Any]:
    """What runs on SageMaker for a workload: `sizewell:sagemaker` in the stack's configuration, by the pool's name."""
    at = f"sizewell:sagemaker.{name}"
    found = (pulumi.Config("sizewell").get_object("sagemaker") or {}).get(name)
    subject = f"configuration of {pulumi.get_stack()}"
    if not isinstance(found, dict) or not found.get("image"):
        fix = f"pulumi config set --path '{at}.image' ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME:TAG"
        fault = Fault(path=f"{at}.image", message="is missing: a decision does not say which container runs", fix=fix)
        raise ConfigError([fault], subject=subject)
    wrong = [key for key in found if key not in CONTAINER_KEYS]
    if wrong:
        allowed = f"one of {', '.join(CONTAINER_KEYS)}"
        raise ConfigError([Fault(path=f"{at}.{key}", found=key, allowed=allowed) for key in wrong], subject=subject)
    return dict(found)


def build_kubernetes(
    decision: Decision,
    region: str,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    place: dict[str, Any],
    zones: Sequence[str],
    subnets: Subnets,
    options: pulumi.ResourceOptions,
) -> dict[str, Any]:
    """The one EKS cluster of a region, a node group for each pool, and the device plugins."""
    from components.aws.eks import EksCluster
    from components.aws.eks_args import eks_cluster_args, eks_pool_args, plugin_args
    from components.aws.eks_nodes import EksNodeGroup
    from components.aws.eks_plugins import EksDevicePlugins

    name, two = f"cluster-{region}", list(zones[:2])
    args = eks_cluster_args(decision, region, two, [workload for workload, _ in pairs])
    args["deletion_protection"] = decision.environment == "prod" and settings.deletion_protection
    cluster = EksCluster(name, {**args, **place, **subnets(two)}, options)  # type: ignore[typeddict-item]
    outputs: dict[str, Any] = {name: {"cluster": cluster.cluster_name}}
    for workload, pool in pairs:
        pool_here = eks_pool_args(decision, workload, pool, settings)
        pool_here |= {**place, **subnets(pool_here["zones"]), "cluster": cluster.cluster_name}
        pool_here["cluster_security_group_id"] = cluster.cluster_security_group_id
        group = EksNodeGroup(pool_name(workload, pool), pool_here, options)  # type: ignore[arg-type]
        outputs[pool_name(workload, pool)] = {"nodeGroup": group.node_group_name, "role": group.role_arn}
    plugins: Any = {**plugin_args(decision, pairs), "kubeconfig": cluster.kubeconfig}
    if plugins["runtimes"]:
        EksDevicePlugins(f"plugins-{region}", plugins)
    return outputs


def build_storage(
    decision: Decision,
    workload: Workload,
    zone: str,
    *,
    place: dict[str, Any],
    subnets: Subnets,
    clients: dict[str, Any],
    options: pulumi.ResourceOptions,
) -> dict[str, Any]:
    """The file system of a workload in its machines' zone; `clients` are security groups by name."""
    from components.aws.storage import SharedStorage
    from components.aws.storage_plans import storage_args

    args = {**storage_args(decision, workload, zone), **{key: place[key] for key in PLACED if key in place}}
    ids = {**place, **subnets([zone])}["subnet_ids"]
    args["subnet_id"] = pulumi.Output.from_input(ids).apply(lambda found: found[0])
    if clients:
        args["client_groups"] = clients
    made = SharedStorage(f"{workload.spec.name}-data", args, options)  # type: ignore[arg-type]
    return {"files": made.dns_name, "mount": made.mount_name}


PLACED = ("account", "vpc_id", "vpc_cidr", "kms_key_arn")


def build_budget(decision: Decision, region: str, account: dict[str, str], options: pulumi.ResourceOptions) -> None:
    """The budget of the stack, where every workload has one."""
    from components.aws.limits_plans import budget_args

    args = budget_args(decision, region)
    if args is not None:
        from components.aws.limits import BudgetAlarms

        BudgetAlarms("budget", {**args, **account}, options)  # type: ignore[typeddict-item]
