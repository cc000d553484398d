"""Reading a CSV file into records: rows with typed readers, and errors that name file, row, column and value.

A `source` that starts with "@" is a key of `sources.csv`; anything else is the source itself.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from sizewell.sizing.errors import Fault
from sizewell.sizing.versions import refusal

SOURCES = ("key", "source")
VERSIONED = "# schema:"  # the first line of a table that says its version

Record = TypeVar("Record")


class CellError(ValueError):
    """A cell that cannot be read: column and what is wrong with it."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


class Row:
    """One row by column name, with readers that raise `CellError`."""

    __slots__ = ("cells", "sources")

    def __init__(self, cells: Mapping[str, str], sources: Mapping[str, str]) -> None:
        self.cells = cells
        self.sources = sources

    def text(self, column: str) -> str:
        return self.cells[column]

    def required(self, column: str) -> str:
        text = self.cells[column]
        if not text:
            raise CellError(column, "must not be empty")
        return text

    def count(self, column: str) -> int:
        text = self.cells[column]
        return int(text) if text.isdecimal() else int(self._number(column, text or "0", int))

    def count_or_none(self, column: str) -> int | None:
        return self.count(column) if self.cells[column] else None

    def real(self, column: str) -> float:
        return float(self._number(column, self.required(column), float))

    def real_or_none(self, column: str) -> float | None:
        text = self.cells[column]
        return float(self._number(column, text, float)) if text else None

    def money(self, column: str) -> Decimal:
        text = self.required(column)
        try:
            amount = Decimal(text)
        except InvalidOperation:
            amount = None
        return amount if amount is not None and amount.is_finite() else self._number(column, text, Decimal)

    def words(self, column: str) -> tuple[str, ...]:
        """A list, separated by " | " (names may hold spaces and commas)."""
        text = self.text(column)
        return tuple(text.split(" | ")) if text else ()

    def flag(self, column: str) -> bool:
        text = self.text(column)
        if text not in ("yes", "no"):
            raise CellError(column, f"must be yes or no, got {text!r}")
        return text == "yes"

    def one_of(self, column: str, allowed: Sequence[str]) -> Any:
        text = self.cells[column]
        if text not in allowed:
            raise CellError(column, f"must be one of {', '.join(a or '(empty)' for a in allowed)}, got {text!r}")
        return text

    def day(self, column: str) -> str:
        text = self.cells[column]
        if not is_iso_day(text):
            raise CellError(column, f"not a date (YYYY-MM-DD): {text!r}")
        return text

    def source(self) -> str:
        text = self.cells["source"]
        if text and text[0] != "@":
            return text
        return resolve_source(self.required("source"), self.sources)

    def span(self, low: str, high: str) -> tuple[int, int] | None:
        return (self.count(low), self.count(high)) if self.text(low) else None

    @staticmethod
    def _number(column: str, text: str, kind: Callable[[str], Any]) -> Any:
        try:
            value = kind(text)
            if math.isfinite(value):
                return value
        except (ValueError, InvalidOperation):
            pass
        whole = "not a whole number" if kind is int else "not a number"
        raise CellError(column, f"{whole}: {text!r}")


@functools.cache
def is_iso_day(text: str) -> bool:
    """Whether a text is a day as ISO writes it.

    >>> is_iso_day("2026-08-03"), is_iso_day("2026-8-3"), is_iso_day("2026-13-01")
    (True, False, False)
    """
    parts = text.split("-")
    return (
        len(text) == 10
        and [len(part) for part in parts] == [4, 2, 2]
        and all(part.isdigit() for part in parts)
        and 1 <= int(parts[1]) <= 12
        and 1 <= int(parts[2]) <= 31
    )


def resolve_source(text: str, sources: Mapping[str, str]) -> str:
    """The source behind a cell; raises `CellError` where "@key" is in no row of sources.csv."""
    if not text.startswith("@"):
        return text
    if text[1:] not in sources:
        raise CellError("source", f"{text!r} is not a key of sources.csv")
    return sources[text[1:]]


Maker = Callable[[Row], Record]


def read(
    name: str,
    text: str,
    columns: tuple[str, ...],
    make: Maker[Record],
    *,
    sources: Mapping[str, str],
    faults: list[Fault],
    at: list[str] | None = None,
) -> list[Record]:
    """All records of one file; what is wrong goes to `faults` as "offers/aws.csv row 214: usd_per_hour: ...".

    Row numbers are line numbers: the header is row 1. `at` takes down where each record stands.
    """
    records: list[Record] = []
    for number, cells in lines(name, text, columns, faults):
        try:
            records.append(make(Row(dict(zip(columns, cells, strict=True)), sources)))
            if at is not None:
                at.append(f"{name} row {number}")
        except CellError as wrong:
            faults.append(Fault(path=f"{name} row {number}: {wrong.column}", message=str(wrong)))
    return records


def read_sources(name: str, text: str, faults: list[Fault]) -> dict[str, str]:
    """Key to source."""
    return {cells[0]: cells[1] for _, cells in lines(name, text, SOURCES, faults)}


def lines(name: str, text: str, columns: tuple[str, ...], faults: list[Fault]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text.splitlines())
    header = next(reader, [])
    if header and header[0].startswith(VERSIONED):
        wrong, fix = refusal("catalog", header[0].removeprefix(VERSIONED).strip())
        if wrong:
            faults.append(Fault(path=f"{name} row 1: schema", message=wrong, fix=fix))
            return
        header = next(reader, [])
    if tuple(header) != columns:
        missing = [column for column in columns if column not in header]
        extra = [column for column in header if column not in columns]
        told = f"missing {missing}, unknown {extra}" if missing or extra else "in another order"
        faults.append(Fault(path=f"{name} row 1", message=f"the columns must be {','.join(columns)} ({told})"))
        return
    width = len(columns)
    for cells in reader:
        if len(cells) == width:
            yield reader.line_num, cells
        elif cells:
            message = f"has {len(cells)} cells, must have {width}"
            faults.append(Fault(path=f"{name} row {reader.line_num}", message=message))
