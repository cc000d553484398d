from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Grant

_DELETES: Final = (
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
_AZURE_DELETES: Final = (
    "/blobs/delete",
    "/containers/delete",
    "Microsoft.Storage/storageAccounts/delete",
    "/immutabilityPolicies/delete",
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
        bad += [action for action in grant.actions if action in _DELETES]
    elif isinstance(grant.actions, Unknown):
        return Undetermined("the policy document")
    elif grant.cloud == "azure":
        bad = [action for action in grant.actions if action.endswith(_AZURE_DELETES)]
    else:
        writes = any(action.startswith("s3:PutObject") for action in grant.actions)
        bad = [action for action in grant.actions if action in _DELETES] if writes else []
    if not bad:
        return None
    return Violation(
        "a compromised machine can delete every checkpoint that it wrote",
        f"drop {', '.join(bad)} from the policy",
    )


RULE = Rule(
    id="writer-can-delete",
    area="safety",
    subject="grants",
    prevents="checkpoints deleted by the job that wrote them",
    judge=writer_can_delete,
    clouds=("aws", "gcp", "azure"),
)
