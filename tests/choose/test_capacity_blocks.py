"""A capacity block has so many machines and days at most, and is bought for no more than the spec allows."""

from __future__ import annotations

import re

import pytest

from sizewell.sizing.choose.decide import Decision, NothingFits, decide, size_one
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec

from .conftest import ON, spec

RUN = {
    "kind": "training",
    "model": "Qwen/Qwen3-30B-A3B",
    "engine": "megatron",
    "training": {"tokens": "500B", "sequence_length": 4096, "global_batch": "4M"},
    "resources": {"accelerators": ["h100-sxm"], "nodes": 8},
}
LARGE = {
    "kind": "training",
    "model": "meta-llama/Llama-3.1-70B",
    "engine": "megatron",
    "training": {"tokens": "15T", "sequence_length": 8192, "global_batch": "16M"},
    "deadline": "90d",
    "resources": {"accelerators": ["h100-sxm"]},
}


def block(**fields):
    return {"block": {"duration": "21d", "purchase": "confirmed", **fields}}


def price(facts):
    option = size_one(spec(**RUN, capacity=block(max_price="9000000 USD")), facts, stack="", on=ON).best()
    return float(option.hours.expected) * option.usd_per_hour


def test_a_block_over_its_maximum_price_is_rejected_with_both_figures(facts):
    usd = price(facts)
    refused = decide([spec(**RUN, capacity=block(max_price="9100 USD"))], facts, stack="", on=ON)
    assert isinstance(refused, NothingFits)
    assert refused.nearest[0].reason == f"the block costs {usd:,.2f} USD, capacity.block.max_price is 9,100.00 USD"
    limit = re.fullmatch(r"use capacity.block.max_price: (\d+ USD), or leave capacity out", refused.relax[0])[1]
    taken = decide([spec(**RUN, capacity=block(max_price=limit))], facts, stack="", on=ON)
    assert isinstance(taken, Decision)
    assert taken.workloads[0].pools[0].market == "capacity-block"
    assert isinstance(decide([spec(**RUN)], facts, stack="", on=ON), Decision), "the other way out"


def test_a_limit_that_is_missing_is_asked_for_with_a_figure_of_this_run(facts):
    usd = price(facts)
    with pytest.raises(SpecError) as caught:
        decide([spec(**RUN, capacity=block())], facts, stack="", on=ON)
    [fault] = caught.value.faults
    assert (fault.path, f"costs {usd:,.2f} USD" in fault.message) == ("capacity.block.max_price", True)
    limit = fault.fix.removeprefix("add max_price: ")
    assert usd <= float(limit.removesuffix(" USD")) < 1.1 * usd
    assert isinstance(decide([spec(**RUN, capacity=block(max_price=limit))], facts, stack="", on=ON), Decision)


def test_a_block_that_is_bought_has_its_price_behind_it(facts):
    bought = block(id="cr-0123456789abcdef0", start="2026-12-01T11:30Z", max_price="1 USD")
    assert isinstance(decide([spec(**RUN, capacity=bought)], facts, stack="", on=ON), Decision)
    long = {"duration": "23d", "id": "cr-0123456789abcdef0", "start": "2026-12-01"}
    assert spec(**RUN, capacity={"block": long}).capacity.block.duration_s == 23 * 86_400, "it was extended"


def test_no_run_is_given_a_block_of_more_machines_than_one_has(facts):
    asked = {"duration": "105d", "purchase": "confirmed", "max_price": "99000000 USD"}
    refused = decide([spec(**LARGE, capacity={"block": asked})], facts, stack="", on=ON)
    assert isinstance(refused, NothingFits), "nor is one taken of a cloud that sells none"
    assert "leave capacity.block out, which has at most 64 machines" in refused.relax
    workload = decide([spec(**LARGE)], facts, stack="", on=ON).workloads[0]
    assert workload.pools[0].nodes_initial > 64
    assert all(other.market != "capacity-block" for other in workload.alternatives)
    [scarce] = [note for note in workload.assumptions if note.startswith("scarce: ")]
    assert "an on-demand capacity reservation (capacity: {reservation: ID})" in scarce
    assert "capacity: {block" not in scarce
    assert "a capacity block has at most 64 machines" in scarce


def test_the_advice_to_buy_a_block_can_be_read(facts):
    from sizewell.sizing.choose.candidates import BUY_A_BLOCK

    text = BUY_A_BLOCK.format("21d").removeprefix("buy a block of it: ")
    given = f"name: a\nkind: training\nmodel: gpt2\ntraining: {{tokens: 1B, sequence_length: 1024}}\n{text}\n"
    assert parse_spec(given, catalog=facts).capacity.block.purchase == "confirmed"


SHORT = {
    "kind": "training",
    "model": "meta-llama/Llama-3.2-3B",
    "training": {"tokens": "60B", "sequence_length": 4096},
    "resources": {"instance_type": "p5.48xlarge", "nodes": 2},
    "infra": ["aws/us-east-1"],
}


def said_of(facts, **capacity):
    workload = decide([spec(**SHORT, capacity=block(max_price="60000 USD", **capacity))], facts, stack="", on=ON)
    assert isinstance(workload, Decision)
    said = [note for note in workload.workloads[0].assumptions if note.startswith("capacity.block.duration is")]
    return workload.workloads[0], said


@pytest.mark.parametrize("purchase", ["confirmed", "unconfirmed"])
def test_a_block_much_longer_than_its_run_is_told_the_days_that_do(facts, purchase):
    long, [said] = said_of(facts, duration="21d", purchase=purchase)
    days, usd = re.search(r"21 days: .*, duration: (\d+)d would do, for ([\d,]+) USD less", said).groups()
    short, none = said_of(facts, duration=f"{days}d", purchase=purchase)
    assert not none
    assert short.pools[0].market == long.pools[0].market
    if purchase == "confirmed":
        paid = [float(w.cost.per_run_usd) for w in (long, short)]
        assert paid[0] - paid[1] == pytest.approx(float(usd.replace(",", "")), rel=0.01)


def test_a_block_that_is_bought_is_not_told_to_be_shorter(facts):
    _, said = said_of(facts, duration="21d", id="cr-0123456789abcdef0", start="2026-12-01T11:30Z")
    assert not said


def test_a_confirmed_block_is_the_reason_against_other_markets(facts):
    workload, _ = said_of(facts, duration="7d")
    reasons = {each.market: each.why_not for each in workload.alternatives if each.instance_type == "p5.48xlarge"}
    assert reasons
    for market in {"spot", "on-demand"} & set(reasons):
        assert reasons[market].startswith("capacity.block is confirmed")
