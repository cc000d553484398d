"""Models that are published in few bits: what their checkpoints weigh, and that they are sized so."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.predict.memory import weight_bytes
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.jobs import ServingJob
from sizewell.sizing.workload.precision import native_form
from sizewell.sizing.workload.read import parse_spec

KIMI = "moonshotai/Kimi-K2.5"


def checkpoint_gb(name: str, *, layers: int = 0) -> float:
    """Of the catalog's model, or its first layers, as it is published."""
    a, native = load().model(name), native_form(name)
    assert native is not None
    a = replace(a, layers=layers or a.layers, params_stated=None)
    job = ServingJob(
        architecture=a, weights=native.weights, dense_weights=native.dense, weights_group=native.group, engine="vllm"
    )
    return weight_bytes(job) / 1e9


def test_a_checkpoint_whose_experts_alone_have_four_bits_weighs_what_is_published():
    """Kimi-K2.6, of the same form: "~555 GB" beside 4 x 141 GB that are 564, so GiB (huggingface.co/gratex/
    Kimi-K2.6-REAM-25). The first two layers with embeddings, head and 0.9 GB of the part that sees: 16.4 GB
    (huggingface.co/eatang/Kimi-K2.5-2layer).
    """
    assert checkpoint_gb(KIMI) * 1e9 / 2**30 == pytest.approx(555, rel=0.01)
    assert checkpoint_gb(KIMI, layers=2) + 0.9 == pytest.approx(16.4, rel=0.01)


@pytest.mark.parametrize(
    ("model", "weights"),
    [(KIMI, "int4"), ("deepseek-ai/DeepSeek-V4-Flash", "fp4"), ("MiniMaxAI/MiniMax-M2.5", "fp8"),
     ("XiaomiMiMo/MiMo-V2-Flash", "fp8")],
)  # fmt: skip
def test_a_model_that_is_published_in_few_bits_is_sized_so_and_the_answer_says_it(model, weights):
    text = f"name: x\nkind: inference\nmodel: {model}\ntraffic: {{rps: 1, input_tokens: 1000, output_tokens: 200}}\n"
    facts = load()
    found = decide([parse_spec(text, catalog=facts)], facts, stack="", on=date(2026, 11, 20))
    assert isinstance(found, Decision)
    assert any(
        f"weights in {weights}, as in its published checkpoint" in note for note in found.workloads[0].assumptions
    )


def test_weights_that_the_spec_states_are_of_one_format():
    """Whoever names another format than the checkpoint's has quantized it again, all of it."""
    text = (
        f"name: x\nkind: inference\nmodel: {{name: {KIMI}, weights: WEIGHTS}}\n"
        "traffic: {rps: 1, input_tokens: 1000, output_tokens: 200}\nresources: {instance_type: p6-b300.48xlarge}\n"
    )
    facts = load()
    sizes = {}
    for weights in ("int4", "fp8"):
        found = decide(
            [parse_spec(text.replace("WEIGHTS", weights), catalog=facts)], facts, stack="", on=date(2026, 11, 20)
        )
        assert isinstance(found, Decision)
        sizes[weights] = (
            found.workloads[0].memory.breakdown["weights"] * found.workloads[0].replicas.devices_per_replica
        )
    assert sizes["int4"] / 2**30 == pytest.approx(555, rel=0.02)
    assert sizes["fp8"] / 2**30 == pytest.approx(970, rel=0.02)  # a byte for each of 1.04T
