"""Serving: what a replica does under load follows from physics, whatever the constants are."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.sizing.catalog import Catalog
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.fleets import BATCH_EFFICIENCY
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.choose.start_up import BOOT_S, IMAGE_S, LOAD_BYTES_PER_S, WARM_UP_S, start_up_s
from sizewell.sizing.predict.performance import serving_constants
from sizewell.sizing.predict.performance.serving import (
    ServingRefusal,
    largest_rate,
    load_of_users,
    sequences_that_fit,
    serving,
)
from sizewell.sizing.predict.performance.serving_constants import constants
from sizewell.sizing.predict.performance.serving_level import ServiceLevel
from sizewell.sizing.predict.performance.serving_load import arriving, circulating, deviations, saturated, waits_share
from sizewell.sizing.predict.performance.serving_replica import (
    EXPERT_KERNELS,
    kernels_per_step,
    peak_flop_per_s,
    replica,
)
from sizewell.sizing.predict.performance.serving_samples import sample_server, samples_arriving
from sizewell.sizing.predict.performance.training_rows import input_facts
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.jobs import Cluster, ServingEstimate, ServingJob, TrainingJob

from .conftest import ON, chat, night, spec

QUICK = settings(max_examples=60, deadline=None)


def job(facts: Catalog, model: str = "meta-llama/Llama-3.1-8B", **fields) -> ServingJob:
    return ServingJob(architecture=facts.model(model), **{"input_tokens": 1000, "output_tokens": 200, **fields})


def cluster(facts: Catalog, key: str, count: int = 1) -> Cluster:
    accelerator = facts.accelerator(key)
    return Cluster(
        accelerator=accelerator,
        per_node=count,
        scale_up=count if accelerator.scale_up_max >= count else 1,
        link_bytes_per_s=accelerator.link_bytes_per_s,
    )


FEW = {"model": "meta-llama/Llama-3.1-8B-Instruct", "infra": ["aws/us-east-1"], "slo": None}


@pytest.mark.parametrize(
    ("users", "prompt", "more"),
    [
        (1, 120_000, {}),
        (2, 120_000, {}),
        (1, 60_000, {}),
        (2, 120_000, {"slo": {"ttft": "15s"}}),
        (3, 120_000, {"daily": [0.3] * 8 + [1.0] * 8 + [0.3] * 8}),
        (1, 32_000, {"infra": ["azure"], "model": "meta-llama/Llama-3.1-70B-Instruct"}),
    ],
)
def test_more_replicas_than_requests_in_flight_are_never_bought(facts, users, prompt, more):
    """Each user has one request in flight at most, so that with a replica for each none waits for another."""
    traffic = {"concurrent_users": users, "input_tokens": prompt, "output_tokens": 500}
    if "daily" in more:
        traffic["daily"] = more["daily"]
    fields = {key: value for key, value in {**FEW, **more}.items() if value is not None and key != "daily"}
    chosen = size_one(spec(kind="inference", traffic=traffic, **fields), facts, stack="", on=ON).best()
    fleet = chosen.fleet
    arrivals = chosen.setting.need.arrivals  # of the busiest hour, where users come by the hour
    assert 1 <= fleet.replicas <= math.ceil(arrivals.load)
    assert all(nodes <= fleet.nodes for nodes in fleet.by_hour)
    assert fleet.replica_rate * fleet.replicas >= fleet.serving.requests_per_s * fleet.replicas * (1 - 1e-9)


def test_users_who_have_a_replica_each_wait_for_nobody(facts):
    one, on = job(facts, input_tokens=60_000), cluster(facts, "h100-sxm")
    alone = load_of_users(one, on, tensor=1, users=1, think_s=0.0, percentile=0.95)
    each = load_of_users(one, on, tensor=1, users=4, think_s=0.0, percentile=0.95, pool=4)
    r = replica(one, on, tensor=1)
    assert each.ttft_s == pytest.approx(alone.ttft_s) == pytest.approx(r.prefill_s(60_000), rel=0.01)
    assert alone.tpot_s == pytest.approx(r.decode_s(1.0, 60_000 + 100))
    assert alone.requests_per_s == pytest.approx(1 / alone.e2e_s(200))


@QUICK
@given(st.integers(1, 60), st.integers(1, 8), st.floats(0, 30), st.sampled_from([500, 8_000, 60_000]))
def test_users_wait_for_each_of_the_others_once_at_most(facts, users, pool, think_s, prompt):
    one, on = job(facts, input_tokens=prompt), cluster(facts, "h100-sxm")
    load = load_of_users(one, on, tensor=1, users=users, think_s=think_s, percentile=0.95, pool=pool)
    r = replica(one, on, tensor=1)
    if load.stable:
        most = math.ceil(max(0, users - pool) / pool) * r.prompt_s(prompt)
        assert load.ttft_s <= r.prefill_s(prompt) + most + 2.5 * r.decode_s(max(1.0, users / pool), prompt + 100)
        assert load.sequences <= max(1.0, users / pool)
    more = load_of_users(one, on, tensor=1, users=2 * users, think_s=think_s, percentile=0.95, pool=pool)
    assert not more.stable or more.ttft_s >= load.ttft_s * (1 - 1e-3)


def test_many_users_are_as_arrivals_at_random(facts):
    one, on = job(facts), cluster(facts, "h100-sxm")
    many = load_of_users(one, on, tensor=1, users=100_000, think_s=20_000.0, percentile=0.95)
    r, fit = replica(one, on, tensor=1), sequences_that_fit(one, on, tensor=1)
    assert many.ttft_s == pytest.approx(
        arriving(r, one, rate=many.requests_per_s, fit=fit, percentile=0.95).ttft_s, rel=1e-3
    )


@QUICK
@given(st.floats(1, 500), st.floats(1.01, 10), st.floats(16, 20000))
def test_a_larger_batch_takes_longer_but_less_per_sequence(facts, batch, factor, context):
    r = replica(job(facts), cluster(facts, "h100-sxm"), tensor=1)
    small, large = r.decode_s(batch, context), r.decode_s(batch * factor, context)
    assert large > small
    assert large / (batch * factor) <= small / batch * (1 + 1e-9)


@QUICK
@given(st.floats(16, 8000), st.floats(1.01, 10))
def test_a_longer_prompt_takes_longer(facts, tokens, factor):
    r = replica(job(facts), cluster(facts, "l4"), tensor=1)
    assert r.prompt_s(tokens * factor) > r.prompt_s(tokens)
    assert r.prefill_s(tokens * factor) >= r.prefill_s(tokens)


@QUICK
@given(
    st.sampled_from(["meta-llama/Llama-3.1-8B", "mistralai/Mixtral-8x7B-v0.1"]), st.floats(0.01, 30), st.floats(1.01, 3)
)
def test_more_requests_never_make_anything_faster(facts, model, rate, factor):
    one = job(facts, model)
    r, fit = replica(one, cluster(facts, "h200-sxm", 2), tensor=2), 300
    calm = arriving(r, one, rate=rate, fit=fit, percentile=0.95)
    busy = arriving(r, one, rate=rate * factor, fit=fit, percentile=0.95)
    if busy.stable:
        assert calm.stable
        assert busy.sequences >= calm.sequences * (1 - 1e-6)
        assert busy.tpot_s >= calm.tpot_s * (1 - 1e-6)
        assert busy.ttft_s >= calm.ttft_s * (1 - 1e-6)


@QUICK
@given(st.floats(0.05, 20))
def test_littles_law_holds_for_what_decodes(facts, rate):
    one = job(facts)
    r = replica(one, cluster(facts, "h100-sxm"), tensor=1)
    load = arriving(r, one, rate=rate, fit=10_000, percentile=0.5)
    if load.stable:
        decoding_s = (one.output_tokens - 1) * load.tpot_s
        assert load.sequences == pytest.approx(rate * decoding_s, rel=0.05)


def test_the_percentile_is_above_the_median(facts):
    one = job(facts)
    r = replica(one, cluster(facts, "h100-sxm"), tensor=1)
    half, tail = (arriving(r, one, rate=8, fit=1000, percentile=p) for p in (0.5, 0.99))
    assert tail.tpot_s > half.tpot_s
    assert tail.ttft_s >= half.ttft_s


@pytest.mark.parametrize(("percentile", "expected"), [(0.5, 0.0), (0.9, 1.2816), (0.95, 1.6449), (0.99, 2.3263)])
def test_deviations_are_those_of_the_normal_distribution(percentile, expected):
    assert deviations(percentile) == pytest.approx(expected, abs=1e-4)


@QUICK
@given(st.floats(1, 400), st.floats(0, 60))
def test_clients_that_think_load_a_replica_less(facts, clients, think):
    one = job(facts)
    r = replica(one, cluster(facts, "h100-sxm"), tensor=1)
    eager = circulating(r, one, clients=clients, fit=200)
    slow = circulating(r, one, clients=clients, fit=200, think_s=think)
    assert slow.requests_per_s <= eager.requests_per_s * (1 + 1e-6)
    limit = saturated(r, one, batch=200).requests_per_s
    assert eager.requests_per_s <= limit * 1.05


@pytest.mark.parametrize(
    ("faster", "slower"), [("h100-sxm", "a100-80gb-sxm"), ("a100-80gb-sxm", "l4"), ("l40s", "l4"), ("b200", "h100-sxm")]
)
def test_a_faster_device_serves_more(facts, faster, slower):
    level = ServiceLevel(ttft_s=3, tpot_s=0.15)
    one = job(facts)
    rates = [largest_rate(one, cluster(facts, key), tensor=1, level=level) for key in (faster, slower)]
    assert rates[0] > rates[1] > 0


@QUICK
@given(st.floats(0.02, 0.2), st.floats(1.01, 4))
def test_a_looser_level_never_admits_less(facts, tpot, factor):
    one, where = job(facts), cluster(facts, "l40s")
    strict = largest_rate(one, where, tensor=1, level=ServiceLevel(ttft_s=2, tpot_s=tpot))
    loose = largest_rate(one, where, tensor=1, level=ServiceLevel(ttft_s=2 * factor, tpot_s=tpot * factor))
    assert loose >= strict * (1 - 1e-6)


def test_the_largest_rate_is_at_its_level_and_no_more(facts):
    one, where, level = job(facts), cluster(facts, "h100-sxm"), ServiceLevel(ttft_s=1, tpot_s=0.03)
    rate = largest_rate(one, where, tensor=1, level=level)
    at = serving(one, where, rps=rate, percentile=level.percentile)
    beyond = serving(one, where, rps=rate * 1.02, percentile=level.percentile)
    assert isinstance(at, ServingEstimate)
    assert isinstance(beyond, ServingEstimate)
    assert at.ttft_s <= 1
    assert at.tpot_s <= 0.03
    assert beyond.ttft_s > 1 or beyond.tpot_s > 0.03


def test_quantised_weights_need_less_and_decode_faster(facts):
    where = cluster(facts, "l4")
    speeds = []
    for weights in ("bf16", "int8", "int4"):
        one = job(facts, weights=weights)
        estimate = serving(one, where, batch=1)
        assert isinstance(estimate, ServingEstimate)
        speeds.append((estimate.tpot_s, sequences_that_fit(one, where, tensor=1)))
    assert speeds[0][0] > speeds[1][0] > speeds[2][0]
    assert speeds[0][1] < speeds[1][1] < speeds[2][1]


def test_what_does_not_fit_is_refused_with_its_numbers(facts):
    one = job(facts, "meta-llama/Llama-3.1-70B")
    answer = serving(one, cluster(facts, "l4"), rps=1)
    assert isinstance(answer, ServingRefusal)
    assert answer.needed_bytes > answer.usable_bytes
    assert "GiB per device" in answer.reason


def test_more_devices_hold_more_sequences(facts):
    one = job(facts, "meta-llama/Llama-3.1-70B", weights="fp8")
    fits = [sequences_that_fit(one, cluster(facts, "h100-sxm", 8), tensor=t) for t in (1, 2, 4, 8)]
    assert fits == sorted(fits)
    assert fits[0] < fits[1]


def test_experts_are_read_as_far_as_the_batch_touches_them(facts):
    r = replica(job(facts, "mistralai/Mixtral-8x7B-v0.1"), cluster(facts, "h200-sxm"), tensor=1)
    assert r.expert_share == pytest.approx(0.25)
    assert r.read_s(1) == pytest.approx(r.weights_s + r.experts_s * 0.25)
    assert r.read_s(64) == pytest.approx(r.weights_s + r.experts_s, rel=1e-3)


def test_a_pipeline_divides_the_work_and_not_the_reading(facts):
    one, where = job(facts, "meta-llama/Llama-3.1-70B", weights="fp8"), cluster(facts, "h100-sxm", 4)
    whole, split = (replica(one, where, tensor=1, pipeline=p) for p in (1, 4))
    waits = 1 + 3 * serving_constants.constants().stage_wait
    assert split.weights_s == pytest.approx(whole.weights_s * waits)
    assert split.linear_s_per_token == pytest.approx(whole.linear_s_per_token / 4 * waits)


@pytest.mark.parametrize(
    ("key", "weights", "precision"),
    [
        ("h100-sxm", "fp8", "fp8"),
        ("a100-80gb-sxm", "fp8", "bf16"),
        ("t4", "bf16", "fp16"),
        ("l4", "int4", "fp16"),
        ("h100-sxm", "fp4", "bf16"),
        ("b200", "fp4", "fp4"),
    ],
)
def test_weights_compute_in_a_format_that_the_device_has(facts, key, weights, precision):
    accelerator = facts.accelerator(key)
    assert peak_flop_per_s(accelerator, weights) == accelerator.flop_per_s[precision]


@pytest.mark.parametrize(("key", "slower"), [("a100-80gb-sxm", True), ("h100-sxm", False)])
def test_weights_that_are_unpacked_first_slow_a_prompt_and_not_one_token(facts, key, slower):
    """FP8 on A100 takes 0.85 of what bf16 does in vLLM (gpustack/gpustack, docs/performance-lab/qwen3-14b/a100.md)."""
    narrow, plain = (
        replica(job(facts, "Qwen/Qwen3-14B", weights=weights), cluster(facts, key), tensor=1)
        for weights in ("fp8", "bf16")
    )
    assert (narrow.linear_s_per_token > plain.linear_s_per_token) is slower
    assert narrow.weights_s < plain.weights_s


@QUICK
@given(st.floats(0.1, 300), st.floats(1.01, 3))
def test_samples_wait_longer_under_more_load(facts, rate, factor):
    one = ServingJob(architecture=facts.model("resnet50"), weights="fp16")
    server = sample_server(one, cluster(facts, "t4"))
    calm, busy = (samples_arriving(server, rate=r, fit=256, percentile=0.95) for r in (rate, rate * factor))
    if busy.stable:
        assert calm.stable
        assert busy.ttft_s >= calm.ttft_s * (1 - 1e-9)


def test_an_overloaded_device_is_not_called_stable(facts):
    one = ServingJob(architecture=facts.model("resnet50"), weights="fp16")
    server = sample_server(one, cluster(facts, "t4"))
    assert math.isinf(samples_arriving(server, rate=1.1 / server.sample_s, fit=256).ttft_s)


def test_requests_that_come_at_random_leave_a_device_a_share_of_its_time(facts):
    one = ServingJob(architecture=facts.model("resnet50"), weights="fp16")
    server = sample_server(one, cluster(facts, "t4"))
    share = constants().arrivals
    assert 0.75 < share < 1.0
    assert samples_arriving(server, rate=0.98 * share / server.sample_s, fit=256).stable
    assert not samples_arriving(server, rate=1.02 * share / server.sample_s, fit=256).stable


def test_what_a_diffusion_model_does_in_16_bits_does_not_become_twice_as_fast_in_8(facts):
    def seconds(name, weights):
        job = ServingJob(architecture=facts.model(name), weights=weights, input_tokens=256)
        return sample_server(job, cluster(facts, "h100-sxm")).sample_s

    image = next(key for key, a in facts.models.items() if a.kind == "diffusion")
    assert 1.1 < seconds(image, "fp16") / seconds(image, "fp8") < 1.8
    assert seconds("bert-large", "fp16") / seconds("bert-large", "fp8") > seconds(image, "fp16") / seconds(image, "fp8")


def test_a_diffusion_image_costs_its_steps(facts):
    name = next(key for key, a in facts.models.items() if a.kind == "diffusion")
    one = ServingJob(architecture=facts.model(name), weights="fp16", passes_per_sample=40)
    few, many, most = (
        sample_server(replace(one, passes_per_sample=p), cluster(facts, "l40s")).sample_s for p in (20, 40, 60)
    )
    assert most - many == pytest.approx(many - few)
    assert 1.9 * few < many < 2 * few  # the picture is decoded once


@given(st.sampled_from([1, 2, 4, 8, 16]), st.floats(0.1, 0.95))
@settings(max_examples=30, deadline=None)
def test_a_larger_pool_waits_less_and_takes_no_less_per_replica(facts, pool, busy):
    """Two replicas of one pool are better than two pools of one replica: Erlang's formula C falls with the servers."""
    assert waits_share(2 * pool, busy) <= waits_share(pool, busy) <= waits_share(1, busy) == pytest.approx(busy)


