"""Loading the whole catalog in a fresh process, digest included: at most 60 ms.

Seen on 2026-11-21 with 2,474 offers and 666 fees, two cores of its own: 75 ms, missed; 116 offers and 541 fees came
that day. On 2026-11-22 with 2,477 offers and 706 fees, at a load of seven: 75 ms; at a load of one: 52 ms.
"""

from __future__ import annotations

import statistics
import subprocess

from benchmarks.measure import PYTHON, ROOT

LIMIT_MS = 60
CODE = """
import time
from sizewell.sizing import catalog
started = time.perf_counter()
found = catalog.load()
print((time.perf_counter() - started) * 1e3, len(found.shapes), len(found.all_offers), len(found.models))
"""


def main() -> int:
    """Print the median of nine processes; 1 where it is above the limit."""
    times = []
    for _ in range(9):
        done = subprocess.run([PYTHON, "-c", CODE], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
        ms, *counts = done.stdout.split()
        times.append(float(ms))
    median = statistics.median(times)
    print(f"   load: {median:.0f} ms (limit {LIMIT_MS}): {counts[0]} shapes, {counts[1]} offers, {counts[2]} models")
    return int(median > LIMIT_MS)
