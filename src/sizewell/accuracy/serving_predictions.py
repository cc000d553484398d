"""Predictions of inference cases: throughput, latencies, samples per second.

MLPerf's Offline scenario is unlimited load; Server and Interactive are random arrivals within the latency limits.
A case without its tensor-parallel degree is predicted with the one that gives most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import CannotPredictError, architecture_of, device_of, engine_of
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.training_clusters import cluster_of
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.predict.performance.serving import (
    ServingRefusal,
    band_families,
    band_groups,
    is_language_model,
    largest_rate,
    serving,
)
from sizewell.sizing.predict.performance.serving_constants import family_of
from sizewell.sizing.predict.performance.serving_level import ServiceLevel
from sizewell.sizing.predict.performance.serving_replica import BYTES
from sizewell.sizing.predict.performance.serving_samples import WRITTEN_TOKENS
from sizewell.sizing.records.jobs import Cluster, ServingEstimate, ServingJob
from sizewell.sizing.workload.precision import understood


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None


# Latency limits of MLPerf Inference's Server and Interactive scenarios, p99 (mlcommons inference policies; memory).
_MLPERF_LIMITS = {
    ("llama2-70b", "server"): _Level(ttft_s=2.0, tpot_s=0.2),
    ("llama2-70b", "interactive"): _Level(ttft_s=0.45, tpot_s=0.04),
    ("llama3.1-8b", "server"): _Level(ttft_s=2.0, tpot_s=0.1),
    ("llama3.1-8b", "interactive"): _Level(ttft_s=0.5, tpot_s=0.03),
    ("llama3.1-405b", "server"): _Level(ttft_s=6.0, tpot_s=0.175),
    ("mixtral-8x7b", "server"): _Level(ttft_s=2.0, tpot_s=0.2),
    ("deepseek-r1", "server"): _Level(ttft_s=2.0, tpot_s=0.08),
    ("gptj", "server"): _Level(e2e_s=20.0),
    ("bert", "server"): _Level(e2e_s=0.13),
    ("resnet", "server"): _Level(e2e_s=0.015),
    ("retinanet", "server"): _Level(e2e_s=0.1),
    ("stable-diffusion", "server"): _Level(e2e_s=20.0),
}
# MLPerf's BERT skips padding: questions of SQuAD 1.1 with their paragraph are about 180 of the 384 tokens (memory).
BERT_TOKENS = 180.0
# Mean input and output tokens of MLPerf's data sets, where a case states the outputs only.
_MLPERF_TOKENS = {
    "llama2-70b": (294.0, 294.0),
    "llama3.1-8b": (778.0, 73.0),
    "llama3.1-405b": (9400.0, 680.0),
    "mixtral-8x7b": (283.0, 145.0),
    "deepseek-r1": (800.0, 3880.0),
    "gptj": (870.0, 69.0),
}


# MLPerf's GPT-J answers by beam search of four: four answers are worked on for each that is given.
_MLPERF_BEAMS = {"gptj": 4.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRun:
    """A case of a language model whose source says how it is split and how many requests are in flight."""

    job: ServingJob
    cluster: Cluster
    tensor: int
    pipeline: int
    batch: float  # requests in flight on one replica
    fixed: bool  # one batch at a time, all prompts first; else requests come and go


def stated_run(case: Case) -> StatedRun:
    """The case as other predictors can be asked for it; CannotPredictError where its source leaves split or load open,
    or no language model ran.
    """
    case = _one_group(case)
    count = int(case.hardware.get("count") or 1)
    cluster, job, w = cluster_of(case, device_of(case), count), _job(case), case.workload
    if not is_language_model(job):
        raise CannotPredictError("no language model")
    ((tensor, pipeline), *others) = _splits(case, job, count)
    if others:
        raise CannotPredictError("the source does not say how a replica is split")
    alone = case.metric in ("decode_tokens_per_sec_batch1", "prefill_tokens_per_sec")
    clients, batch = w.get("concurrency"), w.get("batch") or w.get("batch_size")
    replicas = count / (tensor * pipeline)
    if isinstance(clients, int | float) and not alone:
        return StatedRun(
            job=job, cluster=cluster, tensor=tensor, pipeline=pipeline, batch=max(1.0, clients / replicas), fixed=False
        )
    together = 1.0 if alone else batch
    if isinstance(together, int | float):
        return StatedRun(job=job, cluster=cluster, tensor=tensor, pipeline=pipeline, batch=float(together), fixed=True)
    raise CannotPredictError("the source does not say how many requests are in flight")


def predict_serving(case: Case) -> Prediction:
    """The case's figure, predicted; CannotPredictError where the source says too little."""
    device = device_of(case)
    case = _one_group(case)
    count = int(case.hardware.get("count") or 1)
    cluster = cluster_of(case, device, count)
    job = _job(case)
    estimate, replicas = max(
        (
            _run(case, job, cluster, tensor=tensor, stages=stages, count=count)
            for tensor, stages in _splits(case, job, count)
        ),
        key=lambda run: run[0].requests_per_s * run[1] if isinstance(run[0], ServingEstimate) else -1.0,
    )
    if isinstance(estimate, ServingRefusal):
        raise CannotPredictError(f"does not fit: {estimate.reason}")
    value = _figure(case, job, estimate, replicas, count)
    low, high = estimate.low / estimate.requests_per_s, estimate.high / estimate.requests_per_s
    if case.unit.startswith("ms"):
        low, high = 1 / high, 1 / low
    return Prediction(
        value=value,
        low=value * low,
        high=value * high,
        grade=estimate.grade,
        group=band_groups(job, estimate.bottleneck)[0],
        wider=band_groups(job, estimate.bottleneck)[1:],
        families=band_families(job, estimate.bottleneck, device),
    )


