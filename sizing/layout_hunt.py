"""The search on one cluster, and what clusters that have the same legal layouts share: bounds, predicted memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing.catalog.records import Accelerator
from sizing.jobs import Cluster, Layout, MemoryEstimate, TrainingJob
from sizing.layout_bounds import ComputeBound, memory_floor_bytes, runtime_bytes
from sizing.layout_space import RECOMPUTE, Column, Space
from sizing.memory import edges, peak_bytes, training_memory, usable_bytes, work_items

GIB = 2**30
BLOCK = 1 << 18  # layouts times clusters bounded at once
MODES = tuple(name for name, _ in RECOMPUTE)
"""Of recomputation: each keeps no more than those before it."""

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


class Predictions:
    """Predictions of memory; what the work itself needs is worked out once for all devices."""

    def __init__(self, job: TrainingJob, *, at_high_edge: bool) -> None:
        self._job, self._at_high_edge = job, at_high_edge
        self._work: dict[Layout, tuple[Mapping[str, float], ...]] = {}
        self._edges: dict[str, float] = {}

    def work(self, layout: Layout) -> tuple[Mapping[str, float], ...]:
        if (known := self._work.get(layout)) is None:
            known = self._work[layout] = work_items(self._job, layout)
        return known

    def of(self, layout: Layout, accelerator: Accelerator) -> MemoryEstimate:
        return training_memory(self._job, layout, accelerator, work=self.work(layout))

    def need(self, layout: Layout, accelerator: Accelerator) -> int:
        """Bytes at the edge of the band that counts."""
        total = peak_bytes(layout, accelerator, self.work(layout))
        if not self._at_high_edge:
            return total
        if accelerator.runtime not in self._edges:
            self._edges[accelerator.runtime] = edges(self._job, accelerator)[1]
        return round(total * self._edges[accelerator.runtime])


class Region:
    """A space with what is the same for every cluster that has it: lower bounds and predictions of memory."""

    def __init__(
        self,
        job: TrainingJob,
        legal: Space,
        facts: Mapping[str, float],
        memory: Predictions,
        *,
        at_high_edge: bool,
    ) -> None:
        self.job, self.legal, self.at_high_edge = job, legal, at_high_edge
        self.count = len(legal)  # of legal layouts, those that cannot fit too
        self._floor = memory_floor_bytes(job, legal, facts) if len(legal) else np.zeros(0)
        self._layouts: dict[int, Layout] = {}
        self._memory = memory  # of the whole search: other regions have the same layouts
        self._floors: dict[str, tuple[Column, int]] = {}
        self._needs: dict[str, dict[int, int]] = {}
        self._steps: dict[int, tuple[int, int, int]] = {}
        self._families: dict[tuple[int, ...], int] = {}

    def narrow(self, hunts: Sequence[Hunt]) -> list[Hunt]:
        """Leave out the layouts that fit on none of the clusters by the lower bound; the hunts that have any left."""
        chances = [hunt for hunt in hunts if hunt.could_fit()]
        room: dict[str, int] = {}
        for hunt in chances:
            room[hunt.runtime] = max(hunt.usable, room.get(hunt.runtime, 0))
        keep = np.zeros(self.count, dtype=bool)
        for runtime, usable in room.items():
            keep |= self._floors[runtime][0] <= usable
        rows = np.flatnonzero(keep)
        self.legal = self.legal.take(rows)
        self._floor = self._floor[:0]
        self._floors = {runtime: (self._floors[runtime][0][rows], self._floors[runtime][1]) for runtime in room}
        self._layouts.clear()
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

    def layout(self, row: int) -> Layout:
        if row not in self._layouts:
            self._layouts[row] = self.legal.layout(row)
        return self._layouts[row]

    def memory(self, row: int, cluster: Cluster) -> MemoryEstimate:
        return self._memory.of(self.layout(row), cluster.accelerator)

    def needs(self, runtime: str) -> dict[int, int]:
        """What rows are known to need on devices of a runtime; `need` adds to it."""
        return self._needs.setdefault(runtime, {})

    def need(self, row: int, cluster: Cluster) -> int:
        return self._memory.need(self.layout(row), cluster.accelerator)

    def step(self, row: int) -> tuple[int, int, int]:
        """(family, micro-batch, mode of recomputation): a family is a layout but for the other two."""
        if (known := self._steps.get(row)) is None:
            one = self.layout(row)
            family = (
                one.tensor, one.pipeline, one.virtual_pipeline, one.context, one.data, one.expert, one.zero_stage,
                one.shard_group,
            )  # fmt: skip
            number = self._families.setdefault(family, len(self._families))
            known = self._steps[row] = (number, one.micro_batch, MODES.index(one.checkpointing))
        return known

    def floor_on(self, cluster: Cluster) -> tuple[Column, int]:
        """The lower bound with what the runtime adds, at the edge that counts, and the least of it, by runtime."""
        runtime = cluster.accelerator.runtime
        if runtime not in self._floors:
            memory = self.memory(0, cluster)
            edge = memory.high_bytes / max(1, memory.total_bytes) if self.at_high_edge else 1.0
            floor = 0.9999 * edge * (self._floor + runtime_bytes(self.legal, runtime))
            self._floors[runtime] = (floor, int(floor.min()))
        return self._floors[runtime]


class Hunt:
    """The search on one cluster: what was timed, what fits, whether anything untimed could still be faster."""

    def __init__(self, cluster: Cluster, region: Region, best: int) -> None:
        self.cluster, self.region, self.best = cluster, region, best
        self.runtime = cluster.accelerator.runtime
        self.facts: dict[str, float] = {}  # of the cluster, where anything may fit
        self.usable = usable_bytes(cluster.accelerator)
        self.found: list[int] = []  # rows, fastest first
        self.least = 0
        self.open = False
        self._limit = ANY_TIME  # no layout with a higher bound can be among the best
        self._timed: Index = np.zeros(0, dtype=np.intp)  # rows
        self._seconds: Column = np.zeros(0)  # of each of them
        self._rows: Index = np.zeros(0, dtype=np.intp)  # that may fit and are not timed yet
        self._bound: Column = np.zeros(0)

    def could_fit(self) -> bool:
        """Whether any layout may fit, by the lower bound of memory."""
        if not self.region.count:
            return False
        _, self.least = self.region.floor_on(self.cluster)
        return self.least <= self.usable

    def start(self, bound: Column) -> None:
        floor, _ = self.region.floor_on(self.cluster)
        self._rows = np.flatnonzero((floor <= self.usable) & (bound <= self._limit))  # some machines never finish
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

    def tell(self, index: Index, seconds: Column) -> None:
        """Take in the times of the rows that were asked for, and see which of all timed rows fit."""
        region, refused, needs = self.region, _Refused(), self.region.needs(self.runtime)
        timed = self._timed = np.concatenate((self._timed, index))
        self._seconds = np.concatenate((self._seconds, seconds))
        order = np.lexsort((region.simplicity[timed], self._seconds))
        self.found, lean = [], 0
        for place, row in zip(order.tolist(), timed[order].tolist(), strict=True):
            step = region.step(row)
            if refused.implies(*step):
                continue
            if (need := needs.get(row)) is None:
                need = needs[row] = region.need(row, self.cluster)
            if need > self.usable:
                lean = min(lean or need, need)
                refused.add(*step)
                continue
            self.found.append(row)
            if len(self.found) == self.best:
                self._limit = float(self._seconds[place])
                break
        self.least = max(self.least, lean)
        self.open = bool(len(self._bound)) and bool((self._bound <= self._limit).any())

    def refusal(self) -> LayoutRefusal:
        legal = self.region.count
        if not legal:
            return LayoutRefusal(cause="layout", reason=_why_none(self.region.job, self.cluster))
        return LayoutRefusal(
            cause="memory",
            reason=f"needs {self.least / GIB:.1f} GiB per device in the leanest of {legal} layouts on "
            f"{self.cluster.devices} x {self.cluster.accelerator.name}, {self.usable / GIB:.1f} GiB usable",
            need_bytes=self.least,
            usable_bytes=self.usable,
            layouts=legal,
        )


class _Refused:
    """Layouts that do not fit, and what follows: nor does the same with a larger micro-batch or less recomputation."""

    def __init__(self) -> None:
        self._least: dict[int, int] = {}  # micro-batch, by family and mode of recomputation

    def add(self, family: int, micro_batch: int, mode: int) -> None:
        first = family * len(MODES)
        for key in range(first, first + mode + 1):
            self._least[key] = min(micro_batch, self._least.get(key, micro_batch))

    def implies(self, family: int, micro_batch: int, mode: int) -> bool:
        least = self._least.get(family * len(MODES) + mode)
        return least is not None and micro_batch >= least


def _simplicity(legal: Space) -> NDArray[np.int64]:
    """One integer per row that grows with each factor, the first of `TIES` before the others."""
    code = np.zeros(len(legal), dtype=np.int64)
    for name in TIES:
        values = 2 * legal.columns[name]  # recomputation counts in halves
        code = code * (int(values.max(initial=0.0)) + 1) + values.astype(np.int64)
    return code


def _why_none(job: TrainingJob, cluster: Cluster) -> str:
    return (
        f"{cluster.devices} devices divide neither into replicas for a batch of {job.global_batch} samples nor into "
        f"tensor ({cluster.scale_up} share a fast link), pipeline ({job.architecture.layers} layers) and context "
        "parallel groups"
    )
