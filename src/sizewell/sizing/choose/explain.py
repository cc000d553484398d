"""Why the choice is what it is: the data behind `sizewell explain`. Pure; the printing is the command's.

Memory as an itemised bar, the time of a step as a waterfall, what would have to change to fit on half the devices, the
next best layout and why it loses, how twice the devices would be used, and how much the answer moves with its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from sizewell.sizing.catalog import kernels
from sizewell.sizing.catalog.engines import engine_for
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.choose.candidates import machine_of
from sizewell.sizing.choose.choice import Sizing, alternatives, performance_value, significant, why_not
from sizewell.sizing.choose.decide import NothingFits, cloud_of, nothing_fits, size_one
from sizewell.sizing.choose.fleet import Fleet, FleetRefusal, Machine
from sizewell.sizing.choose.fleets import FleetSearch, what_it_gives
from sizewell.sizing.choose.more_room import MARGIN
from sizewell.sizing.choose.pricing import Option
from sizewell.sizing.choose.quantized import best_under, formats, quantized, weights_in
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.choose.setting import Setting
from sizewell.sizing.choose.simulated import deployed
from sizewell.sizing.choose.why import counts, verdicts
from sizewell.sizing.choose.workloads import late, performance
from sizewell.sizing.predict.architecture import served_family
from sizewell.sizing.records.decision import Alternative
from sizewell.sizing.records.jobs import Cluster, Layout, ServingJob, TrainingJob
from sizewell.sizing.units import durations_apart, plural, short_duration

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.workload.read import WorkloadSpec

MORE, LESS = 1.25, 0.8
COMPARED = 10  # machine types: more circles cannot be told apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One item of a bar or a waterfall: bytes or seconds, and its share of the whole."""

    name: str
    value: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that could be changed, whether that is enough, and what it costs."""

    what: str
    enough: bool
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextLayout:
    """The runner-up among the layouts on the same machines, and why it loses."""

    layout: Layout
    step_s: float
    why_it_loses: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """How twice the devices would be used; `warning` below 60 %."""

    devices: int
    efficiency: float | None
    warning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What the answer becomes when one input moves."""

    what: str
    machines: str  # "" where nothing fits
    usd: float | None  # a month of service, or a run; None where nothing fits, or a line has no price
    change_percent: float | None  # of that cost; None where one of the two is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An option as a chart has it: what it costs, and how fast it is, with the band."""

    machines: str
    place: str
    chosen: bool
    usd: Decimal  # of a run, or a month of service
    metric: str
    value: float
    low: float
    high: float
    bottleneck: str
    why_not: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that `sizewell explain` shows of one workload."""

    workload: str
    machines: str
    memory: tuple[Part, ...]  # largest first
    used_bytes: int
    high_bytes: int  # upper edge of the band
    usable_bytes: int
    waterfall: tuple[Part, ...]  # of one training step, or of a second of a replica; in order
    bottleneck: str
    layout: Layout | None
    next_layout: NextLayout | None
    remarks: tuple[str, ...]  # that the upper edge of a band is beyond what memory, deadline or window allow
    half_devices: int
    half: tuple[Change, ...]
    scaling: Scaling | None
    sensitivity: tuple[Effect, ...]
    alternatives: tuple[Alternative, ...]
    compared: tuple[Compared, ...]  # the choice first; what has no price or no speed is left out
    asked: float | None  # the deadline, or the load, in the metric of `compared`; None where none is stated
    machine_types: Mapping[str, int]  # of the catalog, by what became of them


NOT_MOVED: Final = (
    "what another load, level or format would need is not said: the fleet was simulated; size the changed spec"
)


def sized(
    spec: WorkloadSpec,
    catalog: Catalog,
    *,
    stack: str,
    on: date,
    cloud: str | None = None,
    environment: str = "",
) -> tuple[Sizing, Option | None]:
    """Everything that was tried for one spec, and what `decide` would choose of it: on `cloud` or the stack's own."""
    cloud = cloud or cloud_of(stack)
    sizing = size_one(spec, catalog, stack=stack, on=on, apart=cloud is not None, environment=environment)
    return sizing, sizing.best(cloud)


