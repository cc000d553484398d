"""Weights in fewer bits as a priced alternative: what a service or a batch would run on, and at what cost in quality.

Asked only where the spec leaves open how the weights are stored and the checkpoint is published in 16 bits. Quality is
as published for models of its kind; nobody has measured the one that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.choose.candidates import NEARLY, Candidate, try_all
from sizewell.sizing.choose.choice import Sizing, ordered, performance_value
from sizewell.sizing.choose.pricing import Option, least_extras_usd, options_of
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.records.decision import Alternative

if TYPE_CHECKING:
    from sizewell.sizing.choose.setting import Setting

QUALITY: Final = (("fp8", "no loss measured"), ("int8", "1 to 3 % of accuracy"), ("int4", "about as int8"))
"""Weights of a chat model in fewer bits, and what they cost in accuracy when well made: Kurtic et al., "Give Me BF16 or
Give Me Death?", ACL 2025 (arXiv 2411.02355), over 500,000 evaluations of Llama 3.1: W8A8-FP, W8A8-INT, W4A16-INT."""
_UNITS: Final = {"fp8": ("fp8",), "int8": ("int8", "fp8"), "int4": ()}  # 4-bit integers are expanded to 16 bits


@dataclass(frozen=True, slots=True)
class Format:
    """A format of the weights, and its published cost in quality."""

    weights: str
    quality: str


def formats(sizing: Sizing) -> tuple[Format, ...]:
    """Formats that a chat model in 16 bits could be served in; () where the spec says how weights are stored, or the
    checkpoint is published in fewer bits.
    """
    job, stated = sizing.need.serving, {"model.weights", "model.precision"} & sizing.spec.given
    if job is None or sizing.need.kind == "notebook" or stated:
        return ()
    if job.architecture.kind != "decoder" or job.weights not in ("bf16", "fp16"):
        return ()
    if sizing.need.arrivals is not None and sizing.need.arrivals.simulated:
        return ()  # nothing that is compared without a simulation stands beside what was simulated
    return tuple(Format(weights, quality) for weights, quality in QUALITY)


def weights_in(format_: Format) -> Callable[[Requirements], Requirements]:
    """The same work with weights of that format."""

    def moved(need: Requirements) -> Requirements:
        job = need.serving
        assert job is not None  # noqa: S101 - moved only for services and batches
        return replace(need, serving=replace(job, weights=format_.weights))

    return moved


def best_under(need: Requirements, setting: Setting, chosen: Option, *, cheaper: bool = False) -> Option | None:
    """The choice under changed requirements, where the chosen option stands; with `cheaper` None may also say that it
    would not be cheaper, which is known without working out machines of which one costs as much as all of the chosen.
    """
    moved = replace(need, places=((chosen.cloud, chosen.deal.region, ""),))
    changed = replace(setting, need=moved)

    def offered(candidate: Candidate) -> list[Option]:
        own = changed.for_machine(
            candidate.accelerator.runtime, candidate.shape.accelerators, own_program=candidate.own_program
        )
        return options_of(candidate, own, moved.markets)

    def appraise(candidate: Candidate) -> float | None:
        return None if candidate.own_program else min((o.rank_usd for o in offered(candidate)), default=None)

    hours, limit = 0.0, math.inf
    if need.arrivals is not None and need.objective == "cost" and chosen.managed == RAW:
        hours = float(chosen.hours.expected) / chosen.fleet.nodes
        limit = NEARLY * chosen.rank_usd if cheaper else math.inf
    extras = least_extras_usd(changed)
    own = chosen.candidate.own_program  # what runs by a program of its own does so under another load, too
    trial = try_all(moved, setting.catalog, setting.on, appraise, extras, own_programs=own, hours=hours, usd_max=limit)
    options = [option for candidate in trial.candidates for option in offered(candidate)]
    return next((option for option in ordered(options, moved) if option.candidate.buildable), None)


def quantized(sizing: Sizing, chosen: Option) -> Iterator[Alternative]:
    """What the best machines of the chosen region would be with weights in fewer bits, where that costs less than in
    any format that costs less quality.
    """
    least_usd = chosen.total_usd
    for format_ in formats(sizing):
        option = best_under(weights_in(format_)(sizing.need), sizing.setting, chosen, cheaper=True)
        if option is None or option.total_usd >= least_usd:
            continue
        least_usd = option.total_usd
        yield _alternative(option, chosen, format_)


def _alternative(option: Option, chosen: Option, format_: Format) -> Alternative:
    less, per = Decimal(repr(chosen.total_usd - option.total_usd)), "a month"
    if option.run_usd is not None and chosen.run_usd is not None:
        less, per = chosen.run_usd - option.run_usd, "a run"
    accelerator = option.candidate.accelerator
    has_units = any(accelerator.flop_per_s.get(unit) for unit in _UNITS[format_.weights])
    how = f"{accelerator.name} computes in it" if has_units else f"{accelerator.name} expands it to 16 bits"
    about = "about " if option.cost.unpriced or chosen.cost.unpriced else ""
    why = (
        f"weights in {format_.weights}: {about}{less:,.2f} USD {per} cheaper; {format_.quality} (Kurtic et al. "
        f"2025), {how}; model.weights: {format_.weights} chooses it"
    )
    return Alternative(
        cloud=option.cloud,
        region=option.deal.region,
        instance_type=option.instance_type,
        accelerator=accelerator.key,
        nodes=option.fleet.nodes,
        market=option.deal.market,
        weights=format_.weights,
        usd_per_month=option.usd_per_month,
        usd_per_run=option.run_usd,
        performance=performance_value(option),
        why_not=why,
    )
