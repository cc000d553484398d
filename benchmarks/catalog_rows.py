"""Ten times the prices and fees in a project's own catalog: loaded within twice the time of the shipped catalog.

Processes in turn, A B C D E A B ...: the shipped catalog; with ten times its rows and the compact form that a refresh
leaves beside them; the same without it; the shipped catalog with rates of the project; ten times the rows, the compact
form, and those rates, which are newer than it. Milliseconds are those of `catalog.load`, ratios medians of the turns.

Seen on 2026-11-22, two cores: 52 ms shipped, 50 ms with ten times the rows and the compact form (0.96 times), 406 ms
without it (7.97 times); with rates 71 ms and 70 ms (1.00 times). Two misses came before: 4.75 times, where the CSV was
read for the machine types that a project prices, and 2.10 times, where every fee was made to check the rates' keys.
Seen on 2026-11-24, two cores at a load of eight, with one reader for both forms: 37 ms shipped (48 ms before it, in
turns with it), 47 ms with ten times the rows and the compact form (46 ms before), 287 ms without it (409 ms before).
"""

from __future__ import annotations

import csv
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from benchmarks.measure import PYTHON, ROOT

LIMIT = 2.0
TIMES = 10
TURNS = 15
CODE = """
import sys, time
from pathlib import Path
from sizewell.sizing import catalog
from sizewell.sizing.catalog import compact  # what a refresh imports as well
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
started = time.process_time()
found = catalog.load(overlay=folder)
print((time.process_time() - started) * 1e3, len(found.all_offers), len(found.fees))
"""
WRITE = "from pathlib import Path; import sys; from sizewell.sizing.catalog.loading import keep_compact; \
keep_compact(Path(sys.argv[1]))"
RATES = """rates:
  - {cloud: aws, instance_type: p5.48xlarge, region: af-south-1, market: on-demand, usd: 50}
  - {cloud: aws, fee: nat.gb, usd: 0.04}
  - {cloud: gcp, market: on-demand, percent: 12}
"""


def main() -> int:
    """Print the medians; 1 where ten times the rows take more than twice as long, with rates or without."""
    with tempfile.TemporaryDirectory() as temporary:
        with_form, without, rates, rated = (Path(temporary, name) for name in ("with", "without", "rates", "rated"))
        rates.mkdir()
        for folder in (with_form, without, rated):
            write_rows(folder)
        for folder in (with_form, rated):
            run(WRITE, folder)
        for folder in (rates, rated):
            (folder / "rates.yaml").write_text(RATES, encoding="utf-8")
        turns = [tuple(loaded(folder) for folder in (None, with_form, without, rates, rated)) for _ in range(TURNS)]
    ten = f"{TIMES} times"
    names = ("shipped", f"{ten}, compact", f"{ten}, CSV alone", "shipped, rates", f"{ten}, compact, newer rates")
    for name, of_one in zip(names, zip(*turns, strict=True), strict=True):
        ms = statistics.median(float(words[0]) for words in of_one)
        print(f"   {name}: {ms:.0f} ms, {of_one[0][1]} prices, {of_one[0][2]} fees")
    ratios = [[float(turn[b][0]) / float(turn[a][0]) for turn in turns] for a, b in ((0, 1), (3, 4), (0, 2))]
    plain, with_rates, alone = (statistics.median(of_pair) for of_pair in ratios)
    print(
        f"   {plain:.2f} times the shipped catalog's time with the compact form (limit {LIMIT}), {alone:.2f} without;"
    )
    print(f"   {with_rates:.2f} times with rates on both sides (limit {LIMIT})")
    return int(max(plain, with_rates) > LIMIT)


def loaded(folder: Path | None) -> list[str]:
    return run(CODE, folder).split()


def run(code: str, folder: Path | None) -> str:
    command = [PYTHON, "-c", code, *([str(folder)] if folder else [])]
    environment = {**os.environ, "SIZEWELL_CATALOG": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout


def write_rows(folder: Path) -> None:
    """Nine further days of every shipped price and fee, as nine refreshes would leave them."""
    from sizewell.sizing import catalog
    from sizewell.sizing.catalog.records import Fee, Offer
    from sizewell.sizing.catalog.table import cells_of, columns_of

    shipped = catalog.load(catalog.loading.DATA)
    for number in range(1, TIMES):
        for table, record, records in (("offers", Offer, shipped.all_offers), ("fees", Fee, shipped.fees)):
            columns = columns_of(record)
            path = folder / table / f"day-{number}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            at = columns.index("effective_from")
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows(later((cells_of(each) for each in records), at, number))


def later(rows: Iterator[list[str]], at: int, number: int) -> Iterator[list[str]]:
    for row in rows:
        day = date.fromisoformat(row[at]) + timedelta(days=number)
        yield [*row[:at], day.isoformat(), *row[at + 1 :]]
