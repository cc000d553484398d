"""Peaks of TRL's own trainers as PyTorch allocates them, which no constant was fitted to: `tools/count_trainers.py`."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from sizewell.accuracy.report import validate

COUNTED = Path(__file__).parent / "counted" / "trainers.json"
ROWS = validate([COUNTED]).rows
MADE_BY = {row["id"]: row["workload"] for row in json.loads(COUNTED.read_text())}


def errors(engine, preference=None):
    return [
        row.error_pct
        for row in ROWS
        if MADE_BY[row.id]["engine"] == engine and MADE_BY[row.id].get("preference") == preference
    ]


@pytest.mark.parametrize(
    ("engine", "preference", "cases", "median", "worst"),
    # Of a small reward model half is one table, which autocast is taken to copy.
    [
        ("transformers", None, 7, 3, 6),
        ("trl", None, 7, 2, 3),
        ("trl", "dpo", 7, 2, 3),
        ("trl", "kto", 4, 2, 3),
        ("trl", "reward", 4, 4, 9),
    ],
)
def test_no_trainer_is_further_off_than_it_was_seen(engine, preference, cases, median, worst):
    sizes = [abs(error) for error in errors(engine, preference)]
    assert len(sizes) == cases
    assert statistics.median(sizes) < median
    assert max(sizes) < worst


def test_cases_say_what_counted_them():
    assert all("trl 1.16" in row["source"]["path"] for row in json.loads(COUNTED.read_text()))
