"""A notebook with accelerators: JupyterLab that only its owner reaches, and that ends itself when nobody works. Pure.

The server listens on the pod's own loopback address: nothing but `kubectl port-forward`, which asks the cluster who
one is, leads to it. An idle kernel is culled, an idle server shuts down and scales its set to nothing; the disk stays,
and the empty machine goes by the pool's autoscaler or guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.launch import pods
from sizewell.launch.jobs import queued
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest

PORT: Final = 8888
FOLDER: Final = "/home/sizewell/work"
SCRIPT: Final = "until_idle.py"


def manifests(launch: Launch, files: Mapping[str, str], *, disk_gib: int = 50) -> list[Manifest]:
    """A StatefulSet with a disk that outlives the pod, and nothing that leads to it from outside; needs `SCRIPT`."""
    mine = {SCRIPT: files[SCRIPT]}
    server = stateful_set(launch, pods.scripts_name(launch.name, mine), disk_gib=disk_gib)
    first = [
        pods.account(launch),
        *_may_end_itself(launch),
        pods.scripts(launch, mine),
        _closed(launch),
        _headless(launch),
    ]
    return [*first, *_class(launch), server]


def jupyter_command(launch: Launch) -> list[str]:
    """JupyterLab on loopback, without a token: only its owner may forward the port.

    Idle kernels end after the guard's window, the server after window and grace together.
    """
    guard = launch.plan.guard
    kernel = guard.window_s if guard else 2700
    server = kernel + (guard.grace_s if guard else 3600)
    settings = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": PORT,
        "ServerApp.root_dir": FOLDER,
        "ServerApp.open_browser": False,
        "ServerApp.allow_remote_access": False,
        "ServerApp.shutdown_no_activity_timeout": server,
        "IdentityProvider.token": "",
        "MappingKernelManager.cull_idle_timeout": kernel,
        "MappingKernelManager.cull_interval": 120,
        "MappingKernelManager.cull_connected": True,
        "TerminalManager.cull_inactive_timeout": kernel,
        "TerminalManager.cull_interval": 120,
    }
    return ["jupyter", "lab", *[f"--{key}={value}" for key, value in settings.items()]]


def stateful_set(launch: Launch, scripts: str, *, disk_gib: int) -> Manifest:
    """One pod and its disk; `scripts` names the ConfigMap."""
    pod = pods.template(
        launch,
        pods.Container(
            command=["python3", f"{pods.SCRIPTS}/{SCRIPT}", *(launch.run.command or jupyter_command(launch))],
            fixed=True,
            env={"STATEFUL_SET": launch.name, "NAMESPACE": launch.run.namespace},
            files=scripts,
        ),
        devices=launch.machine.devices,
        restart="Always",
        grace=60,
    )
    pod["spec"]["automountServiceAccountToken"] = True  # to scale itself down, which is all that the token can
    pod["spec"]["containers"][0]["workingDir"] = FOLDER
    pod["spec"]["containers"][0]["volumeMounts"].append({"name": "work", "mountPath": FOLDER})
    # the claim of that name takes its place; without it a queue that asks for machines makes an invalid PodTemplate
    pod["spec"]["volumes"].append({"name": "work", "emptyDir": {}})
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**launch.metadata(), "labels": queued(launch.labels, launch.target)},
        "spec": {
            "serviceName": launch.name,
            "replicas": 0 if launch.run.suspend else 1,
            "selector": {"matchLabels": {"app.kubernetes.io/name": launch.name}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "template": pod,
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "work", "labels": launch.labels},
                    "spec": {
                        "accessModes": ["ReadWriteOncePod"],
                        **({"storageClassName": class_name(launch)} if class_name(launch) else {}),
                        "resources": {"requests": {"storage": f"{disk_gib}Gi"}},
                    },
                }
            ],
        },
    }


def class_name(launch: Launch) -> str:
    """The storage class of the disk; "": the cluster's default."""
    disks = launch.target.disks
    if disks.storage_class or not disks.driver:
        return disks.storage_class
    return f"{launch.run.namespace}-{launch.name}"  # a class belongs to the cluster, and each notebook has its own


def _class(launch: Launch) -> list[Manifest]:
    """A class whose driver the cluster has; the disk is made where the pod is, and outlives class and claim."""
    disks = launch.target.disks
    if disks.storage_class or not disks.driver:
        return []
    made = launch.metadata(class_name(launch))
    del made["namespace"]
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": made,
            "provisioner": disks.driver,
            "parameters": dict(disks.parameters),
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
            "reclaimPolicy": "Delete",
        }
    ]


def _may_end_itself(launch: Launch) -> list[Manifest]:
    """The account may set the scale of this one set: the only thing that the cluster lets it do."""
    rule = {
        "apiGroups": ["apps"],
        "resources": ["statefulsets/scale"],
        "resourceNames": [launch.name],
        "verbs": ["patch"],
    }
    api = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": launch.target.account, "namespace": launch.run.namespace}
    return [
        {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": launch.metadata(), "rules": [rule]},
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": launch.metadata(),
            "roleRef": {"apiGroup": api, "kind": "Role", "name": launch.name},
            "subjects": [subject],
        },
    ]


def _closed(launch: Launch) -> Manifest:
    """No pod reaches a notebook."""
    same = {"matchLabels": {"app.kubernetes.io/name": launch.name}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": launch.metadata(),
        "spec": {"podSelector": same, "policyTypes": ["Ingress"], "ingress": []},
    }


def _headless(launch: Launch) -> Manifest:
    """The name that a StatefulSet must have; it leads nowhere."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": launch.metadata(),
        "spec": {
            "clusterIP": "None",
            "selector": {"app.kubernetes.io/name": launch.name},
            "ports": [{"name": "jupyter", "port": PORT, "targetPort": PORT, "protocol": "TCP"}],
        },
    }
