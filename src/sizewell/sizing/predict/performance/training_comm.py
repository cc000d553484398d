"""Seconds of communication: what each kind of parallelism moves, over which link, and how much compute hides.

Devices are placed tensor innermost, then context, experts and data, pipeline outermost (Megatron's order), so a group's
stride is the product of the factors inside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sizewell.sizing.predict.performance import collectives as c
from sizewell.sizing.predict.performance.collectives import Number, Values
from sizewell.sizing.predict.performance.training_compute import local_params, tokens
from sizewell.sizing.predict.performance.training_rows import Rows

ACTIVATION_BYTES = 2.0


class LayerTraffic(NamedTuple):
    """Seconds that one layer and micro-batch spend on each kind of traffic before anything is hidden."""

    tensor: Values
    expert: Values
    context: Values
    shards: Values


def layer_traffic(r: Rows) -> LayerTraffic:
    """Traffic of an average layer, forward, backward and recomputation."""
    t = tokens(r)
    again = np.asarray(r.recompute == 1.0, float)
    routed = ACTIVATION_BYTES * np.where(r.ep > 1, t / r.tp, t) * r.topk * r.hidden
    trips = 4.0 + 2.0 * again
    expert = np.where(
        r.ep > 1, r.moe_share * trips * c.all_to_all(routed, r.ep, 1.0, r.fabric, np.maximum(1.0, r.topk)), 0.0
    )

    key_values = ACTIVATION_BYTES * t * np.maximum(0.0, r.qkv_width - r.out_width) / r.tp
    context = np.where(r.cp > 1, (3.0 + again) * c.all_gather(key_values * r.cp, r.cp, r.tp, r.fabric), 0.0)

    weights = r.weight_bytes * (r.dense_params / r.tp + r.expert_params / np.where(r.ep > 1, r.ep, r.tp))
    reduce = (r.reduce_bytes * weights / r.weight_bytes) * (1 - r.frozen)
    gather = c.all_gather(weights, r.shard, r.tp, r.fabric)
    scatter = c.reduce_scatter(reduce, r.shard, r.tp, r.fabric)
    scatter = np.where(r.unsynchronised > 0, scatter / micro_batches(r), scatter)  # after the last micro-batch alone
    shards = np.where((r.zero >= 3) & (r.shard > 1), 2.0 * gather + scatter, 0.0)
    return LayerTraffic(tensor_traffic(r), expert, context, shards)


def micro_batches(r: Rows) -> Values:
    """Micro-batches of a step on one data-parallel rank."""
    return np.maximum(1.0, r.global_batch / (r.dp * r.micro))


def tensor_traffic(r: Rows) -> Values:
    """Seconds of the tensor-parallel traffic of an average layer.

    Two all-reduces forward and two backward, or as many pairs of gather and scatter with sequence parallelism, which
    gathers once more in backward (Korthikanti et al. 2022).
    """
    again = np.asarray(r.recompute == 1.0, float)
    activation = ACTIVATION_BYTES * tokens(r) * r.hidden
    gathers = 8.0 + 4.0 * again + np.where(r.sp > 0, 2.0, 0.0) * (1 - r.frozen)
    return np.where(r.tp > 1, gathers * c.all_gather(activation, r.tp, 1.0, r.fabric), 0.0)


def exposed(traffic: Values, cover: Values, overlap: Number) -> Values:
    """What is left of traffic when a share of it may hide behind `cover` seconds of compute."""
    hidden = np.minimum(overlap * traffic, cover)
    return traffic - hidden


def pipeline_send(r: Rows) -> Values:
    """Seconds of handing activations and their gradients to the next stage, per micro-batch and device.

    Each tensor-parallel rank sends its share, and the next stage puts them together over the fast link (Narayanan et
    al. 2021, 4.1).
    """
    size = ACTIVATION_BYTES * tokens(r) * r.hidden
    stride = r.tp * r.cp * r.dp
    together = np.where((r.tp > 1) & (r.sp == 0), c.all_gather(size, r.tp, 1.0, r.fabric), 0.0)
    return np.where(r.pp > 1, 2.0 * r.vp * (c.send(size / r.tp, stride, r.fabric) + together), 0.0)


def gradient_sync(r: Rows) -> Values:
    """Seconds of reducing gradients once per step (and gathering updated weights, with sharded state), unhidden.

    Experts are replicated over fewer ranks than the rest, and those stand further apart.
    """
    dense, experts = local_params(r)
    ranks = r.dp * r.cp
    spread = r.ep > 1
    expert_ranks = np.maximum(1.0, np.where(spread, ranks * r.tp / r.ep, ranks))
    expert_stride = np.where(spread, r.ep, r.tp)
    total: Values = 0.0
    for params, group, stride in ((dense, ranks, r.tp), (experts, expert_ranks, expert_stride)):
        trained = params * r.trained_share
        grads = c.reduce_scatter(r.gradient_bytes * trained, group, stride, r.fabric)
        updated = c.all_gather(np.minimum(r.gradient_bytes, 2.0) * trained, group, stride, r.fabric)
        # With FSDP in groups, the groups still agree once per step.
        replicas = np.maximum(1.0, ranks / r.shard)
        between_groups = c.all_reduce(2.0 * trained / r.shard, replicas, r.tp * r.shard, r.fabric)
        # Models known by their FLOPs have no layers whose gathering `layer_traffic` counts.
        gathered = np.where(r.layers > 0, 0.0, grads + 2.0 * updated)
        sharded = np.where(r.zero >= 3, np.where(replicas > 1, between_groups, 0.0) + gathered, grads + updated)
        total = total + np.where((group > 1) & (trained > 0), np.where(r.zero >= 1, sharded, 2.0 * grads), 0.0)
    return total


def overlaps(k: Mapping[str, float]) -> tuple[float, float, float, float, float]:
    """Shares that may hide: tensor, expert, context, shards, gradients."""
    return tuple(k[f"overlap.{name}"] for name in ("tensor", "expert", "context", "shards", "gradients"))  # type: ignore[return-value]
