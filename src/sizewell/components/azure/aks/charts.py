"""Operators of an AKS cluster: pinned Helm charts, their custom objects, and the images to mirror for them. Pure."""

import json
from collections.abc import Sequence
from typing import Any

from sizewell.components.azure.aks.node_config import SCRAPE_S, tolerations
from sizewell.launch.target import POOL_TAINT

LUSTRE_DRIVER = "azurelustre.csi.azure.com"


def lustre_chart() -> dict[str, object]:
    """The driver of Azure Managed Lustre, pinned: chart and images lie in Microsoft's registry, which every AKS cluster
    reaches; its pods load the client for the machine's kernel from packages.microsoft.com
    (github.com/kubernetes-sigs/azurelustre-csi-driver, charts/README.md).

    It stands on our tainted pools beside the chart's own kinds, and its controller beside AKS's on the system pool.
    """
    anywhere = {"key": POOL_TAINT, "operator": "Exists", "effect": "NoSchedule"}
    return {
        "chart": "oci://mcr.microsoft.com/microsoft.azuremanagedlustre/azurelustre-csi-driver",
        "version": "0.6.0",
        "values": {
            "controller": {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}]},
            "node": {"tolerations": [*tolerations(), anywhere]},
        },
    }


def charts(*, runtimes: Sequence[str], driver: str, infiniband: bool, registry: str) -> dict[str, dict[str, Any]]:
    """Pinned Helm charts by release name.

    NFD comes once: from the network operator where there is one, else from the first GPU operator. The values follow
    Microsoft's own (github.com/Azure/aks-rdma-infiniband, configs/values).
    """
    own = driver == "operator"
    wanted: dict[str, dict[str, object]] = {}
    mirrored = registry != NVCR
    gpu_only = {"key": "kubernetes.azure.com/mode", "operator": "NotIn", "values": ["system"]}
    worker = {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [gpu_only]}]
                }
            }
        },
        "tolerations": tolerations(),
    }
    if infiniband:
        wanted["network-operator"] = {
            "chart": "network-operator",
            "version": NETWORK_OPERATOR,
            "repository": NGC,
            "values": {
                "node-feature-discovery": {
                    "worker": worker,
                    **(
                        {"image": {"repository": f"{registry}/nvidia/mellanox/node-feature-discovery"}}
                        if mirrored
                        else {}
                    ),
                },
                "operator": {
                    "repository": f"{registry}/nvidia/cloud-native",
                    "ofedDriver": {"initContainer": {"repository": f"{registry}/nvidia/mellanox"}},
                },
            },
        }
    if "cuda" in runtimes:
        runtime = {} if own else {"operator": {"runtimeClass": "nvidia-container-runtime"}}
        wanted["gpu-operator"] = {
            "chart": "gpu-operator",
            "version": GPU_OPERATOR,
            "repository": NGC,
            "values": {
                "nfd": {"enabled": not infiniband},
                "node-feature-discovery": {
                    "worker": worker,
                    **({"image": {"repository": f"{registry}/nfd/node-feature-discovery"}} if mirrored else {}),
                },
                "driver": {
                    "enabled": own,
                    "repository": f"{registry}/nvidia",
                    "version": GPU_DRIVER,
                    "rdma": {"enabled": own and infiniband},
                    **({"repoConfig": {"configMapName": PACKAGES}} if own else {}),
                    "manager": {"repository": f"{registry}/nvidia/cloud-native"},
                },
                "toolkit": {"enabled": own, "repository": f"{registry}/nvidia/k8s"},
                "operator": {**runtime.get("operator", {}), "repository": f"{registry}/nvidia"},
                "validator": {"repository": f"{registry}/nvidia"},
                "devicePlugin": {"repository": f"{registry}/nvidia"},
                "gfd": {"repository": f"{registry}/nvidia"},
                "dcgm": {"repository": f"{registry}/nvidia/cloud-native"},
                "daemonsets": {"tolerations": tolerations()},
                "migManager": {"enabled": False},
                "vgpuDeviceManager": {"enabled": False},
                "vfioManager": {"enabled": False},
                "sandboxDevicePlugin": {"enabled": False},
                "kataSandboxDevicePlugin": {"enabled": False},
                "ccManager": {"enabled": False},
                "dcgmExporter": {
                    "enabled": True,
                    "repository": f"{registry}/nvidia/k8s",
                    "serviceMonitor": {"enabled": False},
                },
            },
        }
    if "rocm" in runtimes:
        wanted["amd-gpu-operator"] = {
            "chart": "gpu-operator-charts",
            "version": AMD_OPERATOR,
            "repository": "https://rocm.github.io/gpu-operator",
            "values": {
                "node-feature-discovery": {
                    "enabled": not infiniband and "cuda" not in runtimes,
                    "worker": worker,
                    **({"image": {"repository": f"{registry}/nfd/node-feature-discovery"}} if mirrored else {}),
                },
                "kmm": {"enabled": True, **(_kmm_mirrored(registry) if mirrored else {})},
                **({"controllerManager": _amd_manager(registry)} if mirrored else {}),
                "crds": {"defaultCR": {"install": False}},
            },
        }
    return wanted


