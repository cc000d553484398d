"""Shared storage for data on AWS: FSx for Lustre."""

import pulumi
from pulumi_aws import cloudwatch, ec2, fsx
from pulumi_aws import vpc as rules

from sizewell.components.aws import parts
from sizewell.components.aws.storage import args as storage_args
from sizewell.components.aws.storage.args import SharedStorageArgs, check_storage
from sizewell.components.owned import Owned
from sizewell.sizing.units import GIB


class SharedStorage(Owned):
    """A Lustre file system (PERSISTENT_2) in the machines' zone; it is billed by its size, used or not.

    With data in S3 it is a cache that can be deleted; without, AWS keeps a final backup when it is deleted, in any
    environment, and daily ones in prod.
    """

    file_system_id: pulumi.Output[str]
    """Id of the file system."""
    dns_name: pulumi.Output[str]
    """Where to mount it from: `mount -t lustre DNS_NAME@tcp:/MOUNT_NAME /data`."""
    mount_name: pulumi.Output[str]
    """Its name in the mount command."""
    security_group_id: pulumi.Output[str]
    """Security group of the file system."""

    def __init__(self, name: str, args: SharedStorageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_storage(name, args)
        gib = storage_args.capacity_gib(args["bytes_needed"])
        size = float(gib * GIB)
        super().__init__(
            name, args, opts, kind="storage", bytesExpected={"floor": size, "expected": size, "ceiling": size}
        )
        production, cached = args["environment"] == "prod", "data_location" in args
        group = self._security_group(name, args)
        key = parts.key_arn(self, name, args, args.get("account") or group.owner_id)
        logs = self.make(
            cloudwatch.LogGroup,
            f"{name}-files",
            name=f"/aws/fsx/{self.physical(name, 100)}",
            kms_key_id=key,
            retention_in_days=365,
        )
        backups: dict[str, object] = {"skip_final_backup": True, "automatic_backup_retention_days": 0}
        if not cached:  # with an S3 association FSx refuses backups
            backups = {
                "skip_final_backup": False,
                "automatic_backup_retention_days": 7 if production else 0,
                "copy_tags_to_backups": True,
            }
        files = self.make(
            fsx.LustreFileSystem,
            f"{name}-files",
            subnet_ids=args["subnet_id"],
            security_group_ids=[group.id],
            deployment_type="PERSISTENT_2",
            storage_type="SSD",
            storage_capacity=gib,
            per_unit_storage_throughput=args.get("throughput_mb_per_s_per_tib", 125),
            file_system_type_version="2.15",
            data_compression_type="LZ4",
            metadata_configuration={"mode": "AUTOMATIC"},
            kms_key_id=key,
            log_configuration={"level": "WARN_ERROR", "destination": logs.arn},
            tags={**self.tags_of(fsx.LustreFileSystem, f"{name}-files"), "Name": self.physical(name, 128)},
            **backups,
        )
        if cached:
            self._association(name, args, files)
        self.file_system_id = files.id
        self.dns_name = files.dns_name
        self.mount_name = files.mount_name
        self.security_group_id = group.id
        self.register()

    def _security_group(self, name: str, args: SharedStorageArgs) -> ec2.SecurityGroup:
        """Lustre's ports, between the servers themselves and with machines in the VPC."""
        group = self.make(
            ec2.SecurityGroup,
            f"{name}-files",
            description=f"File system {name}: Lustre with machines in the VPC",
            vpc_id=args["vpc_id"],
        )
        for first, last in parts.LUSTRE_PORTS:
            for out in (False, True):
                parts.rule(
                    self,
                    f"{name}-{'to' if out else 'from'}-clients-{first}",
                    group,
                    f"Lustre {'to' if out else 'from'} machines in the VPC",
                    out=out,
                    cidr=args["vpc_cidr"],
                    ports=(first, last),
                )
            for client, client_group in args.get("client_groups", {}).items():
                self.make(
                    rules.SecurityGroupEgressRule,
                    f"{name}-{client}-to-files-{first}",
                    security_group_id=client_group,
                    referenced_security_group_id=group.id,
                    ip_protocol="tcp",
                    from_port=first,
                    to_port=last,
                    description=f"Lustre to the file system {name}",
                )
        return group

    def _association(self, name: str, args: SharedStorageArgs, files: fsx.LustreFileSystem) -> None:
        changes = ["NEW", "CHANGED", "DELETED"]
        policy: dict[str, object] = {"auto_import_policy": {"events": changes}}
        if args.get("write_back"):
            policy["auto_export_policy"] = {"events": changes}
        self.make(
            fsx.DataRepositoryAssociation,
            f"{name}-data",
            file_system_id=files.id,
            data_repository_path=args["data_location"],
            file_system_path="/data",
            batch_import_meta_data_on_create=True,
            s3=policy,
        )
