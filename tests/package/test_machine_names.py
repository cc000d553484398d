"""No name of a machine or an accelerator decides anything outside of the catalog: what they are is a column there.

The code of the whole package is parsed: prefixes, parts, slices and regular expressions of such names, comparisons with
them and tables keyed by them are found. Whole names that a spec lists (`name in instance_types`) decide nothing by a part.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sizewell.sizing import catalog
from sizewell.sizing.catalog.machine_prices import FOLDER

SOURCE = Path(__file__).parents[2] / "src/sizewell"
OUTSIDE = (
    "sizing/catalog/",  # the facts themselves, and the checks that they are sound
    "launch/scripts/",  # runs on the machines, without the package
    "launch/images.py",  # tags of images
    "policy/rules/secrets.py",  # a pattern of any long text
)
METHODS = frozenset(
    "startswith endswith removeprefix removesuffix find index partition rpartition split rsplit fnmatch".split()  # noqa: SIM905
)
EXPRESSIONS = frozenset("match search fullmatch findall compile sub split".split())  # noqa: SIM905
SUBJECT = re.compile(r"(instance|machine|accelerator|gpu)_types?|vm_size|accelerator|sku_name")
ORDINARY = (
    *(
        "chat",
        "us-east-1",
        "us-east-1a",
        "us-central1-a",
        "us-central1",
        "sizewell",
        "a",
        "1.30",
        "2026-11-22",
        "team-a",
    ),
    *("s3://bucket", "10.0.0.0/16", "quay.io/team/app", "api.example.com", "r=16"),
)


def _names() -> frozenset[str]:
    facts = catalog.load()
    machines = {shape.instance_type for shape in facts.shapes} | {one.machine_type for one in facts.slices}
    priced = {
        row["instance_type"] for file in FOLDER.glob("*.csv") for row in csv.DictReader(file.open(encoding="utf-8"))
    }
    return frozenset(machines | priced | set(facts.accelerators) | {one.generation for one in facts.slices})


NAMES = _names()
LOWER = frozenset(name.lower() for name in NAMES) - NAMES  # as a pattern has them that takes any case


@cache
def begins_a_name(text: str) -> bool:
    return len(text) >= 2 and not text.isupper() and any(name.lower().startswith(text.lower()) for name in NAMES)


@cache
def names_machines_alone(pattern: str) -> bool:
    """Whether a regular expression matches names of machines, and no ordinary text."""
    if pattern.startswith("[^"):  # what is not allowed in some name, which is replaced
        return False
    try:
        expression = re.compile(pattern)
    except re.error:
        return False
    matches = (expression.match(name) for name in (*NAMES, *LOWER))
    of_names = any(match is not None and match.end() >= 2 for match in matches)
    return of_names and not any(expression.match(text) for text in ORDINARY)


class Constants(dict[str, list[str]]):
    """The strings of a module's constants, by name."""

    def of(self, node: ast.AST | None) -> list[str]:
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return [text for part in parts for text in self.of(part)]
            case ast.Dict(keys=keys):
                return [text for key in keys for text in self.of(key)]
            case ast.Call(func=ast.Name(id="frozenset" | "set" | "tuple"), args=[first, *_]):
                return self.of(first)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return self.get(name, [])
        return []


def subject(node: ast.AST) -> str:
    """What an expression is called: the attribute, variable or key at its end."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="str"), args=[first]):
            return subject(first)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(key)), *_]):
            return key
        case ast.Call(func=ast.Attribute(value=value, attr="lower" | "upper" | "get")):
            return subject(value)
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
        case ast.Subscript(value=value):
            return subject(value)
    return ""


def is_machine(node: ast.AST) -> bool:
    return SUBJECT.fullmatch(subject(node)) is not None


def found_in(code: str) -> Iterator[tuple[int, str]]:
    """(line, expression) of each decision by a part of a machine's or an accelerator's name."""
    tree = ast.parse(code)
    constants = Constants()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                constants[name] = constants.of(value)
    for node in ast.walk(tree):
        if _decides(node, constants):
            yield node.lineno, ast.unparse(node)[:160]  # type: ignore[attr-defined]


def _decides(node: ast.AST, constants: Constants) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name), args=[pattern, *rest]) if (
            name in EXPRESSIONS
        ):
            return any(map(names_machines_alone, constants.of(pattern))) or any(map(is_machine, rest))
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args) if name in METHODS:
            starts = name == "startswith" and any(begins_a_name(s) for arg in args for s in constants.of(arg))
            return is_machine(value) or (starts and not _is_a_token(args, constants))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [left, *comparators]
            return any(_compares(op, sides[number], sides[number + 1], constants) for number, op in enumerate(ops))
        case ast.Subscript(value=value, slice=ast.Slice()):
            return is_machine(value)
        case ast.Dict():
            return any(text in NAMES for text in constants.of(node))
    return False


def _is_a_token(args: list[ast.expr], constants: Constants) -> bool:
    """Prefixes of resource types ("aws:", "azure-native:") and of whole words of a service are not of machines."""
    return all(":" in text or text == "Standard_" for arg in args for text in constants.of(arg))


def _compares(op: ast.cmpop, left: ast.expr, right: ast.expr, constants: Constants) -> bool:
    if isinstance(op, ast.In | ast.NotIn):
        table = constants.of(right)
        part = is_machine(right) and not subject(right).endswith("types")
        return part or any(text in NAMES for text in table) or (is_machine(left) and bool(table))
    if isinstance(op, ast.Eq | ast.NotEq):
        return any(is_machine(one) and any(constants.of(other)) for one, other in ((left, right), (right, left)))
    return False


def test_no_name_of_a_machine_decides_anything() -> None:
    left = [
        f"{path}:{line}: {expression}"
        for file in sorted(SOURCE.rglob("*.py"))
        if not (path := file.relative_to(SOURCE).as_posix()).startswith(OUTSIDE)
        for line, expression in found_in(file.read_text(encoding="utf-8"))
    ]
    assert left == [], "make it a column of the catalog (docs/howto/add-a-machine-type.md)"


@pytest.mark.parametrize(
    "code",
    [
        'shape.instance_type.startswith("trn")',
        'kind.startswith(("a3-", "a4-"))',
        'FAMILIES = ("a3-ultragpu", "a4-")\nkind.startswith(FAMILIES)',
        '"MI300X" in shape.instance_type',
        'accelerator.key in {"b300", "gb300"}',
        'RACKS = frozenset({"gb200"})\nx in RACKS',
        'shape.accelerator != "l4"',
        "pool.machine_type[:2]",
        'kind.split("-") if (args["machine_type"].rsplit("-", 1)) else 0',
        're.compile(r"^(ml\\.)?(p|g|gr|dl|inf|trn)\\d")',
        "re.search(pattern, shape.instance_type)",
        'CARDS = {"p5.48xlarge": 32}',
        'CORES = {"trainium1": 2}',
        'str(pool.accelerator).startswith("tpu")',
        'limits.tpu.type in ("v6e", "tpu7x")',
        're.compile(r"standard_[de]\\d+s_v[56]", re.IGNORECASE)',
    ],
)
def test_a_planted_one_is_found(code: str) -> None:
    assert list(found_in(code))


@pytest.mark.parametrize(
    "code",
    ['resource.type.startswith("aws:ec2/")', 'name.startswith("checkpoints-")', "shape.runtime == 'tpu'", "names[:5]"],
)
def test_what_is_no_name_of_a_machine_is_left_alone(code: str) -> None:
    assert not list(found_in(code))
