"""Inference on one replica: how fast under a load, and the most load that it takes within its service levels.

`serving` predicts; `largest_rate` inverts it; `sequences_that_fit` is the batch that memory allows. A model that does
not fit is a `ServingRefusal` with its numbers. Latencies are at the percentile asked for, rates are for the replica.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.predict.architecture import is_guess, is_speech_recognizer
from sizewell.sizing.predict.memory import (
    bytes_for_one,
    room_bytes,
    sequence_bytes,
    serving_parts,
    serving_usable_bytes,
)
from sizewell.sizing.predict.performance import processors
from sizewell.sizing.predict.performance.serving_constants import constants, family_of
from sizewell.sizing.predict.performance.serving_level import ServiceLevel
from sizewell.sizing.predict.performance.serving_load import (
    INFINITE,
    Load,
    arriving,
    circulating,
    fixed_batch,
    saturated,
)
from sizewell.sizing.predict.performance.serving_replica import Replica, replica
from sizewell.sizing.predict.performance.serving_samples import (
    ONE_BY_ONE,
    SampleServer,
    sample_server,
    samples_arriving,
    samples_saturated,
)
from sizewell.sizing.records.jobs import Cluster, Grade, ServingEstimate, ServingJob
from sizewell.sizing.units import GIB, distinct_figures

SAMPLES_MAX = 256  # images or sequences in one batch: larger ones are no faster
LITTLE = 1e-6  # of what a replica takes: a request at it is alone
PROMPTS = "dense|prefill compute"  # the group of published cases that products of a prompt limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingRefusal:
    """Why a replica cannot serve at all, with the numbers."""

    reason: str
    needed_bytes: int
    usable_bytes: int


def sequences_that_fit(job: ServingJob, cluster: Cluster, *, tensor: int, pipeline: int = 1) -> int:
    """The most sequences (or samples) in flight that memory and the engine allow; 0 when the weights do not fit."""
    c = constants()
    parts = serving_parts(job, tensor=tensor, accelerator=cluster.accelerator, pipeline=pipeline)
    room = room_bytes(job, parts, cluster.accelerator)
    if room <= 0:
        return 0
    most = c.sequences_max.get(job.engine, c.sequences_max["*"])
    most = most if is_language_model(job) else min(most, SAMPLES_MAX)
    each = sequence_bytes(job, parts)
    return min(most, int(room / each)) if each > 0 else most


def serving(
    job: ServingJob,
    cluster: Cluster,
    *,
    tensor: int = 1,
    pipeline: int = 1,
    rps: float | None = None,
    concurrency: float | None = None,
    think_s: float = 0.0,
    batch: float | None = None,
    percentile: float = 0.95,
    pool: int = 1,
    users: float = INFINITE,
) -> ServingEstimate | ServingRefusal:
    """One replica over `tensor` devices under one load: arrivals at `rps`, `concurrency` clients in a closed loop, one
    fixed `batch` at a time, or (none of them) as much as it can take. Arrivals queue at a `pool` of such replicas, and
    are those of its `users` where each waits for an answer.
    """
    fit = sequences_that_fit(job, cluster, tensor=tensor, pipeline=pipeline)
    if fit < 1:
        return refusal(job, cluster, tensor=tensor)
    if is_language_model(job):
        r = replica(job, cluster, tensor=tensor, pipeline=pipeline)
        load = _language_load(
            r,
            job,
            fit=fit,
            rps=rps,
            concurrency=concurrency,
            think_s=think_s,
            batch=batch,
            percentile=percentile,
            pool=pool,
            users=users,
        )
        return _estimate(job, cluster, load, bottleneck(r, job, load))
    server = sample_server(job, cluster)
    if rps is not None:
        load = samples_arriving(server, rate=rps, fit=fit, percentile=percentile, pool=pool, users=users)
    else:
        load = samples_saturated(server, batch=min(float(fit), batch or concurrency or fit))
    return _estimate(job, cluster, load, _sample_bottleneck(server, load))


def largest_rate(job: ServingJob, cluster: Cluster, *, tensor: int, level: ServiceLevel, pool: int = 1) -> float:
    """The most requests per second that each replica of a `pool` takes within the service level; 0 when none at all."""
    at, high = _loads(job, cluster, tensor=tensor, percentile=level.percentile, pool=pool)
    low = high * LITTLE
    if not level.met(at(low), job.output_tokens):
        return 0.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if level.met(at(middle), job.output_tokens) else (low, middle)
    return low


def load_of_users(
    job: ServingJob,
    cluster: Cluster,
    *,
    tensor: int,
    users: float,
    think_s: float,
    percentile: float,
    pool: int = 1,
    of_full: float = 1.0,
) -> Load:
    """One replica of a `pool` whose `users` send a request, wait for the answer, think, and send the next; or one that
    has the share `of_full` of its load when they do, at its full load.
    """
    at, high = _loads(job, cluster, tensor=tensor, percentile=percentile, pool=pool, users=users / of_full)
    alone = at(high * LITTLE)
    if not alone.stable:
        return alone
    low, high = 0.0, users / pool / (think_s + alone.e2e_s(job.output_tokens))
    for _ in range(14):
        middle = (low + high) / 2
        cycle_s = think_s + at(middle).e2e_s(job.output_tokens)
        low, high = (middle, high) if middle * cycle_s < users / pool else (low, middle)
    return at(high / of_full)  # not stable where memory is full before all users have sent


def _loads(
    job: ServingJob, cluster: Cluster, *, tensor: int, percentile: float, pool: int, users: float = INFINITE
) -> tuple[Callable[[float], Load], float]:
    """Each replica at a rate, and a rate that it cannot take."""
    fit = sequences_that_fit(job, cluster, tensor=tensor)
    if is_language_model(job):
        r = replica(job, cluster, tensor=tensor)
        high = saturated(r, job, batch=float(max(1, fit))).requests_per_s
        return lambda rate: arriving(r, job, rate=rate, fit=fit, percentile=percentile, pool=pool, users=users), high
    server = sample_server(job, cluster)
    return (
        lambda rate: samples_arriving(server, rate=rate, fit=fit, percentile=percentile, pool=pool, users=users),
        1.0 / server.sample_s,
    )


def refusal(job: ServingJob, cluster: Cluster, *, tensor: int) -> ServingRefusal:
    """The numbers of a replica that has no room, or none for certain, for its longest request."""
    parts = serving_parts(job, tensor=tensor, accelerator=cluster.accelerator)
    predicted, needed = bytes_for_one(job, parts, cluster.accelerator)
    usable = serving_usable_bytes(job, parts, cluster.accelerator)
    over = f" over {tensor} devices" if tensor > 1 else ""
    longest = f"a request of {job.longest_tokens:,} tokens" if job.longest_tokens else "one request"
    if predicted <= usable:
        over += f" at the upper edge of the band ({predicted / GIB:,.1f} predicted)"
    needs, has = distinct_figures((needed if predicted <= usable else predicted) / GIB, usable / GIB, 1)
    return ServingRefusal(
        reason=f"needs {needs} GiB per device{over} for {longest}, {has} GiB usable",
        needed_bytes=int(needed),
        usable_bytes=usable,
    )


def is_language_model(job: ServingJob) -> bool:
    """Whether answers are generated token by token; encoders, vision and diffusion models answer in one go."""
    return job.architecture.kind == "decoder" and job.output_tokens > 0


def bottleneck(r: Replica, job: ServingJob, load: Load) -> str:
    """What most of a second goes into at this load."""
    context = job.input_tokens + job.output_tokens / 2
    batch = max(1.0, load.sequences)
    prompts = load.requests_per_s * r.prompt_s(job.input_tokens)
    # Answers get what prompts leave of a second. Not the time per token: it has prompts in it under load and none where
    # a batch is prefilled first, so a cache that is most of a short answer would hide the long prompts before it.
    step = r.decode_step_s(batch, context) / max(1e-9, 1 - prompts)
    spent = _spent(r, batch, context)
    if r.draft is not None:
        drafted = _spent(r.draft, batch, context)
        spent = {name: own + (r.checked - 1) * drafted[name] for name, own in spent.items()}
    shares = {"prefill compute": prompts} | {name: seconds / step for name, seconds in spent.items()}
    return max(shares, key=lambda name: (shares[name], name))


def _spent(r: Replica, batch: float, context: float) -> dict[str, float]:
    """Seconds of a decode step by what they go into, without those of a draft."""
    tokens = batch * r.checked
    return {
        "memory bandwidth (weights)": r.read_s(tokens),
        "memory bandwidth (cache)": batch * context * r.cache_s_per_token,
        "decode compute": tokens * (r.linear_s_per_token + r.head_s_per_token + context * r.decode_pair_s),
        "interconnect": r.collective_s + tokens * r.collective_s_per_token,
        "engine": r.step_s + batch * r.sequence_s,
    }


def _language_load(
    r: Replica,
    job: ServingJob,
    *,
    fit: int,
    rps: float | None,
    concurrency: float | None,
    think_s: float,
    batch: float | None,
    percentile: float,
    pool: int,
    users: float,
) -> Load:
    if rps is not None:
        return arriving(r, job, rate=rps, fit=fit, percentile=percentile, pool=pool, users=users)
    if concurrency is not None:
        return circulating(r, job, clients=concurrency, fit=fit, think_s=think_s)
    if batch is not None:
        return fixed_batch(r, job, batch=batch)
    return saturated(r, job, batch=max(1.0, fit * constants().occupancy))


def _sample_bottleneck(server: SampleServer, load: Load) -> str:
    return server.limit if load.sequences * server.sample_s >= max(server.fixed_s, server.launches_s) else "engine"


def _estimate(job: ServingJob, cluster: Cluster, load: Load, limit: str) -> ServingEstimate:
    c = constants()
    low, high = c.band(band_groups(job, limit), band_families(job, limit, cluster.accelerator))
    rests_on = {"compute", "memory"} if is_language_model(job) else {"samples"}
    fitted = c.family(family_of(cluster.accelerator)).fitted
    grade: Grade = "calibrated" if rests_on <= fitted else "roofline"
    if cluster.accelerator.runtime == RUNTIME:
        low, high = processors.BAND
    # No published case stands behind these.
    if is_guess(job.architecture) or is_speech_recognizer(job.architecture) or job.speculation:
        grade, low, high = "roofline", low**2, high**2
    rate = load.requests_per_s
    return ServingEstimate(
        batch=load.sequences,
        output_tokens_per_s=rate * job.output_tokens,
        requests_per_s=rate,
        ttft_s=load.ttft_s,
        tpot_s=load.tpot_s,
        e2e_s=load.e2e_s(job.output_tokens),
        low=rate * low,
        high=rate * high,
        bottleneck=limit,
        grade=grade,
    )


def band_groups(job: ServingJob, limit: str) -> tuple[str, ...]:
    """The groups of published cases whose errors may be the band of a prediction, the narrowest first.

    Language models by whether they have experts and by what limits them: products of a prompt are known better than
    reading weights for few tokens. Models that answer in one go by their kind, and whether a compiler fuses them; a
    transformer's pass over a text does what a prompt does, so where too few of those are known its band is that of
    prompts, not of images.

    >>> from sizewell.sizing.catalog.records import Architecture
    >>> band_groups(ServingJob(architecture=Architecture(key="x"), output_tokens=1), "prefill compute")
    ('dense|prefill compute', 'dense', 'language', '*')
    """
    if is_language_model(job):
        group = f"{'experts' if job.architecture.experts else 'dense'}|{limit}"
    else:
        group = f"{job.architecture.kind}|{'eager' if job.engine in ONE_BY_ONE else 'compiled'}"
    return wider_groups(group)


def band_families(job: ServingJob, limit: str, accelerator: Accelerator) -> tuple[str, ...]:
    """The accelerator's family, with the groups of published cases that it may have an error of its own in before it.

    >>> from sizewell.sizing.catalog import load
    >>> from sizewell.sizing.catalog.records import Architecture
    >>> bert = ServingJob(architecture=Architecture(key="x", kind="encoder"))
    >>> band_families(bert, "compute", load().accelerators["t4"])
    ('turing|encoder|compiled', 'turing|encoder', 'turing')
    """
    family = family_of(accelerator)
    group = band_groups(job, limit)[0]
    return tuple(dict.fromkeys((f"{family}|{group}", f"{family}|{group.partition('|')[0]}", family)))


def wider_groups(group: str) -> tuple[str, ...]:
    """The group and those that hold it, the narrowest first; "*" holds all.

    >>> wider_groups("vision|eager"), wider_groups("experts")
    (('vision|eager', 'vision', 'images', '*'), ('experts', 'language', '*'))
    >>> wider_groups("encoder|compiled")
    ('encoder|compiled', 'encoder', 'dense|prefill compute', 'dense', 'language', '*')
    """
    whole = group.partition("|")[0]
    own = (group,) if group != whole else ()
    if whole in ("vision", "diffusion"):
        return (*own, whole, "images", "*")
    around = () if whole in ("dense", "experts") else (PROMPTS, "dense")
    return (*own, whole, *around, "language", "*")
