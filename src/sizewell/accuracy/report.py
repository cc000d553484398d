"""The validation report: one row per gradeable case, and the error by area, kind, metric, hardware family and source.

Statistics: median, mean and bias of the percentage error, weighted by nothing over `core`; the share within 20 %; the
share of published values inside the predicted 80 % band and the median half-width of the band; refusals with reasons.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizewell import logs
from sizewell.accuracy.asked import as_asked
from sizewell.accuracy.cases import Case, read
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.predict import area, predict, trained_by, work_class


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case, graded. `predicted` is None where the prediction was refused, `error_pct` too; "fits" has no error."""

    id: str
    kind: str
    metric: str
    area: str
    model: str
    hw_family: str
    source_family: str
    core: bool
    published: float
    predicted: float | None
    unit: str
    error_pct: float | None
    grade: str
    low: float | None
    high: float | None
    refused: str
    work: str  # class of a training time case, "" for others
    software: str  # of training: "memory · LoRA · trainer"; "" for others
    fits: bool | None  # whether the run fits its device at the upper edge of the band; None where that is no question
    assumptions: tuple[str, ...] = ()

    @property
    def in_band(self) -> bool | None:
        if self.low is None or self.high is None or self.metric == "fits":
            return None
        return self.low <= self.published <= self.high

    @property
    def half_width_pct(self) -> float | None:
        """Half of the band's width as a share of the prediction."""
        if self.low is None or self.high is None or not self.predicted or self.metric == "fits":
            return None
        return 100 * (self.high - self.low) / 2 / self.predicted

    def to_json(self) -> dict[str, object]:
        shown = ("id", "published", "predicted", "unit", "error_pct", "grade", "low", "high", "refused", "kind",
                 "metric", "area", "model", "hw_family", "source_family", "core", "fits")  # fmt: skip
        return {name: _rounded(getattr(self, name)) for name in shown}


