"""Speculative decoding: laws of the closed form, and the simulation beside it."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.predict.memory import kv_cache_tokens, serving_memory, weight_bytes
from sizewell.sizing.predict.performance.serving import largest_rate, serving
from sizewell.sizing.predict.performance.serving_level import ServiceLevel
from sizewell.sizing.predict.performance.serving_load import arriving, saturated
from sizewell.sizing.predict.performance.serving_replica import replica
from sizewell.sizing.predict.simulation.accepted import accepted
from sizewell.sizing.predict.simulation.fleet import ReplicaLimits, no_better, simulate
from sizewell.sizing.predict.simulation.requests import Lengths, Requests
from sizewell.sizing.predict.simulation.requests import arriving as requests_arriving
from sizewell.sizing.records.jobs import Cluster, ServingJob, Speculation

FACTS = load()
H100 = FACTS.accelerator("h100-sxm")
CLUSTER = Cluster(accelerator=H100, per_node=8, scale_up=8, link_bytes_per_s=H100.link_bytes_per_s)
PLAIN = ServingJob(
    architecture=FACTS.model("meta-llama/Llama-3.1-8B"), weights="bf16", input_tokens=1000, output_tokens=301
)
DRAFT = FACTS.model("meta-llama/Llama-3.2-1B")
AMPLE = ReplicaLimits(sequences=256, cache_tokens=10**9, step_tokens=8192)


def proposing(acceptance, tokens=5, draft=DRAFT):
    return replace(PLAIN, speculation=Speculation(draft=draft, tokens=tokens, acceptance=acceptance))


def step_s(job, batch, context=1150):
    return replica(job, CLUSTER, tensor=1).decode_s(batch, context)


@pytest.mark.parametrize("draft", [DRAFT, None])
@pytest.mark.parametrize("batch", [1, 8, 64, 256])
def test_what_is_never_accepted_is_never_faster(batch, draft):
    assert step_s(proposing(0.0, draft=draft), batch) >= step_s(PLAIN, batch)


@pytest.mark.parametrize("batch", [1, 16, 256])
def test_a_higher_acceptance_is_never_slower(batch):
    times = [step_s(proposing(share), batch) for share in (0.0, 0.2, 0.5, 0.7, 0.9, 1.0)]
    assert times == sorted(times, reverse=True)
    assert times[0] > times[-1]
    rates = [
        largest_rate(proposing(share), CLUSTER, tensor=1, level=ServiceLevel(ttft_s=1.0, tpot_s=0.03))
        for share in (0.0, 0.5, 0.9)
    ]
    assert rates == sorted(rates)


def test_the_gain_shrinks_with_the_batch_and_turns_into_a_loss():
    large = replace(PLAIN, architecture=FACTS.model("meta-llama/Llama-3.1-70B"))
    drafted = replace(large, speculation=proposing(0.5).speculation)
    pairs = [
        [replica(job, CLUSTER, tensor=4).decode_s(batch, 1150) for job in (large, drafted)]
        for batch in (1, 8, 64, 256, 1024)
    ]
    gains = [plain / both for plain, both in pairs]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 1.1
    assert gains[-1] < 1.0


def test_a_step_is_the_drafts_steps_and_one_over_all_that_is_checked():
    own, draft = replica(PLAIN, CLUSTER, tensor=1), replica(replace(PLAIN, architecture=DRAFT), CLUSTER, tensor=1)
    both = replica(proposing(0.6), CLUSTER, tensor=1)
    checked = own.decode_s(8, 1000) + 8 * 5 * (own.linear_s_per_token + own.head_s_per_token + 1000 * own.decode_pair_s)
    assert both.decode_step_s(8, 1000) == pytest.approx(checked + 5 * draft.decode_s(8, 1000))
    assert both.tokens_per_step == pytest.approx(sum(0.6**n for n in range(6)))
    slope = both.decode_step_s(1, 1001) - both.decode_step_s(1, 1000)
    assert both.context_s == pytest.approx(slope)
    assert both.prompt_s(900) == pytest.approx(own.prompt_s(900) + draft.prompt_s(900))


@pytest.mark.parametrize("tensor", [1, 4])
def test_memory_grows_by_the_drafts_weights_and_cache(tensor):
    job = proposing(0.7)
    alone = replace(PLAIN, architecture=DRAFT)
    held = [dict(serving_memory(j, tensor=tensor, sequences=8, accelerator=H100).breakdown) for j in (job, PLAIN)]
    assert held[0]["draft model"] == round(weight_bytes(alone, tensor=tensor))
    cache = dict(serving_memory(alone, tensor=tensor, sequences=8, accelerator=H100).breakdown)["kv cache"]
    assert held[0]["kv cache"] == pytest.approx(held[1]["kv cache"] + cache, rel=1e-6)
    assert {k: v for k, v in held[0].items() if k not in ("draft model", "kv cache")} == {
        k: v for k, v in held[1].items() if k != "kv cache"
    }
    room = [kv_cache_tokens(j, tensor=tensor, accelerator=H100) for j in (job, PLAIN)]
    assert room[0] < room[1]
    n_grams = serving_memory(proposing(0.7, draft=None), tensor=tensor, sequences=8, accelerator=H100)
    assert n_grams == serving_memory(PLAIN, tensor=tensor, sequences=8, accelerator=H100)


@pytest.mark.parametrize("acceptance", [0.0, 0.4, 0.8, 1.0])
def test_a_full_batch_is_simulated_as_fast_as_its_closed_form(acceptance):
    job = proposing(acceptance)
    both = replica(job, CLUSTER, tensor=1)
    both = replace(both, launches=0.0, draft=replace(both.draft, launches=0.0))  # which no closed form has
    lengths = Lengths(prompt_tokens=1000, output_tokens=301, output_spread=0.3)
    waiting = requests_arriving(rate=1000, seconds=4, lengths=lengths)
    served = simulate(both, replace(AMPLE, sequences=64), waiting)
    closed = saturated(both, job, batch=64).requests_per_s
    assert len(waiting) / served.seconds == pytest.approx(closed, rel=0.02)


@pytest.mark.parametrize("acceptance", [0.3, 0.8])
def test_requests_at_random_wait_as_long_as_the_closed_form_says(acceptance):
    job = proposing(acceptance)
    both = replica(job, CLUSTER, tensor=1)
    lengths = Lengths(prompt_tokens=1000, output_tokens=301)
    served = simulate(both, AMPLE, requests_arriving(rate=4, seconds=400, lengths=lengths))
    closed = arriving(both, job, rate=4, fit=256, percentile=0.5)
    assert statistics.fmean(served.tpot_s) == pytest.approx(closed.tpot_s, rel=0.1)


def test_the_simulation_is_the_same_each_time_and_never_slower_with_a_higher_acceptance():
    requests = requests_arriving(rate=4, seconds=60, lengths=Lengths(prompt_tokens=1000, output_tokens=301))
    ends = []
    for acceptance in (0.0, 0.4, 0.8):
        both = replica(proposing(acceptance), CLUSTER, tensor=1)
        served = [simulate(both, AMPLE, requests) for _ in range(2)]
        assert list(served[0].end_s) == list(served[1].end_s)
        ends.append(statistics.fmean(served[0].e2e_s))
    assert ends == sorted(ends, reverse=True)


def test_a_cache_that_is_too_small_preempts_and_loses_no_token():
    both = replica(proposing(0.6), CLUSTER, tensor=1)
    requests = Requests([0.0] * 20, [400] * 20, [200] * 20, [0] * 20)
    served = simulate(both, replace(AMPLE, cache_tokens=5000), requests)
    assert served.preempted > 0
    assert len(served.end_s) == 20
    assert served.cache_max <= 1.01


def test_who_is_preempted_comes_back_with_what_was_not_said():
    """Where each step adds two tokens, half the tokens in half the cache are taken away as often and as long."""
    two = replica(proposing(1.0, tokens=1), CLUSTER, tensor=1)
    twice = simulate(two, replace(AMPLE, cache_tokens=5000), Requests([0.0] * 20, [400] * 20, [201] * 20, [0] * 20))
    one = replica(PLAIN, CLUSTER, tensor=1)
    once = simulate(one, replace(AMPLE, cache_tokens=2500), Requests([0.0] * 20, [200] * 20, [101] * 20, [0] * 20))
    assert twice.preempted == once.preempted > 0


def test_what_is_drawn_has_the_mean_of_the_formula():
    drawn = accepted(4, 0.7)
    steps = sum(drawn.steps(request, 2000) for request in range(300)) / 300
    assert 2000 / steps == pytest.approx(Speculation(tokens=4, acceptance=0.7).tokens_per_step, rel=0.01)
    assert drawn.steps(1, 10**7) > 10**6  # longer than what was drawn


def test_no_published_case_stands_behind_it():
    plain, both = (serving(job, CLUSTER, rps=2.0) for job in (PLAIN, proposing(0.7)))
    assert (plain.grade, both.grade) == ("calibrated", "roofline")
    assert both.high / both.requests_per_s > plain.high / plain.requests_per_s
    assert both.tpot_s < plain.tpot_s


def test_a_replica_that_drafts_is_compared_with_its_like_alone():
    plain, both = (replica(job, CLUSTER, tensor=1) for job in (PLAIN, proposing(0.7)))
    assert no_better(both, AMPLE, both, AMPLE)
    assert not no_better(both, AMPLE, plain, AMPLE)
    assert not no_better(plain, AMPLE, both, AMPLE)
    slower = replace(both, draft=replace(both.draft, weights_s=2 * both.draft.weights_s))
    assert no_better(slower, AMPLE, both, AMPLE)
    assert not no_better(both, AMPLE, slower, AMPLE)
