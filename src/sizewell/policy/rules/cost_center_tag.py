from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict
from sizewell.policy.tags import any_of, tagged
from sizewell.resources.stackfacts import Thing


def cost_center_tag(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that is billed states its cost center.

    >>> from sizewell.policy.examples import thing
    >>> cost_center_tag(thing(bills=True), {"keys": ["sizewell-cost-center"]}).fix
    'tag it sizewell-cost-center'
    """
    return tagged(thing, parameters["keys"], message="its cost cannot be assigned to a cost center: the tag is missing")


RULE = Rule(
    id="cost-center-tag",
    area="ownership",
    subject="things",
    prevents="costs that cannot be assigned",
    judge=cost_center_tag,
    level="advisory",
    parameters={"keys": any_of("sizewell-cost-center", "cost-center", "costcenter", what="a cost centre")},
)
