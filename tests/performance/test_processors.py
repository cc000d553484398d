"""Inference without an accelerator: the predictions against what other people measured and published on processors."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.host import part_of
from sizewell.sizing.catalog.records import Processor
from sizewell.sizing.predict.performance import processors
from sizewell.sizing.predict.performance.serving import ServingRefusal, serving
from sizewell.sizing.records.jobs import Cluster, ServingEstimate, ServingJob

GIB = 2**30


def chip(name: str, *, cores: int, clock_hz: float, memory_bytes_per_s: float) -> Processor:
    """A processor with two 512-bit multiply-add units a core: 64 FLOP a cycle in fp32, 256 in 8-bit integers."""
    return Processor(
        cloud="",
        pattern="",
        name=name,
        cores=cores,
        threads_per_core=2,
        clock_hz=clock_hz,
        memory_bytes_per_s=memory_bytes_per_s,
        flop_per_cycle={"fp32": 64.0, "int8": 256.0},
        instructions=("avx512", "vnni"),
        source="Intel's specifications (from memory)",
        checked="2026-11-22",
        confidence="medium",
    )


C6I = chip("Xeon 8375C", cores=32, clock_hz=2.9e9, memory_bytes_per_s=204.8e9)
ICE_LAKE_8380 = chip("Xeon 8380", cores=40, clock_hz=2.3e9, memory_bytes_per_s=204.8e9)
C3 = chip("Xeon 8481C", cores=52, clock_hz=2.0e9, memory_bytes_per_s=307.2e9)
W9 = chip("Xeon w9-3475X at 2.2 GHz", cores=36, clock_hz=2.2e9, memory_bytes_per_s=307.2e9)
C5 = chip("Xeon 8275CL", cores=24, clock_hz=3.0e9, memory_bytes_per_s=140.8e9)


class Case(NamedTuple):
    id: str
    chip: Processor
    cores: float
    model: str
    weights: str
    prompt: int
    answer: int  # tokens; 0: one answer in one go
    metric: str  # "requests" or "decode" or "prefill": each per second
    value: float
    source: str


HF = "huggingface/blog infinity-cpu-performance.md@05d42a6 (c6i, 2 physical cores, batch 1, Transformers)"
HF_INT8 = "the same (Infinity, quantised)"
INC = "intel.github.io/neural-compressor/2.1 validated_model_list (1 socket, 8 instances of 4 cores, batch 1)"
CASES = (
    Case("hf-64", C6I, 2, "distilbert-base-uncased", "fp32", 64, 0, "requests", 28, HF),
    Case("hf-128", C6I, 2, "distilbert-base-uncased", "fp32", 128, 0, "requests", 18, HF),
    Case("hf-256", C6I, 2, "distilbert-base-uncased", "fp32", 256, 0, "requests", 9, HF),
    Case("hf-512", C6I, 2, "distilbert-base-uncased", "fp32", 512, 0, "requests", 4, HF),
    Case("hf-int8-128", C6I, 2, "distilbert-base-uncased", "int8", 128, 0, "requests", 55, HF_INT8),
    Case("hf-int8-512", C6I, 2, "distilbert-base-uncased", "int8", 512, 0, "requests", 12, HF_INT8),
    Case("inc-bert-base", ICE_LAKE_8380, 4, "bert-base-uncased", "fp32", 128, 0, "requests", 93.69 / 8, INC),
    Case("inc-bert-base-int8", ICE_LAKE_8380, 4, "bert-base-uncased", "int8", 128, 0, "requests", 170.44 / 8, INC),
    Case("inc-bert-large", ICE_LAKE_8380, 4, "bert-large-uncased", "fp32", 384, 0, "requests", 9.92 / 8, INC),
    Case("inc-bert-large-int8", ICE_LAKE_8380, 4, "bert-large-uncased", "int8", 384, 0, "requests", 18.39 / 8, INC),
    Case("c3-decode", C3, 22, "meta-llama/Llama-2-7b-hf", "int4", 14, 490, "decode", 21.59, "ggml-org/llama.cpp#34"),
    Case("c5-decode", C5, 4, "meta-llama/Llama-2-7b-hf", "int4", 32, 128, "decode", 6.7, "ggml-org/llama.cpp#1766"),
    Case("w9-4-decode", W9, 4, "meta-llama/Llama-2-7b-hf", "int4", 1, 128, "decode", 6.83, "ggml-org/llama.cpp#7487"),
    Case("w9-8-decode", W9, 8, "meta-llama/Llama-2-7b-hf", "int4", 1, 128, "decode", 12.32, "ggml-org/llama.cpp#7487"),
    Case("w9-4-prefill", W9, 4, "meta-llama/Llama-2-7b-hf", "int4", 512, 1, "prefill", 21.45, "llama.cpp#7487 (AMX)"),
    Case("w9-8-prefill", W9, 8, "meta-llama/Llama-2-7b-hf", "int4", 512, 1, "prefill", 42.74, "llama.cpp#7487 (AMX)"),
    Case("c3-prefill", C3, 22, "meta-llama/Llama-2-7b-hf", "int4", 14, 1, "prefill", 64.9, "ggml-org/llama.cpp#34"),
)


def estimate_of(case: Case) -> ServingEstimate:
    share = case.cores / case.chip.cores
    device = part_of(case.chip, key=case.id, cores=case.cores, share=share, memory_bytes=32 * GIB)
    a = load().models[load().model_names[case.model.lower()]]
    stated = ServingJob(architecture=a, weights=case.weights, input_tokens=case.prompt, output_tokens=case.answer)
    answer = serving(processors.as_run(stated), Cluster(accelerator=device, per_node=1), batch=1)
    assert not isinstance(answer, ServingRefusal), answer.reason
    return answer


def predicted(case: Case) -> float:
    answer = estimate_of(case)
    if case.metric == "decode":
        return 1.0 / answer.tpot_s
    return case.prompt / answer.ttft_s if case.metric == "prefill" else answer.requests_per_s


def test_published_cases_are_predicted() -> None:
    """Wide, and said so: the lowest grade, and a band that holds nine in ten of them."""
    errors = {case.id: predicted(case) / case.value - 1.0 for case in CASES}
    low, high = processors.BAND
    outside = {name for name, error in errors.items() if not low <= 1.0 / (1.0 + error) <= high}
    assert median(abs(error) for error in errors.values()) <= 0.30, errors
    assert len(outside) <= len(CASES) // 10, {name: errors[name] for name in outside}


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_no_prediction_beats_the_processor(case: Case) -> None:
    answer = estimate_of(case)
    device = part_of(case.chip, key="", cores=case.cores, share=case.cores / case.chip.cores, memory_bytes=32 * GIB)
    assert answer.grade == "roofline"
    assert answer.low / answer.requests_per_s == pytest.approx(processors.BAND[0])
    if case.metric == "decode":
        weights = 6.7e9 * 0.5  # bytes, at the very least, of a model of 7 B parameters in 4 bits
        assert predicted(case) <= device.memory_bytes_per_s / weights


def test_predictions_fail_where_the_shares_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the published cases can fail: at half of what is reached it does."""
    from sizewell.sizing.predict.performance import serving_constants

    half = serving_constants.Family(compute=0.12, memory=0.35, samples=0.22, fitted=frozenset())
    monkeypatch.setattr(serving_constants, "_PROCESSOR", half)
    with pytest.raises(AssertionError):
        test_published_cases_are_predicted()
