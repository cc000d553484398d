"""Defaults that depend on the kind of work or on another section; each field's own default stands beside it."""

from __future__ import annotations

from collections.abc import Mapping

from sizewell.sizing.units import UnitError, duration_s
from sizewell.sizing.workload.precision import STORED, published_weights
from sizewell.sizing.workload.sections import model_form

TRAINS = ("training", "fine-tuning")


def with_kind_defaults(raw: Mapping[str, object]) -> dict[str, object]:
    """A spec as it was written with what its kind adds, before its sections are read.

    Before and not after: an added section gets its own fields' defaults, and one that is refused is refused as written.
    SpecError where the model's configuration stores its weights in a form that is not sized.
    """
    data = dict(raw)
    kind, training = data.get("kind"), data.get("training")
    method = training.get("method") if isinstance(training, dict) else None
    if kind == "inference":
        data.setdefault("slo", {})
        idle = data.get("idle", {})
        data["idle"] = {"action": "notify", **idle} if isinstance(idle, dict) else idle
    else:
        data.setdefault("idle", {})
    if kind in TRAINS:
        data.setdefault("checkpoint", {})
    if isinstance(training, dict) and method in ("lora", "qlora"):
        data["training"] = {"lora": {}, **training}
    batch = data.get("batch")
    if isinstance(batch, dict) and "every" not in batch and _longer_than_a_day(batch.get("window")):
        data["batch"] = {**batch, "every": batch["window"]}  # the next run starts when this one has to be done
    if "model" in data:
        data["model"] = _with_weights(data["model"], kind, method)
    return data


def _with_weights(written: object, kind: object, method: object) -> object:
    """A model with how its weights are stored: as it is published where it is served, else as it is computed in."""
    try:
        model = model_form(written)
    except Exception:  # noqa: BLE001 - the same refusal comes again from the record, with its path
        return written
    if not isinstance(model, dict):
        return written
    stored = model.get("precision", "bf16")
    if method == "qlora":
        stored = "nf4"
    elif "precision" not in model and kind not in TRAINS:
        stored = published_weights(model) or stored
    # A precision that its own field refuses says nothing of the weights: one fault is enough.
    return {"weights": stored if stored in STORED else "bf16", **model}


def _longer_than_a_day(window: object) -> bool:
    try:
        return duration_s(window) > 86_400
    except UnitError:  # its own field refuses it
        return False
