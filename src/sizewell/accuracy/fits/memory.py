"""Fit the constants of calibration/memory.json to published cases, and write the file.

    python tools/calibrate_memory.py --date 2026-11-21            fit and write; same date and cases, same bytes
    python tools/calibrate_memory.py --date 2026-11-21 --check    fit and compare with the existing file

Four constants are read straight off the parts that start-up logs print (context, communicators, workspace, sampler);
two are fitted to peaks of training (what the caching allocator holds on top, communicators while training) by least
absolute log error, each group of like cases weighing as much as a single one.

Bands are split conformal: the quantile (n + 1) x 80 % of the n errors of a group, each predicted by a fit to all other
sources. Training has them by software where `ENOUGH` cases tell of it (of `SEVERAL` sources, where that is narrower
than its kind of work), else by kind of work, with sources weighed as in `bands.py`; software that nobody measured has
the widest of its kind.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from statistics import median

from sizewell.accuracy.cases import Case, read
from sizewell.accuracy.describe import architecture_of
from sizewell.accuracy.fits.bands import SHARE, Held, Unseen, source_weighted, unseen
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.predict import MEMORY, predict
from sizewell.sizing.predict.memory.constants import PATH, Constants, using
from sizewell.sizing.predict.memory.training import unmeasured
from sizewell.sizing.units import GIB

CONTEXT_ELSEWHERE = {"rocm": 6e8, "tpu": 4e8, "neuron": 6e8, "gaudi": 6e8, "other": 6e8}
WIDTHS = {"vision": (0.6, 1.6)}  # no published case: an estimate, as wide as it sounds
PARTS = {"weights-text": "weights"}  # a group whose cases also count for the band of the group that holds it
NARROWEST = 0.005
ENOUGH = 8  # cases of a software before its own errors make its band
SEVERAL = 2  # sources of it before that is narrower than the band of its kind of work
TOLD_BY = 5  # cases of other sources that have to tell of a kind of figure
NOISE = 0.1  # log error of a case that costs as much as 1.4 widths of a prior
# (value, width of the logarithm): NCCL's channel buffers take 0.5 to 2 GB per communicator; PyTorch's allocator rounds
# to 2 MB and keeps freed blocks, by experience 5 to 15 % of what changes within a step.
COLLECTIVE_PRIOR = (1.0e9, 0.5)
CACHING_PRIOR = (0.08, 0.5)
GROUPS = ("adapters", "adapters-narrow", "kv", "kv-v0", "serving", "training", "vision", "weights", "weights-text")
START = Constants(
    context_bytes={"cuda": 4e8, **CONTEXT_ELSEWHERE},
    collective_bytes=COLLECTIVE_PRIOR[0],
    caching=CACHING_PRIOR[0],
    serving_workspace_bytes=2e8,
    serving_sampler_bytes_per_value=15.0,
    serving_tensor_parallel_bytes=2e9,
    bands=dict.fromkeys(GROUPS, (1.0, 1.0)),
    bands_assumed=dict.fromkeys(GROUPS, (1.0, 1.0)),
)
SEQUENCES = 1024  # that the profiling run samples for on devices of 70 GiB and more
MEANING = {
    "context_bytes": "driver context and library handles of a process; cuda from vLLM logs, the others estimates",
    "training_context_bytes": "driver context and libraries of a training process on cuda, beside what PyTorch's "
    "allocator reserved: benchmarks/measured/trainer_h100.jsonl",
    "collective_bytes": "communicators of a training process, for each kind of parallelism it takes part in",
    "caching": "what the caching allocator holds beyond activations and buffers, as a share of them",
    "serving_workspace_bytes": "attention and GEMM workspaces of a serving engine",
    "serving_sampler_bytes_per_value": "profiled sampler, bytes per sequence and vocabulary entry",
    "serving_tensor_parallel_bytes": "communicators and all-reduce buffers of an engine with tensor parallelism",
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="case files or folders; default: the bundled cases")
    parser.add_argument("--date", required=True, help="date of the fit, written into the file")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    arguments = parser.parse_args(argv)
    text = json.dumps(fit_memory(read(arguments.paths), arguments.date), indent=2) + "\n"
    if arguments.check:
        same = PATH.read_text(encoding="utf-8") == text
        print("the file is what the fit gives" if same else "the file differs from the fit")
        return 0 if same else 1
    PATH.write_text(text, encoding="utf-8")
    print(text)
    return 0


def fit_memory(cases: Iterable[Case], date: str) -> dict[str, object]:
    """The document of calibration/memory.json: constants, bands, and the error when a source is left out."""
    usable = gradeable(cases)
    fitted = fit(usable, START)
    inside = by_group(unseen([Held(cases=tuple(usable), using=_using(fitted))]).values())
    held = tuple(left_out(usable, START))
    named, assumed = (tuple(unseen(held, engines=engines).values()) for engines in (True, False))
    outside = by_group(named)
    groups = sorted(set(inside) - {"sequence"})
    return {
        "schema": "sizewell.calibration/1",
        "about": "Constants of the memory model, written by tools/calibrate_memory.py from the bundled cases",
        "fitted": date,
        "constants": {
            name: {"value": _plain(getattr(fitted, name)), "meaning": meaning} for name, meaning in MEANING.items()
        },
        "bands": bands(named),
        "bands_assumed": bands(assumed, by_software=False),
        "measured": measured(named),
        "cross_validation": {
            group: {
                "cases": len(inside[group]),
                "median_error_pct": round(100 * _median_error(inside[group]), 2),
                "median_error_pct_source_left_out": round(100 * _median_error(outside[group]), 2),
            }
            for group in groups
        },
    }


def gradeable(cases: Iterable[Case]) -> list[Case]:
    """The cases with a size in bytes or tokens to predict."""
    return [case for case in cases if case.gradeable and case.metric in MEMORY and case.metric != "fits"]


def by_group(errors: Iterable[Unseen]) -> dict[str, list[float]]:
    """Log errors by kind of figure or work; a part's count for the whole as well."""
    log_errors: dict[str, list[float]] = {}
    for error in errors:
        log_errors.setdefault(error.groups[-1], []).append(error.log_error)
    for part, whole in PARTS.items():
        if part in log_errors or whole in log_errors:
            log_errors[whole] = log_errors.get(whole, []) + log_errors.get(part, [])
    return log_errors


