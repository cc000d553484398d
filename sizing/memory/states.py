"""Model states: weights, gradients and optimizer state on the fullest device, and what each parallelism divides.

Bytes per parameter follow the mixed-precision recipes of Micikevicius et al. 2018 and of ZeRO (Rajbhandari et al. 2020,
section 3): with Adam 2 (weights) + 2 or 4 (gradients) + 12 (fp32 master, momentum, variance). ZeRO-1 divides the
optimizer state over the data-parallel group, ZeRO-2 the gradients too, ZeRO-3 (FSDP) the weights too. Tensor
parallelism divides matrices and vocabulary, pipeline parallelism layers, expert parallelism routed experts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sizing.architecture import attention_params, expert_layers, feed_forward_params, params_total, stage_params
from sizing.catalog.records import Architecture
from sizing.errors import Fault, SpecError
from sizing.jobs import Layout, TrainingJob

# Bytes per stored value. NF4: QLoRA (Dettmers et al. 2023): 4 bits, one fp32 scale per 64 values; with double
# quantisation the scales are 8-bit with an fp32 scale per 256 of them.
BYTES: Mapping[str, float] = {
    "fp32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5 + 1 / 16,  # one fp8 scale per 16 values
    "int4": 0.5 + 2 / 128 + 0.5 / 128,  # 16-bit scale and 4-bit zero point per group of 128
    "nf4": 0.5 + 4 / 64,
    "nf4-dq": 0.5 + 1 / 64 + 4 / (64 * 256),
}
QUANTIZED = frozenset({"nf4", "nf4-dq", "int4", "int8", "fp4"})

# Bytes of state per trained parameter, states in fp32: (momenta, True where a master copy is kept in mixed precision).
_OPTIMIZERS: Mapping[str, tuple[float, bool]] = {
    "adamw": (8.0, True),
    "adam": (8.0, True),
    "lamb": (8.0, True),
    "nadam": (8.0, True),
    "adamw8bit": (2.03, False),  # two 8-bit states and an fp32 scale per 256 values (Dettmers et al. 2022)
    "adamw-bf16": (4.0, True),
    "lion": (4.0, True),
    "muon": (4.0, True),
    "adagrad": (4.0, True),
    "rmsprop": (4.0, True),
    "sgd-momentum": (4.0, True),
    "lars": (4.0, True),
    "adafactor": (0.02, True),  # one row and one column vector per matrix (Shazeer & Stern 2018)
    "sgd": (0.0, True),
}
_ALIASES: Mapping[str, str] = {
    "adamw_8bit": "adamw8bit",
    "adam8bit": "adamw8bit",
    "paged_adamw_8bit": "adamw8bit",
    "adamw_torch": "adamw",
    "fusedadam": "adamw",
    "decoupled_adamw": "adamw",
    "sgd_momentum": "sgd-momentum",
    "momentum": "sgd-momentum",
    "decoupled_lion": "lion",
}
# bitsandbytes through Lightning quantises the output head too.
QUANTISES_HEAD = frozenset({"litgpt"})
# Tensor parallelism that divides attention and feed-forward matrices only: every device keeps embeddings and head.
REPLICATES_TABLES = frozenset({"litgpt", "deepspeed"})
# PEFT's preparation for k-bit training casts whatever is not quantised (embeddings, head, norms) to fp32.
CASTS_UP = frozenset({"transformers", "peft", "llama-factory", "trl", "axolotl"})
MEGATRON = frozenset({"megatron", "nemo", "megatron-bridge", "megatron-deepspeed", "mlperf"})
# Engines on NVIDIA's Transformer Engine, with its 8-bit inputs kept and its modules recomputed one by one.
TRANSFORMER_ENGINE = frozenset({"megatron", "nemo", "megatron-bridge", "mlperf", "llm-foundry"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Bytes per parameter of one job: `weights` of every parameter, the rest of trained parameters only."""

    weights: float
    gathered: float  # 16-bit or quantised copy that computes, where it is not `weights` itself
    gradients: float
    optimizer: float  # momenta and the fp32 master copy
    adapters: float = 0.0  # weights of an adapter parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStates:
    """Bytes on one device, after every division."""

    weights: float
    adapters: float
    gradients: float
    optimizer: float

    @property
    def total(self) -> float:
        return self.weights + self.adapters + self.gradients + self.optimizer


