"""GPUDirect inside of a GKE cluster: networks of pods in the order of the machines' interfaces, NCCL's plug-ins."""

import dataclasses

import judging
import pytest
from aws_recording import ROOT, children
from decisions import decision, pool, serving, training
from gcp_recording import OWNED, PROD, golden, made

from sizewell.components.gcp import node_pools, program
from sizewell.components.gcp.checks import check_gpudirect
from sizewell.components.gcp.gke import gpudirect_manifests
from sizewell.components.gcp.gke.gpudirect import GpuDirect
from sizewell.components.gcp.launching import pool_fabric, target
from sizewell.components.settings import Settings
from sizewell.launch import gpudirect, kinds
from sizewell.recording.evaluate import evaluate
from sizewell.sizing import catalog
from sizewell.sizing.errors import ArgsError

SETTINGS = Settings(project="sizewell", stack="staging-gcp", organization="petsnap", accounts=("petsnap-staging",))
KUBECONFIG = '{"kind": "Config"}'
LINK = "https://www.googleapis.com/compute/v1/projects/petsnap/global/networks"


def args(fabric, owned=OWNED):
    count = sum(node_pools.FABRIC_NETWORKS[fabric])
    names = {"networks": [f"{LINK}/net-{n}" for n in range(count)], "subnetworks": [f"sub-{n}" for n in range(count)]}
    return {**owned, "kubeconfig": KUBECONFIG, "fabric": fabric, **names}


FORMS = {
    "gpudirect-tcpx-dev": args("gpudirect-tcpx"),
    "gpudirect-tcpxo-dev": args("gpudirect-tcpxo"),
    "gpudirect-rdma-prod": args("gpudirect-rdma", PROD),
}


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    golden(form, made(GpuDirect, "gpudirect", FORMS[form], "prod-gcp" if "prod" in form else "dev-gcp"))


# machine: (networks of plain interfaces, of RDMA, its DaemonSets, GKE's name of its GPU)
TABLE = {
    "a3-highgpu-8g": (4, 0, ["nccl-tcpx-installer", "device-injector"], "nvidia-h100-80gb"),
    "a3-megagpu-8g": (8, 0, ["nccl-tcpxo-installer", "device-injector"], "nvidia-h100-mega-80gb"),
    "a3-ultragpu-8g": (1, 8, ["nccl-rdma-installer"], "nvidia-h200-141gb"),
    "a4-highgpu-8g": (1, 8, ["nccl-rdma-installer"], "nvidia-b200"),
}


@pytest.mark.parametrize("machine", TABLE)
def test_each_machine_finds_its_networks_and_its_plug_in(machine):
    plain, rdma, sets, gpu = TABLE[machine]
    fabric = catalog.load().shape("gcp", machine).fabric
    names = [f"n{number}" for number in range(plain + rdma)]
    found = gpudirect_manifests.manifests(fabric, names, names)
    modes = [one["spec"]["deviceMode"] for one in found if one["kind"] == "GKENetworkParamSet"]
    assert modes == ["NetDevice"] * plain + ["RDMA"] * rdma
    networks = [one for one in found if one["kind"] == "Network"]
    assert [one["metadata"]["name"] for one in networks] == [name for _, name in gpudirect.INTERFACES[fabric]]
    daemons = [one for one in found if one["kind"] == "DaemonSet"]
    assert [one["metadata"]["name"] for one in daemons] == sets
    for one in daemons:
        nodes = one["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        (term,) = nodes["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert gpu in term["matchExpressions"][0]["values"]


@pytest.mark.parametrize("fabric", gpudirect.INTERFACES)
def test_every_object_is_what_its_definition_allows(fabric):
    names = [f"n{number}" for number in range(9)]
    found = gpudirect_manifests.manifests(fabric, names, names)
    assert [fault for one in found for fault in kinds.faults(one)] == []
    assert [fault for one in found if one["kind"] == "DaemonSet" for fault in judging.core_faults(one)] == []
    for one in found:
        assert len(one["metadata"]["name"]) <= 41  # GKE's most for networks of devices


def test_the_tables_of_pods_machines_and_plug_ins_agree():
    assert gpudirect.INTERFACES.keys() == node_pools.FABRIC_NETWORKS.keys()
    for fabric, pairs in gpudirect.INTERFACES.items():
        assert len(pairs) == sum(node_pools.FABRIC_NETWORKS[fabric])
        assert [name for name, _ in pairs] == [f"eth{number}" for number in range(1, len(pairs) + 1)]
    for shape in catalog.load().shapes:
        if (
            shape.cloud == "gcp"
            and shape.fabric in node_pools.FABRIC_NETWORKS
            and node_pools.gpu_type(shape.instance_type)
        ):
            fits = [
                fabric
                for fabric in gpudirect.INTERFACES
                if shape.cloud_accelerator in gpudirect_manifests.gpus_of(fabric)
            ]
            assert fits == [shape.fabric], shape.instance_type


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        ("GKENetworkParamSet", {"vpc": LINK, "vpcSubnet": "a", "deviceMode": "RDMA"}, "spec.vpc: must match"),
        ("GKENetworkParamSet", {"vpc": "a", "vpcSubnet": "b", "deviceMode": "DPDK"}, "spec.deviceMode: must be one of"),
        ("GKENetworkParamSet", {"vpc": "a", "deviceMode": "RDMA"}, "spec.vpcSubnet: is missing"),
        ("Network", {"type": "Device"}, "spec.parametersRef: is missing"),
        ("Network", {"type": "L3", "parametersRef": {}}, "spec.type: must be one of"),
    ],
)
def test_wrong_networks_are_told(kind, spec, words):
    found = kinds.faults(
        {"apiVersion": "networking.gke.io/v1", "kind": kind, "metadata": {"name": "vpc1"}, "spec": spec}
    )
    assert any(words in one for one in found), found


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"fabric": "efa"}, "fabric", "gpudirect-tcpxo"),
        ({"networks": ["a"]}, "networks", "must be 8 for gpudirect-tcpxo, one for each extra interface, got 1"),
        ({"subnetworks": []}, "subnetworks", "must be 8 for gpudirect-tcpxo"),
        ({"fabric": "gpudirect-rdma"}, "networks", "must be 9 for gpudirect-rdma"),
        ({"plugin": "v1"}, "plugin", "did you mean"),
    ],
)
def test_what_cannot_be_is_refused(changes, path, words):
    with pytest.raises(ArgsError) as caught:
        check_gpudirect("x", {**args("gpudirect-tcpxo"), **changes})
    assert any(one.path == path for one in caught.value.faults), caught.value
    assert words in str(caught.value) or path == "plugin"


