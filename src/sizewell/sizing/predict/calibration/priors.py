"""The constants that time of training rests on: meaning, prior, how far a fit may pull it, where the prior is from.

A prior is a measurement of its own (the matmul ceilings), or what physics or practice says. The fits of `accuracy` are
the only user.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sizewell import csvtables

_DATA: Final = Path(__file__).parents[1] / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A row of priors.csv."""

    name: str
    value: float
    sigma: float  # standard deviation of the value's logarithm; 0 for a constant that is not fitted
    upper: float | None = None  # a physical limit that no fit may pass
    meaning: str
    source: str


def priors() -> dict[str, Prior]:
    """All constants by name, in the order of the file, each with its source in full."""
    sources = csvtables.sources(_DATA)
    rows = csvtables.read(Prior, _DATA / "priors.csv")
    return {row.name: replace(row, source=sources[row.source].source) for row in rows}
