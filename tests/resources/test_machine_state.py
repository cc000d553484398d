"""What a machine's state, its cluster and its unit of size say: verdicts on programs that state them."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sizewell.resources import Plan, RecordedResource, facts
from sizewell.resources.pricing import price
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool
from sizewell.sizing.catalog import load


def make(kind: str, name: str, inputs: dict[str, Any], **depends: RecordedResource) -> RecordedResource:
    refs = {key: (other.urn,) for key, other in depends.items()}
    return RecordedResource(
        urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs=inputs, property_dependencies=refs
    )


def pool(*resources: RecordedResource) -> Pool:
    (seen,) = facts(Plan(project="t", stack="dev", resources=resources), load(), on=date(2026, 11, 21)).pools
    return seen


@pytest.mark.parametrize(("state", "most"), [("RUNNING", 1), ("TERMINATED", 0), ("SUSPENDED", 0)])
def test_a_machine_that_is_switched_off_is_none(state: str, most: int) -> None:
    inputs = {"machineType": "a2-highgpu-2g", "zone": "us-central1-a", "desiredStatus": state}
    seen = pool(make("gcp:compute/instance:Instance", "t", inputs))
    assert (seen.nodes_min, seen.nodes_wanted, seen.nodes_max) == (most, most, most)


@pytest.mark.parametrize(("state", "most"), [("running", 1), ("stopped", 0)])
def test_a_machine_that_the_program_stops_is_none_and_is_billed_as_none(state: str, most: int) -> None:
    box = make("aws:ec2/instance:Instance", "box", {"instanceType": "g5.12xlarge", "availabilityZone": "us-east-1a"})
    kind = "aws:ec2transitgateway/instanceState:InstanceState"
    off = make(kind, "off", {"instanceId": UNKNOWN, "state": state}, instanceId=box)
    seen = pool(box, off)
    assert (seen.nodes_min, seen.nodes_wanted, seen.nodes_max) == (most, most, most)
    lines = price(Plan(project="t", stack="dev", resources=(box, off)), load(), on=date(2026, 11, 21)).items
    assert any(line.unit == "machine-hour" for line in lines) is bool(most)


@pytest.mark.parametrize("stated", [True, False])
def test_new_node_pools_take_the_metadata_mode_of_their_cluster(stated: bool) -> None:
    identities = {"workloadIdentityConfig": {"workloadPool": "acme.svc.id.goog"}} if stated else {}
    cluster = make("gcp:container/cluster:Cluster", "c", {"removeDefaultNodePool": True, **identities})
    nodes = {"cluster": "c", "nodeConfig": {"machineType": "g2-standard-4"}}
    seen = pool(cluster, make("gcp:container/nodePool:NodePool", "gpu", nodes, cluster=cluster))
    assert seen.workload_identity is stated


@pytest.mark.parametrize(("vcpus", "machines"), [(0, 0), (96, 3), (97, 4)])
def test_a_batch_environment_counts_machines_and_not_their_vcpus(vcpus: int, machines: int) -> None:
    compute = {"type": "EC2", "instanceTypes": ["p3.8xlarge"], "minVcpus": vcpus, "maxVcpus": 128}
    seen = pool(make("aws:batch/computeEnvironment:ComputeEnvironment", "b", {"computeResources": compute}))
    assert (seen.nodes_min, seen.nodes_max) == (machines, 4)


ON_FARGATE = {"launchType": "FARGATE"}
ON_SPOT = {"capacityProviderStrategies": [{"capacityProvider": "FARGATE_SPOT", "weight": 1}]}


@pytest.mark.parametrize(
    ("service", "task", "judged"),
    [
        (ON_FARGATE, {}, False),
        (ON_SPOT, {}, False),
        ({}, {"requiresCompatibilities": ["FARGATE"]}, False),
        ({}, {"requiresCompatibilities": ["FARGATE", "EC2"]}, True),
        ({"launchType": "EC2"}, {}, True),
        ({"launchType": UNKNOWN}, {}, True),
    ],
)
def test_tasks_on_fargate_have_no_accelerators_whatever_their_containers(
    service: dict[str, Any], task: dict[str, Any], judged: bool
) -> None:
    web = make("aws:ecs/taskDefinition:TaskDefinition", "web", {"containerDefinitions": UNKNOWN, **task})
    runs = make("aws:ecs/service:Service", "web", {"taskDefinition": UNKNOWN, **service}, taskDefinition=web)
    endpoints = facts(Plan(project="t", stack="dev", resources=(web, runs)), load(), on=date(2026, 11, 21)).endpoints
    assert [endpoint.accelerated for endpoint in endpoints] == [UNKNOWN] * judged


@pytest.mark.parametrize(("platforms", "accelerated"), [(["FARGATE"], False), (["EC2"], UNKNOWN), (None, UNKNOWN)])
def test_a_batch_job_on_fargate_has_no_accelerators(platforms: object, accelerated: object) -> None:
    inputs = {"type": "container", "containerProperties": UNKNOWN, "platformCapabilities": platforms}
    job = make("aws:batch/jobDefinition:JobDefinition", "j", inputs)
    (seen,) = facts(Plan(project="t", stack="dev", resources=(job,)), load(), on=date(2026, 11, 21)).jobs
    assert seen.accelerated is accelerated


def test_limits_of_a_cloud_run_service_that_are_not_known_may_hold_an_accelerator() -> None:
    template = {"containers": [{"image": "web", "resources": {"limits": UNKNOWN}}]}
    web = make("gcp:cloudrunv2/service:Service", "web", {"location": "us-central1", "template": template})
    (seen,) = facts(Plan(project="t", stack="dev", resources=(web,)), load(), on=date(2026, 11, 21)).endpoints
    assert seen.accelerated is UNKNOWN


@pytest.mark.parametrize(("wanted", "tasks"), [(1, (10, 10, 30)), (12, (10, 12, 30))])
def test_the_tasks_of_a_service_that_is_scaled_are_never_below_the_minimum_of_its_target(
    wanted: int, tasks: tuple[int, int, int]
) -> None:
    task = make("aws:ecs/taskDefinition:TaskDefinition", "web", {"cpu": "1024", "memory": "2048"})
    inputs = {"taskDefinition": UNKNOWN, "desiredCount": wanted, **ON_FARGATE}
    web = make("aws:ecs/service:Service", "web", inputs, taskDefinition=task)
    bounds = {"minCapacity": 10, "maxCapacity": 30, "resourceId": UNKNOWN, "serviceNamespace": "ecs"}
    target = make("aws:appautoscaling/target:Target", "t", bounds, resourceId=web)
    plan = Plan(project="t", stack="dev", resources=(task, web, target), config={"aws:region": "us-east-1"})
    cpu = next(line for line in price(plan, load(), on=date(2026, 11, 21)).items if line.unit == "vCPU-hour")
    assert (cpu.quantity.floor, cpu.quantity.expected, cpu.quantity.ceiling) == tuple(730 * each for each in tasks)
