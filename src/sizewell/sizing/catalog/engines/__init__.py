"""Inference engines, one per file; `ENGINES` has all of them by name. Adding a file here adds an engine."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from sizewell.sizing.catalog.engine import Engine


def _all() -> dict[str, Engine]:
    engines = [import_module(f"{__name__}.{module.name}").ENGINE for module in iter_modules(__path__)]
    return {engine.name: engine for engine in sorted(engines, key=lambda engine: engine.name)}


ENGINES: Final[Mapping[str, Engine]] = _all()


def engine_for(family: str | None) -> Engine:
    """The engine that serves a family of models where nobody names one; language models where the family is unknown.

    >>> engine_for("vision").name, engine_for("decoder").name, engine_for(None).name
    ('triton', 'vllm', 'vllm')
    """
    return next(engine for engine in ENGINES.values() if (family or "decoder") in engine.default_for)
