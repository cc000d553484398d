"""A load that states its burstiness: what is chosen holds when simulated, one fewer does not; one machine to spare."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from datetime import date

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.choice import Sizing, size
from sizewell.sizing.choose.decide import size_one
from sizewell.sizing.choose.simulated import deployed, judged, percentiles, stated_load
from sizewell.sizing.choose.workloads import workload_record
from sizewell.sizing.errors import SpecError
from sizewell.sizing.records.launching import sequences_at_once
from sizewell.sizing.workload.read import parse_spec

DAY = date(2026, 11, 22)
CATALOG = load()


def _sized(*, rps: float = 4, more: str = "", slo: str = "{ttft: 500ms, tpot: 50ms}") -> Sizing:
    text = f"""name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {{rps: {rps}, input_tokens: 1500, output_tokens: 300{more}}}
slo: {slo}
resources: {{accelerators: [l40s, h100, l4]}}
"""
    return size_one(parse_spec(text, "chat.yaml", catalog=CATALOG), CATALOG, stack="", on=DAY)


def _chosen(sizing: Sizing):
    option = sizing.best()
    assert option is not None
    return option


def test_nothing_cheaper_holds() -> None:
    """Each kind of machine by itself, at its count for random arrivals or more: none holds for less money."""
    sizing = _sized(more=", burstiness: 8")
    chosen = _chosen(sizing)
    plain = replace(sizing.setting, need=replace(sizing.need, simulated={}))
    for option in size(sizing.spec, plain).options:
        of = deployed(option) if option.candidate.buildable else None
        each = option.usd_per_hour * float(option.hours.expected) / option.fleet.nodes * 1.02  # with its disk
        within = option.fleet.nodes + math.ceil((chosen.rank_usd - option.rank_usd) / each) - 1
        if of is None or option.instance_type == chosen.instance_type or within < option.fleet.nodes:
            continue
        assert not judged(of, stated_load(of, burstiness=8, more=1.25), within * of.per_node).holds, option.name


def test_burstier_traffic_and_tighter_promises_cost_no_less() -> None:
    usd = [_chosen(_sized(more=f", burstiness: {b}")).rank_usd for b in (0, 1, 4)]
    assert usd == sorted(usd)
    assert usd[-1] > usd[0]
    tight = _chosen(_sized(more=", burstiness: 4", slo="{ttft: 250ms, tpot: 30ms}")).rank_usd
    assert tight >= usd[2]


def test_one_machine_more_for_one_that_is_gone() -> None:
    sizing = _sized(more=", redundancy: n+1")
    alone, spare = _chosen(_sized()), _chosen(sizing)
    assert spare.fleet.nodes >= 2
    assert spare.fleet.replicas == deployed(spare).replicas
    assert alone.rank_usd < spare.rank_usd
    launched = workload_record(sizing, spare).replicas
    assert launched is not None
    assert launched.initial == spare.fleet.nodes * deployed(spare).per_node
    assert launched.spare == deployed(spare).per_node
    assert any("one more to hold while one is gone" in note for note in spare.fleet.serving.assumptions)


def test_a_larger_prefix_costs_no_more() -> None:
    """Prompts of agents, nearly all of which was sent before."""
    usd = [_chosen(_sized(rps=40, more=f", prefix: {share}%")).rank_usd for share in (1, 50, 90)]
    assert usd == sorted(usd, reverse=True)
    assert usd[2] < 0.8 * usd[0]
    burst = [_chosen(_sized(more=f", burstiness: 6, prefix: {share}%")).rank_usd for share in (1, 90)]
    assert burst[1] <= burst[0]


def test_spread_lengths_cost_no_less_and_what_is_chosen_holds() -> None:
    options = [_chosen(_sized(more=more)) for more in ("", ", input_tokens_p95: 3k", ", input_tokens_p95: 5k")]
    usd = [option.rank_usd for option in options]
    assert usd == sorted(usd)
    assert usd[2] > usd[0]
    of = deployed(options[2])
    assert of is not None
    load_ = stated_load(of, more=1.25)
    prompts = sorted(load_.requests.prompt_tokens)
    assert prompts[int(0.95 * len(prompts))] == pytest.approx(5000, rel=0.06)
    assert sum(prompts) / len(prompts) == pytest.approx(1500, rel=0.05)
    assert judged(of, load_, of.replicas).holds
    assert any("spread lengths" in note for note in options[2].fleet.serving.assumptions)


def test_spread_lengths_of_users() -> None:
    users = "{concurrent_users: 60, input_tokens: 1500, output_tokens: 300"
    plain, spread = (
        _chosen(
            size_one(
                parse_spec(
                    f"name: c\nkind: inference\nmodel: meta-llama/Llama-3.1-8B\ntraffic: {users}{more}}}\n"
                    "resources: {accelerators: [h100, l40s]}\n",
                    "c.yaml",
                    catalog=CATALOG,
                ),
                CATALOG,
                stack="",
                on=DAY,
            )
        )
        for more in ("", ", output_tokens_p95: 1k")
    )
    assert plain.rank_usd <= spread.rank_usd
    assert any("simulated with spread lengths" in note for note in spread.fleet.serving.assumptions)


@pytest.mark.parametrize("spread", ["input_tokens_p95: 3000", "output_tokens_p95: 600"])
@pytest.mark.parametrize("think", ["0s", "30s"])
def test_users_are_simulated_a_quarter_more_and_told_as_the_requests_they_send(think: str, spread: str) -> None:
    text = f"""name: c
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {{concurrent_users: 100, think_time: {think}, input_tokens: 1500, output_tokens: 300, {spread}}}
slo: {{ttft: 1s, tpot: 50ms}}
resources: {{instance_type: p5.4xlarge}}
"""
    sizing = size_one(parse_spec(text, "c.yaml", catalog=CATALOG), CATALOG, stack="", on=DAY)
    chosen = _chosen(sizing)
    of = deployed(chosen)
    assert of is not None
    assert stated_load(of, more=1.25).clients == 125
    assert judged(of, stated_load(of, more=1.25), of.replicas).holds
    told = workload_record(sizing, chosen).performance
    rate = 100 / (of.arrivals.think_s + judged(of, stated_load(of), of.replicas).e2e_mean_s)
    assert told.figures["requests_per_s"] == pytest.approx(rate, rel=0.15)
    assert 0 < told.figures["load_share"] <= 1
    assert told.low <= told.value <= told.high


@pytest.mark.parametrize("answers", ["200", "200, output_tokens_p95: 600"])
def test_lengths_that_the_model_cuts_keep_their_means_and_cost_no_less(answers: str) -> None:
    """What is cut without a word is load that a longer percentile would take away."""
    fewest = []
    for p95 in (5000, 6500, 7500):
        text = f"""name: chat
