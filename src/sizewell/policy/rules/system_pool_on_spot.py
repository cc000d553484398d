from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, forbid
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import StackFacts

_POOLS: Final = (
    "gcp:container/nodePool:NodePool",
    "azure-native:containerservice:AgentPool",
    "aws:eks/nodeGroup:NodeGroup",
)


def system_pool_on_spot(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """The pool that runs the schedulers and agents is not on spot: otherwise accelerators wait for it, and are billed.

    >>> from sizewell.policy.examples import pool, stack
    >>> system = pool(type="gcp:container/nodePool:NodePool", market="spot", kinds=("e2-standard-4",))
    >>> system_pool_on_spot(stack(pools=(system, pool(accelerator="l4"))), {})[0][1].fix
    'run the system pool on demand'
    """
    if not any(pool.accelerated is not False for pool in facts.pools):
        return []
    verdicts: list[tuple[str, Verdict]] = []
    for pool in facts.pools:
        if pool.type not in _POOLS or pool.accelerated is True or pool.workload_kind not in ("", UNKNOWN):
            continue  # a workload's own machines without accelerators run no schedulers
        if pool.accelerated is UNKNOWN and pool.market in ("spot", UNKNOWN):
            verdicts.append((pool.urn, Undetermined("its machine type")))
            continue
        verdict = forbid(
            UNKNOWN if pool.market is UNKNOWN else pool.market == "spot",
            message="a spot interruption removes schedulers and agents while the accelerators are billed",
            fix="run the system pool on demand",
            unknown="the market",
        )
        verdicts.append((pool.urn, verdict))
    return verdicts


RULE = Rule(
    id="system-pool-on-spot",
    area="correctness",
    subject="stack",
    prevents="accelerators that wait for their scheduler",
    judge=system_pool_on_spot,
)
