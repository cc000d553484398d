"""`up` killed again and again, each time put in order by `reconcile`: nothing is built twice, nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from test_interrupted import TRIES, nothing_twice, standing, tags_of, until_done

from sizewell.components.tags import sizewell_id
from sizewell.sizing.errors import ServiceError
from sizewell.teardown.backend import Backend
from sizewell.teardown.orphans import TAG, Thing
from sizewell.teardown.reconcile import Reconciler

EXAMPLES = ("dev-aws", "dev-gcp", "dev-azure", "checkpoints-dev-aws", "ttl-dev-aws", "ttl-dev-azure")
SMALL = "ttl-dev-gcp"
KILLS = 30
# Google deletes neither; they bill nothing. A second service identity is the same one, a second key ring has another name.
FOR_EVER = ("gcp:projects/serviceIdentity:ServiceIdentity", "gcp:kms/keyRing:KeyRing")


def reconciler(engine, stack):
    """As the command makes it, but that the clouds are the stand-ins': what a sweep by the tag would list."""

    def things(state):
        tagged = [(key, tags_of(each["inputs"]), each["type"]) for (_, key), each in standing(engine).items()]
        return [Thing(identity=key, kind=kind, tags=tags) for key, tags, kind in tagged if tags.get(TAG) == stack]

    def identity_of(kind, name):
        return sizewell_id(project="sizewell", stack=stack, type_token=kind, name=name)

    backend = Backend(root=engine.project, environment=engine.environment)
    return Reconciler(backend=backend, stack=stack, things=things, identity_of=identity_of)


def unknown(engine, stack):
    """What stands in the clouds and in no state, by what the stand-ins know and no sweep does."""
    ours = {each.get("id") for each in engine.export(stack)}
    lost = [each for (_, key), each in standing(engine).items() if key not in ours]
    return [each["urn"] for each in lost if each["type"] not in FOR_EVER]


def killed(engine, stack, *, after):
    """Start an update and kill it, and its plugins, once `after` more things stand; False where it came to its end."""
    before = len(standing(engine))
    process = subprocess.Popen(
        ["pulumi", "up", "-s", stack, "--yes", "--skip-preview", "--non-interactive"],
        cwd=engine.project, env=engine.environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 400
    while process.poll() is None and time.monotonic() < deadline:
        if len(standing(engine)) >= before + after:
            hosts = children(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for host in hosts:  # a language host of a dead engine waits for ever
                with contextlib.suppress(ProcessLookupError):
                    os.kill(host, signal.SIGKILL)
            settle(engine)
            mended(engine, stack)
            engine.run("cancel", "-s", stack, "--yes")  # the lock of the killed one
            return True
        time.sleep(0.01)
    assert process.returncode == 0, "neither ends nor makes anything"
    return False


def mended(engine, stack):
    """Where the kill met the engine as it wrote its state: what it notes beside each file (`.attrs`) is no part of a
    state and goes where it is cut off; then the newest whole state that the backend keeps.
    """
    for path in (engine.project.parent / "backend/.pulumi").rglob("*.attrs"):
        if path.stat().st_size == 0:
            path.unlink()
    try:
        Backend(root=engine.project, environment=engine.environment).export(stack, engine.clouds / "state")
    except ServiceError as error:
        assert ".bak" in str(error)  # noqa: PT017  (nothing is wrong where there is none)
        root = engine.project.parent / "backend/.pulumi"
        path = root / "stacks/sizewell" / f"{stack}.json"
        kept = [*path.parent.glob(f"{stack}.json.*"), *(root / "backups/sizewell" / stack).glob("*.json*")]
        whole = [each for each in kept if not each.name.endswith(".attrs") and is_whole(each)]
        assert whole, [(each.name, each.stat().st_size) for each in kept]
        shutil.copy(max(whole, key=lambda each: each.stat().st_mtime), path)


def is_whole(path):
    try:
        return "checkpoint" in json.loads(path.read_text())
    except ValueError:
        return False


def by_hand(engine, stack, found):
    """What carries no tag and has no identity of its own was told as such: a person ends it. How many there were."""
    left = set(unknown(engine, stack))
    assert left <= set(found.sorted.unseen), left - set(found.sorted.unseen)
    for package, key in [key for key, each in standing(engine).items() if each["urn"] in left]:
        kept = {other: each for other, each in engine.cloud(package).items() if other != key}
        (engine.clouds / f"{package}.json").write_text(json.dumps(kept))
    return len(left)


def children(parent):
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.parent.name))
    return found


