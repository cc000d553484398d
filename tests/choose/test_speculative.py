"""Speculative decoding from the spec to the answer: what is said, what is refused by name, and what is decided."""

from __future__ import annotations

import json
import re

import pytest

from sizewell.sizing.catalog.tokenizers import tokenizer
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.choose.explain import explain
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.choose.start_up import loaded_bytes
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.predict.memory import weight_bytes
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.drafts import fitting
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
        ("{draft: meta-llama/Llama-4-Scout-17B-16E-Instruct, acceptance: 70%}", "", ("as meta-llama/Llama-3.2-1B or",)),
        ("{draft: yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, acceptance: 70%}", "",
         ("is by its name a head trained for one model: EAGLE, MTP and other such heads are not predicted", "as meta-llama/Llama-3.2-1B or")),
        ("{draft: eagle3, acceptance: 70%}", "", ("a head trained for one model", "or draft: ngram")),
        ("{draft: google/gemma-3-1b-it, acceptance: 70%}", "engine: {name: vllm, version: 0.15.1}",
         ("engine.version", "0.15.1 takes no draft with a window in some layers alone")),
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


MIXTRAL = "mistralai/Mixtral-8x7B-v0.1"


def test_as_many_tokens_are_not_the_same_tokens(facts):
    """Llama 2 and Mistral have 32,000 each. What is proposed in place of another can be followed."""
    other = ", speculative: {draft: TinyLlama/TinyLlama-1.1B-Chat-v1.0, acceptance: 70%}"
    with pytest.raises(SpecError, match=r"has another tokenizer than .*accepts next to nothing") as refused:
        asked(facts, other, model=MIXTRAL)
    (fault,) = refused.value.faults
    meant = fault.fix.partition(", as ")[2].partition(" or ")[0]
    assert meant.startswith("mistralai/")
    assert asked(facts, other.replace("TinyLlama/TinyLlama-1.1B-Chat-v1.0", meant), model=MIXTRAL)
    assert asked(facts, other, model="meta-llama/Llama-2-70b-hf")


def test_what_is_proposed_has_the_models_tokenizer_and_is_published(facts):
    for model in facts.models.values():
        for name in fitting(model, facts, name=model.key)[:3]:
            other = facts.model(name)
            assert (tokenizer(name), other.vocab) == (tokenizer(model.key), model.vocab)
            assert params_total(other) < params_total(model) / 4
            assert not name.startswith(("maxtext/", "litgpt/"))
    assert fitting(facts.model("meta-llama/Llama-3.1-70B"), facts, name="meta-llama/Llama-3.1-70B")
    assert not fitting(facts.model("meta-llama/Llama-3.1-70B"), facts, name=None)


def test_a_draft_reads_what_the_requests_have(facts):
    long = ", speculative: {draft: TinyLlama/TinyLlama-1.1B-Chat-v1.0, acceptance: 70%}"
    text = SPEC.format(speculative=long, model="meta-llama/Llama-2-70b-hf", more="", rps=1)
    with pytest.raises(SpecError, match="reads 2,048 tokens, requests have 3,300"):
        parse_spec(text.replace("1500", "3000"), catalog=facts)
    spread = text.replace("input_tokens: 1500", "input_tokens: 1500, input_tokens_p95: 3000")
    said = " | ".join(requirements(parse_spec(spread, catalog=facts), facts).assumptions)
    assert "of requests are longer than the 2,048 tokens that TinyLlama" in said
    assert "are longer than" not in " | ".join(requirements(parse_spec(text, catalog=facts), facts).assumptions)


@pytest.mark.parametrize("form", ["fp8", "fp4"])
def test_a_draft_is_counted_as_it_is_published(facts, form):
    named = f"nvidia/Llama-3.1-8B-Instruct-{form.upper()}"
    need = requirements(asked(facts, f", speculative: {{draft: {named}, acceptance: 70%}}"), facts)
    plain = requirements(
        asked(facts, ", speculative: {draft: meta-llama/Llama-3.1-8B-Instruct, acceptance: 70%}"), facts
    )
    assert need.serving.drafting.weights == form
    assert weight_bytes(need.serving.drafting) < 0.7 * weight_bytes(plain.serving.drafting)
    assert f"weights of the draft in {form}, as in its published checkpoint" in need.assumptions
    decision = decide([asked(facts, f", speculative: {{draft: {named}, acceptance: 70%}}")], facts, stack="", on=ON)
    assert f"{named} proposes 5" in " | ".join(decision.workloads[0].assumptions)


def _on_one(facts, speculative, model="meta-llama/Llama-3.1-8B", machine="g6.xlarge", more=""):
    text = SPEC.format(
        speculative=speculative, model=model, rps=0.5, more=f"resources: {{instance_type: [{machine}]}}\n{more}"
    )
    return parse_spec(text, catalog=facts)


@pytest.mark.parametrize(
    ("model", "draft", "machine", "more", "says"),
    [
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-3B", "g6.xlarge", "", "6.0 GiB of that is the draft model"),
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B", "g6e.xlarge", "slo: {tpot: 30ms}", "each token after"),
        ("Qwen/Qwen3-235B-A22B-FP8", "Qwen/Qwen2.5-0.5B", "p5.48xlarge", "",
         "the draft model, whose 14 heads divide over no more than 2 of its 8 devices"),
    ],
)  # fmt: skip
def test_what_does_not_fit_for_its_draft_is_told_so_and_what_helps_does(facts, model, draft, *, machine, more, says):
    drafting = f", speculative: {{draft: {draft}, acceptance: 30%}}"
    answer = decide([_on_one(facts, drafting, model, machine, more)], facts, stack="", on=ON)
    assert isinstance(answer, NothingFits)
    assert says in " ".join([*answer.impossible, *(each.reason for each in answer.nearest)])
    ways = " ".join(answer.relax)
    assert "remove traffic.speculative" in ways
    assert isinstance(decide([_on_one(facts, "", model, machine, more)], facts, stack="", on=ON), Decision)
    for other in re.findall(r"use (?:traffic\.speculative\.)?draft: ([\w./-]+)", ways):
        spec = _on_one(facts, drafting.replace(draft, other), model, machine, more)
        assert isinstance(decide([spec], facts, stack="", on=ON), Decision), other


def test_without_a_draft_nothing_is_said_of_one(facts):
    answer = decide([_on_one(facts, "", "meta-llama/Llama-3.1-70B")], facts, stack="", on=ON)
    assert isinstance(answer, NothingFits)
    assert "draft" not in " ".join([*answer.impossible, *answer.relax, *(each.reason for each in answer.nearest)])


def test_what_releases_are_known_to_refuse_of_a_draft_is_said(facts):
    gemma = ", speculative: {draft: google/gemma-3-1b-it, acceptance: 70%}"
    said = " | ".join(requirements(asked(facts, gemma, model="google/gemma-3-27b-it"), facts).assumptions)
    assert "vllm 0.15 takes no draft with a window in some layers alone" in said
    assert "vllm 0.15 to 0.20 takes no draft model beside a model that reads images" in said
    assert "takes no draft" not in " | ".join(requirements(asked(facts), facts).assumptions)
