"""Machines beside what they boot, carry and run: images without the accelerator's driver, accelerators that a machine
type cannot have, and containers whose CUDA an accelerator does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from sizewell import csvtables
from sizewell.resources.ages import images_in
from sizewell.resources.aws_nodes import template_of
from sizewell.resources.graph import Graph
from sizewell.resources.readers.images import LOOKUPS, looked_up, machine_images, machine_types
from sizewell.resources.readers.task_machines import containers_of
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, flag, get, items
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.catalog.compatibility import cuda_for, driver_for
from sizewell.sizing.catalog.images import DRIVERS, ImageKind, foreign, image_kind
from sizewell.sizing.catalog.lifetimes import Lifetimes
from sizewell.sizing.catalog.machine_prices import is_listed
from sizewell.sizing.catalog.records import Accelerator, Shape
from sizewell.sizing.providers import CLOUDS

GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
INSTANCE: Final = "aws:ec2/instance:Instance"
SPOT_REQUEST: Final = "aws:ec2/spotInstanceRequest:SpotInstanceRequest"
INSTALLING: Final = ("userData", "userDataBase64", "launchTemplate")  # inputs by which a machine may get its driver
LAUNCH_CONFIGURATION: Final = "aws:ec2/launchConfiguration:LaunchConfiguration"
# Type -> the input that names its image.
IMAGES: Final = {
    GROUP: "amiType",
    "aws:ec2/launchTemplate:LaunchTemplate": "imageId",
    INSTANCE: "ami",
    SPOT_REQUEST: "ami",
    LAUNCH_CONFIGURATION: "imageId",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstGeneration:
    """A row of first_generation.csv: images of Azure that boot machines of generation 1."""

    image: str  # a regular expression for PUBLISHER:OFFER:SKU, in any case
    instead: str
    source: str


class Images(Protocol):
    """What is known of containers by the names of their images (`launch.images`)."""

    def cuda_of(self, image: str) -> tuple[str, ...]: ...
    def made_for(self, image: str) -> frozenset[str]: ...
    def for_x86_alone(self, image: str) -> bool: ...


DATA: Final = Path(__file__).parents[1] / "data"
_FIRST: Final = csvtables.read(FirstGeneration, DATA / "first_generation.csv")
INSTALLSDRIVERS: Final = ("gpu-operator", "gpu-operator-charts", "neuron-helm-chart", "amd-gpu-operator")
MAKERS: Final = {"cuda": "NVIDIA", "rocm": "AMD"}  # by runtime: whose GPUs an image has the driver of
# By runtime: the resource by which a container asks for accelerators, and what they are called.
ASKED: Final = {
    "cuda": "nvidia.com/gpu",
    "rocm": "amd.com/gpu",
    "neuron": "aws.amazon.com/neuron",
    "tpu": "google.com/tpu",
}
MADE_FOR: Final = {
    "cuda": "NVIDIA's GPUs", "rocm": "AMD's GPUs", "neuron": "AWS Neuron", "tpu": "TPUs", "cpu": "processors alone",
}  # fmt: skip
MARKETS: Final = ("ON_DEMAND", "SPOT", "CAPACITY_BLOCK")


def of_market(resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """The spelling of EKS's markets, and machine types that a launch configuration does not take."""
    type_ = canonical(resource.type)
    market, machine = (resource.inputs.get(key) for key in ("capacityType", "instanceType"))
    if type_ == GROUP and isinstance(market, str) and market not in MARKETS:
        yield f"capacity_type {market!r} is refused by EKS", f"name one of {', '.join(MARKETS)}"
    if type_ == LAUNCH_CONFIGURATION and catalog.says(cloud_of(type_), str(machine), "templates-alone"):
        said = f"{machine} is refused in a launch configuration, which takes no type that came out since 2023"
        yield said, "make an ec2.LaunchTemplate in its place"


