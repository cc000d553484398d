from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Purchase

HOURLY: Final = "azure-native:cognitiveservices:Deployment"  # provisioned throughput of a model
BASELINE: Final = Parameter(
    default=["prod"],
    schema={"type": "array", "items": {"type": "string"}},
    meaning="environments in which throughput of a model may be provisioned without an end date",
)


def purchase_unconfirmed(purchase: Purchase, parameters: Parameters) -> Verdict:
    """A purchase that cannot be returned needs a person's confirmation, a price limit and a date.

    So does throughput that is billed by the hour, but for `baseline` environments, where it serves as a machine does.

    >>> from sizewell.policy.examples import purchase
    >>> usual = {"baseline": ["prod"]}
    >>> purchase_unconfirmed(purchase(), usual).fix
    'state purchase: confirmed, a maximum price and a start date'
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
        "state purchase: confirmed, a maximum price and a start date",
    )


RULE = Rule(
    id="purchase-unconfirmed",
    area="spend",
    subject="purchases",
    prevents="non-refundable purchases by accident",
    judge=purchase_unconfirmed,
    parameters={"baseline": BASELINE},
)
