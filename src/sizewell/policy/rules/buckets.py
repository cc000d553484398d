"""Buckets and file shares: who reads them, and whether what was deleted can be restored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sizewell.policy.rule import Parameter, Parameters, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Grant, Store, Thing
from sizewell.resources.values import get, items
from sizewell.sizing.units import plural


@rule(
    "bucket-public",
    area="safety",
    subject="stores",
    prevents="data and weights exposed to the internet",
)
def bucket_public(store: Store, _: Parameters) -> Verdict:
    """No bucket can be made public, not even by a later mistake.

    >>> from sizewell.policy.examples import store
    >>> bucket_public(store(), {}).fix
    'block public access on the bucket (all four settings, enforced prevention, or a closed network)'
    """
    return require(
        store.private,
        message="one wrong grant would expose data and weights to the internet, with egress charges",
        fix="block public access on the bucket (all four settings, enforced prevention, or a closed network)",
        unknown="its public access settings",
    )


@rule(
    "container-public",
    area="safety",
    subject="things",
    around_accelerators=True,
    prevents="weights and data readable by anyone",
    clouds=("azure",),
    types=("azure-native:storage:BlobContainer",),
)
def container_public(thing: Thing, _: Parameters) -> Verdict:
    """Blobs are read by whoever has a role, not by everybody.

    >>> from sizewell.policy.examples import thing
    >>> container_public(thing(inputs={"publicAccess": "Blob"}), {}).fix
    'set publicAccess to None'
    """
    stated = thing.inputs.get("publicAccess")
    if stated is UNKNOWN:
        return Undetermined("who can read it")
    if stated in (None, "None"):
        return None
    return Violation(
        "anyone on the internet may read its blobs, and their egress is billed to you", "set publicAccess to None"
    )


_EVERYBODY: Final = ("*", "AWS:*")


@rule(
    "bucket-policy-open",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="data and queues open to anyone",
    clouds=("aws",),
    types=(
        "aws:s3/bucketPolicy:BucketPolicy",
        "aws:sqs/queuePolicy:QueuePolicy",
        "aws:sns/topicPolicy:TopicPolicy",
        "aws:ecr/repositoryPolicy:RepositoryPolicy",
        "aws:kms/key:Key",
        "aws:kms/keyPolicy:KeyPolicy",
        "aws:secretsmanager/secret:Secret",
        "aws:secretsmanager/secretPolicy:SecretPolicy",
        "aws:efs/fileSystemPolicy:FileSystemPolicy",
        "aws:opensearch/domain:Domain",
        "aws:opensearch/domainPolicy:DomainPolicy",
        "aws:elasticsearch/domainPolicy:DomainPolicy",
        "aws:backup/vaultPolicy:VaultPolicy",
        "aws:glacier/vault:Vault",
        "aws:s3/accessPoint:AccessPoint",
        "aws:s3control/accessPointPolicy:AccessPointPolicy",
        "aws:kinesis/resourcePolicy:ResourcePolicy",
    ),
)
def bucket_policy_open(grant: Grant, _: Parameters) -> Verdict:
    """A resource policy that allows everybody opens what public-access blocks were meant to close.

    >>> from sizewell.policy.examples import grant
    >>> bucket_policy_open(grant(principal="*", actions=("s3:GetObject",)), {}).fix
    'name the principals, or add a condition on the organization'
    """
    if grant.effect != "Allow" or _narrows(grant.conditions):
        return None
    if isinstance(grant.principal, Unknown):
        return Undetermined("the policy")
    if grant.principal not in _EVERYBODY:
        return None
    return Violation(
        "anyone on the internet may use it, at your cost",
        "name the principals, or add a condition on the organization",
    )


def _narrows(conditions: Any) -> bool:
    """Whether a condition leaves fewer than everybody: who or where from, and not a pattern that all meet."""
    if not isinstance(conditions, Mapping):
        return bool(conditions)
    return any(
        key.lower().startswith(_KEYS_ABOUT_CALLERS)
        and not set(map(str, value if isinstance(value, list) else [value])) & {"*", "0.0.0.0/0"}
        for pairs in conditions.values()
        if isinstance(pairs, Mapping)
        for key, value in pairs.items()
    )


_KEYS_ABOUT_CALLERS: Final = (
    "aws:principal", "aws:source", "aws:userid", "aws:username", "aws:via", "kms:calleraccount", "kms:viaservice",
    "s3:dataaccesspoint", "sns:endpoint", "elasticfilesystem:accesspointarn", "aws:sourcevpc",
)  # fmt: skip


@rule(
    "bucket-by-policy-alone",
    area="safety",
    subject="stores",
    prevents="access that bypasses policies",
)
def bucket_by_policy_alone(store: Store, _: Parameters) -> Verdict:
    """Access is by policy alone: object ACLs and account keys bypass every review.

    >>> from sizewell.policy.examples import store
    >>> bucket_by_policy_alone(store(uniform=False), {}).fix
    'enforce bucket-owner ownership, uniform access, or switch shared keys off'
    """
    return require(
        store.uniform,
        message="object ACLs or account keys give access that bypasses the reviewed policies",
        fix="enforce bucket-owner ownership, uniform access, or switch shared keys off",
        unknown="how access is controlled",
    )


@rule(
    "bucket-plain-http",
    area="safety",
    subject="stores",
    prevents="data intercepted in transit",
    levels={"dev": "advisory"},
    debatable=True,
)
def bucket_plain_http(store: Store, _: Parameters) -> Verdict:
    """Buckets accept requests over TLS only.

    >>> from sizewell.policy.examples import store
    >>> bucket_plain_http(store(), {}).fix
    'deny requests without TLS (bucket policy aws:SecureTransport, HTTPS only with TLS 1.2)'
    """
    return require(
        store.encrypted_transport,
        message="data and credentials can be intercepted: the store also accepts requests without TLS 1.2",
        fix="deny requests without TLS (bucket policy aws:SecureTransport, HTTPS only with TLS 1.2)",
        unknown="the policy",
    )


@rule(
    "bucket-access-logged",
    area="safety",
    subject="stores",
    prevents="leaks that cannot be traced",
    level="advisory",
)
def bucket_access_logged(store: Store, _: Parameters) -> Verdict:
    """In production, access to buckets is logged, so that it is known who read the weights.

    >>> from sizewell.policy.examples import store
    >>> bucket_access_logged(store(environment="prod"), {}).fix
    'log access to a bucket of its own'
    """
    if store.environment != "prod" or store.logs or store.type == "azure-native:storage:StorageAccount":
        return None
    return require(
        store.logged,
        message="access is not logged: after a leak it is unknown who read what",
        fix="log access to a bucket of its own",
        unknown="the access log",
    )


@rule(
    "soft-delete",
    area="safety",
    subject="stores",
    prevents="deletions that cannot be undone",
    debatable=True,
    clouds=("gcp", "azure"),
    types=("gcp:storage/bucket:Bucket", "azure-native:storage:StorageAccount"),
    parameters={
        "days": Parameter(default=7, schema={"type": "integer", "minimum": 1}, meaning="least days of soft delete")
    },
)
def soft_delete(store: Store, parameters: Parameters) -> Verdict:
    """What was deleted by mistake can be restored for some days.

    >>> from sizewell.policy.examples import store
    >>> soft_delete(store(soft_delete_days=0), {"days": 7}).fix
    'keep deleted objects for at least 7 days'
    >>> soft_delete(store(soft_delete_days=7), {"days": 7}) is None
    True
    """
    if store.logs:
        return None
    if isinstance(store.soft_delete_days, Unknown):
        return Undetermined("the soft delete policy")
    if (store.soft_delete_days or 0) >= parameters["days"]:
        return None
    return Violation(
        f"what is deleted by mistake cannot be restored after {plural(store.soft_delete_days or 0, 'day')}",
        f"keep deleted objects for at least {parameters['days']} days",
    )


_WHOLE_INTERNET: Final = ("0.0.0.0/0", "::/0")


@rule(
    "file-share-open",
    area="safety",
    subject="things",
    prevents="datasets that any machine may delete",
    level="advisory",
    clouds=("gcp",),
    types=("gcp:filestore/instance:Instance",),
)
def file_share_open(thing: Thing, _: Parameters) -> Verdict:
    """A file share is exported to named ranges, and root of a client is not root of the data.

    >>> from sizewell.policy.examples import thing
    >>> bare = {"fileShares": {"name": "data", "capacityGb": 1024}}
    >>> file_share_open(thing(type="gcp:filestore/instance:Instance", inputs=bare), {}).fix
    'set nfsExportOptions with ipRanges and squashMode ROOT_SQUASH'
    """
    fix = "set nfsExportOptions with ipRanges and squashMode ROOT_SQUASH"
    listed: Any = items(get(thing.inputs, "fileShares", "nfsExportOptions"))
    if isinstance(listed, Unknown):
        return Undetermined("the export options")
    if not listed:
        return Violation("any machine in the network can delete the datasets as root", fix)
    for entry in listed:
        ranges, squash = items(get(entry, "ipRanges")), get(entry, "squashMode", default="NO_ROOT_SQUASH")
        if isinstance(ranges, Unknown) or UNKNOWN in (*ranges, squash):
            return Undetermined("the export options")
        if not ranges or set(_WHOLE_INTERNET) & set(ranges):
            return Violation("any machine in the network can mount the datasets", fix)
        if squash != "ROOT_SQUASH" and get(entry, "accessMode") != "READ_ONLY":
            return Violation("root on any client can delete all datasets", fix)
    return None
