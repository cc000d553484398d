"""`reconcile` on a backend of the real engine, with the cloud's answer given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sizewell.components.tags import sizewell_id
from sizewell.teardown import gather
from sizewell.teardown.things import Thing
from tests.teardown import world

from .conftest import Sizewell
from .test_keep import ROLE, Project, project, pytestmark  # noqa: F401  (a fixture, and where the engine is missing)

VPC = "aws:ec2/vpc:Vpc"


def tagged(identity: str, name: str) -> Thing:
    tag = sizewell_id(project="sizewell", stack="dev-aws", type_token=VPC, name=name)
    return Thing(identity=identity, kind="ec2 vpc", region="us-east-1", tags={"sizewell-id": tag})


def begun(project: Project, *names: str) -> None:  # noqa: F811
    """The state of an update that was killed while these were created."""
    project.stack("dev-aws", ROLE)
    path = project.folder / "backend/.pulumi/stacks/sizewell/dev-aws.json"  # an import of a state would drop them
    held = json.loads(path.read_text())
    held["checkpoint"]["latest"]["pending_operations"] = [
        {"type": "creating", "resource": {"urn": world.urn("dev-aws", VPC, name), "type": VPC, "custom": True}}
        for name in names
    ]
    path.write_text(json.dumps(held))


def code(done: Any, wanted: int) -> Any:
    assert done.code == wanted, done
    return done


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> list[Thing]:
    things: list[Thing] = []
    monkeypatch.setattr(gather.StatusReader, "cloud", lambda *_: None)
    monkeypatch.setattr("sizewell.teardown.orphans.in_cloud", lambda *_: things)
    return things


def test_what_a_killed_update_left_is_listed_and_nothing_changes(
    sizewell: Sizewell, project: Project, cloud: list[Thing]  # noqa: F811
) -> None:  # fmt: skip
    begun(project, "net", "never")
    cloud += [tagged("arn:aws:ec2:us-east-1:1:vpc/vpc-1", "net"), Thing(identity="vpc-9", kind="ec2 vpc", tags={})]
    refused = code(sizewell("reconcile", "dev-aws"), 64)
    assert "sizewell:accounts is not set" in refused.err
    project.pulumi("config", "set", "--path", "sizewell:accounts[0]", world.ACCOUNT, "--stack", "dev-aws")
    before = project.pulumi("stack", "export", "--stack", "dev-aws")
    listed = code(sizewell("reconcile", "dev-aws"), 6)
    assert "adopt as net" in listed.out
    assert "no resource of the stack" in listed.out
    assert "2 resources have the tag of dev-aws; 2 are not in the state" in listed.out
    assert "never" in listed.out
    data: Any = json.loads(code(sizewell("reconcile", "dev-aws", "--delete", "--json"), 6).out)
    assert data["schema"] == "sizewell.reconciliation/1"
    assert [each["identity"] for each in data["matched"]] == ["vpc-1"]
    assert [each["identity"] for each in data["unmatched"]] == ["vpc-9"]
    assert project.pulumi("stack", "export", "--stack", "dev-aws") == before
    assert "give one of the two" in code(sizewell("reconcile", "dev-aws", "--yes"), 64).err


def test_adopted_is_under_the_lock_and_with_a_record(
    sizewell: Sizewell, project: Project, cloud: list[Thing], monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    begun(project, "net")
    project.pulumi("config", "set", "--path", "sizewell:accounts[0]", world.ACCOUNT, "--stack", "dev-aws")
    cloud.append(tagged("vpc-1", "net"))
    files: list[Any] = []

    def import_resources(_: Any, stack: str, path: Any) -> str:
        files.append(json.loads(path.read_text()))
        return ""

    monkeypatch.setattr("sizewell.teardown.act.import_resources", import_resources)
    monkeypatch.setattr("sizewell.teardown.act.forget_pending", lambda *_: "")
    code(sizewell("reconcile", "dev-aws", "--adopt", "--yes"), 6)
    ((imported,),) = [file["resources"] for file in files]
    assert (imported["type"], imported["logicalName"], imported["id"]) == (VPC, "net", "vpc-1")
    records = [json.loads(path.read_text()) for path in sorted((project.folder / "journal/journal").glob("*.json"))]
    assert [(record["kind"], record["action"]) for record in records] == [("begin", "adopt"), ("done", "adopt")]


def test_deleted_is_what_nothing_of_value_depends_on(
    sizewell: Sizewell, project: Project, cloud: list[Thing], monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:  # fmt: skip
    """What was adopted and not deleted is said with its reason."""
    begun(project, "net")
    project.pulumi("config", "set", "--path", "sizewell:accounts[0]", world.ACCOUNT, "--stack", "dev-aws")
    cloud += [tagged("vpc-1", "net")]
    adopted, reason = (
        project.folder / "backend/.pulumi/stacks/sizewell/dev-aws.json",
        "x depends on it and is protected",
    )

    def import_resources(*_: Any) -> str:
        held = json.loads(adopted.read_text())
        resource = {"urn": world.urn("dev-aws", VPC, "net"), "type": VPC, "custom": True, "id": "vpc-1"}
        held["checkpoint"]["latest"]["resources"].append(resource)
        del held["checkpoint"]["latest"]["pending_operations"]
        adopted.write_text(json.dumps(held))
        return ""

    monkeypatch.setattr("sizewell.teardown.act.import_resources", import_resources)
    monkeypatch.setattr("sizewell.teardown.act.destroy_some", lambda *_, **__: pytest.fail("was destroyed"))
    monkeypatch.setattr("sizewell.reconcile.reconciler.why_kept", lambda *_, **__: reason)
    done = sizewell("reconcile", "dev-aws", "--delete", "--yes")
    assert f"adopted, not deleted: {VPC} net: {reason}" in done.out
