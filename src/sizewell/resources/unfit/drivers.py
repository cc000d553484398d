"""The driver that NVIDIA's GPU operator installs beside the GPUs of a program's pools.

Sources: github.com/NVIDIA/gpu-operator v26.7.0 (deployments/gpu-operator/values.yaml: driver.enabled, driver.version,
driver.kernelModuleType); nvidia.github.io/cloud-native-docs (clusterpolicy-reference), read on 2026-11-28.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import canonical, cloud_of, flag, get, items
from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.catalog.compatibility import driver_for
from sizewell.sizing.catalog.images import image_kind
from sizewell.sizing.catalog.lifetimes import Lifetimes
from sizewell.sizing.catalog.records import Accelerator

CHARTS: Final = ("kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v3:Chart", "kubernetes:helm.sh/v4:Chart")
CLUSTERS: Final = (
    "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster", "azure-native:containerservice:ManagedCluster",
    "azure:containerservice/kubernetesCluster:KubernetesCluster",
)  # fmt: skip
EKS_POOL: Final = "aws:eks/nodeGroup:NodeGroup"
GKE_POOL: Final = "gcp:container/nodePool:NodePool"
AKS_POOL: Final = "azure-native:containerservice:AgentPool"
OFF: Final = "INSTALLATION_DISABLED"  # of GKE's own driver


def of_operator(
    graph: Graph, resource: RecordedResource, catalog: Catalog, known: Lifetimes
) -> Iterator[tuple[str, str]]:
    """A driver that does not know the GPUs of a pool without its own; of two clusters it is not known whose it is."""
    driver = _driver(resource)
    if not isinstance(driver, Mapping) or flag(driver.get("enabled"), default=True) is not True:
        return
    if len(graph.of(*CLUSTERS)) > 1:
        return
    version, modules = driver.get("version"), driver.get("kernelModuleType")
    stated = re.match(r"(\d{3})(?:\.\d|$)", version) if isinstance(version, str) else None
    branch = int(stated[1]) if stated else None
    for pool, machine, device in _bare(graph, catalog):
        needed = known.driver_range(device.key, device.family)
        verdict = driver_for(needed, branch, device.key)
        if verdict.state == "bad":
            said = f"driver {version} does not drive the {device.name} of {pool.name} ({machine})"
            yield f"{said}: {verdict.reason.partition(', and it')[0]}", _instead(known, device)
        elif needed is not None and needed.modules and isinstance(modules, str) and _other(modules, needed.modules):
            said = f"kernelModuleType {modules} does not drive the {device.name} of {pool.name} ({machine})"
            yield said, f"set it to {needed.modules}, or to auto"


def _other(stated: str, needed: str) -> bool:
    return stated in ("open", "proprietary") and stated != needed


def _instead(known: Lifetimes, device: Accelerator) -> str:
    """The branch of a chart of the operator that is supported, where that drives a GPU; else what the GPU needs."""
    needed = known.driver_range(device.key, device.family)
    charts = [row for row in known.releases if (row.kind, row.name) == ("chart", "gpu-operator") and not row.gone]
    good = [row for row in charts if driver_for(needed, row.driver, device.key).state == "good"]
    if good:
        return f"name a driver of branch {good[-1].driver}, which the chart {good[-1].version} has"
    if needed is not None and needed.driver_max is not None:
        return f"name a driver of branch {needed.driver_max}"
    return f"name a driver of branch {needed.driver_min} or later" if needed is not None else "name another driver"


def _driver(resource: RecordedResource) -> Any:
    """What the values of the chart, or a resource of the operator itself, say of the driver."""
    type_ = canonical(resource.type)
    if type_ in CHARTS:
        chart = resource.inputs.get("chart")
        whole = isinstance(chart, str) and chart.rpartition("/")[2] == "gpu-operator"
        return get(resource.inputs, "values", "driver") if whole else None
    if type_ == "kubernetes:nvidia.com/v1:ClusterPolicy":
        return get(resource.inputs, "spec", "driver")
    if type_ == "kubernetes:nvidia.com/v1alpha1:NVIDIADriver":
        return get(resource.inputs, "spec")
    return None


def _bare(graph: Graph, catalog: Catalog) -> Iterator[tuple[RecordedResource, str, Accelerator]]:
    """Pools of NVIDIA's GPUs whose machines start without a driver, which the operator installs there."""
    for pool in graph.of(EKS_POOL, GKE_POOL, AKS_POOL):
        type_ = canonical(pool.type)
        if type_ == EKS_POOL:
            image = pool.inputs.get("amiType")
            kind = image_kind(cloud_of(type_), image) if isinstance(image, str) else None
            listed = items(pool.inputs.get("instanceTypes"))
            machines = () if kind is None or "cuda" in kind.drives or isinstance(listed, Unknown) else listed
        elif type_ == GKE_POOL:
            config = pool.inputs.get("nodeConfig")
            attached = items(get(config, "guestAccelerators"))
            kinds = () if isinstance(attached, Unknown) else attached
            paths = [get(each, "gpuDriverInstallationConfig", "gpuDriverVersion") for each in kinds]
            machines = (get(config, "machineType"),) if paths and set(map(str, paths)) == {OFF} else ()
        else:
            off = get(pool.inputs, "gpuProfile", "driver") == "None"
            machines = (pool.inputs.get("vmSize"),) if off else ()
        for machine in machines:
            shape = catalog.shapes_by_type.get((cloud_of(type_), str(machine)))
            if shape is not None and shape.accelerator and shape.runtime == "cuda":
                yield pool, str(machine), catalog.accelerators[shape.accelerator]
