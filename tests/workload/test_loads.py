"""Loads and batches as newcomers count them: one message with their own number, whose line is taken by the reader."""

from __future__ import annotations

import contextlib
import random

import pytest
import yaml

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.schedule import hours_meant
from sizewell.sizing.workload.text import load_mapping

READER = "BAAI/bge-m3"
WHISPER, TEXT, CLIP = "openai/whisper-large-v3", "Qwen/Qwen3-8B", "openai/clip-vit-large-patch14"
PICTURES, FLUX = "stabilityai/stable-diffusion-xl-base-1.0", "black-forest-labs/FLUX.1-dev"
TOKENS = "input_tokens: 400, output_tokens: 20"
EYES = "Qwen/Qwen2.5-VL-7B-Instruct"
BATCHES = {  # (model, batch): what of it is written after the fix
    (WHISPER, "{minutes: 600k, window: 10h}"): {"records": "600k", "audio_per_record": "1m"},
    (WHISPER, "{hours: 10k, window: 10h}"): {"records": "10k", "audio_per_record": "1h"},
    (WHISPER, "{seconds: 600k, window: 10h}"): {"records": 10000, "audio_per_record": "1m"},
    (WHISPER, "{hours_of_audio: 5000, window: 8h}"): {"records": 5000, "audio_per_record": "1h"},
    (WHISPER, "{audio: 600000 minutes, window: 8h}"): {"records": 600000, "audio_per_record": "1m"},
    (TEXT, "{count: 5M, window: 8h}"): {"records": "5M"},
    (TEXT, "{records: 1M records, window: 8h}"): {"records": "1M"},
    (CLIP, "{images: 20M, window: 12h}"): {"records": "20M"},
    (CLIP, "{photos: 20M, image_size: 336, window: 12h}"): {"records": "20M", "images": {"resolution": 336}},
    (CLIP, "{videos: 100, window: 12h}"): {"records": 100},
    (CLIP, "{records: 1M, images: 3, window: 12h}"): {"records": "1M", "images": {"per_request": 3}},
    (TEXT, "{pages: 2M, window: 8h}"): {"records": "2M"},
    (TEXT, "{prompts: 1M, window: 8h}"): {"records": "1M"},
    (TEXT, "{input_tokens: 4B, output_tokens: 400M, window: 8h}"):
        {"records": "4M", "tokens_per_record": "1k", "output_tokens_per_record": 100},
    (TEXT, "{tokens: 5B, tokens_per_record: 500, window: 8h}"): {"records": "10M", "tokens_per_record": 500},
    (TEXT, "{tokens: 5B, window: 8h}"): {"records": "5M", "tokens_per_record": "1k"},
    (TEXT, "{records: 1M, tokens: 800, window: 8h}"): {"records": "1M", "tokens_per_record": 800},
    (TEXT, "{records: 1M, tokens_per_record: 9, window: 8h, every: week}"): {"every": "1w"},
    (TEXT, "{records: 1M, tokens_per_record: 9, window: 8h, every: month}"): {"every": "30d"},
    (TEXT, "{books: 500, pages_per_book: 30, tokens_per_page: 600, window: 8h}"):
        {"records": 500, "tokens_per_record": "18k"},
    (TEXT, "{sentences: 2M, tokens_per_sentence: 35, window: 6h}"): {"records": "2M", "tokens_per_record": 35},
    (TEXT, "{sequences: 5M, residues_per_sequence: 350, window: 2d}"): {"records": "5M", "tokens_per_record": 350},
    (TEXT, "{records: 1M, pages_per_record: 4, window: 8h}"): {"tokens_per_record": 2667},
    (TEXT, "{emails: 2M, words_per_email: 180, window: 8h}"): {"records": "2M", "tokens_per_record": 240},
    (TEXT, "{tickets: 50k, tokens_per_ticket: 900, summary_tokens_per_ticket: 60, window: 8h}"):
        {"tokens_per_record": 900, "output_tokens_per_record": 60},
    (TEXT, "{lawyers: 40, letters_per_lawyer_per_day: 200, tokens_per_record: 9, window: 8h}"): {"records": "8k"},
    (TEXT, "{records: 10k, avg_tokens: 600, window: 8h}"): {"tokens_per_record": 600},
    (TEXT, "{documents: 20 thousand, tokens_per_document: 500, window: 8h}"): {"records": "20k"},
    (TEXT, "{records: 3 lakh documents, tokens_per_record: 9, window: 8h}"): {"records": "300k"},
    (TEXT, "{records: 1M per week, tokens_per_record: 9, window: 8h}"): {"records": "1M", "every": "7d"},
    (TEXT, "{invoices_per_month: 300k, tokens_per_invoice: 9, window: 8h}"): {"records": "300k", "every": "30d"},
    (EYES, "{records: 300k, images_per_record: 2, image_resolution: 1024, tokens_per_record: 9, window: 8h}"):
        {"images": {"per_request": 2, "resolution": 1024}},
    (WHISPER, "{episodes: 4200, minutes_per_episode: 42, window: 2d}"): {"records": 4200, "audio_per_record": "42m"},
    (WHISPER, "{files: 300, hours_per_file: 2, window: 1d}"): {"records": 300, "audio_per_record": "2h"},
    **{
        (TEXT, f"{{records: 1M, tokens_per_record: 9, window: 8h, {stated}}}"): {"records": "1M", "every": every}
        for stated, every in {
            "every: quarterly": "91d", "every: twice a week": "3d12h", "every: daily": "1d", "every: every month": "30d",
            "repeat: quarterly": "91d", "frequency: twice a week": "3d12h", "cadence: weekly": "7d",
            "runs_per_month: 4": "7d12h", "times_per_day: 2": "12h", "interval: every 3 days": "3d",
            "how_often: every other week": "14d", "frequency: mondays": "7d", 'schedule: "0 2 * * *"': "1d", 'schedule: "30 6 1 * *"': "30d", "schedule: nightly": "1d",
        }.items()
    },
}  # fmt: skip
LOADS = {
    (TEXT, f"{{rpd: 500k, {TOKENS}}}"): {"rps": "500k/d"},
    (TEXT, f"{{messages_per_day: 1M, {TOKENS}}}"): {"rps": "1M/d"},
    (TEXT, f"{{requests_per_month: 3M, {TOKENS}}}"): {"rps": "100000/d"},
    (TEXT, f"{{requests_per_year: 365M, {TOKENS}}}"): {"rps": "1000000/d"},
    (TEXT, f"{{daily_users: 20k, {TOKENS}}}"): {"rps": "200k/d"},
    (TEXT, f"{{users_per_month: 3M, {TOKENS}}}"): {"rps": "1M/d"},
    (TEXT, f"{{tokens_per_day: 42M, {TOKENS}}}"): {"rps": "100000/d"},
    (TEXT, "{tps: 5000}"): {"rps": 4, "input_tokens": 1000, "output_tokens": 250},
    (TEXT, f"{{rps: 4-10, {TOKENS}}}"): {"rps": 7},
    (TEXT, f"{{rps: “4”, {TOKENS}}}"): {"rps": 4},
    (PICTURES, "{images_per_second: 0.5, size: 1024x1024}"): {"rps": 0.5, "images": {"resolution": 1024}},
    (PICTURES, "{images_per_second: 0.5, resolution: 1080p}"): {"images": {"resolution": 1440}},
    (PICTURES, "{images_per_second: 0.5, size: 4MP}"): {"images": {"resolution": 2000}},
    (PICTURES, "{images_per_second: 0.5, size: 512 px}"): {"images": {"resolution": 512}},
    (PICTURES, "{fps: 200, image_size: 640}"): {"rps": 200, "images": {"resolution": 640}},
    (PICTURES, "{rps: 1, images: 4}"): {"images": {"per_request": 4}},
    (WHISPER, "{minutes_per_day: 600k}"): {"rps": "600k/d", "audio": "1m"},
    (TEXT, f"{{daily_active_users: 5000, messages_per_user: 12, {TOKENS}}}"): {"rps": "60k/d"},
    (TEXT, f"{{monthly_active_users: 90k, messages_per_user: 30, {TOKENS}}}"): {"rps": "90000/d"},
    (TEXT, f"{{sessions_per_day: 3000, turns_per_session: 6, {TOKENS}}}"): {"rps": "18k/d"},
    (TEXT, "{documents_per_day: 3000, words_per_document: 300, output_tokens: 20}"):
        {"rps": "3000/d", "input_tokens": 400},
    (TEXT, f"{{agents: 40, requests_per_agent_per_hour: 90, {TOKENS}}}"): {"rps": "3600/h"},
    (TEXT, f"{{employees: 300, questions_per_employee_per_day: 15, {TOKENS}}}"): {"rps": "4500/d"},
    (TEXT, f"{{concurrent_players: 2000, think_time: 20s, {TOKENS}}}"):
        {"concurrent_users": 2000, "think_time": "20s"},
    (TEXT, f"{{students: 300, think_time: 30s, {TOKENS}}}"): {"concurrent_users": 300, "think_time": "30s"},
    (TEXT, f"{{players_online: 500, think_time: 30s, {TOKENS}}}"): {"concurrent_users": 500},
    **{
        (TEXT, f"{{{stated}, {TOKENS}}}"): {"concurrent_users": number, "think_time": time}
        for stated, number, time in (
            ("players: 2000, line_every: 20s", 2000, "20s"), ("students: 600, question_every: 2m", 600, "2m"),
            ("agents: 40, seconds_between_requests: 5", 40, "5s"), ("callers: 120, utterance_every: 6 seconds", 120, "6s"),
            ("users: 120, message_every: 30s", 120, "30s"), ("concurrent_users: 300, pause: 15s", 300, "15s"),
            ("people: 80, message_interval: every 2 minutes", 80, "2m"), ("drivers: 90, think_time_seconds: 40", 90, "40s"),
            ("conversations_at_once: 300, pause_between_messages: 15s", 300, "15s"),
            ("patients: 75, minutes_between_questions: 3", 75, "3m"), ("employees: 400, time_between_requests: 90s", 400, "1m30s"),
            ("active_users: 60, wait_between_messages: 25 s", 60, "25s"), ("num_users: 60, think_time: 25s", 60, "25s"),
        )
    },
    (TEXT, "{rps: 5, context_tokens: 4000, user_tokens: 150, output_tokens: 200}"): {"input_tokens": 4150},
    (TEXT, "{rps: 5, history_tokens: 6000, new_tokens: 200, output_tokens: 500}"):
        {"input_tokens": 6200, "prefix": "96.8%"},
    (TEXT, "{rps: 5, system_prompt_tokens: 1200, question_tokens: 100, answer_tokens: 200}"):
        {"input_tokens": 1300, "prefix": "92.3%", "output_tokens": 200},
    (TEXT, "{rps: 2, prefix_tokens: 500, user_tokens: 90, output_tokens: 9}"): {"input_tokens": 590, "prefix": "84.7%"},
    (TEXT, "{rps: 2, question_tokens: 90, output_tokens: 9}"): {"input_tokens": 90},
    (TEXT, f"{{requests_every: 10s, {TOKENS}}}"): {"rps": 0.1},
    (TEXT, "{rps: 5, input_tokens: 900, new_tokens: 200}"): {"input_tokens": 900, "output_tokens": 200},
    (TEXT, f"{{rps: 300k per month, {TOKENS}}}"): {"rps": "10000/d"},
    (TEXT, f"{{rps: 5 million/d, {TOKENS}}}"): {"rps": "5M/d"},
    (TEXT, "{rps: 1, words_per_message: 300, output_tokens_per_message: 100}"):
        {"input_tokens": 400, "output_tokens": 100},
    (PICTURES, "{images_per_minute: 20, size: 1024x1024, num_inference_steps: 30}"):
        {"rps": "20/min", "images": {"resolution": 1024, "steps": 30}},
    (PICTURES, "{rps: 1, inference_steps: 30, guidance_scale: 7.5, width: 1024, height: 1024}"):
        {"images": {"resolution": 1024, "steps": 30, "guidance": True}},
    (PICTURES, "{rps: 1, images: {sampling_steps: 30, cfg_scale: 1, per_request: 2}}"):
        {"images": {"per_request": 2, "steps": 30, "guidance": False}},
    (PICTURES, "{images_per_day: 8k, resolution: 1024x1024, steps: 25}"): {"images": {"resolution": 1024, "steps": 25}},
    (FLUX, "{rps: 1, denoising_steps: 28, guidance_scale: 3.5}"): {"images": {"steps": 28}},
    (EYES, f"{{photos_per_day: 9k, {TOKENS}}}"): {"rps": "9k/d", "images": {"per_request": 1}},
    (EYES, "{pages_per_day: 9k, image_size: 1024, input_tokens: 9, output_tokens_per_page: 700}"):
        {"rps": "9k/d", "images": {"resolution": 1024}, "output_tokens": 700},
    (TEXT, f"{{rps: 1, cache_hit_rate: 0.9, {TOKENS}}}"): {"prefix": "90%"},
    (TEXT, f"{{rps: 1, prefix_cache_hit_rate: 85%, {TOKENS}}}"): {"prefix": "85%"},
    (TEXT, f"{{rps: 1, kv_cache_miss_rate: 0.2, {TOKENS}}}"): {"prefix": "80%"},
    (TEXT, f"{{rps: 1, cached: 90%, {TOKENS}}}"): {"prefix": "90%"},
    (TEXT, f"{{rps: 1, cached_input_tokens: 300, {TOKENS}}}"): {"prefix": "75%"},
    (TEXT, "{rps: 1, system_prompt_tokens: 100, words_per_message: 300, output_tokens: 9}"): {"input_tokens": 500, "prefix": "20%"},
    (TEXT, f"{{queries_per_second: 2k, {TOKENS}}}"): {"rps": 2000},
    (TEXT, f"{{claims_per_week: 1400, {TOKENS}}}"): {"rps": "200/d"},
    (WHISPER, "{concurrent_calls: 120}"): {"rps": 4, "audio": "30s"},
    (WHISPER, "{channels: 60}"): {"rps": 2, "audio": "30s"},
    (WHISPER, "{calls_per_day: 4000, call_length: 6m}"): {"rps": "4000/d", "audio": "6m"},
    (WHISPER, "{calls_per_day: 4000, minutes_per_call: 6}"): {"rps": "4000/d", "audio": "6m"},
    ("BAAI/bge-m3", "{rps: 50, documents: 40, input_tokens: 300}"): {"rps": 2000},
}  # fmt: skip
SLOS = {
    "{tokens_per_second: 20}": {"tpot": "50ms"},
    "{ttft_ms: 300}": {"ttft": "300ms"},
    "{latncy: 2 secs}": {"latency": "2s"},
    "{latency_s: 2}": {"latency": "2s"},
    "{response_time: 2s}": {"latency": "2s"},
    "{ttft: “500ms”}": {"ttft": "500ms"},
    "{first_token: 300ms, inter_token_latency: 40ms}": {"ttft": "300ms", "tpot": "40ms"},
    "{p99_ttft: 500ms}": {"ttft": "500ms", "percentile": "p99"},
    "{max_latency_ms: 900}": {"latency": "900ms"},
}
RUNS = {  # (kind, model, training): the batch of a step that the message names
    ("fine-tuning", FLUX, "{method: lora, steps: 2000}"): 4,
    ("fine-tuning", FLUX, "{method: lora, images: 30, steps: 2000}"): 4,
    ("fine-tuning", FLUX, "{steps: 2000}"): 32,
    ("training", "resnet-50", "{steps: 100k}"): 1024,
    ("fine-tuning", TEXT, "{method: lora, steps: 500}"): 131072,
    ("fine-tuning", TEXT, "{method: qlora, steps: 500, sequence_length: 4096}"): 262144,
    ("fine-tuning", TEXT, "{method: dpo, steps: 500, sequence_length: 1024}"): 65536,
    ("fine-tuning", "{params: 1B, family: diffusion, forward_flop_per_sample: 3T}", "{method: lora, steps: 9}"): 4,
    ("training", "meta-llama/Llama-3.2-3B", "{steps: 500, sequence_length: 4096}"): 2**20,
}


