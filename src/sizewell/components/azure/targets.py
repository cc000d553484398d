"""What a decision can ask for on Azure beside plain machines: AKS, Managed Lustre, budget, keys, hard end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pulumi

from sizewell.components import lustre
from sizewell.components.azure import launching
from sizewell.components.azure.limits import expiry
from sizewell.components.facts import has_queues, lasting_args, owned_args
from sizewell.components.kubernetes_versions import default_version, following
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.launch.target import Target, beside
from sizewell.launch.volumes import DATA
from sizewell.sizing.billing import standing
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload

if TYPE_CHECKING:
    from sizewell.components.azure.aks.volumes import LustreVolume
    from sizewell.components.azure.storage.shared import SharedStorage

Pair = tuple[Workload, Pool]
Files = dict[str, "SharedStorage"]  # by the workload that reads from it
MOUNTING = ("kubernetes", "machines")  # whose machines or pods mount a file system
PRIVATE_SERVICES = ("file", "registry", "workspace", "notebooks")  # of an Azure ML workspace, beside blob


def target_of(workload: Workload, pool: Pool) -> str:
    """Who runs the pool: azureml, kubernetes or machines."""
    return standing.target_of(pool.managed, workload.scheduler, cloud="azure", fleet=False)


def has_lustre(workload: Workload) -> bool:
    return workload.storage is not None and workload.storage.kind == "managed-lustre"


def network_extras(pools: Sequence[Pair]) -> dict[str, object]:
    """What the network has beside the subnet of plain machines."""
    targets = {target_of(*pair) for pair in pools}
    extras: dict[str, object] = {}
    if "kubernetes" in targets:
        extras["kubernetes"] = True
    if any(has_lustre(workload) for workload, _ in pools):
        extras["files"] = True
    if "azureml" in targets:
        extras["private_services"] = list(PRIVATE_SERVICES)
    return extras


def wants_keys(decision: Decision, pools: Sequence[Pair]) -> bool:
    """Outside of dev, machines of our own have disks with a key of one's own, and clusters their secrets too."""
    return decision.environment != "dev" and any(target_of(*pair) != "azureml" for pair in pools)


def build_keys(
    decision: Decision, region: str, settings: Settings, options: pulumi.ResourceOptions
) -> dict[str, object]:
    """Keys of one's own: what machines and clusters take of them, as arguments."""
    from sizewell.components.azure.keys.vault import CustomerKeys

    owned = lasting_args(decision)  # they outlive the machines
    args = {**owned, "region": region, "salt": settings.salt, "protected": settings.deletion_protection}
    keys = CustomerKeys.of(f"keys-{region}", args, opts=options)
    return {
        "disks": {"disk_encryption_set_id": keys.disk_encryption_set_id},
        "secrets": {"secrets_key": {"key_url": keys.secrets_key_url, "vault_id": keys.vault_id}},
        "files": {"key": {"key_url": keys.disks_key_url, "vault_id": keys.vault_id, "identity_id": keys.identity_id}},
    }


def armed(
    decision: Decision,
    region: str,
    group: pulumi.Input[str],
    settings: Settings,
    options: pulumi.ResourceOptions,
) -> pulumi.Input[str]:
    """The resource group's name, once the hard end has its rights there; at once for a stack without an end."""
    if decision.expires_at is None:
        return group
    from sizewell.components.azure.limits.guards import EndRights

    ender = expiry.ender(decision.stack, region)
    args = {**owned_args(decision), "region": region, "resource_group": group, "ender": ender}
    args |= {"firm": True} if settings.firm_end else {}
    return EndRights.of(f"end-rights-{region}", args, opts=options).resource_group


