"""How this folder measures: whole processes, run in turn after a warm-up, quoted as medians and ratios of one run.

Machines are noisy: a pair of commands is run A B A B ..., so that a change of the machine's speed meets both.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable


def wall_s(command: Sequence[str]) -> float:
    """Seconds that one whole process takes, start to exit; its output is thrown away, a failure raises."""
    started = time.perf_counter()
    # Not `run(timeout=...)`: that looks for the end every 50 ms, which is a tenth of a short command.
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    watchdog = threading.Timer(600, process.kill)
    watchdog.start()
    code = process.wait()
    watchdog.cancel()
    if code:
        raise subprocess.CalledProcessError(code, list(command))
    return time.perf_counter() - started


def processor_s(command: Sequence[str]) -> float:
    """Processor seconds, user and system, of one whole process and its children: waiting for a core is not in it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall_s(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def paired(
    a: Sequence[str], b: Sequence[str], *, runs: int = 7, seconds: Callable[[Sequence[str]], float] = wall_s
) -> tuple[float, float, float]:
    """Median seconds of A and of B, and the median of the ratios A/B pair by pair; one warm-up of each first."""
    seconds(a)
    seconds(b)
    pairs = [(seconds(a), seconds(b)) for _ in range(runs)]
    return (
        statistics.median(x for x, _ in pairs),
        statistics.median(y for _, y in pairs),
        statistics.median(x / y for x, y in pairs),
    )


def median_s(call: Callable[[], object], *, runs: int = 7, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median seconds of an in-process call, after one warm-up; with `time.process_time` without waits for a core."""
    call()
    times = []
    for _ in range(runs):
        started = clock()
        call()
        times.append(clock() - started)
    return statistics.median(times)


def peak_memory_bytes() -> int:
    """Peak resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def report(what: str, seen: float, limit: float, unit: str) -> bool:
    """Print one figure against its limit; True when it is missed."""
    missed = seen > limit
    print(f"   {what:<66} {seen:9.3f} {unit:<5} limit {limit:g}{'   MISSED' if missed else ''}")
    return missed
