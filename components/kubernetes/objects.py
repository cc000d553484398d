"""Objects of the queue as manifests, and what their definitions allow. Pure.

The rules are those of the projects' own definitions (Kueue's API kueue.x-k8s.io/v1beta1): which fields an object has,
which it must have, of what type, and how many. A cluster refuses the rest only once it is asked.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from components.kubernetes.args import FlavorArgs, QueueingArgs

KUEUE: Final = "kueue.x-k8s.io"
API: Final = f"{KUEUE}/v1beta1"
CONTROLLER: Final = f"{KUEUE}/provisioning-request"
OPERATORS: Final[dict[str, dict[str, str]]] = {
    "kueue": {"chart": "oci://registry.k8s.io/kueue/charts/kueue", "version": "0.16.6", "repository": ""},
    "jobset": {"chart": "oci://registry.k8s.io/jobset/charts/jobset", "version": "0.11.1", "repository": ""},
    "kuberay": {
        "chart": "kuberay-operator",
        "version": "1.4.2",
        "repository": "https://ray-project.github.io/kuberay-helm/",
    },
}
GKE_TOPOLOGY: Final = (
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    "kubernetes.io/hostname",
)

# A type is a Python type, a pattern, [item, fewest, most], {key: type} with "*" for any key, or a tuple of words.
# Keys that must be there end with "!".
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_LABEL: Final = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_QUANTITY: Final = re.compile(r"\d+(\.\d+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_QUOTA: Final = {"name!": _LABEL, "nominalQuota!": _QUANTITY, "borrowingLimit": _QUANTITY, "lendingLimit": _QUANTITY}
_TOLERATION: Final = {"key": str, "operator": ("Exists", "Equal"), "value": str, "effect": str}
_CHECKS: Final = {"admissionChecks": [{"name!": _NAME, "onFlavors": [_NAME, 0, 64]}, 0, 64]}
SPECS: Final[dict[str, dict[str, Any]]] = {
    "Topology": {"levels!": [{"nodeLabel!": _LABEL}, 1, 16]},
    "ResourceFlavor": {
        "nodeLabels": {"*": str},
        "tolerations": [_TOLERATION, 0, 8],
        "topologyName": _NAME,
    },
    "ClusterQueue": {
        "namespaceSelector": {"matchExpressions": [dict, 0, 100], "matchLabels": {"*": str}},
        "queueingStrategy": ("StrictFIFO", "BestEffortFIFO"),
        "resourceGroups": [
            {
                "coveredResources!": [_LABEL, 1, 64],
                "flavors!": [{"name!": _NAME, "resources!": [_QUOTA, 1, 64]}, 1, 64],
            },
            0,
            16,
        ],
        "admissionChecksStrategy": _CHECKS,
        "stopPolicy": ("None", "Hold", "HoldAndDrain"),
    },
    "LocalQueue": {"clusterQueue!": _NAME},
    "AdmissionCheck": {
        "controllerName!": str,
        "parameters": {"apiGroup!": str, "kind!": str, "name!": _NAME},
    },
    "ProvisioningRequestConfig": {
        "provisioningClassName!": _NAME,
        "parameters": {"*": str},
        "managedResources": [_LABEL, 0, 100],
        "retryStrategy": {"backoffLimitCount": int, "backoffBaseSeconds": int, "backoffMaxSeconds": int},
    },
}


def manifests(args: QueueingArgs) -> list[dict[str, Any]]:
    """All objects of the queues, in the order in which each finds what it refers to."""
    found: list[dict[str, Any]] = []
    for flavor in args["flavors"]:
        found += _flavor_objects(flavor, args.get("max_run_seconds", 604800))
        for namespace in args.get("namespaces", ["default"]):
            local = _object("LocalQueue", flavor["name"], {"clusterQueue": flavor["name"]})
            local["metadata"]["namespace"] = namespace
            found.append(local)
    return found


def quotas(flavor: FlavorArgs) -> dict[str, str]:
    """What the queue admits: exactly what all machines of the pool have.

    >>> quotas({"name": "a", "node_labels": {}, "resource": "nvidia.com/gpu", "accelerators_per_machine": 8,
    ...     "cpus_per_machine": 208, "memory_gib_per_machine": 1872, "machines": 4})
    {'nvidia.com/gpu': '32', 'cpu': '832', 'memory': '7488Gi'}
    """
    machines = flavor["machines"]
    return {
        flavor["resource"]: str(machines * flavor["accelerators_per_machine"]),
        "cpu": str(machines * flavor["cpus_per_machine"]),
        "memory": f"{machines * flavor['memory_gib_per_machine']}Gi",
    }


def faults(manifest: Mapping[str, Any]) -> list[str]:
    """What the definition of an object's kind does not allow, each with its path.

    >>> faults({"apiVersion": API, "kind": "LocalQueue", "metadata": {"name": "a"}, "spec": {"clusterqueue": "a"}})
    ['spec.clusterqueue: is no field', 'spec.clusterQueue: is missing']
    """
    kind, name = str(manifest.get("kind")), str(manifest.get("metadata", {}).get("name", ""))
    if kind not in SPECS:
        return [f"kind: no such kind: {kind}"]
    wrong = [] if manifest.get("apiVersion") == API else [f"apiVersion: must be {API}"]
    wrong += [] if _NAME.fullmatch(name) else [f"metadata.name: must be a name, got {name!r}"]
    return wrong + _faults(manifest.get("spec", {}), SPECS[kind], "spec")


def _flavor_objects(flavor: FlavorArgs, max_run_seconds: int) -> list[dict[str, Any]]:
    name, quota = flavor["name"], quotas(flavor)
    tolerations = [{"key": flavor["resource"], "operator": "Exists", "effect": "NoSchedule"}]
    tolerations += flavor.get("tolerations", [])
    spec: dict[str, Any] = {"nodeLabels": dict(flavor["node_labels"]), "tolerations": tolerations}
    group = {
        "coveredResources": list(quota),
        "flavors": [{"name": name, "resources": [{"name": k, "nominalQuota": v} for k, v in quota.items()]}],
    }
    queue: dict[str, Any] = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [group],
    }
    before: list[dict[str, Any]] = []
    if levels := flavor.get("topology_levels"):
        spec["topologyName"] = name
        before.append(_object("Topology", name, {"levels": [{"nodeLabel": level} for level in levels]}))
    if wanted := flavor.get("provisioning_class"):
        tolerations.append({"key": "cloud.google.com/gke-queued", "operator": "Exists", "effect": "NoSchedule"})
        config = {
            "provisioningClassName": wanted,
            "parameters": {"maxRunDurationSeconds": str(max_run_seconds)},
            "managedResources": [flavor["resource"]],
            "retryStrategy": {"backoffLimitCount": 10, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800},
        }
        parameters = {"apiGroup": KUEUE, "kind": "ProvisioningRequestConfig", "name": name}
        before += [
            _object("ProvisioningRequestConfig", name, config),
            _object("AdmissionCheck", name, {"controllerName": CONTROLLER, "parameters": parameters}),
        ]
        queue["admissionChecksStrategy"] = {"admissionChecks": [{"name": name, "onFlavors": [name]}]}
    return [*before, _object("ResourceFlavor", name, spec), _object("ClusterQueue", name, queue)]


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _faults(value: Any, rule: Any, path: str) -> list[str]:
    if isinstance(rule, re.Pattern):
        fits = isinstance(value, str) and bool(rule.fullmatch(value))
        return [] if fits else [f"{path}: must match {rule.pattern}, got {value!r}"]
    if isinstance(rule, tuple):
        return [] if value in rule else [f"{path}: must be one of {', '.join(rule)}, got {value!r}"]
    if isinstance(rule, type):
        fits = isinstance(value, rule) and not (rule is int and isinstance(value, bool))
        return [] if fits else [f"{path}: must be {rule.__name__}, got {value!r}"]
    if isinstance(rule, list):
        item, fewest, most = rule
        if not isinstance(value, Sequence) or isinstance(value, str):
            return [f"{path}: must be a list, got {value!r}"]
        wrong = [] if fewest <= len(value) <= most else [f"{path}: must have {fewest} to {most}, has {len(value)}"]
        return wrong + [one for number, entry in enumerate(value) for one in _faults(entry, item, f"{path}[{number}]")]
    return _object_faults(value, rule, path)


def _object_faults(value: Any, rule: Mapping[str, Any], path: str) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{path}: must be an object, got {value!r}"]
    if "*" in rule:
        return [one for key, item in value.items() for one in _faults(item, rule["*"], f"{path}.{key}")]
    known = {key.rstrip("!"): kind for key, kind in rule.items()}
    wrong = [f"{path}.{key}: is no field" for key in value if key not in known]
    wrong += [f"{path}.{key[:-1]}: is missing" for key in rule if key.endswith("!") and key[:-1] not in value]
    return wrong + [one for key in value if key in known for one in _faults(value[key], known[key], f"{path}.{key}")]
