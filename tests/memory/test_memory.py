"""Memory by the formulas that papers state, engine by engine, and what is refused."""

from dataclasses import replace

import pytest

from sizewell.accuracy.cases import read
from sizewell.accuracy.training_cases import training_case
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.predict.memory import (
    kv_cache_tokens,
    model_states,
    serving_memory,
    serving_parts,
    training_memory,
    usable_bytes,
)
from sizewell.sizing.predict.memory.activations import layer_activations
from sizewell.sizing.predict.memory.columns import stages
from sizewell.sizing.predict.memory.states import adapter_params, optimizer_name
from sizewell.sizing.records.jobs import Layout, ServingJob, TrainingJob

GIB = 2**30


def items(job, layout, accelerator):
    return dict(training_memory(job, layout, accelerator).breakdown)


@pytest.mark.parametrize(
    ("change", "layout", "bytes_per_parameter"),
    [
        ({}, {}, 16),  # ZeRO, section 3: 2 + 2 + 12
        ({"engine": "megatron"}, {}, 18),  # fp32 gradients
        ({"weights": "bf16"}, {}, 8),
        ({"precision": "fp32"}, {}, 16),
        ({"optimizer": "sgd"}, {}, 8),
        ({"optimizer": "adamw8bit", "weights": "bf16"}, {}, 6.03),
        ({}, {"data": 8, "zero_stage": 1}, 4 + 12 / 8),
        ({}, {"data": 8, "zero_stage": 2}, 2 + 14 / 8),
        ({}, {"data": 8, "zero_stage": 3}, 16 / 8),
        ({}, {"data": 4, "context": 2, "zero_stage": 3}, 16 / 8),
        ({}, {"data": 64, "zero_stage": 3, "shard_group": 8}, 16 / 8),
        ({}, {"tensor": 8}, 16 / 8),
        ({"cpu_offload": True}, {"data": 8, "zero_stage": 2}, 2),
    ],
)
def test_bytes_per_parameter_of_model_states(llama, change, layout, bytes_per_parameter):
    job = TrainingJob(architecture=llama, sequence_length=2048, **change)
    assert model_states(job, Layout(**layout)).total / params_total(llama) == pytest.approx(
        bytes_per_parameter, rel=1e-3
    )


def test_expert_parallelism_divides_experts_and_nothing_else():
    mixtral = Architecture(key="m", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=32000,
                           experts=8, experts_per_token=2, expert_ffn=14336)  # fmt: skip
    job = TrainingJob(architecture=mixtral, sequence_length=4096)
    one, eight = (model_states(job, Layout(data=8, expert=ep)).weights for ep in (1, 8))
    experts = 32 * 8 * 3 * 4096 * 14336
    assert one - eight == pytest.approx(2 * experts * 7 / 8)


@pytest.mark.parametrize(("tensor", "expert", "split"), [(2, 1, 2), (2, 8, 8), (8, 2, 2)])
def test_expert_parallelism_takes_whole_experts_from_tensor_ranks(tensor, expert, split):
    mixtral = Architecture(key="m", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=32000,
                           experts=8, experts_per_token=2, expert_ffn=14336)  # fmt: skip
    job = TrainingJob(architecture=mixtral, sequence_length=4096)
    layout = Layout(tensor=tensor, data=8, expert=expert, zero_stage=1)
    experts = 32 * 8 * 3 * 4096 * 14336
    dense = params_total(mixtral) - experts
    states = model_states(job, layout)
    assert states.weights == pytest.approx(2 * (dense / tensor + experts / split), rel=1e-3)
    # Together the devices hold the state of each parameter once, whichever of them share an expert.
    assert states.optimizer == pytest.approx(12 * params_total(mixtral) / layout.devices, rel=1e-3)


def test_a_published_run_with_tensor_and_expert_ranks():
    """ms-swift's page on Megatron-SWIFT: Qwen3-30B-A3B, two nodes of 8 A800, 8,192 tokens, `16 * 60GiB`."""
    qwen = Architecture(key="q", layers=48, hidden=2048, heads=32, kv_heads=4, head_dim=128, ffn=768, vocab=151936,
                        experts=128, experts_per_token=8, expert_ffn=768)  # fmt: skip
    job = TrainingJob(
        architecture=qwen, method="full", sequence_length=8192, global_batch=16, checkpointing="full", engine="megatron"
    )
    layout = Layout(tensor=2, data=8, expert=8, zero_stage=1, sequence_parallel=True, checkpointing="full")
    a800 = load().accelerator("a100-80gb-sxm")  # the same device but for its links
    assert sum(items(job, layout, a800).values()) == pytest.approx(60 * GIB, rel=0.1)


