"""Words that docs/glossary.md replaces by others, in whatever a user or a reader of the code meets.

Looked at are the strings, docstrings and comments of the package (programs of machines included) and all pages. Goldens
show the sentences themselves; `make check` fails here on a word of the glossary's second column and says what to write.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "sizewell"
GLOSSARY = ROOT / "docs" / "glossary.md"
# Where an f-string's text is: a token of its own from Python 3.12 on, part of STRING before.
READ = {tokenize.STRING, tokenize.COMMENT, *(getattr(tokenize, name, -1) for name in ("FSTRING_MIDDLE",))}


def replaced_words() -> dict[re.Pattern[str], str]:
    """What docs/glossary.md says to write otherwise: the second column of its last table, and the first."""
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \|$", GLOSSARY.read_text(encoding="utf-8").split("## Write")[1], re.MULTILINE
    )
    return {
        re.compile(rf"(?<![\w-]){re.escape(bad.strip())}(?![\w-])", re.IGNORECASE): good
        for good, column in rows[2:]
        for bad in column.split(";")
    }


def lines() -> Iterator[tuple[str, int, str]]:
    """Each line that is read by somebody: file, number, text."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *PACKAGE.rglob("*.md")]
    for page in sorted(pages):
        if page != GLOSSARY:
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
                yield str(page.relative_to(ROOT)), number, line
    for module in sorted(PACKAGE.rglob("*.py")):
        text = module.read_text(encoding="utf-8")
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in READ and " " in token.string:  # a value of one word may be recorded in files
                for number, line in enumerate(token.string.splitlines(), token.start[0]):
                    yield str(module.relative_to(ROOT)), number, line


def faults() -> Iterator[str]:
    """One line for each word that is to be written otherwise."""
    words = replaced_words()
    any_of_them = re.compile("|".join(bad.pattern for bad in words), re.IGNORECASE)
    for where, number, text in lines():
        if any_of_them.search(text):
            for bad, good in words.items():
                if match := bad.search(text):
                    yield f'{where}:{number}: "{match[0]}" in "{text.strip()[:100]}": write {good}'


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
