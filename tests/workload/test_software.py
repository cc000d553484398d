"""`engine`: the software that a spec names is predicted, checked against work and accelerator, and launched."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.layouts.space import space
from sizewell.sizing.predict.performance.serving_constants import constants
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.software import SOFTWARE, serves

CHAT = """
name: x
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 2, input_tokens: 500, output_tokens: 100}
slo: {ttft: 2s, tpot: 80ms}
"""
RUN = """
name: x
kind: training
model: meta-llama/Llama-3.1-8B
training: {tokens: 1B, sequence_length: 4096}
"""
ON = date(2026, 11, 20)
CATALOG = load()


def need(text):
    return requirements(parse_spec(text, catalog=load()), load())


def test_the_default_is_said_and_what_is_named_is_predicted():
    silent = need(CHAT)
    assert "run by vllm, which is launched (engine is not stated)" in silent.assumptions
    assert silent.serving.engine == "vllm"
    named = need(CHAT + "engine: tensorrt-llm\n")
    assert named.serving.engine == "tensorrt-llm"
    assert not any("engine is not stated" in note for note in named.assumptions)
    assert need(CHAT + "engine: {name: vllm, version: 0.6.3}\n").serving.engine == "vllm-v0"
    assert need(CHAT + "engine: {name: vllm, version: 0.11.0}\n").serving.engine == "vllm"
    named = need(RUN + "engine: megatron\n").training
    assert (named.engine, named.engine_assumed) == ("megatron-bridge", False)  # of today, not the Megatron of 2021
    assert any("PyTorch with FSDP" in note for note in need(RUN).assumptions)


@pytest.mark.parametrize("engine", [name for name, software in SOFTWARE.items() if software.work == "serving"])
def test_the_decision_has_the_engine_and_its_machines_can_run_it(engine):
    facts, framework = load(), "framework: jax\n" if engine == "jetstream" else ""
    decision = decide([parse_spec(CHAT + framework + f"engine: {engine}\n")], facts, stack="", on=ON)
    assert isinstance(decision, Decision), decision
    workload = decision.workloads[0]
    assert workload.task.engine == engine
    assert facts.accelerators[workload.pools[0].accelerator].runtime in SOFTWARE[engine].runtimes


def test_an_accelerator_that_cannot_run_the_engine_is_rejected_with_the_reason():
    sizing = size_one(parse_spec(CHAT + "engine: tensorrt-llm\ninfra: [gcp, azure]\n"), load(), stack="", on=ON)
    reasons = {r.shape: r.reason for r in sizing.rejections}
    assert "tensorrt-llm has no release for" in reasons["azure/Standard_ND96isr_MI300X_v5"]


def test_software_for_other_work_and_unknown_software_are_refused_with_their_place():
    with pytest.raises(SpecError, match=r"spec:7:9: engine\.name: megatron is software for training"):
        parse_spec(CHAT + "engine: megatron\n")
    with pytest.raises(SpecError, match="did you mean vllm"):
        parse_spec(CHAT + "engine: vlm\n")


def test_every_engine_that_has_constants_of_its_own_uses_them():
    fitted = constants().engines
    assert {"vllm", "tensorrt-llm", "sglang", "llama.cpp"} <= fitted.keys()


def test_what_is_assumed_is_the_usual_software_of_each_accelerator_and_the_decision_says_it():
    asked = need(RUN + "resources: {accelerators: [h100, tpu-v5p, trainium1, gaudi3]}\n")
    usual = {runtime: asked.on(runtime) for runtime in ("cuda", "tpu", "neuron", "gaudi")}
    assert {runtime: own.training.engine for runtime, own in usual.items()} == {
        "cuda": "",
        "tpu": "torch-xla",
        "neuron": "neuron",
        "gaudi": "habana",
    }
    assert all(own.training.engine_assumed for own in usual.values())
    said = {runtime: [n for n in own.assumptions if "engine is not stated" in n] for runtime, own in usual.items()}
    assert [len(notes) for notes in said.values()] == [1, 1, 1, 1]
    assert len({notes[0] for notes in said.values()}) == 4
    experts = need(RUN.replace("meta-llama/Llama-3.1-8B", "deepseek-ai/DeepSeek-V3"))
    assert experts.training.engine == "megatron-bridge"
    assert experts.on("tpu").training.engine == "torch-xla"  # Megatron-Core has no release for it


def test_a_choice_of_another_accelerator_is_predicted_with_its_own_software():
    text = RUN + "infra: [gcp]\nresources: {accelerators: [tpu-v5p, t4]}\n"
    decision = decide([parse_spec(text)], load(), stack="", on=ON)
    assert isinstance(decision, Decision), decision
    workload = decision.workloads[0]
    assert workload.pools[0].accelerator == "tpu-v5p"
    assert "run by PyTorch/XLA, as is usual for such work (engine is not stated)" in workload.assumptions
    assert not any("FSDP" in note or "Megatron" in note for note in workload.assumptions)
    named = decide([parse_spec(text + "engine: fsdp\n")], load(), stack="", on=ON)
    alone = decide([parse_spec(RUN + "infra: [gcp]\nresources: {accelerators: [tpu-v5p]}\n")], load(), stack="", on=ON)
    assert isinstance(named, Decision)
    assert isinstance(alone, Decision)
    assert workload.performance == alone.workloads[0].performance  # whoever else was a candidate


def test_changed_inputs_are_predicted_with_the_same_software():
    asked = need(RUN)
    shorter = replace(asked, training=replace(asked.training, sequence_length=2048))
    assert shorter.on("tpu").training.sequence_length == 2048


TUNE = """
name: x
kind: fine-tuning
model: {name: meta-llama/Llama-3.1-8B, weights: nf4}
training: {method: METHOD, samples: 10k, sequence_length: 2048}
"""


@pytest.mark.parametrize("engine", [name for name, software in SOFTWARE.items() if software.work == "training"])
def test_software_that_people_tune_with_is_predicted_and_refuses_what_it_has_no_method_for(engine):
    tune = TUNE if "qlora" in SOFTWARE[engine].methods else TUNE.replace(", weights: nf4", "")
    for method in ("full", "lora", "qlora"):
        text = tune.replace("METHOD", method)
        text = text if method == "qlora" else text.replace(", weights: nf4", "")
        if engine in ("maxtext", "neuron"):
            continue
        if method in SOFTWARE[engine].methods:
            assert need(text + f"engine: {engine}\n").training.engine == SOFTWARE[engine].predicted_as
        else:
            with pytest.raises(SpecError, match=f"{engine} has no method: {method}"):
                parse_spec(text + f"engine: {engine}\n")


def test_hugging_faces_libraries_are_given_layouts_that_they_have():
    job = need(TUNE.replace("METHOD", "lora").replace(", weights: nf4", "") + "engine: trl\n").training
    layouts = space(job, 16, 8, 8).columns
    assert len(layouts["tp"]) > 0
    for name in ("tp", "pp", "cp", "ep"):
        assert set(layouts[name].tolist()) == {1.0}


@pytest.mark.parametrize(
    ("engine", "model", "load", "says"),
    [
        ("text-embeddings-inference", "meta-llama/Llama-3.1-8B", "traffic: {rps: 1, input_tokens: 9, output_tokens: 9}",
         "does not serve text-generating models, and meta-llama/Llama-3.1-8B is one\n  fix: use vllm"),
        ("vllm", "stabilityai/stable-diffusion-xl-base-1.0", "traffic: {rps: 0.1}", "fix: remove it: triton serves them"),
        ("sglang", "resnet50", "traffic: {rps: 10}", "sglang does not serve vision models"),
        ("text-embeddings-inference", "openai/whisper-large-v3", "traffic: {rps: 1, audio: 20s}", "use vllm, or remove it"),
        ("llama.cpp", "openai/whisper-large-v3", "traffic: {rps: 1, input_tokens: 9}", "does not serve speech models"),
        ("vllm", "{family: vision, params: 25M, forward_flop_per_sample: 8B}", "traffic: {rps: 1}", "does not serve vision"),
        ("vllm", "stabilityai/stable-diffusion-xl-base-1.0", "batch: {records: 1k, window: 8h}", "not serve diffusion"),
    ],
)  # fmt: skip
def test_an_engine_that_is_not_for_the_model_is_refused_before_anything_is_sized(engine, model, load, says):
    kind = "batch-inference" if load.startswith("batch") else "inference"
    with pytest.raises(SpecError) as caught:
        parse_spec(f"name: x\nkind: {kind}\nmodel: {model}\n{load}\nengine: {engine}\n", catalog=CATALOG)
    assert "engine.name" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("engine", ["text-embeddings-inference", "vllm", "sglang"])
def test_an_engine_for_embeddings_takes_a_language_model_that_writes_nothing(engine):
    embeds = CHAT.replace("output_tokens: 100", "output_tokens: 0").replace("slo: {ttft: 2s, tpot: 80ms}", "")
    assert parse_spec(f"{embeds}engine: {engine}\n", catalog=CATALOG).engine.name == engine


def test_what_is_sized_for_an_engine_is_what_it_is_launched_for():
    """One table: every family that an engine is launched for may be asked for, and no other."""
    for name, engine in ENGINES.items():
        for family in ("decoder", "encoder", "speech", "vision", "diffusion"):
            assert serves(name, family) is (family in engine.families)


def test_an_encoder_decoder_is_not_sent_to_a_config_that_is_refused():
    of_its_size = "google-t5/t5-large"
    for name, named in (
        ("google/flan-t5-xl", True),  # its name says no number: it is named for the case that it is as large
        ("facebook/bart-large-cnn", True),
        ("facebook/nllb-200-3.3B", False),
    ):
        text = f"name: x\nkind: fine-tuning\nmodel: {name}\ntraining: {{method: lora, samples: 10k, sequence_length: 512}}\n"
        with pytest.raises(SpecError) as refused:
            parse_spec(text, catalog=load())
        fix = refused.value.faults[0].fix
        assert "config.json" not in fix
        assert (of_its_size in fix) == named
        assert named or "size the machine alone: kind: notebook" in fix


def test_training_that_is_not_sized_is_not_given_the_bytes_of_serving_alone():
    text = "name: x\nkind: fine-tuning\nmodel: openai/whisper-large-v3\ntraining: {method: full, samples: 50k}\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, catalog=load())
    assert "16 to train all of it (AdamW)" in refused.value.faults[0].fix
