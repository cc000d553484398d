"""What the clouds call the names that we give, and how long we let them be: at most what each allows.

A kind that is not in names.csv is named by the cloud or by a rule of its own, which its component states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sizewell import csvtables


@dataclass(frozen=True, slots=True, kw_only=True)
class NameLimit:
    """A row of names.csv."""

    type: str
    argument: str  # of the SDK's class
    characters: int
    source: str


NAMES: Final[Mapping[str, NameLimit]] = {
    row.type: row for row in csvtables.read(NameLimit, Path(__file__).parent / "data/names.csv")
}
