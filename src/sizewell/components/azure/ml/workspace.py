"""An Azure Machine Learning workspace with what it stands on: storage, vault, registry, logs, private endpoints."""

import pulumi
from pulumi_azure_native import (
    applicationinsights,
    containerregistry,
    keyvault,
    machinelearningservices,
    operationalinsights,
    storage,
)

from sizewell.components.azure import parts
from sizewell.components.azure.ml import durations as ml_durations
from sizewell.components.azure.ml.args import AmlWorkspaceArgs
from sizewell.components.azure.ml.checks import check_workspace
from sizewell.components.owned import Owned
from sizewell.components.tags import store_name

ISOLATION = {"approved": "AllowOnlyApprovedOutbound", "internet": "AllowInternetOutbound"}


class AmlWorkspace(Owned):
    """A workspace whose machines are in a network that Azure manages, without access from the internet.

    Its storage holds job logs and snapshots of code; checkpoints have a store of their own. Azure keeps the names of a
    deleted vault and workspace for some days: a stack that is rebuilt sooner has to recover them first (`az keyvault
    recover --name NAME`).
    """

    workspace_name: pulumi.Output[str]
    """Name of the workspace."""
    workspace_id: pulumi.Output[str]
    """Id of the workspace."""
    registry_id: pulumi.Output[str]
    """Id of the container registry."""
    storage_id: pulumi.Output[str]
    """Id of the workspace's storage account."""

    def __init__(self, name: str, args: AmlWorkspaceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_workspace(name, args)
        super().__init__(name, args, opts, kind="cluster")
        self._salt = args["salt"]
        account = self._storage(name, args)
        registry = self._registry(name, args)
        stands_on = {
            "storage_account": account.id,
            "key_vault": self._vault(name, args).id,
            "container_registry": registry.id,
            "application_insights": self._insights(name, args).id,
        }
        workspace = self._workspace(name, args, stands_on)
        principal = workspace.identity.apply(lambda held: held.principal_id if held else "")
        for what in ("storage_account", "key_vault", "container_registry"):
            parts.assign(
                self,
                f"{name}-approves-{what.replace('_', '-')}",
                scope=stands_on[what],
                principal=principal,
                role=ml_durations.APPROVER,
            )
        for what, target, group, services in (
            ("workspace", workspace.id, "amlworkspace", ("workspace", "notebooks")),
            ("blob", account.id, "blob", ("blob",)),
            ("file", account.id, "file", ("file",)),
            ("registry", registry.id, "registry", ("registry",)),
        ):
            parts.private_endpoint(
                self, f"{name}-{what}", args, target=target, group=group, zones=parts.zones_of(args, *services)
            )
        self.workspace_name = workspace.name
        self.workspace_id = workspace.id
        self.registry_id = registry.id
        self.storage_id = account.id
        self.register()

    def _unique(self, name: str, limit: int) -> str:
        """A name that nobody else in the world has: letters and digits, at most `limit`."""
        return store_name(stack=pulumi.get_stack(), workload=name, salt=self._salt, limit=limit, hyphens=False)

    def _place(self, args: AmlWorkspaceArgs) -> dict[str, object]:
        return {"resource_group_name": args["resource_group"], "location": args["region"]}

    def _storage(self, name: str, args: AmlWorkspaceArgs) -> storage.StorageAccount:
        account = parts.storage_account(
            self,
            f"{name}-files",
            args,
            account_name=self._unique(name, 24),
            services=("blob", "file"),
            encryption={"key_source": "Microsoft.Storage"},
            **self._place(args),
        )
        self.make(
            storage.BlobServiceProperties,
            f"{name}-files",
            account_name=account.name,
            blob_services_name="default",
            resource_group_name=args["resource_group"],
            delete_retention_policy={"enabled": True, "days": 7},
            container_delete_retention_policy={"enabled": True, "days": 7},
        )
        return account

    def _vault(self, name: str, args: AmlWorkspaceArgs) -> keyvault.Vault:
        return self.make(
            keyvault.Vault,
            f"{name}-secrets",
            vault_name=self._unique(name, 24),
            properties={
                "tenant_id": parts.tenant(self),
                "sku": {"family": "A", "name": "standard"},
                "enable_rbac_authorization": True,
                "enable_soft_delete": True,
                "soft_delete_retention_in_days": 90 if args["environment"] == "prod" else 7,
                "enable_purge_protection": True,
                "public_network_access": "Disabled",
                "network_acls": {"default_action": "Deny", "bypass": "AzureServices"},
            },
            **self._place(args),
        )

    def _registry(self, name: str, args: AmlWorkspaceArgs) -> containerregistry.Registry:
        return self.make(
            containerregistry.Registry,
            f"{name}-images",
            registry_name=self._unique(name, 50),
            sku={"name": "Premium"},  # the only one with private endpoints
            admin_user_enabled=False,
            anonymous_pull_enabled=False,
            public_network_access="Disabled",
            network_rule_bypass_options="AzureServices",
            network_rule_set={"default_action": "Deny"},
            data_endpoint_enabled=True,
            zone_redundancy="Enabled",  # costs nothing beside Premium
            policies={"retention_policy": {"status": "enabled", "days": 30}},
            **self._place(args),
        )

    def _insights(self, name: str, args: AmlWorkspaceArgs) -> applicationinsights.Component:
        logs = self.make(
            operationalinsights.Workspace,
            f"{name}-logs",
            sku={"name": "PerGB2018"},
            retention_in_days=args.get("log_days", 90),
            features={"disable_local_auth": True},
            **self._place(args),
        )
        return self.make(
            applicationinsights.Component,
            f"{name}-insights",
            kind="web",
            application_type="web",
            ingestion_mode="LogAnalytics",
            workspace_resource_id=logs.id,
            retention_in_days=args.get("log_days", 90),
            **self._place(args),
        )

    def _workspace(
        self, name: str, args: AmlWorkspaceArgs, stands_on: dict[str, object]
    ) -> machinelearningservices.Workspace:
        rules = {
            f"host-{number}": {"type": "FQDN", "category": "UserDefined", "destination": host}
            for number, host in enumerate(args.get("outbound_hosts", []))
        }
        network: dict[str, object] = {"isolation_mode": ISOLATION[args.get("outbound", "approved")]}
        if rules:
            network |= {"outbound_rules": rules, "firewall_sku": "Basic"}
        optional: dict[str, object] = {"identity": {"type": "SystemAssigned"}}
        if key := args.get("key"):
            optional = {
                "identity": {"type": "SystemAssigned,UserAssigned", "user_assigned_identities": [key["identity_id"]]},
                "encryption": {
                    "status": "Enabled",
                    "identity": {"user_assigned_identity": key["identity_id"]},
                    "key_vault_properties": {"key_identifier": key["key_url"], "key_vault_arm_id": key["vault_id"]},
                },
                "enable_service_side_cmk_encryption": True,
            }
        return self.make(
            machinelearningservices.Workspace,
            f"{name}-workspace",
            workspace_name=self.name_of(machinelearningservices.Workspace, name),
            kind="Default",
            sku={"name": "Basic", "tier": "Basic"},
            public_network_access="Disabled",
            managed_network=network,
            provision_network_now=True,
            system_datastores_auth_mode="Identity",
            v1_legacy_mode=False,
            hbi_workspace=False,
            **self._place(args),
            **stands_on,
            **optional,
        )
