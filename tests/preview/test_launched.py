"""A change of a template makes a version of it: who launches an earlier one is priced and judged as before."""

from __future__ import annotations

from typing import Any

import pytest

from sizewell.preview.launched import with_launched
from sizewell.resources.aws_nodes import LAUNCH_TEMPLATE, group_nodes
from sizewell.resources.graph import Graph
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource

GROUP = "aws:autoscaling/group:Group"
MANAGER = "gcp:compute/instanceGroupManager:InstanceGroupManager"
TEMPLATE = "gcp:compute/instanceTemplate:InstanceTemplate"


def plan(machine: str, version: object, *, type_: str = GROUP, template: Any = None, **inputs: Any) -> Plan:
    stated = {"id": UNKNOWN} if version is None else {"id": UNKNOWN, "version": version}
    resources = (
        RecordedResource(
            urn="lt", type=LAUNCH_TEMPLATE, name="lt", inputs={"instanceType": machine, **(template or {})}
        ),
        RecordedResource(
            urn="g",
            type=type_,
            name="g",
            inputs={"launchTemplate": stated, **inputs},
            property_dependencies={"launchTemplate": ("lt",)},
        ),
    )
    return Plan(project="p", stack="dev", resources=resources, origin="evaluated")


def launched(before: Plan, after: Plan) -> tuple[Any, tuple[str, ...]]:
    """The types of machines that the group launches after the change, and what is said."""
    old, new, notes = with_launched(before, after, None)
    assert old is not None
    assert {each.urn for each in old.resources} == {each.urn for each in new.resources}, "nothing is created"
    return group_nodes(Graph(new), new.by_urn()["g"]).types, notes


@pytest.mark.parametrize(
    ("was", "now", "template", "types"),
    [
        ("1", "1", {}, ("p4d.24xlarge",)),
        ("$Default", "$Default", {}, ("p4d.24xlarge",)),
        (None, None, {}, ("p4d.24xlarge",)),  # the same as $Default
        ("$Default", "$Default", {"updateDefaultVersion": True}, ("g5.xlarge",)),
        ("$Default", "$Default", {"defaultVersion": 2}, ("g5.xlarge",)),
        ("$Latest", "$Latest", {}, ("g5.xlarge",)),
        (UNKNOWN, UNKNOWN, {}, ("g5.xlarge",)),  # the template's own newest
        ("1", "2", {}, ("g5.xlarge",)),
        ("2", "1", {}, UNKNOWN),
        ("$Latest", "1", {}, UNKNOWN),
    ],
)
def test_the_version_that_a_group_names_is_what_it_launches(
    was: object, now: object, template: dict[str, Any], types: object
) -> None:
    got, notes = launched(plan("p4d.24xlarge", was), plan("g5.xlarge", now, template=template))
    assert got == types
    said = any("of its launch template lt" in note for note in notes)
    assert said is (types != ("g5.xlarge",))


def test_what_replaces_the_template_or_leaves_its_machines_alone_holds_nothing() -> None:
    renamed = launched(
        plan("p4d.24xlarge", "1", template={"name": "a"}), plan("g5.xlarge", "1", template={"name": "b"})
    )
    assert renamed[0] == ("g5.xlarge",)  # another template, whose first version this is
    tagged = plan("g5.xlarge", "1", template={"tags": {"a": "b"}})
    before = plan("g5.xlarge", "1")
    assert with_launched(before, tagged, None) == (before, tagged, ())


def test_a_machine_reads_its_template_once() -> None:
    machine = "aws:ec2/instance:Instance"
    sides = [plan(each, "$Latest", type_=machine) for each in ("p4d.24xlarge", "g5.xlarge")]
    _, after, notes = with_launched(sides[0], sides[1], None)
    assert after.by_urn()["g"].property_dependencies["launchTemplate"] == ("lt (version $Latest)",)
    assert "does not reach it" in notes[0]


@pytest.mark.parametrize(("refresh", "said"), [({}, 1), ({"instanceRefresh": {"strategy": "Rolling"}}, 0)])
def test_machines_that_nothing_replaces_are_said(refresh: dict[str, Any], said: int) -> None:
    _, notes = launched(plan("p4d.24xlarge", "$Latest"), plan("g5.xlarge", "$Latest", **refresh))
    assert len(notes) == said


@pytest.mark.parametrize(("policy", "said"), [({}, 1), ({"type": "OPPORTUNISTIC"}, 1), ({"type": "PROACTIVE"}, 0)])
def test_a_managed_group_that_replaces_no_machine_by_itself(policy: dict[str, Any], said: int) -> None:
    def side(machine: str) -> Plan:
        template = RecordedResource(urn="t", type=TEMPLATE, name="t", inputs={"machineType": machine})
        manager = RecordedResource(
            urn="m",
            type=MANAGER,
            name="m",
            inputs={"versions": [{"instanceTemplate": UNKNOWN}], "updatePolicy": policy},
            property_dependencies={"versions": ("t",)},
        )
        return Plan(project="p", stack="dev", resources=(template, manager), origin="evaluated")

    _, _, notes = with_launched(side("a2-highgpu-4g"), side("g2-standard-4"), None)
    assert len(notes) == said
