"""The forty programs that were written from the reference alone: made by the engine, and then nothing is left to do."""

from __future__ import annotations

import sys
from pathlib import Path

import harness
import pytest

COMPONENTS = Path(__file__).parents[1] / "components"
sys.path.insert(0, str(COMPONENTS))
from unseen_stacks import STACKS  # noqa: E402  (of the folder above)

PROGRAM = """import sys

sys.path.insert(0, {folder!r})
from unseen_stacks import STACKS

STACKS[{name!r}][1]()
"""
CONFIG = "config: {azure-native:subscriptionId: 00000000-0000-0000-0000-000000000001}\n"


@pytest.mark.soak
@pytest.mark.parametrize("name", STACKS)
def test_a_second_update_has_nothing_to_do(name, tmp_path):
    _, _, stack = STACKS[name]
    work = tmp_path / "project"
    work.mkdir()
    (work / "Pulumi.yaml").write_text("name: team\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (work / f"Pulumi.{stack}.yaml").write_text(CONFIG)
    (work / "__main__.py").write_text(PROGRAM.format(folder=str(COMPONENTS), name=name))
    (work / ".venv").symlink_to(Path(sys.prefix), target_is_directory=True)
    engine = harness.Engine(project=work, environment=harness.environment(tmp_path), clouds=tmp_path / "clouds")
    engine.run("stack", "init", stack)
    engine.up(stack)
    changed = [
        (step["op"], step["urn"], step.get("diffReasons"))
        for step in engine.preview(stack)["steps"]
        if step["op"] not in ("same", "read")
    ]
    assert changed == []
    engine.up(stack, "--expect-no-changes")
