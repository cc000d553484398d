"""List prices of machine types without accelerators, which need no shape: a file per cloud and market, read when asked.

A row for each type and a column for each region, by price in the region with most types (alike rows side by side pack
small). Tens of thousands of prices that a load does not read: what runs beside accelerators, and the machines of other
programs. `data/machine_prices.csv` says where each cloud's were seen and when, with a checksum, so that the catalog's
digest covers them. `tools/machine_prices.py` writes them.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Final

from sizewell.csvtables import Day
from sizewell.sizing.catalog.records import Cloud
from sizewell.sizing.catalog.table import Source
from sizewell.sizing.files import write_whole
from sizewell.sizing.money import Priced

FOLDER: Final = Path(__file__).parent / "machine_prices"
MARKETS: Final = ("on-demand", "spot")


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePrices:
    """Where the prices of a cloud were seen, and when."""

    cloud: Cloud
    effective_from: Day
    sha256: str  # of the cloud's files, as `checksum` says it
    source: Source

    def price(self, instance_type: str, region: str, market: str, day: str) -> Priced | None:
        """US dollars per machine-hour from that day on; None where the file has none."""
        usd = _row(self.cloud, market, instance_type).get(region) if day >= self.effective_from else None
        return None if usd is None else Priced(Decimal(usd), self.source, self.effective_from)

    def places(self, instance_type: str) -> frozenset[tuple[str, str]]:
        """Regions and markets that have a price of a type."""
        return frozenset((region, market) for market in MARKETS for region in _row(self.cloud, market, instance_type))


@lru_cache(maxsize=32)
def _table(cloud: str, market: str) -> tuple[list[str], Mapping[str, str]]:
    """The regions of a file and its rows by type, in small letters; nothing where a cloud has no such file."""
    path = FOLDER / f"{cloud}.{market}.csv"
    head, *rows = path.read_text(encoding="utf-8").splitlines() if path.is_file() else ("",)
    return head.split(",")[1:], {row.partition(",")[0].lower(): row for row in rows}


def _row(cloud: str, market: str, instance_type: str) -> Mapping[str, str]:
    """US dollars an hour of a type by region, as written."""
    regions, rows = _table(cloud, market)
    prices = rows.get(instance_type.lower(), "").split(",")[1:]
    return {region: usd for region, usd in zip(regions, prices, strict=False) if usd}


@lru_cache(maxsize=128)
def _region(cloud: str, region: str) -> Mapping[str, Mapping[str, Decimal]]:
    prices: dict[str, dict[str, Decimal]] = {}
    for market in MARKETS:
        regions, rows = _table(cloud, market)
        if region in regions:
            column = regions.index(region) + 1
            for name, row in rows.items():
                if usd := row.split(",")[column]:
                    prices.setdefault(name, {})[market] = Decimal(usd)
    return prices


def regions(cloud: str) -> list[str]:
    """The regions of a cloud in which some type has a price."""
    return sorted({region for market in MARKETS for region in _table(cloud, market)[0]})


def listed_in(cloud: str, region: str) -> Mapping[str, Mapping[str, Decimal]]:
    """List prices of a region: type in small letters -> market -> US dollars an hour."""
    return _region(cloud, region)


def is_listed(cloud: str, instance_type: str) -> bool:
    """Whether a region of a cloud has a list price of a type, in capital letters or small ones."""
    return instance_type.lower() in _listed(cloud)


def listed_types(cloud: str) -> frozenset[str]:
    """The types of a cloud that some region has a price of, as the cloud spells them."""
    return frozenset(row.partition(",")[0] for market in MARKETS for row in _table(cloud, market)[1].values())


@lru_cache(maxsize=8)
def _listed(cloud: str) -> frozenset[str]:
    """The types of a cloud that some region has a price of, in small letters."""
    return frozenset(name.lower() for name in listed_types(cloud))


def write(cloud: str, market: str, prices: Iterable[tuple[str, str, float]]) -> None:
    """Write a file: region, type and US dollars an hour of each price."""
    by_type: dict[str, dict[str, float]] = {}
    for region, name, usd in prices:
        by_type.setdefault(name, {})[region] = usd
    types_in = Counter(region for row in by_type.values() for region in row)
    fullest = max(sorted(types_in), key=types_in.__getitem__)
    rows = [["instance_type", *sorted(types_in)]] + [
        [name, *(f"{row[region]:.7g}" if region in row else "" for region in sorted(types_in))]
        for name, row in sorted(by_type.items(), key=lambda each: (each[1].get(fullest, 0), each[0]))
    ]
    write_whole(FOLDER / f"{cloud}.{market}.csv", "".join(",".join(row) + "\n" for row in rows))


def checksum(cloud: str) -> str:
    """SHA-256 over the files of a cloud, by name."""
    whole = hashlib.sha256()
    for path in sorted(FOLDER.glob(f"{cloud}.*.csv")):
        whole.update(path.name.encode() + path.read_bytes())
    return whole.hexdigest()


_DISKLESS: Final = re.compile(r"(standard_[de]\d+(?:-\d+)?i?)(b?[apl]*)(s?_v[56])", re.IGNORECASE)
"""Sizes of Azure's D and E series whose letters have no d, for a disk (learn.microsoft.com/azure/virtual-machines/
vm-naming-conventions)."""


def with_local_disk(instance_type: str) -> str:
    """The same size of Azure with a disk of its own; "" where it has one, or the name does not say.

    >>> [with_local_disk(f"Standard_{size}") for size in ("D4s_v5", "E8as_v5", "D4ds_v5", "D4as_v4", "DS3_v2")]
    ['Standard_D4ds_v5', 'Standard_E8ads_v5', '', '', '']
    """
    return _DISKLESS.sub(r"\1\2d\3", instance_type) if _DISKLESS.fullmatch(instance_type) else ""


def vcpus_by_name(instance_type: str) -> int | None:
    """VCPUs that a name states: Google Cloud's last number, Azure's first, AWS's four for each x of "xlarge".

    Of Azure's D sizes before version 3 the number is none: D3 has four, D12 too.

    >>> [vcpus_by_name(name) for name in ("n2-standard-4", "Standard_D2s_v3", "m5.large", "c7g.4xlarge")]
    [4, 2, 2, 16]
    >>> [vcpus_by_name(name) for name in ("hpc7a.12xlarge", "m5.metal", "Standard_E8-4s_v5", "Standard_D12_v2")]
    [None, None, None, None]
    """
    found = re.fullmatch(
        r"[a-z]\w*-(?:standard|highmem|highcpu)-(\d+)|Standard_(?!DS?\d+i?_v2)[A-Z]+(\d+)[a-z]*_v\d+", instance_type
    )
    if found is not None:
        return int(found[1] or found[2])
    # Source: docs.aws.amazon.com/ec2/latest/instancetypes (from memory). Types for HPC run one thread on each core.
    aws = re.fullmatch(r"(?!hpc)[a-z]+\d[a-z\d-]*\.(?:(large)|(\d*)xlarge)", instance_type)
    return None if aws is None else 2 if aws[1] else 4 * int(aws[2] or 1)
