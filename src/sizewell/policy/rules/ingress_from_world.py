from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.stackfacts import Opening

WEB_PORTS: Final = frozenset({"80", "443", "80,443", "443,80"})


def ingress_from_world(opening: Opening, _: Parameters) -> Verdict:
    """No port is open to the whole internet, directly or through another rule.

    The ports of web applications are judged by `web-port-from-world`, which knows what stands behind them.

    >>> from sizewell.policy.examples import opening
    >>> ingress_from_world(opening(world=True, ports="8888"), {}).message
    'port 8888 is open to the internet: anyone can use your accelerators at your cost'
    >>> ingress_from_world(opening(world=False), {}) is None
    True
    """
    if opening.direction != "ingress" or opening.ports in WEB_PORTS:
        return None
    ports = "every port" if opening.ports == "all" else f"port {opening.ports}"
    return forbid(
        opening.world,
        message=f"{ports} is open to the internet: anyone can use your accelerators at your cost",
        fix="name the ranges or security groups that need it, or use a session service instead",
        unknown="the source of the rule",
    )


RULE = Rule(
    id="ingress-from-world",
    area="safety",
    subject="openings",
    prevents="unauthorized access to machines",
    judge=ingress_from_world,
)
