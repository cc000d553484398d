"""One replica of a language model: what a decode step and a prefill cost on `tensor` devices.

Decoding reads the weights once per step, whatever the batch, and the cache of every sequence: bandwidth-bound while the
batch is small. Prefill does two FLOPs per parameter and token, and attention on top: compute-bound. Both pay two
collectives per layer when the model is split, and the engine's own time per step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.architecture import (
    attention_flop_per_token,
    embedding_params,
    forward_flop_per_token,
    has_experts,
    kv_bytes_per_token,
    matmul_params,
    output_params,
    params_total,
    routed_expert_params,
)
from sizewell.sizing.predict.memory import adapter_bytes, adapter_params_per_token
from sizewell.sizing.predict.performance import training_rows
from sizewell.sizing.predict.performance.serving_constants import constants, family_of
from sizewell.sizing.records.jobs import Cluster, Pace, ServingJob, Speculation

BYTES = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5625, "int4": 0.5625}
"""Stored bytes per weight; 4-bit formats carry a scale per group of 16 to 32 weights."""

# Share of the 16-bit rate that products reach whose weights are unpacked on the way, as the device has no units for
# them. Qwen3-8B and 14B in vLLM against bf16: 0.79 and 0.93 (GPTQ, AWQ, A100), 0.85 (FP8, A100), 1.02 (W4A16, H100),
# memory read less included (gpustack/gpustack@47277d7, docs/performance-lab); prompts in llama.cpp 0.76 to 0.85.
UNPACKED = 0.85
NARROW = frozenset({"fp8", "fp4", "int8"})  # formats that inputs are scaled to as well
PCIE_BYTES_PER_S = 64e9  # bidirectional, 4.0 x16, where the catalog does not know the link

# Kernels that one layer launches in a step, fused as the engines do it: what each of them costs beyond its bytes and
# FLOPs (filling and draining the device) is a constant of the fit, how many there are follows from the model.
KERNELS = 10  # two norms, query-key-value product, rotation, cache write, attention and its merge, output, two products
EXPERT_KERNELS = 8  # router, choice, sorting, gathering, grouped products less the dense ones, weighting, sum
LATENT_KERNELS = 7  # compression and expansion of queries and keys, their norms, products absorbed before and after
NARROW_KERNELS = 4  # scaling the inputs of each of the four products to 8 or 4 bits

WHOLE_PROGRAM = 1 / 3  # of a kernel's time: in programs compiled whole the next one already exists (as in training)


def kernels_per_step(model: Architecture, weights: str) -> float:
    """Kernels that a step launches on a device.

    >>> dense = Architecture(key="x", kind="decoder", layers=2, hidden=64, heads=4, kv_heads=4, ffn=256, vocab=100)
    >>> kernels_per_step(dense, "bf16"), kernels_per_step(dense, "fp8")
    (20.0, 28.0)
    """
    each = KERNELS + (LATENT_KERNELS if model.kv_lora_rank else 0) + (NARROW_KERNELS if weights in NARROW else 0)
    routed = sum(has_experts(model, layer) for layer in range(model.layers))
    return float(model.layers * each + routed * EXPERT_KERNELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """Seconds that each part of a step takes; see `decode_s` and `prefill_s` for how they add up."""

    devices: int
    weights_s: float  # reading all weights that every token uses, once
    experts_s: float  # reading all routed experts once
    expert_share: float  # experts per token / experts; 0 for a dense model
    cache_s_per_token: float  # reading one token of cache
    linear_s_per_token: float  # matrix products of one token
    head_s_per_token: float  # projection onto the vocabulary: per token decoded, once per sequence in prefill
    decode_pair_s: float  # one new token attending to one cached token
    prompt_pair_s: float  # the same inside the prompt, masked half included
    prompt_extra_s: float  # the vision tower, once per prompt
    collective_s: float  # latency of all collectives of one step
    collective_s_per_token: float
    step_s: float
    sequence_s: float
    adapter_s: float = 0.0  # reading one LoRA adapter
    adapters: int = 0  # in memory, of which each sequence uses one
    prefix: float = 0.0  # share of a prompt that is not read, as the prefix cache holds it
    launches: float = 0.0  # of kernels by the host, in a step that no graph was recorded of; 0 where programs are whole
    wait_s: float = 0.0  # of a first token beside the device: measured, of the host and the network
    speculation: Speculation | None = None
    draft: Replica | None = None  # the model that proposes tokens, on the same devices

    @property
    def tokens_per_step(self) -> float:
        """Tokens that a decode step adds to a sequence, at the mean."""
        return self.speculation.tokens_per_step if self.speculation else 1.0

    @property
    def checked(self) -> int:
        """Tokens of a sequence that a decode step works on: the last one and those that are proposed after it."""
        return 1 + (self.speculation.tokens if self.speculation else 0)

    @property
    def context_s(self) -> float:
        """What one token of a sequence's context adds to a decode step, with the steps of the draft before it."""
        own = self.cache_s_per_token + self.checked * self.decode_pair_s
        return own + (self.checked - 1) * self.draft.context_s if self.draft else own

    def read_s(self, batch: float) -> float:
        """Reading the weights that `batch` tokens touch: the larger it is, the more experts and adapters."""
        touched = 1.0 - (1.0 - self.expert_share) ** batch if self.expert_share else 0.0
        apart = self.adapters * (1.0 - (1.0 - 1.0 / self.adapters) ** batch) if self.adapters else 0.0
        return self.weights_s + self.experts_s * touched + self.adapter_s * apart

    def decode_s(self, batch: float, context: float) -> float:
        """The time in which each of `batch` sequences of `context` tokens gets one more token, at the mean."""
        return self.decode_step_s(batch, context) / self.tokens_per_step

    def decode_step_s(self, batch: float, context: float) -> float:
        """One step that adds a token to each of `batch` sequences of `context` tokens; with speculative decoding the
        draft's steps, one after the other, and the step of the model over all that they propose.
        """
        checked = self.checked
        each = self.linear_s_per_token + self.head_s_per_token + self.collective_s_per_token
        own = (
            self.read_s(batch * checked)
            + batch * context * (self.cache_s_per_token + checked * self.decode_pair_s)
            + batch * (checked * each + self.sequence_s)
            + self.collective_s
            + self.step_s
        )
        return own + (checked - 1) * self.draft.decode_step_s(batch, context) if self.draft else own

    def prompt_s(self, tokens: float) -> float:
        """Device time that a prompt of `tokens` tokens adds to a step that runs anyway (continuous batching).

        Tokens that the prefix cache holds are not read; those that are attend to them as well.
        """
        read = tokens * (1.0 - self.prefix)
        per_token = self.linear_s_per_token + self.collective_s_per_token
        pairs = tokens * tokens * (1.0 - self.prefix * self.prefix)
        once = self.head_s_per_token + self.prompt_extra_s + self.sequence_s
        own = read * per_token + pairs * self.prompt_pair_s + once
        return own + self.draft.prompt_s(tokens) if self.draft else own

    def prefill_s(self, tokens: float, sequences: float = 1.0) -> float:
        """A step of its own that reads `sequences` prompts of `tokens` tokens."""
        drafted = self.draft.prompt_s(tokens) if self.draft else 0.0
        work = sequences * (self.prompt_s(tokens) - drafted)
        read = self.read_s(tokens * (1.0 - self.prefix) * sequences)
        own = max(work, read) + self.collective_s + self.step_s
        return own + self.draft.prefill_s(tokens, sequences) if self.draft else own


