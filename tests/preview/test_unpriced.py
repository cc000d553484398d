"""What has no price: a "?" on the side of the change where it is missing, and one line for what stood before."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from situations import ON, PROVENANCE, Sketch, one, plain

from sizewell.preview.assemble import assemble
from sizewell.preview.diff import Side, compare
from sizewell.preview.reasons import choices_of
from sizewell.preview.render import html, markdown, terminal
from sizewell.preview.render import json as as_json
from sizewell.resources import Plan, RecordedResource, price
from sizewell.sizing.catalog import load
from sizewell.sizing.records.decision import Decision

UNKNOWN = "no price rule for this type"


def with_things(*names, sketch=None, **more):
    sketch = sketch or plain()
    for name in names:
        sketch.resource("aws:quantum/thing:Thing", name, **more).line(name, "thing", "?", UNKNOWN, (1, 1, 1))
    return sketch


def run_rate(preview):
    """Before, after and change of the comment's first row of figures."""
    row = next(line for line in markdown.render(preview).splitlines() if "Run-rate, $/mo" in line)
    return [cell.strip(" *") for cell in row.split("|")[2:5]]


@pytest.mark.parametrize(
    ("before", "after", "open_figures"),
    [
        ((), (), (False, False, False)),
        ((), ("a",), (False, True, True)),
        (("a",), ("a",), (True, True, False)),  # missing from both sums, and not from what they differ by
        (("a",), ("a", "b"), (True, True, True)),
        (("a",), (), (True, False, True)),
    ],
)
def test_each_figure_says_whether_something_is_missing_from_it(before, after, open_figures):
    preview = one(with_things(*before), with_things(*after))
    assert tuple(cell.endswith("+ ?") for cell in run_rate(preview)) == open_figures
    told = [cell for cell in terminal.render(preview).splitlines() if "run-rate per month, expected" in cell]
    assert told[0].count("+ ?") == sum(open_figures)
    cards = html.render(preview)
    assert ("from $4,191 + ?" in cards) == open_figures[0]
    stack = json.loads(as_json.render(preview))["stacks"][0]
    assert [line.partition(":")[0] for line in stack["unpriced_before"]] == list(before)
    assert [line.partition(":")[0] for line in stack["unpriced"]] == list(after)


def test_a_price_that_is_known_now_is_no_increase():
    priced = plain().resource("aws:quantum/thing:Thing", "a").line("a", "thing", "hour", "0.5", (730, 730, 730))
    preview = one(with_things("a"), priced)
    assert [cell.endswith("+ ?") for cell in run_rate(preview)] == [True, False, True]
    assert "+365.00 ?" in markdown.render(preview)
    assert "1 unpriced in the base only" in markdown.render(preview)


def test_of_several_stacks_each_row_says_it():
    stacks = [
        compare("old", with_things("a").side(), plain(market="spot", price="4.1").side()),
        compare("new", plain().side(), with_things("a").side()),
        compare("alone", None, plain().side(), base_failed="the base does not build"),
    ]
    preview = assemble(stacks, on=ON, provenance=PROVENANCE)
    rows = {
        line.split("|")[1].strip(): line for line in markdown.render(preview).splitlines() if line.startswith("| `")
    }
    assert [cell.count("+ ?") for cell in rows["`old`"].split("|")[2:7]] == [1, 0, 0, 1, 1]
    assert [cell.count("+ ?") for cell in rows["`new`"].split("|")[2:7]] == [0, 1, 1, 1, 1]
    assert "1 stack without a base" in markdown.render(preview)
    assert [cell.endswith("+ ?") for cell in run_rate(preview)] == [True, True, True]


def test_what_is_kept_although_it_leaves_the_program_is_missing_from_the_sum_after():
    preview = one(with_things("a", protect=True), plain())
    assert [cell.endswith("+ ?") for cell in run_rate(preview)] == [True, True, True]
    assert preview.stacks[0].failing == ()


def test_the_idle_exposure_lacks_machines_without_a_price():
    def pool(name, sketch):
        return sketch.resource("aws:ec2/instance:Instance", name).line(
            name, "m9.huge", "machine-hour", "no price for m9.huge", (730, 730, 730)
        )

    comment = markdown.render(one(pool("a", plain()), pool("b", pool("a", plain()))))
    row = next(line for line in comment.splitlines() if line.startswith("| Idle exposure"))
    assert [cell.strip().endswith("+ ?") for cell in row.split("|")[2:5]] == [True, True, True]


def test_what_stood_before_is_one_line_and_the_page_has_all_of_it():
    old = [f"old-{number}" for number in range(40)]
    preview = one(with_things(*old), with_things(*old, "fresh"))
    comment, text, page = markdown.render(preview), terminal.render(preview, width=200), html.render(preview)
    for told in (comment, text):
        assert "fresh: thing: no price rule" in told
        assert "old-7" not in told
        assert "40 unpriced lines that the base has as well; shown by --format html" in told
    assert "**1 unpriced** · 40 unpriced in the base too" in comment
    assert all(f"{name}: thing" in page for name in old)
    assert "40 unpriced lines that the base has as well</summary>" in page


def test_what_stood_before_and_fails_is_named():
    pool = "g99.huge, on-demand, us-east-1"
    side = Sketch("llm-prod").resource("aws:sagemaker/endpoint:Endpoint", "e").line("e", pool, "?", UNKNOWN, (1, 1, 1))
    preview = one(side, side)
    assert preview.stacks[0].failing
    assert f"- **unpriced** e: {pool}" in markdown.render(preview)


