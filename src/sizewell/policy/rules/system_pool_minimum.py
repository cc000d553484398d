from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.sizing.units import plural

_POOLS: Final = (
    "gcp:container/nodePool:NodePool",
    "azure-native:containerservice:AgentPool",
    "azure-native:containerservice:ManagedCluster",
    "aws:eks/nodeGroup:NodeGroup",
)


def system_pool_minimum(pool: Pool, parameters: Parameters) -> Verdict:
    """System machines run all the time: in development one or two are enough.

    >>> from sizewell.policy.examples import pool
    >>> nodes = {"type": "gcp:container/nodePool:NodePool", "environment": "dev", "nodes_min": 5}
    >>> system_pool_minimum(pool(**nodes), {"nodes": {"dev": 2}}).fix
    'set the minimum size to 2, or raise parameters.system-pool-minimum.nodes'
    """
    if pool.accelerated is True or pool.nodes_min in (0, None):
        return None
    if isinstance(pool.environment, Unknown):
        return Undetermined("the environment")
    limit = parameters["nodes"].get(pool.environment)
    if limit is None:
        return None
    if isinstance(pool.nodes_min, Unknown):
        return Undetermined("the minimum size")
    if (pool.nodes_min or 0) <= limit:
        return None
    if pool.accelerated is UNKNOWN:
        return Undetermined("the machine type")
    kept = plural(pool.nodes_min or 0, "machine")
    return Violation(
        f"a {pool.environment} stack is billed for {kept} without accelerators every night",
        f"set the minimum size to {limit}, or raise parameters.system-pool-minimum.nodes",
    )


RULE = Rule(
    id="system-pool-minimum",
    area="spend",
    subject="pools",
    prevents="system machines that are billed at night and on weekends",
    judge=system_pool_minimum,
    level="advisory",
    types=_POOLS,
    parameters={
        "nodes": Parameter(
            default={"dev": 2, "staging": 3, "prod": 6},
            schema={"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
            meaning="largest minimum of machines without accelerators, by environment",
        )
    },
)
