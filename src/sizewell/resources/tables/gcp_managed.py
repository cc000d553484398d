"""Prices of Google Cloud's managed machines beyond endpoints: pools of Vertex AI, indexes, older notebooks."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sizewell.resources import gcp_nodes, pools
from sizewell.resources.context import Context, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.tables.gcp_compute import attached
from sizewell.resources.values import Text, count, flag, get, items, text
from sizewell.sizing.money import LineItem


def dedicated(resource: RecordedResource, context: Context, stated: object) -> tuple[LineItem, ...]:
    """`dedicatedResources` of what Vertex AI serves from: a machine with its accelerators, and its replicas."""
    least = count(get(stated, "minReplicaCount", default=1))
    size = Size(least=least, wanted=least, most=count(get(stated, "maxReplicaCount", default=least)))
    spot = flag(get(stated, "spot"))
    market: Text = UNKNOWN if isinstance(spot, Unknown) else "spot" if spot else "on-demand"
    return _with_accelerators(
        resource, context, gcp_nodes.spec_machine(get(stated, "machineSpec"), market), size, premium="vertex"
    )


def _with_accelerators(
    resource: RecordedResource, context: Context, machine: gcp_nodes.Machine, size: Size, *, premium: str = ""
) -> tuple[LineItem, ...]:
    whole = pools.machines(
        resource, context, instance_type=machine.kind, market=machine.market, size=size, premium=premium
    )
    return (whole, *attached(resource, context, machine, size, premium=premium))


def _resource_pool(resource: RecordedResource, context: Context) -> Outcome:
    return dedicated(resource, context, resource.inputs.get("dedicatedResources"))


def _deployed_index(resource: RecordedResource, context: Context) -> Outcome:
    """A deployed index is billed by node-hours of vector search, which have a price list of their own."""
    kind = text(get(resource.inputs, "dedicatedResources", "machineSpec", "machineType"), "automatic")
    shown = kind if isinstance(kind, str) else "machine"
    return (context.unpriced(resource, f"vector search nodes, {shown}", "no price of its node-hours in the catalog"),)


def _persistent(resource: RecordedResource, context: Context) -> Outcome:
    """Machines that wait for training jobs: each pool bills while the resource stands."""
    entries = items(resource.inputs.get("resourcePools"))
    if isinstance(entries, Unknown):
        return (context.unpriced(resource, "machines for training", "known only after deployment"),)
    lines: list[LineItem] = []
    for entry in entries:
        scaling = get(entry, "autoscalingSpec")
        wanted = count(get(entry, "replicaCount", default=1))
        size = fixed(wanted)
        if scaling is not None:
            least = count(get(scaling, "minReplicaCount", default=1))
            size = Size(least=least, wanted=wanted, most=count(get(scaling, "maxReplicaCount")))
        machine = gcp_nodes.spec_machine(get(entry, "machineSpec"), "on-demand")
        lines += _with_accelerators(resource, context, machine, size, premium="vertex")
    return tuple(lines) or (context.unpriced(resource, "machines for training", "no pool is stated"),)


def _notebook(resource: RecordedResource, context: Context) -> Outcome:
    """A notebook of the former service: an instance, or the machine inside a managed runtime."""
    config: object = get(resource.inputs, "virtualMachine", "virtualMachineConfig", default=resource.inputs)
    machine = replace(
        gcp_nodes.spec_machine({"machineType": gcp_nodes.last_part(text(get(config, "machineType")))}, "on-demand"),
        attached=gcp_nodes.configured_accelerators(get(config, "acceleratorConfig")),
    )
    stops = flag(get(resource.inputs, "softwareConfig", "idleShutdown")) is True
    return _with_accelerators(resource, context, machine, Size(least=0 if stops else 1, wanted=1, most=1))


TABLE: Final[dict[str, Pricer]] = {
    "gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool": _resource_pool,
    "gcp:vertex/aiIndexEndpointDeployedIndex:AiIndexEndpointDeployedIndex": _deployed_index,
    "gcp:vertex/aiPersistentResource:AiPersistentResource": _persistent,
    "gcp:notebooks/instance:Instance": _notebook,
    "gcp:notebooks/runtime:Runtime": _notebook,
}
