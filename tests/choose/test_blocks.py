"""Checkpoints whose scales belong to blocks of a matrix: no engine loads a part that cuts through one."""

from __future__ import annotations

import pytest

from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.fleet import Machine
from sizewell.sizing.choose.fleets import tensor_sizes
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.records.decision import Task
from sizewell.sizing.workload.precision import block_of
from sizewell.sizing.workload.read import parse_spec

from .conftest import ON

SPEC = """
name: chat
kind: inference
model: {model}
traffic: {{rps: 2, input_tokens: 1000, output_tokens: 400}}
slo: {{ttft: 3s, tpot: 80ms}}
{more}
"""


def job_of(facts, model, more=""):
    return requirements(parse_spec(SPEC.format(model=model, more=more), catalog=facts), facts).serving


@pytest.mark.parametrize(
    ("model", "sizes"),
    [
        ("Qwen/Qwen3-4B", (1, 2, 4, 8)),  # 16 bits: cut anywhere
        ("Qwen/Qwen3-4B-FP8", (1, 2, 4)),  # 9728 / 8 = 1216, 9.5 blocks of 128
        ("Qwen/Qwen3-32B-FP8", (1, 2, 4, 8)),  # 25600 / 8 = 25 blocks
        ("Qwen/Qwen3-30B-A3B-FP8", (1, 2, 4, 8)),  # experts stay whole instead
        ("RedHatAI/Qwen3-4B-FP8-dynamic", (1, 2, 4, 8)),  # a scale for each row
    ],
)
def test_a_part_of_a_dense_matrix_is_whole_blocks(facts, model, sizes):
    machine = Machine(accelerator=facts.accelerator("h100-sxm"), count=8, scale_up=8)
    assert tensor_sizes(machine, job_of(facts, model)) == sizes


def test_what_an_engine_stores_in_fewer_bits_itself_has_one_scale_for_a_matrix(facts):
    assert job_of(facts, "{name: Qwen/Qwen3-4B, weights: fp8}").block == 0
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    assert (block_of(None, config, "fp8"), block_of(None, {}, "fp8"), block_of(None, None, "bf16")) == (128, 0, 0)


@pytest.mark.parametrize(
    ("model", "more", "whole"),
    [
        # 768 / 4 = 192 and 2560 / 8 = 320 cut through blocks of 128; 2048 / 8 does not
        ("Qwen/Qwen3-30B-A3B-FP8", "resources: {instance_type: g6.12xlarge, nodes: 1..40}\n", True),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "resources: {instance_type: p5.48xlarge}\n", True),
        ("Qwen/Qwen3-30B-A3B", "resources: {instance_type: g6.12xlarge, nodes: 1..40}\n", None),
    ],
)
def test_experts_that_cannot_be_cut_stay_whole_and_the_decision_says_so(facts, model, more, whole):
    spec = parse_spec(SPEC.format(model=model, more=more), catalog=facts)
    workload = decide([spec], facts, on=ON, stack="dev").workloads[0]
    assert workload.replicas.devices_per_replica > 1
    assert isinstance(workload.task, Task)
    assert workload.task.expert_parallel is whole
