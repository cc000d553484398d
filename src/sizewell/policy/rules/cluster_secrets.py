from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Cluster


def cluster_secrets(cluster: Cluster, _: Parameters) -> Verdict:
    """Kubernetes secrets are encrypted with a customer-managed key.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_secrets(cluster(), {}).fix
    'encrypt secrets with a customer-managed key'
    """
    return require(
        cluster.secrets_encrypted,
        message="secrets in the cluster's database and its backups are not encrypted with a customer-managed key",
        fix="encrypt secrets with a customer-managed key",
        unknown="the encryption of secrets",
    )


RULE = Rule(
    id="cluster-secrets",
    area="safety",
    subject="clusters",
    prevents="tokens readable in backups",
    judge=cluster_secrets,
    levels={"dev": "disabled"},
)
