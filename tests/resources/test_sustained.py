"""Sustained use discounts: what Google Cloud takes off machines that always run, worked by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sizewell.resources import Plan, RecordedResource, price
from sizewell.resources.pricing import Pricing
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import parse_discounts
from tests.resources.test_meters import CONFIG, GCE, MANAGER, ON, TEMPLATE, make

N1, N2 = Decimal("0.19") * 730, Decimal("0.194236") * 730  # n1-standard-4 and n2-standard-4 in us-central1
BOOT = {"initializeParams": {"size": 10, "type": "pd-balanced"}}


def vm(kind: str, **inputs: Any) -> RecordedResource:
    stated = {"machineType": kind, "zone": "us-central1-a", "bootDisk": BOOT, "networkInterfaces": [{"network": "n"}]}
    return make(GCE, {**stated, **inputs})


def priced(*resources: RecordedResource, **own: Any) -> Pricing:
    plan = Plan(project="t", stack="dev", resources=resources, config=CONFIG)
    return price(plan, load(), on=ON, discounts=parse_discounts(own) if own else None)


def month(*resources: RecordedResource, **own: Any) -> str:
    return f"{priced(*resources, **own).cost().run_rate.usd_per_month.expected - 1:.2f}"  # without the disk


T4 = [{"type": "nvidia-tesla-t4", "count": 1}]
SPOT = {"scheduling": {"preemptible": True, "provisioningModel": "SPOT", "automaticRestart": False}}


@pytest.mark.parametrize(
    ("machine", "usd"),
    [
        (vm("n1-standard-4"), N1 * Decimal("0.7")),
        (vm("n2-standard-4"), N2 * Decimal("0.8")),
        # a GPU on an N1 has the discount of its machine
        (vm("n1-standard-4", guestAccelerators=T4), (N1 + Decimal("0.35") * 730) * Decimal("0.7")),
        # no such discount on E2 and on machines that come with accelerators
        (vm("e2-standard-2"), Decimal("48.92")),
        (vm("g2-standard-4"), Decimal("0.706832") * 730),
    ],
)
def test_machines_that_always_run_have_the_discount_of_their_series(machine: RecordedResource, usd: Decimal) -> None:
    assert month(machine) == f"{usd:.2f}"


def test_spot_has_none() -> None:
    lines = [line for line in priced(vm("n1-standard-4", **SPOT)).items if "n1-standard-4" in line.what]
    assert lines
    assert all(getattr(line.price, "terms", "list") == "list" for line in lines)


def test_a_group_has_it_on_all_that_run_the_whole_month() -> None:
    disk = {"boot": True, "diskSizeGb": 10, "diskType": "pd-balanced"}
    template = make(TEMPLATE, {"machineType": "n1-standard-4", "disks": [disk], "networkInterfaces": [{}]}, "t")
    group = make(MANAGER, {"zone": "us-central1-a", "versions": [{"instanceTemplate": UNKNOWN}]}, versions=template)
    scaler = make("gcp:compute/autoscaler:Autoscaler", {"zone": "us-central1-a", "target": UNKNOWN,
                  "autoscalingPolicy": {"minReplicas": 1, "maxReplicas": 3}}, "s", target=group)  # fmt: skip
    cost = priced(template, group, scaler).cost().run_rate.usd_per_month
    assert (cost.floor, cost.ceiling) == (round(N1 * Decimal("0.7"), 2) + 1, round(N1 * Decimal("2.1"), 2) + 3)


@pytest.mark.parametrize(
    ("own", "usd"),
    [
        # a price of one's own, a discount of one's own and a commitment are what is paid
        ({"rates": [{"cloud": "gcp", "instance_type": "n2-standard-4", "usd": "0.15"}]}, Decimal("109.50")),
        ({"rates": [{"cloud": "gcp", "instance_type": "n2-standard-4", "percent": 10}]}, N2 * Decimal("0.9")),
        ({"commitments": [{"cloud": "gcp", "instance_type": "n2-standard-4", "region": "us-central1", "count": 1,
                           "usd_per_hour": "0.12", "until": "2027-01-01"}]}, Decimal("87.60")),
        # a plan of 0.10 an hour at 28 % off the list covers 71.5 % of it, and what is beyond has the discount
        ({"savings_plans": [{"cloud": "gcp", "usd_per_hour": "0.10", "percent": {"n2-*": 28}, "until": "2027-01-01"}]},
         Decimal("105.32")),
    ],
)  # fmt: skip
def test_what_is_paid_by_a_contract_has_none(own: dict[str, Any], usd: Decimal) -> None:
    assert month(vm("n2-standard-4"), **own) == f"{usd:.2f}"


@pytest.mark.parametrize(("action", "disk"), [("DELETE", "0.00"), ("STOP", "1.00")])
def test_a_machine_that_ends_after_its_run_has_no_floor_and_at_most_the_price_of_the_whole_month(
    action: str, disk: str
) -> None:
    limit = {"instanceTerminationAction": action, "maxRunDuration": {"seconds": 14400}}
    cost = priced(vm("n2-standard-4", scheduling=limit)).cost().run_rate.usd_per_month
    assert (f"{cost.floor:.2f}", f"{cost.expected:.2f}") == (disk, f"{N2 * Decimal('0.8') + 1:.2f}")


def test_a_guard_makes_no_machine_dearer() -> None:
    setup = {"machineType": "n1-standard-4", "acceleratorConfigs": [{"type": "NVIDIA_TESLA_T4", "coreCount": "1"}]}
    costs = [
        priced(make("gcp:workbench/instance:Instance", {"location": "us-central1-a", "gceSetup": {**setup, **more}}))
        .cost()
        .run_rate.usd_per_month
        for more in ({}, {"metadata": {"idle-timeout-seconds": "3600"}})
    ]
    assert costs[1].expected <= costs[0].expected
    assert costs[1].ceiling <= costs[0].ceiling
