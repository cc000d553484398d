"""What a cloud refuses of a program, by rules of its own."""

from __future__ import annotations

from sizewell.policy.rule import Parameters, StackVerdicts, Violation, rule
from sizewell.resources.stackfacts import StackFacts


@rule(
    "refused-by-cloud",
    area="correctness",
    subject="stack",
    prevents="an update that stops half-way, with what was built before it billed",
)
def refused_by_cloud(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Nothing is asked of a cloud that it refuses: ranges that overlap, settings that exclude each other, wrong names.

    What stands unchanged is passed over, and so is a value that is not known yet.

    >>> from sizewell.policy.examples import stack
    >>> from sizewell.resources.stackfacts import Refused
    >>> said = Refused(urn="u", what="minSize 3 is above maxSize 2: the cloud refuses it", fix="raise maxSize")
    >>> [urn for urn, verdict in refused_by_cloud(stack(refused=(said,)), {})]
    ['u']
    """
    asked = (each for each in facts.refused if not facts.changes or each.urn in facts.changes)
    return [(each.urn, Violation(each.what, each.fix)) for each in asked] or [("", None)]
