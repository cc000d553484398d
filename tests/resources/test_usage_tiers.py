"""Use that no resource states: egress and storage by tiers, free tiers once, and statements that fit nothing."""

from __future__ import annotations

import dataclasses
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.resources import Plan, RecordedResource, price
from sizewell.resources.priced import Pricing
from sizewell.resources.usage import parse_usage
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.money import Interval, Unpriced

ON = date(2026, 11, 21)
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}
VPC, BUCKET = "aws:ec2/vpc:Vpc", "aws:s3/bucket:Bucket"


def make(kind: str, name: str) -> RecordedResource:
    return RecordedResource(urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs={})


def priced(*resources: RecordedResource, rates: Any = None, **use: Any) -> Pricing:
    entries = [{"resource": name.replace("_", "-"), **measures} for name, measures in use.items()]
    return price(
        Plan(project="t", stack="dev", resources=resources, config=CONFIG), load(), on=ON,
        usage=parse_usage({"usage": entries}), discounts=parse_discounts(rates) if rates else None,
    )  # fmt: skip


def usd(pricing: Pricing) -> Interval:
    return pricing.cost().run_rate.usd_per_month


def test_egress_climbs_the_tiers() -> None:
    found = priced(make(VPC, "net"), net={"egress_gigabytes": 20_000})
    # 100 GB free, 10,140 at 0.09, the rest at 0.085: AWS's list prices
    assert usd(found) == Interval.exactly(Decimal("912.60") + Decimal(9_760) * Decimal("0.085")).cents()
    assert [line.quantity.expected for line in found.items] == [100, 10_140, 9_760]
    assert found.items[0].how == "from the usage file, free for the account"
    assert found.coverage.estimated == 1
    assert found.coverage.free == 0


def test_the_accounts_free_tier_is_given_once() -> None:
    one = usd(priced(make(VPC, "a"), a={"egress_gigabytes": 100}))
    two = usd(priced(make(VPC, "a"), make(VPC, "b"), a={"egress_gigabytes": 100}, b={"egress_gigabytes": 100}))
    assert (one.expected, two.expected) == (0, Decimal("9.00"))


def test_traffic_between_zones_bills_on_both_sides() -> None:
    assert usd(priced(make(VPC, "a"), a={"cross_zone_gigabytes": 1000})).expected == Decimal("20.00")
    assert usd(priced(make(VPC, "a"), a={"inter_region_gigabytes": 1000})).expected == Decimal("20.00")


@pytest.mark.parametrize(("kind", "gigabytes", "dollars"), [
    ("gcp:compute/network:Network", 2_000, "230.24"),  # 1,024 at 0.12 and 976 at 0.11
    ("azure-native:network:VirtualNetwork", 1_100, "87.00"),  # 100 free and 1,000 at 0.087
])  # fmt: skip
def test_egress_of_the_other_clouds(kind: str, gigabytes: int, dollars: str) -> None:
    found = priced(make(kind, "net"), net={"egress_gigabytes": gigabytes})
    assert usd(found).expected == Decimal(dollars)


def test_a_statement_that_nothing_bills_by_is_named() -> None:
    found = priced(make(BUCKET, "data"), data={"stored_gigabytes": 5, "gpu_seconds": 1}, dtaa={"stored_gigabytes": 5})
    assert found.unused == {("data", "gpu_seconds"), ("dtaa", "stored_gigabytes")}


def test_a_component_and_its_group_of_the_same_name_send_once() -> None:
    group = make("aws:ec2/vpc:Vpc", "chat")
    component = RecordedResource(urn="urn:pulumi:dev::t::my:C::chat", type="my:C", name="chat", inputs={}, custom=False)
    assert usd(priced(group, component, chat={"egress_gigabytes": 200})).expected == Decimal("9.00")


def test_an_own_rate_is_one_price_for_all_of_it() -> None:
    rates = {"rates": [{"cloud": "aws", "fee": "egress.internet", "usd": 0.05}]}
    assert usd(priced(make(VPC, "a"), a={"egress_gigabytes": 20_000}, rates=rates)).expected == Decimal("1000.00")
    half = {"rates": [{"cloud": "aws", "fee": "egress.internet", "percent": 50}]}
    whole, less = (priced(make(VPC, "a"), a={"egress_gigabytes": 20_000}, rates=each) for each in (None, half))
    assert abs(usd(less).expected * 2 - usd(whole).expected) <= Decimal("0.02")


GB = st.integers(0, 200_000)


@settings(deadline=None)
@given(st.lists(GB, min_size=3, max_size=3).map(sorted), GB)
def test_more_egress_never_costs_less(bounds: list[int], more: int) -> None:
    stated = dict(zip(("floor", "expected", "ceiling"), bounds, strict=True))
    found = priced(make(VPC, "a"), a={"egress_gigabytes": stated})
    assert not any(isinstance(line.price, Unpriced) for line in found.items)
    cost = usd(found)
    above = usd(priced(make(VPC, "a"), a={"egress_gigabytes": {**stated, "ceiling": bounds[2] + more}}))
    assert cost.ceiling <= above.ceiling
    beside = usd(priced(make(VPC, "a"), make(VPC, "b"), a={"egress_gigabytes": stated}, b={"egress_gigabytes": more}))
    assert cost.ceiling <= beside.ceiling


@pytest.mark.parametrize(
    ("scheme", "kind", "usd_per_hour"),
    [("EXTERNAL_MANAGED", "forwardingRule:ForwardingRule", "0.02"), ("EXTERNAL", "forwardingRule:ForwardingRule", "0.025"),
     ("EXTERNAL_MANAGED", "globalForwardingRule:GlobalForwardingRule", "0.025")],
)  # fmt: skip
def test_a_regional_load_balancer_bills_by_its_own_price_once_a_refresh_has_read_it(scheme, kind, usd_per_hour) -> None:
    rule = RecordedResource(urn="urn:pulumi:dev::t::rule", type=f"gcp:compute/{kind}", name="rule",
                            inputs={"loadBalancingScheme": scheme, "region": "us-central1"})  # fmt: skip
    plan = Plan(project="t", stack="dev", resources=(rule,), config=CONFIG)
    (known,) = load().fees_of("gcp", "lb.forwarding_rule.hour")
    read = dataclasses.replace(
        known,
        key="lb.regional.forwarding_rule.hour",
        region="us-central1",
        usd=Decimal("0.02"),
        effective_from="2026-11-20",
    )
    assert usd(price(plan, load(), on=ON)).expected == Decimal("18.25")  # the first five rules of a project together
    with_it = dataclasses.replace(load(), fees=(*load().fees, read))
    assert usd(price(plan, with_it, on=ON)).expected == Decimal(usd_per_hour) * 730
