from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import either


def gang_in_one_zone(pool: Pool, _: Parameters) -> Verdict:
    """The machines of one job are in one zone: between zones there is no fast fabric, and traffic is billed.

    >>> from sizewell.policy.examples import pool
    >>> gang_in_one_zone(pool(gang=True, zones=3), {}).fix
    'give the pool one subnet, in a zone that offers the type'
    >>> gang_in_one_zone(pool(gang=True, zones=1), {}) is None
    True
    """
    if either(pool.gang, pool.placement) is False or pool.zones is None:
        return None
    if isinstance(pool.zones, Unknown) or UNKNOWN in (pool.gang, pool.placement):
        return Undetermined("the zones")
    if pool.zones == 1:
        return None
    return Violation(
        f"one job is spread over {pool.zones} zones: no fast interconnect between zones, and the traffic is billed",
        "give the pool one subnet, in a zone that offers the type",
    )


RULE = Rule(
    id="gang-in-one-zone",
    area="correctness",
    subject="pools",
    prevents="collectives across zones",
    judge=gang_in_one_zone,
)
