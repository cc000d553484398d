"""Specs as people write them who come from other tools: one message makes of each what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.sizing.catalog import load
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.text import load_mapping

from .test_first_specs import mended

CASES: dict[str, Any] = load_mapping(
    (Path(__file__).parent / "practitioners.yaml").read_text(encoding="utf-8"), "cases"
)


@pytest.mark.parametrize("name", CASES)
def test_all_fixes_of_one_message_make_what_was_meant(name: str) -> None:
    text = yaml.safe_dump({"name": "x", **CASES[name]["written"]}, sort_keys=False)
    made = mended(text)
    assert parse_spec(made, catalog=load()).name == "x"
    left = {key: value for key, value in yaml.safe_load(made).items() if value != {} and key != "name"}
    assert left == CASES[name]["mended"]
