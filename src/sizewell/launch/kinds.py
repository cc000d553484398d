"""What the definitions of custom kinds allow: a small model of each, of the fields that we and our users write. Pure.

A cluster refuses a wrong field only once it is asked; here it is refused before anything is made. Written from the
projects' own definitions: JobSet v0.11 (jobset.x-k8s.io/v1alpha2), LeaderWorkerSet v0.8 (leaderworkerset.x-k8s.io/v1),
Kueue v0.16 (kueue.x-k8s.io/v1beta2), KubeRay v1.4 (ray.io/v1), KServe v0.16 (serving.kserve.io/v1beta1), KEDA v2.18
(keda.sh/v1alpha1). Core kinds, and the pod and job templates inside these, are checked against the published
schemas by the tests.

The definitions themselves would not serve in their place: they are 6 MB, nearly all of it the pod template once more,
and what an operator refuses beyond them (the name of KServe's first container, what a trigger of KEDA needs, a RayJob's
time to live) stands in its code. `tests/launch/test_definitions.py` reads the pinned ones, and finds no object of ours
that they refuse, and no field or word here that they do not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sizewell.launch import operator_kinds

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
Short = Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$")]  # a DNS label
Label = Annotated[
    str, Field(pattern=r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]
Quantity = Annotated[str, Field(pattern=r"^\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$")]
Whole = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]
Template = dict[str, object]  # a core kind's: judged by the published schemas


class _Kind(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


# JobSet


class Network(_Kind):
    enableDNSHostnames: bool | None = None
    subdomain: Short | None = None
    publishNotReadyAddresses: bool | None = None


class FailureRule(_Kind):
    name: Annotated[str, Field(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    action: Literal["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"]
    onJobFailureReasons: list[
        Literal[
            "BackoffLimitExceeded",
            "DeadlineExceeded",
            "FailedIndexes",
            "MaxFailedIndexesExceeded",
            "PodFailurePolicy",
        ]
    ] = []
    onJobFailureMessagePatterns: list[str] = []
    targetReplicatedJobs: list[Short] = []


class FailurePolicy(_Kind):
    maxRestarts: Whole = 0
    restartStrategy: Literal["Recreate", "BlockingRecreate", "InPlaceRestart"] = "Recreate"
    rules: list[FailureRule] = []


class SuccessPolicy(_Kind):
    operator: Literal["All", "Any"]
    targetReplicatedJobs: list[Short] = []


class Coordinator(_Kind):
    replicatedJob: Short
    jobIndex: Whole = 0
    podIndex: Whole = 0


class DependsOn(_Kind):
    name: Short
    status: Literal["Ready", "Complete"]


class ReplicatedJob(_Kind):
    name: Short
    groupName: Short | None = None
    replicas: Whole = 1
    template: Template
    dependsOn: Annotated[list[DependsOn], Field(max_length=5)] = []


class JobSet(_Kind):
    replicatedJobs: Annotated[list[ReplicatedJob], Field(min_length=1)]
    network: Network | None = None
    successPolicy: SuccessPolicy | None = None
    failurePolicy: FailurePolicy | None = None
    suspend: bool | None = None
    coordinator: Coordinator | None = None
    managedBy: str | None = None
    ttlSecondsAfterFinished: Whole | None = None


# LeaderWorkerSet


class LeaderWorkerTemplate(_Kind):
    leaderTemplate: Template | None = None
    workerTemplate: Template
    size: Positive = 1
    restartPolicy: Literal["Default", "RecreateGroupOnPodRestart", "None"] | None = None


class RollingUpdate(_Kind):
    partition: Whole | None = None
    maxUnavailable: int | str | None = None
    maxSurge: int | str | None = None


class Rollout(_Kind):
    type: Literal["RollingUpdate"]
    rollingUpdateConfiguration: RollingUpdate | None = None


class Subdomains(_Kind):
    subdomainPolicy: Literal["Shared", "UniquePerReplica"]


class LeaderWorkerSet(_Kind):
    replicas: Whole = 1
    leaderWorkerTemplate: LeaderWorkerTemplate
    rolloutStrategy: Rollout | None = None
    startupPolicy: Literal["LeaderCreated", "LeaderReady"]
    networkConfig: Subdomains | None = None


# KubeRay


class RayHead(_Kind):
    template: Template
    rayStartParams: dict[str, str]
    serviceType: Literal["ClusterIP", "NodePort", "LoadBalancer"] | None = None
    enableIngress: bool | None = None


class RayWorkers(_Kind):
    groupName: Short
    replicas: Whole | None = None
    minReplicas: Whole
    maxReplicas: Whole
    numOfHosts: Positive | None = None
    rayStartParams: dict[str, str]
    template: Template


class RayCluster(_Kind):
    rayVersion: str | None = None
    enableInTreeAutoscaling: bool | None = None
    headGroupSpec: RayHead
    workerGroupSpecs: list[RayWorkers] = []
    suspend: bool | None = None


class RayJob(_Kind):
    entrypoint: str
    runtimeEnvYAML: str | None = None
    submissionMode: Literal["K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"] | None = None
    submitterPodTemplate: Template | None = None
    shutdownAfterJobFinishes: bool | None = None
    ttlSecondsAfterFinished: Whole | None = None
    activeDeadlineSeconds: Positive | None = None
    backoffLimit: Whole | None = None
    suspend: bool | None = None
    rayClusterSpec: RayCluster

    @model_validator(mode="after")
    def _ends(self) -> RayJob:
        if self.ttlSecondsAfterFinished and not self.shutdownAfterJobFinishes:
            msg = "ttlSecondsAfterFinished needs shutdownAfterJobFinishes: true"
            raise ValueError(msg)
        return self


# KServe


class Predictor(_Kind):
    model_config = ConfigDict(extra="allow", defer_build=True)  # a pod's own fields stand beside these

    containers: Annotated[list[dict[str, Any]], Field(min_length=1)]
    minReplicas: Whole | None = None
    maxReplicas: Whole | None = None
    scaleTarget: Positive | None = None
    scaleMetric: Literal["cpu", "memory", "concurrency", "rps"] | None = None
    containerConcurrency: Whole | None = None
    timeout: Positive | None = None

    @model_validator(mode="after")
    def _named(self) -> Predictor:
        if self.containers[0].get("name") != "kserve-container":
            msg = "the first container of a predictor is named kserve-container"
            raise ValueError(msg)
        if self.maxReplicas and self.minReplicas and self.minReplicas > self.maxReplicas:
            msg = "minReplicas must not be more than maxReplicas"
            raise ValueError(msg)
        return self


class InferenceService(_Kind):
    predictor: Predictor


# KEDA


class ScaleTarget(_Kind):
    apiVersion: str | None = None
    kind: str | None = None
    name: Name


class Trigger(_Kind):
    type: Literal["prometheus", "cron", "external", "kafka", "aws-sqs-queue", "gcp-pubsub", "azure-servicebus"]
    name: str | None = None
    metadata: dict[str, str]
    metricType: Literal["AverageValue", "Value", "Utilization"] | None = None

    @model_validator(mode="after")
    def _complete(self) -> Trigger:
        needed = {
            "prometheus": ("serverAddress", "query", "threshold"),
            "cron": ("timezone", "start", "end", "desiredReplicas"),
        }.get(self.type, ())
        if missing := [key for key in needed if key not in self.metadata]:
            msg = f"a trigger {self.type} needs {', '.join(missing)}"
            raise ValueError(msg)
        return self


class ScaledObject(_Kind):
    scaleTargetRef: ScaleTarget
    pollingInterval: Positive | None = None
    cooldownPeriod: Whole | None = None
    minReplicaCount: Whole | None = None
    maxReplicaCount: Positive | None = None
    fallback: dict[str, object] | None = None
    advanced: dict[str, object] | None = None
    triggers: Annotated[list[Trigger], Field(min_length=1)]


# Kueue


class Quota(_Kind):
    name: Label
    nominalQuota: Quantity
    borrowingLimit: Quantity | None = None
    lendingLimit: Quantity | None = None


class FlavorQuotas(_Kind):
    name: Name
    resources: Annotated[list[Quota], Field(min_length=1, max_length=64)]


class ResourceGroup(_Kind):
    coveredResources: Annotated[list[Label], Field(min_length=1, max_length=64)]
    flavors: Annotated[list[FlavorQuotas], Field(min_length=1, max_length=64)]


class CheckRule(_Kind):
    name: Name
    onFlavors: Annotated[list[Name], Field(max_length=64)] = []


class Checks(_Kind):
    admissionChecks: Annotated[list[CheckRule], Field(min_length=1, max_length=64)]


class Selector(_Kind):
    matchLabels: dict[str, str] | None = None
    matchExpressions: list[dict[str, object]] | None = None


class Preemption(_Kind):
    withinClusterQueue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] | None = None
    reclaimWithinCohort: Literal["Never", "LowerPriority", "Any"] | None = None


class Fungibility(_Kind):
    whenCanBorrow: Literal["MayStopSearch", "TryNextFlavor"] | None = None
    whenCanPreempt: Literal["MayStopSearch", "TryNextFlavor"] | None = None


class ClusterQueue(_Kind):
    namespaceSelector: Selector | None = None
    queueingStrategy: Literal["StrictFIFO", "BestEffortFIFO"] | None = None
    preemption: Preemption | None = None
    flavorFungibility: Fungibility | None = None
    resourceGroups: Annotated[list[ResourceGroup], Field(max_length=16)] = []
    admissionChecksStrategy: Checks | None = None
    stopPolicy: Literal["None", "Hold", "HoldAndDrain"] | None = None


class LocalQueue(_Kind):
    clusterQueue: Name


class Toleration(_Kind):
    key: str | None = None
    operator: Literal["Exists", "Equal"] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None


class ResourceFlavor(_Kind):
    nodeLabels: Annotated[dict[str, str], Field(max_length=8)] = {}
    tolerations: Annotated[list[Toleration], Field(max_length=8)] = []
    topologyName: Name | None = None


class Level(_Kind):
    nodeLabel: Label


class Topology(_Kind):
    levels: Annotated[list[Level], Field(min_length=1, max_length=16)]


class Parameters(_Kind):
    apiGroup: str
    kind: str
    name: Name


class AdmissionCheck(_Kind):
    controllerName: str
    parameters: Parameters | None = None


class Retries(_Kind):
    backoffLimitCount: Annotated[int, Field(strict=True)] | None = None
    backoffBaseSeconds: Annotated[int, Field(strict=True)] | None = None
    backoffMaxSeconds: Annotated[int, Field(strict=True)] | None = None


class ProvisioningRequestConfig(_Kind):
    provisioningClassName: Name
    parameters: dict[str, str] = {}
    managedResources: Annotated[list[Label], Field(max_length=100)] = []
    retryStrategy: Retries | None = None


CORE: Final = (
    "",
    "apps",
    "batch",
    "policy",
    "networking.k8s.io",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
)  # groups
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
KINDS: Final[dict[str, tuple[str, type[BaseModel]]]] = {
    "JobSet": ("jobset.x-k8s.io/v1alpha2", JobSet),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", LeaderWorkerSet),
    "RayJob": ("ray.io/v1", RayJob),
    "RayCluster": ("ray.io/v1", RayCluster),
    "InferenceService": ("serving.kserve.io/v1beta1", InferenceService),
    "ScaledObject": ("keda.sh/v1alpha1", ScaledObject),
    "ClusterQueue": (KUEUE, ClusterQueue),
    "LocalQueue": (KUEUE, LocalQueue),
    "ResourceFlavor": (KUEUE, ResourceFlavor),
    "Topology": (KUEUE, Topology),
    "AdmissionCheck": (KUEUE, AdmissionCheck),
    "ProvisioningRequestConfig": (KUEUE, ProvisioningRequestConfig),
    **operator_kinds.KINDS,
}


def faults(manifest: Mapping[str, Any]) -> list[str]:
    """What the definition of a custom object's kind does not allow, each with its path; none for a core kind.

    >>> faults({"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": {"name": "a"}, "spec": {"clusterqueue": "a"}})
    ['spec.clusterQueue: is missing', 'spec.clusterqueue: is not a field']
    """
    kind, name = str(manifest.get("kind")), manifest.get("metadata", {}).get("name", "")
    if kind not in KINDS:
        group = str(manifest.get("apiVersion", "")).rpartition("/")[0]
        return [] if group in CORE else [f"kind: unknown kind: {kind}"]
    api, model = KINDS[kind]
    wrong = [] if manifest.get("apiVersion") == api else [f"apiVersion: must be {api}"]
    if not isinstance(name, str) or not 0 < len(name) <= 253:
        wrong.append(f"metadata.name: must be a name, got {name!r}")
    try:
        model.model_validate(manifest.get("spec", {}))
    except ValidationError as error:
        wrong += [_sentence(fault) for fault in error.errors(include_url=False)]
    return wrong


def _sentence(fault: Any) -> str:
    path = "spec"
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    kind, given, context = fault["type"], fault.get("input"), fault.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{path}: is not a field"
    if kind == "missing":
        return f"{path}: is missing"
    if kind == "literal_error":
        return f"{path}: must be one of {context['expected']}, got {given!r}"
    if kind == "string_pattern_mismatch":
        return f"{path}: must match {context['pattern']}, got {given!r}"
    if kind in ("too_long", "too_short"):
        bound = f"at most {context['max_length']}" if kind == "too_long" else f"at least {context['min_length']}"
        return f"{path}: must have {bound}, has {context['actual_length']}"
    return f"{path}: {fault['msg'].removeprefix('Value error, ')}, got {str(given)[:60]}"