def peak_flop_per_s(accelerator: Accelerator, precision: str) -> float:
    """Dense peak of the matrix units in the precision they really compute in: 4-bit weights without 4-bit units are
    expanded to 16 bits, and a format that the device does not have falls back to the next wider one.
    """
    order = {
        "fp4": ("fp4", "bf16", "fp16", "fp32"),  # engines do not narrow the inputs to 8 bits for them
        "int4": ("fp16", "bf16", "fp32"),
        "fp8": ("fp8", "bf16", "fp16", "fp32"),
        "int8": ("int8", "fp8", "bf16", "fp16", "fp32"),
        "fp16": ("fp16", "bf16", "fp32"),
        "bf16": ("bf16", "fp16", "fp32"),
        "tf32": ("tf32", "fp32", "bf16"),
        "fp32": ("fp32", "tf32", "bf16", "fp16"),
    }
    for name in order.get(precision, order["bf16"]):
        if accelerator.flop_per_s.get(name):
            return accelerator.flop_per_s[name]
    return max(accelerator.flop_per_s.values(), default=0.0)


def product_flop_per_s(accelerator: Accelerator, precision: str) -> float:
    """`peak_flop_per_s`, less what unpacking weights takes that the device does not compute in."""
    peak = peak_flop_per_s(accelerator, precision)
    narrow = BYTES.get(precision, 2.0) < 2.0 and peak == peak_flop_per_s(accelerator, "bf16")
    return peak * UNPACKED if narrow and accelerator.runtime != RUNTIME else peak  # in what processors were measured at


