"""The checkpoint storage account of one workload on Azure; stands in a stack of its own."""

import pulumi
from pulumi_azure_native import authorization, managedidentity, resources, storage

from sizewell.components.azure import parts, scale_sets
from sizewell.components.azure.args import CheckpointStoreArgs
from sizewell.components.azure.checks import check_checkpoint_store
from sizewell.components.azure.keys import vault as keys
from sizewell.components.owned import Owned, kept

KEY = "checkpoints"


class CheckpointStore(Owned):
    """A versioned, immutable, private storage account with a key of its own that is retained on destroy.

    With it comes a role that writes and reads, but does not delete.
    """

    account_name: pulumi.Output[str]
    """Name of the storage account."""
    container: pulumi.Output[str]
    """Name of the container."""
    writer_role_id: pulumi.Output[str]
    """Role of a writer: read and write, no delete."""

    def __init__(self, name: str, args: CheckpointStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_checkpoint_store(name, args)
        super().__init__(name, args, opts, kind="checkpoints")
        production = args["environment"] == "prod"
        group = self.make(
            resources.ResourceGroup,
            f"{name}-group",
            resource_group_name=args["resource_group"],
            location=args["region"],
            opts=kept(),
        )
        user, held = self._key(name, args, group)
        account = self._account(name, args, group, user=user, held=held)
        soft_delete = {"enabled": True, "days": args.get("soft_delete_days", 30 if production else 14)}
        self.make(
            storage.BlobServiceProperties,
            f"{name}-blobs",
            account_name=account.name,
            blob_services_name="default",
            resource_group_name=group.name,
            is_versioning_enabled=True,
            delete_retention_policy=soft_delete,
            container_delete_retention_policy=soft_delete,
            change_feed={"enabled": True, "retention_in_days": 90},
            opts=kept(),
        )
        self.make(  # old versions only: a checkpoint ends by a person's hand
            storage.ManagementPolicy,
            f"{name}-old-versions",
            account_name=account.name,
            management_policy_name="default",
            resource_group_name=group.name,
            policy={
                "rules": [
                    {
                        "name": "old-versions",
                        "type": "Lifecycle",
                        "enabled": True,
                        "definition": {
                            "actions": {
                                "version": {
                                    "delete": {"days_after_creation_greater_than": args.get("versions_days", 30)}
                                }
                            },
                            "filters": {"blob_types": ["blockBlob"]},
                        },
                    }
                ]
            },
            opts=kept(),
        )
        container = self.make(
            storage.BlobContainer,
            f"{name}-{scale_sets.CONTAINER}",
            container_name=scale_sets.CONTAINER,
            account_name=account.name,
            resource_group_name=group.name,
            public_access="None",
            opts=kept(),
        )
        # on the account and not on its group: below a lock Azure takes no role back, and writers come and go
        self.make(
            authorization.ManagementLockByScope,
            f"{name}-lock",
            lock_name="checkpoints",
            scope=account.id,
            level="CanNotDelete",
            notes="Checkpoints outlive their cluster",
            opts=kept(),
        )
        role = self.make(
            authorization.RoleDefinition,
            f"{name}-writer",
            role_definition_id=args["role"],
            role_name=f"Writes checkpoints to {args['account']}",
            role_type="CustomRole",
            description="Reads and writes checkpoints; cannot delete",
            scope=group.id,
            assignable_scopes=[group.id],
            permissions=scale_sets.writer_permissions(),
        )
        self.account_name = account.name
        self.container = container.name
        self.writer_role_id = role.id
        self.register()

    def _key(
        self, name: str, args: CheckpointStoreArgs, group: resources.ResourceGroup
    ) -> tuple[managedidentity.UserAssignedIdentity, authorization.RoleAssignment]:
        """The store's own key, and who wraps with it: the account alone. The vault has the account's name."""
        place = {"resource_group": group.name, "region": args["region"]}
        vault = keys.vault(
            self,
            f"{name}-vault",
            vault_name=args["account"],
            group=group.name,
            region=args["region"],
            opts=kept(),
        )
        key = keys.key(self, f"{name}-key", key_name=KEY, vault=vault, group=group.name, opts=kept())
        user = parts.identity(self, f"{name}-key", place, protect=True, retain_on_delete=True)
        held = parts.assign(
            self,
            f"{name}-key",
            scope=key.id,
            principal=user.principal_id,
            role=keys.CRYPTO_USER,
            protect=True,
            retain_on_delete=True,
        )
        return user, held

    def _account(
        self,
        name: str,
        args: CheckpointStoreArgs,
        group: resources.ResourceGroup,
        *,
        user: managedidentity.UserAssignedIdentity,
        held: authorization.RoleAssignment,
    ) -> storage.StorageAccount:
        return parts.storage_account(
            self,
            name,
            args,
            account_name=args["account"],
            resource_group_name=group.name,
            location=args["region"],
            access_tier="Hot",
            services=("blob",),
            encryption={
                "key_source": "Microsoft.Keyvault",
                "encryption_identity": {"encryption_user_assigned_identity": user.id},
                # without a version: the account follows the key when it changes itself
                "key_vault_properties": {
                    "key_name": KEY,
                    "key_vault_uri": f"https://{args['account']}.vault.azure.net",
                },
            },
            immutable_storage_with_versioning={
                "enabled": True,
                "immutability_policy": {
                    "state": "Unlocked",
                    "immutability_period_since_creation_in_days": args.get("immutable_days", 7),
                    "allow_protected_append_writes": False,
                },
            },
            identity={"type": "UserAssigned", "user_assigned_identities": [user.id]},
            opts=kept(depends_on=[held]),
        )
