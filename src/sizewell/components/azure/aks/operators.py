"""GPU and network operators and the Lustre driver of an AKS cluster: pinned Helm charts, and what they follow."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.azure.aks import charts as aks_charts
from sizewell.components.azure.aks.args import AksOperatorsArgs
from sizewell.components.azure.aks.checks import check_operators
from sizewell.components.inputs import derive
from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.kubernetes_versions import default_version, following
from sizewell.components.owned import Owned


class AksOperators(Owned):
    """The operators that report GPUs and InfiniBand to the scheduler, export their metrics for the guard, and mount
    Lustre.

    The network operator is installed first where machines have InfiniBand: the GPU operator builds its driver against
    it.
    """

    releases: pulumi.Output[list[str]]
    """Names of the Helm releases."""

    def __init__(self, name: str, args: AksOperatorsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_operators(name, args)
        version = args.get("version", default_version("aks").version)
        packages = derive(lambda known: aks_charts.package_sources(following("aks", known).ubuntu), version)
        super().__init__(name, args, opts, kind="cluster")
        provider = provider_of(self, name, args)
        registry, infiniband = args.get("registry", "nvcr.io"), args.get("infiniband", False)
        charts = aks_charts.charts(
            runtimes=args["runtimes"],
            driver=args.get("driver", "operator"),
            infiniband=infiniband,
            registry=registry,
        )
        objects = aks_charts.objects(
            runtimes=args["runtimes"],
            infiniband=infiniband,
            registry=registry,
            amd_driver_image=args.get("amd_driver_image", ""),
        )
        releases: dict[str, kubernetes.helm.v3.Release] = {}
        before: list[pulumi.Resource] = []
        for release, settings in charts.items():
            releases[release] = self._release(name, release, settings, provider=provider, after=before, data=packages)
            before.append(releases[release])
            for what, wanted in objects.items():
                if wanted["after"] == release:
                    before.append(self._object(name, what, wanted, provider=provider, after=releases[release]))
        if args.get("lustre"):
            releases["lustre-driver"] = self.make(
                kubernetes.helm.v3.Release,
                f"{name}-lustre-driver",
                name="azurelustre",
                namespace="kube-system",  # where its own instructions put it
                atomic=True,
                timeout=900,
                opts=pulumi.ResourceOptions(provider=provider),
                **aks_charts.lustre_chart(),
            )
        self.releases = pulumi.Output.all(*[release.name for release in releases.values()])
        self.register()

    def _release(
        self,
        owner: str,
        name: str,
        settings: dict[str, object],
        *,
        provider: kubernetes.Provider,
        after: list[pulumi.Resource],
        data: pulumi.Input[str],
    ) -> kubernetes.helm.v3.Release:
        """A chart in a namespace of its own that lets it reach the machine: drivers are loaded from there."""
        namespace = self.make(
            kubernetes.core.v1.Namespace,
            f"{owner}-{name}",
            metadata={"name": name, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
            opts=pulumi.ResourceOptions(provider=provider),
        )
        sources = self.make(
            kubernetes.core.v1.ConfigMap,
            f"{owner}-{name}-packages",
            metadata={"name": aks_charts.PACKAGES, "namespace": name},
            data={"custom-repo.list": data},
            opts=pulumi.ResourceOptions(provider=provider, depends_on=[namespace]),
        )
        return self.make(
            kubernetes.helm.v3.Release,
            f"{owner}-{name}",
            name=name,
            namespace=name,
            chart=settings["chart"],
            version=settings["version"],
            repository_opts={"repo": settings["repository"]},
            values=settings["values"],
            atomic=True,
            timeout=1800,
            opts=pulumi.ResourceOptions(provider=provider, depends_on=[sources, *after]),
        )

    def _object(
        self, owner: str, name: str, wanted: dict[str, Any], *, provider: kubernetes.Provider, after: pulumi.Resource
    ) -> kubernetes.apiextensions.CustomResource:
        metadata = {"name": name, **({"namespace": wanted["namespace"]} if wanted["namespace"] else {})}
        return self.make(
            kubernetes.apiextensions.CustomResource,
            f"{owner}-{name}",
            api_version=wanted["api_version"],
            kind=wanted["kind"],
            metadata=metadata,
            spec=wanted["spec"],
            opts=pulumi.ResourceOptions(provider=provider, depends_on=[after]),
        )
