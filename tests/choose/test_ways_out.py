"""Memory is named as what the run needs, and advice that is followed works."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

import pytest
import yaml

from sizewell.sizing.choose.decide import decide, nothing_fits, size_one
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.choose.workloads import assumptions
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.predict.memory import training_memory
from sizewell.sizing.records.jobs import Layout, TrainingJob

from .conftest import ON, spec, with_shapes

FULL = {
    "kind": "fine-tuning",
    "model": "meta-llama/Llama-3.1-8B",
    "training": {"method": "full", "tokens": "10M", "sequence_length": 2048},
    "deadline": "7d",
}


def answer(facts, **changes):
    sizing = size_one(spec(**{**FULL, **changes}), facts, stack="", on=ON)
    return sizing, nothing_fits(sizing, None)


def test_a_full_fine_tune_on_too_few_devices_is_told_what_its_state_takes_and_how_many_hold_it(facts):
    """Weights and gradients in fp32, two moments: 16 bytes a parameter, and no lower bound in their place."""
    _, told = answer(facts, resources={"accelerators": {"L4": 1}})
    assert told.nearest[0].reason.startswith("model state alone needs 119.7 GiB per device on 1 x L4")
    assert told.relax[0].startswith("allow 16 L4 or more in resources.gpus, or use training.method: lora")
    for followed in (
        {"resources": {"accelerators": ["L4"], "gpus": 16}},
        {"resources": {"accelerators": {"L4": 1}}, "training": {**FULL["training"], "method": "lora"}},
    ):
        assert size_one(spec(**{**FULL, **followed}), facts, stack="", on=ON).best() is not None


def test_nodes_are_advised_where_the_spec_bounds_them(facts):
    bound = {"model": "Qwen/Qwen2.5-72B-Instruct", "resources": {"accelerators": ["H100"], "nodes": 1}}
    sizing, told = answer(facts, **bound)
    assert sizing.best() is None
    assert told.relax[0].startswith("allow 4 nodes of 8 or more in resources.nodes")
    more = {"accelerators": ["H100"], "nodes": 4}
    assert size_one(spec(**{**FULL, **bound, "resources": more}), facts, stack="", on=ON).best() is not None


def test_a_sequence_that_no_number_of_devices_holds_is_to_be_shortened_or_split(facts):
    """Machines without InfiniBand are not the reason, though they were named first."""
    long = {"method": "lora", "tokens": "20M", "sequence_length": 131_072}
    _, told = answer(facts, engine="transformers", training=long, resources={"accelerators": {"H100": 8}})
    assert "GiB per device" in told.nearest[0].reason
    assert told.relax[0].endswith(
        "shorten training.sequence_length to 32768, or use engine: nemo, which divides a sequence over devices"
    )
    short = {"engine": "transformers", "training": {**long, "sequence_length": 32_768}}
    assert size_one(
        spec(**{**FULL, **short, "resources": {"accelerators": {"H100": 8}}}), facts, stack="", on=ON
    ).best()
    nemo = {"engine": "nemo", "training": long, "resources": {"accelerators": {"H100": 8}}}
    assert size_one(spec(**{**FULL, **nemo}), facts, stack="", on=ON).best() is not None


def test_a_deadline_that_no_device_keeps_is_not_answered_with_other_memory(facts):
    run = {"method": "full", "tokens": "10B", "sequence_length": 4096}
    bound = {"model": "meta-llama/Llama-3.1-70B", "training": run, "deadline": "6h"}
    for nodes in (1, 4):
        _, told = answer(facts, **bound, resources={"accelerators": ["H100"], "nodes": nodes})
        assert told.impossible
        assert not [way for way in told.relax if "memory" in way]
        (way,) = told.relax
        allowed, until = {"accelerators": ["H100"], "nodes": nodes}, way.partition("deadline: ")[2].split(",")[0]
        assert way.startswith("allow 4 nodes of 8 or more in resources.nodes and use" if nodes == 1 else "use deadline")
        if nodes == 1:  # which hold no run of 70B
            allowed["nodes"] = 4
        followed = spec(**{**FULL, **bound, "deadline": until, "resources": allowed})
        assert size_one(followed, facts, stack="", on=ON).best() is not None


def with_way(wish, way):
    """The spec with one way out followed as it is written."""
    *keys, value = (
        re.sub(r"^(?:use|name more or larger accelerators:|shorten) ", "", way).replace(" to ", ": ").split(": ", 1)
    )
    value, (section, _, field) = yaml.safe_load(value), keys[0].partition(".")
    return {**wish, section: {**wish[section], field: value} if field else value}


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        # its state alone is above what one device has, so no shorter sequence helps
        ({"engine": "transformers", "resources": {"accelerators": {"H100": 1}}}, "training.optimizer: adamw-8bit"),
        (
            {
                "model": "meta-llama/Llama-3.1-70B",
                "training": {"method": "qlora", "tokens": "1M", "sequence_length": 2048},
                "engine": "axolotl",
                "resources": {"accelerators": {"A10G": 2}},
            },
            "name more or larger accelerators",
        ),
        (
            {
                "model": "meta-llama/Llama-3.1-70B",
                "training": {"method": "lora", "tokens": "1M", "sequence_length": 2048},
                "resources": {"accelerators": {"A100-80GB": 2}},
            },
            "training.method: qlora",
        ),
        (
            {
                "engine": "trl",
                "training": {"method": "dpo", "samples": 1000, "sequence_length": 2048},
                "resources": {"accelerators": {"A100-80GB": 1}},
            },
            "training.lora",
        ),
    ],
)
def test_whatever_is_advised_for_want_of_memory_works_when_it_is_followed(facts, wish, says):
    wish = {**FULL, **wish}
    told = nothing_fits(size_one(spec(**wish), facts, stack="", on=ON), None)
    ways = told.relax[0].split(", or ")
    assert any(says in way for way in ways)
    assert not any("sequence_length" in way for way in ways)
    for way in ways:
        followed = spec(**with_way(wish, way))
        assert size_one(followed, facts, stack="", on=ON).best() is not None, way


def test_the_fewest_devices_that_hold_a_run_are_advised_whatever_machine_has_them(facts):
    """A cloud sells four of the accelerators in one machine; the rejected one has one or eight."""
    wish = {**FULL, "training": {"method": "full", "samples": 20_000, "sequence_length": 2048}}
    wish |= {"resources": {"accelerators": "a100-40gb-sxm", "gpus": 1}, "deadline": "3d"}
    told = nothing_fits(size_one(spec(**wish), facts, stack="", on=ON), None)
    assert told.relax[0].startswith("allow 4 A100 SXM 40GB or more in resources.gpus")
    wish["resources"] = {"accelerators": "a100-40gb-sxm", "gpus": 4}
    assert size_one(spec(**wish), facts, stack="", on=ON).best() is not None


def test_a_deadline_and_a_block_that_are_advised_are_kept(facts):
    run = {"tokens": "1T", "sequence_length": 8192, "global_batch": "4M"}
    wish = {"kind": "training", "model": "meta-llama/Llama-3.1-70B", "training": run, "deadline": "10d"}
    wish |= {"resources": {"accelerators": {"H100": 64}}}
    told = nothing_fits(size_one(spec(**wish), facts, stack="", on=ON), None)
    later, more = told.relax[0].split(", or ")
    assert size_one(spec(**with_way(wish, later)), facts, stack="", on=ON).best() is not None
    assert more.startswith("allow ")
    devices = int(more.split()[1].replace(",", ""))
    enough = size_one(
        spec(**{**wish, "resources": {"accelerators": ["H100"], "gpus": devices}}), facts, stack="", on=ON
    )
    assert enough.best() is not None
    small = {**wish, "model": "mistralai/Mixtral-8x7B-v0.1", "training": {**run, "tokens": "500B"}}
    del small["deadline"]
    block = nothing_fits(size_one(spec(**small, capacity={"block": {"duration": "72h"}}), facts, stack="", on=ON), None)
    assert block.impossible[0].startswith("capacity.block.duration 3 d")
    way = block.relax[0].split(", or ")[0]
    assert size_one(spec(**with_way(small, way)), facts, stack="", on=ON).best() is not None


@pytest.mark.parametrize(("params", "device"), [("meta-llama/Llama-2-7b-hf", 24), ("meta-llama/Llama-2-13b-hf", 40)])
def test_gradients_do_not_wait_on_a_device_whose_host_steps(facts, params, device):
    """DeepSpeed's estimator: two bytes a parameter on the device; ZeRO-Offload trains 13B on one V100 of 32 GB."""
    job = TrainingJob(
        architecture=facts.model(params), method="full", engine="deepspeed", cpu_offload=True, sequence_length=1024,
        global_batch=8, checkpointing="full",
    )  # fmt: skip
    key = "a100-40gb-sxm" if device == 40 else "l4"
    memory = training_memory(job, Layout(micro_batch=1, checkpointing="full"), facts.accelerators[key])
    parts = dict(memory.breakdown)
    assert parts["gradients"] <= 1e9  # a bucket
    assert memory.total_bytes < facts.accelerators[key].memory_bytes


