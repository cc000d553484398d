"""Programs of careful teams on Google Cloud, in plain pulumi-gcp: no rule may have anything mandatory against them."""

import pulumi
import pulumi_gcp as gcp

LABELS = {"owner": "vision", "cost-center": "ml-7", "environment": "dev", "expires": "2027-01-31"}
KEY = "projects/team/locations/us-central1/keyRings/main/cryptoKeys/disks"
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def network():
    net = gcp.compute.Network("net", auto_create_subnetworks=False)
    subnet = gcp.compute.Subnetwork(
        "nodes",
        network=net.id,
        region="us-central1",
        ip_cidr_range="10.0.0.0/20",
        private_ip_google_access=True,
        log_config={"aggregation_interval": "INTERVAL_10_MIN", "flow_sampling": 0.5},
        secondary_ip_ranges=[
            {"range_name": "pods", "ip_cidr_range": "10.4.0.0/14"},
            {"range_name": "services", "ip_cidr_range": "10.8.0.0/20"},
        ],
    )
    return net, subnet


def cluster_of(net, subnet):
    return gcp.container.Cluster(
        "main",
        location="us-central1",
        network=net.id,
        subnetwork=subnet.id,
        remove_default_node_pool=True,
        initial_node_count=1,
        deletion_protection=True,
        datapath_provider="ADVANCED_DATAPATH",
        private_cluster_config={
            "enable_private_nodes": True,
            "enable_private_endpoint": True,
            "master_ipv4_cidr_block": "172.16.0.0/28",
        },
        master_authorized_networks_config={"cidr_blocks": [{"cidr_block": "10.0.0.0/8"}]},
        ip_allocation_policy={"cluster_secondary_range_name": "pods", "services_secondary_range_name": "services"},
        workload_identity_config={"workload_pool": "team.svc.id.goog"},
        database_encryption={"state": "ENCRYPTED", "key_name": KEY},
        release_channel={"channel": "REGULAR"},
        maintenance_policy={
            "recurring_window": {
                "start_time": "2026-01-01T02:00:00Z",
                "end_time": "2026-01-01T06:00:00Z",
                "recurrence": "FREQ=DAILY",
            },
            "maintenance_exclusions": [
                {
                    "exclusion_name": "training",
                    "start_time": "2026-11-01T00:00:00Z",
                    "end_time": "2027-01-20T00:00:00Z",
                    "exclusion_options": {"scope": "NO_MINOR_OR_NODE_UPGRADES"},
                }
            ],
        },
        logging_config={"enable_components": ["SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER"]},
        monitoring_config={"enable_components": ["SYSTEM_COMPONENTS", "DCGM"]},
        enable_shielded_nodes=True,
        resource_labels=LABELS,
    )


def account():
    return gcp.serviceaccount.Account("nodes", account_id="gke-nodes")


def config_of(machine, account, **more):
    return {
        "machine_type": machine,
        "service_account": account.email,
        "oauth_scopes": SCOPES,
        "boot_disk_kms_key": KEY,
        "disk_size_gb": 100,
        "disk_type": "pd-balanced",
        "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
        "workload_metadata_config": {"mode": "GKE_METADATA"},
        "resource_labels": LABELS,
        **more,
    }


KEEP = {"auto_repair": True, "auto_upgrade": True}


def pool_from_zero():
    """A GPU pool that the autoscaler takes to zero."""
    nodes = account()
    cluster = cluster_of(*network())
    gcp.container.NodePool(
        "system",
        cluster=cluster.name,
        location="us-central1",
        autoscaling={"total_min_node_count": 1, "total_max_node_count": 3},
        management=KEEP,
        node_config=config_of("e2-standard-4", nodes),
    )
    gcp.container.NodePool(
        "l4",
        cluster=cluster.name,
        location="us-central1",
        node_locations=["us-central1-a"],
        autoscaling={"total_min_node_count": 0, "total_max_node_count": 2, "location_policy": "ANY"},
        management=KEEP,
        node_config=config_of(
            "g2-standard-8",
            nodes,
            guest_accelerators=[
                {"type": "nvidia-l4", "count": 1, "gpu_driver_installation_config": {"gpu_driver_version": "LATEST"}}
            ],
            taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        ),
    )


