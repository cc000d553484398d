"""Bad input is one message each, and never a green check: what the action's step and the command say of it."""

import json
from pathlib import Path

import pytest
from test_ci import script
from test_run import Repository, git

from sizewell.cli.main import main
from sizewell.policy.rules import RULES
from sizewell.policy.rules.idleness import idle_exposure

FIXTURES = Path(__file__).parent / "fixtures"
PLAN = json.loads((FIXTURES / "preview-change-sames.json").read_text())
STATE = json.loads((FIXTURES / "state.json").read_text())
FAILED = {"severity": "error", "message": "error: Running program failed\nTypeError: nothing"}
PLANS = {  # what a plan is -> (its text, words of the one message)
    "cut off": (json.dumps(PLAN)[:3000], "cut short or not JSON"),
    "with what the engine prints before it": (f"Previewing update (dev):\n{json.dumps(PLAN)}", "it begins with 'P'"),
    "empty": ("", "it is empty"),
    "of another version": (
        json.dumps({**PLAN, "steps": [{**PLAN["steps"][0], "op": "transmogrify"}]}),
        "of a version of Pulumi that this release does not know: a step is of the kind 'transmogrify'",
    ),
    "a state of another version": (json.dumps({**STATE, "version": 99}), "an export of version 99"),
    "of a program that failed": (
        json.dumps({**PLAN, "diagnostics": [FAILED]}),
        "the preview that wrote it failed: error: Running program failed",
    ),
    "of another tool": ('{"terraform_version": "1.9.0", "resource_changes": []}', "it is Terraform's"),
}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    made = Repository(tmp_path / "repo")
    monkeypatch.chdir(made.root)
    return made


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_that_is(kind, repository, tmp_path, capsys):
    text, says = PLANS[kind]
    (repository.root / "plan.json").write_text(text)
    assert main(["preview", "--plan", "plan.json"]) == 64
    told = capsys.readouterr().err
    assert says in told
    assert told.count("sizewell: ") == 1
    assert "fix: " in told
    assert "Traceback" not in told


def test_the_step_of_the_action_fails_with_it(repository, tmp_path):
    (repository.root / "plan.json").write_text(PLANS["cut off"][0])
    done, outputs, summary = script(repository, "preview", tmp_path, PLAN="plan.json")
    assert done.returncode == 64
    assert "cut short" in done.stderr
    assert outputs["exit-code"] == "64"
    assert summary == ""
    assert script(repository, "result", tmp_path, CODE="64")[0].returncode == 64


def test_a_plan_of_another_stack(repository, capsys):
    (repository.root / "plan.json").write_text(json.dumps(PLAN))
    assert main(["preview", "prod", "--plan", "plan.json"]) == 64
    assert "it is for the stack dev, not of prod" in capsys.readouterr().err
    assert main(["preview", "--plan", "plan.json", "--plan", "plan.json"]) == 64
    assert "another file is for the stack dev as well" in capsys.readouterr().err


def test_a_base_that_is_not_in_a_shallow_checkout(repository, tmp_path, monkeypatch, capsys):
    base = git(repository.root, "rev-parse", "HEAD")
    repository.program("g6.2xlarge", 50)
    repository.commit()
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository.root}", str(shallow))
    monkeypatch.chdir(shallow)
    assert main(["preview", "dev", "--base", base]) == 64
    told = capsys.readouterr().err
    assert "no such revision in this repository" in told
    assert "fetch-depth: 0" in told
    (shallow / "plan.json").write_text(json.dumps(PLAN))  # limits of the change itself are no judge of it
    assert main(["preview", "--plan", "plan.json", "--judge", base]) == 64
    assert f"--judge {base}: no such revision in this repository" in capsys.readouterr().err


def test_a_rule_that_raises_counts_as_failed_with_its_file(repository, monkeypatch, capsys):
    def broken(*_):
        raise ZeroDivisionError("division by zero")

    rule = next(each for each in RULES if each.id == "idle-exposure")
    object.__setattr__(rule, "judge", broken)
    try:
        code = main(["preview", "dev", "--format", "json"])
    finally:
        object.__setattr__(rule, "judge", idle_exposure)
    found = json.loads(capsys.readouterr().out)
    assert code == 1
    (said,) = [each for each in found["stacks"][0]["policies"]["findings"] if each["policy"] == "idle-exposure"]
    assert "the rule itself failed (ZeroDivisionError: division by zero)" in said["message"]
    assert "policy/rules/idleness.py" in said["fix"]
