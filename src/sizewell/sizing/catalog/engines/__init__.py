"""Inference engines, one per file; `ENGINES` has all of them by name. Adding a file here adds an engine.

A project's own `catalog/engines/` adds to them (`own.py`); it is read when this package is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from sizewell.sizing.catalog.engine import InferenceEngine
from sizewell.sizing.catalog.engines.own import with_own
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.overlay import current


def _all() -> dict[str, InferenceEngine]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__) if module.name != "own"]
    return {module.ENGINE.name: module.ENGINE for module in modules}


SHIPPED: Final[Mapping[str, InferenceEngine]] = _all()
ENGINES: Final[Mapping[str, InferenceEngine]] = with_own(SHIPPED, current())


def engine_for(family: str | None, runtime: str = "") -> InferenceEngine:
    """The engine that serves a family of models where nobody names one; language models where the family is unknown.

    `runtime` is that of the accelerators; on "cpu" other engines are usual.

    >>> engine_for("vision").name, engine_for("decoder").name, engine_for(None).name
    ('triton', 'vllm', 'vllm')
    >>> engine_for("decoder", "cpu").name, engine_for("encoder", "cpu").name
    ('llama.cpp', 'text-embeddings-inference')
    """
    served = family or "decoder"
    if runtime == RUNTIME:
        on_cpu = next((engine for engine in ENGINES.values() if served in engine.default_on_cpu), None)
        if on_cpu is not None:
            return on_cpu
    return next(engine for engine in ENGINES.values() if served in engine.default_for)
