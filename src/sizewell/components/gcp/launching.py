"""Where a workload's pods run and write on our GKE clusters. Pure."""

from typing import Any

from sizewell.components.facts import is_gang
from sizewell.components.gcp.args import FABRIC_NETWORKS, bucket_name, pool_args, writer_account
from sizewell.components.gcp.node_pools import disk_type, topology_levels
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.components.tags import physical_name
from sizewell.launch.target import Target, gke_target
from sizewell.sizing.records.decision import Decision, Pool, Workload


def store_uri(decision: Decision, workload: Workload, settings: Settings) -> str:
    """URI of the workload's checkpoint store; "" where it has none."""
    return f"gs://{bucket_name(decision, workload, settings)}" if workload.checkpoint else ""


def pool_fabric(workload: Workload, pool: Pool) -> str:
    """The GPUDirect fabric that a pool's machines share; "" where each works for itself."""
    shape = find_shape("gcp", pool.instance_type)
    return shape.fabric if shape is not None and is_gang(workload, pool) and shape.fabric in FABRIC_NETWORKS else ""


def own_network(settings: Settings) -> bool:
    """Whether the cluster stands in a network of ours: only there are networks for GPUDirect."""
    return not set(settings.network) - {"cidr"}


def target(
    decision: Decision,
    workload: Workload,
    pool: Pool,
    settings: Settings,
    *,
    queue: str = "",
    writer: Any = "",
) -> Target:
    """The pool as its pods see it; `writer` is the account that they act as, else the store's own."""
    if workload.checkpoint and not writer and settings.accounts:
        writer = f"{writer_account(decision, workload)}@{settings.accounts[0]}.iam.gserviceaccount.com"
    shape = find_shape("gcp", pool.instance_type) if queue else None
    return gke_target(
        pool,
        name=pool_name(workload, pool),
        label=physical_name(workload.spec.name, limit=63),
        writer=writer,
        queue=queue,
        levels=topology_levels(pool_args(decision, workload, pool, settings), shape) if shape else (),
        store=store_uri(decision, workload, settings),
        fabric=pool_fabric(workload, pool) if own_network(settings) else "",
        disk=disk_type(pool.instance_type),
    )
