"""Grants: who may do what, from AWS policy documents, Google Cloud role bindings and Azure role assignments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.resources.graph import Graph
from sizewell.resources.readers.common import base
from sizewell.resources.readers.stores import document_of
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Grant
from sizewell.resources.values import Text, canonical, contains_unknown, get, items, text


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDocument:
    """A row of policy_documents.csv: a type that has a policy document of AWS, and the input that it stands in."""

    type: str
    input: str
    source: str


_DOCUMENTS: Final = Path(__file__).parent / "data/policy_documents.csv"
_POLICIES: Final = {row.type: row.input for row in csvtables.read(PolicyDocument, _DOCUMENTS)}
_ATTACHMENTS: Final = (
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:iam/userPolicyAttachment:UserPolicyAttachment",
    "aws:iam/groupPolicyAttachment:GroupPolicyAttachment",
)
# the SDK can give one policy to many principals at once; it is judged alike
_KEY: Final = "aws:kms/key:Key"
_ROLE: Final = "aws:iam/role:Role"
_GCP_MEMBER: Final = ("IAMMember", "IamMember", "IAMBinding", "IamBinding")
MADE_HERE: Final = "(made in this plan)"  # an identity or role that is not known yet, and is no built-in one
_CUSTOM_ROLES: Final = ("gcp:projects/iAMCustomRole:IAMCustomRole", "gcp:organizations/iAMCustomRole:IAMCustomRole")
_WHOLE_POLICIES: Final = tuple(f"gcp:{scope}/iAMPolicy:IAMPolicy" for scope in ("projects", "folder", "organizations"))
_DELEGATION: Final = "azure-native:managedservices:RegistrationDefinition"
_ASSIGNMENT: Final = "azure-native:authorization:RoleAssignment"


def aws(graph: Graph, resource: RecordedResource, kind: str) -> list[Grant]:
    """What policy documents, roles and attachments grant."""
    inputs = resource.inputs
    if kind in _POLICIES:
        return _document(graph, resource, inputs.get(_POLICIES[kind]))
    if kind == _ROLE:
        trusted = _document(graph, resource, inputs.get("assumeRolePolicy"), trust=True)
        return [*trusted, *_managed(graph, resource), *_within(graph, resource)]
    if kind == "aws:kms/keyPolicy:KeyPolicy" or (kind == _KEY and inputs.get("policy") is not None):
        return _document(graph, resource, inputs.get("policy"), key_policy=True)
    if kind not in _ATTACHMENTS:
        return []
    role = _last(text(inputs.get("policyArn")))
    if isinstance(role, Unknown) and resource.property_dependencies.get("policyArn"):
        role = MADE_HERE
    return [Grant(**base(graph, resource), role=role)]


def gcp(graph: Graph, resource: RecordedResource, kind: str) -> list[Grant]:
    """What members and bindings, whole policies, data sets and roles of one's own grant."""
    if kind.endswith(_GCP_MEMBER):
        return _gcp(graph, resource)
    if kind in _WHOLE_POLICIES:
        return _whole_policy(graph, resource)
    if kind == "gcp:bigquery/dataset:Dataset":
        return _readers_of(graph, resource)
    return _definition(graph, resource, ()) if kind in _CUSTOM_ROLES else []


def azure(graph: Graph, resource: RecordedResource, kind: str) -> list[Grant]:
    """What role assignments, delegations and roles of one's own grant."""
    if kind == _ASSIGNMENT:
        return [_azure(graph, resource)]
    if kind == _DELEGATION:
        return _delegated(graph, resource)
    own = kind == "azure-native:authorization:RoleDefinition"
    return _definition(graph, resource, ("actions", "dataActions")) if own else []


def _whole_policy(graph: Graph, resource: RecordedResource) -> list[Grant]:
    """The bindings of a policy that replaces all others of a project, folder or organization."""
    bindings = items(get(document_of(resource.inputs.get("policyData")), "bindings"))
    if isinstance(bindings, Unknown):
        return [Grant(**base(graph, resource), role=UNKNOWN, principal=UNKNOWN)]
    return [
        Grant(
            **base(graph, resource),
            role=text(get(binding, "role")),
            principal=member,
            conditions=get(binding, "condition"),
        )
        for binding in bindings
        for member in _members(get(binding, "members"))
    ]


def _members(value: object) -> list[Text]:
    listed = items(value)
    return [UNKNOWN] if isinstance(listed, Unknown) else [text(member) for member in listed]


def _last(value: Any) -> Any:
    return value if isinstance(value, Unknown) else value.rsplit("/", 1)[-1]


def _managed(graph: Graph, role: RecordedResource) -> list[Grant]:
    listed = items(role.inputs.get("managedPolicyArns"))
    if isinstance(listed, Unknown):
        return [Grant(**base(graph, role), role=UNKNOWN)]
    return [Grant(**base(graph, role), role=_last(text(arn))) for arn in listed]


def _within(graph: Graph, role: RecordedResource) -> list[Grant]:
    """Policies that stand in the role itself."""
    listed = items(role.inputs.get("inlinePolicies"))
    if isinstance(listed, Unknown):
        return [Grant(**base(graph, role), actions=UNKNOWN, targets=UNKNOWN)]
    return [grant for entry in listed for grant in _document(graph, role, get(entry, "policy"))]