def replica(job: ServingJob, cluster: Cluster, *, tensor: int, pipeline: int = 1) -> Replica:
    """The step costs of one replica of `job` over `tensor` x `pipeline` devices of `cluster`.

    Pipeline stages work on as many micro-batches at once, each of which reads its stage's weights: work is divided by
    the stages, reading the weights and the engine's own time are not. As prompts come one at a time, micro-batches
    differ, and each further stage waits for the slowest.
    """
    c = constants()
    model, accelerator = job.architecture, cluster.accelerator
    family, engine, link = c.family(family_of(accelerator)), c.engine(job.engine), group_link(cluster, tensor)
    counts = weight_counts(model)
    width = BYTES.get(job.weights, 2.0)
    dense = job.dense_weights or job.weights
    devices = tensor * pipeline
    bandwidth = accelerator.memory_bytes_per_s * family.memory * devices
    compute = product_flop_per_s(accelerator, job.weights) * family.compute * devices
    compute_dense = product_flop_per_s(accelerator, dense) * family.compute * devices
    compute16 = peak_flop_per_s(accelerator, "bf16") * family.compute * devices
    attention = peak_flop_per_s(accelerator, "bf16") * attention_share(accelerator, model.head_dim) * devices
    context = job.input_tokens + job.output_tokens / 2
    cache_bytes = kv_bytes_per_token(model, kv_bytes_per_value(job), context=context)
    routed_layers = sum(has_experts(model, layer) for layer in range(model.layers))
    ranks = tensor if job.attention_by_request and routed_layers else 1  # that each attend to requests of their own
    split = tensor if model.kv_lora_rank or ranks > 1 else min(tensor, max(1, model.kv_heads))
    if ranks > 1:  # a token is sent to the devices that have its experts, and back, from one rank of all
        visited = min(model.experts_per_token, tensor) * (tensor - 1) / tensor / ranks
        meetings, volume = 2 * routed_layers, 2 * routed_layers * model.hidden * 2.0 * visited
    else:  # two all-reduces of 16-bit activations a layer
        meetings, volume = 2 * model.layers, 2 * model.layers * model.hidden * 2.0 * 2 * (tensor - 1) / tensor
    waits = 1.0 + c.stage_wait * (pipeline - 1)
    xla = WHOLE_PROGRAM if accelerator.runtime == "tpu" else 1.0
    prompt = max(1.0, job.input_tokens)
    expert_share = model.experts_per_token / model.experts if model.experts else 0.0
    routed = counts.experts * expert_share  # of the parameters that a token is multiplied with
    linear_s = (counts.matmul - counts.head - routed) / compute_dense + routed / c.experts_speed / compute
    # Inputs are scaled only where products run in the narrow format.
    kernels = kernels_per_step(model, job.weights if accelerator.flop_per_s.get(job.weights) else "bf16")
    predicted = Replica(
        devices=devices,
        weights_s=waits * ranks * counts.dense * BYTES.get(dense, 2.0) * pipeline / bandwidth,
        experts_s=waits * counts.experts * width * pipeline / bandwidth,
        expert_share=expert_share,
        cache_s_per_token=waits * cache_bytes * (tensor / split) / bandwidth,
        linear_s_per_token=waits * 2.0 * (linear_s + adapter_params_per_token(job) / compute16),
        head_s_per_token=waits * 2.0 * counts.head / compute16,
        decode_pair_s=waits * _decode_attention_flop_per_pair(model, context) / compute16,
        prompt_pair_s=waits * attention_flop_per_token(model, prompt) / prompt / min(compute16, attention),
        prompt_extra_s=2.0 * model.extra_params * model.image_tokens / compute16,
        collective_s=meetings * link.latency_s if tensor > 1 else 0.0,
        collective_s_per_token=volume / link.bytes_per_s,
        step_s=engine.step_s * pipeline + xla * c.kernel_s * kernels,
        sequence_s=engine.sequence_s / ranks,
        adapter_s=adapter_bytes(replace(job, adapters=1), tensor=1) / bandwidth if job.adapters else 0.0,
        adapters=job.adapters,
        prefix=job.prefix,
        launches=kernels if accelerator.runtime in ("cuda", "rocm") else 0.0,
        speculation=job.speculation,
    )
    predicted = predicted if job.pace is None else _at_pace(predicted, job.pace, accelerator)
    # The draft is split as the model is (vLLM's default), and each of its steps takes the engine's own time, which is
    # the careful side: nobody has published what of it a draft's step is spared.
    drafting = job.drafting
    if drafting is None:
        return predicted
    return replace(predicted, draft=replica(drafting, cluster, tensor=tensor, pipeline=pipeline))