def bands(errors: Iterable[Unseen], *, by_software: bool = True) -> dict[str, list[float]]:
    """Factors on a prediction by group, from errors of cases whose source the fit has not seen."""
    errors = tuple(errors)
    known = {kind: conformal(own) for kind, own in by_group(errors).items() if kind != "sequence"}
    trained = [error for error in errors if len(error.groups) > 1]
    for kind in {error.groups[-1] for error in trained}:
        of_kind = [error for error in trained if error.groups[-1] == kind]
        known[kind] = max(NARROWEST, source_weighted(of_kind))
        own: dict[str, float] = {}
        for group in {error.groups[0] for error in of_kind}:
            members = [error for error in of_kind if error.groups[0] == group]
            if len(members) >= ENOUGH:
                # One source cannot tell that the next is predicted better than others.
                least = 0.0 if len({error.source for error in members}) >= SEVERAL else known[kind]
                own[group] = max(least, conformal(error.log_error for error in members))
        if by_software:
            known |= own
        known[unmeasured(kind)] = max(known[kind], *own.values(), NARROWEST)
    widest = max(known.values())
    halves = dict.fromkeys(GROUPS, widest) | known
    made = {group: [round(math.exp(-half), 4), round(math.exp(half), 4)] for group, half in sorted(halves.items())}
    return made | {name: list(pair) for name, pair in WIDTHS.items()}


