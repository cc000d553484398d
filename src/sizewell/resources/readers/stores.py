"""Buckets and storage accounts with everything around them that decides who reads, who deletes and what remains."""

from __future__ import annotations

import json
from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers.cloud import StoreReaders
from sizewell.resources.readers.common import base
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Store
from sizewell.resources.stores import keeps_logs
from sizewell.resources.values import Count, Flag, canonical, count, either, every, flag, get, items, negated, text

S3: Final = "aws:s3/bucket:Bucket"
GCS: Final = "gcp:storage/bucket:Bucket"
ACCOUNT: Final = "azure-native:storage:StorageAccount"
_CHECKPOINT_WORDS: Final = ("checkpoint", "ckpt")


def stores(graph: Graph, readers: StoreReaders) -> tuple[Store, ...]:
    read_stores = []
    for resource in graph.plan.resources:
        reader = readers.get(canonical(resource.type))
        if reader is None:
            continue
        common = base(graph, resource)
        logs = keeps_logs(resource) or _is_log_target(graph, resource)
        values: dict[str, Any] = {
            **common,
            "logs": logs,
            "checkpoints": False if logs else _holds_checkpoints(resource, common),
            "gigabytes_expected": get(common["registration"], "bytesExpected"),
            **reader(graph, resource),
        }
        read_stores.append(Store(**values))
    return tuple(read_stores)


def _holds_checkpoints(resource: RecordedResource, common: Any) -> Flag:
    """By its component's statement, a tag that says so, or its name."""
    kind = get(common["registration"], "kind")
    if kind is UNKNOWN or kind == "checkpoints":
        return UNKNOWN if kind is UNKNOWN else True
    names = [resource.name, *(resource.inputs.get(key) for key in ("bucket", "name", "accountName", "bucketPrefix"))]
    tags = common["tags"]
    if isinstance(tags, dict):
        names.extend([*tags, *tags.values()])
    return any(isinstance(name, str) and any(word in name.lower() for word in _CHECKPOINT_WORDS) for name in names)


def _is_log_target(graph: Graph, resource: RecordedResource) -> bool:
    for kind, prop in (("aws:s3/bucketLogging:BucketLogging", "targetBucket"), (GCS, "logging")):
        sources = graph.referring(resource, kind, prop)
        if isinstance(sources, tuple) and sources:
            return True
    return False


def _side_resource(graph: Graph, bucket: RecordedResource, kind: str) -> RecordedResource | None:
    sides = graph.referring(bucket, f"aws:s3/{kind[0].lower()}{kind[1:]}:{kind}", "bucket")
    return sides[0] if isinstance(sides, tuple) and sides else None


def _side(graph: Graph, bucket: RecordedResource, kind: str, inline: str) -> object:
    """The inputs of a side resource that configures a bucket, or the bucket's own inline block; None, or UNKNOWN."""
    token = f"aws:s3/{kind[0].lower()}{kind[1:]}:{kind}"
    sides = graph.referring(bucket, token, "bucket")
    if isinstance(sides, tuple) and sides:
        return sides[0].inputs
    own = bucket.inputs.get(inline) if inline else None
    if own is not None:
        return own
    return UNKNOWN if isinstance(sides, Unknown) else None


def s3(graph: Graph, bucket: RecordedResource) -> dict[str, object]:
    versioning = _side(graph, bucket, "BucketVersioning", "versioning")
    encryption = _side(graph, bucket, "BucketServerSideEncryptionConfiguration", "serverSideEncryptionConfiguration")
    block = _side(graph, bucket, "BucketPublicAccessBlock", "")
    lifecycle = _side(graph, bucket, "BucketLifecycleConfiguration", "")
    policy = _side(graph, bucket, "BucketPolicy", "policy")
    lock = _side(graph, bucket, "BucketObjectLockConfiguration", "objectLockConfiguration")
    logging = _side(graph, bucket, "BucketLogging", "loggings")
    owners = _side(graph, bucket, "BucketOwnershipControls", "")
    status = get(versioning, "versioningConfiguration", "status", default=get(versioning, "enabled"))
    rules = items(get(encryption, "rules", default=get(encryption, "rule")))
    owner = _side_resource(graph, bucket, "BucketServerSideEncryptionConfiguration") or bucket
    keys: list[Flag] = [] if isinstance(rules, Unknown) else [_sse(graph, owner, rule) for rule in rules]
    expiries = items(get(lifecycle, "rules", default=bucket.inputs.get("lifecycleRules")))
    default_retention = get(lock, "rule", "defaultRetention")
    return {
        "versioned": flag(status),
        "own_key": UNKNOWN if isinstance(rules, Unknown) else either(*keys),
        "private": every(
            *(
                flag(get(block, name))
                for name in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
            )
        ),
        "encrypted_transport": _denies_plain_http(get(policy, "policy", default=policy)),
        "deletable": flag(bucket.inputs.get("forceDestroy")),
        "locked": every(
            flag(bucket.inputs.get("objectLockEnabled")),
            UNKNOWN if default_retention is UNKNOWN else default_retention is not None,
        ),
        "logged": UNKNOWN if logging is UNKNOWN else logging is not None,
        "uniform": _enforced(get(owners, "rule", "objectOwnership")),
        **_s3_lifecycle(expiries),
    }


