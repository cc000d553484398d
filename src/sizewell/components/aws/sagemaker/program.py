"""From a decision to one pool on SageMaker."""

from collections.abc import Sequence
from typing import Any

import pulumi

from sizewell.components import containers
from sizewell.components.aws.args import pool_args
from sizewell.components.aws.sagemaker import args as to
from sizewell.components.aws.sagemaker.endpoints import AsyncEndpoint, RealtimeEndpoint
from sizewell.components.aws.sagemaker.notebooks import Notebook
from sizewell.components.aws.sagemaker.training import TrainingPipeline
from sizewell.components.aws.targets import Pair, Subnets, key_named
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Pool, Workload

CONTAINER_KEYS = ("image", "model_data", "environment_variables", "hyperparameters", "channels", "results")
EXAMPLE = "ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME:TAG"


def build(
    decision: Decision,
    pair: Pair,
    settings: Settings,
    *,
    place: dict[str, Any],
    zones: Sequence[str],
    subnets: Subnets,
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """One pool on SageMaker; `zones` are those of the network. Which container runs says the configuration."""
    workload, pool = pair
    name = pool_name(workload, pool)
    place = {**place, **key_named(pool.region, settings)}
    if workload.kind == "notebook":
        args = to.notebook_args(decision, workload, pool)
        first_zone = list(zones[:1])
        notebook = Notebook.of(name, args, place, {"zones": first_zone}, subnets(first_zone), opts=options)
        return {"notebook": notebook.notebook_name, "role": notebook.role_arn}
    container = container_of(name)
    if workload.kind in ("training", "fine-tuning"):
        args = to.training_args(decision, workload, pool, settings, container["image"])
        args |= {key: value for key, value in container.items() if key != "model_data"}
        first_zone = pool_args(decision, workload, pool, settings)["zones"][:1]
        pipeline = TrainingPipeline.of(name, args, place, {"zones": first_zone}, subnets(first_zone), opts=options)
        return {"pipeline": pipeline.pipeline_name, "role": pipeline.role_arn}
    two = list(zones[:2])
    if pool.served == "async":
        args = async_args(decision, workload, pool, container["image"]) | container
        waiting = AsyncEndpoint.of(name, args, place, {"zones": two}, subnets(two), opts=options)
        return {"endpoint": waiting.endpoint_name, "role": waiting.role_arn}
    args = to.endpoint_args(decision, workload, pool, container["image"]) | container
    endpoint = RealtimeEndpoint.of(name, args, place, {"zones": two}, subnets(two), opts=options)
    return {"endpoint": endpoint.endpoint_name, "role": endpoint.role_arn}


def async_args(decision: Decision, workload: Workload, pool: Pool, image: str) -> dict[str, Any]:
    """An endpoint that requests wait for, as a decision says it."""
    args = to.endpoint_args(decision, workload, pool, image)
    wanted = ("nodes_min", "nodes_initial", "accelerators_per_copy")
    at_once = max(1, min(1000, round(args["concurrency"])))
    return {**{key: value for key, value in args.items() if key not in wanted}, "concurrency": at_once}


def container_of(name: str) -> dict[str, Any]:
    """What runs on SageMaker for a workload: `sizewell:sagemaker` in the stack's configuration, by the pool's name."""
    return containers.container_of("sagemaker", name, allowed=CONTAINER_KEYS, example=EXAMPLE)
