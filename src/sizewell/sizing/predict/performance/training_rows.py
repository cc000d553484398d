"""The facts that the time of a step follows from, as columns: one row per job, layout and cluster.

A scalar prediction is a table of one row; the layout search and the calibration are tables of many. The formulas see
columns only, so one row of a table and a prediction of its own cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.predict import architecture as arch
from sizewell.sizing.predict.memory.states import FLATTENS, WIDE_ADAPTERS, lora_targets, lora_widths, steps_by_foreach
from sizewell.sizing.predict.performance.collectives import Fabric
from sizewell.sizing.predict.software import gradient_bytes, software_with
from sizewell.sizing.records.jobs import Cluster, Layout, TrainingJob

BYTES_PER_WEIGHT = {
    "nf4": 0.5,
    "nf4-dq": 0.5,
    "int4": 0.5,
    "fp4": 0.5,
    "int8": 1.0,
    "fp8": 1.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp32": 4.0,
}
FUSED = software_with("fused")
"""Engines whose normalisation, activation and dropout are fused kernels without being asked to compile."""
LAUNCHES = software_with("launches")
HOST_OPERATIONS = 36.0
"""Of a layer's forward pass in transformers' Llama: seven products, two norms of six, ten of the rotary embedding, the
attention, activation and product of the branches, two sums, two changes of shape."""
HOST_ADAPTER = 5.0  # further ones of an adapter: a cast, two products, a scale, a sum
HOST_DEQUANTISE = 5.0  # of a matrix in 4 bits: scales of scales, their offset, the values, a transpose, the wrapper
HOST_HOOKS = 50.0
"""Estimate of what DeepSpeed's stage 3 does around a layer's modules, gathering and giving back each: from 0.22 to 0.63
s a step on one H100, 28 layers, recomputed (benchmarks/measured/trainer_h100.jsonl)."""
ADAM_BYTES, FOREACH_BYTES, CLIP_BYTES = 30.0, 80.0, 12.0
"""Per parameter with fp32 state. AdamW in one kernel reads gradient, master weight and two moments, writes three and a
copy; `foreach` makes a pass for each operation; clipping reads gradients for their norm and writes them again."""
EXPONENTIALS_PER_CLOCK = 16  # of a multiprocessor, where the catalog says nothing else
EXPONENTIAL_DIM = {
    "volta": 16.0,
    "turing": 16.0,
    "ada": 16.0,
    "ampere": 32.0,
    "hopper": 67.0,
    "blackwell": 128.0,
    "other": 32.0,
}
"""Dense 16-bit peak over four times the exponentials of a second, both at boost clock; estimate where not NVIDIA's."""
VENDOR_ATTENTION = software_with("vendor-attention")
TUNED_CONVOLUTIONS = software_with("tuned-convolutions")
"""Engines with the vendor's attention kernels, written for each generation; others have what PyTorch ships."""
LAYER_FACTS = (
    "layers", "hidden", "qkv_width", "out_width", "attention_params", "ffn_up", "ffn_down", "moe_share", "experts",
    "topk", "expert_up", "expert_down", "shared", "vocab", "head_dim", "heads", "expert_params", "dense_params",
    "table_params",
)  # fmt: skip
DECODED_PER_S_PER_VCPU = 120.0
"""Estimate: images of 224 x 224 that a virtual CPU decodes, crops and flips a second from 110 kB JPEGs (ImageNet's
mean size) with libjpeg-turbo; more pixels take longer in proportion."""
DECODED_BAND = (2 / 3, 1.5)
"""Factors around it that hold what is published: PyTorch's loader with 8 workers on 16 virtual CPUs decodes 1,276 to
2,920 of ImageNet's images a second by Pillow, OpenCV or torchvision, 80 to 183 each, on five processors of 2020 to 2024
(ternaus/imread_benchmark@15865fb, output/)."""
DECODED_PIXELS = 224 * 224
BYTES_PER_PIXEL = 2.2  # of such a JPEG, per pixel that is trained on
BYTES_PER_TOKEN = 4.0  # token numbers as stored; nothing to decode
CHECKPOINTING = {"none": 0.0, "selective": 0.5, "full": 1.0}
PCIE_ROOT_BYTES_PER_S = 64e9  # PCIe 4.0 x16, both directions: what devices without a fast link share at most

