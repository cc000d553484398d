"""Facts in tables: one CSV file beside the code that asks it, one record, and a reader that follows from the record.

A column of the file is a field of the record, in any order. What a cell may hold is the field's annotation: text, a
number, one of some words, `yes` or `no`, a list "a | b", a mapping "a=1 | b=2"; it may be empty where the field has a
default. Each row names its `source`, a key of `sources.csv` in the same folder, which says where the fact was seen and
when.

These tables come with the package: a wrong one is a fault of the package, and ends in an exception that names file,
row and column. What a user may write himself (prices, fees) is read by `sizing.catalog`, which collects faults.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
Column = tuple[str, Callable[[str], Any], bool]  # name, reader, whether a cell may be empty


class TableError(ValueError):
    """A table of the package that cannot be read: file, row, column and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the facts of some rows were seen."""

    key: str
    source: str  # "source not recorded" where nobody wrote it down
    checked: str  # day or month; where no source is recorded, the day on which the rows were last edited


def read(record: type[Record], file: Path) -> tuple[Record, ...]:
    """Every row of `file` as a `record`, a dataclass, in the order of the file. Raises TableError."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.reader(stream)
        header = next(rows, [])
        known = {field.name: field for field in fields(record)}  # type: ignore[arg-type]  # any dataclass
        required = [name for name, field in known.items() if field.default is MISSING]
        if wrong := [*(set(header) - set(known)), *(set(required) - set(header))]:
            raise TableError(f"{file.name}: unknown or missing columns: {', '.join(sorted(wrong))}")
        readers = _readers(record)  # type: ignore[arg-type]  # a class is hashable
        columns = [(name, readers[name], known[name].default is not MISSING) for name in header]
        records = []
        for cells in rows:
            if len(cells) != len(header):
                raise TableError(f"{file.name} row {rows.line_num}: {len(cells)} cells, must have {len(header)}")
            try:
                given = {
                    name: reader(cell)
                    for (name, reader, optional), cell in zip(columns, cells, strict=True)
                    if cell or not optional
                }
            except (ValueError, ArithmeticError):
                raise _wrong_cell(f"{file.name} row {rows.line_num}", columns, cells) from None
            records.append(record(**given))
    return tuple(records)


def sources(folder: Path) -> Mapping[str, Source]:
    """The sources of the tables in a folder, by key."""
    return {source.key: source for source in read(Source, folder / "sources.csv")}


def _wrong_cell(row: str, columns: list[Column], cells: list[str]) -> TableError:
    """What is wrong with a row that was not read; rows are read in one go, since some tables are read at each start."""
    for (name, reader, optional), cell in zip(columns, cells, strict=True):
        try:
            if cell or not optional:
                reader(cell)
        except (ValueError, ArithmeticError) as error:
            return TableError(f"{row}: {name}: {cell!r}: {error}")
    raise AssertionError(row)


@cache
def _readers(record: type) -> Mapping[str, Callable[[str], Any]]:
    return {name: _reader(annotation) for name, annotation in get_type_hints(record).items()}


def _reader(annotation: Any) -> Callable[[str], Any]:
    if get_origin(annotation) is Literal:
        return _one_of(get_args(annotation))
    if annotation in _READERS:
        return _READERS[annotation]
    raise TypeError(f"tables have no cells of type {annotation}")


def _text(cell: str) -> str:
    if not cell:
        raise ValueError("must not be empty")
    return cell


def _one_of(allowed: tuple[str, ...]) -> Callable[[str], str]:
    def read_one(cell: str) -> str:
        if cell not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return cell

    return read_one


def _flag(cell: str) -> bool:
    if cell not in ("yes", "no"):
        raise ValueError("must be yes or no")
    return cell == "yes"


def _list(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(" | ")) if cell else ()


def _pairs(cell: str) -> tuple[tuple[str, str], ...]:
    pairs = [each.partition("=") for each in _list(cell)]
    if not all(key and sign for key, sign, _ in pairs):
        raise ValueError("must be KEY=VALUE, further ones after ' | '")
    return tuple((key, value) for key, _, value in pairs)


_READERS: dict[Any, Callable[[str], Any]] = {
    str: _text,
    int: int,
    Decimal: Decimal,
    bool: _flag,
    tuple[str, ...]: _list,
    tuple[tuple[str, str], ...]: _pairs,
}
