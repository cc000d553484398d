"""What a decision says of weights and data that its launch will need."""

from __future__ import annotations

import pytest

from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.start_up import loaded_bytes
from sizewell.sizing.predict.memory import loading_bytes
from sizewell.sizing.records.jobs import ServingJob

from .conftest import ON, spec, with_shapes

SERVED = {
    "kind": "inference",
    "traffic": {"rps": 0.5, "input_tokens": 1500, "output_tokens": 300},
    "slo": {"ttft": "4s", "tpot": "100ms"},
    "infra": ["aws/us-east-1"],
}


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "g6e.12xlarge", True),
        ("Qwen/Qwen2.5-32B-Instruct", "g6e.xlarge", True),
        ("Qwen/Qwen2.5-7B-Instruct", "g6e.xlarge", False),
        ("RedHatAI/Llama-3.1-70B-Instruct-FP8", "g6e.12xlarge", False),
    ],
)
def test_16_bit_weights_that_do_not_fit_while_fp8_is_made_of_them_are_said(facts, name, shape, said):
    few = with_shapes(facts, {("aws", shape)})
    given = {**SERVED, "model": {"name": name, "weights": "fp8"}}
    [workload] = decide([spec(**given)], few, stack="", on=ON).workloads
    notes = [note for note in workload.assumptions if note.startswith("vllm makes fp8 of 16-bit weights while it")]
    assert bool(notes) is said
    assert (workload.task.loading_bytes is not None) is said
    assert all("launch release 0.16.0 or later" in note for note in notes)


def test_what_is_made_while_it_loads_is_fetched_in_16_bits(facts):
    model = facts.model("meta-llama/Llama-3.1-8B")
    made = ServingJob(architecture=model, weights="fp8", made_at_load=True)
    assert loaded_bytes(made) == 2 * loaded_bytes(ServingJob(architecture=model, weights="fp8"))
    card = facts.accelerator("l4")
    assert loading_bytes(ServingJob(architecture=model, weights="fp8"), tensor=1, accelerator=card)[0] == 0
    two, one = (loading_bytes(made, tensor=n, accelerator=card)[0] for n in (2, 1))
    assert 8 * 2**30 < two < one < 20 * 2**30


def test_a_run_whose_spec_names_no_data_is_told_before_its_launch(facts):
    run = {"kind": "training", "model": "gpt2", "training": {"tokens": "1B", "sequence_length": 1024}}
    data = {"location": "s3://corpus/tokens", "size": "2GB"}
    for more, said in (
        ({}, "data.location is not stated"),
        ({"data": {"location": data["location"]}}, "data.size is not stated"),
        ({"data": data}, ""),
        ({"engine": "nemo"}, ""),  # a command of its own knows where its data are
    ):
        [workload] = decide([spec(**run, infra=["aws"], **more)], facts, stack="", on=ON).workloads
        notes = [
            note for note in workload.assumptions if note.startswith("launch needs the place of the training data")
        ]
        assert [said in note for note in notes] == ([True] if said else [])
