from __future__ import annotations

from policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from resources.recorded import Unknown
from resources.stackfacts import Thing


def environment_tag(thing: Thing, parameters: Parameters) -> Verdict:
    """Everything that bills says which environment it belongs to: a sweep must know what is production.

    >>> from policy.examples import thing
    >>> environment_tag(thing(bills=True), {"keys": ["sizewell-environment"]}).fix
    'tag it sizewell-environment'
    """
    if not thing.bills or thing.tags is None:
        return None
    if isinstance(thing.tags, Unknown):
        return Undetermined("the tags")
    keys = {key.lower() for key, value in thing.tags.items() if value not in (None, "")}
    if keys & {key.lower() for key in parameters["keys"]}:
        return None
    return Violation("a sweep cannot tell whether it is production", f"tag it {parameters['keys'][0]}")


RULE = Rule(
    id="environment-tag",
    area="ownership",
    subject="things",
    prevents="production mistaken for leftovers, and the other way round",
    judge=environment_tag,
    level="advisory",
    parameters={
        "keys": Parameter(
            default=["sizewell-environment", "environment", "env"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="tags that name an environment; any one counts",
        )
    },
)
