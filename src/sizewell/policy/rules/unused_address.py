from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Verdict, require
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Flag, either

_ADDRESSES: Final = {
    "aws:ec2/eip:Eip": ("instance", "networkInterface"),
    "gcp:compute/address:Address": ("users",),
    "azure-native:network:PublicIPAddress": ("ipConfiguration",),
}
_USERS: Final = (
    ("aws:ec2/eipAssociation:EipAssociation", "allocationId"),
    ("aws:ec2/natGateway:NatGateway", "allocationId"),
    ("aws:lb/loadBalancer:LoadBalancer", "subnetMappings"),
    ("gcp:compute/instance:Instance", "networkInterfaces"),
    ("gcp:compute/routerNat:RouterNat", "natIps"),
    ("gcp:compute/forwardingRule:ForwardingRule", "ipAddress"),
    ("azure-native:network:NatGateway", "publicIpAddresses"),
    ("azure-native:network:LoadBalancer", "frontendIPConfigurations"),
    ("azure-native:network:NetworkInterface", "ipConfigurations"),
)


def unused_address(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Public addresses are in use: an unused one is billed too, and costs more than one in use.

    >>> from sizewell.policy.examples import resource, stack, thing
    >>> alone = resource("aws:ec2/eip:Eip")
    >>> unused_address(stack(alone, things=(thing(type="aws:ec2/eip:Eip"),)), {})[0][1].fix
    'use it or delete it'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for thing in facts.things:
        props = _ADDRESSES.get(thing.type)
        if props is None or thing.inputs.get("addressType") == "INTERNAL":
            continue
        own: Flag = any(thing.inputs.get(prop) is not None for prop in props)
        users = [facts.graph.referring(thing.resource, kind, prop) for kind, prop in _USERS]
        used = either(own, *(UNKNOWN if isinstance(user, Unknown) else bool(user) for user in users))
        verdict = require(
            used,
            message="the public address is not used but is billed every hour",
            fix="use it or delete it",
            unknown="what uses the address",
        )
        verdicts.append((thing.urn, verdict))
    return verdicts


RULE = Rule(
    id="unused-address",
    area="spend",
    subject="stack",
    prevents="unused addresses that are billed",
    judge=unused_address,
    level="advisory",
)
