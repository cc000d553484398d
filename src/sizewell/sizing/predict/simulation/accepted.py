"""Speculative decoding in the simulation: how many decode steps an answer takes, drawn from what steps accept."""

from __future__ import annotations

import math
import random
from array import array
from bisect import bisect_left
from functools import lru_cache

from sizewell.sizing.records.jobs import Speculation

STEPS = 1 << 17  # that are drawn, of which each answer takes a stretch
SEED = 0
_SPREAD = 2654435761  # Knuth's multiplier: neighbouring requests begin far apart


@lru_cache(maxsize=16)
def accepted(tokens: int, acceptance: float) -> Accepted:
    """The luck of all requests where so many tokens are proposed, each accepted with that probability."""
    return Accepted(Speculation(tokens=tokens, acceptance=acceptance))


class Accepted:
    """The tokens that one step after the other adds to a sequence: those accepted up to the first that is not, and one
    of the model's own. The same request has the same luck in every fleet, so that fleets can be compared.
    """

    def __init__(self, of: Speculation) -> None:
        draw = random.Random(SEED)  # noqa: S311 - tokens accepted, not secrets
        self._mean = of.tokens_per_step
        self._after = array("q", [0])  # tokens after so many steps
        share = math.log(of.acceptance) if 0.0 < of.acceptance < 1.0 else 0.0
        always = of.tokens if of.acceptance >= 1.0 else 0
        tokens = 0
        for _ in range(STEPS):
            lucky = 1.0 - draw.random()
            tokens += 1 + (min(of.tokens, int(math.log(lucky) / share)) if share else always)
            self._after.append(tokens)

    def steps(self, request: int, tokens: int) -> int:
        """Decode steps that so many tokens of a request take.

        >>> half = Accepted(Speculation(tokens=3, acceptance=0.5))
        >>> abs(sum(half.steps(each, 300) for each in range(200)) / 200 * 1.875 / 300 - 1) < 0.01
        True
        >>> [Accepted(Speculation(tokens=3, acceptance=a)).steps(7, 40) for a in (0.0, 1.0)]
        [40, 10]
        """
        start = request * _SPREAD % (STEPS // 2)
        end = bisect_left(self._after, self._after[start] + tokens, start)
        return end - start if end <= STEPS else math.ceil(tokens / self._mean)
