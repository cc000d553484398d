"""What recorded resources cost: a table of figures that a person can check, laws, unknown values, own rates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.resources import UNKNOWN, Plan, RecordedResource, facts, price
from sizewell.resources.priced import Pricing
from sizewell.resources.usage import parse_usage
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.tariff import Tariff
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.money import Interval, Unpriced, total

ON = date(2026, 11, 21)
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}
ASG, LT = "aws:autoscaling/group:Group", "aws:ec2/launchTemplate:LaunchTemplate"
POOL, VMSS = "gcp:container/nodePool:NodePool", "azure-native:compute:VirtualMachineScaleSet"


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:dev::t::{kind}::{name}"


def make(kind: str, name: str = "it", inputs: dict[str, Any] | None = None, **options: Any) -> RecordedResource:
    return RecordedResource(urn=urn(kind, name), type=kind, name=name, inputs=inputs or {}, **options)


def group(size: dict[str, Any], template: dict[str, Any]) -> tuple[RecordedResource, ...]:
    refs = {"launchTemplate": (urn(LT, "lt"),)}
    inputs = {**size, "launchTemplate": {"id": UNKNOWN}}
    return make(LT, "lt", template), make(ASG, "group", inputs, property_dependencies=refs)


def priced(*resources: RecordedResource, **options: Any) -> Pricing:
    return price(Plan(project="t", stack="dev", resources=resources, config=CONFIG), load(), on=ON, **options)


def rate(cloud: str, kind: str, region: str, market: str) -> Decimal:
    found = load().price(cloud, kind, region, market, ON)
    assert not isinstance(found, Unpriced)
    return found.amount


def test_a_group_bills_from_its_smallest_to_its_largest_size() -> None:
    lines = priced(*group({"minSize": 0, "desiredCapacity": 2, "maxSize": 4}, {"instanceType": "g6.xlarge"})).items
    assert [line.cost() for line in lines] == [
        Interval(Decimal(0), 2 * 730 * Decimal("0.8048"), 4 * 730 * Decimal("0.8048")).cents()
    ]


def test_the_same_machine_costs_the_same_here_and_in_a_decision() -> None:
    """One arithmetic: a pool, its disks and a control plane, from resources and from the functions that size."""
    hours = {"floor": 0.0, "expected": 300.0, "ceiling": 1460.0}
    stated = {
        "kind": "pool",
        "name": "chat",
        "environment": "dev",
        "instanceType": "g6.xlarge",
        "nodeHoursPerMonth": hours,
    }
    owner = make("sizewell-aws:index:GpuNodeGroup", "chat", {"sizewell": stated}, custom=False)
    template = {"instanceType": "g6.xlarge", "blockDeviceMappings": [{"ebs": {"volumeSize": 200, "volumeType": "gp3"}}]}
    made = [
        RecordedResource(
            urn=r.urn, type=r.type, name=r.name, inputs=r.inputs, parent=owner.urn,
            property_dependencies=r.property_dependencies,
        )
        for r in group({"minSize": 0, "desiredCapacity": 1, "maxSize": 2}, template)
    ]  # fmt: skip
    cluster = make("aws:eks/cluster:Cluster", "k8s")
    lines = priced(owner, *made, cluster).items
    hours = Interval(Decimal(0), Decimal(300), Decimal(1460))
    tariff = Tariff(load(), "aws", "us-east-1", ON)
    expected = [
        tariff.line(charges.machines("chat", "g6.xlarge", hours)),
        tariff.line(charges.disks("chat", Decimal(200), "ebs.gp3.gb_month", hours)),
        tariff.line(charges.control_plane("k8s", "eks.control_plane")),
    ]
    assert [replace(line, resource="") for line in lines] == expected


OUTPOST = "arn:aws:outposts:us-east-1:123456789012:outpost/op-1"
EDGE = {"name": "losangeles", "type": "EdgeZone"}
OUTPOST_SUBNET = make("aws:ec2/subnet:Subnet", "here", {"outpostArn": OUTPOST, "cidrBlock": "10.0.0.0/24"})
REGION_SUBNET = make("aws:ec2/subnet:Subnet", "there", {"cidrBlock": "10.0.1.0/24"})
MACHINE = {"instanceType": "m5.large", "ami": "ami-1"}
DISK = {"location": "eastus", "diskSizeGB": 128, "sku": {"name": "Premium_LRS"}}


@pytest.mark.parametrize(
    ("resources", "known"),
    [
        ([make("aws:ebs/volume:Volume", "d", {"size": 100, "type": "gp2", "outpostArn": OUTPOST})], False),
        ([make("aws:ebs/volume:Volume", "d", {"size": 100, "type": "gp2"})], True),
        (
            [
                OUTPOST_SUBNET,
                make(
                    "aws:ec2/instance:Instance",
                    "i",
                    {**MACHINE, "subnetId": "x"},
                    property_dependencies={"subnetId": (OUTPOST_SUBNET.urn,)},
                ),
            ],
            False,
        ),
        (
            [
                REGION_SUBNET,
                make(
                    "aws:ec2/instance:Instance",
                    "i",
                    {**MACHINE, "subnetId": "x"},
                    property_dependencies={"subnetId": (REGION_SUBNET.urn,)},
                ),
            ],
            True,
        ),
        ([make("azure-native:compute:Disk", "d", {**DISK, "extendedLocation": EDGE})], False),
        ([make("azure-native:compute:Disk", "d", DISK)], True),
    ],
)
def test_what_stands_on_an_outpost_or_in_an_edge_zone_is_not_billed_by_its_region(
    resources: list[RecordedResource], known: bool
) -> None:
    items = priced(*resources).items
    assert items
    assert [not isinstance(item.cost(), Unpriced) for item in items] == [known] * len(items)
    assert known or all("of its own: none is known" in str(item.cost()) for item in items)


FIGURES: dict[str, tuple[tuple[RecordedResource, ...], str]] = {
    "spot group by its policy": (
        (
            make(LT, "lt", {"instanceType": "g6.xlarge"}),
            make(
                ASG, "g",
                {"minSize": 1, "desiredCapacity": 1, "maxSize": 1, "mixedInstancesPolicy": {
                    "instancesDistribution": {"onDemandBaseCapacity": 0, "onDemandPercentageAboveBaseCapacity": 0},
                    "launchTemplate": {"launchTemplateSpecification": {"launchTemplateId": UNKNOWN}}}},
                property_dependencies={"mixedInstancesPolicy": (urn(LT, "lt"),)},
            ),
        ),
        "aws g6.xlarge us-east-1 spot 730",
    ),
    "spot node pool in three zones": (
        (make(POOL, "p", {"location": "us-central1", "nodeCount": 1, "nodeConfig": {
            "machineType": "g2-standard-4", "spot": True, "diskSizeGb": 0}}),),
        "gcp g2-standard-4 us-central1 spot 2190",
    ),
    "scale set": (
        (make(VMSS, "s", {"location": "East US", "sku": {"name": "Standard_NC24ads_A100_v4", "capacity": 3}}),),
        "azure Standard_NC24ads_A100_v4 eastus on-demand 2190",
    ),
    "TPU VM of two machines": (
        (make("gcp:tpu/v2Vm:V2Vm", "t", {"zone": "us-central1-a", "acceleratorType": "v5litepod-8"}),),
        "gcp ct5lp-hightpu-4t us-central1 on-demand 1460",
    ),
    "reserved machines are billed unused": (
        (make("aws:ec2/capacityReservation:CapacityReservation", "r", {
            "instanceType": "p5.48xlarge", "instanceCount": 2, "availabilityZone": "us-east-1a"}),),
        "aws p5.48xlarge us-east-1 on-demand 1460",
    ),
    "Azure ML from zero": (
        (make("azure-native:machinelearningservices:Compute", "c", {"location": "eastus", "properties": {
            "computeType": "AmlCompute", "properties": {"vmSize": "Standard_NC24ads_A100_v4",
            "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 2}}}}),),
        "azure Standard_NC24ads_A100_v4 eastus on-demand 1460",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_machines_by_region_and_market(name: str) -> None:
    resources, words = FIGURES[name]
    cloud, kind, region, market, hours = words.split()
    lines = [line for line in priced(*resources).items if line.unit == "machine-hour"]
    cost = total(lines).run_rate.usd_per_month
    assert cost.ceiling == (rate(cloud, kind, region, market) * int(hours)).quantize(Decimal("0.01"))


def test_sagemaker_adds_its_surcharge_by_type() -> None:
    line = priced(make("aws:sagemaker/notebookInstance:NotebookInstance", "n", {"instanceType": "ml.g6.xlarge"})).items[
        0
    ]
    cost = line.cost()
    assert isinstance(cost, Interval)
    assert cost.expected == (Decimal("0.8048") * Decimal("1.40") * 730).quantize(Decimal("0.01"))
    assert "40 % sagemaker surcharge" in line.how


def test_fees_beyond_what_is_included() -> None:
    lines = priced(
        make("aws:ebs/volume:Volume", "v", {"size": 100, "type": "gp3", "iops": 5000, "throughput": 125})
    ).items
    assert [line.cost().expected for line in lines] == [Decimal("8.00"), Decimal("10.00")]  # type: ignore[union-attr]


def test_every_resource_is_counted_exactly_once() -> None:
    found = priced(
        *group({"minSize": 0, "maxSize": 2}, {"instanceType": "g6.xlarge"}),
        make("aws:iam/role:Role"),
        make("aws:bedrock/customModel:CustomModel"),
        make("aws:s3/bucket:Bucket", "data"),
        make("acme:thing:Thing"),
        make("sizewell-aws:index:Network", custom=False),
    ).coverage
    assert (found.detected, found.estimated, found.free, found.unpriced, found.unknown) == (7, 1, 3, 1, 1)
    assert found.by_use == 1  # a bucket: its rate is known, and nobody can know what it will hold


def test_an_unknown_type_is_named_and_never_zero() -> None:
    found = priced(make("acme:thing:Thing"))
    assert [kind for _, kind, _ in found.unknown] == ["acme:thing:Thing"]
    assert found.cost().unpriced
    assert isinstance(found.items[0].cost(), Unpriced)


def test_a_free_type_is_free_with_a_reason() -> None:
    assert priced(make("aws:iam/role:Role")).free[0][2] == "identities and permissions are free"


def test_a_missing_region_or_price_is_unpriced() -> None:
    far = priced(*group({"minSize": 1, "maxSize": 1, "region": "mars-north-1"}, {"instanceType": "g6.xlarge"}))
    assert isinstance(far.items[0].cost(), Unpriced)


# --- laws

SAMPLE = (
    make(LT, "lt", {"instanceType": "g6.xlarge", "blockDeviceMappings": [{"ebs": {"volumeSize": 100, "volumeType": "gp3"}}]}),
    make(ASG, "g", {"minSize": 1, "desiredCapacity": 2, "maxSize": 4, "launchTemplate": {"id": UNKNOWN}},
         property_dependencies={"launchTemplate": (urn(LT, "lt"),)}),
    make("gcp:container/cluster:Cluster", "c", {"location": "us-central1-a", "removeDefaultNodePool": True}),
    make(POOL, "p", {"location": "us-central1-a", "cluster": "c", "nodeConfig": {
        "machineType": "g2-standard-4", "spot": True, "diskSizeGb": 100, "diskType": "pd-balanced"},
        "autoscaling": {"minNodeCount": 0, "maxNodeCount": 3}, "nodeLocations": ["us-central1-a"]}),
    make("gcp:tpu/v2Vm:V2Vm", "t", {"zone": "us-central1-a", "acceleratorType": "v5litepod-8",
         "schedulingConfig": {"preemptible": False}}),
    make("gcp:compute/disk:Disk", "d", {"zone": "us-central1-a", "size": 100, "type": "pd-ssd"}),
    make(VMSS, "s", {"location": "eastus", "sku": {"name": "Standard_NC24ads_A100_v4", "capacity": 2},
         "virtualMachineProfile": {"priority": "Regular", "storageProfile": {"osDisk": {
             "diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}}}}}),
    make("azure-native:containerservice:ManagedCluster", "k", {"location": "eastus", "sku": {"tier": "Standard"},
         "agentPoolProfiles": [{"vmSize": "Standard_NC24ads_A100_v4", "count": 1, "osDiskType": "Ephemeral"}]}),
    make("aws:ebs/volume:Volume", "v", {"size": 100, "type": "gp3"}),
    make("aws:sagemaker/notebookInstance:NotebookInstance", "n", {"instanceType": "ml.g6.xlarge", "volumeSize": 50}),
    make("aws:ec2/instance:Instance", "i", {"instanceType": "g6.xlarge", "rootBlockDevice": {
        "volumeSize": 50, "volumeType": "gp3"}}),
    make("aws:fsx/lustreFileSystem:LustreFileSystem", "f", {"storageCapacity": 1200, "deploymentType": "PERSISTENT_2",
         "perUnitStorageThroughput": 250}),
)  # fmt: skip


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*prefix, key)
            yield from paths(part, (*prefix, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield (*prefix, index)
            yield from paths(part, (*prefix, index))


def masked(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return UNKNOWN
    head, *rest = path
    if isinstance(value, list):
        return [masked(part, tuple(rest)) if index == head else part for index, part in enumerate(value)]
    return {key: masked(part, tuple(rest)) if key == head else part for key, part in value.items()}


MASKS = [(index, path) for index, resource in enumerate(SAMPLE) for path in paths(dict(resource.inputs))]


@pytest.mark.parametrize("mask", MASKS, ids=[f"{SAMPLE[i].name}:{'.'.join(map(str, p))}" for i, p in MASKS])
def test_a_masked_value_becomes_an_interval_or_unpriced_and_never_less(mask: tuple[int, tuple[Any, ...]]) -> None:
    index, path = mask
    resource = SAMPLE[index]
    hidden = RecordedResource(
        urn=resource.urn, type=resource.type, name=resource.name, inputs=masked(dict(resource.inputs), path),
        property_dependencies=resource.property_dependencies,
    )  # fmt: skip
    whole = priced(*SAMPLE)
    found = priced(*SAMPLE[:index], hidden, *SAMPLE[index + 1 :])
    more_unknown = len(found.cost().unpriced) > len(whole.cost().unpriced)
    before, after = whole.cost().run_rate.usd_per_month, found.cost().run_rate.usd_per_month
    assert more_unknown or after.ceiling >= before.ceiling
    assert more_unknown or after.expected >= before.floor
    facts(Plan(project="t", stack="dev", resources=(hidden,), config=CONFIG), load())  # reads without raising


@given(st.lists(st.sampled_from(SAMPLE), unique_by=lambda r: r.urn, max_size=8), st.sampled_from(SAMPLE))
@settings(max_examples=60, deadline=None)
def test_another_resource_never_lowers_the_ceiling(some: list[RecordedResource], extra: RecordedResource) -> None:
    without = [resource for resource in some if resource.urn != extra.urn]
    before, after = priced(*without).cost(), priced(*without, extra).cost()
    known = len(after.unpriced) >= len(before.unpriced)
    assert not known or after.run_rate.usd_per_month.ceiling >= before.run_rate.usd_per_month.ceiling


@given(st.lists(st.sampled_from(SAMPLE), unique_by=lambda r: r.urn))
@settings(max_examples=40, deadline=None)
def test_rows_sum_to_the_headline_to_the_cent(some: list[RecordedResource]) -> None:
    found = priced(*some)
    rows = [cost for line in found.items if line.cadence == "monthly" and isinstance(cost := line.cost(), Interval)]
    assert sum((row.expected for row in rows), Decimal(0)) == found.cost().run_rate.usd_per_month.expected
    coverage = found.coverage
    assert coverage.detected == coverage.estimated + coverage.free + coverage.unpriced + coverage.unknown


# --- own rates and usage


def test_the_projects_own_rates_and_commitments_price_a_plan_like_a_named_file() -> None:
    resources = group({"minSize": 2, "desiredCapacity": 3, "maxSize": 4}, {"instanceType": "g6.xlarge"})
    plan = Plan(project="t", stack="dev", resources=resources, config=CONFIG)
    entry = {"cloud": "aws", "instance_type": "g6.xlarge", "region": "us-east-1", "count": 1}
    said = {
        "rates": [{"cloud": "aws", "market": "on-demand", "percent": 25}],
        "commitments": [{**entry, "usd_per_hour": "0.40", "until": "2027-01-01"}],
    }
    own = replace(load(), rates=parse_discounts(said))
    named = price(plan, load(), on=ON, discounts=parse_discounts(said))
    assert price(plan, own, on=ON).items == named.items
    assert price(plan, own, on=ON, discounts=parse_discounts(said)).items == named.items
    assert named.items != price(plan, load(), on=ON).items


def test_own_rates_and_commitments() -> None:
    resources = group({"minSize": 2, "desiredCapacity": 3, "maxSize": 4}, {"instanceType": "g6.xlarge"})
    percent = parse_discounts({"rates": [{"cloud": "aws", "market": "on-demand", "percent": 25}]})
    fixed = parse_discounts({"rates": [{"instance_type": "g6.xlarge", "usd": "0.50"}]})
    assert (
        priced(*resources, discounts=percent).items[0].cost()
        == Interval(*(Decimal(hours) * Decimal("0.8048") * Decimal("0.75") for hours in (1460, 2190, 2920))).cents()
    )
    assert priced(*resources, discounts=fixed).cost().run_rate.usd_per_month.ceiling == Decimal(4 * 730) / 2
    entry = {"cloud": "aws", "instance_type": "g6.xlarge", "region": "us-east-1", "count": 2,
             "usd_per_hour": "0.30", "until": "2027-06-30"}  # fmt: skip
    lines = priced(*resources, discounts=parse_discounts({"commitments": [entry]})).items
    assert [(line.quantity.floor, line.quantity.expected, line.quantity.ceiling) for line in lines] == [
        (1460, 1460, 1460),
        (0, 730, 1460),
    ]
    assert lines[0].price.source == "own commitment"  # type: ignore[union-attr]
    old = parse_discounts({"commitments": [{**entry, "until": "2026-01-01"}]})
    assert len(priced(*resources, discounts=old).items) == 1


def test_stated_use_prices_a_bucket_and_says_so() -> None:
    usage = parse_usage(
        {"usage": [{"resource": "it", "stored_gigabytes": {"floor": 0, "expected": 500, "ceiling": 1000}}]}
    )
    line = priced(make("aws:s3/bucket:Bucket"), usage=usage).items[0]
    assert line.cost() == Interval(Decimal("0.00"), Decimal("11.50"), Decimal("23.00"))
    assert (line.how, line.confidence) == ("from the usage file", "assumed usage")


WRONG = {
    "usage is a list": (parse_usage, [], "must be a mapping with usage"),
    "unknown measure": (parse_usage, {"usage": [{"resource": "x", "stored_gb": 1}]}, "did you mean stored_gigabytes?"),
    "negative use": (parse_usage, {"usage": [{"resource": "x", "stored_gigabytes": -1}]}, "none negative, got -1"),
    "bounds out of order": (
        parse_usage,
        {"usage": [{"resource": "x", "stored_gigabytes": {"floor": 2, "expected": 1, "ceiling": 3}}]},
        "floor <= expected <= ceiling",
    ),
    "not a number": (parse_usage, {"usage": [{"resource": "x", "stored_gigabytes": ".nan"}]}, "must be a number"),
    "a resource at the top": (parse_usage, {"audio": {"stored_gigabytes": 1}}, "audio: unknown key"),
    "no resource": (parse_usage, {"usage": [{"stored_gigabytes": 1}]}, "usage[0].resource"),
    "unknown section": (parse_discounts, {"rate": []}, "did you mean rates?"),
    "percent and usd": (parse_discounts, {"rates": [{"percent": 1, "usd": 1}]}, "exactly one of percent and usd"),
    "neither": (parse_discounts, {"rates": [{"cloud": "aws"}]}, "exactly one of percent and usd"),
    "percent above 100": (parse_discounts, {"rates": [{"percent": 130}]}, "from 0 to 100, got 130"),
    "commitment without an end": (
        parse_discounts,
        {"commitments": [{"cloud": "aws", "instance_type": "x", "region": "y", "count": 1, "usd_per_hour": 1}]},
        "commitments[0].until: is missing",
    ),
    "commitment of nothing": (
        parse_discounts,
        {"commitments": [{"cloud": "aws", "instance_type": "x", "region": "y", "count": 0, "usd_per_hour": 1,
                          "until": "2027-01-01"}]},
        "from 1 to 100,000, got 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_name_the_fault(name: str) -> None:
    parse, data, words = WRONG[name]
    with pytest.raises(ConfigError) as caught:
        parse(data, "own.yaml")
    assert words in str(caught.value)
    assert str(caught.value).startswith("own.yaml: ")


def test_a_training_job_is_paid_once_and_at_most() -> None:
    inputs = {
        "resourceConfig": {"instanceType": "ml.g6.xlarge", "instanceCount": 2},
        "stoppingCondition": {"maxRuntimeInSeconds": 36000},
    }
    line = priced(make("aws:sagemaker/trainingJob:TrainingJob", "train", inputs)).items[0]
    assert line.cadence == "once"
    most = (Decimal(20) * Decimal("0.8048") * Decimal("1.40")).quantize(Decimal("0.01"))
    assert line.cost() == Interval(Decimal("0.00"), most, most)


@pytest.mark.parametrize(
    ("service", "revision", "instances"),
    [
        ({"minInstanceCount": 3}, {"maxInstanceCount": 5}, (3, 5)),
        ({"minInstanceCount": 1, "maxInstanceCount": 9}, {"minInstanceCount": 2, "maxInstanceCount": 4}, (2, 4)),
        ({"scalingMode": "MANUAL", "manualInstanceCount": 3}, {"maxInstanceCount": 5}, (3, 3)),
        ({"minInstanceCount": 3}, None, (3, None)),
        ({"minInstanceCount": UNKNOWN}, {"maxInstanceCount": 5}, (0, 5)),
        (None, {"minInstanceCount": 3, "maxInstanceCount": UNKNOWN}, (3, None)),
    ],
)
def test_cloud_run_bills_the_minimum_of_service_and_revision_and_names_what_nothing_bounds(
    service, revision, instances
):
    limits = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    template = {"containers": [{"resources": {"limits": limits}}], "scaling": revision}
    stated = {"location": "us-central1", "template": template, "scaling": service, "gpuZonalRedundancyDisabled": True}
    rates = parse_discounts(
        {
            "rates": [
                {"fee": fee, "usd": 1}
                for fee in ("cloudrun.gpu.l4.second", "cloudrun.cpu.second", "cloudrun.memory.gib_second")
            ]
        }
    )
    found = priced(make("gcp:cloudrunv2/service:Service", "llm", stated), discounts=rates)
    (gpu,) = [line for line in found.items if line.what == "Cloud Run GPU, nvidia-l4"]
    least, most = instances
    assert gpu.quantity.floor == least * 730 * 3600
    assert gpu.quantity.ceiling == (most or least) * 730 * 3600
    above = [line for line in found.items if "more instances" in line.what]
    assert bool(above) == (most is None)
    assert all(isinstance(line.price, Unpriced) for line in above)


@pytest.mark.parametrize("kind", ["t4", "p100", "p4", "v100"])
@pytest.mark.parametrize("spot", [True, False])
def test_every_accelerator_that_google_attaches_has_its_price_on_demand_and_on_spot(kind: str, *, spot: bool) -> None:
    attached = {"guestAccelerators": [{"type": f"nvidia-tesla-{kind}", "count": 2}]}
    machine = {"machineType": "n1-standard-8", "zone": "us-central1-a", **attached}
    stated = {**machine, "scheduling": {"preemptible": spot, "provisioningModel": "SPOT" if spot else "STANDARD"}}
    found = priced(make("gcp:compute/instance:Instance", "box", stated))
    (line,) = [line for line in found.items if line.unit == "accelerator-hour"]
    assert not isinstance(line.price, Unpriced)
    assert line.quantity.expected == 2 * 730


def test_a_retired_accelerator_is_said_to_be_retired_where_its_price_is_missing() -> None:
    attached = {"guestAccelerators": [{"type": "nvidia-tesla-k80", "count": 1}]}
    machine = {"machineType": "n1-standard-8", "zone": "us-central1-a", **attached}
    ((_, _, reason),) = priced(make("gcp:compute/instance:Instance", "old", machine)).unpriced
    assert reason.endswith(
        "nvidia-tesla-k80 is retired since 2024-05-01, take nvidia-tesla-t4, or an L4 with machine type g2-standard-8"
    )


def test_the_metrics_of_an_aks_pool_are_unknown_while_its_cluster_is_in_another_stack() -> None:
    kind = "azure-native:containerservice:AgentPool"
    pool = make(kind, "gpu", {"resourceName": "elsewhere", "vmSize": "Standard_NC24ads_A100_v4", "count": 1})
    cluster = make("azure-native:containerservice:ManagedCluster", "here", {"resourceName": "here"})
    inside = replace(pool, inputs={**pool.inputs, "resourceName": "here"})
    plans = (Plan(project="t", stack="dev", resources=each, config=CONFIG) for each in ((pool,), (cluster, inside)))
    assert [next(each for each in facts(plan, load()).pools if each.name == "gpu").metrics for plan in plans] == [
        UNKNOWN,
        False,
    ]
