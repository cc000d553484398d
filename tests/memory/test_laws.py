"""Laws of the memory model, for any model and layout that Hypothesis thinks of."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict.memory import (
    Layouts,
    Runtimes,
    kv_cache_tokens,
    model_states,
    peak_bytes,
    serving_budget_bytes,
    serving_memory,
    serving_parts,
    training_memories,
    training_memory,
    usable_bytes,
)
from sizewell.sizing.predict.memory.activations import layer_activations
from sizewell.sizing.records.jobs import Layout, ServingJob, TrainingJob

H100, TPU = (load().accelerator(name) for name in ("h100-sxm", "tpu-v5p"))
ENGINES = ("", "megatron", "nemo", "torchtitan", "torchtune", "transformers", "llm-foundry", "maxtext", "unsloth")
POWERS = st.sampled_from([1, 2, 4, 8])


@st.composite
def architectures(draw):
    heads = draw(st.sampled_from([8, 16, 32, 64]))
    head_dim = draw(st.sampled_from([64, 128]))
    experts = draw(st.sampled_from([0, 0, 8, 64]))
    return Architecture(
        key="any",
        layers=8 * draw(st.integers(1, 10)),
        hidden=heads * head_dim,
        heads=heads,
        kv_heads=draw(st.sampled_from([8, heads])),
        head_dim=head_dim,
        ffn=256 * draw(st.integers(8, 100)),
        gated=draw(st.booleans()),
        vocab=draw(st.sampled_from([32000, 50257, 128256, 262144])),
        tied_embeddings=draw(st.booleans()),
        experts=experts,
        experts_per_token=min(experts, 2),
        expert_ffn=1024 if experts else 0,
    )


@st.composite
def jobs(draw, methods=("pretrain", "full", "lora", "qlora")):
    engine = draw(st.sampled_from(ENGINES))
    return TrainingJob(
        architecture=draw(architectures()),
        method=draw(st.sampled_from(methods)),
        precision=draw(st.sampled_from(["bf16", "fp16", "fp8", "fp32"])),
        optimizer=draw(st.sampled_from(["adamw", "adamw8bit", "sgd", "lion", "adafactor"])),
        sequence_length=2 ** draw(st.integers(7, 17)),
        global_batch=draw(st.sampled_from([1, 64, 1024])),
        attention=draw(st.sampled_from(["flash", "eager"])),
        lora_rank=draw(st.sampled_from([8, 64])),
        engine=engine,
        framework="jax" if engine == "maxtext" else "pytorch",
        compiled=draw(st.booleans()),
        chunked_loss=draw(st.booleans()),
        optimizer_in_backward=draw(st.booleans()),
        activation_offload=draw(st.booleans()),
        cpu_offload=draw(st.booleans()),
    )


@st.composite
def layouts(draw):
    stage = draw(st.sampled_from([0, 1, 2, 3]))
    return Layout(
        tensor=draw(POWERS),
        pipeline=draw(POWERS),
        context=draw(st.sampled_from([1, 2, 4])),
        data=draw(st.sampled_from([1, 2, 8, 64])),
        zero_stage=stage,
        sequence_parallel=draw(st.booleans()),
        micro_batch=draw(st.sampled_from([1, 2, 4])),
        checkpointing=draw(st.sampled_from(["none", "selective", "full"])),
    )


def needed(job, layout):
    return training_memory(job, layout, H100).total_bytes


@given(jobs(), st.lists(layouts(), min_size=1, max_size=6), st.sampled_from([H100, TPU]))
@settings(max_examples=40, deadline=None)
def test_many_layouts_at_once_need_what_each_needs_alone(job, some, device):
    together = training_memories(job, some, [device] * len(some))
    assert together == [training_memory(job, layout, device) for layout in some]
    peaks = peak_bytes(job, Layouts.of(some), Runtimes.of(device.runtime))
    assert peaks.tolist() == [memory.total_bytes for memory in together]


@given(jobs(), layouts())
@settings(max_examples=150, deadline=None)
def test_more_tokens_never_need_less_memory(job, layout):
    assert needed(replace(job, sequence_length=2 * job.sequence_length), layout) >= needed(job, layout)


@given(jobs(), layouts(), st.sampled_from(["tensor", "pipeline", "data", "zero_stage"]))
@settings(max_examples=200, deadline=None)
def test_sharding_never_adds_model_state(job, layout, what):
    more = 1 + getattr(layout, what) if what == "zero_stage" else 2 * getattr(layout, what)
    if (what == "zero_stage" and more > 3) or (what == "pipeline" and more > job.architecture.layers):
        return
    # The recipe is part of the layout: fp32 weights sharded whole (FSDP) are not ZeRO-2's 16-bit copies.
    job = replace(job, weights="bf16") if job.method in ("pretrain", "full") else job
    before, after = model_states(job, layout), model_states(job, replace(layout, **{what: more}))
    assert after.total <= before.total * (1 + 1e-9)
    assert after.weights <= before.weights * (1 + 1e-9)


@given(jobs(), layouts())
@settings(max_examples=100, deadline=None)
def test_less_recomputation_never_saves_memory(job, layout):
    job = replace(job, activation_offload=False)
    full, selective, none = (
        needed(replace(job, checkpointing=mode), replace(layout, checkpointing=mode))
        for mode in ("full", "selective", "none")
    )
    layers = job.architecture.layers // layout.pipeline
    if layers >= 2:  # a stage of one layer gains nothing from running it again
        # When the last gradients come, one layer stands beside them: run again it is whole, kept it is being freed.
        kinds = [layer_activations(job, layout, with_experts=experts) for experts in (False, True)]
        widest = max(layer.kept for layer in kinds) + max(layer.gradients for layer in kinds)
        one = widest * layout.micro_batch * job.sequence_length / layout.context
        assert full <= none + one * 1.1  # the allocator's share on top
        assert selective <= none * 1.1  # a layer that is partly kept is run again beside what is kept of it


@given(jobs(), layouts())
@settings(max_examples=100, deadline=None)
def test_the_items_add_up_and_the_band_holds_the_estimate(job, layout):
    estimate = training_memory(job, layout, H100)
    assert estimate.total_bytes == sum(size for _, size in estimate.breakdown)
    assert all(size > 0 for _, size in estimate.breakdown)
    assert len({name for name, _ in estimate.breakdown}) == len(estimate.breakdown)
    assert estimate.low_bytes <= estimate.total_bytes <= estimate.high_bytes


@given(jobs(), layouts(), st.integers(10, 300), st.integers(1, 100))
@settings(max_examples=60, deadline=None)
def test_more_memory_never_refuses_what_fitted(job, layout, gigabytes, more):
    small = replace(H100, memory_bytes=gigabytes * 2**30)
    large = replace(H100, memory_bytes=(gigabytes + more) * 2**30)
    if training_memory(job, layout, small).high_bytes <= usable_bytes(small):
        assert training_memory(job, layout, large).high_bytes <= usable_bytes(large)


@given(jobs(methods=("pretrain",)))
@settings(max_examples=60, deadline=None)
def test_adapters_need_less_than_training_everything(job):
    layout = Layout(checkpointing="full")
    lora = replace(job, method="lora", engine="", framework="pytorch", compiled=False, lora_rank=8)
    full = replace(job, engine="", framework="pytorch", compiled=False, optimizer="adamw", cpu_offload=False)
    assert model_states(lora, layout).total < model_states(full, layout).total


@st.composite
def serving_jobs(draw):
    return ServingJob(
        architecture=draw(architectures()),
        weights=draw(st.sampled_from(["bf16", "fp8", "int4", "fp32", "nf4-dq"])),
        kv=draw(st.sampled_from(["", "fp8"])),
        input_tokens=draw(st.integers(1, 8000)),
        output_tokens=draw(st.integers(0, 2000)),
        engine=draw(st.sampled_from(["vllm", "vllm-v0", "tensorrt-llm", "litgpt"])),
        memory_fraction=draw(st.sampled_from([0.8, 0.9, 0.95])),
    )


@given(serving_jobs(), st.integers(0, 500), st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=150, deadline=None)
def test_serving_more_sequences_needs_more_and_splitting_needs_less_for_weights(job, sequences, tensor):
    one = serving_memory(job, tensor=tensor, sequences=sequences, accelerator=H100)
    two = serving_memory(job, tensor=tensor, sequences=sequences + 1, accelerator=H100)
    assert one.total_bytes <= two.total_bytes
    alone = serving_parts(job, tensor=1, accelerator=H100)
    split = serving_parts(job, tensor=tensor, accelerator=H100)
    assert split.weights <= alone.weights
    assert split.kv_per_token <= alone.kv_per_token


@given(serving_jobs(), st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=150, deadline=None)
def test_the_cache_fills_what_the_engine_may_use(job, tensor):
    tokens = kv_cache_tokens(job, tensor=tensor, accelerator=H100)
    parts = serving_parts(job, tensor=tensor, accelerator=H100)
    used = parts.fixed + tokens * parts.kv_per_token
    assert tokens == 0 or used <= serving_budget_bytes(job, H100) * (1 + 1e-9)
    narrower = kv_cache_tokens(replace(job, kv="fp8"), tensor=tensor, accelerator=H100)
    assert narrower >= tokens


@given(serving_jobs())
@settings(max_examples=60, deadline=None)
def test_a_larger_device_holds_at_least_as_many_tokens_of_cache(job):
    larger = replace(H100, memory_bytes=H100.memory_bytes * 2)
    assert kv_cache_tokens(job, tensor=1, accelerator=larger) >= kv_cache_tokens(job, tensor=1, accelerator=H100)
