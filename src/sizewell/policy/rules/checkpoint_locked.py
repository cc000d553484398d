from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Store


def checkpoint_locked(store: Store, _: Parameters) -> Verdict:
    """Checkpoints cannot be deleted for some days, even with the permission to delete.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_locked(store(checkpoints=True), {}).fix
    'add object lock (S3), object retention (Cloud Storage) or immutability (Azure)'
    """
    if store.checkpoints is False:
        return None
    return require(
        store.locked,
        message="without a lock a stolen key or a faulty script can delete every version of every checkpoint",
        fix="add object lock (S3), object retention (Cloud Storage) or immutability (Azure)",
        unknown="the lock",
    )


RULE = Rule(
    id="checkpoint-locked",
    area="safety",
    subject="stores",
    prevents="checkpoints deleted by a faulty script or a stolen key",
    judge=checkpoint_locked,
    levels={"dev": "advisory"},
)
