from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Grant

_HARMLESS: Final = ("Describe", "List", "Get", "PutMetricData", "GetAuthorizationToken", "BatchGet")


_GIVING: Final = (  # of Azure: whoever has it gives itself every other right
    "Microsoft.Authorization/*",
    "*/write",
    "Microsoft.Authorization/*/Write",
    "Microsoft.Authorization/*/write",
    "Microsoft.Authorization/roleAssignments/write",
    "Microsoft.Authorization/roleAssignments/*",
)


def wildcard_permission(grant: Grant, _: Parameters) -> Verdict:
    """Policies name actions; a wildcard for a whole service, or writing to every resource, grants too much.

    >>> from sizewell.policy.examples import grant
    >>> wildcard_permission(grant(actions=("s3:*",), targets=("*",)), {}).message
    'it may do s3:* on *: a compromised machine has these rights'
    >>> wildcard_permission(grant(actions=("ec2:DescribeInstances",), targets=("*",)), {}) is None
    True
    """
    if grant.effect != "Allow" or grant.trust or grant.key_policy or grant.role:
        return None
    if isinstance(grant.actions, Unknown) or isinstance(grant.targets, Unknown):
        return Undetermined("the policy document")
    broad = [action for action in grant.actions if action == "*" or action.endswith(":*") or action in _GIVING]
    writes = [
        action
        for action in grant.actions
        if "*" in grant.targets
        and not grant.conditions
        and not action.split(":")[-1].startswith(_HARMLESS)
        and not action.startswith(("ssmmessages:", "ec2messages:", "xray:", "eks-auth:"))
    ]
    bad = broad or writes
    if not bad:
        return None
    what, where = ", ".join(bad[:3]), ", ".join(grant.targets[:2]) or "*"
    return Violation(
        f"it may do {what} on {where}: a compromised machine has these rights",
        "name the actions and resources that are needed, or add a condition",
    )


RULE = Rule(
    id="wildcard-permission",
    area="safety",
    subject="grants",
    prevents="excessive rights on machines",
    judge=wildcard_permission,
    clouds=("aws", "azure"),
    types=(
        "aws:iam/policy:Policy",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/userPolicy:UserPolicy",
        "aws:iam/groupPolicy:GroupPolicy",
        "aws:iam/role:Role",
        "azure-native:authorization:RoleDefinition",
    ),
)
