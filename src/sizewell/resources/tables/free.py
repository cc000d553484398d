"""Types that cost nothing of their own, with the reason: whole services first, then single types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sizewell import csvtables

NOT_CLOUD: Final = ("pulumi:", "random:", "tls:", "time:", "std:", "null:", "command:", "local:")

_DATA: Final = Path(__file__).parent / "data"
_GCP_RIGHTS: Final = re.compile(r"^gcp:.*(Iam|IAM)(Binding|Member|Policy|AuditConfig)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeType:
    """A row of free_types.csv: a type as the provider spells it."""

    type: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeService:
    """A row of free_services.csv: what the token of a free type begins with; the first row that fits speaks."""

    prefix: str
    reason: str
    source: str


FREE: Final = {row.type: row.reason for row in csvtables.read(FreeType, _DATA / "free_types.csv")}
SERVICES: Final = {row.prefix: row.reason for row in csvtables.read(FreeService, _DATA / "free_services.csv")}


def free_reason(token: str) -> str:
    """Why a whole service's types are free, "" where they are not known to be.

    >>> free_reason("aws:iam/role:Role")
    'identities and permissions are free'
    """
    if gives_rights(token):
        return SERVICES["gcp:iam/"]
    return next((reason for prefix, reason in SERVICES.items() if token.startswith(prefix)), "")


def gives_rights(token: str) -> bool:
    """Whether a type grants or denies access to one resource of Google Cloud.

    >>> gives_rights("gcp:vertex/aiEndpointIamMember:AiEndpointIamMember"), gives_rights("gcp:vertex/aiIndex:AiIndex")
    (True, False)
    """
    return _GCP_RIGHTS.match(token) is not None
