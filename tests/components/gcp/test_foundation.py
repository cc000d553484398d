"""Network, cluster and checkpoint store: what they make."""

import pytest
from gcp_recording import OWNED, PROD, golden, made

from components.gcp.checkpoints import CheckpointStore
from components.gcp.cluster import GkeCluster
from components.gcp.network import Network

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
STORE = {"region": "us-central1", "bucket": "checkpoints-1", "writer_account": "pretrain-writer"}


@pytest.mark.parametrize(
    ("form", "cls", "args"),
    [
        ("network-dev", Network, NETWORK),
        ("network-prod", Network, PROD_NETWORK),
        ("cluster-dev", GkeCluster, {**OWNED, **CLUSTER}),
        ("cluster-prod", GkeCluster, {**PROD, **CLUSTER, "authorized_cidrs": ["10.0.0.0/8"]}),
        ("checkpoints-dev", CheckpointStore, {**KEPT, **STORE}),
        ("checkpoints-prod", CheckpointStore, {**PROD, **STORE, "soft_delete_days": 30}),
    ],
)
def test_makes_what_is_written_down(form, cls, args):
    golden(form, made(cls, "work", args, "prod-gcp" if "prod" in form else "dev-gcp"))
