"""From a decision to the resources of a stack on Google Cloud: one cluster per region, or a managed service."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_gcp as gcp

from sizewell.components import lustre, shared_program
from sizewell.components.facts import has_queues, owned_args
from sizewell.components.gcp import launching, targets
from sizewell.components.gcp.args import (
    NODES_CIDR,
    checkpoint_store_args,
    cluster_args,
    network_args,
    pool_args,
    protection,
    writer_account,
    zones_of,
)
from sizewell.components.gcp.launching import pool_fabric
from sizewell.components.gcp.node_pools import queue_flavor
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.components.tags import physical_name
from sizewell.launch.target import Target
from sizewell.sizing.records.decision import Decision, Pool, Workload

if TYPE_CHECKING:
    from sizewell.components.gcp.storage.volumes import FilesVolume


def build(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, object]:
    """Build the pools of `workloads` that this cloud has, each by who runs it; returns the stack's outputs."""
    pools = shared_program.pools_of("gcp", workloads)
    lustre.check_mounted(pools, target_of=targets.target_of, mounting=("kubernetes",), stack=decision.stack)
    outputs: dict[str, object] = {}
    for region, in_region in shared_program.by_region(pools).items():
        options = pulumi.ResourceOptions(provider=provider(region, settings))
        clustered = [pair for pair in in_region if targets.target_of(*pair) == "kubernetes"]
        if clustered:
            outputs |= _build_cluster(decision, region, clustered, settings, options=options)
        if served := [pair for pair in in_region if pair not in clustered]:
            outputs |= shared_program.service("gcp.services")(decision, served, settings, options=options)
    if pools:
        targets.build_budget(decision, pools[0][1].region, settings, options=options)
    return outputs


