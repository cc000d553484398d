"""An impossible wish names what is impossible and by how much, and a way out that helps."""

from __future__ import annotations

import re
from datetime import date

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
    assert any("model.weights: int4" in way for way in answer.relax)
    fitting = chat(
        model={"name": LARGE, "weights": "int4"},
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


def test_what_a_spec_excludes_is_not_called_near_while_it_allows_a_machine(facts):
    """An accelerator that only places without components have: its own figures answer, edge devices among them."""
    for word, cause in (("rtx-4090", "memory"), ("jetson-orin", "slo")):
        model = "deepseek-ai/DeepSeek-V3" if word == "rtx-4090" else "meta-llama/Llama-3.2-3B"
        one = chat(model=model, slo={"tpot": "60ms"}, resources={"accelerators": word})
        answer = decide([one], facts, stack="", on=date(2026, 11, 23))  # edge devices have prices since the 22nd
        assert isinstance(answer, NothingFits)
        assert answer.nearest[0].cloud == "edge"
        assert answer.nearest[0].cause.value == cause
        assert not [r for r in answer.nearest if r.cause.value == "constraint"]
        assert any("edge devices are sized but not provisioned" in way for way in answer.relax)


@pytest.mark.parametrize(
    ("wish", "reason", "way"),
    [
        ({"resources": {"tpu": {"type": "v5e"}}, "engine": "tensorrt-llm"}, "tensorrt-llm has no release", "use engine: vllm"),
        ({"resources": {"accelerators": "gaudi3"}, "framework": "jax"}, "jax does not run", "use framework: pytorch"),
        (
            {"resources": {"accelerators": "tpu-v5e"}, "model": {"name": LARGE, "weights": "int4"}},
            "int4 weights have no released kernels for tpu",
            "use model.weights: bf16 or fp16",
        ),
    ],
)  # fmt: skip
def test_software_that_an_accelerator_cannot_run_comes_with_its_own_way_out(facts, wish, reason, way):
    answer = answer_of(chat(**wish), facts)
    assert reason in answer.nearest[0].reason
    assert answer.relax[0].startswith(way), answer.relax


def test_a_precision_that_an_accelerator_lacks_names_the_one_that_it_has(facts):
    answer = answer_of(tune(resources={"accelerators": "t4"}), facts)
    assert answer.nearest[0].reason == "T4 has no bf16 units"
    assert answer.relax[0] == "use model.precision: fp16"


def test_figures_on_both_sides_of_a_limit_are_never_shown_alike(facts):
    """A list of all rejections of many services: 60 ms with 60 allowed, or 36.2 GiB with 36.2 usable, explains nothing."""
    seen = 0
    for model in ("mistralai/Mixtral-8x22B-Instruct-v0.1", "Qwen/Qwen2.5-7B-Instruct", LARGE):
        for rejection in size_one(chat(model=model, slo={"tpot": "60ms"}), facts, stack="", on=ON).rejections:
            for pattern in (r"after ([\d.]+) ms, ([\d.]+) allowed", r"needs ([\d.]+) GiB.*, ([\d.]+) GiB usable"):
                for needed, allowed in re.findall(pattern, rejection.reason):
                    assert needed != allowed, rejection.reason
                    assert float(needed) > float(allowed), rejection.reason
                    seen += 1
    assert seen > 100


def test_a_mixture_given_by_its_sizes_alone_is_served_like_one(facts):
    """A trillion parameters of which 32 billion are active: no token reads all of them."""
    one = chat(model={"params": "1T", "active_params": "32B", "weights": "fp8"}, slo={"tpot": "60ms"})
    answer = decide([one], facts, stack="", on=ON)
    assert isinstance(answer, Decision), answer
    assert answer.workloads[0].performance.grade == "calibrated"


def test_a_factor_above_one_is_never_rounded_to_one(facts):
    one = chat(
        model="meta-llama/Llama-3.1-405B",
        slo={"tpot": "12ms"},
        traffic={"rps": 0.1, "input_tokens": 100, "output_tokens": 100},
    )
    (wish,) = answer_of(one, facts).impossible
    assert "1.0 times" not in wish
    assert re.search(r": 1\.0[1-9] times what is required", wish), wish


def test_a_load_beyond_all_machines_is_answered_with_the_load_and_not_with_slower_machines(facts):
    answer = answer_of(chat(traffic={"rps": 10**9, "input_tokens": 1000, "output_tokens": 250}), facts)
    assert all("nodes, one pool has at most" in rejection.reason for rejection in answer.nearest)
    assert [way.partition(":")[0] for way in answer.relax] == ["check the load"]
