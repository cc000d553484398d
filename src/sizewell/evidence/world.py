"""The engine and the clouds of a run: what builds, asks, destroys and looks for what is left."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sizewell.components.tags import legal, sizewell_id
from sizewell.evidence.journal import Clock, Journal
from sizewell.evidence.record import Cause
from sizewell.evidence.run import Figures, Left, SkipError, StageError
from sizewell.reconcile.reconciler import Reconciler
from sizewell.recording.sources.state import State, read_full_state
from sizewell.sizing.errors import ServiceError, SizewellError
from sizewell.teardown import act, processes
from sizewell.teardown.backend import SIGNS, Backend
from sizewell.teardown.enginelocks import EngineLock
from sizewell.teardown.gather import PoolStatus, StatusReader
from sizewell.teardown.leftovers import left_over
from sizewell.teardown.orphans import in_cloud
from sizewell.teardown.things import Owner, Thing
from sizewell.teardown.units import stack_parts

POLL_S: Final = 60.0
CONNECT_S: Final = 10.0
HTTPS: Final = 443
_HOSTS: Final = ("endpoint", "fqdn", "privateFqdn")  # of a cluster's state: EKS and GKE, AKS


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was asked of the account, as `doctor --cloud` has it."""

    about: str
    state: str
    code: int


