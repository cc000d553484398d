"""What can be bought: machines that nobody hands out when asked, and weeks on spot that nobody asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from sizewell.sizing.choose.blocks import duration_text
from sizewell.sizing.choose.candidates import NEARLY, WORTH_THE_WAIT
from sizewell.sizing.choose.choice import alternatives, ordered, why_not
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.choose.explain import on_half
from sizewell.sizing.choose.pricing import SPOT_GANG_DEVICES
from sizewell.sizing.choose.workloads import scarce
from sizewell.sizing.errors import SpecError
from sizewell.sizing.records.decision import Decision

from .conftest import ON, spec, tune

WEEKS = {
    "kind": "training",
    "model": "meta-llama/Llama-3.1-8B",
    "training": {"tokens": "1T", "sequence_length": 8192},
    "deadline": "21d",
}


def workload_of(one, facts):
    decision = decide([one], facts, stack="", on=ON)
    assert isinstance(decision, Decision), decision
    return decision.workloads[0]


def test_weeks_on_spot_machines_of_one_type_are_not_the_default(facts):
    open_market = workload_of(spec(**WEEKS), facts)
    assert open_market.pools[0].nodes_initial > 1
    assert open_market.pools[0].market == "on-demand"
    told = workload_of(spec(**WEEKS, spot_policy="spot"), facts)
    assert told.pools[0].market == "spot"
    short = workload_of(tune(), facts)
    assert short.pools[0].market == "spot"


def test_no_gang_runs_for_longer_than_three_days_on_spot_unless_the_spec_says_so(facts):
    for given in (WEEKS, {**WEEKS, "training": {"tokens": "200B", "sequence_length": 8192}}):
        sizing = size_one(spec(**given), facts, stack="", on=ON)
        gangs = [o for o in sizing.options if o.deal.market == "spot" and o.fleet.nodes > 1]
        assert all(o.fleet.run_s <= 3 * 86_400 for o in gangs)


def test_one_large_machine_is_not_kept_on_spot_for_weeks_unless_the_spec_says_so(facts):
    pretrain = {
        "kind": "training",
        "model": "mistralai/Mixtral-8x7B-v0.1",
        "training": {"tokens": "100B", "sequence_length": 8192},
        "deadline": "30d",
    }
    sizing = size_one(spec(**pretrain), facts, stack="", on=ON)
    alone = [o for o in sizing.options if o.deal.market == "spot" and o.candidate.shape.accelerators >= 8]
    assert all(o.fleet.run_s <= 7 * 86_400 for o in alone)
    first = workload_of(spec(**pretrain), facts).alternatives[0]
    assert first.market == "spot"
    assert "only with spot_policy: spot" in first.why_not
    told = workload_of(spec(**pretrain, spot_policy="spot"), facts)
    assert told.pools[0].market == "spot"
    assert told.performance.value > 7 * 86_400


def test_many_large_machines_are_said_to_be_scarce_with_quota_and_interruptions(facts):
    workload = workload_of(spec(**WEEKS, infra=["aws"], resources={"accelerators": ["H100"]}), facts)
    pool = workload.pools[0]
    said = [note for note in workload.assumptions if note.startswith("scarce")]
    vcpus = pool.nodes_initial * facts.shape("aws", pool.instance_type).vcpus
    assert said == [
        (
            f"scarce: clouds seldom have {pool.nodes_initial} x {pool.instance_type} free at once, so an on-demand "
            "request may fail for days (estimate; no cloud publishes it); what is usual instead: a capacity block "
            "(capacity: {block: {duration: 21d}}), or an on-demand capacity reservation (capacity: {reservation: ID}); "
            f"request a quota of {vcpus:,} vCPU of L-417A185B"
        )
    ]
    assert any("is interrupted about" in note for note in workload.assumptions)


def test_what_stands_in_for_spot_is_what_such_work_can_use(facts):
    """The line names keys of the spec that are read for that kind of work: no block, which ends, for a service."""
    option = size_one(spec(**WEEKS, infra=["aws"], spot_policy="spot"), facts, stack="", on=ON).best()
    assert option is not None
    (line, *_) = scarce(option)
    assert "left over to sell as spot, so the request may wait for hours or days" in line
    duration = duration_text(option.run_s * option.fleet.training.high_s / option.fleet.training.step_s)
    assert f"capacity: {{block: {{duration: {duration}}}}}" in line
    service = replace(option, setting=replace(option.setting, need=replace(option.setting.need, kind="inference")))
    (line, *_) = scarce(service)
    assert "capacity: {reservation: ID}" in line
    assert "block" not in line
    assert spec(**WEEKS, capacity={"reservation": "cr-1"}).capacity.reservation == "cr-1"
    assert spec(**WEEKS, capacity={"block": {"duration": duration}}).capacity.block.duration_s > option.run_s


@pytest.mark.parametrize(
    ("hours", "duration"), [(0.5, "24h"), (23.0, "24h"), (24.0, "2d"), (19 * 24, "21d"), (190 * 24, "")]
)
def test_a_block_is_named_that_the_run_fits_in(facts, hours, duration):
    """Up to its careful end, in the days that blocks are sold for; none where none is."""
    option = size_one(spec(**WEEKS, infra=["aws"]), facts, stack="", on=ON).best()
    assert option is not None
    band = option.fleet.training.high_s / option.fleet.training.step_s
    (line,) = scarce(replace(option, run_s=3600 * hours / band))
    assert (f"duration: {duration}}}" in line) if duration else ("block" not in line)


def test_hundreds_of_machines_are_not_kept_on_spot_unless_the_spec_says_so(facts):
    """One of so many is always taken away; what that costs is left to who asks for it."""
    wish = {"kind": "training", "model": "meta-llama/Llama-2-7b", "resources": {"accelerators": ["H100"]}}
    wish |= {"training": {"tokens": "2T", "sequence_length": 4096, "global_batch": "4M"}, "deadline": "3d"}
    sizing = size_one(spec(**wish), facts, stack="", on=ON)
    best = sizing.best()
    assert best is not None
    assert best.deal.market == "on-demand"
    gangs = [o for o in sizing.options if o.deal.market == "spot" and o.candidate.shape.accelerators == 8]
    assert all(o.fleet.nodes * 8 <= SPOT_GANG_DEVICES for o in gangs)
    told = size_one(spec(**wish, spot_policy="spot"), facts, stack="", on=ON).best()
    assert told is not None
    assert told.fleet.nodes * told.candidate.shape.accelerators > SPOT_GANG_DEVICES


def test_a_short_run_takes_plain_machines_that_cost_nearly_the_same(facts):
    """No run waits for hours for a large machine that costs a few per cent less."""
    sizing = size_one(tune(), facts, stack="", on=ON)
    best = sizing.best()
    scarce_one = replace(best, candidate=replace(best.candidate, shape=facts.shape("aws", "p5en.48xlarge")))
    assert scarce_one.scarce
    assert not best.scarce
    assert best.plainness < scarce_one.plainness


@pytest.mark.parametrize(
    "small", [tune(), spec(kind="notebook", resources={"gpu": "24GB.."})], ids=["tune", "notebook"]
)
def test_one_machine_is_not_called_scarce(facts, small):
    assert not any(note.startswith("scarce") for note in workload_of(small, facts).assumptions)


def test_machines_of_ones_own_are_not_called_scarce(facts):
    option = size_one(spec(**WEEKS), facts, stack="", on=ON).best()
    assert option is not None
    assert scarce(option)
    assert scarce(replace(option, candidate=replace(option.candidate, adopted=True))) == []


def test_one_small_machine_is_not_kept_on_spot_for_months_and_a_run_without_deadline_says_how_long_it_takes(facts):
    run = {"tokens": "100B", "sequence_length": 8192}
    given = {"kind": "training", "model": {"params": "8B"}, "training": run, "infra": ["aws"]}
    endless = spec(**given)
    sizing = size_one(endless, facts, stack="", on=ON)
    assert all(o.fleet.run_s <= 28 * 86_400 for o in sizing.options if o.deal.market == "spot")
    assert workload_of(endless, facts).pools[0].market == "on-demand"
    assert workload_of(spec(**given, spot_policy="spot"), facts).pools[0].market == "spot"
    said = workload_of(endless, facts).assumptions
    assert [line for line in said if line.startswith("the cheapest way takes") and "deadline: 30d" in line]
    dated = spec(**{**WEEKS, "training": {"tokens": "200B", "sequence_length": 8192}})
    assert not [line for line in workload_of(dated, facts).assumptions if line.startswith("the cheapest way takes")]


def test_a_run_that_only_interruptions_make_late_is_told_to_leave_spot(facts):
    """DeepSeek-V3's own run, asked for on spot: its machines are reclaimed more often than it can be restarted."""
    run = {"tokens": "15T", "sequence_length": 4096, "global_batch": "60M"}
    wish = {"kind": "training", "model": "deepseek-ai/DeepSeek-V3", "training": run, "deadline": "60d"}
    answer = decide([spec(**wish, spot_policy="spot", resources={"accelerators": "h100-sxm"})], facts, stack="", on=ON)
    assert isinstance(answer, NothingFits)
    assert "without interruptions" in answer.nearest[0].reason
    assert answer.relax[0].startswith("use spot_policy: on-demand")


