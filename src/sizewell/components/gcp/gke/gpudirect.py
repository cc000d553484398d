"""GPUDirect inside a GKE cluster: the networks that pods may have, and NCCL's plug-ins on the machines."""

from operator import itemgetter
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.gcp.args import FABRIC_NETWORKS, GpuDirectArgs
from sizewell.components.gcp.checks import check_gpudirect
from sizewell.components.gcp.gke import gpudirect_manifests
from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.owned import Owned


class GpuDirect(Owned):
    """Accelerator interfaces as networks of pods, and the DaemonSets that let NCCL use them, for one protocol.

    The DaemonSets are Google's own and privileged; they run only on machines with this protocol.
    """

    networks: pulumi.Output[list[str]]
    """Names of the networks, as pods name them in `networking.gke.io/interfaces`."""
    installers: pulumi.Output[list[str]]
    """Names of the DaemonSets, in kube-system."""

    def __init__(self, name: str, args: GpuDirectArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_gpudirect(name, args)
        super().__init__(name, args, opts, kind="cluster")
        provider = provider_of(self, name, args)
        count = sum(FABRIC_NETWORKS[args["fabric"]])
        given, subnetworks = (_each(args[key], count) for key in ("networks", "subnetworks"))
        networks = [pulumi.Output.from_input(network).apply(gpudirect_manifests.last_part) for network in given]
        made: dict[str, list[Any]] = {"GKENetworkParamSet": [], "Network": [], "DaemonSet": []}
        for resource in gpudirect_manifests.manifests(args["fabric"], networks, subnetworks):
            after = made["GKENetworkParamSet"][-1:] if resource["kind"] == "Network" else []
            made[resource["kind"]].append(self._object(name, resource, provider, after))
        self.networks = pulumi.Output.all(*[resource.metadata["name"] for resource in made["Network"]])
        self.installers = pulumi.Output.all(*[resource.metadata["name"] for resource in made["DaemonSet"]])
        self.register()

    def _object(
        self, owner: str, manifest: dict[str, Any], provider: kubernetes.Provider, after: list[Any]
    ) -> pulumi.Resource:
        kind, metadata = manifest["kind"], dict(manifest["metadata"])
        name, options = (
            f"{owner}-{kind.lower()}-{metadata['name']}",
            pulumi.ResourceOptions(provider=provider, depends_on=after),
        )
        resource: pulumi.Resource
        if kind == "DaemonSet":  # without machines nothing of it ever becomes ready
            metadata["annotations"] = {"pulumi.com/skipAwait": "true"}
            resource = self.make(
                kubernetes.apps.v1.DaemonSet, name, metadata=metadata, spec=manifest["spec"], opts=options
            )
        else:
            resource = self.make(
                kubernetes.apiextensions.CustomResource,
                name,
                api_version=manifest["apiVersion"],
                kind=kind,
                metadata=metadata,
                spec=manifest["spec"],
                opts=options,
            )
        return resource


def _each(names: pulumi.Input[list[pulumi.Input[str]]], count: int) -> list[pulumi.Input[str]]:
    """The names one by one; of a list that is an output, as many as the fabric has."""
    if isinstance(names, list):
        return names
    known: pulumi.Output[Any] = pulumi.Output.all(names).apply(itemgetter(0))
    return [known.apply(itemgetter(number)) for number in range(count)]
