"""Training under Ray: a RayJob with a cluster of its own that goes when it ends. Pure.

Ray starts one task on each machine and gives it the machine's accelerators; the task runs the same line as a pod of a
JobSet would, with the addresses that Ray found.
"""

from __future__ import annotations

import json
from typing import Any, Final

from sizewell.launch import files, gpudirect, pods
from sizewell.launch.jobs import PORT, WAITS_S, limited, queued
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.launch.training import command, deadline_s, variables

HEAD: Final = {"cpu": "4", "memory": "16384Mi"}
SUBMITTER: Final = {"cpu": "1", "memory": "1024Mi"}
OPERATOR: Final = {"app.kubernetes.io/name": "kuberay-operator"}  # labels of its pod, as its chart sets them
PORTS: Final = {"gcs": 6379, "dashboard": 8265, "client": 10001}


def manifests(launch: Launch) -> list[Manifest]:
    """The RayJob and what it refers to."""
    mine = {**files.training(), "ray_start.py": files.script("ray_start.py")}
    name = pods.scripts_name(launch.name, mine)
    return [pods.account(launch), pods.scripts(launch, mine), _reached(launch), job(launch, name)]


def _reached(launch: Launch) -> Manifest:
    """KubeRay's operator asks the head's dashboard how the job does; without an answer a job that runs has failed."""
    return pods.among_themselves(launch, from_pods={PORTS["dashboard"]: OPERATOR})


def job(launch: Launch, scripts: str) -> Manifest:
    """Head without accelerators, a worker on each machine; the entry point waits until all are there."""
    env: dict[str, Any] = {
        **pods.network_env(launch.machine, launch.target, several=launch.nodes > 1),
        **variables(launch),
    }
    for key in ("SIZEWELL_COORDINATOR", "SIZEWELL_NODES"):
        env.pop(key, None)  # Ray says where its workers are
    line = list(limited(launch, deadline_s(launch)).run.command) or command(launch)
    if launch.nodes > 1:
        line = gpudirect.profiled(launch.target.fabric, line)
    worker = pods.template(
        launch,
        pods.Container(command=[], fixed=True, env=env, files=scripts),
        devices=launch.machine.devices,
        restart="Always",
    )
    head = pods.template(
        launch,
        pods.Container(command=[], fixed=True, files=scripts, ports=PORTS, name="head"),
        devices=0,
        restart="Always",
    )
    submitter = pods.template(launch, pods.Container(command=[], fixed=True, name="ray-job-submitter"), devices=0)
    for pod in (head, submitter):  # neither needs an accelerator's machine
        pod["spec"]["nodeSelector"], pod["spec"]["tolerations"] = {}, []
        small = HEAD if pod is head else SUBMITTER
        pod["spec"]["containers"][0]["resources"] = {"requests": dict(small), "limits": dict(small)}
    for pod in (head, worker, submitter):
        del pod["spec"]["containers"][0]["command"]  # the operator has its own
        pod["spec"]["containers"][0].pop("args", None)
    resource = {"num-gpus": str(launch.machine.devices)} if launch.machine.runtime in ("cuda", "rocm") else {}
    spec: Manifest = {
        "entrypoint": " ".join(
            ["python3", f"{pods.SCRIPTS}/ray_start.py", "--nodes", str(launch.nodes), "--port", str(PORT)]
        ),
        "runtimeEnvYAML": json.dumps({"env_vars": {"SIZEWELL_LINE": json.dumps(line)}}),
        "submissionMode": "K8sJobMode",
        "submitterPodTemplate": submitter,
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": 3600,
        "backoffLimit": min(launch.run.restarts, 10),
        **({"activeDeadlineSeconds": deadline_s(launch) + WAITS_S} if deadline_s(launch) else {}),
        **({"suspend": True} if launch.run.suspend else {}),
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
                    "replicas": launch.nodes,
                    "minReplicas": launch.nodes,
                    "maxReplicas": launch.nodes,
                    **({"numOfHosts": launch.machine.hosts} if launch.machine.hosts > 1 else {}),
                    "rayStartParams": resource,
                    "template": worker,
                }
            ],
        },
    }
    if launch.machine.hosts > 1:
        group = spec["rayClusterSpec"]["workerGroupSpecs"][0]
        slices = max(1, launch.nodes // launch.machine.hosts)
        group |= {"replicas": slices, "minReplicas": slices, "maxReplicas": slices}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {**launch.metadata(), "labels": queued(launch.labels, launch.target)},
        "spec": spec,
    }