def optimizer_name(name: str) -> str:
    """The canonical name of an optimizer; raises SpecError for one that is not known.

    >>> optimizer_name("AdamW_torch")
    'adamw'
    """
    key = name.strip().lower()
    key = _ALIASES.get(key, key)
    if key not in _OPTIMIZERS:
        raise SpecError(
            [Fault(path="training.optimizer", found=name, allowed=f"one of {', '.join(sorted(_OPTIMIZERS))}")]
        )
    return key


def recipe(job: TrainingJob, layout: Layout) -> Recipe:
    """Bytes per parameter by precision, optimizer, method and sharding.

    >>> job = TrainingJob(architecture=Architecture(key="x"), engine="megatron")
    >>> recipe(job, Layout(zero_stage=1))
    Recipe(weights=2.0, gathered=0.0, gradients=4.0, optimizer=12.0, adapters=0.0)
    """
    wide = layout.zero_stage >= 3 or job.framework == "jax"
    return _recipe(job.optimizer, job.precision, job.method, job.weights, job.engine, wide=wide)


@lru_cache(maxsize=1024)
def _recipe(optimizer: str, precision: str, method: str, weights: str, engine: str, *, wide: bool) -> Recipe:
    """`wide`: the weights that are kept are those in fp32."""
    momenta, keeps_master = _OPTIMIZERS[optimizer_name(optimizer)]
    computing = 4.0 if precision in ("fp32", "tf32") else 2.0
    if method in ("lora", "qlora"):
        stored = weights or ("nf4-dq" if method == "qlora" else "bf16" if computing == 2.0 else "fp32")
        # Adapters beside 16-bit weights are 16-bit themselves with their states; under autocast or over quantised
        # weights (PEFT's k-bit preparation) they are fp32.
        sixteen_bit = stored in ("bf16", "fp16") or engine in ("torchtune", "litgpt")
        adapter = 2.0 if sixteen_bit else 4.0
        gathered = computing if stored == "fp32" and computing == 2.0 else 0.0
        return Recipe(
            weights=bytes_of(stored),
            gathered=gathered,
            gradients=adapter,
            optimizer=momenta * adapter / 4.0,
            adapters=adapter,
        )
    if weights in ("bf16", "fp16"):  # everything in 16 bits, no master copy
        return Recipe(weights=2.0, gathered=0.0, gradients=2.0, optimizer=momenta / 2.0 if momenta > 2.5 else momenta)
    if computing == 4.0:
        return Recipe(weights=4.0, gathered=0.0, gradients=4.0, optimizer=momenta)
    if weights == "fp32" or wide:
        return Recipe(weights=4.0, gathered=computing, gradients=4.0, optimizer=momenta)
    gradients = 4.0 if precision != "fp16" and engine == "megatron" else 2.0  # its default; recipes turn it off
    return Recipe(weights=2.0, gathered=0.0, gradients=gradients, optimizer=momenta + (4.0 if keeps_master else 0.0))


def bytes_of(precision: str) -> float:
    """Bytes per stored value; raises SpecError for a precision that is not known."""
    if precision not in BYTES:
        raise SpecError([Fault(path="model.weights", found=precision, allowed=f"one of {', '.join(BYTES)}")])
    return BYTES[precision]


def stages(a: Architecture, layout: Layout) -> tuple[range, ...]:
    """Layers of each pipeline stage; where the layers do not divide, the first stages have one more.

    >>> stages(Architecture(key="x", layers=7), Layout(pipeline=3))
    (range(0, 3), range(3, 5), range(5, 7))
    """
    return _stages(a.layers, layout.pipeline)


@lru_cache(maxsize=1024)
def _stages(layers: int, pipeline: int) -> tuple[range, ...]:
    base, more = divmod(layers, pipeline)
    bounds = [0]
    for stage in range(pipeline):
        bounds.append(bounds[-1] + base + (1 if stage < more else 0))
    return tuple(range(bounds[i], bounds[i + 1]) for i in range(pipeline))


