"""`sizewell init`: a project that passes its own checks, whatever lies there already and wherever a run was killed."""

from __future__ import annotations

import functools
import io
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from string import Template

import pytest
import wheels
import yaml
from packaging.requirements import Requirement

from sizewell import source
from sizewell.cli import ages, environment, init, questions, scaffold
from sizewell.cli.main import main
from sizewell.teardown.config import read_config

ROOT = Path(__file__).parents[2]
ACCOUNTS = {"aws": "123456789012", "gcp": "shop-dev-123456", "azure": "00000000-0000-0000-0000-000000000000"}
ON = date(2026, 11, 20)


def flags(cloud: str = "aws", forge: str = "github") -> list[str]:
    return [
        *("--cloud", cloud, "--account", ACCOUNTS[cloud], "--owner", "@acme/ml-platform"),
        *("--notify", "ml@example.com,https://hooks.example.com/1", "--forge", forge),
        *("--offline", "--on", ON.isoformat()),
    ]


REGIONS = {
    "aws": ("eu-west-1", "us-west-2", "eu-central-1", "ap-northeast-1", "ap-south-1"),
    "gcp": ("europe-west4", "us-west1", "asia-southeast1", "europe-west1", "us-east4"),
    "azure": ("westeurope", "eastus2", "swedencentral", "southeastasia", "uksouth"),
}


def own_spec() -> str:
    """A workload that a person has put in the place of the template's."""
    text = (ROOT / "src/sizewell/templates/answers/notebook.yaml").read_text().replace("name: notebook", "name: mine")
    values = {"cloud": "aws", "region": "us-east-1", "ttl": "", "owner": "ml-platform", "cost_center": "rnd"}
    return Template(text).substitute(values)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("cloud", "region"),
    [
        pytest.param(cloud, region, marks=() if region == "uksouth" else pytest.mark.scan)
        for cloud, regions in REGIONS.items()
        for region in regions
    ],
)
def test_a_region_passes_every_policy_or_what_fails_is_said_beforehand(
    cloud: str, region: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "shop"), *flags(cloud), "--region", region]) == 0
    said = capsys.readouterr().err
    monkeypatch.chdir(tmp_path / "shop")
    code = main(["policy", "--json", "--on", ON.isoformat()])
    reports = json.loads(capsys.readouterr().out)
    failed = {r["rule"] for report in reports.values() for r in report["results"] if r["level"] == "mandatory"}
    assert failed - {"hourly-budget"} <= {"unpriced-resource"}  # which cannot be added up without the price
    assert (code == 1) == ("unpriced-resource" in failed) == ("`sizewell policy` fails in prod" in said), said
    if code:
        assert f"sizewell prices refresh --cloud {cloud} --region {region} && sizewell size --stack dev" in said


@pytest.mark.parametrize(
    ("cloud", "forge"),
    [("gcp", "gitlab"), ("azure", "none")],  # AWS: tests/package/test_wheel.py
)
def test_a_project_is_in_order_and_passes_the_policies(
    cloud: str, forge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "shop"), *flags(cloud, forge)]) == 0
    monkeypatch.chdir(tmp_path / "shop")
    assert main(["size", "--check", "--on", ON.isoformat()]) == 0
    capsys.readouterr()
    assert main(["policy", "--json", "--on", ON.isoformat()]) == 0
    reports = json.loads(capsys.readouterr().out)
    assert sorted(reports) == ["dev", "prod", "ttl-dev"]
    assert [result for report in reports.values() for result in report["results"]] == []
    assert min(reports[stack]["passed"] for stack in ("dev", "prod")) > 200, "the program builds nothing"
    assert main(["doctor", "--json", "--on", ON.isoformat()]) == 0
    assert {finding["state"] for finding in json.loads(capsys.readouterr().out)} <= {"ok", "note"}
    workflow = {"github": ".github/workflows/preview.yml", "gitlab": ".gitlab-ci.yml"}
    assert [Path(path).exists() for path in workflow.values()] == [name == forge for name in workflow]
    if forge != "none":
        owners = Path(f".{forge}/CODEOWNERS").read_text().splitlines()
        assert "/stacks/ @acme/ml-platform" in owners


