"""Words that people bring from elsewhere, and what they mean here: asked before letters are compared.

One table, `data/aliases.csv`. `of` says what a word names: a model, a cloud, a region, a kind of work, a key of a spec
by its path, a value of a key ("value PATH"), a command. `written` may end in `*`. `meant` is what to write, with `$`
for the value that was written and `$:30` for a 30th of it; without it `why` is the way out. For models `why` says where
the name is used: Ollama's tags are those of its library (from memory, 2026-11), "closed" are models whose weights
nobody publishes, "its shape" one that a fine-tune began from (its model card, from memory, 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from sizewell import csvtables

CLOSED: Final = "closed"
IN_4_BITS: Final = "Ollama 4 bits"
OF_ITS_SHAPE: Final = "its shape"  # a fine-tune by another name, of the same dimensions


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A row of aliases.csv."""

    of: str
    written: str
    meant: str = ""
    why: str = ""


def alias(of: str, written: str) -> Alias | None:
    """The row of a word; None where nobody has written down what it means.

    >>> alias("model", "Llama3.1:70B").meant, alias("model", "gpt-4o-mini").why, alias("cloud", "Google_Cloud").meant
    ('meta-llama/Llama-3.1-70B-Instruct', 'closed', 'gcp')
    """
    rows = table().get(of, {})
    word = _plain(written)
    if word in rows:
        return rows[word]
    return next((row for key, row in rows.items() if key.endswith("*") and word.startswith(key[:-1])), None)


@cache
def table() -> Mapping[str, Mapping[str, Alias]]:
    """The rows, by what they name and by the word."""
    made: dict[str, dict[str, Alias]] = {}
    for row in csvtables.read(Alias, Path(__file__).parent / "data/aliases.csv"):
        made.setdefault(row.of, {})[_plain(row.written)] = row
    return made


def _plain(word: str) -> str:
    return " ".join(word.strip().lower().replace("_", " ").replace("-", " ").split())
