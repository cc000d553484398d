"""What `sizewell explain` shows adds up to what was decided."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sizewell.sizing.billing.fees_compared import ComparedFees
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.choose.choice import alternatives
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.choose.explain import Explanation, _faster, _trained, _Trial, explain, on_half, sized
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.choose.setting import Setting
from sizewell.sizing.choose.why import asked_for, counts, verdicts
from sizewell.sizing.errors import UsageError
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.jobs import Cluster, TrainingJob

from .conftest import ON, chat, night, spec, tune

FULL = {"method": "full", "tokens": "20M", "sequence_length": 2048, "global_batch": 131072}


@pytest.fixture(scope="module")
def full(small):
    found = explain(tune(training=FULL, resources={"accelerators": ["H100"]}), small, stack="", on=ON)
    assert isinstance(found, Explanation)
    return found


def test_the_bar_sums_to_the_memory_and_the_waterfall_to_the_step(full):
    assert sum(part.value for part in full.memory) == pytest.approx(full.used_bytes)
    assert sum(part.share for part in full.memory) == pytest.approx(1)
    assert sum(part.share for part in full.waterfall) == pytest.approx(1, abs=1e-6)
    assert [part.value for part in full.memory] == sorted((part.value for part in full.memory), reverse=True)
    assert full.used_bytes <= full.high_bytes <= full.usable_bytes


def test_it_explains_what_is_decided(small, full):
    decision = decide([tune(training=FULL, resources={"accelerators": ["H100"]})], small, stack="", on=ON)
    assert isinstance(decision, Decision)
    pool = decision.workloads[0].pools[0]
    assert full.machines.startswith(f"{pool.nodes_initial} x {pool.instance_type} ")


def test_half_the_devices_that_are_enough_need_no_change(full):
    assert [(change.what, change.enough) for change in full.half] == [("as it is", True)]


def test_each_change_for_half_the_devices_says_whether_it_is_enough(small):
    large = tune(model={"params": "30B", "layers": 60, "hidden": 6656, "heads": 52}, training=FULL)
    found = explain(large, small, stack="", on=ON)
    assert isinstance(found, Explanation)
    assert found.half[0].what == "as it is"
    assert not found.half[0].enough
    assert {change.what for change in found.half} >= {"optimizer: adamw-8bit", "method: lora", "method: qlora"}
    assert all(change.outcome for change in found.half)
    assert next(change for change in found.half if change.what == "method: lora").enough


def test_a_run_that_fits_half_but_is_late_is_told_by_when(small):
    job = TrainingJob(
        architecture=Architecture(
            key="8b", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=128256
        ),
        method="lora",
        lora_rank=16,
        sequence_length=4096,
        global_batch=16,
        samples=100_000,
    )
    cluster = Cluster(accelerator=small.accelerator("h100-sxm"), per_node=4, scale_up=4)
    need = Requirements(name="w", kind="fine-tuning", training=job, deadline_s=3600.0)
    fees = ComparedFees(small, ON)
    setting = Setting(need=need, catalog=small, on=ON, environment="dev", store="s", fees=fees)
    late = _trained("as it is", job, cluster, setting)
    assert late.run_s is not None
    assert not late.change.enough
    *others, last = _faster(job, cluster, setting, late)
    assert (last.what, last.enough) == (f"deadline: {math.ceil(1.05 * late.run_s / 3600)}h", True)
    shorter = next(change for change in others if change.what.startswith("sequence_length: 2048"))
    hours = float(shorter.outcome.split("takes ")[1].split(" h")[0])
    assert 0.6 < hours / (late.run_s / 3600) < 1.0  # the same tokens: only attention is saved
    assert _faster(job, cluster, None, _Trial(replace(late.change, enough=True), late.run_s)) == ()


def test_the_next_layout_loses_for_a_reason(full):
    assert full.next_layout is not None
    assert full.next_layout.layout != full.layout
    assert "slower" in full.next_layout.why_it_loses or "simple" in full.next_layout.why_it_loses


def test_twice_the_devices_are_used_no_better_than_these(full):
    assert full.scaling is not None
    assert full.scaling.efficiency is None or 0 < full.scaling.efficiency <= 1.1


def test_a_service_is_sensitive_to_its_traffic(small):
    found = explain(chat(traffic={"rps": 40, "input_tokens": 1500, "output_tokens": 300}), small, stack="", on=ON)
    assert isinstance(found, Explanation)
    by_name = {effect.what: effect for effect in found.sensitivity}
    more, less = by_name["25 % more traffic"], by_name["20 % less traffic"]
    assert more.usd is not None
    assert less.usd is not None
    assert less.usd <= more.usd
    assert {"model.weights: int4", "slo: twice the time"} <= {change.what for change in found.half}


def test_a_simulated_service_says_of_each_machine_type_what_became_of_it(small):
    """Those that were not simulated have an outcome too, and no figure is given for a load that was not simulated."""
    traffic = {"rps": 20, "burstiness": 4, "input_tokens": 1500, "output_tokens": 300}
    found = explain(chat(traffic=traffic), small, stack="", on=ON)
    assert isinstance(found, Explanation)
    assert sum(found.machine_types.values()) == len(small.shapes)
    assert (found.sensitivity, found.half) == ((), ())
    assert "the fleet was simulated" in found.remarks[-1]


def test_weights_that_the_spec_leaves_open_are_priced_in_fewer_bits(small):
    traffic = {"rps": 40, "input_tokens": 1500, "output_tokens": 300}
    found = explain(chat(traffic=traffic), small, stack="", on=ON)
    assert isinstance(found, Explanation)
    narrow = {
        effect.what.split()[2]: effect.usd for effect in found.sensitivity if effect.what.startswith("weights in")
    }
    assert list(narrow) == ["fp8", "int8", "int4"]
    stated = explain(chat(traffic=traffic, model={"name": "llama-3.1-8b", "weights": "bf16"}), small, stack="", on=ON)
    assert isinstance(stated, Explanation)
    assert not [effect for effect in stated.sensitivity if effect.what.startswith("weights in")]


def test_batch_work_on_half_takes_twice_the_time(small):
    found = explain(night(batch={"records": "20M", "tokens_per_record": 400, "window": "8h"}), small, stack="", on=ON)
    assert isinstance(found, Explanation)
    assert found.half


def test_nothing_to_explain_is_nothing_fits(small):
    one = chat(model="meta-llama/Llama-3.1-405B", resources={"gpu": "16GB..24GB"})
    assert isinstance(explain(one, small, stack="", on=ON), NothingFits)


WHY_SPECS = [
    chat(),
    chat(model="meta-llama/Llama-3.1-405B"),
    chat(model="resnet50", traffic={"rps": 3}, slo={"latency": "200ms"}),
    tune(),
    tune(objective="time", resources={"accelerators": ["H100"]}),
    night(),
    spec(kind="notebook", resources={"gpu": "24GB.."}),
    chat(slo={"tpot": "1ms"}),  # nothing fits
]


@pytest.mark.parametrize("one", WHY_SPECS, ids=lambda s: f"{s.kind}-{s.objective}-{s.slo.tpot_s if s.slo else ''}")
def test_every_machine_type_is_the_choice_an_alternative_dominated_or_rejected(facts, one):
    sizing, chosen = sized(one, facts, stack="", on=ON)
    every = verdicts(sizing, chosen)
    assert [(v.cloud, v.instance_type) for v in every] == [(s.cloud, s.instance_type) for s in facts.shapes]
    number = counts(every)
    assert sum(number.values()) == len(facts.shapes)
    assert number["choice"] == (chosen is not None)
    for verdict in every:
        assert verdict.reason, verdict
        assert bool(verdict.cause) == (verdict.outcome == "rejected"), verdict
        if verdict.outcome == "dominated":
            assert "USD" in verdict.reason, verdict  # by how much
            assert chosen is not None
            assert chosen.instance_type in verdict.reason, verdict  # by which option
    if chosen is not None:
        said = {(a.cloud, a.instance_type) for a in alternatives(sizing, chosen)}
        assert {(v.cloud, v.instance_type) for v in every if v.outcome == "alternative"} <= said


def test_why_answers_for_a_machine_type_for_an_accelerator_and_for_neither(facts):
    sizing, chosen = sized(chat(), facts, stack="", on=ON)
    every = verdicts(sizing, chosen)
    alone = asked_for(every, "P5.48xlarge", facts)
    assert [(v.instance_type, v.outcome) for v in alone] == [("p5.48xlarge", "dominated")]
    assert chosen is not None
    assert chosen.instance_type in alone[0].reason
    h100 = asked_for(every, "h100", facts)
    assert {"p5.48xlarge", "a3-highgpu-8g", "Standard_ND96isr_H100_v5"} <= {v.instance_type for v in h100}
    with pytest.raises(UsageError, match=r"g6\.xlarge"):
        asked_for(every, "g6.xlarg", facts)


def test_a_stack_is_explained_on_its_own_cloud(facts):
    free, on_gcp = (explain(chat(), facts, stack=stack, on=ON) for stack in ("", "prod-gcp"))
    assert isinstance(free, Explanation)
    assert isinstance(on_gcp, Explanation)
    assert "gcp" not in free.machines
    assert ", gcp " in on_gcp.machines
    decided = decide([chat()], facts, stack="prod-gcp", on=ON)
    assert isinstance(decided, Decision)
    assert decided.workloads[0].pools[0].instance_type in on_gcp.machines


def test_a_run_by_a_program_of_its_own_is_so_under_another_load_too(facts):
    given = spec(
        kind="training",
        model="meta-llama/Llama-2-7b-hf",
        engine="neuron",
        training={"tokens": "20B", "sequence_length": 4096, "global_batch": 2097152},
        resources={"instance_type": "trn1.32xlarge", "nodes": 8},
        deadline="7d",
    )
    found = explain(given, facts, stack="", on=ON)
    assert isinstance(found, Explanation)
    machines = {effect.what: effect.machines for effect in found.sensitivity}
    assert "8 x trn1.32xlarge" in machines["25 % more samples"]
    assert "8 x trn1.32xlarge" in machines["half the time"]


def test_half_of_one_machine_is_a_smaller_machine_of_its_kind(facts):
    """What is said to fit on half the devices is what is sized there."""
    wish = {
        "kind": "inference",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "traffic": {"rps": 0.03, "input_tokens": 100_000, "output_tokens": 500},
    }
    sizing = size_one(spec(**wish, slo={"ttft": "15s", "tpot": "60ms"}), facts, stack="", on=ON)
    chosen = sizing.best()
    assert chosen is not None
    assert (chosen.fleet.nodes, chosen.candidate.shape.accelerators) == (1, 2)
    slower = next(change for change in on_half(chosen) if change.what == "slo: twice the time")
    assert slower.enough
    assert slower.outcome == "1 device"
    looser = size_one(spec(**wish, slo={"ttft": "30s", "tpot": "120ms"}), facts, stack="", on=ON).best()
    assert looser is not None
    assert looser.fleet.nodes * looser.candidate.shape.accelerators == 1


def test_no_format_is_tried_that_the_machines_have_no_kernels_for(facts):
    """vLLM has none for a cache in fp8 on Ampere, and an embedding model has no cache."""
    chat = {"kind": "inference", "model": "Qwen/Qwen2.5-14B-Instruct", "resources": {"accelerators": ["A10G"]}}
    chat |= {"traffic": {"rps": 1, "input_tokens": 1000, "output_tokens": 200}}
    chosen = size_one(spec(**chat), facts, stack="", on=ON).best()
    assert chosen is not None
    assert "model.kv: fp8" not in {change.what for change in on_half(chosen)}


@pytest.mark.parametrize(
    ("model", "traffic", "longer"),
    [
        ("BAAI/bge-m3", {"rps": 50, "input_tokens": 300}, "requests"),
        ("meta-llama/Llama-3.1-8B", {"rps": 2, "input_tokens": 300, "output_tokens": 100}, "answers"),
    ],
)
def test_what_embeds_is_asked_about_longer_requests_and_what_writes_about_longer_answers(small, model, traffic, longer):
    given = chat(model=model, traffic=traffic, slo={"latency": "8s"}, infra=["aws"])
    effects = [effect.what for effect in explain(given, small, stack="", on=ON).sensitivity]
    assert [what for what in effects if "longer" in what] == [f"25 % longer {longer}"]


def test_the_deadline_that_half_would_meet_is_kept_by_half(facts):
    """Of a run of weeks failures take hours, which a deadline of the bare work does not have."""
    run = {
        "kind": "training",
        "model": "meta-llama/Llama-3.1-8B",
        "engine": "torchtitan",
        "training": {"tokens": "1T", "sequence_length": 8192, "global_batch": 4194304},
        "spot_policy": "on-demand",
    }
    whole = {"accelerators": "h100-sxm", "gpus": 128}
    chosen = size_one(spec(**run, resources=whole, deadline="20d"), facts, stack="", on=ON).best()
    assert chosen is not None
    later = next(change.what for change in on_half(chosen) if change.what.startswith("deadline: "))
    half = {"accelerators": "h100-sxm", "gpus": 64, "instance_type": chosen.instance_type}
    told = spec(**run, resources=half, deadline=later.removeprefix("deadline: "))
    assert size_one(told, facts, stack="", on=ON).best() is not None


def test_a_narrower_cache_needs_no_more_devices_than_the_machine_that_it_runs_on(facts):
    """Half of a machine may need several of its kind, where the whole one does with what it has."""
    wish = {
        "kind": "inference",
        "model": {"name": "meta-llama/Llama-3.1-70B-Instruct", "weights": "fp8"},
        "traffic": {"rps": 0.5, "input_tokens": 1000, "output_tokens": 400},
        "slo": {"ttft": "1s", "tpot": "25ms"},
        "infra": "aws",
    }
    chosen = size_one(spec(**wish), facts, stack="", on=ON).best()
    assert chosen is not None
    devices = chosen.fleet.nodes * chosen.candidate.shape.accelerators
    cache = next(change for change in on_half(chosen) if change.what == "model.kv: fp8")
    assert int(cache.outcome.split()[0]) <= devices