kind: inference
model: meta-llama/Meta-Llama-3-8B
traffic: {{rps: 8, input_tokens: 4000, input_tokens_p95: {p95}, output_tokens: {answers}}}
slo: {{ttft: 2s, tpot: 80ms}}
resources: {{instance_type: g6e.xlarge}}
"""
        option = _chosen(size_one(parse_spec(text, "chat.yaml", catalog=CATALOG), CATALOG, stack="", on=DAY))
        of = deployed(option)
        assert of is not None
        requests = stated_load(of, more=4).requests
        assert math.fsum(requests.prompt_tokens) / len(requests) == pytest.approx(4000, rel=0.01)
        assert math.fsum(requests.output_tokens) / len(requests) == pytest.approx(200, rel=0.03)
        assert sorted(requests.prompt_tokens)[len(requests) * 95 // 100] == pytest.approx(p95, rel=0.02)
        assert max(map(sum, zip(requests.prompt_tokens, requests.output_tokens, strict=True))) <= 8192
        fewest.append(option.fleet.nodes)
        said = [each for each in option.setting.need.assumptions if "are longer than the 8,192 tokens" in each]
        assert bool(said) == (p95 > 5000)
    assert fewest == sorted(fewest)


@pytest.mark.parametrize(
    "lengths",
    [
        "input_tokens: 6000, input_tokens_p95: 12000, output_tokens: 100",
        "input_tokens: 2000, output_tokens: 2000, output_tokens_p95: 7600",
        "input_tokens: 4000, input_tokens_p95: 7000, output_tokens: 900, output_tokens_p95: 2500",
    ],
)
def test_lengths_of_which_more_than_the_tail_is_not_read_are_refused(lengths: str) -> None:
    spec = "name: c\nkind: inference\nmodel: meta-llama/Meta-Llama-3-8B\ntraffic: {{rps: 1, {}}}\n"
    with pytest.raises(SpecError) as caught:
        parse_spec(spec.format(lengths), "c.yaml", catalog=CATALOG)
    (fault,) = caught.value.faults
    assert "of all requests longer than the 8,192 tokens that meta-llama/Meta-Llama-3-8B reads" in str(fault)
    key, most = re.findall(r"of which (\w+) is ([\d,]+) at the most", fault.fix)[0]
    assert fault.path == f"traffic.{key}"
    most = int(most.replace(",", ""))
    parse_spec(spec.format(re.sub(rf"{key}: \d+", f"{key}: {most}", lengths)), "c.yaml", catalog=CATALOG)
    with pytest.raises(SpecError):
        parse_spec(spec.format(re.sub(rf"{key}: \d+", f"{key}: {most + 1}", lengths)), "c.yaml", catalog=CATALOG)


def test_lengths_beyond_what_a_model_of_own_figures_reads_are_refused() -> None:
    text = (
        "name: c\nkind: inference\nmodel: {params: 8B, layers: 32, hidden: 4096, max_sequence_length: 8192}\n"
        "traffic: {rps: 1, input_tokens: 9000, output_tokens: 100}\n"
    )
    with pytest.raises(SpecError, match="input and output are 9100 tokens, the model allows 8192"):
        parse_spec(text, "c.yaml", catalog=CATALOG)


@pytest.mark.parametrize(
    ("traffic", "says"),
    [
        ("{rps: 5, input_tokens: 900, output_tokens: 9, input_tokens_p95: 800}", "between the mean and 3,"),
        ("{rps: 5, input_tokens: 900, output_tokens: 9, input_tokens_p95: 8k}", "give the log itself"),
        ("{rps: 5, input_tokens: 900, output_tokens: 0, output_tokens_p95: 8}", "output_tokens, which is not stated"),
        ("{concurrent_users: 5, input_tokens: 9, output_tokens: 9, burstiness: 3}", "users send when they have read"),
        ("{rps: 5, input_tokens: 9, output_tokens: 9, burstiness: -1}", "traffic.burstiness"),
        ("{rps: 5, input_tokens: 9, output_tokens: 0, burstiness: 3}", "for services that generate text"),
        ("{rps: 5, input_tokens: 9, output_tokens: 9, redundancy: 2n}", "traffic.redundancy"),
        ("{rps: 5, input_tokens: 9, output_tokens: 9, prefix: 100%}", "less than 100%"),
        ("{rps: 5, input_tokens: 9, output_tokens: 9, prefix: 1.5}", "traffic.prefix"),
    ],
)
def test_what_is_refused(traffic: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        parse_spec(
            f"name: c\nkind: inference\nmodel: meta-llama/Llama-3.1-8B\ntraffic: {traffic}\n", "c.yaml", catalog=CATALOG
        )


def test_a_steady_load_waits_no_longer_later_on() -> None:
    """Answers of exactly one length come in waves, in which each prompt waits longer from minute to minute."""
    of = deployed(_chosen(_sized(rps=12)))
    assert of is not None
    load_ = stated_load(of)
    assert len(set(load_.requests.output_tokens)) > 10
    ttft = judged(of, stated_load(of, more=1.5), of.replicas).served.ttft_s
    half = len(ttft) // 2
    assert percentiles(ttft[half:])[0.95] == pytest.approx(percentiles(ttft[half // 2 : half])[0.95], rel=0.2)


def test_what_an_engine_takes_at_once_is_as_launched_and_holds() -> None:
    """With as many places as requests are in flight at the mean, an engine is full half of the time."""
    option = _chosen(_sized())
    of = deployed(option)
    assert of is not None
    assert of.limits.sequences == sequences_at_once(round(option.fleet.serving.batch))
    load_ = stated_load(of)
    assert judged(of, load_, of.replicas).holds
    full = replace(of, limits=replace(of.limits, sequences=round(option.fleet.serving.batch)))
    assert not judged(full, load_, of.replicas).holds