def mended(kind: str, model: str, section: str, stated: str, more: str = "") -> tuple[tuple[Fault, ...], dict]:
    """The faults of a spec, and the section after the line of each was written; which leaves none."""
    text = f"name: x\nkind: {kind}\nmodel: {model}\n{section}: {stated}\n{more}"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    raw = load_mapping(text, "x.yaml")
    for fault in refused.value.faults:
        raw = repaired(raw, fault)
        assert raw is not None, fault
    parse_spec(yaml.safe_dump(raw, allow_unicode=True), "x.yaml", catalog=load())
    return refused.value.faults, raw


@pytest.mark.parametrize(("model", "batch"), BATCHES)
def test_a_batch_keeps_the_number_that_was_written(model: str, batch: str) -> None:
    faults, raw = mended("batch-inference", model, "batch", batch)
    assert BATCHES[model, batch].items() <= raw["batch"].items()
    assert "50M" not in str(faults)


@pytest.mark.parametrize(
    "write", [str.title, str.upper, lambda key: key.replace("_", "-"), lambda key: key.title().replace("_", " ")]
)
def test_capitals_dashes_and_blanks_of_keys_are_named_in_one_message(write) -> None:
    stated = {
        "name": "x",
        "kind": "inference",
        "model": TEXT,
        "traffic": {"rps": 3, "input_tokens": 90},
        "spot_policy": "auto",
    }
    written = {
        write(key): {write(k): v for k, v in each.items()} if isinstance(each, dict) else each
        for key, each in stated.items()
    }
    with pytest.raises(SpecError) as refused:
        parse_spec(yaml.safe_dump(written), "x.yaml", catalog=load())
    meant = {fault.path.rpartition(".")[2]: fault.fix for fault in refused.value.faults}
    named = [*stated, "rps", "input_tokens"]
    assert meant == {write(key): f"did you mean '{key}'?" for key in named if write(key) != key}
    assert all(fault.at for fault in refused.value.faults)


