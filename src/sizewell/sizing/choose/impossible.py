"""A wish that no machine can meet: what of it is impossible, by how much, and the way out that helps.

Bounds of the device, not predictions: reading the weights once, the FLOPs of a prompt or of a run at the peak of every
device, the bytes of the weights. What is under such a bound stays impossible however well an engine is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.choose.candidates import Cause, Rejection, machine_of
from sizewell.sizing.choose.choice import Sizing
from sizewell.sizing.choose.fleets import divided_by_draft, tensor_sizes
from sizewell.sizing.choose.fleets_training import run_flop
from sizewell.sizing.choose.requirements import BLOCK_DRAIN_S
from sizewell.sizing.choose.too_fast import prompt_flop, read_bytes
from sizewell.sizing.predict.memory import usable_bytes, weight_bytes
from sizewell.sizing.predict.performance.serving import is_language_model
from sizewell.sizing.predict.performance.serving_replica import peak_flop_per_s
from sizewell.sizing.units import GIB, short_duration

if TYPE_CHECKING:
    from sizewell.sizing.catalog.records import Shape
    from sizewell.sizing.choose.fleet import Machine
    from sizewell.sizing.records.jobs import ServingJob

NOT_TRIED = frozenset({Cause.REGION, Cause.CONSTRAINT, Cause.ACCELERATOR, Cause.RUNTIME, Cause.NO_PRICE, Cause.MARKET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """One wish that is under a bound of the hardware: in words, by what factor, and what would help."""

    what: str
    factor: float  # least possible / asked for
    relax: str
    than: str = "what is required"


def impossible(sizing: Sizing) -> tuple[Impossible, ...]:
    """Every wish of the spec that no machine it allows can meet, the least possible first; () where none is."""
    rejected = {(r.cloud, r.instance_type) for r in sizing.rejections if r.cause in NOT_TRIED}
    shapes = [
        shape
        for shape in sizing.setting.catalog.shapes
        if shape.accelerator and shape.cloud in PROVISIONABLE and (shape.cloud, shape.instance_type) not in rejected
    ]
    wishes = [*_weights(sizing, shapes), *_token(sizing, shapes), *_prompt(sizing, shapes), *_deadline(sizing, shapes)]
    return tuple(sorted(wishes, key=lambda wish: -wish.factor))


def _named(shape: Shape, devices: int) -> str:
    return f"{devices} x {shape.accelerator} ({shape.cloud} {shape.instance_type})"


def _weights(sizing: Sizing, shapes: Iterable[Shape]) -> list[Impossible]:
    """The weights alone against the largest machine, as one replica stays inside a machine."""
    job, catalog = sizing.need.serving, sizing.setting.catalog
    if job is None:
        return []
    needed, rooms = weight_bytes(job), []
    for shape in shapes:
        accelerator = catalog.accelerators[shape.accelerator]
        tensor = max(tensor_sizes(_machine(sizing, shape), job), default=1)
        rooms.append((tensor * usable_bytes(accelerator), tensor, shape))
    if not rooms:
        return []
    room, tensor, shape = max(rooms, key=lambda item: item[0])
    if needed <= room:
        return []
    return [
        Impossible(
            what=f"the weights take {needed / GIB:,.0f} GiB in {job.weights}; the largest machine it allows, "
            f"{_named(shape, tensor)}, has {room / GIB:,.0f} GiB{_of_draft(_machine(sizing, shape), job)}",
            factor=needed / room,
            than="what is available",
            relax="",  # `serving_ways` says what holds them
        )
    ]


def _of_draft(machine: Machine, job: ServingJob) -> str:
    """That its other devices are idle because of the draft; "" where they are not."""
    divided = divided_by_draft(machine, job)
    return f" with the draft model{divided}" if divided else ""


def _token(sizing: Sizing, shapes: Iterable[Shape]) -> list[Impossible]:
    """Time per token against reading the weights that one token uses, once."""
    job, level, catalog = sizing.need.serving, sizing.need.level, sizing.setting.catalog
    if job is None or level is None or level.tpot_s is None or not is_language_model(job):
        return []
    needed = read_bytes(job) / (job.speculation.tokens_per_step if job.speculation else 1.0)
    bounds = []
    for shape in shapes:
        tensor = max(tensor_sizes(_machine(sizing, shape), job), default=1)
        bounds.append((needed / (tensor * catalog.accelerators[shape.accelerator].memory_bytes_per_s), tensor, shape))
    if (fastest := _fastest(bounds)) is None or fastest[0] <= level.tpot_s:
        return []
    least_s, tensor, shape = fastest
    return [
        Impossible(
            what=f"slo.tpot {short_duration(level.tpot_s)}: reading the {needed / 1e9:,.0f} GB of weights that a token "
            f"uses takes {short_duration(least_s)} on {_named(shape, tensor)}, the fastest that the spec allows",
            factor=least_s / level.tpot_s,
            relax=f"a bound above {short_duration(least_s)} in slo.tpot, smaller model.weights or a smaller model",
        )
    ]


def _prompt(sizing: Sizing, shapes: Iterable[Shape]) -> list[Impossible]:
    """Time to first token against the FLOPs of the prompt at the peak of every device of a machine."""
    job, level, catalog = sizing.need.serving, sizing.need.level, sizing.setting.catalog
    if job is None or level is None or level.ttft_s is None or not is_language_model(job):
        return []
    flop = prompt_flop(job)
    bounds = []
    for shape in shapes:
        tensor = max(tensor_sizes(_machine(sizing, shape), job), default=1)
        peak = tensor * peak_flop_per_s(catalog.accelerators[shape.accelerator], job.weights)
        bounds += [(flop / peak, tensor, shape)] if peak else []
    if (fastest := _fastest(bounds)) is None or fastest[0] <= level.ttft_s:
        return []
    least_s, tensor, shape = fastest
    return [
        Impossible(
            what=f"slo.ttft {short_duration(level.ttft_s)}: a prompt of {job.input_tokens:,.0f} tokens is "
            f"{flop / 1e12:,.0f} TFLOP, {short_duration(least_s)} at the peak of {_named(shape, tensor)}",
            factor=least_s / level.ttft_s,
            relax=f"a bound above {short_duration(least_s)} in slo.ttft, shorter prompts or a smaller model",
        )
    ]


def _deadline(sizing: Sizing, shapes: Iterable[Shape]) -> list[Impossible]:
    """The deadline of a run against its FLOPs at the peak of as many devices as one job may have."""
    need, catalog = sizing.need, sizing.setting.catalog
    job, deadline_s = need.training, need.deadline_s
    if job is None or deadline_s is None:
        return []
    bounds = []
    for shape in shapes:
        machine = _machine(sizing, shape)
        asked = need.nodes_of(machine.count)
        nodes = min(machine.together_max, asked.high) if asked and asked.high else machine.together_max
        devices = nodes * shape.accelerators
        peak = devices * peak_flop_per_s(catalog.accelerators[shape.accelerator], job.precision)
        bounds += [(run_flop(job) / peak, devices, shape)] if peak else []
    if (fastest := _fastest(bounds)) is None or fastest[0] <= deadline_s:
        return []
    least_s, devices, shape = fastest
    block = need.block_s is not None and need.block_s - BLOCK_DRAIN_S <= deadline_s
    allowed = f"deadline {short_duration(deadline_s)}"
    if block:
        bought = short_duration(need.block_s or 0.0)
        allowed = f"capacity.block.duration {bought}, of which {short_duration(deadline_s)} are for the run"
    return [
        Impossible(
            what=f"{allowed}: the run is {run_flop(job):.2g} FLOP, "
            f"{short_duration(least_s)} at the peak of {devices:,} x {shape.accelerator}, all that is allowed",
            factor=least_s / deadline_s,
            than="what is allowed",
            relax="",  # `more_room` says by when it ends, and on how many it ends in time
        )
    ]


def _fastest(bounds: Iterable[tuple[float, int, Shape]]) -> tuple[float, int, Shape] | None:
    """Of lower bounds in seconds, each with devices and machine type, the least; of equal ones the first."""
    return min(bounds, key=lambda bound: bound[0], default=None)


def _machine(sizing: Sizing, shape: Shape) -> Machine:
    accelerator = sizing.setting.catalog.accelerators[shape.accelerator]
    return machine_of(shape, accelerator, (), sizing.need)


# How far a machine type came through the checks: those that failed a later one are nearer to an answer.
_FAR = {
    **dict.fromkeys((Cause.NODES, Cause.TOO_SLOW, Cause.SLO), 0),
    **dict.fromkeys((Cause.LAYOUT, Cause.MEMORY), 1),
    **dict.fromkeys((Cause.MANAGED, Cause.MARKET), 2),
    **dict.fromkeys((Cause.NO_PRICE, Cause.RUNTIME), 3),
    Cause.CONSTRAINT: 4,
    Cause.REGION: 5,
}


def nearness(rejection: Rejection) -> tuple[object, ...]:
    """Sorts rejections from the nearest to an answer: by the check that failed, then by how much was missing."""
    order = list(Cause)
    far = _FAR.get(rejection.cause, max(_FAR.values()) + 1)
    return (far, rejection.shortfall, -order.index(rejection.cause), rejection.shape)
