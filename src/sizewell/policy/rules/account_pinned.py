from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Verdict, Violation
from sizewell.resources.stackfacts import StackFacts

_PINS: Final = {
    "pulumi:providers:aws": ("allowedAccountIds", "assumeRoles"),
    "pulumi:providers:azure-native": ("subscriptionId",),
    "pulumi:providers:gcp": ("project",),
}


def account_pinned(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """An explicit provider names its account: with the wrong credentials nothing is built in another account.

    >>> from sizewell.policy.examples import resource, stack
    >>> account_pinned(stack(resource("pulumi:providers:aws", "prod", {"region": "us-east-1"})), {})[0][1].fix
    'set allowedAccountIds on the provider'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for resource in facts.graph.plan.resources:
        pins = _PINS.get(resource.type)
        if pins is None or resource.name.startswith("default"):
            continue
        stated = any(resource.inputs.get(pin) is not None for pin in pins)
        message = (
            "the provider is not pinned to an account: with other credentials the stack would be built and billed in "
            "the wrong one"
            ""
        )
        verdicts.append((resource.urn, None if stated else Violation(message, f"set {pins[0]} on the provider")))
    return verdicts


RULE = Rule(
    id="account-pinned",
    area="correctness",
    subject="stack",
    prevents="a stack built in the wrong account",
    judge=account_pinned,
    level="advisory",
)
