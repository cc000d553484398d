from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Purchase
from sizewell.resources.values import either, get


def reservation_without_end(purchase: Purchase, _: Parameters) -> Verdict:
    """An on-demand reservation bills like running machines until somebody deletes it.

    >>> from sizewell.policy.examples import purchase
    >>> reservation_without_end(purchase(refundable=True), {}).fix
    'set endDate, or the tag sizewell-expires'
    >>> reservation_without_end(purchase(refundable=True, date_stated=True), {}) is None
    True
    """
    if not purchase.refundable:
        return None
    tagged = get(purchase.tags, "sizewell-expires")
    return require(
        either(purchase.date_stated, UNKNOWN if tagged is UNKNOWN else tagged is not None),
        message="reserved capacity bills whether it is used or not, and this reservation never ends",
        fix="set endDate, or the tag sizewell-expires",
        unknown="the end date",
    )


RULE = Rule(
    id="reservation-without-end",
    area="spend",
    subject="purchases",
    prevents="reserved capacity that bills on after the work",
    judge=reservation_without_end,
)
