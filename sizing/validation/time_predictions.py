"""Predictions of training time cases: step time, tokens, images or sequences per second, utilization, hours, days."""

from __future__ import annotations

from sizing.performance.training import training_time
from sizing.validation.cases import Case
from sizing.validation.memory_predictions import Prediction
from sizing.validation.training_runs import in_unit, layout_of, training_run


def predict_time(case: Case) -> Prediction:
    """The case's figure, predicted, with the band of the step's time; CannotPredictError says what is missing."""
    run = training_run(case)
    layout = layout_of(run)
    estimate = training_time(run.job, layout, run.cluster)
    edges = sorted(in_unit(run, layout, step_s) for step_s in (estimate.low_s, estimate.high_s))
    return Prediction(
        value=in_unit(run, layout, estimate.step_s),
        low=edges[0],
        high=edges[1],
        grade=estimate.grade,
        assumptions=(*run.assumptions, *estimate.assumptions),
        group="time",
    )
