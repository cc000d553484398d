from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.policy.rules.purchase_unconfirmed import BASELINE, HOURLY
from sizewell.resources.readers.common import expiry
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Purchase
from sizewell.resources.values import either


def reservation_without_end(purchase: Purchase, parameters: Parameters) -> Verdict:
    """An on-demand reservation is billed like running machines until somebody deletes it.

    >>> from sizewell.policy.examples import purchase
    >>> usual = {"baseline": ["prod"]}
    >>> reservation_without_end(purchase(refundable=True), usual).fix
    'set endDate, or the tag sizewell-expires'
    >>> reservation_without_end(purchase(refundable=True, date_stated=True), usual) is None
    True
    """
    if not purchase.refundable or (purchase.type == HOURLY and purchase.environment in parameters["baseline"]):
        return None
    tagged = expiry(None, purchase.tags)
    return require(
        either(purchase.date_stated, UNKNOWN if tagged is UNKNOWN else tagged != ""),
        message="the reservation has no end date and is billed whether it is used or not",
        fix="set endDate, or the tag sizewell-expires",
        unknown="the end date",
    )


RULE = Rule(
    id="reservation-without-end",
    area="spend",
    subject="purchases",
    prevents="reserved capacity that is billed after the work is done",
    judge=reservation_without_end,
    parameters={"baseline": BASELINE},
)
