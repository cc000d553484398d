"""Machines that pods hold: figures of a pool follow the pods that stand on it, whatever its minimum is."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from sizewell.preview.diff import Side, compare
from sizewell.resources import UNKNOWN, Plan, RecordedResource, price
from sizewell.sizing.catalog import load
from sizewell.sizing.money import HOURS_PER_MONTH

ON = date(2026, 11, 27)
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}


def make(kind: str, name: str, inputs: dict[str, Any], **depends: RecordedResource) -> RecordedResource:
    refs = {key: (other.urn,) for key, other in depends.items()}
    return RecordedResource(
        urn=f"urn:pulumi:dev::t::{kind}::{name}", type=kind, name=name, inputs=inputs, property_dependencies=refs
    )


def side(*resources: RecordedResource) -> Side:
    plan = Plan(project="t", stack="dev", resources=resources, config=CONFIG, origin="evaluated")
    return Side(plan=plan, pricing=price(plan, load(), on=ON))


def machines(pool: RecordedResource, *resources: RecordedResource) -> tuple[int, int, int]:
    """(floor, expected, ceiling) of the machines of a pool on average over the month."""
    lines = side(pool, *resources).pricing.items
    line = next(each for each in lines if each.resource == pool.urn and each.unit == "machine-hour")
    bounds = (line.quantity.floor, line.quantity.expected, line.quantity.ceiling)
    return tuple(round(each / HOURS_PER_MONTH) for each in bounds)  # type: ignore[return-value]


def gke(name: str = "gpu", kind: str = "g2-standard-8", most: int = 4, **more: Any) -> RecordedResource:
    stated = {"autoscaling": {"minNodeCount": 0, "maxNodeCount": most}, "initialNodeCount": 0, **more}
    config = {"machineType": kind, **stated.pop("nodeConfig", {})}
    return make("gcp:container/nodePool:NodePool", name, {"location": "us-central1-a", "nodeConfig": config, **stated})


def eks(**more: Any) -> RecordedResource:
    scaling = {"minSize": 0, "maxSize": 4, "desiredSize": 0, **more.pop("scalingConfig", {})}
    inputs = {"clusterName": "c", "instanceTypes": ["g5.xlarge"], "scalingConfig": scaling, **more}
    return make("aws:eks/nodeGroup:NodeGroup", "gpu", inputs)


def aks(**more: Any) -> RecordedResource:
    scaling = {"enableAutoScaling": True, "minCount": 0, "maxCount": 4, "count": 0}
    inputs = {"vmSize": "Standard_NC24ads_A100_v4", "mode": "User", **scaling, **more}
    return make("azure-native:containerservice:AgentPool", "gpu", inputs)


AUTOSCALER = make(
    "kubernetes:helm.sh/v3:Release", "ca", {"chart": "cluster-autoscaler", "values": {"autoDiscovery": {}}}
)


def pod(gpus: int = 1, **more: Any) -> dict[str, Any]:
    requests = more.pop("requests", {})
    resources = {"limits": {"nvidia.com/gpu": str(gpus)} if gpus else {}, "requests": requests}
    return {"containers": [{"name": "m", "image": "x:1", "resources": resources}], **more}


def server(replicas: Any = 3, spec: dict[str, Any] | None = None, kind: str = "apps/v1:Deployment", **more: Any) -> Any:
    stated = {} if replicas is None else {"replicas": replicas}
    inputs = {"spec": {**stated, "template": {"spec": spec or pod()}, **more}}
    return make(f"kubernetes:{kind}", "m", inputs)


def scaler(kind: str = "HorizontalPodAutoscaler", **spec: Any) -> RecordedResource:
    group = "keda.sh/v1alpha1" if kind == "ScaledObject" else "autoscaling/v2"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "m"}
    return make(f"kubernetes:{group}:{kind}", "h", {"spec": {"scaleTargetRef": target, **spec}})


def ray(workers: dict[str, Any], *, scaled: bool = False) -> RecordedResource:
    groups = [{"rayStartParams": {}, "template": {"spec": pod()}, **workers}]
    head = {"rayStartParams": {}, "template": {"spec": pod(0)}}
    spec = {"headGroupSpec": head, "workerGroupSpecs": groups, "enableInTreeAutoscaling": scaled}
    return make("kubernetes:ray.io/v1:RayCluster", "r", {"spec": spec})


@pytest.mark.parametrize(
    ("pool", "others", "expected"),
    [
        (gke(), [server(3)], (3, 3, 4)),
        (gke(), [server(0)], (0, 0, 4)),
        (gke(), [server(None)], (1, 1, 4)),
        (gke(), [server(9)], (4, 4, 4)),
        (gke(kind="g2-standard-24"), [server(3)], (2, 2, 4)),  # two accelerators each
        (gke(), [server(2, kind="apps/v1:StatefulSet")], (2, 2, 4)),
        (gke(), [server(2, kind="apps/v1:ReplicaSet")], (2, 2, 4)),
        (gke(), [make("kubernetes:core/v1:Pod", "p", {"spec": pod()})], (1, 1, 4)),
        (gke(), [make("kubernetes:apps/v1:DaemonSet", "d", {"spec": {"template": {"spec": pod()}}})], (0, 0, 4)),
        (gke(), [server(None), scaler(minReplicas=3, maxReplicas=4)], (3, 3, 4)),
        (gke(), [server(2), scaler(maxReplicas=4)], (1, 2, 4)),
        (gke(), [server(0), scaler(minReplicas=3)], (0, 0, 4)),  # which stops the autoscaler
        (gke(), [server(2), scaler("ScaledObject", triggers=[{"type": "prometheus"}])], (0, 0, 4)),
        (gke(), [server(1), scaler("ScaledObject", minReplicaCount=2, triggers=[{"type": "cron"}])], (2, 2, 4)),
        (gke(), [ray({"replicas": 2})], (2, 2, 4)),
        (gke(), [ray({"replicas": 3, "minReplicas": 1}, scaled=True)], (1, 3, 4)),
        (gke(), [ray({"replicas": 1, "numOfHosts": 2})], (2, 2, 4)),
        (gke(), [server(UNKNOWN)], (0, 4, 4)),
        (gke(nodeCount=2, autoscaling=None), [server(3)], (2, 2, 2)),  # nothing adds machines
        (aks(), [server(3)], (3, 3, 4)),
        (aks(enableAutoScaling=False, count=1, maxCount=None), [server(3)], (1, 1, 1)),
        (eks(), [server(3), AUTOSCALER], (3, 3, 4)),
        (eks(), [server(3)], (0, 3, 4)),  # another program may run an autoscaler
        (eks(scalingConfig={"desiredSize": 1}), [server(1)], (1, 1, 4)),  # and takes no machine from a pod that stands
        (eks(scalingConfig={"desiredSize": 1}), [server(3)], (1, 3, 4)),
        (eks(scalingConfig={"desiredSize": 3}), [server(1)], (1, 3, 4)),
        (eks(scalingConfig={"desiredSize": 1}), [server(0)], (0, 1, 4)),
    ],
)  # fmt: skip
def test_pods_that_stand_hold_machines(pool: Any, others: list[Any], expected: tuple[int, int, int]) -> None:
    assert machines(pool, *others) == expected


@pytest.mark.parametrize(
    ("pool", "spec", "held"),
    [
        (gke(), pod(nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-l4"}), 3),
        (gke(), pod(nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}), 0),
        (gke(nodeConfig={"labels": {"team": "a"}}), pod(nodeSelector={"team": "a"}), 3),
        (gke(nodeConfig={"labels": {"team": "a"}}), pod(nodeSelector={"team": "b"}), 0),
        (gke(nodeConfig={"taints": [{"key": "team", "value": "a", "effect": "NO_SCHEDULE"}]}), pod(), 0),
        (
            gke(nodeConfig={"taints": [{"key": "team", "value": "a", "effect": "NO_SCHEDULE"}]}),
            pod(tolerations=[{"key": "team", "operator": "Exists"}]),
            3,
        ),
        (gke(), pod(0, requests={"cpu": "1"}), 0),  # GKE keeps them off
        (gke(kind="e2-standard-4"), pod(0, requests={"cpu": "2"}), 3),  # its system takes a part of a CPU
        (gke(kind="e2-standard-4"), pod(0, requests={"cpu": "1500m"}), 2),
        (gke(kind="e2-standard-4"), pod(0, requests={"memory": "6Gi"}), 2),
        (gke(kind="e2-standard-4"), pod(0), 1),
        (gke(kind="e2-standard-4"), pod(0, requests={"cpu": "8"}), 0),  # fits on none
        (
            gke(kind="e2-standard-4"),
            pod(0, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname"}]}}),
            3,
        ),
    ],
)  # fmt: skip
def test_only_pods_that_a_pool_takes_hold_its_machines(pool: Any, spec: dict[str, Any], held: int) -> None:
    assert machines(pool, server(3, spec))[0] == held


def test_pods_go_where_machines_run_anyway() -> None:
    system = gke("system", "e2-standard-4", autoscaling=None, nodeCount=2)
    web = server(4, pod(0, requests={"cpu": "1"}))
    assert machines(gke(kind="e2-standard-8"), system, web)[0] == 0
    assert machines(gke(kind="e2-standard-8"), system, server(20, pod(0, requests={"cpu": "1"})))[0] == 2


def test_pods_of_another_cluster_hold_nothing_here() -> None:
    there = make("pulumi:providers:kubernetes", "k", {"kubeconfig": "apiVersion: v1"})
    away = replace(server(3), provider=f"{there.urn}::id")
    assert machines(gke(), there, away) == (0, 0, 4)


@pytest.mark.parametrize(("was", "now", "sign"), [(0, 3, 1), (3, 1, -1)])
def test_a_change_of_replicas_moves_the_headline(was: int, now: int, sign: int) -> None:
    stack = compare("dev", side(gke(), server(was)), side(gke(), server(now)))
    assert stack.change_usd_per_month * sign > 1000
    assert stack.before is not None
    idle = stack.after.idle_usd_per_hour.expected - stack.before.idle_usd_per_hour.expected
    assert idle * sign > 1


KARPENTER = make("kubernetes:karpenter.sh/v1:NodePool", "any", {"spec": {"template": {"spec": {}}}})
AUTO_MODE = make("aws:eks/cluster:Cluster", "c", {"computeConfig": {"enabled": True}})


@pytest.mark.parametrize("starter", [KARPENTER, AUTO_MODE])
def test_what_starts_machines_of_any_kind_has_no_figure(starter: RecordedResource) -> None:
    stack = compare("dev", side(starter, server(0)), side(starter, server(3)))
    row = next(row for row in stack.rows if row.component == "m")
    assert any("which it takes is not known" in each for each in row.unpriced)
    assert not stack.change_usd_per_month


def test_machines_of_a_job_are_billed_by_use() -> None:
    job = make("kubernetes:batch/v1:Job", "j", {"spec": {"parallelism": 2, "template": {"spec": pod()}}})
    assert machines(gke(), job) == (0, 0, 4)
    assert [kind for _, kind, _ in side(gke(), job).pricing.by_use] == ["kubernetes:batch/v1:Job"]
