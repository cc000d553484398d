from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import contains_unknown, get, items

_RUN: Final = "gcp:cloudrunv2/service:Service"
_AZURE: Final = (
    "azure-native:machinelearningservices:OnlineEndpoint",
    "azure-native:machinelearningservices:Workspace",
)
_ACCOUNT: Final = "azure-native:cognitiveservices:Account"


def service_public(thing: Thing, _: Parameters) -> Verdict:
    """A model service is reachable only from inside the network: requests from outside are billed to you.

    >>> from sizewell.policy.examples import thing
    >>> service_public(thing(type="gcp:cloudrunv2/service:Service"), {}).fix
    'set ingress to INGRESS_TRAFFIC_INTERNAL_ONLY'
    """
    if thing.type == _RUN:
        if _plain(get(thing.inputs, "template", "containers")):
            return None  # a web service; whom its invokers are, `public-member` judges
        stated, closed = (
            thing.inputs.get("ingress"),
            ("INGRESS_TRAFFIC_INTERNAL_ONLY", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"),
        )
        inside, fix = stated in closed, "set ingress to INGRESS_TRAFFIC_INTERNAL_ONLY"
    else:
        access = get(thing.inputs, "properties", "publicNetworkAccess", default=thing.inputs.get("publicNetworkAccess"))
        default = get(thing.inputs, "properties", "networkAcls", "defaultAction")
        access = get(thing.inputs, "onlineEndpointProperties", "publicNetworkAccess", default=access)
        stated = UNKNOWN if UNKNOWN in (access, default) else access
        inside, fix = access == "Disabled" or default == "Deny", "set publicNetworkAccess to Disabled"
    if inside:
        return None
    if stated is UNKNOWN:
        return Undetermined("who can reach the service")
    return Violation("it is open to the internet: anyone can send requests, at your cost", fix)


def _plain(listed: Any) -> bool:
    """Whether containers are stated, and none asks for an accelerator."""
    containers = items(listed)
    if isinstance(containers, Unknown) or contains_unknown(containers):
        return False
    limits = [get(container, "resources", "limits", default={}) for container in containers]
    return bool(containers) and not any("gpu" in str(key) for limit in limits for key in limit)


RULE = Rule(
    id="service-public",
    area="safety",
    subject="things",
    prevents="requests by outsiders at your cost",
    judge=service_public,
    levels={"dev": "advisory"},
    clouds=("gcp", "azure"),
    types=(_RUN, *_AZURE, _ACCOUNT),
)
