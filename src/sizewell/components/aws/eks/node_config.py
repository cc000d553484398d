"""Nodes of an EKS cluster: images, taints, labels, first boot, their queue and metrics, the kubeconfig. Pure."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from sizewell.components.aws.instances import MACHINE, runtime_of
from sizewell.components.kubernetes.objects import EKS_TOPOLOGY
from sizewell.components.owned import GuardArgs
from sizewell.launch.target import POOL_TAINT
from sizewell.sizing.catalog.records import Shape

LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")
HUGE_PAGES = 5128  # of 2 MiB; what the EFA provider of libfabric takes with 32 interfaces
TAINT_KEYS = {"": POOL_TAINT, "cuda": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}
METRICS = {"cuda": "node_gpu_utilization", "neuron": "node_neuroncore_utilization"}
IMAGE_TYPES = {
    "": "AL2023_x86_64_STANDARD",
    "cuda": "AL2023_x86_64_NVIDIA",
    "cuda-arm64": "AL2023_ARM_64_NVIDIA",
    "neuron": "AL2023_x86_64_NEURON",
}
# A machine more of this kind is seldom there to be had, in a full reservation or block never: one goes before one comes
# (docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupUpdateConfig.html, updateStrategy).
REPLACED = {"max_unavailable": 1, "update_strategy": "MINIMAL"}
CAPACITY_TYPES = {
    "on-demand": "ON_DEMAND",
    "reservation": "ON_DEMAND",
    "spot": "SPOT",
    "capacity-block": "CAPACITY_BLOCK",
}


def image_type(shape: Shape) -> str:
    """EKS's own image with the driver in it: the driver is there exactly once."""
    return IMAGE_TYPES["cuda-arm64" if shape.architecture == "arm64" else runtime_of(shape)]


def taints(shape: Shape) -> list[dict[str, str]]:
    """Only pods that ask for the accelerator come onto its machines; without one, only those that name the pool."""
    return [{"key": TAINT_KEYS[runtime_of(shape)], "value": "present", "effect": "NO_SCHEDULE"}]


def labels(shape: Shape, *, pool: str, efa: bool) -> dict[str, str]:
    """What the device plugins and the workloads select by."""
    if not runtime_of(shape):
        return {"sizewell/pool": pool}
    present = f"{'nvidia.com/gpu' if runtime_of(shape) == 'cuda' else 'aws.amazon.com/neuron'}.present"
    known = {"sizewell/pool": pool, "sizewell/accelerator": shape.accelerator, present: "true"}
    if runtime_of(shape) == "cuda":  # else the autoscaler starts a second machine while the first one's plug-in starts
        known["k8s.amazonaws.com/accelerator"] = shape.accelerator
    return {**known, "vpc.amazonaws.com/efa.present": "true"} if efa else known


