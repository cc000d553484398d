"""What GPUDirect takes inside a GKE cluster, as manifests: networks of pods, installers of NCCL's plug-ins. Pure.

Networks follow github.com/GoogleCloudPlatform/cluster-toolkit 1047080 (modules/scheduler/gke-cluster/templates), the
DaemonSets github.com/GoogleCloudPlatform/container-engine-accelerators 992db81 (nccl-tcpx-installer.yaml,
nccl-tcpxo-installer.yaml and nccl-rdma-installer.yaml in gpudirect-*, nri_device_injector/nri-device-injector.yaml),
with the images and tags that stand there. Ours beside them: no token of the cluster, limits (estimates), and
for the loader of TCPXO's kernel module the mirror of a pinned Ubuntu, where the file has Docker Hub's without a tag:
machines without internet access reach Google's registries alone.

The DaemonSets are privileged: they load a module, write to the machine's folders and inject devices. They run in
kube-system, on machines of their fabric alone; the rule `pod-privileged` says so, and its waiver is a team's to write.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sizewell.components.gcp.args import FABRIC_NETWORKS
from sizewell.launch import gpudirect
from sizewell.launch.pods import Manifest

API: Final = "networking.gke.io/v1"
NAMESPACE: Final = "kube-system"
PAUSE: Final = "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830"
INJECTOR: Final = (
    "gcr.io/gke-release/nri-device-injector@sha256:6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970"
)
UBUNTU: Final = "mirror.gcr.io/library/ubuntu:24.04"
# The plug-ins; the daemons that fit them are pinned in launch/gpudirect.py.
TCPX_PLUGIN: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.9"
TCPXO_PLUGIN: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15"
GIB_PLUGIN: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib:v1.1.1"

_TCPX: Final = (
    "set -ex; /scripts/container_entry.sh install --install-nccl; mkdir -p /usr/local/nvidia/lib64; "
    'cp -r /var/lib/tcpx/lib64/. /usr/local/nvidia/lib64; echo "installation finishes"'
)
_TCPXO: Final = (
    "set -ex; chmod 755 /scripts/container_entry.sh; /scripts/container_entry.sh install --install-nccl; "
    "mkdir -p /usr/local/nvidia/lib64; cp -r /var/lib/tcpxo/lib64/. /usr/local/nvidia/lib64; "
    'echo "installation finishes"'
)
_GIB: Final = (
    "set -ex; /scripts/container_entry.sh install; "
    "cp -r /var/lib/gib/lib64/. /usr/local/home/kubernetes/bin/nvidia/lib64; "
    'cp -r /var/lib/gib/. /usr/local/home/kubernetes/bin/gib; echo "installation finishes"'
)
_MODULE: Final = (  # of the accelerator's interfaces, 1ae0:0084, each has a folder that pods may mount
    "/sbin/iptables -I INPUT -p tcp -m tcp -j ACCEPT && modprobe import-helper; "
    "sudo mkdir -p /dev/aperture_devices; "
    "while IFS= read -r line; do "
    """BDF=$( echo "$line" | awk '{print $1}' ); """
    'target_aperture_path="/dev/aperture_devices/$BDF"; '
    'host_aperture_device=$(readlink -f "/sys/bus/pci/devices/$BDF"); '
    "sudo mkdir -p $target_aperture_path; sudo umount -R $target_aperture_path; "
    "sudo mount --bind $host_aperture_device $target_aperture_path; "
    "done < <(lspci -nn -D | grep '1ae0:0084'); "
    "if [ -d /dev/aperture_devices ]; then "
    "chmod -R a+r /dev/aperture_devices/; chmod a+rw /dev/aperture_devices/*/resource*; fi"
)


def gpus_of(fabric: str) -> tuple[str, ...]:
    """GKE's names of the GPUs whose machines have a fabric.

    >>> gpus_of(gpudirect.RDMA)
    ('nvidia-h200-141gb', 'nvidia-b200')
    """
    from sizewell.sizing import catalog

    on_it = (shape for shape in catalog.load().shapes if shape.cloud == "gcp" and shape.fabric == fabric)
    return tuple(dict.fromkeys(shape.cloud_accelerator for shape in on_it if shape.cloud_accelerator))


def manifests(fabric: str, networks: Sequence[object], subnetworks: Sequence[object]) -> list[Manifest]:
    """All objects of a fabric; `networks` and `subnetworks` are names, in the order of the machines' interfaces."""
    objects: list[dict[str, object]] = []
    for number, (_, name) in enumerate(gpudirect.INTERFACES[fabric]):
        vpc = {"vpc": networks[number], "vpcSubnet": subnetworks[number], "deviceMode": device_mode(fabric, number)}
        reference = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": name}
        objects += [
            _object("GKENetworkParamSet", name, vpc),
            _object("Network", name, {"type": "Device", "parametersRef": reference}),
        ]
    objects.append(_installer(fabric))
    return [*objects, _injector(fabric)] if fabric in gpudirect.DAEMONS else objects


