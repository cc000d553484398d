"""The inventory of messages: every sentence that the code can show to a user, as somebody has read and accepted it.

`tools/messages.txt` lists, by module, the texts of three words or more in the code (errors, findings, help, tables,
comments in generated files), with {} where a value goes. `make check` fails on a text that is missing from it, on one
that the code no longer has, and on a word that docs/glossary.md replaces by another. Read what is new, then run
`python tools/messages.py --accept`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "sizewell"
INVENTORY = ROOT / "tools" / "messages.txt"
GLOSSARY = ROOT / "docs" / "glossary.md"
WORD = re.compile(r"[A-Za-z]{2,}")
LISTS_THEM = "docs/glossary.md"


def messages() -> dict[str, list[str]]:
    """The texts of each module of the package, sorted."""
    return {
        str(path.relative_to(PACKAGE)): sorted({_one_line(text) for text in _texts(path)})
        for path in sorted(PACKAGE.rglob("*.py"))
        if "scripts" not in path.relative_to(PACKAGE).parts  # run in the image of a job
    }


def _texts(path: Path) -> Iterator[str]:
    """String literals of three words or more, without docstrings of modules, classes and functions.

    Fields of a record keep theirs: they are what the reference of components shows.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    passed_over: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr):
                passed_over.add(id(first.value))
        if isinstance(node, ast.JoinedStr):
            passed_over.update(id(part) for part in node.values)
    for node in ast.walk(tree):
        text = None if id(node) in passed_over else _text(node)
        if text and " " in text.strip() and len(WORD.findall(text)) >= 3:
            yield text


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def _one_line(text: str) -> str:
    return text.strip().replace("\\", "\\\\").replace("\n", "\\n")


def written(found: dict[str, list[str]]) -> str:
    return "".join(f"[{module}]\n" + "".join(f"{text}\n" for text in texts) for module, texts in found.items() if texts)


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


def bad_words(found: dict[str, list[str]]) -> Iterator[str]:
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(PACKAGE.rglob("*.md"))]
    lines = [(f"src/sizewell/{module}", text) for module, texts in found.items() for text in texts]
    lines += [
        (str(page.relative_to(ROOT)), line)
        for page in pages
        if str(page.relative_to(ROOT)) != LISTS_THEM
        for line in page.read_text(encoding="utf-8").splitlines()
    ]
    words = replaced_words()
    for where, text in lines:
        for bad, good in words.items():
            if match := bad.search(text):
                yield f'{where}: "{match[0]}" in "{text[:100]}": write {good}'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accept", action="store_true", help="write the inventory: every text in it has been read")
    accept = parser.parse_args().accept
    found = messages()
    faults = list(bad_words(found))
    if accept:
        INVENTORY.write_text(written(found), encoding="utf-8")
    else:
        known = INVENTORY.read_text(encoding="utf-8").splitlines() if INVENTORY.exists() else []
        now = written(found).splitlines()
        faults += [f"not in tools/messages.txt: {line}" for line in sorted(set(now) - set(known))]
        faults += [f"in tools/messages.txt, no longer in the code: {line}" for line in sorted(set(known) - set(now))]
        if set(now) != set(known):
            faults.append("read what is new (docs/glossary.md), then: python tools/messages.py --accept")
    print("\n".join(faults), end="\n" if faults else "")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
