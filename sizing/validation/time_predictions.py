"""Predictions of training time cases: step time, tokens, images or sequences per second, utilization, hours, days."""

from __future__ import annotations

from dataclasses import replace

from sizing.architecture import forward_flop_per_sample, train_flop_per_token
from sizing.jobs import Layout, TrainingEstimate, TrainingJob
from sizing.layouts import LayoutRefusal, search
from sizing.performance.training import training_time
from sizing.validation.benchmarks import benchmark
from sizing.validation.cases import Case
from sizing.validation.describe import CannotPredictError
from sizing.validation.memory_predictions import Prediction
from sizing.validation.training_cases import TrainingCase, training_case


def predict_time(case: Case) -> Prediction:
    """The case's figure, predicted; CannotPredictError where the source says too little."""
    described = training_case(case)
    rules = benchmark(case.raw)
    if rules is not None and rules.sequence_length:
        described = replace(described, job=replace(described.job, sequence_length=rules.sequence_length))
    layout = described.layout or _best_layout(described)
    estimate = training_time(described.job, layout, described.cluster)
    if rules is not None and case.metric == "time_to_train_min":
        value = rules.run_s(described.job.global_batch / estimate.step_s, described.job, layout) / 60
    else:
        value = _figure(case, described, estimate)
    spread = (estimate.low_s / estimate.step_s, estimate.high_s / estimate.step_s)
    rate = case.metric not in ("step_time_s", "time_to_train_min", "gpu_hours", "duration_days")
    low, high = (1 / spread[1], 1 / spread[0]) if rate else spread
    return Prediction(
        value=value,
        low=value * low,
        high=value * high,
        grade=estimate.grade,
        assumptions=(*described.assumptions, *estimate.assumptions),
        group="time",
    )


def _best_layout(described: TrainingCase) -> Layout:
    found = search(described.job, described.cluster, best=1)
    if isinstance(found, LayoutRefusal):
        raise CannotPredictError(f"no layout to predict with: {found.reason}")
    return found[0].layout


def _figure(case: Case, described: TrainingCase, estimate: TrainingEstimate) -> float:
    job, devices = described.job, described.cluster.devices
    samples_per_s = job.global_batch / estimate.step_s
    tokens = case.workload.get("tokens")
    match case.metric:
        case "step_time_s":
            return estimate.step_s
        case "tokens_per_sec_per_device":
            return estimate.tokens_per_s / devices
        case "tokens_per_sec":
            return estimate.tokens_per_s
        case "sequences_per_sec" | "images_per_sec" | "samples_per_sec":
            return samples_per_s
        case "model_tflops_per_device" | "tflops_per_device":
            return _flop_per_sample(job) * samples_per_s / devices / 1e12
        case "hardware_tflops_per_device":
            recomputed = 4 / 3 if job.checkpointing == "full" else 1.0
            return recomputed * _flop_per_sample(job) * samples_per_s / devices / 1e12
        case "mfu_pct":
            peak = described.cluster.accelerator.flop_per_s
            return 100 * _flop_per_sample(job) * samples_per_s / devices / (peak.get("bf16") or peak["fp16"])
        case "gpu_hours" if tokens:
            return float(tokens) / estimate.tokens_per_s * devices / 3600
        case "duration_days" if tokens:
            return float(tokens) / estimate.tokens_per_s / 86400
    raise CannotPredictError(f"metric {case.metric!r} is not one that a training step gives")


def _flop_per_sample(job: TrainingJob) -> float:
    """FLOPs of forward and backward as Megatron, PaLM and MaxText count them: the whole score matrix."""
    if job.architecture.forward_flop_per_sample:
        return 3 * forward_flop_per_sample(job.architecture)
    return job.sequence_length * train_flop_per_token(job.architecture, job.sequence_length, causal=False)