MESHED = frozenset({"xgmi", "roce"})  # links of which each pair of devices has its own
USUAL_NETWORK: Mapping[str, float] = {"rdma": 50e9, "tcp": 3e9, "dcn": 3e9}
"""Bytes per second and device between machines, where the cluster does not say."""


class Rows(SimpleNamespace):
    """Columns by name; each a float or an array that broadcasts with the others."""

    def __getattr__(self, name: str) -> object:  # for type checkers: columns are set by the functions below
        raise AttributeError(name)


@lru_cache(maxsize=1024)
def model_facts(model: Architecture) -> Mapping[str, float]:
    """Per-layer dimensions of the products, averaged over layers where they differ (experts, sliding windows)."""
    if not model.layers or not model.hidden:
        empty = dict.fromkeys(LAYER_FACTS, 0.0)
        return {
            **empty,
            "params": float(arch.params_total(model)),
            "width_params": arch.width_params(model),
            "sample_flop": float(model.forward_flop_per_sample or 0.0),
            "diffusion": float(model.kind == "diffusion"),
        }
    value_dim = model.v_head_dim if model.kv_lora_rank else model.head_dim
    score_dim = model.qk_nope_head_dim + model.qk_rope_head_dim if model.kv_lora_rank else model.head_dim
    attention = arch.attention_params(model)
    out = model.heads * value_dim * model.hidden
    with_experts = [arch.has_experts(model, layer) for layer in range(model.layers)]
    share = sum(with_experts) / model.layers
    up = 2 if model.gated else 1
    routed = arch.routed_expert_params(model) * share if model.experts else 0.0
    tables = 1 if model.tied_embeddings or model.kind != "decoder" else 2
    dense_ffn = model.ffn * (1 - share) + model.shared_experts * model.expert_ffn * share
    return {
        "layers": float(model.layers),
        "hidden": float(model.hidden),
        "qkv_width": (attention - out) / model.hidden,
        "out_width": float(model.heads * value_dim),
        "attention_params": float(attention),
        "ffn_up": up * dense_ffn,
        "ffn_down": dense_ffn,
        "moe_share": share,
        "experts": float(model.experts),
        "topk": float(model.experts_per_token),
        "expert_up": float(up * model.expert_ffn),
        "expert_down": float(model.expert_ffn),
        "shared": float(model.shared_experts),
        "vocab": float(model.vocab),
        "head_dim": float((score_dim + value_dim) / 2),
        "heads": float(model.heads),
        "expert_params": float(routed),  # per layer
        "dense_params": float(attention + (up + 1) * dense_ffn * model.hidden + 2 * model.hidden),  # per layer
        "table_params": float(model.vocab * model.hidden * tables),
        "params": float(arch.params_total(model)),
        "width_params": 1e6,
        "sample_flop": 0.0,
        "diffusion": 0.0,
    }  # fmt: skip


