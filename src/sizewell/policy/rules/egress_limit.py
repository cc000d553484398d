from __future__ import annotations

from decimal import Decimal

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Violation
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import get


def egress_limit(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """Data that leaves the region each month stays under a limit: egress is easily overlooked in a budget.

    >>> from sizewell.policy.examples import stack
    >>> line = {"what": "egress", "unit": "GB", "quantity": {"expected": "9000"}}
    >>> spills = {"workloads": [{"line_items": [line]}]}
    >>> egress_limit(stack(decision=spills), {"gigabytes_per_month": 5000})[0][1].fix
    'move the data or the machines, or raise parameters.egress-limit.gigabytes_per_month'
    """
    limit = Decimal(str(parameters["gigabytes_per_month"]))
    stated = Decimal(0)
    for workload in (facts.decision or {}).get("workloads", ()):
        for line in workload.get("line_items", ()):
            if "egress" in str(line.get("what", "")).lower() and line.get("unit") == "GB":
                stated += Decimal(str(get(line, "quantity", "expected", default=0)))
    for line in facts.pricing.items if facts.pricing is not None else ():
        if "egress" in line.what.lower() and line.unit == "GB":
            stated += line.quantity.expected
    if stated <= limit:
        return [("", None)]
    return [
        (
            "",
            Violation(
                f"{stated:.0f} GB leave the region each month, limit {limit:.0f}: egress is billed per GB",
                "move the data or the machines, or raise parameters.egress-limit.gigabytes_per_month",
            ),
        )
    ]


RULE = Rule(
    id="egress-limit",
    area="spend",
    subject="stack",
    prevents="unexpected traffic costs",
    judge=egress_limit,
    parameters={
        "gigabytes_per_month": Parameter(
            default=5000, schema={"type": "number", "minimum": 0}, meaning="GB per month that may leave the region"
        )
    },
)
