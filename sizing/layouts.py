"""Which layout a job should have on a cluster: exhaustive over what is legal, best and next best, or a refusal.

Nothing legal is skipped that could win. Layouts whose weights, optimizer state and activations alone are larger than
the device are left out, and those whose compute alone takes longer than a layout that is known to fit; both are lower
bounds of the same formulas. What remains is timed as columns, many clusters at once, and visited in the order of time
until `best` of them fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing import calibration
from sizing.jobs import Cluster, Layout, MemoryEstimate, TrainingEstimate, TrainingJob
from sizing.layout_bounds import ComputeBound, memory_floor_bytes, runtime_bytes
from sizing.layout_space import Column, Space, space
from sizing.memory import training_memory, usable_bytes
from sizing.performance.training import estimates, step_s
from sizing.performance.training_rows import cluster_facts, job_facts, rows

GIB = 2**30
CHUNK = 8192  # rows timed at once, about
BLOCK = 1 << 18  # layouts times clusters bounded at once
FIRST_LOOK = 32  # layouts of each cluster that are timed before the bound prunes the rest
LIGHTER = {"none": ("none",), "selective": ("none", "selective"), "full": ("none", "selective", "full")}
"""By mode of recomputation: the modes that keep at least as much."""

TIES = ("tp", "pp", "cp", "zero", "micro", "ep", "vp", "recompute")  # what decides between layouts of one time

Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A layout with what it needs and how long its step takes."""

    layout: Layout
    memory: MemoryEstimate
    time: TrainingEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutRefusal:
    """Why no layout serves, with numbers: `cause` is "layout" (none is legal) or "memory" (none fits)."""

    cause: str
    reason: str
    need_bytes: int = 0  # the least that any legal layout needs per device
    usable_bytes: int = 0
    layouts: int = 0  # how many were legal


Answer = tuple[Plan, ...] | LayoutRefusal


def search(
    job: TrainingJob,
    cluster: Cluster,
    *,
    best: int = 2,
    known: Mapping[str, float] | None = None,
    at_high_edge: bool = True,
) -> Answer:
    """The `best` fastest layouts that fit, fastest first; or why there is none.

    `known` fixes columns of the space by name ("tp", "micro", ...). A layout fits when the upper edge of its memory
    band does (`at_high_edge=False`: when the expected value does, for runs that are known to have fitted). Ties go to
    the simpler layout (less tensor, pipeline and context parallelism, lower ZeRO stage), so the answer does not depend
    on the order of anything.
    """
    return search_all(job, (cluster,), best=best, known=known, at_high_edge=at_high_edge)[0]


def search_all(
    job: TrainingJob,
    clusters: Sequence[Cluster],
    *,
    best: int = 2,
    known: Mapping[str, float] | None = None,
    at_high_edge: bool = True,
) -> tuple[Answer, ...]:
    """`search` for many clusters at once, in their order; much faster than one after the other."""
    k = calibration.values("training")
    facts = job_facts(job)
    regions: dict[tuple[int, int, int], _Region] = {}
    hunts: list[_Hunt] = []
    memory: dict[tuple[Layout, str], MemoryEstimate] = {}
    machines: dict[tuple[object, ...], dict[str, float]] = {}
    alike = [_alike(cluster) for cluster in clusters]
    different = dict(zip(alike, clusters, strict=True))
    for cluster in different.values():
        key = (cluster.devices, max(1, cluster.scale_up), max(cluster.scale_up, cluster.per_node))
        if key not in regions:
            legal = space(job, *key)
            legal = matching(legal, known) if known else legal
            regions[key] = _Region(job, legal, facts, memory, at_high_edge=at_high_edge)
        hunts.append(_Hunt(cluster, regions[key], _machine(cluster, job, k, machines), best))
        regions[key].hunts.append(hunts[-1])
    bound = ComputeBound(facts, [hunt.facts for hunt in hunts], [region.legal for region in regions.values()], k)
    for region in regions.values():
        region.bound(bound)
        region.hunts.clear()  # they know their region: together they would wait for the garbage collector
    few = FIRST_LOOK
    while asking := [hunt for hunt in hunts if hunt.open]:
        for asked in _batches((hunt, hunt.ask(few)) for hunt in asking):
            seconds = np.asarray(step_s(rows({**facts, **_columns(asked)}), k))
            start = 0
            for hunt, index in asked:
                hunt.tell(index, seconds[start : start + len(index)])
                start += len(index)
        few *= 16
    answers = dict(zip(different, _answers(job, facts, hunts, k), strict=True))
    return tuple(answers[key] for key in alike)


