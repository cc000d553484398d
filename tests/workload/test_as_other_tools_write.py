"""Specs with values as other tools write them, and files of other libraries: one message each, in its place, with what to
write instead, and that is read.
"""

from __future__ import annotations

import json

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec, read_spec

SERVICE = "name: chat\nkind: inference\nmodel: meta-llama/Llama-3.1-8B\ntraffic: {rps: 4, input_tokens: 1500, output_tokens: 300}\n"
RUN = (
    "name: run\nkind: training\nmodel: {params: 8B}\ntraining: {tokens: 55B, sequence_length: 8192, global_batch: 4M}\n"
)
TUNE = "name: t\nkind: fine-tuning\nmodel: meta-llama/Llama-3.1-8B\ntraining: {samples: 50k, sequence_length: 4096}\n"


def line(base: str, number: int, text: str) -> str:
    lines = base.splitlines()
    lines[number - 1 :] = [text, *lines[number:]]
    return "\n".join(lines) + "\n"


VALUES = {  # what is written: (spec, line and column, path, the way out)
    "8xH100": (SERVICE + "resources: {accelerators: [8xH100]}", "5:27: resources.accelerators", "write {H100: 8}, the number over all machines, or [H100]"),
    "a region of a cloud without any": (SERVICE + "infra: [oci/us-ashburn-1]", "5:9: infra[0]", "write oci"),
    "a region of another cloud": (SERVICE + "infra: [aws/westeurope]", "5:9: infra[0]", "write azure/westeurope"),
    "requests of a month": (SERVICE.replace("rps: 4", "requests_per_month: 1M"), "4:11: traffic.requests_per_month", "write rps: 33333/d"),
    "requests of a week": (SERVICE.replace("rps: 4", "requests_per_week: 700k"), "4:11: traffic.requests_per_week", "write rps: 100000/d"),
    "no region": (SERVICE + "infra: [aws/mars]", "5:9: infra[0]", "aws/us-west-2"),
    "a number of each": (SERVICE + "resources: {accelerators: [A100:8, L4]}", "5:28: resources.accelerators[0]", "write A100; a number"),
    "two numbers": (SERVICE + "resources: {accelerators: {A100: 8, L4: 4}}", "5:27: resources.accelerators", "write one with its number: {A100: 8}"),
    "resources: 64 H100": (SERVICE + "resources: 64 H100", "5:12: resources", "write resources: {accelerators: {H100: 64}}"),
    "gpu: 2x L4": (SERVICE + "gpu: 2x L4", "5:1: gpu", "write resources: {accelerators: {L4: 2}}"),
    "resources.gpu: 8 H100": (SERVICE + "resources: {gpu: 8 H100}", "5:18: resources.gpu", "write accelerators: {H100: 8}"),
    "resources.type": (SERVICE + "resources: {type: H100}", "5:13: resources.type", "write accelerators: [H100]"),
    "H100:8": (SERVICE + "resources: {accelerators: 'H100:8'}", "5:27: resources.accelerators", "write {H100: 8}"),
    "two by number": (SERVICE + "resources: {accelerators: {H100: 8, A100: 8}}", "5:27: resources.accelerators", "write one with its number"),
    "a machine among accelerators": (SERVICE + "resources: {accelerators: p5.48xlarge}", "5:27: resources.accelerators[0]", "instance_type: p5.48xlarge"),
    "an accelerator among machines": (SERVICE + "resources: {instance_type: H100}", "5:28: resources.instance_type[0]", "accelerators: [H100]"),
    "a name for a size": (SERVICE + "resources: {gpu: H100}", "5:18: resources.gpu", "write accelerators: [H100]"),
    "a slice in one word": (SERVICE + "resources: {tpu: v5e-16}", "5:18: resources.tpu", "write tpu: {type: v5e, topology: 2x4}, nodes: 2, 16 chips"),
    "generation and topology swapped": (SERVICE + "resources: {tpu: {type: 4x4, topology: v5e}}", "5:40: resources.tpu.topology", "swap type and topology"),
    "a region alone": (SERVICE + "infra: us-east-1", "5:8: infra[0]", "write aws/us-east-1"),
    "cloud and region as a mapping": (SERVICE + "infra: {cloud: aws, region: us-east-1}", "5:8: infra", "write infra: [aws/us-east-1]"),
    "cloud and region with a colon": (SERVICE + "infra: [aws:us-east-1]", "5:8: infra", "write infra: [aws/us-east-1]"),
    "a country": (SERVICE + "data: {residency: Germany}", "5:19: data.residency", "write infra: [aws/eu-central-1, "),
    "percentile as a number": (SERVICE + "slo: {ttft: 500ms, percentile: 99}", "5:32: slo.percentile", "write p99"),
    "percentile as a share": (SERVICE + "slo: {ttft: 500ms, percentile: 0.95}", "5:32: slo.percentile", "write p95"),
    "a rate for a time": (SERVICE + "slo: {tpot: 20 tok/s}", "5:13: slo.tpot", "time per token: write 50ms"),
    "dollars": (SERVICE + "budget: {monthly: $5000}", "5:19: budget.monthly", "write 5000 USD"),
    "euros": (SERVICE + "budget: {monthly: 5000 €}", "5:19: budget.monthly", "prices are in USD"),
    "version behind the name": (SERVICE + "engine: vllm==0.11.0", "5:9: engine.name", "write engine: {name: vllm, version: 0.11.0}"),
    "an image for an engine": (SERVICE + "engine: vllm/vllm-openai:v0.11.0", "5:9: engine.name", "write its name: vllm"),
    "an engine that nobody predicts": (SERVICE + "engine: tgi", "5:9: engine.name", "name vllm, or leave it out"),
    "an engine without a release there": (SERVICE + "engine: tensorrt-llm\nresources: {accelerators: mi300x}", "5:9: engine.name", "use engine: vllm or sglang"),
    "an engine that is no TPU's": (RUN + "engine: deepspeed\nresources: {tpu: {type: v5p}}", "5:9: engine.name", "use engine: fsdp or maxtext"),
    "software of another framework": (RUN + "engine: megatron\nframework: jax", "5:9: engine.name", "use framework: pytorch"),
    "a precision that it does not compute in": (line(RUN, 3, "model: {params: 8B, precision: fp8}") + "resources: {accelerators: A100}", "3:32: model.precision", "use bf16"),
    "tokens with their unit": (line(SERVICE, 4, "traffic: {rps: 4, input_tokens: 1.5k tokens}"), "4:33: traffic.input_tokens", "write 1.5k"),
    "a load in sections": (line(SERVICE, 4, "traffic: {load: {rps: 4}, input_tokens: 5}"), "4:11: traffic.load", "one of rps, requests_per_hour"),
    "a context length": (line(SERVICE, 3, "model: {name: meta-llama/Llama-3.1-8B, context: 32k}"), "3:40: model.context", "follows from traffic.input_tokens"),
    "a draft model": (line(SERVICE, 3, "model: {name: meta-llama/Llama-3.1-8B, draft: x}"), "3:40: model.draft", "traffic: speculative: {draft: MODEL, acceptance: 70%}"),
    "billions in words": (line(RUN, 3, "model: {params: 8 billion}"), "3:17: model.params", "write 8B"),
    "experts in a number": (line(RUN, 3, "model: {params: 8x7B}"), "3:17: model.params", "params: 47B, active_params: 13B"),
    "a section with dashes": (line(RUN, 4, "training: [{tokens: 55B}, {sequence_length: 8192}]"), "4:11: training", "its keys without dashes"),
    "a list for a range": (RUN + "resources: {nodes: [1, 8]}", "5:20: resources.nodes", "write 1..8"),
    "a dash for a range": (RUN + "resources: {nodes: 1-8}", "5:20: resources.nodes", "write 1..8"),
    "an interval alone": (RUN + "checkpoint: 30m", "5:13: checkpoint", "write checkpoint: {interval: 30m}"),
    "a block alone": (RUN + "capacity: block", "5:11: capacity", "write capacity: {block: {duration: 72h}}"),
    "a date for a time": (RUN + "deadline: 2026-12-24", "5:11: deadline", "how long from the start"),
    "no end": (RUN + "ttl: never", "5:6: ttl", "leave it out"),
    "yes to spot": (RUN + "spot_policy: yes", "5:14: spot_policy", "write spot"),
    "hours alone": (SERVICE + "schedule: Mon-Fri 9-17", "5:11: schedule", 'write schedule: {on: "Mon-Fri'),
    "adapters as PEFT has them": (line(TUNE, 4, "training: {samples: 50k, method: lora, lora: {r: 16}, sequence_length: 4096}"), "4:47: training.lora.r", "did you mean 'rank'?"),
    "preferences": (line(TUNE, 4, "training: {samples: 50k, method: grpo, sequence_length: 4096}"), "4:34: training.method", "size the policy's training and its serving"),
    "training of what hears": (line(TUNE, 3, "model: openai/whisper-large-v3"), "3:8: model", "size the machine alone"),
    "a store": (line(SERVICE, 3, "model: s3://bucket/llama"), "3:8: model", "where they lie is given to sizewell launch --model"),
    "a folder": (line(SERVICE, 3, "model: ./llama/"), "3:8: model", "name the file in it: ./llama/config.json"),
    "weights": (line(SERVICE, 3, "model: ./model.safetensors"), "3:8: model", "it does not state the model's form"),
    "NeMo's file": (line(SERVICE, 3, "model: ./model_config.yaml"), "3:8: model", "it does not state the model's form"),
    "a projector": (line(SERVICE, 3, "model: ./mmproj-F16.gguf"), "3:8: model", "a projector is a part of a model"),
}  # fmt: skip
FILES = {  # a file beside the spec: (its content, what it is said to be, the way out)
    "GGUF's metadata": ({"general.architecture": "llama", "llama.block_count": 32}, "GGUF", "name the model that it was made of"),
    "a projector's": ({"general.architecture": "clip", "clip.has_vision_encoder": True}, "mmproj", "the model it belongs to"),
    "model_index.json": ({"_class_name": "FluxPipeline", "transformer": ["diffusers", "x"]}, "the index of a pipeline of diffusers", "family: diffusion"),
    "a denoiser's": ({"_class_name": "FluxTransformer2DModel", "num_layers": 19}, "a part of a pipeline of diffusers", "family: diffusion"),
    "adapter_config.json": ({"peft_type": "LORA", "base_model_name_or_path": "a/b"}, "a lora for a/b", "name the base model: model: a/b"),
    "an adapter's without its base": ({"peft_type": "LORA", "r": 16}, "a model that it does not name", "name the base model"),
    "generation_config.json": ({"temperature": 0.6, "eos_token_id": 2}, "text generation", "use the model's config.json"),
    "tokenizer.json": ({"version": "1.0", "added_tokens": [], "model": {}}, "a tokenizer", "use the model's config.json"),
    "Sentence Transformers'": ({"__version__": {}, "prompts": {}}, "Sentence Transformers", "use the model's config.json"),
    "DeepSpeed's": ({"zero_optimization": {"stage": 3}}, "DeepSpeed's", "engine: deepspeed"),
    "timm's": ({"architecture": "resnet50", "pretrained_cfg": {}}, "timm's", "name a model of the catalog"),
    "Ollama's": ({"model_format": "gguf", "model_type": "8.0B"}, "Ollama's", "name the model that it was made of"),
    "Keras'": ({"class_name": "GemmaBackbone", "config": {}}, "a Keras model", "for Transformers"),
    "Meta's params.json": ({"dim": 4096, "n_layers": 32, "n_heads": 32, "ffn_dim_multiplier": 1.3}, "Meta's own release", "Hugging Face repository"),
    "nothing": ({}, "is empty", "use the model's config.json"),
    "another's": ({"config": {"hidden_size": 4096}}, "has no layers and no hidden", "the config.json of a Hugging Face model"),
    "three bits": ({"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 3}}, "gptq in 3 bits", "state model.weights"),
    "a pointer": ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is not JSON", "run git lfs pull"),
    "a page": ("<!doctype html><title>Access</title>", "is not JSON", "download it again"),
    "broken": ('{"model_type": "llama",,}', "is not JSON", "use the model's config.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_another_tool_is_told_where_it_stands(name):
    text, place, way = VALUES[name]
    with pytest.raises(SpecError) as refused:
        parse_spec(text + "\n", "spec.yaml", catalog=load())
    fault = next(fault for fault in refused.value.faults if f"spec.yaml:{place}: " in str(fault))
    assert way in fault.fix


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_library_is_named_for_what_it_is(name, tmp_path):
    content, what, way = FILES[name]
    (tmp_path / "config.json").write_text(content if isinstance(content, str) else json.dumps(content))
    (tmp_path / "spec.yaml").write_text(line(SERVICE, 3, "model: ./config.json"))
    with pytest.raises(SpecError) as refused:
        read_spec(tmp_path / "spec.yaml", load())
    (fault,) = refused.value.faults
    assert fault.at == (3, 8)
    assert what in str(fault)
    assert way in fault.fix


def test_the_ways_out_are_read():
    for more in (
        "resources: {tpu: {type: v5e}}",
        "infra: [aws/us-east-1]",
        "slo: {tpot: 50ms, percentile: p99}",
        "budget: {monthly: 5000 USD}",
        "engine: {name: vllm, version: 0.11.0}",
        'schedule: {on: "Mon-Fri 09:00-17:00 Europe/London"}',
    ):
        assert parse_spec(SERVICE + more + "\n", catalog=load())
    for more in ("resources: {nodes: 1..8}", "checkpoint: {interval: 30m}", "capacity: {block: {duration: 72h}}"):
        assert parse_spec(RUN + more + "\n", catalog=load())


def test_a_quantized_file_of_a_tag_is_read():
    """As Ollama and llama.cpp name it, with the format behind a colon."""
    spec = parse_spec(line(SERVICE, 3, "model: bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M"), catalog=load())
    assert spec.model.weights == "int4"
