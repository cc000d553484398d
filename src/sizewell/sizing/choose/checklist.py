"""The checklists that practitioners are taught, filled in for a workload from its decision's own records. Pure.

`scale` asks what a system of this size needs: scale, compute, accelerator interconnect, latency, locality, economics.
`deploy` goes from a model to a service: define, estimate, pick, load-test, observe, yield. Each line has its figure and
where that came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.choose.fleets_training import run_flop
from sizewell.sizing.choose.workloads import workload_record
from sizewell.sizing.predict.architecture import forward_flop_per_token, params_total, sample_flop
from sizewell.sizing.predict.performance.training import LIMITS
from sizewell.sizing.units import gib, short_duration, short_number

if TYPE_CHECKING:
    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.choose.pricing import Option
    from sizewell.sizing.records.decision import Workload

Checklist = Literal["scale", "deploy"]
CHECKLISTS: Final[Mapping[Checklist, tuple[str, ...]]] = {
    "scale": ("scale", "compute", "accelerator interconnect", "latency and locality", "economics"),
    "deploy": ("define", "estimate", "pick", "load-test", "observe", "yield"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a checklist: which of its points, the figure in words, and where that came from."""

    point: str
    answer: str
    source: str


def checklist(name: Checklist, sizing: Sizing, chosen: Option) -> tuple[Line, ...]:
    """The lines of one checklist, in its order; every point has at least one."""
    workload = workload_record(sizing, chosen)
    made = _scale(sizing, chosen, workload) if name == "scale" else _deploy(sizing, chosen, workload)
    lines = [Line(point=point, answer=answer, source=source) for point, answer, source in made]
    order = CHECKLISTS[name]
    return tuple(sorted(lines, key=lambda line: order.index(line.point)))


_Made = Iterator[tuple[str, str, str]]


def _scale(sizing: Sizing, chosen: Option, workload: Workload) -> _Made:
    need, shape = sizing.need, chosen.candidate.shape
    architecture, devices = need.architecture, chosen.fleet.nodes * chosen.candidate.shape.accelerators
    catalog, speed = "catalog", workload.performance
    if architecture is None:
        yield "scale", "no model: one machine for interactive work", "spec"
        yield "compute", f"{shape.carries}, whatever runs on it", catalog
    else:
        params = params_total(architecture)
        yield "scale", f"{short_number(params)} parameters", catalog
        yield "scale", _amount(sizing), "spec"
        yield "compute", _flop(sizing), "counted from the model's dimensions"
        on = (
            f"{devices} x {shape.accelerator}" if shape.accelerator else f"{chosen.fleet.nodes} x {shape.instance_type}"
        )
        made = f"{on}; {_speed(workload)}"
        yield "compute", made, f"predicted, {speed.grade}, 80 % band"
    waits = ", and the step's waterfall" if speed.waterfall else ""
    yield "accelerator interconnect", _interconnect(chosen, workload), catalog + waits
    yield "latency and locality", _latency(workload), f"spec, and predicted, {speed.grade}"
    yield "latency and locality", _place(sizing, workload), "prices of every region that the spec allows"
    yield from _money("economics", chosen, workload)


