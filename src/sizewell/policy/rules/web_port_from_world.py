from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.policy.rules.ingress_from_world import WEB_PORTS
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Opening, StackFacts
from sizewell.resources.values import Flag, either


def web_port_from_world(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """In a stack with accelerators, web ports are not open to everyone either: each request costs machine time.

    A web application without accelerators is meant to be reached.

    >>> from sizewell.policy.examples import opening, pool, stack
    >>> door = opening(world=True, ports="443")
    >>> web_port_from_world(stack(openings=(door,), pools=(pool(accelerator="l4"),)), {})[0][1].fix
    'name the ranges or security groups that need it, or put a gateway with authentication in front of it'
    >>> web_port_from_world(stack(openings=(door,)), {})
    []
    """
    accelerated = either(
        False,
        *(pool.accelerated for pool in facts.pools),
        *(service.accelerated for services in (facts.endpoints, facts.notebooks) for service in services),
        *(UNKNOWN if isinstance(pods.accelerators, Unknown) else bool(pods.accelerators) for pods in facts.pods),
    )
    doors = [door for door in facts.openings if door.direction == "ingress" and door.ports in {*WEB_PORTS, UNKNOWN, ""}]
    return [(door.urn, _judged(door, accelerated)) for door in doors] if accelerated is not False else []


def _judged(door: Opening, accelerated: Flag) -> Verdict:
    if door.world is False:
        return None
    if door.ports not in WEB_PORTS or door.world is UNKNOWN or accelerated is UNKNOWN:
        return Undetermined("its ports, its source or its targets")
    return Violation(
        f"port {door.ports} is open to the internet: anyone can use your accelerators at your cost",
        "name the ranges or security groups that need it, or put a gateway with authentication in front of it",
    )


RULE = Rule(
    id="web-port-from-world",
    area="safety",
    subject="stack",
    prevents="requests by outsiders on your accelerators",
    judge=web_port_from_world,
)