def _sse(graph: Graph, owner: RecordedResource, rule: object) -> Flag:
    default = get(rule, "applyServerSideEncryptionByDefault")
    algorithm, key = get(default, "sseAlgorithm"), get(default, "kmsMasterKeyId")
    ours: Flag = UNKNOWN if algorithm is UNKNOWN else algorithm in {"aws:kms", "aws:kms:dsse"}
    return every(ours, graph.stated(owner, "rules", key))


def _enforced(ownership: object) -> Flag:
    # S3 turns object ACLs off by default since 2023; only an explicit other value brings them back
    return UNKNOWN if isinstance(ownership, Unknown) else ownership in {None, "BucketOwnerEnforced"}


def _s3_lifecycle(rules: Any) -> dict[str, Flag]:
    if isinstance(rules, Unknown):
        return {"expires_current": UNKNOWN, "cleans_versions": UNKNOWN, "cleans_uploads": UNKNOWN}
    live = [rule for rule in rules if get(rule, "status", default="Enabled") != "Disabled"]
    return {
        "expires_current": either(*(_present(get(rule, "expiration"), ("days", "date")) for rule in live)),
        "cleans_versions": either(
            *(_present(get(rule, "noncurrentVersionExpiration"), ("noncurrentDays", "days")) for rule in live)
        ),
        "cleans_uploads": either(
            *(
                _present(get(rule, "abortIncompleteMultipartUpload"), ("daysAfterInitiation",))
                if get(rule, "abortIncompleteMultipartUploadDays") is None
                else True
                for rule in live
            )
        ),
    }


def _present(block: object, keys: tuple[str, ...]) -> Flag:
    if isinstance(block, Unknown):
        return UNKNOWN
    return bool(block is not None and any(get(block, key) is not None for key in keys))


def _denies_plain_http(policy: object) -> Flag:
    """Whether a bucket policy denies requests without TLS."""
    if policy is None:
        return False
    document = document_of(policy)
    if isinstance(document, Unknown):
        return UNKNOWN
    statements = items(get(document, "Statement"))
    for statement in () if isinstance(statements, Unknown) else statements:
        condition = get(statement, "Condition", "Bool", "aws:SecureTransport")
        if get(statement, "Effect") == "Deny" and str(condition).lower() == "false":
            return True
    return False


def document_of(policy: object) -> object:
    """A policy document from its JSON text or its mapping; None where it is neither."""
    if policy is UNKNOWN or isinstance(policy, dict):
        return policy
    if isinstance(policy, str):
        try:
            return json.loads(policy)
        except ValueError:
            return None
    return None


