"""Nobody decides by a few per cent, and what is known from little is compared at its careful end."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

import pytest

from sizewell.sizing.choose.candidates import NEARLY, Cause
from sizewell.sizing.choose.choice import why_not
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.pricing import UNKNOWN_MARGIN

from .conftest import ON, chat, offer, spec, tune, with_shapes


def test_the_plainest_of_those_that_cost_nearly_the_same_is_taken(facts):
    """Two small machines at 1 % less than one large one: one machine is chosen, at 5 % less two are."""
    types = {("gcp", "ct6e-standard-4t"), ("gcp", "ct6e-standard-8t")}
    few = with_shapes(facts, types)
    given = {"model": {"params": "2B", "layers": 24, "hidden": 2560, "heads": 20, "vocab": 32000}}
    run = {"training": {"tokens": "40B", "sequence_length": 2048, "global_batch": "1M"}, "deadline": "4d"}
    wanted = spec(kind="training", framework="jax", **given, **run, infra=["gcp/us-central1"], spot_policy="on-demand")
    picked = {}
    for name, usd in (("near", "10.75"), ("far", "9.50")):
        offers = [
            offer("gcp", "ct6e-standard-4t", "us-central1", "on-demand", usd),
            offer("gcp", "ct6e-standard-8t", "us-central1", "on-demand", "21.60"),
        ]
        sold = {(o.cloud, o.instance_type): (o,) for o in offers}
        sizing = size_one(wanted, replace(few, offers_by_type=sold), stack="", on=ON)
        picked[name] = sizing
    near, far = picked["near"].best(), picked["far"].best()
    assert near.fleet.nodes == 1
    cheapest = min(picked["near"].options, key=lambda o: o.rank_usd)
    assert cheapest.rank_usd < near.rank_usd <= NEARLY * cheapest.rank_usd
    assert "nearly the same cost, but on more machines" in why_not(cheapest, near, near.setting.need)
    assert far.instance_type == "ct6e-standard-4t"


def test_an_old_spot_price_counts_a_quarter_more(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    old, fresh = (size_one(tune(infra=["aws"]), few, stack="", on=day).best() for day in (ON, date(2026, 1, 15)))
    assert (old.deal.market, old.deal.old, fresh.deal.old) == ("spot", True, False)
    assert old.careful == pytest.approx(UNKNOWN_MARGIN)
    assert fresh.careful == 1.0
    machines = float(old.hours.expected) * old.usd_per_hour
    assert old.rank_usd == pytest.approx(old.total_usd + (UNKNOWN_MARGIN - 1) * machines, rel=1e-3)
    note = next(
        n for n in decide([tune(infra=["aws"])], few, stack="", on=ON).workloads[0].assumptions if "times the" in n
    )
    assert note == "compared at 1.25 times the cost of its machines, as its spot price is old"


def test_a_device_of_few_published_runs_stands_at_the_upper_edge_of_its_band(facts):
    few = with_shapes(facts, {("aws", "g6e.xlarge")})
    given = tune(infra=["aws"], spot_policy="on-demand", resources={"accelerators": ["L40S"]})
    option = size_one(given, few, stack="", on=ON).best()
    assert option.seldom_measured
    assert option.careful == pytest.approx(option.fleet.training.high_s / option.fleet.training.step_s)
    both = size_one(tune(infra=["aws"], resources={"accelerators": ["L40S"]}), few, stack="", on=ON).best()
    assert both.careful == pytest.approx(math.exp(math.hypot(math.log(UNKNOWN_MARGIN), math.log(option.careful))))


@pytest.mark.parametrize("wanted", [chat, tune])
def test_rocm_is_a_port_as_gaudi_is(facts, wanted):
    few = with_shapes(facts, {("azure", "Standard_ND96isr_MI300X_v5"), ("aws", "dl1.24xlarge"), ("aws", "p5.48xlarge")})
    rejected = {r.instance_type: r for r in size_one(wanted(), few, stack="", on=ON).rejections}
    for name in ("Standard_ND96isr_MI300X_v5", "dl1.24xlarge"):
        port = rejected[name]
        assert port.cause is Cause.RUNTIME
        assert port.reason.startswith("a model has to be ported to")
        assert port.relax == f"resources: {{accelerators: {port.accelerator}}}, once the model is ported"
    named = size_one(wanted(resources={"accelerators": ["MI300X"]}), few, stack="", on=ON).best()
    assert named.instance_type == "Standard_ND96isr_MI300X_v5"


def test_an_odd_batch_is_told_what_the_next_one_saves(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    run = {"method": "full", "tokens": "500M", "sequence_length": 4096, "global_batch": 126 * 4096}
    (workload,) = decide([tune(training=run)], few, stack="", on=ON).workloads
    said = next(note for note in workload.assumptions if note.startswith("126 samples per step"))
    assert "training.global_batch: 524288 (128 samples)" in said
    saved = int(said.partition("save ")[2].partition("%")[0]) / 100
    even = decide([tune(training={**run, "global_batch": 128 * 4096})], few, stack="", on=ON).workloads[0]
    each = [w.performance.figures["step_s"] / n for w, n in ((workload, 126), (even, 128))]
    assert saved == pytest.approx(1 - each[1] / each[0], abs=0.01)
