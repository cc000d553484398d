"""Machines of one's own with a burst pool in a cloud: which of a decision's pools are which, and what cannot be. Pure.

One cluster has both, and one queue: Kueue fills the cluster's own machines first, and a job that finds no room goes to
the burst's (docs/adr/0012-one-queue-for-burst.md).
"""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.launch.adopted import Adopted, Burst, adopted_target
from sizewell.launch.plan import nodes_of
from sizewell.launch.run import Run
from sizewell.launch.target import Target, machine_of
from sizewell.sizing import catalog
from sizewell.sizing.billing import standing
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.providers import CLOUDS, clouds_where
from sizewell.sizing.records.decision import Decision, Pool, Workload

Pair = tuple[Workload, Pool]
AT = "sizewell:cluster.burst"


def baseline(decision: Decision, cluster: Adopted) -> list[Pair]:
    """All pools but the burst's: what stands in the cluster already."""
    to = cluster.burst.machines if cluster.burst else ""
    return [(workload, pool) for workload in decision.workloads for pool in workload.pools if workload.spec.name != to]


def machines(decision: Decision, cluster: Adopted) -> Pair | None:
    """The burst's pool, where the configuration has one; `check` has found that there is exactly one."""
    to = cluster.burst.machines if cluster.burst else ""
    return next(
        ((workload, pool) for workload in decision.workloads for pool in workload.pools if workload.spec.name == to),
        None,
    )


def target(
    decision: Decision, cluster: Adopted, pair: Pair, settings: Settings, *, queue: str, pooled: bool = True
) -> Target:
    """A pool of the cluster as its pods see it; jobs that may burst name no machines, and write to the burst's store.

    `pooled`: what runs is a job of the workload, and not a test of the machines of one of its pools.
    """
    workload, pool = pair
    other = machines(decision, cluster) if cluster.bursts(workload.spec.name) else None
    writes = other or pair
    store = "" if writes[1].adopted else _launching(writes[1].cloud).store_uri(decision, writes[0], settings)
    made = adopted_target(
        cluster, pool, name=pool_name(workload, pool), queue=queue, store=store, bursts=pooled and other is not None
    )
    return replace(made, room=_room(pool, other[1])) if pooled and other else made


def _room(own: Pool, pool: Pool) -> tuple[int, int]:
    """CPUs and GiB that a machine of either pool has; 0 where nobody knows one of them."""
    both = machine_of(own), machine_of(pool)
    return min(machine.cpus for machine in both), min(machine.memory_bytes for machine in both) // 2**30


def _launching(cloud: str) -> Any:
    return importlib.import_module(f"sizewell.components.{cloud}.launching")


def check(decision: Decision, cluster: Adopted, runs: Mapping[str, Run]) -> None:
    """ConfigError with everything that keeps the burst's machines from taking the workload's jobs.

    Without a burst: with each pool in a cloud beside machines that already exist, which nothing would build.
    """
    faults = _burst_faults(decision, cluster.burst, runs) if cluster.burst else _unclaimed(decision)
    if faults:
        raise ConfigError(faults, subject=f"configuration of {decision.stack}")


def _unclaimed(decision: Decision) -> list[Fault]:
    pools = [(workload, pool) for workload in decision.workloads for pool in workload.pools]
    if not any(pool.adopted for _, pool in pools):
        return []
    return [
        Fault(
            path=workload.spec.name,
            message=f"is on {pool.cloud}, next to existing machines: its machines would not be provisioned",
            fix=f"name it as {AT}.machines (`sizewell docs burst-to-a-cloud`), or give it a stack of its own",
        )
        for workload, pool in pools
        if not pool.adopted
    ]


