"""Goldens of components as files: production's whole, development's as its difference to production's.

A component's two forms are mostly the same text. `X-dev.txt` beside `X-prod.txt` is a unified diff without context, which
`patch` applies too; each hunk names the resource that it is in. A difference that is hardly shorter than what it describes
is harder to read, so above `LONGEST` the whole text stays.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

LONGEST = 0.7  # of the whole text's lines
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def check(path: Path, text: str, refresh: str) -> None:
    """Fail the test if the golden at `path` is not `text`, with the difference of whole texts and how to refresh it."""
    if os.environ.get("SIZEWELL_REFRESH"):
        write(path, text)
    stands, wanted = path.read_text(encoding="utf-8") if path.exists() else "", stored(path, text)
    if stands == wanted:
        return
    try:
        before, now = whole(path) if stands else "", text
    except ValueError:  # production's golden has changed below it
        before, now = stands, wanted
    if before == now:  # the same text, but not in the form that a refresh writes
        before, now = stands, wanted
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "golden", "now", lineterm="", n=2)
    pytest.fail("\n".join([*list(lines)[:80], f"refresh: {refresh}"]), pytrace=False)


def write(path: Path, text: str) -> None:
    """Write a golden; development's keeps its text when production's, which it is stored against, is written."""
    path.parent.mkdir(exist_ok=True)
    beside = path.with_name(re.sub(r"-prod\.txt$", "-dev.txt", path.name))
    try:
        kept = whole(beside) if beside != path and beside.exists() else None
    except ValueError:  # its own test writes it
        kept = None
    path.write_text(stored(path, text), encoding="utf-8")
    if kept is not None:
        beside.write_text(stored(beside, kept), encoding="utf-8")


def stored(path: Path, text: str) -> str:
    """What the file at `path` contains for a golden of `text`: the text, or its difference to production's."""
    base = _production(path)
    if base is None:
        return text
    lines = list(_difference(base, path, text))
    return "\n".join([*lines, ""]) if len(lines) <= LONGEST * len(_lines(text)) else text


def whole(path: Path) -> str:
    """The text of the golden at `path`; ValueError if its difference does not fit production's."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith("--- "):
        return text
    base = _production(path)
    if base is None:
        raise ValueError(f"{path}: is a difference to a golden of production that is missing")
    lines, made, at = _lines(base.read_text(encoding="utf-8")), [], 0
    for line in _lines(text)[2:]:
        if hunk := HUNK.match(line):
            start = int(hunk[1]) - (hunk[2] != "0")  # a hunk that only adds counts the line before it
            made += lines[at:start]
            at = start
        elif line.startswith("+"):
            made.append(line[1:])
        elif lines[at : at + 1] == [line[1:]]:
            at += 1
        else:
            raise ValueError(f"{path}: takes away {line[1:]!r}, which is not at line {at + 1} of {base.name}")
    return "\n".join([*made, *lines[at:], ""])


def _production(path: Path) -> Path | None:
    base = path.with_name(re.sub(r"-dev\.txt$", "-prod.txt", path.name))
    return base if base != path and base.exists() else None


def _difference(base: Path, path: Path, text: str) -> Iterator[str]:
    before, now = _lines(base.read_text(encoding="utf-8")), _lines(text)
    yield from (f"--- {base.name}", f"+++ {path.name}")
    # Tags recur in every resource: as "junk", which difflib calls what is frequent, they would not be matched.
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if tag != "equal":
            heads = [line for line in before[: max(b, a + 1)] if line[:1].strip()]
            name = " ".join(heads[-1].split()[:2]) if heads else ""
            yield f"@@ -{_range(a, b)} +{_range(c, d)} @@ {name}".rstrip()
            yield from (f"-{line}" for line in before[a:b])
            yield from (f"+{line}" for line in now[c:d])


def _lines(text: str) -> list[str]:
    """Lines that each end with a newline; splitlines() would also split inside of some."""
    return text.split("\n")[:-1]


def _range(start: int, end: int) -> str:
    return f"{start + (end > start)},{end - start}"