NGC, NVCR = "https://helm.ngc.nvidia.com/nvidia", "nvcr.io"
# Driver containers of both operators compile against the machine's kernel: its headers are packages, which come from
# the mirror that Azure's own Ubuntu images use (learn.microsoft.com/azure/aks/outbound-rules-control-egress).
PACKAGES, UBUNTU = "packages", "http://azure.archive.ubuntu.com/ubuntu/"
CODENAMES = {"22.04": "jammy", "24.04": "noble"}  # which of them a cluster has: kubernetes_versions.csv
NETWORK_OPERATOR, GPU_OPERATOR, AMD_OPERATOR = "26.4.1", "v26.7.0", "v1.4.1"
# Of the two drivers that come with that GPU operator, the long-term one: the other drives no Volta.
GPU_DRIVER = "580.173.02"
# The values of the published chart gpu-operator-charts-v1.4.1.tgz (rocm.github.io/gpu-operator) name the driver, the
# tags of the module manager's images (those of the operator) and the utility container, which is one release older.
AMD_DRIVER, AMD_UTILS = "30.20.1", "v1.4.0"
KMM_PARTS = ("operator", "webhook-server", "worker")
DOCA = "doca3.4.1-26.04-1.1.0.0-1"


def objects(
    *, runtimes: Sequence[str], infiniband: bool, registry: str, amd_driver_image: str
) -> dict[str, dict[str, Any]]:
    """Custom objects of the operators by name, each with the release that knows its kind (`after`)."""
    mirrored = registry != NVCR
    wanted: dict[str, dict[str, object]] = {}
    if infiniband:
        wanted["nic-cluster-policy"] = {"after": "network-operator", "namespace": "", **_nic_cluster_policy(registry)}
    if "cuda" in runtimes:
        wanted["dcgm"] = _monitor("gpu-operator", labels={"app": "nvidia-dcgm-exporter"}, port="metrics")
    if "rocm" in runtimes:
        wanted["amd"] = {
            "after": "amd-gpu-operator",
            "namespace": "amd-gpu-operator",
            "api_version": "amd.com/v1alpha1",
            "kind": "DeviceConfig",
            "spec": {
                # without a version the operator chooses one by the release of Ubuntu, and with it another tag
                "driver": {"enable": True, "image": amd_driver_image, "version": AMD_DRIVER, "blacklist": True},
                **({"commonConfig": _amd_common(registry)} if mirrored else {}),
                "devicePlugin": {
                    "enableNodeLabeller": True,
                    "devicePluginTolerations": tolerations(),
                    **(
                        {
                            "devicePluginImage": f"{registry}/rocm/k8s-device-plugin:latest",
                            "nodeLabellerImage": f"{registry}/rocm/k8s-device-plugin:labeller-latest",
                        }
                        if mirrored
                        else {}
                    ),
                },
                "metricsExporter": {
                    "enable": True,
                    **({"image": f"{registry}/rocm/device-metrics-exporter:{AMD_OPERATOR}"} if mirrored else {}),
                    "serviceType": "ClusterIP",
                    "port": 5000,
                    "tolerations": tolerations(),
                },
                "selector": {"feature.node.kubernetes.io/amd-gpu": "true"},
            },
        }
        wanted["amd-metrics"] = _monitor(
            "amd-gpu-operator", labels={"app.kubernetes.io/name": "metrics-exporter"}, port="exporter-port"
        )
    return wanted


