"""Checkpoints outlive their cluster: protected, retained, versioned, locked, and not deleted by their writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.policy.rule import Parameters, StackVerdicts, Undetermined, Verdict, Violation, forbid, require, rule
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Grant, StackFacts, Store

_CLOUDS_THAT_REFUSE: Final = ("aws", "gcp")


@rule(
    "checkpoint-protected",
    area="safety",
    subject="stores",
    around_accelerators=True,
    prevents="checkpoints lost with their stack",
)
def checkpoint_protected(store: Store, _: Parameters) -> Verdict:
    """A checkpoint store is protected, so that a destroy cannot delete it.

    AWS and Google Cloud refuse to delete a bucket that holds objects, unless it says that they may go with it.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_protected(store(checkpoints=True, cloud="azure"), {}).fix
    'set protect=True on the bucket'
    >>> checkpoint_protected(store(checkpoints=True, protect=True), {}) is None
    True
    """
    if store.checkpoints is False or store.protect:
        return None
    if store.cloud in _CLOUDS_THAT_REFUSE and store.deletable is False:
        return None
    return Violation(
        "not protected: `pulumi destroy` deletes every checkpoint",
        "set protect=True on the bucket",
    )


@rule(
    "checkpoint-retained",
    area="safety",
    subject="stores",
    around_accelerators=True,
    prevents="checkpoints lost with their stack",
    debatable=True,
    evaluator_only=True,
)
def checkpoint_retained(store: Store, _: Parameters) -> Verdict:
    """A checkpoint store is retained when its stack is destroyed; only the evaluator can see this option.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_retained(store(checkpoints=True), {}).fix
    'set retain_on_delete=True on the bucket'
    >>> checkpoint_retained(store(checkpoints=True, retain_on_delete=True), {}) is None
    True
    """
    if store.checkpoints is False or store.retained:
        return None
    return Violation(
        "not retained: a destroy or a renamed resource deletes the bucket with every checkpoint",
        "set retain_on_delete=True on the bucket",
    )


@rule(
    "checkpoint-versioned",
    area="safety",
    subject="stores",
    around_accelerators=True,
    prevents="good checkpoints overwritten by broken ones",
)
def checkpoint_versioned(store: Store, _: Parameters) -> Verdict:
    """A checkpoint store keeps versions: a half-written save must not replace the last good one.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_versioned(store(checkpoints=True), {}).fix
    'turn versioning on'
    """
    if store.checkpoints is False:
        return None
    return require(
        store.versioned,
        message="without versioning an interrupted save can overwrite the last good checkpoint",
        fix="turn versioning on",
        unknown="versioning",
    )


_LOCKED_BY: Final[Mapping[str, str]] = {
    "aws": "add object lock",
    "gcp": "add object retention",
    "azure": "add a policy of immutability to its containers",
}


@rule(
    "checkpoint-locked",
    area="safety",
    subject="stores",
    around_accelerators=True,
    prevents="checkpoints deleted by a faulty script or a stolen key",
    levels={"dev": "advisory"},
    debatable=True,
)
def checkpoint_locked(store: Store, _: Parameters) -> Verdict:
    """Checkpoints cannot be deleted for some days, even with the permission to delete.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_locked(store(checkpoints=True), {}).fix
    'add object lock'
    """
    if store.checkpoints is False:
        return None
    return require(
        store.locked,
        message="without a lock a stolen key or a faulty script can delete every version of every checkpoint",
        fix=_LOCKED_BY.get(store.cloud, "make what it holds immutable for some days"),
        unknown="the lock",
    )


_LOCKS = (
    ("azure-native:authorization:ManagementLockByScope", "scope"),
    ("azure-native:authorization:ManagementLockAtResourceLevel", "resourceName"),
    ("azure-native:authorization:ManagementLockAtResourceGroupLevel", "resourceGroupName"),
)


@rule(
    "checkpoint-account-unlocked",
    area="safety",
    subject="stack",
    prevents="checkpoints deleted together with their account",
    level="advisory",
    clouds=("azure",),
)
def checkpoint_account_unlocked(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """An Azure storage account with checkpoints has a lock: immutability guards the blobs, not the account.

    >>> from sizewell.policy.examples import stack, store
    >>> bare = store(type="azure-native:storage:StorageAccount", cloud="azure", checkpoints=True)
    >>> checkpoint_account_unlocked(stack(stores=(bare,)), {})[0][1].fix
    'add a ManagementLock of level CanNotDelete'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for store in facts.stores:
        if store.type != "azure-native:storage:StorageAccount" or store.checkpoints is not True:
            continue
        locks = [facts.graph.referring(store.resource, kind, prop) for kind, prop in _LOCKS]
        if any(not isinstance(lock, Unknown) and lock for lock in locks):
            verdicts.append((store.urn, None))
        elif any(isinstance(lock, Unknown) for lock in locks):
            verdicts.append((store.urn, Undetermined("what the locks apply to")))
        else:
            message = "the account has no lock: one call deletes it with every checkpoint"
            verdicts.append((store.urn, Violation(message, "add a ManagementLock of level CanNotDelete")))
    return verdicts


