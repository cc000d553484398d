"""Spot: how often to write a checkpoint, and what a run really takes and costs when it is interrupted.

Young (1974) and Daly (2006): with a checkpoint that takes d seconds and interruptions every M seconds on average, the
interval that loses least is about sqrt(2 d M); Daly's second-order form of it is used. The expected wall time of T
seconds of work, checkpoints of d every t seconds and a restart of R, with exponential interruptions, is (Daly, eq. 20)

    M e^(R/M) (e^((t + d)/M) - 1) T / t

Interruption rates are published by no provider as a rate per hour. What stands here is an estimate by kind of machine,
from the providers' monthly interruption bands and published studies of spot clusters; it is said in the assumptions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

# Mean hours between interruptions of one machine: estimates, in the order of the vendor's advisor. Its bands are shares
# of instances reclaimed in a month, of every age; a machine that runs for days fares worse.
SPOT_MTBI_H: Final = {"<5%": 240.0, "5-10%": 120.0, "10-15%": 72.0, "15-20%": 48.0, ">20%": 24.0}
SPOT_MTBI_UNKNOWN_H: Final = {"large": 24.0, "small": 72.0}  # machines of 8 accelerators; the rest
# One unexpected failure in about 50,000 GPU-hours: 419 in 54 days on 16,384 H100 (Llama 3 report, arXiv 2407.21783,
# table 5), where more than 90 % of the time went into training.
FAILURE_DEVICE_HOURS: Final = 50_000.0
RESTART_S: Final = 600.0  # until it is noticed and a new machine has image and container, by itself: estimate
# Time lost where people restart: 4,096 Trainium (HLAT, arXiv 2404.10630; 1.2 % with automatic restarts), OPT-175B on
# 992 A100 (chronicles and logbook). Both as collected on glennklockwood.com/garden/job-reliability, 2026-11-27.
LOST_BY_HAND: Final = (0.22, 0.41)
CHECKPOINT_BYTES_PER_S_PER_NODE: Final = 1e9  # to object storage, sharded over the nodes: estimate
INTERVAL_MIN_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptions:
    """What interruptions make of a run."""

    mtbi_s: float  # of the whole gang of machines
    checkpoint_s: float  # to write one
    restart_s: float
    interval_s: float  # between checkpoints
    stretch: float  # wall time / work
    expected: float  # number of interruptions in the run

    @property
    def goodput(self) -> float:
        """Share of the run's wall time that goes into steps that count."""
        return 1 / self.stretch


def checkpoint_bytes(method: str, params: float, trained: float, optimizer: str) -> int:
    """A resumable checkpoint: 16-bit weights of what is trained, 32-bit master copy and moments; for LoRA the adapters.

    >>> checkpoint_bytes("full", 7e9, 7e9, "adamw")
    98000000000
    """
    state = {"adamw-8bit": 4 + 2, "adafactor": 4, "sgd": 4, "lion": 8, "muon": 8}.get(optimizer, 12)
    kept = trained if method in ("lora", "qlora") else params
    return int(kept * (2 + state))


def reclaimed_every_h(*, accelerators: int, advisor: str = "") -> float:
    """Hours that one spot machine lasts on average: by the advisor's band where there is one, else by size."""
    return SPOT_MTBI_H.get(advisor) or SPOT_MTBI_UNKNOWN_H["large" if accelerators >= 8 else "small"]


def mtbi_s(*, nodes: int, devices: int, spot: bool, advisor: str = "") -> float:
    """Mean seconds between interruptions of a gang: any machine that goes stops all of them.

    >>> round(mtbi_s(nodes=4, devices=32, spot=True, advisor=">20%") / 3600, 1)
    6.0
    """
    failures_per_h = devices / FAILURE_DEVICE_HOURS
    last_h = reclaimed_every_h(accelerators=devices // max(1, nodes), advisor=advisor)
    return 3600.0 / (failures_per_h + (nodes / last_h if spot else 0.0))


def best_interval_s(checkpoint_s: float, between_s: float) -> float:
    """Daly's interval between checkpoints, never shorter than a minute.

    >>> round(best_interval_s(60, 86400))
    3180
    """
    if checkpoint_s >= 2 * between_s:
        return between_s
    ratio = math.sqrt(checkpoint_s / (2 * between_s))
    daly = math.sqrt(2 * checkpoint_s * between_s) * (1 + ratio / 3 + ratio * ratio / 9) - checkpoint_s
    return max(INTERVAL_MIN_S, daly)


def interruptions(
    *,
    work_s: float,
    nodes: int,
    devices: int,
    bytes_each: int,
    spot: bool,
    advisor: str = "",
    interval_s: float | None = None,
) -> Interruptions:
    """What a run of `work_s` seconds becomes; `interval_s` None: the best one."""
    between = mtbi_s(nodes=nodes, devices=devices, spot=spot, advisor=advisor)
    write = max(1.0, bytes_each / (CHECKPOINT_BYTES_PER_S_PER_NODE * nodes))
    restart = RESTART_S + write
    interval = interval_s if interval_s is not None else best_interval_s(write, between)
    interval = min(interval, max(work_s, INTERVAL_MIN_S))
    stretch = _stretch(interval, write, restart, between)
    return Interruptions(
        mtbi_s=between,
        checkpoint_s=write,
        restart_s=restart,
        interval_s=interval,
        stretch=stretch,
        expected=work_s * stretch / between,
    )


def _stretch(interval_s: float, checkpoint_s: float, restart_s: float, between_s: float) -> float:
    """Wall time over work; infinite where nothing is ever finished between two interruptions.

    >>> round(_stretch(3600, 60, 600, 86400), 3)
    1.046
    """
    exponent = (interval_s + checkpoint_s) / between_s
    if exponent > 50 or restart_s / between_s > 50:
        return math.inf
    return between_s * math.exp(restart_s / between_s) * (math.exp(exponent) - 1) / interval_s
