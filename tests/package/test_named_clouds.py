"""Shared code asks a cloud's record what is true of it: the files that name a cloud are these, and the list only
shrinks. docs/adr/0013-one-record-per-cloud.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from sizewell.sizing.providers import CLOUDS

SOURCE = Path(__file__).parents[2] / "src/sizewell"
RULES = "policy/rules/"  # each is about resources of certain clouds, and says so
NAMED = {
    "cli/teardown.py": "a schedule logs in to AWS where no cloud is given",
    "launch/scripts/notice.py": "runs on machines, without this package",
    "recording/evaluate/answers.py": "the answer of AWS's own function, whose partition has the same name",
    "sizing/catalog/imports.py": "reads files whose forms are a cloud's own, and say no cloud",
    "sizing/workload/model.py": "an example in the schema of a spec",
}


def of_one_cloud(file: str) -> bool:
    """Whether a file is a cloud's own: a word of its path begins with the cloud's name."""
    words = [word for part in Path(file).with_suffix("").parts for word in part.split("_")]
    return any(word.startswith(tuple(CLOUDS)) for word in words)


def names_a_cloud(tree: ast.AST) -> bool:
    """Whether code has a cloud's name as text, or takes one cloud out of the registry."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in CLOUDS:
                return True
            case ast.Attribute(value=ast.Name(id="CLOUDS"), attr=name) if name in CLOUDS:
                return True
    return False


def named() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        if not file.startswith(RULES) and not of_one_cloud(file) and names_a_cloud(ast.parse(path.read_text())):
            yield file


def test_only_these_files_name_a_cloud():
    assert set(named()) == set(NAMED), "ask the cloud's record; where that is no better, say here why"


def test_what_counts_as_naming_a_cloud():
    for text in ('cloud == "gcp"', '{"azure": 1}', 'Place(cloud="aws")', "CLOUDS.aws.name"):
        assert names_a_cloud(ast.parse(text)), text
    for text in ('"aws:region"', "cloud.cluster.always", "PerCloud(aws=1, gcp=2, azure=3)", "CLOUDS.items()"):
        assert not names_a_cloud(ast.parse(text)), text
    assert of_one_cloud("components/aws/nodes.py")
    assert of_one_cloud("resources/readers/pools_gcp.py")
    assert not of_one_cloud("teardown/gather.py")
