"""Capacity that is bought or reserved: purchases, commitments, capacity blocks, reservations, and their machines."""

from __future__ import annotations

from datetime import date
from typing import Final

from sizewell.policy.rule import (
    Parameter,
    Parameters,
    StackVerdicts,
    Undetermined,
    Verdict,
    Violation,
    forbid,
    require,
    rule,
)
from sizewell.resources import commitments
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool, Purchase, StackFacts, Thing
from sizewell.resources.values import Flag, either, every, flag, get, items
from sizewell.sizing.catalog import load

HOURLY: Final = "azure-native:cognitiveservices:Deployment"  # provisioned throughput of a model
BASELINE: Final = Parameter(
    default=["prod"],
    schema={"type": "array", "items": {"type": "string"}},
    meaning="environments in which throughput of a model may be provisioned without an end date",
)


@rule(
    "purchase-unconfirmed",
    area="spend",
    subject="purchases",
    prevents="non-refundable purchases by accident",
    about_accelerators=True,
    parameters={"baseline": BASELINE},
)
def purchase_unconfirmed(purchase: Purchase, parameters: Parameters) -> Verdict:
    """A purchase that cannot be returned needs a person's confirmation, a price limit and a date.

    So does throughput that is billed by the hour, but for `baseline` environments, where it serves as a machine does.

    >>> from sizewell.policy.examples import purchase
    >>> usual = {"baseline": ["prod"]}
    >>> purchase_unconfirmed(purchase(), usual).fix
    'tag it sizewell-purchase: confirmed, with sizewell-max-price-usd and sizewell-start'
    >>> purchase_unconfirmed(purchase(confirmed=True, price_stated=True, date_stated=True), usual) is None
    True
    """
    hourly = purchase.type == HOURLY
    if purchase.refundable and (not hourly or purchase.environment in parameters["baseline"]):
        return None
    missing = [
        word
        for word, stated in (
            ("a confirmation", purchase.confirmed),
            ("a price limit", purchase.price_stated),
            ("a date", purchase.date_stated),
        )
        if stated is not True
    ]
    if not missing:
        return None
    if UNKNOWN in (purchase.confirmed, purchase.price_stated, purchase.date_stated):
        return Undetermined("confirmation, price and date of the purchase")
    spends = (
        "buys throughput that is billed every hour, whether used or not"
        if hourly
        else "makes a non-refundable purchase"
    )
    return Violation(
        f"`up` {spends}, without {' and '.join(missing)}",
        "state purchase: confirmed, a maximum price and a start date"
        if purchase.registration is not None
        else "tag it sizewell-purchase: confirmed, with sizewell-max-price-usd and sizewell-start",
    )


@rule(
    "purchase-unprotected",
    area="spend",
    subject="purchases",
    prevents="the same capacity bought twice",
)
def purchase_unprotected(purchase: Purchase, _: Parameters) -> Verdict:
    """What was bought is protected: a replacement would buy it a second time.

    >>> from sizewell.policy.examples import purchase
    >>> purchase_unprotected(purchase(protect=False), {}).fix
    'set protect=True on the purchase'
    >>> purchase_unprotected(purchase(protect=True), {}) is None
    True
    """
    if purchase.refundable or purchase.protect:
        return None
    return Violation(
        "not protected: replacing it buys the capacity again, and a destroy gives up capacity that was paid for",
        "set protect=True on the purchase",
    )


@rule(
    "term-bought",
    area="spend",
    subject="things",
    prevents="multi-year commitments bought by a merge",
    about_accelerators=True,
    types=(*commitments.WHOLE, *commitments.WHERE_STATED),
)
def term_bought(thing: Thing, _: Parameters) -> Verdict:
    """A commitment of months or years is confirmed by a person, not bought by merging a program.

    >>> from sizewell.policy.examples import thing
    >>> term_bought(thing(type="aws:savingsplans/savingsPlan:SavingsPlan"), {}).fix
    'buy it by hand, or confirm it with the tag sizewell-purchase: confirmed'
    """
    said = get(thing.tags, "sizewell-purchase")
    bound = commitments.binds(thing.type, thing.inputs)
    if bound is False:
        return None
    if thing.tags is UNKNOWN or said is UNKNOWN or isinstance(bound, Unknown):
        return Undetermined("whether somebody confirmed the purchase")
    if str(said).lower() == "confirmed":
        return None
    return Violation(
        "`pulumi up` commits the account to pay for a whole term, whether used or not",
        "buy it by hand, or confirm it with the tag sizewell-purchase: confirmed"
        if thing.tags is not None
        else "buy it by hand, or waive the rule for it with an owner and a last day: it has no tags",
    )


_REPLACED_BY: Final = "the accelerators are released first, and may not be available again for days"


