"""What Google Cloud's price list calls the parts of a machine, where it is not what the machine's name says.

A machine type is no entry of that list: its cores, memory, devices and disks are, each by the name of a series or of a
device. Source of the names: descriptions of the Cloud Billing catalog's own entries (services.skus.list), as recorded
beside the tests of the reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sizewell.sizing.catalog.records import Shape

GPU: Final = re.compile(r"(?P<name>.*(?:GPU|RTX 6000 96GB))", re.IGNORECASE)
"""A device, in the description of its part: all but one have the word GPU in it."""
_SERIES: Final[Mapping[str, str]] = {"a3-megagpu": "a3plus", "a3-ultragpu": "a3ultra"}


def series(shape: Shape) -> str:
    """The series under which cores and memory of a Google machine are billed: its name's first word, but for two.

    Source: https://cloud.google.com/compute/docs/machine-resource (a type's name begins with its series).
    """
    for start, billed in _SERIES.items():
        if shape.instance_type.startswith(start):
            return billed
    return shape.instance_type.partition("-")[0]


def eighths(shape: Shape) -> int:
    """Eighths of one device that a machine has for each accelerator; 0 where it has whole ones."""
    _, part, share = shape.accelerator.partition("-share-")
    if not part:
        return 0
    top, _, bottom = share.partition("-")
    return 8 * int(top) // int(bottom)
