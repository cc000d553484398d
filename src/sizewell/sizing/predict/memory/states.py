"""Model states: weights, gradients and optimizer state on the fullest device, and what each parallelism divides.

Bytes per parameter follow the mixed-precision recipes of Micikevicius et al. 2018 and of ZeRO (Rajbhandari et al. 2020,
section 3): with Adam 2 (weights) + 2 or 4 (gradients) + 12 (fp32 master, momentum, variance). ZeRO-1 divides the
optimizer state over the data-parallel group, ZeRO-2 the gradients too, ZeRO-3 (FSDP) the weights too. Tensor
parallelism divides matrices and vocabulary, pipeline parallelism layers, expert parallelism routed experts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import (
    attention_params,
    expert_layers,
    feed_forward_params,
    params_total,
    stage_params,
)
from sizewell.sizing.predict.memory.columns import Column, Layouts, Stages
from sizewell.sizing.predict.numeric import np
from sizewell.sizing.predict.software import gradient_bytes, software_with
from sizewell.sizing.records.jobs import Layout, TrainingJob

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
    "adamw-8bit": "adamw8bit",  # as a spec writes it
    "adamw_8bit": "adamw8bit",
    "adam8bit": "adamw8bit",
    "paged_adamw_8bit": "adamw8bit",
    "adamw_torch": "adamw",
    "adamw_torch_fused": "adamw",
    "fusedadam": "adamw",
    "decoupled_adamw": "adamw",
    "sgd_momentum": "sgd-momentum",
    "momentum": "sgd-momentum",
    "decoupled_lion": "lion",
}
UNSHARDED = 4  # beyond ZeRO's last stage: what no stage divides
QUANTISES_HEAD = software_with("quantises-head")
REPLICATES_TABLES = software_with("replicates-tables")
CASTS_UP = software_with("casts-up")
WIDE_ADAPTERS = software_with("wide-adapters")
TRL = frozenset({"trl"})  # whose `create_model_from_path` loads in fp32 unless told otherwise
MEGATRON = software_with("megatron")
DISTRIBUTED_OPTIMIZER = software_with("distributed-optimizer")
FOREACH = software_with("foreach")
TRAINER = software_with("trainer")
FLATTENS = software_with("flattens")
BUCKET_VALUES = 5e8  # DeepSpeed's default reduce and gather bucket
_SUB_GROUP = 1e9  # parameters that DeepSpeed's stage 3 steps at a time (`sub_group_size`)
TRANSFORMER_ENGINE = software_with("transformer-engine")


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
    """Bytes on one device, after every division; of many layouts, as columns."""

    weights: Any
    adapters: Any
    gradients: Any
    optimizer: Any
    reference: Any = 0.0  # a frozen copy that answers beside what is trained

    @property
    def total(self) -> Any:
        return self.weights + self.adapters + self.gradients + self.optimizer + self.reference


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
    # FSDP shards the fp32 weights and gathers them in 16 bits; DeepSpeed shards 16-bit weights beside a master copy.
    wide = (layout.zero_stage >= 3 and job.engine not in FLATTENS) or job.framework == "jax"
    return _recipe(job.optimizer, job.precision, job.method, job.weights, job.engine, job.gradients, wide=wide)


def recipes(job: TrainingJob, layouts: Layouts) -> Recipe:
    """`recipe` of each layout: columns where sharding matters."""
    plain, sharded = recipe(job, Layout()), recipe(job, Layout(zero_stage=3))
    if plain == sharded:
        return plain
    wide = layouts.zero_stage >= 3
    names = [field.name for field in fields(Recipe)]
    columns: dict[str, Any] = {name: np.where(wide, getattr(sharded, name), getattr(plain, name)) for name in names}
    return Recipe(**columns)


@lru_cache(maxsize=1024)
def _recipe(  # noqa: PLR0917 - what a cache is keyed by
    optimizer: str, precision: str, method: str, weights: str, engine: str, stated: str, *, wide: bool
) -> Recipe:
    """`wide`: the weights that are kept are those in fp32, and with them their gradients. `stated`: those otherwise."""
    momenta, keeps_master = _OPTIMIZERS[optimizer_name(optimizer)]
    computing = 4.0 if precision in ("fp32", "tf32") else 2.0
    if method in ("lora", "qlora"):
        stored = weights or ("nf4-dq" if method == "qlora" else "bf16" if computing == 2.0 else "fp32")
        # Adapters beside 16-bit weights are 16-bit too, with their states, where that is stated or the software does
        # so; under autocast or over quantised weights (PEFT's k-bit preparation) they are fp32.
        sixteen_bit = stored in ("bf16", "fp16") or engine in ("torchtune", "litgpt")
        sixteen_bit = sixteen_bit and (bool(weights) or engine not in WIDE_ADAPTERS)
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
        held = gradient_bytes("", "bf16", stated)
        return Recipe(weights=2.0, gathered=0.0, gradients=held, optimizer=momenta / 2.0 if momenta > 2.5 else momenta)
    if computing == 4.0:
        return Recipe(weights=4.0, gathered=0.0, gradients=4.0, optimizer=momenta)
    if weights == "fp32" or wide:
        return Recipe(weights=4.0, gathered=computing, gradients=4.0, optimizer=momenta)
    gradients = gradient_bytes(engine, precision, stated)
    return Recipe(weights=2.0, gathered=0.0, gradients=gradients, optimizer=momenta + (4.0 if keeps_master else 0.0))


_SCALE_BYTES = {"int4": 2.0, "fp4": 1.0}  # of a group, in checkpoints that say how many values are in one


def bytes_of(precision: str, group: int = 0) -> float:
    """Bytes per stored value, in 4 bits with a scale for each `group` of them; raises SpecError for a precision that is
    not known.

    >>> bytes_of("int4", 32), bytes_of("fp4", 32), bytes_of("fp8", 32)
    (0.5625, 0.53125, 1.0)
    """
    if precision not in BYTES:
        raise SpecError([Fault(path="model.weights", found=precision, allowed=f"one of {', '.join(BYTES)}")])
    if group and precision in _SCALE_BYTES:
        return 0.5 + _SCALE_BYTES[precision] / group
    return BYTES[precision]


def stage_states(job: TrainingJob, layouts: Layouts, stage: Stages) -> ModelStates:
    """Model states of one device of a pipeline stage of each layout."""
    per, zero = recipes(job, layouts), layouts.zero_stage
    dense, expert = device_params(layouts, stage)
    group = layouts.shard
    # Tensor ranks that share no expert's matrices are ranks that its state is divided over.
    expert_group = np.maximum(1.0, group * layouts.tensor // expert_split(layouts))

    def held(bytes_per_param: Any, from_stage: int) -> Column:
        sharded = zero >= from_stage
        return np.asarray(
            bytes_per_param * (dense / np.where(sharded, group, 1.0) + expert / np.where(sharded, expert_group, 1.0))
        )

    if job.method in ("lora", "qlora"):
        adapters = adapter_params(job) / (layouts.tensor * layouts.pipeline)
        shards = [np.where(zero >= from_stage, group, 1.0) for from_stage in (3, 2, 1)]
        return ModelStates(
            weights=_frozen_bytes(
                job, layouts, stage, per, over=shards[0], experts_over=np.where(zero >= 3, expert_group, 1.0)
            ),
            adapters=per.adapters * adapters / shards[0],
            gradients=per.gradients * adapters / shards[1],
            optimizer=0.0 * adapters if job.cpu_offload else per.optimizer * adapters / shards[2],
        )
    gradients = held(per.gradients, 2)
    if job.unsharded_gradients:  # kept whole from the first micro-batch until the last is synchronised
        gradients = np.where(micro_batches(job, layouts) > 1, held(per.gradients, UNSHARDED), gradients)
    optimizer = held(per.optimizer, 1)
    if job.engine in TRAINER and optimizer_name(job.optimizer) == "adamw8bit":
        # transformers registers embeddings with bitsandbytes as 32-bit (`register_module_override`).
        tables = np.where(stage.number == 0, job.architecture.vocab * job.architecture.hidden / layouts.tensor, 0.0)
        optimizer = optimizer + (8.0 - per.optimizer) * tables / np.where(zero >= 1, group, 1.0)
    if job.cpu_offload:
        optimizer = 0.0 * optimizer
        if job.engine not in DISTRIBUTED_OPTIMIZER:  # whose buffer of gradients stays on the device
            gradients = _sent_gradients(layouts, held(2.0, 2))
    return ModelStates(
        weights=held(per.weights, 3),
        adapters=0.0 * gradients,
        gradients=gradients,
        optimizer=optimizer,
        reference=held(reference_bytes(job), 3) if job.reference else 0.0 * gradients,
    )


def reference_bytes(job: TrainingJob) -> float:
    """Bytes per value of the frozen copy: TRL loads it as it loads the model (`ref_model_init_kwargs`), in fp32 unless
    all of it is in 16 bits.
    """
    return 4.0 if job.engine in TRL and job.weights not in ("bf16", "fp16") else 2.0


def _sent_gradients(layouts: Layouts, sharded: Column) -> Column:
    """Gradients in 16 bits that stay on the device where the host steps: what a bucket gathers before it is sent.

    DeepSpeed's own estimate for ZeRO-2 has two bytes a parameter on the device with offload, those of
    the weights. Over several devices that share them out the buckets are counted among the buffers.
    """
    shared = (layouts.zero_stage >= 2) & (layouts.data * layouts.context > 1)
    return np.where(shared, 0.0 * sharded, np.minimum(sharded, 2.0 * BUCKET_VALUES))


def steps_by_foreach(job: TrainingJob) -> bool:
    """Whether Adam's step goes over all parameters at once, with a copy of a state, as `torch.optim` does where nobody
    asks for the fused kernel: "the foreach implementation uses ~ sizeof(params) more peak memory than the for-loop
    version" (documentation of torch.optim.AdamW). Hugging Face's Trainer asks for the fused one since PyTorch 2.8.

    >>> steps_by_foreach(TrainingJob(architecture=Architecture(key="x"), optimizer="adamw_torch"))
    True
    """
    stated = job.optimizer.strip().lower()
    return stated == "adamw_torch" or (stated in ("adam", "adamw") and job.engine in FOREACH)


def step_bytes(job: TrainingJob, layouts: Layouts, held: ModelStates) -> Column:
    """What the optimizer's step makes beside weights, gradients and states, and gives back after it."""
    per = recipes(job, layouts)
    frozen = job.method in ("lora", "qlora")
    trained = held.adapters / per.adapters if frozen else held.weights / per.weights
    made = 0.0 * trained
    if job.cpu_offload:
        return np.asarray(made)
    if steps_by_foreach(job):
        wide = per.optimizer >= 12.0  # with a master copy
        made = held.optimizer / np.where(wide, 3.0, 2.0)
    elif optimizer_name(job.optimizer) == "adafactor":  # matrix by matrix: the update, twice; in 16 bits also wider
        copies = np.where(np.asarray(per.weights) < 4.0, 4.0, 2.0)  # copies of gradient and weights
        made = np.minimum(trained, largest_matrix(job.architecture) / layouts.tensor) * 4.0 * copies
    if job.engine in FLATTENS and not frozen:
        # Of the share that is stepped on this device: stages 1 and 2 hold the flat copy in 16 bits and the fp32 one
        # made of it, stage 3 by groups two fp32 values of each.
        own = held.optimizer / per.optimizer
        grouped = 8.0 * np.minimum(own, _SUB_GROUP)
        made = np.where(layouts.zero_stage >= 3, grouped, np.where(layouts.zero_stage >= 1, 6.0 * own, made))
    return np.asarray(made)


