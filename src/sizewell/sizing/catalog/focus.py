"""The one reader of bills in the columns of FOCUS 1.0 to 1.2 (focus.finops.org), CSV or Parquet, row by row.

What the sellers write differently is made alike here: cells without a value, tags, units, and where a machine type
stands. A file is never held in memory.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.errors import ConfigError, Fault, UsageError
from sizewell.sizing.providers import CLOUDS

NULLS: Final = frozenset({"", "NULL", "null", "None"})
GZIP: Final = b"\x1f\x8b"
PARQUET: Final = b"PAR1"
ZIP: Final = b"PK\x03\x04"
PROVIDERS: Final = {word: name for name, cloud in CLOUDS.items() for word in (name, *cloud.bills_as)}
MARKETS: Final = {"standard": "on-demand", "on-demand": "on-demand", "dynamic": "spot", "spot": "spot"}
METERS: Final = ("BoxUsage:", "SpotUsage:")  # how AWS's usage types name an instance
SHORT: Final = "has fewer or more cells than columns: is the file complete?"
_OTHER_METERS: Final = re.compile(r":((?:[a-z]+\.)?[a-z][a-z0-9-]*\.[a-z0-9-]+)$")  # USE1-Host:ml.g6.xlarge
_UNITS: Final = {
    **dict.fromkeys(("hour", "hr", "1 hour", "instance hour"), "hour"),
    **dict.fromkeys(("gb-month", "gb-mo", "gb/month", "1 gb/month", "gibibyte month", "gib-month"), "gb-month"),
    **dict.fromkeys(("gb", "1 gb", "gibibyte", "gib"), "gb"),
}
_BLOCK: Final = re.compile(r"(\d+) (.+)")
_OWNED: Final = re.compile(r"^(?:resourcetags/)?(?:user[:_])?sizewell[-_:/]")
_BATCH: Final = 1 << 14
csv.field_size_limit(1 << 24)  # tags of a row may be longer than what the module takes


@dataclass(slots=True)
class Rows:
    """A bill's rows as cells; `line` is that of the row read last, as an editor counts it, or its number in Parquet."""

    path: Path
    columns: tuple[str, ...]
    cells: Iterator[Sequence[Any]]
    line: int = 1

    def __iter__(self) -> Iterator[Sequence[Any]]:
        return self.cells

    def fault(self, column: str = "", *, message: str = "", found: str = "", allowed: str = "", fix: str = "") -> Fault:
        """What is wrong with a cell of the row read last."""
        where = f"{self.path} line {self.line}" if not column else f"{self.path} line {self.line}: {column}"
        return Fault(path=where, message=message, found=found or None, allowed=allowed, fix=fix)


def is_parquet(path: Path) -> bool:
    """Whether a file is of that format, whatever it is called."""
    return _starts(path) == PARQUET


def read_rows(path: Path) -> Rows:
    """The rows of a bill; ConfigError where the file is none, UsageError where nothing here reads its format."""
    if not path.exists() or path.is_dir():
        raise UsageError(f"{path}: no such file")
    if is_parquet(path):
        return _parquet(path)
    return _csv(path)


def _starts(path: Path) -> bytes:
    if not path.is_file():  # standard input, of which nothing may be read twice
        return b""
    with path.open("rb") as file:
        start = file.read(4)
    return GZIP if start.startswith(GZIP) else start


def _csv(path: Path) -> Rows:
    if _starts(path).startswith(ZIP):
        message = "is a zip archive or a spreadsheet"
        raise ConfigError([Fault(path=str(path), message=message, fix="unpack it, or save the sheet as CSV")])
    opened = gzip.open if _starts(path) == GZIP else open
    file = opened(path, "rt", encoding="utf-8-sig", newline="")  # closed by who reads its rows to the end
    reader = csv.reader(file, strict=True)  # a cell that never ends is a file that was cut off
    rows = Rows(path=path, columns=(), cells=iter(()))

    def cells() -> Iterator[list[str]]:
        with file:
            width = len(rows.columns)
            try:
                for row in reader:
                    if len(row) != width:
                        if not row:
                            continue
                        rows.line = reader.line_num
                        raise ConfigError([rows.fault(message=SHORT)])
                    rows.line = reader.line_num
                    yield row
            except (UnicodeDecodeError, csv.Error, EOFError, OSError) as error:
                rows.line = reader.line_num + (not isinstance(error, csv.Error))
                raise ConfigError(
                    [rows.fault(message=f"cannot be read: {error}", fix="export the bill again")]
                ) from None

    try:
        rows.columns = tuple(next(reader, ()))
    except (UnicodeDecodeError, csv.Error, EOFError, OSError) as error:
        raise ConfigError(
            [Fault(path=str(path), message=f"cannot be read: {error}", fix="export it as CSV in UTF-8")]
        ) from None
    rows.cells = cells()
    return rows


def _parquet(path: Path) -> Rows:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        from sizewell import source

        way = f"{source.install('bills')}, or export the bill as CSV"
        raise UsageError(f"{path}: Parquet is read by pyarrow, which is not installed\n  fix: {way}") from None
    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(
            [Fault(path=str(path), message=f"cannot be read: {error}", fix="export the bill again")]
        ) from None
    rows = Rows(path=path, columns=tuple(file.schema_arrow.names), cells=iter(()), line=0)

    def cells() -> Iterator[tuple[Any, ...]]:
        with file:
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in zip(*map(_values, batch.columns), strict=True):
                    rows.line += 1
                    yield row

    rows.cells = cells()
    return rows


