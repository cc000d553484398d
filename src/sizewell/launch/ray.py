"""Training under Ray: a RayJob with a cluster of its own that goes when it ends. Pure.

Ray starts one task on each machine and gives it the machine's accelerators; the task runs the same line as a pod of a
JobSet would, with the addresses that Ray found.
"""

from __future__ import annotations

import json
from typing import Any, Final

from sizewell.launch import files, gpudirect, pods
from sizewell.launch.jobs import PORT, WAITS_S, limited, queued
from sizewell.launch.pods import Manifest
from sizewell.launch.setting import Setting
from sizewell.launch.training import command, deadline_s, variables

HEAD: Final = {"cpu": "4", "memory": "16384Mi"}
SUBMITTER: Final = {"cpu": "1", "memory": "1024Mi"}
OPERATOR: Final = {"app.kubernetes.io/name": "kuberay-operator"}  # labels of its pod, as its chart sets them
PORTS: Final = {"gcs": 6379, "dashboard": 8265, "client": 10001}


def manifests(of: Setting) -> list[Manifest]:
    """The RayJob and what it refers to."""
    mine = {**files.training(), "ray_start.py": files.script("ray_start.py")}
    name = pods.scripts_name(of.name, mine)
    return [pods.account(of), pods.scripts(of, mine), _reached(of), job(of, name)]


def _reached(of: Setting) -> Manifest:
    """KubeRay's operator asks the head's dashboard how the job does; without an answer a job that runs has failed."""
    return pods.among_themselves(of, from_pods={PORTS["dashboard"]: OPERATOR})


def job(of: Setting, scripts: str) -> Manifest:
    """Head without accelerators, a worker on each machine; the entry point waits until all are there."""
    env: dict[str, Any] = {**pods.network_env(of.machine, of.target, several=of.nodes > 1), **variables(of)}
    for key in ("SIZEWELL_COORDINATOR", "SIZEWELL_NODES"):
        env.pop(key, None)  # Ray says where its workers are
    line = list(limited(of, deadline_s(of)).run.command) or command(of)
    if of.nodes > 1:
        line = gpudirect.profiled(of.target.fabric, line)
    worker = pods.template(
        of, pods.Container(command=[], fixed=True, env=env, files=scripts), devices=of.machine.devices, restart="Always"
    )
    head = pods.template(
        of, pods.Container(command=[], fixed=True, files=scripts, ports=PORTS, name="head"), devices=0, restart="Always"
    )
    submitter = pods.template(of, pods.Container(command=[], fixed=True, name="ray-job-submitter"), devices=0)
    for pod in (head, submitter):  # neither needs an accelerator's machine
        pod["spec"]["nodeSelector"], pod["spec"]["tolerations"] = {}, []
        small = HEAD if pod is head else SUBMITTER
        pod["spec"]["containers"][0]["resources"] = {"requests": dict(small), "limits": dict(small)}
    for pod in (head, worker, submitter):
        del pod["spec"]["containers"][0]["command"]  # the operator has its own
        pod["spec"]["containers"][0].pop("args", None)
    resource = {"num-gpus": str(of.machine.devices)} if of.machine.runtime in ("cuda", "rocm") else {}
    spec: Manifest = {
        "entrypoint": " ".join(
            ["python3", f"{pods.SCRIPTS}/ray_start.py", "--nodes", str(of.nodes), "--port", str(PORT)]
        ),
        "runtimeEnvYAML": json.dumps({"env_vars": {"SIZEWELL_LINE": json.dumps(line)}}),
        "submissionMode": "K8sJobMode",
        "submitterPodTemplate": submitter,
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 3600,
        "backoffLimit": min(of.run.restarts, 10),
        **({"activeDeadlineSeconds": deadline_s(of) + WAITS_S} if deadline_s(of) else {}),
        **({"suspend": True} if of.run.suspend else {}),
        "rayClusterSpec": {
            "enableInTreeAutoscaling": False,
            "headGroupSpec": {
                "serviceType": "ClusterIP",
                "rayStartParams": {"num-cpus": "0", "dashboard-host": "0.0.0.0"},  # noqa: S104  (pods of the job only)
                "template": head,
            },
            "workerGroupSpecs": [
                {
                    "groupName": "workers",
                    "replicas": of.nodes,
                    "minReplicas": of.nodes,
                    "maxReplicas": of.nodes,
                    **({"numOfHosts": of.machine.hosts} if of.machine.hosts > 1 else {}),
                    "rayStartParams": resource,
                    "template": worker,
                }
            ],
        },
    }
    if of.machine.hosts > 1:
        group = spec["rayClusterSpec"]["workerGroupSpecs"][0]
        slices = max(1, of.nodes // of.machine.hosts)
        group |= {"replicas": slices, "minReplicas": slices, "maxReplicas": slices}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {**of.metadata(), "labels": queued(of.labels, of.target)},
        "spec": spec,
    }