@dataclass(slots=True)
class Account:
    """What a run may touch: its own stacks, in the account that their configuration names."""

    root: Path
    project: str
    journal: Journal
    clock: Clock
    fresh: Callable[[], StatusReader]  # a new one each time: a client has one deadline for all that it is asked
    checks: Callable[[], Sequence[Check]]
    connect: Callable[[str, int, float], bool]
    _gone: set[str] = field(default_factory=set)  # of which only the tag is listed still

    @property
    def stack(self) -> str:
        return self.journal.notes.stack

    def rights(self) -> Figures:
        found = self.checks()
        failed = [each for each in found if each.state == "wrong"]
        pools = [each for each in found if each.about.startswith("stock of ")]
        figures: Figures = {
            "checks": len(found),
            "checks_failed": len(failed),
            "checks_not_known": sum(each.state == "note" for each in found),
            "pools": len(pools),
            "pools_in_stock": sum(each.state == "ok" for each in pools),
        }
        if failed:
            raise StageError(_cause(failed[0]), f"{failed[0].about}: sizewell doctor {self.stack} --cloud", figures)
        return figures

    def up(self, seconds: float) -> Figures:
        backend, end_s = self.fresh().backend, self.clock.steady_s() + seconds
        for stack in self.journal.notes.stacks:
            left_s = end_s - self.clock.steady_s()
            if left_s <= 0:
                raise StageError("limit", f"{stack}: no time is left to build it")
            act.up(backend, stack, timeout_s=left_s)
            self._remember(self._state(stack), stack)
        states = [self._state(stack) for stack in self.journal.notes.stacks]
        return {"resources": sum(each.custom and not _is_engines(each.type) for s in states for each in s.resources)}

    def reachable(self, seconds: float) -> Figures:
        hosts = sorted(
            {
                str(value).removeprefix("https://").partition("/")[0]
                for resource in self._state(self.stack).resources
                if resource.type.endswith((":Cluster", ":ManagedCluster"))
                for key in _HOSTS
                if (value := resource.outputs.get(key))
            }
        )
        end_s = self.clock.steady_s() + seconds
        while True:
            things = [thing for each in self._things(self.stack) for thing in each]
            reached = sum(self.connect(host, HTTPS, CONNECT_S) for host in hosts)
            figures: Figures = {"resources_listed": len(things), "endpoints": len(hosts), "endpoints_reached": reached}
            if things and reached == len(hosts):
                return figures
            if self.clock.steady_s() + POLL_S > end_s:
                what = f"{reached} of {len(hosts)} endpoints, {len(things)} resources with its tag"
                raise StageError("unreached", f"{self.stack}: {what}", figures)
            self.clock.sleep(POLL_S)

    def guard(self, seconds: float) -> Figures:
        end_s, first = self.clock.steady_s() + seconds, None
        while True:
            counted = self._machines()
            if counted is not None:
                first = counted if first is None else first
                figures: Figures = {"machines_at_first": first, "machines_at_last": counted}
                if first == 0:
                    raise SkipError("nothing built")
                if counted == 0:
                    return figures
            if self.clock.steady_s() + POLL_S > end_s:
                why: Cause = "unanswered" if first is None else "still running"
                raise StageError(why, f"{self.stack}: its guard was not seen to fire", {} if first is None else figures)
            self.clock.sleep(POLL_S)

    def end_engine(self) -> None:
        backend, notes = self.fresh().backend, self.journal.notes
        if notes.engine and processes.of(int(notes.engine["pid"])) == notes.engine:
            self._interrupt(int(notes.engine["pid"]))
        for lock in self._locks(backend):
            ours = lock.host == socket.gethostname() and lock.at.timestamp() >= notes.started_s - 60
            if lock.host == socket.gethostname() and not processes.runs(lock.pid):
                act.cancel(backend, lock.stack)
            elif ours and lock.pid:
                self._interrupt(lock.pid)
                if lock in self._locks(backend):
                    act.cancel(backend, lock.stack)
            else:
                raise ServiceError(
                    f"{lock.stack}: an update of it has held its lock since {lock.at:%Y-%m-%d %H:%M} UTC ({lock.by})\n"
                    f"  fix: wait for it; if no engine runs there any more: pulumi cancel --stack {lock.stack} --yes"
                )
        for listed in backend.stacks():
            if listed.updating and listed.name in notes.stacks:  # a service has no locks to read, and ends its engine
                act.cancel(backend, listed.name)
        self.journal.engine(None)

    def take_down(self, last: bool) -> None:
        reader, fault = self.fresh(), None
        backend, notes = reader.backend, self.journal.notes
        there = {each.name for each in backend.stacks()}
        for stack in reversed(notes.stacks):
            if stack not in there:
                continue
            state = self._state(stack)
            self._remember(state, stack)
            if state.resources and notes.steps["up"].state != "passed":
                # Before anything goes: what carries no tag is found by name while its provider is in the state.
                try:
                    self._adopt(stack)
                except SizewellError as error:
                    if not last:
                        raise
                    notes.unseen[stack], fault = max(notes.unseen.get(stack, 0), 1), error  # and machines bill on
                state = self._state(stack)
            if state.pending_operations:
                act.forget_pending(backend, stack)
                state = self._state(stack)
            if not any(each.custom for each in state.resources):
                continue
            if stack != self.stack and (others := [thing for each in self._things(self.stack) for thing in each]):
                # What ends the stack goes last: it alone would still take the rest away.
                listed = ", ".join(f"{each.kind} {each.identity.rpartition('/')[2]}" for each in others[:5])
                more = f" and {len(others) - 5} more" if len(others) > 5 else ""
                raise ServiceError(f"{stack} stays until nothing of {self.stack} is left: {listed}{more}")
            environment = reader.config.deleter(reader.accounts(stack), stack_parts(state, stack).environment)
            name = f"{stack}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
            act.destroy(backend, stack, kept=self.journal.path.parent / "exports" / name, environment=environment)
        if fault is not None:
            raise fault

    def left(self) -> Left:
        reader, notes = self.fresh(), self.journal.notes
        found = {
            each.thing.identity: each
            for stack in notes.stacks
            for cloud in notes.clouds
            for each in left_over(
                reader.cloud(cloud, stack),
                reader.accounts(stack),
                notes.regions,
                self._owner(stack),
                clusters=notes.clusters,
                catalog=reader.catalog,
                on=datetime.now(UTC).date(),
            )
            if each.thing.identity not in self._gone
        }
        names = tuple(each.words() for each in found.values())
        return Left(len(found), sum(each.bills for each in found.values()), names, sum(notes.unseen.values()))

    def take_in(self) -> None:
        for stack in self.journal.notes.stacks:
            self._adopt(stack)

    def _adopt(self, stack: str) -> None:
        """Adopt into the state what is in none, so that the next destroy takes it. What has only a name of the stack
        is the run's too: before `up`, nothing had one.
        """
        reconciler = self.reconciler(stack)
        comparison = reconciler.look()
        self._gone |= {thing.identity for thing in comparison.sorted.gone}
        self.journal.notes.unseen[stack] = len(comparison.sorted.unseen)
        if comparison.sorted.matches:
            reconciler.adopt(comparison)

    def reconciler(self, stack: str) -> Reconciler:
        """What looks for the resources of a stack that are in no state."""
        return Reconciler(
            backend=self.fresh().backend,
            stack=stack,
            project=self.project,
            things=lambda _: [thing for each in self._things(stack) for thing in each],
            identity_of=lambda kind, name: sizewell_id(project=self.project, stack=stack, type_token=kind, name=name),
        )

    def _things(self, stack: str) -> Iterator[list[Thing]]:
        """What each cloud lists with a stack's tag."""
        reader, notes = self.fresh(), self.journal.notes
        for cloud in notes.clouds:
            yield in_cloud(reader.cloud(cloud, stack), reader.accounts(stack), notes.regions, self._owner(stack))

    def _owner(self, stack: str) -> Owner:
        return Owner(project=legal(self.project), stack=legal(stack))

    def _machines(self) -> int | None:
        """How many machines the pools with a guard have, as their cloud counts; None where it did not count all."""
        reader, now = self.fresh(), datetime.now(UTC)
        listed = {each.name: each for each in reader.backend.stacks()}
        pools = [pool for pool in reader.one(listed, self.stack, now).pools if _is_guarded(pool)]
        if not pools:
            raise SkipError("not automated")
        counts = [pool.pool.machines_at(now.timestamp()) for pool in pools]
        return None if any(each is None for each in counts) else sum(len(each) for each in counts if each is not None)

    def _state(self, stack: str) -> State:
        with tempfile.TemporaryDirectory(prefix="sizewell-evidence-") as folder:
            path = Path(folder) / "state.json"
            self.fresh().backend.export(stack, path)
            return read_full_state(path)

    def _remember(self, state: State, stack: str) -> None:
        """Names of clusters go into the journal before they are destroyed: what they made is found by them alone."""
        notes = self.journal.notes
        named = set(stack_parts(state, stack).clusters)
        if not named <= set(notes.clusters):
            notes.clusters = sorted({*notes.clusters, *named})
            self.journal.write()

    def _locks(self, backend: Backend) -> list[EngineLock]:
        stacks = self.journal.notes.stacks
        return [each for each in backend.locks() if each.stack in stacks and each.project in ("", self.project)]

    def _interrupt(self, pid: int) -> None:
        """Interrupt an engine, which then writes down what it has built; kill one that does not end."""
        for sign, seconds in (*SIGNS, (signal.SIGKILL, 10.0)):
            try:
                os.kill(pid, sign)
            except ProcessLookupError:
                return
            except PermissionError:
                raise ServiceError(
                    f"process {pid} is an engine of another user\n  fix: wait until it has ended"
                ) from None
            end_s = self.clock.steady_s() + seconds
            while processes.of(pid) and self.clock.steady_s() < end_s:
                self.clock.sleep(0.2)
            if not processes.of(pid):
                return


def _cause(check: Check) -> Cause:
    """Why the account is not ready, in the record's words."""
    if check.code == 69:
        return "unanswered"
    about: Mapping[str, Cause] = {"account": "login", "quota": "quota", "stock": "capacity", "rights": "denied"}
    return next((cause for word, cause in about.items() if word in check.about), "checks")


def _is_engines(kind: str) -> bool:
    return kind.startswith("pulumi:")


def _is_guarded(pool: PoolStatus) -> bool:
    guard = pool.unit.guard
    return pool.unit.kind == "pool" and guard is not None and guard.action == "scale-to-zero"


def connects(host: str, port: int, seconds: float) -> bool:
    """Whether something accepts a connection there."""
    try:
        with socket.create_connection((host, port), seconds):
            return True
    except OSError:
        return False


def longest_guard_s(pools: Iterable[tuple[float, float]]) -> float:
    """Seconds until every guard must have fired: window and grace, its five-minute looks, and a machine's end."""
    return max((window_s + grace_s for window_s, grace_s in pools), default=0.0) + 1200.0
