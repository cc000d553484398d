"""Shared storage for data on Google Cloud: zonal Filestore."""

import pulumi
from pulumi_gcp import filestore

from sizewell.components.gcp import parts
from sizewell.components.gcp.storage.args import SharedStorageArgs, capacity_gib, check_storage
from sizewell.components.owned import Owned
from sizewell.sizing.units import GIB

SHARE = "data"


class SharedStorage(Owned):
    """A file system in the machines' zone, mounted over NFS; it is billed by its size, used or not.

    Its top folder belongs to root, and root of the machines that mount it has no rights there: `admins` fill it.
    """

    address: pulumi.Output[str]
    """Address that it is mounted from: `mount -t nfs ADDRESS:/data /data`."""
    instance_name: pulumi.Output[str]
    """Name of the Filestore instance."""

    def __init__(self, name: str, args: SharedStorageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_storage(name, args)
        gib = capacity_gib(args["bytes_needed"])
        size = float(gib * GIB)
        super().__init__(
            name, args, opts, kind="storage", bytesExpected={"floor": size, "expected": size, "ceiling": size}
        )
        key, users = parts.key_of(self, name, args, service="file.googleapis.com", agents=("cloud-filer",))
        export = {"ip_ranges": [args["cidr"]], "access_mode": "READ_WRITE", "squash_mode": "ROOT_SQUASH"}
        exports: list[dict[str, object]] = [{**export, "anon_uid": 65534, "anon_gid": 65534}]
        if admins := args.get("admins"):
            exports.append({"ip_ranges": admins, "access_mode": "READ_WRITE", "squash_mode": "NO_ROOT_SQUASH"})
        made = self.make(
            filestore.Instance,
            f"{name}-files",
            name=self.name_of(filestore.Instance, name),
            description=f"Data of {pulumi.get_stack()}",
            project=args["project"],
            location=args["zone"],
            tier="ZONAL",
            protocol="NFS_V3",
            file_shares={
                "name": SHARE,
                "capacity_gb": gib,
                "nfs_export_options": exports,
            },
            networks=[{"network": args["network"], "modes": ["MODE_IPV4"], "connect_mode": "DIRECT_PEERING"}],
            kms_key_name=key,
            deletion_protection_enabled=args.get("deletion_protection", args["environment"] == "prod"),
            opts=pulumi.ResourceOptions(depends_on=users),
        )
        self.instance_name = made.name
        self.address = made.networks.apply(lambda networks: ((networks[0].ip_addresses or [""])[0]) if networks else "")
        self.register()
