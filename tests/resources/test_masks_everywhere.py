"""Every type that has a price rule, blinded: each input that the rule reads is hidden in turn, then all of them.

What a rule reads is found by watching it, so a new rule is covered the day it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from test_ai_types import CONFIG, MACHINES, ON
from test_pricing import SAMPLE, masked, paths

from sizewell.resources import UNKNOWN, Plan, RecordedResource, price
from sizewell.resources.priced import Pricing
from sizewell.resources.tables import PRICERS
from sizewell.sizing.catalog import load

BASES: dict[str, list[Mapping[str, Any]]] = {kind: [{}] for kind in PRICERS}
for resource in SAMPLE:
    BASES[resource.type].append(dict(resource.inputs))
for machine, stated, *_ in MACHINES:
    BASES[machine].append(stated)


class Watched(dict[str, Any]):
    """Inputs that remember what they were asked for."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        super().__init__(inputs)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)


class Blind(Watched):
    """Inputs of which nothing is known, whatever is asked for."""

    def get(self, key: str, default: Any = None) -> Any:
        return UNKNOWN

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: str) -> Any:
        return UNKNOWN


def priced(kind: str, inputs: Mapping[str, Any]) -> Pricing:
    it = RecordedResource(urn=f"urn:pulumi:dev::t::{kind}::it", type=kind, name="it", inputs=inputs)
    return price(Plan(project="t", stack="dev", resources=(it,), config=CONFIG), load(), on=ON)


def bills(found: Pricing) -> bool:
    """Whether a reader sees that something costs: a figure, a "?", or words outside the totals."""
    cost = found.cost()
    ceiling = cost.run_rate.usd_per_month.ceiling + cost.one_off.usd.ceiling
    return bool(ceiling > 0 or cost.unpriced or found.outside)


def faults(whole: Pricing, hidden: Pricing) -> list[str]:
    """What hiding an input may not do."""
    if not bills(whole):
        return []
    if not bills(hidden):
        return ["a cost became a silent zero"]
    before, after = whole.cost(), hidden.cost()
    if set(after.unpriced) - set(before.unpriced) or set(hidden.outside) - set(whole.outside):
        return []
    found = []
    if after.run_rate.usd_per_month.ceiling < before.run_rate.usd_per_month.expected:
        found.append(f"the ceiling {after.run_rate.usd_per_month.ceiling} is below what was expected before")
    if after.one_off.usd.ceiling + after.run_rate.usd_per_month.ceiling < before.one_off.usd.expected:
        found.append("a purchase became cheaper")
    return found


@pytest.mark.parametrize("kind", sorted(PRICERS))
def test_no_input_of_a_priced_type_hides_its_cost(kind: str) -> None:
    wrong = []
    for base in BASES[kind]:
        watched = Watched(base)
        whole = priced(kind, watched)
        places = {(key,) for key in watched.asked - base.keys()} | set(paths(dict(base)))
        for place in sorted(places, key=repr):
            changed = masked(dict(base), place) if place[0] in base else {**base, place[0]: UNKNOWN}
            wrong += [f"{'.'.join(map(str, place))}: {fault}" for fault in faults(whole, priced(kind, changed))]
        wrong += [f"everything: {fault}" for fault in faults(whole, priced(kind, Blind({})))]
    assert wrong == []


def test_the_watching_sees_what_rules_read() -> None:
    inputs = Watched({"size": 100, "type": "gp3"})
    priced("aws:ebs/volume:Volume", inputs)
    assert {"size", "type"} <= inputs.asked
    seen = [kind for kind in PRICERS if (it := Watched({})) is not None and priced(kind, it) and it.asked]
    assert len(seen) > len(PRICERS) * 0.7
