"""What HyperPod needs in an EKS cluster before its machines join: AWS's own Helm chart."""

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.aws.hyperpod import desired_state
from sizewell.components.aws.hyperpod.desired_state import HyperPodAgentsArgs, check_agents
from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.owned import Owned


class HyperPodAgents(Owned):
    """HyperPod's agents and permissions: they monitor and test machines, and restart jobs on the replacements.

    AWS publishes the chart only in a git repository: package it once and push it to a registry that the machines reach.
    Device plugins come from EksDevicePlugins.
    """

    release: pulumi.Output[str]
    """Name of the Helm release."""

    def __init__(self, name: str, args: HyperPodAgentsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_agents(name, args)
        super().__init__(name, args, opts, kind="cluster")
        provider = provider_of(self, name, args)
        source = {"version": args["version"]} if "version" in args else {}
        release = self.make(
            kubernetes.helm.v3.Release,
            f"{name}-release",
            name="hyperpod-dependencies",
            namespace="kube-system",
            chart=args["chart"],
            values=desired_state.agent_values(args["region"]),
            skip_await=True,  # its agents run on machines that come after it
            opts=pulumi.ResourceOptions(provider=provider),
            **source,
        )
        self.release = release.name
        self.register()
