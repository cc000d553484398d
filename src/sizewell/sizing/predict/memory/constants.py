"""The fitted constants of the memory model, read from `sizing/predict/calibration/memory.json`.

Each constant means something physical, none is keyed by a model, a source or a case; `tools/calibrate_memory.py` fits
and writes the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sizewell.sizing.predict.calibration import table

PATH = Path(__file__).parent.parent / "calibration" / "memory.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What the formulas leave open; bytes and plain ratios."""

    context_bytes: Mapping[str, float]  # driver context and library handles, by runtime
    collective_bytes: float  # communicators of a training process, per kind of parallelism it takes part in
    caching: float  # share of activations and buffers that the caching allocator holds on top (rounding, fragments)
    serving_workspace_bytes: float  # attention and GEMM workspaces of a serving engine
    serving_sampler_bytes_per_value: float  # profiled sampler: bytes per (sequence x vocabulary entry)
    serving_tensor_parallel_bytes: float  # communicators and all-reduce buffers of an engine with tensor > 1
    bands: Mapping[str, tuple[float, float]]  # 80 % band by group: (low, high) factors on the prediction
    bands_assumed: Mapping[str, tuple[float, float]]  # the same of training whose software nobody names
    training_context_bytes: float = 8.05e8  # of a training process on cuda: context, cuBLAS, what else PyTorch loads
    measured: frozenset[str] = frozenset()  # groups of which a peak was measured, few or many


@cache
def _fitted() -> Constants:
    return parse(table("memory"))


def parse(document: Mapping[str, Any]) -> Constants:
    """Constants from the JSON document; a missing or unknown key is a bug of the file."""
    values = {key: entry["value"] for key, entry in document["constants"].items()}
    bands, assumed = (
        {group: (float(low), float(high)) for group, (low, high) in (document.get(key) or document["bands"]).items()}
        for key in ("bands", "bands_assumed")
    )
    return Constants(**values, bands=bands, bands_assumed=assumed, measured=frozenset(document.get("measured", ())))


_override: ContextVar[Constants | None] = ContextVar("sizewell_memory_constants", default=None)


def constants() -> Constants:
    """The constants in force."""
    return _override.get() or _fitted()


@contextmanager
def using(trial: Constants) -> Iterator[None]:
    """Predict with other constants inside the block: for fitting and cross-validation."""
    token = _override.set(trial)
    try:
        yield
    finally:
        _override.reset(token)
