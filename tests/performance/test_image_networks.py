"""Image networks and encoders: counted FLOPs, what stays in a device's cache, operations that run one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizewell.accuracy.describe import catalog
from sizewell.sizing.predict.architecture import decoding_flop, decoding_values, forward_flop_per_sample, sample_flop
from sizewell.sizing.predict.performance import serving_samples
from sizewell.sizing.predict.performance.serving_constants import constants
from sizewell.sizing.predict.performance.serving_replica import peak_flop_per_s
from sizewell.sizing.predict.performance.serving_samples import sample_server, samples_arriving
from sizewell.sizing.records.jobs import Cluster, ServingJob

PYRAMID = tuple(side * side for side in (100, 50, 25, 13, 7))  # positions at 800 x 800, strides 8 to 128


def retinanet_multiply_adds(backbone: float, classes: int) -> float:
    """By layer: `backbone` multiply-adds at 224 x 224 without the classifier, as torchvision's model table has them."""
    laterals = 256 * (512 * PYRAMID[0] + 1024 * PYRAMID[1] + 2048 * PYRAMID[2])
    square = 256 * 256 * 9
    towers = 8 * square * sum(PYRAMID)
    answers = 256 * 9 * 9 * (classes + 4) * sum(PYRAMID)  # nine anchors at each position
    return (backbone - 2048 * 1000) * (800 / 224) ** 2 + laterals + square * sum(PYRAMID) + towers + answers


def test_retinanet_has_the_flops_of_its_layers_and_classes():
    """The same count gives torchvision's 151.5 G (COCO's 91 classes, ResNet-50), which nobody here made."""
    assert retinanet_multiply_adds(4.09e9, 91) == pytest.approx(151.5e9, rel=0.005)
    counted = 2 * retinanet_multiply_adds(4.23e9, 264)
    assert forward_flop_per_sample(catalog().model("retinanet-resnext50")) == pytest.approx(counted, rel=0.005)


def server(model: str, device: str, **said: object):
    accelerator = catalog().accelerator(device)
    job = ServingJob(architecture=catalog().model(model), weights="int8", **said)
    return sample_server(job, Cluster(accelerator=accelerator, per_node=1, nodes=1))


@pytest.mark.parametrize(
    ("model", "device", "faster"),
    [
        ("resnet-50", "l4", True),
        ("resnet-50", "rtx-4090", True),
        ("resnet-50", "t4", False),  # two pictures at a time: launches cost more than memory does
        ("google-bert/bert-large-uncased", "l4", True),
        ("stabilityai/stable-diffusion-xl-base-1.0", "l40s", False),
        ("sam-vit-huge", "t4", False),
        ("resnet-50", "tpu-v5e", False),
    ],
)
def test_what_fits_into_a_shared_cache_does_not_cross_the_memory(monkeypatch, model, device, faster):
    asked = {"input_tokens": 180.0} if "bert" in model else {}
    with_cache = server(model, device, **asked).sample_s
    monkeypatch.setattr(serving_samples, "shared_cache_bytes", lambda accelerator: 0.0)
    without = server(model, device, **asked).sample_s
    assert with_cache < without if faster else with_cache == without


def test_a_cache_makes_no_device_faster_than_its_peak(monkeypatch):
    monkeypatch.setattr(serving_samples, "shared_cache_bytes", lambda accelerator: 1e15)
    for key in (one.key for one in catalog().accelerators.values() if one.shared_cache_bytes):
        accelerator = catalog().accelerator(key)
        rate = forward_flop_per_sample(catalog().model("resnet-50")) / server("resnet-50", key).sample_s
        assert rate < peak_flop_per_s(accelerator, "int8")


def test_operations_that_run_one_by_one_wait_for_the_host_and_move_more():
    compiled, alone = server("resnet-50", "v100-16gb"), server("resnet-50", "v100-16gb", engine="eager")
    assert alone.batch_s(1) > 0.003 > compiled.batch_s(1)  # 170 launches
    assert alone.sample_s > 1.5 * compiled.sample_s


