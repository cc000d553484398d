"""What Kubernetes resources start: pods, wherever their specification stands, and jobs with their limits of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers import devices
from sizewell.resources.readers.common import base
from sizewell.resources.readers.workloads import Standing, standing, times
from sizewell.resources.recorded import INAPPLICABLE, UNKNOWN, Hidden, RecordedResource, Unknown
from sizewell.resources.stackfacts import Job, Pods
from sizewell.resources.values import (
    Count,
    Flag,
    canonical,
    contains_unknown,
    count,
    either,
    every,
    flag,
    get,
    items,
    negated,
    text,
)

_OTHERS: Final = ("kubernetes:helm.sh/", "kubernetes:kueue.", "kubernetes:rbac.", "kubernetes:apiextensions.")
_WORKLOADS: Final = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "JobSet")
_JOB: Final = "kubernetes:batch/v1:Job"
_TRAINING: Final = ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
_SERVICE: Final = "kubernetes:core/v1:Service"
_ONE_DEVICE: Final = {"limits": {"nvidia.com/gpu": 1}}  # which its scheduler gives to several pods
_SERVERS: Final = ("Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet")  # their pods do not end by themselves


def pods(graph: Graph) -> tuple[Pods, ...]:
    return tuple(
        Pods(**base(graph, resource), path=path, **_pod(graph, resource, spec), **_server(graph, resource, path, spec))
        for resource in _resources(graph)
        for path, spec in _all(resource)
    )


def unclear(resource: RecordedResource) -> Hidden | None:
    """Machines of a cluster's own label that the pods of a resource have to run on: they may have accelerators."""
    if not resource.type.startswith("kubernetes:") or resource.type.startswith(_OTHERS):
        return None
    specifications = [spec for _, spec in _all(resource)]
    if _is_everywhere(resource) and any(devices.uses_unasked(spec) for spec in specifications):
        return Hidden(
            name=resource.name, urn=resource.urn, what="DaemonSet beside accelerators",
            may_hide="use of the accelerators of each machine that it runs on",
            why="its pods need a runtime, a device or machines with some, and ask for none",
            fix="let the pods ask for the devices that they use, or waive it with a reason",
        )  # fmt: skip
    labels = sorted({label for spec in specifications for label in devices.labelled(spec)})
    return Hidden(
        name=resource.name, urn=resource.urn, what=f"node label {', '.join(labels)}",
        may_hide="pods to machines with accelerators", why="only its cluster knows which machines carry it",
        fix="let the pods ask for the devices that they use, or waive it with a reason",
    ) if labels else None  # fmt: skip


def jobs(graph: Graph) -> tuple[Job, ...]:
    """Kubernetes jobs and sets of jobs whose pods ask for accelerators."""
    accelerated_jobs = []
    for resource in _resources(graph):
        for limit, template in _jobs(resource):
            wanted = [devices.asked(spec, graph) for _, spec in _specifications(template, "")]
            accelerated_jobs.append(
                Job(
                    **base(graph, resource),
                    accelerated=UNKNOWN if UNKNOWN in wanted or not wanted else any(wanted),
                    run_seconds_max=limit,
                    checkpoint=INAPPLICABLE,
                    isolated=INAPPLICABLE,
                    own_key=INAPPLICABLE,
                )
            )
    return tuple(accelerated_jobs)


def _resources(graph: Graph) -> Iterator[RecordedResource]:
    for resource in graph.plan.resources:
        if resource.custom and resource.type.startswith("kubernetes:") and not resource.type.startswith(_OTHERS):
            yield resource


