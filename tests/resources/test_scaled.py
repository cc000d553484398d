"""What is sized from outside is priced between the bounds of what sizes it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from sizewell.policy.examples import resource
from sizewell.resources import Plan, RecordedResource, facts, price
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.money import LineItem, Unpriced

ON = date(2026, 11, 27)
RATES = parse_discounts(
    {"rates": [
        {"fee": "apim.premium", "usd": "1"}, {"fee": "servicebus.premium", "usd": "1"},
        {"fee": "dynamodb.read_unit.hour", "usd": "1"}, {"fee": "dynamodb.write_unit.hour", "usd": "1"},
        {"fee": "lambda.provisioned.hour", "usd": "1"},
    ]}
)  # fmt: skip


def lines(*resources: RecordedResource) -> tuple[LineItem, ...]:
    config = {"aws:region": "us-east-1", "azure-native:location": "eastus"}
    plan = Plan(project="t", stack="dev", resources=resources, config=config)
    return price(plan, load(), on=ON, discounts=RATES).items


def hours(line: LineItem) -> tuple[Decimal, Decimal, Decimal]:
    quantity = line.quantity
    return quantity.floor / 730, quantity.expected / 730, quantity.ceiling / 730


def setting(aimed: RecordedResource, least: Any, most: Any, **more: Any) -> RecordedResource:
    bounds = {"minimum": least, "maximum": most, "default": least}
    profiles = [{"name": "d", "capacity": bounds, "rules": [{"scaleAction": {"direction": "Decrease"}}]}]
    return resource(
        "azure-native:monitor:AutoscaleSetting", "auto",
        {"targetResourceUri": UNKNOWN, "profiles": profiles, **more},
        property_dependencies={"targetResourceUri": (aimed.urn,)},
    )  # fmt: skip


def target(aimed: RecordedResource, dimension: str, least: Any, most: Any) -> RecordedResource:
    inputs = {"resourceId": UNKNOWN, "scalableDimension": dimension, "minCapacity": least, "maxCapacity": most}
    return resource(
        "aws:appautoscaling/target:Target", dimension, inputs, property_dependencies={"resourceId": (aimed.urn,)}
    )


MANAGED = {"endpointComputeType": "Managed", "instanceType": "Standard_NC24ads_A100_v4"}
OF_AZURE: list[tuple[str, dict[str, Any]]] = [
    ("azure-native:machinelearningservices:OnlineDeployment", {"sku": {"capacity": 2}, "properties": MANAGED}),
    ("azure-native:web:AppServicePlan", {"kind": "linux", "sku": {"name": "P1v3", "capacity": 2}}),
    ("azure-native:apimanagement:ApiManagementService", {"sku": {"name": "Premium", "capacity": 2}}),
    ("azure-native:servicebus:Namespace", {"sku": {"name": "Premium", "capacity": 2}}),
]


@pytest.mark.parametrize(("kind", "inputs"), OF_AZURE, ids=[kind for kind, _ in OF_AZURE])
def test_an_autoscale_setting_bounds_what_it_aims_at(kind: str, inputs: dict[str, Any]) -> None:
    made = resource(kind, "m", {"location": "eastus", **inputs})
    for more, wanted in (({}, (1, 2, 6)), ({"enabled": False}, (2, 2, 2))):
        (line,) = (line for line in lines(made, setting(made, "1", "6", **more)) if line.resource == made.urn)
        assert hours(line) == wanted
    (line,) = (line for line in lines(made, setting(made, "1", UNKNOWN)) if line.resource == made.urn)
    assert isinstance(line.price, Unpriced)


def test_a_setting_that_is_off_scales_no_deployment() -> None:
    made = resource("azure-native:machinelearningservices:OnlineDeployment", "m", {"properties": MANAGED})
    for enabled, wanted in ((True, (True, 3)), (False, (False, 1))):
        off = setting(made, "1", "3", enabled=enabled)
        (seen,) = facts(Plan(project="t", stack="dev", resources=(made, off), config={}), load(), on=ON).endpoints
        assert (seen.scales, seen.nodes_max) == wanted


def test_each_dimension_of_a_table_has_bounds_of_its_own() -> None:
    made = resource("aws:dynamodb/table:Table", "t", {"readCapacity": 5, "writeCapacity": 5})
    reads = target(made, "dynamodb:table:ReadCapacityUnits", 10, 400)
    found = {line.what: hours(line) for line in lines(made, reads)}
    assert found == {
        "read capacity of the table, dynamodb.read_unit.hour": (10, 10, 400),
        "write capacity of the table, dynamodb.write_unit.hour": (5, 5, 5),
    }


def test_readers_that_a_policy_adds_are_machines_of_their_cluster() -> None:
    cluster = resource("aws:rds/cluster:Cluster", "c", {"engine": "aurora-postgresql"})
    member = {"engine": "aurora-postgresql", "instanceClass": "db.r6g.large", "clusterIdentifier": UNKNOWN}
    kind = "aws:rds/clusterInstance:ClusterInstance"
    one, two = (
        resource(kind, name, member, property_dependencies={"clusterIdentifier": (cluster.urn,)}) for name in "ab"
    )
    scaled = target(cluster, "rds:cluster:ReadReplicaCount", 1, 4)
    for members, wanted in (((one, two), (1, 1, 4)), ((one,), (2, 2, 5))):
        (line,) = (line for line in lines(cluster, *members, scaled) if line.resource == one.urn)
        assert hours(line) == wanted


STOP = "IyEvYmluL2Jhc2gKcHl0aG9uIGF1dG9zdG9wLnB5IC0tdGltZSAzNjAwCg=="  # starts autostop.py with an hour of idleness
NOTEBOOKS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [  # a notebook, and what makes it stop when it is idle
    ("gcp:workbench/instance:Instance", {"gceSetup": {"machineType": "g2-standard-4"}},
     {"gceSetup": {"machineType": "g2-standard-4", "metadata": {"idle-timeout-seconds": "3600"}}}),
    ("azure-native:machinelearningservices:Compute",
     {"properties": {"computeType": "ComputeInstance", "properties": {"vmSize": "Standard_NC4as_T4_v3"}}},
     {"properties": {"computeType": "ComputeInstance", "properties": {
         "vmSize": "Standard_NC4as_T4_v3", "idleTimeBeforeShutdown": "PT30M"}}}),
    ("aws:sagemaker/notebookInstance:NotebookInstance", {"instanceType": "ml.g5.xlarge"},
     {"instanceType": "ml.g5.xlarge", "lifecycleConfigName": UNKNOWN}),
    ("gcp:notebooks/runtime:Runtime",
     {"virtualMachine": {"virtualMachineConfig": {"machineType": "g2-standard-4"}}},
     {"virtualMachine": {"virtualMachineConfig": {"machineType": "g2-standard-4"}},
      "softwareConfig": {"idleShutdown": True}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "guarded"), NOTEBOOKS, ids=[kind for kind, *_ in NOTEBOOKS])
def test_a_notebook_that_stops_itself_has_no_machine_at_the_least(
    kind: str, inputs: dict[str, Any], guarded: dict[str, Any]
) -> None:
    config = resource(
        "aws:sagemaker/notebookInstanceLifecycleConfiguration:NotebookInstanceLifecycleConfiguration",
        "stop", {"onStart": STOP},
    )  # fmt: skip
    place = {"location": {"g": "us-central1-a", "a": "eastus"}[kind[0]]}
    for stated, floor in ((inputs, 1), (guarded, 0)):
        behind = {"lifecycleConfigName": (config.urn,)} if stated is guarded else {}
        made = resource(kind, "nb", {**place, **stated}, property_dependencies=behind)
        machine = next(line for line in lines(config, made) if line.unit == "machine-hour")
        assert hours(machine) == (floor, 1, 1)


def test_an_endpoint_of_another_provider_finds_its_configuration_by_name() -> None:
    variants = [{"variantName": "v", "instanceType": "ml.g5.xlarge", "initialInstanceCount": 1}]
    config = resource(
        "aws-native:sagemaker:EndpointConfig", "c", {"endpointConfigName": "chat-a", "productionVariants": variants}
    )
    endpoint = resource("aws-native:sagemaker:Endpoint", "e", {"endpointName": "chat", "endpointConfigName": "chat-a"})
    scaled = resource(
        "aws:appautoscaling/target:Target", "t",
        {"serviceNamespace": "sagemaker", "resourceId": "endpoint/chat/variant/v", "minCapacity": 1, "maxCapacity": 4},
    )  # fmt: skip
    (line,) = (line for line in lines(config, endpoint, scaled) if line.resource == endpoint.urn)
    assert hours(line) == (1, 1, 4)