def _values(column: Any) -> list[Any]:
    """Cells as CSV has them; of tags the pairs."""
    from pyarrow import compute, string, types

    if types.is_nested(column.type):
        return [None if value is None else _pairs(value) for value in column.to_pylist()]
    text = column if types.is_string(column.type) else compute.cast(column, string())
    words = compute.fill_null(text, "").dictionary_encode()  # a text that comes again is made once
    values = words.dictionary.to_pylist()
    return [values[number] for number in words.indices.to_pylist()]


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(value, Mapping):
        return tuple((str(key), str(each)) for key, each in value.items())
    return tuple(
        (str(each.get("key")), str(each.get("value"))) if isinstance(each, Mapping) else (str(each[0]), str(each[1]))
        for each in value
    )


def plain(cell: Any) -> str:
    """A cell as text; "" where it has no value."""
    return "" if cell is None or cell in NULLS else str(cell)


def pairs_of(cell: Any) -> dict[str, str]:
    """Keys and values of tags or details: a JSON object, a list of keys and values, or what Parquet has as a map."""
    if isinstance(cell, tuple):
        return dict(cell)
    if not cell or cell in NULLS:
        return {}
    try:
        stated = json.loads(cell)
    except ValueError:
        return {}
    if isinstance(stated, list):
        return dict(_pairs([each for each in stated if isinstance(each, Mapping)]))
    return {str(key): str(value) for key, value in stated.items()} if isinstance(stated, Mapping) else {}


def own_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Sizewell's own tags, however the seller spells their keys, and the cluster that the seller says it is of.

    >>> own_tags({"user:sizewell:stack": "dev", "user_sizewell_owner": "a", "sizewell-id": "1", "Name": "x"})
    {'sizewell-stack': 'dev', 'sizewell-owner': 'a', 'sizewell-id': '1'}
    """
    ours = {}
    for key, value in tags.items():
        match = _OWNED.match(key.lower())
        if match:
            ours["sizewell-" + re.sub(r"[_:/]", "-", key.lower()[match.end() :])] = value
    return ours


def cloud_of(row: Mapping[str, Any]) -> str:
    """The cloud that a row is of; "" for other sellers."""
    name = plain(row.get("ServiceProviderName")) or plain(row.get("ProviderName"))
    return PROVIDERS.get(name.strip().lower(), "")


def machine_of(row: Mapping[str, Any]) -> str:
    """The machine type whose hours a row bills, by its details or by how AWS names a meter; "" where none is named."""
    named = pairs_of(row.get("SkuPriceDetails")).get("InstanceType", "") or plain(row.get("x_InstanceType"))
    named = named or pairs_of(row.get("x_SkuDetails")).get("ServiceType", "")  # Microsoft's
    if named:
        return named
    for meter in (plain(row.get("SkuMeter")), plain(row.get("x_UsageType"))):
        for start in METERS:
            if start in meter:
                return meter.partition(start)[2]
    return ""


def any_machine_of(row: Mapping[str, Any]) -> str:
    """The same, for what services bill by machine type too."""
    meters = (plain(row.get("SkuMeter")), plain(row.get("x_UsageType")))
    others = (match[1] for meter in meters if (match := _OTHER_METERS.search(meter)))
    return machine_of(row) or next(others, "")


_LICENSED: Final = re.compile(r"\b(Windows|RHEL|Red Hat|SUSE|SQL (Std|Web|Ent|Server))\b", re.IGNORECASE)
_OPERATION: Final = re.compile(r"RunInstances:0[0-9A-Fa-fg]{3}")


def is_linux(row: Mapping[str, Any]) -> bool:
    """Whether a machine's hour is one with Linux, as far as a row says."""
    system = pairs_of(row.get("SkuPriceDetails")).get("OperatingSystem", "Linux")
    others = (_LICENSED.search(plain(row.get(key))) for key in ("x_SkuMeterSubcategory", "ChargeDescription"))
    # AWS's operation has the platform behind it: RunInstances:0002 is Windows, RunInstances:0010 Red Hat
    other = any(others) or _OPERATION.match(plain(row.get("x_Operation"))) is not None
    return system.lower().startswith("linux") and not other


def unit_of(unit: str) -> str:
    """One name for a unit.

    >>> unit_of("Hrs"), unit_of("GB-Mo"), unit_of("Requests"), unit_of("1 Hour")
    ('hour', 'gb-month', 'request', 'hour')
    """
    name = unit.strip().lower().removesuffix("s")
    return _UNITS.get(name, name)


def block_of(row: Mapping[str, Any]) -> tuple[str, Decimal]:
    """The unit of a row's quantity and price, and how many of it they count at once: Azure sells hours by the hundred.

    Of "100 Hours" some of Microsoft's exports have the distinct unit alone, and the number in x_PricingBlockSize
    (learn.microsoft.com/cloud-computing/finops/toolkit/powershell/data/Get-FinOpsPricingUnit).

    >>> block_of({"PricingUnit": "100 Hours", "x_PricingBlockSize": "100"})
    ('hour', Decimal('100'))
    >>> block_of({"PricingUnit": "Hours", "x_PricingBlockSize": "10.0"}), block_of({"PricingUnit": "10K"})
    (('hour', Decimal('10.0')), ('10k', Decimal('1')))
    """
    stated = plain(row.get("PricingUnit"))
    name = unit_of(stated)
    if name not in _UNITS.values() and (match := _BLOCK.fullmatch(stated.strip())):
        unit = unit_of(match[2])
        if unit in _UNITS.values() and int(match[1]):
            return unit, Decimal(match[1])
    if stated.strip()[:1].isdigit():
        return name, Decimal(1)
    try:
        size = Decimal(plain(row.get("x_PricingBlockSize")))
    except InvalidOperation:
        return name, Decimal(1)
    return name, size if size.is_finite() and size > 0 else Decimal(1)
