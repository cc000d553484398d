"""`preview`, `policy` and `validate`: the command wires the rooms together; what they compute is tested with them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sizewell.accuracy.cases import CARRIED

from .conftest import CHAT, ROOT, Sizewell

ON = ("--on", "2026-09-20")


# What the machines of `chat` start: without it they would idle, and are refused.
RUNS = """config:
  sizewell:run:
    chat: {image: "123456789012.dkr.ecr.us-east-1.amazonaws.com/vllm/vllm-openai:v0.11.0", model: /models/llama-3.1-8b}
"""


@pytest.fixture
def built(project: Path, sizewell: Sizewell) -> Path:
    """The project with the real program and a decision."""
    shutil.copy(ROOT / "stacks/__main__.py", project / "stacks/__main__.py")
    (project / "stacks/config/Pulumi.dev-aws.yaml").write_text(RUNS)
    sizewell("size", "--stack", "dev-aws", *ON)
    return project


def test_preview(built: Path, sizewell: Sizewell) -> None:
    done = sizewell("preview", "dev-aws", *ON)
    assert done.code in (0, 1, 2, 3), done.err
    assert "dev-aws" in done.out
    assert "chat" in done.out
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) <= 100


def test_preview_forms_say_the_same(built: Path, sizewell: Sizewell) -> None:
    data = json.loads(sizewell("preview", "dev-aws", "--json", *ON).out)
    assert data["schema"] == "sizewell.preview/1"
    assert data["stacks"][0]["stack"] == "dev-aws"
    assert data["stacks"][0]["policies"]["passed"] > 0, "the policies were asked"
    stale = [f for f in data["stacks"][0]["policies"]["findings"] if f["policy"] == "decision-out-of-date"]
    assert stale == [], "what is built carries the digest of the committed decision"
    expected = f"{float(data['after']['usd_per_month']['expected']):,.2f}"
    out = built / "comment.md"
    done = sizewell("preview", "dev-aws", "--format", "markdown", "--output", str(out), *ON)
    assert done.out == ""
    assert expected in out.read_text()
    assert expected in sizewell("preview", "dev-aws", *ON).out


def test_preview_against_the_revision_before(built: Path, sizewell: Sizewell) -> None:
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "before"],
    ):
        subprocess.run(["git", *command], cwd=built, check=True, capture_output=True)
    more = CHAT.replace("rps: 4", "rps: 40")
    (built / "stacks/specs/dev-aws/chat.yaml").write_text(more)
    sizewell("size", "--stack", "dev-aws", *ON)
    data = json.loads(sizewell("preview", "--base", "HEAD", "--json", *ON).out)
    stack = next(stack for stack in data["stacks"] if stack["stack"] == "dev-aws")
    assert float(stack["change_usd_per_month"]) > 0
    assert float(data["before"]["usd_per_month"]["expected"]) < float(data["after"]["usd_per_month"]["expected"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("preview", "prod-mars"), "no stack 'prod-mars'"),
        (("preview", "dev-aws", "--format", "word"), "got 'word'"),
        (("preview", "dev-aws", "--usage", "nowhere.yaml"), "--usage: nowhere.yaml: no such file"),
        (("preview", "dev-aws", "--base", "main", "--base-state", "Pulumi.yaml"), "cannot be used together"),
        (("preview", "dev-aws", "--guardrails", "nowhere.yaml"), "no such file"),
        (("preview", "--plan", "nowhere.json"), "nowhere.json"),
        (("preview", "--plan", "Pulumi.yaml"), "Pulumi.yaml"),
        (("policy", "prod-mars"), "no stack 'prod-mars'\n  fix: name one of"),
        (("policy", "dev-asw"), "no stack 'dev-asw'\n  fix: did you mean dev-aws?"),
        (("policy", "dev-aws", "--config", "nowhere.yaml"), "no such file"),
        (("policy", "dev-aws", "--usage", "nowhere.yaml"), "nowhere.yaml: no such file"),
        (("validate", "nowhere"), "nowhere: no such file or folder"),
        (("validate", "Pulumi.yaml"), "Pulumi.yaml"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str, built: Path, sizewell: Sizewell) -> None:
    done = sizewell(*arguments)
    assert done.code == 64
    assert message in done.err
    assert "Traceback" not in done.err


def test_preview_without_a_decision(project: Path, sizewell: Sizewell) -> None:
    shutil.copy(ROOT / "stacks/__main__.py", project / "stacks/__main__.py")
    done = sizewell("preview", "dev-aws", *ON)
    assert done.code not in (0, 70)
    assert "sizewell size" in done.out + done.err, "the way out"


def test_policy(built: Path, sizewell: Sizewell) -> None:
    done = sizewell("policy", "dev-aws", *ON)
    report = json.loads(sizewell("policy", "dev-aws", "--json", *ON).out)["dev-aws"]
    assert report["schema"] == "sizewell.policy-report/1"
    assert report["passed"] > 0
    assert done.code == (0 if report["ok"] else 1)
    assert done.out.startswith("dev-aws: ")


def test_policy_fails_with_1(built: Path, sizewell: Sizewell) -> None:
    path = built / "stacks/decisions/dev-aws.json"
    path.write_text(path.read_text().replace('"somebody"', '"x"').replace('"search"', '"somebody"'))
    done = sizewell("policy", "dev-aws", *ON)
    assert done.code == 1
    assert "decision-out-of-date" in done.out
    assert "edited by hand" in done.out


def test_policy_list(project: Path, sizewell: Sizewell) -> None:
    rows = json.loads(sizewell("policy", "--list", "--json").out)
    assert {"idle-exposure", "decision-out-of-date"} <= {row["rule"] for row in rows}
    assert all(row["prevents"] and row["levels"]["prod"] for row in rows)
    done = sizewell("policy", "--list")
    assert all(row["rule"] in done.out for row in rows)


def test_policy_configuration_counts(built: Path, sizewell: Sizewell) -> None:
    (built / "policy").mkdir()
    (built / "policy/config.yaml").write_text("levels: {idle-exposure: disabled}\n")
    rows = {row["rule"]: row for row in json.loads(sizewell("policy", "--list", "--json").out)}
    assert rows["idle-exposure"]["levels"]["prod"] == "disabled"
    (built / "policy/config.yaml").write_text("levels: {idle-exposrue: disabled}\n")
    done = sizewell("policy", "--list")
    assert done.code == 64
    assert "idle-exposure" in done.err


def test_validate_prints_and_writes_rows(tmp_path: Path, sizewell: Sizewell) -> None:
    carried = json.loads((CARRIED / "memory.json").read_text())
    case = next(case for case in carried if case["kind"] == "weights_only" and case["gradeable"])
    (tmp_path / "cases.json").write_text(json.dumps([case]))
    done = sizewell("validate", str(tmp_path / "cases.json"), "--json", str(tmp_path / "rows.json"))
    assert done.code == 0, done.err
    assert "1 case graded" in done.out
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["id"] for row in rows] == [case["id"]]
    assert {"published", "predicted", "unit", "error_pct", "grade", "low", "high", "refused"} <= rows[0].keys()
    assert json.loads(sizewell("validate", str(tmp_path / "cases.json"), "--json", "-").out) == rows
