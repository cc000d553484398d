"""`sizewell ages`: what is shown, what a refresh writes, and what bad input is told."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from sizewell.cli import ages
from sizewell.cli.main import main
from sizewell.clouds.calls import CloudError
from sizewell.sizing.catalog import lifetimes
from sizewell.sizing.catalog.lifetimes import Listed, ListedImages

ON = "2026-11-26"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: team\nruntime: python\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(monkeypatch: pytest.MonkeyPatch, *rows: Listed) -> None:
    monkeypatch.setattr("sizewell.clouds.clients.CLIENTS", {"aws": lambda _: None, "azure": lambda _: None})
    monkeypatch.setattr(ages, "listed_by", lambda cloud, *_, **__: list(rows) if cloud == "aws" else [])
    monkeypatch.setattr(ages, "images_by", lambda *_, **__: [])


EKS = [
    Listed(service="eks", version="1.36", supported_until="2027-08-02", extended_until="2028-08-02", source="eks"),
    Listed(service="eks", version="1.38", supported_until="2028-04-01", extended_until="2029-04-01", source="eks"),
]


def test_versions_are_shown_with_their_ends(project, capsys):
    assert main(["ages", "show", "--json", "--on", ON]) == 0
    rows = json.loads(capsys.readouterr().out)["ages"]
    (eks,) = [row for row in rows if (row["name"], row["version"]) == ("eks", "1.36")]
    assert eks["supported_until"] == "2027-08-02"
    assert main(["ages", "show", "--kind", "chart", "--on", ON]) == 0
    shown = capsys.readouterr().out
    assert "2026-06-01 (ended)" in shown
    assert "unknown" in shown
    assert main(["ages", "show", "--on", "2026-11-27"]) == 0
    assert "2026-11-26 (ended)" in capsys.readouterr().out  # EKS's extended support of 1.31


def test_a_refresh_writes_what_is_new_and_the_rest_of_the_command_line_uses_it(project, capsys, monkeypatch):
    listed(monkeypatch, *EKS)
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", ON]) == 0
    told = capsys.readouterr().out
    assert "new: eks 1.38" in told
    assert "listed no longer: eks 1.34" in told
    assert "wrote catalog/ages/kubernetes.csv" in told
    known = lifetimes.load().versions("eks")
    assert known["1.38"].supported_until == "2028-04-01"
    assert lifetimes.ended(known["1.35"].supported_until, date(2026, 11, 26))
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", ON]) == 0
    assert "wrote" not in capsys.readouterr().out, "nothing is new at the second time"


def test_a_dry_run_writes_nothing(project, capsys, monkeypatch):
    listed(monkeypatch, *EKS)
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--dry-run", "--on", ON]) == 0
    assert "new: eks 1.38" in capsys.readouterr().out
    assert not (project / "catalog").exists()


IMAGES = [
    ListedImages(name="eks/AL2023_x86_64_NVIDIA", kubernetes=("1.36", "1.38"), offered=True, source="ssm"),
    ListedImages(name="eks/AL2023_x86_64_NEURON", offered=False, source="ssm"),
]


def test_families_of_images_are_read_as_well(project, capsys, monkeypatch):
    asked = []
    listed(monkeypatch, *EKS)
    monkeypatch.setattr(ages, "images_by", lambda *_, versions, **__: asked.append(versions) or IMAGES)
    line = ["ages", "refresh", "--region", "aws=us-east-1", "--json", "--on", ON]
    assert main(line) == 0
    told = json.loads(capsys.readouterr().out)
    assert asked == [["1.36", "1.38"]]
    assert told["moved"] == ["eks/AL2023_x86_64_NVIDIA al2023: for Kubernetes up to 1.37, now up to 1.38"]
    assert told["gone"][-1] == "eks/AL2023_x86_64_NEURON al2023"
    assert told["written"] == ["catalog/ages/kubernetes.csv", "catalog/ages/releases.csv"]
    known = lifetimes.load()
    assert known.release("system", "eks/AL2023_x86_64_NVIDIA", "al2023").kubernetes == "1.31..1.38"
    assert lifetimes.ended(
        known.release("system", "eks/AL2023_x86_64_NEURON", "al2023").supported_until, date(2026, 11, 26)
    )
    assert main(line) == 0
    assert json.loads(capsys.readouterr().out)["written"] == [], "nothing is new at the second time"


def test_images_that_cannot_be_read_leave_what_was_read_of_versions(project, capsys, monkeypatch):
    def denied(*_: object, **__: object) -> list[ListedImages]:
        raise CloudError("ssm", "denied", "not authorized")

    listed(monkeypatch, *EKS)
    monkeypatch.setattr(ages, "images_by", denied)
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", ON]) == 69
    shown = capsys.readouterr()
    assert "wrote catalog/ages/kubernetes.csv" in shown.out
    assert "aws images: what is known of them is unchanged" in shown.err


def test_a_cloud_that_does_not_respond_changes_nothing_and_is_told(project, capsys, monkeypatch):
    def silent(*_: object, **__: object) -> list[Listed]:
        raise CloudError("eks", "unanswered", "timed out", fix="try again")

    listed(monkeypatch)
    monkeypatch.setattr(ages, "listed_by", silent)
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", ON]) == 69
    told = capsys.readouterr().err
    assert "aws versions: what is known of them is unchanged" in told
    assert told.count("fix: try again") == 1
    assert not (project / "catalog").exists()


def at(version: str, until: str = "2027-08-02", extended: str = "2028-08-02") -> Listed:
    return Listed(service="eks", version=version, supported_until=until, extended_until=extended, source="eks")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([at("banana"), *EKS], "eks 'banana': is no minor version"),
        ([at("v1.36"), *EKS[1:]], "eks 'v1.36': is no minor version"),
        ([at("1.36", extended="2026-08-02")], "extended support ends on 2026-08-02, before standard support"),
        ([at("1.36", until="2227-08-02", extended="2228-08-02")], "supported until 2227-08-02, which is not within"),
        ([at("1.36", until="soon")], "supported until 'soon', which is no date"),
        ([at("1.36"), at("1.36", until="2026-12-10")], "eks 1.36: is listed twice, with different ends"),
        ([at("1.20")], "eks: lists nothing as new as"),
    ],
)
def test_a_list_that_no_cloud_would_give_changes_nothing(project, capsys, monkeypatch, rows, told):
    listed(monkeypatch, *EKS)
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", ON]) == 0
    before = (project / "catalog/ages/kubernetes.csv").read_bytes()
    listed(monkeypatch, *rows)
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", "2026-11-27"]) == 69
    assert told in " ".join(capsys.readouterr().err.split())
    assert (project / "catalog/ages/kubernetes.csv").read_bytes() == before


def test_an_overlay_is_held_to_what_a_refresh_is_held_to(project, capsys, monkeypatch):
    listed(monkeypatch, *EKS)
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", ON]) == 0
    path = project / "catalog/ages/kubernetes.csv"
    good = path.read_text(encoding="utf-8")
    for wrong, told in (
        (good.replace("eks,1.36", "eks,1.3x"), "must be a minor version, as 1.36, got '1.3x'"),
        (good.replace("2028-08-02", "2026-08-02"), "extended support ends on 2026-08-02"),
        (good.replace("2027-08-02", "2227-08-02"), "which is not within 5 years"),
    ):
        path.write_text(wrong, encoding="utf-8")
        capsys.readouterr()
        assert main(["ages", "show"]) == 64
        shown = " ".join(capsys.readouterr().err.split())
        assert told in shown
        assert "catalog/ages/kubernetes.csv row" in shown


def test_a_region_that_nobody_knows_is_said_before_the_cloud_is_asked(project, capsys, monkeypatch):
    listed(monkeypatch, *EKS)
    assert main(["ages", "refresh", "--region", "aws=us-east-9", "--dry-run", "--on", ON]) == 0
    assert "us-east-9 is no region of aws in the catalog; near: us-east-2" in capsys.readouterr().err


def test_a_version_that_one_region_does_not_list_yet_was_looked_at(project, monkeypatch):
    """Else its row would be called old for ever, however often somebody asks."""
    listed(monkeypatch, at("1.35", "2027-03-27", "2028-03-27"), at("1.36"))
    assert main(["ages", "refresh", "--region", "aws=us-east-1", "--on", "2027-03-01"]) == 0
    known = lifetimes.load()
    assert known.versions("eks")["1.37"].checked == "2027-03-01"
    assert ages.table_age(known, date(2027, 3, 2), ["eks"]) == ("", "")
    assert ages.table_age(known, date(2027, 3, 2), ["eks", "aks"])[0].endswith("96 days ago (aks)")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["refresh"], "--region: names no cloud"),
        (["refresh", "--region", "azure=eastus"], "add --account azure=SUBSCRIPTION"),
        (["refresh", "--region", "oracle=x"], "must be CLOUD=VALUE"),
        (["refresh", "--region", "aws"], "must be CLOUD=VALUE"),
        (["show", "--kind", "pods"], "--kind: must be one of kubernetes, chart"),
    ],
)
def test_bad_input_is_told_with_the_way_out(project, capsys, line, told):
    assert main(["ages", *line]) == 64
    assert told in capsys.readouterr().err


def test_a_wrong_row_of_the_project_is_named(project, capsys):
    folder = project / "catalog/ages"
    folder.mkdir(parents=True)
    (folder / "kubernetes.csv").write_text("service,version\n", encoding="utf-8")
    assert main(["ages", "show"]) == 64
    assert "catalog/ages/kubernetes.csv row 1" in capsys.readouterr().err
