"""What `tools/core_lines.py` counts."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import core_lines

MODULES = ("sizewell.a", "sizewell.b.one.program", "sizewell.b.two.program", "sizewell.b.two.other", "sizewell.c.d")


def named(text: str, module: str = "sizewell.m") -> set[str]:
    return core_lines.named(ast.parse(text), module, MODULES)


def test_an_import_by_name_counts_where_the_name_is_written() -> None:
    assert named('import_module("sizewell.a")') == {"sizewell.a"}
    assert named('f"sizewell.b.{cloud}.program"') == {"sizewell.b.one.program", "sizewell.b.two.program"}
    assert named("[import_module(m) for m in iter_modules(p)]", "sizewell.c") == {"sizewell.c.d"}
    assert named('"nothing of ours"') == set()


def test_names_that_a_package_hands_out_when_asked_do_not() -> None:
    assert named('__getattr__ = lazy.names(__name__, {"A": "sizewell.a:A"})') == set()
    assert named('f"sizewell.{name}"', "sizewell.cli.main") == set()


def test_a_table_is_a_long_literal_at_the_level_of_a_module() -> None:
    entries = "".join(f"    {number}: 0,\n" for number in range(8))
    assert core_lines.literal_lines(ast.parse(f"A = {{\n{entries}}}\nB = frozenset({{\n{entries}}})\n")) == [10, 10]
    assert core_lines.literal_lines(ast.parse(f"A = Rule(x={{\n{entries}}})\nB = {{1: 0}}\n")) == []


def test_any_counts_where_it_is_used() -> None:
    assert core_lines.any_count(ast.parse("from typing import Any\ndef f(a: Any) -> dict[str, Any]: ...\n")) == 2
