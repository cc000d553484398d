"""What a service or a batch lacks that no machine holds or answers in time; what is advised was tried, and works."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from sizewell.sizing.catalog import kernels
from sizewell.sizing.catalog.engine import NGRAM
from sizewell.sizing.catalog.engines import engine_for
from sizewell.sizing.choose.candidates import Cause, Rejection, least_usd_here, machine_of
from sizewell.sizing.choose.fleet import Fleet, FleetRefusal
from sizewell.sizing.choose.fleets import MORE_TIME, SMALLER, FleetSearch, bounds_alone
from sizewell.sizing.predict.architecture import params_total, served_family
from sizewell.sizing.predict.memory.states import bytes_of
from sizewell.sizing.units import Range
from sizewell.sizing.workload.drafts import fitting
from sizewell.sizing.workload.precision import block_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sizewell.sizing.catalog.records import Shape
    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.choose.requirements import Requirements
    from sizewell.sizing.records.jobs import Speculation

FORMATS: Final = ("fp8", "int8", "int4")  # that weights may be stored in, the most bytes first
FIELDS: Final = {"ttft": "ttft_s", "tpot": "tpot_s", "latency": "e2e_s"}
SLOWER: Final = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0)  # times what a single request takes
FEW: Final = 4  # times the machines of the loosest of these bounds
TRIED: Final = 40  # larger machines
COMPARED: Final = 4  # of those that do, by their price
MORE: Final = 1.1  # times the memory of a device, from which on another is larger


def with_ways(sizing: Sizing, nearest: Iterable[Rejection]) -> list[Rejection]:
    """The rejections, each with what would do: weights, machines, bounds."""
    nearest = list(nearest)
    told = [replace(r, relax=_way(sizing, r)) for r in nearest]
    if any(r.relax for r in told):
        return told
    # Whoever sells them, they do not do; other machines may.
    return [r if "resources" in r.relax else other for r, other in zip(nearest, told, strict=True)]


def _way(sizing: Sizing, rejection: Rejection) -> str:
    need = sizing.need
    named = (rejection.cloud, rejection.instance_type)
    shape = next((s for s in sizing.setting.catalog.shapes if (s.cloud, s.instance_type) == named), None)
    if need.serving is None or shape is None or not shape.accelerator:
        return rejection.relax
    if rejection.relax == SMALLER:
        return ", or ".join([*_drafting_less(sizing, shape), _more_room(sizing, shape)])
    if rejection.cause is Cause.SLO and rejection.relax.startswith(MORE_TIME):
        longer = _more_time(sizing, shape) or rejection.relax
        return ", or ".join([*_drafting_less(sizing, shape), longer])
    if rejection.cause is Cause.MARKET and isinstance(_fleets(sizing, need, shape), FleetRefusal):
        return ""  # whoever sells it, it does not do
    return rejection.relax


def _drafting_less(sizing: Sizing, shape: Shape) -> list[str]:
    """What of speculative decoding to change for the machine to do: another draft of the catalog, n-grams, or none."""
    need, catalog = sizing.need, sizing.setting.catalog
    job, named = need.serving, sizing.spec.model.name if sizing.spec.model else None
    of = job.speculation if job is not None else None
    if job is None or of is None:
        return []

    def does(other: Speculation | None) -> bool:
        tried = replace(need, serving=replace(job, speculation=other))
        return not isinstance(_fleets(sizing, tried, shape), FleetRefusal)

    ways = []
    if of.draft is not None:
        tokens = job.input_tokens + job.output_tokens
        names = fitting(job.architecture, catalog, tokens=tokens, but=of.draft.key, name=named)
        least = params_total(of.draft)
        other = (
            name
            for name in names
            if (params_total(catalog.model(name)) < least or catalog.model(name).heads != of.draft.heads)
            and does(replace(of, draft=catalog.model(name), name=name, weights="bf16", dense_weights="", block=0))
        )
        ways += [f"use traffic.speculative.draft: {name}, with its own acceptance" for name in islice(other, 1)]
        if does(replace(of, draft=None, name="")):
            ways.append(f"use draft: {NGRAM}, with its own acceptance")
    return ways + (["remove traffic.speculative"] if does(None) else [])


def _more_room(sizing: Sizing, shape: Shape) -> str:
    """Weights in the fewest bits that are needed, and the least machine that holds them as they are."""
    need, catalog = sizing.need, sizing.setting.catalog
    job, accelerator = need.serving, catalog.accelerators[shape.accelerator]
    assert job is not None  # noqa: S101 - asked only then
    assert need.architecture is not None  # noqa: S101 - as it serves one
    engine = need.engine or engine_for(served_family(need.architecture), accelerator.runtime).name
    ways = []
    for weights in FORMATS:
        row = kernels.missing(engine, weights, accelerator.family)
        if (row is not None and not row.only) or bytes_of(weights) >= bytes_of(job.weights):
            continue
        block = block_of(None, None, weights) if weights == "int4" else 0
        smaller = replace(job, weights=weights, dense_weights="", weights_group=0, block=block)
        if not isinstance(_fleets(sizing, replace(need, serving=smaller), shape), FleetRefusal):
            ways.append(f"use model.weights: {weights}")
            break
    if larger := _larger(sizing, shape):
        beyond = {"gpu": need.memory_bytes_max, "instance_type": need.instance_types}
        dropped = " and ".join(f"resources.{key}" for key, stated in beyond.items() if stated)
        instead = f" in place of {dropped}" if dropped else ""
        ways.append(f"name more or larger accelerators{instead}: resources: {{{larger}}}")
    several = (need.devices and need.devices.low > shape.accelerators) or (need.nodes and need.nodes.low > 1)
    if several:
        ways.append("launch a replica over several machines yourself: it is sized inside one alone")
    return ", or ".join(ways) or "use a smaller model, or shorter requests"


def _larger(sizing: Sizing, shape: Shape) -> str:
    """The accelerators of the cheapest of the first machines, by memory, that take the work as it is, as `resources`
    names them, with the limits of it that they are beyond; "" where none does.
    """
    need, catalog, on = sizing.need, sizing.setting.catalog, sizing.setting.on
    here = catalog.accelerators[shape.accelerator]
    machines: dict[tuple[int, str], tuple[float, str, Shape]] = {}
    for other in catalog.shapes:
        device = catalog.accelerators.get(other.accelerator)
        if device is None or device.runtime != here.runtime or device.no_builds:
            continue
        memory = device.memory_bytes * other.accelerators
        same = device.key == here.key
        if other.accelerators <= shape.accelerators if same else device.memory_bytes <= MORE * here.memory_bytes:
            continue
        usd = least_usd_here(other, need, catalog, on)
        if usd < math.inf:
            priced = (usd, other.instance_type, other)
            machines[memory, device.key] = min(machines.get((memory, device.key), priced), priced, key=itemgetter(0, 1))
    free = replace(need, accelerators=None, instance_types=frozenset(), devices=None, nodes=None, memory_bytes_max=None)
    ordered = [(usd, other) for _, (usd, _, other) in sorted(machines.items(), key=itemgetter(0))][:TRIED]
    works: list[tuple[float, str]] = []
    for usd, other in ordered:
        fleets = _fleets(sizing, free, other)
        if not isinstance(fleets, FleetRefusal):
            works.append((fleets[0].nodes * usd, _named(need, other, fleets[0].nodes)))
        if len(works) == COMPARED:
            break
    return min(works, default=(0.0, ""))[1]


def _named(need: Requirements, shape: Shape, nodes: int) -> str:
    """Machines as `resources` names them, with another number where the stated one does not allow as many.

    >>> from sizewell.sizing.catalog import load
    >>> from sizewell.sizing.choose.requirements import Requirements
    >>> one, shape = Requirements(name="w", kind="inference", devices=Range(1, 1)), load().shape("aws", "p5.48xlarge")
    >>> _named(one, shape, 1), _named(replace(one, devices=Range(1, 8)), shape, 1)
    ('accelerators: [h100-sxm], gpus: 8', 'accelerators: [h100-sxm]')
    """
    words, devices = f"accelerators: [{shape.accelerator}]", nodes * shape.accelerators
    if need.devices is not None and not _allows(need.devices, devices):
        words += f", gpus: {devices}"
    if need.nodes is not None and not _allows(need.nodes, nodes):
        words += f", nodes: {nodes}"
    return words


def _allows(limits: Range, number: int) -> bool:
    return limits.low <= number and (limits.high is None or number <= limits.high)


def _more_time(sizing: Sizing, shape: Shape) -> str:
    """The tightest bounds that such machines keep without many times as many of them; "" where none is known."""
    need = sizing.need
    level, job, arrivals = need.level, need.serving, need.arrivals
    if level is None or job is None or arrivals is None or arrivals.simulated:
        return ""
    machine = machine_of(shape, sizing.setting.catalog.accelerators[shape.accelerator], (), need)
    stated = bounds_alone(machine, job, level)
    kept: list[tuple[int, dict[str, int]]] = []
    for factor in SLOWER:
        bounds = {key: max(most, math.ceil(1000 * factor * is_s) / 1000) for key, _, is_s, most in stated}
        parts = {"latency": level.parts}  # a bound of all of a request, kept by each of its parts
        of_each: dict[str, Any] = {FIELDS[key]: seconds / parts.get(key, 1) for key, seconds in bounds.items()}
        looser = replace(level, **of_each)
        found = _fleets(sizing, replace(need, level=looser), shape)
        if not isinstance(found, FleetRefusal):
            changed = {key: round(1000 * bounds[key]) for key, _, _, most in stated if bounds[key] > most}
            kept.append((found[0].nodes, changed))
    few = next((bounds for nodes, bounds in kept if nodes <= FEW * kept[-1][0]), None)
    return f"{MORE_TIME}: slo: {{{', '.join(f'{key}: {ms}ms' for key, ms in few.items())}}}" if few else ""


def _fleets(sizing: Sizing, need: Requirements, shape: Shape) -> tuple[Fleet, ...] | FleetRefusal:
    accelerator = sizing.setting.catalog.accelerators[shape.accelerator]
    return FleetSearch(need).fleets(machine_of(shape, accelerator, (), need))
