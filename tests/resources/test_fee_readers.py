"""Every key of the fee table is asked for by some code or table: a fee in the catalog without a reader is in no bill."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path

from sizewell.sizing.catalog import load

SOURCE = Path(__file__).parents[2] / "src/sizewell"
FACTS = SOURCE / "sizing/catalog/data"  # where the fees stand themselves
_SLOT = "\0"  # of a key that is filled in


def _texts() -> Iterator[str]:
    """Texts of code and tables, what is filled in as a slot: f-strings, and cells with names in braces."""
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.JoinedStr(values=parts):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else _SLOT for part in parts)
                case ast.Constant(value=str(text)) if "\n" not in text:
                    yield f"{text}{_SLOT}" if text.endswith(".") else text  # with what is added to it
    for table in SOURCE.rglob("data/**/*.csv"):
        if not table.is_relative_to(FACTS):
            for row in csv.reader(table.open(encoding="utf-8")):
                yield from (re.sub(r"\{[^{}]*\}", _SLOT, cell) for cell in row)


def readers(texts: Iterator[str]) -> re.Pattern[str]:
    """One expression for every text that names a fee: a word, and words or slots after points."""
    named = {text for text in texts if re.fullmatch(rf"[a-z][a-z0-9_]*(\.[\w.{_SLOT}-]+)?", text)}
    return re.compile("|".join(re.escape(text).replace(_SLOT, ".+") for text in sorted(named)))


def test_every_key_of_the_fee_table_has_a_reader() -> None:
    asked = readers(_texts())
    keys = {(fee.cloud, fee.key) for fee in load().fees}
    assert len(keys) > 400
    assert sorted(key for key in keys if not asked.fullmatch(key[1])) == []


def test_a_key_that_nobody_asks_for_is_found() -> None:
    asked = readers(iter(["nat.hour", f"rds.{_SLOT}.gb_month", "rds"]))
    assert [bool(asked.fullmatch(key)) for key in ("nat.hour", "rds.gp3.gb_month", "rds.gp3", "eks.hour")] == [
        True, True, False, False,
    ]  # fmt: skip
