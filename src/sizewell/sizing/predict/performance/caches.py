"""Caches that all units of an accelerator share: what fits stays there from one kernel to the next.

A fact of the datasheet; an accelerator that is not listed is taken to have none. It is known for whole devices only: a
share of one competes with its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.sizing.catalog.records import Accelerator

_FASTER: Final[Mapping[str, float]] = {"volta": 3.5, "ampere": 4.6, "hopper": 2.7, "ada": 5.0, "cdna3": 3.2}
_OTHERS_FASTER: Final = 3.0  # estimate: between Hopper's and MI300X's
"""Bandwidth of such a cache over that of the memory behind it, by family: V100, A100 and H100 by table 3 of
pmc.ncbi.nlm.nih.gov/articles/PMC10448217, RTX 4090 as measured by chipsandcheese.com, MI300X by its datasheet (both
from memory)."""

# In bytes. L2: NVIDIA's white papers of each architecture (A100 and H100 also in the table above; others from memory);
# Infinity Cache: AMD's CDNA 3 white paper (from memory). Scratchpads that a compiler divides (TPU, Gaudi, Neuron) are
# none: what they save is in what their compiled programs reach.
_BYTES: Final[Mapping[str, float]] = {
    **dict.fromkeys(("v100-16gb", "v100-32gb"), 6e6),
    **dict.fromkeys(("t4", "t4g"), 4e6),
    **dict.fromkeys(("a100-40gb-pcie", "a100-40gb-sxm", "a100-80gb-pcie", "a100-80gb-sxm"), 40e6),
    **dict.fromkeys(("a10", "a10g", "rtx-3090", "rtx-a6000"), 6e6),
    "a30": 24e6,
    "a2": 2e6,
    "l4": 48e6,
    **dict.fromkeys(("l40", "l40s", "rtx-6000-ada"), 96e6),
    "rtx-4080": 64e6,
    "rtx-4090": 72e6,
    **dict.fromkeys(("h100-nvl", "h100-pcie", "h100-sxm", "h100-sxm-96gb", "h800-sxm", "h200-nvl", "h200-sxm"), 50e6),
    **dict.fromkeys(("gh200", "gh200-144gb"), 50e6),
    **dict.fromkeys(("b200", "b300", "gb200", "gb300"), 126e6),
    **dict.fromkeys(("mi300x", "mi325x", "mi350x", "mi355x"), 256e6),
}


def shared_cache_bytes(accelerator: Accelerator) -> float:
    """Bytes that all units of the accelerator share on the chip; 0 where nobody says."""
    return _BYTES.get(accelerator.key, 0.0)


def cache_speedup(accelerator: Accelerator) -> float:
    """How many times the bandwidth of its memory an accelerator's shared cache has."""
    return _FASTER.get(accelerator.family, _OTHERS_FASTER)
