"""Machines without accelerators: what of a machine a pod may have, and its processor as the device that computes.

A machine type is a share of a socket: of its memory bandwidth it is counted with its share of the cores, which is what
remains while the neighbours are busy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Final

from sizewell.sizing.catalog.records import Accelerator, Processor, Shape
from sizewell.sizing.units import GIB

RUNTIME: Final = "cpu"
CPU_SHARE, MEMORY_SHARE = 0.85, 0.8  # of a machine, that its pods may have; the rest is the system's (estimate)
# Of small machines the system keeps more than that. Karpenter counts 7.5 % of what is sold as lost to the machine
# itself (its setting vm-memory-overhead-percent). Of the rest GKE keeps most of the three clouds: these shares of the
# first bytes, the next and so on (cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes).
LOST: Final = 0.075
KEPT: Final = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (math.inf, 0.02))  # (GiB, share of them)
DAEMONS: Final = GIB  # of the system's pods on every machine, and the threshold of eviction (estimate)


def room(memory_bytes: int) -> float:
    """Bytes of a machine's memory that its pods may have.

    >>> [round(room(gib * GIB) / GIB, 1) for gib in (16, 32, 64, 2048)]
    [11.2, 25.0, 51.2, 1638.4]
    """
    left, kept = float(memory_bytes), float(DAEMONS)
    for gib, part in KEPT:
        kept += part * min(gib * GIB, left)
        left -= min(gib * GIB, left)
    return min(memory_bytes * MEMORY_SHARE, memory_bytes * (1 - LOST) - kept)


def pod_cpus(vcpus: int) -> int:
    """VCPUs of a machine that its pods may have.

    >>> [pod_cpus(vcpus) for vcpus in (2, 4, 16)]
    [1, 3, 13]
    """
    return max(1, int(vcpus * CPU_SHARE))


def device(shape: Shape, processors: Iterable[Processor]) -> Accelerator | None:
    """The processor of a machine type as one device; None where it is not known, or the machine's size is not."""
    chip = next(
        (p for p in processors if p.cloud == shape.cloud and re.fullmatch(p.pattern, shape.instance_type)), None
    )
    if chip is None or not shape.vcpus or not shape.memory_bytes:
        return None
    key = f"{chip.name}, {shape.vcpus} vCPU, {shape.memory_bytes / GIB:g} GiB"
    share = shape.vcpus / (chip.cores * chip.threads_per_core)
    cores = min(pod_cpus(shape.vcpus), shape.vcpus / chip.threads_per_core)  # two threads share a core's vector units
    return part_of(chip, key=key, cores=cores, share=share, memory_bytes=int(room(shape.memory_bytes)))


def part_of(chip: Processor, *, key: str, cores: float, share: float, memory_bytes: int) -> Accelerator:
    """Some cores of a processor, and a share of its memory bandwidth, as one device."""
    return Accelerator(
        key=key,
        vendor=chip.name.split()[0].lower(),
        name=chip.name,
        family=RUNTIME,
        memory_bytes=memory_bytes,
        memory_bytes_per_s=chip.memory_bytes_per_s * share,
        shared_cache_bytes=None,
        flop_per_s={name: cores * chip.clock_hz * each for name, each in chip.flop_per_cycle.items()},
        link="",
        link_bytes_per_s=None,
        scale_up_max=1,
        tdp_w=None,
        year=None,
        purchase_usd=None,
        frameworks=("pytorch", "jax", "tensorflow"),
        runtime=RUNTIME,
        processes_per_device=1,
        matrix_width=None,
        exponentials_per_clock=None,
        no_builds="",
        aliases=(),
        note="",
        source=chip.source,
        checked=chip.checked,
        confidence=chip.confidence,
    )
