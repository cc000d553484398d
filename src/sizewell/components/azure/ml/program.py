"""From a decision to pools of Azure Machine Learning, in the one workspace of their region."""

from collections.abc import Sequence

import pulumi

from sizewell.components import containers
from sizewell.components.azure.ml import args as to
from sizewell.components.azure.ml.compute import AmlComputeCluster, AmlComputeInstance
from sizewell.components.azure.ml.endpoints import AmlOnlineEndpoint
from sizewell.components.azure.ml.workspace import AmlWorkspace
from sizewell.components.azure.targets import Pair, zones_of
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision

ENDPOINT_KEYS = (
    "image", "model", "environment_variables", "port", "health_path", "scoring_path", "auth", "live", "notify",
)  # fmt: skip
EXAMPLE = "REGISTRY.azurecr.io/NAME:TAG"


def build(
    decision: Decision,
    region: str,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    place: dict[str, object],
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """The one Azure ML workspace of a region, and each of `pairs` as what it is: cluster, endpoint or notebook."""
    there: dict[str, object] = {"resource_group": place["resource_group"], "subnet_id": place["subnet_id"]}
    if zones := zones_of(place):
        there["private_dns_zone_ids"] = zones
    name = f"ml-{region}"
    workspace = AmlWorkspace.of(name, to.workspace_args(decision, region, settings), there, opts=options)
    outputs: dict[str, object] = {name: {"workspace": workspace.workspace_name}}
    inside = {"resource_group": place["resource_group"], "workspace": workspace.workspace_name}
    for workload, pool in pairs:
        name = pool_name(workload, pool)
        if workload.kind == "notebook":
            args = {**to.instance_args(decision, workload, pool), **inside}
            notebook = AmlComputeInstance.of(name, args, opts=options)
            outputs[name] = {"notebook": notebook.instance_name}
        elif workload.kind == "inference":
            container = containers.container_of("azureml", name, allowed=ENDPOINT_KEYS, example=EXAMPLE)
            args = {**to.endpoint_args(decision, workload, pool, container), **inside}
            args |= {"registries": list(settings.registries)} if settings.registries else {}
            endpoint = AmlOnlineEndpoint.of(name, args, opts=options)
            outputs[name] = {"endpoint": endpoint.endpoint_name}
        else:
            args = {**to.compute_args(decision, workload, pool, settings), **there, **inside}
            args |= {"storage_id": workspace.storage_id, "registry_id": workspace.registry_id}
            compute = AmlComputeCluster.of(name, args, opts=options)
            outputs[name] = {"compute": compute.compute_name, "identity": compute.identity_id}
    return outputs
