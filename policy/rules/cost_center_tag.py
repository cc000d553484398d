from __future__ import annotations

from policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from resources.recorded import Unknown
from resources.stackfacts import Thing


def cost_center_tag(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that bills says which account is charged.

    >>> from policy.examples import thing
    >>> cost_center_tag(thing(bills=True), {"keys": ["sizewell-cost-center"]}).fix
    'tag it sizewell-cost-center'
    """
    if not thing.bills or thing.tags is None:
        return None
    if isinstance(thing.tags, Unknown):
        return Undetermined("the tags")
    keys = {key.lower() for key, value in thing.tags.items() if value not in (None, "")}
    if keys & {key.lower() for key in parameters["keys"]}:
        return None
    return Violation("its cost lands on nobody's account: no report will show it", f"tag it {parameters['keys'][0]}")


RULE = Rule(
    id="cost-center-tag",
    area="ownership",
    subject="things",
    prevents="costs that no report assigns",
    judge=cost_center_tag,
    level="advisory",
    parameters={
        "keys": Parameter(
            default=["sizewell-cost-center", "cost-center", "costcenter"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="tags that name a cost centre; any one counts",
        )
    },
)
