"""The fitted constants of serving, read from `calibration/serving.json` (written by tools/calibrate_serving.py).

They are few and each means something: the share of dense peak and of memory bandwidth that an accelerator family
reaches, what a collective costs on a kind of link, what an engine spends per step. None is keyed by model or source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sizewell.sizing.catalog import host
from sizewell.sizing.catalog.records import Accelerator
from sizewell.sizing.predict.calibration import table
from sizewell.sizing.predict.performance import processors

CARDS = frozenset({"blackwell"})
CARD = "-card"
FILE = Path(__file__).parent.parent / "calibration" / "serving.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What an accelerator family reaches, as a share of the datasheet."""

    compute: float  # of dense peak FLOP/s, in the matrix products of a language model
    memory: float  # of memory bandwidth, reading weights and cache
    samples: float  # of dense peak FLOP/s, in vision, encoder and diffusion models
    fitted: frozenset[str]  # which of the three were fitted; the others are the default's


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What tensor parallelism pays per collective on a kind of link."""

    latency_s: float
    bandwidth: float  # share of the one-way link bandwidth


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOverhead:
    """What a serving engine spends beside the device's work."""

    step_s: float  # per decode or prefill step
    sequence_s: float  # per sequence in the step: sampling, scheduling, detokenising


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    families: Mapping[str, Family]
    default_family: Family
    links: Mapping[str, Link]
    engines: Mapping[str, EngineOverhead]
    occupancy: float  # sequences in flight under unlimited load, as a share of what fits
    sequences_max: Mapping[str, int]  # the most that an engine batches
    smaller: float  # speed of convolutions and of single prompts' products, relative to the family's `samples`
    sample_bytes: Mapping[str, float]  # vision, diffusion: activations moved, bytes per FLOP in 16 bits, by count
    arrivals: float  # share of its time that a device of such models can work while requests arrive at random
    kernel_s: float  # that each kernel of a step takes beyond its bytes and FLOPs
    stage_wait: float  # share of a step that each pipeline stage beyond the first adds, as micro-batches differ
    experts_speed: float  # products of experts, many and small, relative to dense ones
    eager: float  # speed of an uncompiled sample engine, relative to a compiled one
    launch_s: float  # of a host, for each operation that PyTorch runs one by one: published, not fitted
    bands: Mapping[str, tuple[float, float]]  # group -> (low, high) factors of the 80 % band
    floors: Mapping[str, float]  # family, or family and group -> factor that no band of it is narrower than

    def family(self, name: str) -> Family:
        if name == host.RUNTIME:
            return _PROCESSOR
        return self.families.get(name, self.default_family)

    def engine(self, name: str) -> EngineOverhead:
        return self.engines.get(name, self.engines["vllm"])

    def band(self, groups: Iterable[str], families: Iterable[str] = ()) -> tuple[float, float]:
        """The band of the first group that has one, else of all cases; no narrower than the floors of the families."""
        low, high = next((self.bands[group] for group in groups if group in self.bands), self.bands["*"])
        floor = max((self.floors.get(family, 1.0) for family in families), default=1.0)
        return min(low, 1 / floor), max(high, floor)


_PROCESSOR = Family(
    compute=processors.COMPUTE, memory=processors.MEMORY, samples=processors.SAMPLES, fitted=frozenset()
)


def family_of(accelerator: Accelerator) -> str:
    """The family whose constants an accelerator has: where a generation is made as modules with HBM and as cards with
    graphics memory, the cards' are apart.
    """
    return accelerator.family + (CARD if accelerator.family in CARDS and accelerator.scale_up_max <= 1 else "")


def constants() -> Constants:
    """The shipped constants, or those on trial."""
    return _trial[-1] if _trial else _shipped()


@lru_cache(maxsize=1)
def _shipped() -> Constants:
    return from_json(table("serving"))


_trial: list[Constants] = []


@contextmanager
def trying(candidate: Constants) -> Iterator[None]:
    """Predictions inside the block use `candidate`: for fitting, and for asking how much a constant matters."""
    _trial.append(candidate)
    try:
        yield
    finally:
        _trial.pop()


def from_json(data: Mapping[str, Any]) -> Constants:
    """Constants of the file's form; a family states what was fitted of it, the rest is the default's."""
    default = Family(**data["default_family"], fitted=frozenset())
    return Constants(
        families={
            name: Family(
                compute=row.get("compute", default.compute),
                memory=row.get("memory", default.memory),
                samples=row.get("samples", default.samples),
                fitted=frozenset(row),
            )
            for name, row in data["families"].items()
        },
        default_family=default,
        links={name: Link(**row) for name, row in data["links"].items()},
        engines={name: EngineOverhead(**row) for name, row in data["engines"].items()},
        occupancy=data["occupancy"],
        sequences_max=data["sequences_max"],
        smaller=data["smaller"],
        sample_bytes=data["sample_bytes"],
        arrivals=data["arrivals"],
        kernel_s=data["kernel_s"],
        stage_wait=data["stage_wait"],
        experts_speed=data["experts_speed"],
        eager=data["eager"],
        launch_s=data["launch_s"],
        bands={group: (low, high) for group, (low, high) in data["bands"].items()},
        floors=data["floors"],
    )