_OF_PROMPTS = ("linear_s_per_token", "collective_s_per_token", "prompt_pair_s", "prompt_extra_s", "launches")
_OF_STEPS = (
    *("weights_s", "experts_s", "cache_s_per_token", "head_s_per_token", "decode_pair_s"),
    *("collective_s", "step_s", "sequence_s", "adapter_s"),
)


def _at_pace(of: Replica, pace: Pace, accelerator: Accelerator) -> Replica:
    """The replica as it was measured; a launch has no time of its own here, so there are more of them."""
    steps, prompts = pace.on(accelerator)
    times = {**dict.fromkeys(_OF_STEPS, steps), **dict.fromkeys(_OF_PROMPTS, prompts)}
    return replace(of, wait_s=pace.wait_s, **{name: getattr(of, name) * factor for name, factor in times.items()})


_ATTENTION_MEASURED = {"hopper": 0.6}
"""Share of the 16-bit peak that causal attention over a prompt of 8,192 tokens or more reaches in the vendor's kernels,
heads of 128 (benchmarks/measured/kernels_h100.jsonl: 0.53 to 0.62)."""


def attention_share(accelerator: Accelerator, head_dim: int) -> float:
    """Share of the 16-bit peak that attention over a prompt reaches: as measured, else as in training, whose kernels
    are the same; 1 where neither is known, so that matrix products are the limit.
    """
    family = accelerator.family.lower()
    if family in _ATTENTION_MEASURED:
        return _ATTENTION_MEASURED[family]
    whole = calibration.values("training").get(f"attention_fraction.{family}")
    if whole is None or not head_dim:
        return 1.0
    return whole * head_dim / (head_dim + training_rows.EXPONENTIAL_DIM.get(family, 0.0))


def kv_bytes_per_value(job: ServingJob) -> float:
    return 1.0 if job.kv in ("fp8", "int8") else 2.0