def _alike(cluster: Cluster) -> tuple[object, ...]:
    """What answers follow from: clusters inside one domain do not differ by their network."""
    outside = cluster.devices > max(cluster.scale_up, cluster.per_node)
    network = (cluster.network_bytes_per_s, cluster.fabric) if outside else ()
    shape = (cluster.per_node, cluster.nodes, cluster.scale_up, cluster.link_bytes_per_s)
    return (id(cluster.accelerator), *shape, cluster.host_vcpus, cluster.storage_bytes_per_s, *network)


def _batches(asked: Iterable[tuple[_Hunt, Index]]) -> Iterator[list[tuple[_Hunt, Index]]]:
    """Some thousand rows at a time: they stay in the cache."""
    batch: list[tuple[_Hunt, Index]] = []
    count = 0
    for hunt, index in asked:
        batch.append((hunt, index))
        count += len(index)
        if count >= CHUNK:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def _machine(
    cluster: Cluster, job: TrainingJob, k: Mapping[str, float], known: dict[tuple[object, ...], dict[str, float]]
) -> dict[str, float]:
    """`cluster_facts`, worked out once for clusters that differ in their number of nodes alone."""
    acc = cluster.accelerator
    link, network = cluster.link_bytes_per_s, cluster.network_bytes_per_s
    hosts = (cluster.host_vcpus, cluster.storage_bytes_per_s)
    key = (id(acc), cluster.per_node, cluster.scale_up, link, network, cluster.fabric, *hosts)
    if key not in known:
        known[key] = cluster_facts(cluster, job.precision, k)
    return {**known[key], "devices": float(cluster.devices), "nodes": float(cluster.nodes)}


def _columns(asked: Sequence[tuple[_Hunt, Index]]) -> dict[str, Column]:
    """Layouts and machines of the rows that are asked for, one hunt after the other."""
    counts = [len(index) for _, index in asked]
    names = asked[0][0].region.legal.columns
    layout = {name: np.concatenate([hunt.region.legal.columns[name][index] for hunt, index in asked]) for name in names}
    machine = {name: np.repeat([hunt.facts[name] for hunt, _ in asked], counts) for name in asked[0][0].facts}
    return {**layout, **machine}


def _answers(
    job: TrainingJob, facts: Mapping[str, float], hunts: Sequence[_Hunt], k: Mapping[str, float]
) -> tuple[Answer, ...]:
    chosen = [(hunt, np.array(hunt.found, dtype=np.intp)) for hunt in hunts if hunt.found]
    timed: list[TrainingEstimate] = []
    if chosen:
        owners = [hunt.cluster for hunt, index in chosen for _ in index]
        timed = estimates(job, owners, {**facts, **_columns(chosen)}, k)
    answers: list[Answer] = []
    start = 0
    for hunt in hunts:
        if not hunt.found:
            answers.append(hunt.refusal())
            continue
        answers.append(
            tuple(
                Plan(
                    layout=hunt.region.layout(row), memory=hunt.region.memory(row, hunt.cluster), time=timed[start + i]
                )
                for i, row in enumerate(hunt.found)
            )
        )
        start += len(hunt.found)
    return tuple(answers)