def build_kubernetes(
    decision: Decision,
    region: str,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    files: Files,
    place: dict[str, object],
    keys: dict[str, Any],
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """The one AKS cluster of a region, a pool for each of `pairs`, their operators, and queues where jobs share."""
    from sizewell.components.azure.aks.args import aks_cluster_args, aks_pool_args, operators_args
    from sizewell.components.azure.aks.cluster import AksCluster
    from sizewell.components.azure.aks.node_config import agent_pool_name
    from sizewell.components.azure.aks.operators import AksOperators
    from sizewell.components.azure.aks.pools import AksGpuPool
    from sizewell.components.kubernetes.program import build_runs, namespaces

    name = f"cluster-{region}"
    there = {"resource_group": place["resource_group"], "subnet_id": place["kubernetes_subnet_id"]}
    args = {**aks_cluster_args(decision, region, [pool for _, pool in pairs], settings), **there}
    args |= keys.get("disks", {})
    if place.get("api_subnet_id"):
        args |= {"api_subnet_id": place["api_subnet_id"], **keys.get("secrets", {})}
    cluster = AksCluster.of(name, args, opts=options)
    outputs: dict[str, object] = {name: {"cluster": cluster.cluster_name}}
    metrics = {"workspace_id": cluster.metrics_workspace_id, "query_url": cluster.metrics_query_url}
    named = cluster.cluster_name
    writers: dict[str, object] = {}
    for workload, pool in pairs:
        group = pool_name(workload, pool)
        wanted = {**aks_pool_args(decision, workload, pool, settings), **there, "cluster": named}
        wanted |= {"oidc_issuer_url": cluster.oidc_issuer_url} if "writer" in wanted else {}
        wanted |= {"metrics": metrics} if "guard" in wanted else {}
        if zones := zones_of(place):
            wanted["private_dns_zone_ids"] = zones
        made = AksGpuPool.of(group, wanted, opts=options)
        # a cluster takes one change of its pools at a time: the next one hears its name after this one stands
        named = pulumi.Output.all(cluster.cluster_name, made.pool_name).apply(lambda known: known[0])
        outputs[group] = {"nodePool": agent_pool_name(group), "writer": made.writer_client_id}
        writers[group] = made.writer_client_id if workload.checkpoint else ""
    operators = {**operators_args(decision, pairs), **mirrors(), "kubeconfig": cluster.kubeconfig}
    operators["version"] = cluster.version
    drivers: list[pulumi.Resource] = []
    if operators["runtimes"] or operators.get("lustre"):
        drivers.append(AksOperators.of(f"operators-{region}", operators))
    inside = namespaces(pairs, settings, where=region, kubeconfig=cluster.kubeconfig)
    # the driver goes after the volumes: until they are gone it has to unmount them
    behind = pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=drivers))
    claims = build_volumes(decision, pairs, settings, files, kubeconfig=cluster.kubeconfig, options=behind)
    outputs |= {f"{workload}-claim": {"claim": volume.claim_name} for workload, volume in claims.items()}
    reach: dict[str, Any] = {"kubeconfig": cluster.kubeconfig, "options": inside}
    queues = build_queues(decision, region, pairs, settings, **reach)

    def target(workload: Workload, pool: Pool) -> Target:
        name = pool_name(workload, pool)
        queue = name if queues else ""
        return launching.target(decision, workload, pool, settings, queue=queue, writer=writers[name])

    reach |= {"volumes": claims}
    runs = build_runs(decision, pairs, settings, where=region, target=target, queued=bool(queues), **reach)
    return outputs | queues | runs


