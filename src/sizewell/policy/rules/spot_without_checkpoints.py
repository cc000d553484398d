from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool

_KEEPS_NO_STATE: Final = ("inference", "batch-inference")


def spot_without_checkpoints(pool: Pool, _: Parameters) -> Verdict:
    """Training on spot without a checkpoint store loses everything at the first interruption.

    >>> from sizewell.policy.examples import pool
    >>> spot_without_checkpoints(pool(accelerator="l4", market="spot"), {}).fix
    'add a checkpoint store and tag the pool sizewell-checkpoint-store, or sizewell-workload=inference'
    >>> spot_without_checkpoints(pool(accelerator="l4", market="spot", workload_kind="inference"), {}) is None
    True
    """
    if pool.accelerated is False or pool.market not in ("spot", "mixed", UNKNOWN):
        return None
    if pool.workload_kind in _KEEPS_NO_STATE or pool.checkpoints is True:
        return None
    if UNKNOWN in (pool.market, pool.workload_kind, pool.checkpoints):
        return Undetermined("the market, the workload and its checkpoint store")
    return Violation(
        "no checkpoint store is declared: a spot interruption loses the whole run",
        "add a checkpoint store and tag the pool sizewell-checkpoint-store, or sizewell-workload=inference",
    )


RULE = Rule(
    id="spot-without-checkpoints",
    area="spend",
    subject="pools",
    prevents="training that a spot interruption loses and that is paid for twice",
    judge=spot_without_checkpoints,
)
