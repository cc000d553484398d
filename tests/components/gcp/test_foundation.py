"""Network, cluster and checkpoint store: what they make."""

import json

import pytest
from gcp_recording import OWNED, PROD, golden, made

from sizewell.components.gcp import node_pools
from sizewell.components.gcp.gke.cluster import GkeCluster
from sizewell.components.gcp.limits.guards import TtlGuard
from sizewell.components.gcp.network import Network
from sizewell.components.gcp.storage.checkpoints import CheckpointStore

NETWORK = {**OWNED, "region": "us-central1"}
PROD_NETWORK = {**PROD, "region": "us-central1", "fabric": "gpudirect-rdma", "fabric_zone": "us-central1-a"}
CLUSTER = {
    "region": "us-central1",
    "zones": ["us-central1-a"],
    "project": "petsnap",
    "network": "training",
    "subnetwork": "nodes",
    "pods_range": "pods",
    "services_range": "services",
}
KEPT = {key: value for key, value in OWNED.items() if key != "expires"}  # a store outlives its cluster
TTL = {"region": "us-central1", "project": "petsnap", "ends": "2026-11-22"}
STORE = {"region": "us-central1", "bucket": "checkpoints-1", "writer_account": "pretrain-writer"}


@pytest.mark.parametrize(
    ("form", "cls", "args"),
    [
        ("network-dev", Network, NETWORK),
        ("network-prod", Network, PROD_NETWORK),
        ("cluster-dev", GkeCluster, {**OWNED, **CLUSTER}),
        ("cluster-prod", GkeCluster, {**PROD, **CLUSTER, "authorized_cidrs": ["10.0.0.0/8"]}),
        ("checkpoints-dev", CheckpointStore, {**KEPT, **STORE}),
        ("ttl-dev", TtlGuard, {**KEPT, **TTL, "stack": "dev-gcp"}),
        ("ttl-prod", TtlGuard, {**PROD, **TTL, "stack": "live-gcp", "firm": True}),
        ("checkpoints-prod", CheckpointStore, {**PROD, **STORE, "soft_delete_days": 30}),
    ],
)
def test_makes_what_is_written_down(form, cls, args):
    stack = "prod-gcp" if "prod" in form else "dev-gcp"
    golden(form, made(cls, "work", args, f"ttl-{stack}" if cls is TtlGuard else stack))


@pytest.mark.parametrize("owned", [KEPT, PROD])
def test_checkpoints_are_private_kept_and_written_by_who_cannot_delete(owned):
    """Every point of a store: versions, an own key, soft delete, retention, no expiry of what is current."""
    found = made(CheckpointStore, "work", {**owned, **STORE}, "checkpoints-dev-gcp")
    bucket = next(one for one in found if one.type.endswith("bucket:Bucket") and one.name == "work")
    inputs = bucket.inputs
    assert bucket.protect
    assert bucket.retain_on_delete
    assert inputs["versioning"] == {"enabled": True}
    assert inputs["encryption"]["defaultKmsKeyName"] is not None
    assert inputs["publicAccessPrevention"] == "enforced"
    assert inputs["uniformBucketLevelAccess"] is True
    assert inputs["forceDestroy"] is False
    assert inputs["softDeletePolicy"]["retentionDurationSeconds"] >= 7 * 86400
    assert inputs["enableObjectRetention"] is True
    for rule in inputs["lifecycleRules"]:
        ended = rule["condition"].get("withState") == "ARCHIVED"
        assert ended or rule["action"]["type"] == "AbortIncompleteMultipartUpload"
    roles = {one.inputs["role"] for one in found if one.type.endswith("BucketIAMMember")}
    assert {"roles/storage.objectCreator", "roles/storage.objectViewer"} <= {
        one for one in roles if isinstance(one, str)
    }
    permissions = [one.inputs["permissions"] for one in found if one.type.endswith("IAMCustomRole")]
    assert permissions == [["storage.objects.setRetention"]]


def test_the_api_has_a_name_that_asks_iam_and_no_address_of_its_own():
    recorded = made(GkeCluster, "work", {**OWNED, **CLUSTER})
    (inputs,) = [resource.inputs for resource in recorded if resource.type == "gcp:container/cluster:Cluster"]
    assert inputs["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["allowExternalTraffic"] is True
    assert inputs["controlPlaneEndpointsConfig"]["ipEndpointsConfig"]["enabled"] is False
    assert "masterAuthorizedNetworksConfig" not in inputs  # even an empty one switches the address on again
    server = json.loads(node_pools.kubeconfig(cluster="c", endpoint="uid.us-central1.gke.goog"))["clusters"][0][
        "cluster"
    ]
    assert server == {"server": "https://uid.us-central1.gke.goog"}


def test_the_network_of_rdma_stays_at_the_next_update_and_another_zone_is_another_network():
    recorded = made(Network, "network", PROD_NETWORK, "prod-gcp")
    (rdma,) = [one for one in recorded if (one.inputs.get("networkProfile") or "").endswith("-vpc-roce")]
    assert rdma.ignore_changes == ("networkProfile",)
    moved = made(Network, "network", {**PROD_NETWORK, "fabric_zone": "us-central1-b"}, "prod-gcp")
    (other,) = [one for one in moved if (one.inputs.get("networkProfile") or "").endswith("-vpc-roce")]
    assert other.urn != rdma.urn
    assert other.inputs["name"] != rdma.inputs["name"]
