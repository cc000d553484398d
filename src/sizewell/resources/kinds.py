"""What objects of Kubernetes bring about, by their kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from sizewell import csvtables
from sizewell.resources.recorded import Hidden, RecordedResource, Unknown
from sizewell.resources.values import canonical, get, items

OF_KUBERNETES: Final = "kubernetes:"


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesKind:
    """A row of kubernetes_kinds.csv: what objects of a kind bring about; `*` is of every other kind of the group."""

    group: str
    kind: str
    brings: Literal["nothing", "pods", "volume", "load-balancer", "machines", "standing-machines"]
    reason: str = ""
    source: str


_ROWS: Final = {
    (row.group, row.kind): row
    for row in csvtables.read(KubernetesKind, Path(__file__).parent / "data/kubernetes_kinds.csv")
}


@lru_cache(maxsize=4096)
def kind_of(token: str) -> KubernetesKind | None:
    """The row of a type; None for what the table does not know: a custom resource of some operator."""
    group, kind = named(token)
    return _ROWS.get((group, kind)) or _ROWS.get((group, "*"))


def named(token: str) -> tuple[str, str]:
    """API group and kind of a type; a patch or a list is of what it patches or lists.

    >>> named("kubernetes:karpenter.sh/v1:NodePool"), named("kubernetes:core/v1:ServicePatch")
    (('karpenter.sh', 'NodePool'), ('core', 'Service'))
    """
    _, group, kind = (*canonical(token).split(":", 2), "", "")[:3]
    for ending in ("Patch", "List"):
        if kind.endswith(ending) and len(kind) > len(ending):
            kind = kind.removesuffix(ending)
    return group.split("/", 1)[0], kind


def started_by(resource: RecordedResource) -> Hidden | None:
    """Machines that an object makes its cluster start, and what an operator starts for one of a kind of its own."""
    if not resource.type.startswith(OF_KUBERNETES):
        return None
    (group, kind), row = named(resource.type), kind_of(resource.type)
    if row is not None and row.brings == "machines":
        return Hidden(
            name=resource.name,
            urn=resource.urn,
            what=_machines(resource),
            may_hide="machines, also with accelerators",
            why="they are started as pods need them",
            fix="waive it with a reason where its limits are what the team wants",
        )
    if row is not None and row.brings == "standing-machines":
        of_template = kind.endswith("Template")
        return Hidden(
            name=resource.name,
            urn=resource.urn,
            what=f"{kind} of {group}",
            may_hide="machines, also with accelerators",
            why="how many are started from it is stated elsewhere"
            if of_template
            else "a controller of its cluster starts as many as it states, of types that are not read here",
            fix="waive it with a reason where its machines are what the team wants",
        )
    if row is None and not _holds_pods(resource.inputs):
        return Hidden(
            name=resource.name, urn=resource.urn, what=f"custom resource {kind} of {group}",
            may_hide="pods, also with accelerators, and resources of a cloud",
            why="what it makes its operator start is not in this plan",
            fix="waive it with a reason where its operator starts nothing that is billed",
        )  # fmt: skip
    return None


def _machines(resource: RecordedResource) -> str:
    """Machines with the types that a pool of Karpenter names."""
    kinds = [
        str(value)
        for requirement in _list(get(resource.inputs, "spec", "template", "spec", "requirements"))
        if get(requirement, "key") == "node.kubernetes.io/instance-type"
        for value in _list(get(requirement, "values"))
    ]
    return f"machines that it starts ({', '.join(kinds[:3])})" if kinds else "machines that it starts"


def _list(value: object) -> tuple[object, ...]:
    listed = items(value)
    return () if isinstance(listed, Unknown) else listed


def _holds_pods(value: object) -> bool:
    """Whether a pod specification stands somewhere inside: its reader says what that asks for."""
    if isinstance(value, Mapping):
        return "containers" in value or any(_holds_pods(each) for each in value.values())
    return any(_holds_pods(each) for each in value) if isinstance(value, list | tuple) else False
