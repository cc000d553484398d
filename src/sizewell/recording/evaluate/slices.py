"""What of a program decides about a resource: the statements that make it and all that they use, and their settings.

Two revisions may leave the same values unknown and mean other ones: another output of another stack, another secret.
What decides about them is compared as the statements of the program's own files that bind the names which are used,
and theirs, however they are laid out, with the settings whose names stand in them. It is never too little of what a
program states; of what another statement changes behind a name (a list that a function fills) it may lack some.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.errors import SizewellError
from sizewell.sizing.places import read_yaml

Place = tuple[str, int]  # file below the root, line


@dataclass(frozen=True)
class _Module:
    """A file of the program: its statements, and which of them say something about a name."""

    file: Path
    statements: Sequence[ast.stmt]

    @cached_property
    def about(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        imported = {name for statement in self.statements for name in _imported(statement)}
        for place, statement in enumerate(self.statements):
            for name in {*_bound(statement), *_imported(statement), *(_filled(statement) - imported)}:
                index.setdefault(name, []).append(place)
        return index

    def at(self, line: int) -> int | None:
        for place, statement in enumerate(self.statements):
            first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
            if first <= line <= (statement.end_lineno or line):
                return place
        return None


@dataclass
class Sources:
    """The files of a project at one revision, each read once."""

    root: Path
    stack: str
    _modules: dict[Path, _Module | None] = field(default_factory=dict)
    _digests: dict[tuple[Place, ...], str] = field(default_factory=dict)

    def digest(self, places: tuple[Place, ...]) -> str:
        """Of all that decides about what is made at these places; "" where their files are not there."""
        if places not in self._digests:
            self._digests[places] = self._digest(places)
        return self._digests[places]

    def _digest(self, places: tuple[Place, ...]) -> str:
        due: list[tuple[_Module, int, str]] = []  # statement, and the name for which it is looked at
        for file, line in places:
            module = self._module(self.root / file)
            place = module.at(line) if module is not None else None
            if module is not None and place is not None:
                due.append((module, place, ""))
        taken: dict[tuple[Path, int, str], str] = {}
        words: set[str] = set()
        while due:
            module, place, wanted = due.pop()
            statement = module.statements[place]
            imports = isinstance(statement, ast.Import | ast.ImportFrom)
            key = (module.file, place, wanted if imports else "")
            if key in taken:
                continue
            taken[key] = wanted if imports else ast.dump(statement)
            for node in ast.walk(statement):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    words.add(node.value)
                elif isinstance(node, ast.Name):
                    due += [(module, other, node.id) for other in module.about.get(node.id, ())]
                elif isinstance(node, ast.Import | ast.ImportFrom):
                    due += self._behind(module, node, wanted if imports else "")
        stated = sorted(f"{key}={value}" for key, value in self._settings.items() if key.rpartition(":")[2] in words)
        told = [*sorted(taken.values()), *stated, self._settings.get("", "")]
        return sha256("\n".join(told).encode()).hexdigest() if taken else ""

    def _behind(
        self, module: _Module, node: ast.Import | ast.ImportFrom, name: str
    ) -> Iterator[tuple[_Module, int, str]]:
        """What an import brings of the program's own files for a name ("": for all): statements, or all of a file."""
        named = [each for each in node.names if name in ("", each.asname or each.name.partition(".")[0])]
        level, inside = (node.level, node.module or "") if isinstance(node, ast.ImportFrom) else (0, "")
        bases = [module.file.parents[level - 1]] if level else [module.file.parent, self.root]
        for each in named:
            files = [(f"{inside}.{each.name}".strip("."), "*")]
            files += [(inside, each.name)] if isinstance(node, ast.ImportFrom) else []
            for (path, what), base in product(files, bases):
                stem = base.joinpath(*path.split(".")) if path else base
                other = self._module(stem.with_suffix(".py")) or self._module(stem / "__init__.py")
                if other is not None:
                    places = range(len(other.statements)) if what == "*" else other.about.get(what, ())
                    yield from ((other, place, "" if what == "*" else what) for place in places)
                    break

    def _module(self, file: Path) -> _Module | None:
        if file not in self._modules:
            self._modules[file] = None
            if file.is_file() and file.resolve().is_relative_to(self.root):
                with contextlib.suppress(SyntaxError, ValueError):
                    self._modules[file] = _Module(file, ast.parse(file.read_bytes()).body)
        return self._modules[file]

    @cached_property
    def _settings(self) -> dict[str, str]:
        """The stack's configuration as its files have it, secrets in their ciphertext; "" is its `environment:`."""
        settings: dict[str, str] = {}
        for name in ("Pulumi.yaml", f"Pulumi.{self.stack}.yaml"):
            try:
                data: Any = read_yaml(self.root / name).data if (self.root / name).is_file() else None
            except SizewellError:
                data = None
            stated = data.get("config") if isinstance(data, dict) else None
            settings |= {str(key): str(value) for key, value in stated.items()} if isinstance(stated, dict) else {}
            if isinstance(data, dict) and data.get("environment"):
                settings[""] = str(data["environment"])
        return settings


_DEFINED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module gives a value."""
    if isinstance(statement, _DEFINED):
        return {statement.name}
    nodes = list(ast.walk(statement))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.name for node in nodes if isinstance(node, _DEFINED)}


def _imported(statement: ast.stmt) -> set[str]:
    return {
        each.asname or each.name.partition(".")[0]
        for node in ast.walk(statement)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for each in node.names
    }


def _filled(statement: ast.stmt) -> set[str]:
    """The names behind which a statement changes something: `sizes["a"] = 2`, `sizes.append(2)`."""
    targets: list[ast.AST] = [
        node.value
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        targets += [statement.value.func.value] if isinstance(statement.value.func, ast.Attribute) else []
    found = set()
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Name):
            found.add(target.id)
        elif isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
            targets.append(target.func if isinstance(target, ast.Call) else target.value)
    return found