@pytest.mark.parametrize(
    "stated",
    [
        "users: 6\nresources: {accelerators: [T4]}",
        "team_size: 6 people\nresources: {gpu: 16GB..}",
        "resources: {accelerators: [T4], seats: 6}",
    ],
)
def test_the_users_of_a_notebook_have_a_machine_each(stated: str) -> None:
    text = f"name: x\nkind: notebook\n{stated}\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    [fault] = refused.value.faults
    raw = repaired(load_mapping(text, "x.yaml"), fault)
    assert raw is not None
    assert raw["resources"]["nodes"] == 6
    parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Monday through Thursday, from 7 am until 8 pm, Europe/London", "Monday-Thursday 07:00-20:00 Europe/London"),
        ("Mon-Fri, 9-18, Europe/Berlin", "Mon-Fri 09:00-18:00 Europe/Berlin"),
        ("weekdays between 8 and 17 CET", "Mon-Fri 08:00-17:00 CET"),
        ("Mon to Fri, 9 am to 6 pm America/New_York", "Mon-Fri 09:00-18:00 America/New_York"),
    ],
)
def test_hours_in_words_are_kept(written: str, meant: str) -> None:
    assert hours_meant(written) == (meant, "")


def test_names_below_a_key_keep_their_capitals() -> None:
    text = f"name: x\nkind: inference\nmodel: {TEXT}\nTraffic: {{rps: 1, {TOKENS}}}\nresources: {{accelerators: {{H100: 8}}}}\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    assert [fault.path for fault in refused.value.faults] == ["Traffic"]


