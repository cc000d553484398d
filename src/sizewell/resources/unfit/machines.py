"""Machines beside what they boot, carry and run: images without the accelerator's driver, accelerators that a machine
type cannot have, and containers whose CUDA an accelerator does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from sizewell.resources.aws_nodes import template_of
from sizewell.resources.graph import Graph
from sizewell.resources.readers.images import machine_types
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, get, items
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.catalog.compatibility import cuda_for
from sizewell.sizing.catalog.lifetimes import Lifetimes
from sizewell.sizing.catalog.records import Accelerator, Shape

ARM, X86 = "arm64", "x86_64"


class Image(NamedTuple):
    """A kind of machine image: the processor that it is for, and whose accelerators it has a driver for."""

    architecture: str
    drives: tuple[str, ...]  # vendors; () for none
    may_drive: tuple[str, ...] = ()  # those of which nobody wrote down whether it does


# amiType of EKS (docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html; github.com/awslabs/amazon-eks-ami and
# github.com/bottlerocket-os/bottlerocket; checked 2026-11-27). Amazon Linux 2's image for GPUs has both drivers.
EKS_IMAGES: Final = {
    "AL2_x86_64": Image(X86, ()),
    "AL2_x86_64_GPU": Image(X86, ("nvidia", "aws")),
    "AL2_ARM_64": Image(ARM, ()),
    "AL2023_x86_64_STANDARD": Image(X86, ()),
    "AL2023_ARM_64_STANDARD": Image(ARM, ()),
    "AL2023_x86_64_NVIDIA": Image(X86, ("nvidia",)),
    "AL2023_ARM_64_NVIDIA": Image(ARM, ("nvidia",)),
    "AL2023_x86_64_NEURON": Image(X86, ("aws",)),
    "BOTTLEROCKET_x86_64": Image(X86, (), ("aws",)),
    "BOTTLEROCKET_ARM_64": Image(ARM, ()),
    "BOTTLEROCKET_x86_64_FIPS": Image(X86, (), ("aws",)),
    "BOTTLEROCKET_ARM_64_FIPS": Image(ARM, ()),
    "BOTTLEROCKET_x86_64_NVIDIA": Image(X86, ("nvidia",), ("aws",)),
    "BOTTLEROCKET_ARM_64_NVIDIA": Image(ARM, ("nvidia",)),
}
# The same kinds by the parameter of SSM that a launch template or a machine names.
_PARAMETER: Final = re.compile(
    r"/aws/service/(?:eks/optimized-ami/[\d.]+/(?P<al>amazon-linux-2023)/(?P<arch>x86_64|arm64)/(?P<kind>\w+)"
    r"|bottlerocket/aws-k8s-[\d.]+(?P<nvidia>-nvidia)?/(?P<barch>x86_64|arm64))/"
)
INSTALLS_DRIVERS: Final = ("gpu-operator", "gpu-operator-charts", "neuron-helm-chart", "amd-gpu-operator")
MARKETS: Final = ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK")


def of_node_group(graph: Graph, resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """The kind of image of an EKS node group beside its machine types, and the market's spelling."""
    if canonical(resource.type) != "aws:eks/nodeGroup:NodeGroup":
        return
    market = resource.inputs.get("capacityType")
    if isinstance(market, str) and market not in MARKETS:
        yield f"capacity_type {market!r} is refused by EKS", f"name one of {', '.join(MARKETS)}"
    kind, image = resource.inputs.get("amiType"), EKS_IMAGES.get(str(resource.inputs.get("amiType")))
    types = items(resource.inputs.get("instanceTypes"))
    if not types and resource.inputs.get("launchTemplate") is not None:
        template = template_of(graph, resource, "launchTemplate")
        types = items(template.inputs.get("instanceType")) if isinstance(template, RecordedResource) else ()
    if image is not None and not isinstance(types, Unknown):
        for machine in types:
            yield from _driven(f"ami_type {kind}", image, machine, catalog, installed=_installs(graph))


