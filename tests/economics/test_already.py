"""What is bought already for machines of several types is advised no second time: worked by hand, and hour by hour."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.economics.already import Left, beyond_bought
from sizewell.economics.commitments import measured
from sizewell.economics.demand import Demand, Step
from sizewell.economics.place import Place
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import Commitment, Discounts, ResourceCommitment, SavingsPlan, SharedOut

from .conftest import ON

HOURS = Decimal(730)
UNTIL = date(2031, 1, 1)
PLAN = SavingsPlan(cloud="aws", usd_per_hour=Decimal(1), percents=(("g6.*", Decimal(20)),), until=UNTIL)
WHOLE = ResourceCommitment(
    cloud="gcp",
    region="us-central1",
    machines=("g2-standard-*",),
    vcpus=Decimal(4),
    memory_gb=Decimal(16),
    gpus=Decimal(1),
    usd_per_vcpu_hour=Decimal("0.015"),
    usd_per_gb_hour=Decimal("0.002"),
    usd_per_gpu_hour=Decimal("0.25"),
    until=UNTIL,
)


def place(kind: str, *bought: SharedOut, months: int = 36) -> Place:
    cloud, region = ("gcp", "us-central1") if kind.startswith("g2") else ("aws", "us-east-1")
    rates = Discounts(
        commitments=tuple(each for each in bought if isinstance(each, Commitment)),
        resource_commitments=tuple(each for each in bought if isinstance(each, ResourceCommitment)),
        savings_plans=tuple(each for each in bought if isinstance(each, SavingsPlan)),
    )
    catalog = replace(load(), rates=rates)
    return Place(catalog=catalog, cloud=cloud, region=region, instance_type=kind, on=ON, months=months)


def always(machines: int) -> Demand:
    return Demand((Step(machines, HOURS),))


def left_of(*needed: tuple[Place, Demand]) -> list[Left]:
    groups = [Left(where, [demand]) for where, demand in needed]
    beyond_bought(groups)
    return groups


def test_a_plan_covers_as_many_machines_as_its_dollars_pay_for():
    """At 0.8048 less 20 % an hour is 0.64384 USD: one dollar is 1.5532 machines, and 0.4468 of the second is left."""
    (left,) = left_of((place("g6.xlarge", PLAN), always(2)))
    (step,) = left.months[0].steps
    assert step.machines == 1
    assert abs(step.hours - HOURS * (2 - 1 / Decimal("0.64384"))) < Decimal("1e-6")
    assert abs(left.covered[PLAN] - HOURS / Decimal("0.64384")) < Decimal("1e-6")


def test_what_is_left_of_a_machine_pays_for_no_commitment_to_a_whole_one():
    """0.4468 of all hours are under the 45.9 % from which on three years pay; without the plan both machines do."""
    (row,) = measured([(place("g6.xlarge", PLAN), always(2))], net=False)
    assert row.plan == ()
    assert row.is_known
    assert abs(row.covered_already - 1 / Decimal("0.64384") / 2) < Decimal("1e-6")
    (bare,) = measured([(place("g6.xlarge"), always(2))], net=False)
    assert [(each.term.market, each.machines) for each in bare.plan] == [("reserved-3y", 2)]
    (billed,) = measured([(place("g6.xlarge", PLAN), always(2))], net=True)
    assert billed.plan == bare.plan, "a bill has the hours that are left"


def test_the_largest_discount_is_first_and_the_other_type_has_what_is_left():
    """One dollar: g5.xlarge at 1.006 less 50 % takes 0.503 of it, and 0.497 pay for 0.497 / 0.64384 of a g6.xlarge."""
    plan = replace(PLAN, percents=(("g6.*", Decimal(20)), ("g5.*", Decimal(50))))
    one, other = left_of((place("g6.xlarge", plan), always(1)), (place("g5.xlarge", plan), always(1)))
    assert other.months[0].steps == ()
    assert other.covered[plan] == HOURS
    assert abs(one.covered[plan] - HOURS * Decimal("0.497") / Decimal("0.64384")) < Decimal("1e-6")


def test_the_hour_with_more_machines_has_less_of_it_left():
    """A plan of one machine's dollars: by day two are needed and one is left, by night one and none is left."""
    plan = replace(PLAN, usd_per_hour=Decimal("0.64384"))
    (left,) = left_of((place("g6.xlarge", plan), Demand((Step(1, HOURS), Step(1, Decimal(200))))))
    assert left.months[0].steps == (Step(1, Decimal(200)),)


