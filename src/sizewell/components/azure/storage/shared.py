"""Shared storage for data on Azure: Managed Lustre."""

import pulumi
from pulumi_azure_native import storagecache

from sizewell.components.azure.storage import args as storage_args
from sizewell.components.azure.storage.args import SharedStorageArgs, check_storage
from sizewell.components.owned import Owned


class SharedStorage(Owned):
    """A Lustre file system in the machines' zone; it is billed by its size, used or not.

    It is a copy of data that is stored elsewhere, and is deleted with the stack. Azure encrypts it with keys of its own
    unless one is given. With a blob container behind it, Azure's own service (HPC Cache Resource Provider) needs the
    roles Storage Account Contributor and Storage Blob Data Contributor on that account beforehand.
    """

    file_system_id: pulumi.Output[str]
    """Id of the file system."""
    address: pulumi.Output[str]
    """Address to mount it from: `mount -t lustre ADDRESS@tcp:/lustrefs /data`."""

    def __init__(self, name: str, args: SharedStorageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_storage(name, args)
        tier = args.get("throughput_mb_per_s_per_tib", 125)
        tib = storage_args.capacity_tib(args["bytes_needed"], tier)
        size = float(tib * storage_args.TIB)
        super().__init__(
            name, args, opts, kind="storage", bytesExpected={"floor": size, "expected": size, "ceiling": size}
        )
        optional: dict[str, object] = {}
        if key := args.get("key"):
            optional = {
                "identity": {"type": "UserAssigned", "user_assigned_identities": [key["identity_id"]]},
                "encryption_settings": {
                    "key_encryption_key": {"key_url": key["key_url"], "source_vault": {"id": key["vault_id"]}}
                },
            }
        if "container_id" in args:
            optional["hsm"] = {
                "settings": {
                    "container": args["container_id"],
                    "logging_container": args["logging_container_id"],
                    "import_prefix": args.get("import_prefix", "/"),
                }
            }
        files = self.make(
            storagecache.AmlFilesystem,
            f"{name}-files",
            aml_filesystem_name=self.name_of(storagecache.AmlFilesystem, name),
            resource_group_name=args["resource_group"],
            location=args["region"],
            zones=[args["zone"]],
            sku={"name": f"AMLFS-Durable-Premium-{tier}"},
            storage_capacity_ti_b=float(tib),
            filesystem_subnet=args["subnet_id"],
            maintenance_window={"day_of_week": args.get("maintenance_day", "Sunday"), "time_of_day_utc": "22:00"},
            root_squash_settings={"mode": "None"},
            **optional,
        )
        self.file_system_id = files.id
        self.address = files.client_info.apply(lambda known: getattr(known, "mgs_address", None) or "")
        self.register()