def stream_is_wide(job: TrainingJob) -> bool:
    """Whether the residual stream of a quantised model is in fp32: PEFT's `prepare_model_for_kbit_training` casts norms
    and head up where bitsandbytes quantised the rest (GPTQ is left as it is).
    """
    quantised = job.method == "qlora" and job.weights in ("", "nf4", "nf4-dq")
    return quantised and job.engine in CASTS_UP and job.engine in WIDE_ADAPTERS


def device_params(layouts: Layouts, stage: Stages) -> tuple[Column, Column]:
    """(dense, routed expert) parameters of one device of a stage, before ZeRO divides them."""
    return stage.dense / layouts.tensor, stage.experts / expert_split(layouts)


def expert_split(layouts: Layouts) -> Column:
    """How many devices one set of routed experts is split over before ZeRO divides it.

    Expert parallelism takes whole experts, as Megatron-Core does with `--expert-tensor-parallel-size 1`, what recipes
    set and what the time of a step is predicted for; without it each expert is split over the tensor ranks.
    """
    return np.where(layouts.expert > 1, layouts.expert, layouts.tensor)


def _frozen_bytes(
    job: TrainingJob, layouts: Layouts, stage: Stages, per: Recipe, *, over: Column, experts_over: Column
) -> Column:
    """Bytes of frozen base weights: embeddings and output head stay 16-bit when the matrices are quantised.

    ZeRO divides dense parameters by `over` devices. Experts are divided by the expert-parallel group already, so by
    `experts_over`: what is left of the ZeRO group for each of them.
    """
    dense, expert = device_params(layouts, stage)
    if per.weights >= 2.0:
        return np.asarray(per.weights * (dense / over + expert / experts_over))
    model = job.architecture
    table = (model.vocab + model.learned_positions) * model.hidden / layouts.tensor
    has_head = not model.tied_embeddings and model.kind == "decoder" and job.engine not in QUANTISES_HEAD
    head = np.where(stage.last & has_head, model.vocab * model.hidden / layouts.tensor, 0.0)
    unquantised = np.minimum(np.where(stage.number == 0, table, 0.0) + head, dense)
    kept = (4.0 if job.engine in CASTS_UP and job.weights != "int4" else 2.0) * unquantised  # PEFT leaves GPTQ as it is
    quantised = per.weights * ((dense - unquantised) / over + expert / experts_over)
    return np.asarray(kept / over + quantised)


