from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get, items


def gke_specific_reservation(pool: Pool, _: Parameters) -> Verdict:
    """A pool in a specific reservation names exactly one, and keeps to the zones of that reservation.

    >>> from sizewell.policy.examples import pool
    >>> affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "values": []}
    >>> inputs = {"nodeConfig": {"reservationAffinity": affinity}}
    >>> gke_specific_reservation(pool(type="gcp:container/nodePool:NodePool", inputs=inputs), {}).fix
    'name the reservation in reservationAffinity.values'
    """
    affinity = get(pool.inputs, "nodeConfig", "reservationAffinity")
    kind = get(affinity, "consumeReservationType")
    if kind is UNKNOWN:
        return Undetermined("the reservation")
    if kind != "SPECIFIC_RESERVATION":
        return None
    values = items(get(affinity, "values"))
    if isinstance(values, Unknown) or isinstance(pool.zones, Unknown):
        return Undetermined("the reservation and its zone")
    if len(values) != 1:
        message = f"{len(values)} reservations named, one is needed: the pool falls back to on-demand or is refused"
        return Violation(message, "name the reservation in reservationAffinity.values")
    if (pool.zones or 1) > 1:
        message = f"a reservation stands in one zone, the pool in {pool.zones}: nodes elsewhere are never started"
        return Violation(message, "name the reservation's zone in nodeLocations")
    return None


RULE = Rule(
    id="gke-specific-reservation",
    area="correctness",
    subject="pools",
    prevents="reserved capacity that is paid and not used",
    judge=gke_specific_reservation,
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
