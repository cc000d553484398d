"""What runs in CI: the action and its workflow, the GitLab template; their scripts run here against stand-ins."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from github_standin import StandIn, served
from situations import SITUATIONS
from test_comment import GitLabStandIn
from test_run import Repository, git

from sizewell.preview.records import Preview
from sizewell.preview.render import __main__ as rendering
from sizewell.preview.render import html, markdown
from sizewell.preview.render import json as as_json

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
WORKFLOW = ROOT / ".github/workflows/preview.yml"
GITLAB = ROOT / "ci/gitlab-preview.yml"


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps():
    for job in load(WORKFLOW)["jobs"].values():
        yield from job["steps"]
    yield from load(ACTION)["runs"]["steps"]


def test_actions_are_pinned_by_commit():
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used
    for name in used:
        assert name == "./" or re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", name), name


def test_least_permissions_and_no_event_that_hands_secrets_to_a_fork():
    workflow = load(WORKFLOW)
    assert workflow["permissions"] == {}
    assert set(workflow[True]) == {"pull_request"}  # YAML reads `on` as true
    for job in workflow["jobs"].values():
        assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
        checkout = next(step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
        assert checkout["with"]["persist-credentials"] is False
    assert "secrets." not in WORKFLOW.read_text() + ACTION.read_text()


def test_no_expression_is_pasted_into_a_script():
    for step in steps():
        assert "${{" not in step.get("run", ""), step["name"]


def test_the_action_uses_only_inputs_that_it_declares():
    text = ACTION.read_text()
    declared = set(load(ACTION)["inputs"])
    assert set(re.findall(r"inputs\.([\w-]+)", text)) <= declared


@pytest.mark.scan
def test_zizmor_finds_nothing():
    tool = ROOT / ".venv-checkov/bin/zizmor"
    done = subprocess.run(
        [str(tool), "--offline", "--no-progress", str(ACTION), str(WORKFLOW)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "repo")
    made.program("g6.2xlarge", 50)
    return made


def script(repository, step, tmp_path, **environment):
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.touch()
    done = subprocess.run(
        ["bash", str(ROOT / "ci/github-preview.sh"), step],
        cwd=repository.root, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "HERE": str(here(tmp_path)), "RUNNER_TEMP": str(tmp_path), "GITHUB_REPOSITORY": "o/r",
             "NUMBER": "7", **{name: str(path) for name, path in files.items()}, **environment},
    )  # fmt: skip
    lines = files["GITHUB_OUTPUT"].read_text().splitlines()
    return done, dict(line.split("=", 1) for line in lines), files["GITHUB_STEP_SUMMARY"].read_text()


def here(tmp_path):
    """Where the action stands: the repository's own folder has the environment that runs this test."""
    place = tmp_path / "here"
    if not place.exists():
        place.mkdir()
        (place / ".venv").symlink_to(Path(sys.prefix), target_is_directory=True)
    return place


def test_a_plan_of_any_language_needs_no_program(tmp_path):
    repository = Repository(tmp_path / "repo")
    plan = Path(__file__).parent / "fixtures/preview-change-sames.json"
    (repository.root / "plan.json").write_bytes(plan.read_bytes())
    (repository.root / "stacks/__main__.py").unlink()  # nothing that Python could evaluate
    base = git(repository.root, "rev-parse", "HEAD")
    done, outputs, summary = script(repository, "preview", tmp_path, BASE=base, PLAN="plan.json", NEW_ONLY="true")
    assert done.returncode == 0, done.stderr
    found = json.loads((Path(outputs["directory"]) / "preview.json").read_text())
    assert found["provenance"]["engine"] == "pulumi"
    assert found["before"] is not None
    assert "### Cost preview" in summary


