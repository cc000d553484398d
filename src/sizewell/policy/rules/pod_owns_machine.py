from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pods
from sizewell.resources.values import flag, get, items

_SERVERS: Final = ("Deployment", "StatefulSet", "ReplicaSet", "Pod", "CronJob")
_DOORS: Final = ("/", "/etc", "/root", "/proc", "/sys", "/var/run/docker.sock", "/run/containerd/containerd.sock",
                 "/var/run", "/var/lib/kubelet")  # fmt: skip


def pod_owns_machine(pods: Pods, _: Parameters) -> Verdict:
    """A server does not share the machine's processes, network, root folder or container engine.

    >>> from sizewell.policy.examples import pods
    >>> host = {"spec": {"hostPID": True, "containers": []}}
    >>> pod_owns_machine(pods(type="kubernetes:apps/v1:Deployment", path="spec", inputs=host), {}).fix
    'drop privileged, host namespaces, added capabilities and hostPath'
    """
    if pods.type.rsplit(":", 1)[-1] not in _SERVERS:
        return None
    spec: Any = pods.inputs
    for step in pods.path.split("."):
        spec = get(spec, int(step) if step.isdigit() else step)
    if pods.privileged is True or any(flag(get(spec, key)) is True for key in ("hostNetwork", "hostPID", "hostIPC")):
        return _violation()
    volumes = items(get(spec, "volumes"))
    paths = () if isinstance(volumes, Unknown) else tuple(get(volume, "hostPath", "path") for volume in volumes)
    if any(isinstance(path, str) and path.rstrip("/") in {door.rstrip("/") for door in _DOORS} for path in paths):
        return _violation()
    open_ends = [pods.privileged, volumes, *paths, *(get(spec, key) for key in ("hostNetwork", "hostPID", "hostIPC"))]
    return Undetermined("the pod's security context") if UNKNOWN in (spec, *open_ends) else None


def _violation() -> Violation:
    return Violation(
        "a compromised server has control of the machine, with the credentials and data of every pod on it",
        "drop privileged, host namespaces, added capabilities and hostPath",
    )


RULE = Rule(
    id="pod-owns-machine",
    area="safety",
    subject="pods",
    prevents="one compromised server with control of the machine",
    judge=pod_owns_machine,
    levels={"dev": "advisory"},
    clouds=("kubernetes",),
)
