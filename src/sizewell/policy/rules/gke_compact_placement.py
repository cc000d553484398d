from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get


def gke_compact_placement(pool: Pool, _: Parameters) -> Verdict:
    """Compact placement requires exactly one zone and no blue-green upgrade.

    >>> from sizewell.policy.examples import pool
    >>> compact = {"placementPolicy": {"type": "COMPACT"}, "upgradeSettings": {"strategy": "BLUE_GREEN"}}
    >>> node_pool = "gcp:container/nodePool:NodePool"
    >>> gke_compact_placement(pool(type=node_pool, placement=True, zones=1, inputs=compact), {}).fix
    'use SURGE upgrades'
    >>> gke_compact_placement(pool(type=node_pool, placement=True, zones=3), {}).fix
    'name one zone in nodeLocations'
    """
    if pool.placement is not True:
        return Undetermined("the placement policy") if pool.placement is UNKNOWN else None
    strategy = get(pool.inputs, "upgradeSettings", "strategy")
    if isinstance(pool.zones, Unknown) or strategy is UNKNOWN:
        return Undetermined("zones and upgrade strategy")
    if (pool.zones or 1) > 1:
        message = f"compact placement over {pool.zones} zones is rejected"
        return Violation(message, "name one zone in nodeLocations")
    if strategy == "BLUE_GREEN":
        return Violation("compact placement with blue-green upgrades is rejected", "use SURGE upgrades")
    return None


RULE = Rule(
    id="gke-compact-placement",
    area="correctness",
    subject="pools",
    prevents="pools that the cloud rejects",
    judge=gke_compact_placement,
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
