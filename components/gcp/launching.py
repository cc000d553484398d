"""Where a workload's pods run and write on our GKE clusters. Pure."""

from typing import Any

from components.gcp.args import bucket_name, writer_account
from components.machines import pool_name
from components.settings import Settings
from components.tags import physical_name
from launch.target import Target, gke_target
from sizing.decision import Decision, Pool, Workload


def store_uri(decision: Decision, workload: Workload, settings: Settings) -> str:
    """URI of the workload's checkpoint store; "" where it has none."""
    return f"gs://{bucket_name(decision, workload, settings)}" if workload.checkpoint else ""


def target(
    decision: Decision, workload: Workload, pool: Pool, settings: Settings, *, queue: str = "", writer: Any = ""
) -> Target:
    """The pool as its pods see it; `writer` is the account that they act as, else the store's own."""
    if workload.checkpoint and not writer and settings.accounts:
        writer = f"{writer_account(decision, workload)}@{settings.accounts[0]}.iam.gserviceaccount.com"
    return gke_target(
        pool,
        name=pool_name(workload, pool),
        label=physical_name(workload.spec.name, limit=63),
        writer=writer,
        queue=queue,
        store=store_uri(decision, workload, settings),
    )
