"""What AWS Cloud Control makes: the text that a resource asks for, read once for its price and for its facts. Pure.

A HyperPod cluster of aws-native states the same as inputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.sizes import Size, fixed
from sizewell.resources.values import Text, canonical, count, get, items, text

CLOUD_CONTROL: Final = "aws:cloudcontrol/resource:Resource"
NATIVE_HYPERPOD: Final = "aws-native:sagemaker:Cluster"
HYPERPOD: Final = "AWS::SageMaker::Cluster"
ENDPOINT_CONFIGURATION: Final = "AWS::SageMaker::EndpointConfig"


def state_of(resource: RecordedResource) -> object:
    """What a resource asks for, in the provider's spelling; UNKNOWN where a part of its text is."""
    if canonical(resource.type) == NATIVE_HYPERPOD:
        return resource.inputs
    stated = resource.inputs.get("desiredState")
    if not isinstance(stated, str):
        return UNKNOWN
    try:
        return _camel(json.loads(stated))
    except ValueError:
        return UNKNOWN


def groups(graph: Graph, resource: RecordedResource) -> tuple[object, ...] | Unknown:
    """Groups of machines of a HyperPod cluster, as its text says them, else as the component's argument does."""
    state = state_of(resource)
    if state is not UNKNOWN:
        plain, restricted = (items(get(state, key)) for key in ("instanceGroups", "restrictedInstanceGroups"))
        if isinstance(plain, Unknown) or isinstance(restricted, Unknown):
            return UNKNOWN
        return (*plain, *restricted)
    stated = [parent.inputs.get("groups") for parent in graph.ancestors(resource)]
    return items(next((parent_groups for parent_groups in stated if parent_groups), UNKNOWN))


def group_size(state: object, group: object) -> Size:
    """Machines of a group, by either spelling; a cluster that scales by itself adds as many as its account may have."""
    stated = count(get(group, "instances", default=get(group, "instanceCount", default=0)))
    mode = None if state is UNKNOWN else get(state, "autoScaling", "mode")
    if mode in (None, "Disable"):
        return fixed(stated)
    return Size(least=count(get(group, "minInstanceCount", default=0)), wanted=stated, most=UNKNOWN)


def disk_gigabytes(group: object) -> object:
    """Of the disk beside each machine's own; without a word of it, what HyperPod adds."""
    volumes = items(get(group, "instanceStorageConfigs"))
    if isinstance(volumes, Unknown):
        return UNKNOWN
    sizes = [
        get(each, "ebsVolumeConfig", "volumeSizeInGb", default=get(each, "ebsVolumeConfig", "volumeSizeInGB"))
        for each in volumes
    ]
    stated = [each for each in sizes if each is not None]
    return get(group, "diskGib", default=stated[0] if stated else 500)


def plan_of(group: object) -> Text:
    """The training plan that provides a group's machines; "" where they are on demand."""
    return text(get(group, "trainingPlanArn"))


def variants(graph: Graph, resource: RecordedResource) -> tuple[object, ...] | Unknown:
    """Variants of an endpoint's configuration, as its text says them, else as its component registered its machines."""
    state = state_of(resource)
    if state is not UNKNOWN:
        return items(get(state, "productionVariants"))
    registration = graph.registration(resource)
    kind = get(registration, "instanceType")
    if get(registration, "kind") != "endpoint" or kind is None:
        return UNKNOWN
    scaling = {
        "minInstanceCount": get(registration, "nodesMin"),
        "maxInstanceCount": get(registration, "nodesMax"),
    }
    return (
        {
            "instanceType": kind if kind is UNKNOWN else f"ml.{kind}",
            "initialInstanceCount": get(registration, "nodesInitial"),
            "managedInstanceScaling": scaling,
        },
    )


def _camel(value: object) -> object:
    """CloudFormation's keys in the provider's spelling: "InstanceType" is "instanceType"."""
    if isinstance(value, Mapping):
        return {f"{key[:1].lower()}{key[1:]}": _camel(part) for key, part in value.items()}
    return [_camel(part) for part in value] if isinstance(value, list) else value
