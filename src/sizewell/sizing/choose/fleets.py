"""How many machines of one kind do the work, split how, and how fast that is: the fleets that a candidate offers.

A fleet is a number of equal nodes with the memory and the performance of one layout on them. Prices play no part here,
so that machines which agree in accelerator, count and links are worked out once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.choose.fleet import FAR, Fleet, FleetRefusal, Machine, Replicas, within
from sizewell.sizing.choose.requirements import Alike, Arrivals, BatchWork, Requirements, Simulated
from sizewell.sizing.choose.start_up import start_up_s
from sizewell.sizing.predict.memory import (
    bytes_for_one,
    serving_memory,
    serving_parts,
    serving_usable_bytes,
    usable_bytes,
)
from sizewell.sizing.predict.performance.processors import as_run
from sizewell.sizing.predict.performance.serving import (
    ServingRefusal,
    is_language_model,
    largest_rate,
    load_of_users,
    refusal,
    serving,
)
from sizewell.sizing.predict.performance.serving_level import ServiceLevel
from sizewell.sizing.predict.performance.serving_load import Load
from sizewell.sizing.predict.performance.serving_replica import replica
from sizewell.sizing.predict.performance.training_rows import DECODED_BAND, input_facts
from sizewell.sizing.records.jobs import Cluster, MemoryEstimate, ServingEstimate, ServingJob
from sizewell.sizing.records.launching import AVERAGED_S, LOOK_S, TARGET_LOAD, TOLERANCE
from sizewell.sizing.units import GIB, Range, distinct_figures, plural

if TYPE_CHECKING:
    from sizewell.sizing.choose.fleets_training import TrainingSearches

SMALLER: Final = "use smaller weights, or machines with more memory"  # `serving_ways` says which
MORE_TIME: Final = "allow more time"  # and how much
InFlight = Callable[[int, float], float]
"""Requests in flight on each of so many replicas at so many requests a second each."""
BATCH_EFFICIENCY = 0.8  # estimate: of predicted speed, what stragglers, scheduling and restarts of a batch leave
Taking = Callable[[int], tuple[float, float]]
"""Of a pool of so many replicas, what each takes at most: its rate, and its share of the load as the spec states it."""
HIGHEST = 2.0  # deviations of an average above its mean: the most of an hour, in which a machine that came stays
POOLS = (1, 2, 4, 8, 16, 32)  # replicas that queue together: larger pools gain next to nothing more


class FleetSearch:
    """The fleets of machine types that meet one workload's requirements.

    Machine types that agree in what a prediction depends on share it: a prediction is kept as long as the search.
    """

    def __init__(self, need: Requirements, *, own_programs: bool = False) -> None:
        self._need, self._own_programs = need, own_programs
        self._replicas: dict[Alike, Replicas | None] = {}  # None: no room for a request
        self._takes: dict[tuple[Alike, int], tuple[float, float]] = {}  # by kind and pool: rate, load
        self._loaded: dict[Alike, tuple[ServingEstimate, MemoryEstimate]] = {}
        self._offline: dict[Alike, ServingEstimate | ServingRefusal | None] = {}  # None: no room for a request

    @cached_property
    def training(self) -> TrainingSearches:
        """The search for training fleets; its layouts need NumPy, which other workloads do without."""
        from sizewell.sizing.choose.fleets_training import TrainingSearches

        return TrainingSearches(self._need, own_programs=self._own_programs)

    def fleets(self, machine: Machine) -> tuple[Fleet, ...] | FleetRefusal:
        """The fleets of `machine`, smallest first; or why there is none."""
        need = self._need
        if need.training is not None:
            return self.training.fleets((machine,))[0]
        if need.arrivals is not None and need.serving is not None and need.level is not None:
            job = job_on(machine.accelerator, need.serving, need.engine)
            return self._online(machine, job, need.arrivals, need.level)
        if need.batch is not None and need.serving is not None:
            return self._batch(machine, need.serving, need.batch)
        return notebook_fleet(machine, need)

    def _online(
        self, machine: Machine, job: ServingJob, arrivals: Arrivals, level: ServiceLevel
    ) -> tuple[Fleet, ...] | FleetRefusal:
        """The fewest nodes whose replicas take the load within the service level."""
        best: tuple[int, int, Replicas] | None = None  # nodes, tensor
        fits = False
        cluster = machine.cluster(1)
        for tensor in tensor_sizes(machine, job):
            alike = alike_of(cluster, tensor)
            if alike not in self._replicas:
                room = _room(job, cluster, tensor)
                takes = self._taking(job, cluster, tensor=tensor, arrivals=arrivals, level=level)
                self._replicas[alike] = self._least(job, cluster, tensor, takes) if room else None
            replicas = self._replicas[alike]
            fits = fits or replicas is not None
            tried = self._need.simulated.get(alike)
            if tried is not None and replicas is not None:
                replicas = _under_bursts(replicas, tried, arrivals)
            if replicas is None or not replicas.count:
                continue
            nodes = math.ceil(replicas.count / (machine.count // tensor))
            if best is None or (nodes, tensor) < best[:2]:
                best = (nodes, tensor, replicas)
        if not fits:
            return _memory_refusal(machine, job)
        if best is None:
            return _slo_refusal(machine, job, level)
        nodes, tensor, replicas = best
        nodes += arrivals.spare
        wanted = within(self._need.nodes_of(machine.count), nodes)
        if wanted is None:
            return _too_many(nodes, self._need.nodes_of(machine.count))
        if wanted > machine.together_max:
            return _beyond_search(wanted, machine)
        alike = alike_of(cluster, tensor)
        if alike not in self._loaded:
            self._loaded[alike] = _loaded(job, cluster, replicas, tensor=tensor, arrivals=arrivals, level=level)
        estimate, memory = self._loaded[alike]
        tried = self._need.simulated.get(alike)
        if tried is not None and not tried.at_least:
            estimate = _as_simulated(estimate, tried, replicas.count)
        if arrivals.spare:
            note = f"{plural(nodes - arrivals.spare, 'machine')} for the load, one more to hold while one is gone"
            estimate = replace(estimate, assumptions=(*estimate.assumptions, note))
        fleet = Fleet(
            nodes=wanted,
            memory=memory,
            usable_bytes=_usable(job, machine, tensor),
            serving=estimate,
            replicas=replicas.count,
            devices_per_replica=tensor,
            replica_rate=replicas.rate,
        )
        if not arrivals.follows:
            return (fleet,)
        takes = self._taking(job, cluster, tensor=tensor, arrivals=arrivals, level=level)

        def in_flight(count: int, rps: float) -> float:
            at = serving(job, cluster, tensor=tensor, rps=rps, percentile=level.percentile, pool=count)
            assert isinstance(at, ServingEstimate)  # noqa: S101 - asked only where there is room
            flying = at.batch + rps * at.ttft_s if is_language_model(job) else rps * at.e2e_s
            return min(flying, arrivals.load / count) if arrivals.users is not None else flying

        return (
            following(fleet, arrivals, takes, in_flight, per_node=machine.count // tensor, delay_s=start_up_s(job)),
        )

    def _least(self, job: ServingJob, cluster: Cluster, tensor: int, takes: Taking) -> Replicas:
        """The fewest replicas that take the load; of users who wait for answers, no more than have one in flight."""
        need = self._need
        assert need.arrivals is not None and need.level is not None  # noqa: S101, PT018 - it serves
        found = replicas_for(need.arrivals.load, takes)
        if need.arrivals.users is None or not found.count:
            return found
        return replicas_of_users(job, cluster, found, tensor=tensor, arrivals=need.arrivals, level=need.level)

    def _taking(
        self, job: ServingJob, cluster: Cluster, *, tensor: int, arrivals: Arrivals, level: ServiceLevel
    ) -> Taking:
        """What one of so many replicas takes within the level; each pool is worked out once."""
        alike = alike_of(cluster, tensor)

        def takes(pool: int) -> tuple[float, float]:
            if (alike, pool) not in self._takes:
                rate = largest_rate(job, cluster, tensor=tensor, level=level, pool=pool)
                load = load_of_one(job, cluster, tensor=tensor, rate=rate, arrivals=arrivals, level=level, pool=pool)
                self._takes[alike, pool] = (rate, load)
            return self._takes[alike, pool]

        return takes

    def _batch(self, machine: Machine, job: ServingJob, batch: BatchWork) -> tuple[Fleet, ...] | FleetRefusal:
        """The nodes that finish the records inside the window, and larger numbers of them that finish sooner."""
        cluster = machine.cluster(1)
        best: tuple[float, int, ServingEstimate] | None = None
        for tensor in tensor_sizes(machine, job):
            alike = alike_of(cluster, tensor)
            if alike not in self._offline:
                room = _room(job, cluster, tensor)
                self._offline[alike] = serving(job, cluster, tensor=tensor) if room else None
            estimate = self._offline[alike]
            if estimate is None or isinstance(estimate, ServingRefusal):
                continue
            rate = estimate.requests_per_s * (machine.count // tensor)
            if best is None or rate > best[0] * 1.001:
                best = (rate, tensor, estimate)
        if best is None:
            return _memory_refusal(machine, job)
        rate, tensor, estimate = best
        memory = serving_memory(job, tensor=tensor, sequences=max(1.0, estimate.batch), accelerator=machine.accelerator)
        starting = start_up_s(job)
        window = batch.window_s - starting
        if window <= 0:
            return FleetRefusal(
                cause="too-slow", reason=f"start-up takes {starting / 60:.0f} min, as long as the window"
            )
        decoded = _decoded_per_s(machine, job)
        rate = min(rate, decoded) * BATCH_EFFICIENCY
        estimate = _fed(estimate, decoded * tensor / machine.count)
        least = math.ceil(batch.samples / (rate * window))
        wanted = within(self._need.nodes_of(machine.count), least)
        if wanted is None:
            return _too_many(least, self._need.nodes_of(machine.count))
        if wanted > machine.together_max:
            return _beyond_search(wanted, machine)
        counts = sorted(
            {
                n
                for n in (wanted, wanted + 1, wanted * 2)
                if n <= machine.together_max and within(self._need.nodes_of(machine.count), n) == n
            }
        )
        return tuple(
            Fleet(
                nodes=n,
                memory=memory,
                usable_bytes=_usable(job, machine, tensor),
                serving=estimate,
                replicas=n * (machine.count // tensor),
                devices_per_replica=tensor,
                replica_rate=estimate.requests_per_s,
                run_s=starting + batch.samples / (rate * n),
            )
            for n in counts
        )


def job_on(accelerator: Accelerator, job: ServingJob, engine: str) -> ServingJob:
    """The job as it runs there: without an accelerator other engines serve it. `engine` is what the spec names."""
    return as_run(job, engine) if accelerator.runtime == RUNTIME else job


# Online serving ----------------------------------------------------------------------------------------------------


def _under_bursts(replicas: Replicas, tried: Simulated, arrivals: Arrivals) -> Replicas:
    """No fewer than for random arrivals, and at the rate at which so many were seen to hold."""
    if not tried.replicas:
        return Replicas(0, 0.0)
    count = max(tried.replicas, replicas.count)
    rate = arrivals.requests_per_s
    return Replicas(count, min(replicas.rate, tried.requests_per_s if rate is None else rate / TARGET_LOAD / count))


def _as_simulated(estimate: ServingEstimate, simulated: Simulated, count: int) -> ServingEstimate:
    more = f"; {count} are taken by the closed form" if count > simulated.replicas else ""
    return replace(
        estimate,
        ttft_s=simulated.ttft_s,
        tpot_s=simulated.tpot_s,
        e2e_s=simulated.e2e_s,
        assumptions=(*estimate.assumptions, f"{simulated.says}{more}"),
    )


def alike_of(cluster: Cluster, tensor: int) -> Alike:
    """What of a machine a replica over `tensor` of its devices depends on."""
    return (cluster.accelerator.key, tensor, cluster.scale_up)


def replicas_for(load: float, takes: Taking) -> Replicas:
    """The fewest replicas that take a load within the service level; more that queue together may each take more."""
    best = Replicas(0, 0.0)
    for pool in POOLS:
        if best.count and pool > best.count:
            break  # a pool this large has more replicas than suffice without it
        rate, one = takes(pool)
        if rate <= 0:
            continue
        count = max(pool, math.ceil(load / one))
        if not best.count or (count, -rate) < (best.count, -best.rate):
            best = Replicas(count, rate)
    return best


def replicas_of_users(
    job: ServingJob, cluster: Cluster, most: Replicas, *, tensor: int, arrivals: Arrivals, level: ServiceLevel
) -> Replicas:
    """The fewest replicas, `most` at most, that keep users served who wait for their answers: with one for each of them
    none waits for another. Where the fleet follows the hours it is sized for arrivals at random, up to that.
    """
    of = job, cluster, tensor, arrivals, level
    each = math.ceil(arrivals.load)
    low, high = most.count if arrivals.follows else 1, min(most.count, each)
    while low < high:
        middle = (low + high) // 2
        holds = level.met(_circling(*of, count=middle, of_full=TARGET_LOAD), job.output_tokens)
        low, high = (low, middle) if holds else (middle + 1, high)
    if high == most.count < each:
        return most
    full = _circling(*of, count=high, of_full=TARGET_LOAD if high < each else 1.0)
    return Replicas(high, max(most.rate, full.requests_per_s))


def _circling(
    job: ServingJob,
    cluster: Cluster,
    tensor: int,
    arrivals: Arrivals,
    level: ServiceLevel,
    *,
    count: int,
    of_full: float = 1.0,
) -> Load:
    """One of `count` replicas at its share of the users, or at the full load of which that is a share."""
    pool = pool_of(count)
    return load_of_users(
        job,
        cluster,
        tensor=tensor,
        users=arrivals.load * pool / count,
        think_s=arrivals.think_s,
        percentile=level.percentile,
        pool=pool,
        of_full=of_full,
    )


def following(
    fleet: Fleet, arrivals: Arrivals, takes: Taking, in_flight: InFlight, *, per_node: int, delay_s: float
) -> Fleet:
    """The fleet with the nodes of each hour of the week, with how many have to be up because load may grow faster than
    the `delay_s` in which a node starts, and with the requests in flight at which one is ordered.

    Where a simulation asked for more replicas than the closed form, smaller loads get more in proportion. The
    autoscaler that is launched counts requests in flight and keeps what the highest count of some minutes asked for.
    """
    assert fleet.serving is not None  # noqa: S101 - it serves
    assert arrivals.week is not None  # noqa: S101 - asked only then
    shares, hours = arrivals.week.shares, arrivals.week.open
    raised = fleet.replicas / replicas_for(arrivals.load, takes).count

    def replicas(share: float) -> int:
        if not share:
            return 0
        wanted = math.ceil(replicas_for(arrivals.load * share, takes).count * raised)
        return min(wanted, math.ceil(arrivals.load * share)) if arrivals.users is not None else wanted

    def nodes(share: float) -> int:
        return min(fleet.nodes, math.ceil(replicas(share) / per_node) + (arrivals.spare if share else 0))

    warm = nodes(_outgrown(shares, delay_s) * TARGET_LOAD)

    def per_replica(count: int, full: float) -> float:
        """In flight on each of so many replicas that take a share of their full load."""
        return in_flight(count, takes(pool_of(count))[0] * full / raised)

    def taken(share: float, count: int) -> float:
        """What of the full load of so many replicas a share of the busiest hour's is."""
        return arrivals.load * share * TARGET_LOAD * raised / takes(pool_of(count))[1] / count

    part = min(1.0, (delay_s + LOOK_S + AVERAGED_S / 2) / 3600)
    hourly = zip(shares, (*shares[1:], shares[0]), hours, strict=True)
    steps = {(before, after) for before, after, up in hourly if up}

    def target_of(least: int) -> float:
        """In flight on each replica, where at least so many are up: so that in the steepest hour the next has started
        before they are full, and that none is taken away which the others would miss. Fewer have more in flight.
        """
        ways = ((max(least, replicas(before)), before, after) for before, after in steps)
        reached, count = min(
            (TARGET_LOAD - taken((after - before) * part if replicas(after) > count else 0.0, count), count)
            for count, before, after in ways
        )
        targets = [per_replica(count, max(0.0, reached)) / (1 + TOLERANCE)]
        for more in range(least + 1, least + 4):
            full = taken(TARGET_LOAD / taken(1.0, more - 1), more)  # what one fewer takes
            targets.append(per_replica(more, full) * more / (more - 1))
        return max(1.0, round(min(targets), 1))

    def highest(share: float) -> float:
        """Requests in flight on all replicas, averaged over minutes, at the most of an hour."""
        count = max(1, replicas(share))
        mean = per_replica(count, taken(share, count))
        # The average follows what arrived in its time, and more than in proportion where steps become longer.
        steep = per_replica(count, taken(share, count) * 1.02) / mean - 1
        came = takes(pool_of(count))[0] * taken(share, count) / raised * count * AVERAGED_S
        return count * mean * (1 + HIGHEST * steep / 0.02 / math.sqrt(max(1.0, came, count * mean)))

    moves = len({share for share, up in zip(shares, hours, strict=True) if up}) > 1  # else: as one without hours
    most = {share: highest(share) if moves and share else 0.0 for share in set(shares)}

    def counted(least: int) -> dict[float, int]:
        """What the autoscaler orders; that at least so many stay up is the pool's, and not in development."""
        target = target_of(least)
        ordered = {share: math.ceil(most[share] / (1 + TOLERANCE) / target) for share in most}
        return {
            share: max(nodes(share), math.ceil(count / per_node) + arrivals.spare) if count else nodes(share)
            for share, count in ordered.items()
        }

    first = max(1, (warm - arrivals.spare) * per_node)
    tried = {each: counted(each) for each in (first, *_larger(first, fleet.replicas))}
    up = {least: math.ceil(least / per_node) + arrivals.spare for least in tried}
    least = min(tried, key=lambda each: (sum(max(up[each], tried[each][share]) for share in shares), each))
    warm = up[least] if least > first else warm
    by_hour = tuple(tried[least][share] for share in shares)
    return replace(fleet, by_hour=by_hour, warm=warm, in_flight_target=target_of(least))


