"""The form in which models are published, as people name them and as their config.json says it."""

from __future__ import annotations

import json

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.precision import base_names, known_model, weights_of_config, weights_of_name
from sizewell.sizing.workload.read import parse_spec, read_spec

CATALOG = load()

# Names of checkpoints on the Hugging Face Hub, and what is stored in them.
NAMES = {
    "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic": "fp8",
    "neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w8a8": "int8",
    "neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w4a16": "int4",
    "RedHatAI/Llama-3.3-70B-Instruct-NVFP4": "fp4",
    "nvidia/Llama-3.1-405B-Instruct-FP8": "fp8",
    "nvidia/DeepSeek-R1-FP4": "fp4",
    "TheBloke/Llama-2-7B-GPTQ": "int4",
    "TheBloke/Llama-2-13B-AWQ": "int4",
    "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8": "int8",
    "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4": "int4",
    "Qwen/Qwen3-32B-FP8": "fp8",
    "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4": "int4",
    "unsloth/Meta-Llama-3.1-8B-bnb-4bit": "int4",
    "bartowski/Llama-3.2-3B-Instruct-GGUF": "int4",
    "lmstudio-community/Qwen3-8B-Q8_0-GGUF": "int8",
    "ggml-org/gpt-oss-20b-MXFP4": "fp4",
    "meta-llama/Llama-3.1-8B": None,
    "microsoft/Phi-4-mini-instruct": None,
    "Qwen/Qwen3-8B": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_says_how_the_weights_are_stored(name):
    assert weights_of_name(name) == NAMES[name]


def test_no_model_of_the_catalog_is_taken_for_a_quantized_one_by_accident():
    said = {key for key in CATALOG.models if weights_of_name(key)}
    assert said
    assert all("FP8" in key or "fp8" in key or "FP4" in key or "4bit" in key for key in said), said


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "Llama-3.1-8B"),
        ("hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "Llama-3.1-70B"),
        ("TheBloke/Llama-2-7B-GPTQ", "Llama-2-7b"),
        ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int8", "Qwen2.5-72B"),
    ],
)
def test_a_quantized_checkpoint_has_the_dimensions_of_what_it_was_made_of(name, model):
    assert list(base_names(name))
    found = known_model(name, CATALOG)
    assert model.lower() in found.key.lower()


def test_what_is_neither_known_nor_made_of_a_known_model_is_unknown():
    with pytest.raises(KeyError, match="unknown model"):
        known_model("somebody/unheard-of-AWQ", CATALOG)


# `quantization_config` as the tools that write checkpoints write it.
CONFIGS = [
    ({"quant_method": "fp8", "weight_block_size": [128, 128], "fmt": "e4m3"}, "fp8"),
    ({"quant_method": "fbgemm_fp8"}, "fp8"),
    ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, "fp4"),
    ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4"),
    ({"quant_method": "gptq", "bits": 8}, "int8"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4"),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "int-quantized",
            "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"}, "targets": ["Linear"]}},
        },
        "int8",
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "float-quantized",
            "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}, "targets": ["Linear"]}},
        },
        "fp8",
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "nvfp4-pack-quantized",
            "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
        },
        "fp4",
    ),
]


@pytest.mark.parametrize(("quantization", "weights"), CONFIGS, ids=lambda v: str(v)[:40])
def test_a_configuration_says_how_the_weights_are_stored(quantization, weights):
    assert weights_of_config({"quantization_config": quantization}, "x") == weights


@pytest.mark.parametrize("quantization", [{"quant_method": "aqlm", "bits": 2}, {"quant_method": "gptq", "bits": 3}])
def test_a_method_that_is_not_sized_is_refused_by_name(quantization):
    with pytest.raises(SpecError, match=f"{quantization['quant_method']} in {quantization['bits']} bits is not sized"):
        weights_of_config({"quantization_config": quantization}, "x")


LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}
CHAT = "name: x\nkind: inference\nmodel: {}\ntraffic: {{rps: 1, input_tokens: 500, output_tokens: 100}}\n"


