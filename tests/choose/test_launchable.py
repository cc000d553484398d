"""What is sized is what an entry script runs, or the decision says which program it needs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.workloads import _parallelism
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.records.decision import Parallelism, Task
from sizewell.sizing.records.jobs import TrainingJob
from sizewell.sizing.records.launching import beyond

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
