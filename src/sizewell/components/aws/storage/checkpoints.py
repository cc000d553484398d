"""The checkpoint bucket of one workload on AWS; stands in a stack of its own."""

from typing import Any

import pulumi
from pulumi_aws import iam, kms, s3

from sizewell.components.aws import plans
from sizewell.components.aws.args import CheckpointStoreArgs
from sizewell.components.aws.checks import check_checkpoint_store
from sizewell.components.owned import Owned


class CheckpointStore(Owned):
    """A versioned, locked, encrypted, private bucket that no destroy reaches, and a policy to write but not delete."""

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
        statements = plans.bucket_policy(region=args["region"], bucket=logs_name, logs_of=args["bucket"])
        self._private(f"{name}-logs", logs, statements)
        s3.BucketServerSideEncryptionConfiguration(
            f"{name}-logs",
            bucket=logs.id,
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=self._kept(),
        )
        s3.BucketLifecycleConfiguration(
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
            opts=self._kept(),
        )

        bucket = self._bucket(name, args["bucket"], locked=True)
        self._private(name, bucket, plans.bucket_policy(region=args["region"], bucket=args["bucket"]))
        retention = args.get("retention_days", 30 if production else 7)
        s3.BucketServerSideEncryptionConfiguration(
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
            opts=self._kept(),
        )
        s3.BucketObjectLockConfiguration(
            name,
            bucket=bucket.id,
            rule={"default_retention": {"mode": "GOVERNANCE", "days": retention}},
            opts=self._kept(),
        )
        s3.BucketLifecycleConfiguration(  # no expiration of current objects: a checkpoint ends by a person's hand
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
            opts=self._kept(),
        )
        s3.BucketLogging(name, bucket=bucket.id, target_bucket=logs.id, target_prefix="checkpoints/", opts=self._kept())
        s3.BucketNotification(name, bucket=bucket.id, eventbridge=True, opts=self._kept())
        writer = iam.Policy(
            f"{name}-writer",
            name=self.physical(f"{name}-writer", 128),
            description=f"Writes checkpoints to {args['bucket']}; cannot delete",
            policy=plans.writer_policy(
                region=args["region"], bucket=args["bucket"], key_alias=f"alias/{args['bucket']}"
            ),
            tags=self.tags_of(iam.Policy, f"{name}-writer"),
            opts=self.child(),
        )
        self.bucket = bucket.id
        self.bucket_arn = bucket.arn
        self.writer_policy_arn = writer.arn
        self.register_outputs(
            {
                "bucket": self.bucket,
                "bucketArn": self.bucket_arn,
                "writerPolicyArn": self.writer_policy_arn,
            }
        )

    def _kept(self, **options: Any) -> pulumi.ResourceOptions:
        """Protected and retained: the bucket, and everything without which it would be public or short-lived."""
        return self.child(protect=True, retain_on_delete=True, **options)

    def _key(self, name: str, args: CheckpointStoreArgs) -> kms.Key:
        key = kms.Key(
            f"{name}-key",
            description=f"Checkpoints in {args['bucket']}",
            enable_key_rotation=True,
            deletion_window_in_days=30,
            tags=self.tags_of(kms.Key, f"{name}-key"),
            opts=self._kept(),
        )
        kms.Alias(f"{name}-key", name=f"alias/{args['bucket']}", target_key_id=key.key_id, opts=self._kept())
        return key

    def _bucket(self, name: str, bucket: str, *, locked: bool) -> s3.Bucket:
        made = s3.Bucket(
            name,
            bucket=bucket,
            force_destroy=False,
            object_lock_enabled=locked,
            tags=self.tags_of(s3.Bucket, name),
            opts=self._kept(),
        )
        s3.BucketVersioning(name, bucket=made.id, versioning_configuration={"status": "Enabled"}, opts=self._kept())
        return made

    def _private(self, name: str, bucket: s3.Bucket, statements: str) -> None:
        s3.BucketOwnershipControls(
            name, bucket=bucket.id, rule={"object_ownership": "BucketOwnerEnforced"}, opts=self._kept()
        )
        block = s3.BucketPublicAccessBlock(
            name,
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=self._kept(),
        )
        s3.BucketPolicy(name, bucket=bucket.id, policy=statements, opts=self._kept(depends_on=[block]))
