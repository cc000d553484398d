from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.gcp_nodes import CLUSTER
from sizewell.resources.stackfacts import Cluster
from sizewell.resources.values import flag


def cluster_legacy_roles(cluster: Cluster, _: Parameters) -> Verdict:
    """Rights in a cluster come from its roles: the legacy scheme gives every pod's account full control.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_legacy_roles(cluster(inputs={"enableLegacyAbac": True}), {}).fix
    'drop enableLegacyAbac'
    """
    return forbid(
        flag(cluster.inputs.get("enableLegacyAbac")),
        message="legacy authorization lets any pod's account do anything in the cluster",
        fix="drop enableLegacyAbac",
        unknown="its authorization mode",
    )


RULE = Rule(
    id="cluster-legacy-roles",
    area="safety",
    subject="clusters",
    prevents="pods with full control of the cluster",
    judge=cluster_legacy_roles,
    clouds=("gcp",),
    types=(CLUSTER,),
)
