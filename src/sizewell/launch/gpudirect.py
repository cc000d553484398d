"""GPUDirect on GKE as a pod meets it: its interfaces, the daemon at its side, its folders and variables. Pure.

Three protocols: TCPX (A3 High), TCPXO (A3 Mega), RDMA with the gIB plug-in (A3 Ultra, A4). What stands here follows
Google's own files, by commit where a version counts:

- github.com/GoogleCloudPlatform/container-engine-accelerators 992db81: gpudirect-tcpx/nccl-test-latest.yaml and
  nccl-config.yaml, gpudirect-tcpxo/nccl-test-latest.yaml, gpudirect-rdma/nccl-test.yaml and nccl-test-a4.yaml
- github.com/GoogleCloudPlatform/cluster-toolkit 1047080: modules/compute/gke-node-pool/gpu-direct-workload/scripts
- github.com/AI-Hypercomputer/xpk 367c838: src/xpk/core/workload_decorators (daemons as init containers that stay)
- github.com/AI-Hypercomputer/gpu-recipes 2e1fd5e: src/helm-charts/{a3mega,a3ultra,a4}/jobset

Not verified: none of these run as another user than root, so a pod with GPUDirect runs as root here too, with all
capabilities dropped but IPC_LOCK; what the daemon takes of CPU and memory is an estimate.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables

TCPX, TCPXO, RDMA = "gpudirect-tcpx", "gpudirect-tcpxo", "gpudirect-rdma"
# (interface in the pod, Network object), in the order of the machine's extra interfaces; eth0 is the cluster's own.
INTERFACES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    TCPX: tuple((f"eth{number}", f"vpc{number}") for number in range(1, 5)),
    TCPXO: tuple((f"eth{number}", f"vpc{number}") for number in range(1, 9)),
    RDMA: (("eth1", "gvnic-1"), *((f"eth{number + 2}", f"rdma-{number}") for number in range(8))),
}
# The daemon's version goes with the plug-in's that components/gcp/gke/gpudirect_manifests.py installs.
TCPX_DAEMON: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.12"
TCPXO_DAEMON: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21"
LIBRARIES: Final = "/usr/local/nvidia"
# Variables that the installed plug-in is tuned with come with it; a line that starts processes reads them first.
PROFILES: Final = {
    TCPXO: f"{LIBRARIES}/lib64/nccl-env-profile.sh",
    RDMA: "/usr/local/gib/scripts/set_nccl_env.sh",
}
DAEMON_SHARE: Final = {"cpu": "8", "memory": "32Gi"}  # estimate: Google's files ask for nothing
GPUS: Final = (*(f"/dev/nvidia{number}" for number in range(8)), "/dev/nvidiactl", "/dev/nvidia-uvm")


def env(fabric: str) -> dict[str, str]:
    """What NCCL has to be told before it starts.

    >>> env("gpudirect-rdma")
    {'LD_LIBRARY_PATH': '/usr/local/nvidia/lib64'}
    """
    variables = {"LD_LIBRARY_PATH": f"{LIBRARIES}/lib64"}
    if fabric == TCPX:
        return variables | _tcpx_env()
    if fabric == TCPXO:
        variables["NCCL_LIB_DIR"] = f"{LIBRARIES}/lib64"  # where its profile looks
        variables["NCCL_FASTRAK_CTRL_DEV"] = "eth0"
        variables["NCCL_FASTRAK_IFNAME"] = ",".join(interface for interface, _ in INTERFACES[TCPXO])
        variables["NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY"] = "/dev/aperture_devices"
    return variables


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpxVariable:
    """A row of tcpx.csv. The client prefix is where the daemon below puts its socket."""

    variable: str
    value: str
    source: str


@cache
def _tcpx_env() -> dict[str, str]:
    return {row.variable: row.value for row in csvtables.read(TcpxVariable, Path(__file__).parent / "data/tcpx.csv")}


def profiled(fabric: str, line: Sequence[str]) -> list[str]:
    """`line` behind the profile of the plug-in, which takes a bash in the image.

    >>> profiled("gpudirect-rdma", ["python3", "train.py"])[2:]
    ['source /usr/local/gib/scripts/set_nccl_env.sh; exec "$0" "$@"', 'python3', 'train.py']
    >>> profiled("gpudirect-tcpx", ["python3", "train.py"])
    ['python3', 'train.py']
    """
    if not line or fabric not in PROFILES:
        return list(line)
    return ["bash", "-c", f'source {PROFILES[fabric]}; exec "$0" "$@"', *line]


def wiring(fabric: str) -> dict[str, str]:
    """Which networks the pod has, and which devices of the machine its daemon may use (nri-device-injector)."""
    pairs = (("eth0", "default"), *INTERFACES[fabric])
    listed = [json.dumps({"interfaceName": name, "network": network}) for name, network in pairs]
    annotations = {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": "[" + ",\n".join(listed) + "]",
    }
    if fabric in DAEMONS:
        devices = GPUS + (("/dev/dmabuf_import_helper",) if fabric == TCPXO else ())
        annotations[f"devices.gke.io/container.{DAEMONS[fabric]}"] = "".join(f"- path: {path}\n" for path in devices)
    return annotations


DAEMONS: Final = {TCPX: "tcpx-daemon", TCPXO: "tcpxo-daemon"}


def dress(fabric: str, pod: dict[str, Any]) -> None:
    """Give a pod that has a whole machine what the fabric takes. Its first container is the one that computes."""
    spec, metadata = pod["spec"], pod["metadata"]
    metadata["annotations"] = {**metadata.get("annotations", {}), **wiring(fabric)}
    main = spec["containers"][0]
    folders = _folders(fabric)
    spec["volumes"] += [{"name": name, **source} for name, (source, _) in folders.items()]
    main["volumeMounts"] += [{"name": name, **mount} for name, (_, mount) in folders.items() if mount]
    for key in ("runAsNonRoot", "runAsUser", "runAsGroup"):
        spec["securityContext"].pop(key, None)
    main["securityContext"] = {**main["securityContext"], "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}
    if fabric in DAEMONS:
        spec["initContainers"] = [*spec.get("initContainers", []), _daemon(fabric)]


def _folders(fabric: str) -> dict[str, tuple[dict[str, object], dict[str, object]]]:
    """Volume -> (what it is, where the computing container has it; empty: only the daemon does)."""

    def host(path: str) -> dict[str, Any]:
        return {"hostPath": {"path": path}}

    libraries = (host("/home/kubernetes/bin/nvidia"), {"mountPath": LIBRARIES, "readOnly": True})
    if fabric == RDMA:
        gib = (host("/home/kubernetes/bin/gib"), {"mountPath": "/usr/local/gib", "readOnly": True})
        return {"libraries": libraries, "gib": gib}
    volumes = {"libraries": libraries, "sys": (host("/sys"), {}), "proc-sys": (host("/proc/sys"), {})}
    if fabric == TCPXO:
        volumes["aperture-devices"] = (host("/dev/aperture_devices"), {"mountPath": "/dev/aperture_devices"})
    else:
        volumes["tcpx-socket"] = ({"emptyDir": {}}, {"mountPath": "/run/tcpx"})
    return volumes


def _daemon(fabric: str) -> dict[str, object]:
    """Receives into the GPUs' memory: an init container that stays, and ends with the job's own."""
    mounts = [
        {"name": "libraries", "mountPath": LIBRARIES, "readOnly": True},
        {"name": "sys", "mountPath": "/hostsysfs"},
        {"name": "proc-sys", "mountPath": "/hostprocsysfs"},
    ]
    if fabric == TCPXO:
        start = "chmod 755 /fts/entrypoint_rxdm_container.sh\nexec /fts/entrypoint_rxdm_container.sh"
        command = ["/bin/sh", "-c", f"set -ex\n{start} --num_hops=2 --num_nics=8 --uid= --alsologtostderr"]
        image, added = TCPXO_DAEMON, ["NET_ADMIN", "NET_BIND_SERVICE"]
    else:
        command = ["/tcpgpudmarxd/build/app/tcpgpudmarxd", "--gpu_nic_preset", "a3vm", "--gpu_shmem_type", "fd"]
        command += ["--uds_path", "/run/tcpx", "--setup_param", r"\"--verbose 128 2 0 \""]
        image, added = TCPX_DAEMON, ["NET_ADMIN"]
        mounts.append({"name": "tcpx-socket", "mountPath": "/run/tcpx"})
    return {
        "name": DAEMONS[fabric],
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "command": command,
        "env": [{"name": "LD_LIBRARY_PATH", "value": f"{LIBRARIES}/lib64"}],
        "resources": {"requests": dict(DAEMON_SHARE), "limits": dict(DAEMON_SHARE)},
        "securityContext": {"runAsUser": 0, "capabilities": {"add": added}},
        "volumeMounts": mounts,
    }
