"""The search on one cluster, and what clusters that have the same legal layouts share: lower bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.predict.layouts.bounds import ComputeBound, memory_floor_bytes, runtime_bytes
from sizewell.sizing.predict.layouts.space import Column, Space, context_sizes, pipeline_sizes, tensor_sizes
from sizewell.sizing.predict.memory import Runtimes, edges, usable_bytes
from sizewell.sizing.records.jobs import Cluster, Layout, TrainingJob
from sizewell.sizing.units import GIB, distinct_figures

BLOCK = 1 << 18  # layouts times clusters bounded at once
TIES = ("tp", "pp", "cp", "zero", "micro", "ep", "vp", "recompute")  # what decides between layouts of one time

Index = NDArray[np.intp]

ANY_TIME = float(np.finfo(float).max)  # of a machine that finishes at all


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutRefusal:
    """Why no layout serves, with numbers: `cause` is "layout" (none is legal) or "memory" (none fits)."""

    cause: str
    reason: str
    need_bytes: int = 0  # the least that any legal layout needs per device
    usable_bytes: int = 0
    layouts: int = 0  # how many were legal


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A layout that fits a cluster, and the time of its step."""

    cluster: Cluster
    layout: Layout
    step_s: float


@dataclass(frozen=True, slots=True)
class Device:
    """What an accelerator has for the work, and what its runtime makes of an expected peak."""

    runtime: str
    usable: int  # bytes
    edge: float  # factor on the expected peak: the upper edge of the band, where that counts
    adds: Runtimes

    @staticmethod
    def of(job: TrainingJob, accelerator: Accelerator, *, at_high_edge: bool) -> Device:
        edge = edges(job, accelerator)[1] if at_high_edge else 1.0
        return Device(accelerator.runtime, usable_bytes(accelerator), edge, Runtimes.of(accelerator.runtime))


