"""Published training runs, timed: what ran as a job on a cluster, its layout, and the prediction in the published unit.

A field that the source leaves out is what that engine does by default; what the engine leaves to its user is chosen by
the layout search among what is stated. Each guess is listed in `TrainingRun.assumptions`. The published value itself is
never read here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sizewell.accuracy import benchmarks, training_cases
from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import (
    JAX_ENGINES,
    CannotPredictError,
    architecture_of,
    device_of,
    engine_of,
    gradients_of,
    products_in,
    stated_split,
    unsynchronised,
)
from sizewell.accuracy.training_clusters import cluster_of, number
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.predict import architecture as arch
from sizewell.sizing.predict.layouts import search as layouts
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.predict.performance.training_rows import LAUNCHES
from sizewell.sizing.predict.spot import checkpoint_bytes, interruptions
from sizewell.sizing.predict.usual import SHOWN, UNFUSED_ATTENTION, usual_training
from sizewell.sizing.records.jobs import Checkpointing, Cluster, Layout, TrainingJob

NVIDIA_ENGINES = ("megatron", "nemo", "megatron-bridge", "mlperf")
METRICS = frozenset(
    {
        "step_time_s", "tokens_per_sec_per_device", "tokens_per_sec", "sequences_per_sec", "images_per_sec",
        "samples_per_sec", "samples_per_sec_per_device", "gpu_hours", "duration_days", "time_to_train_min",
        "model_tflops_per_device", "tflops_per_device", "hardware_tflops_per_device", "mfu_pct",
    }
)  # fmt: skip
TOTALS = ("gpu_hours", "duration_days")


def beside_steps(case: Case) -> bool:
    """Whether the figure is of a whole run and counts more than steps, though not what: GPU-hours of a model card."""
    return case.metric in TOTALS and not case.workload.get("steps_alone")


KNOWN_ORDER = ("tp", "pp", "cp", "ep", "zero", "shard", "sp", "recompute", "vp", "micro")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """A case ready to predict: what runs, on what, and which factors of the layout are stated."""

    job: TrainingJob
    cluster: Cluster
    known: Mapping[str, float]  # factors of the layout, such as "tp", that the source states or the engine fixes
    metric: str
    tokens: float = 0.0  # of the whole run, where the metric is its total
    steps_alone: bool = False  # the source's total is without failures: its own words, or tokens over its stated speed
    benchmark: benchmarks.Benchmark | None = None
    assumptions: tuple[str, ...] = ()


def training_run(case: Case) -> TrainingRun:
    """The case as records; CannotPredictError says what is missing."""
    assumed: list[str] = []
    a, accelerator = architecture_of(case), device_of(case)
    engine = run_engine(case, accelerator)
    benchmark = benchmarks.benchmark(case.raw)
    if benchmark and benchmark.forward_flop_per_sample:
        a = replace(a, forward_flop_per_sample=benchmark.forward_flop_per_sample)
    devices = int(case.hardware.get("count") or 0)
    if not devices:
        devices = _usual_devices(a)
        assumed.append(f"{devices} devices, as the source does not say")
    precision = run_precision(case, accelerator, a, engine)
    nobody_says = not engine
    if nobody_says:
        engine = usual_training(
            a, method=_method(case), precision=precision, runtime=accelerator.runtime, split=stated_split(case)
        )
        assumed.append(f"run by {SHOWN[engine]}, as the source names no software")
    seq = _sequence(case, a, benchmark, assumed)
    cluster = cluster_of(case, accelerator, devices)
    known = _known_layout(case, engine, devices, cluster)
    method = _method(case)
    replicas = devices / (known.get("tp", 1.0) * known.get("pp", 1.0) * known.get("cp", 1.0))
    batch = _global_batch(case, seq, devices, replicas, assumed)
    if engine in JAX_ENGINES or case.kind == "vision_train":  # no accumulation: a replica runs its whole share at once
        known.setdefault("micro", float(max(1, batch // int(replicas))))
    job = TrainingJob(
        architecture=a,
        method=method,
        precision=precision,
        weights=_weights(precision, method, case, engine),
        optimizer=training_cases.optimizer_of(case),
        gradients=gradients_of(case),
        unsharded_gradients=unsynchronised(case),
        sequence_length=seq,
        global_batch=batch,
        checkpointing=_checkpointing(case, engine),
        attention=_attention(case, engine, accelerator),
        framework="jax" if engine in JAX_ENGINES or accelerator.runtime == "tpu" else "pytorch",
        engine=engine,
        engine_assumed=nobody_says,
        fully_sharded=known.get("zero", 0.0) > 1.0,
        compiled=_compiled(case, a, engine, accelerator),
        cpu_offload=bool(case.workload.get("cpu_offload")),
        lora_rank=(training_cases.rank_of(case) if engine in LAUNCHES else 16) if method in ("lora", "qlora") else 0,
        lora_targets=benchmark.lora_targets
        if benchmark
        else training_cases.targets_of(case)
        if engine in LAUNCHES
        else (),
        async_tensor=bool(case.parallelism.get("async_tp")),
    )
    return TrainingRun(
        job=job,
        cluster=cluster,
        known=known,
        metric=case.metric,
        tokens=float(case.workload.get("tokens") or 0.0),
        steps_alone=bool(case.workload.get("steps_alone")),
        benchmark=benchmark,
        assumptions=tuple(assumed),
    )


def run_engine(case: Case, accelerator: Accelerator) -> str:
    """The software that ran; "" where not stated, which is PyTorch without fused kernels. Published utilizations are
    of Megatron's kernels unless their authors name others.
    """
    said = str(case.workload.get("framework") or "").lower()
    for word in ("deepspeed", "tinygrad", "maxtext", "maxdiffusion"):
        if word in said:
            return word
    engine = engine_of(case)
    if engine == "levanter" and accelerator.runtime != "tpu":
        engine = ""
    if not engine and case.metric == "mfu_pct" and accelerator.runtime == "cuda":
        return "megatron"
    return engine


def _compiled(case: Case, model: Architecture, engine: str, accelerator: Accelerator) -> bool | None:
    """Whether a compiler fuses the kernels; None for images without a word on the software, where both are usual."""
    if case.workload.get("compile") or accelerator.runtime == "neuron":
        return True
    return None if model.kind in ("vision", "diffusion") and not engine else False


def _method(case: Case) -> Any:
    return {"finetune_lora": "lora", "finetune_qlora": "qlora", "finetune_full": "full"}.get(case.kind, "pretrain")


def _weights(precision: str, method: str, case: Case, engine: str) -> str:
    if engine in training_cases.HUGGING_FACE and method == "full":
        return training_cases.stored_of(case, precision, engine)
    if method == "qlora":
        return "nf4"
    return "fp8" if method == "lora" and precision in ("fp8", "fp4") else ""


def run_precision(case: Case, accelerator: Accelerator, model: Architecture, engine: str) -> str:
    """Precision of the products; MLPerf's language submissions use the narrowest format that the part has."""
    text = products_in(case.workload.get("precision"))
    has = accelerator.flop_per_s
    if "see submission" in text:
        plain = model.kind in ("vision", "diffusion") and "flux" not in model.key.lower()
        if plain or engine in ("deepspeed", "tinygrad"):
            return "bf16" if has.get("bf16") else "fp16"
        if accelerator.runtime == "tpu":
            return "int8" if has.get("int8") else "bf16"
        # NVIDIA's submissions train language models in 4 bits since v5.1 (October 2025).
        round_of_4_bits = re.search(r"25\.(08|09|1\d)|26\.", str(case.workload.get("framework")))
        if has.get("fp4") and round_of_4_bits and accelerator.vendor == "nvidia" and model.kind == "decoder":
            return "fp4"
        return "fp8" if has.get("fp8") else "bf16"
    for words, precision in ((("fp4",), "fp4"), (("fp8", "float8"), "fp8"), (("int8",), "int8")):
        if any(word in text for word in words):
            return precision
    if "fp32" in text and "autocast" not in text:
        return "fp32"
    if "fp16" in text and "bf16" not in text:
        return "fp16"
    return "bf16" if has.get("bf16") else "fp16"


