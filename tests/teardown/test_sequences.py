"""Random sequences of save, kill, teardown, lifecycle and resume: nothing that was finished is lost."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.clouds.calls import CloudError
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act, acting, run, saves
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import Journal, connect
from sizewell.teardown.records import Counted, Series
from sizewell.teardown.telemetry.observation import Observation
from tests.teardown import world
from tests.teardown.job_programs import checkpoint
from tests.teardown.job_programs import store as job_store
from tests.teardown.world import Shelf, ShelfBackend

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
CATALOG = load()
STACK = "dev-aws"


class KilledError(BaseException):
    """What no code catches."""


class Job:
    """A job that saves, is killed in the middle of a save, and resumes from the newest whole checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.uri = f"file://{folder}/checkpoints/run"
        self.folder = folder / "checkpoints/run"
        self.finished: list[int] = []  # steps whose save returned
        self.pruned = 0
        self.step = 0

    def save(self, *, killed_after: int | None) -> None:
        """The next step; killed after so many objects were put."""
        store = job_store.connect(self.uri)
        self.step += 1
        step, count, put = self.step, itertools.count(), store.put

        def counted(name: str, data: bytes) -> None:
            if killed_after is not None and next(count) >= killed_after:
                raise KilledError
            put(name, data)

        store.put = counted  # type: ignore[method-assign]
        block = checkpoint.Block(
            name="w", dtype="F32", shape=(16,), offset=(0,), extent=(16,),
            read=lambda: np.full(16, step, np.float32), write=lambda _: None,
        )  # fmt: skip
        try:
            checkpoint.save(store, checkpoint.Alone(), step, [block], {}, part_bytes=32)
        except KilledError:
            return
        self.finished.append(step)

    def lifecycle(self, keep: int) -> None:
        """What a person's identity, or the bucket's rule, takes away: the older ones, and leftovers of kills."""
        store = job_store.connect(self.uri)
        names, _ = checkpoint.prunable(store, keep)
        checkpoint.prune(store, names, lambda _: None)
        names, _ = checkpoint.leftovers(store, datetime.now(UTC) + timedelta(days=1))
        checkpoint.prune(store, names, lambda _: None)

    def resume(self) -> int:
        """The step that a new process begins from: the newest whole one."""
        store = job_store.connect(self.uri)
        for manifest in checkpoint.newest(store):
            checkpoint.verify(store, manifest)
            return int(manifest.step)
        return 0


class Site:
    """A stack with one idle pool past its end, its store, and a runner."""

    def __init__(self, folder: Path, patched: pytest.MonkeyPatch) -> None:
        self.folder, self.job, self.shelf = folder, Job(folder), Shelf()
        self.machines, self.now = 2, NOW
        self.config = parse_config(
            {
                "schema": "sizewell.teardown/1",
                "journal": f"file://{folder}/journal",
                "at_most_percent": 100,
                "mode": "act",
            }
        )
        self.up()
        patched.setattr(StatusReader, "observe", self.observe)
        patched.setattr(StatusReader, "cloud", lambda *_: None)
        patched.setattr(StatusReader, "_stores", lambda *_: (f"file://{folder}/checkpoints",))
        patched.setattr(act, "empty", self.empty)
        patched.setattr(run, "must_be_right", lambda *_, **__: 0.0)
        patched.setattr(acting, "left_over", lambda *_, **__: [])
        patched.setattr(saves, "written", lambda _: ((), ()))
        journal = Journal(connect(self.config.journal))
        told = NOW - timedelta(days=4)
        about = {"stack": STACK, "subject": "", "about": "end 2026-11-17 7 days", "action": "warn", "why": ""}
        journal.write("notice", told, **about, owner="", heard=["webhook 0"])

    def up(self) -> None:
        ended = world.component(STACK, "train", expires="2026-11-17")
        bucket = world.bucket(STACK, "kept", "kept")
        self.shelf.put(STACK, ended, world.group(STACK, "train", "train"), bucket)
        self.machines = 2

    def observe(self, unit: Any, stack: str, at: datetime) -> Observation:
        names = frozenset(f"m-{number}" for number in range(self.machines))
        at_s = at.timestamp() - np.arange(18000.0, 0.0, -60.0)  # longer than runs are apart
        idle = Series(at_s=at_s, values=np.zeros(len(at_s)))
        counted = Counted(start_s=float(at_s[0]), end_s=at.timestamp(), machines=names)
        samples = {(name, number): idle for name in names for number in range(4)}
        return Observation(source="test", counted=(counted,), utilization_percent=samples)

    def empty(self, *_: Any) -> str:
        self.machines = 0
        return "emptied"

    def teardown(self, *, killed: bool) -> None:
        self.now += timedelta(hours=4)  # longer than a lock is held

        def fresh() -> StatusReader:
            backend = ShelfBackend(root=self.folder, shelf=self.shelf)
            own = Journal(connect(self.config.journal)).read()
            return StatusReader(
                backend=backend, config=self.config, accounts=lambda _: (world.ACCOUNT,), catalog=CATALOG, journal=own
            )

        runner = run.Runner(
            backend=ShelfBackend(root=self.folder, shelf=self.shelf),
            config=self.config,
            journal=Journal(connect(self.config.journal)).read(),
            fresh=fresh,
            exports=self.folder / "exports",
            project="sizewell",
            yes=True,
            send=lambda _, __: None,
            data=[STACK],
            now=lambda: self.now,
        )
        if killed:

            def die(*_: Any, **__: Any) -> str:
                raise KilledError

            self.shelf.locked = ""
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(act, "destroy", die)
                try:
                    runner.run(make_plan(fresh(), "sizewell", self.now)[0])
                except KilledError:
                    return
            return
        runner.run(make_plan(fresh(), "sizewell", self.now)[0])