def peak_stages(a: Architecture, layout: Layout) -> tuple[int, ...]:
    """Stages of which one has the highest peak: the first, the last, and those between that hold more than the first.

    Stages that hold as many layers, and as many of them with experts, differ only in how many micro-batches are in
    flight, and the earlier one has more; the first has the embedding too. So stages between matter where the leading
    layers are dense and the rest have experts.

    >>> peak_stages(Architecture(key="x", layers=32), Layout(pipeline=8))
    (0, 7)
    >>> peak_stages(Architecture(key="x", layers=32, experts=8, dense_layers=3), Layout(pipeline=8))
    (0, 1, 7)
    """
    return _peak_stages(a, layout.pipeline)


@lru_cache(maxsize=4096)
def _peak_stages(a: Architecture, pipeline: int) -> tuple[int, ...]:
    every = _stages(a.layers, pipeline)
    kinds: dict[tuple[int, int], int] = {}  # (dense layers, layers with experts): the first stage of that kind
    for stage, layers in enumerate(every[: pipeline - 1]):
        with_experts = expert_layers(a, layers)
        kinds.setdefault((len(layers) - with_experts, with_experts), stage)
    dense, with_experts = next(iter(kinds), (0, 0))
    more = [stage for (d, e), stage in kinds.items() if d > dense or e > with_experts]
    return tuple(sorted({0, pipeline - 1, *more}))


def shard_count(layout: Layout) -> int:
    """Devices that ZeRO or FSDP shards over: context-parallel ranks hold the same weights and count too."""
    return max(
        1, min(layout.shard_group, layout.data * layout.context) if layout.shard_group else layout.data * layout.context
    )