def build_queues(
    decision: Decision,
    region: str,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    kubeconfig: pulumi.Output[str],
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """A queue for each pool where jobs of several machines, or Ray, need all of them or none."""
    from sizewell.components.azure.aks.args import aks_pool_args
    from sizewell.components.azure.aks.node_config import queue_flavor

    if not has_queues(pairs):
        return {}
    from sizewell.components.kubernetes.program import queues_of

    flavors = [
        queue_flavor(
            aks_pool_args(decision, workload, pool, settings),
            shape,
            queue=pool_name(workload, pool),
            beside=beside(launching.target(decision, workload, pool, settings)),
        )
        for workload, pool in pairs
        if (shape := find_shape("azure", pool.instance_type)) is not None
    ]
    registry = mirrors().get("registry", "")
    reach: dict[str, Any] = {"kubeconfig": kubeconfig, "registry": registry, "options": options}
    return queues_of(decision, region, pairs, settings, flavors, **reach)


def mirrors() -> dict[str, str]:
    """`sizewell:registry` (a mirror of nvcr.io) and `sizewell:amdDriverImage` of the stack's configuration."""
    config = pulumi.Config("sizewell")
    stated = {"registry": config.get("registry"), "amd_driver_image": config.get("amdDriverImage")}
    return {key: value for key, value in stated.items() if value}


def check_pulls(decision: Decision, pairs: Sequence[Pair], settings: Settings) -> None:
    """Where machines of a cluster could not pull what runs on them, a preview warns, and an update ends with a
    ConfigError before anything is built: a cluster without its operators bills, and no guard sees its GPUs.

    The network that the stack builds reaches Azure's own services alone: images of others come from a mirror there.
    """
    pairs = [pair for pair in pairs if target_of(*pair) == "kubernetes"]
    if faults := pull_faults(decision, pairs, settings):
        error = ConfigError(faults, subject=f"configuration of {pulumi.get_stack()}")
        if not pulumi.runtime.is_dry_run():
            raise error
        pulumi.log.warn(str(error))


def pull_faults(decision: Decision, pairs: Sequence[Pair], settings: Settings) -> list[Fault]:
    """What of the operators' and the runs' images the machines of the clusters could not pull."""
    from sizewell.components.azure.aks.args import operators_args
    from sizewell.components.azure.aks.charts import mirror_images

    faults = []
    operators, named = operators_args(decision, pairs), mirrors()
    if pairs and not settings.network and operators["runtimes"] and "registry" not in named:
        images = mirror_images(
            runtimes=operators["runtimes"],
            driver=operators.get("driver", "operator"),
            infiniband=operators["infiniband"],
            ubuntu=following("aks", settings.kubernetes_version or default_version("aks").version).ubuntu,
        )
        message = (
            "is missing: the network that this stack builds reaches Azure's own services only, and GPUs "
            f"need images from elsewhere: {', '.join(images)}"
        )
        fix = (
            "az acr import --name NAME --source IMAGE --image mirror/REPOSITORY:TAG for each, then "
            "pulumi config set sizewell:registry NAME.azurecr.io/mirror"
        )
        faults.append(Fault(path="sizewell:registry", message=message, fix=fix))
    held = {registry.rpartition("/")[2].lower() for registry in settings.registries}
    ran = [settings.runs[workload.spec.name].image for workload, _ in pairs if workload.spec.name in settings.runs]
    for image in dict.fromkeys([*named.values(), *ran]):
        host = image.partition("/")[0].lower()
        name = host.removesuffix(".azurecr.io")
        if host != name and name not in held:
            message = f"does not name {host}, from which the cluster would pull {image} without permission"
            fix = (
                f"pulumi config set --path 'sizewell:registries[{len(held)}]' "
                f"$(az acr show --name {name} --query id --output tsv)"
            )
            faults.append(Fault(path="sizewell:registries", message=message, fix=fix))
    return faults


def zones_of(place: dict[str, object]) -> object:
    """Private DNS zones by service, as the network made or an adopted one names them."""
    if "private_dns_zone_ids" in place:
        return place["private_dns_zone_ids"]
    return {"blob": place["private_dns_zone_id"]} if "private_dns_zone_id" in place else None


def build_storage(
    decision: Decision,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    place: dict[str, object],
    keys: dict[str, Any],
    options: pulumi.ResourceOptions,
) -> Files:
    """The file systems that the workloads of a region read from, each in the zone of its machines."""
    from sizewell.components.azure.storage.args import storage_args
    from sizewell.components.azure.storage.shared import SharedStorage

    files: Files = {}
    for workload, _ in pairs:
        if not has_lustre(workload) or workload.spec.name in files:
            continue
        there = {"resource_group": place["resource_group"], "subnet_id": place["files_subnet_id"]}
        args = {**storage_args(decision, workload, settings), **there, **keys.get("files", {})}
        files[workload.spec.name] = SharedStorage.of(f"{workload.spec.name}-data", args, opts=options)
    return files


def mounts(workload: Workload, files: Files) -> dict[str, object]:
    """The argument that has machines of our own mount their workload's file system at first boot; {} without one."""
    if workload.spec.name not in files:
        return {}
    return {"mounts": [{"address": files[workload.spec.name].address, "path": DATA}]}


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
    from sizewell.components.azure.aks.volumes import LustreVolume
    from sizewell.components.azure.storage.args import capacity_tib, storage_args
    from sizewell.components.kubernetes.program import claim_of

    volumes: dict[str, LustreVolume] = {}
    for workload, made in lustre.stored(pairs, files):
        name = workload.spec.name
        wanted = storage_args(decision, workload, settings)
        tib = capacity_tib(wanted["bytes_needed"], wanted.get("throughput_mb_per_s_per_tib", 125))
        there: dict[str, object] = {"address": made.address, "kubeconfig": kubeconfig, "capacity_gib": tib * 1024}
        there |= {"claim": claim_of(workload), "namespace": settings.namespace(name)}
        volumes[name] = LustreVolume.of(f"{name}-data", owned_args(decision), there, opts=options)
    return volumes


def build_budget(decision: Decision, region: str, settings: Settings, options: pulumi.ResourceOptions) -> None:
    """The budget of the stack, where every workload has one.

    Azure refuses a budget that starts in a month gone by: `sizewell:budgetStarts` says a later one than the decision's.
    """
    args = expiry.budget_args(decision, region)
    if args is not None:
        from sizewell.components.azure.limits.guards import BudgetAlarms

        starts = pulumi.Config("sizewell").get("budgetStarts")
        args |= {"starts": starts} if starts else {}
        args |= {"subscription": settings.accounts[0]} if len(settings.accounts) == 1 else {}
        BudgetAlarms.of("budget", args, opts=options)
