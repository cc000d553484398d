from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get


def gke_spot_reservation(pool: Pool, _: Parameters) -> Verdict:
    """Spot machines do not run in a reservation: state that, or the pool is rejected.

    >>> from sizewell.policy.examples import pool
    >>> spot = {"nodeConfig": {"spot": True, "reservationAffinity": {"consumeReservationType": "ANY_RESERVATION"}}}
    >>> gke_spot_reservation(pool(type="gcp:container/nodePool:NodePool", market="spot", inputs=spot), {}).fix
    'set reservationAffinity.consumeReservationType to NO_RESERVATION'
    """
    if pool.market not in ("spot", UNKNOWN):
        return None
    affinity = get(pool.inputs, "nodeConfig", "reservationAffinity", "consumeReservationType")
    if affinity is UNKNOWN:
        return Undetermined("the reservation affinity")
    if affinity in {None, "NO_RESERVATION"}:
        return None
    if pool.market is UNKNOWN:
        return Undetermined("the market")
    return Violation(
        "spot nodes with a reservation are rejected",
        "set reservationAffinity.consumeReservationType to NO_RESERVATION",
    )


RULE = Rule(
    id="gke-spot-reservation",
    area="correctness",
    subject="pools",
    prevents="pools that the cloud rejects",
    judge=gke_spot_reservation,
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