def test_vcpus_memory_and_gpus_of_a_series_cover_its_machines_until_they_end():
    (row,) = measured([(place("g2-standard-4", WHOLE), always(1))], net=False)
    assert (row.plan, row.on_demand_usd, row.covered_already) == ((), 0, 1)
    half = replace(WHOLE, until=date(2027, 11, 22))
    (row,) = measured([(place("g2-standard-4", half), always(1))], net=False)
    assert [(each.month, each.term.months) for each in row.plan] == [(12, 12), (24, 12)], "from its end on"
    (bare,) = measured([(place("g2-standard-4"), always(1))], net=False)
    assert abs(row.on_demand_usd - bare.on_demand_usd * 24 / 36) < 1


@pytest.mark.parametrize(
    "part", [{"gpus": Decimal(0)}, {"vcpus": Decimal(0)}, {"vcpus": Decimal(40), "memory_gb": Decimal(160)}]
)
def test_of_what_covers_a_part_alone_nothing_is_advised(part):
    """No GPUs, no vCPUs, or those of ten machines with one GPU: what is left of a machine has no price of its own."""
    some = replace(WHOLE, **part)
    (row,) = measured([(place("g2-standard-4", some), always(2))], net=False)
    assert row.plan
    assert not row.is_known
    assert row.taken.unknown == [some]


def test_a_flexible_reservation_covers_other_sizes_by_their_units():
    """One g6.4xlarge is 32 units, a g6.xlarge 8: four of five are covered; the smaller size takes it first."""
    held = Commitment(
        cloud="aws", region="us-east-1", instance_type="g6.4xlarge", count=1, usd_per_hour=Decimal(1), until=UNTIL,
        flexible=True,
    )  # fmt: skip
    small, large = left_of((place("g6.xlarge", held), always(3)), (place("g6.2xlarge", held), always(1)))
    assert small.months[0].steps == ()
    assert large.covered[held] == HOURS / 2
    (left,) = left_of((place("g6.xlarge", held), always(5)))
    assert left.months[0].steps == (Step(1, HOURS),)


def test_reservations_are_used_before_plans():
    held = Commitment(
        cloud="aws", region="us-east-1", instance_type="g6.xlarge", count=1, usd_per_hour=Decimal(1), until=UNTIL,
        flexible=True,
    )  # fmt: skip
    (left,) = left_of((place("g6.xlarge", PLAN, held), always(1)))
    assert left.covered == {held: HOURS, PLAN: 0}


steps = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 730)), min_size=1, max_size=4)


@given(steps, steps, st.integers(1, 400))
def test_it_is_what_each_hour_leaves(one, other, cents):
    """Hour by hour, the busiest hours of both at once: the larger discount first, and the rest on demand."""
    plan = replace(PLAN, usd_per_hour=Decimal(cents) / 100, percents=(("g6.*", Decimal(20)), ("g5.*", Decimal(50))))
    places = place("g5.xlarge", plan), place("g6.xlarge", plan)
    demands = [
        Demand(tuple(Step(n, Decimal(h)) for n, h in sorted(each, key=lambda s: -s[1]))) for each in (one, other)
    ]
    groups = left_of(*zip(places, demands, strict=True))
    rates = [
        where.usd_per_hour("on-demand") * off
        for where, off in zip(places, (Decimal("0.5"), Decimal("0.8")), strict=True)
    ]
    hours = [Decimal(0), Decimal(0)]
    for hour in range(730):
        money = plan.usd_per_hour
        for at, demand in enumerate(demands):
            needed = sum(step.machines for step in demand.steps if step.hours > hour)
            covered = min(Decimal(needed), money / rates[at])
            money -= covered * rates[at]
            hours[at] += needed - covered
    for group, expected in zip(groups, hours, strict=True):
        assert abs(group.months[0].hours - expected) < Decimal("1e-5")
