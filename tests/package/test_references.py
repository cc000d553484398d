"""What docstrings and comments of the package name is there: files of Python, modules, and names between backticks.

A name counts as there if the package's code, its tables or its texts use it anywhere: as an identifier, in a string (a
key, an argument of a cloud's API), as a column or as a file. Of code of other projects that is cited, names are listed.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/sizewell"
TREES = ("src", "tests", "tools", "benchmarks", "stacks", "policy", "examples")
TEXTS = {".csv", ".json", ".yaml", ".sh", ".html", ".css", ".md"}
WORD = re.compile(r"[A-Za-z_]\w*")
ELSEWHERE = {  # in the source of gpuhunt, of vLLM, of DeepSpeed, of transformers, of PEFT
    "providers/nebius.py",
    "create_lora_weights",
    "sub_group_size",
    "register_module_override",
    "prepare_model_for_kbit_training",
}

FILE = re.compile(r"(?<![\w./*<>-])(?:[\w.-]+/)*[\w-]+\.py\b")
MODULE = re.compile(r"\bsizewell(?!\.toml\b)(?:\.[A-Za-z_]\w*)+\b(?!/)")  # sizewell.decision/1 is a schema
EXAMPLE = re.compile(r"^ *>>> (?:.*\S.*\n?)*", re.MULTILINE)
# `snake_case`, `called()`, `Class.member`: one lower-case word may be a key of anybody's file
NAMED = re.compile(r"`(?:([a-z]\w*_\w+)|([A-Za-z_]\w*)\(\)|([A-Z]\w*[a-z]\w*)\.([A-Za-z_]\w*)(?:\(\))?)`")


def read_by_people(text: str) -> Iterator[tuple[int, str]]:
    """Docstrings and comments of a module, with their lines; without the examples, which run."""
    for line, kind, string in pieces(text):
        if kind == "said":
            yield line, EXAMPLE.sub(lambda example: "\n" * example[0].count("\n"), string)


def pieces(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, "said" or "code", and text of what a module is made of."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        said = token.type == tokenize.COMMENT or token.start in docstrings
        yield token.start[0], "said" if said else "code", token.string


@functools.cache
def known_names() -> frozenset[str]:
    names: set[str] = set()
    for path in PACKAGE.rglob("*"):
        if path.suffix == ".py":
            names.add(path.stem)
            for _, kind, string in pieces(path.read_text(encoding="utf-8")):
                if kind == "code":
                    names.update(WORD.findall(string))
        elif path.suffix in TEXTS:
            names.update(WORD.findall(path.name + "\n" + path.read_text(encoding="utf-8")))
    return frozenset(names)


@functools.cache
def known_files() -> frozenset[str]:
    """Every file of Python, by each end of its path."""
    paths = [path.relative_to(ROOT).parts for tree in TREES for path in (ROOT / tree).rglob("*.py")]
    return frozenset("/".join(parts[start:]) for parts in paths for start in range(len(parts)))


def is_there(dotted: str) -> bool:
    """Whether a dotted name is a module, or what a module has."""
    module, _, attribute = dotted.rpartition(".")
    try:
        if importlib.util.find_spec(dotted) is not None:
            return True
    except ModuleNotFoundError:
        pass
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return bool(module.count(".")) and is_there(module)


def missing(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of what a docstring or a comment of a module names and nobody has."""
    for first, said in read_by_people(text):
        places = [(match.start(), match[0]) for match in FILE.finditer(said) if match[0] not in known_files()]
        places += [(match.start(), match[0]) for match in MODULE.finditer(said) if not is_there(match[0])]
        for match in NAMED.finditer(said):
            if not known_names().issuperset(filter(None, match.groups())):
                places.append((match.start(), match[0].strip("`")))
        for at, name in places:
            if name not in ELSEWHERE:
                yield first + said[:at].count("\n"), name


def test_what_docstrings_and_comments_name_is_there() -> None:
    gone = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in missing(path.read_text(encoding="utf-8"))
    ]
    assert gone == [], "named in a docstring or a comment, and not there:\n" + "\n".join(gone)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"""Text is read by `spec_yaml`, then checked."""', "spec_yaml"),
        ('"""See workload/spec_model.py."""', "workload/spec_model.py"),
        ("x = 1  # as in spec_checks.py\n", "spec_checks.py"),
        ('def read():\n    """As sizewell.sizing.spec.read does."""\n', "sizewell.sizing.spec.read"),
        ('def read():\n    """As `resolve_spec_names()` does."""\n', "resolve_spec_names()"),
        ('class Spec:\n    """As `Decision.from_toml` reads it."""\n', "Decision.from_toml"),
    ],
)
def test_what_is_not_there_is_found(text: str, name: str) -> None:
    assert [found for _, found in missing(text)] == [name]


def test_what_is_there_is_let_through() -> None:
    text = '"""`read_spec` of workload/read.py, sizewell.sizing.workload.read and sizewell.sizing.workload.read.read_spec."""'
    assert list(missing(text)) == []