def test_every_missing_answer_is_named_with_its_flag_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["init", str(tmp_path / "shop"), "--cloud", "aws"]) == 64
    message = capsys.readouterr().err
    named = {word for word in message.split() if word.startswith("--")}
    assert named == {"--account", "--owner", "--notify", "--forge", "--help`"}
    assert not (tmp_path / "shop").exists()


def test_clouds_forges_and_accounts_are_read_as_people_write_them() -> None:
    asked = {question.key: None for question in questions.QUESTIONS}
    stated = {"cloud": "AWS", "account": "1234-5678-9012", "owner": "@acme/ml", "notify": "a@b.com", "forge": "GitHub"}
    read = questions.answers({**asked, **stated}, {"folder": "shop"}, ask=None)
    assert (read.cloud, read.account, read.prod_account, read.forge) == (
        "aws",
        "123456789012",
        "123456789012",
        "github",
    )
    stated |= {"cloud": "Google Cloud", "account": "shop-dev-123456"}
    read = questions.answers({**asked, **stated}, {"folder": "shop"}, ask=None)
    assert (read.cloud, read.account) == ("gcp", "shop-dev-123456")


def test_an_account_is_named_while_its_cloud_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "shop"), "--no-input"]) == 64
    assert "--account is missing: account of the cloud" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "value", "told"),
    [
        ("--cloud", "gsp", "must be one of aws, gcp, azure, got 'gsp'"),
        ("--account", "12345", "AWS account ids of twelve digits"),
        ("--region", "us-east-9", "did you mean us-east-2"),
        ("--region", "frankfurt", "write --region eu-central-1"),
        ("--region", "AWS/us-east-1", "write --region us-east-1"),
        ("--region", "US East (N. Virginia)", "write --region us-east-1"),
        ("--region", "us-central1-a", "write --cloud gcp --region us-central1, or"),
        ("--region", "West Europe", "write --cloud azure --region westeurope, or"),
        ("--region", "aws", "it has af-south-1"),
        ("--owner", "two words", "@acme/ml-platform"),
        ("--access", "0.0.0.0/0", "wider than /16"),
        ("--access", "dns", "EKS"),
        ("--notify", "nobody", "an e-mail address"),
        ("--forge", "bitbucket", "github, gitlab, none"),
        ("--name", "Shop!", "must be 2 to 40 of a-z"),
    ],
)
def test_a_wrong_answer_says_what_is_allowed(
    flag: str, value: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "shop"), *flags(), flag, value]) == 64
    message = capsys.readouterr().err
    assert f"{flag} " in message
    assert told in message
    assert not (tmp_path / "shop").exists()


