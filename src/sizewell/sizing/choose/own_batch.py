"""A batch that the spec leaves to Sizewell grows before it refuses machines: more devices have work of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sizewell.sizing.choose.candidates import Cause
from sizewell.sizing.choose.requirements import OWN_BATCH
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from sizewell.sizing.choose.choice import Sizing
    from sizewell.sizing.choose.setting import Setting

# Llama 3 405B went from 4M to 16M tokens a step (arXiv 2407.21783, section 3.4.1). How far a fine-tune may go is an
# estimate: 512 samples a step.
GROWS: Final = {"training": (2, 4), "fine-tuning": (2, 4, 8)}
WORTH: Final = 0.9  # of what a smaller batch costs, from which on one twice as large is taken


def grown(sizing: Sizing, size: Callable[[Setting], Sizing]) -> Sizing:
    """The sizing with the least of the larger batches that something does the work with, or with one that costs clearly
    less still; as it is where none helps.
    """
    need, run = sizing.need, sizing.spec.training
    job, pool = need.training, {r.cause for r in sizing.rejections}
    if job is None or run is None or run.global_batch is not None or not pool & {Cause.TOO_SLOW, Cause.LAYOUT}:
        return sizing
    better = sizing
    for times in GROWS.get(need.kind, ()):
        batch = times * job.global_batch
        if job.samples is not None and batch > job.samples:
            break
        said = f"{plural(batch, 'sample')} per step {OWN_BATCH}: with {job.global_batch}, as is usual, nothing fits"
        notes = tuple(said if OWN_BATCH in note else note for note in need.assumptions)
        larger = replace(need, training=replace(job, global_batch=batch), assumptions=notes)
        tried = size(replace(sizing.setting, need=larger))
        chosen, before = tried.best(), better.best()
        if chosen is None:
            continue
        if before is not None and chosen.total_usd > WORTH * before.total_usd:
            break
        better = tried
    return better
