"""Programs that use none of our components, previewed by the real engine: their file is priced like their evaluation."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path

import harness
import pytest

from sizewell.cli.main import main
from sizewell.recording.evaluate import evaluate
from sizewell.recording.sources import read_preview
from sizewell.resources import price
from sizewell.sizing.catalog import load
from sizewell.sizing.money import Unpriced

ON = date(2026, 11, 21)
PROGRAMS = Path(__file__).parent / "plain"
CONFIG = {"aws": "aws:region: us-east-1", "gcp": "gcp:project: team", "azure": "azure-native:location: eastus"}
BILLS = {  # what a reader must find priced: part of a line's words
    "aws": ("g6e.12xlarge, on-demand", "boot disks of 200 GB", "ml.g5.xlarge", "NAT gateway", "500 GB, ebs.gp3"),
    "gcp": (
        "g2-standard-4, spot",
        "boot disks of 100 GB",
        "gke.control_plane",
        "ct5lp",
        "500 GB, pd.ssd",
        "NAT gateway",
    ),
    "azure": ("Standard_NC24ads_A100_v4", "OS disks of 256 GB", "aks.control_plane", "premium SSD P20", "NAT gateway"),
}


def project(cloud, folder):
    """One hand-written program, ready for `pulumi`."""
    work = folder / "project"
    work.mkdir()
    (work / "Pulumi.yaml").write_text("name: team\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (work / "Pulumi.dev.yaml").write_text(f"config: {{{CONFIG[cloud]}}}\n")
    (work / "__main__.py").write_text((PROGRAMS / f"{cloud}.py").read_text())
    (work / ".venv").symlink_to(Path(sys.prefix), target_is_directory=True)
    engine = harness.Engine(project=work, environment=harness.environment(folder), clouds=folder / "clouds")
    engine.run("stack", "init", "dev")
    return engine


def lines(plan):
    """Every line of a bill without what only the engine knows of it."""
    pricing = price(plan, load(), on=ON)
    figures = [
        (
            line.component,
            line.what,
            line.quantity,
            line.price.reason if isinstance(line.price, Unpriced) else line.price,
        )
        for line in pricing.items
    ]
    return sorted(figures, key=repr), sorted(pricing.outside), pricing


@pytest.mark.parametrize("cloud", sorted(BILLS))
def test_the_engine_and_the_evaluation_give_the_same_bill(cloud, tmp_path, monkeypatch, capsys):
    engine = project(cloud, tmp_path)
    path = tmp_path / "preview.json"
    path.write_text(engine.run("preview", "-s", "dev", "--json", "--show-sames").stdout)
    ours, theirs = lines(evaluate(engine.project, "dev")), lines(read_preview(path).after)
    assert ours[:2] == theirs[:2]
    assert theirs[2].unknown == ()
    said = " | ".join(line.what for line in theirs[2].items if not isinstance(line.price, Unpriced))
    assert [words for words in BILLS[cloud] if words not in said] == [], said

    monkeypatch.chdir(tmp_path)
    code = main(["preview", "--plan", str(path), "--on", ON.isoformat(), "--json"])
    found = json.loads(capsys.readouterr().out)
    spend = found["stacks"][0]["after"]["usd_per_month"]
    assert spend == {key: str(getattr(theirs[2].cost().run_rate.usd_per_month, key)) for key in spend}
    assert code in (0, 1, 3)
    assert found["provenance"]["engine"] == "pulumi"


def test_a_change_is_seen_against_what_stands(tmp_path, monkeypatch, capsys):
    engine = project("aws", tmp_path)
    engine.up("dev")
    program = engine.project / "__main__.py"
    text = program.read_text()
    program.write_text(
        text.replace('availability_zone="us-east-1a", size=500', 'availability_zone="us-east-1b", size=600')
    )
    path = tmp_path / "preview.json"
    path.write_text(engine.run("preview", "-s", "dev", "--json", "--show-sames").stdout)
    read = read_preview(path)
    assert read.complete
    assert read.before.notes == ()
    before, after = (lines(plan)[2].cost().run_rate.usd_per_month.expected for plan in (read.before, read.after))
    assert after - before == 8  # 100 GB more at 0.08

    state = tmp_path / "state.json"
    state.write_text(engine.run("stack", "export", "-s", "dev").stdout)
    monkeypatch.chdir(engine.project)
    for verb, words in (
        ("replaces", ["--plan", str(path)]),
        ("replaces", ["dev", "--base-state", str(state)]),  # a volume cannot change its zone
        ("replaces", ["dev", "--engine", "pulumi"]),
    ):
        for name, value in engine.environment.items():
            monkeypatch.setenv(name, value)
        main(["preview", *words, "--on", ON.isoformat(), "--json"])
        stack = json.loads(capsys.readouterr().out)["stacks"][0]
        assert stack["change_usd_per_month"] == "8.00", words
        assert [need["kind"] for need in stack["needs"]] == ["replaces"], words
        assert stack["needs"][0]["text"].startswith(verb)
