"""A replica under load: continuous batching as a queue, solved in closed form where it can be and by bisection else.

Three kinds of load: requests that arrive at random (`arriving`), a fixed number of clients that each wait for an answer
(`circulating`), and more work than the replica can take (`saturated`: batches overnight, throughput benchmarks).

Arriving. Each second brings `rate` prompts, which take the share r = rate x prompt_s of the device; what is left
decodes. A decode step over n sequences takes a + b n seconds, so the sequences in flight settle where
n = rate x output x (a + b n) / (1 - r). Around it they fluctuate: linearised, with variance n / (1 - g), where
g = rate x output x b / (1 - r) is the feedback of a longer step on the number in flight. The percentile of time per
token is the step at that percentile of n. The time to first token is the wait of an M/D/c queue for prefill
(exponential tail of its wait), the rest of the step that runs, and the prompt's own step.

Of users who wait for their answers no more requests are in flight than there are users, and a request meets only those
of the others: of what N users send, the share 1 - 1/N (Bard 1979, Schweitzer 1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from sizewell.sizing.predict.performance.serving_replica import Replica
from sizewell.sizing.records.jobs import ServingJob

INFINITE = math.inf


@dataclass(frozen=True, slots=True)
class Load:
    """A replica's steady state: rates per second, latencies at the percentile asked for (mean where none was)."""

    sequences: float  # in flight, on average
    sequences_peak: float  # at the percentile
    requests_per_s: float
    ttft_s: float
    tpot_s: float

    def e2e_s(self, output_tokens: float) -> float:
        return self.ttft_s + max(0.0, output_tokens - 1) * self.tpot_s

    @property
    def stable(self) -> bool:
        return math.isfinite(self.ttft_s) and math.isfinite(self.tpot_s)


def arriving(
    replica: Replica,
    job: ServingJob,
    *,
    rate: float,
    fit: int,
    percentile: float = 0.5,
    pool: int = 1,
    users: float = INFINITE,
) -> Load:
    """Poisson arrivals at one of `pool` equal replicas, `rate` requests per second each, with room for `fit` sequences;
    or what the `users` of the pool send at that rate, each of whom has one request in flight at most.

    A request goes to the replica with the fewest in flight, so a pool queues as one: it waits where all are busy, and
    what is in flight fluctuates over the pool and not over each replica.
    """
    overload = Load(float(fit), float(fit), rate, INFINITE, INFINITE)
    most, met = met_of(users, pool)
    prompt = replica.prompt_s(job.input_tokens)
    prefill_share = rate * prompt * met
    if fit < 1 or prefill_share >= 1.0:
        return overload
    context = job.input_tokens + job.output_tokens / 2
    per_output = rate * max(0.0, job.output_tokens - 1) / (1.0 - prefill_share)
    sequences = _settled(replica, context, per_output, fit)
    gain = per_output * _slope(replica, context, sequences)
    peak = INFINITE
    if sequences < fit and gain < 1.0:
        peak = sequences + deviations(percentile) * math.sqrt(sequences / (1.0 - gain) / pool)
    sequences, peak = min(sequences, most), min(peak, most)
    if peak > fit:
        return overload
    step = replica.decode_s(max(1.0, peak), context)
    busy = min(rate * prompt, 1.0 - 1e-9)
    all_busy = waits_share(pool, busy)
    tail = math.log(all_busy / (1.0 - percentile)) if all_busy > 1.0 - percentile else 0.0
    wait = min(tail / (1.0 - busy) / pool, ahead(users, pool)) * prompt
    other = step * replica.tokens_per_step if sequences * met > 1e-3 else 0.0
    own = replica.wait_s + max(replica.prefill_s(job.input_tokens), prompt + other)
    ttft = wait + 0.5 * min(1.0, sequences * met) * other + own
    return Load(sequences, peak, rate, ttft, step / (1.0 - prefill_share))


