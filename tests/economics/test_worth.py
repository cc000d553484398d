"""The line of `size` on a commitment says what `economics` has in its table, and nothing where none would pay."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cache

import pytest

from sizewell.economics.compare import compare
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import Commitment, Discounts, Rate, SavingsPlan
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.worth import worth

from .conftest import ON, option_of


@cache
def decision(name):
    spec, _ = option_of(name)
    return decide([spec], load(), stack="", on=ON)


def said(name, catalog=None, **changes):
    made = decision(name).model_copy(update=changes)
    return worth(catalog or load(), made.workloads[0].pools[0], made)


def test_it_says_from_when_on_a_commitment_pays_and_what_it_saves(work):
    line = said("around-the-clock")
    assert line.startswith("a three-year commitment to its machines pays from 11 hours a day on: 54 % less for them, ")
    comparison = compare(work("around-the-clock"))
    (even,) = [each for each in comparison.break_evens if {each.below, each.above} == {"on-demand", "reserved-3y"}]
    assert f"from {even.hours_per_day:.0f} hours" in line
    rows = {row.way.key: row.usd for row in comparison.rows}
    assert f"{(rows['on-demand'] - rows['reserved-3y']) / 36:,.2f} USD a month" in line


def test_it_says_nothing_where_the_hours_do_not_pay_for_one():
    assert said("notebook") == ""
    assert said("day") == "", "a fleet that follows the day uses 45 % of its peak's hours, and 45.9 % pay"


@pytest.mark.parametrize(("days", "starts"), [(90, ""), (500, "a one-year"), (1200, "a three-year")])
def test_a_stack_that_ends_before_the_term_is_told_of_none(days, starts):
    line = said("around-the-clock", expires_at=ON + timedelta(days=days))
    assert line.startswith(starts)
    assert bool(line) is bool(starts)


def test_what_is_committed_already_or_has_no_price_of_one_is_told_nothing():
    catalog = load()
    held = Commitment(
        cloud="aws", instance_type="g6.xlarge", region="us-east-1", count=1, usd_per_hour=Decimal("0.5"),
        until=date(2029, 5, 31),
    )  # fmt: skip
    plan = SavingsPlan(cloud="aws", usd_per_hour=Decimal(1), percents=(("g6.*", Decimal(20)),), until=date(2029, 5, 31))
    over = Discounts(commitments=(replace(held, until=date(2026, 5, 31)),))
    assert said("around-the-clock", replace(catalog, rates=over)) == said("around-the-clock"), "it has ended"
    for bought in (Discounts(commitments=(held,)), Discounts(savings_plans=(plan,))):
        assert said("around-the-clock", replace(catalog, rates=bought)) == "", "for longer than a term would pay"
    same = Discounts(rates=(Rate(cloud="aws", usd=Decimal("0.8")),))
    assert said("around-the-clock", replace(catalog, rates=same)) == "", "one price for all markets saves nothing"
    for change in ({"market": "spot"}, {"managed": "sagemaker"}, {"cloud": "on-premises"}, {"nodes_initial": 0}):
        made = decision("around-the-clock")
        pool = made.workloads[0].pools[0].model_copy(update=change)
        assert worth(catalog, pool, made) == ""


@pytest.mark.parametrize(
    ("until", "starts"),
    [
        (date(2026, 12, 5), "from 2026-12-06 on, when what is bought for them ends, a three-year"),
        # 0.8048 x (1095 - d) / 1095 > 0.3697: up to 591 days of it may lie idle
        (ON + timedelta(days=590), f"from {ON + timedelta(days=591)} on, "),
        (ON + timedelta(days=593), ""),
        (date.max, ""),
    ],
)
def test_what_is_bought_already_is_taken_off_for_its_term_alone(until, starts):
    held = Commitment(
        cloud="aws", instance_type="g6.xlarge", region="us-east-1", count=1, usd_per_hour=Decimal("0.5"), until=until
    )
    line = said("around-the-clock", replace(load(), rates=Discounts(commitments=(held,))))
    assert line.startswith(starts)
    assert bool(line) is bool(starts)
    if line:
        assert line.endswith(said("around-the-clock").removeprefix("a three-year")), "it saves the same"
