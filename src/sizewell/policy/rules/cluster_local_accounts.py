from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.stackfacts import Cluster


def cluster_local_accounts(cluster: Cluster, _: Parameters) -> Verdict:
    """The cluster accepts no certificate or local account that cannot be revoked.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_local_accounts(cluster(local_accounts=True), {}).fix
    'disable local accounts and client certificates'
    """
    return forbid(
        cluster.local_accounts,
        message="local administrator credentials cannot be revoked",
        fix="disable local accounts and client certificates",
        unknown="local accounts",
    )


RULE = Rule(
    id="cluster-local-accounts",
    area="safety",
    subject="clusters",
    prevents="access that cannot be revoked",
    judge=cluster_local_accounts,
    clouds=("gcp", "azure"),
)
