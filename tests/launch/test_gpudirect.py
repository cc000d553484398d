"""GPUDirect on GKE: what each machine's pods get, which pods get nothing, and what the burn-in then expects."""

import dataclasses
import json

import pytest
from launch_cases import CASES, eks_training, gke_direct, gke_rdma_ray, planned

from sizewell.launch import burn_in, gpudirect
from sizewell.launch.manifests import manifests

TCPXO = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21"
TCPX = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.12"
DAEMONS = "devices.gke.io/container."
PLAIN = [("eth0", "default")]
RDMA = [*PLAIN, ("eth1", "gvnic-1"), *((f"eth{number}", f"rdma-{number - 2}") for number in range(2, 10))]
# machine: (accelerator, fabric, networks of the pod, its daemon, devices that the daemon gets, the profile it reads)
TABLE = {
    "a3-highgpu-8g": ("h100-sxm", "gpudirect-tcpx", 4, ("tcpx-daemon", TCPX), 10, ""),
    "a3-megagpu-8g": ("h100-sxm", "gpudirect-tcpxo", 8, ("tcpxo-daemon", TCPXO), 11, "/nccl-env-profile.sh"),
    "a3-ultragpu-8g": ("h200-sxm", "gpudirect-rdma", 9, None, 0, "/gib/scripts/set_nccl_env.sh"),
    "a4-highgpu-8g": ("b200", "gpudirect-rdma", 9, None, 0, "/gib/scripts/set_nccl_env.sh"),
}


def pod_of(of):
    (job,) = [one for one in manifests(of) if one["kind"] == "JobSet"]
    return job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]


@pytest.mark.parametrize("machine", TABLE)
def test_each_machine_has_its_own_wiring(machine):
    accelerator, fabric, extra, daemon, devices, profile = TABLE[machine]
    of = gke_direct(machine, accelerator, fabric)
    assert of.machine.fabric == fabric
    pod = pod_of(of)
    noted, main = pod["metadata"]["annotations"], pod["spec"]["containers"][0]
    assert noted["networking.gke.io/default-interface"] == "eth0"
    pairs = [(one["interfaceName"], one["network"]) for one in json.loads(noted["networking.gke.io/interfaces"])]
    plain = [*PLAIN, *((f"eth{number}", f"vpc{number}") for number in range(1, extra + 1))]
    assert pairs == (RDMA if fabric == "gpudirect-rdma" else plain)
    beside = [(one["name"], one["image"]) for one in pod["spec"].get("initContainers", ())]
    assert beside == ([daemon] if daemon else [])
    assert [one["restartPolicy"] for one in pod["spec"].get("initContainers", ())] == ["Always"] * len(beside)
    given = {key.removeprefix(DAEMONS): text for key, text in noted.items() if key.startswith(DAEMONS)}
    assert list(given) == [name for name, _ in beside]
    assert sum(text.count("- path: /dev/") for text in given.values()) == devices
    if profile:
        assert main["command"][:2] == ["bash", "-c"]
        assert f"{profile}; exec" in main["command"][2]
        assert main["command"][3] == "python3"
    else:
        assert main["command"][0] == "python3"
    told = {one["name"]: one.get("value") for one in main["env"]}
    assert told["LD_LIBRARY_PATH"] == "/usr/local/nvidia/lib64"
    assert told["NCCL_SOCKET_IFNAME"] == "eth0"
    cards = ",".join(name for name, _ in pairs[1:])
    key = {"gpudirect-tcpx": "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME", "gpudirect-tcpxo": "NCCL_FASTRAK_IFNAME"}.get(fabric)
    assert key is None or told[key] == cards


@pytest.mark.parametrize("machine", TABLE)
def test_the_daemon_leaves_the_machine_enough(machine):
    accelerator, fabric, *_ = TABLE[machine]
    of = gke_direct(machine, accelerator, fabric)
    spec = pod_of(of)["spec"]
    every = [*spec["containers"], *spec.get("initContainers", ())]
    assert sum(int(one["resources"]["limits"]["cpu"]) for one in every) < of.machine.cpus
    units = {"Mi": 2**20, "Gi": 2**30}
    memory = [one["resources"]["limits"]["memory"] for one in every]
    assert sum(int(one[:-2]) * units[one[-2:]] for one in memory) < of.machine.memory_bytes
    for one in every:  # or the pod has no CPUs of its own
        assert one["resources"]["limits"] == one["resources"]["requests"]


def test_one_machine_needs_no_network_between_machines():
    of = gke_direct()
    layout = of.plan.parallelism.model_copy(update={"data": 8, "tensor": 1, "pipeline": 1})
    alone = planned(of, nodes=1, nodes_max=1, parallelism=layout)
    assert "annotations" not in pod_of(alone)["metadata"]
    assert "initContainers" not in pod_of(alone)["spec"]


def test_ray_s_workers_are_wired_and_its_head_is_not():
    (job,) = [one for one in manifests(gke_rdma_ray()) if one["kind"] == "RayJob"]
    cluster = job["spec"]["rayClusterSpec"]
    assert "networking.gke.io/interfaces" in cluster["workerGroupSpecs"][0]["template"]["metadata"]["annotations"]
    assert "annotations" not in cluster["headGroupSpec"]["template"]["metadata"]
    assert "set_nccl_env.sh" in job["spec"]["runtimeEnvYAML"]  # the line that Ray's tasks run, not Ray itself
    assert "command" not in cluster["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case().target.fabric])
def test_pods_elsewhere_know_nothing_of_it(name):
    text = json.dumps(manifests(CASES[name]()))
    assert not [word for word in ("networking.gke.io", "hostPath", "initContainers", "tcpx") if word in text]


def test_the_burn_in_expects_the_fabric_where_there_is_one():
    of = gke_direct()
    plain = dataclasses.replace(of, target=dataclasses.replace(of.target, fabric=""))
    assert burn_in.threshold(of) > 1.5 * burn_in.threshold(plain)
    assert burn_in.threshold(eks_training()) > 0


def test_a_user_s_own_command_reads_the_profile_too():
    of = gke_direct()
    own = dataclasses.replace(of, run=dataclasses.replace(of.run, command=("torchrun", "mine.py")))
    assert pod_of(own)["spec"]["containers"][0]["command"][-2:] == ["torchrun", "mine.py"]
    assert "nccl-env-profile.sh" in pod_of(own)["spec"]["containers"][0]["command"][2]
    assert gpudirect.profiled("gpudirect-rdma", []) == []