def of_image(graph: Graph, resource: RecordedResource, catalog: Catalog, known: Lifetimes) -> Iterator[tuple[str, str]]:
    """The image of a machine or a node group beside its machine types."""
    if (type_ := canonical(resource.type)) not in IMAGES:
        return
    named = resource.inputs.get(IMAGES[type_])
    found: tuple[str, ...] = (named,) if isinstance(named, str) else ()
    if isinstance(named, Unknown):
        yield from _of_filter(graph, resource, IMAGES[type_], catalog)
    if isinstance(named, Unknown):
        found = _looked_up(graph, resource, IMAGES[type_])
    kinds = [(each, image_kind(cloud_of(type_), each)) for each in found]
    if type_ != GROUP:
        alone = type_ in (INSTANCE, SPOT_REQUEST)  # of a template the group may bring it
        installed = not alone or any(resource.inputs.get(key) is not None for key in INSTALLING)
        machine = resource.inputs.get("instanceType")
        faults = [
            next(_driven(f"image {each}", kind, machine, catalog, known, installed=installed), None) if kind else None
            for each, kind in kinds
        ]
        if faults and faults[0] is not None and all(faults):  # of several that are looked up, none would do
            yield faults[0]
        return
    (named, kind) = kinds[0] if kinds else (None, None)
    if kind is None:
        return
    types = items(resource.inputs.get("instanceTypes"))
    if types == () and resource.inputs.get("launchTemplate") is not None:
        template = template_of(graph, resource, "launchTemplate")
        types = items(template.inputs.get("instanceType")) if isinstance(template, RecordedResource) else ()
    for machine in () if isinstance(types, Unknown) else types:
        yield from _driven(f"ami_type {named}", kind, machine, catalog, known, installed=_installs(graph))


