"""Where a workload runs and writes on Azure, and what its machines start without Kubernetes: its run, or Slurm."""

from typing import Any

from sizewell.components.azure.args import bucket_name
from sizewell.components.azure.scale_sets import CONTAINER
from sizewell.components.booting import run_at_boot
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.launch.plan import RunPlan
from sizewell.launch.slurm_boot import first_boot
from sizewell.launch.target import Target, aks_target, machine_of
from sizewell.sizing.records.decision import Decision, Pool, Workload


def store_uri(decision: Decision, workload: Workload, settings: Settings) -> str:
    """URI of the workload's checkpoint store; "" where it has none."""
    return f"az://{bucket_name(decision, workload, settings)}/{CONTAINER}" if workload.checkpoint else ""


def target(
    decision: Decision, workload: Workload, pool: Pool, settings: Settings, *, queue: str = "", writer: Any = ""
) -> Target:
    """The pool as its pods see it; `writer` is the client id of the identity that they act as."""
    return aks_target(
        workload,
        pool,
        name=pool_name(workload, pool),
        client=writer,
        queue=queue,
        store=store_uri(decision, workload, settings),
    )


def boot(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
    """Arguments of the machines beside those of their pool: what they start.

    Microsoft's HPC image has no Slurm, its distribution has packages: the subnet needs internet access for them.
    """
    if workload.scheduler != "slurm":
        return run_at_boot(decision, workload, pool, settings, target(decision, workload, pool, settings))
    script = first_boot(
        machine_of(pool),
        group=pool_name(workload, pool),
        store=store_uri(decision, workload, settings),
        nodes=pool.nodes_max,
        region=pool.region,
        grace_s=RunPlan.of(decision, workload, pool).grace_s,
    )
    return {"start_script": script}