def gcs(graph: Graph, bucket: RecordedResource) -> dict[str, object]:
    inputs = bucket.inputs
    rules = items(inputs.get("lifecycleRules"))
    deletes: list[Flag] = []
    versions: list[Flag] = []
    uploads: list[Flag] = []
    for rule in () if isinstance(rules, Unknown) else rules:
        action = get(rule, "action", "type")
        condition = get(rule, "condition")
        archived = get(condition, "withState") == "ARCHIVED" or any(
            get(condition, key) is not None for key in ("numNewerVersions", "daysSinceNoncurrentTime")
        )
        deletes.append(UNKNOWN if action is UNKNOWN or condition is UNKNOWN else action == "Delete" and not archived)
        old = archived or get(condition, "withState") != "LIVE"  # without a state it speaks of all of them
        versions.append(UNKNOWN if action is UNKNOWN or condition is UNKNOWN else action == "Delete" and old)
        uploads.append(UNKNOWN if action is UNKNOWN else action == "AbortIncompleteMultipartUpload")
    open_ended = isinstance(rules, Unknown)
    seconds = count(get(inputs, "softDeletePolicy", "retentionDurationSeconds"))
    key = get(inputs, "encryption", "defaultKmsKeyName")
    retention = get(inputs, "retentionPolicy", "retentionPeriod")
    logging = inputs.get("logging")
    days: Count = 7 if seconds is None else (seconds // 86400 if isinstance(seconds, int) else UNKNOWN)
    return {
        "versioned": flag(get(inputs, "versioning", "enabled")),
        "own_key": graph.stated(bucket, "encryption", key),
        "private": _is(get(inputs, "publicAccessPrevention"), "enforced"),
        "encrypted_transport": True,
        "deletable": flag(inputs.get("forceDestroy")),
        "expires_current": UNKNOWN if open_ended else either(*deletes),
        "cleans_versions": UNKNOWN if open_ended else either(*versions),
        "cleans_uploads": UNKNOWN if open_ended else either(*uploads),
        "soft_delete_days": days,  # the service's default is seven days
        "locked": either(retention is UNKNOWN or retention is not None, flag(inputs.get("enableObjectRetention"))),
        "logged": UNKNOWN if logging is UNKNOWN else logging is not None,
        "uniform": flag(inputs.get("uniformBucketLevelAccess")),
    }


def _is(value: object, wanted: str) -> Flag:
    return UNKNOWN if isinstance(value, Unknown) else bool(value == wanted)


def account(graph: Graph, account: RecordedResource) -> dict[str, object]:
    inputs = account.inputs
    services = graph.referring(account, "azure-native:storage:BlobServiceProperties", "accountName")
    service: object = services[0].inputs if isinstance(services, tuple) and services else None
    if isinstance(services, Unknown):
        service = UNKNOWN
    soft = get(service, "deleteRetentionPolicy")
    enabled = flag(get(soft, "enabled"))
    days: Count = count(get(soft, "days")) if enabled is True else (UNKNOWN if enabled is UNKNOWN else 0)
    policies = graph.referring(account, "azure-native:storage:ManagementPolicy", "accountName")
    containers = graph.referring(account, "azure-native:storage:BlobContainer", "accountName")
    open_access = inputs.get("publicNetworkAccess")
    immutability = get(inputs, "immutableStorageWithVersioning", "enabled")
    worm = graph.referring(account, "azure-native:storage:BlobContainerImmutabilityPolicy", "accountName")
    per_container: Flag = False
    if isinstance(containers, tuple):
        per_container = either(
            *(flag(get(entry.inputs, "immutableStorageWithVersioning", "enabled")) for entry in containers)
        )
    return {
        "versioned": flag(get(service, "isVersioningEnabled")),
        "own_key": _is(get(inputs, "encryption", "keySource"), "Microsoft.Keyvault"),
        "private": every(
            negated(flag(inputs.get("allowBlobPublicAccess"), default=False)),
            _closed(open_access, get(inputs, "networkRuleSet", "defaultAction")),
        ),
        "encrypted_transport": every(
            flag(inputs.get("enableHttpsTrafficOnly"), default=True),
            _modern(text(inputs.get("minimumTlsVersion"), "TLS1_0")),
        ),
        "deletable": False,
        "soft_delete_days": days,
        "locked": either(flag(immutability), UNKNOWN if isinstance(worm, Unknown) else bool(worm), per_container),
        "logged": False,
        "uniform": every(
            negated(flag(inputs.get("allowSharedKeyAccess"), default=True)),
            negated(flag(inputs.get("isLocalUserEnabled"))),
        ),
        **_azure_lifecycle(policies),
    }


def _closed(access: object, default_action: object) -> Flag:
    return either(_is(access, "Disabled"), _is(default_action, "Deny"))


def _modern(version: object) -> Flag:
    return UNKNOWN if isinstance(version, Unknown) else version in {"TLS1_2", "TLS1_3"}


def _azure_lifecycle(policies: Any) -> dict[str, Flag]:
    if isinstance(policies, Unknown):
        return {"expires_current": UNKNOWN, "cleans_versions": UNKNOWN}
    current: list[Flag] = []
    versions: list[Flag] = []
    for policy in policies:
        rules = items(get(policy.inputs, "policy", "rules"))
        if isinstance(rules, Unknown):
            return {"expires_current": UNKNOWN, "cleans_versions": UNKNOWN}
        for rule in rules:
            actions = get(rule, "definition", "actions")
            current.append(_present(get(actions, "baseBlob"), ("delete",)))
            versions.append(_present(get(actions, "version"), ("delete",)))
    return {"expires_current": either(*current), "cleans_versions": either(*versions)}
