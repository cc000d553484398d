"""`store` and `manifest` are imported from the package here, and lie flat beside a job's programs on its machines."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from sizewell.launch import files

SHARED = ("store", "manifest")


def test_a_user_s_own_store_stays_the_user_s(tmp_path: Path) -> None:
    """The program of a stack that tears down may have modules of the same names beside it."""
    for name in (*SHARED, "checkpoint"):
        (tmp_path / f"{name}.py").write_text("mine = True\n")
    program = tmp_path / "program.py"
    program.write_text(
        "from sizewell.teardown import journal, saves\n"
        f"journal.Journal(journal.connect('file://{tmp_path}/journal')).read()\n"
        f"assert saves.prove('file://{tmp_path}/checkpoints') == ()\n"
        "import checkpoint, manifest, store\n"
        "print(store.mine, manifest.mine, checkpoint.mine)\n"
    )
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.stdout, ran.stderr) == ("True True True\n", "")


@pytest.mark.parametrize("name", SHARED)
def test_what_is_shared_imports_neither_its_neighbours_nor_the_package(name: str) -> None:
    """By either way of import only one of two names for a neighbour would be there. Clients of clouds are imported late."""
    tree = ast.parse(files.script(f"{name}.py"))
    imported = {
        module.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    assert imported <= sys.stdlib_module_names
    anywhere = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [node.module for node in anywhere if node.level or str(node.module).startswith("sizewell")]


def test_both_are_shipped_with_what_trains() -> None:
    assert {f"{name}.py" for name in SHARED} <= files.training().keys()
