from __future__ import annotations

from datetime import date

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import get


def decision_out_of_date(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """What is built follows the committed decision, unedited and not too old.

    >>> from sizewell.policy.examples import stack
    >>> from datetime import date
    >>> old = {"decided_on": "2026-01-01", "sealed": True, "digest": "a"}
    >>> decision_out_of_date(stack(decision=old, on=date(2026, 11, 1)), {"days": 90})[0][1].message
    'the decision is 304 days old, limit 90: prices and capacity have changed since'
    """
    registered = {
        resource.urn: digest
        for resource in facts.graph.plan.resources
        if (digest := get(resource.inputs, "sizewell", "decisionDigest")) is not None
    }
    fix = "run `sizewell size --check`, then `sizewell size SPEC... --stack NAME`, and commit the decision"
    if facts.decision is None:
        return [(urn, Undetermined("the committed decision")) for urn in registered] or [("", None)]
    verdicts: list[tuple[str, Verdict]] = []
    if not facts.decision.get("sealed"):
        verdicts.append(("", Violation("the decision was edited by hand: it is not what sizewell size wrote", fix)))
    digest = facts.decision.get("digest")
    for urn, stated in registered.items():
        if stated is UNKNOWN:
            verdicts.append((urn, Undetermined("the decision's digest")))
        elif stated != digest:
            verdicts.append((urn, Violation("built from a decision other than the committed one", fix)))
    decided = facts.decision.get("decided_on")
    if facts.on is not None and decided:
        age = (facts.on - date.fromisoformat(str(decided))).days
        if age > parameters["days"]:
            message = (
                f"the decision is {age} days old, limit {parameters['days']}: prices and capacity have changed since"
            )
            verdicts.append(("", Violation(message, fix)))
    return verdicts or [("", None)]


RULE = Rule(
    id="decision-out-of-date",
    area="spend",
    subject="stack",
    prevents="hardware that does not follow a reviewed decision",
    judge=decision_out_of_date,
    parameters={
        "days": Parameter(
            default=90,
            schema={"type": "integer", "minimum": 1},
            meaning="how old a decision may be",
        )
    },
)
