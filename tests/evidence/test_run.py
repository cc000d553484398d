"""A run that is killed, refused, throttled and lied to ends with nothing left, within its limits, with a valid record."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sizewell.evidence.journal import Journal, path_of, read
from sizewell.evidence.page import page
from sizewell.sizing.errors import UsageError

from .pretend import (
    Fault,
    KilledError,
    Pretend,
    broken,
    denied,
    expired,
    no_capacity,
    quota,
    silent,
    started,
    taken_up,
    the_record,
    throttled,
)


def test_a_run_without_faults(tmp_path: Path) -> None:
    world = Pretend()
    run = started(tmp_path, world)
    assert run.go()
    record = the_record(run)
    assert not world.cloud
    outcomes = {each.stage: each.outcome for each in record.stages}
    passed = {"rights", "up", "reachable", "guard", "destroyed", "inventory"}
    assert {name for name, outcome in outcomes.items() if outcome == "passed"} == passed
    assert {record.stage(name).cause for name in ("checkpoint", "collective")} == {"not automated"}
    assert {record.stage(name).cause for name in ("measured", "billed")} == {"no data"}
    assert record.limits.kept
    assert record.interrupted == 0
    assert record.stage("up").usd_max == pytest.approx(0.9 * 2400 / 3600)


def killed_and_taken_up(folder: Path, seed: int) -> None:
    """Up to three kills at random steps, in `run`, `resume` and `clean`; the last is left alone."""
    chance = random.Random(seed)  # noqa: S311
    world = Pretend(lag=chance.randrange(2))
    world.kill_at = 1 + chance.randrange(90)
    kills = 0
    try:
        run = started(folder, world)
        gone = run.go()
    except KilledError:
        kills += 1
        gone = False
    while not gone:
        if not path_of(folder, "trial").exists():
            assert world.cloud == set()
            return
        world.kill_at = world.steps + 1 + chance.randrange(60) if kills < 3 else 0
        try:
            run = taken_up(folder, world)
            gone = run.go() if chance.random() < 0.5 else run.down("not asked for")
        except KilledError:
            kills += 1
        else:
            assert gone, "nothing is wrong with cloud or engine, and something is left"
    assert (world.cloud, world.engine, world.locked) == (set(), [], False)
    record = the_record(run)
    assert record.limits.kept
    assert record.interrupted <= kills
    if run.journal.built:
        assert record.stage("inventory").outcome == "passed"


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_random_points_nothing_is_left(seed: int, tmp_path: Path) -> None:
    killed_and_taken_up(tmp_path, seed)


@pytest.mark.soak
def test_killed_200_times(tmp_path: Path) -> None:
    for seed in range(1000, 1200):
        killed_and_taken_up(tmp_path / str(seed), seed)


def test_killed_at_every_single_step(tmp_path: Path) -> None:
    whole = Pretend()
    started(tmp_path / "whole", whole).go()
    for step in range(1, whole.steps + 1):
        world = Pretend(kill_at=step)
        folder = tmp_path / str(step)
        with pytest.raises(KilledError):
            started(folder, world).go()
        if not path_of(folder, "trial").exists():
            assert not world.cloud
            continue
        again = taken_up(folder, world)
        assert again.go(), step
        assert not world.cloud, step
        assert the_record(again).limits.kept, step


CALLS = ("rights", "up", "reachable", "guard", "end_engine", "take_down", "left", "take_in")
ERRORS = (denied, expired, throttled, silent, no_capacity, broken)
FAULTS = [
    *(pytest.param([Fault(call, error)], id=f"{call} {error.__name__}") for call in CALLS for error in ERRORS),
    *(
        pytest.param([Fault(call, error, half=True)], id=f"half {call} {error.__name__}")
        for call in ("up", "take_down")
        for error in ERRORS
    ),
    pytest.param([Fault("rights", quota)], id="quota"),
    pytest.param([Fault("up", no_capacity, half=True), Fault("take_down", broken, half=True)], id="half of both"),
    pytest.param([Fault("take_down", broken, times=9, half=True)], id="half destroyed, again and again"),
    pytest.param([Fault("left", throttled, times=20)], id="throttled for long"),
    pytest.param([Fault(call, expired, times=30) for call in CALLS], id="login expired for good"),
    pytest.param([Fault("take_in", denied, times=20), Fault("up", broken, half=True)], id="may not import"),
]


def test_there_are_sixty_faults() -> None:
    assert len(FAULTS) >= 60


@pytest.mark.parametrize("faults", FAULTS)
def test_with_a_fault_nothing_is_left_once_it_is_over(faults: list[Fault], tmp_path: Path) -> None:
    faults = [Fault(each.call, each.error, each.times, each.half) for each in faults]
    world = Pretend(faults=faults, lag=1)
    run = started(tmp_path, world)
    gone = run.go()
    record = the_record(run)
    if gone:
        assert not world.cloud
    else:  # nobody claims that nothing is left, and the run is not over
        assert record.stage("inventory").outcome == "failed"
        assert record.stage("inventory").cause
        world.faults = []
        run = taken_up(tmp_path, world)
        assert run.down("not asked for")
        record = the_record(run)
    assert not world.cloud
    assert record.limits.kept
    assert not run.journal.built or record.stage("inventory").outcome == "passed"
    if faults[0].call in ("rights", "up", "reachable", "guard"):
        assert record.stage(faults[0].call).outcome == "failed"
        assert record.stage(faults[0].call).cause not in ("", "killed")


def test_without_rights_nothing_is_built(tmp_path: Path) -> None:
    world = Pretend(faults=[Fault("rights", denied)])
    run = started(tmp_path, world)
    assert run.go()
    assert "up" not in world.calls
    record = the_record(run)
    assert (record.stage("rights").cause, record.stage("up").cause) == ("denied", "earlier stage")
    assert record.stage("destroyed").cause == record.stage("inventory").cause == "nothing built"


@pytest.mark.parametrize("back_s", [60.0, 86_400.0, 10**9 + 0.5])
def test_a_clock_that_goes_back_ends_the_run(back_s: float, tmp_path: Path) -> None:
    world = Pretend(kill_at=34)
    with pytest.raises(KilledError):
        started(tmp_path, world).go()
    assert world.cloud
    world.clock.skew_s, world.kill_at = -min(back_s, 900_000), 0
    run = taken_up(tmp_path, world)
    assert run.go()
    record = the_record(run)
    assert record.clock_went_back
    assert "clock" in {each.cause for each in record.stages}
    assert not world.cloud


def test_a_clock_that_goes_on_by_hours_ends_the_run_and_is_counted(tmp_path: Path) -> None:
    world = Pretend(kill_at=34)
    with pytest.raises(KilledError):
        started(tmp_path, world).go()
    world.clock.skew_s, world.kill_at = 90_000, 0
    run = taken_up(tmp_path, world)
    assert run.go()
    record = the_record(run)
    assert not record.limits.kept  # nobody can say that it was not: the time of day says that it was
    assert "limit" in {each.cause for each in record.stages}
    assert not world.cloud


@pytest.mark.parametrize(
    ("more", "tried"),
    [
        ({"seconds_limit": 5_450.0}, {"up"}),
        ({"seconds_limit": 5_900.0}, {"up", "reachable"}),
        ({"usd_limit": 2.3}, {"up"}),
        ({"usd_limit": 2.5}, {"up", "reachable"}),
        ({"seconds_limit": 3_000.0}, set()),
        ({"usd_limit": 0.5}, set()),
    ],
)
def test_what_would_pass_a_limit_is_not_begun(more: dict[str, float], tried: set[str], tmp_path: Path) -> None:
    world = Pretend(slow_s=2_300.0)
    run = started(tmp_path, world, **more)
    assert run.go()
    record = the_record(run)
    passed = {each.stage for each in record.stages if each.outcome == "passed"}
    assert passed & {"up", "reachable", "guard"} == tried
    assert record.stage("guard").cause == ("limit" if tried else "earlier stage")
    assert record.limits.kept
    assert not world.cloud


def test_stages_that_nobody_asked_for(tmp_path: Path) -> None:
    world = Pretend()
    run = started(tmp_path, world, wanted=["up"])
    assert run.go()
    assert {the_record(run).stage(name).cause for name in ("rights", "reachable", "guard")} == {"not asked for"}
    assert world.calls[0] == "up"


def test_a_run_that_is_over_stays_as_it_was(tmp_path: Path) -> None:
    world = Pretend()
    run = started(tmp_path, world)
    assert run.go()
    first = the_record(run)
    world.clock.at_s += 86_400
    again = taken_up(tmp_path, world)
    calls = len(world.calls)
    assert again.go()
    assert again.down()
    assert the_record(again) == first
    assert len(world.calls) == calls


def test_a_destroy_that_failed_proves_nothing_by_an_empty_list(tmp_path: Path) -> None:
    world = Pretend(faults=[Fault("end_engine", broken, times=99)])
    assert not started(tmp_path, world).go()
    world.cloud.clear()
    run = taken_up(tmp_path, world)
    assert not run.down()
    assert the_record(run).stage("inventory").cause == "left"
    world.faults = []
    assert taken_up(tmp_path, world).down()


def test_a_damaged_journal_says_how_to_go_on_without_it(tmp_path: Path) -> None:
    started(tmp_path, Pretend()).go()
    path = path_of(tmp_path, "trial")
    path.write_text(path.read_text()[:200])
    with pytest.raises(
        UsageError, match="fix: take the stacks down without it: pulumi destroy -s trial, then of ttl-trial"
    ):
        read(path)
    with pytest.raises(UsageError, match="fix: sizewell evidence run other"):
        read(path_of(tmp_path, "other"))


def test_a_journal_under_another_name_is_refused(tmp_path: Path) -> None:
    """Its stacks are not the ones that the command names."""
    started(tmp_path, Pretend()).go()
    path = path_of(tmp_path, "trial").rename(path_of(tmp_path, "other"))
    with pytest.raises(UsageError, match=r"stack: is of trial, where its name says other\n  fix: name it trial.json"):
        read(path)


def test_the_journal_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = started(tmp_path, Pretend())
    before = path_of(tmp_path, "trial").read_text()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        Journal.write(run.journal)
    assert path_of(tmp_path, "trial").read_text() == before


def test_each_destroy_that_failed_stays_in_journal_and_record(tmp_path: Path) -> None:
    world = Pretend(
        faults=[Fault("take_down", throttled), Fault("left", expired), Fault("take_down", broken, half=True)]
    )
    run = started(tmp_path, world)
    assert run.go()
    record = the_record(run)
    assert record.stage("destroyed").outcome == "passed"
    tried = [(each.stage, each.cause) for each in record.attempts]
    assert tried == [("destroyed", "throttled"), ("destroyed", "login"), ("destroyed", "engine")]
    assert all(each.seconds for each in record.attempts)
    assert read(path_of(tmp_path, "trial")).attempts == list(record.attempts)
    assert "Tried before: destroyed (throttled), destroyed (login), destroyed (engine)." in page([record])


def test_a_destroy_that_failed_to_the_end_is_followed_by_one_that_passes(tmp_path: Path) -> None:
    world = Pretend(faults=[Fault("take_down", denied, times=4)])
    assert not started(tmp_path, world).go()
    assert taken_up(tmp_path, world).down()
    tried = [(each.stage, each.cause) for each in read(path_of(tmp_path, "trial")).attempts]
    assert tried == [*[("destroyed", "denied")] * 4, ("inventory", "left")]


def test_a_list_that_lags_behind_is_an_attempt_too(tmp_path: Path) -> None:
    run = started(tmp_path, Pretend(lag=1))
    assert run.go()
    assert [(each.stage, each.cause) for each in the_record(run).attempts] == [("destroyed", "left")]


def test_a_stage_that_was_cut_off_and_tried_again_says_so(tmp_path: Path) -> None:
    world = Pretend()
    run = started(tmp_path, world)
    world.faults = [Fault("reachable", KilledError)]  # type: ignore[arg-type]
    with pytest.raises(KilledError):
        run.go()
    again = taken_up(tmp_path, world)
    assert again.go()
    record = the_record(again)
    assert record.stage("reachable").outcome == "passed"
    assert [(each.stage, each.cause, each.seconds) for each in record.attempts] == [("reachable", "killed", None)]
