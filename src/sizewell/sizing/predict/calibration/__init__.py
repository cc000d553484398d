"""Constants that are fitted to published measurements or taken from them, apart from datasheet facts.

Each file beside this one holds a table of constants: what it means, its value, where it comes from. A fitted value is
written by a tool (`tools/calibrate.py`), never by hand. No constant is keyed by a model, a source or a case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sizewell.sizing.versions import content

_trial: ContextVar[Mapping[str, Mapping[str, float]]] = ContextVar(
    "sizewell_trial_constants", default=MappingProxyType({})
)
_trial_bands: ContextVar[Mapping[str, Mapping[str, Any]]] = ContextVar(
    "sizewell_trial_bands", default=MappingProxyType({})
)


@lru_cache(maxsize=8)
def table(name: str) -> Mapping[str, Any]:
    """The whole file `name`.json: fit date, constants, bands; ConfigError where it is of a version that is not read.

    >>> {"fitted", "constants", "bands"} <= table("memory").keys()
    True
    """
    text = Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8")
    return MappingProxyType(content("calibration", json.loads(text), f"{name}.json"))


def bands(name: str, *, assumed: bool = False) -> Mapping[str, Mapping[str, Any]]:
    """80 % bands by group: where the software that runs is named, or where it is `assumed`; a trial's own if it has."""
    key = "bands_assumed" if assumed else "bands"
    shipped = table(name)
    trial: Mapping[str, Mapping[str, Any]] = _trial_bands.get().get(key) or shipped.get(key) or shipped["bands"]
    return trial


def floors(name: str, *, assumed: bool = False) -> Mapping[str, float]:
    """Factors that no band of a family of accelerators is narrower than; a trial's own if it has."""
    key = "floors_assumed" if assumed else "floors"
    trial: Mapping[str, Any] = _trial_bands.get() or table(name)
    return MappingProxyType(trial.get(key, {}))


def values(name: str) -> Mapping[str, float]:
    """The values alone, by the constant's name: the file's, or those of the trial that is under way."""
    return _trial.get().get(name) or _shipped(name)


@lru_cache(maxsize=8)
def _shipped(name: str) -> Mapping[str, float]:
    return MappingProxyType({key: float(row["value"]) for key, row in table(name)["constants"].items()})


@contextmanager
def using(
    name: str, trial: Mapping[str, float], bands: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[None]:
    """Predict with other constants inside the block, and with other `bands` (as the file has them: by "bands",
    "bands_assumed", "floors" and "floors_assumed") where they are given: for fitting and cross-validation.
    """
    token, token_of_bands = _trial.set({**_trial.get(), name: trial}), _trial_bands.set(bands or {})
    try:
        yield
    finally:
        _trial.reset(token)
        _trial_bands.reset(token_of_bands)
