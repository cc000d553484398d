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

import harness
import pytest
from refusals import DELETION_PROTECTION
from test_interrupted import TRIES, nothing_twice, standing, tags_of, until_done

from sizewell.components.tags import sizewell_id
from sizewell.reconcile.adoption import Sorted, why_kept
from sizewell.reconcile.reconciler import Comparison, Reconciler
from sizewell.sizing.errors import ServiceError
from sizewell.teardown.backend import Backend
from sizewell.teardown.things import TAG, Thing

EXAMPLES = sorted(path.name.split(".")[1] for path in (harness.ROOT / "stacks/config").glob("Pulumi.*.yaml"))
SMALL = "ttl-dev-gcp"
KILLS = 30
MANY = 30  # things that an update may have built between the moment for its kill and the kill
# Their decisions have no workload that saves: nothing is built.
NO_STORES = ("checkpoints-dev-azure", "checkpoints-dev-gcp", "checkpoints-prod-azure", "checkpoints-prod-gcp")
# Google deletes neither; they bill nothing. A second service identity is the same one, a second key ring has another name.
FOR_EVER = ("gcp:projects/serviceIdentity:ServiceIdentity", "gcp:kms/keyRing:KeyRing")


# As the tagging API's page says of roles; the others of IAM are listed in one region alone.
UNLISTED = ("aws:iam/role:Role", "aws:iam/instanceProfile:InstanceProfile", "aws:iam/policy:Policy")


def reconciler(engine, stack):
    """As the command makes it, but that the clouds are the stand-ins': what a sweep by the tag would list."""

    def things(state):
        listed = [(key, each) for (_, key), each in standing(engine).items() if each["type"] not in UNLISTED]
        tagged = [(key, tags_of(each["inputs"]), each["type"]) for key, each in listed]
        return [Thing(identity=key, kind=kind, tags=tags) for key, tags, kind in tagged if tags.get(TAG) == stack]

    def identity_of(kind, name):
        return sizewell_id(project="sizewell", stack=stack, type_token=kind, name=name)

    backend = Backend(root=engine.project, environment=engine.environment)
    return Reconciler(backend=backend, stack=stack, project="sizewell", things=things, identity_of=identity_of)


def state_file(engine, stack):
    return engine.project.parent / "backend/.pulumi/stacks/sizewell" / f"{stack}.json"


def in_state(engine, stack):
    """The resources and pending operations of a state as the backend's file has it: an export takes half a second."""
    latest = json.loads(state_file(engine, stack).read_text())["checkpoint"].get("latest") or {}
    return latest.get("resources") or [], latest.get("pending_operations") or []


def unknown(engine, stack):
    """What stands in the clouds and in no state, by what the stand-ins know and no sweep does."""
    ours = {each.get("id") for each in in_state(engine, stack)[0]}
    lost = [each for (_, key), each in standing(engine).items() if key not in ours]
    return [each["urn"] for each in lost if each["type"] not in FOR_EVER]


def count_standing(engine):
    """How many things stand, without reading what they are: this is asked every few milliseconds."""
    return sum(path.read_bytes().count(b'"urn": ') for path in engine.clouds.glob("*.json"))


def killed(engine, stack, *, at, one_by_one):
    """Start an update and kill it, and its plugins, once `at` things stand; False where it came to its end."""
    parallel = ("--parallel", "1") if one_by_one else ()
    process = subprocess.Popen(
        ["pulumi", "up", "-s", stack, "--yes", "--skip-preview", "--non-interactive", *parallel],
        cwd=engine.project, env=engine.environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 400
    while process.poll() is None and time.monotonic() < deadline:
        if count_standing(engine) >= at:
            os.killpg(process.pid, signal.SIGSTOP)  # at once: to find its hosts takes longer than the next thing does
            hosts = children(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for host in hosts:  # a language host of a dead engine waits for ever
                with contextlib.suppress(ProcessLookupError):
                    os.kill(host, signal.SIGKILL)
            settle()
            mended(engine, stack)
            shutil.rmtree(engine.project.parent / "backend/.pulumi/locks", ignore_errors=True)  # as `pulumi cancel`
            return True
        time.sleep(0.005)
    assert process.returncode == 0, "neither ends nor makes anything"
    return False


def mended(engine, stack):
    """Where the kill met the engine as it wrote its state: what it notes beside each file (`.attrs`) is no part of a
    state and goes where it is cut off; then the newest whole state that the backend keeps.
    """
    root, path = engine.project.parent / "backend/.pulumi", state_file(engine, stack)
    for notes in root.rglob("*.attrs"):
        if notes.stat().st_size == 0:
            notes.unlink()
    if is_whole(path):
        return
    with pytest.raises(ServiceError, match=r"\.bak"):
        Backend(root=engine.project, environment=engine.environment).export(stack, engine.clouds / "state")
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
    """What carries no tag and has no identity of its own was told as such, and so was what its provider does not import:
    a person ends it. How many there were.
    """
    left = set(unknown(engine, stack))
    refused = {thing.identity for thing, _ in found.sorted.refused}
    told = {*found.sorted.unseen, *(each["urn"] for (_, key), each in standing(engine).items() if key in refused)}
    assert left <= told, left - told
    end(engine, {key for (_, key), each in standing(engine).items() if each["urn"] in left})
    return len(left)


def end(engine, keys):
    """As a person does, in the cloud."""
    for package in harness.PACKAGES:
        held = engine.cloud(package)
        if keys & held.keys():
            kept = {key: each for key, each in held.items() if key not in keys}
            (engine.clouds / f"{package}.json").write_text(json.dumps(kept))


def children(parent):
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.parent.name))
    return found


