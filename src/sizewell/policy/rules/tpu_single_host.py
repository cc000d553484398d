from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get, text


def tpu_single_host(pool: Pool, _: Parameters) -> Verdict:
    """A single-host TPU pool states no topology: with one, GKE treats it as a slice that cannot scale.

    >>> from sizewell.policy.examples import pool
    >>> single = {"placementPolicy": {"tpuTopology": "2x2", "type": "COMPACT"}}
    >>> tpu_single_host(pool(kinds=("ct6e-standard-4t",), tpu_chips=4, inputs=single), {}).fix
    'drop placementPolicy.tpuTopology'
    """
    if isinstance(pool.kinds, Unknown):
        return Undetermined("the machine type")
    if not pool.tpu_chips:
        return None
    topology = text(get(pool.inputs, "placementPolicy", "tpuTopology"))
    if isinstance(topology, Unknown):
        return Undetermined("the topology")
    sides = [int(side) for side in topology.split("x") if side.isdigit()]
    chips = 1
    for side in sides:
        chips *= side
    if not sides or chips > pool.tpu_chips:
        return None
    return Violation(
        f"{topology} fits one machine: as a slice the pool cannot be scaled machine by machine",
        "drop placementPolicy.tpuTopology",
    )


RULE = Rule(
    id="tpu-single-host",
    area="correctness",
    subject="pools",
    prevents="single TPU machines that cannot scale",
    judge=tpu_single_host,
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
