from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.sizing.catalog import load

_REPLACED_BY: Final = "the accelerators are released first, and may not be available again for days"


def scarce_pool_replaced(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """A change that replaces a pool of scarce accelerators needs a person's approval.

    Only a preview against what stands knows: a policy process is never told what happens to a resource.

    >>> from sizewell.policy.examples import pool, stack
    >>> scarce = pool(accelerator="h100-sxm")
    >>> changed = stack(pools=(scarce,), changes={scarce.urn: "replace"})
    >>> scarce_pool_replaced(changed, {"accelerators": ["h100"]})[0][1].fix
    'keep the property that forces the replacement, or create the new pool next to the old one first'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for pool in facts.pools:
        if pool.accelerated is False:
            continue
        replaced = facts.changes.get(pool.urn) == "replace"
        name = pool.accelerator
        scarce = isinstance(name, Unknown) or pool.reserved != "" or load().named_by(name, parameters["accelerators"])
        verdicts.append(
            (
                pool.urn,
                Violation(
                    f"this change replaces a pool of scarce {name}: {_REPLACED_BY}",
                    "keep the property that forces the replacement, or create the new pool next to the old one first",
                )
                if replaced and scarce
                else None,
            )
        )
    for purchase in facts.purchases:
        if facts.changes.get(purchase.urn) in ("replace", "delete"):
            message = "this change replaces a purchase: capacity that is paid for would be given up"
            verdicts.append((purchase.urn, Violation(message, "keep the purchase as it is, or adopt it by its id")))
    return verdicts


RULE = Rule(
    id="scarce-pool-replaced",
    area="spend",
    subject="stack",
    prevents="giving up capacity that may not be available again",
    judge=scarce_pool_replaced,
    evaluator_only=True,
    parameters={
        "accelerators": Parameter(
            default=[
                "h100",
                "h200",
                "b200",
                "b300",
                "gb200",
                "gb300",
                "a100",
                "mi300",
                "trainium",
                "tpu",
                "v5p",
                "v6e",
            ],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="accelerators that are hard to get, by the start of their names",
        )
    },
)