def test_another_name_is_no_new_line():
    before = with_things("a")
    after = with_things("b")
    after.resources[-1] = replace(after.resources[-1], aliases=(before.resources[-1].urn,))
    preview = one(before, after)
    assert preview.stacks[0].unpriced_before == preview.stacks[0].unpriced
    assert "1 unpriced line that the base has as well" in markdown.render(preview)


def test_a_purchase_without_a_price_is_missing_from_what_is_paid_once_and_not_from_the_run_rate():
    def bought(sketch):
        block = sketch.resource("aws:ec2/capacityBlockReservation:CapacityBlockReservation", "block")
        return block.line("block", "capacity block", "?", "hours not known", (1, 1, 1), cadence="once")

    preview = one(plain(), bought(plain()))
    comment = markdown.render(preview)
    assert [cell.endswith("+ ?") for cell in run_rate(preview)] == [False, False, False]
    assert "| One-off, $ |  | ? | ? |" in comment
    assert "one-off ?, not refundable" in comment
    assert [need.kind for need in preview.stacks[0].needs] == ["purchases"]
    again = one(bought(plain()), bought(plain()))
    assert again.stacks[0].needs == ()
    assert "One-off" not in markdown.render(again)


def test_a_choice_of_which_a_line_has_no_price_has_no_price() -> None:
    """Its runners-up are compared by what all of their lines cost: a part of it would be the cheapest of all."""
    decision = Decision.from_json(Path(__file__).parent / "fixtures/decision.json")
    [first, *others] = decision.workloads
    unpriced = first.line_items[0].model_copy(update={"usd_per_unit": None, "unpriced": "nobody has it"})
    open_ended = first.model_copy(update={"line_items": (unpriced, *first.line_items[1:])})
    chosen = [choice for choice in choices_of(decision) if choice.chosen and choice.workload == first.spec.name]
    changed = choices_of(decision.model_copy(update={"workloads": (open_ended, *others)}))
    assert {choice.usd_per_month is None for choice in chosen} == {False}
    assert {c.usd_per_month for c in changed if c.chosen and c.workload == first.spec.name} == {None}


@pytest.mark.parametrize(
    ("kind", "inputs", "words"),
    [
        ("aws:savingsplans/savingsPlan:SavingsPlan", {"commitment": "10.0"},
         "buys savings plan of 10 USD an hour for its whole term at 7,300.00 USD a month, used or not"),
        ("azure-native:billingbenefits:SavingsPlanOrderAlias",
         {"commitment": {"amount": 2, "currencyCode": "USD", "grain": "Hourly"}, "term": "P1Y"},
         "buys savings plan of 2 USD an hour for its whole term at 1,460.00 USD a month, used or not"),
        ("aws:rds/reservedInstance:ReservedInstance", {"offeringId": "o", "instanceCount": 3},
         "buys reserved database instances, 3 of an offering for its whole term at an unknown price, used or not"),
        ("aws:elasticache/reservedCacheNode:ReservedCacheNode", {"cacheNodeCount": 2},
         "buys reserved cache nodes, 2 of an offering for its whole term at an unknown price, used or not"),
        ("gcp:compute/regionCommitment:RegionCommitment",
         {"region": "us-central1", "plan": "TWELVE_MONTH", "resources": [{"type": "VCPU", "amount": "4"}]},
         "buys commitment to VCPU for its whole term at"),
        ("gcp:bigquery/capacityCommitment:CapacityCommitment", {"plan": "FLEX", "slotCount": 100, "location": "US"}, ""),
    ],
)  # fmt: skip
def test_what_binds_for_a_term_is_shown_as_bought_once(kind, inputs, words):
    made = RecordedResource(urn=f"urn:pulumi:dev::p::{kind}::c", type=kind, name="c", inputs=inputs)
    plan = Plan(project="p", stack="dev", resources=(made,), config={"aws:region": "us-east-1"})
    bought = Side(plan=plan, pricing=price(plan, load(), on=date(2026, 11, 27)))
    without = replace(plan, resources=())
    before = Side(plan=without, pricing=price(without, load(), on=date(2026, 11, 27)))
    for earlier in (None, before):
        told = [need.text for need in compare("dev", earlier, bought).needs]
        assert [text[: len(words)] for text in told] == ([words] if words else [])
    assert compare("dev", bought, bought).needs == ()


def test_a_fixed_cent_does_not_hide_what_is_billed_by_use():
    kinds = {"zone": "aws:route53/zone:Zone", "lake": "aws:s3/bucket:Bucket"}
    made = tuple(
        RecordedResource(urn=f"urn:pulumi:dev::p::{kind}::{name}", type=kind, name=name, inputs={"name": "a.example"})
        for name, kind in kinds.items()
    )
    plan = Plan(project="p", stack="dev", resources=made, config={"aws:region": "us-east-1"})
    stack = compare("dev", None, Side(plan=plan, pricing=price(plan, load(), on=date(2026, 11, 27))))
    assert [(row.component, row.use_added) for row in stack.rows] == [("zone", 0), ("lake", 1)]
    told = terminal.render(assemble((stack,), on=ON, provenance=PROVENANCE))
    assert "Run-rate $0.50/month expected + use" in told
