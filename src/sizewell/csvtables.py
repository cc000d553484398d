"""Facts in tables: one CSV file beside the code that asks it, one record, and a reader that follows from the record.

A column of the file is a field of the record. What a cell may hold is the field's annotation: text, a number, one of
some words, `yes` or `no`, a list "a | b", a mapping "a=1 | b=2"; `Annotated` names a converter of its own (`Day`,
`Text`), or says that the field stands in several columns (`Spread`). Each row names its `source`, a key of
`sources.csv` in the same folder, which says where the fact was seen and when.

`read` is for tables that come with the package, with their columns in any order: a wrong one is a fault of the package,
and ends in an exception that names file, row and column. What a user may write himself (prices, fees) is read by
`sizing.catalog.table`, from the same annotations, and all of its faults are collected.
"""

from __future__ import annotations

import csv
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from itertools import repeat
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
Convert = Callable[[str], Any]  # raises ValueError with what is wrong, the cell's text in it
Complete = Callable[[Mapping[str, Iterable[object]]], dict[str, Iterable[object]]]
"""From the values of all rows by field, those of fields that follow from them, or that replace what stands there."""


class TableError(ValueError):
    """A table of the package that cannot be read: file, row, column and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the facts of some rows were seen."""

    key: str
    source: str  # "source not recorded" where nobody wrote it down
    checked: str  # day or month; where no source is recorded, the day on which the rows were last edited


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """That a field stands in several columns: the field's name, with each of these before or after it."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    cell: Any  # annotation of each
    join: Callable[[tuple[Any, ...]], Any]
    split: Callable[[Any], tuple[Any, ...]]

    def columns(self, name: str) -> tuple[str, ...]:
        return (*(f"{part}_{name}" for part in self.before), *(f"{name}_{part}" for part in self.after))


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a record, and the columns that it is made of: one, unless it is spread."""

    name: str
    columns: tuple[str, ...]
    convert: Callable[..., object]  # of each column's cells
    default: Any  # MISSING where there is none
    spread: Spread | None


def read(record: type[Record], file: Path) -> tuple[Record, ...]:
    """Every row of `file` as a `record`, a dataclass, in the order of the file. Raises TableError.

    A cell may be empty where its field has a default.
    """
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        known = {part.name: part for part in _parts_with_defaults(record)}  # type: ignore[arg-type]  # any dataclass
        required = [part.name for part in known.values() if part.default is MISSING]
        if wrong := [*(set(header) - set(known)), *(set(required) - set(header))]:
            raise TableError(f"{file.name}: unknown or missing columns: {', '.join(sorted(wrong))}")
        numbered = [(reader.line_num, cells) for cells in reader]
    parts = [known[name] for name in header]
    for number, cells in numbered:
        if len(cells) != len(header):
            raise TableError(f"{file.name} row {number}: {len(cells)} cells, must have {len(header)}")
    try:
        return tuple(made(record, parts, [cells for _, cells in numbered]))
    except ValueError:
        for number, cells in numbered:
            if found := wrong_cell(parts, cells):
                raise TableError(f"{file.name} row {number}: {found[0]}: {found[1]}") from None
        raise


def sources(folder: Path) -> Mapping[str, Source]:
    """The sources of the tables in a folder, by key."""
    return {source.key: source for source in read(Source, folder / "sources.csv")}


def parts_of(record: type, own: Mapping[object, Convert]) -> list[Part]:
    """The fields of a dataclass that stand in a table, with their columns in the order of the fields.

    `own`: converters in the place of the usual ones, by annotation or by what `Annotated` says.
    """
    hints = {field.name: field.type for field in fields(record)}
    if any(isinstance(hint, str) for hint in hints.values()):
        hints = get_type_hints(record, include_extras=True)
    parts = []
    for field in fields(record):
        annotation = hints[field.name]
        mark = _mark(annotation)
        if mark is NOT_IN_TABLE:
            continue
        spread = mark if isinstance(mark, Spread) else None
        convert = converter(annotation if spread is None else spread.cell, own)
        columns = (field.name,) if spread is None else spread.columns(field.name)
        parts.append(Part(field.name, columns, convert, field.default, spread))
    return parts


@cache
def _parts_with_defaults(record: type) -> list[Part]:
    def with_default(part: Part) -> Part:
        if part.default is MISSING:
            return part
        convert = partial(_or, part.convert, part.default)
        return Part(part.name, part.columns, convert, part.default, part.spread)

    return [with_default(part) for part in parts_of(record, {})]