def _amd_manager(registry: str) -> dict[str, object]:
    return {"manager": {"image": {"repository": f"{registry}/rocm/gpu-operator", "tag": AMD_OPERATOR}}}


def _amd_common(registry: str) -> dict[str, object]:
    return {
        "initContainerImage": f"{registry}/library/busybox:1.36",
        "utilsContainer": {"image": f"{registry}/rocm/gpu-operator-utils:{AMD_UTILS}"},
    }


def amd_driver_tag(repository: str, *, ubuntu: str) -> str:
    """The image that AMD's module manager looks for before it builds one itself, which takes packages of the internet
    (ROCm/gpu-operator v1.4.1, docs/drivers/precompiled-driver.md, "Image Tag Format").

    >>> amd_driver_tag("petsnap.azurecr.io/amdgpu-driver", ubuntu="24.04")
    'petsnap.azurecr.io/amdgpu-driver:ubuntu-24.04-KERNEL-30.20.1'
    """
    return f"{repository}:ubuntu-{ubuntu}-KERNEL-{AMD_DRIVER}"


def _kmm_mirrored(registry: str) -> dict[str, object]:
    """Values by which AMD's module manager comes from a mirror; the driver's own image is amd_driver_image."""
    rocm = f"{registry}/rocm/kernel-module-management"
    return {
        "controller": {
            "manager": {
                "image": {"repository": f"{rocm}-operator", "tag": AMD_OPERATOR},
                "env": {"relatedImageWorker": f"{rocm}-worker:{AMD_OPERATOR}"},
            }
        },
        "webhookServer": {"webhookServer": {"image": {"repository": f"{rocm}-webhook-server", "tag": AMD_OPERATOR}}},
    }


def package_sources(ubuntu: str) -> str:
    """What apt reads in the driver containers
    (docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/install-gpu-operator-air-gapped.html).

    >>> package_sources("24.04").splitlines()[0]
    'deb [arch=amd64] http://azure.archive.ubuntu.com/ubuntu/ noble main universe'
    """
    name = CODENAMES[ubuntu]
    releases = (name, f"{name}-updates", f"{name}-security")
    return "".join(f"deb [arch=amd64] {UBUNTU} {release} main universe\n" for release in releases)


