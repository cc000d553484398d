from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Store


def bucket_public(store: Store, _: Parameters) -> Verdict:
    """No bucket can be made public, not even by a later mistake.

    >>> from sizewell.policy.examples import store
    >>> bucket_public(store(), {}).fix
    'block public access on the bucket (all four settings, enforced prevention, or a closed network)'
    """
    return require(
        store.private,
        message="one wrong grant would expose data and weights to the internet, with egress charges",
        fix="block public access on the bucket (all four settings, enforced prevention, or a closed network)",
        unknown="its public access settings",
    )


RULE = Rule(
    id="bucket-public",
    area="safety",
    subject="stores",
    prevents="data and weights exposed to the internet",
    judge=bucket_public,
)
