"""The layout search: exhaustive, exact, ordered, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.layouts.bounds import ComputeBound, memory_floor_bytes, runtime_bytes
from sizewell.sizing.predict.layouts.search import LayoutRefusal, matching, search, search_all
from sizewell.sizing.predict.layouts.space import FIELDS, space
from sizewell.sizing.predict.memory import training_memories, training_memory, usable_bytes
from sizewell.sizing.predict.performance.training import step_s, training_time
from sizewell.sizing.predict.performance.training_rows import cluster_facts, job_facts, rows
from tests.performance.training_machines import DEEPSEEK, LLAMA_8B, LLAMA_70B, MIXTRAL, RESNET, cluster, job

JOBS = (
    job(),
    job(engine="", checkpointing="full"),
    job(method="lora", lora_rank=16, engine="torchtune"),
    job(method="qlora", lora_rank=16, engine="", global_batch=64),
    job(precision="fp8", optimizer="adamw8bit", engine="nemo"),
    job(attention="eager", precision="fp16"),
    job(framework="jax", engine="maxtext"),
    job(LLAMA_70B, engine="nemo"),
    job(MIXTRAL, engine="nemo"),
    job(MIXTRAL, method="lora", engine=""),
    job(DEEPSEEK, engine="nemo", precision="fp8"),
    job(RESNET),
)
CLUSTERS = (
    cluster(nodes=2),
    cluster("a100-40gb-sxm", nodes=4),
    cluster("l40s", per_node=4, scale_up=1),
    cluster("gb200", nodes=8, per_node=4, scale_up=32),
    cluster("mi300x", nodes=4),
    cluster("tpu-v5p", nodes=8, per_node=4, scale_up=32),
)
jobs, clusters = st.sampled_from(JOBS), st.sampled_from(CLUSTERS)
few = settings(max_examples=25, deadline=None)


def domains(c):
    return c.devices, c.scale_up, max(c.scale_up, c.per_node)


def by_hand(j, c, best=2):
    """Every legal layout, nothing bounded or left out; times through the scalar function, one after the other."""
    legal = space(j, *domains(c))
    layouts = [legal.layout(row) for row in range(len(legal))]
    needed = training_memories(j, layouts, [c.accelerator] * len(layouts))
    usable = usable_bytes(c.accelerator)
    fits = [row for row, memory in enumerate(needed) if memory.high_bytes <= usable]
    return sorted((training_time(j, layouts[row], c).step_s, row) for row in fits)[:best]


@pytest.mark.parametrize(
    "j", [JOBS[0], JOBS[2], JOBS[8], JOBS[10], JOBS[11]], ids=lambda j: f"{j.architecture.key}-{j.method}"
)
@pytest.mark.parametrize("c", [CLUSTERS[2], replace(CLUSTERS[0], nodes=1)], ids=lambda c: c.accelerator.key)
def test_the_search_finds_what_trying_everything_finds(j, c):
    found = search(replace(j, checkpointing=j.checkpointing or "full"), c)
    expected = by_hand(replace(j, checkpointing=j.checkpointing or "full"), c)
    if isinstance(found, LayoutRefusal):
        assert expected == []
    else:
        assert [plan.time.step_s for plan in found] == pytest.approx([seconds for seconds, _ in expected], rel=1e-12)


@few
@given(j=jobs, c=clusters, seed=st.integers(0, 1000))
def test_columns_and_single_predictions_agree(j, c, seed):
    legal = space(j, *domains(c))
    if not len(legal):
        return
    k = calibration.values("training")
    seconds = np.broadcast_to(
        step_s(rows({**job_facts(j), **cluster_facts(c, j.precision, k), **legal.columns}), k), len(legal)
    )
    for row in np.random.default_rng(seed).integers(0, len(legal), 5):
        alone = training_time(j, legal.layout(int(row)), c).step_s
        assert seconds[row] == pytest.approx(alone, rel=1e-12)


@few
@given(j=jobs, c=clusters, seed=st.integers(0, 1000))
def test_bounds_are_never_above_what_they_bound(j, c, seed):
    legal = space(j, *domains(c))
    if not len(legal):
        return
    k, facts = calibration.values("training"), job_facts(j)
    machine = cluster_facts(c, j.precision, k)
    bound = ComputeBound(facts, [machine], [legal], k).seconds([machine], legal)[0]
    seconds = np.broadcast_to(step_s(rows({**facts, **machine, **legal.columns}), k), len(legal))
    assert np.all(bound <= seconds * (1 + 1e-12))
    floor = memory_floor_bytes(j, legal, facts) + runtime_bytes(legal, c.accelerator.runtime)
    for row in np.random.default_rng(seed).integers(0, len(legal), 20):
        layout = legal.layout(int(row))
        assert floor[row] <= training_memory(j, layout, c.accelerator).total_bytes, layout


@few
@given(j=jobs, c=clusters)
def test_every_layout_exists(j, c):
    a, legal = j.architecture, space(j, *domains(c))
    for row in range(0, len(legal), max(1, len(legal) // 50)):
        layout = legal.layout(row)
        assert layout.devices == c.devices
        assert layout.tensor <= c.scale_up
        assert j.global_batch % (layout.data * layout.micro_batch) == 0
        if a.layers:
            assert a.heads % layout.tensor == 0
            assert layout.pipeline <= a.layers
            assert layout.pipeline == 1 or layout.zero_stage <= 1
        if a.experts:
            assert a.experts % layout.expert == 0
            assert (layout.data * layout.context) % layout.expert == 0
        else:
            assert layout.expert == 1
    assert len(np.unique(np.stack([legal.columns[name] for name in FIELDS]), axis=1).T) == len(legal)


@few
@given(j=jobs, order=st.permutations(range(len(CLUSTERS))))
def test_the_answer_does_not_depend_on_the_order(j, order):
    alone = search_all(j, CLUSTERS)
    shuffled = search_all(j, [CLUSTERS[i] for i in order])
    assert [shuffled[order.index(i)] for i in range(len(CLUSTERS))] == list(alone)


@few
@given(j=jobs, c=clusters, factor=st.floats(1.0, 4.0))
def test_more_memory_never_refuses_what_fitted(j, c, factor):
    acc = c.accelerator
    larger = replace(c, accelerator=replace(acc, memory_bytes=int(acc.memory_bytes * factor)))
    small, large = search(j, c, best=1), search(j, larger, best=1)
    if not isinstance(small, LayoutRefusal):
        assert not isinstance(large, LayoutRefusal)
        assert large[0].time.step_s <= small[0].time.step_s * (1 + 1e-12)


def test_a_refusal_has_what_is_predicted_beside_the_edge_that_decides():
    many, alone = job(LLAMA_70B, engine="nemo"), cluster("l40s", per_node=4, scale_up=1)
    refused = search(many, alone)
    assert isinstance(refused, LayoutRefusal)
    assert "GiB per device at the upper edge of the band (" in refused.reason
    assert " predicted) in the smallest of" in refused.reason
    plain = search(many, alone, at_high_edge=False)
    assert isinstance(plain, LayoutRefusal)
    assert "predicted" not in plain.reason
    assert plain.need_bytes < refused.need_bytes


def test_plans_come_sorted_and_fit():
    plans = search(job(LLAMA_70B, engine="nemo"), cluster(nodes=8), best=3)
    assert not isinstance(plans, LayoutRefusal)
    times = [plan.time.step_s for plan in plans]
    assert times == sorted(times)
    assert all(plan.memory.high_bytes <= usable_bytes(cluster().accelerator) for plan in plans)
    assert len({plan.layout for plan in plans}) == 3


def test_what_does_not_fit_is_refused_with_its_numbers():
    refusal = search(job(LLAMA_70B), cluster("l40s", per_node=4, scale_up=1))
    assert isinstance(refusal, LayoutRefusal)
    assert refusal.cause == "memory"
    assert refusal.need_bytes > refusal.usable_bytes > 0
    assert "GiB usable" in refusal.reason
    assert refusal.layouts > 0


def test_a_batch_that_no_division_suits_is_refused():
    refusal = search(job(RESNET, global_batch=7), cluster())
    assert isinstance(refusal, LayoutRefusal)
    assert refusal.cause == "layout"
    assert "batch of 7" in refusal.reason


def test_what_is_known_stands():
    plans = search(job(), cluster(nodes=2), known={"tp": 4.0, "zero": 1.0})
    assert not isinstance(plans, LayoutRefusal)
    assert {plan.layout.tensor for plan in plans} == {4}
    assert len(matching(space(job(), 16, 8, 8), {"tp": 3.0})) == 0


def test_nvl72_allows_wider_tensor_parallelism_than_a_board():
    wide = space(job(LLAMA_70B), 32, 32, 32).columns["tp"].max()
    board = space(job(LLAMA_70B), 32, 8, 8).columns["tp"].max()
    assert (wide, board) == (32, 8)


def test_jax_has_no_pipeline_and_a_pipeline_no_fsdp():
    assert set(space(job(framework="jax"), 16, 8, 8).columns["pp"]) == {1.0}
    columns = space(job(), 16, 8, 8).columns
    assert columns["zero"][columns["pp"] > 1].max() == 1.0
    assert LLAMA_8B.layers % 16 == 0
