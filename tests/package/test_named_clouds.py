"""Shared code asks a cloud's record what is true of it: the files that name a cloud are these, and the list only
shrinks. docs/adr/0013-one-record-per-cloud.md.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from sizewell.sizing.providers import CLOUDS

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import core_lines

SOURCE = Path(__file__).parents[2] / "src/sizewell"

NAMED = {
    "cli/teardown.py": "a schedule logs in to AWS where no cloud is given",
    "launch/scripts/notice.py": "runs on machines, without this package",
    "recording/evaluate/answers.py": "the answer of AWS's own function, whose partition has the same name",
    "resources/tables/kubernetes.py": "how classes of Ingress begin: a controller's own words, not a cloud's",
    "sizing/catalog/imports.py": "reads files whose forms are a cloud's own, and say no cloud",
    "sizing/workload/foreign/tools.py": "requests of SageMaker and Vertex AI, whose forms are a cloud's own, and say no cloud",
    "sizing/workload/model.py": "an example in the schema of a spec",
}


def test_only_these_files_name_a_cloud():
    trees = {path: ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert set(core_lines.naming_a_cloud(SOURCE, trees)) == set(NAMED), (
        "ask the cloud's record; where that is no better, say here why"
    )


def test_what_counts_as_naming_a_cloud():
    assert tuple(CLOUDS) == core_lines.CLOUDS
    for text in ('cloud == "gcp"', '{"azure": 1}', 'Place(cloud="aws")', "CLOUDS.aws.name"):
        assert core_lines.names_a_cloud(ast.parse(text)), text
    for text in ('"aws:region"', "cloud.cluster.always", "PerCloud(aws=1, gcp=2, azure=3)", "CLOUDS.items()"):
        assert not core_lines.names_a_cloud(ast.parse(text)), text
    assert core_lines.of_one_cloud("components/aws/nodes.py")
    assert core_lines.of_one_cloud("resources/readers/pools_gcp.py")
    assert not core_lines.of_one_cloud("teardown/gather.py")