@rule(
    "scarce-pool-replaced",
    area="spend",
    subject="stack",
    prevents="giving up capacity that may not be available again",
    evaluator_only=True,
    parameters={
        "accelerators": Parameter(
            default=[
                "h100",
                "h200",
                "b200",
                "b300",
                "gb200",
                "gb300",
                "a100",
                "mi300",
                "trainium",
                "tpu",
                "v5p",
                "v6e",
            ],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="accelerators that are hard to get, by the start of their names",
        )
    },
)
def scarce_pool_replaced(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """A change that replaces a pool of scarce accelerators needs a person's approval.

    Only a preview against what stands knows: a policy process is never told what happens to a resource.

    >>> from sizewell.policy.examples import pool, stack
    >>> scarce = pool(accelerator="h100-sxm")
    >>> changed = stack(pools=(scarce,), changes={scarce.urn: "replace"})
    >>> scarce_pool_replaced(changed, {"accelerators": ["h100"]})[0][1].fix
    'keep the property that forces the replacement, or create the new pool next to the old one first'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for pool in facts.pools:
        if pool.accelerated is False:
            continue
        replaced = facts.changes.get(pool.urn) == "replace"
        name = pool.accelerator
        scarce = isinstance(name, Unknown) or pool.reserved != "" or load().named_by(name, parameters["accelerators"])
        verdicts.append(
            (
                pool.urn,
                Violation(
                    f"this change replaces a pool of scarce {name}: {_REPLACED_BY}",
                    "keep the property that forces the replacement, or create the new pool next to the old one first",
                )
                if replaced and scarce
                else None,
            )
        )
    for purchase in facts.purchases:
        if facts.changes.get(purchase.urn) in ("replace", "delete"):
            message = "this change replaces a purchase: capacity that is paid for would be given up"
            verdicts.append((purchase.urn, Violation(message, "keep the purchase as it is, or adopt it by its id")))
    return verdicts


@rule(
    "block-ends-early",
    area="spend",
    subject="stack",
    prevents="a prepaid block that ends before the job does",
    about_accelerators=True,
    parameters={
        "drain_minutes": Parameter(
            default=40,
            schema={"type": "integer", "minimum": 0},
            meaning="minutes before the end by which the work has to be saved: 30 for the provider, 10 to drain",
        )
    },
)
def block_ends_early(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """A capacity block lasts longer than the run, with room to drain before the provider takes the machines.

    >>> from sizewell.policy.examples import stack
    >>> block = {"mode": "capacity-block", "block": {"duration_hours": 24}}
    >>> run = {"metric": "run_time_s", "value": 90000.0, "high": 100000.0}
    >>> late = {"workloads": [{"pools": [{"capacity": block}], "performance": run}]}
    >>> block_ends_early(stack(decision=late), {"drain_minutes": 40})[0][1].message
    'the block ends after 24 h, 40 minutes of them to drain, but the run may take 27.8 h: it would be cut off'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for workload in (facts.decision or {}).get("workloads", ()):
        performance = workload.get("performance") or {}
        if performance.get("metric") != "run_time_s":
            continue
        needed = float(performance.get("high") or performance.get("value") or 0) / 3600
        for pool in workload.get("pools", ()):
            hours = get(pool, "capacity", "block", "duration_hours")
            if hours is None:
                continue
            usable = float(hours) - parameters["drain_minutes"] / 60
            if needed > usable:
                message = (
                    f"the block ends after {float(hours):g} h, {parameters['drain_minutes']} minutes of them "
                    f"to drain, but the run may take {needed:.1f} h: it would be cut off"
                )
                verdicts.append(("", Violation(message, "buy a longer block, or more machines for the run")))
    return verdicts or [("", None)]


@rule(
    "block-minimum-zero",
    area="correctness",
    subject="pools",
    prevents="a group that keeps failing outside its block's window",
    clouds=("aws",),
)
def block_minimum_zero(pool: Pool, _: Parameters) -> Verdict:
    """A pool in a capacity block has a minimum of 0: before and after the window there is nothing to start.

    >>> from sizewell.policy.examples import pool
    >>> block_minimum_zero(pool(market="capacity-block", nodes_min=2), {}).fix
    'set the minimum size to 0 and let the schedule raise it inside the window'
    >>> block_minimum_zero(pool(market="capacity-block", nodes_min=0), {}) is None
    True
    """
    if pool.market not in ("capacity-block", UNKNOWN) or pool.nodes_min in (0, None):
        return None
    if isinstance(pool.nodes_min, Unknown) or isinstance(pool.market, Unknown):
        return Undetermined("the market and the minimum size")
    return Violation(
        "outside the block's window the group keeps failing to start machines",
        "set the minimum size to 0 and let the schedule raise it inside the window",
    )


@rule(
    "block-not-targeted",
    area="spend",
    subject="pools",
    prevents="prepaid capacity that stays empty",
    about_accelerators=True,
    clouds=("aws",),
    types=("aws:autoscaling/group:Group", "aws:ec2/instance:Instance", "aws:eks/nodeGroup:NodeGroup"),
)
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


@rule(
    "reservation-expired",
    area="correctness",
    subject="stack",
    prevents="pools that wait for an expired reservation",
    about_accelerators=True,
    parameters={
        "days": Parameter(default=1, schema={"type": "integer", "minimum": 0}, meaning="least days that must be left")
    },
)
def reservation_expired(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """A pool's reservation is still open, and long enough: a group with an expired one retries for ever.

    >>> from sizewell.policy.examples import purchase, stack
    >>> from datetime import date
    >>> ended = purchase(inputs={"endDate": "2026-01-01T00:00:00Z"})
    >>> reservation_expired(stack(purchases=(ended,), on=date(2026, 2, 1)), {"days": 1})[0][1].fix
    'renew the reservation, or start the pool without it'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for purchase in facts.purchases:
        end = purchase.inputs.get("endDate")
        if end is UNKNOWN:
            verdicts.append((purchase.urn, Undetermined("the end date")))
        elif isinstance(end, str) and facts.on is not None:
            last = date.fromisoformat(end[:10])
            if (last - facts.on).days < parameters["days"]:
                message = f"the reservation ends on {last.isoformat()}: after that its pool cannot start machines"
                verdicts.append(
                    (purchase.urn, Violation(message, "renew the reservation, or start the pool without it"))
                )
            else:
                verdicts.append((purchase.urn, None))
    return verdicts


_ENDS: Final = {  # what a type calls its end; others have none
    "aws:ec2/capacityReservation:CapacityReservation": "give it an end (endDate), or an expiry that something acts on",
    "gcp:compute/reservation:Reservation": "give it an end (deleteAtTime), or an expiry that something acts on",
    HOURLY: ("use a sku that is billed by token (Standard), or give it an expiry that something acts on"),
}


@rule(
    "reservation-without-end",
    area="spend",
    subject="purchases",
    prevents="reserved capacity that is billed after the work is done",
    about_accelerators=True,
    parameters={"baseline": BASELINE},
)
def reservation_without_end(purchase: Purchase, parameters: Parameters) -> Verdict:
    """An on-demand reservation is billed like running machines until somebody deletes it.

    >>> from sizewell.policy.examples import purchase
    >>> usual = {"baseline": ["prod"]}
    >>> reservation_without_end(purchase(refundable=True), usual).fix
    'give it an expiry that something acts on'
    >>> held = purchase(refundable=True, type="aws:ec2/capacityReservation:CapacityReservation")
    >>> reservation_without_end(held, usual).fix
    'give it an end (endDate), or an expiry that something acts on'
    >>> from sizewell.resources.expiry import Expiry
    >>> reservation_without_end(purchase(refundable=True, ends=Expiry(counts=True)), usual) is None
    True
    """
    if not purchase.refundable or (purchase.type == HOURLY and purchase.environment in parameters["baseline"]):
        return None
    return require(
        purchase.ends.counts,
        message=f"the reservation is billed without an end, whether it is used or not{purchase.ends.also()}",
        fix=_ENDS.get(purchase.type, "give it an expiry that something acts on"),
        unknown="the end date",
    )


@rule(
    "placement-with-reservation",
    area="correctness",
    subject="pools",
    prevents="reserved machines that do not start",
    clouds=("aws",),
)
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


@rule(
    "gke-one-capacity-mode",
    area="correctness",
    subject="pools",
    prevents="pools that the cloud rejects",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def gke_one_capacity_mode(pool: Pool, _: Parameters) -> Verdict:
    """A GKE pool is bought in exactly one way: on demand, reserved, spot, flex-start or queued.

    >>> from sizewell.policy.examples import pool
    >>> both = {"nodeConfig": {"spot": True, "flexStart": True}}
    >>> gke_one_capacity_mode(pool(type="gcp:container/nodePool:NodePool", inputs=both), {}).message
    'spot and flex-start at once: the pool is rejected after the cluster has been built'
    """
    config = pool.inputs.get("nodeConfig")
    modes: dict[str, Flag] = {
        "spot": either(flag(get(config, "spot")), flag(get(config, "preemptible"))),
        "flex-start": flag(get(config, "flexStart")),
        "reservation": UNKNOWN if isinstance(pool.reserved, Unknown) else pool.reserved != "",
    }
    if modes["flex-start"] is not True:  # queued provisioning and flex-start go together
        modes["queued"] = flag(get(pool.inputs, "queuedProvisioning", "enabled"))
    chosen = [name for name, on in modes.items() if on is True]
    if len(chosen) > 1:
        return Violation(
            f"{' and '.join(chosen)} at once: the pool is rejected after the cluster has been built",
            f"keep one of {', '.join(chosen)}",
        )
    open_modes = sum(on is UNKNOWN for on in modes.values())
    return Undetermined("the capacity mode") if open_modes and open_modes + len(chosen) > 1 else None


@rule(
    "gke-specific-reservation",
    area="correctness",
    subject="pools",
    prevents="reserved capacity that is paid for but unused",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
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
        message = (
            f"{len(values)} reservations named, exactly one is required: the pool falls back to on-demand or "
            "is rejected"
        )
        return Violation(message, "name the reservation in reservationAffinity.values")
    if (pool.zones or 1) > 1:
        message = f"a reservation is in one zone, the pool in {pool.zones}: nodes in other zones never start"
        return Violation(message, "name the reservation's zone in nodeLocations")
    return None


@rule(
    "gke-flex-start",
    area="correctness",
    subject="pools",
    prevents="pools that the cloud rejects",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def gke_flex_start(pool: Pool, _: Parameters) -> Verdict:
    """Flex-start: auto-repair off, no fixed size, no reservation, not spot.

    >>> from sizewell.policy.examples import pool
    >>> flexible = {"nodeConfig": {"flexStart": True}, "management": {"autoRepair": True}}
    >>> gke_flex_start(pool(type="gcp:container/nodePool:NodePool", inputs=flexible), {}).fix
    'set management.autoRepair to false'
    """
    config = pool.inputs.get("nodeConfig")
    on = flag(get(config, "flexStart"))
    if on is not True:
        return Undetermined("flex-start") if on is UNKNOWN else None
    repair = flag(get(pool.inputs, "management", "autoRepair"), default=True)
    affinity = get(config, "reservationAffinity", "consumeReservationType")
    spot = flag(get(config, "spot"))
    if UNKNOWN in (repair, affinity, spot, pool.placement) or isinstance(pool.kinds, Unknown):
        return Undetermined("auto-repair and reservation")
    for bad, what, fix in (
        (repair is True, "auto-repair", "set management.autoRepair to false"),
        (bool(pool.inputs.get("nodeCount")), "a fixed size", "drop nodeCount and use autoscaling from 0"),
        (
            affinity != "NO_RESERVATION",
            "a reservation affinity other than NO_RESERVATION",
            "set reservationAffinity.consumeReservationType to NO_RESERVATION",
        ),
        (spot is True, "spot", "drop spot"),
        (
            pool.placement is True and "packed-flex-start" not in pool.traits,
            "compact placement of this machine type",
            "drop placementPolicy",
        ),
    ):
        if bad:
            return Violation(f"flex-start with {what} is rejected", fix)
    return None


@rule(
    "gke-queued-provisioning",
    area="correctness",
    subject="pools",
    prevents="jobs that never start",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def gke_queued_provisioning(pool: Pool, _: Parameters) -> Verdict:
    """Queued provisioning: no reservation, at least zero nodes, no compact placement (GPU), not spot.

    >>> from sizewell.policy.examples import pool
    >>> queued = {"queuedProvisioning": {"enabled": True}, "autoscaling": {"minNodeCount": 1}}
    >>> gke_queued_provisioning(pool(type="gcp:container/nodePool:NodePool", nodes_min=1, inputs=queued), {}).fix
    'set autoscaling.minNodeCount to 0'
    """
    queued = flag(get(pool.inputs, "queuedProvisioning", "enabled"))
    if queued is not True:
        return Undetermined("queued provisioning") if queued is UNKNOWN else None
    config = pool.inputs.get("nodeConfig")
    affinity = get(config, "reservationAffinity", "consumeReservationType")
    if UNKNOWN in (affinity, pool.nodes_min, pool.placement):
        return Undetermined("reservation, minimum and placement")
    wrong = [
        (
            affinity != "NO_RESERVATION",
            "a reservation affinity other than NO_RESERVATION",
            "set reservationAffinity.consumeReservationType to NO_RESERVATION",
        ),
        (bool(pool.nodes_min), "a minimum above zero", "set autoscaling.minNodeCount to 0"),
        (
            pool.placement is True and not pool.tpu_chips,
            "compact placement",
            "drop placementPolicy",
        ),
        (flag(get(config, "spot")) is True, "spot", "drop spot"),
    ]
    # the message names the first fault that a person has to mend
    for bad, what, fix in sorted(wrong, key=lambda entry: entry[1] != "a minimum above zero"):
        if bad:
            return Violation(f"queued provisioning with {what} is rejected: the jobs never start", fix)
    return None
