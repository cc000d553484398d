"""A hundred first specs: most are sized at once, and what is refused is mended by its own message in one step."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import yaml

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.errors import SpecError
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.text import load_mapping

SPECS: dict[str, str] = yaml.safe_load((Path(__file__).parent / "specs.yaml").read_text(encoding="utf-8"))
ON = date(2026, 11, 20)
AT_ONCE = 90
GUESSES = [name for name in SPECS if name.startswith("guess-")]


def mended(text: str) -> str:
    """The spec with what each of its faults says, done."""
    raw = load_mapping(text, "spec.yaml")
    with pytest.raises(SpecError) as refused:
        parse_spec(text, catalog=load())
    for fault in refused.value.faults:
        changed = repaired(raw, fault)
        assert changed is not None, fault
        raw = changed
    return yaml.safe_dump(raw)


def test_there_are_a_hundred() -> None:
    assert len(SPECS) == 100
    assert len(SPECS) - len(GUESSES) >= AT_ONCE


@pytest.mark.parametrize("name", [name for name in SPECS if name not in GUESSES])
def test_it_is_read_at_once(name: str) -> None:
    assert parse_spec(SPECS[name], catalog=load()).name


@pytest.mark.soak
@pytest.mark.parametrize("name", SPECS)
def test_it_is_sized(name: str) -> None:
    text = mended(SPECS[name]) if name in GUESSES else SPECS[name]
    answer = decide([parse_spec(text, catalog=load())], load(), stack="", on=ON)
    assert isinstance(answer, Decision), answer


@pytest.mark.parametrize("name", GUESSES)
def test_a_refusal_is_mended_by_its_own_message_in_one_step(name: str) -> None:
    assert parse_spec(mended(SPECS[name]), catalog=load()).name == "guess"
