"""What every reader of facts needs: whose a resource is, its tags, what its machine type carries."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, TypedDict

from sizewell.resources.expiry import Expiry
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource, Unknown
from sizewell.resources.stackfacts import Tags
from sizewell.resources.values import Count, Text, canonical, cloud_of, get, items, text
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.records import FAMILY_TRAITS
from sizewell.sizing.providers import CLOUDS, clouds_where, machine_type
from sizewell.sizing.records.stackname import ENVIRONMENT_KEY, environment_of

# Types that are billed and take labels under another key, or none at all.
_UNTAGGED: Final = {
    "aws:s3/directoryBucket:DirectoryBucket",
    "aws:lb/listener:Listener",
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager",
    "gcp:compute/routerNat:RouterNat",
    "gcp:compute/regionCommitment:RegionCommitment",
    "aws:shield/subscription:Subscription",
    "gcp:bigquery/capacityCommitment:CapacityCommitment",
    "gcp:compute/projectCloudArmorTier:ProjectCloudArmorTier",
    "gcp:compute/futureReservation:FutureReservation",
    "azure-native:billingbenefits:SavingsPlanOrderAlias",
    "azure-native:billingbenefits:ReservationOrderAlias",
    "azure-native:capacity:ReservationOrder",
    "aws:emr/instanceGroup:InstanceGroup",
    "aws:emr/instanceFleet:InstanceFleet",
    "gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool",
    "gcp:compute/reservation:Reservation",
    "gcp:cloudscheduler/job:Job",
    "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment",
    "azure-native:keyvault:Secret",
}
_LABELS_ELSEWHERE: Final = {
    "gcp:container/nodePool:NodePool": ("nodeConfig", "resourceLabels"),
    "gcp:container/cluster:Cluster": ("resourceLabels",),
}


ONE_MACHINE: Final[Mapping[str, object]] = {"nodes_min": 1, "nodes_wanted": 1, "nodes_max": 1, "single": True}
SWITCHED_OFF: Final[Mapping[str, object]] = {**ONE_MACHINE, "nodes_min": 0, "nodes_wanted": 0, "nodes_max": 0}
"""Fields of a pool that is a single machine and not a group that could change its size."""


def decoded(script: object) -> Text:
    """A start script in plain text, whether or not it is base64."""
    value = text(script)
    if isinstance(value, Unknown) or not value:
        return value
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return value


class Base(TypedDict):
    """The fields of `Fact`."""

    resource: RecordedResource
    cloud: str
    region: Text
    environment: Text
    component: str
    registration: Mapping[str, object] | None
    tags: Tags
    expiry: Expiry


def base(graph: Graph, resource: RecordedResource) -> Base:
    registration = graph.registration(resource)
    tags = tags_of(resource)
    return {
        "resource": resource,
        "cloud": cloud_of(resource.type),
        "region": graph.region(resource),
        "environment": graph.environment,
        "component": graph.component(resource),
        "registration": registration,
        "tags": tags,
        "expiry": graph.expiries.of(registration, tags),
    }


def plan_environment(plan: Plan) -> str:
    """What the stack's configuration or its name says; "" where neither does.

    A tag or a component's argument says nothing here: the program writes those, and so would choose its own judge.
    """
    return environment_of(plan.stack, str(plan.config.get(ENVIRONMENT_KEY) or ""))


def tags_of(resource: RecordedResource) -> Tags:
    """The tags or labels; an Auto Scaling group's list as a mapping; None where the type cannot carry any."""
    kind = canonical(resource.type)
    if kind in _UNTAGGED:
        return None
    if kind in _LABELS_ELSEWHERE:
        labels = get(resource.inputs, *_LABELS_ELSEWHERE[kind])
        return {} if labels is None else labels
    cloud = CLOUDS.get(cloud_of(resource.type))
    for key in cloud.provider.tag_inputs if cloud else ("tags",):
        value = resource.inputs.get(key)
        if isinstance(value, Unknown):
            return UNKNOWN
        if isinstance(value, Mapping):
            return value
        if isinstance(value, (list, tuple)):
            pairs = items(value)
            return (
                {str(get(pair, "key")): get(pair, "value") for pair in pairs} if isinstance(pairs, tuple) else UNKNOWN
            )
    return {}


def tags_within(resource: RecordedResource, own: object) -> Tags:
    """Tags of a part that stands inside a resource: the part's own, and the resource's beside them."""
    outer = tags_of(resource)
    if own is None:
        return outer
    if isinstance(own, Unknown) or isinstance(outer, Unknown):
        return UNKNOWN
    return {**(outer or {}), **own} if isinstance(own, Mapping) else outer


def accelerator_of(catalog: Any, cloud: str, kinds: tuple[str, ...] | Unknown) -> tuple[Text, Count]:
    """(accelerator, how many per machine) of the first machine type with one, by name where the catalog is silent."""
    if isinstance(kinds, Unknown):
        return UNKNOWN, UNKNOWN
    for kind in kinds:
        bare = machine_type(cloud, kind)
        shape = shape_of(catalog, cloud, bare)
        if shape is not None and shape.accelerator:
            return shape.accelerator, shape.accelerators
        if shape is None and is_accelerated_name(cloud, bare):
            return "unknown accelerator", None
    return "", 0


def machine_facts(catalog: Any, cloud: str, kinds: tuple[str, ...] | Unknown) -> dict[str, Any]:
    """The fields of `Pool` that follow from its machine types."""
    if isinstance(kinds, Unknown):
        return {}
    names = catalog or load()
    shapes = [shape for shape in (shape_of(names, cloud, kind) for kind in kinds) if shape is not None]
    with_efa = next((shape for shape in shapes if shape.fabric == "efa" and shape.rdma_interfaces > 1), None)
    return {
        "traits": frozenset(t for t in FAMILY_TRAITS if any(names.says(cloud, kind, t) for kind in kinds)),
        "tpu_chips": names.tpu_chips(kinds) if cloud in clouds_where(lambda each: each.machines.tpus) else 0,
        "efa_cards": with_efa.rdma_interfaces if with_efa is not None else 0,
        "first_card_apart": with_efa is not None and with_efa.network_cards > with_efa.rdma_interfaces,
    }


def is_accelerated_name(cloud: str, kind: str) -> bool:
    """Whether a machine type's name says that it carries accelerators, in the catalog or not.

    >>> is_accelerated_name("aws", "p5.48xlarge"), is_accelerated_name("azure", "Standard_D4s_v5")
    (True, False)
    """
    return load().says(cloud, kind, "accelerated")


def shape_of(catalog: Any, cloud: str, kind: str) -> Any:
    return None if catalog is None else catalog.shapes_by_type.get((cloud, kind))


def any_contains(value: object, needles: tuple[str, ...]) -> bool:
    """Whether any string inside a JSON value contains one of the needles, in any case."""
    if isinstance(value, str):
        lower = value.lower()
        return any(needle in lower for needle in needles)
    if isinstance(value, Mapping):
        return any(any_contains(part, needles) or any_contains(key, needles) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return any(any_contains(part, needles) for part in value)
    return False
