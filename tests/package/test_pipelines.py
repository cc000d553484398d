"""What GitHub and GitLab read of this project, judged by the schemas that they publish (carried by check-jsonschema)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from sizewell.cli.main import main

ROOT = Path(__file__).parents[2]
SCHEMAS = "lib/python3*/site-packages/check_jsonschema/builtin_schemas/vendor"
FILES = {
    "gitlab-ci": ["ci/gitlab-preview.yml"],
    "github-workflows": [
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / ".github/workflows").glob("*.yml")),
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples").rglob("workflows/*.yml")),
    ],
    "github-actions": ["action.yml"],
    "dependabot": [".github/dependabot.yml"],
    "github-issue-forms": sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")
        if path.name != "config.yml"
    ),
}
CASES = [(schema, name) for schema, names in FILES.items() for name in names if (ROOT / name).exists()]


class Reader(yaml.SafeLoader):
    """YAML as both forges read it: `on` is a key and no truth value."""


Reader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def faults(schema: str, text: str) -> list[str]:
    """What the schema finds wrong, each with its path."""
    (path,) = (ROOT / ".venv-checkov").glob(f"{SCHEMAS}/{schema}.json")
    rules: dict[str, Any] = json.loads(path.read_text())
    judge = jsonschema.validators.validator_for(rules)(rules)
    found = judge.iter_errors(yaml.load(text, Loader=Reader))  # noqa: S506 - a SafeLoader
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


@pytest.mark.scan
@pytest.mark.parametrize(("schema", "name"), CASES)
def test_a_forge_s_own_schema_finds_nothing(schema: str, name: str) -> None:
    assert faults(schema, (ROOT / name).read_text()) == []


def test_both_kinds_of_pipelines_are_judged() -> None:
    judged = {schema for schema, _ in CASES}
    assert {"gitlab-ci", "github-workflows", "github-actions"} <= judged


@pytest.mark.scan
@pytest.mark.parametrize(
    ("forge", "written", "schema"),
    [("github", ".github/workflows/preview.yml", "github-workflows"), ("gitlab", ".gitlab-ci.yml", "gitlab-ci")],
)
def test_the_pipeline_of_a_new_project(forge: str, written: str, schema: str, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    answers = {
        "cloud": "aws",
        "account": "123456789012",
        "owner": "@acme/ml",
        "notify": "ml@example.com",
        "forge": forge,
    }
    flags = [word for name, value in answers.items() for word in (f"--{name}", value)]
    assert main(["init", str(shop), "--offline", "--on", "2026-09-20", *flags]) == 0
    assert faults(schema, (shop / written).read_text()) == []


@pytest.mark.scan
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("stage: test", "stage: 7"),
        ("when: always", "when: sometimes"),
        ("interruptible: true", 'interruptible: "yes"'),
        ("  script:", "  scripts:"),
    ],
)
def test_a_fault_is_found(was: str, becomes: str) -> None:
    text = (ROOT / "ci/gitlab-preview.yml").read_text()
    assert was in text
    assert faults("gitlab-ci", text.replace(was, becomes, 1))
