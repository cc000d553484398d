"""Image networks and encoders: counted FLOPs, what stays in a device's cache, operations that run one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizewell.sizing.predict.architecture import forward_flop_per_sample
from sizewell.sizing.predict.performance import serving_samples
from sizewell.sizing.predict.performance.serving_replica import peak_flop_per_s
from sizewell.sizing.predict.performance.serving_samples import sample_server
from sizewell.sizing.records.jobs import Cluster, ServingJob
from sizewell.sizing.validation.describe import catalog

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
    assert alone.fixed_s > 0.003 > compiled.fixed_s  # 170 launches
    assert alone.sample_s > 1.5 * compiled.sample_s


def test_four_bit_weights_are_unpacked_for_each_part_of_a_prompt():
    model, device = catalog().model("meta-llama/Llama-3.1-8B"), catalog().accelerator("a100-80gb-pcie")
    cluster = Cluster(accelerator=device, per_node=1, nodes=1)
    job = ServingJob(architecture=model, weights="int4", input_tokens=2048.0, engine="llama.cpp")
    unpacked, plain = (sample_server(replace(job, weights=weights), cluster).sample_s for weights in ("int4", "fp16"))
    written_and_read = 4 * 2 * 2.0 * 8.0e9 / (device.memory_bytes_per_s * 0.8)  # four parts of 512 tokens
    assert unpacked - plain == pytest.approx(written_and_read, rel=0.25)
