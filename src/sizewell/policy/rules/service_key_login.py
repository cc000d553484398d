from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import flag, get

_ACCOUNT: Final = "azure-native:cognitiveservices:Account"
_ENDPOINT: Final = "azure-native:machinelearningservices:OnlineEndpoint"


def service_key_login(thing: Thing, _: Parameters) -> Verdict:
    """A model service authenticates by identity: a leaked key causes costs until somebody changes it.

    >>> from sizewell.policy.examples import thing
    >>> service_key_login(thing(type="azure-native:cognitiveservices:Account"), {}).fix
    'set properties.disableLocalAuth to true, and assign roles to its callers'
    """
    if thing.type == _ACCOUNT:
        off = flag(get(thing.inputs, "properties", "disableLocalAuth"))
        fix = "set properties.disableLocalAuth to true, and assign roles to its callers"
    else:
        mode = get(thing.inputs, "properties", "authMode")
        off = UNKNOWN if mode is UNKNOWN else mode in ("AADToken", "AMLToken")
        fix = "set properties.authMode to AADToken, and assign roles to its callers"
    if off is True:
        return None
    if off is UNKNOWN:
        return Undetermined("how callers authenticate")
    return Violation(
        "local authentication is on: anyone with a key can send requests, billed to you and untraceable", fix
    )


RULE = Rule(
    id="service-key-login",
    area="safety",
    subject="things",
    prevents="costs caused by a leaked key",
    judge=service_key_login,
    level="advisory",
    clouds=("azure",),
    types=(_ACCOUNT, _ENDPOINT),
)
