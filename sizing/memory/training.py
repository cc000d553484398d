"""Peak memory of a training step on the fullest device: model states, activations, loss, buffers, context.

Two moments compete for the peak: the start of the backward pass (all kept activations and the logits, gradients not
there yet unless they are accumulated) and its end (all gradients, almost no activations).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sizing.architecture import (
    assumptions,
    embedding_params,
    forward_flop_per_sample,
    is_guess,
    output_params,
    params_total,
)
from sizing.catalog.records import Accelerator
from sizing.errors import Fault, SpecError
from sizing.jobs import Grade, Layout, MemoryEstimate, TrainingJob
from sizing.memory.activations import loss_bytes_per_token, stage_activations, value_bytes
from sizing.memory.constants import constants
from sizing.memory.states import (
    MEGATRON,
    QUANTISES_HEAD,
    ModelStates,
    largest_matrix,
    largest_quantised,
    layer_params,
    micro_batches,
    peak_stages,
    recipe,
    stage_states,
    stages,
)

# Estimate: 16-bit activations of a model without layers to count are FLOPs x this / sqrt(parameters): wider models do
# more FLOPs per value kept. ResNet-50 (8.2 GFLOP, 25.6 M parameters) keeps about 56 MB per image: 256 images train on a
# 16 GB V100 (NVIDIA DeepLearningExamples).
_BYTES_PER_FLOP = 35.0
OPTIMIZER_IN_PLACE = MEGATRON - {"megatron-deepspeed"}  # gathers weights and reduces gradients in their own buffers
_BUCKET_VALUES = 5e8  # DeepSpeed's default reduce and gather bucket


Items = Mapping[str, float]  # bytes by cause


def training_memory(
    job: TrainingJob, layout: Layout, accelerator: Accelerator, *, work: Sequence[Items] | None = None
) -> MemoryEstimate:
    """Peak bytes per device of `job` split by `layout`; the worst pipeline stage counts.

    `work` is `work_items(job, layout)` where the caller has it, for other devices. Raises SpecError for an unknown
    optimizer or precision and for negative or missing tokens.
    """
    _check(job, layout)
    items = _fullest(layout, accelerator, work_items(job, layout) if work is None else work)
    breakdown = tuple([(name, round(size)) for name, size in items.items() if size >= 1])
    total = sum([size for _, size in breakdown])
    low, high, grade = edges(job, accelerator)
    return MemoryEstimate(
        breakdown=breakdown,
        low_bytes=round(total * low),
        high_bytes=round(total * high),
        grade=grade,
        assumptions=tuple(_assumptions(job, layout)),
    )


def peak_bytes(layout: Layout, accelerator: Accelerator, work: Sequence[Items]) -> int:
    """`total_bytes` of `training_memory` alone, for a search that asks for thousands."""
    return sum([round(size) for size in _fullest(layout, accelerator, work).values() if size >= 1])


def _fullest(layout: Layout, accelerator: Accelerator, work: Sequence[Items]) -> Items:
    runtime = _runtime_items(layout, accelerator)
    candidates = [{**found, **runtime} for found in work]
    return candidates[0] if len(candidates) == 1 else max(candidates, key=lambda found: sum(found.values()))


def edges(job: TrainingJob, accelerator: Accelerator) -> tuple[float, float, Grade]:
    """The factors of the 80 % band on what is expected, and the grade."""
    low, high = constants().bands[_group(job)]
    measured = accelerator.runtime == "cuda" and not job.architecture.experts and job.framework != "jax"
    measured = measured and not is_guess(job.architecture)
    if not measured:  # no peak of this kind was published: twice as wide, in the logarithm
        low, high = low**2, high**2
    return low, high, "calibrated" if measured and job.architecture.layers else "roofline"


def model_states(job: TrainingJob, layout: Layout) -> ModelStates:
    """Weights, gradients and optimizer state of the fullest device."""
    return max(
        (stage_states(job, layout, stage) for stage in peak_stages(job.architecture, layout)),
        key=lambda states: states.total,
    )


def _check(job: TrainingJob, layout: Layout) -> None:
    faults = []
    if job.architecture.kind in ("decoder", "encoder") and job.sequence_length < 1:
        faults.append(Fault(path="training.sequence_length", found=job.sequence_length, allowed="1 or more"))
    limit = job.architecture.max_sequence_length
    if limit and job.sequence_length > limit and job.architecture.learned_positions:
        faults.append(
            Fault(
                path="training.sequence_length",
                found=job.sequence_length,
                allowed=f"at most {limit}, the positions learned",
            )
        )
    if layout.micro_batch < 1:
        faults.append(Fault(path="layout.micro_batch", found=layout.micro_batch, allowed="1 or more"))
    if faults:
        raise SpecError(faults, subject=job.architecture.key)


def _group(job: TrainingJob) -> str:
    if job.method in ("lora", "qlora"):
        return "adapters"
    return "training" if job.architecture.layers else "vision"


def work_items(job: TrainingJob, layout: Layout) -> tuple[Items, ...]:
    """What the work itself keeps, the same on every device, for each stage that may be the fullest."""
    return tuple([_stage_items(job, layout, stage) for stage in peak_stages(job.architecture, layout)])


def _runtime_items(layout: Layout, accelerator: Accelerator) -> dict[str, float]:
    """What the driver and the communication library keep beside it."""
    fitted = constants()
    groups = (layout.tensor > 1) + (layout.pipeline > 1) + (layout.context > 1) + (layout.data > 1)
    return {
        "communicators": 0.0 if accelerator.runtime == "tpu" else fitted.collective_bytes * groups,
        "context": fitted.context_bytes.get(accelerator.runtime, fitted.context_bytes["other"]),
    }


def _stage_items(job: TrainingJob, layout: Layout, stage: int) -> dict[str, float]:
    states = stage_states(job, layout, stage)
    kept, working, loss = _activation_bytes(job, layout, stage)
    buffers = _buffer_bytes(job, layout, states)
    accumulated = _gradients_stay(job, layout)
    present = states.gradients if accumulated else min(states.gradients, _head_gradient_bytes(job, layout))
    early = kept + max(loss, working) + present
    late = working + states.gradients
    if job.optimizer_in_backward:
        present = min(states.gradients, _head_gradient_bytes(job, layout))
        early, late = kept + max(loss, working) + present, working + 2.0 * largest_matrix(job.architecture, layout)
    items = {
        "weights": states.weights,
        "adapters": states.adapters,
        "optimizer": states.optimizer,
    }
    if early >= late:
        at_loss = loss >= working
        items |= {
            "gradients": present,
            "activations": kept if at_loss else kept + working,
            "logits and loss": loss if at_loss else 0.0,
        }
    else:
        items |= {"gradients": late - working, "activations": working, "logits and loss": 0.0}
    items["buffers"] = buffers
    planned = job.framework == "jax"  # XLA plans memory before it runs
    dynamic = items["activations"] + items["logits and loss"] + buffers
    items["allocator"] = 0.0 if planned else constants().caching * dynamic
    return items


def _gradients_stay(job: TrainingJob, layout: Layout) -> bool:
    """Whether gradients exist throughout the step: accumulated over micro-batches or in a buffer of their own."""
    if job.method in ("lora", "qlora"):
        return True  # small, and allocated between activations: what they free is not reused
    return micro_batches(job, layout) > 1 or job.engine in MEGATRON or layout.pipeline > 1 or layout.zero_stage >= 3


def _head_gradient_bytes(job: TrainingJob, layout: Layout) -> float:
    """The gradient of the output matrix: the first that the backward pass makes, with every activation still there."""
    a = job.architecture
    return recipe(job, layout).gradients * a.vocab * a.hidden / layout.tensor if a.kind == "decoder" else 0.0


def _activation_bytes(job: TrainingJob, layout: Layout, stage: int) -> tuple[float, float, float]:
    """(kept, working, loss) bytes of a stage, micro-batches in flight counted."""
    a = job.architecture
    last = stage == layout.pipeline - 1
    if not a.layers:
        per_flop = _BYTES_PER_FLOP / max(1.0, params_total(a)) ** 0.5 * value_bytes(job) / 2
        kept = forward_flop_per_sample(a) * layout.micro_batch * per_flop / layout.tensor
        kept *= {"none": 1.0, "selective": 0.5, "full": 0.2}[job.checkpointing or layout.checkpointing]
        return kept, kept * 0.05, 0.0
    tokens = layout.micro_batch * (job.sequence_length or _patches(job)) / layout.context
    kept, working = stage_activations(job, layout, stages(a, layout)[stage])
    if layout.pipeline > 1 and not last:  # what was sent on is kept until its gradient comes back
        kept += a.hidden * value_bytes(job) / (layout.tensor if layout.sequence_parallel else 1)
    in_flight = _in_flight(job, layout, stage)
    loss = loss_bytes_per_token(job, layout) * tokens if last else 0.0
    return kept * tokens * in_flight, working * tokens, loss


def _patches(job: TrainingJob) -> int:
    return max(1, (job.architecture.resolution // 16) ** 2 + 1)


def _in_flight(job: TrainingJob, layout: Layout, stage: int) -> float:
    """Micro-batches whose activations a stage holds under 1F1B (Narayanan et al. 2021); interleaving adds a share."""
    depth = float(
        min(layout.pipeline - stage, micro_batches(job, layout)) if job.global_batch > 1 else layout.pipeline - stage
    )
    if layout.virtual_pipeline > 1 and layout.pipeline > 1:
        depth *= 1 + (layout.pipeline - 1) / (layout.pipeline * layout.virtual_pipeline)
    return depth


def _buffer_bytes(job: TrainingJob, layout: Layout, held: ModelStates) -> float:
    """Gathered layers, gradient buckets, dequantised matrices and casts."""
    a = job.architecture
    per = recipe(job, layout)
    frozen = job.method in ("lora", "qlora")
    buffers = 0.0
    layer = layer_params(a, layout)
    table = max(embedding_params(a), output_params(a)) / layout.tensor
    if layout.zero_stage >= 3 and job.framework == "jax":  # XLA gathers a matrix at a time, this one and the next
        matrix = largest_matrix(a, layout) if not a.experts else a.experts * a.hidden * a.expert_ffn / layout.tensor
        buffers += (2 * 2.0 + 2.0) * matrix / (layout.expert if a.experts else 1)
    elif layout.zero_stage >= 3 and layout.data * layout.context > 1:
        unit = per.weights if frozen and per.weights < 2 else 2.0
        buffers += 2 * unit * layer + 2.0 * 2 * table  # this layer, the next, and the root's tables
        if not frozen:
            buffers += per.gradients * max(layer, table)  # gradients of one unit before they are scattered
    elif layout.zero_stage >= 1 and layout.data > 1 and not frozen and job.engine not in OPTIMIZER_IN_PLACE:
        buffers += 2 * 2.0 * min(_BUCKET_VALUES, held.weights / per.weights) + held.optimizer / 3
    elif layout.data > 1 and not frozen and job.engine not in MEGATRON and job.framework == "pytorch":
        buffers += held.gradients  # DDP's buckets are a second copy
    if per.gathered and layout.zero_stage < 3:  # autocast keeps its 16-bit copies until the backward pass
        buffers += per.gathered * held.weights / per.weights
    if frozen and per.weights < 2.0:  # a matrix as dequantised, forward or backward, and its transpose
        buffers += 2 * 2.0 * largest_quantised(a, layout, head=job.engine in QUANTISES_HEAD)
    return buffers


def _assumptions(job: TrainingJob, layout: Layout) -> list[str]:
    found = list(assumptions(job.architecture))
    if job.checkpointing is None and layout.checkpointing == "none":
        found.append("no activation checkpointing")
    if not job.architecture.layers:
        found.append("activations estimated from FLOPs, as the layers are not known")
    return found
