"""The usual price of spot machines: laws over any quotes, and the shipped quotes that misled before."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.sizing import catalog
from sizewell.sizing.catalog.records import Offer
from sizewell.sizing.catalog.spot import FAR_BELOW, by_region, quotes_of, share_of_listed, usual_discount, usual_usd
from sizewell.sizing.money import Priced

ON = date(2026, 11, 20)
USD = st.decimals("0.01", "100", places=4)
SUGGESTED = st.one_of(st.none(), USD)


def quote(usd: str | Decimal, *, region: str = "us-east-1", zone: str = "a", on: str = "2026-06-01", **more) -> Offer:
    fields = {
        "cloud": "aws",
        "instance_type": "p5.48xlarge",
        "region": region,
        "zone": zone,
        "market": "spot",
        "usd_per_hour": Decimal(usd),
        "effective_from": on,
        "effective_to": "",
        "basis": "observed",
        "source": "test",
        "confidence": "medium",
    }
    return Offer(**(fields | more))


def quotes():
    """Quotes of one region: any zone on any day of some months."""
    return st.lists(
        st.builds(
            lambda usd, zone, month, dom: quote(usd, zone=zone, on=f"2026-{month:02}-{dom:02}"),
            USD,
            st.sampled_from("abcdef"),
            st.integers(1, 11),
            st.integers(1, 28),
        ),
        min_size=1,
        max_size=8,
    )


@given(quotes(), quotes(), SUGGESTED, SUGGESTED)
def test_one_more_quote_never_takes_the_usual_price_out_of_the_range_of_the_quotes(some, more, sisters, listed):
    known = [*some, more[0]]
    usual = usual_usd([q.usd_per_hour for q in quotes_of(known, "2026-12-31")], sisters=sisters, listed=listed)
    amounts = [q.usd_per_hour for q in known]
    assert min(amounts) <= usual <= max(amounts)


@given(st.lists(USD, min_size=1, max_size=8), USD, SUGGESTED, SUGGESTED)
def test_a_lower_quote_never_raises_the_usual_price(amounts, another, sisters, listed):
    before = usual_usd(sorted(amounts), sisters=sisters, listed=listed)
    lower = min(another, before)
    assert usual_usd(sorted([*amounts, lower]), sisters=sisters, listed=listed) <= before
    cut = sorted([min(amounts[0], another), *amounts[1:]])
    assert usual_usd(cut, sisters=sisters, listed=listed) <= before
    if sisters is not None:
        assert usual_usd(sorted(amounts), sisters=min(sisters, another), listed=listed) <= before


@given(st.lists(USD, min_size=1, max_size=8), SUGGESTED, SUGGESTED)
def test_the_usual_price_is_never_below_the_cheapest_quote(amounts, sisters, listed):
    assert usual_usd(sorted(amounts), sisters=sisters, listed=listed) >= min(amounts)


@given(st.lists(USD, min_size=3, max_size=9), USD)
def test_one_wild_quote_among_many_moves_the_price_at_most_to_its_neighbours(amounts, wild):
    """Of n quotes one may be anything: the usual price stays between what the others alone allow."""
    ordered = sorted(amounts)
    middle = len(ordered) // 2
    usual = usual_usd(sorted([*amounts, wild]), sisters=None, listed=None)
    assert ordered[max(0, middle - 1)] <= usual <= ordered[min(len(ordered) - 1, middle + 1)]


def test_a_lone_quote_far_below_what_its_sisters_ask_is_shown_and_not_used():
    rows = [
        quote("10", region="eu-north-1", zone="n1"),
        *(quote(usd, region="us-east-1", zone=z) for usd, z in (("17", "a"), ("18", "b"), ("19", "c"))),
    ]
    usual = by_region(rows, "2026-11-20", {"eu-north-1": Decimal(55), "us-east-1": Decimal(55)}, Decimal("0.35"))
    lone = usual["eu-north-1"]
    assert lone.usd_per_hour == Decimal(18)
    assert [q.usd_per_hour for q in lone.far_below] == [Decimal(10)]
    assert lone.source == "estimate: 1 quote, 10; sister regions and on-demand suggest 18.0000 and 19.2500; test"
    assert usual["us-east-1"].source == "median of 3 quotes, 17 to 19; test"


def test_the_sisters_price_is_scaled_by_what_the_regions_ask_on_demand():
    rows = [quote("1", region="b"), *(quote("10", region="a", zone=z) for z in "xyz")]
    assert by_region(rows, "2026-11-20", {"a": Decimal(50), "b": Decimal(75)}, None)["b"].usd_per_hour == Decimal(15)


def test_one_low_quote_where_nobody_states_an_on_demand_price_is_not_used_alone():
    """The on-demand price of other regions says how much the type costs; without any there is nothing to compare with."""
    rows = [quote("0.5")]
    here = by_region(rows, "2026-11-20", {"eu-west-1": Decimal(40), "us-west-2": Decimal(60)}, Decimal("0.3"))[
        "us-east-1"
    ]
    assert here.usd_per_hour == Decimal(15)
    assert here.prior_usd == (Decimal(15),)
    assert here.far_below == here.quotes
    alone = by_region(rows, "2026-11-20", {}, Decimal("0.3"))["us-east-1"]
    assert (alone.usd_per_hour, alone.prior_usd) == (Decimal("0.5"), ())
    assert "nothing to compare with" in alone.source


def test_old_quotes_count_only_where_there_are_not_three_newer_ones():
    old = [quote("5", zone=z, on="2026-01-01") for z in "abc"]
    fresh = [quote("9", zone=z, on="2026-09-01") for z in "abc"]
    assert {q.usd_per_hour for q in quotes_of([*old, *fresh], "2026-11-20")} == {Decimal(9)}
    assert [str(q.usd_per_hour) for q in quotes_of([*old, fresh[0]], "2026-11-20")] == ["5", "5", "9"]
    assert {q.usd_per_hour for q in quotes_of([*old, *fresh], "2026-05-01")} == {Decimal(5)}


def test_a_published_spot_price_stands_unless_quotes_are_newer():
    published = quote("4", zone="", basis="list", on="2026-06-01")
    assert by_region([quote("9"), published], "2026-11-20", {}, None)["us-east-1"].usd_per_hour == 4
    newer = quote("9", on="2026-07-01")
    assert by_region([newer, published], "2026-11-20", {}, None)["us-east-1"].usd_per_hour == 9
    estimated = replace(published, basis="estimate: on-demand x 0.3", effective_from="2026-08-01")
    assert by_region([newer, estimated], "2026-11-20", {}, None)["us-east-1"].usd_per_hour == 9
    assert by_region([estimated], "2026-11-20", {}, None)["us-east-1"].usd_per_hour == 4


def test_a_type_says_nothing_about_its_own_usual_discount():
    listed = {"us-east-1": Decimal(100)}
    assert share_of_listed([quote("30"), quote("40", zone="b")], listed, "2026-11-20") == Decimal("0.35")
    shares = {"a": Decimal("0.01"), "b": Decimal("0.3"), "c": Decimal("0.4"), "d": Decimal("0.5")}
    assert usual_discount("a", shares) == Decimal("0.4")
    assert usual_discount("b", {name: shares[name] for name in "abc"}) is None


@pytest.mark.parametrize(
    ("instance_type", "region", "cheapest"),
    [("p5.48xlarge", "eu-north-1", "10.5722"), ("p5.48xlarge", "us-west-2", "9.3722"), ("p6-b300.48xlarge", "us-west-2", "15.9815")],
)  # fmt: skip
def test_the_shipped_quotes_that_stand_alone_decide_nothing(instance_type, region, cheapest):
    facts = catalog.load()
    usual = facts.spot("aws", instance_type, ON)[region]
    assert usual.far_below[0].usd_per_hour == Decimal(cheapest) < FAR_BELOW * usual.usd_per_hour
    price = facts.price("aws", instance_type, region, "spot", ON)
    assert isinstance(price, Priced)
    assert price.amount == usual.usd_per_hour


def test_every_usual_price_is_below_the_on_demand_price():
    facts = catalog.load()
    for shape in facts.shapes:
        for region, usual in facts.spot(shape.cloud, shape.instance_type, ON).items():
            listed = facts.price(shape.cloud, shape.instance_type, region, "on-demand", ON)
            assert not isinstance(listed, Priced) or usual.usd_per_hour < listed.amount, (shape.instance_type, region)