def test_pictures_that_are_counted_beside_their_size_stay_samples() -> None:
    stated = "{method: lora, images: 20k, image_size: 1024x768, caption_length: 120 tokens, epochs: 3}"
    _, raw = mended("fine-tuning", EYES, "training", stated)
    assert {"samples": "20k", "images": {"resolution": 887}, "sequence_length": 120}.items() <= raw["training"].items()


@pytest.mark.parametrize("key", ["finish_by: 06:00", "ready_by_morning: true", "start_time: 22:00"])
def test_when_a_batch_is_ready_is_no_window(key: str) -> None:
    stated = f"{{records: 1M, tokens_per_record: 90, window: 4h, every: weekday, {key}}}"
    _, raw = mended("batch-inference", READER, "batch", stated)
    assert raw["batch"] == {"records": "1M", "tokens_per_record": 90, "window": "4h", "every": "1d"}


@pytest.mark.parametrize(("model", "traffic"), LOADS)
def test_a_load_keeps_the_number_that_was_written(model: str, traffic: str) -> None:
    _, raw = mended("inference", model, "traffic", traffic)
    assert LOADS[model, traffic].items() <= raw["traffic"].items()


OPTIONS = {  # of a server or a trainer, as keys of a spec: (kind, line): the section that its fix changes, and how
    ("inference", "max_model_len: 32768"): {},
    ("inference", "gpu_memory_utilization: 0.9"): {},
    ("inference", "dtype: fp8"): {"model": {"name": TEXT, "weights": "fp8"}},
    ("inference", "dtype: float16"): {"model": {"name": TEXT, "precision": "fp16"}},
    ("inference", "kv_cache_dtype: fp8"): {"model": {"name": TEXT, "kv": "fp8"}},
    ("inference", "max_num_seqs: 64"): {},
    ("fine-tuning", "warmup_ratio: 0.1"): {},
    ("fine-tuning", "lora_alpha: 16"): {},
    ("fine-tuning", "bf16: true"): {},
    ("fine-tuning", "micro_batch_size: 2"): {},
    ("fine-tuning", "effective_batch_size: 64"): {"training": {"global_batch": 131072}},
    ("fine-tuning", "gradient_checkpointing: true"): {"training": {"activation_checkpointing": "full"}},
    ("fine-tuning", "packing: false"): {"training": {"packed": False}},
    ("fine-tuning", "optim: paged_adamw_8bit"): {"training": {"optimizer": "adamw-8bit"}},
    ("fine-tuning", "load_in_4bit: true"): {"training": {"method": "qlora"}},
    ("fine-tuning", "dataset_size: 2GB"): {"data": {"size": "2GB"}},
    ("fine-tuning", "hours: 20"): {"deadline": "20h"},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "line"), OPTIONS)
