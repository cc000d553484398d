"""The checkpoint bucket of one workload on Google Cloud; stands in a stack of its own."""

import pulumi
from pulumi_gcp import kms, projects, serviceaccount, storage

from sizewell.components.gcp.args import CheckpointStoreArgs
from sizewell.components.gcp.checks import check_checkpoint_store
from sizewell.components.owned import Owned, kept

DAY_S = 86400


class CheckpointStore(Owned):
    """A versioned, encrypted, private bucket that is retained on destroy, and an account to write but not delete.

    Google Cloud cannot lock a whole bucket that keeps versions. Deleted objects can be restored for the soft-delete
    days, and the writer locks each object that it saves (training scripts do so, for 7 days, 30 in prod).
    """

    bucket: pulumi.Output[str]
    """Name of the bucket."""
    writer_email: pulumi.Output[str]
    """Service account of a writer: create, get and list."""

    def __init__(self, name: str, args: CheckpointStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_checkpoint_store(name, args)
        super().__init__(name, args, opts, kind="checkpoints")
        production = args["environment"] == "prod"
        soft_delete_days = args.get("soft_delete_days", 30 if production else 7)
        logs = self._bucket(
            f"{name}-logs",
            f"{args['bucket'][:58]}-logs",
            args,
            lifecycle_rules=[{"action": {"type": "Delete"}, "condition": {"age": 400}}, *_rests(30)],
            soft_delete_policy={"retention_duration_seconds": 7 * DAY_S},
        )
        self.make(  # who writes access logs (cloud.google.com/storage/docs/access-logs)
            storage.BucketIAMMember,
            f"{name}-logs",
            bucket=logs.name,
            role="roles/storage.objectCreator",
            member="group:cloud-storage-analytics@google.com",
        )
        key, grant = self._key(name, args, logs)
        bucket = self._bucket(
            name,
            args["bucket"],
            args,
            after=[grant],
            encryption={"default_kms_key_name": key.id},
            soft_delete_policy={"retention_duration_seconds": soft_delete_days * DAY_S},
            logging={"log_bucket": logs.name, "log_object_prefix": "checkpoints"},
            lifecycle_rules=_rests(args.get("versions_days", 30)),  # a checkpoint ends by a person's hand
            enable_object_retention=True,  # the bucket's own retention period cannot stand beside versions
        )
        writer = self.make(
            serviceaccount.Account,
            f"{name}-writer",
            account_id=args["writer_account"],
            display_name=f"Writes checkpoints of {name}; cannot delete",
        )
        retain = self.make(  # whoever has it can lock an object for longer, never for less
            projects.IAMCustomRole,
            f"{name}-writer",
            role_id=self.physical(f"{name}-writer", 60).replace("-", "_"),
            title=f"Locks checkpoints of {name}",
            permissions=["storage.objects.setRetention"],
        )
        roles = {"objectCreator": "roles/storage.objectCreator", "objectViewer": "roles/storage.objectViewer"}
        for label, role in {**roles, "objectRetainer": retain.name}.items():
            self.make(storage.BucketIAMMember, f"{name}-{label}", bucket=bucket.name, role=role, member=writer.member)
        self.bucket = bucket.name
        self.writer_email = writer.email
        self.register()

    def _key(
        self, name: str, args: CheckpointStoreArgs, logs: storage.Bucket
    ) -> tuple[kms.CryptoKey, kms.CryptoKeyIAMMember]:
        ring = self.make(kms.KeyRing, f"{name}-key", name=args["bucket"], location=args["region"], opts=kept())
        key = self.make(
            kms.CryptoKey,
            f"{name}-key",
            name="checkpoints",
            key_ring=ring.id,
            rotation_period="7776000s",
            destroy_scheduled_duration="2592000s",
            opts=kept(),
        )
        agent = storage.get_project_service_account_output(  # of the project that the buckets are in
            project=logs.project, opts=pulumi.InvokeOptions(parent=self)
        )
        member = pulumi.Output.all(agent.member, logs.id).apply(lambda known: str(known[0]))
        grant = self.make(
            kms.CryptoKeyIAMMember,
            f"{name}-key",
            crypto_key_id=key.id,
            role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
            member=member,
            opts=kept(),
        )
        return key, grant

    def _bucket(
        self,
        name: str,
        bucket: str,
        args: CheckpointStoreArgs,
        *,
        after: list[pulumi.Resource] | None = None,
        **settings: object,
    ) -> storage.Bucket:
        return self.make(
            storage.Bucket,
            name,
            name=bucket,
            location=args["region"].upper(),
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=False,
            deletion_policy="PREVENT",
            versioning={"enabled": True},
            opts=kept(depends_on=after or []),
            **settings,
        )


def _rests(versions_days: int) -> list[dict[str, object]]:
    """Lifecycle rules that end what nobody sees: old versions and uploads that were broken off. No current object."""
    old = {"with_state": "ARCHIVED", "days_since_noncurrent_time": versions_days}
    return [
        {"action": {"type": "Delete"}, "condition": old},
        {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
    ]