def test_a_pool_of_replicas_takes_more_than_as_many_alone(facts):
    one = ServingJob(
        architecture=facts.model("meta-llama/Llama-3.1-70B"), weights="fp8", input_tokens=6000, output_tokens=50
    )
    where, level = cluster(facts, "h100-sxm", 8), ServiceLevel(ttft_s=0.8, tpot_s=0.1)
    rates = [largest_rate(one, where, tensor=8, level=level, pool=pool) for pool in (1, 2, 4, 8)]
    assert rates == sorted(rates)
    assert rates[-1] > 1.3 * rates[0]


def test_an_image_takes_the_passes_of_its_model(facts):
    """Four for distilled models, twenty with and without the prompt for Stable Diffusion XL, or what the spec says."""
    passes = {}
    for name, images in (
        ("black-forest-labs/FLUX.1-schnell", {}),
        ("stabilityai/stable-diffusion-xl-base-1.0", {}),
        ("stabilityai/stable-diffusion-xl-base-1.0", {"steps": 30, "guidance": False}),
    ):
        traffic = {"rps": 0.5, **({"images": images} if images else {})}
        need = requirements(chat(model=name, traffic=traffic, slo={"latency": "20s"}), facts)
        assert need.serving is not None
        passes[name, bool(images)] = need.serving.passes_per_sample
        assert any("denoising steps an image" in note for note in need.assumptions)
    assert list(passes.values()) == [4.0, 40.0, 30.0]


