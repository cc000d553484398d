"""A service that is slower than predicted by known factors: they are found again, and it is sized with them."""

from __future__ import annotations

import statistics
from dataclasses import replace
from datetime import date

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.as_measured import compare
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.choose.simulated import WARM_UP, deployed, limits, percentiles
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.performance.serving import serving
from sizewell.sizing.predict.performance.serving_replica import replica
from sizewell.sizing.predict.simulation.fleet import simulate
from sizewell.sizing.predict.simulation.requests import SPREAD, Lengths, arriving, circulating
from sizewell.sizing.records.jobs import Pace, ServingEstimate
from sizewell.sizing.workload.measured import Measured
from sizewell.sizing.workload.read import parse_spec

DAY = date(2026, 11, 22)
CATALOG = load()
TEXT = """name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
slo: {ttft: 1s, tpot: 60ms}
resources: {accelerators: [l40s]}
"""


def spec(text: str = TEXT):
    return parse_spec(text, "chat.yaml", catalog=CATALOG)


def measured(pace: Pace, *, rate: float = 1.0, clients: int = 0, **other: object) -> Measured:
    """What a service of that pace would measure, on the machine that is decided; another seed than the comparison's."""
    of = deployed(size_one(spec(), CATALOG, stack="", on=DAY).best())
    job = replace(of.job, pace=replace(pace, accelerator=of.cluster.accelerator.key))
    lengths = Lengths(prompt_tokens=1500, output_tokens=300, prompt_spread=SPREAD, output_spread=SPREAD)
    requests = (
        circulating(clients=clients, count=2000, lengths=lengths, seed=7)
        if clients
        else arriving(rate=rate, seconds=3000 / rate, lengths=lengths, seed=7)
    )
    served = simulate(
        replica(job, of.cluster, tensor=of.tensor), limits(job, of.cluster, tensor=of.tensor), requests, clients=clients
    )
    first = 0 if clients else int(len(served.ttft_s) * WARM_UP)
    values = {"ttft": served.ttft_s[first:], "tpot": served.tpot_s[first:], "e2e": served.e2e_s[first:]}
    seconds = {
        name: {"mean": statistics.fmean(each), **{f"p{round(100 * p)}": s for p, s in percentiles(each).items()}}
        for name, each in values.items()
    }
    stated = {
        "source": "bench.json", "requests": len(requests), "input_tokens": 1500.0, "output_tokens": 300.0,
        "seconds": seconds, "center": "p50", "rate": None if clients else rate, "clients": clients,
        "from_empty": bool(clients),
    }  # fmt: skip
    return Measured(**{**stated, **other})


@pytest.mark.parametrize("clients", [0, 24])
def test_the_factors_are_found(clients: int) -> None:
    compared = compare(spec(), [measured(Pace(steps=1.3, prompts=1.15), clients=clients)], None, CATALOG, on=DAY)
    assert compared.pace.steps == pytest.approx(1.3, rel=0.03)
    assert compared.pace.prompts == pytest.approx(1.15, rel=0.08)
    assert compared.pace.wait_s == 0
    assert 0.9 < compared.residual[0] <= compared.residual[1] < 1.1
    rows = {(row.figure, row.statistic): row for row in compared.runs[0][2]}
    assert rows["tpot", "p50"].ratio > 1.2
    assert rows["tpot", "p50"].paced_s == pytest.approx(rows["tpot", "p50"].measured_s, rel=0.01)


def test_what_no_speed_of_prompts_explains_is_a_wait() -> None:
    """Time in front of the engine takes nothing from its device, but for as much as prompts may well be slower."""
    compared = compare(spec(), [measured(Pace(wait_s=0.4))], None, CATALOG, on=DAY)
    assert 1.1 < compared.pace.prompts < 1.4
    assert 0.9 < compared.pace.steps < 1.0, "slower prompts are in the time between tokens"
    assert 0.2 < compared.pace.wait_s < 0.4


def test_one_of_several_loads_alone_does_not_decide() -> None:
    runs = [measured(Pace(steps=factor), rate=rate) for factor, rate in ((1.1, 0.5), (1.3, 1.5))]
    assert compare(spec(), runs, None, CATALOG, on=DAY).pace.steps == pytest.approx((1.1 * 1.3) ** 0.5, rel=0.03)


