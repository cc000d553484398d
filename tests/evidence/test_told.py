"""A run that is told to end, by a scheduler, a closed terminal or Ctrl-C, interrupts its engine once and says how to go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sizewell.evidence.journal import path_of, read

ROOT = Path(__file__).resolve().parents[2]
ENGINE = """#!/bin/sh
trap 'echo INT >> signals; {at_the_first}' INT
trap 'echo TERM >> signals; exit 1' TERM
while [ -z "$over" ]; do echo thing >> built; sleep 0.05; done
exit 1
"""


def begun(folder: Path, *, at_the_first: str = "over=1", before: str = "env") -> subprocess.Popen[str]:
    """A process of it, whose engine builds."""
    program = folder / "pulumi"
    program.write_text(ENGINE.replace("{at_the_first}", at_the_first))
    program.chmod(0o755)
    process = subprocess.Popen(
        [before, sys.executable, "-m", "tests.evidence.told", folder, "go"],
        cwd=ROOT, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until((folder / "built").exists)
    return process


def until(true: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def ends(folder: Path, process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and what it said; nothing is built any more."""
    _, said = process.communicate(timeout=60)
    built = (folder / "built").read_text()
    time.sleep(0.3)
    assert (folder / "built").read_text() == built
    return process.returncode, said


@pytest.mark.parametrize(("sign", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_told_to_end_the_engine_is_interrupted_once(sign: str, code: int, tmp_path: Path) -> None:
    process = begun(tmp_path)
    os.killpg(process.pid, signal.Signals[sign])  # its whole group, as a terminal does
    found, said = ends(tmp_path, process)
    assert (found, (tmp_path / "signals").read_text()) == (code, "INT\n"), said
    assert "something may stand: sizewell evidence resume trial, or clean in place of resume" in said
    own = read(path_of(tmp_path, "trial"))
    assert (own.steps["up"].state, own.steps["up"].cause, own.engine) == ("begun", "interrupted", {})
    done = subprocess.run(
        [sys.executable, "-m", "tests.evidence.told", tmp_path, "go"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 6, done.stderr
    own = read(path_of(tmp_path, "trial"))
    assert (own.steps["up"].state, own.steps["up"].cause) == ("failed", "interrupted")
    assert own.steps["inventory"].state == "passed"


def test_under_nohup_it_goes_on(tmp_path: Path) -> None:
    process = begun(tmp_path, before="nohup")
    os.kill(process.pid, signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert ends(tmp_path, process)[0] == 143


def test_told_twice_an_engine_that_takes_its_time_ends_at_once(tmp_path: Path) -> None:
    process = begun(tmp_path, at_the_first="")
    process.send_signal(signal.SIGTERM)
    until((tmp_path / "signals").exists)
    process.send_signal(signal.SIGTERM)
    assert ends(tmp_path, process)[0] == 143
    assert (tmp_path / "signals").read_text() == "INT\nTERM\n"
