"""Machines by the hour from a file, and from a bill: the demand of a month like that, and what to commit to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.economics.commitments import measured
from sizewell.economics.place import Place
from sizewell.economics.usage import Machine, demand_of, read_usage
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import Commitment, Discounts, Rate
from sizewell.sizing.errors import ConfigError

from .conftest import ON

MONDAY = datetime(2026, 11, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
WEEK = [MONDAY + number * HOUR for number in range(168)]
G6 = Machine("aws", "us-east-1", "g6.xlarge")
BILL = (
    "ChargeCategory,ProviderName,PricingCategory,PricingUnit,PricingQuantity,RegionId,ChargePeriodStart,"
    "ChargePeriodEnd,x_UsageType,CommitmentDiscountStatus"
)


def ran(hour: datetime) -> int:
    """Two machines always, and three more from 08:00 to 18:00 on weekdays."""
    return 2 + 3 * (hour.weekday() < 5 and 8 <= hour.hour < 18)


def stated(folder: Path) -> Path:
    path = folder / "hours.csv"
    rows = (f"{hour:%Y-%m-%dT%H:%MZ},g6.xlarge,us-east-1,{ran(hour)}" for hour in WEEK)
    path.write_text("\n".join(["hour,machine,region,count", *rows]))
    return path


def billed(folder: Path, *, hours: int = 1) -> Path:
    """The first machine on a commitment, one more on spot, the others on demand."""
    path, lines = folder / "bill.csv", [BILL]
    for hour in WEEK:
        ways = ["Committed,,,Used", "Dynamic,,,", *["Standard,,,"] * (ran(hour) - 1)]
        for category, _, _, status in (way.split(",") for way in ways):
            period = f"{hour:%Y-%m-%dT%H:%M:00Z},{hour + hours * HOUR:%Y-%m-%dT%H:%M:00Z}"
            lines.append(f"Usage,AWS,{category},Hrs,1,us-east-1,{period},BoxUsage:g6.xlarge,{status}")
    path.write_text("\n".join(lines))
    return path


def place(*bought: Commitment, months: int = 36) -> Place:
    usd = {"on-demand": "1", "reserved-1y": "0.6", "reserved-3y": "0.4"}
    rates = tuple(Rate(market=market, usd=Decimal(price)) for market, price in usd.items())
    catalog = replace(load(), rates=Discounts(rates=rates, commitments=bought))
    return Place(catalog=catalog, **G6._asdict(), on=ON, months=months)


def test_a_week_is_a_month_of_730_hours_like_it_and_two_machines_pay_for_three_years(tmp_path):
    """50 of 168 hours are 217.26 of 730: three machines for 36 months are 23,464.29; two for three years 21,024."""
    usage = read_usage(stated(tmp_path), load())
    assert (usage.first, usage.last, usage.is_bill) == (MONDAY, MONDAY + 168 * HOUR, False)
    demand = usage.demands[G6]
    assert [(step.machines, round(step.hours, 2)) for step in demand.steps] == [
        (2, Decimal(730)), (3, Decimal("217.26")),
    ]  # fmt: skip
    (row,) = measured([(place(), demand)], net=usage.is_bill)
    assert [(each.month, each.term.market, each.machines) for each in row.plan] == [(0, "reserved-3y", 2)]
    assert (round(row.on_demand_usd, 2), round(row.usd, 2)) == (Decimal("76024.29"), Decimal("44488.29"))
    assert round(row.utilization, 9) == 1


def test_a_bill_has_what_is_paid_on_demand_and_nothing_comes_off_it_twice(tmp_path):
    usage = read_usage(billed(tmp_path), load())
    (demand,) = usage.demands.values()
    assert usage.is_bill
    assert [step.machines for step in demand.steps] == [1, 3], "one of five is committed, one on spot"
    one = Commitment(cloud="aws", instance_type="g6.xlarge", region="us-east-1", count=1, usd_per_hour=Decimal("0.5"),
                     until=ON.replace(year=2030))  # fmt: skip
    (net,) = measured([(place(one), demand)], net=True)
    assert (net.owned, sum(each.machines for each in net.plan)) == (0, 1)
    (row,) = measured([(place(one), demand)], net=False)
    assert (row.owned, row.plan) == (1, ())


@given(st.lists(st.decimals(0, 9, places=1), min_size=1, max_size=30))
def test_all_hours_are_in_the_steps_and_they_fall(counts):
    demand = demand_of(counts, Decimal(len(counts)))
    assert abs(demand.hours - sum(counts) * 730 / len(counts)) < Decimal("1e-9")
    hours = [step.hours for step in demand.steps]
    assert hours == sorted(hours, reverse=True)
    assert all(0 <= each <= 730 for each in hours)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("g6.xlarge", "g6.xl"), "line 2: machine: 'g6.xl' is no machine type of the catalog"),
        (("T13:00Z", "T13:30Z"), "line 15: hour: must be a full hour, got "),
        (("T13:00Z", "T25:00Z"), "line 15: hour: must be a full hour, got "),
        (("hour,", "when,"), "lacks hour: machines by the hour have the columns hour, machine, region, count"),
        (("us-east-1,5", "us-east-1,-5"), "count: must be a number from 0 to 100,000, got '-5'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path, change, says):
    path = stated(tmp_path)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(ConfigError) as failed:
        read_usage(path, load())
    assert says in str(failed.value)
    assert "\n  fix: " in str(failed.value)


def test_a_bill_by_the_day_and_a_file_without_hours_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="is not an hour after its start"):
        read_usage(billed(tmp_path, hours=24), load())
    path = stated(tmp_path)
    path.write_text(path.read_text().partition("\n")[0])
    with pytest.raises(ConfigError, match="has no hour of a machine"):
        read_usage(path, load())