def _usual_devices(model: Architecture) -> int:
    """Eight per billion parameters, a power of two between 16 and 2,048."""
    return int(min(2048, max(16, 2 ** round(math.log2(max(1.0, arch.params_total(model) / 1e9 * 8))))))


def _sequence(case: Case, model: Architecture, benchmark: benchmarks.Benchmark | None, assumed: list[str]) -> int:
    stated = case.workload.get("seq_len")
    if isinstance(stated, int | float) and stated:
        return int(stated)
    if benchmark and benchmark.sequence_length:
        return benchmark.sequence_length
    if model.kind in ("vision", "diffusion"):
        return 0
    length = 512 if model.kind == "encoder" else min(2048, model.max_sequence_length or 2048)
    assumed.append(f"sequences of {length} tokens, as the source does not say")
    return length


def _known_layout(case: Case, engine: str, devices: int, cluster: Cluster) -> dict[str, float]:
    """Factors of the layout that the source states or the engine fixes."""
    stated, workload = case.parallelism or _in_words(case, cluster.accelerator), case.workload
    known = {name: number(stated.get(name)) for name in ("tp", "pp", "cp", "ep", "vp") if number(stated.get(name))}
    if case.kind == "vision_train":
        return {"zero": 0.0 if devices == 1 else 1.0}
    if not stated and engine == "mlperf":
        # NVIDIA's submissions run on Megatron-Core, whose distributed optimizer shards optimizer state alone.
        megatron = cluster.accelerator.vendor == "nvidia" and devices > 1
        return {**known, "zero": 1.0} if megatron else known
    fsdp = stated.get("fsdp")
    if "tp" in known or "pp" in known or fsdp or "dp" in stated or engine in (*JAX_ENGINES, "deepspeed"):
        for factor in ("tp", "pp", "cp"):
            known.setdefault(factor, 1.0)
    if not case.model.get("num_experts") or engine in JAX_ENGINES:
        known.setdefault("ep", 1.0)  # MaxText shards experts like all weights unless told otherwise
    if fsdp or engine in (*JAX_ENGINES, "deepspeed"):
        known["zero"] = 2.0 if fsdp == "SHARD_GRAD_OP" else 3.0
        ranks = devices / (known["tp"] * known["pp"])
        known["shard"] = min(ranks, cluster.scale_up / known["tp"]) if number(stated.get("dcn_dp")) > 1 else ranks
    elif engine in NVIDIA_ENGINES and "tp" in known and engine != "mlperf":
        old = "model_parallel_size" in stated or "calculon" in case.repo
        known["zero"] = 0.0 if old else 1.0
    elif engine in NVIDIA_ENGINES and not stated and devices > 1:
        known["zero"] = 1.0
    elif number(stated.get("dp")) == devices:
        known["zero"] = 0.0
    if number(stated.get("zero")):
        known["zero"] = number(stated["zero"])
    micro = workload.get("micro_batch") or stated.get("micro_batch") or workload.get("per_device_batch")
    if number(micro):
        cores = 2.0 if cluster.accelerator.key == "trainium1" else 1.0
        # MaxText counts the batch per device, whatever the model-parallel group is.
        spread = known.get("tp", 1.0) if workload.get("per_device_batch") else 1.0
        known["micro"] = max(1.0, number(micro) * cores * spread)
    if "sequence_parallel" in stated:
        known["sp"] = float(bool(stated["sequence_parallel"]) and known.get("tp", 1.0) > 1)
    elif engine in ("megatron", "megatron-deepspeed") and _attention(case, engine, cluster.accelerator) == "eager":
        known["sp"] = 0.0
    return known


