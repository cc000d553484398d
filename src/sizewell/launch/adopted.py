"""A Kubernetes cluster that somebody else made: how its scheduler names machines, queues and accounts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from sizewell.launch.run import NAME, unknown_settings
from sizewell.launch.target import Target, other_target
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Pool

EFFECTS: Final = ("NoSchedule", "NoExecute", "PreferNoSchedule")


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Machines in a cloud that join the cluster's own, and take the jobs of one workload where those are full."""

    workload: str  # whose jobs may go there
    machines: str  # the workload of the same decision that says which machines, and how many at most
    cluster: str  # name of the EKS cluster that both stand in
    security_group: str  # which EKS made for it: sg-...


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """`sizewell:cluster` of a stack: the labels of its machines, and what else pods have to state to run on them."""

    selector: Mapping[str, str]  # labels that the pool's machines have and no others
    taints: Mapping[str, str]  # key: effect, beside the accelerator's own
    rdma: str = ""  # resource of the RDMA interfaces, as rdma/ib
    queue: str = ""  # an existing LocalQueue; "": ours
    account: str = ""  # an existing service account; "": ours
    annotations: Mapping[str, str]  # of our service account
    store: str = ""  # URI of the checkpoints, where it is not the stack's own store
    operators: tuple[str, ...] = ("jobset",)  # to install beside Kueue; none: all of them are there
    burst: Burst | None = None  # machines in a cloud for what finds these full

    def bursts(self, workload: str) -> bool:
        """Whether the jobs of a workload may go to the burst's machines: then the queue says where each runs."""
        return self.burst is not None and self.burst.workload == workload


def read_adopted(data: object, at: str = "sizewell:cluster") -> Adopted:
    """An `Adopted` from configuration; ConfigError has every fault.

    >>> read_adopted({"selector": {"gpu.nvidia.com/class": "H100"}}).operators
    ('jobset',)
    """
    if not isinstance(data, Mapping):
        raise ConfigError([Fault(path=at, found=data, allowed="a mapping with at least selector")])
    wrong = unknown_settings(data, Adopted, at, "a cluster")
    for key in ("selector", "taints", "annotations"):
        value = data.get(key, {})
        if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
            wrong.append(Fault(path=f"{at}.{key}", found=value, allowed="a mapping of texts"))
    if not data.get("selector"):
        message = "is missing: jobs could be scheduled on any machine"
        wrong.append(Fault(path=f"{at}.selector", message=message, fix="name a label that only these machines have"))
    for key, effect in (data.get("taints") or {}).items() if isinstance(data.get("taints"), Mapping) else ():
        if effect not in EFFECTS:
            wrong.append(Fault(path=f"{at}.taints.{key}", found=effect, allowed=f"one of {', '.join(EFFECTS)}"))
    names = [key for key in ("queue", "account") if data.get(key) and not NAME.fullmatch(str(data[key]))]
    wrong += [Fault(path=f"{at}.{key}", found=data[key], allowed="a name of a-z, 0-9 and -") for key in names]
    if data.get("rdma") and "/" not in str(data["rdma"]):
        wrong.append(Fault(path=f"{at}.rdma", found=data["rdma"], allowed="a resource, as rdma/ib"))
    if data.get("store") and "://" not in str(data["store"]):
        wrong.append(Fault(path=f"{at}.store", found=data["store"], allowed="a URI: s3://, gs:// or az://"))
    operators = data.get("operators", ["jobset"])
    if not isinstance(operators, list | tuple) or not set(operators) <= {"jobset", "kuberay", "lws", "keda"}:
        wrong.append(Fault(path=f"{at}.operators", found=operators, allowed="a list of jobset, kuberay, lws and keda"))
    wrong += _burst_faults(data, at)
    if wrong:
        raise ConfigError(wrong, subject=at)
    empty: dict[str, object] = {"taints": {}, "annotations": {}}
    burst = Burst(**data["burst"]) if data.get("burst") else None
    return Adopted(**{**empty, **data, "operators": tuple(operators), "burst": burst})


