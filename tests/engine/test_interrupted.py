"""Updates that fail, hang, lose their answers or are killed, at every call of a whole stack on each cloud.

A cloud that does its work and never answers leaves what no state knows: a sweep must find it by its tags, and a second
one must not come up beside it where the name is taken. Ended are such things here as a sweep would: by their tags.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time

import harness
import pytest
import refusals

STACKS = ("dev-aws", "dev-gcp", "dev-azure")
SMALL = "ttl-dev-gcp"  # a whole stack of few resources: killed in every run of the tests
TRIES = 24  # more than any stack is deep
IDENTITY = ("sizewell-stack", "sizewell-id")
SOAK = [pytest.param(stack, marks=pytest.mark.soak) for stack in (SMALL, *STACKS)]


def tags_of(inputs):
    """What a sweep reads: tags or labels of any cloud's spelling."""
    for key in ("tags", "userLabels", "resourceLabels", "labels"):
        held = inputs.get(key)
        if isinstance(held, dict) and "managed-by" in held:
            return held
        if isinstance(held, list):
            return {tag["key"]: tag["value"] for tag in held}
    return {}


def standing(engine):
    """(package, id) -> resource, on all clouds."""
    return {(package, key): one for package in harness.PACKAGES for key, one in engine.cloud(package).items()}


def orphans(engine, stack):
    """What stands in the clouds and in no state."""
    ours = {one.get("id") for one in engine.export(stack)}
    return {key: one for key, one in standing(engine).items() if key[1] not in ours}


def sweep(engine, stack):
    """End by their tags what the state does not know; what cannot carry tags goes with what it belongs to."""
    lost = orphans(engine, stack)
    for package in harness.PACKAGES:
        left = {key: one for key, one in engine.cloud(package).items() if (package, key) not in lost}
        (engine.clouds / f"{package}.json").write_text(json.dumps(left))
    return list(lost.values())


def taggable(one):
    import sdk_types

    args = sdk_types.args_class(one["type"])
    known = sdk_types._properties(args) if args else {}
    keys = {"aws": {"tags"}, "gcp": {"labels", "userLabels", "resourceLabels"}, "azure-native": {"tags"}}
    return bool(keys.get(one["type"].partition(":")[0], set()) & known.keys())


def nothing_twice(engine):
    """No two things of one name."""
    own = [refusals.identity(one["type"], one["inputs"]) for one in standing(engine).values()]
    own = [one for one in own if one is not None]
    assert len(own) == len(set(own))


def until_done(engine, run):
    """Run until it succeeds; how many times it failed."""
    for failed in range(TRIES):
        if run().returncode == 0:
            return failed
    raise AssertionError("does not come to an end")


def same_and_gone(engine, stack):
    steps = engine.preview(stack)["steps"]
    changes = [
        (step["op"], step["urn"], step.get("diffReasons")) for step in steps if step["op"] not in ("same", "read")
    ]
    assert changes == []
    nothing_twice(engine)
    engine.destroy(stack)
    assert standing(engine) == {}


@pytest.mark.parametrize("stack", SOAK)
def test_every_creation_fails_once(engine, stack):
    engine.run("stack", "init", stack)
    engine.order({"call": "create", "then": "fail", "each": True, "message": "InsufficientInstanceCapacity"})
    assert until_done(engine, lambda: engine.up(stack, "--continue-on-error", check=False)) >= 2
    assert orphans(engine, stack) == {}
    same_and_gone(engine, stack)


