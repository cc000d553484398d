"""Control planes: who reaches and administers them, what they encrypt and log, how long they are supported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from sizewell.policy.rule import Parameters, Undetermined, Verdict, Violation, forbid, require, rule
from sizewell.resources.gcp_nodes import CLUSTER
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Cluster, Thing
from sizewell.resources.values import Flag, either, flag, get, items
from sizewell.sizing.catalog.lifetimes import ended, load, minor


@rule(
    "cluster-public-endpoint",
    area="safety",
    subject="clusters",
    around_accelerators=True,
    prevents="unauthorized access to the cluster's API",
    levels={"dev": "advisory"},
)
def cluster_public_endpoint(cluster: Cluster, _: Parameters) -> Verdict:
    """The Kubernetes API is not open to the whole internet.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_public_endpoint(cluster(public_endpoint=True), {}).fix
    'use a private endpoint, or name the ranges that may reach it'
    """
    return forbid(
        cluster.public_endpoint,
        message="the cluster's API is open to the internet: one leaked token gives access to your accelerators",
        fix="use a private endpoint, or name the ranges that may reach it",
        unknown="who can reach the API",
    )


@rule(
    "cluster-local-accounts",
    area="safety",
    subject="clusters",
    prevents="access that cannot be revoked",
    clouds=("gcp", "azure"),
)
def cluster_local_accounts(cluster: Cluster, _: Parameters) -> Verdict:
    """The cluster accepts no certificate or local account that cannot be revoked.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_local_accounts(cluster(local_accounts=True), {}).fix
    'disable local accounts and client certificates'
    """
    return forbid(
        cluster.local_accounts,
        message="local administrator credentials cannot be revoked",
        fix="disable local accounts and client certificates",
        unknown="local accounts",
    )


_RBAC: Final = "kubernetes:rbac.authorization.k8s.io/v1:"
_BINDINGS: Final = (f"{_RBAC}ClusterRoleBinding", f"{_RBAC}RoleBinding")
_ROLE_KINDS: Final = (f"{_RBAC}ClusterRole", f"{_RBAC}Role")
_EVERYBODY: Final = {"system:unauthenticated", "system:authenticated", "system:anonymous", "system:serviceaccounts"}
_VERBS_THAT_READ: Final = {"get", "list", "watch", "*"}


@rule(
    "cluster-admin",
    area="safety",
    subject="things",
    around_accelerators=True,
    prevents="one compromised pod with control of the whole cluster",
    clouds=("kubernetes",),
    types=(*_BINDINGS, *_ROLE_KINDS),
)
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
    whole = thing.type == _ROLE_KINDS[0]
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
    return whole and "secrets" in resources and bool(_VERBS_THAT_READ & set(verbs)) and named is None


_READ_ONLY_VERBS = {"get", "list", "watch"}


@rule(
    "cluster-role-wildcard",
    area="safety",
    subject="things",
    prevents="one compromised pod with control of the whole cluster",
    levels={"dev": "advisory"},
    clouds=("kubernetes",),
    types=("kubernetes:rbac.authorization.k8s.io/v1:Role", "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"),
)
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
    verdicts = [_is_broad(rule) for rule in rules]
    if True in verdicts:
        message = "a compromised pod with this role can create, change and delete everything in its scope"
        return Violation(message, "name resources and verbs in its rules")
    return Undetermined("its rules") if UNKNOWN in verdicts else None


def _is_broad(rule: Any) -> bool | Unknown:
    parts = [rule] if isinstance(rule, Unknown) else [items(get(rule, key)) for key in ("resources", "verbs")]
    known = [part for part in parts if not isinstance(part, Unknown)]
    if len(known) < len(parts) or any(UNKNOWN in part for part in known):
        return UNKNOWN
    resources, verbs = known
    return "*" in resources and not set(verbs) <= _READ_ONLY_VERBS and get(rule, "resourceNames") is None


@rule(
    "cluster-legacy-roles",
    area="safety",
    subject="clusters",
    prevents="pods with full control of the cluster",
    clouds=("gcp",),
    types=(CLUSTER,),
)
def cluster_legacy_roles(cluster: Cluster, _: Parameters) -> Verdict:
    """Rights in a cluster come from its roles: the legacy scheme gives every pod's account full control.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_legacy_roles(cluster(inputs={"enableLegacyAbac": True}), {}).fix
    'drop enableLegacyAbac'
    """
    return forbid(
        flag(cluster.inputs.get("enableLegacyAbac")),
        message="legacy authorization lets any pod's account do anything in the cluster",
        fix="drop enableLegacyAbac",
        unknown="its authorization mode",
    )


@rule(
    "cluster-workload-identity",
    area="safety",
    subject="clusters",
    prevents="pods that share the rights of their machine",
)
def cluster_workload_identity(cluster: Cluster, _: Parameters) -> Verdict:
    """Pods have identities of their own: without, all of them share the machine's rights or carry keys.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_workload_identity(cluster(), {}).fix
    'turn workload identity on'
    """
    return require(
        cluster.workload_identity,
        message="without workload identity every pod has the rights of its machine, or needs a stored key",
        fix="turn workload identity on",
        unknown="workload identity",
    )


@rule(
    "cluster-nodes-unproven",
    area="safety",
    subject="clusters",
    prevents="unauthorized machines that join the cluster",
    clouds=("gcp",),
    types=(CLUSTER,),
)
def cluster_nodes_unproven(cluster: Cluster, _: Parameters) -> Verdict:
    """A machine proves to the control plane that it is one of the cluster's: shielded nodes stay on.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_nodes_unproven(cluster(inputs={"enableShieldedNodes": False}), {}).fix
    'set enableShieldedNodes to true'
    """
    return require(
        flag(cluster.inputs.get("enableShieldedNodes"), default=True),
        message="nodes are not verified: credentials stolen from a pod can register as a node and read secrets",
        fix="set enableShieldedNodes to true",
        unknown="shielded nodes",
    )


@rule(
    "cluster-network-policy",
    area="safety",
    subject="clusters",
    prevents="one compromised pod that reaches all others",
    level="advisory",
    clouds=("gcp", "azure"),
)
def cluster_network_policy(cluster: Cluster, _: Parameters) -> Verdict:
    """Something enforces network policies: Dataplane V2 or the add-on on GKE, a policy engine on AKS.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_network_policy(cluster(type="gcp:container/cluster:Cluster", cloud="gcp"), {}).fix
    'set datapathProvider to ADVANCED_DATAPATH'
    """
    if cluster.cloud == "gcp":
        path = cluster.inputs.get("datapathProvider")
        modern: Flag = UNKNOWN if path is UNKNOWN else path == "ADVANCED_DATAPATH"
        add_on = flag(get(cluster.inputs, "networkPolicy", "enabled"))
        on = either(modern, add_on, flag(cluster.inputs.get("enableAutopilot")))
        fix = "set datapathProvider to ADVANCED_DATAPATH"
    else:
        engine = get(cluster.inputs, "networkProfile", "networkPolicy")
        on = UNKNOWN if engine is UNKNOWN else str(engine or "none").lower() != "none"
        fix = "set networkProfile.networkPolicy to cilium"
    return require(
        on,
        message="network policies are not enforced: a compromised notebook can reach every other pod",
        fix=fix,
        unknown="what enforces network policies",
    )


@rule(
    "cluster-secrets",
    area="safety",
    subject="clusters",
    prevents="tokens readable in backups",
    levels={"dev": "disabled"},
    debatable=True,
    firm_in=("prod",),
    clouds=("aws",),
)
def cluster_secrets(cluster: Cluster, _: Parameters) -> Verdict:
    """Kubernetes secrets on EKS are encrypted with a customer-managed key.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_secrets(cluster(), {}).fix
    'encrypt secrets with a customer-managed key'
    """
    return require(
        cluster.secrets_encrypted,
        message="secrets in the cluster's database and its backups are not encrypted with a customer-managed key",
        fix="encrypt secrets with a customer-managed key",
        unknown="the encryption of secrets",
    )


@rule(
    "cluster-secrets-own-key",
    area="safety",
    subject="clusters",
    prevents="tokens readable with the provider's key",
    levels={"dev": "disabled"},
    debatable=True,
    clouds=("gcp", "azure"),
)
def cluster_secrets_own_key(cluster: Cluster, parameters: Parameters) -> Verdict:
    """Kubernetes secrets, which Google and Azure encrypt with keys of their own, are encrypted with the customer's.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_secrets_own_key(cluster(), {}).fix
    'encrypt secrets with a customer-managed key'
    """
    return cluster_secrets(cluster, parameters)


_LOGS: Final[Mapping[str, str]] = {
    "aws": "turn the control plane logs on (api, audit, authenticator)",
    "gcp": "turn the logs of the control plane's components on (loggingConfig)",
    "azure": "add a diagnostic setting that keeps the control plane's logs (kube-audit)",
}


@rule(
    "cluster-logs",
    area="safety",
    subject="clusters",
    prevents="misuse that cannot be traced",
    level="advisory",
    levels={"prod": "mandatory"},
)
def cluster_logs(cluster: Cluster, _: Parameters) -> Verdict:
    """The control plane keeps its audit log.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_logs(cluster(), {}).fix
    'turn the control plane logs on (api, audit, authenticator)'
    """
    return require(
        cluster.logged,
        message="the control plane is not logged: after a misuse it is unknown who started what",
        fix=_LOGS.get(cluster.cloud, "turn the control plane logs on"),
        unknown="the logs",
    )


@rule(
    "cluster-deletion-protection",
    area="safety",
    subject="clusters",
    prevents="a production cluster deleted by one call",
    debatable=True,
)
def cluster_deletion_protection(cluster: Cluster, _: Parameters) -> Verdict:
    """In production a cluster cannot be deleted by one call.

    >>> from sizewell.policy.examples import cluster
    >>> cluster_deletion_protection(cluster(environment="prod"), {}).fix
    'turn deletion protection on'
    """
    if cluster.environment != "prod":
        return None
    return require(
        cluster.deletion_protection,
        message="deletion protection is off: one call deletes the cluster under running jobs",
        fix="turn deletion protection on",
        unknown="deletion protection",
    )


@rule(
    "extended-kubernetes-support",
    area="spend",
    subject="clusters",
    prevents="a control plane at six times the price",
    level="advisory",
    clouds=("aws",),
    types=("aws:eks/cluster:Cluster",),
)
def extended_kubernetes_support(cluster: Cluster, _: Parameters) -> Verdict:
    """A control plane on extended support costs six times as much.

    >>> from sizewell.policy.examples import cluster
    >>> late = cluster(type="aws:eks/cluster:Cluster", inputs={"upgradePolicy": {"supportType": "EXTENDED"}})
    >>> extended_kubernetes_support(late, {}).fix
    'set upgradePolicy.supportType to STANDARD'
    >>> late.inputs["version"] = "1.33"
    >>> extended_kubernetes_support(late, {}).fix.partition(" to ")[0]
    'raise the version from 1.33'
    """
    kind = get(cluster.inputs, "upgradePolicy", "supportType")
    if kind is UNKNOWN:
        return Undetermined("the support policy")
    if kind == "STANDARD":
        return None
    fix, known, version = "set upgradePolicy.supportType to STANDARD", load(), cluster.inputs.get("version")
    row = known.versions("eks").get(minor(version)) if isinstance(version, str) else None
    if row is not None and ended(row.supported_until, date.fromisoformat(row.checked)):
        # EKS builds none with STANDARD once standard support is over.
        fix = f"raise the version from {version} to {known.default('eks').version}, then {fix}"
    return Violation("the control plane costs six times as much once the version leaves standard support", fix)


@rule(
    "gke-maintenance-exclusion",
    area="correctness",
    subject="clusters",
    prevents="jobs interrupted by upgrades",
    level="advisory",
    clouds=("gcp",),
    types=("gcp:container/cluster:Cluster",),
)
def gke_maintenance_exclusion(cluster: Cluster, _: Parameters) -> Verdict:
    """Long jobs are not interrupted by an upgrade: production has a maintenance window or exclusion.

    >>> from sizewell.policy.examples import cluster
    >>> bare = cluster(type="gcp:container/cluster:Cluster", environment="prod")
    >>> gke_maintenance_exclusion(bare, {}).fix
    'add maintenancePolicy with an exclusion of scope NO_MINOR_OR_NODE_UPGRADES'
    """
    if cluster.environment != "prod" or cluster.inputs.get("maintenancePolicy") is not None:
        return None
    return Violation(
        "an automatic node upgrade may end a running job at any hour",
        "add maintenancePolicy with an exclusion of scope NO_MINOR_OR_NODE_UPGRADES",
    )
