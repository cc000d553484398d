"""Serving against what others measured: the fitted constants reproduce it, and the bands hold what they promise."""

from __future__ import annotations

import json
import statistics

import pytest

from sizewell.accuracy.cases import read
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.predict import MEMORY, SERVING, predict
from sizewell.sizing.predict.performance.serving_constants import FILE, constants, from_json, trying


@pytest.fixture(scope="module")
def graded():
    cases = [case for case in read() if case.kind in SERVING and case.metric not in MEMORY and case.gradeable]
    return [(case, predict(case)) for case in cases]


def error(case, prediction):
    return abs(prediction.value / case.value - 1)


def test_half_of_the_core_cases_are_within_a_seventh(graded):
    errors = [error(case, found) for case, found in graded if case.core and isinstance(found, Prediction)]
    assert len(errors) > 140
    assert statistics.median(errors) < 0.14


def test_time_per_token_is_within_a_tenth_at_the_median(graded):
    errors = [
        error(case, found)
        for case, found in graded
        if case.core and case.metric == "tpot_ms" and isinstance(found, Prediction)
    ]
    assert len(errors) > 20
    assert statistics.median(errors) < 0.10


def test_the_bands_hold_what_they_promise_and_are_worth_something(graded):
    found = [(case, p) for case, p in graded if isinstance(p, Prediction)]
    assert sum(p.low <= case.value <= p.high for case, p in found) / len(found) >= 0.8
    widths = [(p.high - p.low) / 2 / p.value for case, p in found]
    errors = [error(case, p) for case, p in found]
    assert statistics.median(widths) <= 3.5 * statistics.median(errors)


def test_few_cases_are_refused_and_each_says_why(graded):
    refused = [answer for _, answer in graded if isinstance(answer, str)]
    assert len(refused) / len(graded) < 0.05
    assert all(refused)


def test_the_constants_mean_shares_and_times():
    c = constants()
    for family in (*c.families.values(), c.default_family):
        assert 0 < family.compute <= 1
        assert 0 < family.memory <= 1
        assert 0 < family.samples <= 1
    assert all(low <= 1 <= high for low, high in c.bands.values())
    data = json.loads(FILE.read_text())
    assert data["source"]
    assert data["fitted_on"]


def test_constants_on_trial_are_gone_afterwards():
    data = json.loads(FILE.read_text())
    data["occupancy"] = 0.123
    with trying(from_json(data)):
        assert constants().occupancy == 0.123
    assert constants().occupancy != 0.123
