"""No prediction beats the device: FLOP/s, bytes per step over bandwidth, bytes over links."""

from __future__ import annotations

import math

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.architecture import forward_flop_per_sample, matmul_params, train_flop_per_token
from sizewell.sizing.predict.layouts.search import LayoutRefusal, search_all
from sizewell.sizing.predict.performance.serving import ServingRefusal, is_language_model, serving
from sizewell.sizing.predict.performance.serving_replica import group_link, peak_flop_per_s, weight_counts
from sizewell.sizing.predict.performance.training_rows import cluster_facts
from sizewell.sizing.records.jobs import Cluster, ServingEstimate, ServingJob, TrainingJob

CATALOG = load()
ACCELERATORS = [a for a in CATALOG.accelerators.values() if a.flop_per_s and a.memory_bytes_per_s]
MODELS = (
    "meta-llama/Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B",
    "deepseek-ai/DeepSeek-V3",
    "mistralai/Mixtral-8x7B-v0.1",
    "resnet50",
    "stabilityai/stable-diffusion-xl-base-1.0",
    "openai/whisper-large-v3",
)
FLOATING = {"fp32", "tf32", "bf16", "fp16"}
STORED = {"bf16": 2.0, "fp8": 1.0, "int4": 0.5}


@pytest.mark.parametrize("name", MODELS)
def test_serving_is_within_flops_and_bandwidth(name):
    a = CATALOG.model(name)
    predicted = 0
    for accelerator in ACCELERATORS:
        cluster = Cluster(
            accelerator=accelerator, per_node=8, scale_up=8, link_bytes_per_s=accelerator.link_bytes_per_s
        )
        for weights, tensor in (("bf16", 1), ("bf16", 8), ("fp8", 8), ("int4", 1)):
            language = a.kind == "decoder"
            job = ServingJob(
                architecture=a,
                weights=weights,
                input_tokens=1000 if language else 0,
                output_tokens=200 if language else 0,
            )
            if tensor > 1 and not language:
                continue
            for load_of in ({}, {"batch": 1.0}, {"concurrency": 16.0}):
                estimate = serving(job, cluster, tensor=tensor, **load_of)
                if isinstance(estimate, ServingRefusal):
                    continue
                predicted += 1
                peak = tensor * peak_flop_per_s(accelerator, weights)
                peak = max(peak, tensor * max(accelerator.flop_per_s.values()) if weights == "int4" else 0.0)
                where = (accelerator.key, weights, tensor, load_of)
                if is_language_model(job):
                    flop = 2.0 * matmul_params(a) * (job.input_tokens + job.output_tokens)
                    counts = weight_counts(a)
                    touched = counts.dense + counts.experts * (a.experts_per_token / a.experts if a.experts else 0.0)
                    fastest_s = touched * STORED[weights] / (tensor * accelerator.memory_bytes_per_s)
                    assert estimate.tpot_s >= fastest_s, where
                else:
                    flop = forward_flop_per_sample(a)
                assert estimate.requests_per_s * flop <= peak, where
    assert predicted > 20


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V3"])
def test_replicas_links_and_waits_keep_to_the_device(name):
    """On every device: more of them in a group never send faster than a link, and twice the load on twice the replicas
    waits no longer."""
    a = CATALOG.model(name)
    for accelerator in ACCELERATORS:
        joined = max(1, min(8, accelerator.scale_up_max))
        here = Cluster(
            accelerator=accelerator,
            per_node=8,
            nodes=2,
            scale_up=joined,
            link_bytes_per_s=accelerator.link_bytes_per_s,
            network_bytes_per_s=12.5e9,
            fabric="efa",
        )
        link, before = (accelerator.link_bytes_per_s or 64e9) / 2, math.inf
        job = ServingJob(architecture=a, weights="int4", input_tokens=1000, output_tokens=200)
        for group in (2, 8, 16):
            fastest = link if group <= joined else min(link, 32e9 if group <= 8 else 12.5e9 * 8 * 2)
            fastest = max(fastest, link if joined <= 1 and group <= 8 else 0.0)
            slowest = group_link(here, group)
            assert 0 < slowest.bytes_per_s <= fastest, (accelerator.key, group)
            assert slowest.bytes_per_s <= before * 8, (
                accelerator.key
            )  # a mesh of eight has all links, a pair one of them
            before = slowest.bytes_per_s
        one = serving(job, here, tensor=8, concurrency=8.0)
        if isinstance(one, ServingRefusal):
            continue
        many = serving(job, here, tensor=8, concurrency=16.0)
        assert isinstance(many, ServingEstimate)
        assert many.requests_per_s >= one.requests_per_s * (1 - 1e-9), accelerator.key
        rate = 0.3 * one.requests_per_s
        alone, pooled = (serving(job, here, tensor=8, rps=rate, pool=pool) for pool in (1, 2))
        assert isinstance(alone, ServingEstimate)
        assert isinstance(pooled, ServingEstimate)
        assert pooled.ttft_s <= alone.ttft_s * (1 + 1e-9), accelerator.key


def test_training_is_within_flops():
    """Model FLOPs of a step over its seconds are at most the dense peak of its devices, on every machine type."""
    job = TrainingJob(
        architecture=CATALOG.model("meta-llama/Llama-3.1-8B"), sequence_length=4096, global_batch=256, method="lora"
    )
    clusters = [
        Cluster(
            accelerator=accelerator,
            per_node=8,
            nodes=nodes,
            scale_up=8,
            link_bytes_per_s=accelerator.link_bytes_per_s,
            network_bytes_per_s=50e9,
        )
        for accelerator in ACCELERATORS
        if FLOATING & accelerator.flop_per_s.keys()
        for nodes in (1, 4)
    ]
    laid_out = 0
    for cluster, answer in zip(clusters, search_all(job, clusters, best=1), strict=True):
        if isinstance(answer, LayoutRefusal):
            continue
        laid_out += 1
        plan = answer[0]
        peak = max(cluster.accelerator.flop_per_s.get(name, 0.0) for name in ("bf16", "fp16", "fp32"))
        flop = job.global_batch * job.sequence_length * train_flop_per_token(job.architecture, job.sequence_length)
        done = flop * 2 / 3  # frozen weights have no gradient of their own
        assert done / plan.time.step_s <= cluster.devices * peak, cluster.accelerator.key
        assert 0 < plan.time.mfu <= 1, cluster.accelerator.key
        assert sum(seconds for _, seconds in plan.time.waterfall) == pytest.approx(plan.time.step_s)
        assert plan.time.low_s <= plan.time.step_s <= plan.time.high_s
    assert laid_out > 30


def test_achievable_rates_are_shares_of_the_datasheet():
    k = calibration.values("training")
    for accelerator in ACCELERATORS:
        for precision in ("bf16", "fp8"):
            link, network = accelerator.link_bytes_per_s or 64e9, 50e9
            cluster = Cluster(
                accelerator=accelerator,
                per_node=8,
                nodes=2,
                scale_up=8,
                link_bytes_per_s=link,
                network_bytes_per_s=network,
                fabric="efa",
            )
            facts = cluster_facts(cluster, precision, k)
            assert facts["rate"] <= facts["peak"], accelerator.key
            assert facts["rate16"] <= facts["peak16"], accelerator.key
            assert max(facts["attention_rate"], facts["attention_rate_plain"]) <= facts["peak16"], accelerator.key
            assert facts["hbm"] <= accelerator.memory_bytes_per_s, accelerator.key
            assert facts["inner"] <= link / 2, accelerator.key  # one direction of a bidirectional figure
            assert facts["outer"] <= network, accelerator.key
