"""A private GKE cluster with its system pool; its API has a DNS name and asks IAM who may use it."""

from collections.abc import Sequence

import pulumi
from pulumi_gcp import container, projects, serviceaccount

from sizewell.components.gcp import node_pools, parts
from sizewell.components.gcp.args import GkeClusterArgs
from sizewell.components.gcp.checks import check_cluster
from sizewell.components.owned import Owned, reaching

SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]  # what a node may is said by its account's roles
NODE_ROLES = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")


class GkeCluster(Owned):
    """Control plane and system pool; deletion protection of the cloud is on in prod only."""

    cluster_name: pulumi.Output[str]
    """Name of the cluster."""
    node_service_account: pulumi.Output[str]
    """E-mail of the nodes' own service account."""
    workload_pool: pulumi.Output[str]
    """Workload identity pool."""
    kms_key_name: pulumi.Output[str]
    """Key of secrets in etcd and of boot disks."""
    kubeconfig: pulumi.Output[str]
    """Kubeconfig for its DNS name, usable from anywhere with the permission `container.clusters.connect`; a secret."""

    def __init__(self, name: str, args: GkeClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_cluster(name, args)
        super().__init__(name, args, opts, kind="cluster")
        project = pulumi.Output.from_input(args["project"])
        account = self.make(serviceaccount.Account, f"{name}-nodes", display_name=f"Nodes of {pulumi.get_stack()}")
        grants = [
            self.make(
                projects.IAMMember,
                f"{name}-{role.rsplit('.', 1)[-1].removeprefix('roles/')}",
                project=project,
                role=role,
                member=account.member,
            )
            for role in NODE_ROLES
        ]
        workload_pool = project.apply(lambda value: f"{value}.svc.id.goog")
        agents = ("container-engine-robot", "compute-system")  # secrets in etcd, boot disks
        key, users = parts.key_of(self, name, args, service="container.googleapis.com", agents=agents)
        cluster = self._cluster(name, args, account, workload_pool=workload_pool, key=key, after=users)
        system = self._system_pool(name, args, cluster, account, key=key, after=grants)

        # a cluster takes one change of its pools at a time: others hear its name after the first one stands
        self.cluster_name = pulumi.Output.all(cluster.name, system.name).apply(lambda known: known[0])
        self.node_service_account = account.email
        self.workload_pool = workload_pool
        self.kms_key_name = key
        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(
            pulumi.Output.all(cluster.name, cluster.control_plane_endpoints_config).apply(
                lambda known: node_pools.kubeconfig(cluster=known[0], endpoint=_dns_name(known[1]))
            )
        )
        # A protected cluster refuses to go, and what is inside it must not be forgotten before that.
        self.kubeconfig = kubeconfig if _protected(args) else reaching(cluster, kubeconfig)
        self.register()

    def _cluster(
        self,
        name: str,
        args: GkeClusterArgs,
        account: serviceaccount.Account,
        *,
        workload_pool: pulumi.Output[str],
        key: pulumi.Output[str],
        after: Sequence[pulumi.Resource],
    ) -> container.Cluster:
        exclusions = []
        if day := args.get("maintenance_from"):
            behavior = {"scope": "NO_MINOR_OR_NODE_UPGRADES", "end_time_behavior": "UNTIL_END_OF_SUPPORT"}
            exclusions = [{"exclusion_name": "jobs", "start_time": f"{day}T00:00:00Z", "exclusion_options": behavior}]
        return self.make(
            container.Cluster,
            f"{name}-cluster",
            name=self.name_of(container.Cluster, name),
            description=f"Accelerator cluster of {pulumi.get_stack()}",
            location=args["region"],
            node_locations=args["zones"],
            deletion_protection=_protected(args),
            remove_default_node_pool=True,
            initial_node_count=1,
            node_config={
                "service_account": account.email,
                "oauth_scopes": SCOPES,
                "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
                "workload_metadata_config": {"mode": "GKE_METADATA"},
            },
            network=args["network"],
            subnetwork=args["subnetwork"],
            networking_mode="VPC_NATIVE",
            ip_allocation_policy={
                "cluster_secondary_range_name": args["pods_range"],
                "services_secondary_range_name": args["services_range"],
            },
            datapath_provider="ADVANCED_DATAPATH",
            enable_multi_networking=args.get("multi_networking", False),
            enable_intranode_visibility=True,
            private_cluster_config={"enable_private_nodes": True, "enable_private_endpoint": True},
            control_plane_endpoints_config={
                "dns_endpoint_config": {"allow_external_traffic": True},
                "ip_endpoints_config": {"enabled": bool(args.get("authorized_cidrs"))},
            },
            **_authorized(args),
            master_auth={"client_certificate_config": {"issue_client_certificate": False}},
            enable_legacy_abac=False,
            workload_identity_config={"workload_pool": workload_pool},
            database_encryption={"state": "ENCRYPTED", "key_name": key},
            enable_shielded_nodes=True,
            binary_authorization={"evaluation_mode": "PROJECT_SINGLETON_POLICY_ENFORCE"},
            security_posture_config={"mode": "BASIC", "vulnerability_mode": "VULNERABILITY_DISABLED"},
            release_channel={"channel": "REGULAR"},
            maintenance_policy={
                "recurring_window": {
                    "start_time": "2026-01-03T03:00:00Z",
                    "end_time": "2026-01-03T09:00:00Z",
                    "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
                },
                "maintenance_exclusions": exclusions,
            },
            logging_config={"enable_components": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
            monitoring_config={
                "enable_components": ["SYSTEM_COMPONENTS", "DCGM", "STORAGE", "POD", "DEPLOYMENT"],
                "managed_prometheus": {"enabled": True},
            },
            addons_config={
                "gcs_fuse_csi_driver_config": {"enabled": True},
                "gce_persistent_disk_csi_driver_config": {"enabled": True},
            },
            cost_management_config={"enabled": True},
            opts=pulumi.ResourceOptions(ignore_changes=["nodeConfig", "initialNodeCount"], depends_on=after),
        )

    def _system_pool(
        self,
        name: str,
        args: GkeClusterArgs,
        cluster: container.Cluster,
        account: serviceaccount.Account,
        *,
        key: pulumi.Output[str],
        after: Sequence[pulumi.Resource],
    ) -> container.NodePool:
        """Where the cluster's own pods run, so that accelerator machines can all go: on demand, without a taint."""
        return self.make(
            container.NodePool,
            f"{name}-system",
            name="system",
            cluster=cluster.name,
            location=args["region"],
            node_locations=args["zones"][:1],
            initial_node_count=1,
            autoscaling={"total_min_node_count": 1, "total_max_node_count": 3, "location_policy": "BALANCED"},
            management={"auto_repair": True, "auto_upgrade": True},
            network_config={"enable_private_nodes": True},
            node_config={
                "machine_type": args.get("system_machine_type", "e2-standard-4"),
                "disk_size_gb": 100,
                "disk_type": "pd-balanced",
                "image_type": "COS_CONTAINERD",
                "service_account": account.email,
                "oauth_scopes": SCOPES,
                "metadata": {"disable-legacy-endpoints": "true"},
                "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
                "workload_metadata_config": {"mode": "GKE_METADATA"},
                "gvnic": {"enabled": True},
                "boot_disk_kms_key": key,
                "resource_labels": self.tags_of(container.NodePool, f"{name}-system"),
            },
            opts=pulumi.ResourceOptions(ignore_changes=["initialNodeCount"], depends_on=after),
        )


def _protected(args: GkeClusterArgs) -> bool:
    """Whether Pulumi's provider refuses to delete the cluster."""
    return args.get("deletion_protection", args["environment"] == "prod")


def _authorized(args: GkeClusterArgs) -> dict[str, object]:
    """Who may use the private address; even an empty list would switch it on again (terraform-google-modules#2216)."""
    if not (ranges := args.get("authorized_cidrs")):
        return {}
    blocks = [{"cidr_block": cidr} for cidr in ranges]
    return {"master_authorized_networks_config": {"cidr_blocks": blocks, "gcp_public_cidrs_access_enabled": False}}


def _dns_name(endpoints: object) -> str:
    """The DNS name among a cluster's endpoints; "" until it is known."""
    return getattr(getattr(endpoints, "dns_endpoint_config", None), "endpoint", None) or ""
