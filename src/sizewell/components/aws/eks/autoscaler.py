"""The cluster's autoscaler: a machine for each pod that waits for one, none for a pool that nobody asks."""

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_aws import eks

from sizewell.components.aws import parts
from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks import scaling as eks_scaling
from sizewell.components.aws.eks.args import EksAutoscalerArgs
from sizewell.components.aws.eks.checks import check_autoscaler
from sizewell.components.inputs import derive
from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.kubernetes_versions import default_version
from sizewell.components.owned import Owned


class EksAutoscaler(Owned):
    """Starts machines of an EksNodeGroup for waiting pods, and removes those that are empty for its idle window.

    It scales no other group: neither the system pool nor capacity blocks. Its pod runs on the system pool.
    """

    release: pulumi.Output[str]
    """Name of the Helm release."""
    role_arn: pulumi.Output[str]
    """Role of its pod."""

    def __init__(self, name: str, args: EksAutoscalerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_autoscaler(name, args)
        image = derive(eks_charts.autoscaler_image, args.get("version", default_version("eks").version))
        region, cluster = args["region"], args["cluster"]
        super().__init__(name, args, opts, kind="cluster")
        role = parts.role(
            self,
            f"{name}-pod",
            trust=parts.pod_trust(),
            description=f"Autoscaler {name}",
            inline={"groups": eks_scaling.role_policy(region=region, cluster=cluster)},
            region=region,
        )
        identity = self.make(
            eks.PodIdentityAssociation,
            f"{name}-pod",
            cluster_name=cluster,
            namespace=eks_scaling.NAMESPACE,
            service_account=eks_scaling.ACCOUNT,
            role_arn=role.arn,
        )
        provider = provider_of(self, name, args)
        groups = {self.name_of(eks.NodeGroup, pool): mode for pool, mode in args.get("pools", {}).items()}
        mirror = args.get("registry", "")
        settings = eks_scaling.chart(cluster=cluster, region=region, registry=mirror, groups=groups, image=image)
        release = self.make(
            kubernetes.helm.v3.Release,
            f"{name}-release",
            name=settings["chart"],
            namespace=eks_scaling.NAMESPACE,
            chart=settings["chart"],
            version=settings["version"],
            repository_opts={"repo": settings["repository"]},
            values=settings["values"],
            skip_await=True,  # its image may come into the mirror later
            opts=pulumi.ResourceOptions(provider=provider, depends_on=[identity]),
        )
        self.release = release.name
        self.role_arn = role.arn
        self.register()
