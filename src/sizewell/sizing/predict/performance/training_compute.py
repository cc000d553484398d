"""Seconds of compute: matrix products, attention and memory-bound work of one micro-batch, the optimizer of one step.

A product of (m, k) by (k, n) takes its FLOPs over the achievable rate, stretched where a side is small against the tile
of the unit, plus its operands over the memory bandwidth, plus a fixed gap between kernels. The three products of a
linear layer (forward, gradient of the input, gradient of the weight) have the same three sides and so the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sizewell.sizing.predict.performance.collectives import Number, Values
from sizewell.sizing.predict.performance.training_rows import Rows

FLASH_BACKWARD = 2.5  # FLOPs of flash attention's backward over its forward (Dao 2023): it recomputes the scores
ADAPTER_BYTES = 12.0
"""Bytes that an adapter moves per token and value of its matrix's inputs and outputs, forward and backward: its two
products and their gradients are too thin for anything but the input, output and both gradients to count in 16 bits,
each read and added to (Hu et al. 2021: x A B is added to x W)."""
CASTING_ADAPTER_BYTES = 12.0
"""The same where adapters are in fp32 beside 16-bit weights (PEFT), for each pass: the input is cast up and, under
autocast, down again; the product, its scale and the sum are passes of their own."""
DEQUANTISE_PASSES = 3.0
"""Times as long as its bytes take that unpacking a matrix of 4-bit values does: each is looked up in a table, and its
scale is itself unpacked (bitsandbytes). The least error over published runs on Ampere, Ada and Hopper, where 2.5 to 4
differ little."""
ADAPTER_KERNELS = 4.0  # dropout, two thin products, the sum
EAGER_SCORE_PASSES = 5.0  # times that the score matrix crosses memory in forward where attention is not fused


class LayerTime(NamedTuple):
    """Seconds of one average layer for one micro-batch, forward and backward together, recomputation apart."""

    linear: Values
    attention: Values
    memory: Values
    recompute: Values
    reference: Values
    launches: Values  # of the host, beyond what the device is busy with


def product(
    m: Number, n: Number, inner: Number, rate: Number, *, r: Rows, k: Mapping[str, float], operand: Number = 2.0
) -> Values:
    """Seconds of one matrix product at `rate` FLOP/s with operands of `operand` bytes and a 16-bit result.

    Loading hides behind computing, and less the closer the two are: their root of squares.
    """
    m, n, inner = np.maximum(m, 1.0), np.maximum(n, 1e-9), np.maximum(inner, 1e-9)
    tile, wave = k["tile"], r.wave
    stretch = (1 + tile / m) * (1 + tile / np.maximum(n, 1.0)) * (1 + tile / np.maximum(inner, 1.0))
    # The last wave of tiles does not fill the device; the three products of a layer have three output areas.
    stretch = stretch * (1 + wave / 3.0 * (1 / (m * n) + 1 / (m * inner) + 1 / (n * inner)))
    moved = operand * (m * inner + inner * n) + 2.0 * m * n
    return np.hypot(2.0 * m * n * inner / rate * stretch, moved / r.hbm)


def between(share: Number, none: Number, whole: Number) -> Values:
    """What lies at `share` of the way from `none` to `whole`, in the logarithm: halfway where not stated."""
    return np.asarray(none * (np.asarray(whole, float) / none) ** share)


def tokens(r: Rows) -> Values:
    """Tokens of a micro-batch that one tensor-parallel group works on."""
    return np.asarray(r.micro * r.seq / r.cp, float)


def layer_time(r: Rows, k: Mapping[str, float]) -> LayerTime:
    """Seconds of an average layer; dense and expert feed-forward blocks by their share of the layers."""
    t = tokens(r)
    per_rank = np.where(r.sp > 0, t / r.tp, t)
    last = product(t, r.hidden, r.ffn_down / r.tp, r.rate, r=r, k=k, operand=r.operand)
    linear = (
        product(t, r.qkv_width / r.tp, r.hidden, r.rate, r=r, k=k, operand=r.operand)
        + product(t, r.hidden, r.out_width / r.tp, r.rate, r=r, k=k, operand=r.operand)
        + product(t, r.ffn_up / r.tp, r.hidden, r.rate, r=r, k=k, operand=r.operand)
        + last
    )
    # Experts: with expert parallelism each tensor rank routes its own tokens, else each expert is split over them.
    spread = r.ep > 1
    routed = np.where(spread, t / r.tp, t) * r.topk
    split = np.where(spread, 1.0, r.tp)
    local = np.maximum(1.0, r.experts / r.ep)
    rate = r.rate * k["grouped_gemm_fraction"]
    experts_last = local * product(routed / local, r.hidden, r.expert_down / split, rate, r=r, k=k, operand=r.operand)
    experts = (
        local * product(routed / local, r.expert_up / split, r.hidden, rate, r=r, k=k, operand=r.operand) + experts_last
    )
    linear = np.where(r.layers > 0, linear + r.moe_share * experts, 0.0)
    # A compiler leaves out of the recomputation what nobody reads: the layer's last product.
    unread = r.whole * np.where(r.layers > 0, last + r.moe_share * experts_last, 0.0)

    score_flop = t * r.attention_flop / r.tp
    head_fill = np.maximum(r.head_dim, 1.0) / (np.maximum(r.head_dim, 1.0) + r.head_half)
    scores = t * r.heads / r.tp * r.seq * 2.0 * EAGER_SCORE_PASSES / r.hbm * r.eager_attention
    attention = score_flop / (np.where(r.eager_attention > 0, r.rate16, _attention_rate(r) * head_fill)) + scores
    # Context parallelism attends to one part of the keys at a time and merges the partial results in memory.
    attention = attention + np.maximum(0.0, r.cp - 1) * 10.0 * t * r.out_width / r.tp / r.hbm
    attention_backward = np.where(r.eager_attention > 0, 2.0, FLASH_BACKWARD) * attention

    passes = between(r.fused, k["elementwise_passes.eager"], k["elementwise_passes.fused"])
    moe_bytes = r.moe_share * r.topk * (8.0 * per_rank * r.hidden + 3.0 * routed / np.maximum(r.topk, 1) * r.expert_up)
    narrow_bytes = (
        r.narrow * k["cast_passes"] * t * (2 * r.hidden + (r.qkv_width + r.out_width + r.ffn_up + r.ffn_down) / r.tp)
    )
    memory = (
        2.0 * passes * (10.0 * per_rank * r.hidden + t / r.tp * (1.5 * r.qkv_width + 2.0 * r.ffn_up) + moe_bytes)
        + narrow_bytes
    ) / r.hbm
    # The gradient of the weights is added to an accumulator in memory each micro-batch.
    weights = r.dense_params / r.tp + r.expert_params / np.where(spread, r.ep, r.tp)
    accumulate = 2.0 * r.gradient_bytes * weights * (1 - r.frozen) / r.hbm
    # Forward, backward and where a layer is recomputed: 4 bits are read, 16 are written and read again by the product.
    unpacked = r.dequantised * (2.0 + np.asarray(r.recompute == 1.0, float))
    dequantise = unpacked * DEQUANTISE_PASSES * (0.5 + 2.0 + 2.0) * weights / r.hbm
    beside = t * r.adapter_width / r.tp / r.hbm
    casting = r.casting_adapters * CASTING_ADAPTER_BYTES * beside  # of a forward pass; half as much again backward
    adapters = (1 - r.casting_adapters) * ADAPTER_BYTES * beside + 2.5 * casting
    kernels = k["kernels_per_layer"] * (1 + r.moe_share) * between(r.fused, 2.0, 1.0)
    kernels = kernels + ADAPTER_KERNELS * r.adapters
    gap = r.gap * (kernels + np.where(r.whole > 0, 0.0, k["kernels_per_expert"]) * r.moe_share * local)

    trained = 2.0 - r.frozen  # products in backward for each one in forward
    full = np.asarray(r.recompute == 1.0, float)
    selective = np.asarray(r.recompute == 0.5, float)
    again = full * (linear - unread + attention + memory + gap + casting) + selective * (
        memory + attention * r.eager_attention + 0.5 * linear * r.selective_matmuls
    )
    reference = r.forwards * (linear + attention + memory + gap)
    linear, attention = linear * (1 + trained), attention + attention_backward
    memory = 3.0 * memory + adapters + accumulate + dequantise + 3.0 * gap
    # The backward pass launches twice the forward's operations; recomputation those of it, and hooks around them.
    operations = r.host_operations + np.where(r.zero >= 3, r.host_hooks, 0.0)
    host = k["host_op_s"] * operations * (3.0 + 1.5 * full)
    launches = np.maximum(0.0, host - (linear + attention + memory + again))
    return LayerTime(
        linear=linear, attention=attention, memory=memory, recompute=again, reference=reference, launches=launches
    )


def _attention_rate(r: Rows) -> Values:
    return np.where((r.vendor_attention > 0) | (r.attention_rate_plain <= 0), r.attention_rate, r.attention_rate_plain)


def head_time(r: Rows, k: Mapping[str, float]) -> Values:
    """Seconds of the projection onto the vocabulary and of the loss, on the last stage, per micro-batch.

    Encoders predict the masked tokens only, about 15 % (Devlin et al. 2018).
    """
    t = tokens(r) * np.where(r.causal > 0, 1.0, 0.15)
    width = r.vocab / r.tp
    logits = 16.0 * t * width / r.hbm
    return np.where(r.layers > 0, (3.0 - r.frozen) * product(t, width, r.hidden, r.rate16, r=r, k=k) + logits, 0.0)


def sample_time(r: Rows, k: Mapping[str, float]) -> Values:
    """Seconds of a micro-batch of a vision or diffusion model, known by its FLOPs: compute and activations moved.

    A product of width w reads and writes in proportion to 1/w per FLOP, and parameters grow with the square of widths.
    """
    flop = 3.0 * r.micro * r.sample_flop
    apart = between(r.fused, k["elementwise_passes.eager"] / k["elementwise_passes.fused"], 1.0)
    params = r.width_params
    diffusion = k["bytes_per_flop.diffusion"] * (1e9 / params) ** 0.5
    vision = k["bytes_per_flop.vision"] * (3e7 / params) ** 0.5
    moved = flop * apart * np.where(r.diffusion > 0, diffusion, vision)
    return flop / r.rate + moved / r.hbm


def optimizer_time(r: Rows, k: Mapping[str, float]) -> Values:
    """Seconds of the update: memory-bound over the parameters whose state this device holds."""
    dense, experts = local_params(r)
    shards = np.where(r.zero >= 1, r.shard, 1.0)
    own = np.where(r.ep > 1, r.tp / r.ep, 1.0)  # ranks with the same experts, of those with the same dense matrices
    stored = r.trained_share * (dense / shards + experts / np.maximum(1.0, np.where(r.zero >= 1, shards * own, 1.0)))
    speed = np.where(r.offload > 0, k["offload_bytes_per_s"], r.hbm)
    return stored * r.optimizer_bytes / speed


def local_params(r: Rows) -> tuple[Values, Values]:
    """(dense, routed expert) parameters of a device before ZeRO divides them, after tensor, pipeline and experts."""
    spread = np.where(r.ep > 1, r.ep, r.tp)
    tables = r.table_params / r.tp / np.minimum(r.pp, 2.0)
    dense = np.where(r.layers > 0, r.layers * r.dense_params / r.tp / r.pp + tables, r.params)
    return dense, r.layers * r.expert_params / spread / r.pp
