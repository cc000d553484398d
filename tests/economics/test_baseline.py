"""What to commit to: the least cost of all, against a linear program of the hours and against every possible purchase."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal

import numpy as np
import pytest
from scipy.optimize import linprog

from sizewell.economics.baseline import Purchase, Term, baseline, cost_usd, held
from sizewell.economics.demand import Demand, Step, sorted_demand

HOURS = 730


def a_case(seed: int, *, months: int, peak: int, terms: tuple[int, ...]):
    """Machines needed in each of 24 hours of a day, month by month, and what each term costs a machine and month."""
    draw = random.Random(seed)  # noqa: S311 - cases that can be made again
    days = []
    base, busy = draw.randint(0, peak // 2), draw.uniform(0.2, 1.0)
    for _ in range(months):
        base = max(0, min(peak, base + draw.choice((-1, 0, 0, 1))))
        days.append(
            [min(peak, base + (draw.randint(0, peak - base) if draw.random() < busy else 0)) for _ in range(24)]
        )
    hour_usd = Decimal(draw.randint(50, 6000)) / 100
    shares = sorted((draw.uniform(0.3, 0.95) for _ in terms), reverse=True)
    sold = tuple(
        Term(f"{length} months", length, (hour_usd * HOURS * Decimal(f"{share:.3f}")))
        for length, share in zip(terms, shares, strict=True)
    )
    return days, sold, hour_usd


def demand_of_day(day: list[int]) -> Demand:
    part = Decimal(HOURS) / 24
    return sorted_demand([(part, each) for each in day], part * sum(day), max(*day, 1))


def by_linear_program(days, terms, hour_usd) -> float:
    """The same with scipy's HiGHS: purchases of each term in each month, and what is above them in each hour."""
    months, part = len(days), HOURS / 24
    bought = [(month, term) for month in range(months) for term in terms]
    above = [(month, hour) for month in range(months) for hour in range(24)]
    cost = [float(term.usd_per_month) * term.months for _, term in bought] + [float(hour_usd) * part] * len(above)
    rows, needed = [], []
    for number, (month, hour) in enumerate(above):
        row = [-1.0 if start <= month < start + term.months else 0.0 for start, term in bought] + [0.0] * len(above)
        row[len(bought) + number] = -1.0
        rows.append(row)
        needed.append(-float(days[month][hour]))
    done = linprog(cost, A_ub=np.array(rows), b_ub=needed, method="highs")
    assert done.success
    return float(done.fun)


@pytest.mark.parametrize("block", range(10))
def test_as_cheap_as_a_linear_program(block):
    """200 random demands over up to 8 months with three terms at once."""
    for seed in range(20 * block, 20 * block + 20):
        days, terms, hour_usd = a_case(seed, months=4 + seed % 5, peak=3 + seed % 9, terms=(1, 2, 4))
        demand = [demand_of_day(day) for day in days]
        plan = baseline(demand, terms, hour_usd)
        assert float(cost_usd(demand, plan, hour_usd)) == pytest.approx(
            by_linear_program(days, terms, hour_usd), rel=1e-6
        )


@pytest.mark.parametrize("block", range(10))
def test_as_cheap_as_every_purchase_tried(block):
    """200 small ones, each purchase of up to two machines of two terms in each of three months."""
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        days, terms, hour_usd = a_case(seed, months=3, peak=2, terms=(1, 2))
        demand = [demand_of_day(day) for day in days]
        beyond = [[float(each.hours_beyond(count) * hour_usd) for count in range(7)] for each in demand]
        slots = [(month, term) for month in range(3) for term in terms]
        price = [float(term.usd_per_month) * term.months for _, term in slots]
        least = min(
            sum(count * usd for count, usd in zip(counts, price, strict=True))
            + sum(
                beyond[month][
                    min(6, sum(c for c, (at, t) in zip(counts, slots, strict=True) if at <= month < at + t.months))
                ]
                for month in range(3)
            )
            for counts in itertools.product(range(3), repeat=len(slots))
        )
        plan = baseline(demand, terms, hour_usd)
        assert float(cost_usd(demand, plan, hour_usd)) == pytest.approx(least, rel=1e-9)


def test_a_machine_is_committed_where_its_hours_cost_more_than_the_commitment():
    """By hand: a term of 60 % of the price on demand pays for a machine that is needed over 0.6 x 730 = 438 hours."""
    demand = Demand((Step(2, Decimal(730)), Step(1, Decimal(450)), Step(1, Decimal(430)), Step(3, Decimal(100))))
    term = Term("reserved-1y", 12, Decimal(730) * Decimal("0.6"))
    plan = baseline([demand] * 12, [term], Decimal(1))
    assert plan == (Purchase(0, term, 3),)
    # 3 x 438 x 12 committed; above them 430 + 3 x 100 hours a month.
    assert cost_usd([demand] * 12, plan, Decimal(1)) == 12 * (3 * Decimal(438) + 730)


def test_a_short_term_where_the_long_one_would_be_paid_beyond_the_end():
    """By hand, over 12 months: three years at 0.4 cost 14.4 months' hours, one year at 0.6 costs 7.2."""
    demand = Demand((Step(1, Decimal(730)),))
    year, three = Term("reserved-1y", 12, Decimal(438)), Term("reserved-3y", 36, Decimal(292))
    assert baseline([demand] * 12, [year, three], Decimal(1)) == (Purchase(0, year, 1),)
    assert baseline([demand] * 36, [year, three], Decimal(1)) == (Purchase(0, three, 1),)


def test_several_terms_at_once_where_demand_falls():
    """Two machines in the first year and one in the two after it: one for three years, one for one."""
    two, one = Demand((Step(2, Decimal(730)),)), Demand((Step(1, Decimal(730)),))
    year, three = Term("reserved-1y", 12, Decimal(438)), Term("reserved-3y", 36, Decimal(292))
    plan = baseline([two] * 12 + [one] * 24, [year, three], Decimal(1))
    assert set(plan) == {Purchase(0, year, 1), Purchase(0, three, 1)}
    assert [held(plan, month) for month in (0, 11, 12, 35)] == [2, 2, 1, 1]


def test_nothing_is_committed_where_nothing_is_sold_or_needed():
    demand = Demand((Step(3, Decimal(300)),))
    assert baseline([demand] * 12, [], Decimal(1)) == ()
    assert baseline([demand] * 12, [Term("reserved-1y", 12, Decimal(438))], Decimal(1)) == ()
    assert baseline([], [Term("reserved-1y", 12, Decimal(438))], Decimal(1)) == ()


@pytest.mark.parametrize("seed", range(20))
def test_more_of_a_profile_never_costs_less(seed):
    days, terms, hour_usd = a_case(seed, months=3, peak=5, terms=(1, 3))
    demand = [demand_of_day(day) for day in days]
    grown = [demand_of_day([each + 1 for each in day]) for day in days]
    costs = [cost_usd(each, baseline(each, terms, hour_usd), hour_usd) for each in (demand, grown)]
    assert costs[0] <= costs[1]


@pytest.mark.parametrize("share", ["0", "0.2", "0.55", "0.8", "1"])
def test_a_profile_is_scaled_to_its_share_of_all_hours(share):
    profile = Demand((Step(1, Decimal(730)), Step(2, Decimal(300)), Step(4, Decimal(90))))
    assert float(profile.at(Decimal(share)).utilization) == pytest.approx(float(share), rel=1e-20)
    assert all(step.hours <= HOURS for step in profile.at(Decimal(share)).steps)
    hours = [step.hours for step in profile.at(Decimal(share)).steps]
    assert hours == sorted(hours, reverse=True)
