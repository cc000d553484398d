from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Store


def uploads_unbounded(store: Store, _: Parameters) -> Verdict:
    """Interrupted uploads are removed: their parts are billed and do not show in listings.

    >>> from sizewell.policy.examples import store
    >>> uploads_unbounded(store(), {}).fix
    'add a lifecycle rule that aborts incomplete multipart uploads after 7 days'
    """
    if store.logs:
        return None  # the services that write logs upload them whole
    return require(
        store.cleans_uploads,
        message="parts of incomplete uploads are kept and billed, and listings do not show them",
        fix="add a lifecycle rule that aborts incomplete multipart uploads after 7 days",
        unknown="the lifecycle rules",
    )


RULE = Rule(
    id="uploads-unbounded",
    area="spend",
    subject="stores",
    prevents="incomplete uploads that are billed indefinitely",
    judge=uploads_unbounded,
    level="advisory",
    clouds=("aws", "gcp"),
    types=("aws:s3/bucket:Bucket", "gcp:storage/bucket:Bucket"),
)
