"""Kills at every step of a run, races for a lock, and every change of clocks."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest

from sizewell.sizing.catalog import load
from sizewell.teardown import act, acting, run
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.config import Window, parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import HeldError, Journal, Lock, connect
from sizewell.teardown.outcomes import Result
from sizewell.teardown.records import Counted, Series
from sizewell.teardown.telemetry.observation import Observation
from tests.teardown import world
from tests.teardown.world import Shelf, ShelfBackend

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
CATALOG = load()


class KilledError(BaseException):
    """What no code catches, as SIGKILL: nothing is cleaned up after it but what is given to `finally`."""


class Cloud:
    """Pools by name and how many machines each has; what is asked and done goes through `step`."""

    def __init__(self) -> None:
        self.machines: dict[str, int] = {}
        self.calls = 0
        self.kill_at = -1
        self.emptied: list[str] = []

    def step(self, do: Callable[[], Any]) -> Any:
        """One call that changes something: killed before it, or after it was done and before its answer came."""
        self.calls += 1
        if self.calls == self.kill_at:
            raise KilledError
        done = do()
        self.calls += 1
        if self.calls == self.kill_at:
            raise KilledError
        return done


def watched(monkeypatch: pytest.MonkeyPatch, cloud: Cloud) -> None:
    import numpy as np

    def observe(self: StatusReader, unit: Any, stack: str, at: datetime) -> Observation:
        names = frozenset(f"{stack}-{number}" for number in range(cloud.machines[stack]))
        at_s = at.timestamp() - np.arange(7200.0, 0.0, -60.0)
        idle = Series(at_s=at_s, values=np.zeros(len(at_s)))
        return Observation(
            source="test",
            counted=(Counted(start_s=at.timestamp() - 7200, end_s=at.timestamp(), machines=names),),
            utilization_percent={(name, number): idle for name in names for number in range(4)},
        )

    def empty(_: Any, unit: Any) -> str:
        stack = unit.urn.split("::")[0].rpartition(":")[2]

        def do() -> str:
            cloud.machines[stack] = 0
            cloud.emptied.append(stack)
            return "emptied"

        return str(cloud.step(do))

    monkeypatch.setattr(StatusReader, "observe", observe)
    monkeypatch.setattr(StatusReader, "cloud", lambda *_: None)
    monkeypatch.setattr(act, "empty", empty)
    monkeypatch.setattr(run, "must_be_right", lambda *_, **__: 0.0)
    monkeypatch.setattr(acting, "left_over", lambda *_, **__: [])
    real_put, real_destroy = Journal._put, ShelfBackend.destroy

    def put(self: Journal, name: str, data: bytes) -> bool:
        return bool(cloud.step(lambda: real_put(self, name, data)))

    def destroy(self: ShelfBackend, stack: str, **more: Any) -> str:
        return str(cloud.step(lambda: real_destroy(self, stack, **more)))

    monkeypatch.setattr(Journal, "_put", put)
    monkeypatch.setattr(ShelfBackend, "destroy", destroy)
    monkeypatch.setattr(Lock, "release", _release(cloud))


def _release(cloud: Cloud) -> Callable[[Lock], None]:
    real = Lock.release

    def release(self: Lock) -> None:
        if cloud.calls != cloud.kill_at:  # a process that was killed releases nothing
            real(self)

    return release


def evening(folder: Path, cloud: Cloud) -> tuple[Shelf, Callable[[datetime], list[Result]]]:
    """Two idle pools that were told of and a stack past its end; what one run at a time does."""
    shelf = Shelf()
    for name in ("dev-a", "dev-b"):
        shelf.put(name, world.component(name, "train"), world.group(name, "train", name))
    ended = world.component("dev-c", "train", expires="2026-11-17", guard=None)
    shelf.put("dev-c", ended, world.group("dev-c", "train", "dev-c"), world.bucket("dev-c", "kept", "kept"))
    cloud.machines = {"dev-a": 2, "dev-b": 1, "dev-c": 1}
    config = parse_config(
        {"schema": "sizewell.teardown/1", "journal": f"file://{folder}/journal", "at_most_percent": 100, "mode": "act"}
    )
    journal = Journal(connect(config.journal))
    for name in ("dev-a", "dev-b"):
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
    journal.write(
        "notice", NOW - timedelta(days=4), stack="dev-c", subject="", about="end 2026-11-17 7 days", action="warn",
        why="", owner="", heard=["webhook 0"],
    )  # fmt: skip

    def once(at: datetime) -> list[Result]:
        def fresh() -> StatusReader:
            backend = ShelfBackend(root=folder, shelf=shelf)
            own = Journal(connect(config.journal)).read()
            return StatusReader(
                backend=backend, config=config, accounts=lambda _: (world.ACCOUNT,), catalog=CATALOG, journal=own
            )

        runner = run.Runner(
            backend=ShelfBackend(root=folder, shelf=shelf),
            config=config,
            journal=Journal(connect(config.journal)).read(),
            fresh=fresh,
            exports=folder / "exports",
            project="sizewell",
            yes=True,
            send=lambda _, __: None,
            now=lambda: at,
        )
        return runner.run(make_plan(fresh(), "sizewell", at)[0])

    return shelf, once


def finished(shelf: Shelf, cloud: Cloud) -> None:
    """The end that every way leads to."""
    assert cloud.machines["dev-a"] == cloud.machines["dev-b"] == 0
    left = [resource["id"] for resource in shelf.states["dev-c"] if resource["custom"]]
    assert left == ["kept"]  # the protected bucket, and nothing else


@pytest.mark.parametrize("part", range(4))
def test_a_run_killed_anywhere_comes_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """Before and after each put and each act; the next run waits for the dead one's lock, or takes up at once."""
    with monkeypatch.context() as patched:
        cloud = Cloud()
        watched(patched, cloud)
        shelf, once = evening(tmp_path / "whole", cloud)
        begun = cloud.calls
        assert {result.outcome for result in once(NOW)} == {"done"}
        finished(shelf, cloud)
        steps = range(begun + 1, cloud.calls + 1)
    assert len(steps) >= 24  # lock, begin, act, done, release, each before and after
    for kill_at in steps[part::4]:
        with monkeypatch.context() as patched:
            cloud = Cloud()
            watched(patched, cloud)
            shelf, once = evening(tmp_path / str(kill_at), cloud)
            cloud.kill_at = kill_at
            with pytest.raises(KilledError):
                once(NOW)
            cloud.kill_at = -1
            for name in ("dev-a", "dev-b"):  # idle all the while: told again where the first notice is too old by then
                assert name in cloud.machines
            for hours in (4, 5, 6):  # longer than a lock may be held, a notice, and its grace
                once(NOW + timedelta(hours=hours))
            finished(shelf, cloud)
            assert len(shelf.destroyed) <= 2


