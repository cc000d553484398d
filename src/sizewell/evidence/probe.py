"""A small load test of a served model: answers of `/v1/completions`, streamed, and timed at this end.

Its result has the form of `vllm bench serve --save-result`, which `size --observed` reads. Tokens are counted by the
server (`usage`): a chunk of a stream may hold several.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from sizewell.clouds.connections import FAILURES, http_client, kind
from sizewell.sizing.errors import ServiceError

WORDS: Final = ("time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school")
FIX: Final = "name the server's address as `curl ADDRESS/v1/models` has it, and a model of that list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many clients, of which each waits for its answer and asks again."""

    clients: int
    requests: int
    input_tokens: int  # about: a word is a token or two
    output_tokens: int  # at most
    answer_s: float = 300.0  # that one answer may take


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: seconds to the first token and to the last, tokens as the server counts them."""

    first_s: float
    last_s: float
    input_tokens: int
    output_tokens: int


def probe(url: str, model: str, load: Load, *, begun: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """The result of a load test. ServiceError where no request is answered; the first of all is not counted."""
    client, chance = http_client(connections=load.clients), random.Random()  # noqa: S311 - words of a prompt

    def ask(number: int) -> Answer | str:
        begun(f"request {number} of {load.requests}")
        prompt = " ".join(chance.choices(WORDS, k=load.input_tokens))  # another one each time, for no cache to hold
        body = {"model": model, "prompt": prompt, "max_tokens": load.output_tokens, "temperature": 0}
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        asked_s = time.monotonic()  # a server may hold its headers back until it begins
        try:
            with client.stream("POST", f"{url.rstrip('/')}/v1/completions", json=body, timeout=load.answer_s) as reply:
                if reply.status_code != 200:
                    return (
                        f"status {reply.status_code}: {' '.join(reply.read().decode(errors='replace').split())[:200]}"
                    )
                return _timed(reply.iter_lines(), asked_s)
        except FAILURES as error:
            return kind(error)

    with client:
        if isinstance(first := ask(0), str):
            raise ServiceError(f"{url}: {first}\n  fix: {FIX}")
        begun_s = time.monotonic()
        with ThreadPoolExecutor(max_workers=load.clients) as pool:
            answers = list(pool.map(ask, range(1, load.requests + 1)))
        seconds = time.monotonic() - begun_s
    served = [each for each in answers if isinstance(each, Answer)]
    if not served:
        raise ServiceError(f"{url}: {next(each for each in answers if isinstance(each, str))}\n  fix: {FIX}")
    return {
        "model_id": model,
        "request_rate": "inf",
        "max_concurrency": load.clients,
        "duration": seconds,
        "completed": len(served),
        "failed": len(answers) - len(served),
        "total_input_tokens": sum(each.input_tokens for each in served),
        "total_output_tokens": sum(each.output_tokens for each in served),
        "output_throughput": sum(each.output_tokens for each in served) / seconds,
        **_figures("ttft", [each.first_s for each in served]),
        **_figures("tpot", [(a.last_s - a.first_s) / (a.output_tokens - 1) for a in served if a.output_tokens > 1]),
        **_figures("e2el", [each.last_s for each in served]),
        "input_lens": [each.input_tokens for each in served],
        "output_lens": [each.output_tokens for each in served],
    }


def _timed(lines: Any, begun_s: float) -> Answer | str:
    first_s, last_s = 0.0, 0.0
    usage: dict[str, Any] = {}
    for line in lines:
        text = line.removeprefix("data:").strip()
        if not line.startswith("data:") or text == "[DONE]":
            continue
        try:
            chunk = json.loads(text)
            usage = chunk.get("usage") or usage
            spoke = any(choice.get("text") for choice in chunk.get("choices") or ())
        except (ValueError, AttributeError, TypeError):
            return "a chunk of its answer has another form than /v1/completions"
        if spoke:
            last_s = time.monotonic() - begun_s
            first_s = first_s or last_s
    tokens = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    counted = [each for each in tokens if isinstance(each, int) and each > 0]
    if not first_s or len(counted) < 2:
        return "its answer has no text, or no usage (stream_options.include_usage), by which tokens are counted"
    return Answer(first_s, last_s, *counted)


def _figures(name: str, seconds: Sequence[float]) -> dict[str, float]:
    if not seconds:
        return {}
    known = sorted(seconds)
    shares = {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
    figures = {f"{word}_{name}_ms": 1000 * known[math.ceil(share * len(known)) - 1] for word, share in shares.items()}
    return {f"mean_{name}_ms": 1000 * statistics.fmean(known), **figures}