def test_pipeline_stages_share_the_layers_out():
    a = Architecture(key="x", layers=10)
    assert [len(stage) for stage in stages(a.layers, 4)] == [3, 3, 2, 2]


def test_activations_of_a_layer_are_those_of_korthikanti():
    # Section 4 of Korthikanti et al. 2022, 16 bits, dropout masks (2 of the 34 s b h) left out: nobody drops out today.
    gpt = Architecture(key="gpt", layers=48, hidden=6144, heads=64, kv_heads=64, head_dim=96, ffn=24576, vocab=51200,
                       gated=False, biases="all", learned_positions=2048)  # fmt: skip
    eager = TrainingJob(architecture=gpt, sequence_length=2048, attention="eager", engine="megatron")
    h, scores = gpt.hidden, 5 * gpt.heads * 2048

    def kept(job, **layout):
        return layer_activations(job, Layout(**layout), with_experts=False)

    assert kept(eager).kept == 32 * h + scores
    assert kept(eager, tensor=8).kept == 8 * h + 24 * h / 8 + scores / 8
    assert kept(eager, tensor=8, sequence_parallel=True).kept == (32 * h + scores) / 8
    assert kept(eager).selective == 32 * h
    assert kept(eager).boundary == 2 * h
    assert kept(replace(eager, attention="flash")).kept == 32 * h


def test_activation_memory_of_the_selective_recomputation_paper(h100):
    published = {case.id: case for case in read() if case.metric == "activation_memory_per_device"}
    assert len(published) == 4
    for case in published.values():  # carried, not graded: figures of a formula, not of a device
        described = training_case(case)
        found = items(described.job, described.layout, h100)
        assert found["activations"] / GIB == pytest.approx(case.value, rel=0.10), case.id


def test_context_parallelism_divides_activations_and_shards_states_with_data(llama, h100):
    job = TrainingJob(architecture=llama, sequence_length=131072, engine="torchtitan", checkpointing="full")
    wide = items(replace(job, sequence_length=32768), Layout(data=8, zero_stage=3), h100)
    split = items(job, Layout(data=2, context=4, zero_stage=3), h100)
    assert {name: split[name] for name in ("weights", "optimizer", "activations", "logits and loss")} == {
        name: wide[name] for name in ("weights", "optimizer", "activations", "logits and loss")
    }


def test_the_first_of_many_stages_holds_a_micro_batch_for_each_stage(llama, h100):
    small_head = replace(llama, vocab=1024)
    job = TrainingJob(architecture=small_head, sequence_length=4096, global_batch=64, engine="megatron")
    four = items(job, Layout(pipeline=4, checkpointing="full"), h100)["activations"]
    eight = items(job, Layout(pipeline=8, checkpointing="full"), h100)["activations"]
    assert eight == pytest.approx(four, rel=0.25)  # half the layers, twice the micro-batches


def test_interleaving_adds_a_share(llama, h100):
    job = TrainingJob(architecture=llama, sequence_length=4096, global_batch=64, engine="megatron")
    plain = items(job, Layout(pipeline=4), h100)["activations"]
    interleaved = items(job, Layout(pipeline=4, virtual_pipeline=2), h100)["activations"]
    assert plain < interleaved < 1.5 * plain


@pytest.mark.parametrize(
    ("engine", "compiled", "chunked", "bytes_per_value"),
    [
        ("", False, False, 14),
        ("", True, False, 10),
        ("transformers", False, False, 12),
        ("transformers-2024", False, False, 18),
        ("llm-foundry", False, False, 4),
        ("torchtune", True, True, 2.25),
    ],
)
def test_what_a_loss_keeps_per_logit(llama, h100, engine, compiled, chunked, bytes_per_value):  # noqa: PLR0917
    job = TrainingJob(architecture=llama, sequence_length=8192, engine=engine, compiled=compiled, chunked_loss=chunked)
    assert items(job, Layout(), h100)["logits and loss"] == pytest.approx(bytes_per_value * 8192 * llama.vocab)


def test_a_fused_loss_keeps_no_logits(llama, h100):
    job = TrainingJob(architecture=llama, sequence_length=8192, engine="unsloth")
    assert "logits and loss" not in items(job, Layout(), h100)


