from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool


def block_not_targeted(pool: Pool, _: Parameters) -> Verdict:
    """Machines of a capacity block or reservation name it: otherwise they start outside it, and both are billed.

    >>> from sizewell.policy.examples import pool
    >>> block_not_targeted(pool(market="capacity-block"), {}).fix
    'name the block in capacityReservationSpecification.capacityReservationTarget'
    """
    bought = pool.market == "capacity-block" or pool.declared_market in ("capacity-block", "reservation")
    if UNKNOWN in (pool.market, pool.declared_market) and not bought:
        return Undetermined("the market") if pool.reserved == "" else None
    if not bought or pool.reserved != "":
        return None
    return Violation(
        "the machines do not use the prepaid capacity: it stays empty while on-demand machines are billed",
        "name the block in capacityReservationSpecification.capacityReservationTarget",
    )


RULE = Rule(
    id="block-not-targeted",
    area="spend",
    subject="pools",
    prevents="prepaid capacity that stays empty",
    judge=block_not_targeted,
    clouds=("aws",),
    types=("aws:autoscaling/group:Group", "aws:ec2/instance:Instance", "aws:eks/nodeGroup:NodeGroup"),
)