def test_the_projects_own_environment_is_used(repository, tmp_path):
    own = tmp_path / "own/bin"
    own.mkdir(parents=True)
    for name in ("python", "sizewell"):
        (own / name).write_text(
            f'#!/bin/sh\necho "$0" >> "{tmp_path}/called"\nexec "{Path(sys.prefix)}/bin/{name}" "$@"\n'
        )
        (own / name).chmod(0o755)
    done, _, _ = script(repository, "preview", tmp_path, STACKS="dev", PROJECT_PYTHON=str(own / "python"))
    assert done.returncode == 0, done.stderr
    assert {Path(line).parent for line in (tmp_path / "called").read_text().splitlines()} == {own}


def test_the_steps_of_the_action(repository, tmp_path):
    base = git(repository.root, "rev-parse", "HEAD")
    done, outputs, summary = script(repository, "preview", tmp_path, BASE=base, STACKS="dev")
    assert done.returncode == 0, done.stderr
    directory = Path(outputs["directory"])
    comment = (directory / "preview.md").read_text()
    assert summary == comment
    assert "### Cost preview · `dev`" in comment
    assert "`gpu`" in comment
    assert {path.name for path in directory.iterdir()} == {"preview.md", "preview.json", "preview.html", "preview.csv"}
    code = json.loads((directory / "preview.json").read_text())["exit_code"]
    assert outputs["exit-code"] == str(code)
    standin = StandIn()
    with served(standin) as address:
        common = {"GITHUB_API_URL": address, "GITHUB_TOKEN": standin.token, "DIRECTORY": str(directory)}
        done, _, _ = script(repository, "comment", tmp_path, **common)
        assert done.returncode == 0, done.stderr
        assert [each["body"] for each in standin.comments.values()] == [comment]
        standin.put("/sizewell unblock 1a2b3c4 agreed; $(touch /tmp/never) `id`", login="ann")
        approval = {"COMMIT": "1a2b3c4" + 33 * "0", "REQUESTED_BY": "mallory"}
        done, outputs, _ = script(repository, "reason", tmp_path, **common, **approval)
        assert outputs["reason"] == "agreed; $(touch /tmp/never) `id` (ann, for 1a2b3c4)"
        standin.read_only = True
        assert script(repository, "comment", tmp_path, **common, READ_ONLY="true")[0].returncode == 0
        assert script(repository, "comment", tmp_path, **common)[0].returncode == 69
    assert script(repository, "result", tmp_path, CODE="2")[0].returncode == 2
    assert script(repository, "result", tmp_path, CODE="0")[0].returncode == 0


def test_a_broken_guardrail_and_a_reason_to_let_it_pass(repository, tmp_path):
    limits = repository.root / "limits.yaml"
    limits.write_text("increase: {usd_per_month: 1}\n")
    base = git(repository.root, "rev-parse", "HEAD")
    common = {"BASE": base, "STACKS": "dev", "GUARDRAILS": "limits.yaml"}
    _, outputs, summary = script(repository, "preview", tmp_path, **common)
    assert outputs["exit-code"] in ("1", "2")
    assert "Over the limit" in summary
    _, outputs, _ = script(repository, "preview", tmp_path, **common, REASON="release week (ann)")
    told = json.loads((Path(outputs["directory"]) / "preview.json").read_text())
    assert [rail["unblocked"] for rail in told["guardrails"] if rail["broken"]] == ["release week (ann)"]
    assert outputs["exit-code"] != "2"


def test_a_request_that_is_wrong_fails_the_step_with_its_message(repository, tmp_path):
    done, outputs, _ = script(repository, "preview", tmp_path, BASE="no-such-revision")
    assert done.returncode == 64
    assert "no such revision" in done.stderr
    assert "directory" in outputs


def test_what_a_pull_request_chose_is_never_run(repository, tmp_path):
    evil = "dev; touch pwned"
    script(repository, "preview", tmp_path, BASE="$(touch pwned)", STACKS=evil, REASON="`touch pwned`")
    assert not list(tmp_path.rglob("pwned"))


