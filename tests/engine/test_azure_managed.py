"""AKS and Azure ML stacks under the real engine: up, nothing to change after it, and nothing left after destroy."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

COMPONENTS = Path(__file__).parents[1] / "components"
sys.path[:0] = [str(COMPONENTS), str(COMPONENTS / "aws"), str(COMPONENTS / "azure")]

from azure_decisions import CONTAINERS, KUBERNETES, ML, SETTINGS  # noqa: E402


def stack_up(engine, stack, decision):
    engine.decide(decision)
    engine.run("config", "set", "-s", stack, "sizewell:deletionProtection", "false")  # keys would stay otherwise
    if decision is KUBERNETES:
        engine.run("config", "set", "-s", stack, "sizewell:registry", "petsnap.azurecr.io/mirror")
        engine.run("config", "set", "-s", stack, "--path", "sizewell:registries[0]", SETTINGS.registries[0])
    for name, container in CONTAINERS.items():
        engine.run("config", "set", "-s", stack, "--path", f"sizewell:azureml.{name}.image", container["image"])
    engine.up(stack)


def nothing_changes(engine, stack):
    changes = [step for step in engine.preview(stack)["steps"] if step["op"] not in ("same", "read")]
    assert [(step["urn"], step.get("diffReasons")) for step in changes] == []


@pytest.mark.parametrize(
    "decision",
    [pytest.param(KUBERNETES, id="kubernetes", marks=pytest.mark.soak), pytest.param(ML, id="azureml")],  # prod has AKS
)
def test_up_changes_nothing_twice_and_destroy_leaves_nothing(engine, decision):
    stack = decision.stack
    stack_up(engine, stack, decision)
    assert len(engine.cloud("azure-native")) > 35
    nothing_changes(engine, stack)
    engine.destroy(stack)
    assert engine.cloud("azure-native") == {}
    assert engine.cloud("kubernetes") == {}


def test_the_hard_end_comes_first_stays_as_it_is_and_knows_its_group(engine):
    stack = f"ttl-{ML.stack}"
    ML.write(engine.project / "stacks" / "decisions" / f"{ML.stack}.json")
    engine.run("stack", "init", stack)
    engine.up(stack)
    nothing_changes(engine, stack)
    (workflow,) = [one for one in engine.cloud("azure-native").values() if one["type"] == "azure-native:logic:Workflow"]
    text = json.dumps(workflow["inputs"]["definition"])
    assert "/resourceGroups/sizewell-dev-azure-network-eastus/" in text
    assert '"startTime": "2026-09-22T00:00:00Z"' in text
    engine.destroy(stack)
    assert engine.cloud("azure-native") == {}
