"""Inference engines, one per file; `ENGINES` has all of them by name. Adding a file here adds an engine.

A project's own `catalog/engines/` adds to them (`own.py`); it is read when this package is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from sizewell.sizing.catalog.engine import Engine
from sizewell.sizing.catalog.engines.own import with_own
from sizewell.sizing.catalog.overlay import current


def _all() -> dict[str, Engine]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__) if module.name != "own"]
    return {module.ENGINE.name: module.ENGINE for module in modules}


SHIPPED: Final[Mapping[str, Engine]] = _all()
ENGINES: Final[Mapping[str, Engine]] = with_own(SHIPPED, current())


def engine_for(family: str | None) -> Engine:
    """The engine that serves a family of models where nobody names one; language models where the family is unknown.

    >>> engine_for("vision").name, engine_for("decoder").name, engine_for(None).name
    ('triton', 'vllm', 'vllm')
    """
    return next(engine for engine in ENGINES.values() if (family or "decoder") in engine.default_for)
