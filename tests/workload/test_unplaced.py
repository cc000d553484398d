"""Keys that no rule places have a way out, and no number of a load is lost by following what a message says."""

from __future__ import annotations

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec

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


def test_what_the_fixes_make_is_said() -> None:
    _, said = refused(f"{BATCH}batch: {{notes: 4000, tokens_per_note: 900, answer_tokens: 90, window: 6h}}")
    assert said == "so written it is: 4,000 records of 900 tokens in and 90 out, within 6h"
