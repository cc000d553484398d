"""What no device does faster: a measurement below it is of other weights, of cached prompts or of another machine.

Bounds, not predictions: reading once the weights that one token uses, and a prompt's FLOPs at the peak of all devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sizewell.sizing.errors import Fault
from sizewell.sizing.predict.architecture import matmul_params
from sizewell.sizing.predict.performance.serving_replica import BYTES, peak_flop_per_s, replica, weight_counts
from sizewell.sizing.units import short_duration

if TYPE_CHECKING:
    from sizewell.sizing.records.jobs import Cluster, ServingJob
    from sizewell.sizing.workload.measured import Measured

MUCH: Final = 0.5  # of the bound: medians of lengths that spread widely are below their means


def read_bytes(job: ServingJob) -> float:
    """The weights that one token uses."""
    counts, model = weight_counts(job.architecture), job.architecture
    touched = counts.dense + counts.experts * (model.experts_per_token / model.experts if model.experts else 0.0)
    return touched * BYTES.get(job.weights, 2.0)


def prompt_flop(job: ServingJob) -> float:
    return 2.0 * matmul_params(job.architecture) * job.input_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Fastest:
    """The least seconds of a step and of reading a prompt on the devices of a replica, each with its figures."""

    step_s: float
    prompt_s: float
    step_says: str
    prompt_says: str
    steps: float  # the least factors of what is predicted of both
    prompts: float


def fastest(job: ServingJob, cluster: Cluster, *, tensor: int) -> Fastest:
    accelerator, on = cluster.accelerator, f"{tensor} x {cluster.accelerator.key}"
    read, flop = read_bytes(job), prompt_flop(job) * (1.0 - job.prefix)
    peak = tensor * peak_flop_per_s(accelerator, job.weights)
    step_s, prompt_s = read / (tensor * accelerator.memory_bytes_per_s), flop / peak if peak else 0.0
    of = replica(job, cluster, tensor=tensor)
    return Fastest(
        step_s=step_s,
        prompt_s=prompt_s,
        step_says=f"reading the {read / 1e9:,.1f} GB of weights in {job.weights} that a token uses takes "
        f"{short_duration(step_s)} on {on}",
        prompt_says=f"the {flop / 1e12:,.0f} TFLOP of a prompt take {short_duration(prompt_s)} at the peak of {on}",
        steps=step_s / of.decode_step_s(1, job.input_tokens),
        prompts=prompt_s / of.prompt_s(job.input_tokens * (1.0 - job.prefix)),
    )


def faults(run: Measured, job: ServingJob, least: Fastest) -> list[Fault]:
    """What was measured that the replica cannot do."""
    drafted = job.speculation is None and bool(run.drafts)  # of how many tokens is not known
    at_once = 1 + (job.speculation.tokens if job.speculation else 0)
    found = []
    for figure, name in (("tpot", "each token"), ("itl", "each token")):
        statistics = run.seconds.get(figure, {})
        # Several tokens may come in one piece: of the time between pieces the mean alone says what a token takes.
        seconds = [s for key, s in statistics.items() if key == "mean" or (figure == "tpot" and key == run.center)]
        if not drafted and seconds and min(seconds) * at_once < least.step_s:
            found.append(f"{name} after {short_duration(min(seconds))}, where {least.step_says}")
    first = run.seconds.get("ttft", {})
    first_s = first.get("mean", first[run.center] / MUCH if run.center in first else least.prompt_s)
    if first_s < least.prompt_s:
        found.append(f"the first token after {short_duration(min(first.values()))}, where {least.prompt_says}")
    if not found:
        return []
    fix = "correct model.weights or the machine (running, in a file with workload) to those that were measured"
    if first_s < least.prompt_s:
        fix += "; where the cache held the prompts, measure with prompts of their own"
    message = f"is faster than the machine can be: {'; '.join(dict.fromkeys(found))}"
    return [Fault(path=run.source, message=message, fix=fix)]
