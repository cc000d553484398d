"""Requests in the order in which they arrive: generated from a stated load, or what a log recorded."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean
from typing import Final

SPREAD: Final = 0.06  # of lengths that are said to be equal, as wide as a tenth to both sides
_Z95: Final = 1.6448536269514722
_NORMAL: Final = NormalDist()
_PARTS: Final = 64  # equally likely ones, by which a distribution is summed up
_Z999: Final = 3.090232306167813
P95_MAX: Final = math.exp(_Z95 * _Z95 / 2)  # times the mean: no log-normal length has a higher 95th percentile


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests by their time of arrival; sequences of one length, arrays of millions of them in a day."""

    at_s: Sequence[float]  # from the start, not falling
    prompt_tokens: Sequence[int]  # at least 1 each
    output_tokens: Sequence[int]  # at least 1 each
    cached_tokens: Sequence[int]  # of the prompt, that every prefix cache already holds; fewer than the prompt has
    blocks: Sequence[Sequence[int]] = ()  # what each prompt begins with, in blocks that equal ids share; or empty
    block_tokens: int = 0
    think_s: Sequence[float] = ()  # before each, of clients that wait for their answers; (): they send at once

    def __len__(self) -> int:
        return len(self.at_s)

    @property
    def seconds(self) -> float:
        """From the start to the last arrival."""
        return self.at_s[-1] if self.at_s else 0.0

    def longer_than(self, tokens: int) -> list[int]:
        """Which have more tokens, prompt and answer together."""
        together = zip(self.prompt_tokens, self.output_tokens, strict=True)
        return [index for index, pair in enumerate(together) if sum(pair) > tokens]

    def without(self, left_out: Iterable[int]) -> Requests:
        """All but some of them, at their times."""
        out = set(left_out)
        if not out:
            return self
        kept = [index for index in range(len(self)) if index not in out]
        return replace(
            self,
            at_s=[self.at_s[index] for index in kept],
            prompt_tokens=[self.prompt_tokens[index] for index in kept],
            output_tokens=[self.output_tokens[index] for index in kept],
            cached_tokens=[self.cached_tokens[index] for index in kept],
            blocks=[self.blocks[index] for index in kept] if self.blocks else (),
        )

    def all_kept(self) -> Requests:
        """As if one prefix cache without limits had served them."""
        kept = (
            min(prompt - 1, cached + blocks * self.block_tokens)
            for prompt, cached, blocks in zip(self.prompt_tokens, self.cached_tokens, held(self.blocks), strict=True)
        )
        return replace(self, cached_tokens=list(kept), blocks=(), block_tokens=0) if self.blocks else self


