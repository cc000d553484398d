"""What a preview says of own rates: each fault of a rate that still gives a figure is a sentence."""

from datetime import date
from decimal import Decimal

import pytest
from situations import ON, one, plain

from sizewell.preview.own_rates import remarks
from sizewell.preview.render import focus
from sizewell.resources import Plan, RecordedResource, price
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.errors import ConfigError

BOX = RecordedResource(
    urn="urn:pulumi:dev::t::aws:ec2/instance:Instance::box",
    type="aws:ec2/instance:Instance",
    name="box",
    inputs={"instanceType": "g6.xlarge", "rootBlockDevice": {"volumeSize": 100, "volumeType": "gp3"}},
)
PLAN = Plan(project="t", stack="dev", resources=(BOX,), config={"aws:region": "us-east-1"})
COMMITMENT = {"cloud": "aws", "instance_type": "g6.xlarge", "region": "us-east-1", "count": 1, "usd_per_hour": 0.5,
              "until": "2027-06-30"}  # fmt: skip
SAVINGS_PLAN = {"cloud": "aws", "usd_per_hour": 0.1, "percent": 20, "until": "2027-06-30"}


def said(**lists):
    rates = parse_discounts(lists)
    return list(remarks(load(), rates, [price(PLAN, load(), on=ON, discounts=rates)], ON))


def test_rates_that_decide_no_price_of_the_plan_are_named():
    (note,) = said(rates=[
        {"cloud": "aws", "instance_type": "g6.xlarge", "percent": 5},
        {"cloud": "aws", "instance_type": "g6.xlrge", "region": "us-east-1", "usd": 0.7},
        {"cloud": "aws", "instance_type": "g6.xlarge", "region": "us-east-1", "percent": 9},
        {"cloud": "aws", "fee": "ebs.gp3.*", "percent": 5},
        {"cloud": "aws", "fee": "eks.clutser", "usd": 0.1},
    ])  # fmt: skip
    assert note == (
        "own rates that match nothing here: aws g6.xlrge us-east-1, 0.7 USD; aws g6.xlarge us-east-1, 9 %; "
        "aws fee eks.clutser, 0.1 USD"
    )
    assert said(rates=[{"percent": 5}]) == []


@pytest.mark.parametrize(
    ("rate", "factor"),
    [
        ({"instance_type": "g6.xlarge", "usd": 0}, "aws g6.xlarge, 0 USD (0 instead of 0.8048)"),
        ({"instance_type": "g6.xlarge", "usd": 999}, "aws g6.xlarge, 999 USD (1,241 times 0.8048)"),
        ({"instance_type": "g6.xlarge", "percent": 95}, "aws g6.xlarge, 95 % (1/20 of 0.8048)"),
        ({"fee": "ebs.gp3.gb_month", "usd": 8}, "aws fee ebs.gp3.gb_month, 8 USD (100 times 0.08)"),
        ({"percent": 100}, "aws, 100 % (0 instead of "),
    ],
)
def test_a_rate_far_from_the_list_is_said_with_its_factor(rate, factor):
    (note,) = said(rates=[{"cloud": "aws", **rate}])
    assert note.startswith(f"own rates far from the list price: {factor}")


def test_a_rate_that_a_contract_may_say_is_not_remarked():
    assert said(rates=[{"cloud": "aws", "instance_type": "g6.xlarge", "usd": 0.31}]) == []


@pytest.mark.parametrize(("key", "entry"), [("commitments", COMMITMENT), ("savings_plans", SAVINGS_PLAN)])
def test_what_has_ended_or_not_begun_counts_nowhere_and_is_said(key, entry):
    assert said(**{key: [entry]}) == []
    (ended,) = said(**{key: [{**entry, "until": "2026-06-30"}]})
    assert ended.startswith("own commitments that have ended and count no more: ")
    assert ended.endswith(" until 2026-06-30")
    (later,) = said(**{key: [{**entry, "from": "2027-01-01"}]})
    assert later.startswith("own commitments that do not count yet: ")
    assert later.endswith(" from 2027-01-01")
    rates = parse_discounts({key: [{**entry, "from": "2027-01-01"}]})
    on_list = price(PLAN, load(), on=ON).cost()
    assert price(PLAN, load(), on=ON, discounts=rates).cost() == on_list
    assert price(PLAN, load(), on=date(2027, 1, 1), discounts=rates).cost() != on_list
    with pytest.raises(ConfigError, match="must be a date from 2028-01-01 on, got '2027-06-30'"):
        parse_discounts({key: [{**entry, "from": "2028-01-01"}]})


def test_a_commitment_that_covers_nothing_or_costs_more_than_on_demand_is_said():
    assert said(commitments=[{**COMMITMENT, "instance_type": "g6.xlrge"}]) == [
        "own commitments that cover nothing here: 1 x g6.xlrge in us-east-1 (365.00 USD a month, billed all the same)"
    ]
    assert said(commitments=[{**COMMITMENT, "usd_per_hour": 5}]) == [
        "own commitments at more than the price on demand: 1 x g6.xlarge in us-east-1, 5 instead of 0.8048"
    ]


def test_two_commitments_to_the_same_machines_count_together():
    rates = parse_discounts({"commitments": [COMMITMENT, {**COMMITMENT, "count": 3, "usd_per_hour": 0.7}]})
    (both,) = rates.standing(ON).values()
    assert (both.count, both.usd_per_hour) == (4, Decimal("0.65"))


def test_a_machine_of_which_a_plan_pays_a_part_is_one_machine():
    from sizewell.preview.diff import _what

    half = parse_discounts({"savings_plans": [{**SAVINGS_PLAN, "usd_per_hour": "0.2"}]})
    lines = price(PLAN, load(), on=ON, discounts=half).items
    machines = [(line, line.cost()) for line in lines if line.unit == "machine-hour"]
    assert len(machines) == 2
    assert _what(machines) == "g6.xlarge, on-demand, us-east-1"


@pytest.mark.parametrize(
    ("lists", "paid"),
    [
        ({}, "587.50"),
        ({"rates": [{"cloud": "aws", "instance_type": "g6.xlarge", "usd": 0.5}]}, "365.00"),
        ({"rates": [{"cloud": "aws", "percent": 10}]}, "528.75"),
        ({"commitments": [COMMITMENT]}, "365.00"),
        ({"savings_plans": [{**SAVINGS_PLAN, "usd_per_hour": 5}]}, "470.00"),
    ],
)
def test_an_export_has_the_list_price_beside_what_is_paid(lists, paid):
    from sizewell.preview.diff import _line

    (line,) = (each for each in price(PLAN, load(), on=ON, discounts=parse_discounts(lists)).items
               if each.unit == "machine-hour")  # fmt: skip
    preview = one(plain(), plain())
    cells = focus._focus(
        ON,
        preview.stacks[0],
        (*preview.stacks[0].rows, *preview.stacks[0].unchanged.rows)[0],
        _line(line, line.cost(), {}),
    )
    assert (cells["ContractedCost"], cells["ListCost"]) == (paid, "587.50")
    assert cells["ListUnitPrice"] == "0.8048"
