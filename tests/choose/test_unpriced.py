"""A line without a price makes each figure that it belongs to unknown: nothing prints the rest as the whole."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from sizewell.sizing.choose.checklist import checklist
from sizewell.sizing.choose.choice import within_budget
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.explain import explain
from sizewell.sizing.choose.observed import RightSizing
from sizewell.sizing.choose.why import verdicts
from sizewell.sizing.errors import SpecError
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
"""  # sold in Ireland; without AWS's own list nobody has the price


@pytest.fixture(scope="module")
def decided(unlisted) -> Decision:
    answer = decide([parse_spec(CHAT)], unlisted, stack="", on=ON)
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


def test_what_is_derived_of_an_unknown_sum_is_unknown(decided, unlisted):
    spec = parse_spec(CHAT)
    now = Priced(Decimal(9000), "list", "2026-09-01")
    sized = RightSizing(workload="chat", verdict="right", findings=(), now_usd_per_month=now, answer=decided)
    assert sized.saving_usd_per_month is None
    effects = explain(spec, unlisted, stack="", on=ON).sensitivity
    assert effects
    assert {(effect.usd, effect.change_percent) for effect in effects} == {(None, None)}
    sizing = size_one(spec, unlisted, stack="", on=ON)
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


UNPRICED = """
name: big
kind: {kind}
model: {{name: meta-llama/Llama-3.1-70B{more}}}
{work}
resources: {{accelerators: [{accelerator}]}}
{infra}
"""
SERVED = "traffic: {rps: 10, input_tokens: 1500, output_tokens: 300}"
TRAINED = "training: {tokens: 5B, sequence_length: 8192, global_batch: 4M}"


@pytest.mark.parametrize(
    ("kind", "more", "work", "wanted", "machine"),
    [
        ("inference", ", weights: fp8", SERVED, ("GB200", ""), "a4x-highgpu-4g"),
        ("training", "", TRAINED, ("GB200", ""), "a4x-highgpu-4g"),
        ("inference", ", weights: fp8", SERVED, ("H200", "infra: [on-premises]"), "hgx-h200-8x"),
    ],
)
def test_what_is_asked_for_without_a_price_is_sized_all_the_same(facts, kind, more, work, wanted, machine):  # noqa: PLR0917
    given = UNPRICED.format(kind=kind, more=more, work=work, accelerator=wanted[0], infra=wanted[1])
    answer = decide([parse_spec(given)], facts, stack="", on=ON)
    assert isinstance(answer, Decision), str(answer)
    [workload] = answer.workloads
    assert (workload.pools[0].instance_type, workload.pools[0].nodes_initial > 0) == (machine, True)
    assert workload.performance.value > 0
    assert workload.memory.per_device_bytes > 0
    assert (workload.parallelism is not None) == (kind == "training")
    assert workload.cost.run_rate is None
    assert workload.cost.per_run_usd is None
    assert [reason for reason in workload.cost.unpriced if f"no price for {machine}" in reason]
    assert [note for note in workload.assumptions if "run: sizewell prices import FILE" in note]
    assert not [other for other in workload.alternatives if re.search(r"[\d.]+ USD", other.why_not)]


def test_a_list_price_is_not_called_unknown_beside_its_sum(facts):
    """Of a cluster that is adopted the list price may be known, and what its owner pays is not."""
    given = UNPRICED.format(kind="inference", more="", work=SERVED, accelerator="L40S", infra="infra: [oci]")
    [workload] = decide([parse_spec(given)], facts, stack="", on=ON).workloads
    assert workload.cost.run_rate is not None
    said = " ".join([*workload.assumptions, *(other.why_not for other in workload.alternatives)])
    assert "oci cannot be provisioned" in said
    assert "is not known: chosen by speed and billed at the list price" in said
    assert not re.search("no price of|every cost", said)


def test_users_who_ask_at_once_are_said(facts):
    users = CHAT.replace("rps: 4", "concurrent_users: 4")
    assert users != CHAT
    [workload] = decide([parse_spec(users)], facts, stack="", on=ON).workloads
    assert [note for note in workload.assumptions if "traffic.think_time is 0 s" in note]


def test_what_is_not_asked_for_needs_a_price(facts):
    """A machine that nobody has a price of is never the answer to a spec that names none."""
    sizing = size_one(
        parse_spec(CHAT.replace("resources: {instance_type: [p4d.24xlarge]}", "")), facts, stack="", on=ON
    )
    assert not [option for option in sizing.options if option.deal.unknown]


def test_a_cheaper_class_without_a_price_in_the_region_is_named(facts):
    wanted = CHAT.replace("eu-west-1", "af-south-1").replace("resources: {instance_type: [p4d.24xlarge]}", "")
    [workload] = decide([parse_spec(wanted)], facts, stack="", on=ON).workloads
    [said] = [note for note in workload.assumptions if "price in af-south-1; at that of" in note]
    named, usual = said.split()[2], workload.pools[0].instance_type
    assert named != usual
    assert facts.offers("aws", named, region="af-south-1", on=ON) == ()
    elsewhere = decide([parse_spec(wanted.replace("/af-south-1", ""))], facts, stack="", on=ON).workloads[0]
    assert not [note for note in elsewhere.assumptions if "price in" in note and "it would cost" in note]


def test_a_region_of_the_government_is_used_where_the_spec_names_it(facts):
    """Whoever names it has an account there; the others never see it."""
    text = "name: n\nkind: notebook\nresources: {accelerators: [L4]}\ninfra: [aws/us-gov-west-1]\n"
    answer = decide([parse_spec(text, catalog=facts)], facts, stack="", on=ON)
    assert isinstance(answer, Decision)
    assert {pool.region for pool in answer.workloads[0].pools} == {"us-gov-west-1"}


def test_a_slice_is_the_one_that_is_stated(facts):
    """Eight chips in one machine, not a machine of four of which two would be the slice."""
    text = "name: n\nkind: notebook\nresources: {tpu: {type: v5e, topology: 2x4}}\n"
    answer = decide([parse_spec(text, catalog=facts)], facts, stack="", on=ON)
    assert isinstance(answer, Decision)
    assert {pool.instance_type for pool in answer.workloads[0].pools} == {"ct5lp-hightpu-8t"}
    with pytest.raises(SpecError, match="4x4 is 16 chips in 4 machines, and only training spans machines"):
        parse_spec(text.replace("2x4", "4x4"), catalog=facts)
