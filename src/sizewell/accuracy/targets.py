"""What the project set out to reach, beside what it reaches: one line per target, and the reason where it is missed."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sizewell import csvtables
from sizewell.accuracy.predict import WHOLE_RUNS
from sizewell.accuracy.report import Row, Summary, Table, fit_counts, summary
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.memory.constants import PATH as MEMORY_CONSTANTS
from sizewell.sizing.predict.performance.serving_constants import FILE as SERVING_CONSTANTS

FEW = 5  # groups with fewer core cases are reported, not targeted
WIDEST = 2.5  # half-width of a band over the median error of its group
FURTHEST = 1.3  # error with the source left out over the fitted error


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One target: `met` is None where nothing was aimed at."""

    what: str
    cases: int
    reached: str
    wanted: str
    met: bool | None
    why: str = ""


# Training time by class of work: what, which classes, percent wanted (0: part of the line before).
_CLASSES: tuple[tuple[str, Callable[[Row], bool], float], ...] = (
    ("training time, dense, 16 bits", lambda row: row.work == "dense, 16 bits", 8.0),
    (
        "training time, 8 or 4 bits and mixture of experts",
        lambda row: row.work in ("dense, 8 or 4 bits", "mixture of experts"),
        12.0,
    ),
    ("… of these, mixture of experts", lambda row: row.work == "mixture of experts", 0.0),
    ("MLPerf time to train, LoRA and the rest", lambda row: row.work.startswith("MLPerf"), 12.0),
    ("… of these, LoRA", lambda row: row.work == "MLPerf time to train, LoRA", 0.0),
    ("… totals of whole runs", lambda row: row.work == WHOLE_RUNS, 0.0),
    ("training memory", lambda row: row.area == "training memory", 8.0),
    ("adapter memory (LoRA, QLoRA)", lambda row: row.area == "adapter memory", 10.0),
)
_DEVICES = (
    ("TPU v5e", "TPU-v5e"),
    ("TPU v5p", "TPU-v5p"),
    ("TPU v6e", "TPU-v6e"),
    ("Trainium", "Trainium"),
    ("MI300X", "MI300X"),
    ("Gaudi", "Gaudi"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedTarget:
    """A row of missed_targets.csv: why a target is missed, shown where it is."""

    target: str
    reason: str


@cache
def _reasons() -> dict[str, str]:
    rows = csvtables.read(MissedTarget, Path(__file__).parent / "data/missed_targets.csv")
    return {row.target: row.reason for row in rows}


def lines(rows: Sequence[Row], devices: Mapping[str, str]) -> tuple[Line, ...]:
    """All targets; `devices` names each row's device."""
    core = [row for row in rows if row.core]
    target_lines = [_error(what, [row for row in core if chosen(row)], wanted) for what, chosen, wanted in _CLASSES]
    for title, start in _DEVICES:
        chosen = [row for row in rows if row.area == "training time" and devices.get(row.id, "").startswith(start)]
        target_lines.append(_error(f"training time on {title}, all graded cases", chosen, 20.0))
    target_lines += _fits(rows)
    target_lines += _left_out()
    target_lines += [_band(name, group) for name, group in _band_groups(rows)]
    refused = sum(bool(row.refused) for row in rows)
    share = 100 * refused / max(1, len(rows))
    target_lines.append(
        Line(what="refused", cases=len(rows), reached=f"{share:.1f} %", wanted="at most 5 %", met=share <= 5.0)
    )
    return tuple(target_lines)


def table(target_lines: Sequence[Line]) -> Table:
    """The lines as a table; the reasons stand under it."""
    words = {True: "yes", False: "**no**", None: "–"}
    return Table(
        title="",
        header=("what", "cases", "reached", "wanted", "met"),
        rows=tuple((line.what, str(line.cases), line.reached, line.wanted, words[line.met]) for line in target_lines),
    )


def reasons(target_lines: Sequence[Line]) -> tuple[str, ...]:
    """Why, for each line that has a reason to give."""
    return tuple(f"{line.what} ({line.reached}): {line.why}" for line in target_lines if line.why)


def _line(what: str, cases: int, reached: str, wanted: str, met: bool | None) -> Line:
    missed = met is False or (met is None and what.startswith("…"))
    return Line(what=what, cases=cases, reached=reached, wanted=wanted, met=met, why=_reasons().get(what, "") * missed)


def _error(what: str, rows: Sequence[Row], wanted: float) -> Line:
    errors = [abs(row.error_pct) for row in rows if row.error_pct is not None]
    if not errors:
        return _line(what, 0, "no case", "", None)
    median = statistics.median(errors)
    if not wanted or len(errors) < FEW:
        return _line(what, len(errors), f"{median:.1f} %", "too few for a target" if wanted else "", None)
    return _line(what, len(errors), f"{median:.1f} %", f"{wanted:g} %", median <= wanted)


def _fits(rows: Sequence[Row]) -> list[Line]:
    counts = fit_counts(rows)
    share = 100 * counts.false_refusals / max(1, counts.ran)
    return [
        _line(
            "ran out of memory, predicted to fit", counts.ran_out, str(counts.false_fits), "0", not counts.false_fits
        ),
        _line("ran, predicted not to fit", counts.ran, f"{share:.1f} %", "at most 10 %", share <= 10.0),
    ]


def left_out() -> dict[str, dict[str, Any]]:
    """Errors fitted and with the source left out, by group, as the calibrations wrote them."""
    time = calibration.table("training")["cross_validation"]
    memory, serving = (
        json.loads(path.read_text(encoding="utf-8"))["cross_validation"]
        for path in (MEMORY_CONSTANTS, SERVING_CONSTANTS)
    )
    areas = (("time", time), ("memory", memory), ("serving", serving))
    return {f"{area}: {name}": row for area, rows in areas for name, row in rows.items()}


def _left_out() -> list[Line]:
    wanted = ("all", "dense, 16 bits", "8 or 4 bits and mixture of experts", "MLPerf time to train")
    memory = ("training", "adapters", "adapters-narrow")
    target_lines = []
    groups = left_out()
    for key, what in (
        *((f"time: {name}", f"time, source left out: {name}") for name in wanted),
        *((f"memory: {name}", f"memory, source left out: {name}") for name in memory),
    ):
        row = groups[key]
        ratio = row["median_error_pct_source_left_out"] / max(1e-9, row["median_error_pct"])
        reached = f"{row['median_error_pct_source_left_out']:.1f} %, {ratio:.2f} x the fitted"
        target_lines.append(_line(what, int(row["cases"]), reached, f"{FURTHEST} x", ratio <= FURTHEST))
    return target_lines


def _band_groups(rows: Sequence[Row]) -> list[tuple[str, Summary]]:
    graded = [row for row in rows if row.metric != "fits"]
    areas = ("training time", "training memory", "adapter memory", "serving memory", "serving")
    works = sorted({row.work for row in graded if row.work} - {WHOLE_RUNS})  # no band is claimed of those
    groups = [(name, [row for row in graded if row.area == name]) for name in areas]
    groups += [(name, [row for row in graded if row.work == name]) for name in works]
    return [(name, summary(name, members)) for name, members in groups if len(members) >= FEW]


def _band(name: str, group: Summary) -> Line:
    ratio = group.half_width_pct / max(1e-9, group.median_pct)
    reached = f"holds {group.in_band_pct:.0f} %, ± {group.half_width_pct:.1f} %: {ratio:.1f} x the median error"
    met = round(group.in_band_pct) >= 80 and ratio <= WIDEST
    return _line(f"band: {name}", group.cases, reached, f"80 %, at most {WIDEST} x", met)
