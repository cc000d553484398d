"""Caches that all units of an accelerator share: what fits stays there from one kernel to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.sizing.catalog.records import Accelerator

_FASTER: Final[Mapping[str, float]] = {"volta": 3.5, "ampere": 4.6, "hopper": 2.7, "ada": 5.0, "cdna3": 3.2}
_OTHERS_FASTER: Final = 3.0  # estimate: between Hopper's and MI300X's
"""Bandwidth of such a cache over that of the memory behind it, by family: V100, A100 and H100 by table 3 of
pmc.ncbi.nlm.nih.gov/articles/PMC10448217, RTX 4090 as measured by chipsandcheese.com, MI300X by its datasheet (both
from memory)."""


def shared_cache_bytes(accelerator: Accelerator) -> float:
    """Bytes that all units of the accelerator share on the chip; 0 where the catalog does not say.

    A datasheet's figure (L2: NVIDIA's white paper of each architecture, Infinity Cache: AMD's of CDNA 3), of whole
    devices alone: a share of one competes with its neighbours. Only those of A100 and H100 were seen in a source, the
    table above; the others are from memory.
    """
    return float(accelerator.shared_cache_bytes or 0)


def cache_speedup(accelerator: Accelerator) -> float:
    """How many times the bandwidth of its memory an accelerator's shared cache has."""
    return _FASTER.get(accelerator.family, _OTHERS_FASTER)
