"""Operators of what runs: pinned Helm releases on a Kubernetes cluster of any origin."""

from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.inputs import derive
from sizewell.components.kubernetes import objects
from sizewell.components.kubernetes.args import OperatorsArgs
from sizewell.components.kubernetes.checks import check_operators
from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.owned import Owned


class Operators(Owned):
    """The operators for jobs of several machines, replicas of several machines, Ray, and autoscaling by requests."""

    releases: pulumi.Output[list[str]]
    """Names of the Helm releases."""

    def __init__(self, name: str, args: OperatorsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_operators(name, args)
        super().__init__(name, args, opts, kind="cluster")
        provider = provider_of(self, name, args)
        registry = args.get("registry", "")
        made = [release(self, name, operator, provider, registry=registry) for operator in args["operators"]]
        self.releases = pulumi.Output.all(*[operator.name for operator in made])
        self.register()


def release(
    owner: Owned,
    name: str,
    operator: str,
    provider: kubernetes.Provider,
    *,
    after: list[Any] | None = None,
    registry: pulumi.Input[str] = "",
) -> kubernetes.helm.v3.Release:
    """One operator in a namespace of its own, at the version that the manifests are written for."""
    settings = objects.OPERATORS[operator]
    source: dict[str, object] = {"repository_opts": {"repo": settings["repository"]}} if settings["repository"] else {}
    if registry != "":
        source["values"] = derive(lambda at: objects.mirrored(operator, at), registry)
    return owner.make(
        kubernetes.helm.v3.Release,
        f"{name}-{operator}",
        name=operator,
        namespace=f"{operator}-system",
        create_namespace=True,
        chart=settings["chart"],
        version=settings["version"],
        atomic=True,
        opts=pulumi.ResourceOptions(provider=provider, depends_on=after or []),
        **source,
    )