@pytest.fixture
def gitlab(repository, tmp_path):
    """Runs the template's job and returns how it ended and what stands in the merge request."""
    job = load(GITLAB)["cost-preview"]
    assert job["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]
    base = git(repository.root, "rev-parse", "HEAD")
    tool = tmp_path / "tool"  # stands for the repository that the template fetches
    tool.mkdir()
    git(tool, "init", "-q", "-b", "main")
    (tool / "Makefile").write_text("setup: .venv/.setup-done\n.venv/.setup-done: Makefile\n\t@ln -sfn $(REAL) .venv\n")
    git(tool, "add", ".")
    git(tool, "commit", "-qm", "x")
    standin = GitLabStandIn()

    def run(**variables):
        with served(standin) as address:
            done = subprocess.run(
                ["bash", "-c", job["script"][0]], cwd=repository.root, capture_output=True, text=True, check=False, timeout=120,
                env={**os.environ, **{name: str(value) for name, value in load(GITLAB)["variables"].items()},
                     "CI_PROJECT_DIR": str(repository.root), "CI_JOB_TOKEN": "t", "CI_SERVER_HOST": "gl",
                     "SIZEWELL_PROJECT": "a/b", "SIZEWELL_COMMIT": git(tool, "rev-parse", "HEAD"), "SIZEWELL_STACKS": "dev",
                     "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_PROJECT_ID": "group/name", "CI_MERGE_REQUEST_IID": "7",
                     "CI_COMMIT_SHA": "1a2b3c4" + 33 * "0", "GITLAB_USER_LOGIN": "mallory",
                     "CI_API_V4_URL": address, "SIZEWELL_GITLAB_TOKEN": standin.token, "REAL": sys.prefix,
                     "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{tool}.insteadOf",
                     "GIT_CONFIG_VALUE_0": "https://gitlab-ci-token:t@gl/a/b.git", **variables},
            )  # fmt: skip
        return done, standin

    return run


def test_a_program_that_ends_the_process_is_no_green_check(repository, tmp_path):
    repository.program(text="import os\nos._exit(0)\n")
    done, outputs, _ = script(repository, "preview", tmp_path, STACKS="dev")
    assert outputs["exit-code"] == "69", done.stderr  # the job fails by it, once the comment says why
    assert "the program ended its process: os._exit(0)" in done.stderr


def test_packages_of_the_checkout_are_not_those_of_the_action(repository, tmp_path):
    """`python -m` looks where it stands first, and it stands in the checkout of whoever asks for the change."""
    package = repository.root / "sizewell/preview"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "comment.py").write_text("print('all is well')\n")
    done, outputs, _ = script(repository, "reason", tmp_path, COMMIT="1a2b3c4", GITHUB_TOKEN="")
    assert done.returncode == 0
    assert outputs["reason"] == ""


@pytest.mark.parametrize("folder", [".sizewell/.venv/bin", "sizewell-preview"])
def test_gitlab_takes_nothing_of_the_merge_request_for_its_own(repository, gitlab, folder):
    (repository.root / folder).mkdir(parents=True)
    (repository.root / folder / "sizewell").write_text("#!/bin/sh\n")
    repository.commit()
    done, standin = gitlab()
    assert done.returncode == 64
    assert "which are this job's own" in done.stdout
    assert not standin.comments


def test_gitlab_template_runs(repository, gitlab):
    done, standin = gitlab()
    (note,) = standin.comments.values()
    assert note["body"] == (repository.root / "sizewell-preview/preview.md").read_text()
    told = json.loads((repository.root / "sizewell-preview/preview.json").read_text())
    assert done.returncode == told["exit_code"], done.stderr


def test_gitlab_takes_a_plan_and_an_approval(repository, gitlab):
    plan = Path(__file__).parent / "fixtures/preview-change-sames.json"
    (repository.root / "plan.json").write_bytes(plan.read_bytes())
    (repository.root / "stacks/__main__.py").unlink()  # nothing that Python could evaluate
    (repository.root / "stacks/config/guardrails.yaml").write_text("budgets: {total: 1}\n")
    options = {"SIZEWELL_PLAN": "plan.json", "SIZEWELL_STACKS": "", "SIZEWELL_NEW_ONLY": "true"}
    done, standin = gitlab(**options)
    assert done.returncode in (1, 2), done.stderr  # a policy may fail as well, and is said first
    standin.put("/sizewell unblock 1a2b3c4 release week", login="ann")
    gitlab(**options)
    told = json.loads((repository.root / "sizewell-preview/preview.json").read_text())
    assert told["provenance"]["engine"] == "pulumi"
    assert [rail["unblocked"] for rail in told["guardrails"] if rail["broken"]] == ["release week (ann, for 1a2b3c4)"]