_TARGETS_ATTENTION = ("q", "k", "v", "o")
_TARGETS_MLP = ("gate", "up", "down")


def lora_targets(job: TrainingJob) -> tuple[str, ...]:
    """The matrices that get adapters: as stated, else what the engine takes by default; an entry script takes all."""
    if job.lora_targets:
        return job.lora_targets
    if not job.entry_script and job.engine in ("litgpt", "transformers", "transformers-2024", "peft"):
        return ("q", "v")
    if job.engine == "torchtune":
        return ("q", "v", "o")
    return (*_TARGETS_ATTENTION, *_TARGETS_MLP)


def adapter_params(job: TrainingJob) -> float:
    """Trained parameters of LoRA: rank x (inputs + outputs) of each target matrix, all layers (Hu et al. 2021).

    >>> a = Architecture(key="x", layers=16, hidden=4096, heads=32, kv_heads=32, head_dim=128, ffn=16384)
    >>> adapter_params(TrainingJob(architecture=a, method="lora", lora_rank=8, lora_targets=("q", "v")))
    2097152

    Mixtral 8x7B, whose experts have adapters each: 120 million at rank 8.

    >>> moe = Architecture(key="x", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, gated=True,
    ...                    experts=8, experts_per_token=2, expert_ffn=14336)
    >>> adapter_params(TrainingJob(architecture=moe, method="lora", lora_rank=8))
    120061952
    """
    model = job.architecture
    rank = job.lora_rank or 8
    if not model.layers:
        return params_total(model) * 0.01
    widths = lora_widths(model, experts=0)
    routed, experts = expert_layers(model), model.experts + model.shared_experts
    # Each expert's matrix has both factors, in the layers that have experts.
    of_experts = routed * experts * (model.hidden + model.expert_ffn)
    feed_forward = of_experts + (model.layers - routed) * (model.hidden + model.ffn)
    inner = {"gate": feed_forward if model.gated else 0, "up": feed_forward, "down": feed_forward}
    return rank * sum(inner.get(target, model.layers * widths[target]) for target in lora_targets(job))


