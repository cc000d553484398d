from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation
from sizewell.resources.stackfacts import Store

_REFUSING: Final = ("aws", "gcp")


def checkpoint_protected(store: Store, _: Parameters) -> Verdict:
    """A checkpoint store is protected, so that a destroy cannot delete it.

    AWS and Google Cloud refuse to delete a bucket that holds objects, unless it says that they may go with it.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_protected(store(checkpoints=True, cloud="azure"), {}).fix
    'set protect=True on the bucket'
    >>> checkpoint_protected(store(checkpoints=True, protect=True), {}) is None
    True
    """
    if store.checkpoints is False or store.protect:
        return None
    if store.cloud in _REFUSING and store.deletable is False:
        return None
    return Violation(
        "not protected: `pulumi destroy` deletes every checkpoint",
        "set protect=True on the bucket",
    )


RULE = Rule(
    id="checkpoint-protected",
    area="safety",
    subject="stores",
    prevents="checkpoints lost with their stack",
    judge=checkpoint_protected,
)
