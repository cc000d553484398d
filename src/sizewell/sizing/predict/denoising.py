"""How often an image passes through the denoiser: steps, and evaluations of each step, by model.

Classifier-free guidance evaluates each step with and without the prompt; models whose guidance or whose steps were
distilled do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from sizewell import csvtables

STEPS: Final = 20  # estimate: what services run current samplers with
DISTILLED_STEPS: Final = 4
_DISTILLED: Final = re.compile(r"(?:^|[-_./ ])(?:turbo|lightning|lcm|schnell|hyper)(?:$|[-_./ ])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Denoising:
    """Steps of an image and evaluations of the denoiser in each; `source` says where they are from."""

    model: str = ""  # of a row of the table
    steps: int
    evaluations_per_step: int
    source: str
    checked: str = ""

    @property
    def passes(self) -> int:
        return self.steps * self.evaluations_per_step


def denoising(model: str, *, steps: int | None = None, guidance: bool | None = None) -> Denoising:
    """Of a diffusion model by its name; what a spec states itself stands over it.

    >>> denoising("black-forest-labs/FLUX.1-schnell").passes, denoising("somebody/sdxl-turbo").passes
    (4, 4)
    >>> denoising("somebody/else", steps=30, guidance=True).passes
    60
    """
    known = _listed().get(model.lower())
    if known is None and _DISTILLED.search(model):
        known = Denoising(
            steps=DISTILLED_STEPS, evaluations_per_step=1, source="a distilled model, by its name (estimate)"
        )
    known = known or Denoising(steps=STEPS, evaluations_per_step=2, source="estimate")
    return Denoising(
        steps=steps or known.steps,
        evaluations_per_step=known.evaluations_per_step if guidance is None else 2 if guidance else 1,
        source="spec" if steps is not None and guidance is not None else known.source,
    )


@cache
def _listed() -> Mapping[str, Denoising]:
    rows = csvtables.read(Denoising, Path(__file__).parents[1] / "catalog/data/denoising.csv")
    return {row.model.lower(): row for row in rows}