def _burst_faults(data: Mapping[str, Any], at: str) -> list[Fault]:
    """What is wrong with `burst` by itself, before it is compared with the decision."""
    burst, at = data.get("burst"), f"{at}.burst"
    if burst is None:
        return []
    known = [field.name for field in fields(Burst)]
    if not isinstance(burst, Mapping):
        return [Fault(path=at, found=burst, allowed=f"a mapping of {', '.join(known)}")]
    wrong = [
        Fault(path=f"{at}.{key}", message=f"is not a setting of a burst; allowed are {', '.join(known)}")
        for key in burst
        if key not in known
    ]
    wrong += [
        Fault(path=f"{at}.{key}", found=burst.get(key), allowed="a text")
        for key in known
        if not isinstance(burst.get(key), str) or not burst[key]
    ]
    if data.get("queue") or not data.get("operators", ["jobset"]):
        message = (
            "needs a queue installed by Sizewell, which fills the cluster's machines first: the order of an "
            "existing queue cannot be changed"
        )
        wrong.append(Fault(path=at, message=message, fix="leave queue out, and jobset in operators"))
    if data.get("rdma"):
        message = f"has no {data['rdma']}: a job that asks for it would wait forever although the burst has room"
        wrong.append(Fault(path=at, message=message, fix="leave rdma out, so that jobs communicate over TCP; or burst"))
    return wrong


def adopted_target(
    cluster: Adopted, pool: Pool, *, name: str, queue: str = "", store: str = "", bursts: bool = False
) -> Target:
    """The pool on that cluster; a queue or store that the cluster names itself goes before ours.

    `bursts`: its jobs name no machines, and the queue says of each on which ones it runs.
    """
    return other_target(
        pool,
        name=name,
        selector={} if bursts else cluster.selector,
        taints={} if bursts else cluster.taints,
        account=cluster.account,
        annotations=cluster.annotations,
        rdma=cluster.rdma,
        placed=bursts,
        queue=cluster.queue or queue,
        store=cluster.store or store,
    )


def version_fault(kind: str, api: str, served: Sequence[str]) -> str:
    """Why a cluster's operator cannot take what we write, in one sentence; "" where it can.

    >>> version_fault("JobSet", "jobset.x-k8s.io/v1alpha2", ["v1alpha2"])
    ''
    >>> version_fault("LocalQueue", "kueue.x-k8s.io/v1beta2", ["v1beta1"])
    "the cluster's operator serves LocalQueue as v1beta1, manifests are written for kueue.x-k8s.io/v1beta2: upgrade it"
    """
    group, _, version = api.partition("/")
    if version in served:
        return ""
    there = ", ".join(served) or "no version at all"
    return f"the cluster's operator serves {kind} as {there}, manifests are written for {group}/{version}: upgrade it"


def kubeconfig_fault(text: str) -> str:
    """Why a text is no kubeconfig that reaches a cluster, in one sentence; "" where it may be one.

    >>> kubeconfig_fault("~/.kube/config")
    'is the path of a file: give its content, as with `pulumi config set --secret sizewell:kubeconfig < FILE`'
    """
    import yaml

    wanted = "give what `kubectl config view --flatten --minify` prints"
    if "\n" not in text.strip() and not text.lstrip().startswith("{") and ("/" in text or text.endswith("config")):
        return (
            "is the path of a file: give its content, as with `pulumi config set --secret sizewell:kubeconfig < FILE`"
        )
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        return f"is not YAML: {wanted}"
    if not isinstance(data, dict) or data.get("kind") != "Config":
        return f"is not of kind Config: {wanted}"
    by_name = {
        key: {
            str(entry.get("name")): entry.get(key[:-1]) or {}
            for entry in data.get(key) or ()
            if isinstance(entry, dict)
        }
        for key in ("clusters", "contexts", "users")
    }
    current = data.get("current-context")
    if not current or current not in by_name["contexts"]:
        known = ", ".join(by_name["contexts"]) or "none"
        return f"has current-context {current!r}, and its contexts are {known}: {wanted}"
    context = by_name["contexts"][current]
    server = by_name["clusters"].get(str(context.get("cluster")), {}).get("server", "")
    if not str(server).startswith("https://"):
        return f"has no https:// server for its context {current!r}: {wanted}"
    if str(context.get("user")) not in by_name["users"]:
        return f"has no user for its context {current!r}: {wanted}"
    return ""
