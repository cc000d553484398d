from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing

_URL: Final = "aws:lambda/functionUrl:FunctionUrl"
_PERMISSION: Final = "aws:lambda/permission:Permission"
_LAYER: Final = "aws:lambda/layerVersionPermission:LayerVersionPermission"


def function_public(thing: Thing, _: Parameters) -> Verdict:
    """A function authenticates its callers: anybody else's calls are billed, and use the function's rights.

    >>> from sizewell.policy.examples import thing
    >>> function_public(thing(type="aws:lambda/functionUrl:FunctionUrl", inputs={"authorizationType": "NONE"}), {}).fix
    'set authorizationType to AWS_IAM'
    """
    message = "anyone on the internet may call the function, with its rights and at your cost"
    if thing.type == _URL:
        stated = thing.inputs.get("authorizationType")
        if stated is UNKNOWN:
            return Undetermined("who can call it")
        return Violation(message, "set authorizationType to AWS_IAM") if stated == "NONE" else None
    narrowed = [thing.inputs.get(key) for key in ("sourceArn", "sourceAccount", "principalOrgId", "organizationId")]
    principal = thing.inputs.get("principal")
    if principal is UNKNOWN:
        return Undetermined("who can call it")
    if principal != "*" or any(each is not None for each in narrowed):
        return None
    return Violation(message, "name the principal, or add sourceArn, sourceAccount or principalOrgId")


RULE = Rule(
    id="function-public",
    area="safety",
    subject="things",
    prevents="calls by outsiders at your cost",
    judge=function_public,
    clouds=("aws",),
    types=(_URL, _PERMISSION, _LAYER),
)