class _Region:
    """A space with what is the same for every cluster that has it: lower bounds and predictions of memory."""

    def __init__(
        self,
        job: TrainingJob,
        legal: Space,
        facts: Mapping[str, float],
        memory: dict[tuple[Layout, str], MemoryEstimate],
        *,
        at_high_edge: bool,
    ) -> None:
        self.job, self.legal, self.at_high_edge = job, legal, at_high_edge
        self._floor = memory_floor_bytes(job, legal, facts) if len(legal) else np.zeros(0)
        self.simplicity = _simplicity(legal)
        self.hunts: list[_Hunt] = []
        self._layouts: dict[int, Layout] = {}
        self._memory = memory  # of the whole search: other regions have the same layouts
        self._floors: dict[str, tuple[Column, int]] = {}

    def bound(self, bound: ComputeBound) -> None:
        """Give each hunt its lower bounds; infinite where the layout cannot fit."""
        open_hunts = [hunt for hunt in self.hunts if hunt.could_fit()]
        if open_hunts:
            block = max(1, BLOCK // len(self.legal))
            for start in range(0, len(open_hunts), block):
                some = open_hunts[start : start + block]
                seconds = bound.seconds([hunt.facts for hunt in some], self.legal)
                for hunt, row in zip(some, seconds, strict=True):
                    hunt.start(row)

    def layout(self, row: int) -> Layout:
        if row not in self._layouts:
            self._layouts[row] = self.legal.layout(row)
        return self._layouts[row]

    def memory(self, row: int, cluster: Cluster) -> MemoryEstimate:
        """Memory of a row; devices of one runtime need the same."""
        key = (self.layout(row), cluster.accelerator.runtime)
        if key not in self._memory:
            self._memory[key] = training_memory(self.job, key[0], cluster.accelerator)
        return self._memory[key]

    def need(self, row: int, cluster: Cluster) -> int:
        memory = self.memory(row, cluster)
        return memory.high_bytes if self.at_high_edge else memory.total_bytes

    def floor_on(self, cluster: Cluster) -> tuple[Column, int]:
        """The lower bound with what the runtime adds, at the edge that counts, and the least of it, by runtime."""
        runtime = cluster.accelerator.runtime
        if runtime not in self._floors:
            memory = self.memory(0, cluster)
            edge = memory.high_bytes / max(1, memory.total_bytes) if self.at_high_edge else 1.0
            floor = 0.9999 * edge * (self._floor + runtime_bytes(self.legal, runtime))
            self._floors[runtime] = (floor, int(floor.min()))
        return self._floors[runtime]


class _Hunt:
    """The search on one cluster: what was timed, what fits, whether anything untimed could still be faster."""

    def __init__(self, cluster: Cluster, region: _Region, facts: dict[str, float], best: int) -> None:
        self.cluster, self.region, self.facts, self.best = cluster, region, facts, best
        self.usable = usable_bytes(cluster.accelerator)
        self.found: list[int] = []  # rows, fastest first
        self.least = 0
        self.open = False
        self._timed: dict[int, float] = {}
        self._rows: Index = np.zeros(0, dtype=np.intp)  # that may fit and are not timed yet
        self._bound: Column = np.zeros(0)

    def could_fit(self) -> bool:
        """Whether any layout may fit, by the lower bound of memory."""
        if not len(self.region.legal):
            return False
        _, self.least = self.region.floor_on(self.cluster)
        return self.least <= self.usable

    def start(self, bound: Column) -> None:
        floor, _ = self.region.floor_on(self.cluster)
        self._rows = np.flatnonzero(floor <= self.usable)
        self._bound = bound[self._rows]
        self.open = True

    def ask(self, few: int) -> Index:
        """The `few` untimed rows with the lowest bounds, of those that could still be among the best."""
        keep = self._bound <= self._limit()
        rows, bound = self._rows[keep], self._bound[keep]
        if len(rows) <= few:
            self._rows, self._bound = rows[:0], bound[:0]
            return rows
        order = np.argpartition(bound, few)
        self._rows, self._bound = rows[order[few:]], bound[order[few:]]
        return rows[order[:few]]

    def _limit(self) -> float:
        """No layout with a higher bound can be among the best."""
        if len(self.found) < self.best:
            return float(np.finfo(float).max)
        return self._timed[self.found[-1]]

    def tell(self, index: Index, seconds: Column) -> None:
        """Take in the times of the rows that were asked for, and see which of all timed rows fit."""
        self._timed.update(zip(index.tolist(), seconds.tolist(), strict=True))
        region, refused = self.region, _Refused()
        timed = np.fromiter(self._timed, dtype=np.intp, count=len(self._timed))
        order = np.lexsort((region.simplicity[timed], np.fromiter(self._timed.values(), float, len(timed))))
        self.found, lean = [], 0
        for row in timed[order].tolist():
            layout = region.layout(row)
            if refused.implies(layout):
                continue
            need = region.need(row, self.cluster)
            if need > self.usable:
                lean = min(lean or need, need)
                refused.add(layout)
                continue
            self.found.append(row)
            if len(self.found) == self.best:
                break
        self.least = max(self.least, lean)
        self.open = bool((self._bound <= self._limit()).any())

    def refusal(self) -> LayoutRefusal:
        legal = len(self.region.legal)
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
        self._least: dict[tuple[object, ...], int] = {}

    @staticmethod
    def _key(layout: Layout, checkpointing: str) -> tuple[object, ...]:
        return (
            layout.tensor, layout.pipeline, layout.virtual_pipeline, layout.context, layout.data, layout.expert,
            layout.zero_stage, layout.shard_group, checkpointing,
        )  # fmt: skip

    def add(self, layout: Layout) -> None:
        for lighter in LIGHTER[layout.checkpointing]:
            key = self._key(layout, lighter)
            self._least[key] = min(layout.micro_batch, self._least.get(key, layout.micro_batch))

    def implies(self, layout: Layout) -> bool:
        least = self._least.get(self._key(layout, layout.checkpointing))
        return least is not None and layout.micro_batch >= least


def matching(legal: Space, known: Mapping[str, float]) -> Space:
    """The part of a space whose columns have the known values."""
    keep = np.ones(len(legal), dtype=bool)
    for name, value in known.items():
        keep &= legal.columns[name] == value
    return legal.take(keep)


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
