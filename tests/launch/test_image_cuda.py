"""CUDA of images beside machines and their drivers: refused where it is known not to run, said where nobody knows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from sizewell.launch import images
from sizewell.launch.target import machine_of
from sizewell.sizing import catalog
from sizewell.sizing.catalog import compatibility, lifetimes


def launched(image: str, cloud: str, instance_type: str, cluster: str = "other"):
    shape = catalog.load().shape(cloud, instance_type)
    pool = SimpleNamespace(cloud=cloud, instance_type=instance_type, accelerator=shape.accelerator, tpu_topology=None)
    return SimpleNamespace(
        plan=SimpleNamespace(name="r"),
        run=SimpleNamespace(image=image, args=()),
        target=SimpleNamespace(cluster=cluster),
        machine=machine_of(pool),
    )


@pytest.mark.parametrize(
    ("image", "cloud", "machine", "told"),
    [
        ("pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime", "aws", "p3.2xlarge", "CUDA 12 is the last one for v100"),
        ("nvcr.io/nvidia/tritonserver:25.10-py3", "aws", "p3.2xlarge", "CUDA 12 is the last one for v100"),
        ("nvcr.io/nvidia/pytorch:25.11-py3", "aws", "p3.2xlarge", "between 13.0 and 13.1.1, and CUDA 12 is the last"),
        ("nvcr.io/nvidia/pytorch:24.03-py3", "gcp", "a4-highgpu-8g", "between 12.3.2 and 12.4.1, and b200 needs CUDA"),
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", "aws", "p6-b200.48xlarge", "b200 needs CUDA 12.8 or later"),
        ("nvcr.io/nvidia/pytorch:24.12-py3", "gcp", "a4-highgpu-8g", "and the image has 12.6.3"),
        ("nvcr.io/nvidia/tritonserver:24.10-py3", "aws", "p6-b200.48xlarge", "and the image has 12.6.2"),
        ("lmsysorg/sglang:v0.4.1-cu118", "gcp", "a4-highgpu-8g", "b200 needs CUDA 12.8 or later"),
        ("mirror.example/nvcr.io/nvidia/pytorch:24.05-py3", "gcp", "a4-highgpu-8g", "b200 needs CUDA 12.8"),
        ("pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime", "azure", "Standard_NV36ads_A10_v5", "driver 580 or later"),
    ],
)
def test_an_image_whose_cuda_cannot_run_is_refused(image, cloud, machine, told):
    (fault,) = images.faults(launched(image, cloud, machine))
    assert told in fault.message
    assert fault.path == "run.r.image"
    assert not images.unknown(launched(image, cloud, machine))


@pytest.mark.parametrize(
    ("image", "cloud", "machine"),
    [
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "aws", "p5.48xlarge"),
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "azure", "Standard_NV36ads_A10_v5"),
        ("nvcr.io/nvidia/pytorch:25.10-py3", "aws", "p6-b200.48xlarge"),
        ("nvcr.io/nvidia/pytorch:25.01-py3", "aws", "p6-b200.48xlarge"),
        ("nvcr.io/nvidia/pytorch:25.03-py3", "aws", "p6-b200.48xlarge"),
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", "aws", "p3.2xlarge"),
    ],
)
def test_an_image_that_is_known_to_run_passes_without_a_word(image, cloud, machine):
    launch = launched(image, cloud, machine)
    assert not images.faults(launch)
    assert images.unknown(launch) == ""
    assert images.cuda(launch).state == "good"


@pytest.mark.parametrize(
    ("image", "cloud", "machine", "told"),
    [
        ("registry.example/train:1", "aws", "p5.48xlarge", "which CUDA the image has is not recorded"),
        ("nvcr.io/nvidia/pytorch:25.05-py3", "aws", "p3.2xlarge", "its CUDA is between 12.8.0 and 13.0.0"),
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "gcp", "a3-highgpu-8g", "of which branch its driver is"),
    ],
)
def test_what_nobody_knows_is_said_and_not_refused(image, cloud, machine, told):
    launch = launched(image, cloud, machine)
    assert not images.faults(launch)
    assert told in images.unknown(launch)


def test_machines_without_a_gpu_of_nvidia_s_are_not_asked_for_cuda():
    assert images.cuda(launched("rocm/vllm:v0.11.0", "azure", "Standard_ND96isr_MI300X_v5")) is None


TAGS = ("cu118", "cu124", "cuda12.8", "cuda13.0", "x")


def test_every_accelerator_with_every_cuda_is_good_bad_or_said():
    """Over all machines of the three clouds: no pair is bad by the tables and passes, none is unknown and silent."""
    known, met = lifetimes.load(), set()
    for shape in catalog.load().shapes:
        if shape.cloud not in ("aws", "gcp", "azure") or shape.runtime != "cuda" or not shape.accelerators:
            continue
        if "rack" in shape.traits:
            continue
        for tag in TAGS:
            launch = launched(f"registry.example/train:{tag}", shape.cloud, shape.instance_type)
            state = images.cuda(launch).state
            met.add(state)
            assert bool(images.faults(launch)) is (state == "bad"), (shape.instance_type, tag)
            assert bool(images.unknown(launch)) is (state == "unknown"), (shape.instance_type, tag)
            driver = known.driver_range(launch.machine.accelerator, launch.machine.family)
            (version,) = images.cuda_of(launch.run.image) or ("",)
            if compatibility.cuda_for(driver, None, version, "x").state == "bad":
                assert state == "bad", (shape.instance_type, tag)
    assert met == {"good", "bad", "unknown"}


def test_a_cluster_that_is_named_has_its_own_driver():
    launch = launched("registry.example/train:cuda13.0", "azure", "Standard_NV36ads_A10_v5", cluster="aks")
    assert images.cuda(launch).state == "bad"
    plain = replace(launch.machine, virtual=False)
    assert images.cuda(SimpleNamespace(**{**vars(launch), "machine": plain})).state == "good"
