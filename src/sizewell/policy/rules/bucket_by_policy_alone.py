from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Store


def bucket_by_policy_alone(store: Store, _: Parameters) -> Verdict:
    """Access is by policy alone: object ACLs and account keys bypass every review.

    >>> from sizewell.policy.examples import store
    >>> bucket_by_policy_alone(store(uniform=False), {}).fix
    'enforce bucket-owner ownership, uniform access, or switch shared keys off'
    """
    return require(
        store.uniform,
        message="object ACLs or account keys give access that bypasses the reviewed policies",
        fix="enforce bucket-owner ownership, uniform access, or switch shared keys off",
        unknown="how access is controlled",
    )


RULE = Rule(
    id="bucket-by-policy-alone",
    area="safety",
    subject="stores",
    prevents="access that bypasses policies",
    judge=bucket_by_policy_alone,
)
