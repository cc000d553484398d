"""Which layout a job should have on a cluster: exhaustive over what is legal, best and next best, or a refusal.

Nothing legal is skipped that could win. Layouts whose weights, optimizer state and activations alone are larger than
the device are left out, and those whose compute alone takes longer than a layout that is known to fit; both are lower
bounds of the same formulas. What remains is timed as columns, many clusters at once, and visited in the order of time
until `best` of them fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sizewell import logs
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.layouts.bounds import ComputeBound
from sizewell.sizing.predict.layouts.shared_bounds import Device, Found, Hunt, Index, LayoutRefusal, Region
from sizewell.sizing.predict.layouts.space import Column, Space, space
from sizewell.sizing.predict.memory import Layouts, Runtimes, peak_bytes, training_memories
from sizewell.sizing.predict.performance.training import estimates, step_s
from sizewell.sizing.predict.performance.training_rows import cluster_facts, job_facts, layout_facts, rows
from sizewell.sizing.records.jobs import Cluster, Layout, MemoryEstimate, TrainingEstimate, TrainingJob

__all__ = ["Answer", "Found", "LayoutRefusal", "Plan", "find_all", "matching", "plans", "search", "search_all"]

CHUNK = 8192  # rows timed at once, about
FIRST_LOOK = 32  # layouts of each cluster that are timed before the bound prunes the rest
SMALL = 2048  # rows that are timed at once in any case: as many take little longer than one


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A layout with what it needs and how long its step takes, itemised."""

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
    answers = find_all(job, clusters, best=best, known=known, at_high_edge=at_high_edge)
    different = {id(some): some for some in answers if not isinstance(some, LayoutRefusal)}
    every = iter(plans(job, [fit for some in different.values() for fit in some]))
    planned = {key: tuple(itertools.islice(every, len(some))) for key, some in different.items()}
    return tuple(some if isinstance(some, LayoutRefusal) else planned[id(some)] for some in answers)


def plans(job: TrainingJob, fits: Sequence[Found]) -> list[Plan]:
    """Memory and time of what was found, itemised."""
    if not fits:
        return []
    k = calibration.values("training")
    clusters, layouts = [fit.cluster for fit in fits], [fit.layout for fit in fits]
    needed = training_memories(job, layouts, [cluster.accelerator for cluster in clusters])
    machines: dict[tuple[object, ...], dict[str, float]] = {}
    facts = [
        {**layout_facts(layout), **_machine(cluster, job, k, machines)}
        for layout, cluster in zip(layouts, clusters, strict=True)
    ]
    columns = zip(facts[0], np.array([tuple(row.values()) for row in facts]).T, strict=True)
    timed = estimates(job, clusters, {**job_facts(job), **dict(columns)}, k)
    return [
        Plan(layout=layout, memory=memory, time=time)
        for layout, memory, time in zip(layouts, needed, timed, strict=True)
    ]


def find_all(
    job: TrainingJob,
    clusters: Sequence[Cluster],
    *,
    best: int = 2,
    known: Mapping[str, float] | None = None,
    at_high_edge: bool = True,
) -> tuple[tuple[Found, ...] | LayoutRefusal, ...]:
    """The layouts that `search_all` answers with, before they are itemised."""
    k = calibration.values("training")
    facts = job_facts(job)
    devices = {
        id(accelerator): Device.of(job, accelerator, at_high_edge=at_high_edge)
        for accelerator in {id(c.accelerator): c.accelerator for c in clusters}.values()
    }
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
        region = Region(job, legal, facts)
        hunt_of |= {id(c): Hunt(c, region, best, devices[id(c.accelerator)]) for c in some}
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
    # In rounds that grow: the first few timings of each cluster usually prune nearly all others by their bounds, and
    # where they do not, large rounds keep the number of passes over the columns small.
    few, timed = FIRST_LOOK, 0
    while asking := [hunt for hunt in hunts if hunt.open]:
        each = max(few, SMALL // len(asking))
        for asked in _batches((hunt, hunt.ask(each)) for hunt in asking):
            columns = _columns(asked)
            seconds = np.asarray(step_s(rows({**facts, **columns}), k))
            needs = _needs(job, asked, columns)
            start = 0
            for hunt, index in asked:
                part = slice(start, start + len(index))
                hunt.tell(index, seconds[part], needs[part])
                start += len(index)
            timed += start
        few *= 16
    legal_layouts = sum(hunt.region.count for hunt in hunts)
    logs.detail(__name__, "%d clusters, %d legal layouts, %d of them timed", len(hunts), legal_layouts, timed)
    answers = {key: hunt.answer() for key, hunt in zip(different, hunts, strict=True)}
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


def _needs(job: TrainingJob, asked: Sequence[tuple[Hunt, Index]], columns: Mapping[str, Column]) -> Column:
    """Bytes of each row at the edge of the band that counts."""
    counts = [len(index) for _, index in asked]
    of_device = [(h.device.adds.context_bytes, h.device.adds.collective_bytes, h.device.edge) for h, _ in asked]
    context, collective, edge = np.repeat(np.array(of_device).T, counts, axis=1)
    adds = Runtimes(context_bytes=context, collective_bytes=collective)
    return np.asarray(np.rint(peak_bytes(job, Layouts.of_space(columns), adds) * edge))


def matching(legal: Space, known: Mapping[str, float]) -> Space:
    """The part of a space whose columns have the known values."""
    keep = np.ones(len(legal), dtype=bool)
    for name, value in known.items():
        keep &= legal.columns[name] == value
    return legal.take(keep)
