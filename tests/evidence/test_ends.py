"""Runs that end where nobody meant them to, from their first line to the record: interrupted, without a disk, twice, changed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sizewell.cli import evidence
from sizewell.evidence import journal, signing
from sizewell.evidence.journal import path_of, read
from sizewell.sizing.errors import UsageError

from .pretend import Pretend, started, taken_up, the_record
from .test_record import trust


class Interrupted(Pretend):
    """Ctrl-C at a step in place of a kill: what stands is known, and nothing runs on."""

    def step(self) -> None:
        self.steps += 1
        self.clock.at_s += 7
        if self.steps == self.kill_at:
            raise KeyboardInterrupt


def test_interrupted_at_every_step_the_journal_says_so_and_nothing_is_left(tmp_path: Path) -> None:
    whole = Interrupted()
    started(tmp_path / "whole", whole).go()
    for step in range(3, whole.steps + 1):  # from the first line of the journal on
        world, folder = Interrupted(kill_at=step), tmp_path / str(step)
        run = started(folder, world)
        with pytest.raises(KeyboardInterrupt):
            evidence._went(run, run.go, as_json=True)
        own = read(path_of(folder, "trial"))
        assert {each.cause for each in own.steps.values() if each.state == "begun"} <= {"interrupted"}, step
        again = taken_up(folder, world)
        assert again.go(), step
        assert world.cloud == set(), step
        record = the_record(again)
        causes = {each.cause for each in (*record.stages, *record.attempts)}
        assert "killed" not in causes, step
        shutil.rmtree(folder)


@pytest.mark.parametrize("writes", [1, 4, 1000])
def test_a_disk_that_is_full_for_a_while(writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Pretend()
    started(tmp_path / "whole", whole).go()
    real, number = journal.write_whole, 0

    def write(path: Path, text: str) -> None:
        nonlocal number
        number += 1
        if first <= number < first + writes:
            raise OSError(28, "No space left on device")
        real(path, text)

    monkeypatch.setattr(journal, "write_whole", write)
    for first in range(2, 14):
        number, world, folder = 0, Pretend(), tmp_path / str(first)
        run = started(folder, world)
        with pytest.raises(OSError, match="No space"):
            run.go()
        number = 10_000  # somebody has freed some
        again = taken_up(folder, world)
        assert again.go(), first
        assert world.cloud == set(), first
        assert the_record(again).limits.kept


@pytest.mark.parametrize("step", range(12, 60, 6))
def test_a_clock_that_is_set_back_between_two_processes(step: int, tmp_path: Path) -> None:
    world = Interrupted(kill_at=step)
    with pytest.raises(KeyboardInterrupt):
        started(tmp_path, world).go()
    world.clock.skew_s = -86_400
    run = taken_up(tmp_path, world)
    assert run.go()
    record = the_record(run)
    assert (world.cloud, record.started_at <= record.ended_at) == (set(), True)
    assert (record.clock_went_back, record.interrupted) == (True, 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: notes["steps"].pop("up"),
        lambda notes: notes["stage_s"].pop("destroyed"),
        lambda notes: notes.update(stacks=[]),
        lambda notes: notes.update(engine={"pid": "x"}),
        lambda notes: notes.update(usd_limit=-1),
        lambda notes: notes["steps"]["up"].update(state="done"),
    ],
)
def test_a_journal_that_lacks_something_says_how_to_go_on_without_it(change: Any, tmp_path: Path) -> None:
    assert started(tmp_path, Pretend()).go()
    path = path_of(tmp_path, "trial")
    notes = json.loads(path.read_text())
    change(notes)
    path.write_text(json.dumps(notes))
    with pytest.raises(UsageError, match=r"the journal is damaged at .*\n  fix: take the stacks down without it"):
        read(path)


def test_a_record_that_is_changed_by_one_byte(tmp_path: Path) -> None:
    run, key, file = started(tmp_path, Pretend()), tmp_path / "key", tmp_path / "record.json"
    run.go()
    text = the_record(run).to_json().encode()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    file.write_bytes(text)
    signing.sign(file, key)
    signers = trust(key, tmp_path)
    signing.verify(file, signers)
    for place in [*range(0, len(text), 97), len(text) - 1]:
        file.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        with pytest.raises(UsageError, match="was changed after it was signed"):
            signing.verify(file, signers)
    for more in (text + b"\n", text[:-1], b"", text.replace(b"\n", b"\r\n")):
        file.write_bytes(more)
        with pytest.raises(UsageError, match="was changed after it was signed"):
            signing.verify(file, signers)
