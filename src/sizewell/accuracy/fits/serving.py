"""Fit the constants of serving to the published inference cases and write `calibration/serving.json`.

    python tools/calibrate_serving.py            fit, print the errors, write the file
    python tools/calibrate_serving.py --samples  the same for all but language models, which keep theirs
    python tools/calibrate_serving.py --bands    keep the constants; make the bands and what leaving out costs anew
    python tools/calibrate_serving.py --strength fit nothing; how strongly each source, left out, would have others held
    python tools/calibrate_serving.py --check    fit nothing; exit 1 when the file's bands no longer hold

Every constant starts at its prior and moves by coordinate descent on the weighted mean of
|log(predicted / published)|, held back by a small penalty for leaving the prior, so that what two cases say does not
outweigh what is known. Constants that hardly anybody but MLPerf tells of are held more strongly, as nested
cross-validation chooses: for each source from the others alone. What a family reaches in images and texts is expected
to be what it reaches in large matrix products, and that expectation counts like one further case: few families are
measured in more than one such model.
Constants are keyed by accelerator family, kind of link, engine and kind of model; never by model, source or case. A
run gives the same result on the same cases; those of language models that ship are of an earlier run, which has unseen
sources nearer than one of today would (docs/reference/accuracy.md).

Bands are made of errors that the fit has not seen: each source is left out in turn and its cases are predicted with
what the others give. Where fewer than five cases are left then that tell of a constant, only the case's model is left
out of its source. The fit to what is left takes errors as linear in the logarithms of the constants, which they are
but for kinks; what is left out is predicted anew and not linearly.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from sizewell.accuracy.cases import Case, read
from sizewell.accuracy.describe import architecture_of
from sizewell.accuracy.fits.bands import SHARE, Held, Unseen, floors, unseen, widths
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.predict import MEMORY, SERVING, predict
from sizewell.accuracy.serving_predictions import described
from sizewell.sizing.predict.architecture import is_speech_recognizer
from sizewell.sizing.predict.calibration.priors import priors
from sizewell.sizing.predict.performance.serving import wider_groups
from sizewell.sizing.predict.performance.serving_constants import CARD, FILE, from_json, trying
from sizewell.sizing.predict.performance.serving_samples import ONE_BY_ONE

SOURCE = "src/sizewell/accuracy/published/inference.json, each case with its source"
FITTED_ON = "2026-11-23"
PENALTY = 0.03
HELD = 1.0  # the same for `HELD_BACK`, as eleven of the thirteen parts choose that `--strength` leaves out
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
POOLED = 1.0  # cases that count for a family's share of the peak being what its matrix products and all others tell
TOLD_BY = 5  # cases of other sources that have to tell of a constant
BAND_MIN = 1.05
NARROWER = 1  # sources, as groups are what limits: products of a prompt are known better than reading a cache
TOLD_BY_SOURCES = 2  # from which on a group may be known better: vision that is compiled has no third
SLOPE_STEP = 0.05  # of a constant's logarithm
FLAT, MATTERS = 1e-6, 0.05  # slopes: of a case that does not tell of a constant, of one whose figure rests on it
STEPS = (1.6, 1.25, 1.1, 1.04)

_PRODUCTS = {  # share of the 16-bit peak in large matrix products by family, measured where somebody has
    name.split(".")[1]: known.value
    for name, known in priors().items()
    if name.startswith("matmul_fraction.") and name.endswith(".16bit")
}
PRIOR: dict[str, Any] = {
    "default_family": {"compute": 0.45, "memory": 0.65, "samples": _PRODUCTS["other"]},
    "links": {
        "nvlink": {"latency_s": 8e-6, "bandwidth": 0.6},
        "pcie": {"latency_s": 2e-5, "bandwidth": 0.5},
        "ici": {"latency_s": 1e-5, "bandwidth": 0.6},
        "neuronlink": {"latency_s": 1.5e-5, "bandwidth": 0.5},
    },
    "engines": {
        "vllm": {"step_s": 1e-3, "sequence_s": 5e-6},
        "sglang": {"step_s": 1e-3, "sequence_s": 5e-6},
        "tensorrt-llm": {"step_s": 1e-3, "sequence_s": 5e-6},
        "mlperf": {"step_s": 1e-3, "sequence_s": 2e-6},
        "llama.cpp": {"step_s": 1e-3, "sequence_s": 0.0},
        "transformers-neuronx": {"step_s": 1e-3, "sequence_s": 5e-6},
        "compiled": {"step_s": 2e-4, "sequence_s": 0.0},  # estimate, on processors: others count kernels
    },
    "occupancy": 0.9,
    "sequences_max": {"*": 2048},
    "smaller": 0.8,  # estimate: of the speed of large matrix products
    # Counted, not fitted: ResNet-50 writes 11 M values a picture and reads each once, 5.5 M of them a second time, for
    # 8.2 GFLOP; a pass of SDXL at 1,024 pixels moves 9.6 GB for 6.0 TFLOP at least (7.8 around its 70 transformer
    # layers, 1.6 in its residual blocks): 0.0016 bytes per FLOP with 3.4 B parameters, 0.003 with 1 B.
    "sample_bytes": {"vision": 0.006, "diffusion": 0.003},
    "arrivals": 0.9,  # estimate: what is left for work while requests arrive at random
    "kernel_s": 3e-6,  # estimate: the shortest kernel of a captured graph takes 2 to 4 microseconds (memory)
    "stage_wait": 0.05,  # estimate
    "experts_speed": 0.8,  # as in training
    "eager": 0.3,
    # Published, not fitted: NVIDIA/DeepLearningExamples@729963d, PyTorch/Classification/ConvNets, latency of one image
    # in FP32 or TF32 over the operations dispatched. ResNeXt101 (344 of them): 17.95 ms on V100, 18.18 on T4;
    # SE-ResNeXt101 (509): 24.92 and 25.12; EfficientNet-B0 (238): 13.15 on V100, 9.33 on A100; B4 (475): 23.31 and
    # 16.22. From 34 to 55 microseconds each, 49 at the median.
    "launch_s": 4.9e-5,
}
HELD_BACK = (("smaller",), ("arrivals",), ("eager",))
SHARES = ("experts_speed", "compute", "memory", "samples", "bandwidth", "occupancy", "arrivals", "smaller")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fit nothing; report whether the shipped bands hold")
    parser.add_argument("--bands", action="store_true", help="keep the constants and refit the bands")
    parser.add_argument("--samples", action="store_true", help="fit vision, encoders and diffusion; keep all others")
    parser.add_argument("--strength", action="store_true", help="fit nothing; how strongly to hold what few tell of")
    chosen = parser.parse_args(arguments)
    cases = [case for case in read() if _usable(case)]
    if chosen.strength:
        for label, held in strengths(gradeable(cases), shipped()).items():
            print(f"{label:60} {held:g}")
        return 0
    if chosen.check or chosen.bands:
        data = shipped()
    if chosen.check:
        return 0 if report(cases, data) >= SHARE else 1
    if not chosen.bands:
        data = fit(cases, kept=shipped() if chosen.samples else None)
    seen = {case.id: log_ratio for case, log_ratio in ratios(cases, data)}
    graded = [case for case in cases if case.id in seen]
    parts = tuple(left_out(graded, data))
    whole = (Held(cases=tuple(graded), using=_using(data)),)
    errors = unseen(parts)
    outside = {name: error.log_error for name, error in errors.items()}
    data["bands"] = bands(errors.values())
    data["floors"] = floors(
        *(unseen(held, engines=engines).values() for held in (parts, whole) for engines in (True, False))
    )
    data["cross_validation"] = compared(cases, data, seen, outside)
    FILE.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    report(cases, data)
    return 0


def _usable(case: Case) -> bool:
    """Speech recognition is predicted and graded, not fitted: its published unit is read, not known."""
    serves = case.kind in SERVING and case.metric not in MEMORY
    return serves and case.gradeable and not is_speech_recognizer(architecture_of(case))


def gradeable(cases: Iterable[Case]) -> list[Case]:
    """The cases of serving that have a prediction."""
    usable = [case for case in cases if _usable(case)]
    predicted = {case.id for case, _ in ratios(usable, shipped())}
    return [case for case in usable if case.id in predicted]


def shipped() -> dict[str, Any]:
    """The file's document."""
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return data


