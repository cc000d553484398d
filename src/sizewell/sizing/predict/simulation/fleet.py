"""Continuous batching on a fleet of equal replicas, one scheduler step after the other.

A step of a replica adds one token to each sequence in flight and reads, within its budget of tokens, prompts that wait
in the order of their arrival; a long prompt is read in several steps. A prompt is admitted where its cache has room and
the engine takes one more sequence. Where those in flight outgrow the cache, the sequence that was
admitted last gives its room back, and is read again later with what it had said (as vLLM recomputes). A new request
goes to the replica with the fewest in flight. An autoscaler may add replicas, which serve once they have started, and
take them away, which end what they have.

Where the requests say which blocks of tokens their prompts begin with, each replica keeps the blocks of ended requests
in what room is left, and drops the longest unused ones first. A block is counted for each request that uses it, though
engines share them: the careful side.

Between arrivals and ends the batch does not change, so as many steps as lie between are one event whose time is the
sum of an arithmetic series: the cache grows by one token per sequence and step. With speculative decoding a step adds
what is accepted, drawn for each sequence (`accepted.py`), and its cache grows by its mean in each step.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from heapq import heapify, heappop, heappush
from typing import Final

from sizewell.sizing.predict.performance.serving_replica import Replica
from sizewell.sizing.predict.simulation.accepted import accepted
from sizewell.sizing.predict.simulation.requests import Requests
from sizewell.sizing.records.launching import AVERAGED_S, LOOK_S, TOLERANCE

LAUNCH_S: Final = 20e-6
"""Seconds of the host for each kernel of a step that reads prompts: engines record graphs of decode steps alone.