def queue_flavor(
    args: Mapping[str, object], shape: Shape, *, queue: str, beside: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The pool as a queue sees it: its most machines are the quota; `beside` is what else of each pods ask for."""
    levels = topology_levels(args, shape)
    return {
        "name": queue,
        "node_labels": {"sizewell/pool": queue},
        "resource": TAINT_KEYS[runtime_of(shape)] if runtime_of(shape) else "",
        "accelerators_per_machine": shape.accelerators,
        "cpus_per_machine": shape.vcpus or UNCOUNTED,
        "memory_gib_per_machine": (shape.memory_bytes or UNCOUNTED * 2**30) // 2**30,
        "machines": args["nodes_max"],
        **({"beside_per_machine": dict(beside)} if beside else {}),
        **({"topology_levels": levels} if levels else {}),
    }


def topology_levels(args: Mapping[str, object], shape: Shape) -> list[str]:
    """Labels of network layers by which a queue packs a job's machines, where these stand all the time.

    It counts those that are there, and behind an autoscaler that starts from none it would admit nothing.
    """
    stands = args["nodes_min"] == args["nodes_max"] and args["capacity_mode"] in ("on-demand", "reservation")
    return list(EKS_TOPOLOGY) if stands and shape.fabric == "efa" else []


UNCOUNTED = 10_000  # CPUs or GiB where the catalog has none: the accelerators alone then limit the queue


def has_efa(shape: Shape, *, gang: bool) -> bool:
    return gang and shape.fabric == "efa" and shape.rdma_interfaces > 0


def max_pods(shape: Shape) -> int:
    """What Kubernetes' own guidance allows by the machine's size.

    Stated, since the node agent counts addresses per interface: on machines whose interfaces are EFA alone it finds a
    dozen. Prefixes give each machine far more addresses than pods.
    """
    return 110 if shape.vcpus is not None and shape.vcpus < 30 else 250


def first_boot(shape: Shape, *, efa: bool) -> str:
    """MIME for EKS's node agent, base64: room for pods, local disks as one RAID 0, huge pages for EFA.

    The agent adds the cluster itself; a shell script that did so would run twice.
    """
    spec: dict[str, object] = {"kubelet": {"config": {"maxPods": max_pods(shape)}}}
    if shape.local_nvme_bytes:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    node = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    parts = [("application/node.eks.aws", json.dumps(node, indent=1))]
    if efa:
        script = f"#!/bin/bash\necho vm.nr_hugepages={HUGE_PAGES} > /etc/sysctl.d/90-efa.conf\nsysctl --system"
        parts.append(("text/x-shellscript; charset=us-ascii", script))
    lines = ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="SIZEWELL"', ""]
    for kind, body in parts:
        lines += ["--SIZEWELL", f"Content-Type: {kind}", "", body, ""]
    return base64.b64encode("\n".join([*lines, "--SIZEWELL--", ""]).encode()).decode()


def idle_alarm(*, runtime: str, guard: GuardArgs, cluster: object, seconds: int) -> dict[str, Any]:
    """Under the limit for `seconds` on the busiest accelerator of the cluster; no data is not idleness.

    Container Insights adds up by cluster, not by pool: a busy pool keeps a quiet one, which errs on the safe side.
    """
    period = 300
    periods = max(1, -(-seconds // period))
    return {
        "namespace": "ContainerInsights",
        "metric_name": METRICS[runtime],
        "dimensions": {"ClusterName": cluster},
        "statistic": "Maximum",
        "comparison_operator": "LessThanThreshold",
        "threshold": float(guard["min_utilization_percent"]),
        "period": period,
        "evaluation_periods": periods,
        "datapoints_to_alarm": periods,
        "treat_missing_data": "notBreaching",
    }


def measured(shape: Shape) -> dict[str, Mapping[str, str]]:
    """What a pool registers about where the use of its machines is published; nothing where nobody does
    (docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Container-Insights-metrics-enhanced-EKS.html).
    """
    runtime = runtime_of(shape)
    if runtime not in METRICS:
        return {}
    names = {"source": "cloudwatch", "namespace": "ContainerInsights", "metric": METRICS[runtime]}
    return {"measured": {**names, "per": "accelerator", "dimension": "ClusterName", "machine": MACHINE}}


def kubeconfig(*, cluster: str, endpoint: str, authority: str, region: str) -> str:
    """How kubectl reaches the cluster: a token by IAM for each call, nothing that lasts."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
            "current-context": cluster,
            "users": [
                {
                    "name": cluster,
                    "user": {
                        "exec": {
                            "apiVersion": "client.authentication.k8s.io/v1beta1",
                            "command": "aws",
                            "args": ["eks", "get-token", "--cluster-name", cluster, "--region", region],
                            "interactiveMode": "Never",
                        }
                    },
                }
            ],
        }
    )


def group_of(resources: Any) -> str:
    """The Auto Scaling group behind a managed node group."""
    groups = resources[0].autoscaling_groups if resources else []
    return str(groups[0].name) if groups else ""
