"""Ways out in the terms of the resource's own provider: rules read one spelling of a type, programs use several."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.resources.recorded import RecordedResource
from sizewell.resources.values import declared_type


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTerm:
    """A row of own_terms.csv: what an input that a fix names is called by another provider's type, "" for nothing."""

    type: str
    term: str
    own: str = ""
    source: str


_ROWS: Final = sorted(
    csvtables.read(OwnTerm, Path(__file__).parent / "data/own_terms.csv"), key=lambda row: -len(row.term)
)
_TYPES: Final = frozenset(row.type for row in _ROWS)


def in_own_terms(fix: str, resource: RecordedResource | None) -> str:
    """A fix as the provider of a resource spells it; another declaration where its type has no such input.

    >>> url = "urn:pulumi:dev::p::azure:machinelearning/computeCluster:ComputeCluster::c"
    >>> made = RecordedResource(urn=url, type="azure-native:machinelearningservices:Compute", name="c", inputs={})
    >>> in_own_terms("set enableNodePublicIp to false", made)
    'set nodePublicIpEnabled to false'
    """
    kind = "" if resource is None else declared_type(resource)
    if resource is None or kind not in _TYPES:
        return fix
    for row in (row for row in _ROWS if row.type == kind):
        word = re.compile(rf"(?<![\w.]){re.escape(row.term)}(?!\w)")
        if not word.search(fix):
            continue
        if not row.own:
            return f"declare it as {resource.type} and {fix}: {kind} has no such input; or waive it with a reason"
        fix = word.sub(row.own, fix)
    return fix
