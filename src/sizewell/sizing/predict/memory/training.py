"""Peak memory of a training step on the fullest device: model states, activations, loss, buffers, context.

Two moments compete for the peak: the start of the backward pass (all kept activations and the logits, gradients not
there yet unless they are accumulated) and its end (all gradients, almost no activations).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import (
    assumptions,
    embedding_params,
    forward_flop_per_sample,
    is_guess,
    output_params,
)
from sizewell.sizing.predict.memory.activations import (
    LOSS_FORWARD,
    counted_activations,
    live_bytes_per_flop,
    loss_bytes_per_token,
    loss_bytes_per_value,
    modes,
    stage_activations,
    tiled_loss_bytes,
    tiles_loss,
    value_bytes,
)
from sizewell.sizing.predict.memory.columns import Column, Layouts, Stages, fullest_stages
from sizewell.sizing.predict.memory.constants import constants
from sizewell.sizing.predict.memory.states import (
    BUCKET_VALUES,
    FLATTENS,
    MEGATRON,
    QUANTISES_HEAD,
    TRAINER,
    ModelStates,
    expert_split,
    largest_matrix,
    largest_quantised,
    layer_params,
    micro_batches,
    recipes,
    stage_states,
    step_bytes,
    stream_is_wide,
)
from sizewell.sizing.predict.numeric import np
from sizewell.sizing.predict.software import measured_as, software_with
from sizewell.sizing.records.jobs import Grade, Layout, MemoryEstimate, TrainingJob
from sizewell.sizing.units import GIB

OPTIMIZER_IN_PLACE = software_with("optimizer-in-place")


def training_memory(job: TrainingJob, layout: Layout, accelerator: Accelerator) -> MemoryEstimate:
    """Peak bytes per device of `job` split by `layout`; the worst pipeline stage counts.

    Raises SpecError for an unknown optimizer or precision and for negative or missing tokens.
    """
    return training_memories(job, [layout], [accelerator])[0]


def training_memories(
    job: TrainingJob, layouts: Sequence[Layout], accelerators: Sequence[Accelerator]
) -> list[MemoryEstimate]:
    """`training_memory` of each layout on the accelerator beside it."""
    for layout in layouts:
        _check(job, layout)
    items = _fullest(job, Layouts.of(layouts), _runtimes(accelerators))
    table = np.stack(np.broadcast_arrays(*items.values()))
    memories = []
    for layout, accelerator, sizes in zip(layouts, accelerators, table.T.tolist(), strict=True):
        breakdown = tuple([(name, round(size)) for name, size in zip(items, sizes, strict=True) if size >= 1])
        total = sum([size for _, size in breakdown])
        low, high, grade = edges(job, accelerator)
        memories.append(
            MemoryEstimate(
                breakdown=breakdown,
                low_bytes=round(total * low),
                high_bytes=round(total * high),
                grade=grade,
                assumptions=tuple(_assumptions(job, layout, accelerator)),
            )
        )
    return memories


def peak_bytes(job: TrainingJob, layouts: Layouts, runtimes: Runtimes) -> Column:
    """`total_bytes` of `training_memory` alone, for a search that asks for thousands."""
    sizes = _fullest(job, layouts, runtimes).values()
    return np.asarray(sum(np.where(size >= 1, np.rint(size), 0.0) for size in sizes))


def _fullest(job: TrainingJob, layouts: Layouts, runtimes: Runtimes) -> Mapping[str, Column]:
    """Bytes by cause, of the stage that needs most of each layout."""
    runtime = _runtime_items(layouts, runtimes, alone=job.engine in FLATTENS)
    first, *others = [
        _stage_items(job, layouts, stage) | runtime for stage in fullest_stages(job.architecture, layouts)
    ]
    for items in others:
        more = sum(items.values()) > sum(first.values())
        first = {name: np.where(more, items[name], size) for name, size in first.items()}
    return first


def edges(job: TrainingJob, accelerator: Accelerator) -> tuple[float, float, Grade]:
    """The factors of the 80 % band on what is expected, and the grade."""
    low, high = band(job)
    plain = not _unmeasured_kind(job, accelerator)
    if not plain:  # no peak of this kind was published: twice as wide, in the logarithm
        low, high = low**2, high**2
    measured = plain and job.architecture.layers and not _unmeasured_software(job)
    return low, high, "calibrated" if measured else "roofline"


def band(job: TrainingJob) -> tuple[float, float]:
    """The factors that hold 80 % of the measured peaks: of the same software where enough of it were measured, of its
    kind of work where some were, else of the software whose peaks are predicted worst.
    """
    if job.engine_assumed:
        return constants().bands_assumed[band_group(job)]
    known, (own, kind) = constants().bands, band_groups(job)
    return known.get(own) or known[unmeasured(kind) if _unmeasured_software(job) else kind]


def unmeasured(kind: str) -> str:
    """The group of software of which no peak was measured, for a kind of work."""
    return f"{kind}/not measured"


def _unmeasured_software(job: TrainingJob) -> bool:
    own, kind = band_groups(job)
    measured = constants().measured
    return not job.engine_assumed and kind in measured and own not in measured


def _unmeasured_kind(job: TrainingJob, accelerator: Accelerator) -> str:
    """What of the job no peak was published of, in words; "" where that is nothing."""
    if accelerator.runtime != "cuda":
        return accelerator.runtime
    if job.framework == "jax":
        return "JAX"
    if job.architecture.experts:
        return "mixtures of experts"
    return "this model, whose shape is a guess" if is_guess(job.architecture) else ""


def model_states(job: TrainingJob, layout: Layout) -> ModelStates:
    """Weights, gradients and optimizer state of the fullest device."""
    layouts = Layouts.of([layout])
    by_stage = [stage_states(job, layouts, stage) for stage in fullest_stages(job.architecture, layouts)]
    fullest = max(by_stage, key=lambda states: float(states.total[0]))
    kept = (fullest.weights, fullest.adapters, fullest.gradients, fullest.optimizer)
    weights, adapters, gradients, optimizer = (float(size[0]) for size in kept)
    return ModelStates(weights=weights, adapters=adapters, gradients=gradients, optimizer=optimizer)


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


def band_groups(job: TrainingJob) -> tuple[str, str]:
    """The groups whose errors may make the band: the software's own, and its kind of work."""
    kind = band_group(job)
    return f"{kind}/{measured_as(job.engine)}", kind


