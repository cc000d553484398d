"""What a training run lacks that nothing holds or ends in time, found by laying it out: what is advised then works."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from sizewell.sizing.choose import blocks
from sizewell.sizing.choose.candidates import BUY_A_BLOCK, Cause, Rejection, least_usd_here, machine_of
from sizewell.sizing.choose.fleet import LATER, SET_BATCH, FleetRefusal
from sizewell.sizing.choose.fleets_training import MORE_MEMORY, OTHER_BATCH, TrainingSearches, no_host_room, run_time_s
from sizewell.sizing.choose.start_up import start_up_s
from sizewell.sizing.predict.spot import interruptions
from sizewell.sizing.workload.software import SOFTWARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sizewell.sizing.catalog.records import Shape
    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.choose.fleet import Machine
    from sizewell.sizing.choose.requirements import Requirements
    from sizewell.sizing.choose.setting import Setting
    from sizewell.sizing.records.jobs import TrainingJob

NODES: Final = tuple(1 << power for power in range(8))
SPLITS: Final = "nemo"  # software that divides a sequence over devices (context parallelism)
WAYS: Final = 4  # that are named of one machine
SHORTEST: Final = 256  # tokens of a sequence that are advised at the least
LARGER: Final = 24  # machines with more memory a device that are laid out
BATCH_GROWS: Final = 4  # times a stated batch that is advised at the most
MARGIN: Final = 1.05  # of a deadline over what is predicted


def with_ways(sizing: Sizing, nearest: Iterable[Rejection]) -> list[Rejection]:
    """The rejections, each with what would do on such machines: devices, methods, lengths, days."""
    unsaid = {MORE_MEMORY: _more_room, LATER: _more_time, OTHER_BATCH: _next_batch, BUY_A_BLOCK.format("24h"): _block}
    return [replace(r, relax=unsaid[r.relax](sizing, r)) if r.relax in unsaid else r for r in nearest]


def _block(sizing: Sizing, rejection: Rejection) -> str:
    """The block that the run fits in on such machines; as it was where they do not do it in any."""
    need, machine = _on(sizing, _shape(sizing, rejection))
    found = TrainingSearches(need).fleets((machine,))[0]
    fleets = () if isinstance(found, FleetRefusal) else found
    most = blocks.nodes_max(blocks.MARKET, rejection.cloud) or math.inf
    sold = (f for f in fleets if f.nodes <= most)
    longest = (f.run_s * f.training.high_s / f.training.step_s for f in sold if f.training and f.run_s)
    duration = next((text for run_s in longest if (text := blocks.duration_text(run_s))), "")
    return BUY_A_BLOCK.format(duration) if duration else rejection.relax


def _more_time(sizing: Sizing, rejection: Rejection) -> str:
    """The deadline that the most machines allowed keep, and how many would keep the one that is stated."""
    need, machine = _on(sizing, _shape(sizing, rejection))
    job, most = need.training, _most(need, machine)
    assert job is not None  # noqa: S101 - asked only for training
    taken = dict(_runs(sizing, job, machine, [most, *_between(most, machine.together_max)]))
    ways = []
    if taken:
        fewest = min(taken)  # more than are allowed, where these do not hold it
        days = MARGIN * taken[fewest] / 86_400
        later = f"{math.ceil(days)}d" if days > 3 else f"{math.ceil(24 * days)}h"
        block = blocks.duration_text(MARGIN * taken[fewest]) if need.block_s is not None else ""
        until = f"capacity: {{block: {{duration: {block}}}}}" if block else f"deadline: {later}"
        if block or need.markets != (blocks.MARKET,):
            ways.append(f"use {until}" if fewest == most else f"{_allow(need, machine, fewest)} and use {until}")
        else:  # no block is sold for so long
            ways.append(f"leave capacity.block out, which has at most {machine.together_max} machines")
    in_time = (n for n, run_s in taken.items() if n > most and MARGIN * run_s <= (need.deadline_s or 0.0))
    if enough := next(in_time, 0):
        ways.append(_allow(need, machine, enough))
    elif larger := _larger_batch(sizing, need, machine, most):
        ways.append(larger)
    return ", or ".join(ways) or "use a later deadline, fewer tokens or samples, or faster accelerators in resources"


def _larger_batch(sizing: Sizing, need: Requirements, machine: Machine, most: int) -> str:
    """A batch that gives more devices work of their own, and the run ends in time; "" where none does."""
    job = need.training
    assert job is not None  # noqa: S101 - asked only for training
    counts = sorted({most, *(n for n in NODES if n < most)})
    for batch in (2 * job.global_batch, 4 * job.global_batch, 8 * job.global_batch):
        larger = replace(job, global_batch=batch)
        if any(MARGIN * run_s <= (need.deadline_s or 0.0) for _, run_s in _runs(sizing, larger, machine, counts)):
            return f"{SET_BATCH} {batch * (job.sequence_length or 1)} ({batch:,} samples)"
    return ""


def _next_batch(sizing: Sizing, rejection: Rejection) -> str:
    """The next batch that the devices divide, laid out; as it was where none does."""
    need, machine = _on(sizing, _shape(sizing, rejection))
    job, most = need.training, _most(need, machine)
    assert job is not None  # noqa: S101 - asked only for training
    devices = most * machine.count
    step = 2 * devices if job.paired else devices
    batch = -(-job.global_batch // step) * step
    if batch == job.global_batch or batch > BATCH_GROWS * job.global_batch:
        return rejection.relax
    larger = replace(job, global_batch=batch)
    if not any(True for _, run_s in _runs(sizing, larger, machine, [most]) if run_s <= (need.deadline_s or math.inf)):
        return rejection.relax
    return f"{SET_BATCH} {batch * (job.sequence_length or 1)} ({batch:,} samples), which {devices:,} devices divide"


def _between(most: int, limit: int) -> list[int]:
    """Numbers of machines above one, half as many more each time or a third, as far as a job may have them."""
    counts, power = set[int](), 1
    while power <= limit:
        counts |= {power, power + power // 2}
        power *= 2
    return sorted(n for n in counts if most < n <= limit)


def _runs(sizing: Sizing, job: TrainingJob, machine: Machine, counts: Iterable[int]) -> Iterator[tuple[int, float]]:
    """How long the run takes on so many machines, failures included; without those that no layout is for."""
    from sizewell.sizing.predict.layouts.search import LayoutRefusal, find_all

    tried = list(counts)
    found = find_all(job, tuple(machine.cluster(n) for n in tried), best=1)
    for n, answer in zip(tried, found, strict=True):
        if isinstance(answer, LayoutRefusal):
            continue
        yield n, whole_run_s(job, answer[0].step_s, sizing.setting, nodes=n, devices=n * machine.count)


def whole_run_s(job: TrainingJob, step_s: float, setting: Setting, *, nodes: int, devices: int) -> float:
    """A run with its start and what is lost to failures, on machines that nobody reclaims."""
    work_s = run_time_s(job, step_s) + start_up_s(job)
    broken = interruptions(
        work_s=work_s,
        nodes=nodes,
        devices=devices,
        bytes_each=replace(setting, need=replace(setting.need, training=job)).checkpoint_bytes,
        spot=False,
        interval_s=setting.interval_s,
    )
    return work_s * broken.stretch


def _more_room(sizing: Sizing, rejection: Rejection) -> str:
    shape = _shape(sizing, rejection)
    if rejection.cause is not Cause.MEMORY or sizing.setting.catalog.accelerators[shape.accelerator].runtime == "tpu":
        return MORE_MEMORY
    within = sizing.need.deadline_s or math.inf
    ways = list(islice(_rooms(sizing, shape, within), WAYS))
    if not ways and within < math.inf and next(_rooms(sizing, shape, math.inf), ""):  # what holds it is too late
        return _more_time(sizing, rejection)
    return ", or ".join(ways) or "use a smaller model, or accelerators with more memory"


def _rooms(sizing: Sizing, shape: Shape, within_s: float) -> Iterator[str]:
    """Each way to make it fit and end in so many seconds, as it was laid out."""
    need, machine = _on(sizing, shape)
    job, most = need.training, _most(need, machine)
    assert job is not None  # noqa: S101 - asked only for training
    enough = _least(job, machine, [n for n in NODES if n > most], within_s)
    if enough:
        fewer = _fewer(sizing, need, machine, enough * machine.count, within_s)
        yield _allow(need, *(fewer or (machine, enough)))
    yield from _cheaper_methods(job, machine, most, within_s)
    if job.method not in ("lora", "qlora"):
        if job.optimizer == "adamw" and _least(replace(job, optimizer="adamw-8bit"), machine, [most], within_s):
            yield "use training.optimizer: adamw-8bit"
        hosted = replace(job, cpu_offload=True)
        there = machine_of(shape, machine.accelerator, (), replace(need, training=hosted))
        if not job.cpu_offload and not no_host_room(hosted, there, most) and _least(hosted, there, [most], within_s):
            yield "use training.offload: optimizer"
    if not enough and (larger := _larger(sizing, need, machine, within_s)):
        yield larger
    lengths = (job.sequence_length >> halved for halved in range(1, 6))
    fits = (n for n in lengths if n >= SHORTEST and _least(replace(job, sequence_length=n), machine, [most], within_s))
    if longest := next(fits, 0):
        yield f"shorten training.sequence_length to {longest}"
    split = replace(job, engine=SPLITS, engine_assumed=False, entry_script="")
    if job.sequence_length and job.engine != SPLITS and does(split) and _least(split, machine, [most], within_s):
        yield f"use engine: {SPLITS}, which divides a sequence over devices"


def _fewer(
    sizing: Sizing, need: Requirements, machine: Machine, devices: int, within_s: float
) -> tuple[Machine, int] | None:
    """Fewer of the same accelerators, in other machines, that do; only where their number is what is limited."""
    if need.devices is None or need.instance_types:
        return None
    catalog, on, stated = sizing.setting.catalog, sizing.setting.on, need.devices.high or 0
    alike = [
        shape
        for shape in catalog.shapes
        if shape.accelerator == machine.accelerator.key and stated < shape.accelerators < devices
    ]
    for shape in sorted(alike, key=lambda shape: shape.accelerators):
        if least_usd_here(shape, need, catalog, on) < math.inf:
            there, other = _on(sizing, shape)
            if there.training is not None and _least(there.training, other, [1], within_s):
                return other, 1
    return None


def _cheaper_methods(job: TrainingJob, machine: Machine, most: int, within_s: float) -> Iterator[str]:
    """The first method of fewer bytes a parameter that fits, as the spec spells it."""
    lora = replace(job, method="lora", lora_rank=job.lora_rank or 16, weights="")
    for adapted in (lora, replace(lora, method="qlora", weights="nf4")):
        narrow = adapted.method == "qlora"
        fewer = job.method not in ("lora", "qlora") or (job.method == "lora" and narrow)
        runs = does(adapted) and (machine.accelerator.runtime == "cuda" or not narrow)
        if fewer and runs and job.method != "pretrain" and _least(adapted, machine, [most], within_s):
            spelt = f"training.method: {adapted.method}"
            if job.preference:
                spelt = "training.lora: {rank: 16}" + (" and model.weights: nf4" if narrow else "")
            yield f"use {spelt}"
            return


def _larger(sizing: Sizing, need: Requirements, machine: Machine, within_s: float) -> str:
    """The least machine with more memory in all, and no less a device, that it fits on; "" where none is."""
    catalog, less = sizing.setting.catalog, machine.accelerator
    on = sizing.setting.on
    smallest: dict[tuple[int, int, str], Shape] = {}
    for shape in catalog.shapes:
        device = catalog.accelerators.get(shape.accelerator)
        if device is None or device.no_builds or device.runtime != less.runtime:
            continue
        memory = device.memory_bytes * shape.accelerators
        more = memory > 1.1 * less.memory_bytes * machine.count * _most(need, machine)
        if not more or device.memory_bytes < less.memory_bytes or "share" in device.key:
            continue
        if least_usd_here(shape, need, catalog, on) < math.inf:
            smallest.setdefault((memory, shape.accelerators, device.key), shape)
    for _, shape in sorted(smallest.items())[:LARGER]:
        there, one = _on(sizing, shape)
        if there.training is not None and _least(there.training, one, [1], within_s):
            return (
                f"name more or larger accelerators: resources: {{accelerators: {{{shape.accelerator}: {one.count}}}}}"
            )
    return ""


def _allow(need: Requirements, machine: Machine, nodes: int) -> str:
    if need.devices is not None:
        return f"allow {nodes * machine.count:,} {machine.accelerator.name} or more in resources.gpus"
    return f"allow {nodes:,} nodes of {machine.count} or more in resources.nodes"


def _shape(sizing: Sizing, rejection: Rejection) -> Shape:
    named = (rejection.cloud, rejection.instance_type)
    return next(s for s in sizing.setting.catalog.shapes if (s.cloud, s.instance_type) == named)


def _on(sizing: Sizing, shape: Shape) -> tuple[Requirements, Machine]:
    """What is needed on such machines, and one of them."""
    accelerator = sizing.setting.catalog.accelerators[shape.accelerator]
    need = sizing.need.on(accelerator.runtime)
    return need, machine_of(shape, accelerator, (), need)


def _most(need: Requirements, machine: Machine) -> int:
    asked = need.nodes_of(machine.count)
    return min(asked.high, machine.together_max) if asked and asked.high else machine.together_max


def does(job: TrainingJob) -> bool:
    """Whether the software that the job is for does its method."""
    software = SOFTWARE.get(job.engine)
    return software is None or job.method in software.methods


def _least(job: TrainingJob, machine: Machine, counts: Iterable[int], within_s: float = math.inf) -> int:
    """The fewest nodes of those counts that a layout of the job fits on and is done on in time; 0 where none does."""
    from sizewell.sizing.predict.layouts.search import LayoutRefusal, find_all

    tried = [n for n in counts if n <= machine.together_max]
    found = find_all(job, tuple(machine.cluster(n) for n in tried), best=1) if tried else ()
    for n, answer in zip(tried, found, strict=True):
        if isinstance(answer, LayoutRefusal):
            continue
        run_s = run_time_s(job, answer[0].step_s) + start_up_s(job)
        if within_s == math.inf or MARGIN * run_s <= within_s:
            return n
    return 0
