"""`sizewell doctor`: each thing that can be out of order is found, named and given a way out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sizewell.cli import doctor
from sizewell.cli.ages import file_of
from sizewell.preview.reasons import ages_of
from sizewell.recording.evaluate import evaluate
from sizewell.resources.recorded import Plan
from sizewell.sizing.catalog import lifetimes, load

from .conftest import CHAT, Sizewell

ON = ("--on", "2026-09-20")


def findings(sizewell: Sizewell) -> dict[str, dict[str, Any]]:
    return {row["about"]: row for row in json.loads(sizewell("doctor", "--json", *ON).out)}


@pytest.fixture
def decided(decide: Callable[[], Path]) -> Path:
    return decide()


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_in_order(decided: Path, sizewell: Sizewell) -> None:
    done = sizewell("doctor", *ON)
    assert done.code == 0
    assert "everything is in order" in done.out
    rows = findings(sizewell)
    assert rows["stack dev-aws"]["state"] == "ok"
    assert "1 workload, up to" in rows["stack dev-aws"]["detail"]
    assert "machine types" in rows["catalog"]["detail"]
    assert "numpy" in rows["packages"]["detail"]


def test_edited_decision(decided: Path, sizewell: Sizewell) -> None:
    decided.write_text(decided.read_text().replace('"search"', '"somebody"'))
    row = findings(sizewell)["stack dev-aws"]
    assert (row["state"], row["code"]) == ("wrong", 4)
    assert "edited by hand" in row["detail"]
    assert row["fix"] == "run: sizewell size --stack dev-aws, and commit the file"
    done = sizewell("doctor", *ON)
    assert done.code == 4
    assert "1 of" in done.out


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda specs: (specs / "chat.yaml").write_text(CHAT.replace("rps: 4", "rps: 5")), "chat changed"),
        (lambda specs: (specs / "b.yaml").write_text(CHAT.replace("name: chat", "name: b")), "b new"),
        (lambda specs: (specs / "chat.yaml").write_text(CHAT.replace("name: chat", "name: c")), "c new; chat gone"),
        (lambda specs: (specs / "chat.yaml").write_text("name: [\n"), "chat.yaml"),
    ],
    ids=["changed", "new", "renamed", "broken"],
)
def test_specs_moved_on(change: Any, detail: str, decided: Path, sizewell: Sizewell) -> None:
    change(decided.parents[1] / "specs/dev-aws")
    row = findings(sizewell)["stack dev-aws"]
    assert (row["state"], row["code"]) == ("wrong", 4)
    assert detail in row["detail"]


def test_broken_decision_and_configuration(decided: Path, sizewell: Sizewell) -> None:
    decided.write_text("{}")
    (decided.parents[1] / "config/Pulumi.dev-aws.yaml").write_text("config: [\n")
    (decided.parents[2] / "requirements.txt").write_text("sizewell\n<<<<<<< HEAD\n")
    rows = findings(sizewell)
    assert rows["stack dev-aws"]["code"] == 4
    assert rows["configuration"]["code"] == 64
    assert rows["configuration"]["detail"] == "requirements.txt:2: has a merge conflict"  # the last of the two
    assert sizewell("doctor", *ON).code == 64


def test_specs_without_decision_and_no_project(project: Path, tmp_path: Path, sizewell: Sizewell) -> None:
    row = findings(sizewell)["stack dev-aws"]
    assert (row["state"], row["code"]) == ("wrong", 4)  # as preview and policy answer
    (project / "stacks/config/Pulumi.dev-aws.yaml").unlink()
    row = findings(sizewell)["specs"]
    assert (row["state"], row["fix"]) == ("note", "run: sizewell size --stack dev-aws")
    os.chdir("/")
    assert findings(sizewell)["project"]["state"] == "note"


def test_engine(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizewell: Sizewell) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    row = findings(sizewell)["pulumi engine"]
    assert (row["state"], row["code"]) == ("note", 0)
    assert "Pulumi's own installer" in row["fix"]

    program(tools, "pulumi", "echo v3.200.0")
    rows = findings(sizewell)
    assert rows["pulumi engine"]["state"] == "ok"
    assert (rows["python language host"]["state"], rows["python language host"]["code"]) == ("wrong", 69)

    program(tools, "pulumi-language-python", "exit 0")
    assert findings(sizewell)["python language host"]["state"] == "ok"

    program(tools, "pulumi", "echo v2.9.0")
    assert "major versions differ" in findings(sizewell)["pulumi engine"]["detail"]

    program(tools, "pulumi", "echo broken; exit 1")
    assert findings(sizewell)["pulumi engine"]["code"] == 69


@pytest.fixture
def on_eks(project: Path, sizewell: Sizewell) -> Path:
    """A decision with an EKS cluster; returns its configuration file."""
    spec = project / "stacks/specs/dev-aws/chat.yaml"
    spec.write_text(CHAT + "scheduler: kubernetes\n")
    assert sizewell("size", "--stack", "dev-aws", *ON).code == 0
    return project / "stacks/config/Pulumi.dev-aws.yaml"


@pytest.mark.parametrize(
    ("access", "network", "runner", "detail"),
    [
        ("", "", "", "is missing: the EKS API is private"),
        ("dns", "", "", "is dns, which EKS does not have"),
        ("{public: [0.0.0.0/0]}", "", "", "wider than /16"),
        ("{private: [10.9.0.0/24]}", "", "", "no runner can be in it"),
        ("{private: [10.9.0.0/24]}", "{vpc_id: vpc-1}", "github-hosted", "this is a hosted runner"),
        ("{private: [10.9.0.0/24]}", "{vpc_id: vpc-1}", "self-hosted", ""),
        ("{public: [203.0.113.0/28]}", "", "github-hosted", ""),
    ],
)
def test_a_cluster_that_nobody_here_reaches(  # noqa: PLR0917
    access: str,
    network: str,
    runner: str,
    detail: str,
    on_eks: Path,
    sizewell: Sizewell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RUNNER_ENVIRONMENT", runner)
    lines = [f"  sizewell:{key}: {value}" for key, value in (("access", access), ("network", network)) if value]
    on_eks.write_text("config:\n" + "\n".join(["  sizewell:organization: acme", *lines]) + "\n")
    rows = [row for row in json.loads(sizewell("doctor", "--json", *ON).out) if row["about"] == "stack dev-aws"]
    wrong = [row for row in rows if row["state"] == "wrong"]
    assert [detail in row["detail"] for row in wrong] == ([True] if detail else [])
    assert sizewell("doctor", *ON).code == (64 if detail else 0)
    assert all(row["fix"] for row in wrong)


@pytest.mark.parametrize(
    ("name", "text", "told", "fix"),
    [
        ("stacks/specs/dev-aws/chat.yaml", f"schema: sizewell.spec/9{CHAT}", "sizewell.spec/9", "upgrade Sizewell"),
        ("stacks/specs/dev-aws/chat.yaml", f"{CHAT}gpus: 3\n", "gpus", ""),
        ("policy/config.yaml", "schema: sizewell.policy/9\nprofile: strict\n", "sizewell.policy/9", "upgrade Sizewell"),
        ("policy/config.yaml", "levels: {idle-exposur: mandatory}\n", "idle-exposur", ""),
        ("stacks/config/guardrails.yaml", "schema: sizewell.guardrails/9\n", "sizewell.guardrails/9", "upgrade"),
        ("stacks/config/teardown.yaml", "journal: s3://a/b\n", "schema", "write it again with this release"),
        ("catalog/rates.yaml", "schema: sizewell.rates/9\n", "sizewell.rates/9", "upgrade Sizewell"),
        ("usage.yaml", "schema: sizewell.usage/9\nusage: []\n", "sizewell.usage/9", "upgrade Sizewell"),
        ("stacks/config/Pulumi.dev-aws.yaml", ("config: " "{sizewell:account: ['1']}\n"), "sizewell:account is", "sizewell:accounts"),
        ("stacks/__main__.py", ("from stacks import " "run\nrun()\n"), "does not call stacks.run()", "from sizewell import stacks"),
        ("policy/PulumiPolicy.yaml", "runtime: python\n", "another version", "sizewell policy --pack policy"),
    ],
)  # fmt: skip
def test_an_old_project_is_told_what_to_change(
    decided: Path, sizewell: Sizewell, name: str, text: str, told: str, *, fix: str
) -> None:
    root = decided.parents[2]
    assert name not in findings(sizewell), "said of a project that is in order"
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(text)
    row = findings(sizewell)[name]
    assert row["state"] == ("note" if name == "policy/PulumiPolicy.yaml" else "wrong")
    assert told in row["detail"]
    assert fix in row["fix"]
    assert row["fix"]


def test_the_stack_files_of_a_program_of_its_own_are_counted(
    tmp_path: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Pulumi.yaml").write_text("name: own\nruntime: python\n", encoding="utf-8")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n", encoding="utf-8")
    (tmp_path / "__main__.py").write_text("", encoding="utf-8")
    assert "1 stack file" in findings(sizewell)["configuration"]["detail"]


def test_policies_without_their_configuration_are_noted(decided: Path, sizewell: Sizewell) -> None:
    root = decided.parents[2]
    assert sizewell("policy", "--pack", str(root / "policy")).code == 0
    (root / "policy/config.yaml").unlink(missing_ok=True)
    row = findings(sizewell)["policy/config.yaml"]
    assert (row["state"], row["fix"]) == ("note", "restore it from git, or run: sizewell init")
    assert "without your levels and waivers" in row["detail"]


def test_a_key_that_only_another_version_knows_is_said(decided: Path, sizewell: Sizewell) -> None:
    data = json.loads(decided.read_text())
    decided.write_text(json.dumps({**data, "ranking": 1}))
    assert "ranking: is an unknown key: another version" in findings(sizewell)["stack dev-aws"]["detail"]


def test_with_cloud_too_a_hosted_runner_is_refused_at_a_private_cluster(
    on_eks: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "github-hosted")
    bare = Plan(project="x", stack="dev-aws", resources=())
    monkeypatch.setattr("sizewell.recording.evaluate.evaluate", lambda *_: bare)
    monkeypatch.setattr("sizewell.clouds.preflight.run.preflight", lambda *_, **__: [])
    monkeypatch.setattr("sizewell.clouds.stock.asking.stock", lambda *_, **__: [])
    on_eks.write_text("config:\n  sizewell:access: {private: [10.9.0.0/24]}\n  sizewell:network: {vpc_id: vpc-1}\n")
    done = sizewell("doctor", "dev-aws", "--cloud", "--json")
    (row,) = json.loads(done.out)
    assert done.code == 64
    assert "this is a hosted runner" in row["detail"]
    assert "self-hosted" in row["fix"]


def test_a_cluster_whose_version_ends_is_told_with_the_line_that_mends_it(on_eks: Path, sizewell: Sizewell) -> None:
    on_eks.write_text("config:\n  sizewell:kubernetesVersion: '1.34'\n")
    found = [
        row
        for row in json.loads(sizewell("doctor", "--json", "--on", "2026-11-26").out)
        if "Kubernetes 1.34" in row["detail"]
    ]
    assert [row["state"] for row in found] == ["note"]
    assert "support ends in 6 days, on 2026-12-02" in found[0]["detail"]
    assert found[0]["fix"] == "pulumi config set -s dev-aws sizewell:kubernetesVersion 1.35, then pulumi up"
    done = sizewell("doctor", "--json", "--on", "2026-12-03")
    (row,) = [row for row in json.loads(done.out) if "Kubernetes 1.34" in row["detail"]]
    assert (row["state"], done.code) == ("wrong", 64)


def test_an_old_table_of_versions_and_a_clock_behind_it_are_told(project: Path, sizewell: Sizewell) -> None:
    def told(on: str) -> str:
        return next(
            row["detail"]
            for row in json.loads(sizewell("doctor", "--json", "--on", on).out)
            if row["about"] == "versions"
        )

    assert "last checked on 2026-11-26" in told("2027-06-01")
    assert "the clock says 2026-01-01" in told("2026-01-01")


def test_what_the_preview_calls_old_or_unfit_doctor_calls_so(project: Path, sizewell: Sizewell) -> None:
    """Both read what the stack builds, and not its decision alone."""
    specs = project / "stacks/specs/staging-azure"
    specs.mkdir(parents=True)
    spec = CHAT.replace("infra: [aws/us-east-1]", "infra: [azure]\nscheduler: kubernetes")
    (specs / "chat.yaml").write_text(spec)
    program = "import pulumi_azure_native as azure\nfrom sizewell.stacks import run\n\nrun()\n"
    program += 'azure.storage.StorageAccount("own", account_name="My-Own", resource_group_name="g", kind="StorageV2",'
    program += ' sku={"name": "Standard_LRS"})\n'
    (project / "stacks/__main__.py").write_text(program)
    done = sizewell("size", "--stack", "staging-azure", "--on", "2026-11-26")
    assert done.code == 0, done.err
    aging = [row for row in lifetimes.load().releases if row.kind in ("chart", "image")]
    own = project / "catalog/ages/releases.csv"
    own.parent.mkdir(parents=True)
    own.write_text(file_of(own, lifetimes.Release, [replace(row, supported_until="2027-07-01") for row in aging]))
    on = date(2027, 6, 20)
    previewed = {age.detail for age in ages_of(evaluate(project, "staging-azure"), load(), on, sized=True)}
    assert any("Kubernetes 1.36 on aks" in detail for detail in previewed)
    assert any(detail.startswith(("chart ", "image ")) for detail in previewed), previewed
    assert any("accountName 'My-Own'" in detail for detail in previewed), previewed
    shown = {row["detail"] for row in json.loads(sizewell("doctor", "--json", "--on", on.isoformat()).out)}
    assert previewed <= shown


def test_a_fix_is_printed_in_one_piece(sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a command more often than not: wrapped inside a column it cannot be copied."""
    fix = "run: " + "sizewell size --stack a-long-name " * 5
    found = [doctor.Finding("stack a", "wrong", "something", fix, 64), doctor.Finding("python", "ok", "3.11")]
    for name in ("_python", "_packages", "_catalog", "_engine", "_pinned", "_project"):
        monkeypatch.setattr(doctor, name, lambda *_: [])
    monkeypatch.setattr(doctor, "_python", lambda: found)
    done = sizewell("doctor")
    assert f"  fix: {fix.strip()}\n" in "\n".join(line.rstrip() for line in done.out.splitlines()) + "\n"


