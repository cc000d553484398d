"""Models that engines refuse in fp16 are not put on GPUs that have no bf16."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.choose.candidates import NO_FP16
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.explain import sized
from sizewell.sizing.workload.read import parse_spec

SPEC = """name: small
kind: inference
model: {model}
infra: [aws/us-east-1]
traffic: {{rps: 0.5, input_tokens: 300, output_tokens: 100}}
"""


@pytest.mark.parametrize(
    ("accelerator", "model", "said"),
    [
        ("T4", "Qwen/Qwen2.5-3B-Instruct", True),
        ("T4", "{name: Qwen/Qwen2.5-3B-Instruct, weights: int8}", True),
        ("T4", "{name: Qwen/Qwen2.5-3B-Instruct, weights: fp16}", False),
        ("L4", "Qwen/Qwen2.5-3B-Instruct", False),
    ],
)
def test_what_is_computed_in_fp16_for_want_of_bf16_is_said(accelerator: str, model: str, said: bool) -> None:
    catalog = load()
    text = SPEC.format(model=model) + f"resources: {{accelerators: {accelerator}}}\n"
    spec = parse_spec(text, "small.yaml", catalog=catalog, folder=Path())
    notes = decide([spec], catalog, stack="", on=date(2026, 11, 28)).workloads[0].assumptions
    assert any(note.startswith(f"computed in fp16, for {accelerator} has no bf16") for note in notes) is said


def test_the_engine_that_computes_in_fp16_by_itself_refuses_as_well() -> None:
    assert set(NO_FP16) <= set(ENGINES)


@pytest.mark.parametrize(
    ("model", "turing"),
    [("google/gemma-3-4b-it", False), ("google/gemma-2-2b-it", False), ("Qwen/Qwen2.5-3B-Instruct", True)],
)
def test_a_model_without_fp16_is_on_no_gpu_without_bf16(model: str, turing: bool) -> None:
    catalog = load()
    spec = parse_spec(SPEC.format(model=model), "small.yaml", catalog=catalog, folder=Path())
    sizing, best = sized(spec, catalog, stack="", on=date(2026, 11, 28))
    assert best is not None
    used = {option.candidate.shape.accelerator for option in sizing.options}
    assert ("t4" in used) is turing
