"""The architecture of the model that a spec names: looked up, read or built once, and kept with the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizewell.sizing.workload.precision import known_model

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Architecture
    from sizewell.sizing.workload.sections import Model


def architecture_of(model: Model, workload: str, catalog: Catalog) -> Architecture:
    """The model of a workload by the catalog, its config.json or the spec's own figures.

    The first answer stays with the model: a configuration is read once, whoever asks. KeyError where the catalog does
    not know the name, SpecError where a configuration or figures describe no model.
    """
    if model._architecture is None:  # noqa: SLF001 - it is the model's own, which this completes
        model._architecture = _resolved(model, workload, catalog)  # noqa: SLF001
    return model._architecture  # noqa: SLF001


def read_at_most(model: Model | None, architecture: Architecture) -> int | None:
    """Tokens of prompt and answer that the model reads; a configuration may stretch what it was trained for."""
    if model is None or model.config is None:
        return architecture.max_sequence_length
    from sizewell.sizing.workload.hf_config import context_of

    return context_of(model.config)


def _resolved(model: Model, workload: str, catalog: Catalog) -> Architecture:
    if model.name is not None:
        return known_model(model.name, catalog)
    if model.config is not None:
        from sizewell.sizing.workload.hf_config import from_hf_config

        return from_hf_config(model.config, model.config_path or workload, params=model.published_params)
    from sizewell.sizing.workload.model_dimensions import from_dimensions

    assert model.dimensions is not None  # noqa: S101 - `model_form` has refused a model without any form
    return from_dimensions(model.dimensions, f"{workload} model")
