from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Purchase


def purchase_unconfirmed(purchase: Purchase, _: Parameters) -> Verdict:
    """A purchase that cannot be returned needs a person's confirmation, a price limit and a date.

    >>> from sizewell.policy.examples import purchase
    >>> purchase_unconfirmed(purchase(), {}).fix
    'state purchase: confirmed, a maximum price and a start date'
    >>> purchase_unconfirmed(purchase(confirmed=True, price_stated=True, date_stated=True), {}) is None
    True
    """
    hourly = purchase.type == "azure-native:cognitiveservices:Deployment"  # provisioned throughput of a model
    if purchase.refundable and not hourly:
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
    spends = "buys throughput that bills every hour, used or not" if hourly else "spends non-refundable money at once"
    return Violation(
        f"`up` {spends}, without {' and '.join(missing)}",
        "state purchase: confirmed, a maximum price and a start date",
    )


RULE = Rule(
    id="purchase-unconfirmed",
    area="spend",
    subject="purchases",
    prevents="non-refundable purchases by accident",
    judge=purchase_unconfirmed,
)
