from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get, text


def tpu_topology(pool: Pool, _: Parameters) -> Verdict:
    """A TPU slice has the number of machines that its topology needs, all or none.

    >>> from sizewell.policy.examples import pool
    >>> slice_ = {"placementPolicy": {"tpuTopology": "4x4", "type": "COMPACT"}, "nodeCount": 3}
    >>> tpu = pool(kinds=("ct6e-standard-4t",), tpu_chips=4, inputs=slice_, nodes_min=3, nodes_max=3)
    >>> tpu_topology(tpu, {}).fix
    'set the number of nodes to 4'
    """
    if isinstance(pool.kinds, Unknown):
        return Undetermined("the machine type")
    chips = pool.tpu_chips
    topology = text(get(pool.inputs, "placementPolicy", "tpuTopology"))
    if not chips or topology == "":
        return None
    if isinstance(topology, Unknown) or isinstance(pool.nodes_max, Unknown) or isinstance(pool.nodes_min, Unknown):
        return Undetermined("topology and size")
    total = 1
    for side in topology.split("x"):
        if not side.isdigit():
            return Violation(f"{topology} is not a topology: the pool is rejected", "write it as 2x4 or 4x4x4")
        total *= int(side)
    machines = total // chips
    if total % chips:
        return Violation(
            f"{topology} is not a whole number of {pool.kinds[0]} machines: the pool is rejected",
            "use a valid topology",
        )
    if machines <= 1:
        return None
    if pool.nodes_max != machines or pool.nodes_min not in (0, machines):
        return Violation(
            f"{topology} needs {machines} nodes, all or none: {pool.nodes_min} to {pool.nodes_max} do not form a slice",
            f"set the number of nodes to {machines}",
        )
    return None


RULE = Rule(
    id="tpu-topology",
    area="correctness",
    subject="pools",
    prevents="TPU nodes that are billed but do not form a slice",
    judge=tpu_topology,
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
