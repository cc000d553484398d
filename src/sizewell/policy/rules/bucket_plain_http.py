from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Store


def bucket_plain_http(store: Store, _: Parameters) -> Verdict:
    """Buckets accept requests over TLS only.

    >>> from sizewell.policy.examples import store
    >>> bucket_plain_http(store(), {}).fix
    'deny requests without TLS (bucket policy aws:SecureTransport, HTTPS only with TLS 1.2)'
    """
    return require(
        store.encrypted_transport,
        message="data and credentials can be intercepted: the store also accepts requests without TLS 1.2",
        fix="deny requests without TLS (bucket policy aws:SecureTransport, HTTPS only with TLS 1.2)",
        unknown="the policy",
    )


RULE = Rule(
    id="bucket-plain-http",
    area="safety",
    subject="stores",
    prevents="data intercepted in transit",
    judge=bucket_plain_http,
    levels={"dev": "advisory"},
)
