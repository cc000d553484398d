"""What identities may do, and who may take them: roles, policies, trust, federation."""

from __future__ import annotations

import re
from typing import Any, Final

from sizewell.policy.rule import Parameters, Undetermined, Verdict, Violation, forbid, rule
from sizewell.resources.readers.identity import MADE_HERE
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Grant, Pool, Thing
from sizewell.resources.values import get

_ADMINISTRATOR_ROLES: Final = {
    "AdministratorAccess": "",
    "PowerUserAccess": "",
    "IAMFullAccess": "",
    "roles/owner": "",
    "roles/editor": "",
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
}


@rule(
    "administrator-role",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="one compromised machine with control of the whole account",
)
def administrator_role(grant: Grant, _: Parameters) -> Verdict:
    """Nothing that a stack creates has administrator rights.

    >>> from sizewell.policy.examples import grant
    >>> administrator_role(grant(role="AdministratorAccess"), {}).fix
    'grant the few actions that it needs'
    """
    if grant.role is UNKNOWN:
        return Undetermined("the role")
    role = str(grant.role)
    if role not in _ADMINISTRATOR_ROLES:
        return None
    if _ADMINISTRATOR_ROLES[role] == "Contributor" and _within_a_group(grant):
        return None  # it makes and deletes there, and can give nobody rights
    return Violation(
        f"it gets {_ADMINISTRATOR_ROLES[role] or role}: a compromised machine has full control of the account",
        "grant the few actions that it needs",
    )


def _within_a_group(grant: Grant) -> bool:
    if isinstance(grant.targets, Unknown):
        return False
    return all(scope == MADE_HERE or "/resourcegroups/" in scope.lower() for scope in grant.targets)


_HARMLESS: Final = ("Describe", "List", "Get", "PutMetricData", "GetAuthorizationToken", "BatchGet")
# Actions that AWS authorises on * alone (service authorization reference, no resource types; checked 2026-11-26). A
# deletion through the Cloud Control API needs the right to the service's own deletion as well.
_WITHOUT_RESOURCES: Final = frozenset(
    {"ce:UpdateCostAllocationTagsStatus", "cloudformation:DeleteResource", "logs:DeleteLogDelivery", "sns:Unsubscribe"}
)
_GIVING: Final = (  # of Azure: whoever has it gives itself every other right
    "Microsoft.Authorization/*",
    "*/write",
    "Microsoft.Authorization/*/Write",
    "Microsoft.Authorization/*/write",
    "Microsoft.Authorization/roleAssignments/write",
    "Microsoft.Authorization/roleAssignments/*",
)


@rule(
    "wildcard-permission",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="excessive rights on machines",
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
        and action not in _WITHOUT_RESOURCES
    ]
    bad = broad or writes
    if not bad:
        return None
    what, where = ", ".join(bad[:3]), ", ".join(grant.targets[:2]) or "*"
    return Violation(
        f"it may do {what} on {where}: a compromised machine has these rights",
        "name the actions and resources that are needed, or add a condition",
    )


_RESOURCE_POLICIES: Final = (  # say who may use the resource, and pass no role
    "aws:s3/bucketPolicy:BucketPolicy",
    "aws:sns/topicPolicy:TopicPolicy",
    "aws:sqs/queuePolicy:QueuePolicy",
)


@rule(
    "pass-role-open",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="a deployer that makes itself administrator",
    clouds=("aws",),
)
def pass_role_open(grant: Grant, _: Parameters) -> Verdict:
    """Passing roles is limited to named roles: otherwise a deployer makes itself an administrator.

    >>> from sizewell.policy.examples import grant
    >>> pass_role_open(grant(actions=("iam:PassRole",), targets=("*",)), {}).fix
    'name the roles, and add the condition iam:PassedToService'
    """
    if (
        grant.effect != "Allow"
        or grant.trust
        or grant.key_policy
        or grant.role != ""
        or grant.type in _RESOURCE_POLICIES
    ):
        return None
    if isinstance(grant.actions, Unknown) or isinstance(grant.targets, Unknown):
        return Undetermined("the policy document")
    if "iam:PassRole" not in grant.actions or "*" not in grant.targets:
        return None
    return Violation(
        "it may pass any role of the account, including an administrator's, to a machine that it starts",
        "name the roles, and add the condition iam:PassedToService",
    )


_ROLES_TO_ACT_AS_OTHERS: Final = (
    "serviceAccountTokenCreator",
    "serviceAccountUser",
    "serviceAccountKeyAdmin",
)  # of every account
_BROAD_ROLES: Final = ("admin", "Admin", "owner", "editor")


