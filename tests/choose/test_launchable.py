"""What is sized is what an entry script runs, or the decision says which program it needs."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import pytest
import yaml

from sizewell.sizing.choose.candidates import Cause
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.workloads import _parallelism
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.records.decision import Parallelism, Task
from sizewell.sizing.records.jobs import TrainingJob
from sizewell.sizing.records.launching import beyond
from sizewell.sizing.workload.read import parse_spec

from .conftest import ON, spec, with_shapes

SCRIPTS = {
    "train_fsdp.py": ("pytorch", "cuda"),
    "train_jax.py": ("jax", "tpu"),
    "train_neuron.py": ("pytorch", "neuron"),
}
PRETRAIN = {
    "kind": "training",
    "model": "meta-llama/Llama-3.1-70B",
    "training": {"tokens": "1B", "sequence_length": 8192, "global_batch": "4M"},
}


@pytest.mark.parametrize(
    ("script", "method", "devices"), list(itertools.product(SCRIPTS, ("pretrain", "full", "lora"), (1, 2, 16, 64)))
)
def test_the_search_offers_a_script_nothing_that_its_launch_refuses(facts, script, method, devices):
    framework, runtime = SCRIPTS[script]
    for name in ("meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-7B"):
        job = TrainingJob(
            architecture=facts.model(name), method=method, lora_rank=16, sequence_length=4096, global_batch=64,
            entry_script=script,
        )  # fmt: skip
        legal = space(job, devices, 8, 8)
        assert len(legal)
        for row in range(len(legal)):
            layout = _parallelism(legal.layout(row), job)
            assert beyond(Task(method=method), framework, layout, runtime) == () or (
                script == "train_jax.py" and method != "pretrain"
            )
        free = space(replace(job, entry_script=""), devices, 8, 8)
        assert len(free) >= len(legal)


@pytest.mark.parametrize("method", ["pretrain", "lora", "full"])
def test_a_decision_that_a_script_can_run_is_launched_by_it(facts, method):
    given = dict(PRETRAIN, model="meta-llama/Llama-3.1-8B")
    if method != "pretrain":
        given |= {"kind": "fine-tuning", "training": {**PRETRAIN["training"], "tokens": "100M", "method": method}}
    workload = decide([spec(**given)], facts, stack="", on=ON).workloads[0]
    accelerator = facts.accelerators[workload.pools[0].accelerator]
    assert beyond(workload.task, workload.framework, workload.parallelism, accelerator.runtime) == ()
    assert not [note for note in workload.assumptions if note.startswith("launched by run.")]


def test_what_another_program_would_save_is_said(facts):
    """Context parallelism is faster for 70B on 8 devices; the entry scripts have none."""
    few = with_shapes(facts, {("aws", "p6-b200.48xlarge")})
    workload = decide([spec(**PRETRAIN, infra=["aws"])], few, stack="", on=ON).workloads[0]
    assert workload.parallelism.context == workload.parallelism.pipeline == 1
    said = next(note for note in workload.assumptions if "would save" in note)
    assert "Megatron-Core" in said
    assert "USD a run" in said


def test_a_layout_of_another_program_is_taken_where_no_other_fits(facts):
    """Two samples a step leave 32 devices nothing to do but stages or parts of sequences."""
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    tuned = {"kind": "fine-tuning", "training": {**PRETRAIN["training"], "global_batch": "16k", "tokens": "50M"}}
    given = {**PRETRAIN, **tuned, "infra": ["aws"], "resources": {"nodes": 4}}
    decision = decide([spec(**given)], few, stack="", on=ON)
    workload = decision.workloads[0]
    named = beyond(workload.task, workload.framework, workload.parallelism)
    assert named
    assert next(note for note in workload.assumptions if note.startswith("launched by run."))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"engine": "megatron"}, "task.engine"),
        ({"training": {**PRETRAIN["training"], "optimizer": "muon"}}, "task.optimizer"),
        ({"model": {"name": "meta-llama/Llama-3.1-8B", "precision": "fp8"}}, "task.precision"),
        ({"model": "Qwen/Qwen3-30B-A3B"}, "task.experts"),
    ],
)
def test_what_no_script_does_is_said_with_the_software_that_does(facts, fields, path):
    few = with_shapes(facts, {("aws", "p5.48xlarge"), ("aws", "p5en.48xlarge")})
    workload = decide([spec(**{**PRETRAIN, "model": "meta-llama/Llama-3.1-8B", **fields})], few, stack="", on=ON)
    workload = workload.workloads[0]
    assert path in [each.path for each in beyond(workload.task, workload.framework, workload.parallelism)]
    assert next(note for note in workload.assumptions if note.startswith("launched by run.") and path in note)


def test_trainium_shards_the_optimizer_alone():
    wide = Parallelism(tensor=4, data=8, zero_stage=3)
    paths = [each.path for each in beyond(Task(method="pretrain"), "pytorch", wide, "neuron")]
    assert paths == ["parallelism.tensor", "parallelism.zero_stage"]


TEXTS = {"records": "1M", "tokens_per_record": 300, "output_tokens_per_record": 20, "window": "12h"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"batch": TEXTS}, "launch needs the place of the records (data.location is not stated)"),
        (
            {"batch": TEXTS, "data": {"location": "s3://petsnap/texts"}},
            "launch needs the place of the records (data.size is not stated)",
        ),
        ({"batch": TEXTS, "data": {"location": "s3://petsnap/texts", "size": "10GB"}}, ""),
        (
            {"model": "openai/whisper-large-v3", "batch": {"records": 2000, "audio_per_record": "30m", "window": "1d"}},
            "launched by run.w.command of your own, not by the batch script: task.family is speech",
        ),
        (
            {"model": "BAAI/bge-m3", "batch": {"records": "1M", "tokens_per_record": 300, "window": "12h"}},
            "launched by run.w.command of your own, not by the batch script: task.family is encoder",
        ),
        (
            {"batch": {"records": "1M", "tokens_per_record": 300, "window": "12h"}},  # made up text is nobody's vector
            "launched by run.w.command of your own, not by the batch script: task.output_tokens is 0",
        ),
        (
            {"model": "Qwen/Qwen2.5-VL-7B-Instruct", "batch": {**TEXTS, "images": {"resolution": 448}}},
            "launched by run.w.command of your own, not by the batch script: batch_infer.py sends no pictures",
        ),
    ],
)
def test_what_a_batch_needs_to_be_launched_is_said_where_it_is_sized(facts, fields, said):
    few = with_shapes(facts, {("aws", "g6e.xlarge"), ("aws", "p5.4xlarge")})
    given = {"kind": "batch-inference", "model": "meta-llama/Llama-3.1-8B-Instruct", **fields}
    workload = decide([spec(**given)], few, stack="", on=ON).workloads[0]
    notes = [note for note in workload.assumptions if note.startswith("launch")]
    assert len(notes) == bool(said)
    assert all(note.startswith(said) for note in notes)
    launched = any("vllm, which is launched" in note for note in workload.assumptions)
    assert launched == (workload.task.family == "decoder")
    assert not any("512 tokens in a record" in note for note in workload.assumptions)
    cut = any("answers are cut at 40 tokens (max_tokens), for the mean is 20" in note for note in workload.assumptions)
    assert cut == (not said or said.startswith("launch needs"))


@pytest.mark.parametrize("accelerators", [{"trainium2": 16}, {"mi300x": 8}, {"tpu-v5p": 8}, {"inferentia2": 12}])
@pytest.mark.parametrize("method", ["qlora", "dpo", "lora"])
def test_the_way_out_of_a_method_that_a_device_has_not_is_a_way(facts, accelerators, method):
    """Followed as it is written, until it is sized or another device is named."""
    given = {"kind": "fine-tuning", "model": {"name": "meta-llama/Llama-3.1-8B"}, "resources": {},
             "training": {"method": method, "tokens": "5M", "sequence_length": 2048}}  # fmt: skip
    if method != "dpo":
        given["training"]["lora"] = {"rank": 16, "targets": "all-linear"}
    given["resources"]["accelerators"] = accelerators
    sizing = size_one(spec(**given), facts, stack="", on=ON)
    refused = [each for each in sizing.rejections if each.cause is Cause.RUNTIME]
    for way in {each.relax for each in refused}:
        if key := re.match(r"use training\.method: (\w+) with model\.weights: (\w+)", way):
            given["training"]["method"], given["model"]["weights"] = key.groups()
            sizing = size_one(spec(**given), facts, stack="", on=ON)
            assert sizing.options
        else:
            assert way in ("use a GPU", "use Trainium")


def test_a_release_of_an_engine_without_the_model_is_refused_by_its_type_or_name(facts, tmp_path):
    config = {"model_type": "modernbert", "num_hidden_layers": 22, "hidden_size": 768, "num_attention_heads": 12,
              "intermediate_size": 1152, "vocab_size": 50368, "max_position_embeddings": 8192}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    text = {"name": "rank", "kind": "inference", "model": {"config": "config.json"},
            "traffic": {"rps": 5, "input_tokens": 300}, "resources": {"accelerators": "L4"},
            "engine": {"name": "text-embeddings-inference", "version": "1.5"}}  # fmt: skip
    with pytest.raises(
        SpecError, match=r"engine\.version.* is a release without modernbert[\s\S]*write 1\.7\.0 or later"
    ):
        parse_spec(yaml.safe_dump(text), catalog=facts, folder=tmp_path)
    text["engine"]["version"] = "1.7"
    task = decide([parse_spec(yaml.safe_dump(text), catalog=facts, folder=tmp_path)], facts, stack="", on=ON)
    assert task.workloads[0].task.model_type == "modernbert"
    assert any("of release 1.7.0 or later" in note for note in task.workloads[0].assumptions)
    with pytest.raises(SpecError, match=r"vllm 0\.9\.2 is a release without openai/gpt-oss-120b"):
        spec(kind="inference", model="openai/gpt-oss-120b", engine={"name": "vllm", "version": "0.9.2"},
             traffic={"rps": 1, "input_tokens": 500, "output_tokens": 100})  # fmt: skip


def test_a_model_that_no_engine_has_is_launched_by_a_program_of_one_s_own(facts, tmp_path):
    config = {"model_type": "deberta-v2", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
              "intermediate_size": 3072, "vocab_size": 128100, "max_position_embeddings": 512}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    text = {"name": "rank", "kind": "inference", "model": {"config": "config.json"},
            "traffic": {"rps": 5, "input_tokens": 300}, "resources": {"accelerators": "L4"}}  # fmt: skip
    given = parse_spec(yaml.safe_dump(text), catalog=facts, folder=tmp_path)
    notes = decide([given], facts, stack="", on=ON).workloads[0].assumptions
    assert any("run.rank.command of your own" in note and "vllm has no layers for deberta-v2" in note for note in notes)
    assert any(
        note.startswith("run by vllm, which has no layers for deberta-v2: predicted as if it had") for note in notes
    )
    batch = spec(kind="batch-inference", model="google-t5/t5-large", batch=TEXTS)
    notes = decide([batch], facts, stack="", on=ON).workloads[0].assumptions
    assert any("not by the batch script: task.model is google-t5/t5-large" in note for note in notes)


@pytest.mark.parametrize(
    ("method", "model", "targets", "told"),
    [
        ("lora", "meta-llama/Llama-3.1-8B", ["q_proj", "v_proj"], ("q_proj", "v_proj")),
        ("lora", "meta-llama/Llama-3.1-8B", "all-linear", ("all-linear",)),
        ("lora", "meta-llama/Llama-3.1-8B", None, ("all-linear",)),
        ("lora", "EleutherAI/pythia-1.4b", ["q", "k", "v", "o", "up", "down"], ("all-linear",)),  # it has no gate
        ("lora", "EleutherAI/pythia-1.4b", ["q", "gate"], ("q_proj",)),
        ("qlora", "meta-llama/Llama-3.1-8B", ["o_proj"], ("o_proj",)),
        ("full", "meta-llama/Llama-3.1-8B", None, None),
    ],
)
def test_the_adapters_that_are_sized_are_launched(facts, method, model, targets, told):
    training = {"tokens": "1M", "sequence_length": 512, "method": method}
    if targets:
        training["lora"] = {"targets": targets}
    task = decide([spec(kind="fine-tuning", model=model, training=training)], facts, stack="", on=ON).workloads[0].task
    assert task.lora_targets == told


CHAT = {
    "kind": "inference",
    "model": "meta-llama/Llama-3.1-8B",
    "slo": {"ttft": "60s", "tpot": "200ms"},
}


LOG = {"file": "log.csv", "columns": "at=at,input=input,output=output"}


def decided(facts, **changes):
    return decide([spec(**{**CHAT, **changes})], facts, stack="", on=ON).workloads[0]


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1500),
        ("meta-llama/Llama-2-13b-hf", 3000),
        ("microsoft/Phi-3-mini-4k-instruct", 3000),
        ("Qwen/Qwen3-32B", 24_600),
        ("mistralai/Mixtral-8x7B-v0.1", 20_000),
    ],
)
def test_an_engine_is_not_told_to_take_more_than_the_model_reads(facts, model, prompt):
    traffic = {"rps": 0.1, "input_tokens": prompt, "output_tokens": 100}
    task = decided(facts, model=model, traffic=traffic).task
    limit = facts.model(model).max_sequence_length
    assert 2 * task.sequence_length > limit
    assert task.request_tokens_max == limit


def test_a_configuration_that_stretches_its_positions_is_taken_at_its_word(facts, tmp_path):
    config = {
        "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 28, "hidden_size": 3584,
        "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064,
        "max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 2.0,
        "original_max_position_embeddings": 32768},
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    traffic = {"rps": 0.1, "input_tokens": 40_000, "output_tokens": 100}
    text = yaml.safe_dump({"name": "chat", **CHAT, "model": {"config": "config.json"}, "traffic": traffic})
    task = decide([parse_spec(text, catalog=facts, folder=tmp_path)], facts, stack="", on=ON).workloads[0].task
    assert task.request_tokens_max == 65_536


def test_an_engine_takes_the_lengths_that_the_spec_states(facts):
    """Twice the mean would refuse more than one request in twenty."""
    traffic = {"rps": 0.5, "input_tokens": 1000, "output_tokens": 300}
    assert decided(facts, traffic=traffic).task.request_tokens_max == 3072
    spread = decided(facts, traffic={**traffic, "input_tokens_p95": 3500, "output_tokens_p95": 900}).task
    assert spread.request_tokens_max > 3500 + 900


def test_an_engine_takes_the_longest_request_of_the_log(facts, tmp_path):
    rows = "".join(f"{n},900,100\n" for n in range(1, 200)) + "200,11000,1126\n"
    (tmp_path / "log.csv").write_text("at,input,output\n0,900,100\n" + rows)
    given = parse_spec(yaml.safe_dump({"name": "chat", **CHAT, "traffic": {"requests": LOG}}),
                       catalog=facts, folder=tmp_path)  # fmt: skip
    task = decide([given], facts, stack="", on=ON).workloads[0].task
    assert task.request_tokens_max == 12_288


def test_an_engine_takes_no_longer_request_than_its_cache_holds(facts):
    """vLLM ends at start where one request of the longest length does not fit into its cache."""
    traffic = {"rps": 0.02, "input_tokens": 18_000, "output_tokens": 500}
    workload = decided(facts, traffic=traffic, resources={"accelerators": ["A10G"]})
    task, memory = workload.task, workload.memory
    per_token = 131_072  # bytes: 32 layers, 8 heads of 128, keys and values of 16 bits
    free = memory.usable_bytes - sum(memory.breakdown[part] for part in ("weights", "activations", "graphs", "context"))
    assert task.sequence_length < task.request_tokens_max <= free / per_token < 2 * task.sequence_length


@pytest.mark.parametrize(
    ("weights", "accelerator", "fits"),
    [
        ("fp8", "V100", False),
        ("fp8", "T4", False),
        ("fp4", "T4", False),
        ("int4", "T4", True),
        ("fp8", "L4", True),
        ("fp16", "V100", True),
    ],
)
def test_no_machine_is_chosen_that_the_engine_has_no_kernels_for(facts, weights, accelerator, fits):
    traffic = {"rps": 0.1, "input_tokens": 600, "output_tokens": 150}
    given = {"model": {"name": "meta-llama/Llama-3.1-8B", "weights": weights}, "traffic": traffic}
    sizing = size_one(spec(**{**CHAT, **given, "resources": {"accelerators": [accelerator]}}), facts, stack="", on=ON)
    assert bool(sizing.options) == fits
    if not fits:
        reasons = [r.reason for r in sizing.rejections if r.cause is Cause.RUNTIME]
        assert any(f"vllm has no kernels for {weights} weights" in reason for reason in reasons)


def test_weights_that_have_to_be_prepared_and_engines_without_a_template_are_said(facts):
    traffic = {"rps": 0.1, "input_tokens": 600, "output_tokens": 150}
    prepared = decided(facts, model={"name": "meta-llama/Llama-3.1-8B", "weights": "int4"}, traffic=traffic)
    assert any("weights in int4 are prepared beforehand" in note for note in prepared.assumptions)
    other = decided(facts, engine="sglang", traffic=traffic)
    assert any(".command of your own and an image with sglang" in note for note in other.assumptions)
    plain = decided(facts, traffic=traffic)
    assert not [note for note in plain.assumptions if "beforehand" in note or "of your own" in note]


@pytest.mark.parametrize(
    ("figures", "has"),
    [
        ({"gated": False}, "an ungated feed-forward"),
        ({"tied_embeddings": True}, "tied embeddings"),
        ({"sliding_window": 1024}, "a sliding window"),
        ({"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}, "latent attention"),
        ({}, ""),
    ],
)
def test_a_model_that_the_built_in_transformer_is_not_is_launched_by_a_program_of_its_own(facts, figures, has):
    dims = {"layers": 12, "hidden": 768, "heads": 12, "kv_heads": 12, "head_dim": 64, "ffn": 3072, "vocab": 50257}
    given = {"kind": "training", "model": {**dims, **figures}, "training": {"tokens": "1B", "sequence_length": 1024}}
    workload = decide([spec(**given)], facts, stack="", on=ON).workloads[0]
    more = beyond(workload.task, workload.framework, workload.parallelism)
    assert [each.path for each in more] == (["task.dimensions"] if has else [])
    assert any(has in note for note in workload.assumptions if note.startswith("launched by run.")) == bool(has)


def test_a_replica_fits_where_the_upper_edge_of_its_band_does(facts):
    """One rule for every workload: what fits on average alone does not fit (docs/concepts/memory.md)."""
    given = {
        "model": {"name": "moonshotai/Kimi-K2-Instruct"},
        "traffic": {"rps": 0.2, "input_tokens": 2000, "output_tokens": 300},
        "resources": {"accelerators": ["H200"]},
    }
    for engine in ({}, {"engine": "vllm"}):
        sizing = size_one(spec(**{**CHAT, **given, **engine}), facts, stack="", on=ON)
        assert not sizing.options
        assert any("at the upper edge of the band" in r.reason for r in sizing.rejections if r.cause is Cause.MEMORY)


def test_a_band_is_the_same_whether_the_engine_is_stated_or_launched_by_default(facts):
    given = {"traffic": {"rps": 0.2, "input_tokens": 2000, "output_tokens": 300}, "resources": {"accelerators": ["L4"]}}
    bare, stated = (decided(facts, **given, **engine).memory for engine in ({}, {"engine": "vllm"}))
    assert (bare.low_bytes, bare.high_bytes) == (stated.low_bytes, stated.high_bytes)
    assert bare.high_bytes <= bare.usable_bytes
