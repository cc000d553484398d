"""Keys of one's own on Azure: a vault, its keys, who may use them, and a disk encryption set."""

import pulumi
from pulumi_azure_native import compute, keyvault, resources

from sizewell.components.azure import parts
from sizewell.components.azure.keys.args import CustomerKeysArgs, check_keys
from sizewell.components.owned import Owned
from sizewell.components.tags import store_name

CRYPTO_USER = "e147488a-f6f5-4113-8e2d-b22465e65bf6"  # Key Vault Crypto Service Encryption User


def vault(
    owner: Owned,
    name: str,
    *,
    vault_name: str,
    group: pulumi.Input[str],
    region: str,
    opts: pulumi.ResourceOptions,
) -> keyvault.Vault:
    """A vault that nobody reaches from the internet and nobody can empty before 90 days have passed."""
    return owner.make(
        keyvault.Vault,
        name,
        vault_name=vault_name,
        resource_group_name=group,
        location=region,
        properties={
            "tenant_id": parts.tenant(owner),
            "sku": {"family": "A", "name": "standard"},
            "enable_rbac_authorization": True,
            "enable_soft_delete": True,
            "soft_delete_retention_in_days": 90,
            "enable_purge_protection": True,
            "enabled_for_disk_encryption": True,
            "public_network_access": "Disabled",
            "network_acls": {"default_action": "Deny", "bypass": "AzureServices"},
        },
        opts=opts,
    )


def key(
    owner: Owned,
    name: str,
    *,
    key_name: str,
    vault: keyvault.Vault,
    group: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
    secrets: bool = False,
) -> keyvault.Key:
    """A key that changes itself every year; old versions stay. Disks and files wrap their own keys with it.

    Kubernetes' secrets are encrypted and decrypted with the version that the cluster names
    (learn.microsoft.com/azure/aks/use-kms-etcd-encryption), which therefore never expires.
    """
    lifetime: list[dict[str, object]] = [{"action": {"type": "rotate"}, "trigger": {"time_after_create": "P1Y"}}]
    rotation: dict[str, object] = {"lifetime_actions": lifetime}
    if not secrets:
        lifetime.append({"action": {"type": "notify"}, "trigger": {"time_before_expiry": "P30D"}})
        rotation["attributes"] = {"expiry_time": "P2Y"}
    return owner.make(
        keyvault.Key,
        name,
        key_name=key_name,
        vault_name=vault.name,
        resource_group_name=group,
        properties={
            "kty": "RSA",
            "key_size": 3072,
            "key_ops": ["encrypt", "decrypt"] if secrets else ["wrapKey", "unwrapKey"],
            "attributes": {"enabled": True, "exportable": False},
            "rotation_policy": rotation,
        },
        opts=opts,
    )


class CustomerKeys(Owned):
    """A vault with keys for disks and for Kubernetes secrets, in a resource group of its own.

    Purge protection keeps the vault's name for 90 days after it is deleted, so a stack that is destroyed and built
    again would find its name taken. Vault and keys are therefore protected: a destroy leaves them, and the next update
    finds them in the state. They cost nothing while they are not used.
    """

    disk_encryption_set_id: pulumi.Output[str]
    """Disk encryption set for machines and clusters."""
    vault_id: pulumi.Output[str]
    """Id of the vault."""
    disks_key_url: pulumi.Output[str]
    """URL of the key for disks and files, with its version."""
    secrets_key_url: pulumi.Output[str]
    """URL of the key for Kubernetes secrets, with its version."""
    identity_id: pulumi.Output[str]
    """Identity that may use the key for disks."""

    def __init__(self, name: str, args: CustomerKeysArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_keys(name, args)
        super().__init__(name, args, opts, kind="keys")
        protected = args.get("protected", True)
        options = pulumi.ResourceOptions(protect=protected)
        group = self.make(
            resources.ResourceGroup,
            f"{name}-group",
            resource_group_name=self.name_of(resources.ResourceGroup, name),
            location=args["region"],
            opts=options,
        )
        vault_name = store_name(stack=pulumi.get_stack(), workload=name, salt=args["salt"], limit=24, hyphens=False)
        store = vault(
            self, f"{name}-vault", vault_name=vault_name, group=group.name, region=args["region"], opts=options
        )
        disks = key(self, f"{name}-disks", key_name="disks", vault=store, group=group.name, opts=options)
        secrets = key(
            self, f"{name}-secrets", key_name="secrets", vault=store, group=group.name, opts=options, secrets=True
        )
        user = parts.identity(
            self, f"{name}-disks", {"resource_group": group.name, "region": args["region"]}, protect=protected
        )
        held = parts.assign(
            self,
            f"{name}-disks",
            scope=disks.id,
            principal=user.principal_id,
            role=CRYPTO_USER,
            protect=protected,
        )
        disk_set = self.make(
            compute.DiskEncryptionSet,
            f"{name}-disks",
            resource_group_name=group.name,
            location=args["region"],
            identity={"type": "UserAssigned", "user_assigned_identities": [user.id]},
            encryption_type="EncryptionAtRestWithCustomerKey",
            active_key={"key_url": disks.key_uri_with_version, "source_vault": {"id": store.id}},
            rotation_to_latest_key_version_enabled=True,
            opts=pulumi.ResourceOptions(protect=protected, depends_on=[held]),
        )
        self.disk_encryption_set_id = disk_set.id
        self.vault_id = store.id
        self.disks_key_url = disks.key_uri_with_version
        self.secrets_key_url = secrets.key_uri_with_version
        self.identity_id = user.id
        self.register()