def test_an_option_of_another_tool_is_what_an_import_makes_of_it(kind: str, line: str) -> None:
    if kind == "inference":
        _, raw = mended(kind, TEXT, "traffic", f"{{rps: 1, {TOKENS}}}", f"{line}\n")
    else:
        _, raw = mended(kind, TEXT, "training", f"{{method: lora, samples: 50k, sequence_length: 2048, {line}}}")
    for section, made in OPTIONS[kind, line].items():
        assert raw[section] == made or made.items() <= raw[section].items()


HOURS = 'schedule: {on: "Mon-Fri 08:00-18:00 Europe/Berlin"}\n'


@pytest.mark.parametrize("asked", ["requests_per_day: 60k", "daily_active_users: 5000, messages_per_user: 12"])
def test_what_is_asked_in_a_day_comes_in_the_hours_of_a_schedule(asked: str) -> None:
    _, raw = mended("inference", TEXT, "traffic", f"{{{asked}, {TOKENS}}}", HOURS)
    spec = parse_spec(yaml.safe_dump(raw), catalog=load())
    assert spec.traffic
    assert spec.traffic.rps == pytest.approx(60_000 / 10 / 3600)


def test_what_a_fix_writes_is_no_fault_beside_it() -> None:
    faults, _ = mended("inference", TEXT, "traffic", f"{{players_online: 9, think_time: 30s, {TOKENS}}}")
    assert [fault.path for fault in faults] == ["traffic.players_online"]


def test_a_place_beside_a_kind_that_is_wrong_is_named_with_it() -> None:
    text = f"name: x\nkind: infernce\nmodel: {TEXT}\ntrafic: {{rps: 4, {TOKENS}}}\ninfra: [aws/us-east1]\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, catalog=load())
    assert [fault.path for fault in refused.value.faults] == ["kind", "trafic", "infra[0]"]


def test_boxes_of_a_record_are_not_taken_for_its_tokens() -> None:
    text = f"name: x\nkind: batch-inference\nmodel: {TEXT}\nbatch: {{records: 9, boxes_per_record: 4, window: 8h}}\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, catalog=load())
    assert not any("tokens_per_record" in fault.fix for fault in refused.value.faults if "boxes" in fault.path)


@pytest.mark.parametrize(
    ("line", "policy"), [("spot: false", "on-demand"), ("use_spot: true", "spot"), ("preemptible: no", "on-demand")]
)
def test_a_choice_of_spot_is_not_turned_round(line: str, policy: str) -> None:
    batch = "{records: 1k, tokens_per_record: 9, window: 8h}"
    _, raw = mended("batch-inference", TEXT, "batch", batch, f"{line}\n")
    assert raw["spot_policy"] == policy


@pytest.mark.parametrize("slo", SLOS)
def test_a_bound_in_another_unit_is_converted(slo: str) -> None:
    _, raw = mended("inference", TEXT, "traffic", f"{{rps: 1, {TOKENS}}}", f"slo: {slo}\n")
    assert SLOS[slo].items() <= raw["slo"].items()


