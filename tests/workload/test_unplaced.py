"""Keys that no rule places have a way out, and no number of a load is lost by following what a message says."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.text import load_mapping

SERVES = "name: n\nkind: inference\nmodel: Qwen/Qwen3-8B\n"
HEARS = "name: n\nkind: inference\nmodel: openai/whisper-large-v3\n"
BATCH = "name: n\nkind: batch-inference\nmodel: Qwen/Qwen3-14B\n"
TRAINS = "name: n\nkind: fine-tuning\nmodel: Qwen/Qwen2.5-7B\n"
TOKENS = "input_tokens: 900, output_tokens: 200"


def refused(text: str) -> tuple[dict[str, str], str]:
    """The fix of each key, and what is said of all of them."""
    with pytest.raises(SpecError) as error:
        parse_spec(text, catalog=load())
    return {fault.path: fault.fix for fault in error.value.faults}, error.value.note


@pytest.mark.parametrize(
    ("text", "fixes"),
    [
        (f"{SERVES}traffic: {{employees: 4000, online: 10%, think_time: 30s, {TOKENS}}}",
         {"employees": "write concurrent_users: 400", "online": "leave it out: it is in concurrent_users: 400"}),
        (f"{HEARS}traffic: {{agents: 200, share_of_agents_on_a_call: 60%}}",
         {"agents": "write rps: 4, audio: 30s", "share_of_agents_on_a_call": "leave it out: it is in rps: 4"}),
        (f"{SERVES}traffic: {{users: 300, active_users_share: 20%, chats_per_active_user_per_hour: 10, {TOKENS}}}",
         {"users": "write rps: 600/h", "chats_per_active_user_per_hour": "leave it out: it is in rps: 600/h"}),
        (f"{SERVES}traffic: {{requests_per_day: 20000, peak_factor: 3, {TOKENS}}}",
         {"requests_per_day": "write rps: 20000/d", "peak_factor": "write daily: 3"}),
        (f"{SERVES}traffic: {{rps: 2, busy_hour_share: 15%, {TOKENS}}}", {"busy_hour_share": "write daily: 3.6"}),
        (f"{SERVES}traffic: {{concurrent_users: 200, sparkle: 60%, {TOKENS}}}",
         {"sparkle": "if only 60% of it comes: concurrent_users: 120; else leave it out"}),
        (f"{BATCH}batch: {{articles: 4000, words_per_article: 700, languages: 5, window: 6h}}",
         {"articles": "write records: 20k", "languages": "leave it out: it is in records: 20k"}),
        (f"{BATCH}batch: {{calls: 8000, minutes_per_call: 7, words_per_minute: 150, output_tokens: 9, window: until 6am}}",
         {"minutes_per_call": "write tokens_per_record: 1400", "words_per_minute": "leave it out", "window": "write 8h"}),
        (f"{BATCH}batch: {{output_tokens_total: 5B, prompt_tokens: 400, max_new_tokens: 1024, window: 5d}}",
         {"output_tokens_total": "write records: 4882812, output_tokens_per_record: 1024",
          "prompt_tokens": "write tokens_per_record: 400", "max_new_tokens": "leave it out"}),
        (f"{TRAINS}training: {{episodes: 500, steps_per_episode: 150, sequence_length: 512}}",
         {"episodes": "write samples: 75k", "steps_per_episode": "leave it out: it is in samples: 75k"}),
        (f"{TRAINS}training: {{samples: 9k, prompt_tokens: 300, chosen_tokens: 500, rejected_tokens: 450}}",
         {"prompt_tokens": "write sequence_length: 800", "chosen_tokens": "leave it out"}),
        (f"{TRAINS}training: {{dataset: 1.2GB of jsonl, epochs: 3, sequence_length: 4096}}",
         {"dataset": "write samples: 73242"}),
        (f"{TRAINS}training: {{corpus_words: 15B}}\ndeadline: two weeks",
         {"corpus_words": "write tokens: 20B", "deadline": "write 14d"}),
    ],
)  # fmt: skip
def test_no_number_is_lost(text: str, fixes: dict[str, str]) -> None:
    made, _ = refused(text)
    for key, fix in fixes.items():
        path = next(path for path in made if path.rpartition(".")[2] == key)
        assert made[path].startswith(fix), (path, made[path])


def made(text: str) -> dict[str, Any]:
    """The section of the load with all fixes of its one message done, which is then read."""
    raw = load_mapping(text, "x.yaml")
    with pytest.raises(SpecError) as error:
        parse_spec(text, catalog=load())
    for fault in error.value.faults:
        changed = repaired(raw, fault)
        assert changed is not None, fault
        raw = changed
    parse_spec(yaml.safe_dump(raw), catalog=load())
    return next(value for key, value in raw.items() if key in ("traffic", "batch", "training"))


@pytest.mark.parametrize(
    ("load_section", "wanted"),
    [
        ("rps: 2, chunks_per_request: 8, chunk_tokens: 500, system_prompt_tokens: 700, question_tokens: 60",
         {"input_tokens": 4760, "prefix": "14.7%"}),
        ("rps: 2, chunks: 8, tokens_per_chunk: 500, question_words: 60", {"input_tokens": 4080}),
        ("rps: 2, few_shot_examples: 6, tokens_per_example: 150, question_tokens: 80",
         {"input_tokens": 980, "prefix": "91.8%"}),
        ("rps: 2, few_shot_examples: 6, example_tokens: 150, input_tokens: 400", {"input_tokens": 1300}),
        ("rps: 2, few_shot_examples: 2, example_tokens: 150, input_tokens: 400", {"input_tokens": 400}),
        ("requests_per_day: 20000, top_k: 5, chunk_size: 512, system_prompt: 400",
         {"rps": "20000/d", "input_tokens": 2960, "prefix": "13.5%"}),
        ("requests_per_day: 20000, retrieved_chunks: 5, chunk_size: 512, prompt_template_tokens: 400",
         {"rps": "20000/d", "input_tokens": 2960, "prefix": "13.5%"}),
        ("rps: 2, history_turns: 6, tokens_per_turn: 200", {"input_tokens": 1200}),
        ("rps: 2, email_words: 300, reply_characters: 800", {"input_tokens": 400}),
        ("rps: 2, words_in: 600, words_out: 150", {"input_tokens": 800}),
        ("rps: 2, pages: 3, answer_words: 150", {"input_tokens": "2k"}),
        ("rps: 2, input_words: 600, input_characters: 3600", {"input_tokens": 800}),
    ],
)  # fmt: skip
def test_parts_of_a_prompt_add_up(load_section: str, wanted: dict[str, object]) -> None:
    written = "" if re.search("reply|answer|words_out", load_section) else ", output_tokens: 200"
    section = made(f"{SERVES}traffic: {{{load_section}{written}}}\n")
    assert section == {"rps": 2, "output_tokens": 200, **wanted}


@pytest.mark.parametrize(
    ("load_section", "rate"),
    [
        ("cameras: 40, fps: 2", 80),
        ("cameras: 40, frames_per_second_per_camera: 2", 80),
        ("robots: 12, images_per_second: 30", 360),
        ("sensors: 400, readings_per_minute: 2", "800/min"),
        ("machines: 400, messages_per_minute: 2", "800/min"),
        ("users: 300, requests_per_day: 5000", "5000/d"),
        ("customers: 300, requests_per_second: 2", 2),
        ("rps: 4, users: 900", 4),
        ("rps: 4, cameras: 12", 4),
    ],
)
def test_a_rate_beside_those_who_bring_it_is_of_each_or_of_all(load_section: str, rate: object) -> None:
    model = SERVES.replace("Qwen3-8B", "Qwen2.5-VL-7B-Instruct")
    section = made(f"{model}traffic: {{{load_section}, {TOKENS}}}\n")
    assert section["rps"] == rate
    assert section["input_tokens"] == 900
    assert ("images" in section) is bool(re.search("fps|frames|images", load_section))


def test_lengths_of_records_are_in_any_unit() -> None:
    head = f"{BATCH}batch: {{records: 10k, window: 8h, "
    assert made(f"{head}words: 300, output_words: 150}}\n")["tokens_per_record"] == 400
    emails = (
        f"{BATCH}batch: {{emails: 10k, email_words: 300, reply_words: 150, system_prompt_words: 200, window: 8h}}\n"
    )
    assert made(emails)["tokens_per_record"] == 667


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"{BATCH}batch: {{documents: 4000, chunks: 8, chunk_tokens: 500, answer_tokens: 50, window: 8h}}",
         {"records": 4000, "tokens_per_record": "4k"}),
        (f"{BATCH}batch: {{records: 4000, chunks: 8, chunk_tokens: 500, output_tokens_per_record: 50, window: 8h}}",
         {"records": 4000, "tokens_per_record": "4k"}),
        (f"{TRAINS}training: {{dialogues: 8k, turns: 6, tokens_per_turn: 120}}", {"samples": "8k", "sequence_length": 720}),
        (f"{SERVES}traffic: {{input_tokens_per_month: 300M, output_tokens_per_month: 60M}}",
         {"rps": "10000/d", "input_tokens": 1000, "output_tokens": 200}),
        (f"{SERVES}traffic: {{rps: 2, user_message_tokens: 60, system_prompt_tokens: 540, assistant_message_tokens: 180}}",
         {"input_tokens": 600, "prefix": "90%", "output_tokens": 180}),
        (f"{SERVES}traffic: {{agents: 30, steps_per_task: 12, tasks_per_hour: 4, {TOKENS}}}", {"rps": "1440/h"}),
    ],
)  # fmt: skip
def test_no_figure_of_one_thing_stands_for_another(text: str, wanted: dict[str, object]) -> None:
    assert wanted.items() <= made(f"{text}\n").items()


def test_microphones_are_heard_at_once() -> None:
    assert made(f"{HEARS}traffic: {{microphones: 40}}\n") == {"rps": 1.333, "audio": "30s"}


def whole(text: str) -> dict[str, Any]:
    raw = load_mapping(text, "x.yaml")
    with pytest.raises(SpecError) as error:
        parse_spec(text, catalog=load())
    for fault in error.value.faults:
        changed = repaired(raw, fault)
        assert changed is not None, fault
        raw = changed
    parse_spec(yaml.safe_dump(raw), catalog=load())
    return raw


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("slo: {ttft: 1s, uptime: 99.9}", {"slo": {"ttft": "1s"}}),
        ("slo: {p50: 1s, p99: 5s}", {"slo": {"latency": "5s", "percentile": "p99"}}),
        ("slo: {latency_p99: 3s, ttft_p95: 500ms}",
         {"slo": {"latency": "3s", "ttft": "500ms", "percentile": "p99"}}),
        ("resources: {min_vram: 24GB, vcpus: 16, ram: 64GB}", {"resources": {"gpu": "24GB.."}}),
        ("resources: {vram_gb: 80}", {"resources": {"gpu": "80GB.."}}),
        ("resources: {gpus: 2x}", {"resources": {"gpus": 2}}),
        ("resources: {gpu: 80GB:2..4}", {"resources": {"gpu": "80GB", "gpus": "2..4"}}),
        ("resources: {gpu: A100:80GB:2}", {"resources": {"accelerators": ["A100-80GB"], "gpus": 2}}),
        ("infra: {aws: [us-east-1, eu-west-1], gcp: Belgium}",
         {"infra": ["aws/us-east-1", "aws/eu-west-1", "gcp/europe-west1"]}),
    ],
)  # fmt: skip
def test_hardware_places_and_bounds_are_read_whole(line: str, wanted: dict[str, object]) -> None:
    made = whole(f"{SERVES}traffic: {{rps: 2, {TOKENS}}}\n{line}\n")
    assert {key: made[key] for key in wanted} == wanted


@pytest.mark.parametrize("place", ["aws/cn-north-1", "azure/usgovvirginia", "azure/chinaeast2"])
def test_a_region_of_a_cloud_apart_is_no_misspelt_one(place: str) -> None:
    fixes, _ = refused(f"{SERVES}traffic: {{rps: 2, {TOKENS}}}\ninfra: [{place}]\n")
    assert re.match("write (?:aws/us-east-1|azure/eastus)", fixes["infra[0]"])


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        ("steps: 1000, tokens_per_step: 500000, sequence_length: 4096", {"global_batch": 500000}),
        ("steps: 1000, sequences_per_batch: 64, sequence_length: 4096", {"global_batch": 262144}),
        ("samples: 10k, dropout: 0.1, gradient_clipping: 1.0, target_modules: [q_proj]", {"samples": "10k"}),
        ("samples: 10k, validation_split: 0.1, eval_samples: 500", {"samples": "10k"}),
    ],
)
def test_what_a_script_takes_changes_no_figure_of_a_run(run: str, wanted: dict[str, object]) -> None:
    assert wanted.items() <= made(f"{TRAINS}training: {{{run}}}\n").items()


def test_what_the_fixes_make_is_said() -> None:
    _, said = refused(f"{BATCH}batch: {{notes: 4000, tokens_per_note: 900, answer_tokens: 90, window: 6h}}")
    assert said == "so written it is: 4,000 records of 900 tokens in and 90 out, within 6h"