def fit(cases: Sequence[Case], *, kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Coordinate descent over every constant that some case depends on; of `kept`, a document of the file's form,
    language models' constants are left as they are.
    """
    data: dict[str, Any] = {
        "schema": "sizewell.calibration/1",
        "fitted_on": FITTED_ON,
        "source": SOURCE,
        "families": {name: dict.fromkeys(fields) for name, fields in fitted_families(cases).items()},
        **json.loads(json.dumps(PRIOR)),
        "bands": {"*": [0.5, 2.0]},
        "floors": {},
    }
    for name, row in data["families"].items():
        row.update({field: prior(("families", name, field)) for field in row})
    known = {case.id: described(case) for case in cases}
    told = {path: [case for case in cases if touches(known[case.id], path)] for path in paths(data)}
    if kept is not None:
        answered = [case for case in cases if (facts := known[case.id]) is not None and not facts["language"]]
        names = {case.id for case in answered}
        for path, subset in told.items():
            if not names.issuperset(case.id for case in subset):
                put(data, path, at(dict(kept), path))
                subset.clear()
    for factor in STEPS:
        for _ in range(3):
            moved = False
            for path, subset in told.items():
                moved |= bool(subset) and improve(data, path, factor, subset)
            if not moved:
                break
    rounded(data)
    return data


def fitted_families(cases: Sequence[Case]) -> dict[str, list[str]]:
    """The families that cases speak of, and which constants they speak of."""
    constants_of: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        facts = described(case)
        if facts is not None:
            constants_of[facts["family"]] |= {"compute", "memory"} if facts["language"] else {"samples"}
    return {name: sorted(fields) for name, fields in sorted(constants_of.items())}


def paths(data: dict[str, Any]) -> list[tuple[str, ...]]:
    """Every constant to fit, in a fixed order."""
    all_paths: list[tuple[str, ...]] = []
    for section in ("families", "links", "engines"):
        for name, row in data[section].items():
            all_paths += [(section, name, field) for field in row]
    all_paths += [("smaller",), ("occupancy",), ("eager",)]
    all_paths += [("kernel_s",), ("stage_wait",)]
    all_paths += [("experts_speed",), ("arrivals",)]
    return all_paths


def touches(facts: dict[str, Any] | None, path: tuple[str, ...]) -> bool:
    """Whether a case's prediction can depend on a constant."""
    if facts is None:
        return False
    match path:
        case ("families", family, field):
            return facts["family"] == family and (field == "memory" or (field == "samples") != facts["language"])
        case ("engines", engine, _):
            return bool(facts["language"] and engine == facts["engine"])
        case ("links", _, _):
            return bool(facts["language"])
        case ("smaller",):
            return facts["kind"] != "encoder" and not facts["language"]
        case ("experts_speed",):
            return bool(facts["language"] and facts["experts"])
        case ("eager",):
            return _uncompiled(facts)
        case ("arrivals",):
            return not facts["language"]
    return bool(facts["language"])


def _uncompiled(facts: Mapping[str, Any]) -> bool:
    return bool(facts["engine"] in ONE_BY_ONE and not facts["language"])


def improve(data: dict[str, Any], path: tuple[str, ...], factor: float, cases: Sequence[Case]) -> bool:
    """Move one constant by `factor` either way as long as that makes the error smaller."""
    before = value = at(data, path)
    best = loss(data, path, cases)
    for direction in (factor, 1 / factor):
        while True:
            trial = value * direction
            if trial == value or trial > most(path):
                break
            put(data, path, trial)
            trial_loss = loss(data, path, cases)
            if trial_loss >= best - 1e-6:
                break
            best, value = trial_loss, trial
        put(data, path, value)
    return value != before


def loss(data: dict[str, Any], path: tuple[str, ...], cases: Sequence[Case]) -> float:
    """Weighted mean of |log ratio| over the cases, and the penalty for leaving the prior."""
    errors = [(abs(log_ratio), case.weight) for case, log_ratio in ratios(cases, data)]
    mean = sum(error * weight for error, weight in errors) / max(1e-9, sum(weight for _, weight in errors))
    start, total = prior(path), max(1.0, sum(weight for _, weight in errors))
    distance = abs(math.log(at(data, path) / start)) if start > 0 and at(data, path) > 0 else 0.0
    return mean + pull(path, total) * distance / total


def pull(path: tuple[str, ...], weight: float, held: float = HELD) -> float:
    """How many cases a constant's prior counts for, where cases of `weight` tell of the constant."""
    if pooled(path):
        return POOLED
    return (held if path in HELD_BACK else PENALTY) * math.sqrt(max(1.0, weight))


def ratios(cases: Sequence[Case], data: dict[str, Any]) -> list[tuple[Case, float]]:
    """log(predicted / published) of every case that has a prediction."""
    pairs = []
    with trying(from_json(data)):
        for case in cases:
            predicted = predict(case)
            if isinstance(predicted, Prediction) and predicted.value > 0:
                pairs.append((case, math.log(predicted.value / case.value)))
    return pairs


@dataclass(frozen=True)
class Linear:
    """The log errors of all cases, linear in the logarithms of the constants around the fit."""

    paths: list[tuple[str, ...]]
    point: np.ndarray  # logarithms of the fitted constants
    errors: np.ndarray  # (cases,) log(predicted / published) there
    slopes: np.ndarray  # (cases, constants)
    touched: np.ndarray  # (cases, constants): what counts for a constant's pull to its prior
    weight: np.ndarray


def linear(cases: Sequence[Case], data: dict[str, Any]) -> Linear:
    """Slopes by one step of each constant, towards what it may become."""
    every = [path for path in paths(data) if at(data, path) > 0]
    facts = [described(case) for case in cases]
    errors = np.array([log_ratio for _, log_ratio in ratios(cases, data)])
    slopes = np.zeros((len(cases), len(every)))
    touched = np.array([[touches(of_case, path) for path in every] for of_case in facts], float)
    for column, path in enumerate(every):
        value = at(data, path)
        step = -SLOPE_STEP if value * math.exp(SLOPE_STEP) > most(path) else SLOPE_STEP
        members = np.flatnonzero(touched[:, column])
        put(data, path, value * math.exp(step))
        moved = np.array([log_ratio for _, log_ratio in ratios([cases[i] for i in members.tolist()], data)])
        put(data, path, value)
        slopes[members, column] = (moved - errors[members]) / step
    point = np.log([at(data, path) for path in every])
    return Linear(every, point, errors, slopes, touched, np.array([case.weight for case in cases]))


def refit(table: Linear, keep: np.ndarray, held: float = HELD) -> np.ndarray:
    """Logarithms of the constants that fit the cases kept: each in turn to the weighted median that its cases ask for,
    its prior among them; a constant that no kept case depends on is its prior.
    """
    weight = table.weight * keep
    start = np.log([prior(path) for path in table.paths])
    told = (weight[:, None] * (np.abs(table.slopes) > FLAT)).sum(axis=0) > 0
    pulls = [pull(path, total, held) for path, total in zip(table.paths, weight @ table.touched, strict=True)]
    point = np.where(told, table.point, start)
    errors = table.errors + table.slopes @ (point - table.point)
    for _ in range(40):
        before = point.copy()
        for i in np.flatnonzero(told):
            slope = table.slopes[:, i]
            used = (np.abs(slope) > FLAT) & (weight > 0)
            asked = np.append(point[i] - errors[used] / slope[used], start[i])
            best = _weighted_median(asked, np.append(weight[used] * np.abs(slope[used]), pulls[i]))
            best = float(np.clip(best, table.point[i] - 1.0, table.point[i] + 1.0))  # as far as slopes are trusted
            best = min(best, math.log(most(table.paths[i])))
            errors, point[i] = errors + slope * (best - point[i]), best
        if np.abs(point - before).max() < 1e-4:
            break
    return point


def _weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def left_out(cases: Sequence[Case], data: dict[str, Any]) -> Iterator[Held]:
    """Each source, or model of a source where too little else tells of its constants, with what the others give."""
    table = linear(cases, data)
    labels, parts = _parts(cases, table, np.ones(len(cases), bool))
    for label, out in parts.items():
        trial = copy.deepcopy(data)
        for path, value in zip(table.paths, refit(table, (~out).astype(float)).tolist(), strict=True):
            put(trial, path, math.exp(value))
        yield Held(cases=tuple(cases[i] for i in np.flatnonzero(labels == label).tolist()), using=_using(trial))


def _parts(cases: Sequence[Case], table: Linear, known: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The part that each case is left out with, and which cases a part leaves out: of the cases `known`, its source, or
    its model where the others tell too little of a constant that its figure rests on.
    """
    matters = np.abs(table.slopes) > MATTERS
    source = np.array([case.source_family for case in cases])
    model = np.array([f"{case.source_family}|{case.model.get('name')}" for case in cases])
    told = {own: matters[(source != own) & known].sum(axis=0) >= TOLD_BY for own in set(source)}  # by other sources
    labels = np.where((matters & ~np.array([told[own] for own in source])).any(axis=1), model, source)
    return labels, {str(label): (source == label) | (model == label) for label in sorted(set(labels[known]))}


def strengths(cases: Sequence[Case], data: dict[str, Any]) -> dict[str, float]:
    """Nested cross-validation: for each part that has images or texts, which of `STRENGTHS` predicts the images and
    texts of all others best when each of those is left out in its turn. Errors are taken as linear.
    """
    table = linear(cases, data)
    answered = np.array([(facts := described(case)) is not None and not facts["language"] for case in cases])
    labels, parts = _parts(cases, table, np.ones(len(cases), bool))
    return {
        label: min(STRENGTHS, key=lambda held: _error_unseen(cases, table, answered, ~out, held))
        for label, out in parts.items()
        if (answered & (labels == label)).any()
    }


def _error_unseen(cases: Sequence[Case], table: Linear, answered: np.ndarray, known: np.ndarray, held: float) -> float:
    """Weighted mean |log ratio| of the cases that are `answered` and `known`, each part of the known ones left out."""
    labels, parts = _parts(cases, table, known)
    total = weight = 0.0
    for label, out in parts.items():
        own = known & answered & (labels == label)
        if own.any():
            point = refit(table, (known & ~out).astype(float), held)
            errors = np.abs(table.errors + table.slopes @ (point - table.point))
            total, weight = total + float(errors[own] @ table.weight[own]), weight + float(table.weight[own].sum())
    return total / weight


def _using(trial: dict[str, Any]) -> Callable[..., AbstractContextManager[None]]:
    def using(named: Sequence[Unseen] | None, _assumed: Sequence[Unseen] | None) -> AbstractContextManager[None]:
        made = {} if named is None else {"bands": bands(named), "floors": floors(named)}
        return trying(from_json({**trial, **made}))

    return using


def bands(errors: Iterable[Unseen]) -> dict[str, list[float]]:
    """Factors around a prediction that hold 80 % of the published values, by group, from errors not seen by the fit."""
    made = widths(errors, least=math.log(BAND_MIN), narrower=NARROWER, sources=TOLD_BY_SOURCES)
    return {
        group: [round(math.exp(-width.half), 3), round(math.exp(width.half), 3)]
        for group, width in sorted(made.items())
    }


def compared(
    cases: Sequence[Case], data: dict[str, Any], seen: Mapping[str, float], outside: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Median absolute error in percent, fitted and with the source left out, by the wider groups of bands."""
    groups: dict[str, list[Case]] = defaultdict(list)
    with trying(from_json(data)):
        for case in cases:
            predicted = predict(case)
            if isinstance(predicted, Prediction) and case.id in outside:
                for group in wider_groups(predicted.group):
                    if "|" not in group:
                        groups["all" if group == "*" else group].append(case)
    return {
        group: {
            "cases": len(members),
            "sources": len({case.source_family for case in members}),
            "median_error_pct": round(100 * statistics.median(abs(math.expm1(seen[c.id])) for c in members), 2),
            "median_error_pct_source_left_out": round(
                100 * statistics.median(abs(math.expm1(outside[c.id])) for c in members), 2
            ),
        }
        for group, members in sorted(groups.items())
    }


def report(cases: Sequence[Case], data: dict[str, Any]) -> float:
    """Print the median error by group; returns the share of published values inside their bands."""
    pairs = ratios(cases, data)
    inside = 0
    with trying(from_json(data)):
        for case, _ in pairs:
            predicted = predict(case)
            inside += isinstance(predicted, Prediction) and predicted.low <= case.value <= predicted.high
    keys: tuple[tuple[str, Callable[[Case], str]], ...] = (
        ("all core", lambda _: "core"),
        ("by metric", lambda case: case.metric),
        ("by hardware", lambda case: f"{case.kind} {case.hw_family}"),
        ("by source", lambda case: case.source_family),
    )
    for title, key in keys:
        print(title)
        groups: dict[str, list[float]] = defaultdict(list)
        for case, log_ratio in pairs:
            if case.core:
                groups[key(case)].append(abs(math.exp(log_ratio) - 1))
        for name, errors in sorted(groups.items()):
            print(f"  {name:50} {len(errors):4} cases, median error {100 * statistics.median(errors):5.1f} %")
    share = inside / max(1, len(pairs))
    print(f"{len(pairs)} cases, {100 * share:.0f} % inside the 80 % band")
    return share


def at(data: dict[str, Any], path: tuple[str, ...]) -> float:
    node: Any = data
    for part in path:
        node = node[part]
    return float(node)


def put(data: dict[str, Any], path: tuple[str, ...], value: float) -> None:
    node: Any = data
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value


def prior(path: tuple[str, ...]) -> float:
    """Where a constant starts; texts and images are expected to reach what large matrix products do on the family."""
    if pooled(path):
        return _PRODUCTS.get(path[1].removesuffix(CARD), _PRODUCTS["other"])
    return float(PRIOR["default_family"][path[-1]]) if path[0] == "families" else at(PRIOR, path)


def most(path: tuple[str, ...]) -> float:
    """What a constant cannot pass: shares of a whole."""
    return 1.0 if path[-1] in SHARES else math.inf


def pooled(path: tuple[str, ...]) -> bool:
    return path[0] == "families" and path[-1] == "samples"


def rounded(data: dict[str, Any]) -> None:
    """Three significant digits: more would be noise."""
    for path in paths(data):
        put(data, path, float(f"{at(data, path):.3g}"))