def test_a_slower_service_is_sized_with_more() -> None:
    compared = compare(spec(), [measured(Pace(steps=1.6, prompts=1.2))], None, CATALOG, on=DAY)
    before, after = (sum(p.nodes_max for p in d.workloads[0].pools) for d in (compared.as_predicted, compared.answer))
    assert after > before
    assert any("as measured on l40s: a step takes 1.6" in each for each in compared.answer.workloads[0].assumptions)


def test_what_is_measured_of_one_accelerator_counts_for_others_as_far_as_it_is_slower() -> None:
    of = deployed(size_one(spec(), CATALOG, stack="", on=DAY).best())
    other = replace(of.cluster, accelerator=CATALOG.accelerator("l4"))
    pace = Pace(accelerator="l40s", steps=0.7, prompts=1.4, wait_s=0.05)
    own, elsewhere = (replica(replace(of.job, pace=pace), cluster, tensor=1) for cluster in (of.cluster, other))
    as_own, as_elsewhere = (replica(of.job, cluster, tensor=1) for cluster in (of.cluster, other))
    assert own.weights_s == pytest.approx(0.7 * as_own.weights_s)
    assert elsewhere.weights_s == as_elsewhere.weights_s
    assert elsewhere.linear_s_per_token == pytest.approx(1.4 * as_elsewhere.linear_s_per_token)
    assert own.wait_s == elsewhere.wait_s == 0.05


@pytest.mark.parametrize("load", [{"rps": 1.0}, {"concurrency": 8.0}, {}])
def test_a_wait_is_in_the_closed_form_and_takes_no_rate_of_arrivals(load: dict[str, float]) -> None:
    of = deployed(size_one(spec(), CATALOG, stack="", on=DAY).best())
    waits = replace(of.job, pace=Pace(wait_s=0.5))
    without, with_wait = (serving(job, of.cluster, tensor=of.tensor, **load) for job in (of.job, waits))
    assert isinstance(without, ServingEstimate)
    assert isinstance(with_wait, ServingEstimate)
    least = 0.4 if "concurrency" in load else 0.5  # clients that wait elsewhere queue less
    assert with_wait.ttft_s - without.ttft_s >= least - 1e-9
    assert with_wait.requests_per_s <= without.requests_per_s


def test_a_decision_without_a_measurement_is_as_before() -> None:
    as_ever, as_predicted = (decide([spec()], CATALOG, stack="", on=DAY, **more) for more in ({}, {"pace": None}))
    assert not isinstance(as_ever, NothingFits)
    assert as_ever == as_predicted


def test_what_a_reader_has_to_know_is_said() -> None:
    run = measured(Pace(steps=1.1), model="Qwen/Qwen3-4B", remarks=("2 requests failed and are not counted",))
    seconds = {"ttft": {**run.seconds["ttft"], "p99": 9 * run.seconds["ttft"]["p99"]}}
    short = replace(run, input_tokens=300.0, seconds=seconds)
    found = " ".join(compare(spec(), [short], None, CATALOG, on=DAY).findings)
    for part in (
        "2 requests failed", "the measurement names Qwen/Qwen3-4B, the spec meta-llama/Llama-3.1-8B",
        "prompts and answers had 300 and 300 tokens, where the spec, which is sized, states 1,500 and 300",
        "the time between tokens was not measured: steps are as predicted", "the first token at p99 is",
    ):  # fmt: skip
        assert part in found