@pytest.mark.parametrize(("kind", "model", "run"), RUNS)
def test_the_batch_of_a_fix_is_one_of_the_method_and_the_kind_of_model(kind: str, model: str, run: str) -> None:
    _, raw = mended(kind, model, "training", run)
    assert raw["training"]["global_batch"] == RUNS[kind, model, run]


def test_a_batch_of_an_unknown_model_is_not_guessed() -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec("name: x\nkind: fine-tuning\nmodel: who/knows\ntraining: {steps: 9}\n", catalog=load())
    fault = next(fault for fault in refused.value.faults if fault.path == "training.global_batch")
    assert not any(map(str.isdigit, fault.fix))


def test_a_step_of_more_pictures_than_there_are_is_refused() -> None:
    text = f"name: x\nkind: fine-tuning\nmodel: {FLUX}\ntraining: {{samples: 1000, global_batch: 4M}}\n"
    with pytest.raises(SpecError, match="more than the whole run of 1k"):
        parse_spec(text, catalog=load())


LEAST = {
    ("fine-tuning", TEXT): "method: lora",
    ("fine-tuning", FLUX): "method: lora, samples: 1k",
    ("training", "resnet-50"): "samples: 1M",
    ("inference", WHISPER): "audio: 30s",
    ("inference", PICTURES): "{rps: 1}",
    ("inference", "BAAI/bge-m3"): "input_tokens: 500}",
    ("batch-inference", WHISPER): "audio_per_record",
    ("batch-inference", PICTURES): "{records: 1M, window: 8h}",
}


@pytest.mark.parametrize(("kind", "model"), LEAST)
def test_a_missing_section_is_shown_as_this_kind_of_model_has_it(kind: str, model: str) -> None:
    text = f"name: x\nkind: {kind}\nmodel: {model}\n"
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    [fault] = refused.value.faults
    assert LEAST[kind, model] in fault.fix
    parse_spec(text + fault.fix.removeprefix("add ") + "\n", "x.yaml", catalog=load())


SLICES = {  # as Google calls them: (the line under resources): what is written
    "accelerators: v5litepod-64": ("v5e", "8x8"),
    "accelerators: v6e-16": ("v6e", "4x4"),
    "accelerators: [tpu-v5p-128]": ("v5p", "4x4x4"),
    "accelerators: v4-32": ("v4", "2x2x4"),
    "accelerators: v6e-17": ("v6e", "4x8"),
    "tpu: v5litepod-64": ("v5e", "8x8"),
    "gpus: v5e-64": ("v5e", "8x8"),
}


