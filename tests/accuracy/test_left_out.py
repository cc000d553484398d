"""Predictions for sources that nobody fitted, and for specs that name no software."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from sizewell.accuracy.asked import as_asked
from sizewell.accuracy.cases import CARRIED, Case, read
from sizewell.accuracy.describe import catalog, counted
from sizewell.accuracy.fits import memory, serving, training
from sizewell.accuracy.fits.bands import Held, Unseen, rejected, unseen
from sizewell.accuracy.left_out import FILE, SURE, left_out, margins, margins_table, record, recorded
from sizewell.accuracy.predict import predict
from sizewell.accuracy.report import Report, summaries, validate
from sizewell.accuracy.serving_predictions import cache_format
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.memory.constants import PATH
from sizewell.sizing.predict.performance.training import training_time
from sizewell.sizing.predict.usual import usual_training
from sizewell.sizing.records.jobs import Cluster, Layout, TrainingJob

DENSE = Architecture(key="dense", kind="decoder", layers=32, hidden=4096, heads=32, kv_heads=32, head_dim=128,
                     ffn=11008, gated=True, vocab=32000)  # fmt: skip


def test_a_source_is_predicted_by_what_the_others_give_and_by_bands_of_their_errors():
    some = ("torchtitan", "maxtext", "bloom")
    cases = [case for case in read([CARRIED / "train.json"]) if training.usable(case) and case.source_family in some]
    values = dict(calibration.values("training"))
    held = {part.cases[0].source_family: part for part in training.left_out(training.prepared(cases, values), values)}
    assert set(held) == {"torchtitan", "maxtext", "bloom"}
    case = held["maxtext"].cases[0]
    errors = [Unseen(groups=("any",), source="bloom", log_error=0.3)]
    with held["maxtext"].using(errors, errors):
        without = predict(case)
    assert without.value != predict(case).value  # TPU constants go back to their priors
    assert without.high / without.low == pytest.approx(math.exp(0.6), rel=0.01)


def test_bands_of_a_source_are_made_of_the_others():
    sized = memory.gradeable(read([CARRIED / "memory.json"]))
    (part, *_) = memory.left_out(sized, memory.START, refit=lambda _, start: start)
    wide = [
        Unseen(groups=("training",), source="x", log_error=0.5),
        Unseen(groups=("adapters",), source="x", log_error=0.1),
    ]
    case = next(case for case in sized if case.kind == "train")
    with part.using(wide, wide):
        found = predict(case)
    assert found.high / found.value > 1.5


def test_unseen_errors_keep_their_sign_and_their_groups():
    case = next(case for case in read([CARRIED / "train.json"]) if training.usable(case))

    def using(named, assumed):
        from contextlib import nullcontext

        return nullcontext()

    (error,) = unseen([Held(cases=(case,), using=using)]).values()
    assert error.log_error == pytest.approx(math.log(predict(case).value / case.value))
    assert error.groups[-1] == "any"


def test_the_binomial_test_rejects_bands_that_hold_too_little_or_too_much():
    assert rejected(20, 40) < 0.01
    assert rejected(40, 40) < 0.01
    assert rejected(32, 40) == pytest.approx(1.0)
    assert rejected(1000, 1250) == pytest.approx(1.0)  # more cases than a float has binomials for
    assert rejected(900, 1250) < 0.01


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"method": "pretrain", "precision": "bf16"}, ""),
        ({"method": "pretrain", "precision": "fp8"}, "megatron-bridge"),
        ({"method": "pretrain", "precision": "bf16", "split": True}, "megatron-bridge"),
        ({"method": "pretrain", "precision": "fp8", "split": False}, ""),
        ({"method": "pretrain", "precision": "fp16", "split": True}, "megatron"),
        ({"method": "lora", "precision": "bf16"}, "peft"),
        ({"method": "qlora", "precision": "bf16"}, "peft"),
        ({"method": "pretrain", "precision": "bf16", "framework": "jax"}, "maxtext"),
        ({"method": "pretrain", "precision": "bf16", "runtime": "neuron"}, "neuron"),
    ],
)
def test_the_usual_software_follows_from_the_work(facts, expected):
    assert usual_training(DENSE, **facts) == expected


def test_software_that_nobody_names_has_the_wider_band_and_images_lie_between_compiled_and_not():
    cluster = Cluster(accelerator=catalog().accelerator("h100-sxm"), per_node=8, nodes=1, scale_up=8)
    job = TrainingJob(architecture=DENSE, precision="fp8", sequence_length=4096, global_batch=64)
    bands = [
        training_time(
            TrainingJob(**{**_fields(job), "engine": "megatron-bridge", "engine_assumed": assumed}),
            Layout(data=8, zero_stage=1),
            cluster,
        )
        for assumed in (False, True)
    ]
    named, unnamed = ((e.high_s - e.low_s) / e.step_s for e in bands)
    assert unnamed > named
    images = catalog().model("resnet50")
    seconds = [
        training_time(
            TrainingJob(architecture=images, global_batch=2048, compiled=compiled),
            Layout(data=8, micro_batch=256),
            cluster,
        ).step_s
        for compiled in (True, None, False)
    ]
    assert seconds[0] < seconds[1] < seconds[2]


def _fields(job):
    return {name: getattr(job, name) for name in job.__dataclass_fields__}


def test_what_a_figure_counts_and_how_the_cache_is_stored_outlast_the_name_of_the_software():
    peaks = [case for case in read([CARRIED / "memory.json"]) if case.gradeable]
    allocated = [case for case in peaks if counted(case) == "allocated"]
    assert allocated
    assert all(counted(as_asked(case)) == "allocated" for case in allocated)
    assert all(counted(case.without_engine()) == "device" for case in allocated if not case.workload.get("phase"))
    served = [
        case
        for case in read([CARRIED / "inference.json"])
        if case.gradeable and case.id.startswith(("mlpi51-llama2", "trt014")) and not case.workload.get("kv_precision")
    ]
    narrow = [case for case in served if cache_format(case) == "fp8"]  # as its software's name says
    assert narrow
    assert {cache_format(as_asked(case)) for case in narrow} == {"fp8"}
    assert {cache_format(case.without_engine()) for case in narrow} == {"16-bit"}


def test_one_group_of_experts_that_is_named_twice_is_one_machine():
    twice = next(case for case in read([CARRIED / "inference.json"]) if case.parallelism.get("moe_tp") == 8
                 and case.parallelism.get("moe_ep") == 8)  # fmt: skip
    once = Case(
        raw={
            **twice.raw,
            "hardware": {**twice.hardware, "count": 8},
            "workload": {**twice.workload, "parallelism": {"tp": 8, "pp": 1, "moe_tp": 8, "moe_ep": 1}},
        }
    )
    assert twice.hardware["count"] == 64
    assert predict(twice).value == pytest.approx(predict(once).value)


def test_a_kind_of_figure_that_one_source_tells_of_is_left_out_by_model_and_keeps_a_band_of_its_own():
    sized = memory.gradeable(read([CARRIED / "memory.json"]))
    parts = list(memory.left_out(sized, memory.START, refit=lambda _, start: start))
    logs = [part for part in parts if part.cases[0].source_family == "vllm-logs-v019"]
    alone = [part for part in logs if len({case.model.get("name") for case in part.cases}) == 1]
    assert len(alone) > 5  # nobody else prints what today's vLLM does
    assert len([part for part in parts if part.cases[0].source_family == "bloom"]) == 1
    assert sorted(case.id for part in parts for case in part.cases) == sorted(case.id for case in sized)


def test_validate_without_engines_asks_as_size_does():
    report = validate([CARRIED / "memory.json"], engines=False)
    reached = {
        found.group: found.median_pct for found in summaries([r for r in report.rows if r.core], lambda r: r.metric)
    }
    assert reached["kv_cache_tokens"] <= 4.0  # vLLM's newest release is what is launched, so what is predicted


def test_a_kind_may_be_little_worse_unseen_than_fitted_and_never_worse_than_recorded():
    fitted = validate([CARRIED / "memory.json"], engines=False)
    worse = Report(rows=tuple(replace(row, error_pct=4 * (row.error_pct or 0.0)) for row in fitted.rows), ungraded=0)
    same = {margin.group: margin for margin in margins(fitted, fitted)}
    assert "serving memory · inference" in same
    assert all(margin.holds and margin.cases >= 10 for margin in same.values())
    assert not all(margin.holds for margin in margins(worse, fitted))
    before = {"by_kind": {name: {"median_error_pct": margin.left_out_pct / 2} for name, margin in same.items()}}
    assert not any(margin.holds for margin in margins(fitted, fitted, before) if margin.left_out_pct > 1)
    assert {row[-1] for row in margins_table(tuple(same.values())).rows} == {"yes"}


def test_the_memory_fit_reproduces_its_file():
    fitted = json.loads(PATH.read_text(encoding="utf-8"))["fitted"]
    assert memory.main(["--date", fitted, "--check"]) == 0


@pytest.mark.soak
def test_left_out_and_unnamed_the_errors_and_bands_are_what_the_page_says():
    """`sizewell validate --left-out --no-engine`: the figures of docs/reference/accuracy.md."""
    report = left_out(engines=False)
    found = recorded(report)
    kinds = margins(report, validate(engines=False), record(engines=False))
    assert [margin.group for margin in kinds if not margin.holds] == []
    stated = json.loads(FILE.read_text(encoding="utf-8"))["unnamed"]
    for area, row in found["by_area"].items():
        assert row["median_error_pct"] == pytest.approx(stated["by_area"][area]["median_error_pct"], abs=0.3), area
    everything, *groups = found["bands"]
    assert 0.75 <= everything["inside"] / everything["cases"] <= 0.88
    stated_rejected = {row["group"] for row in stated["bands"] if row["p"] < SURE}
    assert {row["group"] for row in groups if row["p"] < SURE} <= stated_rejected


def _answered() -> list[Case]:
    """Images and texts of the smaller sources: Inferentia, eager PyTorch."""
    some = ("neuron-inf", "nvidia-deeplearningexamples")
    cases = serving.gradeable(read([CARRIED / "inference.json"]))
    return [
        case for case in cases if case.kind in ("vision_infer", "encoder_infer") and case.source_family.startswith(some)
    ]


def test_constants_that_few_tell_of_are_held_to_their_priors():
    cases = _answered()
    table = serving.linear(cases, serving.shipped())
    every = np.ones(len(cases))
    speed = table.paths.index(("smaller",))
    told, held = (math.exp(serving.refit(table, every, strength)[speed]) for strength in (0.01, 3.0))
    assert told < held / 1.5
    assert held == pytest.approx(serving.prior(("smaller",)))


def test_how_strongly_constants_are_held_for_a_part_is_asked_of_the_others_alone(monkeypatch):
    cases = _answered()
    asked = []

    def unseen_error(_cases, _table, _answered, known, held):
        asked.append(known)
        return abs(held - 0.3)

    monkeypatch.setattr(serving, "_error_unseen", unseen_error)
    chosen = serving.strengths(cases, serving.shipped())
    assert set(chosen.values()) == {0.3}  # the one with the smallest error
    for part, known in zip((name for name in chosen for _ in serving.STRENGTHS), asked, strict=True):
        source, _, model = part.partition("|")
        own = [case.source_family == source and (not model or case.model["name"] == model) for case in cases]
        assert any(own)
        assert not any(known[own])
        assert any(known)
