"""Pools of every accelerator that Google Cloud sells: what they make, and the laws of getting and placing machines."""

import pytest
from gcp_recording import GUARD, HOURS, OWNED, PLACE, PROD, golden, made
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.components.gcp import checks, node_pools
from sizewell.components.gcp.nodes import AcceleratorPool
from sizewell.components.machines import find_slices
from sizewell.sizing import catalog
from sizewell.sizing.errors import ArgsError

NODES = "gcp:container/nodePool:NodePool"
SHAPES = [one for one in catalog.load().shapes if one.cloud == "gcp" and one.accelerators]
SLICES = list(catalog.load().slices)
MODES = checks.CAPACITY_MODES
BASE = {
    **PLACE,
    "zones": ["us-central1-a"],
    "cluster": "training",
    "service_account": "nodes@petsnap.iam.gserviceaccount.com",
    "nodes_min": 0,
    "nodes_initial": 0,
    "nodes_max": 2,
    "capacity_mode": "on-demand",
    "disk_gib": 200,
}
DEV, LIVE = {**OWNED, **BASE}, {**PROD, **BASE, "kms_key_name": "projects/p/locations/l/keyRings/r/cryptoKeys/own"}
ROCE = {"fabric_networks": [f"net-{n}" for n in range(9)], "fabric_subnetworks": [f"sub-{n}" for n in range(9)]}


def zones_of(machine_type):
    """Zones of the region that have the machines; any where the catalog does not say."""
    return list(catalog.load().zones("gcp", machine_type, "us-central1") or [f"us-central1-{zone}" for zone in "abc"])


