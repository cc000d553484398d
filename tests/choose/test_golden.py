"""The committed decisions are what their specs give today, and the example workloads are sized as a reader would."""

from __future__ import annotations

import difflib
import os
from datetime import date
from pathlib import Path

import pytest

from sizewell.sizing.choose.decide import decide
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import read_spec

from .conftest import ON

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
STACKS = sorted(path.stem for path in (ROOT / "stacks" / "decisions").glob("*.json"))


@pytest.mark.parametrize("stack", STACKS)
def test_a_committed_decision_is_whole_and_of_the_specs_beside_it(stack):
    committed = Decision.from_json(ROOT / "stacks" / "decisions" / f"{stack}.json")
    assert not committed.edited
    specs = [read_spec(spec) for spec in sorted((ROOT / "stacks" / "specs" / stack).glob("*.yaml"))]
    assert {(w.spec.name, w.spec.digest) for w in committed.workloads} == {(s.name, s.digest()) for s in specs}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_sized_as_it_was(facts, path):
    decision = decide([read_spec(path)], facts, stack="", on=ON)
    assert isinstance(decision, Decision)
    now = "\n".join(line for workload in decision.workloads for line in summary(workload)) + "\n"
    golden = Path(__file__).parent / "golden" / f"{path.stem}.txt"
    if os.environ.get("SIZEWELL_REFRESH"):
        golden.write_text(now, encoding="utf-8")
    before = golden.read_text(encoding="utf-8") if golden.exists() else ""
    if now != before:
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), golden.name, "now", lineterm="", n=1)
        pytest.fail(
            "\n".join([*lines, "refresh with: SIZEWELL_REFRESH=1 .venv/bin/pytest tests/choose/test_golden.py"])
        )


def summary(workload):
    """A decision as a person reads it: the choice, its figures to three digits, its bill, who lost and why."""
    pool, perf, cost = workload.pools[0], workload.performance, workload.cost
    yield f"{workload.spec.name}: {pool.nodes_initial} x {pool.instance_type} ({pool.accelerators_per_node} x {pool.accelerator})"
    yield f"  {pool.market}, {pool.cloud} {pool.region}, {pool.nodes_min} to {pool.nodes_max} nodes {pool.tpu_topology or ''}".rstrip()
    if workload.parallelism is not None:
        plain = {"virtual_pipeline": 1, "zero_stage": 0, "shard_group": 0}
        layout = {k: v for k, v in workload.parallelism.model_dump().items() if v not in (plain.get(k, 1), "none")}
        yield f"  layout {', '.join(f'{k} {v}' for k, v in layout.items()) or 'one device'}"
    if workload.replicas is not None:
        yield f"  {workload.replicas.initial} replicas of {workload.replicas.devices_per_replica} devices"
    memory = workload.memory
    yield f"  memory {memory.per_device_bytes / 2**30:.3g} of {memory.usable_bytes / 2**30:.3g} GiB, {memory.grade}"
    yield f"  {perf.metric} {perf.value:.3g} ({perf.low:.3g} to {perf.high:.3g}), {perf.grade}, limited by {perf.bottleneck}"
    for line in workload.line_items:
        price = f"{line.usd_per_unit}" if line.usd_per_unit is not None else "?"
        yield f"  {line.component}: {line.what}: {line.quantity.expected} {line.unit} x {price}"
    yield f"  {cost.run_rate.floor} / {cost.run_rate.expected} / {cost.run_rate.ceiling} USD a month"
    if cost.per_run_usd is not None:
        yield f"  {cost.per_run_usd} USD a run"
    for other in workload.alternatives:
        yield f"  not {other.nodes} x {other.cloud} {other.instance_type} {other.market}: {other.why_not}"
    for group in workload.rejections:
        yield f"  {group.count} rejected, {group.cause}: {group.example}"


def decided(facts, name: str):
    decision = decide([read_spec(ROOT / "examples" / f"{name}.yaml")], facts, stack="", on=ON)
    assert isinstance(decision, Decision)
    workload = decision.workloads[0]
    named = workload.pools[0].accelerator
    return workload, workload.pools[0], facts.accelerator(named) if named else None


def test_resnet_takes_machines_without_accelerator_and_says_what_a_gpu_would_cost(facts):
    workload, pool, device = decided(facts, "petsnap-resnet50")
    assert (pool.accelerator, pool.accelerators_per_node, device) == ("", 0, None)
    assert workload.cost.run_rate.expected < 450  # under a whole T4 and its endpoints
    assert any(a.accelerator == "t4" for a in workload.alternatives)


def test_the_vlm_in_int4_fits_a_card_of_16_gb(facts):
    workload, _, accelerator = decided(facts, "petsnap-vlm-int4")
    assert 4e9 < workload.memory.breakdown["weights"] < 5e9
    assert workload.memory.per_device_bytes < 16e9
    assert accelerator.memory_bytes < 25e9


def test_the_vlm_in_fp16_needs_a_card_of_24_gb(facts):
    workload, _, accelerator = decided(facts, "petsnap-vlm-fp16")
    assert 14e9 < workload.memory.per_device_bytes < 20e9
    assert accelerator.memory_bytes > 20e9
    sixteen = [r for r in workload.rejections if r.cause == "memory"]
    assert any("aws/g4dn.xlarge" in r.shapes for r in sixteen)


def test_full_fine_tuning_of_7b_is_split_and_qlora_is_not(facts):
    workload, pool, _ = decided(facts, "petsnap-vlm-finetune")
    assert pool.nodes_initial * pool.accelerators_per_node >= 2
    whole = workload.memory.breakdown
    devices = pool.nodes_initial * pool.accelerators_per_node
    state = sum(whole[item] for item in ("weights", "gradients", "optimizer"))
    assert 80e9 < state * devices < 200e9  # 105 GB by hand; FSDP keeps fp32 weights and gradients
    _, pool, _ = decided(facts, "petsnap-vlm-qlora")
    assert pool.nodes_initial * pool.accelerators_per_node == 1


def test_ten_thousand_users_take_many_devices(facts):
    workload, pool, _ = decided(facts, "petsnap-chat-70b")
    assert pool.nodes_initial * pool.accelerators_per_node >= 16
    assert workload.replicas is not None
    assert workload.replicas.initial >= 8
    rate = workload.performance.figures["requests_per_s"]
    assert rate == pytest.approx(10_000 / 70, rel=0.1)  # a user thinks for 60 s and waits about 10
    assert pool.market == "on-demand"


def test_the_nightly_batch_runs_on_spot_inside_its_window(facts):
    workload, pool, _ = decided(facts, "petsnap-nightly-batch")
    assert pool.market == "spot"
    assert workload.performance.value < 8 * 3600
    assert workload.interruptible


def test_tpu_slices_compete_where_the_framework_is_jax(facts):
    workload, pool, _ = decided(facts, "petsnap-pretrain-2b")
    names = {pool.accelerator} | {a.accelerator for a in workload.alternatives}
    assert any(name.startswith("tpu-") for name in names)
    assert workload.checkpoint is not None
    assert 20e9 < workload.checkpoint.bytes_each < 40e9
    assert date(2026, 11, 20) == ON
