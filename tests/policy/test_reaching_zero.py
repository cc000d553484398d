"""What counts as something that stops idle servers and notebooks: what it does, not that it stands there."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sizewell.policy.examples import resource, stack
from sizewell.policy.rule import Undetermined, Violation
from sizewell.policy.rules.idleness import server_never_ends
from sizewell.resources.facts import facts
from sizewell.resources.graph import Graph
from sizewell.resources.pricing import price
from sizewell.resources.readers.services import azure_endpoint, notebook_instance
from sizewell.resources.recorded import UNKNOWN, Plan
from sizewell.resources.spellings import respelled
from sizewell.resources.values import either
from sizewell.sizing.catalog import load

POD = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
QUEUE = {"type": "aws-sqs-queue", "metadata": {"queueLength": "5"}}
PAUSE = "autoscaling.keda.sh"


def judged(metadata: dict[str, Any], **spec: Any) -> object:
    server = resource(
        "kubernetes:apps/v1:Deployment",
        "m",
        {"metadata": {"name": "m", "namespace": "ml"}, "spec": {"replicas": 4, "template": {"spec": POD}}},
    )
    stated = {"scaleTargetRef": {"name": "m"}, "minReplicaCount": 0, "triggers": [QUEUE], **spec}
    scaler = resource(
        "kubernetes:keda.sh/v1alpha1:ScaledObject",
        "s",
        {"metadata": {"name": "s", "namespace": "ml", **metadata}, "spec": stated},
    )
    return dict(server_never_ends(stack(server, scaler, environment="dev"), {"baseline": ["prod"]}))[server.urn]


@pytest.mark.parametrize(
    ("metadata", "spec", "verdict"),
    [
        ({}, {}, None),
        ({"annotations": {f"{PAUSE}/paused-replicas": "0"}}, {}, None),
        ({}, {"triggers": [{"type": "cpu"}, QUEUE]}, None),
        ({"annotations": {f"{PAUSE}/paused": "true"}}, {}, Violation),
        ({"annotations": {f"{PAUSE}/paused-replicas": "4"}}, {}, Violation),
        ({"annotations": {f"{PAUSE}/paused-scale-in": "true"}}, {}, Violation),
        ({"namespace": "default"}, {}, Violation),
        ({"namespace": None}, {}, Violation),
        ({"namespace": UNKNOWN}, {}, Undetermined),
        ({}, {"scaleTargetRef": {"name": "m", "kind": "StatefulSet"}}, Violation),
        ({}, {"triggers": [{"type": "cpu"}, {"type": "memory"}]}, Violation),
        ({}, {"triggers": []}, Violation),
    ],
)
def test_a_scaler_that_reaches_nothing_of_a_server(
    metadata: dict[str, Any], spec: dict[str, Any], verdict: type | None
) -> None:
    said = judged(metadata, **spec)
    assert said is None if verdict is None else isinstance(said, verdict)


CRON = '(crontab -l 2>/dev/null; echo "*/5 * * * * /usr/bin/python3 $PWD/autostop.py --time $IDLE_TIME") | crontab -'


@pytest.mark.parametrize(
    ("script", "stops"),
    [
        (f"IDLE_TIME=3600\nwget https://example.org/auto-stop-idle/autostop.py\n{CRON}", True),
        ("python3 /opt/autostop.py --time 3600", True),
        ("cat > /etc/cron.d/lab <<EOF\n*/5 * * * * root /opt/idle.sh\nEOF", True),
        ("echo 'aws sagemaker stop-notebook-instance --notebook-instance-name lab' | at now + 8 hours", True),
        ("# TODO: autostop.py (auto-stop-idle) in cron\npip install foo", False),
        (f"IDLE_TIME=3600\n# {CRON}", False),
        ("IDLE_TIME=3600\nwget https://example.org/auto-stop-idle/autostop.py && chmod +x autostop.py", False),
        ("pip install foo  # no auto-stop yet", False),
        ("pip install foo", False),
        (f"IDLE_TIME=31536000\n{CRON}", False),
        (f"export IDLE_TIME='86400'\n{CRON.replace('$IDLE_TIME', '${IDLE_TIME}')}", True),
        (CRON, True),  # a time that the script does not say
        ("python3 /opt/autostop.py --time 2592000 --ignore-connections", False),
        ("python3 /opt/autostop.py -t=2592000", False),
        ("(sleep 2592000 && aws sagemaker stop-notebook-instance --notebook-instance-name lab) &", False),
        ("echo 'aws sagemaker stop-notebook-instance --notebook-instance-name lab' | at now + 30 days", False),
        (CRON.replace("*/5 * * * *", "0 0 1 1 *").replace("$IDLE_TIME", "3600"), False),
    ],
)
def test_a_start_script_stops_a_notebook_by_what_it_runs(script: str, stops: bool) -> None:
    config = resource(
        "aws:sagemaker/notebookInstanceLifecycleConfiguration:NotebookInstanceLifecycleConfiguration",
        "stop",
        {"name": "stop", "onStart": f"#!/bin/bash\nset -e\n{script}\n"},
    )
    notebook = resource(
        "aws:sagemaker/notebookInstance:NotebookInstance",
        "nb",
        {"instanceType": "ml.g5.xlarge", "lifecycleConfigName": "stop"},
    )
    read = notebook_instance(Graph(Plan(project="p", stack="dev", resources=(config, notebook))), notebook)
    assert read is not None
    assert read["stops_itself"] is stops


@pytest.mark.parametrize("key", ["instance_type", "instanceType"])
def test_a_deployment_of_azure_in_either_spelling(key: str) -> None:
    deployment = resource(
        "azure-native:machinelearningservices:OnlineDeployment",
        "d",
        {"location": "westeurope", "properties": {key: "Standard_NC24ads_A100_v4"}, "sku": {"capacity": 2}},
    )
    plan = Plan(project="p", stack="dev", resources=(deployment,))
    read = azure_endpoint(Graph(respelled(plan)), respelled(plan).resources[0])
    assert read is not None
    assert read["accelerated"] is True
    assert "Standard_NC24ads_A100_v4" in price(plan, load(), on=date(2026, 9, 1)).items[0].what


RELEASE, SCALER = "kubernetes:helm.sh/v3:Release", {"chart": "cluster-autoscaler"}
GROUP, RATE = "aws:eks/nodeGroup:NodeGroup", {"scheduleExpression": "cron(0 20 * * ? *)"}
RESIZES = {"arn": "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig"}
INPUT = '{"NodegroupName": "gpu", "ScalingConfig": {"MinSize": 0, "DesiredSize": %s}}'


def args_of(*arguments: str) -> dict[str, Any]:
    pod = {"containers": [{"image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.3", "command": arguments}]}
    return {"metadata": {"name": "scaler"}, "spec": {"template": {"spec": pod}}}


@pytest.mark.parametrize(
    ("kind", "inputs", "stops"),
    [
        ("aws:sqs/queue:Queue", {}, False),
        (RELEASE, SCALER, True),
        (RELEASE, {**SCALER, "values": {"extraArgs": {"scale-down-unneeded-time": "30m"}}}, True),
        (RELEASE, {**SCALER, "values": {"extraArgs": {"scale-down-unneeded-time": "720h"}}}, False),
        (RELEASE, {**SCALER, "values": {"extraArgs": {"scale-down-enabled": False}}}, False),
        (RELEASE, {**SCALER, "values": {"replicaCount": 0}}, False),
        (RELEASE, {"chart": "karpenter"}, False),
        (RELEASE, {"chart": "x", "values": {"podAnnotations": {"cluster-autoscaler.kubernetes.io/a": "b"}}}, False),
        ("kubernetes:apps/v1:Deployment", args_of("./cluster-autoscaler", "--expander=least-waste"), True),
        ("kubernetes:apps/v1:Deployment", args_of("./cluster-autoscaler", "--scale-down-enabled=false"), False),
        (RELEASE, {"chart": "argo-cd"}, "elsewhere"),
        ("kubernetes:yaml/v2:ConfigFile", {"file": "addons.yaml"}, "elsewhere"),
        ("aws:iam/policy:Policy", {"policy": '{"Action": "autoscaling:SetDesiredCapacity"}'}, "elsewhere"),
        ("aws:scheduler/schedule:Schedule", {**RATE, "target": {**RESIZES, "input": INPUT % 0}}, True),
        ("aws:scheduler/schedule:Schedule", {**RATE, "target": {**RESIZES, "input": INPUT % 2}}, False),
        ("aws:autoscaling/schedule:Schedule", {"desiredCapacity": 0, "recurrence": "0 20 * * *"}, True),
        ("aws:autoscaling/schedule:Schedule", {"desiredCapacity": 0, "recurrence": "0 20 1 1 *"}, False),
    ],
)
def test_a_node_group_is_emptied_by_what_acts_on_it(kind: str, inputs: dict[str, Any], stops: bool | str) -> None:
    cluster = resource("aws:eks/cluster:Cluster", "main", {"name": "main"})
    size = {"minSize": 0, "desiredSize": 2, "maxSize": 4}
    stated = {"name": "gpu", "clusterName": "main", "instanceTypes": ["g6.xlarge"], "scalingConfig": size}
    names = {"autoscalingGroupName": "gpu"} if "autoscaling/" in kind else {}
    group, other = resource(GROUP, "gpu", stated), resource(kind, "other", {**inputs, **names})
    (pool,) = facts(Plan(project="p", stack="dev", resources=(group, cluster, other)), load()).pools
    assert either(pool.scales, pool.scheduled) is bool(stops)
    assert pool.autoscaler_elsewhere is (stops == "elsewhere")


VARIANT = {"variantName": "a", "instanceType": "ml.g5.2xlarge", "initialInstanceCount": 1}


@pytest.mark.parametrize(
    ("configuration", "variant", "least"),
    [
        ({}, {"modelName": "m"}, 1),  # the service refuses a minimum of 0
        ({"asyncInferenceConfig": {"outputConfig": {}}}, {"modelName": "m"}, 0),
        ({}, {"managedInstanceScaling": {"status": "ENABLED", "minInstanceCount": 0, "maxInstanceCount": 2}}, 0),
    ],
)
def test_a_real_time_variant_keeps_an_instance(
    configuration: dict[str, Any], variant: dict[str, Any], least: int
) -> None:
    stated = {**configuration, "productionVariants": [{**VARIANT, **variant}]}
    config = resource("aws:sagemaker/endpointConfiguration:EndpointConfiguration", "c", {"name": "c", **stated})
    host = resource("aws:sagemaker/endpoint:Endpoint", "e", {"name": "e", "endpointConfigName": "c"})
    bounds = {"minCapacity": 0, "maxCapacity": 4, "scalableDimension": "sagemaker:variant:DesiredInstanceCount"}
    address = {"serviceNamespace": "sagemaker", "resourceId": "endpoint/e/variant/a"}
    target = resource("aws:appautoscaling/target:Target", "t", {**address, **bounds})
    follows = {"resourceId": address["resourceId"], "targetTrackingScalingPolicyConfiguration": {"targetValue": 5}}
    policy = resource("aws:appautoscaling/policy:Policy", "p", follows)
    plan = Plan(project="p", stack="dev", resources=(config, host, target, policy), config={"aws:region": "us-east-1"})
    (endpoint,) = facts(plan, load()).endpoints
    assert (endpoint.nodes_min, "asyncInferenceConfig" in endpoint.keeps_one) == (least, bool(least))
    line = next(each for each in price(plan, load(), on=date(2026, 11, 27)).items if each.unit == "machine-hour")
    assert line.quantity.floor == 730 * least


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("azure-native:containerservice:AgentPool", {"mode": "System", **(SYSTEM := {
            "vmSize": "Standard_NC4as_T4_v3", "enableAutoScaling": True, "minCount": 0, "maxCount": 3, "count": 0})}),
        ("azure-native:containerservice:ManagedCluster", {"agentPoolProfiles": [{"mode": "System", **SYSTEM}]}),
        ("azure:containerservice/kubernetesCluster:KubernetesCluster", {"defaultNodePool": {
            "vmSize": "Standard_NC4as_T4_v3", "autoScalingEnabled": True, "minCount": 0, "maxCount": 3}}),
    ],
)  # fmt: skip
def test_a_system_pool_of_aks_keeps_a_machine(kind: str, inputs: dict[str, Any]) -> None:
    made = resource(kind, "k", {"location": "eastus", **inputs})
    plan = Plan(project="p", stack="dev", resources=(made,), config={})
    (pool,) = facts(plan, load()).pools
    assert (pool.nodes_min, "mode User" in pool.keeps_one) == (1, True)
    line = next(each for each in price(plan, load(), on=date(2026, 11, 27)).items if each.unit == "machine-hour")
    assert line.quantity.floor == 730