def test_lora_trains_what_its_rank_and_targets_say():
    stablelm = Architecture(key="s", layers=16, hidden=4096, heads=32, kv_heads=32, head_dim=128, ffn=16384, vocab=50688,
                            gated=False)  # fmt: skip
    job = TrainingJob(architecture=stablelm, method="lora", lora_rank=8, lora_targets=("q", "v"), sequence_length=1034)
    assert adapter_params(job) == 2_097_152  # as the source of the case counts them
    everything = replace(job, lora_targets=("q", "k", "v", "o", "gate", "up", "down"))
    assert adapter_params(everything) > 4 * adapter_params(job)


def test_qlora_quantises_matrices_and_leaves_tables_alone(llama, h100):
    base = TrainingJob(architecture=llama, method="lora", lora_rank=8, sequence_length=2048)
    sixteen = items(base, Layout(checkpointing="full"), h100)["weights"]
    four = items(replace(base, method="qlora"), Layout(checkpointing="full"), h100)["weights"]
    tables = 2 * llama.vocab * llama.hidden
    assert sixteen == 2 * params_total(llama)
    assert four == pytest.approx(
        2 * tables + (params_total(llama) - tables) * (0.5 + 1 / 64 + 4 / (64 * 256)), rel=1e-6
    )


def test_an_unknown_optimizer_or_precision_is_refused(llama, h100):
    with pytest.raises(SpecError, match="adamw"):
        training_memory(TrainingJob(architecture=llama, optimizer="adamm", sequence_length=1), Layout(), h100)
    with pytest.raises(SpecError, match="weights"):
        serving_memory(ServingJob(architecture=llama, weights="int3"), tensor=1, sequences=1, accelerator=h100)
    assert optimizer_name("paged_adamw_8bit") == "adamw8bit"


@pytest.mark.parametrize("length", [0, -5])
def test_a_run_without_tokens_is_refused(llama, h100, length):
    with pytest.raises(SpecError, match="sequence_length"):
        training_memory(TrainingJob(architecture=llama, sequence_length=length), Layout(), h100)


def test_a_sequence_beyond_learned_positions_is_refused(h100):
    gpt = Architecture(key="gpt2", layers=12, hidden=768, heads=12, kv_heads=12, head_dim=64, ffn=3072, vocab=50257,
                       learned_positions=1024, max_sequence_length=1024)  # fmt: skip
    with pytest.raises(SpecError, match="at most 1024"):
        training_memory(TrainingJob(architecture=gpt, sequence_length=4096), Layout(), h100)


def test_tensor_parallelism_that_does_not_divide_the_heads_is_refused(llama, h100):
    with pytest.raises(SpecError, match="divisor of the 32 attention heads"):
        serving_parts(ServingJob(architecture=llama), tensor=3, accelerator=h100)


def test_vllm_serves_llama_8b_on_one_h100_as_its_log_says(llama, h100):
    job = ServingJob(architecture=llama, max_sequence_length=8192, memory_fraction=0.95)
    parts = serving_parts(job, tensor=1, accelerator=h100)
    assert parts.weights / GIB == pytest.approx(14.99, abs=0.01)
    assert parts.activations / GIB == pytest.approx(1.89, abs=0.05)
    assert kv_cache_tokens(job, tensor=1, accelerator=h100) == pytest.approx(476_016, rel=0.005)


def test_kv_heads_are_divided_until_there_is_one_each(llama, h100):
    job = ServingJob(architecture=llama, max_sequence_length=8192)
    per_token = [serving_parts(job, tensor=tensor, accelerator=h100).kv_per_token for tensor in (1, 8, 16)]
    assert per_token[1] == per_token[0] / 8
    assert per_token[2] == per_token[1]


def test_a_driver_keeps_a_little_of_a_device(h100):
    assert usable_bytes(h100) / GIB == pytest.approx(79.19, abs=0.02)


def test_a_vision_model_is_sized_from_its_flops_with_a_wide_band(h100):
    resnet = Architecture(key="resnet-50", kind="vision", forward_flop_per_sample=8.2e9, resolution=224,
                          params_stated=25_557_032)  # fmt: skip
    estimate = training_memory(TrainingJob(architecture=resnet, global_batch=256), Layout(micro_batch=256), h100)
    assert estimate.grade == "roofline"
    assert 10 < estimate.total_bytes / GIB < 20
    assert estimate.high_bytes / estimate.low_bytes > 2
    assert any("estimated from FLOPs" in line for line in estimate.assumptions)


