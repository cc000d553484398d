from __future__ import annotations

from decimal import Decimal

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Undetermined, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool, StackFacts
from sizewell.resources.values import Flag, either, every


def idle_exposure_budget(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """The hourly cost of idle accelerators without a guard stays under a limit.

    >>> from sizewell.policy.examples import pool, stack
    >>> idle = pool(accelerator="h100-sxm", nodes_wanted=1)
    >>> idle_exposure_budget(stack(pools=(idle,)), {"usd_per_hour": {"dev": 10}})[0][1]
    Undetermined(what='the price of the stack')
    """
    limit = parameters["usd_per_hour"].get(facts.environment)
    exposed = [
        pool
        for pool in facts.pools
        if pool.accelerated is not False
        and either(pool.guarded, pool.scheduled, _falls(pool), _prepaid(pool)) is not True
    ]
    if limit is None or not exposed:
        return [("", None)]
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    urns = {pool.urn for pool in exposed}
    lines = [line for line in facts.pricing.items if line.resource in urns and line.unit in ("machine-hour", "?")]
    hourly = Decimal(0)
    for line in sorted(lines, key=lambda line: line.resource):  # engines register in an order of their own
        cost = line.cost()
        if not hasattr(cost, "ceiling"):
            return [(line.resource, Undetermined("the price of its machines"))]
        hourly += cost.ceiling / 730
    if hourly <= limit:
        return [("", None)]
    names = ", ".join(sorted({pool.name for pool in exposed}))
    return [
        (
            "",
            Violation(
                f"{hourly:.2f} USD an hour of accelerators without guard or schedule in {names}, limit {limit}",
                "add an idle guard or a schedule, or lower the maximum size",
            ),
        )
    ]


def _falls(pool: Pool) -> Flag:
    """Whether something takes machines without work down, to none."""
    return every(pool.nodes_min if isinstance(pool.nodes_min, Unknown) else pool.nodes_min == 0, pool.scales)


def _prepaid(pool: Pool) -> Flag:
    """Whether it stands in reserved capacity, which is billed whatever its machines do."""
    return UNKNOWN if isinstance(pool.reserved, Unknown) else pool.reserved != ""


RULE = Rule(
    id="idle-exposure-budget",
    area="spend",
    subject="stack",
    prevents="large hourly costs that are not monitored",
    judge=idle_exposure_budget,
    parameters={
        "usd_per_hour": Parameter(
            default={"dev": 10, "staging": 50, "prod": 150},
            schema={"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            meaning="US dollars per hour of accelerators without guard and schedule, by environment",
        )
    },
)
