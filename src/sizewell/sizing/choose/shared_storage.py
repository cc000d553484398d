"""Whether a job reads its data from object storage or from a file system beside it, and how large and fast that is.

Object storage is the rule: it bills what lies in it, by the month, and needs no machine. A file system stands (and
bills its whole size) around the clock, so it is taken only where streaming from objects would keep accelerators
waiting: where the job reads more per machine than `OBJECT_BYTES_PER_S_PER_NODE`. docs/howto/managed-or-own.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

GIB: Final = 2**30
MIB_PER_S: Final = 10**6
# What one machine reads from object storage without tuning: data loaders with some tens of connections reach about
# 1 GB/s; half of it is what a job can count on beside checkpoints and many small objects. Estimate.
OBJECT_BYTES_PER_S_PER_NODE: Final = 500e6
HEADROOM: Final = 10  # percent that stays free: a file system slows down when it is nearly full
KIND: Final[Mapping[str, str]] = {"aws": "fsx-lustre", "gcp": "filestore", "azure": "managed-lustre"}
LUSTRE_TIERS: Final = (125, 250, 500, 1000)  # MB/s for each TiB that FSx for Lustre sells
AZURE_TIERS: Final[Mapping[int, tuple[int, int]]] = {  # MB/s for each TiB: smallest size and step in TiB
    125: (16, 16),
    250: (8, 8),
    500: (4, 4),
}
FILESTORE_MB_PER_S_PER_TIB: Final = 260  # MiB/s of reads (docs.cloud.google.com/filestore/docs/service-tiers-zonal)
FILESTORE_LARGEST_GIB: Final = 102_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a job reads: bytes per second that keep its machines busy, over all of them, and how much lies there."""

    bytes_per_s: float
    data_bytes: int
    nodes: int

    @property
    def streams(self) -> bool:
        """Whether object storage keeps up."""
        return self.bytes_per_s <= OBJECT_BYTES_PER_S_PER_NODE * self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """A file system as it is sold."""

    kind: str  # fsx-lustre | filestore | managed-lustre
    gib: int
    mb_per_s_per_tib: int  # the tier; 0 where there is one
    fee_key: str

    @property
    def bytes_per_s(self) -> float:
        per_tib = self.mb_per_s_per_tib or FILESTORE_MB_PER_S_PER_TIB
        return self.gib / 1024 * per_tib * MIB_PER_S


def file_system(cloud: str, reads: Reads) -> FileSystem | None:
    """The cheapest file system that holds the data and keeps up; the largest and fastest where none does."""
    if cloud == "aws":
        gib = lustre_gib(reads.data_bytes)
        tiers = [FileSystem(kind="fsx-lustre", gib=gib, mb_per_s_per_tib=t, fee_key=_fsx(t)) for t in LUSTRE_TIERS]
    elif cloud == "azure":
        tiers = [
            FileSystem(
                kind="managed-lustre",
                gib=azure_lustre_gib(reads.data_bytes, tier),
                mb_per_s_per_tib=tier,
                fee_key=f"lustre.{tier}",
            )
            for tier in sorted(AZURE_TIERS)
        ]
    elif cloud == "gcp":
        wanted = reads.bytes_per_s / MIB_PER_S / FILESTORE_MB_PER_S_PER_TIB * 1024 * GIB * (100 - HEADROOM) / 100
        gib = filestore_gib(max(reads.data_bytes, int(wanted)))
        if gib > FILESTORE_LARGEST_GIB:
            return None  # what zonal Filestore does not hold stays in a bucket
        tiers = [FileSystem(kind="filestore", gib=gib, mb_per_s_per_tib=0, fee_key="filestore.zonal")]
    else:
        return None
    return next((tier for tier in tiers if tier.bytes_per_s >= reads.bytes_per_s), tiers[-1])


def _fsx(tier: int) -> str:
    return f"fsx.lustre.persistent2.{tier}"


def lustre_gib(bytes_needed: int) -> int:
    """The smallest size that FSx sells with a tenth to spare: 1.2 TiB, or multiples of 2.4 TiB.

    >>> lustre_gib(10**12), lustre_gib(2 * 10**12), lustre_gib(12 * 10**12)
    (1200, 2400, 14400)
    """
    needed = _needed_gib(bytes_needed)
    return 1200 if needed <= 1200 else -(-needed // 2400) * 2400


def filestore_gib(bytes_needed: int) -> int:
    """The smallest zonal Filestore with a tenth to spare: 1 TiB, steps of 256 GiB, from 10 TiB on of 2.5 TiB.

    >>> filestore_gib(10**11), filestore_gib(2 * 10**12), filestore_gib(12 * 10**12)
    (1024, 2304, 12800)
    """
    needed = _needed_gib(bytes_needed)
    small = max(1024, -(-needed // 256) * 256)
    return small if small < 10_240 else -(-needed // 2560) * 2560


def azure_lustre_gib(bytes_needed: int, tier: int) -> int:
    """The smallest Azure Managed Lustre of a tier with a tenth to spare.

    >>> azure_lustre_gib(10**12, 125), azure_lustre_gib(10**12, 500)
    (16384, 4096)
    """
    smallest, step = AZURE_TIERS[tier]
    needed = -(-_needed_gib(bytes_needed) // 1024)
    return max(smallest, -(-needed // step) * step) * 1024


def _needed_gib(bytes_needed: int) -> int:
    return -(-bytes_needed * 100 // ((100 - HEADROOM) * GIB))