def _document(
    graph: Graph, resource: RecordedResource, policy: object, *, trust: bool = False, key_policy: bool = False
) -> list[Grant]:
    if policy is None:
        return []
    document = document_of(policy)
    kind: dict[str, Any] = {"trust": trust, "key_policy": key_policy}
    if document is UNKNOWN:
        unknown: dict[str, Any] = {"actions": UNKNOWN, "targets": UNKNOWN, "principal": UNKNOWN, **kind}
        return [Grant(**base(graph, resource), **unknown)]
    statements = items(get(document, "Statement"))
    if isinstance(statements, Unknown):
        return [Grant(**base(graph, resource), actions=UNKNOWN, targets=UNKNOWN, **kind)]
    return [
        Grant(
            **base(graph, resource),
            effect=str(get(statement, "Effect", default="Allow")),
            actions=_texts(get(statement, "Action", default="*" if get(statement, "NotAction") else None)),
            targets=_texts(get(statement, "Resource")),
            # everybody but those who are named is everybody
            principal="*" if get(statement, "NotPrincipal") is not None else _principal(get(statement, "Principal")),
            conditions=get(statement, "Condition"),
            **kind,
        )
        for statement in statements
    ]


def _texts(value: object) -> tuple[str, ...] | Unknown:
    listed = items(value)
    if isinstance(listed, Unknown):
        return UNKNOWN
    # one target that is not known yet is one target: not everything
    return tuple("(not known yet)" if entry is UNKNOWN else str(entry) for entry in listed)


def _principal(value: Any) -> Any:
    if value is None:
        return ""
    if value is UNKNOWN or isinstance(value, str):
        return value
    parts: list[str] = []
    for kind, names in value.items():
        listed = _texts(names)
        parts.extend([f"{kind}:(not known yet)"] if isinstance(listed, Unknown) else [f"{kind}:{n}" for n in listed])
    return ",".join(parts)


def _backed(resource: RecordedResource, prop: str) -> tuple[str, ...] | Unknown:
    return (MADE_HERE,) if resource.property_dependencies.get(prop) else UNKNOWN


def _gcp(graph: Graph, resource: RecordedResource) -> list[Grant]:
    members = items(resource.inputs.get("members", resource.inputs.get("member")))
    role = text(resource.inputs.get("role"))
    if isinstance(role, Unknown) and resource.property_dependencies.get("role"):
        role = MADE_HERE
    prop = "members" if "members" in resource.inputs else "member"
    backed = bool(resource.property_dependencies.get(prop))
    if isinstance(members, Unknown):
        principal: Text = MADE_HERE if backed else UNKNOWN
        return [Grant(**base(graph, resource), role=role, principal=principal)]
    scope = canonical(resource.type).split(":")[1].split("/")[0]
    return [
        Grant(
            **base(graph, resource),
            role=role,
            principal=(MADE_HERE if backed else UNKNOWN) if member is UNKNOWN else str(member),
            targets=(scope,),
            conditions=resource.inputs.get("condition"),
        )
        for member in members
    ]


def _readers_of(graph: Graph, dataset: RecordedResource) -> list[Grant]:
    """Whom a data set itself lets in."""
    listed = items(dataset.inputs.get("accesses"))
    if isinstance(listed, Unknown):
        return [Grant(**base(graph, dataset), role=UNKNOWN, principal=UNKNOWN)]
    return [
        Grant(
            **base(graph, dataset),
            role=text(get(entry, "role"), "a view"),
            principal=text(
                get(entry, "specialGroup", default=get(entry, "iamMember", default=get(entry, "userByEmail")))
            ),
        )
        for entry in listed
    ]


def _definition(graph: Graph, resource: RecordedResource, keys: tuple[str, ...]) -> list[Grant]:
    """What a role of one's own allows; where it holds, its assignments say."""
    listed = items(resource.inputs.get("permissions"))
    if isinstance(listed, Unknown):
        return [Grant(**base(graph, resource), actions=UNKNOWN, targets=())]
    lists = [get(entry, key) for entry in listed for key in keys] if keys else [listed]
    return [
        Grant(**base(graph, resource), actions=UNKNOWN if contains_unknown(actions) else _texts(actions), targets=())
        for actions in lists
    ]


def _delegated(graph: Graph, resource: RecordedResource) -> list[Grant]:
    """The roles that Azure Lighthouse gives to people of another tenant, over a subscription or a group."""
    properties = resource.inputs.get("properties")
    granted = []
    for key in ("authorizations", "eligibleAuthorizations"):
        listed = items(get(properties, key))
        for entry in (UNKNOWN,) if isinstance(listed, Unknown) else listed:
            role, principal = (text(get(entry, name)) for name in ("roleDefinitionId", "principalId"))
            scope = resource.inputs.get("scope")
            targets = UNKNOWN if scope is UNKNOWN else (str(scope),)
            granted.append(Grant(**base(graph, resource), role=_last(role), principal=principal, targets=targets))
    return granted


def _azure(graph: Graph, resource: RecordedResource) -> Grant:
    scope = text(resource.inputs.get("scope"))
    role = _last(text(resource.inputs.get("roleDefinitionId")))
    if isinstance(role, Unknown) and resource.property_dependencies.get("roleDefinitionId"):
        role = MADE_HERE
    return Grant(
        **base(graph, resource),
        role=role,
        principal=text(resource.inputs.get("principalId")),
        targets=(scope,) if isinstance(scope, str) else _backed(resource, "scope"),
        conditions=resource.inputs.get("condition"),
    )
