"""What teams build beside our components: each AI-relevant type is priced, free with a reason, or said to be
unpriced."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sizewell import csvtables
from sizewell.resources import UNKNOWN, Plan, RecordedResource, price
from sizewell.resources.priced import Pricing
from sizewell.resources.tables import FREE, PRICERS, free_reason, gaps
from sizewell.resources.usage import MEASURES, parse_usage
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import parse_discounts
from sizewell.sizing.money import Interval, Priced, Unpriced

ON = date(2026, 11, 21)
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}


def make(kind: str, inputs: dict[str, Any], name: str = "it", **depends: RecordedResource) -> RecordedResource:
    refs = {key: (other.urn,) for key, other in depends.items()}
    urn = f"urn:pulumi:dev::t::{kind}::{name}"
    return RecordedResource(urn=urn, type=kind, name=name, inputs=inputs, property_dependencies=refs)


def priced(*resources: RecordedResource, usage: Any = None, rates: Any = None, config: Any = None) -> Pricing:
    plan = Plan(project="t", stack="dev", resources=resources, config={**CONFIG, **(config or {})})
    return price(
        plan, load(), on=ON, usage=parse_usage({"usage": usage}) if usage else None,
        discounts=parse_discounts({"rates": rates}) if rates else None,
    )  # fmt: skip


def hourly(cloud: str, kind: str, market: str = "on-demand") -> Decimal:
    region = {"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus"}[cloud]
    found = load().price(cloud, kind, region, market, ON)
    assert isinstance(found, Priced)
    return found.amount


A100, G6, G2 = "Standard_NC24ads_A100_v4", "g6.xlarge", "g2-standard-4"
MONTH = Decimal(730)
VERTEX = Decimal("1.15")


def ml(kind: str) -> Decimal:
    premium = load().sagemaker_premium(kind)
    assert isinstance(premium, Priced)
    return hourly("aws", kind) * (100 + premium.amount) / 100


MACHINES: list[tuple[str, dict[str, Any], Any, Any, Any]] = [  # type, inputs, floor, expected, ceiling: machine-hours x price
    ("azure-native:compute:CapacityReservation", {"sku": {"name": A100, "capacity": 2}}, *[("azure", A100, 1460)] * 3),
    ("azure-native:batch:Pool", {"vmSize": A100, "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 3}}}, *[("azure", A100, 2190)] * 3),
    ("azure-native:azurefleet:Fleet", {"vmSizesProfile": [{"name": A100}], "regularPriorityProfile": {"capacity": 2}}, *[("azure", A100, 1460)] * 3),
    ("gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool", {"dedicatedResources": {"machineSpec": {"machineType": G2}, "minReplicaCount": 1, "maxReplicaCount": 3}},
     ("vertex", G2, 730), ("vertex", G2, 730), ("vertex", G2, 2190)),
    ("gcp:vertex/aiPersistentResource:AiPersistentResource", {"resourcePools": [{"machineSpec": {"machineType": G2}, "replicaCount": 2}]}, *[("vertex", G2, 1460)] * 3),
    ("gcp:notebooks/runtime:Runtime", {"virtualMachine": {"virtualMachineConfig": {"machineType": G2}}}, *[("gcp", G2, 730)] * 3),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "floor", "expected", "ceiling"), MACHINES, ids=[m[0] for m in MACHINES])
def test_machines_of_managed_services(
    kind: str, inputs: dict[str, Any], floor: Any, expected: Any, ceiling: Any
) -> None:
    def usd(stated: tuple[str, str, int]) -> Decimal:
        cloud, machine, hours = stated
        return (hourly("gcp", machine) * VERTEX if cloud == "vertex" else hourly(cloud, machine)) * hours

    found = priced(make(kind, inputs))
    assert found.unpriced == ()
    assert found.cost().run_rate.usd_per_month == Interval(usd(floor), usd(expected), usd(ceiling)).cents()


def test_a_group_with_a_launch_configuration_bills_its_machines_and_disks() -> None:
    kind = "aws:ec2/launchConfiguration:LaunchConfiguration"
    old = make(kind, {"instanceType": G6, "rootBlockDevice": {"volumeSize": 100, "volumeType": "gp3"}}, "lc")
    stated = {"minSize": 2, "maxSize": 2, "desiredCapacity": 2, "launchConfiguration": UNKNOWN}
    found = priced(old, make("aws:autoscaling/group:Group", stated, "g", launchConfiguration=old))
    assert found.unpriced == ()
    assert found.cost().run_rate.usd_per_month.expected == (
        round(hourly("aws", G6) * 1460, 2) + 16 + Decimal("4.20")  # 2 x 100 GB x 0.08, and 2 x 7 metrics x 0.30
    )
    spot = make(kind, {**old.inputs, "spotPrice": "0.5"}, "lc")
    (line, *_) = priced(spot, make("aws:autoscaling/group:Group", stated, "g", launchConfiguration=spot)).items
    assert line.what == "g6.xlarge, spot, us-east-1"


def test_a_machine_from_a_template_is_what_the_template_says() -> None:
    template = make("gcp:compute/instanceTemplate:InstanceTemplate", {"machineType": G2}, "t")
    inputs = {"zone": "us-central1-a", "sourceInstanceTemplate": UNKNOWN}
    machine = make("gcp:compute/instanceFromTemplate:InstanceFromTemplate", inputs, sourceInstanceTemplate=template)
    assert priced(template, machine).items[0].quantity == Interval.exactly(MONTH.quantize(Decimal("0.0001")))
    alone = priced(make(machine.type, {"zone": "us-central1-a", "sourceInstanceTemplate": "elsewhere"}))
    assert [reason for *_, reason in alone.unpriced] == ["its template is not in this plan"]


def test_a_hyperparameter_search_costs_at_most_all_of_its_jobs_once() -> None:
    job = {
        "resourceConfig": {"instanceType": "ml.g5.xlarge", "instanceCount": 2},
        "stoppingCondition": {"maxRuntimeInSeconds": 7200},
    }
    search = {"resourceLimits": {"maxNumberOfTrainingJobs": 5}}
    inputs = {"hyperParameterTuningJobConfig": search, "trainingJobDefinition": job}
    cost = priced(make("aws:sagemaker/hyperParameterTuningJob:HyperParameterTuningJob", inputs)).cost()
    assert cost.run_rate.usd_per_month.ceiling == 0
    assert cost.one_off.usd == Interval(Decimal(0), *[ml("g5.xlarge") * 20] * 2).cents()


def test_batch_pools_name_what_nobody_bounds() -> None:
    formula = make("azure-native:batch:Pool", {"vmSize": A100, "scaleSettings": {"autoScale": {"formula": "x"}}})
    (why,) = [reason for *_, reason in priced(formula).unpriced]
    assert "machine_hours in a usage file" in why
    used = priced(formula, usage=[{"resource": "it", "machine_hours": 100}])
    assert used.cost().run_rate.usd_per_month.expected == round(hourly("azure", A100) * 100, 2)
    both = {"fixedScale": {"targetDedicatedNodes": 1, "targetLowPriorityNodes": 2}}
    lines = priced(make("azure-native:batch:Pool", {"vmSize": A100, "scaleSettings": both})).items
    assert [line.what.split(", ")[1] for line in lines] == ["on-demand", "spot"]


READY = [{"name": "http", "instanceCount": 2}]
SERVERLESS = {
    "aws:eks/fargateProfile:FargateProfile": "vcpu_hours and memory_gigabyte_hours",
    "aws:ecs/service:Service": "vcpu_hours and memory_gigabyte_hours",
    "gcp:container/cluster:Cluster": "vcpu_hours and memory_gigabyte_hours",
    "gcp:cloudrunv2/job:Job": "gpu_seconds and vcpu_hours and memory_gigabyte_hours",
    "azure-native:app:ContainerApp": "vcpu_hours and memory_gigabyte_hours",
}


@pytest.mark.parametrize("kind", SERVERLESS)
def test_serverless_says_which_use_prices_it(kind: str) -> None:
    config = make(
        "aws:sagemaker/endpointConfiguration:EndpointConfiguration",
        {"productionVariants": [{"serverlessConfig": {"maxConcurrency": 5, "memorySizeInMb": 4096}}]}, "c",
    )  # fmt: skip
    scale: dict[str, Any] = {"scale": {"minReplicas": 1}}
    scale["template"] = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
    inputs = {"launchType": "FARGATE", "enableAutopilot": True, "endpointConfigName": UNKNOWN, "template": scale}
    found = priced(config, make(kind, inputs, endpointConfigName=config))
    assert f"put {SERVERLESS[kind]} in a usage file" in found.unpriced[0][2]


@pytest.mark.parametrize(
    ("kind", "inputs", "by_use"),
    [
        ("azure-native:app:ContainerApp", {}, True),
        ("azure-native:app:ContainerApp", {"template": {"scale": {"minReplicas": 0}}}, True),
        ("azure-native:app:ContainerApp", {"template": {"scale": {"minReplicas": 1}}}, False),
        ("azure-native:app:ContainerApp", {"template": {"scale": {"minReplicas": UNKNOWN}}}, False),
        ("azure-native:app:Job", {}, True),
        ("azure-native:app:Job", {"workloadProfileName": "gpu-a100"}, False),
        ("azure:containerapp/app:App", {}, True),
        ("azure:containerapp/app:App", {"template": {"minReplicas": 0}}, True),
        ("azure:containerapp/app:App", {"template": {"minReplicas": 1}}, False),
        ("azure:containerapp/job:Job", {}, True),
        ("gcp:cloudrunv2/job:Job", {}, True),
        ("aws:apprunner/service:Service", {}, False),
        ("azure-native:web:AppServicePlan", {"sku": {"name": "Y1"}}, True),
        ("azure-native:web:AppServicePlan", {"sku": {"name": "FC1", "tier": "FlexConsumption"}}, True),
        ("azure-native:web:AppServicePlan", {"sku": {"name": "EP9"}}, False),
        ("azure-native:web:AppServicePlan", {"sku": {"name": UNKNOWN}}, False),
        ("azure:appservice/servicePlan:ServicePlan", {"skuName": "Y1"}, True),
        ("azure:appservice/servicePlan:ServicePlan", {"skuName": "P9v3"}, False),
        ("azure:appservice/plan:Plan", {"sku": {"tier": "Dynamic", "size": "Y1"}}, True),
    ],
)
def test_containers_from_zero_are_billed_by_use_and_those_that_always_run_have_no_price(
    kind: str, inputs: dict[str, Any], by_use: bool
) -> None:
    found = priced(make(kind, inputs))
    assert bool(found.unpriced) is not by_use
    assert any("use not stated" in line for line in found.outside) is by_use


def test_a_container_app_has_the_gpu_of_its_profile_whatever_the_profile_is_called() -> None:
    profiles = [{"name": "accel", "workloadProfileType": "Consumption-GPU-NC24-A100"}]
    apps = make("azure-native:app:ManagedEnvironment", {"workloadProfiles": profiles}, "apps")
    app = {"workloadProfileName": "accel", "managedEnvironmentId": UNKNOWN}
    lines = priced(apps, make("azure-native:app:ContainerApp", app, managedEnvironmentId=apps)).items
    assert [line.what for line in lines] == ["container app GPU, a100"]


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("azure-native:web:WebApp", {"functionAppConfig": {"scaleAndConcurrency": {"alwaysReady": READY}}}),
        ("azure:appservice/appFlexConsumption:AppFlexConsumption", {"alwaysReadies": READY}),
    ],
)
def test_instances_of_a_function_that_are_always_ready_are_no_use(kind: str, inputs: dict[str, Any]) -> None:
    (why,) = [reason for *_, reason in priced(make(kind, inputs)).unpriced]
    assert "functions.ready_instance.hour" in why
    assert not priced(make(kind, {})).unpriced


def scheduled(expression: str = "rate(60 minutes)", **usage: int) -> Pricing:
    task = make(
        "aws:ecs/taskDefinition:TaskDefinition",
        {"requiresCompatibilities": ["FARGATE"], "cpu": "1024", "memory": "4096"},
        "task",
    )
    target = {"arn": UNKNOWN, "ecsParameters": {"taskDefinitionArn": UNKNOWN, "launchType": "FARGATE", "taskCount": 1}}
    inputs = {"scheduleExpression": expression, "target": target}
    schedule = make("aws:scheduler/schedule:Schedule", inputs, "schedule", target=task)
    return priced(task, schedule, usage=[{"resource": "task", **usage}] if usage else None)


@pytest.mark.parametrize(("expression", "runs_an_hour"), [("rate(60 minutes)", 1), ("rate(15 minutes)", 4)])
def test_a_scheduled_task_costs_from_a_minute_a_run_to_always_running(expression: str, runs_an_hour: int) -> None:
    found = scheduled(expression)
    assert found.unpriced == ()
    hour = Decimal("0.04048") + 4 * Decimal("0.004445")  # one vCPU and 4 GB in us-east-1
    minutes = [Decimal(1) * runs_an_hour, Decimal(5) * runs_an_hour, Decimal(60)]
    assert found.cost().run_rate.usd_per_month == Interval(*(MONTH * each / 60 * hour for each in minutes)).cents()
    assert all(line.confidence == "assumed usage" and "in a usage file" in line.how for line in found.items)


def test_a_scheduled_task_takes_its_stated_use() -> None:
    found = scheduled(vcpu_hours=100, memory_gigabyte_hours=400)
    assert found.cost().run_rate.usd_per_month == Interval.exactly(Decimal("5.83"))


def test_a_task_at_no_known_rate_says_which_use_prices_it() -> None:
    ((*_, why),) = scheduled("cron(0 6 * * ? *)").unpriced
    assert "put vcpu_hours and memory_gigabyte_hours in a usage file" in why


def test_stated_use_of_a_serverless_endpoint_is_priced() -> None:
    kind = "aws:sagemaker/endpointConfiguration:EndpointConfiguration"
    config = make(kind, {"productionVariants": [{"serverlessConfig": {"memorySizeInMb": 4096}}]}, "c")
    endpoint = make("aws:sagemaker/endpoint:Endpoint", {"endpointConfigName": UNKNOWN}, endpointConfigName=config)
    found = priced(config, endpoint, usage=[{"resource": "it", "gigabyte_seconds": 1_000_000}])
    assert found.unpriced == ()
    assert found.cost().run_rate.usd_per_month.expected == Decimal("20.00")


NAMED = [  # the list: nothing in it may be a type that nobody knows
    "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput", "aws:bedrock/agentAgent:AgentAgent",
    "aws:bedrock/customModel:CustomModel", "aws:bedrock/guardrail:Guardrail", "aws:sagemaker/app:App",
    "aws:sagemaker/domain:Domain", "aws:sagemaker/endpoint:Endpoint", "aws:sagemaker/notebookInstance:NotebookInstance",
    "aws:sagemaker/trainingJob:TrainingJob", "aws:sagemaker/featureGroup:FeatureGroup",
    "aws:sagemaker/mlflowTrackingServer:MlflowTrackingServer", "aws:sagemaker/labelingJob:LabelingJob",
    "aws:batch/computeEnvironment:ComputeEnvironment", "aws:batch/jobDefinition:JobDefinition",
    "aws:eks/nodeGroup:NodeGroup", "aws:ec2/fleet:Fleet", "aws:ec2/spotFleetRequest:SpotFleetRequest",
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest", "aws:ec2/capacityReservation:CapacityReservation",
    "aws:ec2/dedicatedHost:DedicatedHost", "aws:ecs/service:Service", "aws:emr/cluster:Cluster",
    "aws:fsx/lustreFileSystem:LustreFileSystem", "aws:fsx/openZfsFileSystem:OpenZfsFileSystem",
    "aws:efs/fileSystem:FileSystem", "aws:ebs/volume:Volume", "aws:s3/bucketV2:BucketV2", "aws:s3/bucket:Bucket",
    "aws:ec2/natGateway:NatGateway", "aws:lb/loadBalancer:LoadBalancer", "aws:ec2/eip:Eip",
    "aws:cloudwatch/logGroup:LogGroup", "aws:opensearch/serverlessCollection:ServerlessCollection",
    "gcp:vertex/aiEndpoint:AiEndpoint", "gcp:vertex/aiIndexEndpoint:AiIndexEndpoint",
    "gcp:vertex/aiIndexEndpointDeployedIndex:AiIndexEndpointDeployedIndex", "gcp:vertex/aiTensorboard:AiTensorboard",
    "gcp:vertex/aiFeatureOnlineStore:AiFeatureOnlineStore", "gcp:vertex/aiReasoningEngine:AiReasoningEngine",
    "gcp:workbench/instance:Instance", "gcp:tpu/v2Vm:V2Vm", "gcp:tpu/v2QueuedResource:V2QueuedResource",
    "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool", "gcp:filestore/instance:Instance",
    "gcp:lustre/instance:Instance", "gcp:parallelstore/instance:Instance", "gcp:netapp/storagePool:StoragePool",
    "gcp:cloudrunv2/service:Service", "gcp:cloudrunv2/job:Job", "gcp:compute/futureReservation:FutureReservation",
    "gcp:compute/regionCommitment:RegionCommitment", "gcp:compute/routerNat:RouterNat", "gcp:compute/address:Address",
    "gcp:dataproc/cluster:Cluster", "gcp:artifactregistry/repository:Repository",
    "azure-native:machinelearningservices:Compute", "azure-native:machinelearningservices:OnlineEndpoint",
    "azure-native:machinelearningservices:OnlineDeployment", "azure-native:machinelearningservices:BatchDeployment",
    "azure-native:machinelearningservices:ServerlessEndpoint", "azure-native:machinelearningservices:Job",
    "azure-native:cognitiveservices:Account", "azure-native:cognitiveservices:Deployment",
    "azure-native:batch:Pool", "azure-native:azurefleet:Fleet", "azure-native:containerservice:AgentPool",
    "azure-native:compute:VirtualMachineScaleSet", "azure-native:compute:Disk", "azure-native:compute:Snapshot",
    "azure-native:storagecache:AmlFilesystem", "azure-native:netapp:CapacityPool", "azure-native:network:NatGateway",
    "azure-native:network:LoadBalancer", "azure-native:network:PublicIPAddress", "azure-native:network:AzureFirewall",
    "azure-native:operationalinsights:Workspace", "azure-native:search:Service", "azure-native:app:ContainerApp",
]  # fmt: skip


@pytest.mark.parametrize("kind", NAMED)
def test_no_type_of_the_list_is_unknown(kind: str) -> None:
    found = priced(make(kind, {}))
    assert found.unknown == ()
    counts = found.coverage
    assert counts.detected == counts.estimated + counts.free + counts.by_use + counts.unpriced


MODEL = {"modelArn": "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-v2:1"}
MODEL_FEE = "bedrock.model_unit.anthropic.claude-v2-1.no_commitment.hour"


def test_what_the_catalog_has_no_price_for_names_the_fee_and_an_own_rate_prices_it() -> None:
    units = make("aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput", {"modelUnits": 2, **MODEL})
    ((*_, why),) = priced(units).unpriced
    assert why == f"aws {MODEL_FEE}: no price in the catalog (USD per hour)"
    own = priced(units, rates=[{"fee": MODEL_FEE, "usd": 20}])
    assert own.unpriced == ()
    assert own.cost().run_rate.usd_per_month == Interval.exactly(20 * 2 * MONTH).cents()
    hidden = make(units.type, {"modelUnits": UNKNOWN, **MODEL})
    assert priced(hidden, rates=[{"fee": MODEL_FEE, "usd": 20}]).unpriced
    committed = make(units.type, {"modelUnits": 2, **MODEL, "commitmentDuration": "OneMonth"})
    assert priced(committed, rates=[{"fee": MODEL_FEE, "usd": 20}]).unpriced


def test_tokens_are_outside_the_totals_until_a_usage_file_states_them() -> None:
    agent = make("aws:bedrock/agentAgent:AgentAgent", {})
    assert priced(agent).outside == ("it: model tokens (it): use not stated, not in totals",)
    use = [{"resource": "it", "million_output_tokens": 3}]
    assert priced(agent, usage=use).unpriced
    rates = [{"fee": "bedrock.tokens.output", "usd": 15}]
    assert priced(agent, usage=use, rates=rates).cost().run_rate.usd_per_month.expected == 45


@pytest.mark.parametrize("kind", sorted(PRICERS))
def test_nothing_known_of_a_resource_is_never_a_silent_zero(kind: str) -> None:
    """Every type that has a price rule, once with silent inputs: a line, a reason, or words outside the totals."""
    found = priced(make(kind, {}))
    assert found.unknown == ()
    for line in found.items:
        assert isinstance(line.price, Unpriced) or line.quantity.ceiling > 0 or line.price.amount == 0, line
    if not found.items:
        assert (*found.free, *found.by_use)[0][2], "free, or billed by use, with a reason"


def test_one_type_has_one_rule() -> None:
    assert not set(PRICERS) & set(FREE)
    assert not [kind for kind in gaps.TABLE if kind in FREE]
    services = [kind for kind in PRICERS if free_reason(kind)]
    assert services == []


def test_measures_that_price_rules_ask_for_are_those_a_file_may_state() -> None:
    import inspect
    import re

    asked = set(re.findall(r"(?:measure=|usage\.of\(resource, )\"(\w+)\"", inspect.getsource(gaps)))
    rows = csvtables.read(gaps.Billed, Path(gaps.__file__).parent / "data/billed.csv")
    asked |= {*gaps._PODS, *(measure for row in rows for measure, _ in row.fees)}
    assert asked <= set(MEASURES)


def test_pools_inside_of_a_cluster_are_counted_by_zone_like_pools_of_their_own() -> None:
    node = {"machineType": G2, "diskSizeGb": 100, "diskType": "pd-balanced"}
    pool = {"nodeConfig": node, "initialNodeCount": 1, "autoscaling": {"minNodeCount": 0, "maxNodeCount": 2}}
    inside = make("gcp:container/cluster:Cluster", {"location": "us-central1", "nodePools": [pool]}, "c")
    empty = make("gcp:container/cluster:Cluster", {"location": "us-central1", "removeDefaultNodePool": True}, "c")
    own = make("gcp:container/nodePool:NodePool", {**pool, "location": "us-central1"}, "p")
    assert priced(inside).cost().run_rate == priced(empty, own).cost().run_rate
    hidden = make("gcp:container/cluster:Cluster", {"location": "us-central1", "nodePools": [UNKNOWN]}, "c")
    ((*_, why),) = priced(hidden).unpriced
    assert why.startswith("the pool is known only after deployment")


SPEC = {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 2}
ATTACHED: list[tuple[str, dict[str, Any], Decimal]] = [  # type, inputs, factor of the list price
    ("gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool", {"dedicatedResources": {"machineSpec": SPEC, "minReplicaCount": 1}}, VERTEX),
    ("gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment", {"deployConfig": {"dedicatedResources": {"machineSpec": SPEC, "minReplicaCount": 1}}}, VERTEX),
    ("gcp:vertex/aiPersistentResource:AiPersistentResource", {"resourcePools": [{"machineSpec": SPEC, "replicaCount": 1}]}, VERTEX),
    ("gcp:notebooks/instance:Instance", {"machineType": "n1-standard-4", "acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "coreCount": 2}}, Decimal(1)),
    ("gcp:notebooks/runtime:Runtime", {"virtualMachine": {"virtualMachineConfig": {"machineType": "n1-standard-4", "acceleratorConfig": {"type": "NVIDIA_TESLA_T4", "coreCount": 2}}}}, Decimal(1)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "factor"), ATTACHED, ids=[kind for kind, *_ in ATTACHED])
def test_accelerators_beside_a_general_machine_type_are_billed(
    kind: str, inputs: dict[str, Any], factor: Decimal
) -> None:
    found = priced(make(kind, inputs))
    assert found.unpriced == ()
    fee = load().fee("gcp", "n1.gpu.t4.hour", "us-central1", ON)
    assert isinstance(fee, Priced)
    expected = (hourly("gcp", "n1-standard-4") + 2 * fee.amount) * factor * MONTH
    assert found.cost().run_rate.usd_per_month.expected == Interval.exactly(expected).cents().expected


@pytest.mark.parametrize("kind", ["NVIDIA_H200_141GB", UNKNOWN])
def test_an_accelerator_without_a_price_is_unpriced_and_not_free(kind: Any) -> None:
    spec = {**SPEC, "acceleratorType": kind}
    found = priced(make(ATTACHED[0][0], {"dedicatedResources": {"machineSpec": spec, "minReplicaCount": 1}}))
    assert len(found.unpriced) == 1


def test_a_reservation_counts_the_accelerators_of_its_machine_type_once() -> None:
    held = {
        "machineType": "a2-highgpu-1g",
        "guestAccelerators": [{"acceleratorType": "nvidia-tesla-a100", "acceleratorCount": 1}],
    }
    found = priced(
        make("gcp:compute/reservation:Reservation", {"specificReservation": {"count": 2, "instanceProperties": held}})
    )
    assert found.unpriced == ()
    assert (
        found.cost().run_rate.usd_per_month.expected
        == Interval.exactly(hourly("gcp", "a2-highgpu-1g") * 1460).cents().expected
    )


def test_a_serverless_endpoint_is_billed_by_use_like_a_function() -> None:
    variant = {"variantName": "a", "modelName": "m", "serverlessConfig": {"memorySizeInMb": 2048, "maxConcurrency": 5}}
    config = make("aws:sagemaker/endpointConfiguration:EndpointConfiguration", {"productionVariants": [variant]}, "c")
    endpoint = make("aws:sagemaker/endpoint:Endpoint", {"endpointConfigName": UNKNOWN}, "e", endpointConfigName=config)
    found = priced(config, endpoint)
    assert (found.unpriced, found.unknown) == ((), ())
    assert [kind for _, kind, _ in found.by_use] == ["aws:sagemaker/endpoint:Endpoint"]


def test_batch_is_read_in_the_spelling_of_cloudformation_too() -> None:
    stated = {"type": "EC2", "instanceTypes": ["g5.xlarge"], "minvCpus": 8, "maxvCpus": 8}
    found = priced(make("aws-native:batch:ComputeEnvironment", {"computeResources": stated}))
    assert found.unpriced == ()
    assert (
        found.cost().run_rate.usd_per_month.floor == Interval.exactly(hourly("aws", "g5.xlarge") * 1460).cents().floor
    )


def test_a_volume_of_a_cluster_elsewhere_is_billed_there() -> None:
    claim = make("kubernetes:core/v1:PersistentVolumeClaim", {"spec": {"resources": {"requests": {"storage": "20Gi"}}}})
    assert claim.urn in priced(claim).elsewhere
    cluster = make("aws:eks/cluster:Cluster", {"version": "1.33"}, "c")
    group = make(
        "aws:eks/nodeGroup:NodeGroup",
        {"instanceTypes": ["t3.large"], "scalingConfig": {"minSize": 1, "maxSize": 1, "desiredSize": 1}},
        "g",
    )
    assert claim.urn not in priced(cluster, group, claim).elsewhere


def hyperpod(kind: str, groups: list[dict[str, Any]], **more: Any) -> RecordedResource:
    if kind == "aws-native:sagemaker:Cluster":
        return make(kind, {"instanceGroups": groups, **more})
    state = {
        "InstanceGroups": [{f"{key[0].upper()}{key[1:]}": each for key, each in g.items()} for g in groups],
        **more,
    }
    return make(kind, {"typeName": "AWS::SageMaker::Cluster", "desiredState": json.dumps(state)})


@pytest.mark.parametrize("kind", ["aws-native:sagemaker:Cluster", "aws:cloudcontrol/resource:Resource"])
def test_a_hyperpod_cluster_costs_the_machines_of_its_groups_in_either_spelling(kind: str) -> None:
    groups = [
        {"instanceType": "ml.g6.xlarge", "instanceCount": 2, "instanceGroupName": "a"},
        {"instanceType": "ml.g5.xlarge", "instanceCount": 1, "instanceGroupName": "b"},
    ]
    lines = priced(hyperpod(kind, groups)).items
    machines = [line.cost() for line in lines if "ml." in line.what]
    assert [each.expected for each in machines if isinstance(each, Interval)] == [
        (ml("g6.xlarge") * 1460).quantize(Decimal("0.01")),
        (ml("g5.xlarge") * 730).quantize(Decimal("0.01")),
    ]


def test_what_of_a_hyperpod_cluster_is_bought_apart_or_scales_is_no_figure() -> None:
    group = {"instanceType": "ml.g6.xlarge", "instanceCount": 2, "instanceGroupName": "a"}
    scaled = hyperpod("aws-native:sagemaker:Cluster", [group], autoScaling={"mode": "Enable"})
    spot = hyperpod("aws-native:sagemaker:Cluster", [{**group, "capacityRequirements": {"spot": {}}}])
    unknown = hyperpod("aws-native:sagemaker:Cluster", [{**group, "instanceCount": UNKNOWN}])
    for each in (scaled, spot, unknown):
        assert isinstance(priced(each).items[0].price, Unpriced), each
    volume = {**group, "instanceStorageConfigs": [{"ebsVolumeConfig": {"volumeSizeInGb": 100}}]}
    assert [
        line.quantity.expected for line in priced(hyperpod("aws-native:sagemaker:Cluster", [volume])).items[1:]
    ] == [200]


def test_a_node_pool_stands_where_its_cluster_does_and_not_where_the_provider_would_put_it() -> None:
    def pool(**inputs: Any) -> RecordedResource:
        return make("gcp:container/nodePool:NodePool", {"nodeCount": 1, "nodeConfig": {"machineType": G2}, **inputs})

    provider = make("pulumi:providers:gcp", {"region": "us-central1"}, "p")
    by_provider = f"{provider.urn}::id"
    cluster = make("gcp:container/cluster:Cluster", {"location": "europe-west4", "name": "c"}, "c")
    of_cluster = replace(pool(cluster=UNKNOWN), property_dependencies={"cluster": (cluster.urn,)})
    named = pool(cluster="projects/x/locations/europe-west4/clusters/c")
    expected = [line.cost() for line in priced(pool(location="europe-west4")).items]
    assert not any(isinstance(each, Unpriced) for each in expected)
    for plan in ((cluster, of_cluster), (named,)):
        lines = priced(provider, *(replace(each, provider=by_provider) for each in plan)).items
        assert [line.cost() for line in lines if line.resource == named.urn] == expected


def test_a_pool_of_aks_stands_where_its_cluster_does() -> None:
    provider = make("pulumi:providers:azure-native", {"location": "eastus"}, "p")
    cluster = make("azure-native:containerservice:ManagedCluster", {"location": "westeurope"}, "c")
    inputs = {"resourceName": UNKNOWN, "vmSize": A100, "count": 1}
    pool = make("azure-native:containerservice:AgentPool", inputs, resourceName=cluster)
    lines = priced(provider, cluster, replace(pool, provider=f"{provider.urn}::id")).items
    assert next(line.what for line in lines if line.resource == pool.urn).endswith("westeurope")