FORMS = {
    "pool-l4-hours-dev": {**DEV, "machine_type": "g2-standard-8", "schedule": HOURS, "guard": GUARD},
    "pool-v6e-one-host-dev": {
        **DEV,
        "zones": zones_of("ct6e-standard-4t")[:1],
        "machine_type": "ct6e-standard-4t",
        "tpu_topology": "2x2",
        "nodes_max": 1,
        "capacity_mode": "spot",
    },
    "pool-v5p-two-slices-prod": {
        **LIVE,
        "machine_type": "ct5p-hightpu-4t",
        "tpu_topology": "2x2x2",
        "nodes_min": 2,
        "nodes_initial": 2,
        "nodes_max": 4,
    },
    "pool-a3-mega-queued-dev": {**DEV, "machine_type": "a3-megagpu-8g", "capacity_mode": "queued", "gang": True},
    "pool-tpu7x-dev": {
        **DEV,
        "zones": zones_of("tpu7x-standard-4t")[:1],
        "machine_type": "tpu7x-standard-4t",
        "tpu_topology": "2x2x2",
        "nodes_max": 2,
        "capacity_mode": "flex-start",
        "max_run_hours": 24,
    },
    "pool-h200-reserved-prod": {
        **LIVE,
        **ROCE,
        "machine_type": "a3-ultragpu-8g",
        "capacity_mode": "reservation",
        "reservation": "h200-2026",
        "gang": True,
        "nodes_initial": 2,
        "nodes_min": 2,
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_makes_what_is_written_down(form):
    golden(form, made(AcceleratorPool, "train", FORMS[form], "prod-gcp" if "prod" in form else "dev-gcp"))


def test_a_pool_without_accelerators_keeps_other_pods_away_and_has_no_guard():
    plain = {**DEV, "machine_type": "n2-standard-4", "nodes_initial": 1}
    resources = made(AcceleratorPool, "tags", plain, "dev-gcp")
    config = next(one.inputs for one in resources if one.type == NODES)["nodeConfig"]
    assert [(one["key"], one["effect"]) for one in config["taints"]] == [("sizewell/pool", "NO_SCHEDULE")]
    assert "guestAccelerators" not in config
    assert not [one for one in resources if "AlertPolicy" in one.type]
    with pytest.raises(ArgsError, match="guard: is given, but the machines have no accelerator"):
        made(AcceleratorPool, "tags", {**plain, "guard": GUARD}, "dev-gcp")


def test_the_first_slice_stands_and_the_second_waits():
    """A minimum of one slice's machines is one whole slice, not a part of each."""
    pools = [
        one.inputs for one in made(AcceleratorPool, "train", FORMS["pool-v5p-two-slices-prod"]) if one.type == NODES
    ]
    assert [one["name"] for one in pools] == ["train-0", "train-1"]
    assert pools[0]["nodeCount"] == 2
    assert "autoscaling" not in pools[0]
    assert pools[1]["initialNodeCount"] == 0
    assert (pools[1]["autoscaling"]["totalMinNodeCount"], pools[1]["autoscaling"]["totalMaxNodeCount"]) == (0, 2)


def test_pools_of_one_cluster_come_one_after_the_other():
    """A cluster refuses two operations at a time."""
    first, second = [
        one for one in made(AcceleratorPool, "train", FORMS["pool-v5p-two-slices-prod"]) if one.type == NODES
    ]
    assert first.urn in second.dependencies


@given(
    st.sampled_from([one for one in SLICES if one.multi_host and one.vms <= 64]),
    st.integers(1, 5),
    st.integers(0, 5),
    st.integers(0, 5),
)
@settings(max_examples=150)
def test_slices_together_have_the_machines_that_were_asked_for(one, most, now, least):
    least, now = min(least, now, most), min(now, most)
    args = {
        **DEV,
        "zones": zones_of(one.machine_type)[:1],
        "machine_type": one.machine_type,
        "tpu_topology": one.topology,
        "nodes_min": least * one.vms,
        "nodes_initial": now * one.vms,
        "nodes_max": most * one.vms,
    }
    checks.check_pool("x", args, None, find_slices(one.machine_type))
    sizes = [node_pools.counts(args, one, number) for number in range(node_pools.slices_of(args, one))]
    fixed = [size["node_count"] for size in sizes if "node_count" in size]
    scaled = [size for size in sizes if "autoscaling" in size]
    assert sum(fixed) == least * one.vms
    assert sum(fixed) + sum(size["initial_node_count"] for size in scaled) == now * one.vms
    assert sum(fixed) + sum(size["autoscaling"]["total_max_node_count"] for size in scaled) == most * one.vms
    assert all(size["autoscaling"]["total_min_node_count"] == 0 for size in scaled)
    assert all(count == one.vms for count in fixed)


@given(st.sampled_from(SHAPES), st.sampled_from(MODES), st.booleans(), st.integers(1, 3), st.integers(0, 6))
@settings(max_examples=300)
def test_what_is_accepted_is_what_the_cloud_accepts(shape, mode, gang, zones, nodes):
    """Preconditions that Google's own tools state, for every machine and every way to get it."""
    tpu = node_pools.is_tpu(shape.instance_type)
    slices = find_slices(shape.instance_type)
    args = {
        **DEV,
        "machine_type": shape.instance_type,
        "capacity_mode": mode,
        "zones": zones_of(shape.instance_type)[:zones],
        "gang": gang and not tpu,
        "nodes_max": max(nodes, 1),
        "nodes_initial": nodes,
    }
    if mode == "reservation":
        args["reservation"] = "r"
    if tpu and slices:
        args["tpu_topology"] = slices[-1].topology
    one = next((a for a in slices if a.topology == args.get("tpu_topology")), None)
    try:
        checks.check_pool("x", args, shape, slices)
    except ArgsError:
        return
    capacity, placed, sizes = node_pools.capacity(args), node_pools.placement(args, one), node_pools.counts(args, one)
    assert ("node_count" in sizes) != ("autoscaling" in sizes)
    if placed:
        assert len(args["zones"]) == 1
        assert ("tpu_topology" in placed["placement_policy"]) == tpu
        assert bool(placed["placement_policy"]["type"]) != bool(node_pools.workload_policy(one))  # one packs, not both
        assert tpu or mode not in ("queued", "reservation")
    if mode in ("flex-start", "queued", "spot"):
        assert capacity["reservation_affinity"] == {"consume_reservation_type": "NO_RESERVATION"}
    if mode in ("flex-start", "queued"):
        assert "node_count" not in sizes
        assert sizes["autoscaling"]["total_min_node_count"] == 0
        assert not capacity.get("spot")
    if mode == "reservation":
        assert len(args["zones"]) == 1
        assert capacity["reservation_affinity"]["values"] == ["r"]
    if "initial_node_count" in sizes:
        assert sizes["initial_node_count"] * len(args["zones"]) == args["nodes_initial"] or one is not None


def test_a_slice_of_tpu7x_is_packed_by_a_workload_policy():
    resources = made(AcceleratorPool, "train", FORMS["pool-tpu7x-dev"])
    (policy,) = [one.inputs for one in resources if one.type.endswith("ResourcePolicy")]
    (pool,) = [one.inputs for one in resources if one.type == NODES]
    assert policy["workloadPolicy"] == {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
    assert pool["placementPolicy"] == {"type": "", "tpuTopology": "2x2x2", "policyName": policy["name"]}


def test_spot_a3_mega_is_not_packed():
    """Spot machines that restart are refused under compact placement."""
    args = {**DEV, "machine_type": "a3-megagpu-8g", "gang": True, "capacity_mode": "spot"}
    assert node_pools.placement(args, None) == {}
    assert node_pools.placement({**args, "machine_type": "a3-highgpu-8g"}, None) == {
        "placement_policy": {"type": "COMPACT"}
    }
    assert node_pools.placement({**args, "capacity_mode": "on-demand"}, None) == {
        "placement_policy": {"type": "COMPACT"}
    }


@pytest.mark.parametrize(
    ("machine_type", "networks"),
    [("a3-highgpu-8g", 4), ("a3-megagpu-8g", 8), ("a3-ultragpu-8g", 9), ("a4-highgpu-8g", 9), ("g2-standard-8", 0)],
)
def test_gpudirect_needs_as_many_networks_as_google_states(machine_type, networks):
    shape = catalog.load().shape("gcp", machine_type)
    assert sum(node_pools.FABRIC_NETWORKS.get(shape.fabric, (0, 0))) == networks


@pytest.mark.parametrize("chip", ["tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x"])
def test_every_generation_has_slices_of_one_host_and_of_several(chip):
    found = [one for one in SLICES if one.accelerator == chip]
    assert {one.multi_host for one in found} >= {True}, sorted({one.accelerator for one in SLICES})
    for one in found:
        product = 1
        for side in one.topology.split("x"):
            product *= int(side)
        assert one.vms * one.chips_per_vm == product
