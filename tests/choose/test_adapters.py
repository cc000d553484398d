"""LoRA adapters served beside one model: from the spec to the room they take, the flags, and what is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.memory import adapter_bytes, serving_memory
from sizewell.sizing.predict.performance.serving_replica import replica
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.jobs import Cluster
from sizewell.sizing.workload.read import parse_spec, read_spec

from .conftest import ON

SPEC = """
name: chat
kind: inference
model: {{name: {model}{adapters}}}
traffic: {{rps: 4, input_tokens: 1500, output_tokens: 300}}
{more}
"""
TWENTY = ", adapters: {count: 20, rank: 12, resident: 8}"


def asked(facts, adapters=TWENTY, model="meta-llama/Llama-3.1-8B", more=""):
    return parse_spec(SPEC.format(adapters=adapters, model=model, more=more), catalog=facts)


def job_of(facts, adapters=TWENTY, model="meta-llama/Llama-3.1-8B"):
    return requirements(asked(facts, adapters, model), facts).serving


def reserved(rank, tensor, *, hidden=4096, query=4096, kv=1024, ffn=14336, layers=32, vocab=128256):
    """Values that one adapter's tensors have on a device in vLLM, as `create_lora_weights` of each layer shapes them."""
    divided = {"q": query, "k": kv, "v": kv, "gate": ffn, "up": ffn}  # column parallel: A whole, B divided
    column = sum(rank * hidden + out // tensor * rank for out in divided.values())
    row = sum(rank * into // tensor + hidden * rank for into in (query, ffn))  # o and down: A divided, B whole
    tables = 2 * (rank * hidden + vocab * rank)  # logits and embedding, on every device
    return layers * (column + row) + tables


@pytest.mark.parametrize("tensor", [1, 2, 4, 8])
def test_the_room_is_what_vllm_reserves(facts, tensor):
    job = job_of(facts)
    assert (job.adapters, job.adapter_rank) == (8, 16)  # of rank 12: the engine has no room of that size
    assert adapter_bytes(job, tensor=tensor) == pytest.approx(2 * 8 * reserved(16, tensor), rel=1e-9)


def test_experts_have_adapters_of_their_own(facts):
    job = job_of(facts, model="mistralai/Mixtral-8x7B-v0.1")
    experts = 8 * 3 * (4096 + 14336)
    attention = 2 * (4096 + 4096) + 2 * (4096 + 1024)
    per_rank = 32 * (attention + experts) + 2 * (4096 + 32000)
    assert adapter_bytes(job) == pytest.approx(2 * 8 * 16 * per_rank)


def test_they_are_counted_in_memory_and_in_time_and_cost_nothing_where_there_are_none(facts):
    job, none = job_of(facts), job_of(facts, "")
    h100 = facts.accelerator("h100-sxm")
    held = [dict(serving_memory(j, tensor=1, sequences=8, accelerator=h100).breakdown) for j in (job, none)]
    assert "adapters" not in held[1]
    assert held[0] == {**held[1], "adapters": round(adapter_bytes(job))}
    cluster = Cluster(accelerator=h100, per_node=8)
    with_them, without = (replica(j, cluster, tensor=1) for j in (job, none))
    one = adapter_bytes(replace(job, adapters=1))
    assert with_them.read_s(1) - without.read_s(1) == pytest.approx(one / (h100.memory_bytes_per_s * 0.5), rel=0.7)
    assert with_them.read_s(1) < with_them.read_s(4) < with_them.read_s(64)
    assert with_them.read_s(10_000) - without.read_s(10_000) == pytest.approx(8 * with_them.adapter_s)
    flop = 2 * 16 * (reserved(1, 1) - 2 * (4096 + 128256))
    assert with_them.linear_s_per_token > without.linear_s_per_token
    assert with_them.linear_s_per_token - without.linear_s_per_token >= flop / h100.flop_per_s["bf16"]


def test_more_adapters_are_never_cheaper(facts):
    costs = []
    for adapters in ("", ", adapters: {count: 8}", ", adapters: {count: 64, rank: 256}"):
        best = size_one(asked(facts, adapters, more="infra: [aws]"), facts, stack="", on=ON).best()
        assert best is not None
        costs.append(best.total_usd)
    assert costs == sorted(costs)


@pytest.fixture(scope="module")
def decided(facts):
    decision = decide([asked(facts)], facts, stack="", on=ON)
    assert isinstance(decision, Decision)
    return decision


def test_the_answer_says_what_is_counted_and_what_is_not(decided):
    said = " | ".join(decided.workloads[0].assumptions)
    assert "LoRA adapters of rank 16: room for 8 of 20, 0.69 GiB a replica on one device" in said
    assert "the time of their kernels is not" in said
    assert "the other adapters wait in the host's memory" in said
    assert decided.workloads[0].task.adapters == 20


def test_other_accelerators_are_rejected_by_name(facts):
    sizing = size_one(asked(facts), facts, stack="", on=ON)
    types = {f"{shape.cloud}/{shape.instance_type}": shape for shape in facts.shapes}
    refused = [r for r in sizing.rejections if "LoRA" in r.reason]
    on = {types[r.shape].accelerator for r in refused}
    runtimes = {facts.accelerators[key].runtime for key in on if key}
    assert {"tpu", "neuron", "gaudi"} <= runtimes
    assert runtimes.isdisjoint({"cuda", "rocm"})
    assert "" in on  # machines without accelerators
    assert not any("LoRA" in r.reason for r in size_one(asked(facts, ""), facts, stack="", on=ON).rejections)


@pytest.mark.parametrize(
    ("form", "more", "told"),
    [
        ("{count: 2, resident: 8}", "", ("model.adapters.resident: 8 in memory of 2 adapters", "swap them")),
        ("{count: 2, rank: 1024}", "", ("model.adapters.rank: must be at most 512",)),
        ("8", "", ("model.adapters: is a mapping, not a number of them", "adapters: {count: 8}")),
        ("{rank: 8}", "", ("model.adapters.count: is missing",)),
        ("{count: 2, max_loras: 8}", "", ("unknown key 'max_loras'", "allowed keys: count, rank, resident")),
        ("{count: 2}", "engine: llama.cpp", ("counted and launched for vllm, not for llama.cpp", "use vllm")),
        ("{count: 2}", "engine: sglang", ("counted and launched for vllm, not for sglang", "use vllm")),
    ],
)
def test_what_cannot_be_is_told(facts, form, more, told):
    with pytest.raises(SpecError) as refused:
        asked(facts, f", adapters: {form}", more=more)
    assert all(part in str(refused.value) for part in told)
    assert all(fault.at for fault in refused.value.faults)


@pytest.mark.parametrize(
    ("key", "adapters"),
    [
        ("enable_lora: true", "{count: 8, rank: 16}"),
        ("max_loras: 8", "{count: 8}"),
        ("lora_modules: [a]", "{count: 1}"),
        ("adapters: 8", "{count: 8}"),
        ("lora: {rank: 8}", "{count: 8, rank: 16}"),
    ],
)
def test_who_writes_it_elsewhere_is_shown_the_key(facts, key, adapters):
    """With the figures that stand there, where there are any."""
    with pytest.raises(SpecError) as refused:
        asked(facts, "", more=key)
    assert f"adapters: {adapters}}}" in str(refused.value)


@pytest.mark.parametrize("kind", ["batch-inference", "fine-tuning"])
def test_they_are_for_services(kind):
    needs = {
        "batch-inference": "batch: {records: 50M, tokens_per_record: 400, window: 8h}",
        "fine-tuning": "training: {samples: 50k, sequence_length: 4096}",
    }
    text = f"name: x\nkind: {kind}\nmodel: {{name: meta-llama/Llama-3.1-8B, adapters: {{count: 2}}}}\n{needs[kind]}\n"
    with pytest.raises(SpecError, match=rf"model.adapters: does not apply to kind: {kind}"):
        parse_spec(text)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("name: resnet-50", "resnet-50 is a vision model"),
        ("name: BAAI/bge-m3", "BAAI/bge-m3 is an encoder model"),
        ("config: ./bert.json", "./bert.json is an encoder model"),
        ("family: vision, params: 89M, resolution: 224, forward_flop_per_sample: 31B", "this is a vision model"),
    ],
)
def test_a_model_that_writes_no_text_has_none(facts, tmp_path, model, told):
    bert = {
        "model_type": "bert",
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "vocab_size": 30522,
    }
    (tmp_path / "bert.json").write_text(json.dumps(bert))
    traffic = "{rps: 4, images: {}}" if "vision" in told else "{rps: 4, input_tokens: 200}"
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"name: x\nkind: inference\nmodel: {{{model}, adapters: {{count: 2}}}}\ntraffic: {traffic}\n")
    with pytest.raises(SpecError, match=f"spec.yaml:3:.*model.adapters: .*served beside a language model; {told}"):
        read_spec(spec, facts)
