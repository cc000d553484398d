"""Vision, encoder and diffusion models: FLOPs per sample over what the accelerator family reaches, and batching.

A sample costs `passes` forward passes (one image, one sequence, or each denoising step, twice with guidance). A batch
of n takes a fixed part (reading the weights, the engine's step) and n times the work of one; under load the batch grows
until the device keeps up, and latency is the rest of the batch that runs plus the own one. While requests arrive at
random a device cannot work all of the time: forming batches, the host's work and the margin that a bound on the slowest
answers wants leave it a share (the same machines publish 0.87 times the rate of unlimited load at the median).

What a layer hands to the next goes through memory, or stays in the chip's shared cache where the batch is small enough
for it: engines choose the batch that is faster. Small batches pay the fixed part more often.

PyTorch without a compiler runs operations one by one: its host launches each, and works ahead of the device, so a batch
takes what is longer. Under autocast each weight is cast in every pass by an operation of its own.

Speech recognition writes its answer token by token behind the encoder, by an engine for language models: each token of
a batch reads the decoder once, launches its kernels and takes the engine's step, and for each sample multiplies the
decoder and reads the keys and values of all that it heard. Such engines capture and compile decoders, not encoders.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.architecture import (
    attention_flop_per_token,
    cross_attention_bytes,
    decoding_flop,
    decoding_values,
    forward_flop_per_sample,
    is_speech_recognizer,
    params_total,
    width_params,
)
from sizewell.sizing.predict.performance import processors
from sizewell.sizing.predict.performance.caches import cache_speedup, shared_cache_bytes
from sizewell.sizing.predict.performance.serving_constants import constants, family_of
from sizewell.sizing.predict.performance.serving_load import INFINITE, Load, ahead, deviations, met_of, waits_share
from sizewell.sizing.predict.performance.serving_replica import BYTES, KERNELS, peak_flop_per_s
from sizewell.sizing.predict.performance.training_rows import power_factor
from sizewell.sizing.records.jobs import Cluster, ServingJob

SAMPLE_PARAMS = {"vision": 3e7, "diffusion": 1e9}  # of the models that activations per FLOP are stated for
ATTENDED = {"diffusion": 0.125}  # of the FLOPs: scores and values, counted for SDXL at 1,024 pixels
CONVOLVED = {"diffusion": 0.25}  # of the FLOPs, the same way; in 16 bits, as engines quantise linear layers
# Values that an early layer reads and writes, by pixel of the input: 64 channels each way, at half of both sides.
CONVOLVED_PER_PIXEL = 32.0
PIXELS = 224.0 * 224.0  # of the input, where a model does not say
# Run one by one, a convolution, its norm and its activation move 80 M values for ResNet-50's picture; compiled, 27.5 M.
UNFUSED = 80 / 27.5
# Of one pass, counted: ResNet-50's convolutions, pooling and scores; 12 for each of SDXL's 70 layers, 60 around them.
PASS_KERNELS = {"vision": 55, "diffusion": 900}
# Operations of one pass that PyTorch launches one by one, and those of them that have a weight, which autocast casts in
# every pass. Counted as dispatched: ResNet-50, BERT's layer; by hand: SDXL's denoiser, 20 for each of its 70 layers and
# 250 around them.
OPERATIONS = {"vision": (174, 54), "diffusion": (1650, 760)}
LAYER_OPERATIONS = (16, 6)
ONE_BY_ONE = frozenset({"eager", "autocast"})
"""Names of PyTorch without a compiler: in one number format, or in mixed precision."""
UNPACKED_FOR = 512  # tokens of a prompt that 4-bit weights are unpacked for at a time: llama.cpp's micro-batch
HEARING_KERNELS = 5  # of a decoder's layer: a norm, query, attention to what was heard, its merge, output
WRITTEN_TOKENS = 100.0  # estimate: of half a minute of speech, where a request does not say


@dataclass(frozen=True, slots=True)
class SampleServer:
    """One device: seconds of a batch that do not depend on its size, seconds per sample, and those that its host takes
    to launch a batch's operations while the device works on those before.
    """

    fixed_s: float
    sample_s: float
    limit: str = "compute"  # what most of a sample's seconds go into
    launches_s: float = 0.0

    def batch_s(self, batch: float) -> float:
        return max(self.launches_s, self.fixed_s + batch * self.sample_s)


def sample_server(job: ServingJob, cluster: Cluster) -> SampleServer:
    """Times of one device of `cluster`."""
    c = constants()
    model, accelerator = job.architecture, cluster.accelerator
    one_by_one = job.engine in ONE_BY_ONE
    family, engine = c.family(family_of(accelerator)), c.engine("compiled")
    kind = "encoder" if model.kind in ("encoder", "decoder") else model.kind
    relative = 1.0 if model.kind == "encoder" else c.smaller
    if accelerator.runtime == RUNTIME:  # their shares are stated apart from what accelerators were fitted with
        relative = processors.relative(job.weights) * (processors.ENCODERS if kind == "encoder" else 1.0)
    speed = peak_flop_per_s(accelerator, job.weights) * family.samples * relative
    speaks = is_speech_recognizer(model)
    plain = one_by_one or (speaks and accelerator.runtime != RUNTIME)
    speed *= c.eager if plain and kind != "vision" else 1.0  # convolutions are libraries', whoever calls them
    k = calibration.values("training")
    powered = power_factor(accelerator, accelerator.flop_per_s.get("bf16", 0.0), k)
    speed *= powered
    wide = min(speed, peak_flop_per_s(accelerator, "bf16") * family.samples * relative * powered)
    flop = job.passes_per_sample * forward_flop_per_sample(model, job.input_tokens)
    attended = flop * ATTENDED.get(model.kind, 0.0)
    if kind == "encoder" and not model.forward_flop_per_sample:
        attended = job.passes_per_sample * job.input_tokens * attention_flop_per_token(model, job.input_tokens)
    attention = speed
    if not plain and accelerator.runtime != RUNTIME:
        attention = peak_flop_per_s(accelerator, "bf16") * _attention(accelerator, k) * powered
    bandwidth = accelerator.memory_bytes_per_s * family.memory
    stored = params_total(model) * BYTES.get(job.weights, 2.0)
    # A layer of width w reads and writes in proportion to 1/w per FLOP, and parameters grow with the square of widths.
    widths = math.sqrt(SAMPLE_PARAMS[model.kind] / width_params(model)) if model.kind in SAMPLE_PARAMS else 0.0
    moved = flop * c.sample_bytes.get(model.kind, 0.0) * widths
    if model.kind == "vision":  # each layer hands narrow values to the next; a diffusion model's norms are in 16 bits
        moved *= _value_bytes(job) / 2.0 * (UNFUSED if one_by_one else 1.0)
    if model.kind == "diffusion":
        moved *= k["elementwise_passes.fused"]
    if kind == "encoder":
        apart = k["elementwise_passes.eager" if plain else "elementwise_passes.fused"]
        tokens = (
            (model.forward_flop_per_sample or 0.0) / params_total(model) / 2 if speaks else job.input_tokens
        )  # half listens
        moved = job.passes_per_sample * tokens * apart * _moved_per_token(model, _value_bytes(job))
    streamed = accelerator.memory_bytes_per_s * k["memory_fraction"]
    moving_s = moved / streamed if accelerator.runtime != RUNTIME else 0.0  # in what processors were measured at
    step_s = engine.step_s if accelerator.runtime == RUNTIME else 0.0 if one_by_one else c.kernel_s * _kernels(model)
    fixed_s, sample_s, limit = job.passes_per_sample * (stored / bandwidth + step_s), 0.0, "compute"
    sample_s = (flop - attended) / speed + attended / attention
    sample_s += flop * CONVOLVED.get(model.kind, 0.0) * (1.0 / wide - 1.0 / speed)
    limit = "memory bandwidth" if moving_s > sample_s else limit
    # Norms of transformers are kernels of their own; those of convolutions are folded in, which load as they compute.
    folded = kind == "vision" and not one_by_one
    computing_s = sample_s
    sample_s = math.hypot(computing_s, moving_s) if folded else computing_s + moving_s
    held = 0 if plain else int(shared_cache_bytes(accelerator) / _handed_bytes(job))
    if held:  # batches that stay in the cache
        moving_s /= cache_speedup(accelerator)
        cached_s = math.hypot(computing_s, moving_s) if folded else computing_s + moving_s
        sample_s = min(sample_s, cached_s + fixed_s / held)
    if model.kind == "diffusion":  # the picture is decoded once, in 16 bits
        drawn = 2.0 * decoding_values(model) * k["elementwise_passes.fused"]
        sample_s += decoding_flop(model) / wide + drawn / streamed
    if model.kind == "decoder" and job.weights == "int4":
        parts = max(1.0, job.input_tokens / UNPACKED_FOR)
        sample_s += parts * params_total(model) * (BYTES["int4"] + 2 * BYTES["fp16"]) / streamed
    if speaks:
        written, writer, kernels_s = job.output_tokens or WRITTEN_TOKENS, engine, 0.0
        if accelerator.runtime != RUNTIME:
            writer = c.engine(job.engine)
            kernels_s = c.kernel_s * model.layers * (KERNELS + HEARING_KERNELS)
        looking = written * cross_attention_bytes(model) / bandwidth
        multiplying = written * (params_total(model) / speed + writer.sequence_s)  # two FLOPs by half of the parameters
        fixed_s += written * (stored / 2 / bandwidth + writer.step_s + kernels_s)
        sample_s, limit = sample_s + looking, "memory bandwidth (cache)" if looking > sample_s else limit
        sample_s += multiplying
    launches_s = 0.0  # on a processor the host is what works
    if one_by_one and accelerator.runtime != RUNTIME:
        launches_s = job.passes_per_sample * c.launch_s * _operations(job)
    return SampleServer(fixed_s=fixed_s, sample_s=sample_s, limit=limit, launches_s=launches_s)


def _value_bytes(job: ServingJob) -> float:
    """Bytes of a value between layers: 8-bit engines hand on 8 bits, weights of 4 bits multiply values of 16."""
    return 2.0 if job.weights == "int4" else min(2.0, BYTES.get(job.weights, 2.0))


def _operations(job: ServingJob) -> float:
    """Operations that PyTorch launches one by one in a pass.

    >>> from sizewell.sizing.catalog.records import Architecture
    >>> image = Architecture(key="x", kind="vision")
    >>> [_operations(ServingJob(architecture=image, engine=engine)) for engine in ("eager", "autocast")]
    [174.0, 228.0]
    """
    model = job.architecture
    layers = max(1, model.layers)
    operations, casts = OPERATIONS.get(model.kind) or (layers * LAYER_OPERATIONS[0], layers * LAYER_OPERATIONS[1])
    return float(operations + (casts if job.engine == "autocast" else 0))


def _kernels(model: Architecture) -> float:
    """Kernels of one compiled pass, each of which takes a while beyond its work."""
    return float(PASS_KERNELS.get(model.kind) or max(1, model.layers) * KERNELS)


def _handed_bytes(job: ServingJob) -> float:
    """Bytes of one sample that a layer at its widest reads and writes; infinite for diffusion models, whose one picture
    fills every cache.
    """
    model, width = job.architecture, _value_bytes(job)
    if model.kind == "diffusion":
        return math.inf
    if model.kind == "vision":
        return CONVOLVED_PER_PIXEL * (float(model.resolution) ** 2 if model.resolution else PIXELS) * width
    return max(1.0, job.input_tokens) * (model.hidden + model.ffn) * width


def _attention(accelerator: Accelerator, k: Mapping[str, float]) -> float:
    """Share of the 16-bit peak in fused attention, as in training."""
    return k.get(f"attention_fraction.{accelerator.family.lower()}", k["attention_fraction.other"])


def _moved_per_token(model: Architecture, width: float) -> float:
    """Bytes that norms, activations and residuals move per token at least, all layers, as training counts them."""
    projected = model.heads * model.head_dim + 2 * model.kv_heads * model.head_dim
    opened = model.ffn * (2 if model.gated else 1)
    values = 10.0 * model.hidden + 1.5 * projected + 2.0 * opened
    return model.layers * values * min(2.0, width)


def samples_arriving(
    server: SampleServer, *, rate: float, fit: int, percentile: float = 0.5, pool: int = 1, users: float = INFINITE
) -> Load:
    """Poisson arrivals of `rate` samples per second at each of `pool` devices, which queue together; or what the
    `users` of the pool send, as with language models.

    A batch is whatever has come while the last one ran.
    """
    works = constants().arrivals
    most, met = met_of(users, pool)
    coming = rate * met
    if fit < 1 or coming * server.sample_s >= works:
        return Load(float(fit), float(fit), rate, INFINITE, 0.0)
    batch = max(1.0, coming * server.fixed_s / (works - coming * server.sample_s), coming * server.launches_s / works)
    spread = min(deviations(percentile) * math.sqrt(batch / pool), max(0.0, most - batch))
    batch = min(batch, most)
    peak = batch + spread if batch > 1.0 else 1.0
    if peak > fit:
        return Load(batch, peak, rate, INFINITE, 0.0)
    # One at a time (M/D/1, exponential tail) while the device keeps up so; a queue that grows is taken as a batch.
    single_s = server.batch_s(1.0)
    busy = coming * single_s / works
    waiting = server.batch_s(batch + spread)
    if busy < 1.0:
        all_busy = waits_share(pool, busy)
        tail = math.log(all_busy / (1.0 - percentile)) if all_busy > 1.0 - percentile else 0.0
        waiting = min(waiting, tail * single_s / (2.0 * (1.0 - busy)) / pool)
    waiting = min(waiting, ahead(users, pool) * single_s)
    return Load(batch, peak, rate, waiting + server.batch_s(peak), 0.0)


def samples_saturated(server: SampleServer, *, batch: float) -> Load:
    """Batches of `batch` one after the other."""
    whole = server.batch_s(batch)
    return Load(batch, batch, batch / whole, whole, 0.0)
