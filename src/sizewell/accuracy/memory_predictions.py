"""Predictions of memory cases: peak per device, weights, cache tokens, longest sequence that fits, fits or not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import CannotPredictError, architecture_of, counted, device_of, engine_of
from sizewell.accuracy.training_cases import TrainingCase, training_case
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.predict.memory import kv_cache_tokens, serving_memory, serving_parts, training_memory, usable_bytes
from sizewell.sizing.predict.memory.constants import constants
from sizewell.sizing.predict.memory.serving import PAGED
from sizewell.sizing.predict.memory.training import band, band_groups
from sizewell.sizing.predict.usual import SERVING
from sizewell.sizing.records.jobs import Grade, MemoryEstimate, ServingJob
from sizewell.sizing.units import GIB, SIZES

_LONGEST = 1 << 22
_TORCH_ITEMS_OUTSIDE = ("context", "communicators")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A predicted value in the case's own unit, with its 80 % band."""

    value: float
    low: float
    high: float
    grade: Grade
    assumptions: tuple[str, ...] = ()
    group: str = ""  # whose errors the band rests on
    wider: tuple[str, ...] = ()  # groups that hold it, the narrowest first
    families: tuple[str, ...] = ()  # of accelerators, and groups of them, whose own errors no band is narrower than
    fits: bool | None = None  # whether the run fits its device at the upper edge of the band


def predict_memory(case: Case) -> Prediction:
    """The case's figure, predicted; CannotPredictError where the source says too little."""
    if case.metric == "max_sequence_length":
        return _longest_sequence(case)
    if case.kind in ("train", "finetune_full", "finetune_lora", "finetune_qlora", "train_formula"):
        return _training(case)
    if case.metric == "fits":
        is_training = bool(case.workload.get("optimizer")) or "method" in case.workload
        return _training(case) if is_training else _serving(case)
    return _serving(case)


def _training(case: Case) -> Prediction:
    described = training_case(case)
    if described.layout is None:
        raise CannotPredictError("the source does not state how the run was split over its devices")
    estimate = training_memory(described.job, described.layout, described.accelerator)
    fits = estimate.high_bytes <= usable_bytes(described.accelerator)
    if case.metric == "fits":
        return Prediction(value=float(fits), low=float(fits), high=1.0, grade=estimate.grade, fits=fits)
    total = counted_bytes(estimate, described.measure)
    if case.metric == "activation_memory_per_device":
        total = sum(size for item, size in estimate.breakdown if item in ("activations", "logits and loss"))
    per_unit = unit_bytes(case)
    share = total / estimate.total_bytes
    own, kind = band_groups(described.job)
    return Prediction(
        value=total / per_unit,
        low=estimate.low_bytes * share / per_unit,
        high=estimate.high_bytes * share / per_unit,
        grade=estimate.grade,
        assumptions=(*described.assumptions, *estimate.assumptions),
        group=own,
        wider=(kind,),
        fits=fits,
    )


def counted_bytes(estimate: MemoryEstimate, measure: str) -> int:
    """The part of the estimate that a published peak counts: the whole device, or what the allocator reports."""
    left_out: tuple[str, ...] = ()
    if measure != "device":
        left_out = _TORCH_ITEMS_OUTSIDE
    if measure == "allocated":
        left_out += ("allocator",)
    return sum(size for item, size in estimate.breakdown if item not in left_out)


def unit_bytes(case: Case) -> float:
    """Bytes of the case's unit; GB is 1e9, unless `also.value_gib` says that the source's GB were GiB."""
    unit = case.unit
    size = SIZES.get({"bytes": "B", "byte": "B"}.get(first := unit.split(" ", maxsplit=1)[0], first))
    if size is None:
        raise CannotPredictError(f"unit {unit!r} is not a size in bytes")
    normalised = case.also.get("value_gib")
    return float(normalised) * GIB / case.value if normalised and case.value else float(size)


def _longest_sequence(case: Case) -> Prediction:
    described = training_case(case)
    if described.layout is None:
        raise CannotPredictError("the source does not state how the run was split over its devices")
    device = described.accelerator
    usable = usable_bytes(device)
    low, high = band(described.job)
    return Prediction(
        value=float(_fitting_sequence(described, device, usable)),
        low=float(_fitting_sequence(described, device, usable / high)),
        high=float(_fitting_sequence(described, device, usable / low)),
        grade="calibrated",
        assumptions=described.assumptions,
        group="sequence",
    )


def _fitting_sequence(described: TrainingCase, device: Accelerator, room: float) -> int:
    """The longest sequence whose peak stays within `room`: bisection, as more tokens never need less."""
    assert described.layout is not None  # noqa: S101 - both callers checked
    base = replace(described.job, architecture=replace(described.job.architecture, max_sequence_length=None))

    def needed(length: int) -> int:
        job = replace(base, sequence_length=length)
        return training_memory(job, described.layout, device).total_bytes  # type: ignore[arg-type]

    if needed(1) > room:
        return 0
    fits, beyond = 1, _LONGEST
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        fits, beyond = (middle, beyond) if needed(middle) <= room else (fits, middle)
    return fits


