from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool


def spot_single_choice(pool: Pool, parameters: Parameters) -> Verdict:
    """Spot capacity comes from several machine types and zones; from one of them it is often not available.

    >>> from sizewell.policy.examples import pool
    >>> one = pool(market="spot", kinds=("g6.xlarge",), zones=1, machine={})
    >>> spot_single_choice(one, {"choices": 3}).fix
    'name more machine types or zones, with the price-capacity-optimized strategy'
    >>> spot_single_choice(pool(market="spot", kinds=("g6.xlarge", "g5.xlarge"), zones=2), {"choices": 3}) is None
    True
    """
    if (
        pool.market not in ("spot", UNKNOWN)
        or pool.single
        or pool.gang is True
        or pool.type.startswith(("gcp:", "azure-native:"))
    ):
        return None
    if isinstance(pool.kinds, Unknown) or isinstance(pool.zones, Unknown):
        return Undetermined("machine types and zones")
    choices = max(1, len(pool.kinds)) * (pool.zones or 1)
    if choices >= parameters["choices"]:
        return None
    if pool.market is UNKNOWN:
        return Undetermined("the market")
    return Violation(
        f"{choices} combination{'' if choices == 1 else 's'} of type and zone: one shortage stops the work",
        "name more machine types or zones, with the price-capacity-optimized strategy",
    )


RULE = Rule(
    id="spot-single-choice",
    area="correctness",
    subject="pools",
    prevents="spot pools that find no capacity",
    judge=spot_single_choice,
    level="advisory",
    clouds=("aws",),
    parameters={
        "choices": Parameter(
            default=3, schema={"type": "integer", "minimum": 1}, meaning="least combinations of machine type and zone"
        )
    },
)
