"""Objects of the queue as manifests, and the pinned charts of the operators. Pure.

What the definitions of the objects allow is said by the models in `launch/kinds.py`.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Final

from sizewell.components.kubernetes.args import FlavorArgs, QueueingArgs
from sizewell.launch.pods import Manifest
from sizewell.launch.target import POOL_TAINT

KUEUE: Final = "kueue.x-k8s.io"
API: Final = f"{KUEUE}/v1beta2"  # which the pinned chart stores; launch/kinds.py has models of it
CONTROLLER: Final = f"{KUEUE}/provisioning-request"
OPERATORS: Final[dict[str, dict[str, str]]] = {
    "kueue": {"chart": "oci://registry.k8s.io/kueue/charts/kueue", "version": "0.19.4", "repository": ""},
    "jobset": {"chart": "oci://registry.k8s.io/jobset/charts/jobset", "version": "0.11.1", "repository": ""},
    "kuberay": {
        "chart": "kuberay-operator",
        "version": "1.4.2",
        "repository": "https://ray-project.github.io/kuberay-helm/",
    },
    "lws": {"chart": "oci://registry.k8s.io/lws/charts/lws", "version": "0.8.0", "repository": ""},
    "keda": {"chart": "keda", "version": "2.20.2", "repository": "https://kedacore.github.io/charts"},
}
OPERATOR_IMAGES: Final[dict[str, tuple[str, ...]]] = {  # what the charts above run, as their projects publish it
    "kueue": ("registry.k8s.io/kueue/kueue:v0.19.4",),
    "jobset": ("registry.k8s.io/jobset/jobset:v0.11.1",),
    "kuberay": ("quay.io/kuberay/operator:v1.4.2",),
    "lws": ("registry.k8s.io/lws/lws:v0.8.0",),
    "keda": (
        "ghcr.io/kedacore/keda:2.20.2",
        "ghcr.io/kedacore/keda-metrics-apiserver:2.20.2",
        "ghcr.io/kedacore/keda-admission-webhooks:2.20.2",
    ),
}
PRIORITIES: Final = {"sizewell-low": 100, "sizewell-medium": 500, "sizewell-high": 1000}  # without one: 0
# Labels that AWS's cloud controller puts on machines that have a network topology, widest layer first.
EKS_TOPOLOGY: Final = (
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "kubernetes.io/hostname",
)
GKE_TOPOLOGY: Final = (
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    "kubernetes.io/hostname",
)


def mirrored(operator: str, registry: str) -> dict[str, object]:
    """Values of an operator's chart by which its images come from the mirror `registry`.

    >>> mirrored("lws", "1.dkr.ecr/mirror")
    {'image': {'manager': {'repository': '1.dkr.ecr/mirror/lws/lws', 'tag': 'v0.8.0'}}}
    """
    path, _, tag = OPERATOR_IMAGES[operator][0].partition("/")[2].rpartition(":")
    image = {"repository": f"{registry}/{path}", "tag": tag}
    shapes: dict[str, dict[str, object]] = {
        "kueue": {"controllerManager": {"manager": {"image": image}}},
        "jobset": {"image": {"registry": registry, "repository": path, "tag": tag}},
        "kuberay": {"image": image},
        "lws": {"image": {"manager": image}},
        "keda": {"global": {"image": {"registry": registry}}},
    }
    return shapes[operator]


def manifests(args: QueueingArgs) -> list[Manifest]:
    """All objects of the queues, in the order in which each finds what it refers to."""
    objects: list[Manifest] = []
    queues: dict[str, list[FlavorArgs]] = {}
    for flavor in args["flavors"]:
        queues.setdefault(queue_of(flavor), []).append(flavor)
    for name, flavors in queues.items():
        objects += _queue_objects(name, flavors, args.get("max_run_seconds", 604800))
        for namespace in args.get("namespaces", ["default"]):
            local = _object("LocalQueue", name, {"clusterQueue": name})
            local["metadata"]["namespace"] = namespace
            objects.append(local)
    return objects


def queue_of(flavor: FlavorArgs) -> str:
    """Name of the queue that a flavor belongs to.

    >>> queue_of({"name": "burst", "queue": "prod"}), queue_of({"name": "prod"})
    ('prod', 'prod')
    """
    return flavor.get("queue", flavor["name"])


def quotas(flavor: FlavorArgs) -> dict[str, str]:
    """What the queue admits: exactly what all machines of the pool have, of every resource that pods ask for.

    >>> quotas({"name": "a", "node_labels": {}, "resource": "nvidia.com/gpu", "accelerators_per_machine": 8,
    ...     "cpus_per_machine": 208, "memory_gib_per_machine": 1872, "machines": 4})
    {'nvidia.com/gpu': '32', 'cpu': '832', 'memory': '7488Gi'}
    """
    machines = flavor["machines"]
    others = {key: _times(text, machines) for key, text in flavor.get("beside_per_machine", {}).items()}
    counted = {flavor["resource"]: str(machines * flavor["accelerators_per_machine"])} if flavor["resource"] else {}
    return {
        **counted,
        "cpu": str(machines * flavor["cpus_per_machine"]),
        "memory": f"{machines * flavor['memory_gib_per_machine']}Gi",
        **others,
    }


def _times(quantity: str, machines: int) -> str:
    """A quantity of so many machines.

    >>> _times("5120Mi", 4), _times("1", 4)
    ('20480Mi', '4')
    """
    number = quantity.rstrip("KMGTi")
    return f"{int(number) * machines}{quantity[len(number) :]}"


def _queue_objects(name: str, flavors: Sequence[FlavorArgs], max_run_seconds: int) -> list[Manifest]:
    """A queue and its flavors. Kueue tries these in their order, and a job that fits no free quota goes to the next;
    it takes nobody's machines while a later flavor has room (`flavorFungibility`, whose defaults these are).
    """
    before: list[Manifest] = []
    checks: list[Manifest] = []
    quoted: list[tuple[str, dict[str, str]]] = []
    for flavor in flavors:
        made, check = _flavor_objects(flavor, max_run_seconds)
        before += made
        checks += check
        quoted.append((made[-1]["metadata"]["name"], quotas(flavor)))
    covered = list(dict.fromkeys(resource for _, quota in quoted for resource in quota))
    group = {
        "coveredResources": covered,
        "flavors": [  # each names every resource of the group, or Kueue refuses the queue
            {"name": packed, "resources": [{"name": key, "nominalQuota": quota.get(key, "0")} for key in covered]}
            for packed, quota in quoted
        ],
    }
    queue: Manifest = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [group],
    }
    if len(flavors) > 1:
        queue["flavorFungibility"] = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
    if checks:
        queue["admissionChecksStrategy"] = {"admissionChecks": checks}
    return [*before, _object("ClusterQueue", name, queue)]


def _flavor_objects(flavor: FlavorArgs, max_run_seconds: int) -> tuple[list[Manifest], list[Manifest]]:
    """(a flavor after what it refers to, the queue's checks of it)."""
    name = flavor["name"]
    tolerations = [{"key": flavor["resource"] or POOL_TAINT, "operator": "Exists", "effect": "NoSchedule"}]
    tolerations += flavor.get("tolerations", [])
    spec: Manifest = {"nodeLabels": dict(flavor["node_labels"]), "tolerations": tolerations}
    levels, wanted = flavor.get("topology_levels"), flavor.get("provisioning_class")
    if wanted:
        tolerations.append({"key": "cloud.google.com/gke-queued", "operator": "Exists", "effect": "NoSchedule"})
    packed = name
    if levels:  # Kueue lets no topology change, and no flavor that has one: a changed one is another one
        spec["topologyName"] = f"{name}-{_digest(levels)}"
        packed = f"{name}-{_digest(spec)}"
    before: list[Manifest] = []
    checks: list[dict[str, object]] = []
    if levels:
        before.append(_object("Topology", spec["topologyName"], {"levels": [{"nodeLabel": level} for level in levels]}))
    if wanted:
        parameters = {"maxRunDurationSeconds": str(max_run_seconds)}
        if topology := flavor.get("tpu_topology"):
            parameters["tpu-topology"] = topology  # a slice is asked for whole
        config = {
            "provisioningClassName": wanted,
            "parameters": parameters,
            "managedResources": [flavor["resource"]],
            "retryStrategy": {"backoffLimitCount": 10, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
        }
        told_by = {"apiGroup": KUEUE, "kind": "ProvisioningRequestConfig", "name": name}
        before += [
            _object("ProvisioningRequestConfig", name, config),
            _object("AdmissionCheck", name, {"controllerName": CONTROLLER, "parameters": told_by}),
        ]
        checks.append({"name": name, "onFlavors": [packed]})
    return [*before, _object("ResourceFlavor", packed, spec)], checks


def _digest(spec: object) -> str:
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:6]


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}
