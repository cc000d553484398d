"""Fit the constants of serving to the published inference cases and write `sizing/calibration/serving.json`.

    python tools/calibrate_serving.py            fit, print the errors, write the file
    python tools/calibrate_serving.py --check    fit nothing; exit 1 when the file's bands no longer hold

Every constant starts at its prior and moves by coordinate descent on the weighted mean of
|log(predicted / published)|, held back by a small penalty for leaving the prior, so that what two cases say does not
outweigh what is known. Constants are keyed by accelerator family, kind of link, engine and kind of model; never by
model, source or case. The result is the same whenever it is run on the same cases.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from sizing.performance.serving import band_groups
from sizing.performance.serving_constants import FILE, from_json, trying
from sizing.validation.cases import Case, read
from sizing.validation.memory_predictions import Prediction
from sizing.validation.predict import MEMORY, SERVING, predict
from sizing.validation.serving_predictions import described

SOURCE = "tests/validation/cases/inference.json, each case with its source"
FITTED_ON = "2026-11-21"
PENALTY = 0.03
BAND_SHARE = 0.8
BAND_CASES_MIN = 5
BAND_MIN = 1.05
STEPS = (1.6, 1.25, 1.1, 1.04)

PRIOR: dict[str, Any] = {
    "default_family": {"compute": 0.45, "memory": 0.65, "samples": 0.4},
    "links": {
        "nvlink": {"latency_s": 8e-6, "bandwidth": 0.6},
        "pcie": {"latency_s": 2e-5, "bandwidth": 0.5},
        "ici": {"latency_s": 1e-5, "bandwidth": 0.6},
        "neuronlink": {"latency_s": 1.5e-5, "bandwidth": 0.5},
    },
    "engines": {
        "vllm": {"step_s": 2e-3, "sequence_s": 1e-5},
        "sglang": {"step_s": 2e-3, "sequence_s": 1e-5},
        "tensorrt-llm": {"step_s": 1e-3, "sequence_s": 5e-6},
        "mlperf": {"step_s": 1e-3, "sequence_s": 2e-6},
        "llama.cpp": {"step_s": 1e-3, "sequence_s": 0.0},
        "transformers-neuronx": {"step_s": 1e-3, "sequence_s": 5e-6},
        "compiled": {"step_s": 3e-4, "sequence_s": 0.0},
    },
    "occupancy": 0.9,
    "sequences_max": {"*": 2048, "vllm": 1024},
    "sample_kinds": {"vision": 1.0, "encoder": 1.0, "diffusion": 1.0},
    "eager": 0.3,
}
SHARES = ("compute", "memory", "samples", "bandwidth", "occupancy")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fit nothing; report whether the shipped bands hold")
    chosen = parser.parse_args(arguments)
    cases = [case for case in read() if case.kind in SERVING and case.metric not in MEMORY and case.gradeable]
    if chosen.check:
        data = json.loads(FILE.read_text(encoding="utf-8"))
        return 0 if report(cases, data) >= BAND_SHARE else 1
    data = fit(cases)
    data["bands"] = bands(cases, data)
    FILE.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    report(cases, data)
    return 0


def fit(cases: Sequence[Case]) -> dict[str, Any]:
    """Coordinate descent over every constant that some case depends on."""
    data: dict[str, Any] = {
        "schema": "sizewell.serving-calibration/1",
        "fitted_on": FITTED_ON,
        "source": SOURCE,
        "families": {name: dict.fromkeys(fields) for name, fields in fitted_families(cases).items()},
        **json.loads(json.dumps(PRIOR)),
        "bands": {"*": [0.5, 2.0]},
    }
    for row in data["families"].values():
        row.update({field: PRIOR["default_family"][field] for field in row})
    known = {case.id: described(case) for case in cases}
    for factor in STEPS:
        for _ in range(3):
            moved = False
            for path in paths(data):
                subset = [case for case in cases if touches(known[case.id], path)]
                moved |= bool(subset) and improve(data, path, factor, subset)
            if not moved:
                break
    rounded(data)
    return data


def fitted_families(cases: Sequence[Case]) -> dict[str, list[str]]:
    """The families that cases speak of, and which constants they speak of."""
    found: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        facts = described(case)
        if facts is not None:
            found[facts["family"]] |= {"compute", "memory"} if facts["language"] else {"samples"}
    return {name: sorted(fields) for name, fields in sorted(found.items())}


def paths(data: dict[str, Any]) -> list[tuple[str, ...]]:
    """Every constant to fit, in a fixed order."""
    found: list[tuple[str, ...]] = []
    for section in ("families", "links", "engines"):
        for name, row in data[section].items():
            found += [(section, name, field) for field in row]
    found += [("sample_kinds", "encoder"), ("sample_kinds", "diffusion"), ("occupancy",), ("eager",)]
    return found


def touches(facts: dict[str, Any] | None, path: tuple[str, ...]) -> bool:
    """Whether a case's prediction can depend on a constant."""
    if facts is None:
        return False
    match path:
        case ("families", family, field):
            return facts["family"] == family and (field == "memory" or (field == "samples") != facts["language"])
        case ("engines", engine, _):
            return (facts["engine"] == engine) if facts["language"] else engine == "compiled"
        case ("links", _, _):
            return bool(facts["language"])
        case ("sample_kinds", kind):
            return facts["kind"] == kind and not facts["language"]
        case ("eager",):
            return facts["engine"] == "eager"
    return bool(facts["language"])