def _jobs(resource: RecordedResource) -> Iterator[tuple[Count, object]]:
    """(longest run in seconds, job's specification) of each job that a resource makes."""
    spec = resource.inputs.get("spec")
    kind = canonical(resource.type)
    if kind == _JOB:
        yield count(get(spec, "activeDeadlineSeconds")), spec
    elif kind == "kubernetes:batch/v1:CronJob":
        inner = get(spec, "jobTemplate", "spec")
        yield count(get(inner, "activeDeadlineSeconds")), inner
    elif kind.startswith("kubernetes:kubeflow.org/") and kind.rsplit(":", 1)[-1] in _TRAINING:
        yield count(get(spec, "runPolicy", "activeDeadlineSeconds")), spec
    elif kind.startswith("kubernetes:argoproj.io/") and kind.rsplit(":", 1)[-1] in ("Workflow", "CronWorkflow"):
        inner = get(spec, "workflowSpec", default=spec)
        yield count(get(inner, "activeDeadlineSeconds")), inner
    elif "jobset" in kind:
        listed = items(get(spec, "replicatedJobs"))
        for entry in () if isinstance(listed, Unknown) else listed:
            inner = get(entry, "template", "spec")
            yield count(get(inner, "activeDeadlineSeconds")), inner
    elif kind.endswith("Job") and not kind.startswith("kubernetes:ray.io/"):  # of other operators
        specifications = list(_specifications(spec, ""))
        if not specifications and contains_unknown(spec):
            yield UNKNOWN, UNKNOWN
        for _, pod in specifications:
            limits = [get(spec, "activeDeadlineSeconds"), get(spec, "runPolicy", "activeDeadlineSeconds")]
            stated = [limit for limit in (*limits, get(pod, "activeDeadlineSeconds")) if limit is not None]
            yield count(next(iter(stated), None)), {"pod": pod}


def chart_asks(resource: RecordedResource) -> Flag:
    """Whether the values of a Helm release ask for accelerators: what the chart makes of them, only the chart knows."""
    if not canonical(resource.type).startswith("kubernetes:helm.sh/") or not resource.type.endswith(":Release"):
        return False
    values = resource.inputs.get("values")
    return UNKNOWN if isinstance(values, Unknown) else _asks(values)


def _asks(value: object) -> Flag:
    """Other values of a chart that are not known yet, such as the name of a role, ask for nothing."""
    if isinstance(value, Mapping):
        limits = [limit for part in ("limits", "requests") for limit in devices.of(value.get(part))]
        limits.append(UNKNOWN if value.get("resources") is UNKNOWN else None)
        asked = [UNKNOWN if limit is UNKNOWN else limit not in (None, 0, "0") for limit in limits]
        return either(*asked, *map(_asks, value.values()))
    return either(*map(_asks, value)) if isinstance(value, list | tuple) else False


def _all(resource: RecordedResource) -> Iterator[tuple[str, Any]]:
    """The pod specifications of a resource; one that is not known where a workload's kind says that there is one."""
    specifications = list(_specifications(dict(resource.inputs), ""))
    yield from specifications
    if (
        not specifications
        and resource.type.rsplit(":", 1)[-1] in _WORKLOADS
        and contains_unknown(resource.inputs.get("spec"))
    ):
        yield "spec", UNKNOWN


