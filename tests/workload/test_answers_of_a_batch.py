"""Several answers to each prompt of a batch are as many records."""

from __future__ import annotations

import pytest

from sizewell.sizing.aliases import alias
from sizewell.sizing.workload.loads import load_meant

KEYS = (
    *("samples_per_prompt", "n", "best_of", "num_return_sequences", "completions_per_prompt", "candidates_per_prompt"),
    *("generations_per_prompt", "num_generations", "answers_per_question", "num_samples_per_prompt"),
)


@pytest.mark.parametrize("key", KEYS)
def test_answers_to_a_prompt_multiply_the_records(key: str) -> None:
    batch = {"prompts": "500k", key: 4, "prompt_tokens": 200}
    spec = {"kind": "batch-inference", "model": "Qwen/Qwen3-8B", "batch": batch}
    assert load_meant("batch", "prompts", "500k", batch, spec).startswith("write records: 2M (4 answers to each")
    assert load_meant("batch", key, 4, batch, spec) == "leave it out: it is in records: 2M"
    assert load_meant("batch", "prompt_tokens", 200, batch, spec) == "write tokens_per_record: 200"
    stated = {"records": "500k", key: 4}
    assert load_meant("batch", key, 4, stated, {**spec, "batch": stated}).startswith("write records: 2M (")


@pytest.mark.parametrize("key", ["max_tokens", "max_new_tokens"])
def test_a_limit_of_answers_names_the_key_of_a_batch(key: str) -> None:
    row = alias("key", f"batch.{key}")
    assert row is not None
    assert row.meant == "batch.output_tokens_per_record: $"
