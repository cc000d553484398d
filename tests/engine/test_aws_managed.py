"""EKS and SageMaker stacks under the real engine: up, nothing to change after it, and nothing left after destroy."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

COMPONENTS = Path(__file__).parents[1] / "components"
sys.path[:0] = [str(COMPONENTS), str(COMPONENTS / "aws")]

from aws_decisions import CONFIG, KUBERNETES, SAGEMAKER  # noqa: E402


@pytest.mark.parametrize("decision", [KUBERNETES, SAGEMAKER], ids=["kubernetes", "sagemaker"])
def test_up_changes_nothing_twice_and_destroy_leaves_nothing(engine, decision):
    stack = decision.stack
    decision.write(engine.project / "stacks" / "decisions" / f"{stack}.json")
    engine.run("stack", "init", stack)
    containers = json.loads(CONFIG["sizewell:sagemaker"]) if decision is SAGEMAKER else {}
    for name, container in containers.items():
        engine.run("config", "set", "-s", stack, "--path", f"sizewell:sagemaker.{name}.image", container["image"])
    engine.up(stack)
    made = engine.cloud("aws")
    assert len(made) > 50
    if decision is KUBERNETES:  # each group of machines is found by the autoscaler, and by the stack's hard end
        tags = {
            (one["inputs"]["autoscalingGroupName"], one["inputs"]["tag"]["key"])
            for one in made.values()
            if "tag:Tag" in one["type"]
        }
        groups = {group for group, _ in tags}
        assert len(groups) == 2
        assert {(group, key) for group in groups for key in ("sizewell-autoscaled", "sizewell-stack")} <= tags
    changes = [step for step in engine.preview(stack)["steps"] if step["op"] not in ("same", "read")]
    assert [(step["urn"], step.get("diffReasons")) for step in changes] == []
    engine.destroy(stack)
    assert engine.cloud("aws") == {}
    assert engine.cloud("kubernetes") == {}