def explain(
    spec: WorkloadSpec,
    catalog: Catalog,
    *,
    stack: str,
    on: date,
    cloud: str | None = None,
    environment: str = "",
) -> Explanation | NothingFits:
    """The explanation of what `decide` would choose for one spec: on `cloud`, else on that which the stack names."""
    sizing, chosen = sized(spec, catalog, stack=stack, on=on, cloud=cloud, environment=environment)
    if chosen is None:
        return nothing_fits(sizing, cloud or cloud_of(stack))
    need, fleet = chosen.setting.need, chosen.fleet
    machine = machine_of_option(chosen, need)
    total = fleet.memory.total_bytes
    limit = fleet.training or fleet.serving
    return Explanation(
        workload=need.name,
        machines=machines(chosen),
        memory=tuple(
            Part(name=name, value=float(size), share=size / max(1, total))
            for name, size in sorted(fleet.memory.breakdown, key=lambda item: (-item[1], item[0]))
        ),
        used_bytes=total,
        high_bytes=fleet.memory.high_bytes,
        usable_bytes=fleet.usable_bytes,
        waterfall=_waterfall(fleet),
        bottleneck=limit.bottleneck if limit else "none",
        layout=fleet.layout,
        next_layout=_next_layout(need.training, machine, fleet) if need.training else None,
        remarks=(*late(chosen), *_speculating(chosen), *([NOT_MOVED] if need.simulated else [])),
        half_devices=_devices(chosen) // 2,
        half=() if need.simulated else on_half(chosen),
        scaling=_scaling(need.training, machine.cluster(fleet.nodes, fleet.topology)) if need.training else None,
        sensitivity=sensitivity(sizing, chosen),
        alternatives=(*alternatives(sizing, chosen), *quantized(sizing, chosen)),
        compared=compared(sizing, chosen),
        asked=_asked(chosen),
        machine_types=counts(verdicts(sizing, chosen)),
    )


def _speculating(chosen: Option) -> list[str]:
    """What speculative decoding gives, or that it costs more than it saves."""
    of = deployed(chosen)
    if of is None or of.job.speculation is None or chosen.fleet.serving is None:
        return []
    sequences = max(1.0, chosen.fleet.serving.batch)
    said = what_it_gives(of.job, of.cluster, tensor=of.tensor, sequences=sequences)
    return [said] if said else []


def compared(sizing: Sizing, chosen: Option) -> tuple[Compared, ...]:
    """The choice, and the best option of each other accelerator of a cloud that can be built as the spec allows."""
    best = {_accelerator(option): option for option in reversed(sizing.options) if option.candidate.buildable}
    best.pop(_accelerator(chosen), None)
    of_a_run = chosen.run_s is not None
    shown: list[Compared] = []
    for option in (chosen, *sorted(best.values(), key=lambda option: option.order)):
        usd = option.run_usd if of_a_run else option.usd_per_month
        if usd is None or performance_value(option) is None:
            continue
        does = performance(option)
        shown.append(
            Compared(
                machines=f"{option.fleet.nodes} x {option.instance_type}, {option.deal.market}",
                place=f"{option.cloud}/{option.deal.region}",
                chosen=option is chosen,
                usd=usd,
                metric=does.metric,
                value=does.value,
                low=does.low,
                high=does.high,
                bottleneck=does.bottleneck,
                why_not="" if option is chosen else why_not(option, chosen, sizing.need),
            )
        )
    return tuple(shown[:COMPARED])


def _accelerator(option: Option) -> tuple[str, str]:
    return option.cloud, option.candidate.shape.accelerator


