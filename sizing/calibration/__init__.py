"""Constants that are fitted to published measurements or taken from them, apart from datasheet facts.

Each file beside this one holds a table of constants: what it means, its value, where it comes from. A fitted value is
written by `tools/calibrate.py`, never by hand. No constant is keyed by a model, a source or a case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@lru_cache(maxsize=8)
def table(name: str) -> Mapping[str, Any]:
    """The whole file `name`.json: schema, fit date, constants, bands.

    >>> table("training")["schema"]
    'sizewell.calibration/1'
    """
    text = files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return MappingProxyType(data)


@lru_cache(maxsize=8)
def values(name: str) -> Mapping[str, float]:
    """The values alone, by the constant's name."""
    return MappingProxyType({key: float(row["value"]) for key, row in table(name)["constants"].items()})
