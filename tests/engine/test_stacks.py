"""Every stack of the project under the real engine: preview, up, up again, destroy, by plain `pulumi` commands."""

from __future__ import annotations

import collections
import json
from collections.abc import Mapping

import harness
import pytest

from sizewell.recording.evaluate import evaluate
from sizewell.recording.sources.files import read_preview
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.records.decision import Decision

UNREACHABLE = "configured Kubernetes cluster is unreachable"
DECISIONS = sorted((harness.ROOT / "stacks" / "decisions").glob("*.json"))


def stacks(names, *, longer):
    """Stacks by name; those in `longer` are of the same forms as others of their cloud: `make soak` has them."""
    return [pytest.param(name, marks=pytest.mark.soak if name in longer else ()) for name in names]


CLUSTERS = stacks([path.stem for path in DECISIONS], longer=("staging-aws", "prod-gcp"))
STORES = stacks(
    [
        f"checkpoints-{path.stem}"
        for path in DECISIONS
        if any(workload.checkpoint for workload in Decision.from_json(path).workloads)
    ],
    longer=("checkpoints-dev-aws", "checkpoints-staging-aws", "checkpoints-staging-gcp"),
)
ENDS = stacks(
    [f"ttl-{path.stem}" for path in DECISIONS if Decision.from_json(path).expires_at],
    longer=("ttl-staging-aws", "ttl-staging-gcp"),
)


def ops(plan: Mapping[str, object]) -> dict[str, int]:
    return dict(collections.Counter(step["op"] for step in plan["steps"]))


def nothing_changes_and_the_evaluator_sees_the_same(engine, stack, tmp_path):
    """After an update the engine has nothing to do, and knows resources, options and inputs as the evaluator does."""
    plan = engine.preview(stack)
    assert [
        (step["urn"], step.get("diffReasons")) for step in plan["steps"] if step["op"] not in ("same", "read")
    ] == []
    path = tmp_path / "preview.json"
    path.write_text(json.dumps(plan))
    theirs, ours = read_preview(path).after, evaluate(engine.project, stack)
    left, right = (
        {one.urn: one for one in plan.resources if one.type != "pulumi:pulumi:Stack"} for plan in (theirs, ours)
    )
    assert left.keys() == right.keys()
    for urn, one in left.items():
        other = right[urn]
        assert (one.protect, one.retain_on_delete, one.parent) == (other.protect, other.retain_on_delete, other.parent)
        if one.type.startswith("pulumi:providers:"):
            continue
        both = one.inputs.keys() & other.inputs.keys()
        assert {key for key, value in one.inputs.items() if value is not UNKNOWN and value is not None} <= both, urn
        for key in both:
            assert agree(one.inputs[key], other.inputs[key]), f"{urn} {key}: {one.inputs[key]} | {other.inputs[key]}"


def agree(left, right):
    """Whether two values are the same where both are known."""
    if left is UNKNOWN or right is UNKNOWN:
        return True
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return all(agree(left.get(key), right.get(key)) for key in left.keys() | right.keys())
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(agree, left, right))
    return left == right


@pytest.mark.parametrize("stack", CLUSTERS)
def test_a_cluster_comes_up_stays_as_it_is_and_goes(engine, stack, tmp_path):
    engine.run("stack", "init", stack)
    engine.up(stack)
    assert len({one["type"] for package in harness.PACKAGES for one in engine.cloud(package).values()}) > 8
    nothing_changes_and_the_evaluator_sees_the_same(engine, stack, tmp_path)
    if stack.startswith("prod-"):  # protected by the cloud, or keys by Pulumi: a reviewed step before the end
        assert engine.destroy(stack, check=False).returncode != 0
        engine.run("config", "set", "-s", stack, "sizewell:deletionProtection", "false")
        engine.up(stack)
    # a cluster that cannot be reached any more goes with all that is inside of it (pulumi-kubernetes#2675)
    engine.order({"call": "delete", "package": "kubernetes", "then": "fail", "each": True, "message": UNREACHABLE})
    engine.destroy(stack)
    assert {package: engine.cloud(package) for package in harness.PACKAGES} == {key: {} for key in harness.PACKAGES}


