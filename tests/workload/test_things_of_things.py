"""Loads of things in things: all fixes of one message, followed together, state the load that was written, once.

A load is made of several nouns (so many in a time, of each so many others, of one of those a size). What is written
after the fixes is compared with the product by hand, of all units that the model reads, writes, sees or hears.
"""

from __future__ import annotations

import itertools
import random
from math import prod

import pytest
import yaml

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.text import load_mapping

WRITER, READER, EYES, EARS = (
    "Qwen/Qwen3-8B",
    "BAAI/bge-m3",
    "Qwen/Qwen2.5-VL-7B-Instruct",
    "openai/whisper-large-v3",
)
PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400, "month": 30 * 86_400}
CHAINS = (
    ("queries", "passages"), ("documents", "chunks"), ("chats", "messages"), ("claims", "letters", "pages"),
    ("books", "chapters", "paragraphs"), ("companies", "employees", "questions"), ("cases", "files"),
    ("movies", "scenes", "shots"), ("boxes", "folders", "sheets"), ("sessions", "turns"), ("agents", "calls"),
)  # fmt: skip
SINGULAR = {"queries": "query", "companies": "company", "boxes": "box"}
MODELS = {  # what a size of a thing is called, what it counts, and its usual numbers
    WRITER: {"tokens": ("in", 1, (40, 90)), "output_tokens": ("out", 1, (20, 60))},
    READER: {"tokens": ("in", 1, (40, 300))},
    EYES: {"output_tokens": ("out", 1, (20, 60)), "photos": ("pictures", 1, (2, 3)), "tokens": ("in", 1, (40, 90))},
    EARS: {"minutes": ("heard", 60, (2, 9)), "seconds": ("heard", 1, (20, 90))},
}


def _one(noun: str) -> str:
    return SINGULAR.get(noun, noun.removesuffix("s"))


def _written(kind: str, model: str, stated: dict[str, object]) -> dict[str, float]:
    """What the model has to do in a second, or in a batch, after every fix of the one message was followed."""
    section = "batch" if kind == "batch-inference" else "traffic"
    text = yaml.safe_dump({"name": "x", "kind": kind, "model": model, section: stated}, sort_keys=False)
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    raw = load_mapping(text, "x.yaml")
    for fault in refused.value.faults:
        raw = repaired(raw, fault)
        assert raw is not None, (text, fault.path, fault.fix)
    spec = parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    if spec.batch:
        of = spec.batch
        sizes = (of.tokens_per_record, of.output_tokens_per_record, of.images, of.audio_s)
        number: float = of.records
    else:
        assert spec.traffic
        assert spec.traffic.requests_per_s is not None
        number = spec.traffic.requests_per_s
        sizes = (spec.traffic.input_tokens, spec.traffic.output_tokens, spec.traffic.images, spec.traffic.audio_s)
    read, wrote, images, heard = sizes
    each = {"in": read or 0, "out": wrote or 0, "pictures": images.per_request if images else 0, "heard": heard or 0}
    return {what: number * size for what, size in each.items()}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("kind", ["inference", "batch-inference"])
