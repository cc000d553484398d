"""Names of accelerators: a spelling leads to its own device, and one that is not sold to others with as much memory."""

from __future__ import annotations

import re

import pytest

from sizewell.cli.main import main
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.devices import device_meant, not_to_be_had
from sizewell.sizing.workload.read import parse_spec

NOTEBOOK = "name: lab\nkind: notebook\nresources: "
SPELLINGS = {
    "RTX4090": {"rtx-4090"},
    "NVIDIA GeForce RTX 4090": {"rtx-4090"},
    "H100 80GB": {"h100-sxm"},
    "H100 80GB SXM": {"h100-sxm"},
    "NVIDIA-H100-80GB-HBM3": {"h100-sxm"},
    "A100 80GB": {"a100-80gb-pcie", "a100-80gb-sxm"},
    "A100 SXM": {"a100-40gb-sxm", "a100-80gb-sxm"},
    "TPUv5e": {"tpu-v5e"},
    "A10": {"a10"},
    "L4": {"l4"},
    "Trainium 2": {"trainium2"},
}


def fix_of(resources: str) -> str:
    with pytest.raises(SpecError) as refused:
        parse_spec(NOTEBOOK + resources, "lab.yaml", catalog=load())
    assert len(refused.value.faults) == 1
    return refused.value.faults[0].fix


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_spelling_is_of_its_own_device(name: str) -> None:
    assert {device.key for device in load().accelerators_named(name)} == SPELLINGS[name]


@pytest.mark.parametrize(
    ("name", "instead"),
    [("RTX4090", "L4"), ("RTX 3090", "L4"), ("A5000", "L4"), ("K80", "T4"), ("A40", "L40S"), ("RTX 3080 10GB", "T4"),
     ("H20", "H100-NVL"), ("A6000", "L40S"), ("8xA5000", "L4")],
)  # fmt: skip
def test_a_card_that_is_not_sold_is_called_that_and_has_others_of_its_memory(name: str, instead: str) -> None:
    fix = fix_of(f'{{accelerators: ["{name}"]}}')
    assert re.search(rf"\b{instead}\b", fix)
    for each in re.findall(r"[A-Z0-9][\w-]+", fix.removeprefix("write ").partition(", of")[0]):
        parse_spec(NOTEBOOK + f"{{accelerators: [{each}]}}", "lab.yaml", catalog=load())


def test_a_card_beside_one_that_is_sold_is_no_fault() -> None:
    parse_spec(NOTEBOOK + "{accelerators: [RTX 4090, L4]}", "lab.yaml", catalog=load())


def test_what_can_be_built_is_never_called_unsold() -> None:
    catalog = load()
    for shape in catalog.shapes:
        if shape.cloud in PROVISIONABLE and shape.accelerator and "-share-" not in shape.accelerator:
            assert not_to_be_had(shape.accelerator, catalog) is None


@pytest.mark.parametrize("name", ["RTX 9090", "A600", "B20", "H10", "V10", "K90", "TPU v9", "A5001"])
def test_no_other_device_is_suggested_by_letters(name: str) -> None:
    figures = re.findall(r"\d+", name)
    for meant in re.findall(r"[A-Z][\w-]+", device_meant(name, load()).removeprefix("did you mean ")):
        assert figures[0] in re.findall(r"\d+", meant)


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("{accelerators: H100:8, nodes: 4}", "write {H100: 32}, the number over all 4 machines"),
        ("{accelerators: H100:8, nodes: 2..4}", "write [H100]; how many machines"),
        ("{gpu: 8 H100, nodes: 4}", "write accelerators: {H100: 32}, the number over all 4 machines"),
        ("{gpus: 8xH100, nodes: 2}", "write accelerators: {H100: 16}, the number over all 2 machines"),
        ("{gpu: RTX 4090}", "write accelerators: [L4, A10, A10G], of as much memory as RTX 4090"),
        ("{accelerators: 4090}", "write [L4, A10, A10G], of as much memory as RTX 4090"),
        ("{gpu: 4090}", "write accelerators: [L4, A10, A10G], of as much memory as RTX 4090"),
        ("{tpu: v5}", "write tpu: {type: v5e}, with topology: 4x4"),
        ("{gpu_type: A5000}", "write accelerators: [L4, A10, A10G], of as much memory as A5000"),
    ],
)
def test_a_number_of_one_machine_is_counted_over_all(written: str, fix: str) -> None:
    assert fix_of(written).startswith(fix)


def test_offers_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["offers", "A5000"]) == 64
    assert "workstation card of 24 GB" in capsys.readouterr().err
    assert main(["offers", "RTX4090"]) == 64
    assert "name L4, A10 or A10G" in capsys.readouterr().err
