"""A program of a team that uses none of our components: GKE pools, a TPU VM, a disk, NAT, a file store."""

import pulumi_gcp as gcp

network = gcp.compute.Network("net", auto_create_subnetworks=False)
router = gcp.compute.Router("router", network=network.id, region="us-central1")
gcp.compute.RouterNat(
    "nat",
    router=router.name,
    region="us-central1",
    nat_ip_allocate_option="AUTO_ONLY",
    source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
)
cluster = gcp.container.Cluster(
    "cluster", location="us-central1-a", network=network.id, initial_node_count=1, remove_default_node_pool=True
)
gcp.container.NodePool(
    "gpu",
    cluster=cluster.id,
    location="us-central1-a",
    autoscaling={"min_node_count": 0, "max_node_count": 3},
    initial_node_count=1,
    node_config={"machine_type": "g2-standard-4", "disk_size_gb": 100, "disk_type": "pd-balanced", "spot": True},
)
gcp.tpu.V2Vm("tpu", zone="us-central1-a", runtime_version="v2-alpha-tpuv5-lite", accelerator_type="v5litepod-4")
gcp.compute.Disk("data", zone="us-central1-a", size=500, type="pd-ssd")
gcp.storage.Bucket("logs", location="US-CENTRAL1")