def _deploy(sizing: Sizing, chosen: Option, workload: Workload) -> _Made:
    need, memory, speed = sizing.need, workload.memory, workload.performance
    model = sizing.spec.model.label if sizing.spec.model else "no model"
    yield "define", f"{model}, {workload.kind}; {_amount(sizing)}", "spec"
    yield "define", _promise(workload), "spec, or its default"
    if memory.breakdown:
        largest = max(memory.breakdown, key=lambda item: memory.breakdown[item])
        used = f"{gib(memory.per_device_bytes):.1f} of {gib(memory.usable_bytes):.1f} GiB a device"
        yield "estimate", f"{used}, most of it {largest}", f"predicted, {memory.grade}"
    yield "estimate", _speed(workload), f"predicted, {speed.grade}, 80 % band"
    pool = workload.pools[0]
    picked = f"{pool.nodes_initial} x {pool.instance_type}, {pool.market}, {pool.cloud} {pool.region}"
    yield (
        "pick",
        picked,
        "the cheapest that meets the spec" if need.objective == "cost" else f"objective {need.objective}",
    )
    can_be_built = [other for other in workload.alternatives if other.cloud in PROVISIONABLE]
    for other in (can_be_built or workload.alternatives)[:1]:
        yield "pick", f"runner-up {other.nodes} x {other.instance_type}: {other.why_not}", "priced the same way"
    yield "load-test", _load_test(workload), "predicted; to be confirmed by a test"
    if workload.guard is not None:
        guard = workload.guard
        signal = guard.signal.replace("_", " ")
        idle = (
            f"{signal} below {guard.min_utilization_percent:g} % for {short_duration(guard.window_s)}: {guard.action}"
        )
        yield "observe", idle, "spec, or its default"
    yield "observe", _watched(workload), "the figures that this decision predicts"
    yield "yield", _used(workload), "predicted load over predicted capacity"
    yield from _money("yield", chosen, workload)


def _amount(sizing: Sizing) -> str:
    """How much work there is."""
    need = sizing.need
    if need.training is not None:
        samples, length = need.training.samples or 0.0, need.training.sequence_length
        return f"{short_number(samples * length)} tokens" if length else f"{short_number(samples)} samples"
    if need.batch is not None:
        return f"{short_number(need.batch.samples)} records within {short_duration(need.batch.window_s)}"
    if need.arrivals is None:
        return "while people work on it"
    rate, users = need.arrivals.requests_per_s, need.arrivals.users
    load = f"{rate:g} requests/s" if rate is not None else f"{users or 0:,.0f} users at once"
    job = need.serving
    tokens = (
        f", {job.input_tokens:,.0f} tokens in and {job.output_tokens:,.0f} out" if job and job.output_tokens else ""
    )
    return load + tokens


def _flop(sizing: Sizing) -> str:
    need = sizing.need
    if need.training is not None:
        return f"{run_flop(need.training):.2g} FLOP in the run"
    job = need.serving
    if job is None:
        return "not known"
    if job.architecture.kind == "decoder":
        return f"{forward_flop_per_token(job.architecture, job.input_tokens):.2g} FLOP a token"
    return f"{sample_flop(job.architecture, job.input_tokens, job.passes_per_sample):.2g} FLOP a sample"


def _speed(workload: Workload) -> str:
    speed = workload.performance
    if speed.metric == "run_time_s":
        return f"{short_duration(speed.value)} ({short_duration(speed.low)} to {short_duration(speed.high)})"
    if speed.metric == "requests_per_s_within_slo":
        return f"{speed.value:.3g} requests/s within the slo ({speed.low:.3g} to {speed.high:.3g})"
    return f"{gib(speed.value):.0f} GiB on each accelerator"


def _interconnect(chosen: Option, workload: Workload) -> str:
    shape, nodes, split = chosen.candidate.shape, chosen.fleet.nodes, workload.parallelism
    inside = (
        f"{chosen.candidate.accelerator.link} inside a machine" if shape.accelerators > 1 else "one accelerator each"
    )
    if split is None:
        each = chosen.fleet.devices_per_replica
        return f"{inside}; a replica spans {each} device{'s' if each > 1 else ''}, none spans machines"
    between = f", {shape.fabric or 'plain network'} between {nodes}" if nodes > 1 else ""
    step = workload.performance.waterfall
    links = sum(seconds for name, seconds in step.items() if LIMITS.get(name) == "interconnect")
    share = links / sum(step.values()) if step else 0.0
    return f"{inside}{between}; {share:.0%} of a step waits for it"