def test_a_batch_is_promised_less_than_is_predicted_and_never_more_than_the_hosts_decode(facts):
    """The assumed efficiency is printed, and pictures come no faster than the processors read them."""
    pictures = night(model="resnet50", batch={"records": "50M", "images": {"resolution": 224}, "window": "8h"})
    for one in (night(), pictures):
        decision = decide([one], facts, stack="", on=ON)
        assert isinstance(decision, Decision)
        workload = decision.workloads[0]
        promised = workload.task.records / (workload.performance.value - (BOOT_S + IMAGE_S + WARM_UP_S))
        assert promised <= BATCH_EFFICIENCY * workload.performance.figures["samples_per_s"] * 1.001
        assert any("80% of the predicted speed" in note for note in workload.assumptions)
    pool = workload.pools[0]
    vcpus = facts.shape(pool.cloud, pool.instance_type).vcpus
    decoded = pool.nodes_initial * vcpus / input_facts(facts.model("resnet50"), 0)["decode_s"]
    assert workload.performance.figures["samples_per_s"] <= decoded * 1.001


def test_images_move_activations_and_experts_cost_more_than_their_products(facts):
    images = ServingJob(
        architecture=facts.model("stabilityai/stable-diffusion-xl-base-1.0"), weights="bf16", passes_per_sample=40
    )
    whole = facts.accelerator("h100-sxm")
    slow = replace(whole, memory_bytes_per_s=whole.memory_bytes_per_s / 2)
    one, other = (sample_server(images, Cluster(accelerator=a, per_node=1)).sample_s for a in (whole, slow))
    assert 1.05 < other / one < 2.0  # part of a sample is memory traffic
    routed = facts.model("mistralai/Mixtral-8x7B-v0.1")
    job = ServingJob(architecture=routed, weights="fp8", input_tokens=500, output_tokens=100)
    cluster_ = Cluster(accelerator=whole, per_node=8, scale_up=8)
    fitted = serving_constants.constants()
    with serving_constants.trying(replace(fitted, experts_speed=1.0)):
        plain = replica(job, cluster_, tensor=8)
    real = replica(job, cluster_, tensor=8)
    assert real.linear_s_per_token > plain.linear_s_per_token
    dense = replace(routed, experts=0, experts_per_token=0)
    more = kernels_per_step(routed, "fp8") - kernels_per_step(dense, "fp8")
    assert more == routed.layers * EXPERT_KERNELS


