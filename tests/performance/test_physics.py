"""Physics, item by item: figures worked out by hand or from a published description, against what is predicted.

docs/reference/physics.md lists the items and the tests that hold them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizewell.sizing import catalog
from sizewell.sizing.predict import calibration
from sizewell.sizing.predict.memory import model_states, training_memory
from sizewell.sizing.predict.performance import collectives
from sizewell.sizing.predict.performance.serving_constants import constants
from sizewell.sizing.predict.performance.serving_replica import group_link, replica
from sizewell.sizing.predict.performance.training import training_time
from sizewell.sizing.predict.performance.training_rows import one_row, rows
from sizewell.sizing.records.jobs import Cluster, Layout, ServingJob
from tests.performance.training_machines import DEEPSEEK, LLAMA_8B, LLAMA_70B, MIXTRAL, cluster, job

PARAMS = 8.03e9  # of Llama 3 8B
GIB = 2**30
CATALOG = catalog.load()


def waterfall(a, layout, machine, **changes):
    return dict(training_time(job(a, **changes), layout, machine).waterfall)


# Gradients, framework by framework --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keeps", "changes", "layout", "bytes_per_param"),
    [
        # Megatron-LM, distributed optimizer (docs/source/api-guide/dist_optimizer): 6 + 12/d with fp32 gradients
        ("megatron", {"engine": "megatron"}, Layout(data=8, zero_stage=1), 6 + 12 / 8),
        ("megatron, no distributed optimizer", {"engine": "megatron"}, Layout(data=8), 18),
        # ZeRO (Rajbhandari et al. 2020, 3): 2 + 2 + 12, of which each stage divides one part more
        ("ZeRO-1", {"engine": "deepspeed"}, Layout(data=8, zero_stage=1), 2 + 2 + 12 / 8),
        ("ZeRO-2", {"engine": "deepspeed"}, Layout(data=8, zero_stage=2), 2 + 14 / 8),
        ("ZeRO-3", {"engine": "deepspeed"}, Layout(data=8, zero_stage=3), 16 / 8),
        # `data_types.grad_accum_dtype: fp32`: the buffers are as wide as stated
        ("ZeRO-1, fp32 gradients", {"engine": "deepspeed", "gradients": "fp32"}, Layout(data=8, zero_stage=1), 6 + 1.5),
        ("ZeRO-2, fp32 gradients", {"engine": "deepspeed", "gradients": "fp32"}, Layout(data=8, zero_stage=2), 2 + 2),
        # FSDP: fp32 weights, their gradients and both moments, all divided
        ("FSDP", {"engine": ""}, Layout(data=8, zero_stage=3), 16 / 8),
        # no_sync: gradients of all parameters on each device until the last micro-batch
        ("FSDP, no_sync", {"engine": "", "unsharded_gradients": True}, Layout(data=8, zero_stage=3), 12 / 8 + 4),
        # MaxText: weights, gradients and moments in fp32, sharded
        ("MaxText", {"engine": "maxtext", "framework": "jax"}, Layout(data=8, zero_stage=3), 16 / 8),
        # all in 16 bits, and the same with fp32 accumulation
        ("pure bf16", {"engine": "", "weights": "bf16"}, Layout(), 2 + 2 + 4),
        ("pure bf16, fp32 gradients", {"engine": "", "weights": "bf16", "gradients": "fp32"}, Layout(), 2 + 4 + 4),
    ],
)  # fmt: skip
def test_bytes_of_weights_gradients_and_optimizer_per_parameter(keeps, changes, layout, bytes_per_param):
    states = model_states(job(LLAMA_8B, **{"global_batch": 64, **changes}), layout)
    assert states.total / PARAMS == pytest.approx(bytes_per_param, rel=0.01), keeps


def test_one_micro_batch_has_nothing_to_accumulate_unsharded():
    held = [
        model_states(
            job(LLAMA_8B, engine="", global_batch=8, unsharded_gradients=no_sync), Layout(data=8, zero_stage=3)
        )
        for no_sync in (True, False)
    ]
    assert held[0] == held[1]


def test_without_synchronisation_gradients_travel_once_a_step():
    """Per micro-batch FSDP gathers weights twice and scatters gradients once, of equal bytes in 16 bits: of 3 transfers
    for each of m micro-batches 2 + 1/m are left."""
    layout, slow = Layout(data=64, zero_stage=3), cluster(nodes=8, gbs=0.5)
    plain, once = (
        waterfall(LLAMA_8B, layout, slow, engine="", global_batch=64 * 8, unsharded_gradients=no_sync)["weight shards"]
        for no_sync in (False, True)
    )
    assert once / plain == pytest.approx((2 + 1 / 8) / 3, rel=0.05)


def test_wide_gradients_take_twice_the_bytes_to_reduce():
    layout, slow = Layout(data=64), cluster(nodes=8, gbs=0.1)
    narrow, wide = (
        waterfall(LLAMA_8B, layout, slow, engine="", gradients=form, global_batch=64)["gradients"]
        for form in ("bf16", "fp32")
    )
    assert wide / narrow == pytest.approx(2.0, rel=0.05)


# Links by the size of the group -----------------------------------------------------------------------------------

PAIRS = Cluster(
    accelerator=CATALOG.accelerator("a100-80gb-pcie"), per_node=4, nodes=2, scale_up=2, link_bytes_per_s=600e9,
    network_bytes_per_s=10e9, fabric="infiniband",
)  # fmt: skip
CARDS = replace(PAIRS, accelerator=CATALOG.accelerator("l40s"), scale_up=1, link_bytes_per_s=64e9)
SWITCH = replace(PAIRS, accelerator=CATALOG.accelerator("h100-sxm"), per_node=8, scale_up=8, link_bytes_per_s=900e9)


@pytest.mark.parametrize(
    ("where", "machine", "group", "bytes_per_s"),
    [  # what the slowest link of the group carries in one direction, by its datasheet
        ("bridged pair", PAIRS, 2, 300e9),
        ("two pairs: PCIe 4.0 x16 between them", PAIRS, 4, 32e9),
        ("cards without a bridge", CARDS, 2, 32e9),
        ("switch, small group", SWITCH, 2, 450e9),
        ("switch, all", SWITCH, 8, 450e9),
        ("two machines: each of eight carries an eighth", SWITCH, 16, 8 * 10e9 * (15 / 16) / (1 / 2)),
    ],
)
def test_a_group_that_serves_is_as_fast_as_its_slowest_link(where, machine, group, bytes_per_s):
    achieved = group_link(machine, group).bytes_per_s / bytes_per_s
    assert 0.4 < achieved <= 1.0, where


def test_the_link_of_a_serving_group_shows_in_its_collectives():
    """Four on two bridged pairs wait for PCIe, two do not; as cards do that have no bridge at all."""
    served = ServingJob(architecture=LLAMA_70B, input_tokens=1000, output_tokens=200)
    per_token = {t: replica(served, PAIRS, tensor=t).collective_s_per_token for t in (2, 4)}
    # 80 layers, two all-reduces of 8,192 values in 16 bits, each (t - 1)/t there and back
    volume = {t: 80 * 2 * 8192 * 2 * 2 * (t - 1) / t for t in (2, 4)}
    assert per_token[2] == pytest.approx(volume[2] / (300e9 * constants().links["nvlink"].bandwidth))
    assert per_token[4] == pytest.approx(volume[4] / (32e9 * constants().links["pcie"].bandwidth))


def test_two_of_a_mesh_have_one_of_seven_links():
    accelerator = CATALOG.accelerator("mi300x")
    eight = Cluster(accelerator=accelerator, per_node=8, scale_up=8, link_bytes_per_s=accelerator.link_bytes_per_s)
    two, all_of_them = group_link(eight, 2).bytes_per_s, group_link(eight, 8).bytes_per_s
    assert two == pytest.approx(all_of_them / 7)


def test_the_link_of_a_training_group():
    """A tensor group of 2 stays on the bridge, one of 4 crosses PCIe: 300 and 32 GB/s less what links lose."""
    k, fraction = calibration.values("training"), {}
    for tensor in (2, 4):
        r = rows(one_row(job(), Layout(tensor=tensor, data=8 // tensor), PAIRS, k))
        fraction[tensor] = float(collectives.all_gather(1e12, tensor, 1, r.fabric))
    assert fraction[2] == pytest.approx(1e12 / 2 / (300e9 * k["link_fraction.nvlink"]), rel=0.01)
    assert fraction[4] == pytest.approx(1e12 * 3 / 4 / (32e9 * k["link_fraction.pcie"]), rel=0.01)
    # Over two machines of eight each device fetches an eighth of the half that lies elsewhere.
    across = rows(one_row(job(), Layout(tensor=16), SWITCH, k))
    outer = 1e12 / 8 / 2 / (10e9 * k["network_fraction.rdma"])
    assert float(collectives.all_gather(1e12, 16, 1, across.fabric)) == pytest.approx(outer, rel=0.01)


# Attention on Blackwell, by context -------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["b200", "gb200", "b300", "h100-sxm"])
def test_attention_grows_with_the_square_of_the_context_and_products_do_not(machine):
    def per_token(length):
        items = waterfall(LLAMA_8B, Layout(data=8, zero_stage=3), cluster(machine), sequence_length=length,
                          global_batch=8, checkpointing="full")  # fmt: skip
        return items["attention"] / length, items["matrix products"] / length

    short, long = per_token(8192), per_token(65536)
    assert long[0] == pytest.approx(8 * short[0], rel=0.02)
    assert long[1] == pytest.approx(short[1], rel=0.1)


@pytest.mark.parametrize("length", [8192, 131072])
def test_attention_on_blackwell_is_below_its_peak_and_its_products(length):
    """Forward and backward of a causal layer are 3.5 x 2 x t x t x heads x head size FLOPs, half masked; published
    kernels reach 71 % of B200's 2.25 PFLOP/s forward (FlashAttention-4, cuDNN 9.13) and less backward."""
    items = waterfall(LLAMA_8B, Layout(data=8, zero_stage=3), cluster("b200"), sequence_length=length, global_batch=8,
                      checkpointing="none", engine="megatron")  # fmt: skip
    flop = 3.5 * 2 * length * length * 32 * 128 * 32  # 4 t^2 h d / 2 masked, 32 layers, one sequence a device
    reached = flop / items["attention"] / 2.25e15
    assert 0.2 < reached < 0.71


