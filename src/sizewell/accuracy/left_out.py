"""How far off predictions are for sources that nobody fitted: each source predicted with constants of all others.

Training time, memory and serving are each fitted anew without the source (a model of it, in serving, where too little
else tells of a constant), its bands are made of the errors of the other sources alone, and its cases are then predicted
by the functions that `size` uses. Without engines the cases do not say which software ran, as most specs do not.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sizewell.accuracy.asked import as_asked
from sizewell.accuracy.cases import Case, read
from sizewell.accuracy.fits import memory, serving, training
from sizewell.accuracy.fits.bands import Held, rejected, unseen
from sizewell.accuracy.report import Report, Row, Summary, Table, fit_counts, grade, summaries

FILE = Path(__file__).parent / "left_out.json"  # what was found last, for the accuracy page: tools/left_out.py
FEW = 10  # cases from which on a group's band is put to the test
SURE = 0.01  # p below which a band does not hold what it promises


def left_out(
    paths: Iterable[str | Path] = (),
    *,
    engines: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Every gradeable case, predicted without its source; takes some minutes and a CPU. "fits" cases are judged by the
    constants of the memory fit without their source. `progress(what)` is told what is being fitted.

    Raises UsageError or SpecError for files that are not lists of cases.
    """
    return reports(paths, asked=(engines,), progress=progress)[0]


def reports(
    paths: Iterable[str | Path] = (),
    *,
    asked: Sequence[bool] = (True, False),
    progress: Callable[[str], None] | None = None,
) -> tuple[Report, ...]:
    """`left_out` with the software named or not, for each of `asked`, from one fit."""
    cases = read(paths)
    gradeable = [case for case in cases if case.gradeable]
    graded: list[dict[str, Row]] = [{} for _ in asked]
    for what, held in _fits(gradeable):
        if progress is not None:
            progress(what)
        for known, engines in zip(graded, asked, strict=True):
            known.update(_graded(held, engines=engines))
    return tuple(
        Report(
            rows=tuple(rows.get(case.id) or grade(case if engines else as_asked(case)) for case in gradeable),
            ungraded=len(cases) - len(gradeable),
        )
        for rows, engines in zip(graded, asked, strict=True)
    )


def _fits(cases: Sequence[Case]) -> Iterator[tuple[str, tuple[Held, ...]]]:
    timed = [case for case in cases if training.usable(case)]
    if timed:
        values, fitted = training.calibrate(timed)
        yield "training time", tuple(training.left_out(fitted, values))
    sized = memory.gradeable(cases)
    if sized:
        yield "memory", tuple(memory.left_out(sized, memory.START))
    served = serving.gradeable(cases)
    if served:
        yield "serving", tuple(serving.left_out(served, serving.shipped()))


def _graded(held: Sequence[Held], *, engines: bool) -> dict[str, Row]:
    """Rows by case; the bands of a source are made of the errors of the others."""
    named, assumed = unseen(held), unseen(held, engines=False)
    rows: dict[str, Row] = {}
    whole = Counter(case.source_family for part in held for case in part.cases)
    for part in held:
        own = {case.id for case in part.cases}
        in_part = Counter(case.source_family for case in part.cases)
        sources = {source for source, count in in_part.items() if count == whole[source]}
        # Of a source that is left out model by model, its other models are known; of all others none of it is.
        others = [
            [error for name, error in errors.items() if name not in own and error.source not in sources]
            for errors in (named, assumed)
        ]
        with part.using(*others):
            for case in part.cases:
                rows[case.id] = grade(case if engines else as_asked(case))
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many published values of a group lie inside their bands, and p of the exact binomial test of 80 %."""

    group: str
    cases: int
    inside: int
    p: float

    @property
    def holds(self) -> bool:
        return self.p >= SURE


def coverage(rows: Sequence[Row]) -> tuple[Coverage, ...]:
    """All rows, then each kind and each hardware family of an area with ten cases or more."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        if row.in_band is not None:
            for name in ("all", f"{row.area} · {row.kind}", f"{row.area} · {row.hw_family}"):
                groups[name].append(row.in_band)
    return tuple(
        Coverage(group=name, cases=len(held), inside=sum(held), p=rejected(sum(held), len(held)))
        for name, held in sorted(groups.items(), key=lambda item: (item[0] != "all", item[0]))
        if len(held) >= FEW
    )


