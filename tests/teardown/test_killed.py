"""SIGKILL before, during and after each call that changes something: a run, a reconciliation, a lock, a publication.

The world is on disk: what a process had done when it was killed is what the next one finds.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sizewell.launch.scripts.store import FileStore
from sizewell.reconcile.adoption import Wanted
from sizewell.reconcile.reconciler import Reconciler
from sizewell.recording.sources.state import State, StateResource
from sizewell.sizing.catalog import load
from sizewell.teardown import act, acting, run, saves
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.backend import Backend
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import HeldError, Journal, connect
from sizewell.teardown.orphans import unknown_to
from sizewell.teardown.records import Counted, Series
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.things import Thing
from tests.teardown import world
from tests.teardown.job_programs import checkpoint
from tests.teardown.job_programs import store as job_store
from tests.teardown.world import Shelf, ShelfBackend

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=4)  # longer than a lock is held
CATALOG = load()
POOLS, ENDED, VPCS = 9, 3, 8


class Disk:
    """What stands: one JSON document, replaced whole at each change."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "world.json"

    def read(self) -> dict[str, Any]:
        return json.loads(self.path.read_text())  # type: ignore[no-any-return]

    def write(self, content: dict[str, Any]) -> None:
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(content))
        temporary.replace(self.path)


class Killer:
    """Counts moments; at one of them the process is no more."""

    def __init__(self, at: int) -> None:
        self.at, self.moments = at, 0

    def moment(self) -> None:
        self.moments += 1
        if self.moments == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def child(work: Callable[[Killer], None], at: int) -> int:
    """Run in a process of its own, killed at a moment (-1: never); how many moments there were, -1 where it was killed."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            killer = Killer(at)
            work(killer)
            os.write(write, str(killer.moments).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return -1
    assert os.WEXITSTATUS(status) == 0
    return int(said)


def watched(killer: Killer, monkeypatch: pytest.MonkeyPatch, file_store: type[Any] = FileStore) -> None:
    """Three moments of each put to a store: before, while the bytes are written and have no name, after."""
    real_put, real_link = file_store.put, os.link

    def put(self: Any, name: str, data: bytes) -> None:
        killer.moment()
        real_put(self, name, data)
        killer.moment()

    def link(*arguments: Any, **more: Any) -> None:
        killer.moment()
        real_link(*arguments, **more)

    monkeypatch.setattr(file_store, "put", put)
    monkeypatch.setattr(os, "link", link)


# A run ----------------------------------------------------------------------------------------------------------------


class DiskBackend(ShelfBackend):
    """States on disk; a destroy takes one resource after the other."""

    def destroy(self, stack: str, **more: Any) -> str:
        disk, killer = Disk(self.root), self.shelf.killer  # type: ignore[attr-defined]
        killer.moment()
        for resource in list(self.shelf.states[stack]):
            if resource["custom"] and not resource.get("protect"):
                content = disk.read()
                content["states"][stack] = [each for each in content["states"][stack] if each["urn"] != resource["urn"]]
                disk.write(content)
                killer.moment()
        self.shelf.states.update(disk.read()["states"])
        return "destroyed"


def pools() -> list[str]:
    return [f"dev-{number}" for number in range(POOLS)]


def evening(folder: Path) -> None:
    """Idle pools that were told of, and stacks past their end with a checkpoint store beside them."""
    shelf = Shelf()
    for name in pools():
        shelf.put(name, world.component(name, "train"), world.group(name, "train", name))
    journal = Journal(connect(f"file://{folder}/journal"))
    for name in pools():
        told = NOW - timedelta(minutes=30)
        journal.write(
            "notice",
            told,
            stack=name,
            subject="train",
            about="idle",
            action="warn",
            why="",
            owner="",
            heard=["webhook 0"],
        )
    for number in range(ENDED):
        name = f"dev-ended-{number}"
        ended = world.component(name, "train", expires="2026-11-17", guard=None)
        kept = world.bucket(name, "kept", f"kept-{number}")
        others = [world.resource(name, "aws:ec2/vpc:Vpc", f"net-{each}", f"{name}-vpc-{each}") for each in range(VPCS)]
        shelf.put(name, ended, world.group(name, "train", name), kept, *others)
        told = NOW - timedelta(days=4)
        journal.write(
            "notice",
            told,
            stack=name,
            subject="",
            about="end 2026-11-17 7 days",
            action="warn",
            why="",
            owner="",
            heard=["webhook 0"],
        )
    machines = dict.fromkeys(shelf.states, 2)
    Disk(folder).write({"states": shelf.states, "versions": shelf.versions, "machines": machines})
    publish(Killer(-1), folder)


def run_once(killer: Killer, folder: Path, at: datetime) -> None:
    """One run of everything that is due."""
    disk = Disk(folder)

    def observe(self: StatusReader, unit: Any, stack: str, when: datetime) -> Observation:
        names = frozenset(f"{stack}-{number}" for number in range(disk.read()["machines"][stack]))
        at_s = when.timestamp() - np.arange(43_200.0, 0.0, -60.0)
        idle = Series(at_s=at_s, values=np.zeros(len(at_s)))
        return Observation(
            source="test",
            counted=(Counted(start_s=float(at_s[0]), end_s=when.timestamp(), machines=names),),
            utilization_percent={(name, number): idle for name in names for number in range(4)},
        )

    def empty(_: Any, unit: Any) -> str:
        stack = unit.urn.split("::")[0].rpartition(":")[2]
        killer.moment()
        for left in (1, 0):
            content = disk.read()
            content["machines"][stack] = min(left, content["machines"][stack])
            disk.write(content)
            killer.moment()
        return "emptied"

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StatusReader, "observe", observe)
        patched.setattr(StatusReader, "cloud", lambda *_: None)
        patched.setattr(StatusReader, "_stores", lambda *_: (f"file://{folder}/checkpoints",))
        patched.setattr(act, "empty", empty)
        patched.setattr(run, "must_be_right", lambda *_, **__: 0.0)
        patched.setattr(acting, "left_over", lambda *_, **__: [])
        patched.setattr(saves, "written", lambda _: ((), ()))
        settings = {"mode": "act", "at_most_percent": 100, "at_most_stacks": POOLS + ENDED}
        journal = f"file://{folder}/journal"
        config = parse_config({"schema": "sizewell.teardown/1", "journal": journal, **settings})
        content = disk.read()
        shelf = Shelf(states=content["states"], versions=content["versions"])
        shelf.killer = killer  # type: ignore[attr-defined]
        backend = DiskBackend(root=folder, shelf=shelf)

        def fresh() -> StatusReader:
            own = Journal(connect(journal)).read()
            return StatusReader(
                backend=backend, config=config, accounts=lambda _: (world.ACCOUNT,), catalog=CATALOG, journal=own
            )

        watched(killer, patched)
        runner = run.Runner(
            backend=backend,
            config=config,
            journal=Journal(connect(journal)).read(),
            fresh=fresh,
            exports=folder / "exports",
            project="sizewell",
            yes=True,
            send=lambda _, __: None,
            now=lambda: at,
        )
        runner.run(make_plan(fresh(), "sizewell", at)[0])


def run_ended(folder: Path) -> None:
    content = Disk(folder).read()
    assert [content["machines"][name] for name in pools()] == [0] * POOLS
    for number in range(ENDED):
        left = [resource["id"] for resource in content["states"][f"dev-ended-{number}"] if resource["custom"]]
        assert left == [f"kept-{number}"]
    whole(folder)


# A publication --------------------------------------------------------------------------------------------------------


def publish(killer: Killer, folder: Path) -> None:
    """One more checkpoint: parts, then the manifest that makes it one, then the pointer."""
    store = job_store.connect(f"file://{folder}/checkpoints/run")
    with pytest.MonkeyPatch.context() as patched:
        watched(killer, patched, job_store.FileStore)
        step = 1 + max((manifest.step for manifest in checkpoint.newest(store)), default=0)
        blocks = [
            checkpoint.Block(
                name=f"w{number}",
                dtype="F32",
                shape=(64,),
                offset=(0,),
                extent=(64,),
                read=lambda: np.full(64, step, np.float32),
                write=lambda _: None,
            )
            for number in range(6)
        ]
        checkpoint.save(store, checkpoint.Alone(), step, blocks, {}, part_bytes=256)


def whole(folder: Path) -> int:
    """The step of the newest checkpoint, every byte of it read; nothing that was finished is lost."""
    (proof,) = saves.prove(f"file://{folder}/checkpoints")
    assert proof.fault == ""
    assert proof.step is not None
    return proof.step


# A lock ---------------------------------------------------------------------------------------------------------------


def hold(killer: Killer, folder: Path, at: datetime) -> None:
    with pytest.MonkeyPatch.context() as patched:
        watched(killer, patched)
        lock = Journal(connect(f"file://{folder}/journal")).lock("dev-0", at)
        lock.must_hold(at)
        lock.release()


# A reconciliation -----------------------------------------------------------------------------------------------------

NAMES = [f"net-{number}" for number in range(6)]


class Engine(Backend):
    """What the engine does with a state on disk: imports one thing after the other, and destroys them likewise."""

    killer: Killer

    def export(self, stack: str, path: Path) -> None:
        path.write_text("{}")

    def change(self, names: list[str], *, known: bool, cloud: bool) -> None:
        disk = Disk(self.root)
        self.killer.moment()
        for name in names:
            for key, value in (("cloud", cloud), ("known", known)):
                content = disk.read()
                content[key] = sorted({*content[key], name} if value else {*content[key]} - {name})
                disk.write(content)
                self.killer.moment()

    def import_resources(self, stack: str, path: Path, **_: Any) -> str:
        there = Disk(self.root).read()["cloud"]
        wanted = [each["logicalName"] for each in json.loads(path.read_text())["resources"]]
        self.change([name for name in wanted if name in there], known=True, cloud=True)
        return ""

    def forget_pending(self, stack: str, **_: Any) -> str:
        disk = Disk(self.root)
        self.killer.moment()
        disk.write({**disk.read(), "pending": []})
        self.killer.moment()
        return ""

    def configuration(self, stack: str) -> dict[str, Any]:
        return {}

    def destroy_some(self, stack: str, urns: Any, **_: Any) -> str:
        self.change([urn.rpartition("::")[2] for urn in urns], known=False, cloud=False)
        return ""


def urn(name: str) -> str:
    return world.urn("dev-0", "aws:ec2/vpc:Vpc", name)


class Looking(Reconciler):
    """A reconciler whose state is on disk."""

    def _state(self) -> State:
        content = Disk(self.backend.root).read()
        entries = [
            StateResource(urn=urn(name), type="aws:ec2/vpc:Vpc", name=name, id=name) for name in content["known"]
        ]
        pending = [world.pending(urn(name), "aws:ec2/vpc:Vpc", name) for name in content["pending"]]
        return State(project="sizewell", stack="dev-0", resources=tuple(entries), pending_operations=tuple(pending))

    def _would_create(self) -> list[Wanted]:
        known = Disk(self.backend.root).read()["known"]
        self._creations = {"resources": [{"name": name, "type": "aws:ec2/vpc:Vpc"} for name in NAMES]}
        self._creations["resources"] = [{**each, "logicalName": each["name"]} for each in self._creations["resources"]]
        wanted = [Wanted(urn=urn(name), type="aws:ec2/vpc:Vpc", name=name, listed=name) for name in NAMES]
        return [each for each in wanted if each.name not in known]


def reconcile(killer: Killer, folder: Path, how: str) -> None:
    """Two that stand in the state, two that were pending, two whose answers were lost."""

    def things(_: State) -> list[Thing]:
        return [Thing(identity=name, kind="vpc", tags={"sizewell-id": name}) for name in Disk(folder).read()["cloud"]]

    backend = Engine(root=folder)
    object.__setattr__(backend, "killer", killer)
    with pytest.MonkeyPatch.context() as patched:
        held = Looking(
            backend=backend, stack="dev-0", project="sizewell", things=things, identity_of=lambda _, name: name
        )
        listed = held.look()
        orphans = {each.identity for each in unknown_to(things(held._state()), held._state())}
        assert orphans == {match.thing.identity for match in listed.sorted.matches if match.thing}
        watched(killer, patched)
        journal = Journal(connect(f"file://{folder}/journal")).read()
        journal.write("begin", NOW, stack="dev-0", subject="", owner="", action=how, why="a person")
        if how == "adopt":
            held.adopt(listed)
        else:
            held.delete(listed, data=False, environment={})
        journal.write("done", NOW, stack="dev-0", subject="", owner="", action=how, why="a person")


def adrift(folder: Path) -> None:
    Disk(folder).write({"cloud": NAMES, "known": NAMES[:2], "pending": [*NAMES[2:4], "net-never"]})


# Every moment ---------------------------------------------------------------------------------------------------------


def again(operation: str, folder: Path) -> None:
    """One more run, and the end that every way leads to."""
    if operation == "run":
        assert child(lambda killer: run_once(killer, folder, LATER), -1) >= 0
        run_ended(folder)
    elif operation == "publish":
        before = whole(folder)  # what was finished stands
        assert child(lambda killer: publish(killer, folder), -1) > 0
        assert whole(folder) > before >= 1
    elif operation == "lock":
        assert child(lambda killer: hold(killer, folder, LATER), -1) > 0
        journal = Journal(connect(f"file://{folder}/journal"))
        journal.lock("dev-0", LATER + timedelta(hours=1))
        with pytest.raises(HeldError):  # and a lock that is held is refused
            journal.lock("dev-0", LATER + timedelta(hours=2))
    else:
        assert child(lambda killer: reconcile(killer, folder, operation), -1) > 0
        content = Disk(folder).read()
        assert content["pending"] == []
        # nothing is adrift; what a killed deletion had taken in is the state's, and may be gone from the cloud already
        assert set(content["cloud"]) <= set(content["known"])
        if operation == "adopt":
            assert content["cloud"] == content["known"] == NAMES


WORK: dict[str, tuple[Callable[[Path], None], Callable[[Killer, Path], None]]] = {
    "run": (evening, lambda killer, folder: run_once(killer, folder, NOW)),
    "publish": (lambda folder: publish(Killer(-1), folder), publish),
    "lock": (lambda _: None, lambda killer, folder: hold(killer, folder, NOW)),
    "adopt": (adrift, lambda killer, folder: reconcile(killer, folder, "adopt")),
    "delete": (adrift, lambda killer, folder: reconcile(killer, folder, "delete")),
}


def killed_at(operation: str, folder: Path, every: int) -> int:
    """Kill an operation at each so-manieth of its moments; at how many."""
    prepare, work = WORK[operation]
    first = folder / "whole"
    first.mkdir()
    prepare(first)
    moments = child(lambda killer: work(killer, first), -1)
    count = 0
    for at in range(1, moments + 1, every):
        place = folder / str(at)
        place.mkdir()
        prepare(place)
        assert child(lambda killer, place=place: work(killer, place), at) == -1  # type: ignore[misc]
        again(operation, place)
        count += 1
    return count


@pytest.mark.parametrize("operation", [each for each in WORK if each != "run"])  # a run: test_interrupted.py
def test_killed_now_and_then(operation: str, tmp_path: Path) -> None:
    assert killed_at(operation, tmp_path, 3 if operation == "lock" else 7) >= 2


@pytest.mark.soak
def test_two_hundred_kills(tmp_path: Path) -> None:
    counts = {}
    for operation in WORK:
        (tmp_path / operation).mkdir()
        counts[operation] = killed_at(operation, tmp_path / operation, 1)
    print(counts)
    assert sum(counts.values()) >= 200
