"""Policies of roles, keys and buckets on AWS, as documents. Pure."""

import json
from collections.abc import Mapping, Sequence

from sizewell.components.aws.instances import METRIC_NAMESPACE
from sizewell.components.tags import physical_name
from sizewell.sizing.errors import ServiceError


def partition(region: str) -> str:
    """The ARN partition of a region.

    >>> partition("us-east-1"), partition("cn-north-1")
    ('aws', 'aws-cn')
    """
    return "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"


def assume_role(service: str) -> str:
    return policy([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}])


def cluster_name(stack: str, region: str) -> str:
    """How AWS calls the EKS cluster that a stack builds in a region: the same for the stack and for what ends it.

    >>> cluster_name("dev-aws", "us-east-1")
    'sizewell-dev-aws-cluster-us-east-1'
    """
    return physical_name("sizewell", stack, f"cluster-{region}", limit=100)


def policy(statements: Sequence[Mapping[str, object]]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, sort_keys=True)


def key_policy(*, account: str, region: str) -> str:
    """The account administers the key; EC2 uses it for disks in its name, CloudWatch for logs and notices, EventBridge
    for stops that failed.

    Auto Scaling reaches the key through EC2 as its service-linked role; the role may not exist yet on a new account,
    so the statement names the account and the service and not the role (as the key that AWS manages does).
    """
    arn = partition(region)
    use = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]
    from_us = {"kms:CallerAccount": account, "kms:ViaService": f"ec2.{region}.amazonaws.com"}
    return policy(
        [
            {
                "Sid": "Account",
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:{arn}:iam::{account}:root"},
                "Action": "kms:*",
                "Resource": "*",
            },
            {
                "Sid": "Disks",
                "Effect": "Allow",
                "Principal": {"AWS": "*"},
                "Action": [*use, "kms:CreateGrant"],
                "Resource": "*",
                "Condition": {"StringEquals": from_us},
            },
            {
                "Sid": "Logs",
                "Effect": "Allow",
                "Principal": {"Service": f"logs.{region}.amazonaws.com"},
                "Action": use,
                "Resource": "*",
                "Condition": {
                    "ArnLike": {"kms:EncryptionContext:aws:logs:arn": f"arn:{arn}:logs:{region}:{account}:log-group:*"}
                },
            },
            {
                "Sid": "Notices",
                "Effect": "Allow",
                "Principal": {"Service": ["cloudwatch.amazonaws.com", "events.amazonaws.com"]},
                "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
                "Resource": "*",
                "Condition": {"StringEquals": {"aws:SourceAccount": account}},
            },
        ]
    )


def writer_policy(*, region: str, bucket: str, key_alias: str) -> str:
    """Put, get and list; no delete. The key is named by its alias, so the policy needs nothing from the other stack."""
    arn = f"arn:{partition(region)}:s3:::{bucket}"
    return policy(
        [
            {"Sid": "List", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": arn},
            {
                "Sid": "ReadWrite",
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"],
                "Resource": f"{arn}/*",
            },
            {
                "Sid": "Key",
                "Effect": "Allow",
                "Action": ["kms:GenerateDataKey", "kms:Decrypt"],
                "Resource": "*",
                "Condition": {
                    "ForAnyValue:StringEquals": {"kms:ResourceAliases": key_alias},
                    "StringEquals": {"kms:ViaService": f"s3.{region}.amazonaws.com"},
                },
            },
        ]
    )


def metrics_policy() -> str:
    """What the metrics agent does, and nothing more."""
    return policy(
        [
            {
                "Sid": "Metrics",
                "Effect": "Allow",
                "Action": "cloudwatch:PutMetricData",
                "Resource": "*",
                "Condition": {"StringEquals": {"cloudwatch:namespace": METRIC_NAMESPACE}},
            },
            {"Sid": "Tags", "Effect": "Allow", "Action": "ec2:DescribeTags", "Resource": "*"},
        ]
    )


def bucket_policy(*, region: str, bucket: str, logs_of: str = "") -> str:
    """TLS only, version 1.2 or later, for everyone; `logs_of` names the bucket whose access logs land here."""
    arn = f"arn:{partition(region)}:s3:::{bucket}"
    base = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": [arn, f"{arn}/*"]}
    statements: list[dict[str, object]] = [
        {**base, "Sid": "TlsOnly", "Condition": {"Bool": {"aws:SecureTransport": "false"}}},
        {**base, "Sid": "Tls12", "Condition": {"NumericLessThan": {"s3:TlsVersion": "1.2"}}},
    ]
    if logs_of:
        statements.append(
            {
                "Sid": "AccessLogs",
                "Effect": "Allow",
                "Principal": {"Service": "logging.s3.amazonaws.com"},
                "Action": "s3:PutObject",
                "Resource": f"{arn}/*",
                "Condition": {"ArnEquals": {"aws:SourceArn": f"arn:{partition(region)}:s3:::{logs_of}"}},
            }
        )
    return policy(statements)


def acceptable(
    name: str, *, offering_id: str, fee_usd: float, limit_usd: float, zone: str = "", zones: Sequence[str] = ()
) -> str:
    """The offering's id if it costs no more than was confirmed and lies in a zone of the pool's subnets ("": not said).

    An update stops before anything is bought: a block is paid at once, and machines outside of its zone get none of it.
    """
    if fee_usd > limit_usd:
        raise ServiceError(
            f"{name}: the offered Capacity Block costs {fee_usd:,.2f} USD, the confirmed maximum is "
            f"{limit_usd:,.2f} USD\n  fix: raise max_price in the spec, or wait for a cheaper offer"
        )
    if zone and zones and zone not in zones:
        raise ServiceError(
            f"{name}: the offered Capacity Block is in {zone}, the pool's subnets in {', '.join(zones)}\n"
            f"  fix: pulumi config set --path 'sizewell:zones[0]' {zone}, or wait for an offer there"
        )
    return offering_id


def account_of(arn: str) -> str:
    """The account id in an ARN.

    >>> account_of("arn:aws:iam::123456789012:role/nodes")
    '123456789012'
    """
    return arn.split(":")[4] if arn.count(":") >= 5 else arn
