"""The checkpoint bucket of one workload on AWS; stands in a stack of its own."""

import pulumi
from pulumi_aws import iam, kms, s3

from sizewell.components.aws import policies
from sizewell.components.aws.args import CheckpointStoreArgs
from sizewell.components.aws.checks import check_checkpoint_store
from sizewell.components.owned import Owned, kept


class CheckpointStore(Owned):
    """A versioned, locked, encrypted, private bucket that is retained on destroy, and a policy to write but not
    delete.
    """

    bucket: pulumi.Output[str]
    """Name of the bucket."""
    bucket_arn: pulumi.Output[str]
    """ARN of the bucket."""
    writer_policy_arn: pulumi.Output[str]
    """IAM policy of a writer: put, get and list."""

    def __init__(self, name: str, args: CheckpointStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_checkpoint_store(name, args)
        super().__init__(name, args, opts, kind="checkpoints")
        production = args["environment"] == "prod"
        key = self._key(name, args)
        logs_name = f"{args['bucket'][:58]}-logs"
        logs = self._bucket(f"{name}-logs", logs_name, locked=False)
        statements = policies.bucket_policy(region=args["region"], bucket=logs_name, logs_of=args["bucket"])
        self._private(f"{name}-logs", logs, statements)
        self.make(
            s3.BucketServerSideEncryptionConfiguration,
            f"{name}-logs",
            bucket=logs.id,
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=kept(),
        )
        self.make(
            s3.BucketLifecycleConfiguration,
            f"{name}-logs",
            bucket=logs.id,
            rules=[
                {
                    "id": "access-logs",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "expiration": {"days": 400},
                    "noncurrent_version_expiration": {"noncurrent_days": 7},
                    "abort_incomplete_multipart_upload": {"days_after_initiation": 7},
                }
            ],
            opts=kept(),
        )

        bucket = self._bucket(name, args["bucket"], locked=True)
        self._private(name, bucket, policies.bucket_policy(region=args["region"], bucket=args["bucket"]))
        retention = args.get("retention_days", 30 if production else 7)
        self.make(
            s3.BucketServerSideEncryptionConfiguration,
            name,
            bucket=bucket.id,
            rules=[
                {
                    "apply_server_side_encryption_by_default": {
                        "sse_algorithm": "aws:kms",
                        "kms_master_key_id": key.arn,
                    },
                    "bucket_key_enabled": True,
                }
            ],
            opts=kept(),
        )
        self.make(
            s3.BucketObjectLockConfiguration,
            name,
            bucket=bucket.id,
            rule={"default_retention": {"mode": "GOVERNANCE", "days": retention}},
            opts=kept(),
        )
        self.make(  # no expiration of current objects: a checkpoint ends by a person's hand
            s3.BucketLifecycleConfiguration,
            name,
            bucket=bucket.id,
            rules=[
                {
                    "id": "old-versions",
                    "status": "Enabled",
                    "filter": {"prefix": ""},
                    "noncurrent_version_expiration": {"noncurrent_days": args.get("versions_days", max(30, retention))},
                    "abort_incomplete_multipart_upload": {"days_after_initiation": 7},
                }
            ],
            opts=kept(),
        )
        self.make(
            s3.BucketLogging, name, bucket=bucket.id, target_bucket=logs.id, target_prefix="checkpoints/", opts=kept()
        )
        self.make(s3.BucketNotification, name, bucket=bucket.id, eventbridge=True, opts=kept())
        writer = self.make(
            iam.Policy,
            f"{name}-writer",
            description=f"Writes checkpoints to {args['bucket']}; cannot delete",
            policy=policies.writer_policy(
                region=args["region"], bucket=args["bucket"], key_alias=f"alias/{args['bucket']}"
            ),
        )
        self.bucket = bucket.id
        self.bucket_arn = bucket.arn
        self.writer_policy_arn = writer.arn
        self.register()

    def _key(self, name: str, args: CheckpointStoreArgs) -> kms.Key:
        key = self.make(
            kms.Key,
            f"{name}-key",
            description=f"Checkpoints in {args['bucket']}",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            opts=kept(),
        )
        self.make(kms.Alias, f"{name}-key", name=f"alias/{args['bucket']}", target_key_id=key.key_id, opts=kept())
        return key

    def _bucket(self, name: str, bucket: str, *, locked: bool) -> s3.Bucket:
        made = self.make(s3.Bucket, name, bucket=bucket, force_destroy=False, object_lock_enabled=locked, opts=kept())
        self.make(
            s3.BucketVersioning, name, bucket=made.id, versioning_configuration={"status": "Enabled"}, opts=kept()
        )
        return made

    def _private(self, name: str, bucket: s3.Bucket, statements: str) -> None:
        self.make(
            s3.BucketOwnershipControls,
            name,
            bucket=bucket.id,
            rule={"object_ownership": "BucketOwnerEnforced"},
            opts=kept(),
        )
        block = self.make(
            s3.BucketPublicAccessBlock,
            name,
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=kept(),
        )
        self.make(s3.BucketPolicy, name, bucket=bucket.id, policy=statements, opts=kept(depends_on=[block]))
