"""Memory of a model that serves: weights, attention cache, the engine's profiled activations, graphs and context.

vLLM (and engines after its pattern) take a fraction of the device, load the weights, run the largest batch that they
will ever schedule, and give what is left of the fraction to the attention cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import (
    assumptions,
    cross_attention_bytes,
    embedding_params,
    expert_layers,
    forward_flop_per_sample,
    is_guess,
    is_speech_recognizer,
    kv_bytes_per_token,
    local_layers,
    output_params,
    params_total,
    stage_params,
)
from sizewell.sizing.predict.memory.activations import live_bytes_per_flop
from sizewell.sizing.predict.memory.constants import constants
from sizewell.sizing.predict.memory.device import usable_bytes
from sizewell.sizing.predict.memory.states import (
    QUANTISES_HEAD,
    REPLICATES_TABLES,
    bytes_of,
    largest_quantised,
    lora_widths,
)
from sizewell.sizing.predict.software import software_with
from sizewell.sizing.records.jobs import MemoryEstimate, ServingJob
from sizewell.sizing.units import GIB

PAGED = software_with("paged")
FREES_WINDOWS = software_with("frees-windows")
_WHOLE_HEADS = software_with("whole-heads")
_PREFILL_CHUNK = 8192  # tokens per step that vLLM schedules at most, by default, on large devices
_SMALL_DEVICE_CHUNK = 2048
_BLOCK_TOKENS = 16  # of a page of the cache: a window begins somewhere in its first page
_LARGE_DEVICE = 70 * GIB
ADAPTER_VALUE_BYTES = 2.0  # adapters are 16-bit over quantised weights too
# Estimate: what of a model without layers to count is live at once, of all that training would keep of it. ResNet-50
# keeps about 56 MB per image in all; its widest stage is two tensors of 112 x 112 x 64 and their input, 4 MB.
_LIVE_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingParts:
    """Bytes on one device of a replica before any token is cached, and bytes per cached token there."""

    weights: float
    activations: float
    communicators: float
    context: float
    graphs: float
    kv_per_token: float
    adapters: float = 0.0
    draft: float = 0.0  # weights of the model that proposes tokens
    draft_kv_per_token: float = 0.0

    @property
    def fixed(self) -> float:
        """What an engine subtracts from its share before it sizes the cache; graphs are captured later."""
        return self.weights + self.adapters + self.draft + self.activations + self.communicators + self.context


def serving_memory(
    job: ServingJob, *, tensor: int, sequences: float, accelerator: Accelerator, pipeline: int = 1
) -> MemoryEstimate:
    """Bytes per device with `sequences` of the job's longest length in flight; compare with `serving_usable_bytes`."""
    parts = serving_parts(job, tensor=tensor, accelerator=accelerator, pipeline=pipeline)
    in_flight = "kv cache" if keeps_cache(job.architecture) else "samples"
    items = (
        ("weights", round(parts.weights)),
        ("adapters", round(parts.adapters)),
        ("draft model", round(parts.draft)),
        (in_flight, round(sequence_bytes(job, parts) * sequences)),
        ("activations", round(parts.activations)),
        ("graphs", round(parts.graphs)),
        ("communicators", round(parts.communicators)),
        ("context", round(parts.context)),
    )
    breakdown = tuple((name, size) for name, size in items if size)
    total = sum(size for _, size in breakdown)
    low, high = _band(job, accelerator)
    most = round(total * high)
    if job.engine in PAGED:  # what weights and engine take beyond what is predicted, they take from the cache
        usable, alone = serving_usable_bytes(job, parts, accelerator), sequence_bytes(job, parts)
        fixed = (parts.fixed + parts.graphs) * high
        most = min(most, round(fixed + max(alone, min(alone * sequences * high, usable - fixed))))
    return MemoryEstimate(
        breakdown=breakdown,
        low_bytes=round(total * low),
        high_bytes=most,
        grade="roofline" if _is_guess(job, accelerator) else "calibrated",
        assumptions=assumptions(job.architecture),
    )


def _band(job: ServingJob, accelerator: Accelerator) -> tuple[float, float]:
    low, high = (constants().bands_assumed if job.engine_assumed else constants().bands)["serving"]
    return (low**2, high**2) if _is_guess(job, accelerator) else (low, high)