def test_more_exponentials_help_attention_where_they_bound_it():
    """B300 computes twice B200's exponentials: at the same 16-bit peak its attention is faster, most in narrow heads."""
    b200, b300 = cluster("b200").accelerator, cluster("b300").accelerator
    assert b300.exponentials_per_clock == 2 * (b200.exponentials_per_clock or 16)
    twice = replace(cluster("b200"), accelerator=replace(b200, exponentials_per_clock=32))
    gain = {}
    for heads, size in ((32, 128), (64, 64)):
        a = replace(LLAMA_8B, heads=heads, kv_heads=8, head_dim=size)
        plain, fast = (waterfall(a, Layout(data=8, zero_stage=3), m)["attention"] for m in (cluster("b200"), twice))
        gain[size] = plain / fast
    assert 1.1 < gain[128] < gain[64] < 2


# Pipeline ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stages", "virtual", "micro_batches"), [(4, 1, 8), (4, 1, 32), (4, 2, 8), (4, 4, 8), (8, 2, 16)]
)
def test_the_bubble_is_that_of_the_stated_schedule(stages, virtual, micro_batches):
    """(p - 1) / m of the ideal time under 1F1B, divided by the chunks where interleaved (Narayanan et al. 2021, 2.2)."""
    even = replace(LLAMA_8B, vocab=1024)  # next to no head: stages are alike
    layout = Layout(pipeline=stages, virtual_pipeline=virtual, zero_stage=0)
    items = waterfall(even, layout, cluster(), global_batch=micro_batches, checkpointing="none")
    bubble = items.pop("pipeline bubble")
    ideal = sum(
        seconds for name, seconds in items.items() if name not in ("optimizer", "gradients", "fixed", "stragglers")
    )
    assert bubble / ideal == pytest.approx((stages - 1) / micro_batches / virtual, rel=0.1)