def _in_words(case: Case, accelerator: Accelerator) -> Mapping[str, object]:
    """Factors that a source writes as text ("TP8 PP4", "[32xNC(DP)]"); Neuron counts cores, two to a first chip."""
    said = case.workload.get("parallelism")
    if not isinstance(said, str):
        return {}
    text = said.lower()
    degrees = {name: int(value) for name, value in re.findall(r"\b(tp|pp|cp|ep)\s*[=:]?\s*(\d+)", text)}
    degrees |= {name: int(value) for value, name in re.findall(r"(\d+)\s*xnc\s*\((tp|pp)\)", text)}
    if "tp" in degrees and accelerator.key == "trainium1":
        degrees["tp"] = max(1, degrees["tp"] // 2)
    if not degrees and "dp" in text:
        degrees["tp"] = 1
    return degrees


def _global_batch(case: Case, seq: int, devices: int, replicas: float, assumed: list[str]) -> int:
    workload = case.workload
    if number(workload.get("global_batch")):
        return int(workload["global_batch"])
    tokens = number(workload.get("global_batch_tokens"))
    if tokens:
        samples = max(1.0, tokens / max(1, seq))
        power = 2 ** round(math.log2(samples))  # "4 M tokens" is 2^22
        if abs(power / samples - 1) < 0.06:
            return int(power)
        even = int(min(replicas, samples))
        return round(samples / even) * even
    if number(workload.get("micro_batch")):
        accumulate = number(workload.get("grad_accum")) or number(case.parallelism.get("grad_accum")) or 1.0
        return max(1, int(workload["micro_batch"] * accumulate * replicas))
    if number(workload.get("per_device_batch")):
        return max(1, int(float(workload["per_device_batch"]) * devices))
    if number(workload.get("per_device_batch_tokens")):
        return max(1, int(float(workload["per_device_batch_tokens"]) * devices / seq))
    words = str(workload.get("batch") or "")
    numbers = re.findall(r"\d+", words)
    if numbers:
        return int(numbers[0]) * (devices if "per GPU" in words else 1)
    assumed.append("a batch of 4 million tokens, or 8 samples per device if that is less, as the source does not say")
    if not seq:
        return 64 * devices
    return int(max(devices, min(4e6 / seq, 8 * devices)) // devices * devices)


def _checkpointing(case: Case, engine: str) -> Checkpointing | None:
    stated = case.workload.get("activation_checkpointing")
    text = str(stated).lower()
    if stated is True or text == "full":
        return "full"
    if stated is False or (stated is not None and text == "none"):
        return "none"
    if text.startswith(("select", "minimal")):
        return "selective"
    if engine == "levanter":
        return "full"
    return "none" if case.kind == "vision_train" else None


def _attention(case: Case, engine: str, accelerator: Accelerator) -> Any:
    """Fused attention came in 2022; fp16 and mixed precision without bf16 mark what is older."""
    text = str(case.workload.get("precision") or "").lower()
    if engine == "levanter" or accelerator.key in UNFUSED_ATTENTION:  # levanter's of mid-2023: not on any TPU yet
        return "eager"
    older = ("fp16" in text and "bf16" not in text) or text == "amp" or accelerator.family == "volta"
    if engine == "megatron" and not text:
        older = accelerator.family == "ampere"
    return "eager" if older and engine != "flash-attention" and case.kind != "vision_train" else "flash"


def layout_of(run: TrainingRun) -> Layout:
    """The stated layout, completed by the search; what is stated stands even where the search would call it illegal."""
    cluster = run.cluster
    legal = space(run.job, cluster.devices, cluster.scale_up, max(cluster.scale_up, cluster.per_node))
    usable: dict[str, float] = {}
    for name in KNOWN_ORDER:
        if name in run.known and len(layouts.matching(legal, {**usable, name: run.known[name]})):
            usable[name] = run.known[name]
    choices = _recompute_choices(run)
    chosen = None
    for recompute in choices:
        plans = layouts.search(run.job, cluster, best=1, known={**usable, **recompute}, at_high_edge=False)
        if not isinstance(plans, layouts.LayoutRefusal):
            chosen = plans[0].layout
            break
    return _with_known(chosen or _plain_layout(run, choices[-1].get("recompute", 0.0)), run.known)


def _plain_layout(run: TrainingRun, recompute: float) -> Layout:
    tensor, pipeline, context = (int(run.known.get(name, 1)) for name in ("tp", "pp", "cp"))
    data = max(1, run.cluster.devices // (tensor * pipeline * context))
    modes: dict[float, Checkpointing] = {0.0: "none", 0.5: "selective", 1.0: "full"}
    return Layout(
        tensor=tensor,
        pipeline=pipeline,
        context=context,
        data=data,
        zero_stage=1 if data > 1 else 0,
        sequence_parallel=tensor > 1,
        checkpointing=run.job.checkpointing or modes[recompute],
    )


def _with_known(layout: Layout, known: Mapping[str, float]) -> Layout:
    get = {name: int(value) for name, value in known.items() if name != "recompute"}
    group = get.get("shard", layout.shard_group)
    return replace(
        layout,
        virtual_pipeline=get.get("vp", layout.virtual_pipeline),
        expert=get.get("ep", layout.expert),
        zero_stage=get.get("zero", layout.zero_stage),
        shard_group=0 if group == layout.data * layout.context else group,
        sequence_parallel=bool(get.get("sp", layout.sequence_parallel)),
        micro_batch=get.get("micro", layout.micro_batch),
    )


def _recompute_choices(run: TrainingRun) -> list[dict[str, float]]:
    """Recomputation to try where the source is silent: the engine's own habit.

    Megatron-Core recomputes single modules or moves activations to the host before it recomputes layers; MaxText
    recomputes all layers unless it is told what to keep.
    """
    if run.job.checkpointing is not None or not run.job.architecture.layers:
        return [{}]
    if run.job.engine in NVIDIA_ENGINES and run.cluster.accelerator.runtime == "cuda":
        modules = [{"recompute": 0.0}, {"recompute": 0.5}]
        return [*modules, {"recompute": 1.0}] if run.job.engine == "megatron" else modules
    if run.job.engine == "maxtext":
        return [{"recompute": 0.5}, {"recompute": 1.0}]
    return [{}]


def availability(run: TrainingRun) -> float:
    """Share of a long run that is useful work, with failures, restarts and checkpoints at the best interval; all of it
    where the source counts steps alone.
    """
    if run.steps_alone:
        return 1.0
    model, cluster = run.job.architecture, run.cluster
    size = checkpoint_bytes("full", arch.params_total(model), arch.params_total(model), "adamw")
    broken = interruptions(work_s=30 * 86400, nodes=cluster.nodes, devices=cluster.devices, bytes_each=size, spot=False)
    return broken.goodput


def in_unit(run: TrainingRun, layout: Layout, step_s: float) -> float:
    """The case's metric, from the seconds of a step; totals of long runs with their interruptions."""
    job, devices, seq = run.job, run.cluster.devices, run.job.sequence_length
    per_s = job.global_batch / step_s
    tokens_per_s = per_s * max(1, seq)
    per_device_hour = tokens_per_s / devices * 3600
    plain = {
        "step_time_s": step_s,
        "tokens_per_sec_per_device": tokens_per_s / devices,
        "tokens_per_sec": tokens_per_s,
        "sequences_per_sec": per_s,
        "images_per_sec": per_s,
        "samples_per_sec": per_s,
        "samples_per_sec_per_device": per_s / devices,
    }
    if run.metric in plain:
        return plain[run.metric]
    if run.metric in TOTALS:
        if not run.tokens:
            raise CannotPredictError("the source does not state how many tokens were trained")
        hours = run.tokens / per_device_hour / availability(run)
        return hours if run.metric == "gpu_hours" else hours / devices / 24
    if run.metric == "time_to_train_min":
        if run.benchmark is None:
            raise CannotPredictError("the source does not state how many samples the run took to converge")
        return run.benchmark.run_s(per_s, job, layout) / 60
    if run.metric in ("model_tflops_per_device", "tflops_per_device", "mfu_pct", "hardware_tflops_per_device"):
        flop = tokens_per_s * arch.train_flop_per_token(job.architecture, seq, causal=False)
        if run.metric == "hardware_tflops_per_device" and layout.checkpointing == "full":
            flop *= 4 / 3
        if run.metric == "mfu_pct":
            rates = run.cluster.accelerator.flop_per_s
            return 100 * flop / devices / (rates.get("bf16") or rates["fp16"])
        return flop / devices / 1e12
    raise CannotPredictError(f"the metric {run.metric!r} is not known")