def _is_guess(job: ServingJob, accelerator: Accelerator) -> bool:
    """Whether no published case stands behind the figures."""
    return is_guess(job.architecture) or accelerator.runtime == RUNTIME


def bytes_for_one(job: ServingJob, parts: ServingParts, accelerator: Accelerator) -> tuple[float, float]:
    """What a replica needs of a device for the longest request alone: as predicted, and at the upper edge of the band
    of weights and engine. It fits where the latter does.
    """
    fixed = parts.fixed + parts.graphs
    longest = max(job.longest_tokens, job.max_sequence_length)
    request = sequence_bytes(replace(job, max_sequence_length=longest), parts)
    return fixed + request, fixed * _band(job, accelerator)[1] + request


def serving_budget_bytes(job: ServingJob, accelerator: Accelerator) -> int:
    """What the engine may use of a device: its fraction where it has one."""
    share = job.memory_fraction if job.engine in PAGED else 1.0
    return int(usable_bytes(accelerator) * share)


def serving_usable_bytes(job: ServingJob, parts: ServingParts, accelerator: Accelerator) -> int:
    """What a replica's parts together may take of a device: the engine's fraction, and the graphs captured beside it.

    Never more than the device has.
    """
    beside = parts.graphs if job.engine in PAGED else 0.0
    return min(usable_bytes(accelerator), int(serving_budget_bytes(job, accelerator) + beside))


def room_bytes(job: ServingJob, parts: ServingParts, accelerator: Accelerator) -> float:
    """What weights, engine and graphs leave for sequences or samples in flight; negative where they do not fit."""
    return serving_usable_bytes(job, parts, accelerator) - parts.fixed - parts.graphs


def keeps_cache(model: Architecture) -> bool:
    """Whether a sequence in flight keeps keys and values: decoders, and speech recognition of what it heard."""
    return model.kind == "decoder" or is_speech_recognizer(model)


