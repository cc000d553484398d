"""`teardown run` on the real engine and a file backend: beside an update (with states in moto's S3 too), killed with its
locks, twice at once, and with an older plan. The clouds' answers about a pool are given; states, locks and destroys are
the engine's.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import harness
import numpy as np
import pytest
from test_reconcile import children

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ServiceError
from sizewell.sizing.records.decision import Decision
from sizewell.teardown import act, acting, processes, run
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.backend import Backend
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import Journal, connect
from sizewell.teardown.planning import Approved
from sizewell.teardown.records import Counted, Series
from sizewell.teardown.telemetry.observation import Observation

STACK = "dev-azure"
ACCOUNT = "00000000-0000-0000-0000-000000000000"
CATALOG = load()
LIMIT_S = 900.0  # of all kills together, on a busy machine
KILLS_MIN = 5  # deletions that do not wait for each other end in one run
TRAIN = harness.ROOT / ".venv-train" / "bin" / "python"


@dataclass
class House:
    """A stack past its end, whose owner was notified, in a backend of files."""

    engine: harness.Engine
    folder: Path

    @property
    def backend(self) -> Backend:
        return Backend(root=self.engine.project, environment=self.engine.environment)

    @property
    def journal(self) -> Journal:
        return Journal(connect(f"file://{self.folder}/journal")).read()

    def reader(self) -> StatusReader:
        return StatusReader(
            backend=self.backend,
            config=self.config,
            accounts=lambda _: (ACCOUNT,),
            catalog=CATALOG,
            journal=self.journal,
        )

    @property
    def config(self) -> Any:
        settings = {"journal": f"file://{self.folder}/journal", "stack_grace_hours": 0, "at_most_percent": 100}
        return parse_config({"schema": "sizewell.teardown/1", "mode": "act", **settings})

    def tell(self) -> None:
        (stack,) = [each for each in self.reader().all(datetime.now(UTC)) if each.name == STACK]
        assert stack.parts is not None
        about = f"end {stack.parts.expires_at} 0 days"
        notice = {"stack": STACK, "subject": "", "about": about, "action": "warn", "why": "", "owner": ""}
        self.journal.write("notice", datetime.now(UTC), **notice, heard=["webhook 0"])

    def run(self, chosen: Any = None) -> list[tuple[str, str, str]]:
        """One run; what became of the stack."""
        plan, statuses = make_plan(self.reader(), "sizewell", datetime.now(UTC))
        runner = run.Runner(
            backend=self.backend,
            config=self.config,
            journal=self.journal,
            fresh=self.reader,
            exports=self.folder / "exports",
            project="sizewell",
            yes=True,
            data=[STACK],
            send=lambda _, __: None,
            statuses=statuses,
        )
        results = runner.run(plan, chosen)
        return [(each.action, each.outcome, each.detail) for each in results if each.action == "destroy"]

    def locks(self) -> int:
        return sum(lock.stack == STACK for lock in self.backend.locks())

    def engines(self) -> list[int]:
        """The processes that hold the engine's locks, by those locks."""
        return [lock.pid for lock in self.backend.locks() if lock.stack == STACK]

    def types(self) -> Counter[str]:
        """What stands in the clouds, by type."""
        return Counter(one["type"] for package in harness.PACKAGES for one in self.engine.cloud(package).values())

    def standing(self) -> int:
        return sum(len(self.engine.cloud(package)) for package in harness.PACKAGES)