def batch(**given):
    return spec(kind="batch-inference", infra=["aws"], **given)


def test_a_batch_that_one_small_machine_does_is_not_made_to_wait_for_a_large_one(facts):
    heard = {"model": "openai/whisper-large-v3", "batch": {"records": 2000, "audio_per_record": "30m", "window": "1d"}}
    sizing = size_one(batch(**heard), facts, stack="", on=ON)
    best = sizing.best()
    cheapest = min((o for o in sizing.options if o.candidate.buildable), key=lambda o: o.rank_usd)
    assert cheapest.scarce
    assert not best.scarce
    assert best.fleet.nodes == 1
    assert best.rank_usd <= NEARLY * WORTH_THE_WAIT * cheapest.rank_usd
    assert "clouds seldom have such machines left over" in why_not(cheapest, best, sizing.need)
    # where nothing small is near, the large one is taken as it was
    large = replace(best, candidate=replace(best.candidate, shape=cheapest.candidate.shape))
    assert ordered([cheapest, replace(large, fleet=cheapest.fleet)], sizing.need)[0] is cheapest


def test_alternatives_of_a_batch_bill_what_the_choice_bills(facts):
    """A fleet of spot machines has a key of its own, before anything is compared and not after it."""
    embedded = {"model": "BAAI/bge-m3", "batch": {"records": "500k", "tokens_per_record": 300, "window": "12h"}}
    sizing = size_one(batch(**embedded), facts, stack="", on=ON)
    best = sizing.best()
    fleets = [o for o in sizing.options if o.provision == "fleet"]
    assert all("encryption key of notices" in {line.what for line in o.items} for o in fleets)
    for other in alternatives(sizing, best):
        if other.market in sizing.need.markets and other.usd_per_month < best.usd_per_month:
            assert "compared at" in other.why_not or "nearly" in other.why_not, other
    again = on_half(replace(best, fleet=replace(best.fleet, replicas=2)))
    assert "0.0 d" not in again[0].outcome


def test_a_block_that_starts_later_than_they_are_sold_is_refused_and_one_that_is_bought_is_not(facts):
    def block(days, **more):
        return {"block": {"duration": "72h", "start": (ON + timedelta(days=days)).isoformat(), **more}}

    with pytest.raises(SpecError) as caught:
        decide([spec(**WEEKS, capacity=block(57))], facts, stack="", on=ON)
    (fault,) = caught.value.faults
    assert (fault.path, "57 days ahead: blocks are sold that start within 56" in fault.message) == (
        "capacity.block.start", True,
    )  # fmt: skip
    assert (ON + timedelta(days=56)).isoformat() in fault.fix
    for bought in (block(56), block(90, id="cr-0123456789abcdef0")):
        size_one(spec(**WEEKS, capacity=bought), facts, stack="", on=ON)
