"""Models whose layers are a decoder's and that write no text: by their config.json, which often does not say so."""

from __future__ import annotations

import json

import pytest

from sizewell.sizing.choose.decide import Decision, decide
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import read_spec

from .conftest import ON

QWEN3_8B = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151665,
    "max_position_embeddings": 40960,
    "tie_word_embeddings": False,
}
SPEC = """
name: w
kind: inference
model: {{config: {folder}/config.json}}
traffic: {{rps: 20, input_tokens: 500{more}}}
slo: {{latency: 1s}}
infra: [aws/us-east-1]
"""


def workload(facts, tmp_path, *, folder="m", more="", **config):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "config.json").write_text(json.dumps({**QWEN3_8B, **config}))
    (tmp_path / "w.yaml").write_text(SPEC.format(folder=folder, more=more))
    answer = decide([read_spec(tmp_path / "w.yaml", catalog=facts)], facts, stack="", on=ON)
    assert isinstance(answer, Decision)
    return answer.workloads[0]


@pytest.mark.parametrize(
    ("folder", "classes", "why"),
    [
        ("Qwen3-Embedding-8B", ["Qwen3ForCausalLM"], "is named as one that embeds or ranks texts"),
        ("m", ["Qwen3ForSequenceClassification"], "it is made for Qwen3ForSequenceClassification"),
        ("m", ["Qwen3Model"], "it is made for Qwen3Model"),
    ],
)
def test_no_answer_is_counted_of_what_writes_none(facts, tmp_path, folder, classes, why):
    silent = workload(facts, tmp_path, folder=folder, architectures=classes)
    assert any(note.startswith("no answer is written") and why in note for note in silent.assumptions)
    assert silent.cost.assumed_level is None
    stated = workload(facts, tmp_path, more=", output_tokens: 0", architectures=["Qwen3ForCausalLM"])
    assert silent.cost.run_rate.expected == stated.cost.run_rate.expected
    answered = workload(facts, tmp_path, folder=folder, more=", output_tokens: 100", architectures=classes)
    assert answered.cost.run_rate.expected > silent.cost.run_rate.expected, "what is stated holds"


def test_an_answer_that_is_assumed_stands_beside_the_price_with_the_price_without(facts, tmp_path):
    said = workload(facts, tmp_path, architectures=["Qwen3ForCausalLM"]).cost.assumed_level
    stated = workload(facts, tmp_path, more=", output_tokens: 0", architectures=["Qwen3ForCausalLM"])
    assert "256 tokens in an answer" in said
    assert f"{stated.cost.run_rate.expected:,.2f} USD a month with 0" in said
    assert stated.cost.assumed_level is None


def test_the_name_of_an_embedding_model_is_answered_with_what_can_be_followed(facts, tmp_path):
    (tmp_path / "w.yaml").write_text(
        SPEC.format(folder="m", more="").replace("{config: m/config.json}", "Qwen/Qwen3-Embedding-8B")
    )
    with pytest.raises(SpecError) as caught:
        read_spec(tmp_path / "w.yaml", catalog=facts)
    [fault] = caught.value.faults
    assert fault.fix == "name its config.json: model: {config: config.json}, with traffic: {output_tokens: 0}"
    assert workload(facts, tmp_path, more=", output_tokens: 0", architectures=["Qwen3ForCausalLM"])


@pytest.mark.parametrize(
    ("name", "model_type"),
    [
        ("openai/whisper-small", "whisper"),
        ("facebook/wav2vec2-base", "wav2vec2"),
        ("facebook/hubert-large-ls960", "hubert"),
        ("google/siglip-so400m-patch14-384", "siglip"),
        ("state-spaces/mamba-2.8b-hf", "mamba"),
    ],
)
def test_a_name_is_answered_as_the_file_of_that_kind_is(facts, tmp_path, name, model_type):
    """So that nobody is sent to a config.json that is refused in turn."""
    given = SPEC.format(folder="m", more="")
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text(json.dumps({**QWEN3_8B, "model_type": model_type}))
    fixes = []
    for text in (given.replace("{config: m/config.json}", name), given):
        (tmp_path / "w.yaml").write_text(text)
        with pytest.raises(SpecError) as caught:
            read_spec(tmp_path / "w.yaml", catalog=facts)
        fixes.append(caught.value.faults[0].fix)
    assert fixes[0] == fixes[1]
