"""The act that destroys, by the real engine: from the state alone, protected things left, the export kept."""

from __future__ import annotations

import json
import shutil

import harness
import pytest

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act
from sizewell.teardown.backend import Backend

STORES, SMALL = "checkpoints-dev-aws", "ttl-dev-gcp"


def backend_of(engine, **more):
    return Backend(root=engine.project, environment={**engine.environment, **more})


def standing(engine):
    return {(package, key): one for package in harness.PACKAGES for key, one in engine.cloud(package).items()}


def without_program(engine):
    """A program that no longer evaluates."""
    (engine.project / "stacks" / "__main__.py").write_text("raise SystemExit('this program is broken')\n")


def test_a_stack_is_destroyed_from_its_state_alone(engine, tmp_path):
    for stack in (SMALL, STORES):
        engine.run("stack", "init", stack)
        engine.up(stack)
    backend = backend_of(engine)
    assert [(stack.name, stack.updating) for stack in backend.stacks()] == [(STORES, False), (SMALL, False)]
    without_program(engine)
    protected = {key for key, one in standing(engine).items() if f":{STORES}::" in one["urn"]}
    assert set() < protected < set(standing(engine))
    act.destroy(backend, SMALL, kept=tmp_path / "exports/ttl.json", environment={})
    assert set(standing(engine)) == protected
    export = json.loads((tmp_path / "exports/ttl.json").read_text())
    assert len(export["deployment"]["resources"]) > 5
    assert (tmp_path / "exports/ttl.json").stat().st_mode & 0o077 == 0
    stays = {resource["id"] for resource in engine.export(STORES) if resource.get("protect") and resource.get("id")}
    act.destroy(backend, STORES, kept=tmp_path / "exports/stores.json", environment={})  # and the engine says no fault
    assert len(stays) > 3
    assert stays <= {key for _, key in standing(engine)}
    assert stays <= {resource.get("id") for resource in engine.export(STORES)}


@pytest.mark.parametrize("passphrase", ["wrong", pytest.param("", marks=pytest.mark.soak)])
def test_without_its_passphrase_nothing_is_touched(engine, tmp_path, passphrase):
    """The export succeeds without it."""
    engine.run("stack", "init", SMALL)
    engine.run("config", "set", "--secret", "other:hook", "https://hooks.example/x", "-s", SMALL)
    engine.up(SMALL)
    before = standing(engine)
    with pytest.raises(ServiceError, match="passphrase"):
        act.destroy(
            backend_of(engine, PULUMI_CONFIG_PASSPHRASE=passphrase), SMALL, kept=tmp_path / "x.json", environment={}
        )
    assert standing(engine) == before


def test_an_engine_s_lock_and_a_failing_deletion_are_said_and_taken_up(engine, tmp_path):
    engine.run("stack", "init", SMALL)
    engine.up(SMALL)
    folder = tmp_path / "backend" / ".pulumi" / "locks" / "organization" / "sizewell" / SMALL
    folder.mkdir(parents=True, exist_ok=True)
    lock = {"pid": 1, "username": "x", "hostname": "y", "timestamp": "2026-11-20T12:00:00Z"}
    (folder / "11111111-1111-1111-1111-111111111111.json").write_text(json.dumps(lock))
    before = standing(engine)
    with pytest.raises(ServiceError, match="lock"):
        act.destroy(backend_of(engine), SMALL, kept=tmp_path / "x.json", environment={})
    assert standing(engine) == before
    (folder / "11111111-1111-1111-1111-111111111111.json").unlink()
    engine.order({"call": "delete", "then": "fail", "message": "DependencyViolation"})
    with pytest.raises(ServiceError, match="DependencyViolation"):
        act.destroy(backend_of(engine), SMALL, kept=tmp_path / "x.json", environment={})
    act.destroy(backend_of(engine), SMALL, kept=tmp_path / "x.json", environment={})
    assert standing(engine) == {}


def test_the_schedule_comes_up_by_its_example_and_goes(tmp_path):
    """examples/teardown under the real engine and the policy pack; a second preview changes nothing."""
    source = harness.ROOT / "examples/teardown"
    laid = tmp_path / "source"
    (laid / "stacks").mkdir(parents=True)
    shutil.copy(source / "__main__.py", laid / "stacks")
    stated = (source / "Pulumi.yaml").read_text(encoding="utf-8")
    (laid / "Pulumi.yaml").write_text(f"main: stacks/\n{stated}", encoding="utf-8")
    engine = harness.project(tmp_path, source=laid)
    shutil.copy(source / "Pulumi.teardown.yaml", engine.project)
    pack = shutil.ignore_patterns("__pycache__")
    shutil.copytree(harness.ROOT / "policy", engine.project / "policy", ignore=pack)
    engine.run("stack", "init", "teardown")
    said = engine.up("teardown", "--policy-pack", "policy").stdout
    assert "[mandatory]" not in said
    made = {one["type"].rsplit(":", 1)[-1] for one in engine.cloud("aws").values()}
    assert {"Schedule", "TaskDefinition", "Role"} <= made
    outputs = json.loads(engine.run("stack", "output", "-s", "teardown", "--json").stdout)
    assert set(outputs["deletes"]) == {"dev", "staging"}
    assert set(engine.preview("teardown")["changeSummary"]) == {"same"}
    engine.destroy("teardown")
    assert engine.cloud("aws") == {}
