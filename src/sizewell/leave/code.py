"""Python as a person lays it out: what fits in a line is one, what does not has an entry a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 110


@dataclass(frozen=True, slots=True)
class Block:
    """Entries between two brackets, with a comma after each, or none where texts are joined."""

    start: str
    entries: tuple[tuple[str, Code], ...]  # what stands before the value, the value
    end: str
    comma: str = ","


Code = str | Block


def lines(code: Code, *, before: str = "", after: str = "", indent: int = 0) -> list[str]:
    """The lines of a piece of code, with what stands before and after it.

    >>> lines(Block("f(", (("", "'a'"), ("size=", "2")), ")"), before="x = ")
    ["x = f('a', size=2)"]
    """
    pad = " " * indent
    whole = _in_one(code)
    if (whole is not None and len(pad) + len(before) + len(whole) + len(after) <= WIDTH) or isinstance(code, str):
        return f"{pad}{before}{whole}{after}".split("\n") if "\n" in str(whole) else [f"{pad}{before}{whole}{after}"]
    made = [f"{pad}{before}{code.start}"]
    for prefix, entry in code.entries:
        made += lines(entry, before=prefix, after=code.comma, indent=indent + 4)
    return [*made, f"{pad}{code.end}{after}"]


def _in_one(code: Code) -> str | None:
    if isinstance(code, str):
        return code
    parts = [(prefix, _in_one(entry)) for prefix, entry in code.entries]
    if any(part is None for _, part in parts) or not code.comma:
        return None
    return f"{code.start}{', '.join(f'{prefix}{part}' for prefix, part in parts)}{code.end}"


def text(value: str) -> Code:
    """A text; a long one in parts, in brackets.

    >>> text("a b"), len(text("word " * 30).entries)
    ('"a b"', 2)
    """
    if len(value) <= 88:
        return quoted(value)
    parts, rest = [], value
    while len(rest) > 80:
        at = rest.rfind(" ", 20, 80) + 1 or 80
        parts.append(rest[:at])
        rest = rest[at:]
    return Block("(", tuple(("", quoted(part)) for part in [*parts, rest] if part), ")", comma="")


def quoted(value: str) -> str:
    """A text as Python writes it, between double quotes where it has none."""
    plain = repr(value)
    return f'"{plain[1:-1]}"' if plain[0] == "'" and '"' not in value and "\\'" not in plain else plain


def call(name: str, entries: Sequence[tuple[str, Code]]) -> Block:
    return Block(f"{name}(", tuple(entries), ")")
