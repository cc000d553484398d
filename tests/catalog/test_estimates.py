"""Where a type is sold and nobody has its price: an estimate for choosing, and a "?" on every bill."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.cli import answers
from sizewell.sizing import catalog
from sizewell.sizing.catalog.estimates import estimate
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.money import Unpriced
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

ON = date(2026, 11, 20)
USD = st.decimals("0.01", "100", places=3)
PRICES = st.dictionaries(st.sampled_from("abcdefgh"), USD, min_size=1, max_size=6)

LAB = """
name: lab
kind: notebook
resources: {gpu: 24GB.., nodes: 1}
infra: aws/eu-west-1
schedule: {on: "Mon-Fri 08:00-18:00 Europe/London"}
"""


@pytest.fixture(scope="module")
def facts():
    return catalog.load()


def test_the_regions_ratio_is_taken_from_the_types_that_both_price():
    listed = {"gpu": {"home": Decimal(10)}} | {
        f"cpu{n}": {"home": Decimal(1), "away": Decimal("1.2")} for n in range(3)
    }
    guess = estimate("gpu", "away", listed)
    assert (guess.usd_per_hour, guess.grade, guess.witnesses, guess.types) == (Decimal(12), "low", ("home",), 3)
    lone = estimate("gpu", "away", {"gpu": {"home": Decimal(10)}})
    assert (lone.usd_per_hour, lone.grade) == (Decimal(10), "estimate")
    assert estimate("gpu", "away", {"cpu": {"away": Decimal(1)}}) is None


@given(PRICES, PRICES, PRICES)
def test_an_estimate_lies_within_its_spread_and_never_uses_the_regions_own_price(gpu, cpu, other):
    listed = {"gpu": gpu, "cpu": cpu, "other": other}
    guess = estimate("gpu", "a", listed)
    if guess is None:
        assert set(gpu) <= {"a"}
        return
    assert guess.low <= guess.usd_per_hour <= guess.high
    assert estimate("gpu", "a", listed | {"gpu": gpu | {"a": Decimal(99)}}) == guess


@given(PRICES, PRICES, USD, st.sampled_from("bcdefgh"))
def test_a_lower_price_in_a_sister_region_never_raises_the_estimate(gpu, cpu, usd, sister):
    before = estimate("gpu", "a", {"gpu": gpu | {sister: usd}, "cpu": cpu})
    after = estimate("gpu", "a", {"gpu": gpu | {sister: usd / 2}, "cpu": cpu})
    assert after.usd_per_hour <= before.usd_per_hour


def test_known_prices_are_estimated_within_a_fifth_where_the_region_has_other_prices(facts):
    """Each on-demand price of a GPU type, hidden, against what the other regions and types say; the median error."""
    errors: list[float] = []
    for cloud in ("aws", "gcp", "azure"):
        listed = facts._listed_by_type(cloud, ON)
        for name, prices in listed.items():
            for region, usd in prices.items():
                guess = estimate(name, region, listed) if "gov" not in region else None
                if guess is not None and guess.grade == "low":
                    errors.append(abs(float(guess.usd_per_hour / usd) - 1))
    errors.sort()
    assert len(errors) > 500
    assert errors[len(errors) // 2] < 0.05
    assert errors[int(len(errors) * 0.9)] < 0.25


def test_a_type_that_is_sold_without_a_price_is_chosen_and_its_line_stays_open(unlisted):
    decision = decide([parse_spec(LAB)], unlisted, stack="", on=ON)
    assert isinstance(decision, Decision)
    workload = decision.workloads[0]
    assert workload.pools[0].instance_type == "g5.xlarge"
    assert workload.line_items[0].usd_per_unit is None
    assert "about 1.1213 USD an hour by us-east-1 alone" in workload.cost.unpriced[0]
    assert any("chosen by an estimate" in said for said in workload.assumptions)
    assert answers.exit_code([decision]) == 3


@pytest.mark.parametrize("region", ["eu-south-1", "eu-west-3", "sa-east-1"])
def test_a_region_where_no_machine_has_a_price_may_be_asked_for(unlisted, region):
    """Milan, Paris and São Paulo: AWS's recorded offerings name machines there, and no row has a price."""
    assert not any(offer.region == region and unlisted.shapes_by_type["aws", offer.instance_type].accelerators
                   for offer in unlisted.all_offers if offer.cloud == "aws")  # fmt: skip
    gpu = LAB.replace("aws/eu-west-1", f"aws/{region}").replace("24GB", "16GB")
    decision = decide([parse_spec(gpu)], unlisted, stack="", on=ON)
    assert isinstance(decision, Decision)
    workload = decision.workloads[0]
    assert workload.pools[0].instance_type.startswith("g4dn")
    assert workload.line_items[0].usd_per_unit is None
    assert any("about" in said and "sister regions" in said for said in workload.cost.unpriced)


def test_without_the_row_that_it_is_sold_there_is_no_estimate(unlisted):
    unsold = replace(unlisted, sold={})
    assert not isinstance(decide([parse_spec(LAB)], unsold, stack="", on=ON), Decision)
    price = unsold.price("aws", "g5.2xlarge", "eu-west-1", "on-demand", ON)
    assert isinstance(price, Unpriced)
    assert "about" not in price.reason


def test_a_budget_that_the_estimate_would_break_is_not_kept_by_leaving_the_machine_out(unlisted):
    spec = parse_spec(LAB.replace("nodes: 1}", "nodes: 1}\nobjective: time\nbudget: {monthly: 100 USD}"))
    decision = decide([spec], unlisted, stack="", on=ON)
    assert isinstance(decision, Decision)
    assert decision.workloads[0].cost.run_rate is None
    assert decision.workloads[0].bill().run_rate.usd_per_month.expected < 100  # without the machine
    from sizewell.sizing.choose.choice import within_budget
    from sizewell.sizing.choose.decide import size_one

    best = size_one(spec, unlisted, stack="", on=ON).best()
    assert best is not None
    assert best.deal.estimate
    assert best.total_usd > 100
    assert not within_budget(best, best.setting.need)
