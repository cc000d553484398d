"""EKS and SageMaker stacks under the real engine: up, nothing to change after it, and nothing left after destroy."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

COMPONENTS = Path(__file__).parents[1] / "components"
sys.path[:0] = [str(COMPONENTS), str(COMPONENTS / "aws")]

from aws_decisions import CONFIG, HYPERPOD, KUBERNETES, SAGEMAKER  # noqa: E402


@pytest.mark.parametrize(
    "decision",
    [
        pytest.param(KUBERNETES, id="kubernetes"),
        pytest.param(SAGEMAKER, id="sagemaker"),
        pytest.param(HYPERPOD, id="hyperpod", marks=pytest.mark.soak),
    ],
)
def test_up_changes_nothing_twice_and_destroy_leaves_nothing(engine, decision):
    stack = decision.stack
    engine.decide(decision)
    of = {SAGEMAKER.stack: "sagemaker", HYPERPOD.stack: "hyperpod"}.get(stack, "")
    for name, told in (json.loads(CONFIG[f"sizewell:{of}"]) if of else {}).items():
        for key in {"image", "chart", "version"} & told.keys():
            engine.run("config", "set", "-s", stack, "--path", f"sizewell:{of}.{name}.{key}", told[key])
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


@pytest.mark.soak
def test_the_registry_of_a_closed_cluster_stands_before_it_and_after_it(engine):
    stack = f"images-{KUBERNETES.stack}"
    KUBERNETES.write(engine.project / "stacks" / "decisions" / f"{KUBERNETES.stack}.json")
    engine.run("stack", "init", stack)
    engine.up(stack)
    kinds = {one["type"] for one in engine.cloud("aws").values()}
    assert kinds == {"aws:ecr/repository:Repository"}
    assert [step for step in engine.preview(stack)["steps"] if step["op"] not in ("same", "read")] == []
    engine.destroy(stack)
    assert engine.cloud("aws") == {}