def job_facts(job: TrainingJob) -> dict[str, float]:
    """What a job adds to its model: batch, precision, what is trained, how the kernels are written."""
    model = job.architecture
    frozen = job.method in ("lora", "qlora")
    fused = job.compiled or job.engine in FUSED or job.framework == "jax"
    if model.kind == "vision":  # what fuses a transformer's layers leaves convolution, norm and activation apart
        fused = job.compiled or job.engine in TUNED_CONVOLUTIONS or job.framework == "jax"
    unsaid = job.compiled is None and not fused
    usual = "nf4" if job.method == "qlora" else "bf16" if job.precision in ("fp8", "fp4", "int8") else job.precision
    weights = job.weights or usual
    seq = float(job.sequence_length or (0 if model.forward_flop_per_sample else model.max_sequence_length or 0))
    decoder = model.kind == "decoder"
    adapters, adapter_width = _adapters(job, fused=bool(fused)) if frozen and model.layers else (0, 0)
    per_layer = (
        arch.attention_flop_per_token(model, seq, causal=job.attention == "flash") / model.layers
        if model.layers
        else 0.0
    )
    return {
        **model_facts(model),
        "seq": seq,
        "global_batch": float(job.global_batch),
        "attention_flop": per_layer,  # per token and layer, forward
        "model_flop": _model_flop_per_sample(job, seq),
        "eager_attention": float(job.attention == "eager"),
        "causal": float(decoder),
        "frozen": float(frozen),
        "dequantised": float(frozen and BYTES_PER_WEIGHT.get(weights, 2.0) < 1.0),
        "trained_share": _trained_share(job),
        "optimizer_bytes": _optimizer_bytes(job),
        "host_operations": _host_operations(job, adapters) if job.engine in LAUNCHES else 0.0,
        "host_hooks": HOST_HOOKS if job.engine in FLATTENS else 0.0,
        "casting_adapters": float(job.engine in WIDE_ADAPTERS),
        "adapters": float(adapters),  # per layer
        "adapter_width": float(adapter_width),  # inputs and outputs of the matrices that they stand beside
        "weight_bytes": BYTES_PER_WEIGHT.get(weights, 2.0),
        "gradient_bytes": gradient_bytes(job.engine, job.precision, job.gradients),
        "reduce_bytes": gradient_bytes("", "bf16", job.gradients),  # of sharded weights' gradients, each micro-batch
        "unsynchronised": float(job.unsharded_gradients),
        "narrow": float(job.precision in ("fp8", "fp4", "int8")),
        "operand": {"fp8": 1.0, "int8": 1.0, "fp4": 0.5, "fp32": 4.0, "tf32": 4.0}.get(job.precision, 2.0),
        "fused": 0.5 if unsaid else float(bool(fused)),
        "vendor_attention": float(job.engine in VENDOR_ATTENTION or job.framework == "jax"),
        "offload": float(job.cpu_offload),
        "overlaps": float(not _in_turn(job)),
        "forwards": job.forwards,
        "hides_tensor": _hides_tensor(job),
        "whole": float(job.framework == "jax"),
        **input_facts(model, seq),
        "selective_matmuls": float(job.engine == "torchtitan"),
    }


def input_facts(model: Architecture, seq: float) -> dict[str, float]:
    """What a sample asks of the hosts: vCPU-seconds of decoding, and bytes read."""
    images = model.kind in ("vision", "diffusion") or model.image_tokens > 0
    pixels = float((model.resolution or 224) ** 2) if images else 0.0
    return {
        "decode_s": pixels / DECODED_PIXELS / DECODED_PER_S_PER_VCPU,
        "read_bytes": pixels * BYTES_PER_PIXEL + seq * BYTES_PER_TOKEN,
    }


def _in_turn(job: TrainingJob) -> bool:
    """Software that communicates only after computing: Megatron before 2022, DeepSpeed's pipeline engine."""
    return job.engine == "megatron-deepspeed" or (job.engine == "megatron" and job.attention == "eager")


def _hides_tensor(job: TrainingJob) -> float:
    """How much of the overlap of tensor-parallel traffic with products the software has: all where products are split
    for it (NVIDIA's engines, asynchronous tensor parallelism of PyTorch), half where only the backward pass has
    asynchronous all-reduces (Megatron before 2022), none elsewhere (DeepSpeed's fork of it, PyTorch by default).
    """
    if job.async_tensor or (job.engine in VENDOR_ATTENTION and not _in_turn(job)):
        return 1.0
    return 0.5 if job.engine == "megatron" else 0.0


def _model_flop_per_sample(job: TrainingJob, seq: float) -> float:
    model = job.architecture
    if not seq:
        return 3.0 * (model.forward_flop_per_sample or 0.0)
    passes = 2.0 if job.method in ("lora", "qlora") else 3.0
    return seq * passes / 3.0 * arch.train_flop_per_token(model, seq)


def _adapters(job: TrainingJob, *, fused: bool) -> tuple[int, int]:
    """(adapters of a layer, sum of their inputs and outputs per token); fused engines have one for q, k and v together
    and one for gate and up, which read their input once.
    """
    targets, widths = lora_targets(job), lora_widths(job.architecture, experts=job.architecture.experts_per_token)
    count, width = len(targets), sum(widths[target] for target in targets)
    if fused:
        again = max(0, sum(t in ("q", "k", "v") for t in targets) - 1) + int("gate" in targets and "up" in targets)
        count, width = count - again, width - again * job.architecture.hidden
    return count, width


def _host_operations(job: TrainingJob, adapters: int) -> float:
    """Operations of a layer's forward pass that the host launches."""
    matrices = (7 if job.architecture.gated else 6) if job.method == "qlora" else 0
    return HOST_OPERATIONS + HOST_ADAPTER * adapters + HOST_DEQUANTISE * matrices


