"""Images and types of machines that a resource of any cloud names, wherever in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.resources.recorded import RecordedResource

IMAGES: Final = (
    "ami", "amiType", "image", "imageId", "imageIdOverride", "imageType", "nameRegex", "osSKU", "osSku",
    "platformIdentifier", "sourceImage",
)  # fmt: skip
MACHINES: Final = ("instanceClass", "instanceType", "machineType", "nodeType", "size", "vmSize")
ATTACHED: Final = (("guestAccelerators", "type"), ("sku", "name"))  # what holds the key, and the key
_AZURE: Final = ("publisher", "offer", "sku")
LOOKUPS: Final = (  # calls that look an image up
    "aws:ec2/getAmi:getAmi", "aws:ec2/getAmiIds:getAmiIds", "aws:ssm/getParameter:getParameter",
    "gcp:compute/getImage:getImage",
)  # fmt: skip
_PUBLISHED: Final = "/aws/service/"  # where AWS publishes the images of each system


def looked_up(call: RecordedResource) -> Iterator[str]:
    """What a call that looks an image up says of it: patterns of its name, the parameter that leads to it, its family.

    >>> call = RecordedResource(urn="", type="aws:ec2/getAmi:getAmi", name="getAmi", inputs={
    ...     "filters": [{"name": "name", "values": ["amzn2-ami-hvm-*-x86_64-gp2"]}], "owners": ["amazon"]})
    >>> list(looked_up(call))
    ['amzn2-ami-hvm-*-x86_64-gp2']
    """
    if call.type == "aws:ssm/getParameter:getParameter":
        name = call.inputs.get("name")
        if isinstance(name, str) and name.startswith(_PUBLISHED):
            yield name
    elif call.type == "gcp:compute/getImage:getImage":
        project, family = call.inputs.get("project"), call.inputs.get("family", call.inputs.get("name"))
        if isinstance(project, str) and isinstance(family, str):
            yield f"{project}/{family}"
    elif call.type in LOOKUPS:
        yield from machine_images(call.inputs)


def machine_images(value: Any, key: str = "") -> Iterator[str]:
    """Every image or platform of a machine; Azure's as PUBLISHER:OFFER:SKU.

    >>> list(machine_images({"ec2Configurations": [{"imageType": "ECS_AL2_NVIDIA"}], "sku": {"name": "ubuntu"}}))
    ['ECS_AL2_NVIDIA']
    """
    if isinstance(value, str):
        if key in IMAGES:
            yield value
    elif isinstance(value, Mapping):
        if all(isinstance(value.get(part), str) for part in _AZURE):
            yield ":".join(value[part] for part in _AZURE)
        if key == "filters" and value.get("name") == "name" and isinstance(value.get("values"), list | tuple):
            yield from (each for each in value["values"] if isinstance(each, str))
        for inner, each in value.items():
            yield from machine_images(each, str(inner))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from machine_images(each, key)


def machine_types(value: Any, key: str = "", holder: str = "") -> Iterator[str]:
    """Every machine type, and every type of an attached accelerator.

    >>> list(machine_types({"machineType": "n1-standard-8", "guestAccelerators": [{"type": "nvidia-tesla-k80"}]}))
    ['n1-standard-8', 'nvidia-tesla-k80']
    """
    if isinstance(value, str):
        if key in MACHINES or (holder, key) in ATTACHED:
            yield value
    elif isinstance(value, Mapping):
        for inner, each in value.items():
            yield from machine_types(each, str(inner), key)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from machine_types(each, key, holder)