@pytest.mark.parametrize("stack", SOAK)
def test_another_owner_changes_things_where_they_stand(engine, stack):
    """One input of all: updates alone, nothing is built anew, though each of them fails once; a refresh finds no more."""
    engine.run("stack", "init", stack)
    engine.up(stack)
    before = {key: one["urn"] for key, one in standing(engine).items()}
    path = engine.project / "stacks" / "decisions" / f"{stack.removeprefix('ttl-')}.json"
    changed = re.sub(r'"owner": "[^"]+"', '"owner": "another-team"', path.read_text())
    path.write_text(changed)
    engine.order({"call": "update", "then": "fail", "each": True, "message": "Throttling"})
    assert until_done(engine, lambda: engine.up(stack, "--continue-on-error", check=False)) >= 1
    assert {key: one["urn"] for key, one in standing(engine).items()} == before
    engine.run("refresh", "-s", stack, "--yes", "--skip-preview")
    same_and_gone(engine, stack)


@pytest.mark.parametrize("stack", SOAK)
def test_every_deletion_fails_once(engine, stack):
    engine.run("stack", "init", stack)
    engine.up(stack)
    engine.order({"call": "delete", "then": "fail", "each": True, "message": "DependencyViolation"})
    assert until_done(engine, lambda: engine.destroy(stack, "--continue-on-error", check=False)) >= 2
    assert standing(engine) == {}


@pytest.mark.parametrize("stack", SOAK)
def test_the_answer_to_every_deletion_is_lost_once(engine, stack):
    """What is gone already is gone: the next destroy goes on."""
    engine.run("stack", "init", stack)
    engine.up(stack)
    engine.order({"call": "delete", "then": "lose", "each": True})
    until_done(engine, lambda: engine.destroy(stack, "--continue-on-error", check=False))
    assert standing(engine) == {}


@pytest.mark.parametrize("stack", SOAK)
def test_the_answer_to_every_creation_is_lost_once(engine, stack):
    """A second one of a name is refused; whatever else bills is found by its tags; after the sweep the update goes on."""
    engine.run("stack", "init", stack)
    engine.order({"call": "create", "then": "lose", "each": True})
    swept = []

    def update():
        done = engine.up(stack, "--continue-on-error", check=False)
        if done.returncode != 0:
            nothing_twice(engine)
            swept.extend(sweep(engine, stack))
        return done

    until_done(engine, update)
    assert len(swept) > 3
    assert [one["urn"] for one in swept if taggable(one) and not set(IDENTITY) <= tags_of(one["inputs"]).keys()] == []
    same_and_gone(engine, stack)


@pytest.mark.parametrize("stack", [SMALL, *SOAK[1:]])
def test_killed_while_everything_is_under_way(engine, stack):
    """SIGKILL with every creation of a level in flight, level by level: no state knows them, their tags do."""
    engine.run("stack", "init", stack)
    engine.order({"call": "create", "then": "hang", "each": True})
    killed = 0
    for _ in range(TRIES):
        before = len(standing(engine))
        if not killed_when_nothing_moves(engine, stack, before):
            break
        killed += 1
        engine.run("cancel", "-s", stack, "--yes", check=False)  # the lock of the killed one
        nothing_twice(engine)
        for one in sweep(engine, stack):
            if taggable(one):
                assert tags_of(one["inputs"])["sizewell-stack"] == stack, one["urn"]
                assert len(tags_of(one["inputs"])["sizewell-id"]) == 16
        engine.run("refresh", "-s", stack, "--yes", "--skip-preview", "--clear-pending-creates")
    else:
        raise AssertionError(f"does not come to an end in {TRIES} updates")
    assert killed >= 2
    same_and_gone(engine, stack)


def killed_when_nothing_moves(engine, stack, before):
    """Start an update and kill it once its cloud has done all it was asked and no more comes; False where it ended."""
    process = subprocess.Popen(
        ["pulumi", "up", "-s", stack, "--yes", "--skip-preview", "--non-interactive"],
        cwd=engine.project,
        env=engine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    last, since = before, time.monotonic()
    deadline = time.monotonic() + 240
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.5)
        now = len(standing(engine))
        if now != last:
            last, since = now, time.monotonic()
        elif now > before and time.monotonic() - since > 6:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
    assert process.poll() is not None, "neither ends nor makes anything"
    assert process.returncode == 0
    return False
