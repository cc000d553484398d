"""What the spec leaves open and the price hangs on: a service level, answers of a model that may write none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sizewell.sizing.choose.choice import Sizing
from sizewell.sizing.choose.pricing import Option
from sizewell.sizing.choose.quantized import best_under
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.units import show_duration

if TYPE_CHECKING:
    from sizewell.sizing.predict.performance.serving_level import ServiceLevel

OTHERS: Final = (0.2, 3.0)  # of what is assumed: an interactive service, and one whose users wait
WORTH_SAYING: Final = 0.02  # of the price


def beside_the_price(sizing: Sizing, chosen: Option) -> str | None:
    """What is assumed, and the price in the same region at other levels where it differs; None where slo is stated."""
    need, usd = sizing.need, chosen.usd_per_month
    said = _answers(sizing, chosen)
    if need.level is None or not need.level_assumed:
        return "; ".join(said) or None
    said.append(f"assumed, as slo is not stated: {_words(need.level)}")
    for factor in OTHERS:
        level = _times(need.level, factor)
        option = best_under(replace(need, level=level), sizing.setting, chosen, cheaper=factor > 1)
        if option is None:
            said.append(f"nothing in {chosen.deal.region} keeps {_words(level)}")
        elif usd and option.usd_per_month and abs(option.usd_per_month / usd - 1) > WORTH_SAYING:
            said.append(f"{option.usd_per_month:,.2f} USD a month with {_words(level)}")
    return "; ".join(said)


def _answers(sizing: Sizing, chosen: Option) -> list[str]:
    """That a model by its config.json is taken to write answers, which the file of one that embeds or ranks may say
    as well, and what it costs where it writes none.
    """
    spec, job, traffic = sizing.spec, sizing.need.serving, sizing.spec.traffic
    if spec.model is None or spec.model.name is not None or traffic is None or job is None:
        return []
    if traffic.output_tokens is not None or not job.output_tokens:
        return []
    silent = spec.model_copy(update={"traffic": traffic.model_copy(update={"output_tokens": 0})})
    option = best_under(requirements(silent, sizing.setting.catalog), sizing.setting, chosen)
    said = [f"assumed, as traffic.output_tokens is not stated: {job.output_tokens:,.0f} tokens in an answer"]
    if option is not None and option.usd_per_month is not None:
        said.append(f"{option.usd_per_month:,.2f} USD a month with 0, of a model that embeds or ranks")
    return said


def _times(level: ServiceLevel, factor: float) -> ServiceLevel:
    bounds = {name: getattr(level, name) for name in ("ttft_s", "tpot_s", "e2e_s")}
    return replace(level, **{name: bound * factor for name, bound in bounds.items() if bound})


def _words(level: ServiceLevel) -> str:
    keys = {"ttft": level.ttft_s, "tpot": level.tpot_s, "latency": level.e2e_s}
    return ", ".join(f"{key} {show_duration(seconds)}" for key, seconds in keys.items() if seconds)