@rule(
    "broad-project-role",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="rights over other teams' data",
    clouds=("gcp",),
    types=tuple(
        f"gcp:{scope}/iAM{kind}:IAM{kind}"
        for scope in ("projects", "folder", "organizations")
        for kind in ("Member", "Binding")
    ),
)
def broad_project_role(grant: Grant, _: Parameters) -> Verdict:
    """Service accounts get roles on a resource, not administrator roles on the whole project.

    >>> from sizewell.policy.examples import grant
    >>> wide = grant(type="gcp:projects/iAMMember:IAMMember", role="roles/storage.admin", principal="serviceAccount:x")
    >>> broad_project_role(wide, {}).fix
    'grant the role on the bucket, key or account that needs it'
    """
    if isinstance(grant.role, Unknown):
        return Undetermined("the role")
    last = grant.role.rsplit("/", 1)[-1].rsplit(".", 1)[-1]
    if not (last.endswith(_BROAD_ROLES) or last in _ROLES_TO_ACT_AS_OTHERS) or grant.conditions:
        return None
    return Violation(
        f"{grant.role} on the whole project: a compromised pod can delete the checkpoints of every team",
        "grant the role on the bucket, key or account that needs it",
    )


@rule(
    "assignment-scope",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="rights over other teams' resources",
    clouds=("azure",),
    types=("azure-native:authorization:RoleAssignment",),
)
def assignment_scope(grant: Grant, _: Parameters) -> Verdict:
    """Azure roles are assigned on a resource or group, never on the whole subscription.

    >>> from sizewell.policy.examples import grant
    >>> wide = grant(type="azure-native:authorization:RoleAssignment", targets=("/subscriptions/0000",))
    >>> assignment_scope(wide, {}).fix
    'assign the role on the resource or its resource group'
    """
    if isinstance(grant.targets, Unknown):
        return Undetermined("the scope")
    for scope in grant.targets:
        if (
            "/resourceGroups/" not in scope
            and "/resourcegroups/" not in scope
            and scope.startswith(("/subscriptions", "/providers"))
        ):
            return Violation(
                "the role applies to the whole subscription, including other teams' resources",
                "assign the role on the resource or its resource group",
            )
    return None


@rule(
    "public-member",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="data and services open to anyone",
    clouds=("gcp",),
)
def public_member(grant: Grant, _: Parameters) -> Verdict:
    """No role is given to everybody, nor to everybody with a Google account.

    >>> from sizewell.policy.examples import grant
    >>> public_member(grant(cloud="gcp", principal="allUsers", role="roles/storage.objectViewer"), {}).fix
    'name the service accounts or groups'
    """
    if isinstance(grant.principal, Unknown):
        return Undetermined("the members")
    whole_pool = "/workloadIdentityPools/" in grant.principal and grant.principal.endswith("/*")
    if grant.principal not in ("allUsers", "allAuthenticatedUsers") and not whole_pool:
        return None
    return Violation(
        (
            f"{'all of a pool of outside identities' if whole_pool else grant.principal} get {grant.role}: anyone on "
            "the internet, at your cost"
        ),
        "name the service accounts or groups",
    )


@rule(
    "open-trust",
    area="safety",
    subject="grants",
    around_accelerators=True,
    prevents="outsiders who assume your roles",
    clouds=("aws",),
    types=("aws:iam/role:Role",),
)
def open_trust(grant: Grant, _: Parameters) -> Verdict:
    """A role states exactly who may assume it; GitHub's tokens need a subject, or every repository may.

    >>> from sizewell.policy.examples import grant
    >>> open_trust(grant(trust=True, principal="*"), {}).fix
    'name the service or role that may assume it'
    """
    if not grant.trust or grant.effect != "Allow":
        return None
    if isinstance(grant.principal, Unknown):
        return Undetermined("the trust policy")
    conditions = grant.conditions or {}
    if "*" in [part.split(":", 1)[-1] for part in grant.principal.split(",")] and not conditions:
        return Violation("anyone in any account can assume the role", "name the service or role that may assume it")
    if "cognito-identity.amazonaws.com" in grant.principal and _lets_guests_in(conditions):
        return Violation(
            "anyone on the internet can assume the role as a guest of an identity pool, at your cost",
            "require cognito-identity.amazonaws.com:amr = authenticated, and :aud = the pool",
        )
    if "token.actions.githubusercontent.com" in grant.principal:
        subjects = [
            str(value)
            for operator in conditions.values()
            for key, values in operator.items()
            for value in (values if isinstance(values, list) else [values])
            if key.endswith("githubusercontent.com:sub")
        ]
        if not subjects or not all(_names_repository(subject) for subject in subjects):
            return Violation(
                "any repository on GitHub can assume the role: the token's subject is not checked",
                "add StringEquals token.actions.githubusercontent.com:sub = repo:ORG/REPO:environment:NAME",
            )
    elif "oidc-provider/" in grant.principal and not _checks_subject(conditions):
        return Violation(
            "any user of the issuer can assume the role: the token's subject is not checked",
            "add StringEquals on the issuer's :sub with the project and branch",
        )
    return None