def test_what_the_cache_brought_back_is_not_made_again(repository, tmp_path):
    place = tmp_path / "action"
    (place / "requirements").mkdir(parents=True)
    (place / ".venv").mkdir()
    (place / ".venv/.setup-done").touch()
    os.utime(place / ".venv/.setup-done", (0, 0))
    (place / "requirements/dev.txt").write_text("a==1\n")
    (place / "pyproject.toml").write_text("")
    (place / "Makefile").write_text(
        "setup: .venv/.setup-done\n.venv/.setup-done: requirements/dev.txt\n\t@echo made >> made\n"
    )
    common = {"HERE": str(place)}
    assert script(repository, "setup", tmp_path, **common, CACHE_HIT="true")[0].returncode == 0
    assert not (place / "made").exists()
    os.utime(place / ".venv/.setup-done", (0, 0))
    assert script(repository, "setup", tmp_path, **common, CACHE_HIT="false")[0].returncode == 0
    assert (place / "made").exists()
    keys = [script(repository, "key", tmp_path, **common)[1]["key"]]
    keys.append(script(repository, "key", tmp_path, **common)[1]["key"])
    (place / "requirements/dev.txt").write_text("a==2\n")
    keys.append(script(repository, "key", tmp_path, **common)[1]["key"])
    assert keys[0] == keys[1] != keys[2]


def test_a_spec_that_was_edited_without_deciding_again_is_said(repository, tmp_path):
    folder = repository.root / "stacks/decisions"
    folder.mkdir()
    decision = ROOT / "stacks/decisions/dev-aws.json"
    (folder / "dev.json").write_text(decision.read_text().replace('"stack": "dev-aws"', '"stack": "dev"'))
    specs = repository.root / "stacks/specs/dev"
    specs.mkdir(parents=True)
    (specs / "chat.yaml").write_text(
        "name: chat\nkind: inference\nmodel: meta-llama/Llama-3.1-8B\ntraffic: {rps: 400, input_tokens: 1500, output_tokens: 300}\n"
    )
    base = git(repository.root, "rev-parse", "HEAD")
    _, outputs, summary = script(repository, "preview", tmp_path, BASE=base, STACKS="dev")
    assert "**Decision out of date**: dev: " in summary
    assert outputs["exit-code"] != "0"
    _, _, summary = script(repository, "preview", tmp_path, BASE=base, STACKS="dev", CHECK_DECISIONS="false")
    assert summary.count("Decision out of date") == 2  # of the run before, and that other workloads were decided
    assert "chat not decided yet" in summary


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_form_can_be_made_from_the_json(name, tmp_path):
    preview = SITUATIONS[name]()
    path = tmp_path / "p.json"
    path.write_text(as_json.render(preview))
    assert Preview.model_validate_json(path.read_text()) == preview
    assert rendering.main([str(path), "--markdown", str(tmp_path / "a"), "--html", str(tmp_path / "b")]) == 0
    assert (tmp_path / "a").read_text() == markdown.render(preview)
    assert (tmp_path / "b").read_text() == html.render(preview)


@pytest.mark.parametrize(
    ("text", "says"),
    [("{}", "schema: is missing"), ("", "not a preview"), ("[]", "sizewell: "), (None, "cannot be read")],
)
def test_other_files_are_no_previews(tmp_path, capsys, text, says):
    path = tmp_path / "p.json"
    if text is not None:
        path.write_text(text)
    assert rendering.main([str(path)]) == 64
    assert says in capsys.readouterr().err
