"""What `warm.py` starts ends with what it was started for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import harness


def test_a_program_ends_with_its_language_host(tmp_path):
    """A host that is killed with its engine leaves no interpreter behind, and no program that waits for ever."""
    script, told = tmp_path / "script.py", tmp_path / "pid"
    script.write_text(
        f"import os, pathlib, time\npathlib.Path({str(told)!r}).write_text(str(os.getpid()))\ntime.sleep(600)"
    )
    words = [sys.executable, "-I", "-S", harness.HERE / "warm.py", "program", harness._warm("serve_programs"), script]
    starts = f"import subprocess, sys; subprocess.run({[str(word) for word in words]!r})"
    host = subprocess.Popen([sys.executable, "-c", starts], stdin=subprocess.DEVNULL)
    until(told.exists)
    until(lambda: told.read_text() != "")
    host.send_signal(signal.SIGKILL)
    host.wait()
    until(lambda: not runs(int(told.read_text())))


def until(holds):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def runs(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
