"""Machines that custom resources of operators name: said with their number, and judged like those of any provider."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sizewell.policy.config import parse_config
from sizewell.policy.engine import evaluate
from sizewell.resources.facts import facts
from sizewell.resources.not_shown import hidden_of
from sizewell.resources.readers.operators import stated
from sizewell.resources.recorded import Plan, RecordedResource

ON = date(2026, 11, 28)


def plan_of(*objects: tuple[str, dict[str, Any]]) -> Plan:
    resources = tuple(
        RecordedResource(
            urn=f"urn:pulumi:dev::p::kubernetes:{kind}::r{number}", type=f"kubernetes:{kind}", name=f"r{number}",
            inputs=inputs,
        )
        for number, (kind, inputs) in enumerate(objects)
    )  # fmt: skip
    return Plan(project="p", stack="dev", resources=resources, config={})


def spec(**inputs: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": inputs}


AWS = {"providerSpec": {"value": {"instanceType": "g4dn.xlarge"}}}
NAMED = [  # kind, inputs, what is said
    ("kaito.sh/v1beta1:Workspace", {"resource": {"instanceType": "Standard_NC24ads_A100_v4", "count": 2}},
     "2 x Standard_NC24ads_A100_v4"),
    ("machine.openshift.io/v1beta1:MachineSet", spec(replicas=3, template={"spec": AWS}), "3 x g4dn.xlarge"),
    ("ec2.aws.upbound.io/v1beta1:Instance", spec(forProvider={"instanceType": "g5.xlarge"}), "g5.xlarge"),
    ("eks.services.k8s.aws/v1alpha1:Nodegroup",
     spec(instanceTypes=["g5.2xlarge"], scalingConfig={"minSize": 2, "maxSize": 4, "desiredSize": 3}), "2 x g5.2xlarge"),
    ("sagemaker.services.k8s.aws/v1alpha1:NotebookInstance", spec(instanceType="ml.g5.xlarge"), "ml.g5.xlarge"),
    ("container.cnrm.cloud.google.com/v1beta1:ContainerNodePool",
     spec(nodeCount=2, nodeConfig={"machineType": "n1-standard-8", "guestAccelerator": [{"type": "nvidia-tesla-t4", "count": 4}]}),
     "2 x nvidia-tesla-t4"),
    ("containerservice.azure.com/v1api20240901:ManagedClustersAgentPool",
     spec(vmSize="Standard_NC24ads_A100_v4", count=2), "2 x Standard_NC24ads_A100_v4"),
    ("compute.azure.com/v1api20220301:VirtualMachine", spec(hardwareProfile={"vmSize": "Standard_NV36ads_A10_v5"}),
     "Standard_NV36ads_A10_v5"),
    ("infrastructure.cluster.x-k8s.io/v1beta2:AWSManagedMachinePool",
     spec(instanceType="p4d.24xlarge", scaling={"minSize": 1, "maxSize": 2}), "1 x p4d.24xlarge"),
]  # fmt: skip
NOT_NAMED = [
    ("kaito.sh/v1beta1:Workspace", {"resource": {"instanceType": "Standard_D4s_v5", "count": 2}}),
    ("postgresql.cnpg.io/v1:Cluster", spec(instances=3, affinity={"nodeSelector": {"instance-type": "p5.48xlarge"}})),
    ("apps.nvidia.com/v1alpha1:NIMService", spec(replicas=1, resources={"limits": {"nvidia.com/gpu": 1}})),
    ("sagemaker.services.k8s.aws/v1alpha1:TrainingJob", spec(resourceConfig={"instanceType": "ml.p4d.24xlarge"})),
    ("karpenter.sh/v1:NodePool", spec(template={"spec": {"instanceType": "p5.48xlarge"}})),
    ("acme.io/v1:Widget", spec(type="gpu-operator", size="large")),
]  # fmt: skip


def kept(*objects: tuple[str, dict[str, Any]]) -> list[str]:
    report = evaluate(facts(plan_of(*objects), None, on=ON), parse_config({}), on=ON)
    return [each.message for each in report.failed() if each.rule == "accelerators-kept"]


@pytest.mark.parametrize(("kind", "inputs", "words"), NAMED)
def test_machines_that_a_custom_resource_names_are_said_and_judged(kind, inputs, words):
    plan = plan_of((kind, inputs))
    (hidden,) = hidden_of(plan)
    assert hidden.may_hide.startswith(f"{words}, which it names")
    (message,) = kept((kind, inputs))
    assert f"keeps {words}, and nothing in it ends that" in message


@pytest.mark.parametrize(("kind", "inputs"), NOT_NAMED)
def test_what_names_none_or_keeps_none_is_not_blocked(kind, inputs):
    (resource,) = plan_of((kind, inputs)).resources
    assert stated(resource, ()) is None
    assert kept((kind, inputs)) == []


TEMPLATE = (
    "infrastructure.cluster.x-k8s.io/v1beta2:AWSMachineTemplate",
    {"metadata": {"name": "gpu"}, "spec": {"template": {"spec": {"instanceType": "p3.8xlarge"}}}},
)


def deployment(replicas: int, least: str = "") -> tuple[str, dict[str, Any]]:
    reference = {"infrastructureRef": {"kind": "AWSMachineTemplate", "name": "gpu"}}
    notes = {"cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": least} if least else {}
    metadata = {"name": "md", "annotations": notes}
    inputs = {"metadata": metadata, "spec": {"replicas": replicas, "template": {"spec": reference}}}
    return "cluster.x-k8s.io/v1beta1:MachineDeployment", inputs


def test_a_template_says_the_type_and_what_refers_to_it_the_number():
    assert [message.partition(", and")[0] for message in kept(TEMPLATE, deployment(2))] == [
        "its operator keeps 2 x p3.8xlarge"
    ]
    assert kept(TEMPLATE, deployment(0)) == []
    assert kept(TEMPLATE, deployment(2, least="0")) == []
    hidden = {each.name: each.why for each in hidden_of(plan_of(TEMPLATE, deployment(2)))}
    assert hidden == {
        "r0": "how many are started from it is stated elsewhere", "r1": "its operator starts them outside this plan",
    }  # fmt: skip


def test_an_autoscaler_beside_it_that_reaches_zero_releases_them():
    scaler = spec(minReplicas=0, maxReplicas=4, scaleTargetRef={"kind": "MachineSet", "name": "a"})
    machines = ("machine.openshift.io/v1beta1:MachineSet", spec(replicas=2, template={"spec": AWS}))
    assert kept(machines)
    assert kept(machines, ("autoscaling.openshift.io/v1beta1:MachineAutoscaler", scaler)) == []
