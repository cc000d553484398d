"""What to commit to over stacks: machines share a commitment in the hours of which it is known when they run."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.economics.baseline import cost_usd
from sizewell.economics.commitments import SLOTS, Used, clock_of, in_utc, joint, shared
from sizewell.economics.demand import Demand, Step
from sizewell.sizing.catalog.rates import Commitment, Discounts

from .conftest import ON, SPECS

HOURS = Decimal(730)


def uses(work, *names, months=36):
    return [Used(f"stack-{number}", work(name, months=months)) for number, name in enumerate(names)]


def test_two_that_never_run_at_once_share_one_commitment(work):
    (alone,) = shared(uses(work, "by-day"), 12)
    assert not alone.plan, "half of all hours pay for no commitment of a year"
    (both,) = shared(uses(work, "by-day", "by-night"), 12)
    assert [(step.machines, round(step.hours)) for step in both.demand.steps] == [(1, 728)]
    assert [(each.term.market, each.machines) for each in both.plan] == [("reserved-1y", 1)]
    assert both.coverage == 1
    assert both.utilization > Decimal("0.99"), "52 weeks are 364 days"
    assert both.usd < both.on_demand_usd == 2 * alone.on_demand_usd
    (twice,) = shared(uses(work, "by-day", "by-day"), 12)
    assert [(step.machines, round(step.hours)) for step in twice.demand.steps] == [(2, 364)]
    assert not twice.plan, "two that run at once share nothing"


def test_a_schedule_is_by_the_clock_of_its_zone(work):
    """Twelve hours from 06:00 in Tokyo are those from 21:00 in UTC: no hour of them is one by day there."""
    (both,) = shared(uses(work, "by-day", "tokyo"), 12)
    assert [round(step.hours) for step in both.demand.steps] == [637, 91], "3 of 24 hours are run twice"


def test_hours_of_which_nobody_knows_when_they_are_share_nothing(work):
    spread = work("by-day", utilization=Decimal("0.3"))
    assert clock_of(spread) is None
    together = joint([spread, work("by-night")])
    assert [round(step.hours) for step in together.steps] == [364, 219]


def test_a_batch_that_is_due_each_time_its_schedule_opens_runs_from_then_on(work):
    made = work("nights")
    clock = clock_of(made)
    assert clock is not None
    by_hour = [max(clock[hour * SLOTS : (hour + 1) * SLOTS]) for hour in range(24)]
    assert by_hour[6:20] == [0] * 14, "it never runs by day"
    assert by_hour[20] == made.demand.machines
    assert by_hour[5] == 0, "it is done before its schedule ends"
    assert abs(Decimal(sum(clock)) / (168 * SLOTS) - made.demand.utilization * made.demand.machines) < Decimal("0.05")
    (both,) = shared(uses(work, "by-day", "nights"), 36)
    assert both.demand.steps[0].hours > made.demand.steps[0].hours + HOURS / 2 - 10, "by day and by night"
    assert both.plan
    assert clock_of(replace(made, spec=work("nightly").spec)) is None, "without a schedule nobody knows when"
    weekly = replace(made.option.setting.need.batch, every_s=7 * 86_400.0)
    setting = replace(made.option.setting, need=replace(made.option.setting.need, batch=weekly))
    assert clock_of(replace(made, option=replace(made.option, setting=setting))) is None, "in which of seven nights?"


def test_a_fleet_that_follows_the_day_keeps_its_hours_and_its_machines(work):
    made = work("day")
    clock = clock_of(made)
    assert clock is not None
    assert max(clock) == made.demand.machines
    both = joint([made, made])
    assert abs(both.hours / (2 * made.demand.hours) - 1) < Decimal("0.002"), "five minutes are no finer"
    assert both.machines == 2 * made.demand.machines


def test_figures_are_those_of_the_purchases(work):
    (row,) = shared(uses(work, "day", "day"), 36)
    made = work("day")
    rate = made.line("on-demand", HOURS).price.amount
    months = [row.demand] * 36
    assert row.plan
    assert row.usd == cost_usd(months, row.plan, rate) < row.on_demand_usd
    halves = [row.demand.at(row.demand.utilization / 2)] * 36
    assert row.halved_usd == cost_usd(halves, row.plan, rate)
    machines = sum(each.machines for each in row.plan)
    covered = row.demand.hours - row.demand.hours_beyond(machines)
    assert abs(row.coverage - covered / row.demand.hours) < Decimal("1e-9")
    assert abs(row.utilization - covered / (machines * HOURS)) < Decimal("1e-9")
    assert {each.term.market for each in row.plan} <= {term.market for term in made.place.terms}


def owning(work, *bought, name="around-the-clock", months=36):
    made = work(name, months=months)
    setting = made.option.setting
    catalog = replace(setting.catalog, rates=Discounts(commitments=bought))
    option = replace(made.option, setting=replace(setting, catalog=catalog))
    return replace(made, option=option, chosen=option)


def committed(count=1, **dates):
    return Commitment(
        cloud="aws", instance_type="g6.xlarge", region="us-east-1", count=count, usd_per_hour=Decimal("0.5"), **dates
    )


def test_what_is_committed_already_is_bought_no_second_time(work):
    (row,) = shared([Used("dev", owning(work, committed(until=date(2027, 5, 31))))], 36)
    assert row.owned == 1
    assert {each.month for each in row.plan} == {6}, "from the month in which the old one is over"
    (before,) = shared([Used("dev", work("around-the-clock"))], 36)
    assert abs(row.on_demand_usd - before.on_demand_usd * 30 / 36) < 1


def test_what_is_committed_from_a_later_day_on_is_bought_no_second_time(work):
    made = owning(work, committed(since=date(2027, 3, 1), until=date(2030, 1, 1)))
    (row,) = shared([Used("dev", made)], 36)
    assert (row.owned, row.plan) == (1, ()), "three months by the hour, then it is there"
    (before,) = shared([Used("dev", work("around-the-clock"))], 36)
    assert abs(row.on_demand_usd - before.on_demand_usd * 3 / 36) < 1
    assert made.place.own_commitments == (
        "1 x g6.xlarge in us-east-1 at 0.5 USD an hour from 2027-03-01 until 2030-01-01",
    )
    late = owning(work, committed(since=date(2027, 3, 1), until=date(2030, 1, 1)), months=3)
    assert late.place.own_commitments == (), "it begins after the months that are counted"


def test_each_of_two_commitments_ends_on_its_own_day(work):
    made = owning(work, committed(until=date(2027, 5, 31)), committed(until=date(2030, 1, 1)))
    (row,) = shared([Used("dev", made)], 36)
    assert (row.owned, row.plan, row.on_demand_usd) == (2, (), 0)


def test_what_ends_is_counted_until_then(work):
    """Two machines, one of them for 16 of 36 months: a year is committed for it, and four months are by the hour."""
    always, ending = work("around-the-clock"), work("around-the-clock", months=16)
    (row,) = shared([Used("dev", always), Used("dev", ending)], 36)
    assert [(step.machines, step.hours) for step in row.demand.steps] in ([(1, HOURS), (1, HOURS)], [(2, HOURS)])
    assert sorted((each.term.market, each.machines) for each in row.plan) == [("reserved-1y", 1), ("reserved-3y", 1)]
    price = {term.market: term.usd_per_month for term in always.place.terms}
    hour = always.line("on-demand", HOURS).price.amount
    assert row.usd == 36 * price["reserved-3y"] + 12 * price["reserved-1y"] + 4 * HOURS * hour
    assert row.on_demand_usd == 52 * HOURS * hour
    (short,) = shared([Used("dev", work("around-the-clock", months=1))], 36)
    assert (short.plan, short.on_demand_usd) == ((), HOURS * hour)


def test_what_is_over_is_named_and_counted_no_more(work):
    made = owning(work, committed(since=date(2025, 1, 1), until=date(2026, 10, 31)))
    (row,) = shared([Used("dev", made)], 36)
    assert row.owned == 0
    assert row.plan
    assert made.place.ended == ("the commitment to 1 x g6.xlarge in us-east-1 until 2026-10-31",)


def test_what_a_spec_commits_to_itself_is_bought_no_second_time(work):
    """Its machine for three years, then by the hour: 12 of 48 months, which pay for a year."""
    made = work("bound", months=48)
    made = replace(made, demand=work("around-the-clock").demand)
    (row,) = shared([Used("dev", made)], 36)
    assert (row.owned, row.plan, row.on_demand_usd) == (1, (), 0)
    (row,) = shared([Used("dev", made)], 48)
    assert [(each.month, each.term.market, each.machines) for each in row.plan] == [(36, "reserved-1y", 1)]
    (both,) = shared([Used("dev", made), Used("dev", work("around-the-clock"))], 36)
    assert [(each.term.market, each.machines) for each in both.plan] == [("reserved-3y", 1)]
    (idle,) = shared([Used("dev", work("bound", months=36)), Used("dev", work("by-night"))], 36)
    (alone,) = shared([Used("dev", work("by-night"))], 36)
    assert idle.on_demand_usd < alone.on_demand_usd, "what it leaves idle covers others by the hour"


@pytest.mark.parametrize("market", ["spot", "capacity-block", "flex-start"])
def test_what_is_paid_otherwise_than_by_the_hour_on_demand_is_in_no_profile(work, market):
    made = work("around-the-clock")
    made = replace(made, chosen=replace(made.chosen, deal=replace(made.chosen.deal, market=market)))
    assert shared([Used("dev", made)], 36) == ()


def test_machines_that_a_service_rents_out_are_in_no_profile(work):
    managed = work("by-day")
    managed = replace(managed, option=replace(managed.option, managed="sagemaker"))
    assert shared([Used("dev", managed)], 12) == ()


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 730)), max_size=5), st.integers(0, 20))
def test_what_machines_leave_over_is_the_rest_of_the_hours(steps, machines):
    steps = sorted(steps, key=lambda step: -step[1])
    demand = Demand(tuple(Step(count, Decimal(hours)) for count, hours in steps))
    each = [hours for count, hours in steps for _ in range(count)]
    assert demand.beyond(machines).hours == demand.hours_beyond(machines) == sum(each[machines:])
    assert demand.beyond(machines).machines == max(0, demand.machines - machines)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York", "Asia/Kathmandu"])
def test_a_week_in_utc_has_the_same_hours(zone):
    week = list(range(168 * SLOTS))
    assert sorted(in_utc(week, zone, ON)) == week


def test_every_spec_of_the_tests_has_a_profile(work):
    for name in SPECS:
        assert joint([work(name)]) == work(name).demand


@pytest.mark.parametrize(("days", "bought"), [(214, []), (366, [(0, 12)]), (400, [(0, 12)])])
def test_a_stack_that_ends_is_counted_to_the_day(work, days, bought):
    """Counted in whole months, 214 days were eight, in which a year pays; and a year began where it outlived the stack."""
    months = -(-days * 24 // 730)
    made = work("around-the-clock", months=months)
    ending = replace(made, spec=made.spec.model_copy(update={"ttl_s": days * 86_400.0}))
    (row,) = shared([Used("prod", ending)], 36)
    assert [(each.month, each.term.months) for each in row.plan] == bought
    hours = row.demand.hours * Decimal(days * 24) / 730
    assert abs(row.on_demand_usd - hours * row.place.usd_per_hour("on-demand")) < Decimal("0.01")