@pytest.mark.parametrize("line", SLICES)
def test_a_slice_keeps_its_chips(line: str) -> None:
    run = "{tokens: 1B, sequence_length: 2048}"
    _, raw = mended("training", TEXT, "training", run, f"framework: jax\nresources: {{{line}}}\n")
    generation, topology = SLICES[line]
    assert raw["resources"] == {"tpu": {"type": generation, "topology": topology}}


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("facebook/nllb-200-3.3B", "is not one of"),
        ("facebook/m2m100_1.2B", "is not one of"),
        ("hexgrad/Kokoro-82M", "makes speech of text"),
        ("coqui/XTTS-v2", "makes speech of text"),
        ("suno/bark", "makes speech of text"),
        ("Wan-AI/Wan2.1-T2V-14B", "makes video"),
        ("tencent/HunyuanVideo", "makes video"),
        ("zai-org/CogVideoX-5b", "makes video"),
    ],
)
@pytest.mark.parametrize(
    ("kind", "load_of"),
    [
        ("inference", "traffic: {documents_per_day: 40, words_per_document: 900}\nslo: {latencies: 2s}\n"),
        ("batch-inference", "batch: {sentences: 2M, minutes_of_speech: 20, window: 8h}\n"),
        ("inference", "traffic: {videos_per_day: 300, seconds_per_video: 6, fps: 24}\n"),
        ("batch", "batch: {clips: 500, seconds_per_clip: 5, resolution: 720p, window: 24h}\n"),
    ],
)
def test_what_cannot_be_sized_has_one_way_out(model: str, says: str, kind: str, load_of: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(f"name: x\nkind: {kind}\nmodel: {model}\n{load_of}", catalog=load())
    [fault] = refused.value.faults
    assert says in fault.message
    assert "in place of the model and its load" in fault.fix
    parse_spec("name: x\nkind: notebook\nresources: {gpu: 24GB..}\n", catalog=load())


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("meta-llama/Llama-Guard-3-8B", "write meta-llama/Llama-3.1-8B, whose shape it has"),
        ("Mistral 7b", "write mistralai/Mistral-7B-v0.3"),
        ("someone/llama3-8b-legal", "did you mean meta-llama/Meta-Llama-3-8B"),
    ],
)
def test_no_name_of_another_tool_is_suggested_for_a_model(named: str, meant: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(f"name: x\nkind: inference\nmodel: {named}\ntraffic: {{rps: 1, {TOKENS}}}\n", catalog=load())
    [fault] = refused.value.faults
    assert fault.fix.startswith(meant)
    assert "maxtext/" not in fault.fix


@pytest.mark.parametrize(
    ("budget", "meant"),
    [
        ("monthly: '2,500 USD per month'", {"monthly": "2500 USD"}),
        ("monthly: $900/week", {"monthly": "3857 USD"}),
        ("per_run: 200 USD per run", {"per_run": "200 USD"}),
    ],
)
def test_an_amount_keeps_its_number_where_the_key_says_the_period(budget: str, meant: dict[str, str]) -> None:
    run = "{method: lora, samples: 9k, sequence_length: 512}"
    if "monthly" in budget:
        _, raw = mended("inference", TEXT, "traffic", f"{{rps: 1, {TOKENS}}}", f"budget: {{{budget}}}\n")
    else:
        _, raw = mended("fine-tuning", TEXT, "training", run, f"budget: {{{budget}}}\n")
    assert raw["budget"] == meant


VALUES = (0, -1, 2.5, "5k", "4B", float("inf"), float("nan"), "", True, [], {}, ["EU", "UK"], "20 tok/s", "“5”", "$5k",
          "H100:8", "8xA5000", "RTX 4090", 4090, "eu, us", "1024x1024", "weekdays", "3-5", {"a": 1}, "./x", "café")  # fmt: skip
KEYS = {
    "traffic": (
        "rps",
        "users",
        "images",
        "images_per_day",
        "tokens_per_day",
        "tps",
        "mau",
        "documents",
        "minutes_per_day",
    ),
    "batch": ("records", "minutes", "images", "tokens", "input_tokens", "output_tokens", "window", "every", "seconds"),
    "training": ("steps", "samples", "images", "tokens", "global_batch", "sequence_length", "method", "image_size"),
    "slo": ("ttft", "tpot", "tokens_per_second", "ttft_ms", "latency_s"),
    "resources": ("accelerators", "gpu", "gpus", "nodes", "tpu", "gpu_type", "market"),
}


@pytest.mark.parametrize("seed", range(20))
def test_no_value_in_the_place_of_another_is_an_internal_error(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(15):
        raw: dict[str, object] = {"name": "x", "kind": chance.choice(["inference", "batch-inference", "training"])}
        raw["model"] = chance.choice([TEXT, WHISPER, FLUX, "who/knows", {"params": "7B"}, "./m"])
        for section, keys in KEYS.items():
            if chance.random() < 0.5:
                raw[section] = {key: chance.choice(VALUES) for key in chance.sample(keys, 3)}
        for key in ("infra", "budget", "deadline", "schedule", "requests_per_day", "workloads"):
            if chance.random() < 0.25:
                raw[key] = chance.choice(VALUES)
        with contextlib.suppress(SpecError):
            parse_spec(yaml.safe_dump(raw, allow_unicode=True), "x.yaml", catalog=load())


def _faults(text: str) -> dict[str, Fault]:
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    return {fault.path: fault for fault in refused.value.faults}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("finish_in", "3 days"), ("must_finish_within", "72h"), ("deadline", "3d"), ("within", "3 days"),
        ("done_in", "3d"), ("time_limit", "3 d"), ("max_duration", "3 days"), ("ready_in_days", 3),
        ("max_runtime_hours", 72), ("completion_window", "72h"), ("turnaround_time", "3 days"),
    ],
)  # fmt: skip
def test_the_time_of_a_batch_is_its_window_whatever_it_is_called(key: str, value: object) -> None:
    batch = {"records": 5200, "tokens_per_record": 900, key: value}
    text = yaml.safe_dump({"name": "x", "kind": "batch-inference", "model": TEXT, "batch": batch})
    raw = load_mapping(text, "x.yaml")
    for fault in _faults(text).values():
        assert "8h" not in fault.fix
        raw = repaired(raw, fault)
        assert raw is not None
    spec = parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    assert spec.batch
    assert spec.batch.window_s == 3 * 86_400


def test_a_deadline_beside_a_batch_without_window_is_its_window() -> None:
    batch = {"records": 5200, "tokens_per_record": 900}
    raw = {"name": "x", "kind": "batch-inference", "model": TEXT, "batch": batch, "deadline": "5 days"}
    for _ in range(2):
        for fault in _faults(yaml.safe_dump(raw)).values():
            raw = repaired(raw, fault) or raw
        if "deadline" not in raw:
            break
    spec = parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    assert spec.batch
    assert spec.batch.window_s == 5 * 86_400


@pytest.mark.parametrize("kind", ["embedding", "rag", "chat", "llm", "serving"])
def test_a_batch_under_a_kind_of_service_is_batch_inference(kind: str) -> None:
    batch = {"records": "4M", "tokens_per_record": 180, "window": "6h"}
    raw = {"name": "x", "kind": kind, "model": "BAAI/bge-m3", "batch": batch}
    faults = _faults(yaml.safe_dump(raw))
    assert {path: fault.fix for path, fault in faults.items()} == {"kind": "write batch-inference"}


