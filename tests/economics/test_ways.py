"""Ways to pay, as laws: they agree with what `size` and the preview state, and with each other."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sizewell.cli.economics_page import drawn_of
from sizewell.cli.economics_text import facts
from sizewell.economics.commitments import Used, shared
from sizewell.economics.compare import compare, curve_of
from sizewell.economics.demand import Demand, demand_of
from sizewell.economics.own import OWN
from sizewell.economics.payments import last_month, paid_by, total_usd
from sizewell.economics.ways import months_of, own_with, ways_of
from sizewell.preview.ownership import BUY, ownership_of
from sizewell.sizing.billing.owning import OF_A_SERVER
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import Commitment, Discounts, Rate, SavingsPlan
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.elsewhere import by_the_token
from sizewell.sizing.choose.pricing import leaving_usd
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec

from .conftest import ON, OTHERS, SPECS, option_of

CENT = Decimal("0.01")
OWN_SERVER = {
    key: OF_A_SERVER[key]._replace(value=Decimal(value))
    for key, value in {"machine_usd": 30_000, "accelerators": 4, "power_w": 2000}.items()
}


def rows_of(made):
    return {row.way.key: row for row in compare(made).rows}


@pytest.mark.parametrize("name", SPECS)
def test_each_way_once_with_a_price_or_a_reason(name, work):
    comparison = compare(work(name))
    keys = [row.way.key for row in comparison.rows]
    assert len(keys) == len(set(keys))
    assert {"on-demand", "spot", "reserved-1y", "reserved-3y", "capacity-block", OWN} <= set(keys)
    for row in comparison.rows:
        assert (row.usd is None) == bool(row.way.reason)
        assert row.usd is None or row.usd > 0


@pytest.mark.parametrize("name", SPECS)
def test_a_cash_flow_adds_up_to_the_total_and_the_total_falls_with_the_hours(name, work):
    for row in compare(work(name)).priced:
        assert sum(row.by_month) == row.usd
        assert len(row.by_month) == last_month(row.way.pay(work(name).demand)) + 1
        assert row.by_month[0] == row.upfront_usd
        assert row.halved_usd <= row.usd
        assert row.halved_usd >= row.usd / 2 - CENT or row.way.key == "api"


def test_what_is_used_is_what_size_states(work):
    for name in SPECS:
        made = work(name)
        expected = made.option.cost.run_rate.usd_per_month.expected
        row = rows_of(made)["on-demand"]
        assert abs(row.usd / 36 - expected) < CENT
        assert abs(made.demand.hours - made.option.hours.expected) < CENT


def test_a_service_costs_per_token_what_size_states(work):
    made = work("day")
    decided = decide([made.spec], made.option.setting.catalog, stack="", on=ON)
    stated = decided.workloads[0].cost.per_million_tokens_usd
    assert made.chosen.deal.market == "on-demand"
    assert float(rows_of(made)["on-demand"].usd_per_million_tokens) == pytest.approx(float(stated), rel=1e-3)


def test_own_hardware_costs_what_the_page_of_a_preview_draws(work):
    made = work("train")
    catalog = made.option.setting.catalog
    decided = decide([made.spec], catalog, stack="", on=ON)
    months = ownership_of(decided, catalog, ON)
    if decided.workloads[0].pools[0].instance_type != made.instance_type:
        pytest.fail("another machine is chosen")
    pool = decided.workloads[0].pools[0]
    share = pool.node_hours_per_month.expected / made.demand.hours  # of spot, with its rework
    own = ownership_of(decided, catalog, ON)[36].usd[BUY]
    assert months
    scaled = replace(made, demand=made.demand.at(made.demand.utilization * share))
    assert abs(rows_of(scaled)[OWN].usd - own) < Decimal("0.05")


def test_the_demand_of_a_service_is_that_of_each_hour(work):
    _, option = option_of("day")
    demand = demand_of(option)
    assert len(demand.steps) > 3, "the fleet follows the day"
    assert demand.machines == option.counts.initial
    hours = [step.hours for step in demand.steps]
    assert hours == sorted(hours, reverse=True)
    assert hours[0] <= 730


def test_a_mix_is_never_dearer_than_what_it_is_made_of(work):
    rows = rows_of(work("day"))
    mixed = rows["commit+on-demand"]
    assert mixed.usd < min(rows[key].usd for key in ("on-demand", "reserved-3y", "reserved-1y"))
    assert 0 < sum(each.machines for each in mixed.way.plan) < work("day").demand.machines


def test_no_mix_where_every_hour_is_used_or_none_is_worth_committing(work):
    assert not any(way.plan for way in ways_of(work("day", utilization=Decimal(1))))
    assert not any(way.plan for way in ways_of(work("notebook")))


def test_terms_one_after_the_other_are_a_row_and_the_plan_of_stacks(work):
    """Three years and one cover four: 36 x 730 x 0.347616 + 12 x 730 x 0.523856, and 52.80 beside them a month."""
    made = work("around-the-clock", months=48)
    by_key = rows_of(made)
    row = by_key["reserved-1y+reserved-3y"]
    assert row.way.name == "commit 1 + 3 years"
    assert row.usd < min(by_key[key].usd for key in ("on-demand", "reserved-1y", "reserved-3y"))
    assert not row.by_month[0]
    assert sum(each.machines * each.term.months for each in row.way.plan) == 48
    (group,) = shared([Used("dev", made)], 48)
    assert group.plan == row.way.plan
    assert abs(by_key["on-demand"].usd - row.usd - (group.on_demand_usd - group.usd)) < 1
    assert row.halved_usd > row.usd / 2, "what is bound stays bound"
    assert drawn_of(compare(made))[-1].way.key == row.way.key, "the page draws it as the cheapest commitment"


@pytest.mark.parametrize("name", SPECS)
def test_between_bends_each_way_is_a_straight_line_and_ends_are_exact(name, work):
    made = work(name)
    for way in ways_of(made):
        if way.pay is None:
            continue
        curve = curve_of(way, made.demand, made.bends)
        for share in (Decimal("0.1"), Decimal("0.37"), Decimal("0.9"), made.demand.utilization):
            payments = way.pay(made.demand.at(share))
            assert abs(curve(share) - paid_by(payments, last_month(payments))) < Decimal("0.5")


@pytest.mark.parametrize("name", SPECS)
def test_the_cheapest_at_a_utilization_is_the_least_of_all(name, work):
    comparison = compare(work(name))
    ranges = sorted((low, high, row.way.key) for row in comparison.rows for low, high in row.wins)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 1
    assert all(one[1] == other[0] for one, other in pairwise(ranges))
    keys = [row.way.key for row in comparison.priced]
    for at, totals in comparison.curves:
        inside = {key for low, high, key in ranges if low < at < high}
        if inside:
            assert totals[keys.index(*inside)] == min(totals)


def test_two_ways_cost_the_same_at_their_break_even(work):
    made = work("day")
    curves = {way.key: curve_of(way, made.demand, made.bends) for way in ways_of(made) if way.pay}
    changes = [each for each in compare(made).break_evens if each.utilization is not None]
    assert changes
    for each in changes:
        below, above = curves[each.below], curves[each.above]
        assert abs(below(each.utilization) - above(each.utilization)) < CENT
        assert each.hours_per_day == 24 * each.utilization


WITH_DATA = ("away", "far", "nightly", "abroad", "weekly")
SHARES = st.decimals(Decimal("0.01"), Decimal(1), places=3)


@settings(max_examples=4, phases=[Phase.generate])
@given(share=SHARES)
@pytest.mark.parametrize("name", [*SPECS, *WITH_DATA])
def test_at_a_break_even_both_cost_the_same_and_beside_it_the_one_that_is_said_less(name, share, work):
    """Whatever is used today: by what is paid at those hours, which no line between two points has drawn."""
    made = work(name, utilization=share, months=13, stated=OWN_SERVER)
    pays = {way.key: way.pay for way in ways_of(made) if way.pay}

    def usd(key, at):
        return total_usd(pays[key](made.demand.at(at)))

    for each in compare(made).break_evens:
        below, above, at = each.below, each.above, each.utilization
        if at is None:
            assert usd(below, share) <= usd(above, share) + CENT
            continue
        assert abs(usd(below, at) - usd(above, at)) < Decimal("0.5")
        for beside, less, more in ((at * Decimal("0.999"), below, above), (at + (1 - at) / 1000, above, below)):
            assert usd(less, beside) <= usd(more, beside) + CENT


@settings(max_examples=4, phases=[Phase.generate])
@given(share=SHARES)
@pytest.mark.parametrize("name", [*SPECS, *WITH_DATA])
def test_a_utilization_that_is_stated_costs_what_the_table_of_today_has_there(name, share, work):
    """All that a run reads comes as often as it runs. A mix alone is another: it is bought for the use of today."""
    today, stated = (work(name, stated=OWN_SERVER, utilization=at) for at in (None, share))
    totals = {row.way.key: row.usd for row in compare(stated).priced}
    for way in ways_of(today):
        if way.pay and not way.plan:
            there = total_usd(way.pay(today.demand.at(share)))
            assert abs(there - totals[way.key]) < 1, way.key


def test_half_as_many_runs_of_a_batch_read_half_as_much_by_the_tiers_of_its_place(work):
    whole, half = work("abroad"), work("abroad", utilization=work("abroad").demand.utilization / 2)
    (all_usd,), (half_usd,) = ([each.item.cost().expected for each in made.data(made.demand)] for made in (whole, half))
    assert float(all_usd) == pytest.approx(leaving_usd(whole.option), abs=0.01)
    assert all_usd / 2 < half_usd < all_usd * Decimal("0.6"), "the first 10 TB of a month cost more"
    assert abs(rows_of(whole)["on-demand"].halved_usd - rows_of(half)["on-demand"].usd) < 1
    assert len(whole.bends) > len(whole.demand.bends), "where a tier begins"


def test_a_commitment_pays_from_its_share_of_the_price_on(work):
    """Of machines alone: 0.5239 over 0.8048 USD an hour is 65.1 %, in which disks and the like are the same."""
    made = work("notebook")
    catalog, place = made.option.setting.catalog, ("aws", made.instance_type, "us-east-1")
    year, hour = (catalog.price(*place, market, ON).amount for market in ("reserved-1y", "on-demand"))
    (change,) = (each for each in compare(made).break_evens if (each.below, each.above) == ("on-demand", "reserved-1y"))
    assert float(change.utilization) == pytest.approx(float(year / hour), abs=1e-4)


def test_a_term_longer_than_the_months_is_paid_to_its_end(work):
    row = rows_of(work("notebook", months=24))["reserved-3y"]
    assert len(row.by_month) == 37
    assert row.by_month[36] > 0
    assert "paid until month 36" in row.way.notes
    assert rows_of(work("notebook", months=36))["reserved-1y"].way.notes == ("bought 3 times, at today's price",)


def test_a_utilization_that_is_stated_moves_hours_runs_and_tokens_alike(work):
    whole, half = work("train", utilization=Decimal(1)), work("train", utilization=Decimal("0.5"))
    assert float(half.runs / whole.runs) == pytest.approx(0.5)
    assert float(half.tokens / whole.tokens) == pytest.approx(0.5)
    assert float(half.demand.utilization) == 0.5


def test_a_block_is_paid_by_the_day_for_each_run(work):
    rows = rows_of(work("train"))
    block, on_demand = rows["capacity-block"], rows["on-demand"]
    assert "paid before each run" in block.way.bound
    days = int(block.way.bound.split(" for ")[1].split()[0])
    run_hours = Decimal(repr(work("train").option.run_s)) / 3600
    assert days * 24 >= run_hours
    assert block.usd_per_run is not None
    assert on_demand.usd_per_run is not None


def test_tokens_of_an_api_are_priced_as_size_prices_them(work):
    made = work("day")
    cheapest = by_the_token(made.spec, made.option.setting.catalog, ON)[0]
    assert abs(rows_of(made)["api"].usd - 36 * cheapest.usd_per_month) < CENT
    doubled = rows_of(replace(made, demand=made.demand.at(2 * made.demand.utilization)))["api"].usd
    assert float(doubled / rows_of(made)["api"].usd) == pytest.approx(2)


def test_a_price_that_nobody_states_is_a_question_and_a_rate_of_ones_own_an_answer(work):
    row = rows_of(work("train"))["reserved-1y"]
    assert row.usd is None
    assert "no price for" in row.way.reason
    own = Rate(market="reserved-1y", usd=Decimal(20))
    assert rows_of(work("train", own))["reserved-1y"].usd is not None


def test_an_accelerator_that_its_maker_rents_out_alone_is_in_no_server_of_ones_own(work):
    row = rows_of(work("tpu"))[OWN]
    assert (row.usd, row.way.reason) == (None, "TPU v5e is rented from Google Cloud alone")


def test_spot_that_the_spec_rules_out_has_no_price_and_what_size_would_not_take_is_no_headline(work):
    made = work("train")
    ruled_out = replace(made, spec=made.spec.model_copy(update={"spot_policy": "on-demand"}))
    row = rows_of(ruled_out)["spot"]
    assert (row.usd, row.way.reason) == (None, "spot_policy: on-demand in the spec rules it out")
    service = compare(work("day"))
    by_key = {row.way.key: row for row in service.rows}
    assert by_key["spot"].usd < by_key["on-demand"].usd
    assert by_key["spot"].way.left_out
    assert service.cheapest.way.key == "api"
    without = replace(service, rows=tuple(row for row in service.rows if row.way.key != "api"))
    assert without.cheapest.way.key == "commit+on-demand"
    assert any(line.startswith("spot would cost ") for line in facts(without))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("day", "`size` never takes it: spot_policy: spot contradicts kind: inference: "),
        ("notebook", "an interruption loses work, and `size` takes it with spot_policy: spot alone"),
        ("bound", "an interruption loses work, and `size` takes it with spot_policy: spot and no capacity alone"),
    ],
)
def test_an_advice_of_spot_is_one_that_size_takes(work, name, said):
    made = work(name)
    kept = rows_of(made)["spot"].way.left_out
    assert kept.startswith(said)
    text = {**SPECS, **OTHERS}[name].partition("capacity")[0] + "spot_policy: spot\n"
    catalog = made.option.setting.catalog
    if "never" in kept:
        with pytest.raises(SpecError):
            parse_spec(text, "spec.yaml", catalog=catalog, folder=Path())
    else:
        parse_spec(text, "spec.yaml", catalog=catalog, folder=Path())


def test_spot_that_a_run_is_too_long_for_is_no_headline(work):
    made = work("train")
    fleet = replace(made.option.fleet, run_s=30 * 86_400.0)
    chosen = replace(made.option, fleet=fleet, run_s=30 * 86_400.0)
    assert rows_of(replace(made, option=chosen, chosen=chosen))["spot"].way.left_out.endswith("spot_policy: spot alone")
    assert not rows_of(made)["spot"].way.left_out


def test_the_age_of_a_price_that_is_too_old_stands_in_its_row(work):
    made = work("notebook")
    by_key = rows_of(made)
    (line,) = by_key["spot"].way.aged
    assert re.fullmatch(
        r"its spot price is from (\S+), \d+ days old \(limit 30\): sizewell prices show g6.xlarge", line
    )
    assert line in by_key["spot"].way.said
    assert by_key["on-demand"].way.aged == ()
    own = work("notebook", Rate(market="spot", usd=Decimal("0.2")))
    assert rows_of(own)["spot"].way.aged == (), "a rate of ones own is as old as one likes"
    best = compare(replace(made, spec=made.spec.model_copy(update={"spot_policy": "spot"})))
    assert best.cheapest.way.key == "spot"
    assert f"spot: {line}" in facts(best)


def test_commitments_of_later_months_are_named_with_the_first(work):
    made = compare(work("day", months=48))
    (row,) = [row for row in made.rows if row.way.key == "commit+on-demand"]
    later = {each.month + 1 for each in row.way.plan if each.month}
    assert later
    assert all(f"from month {month} on" in row.way.bound for month in later)


def test_the_end_of_the_stack_is_said_where_it_comes_before_the_months_do(work):
    made = work("notebook")
    ending = replace(made, spec=made.spec.model_copy(update={"ttl_s": 90 * 86_400.0}))
    assert months_of(ending.spec, 36) == 3
    assert months_of(ending.spec, 2) == 2
    said = facts(compare(replace(ending, months=3)))
    assert any("counted until the stack of this spec ends, 90 days after it is built" in line for line in said)
    assert not any("it is built" in line for line in facts(compare(made)))


def test_a_run_on_spot_has_a_spread_and_a_chance_to_miss_its_deadline(work):
    spot = rows_of(work("train"))["spot"].way
    assert spot.spread.hours_in_half < spot.spread.hours_in_95_percent
    assert spot.spread.chance_to_miss is None
    late = rows_of(work("late"))["spot"].way
    assert late.spread.deadline_hours == 4
    assert 0 < late.spread.chance_to_miss < 0.05, "`size` leaves room for one interruption more"
    assert any("take longer than the 4.0 h to the deadline" in note for note in late.notes)
    assert rows_of(work("day"))["spot"].way.spread is None, "a service has no end"


@pytest.mark.parametrize("name", ["train", "late", "away", "nightly", "abroad"])
def test_the_longest_of_the_usual_runs_on_spot_costs_more_than_a_run_in_the_table(name, work):
    row = rows_of(work(name))["spot"]
    if name in ("train", "late", "away"):
        assert row.way.spread is not None
    if row.way.spread is not None:
        assert row.way.spread.usd_in_95_percent > row.usd_per_run


def test_data_that_lie_elsewhere_cost_each_run_that_reads_them_and_one_copy_to_machines_of_ones_own(work):
    plain, here, away = (work(name) for name in ("train", "here", "away"))
    assert plain.data(plain.demand) == here.data(here.demand) == ()
    (paid,) = away.data(away.demand)
    each = leaving_usd(away.option)
    assert each > 0
    assert abs(float(paid.item.cost().expected) - each * float(away.runs)) < 0.01
    total = 36 * paid.item.cost().expected
    rows, without = rows_of(away), rows_of(here)
    for key, row in rows.items():
        if row.usd is not None and key not in (
            "own hardware",
            "another-cloud",
            "spot",
        ):  # spot may move to another zone
            assert abs(row.usd - without[key].usd - total) < 1, key
    (note,) = [each for each in rows_of(here)["own hardware"].way.notes if each.startswith("data leaving ")]
    assert note == f"data leaving aws us-east-1: {leaving_usd(here.option, owned=True):,.2f} USD once, for a copy"
    copied_usd = rows_of(here)["own hardware"].usd - rows_of(plain)["own hardware"].usd
    assert float(copied_usd) == pytest.approx(leaving_usd(here.option, owned=True), abs=0.01)
    assert any(line.startswith("data leaving aws eu-west-1: ") for line in facts(compare(away)))
    (copied,) = here.data(here.demand, owned=True)
    assert (copied.first, copied.last, copied.item.cadence) == (0, 0, "once"), "from a cloud to one's own, once"
    assert float(copied.item.cost().expected) == pytest.approx(leaving_usd(here.option, owned=True), abs=0.01)


@pytest.mark.parametrize(
    ("data", "rented", "own"),
    [
        ("location: s3://b, region: us-west-2", "data.size is not stated: what data leaving aws us-west-2 cost is in no figure",
         "data.size is not stated: what data leaving aws us-west-2 cost is in no figure"),
        ("location: gs://b", "data.size is not stated: what data leaving gcp cost is in no figure",
         "data.size is not stated: what data leaving gcp cost is in no figure"),
        ("location: s3://b, size: 2TB", "data.region is not stated: data are counted as if they were in us-east-1", ""),
        ("region: us-west-2, size: 2TB", "data.location is not stated: what data cost on their way from us-west-2 is in", ""),
        ("location: s3://b, region: us-west-2, size: 2TB", "", ""),
        ("location: s3://b, region: us-east-1, size: 2TB", "", ""),
        ("location: s3://b, region: us-east-1", "", "data.size is not stated: what data leaving aws us-east-1 cost is in no figure"),
        ("location: hf://b, size: 2TB", "", ""),
    ],
)  # fmt: skip
def test_data_of_which_something_is_not_known_are_said_to_be_in_no_figure(data, rented, own, work):
    made = work(f"{SPECS['train']}data: {{{data}}}\n", stated=OWN_SERVER)
    said = made.unknown[0] if made.unknown else ""
    assert (said.startswith(rented), bool(said)) == (True, bool(rented))
    assert bool(said) == any(line in made.unknown for line in facts(compare(made)))
    notes = [note for note in own_with(made, made.figures).notes if note.endswith("in no figure")]
    assert notes == ([own] if own else [])


def test_how_often_a_notebook_reads_its_data_is_said_to_be_unknown(work):
    made = work(SPECS["notebook"] + "data: {location: s3://b, region: us-west-2, size: 2TB}\n")
    (said,) = made.unknown
    assert (
        said == "how often a notebook reads its data is not known: what data leaving aws us-west-2 cost is in no figure"
    )


def test_own_commitments_in_force_for_the_machines_are_named(work):
    made = work("day")
    assert made.place.own_commitments == ()
    option = made.option
    kind, region = made.instance_type, option.deal.region
    bought = Commitment(
        cloud="aws", instance_type=kind, region=region, count=2, usd_per_hour=Decimal("2.5"), until=date(2027, 6, 30)
    )
    elsewhere = replace(bought, region="eu-west-1")
    over = replace(bought, until=date(2026, 6, 30))
    plan = SavingsPlan(cloud="aws", usd_per_hour=Decimal(3), percents=(("*", Decimal(27)),), until=date(2027, 1, 31))
    rates = Discounts(commitments=(bought, elsewhere, over), savings_plans=(plan,))
    setting = replace(option.setting, catalog=replace(option.setting.catalog, rates=rates))
    assert replace(made, option=replace(option, setting=setting)).place.own_commitments == (
        f"2 x {kind} in {region} at 2.5 USD an hour until 2027-06-30",
        "a savings plan of 3 USD an hour until 2027-01-31",
    )


def test_machines_of_ones_own_cost_their_rate_in_every_hour_and_are_not_bought_again(work):
    rate = Rate(cloud="on-premises", instance_type="hgx-h100-8x", usd=Decimal("19.40"))
    made = work("own", rate)
    assert made.is_own
    assert compare(work("own")).priced == (), "without a rate no way has a price"
    rows = rows_of(made)
    (mine,) = [row for row in rows.values() if row.usd is not None]
    assert (mine.way.name, mine.usd) == ("your machines", made.demand.machines * 730 * 36 * rate.usd)
    assert mine.halved_usd == mine.usd, "used half as much, they cost the same"
    assert rows["own hardware"].way.reason == "the machines are yours already"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("open", "assumed: used 40 hours a week (neither schedule nor utilization is stated); --utilization states it"),
        ("reserved", "cr-0123456789abcdef0 (capacity.reservation) is billed in every hour, used or not"),
        ("bound", "the spec takes a commitment (capacity.savings_plan)"),
    ],
)
def test_what_every_total_hangs_on_and_the_spec_leaves_open_or_binds_is_said(work, name, said):
    assert any(said in line for line in facts(compare(work(name))))
    assert not work("notebook").assumed
    assert not work("open", utilization=Decimal("0.5")).assumed


def test_an_own_rate_that_looks_wrong_is_said_beside_the_table(work):
    rate = Rate(cloud="aws", instance_type="g6.xlarge", market="reserved-1y", usd=Decimal("0.05239"))
    said = [line for line in facts(compare(work("notebook", rate))) if line.startswith("own rates far from")]
    assert said == ["own rates far from the list price: aws g6.xlarge reserved-1y, 0.05239 USD (1/10 of 0.5239)"]


def test_a_market_that_does_not_sell_the_machine_has_no_price_by_a_rate_of_everything(work):
    """A rate that names no market is a price of the machines, not an offer of spot or of blocks."""
    made = work("notebook", Rate(cloud="aws", usd=Decimal(1)))
    row = rows_of(replace(made))["capacity-block"]
    assert row.usd is None
    assert "is not sold that way" in row.way.reason


def test_what_moves_the_break_even_of_own_hardware(work):
    comparison = compare(work("train"))
    effects = {each.name: each for each in comparison.effects}
    at = comparison.owning_from
    assert at is not None
    assert effects["machine_usd"].less < at < effects["machine_usd"].more, "a server that costs more pays later"
    assert effects["on demand"].less > at > effects["on demand"].more, "and so where renting costs less"
    assert effects["resale_percent"].less > at > effects["resale_percent"].more
    assert "lead_time_weeks" not in effects, "what is in no figure moves none"


def test_demand_of_no_hours_costs_what_stands(work):
    made = work("notebook")
    nothing = Demand(tuple(step._replace(hours=Decimal(0)) for step in made.demand.steps))
    on_demand = next(way for way in ways_of(made) if way.key == "on-demand")
    assert not any(each.item.quantity.expected for each in on_demand.pay(nothing) if made.runs_it(each.item))


def test_a_batch_runs_as_often_as_its_schedule_opens(work):
    option = work("weeknights").option
    runs = float(option.hours.expected) / (option.fleet.nodes * option.run_s / 3600)
    assert runs == pytest.approx(730 / 168 * 5, rel=1e-3)


def test_own_servers_hold_while_one_is_gone_where_machines_do(work):
    redundant = work("redundant")
    way = own_with(redundant, {**redundant.figures, **OWN_SERVER})
    needed = (redundant.demand.machines - 1) * redundant.option.candidate.shape.accelerators
    assert way.bound.startswith(f"{-(-needed // 4) + 1} servers")
    assert any("traffic.redundancy" in note for note in way.notes)


def test_an_api_costs_the_same_for_each_token_however_much_it_is_used(work):
    rows = [rows_of(work(name)) for name in ("used", "day")]
    paid = {
        round(row["api"].usd / made.tokens, 12) for row, made in zip(rows, (work("used"), work("day")), strict=True)
    }
    assert len(paid) == 1


def test_a_service_that_sells_no_spot_has_no_such_way(work):
    assert rows_of(work("studio"))["spot"].way.reason == "SageMaker does not sell it"


@pytest.mark.parametrize(("days", "best"), [(213, "on-demand"), (214, "on-demand"), (366, "commit+on-demand")])
def test_what_ends_is_counted_to_the_day(work, days, best):
    """214 days are 5,136 h at 0.8048 USD, and 0.5239 x 8,760 h of a year cost more; counted as 8 months they did not."""
    made = work("around-the-clock")
    spec = made.spec.model_copy(update={"ttl_s": days * 86_400.0, "spot_policy": "on-demand"})
    comparison = compare(replace(made, spec=spec, months=months_of(spec, 36)))
    rows = {each.way.key: each for each in comparison.rows}
    machines = sum(
        each.item.quantity.expected * each.item.price.amount * (each.last - each.first + 1)
        for each in rows["on-demand"].way.pay(made.demand)
        if made.runs_it(each.item)
    )
    assert abs(machines - days * 24 * Decimal("0.8048") * made.demand.utilization) < Decimal("0.01")
    assert comparison.cheapest.way.key == best
    if best.startswith("commit"):
        (bought,) = comparison.cheapest.way.plan
        assert (bought.month, bought.term.months) == (0, 12)
        more = rows["on-demand"].usd - comparison.cheapest.usd
        hours = made.demand.utilization * Decimal(24)
        saved = Decimal("0.8048") * hours * 365 - Decimal("0.5239") * 8760
        assert abs(more - saved) < 1, "the day above the year is by the hour"


@pytest.mark.parametrize(("tokens", "fits"), [("500M", True), ("60B", False)])
def test_flex_start_is_no_way_for_a_run_that_outlives_its_machines(work, tokens, fits):
    spec = SPECS["train"].replace("aws/us-east-1", "gcp/us-central1").replace("500M", tokens)
    made = work(spec.replace("{accelerators: [H100]}", "{instance_type: a3-highgpu-8g, nodes: 1}"))
    row = rows_of(made)["flex-start"]
    assert (made.option.run_s <= 7 * 86_400) is fits
    assert (row.usd is not None) is fits
    if not fits:
        assert "its machines are taken away after seven" in row.way.reason


def test_flex_start_is_asked_for_at_most_seven_days():
    spec = SPECS["train"].replace("aws/us-east-1", "gcp/us-central1") + "capacity: {flex_start: {max_run: 20d}}\n"
    with pytest.raises(SpecError, match=r"capacity.flex_start.max_run: must be at most seven days.*got 20d"):
        parse_spec(spec, "spec.yaml", catalog=load(), folder=Path())
    parse_spec(spec.replace("20d", "7d"), "spec.yaml", catalog=load(), folder=Path())


def test_own_hardware_without_storage_for_its_data_is_no_headline(work):
    """A file system of the cloud is in each of its ways, and servers of one's own have none for the same data."""
    made = work(SPECS["train"] + "data: {location: s3://corpus/text, region: us-east-1, size: 200TB}\n")
    assert made.option.storage is not None
    own = rows_of(made)["own hardware"]
    assert own.way.left_out.endswith("GiB in a cloud, is in no figure")
    assert own.way.left_out in own.way.notes
    assert compare(made).cheapest.way.key != "own hardware"
    assert rows_of(work("train"))["own hardware"].way.left_out == ""
