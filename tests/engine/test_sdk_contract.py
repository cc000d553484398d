"""The plan of the real engine and ours, of a program that asks of the SDK all that we answer in the engine's place."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

import harness

from sizewell.recording.evaluate import evaluate
from sizewell.recording.sources import read_preview
from sizewell.resources.recorded import UNKNOWN, RecordedResource

PROGRAM = Path(__file__).parent / "plain/contract.py"
# What the engine's printed plan does not say of a resource.
UNSAID = {"outputs", "aliases", "delete_before_replace"}


def said(resource: RecordedResource) -> dict[str, object]:
    """Everything that both plans say of a resource; the engine prints no secrets."""
    stated = {field.name: getattr(resource, field.name) for field in fields(resource) if field.name not in UNSAID}
    secret = dict.fromkeys(resource.secret_paths, UNKNOWN)
    return stated | {"inputs": {**resource.inputs, **secret}}


def test_the_engine_plans_what_the_evaluation_records(tmp_path: Path) -> None:
    work = tmp_path / "project"
    work.mkdir()
    (work / "Pulumi.yaml").write_text("name: team\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (work / "Pulumi.dev.yaml").write_text("config: {'team:word': w}\n")
    (work / "__main__.py").write_text(PROGRAM.read_text(encoding="utf-8"))
    (work / ".venv").symlink_to(Path(sys.prefix), target_is_directory=True)
    environment = {**harness.environment(tmp_path, warm=False), "SIZEWELL_STANDIN_TRUSTS": "1"}
    engine = harness.Engine(project=work, environment=environment, clouds=tmp_path / "clouds")
    engine.run("stack", "init", "dev")
    path = tmp_path / "preview.json"
    path.write_text(engine.run("preview", "-s", "dev", "--json", "--show-sames").stdout)
    theirs = {resource.urn: said(resource) for resource in read_preview(path).after.resources}
    assert theirs == {resource.urn: said(resource) for resource in evaluate(work, "dev").resources}
    assert len(theirs) == 5
