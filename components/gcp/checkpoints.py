"""The checkpoint bucket of one workload on Google Cloud; stands in a stack of its own."""

from typing import Any

import pulumi
from pulumi_gcp import kms, serviceaccount, storage

from components.gcp.args import CheckpointStoreArgs
from components.gcp.checks import check_checkpoint_store
from components.owned import Owned

DAY_S = 86400


class CheckpointStore(Owned):
    """A versioned, encrypted, private bucket that no destroy reaches, and an account to write but not delete."""

    bucket: pulumi.Output[str]
    """Name of the bucket."""
    writer_email: pulumi.Output[str]
    """Service account of a writer: create, get and list."""

    def __init__(self, name: str, args: CheckpointStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_checkpoint_store(name, args)
        super().__init__(
            "sizewell-gcp:index:CheckpointStore",
            name,
            args,
            {
                "kind": "checkpoints",
                "name": name,
                "environment": args["environment"],
                "cloud": "gcp",
                "region": args["region"],
            },
            opts,
        )
        production = args["environment"] == "prod"
        soft_delete_days = args.get("soft_delete_days", 30 if production else 7)
        key, grant = self._key(name, args)
        logs = self._bucket(
            f"{name}-logs",
            f"{args['bucket'][:58]}-logs",
            args,
            lifecycle_rules=[{"action": {"type": "Delete"}, "condition": {"age": 400}}],
            soft_delete_policy={"retention_duration_seconds": 7 * DAY_S},
        )
        bucket = self._bucket(
            name,
            args["bucket"],
            args,
            after=[grant],
            encryption={"default_kms_key_name": key.id},
            soft_delete_policy={"retention_duration_seconds": soft_delete_days * DAY_S},
            logging={"log_bucket": logs.name, "log_object_prefix": "checkpoints"},
            lifecycle_rules=[  # none touches a current object: a checkpoint ends by a person's hand
                {
                    "action": {"type": "Delete"},
                    "condition": {
                        "with_state": "ARCHIVED",
                        "days_since_noncurrent_time": args.get("versions_days", 30),
                    },
                },
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
            ],
        )
        writer = serviceaccount.Account(
            f"{name}-writer",
            account_id=args["writer_account"],
            display_name=f"Writes checkpoints of {name}; cannot delete",
            opts=self.child(),
        )
        for role in ("objectCreator", "objectViewer"):
            storage.BucketIAMMember(
                f"{name}-{role}",
                bucket=bucket.name,
                role=f"roles/storage.{role}",
                member=writer.member,
                opts=self.child(),
            )
        self.bucket = bucket.name
        self.writer_email = writer.email
        self.register_outputs({"bucket": self.bucket, "writerEmail": self.writer_email})

    def _kept(self, **options: Any) -> pulumi.ResourceOptions:
        return self.child(protect=True, retain_on_delete=True, **options)

    def _key(self, name: str, args: CheckpointStoreArgs) -> tuple[kms.CryptoKey, kms.CryptoKeyIAMMember]:
        ring = kms.KeyRing(f"{name}-key", name=args["bucket"], location=args["region"], opts=self._kept())
        key = kms.CryptoKey(
            f"{name}-key",
            name="checkpoints",
            key_ring=ring.id,
            rotation_period="7776000s",
            destroy_scheduled_duration="2592000s",
            labels=self.tags_of(kms.CryptoKey, f"{name}-key"),
            opts=self._kept(),
        )
        agent = storage.get_project_service_account_output(opts=pulumi.InvokeOptions(parent=self))
        grant = kms.CryptoKeyIAMMember(
            f"{name}-key",
            crypto_key_id=key.id,
            role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
            member=agent.member,
            opts=self._kept(),
        )
        return key, grant

    def _bucket(
        self,
        name: str,
        bucket: str,
        args: CheckpointStoreArgs,
        *,
        after: list[pulumi.Resource] | None = None,
        **settings: Any,
    ) -> storage.Bucket:
        return storage.Bucket(
            name,
            name=bucket,
            location=args["region"].upper(),
            storage_class="STANDARD",
            uniform_bucket_level_access=True,
            public_access_prevention="enforced",
            force_destroy=False,
            deletion_policy="PREVENT",
            versioning={"enabled": True},
            labels=self.tags_of(storage.Bucket, name),
            opts=self._kept(depends_on=after or []),
            **settings,
        )