def _larger(first: int, last: int) -> Iterator[int]:
    """Numbers from one to another, a fifth apart.

    >>> list(_larger(1, 10)), list(_larger(4, 3))
    ([2, 3, 4, 5, 6, 8, 10], [])
    """
    while first < last:
        first = min(last, max(first + 1, math.ceil(first * 1.2)))
        yield first


def _outgrown(shares: tuple[float, ...], delay_s: float) -> float:
    """The largest load that is reached before the nodes are up that were ordered for it.

    Load moves evenly from one hour to the next. Nodes for a load take 1 / TARGET_LOAD of it: too little where it grows
    by more than that in the time that a node starts, which small loads do.

    >>> flat, steep = (1.0,) * 168, (0.05,) * 84 + (1.0,) * 84
    >>> _outgrown(flat, 450), round(_outgrown(steep, 450), 3)
    (0.0, 0.594)
    """
    most = 0.0
    for before, after in zip(shares, (*shares[1:], shares[0]), strict=True):
        grown = (after - before) * min(1.0, delay_s / 3600)
        slow = grown * TARGET_LOAD / (1 - TARGET_LOAD)  # below this load, so much growth is too fast
        if before < slow:
            most = max(most, min(after, slow + grown))
    return most


def _loaded(
    job: ServingJob, cluster: Cluster, replicas: Replicas, *, tensor: int, arrivals: Arrivals, level: ServiceLevel
) -> tuple[ServingEstimate, MemoryEstimate]:
    """One of the replicas at its share of the load."""
    count, users = replicas.count, math.inf
    pool, share = pool_of(count), arrivals.load / count
    if arrivals.users is not None:
        users = arrivals.users * pool / count
        share = _circling(job, cluster, tensor, arrivals, level, count=count).requests_per_s
    estimate = serving(job, cluster, tensor=tensor, rps=share, percentile=level.percentile, pool=pool, users=users)
    assert isinstance(estimate, ServingEstimate)  # noqa: S101 - asked only where there is room
    sequences = max(1.0, estimate.batch)
    if (said := what_it_gives(job, cluster, tensor=tensor, sequences=sequences)) is not None:
        estimate = replace(estimate, assumptions=(*estimate.assumptions, said))
    return estimate, serving_memory(job, tensor=tensor, sequences=sequences, accelerator=cluster.accelerator)