def circulating(replica: Replica, job: ServingJob, *, clients: float, fit: int, think_s: float = 0.0) -> Load:
    """`clients` that each send a request, wait for the answer, think, and send the next."""
    prompt = replica.prompt_s(job.input_tokens)
    context = job.input_tokens + job.output_tokens / 2
    output = max(0.0, job.output_tokens - 1)
    think_s += replica.wait_s  # a client that waits beside the device has nothing in flight on it
    if fit < 1:
        return Load(0.0, 0.0, 0.0, INFINITE, INFINITE)
    low, high = 0.0, min(1.0 / prompt, clients / max(replica.prefill_s(job.input_tokens), 1e-9))
    for _ in range(60):
        rate = (low + high) / 2
        in_flight = clients - rate * think_s
        batch = max(1.0, min(in_flight, fit))
        step = replica.decode_s(batch, context) / max(1e-12, 1.0 - rate * prompt)
        needed = replica.prefill_s(job.input_tokens) + output * step
        if rate * needed > batch or in_flight <= 0:
            high = rate
        else:
            low = rate
    rate = low
    batch = max(1.0, min(clients - rate * think_s, fit))
    share = rate * prompt
    step = replica.decode_s(batch, context) / max(1e-12, 1.0 - share)
    queue = max(0.0, clients - rate * think_s - batch) / rate if rate > 0 else 0.0
    running = 0.5 * step * replica.tokens_per_step if output else 0.0
    ttft = replica.wait_s + replica.prefill_s(job.input_tokens) + queue + running
    return Load(batch, batch, rate, ttft, step)


def saturated(replica: Replica, job: ServingJob, *, batch: float) -> Load:
    """More requests than the replica can take: `batch` sequences are always in flight."""
    context = job.input_tokens + job.output_tokens / 2
    output = max(1.0, job.output_tokens)
    prompt, step = replica.prompt_s(job.input_tokens), replica.decode_s(batch, context)
    rate = 1.0 / (prompt + output * step / batch)
    return Load(batch, batch, rate, replica.wait_s + replica.prefill_s(job.input_tokens), batch / (rate * output))


def fixed_batch(replica: Replica, job: ServingJob, *, batch: float) -> Load:
    """One batch at a time: all prompts first, then all outputs in step; no request joins on the way."""
    prefill = replica.prefill_s(job.input_tokens, batch)
    step = replica.decode_s(batch, job.input_tokens + job.output_tokens / 2)
    whole = prefill + max(0.0, job.output_tokens - 1) * step
    return Load(batch, batch, batch / whole, prefill, step)


def _settled(replica: Replica, context: float, per_output: float, fit: int) -> float:
    """The sequences in flight at which as many finish as arrive; `fit` where none do."""
    if not (replica.expert_share or (replica.draft and replica.draft.expert_share)):
        base = replica.decode_s(0.0, context)
        gain = per_output * (replica.decode_s(1.0, context) - base)
        return per_output * base / (1.0 - gain) if gain < 1.0 else float(fit)
    # With experts the step is concave in the batch, so sequences per step grow with the batch and cross once.
    low, high = 0.0, float(fit)
    if high <= per_output * replica.decode_s(high, context):
        return high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < per_output * replica.decode_s(middle, context) else (low, middle)
    return high


def _slope(replica: Replica, context: float, batch: float) -> float:
    """Seconds that one more sequence adds to a decode step."""
    return replica.decode_s(batch + 1.0, context) - replica.decode_s(batch, context)


def waits_share(pool: int, busy: float) -> float:
    """Share of arrivals that find all `pool` servers busy, each the share `busy` of the time (Erlang 1917, formula C).

    >>> waits_share(1, 0.8), round(waits_share(10, 0.8), 3)
    (0.8, 0.409)
    """
    load, blocked = pool * busy, 1.0
    for servers in range(1, pool + 1):
        blocked = load * blocked / (servers + load * blocked)
    return blocked / (1.0 - busy * (1.0 - blocked))


def met_of(users: float, pool: int) -> tuple[float, float]:
    """Requests in flight at one of `pool` replicas at most, and the share of the load that a request finds there.

    >>> met_of(2, 4), met_of(8, 2), met_of(INFINITE, 2)
    ((1.0, 0.0), (4.0, 0.75), (inf, 1.0))
    """
    most = max(1.0, users / pool)
    return most, 1.0 - 1.0 / most


def ahead(users: float, pool: int) -> float:
    """Requests that one waits for at most, where each of the others has one before it.

    >>> ahead(2, 2), ahead(2, 1), ahead(9, 2)
    (0.0, 1.0, 4.0)
    """
    return max(0.0, users - pool) if math.isinf(users) else float(max(0, math.ceil((users - pool) / pool)))


@lru_cache(maxsize=64)
def deviations(percentile: float) -> float:
    """Standard deviations above the mean at a percentile of the normal distribution, by bisection of erf.

    >>> round(deviations(0.95), 3)
    1.645
    """
    low, high = -8.0, 8.0
    for _ in range(60):
        middle = (low + high) / 2
        if 0.5 * (1.0 + math.erf(middle / math.sqrt(2.0))) < percentile:
            low = middle
        else:
            high = middle
    return max(0.0, high)
