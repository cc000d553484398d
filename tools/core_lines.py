"""How large the source is, and how much of it the core needs: `python tools/core_lines.py [CHECKOUT]`.

The core is what `size`, `preview`, `policy` and `teardown` can import, the policy pack and the program of every stack
included; imports inside of functions count as those on top do. An import by name counts where the name is written:
"sizewell.components.adopted" for itself, f"sizewell.components.{cloud}.program" for every module of that form. Two
kinds of name do not: the command table of `cli/main.py`, and the public names that a package hands out when asked
(`lazy.names`), since nothing of them is loaded before somebody asks. Managed services count as core,
since the program loads the room of one where a decision has its pools; a line of its own says how much that is.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import grimp

ENTRIES: Final = (
    "sizewell.cli.main",
    "sizewell.cli.size",
    "sizewell.cli.preview",
    "sizewell.cli.policy",
    "sizewell.cli.teardown",
    "sizewell.policy.adapter",
    "sizewell.stacks.program",
)
LITERAL_LINES: Final = 8  # of a literal at the level of a module that may be a table
SERVICES: Final = re.compile(  # the rooms that an import contract protects
    r"sizewell\.components\.(aws\.(sagemaker|hyperpod)|azure\.(ml|openai)|gcp\.services)(\.|$)"
)
CLOUDS: Final = ("aws", "gcp", "azure")
RULES: Final = "policy/rules/"  # each is about resources of certain clouds, and says so
_MODULE: Final = re.compile(r"sizewell(\.\w+)+")


def main(checkout: Path) -> None:
    """Print the figures of one checkout."""
    source = checkout / "src"
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py"))}
    lines = {_module(path, source): len(path.read_text(encoding="utf-8").splitlines()) for path in trees}
    by_name = {_module(path, source): named(tree, _module(path, source), lines) for path, tree in trees.items()}
    sys.path.insert(0, str(source))  # before the installed package, which may be another checkout
    graph = grimp.build_graph("sizewell", cache_dir=None)
    core = reachable(graph, by_name)
    served = {module for module in core & lines.keys() if SERVICES.match(module)}
    literals = [length for tree in trees.values() for length in literal_lines(tree)]
    print(f"{sum(lines.values()):>8,}  lines of src")
    print(f"{sum(lines[module] for module in core if module in lines):>8,}  lines that the core needs")
    print(f"{sum(lines[module] for module in served):>8,}  of these of managed services, loaded for their pools alone")
    print(f"{len(lines):>8,}  modules, {len(core & lines.keys()):,} of them in the core")
    print(f"{sum(map(any_count, trees.values())):>8,}  times Any")
    naming = sum(1 for _ in naming_a_cloud(source / "sizewell", trees))
    print(f"{naming:>8,}  files that name a cloud outside of its own files and the rules")
    print(f"{len(literals):>8,}  literals of modules of {LITERAL_LINES} lines or more, {sum(literals):,} lines")
    print()
    apart: dict[str, int] = {}
    for module in lines.keys() - core:
        room = ".".join(module.split(".")[1:3])
        apart[room] = apart.get(room, 0) + lines[module]
    print("outside of the core, by room:")
    for room, count in sorted(apart.items(), key=lambda item: -item[1]):
        print(f"{count:>8,}  {room}")


def reachable(graph: grimp.ImportGraph, by_name: dict[str, set[str]]) -> set[str]:
    """The modules that the entries can import, with the packages that stand around each."""
    found: set[str] = set()
    left = list(ENTRIES)
    while left:
        module = left.pop()
        if module in found or module not in graph.modules:
            continue
        found.add(module)
        left += graph.find_modules_directly_imported_by(module)
        left += by_name.get(module, ())
        if "." in module:
            left.append(module.rpartition(".")[0])
    return found


def named(tree: ast.Module, module: str, modules: Iterable[str]) -> set[str]:
    """The modules that a module imports by name; see the top of this file."""
    if module == "sizewell.cli.main":
        return set()
    found: set[str] = set()
    own = {each for each in modules if each.startswith(f"{module}.")}
    for node in _outside_of_lazy_names(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            found |= {name} if _MODULE.fullmatch(name) else set()
        elif isinstance(node, ast.JoinedStr):
            form = "".join(_part(part, module) for part in node.values)
            if form.startswith("sizewell"):
                found |= {each for each in modules if re.fullmatch(form, each)}
        elif isinstance(node, ast.Name) and node.id == "iter_modules":
            found |= own
    return found & {*modules}


def _outside_of_lazy_names(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and ast.unparse(child.func) == "lazy.names":
            continue
        yield child
        yield from _outside_of_lazy_names(child)


def _part(part: ast.expr, module: str) -> str:
    if isinstance(part, ast.Constant):
        return re.escape(str(part.value))
    return re.escape(module) if "__name__" in ast.unparse(part) else r"\w+"


def literal_lines(tree: ast.Module) -> list[int]:
    """Of each long literal that a module assigns to a name: its lines. `RULE = Rule(...)` is code, not a table."""
    return [
        length
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_table(node.value)
        if (length := (node.end_lineno or 0) - node.lineno + 1) >= LITERAL_LINES
    ]


def _is_table(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):  # frozenset({...}), MappingProxyType({...})
        return len(value.args) == 1 and not value.keywords and _is_table(value.args[0])
    return isinstance(value, ast.Dict | ast.Tuple | ast.List | ast.Set)


def any_count(tree: ast.Module) -> int:
    """How often `Any` stands in annotations and elsewhere; the line that imports it does not count."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def naming_a_cloud(package: Path, trees: Mapping[Path, ast.Module]) -> Iterator[str]:
    """The files of shared code that name a cloud."""
    for path, tree in trees.items():
        file = path.relative_to(package).as_posix()
        if not file.startswith(RULES) and not of_one_cloud(file) and names_a_cloud(tree):
            yield file


def of_one_cloud(file: str) -> bool:
    """Whether a file is a cloud's own: a word of its path begins with the cloud's name."""
    words = [word for part in Path(file).with_suffix("").parts for word in part.split("_")]
    return any(word.startswith(CLOUDS) for word in words)


def names_a_cloud(tree: ast.AST) -> bool:
    """Whether code has a cloud's name as text, or takes one cloud out of the registry. A word in a docstring is none:
    nothing is chosen by it.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in CLOUDS:
                return True
            case ast.Attribute(value=ast.Name(id="CLOUDS"), attr=name) if name in CLOUDS:
                return True
    return False


def _module(path: Path, source: Path) -> str:
    name = ".".join(path.relative_to(source).with_suffix("").parts)
    return name.removesuffix(".__init__")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
