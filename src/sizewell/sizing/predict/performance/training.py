"""Time of one optimizer step, as a waterfall that sums to it.

Method: compute from the shape of the work (`training_compute`), traffic by collective, size and link
(`training_comm`), what overlaps, the pipeline's bubble (1F1B, interleaved), stragglers, the optimizer; efficiencies
from `calibration/training.json`. Failures at scale stretch a run, not a step: `spot.interruptions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.architecture import is_guess
from sizewell.sizing.predict.performance import training_comm as comm
from sizewell.sizing.predict.performance import training_compute as compute
from sizewell.sizing.predict.performance.collectives import Values
from sizewell.sizing.predict.performance.training_rows import DECODED_BAND, LAUNCHES, Rows, one_row, rows
from sizewell.sizing.records.jobs import Cluster, Grade, Layout, TrainingEstimate, TrainingJob

LIMITS: Mapping[str, str] = {
    "matrix products": "compute",
    "attention": "compute",
    "recompute": "compute",
    "passes of a reference": "compute",
    "memory-bound": "memory bandwidth",
    "kernel launches": "fixed",
    "optimizer": "memory bandwidth",
    "tensor parallel": "interconnect",
    "expert parallel": "interconnect",
    "context parallel": "interconnect",
    "weight shards": "interconnect",
    "gradients": "interconnect",
    "pipeline sends": "interconnect",
    "pipeline bubble": "pipeline bubble",
    "stragglers": "fixed",
    "fixed": "fixed",
    "input": "input",
}
"""Items of the waterfall, in its order, with what a machine would have to be better at to shrink them."""


def step_items(r: Rows, k: Mapping[str, float]) -> dict[str, Values]:
    """Seconds by item of the waterfall, for every row of the table; their sum is the step."""
    layer = compute.layer_time(r, k)
    head = compute.head_time(r, k)
    traffic = comm.layer_traffic(r)
    tensor_hides, expert_hides, context_hides, shards_hide, gradients_hide = comm.overlaps(k)
    micro_batches = comm.micro_batches(r)

    # The slowest stage sets the pace: an even share of the layers and the head, or, where stages do not divide the
    # layers, the longer share without it.
    share = r.layers / r.pp
    even = share == np.floor(share)
    layers_slow = np.ceil(share)
    busy = layer.linear + layer.attention + layer.memory + layer.recompute + layer.reference + layer.launches
    hidden = np.where(r.whole > 0, k["overlap.tensor.xla"], tensor_hides * r.hides_tensor)
    tensor = comm.exposed(traffic.tensor, layer.linear, hidden)
    expert = comm.exposed(traffic.expert, layer.linear, expert_hides)
    context = comm.exposed(traffic.context, layer.attention, context_hides)
    # What hides the ring's traffic hides no weight shards as well: the same links are busy with it.
    ring = traffic.context - context
    shards = comm.exposed(traffic.shards, np.maximum(0.0, busy + tensor + expert - ring), shards_hide)
    per_layer = busy + tensor + expert + context + shards
    with_head = np.where(even, layers_slow, layers_slow - 1.0)
    head_leads = with_head * per_layer + head >= layers_slow * per_layer
    slow_layers = np.where(head_leads, with_head, layers_slow)
    slow_head = np.where(head_leads, head, 0.0)
    sends = comm.pipeline_send(r) * (1 - k["overlap.pipeline"] * r.overlaps)
    sample = compute.sample_time(r, k)
    slow = slow_layers * per_layer + slow_head + sends + sample
    all_stages = r.layers * per_layer + head + (r.pp - 1.0) * sends
    bubble = np.where(r.pp > 1, np.maximum(0.0, all_stages - slow) / r.vp, 0.0)

    sync = comm.exposed(comm.gradient_sync(r), slow * (2.0 / 3.0), gradients_hide * r.overlaps)
    optimizer = compute.optimizer_time(r, k)
    floor = np.where(r.diffusion > 0, k["step_floor_s.diffusion"], k["step_floor_s.vision"])
    fixed = compute.between(r.fused, k["step_overhead_s.eager"], k["step_overhead_s.fused"])
    fixed = np.where(r.sample_flop > 0, floor * micro_batches, fixed)  # kernels are launched for each micro-batch
    scale = micro_batches * slow_layers
    items = {
        "matrix products": scale * layer.linear + micro_batches * (slow_head + sample),
        "attention": scale * layer.attention,
        "memory-bound": scale * layer.memory,
        "recompute": scale * layer.recompute,
        "passes of a reference": scale * layer.reference + micro_batches * slow_head * r.forwards / 3.0,
        "kernel launches": scale * layer.launches,
        "optimizer": optimizer,
        "tensor parallel": scale * tensor,
        "expert parallel": scale * expert,
        "context parallel": scale * context,
        "weight shards": scale * shards,
        "gradients": sync,
        "pipeline sends": micro_batches * sends,
        "pipeline bubble": bubble,
    }
    total = sum(items.values())
    domains = np.maximum(1.0, r.devices / r.domain)
    items["stragglers"] = total * k["straggler_per_doubling"] * np.log2(domains)
    items["fixed"] = fixed + 0.0 * total
    # Samples are read and decoded while the step before is worked on: what takes longer than the step is waited for.
    items["input"] = np.maximum(0.0, input_s(r) - total - items["stragglers"] - items["fixed"])
    return items


def input_s(r: Rows, decoding: float = 1.0) -> Values:
    """Seconds that the hosts take to read and decode the samples of a step; the slower of the two counts. `decoding` is
    the speed of the second, relative to what is expected.
    """
    decode_s = r.decode_s / r.host_vcpus / decoding
    return np.asarray(r.global_batch / r.nodes * np.maximum(decode_s, r.read_bytes / r.storage))


def step_s(r: Rows, k: Mapping[str, float]) -> Values:
    """Seconds of a step for every row of the table."""
    return np.asarray(sum(step_items(r, k).values()))


def training_time(job: TrainingJob, layout: Layout, cluster: Cluster) -> TrainingEstimate:
    """Time of one optimizer step of `job`, split as `layout`, on `cluster`, with its waterfall and 80 % band."""
    k = calibration.values("training")
    return estimates(
        job, [cluster], {name: np.array([value]) for name, value in one_row(job, layout, cluster, k).items()}, k
    )[0]


def estimates(
    job: TrainingJob, clusters: Sequence[Cluster], columns: Mapping[str, Any], k: Mapping[str, float]
) -> list[TrainingEstimate]:
    """One estimate per row of the columns; row i ran on `clusters[i]`."""
    count = len(clusters)
    table = rows(columns)
    items = {name: np.broadcast_to(value, (count,)).tolist() for name, value in step_items(table, k).items()}
    slow_input, fast_input = (np.broadcast_to(input_s(table, speed), (count,)).tolist() for speed in DECODED_BAND)
    peak = np.broadcast_to(columns["peak"], (count,)).tolist()
    facts = {name: float(np.ravel(columns[name])[0]) for name in ("seq", "model_flop")}
    bands: dict[str, tuple[Grade, float, float]] = {}
    estimated = []
    for i, cluster in enumerate(clusters):
        family = cluster.accelerator.family
        if family not in bands:
            bands[family] = band(job, cluster)
        grade, low, high = bands[family]
        waterfall = {name: values[i] for name, values in items.items() if values[i] > 0}
        step = sum(waterfall.values())
        waits = waterfall.get("input", 0.0)
        estimated.append(
            TrainingEstimate(
                step_s=step,
                waterfall=tuple(waterfall.items()),
                bottleneck=bottleneck(waterfall),
                mfu=facts["model_flop"] * job.global_batch / (step * cluster.devices * max(1.0, peak[i])),
                tokens_per_s=job.global_batch * (facts["seq"] or 1.0) / step,
                low_s=max((step - waits) * low, fast_input[i]),
                high_s=max((step - waits) * high, slow_input[i]),
                grade="roofline" if waits else grade,
            )
        )
    return estimated


def bottleneck(items: Mapping[str, float]) -> str:
    """What a faster machine would have to be faster at: the largest of compute, memory, links, bubble; input where the
    devices wait for it, as nothing else would help.
    """
    if items.get("input", 0.0) > 0:
        return "input"
    sums = dict.fromkeys(LIMITS.values(), 0.0)
    for name, seconds in items.items():
        sums[LIMITS[name]] += seconds
    return max(sums, key=lambda name: sums[name])


def band(job: TrainingJob, cluster: Cluster) -> tuple[Grade, float, float]:
    """Grade and the factors of the 80 % band, from the errors of the published cases nearest to this one."""
    bands = calibration.bands("training", assumed=job.engine_assumed)
    keys = band_keys(job, cluster)
    row = next(bands[key] for key in keys if key in bands)
    floors = calibration.floors("training", assumed=job.engine_assumed)
    floor = max(floors.get(family, 1.0) for family in band_families(keys))
    low, high = min(row["low"], 1 / floor), max(row["high"], floor)
    if is_guess(job.architecture):
        return "roofline", low**2, high**2
    return row["grade"], low, high


def seldom_measured(family: str) -> bool:
    """Whether so few runs on a family of accelerators are published that it has no band of its own.

    >>> seldom_measured("hopper"), seldom_measured("cdna3")
    (False, True)
    """
    return not any(key.startswith(f"{family.lower()}/") for key in calibration.bands("training"))


def band_families(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Of the groups of `band_keys` those of the accelerator's family, and the family itself.

    >>> band_families(("ada/vision/full/16bit", "ada/vision/full", "vision/full/16bit", "vision/full", "vision", "any"))
    ('ada/vision/full/16bit', 'ada/vision/full', 'ada')
    """
    return (*keys[:2], keys[0].partition("/")[0])


def band_keys(job: TrainingJob, cluster: Cluster) -> tuple[str, ...]:
    """Groups that errors are kept for, the narrowest first."""
    model = job.architecture
    kind = "vision" if model.kind in ("vision", "diffusion") else "moe" if model.experts else model.kind
    method = "adapters" if job.method in ("lora", "qlora") else job.method
    width = job.precision if job.precision in ("fp8", "fp4") else "16bit"
    family = cluster.accelerator.family.lower()
    # Where Python launches each kernel, errors are those of hosts: kept apart from programs that are written for speed.
    whole = f"launched/{kind}/{method}" if job.engine in LAUNCHES else f"{kind}/{method}"
    return (f"{family}/{whole}/{width}", f"{family}/{whole}", f"{whole}/{width}", whole, kind, "any")