def test_four_bit_weights_are_unpacked_for_each_part_of_a_prompt():
    model, device = catalog().model("meta-llama/Llama-3.1-8B"), catalog().accelerator("a100-80gb-pcie")
    cluster = Cluster(accelerator=device, per_node=1, nodes=1)
    job = ServingJob(architecture=model, weights="int4", input_tokens=2048.0, engine="llama.cpp")
    unpacked, plain = (sample_server(replace(job, weights=weights), cluster).sample_s for weights in ("int4", "fp16"))
    written_and_read = 4 * 2 * 2.0 * 8.0e9 / (device.memory_bytes_per_s * 0.8)  # four parts of 512 tokens
    assert unpacked - plain == pytest.approx(written_and_read, rel=0.25)


def decoder(side: int) -> tuple[float, float]:
    """FLOPs and values moved of the decoder of Stable Diffusion's latents, layer by layer.

    Channels 512, 512, 256 and 128 from coarse to fine, three residual blocks a level, attention at the coarsest; a norm
    with its activation reads twice and writes once, a convolution reads and writes once.
    """
    multiplied, moved = 0.0, 0.0

    def convolution(places: float, read: int, written: int, kernel: int = 3) -> None:
        nonlocal multiplied, moved
        multiplied += places * read * written * kernel**2
        moved += places * (read + written)

    def norm(places: float, channels: int) -> None:
        nonlocal moved
        moved += 3 * places * channels

    def block(places: float, read: int, written: int) -> None:
        nonlocal moved
        norm(places, read)
        convolution(places, read, written)
        norm(places, written)
        convolution(places, written, written)
        moved += places * written  # the residual
        if read != written:
            convolution(places, read, written, kernel=1)

    places, channels = (side / 8) ** 2, 512
    convolution(places, 4, channels)
    block(places, channels, channels)
    norm(places, channels)
    for _ in range(4):
        convolution(places, channels, channels, kernel=1)
    multiplied += 2 * places**2 * channels
    block(places, channels, channels)
    for level, written in enumerate((512, 512, 256, 128)):
        if level:
            moved += places * channels * (1 + 4)
            places *= 4
            convolution(places, channels, channels)
        for _ in range(3):
            block(places, channels, written)
            channels = written
    norm(places, channels)
    convolution(places, channels, 3)
    return 2 * multiplied, moved


@pytest.mark.parametrize("model", [name for name, one in catalog().models.items() if one.kind == "diffusion"])
def test_a_picture_is_decoded_once_by_a_decoder_counted_by_layer(model):
    drawn = catalog().model(model)
    flop, moved = decoder(drawn.resolution)
    assert decoding_flop(drawn) == pytest.approx(flop, rel=0.01)
    assert decoding_values(drawn) == pytest.approx(moved, rel=0.01)
    once, twice = (sample_flop(drawn, passes=n) for n in (1, 2))
    assert twice - once == forward_flop_per_sample(drawn)
    assert once - forward_flop_per_sample(drawn) == decoding_flop(drawn)
    assert decoding_flop(catalog().model("resnet-50")) == decoding_values(catalog().model("resnet-50")) == 0


def test_few_steps_leave_the_decoder_its_share_of_the_time():
    name, card = "stabilityai/stable-diffusion-xl-base-1.0", "l40s"
    one, two, forty = (server(name, card, passes_per_sample=passes).sample_s for passes in (1.0, 2.0, 40.0))
    decoded = 2 * one - two
    assert forty == pytest.approx(40 * (two - one) + decoded)
    assert decoded > two - one  # in 16 bits more than a pass of the denoiser in 8
    cluster = Cluster(accelerator=catalog().accelerator(card), per_node=1, nodes=1)
    assert decoded > decoding_flop(catalog().model(name)) / peak_flop_per_s(cluster.accelerator, "bf16")


def test_launches_hide_behind_the_device_where_it_works_longer():
    alone = server("resnet-50", "v100-16gb", engine="eager")
    assert alone.batch_s(1) == alone.batch_s(2) == alone.launches_s > 0
    many = 2 * alone.launches_s / alone.sample_s
    assert alone.batch_s(many) == pytest.approx(2 * alone.launches_s, rel=0.01)


@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
def test_arrivals_are_served_in_batches_large_enough_for_their_launches(share):
    alone = server("resnet-50", "v100-16gb", engine="eager")
    rate = share * constants().arrivals / alone.sample_s
    load = samples_arriving(alone, rate=rate, fit=100_000)
    assert load.stable
    assert load.sequences / alone.batch_s(load.sequences) >= rate
