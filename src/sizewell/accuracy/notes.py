"""Why a case is far off, for the accuracy page: what is known about the case, else what its source says about itself.

Notes explain errors to a reader; no prediction reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sizewell import csvtables
from sizewell.accuracy.cases import Case
from sizewell.accuracy.report import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A row of notes.csv; of several that fit a case the first counts."""

    prefix: str  # of the ids of cases
    note: str


_LONGEST = 180


@cache
def _notes() -> tuple[Note, ...]:
    return csvtables.read(Note, Path(__file__).parent / "data/notes.csv")


def note(row: Row, case: Case) -> str:
    """One sentence: a written note, or what was assumed and what the source says about its own uncertainty."""
    for known in _notes():
        if row.id.startswith(known.prefix):
            return known.note
    parts = []
    if row.assumptions:
        parts.append("assumed: " + "; ".join(row.assumptions[:2]))
    uncertainty = str(case.raw.get("uncertainty") or "").strip()
    if uncertainty:
        parts.append("source: " + (uncertainty if len(uncertainty) <= _LONGEST else uncertainty[: _LONGEST - 1] + "…"))
    return ". ".join(parts) or "no cause found in what the source states"
