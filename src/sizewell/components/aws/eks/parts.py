"""What pools of an EKS cluster make alike, whoever runs their machines: writers of checkpoints, alarms."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_aws import cloudwatch, eks

from sizewell.components.aws import parts, policies
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.owned import GuardArgs, Owned


def pod_writer(owner: Owned, name: str, args: Mapping[str, Any], cluster: pulumi.Input[str]) -> pulumi.Output[str]:
    """The role of the workload's service account, which puts and gets checkpoints; the machines' own role cannot.

    Empty where no checkpoint store is named.
    """
    if "writer" not in args:
        return pulumi.Output.from_input("")
    writer, region = args["writer"], args["region"]
    document = policies.writer_policy(region=region, bucket=writer["bucket"], key_alias=writer["key_alias"])
    role = parts.role(
        owner,
        f"{name}-writer",
        trust=parts.pod_trust(),
        description=f"Pods of {name} that write checkpoints",
        inline={"checkpoints": document},
        region=region,
    )
    owner.make(
        eks.PodIdentityAssociation,
        f"{name}-writer",
        cluster_name=cluster,
        namespace=args.get("namespace", "default"),
        service_account=args.get("service_account", name),
        role_arn=role.arn,
    )
    arn: pulumi.Output[str] = role.arn
    return arn


def idle_alarm(
    owner: Owned,
    name: str,
    *,
    alarm: str,
    action: pulumi.Input[str],
    seconds: int,
    guard: GuardArgs,
    runtime: str,
    cluster: pulumi.Input[str],
) -> None:
    """An alarm after `seconds` without work on the busiest accelerator of the cluster."""
    owner.make(
        cloudwatch.MetricAlarm,
        f"{name}-{alarm}",
        alarm_description=f"{name}: under {guard['min_utilization_percent']:g} % for {seconds // 60} minutes",
        alarm_actions=[action],
        **eks_node_config.idle_alarm(runtime=runtime, guard=guard, cluster=cluster, seconds=seconds),
    )