@pytest.mark.parametrize(("schedule", "in_flight"), [("1f1b", 4), ("gpipe", 16)])
def test_micro_batches_in_flight_are_those_of_the_schedule(schedule, in_flight):
    """The first of p stages holds p micro-batches under 1F1B, all m of a step under GPipe (Huang et al. 2019)."""
    small = replace(LLAMA_8B, vocab=1024)
    h100 = CATALOG.accelerator("h100-sxm")
    held = dict(
        training_memory(
            job(small, global_batch=16, engine="megatron", checkpointing="full"),
            Layout(pipeline=4, schedule=schedule, checkpointing="full"),
            h100,
        ).breakdown
    )["activations"]  # fmt: skip
    # full checkpointing keeps a layer's input alone: 8 layers, 4,096 tokens of 4,096 values in 16 bits, and what is sent
    kept = in_flight * (8 + 1) * 4096 * 4096 * 2
    assert kept < held < kept + 1.2e9  # and the layer that runs again


# Weights of four bits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["a100-80gb-sxm", "h100-sxm", "l4", "b200"])
def test_weights_of_four_bits_are_read_faster_and_multiplied_no_faster(device):
    """AWQ and GPTQ (w4a16): products are in 16 bits, so a prompt takes as long; a step reads 4.5 bits for each 16."""
    accelerator = CATALOG.accelerator(device)
    machine = Cluster(accelerator=accelerator, per_node=1)
    wide, narrow = (
        replica(
            ServingJob(architecture=LLAMA_8B, weights=form, input_tokens=2000, output_tokens=200), machine, tensor=1
        )
        for form in ("fp16", "int4")
    )
    assert narrow.prompt_s(2000) >= wide.prompt_s(2000)
    assert narrow.read_s(1) / wide.read_s(1) == pytest.approx(4.5 / 16)
    assert wide.weights_s >= 2 * 7.5e9 / accelerator.memory_bytes_per_s  # all but the table of the input
    gained = wide.decode_s(1, 2000) - narrow.decode_s(1, 2000)
    assert gained == pytest.approx(wide.read_s(1) - narrow.read_s(1), rel=0.05)


