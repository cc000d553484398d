"""A running service beside its prediction: how far that was off, and the service sized as fast as it was measured.

Each measurement is simulated as it was made: so many clients or requests a second, of the lengths that came. What the
prediction is off by is put into a factor of every step, one of reading prompts, and a wait before the first token, so
that the time between tokens and the time to the first token come out as measured. A prompt is taken to be slower no
further than the band of its prediction; what is left is the host's and the network's time, which takes nothing from
the device. Everything else that was measured then tells how good that is.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final

from sizewell.sizing.choose import too_fast
from sizewell.sizing.choose.candidates import machine_of
from sizewell.sizing.choose.decide import Answer, decide, size_one
from sizewell.sizing.choose.fleets import job_on, tensor_sizes
from sizewell.sizing.choose.simulated import WARM_UP, limits, percentiles
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.performance.serving import (
    band_families,
    band_groups,
    is_language_model,
    sequences_that_fit,
)
from sizewell.sizing.predict.performance.serving_constants import constants
from sizewell.sizing.predict.performance.serving_replica import replica
from sizewell.sizing.predict.simulation.fleet import Served, simulate
from sizewell.sizing.predict.simulation.requests import P95_MAX, SPREAD, Lengths, arriving, circulating, spread_of
from sizewell.sizing.records.jobs import Cluster, Pace, ServingJob, Speculation
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Accelerator
    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.choose.observed import Service
    from sizewell.sizing.choose.requirements import Arrivals
    from sizewell.sizing.workload.measured import Measured
    from sizewell.sizing.workload.read import WorkloadSpec

REQUESTS: Final = (300, 2000)  # of a simulated measurement: at least, at most
MOST: Final = 8.0  # times as fast or as slow as predicted: beyond, something else than speed is measured
CLOSE: Final = 0.005
TRIES: Final = 8
ROUNDS: Final = 3
APART: Final = 0.02  # shares that are as good as equal
NEAR: Final = 1.02  # a search comes near its bounds, not onto them
FAR: Final = 1.5  # times, from which on a load is another one than the spec's


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What the measurement is of."""

    says: str
    cluster: Cluster
    tensor: int
    replicas: int | None  # None: as many as the measurement says, else one


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a measurement, in seconds."""

    figure: str  # ttft, tpot, itl, e2e
    statistic: str  # mean, p50, ...
    predicted_s: float
    measured_s: float
    paced_s: float  # predicted with the measured rates

    @property
    def ratio(self) -> float:
        return self.measured_s / self.predicted_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One workload as measured, as predicted and as sized with what was measured."""

    workload: str
    running: Running
    runs: tuple[tuple[Measured, int, tuple[Row, ...]], ...]  # with how many replicas
    pace: Pace
    residual: tuple[float, float]  # least and most of predicted over measured, with the measured rates
    findings: tuple[str, ...]
    as_predicted: Answer
    answer: Answer


def compare(
    spec: WorkloadSpec,
    runs: Sequence[Measured],
    service: Service | None,
    catalog: Catalog,
    *,
    on: date,
    tell: Callable[[str], None] = lambda _: None,
) -> Compared:
    """How far the prediction is off what was measured, and the decision with the measured rates."""
    tell(f"sizing {spec.name}")
    sizing = size_one(spec, catalog, stack="", on=on)
    need = sizing.need
    if need.serving is None or need.arrivals is None or not is_language_model(need.serving):
        message = f"{spec.name} is no online service that generates text"
        raise SpecError([Fault(path="kind", message=message, fix="name the spec of the service that was measured")])
    running = _running(sizing, service, catalog)
    accelerator = running.cluster.accelerator
    job = job_on(accelerator, need.serving, need.engine)
    tests = [_Test(run, job, running, need.arrivals) for run in runs]
    if faults := [fault for test in tests for fault in too_fast.faults(test.run, test.job, test.fastest)]:
        raise SpecError(faults)
    tell("simulating what was measured")
    slowest = 1 / _band(job, accelerator)[0]
    pace = _pace(tests, accelerator.key, slowest)
    compared = tuple((test.run, test.replicas, test.rows(pace)) for test in tests)
    left = [row.paced_s / row.measured_s for _, _, rows in compared for row in rows]
    tell(f"sizing {spec.name} with the measured rates")
    drafted, said = _as_drafted(spec, need.serving, runs)
    return Compared(
        workload=spec.name,
        running=running,
        runs=compared,
        pace=pace,
        residual=(min(left), max(left)),
        findings=(*_findings(spec, need.serving, runs, pace), *said, *_limits(tests, pace), *_tails(compared)),
        as_predicted=decide([spec], catalog, stack="", on=on),
        answer=decide([drafted], catalog, stack="", on=on, pace=pace),
    )


