"""What takes idle machines of an EKS node group away: the cluster's autoscaler, as far as the program shows one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers import guards
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Flag, canonical, either, get

_CLUSTER: Final = "aws:eks/cluster:Cluster"
# Karpenter and EKS Auto Mode start machines of their own and leave those of node groups as they are (repost.aws, "eks
# node capacity settings with karpenter", read 2026-11-27), so that neither is looked for.
_NAME: Final = re.compile(r"cluster-autoscaler(?!\.kubernetes\.io)")  # that is a prefix of pods' annotations
_TAG: Final = "k8s.io/cluster-autoscaler/"
_RUNS: Final = re.compile(r"^kubernetes:(apps/|helm\.sh/)|^aws:eks/addon:")
# What may bring one without naming it: manifests from a file or an address, and what installs from a repository.
_OPAQUE: Final = re.compile(r"^kubernetes:(yaml|kustomize|argoproj\.io|[a-z]+\.toolkit\.fluxcd\.io)[:/]")
_INSTALLER: Final = re.compile(r"argo-?cd|flux", re.IGNORECASE)
_ITS_RIGHTS: Final = re.compile(r"autoscaling:(SetDesiredCapacity|\*)|cluster-autoscaler")
_GIVES_RIGHTS: Final = re.compile(r"^aws:iam/|^aws:eks/podIdentityAssociation:")


def eks_autoscaler(graph: Graph, group: RecordedResource) -> Flag:
    """Whether a cluster autoscaler moves the size of an EKS node group, down as well.

    UNKNOWN where the program has none and another program may: the cluster is made elsewhere, something installs what
    is not shown, the size is left to somebody else, or what an autoscaler needs is there (rights, tags that it reads).
    """
    clusters = graph.referenced(group, "clusterName", _CLUSTER)
    here = clusters if isinstance(clusters, tuple) else ()
    visible = [
        _takes_away(each) for each in graph.plan.resources
        if _RUNS.match(canonical(each.type)) and _NAME.search(_words(each)) and _in(graph, each, here)
    ]  # fmt: skip
    if visible:
        return either(*visible)
    tags = graph.referring(group, "aws:autoscaling/tag:Tag", "autoscalingGroupName")
    keys = [get(each.inputs, "tag", "key") for each in tags] if isinstance(tags, tuple) else []
    own = get(group.inputs, "tags", default={})
    tagged = isinstance(own, Unknown) or any(str(key).startswith(_TAG) for key in (*keys, *own))
    left = get(group.inputs, "scalingConfig", "desiredSize") == 0  # so somebody else starts them
    left = left or any(path.startswith("scalingConfig") for path in group.ignore_changes)
    return UNKNOWN if tagged or left or not here or any(map(_may_bring, graph.plan.resources)) else False


def _in(graph: Graph, resource: RecordedResource, clusters: tuple[RecordedResource, ...]) -> bool:
    """Whether a resource is installed into one of these clusters, or nothing says that it is in another one."""
    provider = graph.provider(resource)
    named = () if provider is None else graph.referenced(provider, "kubeconfig", _CLUSTER)
    return not clusters or not isinstance(named, tuple) or not named or any(each in clusters for each in named)


def _takes_away(scaler: RecordedResource) -> bool:
    """Whether the settings of an autoscaler let it remove a machine within a day of its last pod."""
    words = _words(scaler)
    wait = re.search(r"scale-down-unneeded-time=(\S+)", words)
    off = re.search(r"scale-down-enabled=false|\breplica(s|count)=0(\s|$)", words)
    minutes = guards.minutes(wait[1]) if wait else None
    return not off and (minutes is None or minutes <= guards.LONGEST_IDLE_MINUTES)


def _may_bring(resource: RecordedResource) -> bool:
    kind = canonical(resource.type)
    if _OPAQUE.match(kind):
        return True
    if kind.startswith("kubernetes:helm.sh/"):
        return resource.inputs.get("chart") is UNKNOWN or bool(_INSTALLER.search(str(resource.inputs.get("chart"))))
    return bool(_GIVES_RIGHTS.match(kind) and _ITS_RIGHTS.search(str(resource.inputs)))


def _words(resource: RecordedResource) -> str:
    """All that a resource states, each setting as key=value, in small letters."""
    return " ".join(_settings(resource.inputs)).lower()


def _settings(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _settings(part, str(name))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _settings(part)
    else:
        yield f"{key}={value}" if key else str(value)