# TPU --------------------------------------------------------------------------------------------------------------


def torus(key, chips):
    accelerator = CATALOG.accelerator(key)
    return Cluster(
        accelerator=accelerator, per_node=min(chips, 8), nodes=max(1, chips // 8), scale_up=chips,
        link_bytes_per_s=accelerator.link_bytes_per_s,
    )  # fmt: skip


@pytest.mark.parametrize(("chips", "group", "hops"), [(64, 8, 2), (256, 16, 4), (256, 256, 8)])
def test_an_all_to_all_on_a_torus_is_bounded_by_its_bisection(chips, group, hops):
    """A byte crosses a quarter of the ring on each axis: 8 of 64 chips of a 2D torus lie on one ring of 8 (2 links),
    256 on 16 x 16 (4 + 4), over half the chip's links where one axis is spanned."""
    k = calibration.values("training")
    r = rows(one_row(job(MIXTRAL, framework="jax", engine="maxtext"), Layout(data=chips), torus("tpu-v5e", chips), k))
    axes = 1 if group * group <= chips else 2
    one_way = 200e9 * k["link_fraction.ici"] * axes / 2
    assert float(collectives.all_to_all(1e12, group, 1, r.fabric)) == pytest.approx(1e12 * hops / one_way, rel=0.01)


def test_experts_of_a_tpu_slice_exchange_tokens_over_its_links():
    """Each layer sends 16-bit activations to its experts and back, forward and backward, once for each expert a token
    visits: with every link twice as fast half of it is left, and with one expert group none."""
    run = {"framework": "jax", "engine": "maxtext", "global_batch": 64, "checkpointing": "none"}
    slice_of_16 = torus("tpu-v5e", 16)
    spread = waterfall(DEEPSEEK, Layout(data=16, expert=16, zero_stage=3), slice_of_16, **run)
    twice = replace(slice_of_16, link_bytes_per_s=2 * 400e9)
    assert waterfall(DEEPSEEK, Layout(data=16, expert=16, zero_stage=3), twice, **run)[
        "expert parallel"
    ] == pytest.approx(spread["expert parallel"] / 2, rel=0.1)
    assert "expert parallel" not in waterfall(DEEPSEEK, Layout(data=16, zero_stage=3), slice_of_16, **run)
    # 10 expert layers, 4 samples of 4,096 tokens, 4 experts each, 2,048 values in 16 bits, 4 trips of 2 links a ring of 4
    least = 10 * 4 * 4 * 4096 * 4 * 2048 * 2 * (15 / 16) / 200e9
    assert least * 0.5 < spread["expert parallel"] < least * 6


@pytest.mark.parametrize("key", ["tpu-v5e", "tpu-v6e"])
def test_eight_chips_of_a_tpu_machine_serve_as_one_group(key):
    machine = torus(key, 8)
    served = ServingJob(
        architecture=LLAMA_70B, input_tokens=1000, output_tokens=200, engine="jetstream", weights="int8"
    )
    one, eight = (replica(served, machine, tensor=t) for t in (1, 8))
    assert eight.weights_s == pytest.approx(one.weights_s / 8)
    assert eight.cache_s_per_token == pytest.approx(one.cache_s_per_token / 8)  # eight KV heads: one each
    # two all-reduces a layer: their latency, and 7/8 of 8,192 values there and back at no more than the chip's links
    assert eight.collective_s >= 160 * 1e-6
    volume = 160 * 8192 * 2 * 2 * 7 / 8
    assert eight.collective_s_per_token >= volume / (machine.accelerator.link_bytes_per_s / 2)
    few = replace(LLAMA_70B, kv_heads=4)  # fewer heads than chips: the cache is kept twice
    held = {t: replica(replace(served, architecture=few), machine, tensor=t).cache_s_per_token for t in (4, 8)}
    assert held[8] == pytest.approx(held[4])


# Corrections of large clusters ------------------------------------------------------------------------------------


@pytest.mark.parametrize("devices", [1, 8])
def test_corrections_of_large_clusters_leave_one_machine_alone(devices):
    machine = cluster(nodes=1, per_node=devices, scale_up=devices)
    estimate = training_time(job(global_batch=8), Layout(data=devices, zero_stage=3 if devices > 1 else 0), machine)
    assert estimate.assumptions == ()
    assert "stragglers" not in dict(estimate.waterfall)


def test_a_prompt_of_300_000_tokens_attends_at_the_speed_of_attention():
    """Llama-3-8B on one A100: 3 minutes, rounded (MInference's baseline with FlashAttention-2), which products at their
    own rate would take 1.9 of.
    """
    device = CATALOG.accelerator("a100-80gb-sxm")
    run = ServingJob(architecture=LLAMA_8B, input_tokens=300_000, output_tokens=1, engine="vllm")
    found = replica(run, Cluster(accelerator=device, per_node=1), tensor=1).prefill_s(300_000)
    assert 140 < found < 220
