from __future__ import annotations

from policy.rule import Parameters, Rule, Verdict, forbid
from resources.recorded import UNKNOWN
from resources.stackfacts import Opening
from resources.values import every


def egress_to_world(opening: Opening, _: Parameters) -> Verdict:
    """Machines do not reach the whole internet on every port: the way that weights leave.

    >>> from policy.examples import opening
    >>> egress_to_world(opening(direction="egress", world=True, ports="all"), {}).fix
    'allow 443 alone, or endpoints and prefix lists'
    """
    if opening.direction != "egress" or opening.ports not in ("all", UNKNOWN):
        return None
    return forbid(
        every(opening.world, opening.ports if opening.ports is UNKNOWN else True),
        message="weights and data can leave on any port to anywhere, and nobody would see it",
        fix="allow 443 alone, or endpoints and prefix lists",
        unknown="the target of the rule",
    )


RULE = Rule(
    id="egress-to-world",
    area="safety",
    subject="openings",
    prevents="weights that leave unseen",
    judge=egress_to_world,
    level="advisory",
)
