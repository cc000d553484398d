"""What is bought already and covers more than one type: flexible reservations, vCPUs and memory, hours of a fee."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.preview.commitments import planned
from sizewell.resources import Plan, RecordedResource, price
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.imports import as_yaml
from sizewell.sizing.catalog.rates import Discounts, parse_discounts
from sizewell.sizing.catalog.series import resources, series
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.money import LineItem, Unpriced
from tests.resources.test_meters import CONFIG, GCE, ON, make

PAGE = Path(__file__).parents[2] / "docs/howto/own-rates.md"
BOOT = {"initializeParams": {"size": 10, "type": "pd-standard"}}
UNTIL = {"until": "2027-06-30"}


def box(kind: str, name: str) -> RecordedResource:
    return make("aws:ec2/instance:Instance", {"instanceType": kind, "associatePublicIpAddress": False}, name)


def vm(kind: str, name: str) -> RecordedResource:
    stated = {"machineType": kind, "zone": "us-central1-a", "bootDisk": BOOT, "networkInterfaces": [{"network": "n"}]}
    return make(GCE, stated, name)


def azure(kind: str, name: str) -> RecordedResource:
    return make("azure-native:compute:VirtualMachine",
                {"location": "eastus", "hardwareProfile": {"vmSize": kind}, "networkProfile": {}}, name)  # fmt: skip


def lines(own: dict[str, Any] | Discounts, *program: RecordedResource) -> list[LineItem]:
    own = parse_discounts(own) if isinstance(own, dict) else own
    plan = Plan(project="t", stack="dev", resources=program, config=CONFIG)
    found = price(plan, load(), on=ON, discounts=own or None).items
    return [line for line in found if line.unit != "GB-month"]  # disks


def month(own: dict[str, Any] | Discounts, *program: RecordedResource) -> str:
    costs = [line.cost() for line in lines(own, *program)]
    assert not any(isinstance(cost, Unpriced) for cost in costs), costs
    return f"{sum(cost.expected for cost in costs if not isinstance(cost, Unpriced)):.2f}"


LARGE = {
    "cloud": "aws",
    "instance_type": "m5.large",
    "region": "us-east-1",
    "count": 4,
    "usd_per_hour": "0.06",
    **UNTIL,
}
TWO = (box("m5.xlarge", "a"), box("m5.2xlarge", "b"))


@pytest.mark.parametrize(
    ("held", "usd"),
    [
        # four of a size that does not run
        ({}, "420.48"),
        # 16 units an hour: the smaller machine (8) at 0.12, and half of the larger one (16) at 0.24
        ({"flexible": True}, f"{87.60 + 87.60 + 140.16:.2f}"),
        # two machines' worth more than they use: 4 are left over, and are in no total
        ({"flexible": True, "count": 7}, f"{87.60 + 175.20:.2f}"),
        # nothing of another family, and nothing in another region
        ({"flexible": True, "instance_type": "m5d.large"}, "420.48"),
        ({"flexible": True, "region": "eu-west-1"}, "420.48"),
        # units as a contract states them
        ({"sizes": {"m5.large": 1, "m5.xlarge": 2}}, f"{87.60 + 280.32:.2f}"),
    ],
)
def test_a_reservation_covers_other_sizes_of_its_family_by_their_units(held: dict[str, Any], usd: str) -> None:
    assert month({"commitments": [{**LARGE, **held}]}, *TWO) == usd


@pytest.mark.parametrize("more", [{"getPasswordData": True}, {"tenancy": "dedicated"}])
@pytest.mark.parametrize("shared", [{}, {"flexible": True}])
def test_a_reservation_covers_no_machine_of_another_platform(shared: dict[str, Any], more: dict[str, Any]) -> None:
    other = box("m5.large", "a")
    other = make(other.type, {**other.inputs, **more}, "a")
    own = {"commitments": [{**LARGE, "count": 1, **shared}]}
    paid = {
        line.resource: line.price for line in lines(own, other, box("m5.large", "b")) if line.unit == "machine-hour"
    }
    assert [price.amount for price in paid.values() if not isinstance(price, Unpriced)] == [
        Decimal("0.096"),
        Decimal("0.06"),
    ]


def test_sizes_of_azure_are_those_that_the_contract_states() -> None:
    one = load().price("azure", "Standard_D2s_v5", "eastus", on=ON)
    held = {"cloud": "azure", "instance_type": "Standard_D2s_v5", "region": "eastus", "count": 3, "usd_per_hour": "0.05",
            "sizes": {"Standard_D2s_v5": 1, "Standard_D4s_v5": 2}, **UNTIL}  # fmt: skip
    assert not isinstance(one, Unpriced)
    # three units: one machine of one at 0.05, one of two at 0.10
    assert month({"commitments": [held]}, azure("Standard_D2s_v5", "a"), azure("Standard_D4s_v5", "b")) == "109.50"


N2 = {"cloud": "gcp", "region": "us-central1", "machines": "n2-*", "vcpus": 8, "memory_gb": 32, "usd_per_vcpu_hour": "0.02",
      "usd_per_gb_hour": "0.0027", **UNTIL}  # fmt: skip
PAIR = (vm("n2-standard-4", "a"), vm("n2-standard-4", "b"))


@pytest.mark.parametrize(
    ("held", "usd"),
    [
        # each 4 x 0.02 + 16 x 0.0027 = 0.1232 an hour
        ({}, "179.88"),
        # the memory of one only: the vCPUs of the other 4 x 0.02, its memory on demand, 16 x 0.004237 an hour less 20 %
        ({"memory_gb": 16}, f"{89.94 + 58.40 + 39.59:.2f}"),
        # no memory at all: vCPUs of both, memory of both on demand
        ({"memory_gb": 0}, f"{116.80 + 79.18:.2f}"),
        # one machine; the other runs the whole month, 20 % off 0.194236
        ({"vcpus": 4, "memory_gb": 16}, f"{89.94 + 113.43:.2f}"),
        ({"machines": ["n1-*", "e2-*"]}, "226.87"),
    ],
)
def test_vcpus_and_memory_are_covered_each_by_itself(held: dict[str, Any], usd: str) -> None:
    assert float(month({"resource_commitments": [{**N2, **held}]}, *PAIR)) == pytest.approx(float(usd), abs=0.011)


def test_a_commitment_of_the_program_pays_for_its_machines() -> None:
    bought = [{"type": "VCPU", "amount": "4"}, {"type": "MEMORY", "amount": "16384"}]
    held = make("gcp:compute/regionCommitment:RegionCommitment",
                {"region": "us-central1", "plan": "TWELVE_MONTH", "type": "GENERAL_PURPOSE_N2", "resources": bought})  # fmt: skip
    key = "commitment.general_purpose_n2.twelve_month"
    own = {"rates": [{"cloud": "gcp", "fee": f"{key}.vcpu.hour", "usd": "0.02"},
                     {"cloud": "gcp", "fee": f"{key}.memory.hour", "usd": "0.0027"}]}  # fmt: skip
    # 58.40 and 31.54 for the commitment, nothing for the machine that it is to, and all of one of another series
    assert month(own, held, PAIR[0]) == "89.94"
    assert month(own, held, vm("e2-standard-4", "e")) == f"{89.94 + 97.84:.2f}"
    hows = [line.how for line in lines(own, held, PAIR[0]) if line.resource == held.urn]
    assert all("machines here use 2,920 of 2,920 vCPU-hours and 11,680 of 11,680 GB-hours" in how for how in hows)


A2 = {"cloud": "gcp", "region": "us-central1", "machines": "a2-*", "gpus": 1, "vcpus": 12, "memory_gb": 85,
      "usd_per_gpu_hour": "1.5", "usd_per_vcpu_hour": "0.02", "usd_per_gb_hour": "0.003", **UNTIL}  # fmt: skip


def test_accelerators_are_committed_with_the_machine_that_has_them() -> None:
    # an a2-highgpu-1g has 12 vCPUs, 85 GB and one A100: 1.5 + 12 x 0.02 + 85 x 0.003 an hour
    assert month({"resource_commitments": [A2]}, vm("a2-highgpu-1g", "a")) == "1456.35"
    # two of them are beyond it by one, at 3.673385
    assert month({"resource_commitments": [A2]}, vm("a2-highgpu-1g", "a"), vm("a2-highgpu-1g", "b")) == "4137.92"
    # an ultra has local SSDs in its price, and stays on demand
    ultra = vm("a2-ultragpu-1g", "u")
    assert month({"resource_commitments": [A2]}, ultra) == month({}, ultra)


def test_a_commitment_of_the_program_pays_for_attached_accelerators() -> None:
    bought = [{"type": "ACCELERATOR", "amount": "1", "acceleratorType": "nvidia-tesla-t4"}]
    held = make("gcp:compute/regionCommitment:RegionCommitment",
                {"region": "us-central1", "plan": "TWELVE_MONTH", "type": "GENERAL_PURPOSE", "resources": bought})  # fmt: skip
    own = {"rates": [{"cloud": "gcp", "fee": "commitment.general_purpose.twelve_month.accelerator.nvidia-tesla-t4.hour",
                      "usd": "0.2"}]}  # fmt: skip
    box_of = vm("n1-standard-4", "a")
    inputs = {**box_of.inputs, "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}]}
    # 146.00 for the commitment, none for the T4, and the machine less 30 % for sustained use
    assert month(own, held, make(GCE, inputs, "b")) == f"{146 + 97.09:.2f}"


def test_hours_of_a_fee_are_committed_as_those_of_a_machine() -> None:
    database = make("aws:rds/instance:Instance", {"engine": "mariadb", "instanceClass": "db.t3.large",
                    "allocatedStorage": 20, "storageType": "gp2", "publiclyAccessible": False})  # fmt: skip
    held = {"cloud": "aws", "fee": "rds.mariadb.single_az.db.t3.large", "region": "us-east-1", "count": 1,
            "usd_per_hour": "0.09", **UNTIL}  # fmt: skip
    assert [(month({}, database), month({"commitments": [held]}, database))] == [("99.28", "65.70")]


HALF = {"cloud": "gcp", "region": "us-central1", "machines": "n2d-*", "usd_per_vcpu_hour": "0.0173",
        "usd_per_gb_hour": "0.0023", **UNTIL}  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "usd"),
    [
        # 4 x 0.0173 + 16 x 0.0023 and half of 0.337968 less 20 %: only what is covered has no other discount
        ({"vcpus": 4, "memory_gb": 16}, "176.07"),
        # eight vCPUs at 0.0173, and 32 GB at their part of the price, 0.003686 less 20 %
        ({"vcpus": 8, "memory_gb": 0}, "169.91"),
    ],
)
def test_what_a_commitment_leaves_of_a_machine_that_always_runs_keeps_its_own_discount(
    parts: dict[str, Any], usd: str
) -> None:
    own = {"resource_commitments": [HALF | parts]}
    assert month(own, vm("n2d-standard-8", "a")) == usd
    (beyond,) = [line.how for line in lines(own, vm("n2d-standard-8", "a")) if "beyond" in line.how]
    assert "sustained use" in beyond


def test_a_note_says_how_much_of_each_part_is_used() -> None:
    (plan,) = parse_discounts({"resource_commitments": [{**N2, "memory_gb": 64}]}).shared_out(ON)
    stack = lines(Discounts(), *PAIR)
    *_, said = planned(plan, [stack], [stack], (), load())
    assert said == (
        "the commitment to 8 vCPUs and 64 GB of n2-* in us-central1 until 2027-06-30 is 100 % used, 5,840 of 5,840 vCPU-hours"
        " a month and 50 % used, 23,360 of 46,720 GB-hours a month, and covers 100 % of what it may; 63.07 USD a month is"
        " left over, is billed all the same and is in no total"
    )


@pytest.mark.parametrize("name", sorted({name.partition("-")[0] for name, row in series().items() if row.gib_per_vcpu}))
def test_the_memory_of_a_series_agrees_with_its_prices(name: str) -> None:
    """A vCPU and a gigabyte cost the same in each kind of a series, so that two kinds give the price of the third."""
    known, rows = load(), []
    for kind in ("standard", "highmem", "highcpu"):
        has, usd = resources(f"{name}-{kind}-8"), known.price("gcp", f"{name}-{kind}-8", "us-central1", on=ON)
        rows += [(has, usd.amount)] if has is not None and not isinstance(usd, Unpriced) else []
    assert rows
    if len(rows) == 3:
        (a, usd_a), (b, usd_b), (c, usd_c) = rows
        gigabyte = (usd_b - usd_a) / (b.memory_gb - a.memory_gb)
        vcpu = (usd_a - a.memory_gb * gigabyte) / a.vcpus
        assert abs(c.vcpus * vcpu + c.memory_gb * gigabyte - usd_c) / usd_c < Decimal("0.001")


def test_the_commitments_of_the_page_are_worked_to_the_cent() -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    (flexible,) = (each for each in blocks if any("flexible" in held for held in each.get("commitments", ())))
    assert f"{month(flexible, *TWO)} USD" in text
    (parts,) = (each for each in blocks if "resource_commitments" in each)
    assert f"{month(parts, *PAIR)} USD" in text


def test_what_is_imported_is_written_as_it_was_read() -> None:
    own = parse_discounts({
        "commitments": [{**LARGE, "flexible": True, "from": "2026-01-01"}, {**LARGE, "sizes": {"m5.large": 1, "m5.xlarge": 2}}],
        "resource_commitments": [N2, A2],
    })  # fmt: skip
    assert parse_discounts(yaml.safe_load(as_yaml(own, "here"))) == own


@pytest.mark.parametrize(
    ("key", "entry", "said"),
    [
        ("commitments", {**LARGE, "fee": "nat.hour"}, "commitments[0]: needs exactly one of instance_type and fee"),
        ("commitments", {**LARGE, "flexible": "very"}, "commitments[0].flexible: must be true or false, got 'very'"),
        ("commitments", {**LARGE, "instance_type": "m5.metal", "flexible": True},
         "commitments[0].flexible: the units of m5.metal are not known\n  fix: state them: sizes: {NAME: UNITS}"),
        ("commitments", {**LARGE, "sizes": {"m5.xlarge": 2}}, "commitments[0].sizes: must be a mapping of machine types"),
        ("commitments", {**LARGE, "sizes": {"m5.large": 0}}, "commitments[0].sizes: must be a number from 0.001"),
        ("resource_commitments", {**N2, "vcpus": -1}, "resource_commitments[0].vcpus: must be a number from 0 to"),
        ("resource_commitments", {**N2, "gpus": 1}, "resource_commitments[0].usd_per_gpu_hour: is missing"),
        ("resource_commitments", {"cloud": "gcp"}, "resource_commitments[0].region: is missing"),
        ("resource_commitments", {**N2, "cpus": 1}, "resource_commitments[0].cpus: unknown key"),
    ],
)  # fmt: skip
def test_one_that_cannot_be_read_is_refused_with_its_place(key: str, entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        parse_discounts({key: [entry]})
    assert said in str(wrong.value)
