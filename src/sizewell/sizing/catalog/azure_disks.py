"""Which Azure machines boot from a disk of their own: it costs nothing and goes with the machine."""

from __future__ import annotations

import re

from sizewell.sizing.catalog.records import Shape

# GiB of the local disk that can hold an ephemeral OS disk, by the size's beginning: the temporary disk where the
# machine has one beside its NVMe (learn.microsoft.com/azure/virtual-machines/sizes, from memory, unverified).
TEMPORARY_GIB = (
    ("Standard_ND96isr_", 1000),
    ("Standard_ND96is_", 1000),
    ("Standard_ND96a", 1000),
    ("Standard_ND40rs_v2", 2948),
    ("Standard_NC24ads_A100", 64),
    ("Standard_NC48ads_A100", 128),
    ("Standard_NC96ads_A100", 256),
    ("Standard_NC40ads_H100", 128),
    ("Standard_NC80adis_H100", 256),
)
_TEMPORARY_IS_LOCAL = re.compile(r"Standard_N(C\d+as_T4|V\d+adm?s_A10)")  # there the catalog's local disk is it


def temporary_gib(shape: Shape) -> int:
    """What the machine's temporary disk holds; 0 where nobody knows."""
    if _TEMPORARY_IS_LOCAL.match(shape.instance_type):
        return shape.local_nvme_bytes // 2**30
    return next((gib for start, gib in TEMPORARY_GIB if shape.instance_type.startswith(start)), 0)
