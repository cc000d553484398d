"""From a decision to pools on HyperPod, in the EKS cluster of their region."""

from collections.abc import Sequence
from typing import Any

import pulumi

from sizewell.components import containers
from sizewell.components.aws import parts, policies
from sizewell.components.aws.eks.cluster import EksCluster
from sizewell.components.aws.hyperpod.agents import HyperPodAgents
from sizewell.components.aws.hyperpod.cluster import HyperPodCluster
from sizewell.components.aws.hyperpod.desired_state import hyperpod_args
from sizewell.components.aws.targets import Pair, Subnets, key_named
from sizewell.components.facts import owned_args
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision

HYPERPOD_KEYS = ("chart", "version", "scripts")
PACKED = "oci://ACCOUNT.dkr.ecr.REGION.amazonaws.com/hyperpod-helm-chart"
PACK = (
    "AWS publishes HyperPod's Helm chart in a git repository only (`sizewell docs managed-or-own` says how to pack it)"
)


def build(
    decision: Decision,
    region: str,
    pairs: Sequence[Pair],
    settings: Settings,
    cluster: EksCluster,
    *,
    place: dict[str, Any],
    subnets: Subnets,
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """HyperPod's agents in the EKS cluster of a region, and a HyperPod cluster for each pool."""
    told = {
        pool_name(*pair): containers.container_of(
            "hyperpod", pool_name(*pair), allowed=HYPERPOD_KEYS, example=PACKED, needs="chart", why=PACK
        )
        for pair in pairs
    }
    chart = {key: value for key, value in next(iter(told.values())).items() if key != "scripts"}
    agents: Any = {**owned_args(decision), "region": region, "kubeconfig": cluster.kubeconfig, **chart}
    first = HyperPodAgents(f"hyperpod-{region}", agents, options)
    after = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=[first]))
    outputs: dict[str, object] = {}
    for workload, pool in pairs:
        name = pool_name(workload, pool)
        args = hyperpod_args(decision, workload, pool, settings)
        zones = [args["groups"][0]["zone"]]
        args |= {**place, **key_named(region, settings), "zones": zones, **subnets(zones)}
        args["eks_cluster_arn"] = cluster.cluster_arn
        if "account" in place:  # known at preview, where rules judge who may be whom
            path = f"cluster/{policies.cluster_name(pulumi.get_stack(), region)}"
            args["eks_cluster_arn"] = parts.arn_of(place["account"], region, "eks", path)
        args["cluster_security_group_id"] = cluster.cluster_security_group_id
        if scripts := told[name].get("scripts"):
            args["lifecycle_scripts"] = scripts
        made = HyperPodCluster.of(name, args, opts=after)
        outputs[name] = {"hyperpod": made.cluster_name, "role": made.role_arn}
    return outputs
