"""Tasks of ECS on machines: what a capacity provider of the program is, and how many machines its tasks hold."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from sizewell.resources import UNKNOWN, Plan, RecordedResource, price
from sizewell.sizing.catalog import load
from sizewell.sizing.money import HOURS_PER_MONTH


def make(kind: str, name: str, inputs: dict[str, Any], **depends: RecordedResource) -> RecordedResource:
    refs = {key: (other.urn,) for key, other in depends.items()}
    return RecordedResource(
        urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs=inputs, property_dependencies=refs
    )


TEMPLATE = make("aws:ec2/launchTemplate:LaunchTemplate", "lt", {"instanceType": "g4dn.xlarge"})
GROUP = make(
    "aws:autoscaling/group:Group", "g", {"minSize": 0, "maxSize": 3, "launchTemplate": {"id": UNKNOWN}},
    launchTemplate=TEMPLATE,
)  # fmt: skip


def provider(status: str = "ENABLED") -> RecordedResource:
    stated = {"autoScalingGroupArn": UNKNOWN, "managedScaling": {"status": status}}
    kind = "aws:ecs/capacityProvider:CapacityProvider"
    return make(kind, "cp", {"autoScalingGroupProvider": stated}, autoScalingGroupProvider=GROUP)


def task(**container: Any) -> RecordedResource:
    definitions = json.dumps([{"name": "m", "image": "x", **container}])
    return make("aws:ecs/taskDefinition:TaskDefinition", "t", {"family": "t", "containerDefinitions": definitions})


GPU = {"resourceRequirements": [{"type": "GPU", "value": "1"}], "memory": 8000}


def plan(by: RecordedResource, of: RecordedResource, *more: RecordedResource, tasks: int = 1) -> Any:
    stated = {"desiredCount": tasks, "capacityProviderStrategies": [{"capacityProvider": UNKNOWN, "weight": 1}]}
    service = make(
        "aws:ecs/service:Service", "s", {**stated, "taskDefinition": UNKNOWN},
        capacityProviderStrategies=by, taskDefinition=of,
    )  # fmt: skip
    made = (TEMPLATE, GROUP, by, of, service, *more)
    return price(
        Plan(project="t", stack="dev", resources=made, config={"aws:region": "us-east-1"}), load(),
        on=date(2026, 11, 27),
    )  # fmt: skip


def test_a_service_on_a_provider_that_the_program_makes_costs_nothing_of_its_own() -> None:
    pricing = plan(provider(), task(memory=800))
    assert pricing.unpriced == ()
    assert ("runs on priced machines",) in {(reason,) for _, kind, reason in pricing.free if kind.endswith(":Service")}


@pytest.mark.parametrize(
    ("by", "of", "tasks", "held"),
    [
        (provider(), task(**GPU), 1, 1),
        (provider(), task(**GPU), 2, 2),
        (provider(), task(**GPU), 9, 3),  # the maximum of the group
        (provider(), task(memory=800), 2, 1),  # both fit on one machine
        (provider(), task(memory=9000), 2, 2),
        (provider(), task(**GPU), 0, 0),
        (provider("DISABLED"), task(**GPU), 1, 0),
    ],
)
def test_tasks_that_stand_hold_machines(by: RecordedResource, of: RecordedResource, tasks: int, held: int) -> None:
    line = next(each for each in plan(by, of, tasks=tasks).items if each.unit == "machine-hour")
    assert (line.quantity.floor, line.quantity.expected) == (held * HOURS_PER_MONTH, held * HOURS_PER_MONTH)


def test_a_service_whose_machines_ecs_brings_is_never_free() -> None:
    kind = "aws:ecs/capacityProvider:CapacityProvider"
    brings = make(kind, "cp", {"managedInstancesProvider": {"infrastructureRoleArn": UNKNOWN}})
    for of in (task(**GPU), task(memory=800)):
        assert ["ECS chooses the machines" in str(each) for each in plan(brings, of).unpriced] == [True]


@pytest.mark.parametrize("where", [{"launchType": "EC2"}, {"capacityProviderStrategies": [{"capacityProvider": "g"}]}])
@pytest.mark.parametrize(("container", "named"), [(GPU, 1), ({"memory": 800}, 0)])
def test_gpu_tasks_on_machines_of_another_program_are_named(
    where: dict[str, Any], container: dict[str, Any], named: int
) -> None:
    of = task(**container)
    stated = {"desiredCount": 2, "cluster": "arn:aws:ecs:us-east-1:1:cluster/shared", "taskDefinition": UNKNOWN}
    service = make("aws:ecs/service:Service", "s", {**stated, **where}, taskDefinition=of)
    resources = Plan(project="t", stack="dev", resources=(of, service), config={"aws:region": "us-east-1"})
    assert len(price(resources, load(), on=date(2026, 11, 27)).unpriced) == named