def test_what_the_host_keeps_of_an_offloaded_optimizer_is_said(facts):
    given = {"engine": "deepspeed", "training": {**FULL["training"], "offload": "optimizer"}}
    workload = decide([spec(**{**FULL, **given})], facts, stack="", on=ON).workloads[0]
    nodes = workload.pools[0].nodes_max
    said = f"offload keeps {1.5 * 16 * 8.03e9 / 2**30 / nodes:,.0f} GiB of optimizer state, gradients and their buffers"
    assert any(note.startswith(said) for note in workload.assumptions)


@pytest.mark.parametrize(
    ("engine", "method", "tensor", "stages"),
    [
        ("torchtune", "lora", False, False),
        ("torchtune", "qlora", False, False),
        ("torchtune", "full", True, False),
        ("litgpt", "lora", False, False),
        ("torchtitan", "full", True, True),
        ("deepspeed", "full", False, False),
        ("transformers", "full", False, False),
    ],
)
def test_software_is_given_no_split_that_it_lacks(facts, engine, method, tensor, stages):
    job = TrainingJob(
        architecture=facts.model("meta-llama/Llama-3.1-405B"), method=method, lora_rank=16, engine=engine,
        sequence_length=4096, global_batch=64,
    )  # fmt: skip
    legal = space(job, 16, 8, 8).columns
    assert (legal["tp"].max() > 1) == tensor
    assert (legal["pp"].max() > 1) == stages
    assert (legal["cp"].max() > 1) == stages