def test_a_step_launches_kernels_by_the_layers_of_the_model_and_a_program_compiled_whole_waits_less(facts):
    small, large = (facts.model(f"meta-llama/Llama-3.1-{size}") for size in ("8B", "70B"))
    assert kernels_per_step(large, "bf16") / kernels_per_step(small, "bf16") == large.layers / small.layers
    assert kernels_per_step(small, "fp8") > kernels_per_step(small, "bf16")  # inputs are scaled as well
    latent = facts.model("deepseek-ai/DeepSeek-V3")
    assert kernels_per_step(latent, "fp8") / latent.layers > kernels_per_step(small, "fp8") / small.layers
    job = ServingJob(architecture=small, input_tokens=500, output_tokens=100)
    gpu, tpu = (
        replica(job, Cluster(accelerator=facts.accelerator(key), per_node=1), tensor=1)
        for key in ("h100-sxm", "tpu-v6e")
    )
    assert gpu.step_s > tpu.step_s


def test_a_run_starts_the_later_the_more_weights_it_loads(facts):
    small, large = (
        ServingJob(architecture=facts.model(key), weights="fp8")
        for key in ("meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V3")
    )
    nothing = start_up_s(None)
    assert nothing == BOOT_S + IMAGE_S + WARM_UP_S
    assert start_up_s(small) - nothing == pytest.approx(8.03e9 / LOAD_BYTES_PER_S, rel=0.02)
    assert start_up_s(large) - nothing == pytest.approx(671e9 / LOAD_BYTES_PER_S, rel=0.02)
    trained = TrainingJob(architecture=facts.model("meta-llama/Llama-3.1-8B"), method="pretrain")
    assert start_up_s(trained) == nothing
    assert start_up_s(replace(trained, method="lora")) == pytest.approx(nothing + 16.06, rel=0.01)


