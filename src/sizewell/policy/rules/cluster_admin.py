from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get, items

_RBAC: Final = "kubernetes:rbac.authorization.k8s.io/v1:"
_BINDINGS: Final = (f"{_RBAC}ClusterRoleBinding", f"{_RBAC}RoleBinding")
_ROLES: Final = (f"{_RBAC}ClusterRole", f"{_RBAC}Role")
_EVERYBODY: Final = {"system:unauthenticated", "system:authenticated", "system:anonymous", "system:serviceaccounts"}
_READING: Final = {"get", "list", "watch", "*"}


def cluster_admin(thing: Thing, _: Parameters) -> Verdict:
    """No account in a cluster is its administrator, can become one, or reads every secret.

    >>> from sizewell.policy.examples import thing
    >>> binding = {"roleRef": {"name": "cluster-admin"}, "subjects": [{"kind": "ServiceAccount", "name": "m"}]}
    >>> cluster_admin(thing(type="kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding", inputs=binding), {}).fix
    'bind a role with the verbs and resources that are needed'
    """
    if thing.type in _BINDINGS:
        return _binding(thing)
    rules = items(thing.inputs.get("rules"))
    if isinstance(rules, Unknown) or UNKNOWN in rules:
        return Undetermined("its rules")
    whole = thing.type == _ROLES[0]
    verdicts = [_rule(rule, whole=whole) for rule in rules]
    if True in verdicts:
        return Violation(
            "a compromised pod with this role can become cluster administrator or read every secret",
            "name the resources, and leave out escalate, bind, impersonate, nodes/proxy and access to all secrets",
        )
    return Undetermined("its rules") if UNKNOWN in verdicts else None


def _binding(thing: Thing) -> Verdict:
    role, subjects = get(thing.inputs, "roleRef", "name"), items(thing.inputs.get("subjects"))
    names = () if isinstance(subjects, Unknown) else tuple(get(subject, "name") for subject in subjects)
    if any(str(name).partition(":serviceaccounts:")[0] in _EVERYBODY for name in names if name is not UNKNOWN):
        return Violation("anyone who can reach the cluster gets the role", "name the service accounts and groups")
    if role in {"cluster-admin", "admin"} and names and names != ("system:masters",):
        return Violation(
            "a compromised pod or login has full control of the cluster",
            "bind a role with the verbs and resources that are needed",
        )
    return Undetermined("the role and the subjects that it binds") if UNKNOWN in (role, subjects, *names) else None


def _rule(rule: Any, *, whole: bool) -> bool | Unknown:
    verbs, resources = items(get(rule, "verbs")), items(get(rule, "resources"))
    if isinstance(verbs, Unknown) or isinstance(resources, Unknown) or UNKNOWN in (*verbs, *resources):
        return UNKNOWN
    if {"escalate", "bind", "impersonate"} & set(verbs):
        return True
    if "serviceaccounts/token" in resources and {"create", "*"} & set(verbs):
        return whole or get(rule, "resourceNames") is None  # a token of any account is that account
    named = get(rule, "resourceNames")
    if whole and ("nodes/proxy" in resources or "nodes/*" in resources):
        return True  # it runs commands in every pod, past the API server's checks
    return whole and "secrets" in resources and bool(_READING & set(verbs)) and named is None


RULE = Rule(
    id="cluster-admin",
    area="safety",
    subject="things",
    prevents="one compromised pod with control of the whole cluster",
    judge=cluster_admin,
    clouds=("kubernetes",),
    types=(*_BINDINGS, *_ROLES),
)
