"""What preview and policy say of specs that are not those of the decision."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from sizewell.cli.main import main
from sizewell.cli.specs import out_of_step
from sizewell.policy.engine import Report
from sizewell.preview.pipeline import Judged

if TYPE_CHECKING:
    from sizewell.resources.recorded import Plan

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "stacks/specs/dev-gcp"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("stacks/decisions", "stacks/specs/dev-gcp"):
        (tmp_path / folder).mkdir(parents=True)
    decision = (ROOT / "stacks/decisions/dev-gcp.json").read_text(encoding="utf-8")
    (tmp_path / "stacks/decisions/dev-gcp.json").write_text(decision, encoding="utf-8")
    for path in SPECS.glob("*.yaml"):
        (tmp_path / "stacks/specs/dev-gcp" / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_specs_as_they_were_decided_say_nothing(project: Path) -> None:
    assert out_of_step(project, ["dev-gcp", "elsewhere"]) == ((), "")


def test_a_new_spec_and_one_that_went_are_said(project: Path) -> None:
    specs = project / "stacks/specs/dev-gcp"
    gone = min(specs.glob("*.yaml"))
    (specs / "new.yaml").write_text("name: brand-new\nkind: notebook\nresources: {gpu: 24GB..}\n", encoding="utf-8")
    (said,), first = out_of_step(project, ["dev-gcp"])
    assert said == "dev-gcp: brand-new not decided yet; decide with `sizewell size --stack dev-gcp` and commit it"
    assert first == said
    gone.unlink()
    (said,), _ = out_of_step(project, ["dev-gcp"])
    assert "without a spec" in said


def test_an_edited_spec_is_said_and_no_reason_to_fail(project: Path) -> None:
    path = project / "stacks/specs/dev-gcp/notebook.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("24GB..", "40GB.."), encoding="utf-8")
    (said,), first = out_of_step(project, ["dev-gcp"])
    assert said.startswith("dev-gcp: notebook edited since it was decided; decide with")
    assert first == ""


def test_a_spec_that_cannot_be_read_is_said_with_its_place(project: Path) -> None:
    path = project / "stacks/specs/dev-gcp/notebook.yaml"
    path.write_text("<<<<<<< HEAD\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    (said,), first = out_of_step(project, ["dev-gcp"])
    assert "stacks/specs/dev-gcp/notebook.yaml:1:1: has a merge conflict; correct the spec, then decide" in said
    assert "without a spec" not in said
    assert first == said


def test_policy_says_it_and_exits_with_4(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    judged = Judged(plan=cast("Plan", None))
    monkeypatch.setattr("sizewell.recording.plans.planned", lambda *_, **__: None)
    monkeypatch.setattr("sizewell.preview.pipeline.against_base", lambda _: nullcontext(lambda *_: judged))
    monkeypatch.setattr("sizewell.cli.judging.in_environment", lambda plan, _: plan)
    monkeypatch.setattr("sizewell.cli.judging.judge", lambda *_, **__: Report(results=(), rules=0, passed=0))
    (project / "Pulumi.yaml").write_text("name: petsnap\nruntime: python\n", encoding="utf-8")
    (project / "stacks/specs/dev-gcp/notebook.yaml").write_text("{", encoding="utf-8")
    assert main(["policy", "dev-gcp"]) == 4
    assert "decision out of date: dev-gcp: a spec cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("stacks/decisions/dev-gcp.json", "<<<<<<< HEAD\n", 4),
        ("stacks/decisions/dev-gcp.json", "{", 4),
        ("stacks/config/Pulumi.dev-gcp.yaml", "config: [", 64),
    ],
)
@pytest.mark.parametrize("command", ["preview", "policy"])
def test_one_exit_code_for_one_fault(
    project: Path, monkeypatch: pytest.MonkeyPatch, command: str, *, name: str, text: str, code: int
) -> None:
    monkeypatch.chdir(project)
    (project / "Pulumi.yaml").write_text(
        "name: petsnap\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n", encoding="utf-8"
    )
    program = (ROOT / "stacks/__main__.py").read_text(encoding="utf-8")
    (project / "stacks/__main__.py").write_text(program, encoding="utf-8")
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(text, encoding="utf-8")
    assert main([command, "dev-gcp"]) == code