def lora_widths(model: Architecture, *, experts: int) -> dict[str, int]:
    """Inputs plus outputs of each matrix of a layer that may have an adapter, those of `experts` experts together."""
    query, kv = model.heads * model.head_dim, (model.kv_heads or model.heads) * model.head_dim
    if model.kv_lora_rank:
        query, kv = (
            model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim),
            model.kv_lora_rank + model.qk_rope_head_dim,
        )
    ffn = model.ffn if not model.experts else model.expert_ffn * max(1, experts)
    return {
        "q": model.hidden + query,
        "k": model.hidden + kv,
        "v": model.hidden + kv,
        "o": query + model.hidden,
        "gate": model.hidden + ffn if model.gated else 0,
        "up": model.hidden + ffn,
        "down": ffn + model.hidden,
        "prompt": 0,  # a learned prefix: next to nothing
        "scale": 0,  # a scale and a bias per output
    }


def largest_matrix(model: Architecture) -> int:
    """Parameters of the largest single matrix: the head or a feed-forward matrix."""
    return max(model.vocab * model.hidden, model.hidden * max(model.ffn, model.expert_ffn))


def largest_quantised(model: Architecture, *, head: bool = False) -> int:
    """Parameters of the largest matrix that quantisation covers: feed-forward or attention, the head where stated."""
    widest = max(model.ffn, model.expert_ffn, model.heads * model.head_dim)
    return model.hidden * max(widest, model.vocab if head else 0)


def layer_params(model: Architecture, layouts: Layouts) -> Column:
    """Parameters of one layer on a device, before ZeRO divides them: the largest unit that FSDP gathers."""
    if not model.layers:
        return params_total(model) / np.maximum(1.0, 50 * layouts.tensor)
    dense, expert = _last_layer_params(model)
    return dense / layouts.tensor + expert / expert_split(layouts)


@lru_cache(maxsize=1024)
def _last_layer_params(model: Architecture) -> tuple[int, int]:
    """(matrices that every device of the stage holds, routed experts)."""
    if model.experts:
        return stage_params(model, range(model.layers - 1, model.layers), first=False, last=False)
    return attention_params(model) + feed_forward_params(model), 0


def micro_batches(job: TrainingJob, layouts: Layouts) -> Column:
    """Micro-batches of one optimizer step on one data-parallel rank."""
    return np.maximum(1.0, np.ceil(job.global_batch / (layouts.micro_batch * layouts.data)))