def band_group(job: TrainingJob) -> str:
    """The kind of work whose peaks are alike."""
    if job.method in ("lora", "qlora"):
        return "adapters-narrow" if job.method == "qlora" else "adapters"
    return "training" if job.architecture.layers else "vision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtimes:
    """What devices of a runtime add, one entry per row or one for all: context, and communicators per group."""

    context_bytes: Any
    collective_bytes: Any

    @staticmethod
    def of(runtime: str) -> Runtimes:
        fitted = constants()
        return Runtimes(
            context_bytes=fitted.training_context_bytes
            if runtime == "cuda"
            else fitted.context_bytes.get(runtime, fitted.context_bytes["other"]),
            collective_bytes=0.0 if runtime == "tpu" else fitted.collective_bytes,
        )


def _runtimes(accelerators: Sequence[Accelerator]) -> Runtimes:
    every = [Runtimes.of(accelerator.runtime) for accelerator in accelerators]
    return Runtimes(
        context_bytes=np.array([runtime.context_bytes for runtime in every]),
        collective_bytes=np.array([runtime.collective_bytes for runtime in every]),
    )


def _runtime_items(layouts: Layouts, runtimes: Runtimes, *, alone: bool) -> dict[str, Column]:
    """What the driver and the communication library keep beside the work; the latter also where a device is `alone`
    and the software makes its group all the same.
    """
    kinds = (layouts.tensor, layouts.pipeline, layouts.context, layouts.data)
    groups = np.maximum(float(alone), sum((size > 1).astype(np.float64) for size in kinds))
    return {"communicators": runtimes.collective_bytes * groups, "context": runtimes.context_bytes + 0.0 * groups}


def _stage_items(job: TrainingJob, layouts: Layouts, stage: Stages) -> dict[str, Column]:
    states = stage_states(job, layouts, stage)
    kept, working, loss = _activation_bytes(job, layouts, stage)
    buffers = _buffer_bytes(job, layouts, states)
    of_head = np.minimum(states.gradients, _head_gradient_bytes(job, layouts))
    if job.optimizer_in_backward:
        present, late = of_head, working + 2.0 * (largest_matrix(job.architecture) / layouts.tensor)
    else:
        present = np.where(_gradients_stay(job, layouts), states.gradients, of_head)
        late = working + states.gradients + _table_gradient_bytes(job, layouts, working)
    copies, copies_late = _cast_bytes(job, layouts, states, loss, present)
    early = kept + np.maximum(loss, working) + present + copies
    late = late + copies_late
    made = 0.0 * states.gradients if job.optimizer_in_backward else step_bytes(job, layouts, states)
    step = np.where(made > 0, states.gradients + made, 0.0)
    steps = step > np.maximum(early, late)  # which moment: the optimizer's step, or one of the backward pass,
    starts, at_loss = (early >= late) & ~steps, loss >= working  # and what is on top of what is kept
    items = {
        "weights": states.weights,
        "adapters": states.adapters,
        "reference model": states.reference,
        "optimizer": states.optimizer,
        "gradients": np.where(steps, states.gradients, np.where(starts, present, late - working - copies_late)),
        "activations": np.where(steps, 0.0, np.where(starts, np.where(at_loss, kept, kept + working), working)),
        "logits and loss": np.where(starts & at_loss, loss, 0.0),
        "buffers": buffers + np.where(steps, made, np.where(starts, copies, copies_late)),
    }
    planned = job.framework == "jax"  # XLA plans memory before it runs
    dynamic = items["activations"] + items["logits and loss"] + buffers
    items["allocator"] = 0.0 * dynamic if planned else constants().caching * dynamic
    largest = np.maximum(step, np.maximum(early, late))
    if job.engine in FLATTENS:  # blocks of the gradients that were flattened; several devices reduce them by buckets
        whole = (layouts.zero_stage >= 1) & (layouts.data <= 1)
        blocks = np.where(whole, step + states.gradients, 0.0)
        items["allocator"] = items["allocator"] + np.maximum(0.0, blocks - largest)
    if job.engine in TRAINER:
        # Blocks of the logits are the largest; what a layer's backward pass and the step take lies in others.
        blocks = loss + working + np.maximum(kept, step)
        items["allocator"] = items["allocator"] + np.maximum(0.0, blocks - largest)
    return items


