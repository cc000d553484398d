"""`engine`: the software that a spec names is predicted, checked against work and accelerator, and launched."""

from __future__ import annotations

from datetime import date

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.performance.serving_constants import constants
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.spec.read import parse_spec
from sizewell.sizing.spec.software import SOFTWARE

CHAT = """
name: x
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 2, input_tokens: 500, output_tokens: 100}
slo: {ttft: 2s, tpot: 80ms}
"""
RUN = """
name: x
kind: training
model: meta-llama/Llama-3.1-8B
training: {tokens: 1B, sequence_length: 4096}
"""
ON = date(2026, 11, 20)


def need(text):
    return requirements(parse_spec(text, catalog=load()), load())


def test_the_default_is_said_and_what_is_named_is_predicted():
    silent = need(CHAT)
    assert "run by vllm, which is launched (engine is not stated)" in silent.assumptions
    assert silent.serving.engine == "vllm"
    named = need(CHAT + "engine: tensorrt-llm\n")
    assert named.serving.engine == "tensorrt-llm"
    assert not any("engine is not stated" in note for note in named.assumptions)
    assert need(CHAT + "engine: {name: vllm, version: 0.6.3}\n").serving.engine == "vllm-v0"
    assert need(CHAT + "engine: {name: vllm, version: 0.11.0}\n").serving.engine == "vllm"
    named = need(RUN + "engine: megatron\n").training
    assert (named.engine, named.engine_assumed) == ("megatron-bridge", False)  # of today, not the Megatron of 2021
    assert any("PyTorch with FSDP" in note for note in need(RUN).assumptions)


@pytest.mark.parametrize("engine", [name for name, software in SOFTWARE.items() if software.work == "serving"])
def test_the_decision_has_the_engine_and_its_machines_can_run_it(engine):
    facts, framework = load(), "framework: jax\n" if engine == "jetstream" else ""
    decision = decide([parse_spec(CHAT + framework + f"engine: {engine}\n")], facts, stack="", on=ON)
    assert isinstance(decision, Decision), decision
    workload = decision.workloads[0]
    assert workload.task.engine == engine
    assert facts.accelerators[workload.pools[0].accelerator].runtime in SOFTWARE[engine].runtimes


def test_an_accelerator_that_cannot_run_the_engine_is_rejected_with_the_reason():
    sizing = size_one(parse_spec(CHAT + "engine: tensorrt-llm\ninfra: [gcp, azure]\n"), load(), stack="", on=ON)
    reasons = {r.shape: r.reason for r in sizing.rejections}
    assert "tensorrt-llm has no release for" in reasons["azure/Standard_ND96isr_MI300X_v5"]


def test_software_for_other_work_and_unknown_software_are_refused_with_their_place():
    with pytest.raises(SpecError, match=r"line 7, column 9: engine\.name: megatron is software for training"):
        parse_spec(CHAT + "engine: megatron\n")
    with pytest.raises(SpecError, match="did you mean vllm"):
        parse_spec(CHAT + "engine: vlm\n")


def test_every_engine_that_has_constants_of_its_own_uses_them():
    fitted = constants().engines
    assert {"vllm", "tensorrt-llm", "sglang", "llama.cpp"} <= fitted.keys()