def sequence_bytes(job: ServingJob, parts: ServingParts) -> float:
    """Bytes on a device of one sequence or sample in flight: its attention cache at full length, else what is live."""
    model = job.architecture
    tokens = job.max_sequence_length or job.input_tokens + job.output_tokens
    if model.kind == "decoder":
        own = parts.kv_per_token * _cached_tokens(job, tokens)
        drafting = job.drafting
        return own + parts.draft_kv_per_token * _cached_tokens(drafting, tokens) if drafting else own
    if is_speech_recognizer(model):
        return cross_attention_bytes(model)
    size = 4.0 if job.weights == "fp32" else 2.0
    if model.layers:
        patches = (model.resolution // 16) ** 2 + 1 if model.kind == "vision" else 0
        return (patches or tokens or 1) * forward_bytes_per_token(model, size)
    return forward_flop_per_sample(model) * live_bytes_per_flop(model) * _LIVE_SHARE * size / 2.0


def _cached_tokens(job: ServingJob, tokens: float) -> float:
    """Tokens of all layers that the cache of a sequence weighs: layers with a window keep no more than the window.

    vLLM's hybrid KV cache manager frees the blocks that fall out of a window (docs.vllm.ai/en/latest/design,
    "hybrid_kv_cache_manager"). SGLang and TensorRT-LLM split the cache between the kinds of layers at a fixed ratio
    (nvidia.github.io/TensorRT-LLM, features/kvcache), and others keep every token: there a sequence counts whole.

    >>> a = Architecture(key="gpt-oss-120b", layers=36, sliding_window=128, sliding_window_layers=18)
    >>> [_cached_tokens(ServingJob(architecture=a, engine=engine), 2500) for engine in ("vllm", "sglang")]
    [1322.0, 2500]
    """
    model = job.architecture
    local = local_layers(model)
    if not local or job.engine not in FREES_WINDOWS or tokens <= model.sliding_window:
        return tokens
    kept = model.sliding_window + _BLOCK_TOKENS
    if local == model.layers:
        return min(tokens, kept)
    size = _group_layers(model)
    groups, windowed = _grouped_layers(model) / size, math.ceil(local / size)
    return min(tokens, (windowed * kept + (groups - windowed) * tokens) / groups)


def kv_cache_tokens(job: ServingJob, *, tensor: int, accelerator: Accelerator, pipeline: int = 1) -> float:
    """Tokens of attention cache that a replica has room for; 0 where not even the weights fit."""
    parts = serving_parts(job, tensor=tensor, accelerator=accelerator, pipeline=pipeline)
    if parts.kv_per_token <= 0:
        return 0.0
    per_token = parts.kv_per_token + parts.draft_kv_per_token
    return max(0.0, serving_budget_bytes(job, accelerator) - parts.fixed) / per_token


def longest_held(job: ServingJob, *, tensor: int, accelerator: Accelerator) -> float:
    """Tokens of the longest request that a replica's cache surely holds; infinite where none is kept."""
    parts = serving_parts(job, tensor=tensor, accelerator=accelerator)
    if job.architecture.kind != "decoder" or parts.kv_per_token <= 0:
        return math.inf
    fixed = (parts.fixed + parts.graphs) * _band(job, accelerator)[1]
    return max(0.0, serving_usable_bytes(job, parts, accelerator) - fixed) / (
        parts.kv_per_token + parts.draft_kv_per_token
    )


def serving_parts(job: ServingJob, *, tensor: int, accelerator: Accelerator, pipeline: int = 1) -> ServingParts:
    """The parts of a replica's memory on one device of `tensor` x `pipeline`.

    Raises SpecError where the engine cannot divide the heads by `tensor` or a precision is unknown.
    """
    model = job.architecture
    _check(job, accelerator, tensor, pipeline)
    fitted = constants()
    paged = job.engine in PAGED
    parallel = tensor > 1
    drafting = job.drafting
    if drafting is not None:
        _check(drafting, accelerator, tensor, pipeline)
    return ServingParts(
        weights=weight_bytes(job, tensor=tensor, pipeline=pipeline),
        activations=_profiled_bytes(job, accelerator, pipeline) if paged else _step_bytes(job, tensor),
        communicators=fitted.serving_tensor_parallel_bytes if parallel and paged else 0.0,
        context=fitted.context_bytes.get(accelerator.runtime, fitted.context_bytes["other"]),
        graphs=_graph_bytes(model, tensor) if paged and accelerator.runtime in ("cuda", "rocm") else 0.0,
        kv_per_token=_kv_bytes_per_token(job, tensor, pipeline),
        adapters=adapter_bytes(job, tensor=tensor, pipeline=pipeline),
        draft=weight_bytes(drafting, tensor=tensor, pipeline=pipeline) if drafting else 0.0,
        draft_kv_per_token=_kv_bytes_per_token(drafting, tensor, pipeline) if drafting else 0.0,
    )


def _check(job: ServingJob, accelerator: Accelerator, tensor: int, pipeline: int) -> None:
    model, faults = job.architecture, []
    # With latent attention, ranks beyond the heads share experts and attend to requests of their own; Neuron's builds
    # pad the heads to a multiple of the cores (NeuronX Distributed Inference).
    whole = job.engine in _WHOLE_HEADS and not model.kv_lora_rank and accelerator.runtime != "neuron"
    if tensor < 1 or (model.heads and model.heads % tensor and whole):
        faults.append(Fault(path="tensor", found=tensor, allowed=f"a divisor of the {model.heads} attention heads"))
    if pipeline < 1 or (model.layers and pipeline > model.layers):
        faults.append(Fault(path="pipeline", found=pipeline, allowed=f"1 to {model.layers} (layers)"))
    if faults:
        raise SpecError(faults, subject=model.key)


def weight_bytes(job: ServingJob, *, tensor: int = 1, pipeline: int = 1) -> float:
    """Bytes of weights on the fullest device: quantised matrices, 16-bit embeddings and head, rotary tables.

    >>> a = Architecture(key="llama-3.1-8b", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336,
    ...                  vocab=128256, max_sequence_length=131072)
    >>> [round(weight_bytes(ServingJob(architecture=a, weights=w)) / 2**30, 2) for w in ("bf16", "fp8")]
    [14.99, 8.49]
    """
    model = job.architecture
    size = bytes_of(job.weights, job.weights_group)
    dense_size = bytes_of(job.dense_weights) if job.dense_weights else size
    if not model.layers:
        return params_total(model) * size / (tensor * pipeline)
    longest = -(-model.layers // pipeline)
    tables = (
        max(embedding_params(model), output_params(model))
        if pipeline > 1
        else embedding_params(model) + output_params(model)
    )
    head_too = size < 2 and job.engine in QUANTISES_HEAD and pipeline == 1
    quantised_head = output_params(model) if head_too else 0
    # The fullest stage is at one of the ends: models begin with dense layers where they mix them with experts.
    dense, expert = max(
        (
            stage_params(model, layers, first=False, last=False)
            for layers in (range(longest), range(model.layers)[-longest:])
        ),
        key=sum,
    )
    matrices = dense * dense_size + (expert + quantised_head) * size
    sixteen_bit = (tables - quantised_head + model.extra_params) * max(2.0, size)
    rotary = (
        0
        if model.learned_positions or model.kind != "decoder"
        else (model.max_sequence_length or 0) * _rotary_dim(model) * max(2.0, size)
    )
    return matrices / tensor + sixteen_bit / (1 if job.engine in REPLICATES_TABLES else tensor) + rotary


def loading_bytes(job: ServingJob, *, tensor: int, accelerator: Accelerator) -> tuple[float, int]:
    """Bytes of a device that 16-bit weights take while a format is made of them, and what it has: an engine that loads
    them all first has to hold them all. (0, ...) where the weights are loaded as they are stored.
    """
    whole = usable_bytes(accelerator)
    if not job.made_at_load:
        return 0.0, whole
    loaded = weight_bytes(replace(job, weights="bf16", dense_weights="", weights_group=0), tensor=tensor)
    loaded *= _band(job, accelerator)[1]
    return loaded + constants().context_bytes.get(accelerator.runtime, constants().context_bytes["other"]), whole


def adapter_bytes(job: ServingJob, *, tensor: int = 1, pipeline: int = 1) -> float:
    """Bytes of the room for LoRA adapters on a device: 16 bits for every matrix and both tables, whatever they adapt.

    As vLLM reserves it (vllm/lora/layers, `create_lora_weights`): of a matrix's two factors tensor parallelism divides
    the one on the side that it divides of the matrix; the other is whole on every device, as are those of the tables.

    >>> a = Architecture(key="llama-3.1-8b", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336,
    ...                  vocab=128256)
    >>> job = ServingJob(architecture=a, adapters=8, adapter_rank=16)
    >>> [round(adapter_bytes(job, tensor=t) / 2**20) for t in (1, 2)]
    [705, 497]
    """
    model = job.architecture
    if not job.adapters or not model.layers:
        return 0.0
    whole, divided = _adapted_sides(model, experts=model.experts + model.shared_experts)
    share = -(-model.layers // pipeline) / model.layers
    sides = share * (whole + divided / tensor) + 2 * (model.hidden + model.vocab)
    return ADAPTER_VALUE_BYTES * job.adapters * job.adapter_rank * sides


def adapter_params_per_token(job: ServingJob) -> float:
    """Parameters of an adapter that a token is multiplied with: those of the experts that it visits."""
    model = job.architecture
    if not job.adapters or not model.layers:
        return 0.0
    return job.adapter_rank * sum(_adapted_sides(model, experts=model.experts_per_token + model.shared_experts))


def _adapted_sides(model: Architecture, *, experts: int) -> tuple[float, float]:
    """Inputs plus outputs of all matrices of all layers: those as wide as the stream, and those that are divided."""
    widths = lora_widths(model, experts=0)
    inner = sum(widths[matrix] - model.hidden for matrix in ("q", "k", "v", "o"))
    routed = expert_layers(model)
    blocks = (3 if model.gated else 2) * ((model.layers - routed) + routed * experts)
    across = (3 if model.gated else 2) * ((model.layers - routed) * model.ffn + routed * experts * model.expert_ffn)
    return float(model.hidden * (4 * model.layers + blocks)), float(model.layers * inner + across)


def _rotary_dim(model: Architecture) -> int:
    return model.qk_rope_head_dim or model.head_dim


def _kv_bytes_per_token(job: ServingJob, tensor: int, pipeline: int) -> float:
    model = job.architecture
    size = bytes_of(job.kv) if job.kv else (4.0 if job.weights == "fp32" else 2.0)
    per_token = kv_bytes_per_token(model, size) * (-(-model.layers // pipeline) / model.layers if model.layers else 1.0)
    if job.engine == "vllm":
        per_token *= _grouped_layers(model) / max(1, model.layers)
    if model.kv_lora_rank or not model.kv_heads:
        return per_token  # the latent vector is the same for all heads: every device keeps it
    return per_token / min(tensor, model.kv_heads)


def _grouped_layers(model: Architecture) -> int:
    """Layers of cache that vLLM V1 allocates: windowed and global layers in groups of one size, the last one padded.

    >>> a = Architecture(key="gemma-3-27b", layers=62, sliding_window=1024, sliding_window_layers=52)
    >>> _grouped_layers(a)
    70
    """
    local = local_layers(model)
    whole = model.layers - local
    if not local or not whole:
        return model.layers
    size = _group_layers(model)
    return size * (math.ceil(local / size) + math.ceil(whole / size))


def _group_layers(model: Architecture) -> int:
    """Layers that share a table of blocks in vLLM V1, for a model with windowed and global layers."""
    few, many = sorted((local_layers(model), model.layers - local_layers(model)))
    return many if many < 1.25 * few else few


def batched_tokens(accelerator: Accelerator) -> int:
    """Prompt tokens that an engine schedules in one step, by the size of the device."""
    return _PREFILL_CHUNK if accelerator.memory_bytes >= _LARGE_DEVICE else _SMALL_DEVICE_CHUNK


def _profiled_bytes(job: ServingJob, accelerator: Accelerator, pipeline: int) -> float:
    """Peak of the profiling run: the larger of a full prefill step and of sampling for all sequences at once.

    V1 schedules chunks of at most `batched_tokens`; V0 profiles a whole prompt of the longest length.
    """
    model = job.architecture
    fitted = constants()
    tokens: float = batched_tokens(accelerator)
    sequences = 1024 if accelerator.memory_bytes >= _LARGE_DEVICE else 256
    if job.engine == "vllm-v0":
        sequences = 256
        tokens = max(2048, job.max_sequence_length or int(job.input_tokens + job.output_tokens))
    size = 4.0 if job.weights == "fp32" else 2.0
    forward = tokens * forward_bytes_per_token(model, size) + (2 * size * tokens * model.hidden if pipeline > 1 else 0)
    sampler = 0.0 if pipeline > 1 else sequences * model.vocab * fitted.serving_sampler_bytes_per_value
    return max(forward, sampler) + fitted.serving_workspace_bytes


def forward_bytes_per_token(model: Architecture, value_bytes: float = 2.0) -> float:
    """Live bytes per token while a layer computes: stream, residual and the feed-forward's three tensors."""
    width = model.ffn
    if expert_layers(model):
        width = max(
            model.ffn if expert_layers(model) < model.layers else 0,
            model.expert_ffn * (model.experts_per_token + model.shared_experts),
        )
    branches = 2 if model.gated else 1
    return value_bytes * (2 * model.hidden + (branches + 1) * width)


def _step_bytes(job: ServingJob, tensor: int) -> float:
    """Activations of a plain generate loop: one prefill, logits in fp32, a dequantised copy of the largest matrix."""
    model = job.architecture
    size = 4.0 if job.weights == "fp32" else 2.0
    if not model.layers:
        return 0.0
    prompt = job.input_tokens or 1
    work = prompt * forward_bytes_per_token(model, size) / tensor + 2 * 4.0 * model.vocab
    if job.weights in ("nf4", "nf4-dq"):
        work += 2 * 2.0 * (largest_quantised(model, head=job.engine in QUANTISES_HEAD) / tensor)
    return work


def _graph_bytes(model: Architecture, tensor: int) -> float:
    """Estimate: captured graphs take 0.5 to 1.5 GiB (vLLM 0.19 logs), growing with layers."""
    return GIB * (0.5 + 0.012 * model.layers / math.sqrt(tensor))
