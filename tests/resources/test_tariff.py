"""Decision and preview have one arithmetic: the tariff makes every line of both, and nothing else makes any."""

from __future__ import annotations

import ast
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import sizewell
from sizewell.resources import Plan, RecordedResource, price
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.tariff import Tariff
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import Discounts, Rate
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.money import Interval, Priced, total
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

ROOM = Path(next(iter(sizewell.__path__)))
ON = date(2026, 11, 21)
HOURS = Interval.exactly(Decimal(730))
MAKES_LINES = {"sizing/billing/tariff.py", "sizing/records/decision.py"}  # the second reads those of a file back
SPEC = """
name: tune
kind: fine-tuning
model: {name: meta-llama/Llama-3.1-8B, precision: bf16}
training: {method: qlora, samples: 20000, sequence_length: 1024, global_batch: 16384}
deadline: 2d
owner: ml
cost_center: c
infra: [aws/us-east-1]
"""


def calls(path: Path) -> set[str]:
    """Functions and methods that a file calls, the last part of their names; `x.price` only of a catalog."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            names.add(node.func.id)
        elif isinstance(node.func, ast.Attribute):
            of = node.func.value
            owner = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
            names.add(f"{owner}.{node.func.attr}")
    return names


def files(*wanted: str) -> set[str]:
    rooms = [
        path for room in ("sizing", "resources", "preview", "policy", "cli") for path in (ROOM / room).rglob("*.py")
    ]
    return {path.relative_to(ROOM).as_posix() for path in rooms if calls(path) & {*wanted}}


def test_nothing_but_the_tariff_makes_lines_of_a_bill() -> None:
    assert files("LineItem", "money.LineItem") == MAKES_LINES


def test_what_makes_charges_asks_the_catalog_for_no_price() -> None:
    asks = files(
        "catalog.price", "catalog.fee", "catalog.fee_tiers", "catalog.listed_tiers", "catalog.sagemaker_premium"
    )
    billing = {"sizing/billing/fees_compared.py", "sizing/billing/tariff.py"}
    assert {
        path for path in asks if path.startswith(("resources/", "sizing/billing/", "sizing/choose/bill"))
    } == billing


def machine(kind: str, name: str, inputs: dict[str, object]) -> RecordedResource:
    return RecordedResource(urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs=inputs)


def decided() -> Decimal:
    decision = decide([parse_spec(SPEC, "test")], load(), stack="dev", on=ON)
    assert isinstance(decision, Decision), str(decision)
    lines = [line.item() for line in decision.workloads[0].line_items]
    return total(lines).run_rate.usd_per_month.ceiling


def previewed() -> Decimal:
    resources = (
        machine(
            "aws:ec2/instance:Instance", "i", {"instanceType": "g6.xlarge", "rootBlockDevice": {"volumeSize": 200}}
        ),
        machine("aws:ec2/natGateway:NatGateway", "n", {}),
        machine("aws:kms/key:Key", "k", {}),
    )
    plan = Plan(project="t", stack="dev", resources=resources, config={"aws:region": "us-east-1"})
    return price(plan, load(), on=ON).cost().run_rate.usd_per_month.ceiling


@pytest.mark.parametrize("bill", [decided, previewed])
def test_what_the_tariff_says_is_what_decision_and_preview_say(bill, monkeypatch: pytest.MonkeyPatch) -> None:
    before, line = bill(), Tariff.line

    def thrice(self, charge, resource=""):
        item = line(self, charge, resource)
        return replace(item, quantity=item.quantity.times(Decimal(3)))

    monkeypatch.setattr(Tariff, "line", thrice)
    assert before > 0
    assert abs(bill() - 3 * before) < Decimal("0.10")  # each line is rounded to the cent


def test_own_rates_hold_for_every_tier_and_beyond_one() -> None:
    """Throughput beyond what a disk includes is a tier of its own, and had the list price whatever a team pays."""
    own = Discounts((Rate(cloud="aws", fee="ebs.gp3.iops_month", percent=Decimal(50)),))
    volume = machine("aws:ebs/volume:Volume", "v", {"type": "gp3", "size": 100, "iops": 5000})
    plan = Plan(project="t", stack="dev", resources=(volume,), config={"aws:region": "us-east-1"})
    listed, half = (price(plan, load(), on=ON, discounts=rates).items[1].price for rates in (None, own))
    assert isinstance(listed, Priced)
    assert isinstance(half, Priced)
    assert half.amount * 2 == listed.amount > 0


def test_a_managed_machine_at_an_estimated_price_says_so() -> None:
    """A preview called the price of such a machine an estimate, its decision did not."""
    offers = [offer for offer in load().all_offers if offer.cloud == "azure" and offer.market == "spot"]
    lines = [
        Tariff(load(), "azure", offer.region, ON).line(
            charges.machines("c", offer.instance_type, HOURS, market="spot")._replace(service="azureml")
        )
        for offer in offers
    ]
    estimated = [line for line in lines if isinstance(line.price, Priced) and line.price.source.startswith("estimate")]
    assert estimated
    assert all(line.confidence.startswith("estimated price of 20") for line in estimated)
