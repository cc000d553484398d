"""Every fault of a spec has the line and column of what is wrong, and offers what was most likely meant."""

from __future__ import annotations

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec

WRONG = """\
name: chat
kind: Inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300, burst: 2}
slo: {ttft: 500, tpot: 50, latency: 0.5}
data:
  residency: EU
resources:
  instance_type: p5.24xlarge
  accelerators:
    - H100
    - H1000
"""
# Where an editor shows each of them, counted by hand.
PLACES = {
    "kind": (2, 7),
    "traffic.burst": (4, 59),
    "slo.ttft": (5, 13),
    "slo.tpot": (5, 24),
    "slo.latency": (5, 37),
    "data.residency": (7, 14),
    "resources.instance_type[0]": (9, 18),
    "resources.accelerators[1]": (12, 7),
}


def faults_of(text):
    with pytest.raises(SpecError) as raised:
        parse_spec(text, catalog=load())
    return {fault.path: fault for fault in raised.value.faults}, str(raised.value)


def test_every_fault_has_its_line_and_column_in_the_order_of_the_text():
    faults, text = faults_of(WRONG.replace("Inference", "infrence"))
    assert {path: fault.at for path, fault in faults.items()} | PLACES == PLACES
    assert [fault.at for fault in faults.values()] == sorted(fault.at for fault in faults.values())
    assert "spec:5:13: slo.ttft: must be" in text
    known, _ = faults_of(WRONG.replace("Inference", "inference"))
    assert {path: fault.at for path, fault in known.items()} == {k: v for k, v in PLACES.items() if k != "kind"}


def test_what_was_most_likely_meant_is_offered():
    faults, _ = faults_of(WRONG)
    assert faults["kind"].fix == "did you mean inference?"
    faults, _ = faults_of(WRONG.replace("Inference", "inference"))
    assert {path: fault.fix for path, fault in faults.items()} == {
        "traffic.burst": faults["traffic.burst"].fix,
        "slo.ttft": "write 500ms",
        "slo.tpot": "write 50ms",
        "slo.latency": "write 500ms",
        "data.residency": "write eu",
        "resources.instance_type[0]": "did you mean p5.4xlarge (1 x h100-sxm), or p5.48xlarge (8 x h100-sxm)?",
        "resources.accelerators[1]": faults["resources.accelerators[1]"].fix,
    }


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("a3-highgpu-16g", "a3-highgpu-1g (1 x h100-sxm)"),
        ("Standard_ND96isr_H100_v6", "Standard_ND96isr_H100_v5 (8 x h100-sxm)"),
        ("g6.32xlarge", "g6.12xlarge (4 x l4)"),
    ],
)
def test_a_machine_that_is_not_in_the_catalog_is_refused_with_its_neighbours(name, near):
    faults, _ = faults_of(
        f"name: x\nkind: notebook\nresources:\n  instance_type: {name}\n",
    )
    assert near in faults["resources.instance_type[0]"].fix


def test_what_is_missing_is_marked_where_its_section_begins_and_a_file_without_keys_nowhere():
    faults, _ = faults_of("name: x\nkind: batch-inference\nmodel: resnet50\nbatch: {records: 4}\n")
    assert faults["batch.window"].at == (4, 1)
    faults, _ = faults_of("owner: me\n")
    assert faults["name"].at is None


@pytest.mark.parametrize("name", ["a100-40gb", "v100", "a6000", "RTX3090", "h20", "mi210"])
def test_who_owns_machines_is_told_to_state_them_and_not_to_rent_others(name):
    text = f"name: a\nkind: notebook\ninfra: [on-prem]\nresources: {{accelerators: [{name}]}}\n"
    [fault] = faults_of(text)[0].values()
    assert "catalog/shapes.csv" in fault.fix
    assert "catalog/rates.yaml" in fault.fix
    assert ("catalog/accelerators.csv" in fault.fix) == (name in ("h20", "mi210")), "which the catalog lacks"
