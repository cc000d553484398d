"""A SageMaker HyperPod cluster: machines that are tested before they join and replaced when they fail."""

import pulumi
from pulumi_aws import cloudcontrol

from components.aws import hyperpod_plans, parts, plans, sagemaker_plans
from components.aws.hyperpod_plans import HyperPodClusterArgs, check_hyperpod
from components.owned import Owned


class HyperPodCluster(Owned):
    """Groups of machines under EKS that HyperPod tests, watches and replaces; they bill from creation to the end.

    Machines of a training plan are paid with the plan. HyperPod's Helm chart has to be in the EKS cluster before.
    """

    cluster_name: pulumi.Output[str]
    """Name of the HyperPod cluster."""
    role_arn: pulumi.Output[str]
    """Role of the machines."""
    security_group_id: pulumi.Output[str]
    """Security group of the machines, beside that of the EKS cluster."""

    def __init__(self, name: str, args: HyperPodClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_hyperpod(name, args)
        region = args["region"]
        super().__init__(
            "sizewell-aws:index:HyperPodCluster",
            name,
            args,
            {"kind": "cluster", "name": name, "environment": args["environment"], "cloud": "aws", "region": region},
            opts,
        )
        bucket = hyperpod_plans.scripts_bucket(args["lifecycle_scripts"])
        role = parts.role(
            self,
            f"{name}-machines",
            trust=plans.assume_role("sagemaker.amazonaws.com"),
            description=f"Machines of {name}",
            managed=("AmazonSageMakerClusterInstanceRolePolicy", "AmazonEC2ContainerRegistryPullOnly"),
            inline={"scripts": sagemaker_plans.read_policy(region=region, buckets=[bucket])},
            region=region,
        )
        account = parts.account_of(args, role)
        vpc_arn = parts.told(
            f"arn:{plans.partition(region)}:ec2:{region}:{{}}:vpc/{{}}".format, account, args["vpc_id"]
        )
        addresses = parts.told(
            lambda arn, cluster: hyperpod_plans.machine_policy(vpc_arn=arn, cluster_arn=cluster),
            vpc_arn,
            args["eks_cluster_arn"],
        )
        parts.inline_policy(self, f"{name}-machines-addresses", role, addresses)
        key = parts.key_arn(self, name, args, account)
        parts.inline_policy(self, f"{name}-machines-key", role, parts.key_use(args, key))
        group = parts.closed_group(self, f"{name}-machines", args, what=f"Machines of {name}", lustre=True)
        physical = self.physical(name, 63)
        tags = self.tags_of(cloudcontrol.Resource, f"{name}-cluster")
        cluster = cloudcontrol.Resource(
            f"{name}-cluster",
            type_name="AWS::SageMaker::Cluster",
            desired_state=pulumi.Output.all(
                role.arn, key, args["eks_cluster_arn"], args["cluster_security_group_id"], group.id, args["subnet_ids"]
            ).apply(
                lambda known: hyperpod_plans.desired_state(
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
            opts=self.child(),
        )
        self.cluster_name = cluster.type_name.apply(lambda _: physical)
        self.role_arn = role.arn
        self.security_group_id = group.id
        self.register_outputs(
            {
                "clusterName": self.cluster_name,
                "roleArn": self.role_arn,
                "securityGroupId": self.security_group_id,
            }
        )