def _asked(chosen: Option) -> float | None:
    """What the work has to reach: a run its deadline, a service its load."""
    if chosen.run_s is not None:
        return chosen.setting.need.deadline_s
    return performance(chosen).figures.get("requests_per_s")


def machines(option: Option) -> str:
    """An option in words: "2 x p5.48xlarge (8 x h100-sxm), spot, aws us-east-1"."""
    shape = option.candidate.shape
    return (
        f"{option.fleet.nodes} x {shape.instance_type} ({shape.carries}), "
        f"{option.deal.market}, {shape.cloud} {option.deal.region}"
    )


def machine_of_option(option: Option, need: Requirements) -> Machine:
    shape = option.candidate.shape
    slices = [item for item in option.setting.catalog.slices if item.machine_type == shape.instance_type]
    return machine_of(shape, option.candidate.accelerator, slices, need)


def _devices(option: Option) -> int:
    return option.fleet.nodes * (option.candidate.shape.accelerators or 1)


def _waterfall(fleet: Fleet) -> tuple[Part, ...]:
    if fleet.training is None:
        return ()
    whole = fleet.training.step_s
    return tuple(Part(name=name, value=value, share=value / whole) for name, value in fleet.training.waterfall)


# The next best layout ----------------------------------------------------------------------------------------------


def _next_layout(job: TrainingJob, machine: Machine, fleet: Fleet) -> NextLayout | None:
    from sizewell.sizing.predict.layouts.search import LayoutRefusal, search

    plans = search(job, machine.cluster(fleet.nodes, fleet.topology), best=2)
    if isinstance(plans, LayoutRefusal) or len(plans) < 2:
        return None
    best, other = plans[0], plans[1]
    slower = other.time.step_s / best.time.step_s - 1
    mine, its = dict(best.time.waterfall), dict(other.time.waterfall)
    grown = sorted(((its[name] - mine.get(name, 0.0), name) for name in its), reverse=True)
    reason = f"{slower:.1%} slower"
    if grown and grown[0][0] > 0:
        more = grown[0][0]
        reason += f": {grown[0][1]} takes {f'{more:.1f} s' if more >= 1 else f'{more * 1000:.1f} ms'} a step more"
    if slower < 1e-4:
        reason = "equally fast, but more complex"
    return NextLayout(layout=other.layout, step_s=other.time.step_s, why_it_loses=reason)


def _scaling(job: TrainingJob, cluster: Cluster) -> Scaling | None:
    from sizewell.sizing.predict.layouts.scaling import scaling_efficiency

    if cluster.topology:
        return None  # a slice is doubled to another valid topology, not by adding machines
    scaling = scaling_efficiency(job, cluster)
    known = math.isfinite(scaling.efficiency)
    return Scaling(
        devices=scaling.devices,
        efficiency=significant(scaling.efficiency, 4) if known else None,
        warning=scaling.warning,
    )


# Half the devices --------------------------------------------------------------------------------------------------


def on_half(chosen: Option) -> tuple[Change, ...]:
    """What would have to change to fit on half the devices, each tried: as it is, then one change at a time."""
    need = chosen.setting.need
    machine = machine_of_option(chosen, need)
    if _devices(chosen) < 2:
        return (Change(what="as it is", enough=False, outcome="it uses one device, which cannot be halved"),)
    if need.training is not None:
        return _half_training(need.training, machine, chosen)
    if need.arrivals is not None and need.serving is not None:
        return _half_serving(need, machine, chosen)
    run_s, allowed_s = (chosen.run_s or 0.0) * 2, need.deadline_s
    taken, allowed = durations_apart(run_s, allowed_s) if allowed_s else ("", "")
    if allowed_s and run_s <= allowed_s:
        taken = short_duration(run_s)
    outcome = f"takes about {taken}, {allowed} allowed" if allowed else "it fits a smaller machine"
    return (Change(what="as it is", enough=allowed_s is not None and run_s <= allowed_s, outcome=outcome),)