def test_a_person_is_asked_until_the_answer_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["gsp", "gcp", "shop-dev-123456", "", "", "@jane", "", "", "ml@example.com", "none"]
    terminal = io.StringIO("".join(f"{line}\n" for line in typed))
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["init", str(tmp_path / "shop"), "--offline", "--on", ON.isoformat()]) == 0
    asked = capsys.readouterr().err
    assert "--cloud must be one of aws, gcp, azure, got 'gsp'" in asked
    assert "region [us-central1]: " in asked
    config = yaml.safe_load((tmp_path / "shop/stacks/config/Pulumi.prod.yaml").read_text())["config"]
    assert config["sizewell:accounts"] == ["shop-dev-123456"]
    assert config["sizewell:access"] == "dns"
    teardown = read_config(tmp_path / "shop")
    assert teardown.journal == "gs://shop-teardown/records"
    assert not teardown.acts("dev", "empty")
    assert not teardown.acts("prod", "destroy")
    terminal = io.StringIO("aws\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["init", str(tmp_path / "other")]) == 64  # the terminal was closed
    assert not (tmp_path / "other").exists()


def test_what_stands_there_is_kept_and_what_is_missing_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = {"README.md": "mine\n", "stacks/specs/dev/own.yaml": own_spec(), ".gitignore": "", "notes.txt": "x"}
    for path, text in mine.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy/config.yaml").symlink_to("elsewhere.yaml")  # dangling: still a person's
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--name", "shop", *flags()]) == 0, capsys.readouterr().err
    told = capsys.readouterr()
    for path, text in mine.items():
        assert (tmp_path / path).read_text() == text
    assert (tmp_path / "policy/config.yaml").is_symlink()
    assert not (tmp_path / "policy/elsewhere.yaml").exists()
    assert not (tmp_path / "stacks/specs/dev/notebook.yaml").exists()
    assert told.out.count("kept") == 1
    (tmp_path / "stacks/config/Pulumi.dev.yaml").write_text(
        (tmp_path / "stacks/config/Pulumi.dev.yaml").read_text() + "  sizewell:zones: [us-east-1a]\n"
    )
    before = content(tmp_path)
    assert main(["init", "--offline"]) == 0  # no flag: the files say everything
    assert content(tmp_path) == before
    assert "exist already; nothing was written" in capsys.readouterr().out


def test_a_spec_that_was_cut_off_is_named_and_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "shop"), *flags()]) == 0
    spec = tmp_path / "shop/stacks/specs/dev/notebook.yaml"
    whole = spec.read_text()
    spec.write_text(whole[:60])
    assert main(["init", str(tmp_path / "shop"), "--offline", "--no-input"]) == 64
    assert "stacks/specs/dev/notebook.yaml states no name and kind" in capsys.readouterr().err
    spec.unlink()
    assert main(["init", str(tmp_path / "shop"), "--offline", "--no-input"]) == 0  # what is complete has the answers
    assert spec.read_text() == whole


def test_a_readme_of_its_own_is_not_said_to_explain_the_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("Our shop.\n")
    assert main(["init", str(tmp_path), "--name", "shop", *flags()]) == 0
    told = capsys.readouterr().out
    assert "kept 1 existing file: README.md" in told
    assert "README.md says" not in told


