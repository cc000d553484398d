"""What became of each machine type of the catalog: the choice, an alternative, dominated, or rejected. Pure.

Every type has exactly one verdict, so that the counts add up to the catalog and any "why not that one?" has an answer.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sizewell.sizing.choose.candidates import Cause
from sizewell.sizing.choose.choice import Sizing, alternatives, usd, why_not
from sizewell.sizing.choose.pricing import Option
from sizewell.sizing.errors import UsageError

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Shape

Outcome = Literal["choice", "alternative", "dominated", "rejected"]
ELSEWHERE: Final = "not-provisioned"  # does the work, in a place where Sizewell does not provision
OUTCOMES: Final[tuple[Outcome, ...]] = ("choice", "alternative", "dominated", "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one machine type, and why, with the numbers."""

    cloud: str
    instance_type: str
    accelerator: str  # catalog key; "" for a machine without one
    accelerators: int
    outcome: Outcome
    cause: str  # of a rejection: a value of `Cause`, or `ELSEWHERE`; "" else
    reason: str


def verdicts(sizing: Sizing, chosen: Option | None) -> tuple[Verdict, ...]:
    """One verdict for each machine type, in the catalog's order; `chosen` None where nothing fits."""
    rejected = {(r.cloud, r.instance_type): r for r in sizing.rejections}
    best: dict[tuple[str, str], Option] = {}
    for option in sizing.options:
        best.setdefault((option.cloud, option.instance_type), option)
    listed = {(a.cloud, a.instance_type): a.why_not for a in alternatives(sizing, chosen)} if chosen else {}
    judged = []
    for shape in sizing.setting.catalog.shapes:
        name = (shape.cloud, shape.instance_type)
        if chosen is not None and name == (chosen.cloud, chosen.instance_type):
            judged.append(_verdict(shape, "choice", _choice_reason(chosen)))
        elif chosen is not None and name in listed and name in best:
            judged.append(_verdict(shape, "alternative", listed[name]))
        elif name in best and (chosen is None or not best[name].candidate.buildable):
            judged.append(_verdict(shape, "rejected", _elsewhere(best[name]), ELSEWHERE))
        elif name in best and chosen is not None:
            judged.append(_verdict(shape, "dominated", _dominated(best[name], chosen, sizing)))
        elif rejected[name].cause is Cause.DEARER and chosen is not None:
            judged.append(_verdict(shape, "dominated", f"{rejected[name].reason}; by {_machines(chosen)}"))
        else:
            judged.append(_verdict(shape, "rejected", rejected[name].reason, rejected[name].cause.value))
    return tuple(judged)


def counts(judged: Sequence[Verdict]) -> Mapping[str, int]:
    """How many types have each outcome; they add up to the catalog."""
    by_outcome = Counter(verdict.outcome for verdict in judged)
    return {outcome: by_outcome[outcome] for outcome in OUTCOMES}


def asked_for(judged: Sequence[Verdict], word: str, catalog: Catalog) -> tuple[Verdict, ...]:
    """The verdicts on a machine type or on all types with an accelerator, by the names that a spec may use.

    UsageError with the nearest names where the catalog knows neither.
    """
    keys = {accelerator.key for accelerator in catalog.accelerators_named(word)}
    asked = tuple(v for v in judged if v.accelerator in keys or v.instance_type.lower() == word.lower())
    if asked:
        return asked
    known = {name.lower(): name for v in judged for name in (v.instance_type, v.accelerator) if name}
    near = [known[name] for name in difflib.get_close_matches(word.lower(), known, 3, 0.4)]
    way_out = f"did you mean {', or '.join(near)}?" if near else "name a machine type or an accelerator of the catalog"
    raise UsageError(f"--why: '{word}' is neither a machine type nor an accelerator of the catalog\n  fix: {way_out}")


def _verdict(shape: Shape, outcome: Outcome, reason: str, cause: str = "") -> Verdict:
    return Verdict(
        cloud=shape.cloud,
        instance_type=shape.instance_type,
        accelerator=shape.accelerator,
        accelerators=shape.accelerators,
        outcome=outcome,
        cause=cause,
        reason=reason,
    )


def _choice_reason(chosen: Option) -> str:
    return f"{_machines(chosen)}: {_money(chosen)}"


def _elsewhere(option: Option) -> str:
    return f"{_machines(option)} would be chosen: {_money(option)}; {option.cloud} cannot be provisioned"


def _dominated(option: Option, chosen: Option, sizing: Sizing) -> str:
    """By which option and by how much."""
    return f"{_machines(option)}: {_money(option)}; by {_machines(chosen)}: {why_not(option, chosen, sizing.need)}"


def _machines(option: Option) -> str:
    return f"{option.fleet.nodes} x {option.instance_type} {option.deal.market} in {option.deal.region}"


def _money(option: Option) -> str:
    if option.run_usd is not None:
        return f"{option.run_usd:,.2f} USD a run"
    return f"{usd(option.usd_per_month)} a month"
