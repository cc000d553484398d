"""List prices of fees by class and region, such as database machines: a file per list, whose rows of a region are read
when asked.

As of machines (`machine_prices.py`), tens of thousands of prices that a load does not read. `data/fee_lists.csv` says
how the keys of a list begin, where it was seen and when, with a checksum, so that the catalog's digest covers it.
`tools/price_lists.py` writes the files: a column for each fee, whose key ends with the class of the row.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final

from sizewell.csvtables import Day
from sizewell.sizing.catalog.records import Cloud, Fee, Grade
from sizewell.sizing.catalog.table import Source

FOLDER: Final = Path(__file__).parent / "fee_lists"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeList:
    """A list of fees of a cloud: which keys it prices, where it was seen, and when."""

    cloud: Cloud
    name: str  # of its file, and how its keys begin
    what: str
    unit: str
    effective_from: Day
    sha256: str  # of its regions, as `checksum` says it
    source: Source
    confidence: Grade

    def fee(self, key: str, region: str, day: str) -> Fee | None:
        """The fee in a region from the list's day on; None where the list does not have it."""
        if not key.startswith(f"{self.name}.") or day < self.effective_from:
            return None
        usd = _region(self.name, region).get(key)
        if usd is None:
            return None
        return Fee(
            cloud=self.cloud,
            key=key,
            name=f"{self.what}, {key}",
            unit=self.unit,
            region=region,
            usd=usd,
            from_quantity=Decimal(0),
            effective_from=self.effective_from,
            source=self.source,
            confidence=self.confidence,
        )

    def everywhere(self, key: str, day: str) -> Iterator[Fee]:
        """The fee in each region that has it. Reads the whole list."""
        regions = (
            sorted({line.partition(",")[0] for line in _lines(self.name)[1:]}) if key.startswith(self.name) else []
        )
        return (fee for region in regions if (fee := self.fee(key, region, day)) is not None)


@lru_cache(maxsize=64)
def _region(name: str, region: str) -> Mapping[str, Decimal]:
    head, *lines = _lines(name) or ("",)
    rows = (line for line in lines if line.startswith(f"{region},"))
    return {
        f"{column}.{row['class']}": Decimal(usd)
        for row in csv.DictReader((head, *rows))
        for column, usd in row.items()
        if column not in ("region", "class") and usd
    }


@lru_cache(maxsize=8)
def _lines(name: str) -> tuple[str, ...]:
    path = FOLDER / f"{name}.csv"
    return tuple(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else ()


def in_order(lines: Iterable[str]) -> list[str]:
    """Rows as a file has them: equal prices follow each other, which packs a sixth smaller than by region."""
    return sorted(lines, key=lambda line: (line.split(",")[2:], line))


def checksum(name: str) -> str:
    """SHA-256 over the regions of a list, by name: each as a table of its own."""
    head, *lines = (FOLDER / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    lines.sort(key=lambda line: (line.partition(",")[0] + ".csv", line.split(",")[1]))
    whole = hashlib.sha256()
    for region, rows in groupby(lines, key=lambda line: line.partition(",")[0]):
        texts = (head.partition(",")[2], *(row.partition(",")[2] for row in rows))
        whole.update(f"{region}.csv".encode() + "".join(f"{text}\n" for text in texts).encode())
    return whole.hexdigest()
