"""Bands of serving: made of errors that the fit has not seen, a narrower one only on enough evidence."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from sizewell.sizing.predict.performance.serving_constants import FILE, constants
from sizewell.sizing.validation.cases import Case
from sizewell.sizing.validation.memory_predictions import Prediction

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("calibrate_serving", ROOT / "tools" / "calibrate_serving.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibrate_serving"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def group_bands(tool, monkeypatch, groups):
    """Bands of made-up cases: group -> (source, log error) of each."""
    cases, errors, group_of = [], {}, {}
    for group, members in groups.items():
        for source, error in members:
            case = Case({"id": f"{group}{len(cases)}", "kind": "llm_serving", "metric": "tpot_ms", "value": 1.0,
                         "model": {}, "hardware": {}, "workload": {}, "source_family": source})  # fmt: skip
            cases.append(case)
            errors[case.id], group_of[case.id] = error, group
    prediction = {
        key: Prediction(value=1.0, low=1.0, high=1.0, grade="calibrated", group=g) for key, g in group_of.items()
    }
    monkeypatch.setattr(tool, "predict", lambda case: prediction[case.id])
    return tool.bands(cases, json.loads(FILE.read_text(encoding="utf-8")), errors)


def test_a_group_is_narrower_than_its_parent_only_from_fifteen_cases_of_two_sources_on(tool, monkeypatch):
    loose = [("a", 0.5), ("b", 0.5)] * 20
    few = [("a", 0.1), ("b", 0.1)] * 7
    one_source = [("a", 0.1)] * 20
    enough = [("a", 0.1), ("b", 0.1)] * 8
    found = group_bands(
        tool,
        monkeypatch,
        {
            "dense|engine": loose,
            "dense|prefill compute": few,
            "dense|interconnect": one_source,
            "experts|engine": enough,
        },
    )
    assert "dense|prefill compute" not in found
    assert "dense|interconnect" not in found
    assert found["experts|engine"] == [round(math.exp(-0.1), 3), round(math.exp(0.1), 3)]


def test_a_group_is_wider_than_its_parent_from_five_cases_on(tool, monkeypatch):
    tight = [("a", 0.1), ("b", 0.1)] * 20
    found = group_bands(tool, monkeypatch, {"vision|compiled": tight, "vision|eager": [("c", 0.9)] * 5})
    assert found["vision|eager"][1] == round(math.exp(0.9), 3)
    assert found["vision|compiled"][1] == round(math.exp(0.1), 3)
    four = group_bands(tool, monkeypatch, {"vision|compiled": tight, "vision|eager": [("c", 0.9)] * 4})
    assert "vision|eager" not in four


def test_a_constant_that_no_case_is_left_for_is_its_prior_again_and_others_follow_what_is_left(tool):
    data = json.loads(FILE.read_text(encoding="utf-8"))
    paths = [("families", "hopper", "compute"), ("families", "trainium", "compute")]
    point = np.log([tool.at(data, path) for path in paths])
    # Two cases slow down as the first constant grows and one as the second does; the first two ask for 20 % less.
    slopes = np.array([[-1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    errors = np.array([-0.2, -0.2, 0.0])
    table = tool.Linear(paths, point, errors, slopes, np.abs(slopes), np.ones(3))
    found = tool.refit(table, np.array([1.0, 1.0, 0.0]))
    assert found[0] == pytest.approx(point[0] - 0.2)
    assert math.exp(found[1]) == pytest.approx(tool.prior(paths[1]))


def test_prompts_are_known_better_than_reading_a_cache_and_dense_models_better_than_experts():
    bands = constants().bands
    assert bands["dense|prefill compute"][1] < bands["dense|memory bandwidth (cache)"][1]
    assert bands["dense"][1] < bands["experts"][1]


@pytest.mark.soak
def test_the_bands_are_those_of_the_file(tool, tmp_path, monkeypatch):
    copied = tmp_path / "serving.json"
    copied.write_bytes(FILE.read_bytes())
    monkeypatch.setattr(tool, "FILE", copied)
    assert tool.main(["--bands"]) == 0
    assert copied.read_bytes() == FILE.read_bytes()
