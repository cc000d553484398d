"""The fit: reproducible, regularised, and the published runs read as what they were."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from sizewell.accuracy.cases import CARRIED, Case, read
from sizewell.accuracy.fits import training
from sizewell.accuracy.training_cases import training_case
from sizewell.accuracy.training_runs import in_unit, layout_of, training_run
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.calibration.priors import priors
from sizewell.sizing.records.jobs import Layout

CASES = {case.id: case for case in read([CARRIED / "train.json"])}


def test_the_file_has_every_prior_and_nothing_else():
    table = calibration.table("training")["constants"]
    assert list(table) == list(priors())
    for name, prior in priors().items():
        assert table[name]["prior"] == prior.value
        if not prior.sigma:
            assert table[name]["value"] == prior.value, name


def test_no_constant_is_pulled_far_from_its_prior():
    for name, prior in priors().items():
        if prior.sigma:
            pulled = abs(math.log(calibration.values("training")[name] / prior.value)) / prior.sigma
            assert pulled < 4, (name, pulled)


def test_no_constant_is_keyed_by_a_model_or_a_source():
    keys = " ".join(priors()).lower()
    models = {str(case.model["name"]).lower() for case in CASES.values()}
    sources = {case.source_family for case in CASES.values()}
    assert not {name for name in models | sources | set(CASES) if name in keys}


@pytest.mark.soak
def test_the_fit_reproduces_the_file():
    fitted = json.loads(training.FILE.read_text(encoding="utf-8"))["fitted"]
    assert training.main(["--date", fitted, "--check"]) == 0


def test_a_fit_from_two_cases_leaves_the_rest_at_their_priors():
    few = [CASES["titan-t1-fsdp+torch.compile"], CASES["lf-h10080-bf16-mpt7b-s2048-g8"]]
    ready = training.prepared(few, {name: prior.value for name, prior in priors().items()})
    start = {name: prior.value for name, prior in priors().items()}
    values = training.fit(training.Table(ready), priors(), start)
    assert values["matmul_fraction.tpu.16bit"] == start["matmul_fraction.tpu.16bit"]
    assert values["matmul_fraction.hopper.16bit"] != start["matmul_fraction.hopper.16bit"]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("lf-h10080-bf16-mpt7b-s2048-g512", {"precision": "bf16", "attention": "flash", "global_batch": 3072}),
        ("meg21-a100-530B", {"precision": "fp16", "attention": "eager", "checkpointing": "full"}),
        (
            "mb26.06-llama3.1_405b-gb300-nvfp4-g256-gbs1536-pre-training",
            {"precision": "fp4", "engine": "megatron-bridge"},
        ),
        ("tpur-v5p-gpt3-175b", {"precision": "int8", "framework": "jax", "global_batch": 2048}),
        ("mlperf-v4.1-llama2_70b_lora-h100-64-nvidia", {"method": "lora", "precision": "fp8", "weights": "fp8"}),
        ("mlperf-v5.0-bert-mi300x-8-tinyco", {"engine": "tinygrad", "precision": "bf16", "sequence_length": 256}),
    ],
)
def test_runs_are_read_as_what_they_were(case, expected):
    job = training_run(CASES[case]).job
    assert {name: getattr(job, name) for name in expected} == expected


def test_stated_factors_of_a_layout_stand():
    layout = layout_of(training_run(CASES["mb26.06-deepseekv3-gb300-mxfp8-g256-gbs4096-pre-training"]))
    assert (layout.pipeline, layout.virtual_pipeline, layout.expert, layout.zero_stage) == (2, 8, 32, 1)
    slices = layout_of(training_run(CASES["maxtext-v5e-16B-4x256"]))
    assert (slices.data, slices.shard_group, slices.zero_stage) == (1024, 256, 3)


def test_units_follow_from_the_step():
    case = CASES["titan-t1-fsdp"]
    run = training_run(case)
    layout = Layout(data=8, zero_stage=3, micro_batch=2)
    assert in_unit(run, layout, 2.0) == pytest.approx(16 * 8192 / 2.0 / 8)
    hours = Case({**case.raw, "metric": "gpu_hours", "workload": {**case.workload, "tokens": 8.64e9}})
    alone = 8.64e9 / (16 * 8192 / 2.0 / 8) / 3600
    one = training_run(hours)
    many = replace(one, cluster=replace(one.cluster, nodes=2048))
    assert in_unit(one, layout, 2.0) == pytest.approx(alone, rel=0.01)
    assert in_unit(many, layout, 2.0) > 1.05 * 2048 * alone  # failures of 16,384 devices
    assert in_unit(replace(many, steps_alone=True), layout, 2.0) == pytest.approx(2048 * alone)


def test_the_published_value_is_never_read():
    for case in list(CASES.values())[::25]:
        if case.gradeable:
            other = Case({**case.raw, "value": 1.0})
            assert training_run(other) == training_run(case)


@pytest.mark.parametrize(
    ("written", "precision", "gradients"),
    [
        ("bf16 (fp32 gradient accumulation)", "bf16", "fp32"),
        ("fp16 (fp16 gradient accumulation)", "fp16", "fp16"),
        ("16 and 32", "bf16", ""),
        ("MXFP8", "fp8", ""),
        ("bf16", "bf16", ""),
    ],
)
def test_the_format_of_gradients_is_not_that_of_the_products(written, precision, gradients):
    case = CASES["titan-t1-fsdp"]
    said = Case({**case.raw, "workload": {**case.workload, "precision": written, "no_sync": True}})
    run = training_run(said).job
    assert (run.precision, run.gradients, run.unsharded_gradients) == (precision, gradients, True)
    memory = training_case(Case({**said.raw, "kind": "train"})).job
    assert (memory.precision, memory.gradients, memory.unsharded_gradients) == (precision, gradients, True)
