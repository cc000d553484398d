"""An impossible wish names what is impossible and by how much, and a way out that helps."""

from __future__ import annotations

import re

import pytest

from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.choose.impossible import impossible
from sizewell.sizing.records.decision import Decision

from .conftest import ON, chat, spec, tune

LARGE = "meta-llama/Llama-3.1-70B"


def answer_of(one, facts):
    answer = decide([one], facts, stack="", on=ON)
    assert isinstance(answer, NothingFits), answer
    return answer


def test_a_millisecond_per_token_is_under_the_time_to_read_the_weights_once(facts):
    answer = answer_of(chat(model=LARGE, slo={"tpot": "1ms"}, infra=["gcp"]), facts)
    (wish,) = answer.impossible
    # 139 GB over the 8 x 3.35 TB/s of an H100 machine: 5.2 ms.
    assert "reading the 139 GB of weights" in wish
    assert "5.2 times what is required" in wish
    assert answer.nearest[0].instance_type == "a3-highgpu-8g"
    assert str(answer).count("impossible: slo.tpot 1 ms") == 1


def test_the_way_out_helps_when_it_is_taken(facts):
    answer = answer_of(chat(model=LARGE, slo={"tpot": "1ms"}, infra=["gcp"]), facts)
    (bound,) = [match for way in answer.relax if (match := re.search(r"slo: \{tpot: (\d+ms)\}", way))]
    relaxed = decide([chat(model=LARGE, slo={"tpot": bound[1]}, infra=["gcp"])], facts, stack="", on=ON)
    assert isinstance(relaxed, Decision), relaxed


def test_no_way_out_names_a_cloud_that_the_spec_excludes(facts):
    for place, others in (("gcp", ("aws", "azure")), ("aws/eu-central-1", ("gcp", "azure"))):
        for wish in ({"slo": {"tpot": "1ms"}}, {"resources": {"gpu": "16GB..24GB", "nodes": 1}}):
            answer = answer_of(chat(model="meta-llama/Llama-3.1-405B", infra=[place], **wish), facts)
            said = " ".join([*answer.relax, *answer.impossible, *(r.shape for r in answer.nearest)])
            assert not any(re.search(rf"\b{cloud}\b", said) for cloud in others), said


def test_weights_that_no_machine_holds_and_the_precision_that_would(facts):
    one = chat(
        model={"name": LARGE, "weights": "bf16"}, resources={"accelerators": ["L40S"], "nodes": 1}, infra=["gcp"]
    )
    assert isinstance(decide([one], facts, stack="", on=ON), NothingFits)
    one = chat(model={"name": LARGE, "weights": "bf16"}, resources={"gpu": "16GB..30GB"}, infra=["gcp"])
    sizing = size_one(one, facts, stack="", on=ON)
    for wish in impossible(sizing):
        assert wish.factor > 1
    tight = chat(model={"name": LARGE, "weights": "bf16"}, resources={"instance_type": "g6.12xlarge"})
    answer = answer_of(tight, facts)
    assert "the weights take 1" in answer.impossible[0]
    assert "4 x l4 (aws g6.12xlarge)" in answer.impossible[0]
    assert any("model.weights: fp8 takes 6" in way for way in answer.relax)
    fitting = chat(
        model={"name": LARGE, "weights": "fp8"},
        resources={"instance_type": "g6.12xlarge"},
        slo={"ttft": "60s", "tpot": "1s"},
        traffic={"rps": 0.1, "input_tokens": 500, "output_tokens": 100},
    )
    assert isinstance(decide([fitting], facts, stack="", on=ON), Decision)


def test_a_deadline_under_the_peak_of_every_device_there_may_be(facts):
    run = {"tokens": "15T", "sequence_length": 8192}
    one = spec(kind="training", model="meta-llama/Llama-3.1-405B", training=run, deadline="1d")
    answer = answer_of(one, facts)
    (wish,) = answer.impossible
    assert wish.startswith("deadline 1 d: the run is 3.8e+25 FLOP")
    least_days = float(re.search(r"([\d.]+) d at the peak", wish)[1])
    assert least_days == pytest.approx(3.83e25 / (16384 * 2.25e15) / 86400, rel=0.15)


def test_a_wish_that_is_only_out_of_reach_of_prediction_is_not_called_impossible(facts):
    """Every bound is under what is predicted, so what fits is never impossible."""
    for one in (
        chat(),
        chat(model=LARGE),
        tune(),
        chat(model="resnet50", traffic={"rps": 3}, slo={"latency": "200ms"}),
    ):
        sizing = size_one(one, facts, stack="", on=ON)
        assert sizing.best() is not None
        assert impossible(sizing) == ()
