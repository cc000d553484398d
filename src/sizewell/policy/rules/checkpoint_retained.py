from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation
from sizewell.resources.stackfacts import Store


def checkpoint_retained(store: Store, _: Parameters) -> Verdict:
    """A checkpoint store is retained when its stack is destroyed; only the evaluator can see this option.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_retained(store(checkpoints=True), {}).fix
    'set retain_on_delete=True on the bucket'
    >>> checkpoint_retained(store(checkpoints=True, retain_on_delete=True), {}) is None
    True
    """
    if store.checkpoints is False or store.retained:
        return None
    return Violation(
        "not retained: a destroy or a renamed resource deletes the bucket with every checkpoint",
        "set retain_on_delete=True on the bucket",
    )


RULE = Rule(
    id="checkpoint-retained",
    area="safety",
    subject="stores",
    prevents="checkpoints lost with their stack",
    judge=checkpoint_retained,
    evaluator_only=True,
)