def mirror_images(*, runtimes: Sequence[str], driver: str, infiniband: bool, ubuntu: str) -> list[str]:
    """Images that a mirror has to hold for these operators, as their charts of the versions above name them; both
    operators put the machine's release of Ubuntu behind the tags of their drivers
    (NVIDIA/gpu-operator deployments/gpu-operator/values.yaml v26.7.0, Mellanox/network-operator
    deployment/network-operator/values.yaml and hack/release.yaml v26.4.1, ROCm/gpu-operator helm-charts-k8s v1.4.1).

    >>> len(mirror_images(runtimes=["cuda"], driver="aks", infiniband=False, ubuntu="24.04"))
    5
    """
    images = []
    if "cuda" in runtimes:
        images += [
            f"{NVCR}/nvidia/gpu-operator:{GPU_OPERATOR}",
            f"{NVCR}/nvidia/k8s-device-plugin:v0.20.0",
            f"{NVCR}/nvidia/cloud-native/dcgm:4.6.0-1-ubuntu24.04",
            f"{NVCR}/nvidia/k8s/dcgm-exporter:4.6.0-4.8.3-distroless",
        ]
        if driver == "operator":
            images += [
                f"{NVCR}/nvidia/driver:{GPU_DRIVER}-ubuntu{ubuntu}",
                f"{NVCR}/nvidia/cloud-native/k8s-driver-manager:v0.12.0",
                f"{NVCR}/nvidia/k8s/container-toolkit:v1.20.0",
            ]
        if not infiniband:
            images.append("registry.k8s.io/nfd/node-feature-discovery:v0.19.0")
    if "rocm" in runtimes:
        images += [
            f"docker.io/rocm/gpu-operator:{AMD_OPERATOR}",
            *(f"docker.io/rocm/kernel-module-management-{part}:{AMD_OPERATOR}" for part in KMM_PARTS),
            f"docker.io/rocm/gpu-operator-utils:{AMD_UTILS}",
            f"docker.io/rocm/device-metrics-exporter:{AMD_OPERATOR}",
            "docker.io/rocm/k8s-device-plugin:latest",
            "docker.io/rocm/k8s-device-plugin:labeller-latest",
            "docker.io/library/busybox:1.36",
        ]
        if "cuda" not in runtimes and not infiniband:
            images.append("registry.k8s.io/nfd/node-feature-discovery:v0.16.1")
    if infiniband:
        mellanox = f"{NVCR}/nvidia/mellanox"
        images += [
            f"{NVCR}/nvidia/cloud-native/network-operator:v{NETWORK_OPERATOR}",
            f"{mellanox}/network-operator-init-container:network-operator-v{NETWORK_OPERATOR}",
            f"{mellanox}/node-feature-discovery:network-operator-v{NETWORK_OPERATOR}",
            f"{mellanox}/doca-driver:{DOCA}-ubuntu{ubuntu}-amd64",
            f"{mellanox}/sriov-network-device-plugin:network-operator-v{NETWORK_OPERATOR}",
        ]
    return images


def _monitor(release: str, *, labels: dict[str, str], port: str) -> dict[str, object]:
    """What lets Azure's managed Prometheus read an operator's exporter."""
    return {
        "after": release,
        "namespace": release,
        "api_version": "azmonitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "spec": {
            "selector": {"matchLabels": labels},
            "podMetricsEndpoints": [{"port": port, "interval": f"{SCRAPE_S}s"}],
        },
    }


def _nic_cluster_policy(registry: str) -> dict[str, object]:
    """The InfiniBand driver, and the virtual functions as `rdma/ib` (github.com/Azure/aks-rdma-infiniband, configs)."""
    selectors = {"vendors": ["15b3"], "linkTypes": ["infiniband"], "isRdma": True}
    plugin = {"resourceList": [{"resourcePrefix": "rdma", "resourceName": "ib", "selectors": selectors}]}
    present = {"key": "feature.node.kubernetes.io/pci-15b3.present", "operator": "In", "values": ["true"]}
    return {
        "api_version": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        "spec": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [present]}]
                }
            },
            "tolerations": tolerations(),
            "ofedDriver": {
                "repository": f"{registry}/nvidia/mellanox",
                "image": "doca-driver",
                "version": DOCA,
                "repoConfig": {"name": PACKAGES},
                "upgradePolicy": {"autoUpgrade": False, "maxParallelUpgrades": 1},
            },
            "sriovDevicePlugin": {
                "repository": f"{registry}/nvidia/mellanox",
                "image": "sriov-network-device-plugin",
                "version": f"network-operator-v{NETWORK_OPERATOR}",
                "config": json.dumps(plugin),
            },
        },
    }