def test_fsdp_that_is_named_has_no_stages_whatever_runs_it(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    given = {**FULL, "model": "meta-llama/Llama-3.1-70B", "infra": ["aws"], "resources": {"nodes": 2}}
    given["training"] = {**FULL["training"], "sequence_length": 8192}
    assert size_one(spec(**given, engine="fsdp"), few, stack="", on=ON).best() is None
    more = {**given, "resources": {"nodes": 4}}
    unstaged = size_one(spec(**more, engine="fsdp"), few, stack="", on=ON).best()
    assert unstaged is None or unstaged.fleet.layout.pipeline == 1
    staged = size_one(spec(**more, engine="nemo"), few, stack="", on=ON).best()
    assert staged is not None
    assert staged.fleet.layout.pipeline > 1
    vision = {
        "kind": "training",
        "model": {"name": "vit-large-16"},
        "training": {"samples": "1M", "global_batch": 1024},
    }
    assert not requirements(spec(**vision, engine="fsdp"), facts).training.stages


def test_neuron_shards_the_optimizer_alone_and_divides_no_sequence(facts):
    job = TrainingJob(
        architecture=facts.model("meta-llama/Llama-2-7b-hf"), engine="neuron", sequence_length=4096, global_batch=256
    )
    legal = space(job, 32, 32, 32).columns
    assert legal["zero"].max() == 1
    assert legal["cp"].max() == 1
    assert legal["tp"].max() == 32


@pytest.mark.parametrize(
    ("engine", "model"),
    [
        ("megatron", "meta-llama/Llama-3.1-8B"),
        ("nemo", "meta-llama/Llama-2-13b-hf"),
        ("megatron", "Qwen/Qwen3-30B-A3B"),
    ],
)
def test_megatron_shards_the_optimizer_alone_beside_whole_gradients_in_fp32(facts, engine, model):
    """6 + 12/d bytes a parameter (Megatron-LM's docs/user-guide/features/dist_optimizer.md); 4 + 12/d with bf16."""
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    given = {"kind": "training", "model": model, "engine": engine, "infra": ["aws"], "resources": {"nodes": 4}}
    run = {"tokens": "20B", "sequence_length": 4096, "global_batch": 4194304}
    for form, size in ((None, 4.0), ("bf16", 2.0)):
        chosen = size_one(
            spec(**given, training={**run, **({"gradients": form} if form else {})}), few, stack="", on=ON
        ).best()
        assert chosen is not None
        assert chosen.fleet.layout.zero_stage <= 1
        kept = dict(chosen.fleet.memory.breakdown)
        assert kept["gradients"] == pytest.approx(size / 2.0 * kept["weights"], rel=0.01)
        said = [note for note in assumptions(chosen) if note.startswith("Megatron-Core's distributed optimizer")]
        assert len(said) == 1
        assert ("--grad-reduce-in-bf16" in said[0]) == (form is None)


def test_megatron_that_is_assumed_keeps_whole_gradients_too(facts):
    job = requirements(spec(**{**FULL, "model": "Qwen/Qwen3-30B-A3B"}), facts).training
    assert (job.engine, job.gradients) == ("megatron-bridge", "fp32")
    assert space(job, 32, 8, 8).columns["zero"].max() == 1
    adapted = {**FULL, "model": "Qwen/Qwen3-30B-A3B", "training": {**FULL["training"], "method": "lora"}}
    assert not requirements(spec(**adapted), facts).training.gradients


def test_a_published_run_with_megatron_fsdp_is_laid_out_with_it(facts):
    job = TrainingJob(
        architecture=facts.model("meta-llama/Llama-3.1-8B"), engine="nemo", sequence_length=8192, global_batch=128
    )
    assert space(job, 8, 8, 8).columns["zero"].max() == 1
    assert space(replace(job, fully_sharded=True), 8, 8, 8).columns["zero"].max() == 3


def test_a_process_on_trainium_has_a_core_and_its_part_of_the_memory(facts):
    """16 GiB a core on trn1 (AWS Neuron documentation), and the entry script starts a process on each."""
    few = with_shapes(facts, {("aws", "trn1.32xlarge")})
    given = {"kind": "training", "engine": "neuron", "training": {"tokens": "1B", "sequence_length": 4096}}
    sizing = size_one(spec(**given, model="meta-llama/Llama-3.2-1B"), few, stack="", on=ON)
    chosen = sizing.best()
    assert chosen is not None
    assert chosen.fleet.layout.devices == 32 * chosen.fleet.nodes
    assert chosen.fleet.usable_bytes == 16 * 2**30
    assert chosen.fleet.memory.high_bytes <= chosen.fleet.usable_bytes
    assert any(note.startswith("one process a core: a machine has 32, 16 GiB each") for note in assumptions(chosen))


def test_devices_that_do_not_divide_a_batch_are_told_so_by_what_the_software_has(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    stated = {**FULL["training"], "global_batch": 64 * 2048}
    given = {**FULL, "training": stated, "engine": "deepspeed", "infra": ["aws"], "resources": {"nodes": 3}}
    [refused] = size_one(spec(**given), few, stack="", on=ON).rejections
    assert refused.reason.startswith("24 devices do not divide a batch of 64 samples, and deepspeed gives each device")


def test_a_capacity_block_that_nobody_confirmed_is_said_to_be_set_aside(facts):
    block = {"block": {"duration": "2d", "max_price": "20000 USD"}}
    given = {"model": "meta-llama/Llama-3.1-70B", "resources": {"accelerators": ["H100"]}, "infra": ["aws"]}
    workload = decide([spec(**{**FULL, **given, "capacity": block})], facts, stack="", on=ON).workloads[0]
    assert workload.pools[0].market != "capacity-block"
    assert any(note.startswith("capacity.block is set aside for ") for note in workload.assumptions)
    scarce = [note for note in workload.assumptions if note.startswith("scarce: ")]
    assert all("the block that capacity.block asks for" in note for note in scarce)


def test_an_edge_device_that_does_the_work_is_shown_with_its_figures(facts):
    given = {
        "kind": "inference",
        "model": {"name": "meta-llama/Llama-3.1-8B", "weights": "int4"},
        "traffic": {"rps": 0.05, "input_tokens": 500, "output_tokens": 150},
        "resources": {"accelerators": ["rtx-4090"]},
        "infra": ["edge"],
    }
    told = nothing_fits(size_one(spec(**given), facts, stack="", on=date(2026, 11, 27)), None)
    assert told.nearest == ()
    fits = [way for way in told.relax if "rtx-4090-workstation would fit: " in way]
    assert fits
    assert "GiB a device" in fits[0]
    assert "requests/s within slo" in fits[0]
    assert "widen resources" not in told.relax


ON_EIGHT = {"resources": {"accelerators": ["H100"], "gpus": 8}, "engine": "trl"}


@pytest.mark.parametrize(
    ("stated", "length", "samples"),
    [("128k", 1024, 128), ("512k", 1024, 512), ("1M", 32_768, 32), ("96k", 1000, 96), (126 * 1024, 1024, 126)],
)
def test_a_batch_in_round_words_is_rounded_to_one_that_devices_divide(facts, stated, length, samples):
    run = {**FULL["training"], "sequence_length": length, "global_batch": stated}
    need = requirements(spec(**{**FULL, "training": run}), facts)
    assert need.training.global_batch == samples
    said = [note for note in need.assumptions if note.startswith(f"{samples} samples per step")]
    exact = (stated if isinstance(stated, int) else 0) == samples * length or samples == 96
    assert len(said) == (0 if exact else 1)


@pytest.mark.parametrize("method", ["dpo", "full"])
def test_a_batch_that_the_devices_do_not_divide_is_told_the_next_that_fits(facts, method):
    run = {"method": method, "samples": "60k", "sequence_length": 1024, "global_batch": 126 * 1024}
    sizing, told = answer(facts, **ON_EIGHT, training=run)
    assert sizing.best() is None
    assert "set training.global_batch: 131072 (128 samples), which 8 devices divide" in told.relax
    fits = {**run, "global_batch": 131_072}
    assert size_one(spec(**{**FULL, **ON_EIGHT, "training": fits}), facts, stack="", on=ON).best() is not None


def test_an_assumed_batch_refuses_no_count_of_machines(facts):
    """64 samples are the usual batch; 24 devices divide 72."""
    run = {"method": "lora", "samples": "20k", "sequence_length": 2048}
    three = {"engine": "transformers", "training": run, "resources": {"accelerators": ["H100"], "nodes": 3}}
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    chosen = size_one(spec(**{**FULL, **three}), few, stack="", on=ON).best()
    assert chosen is not None
    assert (chosen.fleet.nodes, chosen.setting.need.training.global_batch) == (3, 72)


HURRY = {
    "engine": "axolotl",
    "training": {"method": "full", "tokens": "5B", "sequence_length": 8192},
    "resources": {"accelerators": ["h100-sxm"], "nodes": "1..64"},
    "deadline": "2h",
}


def test_an_assumed_batch_grows_before_a_deadline_is_refused_for_it(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    chosen = size_one(spec(**{**FULL, **HURRY}), few, stack="", on=ON).best()
    assert chosen is not None
    job = chosen.setting.need.training
    assert job.global_batch > 64
    assert any("with 64, as is usual, nothing fits" in note for note in assumptions(chosen))


def test_a_stated_batch_that_bounds_a_deadline_is_named(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    stated = {**HURRY["training"], "global_batch": 64 * 8192}
    _, told = answer(few, **{**HURRY, "training": stated})
    assert told.relax == ("set training.global_batch: 1048576 (128 samples)",)
    followed = {**stated, "global_batch": 1_048_576}
    assert size_one(spec(**{**FULL, **HURRY, "training": followed}), few, stack="", on=ON).best() is not None


def test_what_holds_a_run_is_advised_only_where_it_ends_in_time(facts):
    """Adapters, an 8-bit optimizer and offload hold it on one machine, and none ends in half an hour."""
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    run = {"method": "full", "tokens": "5B", "sequence_length": 4096}
    short = {"model": "Qwen/Qwen3-32B", "training": run, "resources": {"accelerators": ["H100"], "nodes": 1}}
    _, told = answer(few, **short, deadline="30m")
    assert not any("training.method" in way or "training.optimizer" in way for way in told.relax)


def test_larger_accelerators_are_advised_of_the_place_that_the_spec_names(facts):
    """A card of the edge is not answered with one that only clouds have, nor a region with what has no price in it."""
    long = {"method": "qlora", "tokens": "20M", "sequence_length": 8000}
    small = {"model": "Qwen/Qwen2.5-14B-Instruct", "resources": {"accelerators": ["rtx-4090"]}, "infra": ["edge"]}
    _, told = answer(facts, training=long, **small)
    keys = re.findall(r"accelerators: \{([\w-]+): \d+\}", " ".join(told.relax))
    assert all(any(s.accelerator == key and s.cloud == "edge" for s in facts.shapes) for key in keys)
    there = {"model": "Qwen/Qwen2.5-32B-Instruct", "resources": {"accelerators": {"l4": 8}}}
    _, told = answer(facts, engine="trl", infra=["gcp/europe-west4"], **there)
    keys = re.findall(r"accelerators: \{([\w-]+): \d+\}", " ".join(told.relax))
    assert keys
    for key in keys:
        offers = [
            o for s in facts.shapes if s.accelerator == key for o in facts.offers(s.cloud, s.instance_type, on=ON)
        ]
        assert ("gcp", "europe-west4") in {(o.cloud, o.region) for o in offers}