def test_a_model_that_ships_quantized_is_sized_so_and_the_answer_says_it(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "quantization_config": {"quant_method": "fp8"}}))
    (tmp_path / "s.yaml").write_text(CHAT.format("./config.json"))
    for spec, weights in (
        (read_spec(tmp_path / "s.yaml", CATALOG), "fp8"),
        (parse_spec(CHAT.format("openai/gpt-oss-120b"), catalog=CATALOG), "fp4"),
        (parse_spec(CHAT.format("deepseek-ai/DeepSeek-V3"), catalog=CATALOG), "fp8"),
        (parse_spec(CHAT.format("TheBloke/Llama-2-7B-AWQ"), catalog=CATALOG), "int4"),
    ):
        need = requirements(spec, CATALOG)
        assert need.serving is not None
        assert need.serving.weights == weights
        assert any(f"weights in {weights}" in note for note in need.assumptions), need.assumptions
    stated = parse_spec(CHAT.format("{name: openai/gpt-oss-120b, weights: bf16}"), catalog=CATALOG)
    need = requirements(stated, CATALOG)
    assert need.serving is not None
    assert need.serving.weights == "bf16"
    assert not any("weights in" in note for note in need.assumptions)


# Kinds of model that the dimensions of a plain transformer say nothing right about, by the keys of their configurations.
OTHERS = {
    "nemotron_h": {"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*-", "ssm_state_size": 128},
    "jamba": {"model_type": "jamba", "attn_layer_period": 8, "mamba_d_state": 16},
    "qwen3_next": {"model_type": "qwen3_next", "layer_types": ["linear_attention", "full_attention"] * 16},
    "falcon_mamba": {"model_type": "falcon_mamba", "state_size": 16},
    "brand_new_hybrid": {"model_type": "brand_new_hybrid", "layer_types": ["mamba", "full_attention"] * 16},
    "t5": {"model_type": "t5", "is_encoder_decoder": True, "num_decoder_layers": 24},
    "bart": {"model_type": "bart", "is_encoder_decoder": True},
    "whisper": {"model_type": "whisper", "is_encoder_decoder": True},
    "clip": {"model_type": "clip", "text_config": LLAMA, "vision_config": {}},
    "siglip": {"model_type": "siglip", "text_config": LLAMA},
    "some_new_detector": {"model_type": "some_new_detector", "architectures": ["SomeNewForObjectDetection"]},
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_kinds_of_model_are_refused_by_name_and_never_counted_as_a_plain_transformer(kind, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, **OTHERS[kind]}))
    (tmp_path / "s.yaml").write_text(CHAT.format("./config.json"))
    with pytest.raises(SpecError, match=f"{kind} is a.*not counted from its config.json"):
        requirements(read_spec(tmp_path / "s.yaml", CATALOG), CATALOG)


# Files that lie beside a model's config.json, or in its place, by what their formats always state.
FILES = {
    "a LoRA adapter's": (
        {"base_model_name_or_path": "meta-llama/Llama-3.1-8B", "peft_type": "LORA", "r": 16},
        "configuration of a lora for meta-llama/Llama-3.1-8B.*\n.*model: meta-llama/Llama-3.1-8B",
    ),
    "a pipeline's": (
        {"_class_name": "FluxPipeline", "_diffusers_version": "0.30.0"},
        "pipeline of diffusers .FluxPipeline",
    ),
    "a tokenizer's": (
        {"tokenizer_class": "LlamaTokenizer"},
        "configuration of a tokenizer.*\n.*use the model's config.json",
    ),
    "the weights' index": ({"metadata": {}, "weight_map": {}}, "index of a model's weights"),
    "a preprocessor's": ({"image_processor_type": "CLIPImageProcessor"}, "configuration of an image processor"),
}


@pytest.mark.parametrize("file", FILES)
def test_another_file_of_a_model_is_refused_for_what_it_is(file, tmp_path):
    content, message = FILES[file]
    (tmp_path / "config.json").write_text(json.dumps(content))
    (tmp_path / "s.yaml").write_text(CHAT.format("./config.json"))
    with pytest.raises(SpecError, match=message):
        requirements(read_spec(tmp_path / "s.yaml", CATALOG), CATALOG)
