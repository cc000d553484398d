"""What a preview says of specs that no decision has, which is read from names alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizewell.cli.size import other_workloads

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


def test_the_same_names_say_nothing(project: Path) -> None:
    assert other_workloads(project, ["dev-gcp", "elsewhere"]) == ()


def test_a_new_spec_and_one_that_went_are_said(project: Path) -> None:
    specs = project / "stacks/specs/dev-gcp"
    gone = min(specs.glob("*.yaml"))
    (specs / "new.yaml").write_text("name: brand-new\nkind: notebook\n", encoding="utf-8")
    (said,) = other_workloads(project, ["dev-gcp"])
    assert said == "dev-gcp: brand-new not decided yet; decide with `sizewell size --stack dev-gcp` and commit it"
    gone.unlink()
    (said,) = other_workloads(project, ["dev-gcp"])
    assert "without a spec" in said


def test_what_cannot_be_read_is_for_others_to_say(project: Path) -> None:
    (project / "stacks/specs/dev-gcp/new.yaml").write_text("{", encoding="utf-8")
    assert other_workloads(project, ["dev-gcp"]) == ()