def coverage_table(rows: Sequence[Row]) -> Table:
    """`coverage` as a table for people."""
    return Table(
        title="Do the 80 % bands hold, for sources that were left out",
        header=("group", "cases", "inside", "p", "holds"),
        rows=tuple(
            (
                covered.group,
                str(covered.cases),
                f"{100 * covered.inside / covered.cases:.0f} %",
                f"{covered.p:.3f}",
                "yes" if covered.holds else "no",
            )
            for covered in coverage(rows)
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """Median error of a kind of case over its core cases, fitted and with each source left out, and what is allowed."""

    group: str
    cases: int
    fitted_pct: float
    left_out_pct: float
    before_pct: float | None  # what was recorded last (`FILE`); None of a kind that it does not have

    @property
    def allowed_pct(self) -> float:
        """1.2 times the fitted median and one point, and no more than before, to the record's tenth of a percent."""
        rule = 1.2 * self.fitted_pct + 1.0
        return rule if self.before_pct is None else min(rule, self.before_pct + 0.05)

    @property
    def holds(self) -> bool:
        return self.left_out_pct <= self.allowed_pct


def margins(left: Report, fitted: Report, before: Mapping[str, Any] = MappingProxyType({})) -> tuple[Margin, ...]:
    """Every kind with ten core cases or more, under constants that its sources had no part in (`left`) and under the
    shipped ones (`fitted`), both asked alike. `before` is a part of the record, named or unnamed.
    """

    def medians(report: Report) -> dict[str, Summary]:
        core = [row for row in report.rows if row.core and row.error_pct is not None]
        return {summary.group: summary for summary in summaries(core, lambda row: f"{row.area} · {row.kind}")}

    stood = before.get("by_kind", {})
    seen = medians(fitted)
    return tuple(
        Margin(
            group=name,
            cases=summary.cases,
            fitted_pct=seen[name].median_pct,
            left_out_pct=summary.median_pct,
            before_pct=stood[name]["median_error_pct"] if name in stood else None,
        )
        for name, summary in medians(left).items()
        if summary.cases >= FEW and name in seen
    )


def margins_table(found: Sequence[Margin]) -> Table:
    """`margins` as a table for people."""
    return Table(
        title=f"Median error by kind with {FEW} core cases or more: at most 1.2 x the fitted + 1 point, and the record",
        header=("group", "cases", "fitted", "left out", "record", "allowed", "holds"),
        rows=tuple(
            (
                margin.group,
                str(margin.cases),
                f"{margin.fitted_pct:.1f} %",
                f"{margin.left_out_pct:.1f} %",
                "–" if margin.before_pct is None else f"{margin.before_pct:.1f} %",
                f"{margin.allowed_pct:.1f} %",
                "yes" if margin.holds else "no",
            )
            for margin in found
        ),
    )


def record(engines: bool) -> Mapping[str, Any]:
    """What the last recorded run found, with the software named (`engines`) or not."""
    document = json.loads(FILE.read_text(encoding="utf-8"))
    part: Mapping[str, object] = document["named" if engines else "unnamed"]
    return part


def _figures(groups: Iterable[Summary]) -> dict[str, dict[str, float]]:
    return {
        group.group: {
            "cases": group.cases,
            "median_error_pct": round(group.median_pct, 1),
            "bias_pct": round(group.bias_pct, 1),
            "in_band_pct": round(group.in_band_pct),
            "half_width_pct": round(group.half_width_pct, 1),
        }
        for group in groups
        if group.refused < group.cases
    }


def recorded(report: Report) -> dict[str, object]:
    """Median errors over core cases by area, by kind and metric, by hardware; refusals; whether the bands hold."""
    core = [row for row in report.rows if row.core]
    keys: tuple[tuple[str, Callable[[Row], str]], ...] = (
        ("by_area", lambda row: row.area),
        ("by_kind", lambda row: f"{row.area} · {row.kind}"),
        ("by_work", lambda row: row.work),
        ("by_metric", lambda row: f"{row.kind} · {row.metric}"),
        ("by_hardware", lambda row: f"{row.area} · {row.hw_family}"),
    )
    counts = fit_counts(report.rows)
    of_software = [row for row in report.rows if row.software]
    return {name: _figures(summaries([row for row in core if key(row)], key)) for name, key in keys} | {
        "by_software": _figures(summaries(of_software, lambda row: row.software)),
        "refused": sum(bool(row.refused) for row in report.rows),
        "cases": len(report.rows),
        "false_fits": counts.false_fits,
        "false_refusals": counts.false_refusals,
        "bands": [
            {"group": covered.group, "cases": covered.cases, "inside": covered.inside, "p": round(covered.p, 4)}
            for covered in coverage(report.rows)
        ],
    }
