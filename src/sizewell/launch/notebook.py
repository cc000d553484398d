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
from sizewell.launch.pods import Manifest
from sizewell.launch.setting import Setting

PORT: Final = 8888
FOLDER: Final = "/home/sizewell/work"
SCRIPT: Final = "until_idle.py"


def manifests(of: Setting, files: Mapping[str, str], *, disk_gib: int = 50) -> list[Manifest]:
    """A StatefulSet with a disk that outlives the pod, and nothing that leads to it from outside; needs `SCRIPT`."""
    mine = {SCRIPT: files[SCRIPT]}
    server = stateful_set(of, pods.scripts_name(of.name, mine), disk_gib=disk_gib)
    first = [pods.account(of), *_may_end_itself(of), pods.scripts(of, mine), _closed(of), _headless(of)]
    return [*first, *_class(of), server]


def jupyter_command(of: Setting) -> list[str]:
    """JupyterLab on loopback, without a token: whoever may forward the port is its owner already.

    Idle kernels end after the guard's window, the server after window and grace together.
    """
    guard = of.plan.guard
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


def stateful_set(of: Setting, scripts: str, *, disk_gib: int) -> Manifest:
    """One pod and its disk; `scripts` names the ConfigMap."""
    pod = pods.template(
        of,
        pods.Container(
            command=["python3", f"{pods.SCRIPTS}/{SCRIPT}", *(of.run.command or jupyter_command(of))],
            fixed=True,
            env={"STATEFUL_SET": of.name, "NAMESPACE": of.run.namespace},
            files=scripts,
        ),
        devices=of.machine.devices,
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
        "metadata": {**of.metadata(), "labels": queued(of.labels, of.target)},
        "spec": {
            "serviceName": of.name,
            "replicas": 0 if of.run.suspend else 1,
            "selector": {"matchLabels": {"app.kubernetes.io/name": of.name}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "template": pod,
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "work", "labels": of.labels},
                    "spec": {
                        "accessModes": ["ReadWriteOncePod"],
                        **({"storageClassName": class_name(of)} if class_name(of) else {}),
                        "resources": {"requests": {"storage": f"{disk_gib}Gi"}},
                    },
                }
            ],
        },
    }


def class_name(of: Setting) -> str:
    """The storage class of the disk; "": the cluster's default."""
    disks = of.target.disks
    if disks.storage_class or not disks.driver:
        return disks.storage_class
    return f"{of.run.namespace}-{of.name}"  # a class belongs to the cluster, and each notebook has its own


def _class(of: Setting) -> list[Manifest]:
    """A class whose driver the cluster has; the disk is made where the pod is, and outlives class and claim."""
    disks = of.target.disks
    if disks.storage_class or not disks.driver:
        return []
    made = of.metadata(class_name(of))
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


def _may_end_itself(of: Setting) -> list[Manifest]:
    """The account may set the scale of this one set: the only thing that the cluster lets it do."""
    rule = {"apiGroups": ["apps"], "resources": ["statefulsets/scale"], "resourceNames": [of.name], "verbs": ["patch"]}
    api = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": of.target.account, "namespace": of.run.namespace}
    return [
        {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": of.metadata(), "rules": [rule]},
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": of.metadata(),
            "roleRef": {"apiGroup": api, "kind": "Role", "name": of.name},
            "subjects": [subject],
        },
    ]


def _closed(of: Setting) -> Manifest:
    """No pod reaches a notebook."""
    same = {"matchLabels": {"app.kubernetes.io/name": of.name}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": of.metadata(),
        "spec": {"podSelector": same, "policyTypes": ["Ingress"], "ingress": []},
    }


def _headless(of: Setting) -> Manifest:
    """The name that a StatefulSet must have; it leads nowhere."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": of.metadata(),
        "spec": {
            "clusterIP": "None",
            "selector": {"app.kubernetes.io/name": of.name},
            "ports": [{"name": "jupyter", "port": PORT, "targetPort": PORT, "protocol": "TCP"}],
        },
    }
