"""Every type that a component of ours creates has a price, is free with a reason, or is unpriced with one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sizewell.resources import UNKNOWN, Plan, RecordedResource, price
from sizewell.resources.kinds import kind_of
from sizewell.resources.priced import Pricing
from sizewell.resources.tables import FREE, NOT_CLOUD, PRICERS, free_reason
from sizewell.resources.values import canonical
from sizewell.sizing.catalog import load
from sizewell.sizing.money import Interval

sys.path.append(str(Path(__file__).parents[1] / "components"))

from golden_files import whole

ROOT = Path(__file__).parents[2]
ON = date(2026, 11, 21)
HEAD = re.compile(r"^([a-z0-9.-]+:[\w./-]+:[A-Z]\w+)  \S")  # how a golden begins a resource: "token  name"
GOLDENS = sorted((ROOT / "tests/components").rglob("*.txt"))


@cache
def in_goldens() -> dict[str, str]:
    """Type -> a golden that has it."""
    return {
        canonical(match[1]): path.name
        for path in GOLDENS
        for line in whole(path).splitlines()
        if (match := HEAD.match(line))
    }


@cache
def plans() -> tuple[Plan, ...]:
    from sizewell.recording.evaluate import evaluate

    stacks = sorted(path.stem.removeprefix("Pulumi.") for path in (ROOT / "stacks/config").glob("Pulumi.*.yaml"))
    return tuple(evaluate(ROOT, stack) for stack in stacks)


def known(token: str) -> bool:
    if token.startswith("kubernetes:"):
        return kind_of(token) is not None or "helm.sh" in token
    return token in PRICERS or token in FREE or bool(free_reason(token)) or token.startswith((*NOT_CLOUD, "sizewell-"))


def test_types_in_goldens_are_known() -> None:
    found = in_goldens()
    assert len(found) > 100, "the goldens are read"
    assert {token: golden for token, golden in found.items() if not known(token)} == {}


def test_types_in_stacks_are_known() -> None:
    for plan in plans():
        pricing = price(plan, load(), on=ON)
        assert pricing.unknown == (), plan.stack
        assert pricing.coverage.detected == len(plan.resources)


@pytest.mark.parametrize("token", ["aws:made/up:Up", "gcp:made/up:Up", "azure-native:made:Up"])
def test_a_made_up_type_is_not_known(token: str) -> None:
    assert not known(token)


def resource(kind: str, name: str, inputs: dict[str, Any], **options: Any) -> RecordedResource:
    return RecordedResource(urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs=inputs, **options)


def priced(*resources: RecordedResource) -> Pricing:
    plan = Plan(project="t", stack="dev", resources=resources, config={"aws:region": "us-east-1"})
    return price(plan, load(), on=ON)


def to_zero(state: Any, *, beside: bool = True, **registered: Any) -> Iterator[RecordedResource]:
    """An endpoint that reaches zero: Cloud Control makes its configuration."""
    stated = {"kind": "endpoint", "name": "chat", "environment": "dev", **registered}
    owner = resource("sizewell-aws:index:RealtimeEndpoint", "chat", {"sizewell": stated}, custom=False)
    yield owner
    if beside:
        made = {"typeName": "AWS::SageMaker::EndpointConfig", "desiredState": state}
        yield resource("aws:cloudcontrol/resource:Resource", "config", made, parent=owner.urn)
    yield resource("aws:sagemaker/endpoint:Endpoint", "it", {"endpointConfigName": "chat-1"}, parent=owner.urn)


def machine_hour() -> Decimal:
    rate, percent = load().price("aws", "g6.12xlarge", "us-east-1", "on-demand", ON), load().sagemaker_premium("g6.12xlarge")  # fmt: skip
    return rate.amount * (100 + percent.amount) / 100  # type: ignore[union-attr]


REGISTERED = {"instanceType": "g6.12xlarge", "nodesMin": 0, "nodesInitial": 1, "nodesMax": 3}


def test_an_endpoint_of_cloud_control_bills_the_machines_that_its_component_registered() -> None:
    pricing = priced(*to_zero(UNKNOWN, **REGISTERED))
    assert pricing.unpriced == ()
    assert [line.what for line in pricing.items] == ["ml.g6.12xlarge, on-demand, us-east-1, sagemaker"]
    month = machine_hour() * 730
    assert pricing.cost().run_rate.usd_per_month == Interval(Decimal(0), month, month * 3).cents()


def test_registered_hours_count_before_sizes() -> None:
    hours = {"floor": 0, "expected": 100, "ceiling": 200}
    cost = priced(*to_zero(UNKNOWN, **REGISTERED, nodeHoursPerMonth=hours)).cost().run_rate.usd_per_month
    assert cost == Interval(Decimal(0), machine_hour() * 100, machine_hour() * 200).cents()


def test_a_state_says_what_cloud_control_made() -> None:
    scaling = {"MinInstanceCount": 1, "MaxInstanceCount": 2}
    variant = {"InstanceType": "ml.g6.12xlarge", "InitialInstanceCount": 1, "ManagedInstanceScaling": scaling}
    state = json.dumps({"EndpointConfigName": "chat-1", "ProductionVariants": [variant]})
    month = machine_hour() * 730
    assert priced(*to_zero(state)).cost().run_rate.usd_per_month == Interval(month, month, month * 2).cents()


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (tuple(to_zero(UNKNOWN)), "its variants are known only after deployment"),
        (tuple(to_zero(UNKNOWN, beside=False, **REGISTERED)), "its configuration is not in this plan"),
    ],
    ids=["no machines registered", "no configuration beside it"],
)
def test_an_endpoint_that_nothing_describes_is_unpriced(parts: tuple[RecordedResource, ...], why: str) -> None:
    assert [reason for *_, reason in priced(*parts).unpriced] == [why]


def test_cloud_control_may_make_anything_so_only_what_is_known_is_free() -> None:
    machine = resource("aws:cloudcontrol/resource:Resource", "m", {"typeName": "AWS::EC2::Instance"})
    copies = resource("aws:cloudcontrol/resource:Resource", "c", {"typeName": "AWS::SageMaker::InferenceComponent"})
    pricing = priced(machine, copies)
    assert [urn for urn, *_ in pricing.unpriced] == [machine.urn]
    assert [urn for urn, *_ in pricing.free] == [copies.urn]


def test_a_pipeline_bills_the_jobs_that_its_component_registered() -> None:
    stated = {"kind": "pool", "name": "tune", "environment": "dev", "market": "spot", **REGISTERED}
    owner = resource("sizewell-aws:index:TrainingPipeline", "tune", {"sizewell": stated}, custom=False)
    pipeline = resource("aws:sagemaker/pipeline:Pipeline", "tune", {}, parent=owner.urn)
    (line,) = priced(owner, pipeline).items
    assert line.cost() == Interval(Decimal(0), Decimal(0), machine_hour() * 730 * 3).cents()
    assert line.confidence == "spot costs less"
    alone = priced(resource("aws:sagemaker/pipeline:Pipeline", "tune", {}))
    assert alone.items == ()
    assert alone.outside == ("tune: jobs that tune starts: not stated, not in totals",)


def fleet(*ignored: str, **registered: Any) -> Iterator[RecordedResource]:
    stated = {"kind": "pool", "name": "batch", "environment": "dev", "instanceType": "g6.xlarge", **registered}
    owner = resource("sizewell-aws:index:SpotFleet", "batch", {"sizewell": stated}, custom=False)
    yield owner
    inputs = {
        "targetCapacitySpecification": {"totalTargetCapacity": 4, "defaultTargetCapacityType": "on-demand"},
        "launchTemplateConfigs": [{"overrides": [{"instanceType": "g6.xlarge"}]}],
    }
    yield resource("aws:ec2/fleet:Fleet", "batch", inputs, parent=owner.urn, ignore_changes=ignored)


def test_a_fleet_whose_size_a_guard_owns_bills_between_its_registered_bounds() -> None:
    hour = load().price("aws", "g6.xlarge", "us-east-1", "on-demand", ON).amount * 730  # type: ignore[union-attr]
    owned = priced(*fleet("targetCapacitySpecification.totalTargetCapacity", nodesMin=0, nodesMax=8))
    assert owned.cost().run_rate.usd_per_month == Interval(Decimal(0), hour * 4, hour * 8).cents()
    fixed = priced(*fleet(nodesMin=0, nodesMax=8))
    assert fixed.cost().run_rate.usd_per_month == Interval.exactly(hour * 4).cents()


TIERS = {32: "5.28", 33: "10.21", 64: "10.21", 128: "19.71", 256: "38.01", 512: "73.22", 1024: "135.17", 2048: "259.05", 4096: "495.57"}  # fmt: skip


@pytest.mark.parametrize("gigabytes", TIERS)
def test_a_premium_disk_bills_by_its_size_class(gigabytes: int) -> None:
    inputs = {"location": "eastus", "sku": {"name": "Premium_LRS"}, "diskSizeGB": gigabytes}
    (line,) = priced(resource("azure-native:compute:Disk", "d", inputs)).items
    assert line.cost() == Interval.exactly(Decimal(TIERS[gigabytes])).cents()


def test_an_os_disk_bills_by_its_size_class_and_one_beyond_the_table_has_no_price() -> None:
    def disk(gigabytes: int) -> Any:
        os_disk = {"diskSizeGB": gigabytes, "managedDisk": {"storageAccountType": "Premium_LRS"}}
        machine = {
            "location": "eastus",
            "hardwareProfile": {"vmSize": "Standard_NC24ads_A100_v4"},
            "storageProfile": {"osDisk": os_disk},
        }
        return priced(resource("azure-native:compute:VirtualMachine", "v", machine)).items[1]

    assert disk(200).cost() == Interval.exactly(Decimal("38.01")).cents()
    assert disk(200).what == "OS disks of 200 GB, premium SSD P15"
    assert not isinstance(disk(5000).cost(), Interval)
    for small in (4, 8, 16):  # P1 to P3, of which the catalog has no price, are not P4
        assert not isinstance(disk(small).cost(), Interval)
    assert disk(17).what == "OS disks of 17 GB, premium SSD P4"