def settle(engine):
    """Stand-ins end some time after their engine; what they had begun is done then."""
    last, since = len(standing(engine)), time.monotonic()
    while time.monotonic() - since < 2.5:
        time.sleep(0.1)
        if (now := len(standing(engine))) != last:
            last, since = now, time.monotonic()


def in_order(engine, stack, how):
    """Reconcile, and look again; how many things were in no state. What hangs on an orphan (a bucket's policy) is met
    once that is in the state.
    """
    met = 0
    for _ in range(4):
        nothing_twice(engine)
        held = reconciler(engine, stack)
        found = held.look()
        assert found.fault == ""
        assert found.sorted.duplicates == ()
        assert found.sorted.unmatched == ()
        met += len(found.sorted.matches)
        if not found.sorted.matches and not found.sorted.pending:
            break
        if how == "adopt" or all(match.by_name_alone for match in found.sorted.matches):
            held.take_in(found)
        else:
            held.delete(found, data=True, environment={})
        settle(engine)
    return met, by_hand(engine, stack, found)


def kill_and_reconcile(engine, stack, how, kills):
    """How many times it was killed, and how many things were in no state."""
    engine.run("stack", "init", stack)
    count, orphans, missed = 0, 0, 0
    while count < kills and killed(engine, stack, after=1 + count % 3):
        count += 1
        met, untagged = in_order(engine, stack, how)
        orphans, missed = orphans + met, missed + untagged
    assert engine.up(stack, check=False).returncode == 0
    assert unknown(engine, stack) == []
    gone(engine, stack)
    return count, orphans, missed


def gone(engine, stack):
    """Nothing is left to do, nothing stands twice, and a destroy leaves nothing."""
    assert {step["op"] for step in engine.preview(stack)["steps"]} <= {"same", "read"}
    nothing_twice(engine)
    engine.destroy(stack, "--exclude-protected")
    protected = {each["urn"] for each in engine.export(stack) if each.get("protect")}
    left = [each for each in standing(engine).values() if each["type"] not in FOR_EVER]
    assert {each["urn"] for each in left} <= protected


@pytest.mark.parametrize("how", ["adopt", pytest.param("delete", marks=pytest.mark.soak)])
def test_an_update_that_was_killed(engine, how):
    kills = 1 if how == "adopt" else 2
    count, _, _ = kill_and_reconcile(engine, SMALL, how, kills)
    assert count == kills


@pytest.mark.soak
@pytest.mark.parametrize("stack", EXAMPLES)
def test_an_update_killed_at_thirty_points(engine, stack):
    """By turns a few and many are under way; one that has fewer resources is killed until it is built."""
    count, orphans, missed = kill_and_reconcile(engine, stack, "adopt", KILLS)
    print(
        f"{stack}: killed {count} times, {orphans} things were in no state, {missed} of them could not be seen, and were named"
    )
    assert count >= 2


@pytest.mark.soak
@pytest.mark.parametrize("stack", [SMALL, "checkpoints-dev-aws", "dev-azure", "ttl-dev-aws"])
def test_answers_that_were_lost_are_adopted(engine, stack):
    """The engine saw an error and keeps nothing of it: the program and the tags say what each thing is."""
    engine.run("stack", "init", stack)
    engine.order({"call": "create", "then": "lose", "each": True})

    def update():
        done = engine.up(stack, "--continue-on-error", check=False)
        if done.returncode != 0:
            held = reconciler(engine, stack)
            held.take_in(held.look())
        return done

    assert until_done(engine, update) <= TRIES
    gone(engine, stack)
