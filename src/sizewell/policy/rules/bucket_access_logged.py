from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Store


def bucket_access_logged(store: Store, _: Parameters) -> Verdict:
    """In production, access to buckets is logged, so that it is known who read the weights.

    >>> from sizewell.policy.examples import store
    >>> bucket_access_logged(store(environment="prod"), {}).fix
    'log access to a bucket of its own'
    """
    if store.environment != "prod" or store.logs or store.type == "azure-native:storage:StorageAccount":
        return None
    return require(
        store.logged,
        message="access is not logged: after a leak it is unknown who read what",
        fix="log access to a bucket of its own",
        unknown="the access log",
    )


RULE = Rule(
    id="bucket-access-logged",
    area="safety",
    subject="stores",
    prevents="leaks that cannot be traced",
    judge=bucket_access_logged,
    level="advisory",
)
