"""A number of accelerators that the spec states is the number that is bought, over however many machines."""

from __future__ import annotations

import pytest

from sizewell.sizing.choose.candidates import Cause
from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec

from .conftest import ON, night, spec, tune, with_shapes

TRAIN = {
    "kind": "training",
    "model": "meta-llama/Llama-3.1-8B",
    "training": {"tokens": "2B", "sequence_length": 8192, "global_batch": "4M"},
}


@pytest.mark.parametrize("resources", [{"accelerators": {"H100": 64}}, {"accelerators": ["H100"], "gpus": 64}])
def test_so_many_are_chosen(facts, resources):
    pool = decide([spec(**TRAIN, resources=resources)], facts, stack="", on=ON).workloads[0].pools[0]
    assert pool.nodes_max * pool.accelerators_per_node == 64
    assert "h100" in pool.accelerator


def test_both_forms_are_one_spec():
    short, long = (
        spec(**TRAIN, resources=r) for r in ({"accelerators": {"H100": 8}}, {"accelerators": "H100", "gpus": 8})
    )
    assert short.digest() == long.digest()


def test_a_range_limits_every_machine_by_what_it_has(facts):
    few = with_shapes(facts, {("gcp", "a3-highgpu-8g"), ("gcp", "a3-highgpu-4g"), ("gcp", "a3-highgpu-1g")})
    sizing = size_one(night(resources={"gpus": "1..4"}), few, stack="", on=ON)
    assert sizing.options
    for option in sizing.options:
        assert option.fleet.nodes * option.candidate.shape.accelerators <= 4
    [eight] = [r for r in sizing.rejections if r.instance_type == "a3-highgpu-8g"]
    assert (eight.cause, "resources.gpus" in eight.reason) == (Cause.CONSTRAINT, True)


def test_a_number_that_no_machines_add_up_to_is_refused(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    answer = decide([tune(resources={"gpus": 12})], few, stack="", on=ON)
    assert isinstance(answer, NothingFits)
    assert "has 8 accelerators, and no number of them is what resources.gpus requires" in str(answer)


def test_a_number_that_is_none_is_a_fault_with_its_place():
    with pytest.raises(SpecError, match=r"resources.gpus: must be a count or a range of counts"):
        parse_spec("name: w\nkind: notebook\nresources: {accelerators: {H100: many}}\n")