def of_image(resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """An image of EKS's that a launch template or a machine names by its parameter."""
    if canonical(resource.type) not in ("aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/instance:Instance"):
        return
    named = resource.inputs.get("imageId") or resource.inputs.get("ami")
    match = _PARAMETER.search(named) if isinstance(named, str) else None
    if match is None:
        return
    drives = {"nvidia": ("nvidia",), "neuron": ("aws",)}.get(match["kind"] or "", ())
    if match["nvidia"]:
        drives = ("nvidia",)
    image = Image(match["arch"] or match["barch"], drives, () if match["al"] else ("aws",))
    yield from _driven(f"image {named}", image, resource.inputs.get("instanceType"), catalog, installed=True)


def _installs(graph: Graph) -> bool:
    """Whether a program has a chart that brings drivers, or one that is not known yet."""
    charts = [
        each.inputs.get("chart")
        for each in graph.of(
            "kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v3:Chart", "kubernetes:helm.sh/v4:Chart"
        )
    ]
    return any(not isinstance(chart, str) or chart.rpartition("/")[2] in INSTALLS_DRIVERS for chart in charts)


def _driven(
    named: str, image: Image, machine: object, catalog: Catalog, *, installed: bool
) -> Iterator[tuple[str, str]]:
    """What is wrong with an image on a machine; `installed`: whether something may bring a driver that it lacks."""
    shape = catalog.shapes_by_type.get(("aws", str(machine)))
    if shape is None:
        return
    if shape.architecture and shape.architecture != image.architecture:
        yield (
            f"{named} is for {image.architecture}, and {machine} is {shape.architecture}: it does not boot there",
            f"take an image for {shape.architecture}",
        )
        return
    device = catalog.accelerators.get(shape.accelerator or "")
    if device is None or device.vendor in (*image.drives, *image.may_drive):
        return
    whose = {"nvidia": "NVIDIA", "aws": "Neuron", "amd": "AMD"}
    has = " and ".join(whose[vendor] for vendor in image.drives)
    if has:
        needs = {"nvidia": "take the image for NVIDIA", "aws": "take the image for Neuron"}.get(
            device.vendor, "take an image of your own with its driver"
        )
        yield f"{named} has the driver of {has}, which does not drive the {device.name} of {machine}", needs
    elif not installed:
        vain = "it is billed and no pod can use it, unless an operator from elsewhere installs one"
        or_operator = ", or the GPU operator" if device.vendor == "nvidia" else ""
        yield (
            f"{named} has no driver for the {device.name} of {machine}: {vain}",
            f"take an image with the driver{or_operator}",
        )


GOOGLE: Final = {
    "gcp:container/nodePool:NodePool": "nodeConfig",
    "gcp:container/cluster:Cluster": "nodeConfig",
    "gcp:compute/instance:Instance": "",
    "gcp:compute/instanceTemplate:InstanceTemplate": "",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate": "",
}
# Image types of GKE for Docker, in no version since 1.24 (cloud.google.com/kubernetes-engine/docs/deprecations/docker-
# containerd, from memory, 2026-11-27).
DOCKER_IMAGES: Final = ("COS", "UBUNTU", "WINDOWS_LTSC", "WINDOWS_SAC")
# What N1 alone takes beside it (cloud.google.com/compute/docs/gpus, from memory, 2026-11-27).
N1_TAKES: Final = tuple(f"nvidia-tesla-{name}" for name in ("k80", "p4", "p100", "v100", "t4"))
_PLAIN: Final = re.compile(r"(e2|n2|n2d|n4|n4a|n4d|c2|c2d|c3|c3d|c4|c4a|c4d|t2a|t2d|m1|m2|m3|m4|h3|h4d|z3|f1|g1)-.*")


def of_google(resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Attached accelerators beside the machine type, images for Docker, and live migration of accelerators."""
    if (type_ := canonical(resource.type)) not in GOOGLE:
        return
    where = GOOGLE[type_]
    config = get(resource.inputs, where) if where else resource.inputs
    if config is None or isinstance(config, Unknown):
        return
    machine = get(config, "machineType")
    attached = items(get(config, "guestAccelerators"))
    shape = catalog.shapes_by_type.get(("gcp", machine.rpartition("/")[2])) if isinstance(machine, str) else None
    if isinstance(machine, str) and not isinstance(attached, Unknown):
        for each in attached:
            yield from _attached(machine.rpartition("/")[2], shape, get(each, "type"), get(each, "count"))
    image = get(config, "imageType")
    if isinstance(image, str) and image.upper() in DOCKER_IMAGES:
        yield f"image_type {image} is for Docker, which GKE ended with 1.24", f"set {image.upper()}_CONTAINERD"
    carries = bool(shape and shape.accelerator) or (attached and not isinstance(attached, Unknown))
    if not where and carries and get(config, "scheduling", "onHostMaintenance") == "MIGRATE":
        yield (
            f"on_host_maintenance MIGRATE is refused for {machine}: accelerators do not migrate",
            "set it to TERMINATE",
        )


def _attached(machine: str, shape: Shape | None, type_: object, count: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(type_, str) or isinstance(count, Unknown) or str(count) in ("0", "0.0"):
        return
    name = type_.rpartition("/")[2]
    plain = name.removesuffix("-vws")
    if shape is not None and shape.accelerator:
        own, has = shape.cloud_accelerator, shape.accelerators
        if own and plain != own:
            yield (
                f"{machine} has {has} x {own} and no {name}: Google refuses it",
                f"name {own}, or another machine type",
            )
        elif own and count is not None and str(count).removesuffix(".0") != str(has):
            yield f"{machine} has {has} x {own}, not {count}: Google refuses another count", f"state count {has}"
    elif _PLAIN.fullmatch(machine) or (machine.startswith("n1-") and plain not in N1_TAKES):
        takes = f"N1 takes {', '.join(N1_TAKES)}" if machine.startswith("n1-") else "N1 alone takes attached ones"
        yield (
            f"{machine} cannot have {name}: {takes}",
            "take a machine type that comes with it, such as g2 with nvidia-l4",
        )


def of_pods(
    graph: Graph,
    resource: RecordedResource,
    catalog: Catalog,
    known: Lifetimes,
    cuda_of: Callable[[str], tuple[str, ...]],
) -> Iterator[tuple[str, str]]:
    """Containers whose CUDA is too new or too old for the GPUs on which they land."""
    if not resource.type.startswith("kubernetes:"):
        return
    for spec in _pod_specs(resource.inputs):
        containers = items(spec.get("containers"))
        for container in () if isinstance(containers, Unknown) else containers:
            image = get(container, "image")
            if not isinstance(image, str) or get(container, "resources", "limits", "nvidia.com/gpu") is None:
                continue
            devices = _devices(graph, spec, catalog)
            for device in devices:
                ranges = known.driver_range(device.key, device.family)
                wrong = [cuda_for(ranges, None, cuda, device.name) for cuda in cuda_of(image)]
                if wrong and all(each.state == "bad" for each in wrong):
                    yield (
                        f"{image} does not run on {device.name}: {wrong[0].reason}",
                        "take an image of a CUDA that it has, or another GPU",
                    )
                    break


def _pod_specs(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if "containers" in value:
            yield value
            return
        for each in value.values():
            yield from _pod_specs(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _pod_specs(each)


def _devices(graph: Graph, spec: Mapping[str, Any], catalog: Catalog) -> tuple[Accelerator, ...]:
    """GPUs on which a pod lands: those that it selects, else the one kind that the program's machines have."""
    selector = get(spec, "nodeSelector")
    named = get(selector, "cloud.google.com/gke-accelerator")
    machine = get(selector, "node.kubernetes.io/instance-type")
    if isinstance(named, str):
        return _google(named, catalog)
    if isinstance(machine, str):
        return _of_machine(machine, catalog)
    if isinstance(named, Unknown) or isinstance(machine, Unknown) or isinstance(selector, Unknown):
        return ()
    kinds: dict[str, tuple[Accelerator, ...]] = {}
    for each in graph.plan.resources:
        if each.type.startswith(("aws:", "gcp:", "azure")):
            listed = items(each.inputs.get("instanceTypes"))
            for name in (*machine_types(each.inputs), *(() if isinstance(listed, Unknown) else listed)):
                kinds |= {device[0].key: device for device in (_of_machine(str(name), catalog),) if device}
                kinds |= {device[0].key: device for device in (_google(str(name), catalog),) if device}
    return next(iter(kinds.values())) if len(kinds) == 1 else ()


def _of_machine(name: str, catalog: Catalog) -> tuple[Accelerator, ...]:
    for cloud in ("aws", "gcp", "azure"):
        shape = catalog.shapes_by_type.get((cloud, name))
        if shape is not None and shape.accelerator:
            return (catalog.accelerators[shape.accelerator],)
    return ()


def _google(name: str, catalog: Catalog) -> tuple[Accelerator, ...]:
    if not name.startswith("nvidia-"):
        return ()
    return catalog.accelerators_named(name.removeprefix("nvidia-").removeprefix("tesla-"))
