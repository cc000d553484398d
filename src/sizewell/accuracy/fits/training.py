"""Fit the constants of calibration/training.json to published cases, and write the file.

    python tools/calibrate.py --date 2026-11-21            fit and write; the same date and cases give the same bytes
    python tools/calibrate.py --date 2026-11-21 --check    fit and compare with the existing file; 1 if it differs
    python tools/calibrate.py --cross-validate             error when each source is left out of its own fit

Every constant has a prior (calibration/priors.py): a measurement of its own where there is one, else physics
or practice, with a width that says how far the fit may pull it. The fit minimises the weighted absolute log error, in
units of 11 % (about what a source that was not fitted is off by), plus half the squared distance from the priors in
units of their widths, so that a constant that the cases say nothing about stays at its prior. Each group of like cases
weighs as much as a single one, so a long table does not outvote the rest. Layouts that a source leaves open are chosen
with the constants of the round before.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sizewell.accuracy import cases as published
from sizewell.accuracy.describe import CannotPredictError
from sizewell.accuracy.fits.bands import Held, Unseen, floors, unseen, widths
from sizewell.accuracy.predict import work_class
from sizewell.accuracy.training_runs import METRICS, TrainingRun, in_unit, layout_of, training_run
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.calibration.priors import Prior, priors
from sizewell.sizing.predict.performance.training import step_s
from sizewell.sizing.predict.performance.training_rows import cluster_facts, job_facts, layout_facts, rows
from sizewell.sizing.records.jobs import Cluster, Layout

FILE = Path(calibration.__file__).parent / "training.json"
KINDS = ("pretrain", "finetune_full", "finetune_lora", "finetune_qlora", "vision_train")
ROUNDS = 3  # of choosing layouts and fitting
NOISE = 0.11  # log error that costs as much as pulling a constant 1.4 widths from its prior
SMALLEST = 0.03  # log error below which cases are as good as exact
NARROWER = 40  # sources that errors of all count for beside a family's own: what differs is software, not the device
BAND_LEAST = 0.05  # half-width in the logarithm: runs of one program on one machine differ by as much


@dataclass(frozen=True)
class Fitted:
    """A case, ready: what it is, how it is laid out, what was published."""

    case: published.Case
    run: TrainingRun
    layout: Layout


class Table:
    """All cases as columns; only what depends on constants is worked out again at each step of the fit."""

    def __init__(self, fitted: Sequence[Fitted]) -> None:
        self.fitted = fitted
        facts = [{**job_facts(f.run.job), **layout_facts(f.layout)} for f in fitted]
        self.fixed = {name: np.array([row[name] for row in facts]) for name in facts[0]}
        self.pairs: list[tuple[Cluster, str]] = []
        numbers: dict[tuple[object, ...], int] = {}
        index = []
        for f in fitted:
            c = f.run.cluster
            key = (
                c.accelerator.key,
                c.per_node,
                c.nodes,
                c.scale_up,
                c.network_bytes_per_s,
                c.fabric,
                f.run.job.precision,
            )
            if key not in numbers:
                numbers[key] = len(self.pairs)
                self.pairs.append((c, f.run.job.precision))
            index.append(numbers[key])
        self.index = np.array(index)
        self._reads: dict[int, tuple[str, ...]] = {}
        self._known: dict[tuple[object, ...], dict[str, float]] = {}
        unit = np.array([in_unit(f.run, f.layout, 1.0) for f in fitted])
        faster = np.array([in_unit(f.run, f.layout, 2.0) for f in fitted]) < unit
        self.log_unit = np.log(unit)
        self.sign = np.where(faster, -1.0, 1.0)  # how the published figure moves with the step time
        self.log_published = np.log([f.case.value for f in fitted])
        self.weight = np.array([f.case.weight for f in fitted])

    def log_error(self, k: Mapping[str, float]) -> np.ndarray:
        """Predicted over published, logarithm, positive where the prediction is slower."""
        error: np.ndarray = self.log_errors([k])[0]
        return error

    def log_errors(self, trials: Sequence[Mapping[str, float]]) -> np.ndarray:
        """`log_error` of several sets of constants at once, one per row: columns of all trials are one computation."""
        facts = [[self._facts(pair, k) for pair in range(len(self.pairs))] for k in trials]
        columns = {
            name: np.array([[row[name] for row in rows_] for rows_ in facts])[:, self.index] for name in facts[0][0]
        }
        constants: Any = {name: np.array([[k[name]] for k in trials]) for name in trials[0]}
        seconds: np.ndarray = np.broadcast_to(
            step_s(rows({**self.fixed, **columns}), constants), (len(trials), len(self.index))
        )
        errors: np.ndarray = np.log(seconds) + self.sign * (self.log_unit - self.log_published)
        return errors

    def _facts(self, pair: int, k: Mapping[str, float]) -> dict[str, float]:
        """`cluster_facts` of a machine, worked out once for trials that agree on the constants that it reads."""
        cluster, precision = self.pairs[pair]
        if pair not in self._reads:
            noted = _Noted(k)
            cluster_facts(cluster, precision, noted)
            self._reads[pair] = tuple(sorted(noted.read))
        key = (pair, *(k[name] for name in self._reads[pair]))
        if key not in self._known:
            self._known[key] = cluster_facts(cluster, precision, k)
        return self._known[key]


class _Noted(dict[str, float]):
    """Constants that note which of them were read."""

    def __init__(self, k: Mapping[str, float]) -> None:
        super().__init__(k)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> float:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.keys() else default


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="case files or folders; default: the bundled cases")
    parser.add_argument("--date", help="date of the fit, written into the file")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    parser.add_argument("--cross-validate", action="store_true", help="leave each source out in turn")
    arguments = parser.parse_args(argv)
    cases = [case for case in published.read(arguments.paths) if usable(case)]
    values, fitted = calibrate(cases)
    errors = Table(fitted).log_error(values)
    signed = np.where(Table(fitted).sign < 0, -1.0, 1.0) * errors
    _print_errors("fitted", [float(error) for f, error in zip(fitted, signed, strict=True) if f.case.core])
    if not (arguments.cross_validate or arguments.date):
        return 0
    held = tuple(left_out(fitted, values))
    named, assumed = unseen(held), unseen(held, engines=False)
    core = [f.case.id for f in fitted if f.case.core]
    _print_errors("source left out", [named[name].log_error for name in core])
    _print_errors("source left out, no software named", [assumed[name].log_error for name in core if name in assumed])
    if not arguments.date:
        return 0
    text = document(values, fitted, errors, named=named, assumed=assumed, date=arguments.date)
    if arguments.check:
        same = FILE.read_text(encoding="utf-8") == text
        print(f"{FILE.name}: {'reproduced' if same else 'differs'}")
        return 0 if same else 1
    FILE.write_text(text, encoding="utf-8")
    print(f"wrote {FILE.name}: {len(values)} constants from {len(fitted)} cases")
    return 0


def usable(case: published.Case) -> bool:
    """Whether a case says how long training took."""
    return case.gradeable and case.kind in KINDS and case.metric in METRICS


def calibrate(cases: Sequence[published.Case]) -> tuple[dict[str, float], list[Fitted]]:
    """Constants and the cases with the layouts they were fitted on."""
    known = priors()
    values = {name: prior.value for name, prior in known.items()}
    fitted: list[Fitted] = []
    for _ in range(ROUNDS):
        fitted = prepared(cases, values)
        values = fit(Table(fitted), known, values)
    return values, prepared(cases, values)


def prepared(cases: Sequence[published.Case], values: Mapping[str, float]) -> list[Fitted]:
    """Cases with their layouts under `values`; those that cannot be predicted are left out."""
    ready: list[Fitted] = []
    with calibration.using("training", values):
        for case in cases:
            try:
                run = training_run(case)
                ready.append(Fitted(case, run, layout_of(run)))
                in_unit(run, ready[-1].layout, 1.0)
            except CannotPredictError:
                continue
    return ready


def fit(
    table: Table,
    known: Mapping[str, Prior],
    start: Mapping[str, float],
    keep: np.ndarray | None = None,
    steps: int = 30,
) -> dict[str, float]:
    """Gauss-Newton with reweighting for absolute errors, over the logarithms of the constants."""
    free = [name for name, prior in known.items() if prior.sigma]
    center = np.log([known[name].value for name in free])
    width = np.array([known[name].sigma for name in free])
    upper = np.log([known[name].upper or math.inf for name in free])
    weight = table.weight if keep is None else table.weight * keep
    theta = np.log([start[name] for name in free])
    fixed = {name: prior.value for name, prior in known.items() if not prior.sigma}

    def at(point: np.ndarray) -> dict[str, float]:
        return {**fixed, **dict(zip(free, np.exp(point).tolist(), strict=True))}

    def loss(point: np.ndarray, error: np.ndarray) -> float:
        return float((weight * np.abs(error)).sum() / NOISE + 0.5 * (((point - center) / width) ** 2).sum())

    error = table.log_error(at(theta))
    best = loss(theta, error)
    damping = 1.0
    for _ in range(steps):
        delta = 1e-4
        moved = table.log_errors([at(theta + delta * row) for row in np.eye(len(free))])
        jacobian = ((moved - error) / delta).T
        pull = weight / np.maximum(np.abs(error), SMALLEST) / NOISE
        normal = jacobian.T @ (pull[:, None] * jacobian) + np.diag(1 / width**2)
        slope = jacobian.T @ (pull * error) + (theta - center) / width**2
        improved = False
        while damping < 1e4:
            move = np.linalg.solve(normal + damping * np.diag(np.diag(normal)) * 0.1, -slope)
            point = np.minimum(theta + np.clip(move, -0.3, 0.3), upper)
            tried = table.log_error(at(point))
            value = loss(point, tried)
            if value < best - 1e-6:
                improved = best - value > 1e-3
                theta, error, best = point, tried, value
                damping = max(0.1, damping / 3)
                break
            damping *= 4
        if not improved:
            break
    rounded = {name: float(f"{value:.4g}") for name, value in at(theta).items()}
    return {name: rounded[name] for name in known}


def left_out(fitted: Sequence[Fitted], values: Mapping[str, float]) -> Iterator[Held]:
    """Each source, with the constants of a fit to the others."""
    table, known = Table(fitted), priors()
    sources = np.array([f.case.source_family for f in fitted])
    for source in sorted(set(sources)):
        out = sources == source
        without = fit(table, known, values, keep=(~out).astype(float), steps=8)
        yield Held(cases=tuple(fitted[i].case for i in np.flatnonzero(out).tolist()), using=_using(without))


def _using(trial: Mapping[str, float]) -> Callable[..., AbstractContextManager[None]]:
    def using(named: Sequence[Unseen] | None, assumed: Sequence[Unseen] | None) -> AbstractContextManager[None]:
        made: dict[str, Mapping[str, object]] | None = None
        if named is not None:
            made = {"bands": bands(named), "floors": floors(named)}
            made |= {"bands_assumed": bands(assumed or ()), "floors_assumed": floors(assumed or ())}
        return calibration.using("training", trial, made)

    return using


def document(
    values: Mapping[str, float],
    fitted: Sequence[Fitted],
    inside: np.ndarray,
    *,
    named: Mapping[str, Unseen],
    assumed: Mapping[str, Unseen],
    date: str,
) -> str:
    """The file's text: errors of the fit itself, and with each source left out, which the bands follow: with the
    software that ran, and without its name.
    """
    known = priors()
    constants = {
        name: {
            "value": values[name],
            "meaning": prior.meaning,
            "prior": prior.value,
            "prior_width": prior.sigma,
            "source": prior.source if not prior.sigma else f"fitted; prior: {prior.source}",
        }
        for name, prior in known.items()
    }
    whole = (Held(cases=tuple(f.case for f in fitted), using=_using(values)),)
    data = {
        "schema": "sizewell.calibration/1",
        "fitted": date,
        "cases": len(fitted),
        "sources": sorted({f.case.source_family for f in fitted}),
        "constants": constants,
        "bands": bands(named.values()),
        "bands_assumed": bands(assumed.values()),
        "floors": floors(named.values(), unseen(whole).values()),
        "floors_assumed": floors(assumed.values(), unseen(whole, engines=False).values()),
        "cross_validation": compared(fitted, inside, named),
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def bands(errors: Iterable[Unseen]) -> dict[str, dict[str, object]]:
    """80 % bands by group, symmetric in the logarithm, from errors of cases whose source the fit has not seen."""
    errors = tuple(errors)
    return {
        group: {
            "low": round(math.exp(-width.half), 3),
            "high": round(math.exp(width.half), 3),
            "median_error": round(
                statistics.median(abs(math.expm1(e.log_error)) for e in errors if group in e.groups), 3
            ),
            "cases": width.cases,
            "sources": width.sources,
            "grade": "calibrated",
        }
        for group, width in widths(errors, least=BAND_LEAST, narrower=NARROWER).items()
    }


def compared(
    fitted: Sequence[Fitted], inside: np.ndarray, outside: Mapping[str, Unseen]
) -> dict[str, dict[str, float]]:
    """Median absolute error of core cases in percent, fitted and with their source left out; by class and hardware."""
    signs = np.where(Table(fitted).sign < 0, -1.0, 1.0)
    seen = 100 * np.abs(np.expm1(signs * inside))
    not_seen = 100 * np.abs(np.expm1([outside[f.case.id].log_error for f in fitted]))
    groups: dict[str, list[int]] = {"all": [], "8 or 4 bits and mixture of experts": [], "MLPerf time to train": []}
    for i, f in enumerate(fitted):
        if f.case.core:
            work = work_class(f.case)
            for key in ("all", work, f"hardware: {f.case.hw_family}"):
                groups.setdefault(key, []).append(i)
            if work in ("dense, 8 or 4 bits", "mixture of experts"):
                groups["8 or 4 bits and mixture of experts"].append(i)
            if work.startswith("MLPerf"):
                groups["MLPerf time to train"].append(i)
    return {
        key: {
            "cases": len(members),
            "sources": len({fitted[i].case.source_family for i in members}),
            "median_error_pct": round(float(np.median(seen[members])), 2),
            "median_error_pct_source_left_out": round(float(np.median(not_seen[members])), 2),
        }
        for key, members in groups.items()
        if members
    }


def _print_errors(title: str, errors: Sequence[float]) -> None:
    print(f"{title}: median absolute error {np.median(np.abs(np.expm1(errors))):.1%} over {len(errors)} core cases")