@rule(
    "checkpoint-expires",
    area="safety",
    subject="stores",
    around_accelerators=True,
    prevents="checkpoints deleted by a lifecycle rule",
)
def checkpoint_expires(store: Store, _: Parameters) -> Verdict:
    """No lifecycle rule deletes current checkpoints: the newest one may be the only good one.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_expires(store(checkpoints=True, expires_current=True), {}).fix
    'expire noncurrent versions only'
    """
    if store.checkpoints is False:
        return None
    return forbid(
        store.expires_current,
        message="a lifecycle rule deletes current objects: after a pause there is no checkpoint to resume from",
        fix="expire noncurrent versions only",
        unknown="the lifecycle rules",
    )


@rule(
    "checkpoint-deletable",
    area="safety",
    subject="stores",
    around_accelerators=True,
    prevents="data deleted together with its bucket",
)
def checkpoint_deletable(store: Store, _: Parameters) -> Verdict:
    """A bucket that may be destroyed with its objects holds no checkpoints, and nothing in production.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_deletable(store(checkpoints=True, deletable=True), {}).fix
    'set forceDestroy to false'
    >>> checkpoint_deletable(store(checkpoints=False, deletable=True, environment="dev"), {}) is None
    True
    """
    if store.checkpoints is False and store.environment != "prod":
        return None
    return forbid(
        store.deletable,
        message="deleting the bucket deletes everything in it without confirmation",
        fix="set forceDestroy to false",
        unknown="forceDestroy",
    )


