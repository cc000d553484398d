"""What the definitions of operators' own kinds allow, of the fields that our clusters write. Pure.

Written from the projects' own definitions: NVIDIA's network operator v26.4 (mellanox.com/v1alpha1), AMD's GPU operator
v1.4 (amd.com/v1alpha1), the monitors that Azure's managed Prometheus reads (azmonitoring.coreos.com/v1, which has
the fields of monitoring.coreos.com/v1), and the networks of GKE's multi-networking (networking.gke.io/v1, as
github.com/GoogleCloudPlatform/cluster-toolkit 1047080 writes them: modules/scheduler/gke-cluster/templates).
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


class _Kind(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class Image(_Kind):
    repository: str
    image: str
    version: str
    imagePullSecrets: list[str] = []


class UpgradePolicy(_Kind):
    autoUpgrade: bool = False
    maxParallelUpgrades: Annotated[int, Field(ge=0)] = 1
    drain: dict[str, object] | None = None


class ConfigMapName(_Kind):
    name: str


class OfedDriver(Image):
    env: list[dict[str, Any]] = []
    repoConfig: ConfigMapName | None = None
    forcePrecompiled: bool | None = None
    upgradePolicy: UpgradePolicy | None = None
    startupProbe: dict[str, int] | None = None
    livenessProbe: dict[str, int] | None = None
    readinessProbe: dict[str, int] | None = None


class DevicePlugin(Image):
    config: str

    @field_validator("config")
    @classmethod
    def _is_json(cls, value: str) -> str:
        decoded = json.loads(value)
        if not {"resourceList", "configList"} & decoded.keys():
            msg = "must be JSON with resourceList or configList"
            raise ValueError(msg)
        return value


class NicClusterPolicy(_Kind):
    nodeAffinity: dict[str, object] | None = None
    tolerations: list[dict[str, Any]] = []
    ofedDriver: OfedDriver | None = None
    sriovDevicePlugin: DevicePlugin | None = None
    rdmaSharedDevicePlugin: DevicePlugin | None = None


class AmdDriver(_Kind):
    enable: bool
    blacklist: bool | None = None
    version: str | None = None
    image: str | None = None


class AmdDevicePlugin(_Kind):
    devicePluginImage: str | None = None
    nodeLabellerImage: str | None = None
    enableNodeLabeller: bool | None = None
    devicePluginTolerations: list[dict[str, object]] = []


class AmdMetrics(_Kind):
    enable: bool
    serviceType: Literal["ClusterIP", "NodePort"] | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    image: str | None = None
    tolerations: list[dict[str, Any]] = []


class AmdUtils(_Kind):
    image: str | None = None


class AmdCommon(_Kind):
    initContainerImage: str | None = None
    utilsContainer: AmdUtils | None = None


class DeviceConfig(_Kind):
    commonConfig: AmdCommon | None = None
    driver: AmdDriver
    devicePlugin: AmdDevicePlugin | None = None
    metricsExporter: AmdMetrics | None = None
    selector: dict[str, str] = {}


class Endpoint(_Kind):
    port: str
    interval: Annotated[str, Field(pattern=r"^\d+(s|m)$")] | None = None
    path: str | None = None


class PodMonitor(_Kind):
    selector: dict[str, object]
    podMetricsEndpoints: Annotated[list[Endpoint], Field(min_length=1)]
    namespaceSelector: dict[str, Any] | None = None


class GKENetworkParamSet(_Kind):
    vpc: Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]{0,62}$")]  # a name, not a link
    vpcSubnet: Annotated[str, Field(pattern=r"^[a-z][-a-z0-9]{0,62}$")]
    deviceMode: Literal["NetDevice", "RDMA"]


class ParametersRef(_Kind):
    group: Literal["networking.gke.io"]
    kind: Literal["GKENetworkParamSet"]
    name: str


class Network(_Kind):
    type: Literal["Device"]
    parametersRef: ParametersRef


KINDS: Final[dict[str, tuple[str, type[_Kind]]]] = {
    "NicClusterPolicy": ("mellanox.com/v1alpha1", NicClusterPolicy),
    "DeviceConfig": ("amd.com/v1alpha1", DeviceConfig),
    "GKENetworkParamSet": ("networking.gke.io/v1", GKENetworkParamSet),
    "Network": ("networking.gke.io/v1", Network),
    "PodMonitor": ("azmonitoring.coreos.com/v1", PodMonitor),
}
