"""Predictions of training time cases: step time, tokens, images or sequences per second, utilization, hours, days."""

from __future__ import annotations

from dataclasses import replace

from sizewell.accuracy.cases import Case
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.training_runs import TrainingRun, beside_steps, in_unit, layout_of, training_run
from sizewell.sizing.predict.memory import training_memory, usable_bytes
from sizewell.sizing.predict.performance.training import band_families, band_keys, training_time
from sizewell.sizing.records.jobs import Checkpointing, Layout

# What a run may have done to fit where its source does not say: recompute, and move what is kept to the host.
_WAYS_TO_FIT: tuple[tuple[Checkpointing, bool], ...] = (
    ("none", False),
    ("selective", False),
    ("full", False),
    ("full", True),
)


def predict_time(case: Case) -> Prediction:
    """The case's figure, predicted, with the band of the step's time; CannotPredictError says what is missing."""
    run = training_run(case)
    layout = layout_of(run)
    estimate = training_time(run.job, layout, run.cluster)
    group, *wider = band_keys(run.job, run.cluster)
    edges = sorted(in_unit(run, layout, step_s) for step_s in (estimate.low_s, estimate.high_s))
    return Prediction(
        value=in_unit(run, layout, estimate.step_s),
        low=edges[0],
        high=edges[1],
        grade=estimate.grade,
        assumptions=(*run.assumptions, *estimate.assumptions),
        # What a run does beside its steps says nothing of the band of a step.
        group="" if beside_steps(case) else group,
        wider=() if beside_steps(case) else tuple(wider),
        families=() if beside_steps(case) else band_families((group, *wider)),
        fits=run_fits(run, layout),
    )


def run_fits(run: TrainingRun, layout: Layout) -> bool:
    """Whether the run fits its device at the upper edge of the memory band, in some way that its source leaves open."""
    stated = run.job.checkpointing
    ways = _WAYS_TO_FIT if stated is None else ((stated, False),)
    usable = usable_bytes(run.cluster.accelerator)
    return any(
        training_memory(
            replace(run.job, checkpointing=checkpointing, activation_offload=offload),
            replace(layout, checkpointing=checkpointing),
            run.cluster.accelerator,
        ).high_bytes
        <= usable
        for checkpointing, offload in ways
    )
