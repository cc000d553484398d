"""Models whose repositories bring Python of their own, which an engine runs only where it is told to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from sizewell import csvtables


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCode:
    """A row of own_code.csv."""

    model: str  # with * for any end
    part: str  # of the model, that the code is for
    source: str
    checked: str


def own_code(model: str) -> OwnCode | None:
    """What is known of the code that a model brings; None where nothing is.

    >>> own_code("moonshotai/Kimi-K2-Instruct").part, own_code("Qwen/Qwen3-8B")
    ('tokenizer', None)
    """
    name = model.lower()
    return next((row for row in _rows() if fnmatchcase(name, row.model.lower())), None)


@cache
def _rows() -> tuple[OwnCode, ...]:
    return tuple(csvtables.read(OwnCode, Path(__file__).parent / "data/own_code.csv"))