def _latency(workload: Workload) -> str:
    task, figures = workload.task, workload.performance.figures
    pairs = (("first token", "ttft_s"), ("each further", "tpot_s"), ("the answer", "latency_s"))
    parts = []
    for name, key in pairs:
        most = getattr(task, key, None) if task else None
        predicted_s = figures.get("e2e_s" if key == "latency_s" else key)
        if most is not None and predicted_s is not None:
            parts.append(f"{name} {predicted_s * 1000:,.0f} ms of {most * 1000:,.0f} allowed")
    if task is not None and task.deadline_s is not None:
        parts.append(
            f"done in {short_duration(workload.performance.value)} of {short_duration(task.deadline_s)} allowed"
        )
    return ", ".join(parts) or "no bound is stated"


def _place(sizing: Sizing, workload: Workload) -> str:
    pool, need = workload.pools[0], sizing.need
    where = f"{pool.cloud} {pool.region}"
    kept = f", residency {need.residency}" if need.residency else ", no data residency is required"
    data = f", data in {need.data_cloud} {need.data_region}".rstrip() if need.data_cloud else ""
    return where + kept + data


def _promise(workload: Workload) -> str:
    task = workload.task
    if task is None:
        return "no SLO: it is for interactive work"
    bounds = (("first token", task.ttft_s), ("each further", task.tpot_s), ("the answer", task.latency_s))
    parts = [f"{name} within {bound * 1000:,.0f} ms" for name, bound in bounds if bound is not None]
    if parts and task.percentile is not None:
        parts.append(f"at p{task.percentile * 100:g}")
    if task.deadline_s is not None:
        parts.append(f"done within {short_duration(task.deadline_s)}")
    return ", ".join(parts) or "no bound is stated"


def _load_test(workload: Workload) -> str:
    copies, speed = workload.replicas, workload.performance
    if copies is None or speed.metric != "requests_per_s_within_slo":
        if speed.metric != "run_time_s":
            return "open it and load your data"
        least, most = short_duration(speed.low), short_duration(speed.high)
        return f"run a hundredth of it: a hundred times its time, start-up apart, should be {least} to {most}"
    each = speed.value / max(1, copies.initial)
    return f"raise the load on one replica to {each:.3g} requests/s, {copies.concurrency_per_replica or 1} in flight"


_WATCHED: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "ttft_s": ("time to first token", short_duration),
    "tpot_s": ("time per output token", short_duration),
    "e2e_s": ("end-to-end latency", short_duration),
    "step_s": ("step time", short_duration),
    "mfu": ("MFU", "{:.0%}".format),
    "tokens_per_s": ("tokens/s", "{:,.0f}".format),
    "samples_per_s": ("samples/s", "{:,.0f}".format),
}


def _watched(workload: Workload) -> str:
    """What to look at while it runs, with what is predicted of it."""
    figures = workload.performance.figures
    parts = [f"{name} ({shown(figures[key])})" for key, (name, shown) in _WATCHED.items() if key in figures]
    return ", ".join(parts) or "memory in use"


def _used(workload: Workload) -> str:
    figures = workload.performance.figures
    if "load_share" in figures:
        return f"{figures['load_share']:.0%} of what the replicas take within the slo"
    if "mfu" in figures:
        return f"{figures['mfu']:.0%} of the accelerators' peak (MFU)"
    return f"{float(workload.pools[0].node_hours_per_month.expected):,.0f} machine-hours a month"


def _money(point: str, chosen: Option, workload: Workload) -> _Made:
    cost, pool = workload.cost, workload.pools[0]
    rate = workload.bill().run_rate
    month, more = rate.usd_per_month, " + ?" if rate.unpriced else ""
    span = f"{month.floor:,.0f}{more} to {month.ceiling:,.0f}{more}"
    source = f"line items at prices of {chosen.setting.catalog.as_of}"
    expected = f"{month.expected:,.0f}{more} USD a month expected ({span}), {pool.market}"
    yield point, expected, source
    run = workload.run()
    if run is not None:
        yield point, f"{run.usd.expected:,.4g}{' + ?' if run.unpriced else ''} USD a run", source
    each = (
        ("per million tokens", cost.per_million_tokens_usd),
        ("per thousand samples", cost.per_thousand_samples_usd),
    )
    for unit, amount in each:
        if amount is not None:
            yield point, f"{amount:,.4g} USD {unit}", source