def test_kinds_that_nobody_published_have_a_wider_band(llama, h100):
    job = TrainingJob(architecture=llama, sequence_length=4096)
    experts = replace(llama, experts=8, experts_per_token=2, expert_ffn=14336)
    dense = training_memory(job, Layout(), h100)
    sparse = training_memory(replace(job, architecture=experts), Layout(), h100)
    assert sparse.high_bytes / sparse.total_bytes > dense.high_bytes / dense.total_bytes
    assert sparse.grade == "roofline"


def _fine_tuned(**change):
    """Qwen2.5-1.5B as benchmarks/trainer_memory.py runs it: fp32 weights under autocast, 512 tokens, recomputed."""
    model = Architecture(
        key="qwen2.5-1.5b",
        layers=28,
        hidden=1536,
        heads=12,
        kv_heads=2,
        head_dim=128,
        ffn=8960,
        gated=True,
        vocab=151936,
        tied_embeddings=True,
    )
    given = {"weights": "fp32", "engine": "transformers", "sequence_length": 512, "checkpointing": "full"}
    return TrainingJob(architecture=model, method="full", **(given | change))


def _allocated(job, layout, accelerator):
    found = items(job, layout, accelerator)
    return sum(size for item, size in found.items() if item not in ("allocator", "context", "communicators"))


@pytest.mark.parametrize(
    ("change", "layout", "measured"),  # benchmarks/measured/trainer_h100.jsonl, `peak_allocated`
    [
        ({"optimizer": "adamw_torch"}, {}, 31.006e9),  # foreach: a copy of a state
        ({"optimizer": "adamw_torch_fused"}, {}, 25.750e9),  # peaks in the backward pass
        ({"optimizer": "adafactor"}, {}, 14.30e9),  # the largest matrix, twice
        ({"optimizer": "sgd"}, {}, 13.36e9),
        ({"engine": "deepspeed", "weights": "", "sequence_length": 1024}, {"zero_stage": 2}, 34.031e9),
        ({"engine": "deepspeed", "weights": "", "sequence_length": 1024}, {"zero_stage": 3}, 33.78e9),
    ],
)
def test_the_optimizers_step_peaks_as_measured(h100, change, layout, measured):
    job = _fine_tuned(**change)
    found = _allocated(job, Layout(checkpointing="full", **layout), h100)
    assert found == pytest.approx(measured, rel=0.05)


def test_foreach_is_the_default_of_software_that_takes_pytorchs_own_optimizer_as_it_is(h100):
    device, layout = h100, Layout(checkpointing="full")
    old, new = (_fine_tuned(engine=engine) for engine in ("transformers-2024", "transformers"))
    copy = 4 * params_total(old.architecture)
    assert items(old, layout, device)["buffers"] == pytest.approx(copy, rel=0.01)
    assert items(new, layout, device).get("buffers", 0) < copy / 2


def test_blocks_of_the_logits_are_not_what_the_step_is_made_from(h100):
    device = h100
    job = _fine_tuned(optimizer="adamw_torch", sequence_length=4096)  # 30.96 GB allocated, 39.29 reserved
    found = items(job, Layout(checkpointing="full"), device)
    assert sum(found.values()) - found["context"] == pytest.approx(39.29e9, rel=0.05)


def test_the_residual_stream_of_a_model_that_bitsandbytes_quantised_is_wide(h100):
    device, layout = h100, Layout(checkpointing="full")
    bits, gptq = (
        items(replace(_fine_tuned(weights=stored), method="qlora", lora_rank=16), layout, device)
        for stored in ("nf4-dq", "int4")
    )
    assert bits["activations"] == pytest.approx(2 * gptq["activations"], rel=0.01)
    assert bits["weights"] - gptq["weights"] == pytest.approx(2 * 151936 * 1536, rel=0.05)  # fp32 embeddings


def test_a_band_is_of_the_software_where_measured_and_says_where_it_is_not(llama, h100):
    """Peaks of software that nobody measured have the widest band of their kind of work, and the estimate says so."""

    def estimate(engine, method):
        job = TrainingJob(
            architecture=llama, method=method, engine=engine, lora_rank=8, sequence_length=2048, global_batch=8
        )
        return training_memory(job, Layout(), h100)

    for method, measured in (("full", ("torchtitan", "transformers", "deepspeed")), ("qlora", ("transformers",))):
        unknown = estimate("nobody-s", method)
        width = unknown.high_bytes / unknown.total_bytes
        assert unknown.grade == "roofline"
        assert any("not measured of nobody-s" in note for note in unknown.assumptions)
        for engine in measured:
            known = estimate(engine, method)
            assert known.grade == "calibrated"
            assert known.high_bytes / known.total_bytes <= width * 1.001
            assert not any("not measured" in note for note in known.assumptions)
