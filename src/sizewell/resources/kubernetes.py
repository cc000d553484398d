"""Which machines a program has for pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sizewell.resources.graph import Graph
from sizewell.resources.kinds import OF_KUBERNETES, kind_of
from sizewell.resources.readers.common import any_contains, is_accelerated_name
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import cloud_of, contains_unknown

_CLUSTER_OF: Final = "kubeconfig"  # of a provider: by it a program's own cluster is told from another's
_ADOPTED: Final = "sizewell-kubernetes:index:AdoptedPool"
_NODES: Final = (  # types of which some bring nodes to a cluster
    "aws:eks/", "aws-native:eks:", "eks:", "gcp:container/", "azure-native:containerservice:",
    "azure:containerservice/", _ADOPTED,
)  # fmt: skip
_MAKERS: Final = ("nvidia", "tpu", "neuron", "trainium", "inferentia", "accelerator")
_MACHINE_TYPES: Final = ("instancetype", "instancetypes", "machinetype", "vmsize")  # inputs, in lower case


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Which machines a program has for pods."""

    any: bool
    accelerated: bool  # some of them have accelerators, or may have
    adopted: bool

    def here(self, resource: RecordedResource, graph: Graph) -> bool:
        """Whether the pods of a resource run on machines of its own program."""
        provider = graph.provider(resource)
        if provider is None or provider.name.startswith("default"):  # the engine's own: a policy pack is shown it
            return self.any
        if contains_unknown(provider.inputs.get(_CLUSTER_OF)):
            return self.any
        if any(urn in graph.by_urn for urn in provider.property_dependencies.get(_CLUSTER_OF, ())):
            return self.any
        return self.adopted


def nodes_of(graph: Graph) -> Nodes:
    """The machines of a program for pods, as far as types and names of machine types tell."""
    clouds = [each for each in graph.plan.resources if not each.type.startswith(("pulumi:", OF_KUBERNETES))]
    starts = any(_brings_machines(each) for each in graph.plan.resources)
    here = starts or any(each.type.startswith(_NODES) for each in clouds)
    return Nodes(
        any=here,
        accelerated=starts or (here and any(_may_be_accelerated(each) for each in clouds)),
        adopted=any(each.type == _ADOPTED for each in clouds),
    )


def _brings_machines(resource: RecordedResource) -> bool:
    row = kind_of(resource.type) if resource.type.startswith(OF_KUBERNETES) else None
    return row is not None and row.brings in ("machines", "standing-machines")


def _may_be_accelerated(resource: RecordedResource) -> bool:
    cloud = cloud_of(resource.type)
    texts = _machine_types(resource.inputs)
    return any(each is UNKNOWN or is_accelerated_name(cloud, str(each)) for each in texts) or any_contains(
        resource.inputs, _MAKERS
    )


def _machine_types(value: object, key: str = "") -> Iterator[str | Unknown]:
    """Texts in inputs that may be a machine type, and unknown values where an input's name says that it is one."""
    if isinstance(value, Unknown):
        if key.lower() in _MACHINE_TYPES:
            yield value
    elif isinstance(value, str):
        if len(value) < 64:
            yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _machine_types(part, str(name))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _machine_types(part, key)
