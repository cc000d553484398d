"""Machine images by their names: for which processor each is, and whose accelerators it has a driver for. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from sizewell import csvtables
from sizewell.sizing.catalog.compatibility import driver_for
from sizewell.sizing.catalog.lifetimes import Lifetimes

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
    modules: Literal["", "open", "proprietary"] = (
        ""  # which of NVIDIA's kernel modules it has; "" where it is not stated
    )
    system: str = ""  # name of the row of releases.csv that states its branch of NVIDIA's driver
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


def foreign(kind: ImageKind, accelerator: str, family: str, known: Lifetimes) -> str:
    """Why the driver of NVIDIA in an image does not drive one of its GPUs; "" where it does, or may.

    >>> from sizewell.sizing.catalog.lifetimes import load
    >>> oss = image_kind("aws", "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id")
    >>> foreign(oss, "v100-16gb", "volta", load()), foreign(oss, "l4", "ada", load())
    ("v100-16gb needs NVIDIA's proprietary kernel modules, and it has the open ones", '')
    """  # noqa: E501
    needed = known.driver_range(accelerator, family)
    if needed is not None and needed.modules and kind.modules and needed.modules != kind.modules:
        return f"{accelerator} needs NVIDIA's {needed.modules} kernel modules, and it has the {kind.modules} ones"
    row = next((row for row in known.releases if (row.kind, row.name) == ("system", kind.system)), None)
    verdict = driver_for(needed, None if row is None else row.driver, accelerator)
    return verdict.reason.replace("it would have", "it has") if verdict.state == "bad" else ""


@cache
def _kinds() -> tuple[ImageKind, ...]:
    return tuple(csvtables.read(ImageKind, Path(__file__).parents[1] / "data/image_kinds.csv"))