def settle():
    """Stand-ins and programs of a dead engine end some time after it; what they had begun is done then."""
    deadline = time.monotonic() + 60
    while any(children(process.pid) for process in harness.SERVING):
        assert time.monotonic() < deadline, "a stand-in outlives its engine"
        time.sleep(0.02)


def in_order(engine, stack, how, held=None):
    """Reconcile, and look again; how many things were in no state. What hangs on an orphan (a bucket's policy) is met
    once that is in the state.
    """
    met = 0
    for _ in range(4):
        nothing_twice(engine)
        held = held or reconciler(engine, stack)
        found = held.look()
        assert found.fault == ""
        assert found.sorted.duplicates == ()
        assert found.sorted.unmatched == ()
        met += len(found.sorted.matches)
        if not found.sorted.matches and not found.sorted.pending:
            break
        if how == "adopt" or all(match.by_name_alone for match in found.sorted.matches):
            held.adopt_matches(found.sorted.matches)
        else:
            held.delete(found, data=True, environment={})
        settle()
        if not unknown(engine, stack) and not in_state(engine, stack)[1]:
            break
    return met, by_hand(engine, stack, found)


def kill_and_reconcile(engine, stack, how, kills):
    """How many kills there were, on the way to how many resources; how many things were in no state, and how many of them
    could not be seen.

    The kills are spread over everything that the stack is to have: while much is left many things are under way, later
    one, so that none of the points is passed.
    """
    engine.run("stack", "init", stack)
    steps = engine.preview(stack)["steps"]
    total = sum(step["op"] == "create" and stands_in_a_cloud(step["newState"]) for step in steps)
    count, orphans, missed = 0, 0, 0
    while count < kills:
        stands, left_to_kill = count_standing(engine), kills - count
        step = max(1, (total - stands) // (left_to_kill + 1))
        one_by_one = total - stands < left_to_kill + MANY
        if not killed(engine, stack, at=stands + step, one_by_one=one_by_one):
            break
        count += 1
        met, untagged = in_order(engine, stack, how)
        orphans, missed = orphans + met, missed + untagged
    assert engine.up(stack, check=False).returncode == 0
    assert unknown(engine, stack) == []
    gone(engine, stack)
    return count, total, orphans, missed


def stands_in_a_cloud(resource):
    return resource["custom"] and not resource["type"].startswith("pulumi:")


def unlocked(engine):
    """Production's clusters refuse to go until a person lifts their deletion protection, which is done here."""
    for path in engine.clouds.glob("*.json"):
        text = path.read_text()
        for key in DELETION_PROTECTION:
            text = text.replace(f'"{key}": true', f'"{key}": false')
        path.write_text(text)


def gone(engine, stack):
    """Nothing is left to do, nothing stands twice, and a destroy leaves nothing."""
    assert {step["op"] for step in engine.preview(stack)["steps"]} <= {"same", "read"}
    nothing_twice(engine)
    unlocked(engine)
    engine.destroy(stack, "--exclude-protected")
    protected = {each["urn"] for each in in_state(engine, stack)[0] if each.get("protect")}
    left = [each for each in standing(engine).values() if each["type"] not in FOR_EVER]
    assert {each["urn"] for each in left} <= protected


@pytest.mark.parametrize("how", ["adopt", pytest.param("delete", marks=pytest.mark.soak)])
def test_an_update_that_was_killed(engine, how):
    kills = 1 if how == "adopt" else 2
    count, *_ = kill_and_reconcile(engine, SMALL, how, kills)
    assert count == kills


def lose(engine, stack, folder):
    """A state of which nothing stands, as after a destroy, or in place of one that was lost."""
    held = json.loads(engine.run("stack", "export", "-s", stack).stdout)
    held["deployment"]["resources"] = []
    (folder / "empty.json").write_text(json.dumps(held))
    engine.run("stack", "import", "-s", stack, "--file", str(folder / "empty.json"))


@pytest.mark.parametrize(
    "stack", [SMALL, *[pytest.param(stack, marks=pytest.mark.soak) for stack in ("checkpoints-dev-aws", "dev-azure")]]
)
def test_a_state_that_was_lost_is_adopted_anew(engine, stack, tmp_path):
    """Its provider is in no state either. What no tag and no name shows is created again, and nothing twice."""
    engine.run("stack", "init", stack)
    engine.up(stack)
    before = {key for key, each in standing(engine).items() if tags_of(each["inputs"]) and each["type"] not in UNLISTED}
    lose(engine, stack, tmp_path)
    held = reconciler(engine, stack)
    found = held.look()
    assert (found.fault, found.sorted.duplicates, found.sorted.unmatched) == ("", (), ())
    assert found.things == len(found.sorted.matches) + len(found.sorted.refused) == len(before) > 0
    before -= {("gcp", thing.identity) for thing, _ in found.sorted.refused}
    held.adopt(found)
    in_order(engine, stack, "adopt", held)  # what only its name shows to be the stack's is listed now, and adopted
    assert before <= {(each["type"].partition(":")[0], each.get("id")) for each in in_state(engine, stack)[0]}
    engine.up(stack)
    assert {key for key, each in standing(engine).items() if tags_of(each["inputs"])} >= before
    gone(engine, stack)


def test_a_stack_that_was_destroyed_has_nothing_to_adopt(engine):
    """Also where a cloud still lists the tags of what is gone."""
    engine.run("stack", "init", SMALL)
    engine.up(SMALL)
    before = reconciler(engine, SMALL)
    listed = before.things(before._state())
    engine.destroy(SMALL)
    found = reconciler(engine, SMALL).look()
    assert found == Comparison(things=0, sorted=Sorted(matches=(), duplicates=(), unmatched=(), pending=()))
    after = reconciler(engine, SMALL)
    after.things = lambda _: listed
    found = after.look()
    refused = [thing for thing, _ in found.sorted.refused]  # of what no provider imports, none says that it is gone
    assert (found.orphans, found.sorted.unseen, found.sorted.pending) == (len(refused), (), ())
    assert {thing.identity for thing in found.sorted.gone} == {each.identity for each in listed if each not in refused}
    assert len(found.sorted.gone) > len(refused)


def test_what_a_protected_resource_depends_on_is_not_destroyed(engine):
    """The engine takes no --exclude-protected beside --target: it destroys what it can and fails."""
    engine.run("stack", "init", SMALL)
    engine.up(SMALL)
    state = reconciler(engine, SMALL)._state()
    topic = next(each for each in state.resources if each.type == "gcp:pubsub/topic:Topic")
    alone = next(each for each in state.resources if each.type == "gcp:monitoring/alertPolicy:AlertPolicy")
    above = next(each for each in state.resources if topic.urn in each.dependencies and each.id)
    engine.run("state", "protect", above.urn, "-s", SMALL, "--yes")
    held, before = reconciler(engine, SMALL), standing(engine)
    assert why_kept(topic.urn, held._state(), data=True) == f"{above.name} depends on it and is protected"
    assert why_kept(alone.urn, held._state(), data=True) == ""
    held.backend.destroy_some(SMALL, [alone.urn], environment={})
    assert standing(engine).keys() == before.keys() - {("gcp", alone.id)}
    with pytest.raises(ServiceError, match="because it is protected"):
        held.backend.destroy_some(SMALL, [topic.urn], environment={})
    assert {("gcp", topic.id), ("gcp", above.id)} <= standing(engine).keys()


@pytest.mark.soak
@pytest.mark.parametrize("stack", EXAMPLES)
def test_an_update_killed_at_thirty_points(engine, stack):
    """One that has fewer resources is killed at each of them."""
    count, total, orphans, missed = kill_and_reconcile(engine, stack, "adopt", KILLS)
    print(
        f"{stack}: killed {count} times on its way to {total} resources, {orphans} things were in no state, {missed} of"
        " them could not be seen, and were named"
    )
    assert count >= 2 or stack in NO_STORES


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
            found = held.look()
            held.adopt(found)
            end(engine, {thing.identity for thing, _ in found.sorted.refused})
        return done

    assert until_done(engine, update) <= TRIES
    gone(engine, stack)
