from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.stackfacts import Store


def checkpoint_deletable(store: Store, _: Parameters) -> Verdict:
    """A bucket that may be destroyed with its objects holds no checkpoints, and nothing in production.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_deletable(store(checkpoints=True, deletable=True), {}).fix
    'set forceDestroy to false'
    >>> checkpoint_deletable(store(checkpoints=False, deletable=True, environment="dev"), {}) is None
    True
    """
    if store.checkpoints is False and store.environment != "prod":
        return None
    return forbid(
        store.deletable,
        message="deleting the bucket deletes everything in it without confirmation",
        fix="set forceDestroy to false",
        unknown="forceDestroy",
    )


RULE = Rule(
    id="checkpoint-deletable",
    area="safety",
    subject="stores",
    prevents="data deleted together with its bucket",
    judge=checkpoint_deletable,
)
