"""Fit the constants of calibration/training.json to published cases, and write the file.

    python tools/calibrate.py --date 2026-11-21            fit and write; the same date and cases give the same bytes
    python tools/calibrate.py --date 2026-11-21 --check    fit and compare with the file that is there; 1 if it differs
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
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.calibration.priors import Prior, priors
from sizewell.sizing.predict.performance.training import band_keys, step_s
from sizewell.sizing.predict.performance.training_rows import cluster_facts, job_facts, layout_facts, rows
from sizewell.sizing.records.jobs import Cluster, Layout
from sizewell.sizing.validation import cases as published
from sizewell.sizing.validation.describe import CannotPredictError
from sizewell.sizing.validation.predict import work_class
from sizewell.sizing.validation.training_runs import METRICS, TOTALS, TrainingRun, in_unit, layout_of, training_run

FILE = Path(calibration.__file__).parent / "training.json"
KINDS = ("pretrain", "finetune_full", "finetune_lora", "finetune_qlora", "vision_train")
ROUNDS = 3  # of choosing layouts and fitting
NOISE = 0.11  # log error that costs as much as pulling a constant 1.4 widths from its prior
SMALLEST = 0.03  # log error below which cases are as good as exact
BAND_CASES, BAND_SOURCES = 8, 2  # a group with fewer borrows the band of a wider one


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
        numbers: dict[tuple[Any, ...], int] = {}
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
        self._known: dict[tuple[Any, ...], dict[str, float]] = {}
        self.log_useful = math.log(calibration.values("training")["useful_share"])  # that `unit` was worked out with
        unit = np.array([in_unit(f.run, f.layout, 1.0) for f in fitted])
        faster = np.array([in_unit(f.run, f.layout, 2.0) for f in fitted]) < unit
        self.log_unit = np.log(unit)
        self.sign = np.where(faster, -1.0, 1.0)  # how the published figure moves with the step time
        self.log_published = np.log([f.case.value for f in fitted])
        self.total = np.array([f.run.metric in TOTALS and f.run.job.method == "pretrain" for f in fitted], float)
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
        slower: np.ndarray = self.total * (self.log_useful - np.log(constants["useful_share"]))  # totals of long runs
        errors: np.ndarray = np.log(seconds) + slower + self.sign * (self.log_unit - self.log_published)
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
    parser.add_argument("paths", nargs="*", help="case files or folders; default: the cases that the project carries")
    parser.add_argument("--date", help="date of the fit, written into the file")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    parser.add_argument("--cross-validate", action="store_true", help="leave each source out in turn")
    arguments = parser.parse_args(argv)
    cases = [case for case in published.read(arguments.paths) if _usable(case)]
    values, fitted = calibrate(cases)
    errors = Table(fitted).log_error(values)
    _print_errors("fitted", fitted, errors)
    left_out = None
    if arguments.cross_validate or arguments.date:
        left_out = cross_validate(fitted, values)
        _print_errors("source left out", fitted, left_out)
    if not arguments.date:
        return 0
    text = document(values, fitted, errors, left_out if left_out is not None else errors, arguments.date)
    if arguments.check:
        same = FILE.read_text(encoding="utf-8") == text
        print(f"{FILE.name}: {'reproduced' if same else 'differs'}")
        return 0 if same else 1
    FILE.write_text(text, encoding="utf-8")
    print(f"wrote {FILE.name}: {len(values)} constants from {len(fitted)} cases")
    return 0


def _usable(case: published.Case) -> bool:
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


def cross_validate(fitted: Sequence[Fitted], values: Mapping[str, float]) -> np.ndarray:
    """Log errors of each case when its source was left out of the fit."""
    table, known = Table(fitted), priors()
    sources = np.array([f.case.source_family for f in fitted])
    errors = np.zeros(len(fitted))
    for source in sorted(set(sources)):
        out = sources == source
        without = fit(table, known, values, keep=(~out).astype(float), steps=8)
        errors[out] = table.log_error(without)[out]
    return errors


def document(
    values: Mapping[str, float], fitted: Sequence[Fitted], inside: np.ndarray, errors: np.ndarray, date: str
) -> str:
    """The file's text: errors of the fit itself, and with each source left out, which the bands follow."""
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
    data = {
        "schema": "sizewell.calibration/1",
        "fitted": date,
        "cases": len(fitted),
        "sources": sorted({f.case.source_family for f in fitted}),
        "constants": constants,
        "bands": bands(fitted, errors),
        "cross_validation": compared(fitted, inside, errors),
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def bands(fitted: Sequence[Fitted], errors: np.ndarray) -> dict[str, dict[str, Any]]:
    """80 % bands by group: symmetric in the logarithm, wide enough for 80 % of the group's weight.

    The errors are those of each source left out of the fit, so a band holds for sources not seen.
    """
    groups: dict[str, list[int]] = {}
    for i, f in enumerate(fitted):
        for key in (*band_keys(f.run.job, f.run.cluster), "any"):
            groups.setdefault(key, []).append(i)
    weight = np.array([f.case.weight for f in fitted])
    found: dict[str, dict[str, Any]] = {}
    for key in sorted(groups):
        members = np.array(groups[key])
        sources = {fitted[i].case.source_family for i in members}
        if key != "any" and (len(members) < BAND_CASES or len(sources) < BAND_SOURCES):
            continue
        size = np.abs(errors[members])
        half = max(0.05, _weighted_quantile(size, weight[members], 0.80))
        found[key] = {
            "low": round(float(np.exp(-half)), 3),
            "high": round(float(np.exp(half)), 3),
            "median_error": round(float(_weighted_quantile(np.expm1(size), weight[members], 0.50)), 3),
            "cases": len(members),
            "sources": len(sources),
            "grade": "calibrated",
        }
    return found


def compared(fitted: Sequence[Fitted], inside: np.ndarray, outside: np.ndarray) -> dict[str, dict[str, float]]:
    """Median absolute error of core cases in percent, fitted and with their source left out; by class and hardware."""
    signs = np.where(Table(fitted).sign < 0, -1.0, 1.0)
    seen, unseen = (100 * np.abs(np.expm1(signs * error)) for error in (inside, outside))
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
            "median_error_pct_source_left_out": round(float(np.median(unseen[members])), 2),
        }
        for key, members in groups.items()
        if members
    }


def _weighted_quantile(values: np.ndarray, weight: np.ndarray, at: float) -> float:
    order = np.argsort(values, kind="stable")
    share = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
    return float(np.interp(at, share, values[order]))


def _print_errors(title: str, fitted: Sequence[Fitted], errors: np.ndarray) -> None:
    core = np.array([f.case.core for f in fitted])
    shown = np.abs(np.expm1(errors * -1.0))
    print(f"{title}: median absolute error {np.median(shown[core]):.1%} over {core.sum()} core cases")


if __name__ == "__main__":
    sys.exit(main())
