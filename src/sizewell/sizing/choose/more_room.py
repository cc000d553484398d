"""How much more a training run needs that memory refuses, found by laying it out: what is advised then works."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sizewell.sizing.choose.candidates import Cause, Rejection, machine_of
from sizewell.sizing.choose.fleets_training import MORE_MEMORY
from sizewell.sizing.workload.software import SOFTWARE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.choose.fleet import Machine
    from sizewell.sizing.records.jobs import TrainingJob

NODES: Final = tuple(1 << power for power in range(8))
SPLITS: Final = "nemo"  # software that divides a sequence over devices (context parallelism)


def with_ways(sizing: Sizing, nearest: Iterable[Rejection]) -> list[Rejection]:
    """The rejections, those for want of memory with how many devices of the kind would do, or with what else would."""
    return [replace(r, relax=_more_room(sizing, r)) if r.relax == MORE_MEMORY else r for r in nearest]


def _more_room(sizing: Sizing, rejection: Rejection) -> str:
    catalog = sizing.setting.catalog
    shapes = {(shape.cloud, shape.instance_type): shape for shape in catalog.shapes}
    shape = shapes[rejection.cloud, rejection.instance_type]
    accelerator = catalog.accelerators[shape.accelerator]
    need = sizing.need.on(accelerator.runtime)
    machine = machine_of(shape, accelerator, (), need)
    if rejection.cause is not Cause.MEMORY or need.training is None or accelerator.runtime == "tpu":
        return MORE_MEMORY
    job, asked, ways = need.training, need.nodes_of(machine.count), []
    most = asked.high if asked and asked.high else machine.together_max
    if enough := _least(job, machine, [n for n in NODES if n > most]):
        ways.append(
            f"allow {enough * machine.count:,} {accelerator.name} or more in resources.gpus"
            if need.devices is not None
            else f"allow {enough:,} nodes of {machine.count} or more in resources.nodes"
        )
    adapted = (replace(job, method=method, lora_rank=16, weights="") for method in ("lora", "qlora"))
    if job.method == "full" and not job.preference:
        fits = (each.method for each in adapted if _runs(each) and _least(each, machine, [most]))
        ways += [f"use training.method: {method}" for method in fits][:1]
    if not enough and job.sequence_length and job.engine != SPLITS:
        ways.append("shorten training.sequence_length")
        split = replace(job, engine=SPLITS, engine_assumed=False, entry_script="")
        if _runs(split) and _least(split, machine, [most]):
            ways.append(f"use engine: {SPLITS}, which divides a sequence over devices")
    return ", or ".join(ways) or "allow accelerators with more memory in resources"


def _runs(job: TrainingJob) -> bool:
    """Whether the software that the job is for does its method."""
    software = SOFTWARE.get(job.engine)
    return software is None or job.method in software.methods


def _least(job: TrainingJob, machine: Machine, counts: Iterable[int]) -> int:
    """The fewest nodes of those counts that a layout of the job fits on; 0 where none does."""
    from sizewell.sizing.predict.layouts.search import LayoutRefusal, find_all

    tried = [n for n in counts if n <= machine.together_max]
    found = find_all(job, tuple(machine.cluster(n) for n in tried), best=1) if tried else ()
    return next((n for n, answer in zip(tried, found, strict=True) if not isinstance(answer, LayoutRefusal)), 0)
