"""A stack export is read whole: what teardown needs and a price does not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sizewell.recording.sources import read_full_state
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.errors import UsageError

PREVIEW_FIXTURES = Path(__file__).parents[1] / "preview" / "fixtures"


def urn(name: str) -> str:
    return f"urn:pulumi:dev::shop::aws:s3/bucket:Bucket::{name}"


def exported(**deployment: object) -> str:
    return json.dumps({"version": 3, "deployment": deployment})


def test_what_an_export_says_of_a_resource_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x"}
    whole = {
        "urn": urn("a"),
        "type": "aws:s3/bucket:Bucket",
        "custom": True,
        "id": "bucket-a",
        "inputs": {"bucket": "bucket-a", "password": secret},
        "outputs": {"arn": "arn:aws:s3:::bucket-a"},
        "parent": "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev",
        "provider": "urn:pulumi:dev::shop::pulumi:providers:aws::default_7::1",
        "dependencies": [urn("key")],
        "deletedWith": urn("cluster"),
        "protect": True,
        "retainOnDelete": True,
        "pendingReplacement": True,
        "created": "2026-11-02T10:00:00.5Z",
        "modified": "2026-11-03T12:00:00+02:00",
        "initErrors": ["not ready"],
    }
    manifest = {"time": "2026-11-04T01:02:03Z", "version": "v3.260.0"}
    path.write_text(exported(manifest=manifest, resources=[whole]))
    state = read_full_state(path)
    assert (state.project, state.stack, state.engine) == ("shop", "dev", "v3.260.0")
    assert state.saved == datetime(2026, 11, 4, 1, 2, 3, tzinfo=UTC)
    (entry,) = state.resources
    assert (entry.id, entry.name, entry.type, entry.custom) == ("bucket-a", "a", "aws:s3/bucket:Bucket", True)
    assert entry.inputs == {"bucket": "bucket-a", "password": UNKNOWN}
    assert entry.secret_paths == ("inputs.password",)
    assert entry.outputs == {"arn": "arn:aws:s3:::bucket-a"}
    assert (entry.parent, entry.provider) == (whole["parent"], whole["provider"])
    assert (entry.dependencies, entry.deleted_with) == ((urn("key"),), urn("cluster"))
    assert entry.protect
    assert entry.retain_on_delete
    assert entry.pending_replacement
    assert entry.created == datetime(2026, 11, 2, 10, 0, 0, 500_000, tzinfo=UTC)
    assert entry.modified == datetime(2026, 11, 3, 10, tzinfo=UTC)
    assert entry.init_errors == ("not ready",)


def test_what_waits_for_deletion_is_external_or_was_begun_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    one = {"urn": urn("a"), "type": "aws:s3/bucket:Bucket", "custom": True}
    path.write_text(
        exported(
            resources=[{**one, "id": "new"}, {**one, "id": "old", "delete": True}, {**one, "external": True}],
            pending_operations=[{"type": "creating", "resource": {**one, "urn": urn("b")}}],
        )
    )
    state = read_full_state(path)
    assert [(entry.id, entry.delete, entry.external) for entry in state.resources] == [
        ("new", False, False),
        ("old", True, False),
        ("", False, True),
    ]
    (operation,) = state.pending_operations
    assert (operation.type, operation.resource.name) == ("creating", "b")


def test_a_stack_killed_at_its_first_resource_has_a_name(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    resource = {"urn": urn("b"), "type": "aws:s3/bucket:Bucket", "custom": True}
    path.write_text(exported(resources=[], pending_operations=[{"type": "creating", "resource": resource}]))
    assert (read_full_state(path).project, read_full_state(path).stack) == ("shop", "dev")


def test_the_engine_s_own_export() -> None:
    state = read_full_state(PREVIEW_FIXTURES / "state.json")
    assert any(entry.type == "pulumi:pulumi:Stack" for entry in state.resources)
    assert any(entry.type.startswith("pulumi:providers:") for entry in state.resources)
    assert state.saved is None or state.saved.tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"version": 3}', "it has no `deployment`"),
        ('{"deployment": {"resources": [{"urn": "x"}]}}', "a resource has no URN and type"),
        ('{"deployment": {"pending_operations": [{"resource": {}}]}}', "a pending operation has no type"),
        ('{"deployment": {"resources": [{"urn"', "state.json"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_full_state(path)
