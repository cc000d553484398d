"""Where a workload's pods run and write on our EKS clusters. Pure."""

from components.aws.args import bucket_name
from components.machines import pool_name
from components.settings import Settings
from launch.target import Target, eks_target
from sizing.decision import Decision, Pool, Workload


def store_uri(decision: Decision, workload: Workload, settings: Settings) -> str:
    """URI of the workload's checkpoint store; "" where it has none."""
    return f"s3://{bucket_name(decision, workload, settings)}" if workload.checkpoint else ""


def target(decision: Decision, workload: Workload, pool: Pool, settings: Settings, *, queue: str = "") -> Target:
    """The pool as its pods see it; pod identity lets their account write checkpoints."""
    store = store_uri(decision, workload, settings)
    return eks_target(workload, pool, name=pool_name(workload, pool), queue=queue, store=store)