def _running(sizing: Sizing, service: Service | None, catalog: Catalog) -> Running:
    need, best = sizing.need, sizing.best()
    stated = service.running if service is not None else None
    if stated is None:
        if best is None:
            message = "nothing fits, so there is no machine to compare with"
            fix = "state running: {on: aws/us-east-1, instance_type: ...} in a file with workload, and name it too"
            raise SpecError([Fault(path=sizing.spec.name, message=message, fix=fix)])
        machine = machine_of(best.candidate.shape, best.candidate.accelerator, (), need)
        replicas = service.replicas if service is not None else None
        where = f"{best.instance_type} in {best.cloud} {best.deal.region}, as decided"
        return Running(says=where, cluster=machine.cluster(1), tensor=best.fleet.devices_per_replica, replicas=replicas)
    shape = catalog.shape(stated.on.cloud, stated.instance_type)
    machine = machine_of(shape, catalog.accelerators[shape.accelerator], (), need)
    cluster, job = machine.cluster(1), need.serving
    assert job is not None  # noqa: S101 - it serves
    known = (o.fleet.devices_per_replica for o in sizing.options if o.instance_type == stated.instance_type)
    fits = (t for t in tensor_sizes(machine, job) if sequences_that_fit(job, cluster, tensor=t))
    tensor = next(itertools.chain(known, fits), None)
    if tensor is None:
        message = f"{need.name} does not fit on {stated.instance_type}"
        raise SpecError(
            [Fault(path="running.instance_type", message=message, fix="name the machine that was measured")]
        )
    says = f"{stated.nodes} x {stated.instance_type} in {stated.on}"
    assert service is not None  # noqa: S101 - it says what runs
    every = stated.nodes * max(1, machine.count // tensor)
    return Running(says=says, cluster=cluster, tensor=tensor, replicas=service.replicas or every)


class _Test:
    """One measurement, made again in simulation."""

    def __init__(self, run: Measured, job: ServingJob, running: Running, stated: Arrivals) -> None:
        self.run = run
        self._cluster, self._tensor = running.cluster, running.tensor
        self.replicas = running.replicas or run.replicas or 1
        cached = job.prefix if run.prefix is None else run.prefix
        self.job = replace(
            job,
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            prefix=cached,
            speculation=_speculation(run, job.speculation),
        )
        self.fastest = too_fast.fastest(self.job, self._cluster, tensor=self._tensor)
        lengths = Lengths(
            prompt_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            prompt_spread=_spread(run.input_tokens, run.input_p95) or stated.input_spread or SPREAD,
            output_spread=_spread(run.output_tokens, run.output_p95) or stated.output_spread or SPREAD,
            cached=cached,
            together=stated.reads,
        )
        least, most = REQUESTS
        count = max(least, min(most, run.requests))
        if run.rate is None:
            self._requests = circulating(clients=run.clients, count=max(count, 2 * run.clients), lengths=lengths)
        else:
            self._requests = arriving(
                rate=run.rate, seconds=count / run.rate, lengths=lengths, burstiness=run.burstiness
            )
        self._known: dict[tuple[float, float, float], Served] = {}

    def seconds(self, pace: Pace, figure: str, statistic: str) -> float:
        """One figure as simulated."""
        served = self._served(pace)
        first = 0 if self.run.from_empty else int(len(served.ttft_s) * WARM_UP)
        if figure == "itl":  # of all tokens together, where tpot is of all requests
            said = [
                (whole - ttft, each)
                for whole, ttft, each in zip(
                    served.e2e_s[first:], served.ttft_s[first:], served.tpot_s[first:], strict=True
                )
                if each > 0
            ]
            return math.fsum(spent for spent, _ in said) / max(1.0, math.fsum(spent / each for spent, each in said))
        values = {"ttft": served.ttft_s, "tpot": served.tpot_s, "e2e": served.e2e_s}[figure][first:]
        if statistic == "mean":
            return statistics.fmean(value for value in values if not math.isnan(value))
        return percentiles(values)[float(statistic[1:]) / 100]

    def off(self, pace: Pace, figure: str) -> float:
        """Logarithm of predicted over measured."""
        center = self._center(figure)
        return math.log(self.seconds(pace, figure, center) / self.run.seconds[figure][center])

    def late_s(self, pace: Pace) -> float:
        """Seconds by which the first token came later than predicted, at the center."""
        center = self._center("ttft")
        return max(0.0, self.run.seconds["ttft"][center] - self.seconds(pace, "ttft", center))

    def rows(self, pace: Pace) -> tuple[Row, ...]:
        """What can be compared: no step is recorded by itself, and answers take as long as they are, which only a mean
        says where lengths are not known.
        """
        as_predicted = Pace()
        return tuple(
            Row(figure, name, self.seconds(as_predicted, figure, name), value, self.seconds(pace, figure, name))
            for figure, values in self.run.seconds.items()
            for name, value in values.items()
            if name == "mean" or figure in ("ttft", "tpot") or (figure == "e2e" and self.run.output_p95 is not None)
        )

    def _center(self, figure: str) -> str:
        values = self.run.seconds[figure]
        if figure == "itl":
            return "mean"
        return self.run.center if self.run.center in values else next(iter(values))

    def _served(self, pace: Pace) -> Served:
        key = (pace.steps, pace.prompts, pace.wait_s)
        if key not in self._known:
            job = replace(self.job, pace=replace(pace, accelerator=self._cluster.accelerator.key))
            served = simulate(
                replica(job, self._cluster, tensor=self._tensor),
                limits(job, self._cluster, tensor=self._tensor),
                self._requests,
                replicas=self.replicas,
                clients=self.run.clients,
            )
            if not len(served.ttft_s):
                message = f"no request of {self.run.input_tokens:,.0f} and {self.run.output_tokens:,.0f} tokens fits"
                fix = "name the machine that was measured: running, in a file with workload"
                raise SpecError([Fault(path=self.run.source, message=message, fix=fix)])
            self._known[key] = served
        return self._known[key]


def _speculation(run: Measured, stated: Speculation | None) -> Speculation | None:
    """What was proposed and accepted as it was counted; as stated where that was not."""
    if stated is None or run.drafts == 0:
        return None
    tokens = max(1, round(run.proposed)) if run.proposed else stated.tokens
    of = replace(stated, tokens=tokens)
    if run.accepted is not None:
        return replace(of, acceptance=run.accepted)
    return of if run.step_tokens is None else replace(of, acceptance=_acceptance(of, run.step_tokens))


def _acceptance(of: Speculation, step_tokens: float) -> float:
    """With which a step adds so many tokens at the mean.

    >>> round(_acceptance(Speculation(tokens=5), Speculation(tokens=5, acceptance=0.7).tokens_per_step), 3)
    0.7
    """
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if replace(of, acceptance=middle).tokens_per_step > step_tokens else (middle, high)
    return high


def _as_drafted(spec: WorkloadSpec, job: ServingJob, runs: Sequence[Measured]) -> tuple[WorkloadSpec, list[str]]:
    """The spec with the acceptance that was counted, and what differs from what it states."""
    stated, traffic = job.speculation, spec.traffic
    drafting = [run for run in runs if run.drafts]
    if stated is None or traffic is None or traffic.speculative is None:
        return spec, [
            "tokens were drafted, which the spec does not state: the gain is in the rates"
        ] if drafting else []
    says = []
    if any(run.drafts == 0 for run in runs):
        says.append("no draft was counted: the server ran without speculative decoding, and is compared without it")
    if any(run.drafts is None for run in runs):
        says.append(f"the measurement does not say what was accepted: {stated.acceptance:.0%} are taken, as stated")
    counted = [of for run in drafting if (of := _speculation(run, stated)) is not None]
    if not counted:
        return spec, says
    acceptance = round(statistics.fmean(of.acceptance for of in counted), 2)
    if {of.tokens for of in counted} != {stated.tokens}:
        tokens = ", ".join(sorted({str(of.tokens) for of in counted}))
        says.append(f"the server proposed {tokens} tokens at a time, the spec states {stated.tokens}, which is sized")
    if abs(acceptance - stated.acceptance) > APART:
        says.append(
            f"{acceptance:.0%} were accepted, the spec states {stated.acceptance:.0%}: sized as measured, so "
            f"write traffic.speculative.acceptance: {acceptance:.0%}"
        )
    speculative = traffic.speculative.model_copy(update={"acceptance": acceptance})
    return spec.model_copy(update={"traffic": traffic.model_copy(update={"speculative": speculative})}), says


def _limits(tests: Sequence[_Test], pace: Pace) -> list[str]:
    """Where no speed that the device can have explains what was measured."""
    steps = max(tests, key=lambda test: test.fastest.steps).fastest
    prompts = max(tests, key=lambda test: test.fastest.prompts).fastest
    found = [f"a step is: {steps.step_says}"] if pace.steps < NEAR * steps.steps else []
    found += [f"a prompt is: {prompts.prompt_says}"] if pace.prompts < NEAR * prompts.prompts else []
    why = "other weights, cached prompts or another machine would explain what was measured beyond that"
    return [f"counted as fast as the device can be and no faster, {'; '.join(found)}; {why}"] if found else []


def _spread(mean: float, p95: float | None) -> float:
    return spread_of(mean, min(p95, 0.999 * P95_MAX * mean)) if p95 is not None and p95 > mean else 0.0


def _band(job: ServingJob, accelerator: Accelerator) -> tuple[float, float]:
    """The band of what prompts are predicted to take, as shares of their rate."""
    limit = "prefill compute"
    return constants().band(band_groups(job, limit), band_families(job, limit, accelerator))


def _pace(tests: Sequence[_Test], accelerator: str, slowest: float) -> Pace:
    """With what the time between tokens and the time to the first token come out as measured."""
    between = [(test, next((name for name in ("tpot", "itl") if name in test.run.seconds), "")) for test in tests]
    steps = [(test, figure) for test, figure in between if figure]
    firsts = [test for test in tests if "ttft" in test.run.seconds]
    pace = Pace(accelerator=accelerator)
    least = [max(getattr(test.fastest, part) for test in tests) for part in ("steps", "prompts")]
    for _ in range(ROUNDS):
        before = pace

        def off_steps(factor: float, at: Pace = pace) -> float:
            return statistics.fmean(test.off(replace(at, steps=factor), figure) for test, figure in steps)

        if steps:
            pace = replace(pace, steps=_matched(off_steps, pace.steps, least[0], MOST))

        def off_prompts(factor: float, at: Pace = pace) -> float:
            return statistics.fmean(test.off(replace(at, prompts=factor, wait_s=0.0), "ttft") for test in firsts)

        if firsts:
            slow = off_prompts(slowest) < 0  # and still sooner than measured
            prompts = slowest if slow else _matched(off_prompts, min(pace.prompts, slowest), least[1], slowest)
            pace = replace(pace, prompts=prompts, wait_s=0.0)
            late = statistics.fmean(test.late_s(pace) for test in firsts)
            pace = replace(pace, wait_s=late if slow else 0.0)
        moved = (math.log(pace.steps / before.steps), math.log(pace.prompts / before.prompts))
        if max(map(abs, moved)) < CLOSE and abs(pace.wait_s - before.wait_s) <= CLOSE * pace.wait_s:
            break
    return pace


def _matched(off: Callable[[float], float], start: float, least: float, most: float) -> float:
    """The factor between `least` and `most` at which `off` is nothing: it rises with it. A bound where it never is."""
    least = max(1 / MOST, min(least, most))
    at, low, high = math.log(max(start, least)), math.log(least), math.log(most)
    slope, last = 1.0, (math.nan, math.nan)
    for _ in range(TRIES):
        now = off(math.exp(at))
        if abs(now) < CLOSE:
            break
        low, high = (low, at) if now > 0 else (at, high)
        if not math.isnan(last[0]) and at != last[0]:
            slope = min(20.0, max(0.1, (now - last[1]) / (at - last[0])))
        last = (at, now)
        at -= now / slope
        if not low < at < high:
            at = (low + high) / 2
    return math.exp(at)


def _findings(spec: WorkloadSpec, job: ServingJob, runs: Sequence[Measured], pace: Pace) -> list[str]:
    found = [f"{run.source}: {remark}" if len(runs) > 1 else remark for run in runs for remark in run.remarks]
    name = (spec.model.name if spec.model else "") or ""
    others = sorted({run.model for run in runs if run.model and name and _last(run.model) != _last(name)})
    if others:
        found.append(f"the measurement names {', '.join(others)}, the spec {name}: compare like with like")
    if not all({"tpot", "itl"} & run.seconds.keys() for run in runs):
        found.append("the time between tokens was not measured: steps are as predicted")
    if not all("ttft" in run.seconds for run in runs):
        found.append("the time to the first token was not measured: prompts are as predicted")
    beyond = [word for word, factor in (("a step", pace.steps), ("a prompt", pace.prompts)) if factor > MOST / NEAR]
    if beyond:
        found.append(
            f"no speed of {' and '.join(beyond)} explains what was measured: look whether the machine, the model, its "
            f"weights and traffic.prefix are those of the spec"
        )
    stated, seen = (job.input_tokens, job.output_tokens), [(run.input_tokens, run.output_tokens) for run in runs]
    apart = [a / b for pair in seen for a, b in zip(pair, stated, strict=True)]
    if max(apart) > FAR or min(apart) < 1 / FAR:
        lengths = ", ".join(f"{a:,.0f} and {b:,.0f}" for a, b in seen[:3])
        found.append(
            f"prompts and answers had {lengths} tokens, where the spec, which is sized, states {stated[0]:,.0f} and "
            f"{stated[1]:,.0f}: rates hold for like lengths, so measure with the spec's, or correct traffic"
        )
    rates = [run for run in runs if run.rate is not None and not run.from_empty]
    asked = spec.traffic.requests_per_s if spec.traffic is not None else None
    if rates and asked is not None and rates[0].rate is not None:
        servers = plural(rates[0].replicas or 1, "replica")
        found.append(f"{rates[0].rate:.3g} requests/s were measured on {servers}; {asked:.3g} are sized, as stated")
    return found


def _tails(compared: Sequence[tuple[Measured, int, tuple[Row, ...]]]) -> list[str]:
    """Of what came later than the measured rates explain, the worst."""
    late = [(row.measured_s / row.paced_s, row) for _, _, rows in compared for row in rows if row.statistic != "mean"]
    times, row = max(late, key=lambda each: each[0], default=(0.0, None))
    if row is None or times < FAR:
        return []
    what = {"ttft": "first token", "tpot": "time per token", "e2e": "whole answer"}[row.figure]
    text = (
        f"the {what} at {row.statistic} is {times:.1f} times as long as at these rates: lengths or arrivals are more "
        f"spread than stated; state traffic.input_tokens_p95, output_tokens_p95 and burstiness, or requests: LOG"
    )
    return [text]


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].lower()
