"""Models that engines refuse in fp16 are not put on GPUs that have no bf16."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.explain import sized
from sizewell.sizing.workload.read import parse_spec

SPEC = """name: small
kind: inference
model: {model}
infra: [aws/us-east-1]
traffic: {{rps: 0.5, input_tokens: 300, output_tokens: 100}}
"""


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