def _half_cluster(machine: Machine, chosen: Option) -> Cluster:
    nodes = chosen.fleet.nodes
    if nodes > 1:
        return machine.cluster(nodes // 2)
    hosts = machine.host_vcpus / 2 if machine.host_vcpus else None
    smaller = replace(
        machine, count=machine.count // 2, scale_up=max(1, min(machine.scale_up, machine.count // 2)), host_vcpus=hosts
    )
    return smaller.cluster(1)


def _half_training(job: TrainingJob, machine: Machine, chosen: Option) -> tuple[Change, ...]:
    cluster = _half_cluster(machine, chosen)
    setting = chosen.setting
    as_it_is = _trained("as it is", job, cluster, setting)
    if as_it_is.run_s is not None:
        return (as_it_is.change, *_faster(job, cluster, setting, as_it_is))
    tries: list[tuple[str, TrainingJob]] = []
    if job.checkpointing not in (None, "full"):
        tries.append(("recompute all activations", replace(job, checkpointing="full")))
    if job.method in ("pretrain", "full") and job.optimizer in ("adamw", "adam"):
        tries.append(("optimizer: adamw-8bit", replace(job, optimizer="adamw8bit")))
    if job.sequence_length >= 1024:
        half = job.sequence_length // 2
        tries.append((f"sequence_length: {half}, the same tokens", _resized(job, 0.5)))
    if job.method == "full":
        tries.append(("method: lora", replace(job, method="lora", lora_rank=16)))
        tries.append(("method: qlora", replace(job, method="qlora", weights="nf4", lora_rank=16)))
    if job.method == "lora":
        tries.append(("method: qlora", replace(job, method="qlora", weights="nf4")))
    return (
        as_it_is.change,
        *(_trained(what, changed, cluster, setting).change for what, changed in tries),
    )


def _faster(job: TrainingJob, cluster: Cluster, setting: Setting, as_it_is: _Trial) -> tuple[Change, ...]:
    """Where memory suffices and time does not: what makes a run shorter, and the deadline that half would meet."""
    if as_it_is.change.enough or as_it_is.run_s is None:
        return ()
    tries: list[tuple[str, TrainingJob]] = []
    if job.precision in ("bf16", "fp16") and cluster.accelerator.flop_per_s.get("fp8"):
        tries.append(("model.precision: fp8", replace(job, precision="fp8")))
    if job.sequence_length >= 1024:
        half = job.sequence_length // 2
        tries.append((f"sequence_length: {half}, the same tokens", _resized(job, 0.5)))
    if job.method == "full":
        tries.append(("method: lora", replace(job, method="lora", lora_rank=16)))
    later = Change(
        what=f"deadline: {math.ceil(MARGIN * as_it_is.run_s / 3600)}h",
        enough=True,
        outcome="the same run, twice as long",
    )
    return (*(_trained(what, changed, cluster, setting).change for what, changed in tries), later)


def _resized(job: TrainingJob, factor: float) -> TrainingJob:
    """Sequences `factor` as long, as many more of them: the run reads the same tokens, and each step does."""
    return replace(
        job,
        sequence_length=max(1, round(job.sequence_length * factor)),
        global_batch=max(1, round(job.global_batch / factor)),
        samples=job.samples / factor if job.samples is not None else None,
    )


class _Trial(NamedTuple):
    change: Change
    run_s: float | None  # with its start and what is lost to failures, as it is compared; None where it does not fit


def _trained(what: str, changed: TrainingJob, cluster: Cluster, setting: Setting) -> _Trial:
    """One change to a run, laid out on the smaller cluster, and timed as the choice times it."""
    from sizewell.sizing.choose.more_room import whole_run_s
    from sizewell.sizing.predict.layouts.search import LayoutRefusal, search

    plans = search(changed, cluster, best=1)
    if isinstance(plans, LayoutRefusal):
        return _Trial(Change(what=what, enough=False, outcome=plans.reason), None)
    deadline_s = setting.need.deadline_s
    chips = cluster.devices // max(1, cluster.accelerator.processes_per_device)
    run_s = whole_run_s(changed, plans[0].time.step_s, setting, nodes=cluster.nodes, devices=chips)
    late = deadline_s is not None and run_s > deadline_s
    outcome = f"fits; the run takes {short_duration(run_s)}"
    if deadline_s is not None and late:
        taken, allowed = durations_apart(run_s, deadline_s)
        outcome = f"fits; the run takes {taken}, {allowed} allowed"
    return _Trial(Change(what=what, enough=not late, outcome=outcome), run_s)


def _half_serving(need: Requirements, machine: Machine, chosen: Option) -> tuple[Change, ...]:
    from sizewell.sizing.predict.performance import processors

    job, level = need.serving, need.level
    assert job is not None and level is not None  # noqa: S101, PT018 - asked only for services
    family = machine.accelerator.family
    engine = need.engine or engine_for(served_family(job.architecture), machine.accelerator.runtime).name
    tries = [
        (f"model.weights: {weights}", replace(need, serving=replace(job, weights=weights)))
        for weights in ("fp8", "int8", "int4")
        if _bytes(weights) < _bytes(job.weights)
        and (machine.accelerator.runtime != RUNTIME or weights in processors.FORMATS)
        and ((row := kernels.missing(engine, weights, family)) is None or row.only)
    ]
    if not job.kv and job.architecture.kind == "decoder" and kernels.missing_cache(engine, "fp8", family) is None:
        tries.append(("model.kv: fp8", replace(need, serving=replace(job, kv="fp8"))))
    slower = replace(
        level,
        ttft_s=level.ttft_s * 2 if level.ttft_s else None,
        tpot_s=level.tpot_s * 2 if level.tpot_s else None,
        e2e_s=level.e2e_s * 2 if level.e2e_s else None,
    )
    tries.append(("slo: twice the time", replace(need, level=slower)))
    half = _devices(chosen) / 2
    as_it_is = Change(what="as it is", enough=False, outcome=f"the load needs {_devices(chosen)} devices")
    smaller = replace(machine, count=machine.count // 2, scale_up=max(1, min(machine.scale_up, machine.count // 2)))
    alone = chosen.fleet.nodes == 1 and machine.count > 1  # half of one machine is a smaller machine
    ways = (smaller, machine) if alone else (machine,)
    return (as_it_is, *(_tried(what, changed, ways, half) for what, changed in tries))


def _tried(what: str, changed: Requirements, machines: Sequence[Machine], half: float) -> Change:
    """One change to a service, sized on the machines that need the fewest devices for it."""
    counts, refused = list[int](), ""
    for machine in machines:
        fleets = FleetSearch(changed).fleets(machine)
        if isinstance(fleets, FleetRefusal):
            refused = refused or fleets.reason
        else:
            counts += [fleet.nodes * machine.count for fleet in fleets]
    if not counts:
        return Change(what=what, enough=False, outcome=refused)
    devices = min(counts)
    return Change(what=what, enough=devices <= half, outcome=plural(devices, "device"))


def _bytes(weights: str) -> float:
    return {"fp32": 4.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5, "int4": 0.5, "nf4": 0.5}.get(weights, 2.0)


# Sensitivity -------------------------------------------------------------------------------------------------------


def sensitivity(sizing: Sizing, chosen: Option) -> tuple[Effect, ...]:
    """The choice and its cost when one input moves: load, length of the run, deadline or service level by a quarter;
    narrower weights where the spec leaves them open.
    """
    need = sizing.need
    if need.simulated:  # for the load as it is: at another one each number of machines would have to be simulated anew
        return ()
    moves: list[tuple[str, Callable[[Requirements], Requirements]]] = []
    if need.arrivals is not None:
        moves += [
            ("25 % more traffic", lambda n: _traffic(n, MORE)),
            ("20 % less traffic", lambda n: _traffic(n, LESS)),
            ("an SLO 20 % tighter", lambda n: _slo(n, LESS)),
        ]
        longer = {"25 % longer answers": "output_tokens", "25 % longer requests": "input_tokens"}
        field = next((each for each in longer.items() if need.serving and getattr(need.serving, each[1])), None)
        if field is not None:  # of what embeds or ranks there are no answers
            moves.append((field[0], lambda n: _longer(n, field[1], MORE)))
    moves += [(f"weights in {f.weights} ({f.quality})", weights_in(f)) for f in formats(sizing)]
    if need.training is not None:
        moves.append(("25 % more samples", lambda n: _samples(n, MORE)))
        limit = need.training.architecture.max_sequence_length
        if need.training.sequence_length and (not limit or 2 * need.training.sequence_length <= limit):
            moves.append(("sequences twice as long, same number of tokens", lambda n: _sequences(n, 2)))
    if need.batch is not None:
        moves.append(("25 % more records", lambda n: _records(n, MORE)))
    if need.deadline_s is not None:
        moves.append(("half the time", lambda n: _deadline(n, 0.5)))
    return tuple(_effect(what, best_under(move(need), sizing.setting, chosen), chosen) for what, move in moves)


def _effect(what: str, option: Option | None, chosen: Option) -> Effect:
    if option is None:
        return Effect(what=what, machines="", usd=None, change_percent=None)
    usd = None if option.cost.unpriced else round(option.total_usd, 2)
    change: float | None = None
    if usd is not None and not chosen.cost.unpriced:
        change = round(100 * (option.total_usd / chosen.total_usd - 1), 1) if chosen.total_usd else 0.0
    return Effect(what=what, machines=machines(option), usd=usd, change_percent=change)


def _traffic(need: Requirements, factor: float) -> Requirements:
    arrivals = need.arrivals
    assert arrivals is not None  # noqa: S101 - moved only where there is traffic
    rate = arrivals.requests_per_s * factor if arrivals.requests_per_s is not None else None
    users = arrivals.users * factor if arrivals.users is not None else None
    return replace(need, arrivals=replace(arrivals, requests_per_s=rate, users=users))


def _slo(need: Requirements, factor: float) -> Requirements:
    level = need.level
    assert level is not None  # noqa: S101 - moved only where there is a level
    return replace(
        need,
        level=replace(
            level,
            ttft_s=level.ttft_s * factor if level.ttft_s else None,
            tpot_s=level.tpot_s * factor if level.tpot_s else None,
            e2e_s=level.e2e_s * factor if level.e2e_s else None,
        ),
    )


def _longer(need: Requirements, field: str, factor: float) -> Requirements:
    job: ServingJob | None = need.serving
    assert job is not None  # noqa: S101 - moved only for services
    return replace(need, serving=replace(job, **{field: getattr(job, field) * factor}))


def _samples(need: Requirements, factor: float) -> Requirements:
    job = need.training
    assert job is not None  # noqa: S101 - moved only for training
    return replace(need, training=replace(job, samples=(job.samples or 0.0) * factor))


def _sequences(need: Requirements, factor: int) -> Requirements:
    job = need.training
    assert job is not None  # noqa: S101 - moved only for training
    return replace(need, training=_resized(job, factor))


def _records(need: Requirements, factor: float) -> Requirements:
    work = need.batch
    assert work is not None  # noqa: S101 - moved only for batch work
    return replace(need, batch=replace(work, samples=work.samples * factor))


def _deadline(need: Requirements, factor: float) -> Requirements:
    batch = replace(need.batch, window_s=need.batch.window_s * factor) if need.batch else None
    return replace(need, deadline_s=(need.deadline_s or 0.0) * factor, batch=batch)
