"""`sizewell docs`: pages are installed with the command, and every message names one that is there."""

from __future__ import annotations

import ast
import functools
import json
import re
from pathlib import Path

import pytest

from sizewell.cli.docs import named, pages

from .conftest import ROOT, Sizewell

PACKAGE = ROOT / "src/sizewell"
OURS = re.compile(r"(?<![\w./:-])(?:docs/(?:howto|tutorials|concepts|reference)|examples)/[\w/.*-]*")
# Not printed to a user of the wheel: the demo of a checkout, what writes pages, and what strips such a name.
OF_THE_CHECKOUT = {"cli/demo.py", "accuracy/page.py"}


@functools.cache
def texts() -> list[tuple[str, str]]:
    """Every string of the package but docstrings, with its file and line."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        bodies = [
            node.body for node in nodes if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body
        ]
        docstrings = {id(body[0].value) for body in bodies if isinstance(body[0], ast.Expr)}
        found += [
            (f"{path.relative_to(PACKAGE)}:{node.lineno}", node.value)
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        ]
    return found


def test_no_message_names_a_path_of_the_checkout() -> None:
    wrong = [
        f"{where}: {match[0]}"
        for where, text in texts()
        if where.partition(":")[0] not in OF_THE_CHECKOUT
        for match in OURS.finditer(text)
    ]
    assert wrong == []


def test_every_page_that_a_message_names_is_there() -> None:
    known = pages()
    asked = {
        (where, topic) for where, text in texts() for topic in re.findall(r"sizewell docs ([\w/-]+)(?=[` ])", text)
    }
    assert len(asked) >= 15
    assert [(where, topic) for where, topic in asked if not named(topic, known)] == []


def test_pages_are_listed_with_their_titles(sizewell: Sizewell) -> None:
    listed = {page["topic"]: page["title"] for page in json.loads(sizewell("docs", "--json").out)}
    assert listed["howto/tear-down"] == "Take idle and expired stacks down"
    assert all(listed.values())
    files = {str(path.relative_to(ROOT / "docs").with_suffix("")) for path in (ROOT / "docs").rglob("*.md")}
    assert {each for each in files if not each.startswith(("adr/", "reference/accuracy/"))} == set(listed)


@pytest.mark.parametrize("topic", ["spec", "reference/spec", "docs/reference/spec.md", "spec.md#keys"])
def test_a_page_is_printed_by_its_name(topic: str, sizewell: Sizewell) -> None:
    assert sizewell("docs", topic).out == Path(ROOT / "docs/reference/spec.md").read_text(encoding="utf-8")


def test_a_name_that_two_pages_have_names_the_other(sizewell: Sizewell) -> None:
    done = sizewell("docs", "tear-down")
    assert done.out.startswith("# Take idle and expired stacks down")
    assert "sizewell docs tutorials/tear-down" in done.err


@pytest.mark.parametrize(("word", "page"), [("tear-donw", "tear-down"), ("nfs", ""), ("kubeconfig", "adopt-a-cluster")])
def test_another_word_names_pages_that_exist(word: str, page: str, sizewell: Sizewell) -> None:
    done = sizewell("docs", word)
    assert done.code == 64
    ways = re.findall(r"`sizewell docs ([\w/-]+)`", done.err)
    assert all(named(way, pages()) for way in ways)
    assert any(way.endswith(page) for way in ways) or not ways
