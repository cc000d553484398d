"""Many specs at once: a process for each core, the answers in the order of the specs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sizewell.sizing.choose.decide import Answer
    from sizewell.sizing.workload.read import WorkloadSpec

PARALLEL_FROM = 24  # from here on a second process is worth its start
PROCESSES_MAX = 8
SPECS_A_TASK = 4  # specs that a process takes with it: a few, since a training run takes ten times a notebook


def processes(count: int) -> int:
    """Processes worth having for so many specs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, PROCESSES_MAX) if count >= PARALLEL_FROM else 1


def decide_all(specs: Sequence[WorkloadSpec], on: date, tell: Callable[[int], None]) -> Iterator[Answer]:
    """An answer for each spec, in their order; `tell` hears how many are done."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Spawned, not forked: the process that prints the progress has a thread of its own.
    with ProcessPoolExecutor(processes(len(specs)), mp_context=get_context("spawn")) as pool:
        answers = pool.map(_decide, ((spec, on) for spec in specs), chunksize=SPECS_A_TASK)
        try:
            for number, answer in enumerate(answers, start=1):
                tell(number)
                yield answer
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _decide(job: tuple[WorkloadSpec, date]) -> Answer:
    from sizewell.sizing.catalog import load
    from sizewell.sizing.choose.decide import decide

    spec, on = job
    return decide([spec], load(), stack="", on=on)


def progress_bar(done: int, total: int, seconds: float, *, width: int = 24) -> str:
    """How far it is, and how long it may still take.

    >>> progress_bar(250, 1000, 10.0)
    '██████░░░░░░░░░░░░░░░░░░ 250 of 1,000, about 30 s left'
    """
    full = round(width * done / total)
    drawn = "█" * full + "░" * (width - full)
    if (sys.stderr.encoding or "").lower().replace("-", "") != "utf8":
        drawn = drawn.replace("█", "#").replace("░", ".")
    left = f", about {seconds / done * (total - done):.0f} s left" if done else ""
    return f"{drawn} {done:,} of {total:,}{left}"
