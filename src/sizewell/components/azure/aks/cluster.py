"""A private AKS cluster with its system pool, logs, metrics and maintenance windows."""

from typing import Any

import pulumi
from pulumi_azure_native import authorization, containerservice, managedidentity, monitor, operationalinsights

from sizewell.components.azure import parts, scale_sets
from sizewell.components.azure.aks import node_config as aks_node_config
from sizewell.components.azure.aks.args import SYSTEM_SIZE, AksClusterArgs
from sizewell.components.azure.aks.checks import check_aks_cluster
from sizewell.components.kubernetes_versions import default_version
from sizewell.components.owned import Owned, reaching


def object_id(held: Any, which: str) -> str:
    """The object id of one of the identities that AKS made; "" where it is not known yet."""
    identity = (held or {}).get(which)
    value = identity.get("object_id") if isinstance(identity, dict) else getattr(identity, "object_id", None)
    return str(value or "")


class AksCluster(Owned):
    """Control plane, add-ons and an on-demand system pool; reached from inside the network only.

    There are no local accounts: Entra authenticates, and Azure roles authorize. GPU machines are in AksGpuPool.
    Machines of one InfiniBand partition need the subscription's feature AKSInfinibandSupport, and those with GB200 or
    GB300 need it off (learn.microsoft.com/azure/aks/use-infiniband-gpu); a component cannot hold both.
    """

    cluster_name: pulumi.Output[str]
    """Name of the cluster."""
    cluster_id: pulumi.Output[str]
    """Id of the cluster."""
    oidc_issuer_url: pulumi.Output[str]
    """Issuer of the cluster's tokens: what a federated identity trusts."""
    version: pulumi.Output[str]
    """Kubernetes version that the cluster has."""
    kubeconfig: pulumi.Output[str]
    """Kubeconfig that uses kubelogin; a secret."""
    metrics_workspace_id: pulumi.Output[str]
    """Azure Monitor workspace that has the cluster's metrics."""
    metrics_query_url: pulumi.Output[str]
    """Query endpoint of that workspace."""

    def __init__(self, name: str, args: AksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_aks_cluster(name, args)
        super().__init__(name, args, opts, kind="cluster")
        control = parts.identity(self, f"{name}-control", args)
        rights = self._rights(name, args, control)
        logs = self._logs(name, args)
        cluster = self._cluster(name, args, control, rights, logs)
        self._administration(name, args, cluster, logs)
        kubelet = cluster.identity_profile.apply(lambda held: object_id(held, "kubeletidentity"))
        parts.pulls(self, name, args.get("registries", []), kubelet)
        metrics = self._metrics(name, args, cluster)

        self.cluster_name = cluster.name
        self.cluster_id = cluster.id
        self.version = cluster.kubernetes_version.apply(lambda known: known or "")
        self.oidc_issuer_url = cluster.oidc_issuer_profile.apply(
            lambda issuer: getattr(issuer, "issuer_url", None) or ""
        )
        self.metrics_workspace_id = metrics.id
        self.metrics_query_url = metrics.metrics.apply(
            lambda metrics: getattr(metrics, "prometheus_query_endpoint", None) or ""
        )
        answered = containerservice.list_managed_cluster_user_credentials_output(
            resource_group_name=args["resource_group"],
            resource_name=cluster.name,
            format="exec",
            opts=pulumi.InvokeOptions(parent=self),
        )
        kubeconfig: pulumi.Output[str] = pulumi.Output.secret(
            pulumi.Output.all(answered.kubeconfigs, cluster.name).apply(
                lambda known: aks_node_config.kubeconfig(aks_node_config.credential(known[0]), cluster=known[1])
            )
        )
        self.kubeconfig = reaching(cluster, kubeconfig)
        self.register()

    def _rights(
        self, name: str, args: AksClusterArgs, control: managedidentity.UserAssignedIdentity
    ) -> list[authorization.RoleAssignment]:
        """The control plane joins its subnets, reads keys, and takes machines from reservations; nothing else.

        For reservations Azure asks for Contributor of their resource group, for disks under one key of the key's group
        (learn.microsoft.com/azure/aks/use-capacity-reservation-groups, azure-disk-customer-managed-keys): what of it is
        used are these actions.
        """
        subnets: dict[str, Any] = {"nodes": args["subnet_id"]}
        if "api_subnet_id" in args:
            subnets["api"] = args["api_subnet_id"]
        actions = [f"Microsoft.Network/virtualNetworks/subnets/{verb}" for verb in ("read", "join/action")]
        held = [
            parts.own_role(
                self,
                f"{name}-join-{which}",
                scope=subnet,
                principal=control.principal_id,
                description="Joins machines to one subnet",
                actions=actions,
            )
            for which, subnet in subnets.items()
        ]
        for number, group in enumerate(args.get("reservations", [])):
            held.append(
                parts.own_role(
                    self,
                    f"{name}-reserved-{number}",
                    scope=group,
                    principal=control.principal_id,
                    description="Takes machines from one capacity reservation group",
                    actions=aks_node_config.RESERVED_ACTIONS,
                )
            )
        if "disk_encryption_set_id" in args:
            held.append(
                parts.own_role(
                    self,
                    f"{name}-disks",
                    scope=args["disk_encryption_set_id"],
                    principal=control.principal_id,
                    description="Creates disks encrypted with one key",
                    actions=["Microsoft.Compute/diskEncryptionSets/read"],
                )
            )
        if key := args.get("secrets_key"):
            for what, role in (
                ("key", aks_node_config.KEY_CRYPTO_USER),
                ("vault", aks_node_config.KEY_VAULT_CONTRIBUTOR),
            ):
                held.append(
                    parts.assign(
                        self, f"{name}-{what}", scope=key["vault_id"], principal=control.principal_id, role=role
                    )
                )
        return held

    def _logs(self, name: str, args: AksClusterArgs) -> operationalinsights.Workspace:
        return self.make(
            operationalinsights.Workspace,
            f"{name}-logs",
            resource_group_name=args["resource_group"],
            location=args["region"],
            sku={"name": "PerGB2018"},
            retention_in_days=args.get("log_days", 90),
            features={"disable_local_auth": True},
        )

    def _cluster(
        self,
        name: str,
        args: AksClusterArgs,
        control: managedidentity.UserAssignedIdentity,
        rights: list[authorization.RoleAssignment],
        logs: operationalinsights.Workspace,
    ) -> containerservice.ManagedCluster:
        nodes = args.get("system_nodes", 2)
        optional: dict[str, Any] = {"support_plan": "AKSLongTermSupport"} if args.get("support") == "extended" else {}
        if "disk_encryption_set_id" in args:
            optional["disk_encryption_set_id"] = args["disk_encryption_set_id"]
        return self.make(
            containerservice.ManagedCluster,
            f"{name}-cluster",
            resource_name_=self.name_of(containerservice.ManagedCluster, name),
            resource_group_name=args["resource_group"],
            location=args["region"],
            kubernetes_version=args.get("version", default_version("aks").version),
            dns_prefix=self.physical(name, 54),
            # The free tier has no agreement on being up; long-term support is sold in the Premium tier alone.
            sku={"name": "Base", "tier": "Premium" if args.get("support") == "extended" else "Standard"},
            identity={"type": "UserAssigned", "user_assigned_identities": [control.id]},
            disable_local_accounts=True,
            enable_rbac=True,
            aad_profile={
                "managed": True,
                "enable_azure_rbac": True,
                "admin_group_object_ids": args.get("admin_groups", []),
            },
            oidc_issuer_profile={"enabled": True},
            security_profile=self._security(args, logs),
            api_server_access_profile=self._access(args),
            addon_profiles={
                "azurepolicy": {"enabled": True},
                "azureKeyvaultSecretsProvider": {"enabled": True, "config": {"enableSecretRotation": "true"}},
            },
            azure_monitor_profile={"metrics": {"enabled": True}},
            auto_upgrade_profile={"upgrade_channel": "patch", "node_os_upgrade_channel": "NodeImage"},
            auto_scaler_profile={
                "expander": "least-waste",
                "scale_down_unneeded_time": "10m",
                "max_node_provision_time": "30m",  # machines with eight GPUs come slowly
                "skip_nodes_with_local_storage": "false",
                "skip_nodes_with_system_pods": "true",
            },
            network_profile={
                "network_plugin": "azure",
                "network_plugin_mode": "overlay",
                "network_dataplane": "cilium",
                "network_policy": "cilium",
                "pod_cidr": scale_sets.POD_CIDR,
                "service_cidr": scale_sets.SERVICE_CIDR,
                "dns_service_ip": scale_sets.SERVICE_CIDR.replace(".0/16", ".10"),
                "load_balancer_sku": "standard",
                "outbound_type": "userAssignedNATGateway",
            },
            storage_profile={
                "disk_csi_driver": {"enabled": True},
                "blob_csi_driver": {"enabled": True},
                "file_csi_driver": {"enabled": True},
                "snapshot_controller": {"enabled": True},
            },
            node_resource_group_profile={"restriction_level": "ReadOnly"},
            agent_pool_profiles=[
                {
                    "name": "system",
                    "mode": "System",
                    "type": "VirtualMachineScaleSets",
                    "os_type": "Linux",
                    "os_sku": "AzureLinux",
                    "vm_size": args.get("system_size", SYSTEM_SIZE),
                    "count": nodes,
                    "min_count": nodes,
                    "max_count": nodes * 2,
                    "enable_auto_scaling": True,
                    "availability_zones": args["zones"],
                    "vnet_subnet_id": args["subnet_id"],
                    "node_taints": ["CriticalAddonsOnly=true:NoSchedule"],
                    "node_labels": {"sizewell/pool": "system"},
                    "os_disk_type": "Managed",  # the size has no disk of its own that would hold it
                    "os_disk_size_gb": 128,
                    "max_pods": 110,
                    "enable_encryption_at_host": True,
                    "enable_node_public_ip": False,
                    "upgrade_settings": {"max_surge": "33%"},
                    "tags": self.tags_of(containerservice.AgentPool, f"{name}-system"),
                }
            ],
            opts=pulumi.ResourceOptions(
                depends_on=rights,
                ignore_changes=["agentPoolProfiles[0].count", *([] if "version" in args else ["kubernetesVersion"])],
            ),
            **optional,
        )

    @staticmethod
    def _security(args: AksClusterArgs, logs: operationalinsights.Workspace) -> dict[str, object]:
        profile: dict[str, object] = {
            "workload_identity": {"enabled": True},
            "image_cleaner": {"enabled": True, "interval_hours": 168},
        }
        if args.get("defender"):
            profile["defender"] = {
                "security_monitoring": {"enabled": True},
                "log_analytics_workspace_resource_id": logs.id,
            }
        if key := args.get("secrets_key"):
            profile["azure_key_vault_kms"] = {
                "enabled": True,
                "key_id": key["key_url"],
                "key_vault_network_access": "Private",
                "key_vault_resource_id": key["vault_id"],
            }
        return profile

    @staticmethod
    def _access(args: AksClusterArgs) -> dict[str, object]:
        profile: dict[str, object] = {"disable_run_command": True}
        if "api_subnet_id" in args:
            profile |= {"enable_vnet_integration": True, "subnet_id": args["api_subnet_id"]}
        if ranges := args.get("authorized_ranges"):
            return {**profile, "enable_private_cluster": False, "authorized_ip_ranges": ranges}
        private = {"enable_private_cluster": True, "enable_private_cluster_public_fqdn": False}
        return {**profile, **private, "private_dns_zone": "system"}

    def _administration(
        self,
        name: str,
        args: AksClusterArgs,
        cluster: containerservice.ManagedCluster,
        logs: operationalinsights.Workspace,
    ) -> None:
        """Who administers it, what it logs, and when Azure may change it."""
        if not args.get("admin_groups"):
            builder = authorization.get_client_config_output(opts=pulumi.InvokeOptions(parent=self)).object_id
            parts.assign(
                self,
                f"{name}-builder",
                scope=cluster.id,
                principal=builder,
                principal_type=None,  # a person at a desk, a service principal in CI
                role=aks_node_config.CLUSTER_ADMIN,
            )
        self.make(
            monitor.DiagnosticSetting,
            f"{name}-logs",
            name="control-plane",
            resource_uri=cluster.id,
            workspace_id=logs.id,
            log_analytics_destination_type="Dedicated",
            logs=[{"category": category, "enabled": True} for category in aks_node_config.LOGS],
        )
        window = aks_node_config.maintenance(
            day=args.get("maintenance_day", "Sunday"),
            start=args.get("maintenance_start", "02:00"),
            held=args.get("upgrades_held"),
        )
        for config in ("aksManagedAutoUpgradeSchedule", "aksManagedNodeOSUpgradeSchedule"):
            self.make(
                containerservice.MaintenanceConfiguration,
                f"{name}-{config}",
                config_name=config,
                resource_group_name=args["resource_group"],
                resource_name_=cluster.name,
                maintenance_window=window,
            )

    def _metrics(
        self, name: str, args: AksClusterArgs, cluster: containerservice.ManagedCluster
    ) -> monitor.AzureMonitorWorkspace:
        """Managed Prometheus, DCGM's metrics with it: what tells working GPUs from idle ones."""
        place: dict[str, object] = {"resource_group_name": args["resource_group"], "location": args["region"]}
        workspace = self.make(monitor.AzureMonitorWorkspace, f"{name}-metrics", **place)
        endpoint = self.make(
            monitor.DataCollectionEndpoint,
            f"{name}-metrics",
            kind="Linux",
            network_acls={"public_network_access": "Enabled"},  # of Azure's backbone; Entra says who may write
            **place,
        )
        streams = ["Microsoft-PrometheusMetrics"]
        rule = self.make(
            monitor.DataCollectionRule,
            f"{name}-metrics",
            kind="Linux",
            data_collection_endpoint_id=endpoint.id,
            data_sources={"prometheus_forwarder": [{"name": "prometheus", "streams": streams}]},
            destinations={"monitoring_accounts": [{"name": "workspace", "account_resource_id": workspace.id}]},
            data_flows=[{"streams": streams, "destinations": ["workspace"]}],
            **place,
        )
        for what, target in (
            ("rule", {"association_name": "sizewell-metrics", "data_collection_rule_id": rule.id}),
            (  # a private cluster asks this endpoint for its settings; Azure fixes the name
                "endpoint",
                {"association_name": "configurationAccessEndpoint", "data_collection_endpoint_id": endpoint.id},
            ),
        ):
            self.make(
                monitor.DataCollectionRuleAssociation, f"{name}-metrics-{what}", resource_uri=cluster.id, **target
            )
        return workspace