def test_speech_takes_the_steps_of_its_engine_and_what_each_of_its_tokens_is_multiplied_with(facts):
    """An archive of speech was promised 1.6 to 2.3 times as fast as submissions to MLPerf recognise it."""
    heard = ServingJob(architecture=facts.model("openai/whisper-large-v3"), input_tokens=1500, output_tokens=100)
    card = Cluster(accelerator=facts.accelerator("h200-sxm"), per_node=1)
    fitted = serving_constants.constants()
    real = sample_server(heard, card)
    with serving_constants.trying(replace(fitted, kernel_s=0.0, eager=1.0)):
        assert sample_server(heard, card).fixed_s < real.fixed_s
        assert sample_server(heard, card).sample_s < real.sample_s


def test_a_looser_level_never_takes_less(facts):
    """Two replicas queue together whether one alone would do or not."""
    wish = {"model": "meta-llama/Llama-3.1-8B-Instruct", "resources": {"accelerators": ["H100"]}}
    wish["traffic"] = {"rps": 0.03, "input_tokens": 100_000, "output_tokens": 500}
    rates = []
    for ttft in (16, 18, 20):
        level = {"ttft": f"{ttft}s", "tpot": "60ms"}
        best = size_one(spec(kind="inference", slo=level, **wish), facts, stack="", on=ON).best()
        assert best is not None
        assert best.fleet.replicas == 2
        rates.append(best.fleet.replica_rate * best.fleet.replicas)
    assert rates == sorted(rates)
