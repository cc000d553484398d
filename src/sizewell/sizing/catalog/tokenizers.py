"""Whose tokenizer a model has: ids of one mean nothing to another, however many of them both have."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from sizewell import csvtables


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokenizer:
    """A row of tokenizers.csv; with one name and one size of the vocabulary, models have the same tokenizer."""

    model: str  # with * for any part
    tokenizer: str
    source: str
    checked: str


@cache
def tokenizer(model: str) -> str:
    """The tokenizer of a model by its name: of the first row that it fits, else its publisher's.

    >>> [tokenizer(name) for name in ("mistralai/Mixtral-8x7B-v0.1", "TinyLlama/TinyLlama-1.1B-Chat-v1.0")]
    ['mistral', 'llama']
    >>> tokenizer("tiiuae/Falcon3-1B-Base"), tokenizer("xai-org/grok-1")
    ('tiiuae', 'xai-org')
    """
    name = model.lower()
    row = next((row for row in _rows() if fnmatchcase(name, row.model.lower())), None)
    return row.tokenizer if row else name.partition("/")[0]


@cache
def _rows() -> tuple[Tokenizer, ...]:
    return tuple(csvtables.read(Tokenizer, Path(__file__).parent / "data/tokenizers.csv"))
