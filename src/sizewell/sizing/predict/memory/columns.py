"""Many layouts as columns: the formulas of a training step's memory see columns only, one entry per layout.

A prediction of its own is a table of one row, the layout search a table of thousands, so the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict.architecture import expert_layers, params_total, stage_params
from sizewell.sizing.predict.numeric import np
from sizewell.sizing.records.jobs import Checkpointing, Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
else:
    Column = Any
MODES: Mapping[Checkpointing, float] = {"none": 0.0, "selective": 0.5, "full": 1.0}
"""Modes of recomputation as numbers: each keeps no more than those before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layouts:
    """The fields of `Layout` as columns; `shard` counts the devices that ZeRO shards over, resolved."""

    tensor: Column
    pipeline: Column
    virtual_pipeline: Column
    context: Column
    data: Column
    expert: Column
    zero_stage: Column
    shard: Column
    sequence_parallel: Column  # 0 or 1
    micro_batch: Column
    recompute: Column  # of `MODES`
    all_forward: Column | float = 0.0  # 1 where all forward passes come before the first backward one (GPipe)

    @staticmethod
    def of(layouts: Sequence[Layout]) -> Layouts:
        """One row per layout. Context-parallel ranks hold the same weights: ZeRO shards over them too."""
        fields = ("tensor", "pipeline", "virtual_pipeline", "context", "data", "expert", "zero_stage",
                  "sequence_parallel", "micro_batch")  # fmt: skip
        table: dict[str, Any] = {
            name: np.array([getattr(layout, name) for layout in layouts], dtype=np.float64) for name in fields
        }
        ranks = table["data"] * table["context"]
        groups = np.array([layout.shard_group for layout in layouts], dtype=np.float64)
        shard = np.maximum(1.0, np.where(groups > 0, np.minimum(groups, ranks), ranks))
        recompute = np.array([MODES[layout.checkpointing] for layout in layouts])
        all_forward = np.array([float(layout.schedule == "gpipe") for layout in layouts])
        return Layouts(**table, shard=shard, recompute=recompute, all_forward=all_forward)

    @staticmethod
    def of_space(column: Mapping[str, Any]) -> Layouts:
        """The columns of a space of layouts, by their names there."""
        return Layouts(
            tensor=column["tp"],
            pipeline=column["pp"],
            virtual_pipeline=column["vp"],
            context=column["cp"],
            data=column["dp"],
            expert=column["ep"],
            zero_stage=column["zero"],
            shard=column["shard"],
            sequence_parallel=column["sp"],
            micro_batch=column["micro"],
            recompute=column["recompute"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """One pipeline stage of each layout: which, and its layers and parameters before anything else divides them."""

    number: Column
    layers: Column
    with_experts: Column  # how many of the layers
    dense: Column  # parameters, but for those of routed experts
    experts: Column
    last: NDArray[np.bool_]


def fullest_stages(model: Architecture, layouts: Layouts) -> tuple[Stages, ...]:
    """Stages of which one has the highest peak: `peak_stages` of each layout, those with fewer repeat one."""
    sizes, at = np.unique(layouts.pipeline, return_inverse=True)
    facts = [_stage_facts(model, int(size)) for size in sizes]
    most = max(len(some) for some in facts)
    table = np.array([(*some, *[some[-1]] * (most - len(some))) for some in facts])[at]
    names = ("number", "layers", "with_experts", "dense", "experts")
    return tuple(
        Stages(**dict(zip(names, table[:, i].T, strict=True)), last=table[:, i, 0] == layouts.pipeline - 1)
        for i in range(most)
    )


@lru_cache(maxsize=4096)
def _stage_facts(model: Architecture, pipeline: int) -> tuple[tuple[float, ...], ...]:
    """The columns of `Stages` for each stage that may be the fullest of so many."""
    if not model.layers or not model.hidden:
        return ((0.0, 0.0, 0.0, params_total(model) / pipeline, 0.0),)
    rows = []
    for stage in peak_stages(model, pipeline):
        layers = stages(model.layers, pipeline)[stage]
        dense, experts = stage_params(model, layers, first=stage == 0, last=stage == pipeline - 1)
        rows.append(
            (float(stage), float(len(layers)), float(expert_layers(model, layers)), float(dense), float(experts))
        )
    return tuple(rows)


@lru_cache(maxsize=1024)
def stages(layers: int, pipeline: int) -> tuple[range, ...]:
    """Layers of each pipeline stage; where the layers do not divide, the first stages have one more.

    >>> stages(7, 3)
    (range(0, 3), range(3, 5), range(5, 7))
    """
    base, more = divmod(layers, pipeline)
    bounds = [0]
    for stage in range(pipeline):
        bounds.append(bounds[-1] + base + (1 if stage < more else 0))
    return tuple(range(bounds[i], bounds[i + 1]) for i in range(pipeline))


def peak_stages(model: Architecture, pipeline: int) -> tuple[int, ...]:
    """Stages of which one has the highest peak: the first, the last, and those between that hold more than the first.

    Stages that hold as many layers, and as many of them with experts, differ only in how many micro-batches are in
    flight, and the earlier one has more; the first has the embedding too. So stages between matter where the leading
    layers are dense and the rest have experts.

    >>> peak_stages(Architecture(key="x", layers=32), 8)
    (0, 7)
    >>> peak_stages(Architecture(key="x", layers=32, experts=8, dense_layers=3), 8)
    (0, 1, 7)
    """
    kinds: dict[tuple[int, int], int] = {}  # (dense layers, layers with experts): the first stage of that kind
    for stage, layers in enumerate(stages(model.layers, pipeline)[: pipeline - 1]):
        with_experts = expert_layers(model, layers)
        kinds.setdefault((len(layers) - with_experts, with_experts), stage)
    dense, with_experts = next(iter(kinds), (0, 0))
    more = [stage for (d, e), stage in kinds.items() if d > dense or e > with_experts]
    return tuple(sorted({0, pipeline - 1, *more}))