def _burst_faults(decision: Decision, burst: Burst, runs: Mapping[str, Run]) -> list[Fault]:
    by_name = {workload.spec.name: workload for workload in decision.workloads}
    faults = [
        Fault(path=f"{AT}.{key}", found=name, allowed=f"a workload of {decision.stack}: {', '.join(by_name)}")
        for key, name in (("workload", burst.workload), ("machines", burst.machines))
        if name not in by_name
    ]
    if faults:
        return faults
    of, to = by_name[burst.workload], by_name[burst.machines]
    if len(to.pools) != 1 or len(of.pools) != 1 or of is to:
        return [Fault(path=AT, message="takes two workloads, each with one pool of machines")]
    own, pool = of.pools[0], to.pools[0]
    others = [w.spec.name for w in decision.workloads if w is not to and any(not p.adopted for p in w.pools)]
    if not own.adopted or others:
        names = ", ".join(others or [burst.workload])
        message = f"is next to existing machines, but {names} is sized for a cloud"
        faults.append(Fault(path=AT, message=message, fix="write infra: [on-prem] into its spec and size the stack"))
    if own.cloud == "coreweave":
        message = "is on CoreWeave, whose clusters cannot have machines of another cloud"
        fix = f"give {burst.machines} a stack of its own (`launch --then`), or burst from EKS hybrid nodes on premises"
        faults.append(Fault(path=f"{AT}.workload", message=message, fix=fix))
    cloud = CLOUDS.get(pool.cloud)
    why = cloud.cluster.owners_machines if cloud else f"machines of {pool.cloud} cannot be started by Sizewell"
    if why:
        other = clouds_where(lambda cloud: not cloud.cluster.owners_machines)[0]
        message = f"is on {pool.cloud}: {why}; {CLOUDS[other].cluster.name} supports them (Hybrid Nodes)"
        faults.append(Fault(path=f"{AT}.machines", message=message, fix=f"write infra: [{other}/REGION] into its spec"))
        return faults
    target = standing.target_of(pool.managed, to.scheduler, cloud=pool.cloud, fleet=pool.provision == "fleet")
    if target != "kubernetes":
        message = f"is decided for {target}, and its machines join a Kubernetes cluster"
        faults.append(Fault(path=f"{AT}.machines", message=message, fix="write scheduler: kubernetes into its spec"))
    if of.kind not in ("training", "fine-tuning", "batch-inference") or of.scheduler == "ray":
        what = "Ray, whose parts must run in one place" if of.scheduler == "ray" else of.kind
        message = f"is {what}: only jobs that start and end as a whole can run on either kind of machine"
        faults.append(Fault(path=f"{AT}.workload", message=message, fix="use the burst for training or batches"))
    if burst.machines in runs:
        message = f"is for the burst's machines, which run the jobs of {burst.workload}"
        faults.append(
            Fault(path=f"sizewell:run.{burst.machines}", message=message, fix=f"set sizewell:run.{burst.workload}")
        )
    return faults or [Fault(path=f"{AT}.machines", message=why) for why in _too_small(own, pool)]


def _too_small(own: Pool, pool: Pool) -> list[str]:
    """Why a job that was decided for the cluster's machines does not fit on the burst's."""
    known = catalog.load()
    ours, theirs = machine_of(own), machine_of(pool)
    names = f"{pool.instance_type} and {own.instance_type}"
    if find_shape(pool.cloud, pool.instance_type) is None:
        return [f"is {pool.instance_type}, which the catalog does not know"]
    if (ours.resource, ours.devices) != (theirs.resource, theirs.devices):
        has = [f"{machine.devices} {machine.resource or 'processors'}" for machine in (theirs, ours)]
        return [f"has machines other than those the jobs are written for: {names} have {has[0]} and {has[1]}"]
    short = []
    if own.accelerator and pool.accelerator:
        memory = [known.accelerator(key).memory_bytes or 0 for key in (pool.accelerator, own.accelerator)]
        if memory[0] < memory[1]:
            gib = [f"{each / 2**30:.0f} GiB" for each in memory]
            short.append(f"has too little memory on each accelerator: {names} have {gib[0]} and {gib[1]}")
    if pool.nodes_max < nodes_of(own):
        short.append(f"has at most {pool.nodes_max} machines, and a job takes {nodes_of(own)}")
    return short
