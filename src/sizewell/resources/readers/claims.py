"""Devices that pods claim (dynamic resource allocation) in place of asking for `nvidia.com/gpu`.

A pod names a claim or a template of one, that asks for devices of a class, and a class says by an expression which
driver's devices it has. A driver's own class has the driver's name. Source: Kubernetes' resource.k8s.io API (v1 and the
two betas, which leave `exactly` out), and the drivers' published names, from memory.
"""

from __future__ import annotations

from typing import Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Count, Flag, contains_unknown, count, either, get, items

DRIVERS: Final = ("gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com", "tpu.google.com", "neuron.aws.com")
_PARTS: Final = ("mig.nvidia.com", "vfio.gpu.nvidia.com")  # classes of a driver beside the one of its name
_VERSIONS: Final = ("v1", "v1beta1", "v1beta2", "v1alpha3")


def claimed(spec: object, graph: Graph) -> Count:
    """Accelerators of one pod by its claims; one that several pods share is counted for each of them."""
    claims = items(get(spec, "resourceClaims"))
    if isinstance(claims, Unknown):
        return UNKNOWN
    numbers = [_of(claim, graph) for claim in claims]
    known = [number for number in numbers if isinstance(number, int)]
    return UNKNOWN if len(known) < len(numbers) else sum(known)


def _of(claim: object, graph: Graph) -> Count:
    for key, kind, path in (
        ("resourceClaimTemplateName", "ResourceClaimTemplate", ("spec", "spec", "devices")),
        ("resourceClaimName", "ResourceClaim", ("spec", "devices")),
    ):
        name = get(claim, key)
        if name is None:
            continue
        made = _named(graph, kind, name)
        if made is None:  # it stands outside of this plan
            return UNKNOWN
        listed = items(get(made.inputs, *path, "requests"))
        if isinstance(listed, Unknown):
            return UNKNOWN
        numbers = [_requested(request, graph) for request in listed]
        known = [number for number in numbers if isinstance(number, int)]
        return UNKNOWN if len(known) < len(numbers) else sum(known)
    return UNKNOWN


def _requested(request: object, graph: Graph) -> Count:
    first = items(get(request, "firstAvailable"))
    if isinstance(first, Unknown):
        return UNKNOWN
    if first:  # one of them is taken: the largest, as far as a plan can say
        numbers = [_devices(each, graph) for each in first]
        known = [number for number in numbers if isinstance(number, int)]
        return UNKNOWN if len(known) < len(numbers) else max(known)
    return _devices(get(request, "exactly", default=request), graph)


def _devices(request: object, graph: Graph) -> Count:
    accelerated = _accelerated(get(request, "deviceClassName"), graph)
    if accelerated is not True:
        return UNKNOWN if accelerated is UNKNOWN else 0
    return count(get(request, "count", default=1))  # `All` takes those of a node: one at least


def _accelerated(name: object, graph: Graph) -> Flag:
    """Whether a class of devices has accelerators: a driver's own, or one whose expressions name such a driver."""
    if isinstance(name, Unknown):
        return UNKNOWN
    made = _named(graph, "DeviceClass", name)
    if made is None:
        return str(name) in (*DRIVERS, *_PARTS)
    selectors = items(get(made.inputs, "spec", "selectors"))
    if isinstance(selectors, Unknown) or contains_unknown(selectors):
        return UNKNOWN
    texts = [str(get(selector, "cel", "expression")) for selector in selectors]
    return either(str(name) in DRIVERS, *(any(driver in text for driver in DRIVERS) for text in texts))


def _named(graph: Graph, kind: str, name: object) -> RecordedResource | None:
    for made in graph.of(*(f"kubernetes:resource.k8s.io/{version}:{kind}" for version in _VERSIONS)):
        if name in (get(made.inputs, "metadata", "name", default=made.name), UNKNOWN):
            return made
    return None