STEPS = st.one_of(
    st.tuples(st.just("save"), st.none()),
    st.tuples(st.just("save"), st.integers(0, 4)),  # killed after so many objects
    st.tuples(st.just("teardown"), st.booleans()),
    st.tuples(st.just("lifecycle"), st.integers(1, 3)),
    st.tuples(st.just("resume"), st.none()),
    st.tuples(st.just("up"), st.none()),
)


def played(steps: list[tuple[str, Any]]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with pytest.MonkeyPatch.context() as patched:
            site = Site(folder, patched)
            for what, how in steps:
                if what == "save":
                    site.job.save(killed_after=how)
                elif what == "teardown":
                    site.teardown(killed=how)
                elif what == "lifecycle":
                    site.job.lifecycle(how)
                elif what == "up":
                    site.up()
                newest = max(site.job.finished, default=0)
                assert site.job.resume() >= newest, (what, how)
                kept = [each["id"] for each in site.shelf.states[STACK] if each.get("protect")]
                assert kept == ["kept"]
    finally:
        shutil.rmtree(folder)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(STEPS, min_size=2, max_size=6))
def test_nothing_that_was_saved_is_lost(steps: list[tuple[str, Any]]) -> None:
    played(steps)


@pytest.mark.soak
@settings(max_examples=10_000, deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=6))
def test_nothing_is_lost_in_ten_thousand_sequences(steps: list[tuple[str, Any]]) -> None:
    played(steps)


# Faults ---------------------------------------------------------------------------------------------------------------

FAULTS: dict[str, Exception] = {
    "no login": CloudError("ec2", "login", "ExpiredToken"),
    "denied": CloudError("ec2", "denied", "UnauthorizedOperation"),
    "throttled to the end": CloudError("ec2", "unanswered", "RequestLimitExceeded"),
    "server error": CloudError("ec2", "unanswered", "InternalError"),
    "refused": CloudError("ec2", "refused", "ValidationError"),
    "gone": CloudError("ec2", "missing", "NotFound"),
    "time-out": ServiceError("pulumi destroy: not finished after 7200 s"),
    "engine's lock": ServiceError("dev-aws: another update holds the engine's lock"),
    "wrong passphrase": ServiceError("dev-aws: the passphrase is wrong"),
    "corrupt state": ServiceError("dev-aws: its state cannot be read"),
    "journal is gone": ServiceError("the journal does not respond"),
    "checkpoint store is gone": ServiceError("the checkpoints cannot be read"),
}
OPERATIONS = {
    "list": (ShelfBackend, "stacks"),
    "export": (ShelfBackend, "export"),
    "observe": (StatusReader, "observe"),
    "prove": (saves, "prove"),
    "write": (Journal, "write"),
    "destroy": (ShelfBackend, "destroy"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=pytest.mark.soak if fault != "denied" else ()) for fault in FAULTS]
)
def test_faults_end_in_done_or_cleanly_refused(tmp_path: Path, fault: str, operation: str) -> None:
    """The first call of the operation fails: nothing half, no crash, and one more run without the fault is done."""
    with pytest.MonkeyPatch.context() as patched:
        site = Site(tmp_path, patched)
        site.job.save(killed_after=None)
        owner, name = OPERATIONS[operation]
        real, calls = getattr(owner, name), itertools.count()

        def failing(*arguments: Any, **more: Any) -> Any:
            if next(calls) == (1 if operation == "list" else 0):
                raise FAULTS[fault]
            return real(*arguments, **more)

        patched.setattr(owner, name, failing)
        before = list(site.shelf.states[STACK])
        with contextlib.suppress(ServiceError, CloudError):  # one message, and an exit code
            site.teardown(killed=False)
        assert site.job.resume() == 1
        assert site.shelf.states[STACK] == before or site.shelf.destroyed
        patched.setattr(owner, name, real)
        for _ in range(
            8 if operation in ("observe", "export") else 1
        ):  # its owner heard that it stays: a day anew, every four hours
            site.teardown(killed=False)
        assert [each["id"] for each in site.shelf.states[STACK] if each["custom"]] == ["kept"]
        assert len(site.shelf.destroyed) == 1
