from __future__ import annotations

from decimal import Decimal

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Undetermined, Violation
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import get
from sizewell.sizing.records.budget import MONTHLY, of_stack
from sizewell.sizing.units import plural


def monthly_budget(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """The expected run-rate stays within the budget: the configuration's, and the one that the specs state.

    >>> from sizewell.policy.examples import stack
    >>> monthly_budget(stack(), {"usd_per_month": {"dev": 100}})[0][1]
    Undetermined(what='the price of the stack')
    """
    limits = [Decimal(str(v)) for v in [parameters["usd_per_month"].get(facts.environment)] if v is not None]
    workloads = (facts.decision or {}).get("workloads", ())
    monthly = [get(workload, "budget", MONTHLY) for workload in workloads]
    stated = of_stack(None if usd is None else Decimal(str(usd)) for usd in monthly)
    if stated is not None:
        limits.append(stated)
    if not limits:
        return [("", None)]
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    expected = facts.pricing.cost().run_rate.usd_per_month.expected
    limit = min(limits)
    if expected <= limit:
        missing = facts.pricing.cost().unpriced
        return [("", Undetermined(f"the price of {plural(len(missing), 'line')} without one") if missing else None)]
    return [
        (
            "",
            Violation(
                f"the stack is expected to cost {expected:.2f} USD a month, over its budget of {limit:.2f}",
                "size it down, use a cheaper market, or raise the budget in the spec",
            ),
        )
    ]


RULE = Rule(
    id="monthly-budget",
    area="spend",
    subject="stack",
    prevents="a monthly bill over budget",
    judge=monthly_budget,
    parameters={
        "usd_per_month": Parameter(
            default={},
            schema={"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            meaning="US dollars per month at the expected use, by environment; budgets in specs apply as well",
        )
    },
)
