"""Where a workload's pods run and write on our EKS clusters, and what makes machines a Slurm cluster. Pure."""

from collections.abc import Sequence
from typing import Any

from sizewell.components.aws.args import bucket_name
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.launch.plan import RunPlan
from sizewell.launch.slurm_boot import first_boot
from sizewell.launch.target import Target, eks_target, machine_of
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload


def store_uri(decision: Decision, workload: Workload, settings: Settings) -> str:
    """URI of the workload's checkpoint store; "" where it has none."""
    return f"s3://{bucket_name(decision, workload, settings)}" if workload.checkpoint else ""


def target(
    decision: Decision,
    workload: Workload,
    pool: Pool,
    settings: Settings,
    *,
    queue: str = "",
    levels: Sequence[str] = (),
) -> Target:
    """The pool as its pods see it; pod identity lets their account write checkpoints.

    `levels` are the topology labels that the queue packs by.
    """
    store = store_uri(decision, workload, settings)
    return eks_target(workload, pool, name=pool_name(workload, pool), queue=queue, levels=levels, store=store)


def boot(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
    """Arguments of the machines beside those of their pool: an image with Slurm and its start, where that is decided.

    ConfigError where no image is named: the vendor's own, Amazon Linux, has no package of Slurm.
    """
    if workload.scheduler != "slurm":
        return {}
    name = pool_name(workload, pool)
    image = settings.images.get(name)
    if not image:
        at = f"sizewell:images.{name}"
        fix = f"pulumi config set --path '{at}' ami-... (AWS ParallelCluster's for Amazon Linux 2023 have it)"
        fault = Fault(path=at, message="is missing: Amazon's own image has no Slurm, and no package of it", fix=fix)
        raise ConfigError([fault], subject=f"configuration of {decision.stack}")
    script = first_boot(
        machine_of(pool),
        group=name,
        store=store_uri(decision, workload, settings),
        nodes=pool.nodes_max,
        region=pool.region,
        grace_s=RunPlan.of(decision, workload, pool).grace_s,
    )
    return {"image": image, "start_script": script}
