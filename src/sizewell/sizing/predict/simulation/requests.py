"""Requests in the order in which they arrive: generated from a stated load, or what a log recorded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SPREAD: Final = 0.1


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests by their time of arrival; sequences of one length."""

    at_s: Sequence[float]  # from the start, not falling
    prompt_tokens: Sequence[int]  # at least 1 each
    output_tokens: Sequence[int]  # at least 1 each
    cached_tokens: Sequence[int]  # of the prompt, that every prefix cache already holds; fewer than the prompt has
    blocks: Sequence[Sequence[int]] = ()  # what each prompt begins with, in blocks that equal ids share; or empty
    block_tokens: int = 0

    def __len__(self) -> int:
        return len(self.at_s)

    @property
    def seconds(self) -> float:
        """From the start to the last arrival."""
        return self.at_s[-1] if self.at_s else 0.0


def arriving(
    *,
    rate: float,
    seconds: float,
    prompt_tokens: float,
    output_tokens: float,
    burstiness: float = 1.0,
    cached: float = 0.0,
    seed: int = 0,
) -> Requests:
    """`rate` requests per second for so many seconds, each with the same lengths.

    The times between arrivals follow a gamma distribution whose standard deviation is `burstiness` times its mean: 1 is
    a Poisson process, 0 a fixed pace, and what real services record lies above 1. `cached` is the share of each prompt
    that the prefix cache holds. Equal seeds give equal requests.

    >>> len(arriving(rate=10, seconds=2, prompt_tokens=5, output_tokens=1, burstiness=0))
    20
    """
    mean = 1.0 / rate
    draw = random.Random(seed)  # noqa: S311 - arrivals, not secrets
    shape = 1.0 / burstiness**2 if burstiness > 0 else 0.0
    times: list[float] = []
    now = mean * draw.random()
    while now < seconds:
        times.append(now)
        now += draw.gammavariate(shape, mean / shape) if shape else mean
    prompt, output = max(1, round(prompt_tokens)), max(1, round(output_tokens))
    held = min(prompt - 1, int(prompt * cached))
    return Requests(times, [prompt] * len(times), [output] * len(times), [held] * len(times))


def circulating(
    *, clients: int, count: int, prompt_tokens: float, output_tokens: float, cached: float = 0.0, seed: int = 0
) -> Requests:
    """The lengths of `count` requests that so many clients send one after the other: they arrive as answers end.

    Lengths spread evenly by a tenth to both sides: equal answers to requests that came together would end together
    for ever, and each wave of prompts would wait for itself, as no real load does.
    """
    draw = random.Random(seed)  # noqa: S311 - lengths, not secrets

    def around(mean: float) -> list[int]:
        return [max(1, round(mean * draw.uniform(1 - SPREAD, 1 + SPREAD))) for _ in range(max(count, clients))]

    prompts, outputs = around(prompt_tokens), around(output_tokens)
    held = [min(prompt - 1, int(prompt * cached)) for prompt in prompts]
    return Requests([0.0] * len(prompts), prompts, outputs, held)