def made(
    record: type[Record], parts: Sequence[Part], rows: Sequence[Sequence[str]], complete: Complete | None = None
) -> list[Record]:
    """Records of rows whose cells stand in the order of the parts' columns. Raises ValueError if any cell is wrong.

    `record` is a dataclass with slots, and has no `__post_init__`: none would be called.

    Prices are read at each start, so their reader has to be quick. Hence column by column, each text of a column
    converted once, and the slots filled one after the other: 2,588 prices take 7 ms of CPU time, with `record(...)`
    for each row 12 ms. Hence also one exception for all rows: `wrong_cell` finds the cell afterwards, row by row.
    """
    if not rows:
        return []
    columns = iter(zip(*rows, strict=True))
    values: dict[str, Iterable[object]] = {}
    for part in parts:
        convert = cache(part.convert)
        of_part = [list(map(convert, next(columns))) for _ in part.columns]
        values[part.name] = of_part[0] if part.spread is None else map(part.spread.join, zip(*of_part, strict=True))
    if complete is not None:
        values |= complete(values)
    records = [object.__new__(record) for _ in rows]
    for field in fields(record):  # type: ignore[arg-type]  # any dataclass
        fill = getattr(record, field.name).__set__
        deque(map(fill, records, values.get(field.name, repeat(field.default))), maxlen=0)
    return records


def wrong_cell(parts: Sequence[Part], cells: Sequence[str]) -> tuple[str, str] | None:
    """The first column of a row whose cell cannot be read, and what is wrong with it."""
    columns = [(column, part.convert) for part in parts for column in part.columns]
    for (column, convert), cell in zip(columns, cells, strict=True):
        try:
            convert(cell)
        except ValueError as error:
            return column, str(error)
    return None


def converter(annotation: Any, own: Mapping[Any, Convert]) -> Convert:
    """What makes a value of an annotation from a cell. Raises TypeError where tables have no such cells."""
    mark = _mark(annotation)
    if mark is not None:
        found: Convert = own.get(mark, mark)
        return found
    if get_origin(annotation) is Literal:
        return one_of(get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        (inner,) = (part for part in get_args(annotation) if part is not type(None))
        return partial(_or, converter(inner, own), None)
    if annotation in own:
        return own[annotation]
    if annotation in _CONVERTERS:
        return _CONVERTERS[annotation]
    raise TypeError(f"tables have no cells of type {annotation}")


def _mark(annotation: Any) -> Any:
    """What `Annotated` says of a field; None for other annotations."""
    return annotation.__metadata__[0] if get_origin(annotation) is Annotated else None


def _or(convert: Convert, default: object, cell: str) -> object:
    """A cell's value, or another one where it is empty."""
    return convert(cell) if cell else default


def required(cell: str) -> str:
    """A text that is not empty."""
    if not cell:
        raise ValueError("must not be empty")
    return cell


def one_of(allowed: Sequence[str]) -> Convert:
    """A converter that takes these texts alone."""

    def read_one(cell: str) -> str:
        if cell not in allowed:
            raise ValueError(f"must be one of {', '.join(each or '(empty)' for each in allowed)}, got {cell!r}")
        return cell

    return read_one


def whole_number(cell: str) -> int:
    """A number without a fraction."""
    try:
        return int(cell)
    except ValueError:
        raise ValueError(f"not a whole number: {cell!r}") from None


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


def _day(cell: str) -> str:
    if not is_iso_day(cell):
        raise ValueError(f"not a date (YYYY-MM-DD): {cell!r}")
    return cell


def _number(kind: Callable[[str], Any], cell: str) -> object:
    required(cell)
    try:
        value = kind(cell)
        if abs(value) < math.inf:  # a decimal as well, which `isfinite` takes for a float
            return value
    except (ValueError, InvalidOperation):
        pass
    raise ValueError(f"not a number: {cell!r}")


def _flag(cell: str) -> bool:
    if cell not in ("yes", "no"):
        raise ValueError(f"must be yes or no, got {cell!r}")
    return cell == "yes"


def words(cell: str) -> tuple[str, ...]:
    """A list, separated by " | " (names may hold spaces and commas)."""
    return tuple(cell.split(" | ")) if cell else ()


def _pairs(cell: str) -> tuple[tuple[str, str], ...]:
    pairs = [each.partition("=") for each in words(cell)]
    if not all(key and sign for key, sign, _ in pairs):
        raise ValueError(f"must be KEY=VALUE, further ones after ' | ', got {cell!r}")
    return tuple((key, value) for key, _, value in pairs)


_CONVERTERS: dict[object, Convert] = {
    str: required,
    int: whole_number,
    float: partial(_number, float),
    Decimal: partial(_number, Decimal),
    bool: _flag,
    tuple[str, ...]: words,
    frozenset[str]: lambda cell: frozenset(words(cell)),
    tuple[tuple[str, str], ...]: _pairs,
}
NOT_IN_TABLE: Final = "not in the table"
Text = Annotated[str, str]  # may be empty, which a `str` may not
Day = Annotated[str, _day]
DayOrNone = Annotated[str, partial(_or, _day, "")]
