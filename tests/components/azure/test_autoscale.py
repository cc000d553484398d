"""Autoscale settings of ours, evaluated as Azure's documents say (autoscale_run.py)."""

from __future__ import annotations

import copy

import pytest
from autoscale_run import capacity_after, minutes_of

from sizewell.components.azure.ml.durations import autoscale_profiles as endpoint_profiles
from sizewell.components.azure.scale_sets import autoscale_profiles

GUARD = {"action": "scale-to-zero", "min_utilization_percent": 5, "window_s": 2700, "grace_s": 3600}
MINUTES = 105  # window and grace
IDLE, BUSY = [0.0] * MINUTES, [0.0] * 60 + [97.0] + [0.0] * 44
SILENT = [None] * MINUTES
LATE = [None] * 40 + [0.0] * 65  # a machine that just came


def profile(machines: int, least: int = 0):
    sizes = {"nodes_min": least, "nodes_initial": machines, "nodes_max": machines}
    (always,) = autoscale_profiles(**sizes, guard=GUARD, schedule=None, scale_set_id="set")
    return always


def reported(*machines):
    """What machines publish each minute: how busy they are, and that they are there."""
    said = [[used for used in minute if used is not None] for minute in zip(*machines, strict=True)]
    return {"GpuUtilization": said, "Reporting": [[1.0] * len(minute) for minute in said]}


@pytest.mark.parametrize(
    ("machines", "least", "size"),
    [
        ([IDLE] * 4, 0, 0),
        ([IDLE] * 4, 1, 1),
        ([BUSY, IDLE, IDLE, IDLE], 0, 4),
        ([SILENT, IDLE, IDLE, IDLE], 0, 4),
        ([LATE, IDLE, IDLE, IDLE], 0, 4),
        ([SILENT] * 4, 0, 4),
        ([IDLE], 0, 0),
        ([IDLE] * 20, 0, 0),
        ([SILENT, *[IDLE] * 19], 0, 20),
        ([SILENT, *[IDLE] * 99], 0, 100),
        # a share of the whole set's samples: 38 % of one machine's are 9.5 % of four machines', and 3.8 % of ten machines'
        ([LATE, *[IDLE] * 9], 0, 0),
        ([[None] * 60 + [0.0] * 45, *[IDLE] * 19], 0, 20),  # never more than half of one machine's
        # two samples that were lost on the way
        ([[None, *IDLE[1:-1], None], *[IDLE] * 3], 0, 0),
    ],
)
def test_a_scale_set_goes_where_every_machine_is_seen_idle_and_only_there(machines, least, size):
    always = profile(len(machines), least)
    window = {minutes_of(rule["metric_trigger"]["time_window"]) for rule in always["rules"]}
    assert window == {MINUTES}
    assert capacity_after(always, reported(*machines), len(machines)) == size


def test_an_emptied_scale_set_stays_empty():
    assert capacity_after(profile(4), {}, 0) == 0


@pytest.mark.parametrize("kept", [0, 1])
def test_neither_rule_of_the_two_is_enough(kept):
    """Idle as far as one knows, or all there: each alone would end machines that work or are not seen."""
    alone = copy.deepcopy(profile(4))
    alone["rules"] = [alone["rules"][kept]]
    wrong = [BUSY, IDLE, IDLE, IDLE] if kept else [SILENT, IDLE, IDLE, IDLE]
    assert capacity_after(alone, reported(*wrong), 4) == 0


@pytest.mark.parametrize(
    ("percent", "machines", "size"),
    [(90.0, 2, 3), (90.0, 4, 4), (50.0, 2, 2), (20.0, 2, 1), (20.0, 1, 1), (29.0, 3, 2), (25.0, 2, 1), (None, 2, 2)],
)
def test_an_endpoint_takes_one_machine_more_or_less(percent, machines, size):
    sizes = {"nodes_min": 1, "nodes_initial": 2, "nodes_max": 4}
    (always,) = endpoint_profiles(deployment_id="d", schedule=None, **sizes)
    metrics = {} if percent is None else {"GpuUtilizationPercentage": [[percent] * machines] * 60}
    assert capacity_after(always, metrics, machines) == size


def test_an_endpoint_that_works_again_does_not_lose_a_machine():
    """Thirty quiet minutes let one go; the last five alone ask for one more, and any rule to grow comes first."""
    sizes = {"nodes_min": 1, "nodes_initial": 2, "nodes_max": 4}
    (always,) = endpoint_profiles(deployment_id="d", schedule=None, **sizes)
    metrics = {"GpuUtilizationPercentage": [[1.0, 1.0]] * 25 + [[90.0, 90.0]] * 5}
    assert capacity_after(always, metrics, 2) == 3