def improve(data: dict[str, Any], path: tuple[str, ...], factor: float, cases: Sequence[Case]) -> bool:
    """Move one constant by `factor` either way as long as that makes the error smaller."""
    before = value = at(data, path)
    best = loss(data, path, cases)
    for direction in (factor, 1 / factor):
        while True:
            trial = value * direction
            if trial == value or (path[-1] in SHARES and trial > 1.0):
                break
            put(data, path, trial)
            found = loss(data, path, cases)
            if found >= best - 1e-6:
                break
            best, value = found, trial
        put(data, path, value)
    return value != before


def loss(data: dict[str, Any], path: tuple[str, ...], cases: Sequence[Case]) -> float:
    """Weighted mean of |log ratio| over the cases, and the penalty for leaving the prior."""
    errors = [(abs(log_ratio), case.weight) for case, log_ratio in ratios(cases, data)]
    mean = sum(error * weight for error, weight in errors) / max(1e-9, sum(weight for _, weight in errors))
    start = prior(path)
    distance = abs(math.log(at(data, path) / start)) if start > 0 and at(data, path) > 0 else 0.0
    return mean + PENALTY * distance / math.sqrt(max(1.0, sum(weight for _, weight in errors)))


def ratios(cases: Sequence[Case], data: dict[str, Any]) -> list[tuple[Case, float]]:
    """log(predicted / published) of every case that has a prediction."""
    found = []
    with trying(from_json(data)):
        for case in cases:
            predicted = predict(case)
            if isinstance(predicted, Prediction) and predicted.value > 0:
                found.append((case, math.log(predicted.value / case.value)))
    return found


def bands(cases: Sequence[Case], data: dict[str, Any]) -> dict[str, list[float]]:
    """Factors around a prediction that hold 80 % of the published values, by group; small groups share the whole's."""
    groups: dict[str, list[float]] = defaultdict(list)
    for case, log_ratio in ratios(cases, data):
        facts = described(case)
        for group in ("*", *(band_groups(facts["kind"], facts["family"], language=facts["language"]) if facts else ())):
            groups[group].append(abs(log_ratio))
    return {
        group: [round(1 / width, 3), round(width, 3)]
        for group, errors in sorted(groups.items())
        if len(errors) >= BAND_CASES_MIN
        for width in [max(BAND_MIN, math.exp(quantile(errors, BAND_SHARE)))]
    }


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed, of n + 1 places (Vovk's conformal rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * (len(ordered) + 1)) - 1)]


def report(cases: Sequence[Case], data: dict[str, Any]) -> float:
    """Print the median error by group; returns the share of published values inside their bands."""
    found = ratios(cases, data)
    inside = 0
    with trying(from_json(data)):
        for case, _ in found:
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
        for case, log_ratio in found:
            if case.core:
                groups[key(case)].append(abs(math.exp(log_ratio) - 1))
        for name, errors in sorted(groups.items()):
            print(f"  {name:50} {len(errors):4} cases, median error {100 * statistics.median(errors):5.1f} %")
    share = inside / max(1, len(found))
    print(f"{len(found)} cases, {100 * share:.0f} % inside the 80 % band")
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
    return float(PRIOR["default_family"][path[-1]]) if path[0] == "families" else at(PRIOR, path)


def rounded(data: dict[str, Any]) -> None:
    """Three significant digits: more would be noise."""
    for path in paths(data):
        put(data, path, float(f"{at(data, path):.3g}"))


if __name__ == "__main__":
    sys.exit(main())