def _one_group(case: Case) -> Case:
    """A case whose source names one machine's group of experts twice, by tensor and by expert ranks.

    Sweeps of DeepSeek-R1 on single machines of eight list eight of both and so 64 devices for a handful of requests;
    their figures are those of the rows with eight.
    """
    p, machine = case.parallelism, case.hardware.get("per_node")
    if not machine or not p.get("moe_tp") == p.get("moe_ep") == machine > 1:
        return case
    split = {name: max(1, int(p.get(name) or 1) // machine) for name in ("tp", "attention_dp")}
    split["tp"] = max(split["tp"], machine)
    return Case(
        raw={
            **case.raw,
            "hardware": {**case.hardware, "count": machine},
            "workload": {**case.workload, "parallelism": {**p, **split, "moe_ep": 1}},
        }
    )


def _run(
    case: Case, job: ServingJob, cluster: Cluster, *, tensor: int, stages: int, count: int
) -> tuple[ServingEstimate | ServingRefusal, float]:
    w = case.workload
    replicas = count / (tensor * stages)
    replica = replace(cluster, per_node=min(cluster.per_node, tensor), nodes=max(1, tensor // cluster.per_node))
    batch = w.get("batch") or w.get("batch_size")
    concurrency = w.get("concurrency")
    limits = _limits(case)
    if isinstance(concurrency, int | float):
        return serving(
            job, replica, tensor=tensor, pipeline=stages, concurrency=concurrency / replicas, percentile=0.5
        ), replicas
    if case.metric in ("decode_tokens_per_sec_batch1", "prefill_tokens_per_sec"):
        return serving(job, replica, tensor=tensor, pipeline=stages, batch=1, percentile=0.5), replicas
    if isinstance(batch, int | float):
        return serving(job, replica, tensor=tensor, pipeline=stages, batch=float(batch), percentile=0.5), replicas
    if limits is not None:
        level = ServiceLevel(ttft_s=limits.ttft_s, tpot_s=limits.tpot_s, e2e_s=limits.e2e_s, percentile=0.99)
        rate = largest_rate(job, replica, tensor=tensor, level=level)
        if rate > 0:
            return serving(job, replica, tensor=tensor, rps=rate, percentile=0.99), replicas
    return serving(job, replica, tensor=tensor, pipeline=stages, percentile=0.5), replicas


def _limits(case: Case) -> _Level | None:
    w = case.workload
    scenario = str(w.get("scenario") or "").lower()
    if scenario not in ("server", "interactive"):
        return None
    stated = [(w.get(f"slo_{name}_ms") or 0) / 1000 or None for name in ("ttft", "tpot", "latency")]
    if any(stated):
        return _Level(ttft_s=stated[0], tpot_s=stated[1], e2e_s=stated[2])
    name = str(w.get("benchmark") or "")
    return next((level for (word, kind), level in _MLPERF_LIMITS.items() if word in name and kind == scenario), None)


def _splits(case: Case, job: ServingJob, count: int) -> tuple[tuple[int, int], ...]:
    """(tensor, pipeline) of one replica: as stated, else every one that divides the machine."""
    p = case.parallelism
    stages = int(p.get("pp") or 1)
    if p.get("tp"):  # with attention split by requests, a replica is as wide as its experts are
        experts = int(p.get("moe_tp") or 1) * int(p.get("moe_ep") or 1)
        devices = max(1, count // stages)
        return ((min(max(int(p["tp"]), experts), devices) if count else int(p["tp"]), stages),)
    if p.get("tp_cores"):
        return ((count, 1),)
    heads = job.architecture.heads
    if p or job.architecture.kind != "decoder":
        return ((1, min(stages, count)),)
    return tuple((t, 1) for t in (1, 2, 4, 8, 16) if t <= count and count % t == 0 and (not heads or heads % t == 0))


def _job(case: Case) -> ServingJob:
    a = architecture_of(case)
    prompt, output = _tokens(case)
    return ServingJob(
        architecture=a,
        weights=_weights(case),
        kv="fp8" if "fp8" in cache_format(case) else "",
        input_tokens=prompt,
        output_tokens=output,
        engine=_engine(case),
        passes_per_sample=_passes(case),
        attention_by_request=_by_request(case),
    )


def _by_request(case: Case) -> bool:
    """Whether the devices of a replica attend to requests of their own, and share the experts alone."""
    p = case.parallelism
    return int(p.get("attention_dp") or 1) > 1 or "attention dp" in str(p.get("ep") or "").lower()


def cache_format(case: Case) -> str:
    """How the cache is stored: as the case says. NVIDIA's tables of models in 8 and 4 bits, and its submissions to
    MLPerf, are of checkpoints by its own Model Optimizer, which keep the cache in 8 bits (as do checkpoints that it
    publishes, by their name); a source that states how each part is quantised means 16 bits by its silence.
    """
    stated = str(case.workload.get("kv_precision") or case.workload.get("kv_cache_dtype") or "")
    if stated:
        return stated
    if _weights(case) not in ("fp8", "fp4"):
        return "16-bit"
    if "gemm_quant_mode" in case.workload:  # each part is stated, or the checkpoint says it
        return "fp8" if str(case.workload.get("aic_row_id")).startswith("nvidia_") else "16-bit"
    optimised = engine_of(case) in ("tensorrt-llm", "mlperf") and device_of(case).vendor.lower() == "nvidia"
    return "fp8" if optimised else "16-bit"


def _passes(case: Case) -> float:
    steps = case.model.get("steps")
    return 2.0 * float(steps) if steps else 1.0


def _tokens(case: Case) -> tuple[float, float]:
    w = case.workload
    isl, osl = _mean(w.get("isl")), _mean(w.get("osl"))
    if isl is not None or osl is not None:
        return isl or 0.0, osl or 0.0
    name = str(w.get("benchmark") or "")
    for word, (prompt, output) in _MLPERF_TOKENS.items():
        if word in name:
            beams = _MLPERF_BEAMS.get(word, 1.0)
            return prompt, beams * float(w.get("mean_output_tokens") or output)
    if "bert" in name:
        return BERT_TOKENS, 0.0
    length = w.get("seq_len") or case.model.get("seq_len") or 0
    return float(length), WRITTEN_TOKENS if "whisper" in name else 0.0


def _mean(said: object) -> float | None:
    if isinstance(said, int | float):
        return float(said)
    numbers = [float(word) for word in str(said or "").split() if word.replace(".", "").isdigit()]
    return numbers[0] if numbers else None


def _weights(case: Case) -> str:
    said = str(case.workload.get("precision") or "").lower()
    if "gemm" in said:
        said = str(case.workload.get("gemm_quant_mode") or "")
    for word, name in (
        ("fp4", "fp4"),
        ("q4", "int4"),
        ("uint4", "int4"),
        ("int4", "int4"),
        ("fp8", "fp8"),
        ("int8", "int8"),
        ("q8", "int8"),
        ("bf16", "bf16"),
        ("fp16", "fp16"),
        ("f16", "fp16"),
        ("fp32", "fp32"),
        ("amp", "fp16"),
    ):
        if word in said:
            return name
    if meant := understood(said, BYTES):
        return meant
    benchmark = engine_of(case) == "mlperf" or case.workload.get("benchmark")
    return _mlperf_weights(case) if benchmark else "bf16"


def _mlperf_weights(case: Case) -> str:
    """What submissions use where the result does not say: the narrowest format that the device is fast in."""
    flop = device_of(case).flop_per_s
    if any(word in str(case.workload.get("benchmark")) for word in ("bert", "resnet", "retinanet")):
        return "int8"
    return next((name for name in ("fp4", "fp8", "int8") if flop.get(name)), "bf16")


def _engine(case: Case) -> str:
    """PyTorch runs one operation after the other unless somebody says that it compiled the model. Automatic mixed
    precision is a mode of such frameworks, which no inference engine has: who states it has said what ran.
    """
    said, engine = str(case.workload.get("engine") or "").lower(), engine_of(case)
    mixed = str(case.workload.get("precision") or "").lower() == "amp"
    if "eager" in said or (engine == "pytorch" and "compile" not in said) or (mixed and not engine):
        return "autocast" if mixed else "eager"
    return engine or "vllm"


def _figure(case: Case, job: ServingJob, estimate: ServingEstimate, replicas: float, count: int) -> float:
    match case.metric:
        case "output_tokens_per_sec":
            return estimate.output_tokens_per_s * replicas
        case "output_tokens_per_sec_per_device":
            return estimate.output_tokens_per_s * replicas / count
        case "samples_per_sec" if _counts_tokens(case):
            return estimate.output_tokens_per_s * replicas
        case "samples_per_sec" | "requests_per_sec":
            return estimate.requests_per_s * replicas
        case "tpot_ms":
            return estimate.tpot_s * 1000
        case "ttft_ms":
            return estimate.ttft_s * 1000
        case "e2e_latency_ms":
            return estimate.e2e_s * 1000
        case "decode_tokens_per_sec_batch1":
            return 1 / estimate.tpot_s
        case "prefill_tokens_per_sec":
            return job.input_tokens / estimate.ttft_s
    raise CannotPredictError(f"metric {case.metric!r} is not one that serving gives")


def _counts_tokens(case: Case) -> bool:
    """MLPerf states language models in tokens per second from 5.0 on; some rows name another unit.

    So with speech: 4,000 samples a second and device would be ten times the peak in the encoder alone.
    """
    benchmark = str(case.workload.get("benchmark"))
    return case.id.startswith(("mlpi50", "mlpi51")) and any(word in benchmark for word in ("llama", "whisper"))


def described(case: Case) -> dict[str, Any] | None:
    """What a constant of serving may be keyed by: device family, kind of model, engine; None where unknown."""
    try:
        device, job = device_of(case), _job(case)
    except SizewellError:
        return None
    return {
        "family": family_of(device),
        "kind": job.architecture.kind,
        "engine": job.engine,
        "experts": job.architecture.experts > 0,
        "language": is_language_model(job),
    }
