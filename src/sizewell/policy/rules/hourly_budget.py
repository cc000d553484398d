from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Undetermined, Violation
from sizewell.resources.stackfacts import StackFacts
from sizewell.sizing.units import plural


def hourly_budget(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """With everything on, a stack costs no more per hour than its environment allows.

    >>> from sizewell.policy.examples import stack
    >>> hourly_budget(stack(environment="dev"), {"usd_per_hour": {"dev": 50}})[0][1]
    Undetermined(what='the price of the stack')
    """
    limit = parameters["usd_per_hour"].get(facts.environment)
    if limit is None:
        return [("", None)]
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    hourly = facts.pricing.cost().run_rate.usd_per_month.ceiling / 730
    if hourly <= limit:
        missing = facts.pricing.cost().unpriced
        return [("", Undetermined(f"the price of {plural(len(missing), 'line')} without one") if missing else None)]
    return [
        (
            "",
            Violation(
                f"at its ceiling the stack costs {hourly:.2f} USD an hour, limit {limit} in {facts.environment}",
                "lower the maximum sizes, or raise parameters.hourly-budget.usd_per_hour",
            ),
        )
    ]


RULE = Rule(
    id="hourly-budget",
    area="spend",
    subject="stack",
    prevents="an hourly bill beyond what the environment may cost",
    judge=hourly_budget,
    level="advisory",
    parameters={
        "usd_per_hour": Parameter(
            default={"dev": 50, "staging": 100, "prod": 1000},
            schema={"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            meaning="US dollars per hour at the ceiling, by environment",
        )
    },
)
