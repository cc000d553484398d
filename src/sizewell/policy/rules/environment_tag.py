from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict
from sizewell.policy.tags import any_of, tagged
from sizewell.resources.stackfacts import Thing


def environment_tag(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that is billed states its environment: a cleanup must know what is production.

    >>> from sizewell.policy.examples import thing
    >>> environment_tag(thing(bills=True), {"keys": ["sizewell-environment"]}).fix
    'tag it sizewell-environment'
    """
    return tagged(
        thing,
        parameters["keys"],
        message="the tag for its environment is missing: a cleanup cannot tell whether it is production",
    )


RULE = Rule(
    id="environment-tag",
    area="ownership",
    subject="things",
    prevents="production mistaken for leftovers, or the reverse",
    judge=environment_tag,
    level="advisory",
    parameters={"keys": any_of("sizewell-environment", "environment", "env", what="an environment")},
)
