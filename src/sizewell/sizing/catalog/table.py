"""Reading a CSV file into records: errors name file, row, column and value, and all of them are collected.

What a cell may hold follows from the records' annotations, as in `csvtables`, but for two things: an empty cell of a
count is 0, and no other empty cell stands for a default. A `source` that starts with "@" is a key of `sources.csv`;
anything else is the source itself.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Annotated, Final, TypeVar

from sizewell import csvtables
from sizewell.sizing.errors import Fault
from sizewell.sizing.versions import refusal

SOURCES = ("key", "source")
VERSIONED = "# schema:"  # the first line of a table that says its version

Record = TypeVar("Record")
_SOURCE: Final = "source"
_SOURCES: Final = "sources"
Source = Annotated[
    str, _SOURCE
]  # as a cell names it, a key of sources.csv or not; in a record, what the key stands for
Sources = Annotated[str, _SOURCES]  # several, separated by " | "; in a record by "; "


def columns_of(record: type) -> tuple[str, ...]:
    """The columns of a record's table, in their order."""
    return tuple(column for part in _unbound(record) for column in part.columns)


def _parts(record: type, sources: Mapping[str, str]) -> list[csvtables.Part]:
    return [
        replace(part, convert=partial(part.convert, sources)) if part.convert in _OF_SOURCES else part
        for part in _unbound(record)
    ]


@cache
def _unbound(record: type) -> list[csvtables.Part]:
    """With the converters of sources as they are before the sources are known."""
    own: dict[object, Callable[..., object]] = {
        int: _count,
        Mapping[str, str]: _mapping,
        _SOURCE: _source,
        _SOURCES: _joined,
    }
    return csvtables.parts_of(record, own)


def _count(cell: str) -> int:
    return csvtables.whole_number(cell or "0")


def _mapping(cell: str) -> dict[str, str]:
    """Of "a=1 | b=2"; what has no "=" is passed over."""
    return dict(word.split("=", 1) for word in csvtables.words(cell) if "=" in word)


def _source(sources: Mapping[str, str], cell: str) -> str:
    if not csvtables.required(cell).startswith("@"):
        return cell
    if cell[1:] not in sources:
        raise ValueError(f"{cell!r} is not a key of sources.csv")
    return sources[cell[1:]]


def _joined(sources: Mapping[str, str], cell: str) -> str:
    return "; ".join(_source(sources, word) for word in csvtables.words(cell))


_OF_SOURCES: Final[tuple[object, ...]] = (_source, _joined)


def read(
    record: type[Record],
    name: str,
    text: str,
    *,
    sources: Mapping[str, str],
    faults: list[Fault],
    at: list[str] | None = None,
    complete: csvtables.Complete | None = None,
) -> list[Record]:
    """All records of one file; what is wrong goes to `faults` as "offers/aws.csv row 214: usd_per_hour: ...".

    Row numbers are line numbers: the header is row 1. `at` takes down where each record stands. `complete`: fields that
    follow from those of a row.
    """
    parts, columns = _parts(record, sources), columns_of(record)
    wrong: list[Fault] = []
    numbered = list(lines(name, text, columns, wrong))
    places = at if at is not None else []
    try:
        records = csvtables.made(record, parts, [cells for _, cells in numbered], complete)
    except ValueError:
        records = []
    else:
        if not wrong:
            places += [f"{name} row {number}" for number, _ in numbered]
            return records
    records.clear()
    for number, cells in lines(name, text, columns, faults):  # once more, so that faults come in the order of the rows
        if found := csvtables.wrong_cell(parts, cells):
            faults.append(Fault(path=f"{name} row {number}: {found[0]}", message=found[1]))
        else:
            records += csvtables.made(record, parts, [cells], complete)
            places.append(f"{name} row {number}")
    return records


def of_cells(record: type[Record], rows: Sequence[Sequence[str]], sources: Mapping[str, str]) -> list[Record]:
    """Records of rows as `cells_of` writes them. Raises ValueError where a cell is wrong."""
    return csvtables.made(record, _parts(record, sources), rows)


def cells_of(record: object) -> list[str]:
    """The record as cells of its file, so that `read` gives the same record again; sources are written out."""
    cells: list[str] = []
    for part in _unbound(type(record)):  # type: ignore[arg-type]  # a class is hashable
        value = getattr(record, part.name)
        if part.spread is not None:
            cells += map(_cell, part.spread.split(value))
        elif type(value) is int and value == 0 and part.default == 0:
            cells.append("")
        else:
            cells.append(_cell(value))
    return cells


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.12g}"
        case tuple():
            return " | ".join(value)
        case frozenset():
            return " | ".join(sorted(value))
        case dict():
            return " | ".join(f"{key}={value[key]}" for key in sorted(value))
    return str(value)


def read_sources(name: str, text: str, faults: list[Fault]) -> dict[str, str]:
    """Key to source."""
    return {cells[0]: cells[1] for _, cells in lines(name, text, SOURCES, faults)}


LEFT_OUT: Final = frozenset(
    {"zones", "zones_source"}  # which files of older releases do not have
    | {
        "fabric",
        "fabric_bytes_per_s",
        "rdma_interfaces",
        "local_nvme_bytes",
        "architecture",
        "network_cards",
        "boot_disk",
    }
    | {"temporary_bytes", "cloud_accelerator", "packing", "traits", "traits_source", "managed", "markets", "quota"}
    | {"purchase_usd_low", "purchase_usd_high", "power_w", "note"}  # which few machines of one's own need
)
"""Columns that a file need not have: empty there."""


def lines(name: str, text: str, columns: tuple[str, ...], faults: list[Fault]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text.splitlines())
    header = next(reader, [])
    if header and header[0].startswith(VERSIONED):
        wrong, fix = refusal("catalog", header[0].removeprefix(VERSIONED).strip())
        if wrong:
            faults.append(Fault(path=f"{name} row 1: schema", message=wrong, fix=fix))
            return
        header = next(reader, [])
    added = [place for place, column in enumerate(columns) if column in LEFT_OUT and column not in header]
    if tuple(header) != tuple(column for place, column in enumerate(columns) if place not in added):
        missing = [column for column in columns if column not in header]
        extra = [column for column in header if column not in columns]
        difference = f"missing {missing}, unknown {extra}" if missing or extra else "in another order"
        faults.append(Fault(path=f"{name} row 1", message=f"the columns must be {','.join(columns)} ({difference})"))
        return
    width = len(columns) - len(added)
    for cells in reader:
        if len(cells) == width:
            for place in added:
                cells.insert(place, "")
            yield reader.line_num, cells
        elif cells:
            message = f"has {len(cells)} cells, must have {width}"
            faults.append(Fault(path=f"{name} row {reader.line_num}", message=message))
