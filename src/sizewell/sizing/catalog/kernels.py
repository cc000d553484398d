"""Which generations of accelerators an inference engine has no kernels for, by the format of the weights.

Read where machines are chosen and where they are launched on, so that neither promises what ends at start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from sizewell import csvtables

ANY: Final = "any"  # format of weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A row of missing_kernels.csv: an engine's releases do not run such weights there, or in one form `only`."""

    engine: str
    weights: str  # as `model.weights` has them; "any": the engine does not run there at all; "kv fp8": a cache
    family: str  # of accelerators
    only: str = ""  # form of such weights that runs all the same
    source: str
    checked: str


def missing(engine: str, weights: str, family: str) -> Missing | None:
    """What is known to be missing; None where nothing is.

    >>> [row and (row.weights, row.only) for row in (missing("vllm", w, "volta") for w in ("fp8", "int4", "fp16"))]
    [('fp8', ''), ('int4', 'GPTQ'), None]
    """
    rows = _rows()
    return rows.get((engine, ANY, family)) or rows.get((engine, weights, family))


def missing_cache(engine: str, kv: str, family: str) -> Missing | None:
    """As `missing`, for what the attention cache is stored in; the engines' 8-bit integers there are fp8.

    >>> [row is not None for row in (missing_cache("vllm", "fp8", family) for family in ("ampere", "ada"))]
    [True, False]
    """
    return _rows().get((engine, f"kv {'fp8' if kv == 'int8' and engine == 'vllm' else kv}", family)) if kv else None


def instead(engine: str, family: str) -> tuple[str, ...]:
    """Formats of weights that the engine runs there without a reserve.

    >>> instead("vllm", "turing"), instead("vllm", "pascal")
    (('fp16', 'int8', 'int4'), ())
    """
    return tuple(weights for weights in ("fp16", "fp8", "int8", "int4") if missing(engine, weights, family) is None)


@cache
def _rows() -> Mapping[tuple[str, str, str], Missing]:
    rows = csvtables.read(Missing, Path(__file__).parent / "data/missing_kernels.csv")
    return {(row.engine, row.weights, row.family): row for row in rows}
