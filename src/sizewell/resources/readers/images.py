"""Images and types of machines that a resource of any cloud names, wherever in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

IMAGES: Final = (
    "ami", "amiType", "image", "imageId", "imageIdOverride", "imageType", "osSKU", "osSku",
    "platformIdentifier", "sourceImage",
)  # fmt: skip
MACHINES: Final = ("instanceType", "machineType", "size", "vmSize")
ATTACHED: Final = (("guestAccelerators", "type"), ("sku", "name"))  # what holds the key, and the key
_AZURE: Final = ("publisher", "offer", "sku")


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