def _of_filter(graph: Graph, resource: RecordedResource, key: str, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """An image that is looked up by an architecture which the machine has not."""
    if resource.property_dependencies.get(key):
        return
    filters = [items(call.inputs.get("filters")) for call in graph.plan.lookups if call.type == LOOKUPS[0]]
    asked = {
        value
        for listed in filters
        for each in (() if isinstance(listed, Unknown) else listed)
        if get(each, "name") == "architecture"
        for value in get(each, "values", default=())
    }
    machine = resource.inputs.get("instanceType")
    processor = _processor(cloud_of(resource.type), machine, catalog) if isinstance(machine, str) else ""
    if len(asked) == 1 and processor and processor not in asked:
        said = f"the image is looked up for {next(iter(asked))}, and {machine} is {processor}: it does not boot there"
        yield said, f"look up an image for {processor}"


def _looked_up(graph: Graph, resource: RecordedResource, key: str) -> tuple[str, ...]:
    """The images that a program looks up, of which a machine has one where no resource makes another; () where a call
    does not say which.
    """
    if resource.property_dependencies.get(key):
        return ()
    cloud = cloud_of(resource.type)
    calls = [call for call in graph.plan.lookups if call.type in LOOKUPS and cloud_of(call.type) == cloud]
    named = [tuple(looked_up(call)) for call in calls]
    return tuple(name for (name,) in named) if all(len(each) == 1 for each in named) else ()


def _installs(graph: Graph) -> bool:
    """Whether a program has a chart that brings drivers, or one that is not known yet."""
    charts = [
        each.inputs.get("chart")
        for each in graph.of(
            "kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v3:Chart", "kubernetes:helm.sh/v4:Chart"
        )
    ]
    return any(not isinstance(chart, str) or chart.rpartition("/")[2] in INSTALLSDRIVERS for chart in charts)


def _driven(
    named: str, image: ImageKind, machine: object, catalog: Catalog, known: Lifetimes, *, installed: bool
) -> Iterator[tuple[str, str]]:
    """What is wrong with an image on a machine; `installed`: whether something may bring a driver that it lacks."""
    processor = _processor(image.cloud, str(machine), catalog)
    if processor and image.architecture and processor != image.architecture:
        yield (
            f"{named} is for {image.architecture}, and {machine} is {processor}: it does not boot there",
            f"take an image for {processor}",
        )
        return
    shape = catalog.shapes_by_type.get((image.cloud, str(machine)))
    device = None if shape is None else catalog.accelerators.get(shape.accelerator or "")
    if device is None:
        return
    if device.runtime in (*image.drives, *image.may_drive):
        if device.runtime in image.drives and (why := foreign(image, device.key, device.family, known)):
            said = f"{named} does not drive the {device.name} of {machine}: {why}; it is billed in vain"
            yield said, "take an image with such a driver, or another machine type"
        return
    needed = DRIVERS.get(device.runtime)
    if has := " and ".join(DRIVERS[runtime] for runtime in image.drives):
        needs = f"take the image for {needed}" if needed else "take an image of your own with its driver"
        yield f"{named} has the driver of {has}, which does not drive the {device.name} of {machine}", needs
    elif not image.takes_drivers:
        said = f"{named} has no driver for the {device.name} of {machine}, and takes none: it is billed in vain"
        yield said, "take an image with the driver"
    elif not installed:
        vain = "it is billed and nothing can use it, unless somebody else installs one"
        or_operator = ", or the GPU operator on a cluster" if device.runtime == "cuda" else ""
        yield (
            f"{named} has no driver for the {device.name} of {machine}: {vain}",
            f"take an image with the driver{or_operator}",
        )


# Type of a pool of AKS -> (its image, its machine type).
AKS_POOLS: Final = {
    "azure-native:containerservice:AgentPool": ("osSKU", "vmSize"),
    "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool": ("osSku", "vmSize"),
}
AKS: Final = "azure-native:containerservice:ManagedCluster"


def of_azure(resource: RecordedResource, catalog: Catalog, known: Lifetimes) -> Iterator[tuple[str, str]]:
    """Systems of AKS on which it supports no accelerators, and a kind of driver that Linux chooses by itself."""
    type_ = canonical(resource.type)
    pools: tuple[Any, ...] = (resource.inputs,) if type_ in AKS_POOLS else ()
    image_key, machine_key = AKS_POOLS.get(type_, ("osSKU", "vmSize"))
    if type_ == AKS:
        listed = items(resource.inputs.get("agentPoolProfiles"))
        pools = () if isinstance(listed, Unknown) else listed
    for pool in pools:
        image = get(pool, image_key)
        kind = image_kind(cloud_of(type_), image) if isinstance(image, str) else None
        if kind is not None:
            yield from _driven(f"{image_key} {image}", kind, get(pool, machine_key), catalog, known, installed=True)
        driver = get(pool, "gpuProfile", "driverType")
        if isinstance(driver, str) and get(pool, "osType", default="Linux") == "Linux":
            said = f"driverType {driver} is refused on Linux, where AKS chooses the driver"
            yield said, "leave it out, or set the gpuProfile's driver to None and install one"


# Type of a machine -> (its type, what may bring a driver: inputs, and resources that extend it).
EXTENSIONS: Final = (
    "azure-native:compute:VirtualMachineExtension", "azure-native:compute:VirtualMachineScaleSetExtension",
    "azure:compute/extension:Extension",
    "azure:compute/virtualMachineScaleSetExtension:VirtualMachineScaleSetExtension",
)  # fmt: skip
_OWN_START: Final = (("userData",), ("customData",))
PLAIN: Final[Mapping[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]]] = {
    **dict.fromkeys(
        (
            "gcp:compute/instance:Instance",
            "gcp:compute/instanceTemplate:InstanceTemplate",
            "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
        ),
        (("machineType",), (("metadataStartupScript",), ("metadata",))),
    ),
    "azure-native:compute:VirtualMachine": (
        ("hardwareProfile", "vmSize"), (("userData",), ("osProfile", "customData")),
    ),
    "azure-native:compute:VirtualMachineScaleSet": (
        ("sku", "name"),
        (
            ("virtualMachineProfile", "userData"), ("virtualMachineProfile", "osProfile", "customData"),
            ("virtualMachineProfile", "extensionProfile"),
        ),
    ),
    "azure:compute/linuxVirtualMachine:LinuxVirtualMachine": (("size",), _OWN_START),
    "azure:compute/windowsVirtualMachine:WindowsVirtualMachine": (("size",), _OWN_START),
    "azure:compute/linuxVirtualMachineScaleSet:LinuxVirtualMachineScaleSet": (
        ("sku",), (*_OWN_START, ("extensions",)),
    ),
    "azure:compute/windowsVirtualMachineScaleSet:WindowsVirtualMachineScaleSet": (
        ("sku",), (*_OWN_START, ("extensions",)),
    ),
    "azure:compute/orchestratedVirtualMachineScaleSet:OrchestratedVirtualMachineScaleSet": (
        ("skuName",), (("userDataBase64",), ("osProfile", "customData"), ("extensions",)),
    ),
}  # fmt: skip