@pytest.mark.parametrize("stack", STORES)
def test_a_destroy_of_checkpoints_leaves_exactly_what_is_protected(engine, stack, tmp_path):
    engine.run("stack", "init", stack)
    engine.up(stack)
    nothing_changes_and_the_evaluator_sees_the_same(engine, stack, tmp_path)
    protected = {one["urn"] for one in engine.export(stack) if one.get("protect")}
    assert engine.destroy(stack, check=False).returncode != 0
    engine.destroy(stack, "--exclude-protected")
    left = {one["urn"] for package in harness.PACKAGES for one in engine.cloud(package).values()}
    assert left == protected
    assert len(left) >= 5


@pytest.mark.parametrize("stack", ENDS)
def test_the_end_of_a_stack_stands_apart_and_goes_whole(engine, stack, tmp_path):
    engine.run("stack", "init", stack)
    engine.up(stack)
    nothing_changes_and_the_evaluator_sees_the_same(engine, stack, tmp_path)
    hands = [one for package in harness.PACKAGES for one in engine.cloud(package).values()]
    assert len(hands) >= 4
    engine.destroy(stack)
    assert {package: engine.cloud(package) for package in harness.PACKAGES} == {key: {} for key in harness.PACKAGES}


def test_preview_up_refresh_and_change(engine):
    engine.run("stack", "init", "dev-aws")
    assert ops(engine.preview("dev-aws")).keys() == {"create"}
    engine.up("dev-aws")
    before = engine.cloud("aws")
    engine.up("dev-aws")
    engine.run("refresh", "-s", "dev-aws", "--yes", "--skip-preview")
    assert engine.cloud("aws") == before
    engine.run("config", "set", "-s", "dev-aws", "--path", "sizewell:zones[0]", "us-east-1b")
    changed = ops(engine.preview("dev-aws"))
    assert set(changed) - {"same"}


def test_no_capacity_fails_the_update_and_the_next_one_builds_nothing_twice(engine):
    engine.run("stack", "init", "dev-aws")
    group = "aws:autoscaling/group:Group"
    engine.order({"call": "create", "type": group, "then": "fail", "message": "InsufficientInstanceCapacity"})
    failed = engine.up("dev-aws", check=False)
    assert failed.returncode != 0
    assert "InsufficientInstanceCapacity" in failed.stdout + failed.stderr
    engine.up("dev-aws")
    names = [one["inputs"]["name"] for one in engine.cloud("aws").values() if one["type"] == group]
    assert len(names) == len(set(names)) >= 1
    engine.destroy("dev-aws")
    assert engine.cloud("aws") == {}


def test_a_lost_answer_is_not_billed_twice(engine):
    """The cloud made the group, the answer never came: the name is taken, so the next update is refused, not doubled."""
    engine.run("stack", "init", "dev-aws")
    group = "aws:autoscaling/group:Group"
    engine.order({"call": "create", "type": group, "then": "lose"})
    assert engine.up("dev-aws", check=False).returncode != 0
    again = engine.up("dev-aws", check=False)
    assert "exists already" in again.stdout + again.stderr
    names = [one["inputs"]["name"] for one in engine.cloud("aws").values() if one["type"] == group]
    assert len(names) == len(set(names))
    orphan = next(one for one in engine.cloud("aws").values() if one["type"] == group)
    tags = {tag["key"]: tag["value"] for tag in orphan["inputs"]["tags"]}
    assert tags["sizewell-stack"] == "dev-aws"  # from here a sweep finds it
    assert len(tags["sizewell-id"]) == 16


def test_a_wrong_decision_stops_before_anything_is_made(engine):
    path = engine.project / "stacks" / "decisions" / "dev-aws.json"
    path.write_text(path.read_text().replace('"g4dn.xlarge"', '"g4dn.tiny"'))
    engine.run("stack", "init", "dev-aws")
    failed = engine.up("dev-aws", check=False)
    assert failed.returncode != 0
    assert "unknown aws machine type 'g4dn.tiny'; did you mean" in failed.stdout + failed.stderr
    machines = [one for one in engine.cloud("aws").values() if "autoscaling" in one["type"]]
    assert machines == []