def _specifications(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Every pod specification inside a resource: what has `containers`."""
    if isinstance(value, Mapping):
        if "containers" in value:
            yield path, value
            return
        pod = value.get("spec")
        if isinstance(pod, Mapping) and "containers" in pod and devices.annotated(value.get("metadata")):
            yield f"{path}.spec" if path else "spec", {**pod, "resources": _ONE_DEVICE}
            return
        alone = value.get("container", value.get("script"))  # a step of Argo Workflows
        if isinstance(alone, Mapping) and "image" in alone:
            yield path, {**value, "containers": [alone]}
            return
        for key, inner in value.items():
            yield from _specifications(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from _specifications(inner, f"{path}.{index}")


def _pod(graph: Graph, resource: RecordedResource, spec: object) -> dict[str, Any]:
    containers = devices.containers(spec)
    accelerators = devices.asked(spec, graph, everywhere=_is_everywhere(resource))
    if isinstance(containers, Unknown):
        flags = dict.fromkeys(("privileged", "host", "root", "limited", "pinned"), UNKNOWN)
        return {"accelerators": UNKNOWN, "tolerates": UNKNOWN, **flags}
    account = get(spec, "serviceAccountName", default="default")
    return {
        "accelerators": accelerators,
        "tolerates": either(_on_autopilot(graph), _tolerates(get(spec, "tolerations"))),
        "privileged": either(
            *(_powerful(get(container, "securityContext")) for container in containers),
        ),
        "host": either(*(flag(get(spec, key)) for key in ("hostNetwork", "hostPID", "hostIPC")), _host_path(spec)),
        "root": either(*(_root(spec, container) for container in containers)) if containers else False,
        "limited": every(*(_stated(get(container, "resources", "limits", "memory")) for container in containers)),
        "pinned": every(*(_pinned(get(container, "image")) for container in containers)),
        "token": flag(get(spec, "automountServiceAccountToken"), default=True),
        "service_account": text(account),
    }


def _server(graph: Graph, resource: RecordedResource, path: str, spec: object) -> dict[str, Any]:
    """Whether somebody sends the pod requests, and what its containers tell of themselves."""
    if resource.type.rsplit(":", 1)[-1] not in _SERVERS:
        return {"serves": False}
    own = items(get(spec, "containers"))
    if isinstance(own, Unknown):
        return {"serves": UNKNOWN, "readiness": UNKNOWN, "liveness": UNKNOWN}
    named = either(*(_some(get(container, "ports")) for container in own))
    labels: object = resource.inputs
    for step in path.split(".")[:-1]:
        labels = get(labels, int(step) if step.isdigit() else step)
    labels = get(labels, "metadata", "labels")
    services = () if named is True else graph.of(_SERVICE)
    return {
        "serves": either(named, *(_chooses(service.inputs.get("spec"), labels) for service in services)),
        "readiness": either(*(_stated(get(container, "readinessProbe")) for container in own)),
        "liveness": either(*(_stated(get(container, "livenessProbe")) for container in own)),
    }


def _some(listed: object) -> Flag:
    entries = items(listed)
    return UNKNOWN if isinstance(entries, Unknown) else bool(entries)


def _chooses(service: object, labels: object) -> Flag:
    """Whether a service sends requests to pods with these labels; one without an address only names them."""
    selector, address = get(service, "selector"), get(service, "clusterIP")
    if address == "None":
        return False
    if UNKNOWN in (selector, address):
        return UNKNOWN
    wanted = selector.items() if isinstance(selector, Mapping) else ()
    flags: list[Flag] = []
    for key, value in wanted:
        label = get(labels, key)
        flags.append(UNKNOWN if label is UNKNOWN or value is UNKNOWN else label == value)
    return every(*flags) if flags else False


def _stated(value: object) -> Flag:
    return UNKNOWN if isinstance(value, Unknown) else value is not None


def _powerful(context: object) -> Flag:
    added = items(get(context, "capabilities", "add"))
    dangerous: Flag = (
        UNKNOWN
        if isinstance(added, Unknown) or UNKNOWN in added
        else bool(
            {"ALL", "SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"}
            & {str(capability).removeprefix("CAP_") for capability in added}
        )
    )
    return either(
        flag(get(context, "privileged")), flag(get(context, "allowPrivilegeEscalation"), default=False), dangerous
    )


def _root(spec: object, container: object) -> Flag:
    stated = get(container, "securityContext", "runAsNonRoot", default=get(spec, "securityContext", "runAsNonRoot"))
    user = count(get(container, "securityContext", "runAsUser", default=get(spec, "securityContext", "runAsUser")))
    someone: Flag = UNKNOWN if user is UNKNOWN else user is not None and user != 0
    return negated(either(flag(stated), someone))


def _host_path(spec: object) -> Flag:
    volumes = items(get(spec, "volumes"))
    if isinstance(volumes, Unknown):
        return UNKNOWN
    return either(*(_stated(get(volume, "hostPath")) for volume in volumes))


_CLUSTERS: Final = (
    "gcp:container/cluster:Cluster",
    "aws:eks/cluster:Cluster",
    "azure-native:containerservice:ManagedCluster",
)


def _on_autopilot(graph: Graph) -> bool:
    """Whether all clusters of a program are Autopilot's, which adds the toleration to pods that ask for accelerators.

    Source, from memory: cloud.google.com/kubernetes-engine/docs/how-to/autopilot-gpus.
    """
    clusters = [each for token in _CLUSTERS for each in graph.of(token)]
    return bool(clusters) and all(flag(each.inputs.get("enableAutopilot")) is True for each in clusters)


def _tolerates(tolerations: object) -> Flag:
    listed = items(tolerations)
    if isinstance(listed, Unknown) or UNKNOWN in listed:
        return UNKNOWN
    flags: list[Flag] = []
    for entry in listed:
        key = get(entry, "key")
        everything = key is None and get(entry, "operator") == "Exists"
        flags.append(UNKNOWN if key is UNKNOWN else everything or devices.is_device(str(key)) or key == "sku")
    return either(*flags)


def _pinned(image: object) -> Flag:
    if isinstance(image, Unknown):
        return UNKNOWN
    name = str(image or "")
    if "@sha256:" in name:
        return True
    tag = name.rsplit("/", 1)[-1].partition(":")[2]
    return tag not in ("", "latest")


def _is_everywhere(resource: RecordedResource) -> bool:
    """Whether its pods go along with the machines that others start."""
    return resource.type.rsplit(":", 1)[-1] == "DaemonSet"


def accelerators_asked(resource: RecordedResource, graph: Graph) -> Count:
    """Accelerators that a Kubernetes resource asks for in all: per pod times the pods; 0 for what asks for none.

    `graph` is of the plan that it stands in, where its claims of devices are.
    """
    if not resource.type.startswith("kubernetes:") or resource.type.startswith(_OTHERS):
        return 0
    wanted = [
        (devices.asked(each.spec, graph, everywhere=each.everywhere), each) for each in workloads(resource, graph)
    ]
    amounts = [number if each.everywhere else times(number, each.running) for number, each in wanted if number != 0]
    return sum(amounts) if all(isinstance(amount, int) for amount in amounts) else UNKNOWN  # type: ignore[arg-type]


def workloads(resource: RecordedResource, graph: Graph) -> tuple[Standing, ...]:
    """The pods of a Kubernetes resource with their numbers; a model that a service starts counts as its container."""
    if not resource.type.startswith("kubernetes:") or resource.type.startswith(_OTHERS):
        return ()
    specs = _all(resource)
    predictor = get(resource.inputs, "spec", "predictor")
    model = get(predictor, "model")
    if canonical(resource.type).endswith(":InferenceService") and model is not None:
        specs = iter(
            [("spec.predictor", UNKNOWN if UNKNOWN in (predictor, model) else {**predictor, "containers": [model]})]
        )
    return tuple(standing(resource, graph, specs))


_IN_TREE: Final = {"scaleio": "scaleIO"}  # provisioner of a class -> its plugin in a volume, where they differ


def volume_plugins(resource: RecordedResource) -> tuple[str, ...]:
    """The plugins of volumes: of pods wherever they stand in a resource of Kubernetes, of a volume, of a class."""
    type_ = canonical(resource.type)
    if not type_.startswith("kubernetes:"):
        return ()
    volumes = list(_listed("volumes", resource.inputs))
    if type_.endswith(":PersistentVolume"):
        volumes = [resource.inputs.get("spec")]
    elif type_.endswith(":StorageClass"):
        plugin = str(resource.inputs.get("provisioner")).removeprefix("kubernetes.io/")
        volumes = [{_IN_TREE.get(plugin, plugin): {}}]
    return tuple(dict.fromkeys(str(key) for volume in volumes if isinstance(volume, Mapping) for key in volume))


def _listed(key: str, value: Any) -> Iterator[Any]:
    """What stands in every list of that name."""
    for name, each in (
        value.items() if isinstance(value, Mapping) else enumerate(value if isinstance(value, list) else ())
    ):
        if name == key and isinstance(each, list):
            yield from each
        yield from _listed(key, each)
