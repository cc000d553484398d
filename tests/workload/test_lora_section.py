"""Adapters as other tools write them: each fix is a spec that is read."""

from __future__ import annotations

import pytest
import yaml

from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec


def _tune(lora: object, **training: object) -> dict[str, object]:
    run = {"method": "lora", "tokens": "5M", "sequence_length": 1024, "lora": lora, **training}
    return {"name": "tune", "kind": "fine-tuning", "model": {"name": "meta-llama/Llama-3.1-8B"}, "training": run}


@pytest.mark.parametrize(
    ("written", "targets"),
    [
        (["q_prj", "v_proj"], ["q_proj", "v_proj"]),
        (["gate_porj", "down_proj", "q"], ["gate_proj", "down_proj", "q"]),
        (["lm_head"], "all-linear"),
        ("al-linear", "all-linear"),
    ],
)
def test_misspelt_targets_get_those_that_are_near(written: object, targets: object) -> None:
    with pytest.raises(SpecError) as error:
        parse_spec(yaml.safe_dump(_tune({"rank": 16, "targets": written})))
    (fault,) = error.value.faults
    fixed = yaml.safe_load(fault.fix.removeprefix("write "))
    assert fixed == {"targets": targets}
    assert parse_spec(yaml.safe_dump(_tune({"rank": 16, **fixed}))).training


@pytest.mark.parametrize("where", ["training", "lora"])
@pytest.mark.parametrize("key", ["dora", "use_dora"])
def test_dora_is_said_to_be_sized_as_lora(where: str, key: str) -> None:
    given = _tune({"rank": 16, key: True}) if where == "lora" else _tune({"rank": 16}, **{key: True})
    with pytest.raises(SpecError) as error:
        parse_spec(yaml.safe_dump(given))
    assert [fault.fix.partition(", ")[0] for fault in error.value.faults] == [
        "leave it out: adapters are sized as LoRA's"
    ]
