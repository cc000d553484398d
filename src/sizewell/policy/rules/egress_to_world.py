from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Verdict, forbid
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Opening
from sizewell.resources.values import every


def egress_to_world(opening: Opening, parameters: Parameters) -> Verdict:
    """Machines cannot reach the whole internet on every port, which would let weights be copied out.

    >>> from sizewell.policy.examples import opening
    >>> egress_to_world(opening(direction="egress", world=True, ports="all"), {"ports": ["443"]}).fix
    'allow 443 alone, or endpoints and prefix lists'
    """
    if opening.direction != "egress" or opening.ports in parameters["ports"]:
        return None
    ports = "any port" if opening.ports == "all" else f"port {opening.ports}"
    return forbid(
        every(opening.world, opening.ports if opening.ports is UNKNOWN else True),
        message=f"egress on {ports} is open to any destination: weights and data could be exfiltrated unnoticed",
        fix=f"allow {', '.join(parameters['ports'])} alone, or endpoints and prefix lists",
        unknown="the target of the rule",
    )


RULE = Rule(
    id="egress-to-world",
    area="safety",
    subject="openings",
    prevents="weights exfiltrated unnoticed",
    judge=egress_to_world,
    level="advisory",
    parameters={
        "ports": Parameter(
            default=["443", "80", "53", "123"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="ports on which machines may reach the whole internet",
        )
    },
)