def _gradients_stay(job: TrainingJob, layouts: Layouts) -> Any:
    """Whether gradients exist throughout the step: accumulated over micro-batches or in a buffer of their own."""
    if job.method in ("lora", "qlora") or job.engine in MEGATRON:
        return True  # adapters' are small, and allocated between activations: what they free is not reused
    return (micro_batches(job, layouts) > 1) | (layouts.pipeline > 1) | (layouts.zero_stage >= 3)


def _head_gradient_bytes(job: TrainingJob, layouts: Layouts) -> Any:
    """The gradient of the output matrix: the first that the backward pass makes, with every activation still there."""
    model = job.architecture
    if model.kind != "decoder" or job.scored:
        return 0.0
    return recipes(job, layouts).gradients * model.vocab * model.hidden / layouts.tensor


def _table_gradient_bytes(job: TrainingJob, layouts: Layouts, working: Column) -> Any:
    """What a tied table's lookup adds at the end of the backward pass: a gradient of its own, before it is summed with
    the one of the output, which exists since the start. Where there is no output, the table's only gradient comes after
    what the first layer needs is gone.
    """
    model = job.architecture
    buffered = job.engine in MEGATRON or job.framework == "jax" or job.method in ("lora", "qlora")
    if not model.tied_embeddings or model.kind != "decoder" or buffered:
        return 0.0
    of_table = recipes(job, layouts).gradients * model.vocab * model.hidden / layouts.tensor
    return np.where(layouts.pipeline > 1, 0.0, -np.minimum(of_table, working) if job.scored else of_table)


def _activation_bytes(job: TrainingJob, layouts: Layouts, stage: Stages) -> tuple[Column, Column, Column]:
    """(kept, working, loss) bytes of a stage, micro-batches in flight counted."""
    model = job.architecture
    if not model.layers:
        per_flop = live_bytes_per_flop(model) * value_bytes(job) / 2
        kept = forward_flop_per_sample(model) * layouts.micro_batch * per_flop / layouts.tensor
        kept = kept * np.choose((2 * modes(job, layouts)).astype(np.intp), (1.0, 0.5, 0.2))
        return kept, kept * (0.0 if model.key in counted_activations() else 0.05), 0.0 * kept
    tokens = layouts.micro_batch * (job.sequence_length or _patches(job)) / layouts.context
    kept, working = stage_activations(job, layouts, stage)
    # What was sent on is kept until its gradient comes back.
    sent = model.hidden * value_bytes(job) / np.where(layouts.sequence_parallel > 0, layouts.tensor, 1.0)
    kept = kept + np.where((layouts.pipeline > 1) & ~stage.last, sent, 0.0)
    written = loss_bytes_per_token(job) / layouts.tensor * tokens
    if tiles_loss(job):
        written = written + tiled_loss_bytes(job, layouts, tokens)
    loss = np.where(stage.last, 0.0 if job.scored else written, 0.0)
    return kept * tokens * _in_flight(job, layouts, stage), working * tokens, loss


