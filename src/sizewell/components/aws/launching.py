"""Where a workload runs and writes on AWS, and what its machines start without Kubernetes: its run, or Slurm."""

from typing import Any

from sizewell.components.aws.args import bucket_name
from sizewell.components.booting import run_at_boot
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.launch.plan import RunPlan
from sizewell.launch.slurm_boot import first_boot
from sizewell.launch.target import Target, eks_target, machine_of
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload


def store_uri(decision: Decision, workload: Workload, settings: Settings) -> str:
    """URI of the workload's checkpoint store; "" where it has none."""
    return f"s3://{bucket_name(decision, workload, settings)}" if workload.checkpoint else ""


def target(decision: Decision, workload: Workload, pool: Pool, settings: Settings, *, queue: str = "") -> Target:
    """The pool as its pods see it; pod identity lets their account write checkpoints."""
    from sizewell.components.aws.eks.args import eks_pool_args
    from sizewell.components.aws.eks.node_config import topology_levels

    store = store_uri(decision, workload, settings)
    shape = find_shape("aws", pool.instance_type) if queue else None
    levels = topology_levels(eks_pool_args(decision, workload, pool, settings), shape) if shape else ()
    return eks_target(workload, pool, name=pool_name(workload, pool), queue=queue, levels=levels, store=store)


def boot(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
    """Arguments of the machines beside those of their pool: what they start, and the image that has it.

    ConfigError where Slurm is decided and no image is named: the vendor's own, Amazon Linux, has no package of Slurm.
    """
    name = pool_name(workload, pool)
    image = settings.images.get(name)
    if workload.scheduler != "slurm":
        started = run_at_boot(decision, workload, pool, settings, target(decision, workload, pool, settings))
        return {**started, **({"image": image} if image else {})}
    if not image:
        at = f"sizewell:images.{name}"
        fix = f"pulumi config set --path '{at}' ami-... (AWS ParallelCluster's for Amazon Linux 2023 have it)"
        fault = Fault(path=at, message="is missing: Amazon Linux has neither Slurm nor a package of it", fix=fix)
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