def measured(errors: Iterable[Unseen]) -> list[str]:
    """The groups of training of which a peak was measured: kinds of work, and each by software."""
    return sorted({group for error in errors if len(error.groups) > 1 for group in error.groups})


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, dict) else value


def fit(cases: Sequence[Case], start: Constants) -> Constants:
    """The constants that fit the cases best."""
    return _descend(from_logs(cases, start), [case for case in cases if _trained(case)])


def _trained(case: Case) -> bool:
    kinds = ("train", "finetune_full", "finetune_lora", "finetune_qlora")
    return case.kind in kinds and case.metric == "peak_memory_per_device"


def from_logs(cases: Sequence[Case], start: Constants) -> Constants:
    """The constants that start-up logs print."""
    logs = [case for case in cases if case.also.get("non_torch_gib") and "0.19" in str(case.workload.get("engine"))]
    alone = [case for case in logs if _degree(case, "tp") == 1 and _degree(case, "pp") == 1]
    if alone:
        context = _rounded(median(float(case.also["non_torch_gib"]) for case in alone) * GIB)
        start = replace(start, context_bytes={"cuda": context, **CONTEXT_ELSEWHERE})
    split = [float(case.also["non_torch_gib"]) * GIB for case in logs if _degree(case, "tp") > 1]
    if split:
        start = replace(start, serving_tensor_parallel_bytes=_rounded(median(split) - start.context_bytes["cuda"]))
    workspace, sampler = _sampler([case for case in alone if case.also.get("activation_peak_gib")])
    if sampler:
        start = replace(start, serving_workspace_bytes=_rounded(workspace), serving_sampler_bytes_per_value=sampler)
    return start


def _degree(case: Case, name: str) -> int:
    return int(case.parallelism.get(name) or 1)


