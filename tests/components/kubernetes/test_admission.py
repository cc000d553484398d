"""What jobs ask for against what their queues have: a queue that lacks one resource name admits none of them."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "launch"))
import judging
import launch_cases as cases

from sizewell.components.aws.eks.node_config import queue_flavor as eks_flavor
from sizewell.components.azure.aks.node_config import queue_flavor as aks_flavor
from sizewell.components.gcp.node_pools import queue_flavor as gke_flavor
from sizewell.components.kubernetes import objects
from sizewell.components.machines import find_shape
from sizewell.launch.manifests import manifests
from sizewell.launch.target import beside

UNITS = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
QUEUED = {
    "eks-training": (cases.eks_training, eks_flavor),
    "eks-neuron": (cases.eks_neuron, eks_flavor),
    "aks-training": (cases.aks_training, aks_flavor),
    "gke-slice": (cases.gke_slice, gke_flavor),
    "gke-queued": (cases.gke_queued, gke_flavor),
    "gke-tcpxo": (cases.gke_direct, gke_flavor),
    "gke-rdma-ray": (cases.gke_rdma_ray, gke_flavor),
    "ray": (cases.ray, eks_flavor),
}


def amount(text):
    number, unit = re.fullmatch(r"(\d+)([KMG]i)?", str(text)).groups()
    return int(number) * UNITS[unit or ""]


def copies(manifest):
    """Every pod of a job with how many of it there are."""
    spec = manifest["spec"]
    if manifest["kind"] == "JobSet":
        for job in spec["replicatedJobs"]:
            yield job["template"]["spec"]["template"], job["replicas"] * job["template"]["spec"]["parallelism"]
    else:
        cluster = spec["rayClusterSpec"]
        yield cluster["headGroupSpec"]["template"], 1
        yield spec["submitterPodTemplate"], 1
        for group in cluster["workerGroupSpecs"]:
            yield group["template"], group["replicas"] * group.get("numOfHosts", 1)


def asked(manifest):
    total = {}
    for pod, count in copies(manifest):
        stays = [one for one in pod["spec"].get("initContainers", []) if one.get("restartPolicy") == "Always"]
        for container in [*pod["spec"]["containers"], *stays]:
            for name, text in container["resources"]["requests"].items():
                total[name] = total.get(name, 0) + count * amount(text)
    return total


def flavor_of(of, make, nodes_min=0):
    shape = find_shape(of.plan.cloud, of.plan.instance_type)
    args = {"capacity_mode": of.plan.capacity_mode, "nodes_min": nodes_min, "nodes_max": of.plan.nodes}
    if make is gke_flavor:
        return make({**args, "gang": True}, shape, queue="q", pools=1)
    return make(args, shape, queue="q", beside=beside(of.target))


def refused(of, flavor):
    """Names of resources that a job asks for and its queue has too few of, or none."""
    quota = {name: amount(text) for name, text in objects.quotas(flavor).items()}
    job = next(one for one in manifests(of) if one["kind"] in ("JobSet", "RayJob"))
    return sorted(name for name, wanted in asked(job).items() if wanted > quota.get(name, 0))


@pytest.mark.parametrize("name", QUEUED)
def test_a_gang_asks_for_nothing_that_its_queue_lacks(name):
    case, make = QUEUED[name]
    of = case()
    assert refused(of, flavor_of(of, make)) == []
    assert judging.pods(next(one for one in manifests(of) if one["kind"] in ("JobSet", "RayJob")))


@pytest.mark.parametrize(
    ("name", "lacking"), [("aks-training", ["rdma/ib"]), ("eks-training", ["hugepages-2Mi", "vpc.amazonaws.com/efa"])]
)
def test_without_its_quota_every_resource_holds_a_job_back(name, lacking):
    case, make = QUEUED[name]
    of = case()
    flavor = {key: value for key, value in flavor_of(of, make).items() if key != "beside_per_machine"}
    assert refused(of, flavor) == lacking


def test_machines_of_eks_that_stand_are_packed_by_network_layers():
    of = cases.eks_training()
    flavor = flavor_of(cases.planned(of, capacity_mode="reservation"), eks_flavor, nodes_min=4)
    assert flavor["topology_levels"][0] == "topology.k8s.aws/network-node-layer-1"
    assert "topology_levels" not in flavor_of(of, eks_flavor), "behind an autoscaler the queue would admit nothing"
