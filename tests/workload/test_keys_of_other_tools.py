"""Keys as practitioners name them: all fixes of one message, done together, give the spec that was meant."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.text import load_mapping

CHAT = "name: x\nkind: inference\nmodel: Qwen/Qwen3-8B\n"
LOAD = "traffic: {rps: 2, input_tokens: 800, output_tokens: 200}\n"
TUNE = "name: x\nkind: fine-tuning\nmodel: Qwen/Qwen3-8B\n"
SEES = "name: x\nkind: inference\nmodel: Qwen/Qwen2.5-VL-7B-Instruct\n"
FULL = f"{TUNE}training: {{method: full, tokens: 2B, sequence_length: 8k}}\n"


def mended(text: str) -> dict[str, Any]:
    """The spec with all fixes of its one message done, which is then read."""
    raw = load_mapping(text, "x.yaml")
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    missing = [fault.path for fault in refused.value.faults if fault.message.startswith("is missing")]
    assert len(missing) == len(set(missing))
    for fault in refused.value.faults:
        changed = repaired(raw, fault)
        assert changed is not None, fault
        raw = changed
    parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    return raw


@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("precision: fp8", {"weights": "fp8"}),
        ("dtype: bfloat16\nquant: awq", {"weights": "int4"}),
        ("dtype: float16\nquantization: gptq", {"precision": "fp16", "weights": "int4"}),
        ("weights: int4\nkv_cache_dtype: fp8", {"weights": "int4", "kv": "fp8"}),
        ("bits: 4", {"weights": "int4"}),
        ("load_in_8bit: true", {"weights": "int8"}),
        ("quantization: none", {}),
    ],
)
def test_a_form_of_weights_keeps_the_name_of_the_model(written: str, model: dict[str, str]) -> None:
    made = mended(f"{CHAT}{written}\n{LOAD}")["model"]
    assert made == ({"name": "Qwen/Qwen3-8B", **model} if model else "Qwen/Qwen3-8B")


def test_each_section_is_written_once_and_whole() -> None:
    text = f"{CHAT}weights: fp8\nkv_cache: fp8\nrps: 2\ninput_tokens: 800\noutput_tokens: 200\nlatency: 9s\nttft: 1s\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    fixes = [fault.fix for fault in refused.value.faults]
    written = [fix.removeprefix("write ") for fix in fixes if fix.startswith("write ")]
    spec = yaml.safe_load("name: x\nkind: inference\n" + "\n".join(written))
    assert spec["model"] == {"name": "Qwen/Qwen3-8B", "weights": "fp8", "kv": "fp8"}
    assert spec["traffic"] == {"rps": 2, "input_tokens": 800, "output_tokens": 200}
    assert spec["slo"] == {"latency": "9s", "ttft": "1s"}
    assert all(fix.startswith("leave it out: it is in ") for fix in fixes if not fix.startswith("write "))


@pytest.mark.parametrize(
    "written",
    [
        "training: {method: lora, dataset: tatsu-lab/alpaca, num_train_epochs: 3, sequence_length: 2048}",
        "training: {method: lora, train_file: data/train.jsonl, num_train_epochs: 3, sequence_length: 2048}",
        "training: {method: lora, data_path: s3://b/train, epochs: 3, max_seq_length: 2048}",
        "dataset: tatsu-lab/alpaca\nepochs: 3",
    ],
)
def test_a_data_set_without_its_samples_is_asked_for_them_at_once(written: str) -> None:
    training = mended(f"{TUNE}{written}\n")["training"]
    assert (training["samples"], training["epochs"]) == ("10k", 3)


@pytest.mark.parametrize(
    ("written", "slo"),
    [
        ("seconds_per_image: 12", {"latency": "12s"}),
        ("seconds_per_request: 12, ms_per_token: 40", {"latency": "12s", "tpot": "40ms"}),
        ("request_seconds: 12", {"latency": "12s"}),
        ("max_wait: 3s", {"latency": "3s"}),
        ("minutes_per_video: 2", {"latency": "2m"}),
    ],
)
def test_time_for_a_thing_is_a_latency(written: str, slo: dict[str, str]) -> None:
    assert mended(f"{CHAT}{LOAD}slo: {{{written}}}\n")["slo"] == slo


@pytest.mark.parametrize(
    ("written", "resources"),
    [
        ("accelerators: H100, gpus_per_node: 8, num_nodes: 4", {"accelerators": {"H100": 32}, "nodes": 4}),
        ("accelerators: [H100], nproc_per_node: 8, nnodes: 2", {"accelerators": {"H100": 16}, "nodes": 2}),
        ("accelerators: {H100: 8}, gpus_per_node: 8, nodes: 4", {"accelerators": {"H100": 32}, "nodes": 4}),
        ("accelerators: {H100: 32}, gpus_per_node: 8, nodes: 4", {"accelerators": {"H100": 32}, "nodes": 4}),
        ("gpus_per_node: 8, nodes: 4", {"gpus": 32, "nodes": 4}),
        ("instance_type: p5.48xlarge, gpus_per_node: 8, num_nodes: 4", {"instance_type": "p5.48xlarge", "nodes": 4}),
    ],
)
def test_accelerators_of_a_machine_are_counted_over_all(written: str, resources: dict[str, object]) -> None:
    assert mended(f"{FULL}resources: {{{written}}}\n")["resources"] == resources


@pytest.mark.parametrize(
    ("written", "resolution"),
    [("dpi: 150", 1475), ("page_size: A4, dpi: 200", 1966), ("paper_format: letter", 1450), ("scan_dpi: 300", 2950)],
)
def test_paper_and_dots_an_inch_are_the_size_of_a_page(written: str, resolution: int) -> None:
    made = mended(f"{SEES}traffic: {{pages_per_minute: 60, {written}, output_tokens: 500}}\n")["traffic"]
    assert made == {
        "rps": "60/min",
        "images": {"resolution": resolution},
        "input_tokens": 1500,
        "output_tokens": 500,
    }
    batch = f"batch: {{invoices: 40k, pages_per_invoice: 2, {written}, output_tokens_per_record: 400, window: 6h}}\n"
    made = mended(f"{SEES.replace('inference', 'batch-inference')}{batch}")["batch"]
    assert made["images"] == {"per_request": 2, "resolution": resolution}


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("rps: 2, n: 4", {"rps": 8}),
        ("requests_per_hour: 3600, best_of: 3", {"requests_per_hour": 10800}),
        ("rps: 60/min, completions_per_prompt: 2", {"rps": "120/min"}),
        ("questions_per_minute: 60, num_return_sequences: 2", {"rps": "120/min"}),
        ("prompts_per_day: 100k, completions_per_prompt: 4", {"rps": "400k/d"}),
        ("concurrent_users: 50, n: 2", {"concurrent_users": 100}),
    ],
)
def test_answers_to_a_request_multiply_the_rate(written: str, rate: dict[str, object]) -> None:
    made = mended(f"{CHAT}traffic: {{{written}, input_tokens: 800, output_tokens: 200}}\n")["traffic"]
    assert made == {**rate, "input_tokens": 800, "output_tokens": 200}


@pytest.mark.parametrize("key", ["max_tokens", "max_new_tokens", "max_completion_tokens", "max_output_tokens"])
def test_a_limit_of_answers_is_taken_where_no_mean_is_stated(key: str) -> None:
    load = f"traffic: {{rps: 2, input_tokens: 800, {key}: 1024"
    assert mended(f"{CHAT}{load}}}\n")["traffic"]["output_tokens"] == 1024
    assert mended(f"{CHAT}{load}, output_tokens: 200}}\n")["traffic"]["output_tokens"] == 200
    if key != "max_new_tokens":
        assert mended(f"{CHAT}{key}: 1024\n{LOAD}")["traffic"]["output_tokens"] == 200
    batch = f"batch: {{records: 9k, tokens_per_record: 800, window: 4h, {key}: 1024"
    nightly = CHAT.replace("inference", "batch-inference")
    assert mended(f"{nightly}{batch}}}\n")["batch"]["output_tokens_per_record"] == 1024
    assert mended(f"{nightly}{batch}, output_tokens_per_record: 99}}\n")["batch"]["output_tokens_per_record"] == 99


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("traffic: {rps: 2, qps: 5, input_tokens: 8, output_tokens: 2}", ("traffic", "rps", 2)),
        ("resources: {nodes: 1, num_nodes: 2}\n" + LOAD, ("resources", "nodes", 1)),
    ],
)
def test_the_same_key_by_two_names_keeps_its_own(written: str, kept: tuple[str, str, object]) -> None:
    section, key, value = kept
    assert mended(f"{CHAT}{written}\n")[section][key] == value


def test_the_prompts_of_preferences_are_in_the_sequence() -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(f"{TUNE}training: {{method: dpo, samples: 60k, max_length: 2k, max_prompt_length: 1k}}\n", "x.yaml")
    said = next(fault.fix for fault in refused.value.faults if fault.path == "training.max_prompt_length")
    assert said == "leave it out: sequence_length is that of prompt and answer together"


@pytest.mark.parametrize("key", ["requests_per_second", "images_per_minute", "users_per_second"])
def test_how_much_is_done_in_a_time_is_no_latency(key: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(f"{CHAT}{LOAD}slo: {{{key}: 5}}\n", "x.yaml", catalog=load())
    assert all("latency: 5" not in fault.fix for fault in refused.value.faults)


@pytest.mark.parametrize(
    ("written", "adapters"),
    [
        ("model: Qwen/Qwen3-8B\nadapters: 40\nlora_rank: 32", {"count": 40, "rank": 32}),
        ("model: Qwen/Qwen3-8B\nmax_loras: 20\nmax_lora_rank: 64", {"count": 20, "rank": 64}),
        ("model: Qwen/Qwen3-8B\nlora: {adapters: 20, rank: 64}", {"count": 20, "rank": 64}),
        ("model: Qwen/Qwen3-8B\nlora_adapters: [a, b, c]", {"count": 3}),
        ("model: {name: Qwen/Qwen3-8B, weights: fp8, adapters: 20}", {"count": 20}),
        ("model: {name: Qwen/Qwen3-8B, loras: 20, lora_rank: 8}", {"count": 20, "rank": 8}),
        ("model: Qwen/Qwen3-8B\nnum_adapters: 90\nmax_loras: 8\nenable_lora: true", {"count": 90, "resident": 8}),
    ],
)
def test_adapters_keep_their_number_and_rank(written: str, adapters: dict[str, int]) -> None:
    raw = mended(f"name: x\nkind: inference\n{LOAD}{written}\n")
    assert raw["model"]["name"] == "Qwen/Qwen3-8B"
    assert raw["model"]["adapters"] == adapters
    assert raw["model"].get("weights") == ("fp8" if "fp8" in written else None)


@pytest.mark.parametrize(
    "written",
    ["resources: {accelerators: none}", "resources: {accelerators: []}", "resources: {gpu: none}", "cpu_only: true",
     "resources: {gpus: 0}", "resources: {cpu_only: true}", "no_gpu: true", "gpu: none"],
)  # fmt: skip
def test_without_accelerators_is_on_cpus(written: str) -> None:
    text = "name: x\nkind: inference\nmodel: distilbert/distilbert-base-uncased\ntraffic: {rps: 5, input_tokens: 90}\n"
    assert mended(f"{text}{written}\n")["resources"]["accelerators"] in (["cpu"], "cpu")


@pytest.mark.parametrize(
    ("named", "base"),
    [
        ("distilbert-base-uncased-finetuned-sst-2-english", "distilbert/distilbert-base-uncased"),
        ("cardiffnlp/twitter-roberta-base-sentiment-latest", "FacebookAI/roberta-base"),
    ],
)
def test_a_fine_tune_that_is_named_after_its_base_has_its_size(named: str, base: str) -> None:
    text = f"name: x\nkind: inference\nmodel: {named}\ntraffic: {{rps: 5, input_tokens: 90}}\n"
    assert mended(text)["model"] == base


def test_an_encoder_without_a_base_is_called_one() -> None:
    text = "name: x\nkind: inference\nmodel: org/camembert-classifier\ntraffic: {rps: 5, input_tokens: 90}\n"
    with pytest.raises(SpecError, match=r"model: \{family: encoder, params"):
        parse_spec(text, "x.yaml", catalog=load())


def test_several_typos_keep_the_figures() -> None:
    stated = "trafic: {rps: 9, input_token: 800, outputs: 120}\nslo: {ttft: 500 msec}\ninfa: [aws/us-east-2]\n"
    raw = mended(f"{CHAT}{stated}")
    assert raw["traffic"] == {"rps": 9, "input_tokens": 800, "output_tokens": 120}
    assert (raw["slo"], raw["infra"]) == ({"ttft": "500ms"}, ["aws/us-east-2"])


def test_a_guess_that_stands_for_others_names_them() -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(f"{CHAT}{LOAD}infa: [aws/us-est-1]\n", "x.yaml", catalog=load())
    assert {"aws/us-east-1", "aws/us-west-1"} <= set(
        refused.value.faults[0].fix.replace("[", " ").replace("]", "").replace(",", "").split()
    )


@pytest.mark.parametrize(
    "more",
    [
        "max_completion_tokens: 1024",
        "generations_per_prompt: 8, rollouts: 8",
        "kl_coef: 0.1",
        "group_size: 8, max_new_tokens: 512",
    ],
)
def test_no_fix_writes_a_value_that_the_message_refuses(more: str) -> None:
    text = f"{TUNE}training: {{method: grpo, samples: 20k, sequence_length: 2048, {more}}}\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    unknown = [fault.fix for fault in refused.value.faults if fault.message.startswith("unknown key")]
    assert unknown
    assert all(fix.startswith("leave it out") for fix in unknown)


def test_the_rank_of_a_run_at_the_top_is_kept() -> None:
    raw = mended(f"{TUNE}training: {{method: lora, samples: 9k, sequence_length: 1024}}\nlora_rank: 32\n")
    assert raw["training"]["lora"] == {"rank": 32}
