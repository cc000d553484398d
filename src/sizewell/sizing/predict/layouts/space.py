"""Every layout that a job may legally have on so many devices, as columns of numbers.

Legal means: tensor parallelism inside the fast domain and dividing heads, feed-forward width and KV heads (or repeated
over them); pipeline stages that share the layers out evenly or nearly so;
interleaving that divides a stage; experts divided over data and context ranks; micro-batches that divide the batch of a
replica; the factors' product is the number of devices. Of a job that an entry script runs, the layouts that it has
(`launch/scripts/README.md`): `records.launching.beyond` names what the others need.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sizewell.sizing.predict.software import software_with
from sizewell.sizing.records.jobs import Checkpointing, Layout, TrainingJob

SHARDS_ALONE = software_with("shards-alone")
ONE_STAGE = software_with("one-stage")
STAGED_IF_ASKED = software_with("staged-if-asked")
OPTIMIZER_ALONE = software_with("optimizer-alone")
DISTRIBUTED_OPTIMIZER = software_with("distributed-optimizer")
ADAPTERS_SHARD_ALONE = software_with("adapters-shard-alone")
FIELDS = ("tp", "pp", "vp", "cp", "dp", "ep", "zero", "shard", "sp", "micro", "recompute")
MICRO_BATCH_MAX = 64
MICRO_TOKENS_MAX = 65536  # no more tokens in one micro-batch than this: products are long saturated
CONTEXT_TOKENS_MIN = 1024  # a context rank with fewer tokens than this only waits
RECOMPUTE: tuple[tuple[Checkpointing, float], ...] = (("none", 0.0), ("selective", 0.5), ("full", 1.0))

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """Columns by name, all of one length; `layout(i)` is row i as a record."""

    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.columns["tp"])

    def take(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> Space:
        return Space({name: column[index] for name, column in self.columns.items()})

    def layout(self, row: int) -> Layout:
        get = {name: column[row] for name, column in self.columns.items()}
        names = {value: name for name, value in RECOMPUTE}
        return Layout(
            tensor=int(get["tp"]),
            pipeline=int(get["pp"]),
            virtual_pipeline=int(get["vp"]),
            context=int(get["cp"]),
            data=int(get["dp"]),
            expert=int(get["ep"]),
            zero_stage=int(get["zero"]),
            shard_group=0 if get["shard"] == get["dp"] * get["cp"] else int(get["shard"]),
            sequence_parallel=bool(get["sp"]),
            micro_batch=int(get["micro"]),
            checkpointing=names[float(get["recompute"])],
        )


@lru_cache(maxsize=65536)
def divisors(n: int) -> tuple[int, ...]:
    """All divisors, ascending.

    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return tuple(sorted({*small, *(n // d for d in small)}))


def tensor_sizes(job: TrainingJob, devices: int, fast: int) -> tuple[int, ...]:
    """Tensor-parallel sizes inside the fast domain that divide heads and feed-forward width."""
    model = job.architecture
    script = job.entry_script
    adapted = job.method in ("lora", "qlora") and job.engine in ADAPTERS_SHARD_ALONE
    whole = adapted or script == "train_neuron.py" or (bool(script) and job.method == "lora")
    if not model.layers or not model.heads or job.engine in SHARDS_ALONE or whole:
        return (1,)
    kv = model.kv_heads or model.heads
    width = model.ffn or model.expert_ffn
    return tuple(
        d
        for d in divisors(devices)
        if d <= fast
        and model.heads % d == 0
        and width % d == 0
        and (kv % d == 0 or (d % kv == 0 and not script))
        and (script != "train_jax.py" or model.vocab % d == 0)
        and model.hidden % d == 0
    )


def _divides_alone(job: TrainingJob) -> bool:
    """Whether what runs the job has neither stages nor groups that share a sequence or experts."""
    return bool(job.entry_script) or not job.stages or job.engine in SHARDS_ALONE or job.engine in ONE_STAGE


def _shards_optimizer_alone(job: TrainingJob) -> bool:
    """Whether what runs the job shards the optimizer's state and neither gradients nor weights."""
    alone = job.entry_script == "train_neuron.py" or job.engine in OPTIMIZER_ALONE
    return alone or (job.engine in DISTRIBUTED_OPTIMIZER and not job.fully_sharded)


def pipeline_sizes(job: TrainingJob, devices: int) -> tuple[int, ...]:
    """Stages that share the layers out evenly, or nearly: a longest stage at most 8 % over the mean."""
    layers = job.architecture.layers
    asked = bool(job.pipeline_schedule) and job.engine in STAGED_IF_ASKED
    if not layers or job.framework == "jax" or job.method == "qlora" or (_divides_alone(job) and not asked):
        return (1,)
    return tuple(d for d in divisors(devices) if d <= layers and math.ceil(layers / d) * d <= 1.08 * layers)


def context_sizes(job: TrainingJob, devices: int) -> tuple[int, ...]:
    """Powers of two that leave each rank enough of the sequence."""
    seq = job.sequence_length
    if job.architecture.kind != "decoder" or _divides_alone(job) or job.engine in OPTIMIZER_ALONE:
        return (1,)
    return tuple(d for d in divisors(devices) if d & (d - 1) == 0 and (d == 1 or seq // d >= CONTEXT_TOKENS_MIN))


def expert_sizes(job: TrainingJob, ranks: int) -> tuple[int, ...]:
    """Divisors of the experts that also divide the data and context ranks."""
    experts = job.architecture.experts
    if not experts or _divides_alone(job):
        return (1,)
    return tuple(d for d in divisors(experts) if ranks % d == 0)


def micro_batches(job: TrainingJob, data: int, context: int) -> tuple[int, ...]:
    """Powers of two that divide a replica's share of the batch."""
    share = job.global_batch // data
    seq = max(1, job.sequence_length // context)
    sizes = [2 if job.paired else 1]
    if share % sizes[0]:
        return ()
    while sizes[-1] * 2 <= MICRO_BATCH_MAX and share % (sizes[-1] * 2) == 0 and sizes[-1] * 2 * seq <= MICRO_TOKENS_MAX:
        sizes.append(sizes[-1] * 2)
    if job.architecture.forward_flop_per_sample:
        sizes.append(share)  # vision models run their whole share at once
    return tuple(sorted(set(sizes)))


def shardings(
    data: int, pipeline: int, stride: int, domain: int, *, optimizer_alone: bool = False, offload: bool = False
) -> tuple[tuple[int, int], ...]:
    """(ZeRO stage, ranks it shards over): nothing sharded, optimizer, all, and all within a domain (hybrid).

    `data` counts context-parallel ranks too: they hold the same weights. Where the host steps (`offload`) gradients are
    sent there as they are reduced, which stages 2 and 3 do. With `optimizer_alone` the software shards nothing else.
    """
    if data == 1:
        return ((0, 1),)
    if pipeline > 1 or optimizer_alone:
        return ((0, data), (1, data))
    near = domain // stride
    hybrid = ((3, near),) if 1 < near < data and data % near == 0 else ()
    return (*(() if offload else ((0, data), (1, data))), (2, data), (3, data), *hybrid)


def virtual_sizes(job: TrainingJob, pipeline: int, micro_batch_count: int) -> tuple[int, ...]:
    """Interleaving: chunks per device that divide its layers; the schedule needs whole rounds of micro-batches."""
    layers = job.architecture.layers
    if pipeline == 1 or job.pipeline_schedule in ("1f1b", "gpipe"):
        return (1,)
    chunks = () if micro_batch_count % pipeline else divisors(math.ceil(layers / pipeline))[1:]
    return chunks if job.pipeline_schedule == "interleaved" else (1, *chunks)


@lru_cache(maxsize=4096)
def _inner(
    virtual: tuple[int, ...], experts: tuple[int, ...], shardings: tuple[tuple[int, int], ...], again: tuple[float, ...]
) -> NDArray[np.float32]:
    """All combinations of the factors that divide no devices, one row each: vp, ep, zero, shard, recompute."""
    combined = itertools.product(virtual, experts, shardings, again)
    return np.array([(vp, ep, zero, shard, r) for vp, ep, (zero, shard), r in combined], dtype=np.float32)


def space(job: TrainingJob, devices: int, fast: int, domain: int) -> Space:
    """All legal layouts of `job` on `devices`, of which `fast` share a fast link and `domain` a domain."""
    return Space(dict(zip(FIELDS, _table(job, devices, fast, domain) / 2.0, strict=True)))


@lru_cache(maxsize=192)
def _table(job: TrainingJob, devices: int, fast: int, domain: int) -> NDArray[np.uint16] | NDArray[np.float32]:
    """Twice the value of each field, one row per field: whole numbers, nearly always small enough for 16 bits."""
    again = tuple(value for name, value in RECOMPUTE if job.checkpointing in (None, name))
    if not job.architecture.layers:
        again = (0.0,)
    outer: list[tuple[int, ...]] = []
    inner: list[NDArray[np.float32]] = []
    for tp in tensor_sizes(job, devices, fast):
        for pp in pipeline_sizes(job, devices // tp):
            for cp in context_sizes(job, devices // tp // pp):
                dp = devices // (tp * pp * cp)
                if job.global_batch % dp:
                    continue
                experts, sharded = (
                    expert_sizes(job, dp * cp),
                    shardings(
                        dp * cp,
                        pp,
                        tp,
                        domain,
                        optimizer_alone=_shards_optimizer_alone(job),
                        offload=job.cpu_offload,
                    ),
                )
                for micro in micro_batches(job, dp, cp):
                    virtual = virtual_sizes(job, pp, job.global_batch // dp // micro)
                    if not virtual:
                        continue
                    inner.append(_inner(virtual, experts, sharded, again))
                    outer.append((tp, pp, cp, dp, tp > 1, micro))
    if not outer:
        return np.zeros((len(FIELDS), 0), dtype=np.float32)
    counts = [len(rows) for rows in inner]
    wide = np.repeat(np.array(outer, dtype=np.float32), counts, axis=0).T
    deep = np.concatenate(inner).T
    columns = dict(zip(("tp", "pp", "cp", "dp", "sp", "micro"), wide, strict=True))
    columns |= dict(zip(("vp", "ep", "zero", "shard", "recompute"), deep, strict=True))
    table = 2 * np.stack([columns[name] for name in FIELDS])
    return table.astype(np.uint16) if table.max() < 1 << 16 else table
