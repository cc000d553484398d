"""Whoever opens a pull request does not change its judge: limits and policies are those of the base until approved."""

import json

import pytest
from test_run import Repository

from sizewell.cli.main import main

RULES = "policy/config.yaml"
LIMITS = "stacks/config/guardrails.yaml"


@pytest.fixture
def preview(tmp_path, monkeypatch, capsys):
    repository = Repository(tmp_path / "repo")
    monkeypatch.chdir(repository.root)
    (repository.root / "policy").mkdir()

    def run(*arguments):
        code = main(["preview", "--base", "HEAD", "--format", "json", "--on", "2026-10-01", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return repository, run


def failed(found):
    (stack,) = found["stacks"]
    return {each["policy"] for each in stack["policies"]["findings"] if each["level"] == "mandatory"}


def test_a_rule_that_the_change_switches_off_still_judges_it(preview):
    repository, run = preview
    repository.program("m6i.large", 100)
    repository.commit()
    repository.program("g6.xlarge", 100)
    (repository.root / RULES).write_text("levels: {idle-exposure: disabled}\n")
    code, found = run()
    assert code == 1
    assert "idle-exposure" in failed(found)
    assert any(RULES in line for line in found["judge"])
    assert not found["silent"]
    code, found = run("--unblock", "agreed in the meeting of the team")
    assert "idle-exposure" not in failed(found)
    assert found["judge"] == []


def test_a_limit_that_the_change_lifts_still_holds(preview):
    repository, run = preview
    (repository.root / RULES).write_text("profile: accelerators\nlevels: {idle-exposure: disabled}\n")
    (repository.root / LIMITS).write_text("increase: {usd_per_month: 10}\n")
    repository.commit()
    repository.program("g6.xlarge", 5000)
    (repository.root / LIMITS).write_text("increase: {usd_per_month: 100000}\n")
    code, found = run()
    assert code in (1, 2)  # a policy may fail as well, and is said first
    assert [rail["limit"] for rail in found["guardrails"] if rail["broken"]] == ["10"]
    assert any(LIMITS in line for line in found["judge"])


def test_only_what_is_new_fails(preview):
    repository, run = preview
    repository.program("g6.xlarge", 500)
    code, found = run("--new-only")
    stood = [each for each in found["stacks"][0]["policies"]["findings"] if each["level"] == "mandatory"]
    assert stood
    assert all(each["stood"] for each in stood)
    assert code == 0
    assert run()[0] == 1
    repository.program("m6i.large", 500)
    repository.commit()
    repository.program("g6.xlarge", 500)
    code, found = run("--new-only")
    assert code == 1
    assert any(not each["stood"] for each in found["stacks"][0]["policies"]["findings"])