def _serving(case: Case) -> Prediction:
    w, p = case.workload, case.parallelism
    device = device_of(case)
    tensor, pipeline = int(p.get("tp") or 1), int(p.get("pp") or 1)
    job = serving_job(case)
    if w.get("total_gib"):
        device = replace(
            device, memory_bytes=int(float(w["total_gib"]) * GIB * device.memory_bytes / usable_bytes(device))
        )
    parts = serving_parts(job, tensor=tensor, accelerator=device, pipeline=pipeline)
    bands = constants().bands_assumed if job.engine_assumed else constants().bands
    if case.metric == "weights_per_device" or case.kind == "weights_only" or w.get("phase") == "model allocated":
        group = weights_group(job.architecture)
        low, high = bands.get(group, bands["weights"])
        value = parts.weights / unit_bytes(case)
        return Prediction(value=value, low=value * low, high=value * high, grade="calibrated", group=group)
    if case.metric in ("kv_cache_tokens", "kv_cache_per_device"):
        tokens = kv_cache_tokens(job, tensor=tensor, accelerator=device, pipeline=pipeline)
        value = tokens if case.metric == "kv_cache_tokens" else tokens * parts.kv_per_token / unit_bytes(case)
        group = "kv-v0" if job.engine == "vllm-v0" else "kv"
        low, high = bands[group]
        return Prediction(value=value, low=value * low, high=value * high, grade="calibrated", group=group)
    sequences = _number(w.get("batch")) or 1.0
    estimate = serving_memory(job, tensor=tensor, sequences=sequences, accelerator=device, pipeline=pipeline)
    budget = usable_bytes(device)
    fits = estimate.high_bytes <= budget
    if case.metric == "fits":
        return Prediction(value=float(fits), low=float(fits), high=1.0, grade=estimate.grade, fits=fits)
    total = counted_bytes(estimate, counted(case))
    share, per_unit = total / estimate.total_bytes, unit_bytes(case)
    return Prediction(
        value=total / per_unit,
        low=estimate.low_bytes * share / per_unit,
        high=estimate.high_bytes * share / per_unit,
        grade=estimate.grade,
        assumptions=estimate.assumptions,
        group="serving",
        fits=fits,
    )


def weights_group(model: Architecture) -> str:
    """Whose errors the band of a model's weights rests on: a text model is counted tensor by tensor, the vision tower
    of another one is a lump that its source states or leaves out.
    """
    return "weights" if model.extra_params else "weights-text"


def serving_job(case: Case) -> ServingJob:
    """The serving job of a memory case."""
    w = case.workload
    fraction = w.get("gpu_memory_utilization")
    engine = engine_of(case) or SERVING
    length = int(w.get("max_model_len") or 0)
    said = str(w.get("engine") or "").lower()
    if engine == "vllm" and said and not re.search(r"0\.(9|[1-9]\d)\.|1\.\d", said):
        engine = "vllm-v0"  # before 0.9 the profiling run took a whole prompt
    prompt = _number(w.get("seq_len"))
    if engine == "torchtune":  # its generation allocates the cache for the model's longest sequence
        length = architecture_of(case).max_sequence_length or 0
    return ServingJob(
        architecture=architecture_of(case),
        weights=_stored(w),
        kv="fp8" if "fp8" in str(w.get("kv_cache_dtype") or w.get("kv_precision") or "") else "",
        input_tokens=0 if length else (prompt or 256),
        output_tokens=0 if length else float(w.get("max_new_tokens") or 0),
        max_sequence_length=length if length or engine not in PAGED else 0,
        engine=engine,
        engine_assumed=not engine_of(case),
        memory_fraction=float(fraction) if isinstance(fraction, int | float) else 0.9,
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _stored(w: Any) -> str:
    quantised = str(w.get("quantization") or "").lower()
    if "qlora" in str(w.get("method") or "").lower():
        return "nf4-dq"
    dtype = f"{w.get('dtype') or ''} {w.get('precision') or ''}".lower()
    for word, name in (
        ("nf4-dq", "nf4-dq"),
        ("nf4", "nf4"),
        ("4-bit", "int4"),
        ("gptq", "int4"),
        ("awq", "int4"),
        ("w4a16", "int4"),
        ("fp8", "fp8"),
        ("w8a8", "int8"),
        ("int8", "int8"),
        ("compressed-tensors", "int8"),
    ):
        if word in quantised:
            return name
    if "float32" in dtype or "fp32" in dtype:
        return "fp32"
    return "bf16"
