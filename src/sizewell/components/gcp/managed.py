"""What a decision can ask for on Google Cloud beside GKE: a GPU on Cloud Run, training and endpoints on Vertex AI."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi_gcp import serviceaccount

from sizewell.components import containers, limits
from sizewell.components.facts import owned_args, pool_facts
from sizewell.components.gcp.args import bucket_name, protection, writer_account
from sizewell.components.gcp.limits import expiry
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.billing import standing
from sizewell.sizing.choose import services
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload

Pair = tuple[Workload, Pool]
RUN_KEYS = ("image", "port", "timeout_s", "subnetwork", "invokers", "environment_variables")
TRAINING_KEYS = ("image", "command", "arguments", "environment_variables", "subnetwork")
ENDPOINT_KEYS = ("model", "image", "accept_eula", "target_utilization_percent")
EXAMPLE = "REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME@sha256:DIGEST"
LONGEST_H = 168


def target_of(workload: Workload, pool: Pool) -> str:
    """Who runs the pool: kubernetes, cloud-run or vertex."""
    return standing.target_of(pool.managed, workload.scheduler, cloud="gcp", fleet=False)


def build_managed(
    decision: Decision, pairs: Sequence[Pair], settings: Settings, *, options: pulumi.ResourceOptions
) -> dict[str, Any]:
    """The pools of a region that a service runs; they need no network and no cluster of ours."""
    outputs: dict[str, Any] = {}
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


def armed(
    decision: Decision, region: str, project: pulumi.Input[str], options: pulumi.ResourceOptions
) -> pulumi.Input[str]:
    """The project's id, once the hard end of the stack is there; at once for a stack without an end.

    Everything that bills is told its project: without `ttl-NAME` the update ends before anything of it is made.
    """
    if decision.expires_at is None:
        return project
    ender = serviceaccount.get_account_output(
        account_id=expiry.hand(decision.stack, region),
        project=project,
        opts=pulumi.InvokeOptions(provider=options.provider),
    )
    return pulumi.Output.all(project, ender.email).apply(lambda known: known[0])


def build_budget(decision: Decision, region: str, settings: Settings, *, options: pulumi.ResourceOptions) -> None:
    """The budget of the stack, where every workload has one and `sizewell:billingAccount` says whose bill it is on.

    Budgets belong to a billing account, which no decision knows and not everybody who builds a stack may write to.
    """
    account, args = pulumi.Config("sizewell").get("billingAccount"), limits.budget_args(decision, region)
    if account is None or args is None:
        return
    from sizewell.components.gcp.limits.guards import BudgetAlarms

    BudgetAlarms.of("budget", args, {"project": project_of(settings), "billing_account": account}, opts=options)


def project_of(settings: Settings) -> str:
    """The one project that the configuration names: a service's name is made with it."""
    if len(settings.accounts) == 1:
        return settings.accounts[0]
    named = ", ".join(settings.accounts) or "none"
    fix = "pulumi config set --path 'sizewell:accounts[0]' PROJECT"
    fault = Fault(path="sizewell:accounts", message=f"must name one project for managed services, has {named}", fix=fix)
    raise ConfigError([fault], subject=f"configuration of {pulumi.get_stack()}")


def run_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
    """A service on Cloud Run as a decision says it: the CPUs and memory of the G2 machine that it was sized as."""
    shape, replicas = find_shape("gcp", pool.instance_type), workload.replicas
    container = containers.container_of("cloudRun", pool_name(workload, pool), allowed=RUN_KEYS, example=EXAMPLE)
    args: dict[str, Any] = {
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


def training_args(decision: Decision, workload: Workload, pool: Pool, settings: Settings) -> dict[str, Any]:
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
    args: dict[str, Any] = {
        **owned_args(decision),
        "facts": pool_facts(decision, workload, pool),
        "region": pool.region,
        "machine_type": pool.instance_type,
        "replicas_min": max(1, pool.nodes_min),
        "replicas_max": max(1, pool.nodes_max),
        "model": (workload.task.model if workload.task else None) or "",
    }
    return {**args, **container}