def _build_cluster(
    decision: Decision,
    region: str,
    pairs: Sequence[targets.Pair],
    settings: Settings,
    *,
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """The one GKE cluster of a region in its network, the pools in it, their file systems and queues."""
    from sizewell.components.gcp.gke.cluster import GkeCluster
    from sizewell.components.gcp.network import PODS_RANGE, SERVICES_RANGE, Network
    from sizewell.components.gcp.nodes import AcceleratorPool
    from sizewell.components.kubernetes.program import build_runs, namespaces, wanted

    outputs: dict[str, object] = {}
    zones = [zone for _, pool in pairs for zone in zones_of(pool, preferred=settings.zones)]
    fabric, fabric_zone = fabric_of(pairs, settings)
    fabric_networks: list[Any] = []
    fabric_subnetworks: list[Any] = []
    place = dict(settings.network)
    nodes_cidr = place.pop("cidr", NODES_CIDR)
    if not place:
        wanted_network = network_args(decision, region, fabric, fabric_zone)
        network = Network.of(f"network-{region}", wanted_network, opts=options)
        fabric_networks, fabric_subnetworks = network.interfaces()
        place = {
            "project": settings.accounts[0] if settings.accounts else network.project,
            "network": network.network,
            "subnetwork": network.subnetwork,
            "pods_range": PODS_RANGE,
            "services_range": SERVICES_RANGE,
        }
    # Whatever bills takes its project from here on from `place`, and so waits for the hard end: with the plain id it
    # could be made by an update whose ttl- stack is missing, and nothing would stop it.
    place["project"] = targets.armed(decision, region, place["project"], options)
    cluster_place = {**place, "multi_networking": bool(fabric_networks)}
    cluster = GkeCluster.of(
        f"cluster-{region}", cluster_args(decision, region, zones, settings), cluster_place, opts=options
    )
    inside_first: list[pulumi.Resource] = []
    if fabric_networks:
        from sizewell.components.gcp.gke.gpudirect import GpuDirect

        inside = {**owned_args(decision), "kubeconfig": cluster.kubeconfig, "fabric": fabric}
        inside |= {"networks": fabric_networks, "subnetworks": fabric_subnetworks}
        direct = GpuDirect.of(f"gpudirect-{region}", inside, opts=options)
        inside_first.append(direct)
        outputs[f"gpudirect-{region}"] = {"networks": direct.networks, "installers": direct.installers}
    registry = pulumi.Config("sizewell").get("registry")
    mirror: dict[str, Any] = {"registry": registry} if registry else {}
    flavors: list[dict[str, object]] = []
    named = cluster.cluster_name
    for workload, pool in pairs:
        name = pool_name(workload, pool)
        args = pool_args(decision, workload, pool, settings)
        joined: dict[str, object] = {"project": place["project"], "cluster": named}
        joined |= {"service_account": cluster.node_service_account, "kms_key_name": cluster.kms_key_name}
        if pool_fabric(workload, pool) and fabric_networks:
            joined |= {"fabric_networks": fabric_networks, "fabric_subnetworks": fabric_subnetworks}
        made = AcceleratorPool.of(name, args, joined, opts=options)
        # a cluster takes one change of its pools at a time: the next one hears its name after this one stands
        named = pulumi.Output.all(cluster.cluster_name, made.pool_names).apply(lambda known: known[0])
        outputs[name] = {"cluster": cluster.cluster_name, "pools": made.pool_names}
        if shape := find_shape("gcp", pool.instance_type):
            queue = physical_name(name, limit=40)
            flavors.append(queue_flavor(args, shape, queue=queue, pools=made.pool_count))
    there = {"project": place["project"], "network": place["network"], "cidr": nodes_cidr}
    there["deletion_protection"] = protection(decision, settings)
    in_namespaces = namespaces(pairs, settings, where=region, kubeconfig=cluster.kubeconfig)
    stored = pulumi.ResourceOptions.merge(options, in_namespaces)
    volumes = _build_storage(decision, pairs, settings, place=there, kubeconfig=cluster.kubeconfig, options=stored)
    for name, (address, volume) in volumes.items():
        outputs[f"{name}-data"] = {"address": address, "claim": volume.claim_name}
    # nothing else would ask for queued machines; jobs of several machines get all of them or none
    if has_queues(pairs):
        from sizewell.components.kubernetes.queueing import Queueing

        queueing = {**owned_args(decision), "kubeconfig": cluster.kubeconfig, "flavors": flavors, **mirror}
        if spaces := sorted({settings.runs[workload.spec.name].namespace for workload, _ in wanted(pairs, settings)}):
            queueing["namespaces"] = spaces
        queues = Queueing.of(f"queues-{region}", queueing, opts=in_namespaces)
        outputs[f"queues-{region}"] = {"queues": queues.queues}
    project, queued = place["project"], f"queues-{region}" in outputs

    def target(workload: Workload, pool: Pool) -> Target:
        queue = physical_name(pool_name(workload, pool), limit=40) if queued else ""
        account = writer_account(decision, workload)
        writer = pulumi.Output.concat(account, "@", project, ".iam.gserviceaccount.com") if workload.checkpoint else ""
        return launching.target(decision, workload, pool, settings, queue=queue, writer=writer)

    kubeconfig = cluster.kubeconfig
    networks_first = pulumi.ResourceOptions(depends_on=inside_first)  # pods name networks that have to be there
    held = pulumi.ResourceOptions.merge(in_namespaces, networks_first)
    _say_what_cannot_be_pulled(pairs, settings, queued=queued, mirrored=bool(mirror))
    return outputs | build_runs(
        decision,
        pairs,
        settings,
        where=region,
        kubeconfig=kubeconfig,
        target=target,
        queued=queued,
        volumes={name: volume for name, (_, volume) in volumes.items()},
        options=held,
        **mirror,
    )


def _say_what_cannot_be_pulled(
    pairs: Sequence[targets.Pair], settings: Settings, *, queued: bool, mirrored: bool
) -> None:
    """Images outside of Google's registries, which are all that a network without internet access reaches."""
    if not launching.own_network(settings):
        return
    ran = [settings.runs[workload.spec.name].image for workload, _ in pairs if workload.spec.name in settings.runs]
    wanted = list(dict.fromkeys(image for image in ran if ".pkg.dev/" not in image and "gcr.io/" not in image))
    if (queued or ran) and not mirrored:
        wanted.append("those of Kueue and the operators of what runs (registry.k8s.io, quay.io, ghcr.io)")
    if wanted:
        pulumi.log.warn(
            f"the network has no internet access, so machines cannot pull {', '.join(wanted)}: serve them from "
            "Artifact Registry (a remote repository fetches them) and name it in image, and in sizewell:registry as "
            "REGION-docker.pkg.dev/PROJECT/REPOSITORY"
        )


def _build_storage(
    decision: Decision,
    pools: Sequence[tuple[Workload, Pool]],
    settings: Settings,
    *,
    place: dict[str, Any],
    kubeconfig: pulumi.Output[str],
    options: pulumi.ResourceOptions,
) -> dict[str, tuple[pulumi.Output[str], "FilesVolume"]]:
    """The file systems that the workloads of a region read from, each in the zone of its machines: by workload the
    address and the claim.
    """
    from sizewell.components.gcp.storage.args import capacity_gib, storage_args
    from sizewell.components.gcp.storage.shared import SharedStorage
    from sizewell.components.gcp.storage.volumes import FilesVolume
    from sizewell.components.kubernetes.program import claim_of

    volumes: dict[str, tuple[pulumi.Output[str], FilesVolume]] = {}
    for workload, pool in pools:
        name = f"{workload.spec.name}-data"
        if workload.storage is None or workload.storage.kind != "filestore" or workload.spec.name in volumes:
            continue
        zone = zones_of(pool, preferred=settings.zones)[0]
        wanted = {**storage_args(decision, workload, zone), **place}
        if admins := pulumi.Config("sizewell").get_object("fileAdmins"):
            wanted["admins"] = admins
        files = SharedStorage.of(name, wanted, opts=options)
        claim = {"kubeconfig": kubeconfig, "address": files.address, "claim": claim_of(workload)}
        claim["capacity_gib"] = capacity_gib(wanted["bytes_needed"])
        if run := settings.runs.get(workload.spec.name):
            claim["namespace"] = run.namespace
        made = FilesVolume.of(name, owned_args(decision), claim, opts=options)
        volumes[workload.spec.name] = (files.address, made)
    return volumes


def build_ttl(decision: Decision, settings: Settings) -> dict[str, object]:
    """Build the hard end of a decision's stack, in a stack of its own that comes up first; nothing without an end."""
    from sizewell.components.gcp.limits.guards import TtlGuard

    return shared_program.build_ends(
        decision,
        settings,
        cloud="gcp",
        provider=provider,
        guard=TtlGuard,
        place=lambda _: {"project": targets.project_of(settings)},
        outputs={"workflow": "workflow_name", "job": "job_name"},
    )


def build_checkpoints(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, object]:
    """Build the checkpoint stores of `workloads`; returns the stack's outputs."""
    from sizewell.components.gcp.storage.checkpoints import CheckpointStore

    return shared_program.build_stores(
        workloads,
        settings,
        provider=provider,
        store=CheckpointStore,
        args_of=lambda workload: checkpoint_store_args(decision, workload, settings),
        outputs={"bucket": "bucket", "writer": "writer_email"},
    )


def provider(region: str, settings: Settings) -> gcp.Provider:
    """The explicit provider of a region; it works in the project that the configuration names."""
    project = settings.accounts[0] if settings.accounts else None
    return gcp.Provider(region, region=region, project=project)


def fabric_of(pools: Sequence[tuple[Workload, Pool]], settings: Settings) -> tuple[str, str]:
    """The GPUDirect fabric of a region's pools and its zone; a second fabric in one region is refused by its pool."""
    for workload, pool in pools:
        if fabric := pool_fabric(workload, pool):
            return fabric, zones_of(pool, preferred=settings.zones)[0]
    return "", ""
