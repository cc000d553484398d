"""The fitted constants of serving, read from `sizing/calibration/serving.json` (written by tools/calibrate_serving.py).

They are few and each means something: the share of dense peak and of memory bandwidth that an accelerator family
reaches, what a collective costs on a kind of link, what an engine spends per step. None is keyed by model or source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "calibration" / "serving.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What an accelerator family reaches, as a share of the datasheet."""

    compute: float  # of dense peak FLOP/s, in the matrix products of a language model
    memory: float  # of memory bandwidth, reading weights and cache
    samples: float  # of dense peak FLOP/s, in vision, encoder and diffusion models
    fitted: bool  # False: carried over from the default, no published case


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What tensor parallelism pays per collective on a kind of link."""

    latency_s: float
    bandwidth: float  # share of the one-way link bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What a serving engine spends beside the device's work."""

    step_s: float  # per decode or prefill step
    sequence_s: float  # per sequence in the step: sampling, scheduling, detokenising


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    families: Mapping[str, Family]
    default_family: Family
    links: Mapping[str, Link]
    engines: Mapping[str, Engine]
    occupancy: float  # sequences in flight under unlimited load, as a share of what fits
    sequences_max: Mapping[str, int]  # the most that an engine batches
    sample_kinds: Mapping[str, float]  # vision, encoder, diffusion, relative to the family's `samples`
    eager: float  # speed of an uncompiled sample engine, relative to a compiled one
    bands: Mapping[str, tuple[float, float]]  # group -> (low, high) factors of the 80 % band

    def family(self, name: str) -> Family:
        return self.families.get(name, self.default_family)

    def engine(self, name: str) -> Engine:
        return self.engines.get(name, self.engines["vllm"])

    def band(self, group: str) -> tuple[float, float]:
        return self.bands.get(group, self.bands["*"])


@lru_cache(maxsize=1)
def constants() -> Constants:
    """The shipped constants."""
    return from_json(json.loads(FILE.read_text(encoding="utf-8")))


def from_json(data: Mapping[str, Any]) -> Constants:
    default = Family(**data["default_family"], fitted=False)
    return Constants(
        families={
            name: Family(**{"compute": default.compute, "memory": default.memory, "samples": default.samples} | row)
            if row.get("fitted")
            else default
            for name, row in data["families"].items()
        },
        default_family=default,
        links={name: Link(**row) for name, row in data["links"].items()},
        engines={name: Engine(**row) for name, row in data["engines"].items()},
        occupancy=data["occupancy"],
        sequences_max=data["sequences_max"],
        sample_kinds=data["sample_kinds"],
        eager=data["eager"],
        bands={group: (low, high) for group, (low, high) in data["bands"].items()},
    )