def _sampler(cases: Sequence[Case]) -> tuple[float, float]:
    """(workspace, bytes per value): the line of least absolute error through models whose peak is the sampler's."""
    points_ = sorted(
        {
            (SEQUENCES * a.vocab, float(case.also["activation_peak_gib"]) * GIB)
            for case in cases
            if (a := architecture_of(case)).vocab >= 100_000
            and not a.experts
            and "float32" not in str(case.workload.get("dtype"))
        }
    )
    lines = [
        (y1 - slope * x1, slope)
        for x1, y1 in points_
        for x2, y2 in points_
        if x2 > x1 and (slope := (y2 - y1) / (x2 - x1)) > 0 and y1 >= slope * x1
    ]
    if not lines:
        return 0.0, 0.0
    workspace, slope = min(lines, key=lambda line: sum(abs(y - line[0] - line[1] * x) for x, y in points_))
    return workspace, round(slope, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """A predicted peak over the published one, as a sum: of what is not fitted, and per unit of both constants."""

    share: float
    caching: float
    collective: float
    weight: float


def _descend(start: Constants, cases: Sequence[Case]) -> Constants:
    """Coordinate descent on what the allocator and the communicators hold, on a grid fine enough for the noise.

    A peak is linear in both constants, so that three predictions of a case tell of all.
    """
    peaks = _peaks(cases, start)
    best = start
    for _ in range(2):
        best = min(
            (replace(best, caching=share / 200) for share in range(1, 41)), key=lambda trial: _loss(trial, peaks)
        )
        best = min(
            (replace(best, collective_bytes=step * 1e8) for step in range(1, 31)),
            key=lambda trial: _loss(trial, peaks),
        )
    return best


def _peaks(cases: Sequence[Case], start: Constants) -> list[Peak]:
    trials = (
        replace(start, caching=0.0, collective_bytes=0.0),
        replace(start, caching=1.0, collective_bytes=0.0),
        replace(start, caching=0.0, collective_bytes=1e9),
    )
    predicted: list[list[Prediction | str]] = []
    for trial in trials:
        with using(trial):
            predicted.append([predict(case) for case in cases])
    peaks = []
    for case, *of_case in zip(cases, *predicted, strict=True):
        sizes = [prediction.value / case.value for prediction in of_case if isinstance(prediction, Prediction)]
        if len(sizes) == len(trials) and sizes[0] > 0:
            least, cached, collected = sizes
            peaks.append(
                Peak(share=least, caching=cached - least, collective=(collected - least) / 1e9, weight=case.weight)
            )
    return peaks


def _loss(trial: Constants, peaks: Iterable[Peak]) -> float:
    error = sum(
        peak.weight
        * abs(math.log(peak.share + trial.caching * peak.caching + trial.collective_bytes * peak.collective))
        for peak in peaks
    )
    return error / NOISE + _pull(trial.collective_bytes, *COLLECTIVE_PRIOR) + _pull(trial.caching, *CACHING_PRIOR)


def _pull(value: float, prior: float, width: float) -> float:
    return (math.log(max(value, 1e-3 * prior) / prior) / width) ** 2 / 2


def left_out(cases: Sequence[Case], start: Constants, refit: Callable[..., Constants] = fit) -> Iterator[Held]:
    """Each source, with constants fitted to the others; a model of it where fewer than `TOLD_BY` cases of others tell
    of a kind of figure, as for serving.
    """
    group = {case.id: kind for kind, ids in _groups(cases, start).items() for case in ids}
    told = Counter((group.get(case.id), case.source_family) for case in cases)
    of_group = Counter(group.get(case.id) for case in cases)
    labels: dict[str, list[Case]] = {}
    for case in cases:
        kind = group.get(case.id)
        alone = of_group[kind] - told[kind, case.source_family] < TOLD_BY
        model = f"|{case.model.get('name')}" if alone else ""
        labels.setdefault(f"{case.source_family}{model}", []).append(case)
    every = refit(cases, start)
    for _, held in sorted(labels.items()):
        out = {case.id for case in held}
        rest = [case for case in cases if case.id not in out]
        if any(_trained(case) for case in held):
            trial = refit(rest, start)
        else:  # the runs that tell of what is held while training are all there
            logs = from_logs(rest, start)
            trial = replace(logs, caching=every.caching, collective_bytes=every.collective_bytes)
        yield Held(cases=tuple(held), using=_using(trial))


def _groups(cases: Iterable[Case], trial: Constants) -> dict[str, list[Case]]:
    """Cases by the group whose band they decide."""
    grouped: dict[str, list[Case]] = {}
    with using(trial):
        for case in cases:
            prediction = predict(case)
            if isinstance(prediction, Prediction):
                grouped.setdefault((prediction.group, *prediction.wider)[-1], []).append(case)
    return grouped


def _using(trial: Constants) -> Callable[..., AbstractContextManager[None]]:
    def with_bands(named: Sequence[Unseen] | None, assumed: Sequence[Unseen] | None) -> AbstractContextManager[None]:
        if named is None:
            return using(trial)
        others = _pairs(bands(assumed or named, by_software=False))
        return using(
            replace(trial, bands=_pairs(bands(named)), bands_assumed=others, measured=frozenset(measured(named)))
        )

    return with_bands


def _pairs(made: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    return {group: (low, high) for group, (low, high) in made.items()}


def conformal(errors: Iterable[float]) -> float:
    """Half of the band that holds 80 % of such errors, the next one counted, in the logarithm (split conformal
    prediction: Papadopoulos et al. 2002; Lei et al. 2018): with too few to tell, as wide as the largest.
    """
    sizes = sorted(abs(error) for error in errors)
    return max(NARROWEST, sizes[min(len(sizes), math.ceil(SHARE * (len(sizes) + 1))) - 1])


def _median_error(errors: Sequence[float]) -> float:
    return median(abs(math.expm1(error)) for error in errors)


def _rounded(value: float) -> float:
    return float(round(value, -6))
