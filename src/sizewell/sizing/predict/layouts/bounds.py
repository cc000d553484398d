"""Lower bounds of memory and time for whole spaces of layouts: cheap, never above what the full formulas say.

What they are worth, in milliseconds of processor time, best of three (2026-11-26). Without a bound the full formulas
answer for every legal layout:

| | both bounds | no time | no memory | neither |
| --- | --- | --- | --- | --- |
| `decide` examples/pretrain.yaml | 43 | 130 | 50 | 149 |
| `decide` examples/petsnap-vlm-finetune.yaml | 119 | 147 | 191 | 184 |
| `decide` examples/petsnap-pretrain-2b.yaml | 142 | 141 | 152 | 128 |
| `decide` examples/petsnap-vlm-qlora.yaml | 83 | 86 | 88 | 74 |
| `search_all` of a 7B model over all single machines | 24 | 58 | 85 | 99 |
| `search_all` of a 405B model up to 16,384 devices | 487 | 1,508 | 12,151 | 12,117 |

Small jobs would hardly notice; the largest would take 25 times as long, so both bounds stay. Every spec of examples/
and stacks/specs/ is decided alike with them and without, but for one figure in one rejection: where no layout can fit,
`LayoutRefusal.need_bytes` is the least of the lower bounds and not of the full formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict.architecture import attention_params, routed_expert_params
from sizewell.sizing.predict.layouts.space import RECOMPUTE, Column, Space
from sizewell.sizing.predict.memory.activations import layer_activations, loss_bytes_per_token
from sizewell.sizing.predict.memory.constants import constants
from sizewell.sizing.predict.memory.states import MEGATRON, recipe
from sizewell.sizing.predict.performance.training_comm import tensor_traffic
from sizewell.sizing.predict.performance.training_compute import head_time, layer_time, local_params
from sizewell.sizing.predict.performance.training_rows import rows
from sizewell.sizing.records.jobs import Layout, TrainingJob

SAFETY = 0.98  # the formulas here share parameters a little differently over stages than the full ones
RADIX = (("tp", 4096, 1), ("cp", 4096, 1), ("ep", 4096, 1), ("micro", 65536, 1), ("recompute", 3, 2), ("sp", 2, 1))
"""Columns that the time of a layer depends on: name, above the largest value, steps per 1."""
KINDS_AT_ONCE = 16
MACHINE = ("rate", "rate16", "attention_rate", "attention_rate_plain", "head_half", "wave", "hbm", "inner", "host",
           "gap", "fast", "domain", "axes", "mesh", "inner_latency")  # fmt: skip


def memory_floor_bytes(job: TrainingJob, legal: Space, facts: Mapping[str, float]) -> Column:
    """Never above what `training_memory` expects: model states, kept activations, logits, allocator, of two stages."""
    column = legal.columns
    tp, pp, cp, ep = (column[name] for name in ("tp", "pp", "cp", "ep"))
    zero, micro, again = (column[name] for name in ("zero", "micro", "recompute"))
    layers = job.architecture.layers
    if not layers:
        dense = local_params(rows({**facts, **_no_fabric(), **column}))[0]
        return np.asarray(SAFETY * _states(job, ((dense, 0.0 * tp),), column)[0][0])
    model, every = job.architecture, max(1, job.architecture.moe_every)
    most, fewest = np.ceil(layers / pp), np.floor(layers / pp)  # layers of the first stage and of the last
    per_layer = _least_dense_params(model) / tp
    routed = routed_expert_params(model) / np.where(ep > 1, ep, tp) if model.experts else 0.0 * tp
    of_first = np.maximum(0.0, np.floor((most - model.dense_layers) / every)) * routed
    of_last = np.floor(np.minimum(fewest, layers - model.dense_layers) / every) * routed
    (held_first, gradients_first), (held, gradients) = _states(
        job, ((most * per_layer, of_first), (fewest * per_layer, of_last)), column
    )
    if job.activation_offload:
        return SAFETY * np.maximum(held, held_first)
    buffers = _gathered(job, per_layer, model.vocab * model.hidden / tp, column)
    batches = np.maximum(1.0, job.global_batch / (column["dp"] * micro))
    tokens = micro * job.sequence_length / cp
    at = tp.astype(np.intp)
    sizes = np.flatnonzero(np.bincount(at))
    kept = _kept(job, sizes, at, again) * tokens * (1.0 / cp if job.attention == "eager" else 1.0)
    logits = loss_bytes_per_token(job) / tp
    caching = 1.0 if job.framework == "jax" else 1.0 + constants().caching
    vp = column["vp"]
    in_flight = np.minimum(pp, batches) * np.where((vp > 1) & (pp > 1), 1 + (pp - 1) / (pp * vp), 1.0)
    stay = (batches > 1) | (zero >= 3) | (pp > 1) | (job.engine in MEGATRON)
    stays = 0.0 if job.optimizer_in_backward else np.where(stay, 1.0, 0.0)
    late = 0.0 if job.optimizer_in_backward else 1.0
    first = held_first + np.maximum(late * gradients_first, caching * kept * most * in_flight + stays * gradients_first)
    last = held + np.maximum(late * gradients, caching * (kept * fewest + logits * tokens) + stays * gradients)
    return np.asarray(SAFETY * (np.maximum(first, last) + caching * buffers))


def runtime_bytes(legal: Space, runtime: str) -> Column:
    """Context and communicators, as `training_memory` counts them."""
    fitted = constants()
    context = fitted.context_bytes.get(runtime, fitted.context_bytes["other"])
    if runtime == "tpu":
        return np.full(len(legal), context)
    groups = sum((legal.columns[name] > 1).astype(float) for name in ("tp", "pp", "cp", "dp"))
    return np.asarray(context + fitted.collective_bytes * groups)


def _gathered(job: TrainingJob, layer: Column, table: Column, column: Mapping[str, Column]) -> Column:
    """Layers and tables that FSDP has gathered at once, and gradients not yet scattered."""
    if job.framework == "jax":
        return 0.0 * layer
    per, frozen = recipe(job, Layout(zero_stage=3)), job.method in ("lora", "qlora")
    unit = per.weights if frozen and per.weights < 2 else 2.0
    waiting = 0.0 if frozen else per.gradients * np.maximum(layer, table)
    sharded = (column["zero"] >= 3) & (column["dp"] * column["cp"] > 1)
    return np.asarray(np.where(sharded, 2 * unit * layer + 4.0 * table + waiting, 0.0))


def _least_dense_params(model: Architecture) -> int:
    """Parameters of a layer that every device of its stage holds, of the lighter kind of layer."""
    matrices = 3 if model.gated else 2
    blocks = (
        [matrices * model.hidden * model.ffn]
        if model.ffn and (model.dense_layers or model.moe_every > 1 or not model.experts)
        else []
    )
    if model.experts:
        blocks.append(matrices * model.hidden * model.expert_ffn * model.shared_experts)
    return attention_params(model) + min(blocks, default=0)


def _expert_group(column: Mapping[str, Column]) -> Column:
    """Devices that ZeRO divides the state of a routed expert over, at most."""
    tp, ep = column["tp"], column["ep"]
    return np.maximum(1.0, column["shard"] * tp / np.where(ep > 1, ep, tp))


def _states(
    job: TrainingJob, stages: Sequence[tuple[Column, Column]], column: Mapping[str, Column]
) -> list[tuple[Column, Column]]:
    """(weights and optimizer state, gradients) per device, for (dense, routed expert) parameters of each stage."""
    zero, shard = column["zero"], column["shard"]
    whole = zero < 3
    if job.method in ("lora", "qlora"):
        smallest, group = min(2.0, recipe(job, Layout()).weights), np.where(whole, 1.0, shard)
        of_experts = np.where(whole, 1.0, _expert_group(column))
        return [(smallest * (dense / group + experts / of_experts), np.zeros(len(zero))) for dense, experts in stages]
    recipes = [recipe(job, Layout(zero_stage=stage)) for stage in range(4)]
    stage = zero.astype(np.intp)
    weights = np.array([per.weights for per in recipes])[stage]
    optimizer = np.array([0.0 if job.cpu_offload else per.optimizer for per in recipes])[stage]
    gradients = np.array([0.0 if job.cpu_offload else per.gradients for per in recipes])[stage]
    groups = [shard]
    if job.architecture.experts:
        groups.append(_expert_group(column))
    per_param = [
        (
            weights / np.where(whole, 1.0, group) + optimizer / np.where(zero >= 1, group, 1.0),
            np.where(zero >= 2, group, 1.0),
        )
        for group in groups
    ]
    by_stage = []
    for parts in stages:
        held, waiting = np.zeros(len(zero)), np.zeros(len(zero))
        for params, (state, group) in zip(parts, per_param, strict=False):  # without experts the first part is all
            held += params * state
            waiting += params * gradients / group
        by_stage.append((held, waiting))
    return by_stage


def _kept(job: TrainingJob, sizes: NDArray[np.intp], at: NDArray[np.intp], again: Column) -> Column:
    """Bytes per token and layer that stay for the backward pass; of dense and expert layers the lighter kind."""
    by_size = np.zeros((sizes[-1] + 1, 3))
    by_size[sizes] = [_kept_by_mode(job, int(size)) for size in sizes]
    if job.checkpointing is not None:
        return np.asarray(by_size[at, int(2 * dict(RECOMPUTE)[job.checkpointing])])
    return np.asarray(by_size.ravel()[3 * at + (2 * again).astype(np.intp)])


@lru_cache(maxsize=1024)
def _kept_by_mode(job: TrainingJob, tensor: int) -> tuple[float, float, float]:
    layout = Layout(tensor=tensor, sequence_parallel=tensor > 1)
    kinds = [layer_activations(job, layout, with_experts=e) for e in {False, job.architecture.experts > 0}]
    return (
        min(kind.kept for kind in kinds),
        min(kind.selective for kind in kinds),
        min(kind.boundary for kind in kinds),
    )


def _no_fabric() -> dict[str, float]:
    names = ("inner", "host", "outer", "inner_latency", "outer_latency", "fast", "domain", "axes", "mesh")
    return dict.fromkeys(names, 1.0)


class ComputeBound:
    """Seconds of compute and tensor-parallel traffic alone, worked out once per kind of machine and shape of layer."""

    def __init__(
        self,
        job: Mapping[str, float],
        machines: Sequence[Mapping[str, float]],
        spaces: Sequence[Space],
        k: Mapping[str, float],
    ) -> None:
        self._job = job
        self._index: dict[int, NDArray[np.intp]] = {}
        self._kinds: dict[tuple[float, ...], int] = {}
        for machine in machines:
            self._kinds.setdefault(tuple(machine[name] for name in MACHINE), len(self._kinds))
        codes = [_code(space) for space in spaces]
        if not any(len(code) for code in codes):
            return
        every, inverse = np.unique(np.concatenate(codes), return_inverse=True)
        start = 0
        for space in spaces:
            self._index[id(space)] = inverse[start : start + len(space)]
            start += len(space)
        shapes = {name: values[None, :] for name, values in _decoded(every).items()}
        kinds = np.array(list(self._kinds))
        self._layer, self._head = np.empty((2, len(kinds), len(every)))
        for start in range(0, len(kinds), KINDS_AT_ONCE):
            some = slice(start, start + KINDS_AT_ONCE)
            machine_columns: dict[str, object] = {name: kinds[some, i, None] for i, name in enumerate(MACHINE)}
            table = rows(
                {**job, **shapes, **machine_columns, "zero": 0.0, "shard": 1.0, "dp": 1.0, "pp": 1.0, "vp": 1.0,
                 "outer": 1e15, "outer_latency": 0.0}
            )  # fmt: skip
            layer = layer_time(table, k)
            hides = np.where(table.whole > 0, k["overlap.tensor.xla"], k["overlap.tensor"])
            traffic = tensor_traffic(table) * (1 - hides)
            self._layer[some] = layer.linear + layer.attention + layer.memory + layer.recompute + traffic
            self._head[some] = head_time(table, k)

    def seconds(self, machines: Sequence[Mapping[str, float]], space: Space) -> Column:
        """Lower bounds of the step: one row per machine, one column per layout of the space."""
        column = space.columns
        every = [self._kinds[tuple(machine[name] for name in MACHINE)] for machine in machines]
        kinds = list(dict.fromkeys(every))
        at = self._index[id(space)]
        layer, head = self._layer[kinds].take(at, axis=1), self._head[kinds].take(at, axis=1)
        pp, vp = column["pp"], column["vp"]
        batches = np.maximum(1.0, self._job["global_batch"] / (column["dp"] * column["micro"]))
        share = self._job["layers"] / pp
        longest = np.ceil(share)
        slow = np.maximum(np.where(share == longest, longest, longest - 1.0) * layer + head, longest * layer)
        rest = np.maximum(0.0, self._job["layers"] * layer + head - slow)
        seconds = np.asarray(batches * slow + np.where(pp > 1, rest / vp, 0.0))
        return seconds if len(kinds) == len(every) else seconds[[kinds.index(kind) for kind in every]]


def _code(space: Space) -> NDArray[np.int64]:
    """One integer per row that says all of `RADIX`."""
    code = np.zeros(len(space), dtype=np.int64)
    for name, base, times in RADIX:
        code = code * base + (space.columns[name] * times).astype(np.int64)
    return code


def _decoded(code: NDArray[np.int64]) -> dict[str, Column]:
    """The columns of `RADIX` that the integers stand for."""
    columns: dict[str, Column] = {}
    for name, base, times in reversed(RADIX):
        columns[name] = (code % base) / times
        code = code // base
    return columns
