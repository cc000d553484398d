"""One pod: its share of a machine, its security, its folders, its network's variables. Pure.

Pods keep to Kubernetes' restricted standard: no root, no privilege, the runtime's seccomp profile, a root file system
that cannot be written. Two exceptions: InfiniBand pins memory, which takes root with IPC_LOCK and nothing else
(`security`); GPUDirect on GKE takes root, folders of the machine and a daemon that sets its interfaces
(`launch/gpudirect.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sizewell.launch import gpudirect
from sizewell.launch.launch import Launch, short
from sizewell.launch.run import Run
from sizewell.launch.target import EFA_HUGE_PAGES_MIB, Machine, Target, beside
from sizewell.sizing.catalog import host
from sizewell.sizing.units import GIB

Manifest = dict[str, Any]
USER: Final = 10001
MIB: Final = 2**20
SCRIPTS: Final = "/opt/sizewell"
CACHE: Final = "/cache"
HOME: Final = "/home/sizewell"
UNKNOWN_CPUS, UNKNOWN_MEMORY = 4, 16 * GIB  # a device, where the catalog does not know the machine


def account(launch: Launch) -> Manifest:
    """The service account; the cloud lets it write checkpoints, the cluster lets it nothing."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": launch.metadata(launch.target.account, launch.target.account_annotations),
        "automountServiceAccountToken": False,
    }


def scripts(launch: Launch, files: Mapping[str, str]) -> Manifest:
    """Our entry scripts, mounted read-only; the name has their hash, so that a changed script is a new job's."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": launch.metadata(scripts_name(launch.name, files)),
        "immutable": True,
        "data": dict(files),
    }


def scripts_name(name: str, files: Mapping[str, str]) -> str:
    digest = hashlib.sha256("\0".join(f"{key}\0{files[key]}" for key in sorted(files)).encode()).hexdigest()
    return f"{short(name, 44)}-scripts-{digest[:8]}"


def among_themselves(
    launch: Launch,
    ports: Sequence[int] = (),
    *,
    from_pods: Mapping[int, Mapping[str, str]] | None = None,
    from_namespaces: Mapping[int, Sequence[str]] | None = None,
) -> Manifest:
    """Only the pods of one job reach each other; `ports` are open to the namespace.

    `from_pods` opens a port to pods with these labels wherever they stand, `from_namespaces` to all pods of namespaces.
    """
    same = {"matchLabels": {"app.kubernetes.io/name": launch.name}}
    ingress: list[Manifest] = [{"from": [{"podSelector": same}]}]
    if ports:
        ingress.append({"from": [{"podSelector": {}}], "ports": [{"port": port, "protocol": "TCP"} for port in ports]})
    for port, labels in (from_pods or {}).items():
        who: Manifest = {"namespaceSelector": {}, "podSelector": {"matchLabels": dict(labels)}}
        ingress.append({"from": [who], "ports": [{"port": port, "protocol": "TCP"}]})
    for port, names in (from_namespaces or {}).items():
        chosen = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": sorted(set(names))}
        if names:
            who = {"namespaceSelector": {"matchExpressions": [chosen]}}
            ingress.append({"from": [who], "ports": [{"port": port, "protocol": "TCP"}]})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": launch.metadata(),
        "spec": {"podSelector": same, "policyTypes": ["Ingress"], "ingress": ingress},
    }


def share(machine: Machine, devices: int) -> tuple[int, int]:
    """CPUs and bytes of memory for a pod with `devices` of the machine's."""
    part = devices / max(1, machine.devices)
    cpus = int(machine.cpus * part * host.CPU_SHARE) if machine.cpus else UNKNOWN_CPUS * devices
    memory = int(host.room(machine.memory_bytes) * part) if machine.memory_bytes else UNKNOWN_MEMORY * devices
    return max(1, cpus), max(GIB, memory)


def resources(machine: Machine, target: Target, devices: int) -> Manifest:
    """Requests equal to limits: a pod of a job is never the first to be evicted, and CPUs can be its own."""
    cpus, memory = share(machine, devices)
    others = beside(target) if devices == machine.devices else {}
    if "hugepages-2Mi" in others:
        memory -= EFA_HUGE_PAGES_MIB * MIB
    wanted = {"cpu": str(cpus), "memory": f"{max(GIB, memory) // MIB}Mi", **others}
    if devices and machine.resource:
        wanted[machine.resource] = str(devices)
    return {"requests": dict(wanted), "limits": dict(wanted)}


