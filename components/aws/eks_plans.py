"""The arithmetic behind EKS: images, taints, add-ons, first boot, kubeconfig, charts. Pure."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from components.aws.plans import runtime_of
from components.owned import GuardArgs
from sizing.catalog.records import Shape

LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")
VPC_CNI = "v1.21.1-eksbuild.8"
HUGE_PAGES = 5128  # of 2 MiB; what the EFA provider of libfabric takes with 32 interfaces
TAINT_KEYS = {"cuda": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}
METRICS = {"cuda": "node_gpu_utilization", "neuron": "node_neuroncore_utilization"}
IMAGE_TYPES = {
    "": "AL2023_x86_64_STANDARD",
    "cuda": "AL2023_x86_64_NVIDIA",
    "cuda-arm64": "AL2023_ARM_64_NVIDIA",
    "neuron": "AL2023_x86_64_NEURON",
}
CAPACITY_TYPES = {
    "on-demand": "ON_DEMAND",
    "reservation": "ON_DEMAND",
    "spot": "SPOT",
    "capacity-block": "CAPACITY_BLOCK",
}
_ARM_FAMILIES = ("g5g.", "p6e-gb")


def image_type(shape: Shape) -> str:
    """EKS's own image with the driver in it: the driver is there exactly once."""
    arm = shape.instance_type.startswith(_ARM_FAMILIES)
    return IMAGE_TYPES["cuda-arm64" if arm else runtime_of(shape)]


def taints(shape: Shape) -> list[dict[str, str]]:
    """Only pods that ask for the accelerator come onto its machines."""
    return [{"key": TAINT_KEYS[runtime_of(shape)], "value": "present", "effect": "NO_SCHEDULE"}]


def labels(shape: Shape, *, pool: str, efa: bool) -> dict[str, str]:
    """What the device plugins and the workloads select by."""
    present = f"{'nvidia.com/gpu' if runtime_of(shape) == 'cuda' else 'aws.amazon.com/neuron'}.present"
    known = {"sizewell/pool": pool, "sizewell/accelerator": shape.accelerator, present: "true"}
    return {**known, "vpc.amazonaws.com/efa.present": "true"} if efa else known


def has_efa(shape: Shape, *, gang: bool) -> bool:
    return gang and shape.fabric == "efa" and shape.rdma_interfaces > 0


def first_boot(shape: Shape, *, efa: bool) -> str:
    """MIME for EKS's node agent, base64: local disks as one RAID 0, huge pages for EFA; "" for neither.

    The agent adds the cluster itself; a shell script that did so would run twice.
    """
    parts = []
    if shape.local_nvme_bytes:
        node = {
            "apiVersion": "node.eks.aws/v1alpha1",
            "kind": "NodeConfig",
            "spec": {"instance": {"localStorage": {"strategy": "RAID0"}}},
        }
        parts.append(("application/node.eks.aws", json.dumps(node, indent=1)))
    if efa:
        script = f"#!/bin/bash\necho vm.nr_hugepages={HUGE_PAGES} > /etc/sysctl.d/90-efa.conf\nsysctl --system"
        parts.append(("text/x-shellscript; charset=us-ascii", script))
    if not parts:
        return ""
    lines = ["MIME-Version: 1.0", 'Content-Type: multipart/mixed; boundary="SIZEWELL"', ""]
    for kind, body in parts:
        lines += ["--SIZEWELL", f"Content-Type: {kind}", "", body, ""]
    return base64.b64encode("\n".join([*lines, "--SIZEWELL--", ""]).encode()).decode()


def addons(*, versions: Mapping[str, str], lustre: bool) -> dict[str, dict[str, Any]]:
    """Add-ons by name: those before the machines (network, identity), then those that run on them.

    Prefix delegation: without it a machine with few interfaces has room for a dozen pods.
    """
    network = {"env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}}
    settings: dict[str, dict[str, Any]] = {
        "vpc-cni": {"addon_version": VPC_CNI, "configuration_values": json.dumps(network)},
        "eks-pod-identity-agent": {},
        "kube-proxy": {},
        "coredns": {},
        "eks-node-monitoring-agent": {},
        "amazon-cloudwatch-observability": {},
    }
    if lustre:
        settings["aws-fsx-csi-driver"] = {}
    return {
        name: {**one, "addon_version": versions[name]} if name in versions else one for name, one in settings.items()
    }


BEFORE_MACHINES = ("vpc-cni", "eks-pod-identity-agent", "kube-proxy")


def idle_alarm(*, runtime: str, guard: GuardArgs, cluster: Any, seconds: int) -> dict[str, Any]:
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


def charts(*, runtimes: Sequence[str], efa: bool, registry: str) -> dict[str, dict[str, Any]]:
    """Pinned Helm charts by release name; each tolerates the taints of the machines that it is for."""
    tolerated = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in TAINT_KEYS.values()]
    found: dict[str, dict[str, Any]] = {}
    if "cuda" in runtimes:
        found["nvidia-device-plugin"] = {
            "chart": "nvidia-device-plugin",
            "version": "0.17.4",
            "repository": "https://nvidia.github.io/k8s-device-plugin",
            "values": {
                "image": {"repository": f"{registry}/nvidia/k8s-device-plugin"},
                "nodeSelector": {"nvidia.com/gpu.present": "true"},
                "tolerations": tolerated[:1],
            },
        }
    if "neuron" in runtimes:
        found["neuron"] = {
            "chart": "oci://public.ecr.aws/neuron/neuron-helm-chart",
            "version": "1.1.2",
            "repository": "",
            "values": {
                "npd": {"enabled": False},
                "devicePlugin": {
                    "nodeSelector": {"aws.amazon.com/neuron.present": "true"},
                    "tolerations": tolerated[1:],
                },
            },
        }
    if efa:
        found["aws-efa-k8s-device-plugin"] = {
            "chart": "aws-efa-k8s-device-plugin",
            "version": "v0.5.7",
            "repository": "https://aws.github.io/eks-charts",
            "values": {"nodeSelector": {"vpc.amazonaws.com/efa.present": "true"}, "tolerations": tolerated},
        }
    return found


def group_of(resources: Any) -> str:
    """The Auto Scaling group behind a managed node group."""
    for one in resources or []:
        for group in one.autoscaling_groups or []:
            return str(group.name)
    return ""
