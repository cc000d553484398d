"""From the words of a spec to what has to hold, and what had to be assumed for it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sizewell.sizing.choose.requirements import requirements, whole_samples
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.architecture import params_total

from .conftest import chat, night, spec, tune


def test_a_service_has_arrivals_and_a_level(facts):
    need = requirements(chat(), facts)
    assert need.arrivals is not None
    assert need.arrivals.requests_per_s == 4
    assert need.level is not None
    assert (need.level.ttft_s, need.level.tpot_s, need.level.percentile) == (2.0, 0.1, 0.95)
    assert not need.interruptible
    assert need.markets == ("on-demand",)


def test_requests_per_hour_are_a_rate(facts):
    need = requirements(spec(kind="inference", model="resnet50", traffic={"requests_per_hour": 10_000}), facts)
    assert need.arrivals is not None
    assert need.arrivals.requests_per_s == pytest.approx(2.7778, rel=1e-4)
    assert need.level is not None
    assert need.level.e2e_s == 1.0
    assert any("slo is not stated" in note for note in need.assumptions)


@pytest.mark.parametrize(
    ("model", "latency_s"),
    [("openai/whisper-large-v3", 10.0), ("stabilityai/stable-diffusion-xl-base-1.0", 20.0), ("BAAI/bge-m3", 1.0)],
)
def test_an_unstated_level_is_that_of_the_kind_of_work(model, latency_s, facts):
    load = {"rps": 1, "input_tokens": 300} if model.startswith("BAAI") else {"rps": 1}
    need = requirements(spec(kind="inference", model=model, traffic=load), facts)
    assert need.level is not None
    assert (need.level.e2e_s, need.level_assumed) == (latency_s, True)


def test_what_a_spec_leaves_out_is_said(facts):
    need = requirements(spec(kind="inference", model="meta-llama/Llama-3.1-8B", traffic={"rps": 1}), facts)
    said = " ".join(need.assumptions)
    for key in ("traffic.input_tokens", "traffic.output_tokens", "slo"):
        assert f"{key} is not stated" in said


def test_an_image_adds_its_tokens_to_the_prompt(facts):
    fields = {"rps": 1, "input_tokens": 64, "output_tokens": 80}
    plain = requirements(chat(model="llava-hf/llava-1.5-7b-hf", traffic=fields), facts)
    image = requirements(
        chat(model="llava-hf/llava-1.5-7b-hf", traffic={**fields, "images": {"per_request": 1}}), facts
    )
    assert plain.serving is not None
    assert image.serving is not None
    assert image.serving.input_tokens - plain.serving.input_tokens == 576


@pytest.mark.parametrize(
    ("fields", "markets"),
    [
        ({}, ("on-demand", "spot")),
        ({"spot_policy": "spot"}, ("spot",)),
        ({"spot_policy": "on-demand"}, ("on-demand",)),
        ({"capacity": {"flex_start": True}}, ("flex-start",)),
        ({"capacity": {"savings_plan": "1y"}}, ("reserved-1y",)),
        (
            {"capacity": {"block": {"duration": "72h", "max_price": "9100 USD", "purchase": "confirmed"}}},
            ("capacity-block",),
        ),
        ({"capacity": {"block": {"duration": "72h"}}}, ("on-demand", "spot")),
    ],
)
def test_a_run_may_be_bought_in_the_markets_that_it_allows(facts, fields, markets):
    assert requirements(tune(**fields), facts).markets == markets


@pytest.mark.parametrize(
    ("training", "samples", "batch"),
    [
        ({"tokens": "50M", "sequence_length": 2000, "global_batch": 128_000}, 25_000, 64),
        ({"samples": "10k", "epochs": 3, "sequence_length": 1024, "global_batch": 65_536}, 30_000, 64),
        ({"steps": 100, "sequence_length": 1024, "global_batch": 65_536}, 6_400, 64),
    ],
)
def test_the_length_of_a_run_in_samples(facts, training, samples, batch):
    job = requirements(tune(training={"method": "full", **training}), facts).training
    assert job is not None
    assert (job.samples, job.global_batch) == (samples, batch)


@pytest.mark.parametrize(("stated", "whole"), [(64.0, 64), (488.28, 512), (1000 / 3, 320), (1.4, 1), (100.0, 100)])
def test_a_batch_that_does_not_divide_is_rounded_to_one_that_does(stated, whole):
    assert whole_samples(stated) == whole


@pytest.mark.parametrize(
    ("model", "length"), [("Qwen/Qwen2.5-7B-Instruct", 2048), ("google-bert/bert-base-uncased", 512)]
)
def test_an_unstated_length_of_samples_is_the_usual_one_not_all_that_a_model_reads(facts, model, length):
    need = requirements(tune(model={"name": model}, training={"method": "lora", "samples": 20_000}), facts)
    assert need.training.sequence_length == length
    assert any(f"sequences of {length} tokens" in note for note in need.assumptions)


def test_batch_work_has_its_window_for_a_deadline(facts):
    need = requirements(night(), facts)
    assert need.batch is not None
    assert (need.batch.samples, need.deadline_s) == (1e6, 8 * 3600)
    assert need.interruptible


def test_a_notebook_without_hours_is_open_in_working_hours(facts):
    need = requirements(spec(kind="notebook", resources={"gpu": "24GB.."}), facts)
    assert need.hours_per_week == Decimal(40)
    assert need.memory_bytes_min == 24 * 10**9


@pytest.mark.parametrize("params", ["1B", "7B", "13B", "70B"])
def test_a_model_of_which_only_the_size_is_known_has_that_size(facts, params):
    need = requirements(chat(model={"params": params}), facts)
    a = need.architecture
    assert a is not None
    assert params_total(a) == pytest.approx(float(params[:-1]) * 1e9, rel=0.005)
    assert a.heads * a.head_dim == a.hidden
    assert a.heads % a.kv_heads == 0
    assert any("estimated" in note for note in need.assumptions)


def test_stated_dimensions_are_kept(facts):
    fields = {"params": "2B", "layers": 24, "hidden": 2560, "heads": 20, "kv_heads": 20, "ffn": 6912, "vocab": 32000}
    a = requirements(chat(model=fields), facts).architecture
    assert a is not None
    assert (a.layers, a.hidden, a.heads, a.kv_heads, a.ffn, a.vocab) == (24, 2560, 20, 20, 6912, 32000)


def test_a_name_that_nobody_knows_is_a_fault_with_a_way_out(facts):
    with pytest.raises(SpecError, match="did you mean"):
        requirements(chat(model="meta-llama/Lama-3.1-8B"), facts)
    with pytest.raises(SpecError, match="accelerator"):
        requirements(chat(resources={"accelerators": ["H1000"]}), facts)


def test_lora_targets_are_named_as_memory_names_them(facts):
    job = requirements(
        tune(
            training={
                "method": "lora",
                "lora": {"targets": ["q_proj", "v_proj"]},
                "tokens": "1M",
                "sequence_length": 512,
            }
        ),
        facts,
    ).training
    assert job is not None
    assert job.lora_targets == ("q", "v")


def test_work_that_may_take_days_runs_as_often_as_its_window_allows(facts):
    """Once a day is what nobody says of an hour's work; a run of three days cannot start every day."""
    records = {"records": "1M", "tokens_per_record": 500}
    three = spec(kind="batch-inference", model="Qwen/Qwen3-8B", batch={**records, "window": "3d"})
    assert three.batch.every_s == 3 * 86_400
    assert (
        spec(kind="batch-inference", model="Qwen/Qwen3-8B", batch={**records, "window": "8h"}).batch.every_s == 86_400
    )
    with pytest.raises(SpecError, match=r"a window of 3d every 2d overlaps"):
        spec(kind="batch-inference", model="Qwen/Qwen3-8B", batch={**records, "window": "3d", "every": "2d"})


@pytest.mark.parametrize(
    ("model", "said"),
    {
        "google-t5/t5-large": "encoder and decoder of 24 layers each, counted as one stack",
        "nvidia/Nemotron-H-56B-Base-8K": "78 layers with one KV head are equivalents",
        "Qwen/Qwen3.5-27B": "attention figures count every layer, an upper bound",
        "Qwen/Qwen3-8B": "",
    }.items(),
)
def test_a_model_whose_layers_stand_for_others_is_said_to_be_one(facts, model, said):
    notes = requirements(tune(model=model), facts).assumptions
    assert [note for note in notes if said in note and note.startswith("the model is no plain")] or not said
    assert bool(said) == any(note.startswith("the model is no plain transformer") for note in notes)


def test_a_fine_tune_on_pictures_has_the_batch_that_people_run(facts):
    """diffusers' scripts accumulate four; 1,024 are those of pretraining."""
    wish = {"model": "stabilityai/stable-diffusion-xl-base-1.0", "training": {"method": "lora", "samples": 1000}}
    tuned = requirements(spec(kind="fine-tuning", **wish), facts)
    assert tuned.training.global_batch == 4
    assert "4 samples per step (training.global_batch is not stated)" in tuned.assumptions