def stage_states(job: TrainingJob, layout: Layout, stage: int) -> ModelStates:
    """Model states of one device of pipeline stage `stage`."""
    a = job.architecture
    per = recipe(job, layout)
    dense, expert = device_params(a, layout, stage)
    group = shard_count(layout)
    expert_group = max(1, group // max(1, layout.expert))
    adapters = adapter_params(job) / (layout.tensor * layout.pipeline) if job.method in ("lora", "qlora") else 0.0

    def held(bytes_per_param: float, from_stage: int) -> float:
        sharded = layout.zero_stage >= from_stage
        return bytes_per_param * (dense / (group if sharded else 1) + expert / (expert_group if sharded else 1))

    if job.method in ("lora", "qlora"):
        weights = _frozen_bytes(job, layout, stage) / (group if layout.zero_stage >= 3 else 1)
        shard = [group if layout.zero_stage >= stage_ else 1 for stage_ in (3, 2, 1)]
        return ModelStates(
            weights=weights,
            adapters=per.adapters * adapters / shard[0],
            gradients=per.gradients * adapters / shard[1],
            optimizer=0.0 if job.cpu_offload else per.optimizer * adapters / shard[2],
        )
    gradients = held(per.gradients, 2)
    optimizer = held(per.optimizer, 1)
    if job.cpu_offload:
        optimizer = 0.0
        gradients = min(gradients, held(2.0, 2))
    return ModelStates(weights=held(per.weights, 3), adapters=0.0, gradients=gradients, optimizer=optimizer)


def device_params(a: Architecture, layout: Layout, stage: int) -> tuple[float, float]:
    """(dense, routed expert) parameters of one device of a stage, before ZeRO divides them."""
    if not a.layers or not a.hidden:
        return params_total(a) / (layout.tensor * layout.pipeline), 0.0
    dense, expert = _stage_params(a, layout.pipeline, stage)
    return dense / layout.tensor, expert / (layout.tensor * layout.expert)


@lru_cache(maxsize=4096)
def _stage_params(a: Architecture, pipeline: int, stage: int) -> tuple[int, int]:
    return stage_params(a, _stages(a.layers, pipeline)[stage], first=stage == 0, last=stage == pipeline - 1)


def _frozen_bytes(job: TrainingJob, layout: Layout, stage: int) -> float:
    """Bytes of frozen base weights: embeddings and output head stay 16-bit when the matrices are quantised."""
    per = recipe(job, layout)
    dense, expert = device_params(job.architecture, layout, stage)
    if per.weights >= 2.0:
        return per.weights * (dense + expert)
    a = job.architecture
    table = (a.vocab + a.learned_positions) * a.hidden / layout.tensor
    has_head = stage == layout.pipeline - 1 and not a.tied_embeddings and a.kind == "decoder"
    head = a.vocab * a.hidden / layout.tensor if has_head and job.engine not in QUANTISES_HEAD else 0.0
    unquantised = min((table if stage == 0 else 0.0) + head, dense)
    return (4.0 if job.engine in CASTS_UP else 2.0) * unquantised + per.weights * (dense - unquantised + expert)


_TARGETS_ATTENTION = ("q", "k", "v", "o")
_TARGETS_MLP = ("gate", "up", "down")


def lora_targets(job: TrainingJob) -> tuple[str, ...]:
    """The matrices that get adapters: as stated, else what the engine takes by default."""
    if job.lora_targets:
        return job.lora_targets
    if job.engine in ("litgpt", "transformers", "peft"):
        return ("q", "v")
    if job.engine == "torchtune":
        return ("q", "v", "o")
    return (*_TARGETS_ATTENTION, *_TARGETS_MLP)


def adapter_params(job: TrainingJob) -> float:
    """Trained parameters of LoRA: rank x (inputs + outputs) of each target matrix, all layers (Hu et al. 2021).

    >>> a = Architecture(key="x", layers=16, hidden=4096, heads=32, kv_heads=32, head_dim=128, ffn=16384)
    >>> adapter_params(TrainingJob(architecture=a, method="lora", lora_rank=8, lora_targets=("q", "v")))
    2097152
    """
    a = job.architecture
    rank = job.lora_rank or 8
    if not a.layers:
        return params_total(a) * 0.01
    widths = lora_widths(a, experts=a.experts)
    return a.layers * rank * sum(widths[target] for target in lora_targets(job))


def lora_widths(a: Architecture, *, experts: int) -> dict[str, int]:
    """Inputs plus outputs of each matrix of a layer that may have an adapter, those of `experts` experts together."""
    query, kv = a.heads * a.head_dim, (a.kv_heads or a.heads) * a.head_dim
    if a.kv_lora_rank:
        query, kv = a.heads * (a.qk_nope_head_dim + a.qk_rope_head_dim), a.kv_lora_rank + a.qk_rope_head_dim
    ffn = a.ffn if not a.experts else a.expert_ffn * max(1, experts)
    return {
        "q": a.hidden + query,
        "k": a.hidden + kv,
        "v": a.hidden + kv,
        "o": query + a.hidden,
        "gate": a.hidden + ffn if a.gated else 0,
        "up": a.hidden + ffn,
        "down": ffn + a.hidden,
        "prompt": 0,  # a learned prefix: next to nothing
        "scale": 0,  # a scale and a bias per output
    }


def largest_matrix(a: Architecture, layout: Layout) -> float:
    """Parameters of the largest single matrix on a device: the head or a feed-forward matrix."""
    return max(a.vocab * a.hidden, a.hidden * max(a.ffn, a.expert_ffn)) / layout.tensor


def largest_quantised(a: Architecture, layout: Layout, *, head: bool = False) -> float:
    """Parameters of the largest matrix that quantisation covers: feed-forward or attention, the head where stated."""
    widest = max(a.ffn, a.expert_ffn, a.heads * a.head_dim)
    return a.hidden * max(widest, a.vocab if head else 0) / layout.tensor


def layer_params(a: Architecture, layout: Layout) -> float:
    """Parameters of one layer on a device, before ZeRO divides them: the largest unit that FSDP gathers."""
    if not a.layers:
        return params_total(a) / max(1, 50 * layout.tensor)
    if a.experts:
        dense, expert = _last_layer_params(a)
        return (dense + expert / layout.expert) / layout.tensor
    return _last_layer_params(a)[0] / layout.tensor


@lru_cache(maxsize=1024)
def _last_layer_params(a: Architecture) -> tuple[int, int]:
    """(matrices that every device of the stage holds, routed experts)."""
    if a.experts:
        return stage_params(a, range(a.layers - 1, a.layers), first=False, last=False)
    return attention_params(a) + feed_forward_params(a), 0


def micro_batches(job: TrainingJob, layout: Layout) -> int:
    """Micro-batches of one optimizer step on one data-parallel rank."""
    return max(1, math.ceil(job.global_batch / (layout.micro_batch * layout.data)))
