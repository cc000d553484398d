"""URNs and aliases, as the engine computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sizewell.resources.recorded import RecordedResource

STACK_TYPE: Final = "pulumi:pulumi:Stack"


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasSpec:
    """What a resource was before: a whole URN, or the parts that differ."""

    urn: str = ""
    name: str = ""
    type: str = ""
    stack: str = ""
    project: str = ""
    parent: str = ""
    no_parent: bool = False


def urn_of(stack: str, project: str, type_: str, name: str, *, parent: str) -> str:
    """The URN of a resource: the types of its parents, except the root stack, precede its own.

    >>> urn_of("dev", "p", "aws:s3/bucket:Bucket", "b", parent="urn:pulumi:dev::p::my:C::c")
    'urn:pulumi:dev::p::my:C$aws:s3/bucket:Bucket::b'
    """
    if parent:
        types = parent.split("::")[2]
        if types != STACK_TYPE:
            type_ = f"{types}${type_}"
    return f"urn:pulumi:{stack}::{project}::{type_}::{name}"


def name_of(urn: str) -> str:
    return urn.split("::", 3)[3]


def alias_urns(
    specs: Sequence[AliasSpec],
    *,
    stack: str,
    project: str,
    type_: str,
    name: str,
    parent: RecordedResource | None,
    extra: Sequence[str] = (),
) -> tuple[str, ...]:
    """All URNs that a resource may have had: its own aliases, and those that follow from its parent's.

    A child whose name begins with its parent's name had the parent's old name in that place.
    """

    def old(spec: AliasSpec, name: str, parent_urn: str) -> str:
        of = "" if spec.no_parent else spec.parent or parent_urn
        return urn_of(spec.stack or stack, spec.project or project, spec.type or type_, spec.name or name, parent=of)

    parent_urn = parent.urn if parent is not None else ""
    urns = [*extra, *(spec.urn or old(spec, name, parent_urn) for spec in specs)]
    if parent is not None:
        for alias in parent.aliases:
            renamed = name_of(alias) + name[len(parent.name) :] if name.startswith(parent.name) else name
            urns.append(urn_of(stack, project, type_, renamed, parent=alias))
            urns += [old(spec, renamed, alias) for spec in specs if not (spec.urn or spec.no_parent or spec.parent)]
    urn = urn_of(stack, project, type_, name, parent=parent_urn)
    return tuple(dict.fromkeys(alias for alias in urns if alias != urn))