def test_a_report_for_an_issue_names_nobody(decided: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIZEWELL_JOURNAL", "s3://shop-teardown/records")
    decided.write_text(decided.read_text().replace('"search"', '"somebody"'))
    done = sizewell("doctor", "--report", *ON)
    assert done.code == 4
    assert "- **wrong** stack stack-1: the decision was edited by hand" in done.out
    assert "run: sizewell size --stack stack-1, and commit the file" in done.out
    assert "set in the environment: " in done.out
    assert "SIZEWELL_JOURNAL" in done.out
    for secret in ("dev-aws", "shop-teardown", str(decided.parents[2])):
        assert secret not in done.out
    assert sizewell("doctor", "--report", "--json").code == 64


@pytest.mark.parametrize(("version", "counted"), [("1.33", True), ("1.36", False), (None, False)])
def test_size_names_the_fee_of_extended_support_that_its_decision_does_not_count(
    on_eks: Path, sizewell: Sizewell, version: str | None, counted: bool
) -> None:
    stated = f"  sizewell:kubernetesVersion: '{version}'\n" if version else ""
    on_eks.write_text(f"config:\n  sizewell:kubernetesSupport: extended\n{stated}")
    done = sizewell("size", "--stack", "dev-aws", "--on", "2026-11-26")
    said = "is billed 438.00 USD a month in extended support, not the 73.00 of the decision"
    assert (said in done.out + done.err) is counted
    on_eks.write_text(f"config:\n{stated}" if stated else "")
    done = sizewell("size", "--stack", "dev-aws", "--on", "2026-11-26")
    assert "extended support" not in done.out + done.err
