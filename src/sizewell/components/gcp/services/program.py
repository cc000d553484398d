"""From a decision to pools that Cloud Run or Vertex AI run."""

from collections.abc import Sequence
from typing import Any

import pulumi

from sizewell.components import containers
from sizewell.components.facts import owned_args, pool_facts
from sizewell.components.gcp.args import bucket_name, protection, writer_account
from sizewell.components.gcp.targets import Pair, armed, project_of, target_of
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.choose import services
from sizewell.sizing.records.decision import Decision, Pool, Workload

RUN_KEYS = ("image", "port", "timeout_s", "subnetwork", "invokers", "environment_variables")
TRAINING_KEYS = ("image", "command", "arguments", "environment_variables", "subnetwork")
ENDPOINT_KEYS = ("model", "image", "accept_eula", "target_utilization_percent")
EXAMPLE = "REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:DIGEST"
LONGEST_H = 168


def build(
    decision: Decision, pairs: Sequence[Pair], settings: Settings, *, options: pulumi.ResourceOptions
) -> dict[str, object]:
    """The pools of a region that a service runs; they need no network and no cluster of ours."""
    outputs: dict[str, object] = {}
    for workload, pool in pairs:
        name, project = pool_name(workload, pool), armed(decision, pool.region, project_of(settings), options)
        if target_of(workload, pool) == "cloud-run":
            from sizewell.components.gcp.services.run import CloudRunGpu

            run = CloudRunGpu.of(name, run_args(decision, workload, pool, settings), {"project": project}, opts=options)
            outputs[name] = {"service": run.service_name, "uri": run.uri, "account": run.service_account}
        elif workload.kind == "inference":
            from sizewell.components.gcp.services.vertex import VertexEndpoint

            endpoint = VertexEndpoint.of(
                name, endpoint_args(decision, workload, pool), {"project": project}, opts=options
            )
            outputs[name] = {"endpoint": endpoint.endpoint}
        else:
            from sizewell.components.gcp.services.vertex import VertexTraining

            args = {**training_args(decision, workload, pool, settings), "project": project}
            training = VertexTraining.of(name, args, opts=options)
            outputs[name] = {"workflow": training.workflow_name, "launcher": training.launcher}
    return outputs


def run_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, object]:
    """A service on Cloud Run as a decision says it: the CPUs and memory of the G2 machine that it was sized as."""
    shape, replicas = find_shape("gcp", pool.instance_type), workload.replicas
    container = containers.container_of("cloudRun", pool_name(workload, pool), allowed=RUN_KEYS, example=EXAMPLE)
    args: dict[str, object] = {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "instances_min": pool.nodes_min,
        "instances_max": pool.nodes_max,
        "deletion_protection": protection(decision, settings),
    }
    if shape is not None:
        args |= {"cpus": shape.vcpus, "memory_gib": services.run_gib(shape)}
    if replicas is not None and replicas.concurrency_per_replica:
        args["requests_at_once"] = max(1, min(1000, replicas.concurrency_per_replica))
    return {**args, **container}


def training_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, object]:
    """Training on Vertex AI as a decision says it; the longest run is twice the upper end of the predicted time."""
    container = containers.container_of("vertex", pool_name(workload, pool), allowed=TRAINING_KEYS, example=EXAMPLE)
    predicted_s = workload.performance.high if workload.performance.metric == "run_time_s" else 86_400.0
    return {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "machine_type": pool.instance_type,
        "nodes": max(1, pool.nodes_max),
        "capacity_mode": pool.capacity.mode,
        "max_run_hours": min(LONGEST_H, max(1, -(-int(2 * predicted_s) // 3600))),
        "bucket": bucket_name(decision, workload, settings),
        "writer_account": writer_account(decision, workload),
        "disk_gib": max(-(-pool.disk_bytes_per_node // 2**30), 100),
        **container,
    }


def endpoint_args(decision: Decision, workload: Workload, pool: Pool) -> dict[str, Any]:
    """An endpoint on Vertex AI as a decision says it: the model's name is the decision's, or the configuration's."""
    container = containers.container_of(
        "vertex", pool_name(workload, pool), allowed=ENDPOINT_KEYS, example="OWNER/NAME", needs=""
    )
    args: dict[str, object] = {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "machine_type": pool.instance_type,
        "replicas_min": max(1, pool.nodes_min),
        "replicas_max": max(1, pool.nodes_max),
        "model": (workload.task.model if workload.task else None) or "",
    }
    return {**args, **container}