def test_the_same_flags_again_contradict_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An owner without @ is written with one among the code owners."""
    again = ["init", str(tmp_path / "shop"), *flags(), "--owner", "ml"]
    assert main(again) == 0
    assert main(again) == 0, capsys.readouterr().err


def test_a_flag_that_contradicts_the_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "shop"
    assert main(["init", str(folder), *flags()]) == 0
    before = content(folder)
    assert main(["init", str(folder), "--account", "999999999999", "--offline"]) == 64
    assert "--account 999999999999: the files here say 123456789012" in capsys.readouterr().err
    assert content(folder) == before


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("Pulumi.yaml", "name: x\nruntime: nodejs\n", "belongs to another project: runtime is 'nodejs'"),
        ("Pulumi.yaml", "x\n", "it states no runtime"),
        ("Pulumi.yaml", "name: x\nruntime: python\n", "belongs to another project: main is '.'"),
        ("Pulumi.yaml", "name: [", "Pulumi.yaml:1:8: is not valid YAML"),
        ("Pulumi.yaml", "name: x\n<<<<<<< HEAD\nruntime: [\n", "Pulumi.yaml:2:1: has a merge conflict"),
        ("stacks/config/Pulumi.dev.yaml", "<<<<<<< HEAD\n=: [", "Pulumi.dev.yaml:1:1: has a merge conflict"),
        ("stacks", "a file", "is a file where the project needs a folder"),
        (
            "stacks/specs/dev/notebook.yaml",
            "# A notebook with one",
            "notebook.yaml states no name and kind: it was cut",
        ),
    ],
)
def test_a_folder_that_cannot_take_the_project(
    name: str, text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert main(["init", str(tmp_path), "--name", "shop", *flags()]) == 64
    message = capsys.readouterr().err
    assert told in message
    assert message.count("fix:") == 1
    assert content(tmp_path) == {name: text.encode()}


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_killed_anywhere_nothing_is_half_written_and_the_next_run_goes_on(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaffold, "_decided", remembered(scaffold._decided))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # of use when the power fails; slow
    whole = tmp_path / "whole" / "shop"
    assert main(["init", str(whole), *flags()]) == 0
    expected = content(whole)
    kills = 0
    for events in itertools.count(1, step):
        folder = tmp_path / str(events) / "shop"
        if _killed_after(events, folder) == 0:
            break
        kills += 1
        left = content(folder) if folder.exists() else {}
        placed = {path: text for path, text in left.items() if not path.startswith(".sizewell/")}
        assert placed == {path: expected[path] for path in placed}, f"killed before event {events}"
        assert "Pulumi.yaml" not in placed or placed == expected
        assert main(["init", str(folder), *flags()]) == 0, capsys.readouterr().err
        assert content(folder) == expected
        assert not (folder / ".sizewell").exists()
    print(f"killed at {kills} points")
    assert kills > 60 / step, f"killed at {kills} points only"


def remembered(decided: Callable[..., str]) -> Callable[..., str]:
    @functools.cache
    def by_items(stack: str, specs: tuple[tuple[str, str], ...], answers: questions.Answers, on: date) -> str:
        return decided(stack, dict(specs), answers, on)

    return lambda stack, specs, answers, on: by_items(stack, tuple(sorted(specs.items())), answers, on)


def _killed_after(events: int, folder: Path) -> int:
    """Run init in a child that kills itself before its n-th touch of the folder; 0 where it came to its end."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        touched = itertools.count(1)

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            kinds = ("open", "os.", "shutil.", "tempfile.")
            if event.startswith(kinds) and str(folder) in str(arguments) and next(touched) == events:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        os._exit(main(["init", str(folder), *flags()]))
    return os.waitpid(child, 0)[1]


