"""Device plugins of an EKS cluster: pinned Helm charts for GPUs, Neuron and EFA."""

from functools import partial
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.aws.eks import charts as eks_charts
from sizewell.components.aws.eks.args import EksDevicePluginsArgs
from sizewell.components.aws.eks.checks import check_plugins
from sizewell.components.inputs import derive
from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.owned import Owned


class EksDevicePlugins(Owned):
    """The device plugins that report accelerators and EFA to the scheduler. The driver comes with the image."""

    releases: pulumi.Output[list[str]]
    """Names of the Helm releases."""

    def __init__(self, name: str, args: EksDevicePluginsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_plugins(name, args)
        super().__init__(name, args, opts, kind="cluster", region="")
        provider = provider_of(self, name, args)
        registry, region = args.get("registry", ""), args.get("region", "")

        def charts(mirror: str) -> dict[str, dict[str, Any]]:
            return eks_charts.charts(
                runtimes=args["runtimes"],
                efa=args.get("efa", False),
                registry=mirror,
                region=region,
                hyperpod=args.get("hyperpod", False),
            )

        def values_of(release: str, mirror: str) -> object:
            return charts(mirror)[release]["values"]

        releases = []
        for release, settings in charts("").items():
            values = derive(partial(values_of, release), registry)
            releases.append(self._release(name, release, {**settings, "values": values}, provider=provider))
        self.releases = pulumi.Output.all(*[release.name for release in releases])
        self.register()

    def _release(
        self, owner: str, name: str, settings: dict[str, object], *, provider: kubernetes.Provider
    ) -> kubernetes.helm.v3.Release:
        source = {"repository_opts": {"repo": settings["repository"]}} if settings["repository"] else {}
        return self.make(
            kubernetes.helm.v3.Release,
            f"{owner}-{name}",
            name=name,
            namespace="kube-system",
            chart=settings["chart"],
            version=settings["version"],
            values=settings["values"],
            skip_await=True,  # there may be no machine yet; the plug-in starts with each that comes
            opts=pulumi.ResourceOptions(provider=provider),
            **source,
        )