def what_it_gives(job: ServingJob, cluster: Cluster, *, tensor: int, sequences: float) -> str | None:
    """What speculative decoding gives or takes with so many sequences in flight; None where there is none."""
    of = job.speculation
    if of is None:
        return None
    context = job.input_tokens + job.output_tokens / 2
    each_ms, plain_ms = (
        1000 * replica(run, cluster, tensor=tensor).decode_s(sequences, context)
        for run in (job, replace(job, speculation=None))
    )
    who = of.name or of.draft.key if of.draft else "the prompt's own n-grams"
    proposes = f"{who} propose{'s' if of.draft else ''} {of.tokens}, {of.acceptance:.0%} accepted"
    gain = "saves" if each_ms < plain_ms else "costs more than it saves here"
    return (
        f"speculative decoding {gain}: with {sequences:.3g} in flight {each_ms:.1f} ms a token, {plain_ms:.1f} without "
        f"({proposes}: {of.tokens_per_step:.2f} tokens a step at the mean, as Leviathan et al. 2023); counted, not "
        "measured: no published run of it stands behind the figures"
    )


def tensor_sizes(machine: Machine, job: ServingJob) -> tuple[int, ...]:
    """Devices that one replica may span: inside one machine, dividing the heads; a sample model takes one device."""
    if not is_language_model(job):
        return (1,)
    drafting = job.drafting  # which is split as the model is
    heads = math.gcd(job.architecture.heads or 1, (drafting.architecture.heads or 1) if drafting else 0)
    sizes = (t for t in (1, 2, 4, 8, 16) if t <= machine.count and heads % t == 0)
    return tuple(t for t in sizes if t == 1 or not _cuts_blocks(job, t))