@dataclass(frozen=True, slots=True)
class GroupLink:
    """What a group's collectives run over."""

    latency_s: float  # of a collective
    bytes_per_s: float  # that a device sends, one way, as achieved


def group_link(cluster: Cluster, group: int) -> GroupLink:
    """The slowest link between `group` neighbours: the fast link where it joins them all (switch, bridge, torus), else
    the host's PCIe, between machines the network.

    On a full mesh (xGMI) a group has only the links between its own members. Of a group over several machines each
    device sends its share of what its machine holds, so the network carries that much less (Thakur et al. 2005).

    >>> from sizewell.sizing.catalog import load
    >>> pair = load().accelerator("h100-nvl")
    >>> here = Cluster(accelerator=pair, per_node=4, scale_up=2, link_bytes_per_s=pair.link_bytes_per_s)
    >>> group_link(here, 2).bytes_per_s > 5 * group_link(here, 4).bytes_per_s
    True
    """
    links, accelerator = constants().links, cluster.accelerator
    stated = cluster.link_bytes_per_s or PCIE_BYTES_PER_S
    if group <= cluster.scale_up:
        fast = links[link_kind(cluster)]
        meshed = training_rows.link_kind(accelerator, cluster.scale_up) in training_rows.MESHED and cluster.scale_up > 2
        share = (group - 1) / (cluster.scale_up - 1) if meshed and group > 1 else 1.0
        return GroupLink(fast.latency_s, stated / 2 * fast.bandwidth * share)
    host = links["pcie"]
    own = stated if cluster.scale_up <= 1 and "nvlink" not in accelerator.link.lower() else PCIE_BYTES_PER_S
    inside = GroupLink(host.latency_s, min(own, stated) / 2 * host.bandwidth)
    if group <= cluster.per_node:
        return inside
    k = calibration.values("training")
    kind = training_rows.network_kind(cluster)
    rate = (cluster.network_bytes_per_s or training_rows.USUAL_NETWORK[kind]) * k[f"network_fraction.{kind}"]
    together = max(cluster.scale_up, cluster.per_node)
    local = inside if cluster.scale_up < cluster.per_node else group_link(cluster, together)
    apart = (group - 1) / group / (1 - together / group)  # of what a device sends, what leaves its machine
    return GroupLink(
        local.latency_s + k["latency_s.outer"] * math.log2(group / together),
        min(local.bytes_per_s, rate * together * apart),
    )


def link_kind(cluster: Cluster) -> str:
    """Which of the calibrated links joins neighbours: the scale-up fabric, or PCIe where there is none."""
    if cluster.scale_up <= 1:
        return "pcie"
    return {"tpu": "ici", "neuron": "neuronlink"}.get(cluster.accelerator.runtime, "nvlink")


@dataclass(frozen=True, slots=True)
class WeightCounts:
    """Parameters by how serving uses them."""

    dense: float  # read at every step: attention, dense feed-forward, shared experts, head
    experts: float  # all routed experts together
    matmul: float  # multiplied for every token, head included
    head: float  # projection onto the vocabulary


@lru_cache(maxsize=512)
def weight_counts(model: Architecture) -> WeightCounts:
    experts = float(sum(routed_expert_params(model) for layer in range(model.layers) if has_experts(model, layer)))
    lookup = embedding_params(model) if output_params(model) else 0
    head = float(model.vocab * model.hidden) if model.kind == "decoder" else 0.0
    return WeightCounts(
        dense=params_total(model) - experts - lookup - model.extra_params,
        experts=experts,
        matmul=float(matmul_params(model)),
        head=head,
    )


def _decode_attention_flop_per_pair(model: Architecture, context: float) -> float:
    """FLOPs of one new token attending to one cached token, all layers; latent attention works on the latent vector."""
    if model.kv_lora_rank:
        return 2.0 * model.layers * model.heads * (2 * model.kv_lora_rank + model.qk_rope_head_dim)
    return (forward_flop_per_token(model, context) - 2.0 * matmul_params(model)) / max(1.0, context)
