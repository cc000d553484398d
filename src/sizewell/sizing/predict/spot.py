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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
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
_CELLS: Final = 400  # of a distribution
_FINE: Final = 100  # cells of one interruption, where there are many
_MANY: Final = 100.0  # interruptions, whose sum is near a normal distribution


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimes:
    """How long a run takes, as a distribution: the shortest time told apart, and cells of equal width from it on."""

    least_s: float
    cell_s: float
    shares: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        """That of the formula above."""
        return self.least_s + self.cell_s * math.fsum(cell * share for cell, share in enumerate(self.shares))

    def longer_than(self, seconds: float) -> float:
        """The share of runs that take longer."""
        first = max(0, math.floor((seconds - self.least_s) / self.cell_s + 0.5) + 1) if seconds >= self.least_s else 0
        return math.fsum(self.shares[first:])

    def within(self, share: float) -> float:
        """The seconds in which a share of all runs is done."""
        so_far = 0.0
        for cell, each in enumerate(self.shares):
            so_far += each
            if so_far >= share:
                return self.least_s + cell * self.cell_s
        return self.least_s + len(self.shares) * self.cell_s


def run_times(broken: Interruptions, work_s: float) -> RunTimes:
    """The distribution of what `work_s` seconds of work take, whose mean is the expected time above.

    A stretch between two checkpoints is begun again until it is not interrupted, so the number of interruptions is a
    negative binomial; each costs what was done since the checkpoint and the restart, which is begun again likewise.
    Their sum comes from Panjer's recursion (ASTIN Bulletin 12, 1981).

    >>> times = run_times(interruptions(work_s=360_000, nodes=1, devices=8, bytes_each=10**11, spot=True), 360_000)
    >>> [round(times.within(share) / 3600) for share in (0.05, 0.5, 0.95)], round(times.longer_than(110 * 3600), 3)
    ([103, 106, 109], 0.021)
    """
    between, restart = broken.mtbi_s, broken.restart_s
    whole = broken.interval_s + broken.checkpoint_s
    least = work_s * whole / broken.interval_s
    lost = 1 - math.exp(-whole / between)  # the share of stretches that are interrupted
    stretches = work_s / broken.interval_s
    count = stretches * lost / (1 - lost)
    each = (work_s * broken.stretch - least) / count
    cell = (whole + restart) / _FINE
    if count <= _MANY:
        spread = math.sqrt(count / (1 - lost)) * (each + whole)
        cell = (count * each + 6 * spread + 3 * (whole + restart)) / _CELLS
    begun = _compound(1.0, 1 - math.exp(-restart / between), _until(restart, between, cell))
    severity = _together(_together(_at(restart, cell), begun), _until(whole, between, cell))
    if count <= _MANY:
        return RunTimes(least_s=least, cell_s=cell, shares=tuple(_compound(stretches, lost, severity)))
    variance = count * math.fsum((cell * at - each) ** 2 * share for at, share in enumerate(severity))
    sums = NormalDist(count * each, math.sqrt(variance + count / (1 - lost) * each**2))  # of so many that it is near
    low = max(0.0, sums.mean - 6 * sums.stdev)
    cell = (sums.mean + 6 * sums.stdev - low) / _CELLS
    below = [0.0, *(sums.cdf(low + (at + 0.5) * cell) for at in range(_CELLS - 1)), 1.0]
    return RunTimes(least_s=least + low, cell_s=cell, shares=tuple(b - a for a, b in pairwise(below)))


def _at(seconds: float, cell_s: float) -> list[float]:
    """A time that is always the same, by the two cells that it is between, of the same mean."""
    cell = int(seconds / cell_s)
    part = seconds / cell_s - cell
    return [*[0.0] * cell, 1 - part, part]


def _until(end_s: float, between_s: float, cell_s: float) -> list[float]:
    """When an interruption comes that comes before `end_s`, by the two cells that each moment is between."""
    shares = [0.0] * (int(end_s / cell_s) + 2)
    whole = 1 - math.exp(-end_s / between_s)
    for cell in range(len(shares) - 1):
        start, end = cell * cell_s, min(end_s, (cell + 1) * cell_s)
        before, after = math.exp(-start / between_s), math.exp(-end / between_s)
        later = (before * (start + between_s) - after * (end + between_s) - start * (before - after)) / cell_s
        shares[cell] += (before - after - later) / whole
        shares[cell + 1] += later / whole
    return shares


def _together(one: Sequence[float], other: Sequence[float]) -> list[float]:
    sums = [0.0] * min(_CELLS, len(one) + len(other) - 1)
    for a, share in enumerate(one[: len(sums)]):
        if share:
            for b, more in enumerate(other[: len(sums) - a]):
                sums[a + b] += share * more
    return sums


def _compound(times: float, lost: float, severity: Sequence[float]) -> list[float]:
    """The sum of as many of `severity` as fail before `times` succeed, where a share `lost` fails."""
    sums = [1.0]  # in proportion: what is left over at the end of the cells is below a millionth
    for total in range(1, _CELLS):
        value = math.fsum(
            (lost + (times - 1) * lost * cell / total) * severity[cell] * sums[total - cell]
            for cell in range(1, min(total, len(severity) - 1) + 1)
        ) / (1 - lost * severity[0])  # fmt: skip
        sums.append(value)
        if value > 1e200:  # before it is more than a float holds
            sums = [each * 1e-200 for each in sums]
    whole = math.fsum(sums)
    return [each / whole for each in sums]
