"""What a price is, its fields say: no code reads the text of a source, which is there for a person."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src/sizewell"
OUTSIDE = ("accuracy/", "sizing/catalog/check.py", "sizing/catalog/check_prices.py")  # they judge the texts themselves
METHODS = frozenset(("startswith", "endswith", "find", "index", "split", "removeprefix", "removesuffix", "count"))
EXPRESSIONS = frozenset(("match", "search", "fullmatch", "findall"))


def _is_source(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "source"


def _decides(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args):
            return (_is_source(value) and name in METHODS) or (name in EXPRESSIONS and any(map(_is_source, args)))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = (left, *comparators)
            texts = any(isinstance(each, ast.Constant | ast.Name) for each in sides)
            return texts and any(map(_is_source, sides)) and not any(isinstance(op, ast.Is | ast.IsNot) for op in ops)
    return False


def found_in(code: str) -> Iterator[tuple[int, str]]:
    """(line, expression) of each decision by the text of a source."""
    for node in ast.walk(ast.parse(code)):
        if _decides(node):
            yield node.lineno, ast.unparse(node)[:120]  # type: ignore[attr-defined]


def test_no_text_of_a_source_decides_anything() -> None:
    left = [
        f"{path}:{line}: {expression}"
        for file in sorted(SOURCE.rglob("*.py"))
        if not (path := file.relative_to(SOURCE).as_posix()).startswith(OUTSIDE)
        for line, expression in found_in(file.read_text(encoding="utf-8"))
    ]
    assert left == [], "make it a field of the price or of the fact (Priced.terms, Priced.weak)"


@pytest.mark.parametrize(
    "code",
    ['price.source == "own rate"', 'line.source.startswith("own ")', "re.search(PATTERN, price.source)",
     '"estimate" in figure.source', "item.price.source == OWN"],
)  # fmt: skip
def test_a_planted_one_is_found(code: str) -> None:
    assert list(found_in(code))
