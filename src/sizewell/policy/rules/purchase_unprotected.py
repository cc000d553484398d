from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation
from sizewell.resources.stackfacts import Purchase


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


RULE = Rule(
    id="purchase-unprotected",
    area="spend",
    subject="purchases",
    prevents="the same capacity bought twice",
    judge=purchase_unprotected,
)
