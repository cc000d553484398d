"""Savings plans: what is committed in dollars an hour over the machines on demand, to the cent."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.resources import Plan, RecordedResource, price
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import Discounts, parse_discounts
from sizewell.sizing.errors import ConfigError
from tests.resources.test_meters import CONFIG, ON, instance, make

PAGE = Path(__file__).parents[2] / "docs/howto/own-rates.md"
G6, M5 = Decimal("0.8048") * 730, Decimal("0.096") * 730


def machine(kind: str, name: str, **inputs: Any) -> RecordedResource:
    stated = {"instanceType": kind, "associatePublicIpAddress": False, **inputs}
    return make("aws:ec2/instance:Instance", stated, name)


def plans(*entries: dict[str, Any]) -> Discounts:
    whole = {"cloud": "aws", "usd_per_hour": 0.5, "percent": 20, "until": "2027-06-30"}
    return parse_discounts({"savings_plans": [whole | entry for entry in entries]})


def expected(discounts: Discounts | None, *resources: RecordedResource) -> Decimal:
    plan = Plan(project="t", stack="dev", resources=resources, config=CONFIG)
    cost = price(plan, load(), on=ON, discounts=discounts).cost()
    assert not cost.unpriced
    return cost.run_rate.usd_per_month.expected


FLEET = (machine("m5.large", "a"), machine("m5.large", "b"), machine("g6.xlarge", "c"))


def test_the_plan_of_the_page_is_worked_to_the_cent() -> None:
    text = PAGE.read_text(encoding="utf-8")
    block = next(each for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if "savings_plans" in each)
    for usd in (expected(None, *FLEET), expected(parse_discounts(yaml.safe_load(block)), *FLEET)):
        assert f"{usd:.2f} USD a month" in text


def test_the_type_that_the_page_gives_a_rate_is_one_without_a_price() -> None:
    block = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0])
    (rate,) = (rate for rate in block["rates"] if ":" in rate.get("fee", ""))
    assert expected(parse_discounts(block), make(rate["fee"], {})) == rate["usd"]


@pytest.mark.parametrize(
    ("plan", "usd"),
    [
        # more than they use: each at its price in the plan, and what is left over is in no total
        ({"usd_per_hour": 5}, (2 * M5 + G6) * Decimal("0.8")),
        ({"usd_per_hour": 5, "percent": {"g6*": 50}}, 2 * M5 + G6 / 2),
        # 73 USD a month pay 91.25 USD on demand
        ({"usd_per_hour": "0.1"}, 2 * M5 + G6 - 73 / Decimal("0.8") + 73),
        ({"region": "eu-west-1"}, 2 * M5 + G6),
        ({"cloud": "gcp"}, 2 * M5 + G6),
        ({"until": "2026-01-01"}, 2 * M5 + G6),
    ],
)
def test_a_plan_pays_what_it_covers_as_far_as_it_goes(plan: dict[str, Any], usd: Decimal) -> None:
    assert abs(expected(plans(plan), *FLEET) - usd) < Decimal("0.03")


def test_a_plan_of_a_region_goes_first_and_nothing_is_covered_twice() -> None:
    own = plans({"usd_per_hour": 5, "percent": 10}, {"usd_per_hour": 5, "percent": 30, "region": "us-east-1"})
    assert abs(expected(own, *FLEET) - (2 * M5 + G6) * Decimal("0.7")) < Decimal("0.03")


def test_a_plan_covers_no_spot_machine_and_nothing_beside_the_machine() -> None:
    spot = machine("g6.xlarge", "s", instanceMarketOptions={"marketType": "spot"})
    own = plans({"usd_per_hour": 5})
    assert expected(own, spot) == expected(None, spot)
    assert expected(own, instance()) == pytest.approx(G6 * Decimal("0.8") + 8, abs=Decimal("0.01"))


def test_the_ceiling_is_on_demand_above_what_is_expected_and_the_bounds_stay_in_order() -> None:
    group = {"minSize": 1, "desiredCapacity": 2, "maxSize": 4, "launchTemplate": {"id": "x"}}
    template = make("aws:ec2/launchTemplate:LaunchTemplate", {"instanceType": "g6.xlarge"}, "lt")
    pool = make("aws:autoscaling/group:Group", group, launchTemplate=template)
    plan = Plan(project="t", stack="dev", resources=(template, pool), config=CONFIG)
    cost = price(plan, load(), on=ON, discounts=plans({"usd_per_hour": 5})).cost().run_rate.usd_per_month
    for bound, usd in (("floor", G6 * Decimal("0.8")), ("expected", 2 * G6 * Decimal("0.8"))):
        assert abs(getattr(cost, bound) - usd) < Decimal("0.02")
    assert abs(cost.ceiling - (2 * G6 * Decimal("0.8") + 2 * G6)) < Decimal("0.02")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"percent": {}}, "savings_plans[0].percent: is empty"),
        ({"percent": 120}, "savings_plans[0].percent: must be a number from 0 to 99, got 120"),
        ({"usd_per_hour": 0}, "savings_plans[0].usd_per_hour: must be a number from 0.001"),
        ({"until": "next year"}, "savings_plans[0].until: must be a date"),
        ({"percent": None}, "savings_plans[0].percent"),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_with_its_place(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        plans(entry)
    assert said in str(wrong.value)
