"""Where a workload's pods run and write on our AKS clusters. Pure."""

from typing import Any

from components.azure.args import bucket_name
from components.azure.plans import CONTAINER
from components.machines import pool_name
from components.settings import Settings
from launch.target import Target, aks_target
from sizing.decision import Decision, Pool, Workload


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