def _rounded(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The error of one group of rows."""

    group: str
    cases: int
    median_pct: float
    mean_pct: float
    bias_pct: float
    within_20_pct: float
    in_band_pct: float
    half_width_pct: float
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A printable table: header and rows of text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All rows and the tables that the command prints."""

    rows: tuple[Row, ...]
    ungraded: int

    @property
    def tables(self) -> tuple[Table, ...]:
        core = [row for row in self.rows if row.core]
        return (
            _table("Error over the core cases, by area", summaries(core, lambda row: row.area)),
            _table(
                "Training time, by class of work", summaries([row for row in core if row.work], lambda row: row.work)
            ),
            _table("By kind and metric", summaries(core, lambda row: f"{row.kind} · {row.metric}")),
            _table("By hardware family", summaries(core, lambda row: f"{row.area} · {row.hw_family}")),
            _table(
                "By source, all gradeable cases", summaries(self.rows, lambda row: f"{row.area} · {row.source_family}")
            ),
            fits_table(self.rows),
            _refusals(self.rows),
        )

    def to_json(self) -> list[dict[str, object]]:
        return [row.to_json() for row in self.rows]


def validate(
    paths: Iterable[str | Path] = (),
    *,
    progress: Callable[[int, int], None] | None = None,
    engines: bool = True,
) -> Report:
    """Predict every gradeable case of the files (the carried ones without a path); `progress(done, of)` is told.

    Without `engines` no case says which software ran, as in a spec that names none.

    Raises UsageError or SpecError for files that are not lists of cases.
    """
    cases = read(paths)
    gradeable = [case for case in cases if case.gradeable]
    rows = []
    for done, case in enumerate(gradeable, start=1):
        rows.append(grade(case if engines else as_asked(case)))
        if progress is not None:
            progress(done, len(gradeable))
    logs.log(__name__, "%d cases predicted; %d cannot be graded", len(rows), len(cases) - len(rows))
    return Report(rows=tuple(rows), ungraded=len(cases) - len(gradeable))


def grade(case: Case) -> Row:
    """The case beside its prediction."""
    outcome = predict(case)
    predicted = outcome if isinstance(outcome, Prediction) else None
    if predicted is None:
        logs.detail(__name__, "%s: not predicted: %s", case.id, outcome)
    error = None
    if predicted is not None and case.metric != "fits" and case.value:
        error = 100 * (predicted.value / case.value - 1)
    return Row(
        id=case.id,
        kind=case.kind,
        metric=case.metric,
        area=area(case),
        model=str(case.model.get("name") or ""),
        work=work_class(case),
        software=trained_by(case),
        hw_family=case.hw_family,
        source_family=case.source_family,
        core=case.core,
        published=case.value,
        predicted=predicted.value if predicted else None,
        unit=case.unit,
        error_pct=error,
        grade=predicted.grade if predicted else "",
        low=predicted.low if predicted else None,
        high=predicted.high if predicted else None,
        refused=outcome if isinstance(outcome, str) else "",
        fits=predicted.fits if predicted else None,
        assumptions=predicted.assumptions if predicted else (),
    )


def summaries(rows: Sequence[Row], key: Callable[[Row], str]) -> tuple[Summary, ...]:
    """One summary per group, in the order of their names; cases of "fits" are counted apart."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.metric != "fits":
            groups[key(row)].append(row)
    return tuple(summary(name, groups[name]) for name in sorted(groups))


def summary(name: str, rows: Sequence[Row]) -> Summary:
    """The statistics of a group."""
    errors = [row.error_pct for row in rows if row.error_pct is not None]
    bands = [row.in_band for row in rows if row.in_band is not None]
    widths = [row.half_width_pct for row in rows if row.half_width_pct is not None]
    nothing = float("nan")
    return Summary(
        group=name,
        cases=len(rows),
        median_pct=statistics.median(map(abs, errors)) if errors else nothing,
        mean_pct=statistics.fmean(map(abs, errors)) if errors else nothing,
        bias_pct=statistics.fmean(errors) if errors else nothing,
        within_20_pct=100 * sum(abs(error) <= 20 for error in errors) / len(errors) if errors else nothing,
        in_band_pct=100 * sum(bands) / len(bands) if bands else nothing,
        half_width_pct=statistics.median(widths) if widths else nothing,
        refused=sum(bool(row.refused) for row in rows),
    )


_HEADER = ("group", "cases", "median", "mean", "bias", "within 20 %", "in band", "half-width", "refused")


def _table(title: str, groups: Sequence[Summary]) -> Table:
    return Table(title=title, header=_HEADER, rows=tuple(_cells(group) for group in groups))


def _cells(s: Summary) -> tuple[str, ...]:
    def percent(value: float, digits: int = 1) -> str:
        return "-" if math.isnan(value) else f"{value:.{digits}f} %"

    return (
        s.group,
        str(s.cases),
        percent(s.median_pct),
        percent(s.mean_pct),
        "-" if math.isnan(s.bias_pct) else f"{s.bias_pct:+.1f} %",
        percent(s.within_20_pct, 0),
        percent(s.in_band_pct, 0),
        percent(s.half_width_pct),
        str(s.refused),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCounts:
    """How often the answer to "does it fit" was wrong, judged at the upper edge of the band."""

    ran_out: int  # published cases that ran out of memory
    false_fits: int
    ran: int  # measured runs, each of which fitted its device
    false_refusals: int


def fit_counts(rows: Sequence[Row]) -> FitCounts:
    """Counts over cases of "fits" and over every measured run whose memory was predicted."""
    stated = [row for row in rows if row.metric == "fits" and row.predicted is not None]
    out = [row for row in stated if not row.published]
    ran = [row for row in stated if row.published]
    ran += [row for row in rows if row.metric != "fits" and row.fits is not None]
    return FitCounts(
        ran_out=len(out),
        false_fits=sum(bool(row.fits) for row in out),
        ran=len(ran),
        false_refusals=sum(not row.fits for row in ran),
    )


def fits_table(rows: Sequence[Row]) -> Table:
    counts = fit_counts(rows)
    return Table(
        title="Fits or not, at the upper edge of the band",
        header=("question", "cases", "wrong"),
        rows=(
            ("ran out of memory: predicted to fit", str(counts.ran_out), str(counts.false_fits)),
            ("ran: predicted not to fit", str(counts.ran), str(counts.false_refusals)),
        ),
    )


def _refusals(rows: Sequence[Row]) -> Table:
    reasons = Counter((row.area, row.refused.split("\n")[0]) for row in rows if row.refused)
    return Table(
        title="Refused",
        header=("area", "reason", "cases"),
        rows=tuple((where, reason, str(count)) for (where, reason), count in sorted(reasons.items())),
    )
