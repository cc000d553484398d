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

from sizing import calibration
from sizing.jobs import Cluster, Layout, MemoryEstimate, TrainingEstimate, TrainingJob
from sizing.layout_bounds import ComputeBound
from sizing.layout_hunt import Hunt, Index, LayoutRefusal, Predictions, Region
from sizing.layout_space import Column, Space, space
from sizing.performance.training import estimates, step_s
from sizing.performance.training_rows import cluster_facts, job_facts, rows

__all__ = ["Answer", "LayoutRefusal", "Plan", "matching", "search", "search_all"]

CHUNK = 8192  # rows timed at once, about
FIRST_LOOK = 32  # layouts of each cluster that are timed before the bound prunes the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A layout with what it needs and how long its step takes."""

    layout: Layout
    memory: MemoryEstimate
    time: TrainingEstimate


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
    memory = Predictions(job, at_high_edge=at_high_edge)
    machines: dict[tuple[object, ...], dict[str, float]] = {}
    alike = [_alike(cluster) for cluster in clusters]
    different = dict(zip(alike, clusters, strict=True))
    members: dict[tuple[int, int, int], list[Cluster]] = {}  # of each space of layouts
    for cluster in different.values():
        key = (cluster.devices, max(1, cluster.scale_up), max(cluster.scale_up, cluster.per_node))
        members.setdefault(key, []).append(cluster)
    hunt_of: dict[int, Hunt] = {}
    could: list[tuple[Region, list[Hunt]]] = []  # where something may fit
    for key, some in members.items():
        legal = space(job, *key)
        legal = matching(legal, known) if known else legal
        region = Region(job, legal, facts, memory, at_high_edge=at_high_edge)
        hunt_of |= {id(cluster): Hunt(cluster, region, best) for cluster in some}
        if chances := region.narrow([hunt_of[id(cluster)] for cluster in some]):
            could.append((region, chances))
    for _, chances in could:
        for hunt in chances:
            hunt.facts = _machine(hunt.cluster, job, k, machines)
    bound = ComputeBound(
        facts, [hunt.facts for _, chances in could for hunt in chances], [region.legal for region, _ in could], k
    )
    for region, chances in could:
        region.bound(chances, bound)
    hunts = [hunt_of[id(cluster)] for cluster in different.values()]
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


def _batches(asked: Iterable[tuple[Hunt, Index]]) -> Iterator[list[tuple[Hunt, Index]]]:
    """Some thousand rows at a time: they stay in the cache."""
    batch: list[tuple[Hunt, Index]] = []
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


def _columns(asked: Sequence[tuple[Hunt, Index]]) -> dict[str, Column]:
    """Layouts and machines of the rows that are asked for, one hunt after the other."""
    counts = [len(index) for _, index in asked]
    names, facts = asked[0][0].region.legal.columns, asked[0][0].facts
    layout = np.concatenate([hunt.region.table.take(index, axis=1) for hunt, index in asked], axis=1)
    machine = np.repeat(np.array([tuple(hunt.facts.values()) for hunt, _ in asked]).T, counts, axis=1)
    return {**dict(zip(names, layout, strict=True)), **dict(zip(facts, machine, strict=True))}


def _answers(
    job: TrainingJob, facts: Mapping[str, float], hunts: Sequence[Hunt], k: Mapping[str, float]
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


def matching(legal: Space, known: Mapping[str, float]) -> Space:
    """The part of a space whose columns have the known values."""
    keep = np.ones(len(legal), dtype=bool)
    for name, value in known.items():
        keep &= legal.columns[name] == value
    return legal.take(keep)
