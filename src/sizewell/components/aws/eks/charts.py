"""Add-ons and pinned Helm charts of an EKS cluster, and the images that they run, mirrored or public. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sizewell.components.aws.eks.node_config import TAINT_KEYS
from sizewell.components.kubernetes_versions import following
from sizewell.sizing.catalog.lifetimes import load, number

VPC_CNI = "v1.21.1-eksbuild.8"


def _on(*labels: Mapping[str, object]) -> dict[str, object]:
    """The affinity of a DaemonSet for machines by what their labels say."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(labels)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


_CUDA = {"key": "nvidia.com/gpu.present", "operator": "Exists"}
_NEURON = {"key": "aws.amazon.com/neuron.present", "operator": "Exists"}
# What reports the use and the health of accelerators goes by the labels of our pools: the add-ons' own affinities list
# instance types, and a machine of a type that is not there yet is seen by nobody
# (github.com/aws-observability/helm-charts 71a298ff, charts/amazon-cloudwatch-observability/values.yaml;
# github.com/aws/eks-node-monitoring-agent 51af5494, charts/eks-node-monitoring-agent/values.yaml, whose DCGM is built
# for x86 and leaves HyperPod's machines to HyperPod).
MEASURES = {"dcgmExporter": _on(_CUDA), "neuronMonitor": _on(_NEURON)}
HEALTH = {
    "dcgmAgent": _on(
        _CUDA,
        {"key": "sagemaker.amazonaws.com/compute-type", "operator": "NotIn", "values": ["hyperpod"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    )
}


def addons(*, versions: Mapping[str, str], lustre: bool, disks: bool = False) -> dict[str, dict[str, object]]:
    """Add-ons by name: those before the machines (network, identity), then those that run on them.

    Prefix delegation: without it a machine with few interfaces has room for a dozen pods.
    """
    network = {"env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}}
    settings: dict[str, dict[str, object]] = {
        "vpc-cni": {"addon_version": VPC_CNI, "configuration_values": json.dumps(network)},
        "eks-pod-identity-agent": {},
        "kube-proxy": {},
        "coredns": {},
        "eks-node-monitoring-agent": {"configuration_values": json.dumps(HEALTH)},
        "amazon-cloudwatch-observability": {"configuration_values": json.dumps(MEASURES)},
    }
    if lustre:
        settings["aws-fsx-csi-driver"] = {}
    if disks:
        settings["aws-ebs-csi-driver"] = {}
    return {
        name: {**setting, "addon_version": versions[name]} if name in versions else setting
        for name, setting in settings.items()
    }


BEFORE_MACHINES = ("vpc-cni", "eks-pod-identity-agent", "kube-proxy")
IMAGES = {  # what the charts below run, as their projects publish it
    "nvidia-device-plugin": "nvcr.io/nvidia/k8s-device-plugin:v0.17.4",
    "neuron": "public.ecr.aws/neuron/neuron-device-plugin:2.23.30.0",
}
EKS_REGISTRIES = {  # accounts of EKS's own registry; 602401143452 elsewhere
    "af-south-1": "877085696533",
    "ap-east-1": "800184023465",
    "ap-south-2": "900889452093",
    "ap-southeast-3": "296578399912",
    "ap-southeast-4": "491585149902",
    "ap-southeast-5": "151610086707",
    "ap-southeast-7": "121268973566",
    "cn-north-1": "918309763551",
    "cn-northwest-1": "961992271922",
}


def eks_registry(region: str) -> str:
    """EKS's registry of a region, which nodes reach through the network's ECR endpoints.

    >>> eks_registry("us-east-1"), eks_registry("cn-north-1")
    ('602401143452.dkr.ecr.us-east-1.amazonaws.com', '918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn')
    """
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"{EKS_REGISTRIES.get(region, '602401143452')}.dkr.ecr.{region}.{suffix}"


def autoscaler_image(version: str) -> str:
    """The cluster autoscaler of the cluster's own minor version: it simulates that scheduler, and no other is tested.
    Where the table has none of that version, the nearest newer one, else the newest.

    >>> autoscaler_image("1.34"), autoscaler_image("1.33").rpartition(":")[2]
    ('registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.3', 'v1.34.3')
    """
    row = following("eks", version)
    known = [each for each in load().versions("eks").values() if each.autoscaler]
    newer = (each.autoscaler for each in known if number(each.version) >= number(row.version))
    tag = next(newer, known[-1].autoscaler)
    return f"registry.k8s.io/autoscaling/cluster-autoscaler:{tag}"


def image(public: str, registry: str) -> dict[str, str]:
    """Repository and tag of a chart's image, in the mirror `registry` where one is given.

    >>> image(IMAGES["neuron"], "123456789012.dkr.ecr.us-east-1.amazonaws.com/mirror")["repository"]
    '123456789012.dkr.ecr.us-east-1.amazonaws.com/mirror/neuron/neuron-device-plugin'
    """
    name, _, tag = public.rpartition(":")
    return {"repository": f"{registry}/{name.partition('/')[2]}" if registry else name, "tag": tag}


TESTED = {  # on machines that HyperPod is testing; its tests count devices as well
    "key": "sagemaker.amazonaws.com/node-health-status",
    "operator": "Equal",
    "value": "Unschedulable",
    "effect": "NoSchedule",
}


def charts(
    *, runtimes: Sequence[str], efa: bool, registry: str, region: str = "", hyperpod: bool = False
) -> dict[str, dict[str, Any]]:
    """Pinned Helm charts by release name; each tolerates the taints of the machines that it is for.

    EFA's plug-in goes by the label of our pools, not by the chart's list of types, which lacks the newest.
    """
    keys = (key for runtime, key in TAINT_KEYS.items() if runtime)
    tolerated = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys]
    tested = [TESTED] if hyperpod else []
    wanted: dict[str, dict[str, object]] = {}
    if "cuda" in runtimes:
        wanted["nvidia-device-plugin"] = {
            "chart": "nvidia-device-plugin",
            "version": "0.17.4",
            "repository": "https://nvidia.github.io/k8s-device-plugin",
            "values": {
                "image": image(IMAGES["nvidia-device-plugin"], registry),
                "nodeSelector": {"nvidia.com/gpu.present": "true"},
                "tolerations": [*tolerated[:1], *tested],
            },
        }
    if "neuron" in runtimes:
        wanted["neuron"] = {
            "chart": "oci://public.ecr.aws/neuron/neuron-helm-chart",
            "version": "1.1.2",
            "repository": "",
            "values": {
                "npd": {"enabled": False},
                "devicePlugin": {
                    "image": image(IMAGES["neuron"], registry),
                    "nodeSelector": {"aws.amazon.com/neuron.present": "true"},
                    "tolerations": [*tolerated[1:], *tested],
                },
            },
        }
    if efa:
        present = "vpc.amazonaws.com/efa.present"
        values: dict[str, object] = {
            "nodeSelector": {present: "true"},
            "supportedInstanceLabels": {"keys": [present], "values": ["true"]},
            "tolerations": [*tolerated, *tested],
        }
        if region:
            values["image"] = {"repository": f"{eks_registry(region)}/eks/aws-efa-k8s-device-plugin"}
        wanted["aws-efa-k8s-device-plugin"] = {
            "chart": "aws-efa-k8s-device-plugin",
            "version": "v0.5.7",
            "repository": "https://aws.github.io/eks-charts",
            "values": values,
        }
    return wanted
