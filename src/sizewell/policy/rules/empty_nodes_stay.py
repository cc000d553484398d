from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.readers.guards import minutes
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import contains_unknown, get, items

_LONGEST_MINUTES: Final = 24 * 60


def empty_nodes_stay(thing: Thing, _: Parameters) -> Verdict:
    """Karpenter removes empty machines within a day; prepaid ones may stay.

    >>> from sizewell.policy.examples import thing
    >>> spec = {"disruption": {"consolidateAfter": "Never"}}
    >>> pool = thing(type="kubernetes:karpenter.sh/v1:NodePool", cloud="kubernetes", inputs={"spec": spec})
    >>> empty_nodes_stay(pool, {}).fix
    'set disruption.consolidationPolicy to WhenEmpty and consolidateAfter to 10m, and allow disruption in budgets'
    """
    spec = thing.inputs.get("spec")
    needs = items(get(spec, "template", "spec", "requirements"))
    disruption = get(spec, "disruption")
    after = get(disruption, "consolidateAfter")
    budgets = items(get(disruption, "budgets"))
    if spec is UNKNOWN or contains_unknown(needs) or contains_unknown(disruption):
        return Undetermined("when empty machines are removed")
    if isinstance(needs, Unknown) or isinstance(budgets, Unknown):
        return Undetermined("when empty machines are removed")
    if any("reserved" in (get(need, "values") or ()) for need in needs):
        return None
    wait = minutes(after)
    always = [budget for budget in budgets if get(budget, "schedule") is None]
    closed = any(str(get(budget, "nodes")) in {"0", "0%"} for budget in always)
    if after != "Never" and (wait is None or wait <= _LONGEST_MINUTES) and not closed:
        return None
    return Violation(
        "empty machines are not removed within a day and are still billed",
        "set disruption.consolidationPolicy to WhenEmpty and consolidateAfter to 10m, and allow disruption in budgets",
    )


RULE = Rule(
    id="empty-nodes-stay",
    area="spend",
    subject="things",
    prevents="empty machines that are still billed",
    judge=empty_nodes_stay,
    clouds=("kubernetes",),
    types=("kubernetes:karpenter.sh/v1:NodePool",),
)