def _patches(job: TrainingJob) -> int:
    return max(1, (job.architecture.resolution // 16) ** 2 + 1)


def _in_flight(job: TrainingJob, layouts: Layouts, stage: Stages) -> Column:
    """Micro-batches whose activations a stage holds under 1F1B (Narayanan et al. 2021), where interleaving adds a
    share; all of a step under GPipe (Huang et al. 2019).
    """
    pipeline, virtual = layouts.pipeline, layouts.virtual_pipeline
    depth = pipeline - stage.number
    if job.global_batch > 1:
        depth = np.minimum(depth, micro_batches(job, layouts))
    share = np.where((virtual > 1) & (pipeline > 1), 1 + (pipeline - 1) / (pipeline * virtual), 1.0)
    every = ((layouts.all_forward > 0) | (job.pipeline_schedule == "gpipe")) & (pipeline > 1)
    return np.asarray(np.where(every, micro_batches(job, layouts), depth * share))


def _buffer_bytes(job: TrainingJob, layouts: Layouts, held: ModelStates) -> Column:
    """Gathered layers, gradient buckets, dequantised matrices and casts."""
    model, per, zero = job.architecture, recipes(job, layouts), layouts.zero_stage
    frozen = job.method in ("lora", "qlora")
    layer = layer_params(model, layouts)
    table = max(embedding_params(model), output_params(model)) / layouts.tensor
    gathers = zero >= 3
    if job.framework == "jax":  # XLA gathers a matrix at a time, this one and the next
        routed = model.experts * model.hidden * model.expert_ffn
        matrix = routed / expert_split(layouts) if routed else largest_matrix(model) / layouts.tensor
        gathered = (2 * 2.0 + 2.0) * matrix
    else:
        gathers = gathers & (layouts.data * layouts.context > 1)
        unit = per.weights if frozen and per.weights < 2 else 2.0
        gathered = 2 * unit * layer + 2.0 * 2 * table  # this layer, the next, and the root's tables
        if not frozen:
            gathered = gathered + per.gradients * np.maximum(layer, table)  # of one unit before they are scattered
    beside = 0.0 * layer
    if not frozen and job.engine not in MEGATRON and job.framework == "pytorch":
        beside = np.where(layouts.data > 1, held.gradients, 0.0)  # DDP's buckets are a second copy
    if not frozen and job.engine not in OPTIMIZER_IN_PLACE:
        buckets = 2 * 2.0 * np.minimum(BUCKET_VALUES, held.weights / per.weights)
        buckets = buckets + (0.0 if job.engine in FLATTENS else held.optimizer / 3)  # which is its step's alone
        beside = np.where((zero >= 1) & (layouts.data > 1), buckets, beside)
    buffers = np.where(gathers, gathered, beside)
    if frozen and per.weights < 2.0:  # a matrix as dequantised, forward or backward, and its transpose
        buffers = buffers + 2 * 2.0 * (largest_quantised(model, head=job.engine in QUANTISES_HEAD) / layouts.tensor)
    if stream_is_wide(job):  # the head is in fp32, and what autocast makes of it for the product
        buffers = buffers + 2.0 * (output_params(model) or embedding_params(model)) / layouts.tensor
    return np.asarray(buffers)


def _cast_bytes(
    job: TrainingJob, layouts: Layouts, held: ModelStates, loss: Column, present: Column
) -> tuple[Column, Column]:
    """Autocast's 16-bit copies of the weights at the start and at the end of the backward pass.

    Autograd keeps them until a layer is done, unless what made them is computed again: then they go with the forward
    pass, whose end has all of them, less of the `loss` and no gradient that is `present` later.
    """
    model, per = job.architecture, recipes(job, layouts)
    copies = np.where(layouts.zero_stage < 3, per.gathered * held.weights / per.weights, 0.0)
    table = max(embedding_params(model), output_params(model)) / layouts.tensor
    one = np.minimum(copies, per.gathered * np.maximum(layer_params(model, layouts), table))
    backward = np.maximum(0.0, 1.0 - LOSS_FORWARD / max(1.0, loss_bytes_per_value(job))) * loss
    return np.where(modes(job, layouts) >= 1.0, np.maximum(one, copies - backward - present), copies), one


def _assumptions(job: TrainingJob, layout: Layout, accelerator: Accelerator) -> list[str]:
    notes = list(assumptions(job.architecture))
    if unknown := _unmeasured_kind(job, accelerator):
        notes.append(f"memory not measured of {unknown}: twice the band")
    if _unmeasured_software(job):
        notes.append(f"memory not measured of {measured_as(job.engine)}: the widest band of other software")
    if tiles_loss(job) and not job.scored:
        tokens = layout.micro_batch * job.sequence_length / layout.context
        written = loss_bytes_per_token(replace(job, engine="transformers")) * tokens / layout.tensor
        notes.append(
            "TRL 1.15 or later, whose loss never holds all logits: "
            f"earlier ones take up to {written / GIB:.1f} GiB more"
        )
    if job.checkpointing is None and layout.checkpointing == "none":
        notes.append("no activation checkpointing")
    if not job.architecture.layers:
        notes.append("activations estimated from FLOPs, as the layers are not known")
    return notes
