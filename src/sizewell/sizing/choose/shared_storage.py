"""Whether a job reads its data from object storage or from a file system beside it, and how large and fast that is.

Object storage is the rule: what lies in it is billed by the month, and needs no machine. A file system stands (and
bills its whole size) around the clock, so it is taken only where streaming from objects would keep accelerators
waiting: where the job reads more per machine than `OBJECT_BYTES_PER_S_PER_NODE`. docs/howto/managed-or-own.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.units import GIB

MIB_PER_S: Final = 10**6
# What one machine reads from object storage without tuning: data loaders with some tens of connections reach about
# 1 GB/s; half of it is what a job can count on beside checkpoints and many small objects. Estimate.
OBJECT_BYTES_PER_S_PER_NODE: Final = 500e6
HEADROOM: Final = 10  # percent that stays free: a file system slows down when it is nearly full


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


def file_system(cloud: str, reads: Reads) -> FileSystem | None:
    """The cheapest file system that holds the data and keeps up; the largest and fastest where none does.

    None where a cloud has none, or none so large: the data stay in the bucket.
    """
    if cloud not in CLOUDS:
        return None
    files = CLOUDS[cloud].files
    for tier in files.tiers:
        needed_bytes = reads.data_bytes
        if files.sized_by_speed:
            tib = reads.bytes_per_s / MIB_PER_S / tier.reads_mb_per_s_per_tib
            needed_bytes = max(needed_bytes, int(tib * 1024 * GIB * (100 - HEADROOM) / 100))
        gib = tier.gib(needed_gib(needed_bytes))
        if gib / 1024 * tier.reads_mb_per_s_per_tib * MIB_PER_S >= reads.bytes_per_s:
            break
    if files.largest_gib is not None and gib > files.largest_gib:
        return None
    return FileSystem(kind=files.kind, gib=gib, mb_per_s_per_tib=tier.mb_per_s_per_tib, fee_key=tier.fee)


def needed_gib(bytes_needed: int) -> int:
    """GiB that hold so many bytes with a tenth to spare.

    >>> needed_gib(10**12)
    1035
    """
    return -(-bytes_needed * 100 // ((100 - HEADROOM) * GIB))
