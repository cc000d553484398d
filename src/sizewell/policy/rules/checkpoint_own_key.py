from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Store


def checkpoint_own_key(store: Store, _: Parameters) -> Verdict:
    """Checkpoints are encrypted with a customer-managed key: one grant controls who can read them.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_own_key(store(checkpoints=True), {}).fix
    'encrypt with a customer-managed key'
    """
    if store.checkpoints is False:
        return None
    return require(
        store.own_key,
        message="no customer-managed key: anyone with access to the bucket can read the weights",
        fix="encrypt with a customer-managed key",
        unknown="the encryption",
    )


RULE = Rule(
    id="checkpoint-own-key",
    area="safety",
    subject="stores",
    prevents="weights that leak with access to the bucket",
    judge=checkpoint_own_key,
    levels={"dev": "advisory"},
)