# Locks ----------------------------------------------------------------------------------------------------------------


def _race(uri: str, rounds: int, start: Any, won: Any, over: Any) -> None:
    start.wait()
    for number in range(rounds):
        try:
            Journal(connect(uri)).lock(f"stack-{number}", NOW)
            won.put(number)
        except HeldError:
            pass
    over.wait()  # what a process that is gone holds is free


def race(rounds: int) -> None:
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        start, won, over = context.Event(), context.Queue(), context.Barrier(8)
        racer = (f"file://{folder}/j", rounds, start, won, over)
        processes = [context.Process(target=_race, args=racer) for _ in range(8)]
        for process in processes:
            process.start()
        start.set()
        winners = [won.get(timeout=60) for _ in range(rounds)]
        for process in processes:
            process.join()
            assert process.exitcode == 0
        assert won.empty()
        assert sorted(winners) == list(range(rounds))  # each stack has one holder, and no stack has none


def test_of_eight_processes_one_holds_a_stack() -> None:
    race(40)


@pytest.mark.soak
def test_of_eight_processes_one_holds_a_stack_ten_thousand_times() -> None:
    for _ in range(100):
        race(100)


# Clocks ---------------------------------------------------------------------------------------------------------------


WINDOWS = (("02:15", "02:45"), ("00:30", "00:45"), ("01:30", "03:30"), ("23:40", "00:20"), ("08:00", "18:00"))
EVERY_DAY = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def opened_on(window: Window, day: date) -> list[datetime]:
    """When a window opens within four hours of its start on a day: by the clock there, whichever side of a change."""
    nominal = datetime.combine(day, time.fromisoformat(window.start), ZoneInfo(window.time_zone)).astimezone(UTC)
    before, opened = window.open_at(nominal - timedelta(minutes=245)), []
    for step in range(8 * 12 + 1):
        at = nominal + timedelta(minutes=5 * step - 240)
        now = window.open_at(at)
        if now and not before:
            opened.append(at)
        before = now
    return opened


def changes(zone: str) -> list[date]:
    """Days until 2030 on which the zone's clocks change, by its own offsets."""
    days = []
    at = datetime(2026, 11, 1, tzinfo=UTC)
    while at.year < 2031:
        following = at + timedelta(hours=6)
        if at.astimezone(ZoneInfo(zone)).utcoffset() != following.astimezone(ZoneInfo(zone)).utcoffset():
            days += [at.astimezone(ZoneInfo(zone)).date(), following.astimezone(ZoneInfo(zone)).date()]
        at = following
    return sorted(set(days))


@pytest.mark.parametrize(
    ("zone", "day", "opens"),
    [
        ("Europe/London", date(2027, 3, 28), "01:15"),  # 01:00 to 02:00 is left out there: 02:15 is not
        ("Europe/Berlin", date(2027, 3, 28), "01:00"),  # 02:00 to 03:00 is left out: from 03:00 on, for as long
        ("Europe/Berlin", date(2026, 10, 25), "01:15"),  # and comes twice: the second counts
        ("America/New_York", date(2027, 3, 14), "07:00"),
        ("Asia/Tokyo", date(2027, 3, 14), None),
    ],
)
def test_a_window_opens_once_whatever_the_clocks_do(zone: str, day: date, opens: str | None) -> None:
    window = Window(days=EVERY_DAY, start="02:15", end="02:45", time_zone=zone)
    (opened,) = opened_on(window, day)
    assert window.open_at(opened + timedelta(minutes=29))
    assert not window.open_at(opened + timedelta(minutes=30))
    assert opens is None or f"{opened:%H:%M}" == opens


@pytest.mark.soak
def test_every_zone_and_change_of_clocks() -> None:
    """Each window opens once on each day on which clocks change, by five minutes."""
    seen = 0
    for zone in sorted(available_timezones()):
        for day in changes(zone):
            for start, end in WINDOWS:
                window = Window(days=EVERY_DAY, start=start, end=end, time_zone=zone)
                assert len(opened_on(window, day)) == 1, (zone, day, start)
                seen += 1
    print(f"{seen} windows on days with a change of clocks")
    assert seen > 10_000


def test_a_window_over_midnight_belongs_to_the_day_on_which_it_starts() -> None:
    window = Window(days=("fri",), start="22:00", end="02:00", time_zone="Etc/UTC")
    friday = datetime(2026, 11, 20, tzinfo=UTC)
    hours = [hour for hour in range(72) if window.open_at(friday - timedelta(days=1) + timedelta(hours=hour))]
    assert hours == [46, 47, 48, 49]