@rule(
    "checkpoint-changes-unseen",
    area="safety",
    subject="stack",
    prevents="deleted checkpoints noticed too late to restore",
    level="advisory",
    clouds=("aws",),
)
def checkpoint_changes_unseen(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """In production a checkpoint store announces what changes in it: a deletion is noticed while it can be undone.

    >>> from sizewell.policy.examples import stack, store
    >>> checkpoint_changes_unseen(stack(stores=(store(checkpoints=True, environment="prod"),)), {})[0][1].fix
    'add a BucketNotification with eventbridge: true'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for store in facts.stores:
        if store.type != "aws:s3/bucket:Bucket" or store.environment != "prod":
            continue
        if store.checkpoints is not True or store.logs:
            continue
        told = facts.graph.referring(store.resource, "aws:s3/bucketNotification:BucketNotification", "bucket")
        if isinstance(told, Unknown):
            verdicts.append((store.urn, Undetermined("the receivers of its change events")))
        elif told:
            verdicts.append((store.urn, None))
        else:
            message = "deletions of checkpoints are not reported, so the time to restore them may pass unnoticed"
            verdicts.append((store.urn, Violation(message, "add a BucketNotification with eventbridge: true")))
    return verdicts


@rule(
    "checkpoint-own-key",
    area="safety",
    subject="stores",
    prevents="weights that leak with access to the bucket",
    levels={"dev": "advisory"},
    debatable=True,
)
def checkpoint_own_key(store: Store, _: Parameters) -> Verdict:
    """Checkpoints are encrypted with a customer-managed key: one grant controls who can read them.

    >>> from sizewell.policy.examples import store
    >>> checkpoint_own_key(store(checkpoints=True), {}).fix
    'encrypt with a customer-managed key'
    """
    if store.checkpoints is False:
        return None
    return require(
        store.own_key,
        message="no customer-managed key: anyone with access to the bucket can read the weights",
        fix="encrypt with a customer-managed key",
        unknown="the encryption",
    )


_DELETING_ACTIONS: Final = (
    "s3:DeleteObject",
    "s3:DeleteObjectVersion",
    "s3:DeleteBucket",
    "s3:PutLifecycleConfiguration",
    "s3:PutBucketVersioning",
    "s3:BypassGovernanceRetention",
    "storage.objects.delete",
    "storage.buckets.delete",
    "storage.buckets.update",
)
_DELETING_ACTIONS_AZURE: Final = (
    "/blobs/delete",
    "/containers/delete",
    "Microsoft.Storage/storageAccounts/delete",
    "/immutabilityPolicies/delete",
)


_STATES: Final = "/.pulumi/"  # where Pulumi's engine keeps states and locks, which it has to replace


@rule(
    "writer-can-delete",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="checkpoints deleted by the job that wrote them",
)
def writer_can_delete(grant: Grant, _: Parameters) -> Verdict:
    """The identity that writes checkpoints cannot delete them: a compromised job must not delete older ones.

    >>> from sizewell.policy.examples import grant
    >>> writer = grant(actions=("s3:PutObject", "s3:DeleteObject"), targets=("arn:aws:s3:::ckpt/*",))
    >>> writer_can_delete(writer, {}).fix
    'drop s3:DeleteObject from the policy'
    """
    if grant.effect != "Allow" or grant.trust or grant.key_policy:
        return None
    if grant.cloud == "gcp" and grant.role is UNKNOWN:
        return Undetermined("the role")
    if grant.cloud == "gcp":
        if isinstance(grant.actions, Unknown):
            return Undetermined("the permissions")
        bad = [str(grant.role)] if grant.role in ("roles/storage.objectAdmin", "roles/storage.admin") else []
        bad += [action for action in grant.actions if action in _DELETING_ACTIONS]
    elif isinstance(grant.actions, Unknown):
        return Undetermined("the policy document")
    elif grant.cloud == "azure":
        bad = [action for action in grant.actions if action.endswith(_DELETING_ACTIONS_AZURE)]
    else:
        engine = isinstance(grant.targets, tuple) and all(_STATES in target for target in grant.targets)
        writes = not engine and any(action.startswith("s3:PutObject") for action in grant.actions)
        bad = [action for action in grant.actions if action in _DELETING_ACTIONS] if writes else []
    if not bad:
        return None
    return Violation(
        "a compromised machine can delete every checkpoint that it wrote",
        f"drop {', '.join(bad)} from the policy",
    )


@rule(
    "checkpoint-given-up",
    area="safety",
    subject="stack",
    around_accelerators=True,
    prevents="checkpoints deleted by a change that looks harmless",
    evaluator_only=True,
)
def checkpoint_given_up(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A change neither removes a checkpoint store nor takes its protection away: both are decided on their own.

    >>> from sizewell.policy.examples import stack, store
    >>> checkpoint_given_up(stack(stores_before=(store(checkpoints=True),)), {})[0][1].message
    'the checkpoint store example is removed: its checkpoints are deleted with it'
    """
    now = {alias: resource for resource in facts.graph.plan.resources for alias in (resource.urn, *resource.aliases)}
    verdicts: list[tuple[str, Verdict]] = []
    for store in facts.stores_before:
        if store.checkpoints is not True:
            continue
        stands = None if facts.changes.get(store.urn) == "delete" else now.get(store.urn)
        if stands is None and not store.retained:
            what = "pulumi up fails, and without protect its checkpoints are deleted" if store.protect else (
                "its checkpoints are deleted with it"
            )  # fmt: skip
            verdicts.append(("", Violation(
                f"the checkpoint store {store.name} is removed: {what}",
                "keep it, or move the checkpoints first and waive this with the place that they moved to",
            )))  # fmt: skip
        elif stands is not None and store.protect and not stands.protect:
            verdicts.append((store.urn, Violation(
                f"the checkpoint store {store.name} loses its protection: the next change can delete it",
                "leave protect on, or waive this with what happens to the checkpoints",
            )))  # fmt: skip
    return verdicts or [("", None)]