def test_the_fixes_of_one_message_state_the_load_once(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")  # noqa: S311 - no secret
    model = chance.choice([*MODELS])
    chain = chance.choice(CHAINS)
    chain = chain[: chance.randint(1, len(chain))]
    numbers = [chance.randint(2, 6) * 100, *(chance.randint(2, 4) for _ in chain[1:])]
    period = chance.choice([*PERIODS])
    stated: dict[str, object] = {}
    by_people = kind == "inference" and len(chain) > 1 and chance.random() < 0.3
    if kind == "batch-inference" or by_people:
        stated[chain[0]] = numbers[0]
    else:
        stated[f"{chain[0]}_per_{period}"] = numbers[0]
    for place, (above, below) in enumerate(itertools.pairwise(chain)):
        a_time = f"_per_{period}" if by_people and place == 0 else ""
        stated[f"{below}_per_{_one(above)}{a_time}"] = numbers[place + 1]
    meant: dict[str, float] = {}
    seconds = PERIODS[period] if kind == "inference" else 1
    sizes = chance.sample([*MODELS[model]], chance.randint(1, len(MODELS[model])))
    if model == WRITER and "tokens" not in sizes:
        sizes.append("tokens")
    for size in sizes:
        what, factor, (low, high) = MODELS[model][size]
        place, number = len(chain) - 1, chance.randint(low, high)
        if size == "minutes" and "seconds" in sizes:
            continue
        stated[f"{size}_per_{_one(chain[place])}"] = number
        meant[what] = prod(numbers[: place + 1]) * number * factor / seconds
    items = [*stated.items()]
    chance.shuffle(items)
    stated = dict(items)
    if kind == "batch-inference":
        stated["window"] = "8h"
    elif model == EYES and "tokens" not in sizes:
        stated["input_tokens"] = 30
    made = _written(kind, model, stated)
    for what, number in meant.items():
        assert made[what] == pytest.approx(number, rel=0.03), (stated, made)


CASES = {  # (kind, model, load): what the model does in a second, or in a batch, by hand
    ("inference", READER, "queries_per_second: 30, passages_per_query: 50, tokens_per_passage: 200"):
        {"in": 30 * 50 * 200},
    ("inference", WRITER, ("queries_per_second: 5, passages_per_query: 10, tokens_per_passage: 200, "
     "tokens_per_query: 50, output_tokens: 300")): {"in": 5 * (10 * 200 + 50), "out": 5 * 300},
    ("inference", WRITER, "chats_per_minute: 20, messages_per_chat: 8, tokens_per_message: 150, output_tokens: 200"):
        {"in": 20 / 60 * 8 * 150, "out": 20 / 60 * 8 * 200},
    ("inference", WRITER, "chats_per_day: 1000, messages_per_chat: 8, tokens_per_chat: 1200, output_tokens: 9"):
        {"in": 1000 * 1200 / 86_400},
    ("inference", READER, "documents_per_second: 5, chunks_per_document: 40, tokens_per_chunk: 512"):
        {"in": 5 * 40 * 512},
    ("inference", READER, "rps: 30, passages_per_query: 50, tokens_per_passage: 200"): {"in": 30 * 50 * 200},
    ("inference", READER, "rps: 600/min, passages_per_query: 50, tokens_per_passage: 200"): {"in": 10 * 50 * 200},
    ("inference", WRITER, "rps: 2, chunks_per_query: 5, tokens_per_chunk: 400, output_tokens: 9"): {"in": 2 * 5 * 400},
    ("inference", WRITER, "rps: 2, turns_per_session: 6, input_tokens: 400, output_tokens: 9"): {"in": 2 * 400},
    ("inference", WRITER, "daily_users: 5000, tokens_per_user: 3000, output_tokens: 9"): {"in": 5000 * 3000 / 86_400},
    ("inference", WRITER, "tokens_per_day: 42M, tokens_per_request: 300, output_tokens: 0"): {"in": 42e6 / 86_400},
    ("inference", WRITER, "requests_per_day: 10k, input_tokens_per_day: 42M, output_tokens: 9"): {"in": 42e6 / 86_400},
    ("inference", WRITER, ("doctors: 30, patients_per_doctor_per_day: 20, letters_per_patient: 2, words_per_letter: 300, "
     "output_tokens: 9")): {"in": 30 * 20 * 2 * 400 / 86_400},
    ("inference", EYES, "claims_per_hour: 300, photos_per_claim: 6, input_tokens: 100, output_tokens: 200"):
        {"pictures": 300 * 6 / 3600, "out": 300 * 200 / 3600},
    ("inference", EARS, "agents: 60, calls_per_agent_per_day: 45, average_handle_time: 6m30s"):
        {"heard": 60 * 45 * 390 / 86_400},
    ("inference", EARS, "calls_per_hour: 200, avg_duration_seconds: 240"): {"heard": 200 * 240 / 3600},
    ("inference", EARS, "calls_per_day: 200, mean_length: 4 min"): {"heard": 200 * 240 / 86_400},
    ("inference", EARS, "calls_per_day: 200, talk_time: 4m"): {"heard": 200 * 240 / 86_400},
    ("inference", EARS, "calls_per_day: 200, duration: 4m"): {"heard": 200 * 240 / 86_400},
    ("inference", EARS, "concurrent_calls: 120, call_length: 6m"): {"heard": 120},
    ("inference", EARS, "hours_per_day: 600, minutes_per_call: 6"): {"heard": 600 * 3600 / 86_400},
    ("inference", EARS, "calls_per_day: 9000, call_length: 6m, segments_per_call: 12"): {"heard": 9000 * 360 / 86_400},
    ("inference", EARS, "calls_per_day: 9000, average_handle_time: 6m, segments_per_call: 12"):
        {"heard": 9000 * 360 / 86_400},
    ("inference", EARS, "streams: 40, audio: 10s"): {"heard": 40},
    ("inference", READER, "queries_per_second: 30, passages_per_query: 50, passage_tokens: 200"): {"in": 30 * 50 * 200},
    ("inference", READER, "documents_per_second: 5, chunks_per_document: 40, chunk_size: 512"): {"in": 5 * 40 * 512},
    ("inference", WRITER, "queries_per_second: 5, passages_per_query: 10, tokens_per_query: 900, output_tokens: 9"):
        {"in": 5 * 900},
    ("inference", WRITER, ("developers: 250, completions_per_developer_per_hour: 60, prompt_tokens: 2000, "
     "completion_tokens: 60")): {"in": 250 * 60 * 2000 / 3600, "out": 250 * 60 * 60 / 3600},
    ("inference", WRITER, "employees: 9, answers_per_employee_per_day: 20, input_tokens: 90, answer_tokens: 300"):
        {"in": 9 * 20 * 90 / 86_400, "out": 9 * 20 * 300 / 86_400},
    ("inference", WRITER, "summaries_per_hour: 60, prompt_tokens: 2000, summary_tokens: 60"):
        {"in": 60 * 2000 / 3600, "out": 60 * 60 / 3600},
    ("inference", WRITER, "reports_per_day: 60, prompt_tokens: 2000, words_per_report: 600"):
        {"in": 60 * 2000 / 86_400, "out": 60 * 800 / 86_400},
    ("inference", READER, "captions_per_hour: 60, tokens_per_caption: 30"): {"in": 60 * 30 / 3600, "out": 0},
    ("inference", WRITER, "rps: 2, input_tokens: 800, reasoning_tokens: 3000, answer_tokens: 500"): {"out": 2 * 3500},
    ("inference", WRITER, "rps: 2, input_tokens: 800, output_tokens: 500, thinking_tokens: 3000"): {"out": 2 * 3500},
    ("inference", WRITER, "rps: 2, input_tokens: 800, output_tokens: 500, thought_tokens_per_request: 3000"):
        {"out": 2 * 3500},
    ("batch-inference", WRITER, ("documents_per_day: 2500, words_per_document: 1200, output_words_per_document: 1200")):
        {"in": 2500 * 1600, "out": 2500 * 1600},
    ("batch-inference", WRITER, "books: 25, pages_per_book: 6, words_per_page: 300, translated_words_per_page: 600"):
        {"in": 25 * 6 * 400, "out": 25 * 6 * 800},
    ("batch-inference", WRITER, "contracts: 12000, pages_per_contract: 25, words_per_page: 450, answer_words: 300"):
        {"in": 12_000 * 15_000, "out": 12_000 * 400},
    ("batch-inference", WRITER, "emails: 1M, words_per_email: 300, words_per_reply: 90"): {"in": 4e8, "out": 12e7},
    ("batch-inference", WRITER, "tickets: 1M, tokens_per_ticket: 300, verdict_tokens: 5"): {"in": 3e8, "out": 5e6},
    ("batch-inference", WRITER, "summaries: 10k, summary_tokens: 300"): {"in": 3e6, "out": 0},
    ("inference", WRITER, "translations_per_minute: 40, source_words: 300, target_words: 330"):
        {"in": 40 / 60 * 400, "out": 40 / 60 * 440},
    ("inference", WRITER, "players: 5000, requests_per_player_per_minute: 0.2, context: 1200, response: 80"):
        {"in": 5000 * 0.2 / 60 * 1200, "out": 5000 * 0.2 / 60 * 80},
    ("inference", WRITER, "emails_per_day: 12000, tokens_per_email: 600, reply_length: 150 words"):
        {"in": 12_000 * 600 / 86_400, "out": 12_000 * 200 / 86_400},
    ("inference", WRITER, "rps: 2, prompt: 900 tokens, answer: 300 words"): {"in": 1800, "out": 800},
    ("inference", WRITER, "questions_per_hour: 600, question_tokens: 40, context_tokens: 2000, answer_length: 200"):
        {"in": 2040 / 6, "out": 200 / 6},
    ("inference", READER, "searches_per_second: 9, prompt_tokens: 40"): {"in": 360},
    ("inference", WRITER, "requests_per_hour: 600, system_prompt_tokens: 500, input_tokens: 2000, output_tokens: 200"):
        {"in": 2000 / 6},
    ("batch-inference", EARS, "calls_per_day: 9000, average_call_length: 4min 30s"): {"heard": 9000 * 270},
    ("batch-inference", EARS, "calls: 90, call_length: 1 hour and 5 minutes"): {"heard": 90 * 3900},
    ("batch-inference", EARS, "videos: 900, minutes_per_video: 12"): {"heard": 900 * 720},
    ("batch-inference", EYES, "videos: 3000, seconds_per_video: 30, frames_per_second: 1, caption_tokens: 150"):
        {"pictures": 3000 * 30, "out": 3000 * 150},
    ("batch-inference", EYES, "clips: 3000, clip_length: 30s, fps: 2, caption_tokens: 150"): {"pictures": 3000 * 60},
    ("batch-inference", EYES, "videos: 3000, minutes_per_video: 2, frames_per_minute: 4"): {"pictures": 3000 * 8},
    ("batch-inference", EYES, "videos: 3000, minutes_per_video: 2, frames_per_video: 16"): {"pictures": 3000 * 16},
    ("batch-inference", EYES, "videos: 3000, video_length: 20s, frame_rate: 0.5"): {"pictures": 3000 * 10},
    ("inference", EYES, ("cameras: 40, clips_per_camera_per_hour: 6, seconds_per_clip: 10, fps: 2, input_tokens: 100, "
     "output_tokens: 50")): {"pictures": 40 * 6 * 20 / 3600, "out": 40 * 6 * 50 / 3600},
    ("inference", EYES, "videos_per_day: 4000, video_duration: 15s, input_tokens: 100"):  # a frame a second, as it says
        {"pictures": 4000 * 15 / 86_400},
    ("batch-inference", READER, "documents: 2M, chunks_per_document: 25, chunk_size: 512"): {"in": 2e6 * 25 * 512},
    ("batch-inference", WRITER, "rows: 5M, columns_per_row: 12, tokens_per_row: 80"): {"in": 5e6 * 80},
    ("batch-inference", EYES, "documents: 30k, pages_per_document: 4, output_tokens_per_page: 700"):
        {"pictures": 120_000, "out": 120_000 * 700},
    ("batch-inference", EYES, "documents: 30k, pages_per_document: 4, tokens_per_page: 700"):
        {"pictures": 0, "in": 120_000 * 700},
    ("batch-inference", EYES, "products: 100k, images_per_product: 3, output_tokens_per_product: 200"):
        {"pictures": 300_000, "out": 100_000 * 200},
    ("batch-inference", EYES, "products: 100k, images_per_product: 3, output_tokens_per_image: 200"):
        {"pictures": 300_000, "out": 300_000 * 200},
    ("batch-inference", EYES, "records: 1k, pages_per_document: 4"): {"pictures": 4000},
    ("batch-inference", WRITER, "lawyers: 40, letters_per_lawyer_per_day: 200, tokens_per_letter: 300"):
        {"in": 40 * 200 * 300},
    ("batch-inference", WRITER, "tokens: 5B, tokens_per_document: 500"): {"in": 5e9},
    ("batch-inference", WRITER, "documents: 1M, tokens: 5B"): {"in": 5e9},
    ("batch-inference", WRITER, "books: 500, chapters_per_book: 20, pages_per_chapter: 9, tokens_per_page: 30"):
        {"in": 500 * 20 * 9 * 30},
    ("batch-inference", READER, "books: 500, chapters_per_book: 20, tokens_per_chapter: 6000"): {"in": 500 * 20 * 6000},
    ("batch-inference", EARS, "episodes: 4200, hours: 3000"): {"heard": 3000 * 3600},
    ("batch-inference", EARS, "hours: 5000, minutes_per_file: 30"): {"heard": 5000 * 3600},
    ("batch-inference", EARS, "calls: 4000, average_handle_time: 6m30s"): {"heard": 4000 * 390},
}  # fmt: skip


@pytest.mark.parametrize(("kind", "model", "stated"), CASES)
def test_a_load_is_counted_once(kind: str, model: str, stated: str) -> None:
    raw = yaml.safe_load(f"{{{stated}}}")
    if kind == "batch-inference":
        raw["window"] = "8h"
    made = _written(kind, model, raw)
    for what, number in CASES[kind, model, stated].items():
        assert made[what] == pytest.approx(number, rel=0.01), made
