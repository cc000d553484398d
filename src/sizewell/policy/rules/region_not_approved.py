from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Thing


def region_not_approved(thing: Thing, parameters: Parameters) -> Verdict:
    """What is billed is in a region that the team approved.

    >>> from sizewell.policy.examples import thing
    >>> approved = {"regions": {"aws": ["us-east-1"]}}
    >>> region_not_approved(thing(bills=True, region="ap-east-1"), approved).fix
    'move it to us-east-1, or add ap-east-1 to parameters.region-not-approved.regions.aws'
    >>> region_not_approved(thing(bills=True, region="us-east-1"), approved) is None
    True
    """
    approved = parameters["regions"].get(thing.cloud)
    if not thing.bills or approved is None or thing.region in ("", "global"):
        return None
    if isinstance(thing.region, Unknown):
        return Undetermined("the region")
    if thing.region in approved:
        return None
    return Violation(
        f"it is in {thing.region}, which is not an approved region",
        f"move it to {approved[0]}, or add {thing.region} to parameters.region-not-approved.regions.{thing.cloud}",
    )


RULE = Rule(
    id="region-not-approved",
    area="spend",
    subject="things",
    prevents="resources in forgotten or forbidden regions",
    judge=region_not_approved,
    parameters={
        "regions": Parameter(
            default={},
            schema={"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            meaning="approved regions by cloud; a cloud that is not named may use all",
        )
    },
)
