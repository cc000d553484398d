"""What a release and its contributors rest on: versions that agree, workflows that hold, no invented people."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_package_and_change_log_say_the_same_version() -> None:
    versions = re.findall(
        r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert versions[0] == PROJECT["version"]


def test_the_matrix_has_every_python_that_the_package_names() -> None:
    named = [words[-1] for line in PROJECT["classifiers"] if (words := line.split(" :: "))[1:2] == ["Python"]]
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]["python"]
    assert matrix == [version for version in named if "." in version]
    assert PROJECT["requires-python"] == f">={matrix[0]}"


@pytest.mark.scan
def test_workflows_are_sound() -> None:
    tool = ROOT / ".venv-checkov/bin/zizmor"
    words = [tool, "--offline", "--no-progress", *WORKFLOWS, ROOT / ".github/dependabot.yml"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_workflows_call_targets_that_exist() -> None:
    assert {path.stem for path in WORKFLOWS} >= {"preview", "release", "test"}
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    called = {
        word
        for path in WORKFLOWS
        for words in re.findall(r"run: make ([a-z ]+)", path.read_text())
        for word in words.split()
    }
    assert called >= {"check", "test", "scan", "frameworks", "engine", "release"}
    assert called | set(re.findall(r"`make ([a-z]+)`", contributing)) <= targets


def test_actions_are_pinned_by_commit() -> None:
    for path in WORKFLOWS:
        for uses in re.findall(r"uses: (\S+)", path.read_text()):
            assert uses.startswith("./") or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", uses), f"{path.name}: {uses}"


def test_hooks_and_issue_forms_are_what_their_tools_read() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    for hook in (hook for repo in config["repos"] for hook in repo["hooks"]):
        assert config["repos"][0]["repo"] == "local"
        program = hook["entry"].split()[0]
        assert (ROOT / program).exists(), f"{program} does not exist after make setup"
    forms = [path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len(forms) == 3
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert form.keys() >= {"name", "description", "body"}
        assert all(field["attributes"]["label"] for field in form["body"])


def test_nobody_is_invented() -> None:
    """Owners and addresses are for a maintainer to fill in."""
    lines = (ROOT / ".github/CODEOWNERS").read_text().splitlines()
    assert all(line.startswith("#") for line in lines if line)
    for name in ("CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md"):
        assert not re.search(r"[\w.]+@[\w.]+\.\w+", (ROOT / name).read_text()), name
    assert "urls" not in PROJECT