Fitted to published times to the first token under load: of 0, 10, 15, 20 and 30 us the best over groups of dense models
and of gpt-oss, which are 11 to 23 % off with it (benchmarks/serving_load.py). Latent attention is two to five times
slower than simulated, which this does not explain."""


ENDED_KEPT: Final = 1000  # sequences that have ended, before a replica forgets them


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLimits:
    """What a replica takes at once."""

    sequences: int  # in flight
    cache_tokens: int  # of all sequences together
    step_tokens: int  # prompt and output tokens that one step works on


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """An autoscaler that counts requests in flight, as Kubernetes' does."""

    least: int  # replicas, at least 1
    most: int
    target: float  # requests in flight on each, averaged over `AVERAGED_S`
    start_s: float  # from the order to the first request
    spare: int = 0  # replicas beyond those that the count asks for
    look_s: float = LOOK_S
    wait_s: float = 300.0  # replicas are taken away down to the most that were wanted in this time
    tolerance: float = TOLERANCE  # within which nothing changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """How many requests may take longer than so many seconds: one more, and the simulation ends.

    In this order: to the first token, between tokens, to the last token.
    """

    most_s: tuple[float, ...]
    misses: tuple[int, ...]
    first: int = 0  # request that counts; those before it do not


@dataclass(frozen=True, slots=True)
class Served:
    """What happened to each request, in the order of arrival, and to the fleet."""

    ttft_s: Sequence[float]  # from arrival to the first token
    end_s: Sequence[float]  # from the start to the last token
    e2e_s: Sequence[float]  # from arrival to the last token
    tpot_s: Sequence[float]  # between tokens, mean of a request; NaN for answers of one token
    refused: int  # requests that no replica has room for, however long they wait: they are in none of the above
    waiting_max: int  # over all replicas
    in_flight_max: int  # of one replica
    cache_max: float  # share of one replica's cache
    preempted: int
    hit_tokens: int  # of prompts, that the replicas had kept and did not read again
    busy_s: float  # of all replicas together
    seconds: float  # to the last token
    broken: int | None  # which part of the promise; the requests that had not ended are in none of the above
    arrived_s: Sequence[float] = field(repr=False)  # of all requests that came
    waiting: Sequence[int] = field(repr=False)  # requests that wait, as each of those has come
    ordered: Sequence[tuple[float, int]] = field(repr=False)  # replicas that serve or start, from each time on


class _Costs:
    """Seconds of a step, by what is in it."""

    __slots__ = (
        "_base",
        "_draft",
        "_each_token",
        "_of",
        "_pair",
        "each_context",
        "launching",
        "prompt_end",
        "speculation",
        "wait_s",
    )

    def __init__(self, of: Replica) -> None:
        self._of = of
        self.wait_s = of.wait_s
        self.speculation = of.speculation
        self.each_context = of.context_s
        self.launching = of.launches * LAUNCH_S  # what the host adds to a step with prompts
        self.prompt_end = of.head_s_per_token + of.prompt_extra_s + of.sequence_s  # once, with its last token
        self._each_token, self._pair = of.linear_s_per_token + of.collective_s_per_token, of.prompt_pair_s
        draft = self._draft = of.draft
        if draft is not None:  # it reads each prompt as well
            self.launching += draft.launches * LAUNCH_S
            self.prompt_end += draft.head_s_per_token + draft.prompt_extra_s + draft.sequence_s
            self._each_token += draft.linear_s_per_token + draft.collective_s_per_token
            self._pair += draft.prompt_pair_s
        self._base: dict[int, float] = {}

    def base(self, sequences: int) -> float:
        """A decode step of so many sequences, but for their contexts."""
        known = self._base.get(sequences)
        if known is None:
            known = self._base[sequences] = self._of.decode_step_s(float(sequences), 0.0)
        return known

    def reading(self, start: int, end: int) -> float:
        """Device time of the tokens of a prompt from `start` to `end`; each attends to all before it."""
        return (end - start) * self._each_token + self._pair * (end * end - start * start)

    def alone(self, work: float, tokens: int) -> float:
        """A step of prompts without sequences in flight."""
        of, draft = self._of, self._draft
        if draft is None:
            return max(work, of.read_s(float(tokens))) + of.collective_s + of.step_s
        read = of.read_s(float(tokens)) + draft.read_s(float(tokens))
        return max(work, read) + of.collective_s + of.step_s + draft.collective_s + draft.step_s


def no_better(replica: Replica, limits: ReplicaLimits, than: Replica, its: ReplicaLimits) -> bool:
    """Whether each part of its steps takes as long as another's or longer, and it takes no more at once."""
    apart = ("devices", "adapters", "prefix", "expert_share", "speculation", "draft")  # that are no times
    if (replica.draft is None) != (than.draft is None):
        return False
    if replica.draft is not None and than.draft is not None and not no_better(replica.draft, limits, than.draft, its):
        return False
    slower = all(
        getattr(replica, each.name) >= getattr(than, each.name) for each in fields(Replica) if each.name not in apart
    )
    alike = all(getattr(replica, name) == getattr(than, name) for name in apart[1:-1])
    return slower and alike and all(getattr(limits, f.name) <= getattr(its, f.name) for f in fields(ReplicaLimits))


