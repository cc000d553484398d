"""The simulation of a fleet: against closed forms where these are exact, against one step after the other, and by laws."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import tracemalloc
from dataclasses import replace

import pytest

from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict.performance.serving_load import saturated, waits_share
from sizewell.sizing.predict.performance.serving_replica import Replica
from sizewell.sizing.predict.simulation.fleet import (
    LAUNCH_S,
    Promise,
    ReplicaLimits,
    Scaling,
    Served,
    _Loads,
    no_better,
    simulate,
)
from sizewell.sizing.predict.simulation.requests import Lengths, Requests, arriving, circulating, over_hours
from sizewell.sizing.records.jobs import ServingJob

NOTHING = Replica(
    devices=1,
    weights_s=0.0,
    experts_s=0.0,
    expert_share=0.0,
    cache_s_per_token=0.0,
    linear_s_per_token=0.0,
    head_s_per_token=0.0,
    decode_pair_s=0.0,
    prompt_pair_s=0.0,
    prompt_extra_s=0.0,
    collective_s=0.0,
    collective_s_per_token=0.0,
    step_s=0.0,
    sequence_s=0.0,
)
REAL = replace(
    NOTHING,
    weights_s=5e-3,
    cache_s_per_token=4e-8,
    linear_s_per_token=2e-5,
    head_s_per_token=1e-5,
    decode_pair_s=1e-9,
    prompt_pair_s=2e-10,
    step_s=1e-3,
    sequence_s=5e-6,
)
AMPLE = ReplicaLimits(sequences=10**6, cache_tokens=10**9, step_tokens=10**6)


@pytest.mark.parametrize("busy", [0.3, 0.6, 0.8])
def test_prompts_one_by_one_wait_as_in_m_d_1(busy: float) -> None:
    """Pollaczek and Khinchine: a wait of busy x service / (2 (1 - busy))."""
    service = 0.1
    requests = arriving(rate=busy / service, seconds=20_000, lengths=Lengths(prompt_tokens=100, output_tokens=1))
    one = replace(AMPLE, sequences=1, step_tokens=100)
    served = simulate(replace(NOTHING, linear_s_per_token=service / 100), one, requests)
    waited = statistics.fmean(served.ttft_s) - service
    assert waited == pytest.approx(busy * service / 2 / (1 - busy), rel=0.02)


def test_answers_wait_for_a_place_as_in_erlang_c() -> None:
    """Places that serve at a constant pace, answers of geometric lengths: M/M/c."""
    places, busy, tokens, count = 4, 0.7, 500, 150_000
    draw = random.Random(3)  # noqa: S311 - arrivals
    now, at_s = 0.0, []
    for _ in range(count):
        now += draw.expovariate(busy * places)
        at_s.append(now)
    lengths = [1 + math.ceil(math.log(1 - draw.random()) / math.log(1 - 1 / tokens)) for _ in range(count)]
    requests = Requests(at_s, [1] * count, lengths, [0] * count)
    served = simulate(replace(NOTHING, step_s=1 / tokens), replace(AMPLE, sequences=places), requests)
    # The prompt is a step of its own, in which the place is taken.
    service = 1 + 1 / tokens
    load = statistics.fmean(lengths) / tokens * count / now / places
    expected = waits_share(places, load) * service / (places * (1 - load))
    assert statistics.fmean(served.ttft_s) == pytest.approx(expected, rel=0.02)


def test_a_full_batch_is_as_fast_as_its_closed_form() -> None:
    requests = circulating(clients=256, count=8000, lengths=Lengths(prompt_tokens=512, output_tokens=256))
    served = simulate(REAL, replace(AMPLE, sequences=256, step_tokens=8192), requests, clients=256)
    job = ServingJob(architecture=Architecture(key="x"), input_tokens=512, output_tokens=256)
    assert len(requests) / served.seconds == pytest.approx(saturated(REAL, job, batch=256).requests_per_s, rel=0.02)


def _step_by_step(of: Replica, limits: ReplicaLimits, requests: Requests) -> tuple[list[float], list[float]]:
    """One replica without any event: each step is looked at. First tokens and ends, by request."""
    count = len(requests)
    first, end = [math.nan] * count, [math.nan] * count
    left = [p - c for p, c in zip(requests.prompt_tokens, requests.cached_tokens, strict=True)]
    held, to_say = list(requests.prompt_tokens), list(requests.output_tokens)
    waiting: list[int] = []
    reading: list[int] = []
    saying: list[int] = []
    now, came = 0.0, 0
    while came < count or waiting or reading or saying:
        if not (waiting or reading or saying):
            now = max(now, requests.at_s[came])
        while came < count and requests.at_s[came] <= now + 1e-12:
            waiting.append(came)
            came += 1
        used = sum(held[r] for r in reading) + sum(held[r] for r in saying)
        while len(saying) > 1 and used + len(saying) > limits.cache_tokens:
            last = saying.pop()
            used -= held[last]
            left[last] = held[last]
            waiting.insert(0, last)
        budget = limits.step_tokens - len(saying)
        while waiting and len(saying) + len(reading) < limits.sequences:
            head = waiting[0]
            if used + len(saying) + held[head] + 1 > limits.cache_tokens and (saying or reading):
                break
            if sum(left[r] for r in reading) >= budget:
                break
            reading.append(waiting.pop(0))
            used += held[head]
        work, tokens, done = 0.0, 0, []
        for request in reading:
            part = min(left[request], max(0, budget))
            if not part:
                break
            start = held[request] - left[request]
            work += part * of.linear_s_per_token + of.prompt_pair_s * ((start + part) ** 2 - start**2)
            left[request] -= part
            budget -= part
            tokens += part
            if not left[request]:
                done.append(request)
                work += of.head_s_per_token + of.sequence_s
        context = sum(held[r] for r in saying)
        if saying:
            now += of.decode_s(len(saying), context / len(saying)) + work
        else:
            now += max(work, of.read_s(tokens)) + of.step_s
        now += LAUNCH_S * of.launches if tokens else 0.0
        for request in list(saying):
            held[request] += 1
            to_say[request] -= 1
            if not to_say[request]:
                saying.remove(request)
                end[request] = now
        for request in done:
            reading.remove(request)
            first[request] = now if math.isnan(first[request]) else first[request]
            held[request] += 1
            to_say[request] -= 1
            if to_say[request]:
                saying.append(request)
            else:
                end[request] = now
    return first, end


@pytest.mark.parametrize("seed", range(12))
def test_events_are_the_steps_one_by_one(seed: int) -> None:
    """Long and short prompts, little cache (sequences give their room back), few places, bursts."""
    draw = random.Random(seed)  # noqa: S311 - arrivals
    count = 80
    at_s = sorted(draw.choice([1.0, draw.random() * 4]) for _ in range(count))
    requests = Requests(
        at_s,
        [draw.randint(1, 900) for _ in range(count)],
        [draw.randint(1, 200) for _ in range(count)],
        [0] * count,
    )
    limits = ReplicaLimits(
        sequences=draw.choice([3, 16, 200]),
        cache_tokens=draw.choice([1200, 4000, 100_000]),
        step_tokens=draw.choice([256, 2048]),
    )
    of = replace(REAL, launches=draw.choice([0.0, 300.0]))
    served = simulate(of, limits, requests)
    first, end = _step_by_step(of, limits, requests)
    assert served.refused == 0
    assert served.ttft_s == pytest.approx([f - a for f, a in zip(first, at_s, strict=True)], rel=1e-6)
    assert served.end_s == pytest.approx(end, rel=1e-6)


def test_some_of_these_cases_give_room_back() -> None:
    requests = arriving(rate=200, seconds=0.5, lengths=Lengths(prompt_tokens=100, output_tokens=300))
    served = simulate(REAL, replace(AMPLE, cache_tokens=2000), requests)
    assert served.preempted > 0
    assert len(served.end_s) == len(requests)
    assert served.cache_max <= 1


def _p95(served: Served) -> float:
    return sorted(served.ttft_s)[math.ceil(0.95 * len(served.ttft_s)) - 1]


def test_burstier_waits_longer_and_more_replicas_wait_less() -> None:
    by_burst = [
        _p95(
            simulate(
                REAL,
                AMPLE,
                arriving(rate=20, seconds=300, lengths=Lengths(prompt_tokens=500, output_tokens=100), burstiness=b),
                replicas=2,
            )
        )
        for b in (0, 1, 4, 10)
    ]
    assert by_burst == sorted(by_burst)
    bursts = arriving(rate=20, seconds=300, lengths=Lengths(prompt_tokens=500, output_tokens=100), burstiness=10)
    by_count = [_p95(simulate(REAL, AMPLE, bursts, replicas=count)) for count in (1, 2, 4, 8)]
    assert by_count == sorted(by_count, reverse=True)
    assert by_count[0] > 2 * by_count[3]


def test_a_replay_ends_where_it_can_no_longer_keep_its_promise() -> None:
    """It says of each count and figure what the whole replay says."""
    bursts = arriving(rate=20, seconds=100, lengths=Lengths(prompt_tokens=500, output_tokens=100), burstiness=10)
    for replicas in (1, 2, 4, 8):
        whole = simulate(REAL, AMPLE, bursts, replicas=replicas)
        for which, values in enumerate((whole.ttft_s, whole.tpot_s, whole.e2e_s)):
            beyond = len(values) // 20
            limit = sorted(values)[-1 - beyond]
            for most, broken in ((limit, None), (limit * 0.999, which), (limit / 4, which)):
                promise = Promise(
                    most_s=tuple(most if part == which else math.inf for part in range(3)), misses=(beyond,) * 3
                )
                ended = simulate(REAL, AMPLE, bursts, replicas=replicas, promise=promise)
                assert ended.broken == broken
            assert len(ended.ttft_s) < 0.6 * len(whole.ttft_s)


def test_what_is_slower_or_smaller_in_a_part_and_faster_in_none_is_no_better() -> None:
    slower, smaller = replace(REAL, step_s=2e-3), replace(AMPLE, sequences=8)
    assert no_better(slower, AMPLE, REAL, AMPLE)
    assert no_better(REAL, smaller, REAL, AMPLE)
    assert not no_better(REAL, AMPLE, slower, AMPLE)
    assert not no_better(slower, AMPLE, REAL, smaller)
    assert not no_better(replace(slower, prefix=0.5), AMPLE, REAL, AMPLE)


def test_of_requests_as_if_all_were_kept_each_waits_least_alone() -> None:
    blocks = [(0, each % 3, each) for each in range(30)]
    requests = Requests([0.1 * each for each in range(30)], [1600] * 30, [20] * 30, [0] * 30, blocks, 512)
    kept = requests.all_kept()
    assert kept.cached_tokens[:2] == [0, 512]
    assert kept.cached_tokens[5] == 1024
    alone = simulate(REAL, AMPLE, kept, clients=1)
    for replicas in (1, 3, 30):
        served = simulate(REAL, AMPLE, requests, replicas=replicas)
        for least, took in zip(alone.ttft_s, served.ttft_s, strict=True):
            assert least <= took + 1e-9


def _step_up(scaling: Scaling | None, replicas: int = 1) -> Served:
    """A quarter of an hour at a low rate, half an hour at six times as much, and the rest of the hour as before."""
    lengths = Lengths(prompt_tokens=500, output_tokens=100, output_spread=0.3)
    low, high = (
        arriving(rate=5, seconds=3600, lengths=lengths),
        arriving(rate=25, seconds=1800, lengths=lengths, seed=1),
    )
    at_s = sorted([*low.at_s, *(900 + at for at in high.at_s)])
    count = len(at_s)
    made = Requests(at_s, [500] * count, [*low.output_tokens, *high.output_tokens], [0] * count)
    return simulate(REAL, replace(AMPLE, sequences=40), made, replicas=replicas, scaling=scaling)


def test_replicas_follow_the_load_once_they_have_started() -> None:
    scaling = Scaling(least=1, most=6, target=20.0, start_s=120.0)
    served = _step_up(scaling)
    assert len(served.ttft_s) == len(_step_up(None).ttft_s)
    numbers = [count for _, count in served.ordered]
    assert numbers[0] == numbers[-1] < max(numbers) <= 6
    first = next(at for at, count in served.ordered if count > 1)
    assert 900 < first < 1020  # what is in flight is averaged over two minutes
    # Back to one only after the five minutes in which the load might have come back.
    gone = [at for at, count in served.ordered if count == 1 and at > 900]
    assert gone[0] >= 2700 + 240
    late = _p95(_step_up(replace(scaling, start_s=600.0)))
    assert _p95(_step_up(None, replicas=6)) <= _p95(served) < late
    assert late <= _p95(_step_up(None))


def test_replicas_stay_between_the_least_and_the_most() -> None:
    numbers = [count for _, count in _step_up(Scaling(least=2, most=3, target=2.0, start_s=60.0), 2).ordered]
    assert set(numbers) <= {2, 3}
    assert max(numbers) == 3


def test_replicas_of_the_start_stay_until_the_load_had_time_to_come() -> None:
    ordered = _step_up(Scaling(least=1, most=6, target=20.0, start_s=120.0), 3).ordered
    assert next(at for at, count in ordered if count < 3) > 285


def test_arrivals_of_a_quiet_hour_are_as_random_as_those_of_the_busiest() -> None:
    came = over_hours((5, 5, 5, 10), lengths=Lengths(prompt_tokens=5, output_tokens=1))
    gaps = [b - a for a, b in itertools.pairwise(at for at in came.at_s if 3600 < at < 2 * 3600)]
    assert statistics.pstdev(gaps) / statistics.fmean(gaps) == pytest.approx(1.0, abs=0.05)


def test_a_long_simulation_keeps_little_of_each_request() -> None:
    """A day has millions: arrays of what each took, and nothing of those that have ended."""

    def peak(seconds: float) -> tuple[int, int]:
        tracemalloc.start()
        try:
            requests = arriving(rate=50, seconds=seconds, lengths=Lengths(prompt_tokens=300, output_tokens=8))
            simulate(REAL, AMPLE, requests)
            return len(requests), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(20), peak(120)
    assert (many[1] - few[1]) / (many[0] - few[0]) < 120  # bytes


def test_what_the_prefix_cache_holds_is_not_read() -> None:
    whole, held = (
        simulate(
            REAL,
            AMPLE,
            arriving(rate=5, seconds=60, lengths=Lengths(prompt_tokens=4000, output_tokens=20, cached=share)),
        )
        for share in (0.0, 0.9)
    )
    assert _p95(held) < 0.5 * _p95(whole)


def test_a_prompt_with_a_prefix_is_read_alike_in_both_forms() -> None:
    alone = Requests([0.0], [4000], [1], [3000])
    read_s = simulate(REAL, AMPLE, alone).ttft_s[0]
    assert read_s == pytest.approx(replace(REAL, prefix=0.75).prefill_s(4000), rel=1e-6)
    assert read_s < REAL.prefill_s(4000)


def test_blocks_that_were_read_are_kept_as_long_as_there_is_room() -> None:
    """Two turns of a conversation share three blocks; what came between takes their room on a small replica."""
    prompts, blocks = [1536, 2048], [(1, 2, 3), (1, 2, 3, 4)]
    requests = Requests([0.0, 60.0], prompts, [5, 5], [0, 0], blocks=blocks, block_tokens=512)
    assert simulate(REAL, AMPLE, requests).hit_tokens == 1536
    between = Requests(
        [0.0, 30.0, 60.0],
        [1536, 1900, 2048],
        [5] * 3,
        [0] * 3,
        blocks=[blocks[0], (7, 8, 9), blocks[1]],
        block_tokens=512,
    )
    assert simulate(REAL, AMPLE, between).hit_tokens == 1536
    assert simulate(REAL, replace(AMPLE, cache_tokens=2100), between).hit_tokens == 0
    unlike = replace(requests, blocks=[(1, 2, 3), (9, 2, 3, 4)])
    assert simulate(REAL, AMPLE, unlike).hit_tokens == 0


def test_what_no_replica_has_room_for_is_counted() -> None:
    requests = Requests([0.0, 0.0], [100, 5000], [10, 10], [0, 0])
    served = simulate(REAL, replace(AMPLE, cache_tokens=1000), requests)
    assert served.refused == 1
    assert len(served.ttft_s) == 1


def test_clients_send_when_they_have_read_and_thought() -> None:
    lengths = Lengths(prompt_tokens=10, output_tokens=10)
    requests = replace(circulating(clients=3, count=30, lengths=lengths), think_s=[5.0] * 30)
    served = simulate(REAL, AMPLE, requests, clients=3)
    assert served.in_flight_max <= 3
    assert served.seconds > 10 * 5.0


@pytest.mark.parametrize(("clients", "think_s"), [(20, 30.0), (200, 300.0), (100, 20.0)])
def test_clients_that_think_come_as_arrivals_at_random(clients: int, think_s: float) -> None:
    """Where few of many clients wait at a time, theirs is the load of arrivals at users / (think + answer)."""
    lengths = Lengths(prompt_tokens=1000, output_tokens=200, prompt_spread=0.06, output_spread=0.06)
    requests = circulating(clients=clients, count=6000, lengths=lengths, think_s=think_s)
    assert statistics.fmean(requests.think_s) == pytest.approx(think_s, rel=0.05)
    closed = simulate(REAL, replace(AMPLE, step_tokens=8192), requests, clients=clients)
    rate = clients / (think_s + statistics.fmean(closed.e2e_s))
    came = sorted(closed.arrived_s)[: -2 * clients]
    assert len(came) / came[-1] == pytest.approx(rate, rel=0.05)
    at_random = simulate(
        REAL, replace(AMPLE, step_tokens=8192), arriving(rate=rate, seconds=6000 / rate, lengths=lengths)
    )
    for percentile in (0.5, 0.95):
        first, other = (sorted(each.ttft_s)[int(percentile * len(each.ttft_s))] for each in (closed, at_random))
        assert first == pytest.approx(other, rel=0.1)
    assert closed.waiting_max < 10


@pytest.mark.parametrize("replicas", [1, 30, 200])
def test_the_first_of_those_with_the_fewest_requests_is_found(replicas: int) -> None:
    draw = random.Random(replicas)  # noqa: S311 - loads, not secrets
    loads, plain = _Loads(replicas), [0] * replicas
    for step in range(3000):
        ends = step % 3 == 2
        place = draw.randrange(len(plain)) if ends else loads.least()
        assert ends or place == plain.index(min(plain))
        by = (-1 if plain[place] else 0) if ends else 1
        plain[place] += by
        loads.change(place, by)
        if step % 500 == 499:
            count = draw.randrange(1, 2 * replicas + 1)
            loads.resize(count)
            plain = plain[:count] + [0] * (count - len(plain))
        assert loads.of == plain
