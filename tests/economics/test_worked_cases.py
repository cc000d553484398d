"""Cases that were published, with their inputs: what follows from them, by hand in each test.

(a) and (b): one A100 at 4 USD an hour, 18 hours a day and 7 days a week, over three years, against a server of eight of
them for 150,000 USD with 2,000 USD of power and cooling for each GPU and year.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import pytest

from sizewell.economics.baseline import Purchase, Term
from sizewell.economics.compare import compare, crossings, curve_of
from sizewell.economics.demand import Demand, Step
from sizewell.economics.own import owned
from sizewell.economics.payments import cash_flow, monthly, total_usd
from sizewell.economics.ways import Way, in_market, ways_of, with_plan, work_of
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.owning import USUAL, Figure
from sizewell.sizing.catalog.rates import Discounts, Rate
from sizewell.sizing.money import Interval, LineItem, Priced
from sizewell.sizing.predict import spot

from .conftest import ON, option_of

MONTHS = 36
HOURS = Decimal(730)  # of a month: 36 of them are 3 x 8,760
SERVER = {
    **USUAL,
    "machine_usd": Figure(Decimal(150_000), "USD/server", "machine", "as published"),
    "accelerators": Figure(Decimal(8), "", "accelerators", "as published"),
    "power_w": Figure(Decimal(0), "W/server", "power", "in the running costs"),
    "running_usd_per_server_year": Figure(Decimal(16_000), "USD", "power and cooling", "2,000 for each of 8 GPUs"),
    **{key: USUAL[key]._replace(value=Decimal(0)) for key in ("staff_usd_per_server_month", "resale_percent")},
}
FULL = Demand((Step(8, HOURS),))
BENDS = (Decimal(0), Decimal(1))


def rented(usd_per_hour: str):
    """GPUs by the hour."""

    def pay(demand: Demand):
        price = Priced(Decimal(usd_per_hour), "as published", "")
        quantity = Interval.exactly(demand.hours)
        item = LineItem(component="a100", what="A100", unit="machine-hour", quantity=quantity, price=price)
        return monthly([item], MONTHS)

    return curve_of(Way(key="on-demand", name="on demand", pay=pay), FULL, FULL.bends)


def server(demand: Demand):
    return owned("a100", SERVER, 1, MONTHS, demand)


OWNING = curve_of(Way(key="own hardware", name="own", pay=server), FULL, FULL.bends)
EIGHTEEN_HOURS = Decimal(18) / 24


def test_a_one_gpu_rented_for_three_years():
    """18 h x 365 days x 3 years = 19,710 h; at 4 USD 78,840 for a GPU, 630,720 for eight."""
    assert rented("4")(EIGHTEEN_HOURS) == 8 * Decimal("78840.00")


def test_a_the_server_over_three_years():
    """150,000 + 8 x 2,000 x 3 = 198,000, which is 24,750 for a GPU; the first year is 150,000 + 16,000."""
    months = cash_flow(server(FULL.at(EIGHTEEN_HOURS)), MONTHS)
    assert sum(months) == Decimal("198000.00")
    assert months[0] == Decimal(150_000)
    assert sum(months[:13]) == Decimal("166000.00")
    assert sum(months[:25]) == Decimal("182000.00")
    assert OWNING(EIGHTEEN_HOURS) / 8 == Decimal("24750.00")


def test_a_an_hour_of_each_and_when_the_server_is_paid_back():
    """198,000 / (8 x 19,710 h) = 1.2557 USD an hour of use against 4; rent passes it in the tenth month.

    Rent is 630,720 / 36 = 17,520 a month. The server's 150,000 + 1,333.33 a month are less from
    150,000 / (17,520 - 1,333.33) = 9.27 months on.
    """
    assert float(OWNING(EIGHTEEN_HOURS) / (8 * 19_710)) == pytest.approx(1.25571, abs=1e-5)
    months = cash_flow(server(FULL), MONTHS)
    rent = Decimal(17_520)
    passed = next(month for month in range(1, MONTHS) if month * rent > sum(months[: month + 1]))
    assert passed == 10


@pytest.mark.parametrize(("usd_per_hour", "share"), [("4", 0.235445), ("2.5", 0.376712), ("1.5", 0.627854)])
def test_b_break_even_utilization(usd_per_hour, share):
    """The server costs 24,750 / 26,280 h = 0.941781 USD for each hour of a GPU, used or not: over the rent."""
    (point,) = crossings(rented(usd_per_hour), OWNING, BENDS)
    assert float(point) == pytest.approx(24_750 / 26_280 / float(usd_per_hour), rel=1e-6)
    assert float(point) == pytest.approx(share, abs=1e-6)
    assert float(24 * point) == pytest.approx(24 * share, abs=1e-4)  # 5.7, 9.0 and 15.1 hours a day


def test_b_a_rent_below_what_the_server_costs_has_no_break_even():
    assert list(crossings(rented("0.90"), OWNING, BENDS)) == []


# (c) What is committed and what runs on spot, as shares of the price on demand: a commitment at 65 or 75 %, spot at 40 %
# with 5 % of rework on top. Saving by hand: 1 - (committed x 730 x rate + hours above x 0.42) / hours on demand.
PROFILES = {
    # 10 around the clock and 4 more for 6 hours a day: 7,300 + 730 h; 7,300 x 0.75 + 730 x 0.42 = 5,781.6 of 8,030.
    "nights and a short peak": ((10, 24), (4, 6), "0.75", 0.28),
    # 6 around the clock and 2 for 8 hours: 4,380 + 486.7 h; 4,380 x 0.75 + 486.7 x 0.42 = 3,489.4 of 4,866.7.
    "a service with office hours": ((6, 24), (2, 8), "0.75", 0.283),
    # 8 around the clock and 6 for 3 hours: 5,840 + 547.5 h; 5,840 x 0.65 + 547.5 x 0.42 = 4,025.95 of 6,387.5.
    "three years and a lunch peak": ((8, 24), (6, 3), "0.65", 0.3697),
    # 20 around the clock, 1 more for 12 hours: 14,600 + 365 h; 14,600 x 0.75 + 365 x 0.42 = 11,103.3 of 14,965.
    "nearly flat": ((20, 24), (1, 12), "0.75", 0.258),
}


@pytest.mark.parametrize("name", PROFILES)
def test_c_a_reserved_baseline_and_bursts_on_spot_save_20_to_40_percent(name, work):
    (base, _), (burst, hours), rate, saving = PROFILES[name]
    demand = Demand((Step(base, HOURS), Step(burst, HOURS * hours / 24)))
    rates = (
        Rate(market="on-demand", usd=Decimal(1)),
        Rate(market="spot", usd=Decimal("0.42")),
        Rate(market="reserved-3y", usd=Decimal(rate)),
    )
    made = replace(work("notebook", *rates), demand=demand)
    by_key = {way.key: way for way in ways_of(made)}
    plan = (Purchase(0, Term("reserved-3y", 36, HOURS * Decimal(rate)), base),)

    def machines(payments):
        return total_usd(tuple(each for each in payments if made.runs_it(each.item)))

    mixed = machines(with_plan(made, by_key["spot"].pay, plan, demand))
    on_demand = machines(by_key["on-demand"].pay(demand))
    assert abs(on_demand - 36 * demand.hours) < Decimal("0.01")
    assert float(1 - mixed / on_demand) == pytest.approx(saving, abs=0.0005)
    assert 0.20 <= 1 - mixed / on_demand <= 0.40
    # The baseline is what costs least: a machine for 12 hours and less is cheaper on demand.
    assert by_key["commit+on-demand"].plan == plan


@pytest.mark.parametrize("discount", [60, 75, 90])
@pytest.mark.parametrize(("band", "hours_between"), [("<5%", 240), ("10-15%", 72), (">20%", 24)])
def test_d_spot_with_its_rework(discount, band, hours_between):
    """What spot costs of on demand: the price's share times the wall time of Daly's equation over that without spot.

    A machine of n devices is reclaimed every `hours_between` hours and fails once in 50,000 / n hours. With d seconds
    to write a checkpoint every t seconds and R to restart: wall / work = M e^(R/M) (e^((t + d)/M) - 1) / t.
    """
    spec, option = option_of("train")
    catalog, key = option.setting.catalog, (option.cloud, option.instance_type)
    offers = tuple(
        replace(offer, interruption=band) if offer.market == "spot" else offer for offer in catalog.offers_by_type[key]
    )
    price = catalog.price(*key, option.deal.region, "on-demand", ON).amount
    rates = Discounts(rates=(Rate(market="spot", usd=price * (100 - discount) / 100),))
    changed = replace(catalog, offers_by_type={**catalog.offers_by_type, key: offers}, rates=rates)
    chosen = replace(option, setting=replace(option.setting, catalog=changed))
    chosen = in_market(replace(chosen, deal=replace(chosen.deal, market="")), "on-demand")
    work = work_of(spec, chosen, 36, {})
    by_key = {way.key: way for way in ways_of(work)}

    nodes, devices = option.fleet.nodes, option.fleet.nodes * option.candidate.shape.accelerators
    write_s = max(1.0, chosen.checkpoint_bytes / 1e9 / nodes)
    restart_s = 600 + write_s

    def stretch(between_s: float) -> float:
        interval_s = min(spot.best_interval_s(write_s, between_s), option.fleet.run_s)
        return between_s * math.exp(restart_s / between_s) * math.expm1((interval_s + write_s) / between_s) / interval_s

    failing = devices / 50_000
    taken = stretch(3600 / (failing + nodes / hours_between))
    spared = stretch(3600 / failing)
    payments = {market: by_key[market].pay(work.demand) for market in ("on-demand", "spot")}
    machines = {
        market: total_usd(tuple(each for each in paid if work.runs_it(each.item))) for market, paid in payments.items()
    }
    share = (100 - discount) / 100 * taken / spared
    assert float(machines["spot"] / machines["on-demand"]) == pytest.approx(share, rel=1e-4)
    # The saving that is left of the discount: rework takes less than 7 % of the price of spot, even at a machine a day.
    assert discount / 100 - 0.07 * (100 - discount) / 100 <= 1 - share <= discount / 100


def test_the_machines_of_the_cases_are_lines_of_a_bill(work):
    """What the cases add up are the lines that `size` states, not sums of their own."""
    made = work("notebook")
    (item,) = [each for each in made.bill(made.option, made.demand.hours) if made.runs_it(each)]
    assert item.unit == charges.MACHINE_HOUR
    row = next(row for row in compare(made).rows if row.way.key == "on-demand")
    assert abs(row.usd - 36 * made.option.cost.run_rate.usd_per_month.expected) < Decimal("0.36")
