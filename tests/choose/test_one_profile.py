"""One profile of each software: what is sized is what the accuracy page predicts of published runs."""

from __future__ import annotations

import pytest

from sizewell.accuracy.cases import read
from sizewell.accuracy.memory_predictions import predict_memory
from sizewell.accuracy.training_cases import training_case
from sizewell.sizing.choose.decide import size_one
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.units import GIB

from .conftest import ON, spec


def published(name):
    return next(case for case in read() if case.id == name)


def test_a_full_fine_tune_by_torchtune_takes_what_was_published(facts):
    """24.9 GiB at one sequence of 2,048: weights, gradients and both states in 16 bits."""
    case = published("tune-ladder-activation-checkpointing")
    run = {"method": "full", "samples": 5000, "sequence_length": 2048, "activation_checkpointing": "full"}
    wish = {"kind": "fine-tuning", "model": "meta-llama/Llama-3.2-3B", "engine": "torchtune"}
    wish |= {"training": {**run, "global_batch": 2048}, "resources": {"accelerators": {"A100-80GB": 1}}}
    best = size_one(spec(**wish), facts, stack="", on=ON).best()
    assert best is not None
    assert best.fleet.memory.total_bytes / GIB == pytest.approx(predict_memory(case).value, rel=0.02)
    assert best.fleet.memory.total_bytes / GIB == pytest.approx(case.value, rel=0.1)


def test_unsloth_takes_the_context_that_it_publishes(facts):
    """78,475 tokens on 24 GB, as the inputs of its layers wait in the host's memory."""
    case = published("unsloth-maxctx-8b-24gb-unsloth")
    run = {"method": "qlora", "samples": 2000, "sequence_length": 40_000, "global_batch": 40_000}
    wish = {"kind": "fine-tuning", "model": "meta-llama/Llama-3.1-8B", "engine": "unsloth", "training": run}
    need = requirements(spec(**wish), facts)
    described = training_case(case).job
    assert need.training.activation_offload is described.activation_offload is True
    assert need.training.checkpointing == described.checkpointing == "full"
    best = size_one(spec(**wish, resources={"gpu": "24GB..24GB"}), facts, stack="", on=ON).best()
    assert best is not None
    stated = {**wish, "training": {**run, "activation_checkpointing": "none"}}
    assert requirements(spec(**stated), facts).training.activation_offload is False


@pytest.mark.parametrize("engine", ["transformers", "trl", "llama-factory"])
def test_a_full_fine_tune_by_the_trainer_takes_what_was_measured_of_it(facts, engine):
    """No master copy stands beside 16-bit weights: they are in fp32 under autocast, with 16-bit copies at the peak."""
    case = published("h100-qwen2.5-1.5b-full-fp32-adamw_torch_fused-s512-b1-gc-a1")
    run = {"method": "full", "samples": 5000, "sequence_length": 512, "activation_checkpointing": "full"}
    wish = {"kind": "fine-tuning", "model": "Qwen/Qwen2.5-1.5B", "engine": engine}
    wish |= {"training": {**run, "global_batch": 512}, "resources": {"accelerators": {"h100-sxm": 1}}}
    best = size_one(spec(**wish), facts, stack="", on=ON).best()
    assert best is not None
    parts = dict(best.fleet.memory.breakdown)
    params = 1.5437e9
    assert parts["weights"] == pytest.approx(4 * params, rel=0.01)
    assert parts["optimizer"] == pytest.approx(8 * params, rel=0.01)
    assert best.fleet.memory.total_bytes == pytest.approx(predict_memory(case).value * 1e9, rel=0.02)
