from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.stackfacts import StackFacts


def unpriced_resource(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Everything that is billed has a price; a line without one hides in every total.

    >>> from sizewell.policy.examples import stack
    >>> unpriced_resource(stack(), {})[0][1]
    Undetermined(what='the price of the stack')
    """
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    verdicts: list[tuple[str, Verdict]] = []
    for urn, kind, reason in (*facts.pricing.unpriced, *facts.pricing.unknown):
        verdicts.append(
            (
                urn,
                Violation(
                    f"its cost is not in the totals ({kind}): {reason}",
                    "give its usage or its price in the usage or discounts file, or waive it with a reason",
                ),
            )
        )
    return verdicts or [("", None)]


RULE = Rule(
    id="unpriced-resource",
    area="spend",
    subject="stack",
    prevents="costs missing from estimates",
    judge=unpriced_resource,
    levels={"dev": "advisory", "staging": "advisory"},
)
