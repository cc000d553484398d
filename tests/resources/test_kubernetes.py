"""What stands behind objects of Kubernetes is priced where its machines are, or has no price: never free."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from sizewell.resources.graph import Graph
from sizewell.resources.kinds import _ROWS
from sizewell.resources.not_shown import hidden_of
from sizewell.resources.priced import Pricing
from sizewell.resources.pricing import price
from sizewell.resources.readers.pods import accelerators_asked
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.sizing.catalog import load

ON = date(2026, 11, 21)
GPUS = {"resources": {"limits": {"nvidia.com/gpu": "8"}}}
POOL = ("gcp:container/nodePool:NodePool", {"location": "us-central1-a", "nodeCount": 2})
CPU_POOL = (POOL[0], {**POOL[1], "nodeConfig": {"machineType": "e2-standard-4"}})
GPU_POOL = (POOL[0], {**POOL[1], "nodeConfig": {"machineType": "a2-highgpu-8g"}})
UNKNOWN_POOL = (POOL[0], {**POOL[1], "nodeConfig": {"machineType": UNKNOWN}})
KARPENTER = ("kubernetes:karpenter.sh/v1:NodePool", {"spec": {"template": {"spec": {}}}})


def pods(**container: Any) -> dict[str, Any]:
    return {"spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "x:1", **container}]}}}}


def planned(*rows: tuple[str, dict[str, Any]], provider: RecordedResource | None = None) -> Plan:
    resources = [
        RecordedResource(
            urn=f"urn:pulumi:dev::p::{kind}::r{number}", type=kind, name=f"r{number}", inputs=inputs,
            provider=f"{provider.urn}::id" if provider is not None and kind.startswith("kubernetes:") else None,
        )
        for number, (kind, inputs) in enumerate(rows)
    ]  # fmt: skip
    return Plan(
        project="p", stack="dev", resources=(*([provider] if provider else ()), *resources),
        config={"aws:region": "us-east-1", "gcp:region": "us-central1"},
    )  # fmt: skip


def priced(*rows: tuple[str, dict[str, Any]], provider: RecordedResource | None = None) -> Pricing:
    return price(planned(*rows, provider=provider), load(), on=ON)


def provider(kubeconfig: object, *clusters: str) -> RecordedResource:
    kind = "pulumi:providers:kubernetes"
    return RecordedResource(
        urn=f"urn:pulumi:dev::p::{kind}::k", type=kind, name="k", inputs={"kubeconfig": kubeconfig},
        property_dependencies={"kubeconfig": clusters},
    )  # fmt: skip


BEHIND = [
    ("kubernetes:apps/v1:Deployment", pods(**GPUS), "machines with 16 accelerators"),
    ("kubernetes:apps/v1:Deployment", pods(), "machines for its pods"),
    ("kubernetes:apps/v1:DaemonSet", pods(), "machines for its pods"),
    ("kubernetes:core/v1:Pod", {"spec": pods()["spec"]["template"]["spec"]}, "machines for its pods"),
    ("kubernetes:batch/v1:Job", pods(**GPUS), "machines with"),
    ("kubernetes:batch/v1:CronJob", {"spec": {"jobTemplate": pods(**GPUS)}}, "machines with"),
    ("kubernetes:apps/v1:Deployment", {"spec": UNKNOWN}, "machines with accelerators"),
    ("kubernetes:apps/v1:DeploymentPatch", pods(**GPUS), "machines with"),
    ("kubernetes:ray.io/v1:RayCluster", {"spec": {"workerGroupSpecs": [pods(**GPUS)["spec"]]}}, "machines with"),
    ("kubernetes:kubeflow.org/v1:PyTorchJob", {"spec": {"worker": pods(**GPUS)["spec"]}}, "machines with"),
    ("kubernetes:acme.io/v1:Server", {"spec": {"pod": pods(**GPUS)["spec"]}}, "machines with"),
    ("kubernetes:acme.io/v1:Server", {"spec": {"gpuType": "H100", "gpuCount": 8}}, "custom resource Server of acme.io"),
    ("kubernetes:compute.cnrm.cloud.google.com/v1beta1:ComputeInstance", {}, "custom resource ComputeInstance"),
    ("kubernetes:ec2.services.k8s.aws/v1alpha1:Instance", {}, "custom resource Instance"),
    ("kubernetes:argoproj.io/v1alpha1:Application", {"spec": {}}, "custom resource Application"),
    (*KARPENTER, "machines that it starts"),
    ("kubernetes:karpenter.sh/v1beta1:NodeClaim", {}, "machines that it starts"),
    ("kubernetes:cluster.x-k8s.io/v1beta1:MachineDeployment", {}, "MachineDeployment of cluster.x-k8s.io"),
    ("kubernetes:core/v1:PersistentVolumeClaim", {"spec": {"resources": {"requests": {"storage": "20Ti"}}}}, "volume of 20Ti"),
    ("kubernetes:core/v1:PersistentVolumeClaim", {"spec": UNKNOWN}, "volume"),
    ("kubernetes:apps/v1:StatefulSet", {"spec": {"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1Ti"}}}}]}}, "volume of 1Ti"),
    ("kubernetes:core/v1:Service", {"spec": {"type": "LoadBalancer"}}, "load balancer"),
    ("kubernetes:core/v1:Service", {"spec": {"type": UNKNOWN}}, "load balancer"),
    ("kubernetes:networking.k8s.io/v1:Ingress", {"spec": {"ingressClassName": "alb"}}, "load balancer"),
    ("kubernetes:networking.k8s.io/v1:Ingress", {"spec": {}}, "load balancer"),
    ("kubernetes:gateway.networking.k8s.io/v1:Gateway", {"spec": {}}, "load balancer"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "inputs", "what"), BEHIND)
def test_what_a_cluster_starts_for_an_object_has_no_price_here_and_is_not_free(kind, inputs, what):
    pricing = priced((kind, inputs))
    assert pricing.free == ()
    assert pricing.items
    assert any(line.what.startswith(what) for line in pricing.items)
    assert all(reason for _, _, reason in pricing.unpriced)
    assert pricing.unpriced or pricing.hidden


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("kubernetes:core/v1:ConfigMap", {}),
        ("kubernetes:core/v1:Service", {"spec": {"type": "NodePort"}}),
        ("kubernetes:core/v1:Service", {}),
        ("kubernetes:networking.k8s.io/v1:Ingress", {"spec": {"ingressClassName": "nginx"}}),
        ("kubernetes:core/v1:PersistentVolumeClaim", {"spec": {"volumeName": "v", "storageClassName": ""}}),
        ("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", {}),
        ("kubernetes:kueue.x-k8s.io/v1beta1:ClusterQueue", {}),
        ("kubernetes:keda.sh/v1alpha1:ScaledObject", {}),
        ("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", {}),
    ],
)
def test_an_object_that_starts_nothing_is_free_with_its_reason(kind, inputs):
    pricing = priced((kind, inputs))
    assert pricing.items == ()
    assert pricing.free[0][2]


@pytest.mark.parametrize(
    ("pool", "container", "open_ended"),
    [
        (CPU_POOL, {}, False),
        (GPU_POOL, GPUS, False),
        (UNKNOWN_POOL, GPUS, False),  # the pool says that its type is not known
        (KARPENTER, GPUS, True),  # which it starts for them, nobody knows
        (CPU_POOL, GPUS, True),  # no machine here has any
    ],
)
def test_pods_are_part_of_the_machines_of_their_program(pool, container, open_ended):
    pricing = priced(pool, ("kubernetes:apps/v1:Deployment", pods(**container)))
    assert any(line.resource.endswith("::r1") for line in pricing.items) == open_ended


def test_a_provider_says_whose_cluster_it_is():
    deployment = ("kubernetes:apps/v1:Deployment", pods())
    pool = f"urn:pulumi:dev::p::{CPU_POOL[0]}::r0"
    assert "r1" in {
        urn.rpartition("::")[2] for urn, _, _ in priced(CPU_POOL, deployment, provider=provider(UNKNOWN, pool)).free
    }
    assert priced(CPU_POOL, deployment, provider=provider("a: kubeconfig of another cluster")).unpriced
    assert priced(deployment, provider=provider(UNKNOWN)).unpriced  # such as of a StackReference
    engines_own = replace(provider(None), name="default_4_23_0", inputs={"version": "4.23.0"})
    assert not priced(CPU_POOL, deployment, provider=engines_own).unpriced  # as where nothing names a provider


def test_a_row_says_why_where_it_calls_a_kind_free():
    assert [row for row in _ROWS.values() if (row.brings == "nothing") != bool(row.reason)] == []


def test_machines_that_a_cluster_starts_and_what_an_operator_starts_are_not_judged():
    """The rules see it too: a program whose only resource is one of these is not "nothing here runs an accelerator"."""
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]}
    pool = {"spec": {"template": {"spec": {"requirements": [requirement]}}}}
    for kind, inputs, what in (
        (KARPENTER[0], pool, "machines that it starts (p5.48xlarge)"),
        ("kubernetes:nvidia.com/v1alpha1:DynamoGraphDeployment", {"spec": {}}, "custom resource DynamoGraphDeployment"),
    ):
        (hidden,) = priced((kind, inputs)).hidden
        assert hidden.what.startswith(what)
        assert hidden.accelerators
    assert priced(("kubernetes:postgresql.cnpg.io/v1:Cluster", {"spec": {}})).hidden == ()


def test_a_label_of_ones_own_that_speaks_of_accelerators_is_said():
    deployment = pods()
    deployment["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/pool": "gpu-a100"}
    (hidden,) = hidden_of(planned(("kubernetes:apps/v1:Deployment", deployment)))
    assert hidden.what == "node label example.com/pool=gpu-a100"
    deployment["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/pool": "web", "gpu": "false"}
    assert hidden_of(planned(("kubernetes:apps/v1:Deployment", deployment))) == ()


def test_a_part_of_a_gpu_is_asked_for_by_an_annotation():
    deployment = pods()
    deployment["spec"]["template"]["metadata"] = {"annotations": {"gpu-fraction": "0.5"}}
    plan = planned(("kubernetes:apps/v1:Deployment", deployment))
    assert accelerators_asked(plan.resources[0], Graph(plan)) == 2