@pytest.mark.parametrize("hours", ["weekdays 10-19 Europe/Warsaw", {"on": "Mon-Fri 10am-7pm Europe/Warsaw"}])
def test_a_days_load_is_of_the_hours_that_the_schedule_means(hours: object) -> None:
    traffic = {"artists": 30, "images_per_artist_per_day": 120}
    raw = {"name": "x", "kind": "inference", "model": PICTURES, "traffic": traffic, "schedule": hours}
    assert _faults(yaml.safe_dump(raw))["traffic.artists"].fix.startswith("write rps: 400/h")


def _trained(training: dict[str, object], **more: object) -> dict[str, object]:
    """A training as all fixes of one message make it."""
    raw: dict[str, object] = {"name": "x", "kind": "fine-tuning", "model": TEXT, "training": training} | more
    for fault in _faults(yaml.safe_dump(raw)).values():
        made = repaired(raw, fault)
        assert made is not None, (fault.path, fault.fix)
        raw = made
    parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    return raw


@pytest.mark.parametrize("key", ["total_tokens", "train_tokens", "token_budget", "corpus_tokens"])
def test_the_tokens_of_a_whole_run_are_no_sequence(key: str) -> None:
    made = _trained({"method": "full", key: "26B", "context_length": 2048})
    assert made["training"] == {"method": "full", "tokens": "26B", "sequence_length": 2048}


@pytest.mark.parametrize("key", ["max_seq_length", "cutoff_len", "seq_len", "context_length"])
def test_a_training_has_one_length_of_a_sequence(key: str) -> None:
    training = {"method": "lora", "conversations": "120k", "tokens_per_conversation": 900, key: 2048}
    faults = _faults(yaml.safe_dump({"name": "x", "kind": "fine-tuning", "model": TEXT, "training": training}))
    assert faults["training.tokens_per_conversation"].fix == "leave it out: it is in sequence_length: 2048"
    assert _trained(training)["training"] == {"method": "lora", "samples": "120k", "sequence_length": 2048}


@pytest.mark.parametrize("key", ["preference_pairs", "comparisons", "preference_examples", "pairs", "prompts"])
def test_what_a_method_is_shown_are_its_samples(key: str) -> None:
    made = _trained({"method": "dpo", key: "60k", "sequence_length": 1536})
    assert made["training"] == {"method": "dpo", "samples": "60k", "sequence_length": 1536}


def test_the_accelerators_of_each_machine_are_those_of_all() -> None:
    training = {"method": "continued-pretraining", "tokens": "5B", "sequence_length": 8192}
    made = _trained(training, resources={"nodes": 4, "gpus_per_node": 8, "gpu_type": "H100"})
    assert made["resources"] == {"nodes": 4, "accelerators": {"H100": 32}}
    assert made["training"] == training | {"method": "full"}


def test_a_budget_of_a_run_is_per_run_by_any_name_of_the_kind() -> None:
    training = {"method": "lora", "samples": 1000, "sequence_length": 1024}
    assert _trained(training, kind="finetune", budget="500 USD")["budget"] == {"per_run": "500 USD"}


def test_a_model_by_the_names_of_a_config() -> None:
    model = {"params": "1.3B", "num_layers": 24, "d_model": 2048, "num_heads": 16, "vocab_size": "50k"}
    made = _trained({"method": "full", "samples": 1000, "sequence_length": 1024}, model=model)
    assert made["model"] == {"params": "1.3B", "layers": 24, "hidden": 2048, "heads": 16, "vocab": "50k"}


@pytest.mark.parametrize(
    ("stated", "accelerators"),
    [
        ({"gpu_count": 16, "gpu_model": "H200"}, {"H200": 16}),
        ({"gpu_type": "A100-80GB", "num_gpus": 4}, {"A100-80GB": 4}),
        ({"accelerator": "H100", "count": 8, "nodes": 2}, {"H100": 16}),  # of each machine, as beside a type
        ({"machines": 2, "gpus_per_machine": 8, "accelerator": "H100"}, {"H100": 16}),
    ],
)
def test_a_type_keeps_the_number_beside_it(stated: dict[str, object], accelerators: dict[str, int]) -> None:
    made = _trained({"method": "lora", "samples": "20k", "sequence_length": 512}, resources=stated)
    assert made["resources"]["accelerators"] == accelerators


@pytest.mark.parametrize(
    ("stated", "people", "pause"),
    [
        ({"concurrent_players": 800, "lines_per_player_per_minute": 2}, 800, "30s"),
        ({"concurrent_users": 400, "requests_per_user_per_minute": 3}, 400, "20s"),
        ({"concurrent_users": 400, "requests_per_user_per_hour": 12}, 400, "5m"),
        ({"active_sessions": 300, "prompts_per_session_per_hour": 20}, 300, "3m"),
    ],
)
def test_what_each_of_those_at_once_asks_is_the_pause_between(
    stated: dict[str, object], people: int, pause: str
) -> None:
    written = {**stated, "input_tokens": 1200, "output_tokens": 40}
    _, made = mended("service", "Qwen/Qwen3-8B", "traffic", yaml.safe_dump(written, default_flow_style=True, width=999))
    assert (made["traffic"]["concurrent_users"], made["traffic"]["think_time"]) == (people, pause)
