"""Another cloud as a way to pay: whose machines it takes, what is counted for them, and that no headline advises it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from sizewell.cli.economics_text import facts
from sizewell.economics.compare import compare
from sizewell.economics.ways import ELSEWHERE
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import Discounts, Rate
from sizewell.sizing.choose.elsewhere import by_the_machine

from .conftest import ON


def row(comparison):
    return next((each for each in comparison.rows if each.way.key == ELSEWHERE), None)


def test_its_hours_are_those_on_demand_at_its_own_price(work):
    """292 machine-hours at 49.24 USD an hour are 14,378.08 a month; 2 TB leave S3 once, as to servers of one's own."""
    made = work("here")
    there = row(compare(made))
    assert made.demand.hours == 292
    assert there.way.name == "on coreweave"
    assert there.by_month[1:] == (Decimal("14378.08"),) * 36
    (copy,) = made.data(made.demand, owned=True)
    assert there.upfront_usd == round(copy.item.price.amount, 2) == Decimal("158.64")
    assert there.way.estimated, "a secondary source has its price"
    said = " ".join(there.way.notes)
    assert "gd-8xh100ib-i128: 49.24 USD an hour, a price of 2026-09-17, 66 days old" in said
    assert "its disks and storage, and the work to move there, are in no figure" in said


def test_the_headline_names_it_only_with_what_is_not_counted(work):
    made = work("train", utilization=Decimal("0.15"))
    comparison = compare(replace(made, spec=made.spec.model_copy(update={"spot_policy": "on-demand"})))
    there, best = row(comparison), comparison.cheapest
    assert there.usd < best.usd
    assert best.way.key == "on-demand"
    (line,) = (line for line in facts(comparison) if "coreweave" in line)
    assert line.startswith("on coreweave would cost ")
    assert line.endswith("the work to move there, are in no figure, and nothing here builds it")
    assert there.wins == ()
    assert not any(ELSEWHERE in (each.below, each.above) for each in comparison.break_evens)
    assert len(comparison.curves[0][1]) == len(comparison.priced) - 1


def test_machines_without_the_accelerators_of_a_node_are_none(work):
    there = row(compare(work("day")))  # 4 x L4 in a machine
    assert there.usd is None
    assert there.way.reason == "no other cloud in the catalog sells machines with 4 x l4"
    assert row(compare(work("tpu"))).usd is None


def test_of_several_machines_that_work_together_a_network_is_wanted():
    catalog = load()
    like = catalog.shape("aws", "p5.48xlarge")
    together = by_the_machine(catalog, like, ON, joined=True)
    assert [(each.offer.cloud, each.usd_per_hour) for each in together] == [
        ("coreweave", Decimal("49.24")),
        ("oci", Decimal(80)),
        ("nebius", Decimal("23.6")),
    ], "the cheapest first, of those whose price is not too old"
    assert together[-1].is_old
    one = catalog.shape("aws", "p5.4xlarge")
    alone = by_the_machine(catalog, one, ON, joined=False)
    assert {each.shape.fabric for each in alone} == {""}
    assert [each.usd_per_hour for each in alone if not each.is_old] == sorted(
        each.usd_per_hour for each in alone if not each.is_old
    )
    assert by_the_machine(catalog, one, ON, joined=True) == ()


def test_machines_of_a_batch_need_no_network_between_them(work):
    """Each answers records of its own: L4 of Runpod at 0.39 USD an hour, of a machine each."""
    made = work("nightly")
    assert made.demand.machines > 1
    there = row(compare(made))
    assert there.way.name == "on runpod"
    machines = made.demand.hours * Decimal("0.39")
    (data,) = made.data(made.demand, owned=True)
    assert abs(there.by_month[1] - machines - data.item.cost().expected) < Decimal("0.02")


def test_it_is_no_cloud_that_is_built_on_and_no_server_of_ones_own():
    catalog = load()
    for name in ("p5.48xlarge", "g6.xlarge"):
        found = by_the_machine(catalog, catalog.shape("aws", name), ON, joined=False)
        assert not {each.offer.cloud for each in found} & {"aws", "gcp", "azure", "on-premises", "edge"}


def test_a_rate_of_ones_own_there_counts_and_is_never_old():
    rate = Rate(cloud="nebius", instance_type="gpu-h100-sxm_8gpu-128vcpu-1600gb", usd=Decimal(20))
    catalog = replace(load(), rates=Discounts(rates=(rate,)))
    best = by_the_machine(catalog, catalog.shape("aws", "p5.48xlarge"), ON, joined=True)[0]
    assert (best.offer.cloud, best.usd_per_hour, best.is_old) == ("nebius", 20, False)


@pytest.mark.parametrize(("on", "old"), [(date(2026, 9, 18), False), (date(2027, 4, 1), True)])
def test_an_old_price_is_told_to_be_old(on, old):
    catalog = load()
    like = catalog.shape("aws", "p5.48xlarge")
    assert all(
        each.is_old is old for each in by_the_machine(catalog, like, on, joined=True) if each.offer.cloud == "coreweave"
    )


def test_machines_of_ones_own_are_compared_with_none(work):
    assert row(compare(work("own"))) is None