class _State:
    """One replica."""

    __slots__ = (
        "busy_s",
        "context",
        "ends",
        "filling",
        "growth",
        "index",
        "kept",
        "order",
        "place",
        "plan",
        "sequences",
        "start",
        "steps",
        "unread",
        "used",
        "version",
        "waiting",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.place = index  # among those that serve; -1: it is given no more requests
        self.waiting: deque[int] = deque()
        self.filling: list[int] = []  # whose prompts are being read
        self.unread = 0  # tokens of those
        self.ends: list[tuple[int, int]] = []  # (count of steps at which it has all tokens, request), a heap
        self.order: list[int] = []  # sequences in flight as they were admitted, with some that have ended
        self.sequences = 0  # that generate
        self.growth: float = 0  # tokens that a step adds to all of those: one each, or what is accepted
        self.context: float = 0  # tokens of all of those
        self.used: float = 0  # tokens of cache, those of prompts that are being read as well
        self.steps = 0
        self.plan: tuple[int, list[int]] | None = None  # steps of the event under way, prompts that it completes
        self.start = 0.0  # of the event under way
        self.version = 0
        self.busy_s = 0.0
        self.kept: dict[int, None] = {}  # blocks of ended requests, the longest unused first


class _Loads:
    """Requests of each replica that serves: waiting, being read or generating. Of hundreds the first of those with the
    fewest is found by the least of each block of them.
    """

    __slots__ = ("_least", "of")

    BLOCK = 32
    MANY = 128  # up to here it is sooner to look at all

    def __init__(self, replicas: int) -> None:
        self.of = [0] * replicas
        self.resize(replicas)

    def least(self) -> int:
        if not self._least:
            return self.of.index(min(self.of))
        fewest = min(self._least)
        return self.of.index(fewest, self._least.index(fewest) * self.BLOCK)

    def change(self, place: int, by: int) -> None:
        self.of[place] += by
        if self._least:
            block = place // self.BLOCK
            self._least[block] = min(self.of[block * self.BLOCK : (block + 1) * self.BLOCK])

    def resize(self, replicas: int) -> None:
        """To so many: the first stay, further ones have nothing."""
        self.of = self.of[:replicas] + [0] * (replicas - len(self.of))
        blocks = range(0, replicas, self.BLOCK) if replicas > self.MANY else ()
        self._least = [min(self.of[first : first + self.BLOCK]) for first in blocks]


class _Fleet:
    def __init__(
        self, costs: _Costs, limits: ReplicaLimits, requests: Requests, replicas: int, promise: Promise | None
    ) -> None:
        self.promise = promise
        self.broken: int | None = None
        self.misses = list(promise.misses) if promise else []  # that are left
        self.costs, self.limits, self.requests = costs, limits, requests
        count = len(requests)
        self.replicas = [_State(index) for index in range(replicas)]
        self.serving = list(self.replicas)  # those that are given requests; others end what they have
        self.loads = _Loads(replicas)
        self.starting: list[float] = []  # when those that were ordered can serve
        self.wanted = deque([(0.0, replicas)])  # numbers of replicas that were wanted, latest last
        self.looks: deque[int] = deque(maxlen=round(AVERAGED_S / LOOK_S))  # requests in flight, latest last
        self.ordered = [(0.0, replicas)]
        # Arrays, as a day has millions of requests.
        self.arrived = array("d", requests.at_s)
        left = (p - c for p, c in zip(requests.prompt_tokens, requests.cached_tokens, strict=True))
        self.left = array("i", left)  # to read
        self.length = array("i", requests.prompt_tokens)  # of what has to be in the cache before the next token
        self.to_say = array("i", requests.output_tokens)
        self.first = array("d", [math.nan]) * count
        self.end = array("d", [math.nan]) * count
        self.due: dict[int, int] = {}  # count of steps at which a sequence in flight has all tokens
        of = costs.speculation
        self.accepted = accepted(of.tokens, of.acceptance) if of else None
        self.checked = 1 + (of.tokens if of else 0)  # tokens of a sequence in a step
        self.gains: dict[int, float] = {}  # tokens that a step adds to a sequence in flight, where it is not one
        self.agenda: list[tuple[float, int, int]] = []  # (time, replica, version)
        self.waits = self.waiting_max = self.in_flight_max = self.preempted = self.refused = 0
        self.cache_max: float = 0
        self.hit_tokens = 0
        self.ended: list[int] = []  # since the caller last looked

    # Arrival ---------------------------------------------------------------------------------------------------------

    def arrive(self, request: int, now: float) -> None:
        """Hand the request to the replica with the fewest in flight."""
        limits = self.limits
        if self.length[request] + self.to_say[request] > limits.cache_tokens:
            self.refused += 1
            return
        place = self.loads.least()
        at = self.serving[place]
        self.loads.change(place, 1)
        at.waiting.append(request)
        self.waits += 1
        self.waiting_max = max(self.waiting_max, self.waits)
        if at.plan is None:
            self._next(at, now)
        elif at.plan[0] > 1 and self._has_room(at, request):
            self._shorten(at, now)

    def _has_room(self, at: _State, request: int) -> bool:
        limits = self.limits
        taken = at.sequences + len(at.filling)
        return taken < limits.sequences and at.used + self.length[request] <= limits.cache_tokens

    def _shorten(self, at: _State, now: float) -> None:
        """End the steps under way with the one that runs now: a prompt waits that can join the next."""
        assert at.plan is not None  # noqa: S101 - asked only then
        planned = at.plan[0]
        # The time of k steps is linear x k + square x k x k; find the first k that ends after now.
        square = self.costs.each_context * at.growth / 2
        linear = self.costs.base(at.sequences) + self.costs.each_context * at.context - square
        past = now - at.start
        if square > 0:
            steps = (math.sqrt(linear * linear + 4 * square * max(0.0, past)) - linear) / (2 * square)
        else:
            steps = past / linear
        whole = min(planned, max(1, math.ceil(steps - 1e-9)))
        if whole < planned:
            at.plan = (whole, [])
            at.version += 1
            heappush(self.agenda, (at.start + linear * whole + square * whole * whole, at.index, at.version))

    # Replicas --------------------------------------------------------------------------------------------------------

    def scale(self, to: Scaling, now: float) -> None:
        """Begin what was started, and order or take away replicas by the requests in flight."""
        while self.starting and self.starting[0] <= now:
            self.starting.pop(0)
            begun = _State(len(self.replicas))
            begun.place = len(self.serving)
            self.replicas.append(begun)
            self.serving.append(begun)
            self.loads.resize(len(self.serving))
        current = len(self.serving) + len(self.starting)
        self.looks.append(sum(self.loads.of))
        in_flight = sum(self.looks) / len(self.looks) + to.spare * to.target
        wanted = current
        if abs(in_flight / to.target / current - 1) > to.tolerance:
            wanted = math.ceil(in_flight / to.target)
        wanted = max(to.least, min(to.most, wanted, max(2 * current, current + 4)))
        self.wanted.append((now, wanted))
        while self.wanted[0][0] < now - to.wait_s:
            self.wanted.popleft()
        kept = max(count for _, count in self.wanted)
        if wanted > current:
            self.starting += [now + to.start_s] * (wanted - current)
        elif kept < current:
            del self.starting[max(0, kept - len(self.serving)) :]  # those that do not serve yet first
            for at in self.serving[kept - len(self.starting) :]:
                at.place = -1
            del self.serving[kept - len(self.starting) :]
            self.loads.resize(len(self.serving))
        after = len(self.serving) + len(self.starting)
        if after != current:
            self.ordered.append((now, after))

    # Steps -----------------------------------------------------------------------------------------------------------

    def turn(self, at: _State, now: float) -> None:
        """The event under way ends."""
        assert at.plan is not None  # noqa: S101 - an event on the agenda has one
        steps, completed = at.plan
        at.plan = None
        at.busy_s += now - at.start
        at.steps += steps
        grown = at.growth * steps
        at.context += grown
        at.used += grown
        self.cache_max = max(self.cache_max, at.used)
        ends, done = at.ends, at.steps
        while ends and ends[0][0] <= done:
            due, request = heappop(ends)
            if self.due.get(request) == due:
                self._end(at, request, now)
        for request in completed:
            at.filling.remove(request)
            if math.isnan(self.first[request]):
                self.first[request] = now
                if self.promise:
                    self._hold(0, request, now - self.arrived[request] + self.costs.wait_s)
            at.used += 1  # the token that the prompt's last step said
            at.sequences += 1
            at.context += self.length[request] + 1
            remaining = self.to_say[request] - 1
            if self.accepted is None:
                at.growth += 1
            elif remaining > 0:
                tokens, remaining = remaining, self.accepted.steps(request, remaining)
                gain = self.gains[request] = tokens / remaining
                at.growth += gain
            self.due[request] = done + remaining
            if remaining <= 0:
                self._end(at, request, now)
            else:
                heappush(ends, (done + remaining, request))
                at.order.append(request)
                if len(at.order) > 2 * at.sequences + ENDED_KEPT:
                    at.order = [each for each in at.order if each in self.due]
        self._next(at, now)

    def _end(self, at: _State, request: int, now: float) -> None:
        context = self.length[request] + self.to_say[request]
        at.sequences -= 1
        at.growth -= self._gain(request)
        at.context -= context
        at.used -= context
        if self.accepted is not None and not at.sequences:  # sums of fractions are off by a little
            at.growth = at.context = 0
            at.used = sum(self.length[each] for each in at.filling)
        if at.place >= 0:
            self.loads.change(at.place, -1)
        del self.due[request]
        self.end[request] = now
        if self.promise:
            self._hold(2, request, now - self.arrived[request] + self.costs.wait_s)
            said = self.requests.output_tokens[request]
            if said > 1:
                self._hold(1, request, (now - self.first[request]) / (said - 1))
        self.ended.append(request)
        if self.requests.block_tokens:
            for block in self.requests.blocks[request]:
                at.kept.pop(block, None)
                at.kept[block] = None
            self._drop_blocks(at, 0)

    def _gain(self, request: int) -> float:
        """Tokens that a step added to a sequence that leaves those in flight."""
        return 1 if self.accepted is None else self.gains.pop(request, 0.0)

    def _hold(self, which: int, request: int, seconds: float) -> None:
        assert self.promise is not None  # noqa: S101 - asked only then
        if seconds > self.promise.most_s[which] and request >= self.promise.first:
            self.misses[which] -= 1
            if self.misses[which] < 0:
                self.broken = which

    def _reuse(self, at: _State, request: int) -> None:
        """Leave unread what the replica has kept of the prompt's beginning."""
        hits = 0
        for block in self.requests.blocks[request]:
            if block not in at.kept:
                break
            del at.kept[block]
            at.kept[block] = None
            hits += 1
        self.left[request] = max(1, self.left[request] - hits * self.requests.block_tokens)
        self.hit_tokens += min(hits * self.requests.block_tokens, self.length[request] - 1)
        self._drop_blocks(at, self.length[request])

    def _drop_blocks(self, at: _State, tokens: int) -> None:
        """Make room for so many tokens of sequences in flight."""
        room = (self.limits.cache_tokens - at.used - tokens) // self.requests.block_tokens
        while len(at.kept) > max(0, room):
            del at.kept[next(iter(at.kept))]

    def _next(self, at: _State, now: float) -> None:
        """Begin the next step, or the next steps where nothing but time changes."""
        limits, costs = self.limits, self.costs
        while at.sequences > 1 and at.used + at.growth > limits.cache_tokens:
            self._preempt(at)
        sequences = at.sequences
        budget = limits.step_tokens - sequences * self.checked
        work, tokens = 0.0, 0
        completed: list[int] = []
        taken = sequences + len(at.filling)
        while at.waiting and taken < limits.sequences:
            head = at.waiting[0]
            # A step must not admit what it then has to preempt: the sequences in flight grow by a token each.
            if at.used + at.growth + self.length[head] + 1 > limits.cache_tokens and taken:
                break
            if at.unread >= budget:
                break
            at.waiting.popleft()
            self.waits -= 1
            at.filling.append(head)
            if self.requests.block_tokens:
                self._reuse(at, head)
            at.unread += self.left[head]
            at.used += self.length[head]
            taken += 1
        for request in at.filling:
            if budget <= 0:
                break
            left = self.left[request]
            part = min(left, budget)
            begin = self.length[request] - left
            work += costs.reading(begin, begin + part)
            budget -= part
            tokens += part
            self.left[request] = left - part
            at.unread -= part
            if part == left:
                completed.append(request)
                work += costs.prompt_end
        self.in_flight_max = max(self.in_flight_max, taken)
        if tokens:
            if sequences:
                seconds = costs.base(sequences) + costs.each_context * at.context + work
            else:
                seconds = costs.alone(work, tokens)
            seconds += costs.launching
            at.plan = (1, completed)
        elif sequences:
            self._drop_ended(at)
            steps = at.ends[0][0] - at.steps
            steps = max(1, min(steps, int((limits.cache_tokens - at.used) // at.growth)))
            square = costs.each_context * at.growth / 2
            seconds = steps * (costs.base(sequences) + costs.each_context * at.context - square)
            seconds += square * steps * steps
            at.plan = (steps, [])
        else:
            return
        at.start = now
        at.version += 1
        heappush(self.agenda, (now + seconds, at.index, at.version))

    def _drop_ended(self, at: _State) -> None:
        """Forget ends of sequences that were preempted since."""
        ends = at.ends
        while self.due.get(ends[0][1]) != ends[0][0]:
            heappop(ends)

    def _preempt(self, at: _State) -> None:
        """The sequence that was admitted last gives back its room and waits in front, to be read with what it said."""
        while at.order[-1] not in self.due:
            at.order.pop()
        request = at.order.pop()
        gain = self._gain(request)
        left = (self.due.pop(request) - at.steps) * gain
        remaining = max(1, round(left))
        said = self.to_say[request] - remaining
        context = self.length[request] + said
        at.sequences -= 1
        at.growth -= gain
        at.context -= self.length[request] + self.to_say[request] - left
        at.used -= self.length[request] + self.to_say[request] - left
        self.length[request] = context
        self.left[request] = context
        self.to_say[request] = remaining
        at.waiting.appendleft(request)
        self.waits += 1
        self.preempted += 1


def simulate(
    replica: Replica,
    limits: ReplicaLimits,
    requests: Requests,
    *,
    replicas: int = 1,
    clients: int = 0,
    scaling: Scaling | None = None,
    promise: Promise | None = None,
) -> Served:
    """The requests on `replicas` equal replicas, from an empty fleet to the last token, or to where `promise` breaks.

    With `scaling` that is how many there are at first, and the autoscaler adds and takes away. With `clients` the times
    of `requests` are not used: so many clients send one each, and the next one after its answer has ended. Before each
    request, the first as well, a client thinks as long as the request says.
    """
    fleet = _Fleet(_Costs(replica), limits, requests, replicas, promise)
    agenda, arrived = fleet.agenda, fleet.arrived
    count = len(requests)
    coming: list[tuple[float, int]] = []  # arrivals of clients, a heap
    think_s = requests.think_s or array("d", bytes(8 * count))
    following = 0
    if clients:
        coming = [(think_s[request], request) for request in range(min(clients, count))]
        heapify(coming)
        following = len(coming)
    waiting = array("i")
    position = 0
    look = scaling.look_s if scaling else math.inf
    while fleet.broken is None:
        arrival = math.inf
        if clients:
            arrival = coming[0][0] if coming else math.inf
        elif position < count:
            arrival = arrived[position]
        if scaling and look <= arrival < math.inf and not (agenda and agenda[0][0] <= look):
            fleet.scale(scaling, look)
            look += scaling.look_s
            continue
        if agenda and agenda[0][0] <= arrival:
            now, index, version = heappop(agenda)
            at = fleet.replicas[index]
            if at.version == version:
                fleet.turn(at, now)
                if clients:
                    for _ in fleet.ended:
                        if following < count:
                            heappush(coming, (now + replica.wait_s + think_s[following], following))
                            following += 1
                fleet.ended.clear()
            continue
        if arrival == math.inf:
            break
        if clients:
            _, request = heappop(coming)
            arrived[request] = arrival
        else:
            request = position
            position += 1
        fleet.arrive(request, arrival)
        waiting.append(fleet.waits)
    return _served(fleet, waiting)


def _served(fleet: _Fleet, waiting: array[int]) -> Served:
    ttft, end, e2e, tpot = array("d"), array("d"), array("d"), array("d")
    for arrived, first, last, output in zip(
        fleet.arrived, fleet.first, fleet.end, fleet.requests.output_tokens, strict=True
    ):
        if math.isnan(last):
            continue
        ttft.append(first - arrived + fleet.costs.wait_s)
        end.append(last)
        e2e.append(last - arrived + fleet.costs.wait_s)
        tpot.append((last - first) / (output - 1) if output > 1 else math.nan)
    return Served(
        ttft_s=ttft,
        end_s=end,
        e2e_s=e2e,
        tpot_s=tpot,
        refused=fleet.refused,
        waiting_max=fleet.waiting_max,
        in_flight_max=fleet.in_flight_max,
        cache_max=fleet.cache_max / fleet.limits.cache_tokens,
        preempted=fleet.preempted,
        hit_tokens=fleet.hit_tokens + sum(fleet.requests.cached_tokens),
        busy_s=sum(replica.busy_s for replica in fleet.replicas),
        seconds=max(end, default=0.0),
        broken=fleet.broken,
        arrived_s=fleet.arrived if len(waiting) == len(fleet.arrived) else fleet.arrived[: len(waiting)],
        waiting=waiting,
        ordered=fleet.ordered,
    )