def of_processor(resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """An image of Azure or Google Cloud for another processor than the machine's: names of images for Arm say so."""
    type_ = canonical(resource.type)
    if type_ not in PLAIN:
        return
    machine = str(get(resource.inputs, *PLAIN[type_][0])).rpartition("/")[2]
    processor = _processor(cloud_of(type_), machine, catalog)
    for image in dict.fromkeys(machine_images(resource.inputs)) if processor else ():
        of = "arm64" if re.search("arm64|aarch64", image, re.IGNORECASE) else "x86_64"
        if of != processor and image_kind(cloud_of(type_), image) is not None:
            said = f"image {image} is for {of}, and {machine} is {processor}: it does not boot there"
            yield said, f"take an image for {processor}"


TASK: Final = "aws:ecs/taskDefinition:TaskDefinition"


def of_task(resource: RecordedResource, images: Images) -> Iterator[tuple[str, str]]:
    """Containers of an ECS task for Arm that have no build for it."""
    if canonical(resource.type) != TASK or get(resource.inputs, "runtimePlatform", "cpuArchitecture") != "ARM64":
        return
    for image in dict.fromkeys(images_in(list(containers_of(resource.inputs.get("containerDefinitions"))))):
        if images.for_x86_alone(image):
            said = f"{image} has no build for arm64, which runtime_platform asks for: it does not start there"
            yield said, "take a newer release or a build of your own for arm64, or cpu_architecture X86_64"


def of_plain(graph: Graph, resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """A machine with GPUs whose image has no driver, and that nothing in the program installs."""
    type_ = canonical(resource.type)
    if type_ not in PLAIN:
        return
    at, brings = PLAIN[type_]
    if any(get(resource.inputs, *path) is not None for path in brings) or graph.of(*EXTENSIONS):
        return
    named = [(each, kind) for each in machine_images(resource.inputs) if (kind := image_kind(cloud_of(type_), each))]
    if len(named) != 1:
        return
    (image, kind), machine = named[0], get(resource.inputs, *at)
    shape = catalog.shapes_by_type.get((cloud_of(type_), str(machine)))
    if shape is not None and "virtual-gpu" in shape.traits and not re.search("grid|vgpu|virtual-?workstation", image):
        said = f"image {image} has no GRID driver, without which the virtual GPU of {machine} does not run"
        yield (
            f"{said}: it is billed in vain",
            "install it at the start, on Azure by the extension NvidiaGpuDriverLinux of Microsoft.HpcCompute",
        )
        return
    devices = _devices_of(resource, str(machine).rpartition("/")[2], catalog)
    for device in devices[:1]:
        others = [MAKERS[runtime] for runtime in kind.drives if runtime in MAKERS and runtime != device.runtime]
        if others and device.runtime in MAKERS and device.runtime not in (*kind.drives, *kind.may_drive):
            has = f"image {image} has the driver of {others[0]}, which does not drive the {device.name} of {machine}"
            yield f"{has}: it is billed in vain", f"take the image with the driver of {MAKERS[device.runtime]}"
        elif device.runtime == "cuda" and device.runtime not in (*kind.drives, *kind.may_drive):
            said = f"image {image} has no driver for the {device.name} of {machine}"
            yield (
                f"{said}: it is billed and nothing can use it, unless somebody else installs one",
                "take an image with the driver, or install it when the machine starts",
            )


# What the name of a family of Google's Deep Learning VM says: common-cu128-ubuntu-2204-nvidia-570, pytorch-1-13-cu113.
_FAMILY: Final = re.compile(r"(?:deeplearning-platform-release|ml-images)/.*")
_CUDA_OF: Final = re.compile(r"-cu(\d\d)(\d)(?:-|$)")
_BRANCH_OF: Final = re.compile(r"-nvidia-(\d{3})(?:-|$)")


def of_family(resource: RecordedResource, catalog: Catalog, known: Lifetimes) -> Iterator[tuple[str, str]]:
    """A Deep Learning VM whose CUDA or driver, which its name says, is not for the machine's GPU."""
    type_ = canonical(resource.type)
    if type_ not in PLAIN or type_ not in GOOGLE:
        return
    machine = str(get(resource.inputs, *PLAIN[type_][0])).rpartition("/")[2]
    for device in _devices_of(resource, machine, catalog)[:1]:
        needed = known.driver_range(device.key, device.family)
        for image in sorted({each for each in machine_images(resource.inputs) if _FAMILY.search(each)}):
            cuda, branch = _CUDA_OF.search(image), _BRANCH_OF.search(image)
            driven = driver_for(needed, int(branch[1]) if branch else None, device.key)
            runs = cuda_for(needed, None, f"{cuda[1]}.{cuda[2]}" if cuda else "", device.key)
            for verdict in (driven, runs):
                if verdict.state == "bad":
                    reason = verdict.reason.replace("it would have", "the image has")
                    said = f"image {image} is not for the {device.name} of {machine}: {reason}"
                    usual = driver_for(needed, 570, device.key).state == "good"
                    such = ", such as common-cu128-ubuntu-2204-nvidia-570" if usual else ""
                    yield said, f"take a family of another CUDA or driver{such}"
                    break


def of_generation(resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """An image of Azure's first generation on a machine that boots the second alone."""
    type_ = canonical(resource.type)
    if type_ not in PLAIN:
        return
    machine = get(resource.inputs, *PLAIN[type_][0])
    if not isinstance(machine, str) or not catalog.says(cloud_of(type_), machine, "second-generation"):
        return
    for image in sorted(set(machine_images(resource.inputs))):
        row = next((row for row in _FIRST if re.fullmatch(row.image, image, re.IGNORECASE)), None)
        if row is not None:
            said = f"image {image} is of generation 1, and {machine} boots generation 2 alone: Azure refuses it"
            yield said, row.instead


def _devices_of(resource: RecordedResource, machine: str, catalog: Catalog) -> tuple[Accelerator, ...]:
    if own := _of_machine(machine, catalog):
        return own
    attached = items(resource.inputs.get("guestAccelerators"))
    named = [get(each, "type") for each in (() if isinstance(attached, Unknown) else attached)]
    return tuple(
        device for name in named if isinstance(name, str) for device in _google(name.rpartition("/")[2], catalog)
    )


GOOGLE: Final = {
    "gcp:container/nodePool:NodePool": "nodeConfig",
    "gcp:container/cluster:Cluster": "nodeConfig",
    "gcp:compute/instance:Instance": "",
    "gcp:compute/instanceTemplate:InstanceTemplate": "",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate": "",
}
# Image types of GKE for Docker, in no version since 1.24 (docs.cloud.google.com/kubernetes-engine/docs/deprecations/
# docker-containerd, read on 2026-11-27; its Windows ones by github.com/rancher/gke-operator/issues/120).
DOCKER_IMAGES: Final = ("COS", "UBUNTU", "WINDOWS_LTSC", "WINDOWS_SAC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A row of attached.csv: an accelerator that is attached to machines of N1, and of no other series."""

    accelerator: str
    source: str


ATTACHED: Final = tuple(row.accelerator for row in csvtables.read(Attached, DATA / "attached.csv"))


def of_google(resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Attached accelerators beside the machine type, images for Docker, and live migration of accelerators."""
    if (type_ := canonical(resource.type)) not in GOOGLE:
        return
    where = GOOGLE[type_]
    config = get(resource.inputs, where) if where else resource.inputs
    if config is None or isinstance(config, Unknown):
        return
    cloud, machine = cloud_of(type_), get(config, "machineType")
    attached = items(get(config, "guestAccelerators"))
    shape = None
    if isinstance(machine, str):
        machine = machine.rpartition("/")[2]
        shape = catalog.shapes_by_type.get((cloud, machine))
        attachable = catalog.says(cloud, machine, "attachable")
        bare = not attachable and is_listed(cloud, machine)  # of the price lists of types without accelerators
        for each in () if isinstance(attached, Unknown) else attached:
            type_of, count = get(each, "type"), get(each, "count")
            yield from _attached(machine, shape, type_of, count, attachable=attachable, bare=bare)
    image = get(config, "imageType")
    if isinstance(image, str) and image.upper() in DOCKER_IMAGES:
        yield f"image_type {image} is for Docker, which GKE ended with 1.24", f"set {image.upper()}_CONTAINERD"
    if not where and _carries(cloud, config, catalog) and get(config, "scheduling", "onHostMaintenance") == "MIGRATE":
        said = f"on_host_maintenance MIGRATE is refused for {machine}: accelerators do not migrate"
        yield said, "set it to TERMINATE"


def _carries(cloud: str, machine: Any, catalog: Catalog) -> bool:
    """Whether a machine of Google's has accelerators, its own or attached ones."""
    kind = str(get(machine, "machineType")).rpartition("/")[2]
    shape, attached = catalog.shapes_by_type.get((cloud, kind)), items(get(machine, "guestAccelerators"))
    return bool(shape and shape.accelerator) or (not isinstance(attached, Unknown) and bool(attached))


def of_migration(resource: RecordedResource, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """Live migration of accelerators, which is what Google does where nothing is stated (github.com/loft-sh/devpod/
    issues/973 and github.com/GoogleCloudPlatform/cluster-toolkit/pull/460: "Instances with guest accelerators do not
    support live migration"); a spot machine never migrates.
    """
    inputs, type_ = resource.inputs, canonical(resource.type)
    scheduling = get(inputs, "scheduling")
    if GOOGLE.get(type_) != "" or isinstance(scheduling, Unknown) or not _carries(cloud_of(type_), inputs, catalog):
        return
    reclaimed = get(scheduling, "provisioningModel", default="STANDARD") != "STANDARD"
    reclaimed |= flag(get(scheduling, "preemptible")) is not False
    if get(scheduling, "onHostMaintenance") is None and not reclaimed:
        machine = str(get(inputs, "machineType")).rpartition("/")[2]
        said = f"{machine} is refused without on_host_maintenance, which is MIGRATE then: accelerators do not migrate"
        yield said, "set scheduling.on_host_maintenance to TERMINATE"


def _attached(
    machine: str, shape: Shape | None, type_: object, count: Any, *, attachable: bool, bare: bool
) -> Iterator[tuple[str, str]]:
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
    elif bare or (attachable and plain not in ATTACHED):
        takes = f"it takes {', '.join(ATTACHED)}" if attachable else "N1 alone takes attached ones"
        yield (
            f"{machine} cannot have {name}: {takes}",
            "take a machine type that comes with it, such as g2 with nvidia-l4",
        )


def of_pods(
    graph: Graph,
    resource: RecordedResource,
    catalog: Catalog,
    known: Lifetimes,
    images: Images,
) -> Iterator[tuple[str, str]]:
    """Containers that are for other processors or accelerators than those on which they land, or for another CUDA."""
    if not resource.type.startswith("kubernetes:"):
        return
    for spec in _pod_specs(resource.inputs):
        containers = items(spec.get("containers"))
        for container in () if isinstance(containers, Unknown) else containers:
            image = get(container, "image")
            if not isinstance(image, str):
                continue
            if images.for_x86_alone(image) and (machine := _arm_machine(spec, catalog)):
                said = f"{image} has no build for arm64, and {machine} has no other processor: it does not start there"
                yield said, "take a newer release or a build of your own for arm64, or machines of x86_64"
                continue
            asked = {kind for kind, key in ASKED.items() if get(container, "resources", "limits", key) is not None}
            made = images.made_for(image)
            if asked and made and not asked & made:
                has = " and ".join(sorted(MADE_FOR.get(kind, kind) for kind in made))
                named = " and ".join(sorted(ASKED[kind] for kind in asked))
                said = f"{image} is made for {has}, and asks for {named}: what it gets it cannot use, and it is billed"
                yield said, f"take the image for {' or '.join(sorted(MADE_FOR.get(kind, kind) for kind in asked))}"
                continue
            for device in _devices(graph, spec, catalog) if "cuda" in asked else ():
                ranges = known.driver_range(device.key, device.family)
                wrong = [cuda_for(ranges, None, cuda, device.name) for cuda in images.cuda_of(image)]
                if wrong and all(each.state == "bad" for each in wrong):
                    yield _of_cuda(image, device, wrong[0].reason, images.cuda_of(image))
                    break


def _arm_machine(spec: Mapping[str, Any], catalog: Catalog) -> str:
    """What of a pod's selector says that it lands on arm64 alone; "" where nothing does."""
    selector = get(spec, "nodeSelector")
    if get(selector, "kubernetes.io/arch") == "arm64":
        return "kubernetes.io/arch arm64"
    machine = get(selector, "node.kubernetes.io/instance-type")
    arm = isinstance(machine, str) and any(catalog.says(cloud, machine, "arm") for cloud in CLOUDS)
    return str(machine) if arm else ""


def _processor(cloud: str, machine: str, catalog: Catalog) -> str:
    """The architecture of a machine type; "" where neither its name nor its row says so."""
    if catalog.says(cloud, machine, "arm"):
        return "arm64"
    known = (cloud, machine) in catalog.shapes_by_type or is_listed(cloud, machine)
    return "x86_64" if known else ""


def _of_cuda(image: str, device: Accelerator, reason: str, versions: tuple[str, ...]) -> tuple[str, str]:
    """That no CUDA that an image may have runs on a GPU; of a month between two known ones, that it lies there."""
    if len(versions) > 1:
        reason = reason.replace(f"the image has {versions[0]}", f"the image's is between {' and '.join(versions)}")
    return f"{image} does not run on {device.name}: {reason}", "take an image of a CUDA that it has, or another GPU"


ENDPOINT: Final = "aws:sagemaker/endpointConfiguration:EndpointConfiguration"


def of_endpoint(
    graph: Graph,
    resource: RecordedResource,
    catalog: Catalog,
    known: Lifetimes,
    images: Images,
) -> Iterator[tuple[str, str]]:
    """Containers of an endpoint of SageMaker whose CUDA its GPUs do not know."""
    if canonical(resource.type) != ENDPOINT:
        return
    models = graph.referenced(resource, "productionVariants", "aws:sagemaker/model:Model")
    variants = items(resource.inputs.get("productionVariants"))
    if isinstance(models, Unknown) or isinstance(variants, Unknown) or len(models) != 1:
        return
    for variant in variants:
        for device in _of_machine(str(get(variant, "instanceType")).removeprefix("ml."), catalog):
            ranges = known.driver_range(device.key, device.family)
            for image in dict.fromkeys(images_in(models[0].inputs)):
                wrong = [cuda_for(ranges, None, cuda, device.name) for cuda in images.cuda_of(image)]
                if wrong and all(each.state == "bad" for each in wrong):
                    yield _of_cuda(image, device, wrong[0].reason, images.cuda_of(image))


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
        if cloud_of(each.type) in CLOUDS:
            listed = items(each.inputs.get("instanceTypes"))
            for name in (*machine_types(each.inputs), *(() if isinstance(listed, Unknown) else listed)):
                kinds |= {device[0].key: device for device in (_of_machine(str(name), catalog),) if device}
                kinds |= {device[0].key: device for device in (_google(str(name), catalog),) if device}
    return next(iter(kinds.values())) if len(kinds) == 1 else ()


def _of_machine(name: str, catalog: Catalog) -> tuple[Accelerator, ...]:
    for cloud in CLOUDS:
        shape = catalog.shapes_by_type.get((cloud, name))
        if shape is not None and shape.accelerator:
            return (catalog.accelerators[shape.accelerator],)
    return ()


def _google(name: str, catalog: Catalog) -> tuple[Accelerator, ...]:
    if not name.startswith("nvidia-"):
        return ()
    return catalog.accelerators_named(name.removeprefix("nvidia-").removeprefix("tesla-"))
