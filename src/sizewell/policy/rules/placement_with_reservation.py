from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import Flag, either, every, get


def placement_with_reservation(pool: Pool, _: Parameters) -> Verdict:
    """A pool of reserved machines uses their placement: in another placement group there is no capacity.

    >>> from sizewell.policy.examples import pool
    >>> placement_with_reservation(pool(placement=True, reserved="cr-1"), {}).fix
    'leave the placement group out, or use the one in which the reservation was made'
    >>> placement_with_reservation(pool(placement=True), {}) is None
    True
    """
    if pool.placement is False or get(pool.tags, "sizewell-placement") == "of-reservation":
        return None
    reserved: Flag = UNKNOWN if isinstance(pool.reserved, Unknown) else pool.reserved != ""
    return forbid(
        every(pool.placement, either(reserved, pool.market == "capacity-block")),
        message="a placement group with reserved capacity: machines do not start (InsufficientInstanceCapacity)",
        fix="leave the placement group out, or use the one in which the reservation was made",
        unknown="the placement group",
    )


RULE = Rule(
    id="placement-with-reservation",
    area="correctness",
    subject="pools",
    prevents="reserved machines that do not start",
    judge=placement_with_reservation,
    clouds=("aws",),
)