def held(prompts: Iterable[Sequence[int]]) -> Iterator[int]:
    """How many blocks at the beginning of each prompt came before.

    >>> list(held([(1, 2), (1, 2, 3), (4, 2)]))
    [0, 2, 0]
    """
    seen: set[int] = set()
    for blocks in prompts:
        yield next((position for position, block in enumerate(blocks) if block not in seen), len(blocks))
        seen.update(blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long requests are. Lengths of a spread are log-normal around their mean: as recorded services have them,
    where most requests are short and few are many times as long. Those beyond what the model reads are cut to it, and
    the others are as much longer as keeps the mean: a load that is cut would need fewer machines the more it spreads.
    """

    prompt_tokens: float  # mean
    output_tokens: float  # mean
    prompt_spread: float = 0.0  # standard deviation of the logarithm; 0: all alike
    output_spread: float = 0.0
    cached: float = 0.0  # share of each prompt that the prefix cache holds
    together: int = 0  # tokens of prompt and answer that the model reads at most; 0: no limit

    def within(self) -> Lengths:
        """The lengths to draw, so that those that are cut have the stated means."""
        if not self.together:
            return self
        output = _drawn_for(self.output_tokens, self.output_spread, (self.together - 1.0,))
        outputs = (min(each, self.together - 1.0) for each in _parts_of(*output))
        prompt = _drawn_for(self.prompt_tokens, self.prompt_spread, [self.together - each for each in outputs])
        return replace(
            self, prompt_tokens=prompt[0], prompt_spread=prompt[1], output_tokens=output[0], output_spread=output[1]
        )

    def drawn(self, draw: random.Random) -> tuple[int, int, int]:
        """Prompt, answer and cached tokens of one request."""
        output = max(1, round(around(self.output_tokens, self.output_spread, draw)))
        prompt = max(1, round(around(self.prompt_tokens, self.prompt_spread, draw)))
        if self.together:
            output = max(1, min(output, self.together - 1))
            prompt = max(1, min(prompt, self.together - output))
        return prompt, output, min(prompt - 1, int(prompt * self.cached))


def around(mean: float, spread: float, draw: random.Random) -> float:
    """A log-normal length with that mean; the mean itself without a spread."""
    return mean * math.exp(draw.gauss(0.0, spread) - spread * spread / 2) if spread else mean


def spread_of(mean: float, p95: float | None) -> float:
    """The spread of log-normal lengths of that mean of which 95 of 100 stay within `p95`; 0 where none is stated.

    With z the 95th percentile of a normal distribution, p95 / mean = exp(z s - s^2 / 2): of its two solutions the one
    below z, up to `P95_MAX`.

    >>> round(spread_of(1000, 3000), 2), spread_of(1000, None)
    (0.93, 0.0)
    """
    if p95 is None:
        return 0.0
    return _Z95 - math.sqrt(max(0.0, _Z95 * _Z95 - 2 * math.log(p95 / mean)))


def share_longer(mean: tuple[float, float], spread: tuple[float, float], tokens: int) -> float:
    """The share of requests whose prompt and answer, of such lengths, have more tokens together.

    >>> round(share_longer((4000, 200), (spread_of(4000, 7992), 0.0), 8192), 3)
    0.05
    """
    (prompt, answer), (width, _) = mean, spread
    return fmean(1 - _share_up_to(prompt, width, tokens - each) for each in _parts_of(answer, spread[1]))


def _share_up_to(mean: float, spread: float, tokens: float) -> float:
    if tokens <= 0 or not spread:
        return float(0 < mean <= tokens)
    return _NORMAL.cdf(math.log(tokens / mean) / spread + spread / 2)


def _parts_of(mean: float, spread: float) -> list[float]:
    """Lengths that stand for equally large parts of all."""
    if not spread:
        return [mean]
    middles = (_NORMAL.inv_cdf((part + 0.5) / _PARTS) for part in range(_PARTS))
    return [mean * math.exp(spread * z - spread * spread / 2) for z in middles]


def _mean_within(mean: float, spread: float, most: float) -> float:
    """The mean of lengths of which those beyond `most` are cut to it."""
    if most <= 0 or not spread:
        return min(mean, max(0.0, most))
    beyond = _NORMAL.cdf(math.log(mean / most) / spread - spread / 2)
    return mean * _NORMAL.cdf(math.log(most / mean) / spread - spread / 2) + most * beyond


def _drawn_for(mean: float, spread: float, most: Sequence[float]) -> tuple[float, float]:
    """Mean and spread of the lengths to draw where those beyond `most`, equally likely limits, are cut: so that what is
    left has the stated mean, with the same 95th percentile as far as it is not cut itself.
    """

    def left(drawn: float, width: float) -> float:
        return fmean(_mean_within(drawn, width, each) for each in most)

    if not spread or left(mean, spread) > 0.9995 * mean:
        return mean, spread
    p95 = min(mean * math.exp(_Z95 * spread - spread * spread / 2), fmean(most))
    low, high = 0.0, spread  # less spread around the same 95th percentile has a higher mean
    for _ in range(40):
        middle = (low + high) / 2
        drawn = p95 * math.exp(middle * middle / 2 - _Z95 * middle)
        low, high = (middle, high) if left(drawn, middle) > mean else (low, middle)
    return p95 * math.exp(low * low / 2 - _Z95 * low), low


def longest_of(mean: float, spread: float) -> float:
    """The length that one of a thousand requests of that spread exceeds; those of no spread are all alike.

    >>> round(longest_of(1000, spread_of(1000, 3000)), -2), longest_of(1000, 0.0)
    (11500.0, 1000.0)
    """
    return mean * math.exp(_Z999 * spread - spread * spread / 2)


def arriving(*, rate: float, seconds: float, lengths: Lengths, burstiness: float = 1.0, seed: int = 0) -> Requests:
    """`rate` requests per second for so many seconds.

    The times between arrivals follow a gamma distribution whose standard deviation is `burstiness` times its mean: 1 is
    a Poisson process, 0 a fixed pace, and what real services record lies above 1. Equal seeds give equal requests.

    >>> len(arriving(rate=10, seconds=2, lengths=Lengths(prompt_tokens=5, output_tokens=1), burstiness=0))
    20
    """
    draw = random.Random(seed)  # noqa: S311 - arrivals, not secrets
    return _at(_times(rate, seconds, burstiness, draw), lengths, draw)


def _times(rate: float, seconds: float, burstiness: float, draw: random.Random) -> array[float]:
    mean = 1.0 / rate
    shape = 1.0 / burstiness**2 if burstiness > 0 else 0.0
    times = array("d")
    now = mean * draw.random()
    while now < seconds:
        times.append(now)
        now += draw.gammavariate(shape, mean / shape) if shape else mean
    return times


def over_hours(
    rates: Sequence[float], *, lengths: Lengths, burstiness: float = 1.0, seed: int = 0, minutes: Sequence[int] = ()
) -> Requests:
    """Requests over hours that have such rates per second in their middle, even between; the last leads to the first.

    Of arrivals at the highest rate stay as many as the time has. With `minutes` of the hours in which the service runs,
    they come in these alone, and their times are of these minutes put together.

    >>> came = over_hours((2, 0, 2), lengths=Lengths(prompt_tokens=5, output_tokens=1))
    >>> [round(sum(hour <= at / 3600 < hour + 1 for at in came.at_s), -2) for hour in range(3)]
    [6200, 1900, 6400]
    """
    most, count = max(rates), len(rates)

    def rate(at_s: float) -> float:
        hour, part = divmod(at_s / 3600 - 0.5, 1.0)
        return rates[int(hour) % count] * (1 - part) + rates[(int(hour) + 1) % count] * part

    draw = random.Random(seed)  # noqa: S311 - arrivals, not secrets
    times = _times(most, 3600 * len(rates), burstiness, draw)
    came = array("d", (at for at in times if draw.random() * most < rate(at)))
    if minutes:
        place = {minute: index for index, minute in enumerate(minutes)}
        came = array("d", (60 * place[int(at // 60)] + at % 60 for at in came if int(at // 60) in place))
    return _at(came, lengths, draw)


def circulating(*, clients: int, count: int, lengths: Lengths, think_s: float = 0.0, seed: int = 0) -> Requests:
    """The lengths of `count` requests that so many clients send one after the other: they arrive as answers end.

    Clients think for exponentially distributed times of that mean, as closed queueing networks have them: people who
    all thought equally long would stay in step and come as one crowd for ever.

    Lengths without a spread are drawn with a small one: equal answers to requests that came together would end together
    for ever, and each wave of prompts would wait for itself, as no real load does.
    """
    draw = random.Random(seed)  # noqa: S311 - lengths, not secrets
    spread = replace(
        lengths,
        prompt_spread=lengths.prompt_spread or SPREAD,
        output_spread=lengths.output_spread or SPREAD,
    )
    requests = _at(array("d", bytes(8 * max(count, clients))), spread, draw)
    if not think_s:
        return requests
    return replace(requests, think_s=array("d", (draw.expovariate(1 / think_s) for _ in requests.at_s)))


def _at(times: array[float], lengths: Lengths, draw: random.Random) -> Requests:
    parts = array("i"), array("i"), array("i")
    within = lengths.within()
    for _ in times:
        for part, tokens in zip(parts, within.drawn(draw), strict=True):
            part.append(tokens)
    return Requests(times, *parts)
