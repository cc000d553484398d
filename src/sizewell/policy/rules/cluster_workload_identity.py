from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Cluster


def cluster_workload_identity(cluster: Cluster, _: Parameters) -> Verdict:
    """Pods have identities of their own: without, all of them share the machine's rights or carry keys.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_workload_identity(cluster(), {}).fix
    'turn workload identity on'
    """
    return require(
        cluster.workload_identity,
        message="every pod has the rights of its machine, or carries a key that leaks",
        fix="turn workload identity on",
        unknown="workload identity",
    )


RULE = Rule(
    id="cluster-workload-identity",
    area="safety",
    subject="clusters",
    prevents="pods with each other's rights",
    judge=cluster_workload_identity,
)