def _lets_guests_in(conditions: Any) -> bool:
    """Whether identity pools hand a role to whoever did not log in, or to users of any pool."""
    pairs = [pair for operator in conditions.values() for pair in operator.items()]
    logins = [value for key, value in pairs if str(key).endswith(":amr")]
    pools = [value for key, value in pairs if str(key).endswith(":aud")]
    return not logins or not pools or any("unauthenticated" in str(value) for value in logins)


def _checks_subject(conditions: Any) -> bool:
    """Whether a condition on some issuer's subject names at least two parts of it before a wildcard.

    >>> _checks_subject({"StringLike": {"gitlab.com:sub": "project_path:*"}})
    False
    >>> _checks_subject({"StringEquals": {"gitlab.com:sub": "project_path:team/app:ref_type:branch:ref:main"}})
    True
    """
    subjects = [
        value
        for pairs in conditions.values()
        for key, values in pairs.items()
        for value in (values if isinstance(values, list) else [values])
        if str(key).endswith(":sub")
    ]
    if UNKNOWN in subjects:
        return True
    parts = [[part for part in re.split("[:/]", str(value).partition("*")[0]) if part] for value in subjects]
    return bool(parts) and all(len(each) > 1 for each in parts)


def _names_repository(subject: str) -> bool:
    """Whether a subject names the organization and the repository, without a wildcard in either.

    >>> _names_repository("repo:team/app:*"), _names_repository("repo:team*"), _names_repository("repo:team/*")
    (True, False, False)
    """
    return re.match(r"^repo:[^/*?:]+/[^*?:]+:", subject) is not None


_COMPARISON: Final = re.compile(r"==|\bin\b|startsWith|matches|endsWith|contains")  # "is not empty" holds for everybody


@rule(
    "federation-condition",
    area="safety",
    subject="things",
    around_accelerators=True,
    prevents="outsiders with your project's credentials",
    clouds=("gcp",),
    types=("gcp:iam/workloadIdentityPoolProvider:WorkloadIdentityPoolProvider",),
)
def federation_condition(thing: Thing, _: Parameters) -> Verdict:
    """A workload identity provider checks an attribute: without it every repository on GitHub gets in.

    >>> from sizewell.policy.examples import thing
    >>> bare = {"oidc": {"issuerUri": "https://token.actions.githubusercontent.com"}}
    >>> federation_condition(thing(inputs=bare), {}).fix
    'set attributeCondition to the organization and repository'
    """
    condition = thing.inputs.get("attributeCondition")
    if condition is UNKNOWN:
        return Undetermined("the condition")
    stated = str(condition or "")
    if any(word in stated for word in ("assertion.", "attribute.", "google.")) and _COMPARISON.search(stated):
        return None
    return Violation(
        "every identity of the issuer, in every organization, may ask for credentials",
        "set attributeCondition to the organization and repository",
    )


@rule(
    "federated-subject",
    area="safety",
    subject="things",
    around_accelerators=True,
    prevents="outsiders with rights in your subscription",
    clouds=("azure",),
    types=("azure-native:managedidentity:FederatedIdentityCredential",),
)
def federated_subject(thing: Thing, _: Parameters) -> Verdict:
    """A federated credential names one branch, tag or environment of one repository.

    >>> from sizewell.policy.examples import thing
    >>> federated_subject(thing(inputs={"subject": "repo:team/*"}), {}).fix
    'set subject to repo:ORG/REPO:environment:NAME or repo:ORG/REPO:ref:refs/heads/BRANCH'
    """
    expression = get(thing.inputs, "claimsMatchingExpression", "value")
    subject = thing.inputs.get("subject")
    if UNKNOWN in (expression, subject):
        return Undetermined("the subject")
    stated = str(expression or subject or "")
    inside = stated.split("'")[-2] if expression and stated.count("'") >= 2 else stated
    parts = inside.split(":")
    named = len(parts) >= 3 and "*" not in ":".join(parts[:2]) and "/" in parts[1]
    if (named and parts[2] != "pull_request") or not inside.startswith("repo:"):
        return None
    who = "every pull request, whoever opens it," if named else "every repository that matches the pattern"
    return Violation(
        f"{who} gets the identity's rights",
        "set subject to repo:ORG/REPO:environment:NAME or repo:ORG/REPO:ref:refs/heads/BRANCH",
    )


@rule(
    "default-service-account",
    area="safety",
    subject="pools",
    prevents="machines with the rights of the whole project",
    clouds=("gcp",),
)
def default_service_account(pool: Pool, _: Parameters) -> Verdict:
    """Machines run as a service account of their own: the default one may often edit the whole project.

    >>> from sizewell.policy.examples import pool
    >>> default_service_account(pool(default_identity=True), {}).fix
    'create a service account for the machines and name it'
    """
    return forbid(
        pool.default_identity,
        message=(
            "everything that runs on the machines has the rights of the project's default service account, often all "
            "of the project's"
        ),
        fix="create a service account for the machines and name it",
        unknown="the service account",
    )
