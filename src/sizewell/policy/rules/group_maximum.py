from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool


def group_maximum(pool: Pool, parameters: Parameters) -> Verdict:
    """A group has a deliberate maximum: a typo or a loop must not start a thousand machines.

    >>> from sizewell.policy.examples import pool
    >>> group_maximum(pool(accelerator="l4", nodes_max=1000), {"nodes": 64}).fix
    'lower the maximum size to 64, or raise parameters.group-maximum.nodes'
    >>> group_maximum(pool(accelerator="l4", nodes_max=8), {"nodes": 64}) is None
    True
    """
    if pool.type.startswith("aws:batch/"):  # counts vCPUs
        return None
    if isinstance(pool.nodes_max, Unknown):
        return Undetermined("the maximum size")
    if pool.nodes_max is None or pool.nodes_max <= parameters["nodes"]:
        return None
    return Violation(
        f"a scaling mistake can start {pool.nodes_max} machines at once",
        f"lower the maximum size to {parameters['nodes']}, or raise parameters.group-maximum.nodes",
    )


RULE = Rule(
    id="group-maximum",
    area="spend",
    subject="pools",
    prevents="unlimited scaling mistakes",
    judge=group_maximum,
    parameters={
        "nodes": Parameter(default=64, schema={"type": "integer", "minimum": 1}, meaning="largest maximum size")
    },
)
