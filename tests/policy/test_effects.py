"""What keeps accelerators running counts by what it does, whatever its kind or its spelling is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from ends import EXPIRIES

from sizewell.policy.config import parse_config
from sizewell.policy.engine import evaluate
from sizewell.policy.examples import resource
from sizewell.policy.rules import idle_services
from sizewell.resources import Plan, RecordedResource, facts, price
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load

ON = date(2026, 11, 26)
SETTINGS = parse_config({"profile": "accelerators"})
GPU = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
LABELS = {"matchLabels": {"a": "b"}}
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def said(*resources: RecordedResource) -> dict[tuple[str, str], str]:
    """What is said of a development stack, by rule and resource."""
    plan = Plan(project="p", stack="dev", resources=resources, config={"aws:region": "us-east-1"})
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    report = evaluate(stated, SETTINGS, on=ON)
    return {(each.rule, each.resource): each.outcome for each in report.results}


def server(container: dict[str, Any], kind: str = "Deployment", **pod: Any) -> RecordedResource:
    template = {"spec": {"containers": [{"name": "m", "image": "i", **container}], **pod}}
    inputs = {"spec": {"replicas": 1, "selector": LABELS, "template": template}}
    return resource(f"kubernetes:apps/v1:{kind}", "m", inputs)


def held(*resources: RecordedResource) -> str | None:
    return said(*resources).get(("server-never-ends", "m"))


@pytest.mark.parametrize(
    "device",
    ["nvidia.com/mig-3g.40gb", "nvidia.com/gpu.shared", "habana.ai/gaudi", "gpu.intel.com/xe", "nvidia.com/gpumem",
     "aws.amazon.com/neuroncore", "amd.com/gpu"],
)  # fmt: skip
@pytest.mark.parametrize("part", ["limits", "requests"])
def test_a_device_counts_under_every_name(device: str, part: str) -> None:
    assert held(server({"resources": {part: {device: "1"}}})) == "violation"


def required(operator: str, *values: str, label: str = "nvidia.com/gpu.product") -> dict[str, Any]:
    return {"nodeAffinity": {AFFINITY: {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": label, "operator": operator, "values": list(values)}]}
    ]}}}  # fmt: skip


BESIDE: list[dict[str, Any]] = [
    {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}},
    {"nodeSelector": {"accelerator": "nvidia"}},
    {"nodeSelector": {"cloud.google.com/gke-accelerator": UNKNOWN}},
    {"nodeSelector": {"node.kubernetes.io/instance-type": "p5.48xlarge"}},
    {"runtimeClassName": "nvidia"},
    {"affinity": required("In", "NVIDIA-H100-80GB-HBM3")},
    {"affinity": required("Exists")},
    {"affinity": required("In", "Standard_ND96isr_H100_v5", label="node.kubernetes.io/instance-type")},
]
ANYWHERE: list[dict[str, Any]] = [
    {"nodeSelector": {"kubernetes.io/os": "linux"}},
    {"nodeSelector": {"nvidia.com/gpu.present": "false"}},
    {"nodeSelector": {"node.kubernetes.io/instance-type": "m6i.xlarge"}},
    {"runtimeClassName": "gvisor"},
    {"affinity": required("NotIn", "NVIDIA-H100-80GB-HBM3")},
    {"affinity": required("DoesNotExist")},
    {"affinity": required("In", "m6i.large", "g6.xlarge", label="node.kubernetes.io/instance-type")},
]


@pytest.mark.parametrize("pod", BESIDE)
def test_a_pod_that_runs_beside_accelerators_alone_holds_them(pod: dict[str, Any]) -> None:
    assert held(server({}, **pod)) == "violation"
    assert held(server({}, kind="DaemonSet", **pod)) is None, "it goes along with machines that others start"


@pytest.mark.parametrize("pod", ANYWHERE)
def test_a_pod_that_runs_anywhere_else_holds_none(pod: dict[str, Any]) -> None:
    assert said(server({}, **pod)).keys() & {("server-never-ends", "m"), ("pod-without-limits", "m")} == set()


def knative(**notes: Any) -> RecordedResource:
    template = {
        "metadata": {"annotations": {f"autoscaling.knative.dev/{key}": value for key, value in notes.items()}},
        "spec": {"containers": [{"image": "i", **GPU}]},
    }
    return resource("kubernetes:serving.knative.dev/v1:Service", "m", {"spec": {"template": template}})


@pytest.mark.parametrize(
    ("notes", "outcome"),
    [
        ({"min-scale": "1"}, "violation"),
        ({"minScale": "2"}, "violation"),
        ({"class": "hpa.autoscaling.knative.dev"}, "violation"),
        ({"min-scale": UNKNOWN}, "undetermined"),
        ({"min-scale": "0"}, None),
        ({}, None),
    ],
)
def test_a_service_of_knative_reaches_zero_unless_it_states_a_minimum(notes: dict[str, Any], outcome: str) -> None:
    assert held(knative(**notes)) == outcome


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("kubernetes:core/v1:ReplicationController", "violation"),
        ("kubernetes:argoproj.io/v1alpha1:Rollout", "violation"),
        ("kubernetes:apps.kruise.io/v1alpha1:CloneSet", "violation"),
        ("kubernetes:core/v1:PodTemplate", None),
        ("kubernetes:argoproj.io/v1alpha1:WorkflowTemplate", None),
        ("kubernetes:serving.kserve.io/v1alpha1:ServingRuntime", None),
        ("kubernetes:batch/v1:Job", None),
    ],
)
def test_every_kind_whose_pods_stay_is_judged(kind: str, outcome: str) -> None:
    spec = {"replicas": 1, "template": {"spec": {"containers": [{"name": "m", "image": "i", **GPU}]}}}
    assert held(resource(kind, "m", {"spec": spec})) == outcome


def machine(**inputs: Any) -> RecordedResource:
    return resource("aws:ec2/instance:Instance", "gpu", {"ami": "ami-1", **inputs})


@pytest.mark.parametrize(
    ("inputs", "rule", "outcome"),
    [
        ({"launchTemplate": {"id": "lt-123"}}, "not-judged", "undetermined"),
        ({"launchTemplate": {"id": UNKNOWN}}, "not-judged", "undetermined"),
        ({"launchTemplate": {"id": "lt-123"}, "instanceType": "g6.xlarge"}, "idle-exposure", "violation"),
        ({"launchTemplate": {"id": "lt-123"}, "instanceType": "m6i.large"}, "idle-exposure", None),
    ],
)
def test_a_template_that_lives_elsewhere_says_no_type(inputs: dict[str, Any], rule: str, outcome: str) -> None:
    assert said(machine(**inputs)).get((rule, "gpu")) == outcome


def alarm(**more: Any) -> RecordedResource:
    inputs = {
        "metricName": "CPUUtilization", "namespace": "AWS/EC2", "comparisonOperator": "LessThanThreshold",
        "threshold": 5, "dimensions": {"InstanceId": UNKNOWN}, "treatMissingData": "notBreaching",
        "alarmActions": ["arn:aws:automate:us-east-1:ec2:stop"], **more,
    }  # fmt: skip
    address = machine().urn
    return resource(
        "aws:cloudwatch/metricAlarm:MetricAlarm", "idle", inputs, property_dependencies={"dimensions": (address,)}
    )


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({}, None),
        ({"metricName": "NetworkIn", "threshold": 5000}, None),
        ({"alarmActions": ["arn:aws:swf:us-east-1:1:action/actions/AWS_EC2.InstanceId.Terminate/1.0"]}, None),
        ({"alarmActions": ["arn:aws:automate:us-east-1:ec2:reboot"]}, "violation"),
        ({"alarmActions": ["arn:aws:sns:us-east-1:1:people"]}, "violation"),
        ({"comparisonOperator": "GreaterThanThreshold"}, "violation"),
        ({"threshold": 0}, "violation"),
        ({"actionsEnabled": False}, "violation"),
        ({"threshold": UNKNOWN}, "undetermined"),
    ],
)
def test_an_alarm_that_stops_its_machine_is_a_guard_whatever_load_it_watches(
    more: dict[str, Any], outcome: str | None
) -> None:
    assert said(machine(instanceType="g6.xlarge"), alarm(**more)).get(("idle-exposure", "gpu")) == outcome


TASK = resource(
    "aws:ecs/taskDefinition:TaskDefinition", "t",
    {"family": "t", "containerDefinitions": '[{"name": "m", "resourceRequirements": [{"type": "GPU", "value": "4"}]}]'},
)  # fmt: skip


def scalable(least: int, most: int) -> RecordedResource:
    inputs = {"resourceId": "service/c/s", "minCapacity": least, "maxCapacity": most}
    return resource("aws:appautoscaling/target:Target", "scaled", inputs)


TRACKED = resource(
    "aws:appautoscaling/policy:Policy", "policy",
    {"resourceId": "service/c/s", "targetTrackingScalingPolicyConfiguration": {"targetValue": 50}},
)  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "others", "outcome"),
    [
        (2, (), "violation"),
        (0, (), None),
        (UNKNOWN, (), "undetermined"),
        (2, (scalable(1, 4), TRACKED), "violation"),
        (2, (scalable(0, 4), TRACKED), None),
    ],
)
def test_a_service_of_ecs_whose_tasks_hold_gpus_is_judged_on_whatever_machines(
    wanted: object, others: tuple[RecordedResource, ...], outcome: str | None
) -> None:
    inputs = {"cluster": "c", "launchType": "EC2", "desiredCount": wanted, "taskDefinition": UNKNOWN}
    service = resource(
        "aws:ecs/service:Service", "s", inputs, property_dependencies={"taskDefinition": (TASK.urn,)}
    )  # fmt: skip
    assert said(TASK, service, *others).get(("endpoint-keeps-machines", "s")) == outcome


@pytest.mark.parametrize("named", ["model", "model:3", "arn:aws:ecs:us-east-1:123456789012:task-definition/model:3"])
def test_a_task_definition_is_the_one_whose_family_a_service_names(named: str) -> None:
    family = replace(TASK, inputs={**TASK.inputs, "family": "model"})
    inputs = {"cluster": "c", "launchType": "EC2", "desiredCount": 2, "taskDefinition": named}
    service = resource("aws:ecs/service:Service", "s", inputs)
    assert said(family, service).get(("endpoint-keeps-machines", "s")) == "violation"
    plan = Plan(project="p", stack="dev", resources=(family, service), config={"aws:region": "us-east-1"})
    assert [urn for urn, _, _ in price(plan, load(), on=ON).unpriced] == [service.urn]


def test_a_service_of_containers_is_named_as_one_with_its_own_ways_out() -> None:
    inputs = {"cluster": "c", "launchType": "EC2", "desiredCount": 2, "taskDefinition": "m"}
    family = replace(TASK, inputs={**TASK.inputs, "family": "m"})
    plan = Plan(project="p", stack="dev", resources=(family, resource("aws:ecs/service:Service", "s", inputs)))
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    (kept,) = [each for each in evaluate(stated, SETTINGS, on=ON).results if each.rule == "endpoint-keeps-machines"]
    assert kept.message == "at least 2 machines of a service are billed every night"
    assert kept.fix.startswith("set desiredCount to 0")


@pytest.mark.parametrize(
    ("kind", "inputs", "outcome"),
    [
        ("ibm:index/isInstance:IsInstance", {"profile": "gx3d-160x1792x8h100"}, "violation"),
        ("ibm:index/isInstance:IsInstance", {"profile": "bx2-4x16"}, None),
        ("nebius:compute/v1:Instance", {"resources": {"platform": "gpu-h100-sxm"}}, "violation"),
        ("exoscale:index/computeInstance:ComputeInstance", {"type": "gpua5000.large"}, "violation"),
        ("exoscale:index/computeInstance:ComputeInstance", {"type": "standard.medium"}, None),
        ("linode:index/instance:Instance", {"type": "g6-standard-2"}, None),
        ("linode:index/instance:Instance", {"type": "g2-gpu-rtx4000a1-s"}, "violation"),
        ("vultr:index/instance:Instance", {"plan": "vcg-a16-2c-8g-2vram"}, "violation"),
        ("vultr:index/instance:Instance", {"plan": "vc2-2c-4gb"}, None),
        ("scaleway:inference/deployment:Deployment", {"nodeType": "L4", "minSize": 1}, "violation"),
        ("scaleway:instance/server:Server", {"type": "DEV1-L"}, None),
        ("oci:GenerativeAi/dedicatedAiCluster:DedicatedAiCluster", {"unitShape": "LARGE_COHERE_V2"}, "violation"),
        ("oci:GenerativeAi/dedicatedAiCluster:DedicatedAiCluster", {"unitShape": "LLAMA2_70"}, "violation"),
        ("aws-native:lightsail:Instance", {"bundleId": "gpu_nvidia_xlarge_1_0"}, "violation"),
        ("aws-native:lightsail:Instance", {"bundleId": "medium_3_0"}, None),
        ("aws-native:gameliftstreams:StreamGroup",
         {"streamClass": "gen5n_high", "locationConfigurations": [{"alwaysOnCapacity": 2}]}, "violation"),
        ("aws-native:gameliftstreams:StreamGroup",
         {"streamClass": "gen6n_ultra", "locationConfigurations": [{"alwaysOnCapacity": 0, "onDemandCapacity": 4}]}, None),
        ("azure-native:labservices:Lab",
         {"virtualMachineProfile": {"sku": {"name": "Classic_Nvgpu_2_64GB_64_SSD", "capacity": 20}}}, "violation"),
        ("azure-native:labservices:Lab",
         {"virtualMachineProfile": {"sku": {"name": "Classic_Fsv2_2_4GB_128_S_SSD", "capacity": 20}}}, None),
        ("azure-native:cache:Redis", {"sku": {"name": "Premium", "family": "P", "capacity": 4}}, None),
        ("snowflake:index/warehouse:Warehouse", {"warehouseSize": "xlarge", "tier": "no-gpu"}, None),
    ],
)  # fmt: skip
def test_types_of_other_providers_are_told_from_those_of_the_clouds(
    kind: str, inputs: dict[str, Any], outcome: str | None
) -> None:
    assert said(resource(kind, "m", inputs)).get(("accelerators-kept", "m")) == outcome


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("aws:lambda/function:Function", {"environment": {"variables": {"INSTANCE_TYPE": "g5.xlarge"}}}),
        (
            "gcp:cloudfunctionsv2/function:Function",
            {"serviceConfig": {"environmentVariables": {"MACHINE_TYPE": "a2-highgpu-1g"}}},
        ),
    ],
)
def test_of_a_function_that_names_a_machine_it_is_not_known_whether_it_starts_one(
    kind: str, inputs: dict[str, Any]
) -> None:
    assert said(resource(kind, "f", inputs)).get(("accelerators-kept", "f")) == "undetermined"


def _azure(source: str) -> dict[str, Any]:
    return {
        "name": "ssh", "access": "Allow", "direction": "Inbound", "protocol": "Tcp", "priority": 100,
        "sourceAddressPrefix": source, "destinationPortRange": "22",
    }  # fmt: skip


SSH = {"ipProtocol": "tcp", "fromPort": 22, "toPort": 22}
FIREWALLS: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
    ("aws-native:ec2:SecurityGroup", lambda source: {"securityGroupIngress": [{**SSH, "cidrIp": source}]}),
    ("aws-native:ec2:SecurityGroup", lambda source: {"securityGroupIngress": [{"ipProtocol": "-1", "cidrIp": source}]}),
    ("aws-native:ec2:SecurityGroupIngress", lambda source: {**SSH, "cidrIp": source, "groupId": "sg-1"}),
    ("azure:network/networkSecurityRule:NetworkSecurityRule", _azure),
    ("azure:network/networkSecurityGroup:NetworkSecurityGroup", lambda source: {"securityRules": [_azure(source)]}),
    ("google-native:compute/v1:Firewall", lambda source: {"allowed": [{"ipProtocol": "tcp", "ports": ["22"]}], "sourceRanges": [source]}),
    ("google-native:compute/beta:Firewall", lambda source: {"allowed": [{"ipProtocol": "all"}], "sourceRanges": [source]}),
    ("digitalocean:index/firewall:Firewall", lambda source: {"inboundRules": [{"protocol": "tcp", "portRange": "22", "sourceAddresses": [source]}]}),
    ("hcloud:index/firewall:Firewall", lambda source: {"rules": [{"direction": "in", "protocol": "tcp", "port": "22", "sourceIps": [source]}]}),
    ("linode:index/firewall:Firewall", lambda source: {"inbounds": [{"label": "s", "action": "ACCEPT", "protocol": "TCP", "ports": "22", "ipv4s": [source]}]}),
    ("openstack:networking/secGroupRule:SecGroupRule", lambda source: {"direction": "ingress", "protocol": "tcp", "portRangeMin": 22, "portRangeMax": 22, "remoteIpPrefix": source}),
    ("oci:Core/securityList:SecurityList", lambda source: {"ingressSecurityRules": [{"protocol": "6", "source": source, "tcpOptions": {"min": 22, "max": 22}}]}),
    ("alicloud:ecs/securityGroupRule:SecurityGroupRule", lambda source: {"type": "ingress", "policy": "accept", "ipProtocol": "tcp", "portRange": "22/22", "cidrIp": source}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs"), FIREWALLS)
def test_an_open_port_beside_accelerators_is_seen_in_every_spelling(
    kind: str, inputs: Callable[[str], dict[str, Any]]
) -> None:
    gpu = machine(instanceType="p4d.24xlarge")
    assert said(gpu, resource(kind, "o", inputs("0.0.0.0/0"))).get(("ingress-from-world", "o")) == "violation"
    assert ("ingress-from-world", "o") not in said(gpu, resource(kind, "o", inputs("10.0.0.0/8")))


def test_ranges_of_the_newer_internet_and_rules_that_close_or_go_out_are_told_apart() -> None:
    gpu = resource("digitalocean:index/droplet:Droplet", "gpu", {"size": "gpu-h100x1-80gb"})
    newer = resource("aws-native:ec2:SecurityGroup", "o", {"securityGroupIngress": [{**SSH, "cidrIpv6": "::/0"}]})
    assert said(gpu, newer).get(("ingress-from-world", "o")) == "violation"
    rules = [{"direction": "out", "protocol": "tcp", "port": "22", "sourceIps": ["0.0.0.0/0"]}]
    outward = resource("hcloud:index/firewall:Firewall", "o", {"rules": rules})
    assert ("ingress-from-world", "o") not in said(gpu, outward)
    dropped = {"inbounds": [{"action": "DROP", "protocol": "TCP", "ports": "22", "ipv4s": ["0.0.0.0/0"]}]}
    assert ("ingress-from-world", "o") not in said(gpu, resource("linode:index/firewall:Firewall", "o", dropped))


def test_a_firewall_that_nobody_reads_is_not_judged_beside_accelerators_and_left_alone_elsewhere() -> None:
    foreign = resource("scaleway:index/instanceSecurityGroup:InstanceSecurityGroup", "o", {"inboundRules": [{}]})
    gpu = resource("scaleway:index/instanceServer:InstanceServer", "gpu", {"type": "H100-1-80G"})
    assert said(gpu, foreign).get(("not-judged", "o")) == "undetermined"
    assert said(foreign) == {}


@pytest.mark.parametrize(
    ("pod", "outcome"),
    [
        ({"runtimeClassName": "nvidia"}, "undetermined"),
        ({"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}, "undetermined"),
        ({"nodeSelector": {"node.kubernetes.io/instance-type": "p4d.24xlarge"}}, "undetermined"),
        ({"nodeSelector": {"kubernetes.io/os": "linux"}}, None),
    ],
)
def test_a_set_of_daemons_on_gpu_machines_that_asks_for_none_is_not_judged(
    pod: dict[str, Any], outcome: str | None
) -> None:
    spec = {"template": {"spec": {**pod, "containers": [{"name": "c", "image": "acme/enc:1"}]}}}
    daemons = resource("kubernetes:apps/v1:DaemonSet", "d", {"spec": spec})
    assert said(daemons).get(("not-judged", "d")) == outcome


def runs(*resources: RecordedResource) -> object:
    """Whether a development stack is said to run accelerators."""
    plan = Plan(project="p", stack="dev", resources=resources, config={"aws:region": "us-east-1"})
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    return evaluate(stated, SETTINGS, on=ON).accelerators


@pytest.mark.parametrize(
    ("containers", "compatible", "whether"),
    [
        ('[{"name": "t", "resourceRequirements": [{"type": "GPU", "value": "1"}]}]', ["EC2"], True),
        ('[{"name": "t", "cpu": 256}]', ["EC2"], False),
        (UNKNOWN, ["EC2"], UNKNOWN),
        (UNKNOWN, ["FARGATE"], False),
    ],
)
def test_a_task_that_asks_for_gpus_is_about_accelerators_wherever_its_machines_are(
    containers: object, compatible: list[str], whether: object
) -> None:
    inputs = {"family": "t", "containerDefinitions": containers, "requiresCompatibilities": compatible}
    assert runs(resource("aws:ecs/taskDefinition:TaskDefinition", "t", inputs)) is whether


EMR = {"releaseLabel": "emr-7.2.0", "coreInstanceGroup": {"instanceType": "g5.2xlarge", "instanceCount": 4},
       "autoTerminationPolicy": {"idleTimeout": 3600}}  # fmt: skip
T4 = "worker_accelerator=type:nvidia-tesla-t4;count:1;install-nvidia-driver"
GUARDED: list[tuple[str, dict[str, Any]]] = [  # run accelerators, and release them or end with their work
    ("aws:emr/cluster:Cluster", EMR),
    ("gcp:dataproc/cluster:Cluster", {"clusterConfig": {
        "workerConfig": {"numInstances": 2, "accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]},
        "lifecycleConfig": {"idleDeleteTtl": "3600s"}}}),
    ("gcp:dataflow/flexTemplateJob:FlexTemplateJob", {"additionalExperiments": [T4], "numWorkers": 4}),
    ("gcp:dataflow/flexTemplateJob:FlexTemplateJob", {"parameters": {"dataflow_service_options": f"a,{T4}"}}),
    ("gcp:dataflow/job:Job", {"machineType": "g2-standard-4", "additionalExperiments": ["use_runner_v2"]}),
    ("gcp:dataproc/batch:Batch", {"runtimeConfig": {"properties": {"spark.dataproc.executor.resource.accelerator.type": "l4"}}}),
    ("aws:codebuild/project:Project", {"environment": {"type": "LINUX_GPU_CONTAINER", "computeType": "BUILD_GENERAL1_SMALL"}}),
    ("aws:appstream/fleet:Fleet", {"instanceType": "stream.graphics.g5.xlarge", "fleetType": "ON_DEMAND"}),
    ("aws:appstream/fleet:Fleet", {"instanceType": "stream.graphics-design.large", "fleetType": "ELASTIC"}),
    ("aws:workspaces/workspace:Workspace", {"workspaceProperties": {"computeTypeName": "GRAPHICS_G4DN", "runningMode": "AUTO_STOP"}}),
    ("aws:gamelift/gameServerGroup:GameServerGroup", {"instanceDefinitions": [{"instanceType": "g5.xlarge"}], "minSize": 0}),
    ("gcp:workstations/workstationConfig:WorkstationConfig", {"idleTimeout": "1200s", "host": {"gceInstance": {
        "machineType": "n1-standard-4", "accelerators": [{"type": "nvidia-tesla-t4", "count": 1}]}}}),
    ("gcp:colab/runtimeTemplate:RuntimeTemplate", {"machineSpec": {"acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1},
        "idleShutdownConfig": {"idleTimeout": "3600s"}}),
    ("gcp:dataproc/workflowTemplate:WorkflowTemplate", {"placement": {"managedCluster": {"config": {"workerConfig": {
        "accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]}}}}}),
    ("gcp:container/cluster:Cluster", {"clusterAutoscaling": {"enabled": True, "resourceLimits": [
        {"resourceType": "nvidia-tesla-t4", "minimum": 0, "maximum": 4}]}}),
    ("gcp:workbench/instance:Instance", {"gceSetup": {"acceleratorConfigs": [{"type": "NVIDIA_TESLA_T4", "coreCount": "1"}],
        "metadata": {"idle-timeout-seconds": "3600"}}}),
    ("azure-native:synapse:BigDataPool", {"nodeSizeFamily": "HardwareAcceleratedGPU", "autoPause": {"enabled": True}}),
    ("azure-native:azurefleet:Fleet", {"vmSizesProfile": [{"name": "Standard_NC4as_T4_v3"}], "spotPriorityProfile": {"capacity": 0}}),
    ("azure-native:batch:Pool", {"vmSize": "STANDARD_NC4AS_T4_V3", "scaleSettings": {"autoScale": {"formula": "$TargetDedicatedNodes=0;"}}}),
    ("azure-native:labservices:Lab", {"virtualMachineProfile": {"sku": {"name": "Standard_NC4as_T4_v3"}},
        "autoShutdownProfile": {"shutdownOnIdle": "UserAbsence"}}),
    ("azure-native:containerinstance:ContainerGroup", {"restartPolicy": "Never", "containers": [
        {"name": "c", "resources": {"requests": {"gpu": {"count": 1, "sku": "V100"}}}}]}),
    ("azure-native:app:ContainerApp", {"workloadProfileName": "gpu-t4", "template": {"scale": {"minReplicas": 0}}}),
    ("azure-native:app:Job", {"workloadProfileName": "gpu-t4", "template": {"containers": [{"name": "c"}]}}),
    ("azure-native:app:ManagedEnvironment", {"workloadProfiles": [{"workloadProfileType": "NC24-A100", "minimumCount": 0}]}),
    ("azure-native:machinelearningservices:Compute", {"properties": {"computeType": "AmlCompute", "properties": {
        "vmSize": "Standard_NC4as_T4_v3", "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 2}}}}),
    ("aws:sagemaker/space:Space", {"spaceSettings": {"jupyterLabAppSettings": {"defaultResourceSpec": {"instanceType": "ml.g5.xlarge"}}}}),
]  # fmt: skip
NOT_RELEASED = {  # types of services that keep what they have, or name no machine
    "aws:bedrock/provisionedModelThroughput:ProvisionedModelThroughput",
    "aws:codebuild/fleet:Fleet",
    "aws:ec2/dedicatedHost:DedicatedHost",
    "aws:elasticbeanstalk/environment:Environment",
    "aws:emr/instanceFleet:InstanceFleet",
    "aws:emr/instanceGroup:InstanceGroup",
    "aws:sagemaker/app:App",
    "aws:sagemaker/domain:Domain",
    "azure-native:compute:DedicatedHost",
    "gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool",
    "gcp:vertex/aiPersistentResource:AiPersistentResource",
}


def test_each_service_that_can_release_its_accelerators_is_in_the_list() -> None:
    assert {kind for kind, _ in GUARDED} | NOT_RELEASED >= set(idle_services._READERS)


NEEDS: list[
    tuple[dict[str, Any], dict[str, Any], object]
] = [  # a requirement of a pool of Karpenter, limits, accelerators
    ({"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]}, {}, True),
    ({"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "Exists"}, {}, True),
    ({"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g5", "g6"]}, {}, True),
    ({"key": "eks.amazonaws.com/instance-category", "operator": "In", "values": ["p"]}, {}, True),
    ({"key": "karpenter.azure.com/sku-family", "operator": "In", "values": ["N"]}, {}, True),
    ({"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}, {}, True),
    ({"key": "node.kubernetes.io/instance-type", "operator": "NotIn", "values": ["g5.xlarge"]}, {"cpu": "8"}, UNKNOWN),
    ({"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["m", "g"]}, {"cpu": "8"}, UNKNOWN),
    ({"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["m"]}, {"nvidia.com/gpu": "4"}, True),
    ({"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Lt", "values": ["1"]}, {"cpu": "8"}, UNKNOWN),
]


@pytest.mark.parametrize(("need", "limits", "accelerators"), NEEDS)
def test_a_pool_of_karpenter_runs_what_it_requires(
    need: dict[str, Any], limits: dict[str, Any], accelerators: object
) -> None:
    spec = {"template": {"spec": {"requirements": [need]}}, "limits": limits, "disruption": {"consolidateAfter": "5m"}}
    assert runs(resource("kubernetes:karpenter.sh/v1:NodePool", "np", {"spec": spec})) is accelerators


@pytest.mark.parametrize(("autopilot", "outcome"), [(True, None), (False, "violation")])
def test_autopilot_adds_the_toleration_of_accelerators(autopilot: bool, outcome: str | None) -> None:
    cluster = resource("gcp:container/cluster:Cluster", "c", {"enableAutopilot": autopilot})
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    pod = resource("kubernetes:core/v1:Pod", "p", {"spec": {"containers": [container]}})
    assert said(cluster, pod).get(("pod-not-tolerating", "p")) == outcome


HOSTS: list[tuple[str, dict[str, Any]]] = [  # what production may keep is an accelerator there too
    ("aws:ec2/dedicatedHost:DedicatedHost", {"instanceFamily": "g5"}),
    ("azure-native:compute:DedicatedHost", {"sku": {"name": "NVASv4-Type1"}}),
    ("aws:elasticbeanstalk/environment:Environment", {"settings": [{"name": "InstanceTypes", "value": "m5.large,g5.xlarge"}]}),
    ("azure-native:azurefleet:Fleet", {"vmSizesProfile": [{"name": "Standard_NC4as_T4_v3"}], "regularPriorityProfile": {"capacity": 2}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs"), HOSTS, ids=[kind for kind, _ in HOSTS])
def test_accelerators_that_production_may_keep_are_named(kind: str, inputs: dict[str, Any]) -> None:
    plan = Plan(project="p", stack="prod", resources=(resource(kind, "m", inputs),), config={"aws:region": "us-east-1"})
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    assert evaluate(stated, SETTINGS, on=ON).accelerators is True


@pytest.mark.parametrize(("kind", "inputs"), GUARDED, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(GUARDED)])
def test_accelerators_that_end_by_themselves_are_accelerators_and_not_kept(kind: str, inputs: dict[str, Any]) -> None:
    made = resource(kind, "m", inputs)
    assert ("accelerators-kept", "m") not in said(made)
    assert runs(made) is True


def test_a_job_without_an_accelerator_runs_none() -> None:
    job = {"additionalExperiments": ["use_runner_v2"], "machineType": "n2-standard-4"}
    assert runs(resource("gcp:dataflow/job:Job", "m", job)) is False


SPEC = {"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4", "acceleratorCount": 1}
KEPT: list[tuple[str, dict[str, Any]]] = [
    ("gcp:vertex/aiDeploymentResourcePool:AiDeploymentResourcePool",
     {"dedicatedResources": {"machineSpec": SPEC, "minReplicaCount": 2}}),
    ("gcp:vertex/aiPersistentResource:AiPersistentResource", {"resourcePools": [{"machineSpec": SPEC, "replicaCount": 1}]}),
    ("gcp:dataflow/job:Job", {"machineType": "g2-standard-4", "enableStreamingEngine": True}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs"), KEPT, ids=[kind for kind, _ in KEPT])
def test_accelerators_beside_a_general_machine_type_are_kept_as_well(kind: str, inputs: dict[str, Any]) -> None:
    assert said(resource(kind, "m", inputs)).get(("accelerators-kept", "m")) == "violation"


@pytest.mark.parametrize("kind", ["InstanceGroup", "InstanceFleet"])
@pytest.mark.parametrize(
    ("cluster", "outcome"),
    [(EMR, None), ({"releaseLabel": "emr-7.2.0"}, "violation"), (None, "undetermined")],
)
def test_task_machines_of_a_cluster_end_with_it(kind: str, cluster: dict[str, Any] | None, outcome: str | None) -> None:
    whole = resource("aws:emr/cluster:Cluster", "c", cluster or {})
    inputs: dict[str, Any] = {"clusterId": UNKNOWN if cluster else "j-1", "instanceType": "g5.4xlarge"}
    depends = {"clusterId": (whole.urn,)} if cluster else {}
    token = f"aws:emr/{kind[0].lower()}{kind[1:]}:{kind}"
    part = resource(token, "task", inputs, property_dependencies=depends)
    assert said(*([whole] if cluster else []), part).get(("accelerators-kept", "task")) == outcome


def test_a_commitment_runs_nothing_that_could_be_idle() -> None:
    held = {
        "plan": "TWELVE_MONTH",
        "resources": [{"type": "ACCELERATOR", "acceleratorType": "nvidia-l4", "amount": "8"}],
    }
    found = said(resource("gcp:compute/regionCommitment:RegionCommitment", "c", held))
    assert ("accelerators-kept", "c") not in found
    assert found["term-bought", "c"] == "violation"


@pytest.mark.parametrize(("most", "outcome"), [(8, "violation"), (32, None)])
def test_in_production_a_pool_whose_smallest_size_is_its_largest_follows_no_load(
    most: int, outcome: str | None
) -> None:
    compute = {"type": "EC2", "instanceTypes": ["g5.xlarge"], "minVcpus": 8, "maxVcpus": most}
    environment = resource("aws:batch/computeEnvironment:ComputeEnvironment", "cl", {"computeResources": compute})
    plan = Plan(project="p", stack="prod", resources=(environment,), config={"aws:region": "us-east-1"})
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    found = {each.rule: each.outcome for each in evaluate(stated, SETTINGS, on=ON).results}
    assert found.get("idle-exposure") == outcome


SNAKE: list[tuple[str, dict[str, Any]]] = [
    ("nb", {"compute_type": "ComputeInstance", "properties": {"vm_size": "Standard_NC4as_T4_v3"}}),
    ("nb", {"computeType": "ComputeInstance", "properties": {"vm_size": "STANDARD_NC4AS_T4_V3", "ssh_settings": {}}}),
    ("pool", {"compute_type": "AmlCompute", "properties": {
        "vm_size": "Standard_NC4as_T4_v3", "scale_settings": {"min_node_count": 1, "max_node_count": 2}}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "properties"), SNAKE)
def test_a_plain_mapping_in_snake_case_is_read_at_every_depth(name: str, properties: dict[str, Any]) -> None:
    made = resource(
        "azure-native:machinelearningservices:Compute", name, {"location": "eastus", "properties": properties}
    )
    rule = "notebook-without-auto-stop" if name == "nb" else "idle-exposure"
    assert said(made).get((rule, name)) == "violation"
    plan = Plan(project="p", stack="dev", resources=(made,))
    assert price(plan, load(), on=ON).unpriced == ()


@pytest.mark.parametrize("size", ["standard_nc24ads_a100_v4", "STANDARD_NC24ADS_A100_V4"])
@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("azure-native:compute:VirtualMachine", {"hardwareProfile": {"vmSize": ""}}),
        ("azure-native:compute:VirtualMachineScaleSet", {"sku": {"name": "", "capacity": 1}}),
        ("azure-native:batch:Pool", {"vmSize": "", "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 1}}}),
    ],
)
def test_azure_sizes_are_the_same_in_capital_letters_and_small_ones(
    kind: str, inputs: dict[str, Any], size: str
) -> None:
    def named(value: Any) -> Any:
        return {k: named(v) for k, v in value.items()} if isinstance(value, dict) else size if value == "" else value

    plan = Plan(project="p", stack="dev", resources=(resource(kind, "m", {"location": "eastus", **named(inputs)}),))
    bill = price(plan, load(), on=ON)
    assert not [line for line in bill.items if line.unit == "?" and "nc24ads" in line.what.lower()]
    assert bill.cost().run_rate.usd_per_month.expected > 2000


SPOT = {
    "scaleSetPriority": "Spot",
    "vmSize": "Standard_NC24ads_A100_v4",
    "enableAutoScaling": True,
    "count": 0,
    "minCount": 0,
    "maxCount": 2,
}


def test_aks_deletes_its_evicted_spot_machines_and_taints_them_itself() -> None:
    pool = said(resource("azure-native:containerservice:AgentPool", "m", SPOT))
    assert not {("azure-spot-eviction", "m"), ("accelerator-taint", "m")} & set(pool)
    kept = said(
        resource("azure-native:containerservice:AgentPool", "m", {**SPOT, "scaleSetEvictionPolicy": "Deallocate"})
    )
    assert kept["azure-spot-eviction", "m"] == "violation"


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("azure-native:containerservice:ManagedCluster",
         {"agentPoolProfiles": [{"mode": "User", **SPOT, "tags": {"sizewell-workload": "inference"}}]}),
        ("azure-native:containerservice:ManagedCluster",
         {"tags": {"sizewell-workload": "inference"}, "agentPoolProfiles": [{"mode": "User", **SPOT, "tags": {"a": "b"}}]}),
        ("gcp:container/cluster:Cluster", {"nodePools": [{"nodeCount": 0, "nodeConfig": {
            "machineType": "g2-standard-4", "spot": True, "resourceLabels": {"sizewell-workload": "inference"}}}]}),
    ],
)  # fmt: skip
def test_tags_of_a_pool_inside_its_cluster_are_the_pools(kind: str, inputs: dict[str, Any]) -> None:
    assert ("spot-without-checkpoints", "m") not in said(resource(kind, "m", inputs))


def test_machines_of_an_unknown_template_are_on_no_host_that_anybody_named() -> None:
    group = resource("aws:autoscaling/group:Group", "m", {
        "minSize": 1, "maxSize": 1, "vpcZoneIdentifiers": ["subnet-1"], "launchTemplate": {"id": UNKNOWN}})  # fmt: skip
    plan = Plan(project="p", stack="dev", resources=(group,), config={"aws:region": "us-east-1"})
    bill = price(plan, load(), on=ON)
    assert not [each for each in bill.outside if "dedicated host" in each]
    assert "the machine type is known only after deployment" in bill.unpriced[0][2]


def held_at_all(*resources: RecordedResource) -> object:
    """Whether a program is taken to have accelerators."""
    plan = Plan(project="p", stack="dev", resources=resources, config={"aws:region": "us-east-1"})
    stated = facts(plan, load(), pricing=price(plan, load(), on=ON), on=ON, expiries=EXPIRIES)
    return evaluate(stated, SETTINGS, on=ON).accelerators


@pytest.mark.parametrize(
    ("profile", "has"), [("Consumption-GPU-NC8as-T4", True), ("NC24-A100", True), ("Consumption", False), ("D4", False)]
)
def test_an_environment_whose_profile_has_gpus_runs_some(profile: str, has: bool) -> None:
    stated = {"workloadProfiles": [{"name": "gpu", "workloadProfileType": profile}]}
    assert held_at_all(resource("azure-native:app:ManagedEnvironment", "env", stated)) is has


def test_a_studio_has_accelerators_where_it_sets_some_for_its_apps() -> None:
    apps = {"jupyterLabAppSettings": {"defaultResourceSpec": {"instanceType": "ml.g5.xlarge"}}}
    assert held_at_all(resource("aws:sagemaker/domain:Domain", "studio", {"defaultUserSettings": apps})) is True
    assert held_at_all(resource("aws:sagemaker/domain:Domain", "studio", {"defaultUserSettings": {}})) is False


def test_an_app_that_keeps_a_replica_keeps_the_machine_of_its_profile() -> None:
    profiles = [{"name": "big", "workloadProfileType": "NC24-A100", "minimumCount": 0, "maximumCount": 2}]
    env = resource("azure-native:app:ManagedEnvironment", "env", {"workloadProfiles": profiles})
    for least, outcome in ((1, "violation"), (0, None)):
        inputs = {"environmentId": UNKNOWN, "workloadProfileName": "big",
                  "template": {"containers": [{"name": "m"}], "scale": {"minReplicas": least}}}  # fmt: skip
        app = replace(
            resource("azure-native:app:ContainerApp", "m", inputs), property_dependencies={"environmentId": (env.urn,)}
        )
        assert said(env, app).get(("accelerators-kept", "m")) == outcome
