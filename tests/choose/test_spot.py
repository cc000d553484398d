"""Spot: the interval of Young and Daly, and what interruptions make of a run."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.sizing.predict.spot import (
    Interruptions,
    best_interval_s,
    checkpoint_bytes,
    interruptions,
    mtbi_s,
    reclaimed_every_h,
    run_times,
)

RUN = {"work_s": 100_000.0, "nodes": 4, "devices": 32, "bytes_each": 100 * 10**9, "spot": True, "advisor": ">20%"}


def test_the_interval_is_youngs_to_first_order():
    for write, between in ((10, 86_400), (60, 43_200), (120, 360_000)):
        assert best_interval_s(write, between) == pytest.approx(math.sqrt(2 * write * between), rel=0.05)


def test_no_other_interval_loses_less():
    best = interruptions(**RUN)
    for factor in (0.25, 0.5, 0.8, 1.25, 2, 4):
        other = interruptions(**RUN, interval_s=best.interval_s * factor)
        assert other.stretch >= best.stretch * (1 - 1e-4)


@given(st.floats(1e3, 1e6), st.integers(1, 64), st.integers(1, 8))
def test_interruptions_only_ever_lengthen_a_run(work, nodes, per_node):
    facts = {"work_s": work, "nodes": nodes, "devices": nodes * per_node, "bytes_each": 10**10}
    calm, spot = interruptions(**facts, spot=False), interruptions(**facts, spot=True)
    assert 1.0 <= calm.stretch <= spot.stretch


@pytest.mark.parametrize(
    ("devices", "per_node", "billions", "days", "published"),
    [
        (16_384, 8, 405, 54, (0.90, 0.95)),  # Llama 3.1: more than 90 % (arXiv 2407.21783, 3.3.4)
        (12_288, 8, 175, 28, (0.90, 0.96)),  # MegaScale: more than 90 % over weeks (arXiv 2402.15627, 6.3)
        (4_096, 16, 70, 20, (0.96, 0.99)),  # HLAT on Trainium: 98.8 % with automatic restarts (arXiv 2404.10630)
        (64, 8, 7, 9, (0.99, 1.0)),
    ],
)
def test_goodput_follows_from_devices_and_is_what_large_runs_published(devices, per_node, billions, days, published):
    size = checkpoint_bytes("full", billions * 1e9, billions * 1e9, "adamw")
    nodes = devices // per_node
    run = interruptions(work_s=days * 86_400, nodes=nodes, devices=devices, bytes_each=size, spot=False)
    assert published[0] < run.goodput < published[1]


@given(st.integers(1, 63))
def test_a_larger_gang_is_interrupted_more_often(nodes):
    assert mtbi_s(nodes=nodes + 1, devices=8 * (nodes + 1), spot=True) < mtbi_s(
        nodes=nodes, devices=8 * nodes, spot=True
    )


def test_the_advisors_bands_are_in_order():
    hours = [reclaimed_every_h(accelerators=8, advisor=band) for band in ("<5%", "5-10%", "10-15%", "15-20%", ">20%")]
    assert hours == sorted(hours, reverse=True)


@pytest.mark.parametrize(
    ("method", "optimizer", "params", "trained", "expected"),
    [
        ("full", "adamw", 7e9, 7e9, 98e9),
        ("full", "sgd", 7e9, 7e9, 42e9),
        ("lora", "adamw", 7e9, 40e6, 0.56e9),
        ("full", "adamw-8bit", 7e9, 7e9, 56e9),
    ],
)
def test_a_checkpoint_holds_what_a_run_needs_to_go_on(method, optimizer, params, trained, expected):
    assert checkpoint_bytes(method, params, trained, optimizer) == int(expected)


def test_a_run_that_never_gets_anywhere_is_infinite():
    stuck = interruptions(work_s=1e6, nodes=4000, devices=32_000, bytes_each=10**15, spot=True, interval_s=40_000.0)
    assert math.isinf(stuck.stretch) or stuck.stretch > 100


def _simulated(broken: Interruptions, work_s: float, chance: random.Random) -> float:
    """One run, stretch by stretch."""
    whole, taken = broken.interval_s + broken.checkpoint_s, 0.0

    def begun_again_until_done(seconds: float) -> float:
        lost = 0.0
        while (after := chance.expovariate(1 / broken.mtbi_s)) < seconds:
            lost += after + (begun_again_until_done(broken.restart_s) if seconds == whole else 0.0)
        return lost + seconds

    for _ in range(round(work_s / broken.interval_s)):
        taken += begun_again_until_done(whole)
    return taken


@pytest.mark.parametrize(
    ("hours", "nodes", "advisor", "bytes_each"),
    [(100, 1, "", 10**11), (10, 1, "<5%", 10**10), (555, 16, ">20%", 10**12), (11, 4, ">20%", 10**12)],
)
def test_the_distribution_of_a_run_has_the_expected_mean_and_what_runs_take(hours, nodes, advisor, bytes_each):
    work_s = hours * 3600.0
    broken = interruptions(
        work_s=work_s, nodes=nodes, devices=8 * nodes, bytes_each=bytes_each, spot=True, advisor=advisor
    )
    stretches = max(1, round(work_s / broken.interval_s))
    work_s = stretches * broken.interval_s  # whole ones, which the other side counts
    times = run_times(broken, work_s)
    assert math.isclose(times.mean_s, work_s * broken.stretch, rel_tol=1e-4)
    assert math.isclose(math.fsum(times.shares), 1)
    chance = random.Random(38)  # noqa: S311 - a simulation
    taken = sorted(_simulated(broken, work_s, chance) for _ in range(2000))
    for share in (0.05, 0.5, 0.9, 0.99):
        then = taken[int(share * len(taken))]
        assert math.isclose(times.within(share), then, rel_tol=0.02)
        later = sum(each > then * 1.001 for each in taken) / len(taken)
        assert abs(times.longer_than(then * 1.001) - later) < 0.03
    assert times.longer_than(0) == pytest.approx(1)
    assert times.longer_than(1e12) == 0


@given(st.floats(1, 5000), st.integers(1, 64), st.sampled_from(["", "<5%", ">20%"]), st.floats(1e8, 1e13))
def test_a_later_deadline_is_missed_by_no_more_runs(hours, nodes, advisor, bytes_each):
    broken = interruptions(
        work_s=hours * 3600, nodes=nodes, devices=8 * nodes, bytes_each=int(bytes_each), spot=True, advisor=advisor
    )
    if not math.isfinite(broken.stretch) or broken.stretch > 20:
        return  # nothing that anybody starts
    times = run_times(broken, hours * 3600)
    assert math.isclose(times.mean_s, hours * 3600 * broken.stretch, rel_tol=0.005)
    assert times.within(0.5) <= times.within(0.95)
    later = [times.longer_than(times.within(share)) for share in (0.1, 0.5, 0.9)]
    assert later == sorted(later, reverse=True)
