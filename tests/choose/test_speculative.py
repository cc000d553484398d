"""Speculative decoding from the spec to the answer: what is said, what is refused by name, and what is decided."""

from __future__ import annotations

import json

import pytest

from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.explain import explain
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.choose.start_up import loaded_bytes
from sizewell.sizing.errors import SpecError
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

from .conftest import ON

SPEC = """
name: chat
kind: inference
model: {model}
traffic: {{rps: {rps}, input_tokens: 1500, output_tokens: 300{speculative}}}
infra: [aws]
{more}
"""
ONE_B = ", speculative: {draft: meta-llama/Llama-3.2-1B, acceptance: 70%}"


def asked(facts, speculative=ONE_B, model="meta-llama/Llama-3.1-70B", more="", rps=1):
    text = SPEC.format(speculative=speculative, model=model, more=more, rps=rps)
    return parse_spec(text, catalog=facts)


def test_the_spec_becomes_a_job_with_its_draft(facts):
    job = requirements(asked(facts), facts).serving
    assert (job.speculation.draft.key, job.speculation.tokens) == ("meta-llama/Llama-3.2-1B", 5)
    assert job.speculation.acceptance == 0.7
    plain = requirements(asked(facts, ""), facts).serving
    assert plain.speculation is None
    assert loaded_bytes(job) == loaded_bytes(plain) + loaded_bytes(job.drafting)
    n_grams = requirements(asked(facts, ", speculative: {draft: ngram, tokens: 3, acceptance: 40%}"), facts).serving
    assert n_grams.speculation.draft is None
    assert n_grams.drafting is None
    assert loaded_bytes(n_grams) == loaded_bytes(plain)


@pytest.fixture(scope="module")
def decided(facts):
    decision = decide([asked(facts)], facts, stack="", on=ON)
    assert isinstance(decision, Decision)
    return decision


def test_the_answer_says_what_it_gives_and_what_it_rests_on(decided):
    said = " | ".join(decided.workloads[0].assumptions)
    assert "speculative decoding saves: with" in said
    assert "meta-llama/Llama-3.2-1B proposes 5, 70% accepted: 2.94 tokens a step" in said
    assert "no published run of it stands behind the figures" in said
    assert (decided.workloads[0].task.draft, decided.workloads[0].task.draft_tokens) == ("meta-llama/Llama-3.2-1B", 5)
    assert decided.workloads[0].memory.breakdown["draft model"] > 0


def test_what_costs_more_than_it_saves_is_said(facts):
    never = asked(facts, ONE_B.replace("70%", "0%"), model="meta-llama/Llama-3.1-8B")
    decision = decide([never], facts, stack="", on=ON)
    assert "speculative decoding costs more than it saves here" in " | ".join(decision.workloads[0].assumptions)
    explained = explain(never, facts, stack="", on=ON)
    assert any("costs more than it saves here" in remark for remark in explained.remarks)


def test_a_bound_below_one_reading_of_the_weights_can_be_kept(facts):
    """Of which a token takes a part alone, where a step adds several."""
    slo = "slo: {tpot: 9ms}"
    better = size_one(asked(facts, ONE_B.replace("70%", "90%"), more=slo, rps=0.1), facts, stack="", on=ON).best()
    plain = size_one(asked(facts, "", more=slo, rps=0.1), facts, stack="", on=ON).best()
    assert better is not None
    assert plain is None or plain.total_usd >= better.total_usd


def test_other_accelerators_are_rejected_by_name(facts):
    spec = parse_spec(
        SPEC.replace("infra: [aws]\n", "").format(speculative=ONE_B, model="meta-llama/Llama-3.1-8B", more="", rps=1)
    )
    sizing = size_one(spec, facts, stack="", on=ON)
    types = {f"{shape.cloud}/{shape.instance_type}": shape for shape in facts.shapes}
    on = {types[r.shape].accelerator for r in sizing.rejections if "speculative decoding is not launched" in r.reason}
    runtimes = {facts.accelerators[key].runtime for key in on if key}
    assert {"tpu", "neuron", "gaudi"} <= runtimes
    assert runtimes.isdisjoint({"cuda", "rocm"})
    assert "" in on


@pytest.mark.parametrize(
    ("speculative", "more", "told"),
    [
        ("{draft: meta-llama/Llama-3.2-1B}", "", ("speculative.acceptance: is missing", "there is no default", "vllm:spec")),
        ("{acceptance: 70%}", "", ("speculative.draft: is missing", "draft: ngram")),
        ("{draft: ngram, acceptance: 120%}", "", ("speculative.acceptance",)),
        ("{draft: ngram, acceptance: 70%, tokens: 0}", "", ("speculative.tokens",)),
        ("{draft: meta-llama/Llama-3.2-1, acceptance: 70%}", "", ("'meta-llama/Llama-3.2-1' is not one of", "Llama-3.2-1B")),
        ("{draft: Qwen/Qwen3-0.6B, acceptance: 70%}", "", ("a vocabulary of 151,936 tokens, meta-llama/Llama-3.1-70B of 128,256", "meta-llama/Llama-3.2-1B")),
        ("{draft: BAAI/bge-m3, acceptance: 70%}", "", ("generates no text: it is an encoder model",)),
        ("{draft: ngram, acceptance: 70%}", "engine: llama.cpp", ("predicted as vllm and sglang do it, not llama.cpp",)),
        ("{draft: meta-llama/Llama-3.2-1B, acceptance: 70%}", "engine: {name: vllm, version: 0.11.0}",
         ("engine.version", "0.11.0 takes no draft model; 0.15.0 is the first", "write 0.15.0 or later")),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(facts, speculative, more, told):
    with pytest.raises(SpecError) as refused:
        asked(facts, f", speculative: {speculative}", more=more)
    assert all(part in str(refused.value) for part in told), str(refused.value)
    assert all(fault.at for fault in refused.value.faults)


@pytest.mark.parametrize("more", ["engine: sglang", "engine: {name: vllm, version: 0.15.0}"])
def test_the_ways_out_lead_on(facts, more):
    assert asked(facts, more=more).traffic.speculative.tokens == 5
    assert asked(facts, ", speculative: {draft: ngram, acceptance: 70%}", more="engine: {name: vllm, version: 0.11.0}")


@pytest.mark.parametrize("key", ["speculative_config: {a: 1}", "draft_model: x", "num_speculative_tokens: 5"])
def test_who_writes_it_elsewhere_is_shown_the_key(facts, key):
    with pytest.raises(SpecError, match=r"speculative: \{draft: MODEL, acceptance: 70%\}"):
        asked(facts, "", more=key)


def test_a_model_that_writes_nothing_has_none(facts, tmp_path):
    with pytest.raises(SpecError, match="is for services that generate text: others have no next token to propose"):
        asked(facts, model="BAAI/bge-m3")
    with pytest.raises(SpecError, match="is for services that generate text: others have no next token to propose"):
        asked(facts, model="{family: encoder, params: 300M, layers: 12, hidden: 768}")
    assert json.dumps(asked(facts).model_dump(mode="json")["traffic"]["speculative"])