BLOCKED: Final = frozenset({"vllm", "vllm-v0", "sglang"})
"""Engines that end at start where a device's part of a matrix cuts through a block of its scales
(vllm/model_executor/layers/quantization: validate_fp8_block_shape, and "input size is not aligned" of AWQ and GPTQ)."""


def _cuts_blocks(job: ServingJob, tensor: int) -> bool:
    """Whether tensor parallelism would cut through blocks of scales of what every device has a part of.

    Routed experts need not be cut: see `whole_experts`.
    """
    model = job.architecture
    if not job.block or job.engine not in BLOCKED:
        return False
    shared = job.weights == "fp8" and not job.dense_weights
    widths = [model.heads * (model.v_head_dim or model.head_dim or 0)] if shared or not model.experts else []
    widths += [model.ffn] if not model.experts or model.dense_layers else []
    widths += [model.shared_experts * model.expert_ffn] if model.experts and shared else []
    cut = any(width // tensor % job.block for width in widths if width)
    return cut or (whole_experts(job, tensor) and model.experts % tensor > 0)


def whole_experts(job: ServingJob, tensor: int) -> bool:
    """Whether the devices of a replica have whole routed experts each, as parts of them would cut through blocks.

    >>> from sizewell.sizing.catalog import load
    >>> coder = ServingJob(architecture=load().model("Qwen/Qwen3-Coder-480B-A35B-Instruct"), weights="fp8", block=128)
    >>> [whole_experts(coder, tensor) for tensor in (1, 4, 8)]
    [False, False, True]
    """
    model = job.architecture
    if not job.block or not model.experts or job.engine not in BLOCKED or tensor == 1:
        return False
    return model.expert_ffn // tensor % job.block > 0


def pool_of(replicas: int) -> int:
    """The largest of `POOLS` that so many replicas make.

    >>> pool_of(1), pool_of(7), pool_of(100)
    (1, 4, 32)
    """
    return max(pool for pool in POOLS if pool <= max(1, replicas))


def load_of_one(
    job: ServingJob, cluster: Cluster, *, tensor: int, rate: float, arrivals: Arrivals, level: ServiceLevel, pool: int
) -> float:
    """What one replica of a pool is given: requests a second, or the users that it keeps served."""
    rate *= TARGET_LOAD
    if rate <= 0 or arrivals.requests_per_s is not None:
        return rate
    loaded = serving(job, cluster, tensor=tensor, rps=rate, percentile=level.percentile, pool=pool)
    assert isinstance(loaded, ServingEstimate)  # noqa: S101 - asked only where there is room
    return rate * (arrivals.think_s + loaded.e2e_s)


def _room(job: ServingJob, cluster: Cluster, tensor: int) -> bool:
    """Whether the longest request surely fits beside weights and engine: at the upper edge of their band."""
    parts = serving_parts(job, tensor=tensor, accelerator=cluster.accelerator)
    _, needed = bytes_for_one(job, parts, cluster.accelerator)
    return needed <= serving_usable_bytes(job, parts, cluster.accelerator)


def _usable(job: ServingJob, machine: Machine, tensor: int) -> int:
    """What one replica over `tensor` devices may take of each."""
    parts = serving_parts(job, tensor=tensor, accelerator=machine.accelerator)
    return serving_usable_bytes(job, parts, machine.accelerator)


def _memory_refusal(machine: Machine, job: ServingJob) -> FleetRefusal:
    tensor = tensor_sizes(machine, job)[-1]
    refused: ServingRefusal = refusal(job, machine.cluster(1), tensor=tensor)
    return FleetRefusal(
        cause="memory",
        reason=f"{refused.reason}{_drafts_part(machine, job, tensor)}",
        shortfall=refused.needed_bytes / max(1, refused.usable_bytes),
        relax=SMALLER,
    )


def _drafts_part(machine: Machine, job: ServingJob, tensor: int) -> str:
    """What of it is the draft's doing, in words; "" without one."""
    drafting = job.drafting
    if drafting is None:
        return ""
    draft_gib = serving_parts(job, tensor=tensor, accelerator=machine.accelerator).draft / GIB
    return f"; {draft_gib:.1f} GiB of that is the draft model{divided_by_draft(machine, job)}"


def divided_by_draft(machine: Machine, job: ServingJob) -> str:
    """That a replica spans fewer devices because of the draft, which is split as the model is; "" where it does not."""
    drafting, tensor = job.drafting, tensor_sizes(machine, job)[-1]
    plain = tensor_sizes(machine, replace(job, speculation=None))[-1]
    if drafting is None or plain <= tensor:
        return ""
    heads = drafting.architecture.heads
    return f", whose {heads} heads divide over no more than {tensor} of its {machine.count} devices"


def _slo_refusal(machine: Machine, job: ServingJob, level: ServiceLevel) -> FleetRefusal:
    cluster, tensor = machine.cluster(1), tensor_sizes(machine, job)[-1]
    alone = serving(job, cluster, tensor=tensor, rps=1e-6, percentile=level.percentile)
    if isinstance(alone, ServingRefusal):
        return FleetRefusal(cause="memory", reason=alone.reason)
    over = [each for each in bounds_alone(machine, job, level) if each[2] > each[3]]
    shown = [(name, *distinct_figures(is_s * 1000, most * 1000)) for _, name, is_s, most in over]
    words = ", ".join(f"{name} after {is_ms} ms, {most_ms} allowed" for name, is_ms, most_ms in shown)
    worst = max((is_s / most for _, _, is_s, most in over), default=math.inf)
    ways = ", ".join(f"{key}: {math.ceil(1.1 * is_s * 1000)}ms" for key, _, is_s, _ in over)
    return FleetRefusal(
        cause="slo",
        reason=f"even a single request misses the slo: {words}" if words else "no load, however small, meets the slo",
        shortfall=worst,
        relax=f"{MORE_TIME}: slo: {{{ways}}}" if ways else f"{MORE_TIME} in slo",
    )


def bounds_alone(machine: Machine, job: ServingJob, level: ServiceLevel) -> list[tuple[str, str, float, float]]:
    """The bounds of a level: key, in words, what a single request alone takes there, and what is allowed."""
    cluster, tensor = machine.cluster(1), tensor_sizes(machine, job)[-1]
    alone = serving(job, cluster, tensor=tensor, rps=1e-6, percentile=level.percentile)
    if isinstance(alone, ServingRefusal):
        return []
    whole = level.e2e_s * level.parts if level.e2e_s is not None else None
    bounds = (
        ("ttft", "first token", alone.ttft_s, level.ttft_s),
        ("tpot", "each token", alone.tpot_s, level.tpot_s),
        ("latency", "the answer", alone.e2e_s * level.parts, whole),
    )
    return [(key, name, is_s, most) for key, name, is_s, most in bounds if most is not None]


# Offline inference -------------------------------------------------------------------------------------------------


def _fed(estimate: ServingEstimate, decoded: float) -> ServingEstimate:
    """The estimate where the host decodes so many samples a second for the replica: the slower of the two counts."""
    slow, fast = (decoded * factor for factor in DECODED_BAND)
    estimate = replace(estimate, low=min(estimate.low, slow), high=min(estimate.high, fast))
    if decoded >= estimate.requests_per_s:
        return estimate
    return replace(estimate, requests_per_s=decoded, bottleneck="host decoding", grade="roofline")


def _decoded_per_s(machine: Machine, job: ServingJob) -> float:
    """Samples that the machine's processors read and decode a second; infinite where there is nothing to decode."""
    each_s = input_facts(job.architecture, 0.0)["decode_s"] if job.architecture.kind == "vision" else 0.0
    return machine.host_vcpus / each_s if each_s and machine.host_vcpus else math.inf


# Notebooks ---------------------------------------------------------------------------------------------------------


def notebook_fleet(machine: Machine, need: Requirements) -> tuple[Fleet, ...] | FleetRefusal:
    """One machine; where a model is named, its weights have to fit on one accelerator."""
    usable = usable_bytes(machine.accelerator)
    if need.serving is not None:
        cluster = machine.cluster(1)
        if not any(_room(need.serving, cluster, tensor) for tensor in tensor_sizes(machine, need.serving)):
            return _memory_refusal(machine, need.serving)
        tensor = next(t for t in tensor_sizes(machine, need.serving) if _room(need.serving, cluster, t))
        memory = serving_memory(need.serving, tensor=tensor, sequences=1, accelerator=machine.accelerator)
    else:
        memory = MemoryEstimate(breakdown=(), low_bytes=0, high_bytes=usable, grade="roofline")
    wanted = within(need.nodes_of(machine.count), 1)
    if wanted is None:
        return _too_many(1, need.nodes_of(machine.count))
    return (Fleet(nodes=wanted, memory=memory, usable_bytes=usable),)


def _beyond_search(nodes: int, machine: Machine) -> FleetRefusal:
    """More machines than one pool is sized for: said, and never answered with the largest size instead."""
    most = machine.together_max
    relax = f"split the load over stacks of at most {most:,} machines each, or use a smaller model"
    if nodes > FAR * most:
        relax = "check the load: rps is requests a second (600/min and 1M/d are read too), records are those of one run"
    return FleetRefusal(
        cause="nodes",
        reason=f"needs {nodes:,} nodes, one pool has at most {most:,}",
        shortfall=nodes / most,
        relax=relax,
    )


def _too_many(nodes: int, limits: Range | None) -> FleetRefusal:
    most = limits.high if limits and limits.high else 0
    return FleetRefusal(
        cause="nodes",
        reason=f"needs {nodes:,} nodes, resources allow {most}",
        shortfall=nodes / max(1, most),
        relax="allow more in resources (nodes or gpus)",
    )
