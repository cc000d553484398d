"""A model's configuration is read once: whoever asks after that gets the architecture that stands with the spec."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.explain import explain
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload import architecture, hf_config
from sizewell.sizing.workload.read import parse_spec, read_spec

ON = date(2026, 9, 20)
CONFIG = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192,
}  # fmt: skip
CHAT = """
name: chat
kind: inference
model: {}
traffic: {{rps: 1, input_tokens: 500, output_tokens: 100}}
infra: [aws/us-east-1]
"""


@pytest.mark.parametrize(("model", "reader"), [
    ("config.json", (hf_config, "_read")),
    ("meta-llama/Llama-3.1-8B", (architecture, "known_model")),
])  # fmt: skip
def test_a_model_is_resolved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, reader) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "chat.yaml").write_text(CHAT.format(model))
    module, name = reader
    reads, read = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *values, **more: reads.append(values) or read(*values, **more))
    catalog = load()
    spec = read_spec(tmp_path / "chat.yaml", catalog)
    assert len(reads) == 1
    assert isinstance(decide([spec], catalog, stack="", on=ON), Decision)
    explain(spec, catalog, stack="", on=ON)
    assert len(reads) == 1


def test_a_spec_that_was_read_without_a_catalog_is_resolved_when_it_is_decided() -> None:
    spec = parse_spec(CHAT.format("meta-llama/Llama-3.1-8B"))
    before = spec.digest()
    assert isinstance(decide([spec], load(), stack="", on=ON), Decision)
    assert spec.digest() == before
