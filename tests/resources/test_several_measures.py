"""A resource that several quantities bill: stating one of them makes none of the others free."""

from __future__ import annotations

import csv
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sizewell.resources.tables
from sizewell.policy.examples import resource
from sizewell.resources import Plan, RecordedResource, price
from sizewell.resources.priced import Pricing
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.usage import parse_usage
from sizewell.sizing.catalog import load
from sizewell.sizing.money import Unpriced

ON = date(2026, 11, 27)
TABLE = Path(sizewell.resources.tables.__file__).parent / "data/billed.csv"


def priced(*resources: RecordedResource, **use: float) -> Pricing:
    config = {"aws:region": "us-east-1", "azure-native:location": "eastus", "gcp:region": "us-central1"}
    plan = Plan(project="t", stack="dev", resources=resources, config=config)
    return price(plan, load(), on=ON, usage=parse_usage({"usage": [{"resource": "m", **use}]}))


def named(pricing: Pricing, words: str) -> bool:
    """Whether a measure is in a line, with or without a price, or named outside the totals."""
    return any(words in line.what for line in pricing.items) or any(words in line for line in pricing.outside)


def rows() -> list[tuple[str, list[str]]]:
    with TABLE.open() as file:
        listed = [(row["type"], row["fees"].split(" | ")) for row in csv.DictReader(file) if row["when"] == ""]
    return [(kind, [fee.partition("=")[0] for fee in fees]) for kind, fees in listed if len(fees) > 1]


@pytest.mark.parametrize(("kind", "measures"), rows(), ids=[kind for kind, _ in rows()])
def test_what_is_not_stated_of_several_quantities_is_named(kind: str, measures: list[str]) -> None:
    for stated in measures:
        found = priced(resource(kind, "m", {"location": "us-central1"}), **{stated: 100})
        assert [each for each in measures if not named(found, each.replace("_", " "))] == []


def quantities(pricing: Pricing) -> dict[str, Decimal]:
    assert not [line for line in pricing.items if line.quantity.floor != line.quantity.ceiling]
    return {line.unit: line.quantity.expected for line in pricing.items}


LIMITS = {"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}}
TEMPLATE = {"containers": [{"image": "w", "resources": LIMITS}], "gpuZonalRedundancyDisabled": True}
AUTOMATIC = {"scalingMode": "AUTOMATIC", "minInstanceCount": 0}
RUN: list[tuple[str, dict[str, Any]]] = [
    ("gcp:cloudrunv2/workerPool:WorkerPool", {"scaling": AUTOMATIC, "template": TEMPLATE}),
    ("gcp:cloudrunv2/job:Job", {"template": {"template": TEMPLATE}}),
]


@pytest.mark.parametrize(("kind", "inputs"), RUN, ids=[kind for kind, _ in RUN])
@pytest.mark.parametrize("use", [{"gpu_seconds": 36000}, {"vcpu_hours": 40}, {"memory_gigabyte_hours": 160}])
def test_the_sizes_of_an_instance_give_the_other_quantities(
    kind: str, inputs: dict[str, Any], use: dict[str, float]
) -> None:
    found = priced(resource(kind, "m", {"location": "us-central1", **inputs}), **use)
    assert quantities(found) == {"gpu seconds": 36000, "vcpu hours": 40, "memory gigabyte hours": 160}
    assert not [line for line in found.items if isinstance(line.price, Unpriced)]


def test_a_size_that_is_not_known_gives_nothing() -> None:
    hidden = {"containers": [{"resources": {"limits": {"cpu": UNKNOWN, "memory": "16Gi", "nvidia.com/gpu": "1"}}}]}
    found = priced(resource("gcp:cloudrunv2/job:Job", "m", {"template": {"template": hidden}}), gpu_seconds=36000)
    missing = [line.what for line in found.items if isinstance(line.price, Unpriced)]
    assert missing == ["Cloud Run job, vcpu hours", "Cloud Run job, memory gigabyte hours"]


def test_tasks_and_replicas_of_a_known_size_need_one_quantity() -> None:
    task = resource("aws:ecs/taskDefinition:TaskDefinition", "t", {"cpu": "1024", "memory": "4096"})
    runs = {"launchType": "FARGATE", "taskDefinition": UNKNOWN, "desiredCount": 1}
    service = resource("aws:ecs/service:Service", "m", runs, property_dependencies={"taskDefinition": (task.urn,)})
    assert quantities(priced(task, service, vcpu_hours=10)) == {"vcpu hours": 10, "memory gigabyte hours": 40}
    container = {"name": "c", "resources": {"cpu": 0.5, "memory": "1Gi"}}
    app = {"template": {"containers": [container], "scale": {"minReplicas": 1}}}
    found = priced(resource("azure-native:app:ContainerApp", "m", {"location": "eastus", **app}), vcpu_hours=10)
    assert quantities(found) == {"vcpu hours": 10, "memory gigabyte hours": 20}


def test_tasks_of_another_processor_are_billed_by_its_rates() -> None:
    arm = {"cpu": "1024", "memory": "4096", "runtimePlatform": {"cpuArchitecture": "ARM64"}}
    task = resource("aws:ecs/taskDefinition:TaskDefinition", "t", arm)
    runs = {"launchType": "FARGATE", "taskDefinition": UNKNOWN, "desiredCount": 1}
    service = resource("aws:ecs/service:Service", "m", runs, property_dependencies={"taskDefinition": (task.urn,)})
    for use in ({}, {"vcpu_hours": 730}):
        total = priced(task, service, **use).cost().run_rate.usd_per_month
        assert total.expected == round(730 * Decimal("0.03238"), 2) + round(4 * 730 * Decimal("0.00356"), 2)


@pytest.mark.parametrize(("wanted", "hours"), [(0, None), (3, 3 * 730)])
def test_workers_that_are_counted_by_hand_need_no_usage(wanted: int, hours: int | None) -> None:
    scaling = {"scalingMode": "MANUAL", "manualInstanceCount": wanted}
    pool = resource(RUN[0][0], "m", {"location": "us-central1", "scaling": scaling, "template": TEMPLATE})
    found = priced(pool)
    expected = {"gpu seconds": 3600, "vcpu hours": 4, "memory gigabyte hours": 16}
    assert quantities(found) == ({unit: hours * each for unit, each in expected.items()} if hours else {})
    assert not found.unpriced