def _clients(**figures: dict[str, float]) -> Measured:
    """One client's load test."""
    return Measured(
        source="bench.json", requests=200, input_tokens=1500.0, output_tokens=300.0, seconds=figures, center="p50",
        clients=1, prefix=0.0, from_empty=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        ({"tpot": {"mean": 0.012, "p50": 0.012}}, "each token after 12 ms, where reading the 15.0 GB of weights"),
        ({"itl": {"mean": 0.012, "p50": 0.012}}, "takes 17.4 ms on 1 x l40s"),
        ({"ttft": {"mean": 0.04, "p50": 0.04}}, "the first token after 40 ms, where the 23 TFLOP of a prompt take 62"),
        ({"ttft": {"p50": 0.02}}, "where the cache held the prompts"),
    ],
)
def test_what_is_faster_than_the_device_can_be_is_refused(figures: dict[str, dict[str, float]], says: str) -> None:
    """Reading 15 GB at 864 GB/s takes 17.4 ms; a prompt's 23 TFLOP at the peak of 362 TFLOP/s 62 ms."""
    with pytest.raises(SpecError, match="is faster than the machine can be") as raised:
        compare(spec(), [_clients(**figures)], None, CATALOG, on=DAY)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    "figures",
    [
        {"tpot": {"mean": 0.019, "p50": 0.019}},
        {"itl": {"mean": 0.019, "p50": 0.0001}},  # several tokens in one piece
        {"ttft": {"p50": 0.05}},  # half of all prompts are shorter than the mean
    ],
)
def test_what_a_device_can_do_is_not(figures: dict[str, dict[str, float]]) -> None:
    assert compare(spec(), [_clients(**figures)], None, CATALOG, on=DAY).runs


def test_no_factor_makes_a_step_faster_than_its_weights_are_read() -> None:
    """A full batch whose prompts come slow and whose tokens come fast."""
    slow = {"ttft": {"p50": 0.25}, "tpot": {"p50": 0.040}}
    run = replace(_clients(**slow), clients=32, requests=1000)
    compared = compare(spec(), [run], None, CATALOG, on=DAY)
    of = deployed(size_one(spec(), CATALOG, stack="", on=DAY).best())
    step_s = replica(replace(of.job, pace=compared.pace), of.cluster, tensor=1).decode_step_s(1, 1500)
    assert step_s >= 0.0174
    assert any(
        "as fast as the device can be and no faster, a step is: reading the 15.0 GB" in each
        for each in compared.findings
    )


DRAFTED = TEXT.replace(
    "output_tokens: 300", "output_tokens: 300, speculative: {draft: DRAFT, acceptance: 90%}"
).replace("DRAFT", "meta-llama/Llama-3.2-1B")


@pytest.mark.parametrize(
    ("counted", "says"),
    [
        ({"drafts": 9.0, "proposed": 5.0, "accepted": 0.7}, "write traffic.speculative.acceptance: 70%"),
        ({"drafts": 9.0, "step_tokens": 2.94}, "write traffic.speculative.acceptance: 70%"),
        ({"drafts": 9.0, "proposed": 3.0, "accepted": 0.9}, "proposed 3 tokens at a time, the spec states 5"),
        ({"drafts": 0.0}, "no draft was counted"),
        ({}, "does not say what was accepted: 90% are taken"),
        ({"drafts": 9.0, "proposed": 5.0, "accepted": 0.89}, ""),
    ],
)
def test_what_was_accepted_is_held_against_what_is_stated(counted: dict[str, float], says: str) -> None:
    run = replace(_clients(tpot={"mean": 0.025, "p50": 0.025}), **counted)
    compared = compare(spec(DRAFTED), [run], None, CATALOG, on=DAY)
    found = " ".join(compared.findings)
    assert says in found
    assert bool(says) == any(word in found for word in ("accepted", "draft was counted", "proposed"))


def test_a_service_is_sized_with_the_acceptance_that_was_counted() -> None:
    """A server that ran without a draft says nothing of its acceptance, and is compared without it."""
    run = replace(_clients(tpot={"mean": 0.025, "p50": 0.025}), drafts=9.0, accepted=0.3)
    compared = compare(spec(DRAFTED), [run], None, CATALOG, on=DAY)
    assert any("30% accepted" in each for each in compared.answer.workloads[0].assumptions)
    undrafted = compare(spec(DRAFTED), [replace(run, drafts=0.0)], None, CATALOG, on=DAY)
    assert any("90% accepted" in each for each in undrafted.answer.workloads[0].assumptions)
    assert undrafted.runs[0][2][0].predicted_s > 0.019


def test_only_services_that_write_are_compared() -> None:
    with pytest.raises(SpecError, match="is no online service that generates text"):
        compare(
            spec("name: seg\nkind: inference\nmodel: resnet50\ntraffic: {rps: 50}\n"),
            [measured(Pace())],
            None,
            CATALOG,
            on=DAY,
        )
