"""Machines on AWS that join an EKS cluster which already exists, beside machines of one's own (EKS Hybrid Nodes).

A cluster with both is what AWS calls mixed mode
(docs.aws.amazon.com/eks/latest/userguide/hybrid-nodes-webhooks.html). The network is the cluster's: `sizewell:network`.
"""

from typing import Any

import pulumi
from pulumi_aws import eks

from sizewell.components.aws.program import account, provider
from sizewell.components.aws.targets import build_budget
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.launch.adopted import Burst
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload

# Add-ons of the cluster, read before anything is made: who the pods are, and what the idle guard measures by.
ADDONS = ("eks-pod-identity-agent", "amazon-cloudwatch-observability")
NETWORK = ("vpc_id", "vpc_cidr", "subnet_ids")  # of the cluster, which its machines have to stand in


def there(pool: Pool, settings: Settings, burst: Burst) -> pulumi.ResourceOptions:
    """The cloud of the burst's machines, and the cluster's add-ons, which everything waits for.

    A preview ends where one is missing, before anything is made.
    """
    options = pulumi.ResourceOptions(provider=provider(pool.region, settings))
    read: list[pulumi.Resource] = [
        eks.Addon.get(f"{addon}-has-to-be-on-{burst.cluster}", f"{burst.cluster}:{addon}", opts=options)
        for addon in ADDONS
    ]
    return pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=read))


def build(
    decision: Decision,
    workload: Workload,
    pool: Pool,
    settings: Settings,
    *,
    burst: Burst,
    account_of_pods: tuple[str, str],
    kubeconfig: pulumi.Input[str],
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """A node group in the cluster that starts empty, what fills it while jobs wait for it, and the cloud's budget.

    `account_of_pods` is (namespace, service account) of the jobs, which may write the checkpoints; `options` is what
    `there` returned.
    """
    from sizewell.components.aws.eks.args import autoscaler_args, eks_pool_args
    from sizewell.components.aws.eks.autoscaler import EksAutoscaler
    from sizewell.components.aws.eks.nodes import EksNodeGroup

    name = pool_name(workload, pool)
    namespace, service_account = account_of_pods
    args = eks_pool_args(decision, workload, pool, settings)
    args |= {**settings.network, **account(settings), "cluster": burst.cluster}
    args |= {"cluster_security_group_id": burst.security_group}
    args |= {"nodes_min": 0, "nodes_initial": 0, "namespace": namespace, "service_account": service_account}
    args["facts"] = {**args["facts"], "metricsAgent": ADDONS[-1]}
    args["gang"] = False  # no EFA, which the cluster's own machines have not: the same job runs on either
    group = EksNodeGroup.of(name, args, opts=options)
    scaler: Any = autoscaler_args(decision, pool.region, {name: args["capacity_mode"]})
    scaler |= {"kubeconfig": kubeconfig, "cluster": burst.cluster}
    EksAutoscaler(f"autoscaler-{pool.region}", scaler, options)
    alone = decision.model_copy(update={"workloads": (workload,)})  # AWS bills nothing of the machines that are there
    build_budget(alone, pool.region, account(settings), options)
    return {name: {"nodeGroup": group.node_group_name, "role": group.role_arn}}


def check_network(decision: Decision, settings: Settings) -> None:
    """ConfigError where the cluster's network is not said: machines of another one cannot join."""
    missing = [key for key in NETWORK if not settings.network.get(key)]
    if missing:
        fix = "pulumi config set --path sizewell:network.vpc_id vpc-..., and the same for the others"
        fault = Fault(
            path="sizewell:network",
            message=f"lacks {', '.join(missing)}: the burst's machines join the cluster in its own network",
            fix=fix,
        )
        raise ConfigError([fault], subject=f"configuration of {decision.stack}")
