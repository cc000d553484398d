"""A SageMaker HyperPod cluster: machines that are tested before they join and replaced when they fail."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi_aws import cloudcontrol

from sizewell.components.aws import instances, parts, policies
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.aws.eks import parts as eks_parts
from sizewell.components.aws.hyperpod import desired_state
from sizewell.components.aws.hyperpod.desired_state import HyperPodClusterArgs, HyperPodGroupArgs, check_hyperpod
from sizewell.components.aws.limits import notices
from sizewell.components.aws.sagemaker import documents as sagemaker_documents
from sizewell.components.facts import of_machines, of_sizes
from sizewell.components.inputs import derive
from sizewell.components.machines import find_shape, undriven_by
from sizewell.components.owned import Owned


class HyperPodCluster(Owned):
    """Groups of machines under EKS that HyperPod tests, monitors and replaces; they are billed from creation to
    deletion.

    Machines of a training plan are paid with the plan. HyperPodAgents have to be in the EKS cluster first. The guard
    only notifies.
    """

    cluster_name: pulumi.Output[str]
    """Name of the HyperPod cluster."""
    role_arn: pulumi.Output[str]
    """Role of the machines."""
    security_group_id: pulumi.Output[str]
    """Security group of the machines, besides that of the EKS cluster."""
    writer_role_arn: pulumi.Output[str]
    """Role of the pods that write checkpoints; empty without a checkpoint store."""

    def __init__(self, name: str, args: HyperPodClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_hyperpod(name, args)
        for group in args["groups"]:
            shape = find_shape("aws", group["instance_type"])
            if shape is not None and (undriven := undriven_by("eks", shape)):
                pulumi.log.warn(
                    f"{name}: group {group['name']}: whether HyperPod's image drives {shape.instance_type} is unknown: "
                    f"{undriven}, and which driver HyperPod's have is in no document that was read"
                )
        region = args["region"]
        super().__init__(name, args, opts, kind="cluster", **_machines(args["groups"]))
        inline = {}
        if scripts := args.get("lifecycle_scripts"):
            bucket = desired_state.scripts_bucket(scripts)
            inline["scripts"] = sagemaker_documents.read_policy(region=region, buckets=[bucket])
        role = parts.role(
            self,
            f"{name}-machines",
            trust=policies.assume_role("sagemaker.amazonaws.com"),
            description=f"Machines of {name}",
            managed=("AmazonSageMakerClusterInstanceRolePolicy", "AmazonEC2ContainerRegistryPullOnly"),
            inline=inline,
            region=region,
        )
        account = parts.account_of(args, role)
        vpc, cluster = (known if isinstance(known, str) else "" for known in (args["vpc_id"], args["eks_cluster_arn"]))
        addresses = desired_state.machine_policy(region=region, vpc=vpc, cluster_arn=cluster, stack=pulumi.get_stack())
        parts.inline_policy(self, f"{name}-machines-addresses", role, addresses)
        key = parts.key_arn(self, name, args, account)
        parts.inline_policy(self, f"{name}-machines-key", role, parts.key_use(args, key))
        group = parts.closed_group(self, f"{name}-machines", args, what=f"Machines of {name}", lustre=True)
        physical = self.physical(name, 63)
        tags = self.tags_of(cloudcontrol.Resource, f"{name}-cluster")
        made = self.make(
            cloudcontrol.Resource,
            f"{name}-cluster",
            type_name="AWS::SageMaker::Cluster",
            desired_state=pulumi.Output.all(
                role.arn, key, args["eks_cluster_arn"], args["cluster_security_group_id"], group.id, args["subnet_ids"]
            ).apply(
                lambda known: desired_state.desired_state(
                    args,
                    cluster=physical,
                    role_arn=known[0],
                    key_arn=known[1],
                    eks_arn=known[2],
                    security_groups=known[3:5],
                    subnet_ids=known[5],
                    tags=tags,
                )
            ),
        )
        eks_cluster = derive(lambda arn: arn.rpartition("/")[2], args["eks_cluster_arn"])
        self._guard(name, args, account, eks_cluster)
        self.writer_role_arn = eks_parts.pod_writer(self, name, args, eks_cluster)
        self.cluster_name = made.type_name.apply(lambda _: physical)
        self.role_arn = role.arn
        self.security_group_id = group.id
        self.register()

    def _guard(
        self, name: str, args: HyperPodClusterArgs, account: pulumi.Input[str], cluster: pulumi.Input[str]
    ) -> None:
        guard, shapes = args.get("guard"), [find_shape("aws", group["instance_type"]) for group in args["groups"]]
        runtimes = [instances.runtime_of(shape) for shape in shapes if shape is not None]
        runtime = next((kind for kind in runtimes if kind in eks_node_config.METRICS), None)
        if guard is None or runtime is None:
            return
        topic, _ = notices.topic_with_key(self, f"{name}-notices", region=args["region"], account=account)
        eks_parts.idle_alarm(
            self,
            name,
            alarm="idle",
            action=topic.arn,
            seconds=guard["window_s"],
            guard=guard,
            runtime=runtime,
            cluster=cluster,
        )


def _machines(groups: Sequence[HyperPodGroupArgs]) -> dict[str, Any]:
    """What the component registers about its machines, where one group has them all."""
    shape = find_shape("aws", groups[0]["instance_type"])
    if len(groups) > 1 or shape is None:
        return {}
    sizes = of_sizes(groups[0]["instances"])
    market = {"market": "on-demand"}
    if "training_plan_arn" in groups[0]:
        market = dict.fromkeys(("market", "capacityMode"), "training-plan")
    return {**of_machines(shape), **market, **sizes, **eks_node_config.measured(shape)}
