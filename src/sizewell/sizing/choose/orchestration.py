"""What starts the work on the machines: nothing but the machine itself, Kubernetes, or what the spec asks for.

On Google Cloud the machines of our own stand in a GKE cluster in any case. Elsewhere a cluster is one more thing that
bills around the clock, so it has to earn its keep: a service on several machines needs one (something has to spread
requests, replace a machine and roll out a version without a gap); a job on several machines takes one where the
cluster costs little beside them, for a gang's start, its restart and the repair of nodes; else its machines start the
job by themselves. One machine, records that are worked off one by one, and a notebook need none.
"""

from __future__ import annotations

from typing import Final

from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.providers import CLOUDS, clouds_where

CLUSTER_SHARE_MAX: Final = 0.10  # of what the machines cost in the month, for a job: a choice, not a measurement


def scheduler_of(
    need: Requirements,
    *,
    cloud: str,
    managed: str,
    nodes_max: int,
    machines_usd: float,
    cluster_usd: float,
    accelerated: bool = True,
) -> str:
    """kubernetes, ray, slurm or none. `machines_usd` and `cluster_usd` are of a month."""
    if managed == "hyperpod":  # its machines are nodes of an EKS cluster
        return "ray" if need.scheduler == "ray" else "kubernetes"
    if managed != RAW:
        return "none"
    if need.scheduler != "auto":
        return need.scheduler
    if _always_in_a_cluster(cloud) or not accelerated:
        return "kubernetes"
    if nodes_max < 2 or need.kind in ("notebook", "batch-inference"):
        return "none"
    if need.kind == "inference":
        return "kubernetes"
    return "kubernetes" if cluster_usd <= CLUSTER_SHARE_MAX * machines_usd else "none"


def refusal(need: Requirements, cloud: str) -> str:
    """Why a scheduler that the spec asks for cannot be on a cloud; "" where it can."""
    if not _always_in_a_cluster(cloud):
        return ""
    where = f"machines on {cloud} are in a {CLOUDS[cloud].cluster.name} cluster"
    if need.scheduler in ("slurm", "none") and need.team.managed == RAW:
        return f"scheduler is {need.scheduler}, {where}"
    if need.scheduler == "slurm":
        others = ", ".join(clouds_where(lambda other: not other.cluster.always))
        return f"slurm runs on groups of machines ({others}), {where}"
    return ""


def _always_in_a_cluster(cloud: str) -> bool:
    return cloud in CLOUDS and CLOUDS[cloud].cluster.always


def reason(
    need: Requirements, *, cloud: str, managed: str, scheduler: str, nodes_max: int, accelerated: bool = True
) -> str:
    """Why, in a sentence; "" where the spec says it."""
    if need.scheduler != "auto" or managed != RAW:
        return ""
    if not accelerated:
        return "scheduler kubernetes: machines without accelerators serve in a cluster, which scales them by requests"
    if _always_in_a_cluster(cloud):
        return "scheduler kubernetes: machines on Google Cloud are in a GKE cluster"
    if scheduler == "none":
        if nodes_max < 2:
            return "scheduler none: a single machine starts its work at boot"
        if need.kind == "batch-inference":
            return "scheduler none: records are independent, machines do not wait for each other"
        return f"scheduler none: a cluster would cost more than {CLUSTER_SHARE_MAX:.0%} of the machines' month"
    if need.kind == "inference":
        return (
            f"scheduler kubernetes: a service on up to {nodes_max} machines needs scheduling, replacement and rollouts"
        )
    return (
        f"scheduler kubernetes: a job on {nodes_max} machines, and the cluster costs at most "
        f"{CLUSTER_SHARE_MAX:.0%} of them"
    )
