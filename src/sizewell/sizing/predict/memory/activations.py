"""Activations kept for the backward pass, per layer and token, and the logits of the loss.

The tensors are those of Korthikanti et al. 2022 (section 4: 34 x s x b x h bytes and 5 x a x s x s x b for attention in
16 bits), listed one by one so that grouped heads, gated feed-forwards, experts, adapters over frozen matrices (whose
inputs need not be kept) and kernels (flash attention keeps no scores) fall out of the same list. Tensor parallelism
divides what lies between its two collectives; sequence parallelism the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from sizewell import csvtables
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict.architecture import forward_flop_per_sample, params_total
from sizewell.sizing.predict.memory.columns import MODES, Column, Layouts, Stages
from sizewell.sizing.predict.memory.states import (
    QUANTIZED,
    TRANSFORMER_ENGINE,
    WIDE_ADAPTERS,
    lora_targets,
    recipes,
    stream_is_wide,
)
from sizewell.sizing.predict.numeric import np
from sizewell.sizing.predict.software import software_with
from sizewell.sizing.records.jobs import Layout, TrainingJob

FUSED_ENGINES = software_with("keeps-less")
TILES_LOSS = software_with("tiles-loss")
_XLA = 2.5  # 16-bit logits written once; XLA fuses the rest into the products around them
_HUGGING_FACE = 12.0  # fp32 log-probabilities and two fp32 gradients; the logits are freed with the model's output
_HUGGING_FACE_2024 = (
    18.0  # logits in 16 bits, in fp32, shifted in fp32 (until transformers#35646), log-probabilities, gradient
)
LOSS_BYTES: Mapping[str, float] = {
    "unsloth": 0.0,  # fused with the projection
    "liger": 0.0,
    "llm-foundry": 4.0,  # fused kernel: 16-bit logits and gradient
    "flash-attention": 4.0,
    "megatron-bridge": 6.0,  # fused: fp32 probabilities, turned into the gradient in place, and the 16-bit one
    "nemo": 6.0,
    "mlperf": 6.0,
    "litgpt": 8.0,  # all in 16 bits
    "torchtitan": 14.0,  # compiles the blocks, not the loss
    "transformers": _HUGGING_FACE,
    "transformers-2024": _HUGGING_FACE_2024,
    "peft": _HUGGING_FACE,
    "llama-factory": _HUGGING_FACE,
    "axolotl": _HUGGING_FACE,
}

# Estimate: 16-bit activations of a model without layers to count are FLOPs x this / sqrt(parameters): wider models do
# more FLOPs per value kept. ResNet-50 (8.2 GFLOP, 25.6 M parameters) keeps about 56 MB per image: 256 images train on a
# 16 GB V100 (NVIDIA DeepLearningExamples).
_BYTES_PER_FLOP = 35.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerActivations:
    """Bytes per token of one layer on one device."""

    kept: float  # everything that the backward pass needs
    boundary: float  # the input alone, kept by full checkpointing
    selective: float  # kept by selective checkpointing
    gradients: float  # live gradients of activations while the layer runs backward


def value_bytes(job: TrainingJob) -> float:
    """Bytes of an activation value."""
    return 4.0 if job.precision in ("fp32", "tf32") else 2.0


def is_fused(job: TrainingJob) -> bool:
    """Whether normalisation, rotary embedding and activation function run as fused kernels that keep no copies."""
    return bool(job.compiled) or job.framework == "jax" or job.engine in FUSED_ENGINES


def layer_activations(job: TrainingJob, layout: Layout, *, with_experts: bool) -> LayerActivations:
    """Bytes per token of one layer: norms, attention and the feed-forward block, dense or experts."""
    context = layout.context if job.attention == "eager" else 1  # flash attention keeps no scores to divide
    return _layer_activations(job, layout.tensor, context, layout.sequence_parallel, with_experts)


@lru_cache(maxsize=1024)
def _layer_activations(
    job: TrainingJob, tensor: int, context: int, sequence_parallel: bool, with_experts: bool
) -> LayerActivations:
    model = job.architecture
    size = value_bytes(job)
    frozen = job.method in ("lora", "qlora")
    quantised = frozen and (job.method == "qlora" or job.weights in QUANTIZED)
    targets = lora_targets(job) if frozen else ()
    fused = is_fused(job)
    autocast = job.weights == "fp32" and size == 2.0
    wide_stream = stream_is_wide(job)
    stream = 4.0 if autocast or wide_stream else size  # under autocast the residual stream stays fp32

    def saved(*matrices: str) -> bool:  # whether the input of one of these matrices is kept
        return not frozen or quantised or any(matrix in targets for matrix in matrices)

    query, kv = model.heads * model.head_dim, model.kv_heads * model.head_dim
    if model.kv_lora_rank:
        query, kv = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim), model.heads * model.v_head_dim
    h = model.hidden
    # Transformer Engine keeps the inputs of 8-bit products in 8 bits.
    product_input = 1.0 if job.precision in ("fp8", "fp4") and job.engine in TRANSFORMER_ENGINE else size
    norm_outputs = h * product_input * (saved("q", "k", "v") + saved("gate", "up"))
    masks = (
        2.0 * h if model.kind == "encoder" and not fused else 0.0
    )  # a byte of each value for the dropout after each block
    scaled, wide = 0.0 if frozen else 1.0, "wide" in model.traits
    if (
        model.gated and not fused
    ):  # RMS norm written out keeps its input in fp32 and, for its own weights, what they scale
        norms = 4 if "around" in model.traits else 2
        outside = norm_outputs + norms * h * (4.0 + scaled * (4.0 if wide else stream))
    else:
        outside = norm_outputs + 2 * h * stream + masks
    projections = size * (query + 2 * kv)
    if "queries" in model.traits and not fused:
        projections += (query + kv) * (4.0 + scaled * (4.0 if wide else size))
    if job.engine == "litgpt" or ("one-qkv" in model.traits and not fused):
        projections += size * (query + kv)  # q and k before the rotary embedding: views of one product, as v is
    attention_out = size * (model.heads * model.v_head_dim if model.kv_lora_rank else query)
    scores = 5.0 * model.heads * job.sequence_length / max(1, context) * (size / 2.0)
    width, copies = float(model.ffn), 1.0
    if with_experts:
        width, copies = float(model.expert_ffn), float(model.experts_per_token + model.shared_experts)
        outside += 2 * size * h * model.experts_per_token  # tokens as dispatched to the experts, and as they come back
    branches = 2 if model.gated else 1
    # bitsandbytes' layers give back the format that they were given.
    branch_outputs = (
        (4.0 if wide_stream else size) * width * copies * (branches + (1 if model.gated and not fused else 0))
    )
    down_input = product_input * width * copies if saved("down") else 0.0
    inside = projections + attention_out + branch_outputs + down_input
    if job.attention == "eager":
        inside += scores
    if wide_stream or (frozen and not quantised and not job.weights and job.engine in WIDE_ADAPTERS):
        # Each adapter casts its input: q, k, v and gate, up share none unless they are one matrix, and o keeps one
        # beside the attention's output.
        again = 0 if "one-qkv" in model.traits else max(0, sum(m in targets for m in "qkv") - 1)
        again += 0 if "one-gate" in model.traits else max(0, sum(m in targets for m in ("gate", "up")) - 1)
        outside += size * h * again
        inside += attention_out if "o" in targets else 0.0
    if "scale" in targets:  # the output of every matrix is scaled by something learned, and kept for it
        inside += size * (query + 2 * kv + width * copies * branches)
        outside += 2 * size * h
    divide = tensor
    outside_divide = tensor if sequence_parallel else 1
    boundary = h * stream / outside_divide
    kept = outside / outside_divide + inside / divide
    if job.attention == "eager":  # what it was invented for: the scores alone
        selective = kept - scores / divide
    elif job.engine in TRANSFORMER_ENGINE:  # norms and activation functions, and the projections up from a latent
        latent = size * (model.q_lora_rank + model.kv_lora_rank + model.qk_rope_head_dim)
        selective = kept - norm_outputs / outside_divide - down_input / divide
        selective -= (projections - latent) / divide if model.kv_lora_rank else 0.0
    else:  # the attention output and every second product are kept
        products = size * (query + 2 * kv + h + (branches * width * copies) + h)
        selective = boundary + (attention_out + products / 2) / divide
    gradients = size * (branches * width * copies / divide + 2 * h / outside_divide)
    return LayerActivations(
        kept=kept,
        boundary=boundary,
        selective=min(selective, kept),
        gradients=gradients,
    )


def stage_activations(job: TrainingJob, layouts: Layouts, stage: Stages) -> tuple[Column, Column]:
    """(kept between forward and backward, live while one layer runs) in bytes per token, for the layers of a stage."""
    dense, expert = _by_layout(job, layouts)
    has_experts = stage.with_experts > 0
    mode = (2 * modes(job, layouts)).astype(np.intp)
    of_dense, of_experts = (np.choose(mode, table[:3]) for table in (dense, expert))
    kept = of_dense * (stage.layers - stage.with_experts) + of_experts * stage.with_experts
    largest = np.where(has_experts & (expert[0] >= dense[0]), expert, dense)
    recomputed = np.where(mode == 0, 0.0, np.where(mode == 1, largest[0] - largest[1], largest[0]))
    if job.activation_offload:  # two layers' worth stays while the rest travels
        kept = np.minimum(kept, 2 * np.maximum(of_dense, np.where(has_experts, of_experts, of_dense)))
    return np.asarray(kept), recomputed + largest[3]


def live_bytes_per_flop(model: Architecture) -> float:
    """Bytes of 16-bit activations that a forward pass makes per FLOP, of a model without layers to count: as counted,
    where somebody did, else an estimate that may be wrong by a factor of two, and of four for depthwise convolutions.
    """
    if counted := counted_activations().get(model.key):
        return counted / forward_flop_per_sample(model)
    return _BYTES_PER_FLOP / math.sqrt(max(1.0, params_total(model)))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptActivations:
    """What a further sample adds to the peak of a training step."""

    model: str
    bytes_per_sample: float
    source: str
    checked: str


@cache
def counted_activations() -> Mapping[str, float]:
    """Bytes that a sample keeps for the backward pass under autocast, by model: `tools/count_training.py`."""
    rows = csvtables.read(KeptActivations, Path(__file__).parents[2] / "catalog/data/kept_activations.csv")
    return {row.model: row.bytes_per_sample for row in rows}


def modes(job: TrainingJob, layouts: Layouts) -> Column:
    """What is recomputed, of `MODES`; what the job says stands over the layouts."""
    return layouts.recompute if job.checkpointing is None else np.full_like(layouts.recompute, MODES[job.checkpointing])


def _by_layout(job: TrainingJob, layouts: Layouts) -> tuple[Column, Column]:
    """Bytes per token of a dense layer and of one with experts: (kept, selective, boundary, gradients) x layouts."""
    context = layouts.context if job.attention == "eager" else 1.0
    code = ((2.0 * layouts.tensor + layouts.sequence_parallel) * 65536.0 + context).astype(np.int64)
    every, at = np.unique(code, return_inverse=True)
    tables = []
    for with_experts in (False, True) if job.architecture.experts else (False,):
        layers = [
            _layer_activations(job, value >> 17, value & 0xFFFF, bool(value >> 16 & 1), with_experts)
            for value in every.tolist()
        ]
        tables.append(
            np.array([(layer.kept, layer.selective, layer.boundary, layer.gradients) for layer in layers]).T[:, at]
        )
    return tables[0], tables[-1]


# Tokens and columns of a tile of logits: `TOKEN_CHUNK_SIZE` and `_CHUNKED_LOGPROB_CHUNK_SIZE` of TRL 1.16.
_TILE = (4096.0, 32768.0)
LOSS_FORWARD = 10.0  # bytes of a logit at the end of the forward pass: in 16 bits, in fp32, its log-probability


def loss_bytes_per_token(job: TrainingJob) -> float:
    """Peak bytes per token of logits and loss, at the start of the backward pass, before tensor parallelism divides."""
    model = job.architecture
    # An encoder that is fine-tuned classifies or embeds a text; only pre-training has logits of words.
    wordless = model.kind in ("vision", "diffusion") or (model.kind == "encoder" and job.method != "pretrain")
    return 0.0 if wordless else loss_bytes_per_value(job) * model.vocab


def tiles_loss(job: TrainingJob) -> bool:
    """Whether the loss makes logits tile by tile, forward and again backward."""
    return job.engine in TILES_LOSS and job.preference != "orpo" and job.architecture.kind == "decoder"


def tiled_loss_bytes(job: TrainingJob, layouts: Layouts, tokens: Column) -> Column:
    """What such a loss holds at its fullest: one tile in 16 bits, the states that it reads of the tokens that count,
    and sums in fp32 of their gradients and of the output matrix', which then become gradients as wide as it is.
    """
    model, per = job.architecture, recipes(job, layouts)
    rows, columns = _TILE
    hidden = (value_bytes(job) + 4.0) * tokens * model.hidden
    trained = job.method not in ("lora", "qlora")
    sums = np.where(np.asarray(per.gradients) < 4.0, 4.0, 0.0) * model.vocab * model.hidden if trained else 0.0
    return np.asarray(value_bytes(job) * np.minimum(tokens, rows) * columns + hidden + sums / layouts.tensor)


def loss_bytes_per_value(job: TrainingJob) -> float:
    """Those of one entry of the logits.

    Written out, an entry takes 14: 16-bit logits, fp32 log-probabilities, two fp32 gradients. Compiled 10. A chunked
    loss keeps the 16-bit logits and works on a chunk at a time. Engines with a loss of their own: `LOSS_BYTES`.
    """
    if tiles_loss(job):
        return 0.0
    if job.chunked_loss:
        per_value = 2.25
    elif job.framework == "jax":
        per_value = _XLA
    elif job.engine in LOSS_BYTES or job.engine in TILES_LOSS:
        per_value = LOSS_BYTES.get(job.engine, _HUGGING_FACE)
    else:
        per_value = 10.0 if is_fused(job) else 14.0
    return per_value + (value_bytes(job) if per_value > _XLA and "capped" in job.architecture.traits else 0.0)