def security(run: Run, target: Target, *, rdma: bool) -> tuple[Manifest, Manifest]:
    """(of the pod, of the container)."""
    pod: Manifest = {"seccompProfile": {"type": "RuntimeDefault"}, "fsGroup": USER}
    capabilities: Manifest = {"drop": ["ALL"]}
    if rdma and target.rdma[0].startswith("rdma/"):
        # InfiniBand registers memory beyond the runtime's limit; a capability that is added to a user other than root
        # has no effect (github.com/kubernetes/kubernetes/issues/56374), so this pod is root with that one capability.
        capabilities["add"] = ["IPC_LOCK"]
        pod |= {"runAsUser": 0, "runAsGroup": 0}
    elif not run.root:
        pod |= {"runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER}
    container = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": capabilities}
    return pod, container


def network_env(machine: Machine, target: Target, *, several: bool) -> dict[str, str]:
    """What NCCL and libfabric have to be told on this fabric; nothing where a job has one machine."""
    if not several or machine.runtime not in ("cuda", "rocm", "neuron"):
        return {}
    variables = {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_DEBUG": "WARN", "GLOO_SOCKET_IFNAME": "eth0"}
    if target.rdma[0].endswith("/efa"):
        variables |= {"FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_FORK_SAFE": "1"}
        variables |= {"FI_EFA_USE_HUGE_PAGE": "1"}
    elif target.fabric:
        variables |= gpudirect.env(target.fabric)
    elif target.rdma[0]:
        variables |= {"NCCL_IB_PCI_RELAXED_ORDERING": "1", "NCCL_IB_QPS_PER_CONNECTION": "4"}
    if machine.runtime == "neuron":
        variables = {key: value for key, value in variables.items() if not key.startswith("NCCL")}
    return variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """What runs in a pod's one container, where the run names no command of its own."""

    command: Sequence[str]
    env: Mapping[str, Any] = field(default_factory=dict)  # values are text or a `valueFrom`
    files: str = ""  # the ConfigMap of scripts
    ports: Mapping[str, int] = field(default_factory=dict)
    probes: Mapping[str, object] = field(default_factory=dict)
    fixed: bool = False  # the command holds even where the run names one
    name: str = "main"


def template(
    launch: Launch,
    runs: Container,
    *,
    devices: int,
    annotations: Mapping[str, str] | None = None,
    grace: int = 0,
    restart: str = "Never",
) -> Manifest:
    """A pod template with `devices` of its machine's accelerators; `grace`: seconds to end."""
    run, target, machine = launch.run, launch.target, launch.machine
    _, memory = share(machine, max(1, devices))
    rdma = bool(target.rdma[0]) and devices == machine.devices
    fabric = target.fabric if devices == machine.devices and launch.nodes > 1 else ""
    pod_security, container_security = security(run, target, rdma=rdma)
    folders = {"tmp": "/tmp", "home": HOME, "cache": CACHE}  # noqa: S108  (a pod's own)
    volumes: list[Manifest] = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{memory // 4 // MIB}Mi"}}
    ]
    volumes += [{"name": key, "emptyDir": {}} for key in folders]
    mounts: list[Manifest] = [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108
    mounts += [{"name": key, "mountPath": path} for key, path in folders.items()]
    for claim, path in run.claims:
        volumes.append({"name": f"claim-{claim}"[:63], "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": f"claim-{claim}"[:63], "mountPath": path})
    if runs.files:
        volumes.append({"name": "scripts", "configMap": {"name": runs.files, "defaultMode": 0o555}})
        mounts.append({"name": "scripts", "mountPath": SCRIPTS, "readOnly": True})
    variables: dict[str, Any] = {**HOUSE, **runs.env, **dict(run.env)}
    container: Manifest = {
        "name": runs.name,
        "image": run.image,
        "imagePullPolicy": "IfNotPresent",
        "command": gpudirect.profiled(fabric, (() if runs.fixed else run.command) or runs.command),
        **({"args": list(run.args)} if run.args else {}),
        "env": [{"name": key, **_value(value)} for key, value in variables.items()],
        "resources": resources(machine, target, devices),
        "securityContext": container_security,
        "volumeMounts": mounts,
        **runs.probes,
    }
    if run.secrets:
        container["envFrom"] = [{"secretRef": {"name": secret}} for secret in run.secrets]
    if runs.ports:
        container["ports"] = [
            {"name": key, "containerPort": port, "protocol": "TCP"} for key, port in runs.ports.items()
        ]
    spec: Manifest = {
        "serviceAccountName": target.account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": grace or launch.grace,
        "securityContext": pod_security,
        "nodeSelector": dict(target.selector),
        "tolerations": target.tolerations(),
        "containers": [container],
        "volumes": volumes,
    }
    if run.priority:
        spec["priorityClassName"] = run.priority  # Kueue goes by it too
    if restart == "Always":
        del spec["restartPolicy"]  # what a Deployment's pods have anyhow
    made: Manifest = {"labels": {**launch.labels, **target.pod_labels}}
    if annotations:
        made["annotations"] = dict(annotations)
    pod = {"metadata": made, "spec": spec}
    if fabric:
        gpudirect.dress(fabric, pod)
    return pod


HOUSE: Final = {  # writable places for libraries that want a home; a name for those that ask who runs them
    "HOME": HOME,
    "USER": "sizewell",
    "TMPDIR": "/tmp",  # noqa: S108
    "HF_HOME": f"{CACHE}/huggingface",
    "XDG_CACHE_HOME": CACHE,
    "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/inductor",
    "TRITON_CACHE_DIR": f"{CACHE}/triton",
    "PYTHONUNBUFFERED": "1",
}


def _value(value: object) -> Manifest:
    return {"valueFrom": dict(value)} if isinstance(value, Mapping) else {"value": str(value)}
