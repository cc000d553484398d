"""Rent, commit or buy over 36 months: every way starts and grows as its words say."""

from datetime import date
from decimal import Decimal
from pathlib import Path

from sizewell.preview import ownership
from sizewell.preview.ownership import BUY, MONTHS, ownership_of
from sizewell.sizing.billing.owning import USUAL
from sizewell.sizing.catalog import load
from sizewell.sizing.records.decision import Decision

ON = date(2026, 11, 21)
STACKS = Path(__file__).parents[2] / "stacks/decisions"


def decisions():
    return [Decision.from_json(path) for path in sorted(STACKS.glob("*.json"))]


def found():
    return [(made, months) for made in decisions() if (months := ownership_of(made, load(), ON))]


def test_some_stack_of_ours_can_be_bought():
    assert any(BUY in months[0].usd for _, months in found())


def test_every_way_costs_more_by_the_month():
    for _, months in found():
        assert [each.month for each in months] == list(range(MONTHS + 1))
        for way in months[0].usd:
            run = [each.usd[way] for each in months]
            assert run == sorted(run)
            assert run[0] >= 0


def test_rent_is_the_expected_hours_at_the_catalogs_price():
    for made, months in found():
        pools = [pool for each in made.workloads for pool in each.pools if pool.accelerators_per_node]
        if "rent on demand" not in months[0].usd or any(pool.capacity.mode == "capacity-block" for pool in pools):
            continue
        prices = [load().price(p.cloud, p.instance_type, p.region, "on-demand", ON).amount for p in pools]
        monthly = sum(p.node_hours_per_month.expected * price for p, price in zip(pools, prices, strict=True))
        assert months[MONTHS].usd["rent on demand"] == (36 * monthly).quantize(Decimal("0.01"))
        assert months[0].usd["rent on demand"] == 0


def test_buying_counts_resale_space_staff_and_power():
    made, months = next((made, months) for made, months in found() if BUY in months[0].usd)
    pools = [pool for each in made.workloads for pool in each.pools if pool.accelerators_per_node]
    bought = [ownership._bought(load(), pool) for pool in pools if pool.capacity.mode != "capacity-block"]
    price, monthly = (sum((each[i] for each in bought), Decimal(0)) for i in (0, 1))
    assert months[0].usd[BUY] == (price * Decimal("0.30")).quantize(Decimal("0.01"))
    assert months[MONTHS].usd[BUY] == (price * Decimal("0.75") + 36 * monthly).quantize(Decimal("0.01"))
    assert monthly >= USUAL["staff_usd_per_server_month"].value, "somebody looks after it, also when it is idle"
    assert monthly < price / 12, "and less than the machine itself in a year"
