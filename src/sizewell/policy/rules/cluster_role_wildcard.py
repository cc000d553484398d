from __future__ import annotations

from typing import Any

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get, items

_READING = {"get", "list", "watch"}


def cluster_role_wildcard(thing: Thing, _: Parameters) -> Verdict:
    """A role in a cluster names the resources that it may change.

    >>> from sizewell.policy.examples import thing
    >>> rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    >>> role = thing(type="kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", inputs={"rules": rules})
    >>> cluster_role_wildcard(role, {}).fix
    'name resources and verbs in its rules'
    """
    rules = items(thing.inputs.get("rules"))
    if isinstance(rules, Unknown):
        return Undetermined("its rules")
    verdicts = [_broad(rule) for rule in rules]
    if True in verdicts:
        message = "a compromised pod with this role can create, change and delete everything in its scope"
        return Violation(message, "name resources and verbs in its rules")
    return Undetermined("its rules") if UNKNOWN in verdicts else None


def _broad(rule: Any) -> bool | Unknown:
    parts = [rule] if isinstance(rule, Unknown) else [items(get(rule, key)) for key in ("resources", "verbs")]
    known = [part for part in parts if not isinstance(part, Unknown)]
    if len(known) < len(parts) or any(UNKNOWN in part for part in known):
        return UNKNOWN
    resources, verbs = known
    return "*" in resources and not set(verbs) <= _READING and get(rule, "resourceNames") is None


RULE = Rule(
    id="cluster-role-wildcard",
    area="safety",
    subject="things",
    prevents="one compromised pod with control of the whole cluster",
    judge=cluster_role_wildcard,
    levels={"dev": "advisory"},
    clouds=("kubernetes",),
    types=("kubernetes:rbac.authorization.k8s.io/v1:Role", "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"),
)
