from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation
from sizewell.resources.stackfacts import Cluster


def gke_maintenance_exclusion(cluster: Cluster, _: Parameters) -> Verdict:
    """Long jobs are not interrupted by an upgrade: production has a maintenance window or exclusion.

    >>> from sizewell.policy.examples import cluster
    >>> bare = cluster(type="gcp:container/cluster:Cluster", environment="prod")
    >>> gke_maintenance_exclusion(bare, {}).fix
    'add maintenancePolicy with an exclusion of scope NO_MINOR_OR_NODE_UPGRADES'
    """
    if cluster.environment != "prod" or cluster.inputs.get("maintenancePolicy") is not None:
        return None
    return Violation(
        "an automatic node upgrade may end a running job at any hour",
        "add maintenancePolicy with an exclusion of scope NO_MINOR_OR_NODE_UPGRADES",
    )


RULE = Rule(
    id="gke-maintenance-exclusion",
    area="correctness",
    subject="clusters",
    prevents="jobs interrupted by upgrades",
    judge=gke_maintenance_exclusion,
    level="advisory",
    clouds=("gcp",),
    types=("gcp:container/cluster:Cluster",),
)
