from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import flag, get

_GOOD: Final = (
    "price-capacity-optimized",
    "capacity-optimized",
    "capacity-optimized-prioritized",
    "priceCapacityOptimized",
    "capacityOptimized",
    "capacityOptimizedPrioritized",
)
_GROUP: Final = "aws:autoscaling/group:Group"
_FLEET: Final = "aws:ec2/fleet:Fleet"
_REQUEST: Final = "aws:ec2/spotFleetRequest:SpotFleetRequest"


def spot_strategy(pool: Pool, _: Parameters) -> Verdict:
    """Spot machines are chosen by available capacity, and replaced before they are reclaimed.

    >>> from sizewell.policy.examples import pool
    >>> cheap = {"spotOptions": {"allocationStrategy": "lowest-price"}}
    >>> spot_strategy(pool(type="aws:ec2/fleet:Fleet", market="spot", inputs=cheap), {}).fix
    'set the allocation strategy to price-capacity-optimized'
    """
    if pool.market not in ("spot", "mixed", UNKNOWN):
        return None
    if pool.type == _GROUP:
        policy = pool.inputs.get("mixedInstancesPolicy")
        if policy is None:
            return Undetermined("the market") if pool.market is UNKNOWN else None  # one type: nothing to choose from
        strategy = get(policy, "instancesDistribution", "spotAllocationStrategy")
        rebalances = flag(pool.inputs.get("capacityRebalance"))
    elif pool.type == _FLEET:
        strategy = get(pool.inputs, "spotOptions", "allocationStrategy")
        stated = get(pool.inputs, "spotOptions", "maintenanceStrategies", "capacityRebalance")
        rebalances = UNKNOWN if stated is UNKNOWN else stated is not None
    else:
        strategy = pool.inputs.get("allocationStrategy")
        stated = get(pool.inputs, "spotMaintenanceStrategies", "capacityRebalance")
        rebalances = UNKNOWN if stated is UNKNOWN else stated is not None
    if UNKNOWN in (pool.market, strategy, rebalances):
        return Undetermined("the market and its allocation strategy")
    if strategy not in _GOOD:
        return Violation(
            f"{strategy or 'the default strategy'} takes the cheapest machines, which are reclaimed first",
            "set the allocation strategy to price-capacity-optimized",
        )
    if not rebalances:
        return Violation(
            "capacity rebalancing is off: machines at risk are not replaced before they are reclaimed",
            "turn capacity rebalancing on",
        )
    return None


RULE = Rule(
    id="spot-strategy",
    area="correctness",
    subject="pools",
    prevents="spot machines that are reclaimed soonest",
    judge=spot_strategy,
    level="advisory",
    clouds=("aws",),
    types=(_GROUP, _FLEET, _REQUEST),
)