@contextlib.contextmanager
def s3() -> Iterator[dict[str, str]]:
    """moto's S3 with a bucket for states; what a login there needs."""
    python = next((path for path in (sys.executable, str(TRAIN)) if serves(path)), "")
    if not python:
        pytest.skip("no moto with a server: make training")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    program = f"from moto.server import main; main(['-p', '{port}'])"
    server = subprocess.Popen([python, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        login = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
        boto3.client(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        ).create_bucket(Bucket="states")
        url = f"s3://states?endpoint={address}&s3ForcePathStyle=true&region=us-east-1"
        yield {**login, "AWS_ENDPOINT_URL": address, "PULUMI_BACKEND_URL": url}
    finally:
        server.kill()
        server.wait()


def serves(python: str) -> bool:
    """Whether an environment has moto with its server."""
    return (
        Path(python).exists()
        and not subprocess.run([python, "-c", "import moto.server"], check=False, capture_output=True).returncode
    )


@pytest.fixture
def house(
    request: pytest.FixtureRequest, engine: harness.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[House]:
    with s3() if getattr(request, "param", "files") == "s3" else contextlib.nullcontext({}) as login:
        for name, value in login.items():
            monkeypatch.setenv(name, value)
        engine.environment.update(login)
        yield built(engine, tmp_path, monkeypatch)


def built(engine: harness.Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    def observe(self: StatusReader, unit: Any, stack: str, at: datetime) -> Observation:
        at_s = at.timestamp() - np.arange(14_400.0, 0.0, -60.0)
        idle = Series(at_s=at_s, values=np.zeros(len(at_s)))
        return Observation(
            source="test",
            counted=(Counted(start_s=float(at_s[0]), end_s=at.timestamp(), machines=frozenset({"a"})),),
            utilization_percent={("a", number): idle for number in range(8)}
            if unit.accelerators_per_machine == 8
            else {("a", number): idle for number in range(unit.accelerators_per_machine)},
        )

    monkeypatch.setattr(StatusReader, "observe", observe)
    monkeypatch.setattr(StatusReader, "cloud", lambda *_: None)
    monkeypatch.setattr(act, "empty", lambda *_: "emptied")
    monkeypatch.setattr(run, "must_be_right", lambda *_, **__: 0.0)
    monkeypatch.setattr(acting, "left_over", lambda *_, **__: [])
    decision = Decision.from_json(harness.ROOT / "stacks" / "decisions" / f"{STACK}.json")
    ended = datetime.now(UTC).date() - timedelta(days=3)
    path = engine.project / "stacks" / "decisions" / f"{STACK}.json"
    decision.model_copy(update={"expires_at": ended}).write(path)
    engine.run("stack", "init", STACK)
    engine.up(STACK)
    made = House(engine=engine, folder=folder)
    made.tell()
    return made


@contextlib.contextmanager
def process(work: Any) -> Iterator[int]:
    """A process that does something, and is killed with all that it has started: an engine has a session of its own."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            work()
            code = 0
        finally:
            os._exit(code)
    try:
        yield pid
    finally:
        for each in (pid, *children(pid)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(each, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def ended(pid: int) -> bool:
    """Whether a child is over, which is left for its parent to wait for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def until(true: Any, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.parametrize("house", ["files", "s3"], indirect=True)
def test_beside_an_update_nothing_is_stopped_and_its_lock_is_somebody_else_s(house: House) -> None:
    """A person's own operation on the stack, which hangs, and then is killed."""
    house.engine.order({"call": "delete", "then": "hang"})
    command = ["pulumi", "destroy", "-s", STACK, "--yes", "--skip-preview", "--non-interactive"]
    theirs = subprocess.Popen(
        command, cwd=house.engine.project, env=house.engine.environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until(lambda: house.locks() == 1)
        assert house.run() == []
        (row,) = [stack.row for stack in make_plan(house.reader(), "sizewell", datetime.now(UTC))[0].stacks]
        assert (row.action, row.clause) == ("keep", "updating")
        assert theirs.poll() is None
    finally:
        os.killpg(theirs.pid, signal.SIGKILL)
        theirs.wait()
    assert house.locks() == 1  # a killed engine leaves its lock
    before = house.standing()
    assert house.run() == []  # nobody knows that it is dead: a person cancels it
    assert (house.standing(), house.locks()) == (before, 1)
    house.engine.order()
    house.engine.run("cancel", STACK, "--yes")
    house.tell()  # of the stack as they left it
    assert [outcome for _, outcome, _ in house.run()] == ["done"]
    assert house.standing() == 0


def test_killed_with_its_engine_the_next_run_takes_both_locks_over(house: House) -> None:
    house.engine.order({"call": "delete", "then": "hang"})
    with process(house.run):
        until(lambda: house.locks() == 1)
        time.sleep(1)
    assert house.locks() == 1
    house.engine.order()
    outcomes: list[tuple[str, str, str]] = []

    def destroyed() -> bool:  # not at once: the engine's own children end after it
        outcomes.extend(house.run())
        return any(action == "destroy" for action, _, _ in outcomes)

    until(destroyed)
    assert [(action, outcome) for action, outcome, _ in outcomes] == [("destroy", "done")]
    assert "cancelled" in [record["kind"] for record in house.journal.records]
    assert (house.standing(), house.locks()) == (0, 0)


@pytest.mark.soak
def test_killed_without_its_engine_the_next_run_waits_for_the_engine(house: House) -> None:
    house.engine.order({"call": "delete", "then": "hang"})
    with process(house.run) as pid:
        until(lambda: house.locks() == 1)
        os.kill(pid, signal.SIGKILL)  # the runner alone
        os.waitpid(pid, 0)
        assert [outcome for _, outcome, _ in house.run() if outcome in ("done", "failed")] == []
        assert house.locks() == 1
    house.engine.order()
    until(lambda: not any(processes.runs(engine) for engine in house.engines()))
    until(
        lambda: house.run() is not None and (house.standing(), house.locks()) == (0, 0), 120
    )  # its own destroy went on


@pytest.mark.soak
@pytest.mark.parametrize("house", ["files", "s3"], indirect=True)
def test_killed_at_one_deletion_after_the_other_each_run_goes_on(house: House, capfd: Any) -> None:
    """The runner and its engine at once, at a deletion that the cloud did without a response: the state still has it,
    and both locks are left. The next run takes them over, until nothing stands; at most one of two does nothing.
    """
    deadline = time.monotonic() + LIMIT_S
    killed: list[str] = []
    idle = 0
    while (standing := house.types()) and idle < 2:
        # Of what goes first: the last in the state. One type after the other, as what was deleted is deleted again.
        left = [one["type"] for one in reversed(house.engine.export(STACK)) if one["type"] in standing]
        token = next((each for each in left if each not in killed), "")
        house.engine.order(*([{"call": "delete", "type": token, "then": "hang"}] if token else []))
        with process(house.run) as pid:
            until(lambda pid=pid: ended(pid) or house.engine.obeyed(), deadline - time.monotonic())  # type: ignore[misc]
            reached = not ended(pid)
            time.sleep(2)  # the cloud deletes it, and what does not wait for it goes as well
        killed += [token] if reached else []
        until(lambda: not any(processes.runs(engine) for engine in house.engines()), deadline - time.monotonic())
        idle = 0 if reached else idle + 1
    assert idle < 2, f"two runs after a kill at {killed[-1:]} did nothing: {house.run()}"
    house.engine.order()
    house.run()  # after the very last deletion: its locks are left
    assert (house.standing(), house.locks()) == (0, 0)
    kinds = [record["kind"] for record in house.journal.records]
    with capfd.disabled():
        print(f"\nkilled at {', '.join(killed)}; the engine's lock was taken over {kinds.count('cancelled')} times")
    assert "failed" not in kinds
    assert len(killed) >= KILLS_MIN


@pytest.mark.soak
def test_of_two_runs_at_once_one_destroys(house: House) -> None:
    with process(house.run) as first, process(house.run) as second:
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in (first, second)]
    assert codes == [0, 0]
    kinds = [record["kind"] for record in house.journal.records if record.get("action") == "destroy"]
    assert kinds.count("begin") == kinds.count("done") == 1
    assert "failed" not in kinds
    assert house.standing() == 0


@pytest.mark.soak
def test_a_plan_of_an_older_state_destroys_nothing(house: House) -> None:
    (stack,) = make_plan(house.reader(), "sizewell", datetime.now(UTC))[0].stacks
    assert stack.row.action == "destroy"
    chosen = {(STACK, ""): Approved(action="destroy", updated=stack.updated)}
    before = house.standing()
    house.engine.run("refresh", "-s", STACK, "--yes", "--skip-preview")
    house.tell()  # of the stack as it stands now
    ((action, outcome, detail),) = house.run(chosen)
    assert (action, outcome) == ("destroy", "held back")
    assert detail == "its state was written after the plan was made: plan again"
    assert house.standing() == before


@pytest.mark.soak
def test_a_state_that_was_cut_off_while_it_was_written_stops_nothing(house: House) -> None:
    """A machine that died while the backend wrote: half of the file, and a temporary one beside it."""
    (state,) = (house.engine.project.parent / "backend").rglob(f"{STACK}.json")
    whole, before = state.read_bytes(), house.standing()
    state.write_bytes(whole[: len(whole) // 2])
    state.with_name(f"{STACK}.json.tmp1234567890").write_bytes(whole[:100])
    with pytest.raises(ServiceError, match=r"cannot be read, and the engine lists no stack beside it"):
        house.run()
    assert house.standing() == before
    bak = state.with_name(f"{state.name}.bak")
    assert json.loads(bak.read_bytes())  # which the message names
    state.write_bytes(whole)
    house.tell()
    assert [outcome for _, outcome, _ in house.run()] == ["done"]
    assert (house.standing(), house.locks()) == (0, 0)
