"""Which layout a job should have on a cluster: exhaustive over what is legal, best and next best, or a refusal.

Every legal layout is evaluated, as columns; those whose model state alone is larger than the device are left out before
(a lower bound, so nothing that fits is lost). The rest is visited in the order of time until `best` of them fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sizing import calibration
from sizing.jobs import Cluster, Layout, MemoryEstimate, TrainingEstimate, TrainingJob
from sizing.layout_space import Column, Space, space
from sizing.memory import training_memory, usable_bytes
from sizing.performance.training import step_s, training_time
from sizing.performance.training_compute import local_params
from sizing.performance.training_rows import Rows, cluster_facts, job_facts, rows

GIB = 2**30
LIGHTER = {"none": ("none",), "selective": ("none", "selective"), "full": ("none", "selective", "full")}
"""By mode of recomputation: the modes that keep at least as much."""


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


def search(
    job: TrainingJob,
    cluster: Cluster,
    *,
    best: int = 2,
    known: Mapping[str, float] | None = None,
    at_high_edge: bool = True,
) -> tuple[Plan, ...] | LayoutRefusal:
    """The `best` fastest layouts that fit, fastest first; or why there is none.

    `known` fixes columns of the space by name ("tp", "micro", ...). A layout fits when the upper edge of its memory
    band does (`at_high_edge=False`: when the expected value does, for runs that are known to have fitted). Ties go to the simpler layout (less tensor, pipeline and context parallelism, lower ZeRO stage), so the
    answer does not depend on the order of anything.
    """
    fast, domain = max(1, cluster.scale_up), max(cluster.scale_up, cluster.per_node)
    legal = matching(space(job, cluster.devices, fast, domain), known or {})
    if not len(legal):
        return LayoutRefusal(cause="layout", reason=_why_none(job, cluster))
    usable = usable_bytes(cluster.accelerator)
    k = calibration.values("training")
    table = rows({**job_facts(job), **cluster_facts(cluster, job.precision, k), **legal.columns})
    floor = np.broadcast_to(state_floor_bytes(job, table), (len(legal),))
    seconds = np.broadcast_to(step_s(table, k), (len(legal),))
    found: list[Plan] = []
    least = int(floor.min())
    refused = _Refused()
    for row in ranked(legal, seconds, np.flatnonzero(floor <= usable)):
        layout = legal.layout(int(row))
        if refused.implies(layout):
            continue
        memory = training_memory(job, layout, cluster.accelerator)
        need = memory.high_bytes if at_high_edge else memory.total_bytes
        if need > usable:
            least = need if refused.empty else min(least, need)
            refused.add(layout)
            continue
        found.append(Plan(layout=layout, memory=memory, time=training_time(job, layout, cluster)))
        if len(found) == best:
            break
    if found:
        return tuple(found)
    return LayoutRefusal(
        cause="memory",
        reason=f"needs {least / GIB:.1f} GiB per device in the leanest of {len(legal)} layouts on {cluster.devices} x "
        f"{cluster.accelerator.name}, {usable / GIB:.1f} GiB usable",
        need_bytes=least,
        usable_bytes=usable,
        layouts=len(legal),
    )


class _Refused:
    """Layouts that do not fit, and what follows: nor does the same with a larger micro-batch or less recomputation."""

    def __init__(self) -> None:
        self._least: dict[tuple[object, ...], int] = {}

    @property
    def empty(self) -> bool:
        return not self._least

    @staticmethod
    def _key(layout: Layout, checkpointing: str) -> tuple[object, ...]:
        return (replace(layout, micro_batch=1, checkpointing="none"), checkpointing)

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


def ranked(legal: Space, seconds: Column, among: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows by time, ties by simplicity."""
    keys = tuple(
        legal.columns[name][among] for name in ("recompute", "shard", "vp", "ep", "micro", "zero", "cp", "pp", "tp")
    )
    order: NDArray[np.intp] = among[np.lexsort((*keys, seconds[among]))]
    return order


def state_floor_bytes(job: TrainingJob, table: Rows) -> np.ndarray:
    """A lower bound of memory per device: weights, and gradients and optimizer state of what is trained."""
    momenta = 8.0 if job.optimizer in ("adam", "adamw", "lamb") and not job.cpu_offload else 0.0
    floor: Column | float = 0.0
    for params, group in zip(local_params(table), (table.shard, np.maximum(1.0, table.shard / table.ep)), strict=True):
        trained = params * table.trained_share
        gradients = 0.0 if job.optimizer_in_backward else 2.0
        floor = (
            floor
            + params * table.weight_bytes / np.where(table.zero >= 3, group, 1.0)
            + trained * gradients / np.where(table.zero >= 2, group, 1.0)
            + trained * momenta / np.where(table.zero >= 1, group, 1.0)
        )
    return np.asarray(0.9 * floor)


def _why_none(job: TrainingJob, cluster: Cluster) -> str:
    return (
        f"{cluster.devices} devices divide neither into replicas for a batch of {job.global_batch} samples nor into tensor "
        f"({cluster.scale_up} share a fast link), pipeline ({job.architecture.layers} layers) and context parallel groups"
    )
