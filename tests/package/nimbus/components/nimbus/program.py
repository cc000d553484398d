"""From a decision to the resources of a stack on Nimbus."""

from collections.abc import Sequence
from typing import Any

from sizewell.components.nimbus.pools import CheckpointStore, NimbusPool

from sizewell.components import shared_program
from sizewell.components.facts import guard_args, lasting_args, owned_args, pool_facts, store_facts
from sizewell.components.machines import find_shape, pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Workload


def build(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, Any]:
    """The pools."""
    del settings
    outputs: dict[str, Any] = {}
    for workload, pool in shared_program.pools_of("nimbus", workloads):
        name, shape = pool_name(workload, pool), find_shape("nimbus", pool.instance_type)
        args = {
            **owned_args(decision),
            **guard_args(workload, prepaid=False),
            "facts": pool_facts(decision, workload, pool),
            "region": pool.region,
            "machine_type": pool.instance_type,
            "accelerators": shape.accelerators if shape else 0,
            "capacity_mode": pool.market,
            "nodes_min": pool.nodes_min,
            "nodes_initial": pool.nodes_initial,
            "nodes_max": pool.nodes_max,
        }
        outputs[name] = {"group": NimbusPool.of(name, args).group}
    return outputs


def build_ttl(decision: Decision, settings: Settings) -> dict[str, Any]:
    """Nothing of Nimbus ends a stack."""
    del decision, settings
    return {}


def build_checkpoints(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, Any]:
    """A bucket for each workload."""
    del settings
    return {
        workload.spec.name: CheckpointStore.of(
            workload.spec.name,
            {
                **lasting_args(decision),
                "facts": store_facts(decision, workload),
                "region": workload.pools[0].region,
                "bucket": f"{decision.stack}-{workload.spec.name}",
            },
        ).bucket
        for workload in workloads
    }