def test_without_a_network_it_says_so_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> None:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", refused)
    for name, value in {"ACCESS_KEY_ID": "A", "SECRET_ACCESS_KEY": "B", "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    given = [word for word in flags() if word != "--offline"]
    assert main(["init", str(tmp_path / "shop"), *given]) == 0
    told = capsys.readouterr()
    assert (tmp_path / "shop/Pulumi.yaml").exists()
    assert "the account could not be reached: " in told.err
    assert "sizewell doctor dev --cloud" in told.err


def test_an_account_that_answers_and_one_that_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from sizewell.clouds import aws

    caller = {"Account": "123456789012", "Arn": "arn:aws:iam::123456789012:user/jane"}
    monkeypatch.setattr(aws.Aws, "call", lambda *_, **__: caller)
    answers = questions.answers(
        {
            "name": "shop",
            "cloud": "aws",
            "account": "123456789012",
            "owner": "@a/b",
            "notify": "a@b.co",
            "forge": "none",
        },
        {},
        ask=None,
    )
    assert init._unreachable(answers) == ""
    caller["Account"] = "999999999999"
    assert "the stack is limited to 123456789012" in init._unreachable(answers)


@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_in_a_folder_of_a_repository_the_files_of_the_forge_stand_where_it_reads_them(
    forge: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "services/gpu"
    assert main(["init", str(folder), *flags(forge=forge)]) == 0
    told = capsys.readouterr()
    assert not any(path.name in (".github", ".gitlab", ".gitlab-ci.yml") for path in folder.iterdir())
    owners = (tmp_path / f".{forge}/CODEOWNERS").read_text()
    assert "\n/services/gpu/stacks/ @acme/ml-platform\n" in owners
    if forge == "github":
        for name in ("preview", "versions"):
            path = tmp_path / f".github/workflows/services-gpu-{name}.yml"
            assert f"\n/{path.relative_to(tmp_path)} @acme" in owners
            assert f"wrote {path}" in told.out
            whole = yaml.safe_load(path.read_text())
            assert whole["defaults"] == {"run": {"working-directory": "services/gpu"}}
        assert "lacks" not in told.err
    else:
        jobs = yaml.safe_load((tmp_path / ".gitlab/sizewell-services-gpu.gitlab-ci.yml").read_text())
        assert set(jobs) == {"cost-preview-services-gpu", "versions-services-gpu"}
        assert all("\ncd services/gpu\n" in job["script"][0] for job in jobs.values())
        assert "include: [{local: .gitlab/sizewell-services-gpu.gitlab-ci.yml}]" in told.err
    before = content(tmp_path)
    assert main(["init", str(folder), "--offline", "--no-input"]) == 0, capsys.readouterr().err
    assert content(tmp_path) == before


ODD = ("KI Dienste/Projekt ü", "it's $HOME; [x] #1!", "-rf", "v1..2.lock", "true", "!!!")


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("forge", ["github", "gitlab"])
def test_the_files_of_a_forge_hold_for_any_name_of_a_folder(
    forge: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    folder = tmp_path / name
    given = [f"./{os.path.relpath(folder)}", "--name", "shop", *flags(forge=forge)]
    assert main(["init", *given]) == 0
    assert "include: [{local: .gitlab/sizewell-" in (told := capsys.readouterr()).err or forge == "github"
    documents = [yaml.safe_load(path.read_text()) for path in (tmp_path / f".{forge}").rglob("*.yml")]
    jobs = [job for each in documents for job in each.get("jobs", each).values()]
    scripts = [line for job in jobs for line in job.get("script", [])]
    scripts += [step["run"] for job in jobs for step in job.get("steps", []) if "run" in step]
    branches = {word for script in scripts for word in re.findall(r"sizewell-versions\S*", script)}
    assert len(branches) == 1
    for branch in branches:
        assert shlex.split(branch) == [branch]
        subprocess.run(["git", "check-ref-format", "--branch", branch], check=True, stdout=subprocess.DEVNULL)
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script.encode(), check=True)
        for line in filter(lambda line: line.startswith("cd "), script.splitlines()):
            _, entered = shlex.split(line)
            assert (tmp_path / entered).resolve() == folder.resolve()
            assert not entered.startswith("-")
    if forge == "github":
        assert [each["defaults"]["run"]["working-directory"] for each in documents] == [name, name]
        [paths] = [on["pull_request"]["paths"] for each in documents if "pull_request" in (on := each[True])]
        assert [re.sub(r"\\(.)", r"\1", path) for path in paths] == [f"{name}/**"]
    owners = (tmp_path / f".{forge}/CODEOWNERS").read_text().splitlines()
    (tmp_path / ".gitignore").write_text("".join(f"{line.rpartition(' ')[0]}\n" for line in owners if line[0] == "/"))
    for path in ("stacks/config/teardown.yaml", "policy/config.yaml", "requirements.txt"):  # by the same patterns
        asked = ["git", "-C", tmp_path, "check-ignore", "--quiet", "--no-index", f"./{name}/{path}"]
        assert subprocess.run(asked, check=False).returncode == 0, path
    (tmp_path / ".gitignore").unlink()
    before = content(tmp_path)
    assert main(["init", *given]) == 0
    assert "names nobody" not in capsys.readouterr().err + told.err
    assert content(tmp_path) == before


def test_folders_that_differ_in_a_blank_alone_share_no_job(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("AI Shop", "AI-Shop"):
        assert main(["init", str(tmp_path / name), "--name", "shop", *flags()]) == 0
    assert len([*(tmp_path / ".github/workflows").iterdir()]) == 4


def test_a_folder_that_no_forge_can_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    assert main(["init", str(tmp_path / "a\nb"), "--name", "shop", *flags()]) == 64
    assert "no file of a forge can name" in capsys.readouterr().err
    assert content(tmp_path) == {}


def test_doctor_names_a_workflow_that_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gpu"
    assert main(["init", str(folder), *flags()]) == 0  # before it became a part of a repository
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert main(["doctor", "--json", "--on", ON.isoformat()]) == 64
    [found] = [each for each in json.loads(capsys.readouterr().out) if each["about"] == "pull requests"]
    assert ".github/workflows/preview.yml" in found["detail"]
    assert main(["init", "--forge", "github", "--offline", "--no-input"]) == 0, capsys.readouterr().err
    assert (tmp_path / ".github/workflows/gpu-preview.yml").exists()
    shutil.rmtree(folder / ".github")
    capsys.readouterr()
    main(["doctor", "--json", "--on", ON.isoformat()])
    assert "pull requests" not in capsys.readouterr().out


def test_a_second_project_of_a_repository_has_its_own_jobs(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("one", "two"):
        assert main(["init", str(tmp_path / name), *flags()]) == 0
    names = sorted(path.name for path in (tmp_path / ".github/workflows").iterdir())
    assert names == ["one-preview.yml", "one-versions.yml", "two-preview.yml", "two-versions.yml"]
    groups = [
        yaml.safe_load((tmp_path / f".github/workflows/{name}").read_text())["concurrency"]["group"] for name in names
    ]
    assert len({*groups}) == 4


@pytest.mark.parametrize("place", ["CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS"])
def test_what_kept_files_lack_is_said_with_the_lines(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("* @acme/everyone\n")
    (tmp_path / "requirements.txt").write_text("numpy\n")
    (tmp_path / ".github/workflows").mkdir(parents=True, exist_ok=True)
    (tmp_path / ".github/workflows/preview.yml").write_text("on: push\n")
    assert main(["init", str(tmp_path), "--name", "shop", *flags()]) == 0
    told = capsys.readouterr().err
    assert "requirements.txt does not name sizewell, so .venv has none\n  fix: add the line: sizewell" in told
    assert "names nobody for what costs money\n  fix: add the lines:\n    /stacks/ @acme/ml-platform" in told
    assert "is another workflow" in told
    assert [path for path in ("CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS") if (tmp_path / path).exists()] == [
        place
    ]


def test_a_pipeline_of_others_is_kept_and_told_to_include_the_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text("test: {script: [make]}\n")
    assert main(["init", str(tmp_path), "--name", "shop", *flags(forge="gitlab")]) == 0
    assert "cost-preview" in yaml.safe_load((tmp_path / ".gitlab/sizewell.gitlab-ci.yml").read_text())
    assert "include: [{local: .gitlab/sizewell.gitlab-ci.yml}]" in capsys.readouterr().err


@pytest.mark.scan
def test_the_workflow_for_github_is_sound(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "shop"), *flags()]) == 0
    tool = ROOT / ".venv-checkov/bin/zizmor"
    workflows = tmp_path / "shop/.github/workflows"
    done = subprocess.run([tool, "--offline", "--no-progress", workflows], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    jobs = {name: yaml.safe_load((workflows / f"{name}.yml").read_text())["jobs"] for name in ("preview", "versions")}
    steps = [step for name, job in jobs.items() for step in job[name]["steps"]]
    assert main(["init", str(tmp_path / "lab"), *flags(forge="gitlab")]) == 0
    lab = yaml.safe_load((tmp_path / "lab/.gitlab-ci.yml").read_text())
    texts = [step["run"] for step in steps if "run" in step]
    texts += [text for job in ("cost-preview", "versions") for text in lab[job]["script"]]
    assert len(texts) == 10
    checker = Path(sys.executable).parent / "shellcheck"
    for text in texts:
        done = subprocess.run([checker, "--shell=bash", "-"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    digests = [step["uses"] for step in steps if "uses" in step]
    assert all(f"uses: {uses}" in "".join((ROOT / name).read_text() for name in PINNED) for uses in digests)


PINNED = ("action.yml", ".github/workflows/preview.yml", "examples/workflows/prices.yml")


@pytest.mark.parametrize("cloud", ["aws", "gcp", "azure"])
def test_versions_are_asked_for_every_week_by_the_cloud_s_own_login(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["init", str(tmp_path / "shop"), *flags(cloud)]) == 0
    whole = yaml.safe_load((tmp_path / "shop/.github/workflows/versions.yml").read_text())
    assert whole[True]["schedule"]  # YAML reads the key `on` as true
    job = whole["jobs"]["versions"]
    assert job["if"] == "vars.SIZEWELL_VERSIONS_LOGIN != ''"
    login = job["steps"][3]
    assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", login["uses"])
    assert "${{ vars.SIZEWELL_VERSIONS_LOGIN }}" in login["with"].values()
    (line,) = [step["run"] for step in job["steps"] if "ages refresh" in step.get("run", "")]
    words = re.search(r"sizewell (ages refresh .*?) >", line)[1].split()
    asked: list[object] = []
    monkeypatch.setattr("sizewell.clouds.clients.CLIENTS", {cloud: lambda _: None})
    monkeypatch.setattr(ages, "listed_by", lambda *told, **named: asked.append((told[0], named)) or [])
    monkeypatch.setattr(ages, "images_by", lambda *_, **__: [])
    assert main([*words, "--dry-run"]) == 0
    ((named, place),) = asked
    assert (named, bool(place["account"])) == (cloud, cloud != "aws")
    assert main(["init", str(tmp_path / "lab"), *flags(cloud, "gitlab")]) == 0
    assert " ".join(words) in (tmp_path / "lab/.gitlab-ci.yml").read_text()


@pytest.mark.parametrize(
    ("direct", "line"),
    [
        ("", "sizewell[gcp]==0.1.0"),
        ('{"url": "https://example.com/s.git", "vcs_info": {"vcs": "git", "commit_id": "abc123", "requested_revision": "v0.1.0"}}',
         "sizewell[gcp] @ git+https://example.com/s.git@abc123"),
        ('{"url": "https://example.com/s.git", "subdirectory": "py", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
         "sizewell[gcp] @ git+https://example.com/s.git@abc#subdirectory=py"),
        ('{"url": "file:///w/sizewell-0.1.0-py3-none-any.whl", "archive_info": {"hashes": {"sha256": "ab"}}}',
         "sizewell[gcp] @ file:///w/sizewell-0.1.0-py3-none-any.whl#sha256=ab"),
        ('{"url": "file:///src", "dir_info": {"editable": true}}', "sizewell[gcp] @ file:///src"),
    ],
)  # fmt: skip
def test_the_requirement_is_what_is_installed(direct: str, line: str) -> None:
    class Distribution:
        version = "0.1.0"

        def read_text(self, name: str) -> str | None:
            return direct or None

    assert source.requirement("gcp", installed=Distribution()) == line
    assert Requirement(line).name == "sizewell"


def test_the_project_s_own_version_evaluates(tmp_path: Path) -> None:
    """Whatever `sizewell` is typed: a tool installed for itself becomes the one in the project's environment."""
    own = tmp_path / ".venv/bin/sizewell"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\necho "own: $*"\n')
    own.chmod(0o755)
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime:\n  name: python\n  options:\n    virtualenv: .venv\n")
    (tmp_path / "stacks").mkdir()

    def typed(words: str) -> str:
        code = "from sizewell.cli.main import command; command()"
        line = [sys.executable, "-c", code, *shlex.split(words)]
        return subprocess.run(line, cwd=tmp_path / "stacks", capture_output=True, text=True, check=False).stdout

    assert typed("preview dev --format json") == "own: preview dev --format json\n"
    assert typed("--version").startswith("sizewell ")
    own.unlink()
    assert not typed("size --check").startswith("own")


@pytest.mark.parametrize(
    ("requirements", "installed", "state", "told"),
    [
        ("sizewell[aws]==0.2.0\n", "0.2.0", "note", "which evaluates this project; this command is version 0.1.0"),
        ("sizewell[aws]==0.2.0\n", "0.1.0", "wrong", ".venv has 0.1.0, and requirements.txt asks for 0.2.0"),
        ("sizewell[aws] @ file:///w/sizewell-0.3.0-py3-none-any.whl\n", "0.1.0", "wrong", "asks for 0.3.0"),
        ("sizewell[aws]==0.1.0\n", "0.1.0", "ok", "0.1.0 in .venv"),
        ("sizewell[aws]==0.1.0\n", "", "note", ".venv has none"),
    ],
)
def test_doctor_says_when_versions_differ(
    requirements: str, installed: str, state: str, told: str, *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sizewell.cli import doctor

    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    (tmp_path / "requirements.txt").write_text(requirements)
    if installed:
        metadata = tmp_path / f".venv/lib/python3.12/site-packages/sizewell-{installed}.dist-info/METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"Metadata-Version: 2.1\nName: sizewell\nVersion: {installed}\n")
    monkeypatch.chdir(tmp_path)
    (finding,) = doctor._pinned()
    assert (finding.state, told in finding.detail) == (state, True), finding
    assert environment.of(tmp_path) == tmp_path / ".venv"


def test_the_engine_finds_the_pin(tmp_path: Path) -> None:
    """By the engine's own rules, as they stand in the Python host's sources (sdk/python/toolchain/pip.go of Pulumi).

    `resolveVirtualEnvironmentPath` takes `virtualenv` from the project's root; `InstallDependencies` runs pip on
    requirements.txt in the program's folder, from there, and on nothing where that folder has none.
    tests/engine/test_init.py asks the engine itself.
    """
    shop = tmp_path / "shop"
    assert main(["init", str(shop), *flags()]) == 0
    (shop / "requirements.txt").write_text("sizewell[aws]==0.1.0\n")
    project = yaml.safe_load((shop / "Pulumi.yaml").read_text())
    assert shop / project["runtime"]["options"]["virtualenv"] == environment.of(shop)
    shelf = wheels.shelf(tmp_path / "shelf", {"sizewell": "0.1.0"})
    words = ["install", "--dry-run", "--ignore-installed", "--no-index", "--find-links", str(shelf)]
    line = [sys.executable, "-m", "pip", *words, "-r", "requirements.txt"]
    done = subprocess.run(line, cwd=shop / project["main"], capture_output=True, text=True, check=False)
    assert "Would install sizewell-0.1.0" in done.stdout, done.stdout + done.stderr


def test_doctor_names_the_file_that_older_projects_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sizewell.cli import doctor

    assert main(["init", str(tmp_path / "shop"), *flags()]) == 0
    monkeypatch.chdir(tmp_path / "shop")
    before = [(finding.state, finding.fix) for finding in doctor._pinned()]
    Path("stacks/requirements.txt").unlink()
    missing, *after = doctor._pinned()
    assert [(finding.state, finding.fix) for finding in after] == before
    assert "reads stacks/requirements.txt, which is missing" in missing.detail
    command, then, install = missing.fix.removeprefix("run: ").partition(" && ")
    assert (then, install) == (" && ", "pulumi install")
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert Path("stacks/requirements.txt").read_text() == "-r ../requirements.txt\n"
    assert [(finding.state, finding.fix) for finding in doctor._pinned()] == before


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    """Between looking and writing: its place is taken by a link, which fails where something stands."""
    (tmp_path / "taken.txt").write_text("mine")
    assert scaffold.write(tmp_path, {"taken.txt": "template", "free.txt": "template"}) == ["free.txt"]
    assert content(tmp_path) == {"taken.txt": b"mine", "free.txt": b"template"}


def test_a_file_in_the_place_of_a_folder_is_named_before_answers_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks/config").touch()
    assert main(["init", str(tmp_path), "--no-input"]) == 64
    message = capsys.readouterr().err
    assert "stacks/config is a file where the project needs a folder" in message
    assert "is missing" not in message