def _optimizer_bytes(job: TrainingJob) -> float:
    """Bytes that the update of a parameter moves."""
    moved = FOREACH_BYTES if steps_by_foreach(job) else ADAM_BYTES
    moved += CLIP_BYTES if job.engine in LAUNCHES else 0.0
    return moved / 2.0 if job.weights in ("bf16", "fp16") and job.engine in LAUNCHES else moved


def _trained_share(job: TrainingJob) -> float:
    """Share of the parameters that have gradients and optimizer state."""
    model = job.architecture
    if job.method not in ("lora", "qlora"):
        return 1.0
    rank = job.lora_rank or 16
    return min(1.0, 14.0 * rank * model.hidden * model.layers / max(1, arch.params_total(model)))


def layout_facts(layout: Layout) -> dict[str, float]:
    """A layout's factors as numbers."""
    return {
        "tp": float(layout.tensor),
        "pp": float(layout.pipeline),
        "vp": float(layout.virtual_pipeline),
        "cp": float(layout.context),
        "dp": float(layout.data),
        "ep": float(layout.expert),
        "zero": float(layout.zero_stage),
        "shard": float(layout.shard_group or layout.data * layout.context),
        "sp": float(layout.sequence_parallel),
        "micro": float(layout.micro_batch),
        "recompute": CHECKPOINTING[layout.checkpointing],
    }


def peak_flop_per_s(accelerator: Accelerator, precision: str) -> tuple[float, str]:
    """Dense peak at a precision and the width of the units that do it; falls back to the next wider one there is.

    >>> from types import MappingProxyType as M
    >>> class A: flop_per_s = M({"fp16": 125e12, "fp32": 15e12})
    >>> peak_flop_per_s(A, "fp8")
    (125000000000000.0, '16bit')
    """
    widths = {
        "fp4": "4bit",
        "fp8": "8bit",
        "int8": "8bit",
        "bf16": "16bit",
        "fp16": "16bit",
        "tf32": "32bit",
        "fp32": "32bit",
    }
    chain = {
        "fp4": ("fp4", "fp8", "int8"),
        "fp8": ("fp8",),
        "int8": ("int8", "fp8"),
        "fp16": ("fp16", "bf16"),
        "fp32": ("tf32", "fp32"),
        "tf32": ("tf32", "fp32"),
    }
    wide = ("bf16", "fp16", "tf32", "fp32")
    for name in (*chain.get(precision, (precision,)), *wide):
        if accelerator.flop_per_s.get(name):
            return float(accelerator.flop_per_s[name]), widths[name]
    return 0.0, "16bit"


def link_kind(accelerator: Accelerator, fast: int) -> str:
    """Which constants hold for the link between neighbours."""
    text = accelerator.link.lower()
    if accelerator.runtime == "tpu" or "ici" in text:
        return "ici"
    if fast <= 1 or ("pcie" in text and "nvlink" not in text):
        return "pcie"
    for word, kind in (
        ("nvlink", "nvlink"),
        ("neuron", "neuronlink"),
        ("xgmi", "xgmi"),
        ("infinity", "xgmi"),
        ("roce", "roce"),
        ("gbe", "roce"),
    ):
        if word in text:
            return kind
    return "nvlink" if accelerator.vendor.lower() == "nvidia" else "xgmi"


def network_kind(cluster: Cluster) -> str:
    """Remote direct memory access, the data-centre network of TPU slices, or plain TCP."""
    if cluster.accelerator.runtime == "tpu":
        return "dcn"
    return "rdma" if cluster.fabric.lower() not in ("", "ethernet", "tcp", "ena") else "tcp"


