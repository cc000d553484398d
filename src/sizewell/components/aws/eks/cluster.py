"""A private EKS cluster with its system pool and add-ons."""

from typing import Any

import pulumi
from pulumi_aws import cloudwatch, ec2, eks, iam, vpc

from sizewell.components.aws import parts, policies
from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.aws.eks.args import EksClusterArgs, service_of
from sizewell.components.aws.eks.checks import check_eks_cluster
from sizewell.components.kubernetes_versions import default_version
from sizewell.components.owned import Owned, reaching

NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore")
ADMIN_POLICY = "AmazonEKSClusterAdminPolicy"


class EksCluster(Owned):
    """Control plane, add-ons and an on-demand system pool; reached from inside the network and from named ranges.

    AWS's own deletion protection is on in prod only.
    """

    cluster_name: pulumi.Output[str]
    """Name of the cluster."""
    cluster_arn: pulumi.Output[str]
    """ARN of the cluster."""
    cluster_security_group_id: pulumi.Output[str]
    """Security group that EKS made for the cluster."""
    version: pulumi.Output[str]
    """Kubernetes version that the cluster has."""
    kubeconfig: pulumi.Output[str]
    """Kubeconfig; a secret."""

    def __init__(self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_eks_cluster(name, args)
        region = args["region"]
        super().__init__(name, args, opts, kind="cluster")
        role = parts.role(
            self,
            f"{name}-control",
            trust=policies.assume_role("eks.amazonaws.com"),
            description=f"Control plane of {name}",
            managed=("AmazonEKSClusterPolicy",),
            region=region,
        )
        key = parts.key_arn(self, name, args, parts.account_of(args, role))
        cluster = self._cluster(name, args, role, key)
        self._runners(name, args, cluster)
        self._admins(name, args, cluster)
        system = self._system_pool(name, args, cluster, key)
        self._addons(name, args, cluster, system)

        self.cluster_name = cluster.name
        self.cluster_arn = cluster.arn
        self.version = cluster.version
        self.cluster_security_group_id = cluster.vpc_config.apply(
            lambda network: getattr(network, "cluster_security_group_id", None) or ""
        )
        authority = cluster.certificate_authority.apply(lambda certificate: getattr(certificate, "data", None) or "")
        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(
            pulumi.Output.all(cluster.name, cluster.endpoint, authority).apply(
                lambda known: eks_node_config.kubeconfig(
                    cluster=known[0], endpoint=known[1], authority=known[2], region=region
                )
            )
        )
        # A protected cluster refuses to go, and what is inside it must not be forgotten before that.
        self.kubeconfig = kubeconfig if _protected(args) else reaching(cluster, kubeconfig)
        self.register()

    def _cluster(self, name: str, args: EksClusterArgs, role: iam.Role, key: pulumi.Input[str]) -> eks.Cluster:
        physical = self.physical(name, 100)
        logs = self.make(  # else EKS makes one: never encrypted, never ending, left behind
            cloudwatch.LogGroup,
            f"{name}-control",
            name=f"/aws/eks/{physical}/cluster",
            kms_key_id=key,
            retention_in_days=365,
        )
        return self.make(
            eks.Cluster,
            f"{name}-cluster",
            name=physical,
            version=args.get("version", default_version(service_of(args)).version),
            role_arn=role.arn,
            vpc_config={
                "subnet_ids": args["subnet_ids"],
                "endpoint_private_access": True,
                "endpoint_public_access": bool(args.get("public_cidrs")),
                **({"public_access_cidrs": args["public_cidrs"]} if args.get("public_cidrs") else {}),
            },
            access_config={
                "authentication_mode": "API",
                "bootstrap_cluster_creator_admin_permissions": not args.get("admin_arns"),
            },
            encryption_config={"resources": ["secrets"], "provider": {"key_arn": key}},
            enabled_cluster_log_types=list(eks_node_config.LOGS),
            upgrade_policy={"support_type": args.get("support", "standard").upper()},
            bootstrap_self_managed_addons=False,
            deletion_protection=_protected(args),
            opts=pulumi.ResourceOptions(
                depends_on=[logs],
                ignore_changes=[
                    "accessConfig.bootstrapClusterCreatorAdminPermissions",
                    *([] if "version" in args else ["version"]),
                ],
            ),
        )

    def _runners(self, name: str, args: EksClusterArgs, cluster: eks.Cluster) -> None:
        """The group that EKS made admits the machines alone; what else uses the private address is named."""
        for number, cidr in enumerate(args.get("api_cidrs", [])):
            group = cluster.vpc_config.apply(
                lambda settings: getattr(settings, "cluster_security_group_id", None) or ""
            )
            self.make(
                vpc.SecurityGroupIngressRule,
                f"{name}-api-{number}",
                security_group_id=group,
                description="Runners and administrators to the API",
                ip_protocol="tcp",
                from_port=443,
                to_port=443,
                cidr_ipv4=cidr,
            )

    def _admins(self, name: str, args: EksClusterArgs, cluster: eks.Cluster) -> None:
        policy = f"arn:{policies.partition(args['region'])}:eks::aws:cluster-access-policy/{ADMIN_POLICY}"
        for number, arn in enumerate(args.get("admin_arns", [])):
            entry = self.make(eks.AccessEntry, f"{name}-admin-{number}", cluster_name=cluster.name, principal_arn=arn)
            self.make(
                eks.AccessPolicyAssociation,
                f"{name}-admin-{number}",
                cluster_name=cluster.name,
                principal_arn=entry.principal_arn,
                policy_arn=policy,
                access_scope={"type": "cluster"},
            )

    def _system_pool(
        self, name: str, args: EksClusterArgs, cluster: eks.Cluster, key: pulumi.Input[str]
    ) -> eks.NodeGroup:
        """On demand and apart from accelerators: DNS, controllers, queues."""
        role = parts.role(
            self,
            f"{name}-system",
            trust=policies.assume_role("ec2.amazonaws.com"),
            description=f"System pool of {name}",
            managed=NODE_POLICIES,
            region=args["region"],
        )
        tags = {**self.tags_of(eks.NodeGroup, f"{name}-system"), "Name": self.physical(f"{name}-system", 128)}
        template = self.make(
            ec2.LaunchTemplate, f"{name}-system", **parts.machine_settings(disk_gib=80, key=key, tags=tags)
        )
        nodes = args.get("system_nodes", 2)
        first = [self._addon(name, args, cluster, addon) for addon in eks_charts.BEFORE_MACHINES]
        return self.make(
            eks.NodeGroup,
            f"{name}-system",
            cluster_name=cluster.name,
            node_role_arn=role.arn,
            subnet_ids=args["subnet_ids"],
            ami_type=eks_node_config.IMAGE_TYPES[""],
            capacity_type="ON_DEMAND",
            instance_types=[args.get("system_type", "m7i.large")],
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={"min_size": nodes, "desired_size": nodes, "max_size": nodes * 2},
            update_config={"max_unavailable": 1},
            node_repair_config={"enabled": True},
            labels={"sizewell/pool": "system"},
            opts=pulumi.ResourceOptions(depends_on=first, ignore_changes=["scalingConfig.desiredSize"]),
        )

    def _addons(self, name: str, args: EksClusterArgs, cluster: eks.Cluster, system: eks.NodeGroup) -> None:
        wanted = eks_charts.addons(versions={}, lustre=args.get("lustre", False), disks=args.get("disks", False))
        for addon in wanted:
            if addon not in eks_charts.BEFORE_MACHINES:
                self._addon(name, args, cluster, addon, depends_on=[system])

    def _addon(self, name: str, args: EksClusterArgs, cluster: eks.Cluster, addon: str, **options: Any) -> eks.Addon:
        versions = args.get("addon_versions", {})
        settings = eks_charts.addons(versions=versions, lustre=args.get("lustre", False), disks=True)[addon]
        if identity := IDENTITIES.get(addon):
            account, policy = identity
            role = parts.role(
                self,
                f"{name}-{addon}",
                trust=parts.pod_trust(),
                description=f"Add-on {addon} of {name}",
                managed=(policy,),
                region=args["region"],
            )
            settings = {
                **settings,
                "pod_identity_associations": [{"role_arn": role.arn, "service_account": account}],
            }
        return self.make(
            eks.Addon,
            f"{name}-{addon}",
            cluster_name=cluster.name,
            addon_name=addon,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            opts=pulumi.ResourceOptions(**options),
            **settings,
        )


IDENTITIES = {  # add-on: its service account, and the policy that it needs
    "vpc-cni": ("aws-node", "AmazonEKS_CNI_Policy"),
    "aws-ebs-csi-driver": ("ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy"),
    "amazon-cloudwatch-observability": ("cloudwatch-agent", "CloudWatchAgentServerPolicy"),
}


def _protected(args: EksClusterArgs) -> bool:
    """Whether the cloud refuses to delete the cluster."""
    return args.get("deletion_protection", args["environment"] == "prod")
