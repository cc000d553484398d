from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool
from sizewell.sizing.units import plural


def minimum_above_zero_in_dev(pool: Pool, parameters: Parameters) -> Verdict:
    """In development an accelerator pool can reach zero: otherwise it is billed on nights and weekends.

    >>> from sizewell.policy.examples import pool
    >>> dev = {"environments": ["dev"]}
    >>> minimum_above_zero_in_dev(pool(accelerator="l4", environment="dev", nodes_min=1), dev).fix
    'set the minimum size to 0'
    >>> minimum_above_zero_in_dev(pool(accelerator="l4", environment="prod", nodes_min=1), dev) is None
    True
    """
    if pool.accelerated is False or pool.single or pool.nodes_min in (0, None):
        return None
    if isinstance(pool.environment, Unknown):
        return Undetermined("the environment")
    if pool.environment not in parameters["environments"]:
        return None
    if isinstance(pool.nodes_min, Unknown) or isinstance(pool.accelerated, Unknown):
        return Undetermined("the minimum size")
    kept = plural(pool.nodes_min or 0, f"{pool.accelerator} machine")
    return Violation(
        f"a {pool.environment} stack is billed for at least {kept} every night",
        "set the minimum size to 0",
    )


RULE = Rule(
    id="minimum-above-zero-in-dev",
    area="spend",
    subject="pools",
    prevents="development machines that are billed at night and on weekends",
    judge=minimum_above_zero_in_dev,
    parameters={
        "environments": Parameter(
            default=["dev"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments whose pools must be able to reach zero",
        )
    },
)
