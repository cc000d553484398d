"""What a program tells the engine to leave alone is priced and judged as it stands, not as it is declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_run import PROGRAM, Repository, repository

from sizewell.preview.changes import asks
from sizewell.preview.ignored import as_it_stands, kept, with_imported, with_kept
from sizewell.preview.records import PolicyReport
from sizewell.recording.sources.files import read_preview
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource

__all__ = ["repository"]


def plan(inputs: dict[str, Any], *ignored: str, name: str = "a", aliases: tuple[str, ...] = ()) -> Plan:
    one = RecordedResource(
        urn=name, type="aws:ec2/instance:Instance", name=name, inputs=inputs, ignore_changes=ignored, aliases=aliases
    )
    return Plan(project="p", stack="dev", resources=(one,))


@pytest.mark.parametrize(
    ("old", "new", "ignored", "stands"),
    [
        ({"type": "p4d"}, {"type": "t3"}, ["type"], {"type": "p4d"}),
        ({"type": "p4d"}, {"type": "t3"}, ["*"], {"type": "p4d"}),
        ({"type": "p4d"}, {"type": "t3"}, ["other"], {"type": "t3"}),
        ({"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 2}}, ["a.b"], {"a": {"b": 1, "c": 2}}),
        ({"a": [{"n": 4}, {"n": 5}]}, {"a": [{"n": 1}, {"n": 1}]}, ["a[*].n"], {"a": [{"n": 4}, {"n": 5}]}),
        ({"a": [{"n": 4}]}, {"a": [{"n": 1}, {"n": 1}]}, ["a[0].n"], {"a": [{"n": 4}, {"n": 1}]}),
        ({}, {"size": 3}, ["size"], {}),
        ({"size": 3}, {}, ["size"], {"size": 3}),
        ({"size": UNKNOWN}, {"size": 3}, ["size"], {"size": UNKNOWN}),
        ({"t": {"x.y": 1}}, {"t": {"x.y": 2}}, ['t["x.y"]'], {"t": {"x.y": 1}}),
    ],
)
def test_what_is_ignored_stands(old: Any, new: Any, ignored: list[str], stands: Any) -> None:
    (found,) = as_it_stands(plan(old), plan(new, *ignored)).resources
    assert dict(found.inputs) == stands


def test_what_is_new_is_as_declared_and_what_was_renamed_is_the_same() -> None:
    declared = plan({"type": "t3"}, "type", name="b")
    assert as_it_stands(plan({"type": "p4d"}), declared) == declared
    assert as_it_stands(None, declared) == declared
    renamed = plan({"type": "t3"}, "type", name="b", aliases=("a",))
    assert as_it_stands(plan({"type": "p4d"}), renamed).resources[0].inputs == {"type": "p4d"}


def test_a_list_that_became_a_text_is_as_declared() -> None:
    assert kept([1], "x", ["0", "y"]) == "x"


def test_a_smaller_type_that_the_engine_ignores_saves_nothing(repository: Repository) -> None:
    ignoring = PROGRAM.replace(
        "name, props, None)", 'name, props, pulumi.ResourceOptions(ignore_changes=["instanceType"]))'
    )
    repository.program(text=ignoring.format(machine="g6.48xlarge", size=100))
    repository.commit()
    repository.program(text=ignoring.format(machine="g6.xlarge", size=100))
    (stack,) = repository.preview(base="main").stacks
    assert stack.after.usd_per_month == stack.before.usd_per_month
    assert stack.after.idle_usd_per_hour == stack.before.idle_usd_per_hour


@pytest.mark.parametrize(
    ("option", "says"), [("retain_on_delete=True", "retain on delete"), ("protect=True", "protect")]
)
def test_a_machine_that_is_removed_and_kept_is_judged_and_counts_as_idle(
    repository: Repository, option: str, says: str
) -> None:
    keeping = PROGRAM.replace("name, props, None)", f"name, props, pulumi.ResourceOptions({option}))")
    repository.program(text=keeping.format(machine="p4d.24xlarge", size=100))
    repository.commit()
    repository.program(text="import pulumi")
    judged: list[Plan] = []

    def policies(plan: Plan, *_: Any) -> PolicyReport | None:
        judged.append(plan)
        return None

    (stack,) = repository.preview(base="main", policies=policies).stacks
    assert stack.after.idle_usd_per_hour == stack.before.idle_usd_per_hour
    assert stack.after.idle_usd_per_hour.expected > 20
    assert {"gpu", "data"} <= {each.name for each in judged[0].resources}
    (need,) = (each for each in stack.needs if each.component == "gpu")
    assert need.text.startswith(f"machine gpu is kept ({says})")
    assert "is still billed ($" in need.text


def test_what_is_kept_comes_with_the_component_that_registers_it() -> None:
    group = RecordedResource(urn="g", type="sizewell-aws:index:Pool", name="g", inputs={}, custom=False)
    machine = RecordedResource(urn="m", type="aws:ec2/instance:Instance", name="m", inputs={}, parent="g", protect=True)
    before = Plan(project="p", stack="dev", resources=(group, machine))
    assert with_kept(before, Plan(project="p", stack="dev", resources=())).resources == before.resources
    renamed = plan({}, name="n", aliases=("m",))
    assert with_kept(before, renamed) == renamed


def test_a_machine_that_is_imported_is_no_new_cost(repository: Repository) -> None:
    repository.program(text="import pulumi")
    repository.commit()
    importing = PROGRAM.replace("name, props, None)", 'name, props, pulumi.ResourceOptions(import_="i-1"))')
    repository.program(text=importing.format(machine="p4d.24xlarge", size=100))
    (stack,) = repository.preview(base="main").stacks
    assert stack.after.usd_per_month == stack.before.usd_per_month
    assert stack.after.usd_per_month.expected > 10_000
    assert any("imported: it runs and is billed already" in note for note in stack.notes)


def test_what_is_imported_stands_on_both_sides(tmp_path: Path) -> None:
    """It runs and is billed already: its price is no change, and the policies judge it as new."""
    states = [
        {"urn": f"urn:pulumi:dev::p::aws:ec2/instance:Instance::{name}", "type": "aws:ec2/instance:Instance",
         "custom": True, "id": "i-1", "inputs": {"instanceType": "g5.2xlarge"}}
        for name in ("imported", "created")
    ]  # fmt: skip
    steps = [
        {"op": op, "urn": state["urn"], "newState": state}
        for op, state in zip(("import", "create"), states, strict=True)
    ]
    (tmp_path / "plan.json").write_text(json.dumps({"steps": steps}))
    read = read_preview(tmp_path / "plan.json")
    assert read.before.resources == ()
    before, names = with_imported(read.before, read.after)
    assert before is not None
    assert (names, [each.name for each in before.resources]) == (("imported",), ["imported"])
    assert with_imported(before, read.after)[1] == ()


def test_what_pods_ask_for_may_be_known_only_after_deployment() -> None:
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": UNKNOWN}}}
    pods = {"spec": {"replicas": UNKNOWN, "template": {"spec": {"containers": [container]}}}}
    kind = "kubernetes:apps/v1:Deployment"
    pod = RecordedResource(urn=f"urn:pulumi:dev::p::{kind}::d", type=kind, name="d", inputs=pods)
    assert asks(pod, Graph(Plan(project="p", stack="dev", resources=(pod,)))) == "requests an unknown number of GPUs"
