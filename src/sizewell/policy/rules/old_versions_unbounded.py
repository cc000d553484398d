from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, require
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Store


def old_versions_unbounded(store: Store, _: Parameters) -> Verdict:
    """In a versioned bucket, old versions expire: they are billed like current ones and do not show in listings.

    >>> from sizewell.policy.examples import store
    >>> old_versions_unbounded(store(versioned=True), {}).fix
    'add a lifecycle rule that expires noncurrent versions'
    >>> old_versions_unbounded(store(versioned=True, cleans_versions=True), {}) is None
    True
    """
    if store.versioned is False or store.cleans_versions is True:
        return None
    if store.versioned is UNKNOWN:
        return Undetermined("versioning")
    return require(
        store.cleans_versions,
        message="every overwritten or deleted object is kept as an old version and billed indefinitely",
        fix="add a lifecycle rule that expires noncurrent versions",
        unknown="the lifecycle rules",
    )


RULE = Rule(
    id="old-versions-unbounded",
    area="spend",
    subject="stores",
    prevents="old versions that are hidden and are billed indefinitely",
    judge=old_versions_unbounded,
)