def spot_pool_with_store():
    """Spot machines in any of three zones beside a bucket of checkpoints."""
    store()
    cluster = cluster_of(*network())
    gcp.container.NodePool(
        "spot",
        cluster=cluster.name,
        location="us-central1",
        node_locations=["us-central1-a", "us-central1-b", "us-central1-c"],
        autoscaling={"total_min_node_count": 0, "total_max_node_count": 4, "location_policy": "ANY"},
        management=KEEP,
        node_config=config_of(
            "g2-standard-4",
            account(),
            spot=True,
            reservation_affinity={"consume_reservation_type": "NO_RESERVATION"},
            taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        ),
    )


def store():
    logs = gcp.storage.Bucket(
        "access-logs",
        location="US-CENTRAL1",
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        versioning={"enabled": True},
        soft_delete_policy={"retention_duration_seconds": 604800},
        lifecycle_rules=[{"action": {"type": "Delete"}, "condition": {"age": 90}}],
        labels=LABELS,
    )
    return gcp.storage.Bucket(
        "checkpoints",
        location="US-CENTRAL1",
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        versioning={"enabled": True},
        soft_delete_policy={"retention_duration_seconds": 1209600},
        retention_policy={"retention_period": "604800"},
        encryption={"default_kms_key_name": KEY},
        logging={"log_bucket": logs.name},
        lifecycle_rules=[
            {"action": {"type": "Delete"}, "condition": {"num_newer_versions": 3, "days_since_noncurrent_time": 30}},
            {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
        ],
        force_destroy=False,
        labels=LABELS,
        opts=pulumi.ResourceOptions(protect=True, retain_on_delete=True),
    )


def store_and_writer():
    """A bucket of checkpoints and an account that may add to it."""
    bucket = store()
    writer = gcp.serviceaccount.Account("trainer", account_id="trainer")
    for role in ("roles/storage.objectCreator", "roles/storage.objectViewer"):
        gcp.storage.BucketIAMMember(
            role.rpartition(".")[2],
            bucket=bucket.name,
            role=role,
            member=writer.email.apply(lambda email: f"serviceAccount:{email}"),
        )


def slice_of_tpus():
    """A TPU slice of four hosts that is there or not there, as a whole."""
    cluster = cluster_of(*network())
    gcp.container.NodePool(
        "v5e",
        cluster=cluster.name,
        location="us-central1",
        node_locations=["us-central1-a"],
        autoscaling={"total_min_node_count": 0, "total_max_node_count": 4, "location_policy": "ANY"},
        placement_policy={"type": "COMPACT", "tpu_topology": "4x4"},
        management=KEEP,
        node_config=config_of(
            "ct5lp-hightpu-4t",
            account(),
            taints=[{"key": "google.com/tpu", "value": "present", "effect": "NO_SCHEDULE"}],
        ),
    )


def flex_start_pool():
    """Capacity that is asked for when a job needs it, and ends with it."""
    cluster = cluster_of(*network())
    gcp.container.NodePool(
        "flex",
        cluster=cluster.name,
        location="us-central1",
        node_locations=["us-central1-a"],
        autoscaling={"total_min_node_count": 0, "total_max_node_count": 2, "location_policy": "ANY"},
        management={"auto_repair": False, "auto_upgrade": True},
        node_config=config_of(
            "g2-standard-8",
            account(),
            flex_start=True,
            max_run_duration="86400s",
            reservation_affinity={"consume_reservation_type": "NO_RESERVATION"},
            taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        ),
    )


def service_of_models():
    """Cloud Run with a GPU, from zero, called from inside."""
    caller = gcp.serviceaccount.Account("chat", account_id="chat-caller")
    gcp.cloudrunv2.Service(
        "chat",
        location="us-central1",
        ingress="INGRESS_TRAFFIC_INTERNAL_ONLY",
        deletion_protection=True,
        template={
            "service_account": caller.email,
            "scaling": {"min_instance_count": 0, "max_instance_count": 2},
            "node_selector": {"accelerator": "nvidia-l4"},
            "gpu_zonal_redundancy_disabled": True,
            "encryption_key": KEY,
            "containers": [
                {
                    "image": "us-central1-docker.pkg.dev/team/models/chat@sha256:" + "a" * 64,
                    "resources": {"limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
                }
            ],
        },
        labels=LABELS,
    )


def workstation():
    """A notebook that shuts down when it is left, without an address of its own."""
    net, subnet = network()
    owner = gcp.serviceaccount.Account("lab", account_id="lab-owner")
    gcp.workbench.Instance(
        "lab",
        location="us-central1-a",
        gce_setup={
            "machine_type": "g2-standard-4",
            "disable_public_ip": True,
            "enable_ip_forwarding": False,
            "service_accounts": [{"email": owner.email}],
            "network_interfaces": [{"network": net.id, "subnet": subnet.id}],
            "boot_disk": {"disk_encryption": "CMEK", "kms_key": KEY, "disk_size_gb": "150"},
            "data_disks": {"disk_encryption": "CMEK", "kms_key": KEY, "disk_size_gb": "100"},
            "shielded_instance_config": {"enable_secure_boot": True},
            "metadata": {"idle-timeout-seconds": "3600", "notebook-disable-root": "true"},
        },
        labels=LABELS,
    )


def machine_for_a_day():
    """One machine that deletes itself after a day."""
    _, subnet = network()
    owner = gcp.serviceaccount.Account("bench", account_id="bench-owner")
    gcp.compute.Instance(
        "bench",
        zone="us-central1-a",
        machine_type="g2-standard-4",
        boot_disk={"initialize_params": {"image": "ubuntu-2404-lts", "size": 100}, "kms_key_self_link": KEY},
        network_interfaces=[{"subnetwork": subnet.id}],
        service_account={"email": owner.email, "scopes": SCOPES},
        scheduling={
            "automatic_restart": False,
            "on_host_maintenance": "TERMINATE",
            "max_run_duration": {"seconds": 86400},
            "instance_termination_action": "DELETE",
        },
        metadata={"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"},
        shielded_instance_config={"enable_secure_boot": True, "enable_vtpm": True, "enable_integrity_monitoring": True},
        labels=LABELS,
    )


def keys_and_deployer():
    """A key ring, and the repository whose workflow deploys, by federation."""
    ring = gcp.kms.KeyRing("main", location="us-central1")
    gcp.kms.CryptoKey(
        "disks",
        key_ring=ring.id,
        rotation_period="7776000s",
        destroy_scheduled_duration="2592000s",
        labels=LABELS,
        opts=pulumi.ResourceOptions(protect=True),
    )
    pool = gcp.iam.WorkloadIdentityPool("github", workload_identity_pool_id="github")
    gcp.iam.WorkloadIdentityPoolProvider(
        "github",
        workload_identity_pool_id=pool.workload_identity_pool_id,
        workload_identity_pool_provider_id="github",
        attribute_mapping={"google.subject": "assertion.sub", "attribute.repository": "assertion.repository"},
        attribute_condition="assertion.repository == 'team/clusters' && assertion.ref == 'refs/heads/main'",
        oidc={"issuer_uri": "https://token.actions.githubusercontent.com"},
    )
    deployer = gcp.serviceaccount.Account("deployer", account_id="deployer")
    gcp.projects.IAMMember(
        "deployer",
        project="team",
        role="roles/container.developer",
        member=deployer.email.apply(lambda email: f"serviceAccount:{email}"),
    )


def pipeline_of_data():
    """Nothing of AI at all: a topic, a subscription, a table, a job of every night."""
    topic = gcp.pubsub.Topic("orders", kms_key_name=KEY, labels=LABELS)
    gcp.pubsub.Subscription("orders", topic=topic.id, labels=LABELS)
    data = gcp.bigquery.Dataset("sales", dataset_id="sales", location="US", labels=LABELS)
    gcp.bigquery.Table("orders", dataset_id=data.dataset_id, table_id="orders", schema="[]", labels=LABELS)
    gcp.cloudscheduler.Job(
        "nightly",
        region="us-central1",
        schedule="0 3 * * *",
        pubsub_target={"topic_name": topic.id, "data": "e30="},
    )


PROGRAMS = (
    pool_from_zero,
    spot_pool_with_store,
    store_and_writer,
    slice_of_tpus,
    flex_start_pool,
    service_of_models,
    workstation,
    machine_for_a_day,
    keys_and_deployer,
    pipeline_of_data,
)
