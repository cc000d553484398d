"""Pictures in the requests of a language model: tokens by its own file, and nothing where there are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sizewell.sizing.choose.requirements import _image_pixels, requirements
from sizewell.sizing.workload.read import parse_spec, read_spec

ROWS = (Path(__file__).parents[1] / "memory" / "counted" / "published.jsonl").read_text().splitlines()
CONFIGS = {row["name"]: row["config"] for row in map(json.loads, ROWS)}
# As the models' own pages and reports have them (from memory): tokens of a picture of 1,024 x 1,024 pixels, or the one number.
TOKENS = {
    "google/gemma-3-4b-it": 256,
    "llava-hf/llava-1.5-7b-hf": 576,
    "OpenGVLab/InternVL3-8B-hf": 256,
    "mistral-community/pixtral-12b": 4096,
    "Qwen/Qwen2.5-VL-7B-Instruct": 37**2,
    "Qwen/Qwen3-VL-8B-Instruct": 32**2,
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 144,
}


def needed(tmp_path, facts, config, traffic):
    (tmp_path / "config.json").write_text(json.dumps(config))
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"name: x\nkind: inference\nmodel: ./config.json\ntraffic: {traffic}\n")
    return requirements(read_spec(spec, facts), facts)


@pytest.mark.parametrize("name", TOKENS)
def test_a_picture_takes_the_tokens_of_the_model(tmp_path, facts, name):
    need = needed(
        tmp_path, facts, CONFIGS[name], "{rps: 4, input_tokens: 100, output_tokens: 100, images: {per_request: 2}}"
    )
    assert need.serving.input_tokens == 100 + 2 * TOKENS[name]
    assert any(f"{TOKENS[name]:,} tokens an image" in note for note in need.assumptions)


@pytest.mark.parametrize(
    ("model", "side", "tokens"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", 224, 8**2),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 1280, 46**2),
        ("Qwen/Qwen3-VL-8B-Instruct", 2048, 64**2),
        ("google/gemma-3-27b-it", 2048, 256),
    ],
)
@pytest.mark.parametrize("kind", ["inference", "batch-inference"])
def test_a_stated_size_of_pictures_counts_or_is_said_not_to(facts, model, side, tokens, kind):
    images = f"images: {{resolution: {side}, per_request: 3}}"
    work = f"traffic: {{rps: 4, input_tokens: 100, output_tokens: 100, {images}}}"
    if kind == "batch-inference":
        work = f"batch: {{records: 1k, tokens_per_record: 100, window: 8h, {images}}}"
    need = requirements(parse_spec(f"name: x\nkind: {kind}\nmodel: {model}\n{work}\n", catalog=facts), facts)
    assert need.serving.input_tokens == 100 + 3 * tokens
    assert need.serving.architecture.image_tokens == tokens
    (note,) = [note for note in need.assumptions if "tokens an image" in note]
    assert note.startswith(f"{tokens:,} tokens an image")
    assert ("images.resolution does not change it" in note) == (tokens == 256)


def test_every_model_whose_tokens_grow_with_the_picture_is_in_the_table(facts):
    named = {m.key for m in facts.models.values() if "pixels a token" in m.note}
    assert named == {m.key for m in facts.models.values() if m.kind == "decoder" and _image_pixels(m.key)}


def test_what_is_not_known_is_said(tmp_path, facts):
    llava_next = CONFIGS["llava-hf/llava-v1.6-mistral-7b-hf"]  # a varying number of tiles
    need = needed(tmp_path, facts, llava_next, "{rps: 4, input_tokens: 100, output_tokens: 100, images: {}}")
    assert need.serving.input_tokens == 100
    assert any("images take no tokens here" in note for note in need.assumptions)


def test_requests_of_text_alone_do_not_pay_for_the_part_that_sees(tmp_path, facts):
    text = needed(
        tmp_path, facts, CONFIGS["Qwen/Qwen2.5-VL-7B-Instruct"], "{rps: 4, input_tokens: 100, output_tokens: 100}"
    )
    assert text.serving.architecture.image_tokens == 0
    assert text.serving.architecture.extra_params > 600e6
    assert not any("image" in note for note in text.assumptions)
