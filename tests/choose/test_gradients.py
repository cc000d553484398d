"""What a spec says of its gradients and pipeline: from the key to memory and layouts."""

from __future__ import annotations

import pytest

from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.predict.memory import training_memory
from sizewell.sizing.predict.performance.training import training_time
from sizewell.sizing.records.jobs import Cluster, Layout
from sizewell.sizing.workload.read import parse_spec

SPEC = """
name: run
kind: training
model: {model}
framework: {framework}
engine: deepspeed
training: {{tokens: 55B, sequence_length: 4096, global_batch: 4M{keys}}}
"""
STATES = Layout(data=8, zero_stage=1, micro_batch=1, checkpointing="full")
SHARDED = Layout(data=8, zero_stage=3, micro_batch=1, checkpointing="full")


def read(keys="", *, model="meta-llama/Llama-3.1-8B", framework="pytorch", engine="deepspeed", catalog=None):
    text = SPEC.format(model=model, framework=framework, keys=f", {keys}" if keys else "")
    text = text.replace("engine: deepspeed", f"engine: {engine}")
    return parse_spec(text if framework == "pytorch" else text.replace("engine: deepspeed\n", ""), catalog=catalog)


def job_of(facts, keys="", *, engine="deepspeed"):
    return requirements(read(keys, engine=engine, catalog=facts), facts).training


def held(facts, keys, item="gradients", layout=SHARDED, *, engine="deepspeed"):
    memory = training_memory(job_of(facts, keys, engine=engine), layout, facts.accelerator("h100-sxm"))
    return dict(memory.breakdown)[item]


def test_wide_gradients_take_twice_the_bytes(facts):
    """Four bytes of each parameter in fp32, two as DeepSpeed keeps them beside 16-bit weights (ZeRO-1)."""
    params = params_total(job_of(facts).architecture)
    assert held(facts, "gradients: fp32", layout=STATES) == pytest.approx(4 * params, rel=0.01)
    assert held(facts, "gradients: bf16", layout=STATES) == pytest.approx(2 * params, rel=0.01)
    assert held(facts, "", layout=STATES) == pytest.approx(2 * params, rel=0.01)


def test_gradients_of_weights_that_are_sharded_in_fp32_are_fp32(facts):
    """FSDP's `reduce_dtype` is what travels: the shard that is kept has the weights' format. DeepSpeed's stage 3 shards
    16-bit weights beside their master copy.
    """
    params = params_total(job_of(facts).architecture)
    assert held(facts, "gradients: bf16", engine="fsdp") == pytest.approx(4 * params / 8, rel=0.01)
    assert held(facts, "gradients: bf16") == pytest.approx(2 * params / 8, rel=0.01)
    travels = [step_s(job_of(facts, keys), facts) for keys in ("gradients: bf16", "gradients: fp32")]
    assert travels[0] < travels[1]


def step_s(job, facts):
    """Seconds of a step over two machines, where what travels is what differs."""
    h100 = facts.accelerator("h100-sxm")
    cluster = Cluster(accelerator=h100, per_node=8, nodes=2, scale_up=8, link_bytes_per_s=9e11, network_bytes_per_s=6e9)
    return training_time(job, Layout(data=16, zero_stage=3, micro_batch=1, checkpointing="full"), cluster).step_s


def test_gradients_that_are_not_synchronised_are_held_whole(facts):
    params = params_total(job_of(facts).architecture)
    assert held(facts, "no_sync: true", engine="fsdp") == pytest.approx(4 * params, rel=0.01)


@pytest.mark.parametrize(
    ("schedule", "chunks"), [("1f1b", {1}), ("gpipe", {1}), ("interleaved", {2, 4, 8, 16}), ("", {1, 2, 4, 8, 16})]
)
def test_a_schedule_leaves_the_layouts_that_it_can_have(facts, schedule, chunks):
    """DeepSpeed has stages for a program that is written in them, as a stated schedule says; NeMo always has."""
    keys, engine = (f"pipeline_schedule: {schedule}", "deepspeed") if schedule else ("", "nemo")
    layouts = space(job_of(facts, keys, engine=engine), 16, 8, 8).columns
    two_stages = layouts["pp"] == 2
    assert set(layouts["vp"][two_stages]) == chunks
    assert set(layouts["vp"][layouts["pp"] == 1]) == {1}


def test_all_forward_passes_first_keep_the_activations_of_all(facts):
    layout = Layout(pipeline=4, tensor=2, data=1, micro_batch=1, checkpointing="full")
    kept = {s: held(facts, f"pipeline_schedule: {s}", "activations", layout) for s in ("1f1b", "gpipe")}
    assert kept["gpipe"] > 20 * kept["1f1b"]


@pytest.mark.parametrize(
    ("keys", "told"),
    {
        "gradients: fp8": "training.gradients: must be fp32 | bf16 | fp16",
        "gradients: FP32": "did you mean fp32?",
        "no_sync: maybe": "training.no_sync: must be",
        "pipeline_schedule: zero-bubble": "training.pipeline_schedule: must be 1f1b | interleaved | gpipe",
        "schedule: 1f1b": "write pipeline_schedule: 1f1b",
        "reduce_dtype: fp32": r"use: training: {gradients: fp32}",
        "gradient_accumulation_steps: 8": "follows from training.global_batch",
        "pipeline_parallel: 4": "the layout is found",
    }.items(),
)
def test_what_is_wrong_is_told_where_it_stands(keys, told):
    with pytest.raises(SpecError) as refused:
        read(keys)
    (fault,) = refused.value.faults
    assert told in str(refused.value)
    assert fault.at is not None
    assert fault.at[0] == 7


@pytest.mark.parametrize(
    ("keys", "more", "told"),
    [
        ("method: lora, gradients: fp32", {}, "the few gradients of adapters"),
        (
            "gradients: bf16",
            {"model": "{name: meta-llama/Llama-3.1-8B, precision: fp32}"},
            "contradict model.precision: fp32",
        ),
        ("no_sync: true", {"framework": "jax"}, "training.no_sync: is PyTorch's; jax"),
        ("pipeline_schedule: gpipe", {"framework": "jax"}, "runs of jax are not split into any"),
        ("pipeline_schedule: 1f1b", {"engine": "transformers"}, "use engine: megatron, nemo or torchtitan"),
        ("pipeline_schedule: 1f1b", {"engine": "fsdp"}, "runs of fsdp are not split into any"),
    ],
)
def test_what_contradicts_itself_is_refused(keys, more, told):
    with pytest.raises(SpecError) as refused:
        read(keys, **more)
    assert told in str(refused.value)
