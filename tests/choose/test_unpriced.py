"""A line without a price makes each figure that it belongs to unknown: nothing prints the rest as the whole."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from sizewell.sizing.choose.checklist import checklist
from sizewell.sizing.choose.choice import within_budget
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.explain import explain
from sizewell.sizing.choose.observed import RightSizing
from sizewell.sizing.choose.why import verdicts
from sizewell.sizing.money import Priced, Unpriced
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

from .conftest import ON

CHAT = """
name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
infra: [aws/eu-west-1]
resources: {instance_type: [p4d.24xlarge]}
"""  # sold in Ireland, where nobody has the price


@pytest.fixture(scope="module")
def decided(facts) -> Decision:
    answer = decide([parse_spec(CHAT)], facts, stack="", on=ON)
    assert isinstance(answer, Decision)
    return answer


def test_the_sums_of_a_decision_are_unknown_and_what_is_priced_is_not_lost(decided):
    workload = decided.workloads[0]
    assert workload.cost.run_rate is None
    assert workload.cost.per_million_tokens_usd is None
    [reason] = workload.cost.unpriced
    assert "no price for p4d.24xlarge in eu-west-1" in reason
    assert workload.bill().run_rate.whole == Unpriced(reason)
    priced = [cost.expected for record in workload.line_items
              if not isinstance(cost := record.item().cost(), Unpriced)]  # fmt: skip
    assert workload.bill().run_rate.usd_per_month.expected == sum(priced) > 0
    assert "run_rate" not in json.loads(decided.to_json())["workloads"][0]["cost"]


def test_a_decision_that_has_all_prices_states_their_sum(facts):
    answer = decide([parse_spec(CHAT.replace("eu-west-1", "us-east-1"))], facts, stack="", on=ON)
    assert isinstance(answer, Decision)
    cost = answer.workloads[0].cost
    assert cost.run_rate is not None
    assert cost.run_rate.interval() == answer.workloads[0].bill().run_rate.whole


def test_what_is_derived_of_an_unknown_sum_is_unknown(decided, facts):
    spec = parse_spec(CHAT)
    now = Priced(Decimal(9000), "list", "2026-09-01")
    sized = RightSizing(workload="chat", verdict="right", findings=(), now_usd_per_month=now, answer=decided)
    assert sized.saving_usd_per_month is None
    effects = explain(spec, facts, stack="", on=ON).sensitivity
    assert effects
    assert {(effect.usd, effect.change_percent) for effect in effects} == {(None, None)}
    sizing = size_one(spec, facts, stack="", on=ON)
    [choice] = [v for v in verdicts(sizing, sizing.best()) if v.outcome == "choice"]
    assert choice.reason.endswith(": ? a month")
    best = sizing.best()
    assert best is not None
    [month] = [line.answer for line in checklist("deploy", sizing, best) if "USD a month expected" in line.answer]
    assert " + ? USD a month expected" in month
    assert month.count(" + ?") == 3  # the expected figure, and both ends of its range


def test_what_stands_in_for_a_price_is_held_against_the_budget(facts):
    """A disk without a price is a line that no month may leave out, however small what it stands beside."""
    without = [fee for fee in facts.fees if not (fee.key == "ebs.gp3.gb_month" and fee.region == "us-east-1")]
    spec = parse_spec(CHAT.replace("eu-west-1", "us-east-1"))
    best = size_one(spec, replace(facts, fees=tuple(without)), stack="", on=ON).best()
    assert best is not None
    assert best.usd_per_month is None
    priced, compared = best.cost.run_rate.usd_per_month.expected, Decimal(repr(best.total_usd))
    assert priced < compared

    def kept(limit: Decimal) -> bool:
        return within_budget(best, replace(best.setting.need, budget={"usd_per_month": limit}))

    assert [kept(priced), kept((priced + compared) / 2), kept(compared)] == [False, False, True]