GANG = training("pretrain", pool("gcp", "a3-megagpu-8g", "h100-sxm", 8, nodes=(0, 2, 4), mode="spot"))
ALONE = training("tune", pool("gcp", "a3-megagpu-8g", "h100-sxm", 8, nodes=(0, 1, 1), mode="spot"))
CHAT = serving("chat", pool("gcp", "g2-standard-8", "l4", 1))


def built(*workloads):
    one = decision("staging-gcp", *workloads)
    return evaluate(ROOT, "staging-gcp", program=lambda: program.build(one, one.workloads, SETTINGS)).resources


def test_a_gang_s_cluster_names_the_networks_that_the_pool_has():
    resources = built(GANG)
    nodes = next(one for one in resources if one.type.endswith(":NodePool") and one.name == "pretrain-nodes")
    given = nodes.inputs["networkConfig"]["additionalNodeNetworkConfigs"]
    named = {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in resources if one.type.endswith("ParamSet")}
    sets = [named[name] for _, name in gpudirect.INTERFACES["gpudirect-tcpxo"]]
    assert [(one["vpc"], one["vpcSubnet"]) for one in sets] == [(one["network"], one["subnetwork"]) for one in given]
    assert [one["vpc"] for one in sets] == [one["vpc"].rpartition("/")[2] for one in sets]


@pytest.mark.parametrize("work", [ALONE, CHAT], ids=["alone", "chat"])
def test_a_stack_without_a_gang_has_none_of_it(work):
    kinds_made = {one.type.rsplit(":", 1)[-1] for one in children(built(work))}
    assert not {"GKENetworkParamSet", "DaemonSet"} & kinds_made
    assert pool_fabric(work, work.pools[0]) == ""


def test_pods_in_a_network_of_others_stay_on_their_plain_interface():
    """Nobody made networks for the interfaces there."""
    one = decision("staging-gcp", GANG)
    assert target(one, GANG, GANG.pools[0], SETTINGS).fabric == "gpudirect-tcpxo"
    ranges = {"cidr": "10.0.0.0/16"}
    assert target(one, GANG, GANG.pools[0], dataclasses.replace(SETTINGS, network=ranges)).fabric == "gpudirect-tcpxo"
    there = {"network": "theirs", "subnetwork": "nodes", "pods_range": "pods", "services_range": "services"}
    assert target(one, GANG, GANG.pools[0], dataclasses.replace(SETTINGS, network=there)).fabric == ""


def test_the_kubeconfig_is_told_to_nobody():
    found = made(GpuDirect, "gpudirect", args("gpudirect-rdma"))
    assert KUBECONFIG not in repr([one.inputs for one in found if not one.type.startswith("pulumi:providers")])