def device_mode(fabric: str, number: int) -> str:
    """How a pod gets the interface: the plain network of an RDMA machine comes first.

    >>> [device_mode("gpudirect-rdma", number) for number in (0, 1, 8)]
    ['NetDevice', 'RDMA', 'RDMA']
    """
    return "RDMA" if number >= FABRIC_NETWORKS[fabric][0] else "NetDevice"


def last_part(link: str) -> str:
    """The name in a link to a network; a name stays one.

    >>> last_part("https://www.googleapis.com/compute/v1/projects/petsnap/global/networks/gpu-0"), last_part("gpu-0")
    ('gpu-0', 'gpu-0')
    """
    return link.rpartition("/")[2]


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _installer(fabric: str) -> dict[str, object]:
    """Copies the plug-in into the machine's folders before any pod of a job starts there."""
    if fabric == gpudirect.RDMA:
        folders = {"library-dir-host": "/home/kubernetes/bin/nvidia/lib64", "gib": "/home/kubernetes/bin/gib"}
        mounts = {name: f"/usr/local{path}" for name, path in folders.items()}
        installer = _copier("nccl-rdma-installer", GIB_PLUGIN, _GIB, mounts)
        return _daemon_set("nccl-rdma-installer", fabric, folders, before=[installer], made=["library-dir-host"])
    folders = {"var-lib": "/var/lib", "library-dir-host": "/home/kubernetes/bin"}
    mounts = {"var-lib": "/var/lib", "library-dir-host": "/usr/local"}
    if fabric == gpudirect.TCPX:
        installer = _copier("nccl-tcpx-installer", TCPX_PLUGIN, _TCPX, mounts)
        return _daemon_set("nccl-tcpx-installer", fabric, folders, before=[installer])
    module = {
        "name": "pre-installation",
        "image": UBUNTU,
        "imagePullPolicy": "Always",
        "command": ["nsenter", "-at", "1", "--", "sh", "-c", _MODULE],
        "resources": _resources("50m", "256Mi"),
        "securityContext": {"privileged": True},
    }
    installer = _copier("nccl-tcpxo-installer", TCPXO_PLUGIN, _TCPXO, mounts)
    return _daemon_set("nccl-tcpxo-installer", fabric, folders, before=[module, installer])


def _injector(fabric: str) -> dict[str, object]:
    """Gives the daemon at a job's side the devices that its pod's annotation names."""
    folders = {"dev": "/dev", "nri": "/var/run/nri"}
    injector = {
        "name": "device-injector",
        "image": INJECTOR,
        "resources": _resources("150m", "256Mi"),
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in folders.items()],
    }
    return _daemon_set("device-injector", fabric, folders, container=injector)


def _copier(name: str, image: str, script: str, mounts: Mapping[str, str]) -> dict[str, object]:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "Always",
        "command": ["/bin/sh", "-c"],
        "args": [script],
        "resources": _resources("150m", "2Gi"),
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": folder, "mountPath": path} for folder, path in mounts.items()],
    }


def _resources(cpu: str, memory: str) -> Manifest:
    return {"requests": {"cpu": cpu, "memory": "32Mi"}, "limits": {"cpu": "1", "memory": memory}}


def _daemon_set(
    name: str,
    fabric: str,
    folders: Mapping[str, str],
    *,
    before: Sequence[Manifest] = (),
    container: Manifest | None = None,
    made: Sequence[str] = (),
) -> Manifest:
    """One pod on each machine of the fabric, whatever its taints; it waits where its work is done by `before`."""
    gpus = list(gpus_of(fabric))
    term = {"matchExpressions": [{"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": gpus}]}
    nodes = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    kept = {"type": "DirectoryOrCreate"}
    waiting = {
        "name": "pause",
        "image": PAUSE,
        "resources": _resources("10m", "32Mi"),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod = {
        "priorityClassName": "system-node-critical",
        "affinity": {"nodeAffinity": nodes},
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
        "hostPID": True,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},  # of what is not privileged
        "automountServiceAccountToken": False,
        **({"initContainers": list(before)} if before else {}),
        "containers": [container or waiting],
        "volumes": [
            {"name": folder, "hostPath": {"path": path, **(kept if folder in made else {})}}
            for folder, path in folders.items()
        ],
    }
    labels = {"k8s-app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": {"name": name, **labels}}, "spec": pod},
        },
    }
