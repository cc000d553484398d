"""What making a stack's resources takes: rights of whoever is logged in, and services that have to be switched on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sizewell import csvtables

_DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A row of rights.csv. Rules of security groups and tags are parts of the calls that make what they belong to."""

    type: str
    right: str  # as the cloud's own check of rights names it: an action or a permission
    also: str = ""  # what using the new resource takes besides
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRole:
    """A row of linked_roles.csv: a role of one of AWS's services that making a resource takes, once in each account."""

    type: str
    role: str  # its name; with * where there is one for each resource
    service: str
    made: Literal["on use", "beforehand"]  # by the first call of whoever may create it, or by nobody
    source: str


LINKED: Final[Mapping[str, LinkedRole]] = {
    row.type: row for row in csvtables.read(LinkedRole, _DATA / "linked_roles.csv")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A row of services.csv: a module of a cloud's Pulumi provider, and what of the cloud makes its resources."""

    cloud: str  # that has services to switch on
    module: str
    service: str  # a resource provider that has to be registered, or an API that has to be enabled
    source: str


RIGHTS: Final[Mapping[str, Right]] = {row.type: row for row in csvtables.read(Right, _DATA / "rights.csv")}
_SERVICES: Final = csvtables.read(Service, _DATA / "services.csv")


def needed(types: Iterable[str]) -> tuple[list[str], int]:
    """The rights that making resources of these types takes, and how many of the types the table does not have.

    >>> needed(["aws:iam/role:Role", "aws:sqs/queue:Queue", "aws:rds/instance:Instance"])
    (['iam:CreateRole', 'iam:PassRole', 'sqs:CreateQueue'], 1)
    """
    kinds = list(types)
    known = [RIGHTS[kind] for kind in kinds if kind in RIGHTS]
    named = {row.right for row in known} | {row.also for row in known if row.also}
    return sorted(named), len(kinds) - len(known)


def services(cloud: str) -> dict[str, str]:
    """Module -> service, of one cloud."""
    return {row.module: row.service for row in _SERVICES if row.cloud == cloud}