def cluster_facts(cluster: Cluster, precision: str, k: Mapping[str, float]) -> dict[str, float]:
    """Achievable rates of one device and of its links, by the calibrated fractions of their peaks."""
    acc = cluster.accelerator
    peak, width = peak_flop_per_s(acc, precision)
    peak16, width16 = peak_flop_per_s(acc, "bf16")
    power = power_factor(acc, peak16, k)
    fraction16 = fraction(k, "matmul_fraction", generation(acc), width16) * power
    fast = max(1, cluster.scale_up)
    kind = link_kind(acc, fast)
    link = (cluster.link_bytes_per_s or acc.link_bytes_per_s or PCIE_ROOT_BYTES_PER_S) / 2
    inner = link * k[f"link_fraction.{kind}"]
    network = network_kind(cluster)
    outer = (cluster.network_bytes_per_s or USUAL_NETWORK[network]) * k[f"network_fraction.{network}"]
    axes = (3 if "3d" in acc.link.lower() else 2) if kind == "ici" else 1
    return {
        "devices": float(cluster.devices),
        "nodes": float(cluster.nodes),
        "host_vcpus": float(cluster.host_vcpus or math.inf),
        "storage": float(cluster.storage_bytes_per_s or math.inf),
        "peak": peak,
        "peak16": peak16,
        "rate": peak * fraction(k, "matmul_fraction", generation(acc), width) * power,
        "rate16": peak16 * fraction16,
        "attention_rate": peak16 * power * fraction(k, "attention_fraction", acc.family, ""),
        "head_half": k["head_dim_half"] * _exponential_dim(acc),
        "attention_rate_plain": peak16 * power * k.get(f"attention_fraction_plain.{acc.family}", 0.0),
        "wave": k["wave"] if acc.runtime in ("cuda", "rocm") else 0.0,
        "hbm": acc.memory_bytes_per_s * k["memory_fraction"],
        "inner": inner,
        "host": min(link, PCIE_ROOT_BYTES_PER_S / 2) * k["link_fraction.pcie"],
        "outer": outer,
        "inner_latency": k[f"latency_s.{'ici' if kind == 'ici' else 'inner'}"],
        "outer_latency": k["latency_s.outer"],
        "fast": float(fast),
        "domain": float(max(fast, cluster.per_node)),
        "axes": float(axes),
        "mesh": float(kind in MESHED),
        "gap": k["kernel_gap_s.xla" if acc.runtime == "tpu" else "kernel_gap_s"],
    }


def generation(acc: Accelerator) -> str:
    """The family that constants are kept for; TPUs by the width of their matrix units (256 since v6e, before 128)."""
    if acc.runtime == "tpu":
        return "tpu-256" if (acc.matrix_width or 0) >= 256 else "tpu"
    return acc.family.lower()


def fraction(k: Mapping[str, float], name: str, family: str, width: str) -> float:
    """A fraction by family and width; where the family has none, that of any family."""
    tail = f".{width}" if width else ""
    for key in (f"{name}.{family.lower()}{tail}", f"{name}.other{tail}"):
        if key in k:
            return k[key]
    return k[f"{name}.other.16bit"]


def _exponential_dim(acc: Accelerator) -> float:
    """Head size at which the exponentials of attention take as long as its products: peak / (4 x exponentials).

    A score costs one exponential and 4 FLOPs per value of the head. CUDA's guide: 16 special functions per clock and
    multiprocessor from compute capability 8.0 to 10.0; Blackwell Ultra twice that.
    """
    width = EXPONENTIAL_DIM.get(acc.family.lower(), EXPONENTIAL_DIM["other"])
    return width * EXPONENTIALS_PER_CLOCK / (acc.exponentials_per_clock or EXPONENTIALS_PER_CLOCK)


def power_factor(acc: Accelerator, peak16: float, k: Mapping[str, float]) -> float:
    """Clocks fall where the power limit is low for the peak: (watts per peak against the family's full-power part)."""
    reference = {"ampere": 400 / 312e12, "hopper": 700 / 989e12, "blackwell": 1400 / 2500e12}.get(acc.family.lower())
    if not reference or not acc.tdp_w or not peak16:
        return 1.0
    return float(min(1.0, (acc.tdp_w / peak16 / reference) ** k["power_exponent"]))


def rows(facts: Mapping[str, Any]) -> Rows:
    """A table from columns that broadcast; the fabric is one of them."""
    r = Rows(**facts)
    r.fabric = Fabric(
        inner_bytes_per_s=r.inner,
        host_bytes_per_s=r.host,
        outer_bytes_per_s=r.outer,
        inner_latency_s=r.inner_latency,
        outer_latency_s=r.outer_latency,
        fast=r.fast,
        domain=r.domain,
        axes=r.axes,
        mesh=r.mesh,
    )
    return r


def one_row(job: TrainingJob, layout: Layout, cluster: Cluster, k: Mapping[str, float]) -> dict[str, float]:
    """All facts of one prediction."""
    facts = {**job_facts(job), **layout_facts(layout), **cluster_facts(cluster, job.precision, k)}
    if job.checkpointing is not None:  # what the job says stands over the layout, as for memory
        facts["recompute"] = CHECKPOINTING[job.checkpointing]
    return facts