class Region:
    """A space with what is the same for every cluster that has it: lower bounds of memory and time."""

    def __init__(self, job: TrainingJob, legal: Space, facts: Mapping[str, float]) -> None:
        self.job, self.legal = job, legal
        self.count = len(legal)  # of legal layouts, those that cannot fit too
        self._floor = memory_floor_bytes(job, legal, facts) if len(legal) else np.zeros(0)
        self._floors: dict[str, tuple[Column, int]] = {}  # by runtime: with what it adds, and the least of it

    def narrow(self, hunts: Sequence[Hunt]) -> list[Hunt]:
        """Leave out the layouts that fit on none of the clusters by the lower bound; the hunts that have any left."""
        chances = [hunt for hunt in hunts if hunt.could_fit()]
        room: dict[str, int] = {}
        for hunt in chances:
            room[hunt.device.runtime] = max(hunt.device.usable, room.get(hunt.device.runtime, 0))
        keep = np.zeros(self.count, dtype=bool)
        for runtime, usable in room.items():
            keep |= self._floors[runtime][0] <= usable
        rows = np.flatnonzero(keep)
        self.legal = self.legal.take(rows)
        self._floor = self._floor[:0]
        self._floors = {runtime: (self._floors[runtime][0][rows], self._floors[runtime][1]) for runtime in room}
        self.simplicity = _simplicity(self.legal)
        self.table = np.stack(tuple(self.legal.columns.values()))
        return chances

    def bound(self, hunts: Sequence[Hunt], bound: ComputeBound) -> None:
        """Give each hunt its lower bounds of time."""
        block = max(1, BLOCK // max(1, len(self.legal)))
        for start in range(0, len(hunts), block):
            some = hunts[start : start + block]
            seconds = bound.seconds([hunt.facts for hunt in some], self.legal)
            for hunt, row in zip(some, seconds, strict=True):
                hunt.start(row)

    def floor_on(self, device: Device) -> tuple[Column, int]:
        """The lower bound with what the runtime adds, at the edge that counts, and the least of it."""
        if device.runtime not in self._floors:
            floor = 0.9999 * device.edge * (self._floor + runtime_bytes(self.legal, device.runtime))
            self._floors[device.runtime] = (floor, int(floor.min()))
        return self._floors[device.runtime]


class Hunt:
    """The search on one cluster: what was timed, what fits, whether anything untimed could still be faster."""

    def __init__(self, cluster: Cluster, region: Region, best: int, device: Device) -> None:
        self.cluster, self.region, self.best, self.device = cluster, region, best, device
        self.facts: dict[str, float] = {}  # of the cluster, where anything may fit
        self.found: list[tuple[int, float]] = []  # rows and seconds, fastest first
        self.open = False
        self._least = 0  # bytes that any row needs, by the lower bound
        self._leanest = math.inf  # bytes that one of the rows that were asked for needs
        self._limit = ANY_TIME  # no layout with a higher bound can be among the best
        self._timed: Index = np.zeros(0, dtype=np.intp)  # rows that fit
        self._seconds: Column = np.zeros(0)  # of each of them
        self._rows: Index = np.zeros(0, dtype=np.intp)  # that may fit and are not timed yet
        self._bound: Column = np.zeros(0)

    def could_fit(self) -> bool:
        """Whether any layout may fit, by the lower bound of memory."""
        if not self.region.count:
            return False
        _, self._least = self.region.floor_on(self.device)
        return self._least <= self.device.usable

    def start(self, bound: Column) -> None:
        floor, _ = self.region.floor_on(self.device)
        chances = (floor <= self.device.usable) & (bound <= self._limit)  # some machines never finish
        self._rows = np.flatnonzero(chances)
        self._bound = bound[self._rows]
        self.open = True

    def ask(self, few: int) -> Index:
        """The `few` untimed rows with the lowest bounds, of those that could still be among the best."""
        rows, bound = self._rows, self._bound
        if len(self.found) == self.best:
            keep = bound <= self._limit
            rows, bound = rows[keep], bound[keep]
        if len(rows) <= few:
            self._rows, self._bound = rows[:0], bound[:0]
            return rows
        order = np.argpartition(bound, few)
        self._rows, self._bound = rows[order[few:]], bound[order[few:]]
        return rows[order[:few]]

    def tell(self, index: Index, seconds: Column, needs: Column) -> None:
        """Take in times and memory of the rows that were asked for."""
        fits = needs <= self.device.usable
        self._leanest = min(self._leanest, float(needs.min(initial=math.inf)))
        timed = self._timed = np.concatenate((self._timed, index[fits]))
        self._seconds = np.concatenate((self._seconds, seconds[fits]))
        order = np.lexsort((self.region.simplicity[timed], self._seconds))[: self.best]
        self.found = list(zip(timed[order].tolist(), self._seconds[order].tolist(), strict=True))
        if len(self.found) == self.best:
            self._limit = self.found[-1][1]
        # "<=", not "<": a layout with the same time may be the simpler one, and ties go to the simpler.
        self.open = bool(len(self._bound)) and bool((self._bound <= self._limit).any())

    def answer(self) -> tuple[Found, ...] | LayoutRefusal:
        """The fastest layouts that fit, or why there is none."""
        layout = self.region.legal.layout
        fastest = tuple(Found(self.cluster, layout(row), seconds) for row, seconds in self.found)
        return fastest or self._refusal()

    def _refusal(self) -> LayoutRefusal:
        legal = self.region.count
        if not legal:
            return LayoutRefusal(cause="layout", reason=_why_none(self.region.job, self.cluster))
        least = max(self._least, int(self._leanest)) if math.isfinite(self._leanest) else self._least
        needs, has = distinct_figures(least / GIB, self.device.usable / GIB, 1)
        point = f"{least / self.device.edge / GIB:.1f}"
        edge = f" at the upper edge of the band ({point} predicted)" if self.device.edge > 1 else ""
        return LayoutRefusal(
            cause="memory",
            reason=(
                f"needs {needs} GiB per device{edge} in the smallest of {legal} layouts on "
                f"{self.cluster.devices} x {self.cluster.accelerator.name}, {has} GiB usable"
            ),
            need_bytes=least,
            usable_bytes=self.device.usable,
            layouts=legal,
        )


def _simplicity(legal: Space) -> NDArray[np.int64]:
    """One integer per row that grows with each factor, the first of `TIES` before the others."""
    code = np.zeros(len(legal), dtype=np.int64)
    for name in TIES:
        values = 2 * legal.columns[name]  # recomputation counts in halves
        code = code * (int(values.max(initial=0.0)) + 1) + values.astype(np.int64)
    return code


def _divides_batches_alone(job: TrainingJob, cluster: Cluster) -> bool:
    """Whether what runs the job divides nothing but batches over devices."""
    devices, fast = cluster.devices, max(1, cluster.scale_up)
    sizes = (tensor_sizes(job, devices, fast), pipeline_sizes(job, devices), context_sizes(job, devices))
    return all(size == (1,) for size in sizes)


def _why_none(job: TrainingJob, cluster: Cluster) -> str:
    if _divides_batches_alone(job, cluster):
        own = f"{job.engine or 'fsdp'} gives each device samples of its own"
        return f"{cluster.devices} devices do not divide a batch of {job.global_batch} samples, and {own}"
    return (
        f"{cluster.devices} devices divide neither into replicas for a batch of {job.global_batch} samples nor into "
        f"tensor ({cluster.scale_up} share a fast link), pipeline ({job.architecture.layers} layers) and context "
        "parallel groups"
    )
