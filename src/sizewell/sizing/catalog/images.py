"""Machine images by their names: for which processor each is, and whose accelerators it has a driver for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from sizewell import csvtables

DRIVERS: Final = {"cuda": "NVIDIA", "neuron": "Neuron"}  # by runtime: whose driver it needs


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageKind:
    """A row of image_kinds.csv: for which processor an image is, and whose accelerators it has a driver for."""

    cloud: str
    image: str  # a regular expression for the whole name, or for the parameter that leads to it
    architecture: Literal["", "x86_64", "arm64"] = ""  # "" for either, or where the name does not say
    drives: tuple[str, ...] = ()  # runtimes of accelerators
    may_drive: tuple[str, ...] = ()  # those of which nobody wrote down whether it does
    takes_drivers: bool = True  # whether somebody can install what it lacks
    source: str

    def lacks(self, runtime: str) -> bool:
        """Whether it is known to have no driver for accelerators of a runtime."""
        return runtime in DRIVERS and runtime not in (*self.drives, *self.may_drive)


def image_kind(cloud: str, named: str) -> ImageKind | None:
    """What is known of an image by its name; None where nothing is.

    >>> image_kind("aws", "resolve:ssm:/aws/service/canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id").lacks("cuda")
    True
    """  # noqa: E501
    return next((each for each in _kinds() if each.cloud == cloud and re.fullmatch(each.image, named)), None)


@cache
def _kinds() -> tuple[ImageKind, ...]:
    return tuple(csvtables.read(ImageKind, Path(__file__).parents[1] / "data/image_kinds.csv"))
